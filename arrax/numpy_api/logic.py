"""Comparison, logic and bits (NumPy reference, routines.logic and routines.bitwise)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.types import typeof
from arrax.lax import arithmetic, bitwise, selection, shapes
from arrax.lax.conversion import convert
from arrax.lax.filled_arrays import full_like
from arrax.lax.operand_checks import bools, check_dtype, kind_of, numeric
from arrax.lax.shape_slots import broadcast_to_shape
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.elementwise_makers import binary, constant, kept, unary
from arrax.numpy_api.operands import broadcast_operands, check_arraylike, promote_dtypes, promote_inexact, refuse_out
from arrax.xla.arrays import Array, ArrayLike


def _ordered(real_operation: Any, strict: Any) -> Any:
    """Order: complex numbers compare by real part, then by imaginary part."""

    def operation(x: Array, y: ArrayLike) -> Any:
        if not dtypes.is_complex(typeof(x).dtype):
            return real_operation(x, y)
        rx, ry = arithmetic.real_part(x), arithmetic.real_part(y)
        shape = typeof(arithmetic.eq(rx, ry)).shape
        inner = real_operation(arithmetic.imag(x), arithmetic.imag(y))
        return selection.select(arithmetic.eq(rx, ry), broadcast_to_shape(inner, shape), strict(rx, ry))

    return operation


def _as_bools(*values: ArrayLike) -> list[Any]:
    """Whether values are not zero: operands of several dtypes are as mixed as elsewhere where no promotion is wanted."""
    if config.numpy_dtype_promotion.cell.value == "strict":
        dtypes.result_type_of([dtypes.value_pair(value) for value in values])
    return [_truth(value) for value in kept(*values)]


def _truth(x: ArrayLike) -> ArrayLike:
    return x if typeof(x).dtype == np.bool_ and not isinstance(x, bool) else convert(x, np.bool_)


def _integers(name: str) -> Any:
    def promote(*values: ArrayLike) -> list[Any]:
        promoted = promote_dtypes(*values)
        if kind_of(typeof(promoted[0]).dtype) not in ("signed", "unsigned", "bool"):
            raise TypeError(f"ufunc {name!r} does not support operands of dtype {typeof(promoted[0]).dtype}")
        return promoted

    return promote


def _shift(name: str) -> Any:
    integers = _integers(name)

    def promote(*values: ArrayLike) -> list[Any]:
        promoted = integers(*values)
        if typeof(promoted[0]).dtype == np.bool_:
            promoted = [convert(x, np.int32) for x in promoted]
        return promoted

    return promote


def _right_shift(x: Array, y: ArrayLike) -> Array:
    logical = kind_of(typeof(x).dtype) == "unsigned"
    return bitwise.shift_right_logical(x, y) if logical else bitwise.shift_right_arithmetic(x, y)


def _isnan(x: ArrayLike) -> Array:
    return arithmetic.ne(x, x) if dtypes.is_inexact(typeof(x).dtype) else full_like(x, False, np.bool_)


def _isfinite(x: ArrayLike) -> Array:
    dtype = typeof(x).dtype
    if dtypes.is_complex(dtype):
        return bitwise.bitwise_and(
            arithmetic.is_finite(arithmetic.real_part(x)), arithmetic.is_finite(arithmetic.imag(x))
        )
    return arithmetic.is_finite(x) if dtypes.is_float(dtype) else full_like(x, True, np.bool_)


def _isinf(x: Array) -> Array:
    dtype = typeof(x).dtype
    if dtypes.is_complex(dtype):
        return bitwise.bitwise_or(_isinf(arithmetic.real_part(x)), _isinf(arithmetic.imag(x)))
    if not dtypes.is_float(dtype):
        return full_like(x, False, np.bool_)
    return arithmetic.eq(arithmetic.abs_(x), constant(np.inf, x))


def _signed_infinity(sign: float) -> Any:
    def operation(x: Array) -> Any:
        dtype = typeof(x).dtype
        if dtypes.is_complex(dtype):
            raise ValueError("isposinf and isneginf are not well defined for complex types")
        if not dtypes.is_float(dtype):
            return full_like(x, False, np.bool_)
        return arithmetic.eq(x, constant(sign * np.inf, x))

    return operation


def _bit_count(x: Array) -> Array:
    kind = kind_of(typeof(x).dtype)
    if kind == "bool":
        return convert(x, np.uint8)
    if kind == "signed":
        x = arithmetic.abs_(x)
    return convert(bitwise.population_count(x), np.uint8)


def _invert(x: Array) -> Array:
    if kind_of(typeof(x).dtype) not in ("signed", "unsigned", "bool"):
        raise TypeError(f"ufunc 'invert' does not support operands of dtype {typeof(x).dtype}")
    return bitwise.bitwise_not(x)


def _equal(x: Array, y: ArrayLike) -> Array:
    dtype = typeof(x).dtype
    if kind_of(dtype) != "extended":
        return arithmetic.eq(x, y)
    return dtype.equal(*broadcast_operands("equal", x, y, keep_scalars=False))


def _differ(x: Array, y: ArrayLike) -> Array:
    extended = kind_of(typeof(x).dtype) == "extended"
    return bitwise.bitwise_not(_equal(x, y)) if extended else arithmetic.ne(x, y)


# fmt: off
equal         = binary("equal",         _equal, promote_dtypes, "equality, x1 == x2")
not_equal     = binary("not_equal",     _differ, promote_dtypes, "inequality, x1 != x2")
less          = binary("less",          _ordered(arithmetic.lt, arithmetic.lt), promote_dtypes, "order, x1 < x2")
less_equal    = binary("less_equal",    _ordered(arithmetic.le, arithmetic.lt), promote_dtypes, "order, x1 <= x2")
greater       = binary("greater",       _ordered(arithmetic.gt, arithmetic.gt), promote_dtypes, "order, x1 > x2")
greater_equal = binary("greater_equal", _ordered(arithmetic.ge, arithmetic.gt), promote_dtypes, "order, x1 >= x2")

logical_and   = binary("logical_and", bitwise.bitwise_and, _as_bools, "truth of both", universal=True)
logical_or    = binary("logical_or",  bitwise.bitwise_or,  _as_bools, "truth of either", universal=True)
logical_xor   = binary("logical_xor", bitwise.bitwise_xor, _as_bools, "truth of one of the two", universal=True)
logical_not   = unary("logical_not",  bitwise.bitwise_not, _as_bools, "falsehood")

bitwise_and   = binary("bitwise_and", bitwise.bitwise_and, _integers("bitwise_and"), "bits set in both", universal=True, sample="6")
bitwise_or    = binary("bitwise_or",  bitwise.bitwise_or,  _integers("bitwise_or"), "bits set in either", universal=True, sample="6")
bitwise_xor   = binary("bitwise_xor", bitwise.bitwise_xor, _integers("bitwise_xor"), "bits set in one of the two", universal=True, sample="6")
left_shift    = binary("left_shift",  bitwise.shift_left,  _shift("left_shift"), "shift to the left", sample="6")
right_shift   = binary("right_shift", _right_shift, _shift("right_shift"), "shift to the right", sample="6")
invert        = unary("invert", _invert, kept, "complement of all bits", sample="6")
bitwise_count = unary("bitwise_count", _bit_count, kept, "number of set bits of the magnitude", sample="6")
bitwise_invert = bitwise_not = invert
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift

isnan         = unary("isnan",    _isnan,    kept, "test for NaN")
isfinite      = unary("isfinite", _isfinite, kept, "test for finite values")
isinf         = unary("isinf",    _isinf,    kept, "test for infinities")
_isposinf     = unary("isposinf", _signed_infinity(1),  kept, "test for positive infinity")
_isneginf     = unary("isneginf", _signed_infinity(-1), kept, "test for negative infinity")
isreal        = unary("isreal",    lambda x: _part_is_zero("isreal", x), kept, "test for a zero imaginary part", by_name=True)
iscomplex     = unary("iscomplex", lambda x: bitwise.bitwise_not(_part_is_zero("iscomplex", x)), kept, "test for an imaginary part",
                      by_name=True)
# fmt: on


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Test for positive infinity, elementwise.

    Args:
      x: array of real numbers.
      out: None: arrays cannot be overwritten.
    Example: ``jnp.isposinf(jnp.inf)`` is True. Source: ``numpy.isposinf``.
    """
    refuse_out("isposinf", out)
    return _isposinf(x)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Test for negative infinity, elementwise.

    Args:
      x: array of real numbers.
      out: None: arrays cannot be overwritten.
    Example: ``jnp.isneginf(-jnp.inf)`` is True. Source: ``numpy.isneginf``.
    """
    refuse_out("isneginf", out)
    return _isneginf(x)


def _part_is_zero(name: str, x: Array) -> Array:
    check_dtype(name, typeof(x), numeric | bools)
    if not dtypes.is_complex(typeof(x).dtype):
        return full_like(x, True, np.bool_)
    part = arithmetic.imag(x)
    return arithmetic.eq(part, constant(0, part))


def isrealobj(x: ArrayLike) -> bool:
    """True where the dtype of ``x`` is not complex.

    Args:
      x: array or number.
    Example: ``jnp.isrealobj(1j)`` is False. Source: ``numpy.isrealobj``.
    """
    return not iscomplexobj(x)


def iscomplexobj(x: ArrayLike) -> bool:
    """True where the dtype of ``x`` is complex.

    Args:
      x: array or number.
    Example: ``jnp.iscomplexobj(1j)`` is True. Source: ``numpy.iscomplexobj``.
    """
    try:
        return not isinstance(x, int) and dtypes.is_complex(typeof(x).dtype)
    except TypeError:
        if isinstance(x, list | tuple):
            return any(map(iscomplexobj, x))
        return bool(np.iscomplexobj(x))


@api(static=("equal_nan",))
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: bool = False
) -> Array:
    """Test for ``|a - b| <= atol + rtol |b|``, elementwise; equal infinities are close.

    Args:
      a, b: arrays or numbers.
      rtol, atol: relative and absolute tolerance.
      equal_nan: count NaNs in the same place as close.
    Example: ``jnp.isclose(1., 1. + 1e-9)`` is True. Source: ``numpy.isclose``.
    """
    check_arraylike("isclose", a, b, rtol, atol)
    a, b = promote_dtypes(a, b)
    if kind_of(typeof(a).dtype) == "extended":  # keys are close where they are equal
        return _equal(a, b)
    if kind_of(typeof(a).dtype) in ("signed", "unsigned", "bool"):
        a, b = promote_inexact(a, b)
    a, b = broadcast_operands("isclose", a, b)
    shape = shapes.broadcast_shapes(*(typeof(value).shape for value in (a, b, rtol, atol)))
    a, b = operands.broadcast_to(a, shape), operands.broadcast_to(b, shape)
    distance = arithmetic.abs_(arithmetic.sub(a, b))
    size = arithmetic.abs_(b)
    real_dtype = typeof(distance).dtype
    bound = arithmetic.add(
        operands.broadcast_to(convert(atol, real_dtype), shape),
        arithmetic.mul(operands.broadcast_to(convert(rtol, real_dtype), shape), size),
    )
    close = arithmetic.le(distance, bound)
    finite = bitwise.bitwise_and(_isfinite(a), _isfinite(b))
    result = bitwise.bitwise_or(bitwise.bitwise_and(finite, close), arithmetic.eq(a, b))
    if equal_nan:
        result = bitwise.bitwise_or(result, bitwise.bitwise_and(_isnan(a), _isnan(b)))
    return result
