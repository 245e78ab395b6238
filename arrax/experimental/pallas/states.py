"""Memory outside of kernels: arrays that nobody has written to, and functions of references as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax import numpy as jnp
from arrax.core.calls import check_callable
from arrax.core.pytrees import tree_flatten, tree_structure, tree_unflatten
from arrax.dtypes import DTypeLike
from arrax.experimental.pallas.blocks import beginning, nothing
from arrax.numpy_api.references import Ref, freeze, new_ref
from arrax.xla.arrays import Array
from arrax.xla.shardings import Sharding


def run_state(f: Callable[..., Any]) -> Callable[[Any], Any]:
    """The function of arrays that a function of references is: what these hold in the end, from what they hold at first.

    Args:
      f: function of a pytree of references, which it reads and writes; it returns nothing.
    Returns: function of a pytree of arrays, that can be transformed and compiled.
    Raises: ValueError for a function that returns something.
    Example: ``pl.run_state(lambda ref: ref.set(2 * ref[...]))(x)`` is ``2 * x``.
    """
    check_callable(f)

    def run(init: Any) -> Any:
        leaves, tree = tree_flatten(init)
        refs = [new_ref(jnp.asarray(leaf)) for leaf in leaves]
        returned = f(tree_unflatten(tree, refs))
        if returned is not None:
            raise ValueError(f"run_state: the function must return nothing, got {tree_structure(returned)}")
        return tree_unflatten(tree, [freeze(ref) for ref in refs])

    return run


def empty(shape: Sequence[int], dtype: DTypeLike, *, out_sharding: Sharding | None = None) -> Array:
    """An array that nobody has written to: NaN, or the least integer.

    Args:
      shape: its lengths.
      dtype: of its elements.
      out_sharding: how it lies; None where that does not matter.
    Example: ``pl.empty((2, 3), jnp.int32).shape`` is ``(2, 3)``.
    """
    array = nothing(tuple(shape), np.dtype(dtypes.canonicalize_dtype(dtype)))
    return array if out_sharding is None else jnp.array(array, device=out_sharding)


def empty_ref_like(x: Any) -> Ref:
    """A reference to memory that nobody has written to.

    Args:
      x: object with shape and dtype, such as ``pltpu.VMEM((8,), jnp.float32)`` or an array.
    Example: ``pl.empty_ref_like(x).shape`` is ``(4,)``.
    """
    return new_ref(beginning(x))
