"""Types of values and of operations on them: dtypes with weakness, conversions between kinds, casting."""

from typing import Any

import ml_dtypes  # noqa: F401  (teaches numpy.can_cast the narrow types)
import numpy as np

from arrax.dtypes import kinds
from arrax.dtypes.canonical import canonicalize_dtype, python_scalar_dtypes
from arrax.dtypes.extended_dtypes import ExtendedDType
from arrax.dtypes.lattice import TypePair, dtype_pair, result_type_of

# Tuples, not unions: those would be built anew at each isinstance.
_WEAK_CLASSES = (int, float, complex)
_NUMPY_VALUES = (np.ndarray, np.generic)
_DTYPES = (np.dtype, ExtendedDType)
_DTYPE_LIKES = (str, type, type(None), *_DTYPES)


def is_weakly_typed(x: Any) -> bool:
    """Whether the type of a value gives way to others of its kind: Python's numbers, and arrays made of them only.

    Example: ``is_weakly_typed(1)`` is True, ``is_weakly_typed(np.int32(1))`` and ``is_weakly_typed(True)`` are not.
    """
    if isinstance(x, _NUMPY_VALUES) or x is True or x is False:
        return False
    if isinstance(x, _WEAK_CLASSES):
        return True
    weak = getattr(x, "weak_type", None)
    if weak is None:
        weak = getattr(getattr(x, "aval", None), "weak_type", False)
    return bool(weak)


def value_pair(x: Any) -> TypePair:
    """(dtype, weak) of a value, as it is: a Python int is a weak int64.

    Args:
      x: array, tracer, NumPy value, Python number, or object with ``__jax_array__``.
    Raises: TypeError for other values, and for NumPy values that arrays cannot hold.
    Example: ``dtypes.value_pair(2.5)`` is ``(np.dtype('float64'), True)``, and ``dtypes.value_pair(x)[1]`` is False.
    """
    cls = type(x)
    if cls in python_scalar_dtypes:
        return python_scalar_dtypes[cls], cls in _WEAK_CLASSES
    if isinstance(x, _NUMPY_VALUES):
        return _numpy_dtype(x), False
    if hasattr(cls, "__jax_array__"):
        return value_pair(x.__jax_array__())
    carried = getattr(x, "dtype", None)
    if isinstance(carried, _DTYPES):
        return carried, is_weakly_typed(x)
    for number in (bool, int, float, complex):  # subclasses of Python's numbers, such as members of an IntEnum
        if isinstance(x, number):
            return python_scalar_dtypes[number], number is not bool
    raise TypeError(kinds.slots.complete(f"{x!r} of {cls} is neither an array nor a number.", x))


def _numpy_dtype(x: Any) -> np.dtype:
    dtype = x.dtype
    if dtype in kinds.known_dtypes or dtype == kinds.float0:
        return dtype
    native = dtype.newbyteorder("=")
    if native in kinds.known_dtypes:
        return native
    message = f"NumPy value of dtype {dtype} cannot be an array: array elements are numbers or bools."
    raise TypeError(kinds.slots.complete(message, dtype))


def _pair(x: Any) -> TypePair:
    # A NumPy string is a str too, but a value.
    given: Any = x
    return dtype_pair(given) if isinstance(x, _DTYPE_LIKES) and not isinstance(x, np.generic) else value_pair(x)


def dtype(x: Any, *, canonicalize: bool = False) -> Any:
    """The dtype of a value, or the one that a dtype-like stands for.

    Args:
      x: value or dtype-like.
      canonicalize: truncate 64 bits where they are off.
    Raises: TypeError where ``x`` has no dtype.
    Example: ``dtype(1.5)`` is float64, ``dtype(1.5, canonicalize=True)`` float32 by default.
    """
    found = _pair(x)[0]
    return canonicalize_dtype(found, allow_extended_dtype=True) if canonicalize else found


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype of an operation on the arguments, by the rules of promotion.

    Args:
      *args: values and dtype-likes, at least one.
      return_weak_type_flag: return (dtype, weak) instead of the dtype.
    Raises: TypePromotionError where the types have no common type; TypeError for arguments that have no type;
      ValueError where there is none.
    Example: ``result_type("int8", 2.0)`` is float32. Source: ``numpy.result_type``.
    """
    found, weak = result_type_of([_pair(arg) for arg in args])
    if isinstance(found, np.dtype) and found not in kinds.known_dtypes and found != kinds.float0:
        raise TypeError(f"Array elements are numbers or bools; dtype {found} given to result_type is neither.")
    return (found, weak) if return_weak_type_flag else found


def scalar_type_of(x: Any) -> type:
    """The class of Python numbers that a value or dtype corresponds to: bool, int, float or complex.

    Raises: TypeError for keys and whatever else is not a number.
    Example: ``scalar_type_of(np.int8(3))`` is ``int``. Source: ``jax.dtypes.scalar_type_of``.
    """
    found = _pair(x)[0]
    families = (
        (bool, kinds.bool_dtypes),
        (int, kinds.integer_dtypes),
        (float, kinds.floating_dtypes),
        (complex, kinds.complex_dtypes),
    )
    for cls, members in families:
        if found in members:
            return cls
    raise TypeError(f"Values of dtype {found} correspond to no class of Python numbers.")


def can_cast(from_: kinds.DTypeLike, to: kinds.DTypeLike, casting: str = "safe") -> bool:
    """Whether NumPy's rules let one dtype be cast to another.

    Args:
      from_, to: dtype-likes or arrays.
      casting: ``"no"``, ``"equiv"``, ``"safe"``, ``"same_kind"`` or ``"unsafe"``.
    Raises: TypeError for Python numbers: what they can be cast to depends on their value.
    Example: ``can_cast("int8", "int32")`` is True. Source: ``numpy.can_cast``.
    """
    if isinstance(from_, _WEAK_CLASSES) and not isinstance(from_, np.generic):
        raise TypeError(f"can_cast: expected an array or a dtype, got the Python number {from_!r}.")
    source, target = kinds.to_dtype(from_), kinds.to_dtype(to)
    if isinstance(source, ExtendedDType) or isinstance(target, ExtendedDType):
        return source == target
    return np.can_cast(source, target, casting=casting)  # type: ignore[arg-type]


def to_numeric_dtype(dtype: kinds.DTypeLike) -> Any:
    """The dtype in which numbers of ``dtype`` are computed: int32 for bool, else itself.

    Example: ``to_numeric_dtype(bool)`` is int32.
    """
    concrete = kinds.to_dtype(dtype)
    return np.dtype(np.int32) if concrete in kinds.bool_dtypes else concrete


def to_inexact_dtype(dtype: kinds.DTypeLike) -> Any:
    """The dtype of results that need fractions: that of inexact types, float64 for 64-bit integers, else float32.

    Example: ``to_inexact_dtype("int8")`` is float32.
    """
    concrete = kinds.to_dtype(dtype)
    if concrete in kinds.inexact_dtypes:
        return concrete
    _refuse_non_numbers(concrete)
    return canonicalize_dtype(np.float64 if concrete.itemsize == 8 else np.float32)


def to_complex_dtype(dtype: kinds.DTypeLike) -> Any:
    """The complex dtype of results that need imaginary parts: complex128 for 64-bit numbers, else complex64.

    Example: ``to_complex_dtype("bfloat16")`` is complex64.
    """
    concrete = kinds.to_dtype(dtype)
    if concrete in kinds.complex_dtypes:
        return concrete
    _refuse_non_numbers(concrete)
    return canonicalize_dtype(np.complex128 if concrete.itemsize == 8 else np.complex64)


def _refuse_non_numbers(dtype: Any) -> None:
    if dtype not in kinds.known_dtypes:
        raise TypeError(f"dtype {dtype} holds no numbers and cannot be made inexact.")
