"""How operations over mesh axes are lowered: as the compiler's collectives between the devices of a program."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import Primitive
from arrax.core.named_axes import unbound_axis
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.other_axes import other_axes, over_axes
from arrax.lax.collective_gathers import all_gather_p, all_to_all_p, reduce_scatter_p
from arrax.lax.collective_rules import (
    Groups,
    axis_index_p,
    names_of,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_invariant_p,
    psum_p,
)

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext, ModuleContext

Names = Sequence[Any]


def device_numbers(ctx: ModuleContext) -> np.ndarray:
    """The numbers of the program's partitions, in the shape of the mesh that the program is per device over.

    Raises:
      NameError: the program is per device over no mesh.
    """
    if ctx.manual is None:
        raise NameError("an operation over named axes stands in a program outside of shard_map, pmap and vmap")
    mesh = ctx.manual.mesh
    devices = getattr(mesh, "_internal_device_list", None)
    if devices is None or ctx.devices is None:
        return np.arange(mesh.size).reshape(mesh.axis_sizes)
    indices = {device: number for number, device in enumerate(ctx.devices)}
    return np.array([indices[device] for device in devices]).reshape(mesh.axis_sizes)


def groups_over(ctx: ModuleContext, names: Names, groups: Groups = None) -> np.ndarray:
    """Partitions that work together, shape (groups, members); members in the order of the axes, the first slowest."""
    mesh = ctx.manual.mesh if ctx.manual is not None else None
    numbers = device_numbers(ctx)
    assert mesh is not None
    unknown = [name for name in names if name not in mesh.axis_names]
    if unknown:
        raise NameError(unbound_axis(unknown[0], mesh.axis_names))
    last = [mesh.axis_names.index(name) for name in names]
    rest = [axis for axis in range(numbers.ndim) if axis not in last]
    rows = numbers.transpose([*rest, *last]).reshape(-1, int(np.prod([mesh.axis_sizes[axis] for axis in last])))
    if groups is None:
        return rows
    longest = max(map(len, groups))
    found = np.full((len(rows), len(groups), longest), -1)  # which stands for nobody, in groups that are shorter
    for position, group in enumerate(groups):
        found[:, position, : len(group)] = rows[:, list(group)]
    return found.reshape(-1, longest)


def _attributes(ctx: ModuleContext, groups: np.ndarray | None, global_ids: bool = False) -> dict[str, Any]:
    """The attributes that collectives share: which devices work together, and a channel of their own."""
    found: dict[str, Any] = {}
    if groups is not None:
        found["replica_groups"] = builder.dense(np.asarray(groups, np.int64))
    if ctx.num_devices > 1:
        ctx.channels += 1
        found["channel_handle"] = builder.attribute(f"#stablehlo.channel_handle<handle = {ctx.channels}, type = 1>")
        if global_ids:
            found["use_global_device_ids"] = builder.attribute("unit")
    return found


def _reducing(name: str, x: Value, out: ShapedArray, attributes: dict[str, Any], body: str) -> Value:
    """A collective with a region that combines two elements."""
    made = builder.operation(f"stablehlo.{name}", [builder.ir_type(out)], [x], attributes, 1)
    scalar = ShapedArray((), out.dtype)
    block = builder.block_with(made, 0, [scalar, scalar])
    with builder.inside(block):
        builder.return_([builder.op(body, scalar, *block.arguments)])
    return made.results[0]


def _reduction(primitive: Primitive, body: str) -> None:
    def lower(ctx: LoweringContext, x: Value, *, axes: Names, axis_index_groups: Groups) -> list[Value]:
        module = ctx.module_context
        if body != "add" and dtypes.is_complex(ctx.avals_out[0].dtype):
            raise NotImplementedError(f"{primitive} of complex numbers over an axis of a mesh")
        attributes = _attributes(module, groups_over(module, axes, axis_index_groups), True)
        return [_reducing("all_reduce", x, ctx.avals_out[0], attributes, body)]

    primitive.lower[None] = lower


for _primitive, _body in ((psum_p, "add"), (psum_invariant_p, "add"), (pmax_p, "maximum"), (pmin_p, "minimum")):
    _reduction(_primitive, _body)


def _axis_index(ctx: LoweringContext, *, axis_name: Hashable) -> list[Value]:
    """The index, from the number of the partition."""
    module = ctx.module_context
    numbers = device_numbers(module)
    assert module.manual is not None
    mesh = module.manual.mesh
    if axis_name not in mesh.axis_names:
        raise NameError(unbound_axis(axis_name, mesh.axis_names))
    out = ShapedArray((), np.dtype(np.int32))
    if numbers.size == 1:
        return [builder.constant(np.int32(0))]
    indices = np.empty(numbers.size, np.int32)
    indices[numbers.ravel()] = np.indices(numbers.shape)[mesh.axis_names.index(axis_name)].ravel()

    def found() -> Value:
        own = "partition_id" if module.num_devices > 1 else "replica_id"
        number = builder.op(own, ShapedArray((), np.dtype(np.uint32)))
        table = builder.constant(indices)
        one = builder.op("dynamic_slice", ShapedArray((1,), out.dtype), table, number, slice_sizes=builder.ints((1,)))
        return builder.op("reshape", out, one)

    rest = other_axes(module)
    return over_axes(module, rest, [], [], [out], lambda: [found()]) if rest else [found()]


axis_index_p.lower[None] = _axis_index


def _ppermute(ctx: LoweringContext, x: Any, *, axis_name: Names, perm: Sequence[tuple[int, int]]) -> list[Any]:
    module = ctx.module_context
    rows = groups_over(module, names_of(axis_name))
    pairs = np.array([(row[a], row[b]) for row in rows for a, b in perm], np.int64).reshape(-1, 2)
    attributes = {"source_target_pairs": builder.dense(pairs), **_attributes(module, None)}
    types = [builder.ir_type(ctx.avals_out[0])]
    return list(builder.operation("stablehlo.collective_permute", types, [x], attributes).results)


ppermute_p.lower[None] = _ppermute


def _gathered(ctx: Any, x: Any, aval: ShapedArray, at: int, groups: np.ndarray) -> tuple[Any, ShapedArray]:
    """Pieces joined along an existing axis."""
    shape = (*aval.shape[:at], aval.shape[at] * groups.shape[1], *aval.shape[at + 1 :])
    out = ShapedArray(shape, aval.dtype)
    attributes = {"all_gather_dim": builder.integer(at), **_attributes(ctx, groups, True)}
    made = builder.operation("stablehlo.all_gather", [builder.ir_type(out)], [x], attributes)
    return made.results[0], out


def _reshaped(x: Any, aval: ShapedArray, shape: Sequence[int]) -> tuple[Any, ShapedArray]:
    out = ShapedArray(tuple(shape), aval.dtype)
    return builder.op("reshape", out, x), out


def lower_all_gather(
    ctx: LoweringContext,
    x: Any,
    *,
    all_gather_dimension: int,
    axis_name: Names,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> list[Any]:
    module, at = ctx.module_context, all_gather_dimension
    aval = builder.physical_aval(ctx.avals_in[0])
    if not tiled:
        x, aval = _reshaped(x, aval, (*aval.shape[:at], 1, *aval.shape[at:]))
    return [_gathered(module, x, aval, at, groups_over(module, names_of(axis_name), axis_index_groups))[0]]


all_gather_p.lower[None] = lower_all_gather


def _reduce_scatter(
    ctx: LoweringContext,
    x: Any,
    *,
    scatter_dimension: int,
    axis_name: Names,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> list[Any]:
    module, at, aval = ctx.module_context, scatter_dimension, ctx.avals_in[0]
    groups = groups_over(module, names_of(axis_name), axis_index_groups)
    piece = ShapedArray((*aval.shape[:at], aval.shape[at] // axis_size, *aval.shape[at + 1 :]), aval.dtype)
    attributes = {"scatter_dimension": builder.integer(at), **_attributes(module, groups, True)}
    out = _reducing("reduce_scatter", x, piece, attributes, "add")
    return [out if tiled else _reshaped(out, piece, ctx.avals_out[0].shape)[0]]


reduce_scatter_p.lower[None] = _reduce_scatter


def _all_to_all(
    ctx: LoweringContext, x: Any, *, split_axis: int, concat_axis: int, axis_name: Names, axis_index_groups: Groups,
    axis_size: int, tiled: bool,
) -> list[Any]:  # fmt: skip
    """Untiled, the axis that is split comes back as that of the senders, and moves to its place."""
    module, aval = ctx.module_context, builder.physical_aval(ctx.avals_in[0])
    groups = groups_over(module, names_of(axis_name), axis_index_groups)
    joined = concat_axis if tiled else split_axis
    shape = list(aval.shape)
    shape[split_axis] //= axis_size
    shape[joined] *= axis_size
    attributes = {
        "split_dimension": builder.integer(split_axis), "concat_dimension": builder.integer(joined),
        "split_count": builder.integer(axis_size), **_attributes(module, groups),
    }  # fmt: skip
    exchanged = ShapedArray(tuple(shape), aval.dtype)
    out = builder.operation("stablehlo.all_to_all", [builder.ir_type(exchanged)], [x], attributes).results[0]
    if tiled or split_axis == concat_axis:
        return [out]
    order = [axis for axis in range(aval.ndim) if axis != split_axis]
    order.insert(concat_axis, split_axis)
    return [builder.op("transpose", ctx.avals_out[0], out, permutation=builder.ints(order))]


all_to_all_p.lower[None] = _all_to_all


def _pbroadcast(ctx: LoweringContext, x: Any, *, axis_name: Names, source: int) -> list[Any]:
    """All values, of which one is taken."""
    module, aval = ctx.module_context, builder.physical_aval(ctx.avals_in[0])
    one, one_aval = _reshaped(x, aval, (1, *aval.shape))
    every, _ = _gathered(module, one, one_aval, 0, groups_over(module, names_of(axis_name)))
    starts, stops = [source, *[0] * aval.ndim], [source + 1, *aval.shape]
    return [_reshaped(builder.static_slice(every, one_aval, starts, stops), one_aval, aval.shape)[0]]


pbroadcast_p.lower[None] = _pbroadcast
