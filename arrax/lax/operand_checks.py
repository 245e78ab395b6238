"""Which dtypes and shapes an operation takes: the checks of its operands, and the scalars that take their dtype."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import called_from_outside, in_call
from arrax.core.interpreter import Tracer
from arrax.core.types import ShapedArray, typeof
from arrax.dtypes import DTypeLike
from arrax.lax.shape_slots import shape_slots
from arrax.native import runtime
from arrax.xla.arrays import Array, ArrayLike

ArrayImpl = runtime.ArrayImpl

# What operations are defined for, by kind.
bools = frozenset({"bool"})
signed = frozenset({"signed"})
unsigned = frozenset({"unsigned"})
integers = signed | unsigned
floating = frozenset({"floating"})
complexes = frozenset({"complex"})
inexact = floating | complexes
real = integers | floating
numeric = integers | inexact
anything = numeric | bools

_KINDS = {"b": "bool", "i": "signed", "u": "unsigned", "f": "floating", "c": "complex"}


def kind_of(dtype: np.dtype) -> str:
    """``bool``, ``signed``, ``unsigned``, ``floating``, ``complex`` or ``extended``."""
    if isinstance(dtype, dtypes.ExtendedDType):
        return "extended"
    found = _KINDS.get(dtype.kind)
    if found is not None:
        return found
    if dtypes.issubdtype(dtype, np.floating):
        return "floating"
    if dtypes.issubdtype(dtype, np.signedinteger):
        return "signed"
    return "unsigned" if dtypes.issubdtype(dtype, np.unsignedinteger) else "other"


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype that sums of one are kept in and functions of it computed in: float32 for smaller floats."""
    return np.dtype(np.float32) if kind_of(dtype) == "floating" and dtype.itemsize < 4 else dtype


FLOAT0_REFUSED = (
    "{} got an operand of dtype float0, the tangents of values that have none: nothing can be computed with them. To get "
    "zeros of numbers, use jnp.zeros(value.shape)."
)


def check_dtype(name: str, aval: ShapedArray, accepts: frozenset) -> None:
    """Refuse operands that an operation is not defined for."""
    if kind_of(aval.dtype) not in accepts:
        if aval.dtype == dtypes.float0:
            raise TypeError(FLOAT0_REFUSED.format(name))
        names = ", ".join(sorted(accepts))
        raise TypeError(f"{name} does not accept dtype {_dtype_name(aval)}. Accepted dtypes are subtypes of {names}.")


def _dtype_name(aval: ShapedArray) -> str:
    return str(getattr(aval.dtype, "name", aval.dtype))


def checked_operand(name: str, value: Any) -> Array:
    """A value that primitives accept; objects with ``__jax_array__`` are converted.

    Raises:
      TypeError: not an array, number or tracer.
    """
    kind = type(value)
    if kind is ArrayImpl or isinstance(value, Tracer) or kind in (int, float, bool, complex):
        return value
    if isinstance(value, np.ndarray | np.generic):
        typeof(value)  # refuses texts, dates, objects
        return value  # type: ignore[return-value]
    convert = getattr(value, "__jax_array__", None)
    if convert is not None:
        return convert()
    if getattr(value, "aval", None) is not None:
        return value
    for number in (int, float, complex):  # subclasses of Python's numbers, such as members of an IntEnum
        if isinstance(value, number):
            return number(value)  # type: ignore[return-value, arg-type]
    raise TypeError(in_call(f"{name} requires array or scalar arguments, got {kind}", value))


def scalar_like(value: Any, aval: ShapedArray) -> Any:
    """A Python scalar as a NumPy scalar of an operand's dtype (weak where the operand is)."""
    if aval.weak_type and type(value) in (int, float, complex, bool):
        if kind_of(typeof(value).dtype) == kind_of(aval.dtype):
            return value
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(aval.dtype)[()]


_PYTHON = frozenset({bool, int, float, complex})
_RANKS = {"bool": 0, "signed": 1, "unsigned": 1, "floating": 2, "complex": 3}


def match_scalars(name: str, x: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
    """Operands where a Python scalar beside an array takes the array's dtype, and axes of length 1 the other's length.

    Where users call the operation, scalars must have the array's dtype by default: they promote explicitly.
    """
    x, y = checked_operand(name, x), checked_operand(name, y)
    if type(x) in _PYTHON:
        if type(y) not in _PYTHON:
            return _fitting(x, y), y
    elif type(y) in _PYTHON:
        return x, _fitting(y, x)
    return _of_equal_lengths(x, y)


def _of_equal_lengths(x: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
    """Operands of one rank, repeated along axes of length 1; others, which the type rule judges, as they are."""
    xs, ys = typeof(x).shape, typeof(y).shape
    if xs == ys or len(xs) != len(ys) or any(m != n and m != 1 != n for m, n in zip(xs, ys, strict=True)):
        return x, y
    shape = tuple(n if m == 1 else m for m, n in zip(xs, ys, strict=True))
    x, y = (
        v if own == shape else shape_slots.broadcast_in_dim(v, shape, range(len(shape)))
        for v, own in ((x, xs), (y, ys))
    )
    return x, y


def _fitting(scalar: Any, beside: ArrayLike) -> ArrayLike:
    aval = typeof(beside)
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return scalar
    if _RANKS[kind_of(typeof(scalar).dtype)] > _RANKS.get(kind_of(aval.dtype), 0):
        return scalar  # the type rule refuses it, naming both types
    return number_like(scalar, aval, 3)


def number_like(value: Any, aval: ShapedArray, depth: int = 1) -> Any:
    """A Python number that has an array's dtype, or that this package takes for it; others as they are.

    Args:
      depth: how many calls further out the operation is that users call; 1 is the caller.
    """
    if typeof(value).dtype != aval.dtype and called_from_outside(sys._getframe(depth)):
        return value
    return scalar_like(value, aval)


def requested_dtype(name: str, dtype: DTypeLike, depth: int = 1) -> np.dtype:
    """The canonical form of a dtype; where users ask for it, with a warning if it loses bits.

    Args:
      depth: how many calls further out the operation is that users call; 1 is the caller.
    Raises:
      TypeError: what is not a dtype, or none that arrays can have.
      ValueError: None.
    """
    if isinstance(dtype, np.ndarray) or hasattr(dtype, "aval"):
        raise TypeError(f"{name}: an array is no dtype; that of x is x.dtype")
    if dtype is None:
        raise ValueError(f"{name}: the dtype must be given, got None")
    concrete = dtypes.to_dtype(dtype)
    canonical = dtypes.canonicalize_dtype(concrete)
    if canonical not in dtypes.known_dtypes:
        return dtypes.check_user_dtype(name, dtype)
    if canonical != concrete and called_from_outside(sys._getframe(depth)):
        dtypes.check_user_dtype(name, dtype)
    return canonical


def broadcast_shapes_strict(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """The common shape: equal shapes, scalars beside them allowed."""
    shape: tuple[int, ...] = ()
    for aval in avals:
        if aval.shape != shape and aval.shape != ():
            if shape != ():
                shapes = ", ".join(str(a.shape) for a in avals)
                raise TypeError(f"{name} got incompatible shapes for broadcasting: {shapes}.")
            shape = aval.shape
    return shape


def check_same_dtypes(name: str, avals: Sequence[ShapedArray]) -> np.dtype:
    """The common dtype of operands; lax does not promote."""
    first = avals[0].dtype
    for aval in avals:
        if aval.dtype != first:
            names = ", ".join(_dtype_name(a) for a in avals)
            raise TypeError(
                f"lax.{name} requires arguments to have the same dtypes, got {names}. "
                "(Tip: arrax.numpy functions promote types automatically.)"
            )
    return first
