"""Checks where examples of a batch go different ways: what an example does not run does not fail.

Batching runs all branches for all examples, and loops go on for examples that have finished. So checks in them get a mask,
where they stand: which examples take the branch, or are still in the loop. Where operations run at once, branches and loops
are compiled all the same, which nothing with checks can be: there, checks become results, and raise afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.interpreter import Primitive, context
from arrax.core.program import ClosedJaxpr, JaxprEqn
from arrax.core.sequences import split_list
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.batching import batch_within, running_batch
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.interpreters.trace_state import under_jit
from arrax.lax.arithmetic import eq
from arrax.lax.calls import consts_as_inputs, program_type_rule
from arrax.lax.control_flow.conditional_rules import bind_cond, cond_p
from arrax.lax.control_flow.loop_rules import bind_while, while_p
from arrax.lax.control_flow.scan_rules import bind_scan, scan_p, settings_of
from arrax.lax.runtime_checks import FailedCheckError, bind_check, check_effect, check_p
from arrax.lax.selection import select
from arrax.lax.shape_slots import shape_slots
from arrax.transforms.discharge import bind_changed, rule_of, unchecked, walk
from arrax.xla.arrays import Array

_FLAG, _USER = ShapedArray((), np.dtype(np.bool_)), frozenset({FailedCheckError})


def _run(program: ClosedJaxpr, args: Sequence[Any], taken: Array) -> list[Any]:
    """Apply the equations of a program, whose checks count where ``taken`` holds."""
    return walk(program, args, lambda eqn, values: _apply(eqn, values, taken))


def _masked(program: ClosedJaxpr) -> ClosedJaxpr:
    """(taken, *args) -> what a program gives, whose checks count where ``taken`` holds."""

    def flat(taken: Array, *args: Any) -> list[Any]:
        return _run(program, args, taken)

    return program.memo(
        "masked checks", lambda: ClosedJaxpr(*stage(flat, [_FLAG, *program.in_avals], program.jaxpr.debug_info))
    )


def _bind(code: Any, payload: Sequence[Any], sites: Any, taken: Array) -> None:
    shape = typeof(code).shape
    flags = shape_slots.broadcast_in_dim(taken, shape, ()) if shape else taken
    bind_check(select(flags, code, np.zeros(shape, np.int32)), payload, sites)


def _apply(eqn: JaxprEqn, values: Sequence[Any], taken: Array) -> list[Any]:
    primitive, params = eqn.primitive, eqn.params
    if primitive is check_p:
        _bind(values[0], values[1:], params["sites"], taken)
        return []
    if check_effect not in eqn.effects:
        out = context.interpreter.process(primitive, tuple(values), params)
        return list(out) if primitive.multiple_results else [out]
    if primitive is cond_p:
        branches = tuple(map(_masked, params["branches"]))
        return bind_cond(values[0], [taken, *values[1:]], branches, params["branches_platforms"])
    if primitive is scan_p:
        consts, init, xs = split_list(values, [params["num_consts"], params["num_carry"]])
        return bind_scan(_masked(params["jaxpr"]), [taken, *consts], init, xs, settings_of(params))
    if primitive is while_p:
        cond_consts, body_consts, carry = split_list(values, [params["cond_nconsts"], params["body_nconsts"]])
        cond, body = _masked(params["cond_jaxpr"]), _masked(params["body_jaxpr"])
        return bind_while(cond, body, [taken, *cond_consts], [taken, *body_consts], carry)
    if primitive.type_rule is program_type_rule:
        operands = [taken, *params["jaxpr"].consts, *values]
        return bind_changed(eqn, _masked(consts_as_inputs(params["jaxpr"])), operands, len(operands) - len(values))
    ruled = rule_of(primitive)(eqn, values, _USER)
    assert ruled is not None  # there is something to check
    for found in ruled[0]:
        _bind(found.code, found.payload, found.sites, taken)
    return ruled[1]


# ---- batching --------------------------------------------------------------------------------------------------------

_plain_cond, _plain_while = cond_p.batch, while_p.batch


def _batch_cond(values: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[Sequence[Array], Sequence[int]]:
    assert cond_p.effects_rule is not None and _plain_cond is not None
    if check_effect not in cond_p.effects_rule(**params):
        return _plain_cond(values, dims, **params)
    if not under_jit():
        return _checks_afterwards(cond_p, values, dims, params)
    if dims[0] is None:
        return _plain_cond(values, dims, **params)
    index = typeof(values[0]).update(shape=())
    branches = tuple(_branch(branch, number, index) for number, branch in enumerate(params["branches"]))
    params = {**params, "branches": branches, "linear": (False, *params["linear"])}
    return _plain_cond([values[0], *values], [dims[0], *dims], **params)


def _branch(branch: ClosedJaxpr, number: int, index: ShapedArray) -> ClosedJaxpr:
    """(index, *operands) -> what the branch gives, whose checks count where the index is its number."""

    def flat(index: Array, *args: Any) -> list[Any]:
        return _run(branch, args, eq(index, np.asarray(number, typeof(index).dtype)[()]))

    return branch.memo(
        ("checks of branch", number, index),
        lambda: ClosedJaxpr(*stage(flat, [index, *branch.in_avals], branch.jaxpr.debug_info)),
    )


def _batch_while(
    values: Sequence[Any], dims: Sequence[Any], **params: Any
) -> tuple[Sequence[Array], Sequence[int | None]]:
    assert _plain_while is not None
    body, cond = params["body_jaxpr"], params["cond_jaxpr"]
    if check_effect not in body.effects | cond.effects:
        return _plain_while(values, dims, **params)
    if not under_jit():
        return _checks_afterwards(while_p, values, dims, params)
    count = params["cond_nconsts"]
    body = body.memo(("checks of loop", cond), lambda: _body(body, cond, count))
    params = {**params, "body_jaxpr": body, "body_nconsts": count + params["body_nconsts"]}
    return _plain_while([*values[:count], *values], [*dims[:count], *dims], **params)


def _body(body: ClosedJaxpr, cond: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """(*constants of the condition, *operands of the body) -> what the body gives; checks count where the loop goes on.

    Checks of the condition need no mask: what is carried stays as it is where an example has finished.
    """
    test, carried = unchecked(cond), len(body.out_avals)

    def flat(*args: Any) -> list[Any]:
        cond_consts, operands = split_list(args, [count])
        (going,) = eval_jaxpr(test.jaxpr, test.consts, *cond_consts, *operands[len(operands) - carried :])
        return _run(body, operands, going)

    return ClosedJaxpr(*stage(flat, [*cond.in_avals[:count], *body.in_avals], body.jaxpr.debug_info))


def _checks_afterwards(
    primitive: Primitive, values: Sequence[Any], dims: Sequence[Any], params: dict[str, Any]
) -> tuple[Any, Any]:
    eqn = JaxprEqn([], [], primitive, params)

    def flat(*operands: Any) -> list[Any]:
        ruled = rule_of(primitive)(eqn, operands, _USER)
        assert ruled is not None
        for found in ruled[0]:
            bind_check(found.code, found.payload, found.sites)
        return ruled[1]

    return batch_within(running_batch(), flat, values, dims)


cond_p.batch, while_p.batch = _batch_cond, _batch_while
