"""Lowering of a recurrence along an axis to a sequential loop that the CPU compiler turns into one kernel."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import native
from arrax.core.lengths import is_below, is_symbolic
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import call_function
from arrax.lax.kept_bits import kept_type, with_type
from arrax.lax.operand_checks import accumulator

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value

_INDEX = ShapedArray((), np.dtype(np.int32))
_LONG_INDEX = ShapedArray((), np.dtype(np.int64))

Step = Callable[[tuple[int, ...], Sequence[Any], Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]]

_LANES = 8  # elements side by side that are worth a vector
_GROUP = 8  # entries for each turn of a loop that has no vectors: meanwhile the running values stay in registers
_MIN_GROUPED = 1 << 12  # elements; code for single entries is compiled in less time


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
    is_cheap: bool = True,
) -> list[Value]:  # fmt: skip
    """Run ``step`` over the entries of some arrays along an axis, gathering its outputs.

    Args:
      inputs, avals_in: values of one shape.
      starts: host scalars: what each carry is filled with at the start.
      step: ``(shape, carries, entries) -> (carries, outputs)``, values of that shape, which is 1 long along the axis.
      avals_out: types of the gathered outputs, of the inputs' shape.
      carries: dtypes of the carries.
      is_cheap: whether a step may be computed several times.
    Returns: the gathered outputs.
    """
    shape = avals_in[0].shape
    if any(map(is_symbolic, shape)):  # whose lengths are known to the function around it
        return _Loop(ctx, shape, axis, reverse, avals_in, avals_out, carries, step).build(inputs, starts)
    before, behind = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    single = behind < _LANES and math.prod(shape) >= _MIN_GROUPED
    converts = any(accumulator(aval.dtype) != aval.dtype for aval in [*avals_in, *avals_out])
    grouped = single and is_cheap and not converts  # conversions of small floats are not cheap
    by_rows = single and before >= _LANES
    seen, along = ((before, shape[axis], *shape[axis + 1 :]), 1) if by_rows else (shape, axis)
    loop = _Loop(ctx, seen, along, reverse, avals_in, avals_out, carries, step)
    loop.group, loop.by_rows = _GROUP if grouped else 1, by_rows
    name = ctx.module_context.fresh_name(f"{ctx.primitive.name}_loop")
    in_types, out_types = ([builder.ir_type(aval) for aval in avals] for avals in (loop.kept_in, loop.kept_out))
    ir = native.mlir.ir
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(in_types, out_types)),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    with ir.InsertionPoint(ctx.module_context.module.body):
        function = builder.operation("func.func", [], [], attributes, 1)
    block = function.regions[0].blocks.append(*in_types, arg_locs=[ir.Location.unknown()] * len(in_types))
    with builder.inside(block):
        builder.operation("func.return", [], loop.build(list(block.arguments), starts))
    kept = [
        _reshaped(with_type(x, ShapedArray(shape, aval.dtype)), aval)
        for x, aval in zip(inputs, loop.kept_in, strict=True)
    ]
    results = call_function(name, out_types, kept, one_kernel=True)
    return [
        with_type(_reshaped(x, ShapedArray(shape, kept.dtype)), aval)
        for x, kept, aval in zip(results, loop.kept_out, avals_out, strict=True)
    ]


class _Loop:
    """The loops of one recurrence.

    The state of a loop along the axis is (index, *carries, *outputs, *inputs, row), that of the one over rows (row, *outputs,
    *inputs).

    Attributes:
      group: entries for each turn.
      by_rows: whether each row, along the first axis, is gone through by itself.
    """

    def __init__(
        self, ctx: LoweringContext, shape: tuple[int, ...], axis: int, reverse: bool, avals_in: Sequence[ShapedArray],
        avals_out: Sequence[ShapedArray], carries: Sequence[np.dtype], step: Step,
    ) -> None:  # fmt: skip
        self.shape, self.axis, self.length, self.reverse = shape, axis, shape[axis], reverse
        self.dtypes_in, self.dtypes_out = ([aval.dtype for aval in avals] for avals in (avals_in, avals_out))
        self.kept_in, self.kept_out = (
            [kept_type(ctx, ShapedArray(shape, aval.dtype)) for aval in avals] for avals in (avals_in, avals_out)
        )
        self.carries, self.step = carries, step
        self.index = _INDEX if all(is_below(length, 2**31, True) for length in shape) else _LONG_INDEX
        self.group, self.by_rows = 1, False

    def entry(self, dtype: np.dtype, count: int = 1) -> ShapedArray:
        """The type of some entries side by side."""
        rest = self.shape[self.axis + 1 :]
        return ShapedArray((*((1,) if self.by_rows else self.shape[: self.axis]), count, *rest), dtype)

    def build(self, inputs: Sequence[Value], starts: Sequence[Any]) -> list[Any]:
        """Build the loops at the insertion point; returns the gathered outputs."""
        outs = [builder.full(0, aval) for aval in self.kept_out]
        if not self.by_rows:
            return self.along(outs, inputs, starts, builder.full(0, self.index))

        def turn(row: Value, state: list[Any]) -> list[Any]:
            outs, inputs = state[: len(self.kept_out)], state[len(self.kept_out) :]
            return [*self.along(outs, inputs, starts, row), *inputs]

        avals = [self.index, *self.kept_out, *self.kept_in]
        state = [builder.full(0, self.index), *outs, *inputs]
        return _while(state, avals, self.shape[0], 1, turn)[1 : 1 + len(outs)]

    def along(self, outs: Sequence[Value], inputs: Sequence[Value], starts: Sequence[Any], row: Value) -> list[Any]:
        """The loops along the axis: group after group, then what is left, entry after entry."""
        carries = [self.entry(dtype) for dtype in self.carries]
        avals = [self.index, *carries, *self.kept_out, *self.kept_in, self.index]
        filled = [builder.full(x, aval) for x, aval in zip(starts, carries, strict=True)]
        state = [builder.full(0, self.index), *filled, *outs, *inputs, row]
        grouped = 0 if self.group == 1 else self.length // self.group * self.group
        if grouped:
            state = _while(state, avals, grouped, self.group, functools.partial(self.turn, self.group))
        if is_symbolic(self.length) or grouped < self.length:
            state = _while(state, avals, self.length, 1, functools.partial(self.turn, 1))
        return state[1 + len(carries) :][: len(outs)]

    def turn(self, count: int, index: Value, state: list[Any]) -> list[Any]:
        """The state after some more entries."""
        carries: Sequence[Value] = state[: len(self.carries)]
        rest = state[len(self.carries) :]
        outs, inputs, row = rest[: len(self.kept_out)], rest[len(self.kept_out) : -1], rest[-1]
        if self.reverse:
            index = builder.op("subtract", self.index, _number(self.length - count, self.index), index)
        origin = [builder.full(0, self.index)] * len(self.shape)
        if self.by_rows:
            origin[0] = row
        origin[self.axis] = index
        groups = [
            builder.piece(self.entry(aval.dtype, count), x, origin)
            for x, aval in zip(inputs, self.kept_in, strict=True)
        ]
        found: list[list[Any]] = [[] for _ in outs]
        for at in range(count)[:: -1 if self.reverse else 1]:
            entries = [
                with_type(self.one_of(group, aval.dtype, count, at), self.entry(dtype))
                for group, aval, dtype in zip(groups, self.kept_in, self.dtypes_in, strict=True)
            ]
            carries, results = self.step(self.entry(self.carries[0]).shape, carries, entries)
            for gathered, result, aval in zip(found, results, self.kept_out, strict=True):
                gathered.append(with_type(result, self.entry(aval.dtype)))
        outs = [
            builder.op("dynamic_update_slice", aval, out, self.together(gathered, aval.dtype), *origin)
            for out, gathered, aval in zip(outs, found, self.kept_out, strict=True)
        ]
        return [*carries, *outs, *inputs, row]

    def one_of(self, group: Value, dtype: np.dtype, count: int, at: int) -> Value:
        """One of some entries side by side."""
        if count == 1:
            return group
        starts, limits = [0] * len(self.shape), list(self.entry(dtype).shape)
        starts[self.axis], limits[self.axis] = at, at + 1
        return builder.static_slice(group, self.entry(dtype), starts, limits)

    def together(self, entries: list[Value], dtype: np.dtype) -> Value:
        """Entries side by side."""
        if len(entries) == 1:
            return entries[0]
        ordered = entries[::-1] if self.reverse else entries
        return builder.op(
            "concatenate", self.entry(dtype, len(entries)), *ordered, dimension=builder.integer(self.axis)
        )


def _while(
    state: Sequence[Value], avals: Sequence[ShapedArray], stop: int, width: int,
    turn: Callable[[Value, list[Any]], list[Any]],
) -> list[Any]:  # fmt: skip
    """A loop whose state begins with the index, which grows by ``width`` at each turn until it is ``stop``."""
    index = avals[0]
    loop = builder.operation("stablehlo.while", [builder.ir_type(aval) for aval in avals], list(state), None, 2)
    test = builder.block_with(loop, 0, avals)
    with builder.inside(test):
        builder.return_([builder.compare("LT", (), test.arguments[0], _number(stop, index))])
    body = builder.block_with(loop, 1, avals)
    with builder.inside(body):
        rest = turn(body.arguments[0], list(body.arguments)[1:])
        builder.return_([builder.op("add", index, body.arguments[0], builder.full(width, index)), *rest])
    return list(loop.results)


def _reshaped(x: Value, aval: ShapedArray) -> Value:
    return x if x.type == builder.ir_type(aval) else builder.op("reshape", aval, x)


def _number(length: int, index: ShapedArray) -> Value:
    """A length, which may be a symbol, as a value of the program."""
    return builder.length(length) if is_symbolic(length) else builder.full(length, index)
