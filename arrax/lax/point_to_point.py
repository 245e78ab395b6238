"""Messages between the devices of a named axis: sends and receives, and exchanges of pieces of unequal lengths."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import Primitive, Tracer
from arrax.core.named_axes import axis_size as size_of_axis
from arrax.core.types import ShapedArray, Zero, abstract_token, instantiate, typeof
from arrax.interpreters.ad.transpose import is_undefined_primal
from arrax.interpreters.batching import Batch, move_batch_axis
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import add, ge, lt, mul, sub
from arrax.lax.axis_order import transpose
from arrax.lax.bitwise import bitwise_and
from arrax.lax.collective_gathers import all_gather_p, all_to_all_p
from arrax.lax.collective_rules import AxisName, Groups, names_of, tracked_axes
from arrax.lax.collectives import axis_index, checked_groups, group_size
from arrax.lax.conversion import convert
from arrax.lax.filled_arrays import broadcasted_iota, full_like
from arrax.lax.linalg.matrices import take_rows
from arrax.lax.operand_checks import checked_operand
from arrax.lax.reductions import reduce_or, reduce_sum
from arrax.lax.selection import select
from arrax.lax.shape_slots import broadcast_to_shape
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent

Permutation = Sequence[tuple[int, int]]

# ---- sends and receives: on a mesh only -----------------------------------------------------------------------------

psend_p = Primitive("psend")
psend_p.type_rule = lambda aval, *, axis_name, perm: abstract_token
precv_p = Primitive("precv")
precv_p.type_rule = lambda token, *, axis_name, out_shape, perm: out_shape


def _checked_permutation(name: str, axis_name: AxisName, perm: Permutation) -> tuple[tuple[int, int], ...]:
    pairs = tuple((int(source), int(destination)) for source, destination in perm)
    size = int(np.prod([size_of_axis(axis) for axis in names_of(axis_name)]))
    sources, destinations = ([pair[i] for pair in pairs] for i in (0, 1))
    if len(set(sources)) < len(pairs) or len(set(destinations)) < len(pairs):
        raise ValueError(f"{name} requires sources and destinations that occur once each, got {pairs}")
    if any(not 0 <= index < size for pair in pairs for index in pair):
        raise ValueError(f"{name}: indices must be below the axis' size {size}, got {pairs}")
    return pairs


def psend(x: ArrayLike, axis_name: AxisName, perm: Permutation) -> Tracer:
    """Send a value to another device of a mesh axis (inside of ``shard_map``).

    Args:
      x: array.
      perm: pairs (source, destination).
      axis_name: name of the mesh axis.
    Returns: a token that stands for the sending.
    Raises:
      NameError: no such axis is in scope.
      ValueError: an index that occurs twice or is out of bounds.
    Example: ``lax.psend(x, "i", [(0, 1)])``.
    """
    pairs = _checked_permutation("psend", axis_name, perm)
    return psend_p.bind(checked_operand("psend", x), axis_name=names_of(axis_name), perm=pairs)


def precv(token: Tracer, out_shape: Any, axis_name: AxisName, perm: Permutation) -> Array:
    """Receive a value from another device of a mesh axis (inside of ``shard_map``).

    Args:
      token: what has to happen before: that of the sending.
      out_shape: what has the value's shape and dtype.
      perm: pairs (source, destination).
      axis_name: name of the mesh axis.
    Returns: array; zeros where nothing is sent.
    Raises:
      NameError: no such axis is in scope.
    Example: ``lax.precv(lax.psend(x, "i", [(0, 1)]), x, "i", [(0, 1)])``.
    """
    pairs = _checked_permutation("precv", axis_name, perm)
    shape = ShapedArray(out_shape.shape, out_shape.dtype)
    return precv_p.bind(token, axis_name=names_of(axis_name), out_shape=shape, perm=pairs)


# ---- exchanges of pieces of unequal lengths -------------------------------------------------------------------------

ragged_all_to_all_p = Primitive("ragged_all_to_all")


def _ragged_type(operand: ShapedArray, output: ShapedArray, *tables: ShapedArray, **params: Any) -> ShapedArray:
    if operand.dtype != output.dtype or operand.shape[1:] != output.shape[1:] or operand.ndim < 1:
        raise ValueError(
            "ragged_all_to_all requires an operand and an output that differ in their first length only, got "
            f"{operand.str_short(False)} and {output.str_short(False)}"
        )
    for name, table in zip(_TABLES, tables, strict=True):
        if not dtypes.issubdtype(table.dtype, np.integer):
            raise ValueError(f"ragged_all_to_all requires integer {name}, got {table.str_short(False)}")
        if table.ndim != 1 or table.shape[0] < 1:
            raise ValueError(f"ragged_all_to_all requires vectors {name}, got shape {table.shape}")
        if table.shape != tables[0].shape:
            raise ValueError(f"ragged_all_to_all requires {name} as long as input_offsets, got {table.shape[0]}")
    return output


_TABLES = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


def _collective(
    batch: Batch,
    values: Sequence[ArrayLike],
    dims: Sequence[int],
    *,
    axis_name: Sequence[Hashable],
    axis_index_groups: Groups,
) -> tuple[Any, int]:
    """Each row of each output looks up the row that it gets: at most one source sends to it."""
    if len(axis_name) > 1 or axis_index_groups is not None:
        raise NotImplementedError("ragged_all_to_all over several axes, or in groups, one of them mapped by vmap")
    operand, output, starts, sizes, targets, _ = (
        move_batch_axis(x, dim, batch.size, 0) for x, dim in zip(values, dims, strict=True)
    )
    count, rows = typeof(operand).shape[:2]
    shape = (count, count, typeof(output).shape[1])  # (source, destination, row of the output)
    tables = [broadcast_in_dim(convert(table, np.int32), shape, (0, 1)) for table in (starts, sizes, targets)]
    index = sub(broadcasted_iota(np.int32, shape, 2), tables[2])
    sent = bitwise_and(ge(index, full_like(index, 0)), lt(index, tables[1]))
    source = mul(broadcasted_iota(np.int32, shape, 0), full_like(index, rows))
    found = reduce_sum(select(sent, add(add(source, tables[0]), index), full_like(index, 0)), (0,))
    width = int(np.prod(typeof(operand).shape[2:]))
    taken = take_rows(reshape(operand, (count * rows, width)), reshape(found, (count * shape[2],)))
    taken = reshape(taken, typeof(output).shape)
    got = broadcast_in_dim(reduce_or(sent, (0,)), typeof(output).shape, (0, 1))
    return select(got, taken, output), 0


def _exchanged(table: Any, axis_name: Any, groups: Groups) -> Any:
    """What the others have in a table for this one."""
    size = typeof(table).shape[0]
    return all_to_all_p.bind(
        table, axis_index_groups=groups, axis_name=axis_name, axis_size=size, concat_axis=0, split_axis=0, tiled=True
    )


def _received(output: Any, targets: Any, sizes: Any) -> Any:
    """Which rows of an output are sent to, given the places and sizes of what is received."""
    rows = typeof(output).shape[0]
    shape = (typeof(targets).shape[0], rows)
    starts, lengths = (broadcast_in_dim(convert(table, np.int32), shape, (0,)) for table in (targets, sizes))
    index = sub(broadcasted_iota(np.int32, shape, 1), starts)
    hit = bitwise_and(ge(index, full_like(index, 0)), lt(index, lengths))
    return broadcast_in_dim(reduce_or(hit, (0,)), typeof(output).shape, (0,))


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    out = ragged_all_to_all_p.bind(*primals, **params)
    if all(type(t) is Zero for t in tangents[:2]):
        return out, Zero.of(out)
    return out, ragged_all_to_all_p.bind(*map(instantiate, tangents[:2]), *primals[2:], **params)


def _transpose(
    ct: Any, operand: Any, output: Any, starts: Any, sizes: Any, targets: Any, received: Any, *, axis_name: Any,
    axis_index_groups: Groups,
) -> list[Any]:  # fmt: skip
    if type(ct) is Zero:
        return [None] * 6
    indices = _exchanged(targets, axis_name, axis_index_groups)
    ct_operand = ct_output = None
    if is_undefined_primal(operand):
        back = _exchanged(starts, axis_name, axis_index_groups)
        zeros = broadcast_to_shape(np.zeros((), operand.aval.dtype), operand.aval.shape)
        ct_operand = ragged_all_to_all_p.bind(
            ct, zeros, indices, received, back, sizes, axis_name=axis_name, axis_index_groups=axis_index_groups
        )
    if is_undefined_primal(output):
        ct_output = select(_received(ct, indices, received), full_like(ct, 0), ct)
    return [ct_operand, ct_output, None, None, None, None]


def _gathered(x: Any, axis_name: Any, groups: Groups) -> Any:
    """What all members have, stacked."""
    size = len(groups[0]) if groups is not None else math.prod(size_of_axis(name) for name in axis_name)
    return all_gather_p.bind(
        x, all_gather_dimension=0, axis_index_groups=groups, axis_name=axis_name, axis_size=size, tiled=False
    )


def _on_mesh(
    operand: Any, output: Any, starts: Any, sizes: Any, targets: Any, received: Any, *, axis_name: Any,
    axis_index_groups: Groups,
) -> Any:  # fmt: skip
    """Every member gets all rows, and picks those that are sent to it."""
    rows, mine = _gathered(operand, axis_name, axis_index_groups), axis_index(axis_name)
    if axis_index_groups is not None:
        index = np.zeros(sum(map(len, axis_index_groups)), np.int32)
        for group in axis_index_groups:
            index[list(group)] = np.arange(len(group))
        mine = reshape(take_rows(index[:, None], reshape(mine, (1,))), ())
    tables = [_gathered(convert(table, np.int32), axis_name, axis_index_groups) for table in (starts, sizes, targets)]
    count, height = typeof(rows).shape[:2]
    width = typeof(output).shape[0]
    to_me = [reshape(take_rows(transpose(table, (1, 0)), reshape(mine, (1,))), (count,)) for table in tables]
    shape = (count, width)  # (source, row of the output)
    first, lengths, indices = (broadcast_in_dim(table, shape, (0,)) for table in to_me)
    offset = sub(broadcasted_iota(np.int32, shape, 1), indices)
    sent = bitwise_and(ge(offset, full_like(offset, 0)), lt(offset, lengths))
    source = mul(broadcasted_iota(np.int32, shape, 0), full_like(offset, height))
    found = reduce_sum(select(sent, add(add(source, first), offset), full_like(offset, 0)), (0,))
    flat = reshape(rows, (count * height, int(np.prod(typeof(operand).shape[1:]))))
    taken = reshape(take_rows(flat, found), typeof(output).shape)
    return select(broadcast_in_dim(reduce_or(sent, (0,)), typeof(output).shape, (0,)), taken, output)


def _lower(ctx: LoweringContext, *values: Any, **params: Any) -> list[Any]:
    region = ctx.module_context.manual
    if region is None:
        raise NameError("ragged_all_to_all stands in a program outside of shard_map, pmap and vmap")
    with region._replace(tracked=False).entered():
        return list(lower_fun(_on_mesh, multiple_results=False)(ctx, *values, **params))


ragged_all_to_all_p.lower[None] = _lower
ragged_all_to_all_p.varies = lambda vma, *, axis_name, **params: vma | set(names_of(axis_name)) & tracked_axes()
ragged_all_to_all_p.type_rule = _ragged_type
ragged_all_to_all_p.collective = _collective
ragged_all_to_all_p.jvp = _jvp
ragged_all_to_all_p.transpose = _transpose


def ragged_all_to_all(
    operand: ArrayLike, output: ArrayLike, input_offsets: ArrayLike, send_sizes: ArrayLike, output_offsets: ArrayLike,
    recv_sizes: ArrayLike, *, axis_name: AxisName, axis_index_groups: Groups = None,
) -> Array:  # fmt: skip
    """Send a piece of rows, of any length, to each member of a named axis.

    Args:
      operand: array: its rows are sent.
      output: array with the rows that nothing is sent to.
      input_offsets, send_sizes: integer vectors: for each destination, the first of the rows that it gets, and how many.
      output_offsets: for each destination, where in its output they go.
      recv_sizes: for each source, how many rows it sends to this member.
      axis_name: name of the axis.
      axis_index_groups: lists of indices along the axis: members exchange rows within their group only.
    Returns: array like ``output``.
    Raises:
      ValueError: shapes or dtypes that don't fit.
      NameError: no such axis is in scope.
    Example: ``vmap(lambda *xs: lax.ragged_all_to_all(*xs, axis_name="i"), axis_name="i")``.
    Source: StableHLO ``ragged_all_to_all``.
    """
    given = (operand, output, input_offsets, send_sizes, output_offsets, recv_sizes)
    values = [checked_operand("ragged_all_to_all", x) for x in given]
    names, groups = names_of(axis_name), checked_groups(axis_name, axis_index_groups)
    size = group_size(axis_name, groups)
    _ragged_type(*map(typeof, values))  # before vmap looks inside
    if typeof(input_offsets).shape != (size,):
        raise ValueError(
            f"ragged_all_to_all requires a number for each of {size} members in input_offsets, got shape "
            f"{typeof(input_offsets).shape}"
        )
    return ragged_all_to_all_p.bind(*values, axis_name=names, axis_index_groups=groups)
