"""Special functions: error functions, gamma and zeta functions, Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax.core.types import typeof
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax.arithmetic import abs_, add, div, eq, le, max_, min_, mul, neg, scalar, sign, square, sub
from arrax.lax.conversion import convert_element_type
from arrax.lax.cpu.error_function import error_function
from arrax.lax.cpu.expressions import by_formula
from arrax.lax.exponential import exp, rsqrt
from arrax.lax.families import binary, broadcast_to_shape, floating, unary
from arrax.lax.shapes import full_like
from arrax.lax.structure import select

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def no_derivative(name: str, operand: str) -> Callable[..., Any]:
    """The derivative of a function in an operand in which it has none here."""

    def rule(*_: Any) -> Any:
        raise ValueError(f"{name} cannot be differentiated with respect to {operand}")

    return rule


def at_least_single(fun: Callable[..., Any]) -> Callable[..., Any]:
    """``fun``, written for operands of one shape, also for scalars among them; in float32 for 16-bit operands."""

    def computed(*operands: Any) -> Any:
        dtype = typeof(operands[0]).dtype
        shape = max((typeof(x).shape for x in operands), key=len)
        operands = tuple(broadcast_to_shape(x, shape) for x in operands)
        if dtype.itemsize >= 4:
            return fun(*operands)
        return convert_element_type(fun(*[convert_element_type(x, np.float32) for x in operands]), dtype)

    return computed


# ---- the modified Bessel function I0 -------------------------------------------------------------------------------

# Chebyshev coefficients of e^-x I0(x) on [0, 8], in x/4 - 1, and of sqrt(x) e^-x I0(x) on [8, inf), in 16/x - 1.
# fmt: off
_NEAR = (
    3.38397637204738033e-01, -3.04682672343198402e-01, 1.71620901522208769e-01, -9.49010970480476390e-02,
    4.93052842396707117e-02, -2.37374148058994705e-02, 1.05464603945949979e-02, -4.32430999505057593e-03,
    1.63947561694133574e-03, -5.76375574538582356e-04, 1.88502885095841649e-04, -5.75419501008210397e-05,
    1.64484480707288956e-05, -4.41673835845875052e-06, 1.11738753912010366e-06, -2.67079385394061193e-07,
    6.04699502254191863e-08, -1.30002500998624805e-08, 2.65982372468238660e-09, -5.18979560163526271e-10,
    9.67580903537323697e-11, -1.72682629144155587e-11, 2.95505266312963988e-12, -4.85644678311192896e-13,
    7.67618549860493607e-14, -1.16853328779934987e-14, 1.71539128555536815e-15, -2.43127984653250555e-16,
    3.33079451045701191e-17, -4.41534008606552251e-18,
)
_FAR = (
    4.02245205507054393e-01, 3.36911647825569429e-03, 6.88975834691682454e-05, 2.89137052083475665e-06,
    2.04891858946906384e-07, 2.26666899049817804e-08, 3.39623202570838651e-09, 4.94060238822497006e-10,
    1.18891471078464390e-11, -3.14991652796324165e-11, -1.32158118404477133e-11, -1.79417853150680615e-12,
    7.18012445138366601e-13, 3.85277838274214259e-13, 1.54008621752140996e-14, -4.15056934728722224e-14,
    -9.55484669882830731e-15, 3.81168066935262240e-15, 1.77256013305652631e-15, -3.42548561967721900e-16,
    -2.82762398051658365e-16, 3.46122286769746122e-17, 4.46562142029676037e-17, -4.83050448594420037e-18,
    -7.23318048787462283e-18, 9.92147541198816041e-19,
)
# fmt: on


def _chebyshev(t: Any, coefficients: Sequence[float]) -> Any:
    """The sum of Chebyshev polynomials at t in [-1, 1], as far as the dtype can tell.

    By powers of t, which takes half the operations of Clenshaw's recurrence and loses nothing: these series fall fast.
    """
    smallest = np.finfo(typeof(t).dtype).eps / 32
    powers = np.polynomial.chebyshev.cheb2poly([c for c in coefficients if abs(c) > smallest])
    total = full_like(t, powers[-1])
    for c in reversed(powers[:-1]):
        total = add(mul(total, t), scalar(c, t))
    return total


@at_least_single
def _bessel_i0e(x: Any) -> Any:
    magnitude = abs_(x)
    eight = scalar(8, x)
    near = _chebyshev(sub(mul(min_(magnitude, eight), scalar(0.25, x)), scalar(1, x)), _NEAR)
    large = max_(magnitude, eight)
    far = mul(_chebyshev(sub(div(scalar(16, x), large), scalar(1, x)), _FAR), rsqrt(large))
    return select(le(magnitude, eight), near, far)


def _bessel_i1e_jvp(x: Any, ans: Any, t: Any) -> Any:
    at_zero = eq(x, scalar(0, x))
    safe = select(at_zero, full_like(x, 1), x)
    slope = sub(bessel_i0e(x), mul(ans, add(sign(safe), div(scalar(1, x), safe))))
    return mul(t, select(at_zero, full_like(x, 0.5), slope))


# fmt: off
erf     = unary("erf",     floating, "chlo.erf",     doc="error function",
                jvp=lambda x, ans, t: mul(t, mul(scalar(_TWO_OVER_SQRT_PI, x), exp(neg(square(x))))))
erfc    = unary("erfc",    floating, "chlo.erfc",    doc="complementary error function, 1 - erf(x)",
                jvp=lambda x, ans, t: mul(t, mul(scalar(-_TWO_OVER_SQRT_PI, x), exp(neg(square(x))))))
erf_inv = unary("erf_inv", floating, "chlo.erf_inv", cost=24, doc="inverse of the error function",
                jvp=lambda x, ans, t: mul(t, mul(scalar(1 / _TWO_OVER_SQRT_PI, x), exp(square(ans)))))

lgamma    = unary("lgamma",  floating, "chlo.lgamma", cost=100,  doc="logarithm of the magnitude of the gamma function",
                  jvp=lambda x, ans, t: mul(t, digamma(x)))
digamma   = unary("digamma", floating, "chlo.digamma", cost=100, doc="digamma function, the derivative of lgamma",
                  jvp=lambda x, ans, t: mul(t, polygamma(scalar(1, x), x)))
polygamma = binary("polygamma", floating, "chlo.polygamma", cost=100, operands=("m", "x"),
                   doc="m-th derivative of the digamma function at x",
                   jvp=(no_derivative("polygamma", "the order m"),
                        lambda m, x, ans, t: mul(t, polygamma(add(m, scalar(1, m)), x))))
zeta      = binary("zeta", floating, "chlo.zeta", cost=100, operands=("x", "q"),
                   doc="Hurwitz zeta function, the sum of (n + q)^-x over n >= 0",
                   jvp=(no_derivative("zeta", "the exponent x"),
                        lambda x, q, ans, t: mul(t, mul(neg(x), zeta(add(x, scalar(1, x)), q)))))

bessel_i0e = unary("bessel_i0e", floating, cached_lower_fun(_bessel_i0e, "bessel_i0e"),
                   doc="exponentially scaled modified Bessel function of order 0, e^-|x| I0(x)",
                   jvp=lambda x, ans, t: mul(t, sub(bessel_i1e(x), mul(sign(x), ans))))
bessel_i1e = unary("bessel_i1e", floating, "chlo.bessel_i1e", cost=100, jvp=_bessel_i1e_jvp,
                   doc="exponentially scaled modified Bessel function of order 1, e^-|x| I1(x)")
# fmt: on

erf.primitive.lower["cpu"] = by_formula(erf.primitive.lower[None], error_function)
