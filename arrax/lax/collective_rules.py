"""Primitives over a named axis, of ``vmap`` or of a device mesh, and their rules.

Under ``vmap`` they become operations on the batch axis (the slot ``collective``); ``shard_map`` lowers them on a mesh.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.explicit_axes import as_typed
from arrax.core.interpreter import Primitive, context, current
from arrax.core.interpreter import axis_size as size_of_axis
from arrax.core.meshes import mesh_state
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import Batch, move_batch_axis
from arrax.lax.arithmetic import eq, mul, scalar
from arrax.lax.axis_order import move_axis, transpose
from arrax.lax.filled_arrays import iota, zeros_like_array
from arrax.lax.reductions import reduce_max, reduce_min, reduce_sum
from arrax.lax.selection import select
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.lax.structure import concatenate, slice_in_dim

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent
    from arrax.xla.arrays import Array, ArrayLike

AxisName = Any  # a hashable name, or a tuple of names: the first varies slowest
Groups = Sequence[Sequence[int]] | None


def names_of(axis_name: AxisName) -> tuple[Any, ...]:
    """The names, as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


# ---- how rules are made ----------------------------------------------------------------------------------------------


def linear(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """Fill the slots of a linear operation on one array; ``transpose(ct, **params)``."""

    def jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        return out, Zero.of(out) if type(tangents[0]) is Zero else primitive.bind(*tangents, **params)

    def backwards(ct: Array, x: UndefinedPrimal, **params: Any) -> list[Any]:
        assert is_undefined_primal(x)
        return [Zero(x.aval.to_tangent_aval()) if type(ct) is Zero else transpose(ct, **params)]

    primitive.jvp, primitive.transpose = jvp, backwards


def shifting(primitive: Primitive, *shifted: str) -> Callable[..., Any]:
    """The batching rule over another axis: in front, so that the axes in some parameters move by one."""

    def rule(values: Sequence[ArrayLike], dims: Sequence[int], **params: Any) -> tuple[Any, int]:
        moved = {name: params[name] + 1 for name in shifted}
        return primitive.bind(move_axis(values[0], dims[0], 0), **{**params, **moved}), 0

    return rule


def _front(batch: Batch, x: ArrayLike, dim: int | None) -> ArrayLike:
    return move_batch_axis(x, dim, batch.size, 0)


def _only_name(primitive: Primitive, axis_name: AxisName, groups: Groups = None) -> None:
    """Refuse what a vmapped axis cannot do."""
    if len(names_of(axis_name)) > 1:
        raise NotImplementedError(f"{primitive} over several axes at once, one of them mapped by vmap: {axis_name}")
    if groups is not None:
        raise NotImplementedError(f"{primitive} with axis_index_groups over an axis mapped by vmap")


def _take(x: ArrayLike, order: Sequence[int]) -> Array:
    """Rows of the leading axis in a static order."""
    return concatenate([slice_in_dim(x, index, index + 1) for index in order], 0)


def _inserted(shape: tuple[int, ...], at: int, *lengths: int) -> tuple[int, ...]:
    return (*shape[:at], *lengths, *shape[at:])


def _merged(x: ArrayLike, at: int) -> Array:
    """Axes ``at`` and ``at + 1`` made one."""
    shape = typeof(x).shape
    return reshape(x, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]))


def _opened(x: ArrayLike, at: int, size: int) -> Array:
    """Axis ``at`` split in two, the first of length ``size``."""
    shape = typeof(x).shape
    return reshape(x, (*shape[:at], size, shape[at] // size, *shape[at + 1 :]))


# ---- sums and minima and maxima -----------------------------------------------------------------------------------------------


def _reduction(name: str, reduce: Callable[..., Any], repeated: Callable[[Any, int], Any]) -> Primitive:
    """A reduction over named axes; ``repeated(x, n)`` is the reduction of n equal values."""
    primitive = Primitive(name)

    def collective(
        batch: Batch,
        values: Sequence[ArrayLike],
        dims: Sequence[int],
        *,
        axes: Sequence[Hashable],
        axis_index_groups: Groups,
    ) -> tuple[Any, int | None]:
        (x,), (dim,) = values, dims
        rest = tuple(axis for axis in axes if axis != batch.axis_name)
        if axis_index_groups is not None:
            _only_name(primitive, axes)
            rows = _front(batch, x, dim)
            shape = typeof(rows).shape[1:]
            parts = [reduce(_take(rows, group), (0,)) for group in axis_index_groups]
            indices = {index: part for group, part in zip(axis_index_groups, parts, strict=True) for index in group}
            one = [broadcast_in_dim(indices[i], (1, *shape), range(1, len(shape) + 1)) for i in range(batch.size)]
            return concatenate(one, 0), 0
        out = repeated(x, batch.size) if dim is None else reduce(x, (dim,))
        return (primitive.bind(out, axes=rest, axis_index_groups=None) if rest else out), None

    primitive.type_rule, primitive.divides = lambda aval, *, axes, axis_index_groups: aval, as_typed
    primitive.batch = lambda values, dims, **params: (primitive.bind(*values, **params), dims[0])
    primitive.collective = collective
    return primitive


def _tracked_reduction(primitive: Primitive) -> Primitive:
    """A reduction whose result all devices have: it varies no longer over the axes, but where groups reduce apart."""
    primitive.varies = lambda vma, *, axes, axis_index_groups: vma - set(axes) if axis_index_groups is None else vma
    return primitive


def _keeps_varying(primitive: Primitive) -> None:
    """Results may differ between the devices of the axis."""
    primitive.varies = lambda vma, *, axis_name, **params: vma | set(names_of(axis_name)) & tracked_axes()


def tracked_axes() -> frozenset:
    """The mesh axes over which types say whether values vary."""
    return frozenset(mesh_state().abstract.manual_axes) if context.tracks_varying else frozenset()


psum_p = _reduction("psum", reduce_sum, lambda x, n: mul(x, scalar(n, x)))
pmax_p = _reduction("pmax", reduce_max, lambda x, n: x)
pmin_p = _reduction("pmin", reduce_min, lambda x, n: x)
linear(psum_p, lambda ct, **params: psum_p.bind(ct, **params))
_tracked_reduction(pmax_p)
_tracked_reduction(pmin_p)

# Where types say over which mesh axes values vary, the sum is an operation of its own: from a varying value to one that
# all devices have. Its transpose declares the cotangent, which all devices have, to vary: no communication.
psum_invariant_p = _tracked_reduction(_reduction("psum_invariant", reduce_sum, lambda x, n: mul(x, scalar(n, x))))
psum_invariant_p.hidden_params = frozenset({"axis_index_groups"})
pvary_p = Primitive("pvary")
pvary_p.type_rule, pvary_p.divides = lambda aval, *, axes: aval, as_typed
pvary_p.varies = lambda vma, *, axes: vma | set(axes)
pvary_p.batch = lambda values, dims, *, axes: (pvary_p.bind(*values, axes=axes), dims[0])
pvary_p.impl = lambda x, *, axes: x
pvary_p.lower[None] = lambda ctx, x, *, axes: [x]


def _pvary_collective(batch: Batch, values: Sequence[ArrayLike], dims: Any, *, axes: Any) -> tuple[Any, int | None]:
    rest = tuple(axis for axis in axes if axis != batch.axis_name)
    return pvary_p.bind(*values, axes=rest) if rest else values[0], dims[0]


pvary_p.collective = _pvary_collective
linear(psum_invariant_p, lambda ct, *, axes, axis_index_groups: declare_varying(ct, frozenset(axes)))
linear(pvary_p, lambda ct, *, axes: psum_invariant_p.bind(ct, axes=axes, axis_index_groups=None))


def declare_varying(x: Array, axes: frozenset) -> Array:
    """The value, declared to vary over mesh axes."""
    missing = (axes & tracked_axes()) - typeof(x).vma
    return pvary_p.bind(x, axes=_in_order(missing)) if missing else x


def _sum_over(ct: Any, axes: frozenset) -> Any:
    return psum_invariant_p.bind(ct, axes=_in_order(axes), axis_index_groups=None)


def _in_order(axes: frozenset) -> tuple[Any, ...]:
    return tuple(name for name in mesh_state().abstract.axis_names if name in axes)


slots.vary, slots.sum_over = declare_varying, _sum_over


# ---- indices and permutations ----------------------------------------------------------------------------------------

axis_index_p = Primitive("axis_index")
axis_index_p.type_rule = lambda *, axis_name: ShapedArray((), np.int32)
_keeps_varying(axis_index_p)
axis_index_p.collective = lambda batch, values, dims, *, axis_name: (iota(np.int32, batch.size), 0)


ppermute_p = Primitive("ppermute")
_keeps_varying(ppermute_p)
ppermute_p.type_rule, ppermute_p.divides = lambda aval, *, axis_name, perm: aval, as_typed
ppermute_p.batch = lambda values, dims, **params: (ppermute_p.bind(*values, **params), dims[0])
linear(
    ppermute_p,
    lambda ct, *, axis_name, perm: ppermute_p.bind(ct, axis_name=axis_name, perm=tuple((b, a) for a, b in perm)),
)


def _ppermute_collective(
    batch: Batch,
    values: Sequence[ArrayLike],
    dims: Sequence[int],
    *,
    axis_name: Sequence[Hashable],
    perm: tuple[tuple[int, ...], ...],
) -> tuple[Any, int]:
    _only_name(ppermute_p, axis_name)
    rows = _front(batch, values[0], dims[0])
    sources = {destination: source for source, destination in perm}
    zero = zeros_like_array(slice_in_dim(rows, 0, 1))
    pieces = [slice_in_dim(rows, sources[i], sources[i] + 1) if i in sources else zero for i in range(batch.size)]
    return concatenate(pieces, 0), 0


ppermute_p.collective = _ppermute_collective


pbroadcast_p = Primitive("pbroadcast")
_keeps_varying(pbroadcast_p)
pbroadcast_p.type_rule, pbroadcast_p.divides = lambda aval, *, axis_name, source: aval, as_typed
pbroadcast_p.batch = lambda values, dims, **params: (pbroadcast_p.bind(*values, **params), dims[0])


def _pbroadcast_collective(
    batch: Batch, values: Sequence[ArrayLike], dims: Sequence[int], *, axis_name: Sequence[Hashable], source: int
) -> tuple[Any, None]:
    _only_name(pbroadcast_p, axis_name)
    (x,), (dim,) = values, dims
    if dim is None:
        return x, None
    aval = typeof(x)
    return reshape(slice_in_dim(x, source, source + 1, axis=dim), (*aval.shape[:dim], *aval.shape[dim + 1 :])), None


def _pbroadcast_transpose(ct: Array, *, axis_name: Sequence[Hashable], source: int) -> Array:
    total = psum_p.bind(ct, axes=axis_name, axis_index_groups=None)
    index = axis_index_p.bind(axis_name=axis_name[0])
    return select(eq(index, np.int32(source)), total, zeros_like_array(total))


pbroadcast_p.collective = _pbroadcast_collective
linear(pbroadcast_p, _pbroadcast_transpose)


# ---- gathering and scattering ----------------------------------------------------------------------------------------

all_gather_p = Primitive("all_gather")
reduce_scatter_p = Primitive("reduce_scatter")
all_to_all_p = Primitive("all_to_all")
all_to_all_p.hidden_params = frozenset({"axis_size"})
for _primitive in (all_gather_p, reduce_scatter_p, all_to_all_p):
    _keeps_varying(_primitive)


def _all_gather_type(
    aval: ShapedArray, *, all_gather_dimension: int, axis_size: int, tiled: bool, **params: Any
) -> ShapedArray:
    shape, at = aval.shape, all_gather_dimension
    if tiled:
        return aval.update(shape=(*shape[:at], shape[at] * axis_size, *shape[at + 1 :]))
    return aval.update(shape=_inserted(shape, at, axis_size))


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
        _only_name(all_gather_p, axis_name[:1], axis_index_groups)
        return _one_after_the_other(
            batch,
            x,
            dim,
            axis_name[::-1],
            lambda value, name: _gathered_again(value, name, at, tiled, name is axis_name[-1]),
        )
    if axis_index_groups is None:
        out = move_batch_axis(x, dim, batch.size, at)
        return (_merged(out, at) if tiled else out), None
    member = {index: group for group in axis_index_groups for index in group}
    rows = _take(_front(batch, x, dim), [index for i in range(batch.size) for index in member[i]])
    out = move_axis(_opened(rows, 0, batch.size), 1, at + 1)
    return (_merged(out, at + 1) if tiled else out), 0


def _gathered_again(value: Array, name: str, at: int, tiled: bool, first: bool) -> Any:
    """Gather over the next slower axis, in front of what was gathered before."""
    if tiled or first:
        return _gather(value, name, at, tiled)
    return _merged(_gather(value, name, at, False), at)


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
    _only_name(reduce_scatter_p, axis_name, axis_index_groups)
    total = mul(x, scalar(batch.size, x)) if dim is None else reduce_sum(x, (dim,))
    return (_opened(total, at, batch.size) if tiled else total), at


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
    rows = _front(batch, values[0], dims[0])
    if len(names_of(axis_name)) > 1 and axis_index_groups is None:
        return _all_to_all_by_axis(batch, rows, names_of(axis_name), split_axis + 1, concat_axis + 1, tiled), 0
    _only_name(all_to_all_p, axis_name, axis_index_groups)
    if tiled:
        rows = _opened(rows, split_axis + 1, batch.size)
    swapped = move_axis(rows, split_axis + 1, 0)
    out = move_axis(swapped, 1, concat_axis + 1)
    return (_merged(out, concat_axis + 1) if tiled else out), 0


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
    return _merged(moved, to) if tiled else moved


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
