"""Trigonometric and hyperbolic operations."""

from __future__ import annotations

from arrax.lax.accuracy import unary_with_accuracy
from arrax.lax.arithmetic import add, div, mul, neg, scalar, square, sub
from arrax.lax.exponential import rsqrt
from arrax.lax.families import binary, inexact, unary

# fmt: off
sin   = unary_with_accuracy("sin",  inexact, "sine",   doc="sine",    jvp=lambda x, ans, t: mul(t, cos(x)))
cos   = unary_with_accuracy("cos",  inexact, "cosine", doc="cosine",  jvp=lambda x, ans, t: neg(mul(t, sin(x))))
tan   = unary_with_accuracy("tan",  inexact, "tan",    doc="tangent",
                            jvp=lambda x, ans, t: add(t, mul(t, square(ans))))
tanh  = unary_with_accuracy("tanh", inexact, "tanh",   doc="hyperbolic tangent",
                            jvp=lambda x, ans, t: mul(t, sub(scalar(1, ans), square(ans))))

asin  = unary("asin",  inexact, "chlo.asin",  doc="arc sine",
              jvp=lambda x, ans, t: mul(t, rsqrt(_one_minus_square(x))))
acos  = unary("acos",  inexact, "chlo.acos",  doc="arc cosine",
              jvp=lambda x, ans, t: mul(t, neg(rsqrt(_one_minus_square(x)))))
atan  = unary("atan",  inexact, "chlo.atan",  doc="arc tangent",
              jvp=lambda x, ans, t: div(t, add(square(x), scalar(1, x))))
atan2 = binary("atan2", inexact, "atan2",     doc="angle of the point (y, x): the arc tangent of x / y",
               jvp=(lambda x, y, ans, t: mul(t, div(y, add(square(x), square(y)))),
                    lambda x, y, ans, t: mul(t, div(neg(x), add(square(x), square(y))))))

sinh  = unary("sinh",  inexact, "chlo.sinh",  doc="hyperbolic sine",    jvp=lambda x, ans, t: mul(t, cosh(x)))
cosh  = unary("cosh",  inexact, "chlo.cosh",  doc="hyperbolic cosine",  jvp=lambda x, ans, t: mul(t, sinh(x)))
asinh = unary("asinh", inexact, "chlo.asinh", doc="inverse hyperbolic sine",
              jvp=lambda x, ans, t: mul(t, rsqrt(add(square(x), scalar(1, x)))))
acosh = unary("acosh", inexact, "chlo.acosh", doc="inverse hyperbolic cosine",
              jvp=lambda x, ans, t: mul(t, mul(rsqrt(sub(x, scalar(1, x))), rsqrt(add(x, scalar(1, x))))))
atanh = unary("atanh", inexact, "chlo.atanh", doc="inverse hyperbolic tangent",
              jvp=lambda x, ans, t: div(t, _one_minus_square(x)))
# fmt: on


def _one_minus_square(x: object) -> object:
    """1 - x^2 without cancellation near 1."""
    return mul(sub(scalar(1, x), x), add(scalar(1, x), x))
