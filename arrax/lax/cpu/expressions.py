"""Elementwise formulas as private functions of a module: what lowering rules of elementary functions are written in.

They compute float32 functions in float64, which the compiler vectorises, and round once at the end: so errors stay close to
half a unit in the last place, and do not depend on what the compiler fuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import native
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import call_function

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.native.mlir import ir

Number = int | float


class Expression:
    """An array of a module under construction; operators make operations on it."""

    __slots__ = ("value", "aval")

    def __init__(self, value: Value, aval: ShapedArray) -> None:
        self.value, self.aval = value, aval

    def like(self, number: float) -> Expression:
        """A constant of the same type."""
        return Expression(builder.full(number, self.aval), self.aval)

    def _with(self, name: str, *others: Expression | Number) -> Expression:
        operands = [other if isinstance(other, Expression) else self.like(other) for other in others]
        return Expression(builder.op(name, self.aval, self.value, *(x.value for x in operands)), self.aval)

    def __add__(self, other: Expression | Number) -> Expression:
        return self._with("add", other)

    def __sub__(self, other: Expression | Number) -> Expression:
        return self._with("subtract", other)

    def __mul__(self, other: Expression | Number) -> Expression:
        return self._with("multiply", other)

    def __truediv__(self, other: Expression | Number) -> Expression:
        return self._with("divide", other)

    def __and__(self, other: Expression | Number) -> Expression:
        return self._with("and", other)

    def __or__(self, other: Expression | Number) -> Expression:
        return self._with("or", other)

    def __xor__(self, other: Expression | Number) -> Expression:
        return self._with("xor", other)

    def __lshift__(self, bits: int) -> Expression:
        return self._with("shift_left", bits)

    def __rshift__(self, bits: int) -> Expression:
        """The shift that fills with zeros: of 64 bits, not every CPU has a vector form of the other."""
        return self._with("shift_right_logical", bits)

    def __invert__(self) -> Expression:
        return self._with("not")

    def __abs__(self) -> Expression:
        return self._with("abs")

    def __neg__(self) -> Expression:
        return self._with("negate")

    def _compare(self, direction: str, other: Expression | Number) -> Expression:
        flags = ShapedArray(self.aval.shape, np.dtype(np.bool_))
        right = other if isinstance(other, Expression) else self.like(other)
        return Expression(builder.compare(direction, flags.shape, self.value, right.value), flags)

    def __lt__(self, other: Expression | Number) -> Expression:
        return self._compare("LT", other)

    def __le__(self, other: Expression | Number) -> Expression:
        return self._compare("LE", other)

    def __gt__(self, other: Expression | Number) -> Expression:
        return self._compare("GT", other)

    def __ge__(self, other: Expression | Number) -> Expression:
        return self._compare("GE", other)

    def equals(self, other: Expression | Number) -> Expression:
        """Whether elements are equal."""
        return self._compare("EQ", other)

    def differs(self, other: Expression | Number) -> Expression:
        """Whether elements are not equal; NaN differs from itself."""
        return self._compare("NE", other)

    def where(self, yes: Expression, no: Expression | Number) -> Expression:
        """Elements of ``yes`` where this is true, else of ``no``."""
        other = no if isinstance(no, Expression) else yes.like(no)
        return Expression(builder.op("select", yes.aval, self.value, yes.value, other.value), yes.aval)

    def minimum(self, other: Expression | Number) -> Expression:
        """The lesser of two."""
        return self._with("minimum", other)

    def maximum(self, other: Expression | Number) -> Expression:
        """The greater of two."""
        return self._with("maximum", other)

    def sqrt(self) -> Expression:
        """Square root."""
        return self._with("sqrt")

    def log(self) -> Expression:
        """Natural logarithm."""
        return self._with("log")

    def floor(self) -> Expression:
        """The greatest whole number that is not greater."""
        return self._with("floor")

    def behind_barrier(self) -> Expression:
        """The value itself, behind a barrier: the compiler does not see what made it."""
        return self._with("optimization_barrier")

    def to(self, dtype: Any) -> Expression:
        """Converted to a dtype."""
        aval = ShapedArray(self.aval.shape, np.dtype(dtype))
        return self if aval.dtype == self.aval.dtype else Expression(builder.op("convert", aval, self.value), aval)

    def bits(self) -> Expression:
        """The bits as a signed integer."""
        aval = ShapedArray(self.aval.shape, np.dtype(f"int{8 * self.aval.dtype.itemsize}"))
        return Expression(builder.op("bitcast_convert", aval, self.value), aval)

    def floats(self) -> Expression:
        """The float whose bits these are."""
        aval = ShapedArray(self.aval.shape, np.dtype(f"float{8 * self.aval.dtype.itemsize}"))
        return Expression(builder.op("bitcast_convert", aval, self.value), aval)

    def with_sign_of(self, other: Expression) -> Expression:
        """A number that is not negative, with another's sign."""
        return (self.bits() | (other.bits() & int(np.iinfo(other.bits().aval.dtype).min))).floats()

    def negated_by(self, parity: Expression) -> Expression:
        """Negated where the last bit of an integer is set, by a division by 1 or -1.

        The compiler computes a quotient once, where it would compute cheaper operations anew for each element of a result
        that they are repeated in.
        """
        aval = ShapedArray(self.aval.shape, np.dtype(np.int32))
        return self / ((parity.to(aval.dtype) << 31) | int(np.float32(1).view(np.int32))).floats()

    def computed_once(self) -> Expression:
        """The value as a quotient by 1, which the compiler drops when all else is done.

        It computes a quotient once, where it would compute cheaper operations anew for each element of a result that they
        are repeated in.
        """
        return self / self.like(1).behind_barrier()

    def polynomial(self, coefficients: Sequence[float]) -> Expression:
        """The sum of coefficients times powers, the constant one first."""
        total = self * coefficients[-1] + coefficients[-2]
        for coefficient in coefficients[-3::-1]:
            total = total * self + coefficient
        return total


def broadcasted(value: Value, aval: ShapedArray, shape: tuple[int, ...]) -> Expression:
    """An operand, which may be a scalar, as an array of the result's shape."""
    whole = ShapedArray(shape, aval.dtype)
    return Expression(value if aval.shape == shape else builder.broadcast(value, whole, ()), whole)


Formula = Callable[..., Expression]
_SMALL_FLOATS = ("float32", "float16", "bfloat16")


def by_formula(
    general: Callable[..., Any], formula: Formula, kinds: Sequence[str] = _SMALL_FLOATS
) -> Callable[..., Any]:
    """The CPU's lowering of an elementwise function: floats of up to 32 bits by a formula, all else as elsewhere.

    Which of both is a matter of the dtype alone, so that an element has the same bits in every program.

    Args:
      general: the lowering rule of other platforms and dtypes.
      formula: function of float32 expressions.
      kinds: the dtypes that go by the formula; with float64 among them, it takes expressions of that type as they are.
    """

    def rule(ctx: LoweringContext, *values: Value, **params: Any) -> list[Value]:
        out = ctx.avals_out[0]
        same = all(aval.dtype == out.dtype for aval in ctx.avals_in)
        if out.dtype.name not in kinds or not same or any(value is not None for value in params.values()):
            return general(ctx, *values, **params)
        avals = [ShapedArray(aval.shape, aval.dtype) for aval in ctx.avals_in]
        return [_call(ctx, formula, avals, ShapedArray(out.shape, out.dtype), values)]

    return rule


def _call(
    ctx: LoweringContext, formula: Formula, avals: Sequence[ShapedArray], out: ShapedArray, values: Sequence[Value]
) -> Value:
    """Call the formula's private function, which is made once per module and type."""
    if builder.symbols.values is not None:  # a function of its own would have to be told the lengths
        return _answer(formula, avals, out, values)
    module = ctx.module_context
    key = ("formula", formula, tuple(avals))
    function = module.functions.get(key)
    if function is None:
        function = module.functions[key] = _function(ctx, formula, avals, out)
    name = native.mlir.ir.StringAttr(function.attributes["sym_name"]).value
    return call_function(name, [builder.ir_type(out)], values)[0]


def _single(x: Expression) -> Expression:
    """Small floats as float32. The compiler would merge two conversions into one from a small float to a float64: slow."""
    return x if x.aval.dtype.name in ("float32", "float64") else x.to(np.float32).minimum(np.inf)


def _small(x: Expression, dtype: np.dtype) -> Expression:
    """A float32 as a small float."""
    return x if dtype.name in ("float32", "float64") else x.minimum(np.inf).to(dtype)


def _function(ctx: LoweringContext, formula: Formula, avals: Sequence[ShapedArray], out: ShapedArray) -> ir.Operation:
    ir, module = native.mlir.ir, ctx.module_context
    in_types = [builder.ir_type(aval) for aval in avals]
    attributes = {
        "sym_name": ir.StringAttr.get(module.fresh_name(f"{ctx.primitive.name}_by_formula")),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(in_types, [builder.ir_type(out)])),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    with ir.InsertionPoint(module.module.body):
        function = builder.operation("func.func", [], [], attributes, 1)
    block = function.regions[0].blocks.append(*in_types, arg_locs=[ir.Location.unknown()] * len(in_types))
    with ir.InsertionPoint(block):
        builder.operation("func.return", [], [_answer(formula, avals, out, block.arguments)])
    return function


def _answer(formula: Formula, avals: Sequence[ShapedArray], out: ShapedArray, values: Any) -> Value:
    full = [broadcasted(value, aval, out.shape) for value, aval in zip(values, avals, strict=True)]
    return _small(formula(*map(_single, full)).computed_once(), out.dtype).value
