"""Powers: repeated multiplication for constant integer exponents, squaring for integers, logarithms for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import Tracer, concrete_value, context
from arrax.core.types import typeof
from arrax.interpreters.staging import literal
from arrax.lax import arithmetic, bitwise, exponential, selection
from arrax.lax.conversion import convert
from arrax.lax.operand_checks import kind_of
from arrax.lax.shape_slots import broadcast_to_shape
from arrax.numpy_api.api import api, make_api
from arrax.numpy_api.elementwise_makers import constant
from arrax.numpy_api.operands import (
    broadcast_operands,
    check_arraylike,
    common_type,
    firm_inexact,
    firm_numeric,
    promote_dtypes,
    promote_inexact,
)
from arrax.xla.arrays import Array, ArrayLike


def _power(x1: ArrayLike, x2: ArrayLike) -> Array:
    check_arraylike("power", x1, x2)
    if isinstance(x2, int | np.integer) and not isinstance(x2, bool | np.bool_) and _is_by_products(x1, int(x2)):
        (base,) = promote_dtypes(x1) if type(x1) not in (int, float, bool, complex) else (x1,)
        aval = typeof(base)
        dtype, weak = (np.dtype(np.int32), False) if aval.dtype == bool else (aval.dtype, aval.weak_type)
        if not (dtypes.is_integer(dtype) and x2 < 0):
            return arithmetic.integer_pow(convert(base, dtype, weak), int(x2))
    kind, given = kind_of(common_type([x1, x2])[0]), typeof(x2)
    if kind in ("signed", "unsigned", "bool"):
        x1, x2 = firm_numeric(x1, x2)
        return _integer_power(*broadcast_operands("power", x1, x2))
    # Powers of a Python number to exponents of an integer dtype are not weak.
    counted = dtypes.is_integer(given.dtype) and not given.weak_type and typeof(x1).weak_type
    return exponential.pow(*broadcast_operands("power", *(firm_inexact if counted else promote_dtypes)(x1, x2)))


def _is_by_products(x1: ArrayLike, exponent: int) -> bool:
    """Whether a known exponent is one of products: all of integers, small ones, and those that the base's dtype does not hold.

    Powers of complex numbers are, too: logarithms keep few digits of large ones.
    """
    dtype = typeof(x1).dtype
    if abs(exponent) <= 512 or not dtypes.is_float(dtype):
        return True
    if exponent.bit_length() > 64:
        return False
    with np.errstate(over="ignore"):
        return float(np.asarray(exponent).astype(dtype)) != exponent


def _integer_power(x: Array, y: Array) -> Array:
    """Powers of integers by squaring: one step per bit of the exponent."""
    shape = max(typeof(x).shape, typeof(y).shape, key=len)
    x, y = broadcast_to_shape(x, shape), broadcast_to_shape(y, shape)
    one, zero = constant(1, x), constant(0, x)
    result = broadcast_to_shape(one, shape)
    bits = typeof(x).dtype.itemsize * 8
    for _ in range(min(bits, 6 if bits == 8 else bits)):
        odd = arithmetic.ne(bitwise.bitwise_and(y, one), zero)
        result = selection.select(odd, arithmetic.mul(result, x), result)
        y = bitwise.shift_right_logical(y, one)
        x = arithmetic.mul(x, x)
    return result


_power_array = make_api(_power)


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Power, ``x1 ** x2``, elementwise; a constant integer exponent multiplies repeatedly.

    Args:
      x1, x2: arrays or numbers, broadcast against each other.
    Returns: array of the promoted dtype.
    Raises:
      TypeError: operands that are not arrays, or integers to the power of one known negative integer.
    Example: ``jnp.power(2., 3)`` is 8. Source: ``numpy.power``.
    """
    check_arraylike("power", x1, x2)
    if isinstance(x2, bool) and dtypes.is_complex(typeof(x1).dtype):
        x2 = int(x2)
    if isinstance(x2, int) and not isinstance(x2, bool):
        _refuse_negative_power(x1, x2)
        if x2.bit_length() > 31 and dtypes.is_inexact(typeof(x1).dtype) and not _is_by_products(x1, x2):
            return _static_power(x1, float(x2))
        return _static_power(x1, x2)
    if _is_known_integer(x2):
        _refuse_negative_power(x1, int(x2))  # type: ignore[arg-type]
    x2 = _known_exponent(x1, x2)
    return (_static_power if isinstance(x2, np.integer) else _power_array)(x1, x2)


def _is_known_integer(x: Any) -> bool:
    return not getattr(x, "ndim", 1) and not isinstance(x, Tracer) and dtypes.is_integer(x.dtype)


def _refuse_negative_power(x1: ArrayLike, exponent: int) -> None:
    base = typeof(x1).dtype
    if exponent < 0 and kind_of(base) in ("signed", "unsigned", "bool"):
        raise TypeError(f"Integers cannot be raised to negative powers, got x1.dtype={base}, x2={exponent}")


def _known_exponent(x1: ArrayLike, x2: ArrayLike) -> ArrayLike:
    """A known integer exponent as a NumPy scalar, where powers are products of the base then, as they are in programs.

    Outside of programs, arrays as exponents of real numbers stay what they are, as each value would be compiled; those of
    bools and of integers of another dtype don't, since known exponents leave the dtype of the base as it is.
    """
    if isinstance(x2, np.integer) or type(x2) in (int, float, bool, complex):
        return x2
    base, given = typeof(x1), typeof(x2)
    alike = base.dtype == given.dtype or given.weak_type
    exact = base.dtype == bool or (dtypes.is_integer(base.dtype) and not (context.interpreter.is_evaluation and alike))
    if given.ndim or not dtypes.is_integer(given.dtype) or not (exact or dtypes.is_complex(base.dtype)):
        return x2
    known = concrete_value(x2)
    known = literal(x2) if known is None else known
    return x2 if known is None or (given.weak_type and base.dtype != bool) else np.asarray(known)[()]


_static_power = make_api(lambda x1, x2: _power(x1, x2), static=("x2",))
pow = power


@api()
def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Power in floating numbers, elementwise.

    Args:
      x1, x2: arrays or numbers that broadcast: base and exponent.
    Example: ``jnp.float_power(2, -1)`` is 0.5. Source: ``numpy.float_power``.
    """
    check_arraylike("float_power", x1, x2)
    return exponential.pow(*broadcast_operands("float_power", *promote_inexact(x1, x2)))
