"""Loops that report how far they are, at times that the host chooses while they run.

A mark in the body of a loop says that it reports, and to whom; it does nothing by itself, so that transformations only hand it
on. Where a loop is lowered, a marked body makes it a loop in a loop: the outer one calls the host, which answers how many
steps to take until the next call; the inner one takes these steps. Steps themselves stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from arrax.core.effects import Effect
from arrax.core.interpreter import Primitive
from arrax.core.program import ClosedJaxpr, Jaxpr, Literal, open_jaxpr, subprograms
from arrax.core.types import ShapedArray
from arrax.interpreters.batching import bdim_at_front, running_batch
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.other_axes import other_axes
from arrax.lax.arithmetic import add, lt
from arrax.lax.host_functions import call_host
from arrax.xla import host_failures

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Value
    from arrax.interpreters.lowering.contexts import LoweringContext, ModuleContext
    from arrax.xla.arrays import ArrayLike

STEPS, _FLAG, _DEVICE = ShapedArray((), np.int64), ShapedArray((), np.bool_), ShapedArray((), np.uint32)
UNKNOWN = -1


class Listener(Protocol):
    """Who hears of a loop's steps. Hashable: it is a parameter of operations."""

    def __call__(
        self, handle: int, steps: int, total: int, ended: bool, repeated: bool, values: Sequence[np.ndarray]
    ) -> tuple[int, int]:
        """Hear that a loop has taken some steps; give a handle of this run, and how many steps to take next, 0 to end it.

        Args:
          handle: what the last call of this run has given; 0 at first.
          total: how many steps there will be, or ``UNKNOWN``.
          ended: whether these were all.
          repeated: whether another device reports of the same loop.
          values: those of the last step that go with the mark; zeros before the first.
        """


class ReportEffect(Effect):
    """A loop that reports."""

    __slots__ = ()
    needs_caller = stops = True


report_effect = ReportEffect("Report")
report_p = Primitive("report", multiple_results=True, cost=0)
report_p.type_rule = lambda *avals, **params: []
report_p.effects_rule = lambda *avals, **params: frozenset({report_effect})
report_p.impl = lambda *values, **params: []
report_p.jvp = lambda primals, tangents, **params: (report_p.bind(*primals, **params), [])
report_p.lower[None] = lambda ctx, *values, **params: []


def _batch(values: Sequence[ArrayLike], dims: Dims, **params: Any) -> tuple[list[Any], list[Any]]:
    """One loop serves all examples: the values of all of them go with it."""
    size = running_batch().size
    moved = [x if d is None else bdim_at_front(x, d, size) for x, d in zip(values, dims, strict=True)]
    return report_p.bind(*moved, **params), []


report_p.batch = _batch


def mark_loop(listener: Listener, values: Sequence[Any] = ()) -> None:
    """Let the loop around the function that is being traced report to a listener.

    Args:
      values: arrays that go with the report, those of the last step. Only the loop's own body can give them, not a function
        that is jitted inside of it.
    """
    report_p.bind(*values, listener=listener)


def listener_of(program: ClosedJaxpr) -> Listener | None:
    """Whom a loop with this body reports to, or None."""
    if report_effect not in program.effects:
        return None
    return program.memo("listener", lambda: _listener_in(program.jaxpr))


def _listener_in(jaxpr: Jaxpr) -> Listener | None:
    for eqn in jaxpr.eqns:
        if eqn.primitive is report_p:
            return eqn.params["listener"]
        if report_effect in eqn.effects and getattr(eqn.primitive.with_token, "calls", False):
            # not in loops of its own, nor in branches
            for inner in subprograms(eqn.params):
                found = _listener_in(open_jaxpr(inner))
                if found is not None:
                    return found
    return None


def with_values(program: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """The body of a loop with the values of its mark as further results, and their types."""
    if listener_of(program) is None:
        return program, []
    return program.memo("with values", lambda: _with_values(program))


def _with_values(program: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    mark = next((eqn for eqn in program.jaxpr.eqns if eqn.primitive is report_p), None)
    if mark is None:
        return program, []
    jaxpr = program.jaxpr.replace(outvars=[*program.jaxpr.outvars, *mark.invars])
    return program.replace(jaxpr=jaxpr), [atom.aval for atom in mark.invars]


# ---- lowering --------------------------------------------------------------------------------------------------------


def while_ir(
    init: Sequence[Any],
    avals: Sequence[ShapedArray],
    cond: Callable[[list[Any]], Any],
    body: Callable[[list[Any]], list[Any]],
) -> list[Any]:
    """A ``stablehlo.while`` with regions built by two functions; values from outside are captured."""
    types = [builder.ir_type(aval) for aval in avals]
    operation = builder.operation("stablehlo.while", types, init, None, 2)
    for index, build in enumerate((lambda carry: [cond(carry)], body)):
        block = builder.block_with(operation, index, avals)
        with builder.inside(block):
            builder.return_(build(list(block.arguments)))
    return list(operation.results)


def loop_ir(
    ctx: LoweringContext,
    program: ClosedJaxpr,
    init: Sequence[Any],
    avals: Sequence[ShapedArray],
    cond: Callable[[list[Any]], Any],
    body: Callable[[list[Any]], list[Any]],
    total: Callable[[], Any],
    value_avals: Sequence[ShapedArray] = (),
    steps_per_turn: int = 1,
    last: Callable[[list[Any]], list[Any]] = lambda state: state,
    last_steps: int = 0,
) -> list[Any]:
    """Like ``while_ir``; if the steps' program is marked, the loop reports.

    Args:
      program: of one step.
      body: gives the values of the mark, too, behind the carry.
      total: gives the number of steps in the program, or None.
      value_avals: types of the values of the mark.
      steps_per_turn: how many steps ``body`` takes.
      last: takes the steps that are left when the loop ends; from what ``body`` gives to the same after them.
      last_steps: how many these are.
    """
    listener = listener_of(program)
    if listener is None:
        return last(while_ir(init, avals, cond, body))
    count = len(avals)
    number = lambda value: builder.constant(np.int64(value))  # noqa: E731
    whole = total()
    whole = number(UNKNOWN) if whole is None else whole
    repeated = _is_repeated(ctx.module_context)

    def call(handle: Value, turns: Value, values: list[Any], ended: bool) -> list[Value]:
        steps = builder.op("multiply", STEPS, turns, number(steps_per_turn))
        if ended and last_steps:
            steps = builder.op("add", STEPS, steps, number(last_steps))
        operands = [handle, steps, whole, builder.constant(np.bool_(ended)), repeated, *values]
        kinds = [STEPS, STEPS, STEPS, _FLAG, _FLAG, *value_avals]
        name, entry = "debug.progress", _entry(listener)
        return call_host(ctx.module_context, name, entry, operands, kinds, [STEPS, STEPS], side_effect=True)

    def inner_goes_on(state: list[Any]) -> Value:
        left, going, *_ = state
        return builder.op("and", _FLAG, going, builder.compare("GT", (), left, number(0)))

    def inner(state: list[Any]) -> list[Value]:
        left, _, *carry = state
        carry = body(carry[:count])
        going = cond(carry[:count])  # which is asked once for each step
        return [builder.op("subtract", STEPS, left, number(1)), going, *carry]

    def outer(state: list[Any]) -> list[Any]:
        handle, turns, going, *carry = state
        handle, wanted = call(handle, turns, carry[count:], False)
        going = builder.op("and", _FLAG, going, builder.compare("GT", (), wanted, number(0)))
        left, going, *carry = while_ir([wanted, going, *carry], [STEPS, _FLAG, *carried], inner_goes_on, inner)
        taken = builder.op("subtract", STEPS, wanted, left)
        return [handle, builder.op("add", STEPS, turns, taken), going, *carry]

    carried = [*avals, *value_avals]
    start = [number(0), number(0), cond(list(init)), *init, *(builder.full(0, aval) for aval in value_avals)]
    handle, turns, _, *carry = while_ir(start, [STEPS, STEPS, _FLAG, *carried], lambda state: state[2], outer)
    carry = last(carry)
    call(handle, turns, carry[count:], True)
    return carry[:count]


def _is_repeated(module: ModuleContext) -> Value:
    """Whether another device than the first one runs the loop, where each does so by itself."""
    if module.manual is None or other_axes(module):
        return builder.constant(np.bool_(False))
    number = builder.op("partition_id", _DEVICE)
    return builder.compare("NE", (), number, builder.constant(np.uint32(0)))


def _entry(listener: Listener) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    def run(*values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        handle, steps, total, ended, repeated = (value.item() for value in values[:5])
        try:
            handle, following = listener(handle, steps, total, ended, repeated, values[5:])
        except BaseException as error:
            host_failures.hand_over(error, "debug.progress")
            raise
        return np.asarray(handle, np.int64), np.asarray(following, np.int64)

    return run


def counted_steps(cond: Jaxpr, body: Jaxpr, cond_nconsts: int, body_nconsts: int) -> tuple[int, int] | None:
    """Where a loop counts up by one, from which of its numbers it does so and to which: places among the inputs of ``cond``."""
    if len(cond.eqns) != 1 or cond.eqns[0].primitive is not lt.primitive or cond.outvars != cond.eqns[0].outvars:
        return None
    indices = {var: index for index, var in enumerate(cond.invars)}
    counter, end = (None if isinstance(atom, Literal) else indices.get(atom) for atom in cond.eqns[0].invars)
    if counter is None or end is None or counter < cond_nconsts:
        return None
    if cond.invars[counter].aval.shape or not np.issubdtype(cond.invars[counter].aval.dtype, np.signedinteger):
        return None
    following = {index: body.outvars[index - cond_nconsts] for index in (counter, end) if index >= cond_nconsts}
    before = {index: body.invars[index - cond_nconsts + body_nconsts] for index in following}
    maker = next((eqn for eqn in body.eqns if following[counter] in eqn.outvars), None)
    if maker is None or maker.primitive is not add.primitive or maker.invars[0] is not before[counter]:
        return None
    step = maker.invars[1]
    if not isinstance(step, Literal) or step.val != 1 or following.get(end) is not before.get(end):
        return None
    return counter, end
