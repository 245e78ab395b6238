"""Partial evaluation: operations on known values run in the parent, those on unknown ones are recorded.

The record's constants are the residuals: exactly the known values that recorded operations use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.explicit_axes import with_divisions
from arrax.core.interpreter import Interpreter, Primitive, Tracer, context, run_in, swap_interpreter
from arrax.core.program import (
    ABSENT,
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    SourceInfo,
    Var,
    joined_effects,
    literalable,
    no_effects,
)
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.native import runtime

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

_traceback = runtime.Traceback.get_traceback


class UnknownTracer(Tracer):
    """A value that is not known yet: an input of the record, or the result of a recorded operation."""

    __slots__ = ("variable",)

    def __init__(self, interpreter: Interpreter, var: Var):
        self.interpreter, self.aval, self.variable = interpreter, var.aval, var

    def __repr__(self) -> str:
        return f"Traced<{self.aval!r}>with<JaxprTrace>"


class Partial(Interpreter):
    """Splits a computation into what is known now and what must wait."""

    __slots__ = ("eqns", "constants", "tag", "depth")

    def __init__(self, parent: Interpreter, tag: Any = None) -> None:
        self.parent, self.alive, self.tag = parent, True, tag
        self.eqns: list[JaxprEqn] = []
        self.constants: dict[int, tuple[Var, Any]] = {}
        self.depth = len(context.scopes)  # names from there on belong to the record

    def describe(self) -> str:
        return "linearize"

    def is_unknown(self, value: Any) -> bool:
        """True for this interpreter's own tracers."""
        return type(value) is UnknownTracer and value.interpreter is self

    def unknown(self, aval: ShapedArray) -> UnknownTracer:
        """A new unknown value."""
        return UnknownTracer(self, Var(aval))

    def atom(self, value: Any) -> Atom:
        """The variable of an unknown, a literal, or the variable of a residual."""
        if type(value) is UnknownTracer and value.interpreter is self:
            return value.variable
        known = self.constants.get(id(value))
        if known is not None:
            return known[0]
        aval = typeof(value)
        if literalable(value, aval):
            return Literal(value, aval)
        var = Var(aval)
        self.constants[id(value)] = (var, value)
        return var

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if primitive.on_refs is not None:
            done = primitive.on_refs(self, args, params)
            if done is not None:
                return done
        for arg in args:
            if type(arg) is UnknownTracer and arg.interpreter is self:
                break
        else:
            return self.evaluate(primitive, args, params)
        if primitive.partial_eval is not None:
            return primitive.partial_eval(self, args, params)
        return self.record(primitive, args, params)

    def evaluate(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Run an operation on known values, one level down."""
        previous = swap_interpreter(self.parent)
        try:
            return self.parent.process(primitive, tuple(args), params)
        finally:
            swap_interpreter(previous)

    def in_parent(self, fun: Callable[..., Any], *args: Any) -> list[Array]:
        """Call a function one level down."""
        previous = swap_interpreter(self.parent)
        try:
            return fun(*args)
        finally:
            swap_interpreter(previous)

    def record(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Put an operation on the record; its results are unknown."""
        atoms = [self.atom(arg) for arg in args]
        avals = [atom.aval for atom in atoms]
        out = primitive.infer(avals, params)
        # Outside of traces with explicit axes, types of concrete arrays have them by where the arrays lie.
        if not context.explicit_axes and any(aval.explicit is not None for aval in avals):
            out = with_divisions(primitive, avals, out, params)
        effects = no_effects if primitive.effects_rule is None else primitive.effects_rule(*avals, **params)
        outvars = [Var(aval) for aval in (out if primitive.multiple_results else [out])]
        source = SourceInfo(context.source or _traceback(), context.scopes[self.depth :])
        self.eqns.append(JaxprEqn(atoms, outvars, primitive, params, effects, source))
        tracers = [UnknownTracer(self, var) for var in outvars]
        return tracers if primitive.multiple_results else tracers[0]

    def program(self, inputs: Sequence[Any], outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The record from ``inputs`` to the unknown ``outs``, without what they don't need, and its residuals."""
        outvars = [self.atom(out) for out in outs]
        invars = [tracer.variable for tracer in inputs]
        constvars = [var for var, _ in self.constants.values()]
        whole = Jaxpr((), [*constvars, *invars], outvars, self.eqns, joined_effects(self.eqns))
        count = len(constvars)
        lean, used = dce_jaxpr(whole, [True] * len(outvars), [False] * count + [True] * len(invars))
        kept = sum(used[:count])
        jaxpr = lean.replace(constvars=lean.invars[:kept], invars=lean.invars[kept:])
        values = [value for (_, value), use in zip(self.constants.values(), used[:count], strict=True) if use]
        return jaxpr, values


def partial_eval(
    fun: Callable[..., Sequence[Any]], known: Sequence[Any], unknown_avals: Sequence[Any | None]
) -> tuple[list[Any], list[bool], Jaxpr, list[Any]]:
    """Run what is known of a flat function.

    Args:
      known: one value per input (ignored where it is unknown).
      unknown_avals: one type per unknown input, None per known one.
    Returns: the outputs (None where unknown), which are unknown, the record of the rest (from the unknown inputs to the
      unknown outputs), and its residuals.
    """
    interpreter = Partial(context.interpreter)
    inputs = [
        value if aval is None else interpreter.unknown(aval) for value, aval in zip(known, unknown_avals, strict=True)
    ]
    outs = list(run_in(interpreter, fun, *inputs))
    unknown = [interpreter.is_unknown(out) for out in outs]
    jaxpr, residuals = interpreter.program(
        [tracer for tracer in inputs if interpreter.is_unknown(tracer)],
        [out for out, is_unknown in zip(outs, unknown, strict=True) if is_unknown],
    )
    outs = [None if is_unknown else out for out, is_unknown in zip(outs, unknown, strict=True)]
    return outs, unknown, jaxpr, residuals


class Split:
    """A program split in two.

    ``known``: (*known inputs) -> (*known outputs, *residuals). ``rest``: (*residuals, *unknown inputs) -> (*unknown outputs).
    """

    __slots__ = ("known", "rest", "out_unknown", "residual_avals")

    def __init__(
        self, known: ClosedJaxpr, rest: ClosedJaxpr, out_unknown: list[bool], residual_avals: list[Any]
    ) -> None:
        self.known, self.rest, self.out_unknown, self.residual_avals = known, rest, out_unknown, residual_avals


def split_program(program: ClosedJaxpr, unknown: Sequence[bool], instantiate: Sequence[bool] | bool = False) -> Split:
    """Split a program by which of its inputs are known.

    Args:
      unknown: for each input, whether it is unknown.
      instantiate: for each output, whether it must be among the unknown ones even where it is known.
    """
    count = len(program.jaxpr.outvars)
    forced = [instantiate] * count if isinstance(instantiate, bool) else list(instantiate)
    key = ("split", tuple(unknown), tuple(forced))
    split = program.kept(key)
    return program.keep(key, _split_program(program, list(unknown), forced)) if split is ABSENT else split


def _split_program(program: ClosedJaxpr, unknown: list[bool], forced: list[bool]) -> Split:
    jaxpr = program.jaxpr
    found: list[Any] = []

    def known_part(*known_values: Array) -> list[Any]:
        values = iter(known_values)
        inputs = [None if is_unknown else next(values) for is_unknown in unknown]
        avals = [var.aval if u else None for var, u in zip(jaxpr.invars, unknown, strict=True)]
        interpreter = Partial(context.interpreter)
        tracers = [x if aval is None else interpreter.unknown(aval) for x, aval in zip(inputs, avals, strict=True)]
        outs = run_in(interpreter, eval_jaxpr, jaxpr, program.consts, *tracers)
        out_unknown = [force or interpreter.is_unknown(out) for out, force in zip(outs, forced, strict=True)]
        waiting = [tracer for tracer in tracers if interpreter.is_unknown(tracer)]
        rest, residuals = interpreter.program(waiting, [o for o, u in zip(outs, out_unknown, strict=True) if u])
        found[:] = [rest, [typeof(residual) for residual in residuals], out_unknown]
        return [*(o for o, u in zip(outs, out_unknown, strict=True) if not u), *residuals]

    known_avals = [var.aval for var, is_unknown in zip(jaxpr.invars, unknown, strict=True) if not is_unknown]
    known, consts = stage(known_part, known_avals, jaxpr.debug_info)
    rest, residual_avals, out_unknown = found
    rest = rest.replace(constvars=(), invars=[*rest.constvars, *rest.invars])
    return Split(ClosedJaxpr(known, consts), ClosedJaxpr(rest, ()), out_unknown, residual_avals)
