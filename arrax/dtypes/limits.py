"""Limits of dtypes: largest and smallest values, precision, and numbers brought inside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from arrax.dtypes import kinds

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike


def finfo(dtype: kinds.DTypeLike) -> ml_dtypes.finfo:
    """Limits of a floating-point dtype; of a complex one, those of its parts.

    Args:
      dtype: dtype-like, 64 bits included, or array.
    Returns: object with ``bits``, ``dtype``, ``eps``, ``epsneg``, ``max``, ``min``, ``tiny``, ``smallest_normal``,
      ``smallest_subnormal``, ``resolution``, ``precision``, ``nexp``, ``nmant``, ``iexp``, ``machep``, ``negep``,
      ``maxexp``, ``minexp``.
    Raises: ValueError for other dtypes.
    Example: ``finfo("bfloat16").eps`` is 0.0078125. Source: ``numpy.finfo``.
    """
    concrete = kinds.to_dtype(dtype)
    if concrete not in kinds.inexact_dtypes:
        raise ValueError(f"finfo: dtype must be floating-point or complex, got {concrete}.")
    return ml_dtypes.finfo(concrete)


def iinfo(int_type: kinds.DTypeLike) -> ml_dtypes.iinfo:
    """Limits of an integer dtype. Bool has none.

    Args:
      int_type: dtype-like, 64 bits included, array, or Python int (which counts as int64).
    Returns: object with ``bits``, ``dtype``, ``kind``, ``max``, ``min``.
    Raises: ValueError for other dtypes.
    Example: ``iinfo("int4").max`` is 7. Source: ``numpy.iinfo``.
    """
    concrete = kinds.to_dtype(_class_of_number(int_type))
    if concrete not in kinds.integer_dtypes:
        raise ValueError(f"iinfo: dtype must be an integer one, got {concrete}.")
    return ml_dtypes.iinfo(concrete)


def _class_of_number(x: Any) -> Any:
    return type(x) if type(x) in (bool, int, float, complex) else x


def saturated(value: ArrayLike, dtype: np.dtype) -> np.ndarray:
    """Host values in another dtype, as compiled code converts them: floats beyond an integer dtype become its limits.

    NumPy's own conversion of such floats gives what the processor gives.

    Args:
      value: number or host array.
      dtype: dtype of the result.
    Returns: array in which NaN is 0 where ``dtype`` is an integer one.
    Raises: TypeError for a Python complex number where ``dtype`` is real.
    Example: ``saturated(float("inf"), np.dtype("int8"))`` is 127.
    """
    if type(value) is complex and dtype != np.bool_ and dtype not in kinds.complex_dtypes:
        raise TypeError(f"the complex number {value} cannot become an element of dtype {dtype.name}")
    plain = np.asarray(value)
    with np.errstate(all="ignore"):
        if dtype not in kinds.integer_dtypes or plain.dtype not in kinds.inexact_dtypes:
            return plain.astype(dtype)
        exact = plain.real.astype(np.float64)
        limits = ml_dtypes.iinfo(dtype)
        least, greatest = np.asarray(int(limits.min)).astype(dtype), np.asarray(int(limits.max)).astype(dtype)
        above, below = exact >= float(limits.max), exact <= float(limits.min)
        inside = np.where(above | below | np.isnan(exact), 0, exact).astype(dtype)
    return np.where(above, greatest, np.where(below, least, inside))
