"""How special functions are declared: operands promoted, 16-bit numbers computed in 32 bits, one compiled function each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.core.types import typeof
from arrax.lax.conversion import convert
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, promote_inexact, refuse_complex
from arrax.scipy.special import coefficients as table
from arrax.transforms.custom_jvp import SymbolicZero, custom_jvp

Function = Callable[..., Any]


def elementwise(complexes: bool = False, eager: bool = True) -> Callable[[Function], Function]:
    """Decorator: make a function of arrays of one floating dtype, at least 32 bits wide, a public elementwise one.

    Args:
      complexes: whether it takes complex numbers.
      eager: False for a body that its caller compiles.
    """

    def decorate(fun: Function) -> Function:
        @functools.wraps(fun)
        def computed(*operands: Any) -> Any:
            check_arraylike(fun.__name__, *operands)
            operands = tuple(promote_inexact(*operands))
            if not complexes:
                for x in operands:
                    refuse_complex(fun.__name__, x)
            dtype = typeof(operands[0]).dtype
            if dtypes.itemsize_bits(dtype) >= 32:
                return fun(*map(jnp.asarray, operands))
            outs = fun(*(convert(x, np.float32) for x in operands))
            return tuple(convert(x, dtype) for x in outs) if isinstance(outs, tuple) else convert(outs, dtype)

        return api()(computed) if eager else computed

    return decorate


def with_slopes(*slopes: Function | None) -> Callable[[Function], Function]:
    """Decorator: a function's derivatives, one ``slope(ans, *operands)`` per operand; None where it has none here."""

    def decorate(fun: Function) -> Function:
        @functools.wraps(fun)
        def broadcast(*operands: Any) -> Any:
            return rule(*jnp.broadcast_arrays(*operands))

        rule = custom_jvp(lambda *operands: fun(*map(jnp.asarray, operands)))

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            primals = tuple(map(jnp.asarray, primals))
            ans = rule(*primals)
            total = None
            for slope, t in zip(slopes, tangents, strict=True):
                if slope is not None and not isinstance(t, SymbolicZero):  # an infinite slope times nothing is nothing
                    term = slope(ans, *primals) * t
                    total = term if total is None else total + term
            return ans, jnp.zeros_like(ans) if total is None else total

        rule.defjvp(jvp, symbolic_zeros=True)

        return broadcast

    return decorate


def chebyshev(t: Any, coefficients: Sequence[float]) -> Any:
    """The sum of Chebyshev polynomials at t in [-1, 1], as far as the dtype can tell.

    By powers of t, which takes half the operations of Clenshaw's recurrence and loses nothing: these series fall fast.
    """
    smallest = np.finfo(t.dtype).eps / 32 * max(1e-3, abs(coefficients[0]))
    kept = [c for c in coefficients if abs(c) > smallest]
    return horner(t, np.polynomial.chebyshev.cheb2poly(kept)[::-1].tolist())


def horner(t: Any, coefficients: Sequence[float]) -> Any:
    """A polynomial, its highest power first."""
    total = jnp.full_like(t, coefficients[0])
    for c in coefficients[1:]:
        total = total * t + c
    return total


def around_root(x: Any, root: tuple[float, float, float], factor: Any) -> Any:
    """(x - root) factor, where the root is no float: what the function is at the nearest one is added at the end.

    A difference to the root in two steps would be made one by the compiler.
    """
    index, value, slope = root
    nearest = np.asarray(index, x.dtype)[()]
    return (x - nearest) * factor + (value + slope * (float(nearest) - index))


def between(x: Any, low: float, high: float) -> Any:
    """x in [low, high] as a number in [-1, 1]; others are taken to the ends, so that no branch overflows."""
    return (jnp.clip(x, low, high) - (low + high) / 2) * (2 / (high - low))


def leading_half(x: Any) -> Any:
    """x, rounded to half of its digits: its square is exact."""
    info = dtypes.finfo(x.dtype)
    return lax.reduce_precision(x, info.nexp, info.nmant // 2 - 1)


def exp_square(x: Any, factor: float) -> Any:
    """exp(factor x^2) for a power of two, as exact as exp itself: exp would enlarge the rounding of the square."""
    high = leading_half(x)
    leading = jnp.exp(factor * (high * high))
    return leading * (1 + jnp.expm1(factor * ((x - high) * (x + high))))  # a product of two exp would be made one


def log1p(x: Any) -> Any:
    """log(1 + x) to the last digits: the compiler's own loses some below 0."""
    near = (x > -0.5) & (x < 1)
    safe = jnp.where(near, x, 0.0)
    ratio = safe / (2 + safe)
    series = 2 * ratio * chebyshev(between(ratio * ratio, 0.0, 1 / 9), table.ATANH)
    return jnp.where(near, series, jnp.log(1 + jnp.where(near, 1.0, x)))


def sin_pi(x: Any) -> Any:
    """sin(pi x), exactly 0 at integers."""
    return _turned(x - 2 * jnp.round(x / 2), jnp.sin, jnp.cos)


def cos_pi(x: Any) -> Any:
    """cos(pi x), exactly 0 halfway between integers."""
    x = jnp.abs(x - 2 * jnp.round(x / 2))
    return sin_pi(0.5 - x)


def _turned(r: Any, sine: Function, cosine: Function) -> Any:
    """sin(pi r) for r in [-1, 1], from angles of at most pi/4."""
    size = jnp.minimum(jnp.abs(r), 1 - jnp.abs(r))
    value = jnp.where(size > 0.25, cosine(np.pi * (0.5 - size)), sine(np.pi * jnp.minimum(size, 0.25)))
    return jnp.sign(r) * value


def safe_where(condition: Any, x: Any, other: float) -> Any:
    """x where the condition holds, elsewhere a number that does no harm in a branch that is not taken."""
    return jnp.where(condition, x, other)
