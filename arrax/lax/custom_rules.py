"""Functions with derivative rules of the user's: the primitives behind ``custom_jvp`` and ``custom_vjp``.

Until they are staged they hold Python functions, so that plain evaluation runs the user's code on concrete values; staging
turns the function into a program and keeps the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core import errors
from arrax.core.interpreter import Primitive, context
from arrax.core.program import ClosedJaxpr
from arrax.core.types import ShapedArray, Zero, instantiate, typeof
from arrax.core.wrapped_functions import WrappedFun, wrap_init
from arrax.interpreters.ad.partial import Partial
from arrax.interpreters.ad.transpose import backward_pass
from arrax.interpreters.batching import batch_within, move_batch_axis, running_batch
from arrax.interpreters.lowering.module import call_program
from arrax.interpreters.ordering import call_with_token
from arrax.interpreters.staging import PYTHON_SCALARS, Staging, current_recorder, eval_jaxpr, stage
from arrax.lax.custom_linear_calls import Hidden, custom_linear_p
from arrax.lax.shape_slots import shape_slots

if TYPE_CHECKING:
    from arrax.interpreters.ad.transpose import UndefinedPrimal
    from arrax.xla.arrays import Array, ArrayLike

Flat = Callable[..., Sequence[Any]]


class CustomCall(Primitive):
    """A call of a function with rules of its own. What evaluates programs finds the function among the parameters."""

    __slots__ = ()

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters of an equation, with ``subfuns``, whose first is the function."""
        return {**params, "subfuns": (wrap_init(function_of(params["fun"], params["call_jaxpr"])),)}

    def hand_to(self, trace: Any, args: tuple, params: dict[str, Any]) -> list[Array]:
        """Let an interpreter of a library give the call its meaning, by a method of its own."""
        fun, zeros = wrap_init(function_of(params["fun"], params["call_jaxpr"])), params["symbolic_zeros"]
        if self is custom_jvp_call_p:
            rule = wrap_init(_rule_of_arrays(params["jvp_jaxpr_fun"].call))
            return trace.process_custom_jvp_call(self, fun, rule, args, symbolic_zeros=zeros)
        rules = params["fwd_jaxpr_thunk"], params["bwd"]
        return trace.process_custom_vjp_call(self, fun, *rules, args, out_trees=None, symbolic_zeros=zeros)

    def bind(self, *args: ArrayLike, subfuns: tuple[WrappedFun, ...] | None = None, **params: Any) -> list[Any]:
        """Apply the operation; ``subfuns`` says nothing that the other parameters don't."""
        return context.interpreter.process(self, args, params)

    def bind_with_trace(self, trace: Any, args: Sequence[Any], *described: Any) -> list[Array]:
        """Apply the operation in an interpretation; ``subfuns`` are the function and its rule, as ``hand_to`` gave them."""
        params = described[-1]
        if "subfuns" in params and self is custom_jvp_call_p:
            fun, rule = params["subfuns"]
            params = {
                "fun": fun.call_wrapped, "call_jaxpr": None, "num_consts": 0, "name": fun.__name__,
                "jvp_jaxpr_fun": Hidden(_rule_of_tangents(rule.call_wrapped), fun.__name__),
                "symbolic_zeros": params["symbolic_zeros"],
            }  # fmt: skip
        return super().bind_with_trace(trace, args, params)


custom_jvp_call_p = CustomCall("custom_jvp_call", multiple_results=True)
custom_vjp_call_p = CustomCall("custom_vjp_call", multiple_results=True)
custom_jvp_call_p.hidden_params = frozenset({"fun"})
custom_vjp_call_p.hidden_params = frozenset({"fun", "out_avals"})


def _rule_of_arrays(rule: Callable[..., Any]) -> Flat:
    """A derivative rule as a function of arrays, tangents behind primals, as interpreters of libraries wrap it."""

    def flat(*args: ArrayLike) -> list[Any]:
        half = len(args) // 2
        outs, tangents = rule(args[:half], args[half:])
        return [*outs, *map(instantiate, tangents)]

    return flat


def _rule_of_tangents(flat: Flat) -> Callable[..., Any]:
    """The other way round."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        found = flat(*primals, *map(instantiate, tangents))
        half = len(found) // 2
        return found[:half], found[half:]

    return rule


def _evaluate(*args: ArrayLike, fun: Flat, call_jaxpr: ClosedJaxpr | None, **rules: Any) -> list[Any]:
    return list(function_of(fun, call_jaxpr)(*args))


def function_of(fun: Flat | None, call_jaxpr: ClosedJaxpr | None) -> Flat:
    """The function that a call holds, staged or not."""
    if call_jaxpr is None:
        assert fun is not None
        return fun
    return lambda *args: eval_jaxpr(call_jaxpr.jaxpr, call_jaxpr.consts, *args)


def _stage(primitive: Primitive) -> Callable[..., list[Any]]:
    """Record the function as a program, the values it closes over as leading operands."""

    def rule(interpreter: Staging, args: tuple, params: dict[str, Any]) -> list[Any]:
        if params["call_jaxpr"] is not None:
            return interpreter.record(primitive, args, params)
        jaxpr, consts = stage(params["fun"], [typeof(arg) for arg in args], interpreter.info, operands=args)
        program = ClosedJaxpr(jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars]), ())
        staged = {**params, "call_jaxpr": program, "fun": None, "num_consts": len(consts)}
        return interpreter.record(primitive, (*consts, *args), staged)

    return rule


def _partial_eval(primitive: Primitive) -> Callable[..., list[Any]]:
    """Some operands are unknown: differentiation has passed already, so the function itself is split."""

    def rule(interpreter: Partial, args: tuple, params: dict[str, Any]) -> list[Any]:
        return list(function_of(params["fun"], params["call_jaxpr"])(*args))

    return rule


def _type_rule(*avals: ShapedArray, call_jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    return call_jaxpr.out_avals


def _transpose(cts: Sequence[Any], *args: Array | UndefinedPrimal, call_jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    """The function itself backwards, where it is linear: its rule is for other directions than those it is linear in."""
    return backward_pass(call_jaxpr.jaxpr, call_jaxpr.consts, args, cts)


def fill_call_rules(primitive: Primitive) -> None:
    """Rules of a call of a function with a rule of its own, all but the one that the user gives."""
    primitive.impl = _evaluate
    primitive.closes_over = True
    primitive.stage = _stage(primitive)
    primitive.partial_eval = _partial_eval(primitive)
    primitive.type_rule = _type_rule
    primitive.with_token = call_with_token("call_jaxpr")
    primitive.by_operation = lambda *args, call_jaxpr, **params: eval_jaxpr(call_jaxpr.jaxpr, call_jaxpr.consts, *args)
    primitive.effects_rule = lambda *avals, call_jaxpr, **params: call_jaxpr.effects
    primitive.lower[None] = lambda ctx, *args, call_jaxpr, **params: call_program(
        ctx.module_context, "custom_call", call_jaxpr, args, shown_as=""
    )


fill_call_rules(custom_jvp_call_p)
fill_call_rules(custom_vjp_call_p)
custom_jvp_call_p.transpose = _transpose


# ---- custom_jvp -------------------------------------------------------------------------------------------------------


def _recorded(operands: Sequence[Any], call_jaxpr: ClosedJaxpr | None) -> Sequence[Any]:
    """The operands of a recorded call as values of the program that is being recorded: rules ask literals for shapes, too."""
    recorder = current_recorder() if call_jaxpr is not None else None
    if recorder is None:
        return operands
    return [recorder.constant(x) if type(x) in PYTHON_SCALARS or isinstance(x, np.generic) else x for x in operands]


def _custom_jvp_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, fun: Callable[..., Any] | None, call_jaxpr: ClosedJaxpr | None,
    jvp_jaxpr_fun: Hidden, num_consts: int, symbolic_zeros: bool, name: str,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    if any(type(t) is not Zero for t in tangents[:num_consts]):
        raise errors.closed_over("custom_jvp")
    return jvp_jaxpr_fun.call(_recorded(primals[num_consts:], call_jaxpr), tangents[num_consts:])


class _Batched:
    """One call over a batch: its functions run as a part of that batch, whose tracers they may close over.

    Results have the batch axis in front. Where no operand has it, those have none that don't get it from a closure.
    """

    __slots__ = ("info", "mapped", "out_dims")

    def __init__(self, dims: Sequence[Any]) -> None:
        self.info = running_batch()
        self.mapped = any(dim is not None for dim in dims)
        self.out_dims: list[Any] | None = None

    def run(self, fun: Flat, values: Sequence[Any], dims: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return batch_within(self.info, fun, values, dims)

    def decide_out_dims(self, *found: Sequence[Any]) -> None:
        """Decide which results have the axis, once: those for which it was found, of values or of tangents."""
        if self.out_dims is None:
            each = zip(*found, strict=True)
            self.out_dims = [0 if self.mapped or any(dim is not None for dim in dims) else None for dims in each]

    def place(self, outs: Sequence[Any], found: Sequence[Any]) -> list[Any]:
        assert self.out_dims is not None
        size = self.info.size
        return [
            out if dim is to is None else move_batch_axis(out, dim, size, 0)
            for out, dim, to in zip(outs, found, self.out_dims, strict=True)
        ]

    def place_tangents(self, outs: Sequence[Any], pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Tangents placed as their values; those that are None are symbolic zeros."""
        tangents, dims = zip(*pairs, strict=True) if pairs else ((), ())
        filled = [Zero.of(out) if tangent is None else tangent for out, tangent in zip(outs, tangents, strict=True)]
        found = [to if type(t) is Zero else dim for t, dim, to in zip(filled, dims, self.out_dims or (), strict=True)]
        return self.place(filled, found)

    def function(self, plain: Flat, consts: Sequence[Any], dims: Sequence[Any]) -> Flat:
        """The function over the batch, ``consts`` bound as its leading operands."""

        def batched(*args: ArrayLike) -> list[Any]:
            outs, found = self.run(plain, [*consts, *args], dims)
            self.decide_out_dims(found)
            return self.place(outs, found)

        return batched


def _custom_jvp_batch(
    values: Sequence[Any], dims: Sequence[Any], *, fun: Callable[..., Any] | None, call_jaxpr: ClosedJaxpr | None,
    jvp_jaxpr_fun: Hidden, num_consts: int, symbolic_zeros: bool, name: str,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    batched, own = _Batched(dims), dims[num_consts:]

    def batched_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        given = [not isinstance(t, Zero) for t in tangents]
        nonzero: list[bool] = []

        def flat(*args: ArrayLike) -> list[Any]:
            rest = iter(args[len(primals) :])
            row = args[: len(primals)]
            inner = [next(rest) if is_given else Zero.of(x) for x, is_given in zip(row, given, strict=True)]
            outs, out_tangents = jvp_jaxpr_fun.call(row, inner)
            nonzero[:] = [type(t) is not Zero for t in out_tangents]
            return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

        arrays = [*primals, *(t for t, is_given in zip(tangents, given, strict=True) if is_given)]
        all_dims = [*own, *(dim for dim, is_given in zip(own, given, strict=True) if is_given)]
        outs, found = batched.run(flat, arrays, all_dims)
        count = len(nonzero)
        pairs = iter(zip(outs[count:], found[count:], strict=True))
        out_tangents = [next(pairs) if nz else (None, None) for nz in nonzero]
        batched.decide_out_dims(found[:count], [dim for _, dim in out_tangents])
        outs = batched.place(outs[:count], found[:count])
        return outs, batched.place_tangents(outs, out_tangents)

    outs = custom_jvp_call_p.bind(
        *values[num_consts:], fun=batched.function(function_of(fun, call_jaxpr), values[:num_consts], dims),
        call_jaxpr=None, jvp_jaxpr_fun=Hidden(batched_rule, jvp_jaxpr_fun.name), num_consts=0,
        symbolic_zeros=symbolic_zeros, name=name,
    )  # fmt: skip
    return outs, batched.out_dims or []


custom_jvp_call_p.jvp = _custom_jvp_jvp
custom_jvp_call_p.batch = _custom_jvp_batch


# ---- custom_vjp -------------------------------------------------------------------------------------------------------


def _custom_vjp_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, fun: Callable[..., Any] | None, call_jaxpr: ClosedJaxpr | None,
    fwd_jaxpr_thunk: Hidden, bwd: Hidden, num_consts: int, symbolic_zeros: bool, name: str, out_avals: Any = None,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    if any(type(t) is not Zero for t in tangents[:num_consts]):
        raise errors.closed_over("custom_vjp")
    primals, tangents = _recorded(primals[num_consts:], call_jaxpr), tangents[num_consts:]
    nonzero = tuple(type(t) is not Zero for t in tangents)
    outs, residuals = fwd_jaxpr_thunk.call(primals, nonzero)
    avals = tuple(typeof(out).to_tangent_aval() for out in outs)
    given = [t for t in tangents if type(t) is not Zero]
    in_avals = tuple(typeof(x).to_tangent_aval() for x in primals)
    out_tangents = custom_linear_p.bind(
        *residuals, *given, num_res=len(residuals), bwd=bwd, out_avals=avals, nonzero=nonzero, in_avals=in_avals
    )
    return list(outs), [
        Zero(aval) if aval.dtype == dtypes.float0 else t for t, aval in zip(out_tangents, avals, strict=True)
    ]


def _custom_vjp_batch(
    values: Sequence[Any], dims: Sequence[Any], *, fun: Callable[..., Any] | None, call_jaxpr: ClosedJaxpr | None,
    fwd_jaxpr_thunk: Hidden, bwd: Hidden, num_consts: int, symbolic_zeros: bool, name: str, out_avals: Any = None,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    batched, own, size = _Batched(dims), list(dims[num_consts:]), running_batch().size
    residual_dims: list[Any] = []
    count: list[int] = []

    def batched_forward(primals: Sequence[Any], nonzero: tuple[bool, ...]) -> tuple[list[Any], list[Any]]:
        def flat(*args: ArrayLike) -> list[Any]:
            outs, residuals = fwd_jaxpr_thunk.call(args, nonzero)
            count[:] = [len(outs)]
            return [*outs, *residuals]

        outs, found = batched.run(flat, primals, own)
        split = count[0]
        residual_dims[:] = found[split:]
        batched.decide_out_dims(found[:split])
        return batched.place(outs[:split], found[:split]), outs[split:]

    def batched_backward(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        assert batched.out_dims is not None
        given = [type(ct) is not Zero for ct in cts]
        zero_avals = [
            None if is_given else ct.aval if dim is None else ShapedArray(ct.aval.shape[1:], ct.aval.dtype)
            for ct, is_given, dim in zip(cts, given, batched.out_dims, strict=True)
        ]
        presence: list[bool] = []

        def flat(*args: ArrayLike) -> list[Any]:
            rest = iter(args[len(residuals) :])
            inner = [next(rest) if aval is None else Zero(aval) for aval in zero_avals]
            found = bwd.call(args[: len(residuals)], inner)
            presence[:] = [x is not None and type(x) is not Zero for x in found]
            return [x for x, there in zip(found, presence, strict=True) if there]

        arrays = [*residuals, *(ct for ct, is_given in zip(cts, given, strict=True) if is_given)]
        ct_dims = [dim for dim, is_given in zip(batched.out_dims, given, strict=True) if is_given]
        outs, found = batched.run(flat, arrays, [*residual_dims, *ct_dims])
        pairs = iter(zip(outs, found, strict=True))
        return [
            _match_input(next(pairs), dim, size) if there else None for there, dim in zip(presence, own, strict=True)
        ]

    outs = custom_vjp_call_p.bind(
        *values[num_consts:], fun=batched.function(function_of(fun, call_jaxpr), values[:num_consts], dims),
        call_jaxpr=None, fwd_jaxpr_thunk=Hidden(batched_forward, fwd_jaxpr_thunk.name),
        bwd=Hidden(batched_backward, bwd.name), num_consts=0, symbolic_zeros=symbolic_zeros, name=name, out_avals=None,
    )  # fmt: skip
    return outs, batched.out_dims or []


def _match_input(pair: tuple[Any, Any], dim: int | None, size: int) -> Any:
    """A cotangent with its batch axis where the input has it; summed over the batch where the input has none."""
    value, own = pair
    if dim is not None:
        return move_batch_axis(value, own, size, dim)
    if own is None:
        return value
    return shape_slots.reduce_sum(value, (own,))


custom_vjp_call_p.jvp = _custom_vjp_jvp
custom_vjp_call_p.batch = _custom_vjp_batch
