"""Canonical dtypes: what becomes of 64 bits where they are not enabled, and of the dtypes that users name."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from arrax.dtypes import kinds
from arrax.dtypes.extended_dtypes import ExtendedDType
from arrax.dtypes.settings import settings

if TYPE_CHECKING:
    from arrax.dtypes.kinds import DTypeLike


_TRUNCATED: dict[Any, np.dtype] = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}

python_scalar_dtypes: dict[type, np.dtype] = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


def truncate(dtype: kinds.DType, x64: bool) -> kinds.DType:
    """``dtype`` in native byte order and, unless ``x64``, in at most 32 bits per real number."""
    if dtype in kinds.known_dtypes:
        return dtype if x64 else _TRUNCATED.get(dtype, dtype)
    if isinstance(dtype, np.dtype) and not dtype.isnative:
        return truncate(dtype.newbyteorder("="), x64)
    return dtype


def canonicalize_dtype(dtype: kinds.DTypeLike, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays of ``dtype`` really have: where 64-bit types are off, those become 32-bit ones.

    Args:
      dtype: dtype-like.
      allow_extended_dtype: let extended dtypes through instead of refusing them.
    Returns: dtype.
    Raises: ValueError for an extended dtype that is not allowed.
    Example: ``canonicalize_dtype("int64")`` is int32 by default. Source: ``jax.dtypes.canonicalize_dtype``.
    """
    try:  # a boundary that costs nothing, since each operation that is traced comes here
        concrete = dtype if isinstance(dtype, np.dtype) else kinds.to_dtype(dtype)
        if isinstance(concrete, ExtendedDType) and not allow_extended_dtype:
            raise ValueError(f"canonicalize_dtype: extended dtype {concrete} is not allowed here.")
        return truncate(concrete, settings.x64_enabled())
    except Exception as error:
        kinds.slots.leave(error)
        raise


def python_scalar_dtype(cls: type) -> np.dtype:
    """The canonical dtype of a class of Python numbers: ``int`` is int32, or int64 where 64-bit types are on.

    Args:
      cls: bool, int, float or complex.
    Returns: NumPy dtype.
    Example: ``dtypes.python_scalar_dtype(int)`` is ``np.dtype('int32')``.
    """
    return canonicalize_dtype(python_scalar_dtypes[cls])


@overload
def check_user_dtype(fun_name: str, dtype: None) -> None: ...
@overload
def check_user_dtype(fun_name: str, dtype: Any) -> Any: ...
def check_user_dtype(fun_name: str, dtype: kinds.DTypeLike | None) -> Any:
    """The canonical form of a dtype that the user passed to a function, with a warning where it loses bits.

    Python's own ``int``, ``float`` and ``complex`` mean "the default of that kind" and lose nothing.

    Args:
      fun_name: the function that the user called; "" if unknown.
      dtype: dtype-like; None means that none was requested.
    Returns: canonical dtype, or None for None.
    Raises: TypeError for dtypes that arrays cannot have, such as ``object`` and strings, and for arrays.
    Example: ``check_user_dtype("zeros", "float64")`` warns and is float32 by default.
    """
    if dtype is None:
        return None
    if isinstance(dtype, np.dtype | type | str):
        kept = _without_loss(cast(Hashable, dtype), settings.x64_enabled())
        if kept is not None:
            return kept
    if isinstance(dtype, np.ndarray) or hasattr(dtype, "aval"):
        raise TypeError(f"{fun_name}: argument dtype: an array is no dtype; that of x is x.dtype")
    concrete = kinds.to_dtype(dtype)
    if isinstance(concrete, ExtendedDType) or concrete == kinds.float0:
        return concrete
    canonical = canonicalize_dtype(concrete)
    if canonical not in kinds.known_dtypes:
        where = f" in {fun_name}" if fun_name else ""
        raise TypeError(f"Array elements are numbers or bools; dtype {dtype} requested{where} is neither.")
    if canonical.itemsize < concrete.itemsize:
        _warn_of_truncation(fun_name, dtype, canonical)
    return canonical


@functools.lru_cache(1024)
def _without_loss(dtype: DTypeLike, x64: bool) -> kinds.DType | None:
    """The canonical form of a dtype that loses nothing by it; None for others, which warn or raise each time."""
    try:
        concrete = kinds.to_dtype(dtype)
    except TypeError:
        return None
    canonical = truncate(concrete, x64)
    exact = canonical in kinds.known_dtypes and canonical.itemsize == concrete.itemsize
    return canonical if exact or dtype in python_scalar_dtypes else None


def _warn_of_truncation(fun_name: str, dtype: kinds.DTypeLike, canonical: np.dtype) -> None:
    requested = f" requested in {fun_name}" if fun_name else ""
    warn_user(
        f"Explicitly requested dtype {kinds.to_dtype(dtype).name}{requested} is not available, and will be truncated to dtype "
        f"{canonical.name}. To enable more dtypes, set the jax_enable_x64 configuration option or the JAX_ENABLE_X64 "
        "shell environment variable.",
    )


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_IMPORT_SYSTEM = "<frozen importlib._bootstrap"


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of what the user's code does, at its line; of what happens in an import, at the line that imports."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, _IMPORT_SYSTEM)):
        frame = frame.f_back
        level += not frame.f_code.co_filename.startswith(_IMPORT_SYSTEM)  # whose frames warnings do not count
    warnings.warn(message, category, stacklevel=level)


def warn_of_dropped_parts(name: str, source: Any, target: Any) -> None:
    """Warn where a conversion keeps the real parts of complex numbers alone. Bools say whether a number is zero."""
    if kinds.is_complex(source) and not kinds.is_complex(target) and target != np.bool_:
        message = f"{name}: casting complex values to real discards the imaginary part"
        warn_user(message, np.exceptions.ComplexWarning)
