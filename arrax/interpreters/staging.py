"""Staging: every operation is recorded, whatever its arguments; the record is a program (a Jaxpr)."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core import config, errors
from arrax.core.explicit_axes import uses_explicit_axes
from arrax.core.function_info import FunctionInfo
from arrax.core.interpreter import Interpreter, Primitive, Tracer, ValueWanted, context, run_in
from arrax.core.memory_spaces import memories_in_types
from arrax.core.program import Atom, Jaxpr, JaxprEqn, Literal, SourceInfo, Var, joined_effects, literalable, no_effects
from arrax.core.reference_hooks import reference_hooks
from arrax.core.types import ShapedArray, typeof
from arrax.core.wrapped_functions import WrappedFun
from arrax.interpreters.recorded_widths import as_recorded, recorded_otherwise
from arrax.native import runtime

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike, OptionalArray

PYTHON_SCALARS = frozenset((bool, int, float, complex))
_traceback = runtime.Traceback.get_traceback


class StagedTracer(Tracer):
    """The result of a recorded operation, an argument of the program, or a constant that stands in it."""

    __slots__ = ("variable", "traceback")

    def __init__(self, interpreter: Staging, var: Var | Literal, traceback: runtime.Traceback | None = None):
        self.interpreter, self.aval, self.variable, self.traceback = interpreter, var.aval, var, traceback

    def origin(self) -> str:
        """Which arguments of the traced function the value depends on."""
        return errors.describe_origin(self.interpreter, self.variable)

    def __repr__(self) -> str:
        if context.values_wanted:
            raise ValueWanted
        return f"Traced<{self.aval!r}>with<DynamicJaxprTrace(level=1/0)>"


StagedTracer.__name__ = StagedTracer.__qualname__ = "DynamicJaxprTracer"  # its documented name
StagedTracer.__module__ = "arrax.interpreters.partial_eval"
tracer_classes: dict[type, type[StagedTracer]] = {}  # of values that are not arrays, by the class of their types

# Classes that stand for values whose types alone are known, and what to raise where such a value would become a constant.
valueless: dict[type, type[Exception]] = {}


class Staging(Interpreter):
    """Records operations as equations. Values from outside become constants.

    Attributes:
      operands: of a call in the parent's program, which has the parent's ``info``: the values of its arguments there.
    """

    __slots__ = ("eqns", "invars", "constants", "info", "operands")

    def __init__(self, parent: Interpreter, info: FunctionInfo | None = None) -> None:
        self.parent, self.alive = parent, True
        self.operands: Sequence[Any] | None = None
        self.info = info.of_derived() if isinstance(info, FunctionInfo) else info
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constants: dict[int, tuple[Var, Any]] = {}  # id of a value -> its variable, and the value kept alive

    def describe(self) -> str:
        return self.info.transformation if self.info is not None else "make_jaxpr"

    def argument(self, aval: ShapedArray) -> StagedTracer:
        """A new argument of the program."""
        var = Var(aval)
        self.invars.append(var)
        return tracer_classes.get(type(aval), StagedTracer)(self, var)

    def new_arg(self, aval: ShapedArray, source_info: Any = None) -> StagedTracer:
        """``argument``, by the name under which libraries look for it."""
        return self.argument(aval)

    def constant(self, value: ArrayLike) -> StagedTracer:
        """A scalar of NumPy or Python as a value of the program; no equation is recorded."""
        return StagedTracer(self, Literal(value), context.source or _traceback())

    def value(self, value: ArrayLike) -> Any:
        """A value from outside as one of the program; no equation is recorded."""
        return StagedTracer(self, self.atom(value), context.source or _traceback())

    def number(self, value: Any) -> OptionalArray:
        """The scalar of NumPy or Python behind an operand, if it is known now; otherwise None.

        What an enclosing program knows is a constant here like others: which constants a function that is closed over values
        has, and in which order, does not depend on what they are.
        """
        if type(value) is StagedTracer:
            return literal(value) if value.interpreter is self else None
        return value if type(value) in PYTHON_SCALARS or isinstance(value, np.generic) else None

    def atom(self, value: Any) -> Atom:
        """The variable or literal for a value."""
        if type(value) is StagedTracer and value.interpreter is self:
            return value.variable
        known = self.constants.get(id(value))
        if known is not None:
            return known[0]
        if isinstance(value, Tracer):
            if value.interpreter is self:  # of one of the tracer_classes
                return value.variable  # type: ignore[attr-defined]
            if not value.interpreter.alive:
                raise errors.escaped_tracer(value)
        elif type(value) in valueless:
            raise valueless[type(value)]
        aval = typeof(value)
        if literalable(value, aval):
            return Literal(value, aval)
        var = Var(aval)
        self.constants[id(value)] = (var, value)
        return var

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if primitive.stage is not None:
            return primitive.stage(self, args, params)
        return self.record(primitive, args, params)

    def record(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Record an operation as one equation."""
        atoms = [
            arg.variable if type(arg) is StagedTracer and arg.interpreter is self else self.atom(arg) for arg in args
        ]
        rule = primitive.type_rule
        avals = [atom.aval for atom in atoms]
        tracked = rule is None or context.tracks_varying or context.explicit_axes or memories_in_types.other_than_device
        out = primitive.infer(avals, params) if tracked else rule(*avals, **params)  # type: ignore[misc]
        traceback = context.source or _traceback()
        effects = no_effects if primitive.effects_rule is None else primitive.effects_rule(*avals, **params)
        if primitive.multiple_results:
            outvars = [Var(aval) for aval in out]
            self.eqns.append(
                JaxprEqn(atoms, outvars, primitive, params, effects, SourceInfo(traceback, context.scopes))
            )
            return [StagedTracer(self, var, traceback) for var in outvars]
        outvar = Var(out)
        self.eqns.append(JaxprEqn(atoms, [outvar], primitive, params, effects, SourceInfo(traceback, context.scopes)))
        return StagedTracer(self, outvar, traceback)

    def program(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The recorded program with outputs ``outs``, and the values of its constants."""
        outvars = [self.atom(out) for out in outs]
        if reference_hooks.refuse is not None:
            reference_hooks.refuse(outvars, self.info)
        constvars = [var for var, _ in self.constants.values()]
        jaxpr = Jaxpr(constvars, self.invars, outvars, self.eqns, joined_effects(self.eqns), self.info)
        return jaxpr, [value for _, value in self.constants.values()]


def current_recorder() -> Staging | None:
    """The innermost interpreter that records, below transformations that run now; None where operations are evaluated."""
    interpreter = context.interpreter
    while not interpreter.is_evaluation:
        if isinstance(interpreter, Staging):
            return interpreter
        interpreter = interpreter.parent
    return None


def literal(value: Any) -> OptionalArray:
    """The number behind an operand that stands in the program as a literal; None for others."""
    return value.variable.val if type(value) is StagedTracer and type(value.variable) is Literal else None


def trace_to_jaxpr_dynamic(fun: WrappedFun, in_avals: Sequence[Any]) -> tuple[Jaxpr, list[Any], list[Any]]:
    """Record a flat function.

    Args:
      fun: function of arrays to a list of arrays.
      in_avals: types of its arguments.
    Returns: the program, the types of its results, the values of its constants.
    """
    jaxpr, consts = stage(fun.call_wrapped, in_avals)
    return jaxpr, jaxpr.out_avals, consts


def stage(
    fun: Callable[..., Sequence[Any]], in_avals: Sequence[Any], info: FunctionInfo | None = None,
    recorder: type[Staging] = Staging, operands: Sequence[Any] | None = None,
) -> tuple[Jaxpr, list[Any]]:  # fmt: skip
    """Record ``fun``, a function from flat values to flat values, for arguments of the given types.

    Args:
      recorder: the interpreter that records.
      operands: of a call in the program around, which ``info`` describes: its arguments there.
    Returns: the program, and the values of its constants (arrays, or tracers of enclosing interpreters).
    """
    interpreter = recorder(context.interpreter, info)
    interpreter.operands = operands
    tracers = [interpreter.argument(aval) for aval in in_avals]

    source, scopes, explicit = context.source, context.scopes, context.explicit_axes
    try:
        context.source, context.scopes, context.explicit_axes = None, (), explicit or uses_explicit_axes(in_avals)
        jaxpr, consts = run_in(interpreter, fun, *tracers, finish=interpreter.program)
    finally:
        context.source, context.scopes, context.explicit_axes = source, scopes, explicit
    if config.enable_checks.cell.value:
        errors.hooks.check_program(jaxpr)
    if config.check_tracer_leaks.cell.value:
        reference = weakref.ref(interpreter)
        del interpreter, tracers
        refuse_leaks(reference, info)
    return jaxpr, consts


def refuse_leaks(reference: weakref.ref[Any], info: FunctionInfo | None) -> None:
    """Raise where something still holds a tracer of a finished trace."""
    if reference() is None:
        return
    gc.collect()
    interpreter = reference()
    if interpreter is None:
        return
    held = [value for value in gc.get_referrers(interpreter) if isinstance(value, Tracer)]
    if held:
        raise errors.leaked_trace(held, info)


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True) -> list[Any]:
    """Apply the equations of a program to values, in the current interpretation; sources and scopes are kept.

    Errors have the operation's own place in their cause.

    Args:
      jaxpr: the program. consts: the values of its ``constvars``.
      args: the values of its ``invars``.
      propagate_source_info: whether the operations keep the places in source code where the program has them from.
    Returns: list of the values of its ``outvars``.
    Example: ``program = make_jaxpr(lambda v: v + x)(y);
    arrax.core.eval_jaxpr(program.jaxpr, program.consts, 10.0)[0]`` is ``x + 10``.
    """
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    lookup = env.__getitem__
    scopes, source = context.scopes, context.source
    otherwise = recorded_otherwise(jaxpr)
    try:
        for eqn in jaxpr.eqns:
            values = [atom.val if type(atom) is Literal else lookup(atom) for atom in eqn.invars]
            place, names = eqn.source_info
            if propagate_source_info:
                context.source = place
            context.scopes = scopes + names
            if otherwise:
                with as_recorded(eqn):
                    out = context.interpreter.process(eqn.primitive, tuple(values), eqn.params)
            else:
                out = context.interpreter.process(eqn.primitive, tuple(values), eqn.params)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outvars, out, strict=True))
            else:
                env[eqn.outvars[0]] = out
    except Exception as error:
        errors.blame(error, eqn)
        raise
    finally:
        context.scopes, context.source = scopes, source
    return [atom.val if type(atom) is Literal else lookup(atom) for atom in jaxpr.outvars]
