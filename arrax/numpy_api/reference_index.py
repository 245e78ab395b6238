"""Indices into references: a hashable part (``IndexStep``) and the arrays among the entries, which are operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from arrax.core.calls import as_index
from arrax.core.interpreter import Tracer
from arrax.core.pytree_nodes import register_pytree_node
from arrax.core.types import typeof
from arrax.lax.arithmetic import add
from arrax.lax.shapes import broadcast_shapes, reshape
from arrax.lax.slicing_along_axes import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from arrax.native import runtime
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.index_description import describe, result_shape
from arrax.numpy_api.indexing import getitem
from arrax.numpy_api.updates import update_item
from arrax.xla.arrays import Array, ArrayLike
from arrax.xla.placement import host_value

ArrayImpl = runtime.ArrayImpl


@dataclass(frozen=True)
class Slice:
    """``size`` entries of an axis, ``stride`` apart, from ``start`` on: what ``ds`` gives.

    Example: ``arrax.ds(1, 2)`` is ``Slice(start=1, size=2, stride=1)``.
    """

    start: Any
    size: int
    stride: int = 1


def _parts(piece: Slice) -> tuple[tuple[Any], tuple[Any, int, int]]:
    """What may be traced, which is the start unless it is an int, and what is known."""
    known = isinstance(piece.start, int)
    return (None if known else piece.start,), (piece.start if known else None, piece.size, piece.stride)


def _joined(known: tuple[Any, int, int], traced: Sequence[Any]) -> Slice:
    start, size, stride = known
    return Slice(traced[0] if start is None else start, size, stride)


# Also an argument of functions that are traced: its size is part of their signature.
register_pytree_node(Slice, _parts, _joined)


def ds(start: ArrayLike, size: int | None = None, stride: int | None = None) -> slice | Slice:
    """A slice whose start may be traced, as an index into a reference.

    Args:
      start: integer scalar; None for the whole axis.
      size: number of entries, an int; without it, ``start`` is the size, and the slice begins at 0.
      stride: distance between the entries, 1 by default.
    Raises:
      ValueError: a size or stride that is not positive.
    Example: ``ref = arrax.new_ref(jnp.arange(5)); ref[arrax.ds(1, 2)]`` is ``[1, 2]``.
    """
    step = 1 if stride is None else as_index(stride)
    if start is None:
        return slice(None, size, stride)
    if size is None:
        start, size = 0, start
    if as_index(size) < 0 or step < 1:
        raise ValueError(f"ds: size must not be negative and stride must be positive, got size={size}, stride={stride}")
    return Slice(start, as_index(size), step)


class _Operand(NamedTuple):
    """An entry that is an array."""


class _Piece(NamedTuple):
    """A slice as part of something that is hashed."""

    start: Any
    stop: Any
    step: Any


class _Window(NamedTuple):
    """A ``Slice`` of an axis, whose start is an operand."""

    axis: int
    size: int
    stride: int

    @property
    def span(self) -> int:
        """How many entries it spans."""
        return max(self.size - 1, 0) * self.stride + min(self.size, 1)


class ReshapeStep(NamedTuple):
    """All elements of an array, in another shape."""

    lengths: tuple[int, ...]

    def operand_count(self) -> int:
        """The number of operands: none."""
        return 0

    def take(self, array: ArrayLike, operands: Sequence[Any]) -> Array:
        """The array in that shape."""
        return reshape(array, self.lengths)

    def put(self, array: ArrayLike, operands: Sequence[Any], value: Array) -> Array:
        """The value in the array's own shape."""
        return reshape(value, typeof(array).shape)

    def add(self, array: ArrayLike, operands: Sequence[Any], value: Array) -> Array:
        """The array with the elements of the value added."""
        return add(array, reshape(value, typeof(array).shape))

    def text(self, operands: Sequence[str]) -> str:
        """What stands between the brackets."""
        return f"reshape{self.lengths}"


class IndexStep(NamedTuple):
    """An index into an array, but for the arrays among its entries."""

    entries: tuple[Any, ...]

    def operand_count(self) -> int:
        """The number of operands."""
        return sum(isinstance(entry, _Operand | _Window) for entry in self.entries)

    def _index(self, operands: Sequence[Any]) -> tuple[tuple[Any, ...], list[tuple[_Window, Any]]]:
        """The index with its arrays in place, for an array of which windows are taken first: these, and their starts."""
        rest, index, windows = iter(operands), [], []
        for entry in self.entries:
            if isinstance(entry, _Window):
                windows.append((entry, next(rest)))
                index.append(slice(None, None, entry.stride))
            elif isinstance(entry, _Operand):
                index.append(next(rest))
            else:
                index.append(slice(*entry) if isinstance(entry, _Piece) else entry)
        return tuple(index), windows

    def take(self, array: Array, operands: Sequence[Any]) -> Array:
        """``array[index]``."""
        index, windows = self._index(operands)
        for window, start in windows:
            array = dynamic_slice_in_dim(array, start, window.span, window.axis)
        return getitem(array, index)

    def put(self, array: Array, operands: Sequence[Any], value: ArrayLike) -> Array:
        """The array with ``value`` at the index."""
        return self._updated(array, operands, value, "set")

    def add(self, array: Array, operands: Sequence[Any], value: Array) -> Any:
        """The array with ``value`` added at the index."""
        return self._updated(array, operands, value, "add")

    def _updated(self, array: Array, operands: Sequence[Any], value: Any, operation: str) -> Array:
        index, windows = self._index(operands)
        parts = [array]
        for window, start in windows:
            parts.append(dynamic_slice_in_dim(parts[-1], start, window.span, window.axis))
        new = update_item(parts.pop(), index, value, operation)
        for part, (window, start) in zip(reversed(parts), reversed(windows), strict=True):
            new = dynamic_update_slice_in_dim(part, new, start, window.axis)
        return new

    def shape(self, shape: tuple[int, ...], operands: Sequence[Any]) -> tuple[int, ...]:
        """The shape of ``array[index]`` for an array of a shape."""
        index, windows = self._index(operands)
        lengths = list(shape)
        for window, _ in windows:
            lengths[window.axis] = window.span
        found = describe(index, tuple(lengths))
        return result_shape(found.description, broadcast_shapes(*(typeof(x).shape for x in found.operands), ()))

    def text(self, operands: Sequence[str]) -> str:
        """What stands between the brackets, with the texts of the arrays."""
        rest = iter(operands)
        return ", ".join(_entry_text(entry, rest) for entry in self.entries)


def _entry_text(entry: Any, operands: Any) -> str:
    if isinstance(entry, _Window):
        stride = f":{entry.stride}" if entry.stride != 1 else ""
        start = next(operands)
        return f"{start}:{start}+{entry.span}{stride}"
    if isinstance(entry, _Operand):
        return next(operands)
    if isinstance(entry, _Piece):
        first, last, step = ("" if part is None else str(part) for part in entry)
        return f"{first}:{last}:{step}" if step else f"{first}:{last}"
    return "..." if entry is Ellipsis else str(entry)


def parse_index(index: Any, shape: tuple[int, ...]) -> tuple[tuple[IndexStep, ...], list[Any]]:
    """The steps of an index into an array of a shape (none for all of it), and their operands.

    Raises:
      IndexError: not an index, or one of too many entries.
      ValueError: an integer or a slice that is out of bounds.
    """
    entries = () if index is None else index if type(index) is tuple else (index,)
    operands: list[Any] = []
    parsed: list[Any] = []
    masks = [_mask_of(entry) for entry in entries]
    axes = [0 if entry is None or entry is Ellipsis else m.ndim if (m := mask) is not None else 1 for entry, mask in zip(entries, masks, strict=True)]  # fmt: skip
    axis, left = 0, max(len(shape) - sum(axes), 0)
    for entry, mask, width in zip(entries, masks, axes, strict=True):
        if mask is not None and mask.ndim:
            parsed += [_Operand()] * mask.ndim
            operands += [np.asarray(each, np.int32) for each in np.nonzero(mask)]
        else:
            parsed.append(_entry(entry, axis, shape, operands))
        axis += left if entry is Ellipsis else width
    step = IndexStep(tuple(parsed))
    if all(entry is Ellipsis or entry == _Piece(None, None, None) for entry in parsed):
        step.shape(shape, operands)  # which refuses too many entries
        return (), []
    return (step,), operands


def _mask_of(entry: Any) -> np.ndarray | None:
    """The mask that an entry is, where its values are known."""
    if isinstance(entry, bool | Tracer) or not hasattr(entry, "dtype") or entry.dtype != np.bool_:
        return None
    return np.asarray(host_value(entry) if isinstance(entry, ArrayImpl) else entry)


def _entry(entry: Any, axis: int, shape: tuple[int, ...], operands: list[Any]) -> Any:
    length = shape[axis] if axis < len(shape) else None
    if entry is None or entry is Ellipsis or isinstance(entry, bool | str | float):
        return entry
    if isinstance(entry, Slice):
        known = None if isinstance(entry.start, Tracer | ArrayImpl) else as_index(entry.start)
        window = _Window(axis, entry.size, entry.stride)
        if known is not None and length is not None and not (0 <= known and known + window.span <= length):
            raise ValueError(
                f"out of bounds slice: start={known}, size={entry.size}, stride={entry.stride}, dim={length}"
            )
        operands.append(asarray(entry.start if known is None else np.int32(known)))
        return window
    if isinstance(entry, slice):
        if isinstance(entry.step, int) and entry.step < 1:
            raise ValueError(f"slice must have a step >= 1 (found: {entry.step})")
        return _Piece(entry.start, entry.stop, entry.step)
    if isinstance(entry, list):
        entry = np.asarray(entry)
    number = None if isinstance(entry, Tracer | ArrayImpl) else as_index(entry) if np.ndim(entry) == 0 else None
    if number is None:
        operands.append(entry)
        return _Operand()
    if length is not None and not -length <= number < length:
        raise ValueError(f"Out of bound indexer: idx={number}, dim={length}.")
    return number
