"""``map``: apply a function to each element in turn, or to batches of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from arrax.core.argument_values import flatten_values
from arrax.core.calls import as_index, check_callable
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import typeof
from arrax.interpreters.batching import batch, move_batch_axis
from arrax.lax.concatenation import concatenate
from arrax.lax.control_flow.scans import scan_of
from arrax.lax.shapes import reshape
from arrax.lax.static_slicing import slice_in_dim

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

Stacked = TypeVar("Stacked")
_ELEMENT = [(1,)]  # of (carry, element), what a step takes


def map(f: Callable[[Any], Stacked], xs: Any, *, batch_size: int | None = None) -> Stacked:
    """Apply ``f`` to each element of ``xs`` along their leading axis, one after the other, and stack the results.

    Takes less memory than ``vmap``, and more time.

    Args:
      f: function of one element, an array or a pytree of them.
      xs: arrays or a pytree of them with leading axes of one length.
      batch_size: apply ``f`` to so many elements at a time, as ``vmap`` does; one after the other for None and 0.
    Returns: the stacked results.
    Raises:
      ValueError: lengths that differ, or a ``batch_size`` that is not positive.
    Example: ``lax.map(lambda x: x * x, jnp.arange(3))`` is ``[0, 1, 4]``.
    """
    check_callable(f)
    batch_size = 0 if batch_size is None else as_index(batch_size)
    if batch_size == 0:
        return scan_of("map", lambda _, x: ((), f(x)), (), xs, None, user=f, places=_ELEMENT)[1]
    if batch_size < 1:
        raise ValueError(f"lax.map: batch_size must be positive, got {batch_size}")
    leaves, tree = flatten_values(xs)
    length = typeof(leaves[0]).shape[0] if leaves else 0
    whole = length - length % batch_size
    many = _Batched(f)
    results = []
    if whole or not length:
        rows = [_rows(slice_in_dim(x, 0, whole) if whole < length else x, batch_size) for x in leaves]
        step, xs = (lambda _, x: ((), many(x))), tree_unflatten(tree, rows)
        stacked = scan_of("map", step, (), xs, None, user=f, places=_ELEMENT)[1]
        results.append([_flat(y) for y in tree_flatten(stacked)[0]])
        out_tree = tree_flatten(stacked)[1]
    if whole < length:
        last, out_tree = tree_flatten(many(tree_unflatten(tree, [slice_in_dim(x, whole, length) for x in leaves])))
        results.append(last)
    columns = zip(*results, strict=True)
    return tree_unflatten(out_tree, [pieces[0] if len(pieces) == 1 else concatenate(pieces, 0) for pieces in columns])


def _rows(x: Array, width: int) -> Array:
    shape = typeof(x).shape
    return reshape(x, (shape[0] // width, width, *shape[1:]))


def _flat(y: Array) -> Array:
    shape = typeof(y).shape
    return reshape(y, (shape[0] * shape[1], *shape[2:]))


class _Batched:
    """A function of pytrees over a batch along the leading axes of its argument and result."""

    __slots__ = ("fun",)

    def __init__(self, fun: Callable) -> None:
        self.fun = fun

    def __call__(self, xs: Any) -> Any:
        leaves, tree = flatten_values(xs)
        size = typeof(leaves[0]).shape[0]
        out_tree: Any = None

        def flat(*elements: Array) -> list[Any]:
            nonlocal out_tree
            outs, out_tree = tree_flatten(self.fun(tree_unflatten(tree, elements)))
            return outs

        outs, dims = batch(flat, leaves, [0] * len(leaves))
        return tree_unflatten(out_tree, [move_batch_axis(y, dim, size, 0) for y, dim in zip(outs, dims, strict=True)])
