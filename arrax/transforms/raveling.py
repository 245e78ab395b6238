"""``ravel_pytree``: a pytree of arrays as one vector, and back."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from arrax.core.tracebacks import bound_methods
from arrax.core.types import typeof
from arrax.lax.concatenation import concatenate
from arrax.lax.conversion import convert
from arrax.lax.filled_arrays import full
from arrax.lax.shapes import reshape
from arrax.lax.static_slicing import slice_in_dim
from arrax.xla.arrays import Array


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All elements of a pytree of arrays as one vector, and the function that brings them back.

    Args:
      pytree: arrays and numbers.
    Returns: ``(vector, unravel)``; ``unravel`` takes a vector of the same length.
    Raises:
      ValueError: ``unravel`` called with another shape.
    Example: ``flat, back = ravel_pytree({"a": jnp.ones(2), "b": 3.})``.
    """
    leaves, tree = tree_flatten(pytree)
    if not leaves:
        return full((0,), 0.0, np.float32), Unravel(tree, (), np.dtype(np.float32))
    avals = [typeof(leaf) for leaf in leaves]
    dtype = dtypes.result_type(*[aval.dtype for aval in avals])
    weak = all(aval.weak_type and aval.dtype == dtype for aval in avals)
    parts = [reshape(convert(leaf, dtype, weak), (aval.size,)) for leaf, aval in zip(leaves, avals, strict=True)]
    vector = concatenate(parts, 0)
    return vector, Unravel(tree, tuple((aval.shape, aval.dtype, aval.weak_type) for aval in avals), dtype)


@bound_methods
class Unravel:
    """What brings the elements of a vector back into a pytree. Two of equal structures are equal, and hash alike."""

    __slots__ = ("tree", "types", "dtype")

    def __init__(self, tree: PyTreeDef, types: tuple[tuple[Any, ...], ...], dtype: np.dtype) -> None:
        self.tree, self.types, self.dtype = tree, types, dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unravel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.tree, self.types, self.dtype

    def __call__(self, flat: Array) -> Any:
        given = typeof(flat)
        ends = np.cumsum([0, *(math.prod(shape) for shape, _, _ in self.types)]).tolist()
        if given.shape != (ends[-1],):
            raise ValueError(f"unravel function expected a vector of length {ends[-1]}, got shape {given.shape}")
        if given.dtype != self.dtype and any(dtype != self.dtype for _, dtype, _ in self.types):
            raise TypeError(f"unravel function given array of dtype {given.dtype}, but expected dtype {self.dtype}")
        pieces = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for start, end, (shape, dtype, weak) in zip(ends, ends[1:], self.types, strict=False):
                piece = reshape(slice_in_dim(flat, start, end), shape)
                wanted = given.dtype if dtype == self.dtype else dtype
                pieces.append(convert(piece, wanted, weak and given.weak_type))
        return tree_unflatten(self.tree, pieces)
