"""What samplers check of their arguments: dtypes, shapes, parameters that broadcast."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.lax.shapes import broadcast_shapes, canonical_shape

_SCALARS = (float, int)


@functools.lru_cache(4096)
def _known_shape(lengths: tuple[int, ...], kinds: tuple[type, ...]) -> tuple[int, ...]:
    return canonical_shape(lengths, "random")


def checked_shape(name: str, shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of ints; tuples met before are found at once.

    Raises:
      TypeError: no sequence of integers.
      ValueError: a negative length.
    """
    if type(shape) is tuple:
        if not shape:
            return shape
        try:
            return _known_shape(shape, tuple(map(type, shape)))
        except (TypeError, ValueError):
            pass  # the message below names the sampler
    return canonical_shape(shape, name)


def shape_of(name: str, shape: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape of a result: the one asked for, which the parameters must fit, or the one they have together.

    Raises:
      ValueError: parameters that do not broadcast to the shape.
    """
    if shape is None:
        own = [typeof(parameter).shape for parameter in parameters if type(parameter) not in _SCALARS]
        return broadcast_shapes(*own) if own else ()
    lengths = checked_shape(name, shape)
    check_broadcast(name, lengths, *parameters)
    return lengths


def check_broadcast(name: str, shape: tuple[int, ...], *parameters: Any) -> None:
    """Refuse parameters that do not broadcast to ``shape``."""
    for parameter in parameters:
        if type(parameter) in _SCALARS:
            continue
        own = typeof(parameter).shape
        if own and (len(own) > len(shape) or broadcast_shapes(shape, own) != shape):
            raise ValueError(f"{name}: parameters of shape {own} do not broadcast to the requested shape {shape}")


@functools.lru_cache(1024)
def _float_dtype(name: str, dtype: Any, also_complex: bool, x64: bool) -> Any:
    chosen = dtypes.check_user_dtype(
        name, np.float64 if dtype is float else np.complex128 if dtype is complex else dtype
    )
    if not (dtypes.is_float(chosen) or also_complex and dtypes.is_complex(chosen)):
        kinds = "float or complex" if also_complex else "float"
        raise ValueError(f"dtype argument to `{name}` must be a {kinds} dtype, got {chosen.name}")
    return chosen


_WIDE = np.dtype(np.float64)


def float_dtype(name: str, dtype: Any, also_complex: bool = False) -> Any:
    """The floating dtype that a request means, by default the widest enabled one.

    Raises:
      ValueError: another kind of dtype.
    """
    if dtype is None:
        return dtypes.canonicalize_dtype(_WIDE)
    return _float_dtype(name, dtype, also_complex, dtypes.canonicalize_dtype(_WIDE) is _WIDE)


def integer_dtype(name: str, dtype: Any) -> Any:
    """The integer dtype that a request means, by default the widest enabled signed one.

    Raises:
      ValueError: another kind of dtype.
    """
    if dtype is None:
        return dtypes.canonicalize_dtype(np.int64)
    chosen = dtypes.check_user_dtype(name, np.int64 if dtype is int else dtype)
    if not dtypes.is_integer(chosen):
        raise ValueError(f"dtype argument to `{name}` must be an int dtype, got {chosen.name}")
    return chosen


def static_int(name: str, argument: str, value: Any) -> int:
    """A Python int.

    Raises:
      TypeError: something else.
    """
    try:
        return value.__index__()
    except AttributeError:
        raise TypeError(
            f"{name}: {argument} must be an integer, got {value!r} of type {type(value).__name__}"
        ) from None
