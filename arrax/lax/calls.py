"""Nested programs: the primitive of ``jit`` and its rules; checkpoint and custom rules have files of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive, Tracer, context
from arrax.core.program import ClosedJaxpr, Var, consts_to_invars
from arrax.core.types import Zero, typeof
from arrax.core.wrapped_functions import WrappedFun
from arrax.interpreters.ad.forward import jvp_jaxpr
from arrax.interpreters.ad.partial import Partial, split_program
from arrax.interpreters.ad.transpose import is_undefined_primal, transpose_program
from arrax.interpreters.batching import batch_at, batch_program, running_batch
from arrax.interpreters.dce import dce_closed_call
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import call_program
from arrax.interpreters.ordering import call_with_token
from arrax.interpreters.staging import eval_jaxpr, stage

if TYPE_CHECKING:
    from arrax.core.interpreter import Interpreter
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.xla.arrays import Array, ArrayLike


class CompiledCall(Primitive):
    """A call of a compiled function. Interpreters of libraries are told that it has not been inlined."""

    __slots__ = ()

    def hand_to(self, trace: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> list[Array]:
        """Let an interpreter of a library give the call its meaning."""
        return super().hand_to(trace, args, {"inline": False, **params})


jit_p = CompiledCall("pjit", multiple_results=True)
jit_p.hidden_params = frozenset({"donated", "options", "inline"})


def consts_as_inputs(program: ClosedJaxpr) -> ClosedJaxpr:
    """Like ``consts_to_invars``, made once for a program that lives on."""
    return program.memo("consts as inputs", lambda: ClosedJaxpr(consts_to_invars(program.jaxpr)))


Adapt = Callable[[dict[str, Any], Sequence[int | None]], dict[str, Any]]


def _same_params(params: dict[str, Any], sources: Sequence[int | None]) -> dict[str, Any]:
    return params


def bind_program(
    primitive: Primitive, program: ClosedJaxpr, args: Sequence[Any], params: dict[str, Any], adapt: Adapt = _same_params
) -> list[Any]:
    """Apply a primitive that holds one program in the parameter ``jaxpr``.

    Tracers that a derivative rule closed over are no constants: they become operands.
    """
    if any(isinstance(const, Tracer) for const in program.consts):
        params = adapt(params, [*[None] * len(program.consts), *range(len(args))])
        args = [*program.consts, *args]
        program = ClosedJaxpr(consts_to_invars(program.jaxpr), ())
    return context.interpreter.process(primitive, tuple(args), {**params, "jaxpr": program})


def program_type_rule(*avals: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    """The results' types are the program's."""
    return jaxpr.out_avals


def program_effects(*avals: Any, jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
    """The effects are the program's."""
    return jaxpr.effects


def program_jvp(primitive: Primitive, adapt: Adapt = _same_params) -> Callable[..., Any]:
    """The jvp slot: the program with tangents."""

    def rule(
        primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, jaxpr: ClosedJaxpr, **params: Any
    ) -> tuple[list[Any], list[Any]]:
        nonzeros = [type(t) is not Zero for t in tangents]
        derived, out_nonzeros = jvp_jaxpr(jaxpr, nonzeros)
        given = [t for t in tangents if type(t) is not Zero]
        params = adapt(params, [*range(len(primals)), *[None] * len(given)])
        outs = bind_program(primitive, derived, [*primals, *given], params, adapt)
        count = len(jaxpr.jaxpr.outvars)
        rest = iter(outs[count:])
        out_tangents = [
            next(rest) if nz else Zero(aval.to_tangent_aval())
            for nz, aval in zip(out_nonzeros, jaxpr.out_avals, strict=True)
        ]
        return outs[:count], out_tangents

    return rule


def program_partial_eval(primitive: Primitive) -> Callable[..., Any]:
    """The partial_eval slot: the known part runs, the rest is recorded with the residuals as operands."""

    def rule(interpreter: Partial, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        program: ClosedJaxpr = params["jaxpr"]
        rest_params = {k: v for k, v in params.items() if k != "jaxpr"}
        unknown = [interpreter.is_unknown(arg) for arg in args]
        split = split_program(program, unknown)
        known_args = [arg for arg, u in zip(args, unknown, strict=True) if not u]
        known_outs = _known_results(interpreter, primitive, split.known, known_args, rest_params)
        count = len(split.out_unknown) - sum(split.out_unknown)
        outs, residuals = iter(known_outs[:count]), known_outs[count:]
        unknown_args = [arg for arg, u in zip(args, unknown, strict=True) if u]
        recorded: list[Any] = []
        if any(split.out_unknown):
            recorded = interpreter.record(primitive, [*residuals, *unknown_args], {**rest_params, "jaxpr": split.rest})
        rest = iter(recorded)
        return [next(rest) if u else next(outs) for u in split.out_unknown]

    return rule


def _known_results(
    interpreter: Partial, primitive: Primitive, known: ClosedJaxpr, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Results of a known program; those that are its own inputs or constants are handed on, not copied."""
    lean, sources = known.memo("forwarding", lambda: _without_forwarded(known))
    outs: list[Any] = []
    if lean.jaxpr.outvars or lean.effects:
        outs = interpreter.evaluate(primitive, args, {**params, "jaxpr": lean})
    pools = {"input": args, "const": known.consts, "output": outs}
    return [pools[kind][number] for kind, number in sources]


def _without_forwarded(program: ClosedJaxpr) -> tuple[ClosedJaxpr, list[tuple[str, int]]]:
    """The program without results that it has already, and where each result is found: ("input", number) and so on."""
    jaxpr = program.jaxpr
    origins: dict[Any, tuple[str, int]] = {var: ("input", n) for n, var in enumerate(jaxpr.invars)}
    origins.update({var: ("const", n) for n, var in enumerate(jaxpr.constvars)})
    kept: list[Any] = []
    sources: list[tuple[str, int]] = []
    for atom in jaxpr.outvars:
        origin = origins.get(atom) if isinstance(atom, Var) else None
        if origin is None:
            origin = ("output", len(kept))
            kept.append(atom)
            if isinstance(atom, Var):
                origins[atom] = origin
        sources.append(origin)
    return program if len(kept) == len(jaxpr.outvars) else program.replace(jaxpr=jaxpr.replace(outvars=kept)), sources


def program_transpose(primitive: Primitive, adapt: Adapt = _same_params) -> Callable[..., Any]:
    """The transpose slot: the transposed program."""

    def rule(cts: Sequence[Any], *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        linear = [is_undefined_primal(arg) for arg in args]
        nonzero = [type(ct) is not Zero for ct in cts]
        derived, out_nonzero = transpose_program(jaxpr, linear, nonzero)
        known = [arg for arg, is_linear in zip(args, linear, strict=True) if not is_linear]
        given = [ct for ct in cts if type(ct) is not Zero]
        known_numbers = [number for number, is_linear in enumerate(linear) if not is_linear]
        params = adapt(params, [*known_numbers, *[None] * len(given)])
        outs = iter(bind_program(primitive, derived, [*known, *given], params, adapt))
        flags = iter(out_nonzero)
        return [
            (next(outs) if next(flags) else Zero(arg.aval.to_tangent_aval())) if is_linear else None
            for arg, is_linear in zip(args, linear, strict=True)
        ]

    return rule


def program_batch(primitive: Primitive, adapt: Adapt = _same_params) -> Callable[..., Any]:
    """The batch slot: the batched program."""

    def rule(
        values: Sequence[ArrayLike], dims: Dims, *, jaxpr: ClosedJaxpr, **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        axis = running_batch().axis
        mapped = [dim is not None for dim in dims]
        derived, out_mapped = batch_program(jaxpr, axis, mapped)
        moved = [batch_at(x, d, axis) if d is not None else x for x, d in zip(values, dims, strict=True)]
        return bind_program(primitive, derived, moved, params, adapt), [0 if m else None for m in out_mapped]

    return rule


def fill_program_rules(primitive: Primitive, adapt: Adapt = _same_params) -> None:
    """Fill the slots of a primitive that only calls its program ``jaxpr``.

    Args:
      adapt: its parameters for other operands, of which each is one of those before, by number, or a new one (None).
    """
    primitive.holds_programs = True
    primitive.type_rule = program_type_rule
    primitive.effects_rule = program_effects
    primitive.jvp = program_jvp(primitive, adapt)
    primitive.partial_eval = program_partial_eval(primitive)
    primitive.transpose = program_transpose(primitive, adapt)
    primitive.batch = program_batch(primitive, adapt)
    primitive.dce = lambda used, eqn: dce_closed_call(used, eqn, "jaxpr")
    primitive.with_token = call_with_token("jaxpr")
    primitive.by_operation = lambda *args, jaxpr, **params: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)


def _with_donated(params: dict[str, Any], sources: Sequence[int | None]) -> dict[str, Any]:
    """The parameters of a compiled call for other operands, of which new ones are not donated."""
    donated = params.get("donated")
    if donated is None:
        return params
    return {**params, "donated": tuple(source is not None and donated[source] for source in sources)}


fill_program_rules(jit_p, _with_donated)
jit_p.lower[None] = lambda ctx, *args, jaxpr, name, **params: call_program(
    ctx.module_context, name, jaxpr, args, shown_as=f"jit({name})"
)


class CallPrimitive(Primitive):
    """A primitive that calls a function, which ``bind`` gets first, as a ``WrappedFun`` of flat arguments to a list of results.

    Equations hold the function's program, in the parameter ``jaxpr``; all transformations are those of the program.

    Example: ``from arrax.extend import linear_util; again = arrax.extend.core.CallPrimitive('again');
    again.bind(linear_util.wrap_init(lambda v: [v + 1]), 2)`` is ``[3]``.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, multiple_results=True)
        self.call_primitive = True
        fill_program_rules(self)
        self.lower[None] = lambda ctx, *args, jaxpr, name=name, **params: call_program(
            ctx.module_context, name, jaxpr, args, shown_as=""
        )
        self.own_impl = self.by_operation

    def bind(self, *args: Any, subfuns: Sequence[WrappedFun] = (), **params: Any) -> list[Any]:
        """Call a function, the first argument or the only one of ``subfuns``, with the others."""
        values: list[Any] = [*subfuns, *args]
        fun, *operands = values
        if not isinstance(fun, WrappedFun):
            raise TypeError(f"{self.name}: the first argument must be a function (linear_util.wrap_init), got {fun!r}")
        jaxpr, consts = stage(fun.call_wrapped, [typeof(operand) for operand in operands])
        return bind_program(self, ClosedJaxpr(jaxpr, consts), operands, params)

    @property
    def impl(self) -> Callable[..., Any]:
        """The function for concrete values."""
        return self.own_impl or super().impl

    @impl.setter
    def impl(self, function: Callable[..., Any] | None) -> None:
        if function is None:
            self.own_impl = self.by_operation
            return

        def evaluate(*args: ArrayLike, jaxpr: ClosedJaxpr, **params: Any) -> list[Array]:
            return function(WrappedFun(lambda *values: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values)), *args, **params)

        self.own_impl = evaluate


def call_impl(f: WrappedFun, *args: ArrayLike, **params: Any) -> list[Any]:
    """Call a function: what a ``CallPrimitive`` does with concrete values.

    Example: ``from arrax.extend import linear_util;
    arrax.extend.core.call_impl(linear_util.wrap_init(lambda v: [v + 1]), 2)`` is ``[3]``.
    """
    return f.call_wrapped(*args)


core_call_p = CallPrimitive("core_call")


def _lower_core_call(
    ctx: LoweringContext, *args: Value, jaxpr: ClosedJaxpr, name: str = "core_call", apart: bool = False
) -> list[Value]:
    """The program, kept apart where that is asked for and the compiler need not divide it over devices."""
    apart = apart and ctx.platform == "cpu" and ctx.module_context.num_devices == 1
    return call_program(ctx.module_context, name, jaxpr, args, apart=apart, shown_as="")


core_call_p.lower[None] = _lower_core_call


def call_apart(function: Callable[..., Sequence[Any]], *args: ArrayLike) -> list[Any]:
    """Call a function of arrays so that the CPU's compiler fuses none of its operations with others around it."""
    if context.interpreter.is_evaluation:
        return list(function(*args))
    name = function.__name__.strip("_")
    return core_call_p.bind(WrappedFun(lambda *values: list(function(*values))), *args, name=name, apart=True)


def call(fun: WrappedFun, *args: ArrayLike, **params: Any) -> list[Any]:
    """Call a function of flat arguments as a nested program.

    Args:
      fun: made by ``linear_util.wrap_init``.
    Returns: list of its results.
    Example: ``from arrax.extend import linear_util; arrax.core.call(linear_util.wrap_init(lambda v: [v + 1]), 2)`` is ``[3]``.
    """
    return core_call_p.bind(fun, *args, **params)
