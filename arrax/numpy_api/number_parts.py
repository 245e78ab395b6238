"""Divisors of integers, parts of floating numbers, bits of bytes (NumPy reference, routines.math and routines.bitwise)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_below
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.lowering.module import cached_lower_fun, lower_as_meant, lower_fun
from arrax.lax import (
    arithmetic,
    axis_order,
    bitwise,
    families,
    filled_arrays,
    operand_checks,
    selection,
    shape_arguments,
    shapes,
    static_slicing,
)
from arrax.lax.barriers import stop_gradient
from arrax.lax.bitcast import bitcast_convert_type
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.conversion import convert
from arrax.lax.reductions import reduce_or
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.elementwise_makers import constant
from arrax.numpy_api.manipulation import ravel
from arrax.numpy_api.operands import (
    as_operand,
    check_arraylike,
    may_stay_weak,
    promote_dtypes,
    promote_inexact,
    refuse_complex,
)
from arrax.numpy_api.routes import eager_operand
from arrax.xla.annotations import OneAxis
from arrax.xla.arrays import Array, ArrayLike

# ---- divisors -------------------------------------------------------------------------------------------------------


def _integers(name: str, x1: ArrayLike, x2: ArrayLike) -> tuple[Any, Any]:
    check_arraylike(name, x1, x2)
    firm = not may_stay_weak((x1, x2))
    x1, x2 = promote_dtypes(x1, x2)
    if not dtypes.is_integer(typeof(x1).dtype):
        raise ValueError(f"Arguments to {name} must be integers, got dtype {typeof(x1).dtype.name}.")
    shape = shapes.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    return tuple(  # type: ignore[return-value]
        operands.broadcast_to(convert(x, typeof(x).dtype) if firm else x, shape) for x in (x1, x2)
    )


def _magnitude(x: Array) -> Array:
    return x if dtypes.issubdtype(typeof(x).dtype, np.unsignedinteger) else arithmetic.abs_(x)


def _greatest_common_divisor(x1: Array, x2: Array) -> Array:
    """Euclid's algorithm on all pairs, until none has a rest; that of the least integer, which has no magnitude, is negative."""
    zero = constant(0, x1)

    def goes_on(pair: tuple[Array, ...]) -> Array:
        return reduce_or(arithmetic.ne(pair[1], zero), range(typeof(pair[1]).ndim))

    def step(pair: tuple[Array, ...]) -> tuple[Any, Any]:
        a, b = pair
        done = arithmetic.eq(b, zero)
        rest = arithmetic.rem(a, selection.select(done, filled_arrays.full_like(b, 1), b))
        return selection.select(done, a, b), selection.select(done, b, rest)

    return _magnitude(while_loop(goes_on, step, (_magnitude(x1), _magnitude(x2)))[0])


@api()
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greatest common divisor of integers, elementwise.

    Args:
      x1, x2: integer arrays, broadcast against each other.
    Raises:
      ValueError: other dtypes.
    Example: ``jnp.gcd(12, 18)`` is 6. Source: ``numpy.gcd``.
    """
    return _greatest_common_divisor(*_integers("gcd", x1, x2))


@api()
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The least common multiple of integers, elementwise.

    Args:
      x1, x2: integer arrays, broadcast against each other.
    Raises:
      ValueError: other dtypes.
    Example: ``jnp.lcm(4, 6)`` is 12. Source: ``numpy.lcm``.
    """
    x1, x2 = (_magnitude(x) for x in _integers("lcm", x1, x2))
    divisor = _greatest_common_divisor(x1, x2)
    nothing = arithmetic.eq(x1, constant(0, x1))
    safe = selection.select(nothing, filled_arrays.full_like(divisor, 1), divisor)
    return selection.select(nothing, x1, arithmetic.mul(x1, arithmetic.div(x2, safe)))


# ---- mantissa and exponent ------------------------------------------------------------------------------------------


def _bits_of(dtype: np.dtype) -> tuple[Any, int, int]:
    """(the integer dtype of that width, bits of the mantissa, bias of the exponent)."""
    info = dtypes.finfo(dtype)
    return np.dtype(f"int{info.bits}"), info.nmant, 1 - int(info.minexp)


@api()
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Mantissa, of a magnitude in [0.5, 1), and exponent of floating numbers, elementwise.

    Args:
      x: real array.
    Returns: (mantissa, integer exponent); ``mantissa * 2 ** exponent`` is ``x``.
    Raises:
      TypeError: complex numbers.
    Example: ``jnp.frexp(6.)`` is ``(0.75, 3)``. Source: ``numpy.frexp``.
    """
    check_arraylike("frexp", x)
    (x,) = promote_inexact(x)
    refuse_complex("frexp", x)
    x = convert(x, typeof(x).dtype)
    return mantissa_p.bind(x), _mantissa_and_exponent(x)[1]


def _mantissa_and_exponent(x: Array) -> tuple[Any, Any]:
    dtype = typeof(x).dtype
    if dtype.itemsize == 1:  # some of these have no infinities or other biases
        mantissa, exponent = _mantissa_and_exponent(convert(x, np.float32))
        return convert(mantissa, dtype), exponent
    integer, mantissa_bits, bias = _bits_of(dtype)
    number = functools.partial(_number, integer)
    fraction_mask, all_but_sign = number((1 << mantissa_bits) - 1), number((1 << (dtypes.finfo(dtype).bits - 1)) - 1)
    bits = bitcast_convert_type(x, integer)
    exponent = bitwise.bitwise_and(bitwise.shift_right_logical(bits, number(mantissa_bits)), number(2 * bias + 1))
    subnormal = arithmetic.eq(exponent, number(0))
    # Converted to a normal number, the fraction of a subnormal one shows its exponent and its own fraction.
    as_normal = bitcast_convert_type(convert(bitwise.bitwise_and(bits, fraction_mask), dtype), integer)
    source = selection.select(subnormal, as_normal, bits)
    exponent = bitwise.bitwise_and(bitwise.shift_right_logical(source, number(mantissa_bits)), number(2 * bias + 1))
    scale = selection.select(
        subnormal,
        filled_arrays.full_like(bits, 2 * (bias - 1) + mantissa_bits),
        filled_arrays.full_like(bits, bias - 1),
    )
    sign = bitwise.bitwise_and(bits, bitwise.bitwise_not(all_but_sign))
    fraction = bitwise.bitwise_and(source, fraction_mask)
    half = bitwise.bitwise_or(bitwise.bitwise_or(sign, number((bias - 1) << mantissa_bits)), fraction)
    # Not by the bits of the number itself: compilers make a comparison of floats of that, which takes subnormal ones for zero.
    zero = arithmetic.eq(exponent, number(0))
    special = bitwise.bitwise_or(zero, bitwise.bitwise_not(arithmetic.is_finite(x)))
    out = selection.select(special, filled_arrays.full_like(exponent, 0), arithmetic.sub(exponent, scale))
    return selection.select(special, x, bitcast_convert_type(half, dtype)), convert(out, np.int32)


def _number(dtype: np.dtype, value: int) -> ArrayLike:
    return np.array(value, dtype)[()]


def _share(x: Array, mantissa: Array) -> Array:
    """What a number is multiplied with to give its mantissa."""
    unscaled = bitwise.bitwise_or(arithmetic.eq(x, constant(0, x)), bitwise.bitwise_not(arithmetic.is_finite(x)))
    one = filled_arrays.full_like(x, 1)
    return selection.select(unscaled, one, arithmetic.div(mantissa, selection.select(unscaled, one, x)))


mantissa_p = families.elementwise(  # bits have no derivative, the number that they make has
    "mantissa", [operand_checks.floating], lower_fun(lambda x: _mantissa_and_exponent(x)[0], multiple_results=False),
    jvp=[lambda x, ans, t: arithmetic.mul(t, _share(x, ans))],
)  # fmt: skip
mantissa_p.meaning = lambda x: _mantissa_and_exponent(x)[0]


@api()
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1 * 2 ** x2``, elementwise.

    Args:
      x1: real array.
      x2: integer array of exponents.
    Raises:
      ValueError: exponents that are not integers, complex numbers, or floats without a mantissa.
    Example: ``jnp.ldexp(0.75, 3)`` is 6. Source: ``numpy.ldexp``.
    """
    check_arraylike("ldexp", x1, x2)
    x1, x2 = as_operand(x1), as_operand(x2)
    if not dtypes.is_integer(typeof(x2).dtype) and not dtypes.is_bool(typeof(x2).dtype):
        raise ValueError(f"ldexp not supported for input types {(typeof(x1).dtype.name, typeof(x2).dtype.name)}")
    (x1,) = promote_inexact(x1)
    dtype = typeof(x1).dtype
    if dtypes.is_complex(dtype):
        raise ValueError("ldexp does not support complex-valued inputs")
    if dtypes.finfo(dtype).nmant == 0:
        raise ValueError(f"ldexp does not support {dtype.name}: its numbers are powers of two without a zero")
    operands.report_ranks("ldexp", x1, x2)
    shape = shapes.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    x = operands.broadcast_to(convert(x1, dtype), shape)
    info = dtypes.finfo(dtype)
    reach = int(info.maxexp) - 2
    limit = 4 * (reach + info.nmant)
    exponent = _clamped(x2, limit) if typeof(x2).dtype.itemsize >= 4 else x2
    left = operands.broadcast_to(convert(exponent, np.int32), shape)
    left = selection.clamp(np.int32(-limit), left, np.int32(limit))
    for _ in range(5):  # a factor of the dtype reaches only so far
        step = selection.clamp(np.int32(-reach), left, np.int32(reach))
        x = arithmetic.mul(x, _power_of_two(step, dtype))
        left = arithmetic.sub(left, step)
    return x


def _clamped(exponent: Array, limit: int) -> Array:
    """Exponents of 32 or more bits within limits that 32 bits hold."""
    dtype = typeof(exponent).dtype
    low = 0 if dtypes.iinfo(dtype).min == 0 else -limit
    return selection.clamp(np.asarray(low, dtype)[()], exponent, np.asarray(limit, dtype)[()])


def _power_of_two(exponent: Array, dtype: np.dtype) -> Any:
    integer, mantissa_bits, bias = _bits_of(dtype)
    shifted = arithmetic.add(convert(exponent, integer), np.array(bias, integer)[()])
    return bitcast_convert_type(bitwise.shift_left(shifted, np.array(mantissa_bits, integer)[()]), dtype)


@api()
def spacing(x: ArrayLike, /) -> Array:
    """The distance from each number to the next one of greater magnitude.

    Args:
      x: real array.
    Raises:
      ValueError: complex numbers.
    Example: ``jnp.spacing(1.)`` is the machine epsilon. Source: ``numpy.spacing``.
    """
    check_arraylike("spacing", x)
    (x,) = promote_inexact(x)
    if dtypes.is_complex(typeof(x).dtype):
        raise ValueError("spacing does not support complex-valued inputs")
    x = stop_gradient(convert(x, typeof(x).dtype))  # nearly everywhere constant
    if typeof(x).dtype == np.float16:  # as NumPy's: to the next greater number
        distance = arithmetic.sub(bitwise.nextafter(x, filled_arrays.full_like(x, np.inf)), x)
    else:
        distance = _gap(x)
    return selection.select(arithmetic.is_finite(x), distance, filled_arrays.full_like(x, np.nan))


def _gap(x: Array) -> Array:
    """The distance to the next number of greater magnitude, with the sign of ``x``, from bits: it may be subnormal."""
    dtype = typeof(x).dtype
    digits, unsigned = dtypes.finfo(dtype).nmant, np.dtype(f"uint{8 * dtype.itemsize}")

    def number(value: int) -> Any:
        return np.asarray(value).astype(unsigned)[()]

    sign = number(1 << (8 * dtype.itemsize - 1))
    bits = bitcast_convert_type(x, unsigned)
    size = bitwise.bitwise_and(bits, bitwise.bitwise_not(sign))
    exponent = bitwise.shift_right_logical(size, number(digits))
    normal = bitwise.shift_left(arithmetic.sub(exponent, number(digits)), number(digits))
    index = arithmetic.sub(arithmetic.max_(exponent, number(1)), number(1))
    small = bitwise.shift_left(filled_arrays.full_like(index, 1), arithmetic.min_(index, number(digits)))
    gap = selection.select(arithmetic.gt(exponent, number(digits)), normal, small)
    infinite = bitcast_convert_type(np.asarray(np.inf, dtype)[()], unsigned)
    gap = selection.select(
        arithmetic.eq(arithmetic.add(size, number(1)), infinite), filled_arrays.full_like(gap, infinite), gap
    )
    negative = arithmetic.lt(x, constant(0, x))
    return bitcast_convert_type(selection.select(negative, bitwise.bitwise_or(gap, sign), gap), dtype)


# ---- bits in bytes --------------------------------------------------------------------------------------------------


def _weights(bitorder: str, name: str) -> np.ndarray:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: bitorder must be either 'little' or 'big', got {bitorder!r}")
    return np.arange(8, dtype=np.uint8)[:: -1 if bitorder == "big" else 1].copy()


def _shifts(bitorder: str, shape: tuple[int, ...]) -> Array:
    return shapes.broadcast_in_dim(_weights(bitorder, "places"), shape, (len(shape) - 1,))


def _pack(flags: Array, *, bitorder: str) -> Array:
    """Bytes of groups of eight flags, which lie along the last axis."""
    shape = typeof(flags).shape
    bits = bitwise.shift_left(convert(flags, np.uint8), _shifts(bitorder, shape))
    return reduce_or(bits, (len(shape) - 1,))


def _unpack(a: Array, *, bitorder: str) -> Array:
    """The bits of bytes along a new last axis."""
    rank, whole = typeof(a).ndim, (*typeof(a).shape, 8)
    broadcasted = shapes.broadcast_in_dim(a, whole, range(rank))
    return bitwise.bitwise_and(bitwise.shift_right_logical(broadcasted, _shifts(bitorder, whole)), np.uint8(1))


def _of_groups(
    name: str, function: Callable[..., Any], shape: Callable[[tuple[int, ...]], tuple[int, ...]]
) -> Primitive:
    """A primitive of groups of eight bits.

    The compiler for CPUs would fuse it with reshapes beside it, and then compute the place of each element in the other shape.
    """
    primitive = Primitive(name)

    def batched(values: Sequence[Array], dims: Sequence[int], *, bitorder: str) -> tuple[Any, int]:
        return primitive.bind(axis_order.move_axis(values[0], dims[0], 0), bitorder=bitorder), 0

    def derivative(primals: Any, tangents: Any, *, bitorder: str) -> tuple[Any, Any]:
        out = primitive.bind(*primals, bitorder=bitorder)
        return out, Zero.of(out)

    primitive.type_rule = lambda aval, *, bitorder: ShapedArray(shape(aval.shape), np.dtype(np.uint8))
    lower_as_meant(primitive, function, multiple_results=False)
    primitive.lower["cpu"] = cached_lower_fun(function, name, apart=True)
    primitive.batch, primitive.jvp = batched, derivative
    return primitive


pack_bits_p = _of_groups("pack_bits", _pack, lambda shape: shape[:-1])
unpack_bits_p = _of_groups("spread_bits", _unpack, lambda shape: (*shape, 8))


@api(static=("axis", "bitorder"))
def _packbits(a: Array, axis: int, bitorder: str) -> Array:
    flags = axis_order.move_axis(convert(a, np.bool_), axis, -1)
    *lead, length = typeof(flags).shape
    count = -(-length // 8)
    if not is_below(8 * count - length, 1, False):
        flags = static_slicing.pad(flags, np.bool_(False), [(0, 0, 0)] * len(lead) + [(0, 8 * count - length, 0)])
    packed = pack_bits_p.bind(shapes.reshape(flags, (*lead, count, 8)), bitorder=bitorder)
    return axis_order.move_axis(packed, len(lead), axis)


def packbits(a: ArrayLike, axis: OneAxis = None, bitorder: str = "big") -> Array:
    """Eight bits per byte, the last ones filled up with zeros.

    Args:
      a: integer or bool array; what is not zero counts as a set bit.
      axis: axis; by default all elements in a row.
      bitorder: ``"big"``: the first bit is the highest; or ``"little"``.
    Returns: uint8 array.
    Raises:
      TypeError: other dtypes.
      ValueError: another order.
    Example: ``jnp.packbits(jnp.array([1, 0, 1]))`` is ``[160]``. Source: ``numpy.packbits``.
    """
    a = eager_operand("packbits", a)
    if not (dtypes.is_integer(typeof(a).dtype) or dtypes.is_bool(typeof(a).dtype)):
        raise TypeError("packbits: expected an input array of integer or boolean data type")
    _weights(bitorder, "packbits")
    if axis is None:
        a, axis = ravel(a), 0
    return _packbits(a, shape_arguments.canonical_axis(axis, typeof(a).ndim), bitorder)


@api(static=("axis", "count", "bitorder"))
def _unpackbits(a: Array, axis: int, count: int | None, bitorder: str) -> Array:
    a = axis_order.move_axis(a, axis, -1)
    *lead, length = typeof(a).shape
    bits = shapes.reshape(unpack_bits_p.bind(a, bitorder=bitorder), (*lead, length * 8))
    if count is not None:
        wanted = max(length * 8 + count, 0) if count < 0 else count
        if wanted > length * 8:
            bits = static_slicing.pad(bits, np.uint8(0), [(0, 0, 0)] * len(lead) + [(0, wanted - length * 8, 0)])
        bits = static_slicing.slice_in_dim(bits, 0, wanted, axis=len(lead))
    return axis_order.move_axis(bits, len(lead), axis)


def unpackbits(a: ArrayLike, axis: OneAxis = None, count: int | None = None, bitorder: str = "big") -> Array:
    """The bits of bytes.

    Args:
      a: uint8 array.
      axis: axis; by default all elements in a row.
      count: how many bits: more are filled up with zeros, a negative number cuts off at the end.
      bitorder: ``"big"``: the highest bit comes first; or ``"little"``.
    Returns: uint8 array of zeros and ones.
    Raises:
      TypeError: other dtypes.
      ValueError: another order.
    Example: ``jnp.unpackbits(jnp.array([160], dtype=jnp.uint8), count=3)`` is ``[1, 0, 1]``. Source: ``numpy.unpackbits``.
    """
    a = eager_operand("unpackbits", a)
    if typeof(a).dtype != np.uint8:
        raise TypeError("unpackbits: expected an input array of unsigned byte data type")
    _weights(bitorder, "unpackbits")
    if axis is None:
        a, axis = ravel(a), 0
    return _unpackbits(
        a, shape_arguments.canonical_axis(axis, typeof(a).ndim), None if count is None else as_index(count), bitorder
    )
