"""Calls of linear functions whose transposes the user gives: the primitive behind ``linear_call`` and ``custom_transpose``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arrax.core.interpreter import Primitive
from arrax.core.program import ClosedJaxpr
from arrax.core.types import Zero, instantiate, slots, typeof
from arrax.interpreters.ad.transpose import is_undefined_primal
from arrax.interpreters.batching import batch_at, batch_program, running_batch
from arrax.interpreters.lowering.module import call_program
from arrax.interpreters.ordering import call_with_token
from arrax.interpreters.staging import eval_jaxpr

Opened = tuple[ClosedJaxpr, list[Any]]  # a program whose constants are its leading inputs, and these


class Reverse:
    """The transposed program of a call, which is recorded when it is asked for."""

    __slots__ = ("find", "found")

    def __init__(self, find: Callable[[], Opened]) -> None:
        self.find = find
        self.found: Opened | None = None

    def __call__(self) -> Opened:
        if self.found is None:
            self.found = self.find()
        return self.found

    def __repr__(self) -> str:
        return "<transpose>"


# Operands: values that the function closes over, residuals, linear operands.
linear_call_p = Primitive("linear_call", multiple_results=True)
linear_call_p.holds_programs = True
linear_call_p.type_rule = lambda *avals, callee, **params: callee.out_avals
linear_call_p.effects_rule = lambda *avals, callee, **params: callee.effects
linear_call_p.with_token = call_with_token("callee")
linear_call_p.impl = lambda *args, callee, **params: eval_jaxpr(callee.jaxpr, callee.consts, *args)
linear_call_p.by_operation = linear_call_p.own_impl
linear_call_p.lower[None] = lambda ctx, *args, callee, **params: call_program(
    ctx.module_context, "linear_call", callee, args, shown_as=""
)


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, num_callee_consts: int, num_res: int, **params: Any
) -> tuple[list[Any], list[Any]]:
    fixed = num_callee_consts + num_res
    if any(type(t) is not Zero for t in tangents[:fixed]):
        raise NotImplementedError(
            "linear_call has no derivative in its residual arguments, nor in what its function closes over: only in its "
            "linear ones. A function that is to be differentiated in all of them needs a rule of its own (custom_jvp)."
        )
    params = {**params, "num_callee_consts": num_callee_consts, "num_res": num_res}
    given = [
        slots.zeros(typeof(x)) if type(t) is Zero else t for x, t in zip(primals[fixed:], tangents[fixed:], strict=True)
    ]
    return linear_call_p.bind(*primals, **params), linear_call_p.bind(*primals[:fixed], *given, **params)


def _transpose(
    cts: Sequence[Any], *args: Any, callee: ClosedJaxpr, transpose_thunk: Reverse, num_callee_consts: int, num_res: int
) -> list[Any]:
    fixed = num_callee_consts + num_res
    if any(map(is_undefined_primal, args[:fixed])):
        raise NotImplementedError("linear_call: a program cannot be transposed in its residual arguments")
    program, consts = transpose_thunk()
    found = linear_call_p.bind(
        *consts, *args[num_callee_consts:fixed], *map(instantiate, cts), callee=program, num_callee_consts=len(consts), num_res=num_res,
        transpose_thunk=Reverse(lambda: (callee, list(args[:num_callee_consts]))),
    )  # fmt: skip
    linear = zip(found, args[fixed:], strict=True)
    return [*[None] * fixed, *(ct if is_undefined_primal(arg) else None for ct, arg in linear)]


def _batch(
    values: Sequence[Any],
    dims: Sequence[Any],
    *,
    callee: ClosedJaxpr,
    transpose_thunk: Reverse,
    num_callee_consts: int,
    num_res: int,
) -> tuple[list[Any], list[int]]:
    """Linear operands and results all get the axis: then those of the transposed program do, too."""
    batch, fixed = running_batch(), num_callee_consts + num_res
    axis = batch.axis
    moved = [
        x if dim is None and number < fixed else batch_at(x, dim, axis)
        for number, (x, dim) in enumerate(zip(values, dims, strict=True))
    ]
    mapped = [dim is not None for dim in dims[:fixed]]

    def over_batch(program: ClosedJaxpr, consts: Sequence[bool], linear: int) -> ClosedJaxpr:
        flags = [*consts, *mapped[num_callee_consts:], *[True] * linear]
        return batch_program(program, axis, flags, True)[0]

    def transposed() -> Opened:
        program, consts = transpose_thunk()
        pairs = [batch.lift(const) for const in consts]
        flags = [dim is not None for _, dim in pairs]
        placed = [x if dim is None else batch_at(x, dim, axis) for x, dim in pairs]
        return over_batch(program, flags, len(callee.out_avals)), placed

    outs = linear_call_p.bind(
        *moved, callee=over_batch(callee, mapped[:num_callee_consts], len(values) - fixed), transpose_thunk=Reverse(transposed),
        num_callee_consts=num_callee_consts, num_res=num_res,
    )  # fmt: skip
    return outs, [0] * len(outs)


linear_call_p.jvp = _jvp
linear_call_p.transpose = _transpose
linear_call_p.batch = _batch
