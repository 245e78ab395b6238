"""Special functions: error functions, gamma and zeta functions, Bessel functions."""

# mypy: disable-error-code="has-type"
# (entries name each other inside their rules)

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.types import typeof
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax import digamma_formulas
from arrax.lax.arithmetic import abs_, add, div, le, lt, max_, min_, mul, neg, scalar, sign, square, sub
from arrax.lax.conversion import convert_element_type
from arrax.lax.cpu.error_function import error_function
from arrax.lax.cpu.expressions import by_formula
from arrax.lax.double_formulas import Derivatives, Formula, Real, in_double
from arrax.lax.exponential import exp, rsqrt
from arrax.lax.families import binary, lower_named, unary
from arrax.lax.filled_arrays import full_like
from arrax.lax.log_gamma import log_gamma
from arrax.lax.operand_checks import floating
from arrax.lax.selection import select
from arrax.lax.shape_slots import broadcast_to_shape
from arrax.lax.zeta_functions import hurwitz_zeta, polygamma_of_orders

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.xla.arrays import Array, ArrayLike

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def no_derivative(name: str, operand: str) -> Callable[..., Any]:
    """The derivative of a function in an operand in which it has none here."""

    def rule(*_: ArrayLike) -> Any:
        raise ValueError(f"{name} cannot be differentiated with respect to {operand}")

    return rule


def at_least_single(fun: Callable[..., Any]) -> Callable[..., Any]:
    """``fun``, written for operands of one shape, also for scalars among them; in float32 for 16-bit operands."""

    def computed(*operands: ArrayLike) -> Array:
        dtype = typeof(operands[0]).dtype
        shape = max((typeof(x).shape for x in operands), key=len)
        operands = tuple(broadcast_to_shape(x, shape) for x in operands)
        if dtype.itemsize >= 4:
            return fun(*operands)
        return convert_element_type(fun(*[convert_element_type(x, np.float32) for x in operands]), dtype)

    return computed


# ---- the modified Bessel functions I0 and I1 ---------------------------------------------------------------------------

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
# Those of e^-x I1(x) / x, and of sqrt(x) e^-x I1(x), over the same intervals.
_NEAR_OF_ONE = (
    1.26293593221816824e-01, -1.76416518357834062e-01, 1.02643658689847095e-01, -5.29459812080949888e-02,
    2.47264490306265163e-02, -1.05640848946261974e-02, 4.15642294431288820e-03, -1.51357245063125315e-03,
    5.12285956168575759e-04, -1.61760815825896743e-04, 4.78156510755005422e-05, -1.32731636560394359e-05,
    3.47025130813767845e-06, -8.56872026469545475e-07, 2.00329475355213533e-07, -4.44505912879632805e-08,
    9.38153738649577259e-09, -1.88724975172282944e-09, 3.62559028155211725e-10, -6.66348972350202712e-11,
    1.17361862988909012e-11, -1.98397439776494364e-12, 3.22379336594557476e-13, -5.04218550472791179e-14,
    7.60068429473540767e-15, -1.10559694773538625e-15, 1.55363195773620054e-16, -2.11142121435816596e-17,
    2.77791411276104637e-18, -3.54158177254213615e-19,
)
_FAR_OF_ONE = (
    3.89288117509140053e-01, -9.76109749136146870e-03, -1.10588938762623713e-04, -3.88256480887769059e-06,
    -2.51223623787020884e-07, -2.63146884688951959e-08, -3.83538038596423700e-09, -5.58974346219658378e-10,
    -1.89749581235054126e-11, 3.25260358301548844e-11, 1.41258074366137819e-11, 2.03562854414708956e-12,
    -7.19855177624590836e-13, -4.08355111109219740e-13, -2.10154184277266430e-14, 4.27244001671195105e-14,
    1.04202769841288021e-14, -3.81440307243700754e-15, -1.88035477551078251e-15, 3.30820231092092852e-16,
    2.96262899764595008e-16, -3.20952592199342376e-17, -4.65030536848935863e-17, 4.41434832307170765e-18,
    7.51729631084210521e-18, -9.31417886732688422e-19, -1.24219327519489097e-18,
)
# fmt: on


def _chebyshev(t: Array, coefficients: Sequence[float]) -> Array:
    """The sum of Chebyshev polynomials at t in [-1, 1], as far as the dtype can tell.

    By powers of t, which takes half the operations of Clenshaw's recurrence and loses nothing: these series fall fast.
    """
    return _polynomial(t, _powers(coefficients, typeof(t).dtype))


def _powers(coefficients: Sequence[float], dtype: np.dtype) -> np.ndarray:
    smallest = np.finfo(dtype).eps / 32
    return np.polynomial.chebyshev.cheb2poly([c for c in coefficients if abs(c) > smallest])


def _polynomial(t: Array, powers: np.ndarray) -> Array:
    total = full_like(t, powers[-1])
    for c in reversed(powers[:-1]):
        total = add(mul(total, t), scalar(c, t))
    return total


@at_least_single
def _bessel_i0e(x: Array) -> Array:
    magnitude = abs_(x)
    eight = scalar(8, x)
    near = _chebyshev(sub(mul(min_(magnitude, eight), scalar(0.25, x)), scalar(1, x)), _NEAR)
    large = max_(magnitude, eight)
    far = mul(_chebyshev(sub(div(scalar(16, x), large), scalar(1, x)), _FAR), rsqrt(large))
    return select(le(magnitude, eight), near, far)


@at_least_single
def _bessel_i1e(x: Array) -> Array:
    magnitude = abs_(x)
    eight = scalar(8, x)
    near = _chebyshev(sub(mul(min_(magnitude, eight), scalar(0.25, x)), scalar(1, x)), _NEAR_OF_ONE)
    large = max_(magnitude, eight)
    far = mul(_chebyshev(sub(div(scalar(16, x), large), scalar(1, x)), _FAR_OF_ONE), rsqrt(large))
    return select(le(magnitude, eight), mul(x, near), mul(sign(x), far))


def _fall(coefficients: Sequence[float]) -> Callable[..., Array]:
    """The slope of S(t) / sqrt(|x|) by |x|, with t = 16 / |x| - 1 and a series S, beyond |x| = 8; up to there an operand, ``near``.

    The terms of the series do not cancel, as those of formulas with both Bessel functions do.
    """

    @at_least_single
    def slope(x: Array, near: Array) -> Array:
        magnitude, eight = abs_(x), scalar(8, x)
        large = max_(magnitude, eight)
        share = div(scalar(16, x), large)
        t, powers = sub(share, scalar(1, x)), _powers(coefficients, typeof(x).dtype)
        value = mul(_polynomial(t, powers), scalar(0.5, x))
        change = mul(_polynomial(t, np.polynomial.polynomial.polyder(powers)), share)
        return select(le(magnitude, eight), near, neg(mul(add(value, change), div(rsqrt(large), large))))

    return slope


_fall_of_i0e, _fall_of_i1e = _fall(_FAR), _fall(_FAR_OF_ONE)


def _bessel_i0e_jvp(x: ArrayLike, ans: Array, t: ArrayLike) -> Array:
    size = sign(x)
    return mul(t, mul(size, _fall_of_i0e(x, sub(mul(size, bessel_i1e(x)), ans))))


def one_over_argument(x: ArrayLike, i1: Array, scale: Array) -> Array:
    """I1(x) / x, times ``scale``, given that I1; near 0 by its series, so that all derivatives keep their digits."""
    near = lt(abs_(x), scalar(1, x))
    small = select(near, x, full_like(x, 0))
    quarter, series = mul(square(small), scalar(0.25, x)), full_like(x, _I1_SERIES[-1])
    for coefficient in _I1_SERIES[-2::-1]:
        series = add(mul(series, quarter), scalar(coefficient, x))
    return select(near, mul(series, scale), div(i1, select(near, full_like(x, 1), x)))


_I1_SERIES = [0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(9)]


def _bessel_i1e_jvp(x: ArrayLike, ans: Array, t: ArrayLike) -> Array:
    ratio = one_over_argument(x, ans, exp(neg(mul(x, sign(x)))))  # whose derivative at 0 is 0
    return mul(t, _fall_of_i1e(x, sub(sub(bessel_i0e(x), mul(sign(x), ans)), ratio)))


def _polygamma(m: Real, x: Real, precision: float, order: int) -> Real:
    return m.equals(0).where(digamma_formulas.digamma(x, precision, order), polygamma_of_orders(m, x, precision, order))


def _narrow_by(formula: Formula, name: str) -> Callable[..., Any]:
    """The lowering by a formula for floats of up to 32 bits; doubles keep XLA's own, whose bits depend on nothing around it."""
    narrow, wide = in_double(formula, name), lower_named(f"chlo.{name}")

    def rule(ctx: LoweringContext, x: Value) -> list[Value]:
        return (wide if ctx.avals_in[0].dtype == np.float64 else narrow)(ctx, x)

    return rule


_zeta_derivatives = Derivatives("zeta", hurwitz_zeta, 2)

# fmt: off
erf     = unary("erf",     floating, "chlo.erf",  cost=8,  doc="error function",
                jvp=lambda x, ans, t: mul(t, mul(scalar(_TWO_OVER_SQRT_PI, x), exp(neg(square(x))))))
erfc    = unary("erfc",    floating, "chlo.erfc", cost=16, doc="complementary error function, 1 - erf(x)",
                jvp=lambda x, ans, t: mul(t, mul(scalar(-_TWO_OVER_SQRT_PI, x), exp(neg(square(x))))))
erf_inv = unary("erf_inv", floating, "chlo.erf_inv", cost=24, doc="inverse of the error function",
                jvp=lambda x, ans, t: mul(t, mul(scalar(1 / _TWO_OVER_SQRT_PI, x), exp(square(ans)))))

lgamma    = unary("lgamma",  floating, _narrow_by(log_gamma, "lgamma"), cost=200, doc="logarithm of the magnitude of the gamma function",
                  jvp=lambda x, ans, t: mul(t, digamma(x)))
# What the documented random streams are made of: their draws depend on its last bits.
xla_lgamma = unary("xla_lgamma", floating, "chlo.lgamma", cost=100, doc="logarithm of the magnitude of the gamma function, by XLA",
                   jvp=lambda x, ans, t: mul(t, digamma(x)))
digamma   = unary("digamma", floating, _narrow_by(digamma_formulas.digamma, "digamma"), cost=200, doc="digamma function, the derivative of lgamma",
                  jvp=lambda x, ans, t: mul(t, trigamma(x)))
trigamma  = unary("trigamma", floating, in_double(digamma_formulas.trigamma, "trigamma"), cost=200,
                  doc="trigamma function, the derivative of digamma",
                  jvp=lambda x, ans, t: mul(t, polygamma(scalar(2, x), x)))
polygamma = binary("polygamma", floating, in_double(_polygamma, "polygamma"), cost=500, operands=("m", "x"),
                   doc="m-th derivative of the digamma function at x",
                   jvp=(no_derivative("polygamma", "the order m"),
                        lambda m, x, ans, t: mul(t, polygamma(add(m, scalar(1, m)), x))))
zeta      = binary("zeta", floating, in_double(hurwitz_zeta, "zeta"), cost=500, operands=("x", "q"),
                   doc="Hurwitz zeta function, the sum of (n + q)^-x over n >= 0",
                   jvp=(lambda x, q, ans, t: mul(t, _zeta_derivatives(x, q, argnums=(0,))),
                        lambda x, q, ans, t: mul(t, mul(neg(x), zeta(add(x, scalar(1, x)), q)))))

bessel_i0e = unary("bessel_i0e", floating, cached_lower_fun(_bessel_i0e, "bessel_i0e"), cost=24,
                   doc="exponentially scaled modified Bessel function of order 0, e^-|x| I0(x)",
                   jvp=_bessel_i0e_jvp)
bessel_i1e = unary("bessel_i1e", floating, cached_lower_fun(_bessel_i1e, "bessel_i1e"), cost=24, jvp=_bessel_i1e_jvp,
                   doc="exponentially scaled modified Bessel function of order 1, e^-|x| I1(x)")
# fmt: on

erf.primitive.lower["cpu"] = by_formula(erf.primitive.lower[None], error_function)
