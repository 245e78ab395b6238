"""Arithmetic: sums, products, quotients, remainders, powers, rounding, comparison of magnitude, complex parts."""

# mypy: disable-error-code="has-type"
# (entries name each other inside their rules)

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.interpreter import Rounding, context
from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.dtypes import OptionalDType
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.lowering import builder
from arrax.lax.conversion import convert_ir
from arrax.lax.cpu.quotients import by_floats, exact_quotient, quotient, quotient_form, remainder
from arrax.lax.families import binary, elementwise, lower_named, repeat_scalars, unary
from arrax.lax.neutral_numbers import lower_sum
from arrax.lax.operand_checks import (
    anything,
    checked_operand,
    complexes,
    floating,
    inexact,
    kind_of,
    match_scalars,
    numeric,
    real,
    requested_dtype,
    signed,
)
from arrax.lax.operand_checks import bools as boolean
from arrax.lax.shape_slots import shape_slots, unbroadcast
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext


def scalar(value: float, like: ArrayLike) -> ArrayLike:
    """A constant (or the length of an axis) of the dtype of ``like``, for rules; weak where ``like`` is."""
    aval = typeof(like)
    if is_symbolic(value):
        return shape_slots.convert(value, aval.dtype, aval.weak_type)
    constant = np.asarray(value).astype(aval.dtype)[()]
    if aval.weak_type:
        plain = constant.item()
        if typeof(plain).dtype == aval.dtype:
            return plain
    return constant


def _transpose_add(ct: ArrayLike, x: UndefinedPrimal, y: UndefinedPrimal) -> list[Any]:
    return [
        unbroadcast(ct, x.aval) if is_undefined_primal(x) else None,
        unbroadcast(ct, y.aval) if is_undefined_primal(y) else None,
    ]


def _transpose_sub(ct: Array, x: UndefinedPrimal, y: UndefinedPrimal) -> list[Any]:
    return [
        unbroadcast(ct, x.aval) if is_undefined_primal(x) else None,
        unbroadcast(neg(ct), y.aval) if is_undefined_primal(y) and type(ct) is not Zero else None,
    ]


def _transpose_div(ct: ArrayLike, x: Any, y: Any) -> list[Any]:
    return [None if type(ct) is Zero else unbroadcast(div(ct, y), x.aval), None]


def _as(plain: Callable[..., Any], boolean_operation: str) -> Any:
    """Lower to another operation for booleans, for which XLA's arithmetic is logic."""
    logical = lower_named(boolean_operation)

    def rule(ctx: LoweringContext, *values: Value, **params: Any) -> list[Value]:
        return (logical if ctx.avals_in[0].dtype == np.bool_ else plain)(ctx, *values, **params)

    return rule


def _sign_lowering(ctx: LoweringContext, x: Value) -> list[Value]:
    aval = ctx.avals_in[0]
    if kind_of(aval.dtype) != "unsigned":
        return [builder.op("sign", aval, x)]
    zero = builder.full(0, aval)
    return [builder.op("select", aval, builder.compare("EQ", aval.shape, x, zero), zero, builder.full(1, aval))]


def _abs_lowering(ctx: LoweringContext, x: Value) -> list[Value]:
    """Complex numbers with an infinite part are infinite, whatever the other part is."""
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    size = builder.op("abs", out, x)
    if kind_of(aval.dtype) != "complex":
        return [size]
    infinity = builder.full(np.inf, out)
    for name in ("real", "imag"):
        part = builder.op("abs", out, builder.op(name, out, x))
        size = builder.op("select", out, builder.compare("EQ", out.shape, part, infinity), infinity, size)
    return [size]


def _abs_jvp(x: ArrayLike, ans: Array, t: ArrayLike) -> Array:
    if kind_of(typeof(x).dtype) != "complex":
        return mul(t, add(sign(x), _equal_mask(x, scalar(0, x))))  # 1 at 0, as to the right of it
    safe = _without_zeros(ans)
    return add(div(mul(real_part(x), real_part(t)), safe), div(mul(imag(x), imag(t)), safe))


def _without_zeros(ans: Array) -> Array:
    """A magnitude with 1 for 0, where the derivative is taken as 0."""
    return add(ans, _equal_mask(ans, scalar(0, ans)))


def _complex_result(dtype: np.dtype, *_: np.dtype) -> np.dtype:
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"complex numbers have parts of float32 or float64, not of {dtype.name}")
    return np.dtype(np.complex64 if dtype == np.float32 else np.complex128)


def _real_result(dtype: np.dtype, **_: Any) -> Any:
    return dtypes.real_dtype(dtype)


def _tie_mask(x: ArrayLike, y: ArrayLike, z: Array) -> Array:
    """Weights of x in max(x, y) = z: 1 where it is the greater, 1/2 at a tie, 0 elsewhere and where z is NaN."""
    return div(_equal_mask(x, z), add(_equal_mask(y, z), scalar(1, z)))


def _equal_mask(x: ArrayLike, z: ArrayLike) -> Array:
    return shape_slots.convert(eq(x, z), typeof(z).dtype, typeof(z).weak_type)


# fmt: off
neg  = unary("neg",  numeric, "negate", rounding=Rounding.NONE, linear=True, doc="negation, -x")
sign = unary("sign", numeric, _sign_lowering, rounding=Rounding.NONE, doc="sign: -1, 0 or 1, x/|x| for complex x")
floor = unary("floor", floating, "floor", rounding=Rounding.NONE, doc="greatest integer not above x")
ceil = unary("ceil", floating, "ceil", rounding=Rounding.NONE, doc="least integer not below x")
abs_ = unary("abs", signed | inexact, _abs_lowering, rounding=Rounding.NONE, result=_real_result, jvp=_abs_jvp, doc="magnitude, |x|")
is_finite = unary("is_finite", floating, "is_finite", rounding=Rounding.NONE, result=lambda d: np.dtype(np.bool_), doc="test for finite values")

_SUM_SLOPES = (lambda x, y, ans, t: t, lambda x, y, ans, t: t)
add = binary("add", numeric, _as(lower_sum("add"), "or"), rounding=Rounding.SUM, transpose=_transpose_add, doc="sum, x + y",
             jvp=_SUM_SLOPES)
sub = binary("sub", numeric, lower_sum("subtract"), rounding=Rounding.SUM, transpose=_transpose_sub, doc="difference, x - y",
             jvp=(lambda x, y, ans, t: t, lambda x, y, ans, t: neg(t)))
_QUOTIENT_SLOPES = (lambda x, y, ans, t: div(t, y), lambda x, y, ans, t: mul(div(ans, y), neg(t)))
div = binary("div", numeric, "divide", rounding=Rounding.NONE, cost=2, transpose=_transpose_div, doc="quotient, x / y; truncated for integers",
             jvp=_QUOTIENT_SLOPES)
rem = binary("rem", real, "remainder", cost=8, doc="remainder with the sign of the dividend",
             jvp=(lambda x, y, ans, t: t, lambda x, y, ans, t: mul(neg(t), _truncated_quotient(x, y))))
# fmt: on
neg.primitive.fold, add.primitive.fold, sub.primitive.fold = np.negative, np.add, np.subtract

# The sum of two cotangents: libraries give it other rules than sums of values.
add_jaxvals_p = elementwise(
    "add_any",
    (numeric, numeric),
    add.primitive.lower[None],
    rounding=Rounding.SUM,
    transpose=_transpose_add,
    jvp=_SUM_SLOPES,
)
div.primitive.lower["cpu"] = by_floats(div.primitive.lower[None], quotient, exact_quotient)
# As XLA compiles it, where recorded random numbers have its products with reciprocals.
xla_div = binary(
    "xla_div",
    inexact,
    "divide",
    rounding=Rounding.NONE,
    cost=2,
    doc="quotient as XLA compiles it",
    jvp=_QUOTIENT_SLOPES,
)
rem.primitive.lower["cpu"] = by_floats(rem.primitive.lower[None], remainder)


# A product may be wanted in another dtype than its operands', such as that of sums of 8-bit ones.


def _mul_lowering(ctx: LoweringContext, x: Value, y: Value, *, out_dtype: np.dtype | None = None) -> list[Value]:
    if out_dtype is None:
        return _plain_mul_lowering(ctx, x, y)
    dtype = max(ctx.avals_in[0].dtype, out_dtype, key=lambda d: d.itemsize)
    out = ctx.avals_out[0]
    x, y = (convert_ir(v, a, ShapedArray(a.shape, dtype)) for v, a in zip((x, y), ctx.avals_in, strict=True))
    wide = ShapedArray(out.shape, dtype)
    return [convert_ir(builder.op("multiply", wide, *repeat_scalars(ctx, (x, y))), wide, out)]


_plain_mul_lowering = _as(lower_named("multiply"), "and")


def _mul_transpose(ct: ArrayLike, x: Any, y: Any, *, out_dtype: np.dtype | None = None) -> list[Any]:
    if type(ct) is Zero:
        return [None, None]

    def times(known: ArrayLike, aval: ShapedArray) -> Any:
        if out_dtype is None:
            return unbroadcast(mul(ct, known), aval)
        product = mul(ct, shape_slots.convert(known, out_dtype))
        return shape_slots.convert(unbroadcast(product, aval), aval.dtype)

    return [times(y, x.aval), None] if is_undefined_primal(x) else [None, times(x, y.aval)]


mul_p = elementwise(
    "mul", [numeric, numeric], _mul_lowering, rounding=Rounding.PRODUCT, transpose=_mul_transpose,
    result=lambda x, y, out_dtype=None: x if out_dtype is None else out_dtype,
    jvp=[lambda x, y, ans, t, **params: mul_p.bind(t, y, **params), lambda x, y, ans, t, **params: mul_p.bind(x, t, **params)],
)  # fmt: skip
mul_p.fold = lambda x, y, out_dtype=None: np.multiply(x, y) if out_dtype is None else None


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: OptionalDType = None) -> Array:
    """Elementwise product, x y.

    Args:
      x, y: arrays or numbers; operands have equal dtypes and shapes, scalars fit any shape.
      out_dtype: the dtype of the products, where it is not the operands'; operands of several dtypes are converted to it.
    Returns: an array of the operands' shape.
    Raises:
      TypeError: a dtype that the operation does not take, or operands that differ.
    Example: ``lax.mul(jnp.int8(100), jnp.int8(3), out_dtype=jnp.int32)`` is 300.
    """
    x, y = match_scalars("mul", x, y)
    if out_dtype is None:
        return context.interpreter.process(mul_p, (x, y), {})
    dtype = requested_dtype("mul", out_dtype)
    if typeof(x).dtype != typeof(y).dtype:
        x, y = shape_slots.convert(x, dtype), shape_slots.convert(y, dtype)
    return context.interpreter.process(mul_p, (x, y), {"out_dtype": dtype})


mul.primitive = mul_p  # type: ignore[attr-defined]
div.primitive.forms["cpu"] = quotient_form(mul)


def _truncated_quotient(x: ArrayLike, y: ArrayLike) -> Array:
    quotient = div(x, y)
    return mul(sign(quotient), floor(abs_(quotient)))


def _complex_minmax(direction: str, operation: str) -> Any:
    """max and min: complex numbers in lexicographic order."""
    plain = lower_named(operation)

    def rule(ctx: LoweringContext, x: Value, y: Value) -> list[Value]:
        aval = ctx.avals_out[0]
        if kind_of(aval.dtype) != "complex":
            return plain(ctx, x, y)
        x, y = repeat_scalars(ctx, (x, y))
        part = ShapedArray(aval.shape, _real_result(aval.dtype))
        flags = ShapedArray(aval.shape, np.dtype(np.bool_))
        rx, ry = builder.op("real", part, x), builder.op("real", part, y)
        ix, iy = builder.op("imag", part, x), builder.op("imag", part, y)
        first = builder.op(
            "select", flags, builder.compare("EQ", aval.shape, rx, ry), builder.compare(direction, aval.shape, ix, iy),
            builder.compare(direction, aval.shape, rx, ry),
        )  # fmt: skip
        return [builder.op("select", aval, first, x, y)]

    return rule


def compare(name: str, direction: str, doc: str, accepts: frozenset = anything, total: bool = False) -> Any:
    """A comparison: a bool per element; floats by IEEE (or the total) order, complex numbers only for equality."""

    def rule(ctx: LoweringContext, x: Value, y: Value) -> list[Value]:
        x, y = repeat_scalars(ctx, (x, y))
        attributes = {}
        if total and kind_of(ctx.avals_in[0].dtype) == "floating":
            attributes["compare_type"] = builder.attribute("#stablehlo<comparison_type TOTALORDER>")
        return [builder.compare(direction, ctx.avals_out[0].shape, x, y, **attributes)]

    return binary(name, accepts, rule, result=lambda *d: np.dtype(np.bool_), rounding=Rounding.NONE, doc=doc)


# fmt: off
eq = compare("eq", "EQ", "equality, x == y")
ne = compare("ne", "NE", "inequality, x != y")
lt = compare("lt", "LT", "order, x < y", real | boolean)
le = compare("le", "LE", "order, x <= y", real | boolean)
eq_to = compare("eq_to", "EQ", "equality in the total order of floats", total=True)
lt_to = compare("lt_to", "LT", "order x < y, total for floats: -NaN < -inf < -0 < 0 < inf < NaN", real | boolean, total=True)
le_to = compare("le_to", "LE", "order x <= y, total for floats: -NaN < -inf < -0 < 0 < inf < NaN", real | boolean, total=True)
gt = compare("gt", "GT", "order, x > y", real | boolean)
ge = compare("ge", "GE", "order, x >= y", real | boolean)

max_ = binary("max", anything, _complex_minmax("GT", "maximum"), rounding=Rounding.NONE, doc="greater of two values; NaN if either is NaN",
              jvp=(lambda x, y, ans, t: mul(t, _tie_mask(x, y, ans)), lambda x, y, ans, t: mul(t, _tie_mask(y, x, ans))))
min_ = binary("min", anything, _complex_minmax("LT", "minimum"), rounding=Rounding.NONE, doc="lesser of two values; NaN if either is NaN",
              jvp=(lambda x, y, ans, t: mul(t, _tie_mask(x, y, ans)), lambda x, y, ans, t: mul(t, _tie_mask(y, x, ans))))

real_part = unary("real", complexes, "real", rounding=Rounding.NONE, result=_real_result, doc="real part",
                  jvp=lambda x, ans, t: real_part(t), transpose=lambda ct, x: [complex_(ct, _strong_zero(ct))])
imag = unary("imag", complexes, "imag", rounding=Rounding.NONE, result=_real_result, doc="imaginary part",
             jvp=lambda x, ans, t: imag(t), transpose=lambda ct, x: [complex_(_strong_zero(ct), neg(ct))])
complex_ = binary("complex", frozenset({"floating"}), "complex", rounding=Rounding.NONE, result=_complex_result, doc="x + iy",
                  jvp=(lambda x, y, ans, t: complex_(t, _zeros(t)), lambda x, y, ans, t: complex_(_zeros(t), t)),
                  transpose=lambda ct, x, y: [unbroadcast(real_part(ct), x.aval) if is_undefined_primal(x) else None,
                                              unbroadcast(neg(imag(ct)), y.aval) if is_undefined_primal(y) else None])
# fmt: on


def _strong_zero(like: ArrayLike) -> ArrayLike:
    """Gradients of complex numbers have no weak type, Python's own numbers included."""
    return np.zeros((), typeof(like).dtype)[()]


def _zeros(like: ArrayLike) -> Array:
    return slots.zeros(typeof(like))


def _conj_lowering(ctx: LoweringContext, x: Value, *, input_dtype: np.dtype) -> list[Value]:
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    if kind_of(aval.dtype) != "complex":
        zero = builder.full(0, aval)
        return [builder.op("complex", out, x, zero)]
    part = ShapedArray(aval.shape, _real_result(aval.dtype))
    imaginary = builder.op("negate", part, builder.op("imag", part, x))
    return [builder.op("complex", out, builder.op("real", part, x), imaginary)]


def _conj_transpose(ct: Array, x: UndefinedPrimal, *, input_dtype: np.dtype) -> list[Any]:
    if kind_of(input_dtype) == "complex":
        return [conj(ct)]
    return [real_part(conj(ct))]


conj_p = elementwise(
    "conj", [inexact], _conj_lowering, rounding=Rounding.NONE, result=lambda d, input_dtype: d if kind_of(d) == "complex" else _complex_result(d),
    jvp=[lambda x, ans, t, input_dtype: conj_p.bind(t, input_dtype=input_dtype)], transpose=_conj_transpose,
)  # fmt: skip


def conj(x: ArrayLike) -> Array:
    """Elementwise complex conjugate; real operands give complex results.

    Args:
      x: floating or complex array.
    Returns: complex array of the same shape.
    Example: ``lax.conj(jnp.array(1 + 2j))`` is ``1 - 2j``.
    """
    x = checked_operand("conj", x)
    return conj_p.bind(x, input_dtype=typeof(x).dtype)


conj.primitive = conj_p  # type: ignore[attr-defined]


def _integer_pow_lowering(ctx: LoweringContext, x: Value, *, y: int) -> list[Any]:
    aval = ctx.avals_in[0]
    if y == 0:
        return [builder.full(1, aval)]
    power, square, result = abs(y), x, None
    while power:
        if power & 1:
            result = square if result is None else builder.op("multiply", aval, result, square)
        power >>= 1
        if power:
            square = builder.op("multiply", aval, square, square)
    return [result if y > 0 else builder.op("divide", aval, builder.full(1, aval), result)]


def _integer_pow_jvp(x: ArrayLike, ans: Array, t: ArrayLike, *, y: int) -> Tangent:
    if y == 0:
        return Zero(typeof(t))
    return mul(t, mul(scalar(y, x), x if y == 2 else integer_pow(x, y - 1)))


integer_pow_p = elementwise(
    "integer_pow", [numeric], _integer_pow_lowering, rounding=Rounding.PRODUCT, jvp=[_integer_pow_jvp]
)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """Elementwise power with a constant integer exponent, by repeated multiplication.

    Args:
      x: array.
      y: Python int; negative exponents need a floating or complex ``x``.
    Raises:
      TypeError: negative power of integers.
    Example: ``lax.integer_pow(jnp.arange(3.), 2)`` is ``[0, 1, 4]``.
    """
    x, y = checked_operand("integer_pow", x), as_index(y)
    if y < 0 and kind_of(typeof(x).dtype) in ("signed", "unsigned"):
        raise TypeError(f"Integers cannot be raised to negative powers, got integer_pow({x}, {y})")
    return integer_pow_p.bind(x, y=y)


integer_pow.primitive = integer_pow_p  # type: ignore[attr-defined]


def _square_lowering(ctx: LoweringContext, x: Value) -> list[Value]:
    return [builder.op("multiply", ctx.avals_in[0], x, x)]


square = unary(
    "square",
    numeric,
    _square_lowering,
    rounding=Rounding.PRODUCT,
    jvp=lambda x, ans, t: mul(t, mul(scalar(2, x), x)),
    doc="square, x x",
)


def reciprocal(x: ArrayLike) -> Array:
    """Elementwise ``1 / x``.

    Example: ``lax.reciprocal(jnp.float32(4.))`` is 0.25.
    """
    return integer_pow(x, -1)
