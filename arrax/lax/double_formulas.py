"""Special functions as formulas in double precision, and their derivatives of any order.

Floats of up to 32 bits are computed in float64 and rounded once: so their errors stay close to half a unit in the last place
wherever float64 keeps some digits more than they have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core import config
from arrax.core.interpreter import Primitive, context
from arrax.core.types import instantiate, typeof
from arrax.interpreters.ad.forward import jvp
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax import arithmetic, bitwise, exponential
from arrax.lax.control_flow.conditionals import cond
from arrax.lax.conversion import convert_element_type
from arrax.lax.families import elementwise
from arrax.lax.filled_arrays import full_like
from arrax.lax.operand_checks import floating
from arrax.lax.reductions import reduce_or
from arrax.lax.selection import select
from arrax.lax.shape_slots import broadcast_to_shape

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.xla.arrays import Array, ArrayLike

TWO_PI = 2 * math.pi


class Flags:
    """An array of truth values in a formula."""

    __slots__ = ("value",)

    def __init__(self, value: Array) -> None:
        self.value = value

    def __and__(self, other: Flags) -> Flags:
        return Flags(bitwise.bitwise_and(self.value, other.value))

    def __or__(self, other: Flags) -> Flags:
        return Flags(bitwise.bitwise_or(self.value, other.value))

    def __invert__(self) -> Flags:
        return Flags(bitwise.bitwise_not(self.value))

    def where(self, yes: Real | float, no: Real | float) -> Real:
        """Elements of ``yes`` where this is true, else of ``no``; at least one is an array."""
        like = yes if isinstance(yes, Real) else no
        assert isinstance(like, Real)
        yes, no = (x if isinstance(x, Real) else Real(full_like(like.value, x)) for x in (yes, no))
        return Real(select(self.value, yes.value, no.value))


class Real:
    """An array of floats in a formula: operators are the operations of lax, and numbers take its type."""

    __slots__ = ("value",)

    def __init__(self, value: Array) -> None:
        self.value = value

    def _other(self, other: Real | float) -> ArrayLike:
        return other.value if isinstance(other, Real) else arithmetic.scalar(other, self.value)

    def __add__(self, other: Real | float) -> Real:
        return Real(arithmetic.add(self.value, self._other(other)))

    def __sub__(self, other: Real | float) -> Real:
        return Real(arithmetic.sub(self.value, self._other(other)))

    def __rsub__(self, other: float) -> Real:
        return Real(arithmetic.sub(self._other(other), self.value))

    def __mul__(self, other: Real | float) -> Real:
        return Real(arithmetic.mul(self.value, self._other(other)))

    def __truediv__(self, other: Real | float) -> Real:
        return Real(arithmetic.div(self.value, self._other(other)))

    def __rtruediv__(self, other: float) -> Real:
        return Real(arithmetic.div(self._other(other), self.value))

    __radd__, __rmul__ = __add__, __mul__

    def power(self, exponent: Real, precision: float) -> Real:
        """x^exponent of positive numbers; with few digits by exp and log, which are faster than the compiler's power."""
        if precision > 1e-13:
            return (exponent * self.log()).exp()
        return Real(exponential.pow(self.value, exponent.value))

    def __neg__(self) -> Real:
        return Real(arithmetic.neg(self.value))

    def __abs__(self) -> Real:
        return Real(arithmetic.abs_(self.value))

    def __lt__(self, other: Real | float) -> Flags:
        return Flags(arithmetic.lt(self.value, self._other(other)))

    def __le__(self, other: Real | float) -> Flags:
        return Flags(arithmetic.le(self.value, self._other(other)))

    def __gt__(self, other: Real | float) -> Flags:
        return Flags(arithmetic.gt(self.value, self._other(other)))

    def __ge__(self, other: Real | float) -> Flags:
        return Flags(arithmetic.ge(self.value, self._other(other)))

    def equals(self, other: Real | float) -> Flags:
        """Whether elements are equal."""
        return Flags(arithmetic.eq(self.value, self._other(other)))

    def finite(self) -> Flags:
        """Whether elements are neither infinite nor NaN."""
        return Flags(arithmetic.is_finite(self.value))

    def like(self, number: float) -> Real:
        """A constant of the same shape."""
        return Real(full_like(self.value, number))

    def minimum(self, other: Real | float) -> Real:
        """The smaller of two, of equal ones the other: the derivative is that of one of them, not a mean of both."""
        return (self < other).where(self, other)

    def maximum(self, other: Real | float) -> Real:
        """The larger of two, of equal ones this: what ``minimum`` has not taken."""
        return (self < other).where(other, self)

    def floor(self) -> Real:
        """The greatest whole number that is not greater."""
        return Real(arithmetic.floor(self.value))

    def exp(self) -> Real:
        """e^x"""
        return Real(exponential.exp(self.value))

    def expm1(self) -> Real:
        """e^x - 1"""
        return Real(exponential.expm1(self.value))

    def log(self) -> Real:
        """Natural logarithm."""
        return Real(exponential.log(self.value))

    def sqrt(self) -> Real:
        """Square root."""
        return Real(exponential.sqrt(self.value))

    def polynomial(self, coefficients: Sequence[float]) -> Real:
        """The sum of coefficients times powers, the constant one first."""
        total = self * coefficients[-1] + coefficients[-2]
        for coefficient in coefficients[-3::-1]:
            total = total * self + coefficient
        return total

    def chebyshev(self, low: float, high: float, coefficients: Sequence[float]) -> Real:
        """A Chebyshev series over [low, high]; by powers, which loses nothing as these series fall fast."""
        powers = np.polynomial.chebyshev.cheb2poly(coefficients).tolist()
        return ((self - (low + high) / 2) * (2 / (high - low))).polynomial(powers)


def where_any(flags: Flags, formula: Callable[[], Real], otherwise: Real) -> Real:
    """``formula()`` where flags are set, elsewhere ``otherwise``; it is computed only if any is."""
    some = reduce_or(flags.value, tuple(range(typeof(flags.value).ndim)))
    return Real(cond(some, lambda: flags.where(formula(), otherwise).value, lambda: otherwise.value))


Formula = Callable[..., Real]


def without_subnormals(formula: Formula) -> Formula:
    """A formula of operands whose subnormal numbers are zeros of the same sign, as arithmetic takes them.

    Comparisons do not always: compiled into a test of bits, ``x > 0`` holds for numbers whose logarithm is that of 0.
    """

    def normal(*operands: Real, precision: float, order: int) -> Real:
        least = float(np.finfo(np.float64 if precision < 1e-13 else np.float32).tiny)
        flushed = [(abs(x) < least).where(x * 0, x) for x in operands]
        return formula(*flushed, precision=precision, order=order)

    return normal


def _computed(formula: Formula, order: int) -> Callable[..., Any]:
    """A formula as a function of floats of one type, scalars among them."""

    def computed(*operands: Array) -> Array:
        dtype = typeof(operands[0]).dtype
        shape = max((typeof(x).shape for x in operands), key=len)
        precision = float(np.finfo(np.float64).eps) if dtype == np.float64 else 1e-9
        wide = [Real(convert_element_type(broadcast_to_shape(x, shape), np.float64)) for x in operands]
        return convert_element_type(formula(*wide, precision=precision, order=order).value, dtype)

    return computed


def _lowering(computed: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The lowering rule by a function that computes in float64, whether arrays of 64 bits are on or not."""
    rule = cached_lower_fun(computed, name)

    def lowered(ctx: LoweringContext, *values: Value, **params: Any) -> Sequence[Value]:
        with config.enable_x64(True):
            return rule(ctx, *values, **params)

    return lowered


def in_double(formula: Formula, name: str) -> Callable[..., Any]:
    """The lowering rule of an elementwise operation by a formula in float64.

    Args:
      formula: ``(*operands, precision, order)``: the relative error that is of no account, and how often the formula will be
        differentiated, for expansions that stop where they have settled.
    """
    return _lowering(_computed(formula, 0), name)


def value_and_slope(formula: Formula, argnum: int) -> Callable[..., tuple[Real, Real]]:
    """A formula's value and its derivative in one operand, by the forward mode."""

    def both(*operands: Real, **options: Any) -> tuple[Real, Real]:
        def along(value: Array) -> list[Any]:
            return [formula(*operands[:argnum], Real(value), *operands[argnum + 1 :], **options).value]

        x = operands[argnum].value
        (value,), (slope,) = jvp(along, [x], [full_like(x, 1)])
        return Real(value), Real(instantiate(slope))

    return both


def _slope(formula: Formula, argnum: int) -> Formula:
    return lambda *operands, **options: value_and_slope(formula, argnum)(*operands, **options)[1]


TINY = 1e-300  # a positive number so small that formulas are at their limits


class Derivatives:
    """The derivatives of a formula in its operands, of any order: an elementwise primitive, whose derivatives are its own.

    Args:
      beside: operands from which a formula takes its limits on borders, to those next to them where its derivatives are.
    """

    __slots__ = ("primitive",)

    def __init__(
        self, name: str, formula: Formula, count: int, beside: Callable[..., tuple[Real, ...]] = lambda *given: given
    ) -> None:
        def computed(*operands: Array, argnums: tuple[int, ...]) -> Array:
            slope = formula
            for argnum in argnums:
                slope = _slope(slope, argnum)
            moved = without_subnormals(lambda *given, **options: slope(*beside(*given), **options))
            return _computed(moved, len(argnums))(*operands)

        self.primitive: Primitive = elementwise(
            f"{name}_derivative", [floating] * count, _lowering(computed, f"{name}_derivative"), cost=1000,
            jvp=[self._rule(argnum) for argnum in range(count)],
        )  # fmt: skip

    def _rule(self, argnum: int) -> Callable[..., Any]:
        def rule(*args: Array, argnums: tuple[int, ...]) -> Array:
            *operands, _, tangent = args
            return arithmetic.mul(tangent, self(*operands, argnums=(*argnums, argnum)))

        return rule

    def __call__(self, *operands: ArrayLike, argnums: tuple[int, ...]) -> Array:
        """The derivative in the operands of some numbers, as often as each is named."""
        return context.interpreter.process(self.primitive, operands, {"argnums": tuple(sorted(argnums))})
