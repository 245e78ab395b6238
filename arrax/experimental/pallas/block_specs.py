"""How a kernel's operands are cut into blocks: which block of an array belongs to which program of the grid."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.tracebacks import bound_methods
from arrax.dtypes import DTypeLike
from arrax.dtypes.wording import shown


class MemorySpace(enum.Enum):
    """Where an operand lies while a kernel runs. Compiled by XLA, all are the device's memory.

    Example: ``pl.MemorySpace.VMEM((8, 128), "float32").shape`` is ``(8, 128)``.
    """

    ANY = "any"
    HOST = "host"
    VMEM = "vmem"
    SMEM = "smem"
    HBM = "hbm"
    SEMAPHORE = "semaphore_mem"

    def __call__(self, shape: Sequence[int], dtype: DTypeLike) -> MemoryRef:
        """Memory of a shape, for ``scratch_shapes`` and ``run_scoped``: ``pltpu.VMEM((8, 128), jnp.float32)``."""
        return MemoryRef(tuple(shape), np.dtype(dtypes.canonicalize_dtype(dtype)), self)

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class MemoryRef:
    """A piece of memory that a kernel gets for itself.

    Args:
      shape: its lengths.
      dtype: of its elements.
      memory_space: where it is.
    Example: ``pltpu.SMEM((2,), "int32").dtype`` is ``np.dtype("int32")``.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    memory_space: MemorySpace | None = None


@dataclass(frozen=True)
class Squeezed:
    """A dimension of blocks of length 1 that the kernel does not see; ``None`` says the same.

    Example: ``pl.BlockSpec((pl.Squeezed(), 4), lambda i: (i, 0))``.
    """


squeezed = Squeezed()


@dataclass(frozen=True)
class Blocked:
    """A dimension that is cut into blocks of one length; an int says the same.

    Args:
      block_size: the length.
    Example: ``pl.BlockSpec((pl.Blocked(2),), lambda i: (i,)).block_shape[0].block_size`` is 2.
    """

    block_size: int


@dataclass(frozen=True)
class Element:
    """A dimension whose index map gives the first element of a block instead of the block's number: blocks may overlap.

    Args:
      block_size: length of the blocks.
      padding: how many elements that hold nothing stand before and after the array; the index map counts from the first of them.
    Example: ``pairs = pl.BlockSpec((pl.Element(2),), lambda i: (i,)); one = pl.BlockSpec((1,), lambda i: (i,));
    pl.pallas_call(lambda a, b: b.set(a[...].sum(), 0), out_shape=x[1:], grid=3, in_specs=[pairs], out_specs=one)(x)``
    is ``[1, 3, 5]``.
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Buffered:
    """How many buffers a pipeline keeps; XLA decides that itself.

    Args:
      buffer_count: number of buffers.
      use_lookahead: fetch blocks as early as buffers are free.
    Example: ``pl.Buffered(3).buffer_count`` is 3.
    """

    buffer_count: int
    use_lookahead: bool = False


BlockDimension = int | None | Squeezed | Blocked | Element
IndexMap = Callable[..., Any]


@bound_methods
class BlockSpec:
    """Which block of an array a program of the grid works on.

    Args:
      block_shape: for each dimension the length of blocks, None where the kernel sees one element without its dimension;
        None in place of the tuple: the whole array. Also ``Element``, ``Blocked``, ``Squeezed``.
      index_map: function of the program's indices in the grid that gives the block's index in each dimension; by default zeros.
      pipeline_mode: ``Buffered(n)``, without effect here.
      memory_space: where the block lies while the kernel runs.
    Both orders of the first two are understood: the index map first, as the first editions had it, or last.

    Example: ``pl.BlockSpec((128, 128), lambda i, j: (i, j))``.
    """

    def __init__(
        self, block_shape: Any = None, index_map: Any = None, pipeline_mode: Buffered | None = None, *,
        memory_space: MemorySpace | None = None,
    ) -> None:  # fmt: skip
        if callable(block_shape):
            block_shape, index_map = index_map, block_shape
        if index_map is not None and not callable(index_map):
            raise TypeError(f"BlockSpec: index_map must be a function, got {index_map!r}")
        self.block_shape: tuple[BlockDimension, ...] | None = None if block_shape is None else tuple(block_shape)
        for length in self.block_shape or ():
            _check_dimension(length)
        self.index_map: IndexMap | None = index_map
        self.pipeline_mode, self.memory_space = pipeline_mode, memory_space

    def __repr__(self) -> str:
        return f"BlockSpec({self.block_shape}, {self.index_map}, memory_space={self.memory_space})"

    def _key(self) -> tuple[Any, ...]:
        return self.block_shape, self.index_map, self.pipeline_mode, self.memory_space

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def replace(self, **changes: Any) -> BlockSpec:
        """The same with other attributes."""
        keys = ("block_shape", "index_map", "pipeline_mode", "memory_space")
        return BlockSpec(**{**{key: getattr(self, key) for key in keys}, **changes})


def _check_dimension(length: Any) -> None:
    if length is None or isinstance(length, Squeezed):
        return
    size = length.block_size if isinstance(length, Blocked | Element) else length
    if isinstance(size, bool) or not hasattr(size, "__index__") or size.__index__() < 1:
        raise ValueError(f"BlockSpec: block_shape must consist of positive integers and None, got {length!r}")


class NoBlockSpec:
    """The whole array, for each program."""

    def __repr__(self) -> str:
        return "no_block_spec"


no_block_spec = NoBlockSpec()


@dataclass(frozen=True)
class GridSpec:
    """A grid with the blocks of all operands.

    Args:
      grid: lengths of the grid's axes; a single number for one axis.
      in_specs, out_specs: pytrees of ``BlockSpec``, as for ``pallas_call``.
      scratch_shapes: memory of the kernel's own, as for ``pallas_call``.
    Example: ``pl.pallas_call(lambda o_ref: o_ref.set(x), out_shape=x, grid_spec=pl.GridSpec(grid=(2,)))()`` is ``x``.
    """

    grid: Any = ()
    in_specs: Any = no_block_spec
    out_specs: Any = no_block_spec
    scratch_shapes: Any = ()
    num_scalar_prefetch: int = field(default=0, init=False)


@bound_methods
class PrefetchScalarGridSpec(GridSpec):
    """A grid whose index maps also see the first operands.

    Args:
      num_scalar_prefetch: how many operands the kernel gets whole, before the others, and the index maps after the indices
        in the grid: references to arrays of integers, read as ``ref[i]``.
      grid: lengths of the grid's axes.
      in_specs: specifications of the other operands.
      out_specs: those of the results.
      scratch_shapes: memory of the kernel's own.
    Example: ``one = pl.BlockSpec((1,), lambda i, order: (order[i],));
    spec = pltpu.PrefetchScalarGridSpec(1, (4,), [one], pl.BlockSpec((1,), lambda i, order: (i,)));
    pl.pallas_call(lambda order, a, b: b.set(a[...]), out_shape=x, grid_spec=spec)(jnp.array([2, 0, 3, 1]), x)``
    is ``[2, 0, 3, 1]``.
    """

    def __init__(
        self, num_scalar_prefetch: int, grid: tuple[int, ...] = (), in_specs: Any = no_block_spec, out_specs: Any = no_block_spec,
        scratch_shapes: Any = (),
    ) -> None:  # fmt: skip
        super().__init__(grid, in_specs, out_specs, scratch_shapes)
        object.__setattr__(self, "num_scalar_prefetch", num_scalar_prefetch)


@dataclass(frozen=True)
class CostEstimate:
    """What a kernel costs, for the compiler's scheduler; without effect here.

    Args:
      flops: floating-point operations.
      transcendentals: of them, such as exp.
      bytes_accessed: bytes read and written.
      remote_bytes_transferred: bytes sent to other devices.
    Example: ``pl.CostEstimate(flops=100, transcendentals=0, bytes_accessed=800).flops`` is 100.
    """

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, int):
                raise ValueError(f"CostEstimate: {name} must be an int, got {shown(value)}")


class CompilerParams:
    """Settings of a compiler for kernels. XLA needs none: they are kept and have no effect.

    Args:
      settings: by name, such as ``dimension_semantics=("parallel", "arbitrary")``.
    Example: ``pltpu.CompilerParams(dimension_semantics=("parallel",)).dimension_semantics`` is ``("parallel",)``.
    """

    def __init__(self, **settings: Any):
        self.__dict__.update(settings)

    def __repr__(self) -> str:
        return f"CompilerParams({', '.join(f'{key}={value!r}' for key, value in vars(self).items())})"


def check_dimension_semantics(params: Any, axes: int) -> None:
    """Raise ValueError where settings speak of another number of axes of the grid, or say of one what does not exist."""
    if isinstance(params, Mapping):
        params = params.get("mosaic", params)
        semantics = params.get("dimension_semantics") if isinstance(params, Mapping) else None
    else:
        semantics = getattr(params, "dimension_semantics", None)
    if semantics is None:
        return
    known = ("parallel", "arbitrary", "core_parallel", "subcore_parallel")
    names = [getattr(value, "value", value) for value in semantics]
    if len(names) != axes or any(name not in known for name in names):
        raise ValueError(
            f"pallas_call: dimension_semantics must say 'parallel' or 'arbitrary' for each of the {axes} axes of the grid, "
            f"got {semantics!r}"
        )
