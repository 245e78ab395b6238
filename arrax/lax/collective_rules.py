"""Primitives over a named axis, of ``vmap`` or of a device mesh, and their rules.

Under ``vmap`` they become operations on the batch axis (the slot ``collective``); ``shard_map`` lowers them on a mesh.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.explicit_axes import as_typed
from arrax.core.interpreter import Primitive, context
from arrax.core.meshes import mesh_state
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import Batch, move_batch_axis
from arrax.lax.arithmetic import eq, mul, scalar
from arrax.lax.axis_order import move_axis
from arrax.lax.concatenation import concatenate
from arrax.lax.filled_arrays import iota, zeros_like_array
from arrax.lax.reductions import reduce_max, reduce_min, reduce_sum
from arrax.lax.selection import select
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.lax.static_slicing import slice_in_dim

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


def front(batch: Batch, x: ArrayLike, dim: int | None) -> ArrayLike:
    return move_batch_axis(x, dim, batch.size, 0)


def only_name(primitive: Primitive, axis_name: AxisName, groups: Groups = None) -> None:
    """Refuse what a vmapped axis cannot do."""
    if len(names_of(axis_name)) > 1:
        raise NotImplementedError(f"{primitive} over several axes at once, one of them mapped by vmap: {axis_name}")
    if groups is not None:
        raise NotImplementedError(f"{primitive} with axis_index_groups over an axis mapped by vmap")


def take_rows(x: ArrayLike, order: Sequence[int]) -> Array:
    """Rows of the leading axis in a static order."""
    return concatenate([slice_in_dim(x, index, index + 1) for index in order], 0)


def inserted(shape: tuple[int, ...], at: int, *lengths: int) -> tuple[int, ...]:
    return (*shape[:at], *lengths, *shape[at:])


def merged(x: ArrayLike, at: int) -> Array:
    """Axes ``at`` and ``at + 1`` made one."""
    shape = typeof(x).shape
    return reshape(x, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]))


def opened(x: ArrayLike, at: int, size: int) -> Array:
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
            only_name(primitive, axes)
            rows = front(batch, x, dim)
            shape = typeof(rows).shape[1:]
            parts = [reduce(take_rows(rows, group), (0,)) for group in axis_index_groups]
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


def keeps_varying(primitive: Primitive) -> None:
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
keeps_varying(axis_index_p)
axis_index_p.collective = lambda batch, values, dims, *, axis_name: (iota(np.int32, batch.size), 0)


ppermute_p = Primitive("ppermute")
keeps_varying(ppermute_p)
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
    only_name(ppermute_p, axis_name)
    rows = front(batch, values[0], dims[0])
    sources = {destination: source for source, destination in perm}
    zero = zeros_like_array(slice_in_dim(rows, 0, 1))
    pieces = [slice_in_dim(rows, sources[i], sources[i] + 1) if i in sources else zero for i in range(batch.size)]
    return concatenate(pieces, 0), 0


ppermute_p.collective = _ppermute_collective


pbroadcast_p = Primitive("pbroadcast")
keeps_varying(pbroadcast_p)
pbroadcast_p.type_rule, pbroadcast_p.divides = lambda aval, *, axis_name, source: aval, as_typed
pbroadcast_p.batch = lambda values, dims, **params: (pbroadcast_p.bind(*values, **params), dims[0])


def _pbroadcast_collective(
    batch: Batch, values: Sequence[ArrayLike], dims: Sequence[int], *, axis_name: Sequence[Hashable], source: int
) -> tuple[Any, None]:
    only_name(pbroadcast_p, axis_name)
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
