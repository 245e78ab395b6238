"""Limits of dtypes: largest and smallest values, precision."""

from typing import Any

import ml_dtypes

from arrax.dtypes import kinds


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
