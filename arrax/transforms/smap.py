"""``smap``: one axis of the arguments over one axis of the mesh in force, the rest left to the compiler."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytrees import tree_map
from arrax.core.tracebacks import bounded
from arrax.transforms.shard_map import Infer, infer, shard_map


def _specs(axes: Any, name: Any) -> Any:
    """PartitionSpecs that put a mesh axis where a pytree of axes says."""

    def spec(axis: int | None) -> PartitionSpec:
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, name)

    return tree_map(spec, axes, is_leaf=lambda axis: axis is None)


def smap(f: Callable[..., Any] | None = None, /, *, in_axes: Any = infer, out_axes: Any, axis_name: Hashable) -> Any:
    """A function that runs ``f`` on each device's pieces along one axis of the mesh in force.

    Args:
      f: function of pieces, which keep their number of axes; it may name the axis in collectives.
      in_axes: for each argument the axis that is cut, or None for arguments that every device gets.
      out_axes: for each result the axis along which pieces are joined, or None where all devices have the same.
      axis_name: the name of the axis.
    Example: ``@smap(in_axes=0, out_axes=None, axis_name="x")`` before a function that sums over ``"x"``.
    """
    if f is None:
        return functools.partial(bounded(smap), in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    ins = infer if isinstance(in_axes, Infer) or in_axes is Infer else _specs(in_axes, axis_name)
    return shard_map(f, in_specs=ins, out_specs=_specs(out_axes, axis_name), axis_names={axis_name})
