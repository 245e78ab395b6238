"""Gathering over a named axis, into values that may vary over it or that are known to be the same for all."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.pytrees import tree_map
from arrax.core.types import typeof
from arrax.lax.arithmetic import mul
from arrax.lax.collective_gathers import all_gather_p
from arrax.lax.collective_lowering import lower_all_gather
from arrax.lax.collective_rules import (
    AxisName,
    Groups,
    declare_varying,
    linear,
    names_of,
    shifting,
    tracked_axes,
)
from arrax.lax.collectives import axis_index, checked_axis, checked_groups, group_size
from arrax.lax.operand_checks import checked_operand
from arrax.lax.slicing_along_axes import dynamic_index_in_dim, dynamic_slice_in_dim
from arrax.xla.annotations import Tree
from arrax.xla.arrays import Array, ArrayLike

# From a varying value to one that all devices have, of which the transpose takes each device's own part: no communication.
all_gather_invariant_p = Primitive("all_gather_invariant")
all_gather_invariant_p.hidden_params = frozenset({"axis_index_groups"})
all_gather_invariant_p.type_rule, all_gather_invariant_p.divides = all_gather_p.type_rule, all_gather_p.divides
all_gather_invariant_p.varies = lambda vma, *, axis_name, **params: vma - set(axis_name)
all_gather_invariant_p.batch = shifting(all_gather_invariant_p, "all_gather_dimension")
all_gather_invariant_p.collective = all_gather_p.collective
all_gather_invariant_p.lower[None] = lower_all_gather


def _own_part(
    ct: Array, *, all_gather_dimension: int, axis_name: tuple[Any, ...], axis_size: int, tiled: bool, **params: Any
) -> ArrayLike:
    index = axis_index(axis_name)
    if not tiled:
        return dynamic_index_in_dim(ct, index, all_gather_dimension, keepdims=False)
    size = typeof(ct).shape[all_gather_dimension] // axis_size
    return dynamic_slice_in_dim(ct, mul(index, np.int32(size)), size, all_gather_dimension)


linear(all_gather_invariant_p, _own_part)


def all_gather(
    x: Tree,
    axis_name: AxisName,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Tree:
    """The values of all examples along a named axis, for each of them.

    Args:
      x: array or pytree of them.
      axis_name: name of the axis, or a tuple of names.
      axis_index_groups: lists of indices, each of which is gathered for itself.
      axis: where the values are stacked, or along which axis they are joined.
      tiled: join along an existing axis instead of stacking along a new one.
      to: ``"varying"`` or ``"reduced"``, or ``"invarying"`` for a value that ``shard_map`` knows to be the same on all
        devices of the axis.
    Returns: pytree of ``x``'s structure; for no names ``x``.
    Raises:
      ValueError: another ``to``, or groups of what is to be the same for all.
    Example: ``vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(jnp.arange(2))`` is ``[[0, 1], [0, 1]]``.
    """
    if to not in ("varying", "reduced", "invarying"):
        raise ValueError(f"all_gather: `to` must be 'varying', 'reduced' or 'invarying', got {to!r}")
    invariant = to == "invarying"
    if invariant and axis_index_groups is not None:
        raise ValueError(
            "all_gather: with axis_index_groups, the result is not the same for all: `to` cannot be 'invarying'"
        )
    groups = checked_groups(axis_name, axis_index_groups)
    size, names = group_size(axis_name, groups), names_of(axis_name)
    tracked = frozenset(names) & tracked_axes() if invariant else frozenset()
    primitive = all_gather_invariant_p if tracked else all_gather_p

    def of(leaf: Array) -> ArrayLike:
        leaf = declare_varying(checked_operand("all_gather", leaf), tracked)
        if not names:
            return leaf
        at = checked_axis("all_gather", axis, typeof(leaf).ndim + (not tiled))
        return primitive.bind(
            leaf, all_gather_dimension=at, axis_index_groups=groups, axis_name=names, axis_size=size, tiled=bool(tiled)
        )

    return tree_map(of, x)


def all_gather_invariant(x: Tree, axis_name: AxisName, *, axis: int = 0, tiled: bool = False) -> Tree:
    """:func:`all_gather` into a value that ``shard_map`` knows to be the same on all devices of the axis.

    Its transpose takes each device's own part of the cotangent, without communication.

    Args:
      x: array or pytree of them.
      axis_name: name of the axis, or a tuple of names.
      axis: where the values are stacked, or along which axis they are joined.
      tiled: join along an existing axis instead of stacking along a new one.
    Returns: pytree of ``x``'s structure.
    Example: ``vmap(lambda x: lax.all_gather_invariant(x, "i"), axis_name="i")(jnp.arange(2))`` is ``[[0, 1], [0, 1]]``.
    """
    return all_gather(x, axis_name, axis=axis, tiled=tiled, to="invarying")
