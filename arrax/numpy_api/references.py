"""References: mutable arrays, for what a function is to remember or to hand out beside its results."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import Tracer
from arrax.core.references import AbstractRef, Ref, access, is_ref
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.references import ArrayRef, at_once
from arrax.lax.conversion import convert
from arrax.lax.references import (
    Steps,
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    put,
    swap_p,
    take,
)
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.manipulation import resolve_shape
from arrax.numpy_api.reference_index import ReshapeStep, parse_index
from arrax.numpy_api.reference_index import ds as ds
from arrax.transforms import references as _references  # noqa: F401  (takes references through jit and vmap)
from arrax.xla.arrays import Array, ArrayLike

__all__ = ["AbstractRef", "Ref", "addupdate", "ds", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]
Index = Any  # what stands between the brackets: ints, slices, ``ds``, ``...``, integer arrays, or a tuple of them


# ---- to make one, and to end it ----------------------------------------------------------------------------------------


def new_ref(init_val: ArrayLike, *, memory_space: Any = None, kind: str | None = None) -> Any:
    """A reference to a new mutable array.

    Args:
      init_val: array or number that it holds at first; it is copied when the reference is written to.
      memory_space: where the array is, in a function that is traced; None for the default memory.
      kind: a word of one's own, part of the type.
    Returns: the reference: ``ref[...]`` reads, ``ref[...] = value`` writes, ``ref[0] += 1`` does both.
    Raises:
      TypeError: not an array, or a reference.
    Example: ``ref = arrax.new_ref(jnp.zeros(3)); ref[1] = 5.; ref[...]`` is ``[0, 5, 0]``.
    """
    if is_ref(init_val):
        raise TypeError(
            f"new_ref: a reference holds an array, not another reference: got {init_val!r}; read it, with ref[...]"
        )
    if not hasattr(init_val, "dtype") and not isinstance(init_val, bool | int | float | complex):
        raise TypeError(f"new_ref: expected an array or a number, got {init_val!r} of type {type(init_val)}")
    value = init_val if isinstance(init_val, Tracer) else asarray(init_val)
    return new_ref_p.bind(value, memory_space=memory_space, kind=kind)


def empty_ref(ty: Any, memory_space: Any = None) -> Any:
    """A reference to an array of a type, whose elements are not set yet (they are zeros).

    Args:
      ty: the type: anything with a shape and a dtype.
      memory_space: as of ``new_ref``.
    Example: ``arrax.empty_ref(arrax.ShapeDtypeStruct((2,), jnp.float32)).shape`` is ``(2,)``.
    """
    return empty_ref_p.bind(ty=ShapedArray(tuple(ty.shape), dtypes.dtype(ty.dtype)), memory_space=memory_space)


def freeze(ref: Any) -> Array:
    """What a reference holds in the end; it should not be used after that.

    Args:
      ref: reference.
    Example: ``arrax.freeze(arrax.new_ref(1.5))`` is 1.5.
    """
    return freeze_p.bind(_checked("freeze", ref))


def free_ref(ref: Any) -> None:
    """End a reference, so that the memory of its array is free.

    Args:
      ref: reference.
    Example: ``ref = arrax.new_ref(jnp.zeros(3)); arrax.free_ref(ref)``.
    """
    free_ref_p.bind(_checked("free_ref", ref))


# ---- views -------------------------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A reference and what leads to a part of it."""

    ref: Any
    steps: Steps
    operands: tuple[Any, ...]
    shape: tuple[int, ...]


class TransformedRef:
    """A view of a part of a reference: ``ref.at[index]``. It is read and written as a reference is.

    Attributes:
      ref: the reference.
    """

    __slots__ = ("_part",)
    at = Ref.at
    reshape = Ref.reshape

    def __init__(self, part: _Part) -> None:
        self._part = part

    @property
    def ref(self) -> Any:
        """The reference."""
        return self._part.ref

    @property
    def shape(self) -> tuple[int, ...]:
        """Tuple of lengths of the part."""
        return self._part.shape

    @property
    def dtype(self) -> Any:
        """The elements' dtype."""
        return self.ref.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions of the part."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements of the part."""
        return math.prod(self.shape)

    def __getitem__(self, index: Any) -> Array:
        return get(self, index)

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        set(self, index, value)

    def __repr__(self) -> str:
        return f"TransformedRef({self.ref!r}, shape={self.shape})"


def _whole(function: str, ref: Any) -> _Part:
    return ref._part if isinstance(ref, TransformedRef) else _Part(_checked(function, ref), (), (), ref.shape)


def _part(function: str, ref: Any, index: Any) -> _Part:
    base = _whole(function, ref)
    steps, operands = parse_index(index, base.shape)
    shape = base.shape
    if steps:
        (step,) = steps
        shape = step.shape(shape, operands)
    return _Part(base.ref, (*base.steps, *steps), (*base.operands, *operands), shape)


def _view(ref: Any, index: Any) -> TransformedRef:
    return TransformedRef(_part("ref.at", ref, index))


def _reshaped(ref: Any, shape: tuple[Any, ...]) -> TransformedRef:
    base = _whole("ref.reshape", ref)
    lengths = shape[0] if len(shape) == 1 else shape
    step = ReshapeStep(resolve_shape("ref.reshape", base.shape, lengths))
    return TransformedRef(_Part(base.ref, (*base.steps, step), base.operands, step.lengths))


def _checked(function: str, ref: Any) -> Any:
    if not is_ref(ref):
        raise TypeError(f"{function}: expected a reference (made by new_ref), got {ref!r} of type {type(ref)}")
    return ref


# ---- to read and to write ----------------------------------------------------------------------------------------------


def get(ref: Any | TransformedRef, idx: Index = None) -> Array:
    """What a reference holds, or a part of it: ``ref[idx]``.

    Args:
      ref: reference, or a view of one.
      idx: index; None for all of it.
    Raises:
      ValueError: an integer out of bounds.
    Example: ``arrax.ref.get(arrax.new_ref(jnp.arange(3)), 1)`` is 1.
    """
    found = _part("ref.get", ref, idx)
    if type(found.ref) is ArrayRef and at_once():
        return take(found.ref.read(), found.steps, found.operands)
    return get_p.bind(found.ref, *found.operands, steps=found.steps, shape=found.shape)


def set(ref: Any | TransformedRef, idx: Index, value: ArrayLike) -> None:
    """Write to a reference: ``ref[idx] = value``.

    Args:
      ref: reference, or a view of one.
      idx: index; None for all of it.
      value: array of the shape of ``ref[idx]`` and of the dtype of ``ref``, or a number for a scalar.
    Raises:
      ValueError: another shape or dtype, or an integer out of bounds.
    Example: ``ref = arrax.new_ref(jnp.zeros(2)); arrax.ref.set(ref, 0, 1.5); ref[...]`` is ``[1.5, 0]``.
    """
    found = _part("ref.set", ref, idx)
    value = _fitting("swap", found, value)
    if type(found.ref) is ArrayRef and at_once():
        found.ref.write(put(found.ref.read(), found.steps, found.operands, value))
    else:
        swap_p.bind(found.ref, value, *found.operands, steps=found.steps, shape=found.shape)


def swap(ref: Any | TransformedRef, idx: Index, value: ArrayLike, _function_name: str = "ref_swap") -> Array:
    """Write to a reference and return what was there before.

    Args:
      ref: reference, or a view of one.
      idx: index; None for all of it.
      value: array of the shape of ``ref[idx]`` and of the dtype of ``ref``.
    Raises:
      ValueError: another shape or dtype, or an integer out of bounds.
    Example: ``arrax.ref.swap(arrax.new_ref(1.5), ..., 2.5)`` is 1.5.
    """
    found = _part("ref.swap", ref, idx)
    value = _fitting("swap", found, value)
    return swap_p.bind(found.ref, value, *found.operands, steps=found.steps, shape=found.shape)


def addupdate(ref: Any | TransformedRef, idx: Index, x: ArrayLike) -> None:
    """Add to a reference: ``ref[idx] += x``, repeatedly where an entry is indexed repeatedly.

    Args:
      ref: reference, or a view of one.
      idx: index; None for all of it.
      x: array of the shape of ``ref[idx]`` and of the dtype of ``ref``.
    Raises:
      ValueError: another shape or dtype, or an integer out of bounds.
    Example: ``ref = arrax.new_ref(jnp.ones(2)); arrax.ref.addupdate(ref, 0, 1.5); ref[...]`` is ``[2.5, 1]``.
    """
    found = _part("ref.addupdate", ref, idx)
    value = _fitting("addupdate", found, x)
    addupdate_p.bind(found.ref, value, *found.operands, steps=found.steps, shape=found.shape)


def _fitting(operation: str, part: _Part, value: Any) -> ArrayLike:
    """A value that may be written to a part of a reference, in its dtype."""
    if is_ref(value):
        raise TypeError(f"{operation}: a reference cannot be written to a reference: read it first, with ref[...]")
    if value is None:
        raise TypeError(f"{operation}: None cannot be written to a reference")
    if not isinstance(value, Tracer | bool | int | float | complex):
        value = asarray(value)
    aval, inner = typeof(value), part.ref.aval.inner_aval
    if aval.shape != part.shape:
        raise ValueError(
            f"Invalid shape for `{operation}`. Ref shape: {part.ref.shape}. Expected shape: {part.shape}. Value shape: {aval.shape}."
        )
    if aval.dtype != inner.dtype:
        dtype, _ = dtypes.result_type_of([(aval.dtype, aval.weak_type), (inner.dtype, False)])
        if not aval.weak_type or dtype != inner.dtype:
            raise ValueError(f"Invalid dtype for `{operation}`. Ref dtype: {inner.dtype}. Value dtype: {aval.dtype}.")
    if isinstance(value, bool | int | float | complex):
        return np.asarray(value, inner.dtype)[()]
    return (
        value
        if aval.dtype == inner.dtype and aval.weak_type == inner.weak_type
        else convert(value, inner.dtype, inner.weak_type)
    )


def _shown(ref: Any) -> str:
    if not isinstance(ref, ArrayRef):
        return f"Traced<{ref.aval!r}>"
    if ref.array is None:
        return f"Ref(freed, {ref.aval!r})"
    return repr(ref.array).replace("Array", "Ref", 1)


access.get, access.set, access.addupdate = get, set, lambda ref, index, value: addupdate(ref, index, value)
access.view, access.reshaped, access.shown = _view, _reshaped, _shown
