"""What samplers check of their arguments: dtypes, shapes, parameters that broadcast."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import ShapedArray, typeof
from arrax.dtypes import OptionalDType
from arrax.lax.conversion import convert
from arrax.lax.placement import check_out_sharding, device_put, of_rank
from arrax.lax.shape_arguments import canonical_shape
from arrax.lax.shapes import broadcast_shapes
from arrax.xla.annotations import Shape
from arrax.xla.arrays import Array, ArrayLike

_SCALARS = (float, int)
_WIDE = np.dtype(np.float64)


@functools.lru_cache(4096)
def _known_shape(lengths: tuple[int, ...], kinds: tuple[type, ...]) -> tuple[int, ...]:
    return canonical_shape(lengths, "random")


def checked_shape(name: str, shape: Shape) -> tuple[int, ...]:
    """A shape as a tuple of ints; tuples met before are found at once.

    Raises:
      TypeError: not a sequence of integers, or a negative one.
      ValueError: more elements than can be addressed.
    """
    if type(shape) is tuple:
        if not shape:
            return shape
        try:
            return _known_shape(shape, tuple(map(type, shape)))
        except (TypeError, ValueError):
            pass  # the message below names the sampler
    return canonical_shape(shape, name)


def type_of(name: str, argument: str, value: Any) -> ShapedArray:
    """The type of a parameter.

    Raises:
      TypeError: not an array.
    """
    try:
        return typeof(value)
    except TypeError as error:
        raise TypeError(f"{name}: {argument} must be an array or a number. {error}") from None


def real_type_of(name: str, argument: str, value: Any) -> ShapedArray:
    """The type of a parameter that cannot be complex.

    Raises:
      TypeError: not an array.
      TypePromotionError: a complex one.
    """
    found = type_of(name, argument, value)
    if dtypes.is_complex(found.dtype):
        raise dtypes.TypePromotionError(f"{name}: {argument} must be real, got dtype {found.dtype}")
    return found


def as_floats(name: str, argument: str, value: ArrayLike) -> ArrayLike:
    """Integers and bools as floats of the default dtype, floats as they are.

    Raises:
      TypePromotionError: complex numbers.
    """
    if dtypes.is_float(real_type_of(name, argument, value).dtype):
        return value
    return convert(value, dtypes.canonicalize_dtype(_WIDE))


def common_shape(name: str, *lengths: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that parameters have together.

    Raises:
      ValueError: shapes that do not fit.
    """
    try:
        return broadcast_shapes(*lengths)
    except ValueError:
        raise ValueError(f"{name}: the shapes {', '.join(map(str, lengths))} do not fit together") from None


def shape_of(name: str, shape: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape of a result: the one asked for, which the parameters must fit, or the one they have together.

    Raises:
      ValueError: parameters that do not broadcast to the shape, or complex ones.
    """
    if shape is None:
        own = [real_type_of(name, "a parameter", p).shape for p in parameters if type(p) not in _SCALARS]
        return common_shape(name, *own) if own else ()
    lengths = checked_shape(name, shape)
    check_broadcast(name, lengths, *parameters)
    return lengths


def check_broadcast(name: str, shape: tuple[int, ...], *parameters: Any) -> None:
    """Refuse parameters that do not broadcast to ``shape``."""
    for parameter in parameters:
        if type(parameter) in _SCALARS:
            continue
        own = real_type_of(name, "a parameter", parameter).shape
        if own and not fits(own, shape):
            raise ValueError(f"{name}: parameters of shape {own} do not broadcast to the requested shape {shape}")


def fits(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another one."""
    return len(own) <= len(shape) and all(
        length in (1, other) for length, other in zip(reversed(own), reversed(shape), strict=False)
    )


def float_dtype(name: str, dtype: OptionalDType, also_complex: bool = False) -> np.dtype:
    """The floating dtype that a request means, by default the widest enabled one.

    Raises:
      ValueError: another kind of dtype.
      TypeError: floats of less than 8 bits, or without a mantissa, which hold too few numbers to draw from.
    """
    if dtype is None:
        return dtypes.canonicalize_dtype(_WIDE)
    chosen = dtypes.check_user_dtype(name, dtype)
    if not (dtypes.is_float(chosen) or also_complex and dtypes.is_complex(chosen)):
        kinds = "floating or complex" if also_complex else "floating"
        raise ValueError(f"{name}: dtype must be {kinds}, got {chosen.name}")
    if dtypes.itemsize_bits(chosen) < 8:
        raise TypeError(f"{name}: dtype must have at least 8 bits, got {chosen.name}")
    if dtypes.finfo(chosen).nmant == 0:
        raise TypeError(f"{name}: dtype must hold more than powers of two, got {chosen.name}")
    return chosen


def dtype_of(name: str, dtype: OptionalDType, *parameters: Any) -> np.dtype:
    """The floating dtype that a request means, which holds what the parameters' dtypes hold.

    Raises:
      TypePromotionError: a parameter of a wider dtype, which would lose digits unseen.
    """
    chosen = float_dtype(name, dtype)
    for parameter in parameters:
        if type(parameter) in _SCALARS:
            continue
        own = real_type_of(name, "a parameter", parameter)
        promoted = chosen if own.weak_type else dtypes.promote_types(dtypes.canonicalize_dtype(own.dtype), chosen)
        if promoted != chosen:
            raise dtypes.TypePromotionError(
                f"{name}: dtype {chosen.name} cannot hold a parameter of dtype {own.dtype.name}. Convert the parameter "
                "first, or ask for a wider dtype."
            )
    return chosen


def integer_dtype(name: str, dtype: OptionalDType) -> np.dtype:
    """The integer dtype that a request means, by default the widest enabled signed one.

    Raises:
      ValueError: another kind of dtype.
    """
    if dtype is None:
        return dtypes.canonicalize_dtype(np.int64)
    chosen = dtypes.check_user_dtype(name, dtype)
    if not dtypes.is_integer(chosen):
        raise ValueError(f"{name}: dtype must be one of integers, got {chosen.name}")
    return chosen


def static_int(name: str, argument: str, value: ArrayLike | Sequence[Any]) -> int:
    """A Python int.

    Raises:
      TypeError: something else.
    """
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name}: {argument} must be an integer, got {value!r} of type {type(value).__name__}")
    return value.__index__()


def static_length(name: str, argument: str, value: ArrayLike) -> int:
    """A Python int that is not negative.

    Raises:
      TypeError: not an integer.
      ValueError: a negative one.
    """
    length = static_int(name, argument, value)
    if length < 0:
        raise ValueError(f"{name}: {argument} must not be negative, got {length}")
    return length


def placed(draw: Callable[[], Array], sharding: Any) -> Array:
    """What ``draw`` returns, where ``out_sharding`` says; nothing is drawn where that is no sharding.

    Raises:
      TypeError: something else than a sharding or a PartitionSpec.
    """
    check_out_sharding(sharding)
    drawn = draw()
    return device_put(drawn, of_rank(sharding, typeof(drawn).ndim))
