"""What private names that libraries look up stand for where arrax has no such thing."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from arrax.core.errors import user_frames
from arrax.core.interpreter import Interpreter, context
from arrax.core.meshes import mesh_state
from arrax.core.partition_specs import PartitionSpec, spec_names
from arrax.dtypes import DTypeLike
from arrax.experimental.pallas.programs import store
from arrax.lax.ragged_products import ragged_dot
from arrax.native.runtime import NamedSharding, Traceback
from arrax.numpy_api import operands
from arrax.numpy_api.accumulations import cumsum
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.joining import concatenate
from arrax.numpy_api.selection import where
from arrax.xla.arrays import Array, ArrayLike, OptionalArray
from arrax.xla.meshes import Mesh, empty_mesh, physical_mesh

DimSize = int | Any  # types of annotations: lengths may be symbolic
Shape = Sequence[DimSize]


class TypedNdArray:
    """Constants of traced programs are plain arrays in arrax: nothing is an instance of this class."""


class _Typed:
    """A number of Python that says its dtype. Those in traced programs are plain ones: only libraries make such."""

    dtype: np.dtype[Any]

    def __new__(cls, value: complex, dtype: np.dtype[Any]) -> Self:
        number = super().__new__(cls, value)  # type: ignore[call-arg]
        number.dtype = dtype
        return number


class TypedInt(_Typed, int):
    """An integer with a dtype."""


class TypedFloat(_Typed, float):
    """A fraction with a dtype."""


class TypedComplex(_Typed, complex):
    """A complex number with a dtype."""


class _TraceContext:
    """What a thread traces."""

    @property
    def trace(self) -> Interpreter:
        """The current interpreter."""
        return context.interpreter

    def is_top_level(self) -> bool:
        """Whether operations are evaluated."""
        return context.interpreter.is_evaluation


trace_ctx = _TraceContext()
registered: set[Any] = set()  # what libraries say of their primitives and arrax need not know


def register_decorator(cls: type) -> type:
    """Tell that a class is a decorator with rules: arrax asks no decorator for that."""
    return cls


class SupportsDType(Protocol):
    """What has a dtype, such as ``jnp.float32``: a type of annotations."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        ...


class JaxprEqnContext:
    """Settings of an operation that is recorded: operations of arrax hold theirs as parameters."""


class Frame(NamedTuple):
    """A place in a program's source, from where an operation starts to where it ends."""

    file_name: str
    function_name: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int


def user_frame(traceback: Traceback | None) -> Frame | None:
    """The user's innermost line of a recorded traceback, which says no columns; None where there is none."""
    for frame in user_frames(traceback, 1):
        return Frame(frame.file_name, frame.function_name, frame.line_num, 0, frame.line_num, 0)
    return None


def definitely_equal_shape(s1: Shape, s2: Shape) -> bool:
    """Whether shapes are equal for all values of symbolic lengths."""
    return tuple(s1) == tuple(s2)


def full_lower(value: Any) -> Any:
    """A value without the layers of transformations that it does not depend on: values of arrax have none."""
    return value


def make_iota(size: int) -> np.ndarray:
    """The numbers of the elements of a batch."""
    return np.arange(size, dtype=np.int32)


class _Resources(NamedTuple):
    """What ``with mesh:`` gives to a thread."""

    physical_mesh: Mesh


class _ThreadResources:
    """The mesh that is in force in a thread."""

    @property
    def env(self) -> _Resources:
        """The mesh; an empty one where there is none."""
        return _Resources(physical_mesh() or empty_mesh)


thread_resources = _ThreadResources()


poly_einsum_handlers: dict[type, Any] = {}
"""Formulas over symbolic lengths are planned like others: no class of lengths has a function of its own."""


def gmm(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
    tiling: Any = None,
    group_offset: OptionalArray = None,
    existing_out: OptionalArray = None,
    transpose_rhs: bool = False,
    interpret: bool = False,
) -> Array:
    """Products of groups of rows, which a kernel for TPUs makes elsewhere; here ``lax.ragged_dot`` does on every platform.

    Args:
      lhs: array of shape ``(m, k)``. rhs: ``(groups, k, n)``, or ``(groups, n, k)`` where it is to be transposed.
      group_sizes: how many rows of ``lhs`` belong to each group.
      group_offset: the group of the first matrix of ``rhs``, which need not have all.
      existing_out: array of shape ``(m, n)`` that has the rows of the other groups.
      tiling, interpret: have no effect.
    """
    matrices = asarray(rhs).mT if transpose_rhs else asarray(rhs)
    offset = None if group_offset is None else asarray(group_offset).reshape(1)
    product = ragged_dot(lhs, matrices, group_sizes, None, preferred_element_type, offset)
    if existing_out is None:
        return product
    first = 0 if offset is None else offset[0]
    ends = cumsum(concatenate([np.zeros(1, np.int32), asarray(group_sizes)]))
    rows = np.arange(product.shape[0], dtype=np.int32)
    here = (rows >= ends[first]) & (rows < ends[first + matrices.shape[0]])
    return where(here[:, None], product, existing_out)


def canonicalize_sharding(sharding: Any, api_name: str, check_mesh_consistency: bool = True) -> Any:
    """How a value is to lie over explicit axes of a mesh, on the mesh's description; None where nothing is asked.

    Args:
      sharding: NamedSharding, PartitionSpec (of the mesh in force) or None.
      api_name: the function that was asked, for messages.
      check_mesh_consistency: has no effect: meshes are compared where the sharding is used.
    Raises:
      TypeError: something else.
      ValueError: a spec without a mesh in force, or with axes that are not explicit.
    """
    if sharding is None:
        return None
    if isinstance(sharding, PartitionSpec):
        mesh = mesh_state().abstract
        if mesh.empty:
            raise ValueError(f"{api_name}: the spec {sharding} needs a mesh in force, such as `set_mesh` gives")
        sharding = NamedSharding(mesh, sharding)
    if not isinstance(sharding, NamedSharding):
        raise TypeError(
            f"{api_name}: expected a NamedSharding or a PartitionSpec, got {sharding!r} of {type(sharding)}"
        )
    if sharding.mesh.empty:
        return None
    unfit = [name for name in spec_names(sharding.spec) if name not in sharding.mesh.explicit_axes]
    if unfit:
        raise ValueError(f"{api_name}: {sharding.spec} names axes of the mesh that are not explicit: {unfit}")
    return NamedSharding(sharding.mesh.abstract_mesh, sharding.spec)


def promote_dtypes_inexact(*values: Any) -> list[Array]:
    """Operands as arrays of their common floating (or complex) dtype."""
    return [asarray(value) for value in operands.promote_inexact(*values)]


def promote_dtypes_complex(*values: Any) -> list[Array]:
    """Operands as arrays of their common complex dtype."""
    return [asarray(value) for value in operands.promote_complex(*values)]


def supports_inf(dtype: Any) -> bool:
    """Whether a floating dtype has infinities; some of 8 bits have none."""
    return bool(np.isinf(np.asarray(np.inf).astype(np.dtype(dtype)).astype(np.float64)))


def store_all(ref: Any, val: ArrayLike, *, mask: OptionalArray = None, eviction_policy: str | None = None) -> None:
    """``pl.store`` of a whole view, as kernels for GPUs write it."""
    store(ref, (), val, mask=mask)
