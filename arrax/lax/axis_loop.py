"""Lowering of a recurrence along an axis to a sequential loop that the CPU compiler turns into one kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import native
from arrax.core.calls import is_below, is_symbolic
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.module import LoweringContext, call_function
from arrax.lax.kept_bits import kept_type, with_type

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value

_INDEX = ShapedArray((), np.dtype(np.int32))
_LONG_INDEX = ShapedArray((), np.dtype(np.int64))

Step = Callable[[Sequence[Any], Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]]


_LANES, _LEAST_MOVED = 8, 1 << 12


def with_axis_in_front(rule: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """A lowering rule that sees the axis in front where the entries along it would not lie side by side.

    The rule takes and gives arrays of one shape. Two transpositions cost less than a loop without vectors.
    """

    def moved(ctx: LoweringContext, *values: Value, axis: int, **params: Any) -> Sequence[Value]:
        shape = ctx.avals_out[0].shape
        before, behind = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        if any(map(is_symbolic, shape)) or behind >= _LANES or before < _LANES or math.prod(shape) < _LEAST_MOVED:
            return rule(ctx, *values, axis=axis, **params)
        order = [axis, *(dim for dim in range(len(shape)) if dim != axis)]
        avals_in, avals_out = (
            [ShapedArray(tuple(aval.shape[dim] for dim in order), aval.dtype) for aval in avals]
            for avals in (ctx.avals_in, ctx.avals_out)
        )
        there, back = builder.ints(order), builder.ints(np.argsort(order).tolist())
        turned = [builder.op("transpose", aval, x, permutation=there) for aval, x in zip(avals_in, values, strict=True)]
        results = rule(ctx.replace(avals_in=avals_in, avals_out=avals_out), *turned, axis=0, **params)
        plain = [ShapedArray(aval.shape, aval.dtype) for aval in ctx.avals_out]
        return [builder.op("transpose", aval, x, permutation=back) for aval, x in zip(plain, results, strict=True)]

    return moved


def known_or_by_loop(
    known: Callable[..., Sequence[Any]], loop: Callable[..., Sequence[Any]]
) -> Callable[..., Sequence[Any]]:
    """A lowering rule for arrays of known lengths, and a loop where some are symbols."""

    def rule(ctx: LoweringContext, *values: Value, **params: Any) -> Sequence[Value]:
        unknown = any(map(is_symbolic, ctx.avals_out[0].shape))
        return (loop if unknown else known)(ctx, *values, **params)

    return rule


def lower_along_axis(
    ctx: LoweringContext, inputs: Sequence[Value], starts: Sequence[Any], step: Step, *,
    avals_in: Sequence[ShapedArray], avals_out: Sequence[ShapedArray], carries: Sequence[Any], axis: int, reverse: bool,
) -> list[Value]:  # fmt: skip
    """Run ``step`` over the entries of some arrays along an axis, gathering its outputs.

    Args:
      inputs, avals_in: values of equal length along ``axis``.
      starts: host scalars: what each carry is filled with at the start.
      step: ``(carries, entries) -> (carries, outputs)``, values of the inputs' shape with length 1 along ``axis``.
      avals_out: types of the gathered outputs.
      carries: dtypes of the carries, whose shape is that of an entry.
    Returns: the gathered outputs.
    """
    kept_in, kept_out = ([kept_type(ctx, aval) for aval in avals] for avals in (avals_in, avals_out))
    loop = _Loop(kept_in, kept_out, carries, axis, reverse)
    ir = native.mlir.ir

    def with_own_types(carries: Sequence[Value], entries: Sequence[Value]) -> tuple[Sequence[Any], Sequence[Any]]:
        own = [ShapedArray(loop.entry, aval.dtype) for aval in avals_in]
        new_carries, outs = step(carries, list(map(with_type, entries, own)))
        kept = [ShapedArray(loop.entry, aval.dtype) for aval in kept_out]
        return new_carries, list(map(with_type, outs, kept))

    if any(map(is_symbolic, avals_in[0].shape)):  # whose lengths are known to the function around it
        results = loop.build(list(map(with_type, inputs, kept_in)), starts, with_own_types)
        return list(map(with_type, results, avals_out))
    name = ctx.module_context.fresh_name(f"{ctx.primitive.name}_loop")
    in_types = [builder.ir_type(aval) for aval in kept_in]
    out_types = [builder.ir_type(aval) for aval in kept_out]

    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(in_types, out_types)),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    with ir.InsertionPoint(ctx.module_context.module.body):
        function = builder.operation("func.func", [], [], attributes, 1)
    block = function.regions[0].blocks.append(*in_types, arg_locs=[ir.Location.unknown()] * len(in_types))
    with builder.inside(block):
        builder.operation("func.return", [], loop.build(list(block.arguments), starts, with_own_types))
    results = call_function(name, out_types, list(map(with_type, inputs, kept_in)), one_kernel=True)
    return list(map(with_type, results, avals_out))


class _Loop:
    """The ``while`` of one recurrence: its state is (index, *carries, *outputs, *inputs)."""

    def __init__(
        self,
        avals_in: Sequence[ShapedArray],
        avals_out: Sequence[ShapedArray],
        carries: Sequence[Any],
        axis: int,
        reverse: bool,
    ) -> None:
        shape = avals_in[0].shape
        self.entry, self.axis, self.length, self.reverse = (
            (*shape[:axis], 1, *shape[axis + 1 :]),
            axis,
            shape[axis],
            reverse,
        )
        self.index = _INDEX if is_below(self.length, 2**31, True) else _LONG_INDEX
        self.avals_in, self.avals_out = avals_in, avals_out
        self.carry_avals = [ShapedArray(self.entry, dtype) for dtype in carries]
        self.state = [self.index, *self.carry_avals, *avals_out, *avals_in]

    def build(self, inputs: Sequence[Value], starts: Sequence[Any], step: Step) -> list[Any]:
        """Build the loop at the insertion point; returns the gathered outputs."""
        filled = [builder.full(x, aval) for x, aval in zip(starts, self.carry_avals, strict=True)]
        empty = [builder.full(0, aval) for aval in self.avals_out]
        values = [builder.full(0, self.index), *filled, *empty, *inputs]
        loop = builder.operation("stablehlo.while", [builder.ir_type(aval) for aval in self.state], values, None, 2)
        test = builder.block_with(loop, 0, self.state)
        with builder.inside(test):
            builder.return_([builder.compare("LT", (), test.arguments[0], self.number(self.length))])
        body = builder.block_with(loop, 1, self.state)
        with builder.inside(body):
            builder.return_(self.iteration(list(body.arguments), step))
        first = 1 + len(self.carry_avals)
        return list(loop.results)[first : first + len(self.avals_out)]

    def number(self, length: int) -> Value:
        """A length as a value of the program."""
        return builder.length(length) if is_symbolic(length) else builder.full(length, self.index)

    def iteration(self, state: list[Any], step: Step) -> list[Value]:
        """The state after one more entry."""
        index, rest = state[0], state[1:]
        carries, rest = rest[: len(self.carry_avals)], rest[len(self.carry_avals) :]
        outs, inputs = rest[: len(self.avals_out)], rest[len(self.avals_out) :]
        position = builder.op("subtract", self.index, self.number(self.length - 1), index) if self.reverse else index
        zero = builder.full(0, self.index)
        indices = [position if i == self.axis else zero for i in range(len(self.entry))]
        entries = [
            builder.piece(ShapedArray(self.entry, aval.dtype), x, indices)
            for x, aval in zip(inputs, self.avals_in, strict=True)
        ]
        new_carries, results = step(carries, entries)
        outs = [
            builder.op("dynamic_update_slice", aval, out, result, *indices)
            for out, result, aval in zip(outs, results, self.avals_out, strict=True)
        ]
        following = builder.op("add", self.index, index, builder.full(1, self.index))
        return [following, *new_carries, *outs, *inputs]
