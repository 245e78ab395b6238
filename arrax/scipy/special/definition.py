"""How special functions are declared: operands promoted, 16-bit numbers computed in 32 bits, one compiled function each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.core.interpreter import context
from arrax.core.types import typeof
from arrax.lax import families, operand_checks
from arrax.lax.conversion import convert
from arrax.lax.double_formulas import Derivatives, Real, in_double
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import array_of
from arrax.numpy_api.operands import check_arraylike, own_promotion, promote_inexact, refuse_complex, report_ranks
from arrax.transforms.custom_jvp import SymbolicZero, custom_jvp
from arrax.xla.arrays import Array, ArrayLike

Function = Callable[..., Any]


def elementwise(
    complexes: bool = False,
    eager: bool = True,
    promote: Callable[..., list[Any]] = promote_inexact,
    lists: bool = False,
) -> Callable[[Function], Function]:
    """Decorator: make a function of arrays of one floating dtype, at least 32 bits wide, a public elementwise one.

    Args:
      complexes: whether it takes complex numbers.
      eager: False for a body that its caller compiles.
      promote: what gives the operands their common dtype, and says whether it is weak.
      lists: whether it takes lists of numbers.
    """

    def decorate(fun: Function) -> Function:
        body = own_promotion(fun)

        @functools.wraps(fun)
        def computed(*operands: ArrayLike) -> Any:
            if not operands:
                return body()  # Python says what is missing
            if lists:
                operands = tuple(map(array_of, operands))
            check_arraylike(fun.__name__, *operands)
            operands = tuple(promote(*operands))
            report_ranks(fun.__name__, *operands)
            if not complexes:
                for x in operands:
                    refuse_complex(fun.__name__, x)
            dtype = typeof(operands[0]).dtype
            if dtypes.itemsize_bits(dtype) >= 32:
                return body(*map(jnp.asarray, operands))
            outs = body(*(convert(x, np.float32) for x in operands))
            narrowed = [
                x if jnp.iscomplexobj(x) else convert(x, dtype) for x in (outs if isinstance(outs, tuple) else (outs,))
            ]
            return tuple(narrowed) if isinstance(outs, tuple) else narrowed[0]

        return api()(computed) if eager else computed

    return decorate


def with_slopes(*slopes: Function | None) -> Callable[[Function], Function]:
    """Decorator: a function's derivatives, one ``slope(ans, *operands)`` per operand; None where it has none here."""

    def decorate(fun: Function) -> Function:
        @functools.wraps(fun)
        def broadcast(*operands: Array) -> Array:
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


def analytic(*slopes: Function | float | None) -> Callable[[Function], Function]:
    """Decorator: make a function of float64 arrays an operation of arrays of a floating dtype, computed in double precision.

    The function takes ``precision``, the relative error that is of no account, and ``order``, how often it will be differentiated.

    Args:
      slopes: for each operand the derivative, ``slope(ans, *operands)`` or a constant; None takes the forward mode through the
        function.
    """

    def decorate(fun: Function) -> Function:
        def formula(*operands: Real, **options: Any) -> Real:
            return Real(own_promotion(fun)(*(jnp.asarray(x.value) for x in operands), **options))

        name = fun.__name__.strip("_")
        further = Derivatives(name, formula, len(slopes))

        def rule(argnum: int, slope: Function | float | None) -> Function | None:
            if isinstance(slope, int | float):
                return None if slope == 0 else lambda *args: slope * args[-1]
            if slope is None:
                return lambda *args: args[-1] * further(*args[:-2], argnums=(argnum,))
            return lambda *args: args[-1] * slope(args[-2], *args[:-2])

        operation = families.elementwise(
            name, [operand_checks.floating] * len(slopes), in_double(formula, name), cost=1000,
            jvp=[rule(argnum, slope) for argnum, slope in enumerate(slopes)],
        )  # fmt: skip

        @functools.wraps(fun)
        def applied(*operands: ArrayLike) -> Array:
            return context.interpreter.process(operation, tuple(jnp.broadcast_arrays(*operands)), {})

        return applied

    return decorate


def chebyshev(t: Array, coefficients: Sequence[float]) -> Array:
    """The sum of Chebyshev polynomials at t in [-1, 1], as far as the dtype can tell.

    By powers of t, which takes half the operations of Clenshaw's recurrence and loses nothing: these series fall fast.
    """
    smallest = np.finfo(t.dtype).eps / 32 * max(1e-3, abs(coefficients[0]))
    kept = [c for c in coefficients if abs(c) > smallest]
    return horner(t, np.polynomial.chebyshev.cheb2poly(kept)[::-1].tolist())


def horner(t: Array, coefficients: Sequence[float]) -> Array:
    """A polynomial, its highest power first."""
    total = jnp.full_like(t, coefficients[0])
    for c in coefficients[1:]:
        total = total * t + c
    return total


def around_root(x: Array, root: tuple[float, float, float], factor: Array) -> Array:
    """(x - root) factor, where the root is not a float: what the function is at the nearest one is added at the end.

    A difference to the root in two steps would be made one by the compiler.
    """
    index, value, slope = root
    nearest = np.asarray(index, x.dtype)[()]
    return (x - nearest) * factor + (value + slope * (float(nearest) - index))


def between(x: Array, low: float, high: float) -> Array:
    """x in [low, high] as a number in [-1, 1]; others are taken to the ends, so that no branch overflows."""
    return (jnp.clip(x, low, high) - (low + high) / 2) * (2 / (high - low))


def leading_half(x: Array) -> Array:
    """x, rounded to half of its digits: its square is exact."""
    info = dtypes.finfo(x.dtype)
    return lax.reduce_precision(x, info.nexp, info.nmant // 2 - 1)


def _first_digits(x: Array) -> Array:
    """x without the second half of its digits: its square is exact. Constant, where it is differentiated."""
    info, bits = dtypes.finfo(x.dtype), np.dtype(f"uint{8 * x.dtype.itemsize}")
    dropped = info.nmant + 1 - (info.nmant + 1) // 2
    kept = lax.bitcast_convert_type(x, bits) & bits.type(2**info.bits - 2**dropped)
    return lax.bitcast_convert_type(kept, x.dtype)


def exp_square(x: Array, factor: float) -> Array:
    """exp(factor x^2) for a power of two, as exact as exp itself: exp would enlarge the rounding of the square."""
    high = _first_digits(x)
    rest = factor * ((x - high) * (x + high))  # an eighth at most, where the result is no zero
    return jnp.exp(factor * (high * high)) * horner(rest, [1 / 120, 1 / 24, 1 / 6, 1 / 2, 1, 1])


@with_slopes(lambda ans, x: np.pi * cos_pi(x))
def sin_pi(x: Array) -> Array:
    """sin(pi x), exactly 0 at integers."""
    return _turned(x - 2 * jnp.round(x / 2), jnp.sin, jnp.cos)


@with_slopes(lambda ans, x: -np.pi * sin_pi(x))
def cos_pi(x: Array) -> Array:
    """cos(pi x), exactly 0 halfway between integers."""
    return sin_pi(0.5 - jnp.abs(x - 2 * jnp.round(x / 2)))


def _turned(r: Array, sine: Function, cosine: Function) -> Array:
    """sin(pi r) for r in [-1, 1], from angles of at most pi/4."""
    size = jnp.minimum(jnp.abs(r), 1 - jnp.abs(r))
    value = jnp.where(size > 0.25, cosine(np.pi * (0.5 - size)), sine(np.pi * jnp.minimum(size, 0.25)))
    return jnp.sign(r) * value


def where_any(condition: Array, fun: Callable[[], Any], otherwise: Array) -> Array:
    """``fun()`` where the condition holds, elsewhere what is given; it is computed only if there is such an element."""
    return lax.cond(jnp.any(condition), lambda: jnp.where(condition, fun(), otherwise), lambda: otherwise)
