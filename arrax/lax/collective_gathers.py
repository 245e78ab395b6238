"""Gathering, scattering and exchanging over a named axis: all_gather, reduce_scatter, all_to_all."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive, current
from arrax.core.named_axes import axis_size as size_of_axis
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.batching import Batch, move_batch_axis
from arrax.lax.arithmetic import mul, scalar
from arrax.lax.axis_order import move_axis, transpose
from arrax.lax.collective_rules import (
    Groups,
    front,
    inserted,
    keeps_varying,
    linear,
    merged,
    names_of,
    only_name,
    opened,
    shifting,
    take_rows,
)
from arrax.lax.reductions import reduce_sum
from arrax.lax.shapes import reshape

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike

all_gather_p = Primitive("all_gather")
reduce_scatter_p = Primitive("reduce_scatter")
all_to_all_p = Primitive("all_to_all")
all_to_all_p.hidden_params = frozenset({"axis_size"})
for _primitive in (all_gather_p, reduce_scatter_p, all_to_all_p):
    keeps_varying(_primitive)


def _all_gather_type(
    aval: ShapedArray, *, all_gather_dimension: int, axis_size: int, tiled: bool, **params: Any
) -> ShapedArray:
    shape, at = aval.shape, all_gather_dimension
    if tiled:
        return aval.update(shape=(*shape[:at], shape[at] * axis_size, *shape[at + 1 :]))
    return aval.update(shape=inserted(shape, at, axis_size))


def _all_gather_divides(
    avals: Any, out: Any, *, all_gather_dimension: int, tiled: bool, **params: Any
) -> tuple[tuple[Any, ...], ...]:
    kept = avals[0].divided
    return kept if tiled else (*kept[:all_gather_dimension], (), *kept[all_gather_dimension:])


def _one_after_the_other(
    batch: Batch, x: ArrayLike, dim: int | None, names: Sequence[Any], step: Callable[..., Any]
) -> tuple[Array, Any]:
    """An operation over several axes as operations over one each; returns the result and its batch axis."""
    with current(batch):
        value = batch.join(x, dim)
        for name in names:
            value = step(value, name)
    return batch.lift(value)


def _all_gather_collective(
    batch: Batch, values: Sequence[ArrayLike], dims: Sequence[int], *, all_gather_dimension: int,
    axis_name: Sequence[Hashable], axis_index_groups: Groups, axis_size: int, tiled: bool,
) -> tuple[Any, int | None]:  # fmt: skip
    (x,), (dim,), at = values, dims, all_gather_dimension
    if len(axis_name) > 1:
        only_name(all_gather_p, axis_name[:1], axis_index_groups)
        return _one_after_the_other(
            batch,
            x,
            dim,
            axis_name[::-1],
            lambda value, name: _gathered_again(value, name, at, tiled, name is axis_name[-1]),
        )
    if axis_index_groups is None:
        out = move_batch_axis(x, dim, batch.size, at)
        return (merged(out, at) if tiled else out), None
    member = {index: group for group in axis_index_groups for index in group}
    rows = take_rows(front(batch, x, dim), [index for i in range(batch.size) for index in member[i]])
    out = move_axis(opened(rows, 0, batch.size), 1, at + 1)
    return (merged(out, at + 1) if tiled else out), 0


def _gathered_again(value: Array, name: str, at: int, tiled: bool, first: bool) -> Any:
    """Gather over the next slower axis, in front of what was gathered before."""
    if tiled or first:
        return _gather(value, name, at, tiled)
    return merged(_gather(value, name, at, False), at)


def _gather(value: Array, name: str, at: int, tiled: bool) -> ArrayLike:
    return all_gather_p.bind(
        value,
        all_gather_dimension=at,
        axis_name=(name,),
        axis_index_groups=None,
        axis_size=size_of_axis(name),
        tiled=tiled,
    )


def _reduce_scatter_type(
    aval: ShapedArray, *, scatter_dimension: int, axis_size: int, tiled: bool, **params: Any
) -> ShapedArray:
    shape, at = aval.shape, scatter_dimension
    left = (shape[at] // axis_size,) if tiled else ()
    return aval.update(shape=(*shape[:at], *left, *shape[at + 1 :]))


def _reduce_scatter_divides(
    avals: Any, out: Any, *, scatter_dimension: int, tiled: bool, **params: Any
) -> tuple[tuple[Any, ...], ...]:
    kept = avals[0].divided
    return kept if tiled else (*kept[:scatter_dimension], *kept[scatter_dimension + 1 :])


def _reduce_scatter_collective(
    batch: Batch, values: Sequence[ArrayLike], dims: Sequence[int], *, scatter_dimension: int,
    axis_name: Sequence[Hashable], axis_index_groups: Groups, axis_size: int, tiled: bool,
) -> tuple[Any, int | None]:  # fmt: skip
    (x,), (dim,), at = values, dims, scatter_dimension
    if len(axis_name) > 1 and tiled:
        return _one_after_the_other(batch, x, dim, axis_name, lambda value, name: _scatter(value, name, at))
    only_name(reduce_scatter_p, axis_name, axis_index_groups)
    total = mul(x, scalar(batch.size, x)) if dim is None else reduce_sum(x, (dim,))
    return (opened(total, at, batch.size) if tiled else total), at


def _scatter(value: Any, name: Any, at: int) -> Any:
    size = size_of_axis(name)
    return reduce_scatter_p.bind(
        value, scatter_dimension=at, axis_name=(name,), axis_index_groups=None, axis_size=size, tiled=True
    )


def _all_to_all_type(
    aval: ShapedArray,
    *,
    split_axis: int,
    concat_axis: int,
    axis_size: int,
    tiled: bool,
    axis_name: Sequence[Hashable],
    axis_index_groups: Any,
) -> ShapedArray:
    shape = list(aval.shape)
    if tiled:
        shape[split_axis] //= axis_size
        shape[concat_axis] *= axis_size
    else:
        shape.insert(concat_axis, shape.pop(split_axis))
    return aval.update(shape=tuple(shape))


def _all_to_all_divides(
    avals: Any, out: Any, *, split_axis: int, concat_axis: int, tiled: bool, **params: Any
) -> tuple[tuple[Any, ...], ...]:
    kept = list(avals[0].divided)
    if not tiled:
        del kept[split_axis]
        kept.insert(concat_axis, ())
    return tuple(kept)


def _all_to_all_collective(
    batch: Batch, values: Sequence[ArrayLike], dims: Sequence[int], *, split_axis: int, concat_axis: int,
    axis_name: Sequence[Hashable], axis_index_groups: Groups, axis_size: int, tiled: bool,
) -> tuple[Any, int]:  # fmt: skip
    """The batch axis (the sources) and the split axis (the destinations) change places."""
    rows = front(batch, values[0], dims[0])
    if len(names_of(axis_name)) > 1 and axis_index_groups is None:
        return _all_to_all_by_axis(batch, rows, names_of(axis_name), split_axis + 1, concat_axis + 1, tiled), 0
    only_name(all_to_all_p, axis_name, axis_index_groups)
    if tiled:
        rows = opened(rows, split_axis + 1, batch.size)
    swapped = move_axis(rows, split_axis + 1, 0)
    out = move_axis(swapped, 1, concat_axis + 1)
    return (merged(out, concat_axis + 1) if tiled else out), 0


def _all_to_all_by_axis(batch: Batch, rows: ArrayLike, names: Sequence[Any], at: int, to: int, tiled: bool) -> Any:
    """The exchange over several named axes, one after the other; the batch axis of ``rows`` is in front."""
    sizes = [batch.size if name == batch.axis_name else size_of_axis(name) for name in names]
    shape = typeof(rows).shape
    count = math.prod(sizes)
    rest = (shape[at] // count,) if tiled else ()
    rows = reshape(rows, (*shape[:at], *sizes, *rest, *shape[at + 1 :]))
    for index, (name, size) in enumerate(zip(names, sizes, strict=True), at):
        if name == batch.axis_name:
            axes = list(range(typeof(rows).ndim))
            axes[0], axes[index] = index, 0
            rows = transpose(rows, tuple(axes))
        else:
            rows = all_to_all_p.bind(
                rows, split_axis=index, concat_axis=index, axis_name=(name,), axis_index_groups=None, axis_size=size,
                tiled=False,
            )  # fmt: skip
    rows = reshape(rows, (*shape[:at], count, *rest, *shape[at + 1 :]))
    moved = move_axis(rows, at, to)
    return merged(moved, to) if tiled else moved


all_gather_p.type_rule, all_gather_p.divides = _all_gather_type, _all_gather_divides
all_gather_p.collective = _all_gather_collective
all_gather_p.batch = shifting(all_gather_p, "all_gather_dimension")
reduce_scatter_p.type_rule, reduce_scatter_p.divides = _reduce_scatter_type, _reduce_scatter_divides
reduce_scatter_p.collective = _reduce_scatter_collective
reduce_scatter_p.batch = shifting(reduce_scatter_p, "scatter_dimension")
all_to_all_p.type_rule, all_to_all_p.divides = _all_to_all_type, _all_to_all_divides
all_to_all_p.collective = _all_to_all_collective
all_to_all_p.batch = shifting(all_to_all_p, "split_axis", "concat_axis")
linear(
    all_gather_p,
    lambda ct, *, all_gather_dimension, **params: reduce_scatter_p.bind(
        ct, scatter_dimension=all_gather_dimension, **params
    ),
)
linear(
    reduce_scatter_p,
    lambda ct, *, scatter_dimension, **params: all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params),
)
linear(
    all_to_all_p,
    lambda ct, *, split_axis, concat_axis, **params: all_to_all_p.bind(
        ct, split_axis=concat_axis, concat_axis=split_axis, **params
    ),
)
