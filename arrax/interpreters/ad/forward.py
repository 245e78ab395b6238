"""Forward-mode differentiation: each value carries the tangent that its input's change gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core import errors
from arrax.core.interpreter import Interpreter, Primitive, Tracer, context, run_in, swap_interpreter
from arrax.core.program import ABSENT, ClosedJaxpr
from arrax.core.types import Zero, instantiate, slots, typeof
from arrax.interpreters.staging import PYTHON_SCALARS, eval_jaxpr, stage
from arrax.xla.arrays import Array

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike

# From a program and which of its inputs (and, if asked for, outputs) have tangents to the one with these.
Derive = Callable[..., tuple[ClosedJaxpr, list[bool]]]


class PrimalTracer(Tracer):
    """A primal value and what belongs to its derivative: as concrete as the value is."""

    __slots__ = ("primal",)
    primal: Any

    def is_concrete(self) -> bool:
        return self.primal.is_concrete() if isinstance(self.primal, Tracer) else True

    def concrete(self) -> ArrayLike:
        return self.primal

    def is_differentiated(self) -> bool:
        return isinstance(self.primal, Tracer) and self.primal.is_differentiated()

    def origin(self) -> str:
        return self.primal.origin() if isinstance(self.primal, Tracer) else ""


class JVPTracer(PrimalTracer):
    """A primal value and its tangent (an array, or a symbolic Zero)."""

    __slots__ = ("tangent",)

    def __init__(self, interpreter: Interpreter, primal: ArrayLike, tangent: Any):
        self.interpreter, self.primal, self.tangent = interpreter, primal, tangent
        self.aval = typeof(primal)

    def is_differentiated(self) -> bool:
        return type(self.tangent) is not Zero or super().is_differentiated()

    def __repr__(self) -> str:
        return f"Traced<{self.aval!r}>with<JVPTrace> with\n  primal = {self.primal!r}\n  tangent = {self.tangent!r}"


class JVP(Interpreter):
    """Applies derivative rules; operations on values without tangents pass to the parent as they are."""

    __slots__ = ()
    left_by_rules = True

    def lift(self, value: Any) -> tuple[Any, Any]:
        """(primal, tangent): what is not this interpreter's own is a constant to it."""
        if type(value) is JVPTracer and value.interpreter is self:
            return value.primal, value.tangent
        if isinstance(value, Tracer) and not value.interpreter.alive:
            raise errors.escaped_tracer(value)
        return value, Zero.of(value)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if primitive.on_refs is not None:
            done = primitive.on_refs(self, args, params)
            if done is not None:
                return done
        primals, tangents = [], []
        constant = True
        for arg in args:
            if type(arg) is JVPTracer and arg.interpreter is self:
                primal = arg.primal
                if type(primal) in PYTHON_SCALARS and typeof(primal) != arg.aval:  # 64 bits were turned on or off since
                    primal = np.asarray(primal, arg.aval.dtype)[()]
                primals.append(primal)
                tangents.append(arg.tangent)
                constant = constant and type(arg.tangent) is Zero
            else:
                primals.append(arg)
                tangents.append(None)
        previous = swap_interpreter(self.parent)  # rules mean what they say one level down
        try:
            if constant:
                return self.parent.process(primitive, tuple(primals), params)
            tangents = [Zero.of(x) if t is None else t for x, t in zip(primals, tangents, strict=True)]
            if primitive.jvp is None:
                raise NotImplementedError(f"Differentiation rule for '{primitive.name}' not implemented")
            out, out_tangent = primitive.jvp(tuple(primals), tuple(tangents), **params)
            if context.tracks_varying:
                if primitive.multiple_results:
                    out_tangent = list(map(_varying_like, out_tangent, out))
                else:
                    out_tangent = _varying_like(out_tangent, out)
        finally:
            swap_interpreter(previous)
        if primitive.multiple_results:
            return [self.join(x, t) for x, t in zip(out, out_tangent, strict=True)]
        return self.join(out, out_tangent)

    def join(self, primal: ArrayLike, tangent: Any) -> Any:
        """A tracer for the pair, or the primal itself where the tangent is zero."""
        if tangent is None or type(tangent) is Zero:
            return primal
        return JVPTracer(self, primal, tangent)

    def describe(self) -> str:
        return "jvp"


def _varying_like(tangent: Any, primal: Any) -> Any:
    """A tangent declared to vary over the mesh axes that its value varies over, so that cotangents are summed there."""
    if tangent is None or type(tangent) is Zero:
        return tangent
    missing = typeof(primal).vma - typeof(tangent).vma
    return slots.vary(tangent, missing) if missing else tangent


def jvp(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    parent: Interpreter | None = None,
) -> tuple[list[Any], list[Any]]:
    """Values and tangents of a flat function; tangents may be symbolic Zeros, among the results too."""
    interpreter = JVP(context.interpreter if parent is None else parent)
    inputs = [interpreter.join(x, t) for x, t in zip(primals, tangents, strict=True)]
    outs = run_in(interpreter, fun, *inputs)
    pairs = [interpreter.lift(out) for out in outs]
    return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


def jvp_jaxpr(
    program: ClosedJaxpr, nonzeros: Sequence[bool], instantiate_outs: bool | Sequence[bool] = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """The program (*primals, *nonzero tangents) -> (*primals out, *nonzero tangents out), and which are nonzero.

    Args:
      nonzeros: for each input, whether it has a tangent.
      instantiate_outs: which output tangents must be arrays even where they are zero.
    """
    count = len(program.jaxpr.outvars)
    forced = [instantiate_outs] * count if isinstance(instantiate_outs, bool) else list(instantiate_outs)
    key = ("jvp", tuple(nonzeros), tuple(forced))
    found = program.kept(key)
    if found is not ABSENT:
        return found
    jaxpr = program.jaxpr
    out_nonzero: list[bool] = []

    def differentiated(*values: Array) -> list[Any]:
        primals, rest = values[: len(jaxpr.invars)], iter(values[len(jaxpr.invars) :])
        tangents = [next(rest) if nz else Zero.of(x) for x, nz in zip(primals, nonzeros, strict=True)]
        interpreter = JVP(context.interpreter)  # rather than jvp: programs nest a hundred deep
        outs = run_in(interpreter, eval_jaxpr, jaxpr, program.consts, *map(interpreter.join, primals, tangents))
        pairs = list(map(interpreter.lift, outs))
        out_nonzero[:] = [force or type(t) is not Zero for (_, t), force in zip(pairs, forced, strict=True)]
        tangents_out = [instantiate(t) for (_, t), nz in zip(pairs, out_nonzero, strict=True) if nz]
        return [*(x for x, _ in pairs), *tangents_out]

    tangent_avals = [var.aval.to_tangent_aval() for var, nz in zip(jaxpr.invars, nonzeros, strict=True) if nz]
    derived, consts = stage(differentiated, [*jaxpr.in_avals, *tangent_avals], jaxpr.debug_info)
    return program.keep(key, (ClosedJaxpr(derived, consts), list(out_nonzero)))
