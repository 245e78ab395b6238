"""What all sparse arrays have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

import arrax.numpy as jnp
from arrax import dtypes
from arrax.core.pytrees import tree_leaves
from arrax.core.tracebacks import bound_methods, boundary
from arrax.core.types import typeof
from arrax.xla.arrays import Array, ArrayLike

Count = int | None
Text = str | None


class SparseEfficiencyWarning(UserWarning):
    """A sparse operation that takes more time or memory than a dense one would.

    Example: ``import warnings; warnings.simplefilter('ignore', SparseEfficiencyWarning)``.
    """


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A sparse operation that a GPU's library does not serve.

    Example: ``issubclass(CuSparseEfficiencyWarning, SparseEfficiencyWarning)`` is True.
    """


class SparseEfficiencyError(ValueError):
    """A sparse operation that would take more memory than a dense one, and was not asked to.

    Example: ``from arrax.experimental.sparse import BCOO, bcoo_update_layout;
    mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_update_layout(mat, n_batch=1)`` raises ``arrax.experimental.sparse.SparseEfficiencyError``.
    """


@bound_methods
class JAXSparse:
    """An array of which only some elements are stored; the others are zero.

    Operators between sparse arrays, and of these with dense ones, are those of ``sparsify``.

    Args:
      args: the arrays that hold it.
      shape: its lengths.
    Example: ``from arrax.experimental.sparse import BCOO; mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    isinstance(mat, JAXSparse), mat.shape`` is ``(True, (2, 2))``.
    """

    data: Array
    _parts: ClassVar[tuple[str, ...]]  # the attributes that are arrays, in the order of ``args``
    _statics: ClassVar[tuple[str, ...]] = ("_shape",)  # the attributes that trees keep beside them
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # NumPy's operators leave it to ours

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]) -> None:
        self._shape = tuple(map(int, shape))

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The arrays that hold it, and what is static."""
        return tuple(getattr(self, name) for name in self._parts), tuple(getattr(self, name) for name in self._statics)

    @classmethod
    def tree_unflatten(cls, aux_data: tuple[Any, ...], children: Sequence[Any]) -> Self:
        """The array of ``tree_flatten``."""
        made = object.__new__(cls)
        for name, value in zip((*cls._parts, *cls._statics), (*children, *aux_data), strict=True):
            setattr(made, name, value)
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        """Tuple of lengths."""
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        """The elements' dtype."""
        return self.data.dtype

    @property
    def size(self) -> int:
        """The number of elements, zeros included."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def nse(self) -> int:
        """The number of specified elements: those that are stored."""
        raise NotImplementedError(f"{type(self).__name__}.nse")

    def todense(self) -> Array:
        """The dense array."""
        raise NotImplementedError(f"{type(self).__name__}.todense")

    def transpose(self, axes: Any = None) -> Any:
        """The array with its axes in another order."""
        raise NotImplementedError(f"{type(self).__name__}.transpose")

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order."""
        return self.transpose()

    def block_until_ready(self) -> Any:
        """Wait until what it holds is computed; the array itself."""
        for leaf in tree_leaves(self):
            leaf.block_until_ready()
        return self

    @boundary
    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a sparse array without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        try:
            text = ", ".join([f"nse={self.nse}", *self._layout_texts()])
            return f"{type(self).__name__}({self.dtype.name}{list(self.shape)}, {text})"
        except (AttributeError, TypeError, ValueError):  # its parts are not arrays: it is a tree of something else
            return f"{type(self).__name__}(<invalid>)"

    def _layout_texts(self) -> list[str]:
        return []


@bound_methods
class Batches(JAXSparse):
    """What ``BCOO`` and ``BCSR`` share: leading dimensions of a batch, and trailing dense ones.

    Trees are not told the dimensions of the batch: ``vmap`` and ``scan`` take them off the arrays, and put them back.
    """

    indices: Array
    indices_sorted: bool
    unique_indices: bool
    _row_shape: tuple[int, ...]  # the lengths of all dimensions but those of the batch
    _statics = ("_row_shape", "indices_sorted", "unique_indices")

    @property
    def n_batch(self) -> int:
        """The number of batch dimensions."""
        raise NotImplementedError(f"{type(self).__name__}.n_batch")

    @property
    def n_dense(self) -> int:
        """The number of dense dimensions."""
        return self.data.ndim - 1 - self.n_batch

    def _layout_texts(self) -> list[str]:
        counts = {"n_batch": self.n_batch, "n_dense": self.n_dense}
        return [f"{name}={count}" for name, count in counts.items() if count]


def index_type(name: str, index_dtype: Any) -> np.dtype:
    """The dtype of indices, by default of 32 bits.

    Raises:
      TypeError: not one of integers, naming the function.
    """
    found = dtypes.canonicalize_dtype(np.int32 if index_dtype is None else index_dtype)
    if not dtypes.is_integer(found):
        raise TypeError(f"{name}: the indices must have an integer type, got {found}")
    return found


def check_vector_or_matrix(name: str, other: ArrayLike) -> Array:
    """A dense operand of a product.

    Raises:
      TypeError: it has neither one dimension nor two.
    """
    value = jnp.asarray(other)
    if typeof(value).ndim not in (1, 2):
        raise TypeError(f"{name}: the operand must be a vector or a matrix, got shape {value.shape}")
    return value
