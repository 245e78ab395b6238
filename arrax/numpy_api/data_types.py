"""Data types: promotion, casting, limits (NumPy reference, routines.dtype), and how arrays are made of scalar types."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.tracebacks import boundary
from arrax.dtypes import DTypeLike
from arrax.dtypes.scalars import ScalarType
from arrax.numpy_api.creation import asarray
from arrax.xla.arrays import Array, ArrayLike

can_cast = dtypes.can_cast
iinfo = dtypes.iinfo
isdtype = dtypes.isdtype
promote_types = dtypes.promote_types
dtype = np.dtype


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Whether a dtype is another, or stands below it in the hierarchy of scalar types. See ``arrax.dtypes.issubdtype``.

    Args:
      arg1: dtype or scalar type.
      arg2: scalar type of the hierarchy, or dtype.
    Example: ``jnp.issubdtype(jnp.bfloat16, jnp.floating)`` is True. Source: ``numpy.issubdtype``.
    """
    return dtypes.issubdtype(arg1, arg2)


@dataclasses.dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating-point dtype, as Python numbers, so that they take the dtype of the arrays they meet.

    Those of ``bfloat16`` and the smaller dtypes are scalars of these.

    Attributes:
      bits: bits per element. dtype: the dtype; of a complex one, that of its parts.
      max, min, tiny, smallest_normal, smallest_subnormal: the greatest and least numbers, and the smallest positive ones.
      eps, epsneg, resolution: distances from 1 to its neighbours above and below, and the same in decimals.
      precision: decimal digits. nmant, nexp, iexp: bits of the mantissa and of the exponent.
      maxexp, minexp, machep, negep: powers of two of the limits.
    """

    bits: int
    dtype: np.dtype
    max: float
    min: float
    tiny: float
    smallest_normal: float
    smallest_subnormal: float
    eps: float
    epsneg: float
    resolution: float
    precision: int
    nmant: int
    nexp: int
    iexp: int
    maxexp: int
    minexp: int
    machep: int
    negep: int

    def __repr__(self) -> str:
        return f"finfo(resolution={self.resolution}, min={self.min}, max={self.max}, dtype={self.dtype})"


_FIELDS = [(field.name, field.type) for field in dataclasses.fields(FloatInfo)]
_CONVERSIONS: dict[Any, Any] = {"int": int, "float": float}


def finfo(dtype: DTypeLike) -> FloatInfo:
    """Limits of a floating-point dtype; of a complex one, those of its parts.

    Args:
      dtype: dtype-like, 64 bits included, or array.
    Returns: object with ``bits``, ``dtype``, ``eps``, ``max``, ``min``, ``tiny``, ``smallest_normal`` and more.
    Raises:
      ValueError: other dtypes.
    Example: ``jnp.finfo(jnp.bfloat16).eps`` is 0.0078125. Source: ``numpy.finfo``.
    """
    limits = dtypes.finfo(dtype)
    values = {name: _CONVERSIONS.get(kind, lambda x: x)(getattr(limits, name)) for name, kind in _FIELDS}
    if limits.dtype.isbuiltin != 1:  # numbers that NumPy does not know, of dtypes that give way to all others
        values.update({name: getattr(limits, name) for name, kind in _FIELDS if kind == "float"})
    return FloatInfo(**{**values, "resolution": 10.0 ** -values["precision"]})


def result_type(*args: Any) -> np.dtype:
    """The dtype that arrays, numbers and dtypes promote to.

    Args:
      args: arrays, numbers, dtypes.
    Example: ``jnp.result_type(jnp.int32, 1.5)`` is float32. Source: ``numpy.result_type``.
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    return dtypes.result_type(*args)


def _make_array(value: ArrayLike | Sequence[Any], dtype_: np.dtype) -> Array:
    return asarray(value, dtype=dtype_)


ScalarType.make_array = staticmethod(_make_array)
ScalarType.__call__ = boundary(ScalarType.__call__)  # type: ignore[method-assign]
