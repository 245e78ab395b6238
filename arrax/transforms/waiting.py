"""Waiting for computations that run in the background."""

from __future__ import annotations

from typing import Any

from arrax.core.pytrees import tree_leaves
from arrax.native import runtime
from arrax.xla.annotations import Tree
from arrax.xla.devices import client_of
from arrax.xla.effect_tokens import pending

ArrayImpl = runtime.ArrayImpl


def block_until_ready(x: Tree) -> Tree:
    """Wait for all arrays in a pytree.

    Args:
      x: pytree; leaves that are not arrays are passed over.
    Returns: ``x``.
    Example: ``arrax.block_until_ready(jnp.ones(3))``.
    """
    if type(x) is ArrayImpl:  # of which programs usually wait
        return x.block_until_ready()  # type: ignore[attr-defined]
    leaves = tree_leaves(x)
    arrays = [leaf for leaf in leaves if type(leaf) is ArrayImpl]
    runtime.batched_block_until_ready(arrays)
    if len(arrays) < len(leaves):
        for leaf in leaves:
            wait = None if type(leaf) is ArrayImpl else getattr(leaf, "block_until_ready", None)
            if wait is not None:
                wait()
    return x


def copy_to_host_async(x: Tree) -> Tree:
    """Begin to copy all arrays in a pytree to the host, without waiting: to look at them then takes no longer than needed.

    Args:
      x: pytree; leaves that are not arrays are passed over.
    Returns: ``x``.
    Example: ``float(arrax.copy_to_host_async({'loss': y})['loss'])`` is 2.0.
    """
    for leaf in tree_leaves(x):
        copy = getattr(leaf, "copy_to_host_async", None)
        if copy is not None:
            copy()
    return x


def effects_barrier() -> None:
    """Wait for all side effects of computations that were started.

    Raises:
      RuntimeError: a function that was called on the host has failed.
    Example: ``arrax.effects_barrier()``.
    """
    pending.wait_for_all()
    for array in client_of().live_arrays():
        if not array.is_deleted():
            array.block_until_ready()


def live_arrays(platform: str | None = None) -> list[Any]:
    """All arrays of a platform that still exist.

    Example: ``len(arrax.live_arrays())``.
    """
    return [array for array in client_of(platform).live_arrays() if isinstance(array, runtime.ArrayImpl)]
