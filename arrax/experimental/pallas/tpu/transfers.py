"""Copies between memories inside kernels, and pipelines of them. XLA has one memory: a copy is a read and a write."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import numpy as jnp
from arrax.core.types import ShapedArray
from arrax.experimental.pallas.block_specs import BlockSpec, MemoryRef, MemorySpace, Squeezed
from arrax.experimental.pallas.blocks import blocks_of
from arrax.experimental.pallas.grids import each_program, running
from arrax.numpy_api.references import ds
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array

if TYPE_CHECKING:
    from arrax.interpreters.references import StagedRef
    from arrax.numpy_api.references import TransformedRef


class GridDimensionSemantics(enum.Enum):
    """Whether an axis of a grid may be divided among the cores of a chip.

    Example: ``pltpu.GridDimensionSemantics.PARALLEL.value`` is ``"parallel"``.
    """

    PARALLEL = "parallel"
    CORE_PARALLEL = "core_parallel"
    SUBCORE_PARALLEL = "subcore_parallel"
    ARBITRARY = "arbitrary"


class SemaphoreType(enum.Enum):
    """Kinds of semaphores, for ``scratch_shapes``.

    Example: ``pltpu.SemaphoreType.DMA((2,)).shape`` is ``(2,)``; ``pltpu.SemaphoreType.DMA`` is a single one.
    """

    REGULAR = "regular"
    DMA = "dma"
    BARRIER = "barrier"

    def __call__(self, shape: Sequence[int] = ()) -> MemoryRef:
        """Semaphores of a shape."""
        return MemoryRef(tuple(shape), np.dtype(np.int32), MemorySpace.SEMAPHORE)

    shape = property(lambda self: (), doc="One semaphore has no dimensions.")
    dtype = property(lambda self: np.dtype(np.int32), doc="Semaphores count.")
    memory_space = property(lambda self: MemorySpace.SEMAPHORE, doc="Where semaphores are.")


class InterpretParams:
    """Settings of another way to run kernels; they have no effect here.

    Args:
      settings: by name.
    Example: ``pl.pallas_call(lambda o_ref: o_ref.set(x), out_shape=x, interpret=pltpu.InterpretParams())()`` is ``x``.
    """

    def __init__(self, **settings: Any):
        self.__dict__.update(settings)


class AsyncCopyDescriptor:
    """A copy from one reference to another, which ``start`` makes.

    Args:
      source, target: references of one shape and dtype, or views of them.
      add: add to what the target holds.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: pltpu.AsyncCopyDescriptor(x_ref, o_ref).start(), out_shape=x)(x)`` is ``x``.
    """

    def __init__(
        self, source: StagedRef | TransformedRef, target: StagedRef | TransformedRef, add: bool = False
    ) -> None:
        self._source, self._target, self._add = source, target, add

    def start(self, priority: int = 0) -> None:
        """Copy."""
        value = self._source[...]
        self._target[...] = self._target[...] + value if self._add else value

    def wait(self) -> None:
        """Wait until it is made: it is."""

    wait_send = wait_recv = wait


def make_async_copy(
    src_ref: StagedRef | TransformedRef, dst_ref: StagedRef | TransformedRef, sem: StagedRef
) -> AsyncCopyDescriptor:
    """A copy that has not begun.

    Args:
      src_ref, dst_ref: references of one shape and dtype, or views such as ``ref.at[0]``.
      sem: semaphore that tells when it is over; not needed here.
    Returns: object with ``start`` and ``wait``.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: pltpu.make_async_copy(x_ref, o_ref, None).start(), out_shape=x)(x)`` is ``x``.
    """
    return AsyncCopyDescriptor(src_ref, dst_ref)


def async_copy(
    src_ref: StagedRef | TransformedRef,
    dst_ref: StagedRef | TransformedRef,
    sem: StagedRef,
    *,
    priority: int = 0,
    add: bool = False,
) -> AsyncCopyDescriptor:
    """A copy that has begun.

    Args:
      src_ref, dst_ref: references of one shape and dtype, or views such as ``ref.at[0]``.
      sem: semaphore that tells when it is over; not needed here.
      priority: without effect here.
      add: add to what the target holds.
    Returns: object with ``wait``.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: pltpu.async_copy(x_ref, o_ref, None).wait(), out_shape=x)(x)`` is ``x``.
    """
    copy = AsyncCopyDescriptor(src_ref, dst_ref, add)
    copy.start(priority)
    return copy


def sync_copy(src_ref: StagedRef | TransformedRef, dst_ref: StagedRef | TransformedRef, *, add: bool = False) -> None:
    """Copy, and wait until that is over.

    Args:
      src_ref, dst_ref: references of one shape and dtype, or views such as ``ref.at[0]``.
      add: add to what the target holds.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: pltpu.sync_copy(x_ref, o_ref), out_shape=x)(x)`` is ``x``.
    """
    AsyncCopyDescriptor(src_ref, dst_ref, add).start()


def roll(
    x: Array, shift: int | Array, axis: int, *, stride: int | None = None, stride_axis: int | None = None
) -> Array:
    """Rotate an array along an axis.

    Args:
      x: array.
      shift: by how many places.
      axis: along which axis.
      stride: how much further each following slice along ``stride_axis`` is rotated; None for all alike.
      stride_axis: that axis.
    Returns: array of the same shape.
    Raises: ValueError for only one of ``stride`` and ``stride_axis``.
    Example: ``pltpu.roll(jnp.arange(4), 1, 0)`` is ``[3, 0, 1, 2]``.
    """
    if (stride is None) != (stride_axis is None):
        raise ValueError("roll: stride and stride_axis belong together")
    if stride is None or stride_axis is None:
        return jnp.roll(x, shift, axis)
    slices = jnp.moveaxis(x, stride_axis, 0)
    axis = axis % x.ndim
    inner = axis - (axis > stride_axis % x.ndim)
    shifts = shift + stride * jnp.arange(len(slices))
    return jnp.moveaxis(vmap(lambda row, by: jnp.roll(row, by, inner))(slices, shifts), 0, stride_axis)


def emit_pipeline(
    body: Callable[..., None], *, grid: Sequence[int | Array], in_specs: Sequence[BlockSpec] = (),
    out_specs: Any = (), **settings: Any,
) -> Callable[..., None]:  # fmt: skip
    """A loop over a grid inside a kernel, whose steps work on blocks of references.

    Args:
      body: function of references to blocks of the inputs, then of the outputs.
      grid: lengths of the grid's axes.
      in_specs, out_specs: one ``BlockSpec`` for each input and output.
      settings: for the TPU's compiler; without effect here.
    Returns: function of references to the inputs, then to the outputs.
    Raises: ValueError for another number of references than of specifications.
    Example: ``halves = pl.BlockSpec((2,), lambda i: i);
    copy = pltpu.emit_pipeline(pltpu.sync_copy, grid=(2,), in_specs=[halves], out_specs=halves);
    pl.pallas_call(copy, out_shape=x)(x)`` is ``x``.
    """
    specs = [*in_specs, *(out_specs if isinstance(out_specs, tuple | list) else [out_specs])]

    def run(*refs: StagedRef, scratches: Sequence[Any] = ()) -> None:
        if len(refs) != len(specs):
            raise ValueError(f"emit_pipeline: {len(specs)} specifications for {len(refs)} references")
        cut = [
            blocks_of(f"refs[{number}]", spec, ShapedArray(ref.shape, ref.dtype))
            for number, (spec, ref) in enumerate(zip(specs, refs, strict=True))
        ]

        def step(indices: list[Any], carry: None) -> None:
            views = []
            for blocks, ref in zip(cut, refs, strict=True):
                starts = blocks.starts(blocks.mapped(indices))
                views.append(
                    ref.at[
                        tuple(
                            offset if isinstance(dim, Squeezed) else ds(offset, length)
                            for offset, length, dim in zip(starts, blocks.lengths, blocks.dims, strict=True)
                        )
                    ]
                )
            with running(grid, indices):
                body(*views, *scratches)

        each_program(grid, step, None)

    return run
