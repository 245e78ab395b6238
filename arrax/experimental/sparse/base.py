"""What all sparse arrays have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import arrax.numpy as jnp
from arrax.core.pytrees import tree_leaves
from arrax.core.types import typeof
from arrax.xla.arrays import Array

Count = int | None
Text = str | None


class SparseEfficiencyWarning(UserWarning):
    """A sparse operation that takes more time or memory than a dense one would."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A sparse operation that a GPU's library does not serve."""


class SparseEfficiencyError(ValueError):
    """A sparse operation that would take more memory than a dense one, and was not asked to."""


class JAXSparse:
    """An array of which only some elements are stored; the others are zero.

    Operators between sparse arrays, and of these with dense ones, are those of ``sparsify``.

    Args:
      args: the arrays that hold it.
      shape: its lengths.
    """

    data: Array
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # NumPy's operators leave it to ours

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]):
        self._shape = tuple(map(int, shape))

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

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a sparse array without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        try:
            text = ", ".join([f"nse={self.nse}", *self._layout_texts()])
            return f"{type(self).__name__}({self.dtype.name}{list(self.shape)}, {text})"
        except (AttributeError, TypeError, ValueError):  # its parts are no arrays: it is a tree of something else
            return f"{type(self).__name__}(<invalid>)"

    def _layout_texts(self) -> list[str]:
        return []


def check_vector_or_matrix(name: str, other: Any) -> Any:
    """A dense operand of a product.

    Raises:
      TypeError: it has neither one dimension nor two.
    """
    value = jnp.asarray(other)
    if typeof(value).ndim not in (1, 2):
        raise TypeError(f"{name}: the operand must be a vector or a matrix, got shape {value.shape}")
    return value


def todense(arr: Any) -> Any:
    """The dense array of a sparse one; a dense one as it is.

    Args:
      arr: array or sparse array.
    Example: ``todense(BCOO.fromdense(jnp.eye(3)))`` is ``jnp.eye(3)``.
    """
    return arr.todense() if isinstance(arr, JAXSparse) else arr
