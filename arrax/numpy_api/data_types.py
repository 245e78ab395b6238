"""Data types: promotion, casting, limits (NumPy reference, routines.dtype), and how arrays are made of scalar types."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.dtypes.scalars import ScalarType
from arrax.numpy_api.creation import array

can_cast = dtypes.can_cast
finfo = dtypes.finfo
iinfo = dtypes.iinfo
isdtype = dtypes.isdtype
issubdtype = dtypes.issubdtype
promote_types = dtypes.promote_types
dtype = np.dtype


def result_type(*args: Any) -> Any:
    """The dtype that arrays, numbers and dtypes promote to.

    Example: ``jnp.result_type(jnp.int32, 1.5)`` is float32. Source: ``numpy.result_type``.
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    return dtypes.result_type(*args)


def _make_array(value: Any, dtype_: Any) -> Any:
    return array(value, dtype=dtype_)


ScalarType.make_array = staticmethod(_make_array)
