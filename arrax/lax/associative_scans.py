"""Prefixes under any associative operation, in logarithmically many steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from arrax.core.calls import check_callable
from arrax.core.lengths import is_symbolic
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import typeof
from arrax.lax.axis_order import rev
from arrax.lax.calls import call_apart
from arrax.lax.concatenation import concatenate
from arrax.lax.operand_checks import checked_operand
from arrax.lax.shape_arguments import canonical_axis
from arrax.lax.shapes import reshape
from arrax.lax.static_slicing import slice_in_dim
from arrax.xla.arrays import ArrayLike

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

Elements = TypeVar("Elements")

# Entries from which on a level is kept apart from others: in one loop over several, an element would be computed anew from
# the operands of the first for each. A matter of the length alone, so that a row gives the same bits in every batch.
LEVEL_MIN_LENGTH = 32


def prefixes(fn: Callable[..., Sequence[Any]], elems: Sequence[Any], axis: int) -> list[Any]:
    """Prefixes of flat arrays: combine neighbours, take the prefixes of the pairs, fill in the places between them."""
    length = typeof(elems[0]).shape[axis]
    if length < 2:
        return list(elems)
    count = len(elems)

    def neighbours(*elems: ArrayLike) -> Sequence[Any]:
        left = [slice_in_dim(x, 0, length - length % 2, 2, axis) for x in elems]
        right = [slice_in_dim(x, 1, None, 2, axis) for x in elems]
        return fn(*left, *right)

    def between(*values: Any) -> Sequence[Any]:
        elems, odd = values[:count], values[count:]
        even = [slice_in_dim(x, 0, 1, 1, axis) for x in elems]
        later = (length - 1) // 2  # how many places 2, 4, … there are
        if later:
            before = [slice_in_dim(x, 0, later, 1, axis) for x in odd]
            filled = fn(*before, *[slice_in_dim(x, 2, None, 2, axis) for x in elems])
            even = [concatenate([first, x], axis) for first, x in zip(even, filled, strict=True)]
        return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]

    call = call_apart if length >= LEVEL_MIN_LENGTH else lambda function, *args: function(*args)
    odd = prefixes(fn, call(neighbours, *elems), axis)  # those that end at 1, 3, 5, …
    return list(call(between, *elems, *odd))


def _interleave(even: Array, odd: Array, axis: int) -> Array:
    """Entries of two arrays in turn, beginning with ``even``, which may have one more."""
    shape = typeof(odd).shape
    pairs, split = shape[axis], (*shape[: axis + 1], 1, *shape[axis + 1 :])
    columns = [reshape(slice_in_dim(even, 0, pairs, 1, axis), split), reshape(odd, split)]
    joined = reshape(concatenate(columns, axis + 1), (*shape[:axis], 2 * pairs, *shape[axis + 1 :]))
    if typeof(even).shape[axis] == pairs:
        return joined
    return concatenate([joined, slice_in_dim(even, pairs, None, 1, axis)], axis)


def associative_scan(fn: Callable[..., Any], elems: Elements, reverse: bool = False, axis: int = 0) -> Elements:
    """All prefixes of a sequence under an associative operation, computed in parallel.

    ``result[i] = fn(…fn(fn(elems[0], elems[1]), elems[2])…, elems[i])``, in about 2 log2(n) calls on arrays.

    Args:
      fn: function of two pytrees with the structure of ``elems``, of arrays whose length along ``axis`` varies; it acts
        on each entry alone and is associative.
      elems: pytree of arrays of equal length along ``axis``.
      reverse: go from the end to the beginning: ``fn`` takes what stands later first.
      axis: the axis along which the entries lie.
    Returns: pytree of arrays like ``elems``.
    Raises:
      TypeError: ``fn`` is not callable, or gives values of other shapes than its arguments.
      ValueError: no such axis, or lengths that differ.
      NotImplementedError: a length that is a symbolic dimension.
    Example: ``lax.associative_scan(lax.add, jnp.arange(4))`` is ``[0, 1, 3, 6]``.
    """
    check_callable(fn)
    leaves, tree = tree_flatten(elems)
    if not leaves:
        return elems
    leaves = [checked_operand("associative_scan", leaf) for leaf in leaves]
    shapes = [typeof(leaf).shape for leaf in leaves]
    index = canonical_axis(axis, len(shapes[0]))
    if any(len(shape) <= index or shape[index] != shapes[0][index] for shape in shapes):
        where = f"axis {axis}" if axis else "the first dimension"
        raise ValueError(f"associative_scan requires arrays of equal length along {where}, got shapes {shapes}")
    if is_symbolic(shapes[0][index]):
        raise NotImplementedError(
            f"associative_scan: how many steps are taken depends on the length of axis {index}, {shapes[0][index]}, a symbolic "
            "dimension; lax.scan takes one step after the other"
        )

    def flat(*values: Array) -> list[Any]:
        first, second = values[: len(leaves)], values[len(leaves) :]
        outs = tree_flatten(fn(tree_unflatten(tree, first), tree_unflatten(tree, second)))[0]
        wanted, found = ([typeof(x).shape for x in each] for each in (first, outs))
        if wanted != found:
            raise TypeError(f"associative_scan: fn must keep the shapes of its arguments, {wanted}, but gave {found}")
        return outs

    if reverse:
        leaves = [rev(leaf, (index,)) for leaf in leaves]
    outs = prefixes(flat, leaves, index)
    return tree_unflatten(tree, [rev(out, (index,)) for out in outs] if reverse else outs)
