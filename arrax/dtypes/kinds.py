"""The dtypes that programs may use, the kinds they are of, and the names they go by."""

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeGuard, Union

import ml_dtypes
import numpy as np

from arrax.dtypes.extended_dtypes import ExtendedDType, extended

DType = np.dtype | ExtendedDType


class HasDType(Protocol):
    """An object with a dtype."""

    @property
    def dtype(self) -> Any:
        """Its dtype."""


# A name, a class of numbers, a dtype, or what has one.
# By typing's class: unlike those of `|`, its unions take names of classes that come later (`"Mine" | DTypeLike`).
DTypeLike = Union[str, type[Any], np.dtype, ExtendedDType, HasDType]  # noqa: UP007
OptionalDType = DTypeLike | None
_CONCRETE = (np.dtype, ExtendedDType)  # tuples: a union would be built anew at each isinstance
_TYPES = (type, np.dtype, ExtendedDType)


def _dtypes(*scalar_types: Any) -> frozenset[np.dtype]:
    return frozenset(np.dtype(scalar_type) for scalar_type in scalar_types)


bfloat16 = ml_dtypes.bfloat16
float0 = np.dtype([("float0", np.void, 0)])  # tangents of values that have none: no bytes per element

# fmt: off
bool_dtypes             = _dtypes(np.bool_)
narrow_integer_dtypes   = _dtypes(ml_dtypes.int1, ml_dtypes.uint1, ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.int4,
                                  ml_dtypes.uint4)
signed_integer_dtypes   = _dtypes(ml_dtypes.int1, ml_dtypes.int2, ml_dtypes.int4, np.int8, np.int16, np.int32, np.int64)
unsigned_integer_dtypes = _dtypes(ml_dtypes.uint1, ml_dtypes.uint2, ml_dtypes.uint4, np.uint8, np.uint16, np.uint32,
                                  np.uint64)
narrow_floating_dtypes  = _dtypes(ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn,
                                  ml_dtypes.float8_e3m4, ml_dtypes.float8_e4m3,
                                  ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e4m3b11fnuz,
                                  ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e8m0fnu)
floating_dtypes         = narrow_floating_dtypes | _dtypes(bfloat16, np.float16, np.float32, np.float64)
complex_dtypes          = _dtypes(np.complex64, np.complex128)
integer_dtypes          = signed_integer_dtypes | unsigned_integer_dtypes
inexact_dtypes          = floating_dtypes | complex_dtypes
numeric_dtypes          = integer_dtypes | inexact_dtypes
known_dtypes            = bool_dtypes | numeric_dtypes
# fmt: on


class Slots:
    """What a higher layer fills in."""

    complete: Callable[[str, Any], str] = staticmethod(lambda message, value: message)
    leave: Callable[[BaseException], None] = staticmethod(lambda error: None)


slots = Slots()


def to_dtype(dtype_like: DTypeLike) -> DType:
    """The dtype that a dtype-like stands for, as it is: 64 bits stay 64 bits.

    Args:
      dtype_like: dtype, scalar type, Python number class, name, None (NumPy's default), or an object with a dtype.
    Returns: NumPy or extended dtype.
    Raises: TypeError where there is none.
    Example: ``to_dtype("bfloat16")``.
    """
    if isinstance(dtype_like, _CONCRETE):
        return dtype_like
    if isinstance(dtype_like, type):
        if issubclass(dtype_like, extended):
            raise TypeError(f"{dtype_like} is a family of extended dtypes, not a dtype.")
    elif not isinstance(dtype_like, str):  # NumPy's strings have a dtype themselves
        carried = getattr(dtype_like, "dtype", None)
        if isinstance(carried, _CONCRETE):
            return carried
    try:
        return np.dtype(dtype_like)
    except TypeError as error:
        raise TypeError(slots.complete(str(error), dtype_like)) from None


def is_bool(dtype: DTypeLike) -> bool:
    """Whether a dtype is bool.

    Args:
      dtype: dtype, its name, or a scalar type.
    Example: ``dtypes.is_bool(np.dtype(bool))`` is True.
    """
    return to_dtype(dtype) in bool_dtypes


def is_integer(dtype: DTypeLike) -> bool:
    """Whether a dtype is a signed or unsigned integer; bool is not.

    Args:
      dtype: dtype, its name, or a scalar type.
    Example: ``dtypes.is_integer('int8'), dtypes.is_integer(bool)`` is ``(True, False)``.
    """
    return to_dtype(dtype) in integer_dtypes


def is_float(dtype: DTypeLike) -> bool:
    """Whether a dtype is real floating point, bfloat16 and the narrow floats included.

    Args:
      dtype: dtype, its name, or a scalar type.
    Example: ``dtypes.is_float('bfloat16'), dtypes.is_float('complex64')`` is ``(True, False)``.
    """
    return to_dtype(dtype) in floating_dtypes


def is_complex(dtype: DTypeLike) -> bool:
    """Whether a dtype is complex.

    Args:
      dtype: dtype, its name, or a scalar type.
    Example: ``dtypes.is_complex('complex64')`` is True.
    """
    return to_dtype(dtype) in complex_dtypes


def is_inexact(dtype: DTypeLike) -> bool:
    """Whether a dtype is real floating point or complex: whether values of it have tangents of the same dtype.

    Args:
      dtype: dtype, its name, or a scalar type.
    Example: ``dtypes.is_inexact('float32'), dtypes.is_inexact('int32')`` is ``(True, False)``.
    """
    return to_dtype(dtype) in inexact_dtypes


def is_extended(dtype: DType) -> TypeGuard[ExtendedDType]:
    """Whether a dtype is an extended one, such as that of random keys.

    Args:
      dtype: anything.
    Example: ``dtypes.is_extended(key.dtype)`` is True.
    """
    return isinstance(dtype, ExtendedDType)


def tangent_dtype(primal_dtype: DType) -> DType:
    """The dtype of tangents of values: their own where it is inexact, what an extended dtype says, otherwise ``float0``.

    Args:
      primal_dtype: of the values.
    Example: ``arrax.extend.core.primal_dtype_to_tangent_dtype(jnp.dtype('int32')) == arrax.float0`` is True.
    """
    if is_extended(primal_dtype):
        rule = getattr(primal_dtype._rules, "tangent_dtype", None)
        return float0 if rule is None else rule(primal_dtype)
    return primal_dtype if is_inexact(primal_dtype) else float0


_REAL: dict[str, np.dtype] = {"complex64": np.dtype(np.float32), "complex128": np.dtype(np.float64)}


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of magnitudes, and of the parts of complex numbers.

    Args:
      dtype: of the numbers.
    Example: ``dtypes.real_dtype(jnp.dtype('complex64')).name`` is ``'float32'``.
    """
    return _REAL.get(dtype.name, dtype)


def _bits_of(dtype: np.dtype) -> int:
    if dtype in narrow_integer_dtypes:
        return ml_dtypes.iinfo(dtype).bits
    return ml_dtypes.finfo(dtype).bits if dtype in narrow_floating_dtypes else dtype.itemsize * 8


_BITS: dict[Any, int] = {dtype: _bits_of(dtype) for dtype in known_dtypes}


def itemsize_bits(dtype: DTypeLike) -> int:
    """Bits that one element carries: 4 for int4, though NumPy stores it in a byte. Bool counts as 8.

    Example: ``itemsize_bits("int4")`` is 4.
    """
    concrete = to_dtype(dtype)
    bits = _BITS.get(concrete)
    return concrete.itemsize * 8 if bits is None else bits


# NumPy's hierarchy puts the scalar types of ml_dtypes directly under ``generic``; here is where they belong.
_FAMILY: dict[type, type] = {
    **{dtype.type: np.floating for dtype in floating_dtypes},
    **{dtype.type: np.signedinteger for dtype in signed_integer_dtypes},
    **{dtype.type: np.unsignedinteger for dtype in unsigned_integer_dtypes},
}


def _scalar_type(dtype_like: DTypeLike) -> type:
    if isinstance(dtype_like, type) and issubclass(dtype_like, np.generic):
        return dtype_like
    return to_dtype(dtype_like).type


@functools.lru_cache(4096)
def _stands_below(a: DTypeLike, b: DTypeLike) -> bool:
    if isinstance(b, ExtendedDType):
        return a == b
    lower, upper = _scalar_type(a), _scalar_type(b)
    return issubclass(lower, upper) or issubclass(_FAMILY.get(lower, lower), upper)


def issubdtype(a: DTypeLike, b: DTypeLike) -> bool:
    """Whether ``a`` is ``b`` or stands below it in the hierarchy of scalar types.

    The hierarchy is NumPy's, with bfloat16 and the narrow floats among ``floating``, the narrow integers among
    ``signedinteger`` and ``unsignedinteger``, and the extended dtypes under ``extended``.

    Args:
      a: dtype-like or scalar type.
      b: dtype-like or scalar type, abstract ones such as ``numpy.floating`` included.
    Raises: TypeError where either is no type.
    Example: ``issubdtype("bfloat16", np.floating)`` is True. Source: ``numpy.issubdtype``.
    """
    return _stands_below(
        *(one if isinstance(one, _TYPES) else to_dtype(one) for one in (a, b))  # type: ignore[arg-type]
    )


_ARRAY_API_KINDS: dict[str, frozenset[np.dtype]] = {
    "bool": bool_dtypes,
    "signed integer": signed_integer_dtypes,
    "unsigned integer": unsigned_integer_dtypes,
    "integral": integer_dtypes,
    "real floating": floating_dtypes,
    "complex floating": complex_dtypes,
    "numeric": numeric_dtypes,
}


_SCALAR_TYPES = frozenset(dtype.type for dtype in known_dtypes)


def _named_kind(dtype: DType, kind: str) -> bool:
    if kind in _ARRAY_API_KINDS:
        return dtype in _ARRAY_API_KINDS[kind]
    try:
        return dtype == np.dtype(kind)
    except TypeError:
        names = ", ".join(repr(name) for name in _ARRAY_API_KINDS)
        raise ValueError(f"isdtype: kind {kind!r} is neither one of {names} nor the name of a dtype.") from None


def _is_of_kind(dtype: DType, kind: Any) -> bool:
    if isinstance(kind, str):
        return _named_kind(dtype, kind)
    abstract = isinstance(kind, type) and issubclass(kind, np.generic) and kind not in _SCALAR_TYPES
    if abstract or not isinstance(kind, _TYPES):
        raise TypeError(f"isdtype: kind must be a string, a dtype or a tuple of these, got {kind!r}.")
    return dtype == to_dtype(kind)


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Args:
      dtype: dtype-like.
      kind: a dtype; one of ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
        ``"real floating"``, ``"complex floating"``, ``"numeric"``; or a tuple of these, any of which will do.
    Raises: ValueError for an unknown string, TypeError for anything else that is no kind.
    Example: ``isdtype("bfloat16", "real floating")`` is True. Source: array API, ``isdtype``.
    """
    concrete = to_dtype(dtype)
    if isinstance(kind, tuple):
        return any([_is_of_kind(concrete, member) for member in kind])  # a list: every member is checked
    return _is_of_kind(concrete, kind)


def _short_name_of(dtype: np.dtype) -> str:
    if dtype in bool_dtypes:
        return "bool"
    letter = next(name[0] for name in ("bfloat", "float", "uint", "int", "complex") if dtype.name.startswith(name))
    letter = "bf" if letter == "b" else letter
    _, _, layout = dtype.name.partition("_")
    return f"{letter}{_BITS[dtype]}" + (f"_{layout}" if layout else "")


_SHORT_NAMES: dict[Any, str] = {**{dtype: _short_name_of(dtype) for dtype in known_dtypes}, float0: "float0"}


def short_name(dtype: DType) -> str:
    """The name of a dtype in printed programs.

    Example: ``short_name(np.dtype("float32"))`` is ``"f32"``; that of a key's dtype may be ``"key<fry>"``.
    """
    return _SHORT_NAMES.get(dtype) or dtype.name
