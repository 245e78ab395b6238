"""Blocks of arrays: taken out of the array and put back, at the place that an index map gives."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.core.calls import in_call
from arrax.core.types import ShapedArray, typeof
from arrax.experimental.pallas.block_specs import (
    Blocked,
    BlockSpec,
    Element,
    IndexMap,
    MemorySpace,
    NoBlockSpec,
    Squeezed,
)
from arrax.xla.arrays import Array


@dataclass(frozen=True)
class Blocks:
    """How one operand is cut.

    Args:
      name: what messages call the operand.
      aval: its type.
      dims: ``Blocked``, ``Element`` or ``Squeezed`` for each dimension.
      index_map: of the grid's indices, and of the prefetched operands; None for zeros.
    """

    name: str
    aval: ShapedArray
    dims: tuple[Blocked | Element | Squeezed, ...]
    index_map: IndexMap | None
    memory_space: MemorySpace | None

    @property
    def lengths(self) -> tuple[int, ...]:
        """Of a block, in all dimensions of the array."""
        return tuple(1 if isinstance(dim, Squeezed) else dim.block_size for dim in self.dims)

    @property
    def block_aval(self) -> ShapedArray:
        """The type of the blocks as the kernel sees them."""
        shape = [length for length, dim in zip(self.lengths, self.dims, strict=True) if not isinstance(dim, Squeezed)]
        return ShapedArray(tuple(shape), self.aval.dtype)

    def padding(self) -> list[tuple[int, int, int]]:
        """What must stand around the array, so that all blocks are inside."""
        rows = []
        for size, length, dim in zip(self.aval.shape, self.lengths, self.dims, strict=True):
            rows.append((*dim.padding, 0) if isinstance(dim, Element) else (0, -size % max(length, 1), 0))
        return rows

    def padded(self, array: Array) -> Array:
        """The array with what must stand around it, which holds nothing."""
        rows = self.padding()
        return lax.pad(array, nothing((), self.aval.dtype), rows) if any(map(any, rows)) else array

    def cropped(self, array: Array) -> Array:
        """The array without what stood around it."""
        rows = self.padding()
        return (
            lax.pad(array, nothing((), self.aval.dtype), [(-a, -b, 0) for a, b, _ in rows])
            if any(map(any, rows))
            else array
        )

    def check_index_map(self, count: int) -> None:
        """Raise TypeError where the index map takes another number of arguments."""
        if self.index_map is None:
            return
        try:
            inspect.signature(self.index_map).bind(*range(count))
        except TypeError as error:
            raise TypeError(
                f"pallas_call: the index map of {self.name} gets {count} arguments, one for each axis of the grid (and for "
                f"each prefetched operand): {error}"
            ) from None

    def mapped(self, values: Sequence[Any]) -> Any:
        """What the index map says; without one the first block."""
        return [0] * len(self.dims) if self.index_map is None else self.index_map(*values)

    def starts(self, indices: Any) -> list[Any]:
        """The first element of a block in each dimension, of what the index map returned.

        Raises:
          ValueError: it has another number of indices than the array has dimensions, or some are not integers.
        """
        found = list(indices) if isinstance(indices, tuple | list) else [indices]
        if len(found) != len(self.dims):
            raise ValueError(
                f"pallas_call: the index map of {self.name} must return an index for each of the {len(self.dims)} dimensions "
                f"of shape {self.aval.shape}, got {len(found)}"
            )
        starts = []
        for index, length, dim in zip(found, self.lengths, self.dims, strict=True):
            index = jnp.asarray(index)
            if index.shape or not dtypes.issubdtype(index.dtype, np.integer):
                raise ValueError(
                    f"pallas_call: the index map of {self.name} must return integers, got {typeof(index).str_short()}"
                )
            index = index.astype(np.int32)
            starts.append(index if isinstance(dim, Element) else index * length)
        return starts

    def take(self, array: Array, starts: Sequence[Any]) -> Array:
        """The block of a padded array that begins there."""
        if self.lengths != array.shape:
            array = lax.dynamic_slice(array, starts, self.lengths)
        return lax.reshape(array, self.block_aval.shape)

    def put(self, array: Array, block: Array, starts: Sequence[Any]) -> Array:
        """The padded array with another block there."""
        block = lax.reshape(block, self.lengths)
        return block if self.lengths == array.shape else lax.dynamic_update_slice(array, block, starts)


def blocks_of(name: str, spec: BlockSpec | NoBlockSpec, aval: ShapedArray) -> Blocks:
    """How a specification cuts an array.

    Raises:
      TypeError: it is not a specification.
      ValueError: it has another number of dimensions.
    """
    if spec is None or isinstance(spec, NoBlockSpec):
        spec = BlockSpec()
    if not isinstance(spec, BlockSpec):
        raise TypeError(f"pallas_call: the specification of {name} must be a BlockSpec, got {spec!r}")
    shape = spec.block_shape
    if shape is None:
        dims: tuple[Any, ...] = tuple(map(Blocked, aval.shape))
        return Blocks(name, aval, dims, spec.index_map, spec.memory_space)
    if len(shape) != len(aval.shape):
        raise ValueError(
            f"pallas_call: block shape {shape} of {name} must have as many dimensions as the array, of shape {aval.shape}"
        )
    dims = tuple(
        Squeezed() if dim is None else dim if isinstance(dim, Blocked | Element | Squeezed) else Blocked(int(dim))
        for dim in shape
    )
    return Blocks(name, aval, dims, spec.index_map, spec.memory_space)


def memory_type(kind: Any) -> ShapedArray:
    """The type of a piece of memory.

    Raises:
      TypeError: something without shape and dtype.
    """
    if isinstance(kind, type) or not (hasattr(kind, "shape") and hasattr(kind, "dtype")):
        raise TypeError(
            in_call(
                f"memory must be given by objects with shape and dtype, such as pltpu.VMEM(shape, dtype), got {kind!r}"
            )
        )
    return ShapedArray(tuple(kind.shape), dtypes.canonicalize_dtype(kind.dtype))


def beginning(kind: Any) -> Array:
    """What a piece of memory holds at first: nothing, and zeros where it consists of semaphores."""
    aval = memory_type(kind)
    counts = getattr(kind, "memory_space", None) is MemorySpace.SEMAPHORE
    return jnp.zeros(aval.shape, aval.dtype) if counts else nothing(aval.shape, aval.dtype)


def nothing(shape: Sequence[int], dtype: np.dtype) -> Array:
    """Memory that nobody has written to: NaN where the dtype has it, otherwise the least value."""
    dtype = np.dtype(dtype)
    if dtypes.is_inexact(dtype):
        return jnp.full(shape, np.nan, dtype)
    least = False if dtype == np.bool_ else dtypes.iinfo(dtype).min
    return jnp.full(shape, least, dtype)
