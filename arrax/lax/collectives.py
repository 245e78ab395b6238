"""Parallel operators: sums, permutations and exchanges over a named axis, of ``vmap`` or of a device mesh."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, as_indices
from arrax.core.interpreter import Primitive
from arrax.core.named_axes import axis_size as size_of_axis
from arrax.core.named_axes import known_index
from arrax.core.pytrees import tree_leaves, tree_map
from arrax.core.types import typeof
from arrax.lax.arithmetic import add, div, mul, scalar
from arrax.lax.collective_gathers import all_to_all_p, reduce_scatter_p
from arrax.lax.collective_rules import (
    AxisName,
    Groups,
    axis_index_p,
    declare_varying,
    names_of,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_invariant_p,
    psum_p,
    tracked_axes,
)
from arrax.lax.conversion import convert
from arrax.lax.filled_arrays import full_like
from arrax.lax.operand_checks import checked_operand
from arrax.lax.reductions import reduce_max, reduce_min, reduce_sum
from arrax.xla.annotations import Tree
from arrax.xla.arrays import Array, ArrayLike

_CONSTANTS: Any = (bool, int, float, complex, np.ndarray, np.generic)


def axis_size(axis_name: AxisName) -> int:
    """The length of a named axis (the product for several), as a Python int.

    Args:
      axis_name: name of the axis, or a tuple of names.
    Raises:
      NameError: no such axis is in scope.
    Example: ``vmap(lambda x: x / lax.axis_size("i"), axis_name="i")``.
    """
    return math.prod(size_of_axis(name) for name in names_of(axis_name))


def checked_groups(axis_name: AxisName, groups: Groups) -> tuple[tuple[int, ...], ...] | None:
    if groups is None:
        return None
    result = tuple(map(as_indices, groups))
    size = axis_size(axis_name)
    if sorted(index for group in result for index in group) != list(range(size)):
        raise ValueError(
            f"axis_index_groups must cover all indices of an axis of size {size} exactly once, got {groups}"
        )
    return result


def group_size(axis_name: AxisName, groups: Groups) -> int:
    if groups is None:
        return axis_size(axis_name)
    sizes = {len(group) for group in groups}
    if len(sizes) > 1:
        raise ValueError(f"axis_index_groups must be of one size here, got {groups}")
    return sizes.pop()


def _some_names(function: str, axis_name: AxisName) -> tuple[Any, ...]:
    """The names of axes along which values move.

    Raises:
      ValueError: no name.
    """
    names = names_of(axis_name)
    if not names:
        raise ValueError(f"{function}: axis_name must name an axis, got {axis_name}")
    return names


def _distinct_names(function: str, axis_name: AxisName) -> tuple[Any, ...]:
    """The names of axes to reduce over.

    Raises:
      ValueError: a name that repeats.
    """
    names = names_of(axis_name)
    if len(set(names)) < len(names):
        raise ValueError(f"{function}: the names of the axes must differ, got {names}")
    return names


def _by_kind(axis_name: AxisName) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The names among the axes to reduce over, and the others, which are counted from 0: those of the operands."""
    axes = names_of(axis_name)
    return tuple(a for a in axes if type(a) is not int), tuple(a for a in axes if type(a) is int)


def _over_own(function: str, reduction: Callable[..., Array], leaf: Any, axes: tuple[int, ...]) -> Any:
    """A value reduced over axes of its own."""
    if not axes:
        return leaf
    leaf = _numbers(function, leaf)
    if dtypes.is_bool(typeof(leaf).dtype) and reduction is reduce_sum:
        leaf = convert(leaf, np.int32)
    return reduction(leaf, [checked_axis(function, axis, typeof(leaf).ndim) for axis in axes])


def _numbers(function: str, leaf: ArrayLike) -> Array:
    """An operand that can be reduced.

    Raises:
      TypeError: keys and the like, which are not to be added or compared.
    """
    leaf = checked_operand(function, leaf)
    dtype = typeof(leaf).dtype
    if dtypes.is_extended(dtype):
        raise TypeError(f"{function} does not accept dtype {dtype.name}: it reduces numbers")
    return leaf


def psum(x: Tree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Tree:
    """The sum over a named axis: all examples get it.

    Args:
      x: array or pytree of them; Python multiplies constants by the axis size: ``psum(1, name)`` is an int.
      axis_name: name of the axis, or a tuple of names; integers are axes of ``x``.
      axis_index_groups: lists of indices, each of which is summed for itself.
    Returns: pytree of ``x``'s structure.
    Raises:
      NameError: no such axis is in scope.
      ValueError: a name that repeats, or groups that don't cover the axis once.
    Example: ``vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.arange(4.))``.
    """
    names, own = _by_kind(axis_name)
    groups = checked_groups(names, axis_index_groups)
    size = axis_size(names)
    axes = _distinct_names("psum", names)

    def of(leaf: ArrayLike) -> Array:
        leaf = _over_own("psum", reduce_sum, leaf, own)
        if isinstance(leaf, _CONSTANTS):
            return leaf * group_size(names, groups)
        leaf = _numbers("psum", leaf)
        if dtypes.is_bool(typeof(leaf).dtype):
            leaf = convert(leaf, np.int32)
        if not axes or not size:
            return leaf
        primitive = psum_invariant_p if groups is None and tracked_axes().intersection(axes) else psum_p
        return primitive.bind(leaf, axes=axes, axis_index_groups=groups)

    return tree_map(of, x)


def pmean(x: Tree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Tree:
    """The mean over a named axis; integers give floats.

    Args:
      x: array, or pytree of arrays: the value of this example.
      axis_name: name of the axis, or a tuple of names; integers are axes of ``x``.
      axis_index_groups: lists of indices along the axis, each of which makes a group of its own.
    Example: ``vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(jnp.arange(4.))``.
    """
    names, own = _by_kind(axis_name)
    groups = checked_groups(names, axis_index_groups)
    uneven = groups is not None and len(set(map(len, groups))) > 1
    size = None if uneven else group_size(names, groups)

    def of(leaf: Array) -> Array:
        shape = typeof(leaf).shape if own else ()
        count = math.prod(shape[checked_axis("pmean", axis, len(shape))] for axis in own)
        total = psum(leaf, axis_name, axis_index_groups=axis_index_groups)
        if isinstance(total, _CONSTANTS):
            return total / (size * count)
        total = convert(total, dtypes.to_inexact_dtype(typeof(total).dtype), typeof(total).weak_type)
        if size is None:  # which differs from group to group
            return div(total, psum(full_like(total, count), names, axis_index_groups=groups))
        return div(total, scalar(size * count, total))

    return tree_map(of, x)


def _minmax(primitive: Primitive, reduction: Callable[..., Array], x: Any, axis_name: AxisName, groups: Groups) -> Any:
    names, own = _by_kind(axis_name)
    axis_size(names)
    checked, axes = checked_groups(names, groups), _distinct_names(primitive.name, names)

    def of(leaf: Array) -> Array:
        leaf = _over_own(primitive.name, reduction, _numbers(primitive.name, leaf), own)
        return primitive.bind(leaf, axes=axes, axis_index_groups=checked) if axes else leaf

    return tree_map(of, x)


def pmax(x: Tree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Tree:
    """The maximum over a named axis.

    Args:
      x: array, or pytree of arrays: the value of this example.
      axis_name: name of the axis, or a tuple of names; integers are axes of ``x``.
      axis_index_groups: lists of indices along the axis, each of which makes a group of its own.
    Example: ``vmap(lambda x: x / lax.pmax(x, "i"), axis_name="i")(jnp.arange(1., 4.))``.
    """
    return _minmax(pmax_p, reduce_max, x, axis_name, axis_index_groups)


def pmin(x: Tree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Tree:
    """The minimum over a named axis.

    Args:
      x: array, or pytree of arrays: the value of this example.
      axis_name: name of the axis, or a tuple of names; integers are axes of ``x``.
      axis_index_groups: lists of indices along the axis, each of which makes a group of its own.
    Example: ``vmap(lambda x: x - lax.pmin(x, "i"), axis_name="i")(jnp.arange(4.))``.
    """
    return _minmax(pmin_p, reduce_min, x, axis_name, axis_index_groups)


# ---- indices and permutations ----------------------------------------------------------------------------------------


def axis_index(axis_name: AxisName) -> Array:
    """The index of the current example along a named axis; for several axes in row-major order.

    Args:
      axis_name: name of the axis, or a tuple of names.
    Raises:
      NameError: no such axis is in scope.
    Example: ``vmap(lambda x: x + lax.axis_index("i"), axis_name="i")(jnp.zeros(3))`` is ``[0, 1, 2]``.
    """
    total = None
    for name in names_of(axis_name):
        size = axis_size(name)
        nested = isinstance(name, tuple | list)
        index = axis_index(name) if nested else known_index(name)
        if index is None:
            index = axis_index_p.bind(axis_name=name)
        total = index if total is None else add(mul(total, np.int32(size)), index)
    return np.int32(0) if total is None else total  # type: ignore[return-value]


def ppermute(x: Tree, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Tree:
    """Send values along a named axis.

    Args:
      x: array or pytree of them.
      axis_name: name of the axis.
      perm: pairs (source, destination), in which no index is repeated as source or as destination. Examples that are no
        destination get zeros.
    Raises:
      ValueError: no axis, repeated indices, or indices out of bounds.
    Example: ``vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i")(jnp.arange(3))`` is
      ``[2, 0, 1]``.
    """
    size, names = axis_size(axis_name), _some_names("ppermute", axis_name)
    pairs = tuple(map(as_indices, perm))
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"ppermute: perm must hold pairs (source, destination), got {perm}")
    for which, indices in zip(("sources", "destinations"), zip(*pairs, strict=True), strict=False):
        if len(set(indices)) != len(indices) or not all(0 <= index < size for index in indices):
            raise ValueError(f"ppermute: the {which} in {perm} must be distinct indices of an axis of size {size}")
    return tree_map(lambda leaf: ppermute_p.bind(checked_operand("ppermute", leaf), axis_name=names, perm=pairs), x)


def pshuffle(x: Tree, axis_name: AxisName, perm: Sequence[int]) -> Tree:
    """Permute values along a named axis: example ``i`` gets that of example ``perm[i]``.

    Args:
      x: the value of this example.
      axis_name: name of the axis.
      perm: sequence of indices along it.
    Raises:
      ValueError: ``perm`` is not a permutation.
    Example: ``vmap(lambda x: lax.pshuffle(x, "i", [1, 0]), axis_name="i")(jnp.arange(2))`` is ``[1, 0]``.
    """
    perm = as_indices(perm)
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise ValueError(f"pshuffle: {perm} is no permutation of the indices of an axis of size {axis_size(axis_name)}")
    return ppermute(x, axis_name, [(source, destination) for destination, source in enumerate(perm)])


def pbroadcast(x: Tree, axis_name: AxisName, source: int) -> Tree:
    """The value of example ``source`` along a named axis, for all examples.

    Args:
      x: the value of this example.
      axis_name: name of the axis.
      source: index of the example along it.
    Example: ``vmap(lambda x: lax.pbroadcast(x, "i", 0), axis_name="i")(jnp.arange(3))`` is ``[0, 0, 0]``.
    """
    size, names = axis_size(axis_name), _some_names("pbroadcast", axis_name)
    source = as_index(source)
    if not 0 <= source < size:
        raise ValueError(f"pbroadcast: source {source} is no index of an axis of size {size}")
    return tree_map(
        lambda leaf: pbroadcast_p.bind(checked_operand("pbroadcast", leaf), axis_name=names, source=source), x
    )


def pcast(x: Tree, axis_name: AxisName, *, to: str) -> Tree:
    """Declare a value to vary (``to="varying"``) along a named axis, or to be a summand or a sum over it. The value is the same.

    Args:
      x: array, or pytree of arrays: the value of this example.
      axis_name: name of the axis, or a tuple of names.
      to: ``"varying"``, ``"unreduced"`` or ``"reduced"``.
    Raises:
      ValueError: another ``to``; in ``shard_map``, a value that varies along the axis already, or, for ``"unreduced"``, one
        that does not.
    Example: ``vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(jnp.ones(2))`` is ``[1, 1]``.
    """
    if to not in ("varying", "reduced", "unreduced"):
        raise ValueError(f"pcast: `to` must be 'varying', 'reduced' or 'unreduced', got {to!r}")
    axis_size(axis_name)
    tracked = frozenset(names_of(axis_name)) & tracked_axes()
    for leaf in tree_leaves(x):
        varying = tracked & typeof(checked_operand("pcast", leaf)).vma
        refused = tracked - varying if to == "unreduced" else varying
        if refused:
            raise ValueError(
                f"pcast: a value of type {typeof(leaf)} cannot become {to} along {sorted(map(str, refused))}, where it "
                f"{'does not vary' if to == 'unreduced' else 'varies already'}"
            )
    return pvary(x, axis_name) if to == "varying" else x


def pvary(x: Tree, axis_name: AxisName) -> Tree:
    """Declare a value to vary along a named axis, where its type does not say so.

    Example: ``lax.pvary(x, "i")``.
    """
    axis_size(axis_name)
    names = frozenset(names_of(axis_name))
    return tree_map(lambda leaf: declare_varying(checked_operand("pvary", leaf), names), x)


# ---- scattering and exchanging ---------------------------------------------------------------------------------------


def checked_axis(name: str, axis: int, rank: int) -> int:
    axis = as_index(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"{name}: axis {axis} is out of bounds for an array of {rank} dimensions")
    return axis % rank


def psum_scatter(
    x: Tree,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Tree:
    """The sum over a named axis, of which each example keeps its own part.

    Args:
      x: array or pytree of them.
      scatter_dimension: the axis of ``x`` that is divided among the examples: of the named axis' length, and dropped;
        with ``tiled`` of a multiple of that, and kept.
      axis_index_groups: lists of indices, each of which is summed for itself.
    Raises:
      ValueError: a length that doesn't fit.
    Example: ``vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(jnp.ones((3, 3)))`` is ``[3, 3, 3]``.
    """
    groups = checked_groups(axis_name, axis_index_groups)
    size, names = group_size(axis_name, groups), names_of(axis_name)

    def of(leaf: Any) -> Array:
        leaf = _numbers("psum_scatter", leaf)
        if not names:
            return leaf
        shape = typeof(leaf).shape
        at = checked_axis("psum_scatter", scatter_dimension, len(shape))
        _check_length("psum_scatter", shape[at], size, tiled)
        return reduce_scatter_p.bind(
            leaf, axis_index_groups=groups, axis_name=names, axis_size=size, scatter_dimension=at, tiled=bool(tiled)
        )

    return tree_map(of, x)


def _check_length(name: str, length: int, size: int, tiled: bool) -> None:
    if length % size if tiled else length != size:
        wanted = "a multiple of" if tiled else "equal to"
        raise ValueError(f"{name}: the axis to divide has length {length}, which must be {wanted} the axis size {size}")


def all_to_all(
    x: Tree,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Tree:
    """Divide each example's value along one axis, one piece for each example, and put together the pieces received.

    Args:
      x: array or pytree of them.
      split_axis: axis that is divided: of the named axis' length; with ``tiled`` of a multiple of it.
      concat_axis: where the pieces are stacked; with ``tiled`` the axis along which they are joined.
      axis_index_groups: lists of indices that exchange among themselves.
    Raises:
      ValueError: no axis, or a length that doesn't fit.
    Example: ``vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(x)`` transposes a square ``x``.
    """
    groups = checked_groups(axis_name, axis_index_groups)
    size, names = group_size(axis_name, groups), _some_names("all_to_all", axis_name)

    def of(leaf: Array) -> Array:
        leaf = checked_operand("all_to_all", leaf)
        shape = typeof(leaf).shape
        split, joined = (checked_axis("all_to_all", axis, len(shape)) for axis in (split_axis, concat_axis))
        _check_length("all_to_all", shape[split], size, tiled)
        return all_to_all_p.bind(
            leaf, axis_index_groups=groups, axis_name=names, axis_size=size, concat_axis=joined, split_axis=split,
            tiled=bool(tiled),
        )  # fmt: skip

    return tree_map(of, x)


def pswapaxes(x: Tree, axis_name: AxisName, axis: int, *, axis_index_groups: Groups = None) -> Tree:
    """Exchange a named axis and an axis of each example's value, of equal lengths.

    Args:
      x: array, or pytree of arrays.
      axis_name: name of the axis.
      axis: the axis of the arrays.
      axis_index_groups: lists of indices along the axis, each of which makes a group of its own.
    Example: ``vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(x)`` transposes a square ``x``.
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)
