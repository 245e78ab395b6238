"""``ravel_pytree``: a pytree of arrays as one vector, and back."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import typeof
from arrax.lax.conversion import convert
from arrax.lax.shapes import full, reshape
from arrax.lax.structure import concatenate, slice_in_dim


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
        return full((0,), 0.0, np.float32), lambda vector: tree_unflatten(tree, [])
    avals = [typeof(leaf) for leaf in leaves]
    dtype = dtypes.result_type(*[aval.dtype for aval in avals])
    parts = [reshape(convert(leaf, dtype), (aval.size,)) for leaf, aval in zip(leaves, avals, strict=True)]
    vector = concatenate(parts, 0)
    ends = np.cumsum([math.prod(aval.shape) for aval in avals])

    def unravel(flat: Any) -> Any:
        given = typeof(flat)
        if given.shape != (int(ends[-1]),):
            raise ValueError(f"unravel function expected a vector of length {int(ends[-1])}, got shape {given.shape}")
        if given.dtype != dtype and any(aval.dtype != dtype for aval in avals):
            raise TypeError(f"unravel function given array of dtype {given.dtype}, but expected dtype {dtype}")
        pieces = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for start, end, aval in zip([0, *ends[:-1]], ends, avals, strict=True):
                piece = reshape(slice_in_dim(flat, int(start), int(end)), aval.shape)
                pieces.append(convert(piece, given.dtype if aval.dtype == dtype else aval.dtype))
        return tree_unflatten(tree, pieces)

    return vector, unravel
