"""Primitives, tracers, and the one notion of a current interpreter.

``primitive.bind(*args, **params)`` hands an operation to the current interpreter of the thread. An interpreter gives it a
meaning, running its own rules with its parent made current.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakSet

from arrax.core import config
from arrax.core.caches import cleared_by
from arrax.core.explicit_axes import with_divisions
from arrax.core.memory_spaces import memories_in_types
from arrax.core.name_stacks import Names, Transformation
from arrax.core.operand_memories import with_memories
from arrax.core.types import AbstractValue, ShapedArray, register_type
from arrax.native import runtime


class Interpreter:
    """Gives operations a meaning. Subclasses define ``process``.

    Those of libraries may define ``process_primitive(primitive, args, params)`` instead, and for functions with rules of
    their own ``process_custom_jvp_call`` and ``process_custom_vjp_call``.

    Example: ``isinstance(arrax.core.find_top_trace([x]), arrax.core.Interpreter)`` is True.
    """

    __slots__ = ("parent", "alive", "__weakref__")
    is_evaluation = False
    left_by_rules = (
        False  # whether another interpreter meets its living tracers only where a custom rule closes over them
    )

    def __init__(self, parent: Interpreter | None = None) -> None:
        self.parent, self.alive = Context.interpreter if parent is None else parent, True

    @property
    def main(self) -> Interpreter:
        """What identifies the interpretation: interpreters that read each other's tracers have it in common."""
        return self

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The result of an operation: one value, or a list where the primitive has several results."""
        return primitive.hand_to(self, args, params)

    def process_primitive(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """``process`` of interpreters that leave calls of functions with rules of their own to other methods."""
        raise NotImplementedError(f"{type(self).__name__} gives operations no meaning: it has no method process")

    def full_raise(self, value: Any) -> Any:
        """A value as an operand of this interpreter's operations: itself, since ``process`` lifts what is not its own."""
        return value

    def describe(self) -> str:
        """The transformation that this interpreter performs, for error messages."""
        return type(self).__name__


class Context(threading.local):
    """What belongs to a thread: its current interpreter, its named axes, its named scopes."""

    interpreter: Interpreter  # the class attribute is plain evaluation, set by arrax.interpreters.evaluation
    axes: tuple[tuple[Any, int], ...] = ()  # (name, size), innermost last
    axis_indices: Mapping[int, Any] = {}  # where among ``axes`` one is whose index is known, and that
    scopes: Names = ()  # named scopes and transformations, since the program that is being recorded began
    source: Any = None  # the recorded call stack of the operation that is being interpreted again
    values_wanted: bool = False  # whether a trace gives up where a value is to be printed: it can be run instead
    tracks_varying: bool = False  # whether types say over which mesh axes values vary
    explicit_axes: bool = False  # whether types say how explicit axes of a mesh divide values
    batching: Any = None  # the batching interpreter whose rule is running

    def __reduce__(self) -> str:
        return "context"  # functions that are pickled with what they use find that of their process


context = Context()


def swap_interpreter(new: Interpreter) -> Interpreter:
    """Make ``new`` current; return the one before. The compiled fast path is off while tracing."""
    previous = context.interpreter
    context.interpreter = new
    if previous.is_evaluation is not new.is_evaluation:
        config.tracing.set_local(not new.is_evaluation)
    return previous


def current_interpreters() -> list[Interpreter]:
    """The current interpreter and those below it, down to plain evaluation."""
    found, interpreter = [], context.interpreter
    while interpreter not in found:
        found.append(interpreter)
        interpreter = interpreter.parent
    return found


def run_in(
    interpreter: Interpreter, fun: Callable[..., Any], *args: Any, name: Transformation | None = None,
    finish: Callable[[Any], Any] | None = None,
) -> Any:  # fmt: skip
    """Call a function with a new interpreter current, which ends with it; its operations have the name in their stacks.

    ``finish`` makes the result of what the function returns, while the interpreter is still current.

    Ctrl-C may come at any call: nothing is called before all is as it was.
    """
    previous, axes, scopes = context.interpreter, context.axes, context.scopes
    try:
        swap_interpreter(interpreter)
        if name is not None:
            context.scopes = (*scopes, name)
        outs = fun(*args)
        return outs if finish is None else finish(outs)
    finally:
        interpreter.alive = False
        context.interpreter, context.axes, context.scopes = previous, axes, scopes
        if previous.is_evaluation is not interpreter.is_evaluation:
            config.tracing.set_local(not previous.is_evaluation)


class current:
    """Context manager: ``with current(interpreter): …``."""

    __slots__ = ("new", "previous")

    def __init__(self, new: Interpreter) -> None:
        self.new = new

    def __enter__(self) -> Interpreter:
        self.previous = swap_interpreter(self.new)
        return self.new

    def __exit__(self, *_: object) -> None:
        swap_interpreter(self.previous)


# No generators: those that an error abandons would set the interpreter back when they are collected, inside of other traces.
class take_current_trace(current):
    """Context manager: gives the interpreter that is current, in place of which operations run at once inside.

    Example: ``with take_current_trace() as trace: print(trace)``.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Context.interpreter)

    def __enter__(self) -> Interpreter:
        super().__enter__()
        return self.previous


def set_current_trace(trace: Interpreter | None) -> current:
    """Context manager: an interpreter is current; without one, operations run at once.

    Example: ``with set_current_trace(None): jnp.sin(1.0)``.
    """
    return current(Context.interpreter if trace is None else trace)


class TraceTag:
    """Tells interpretations apart that are of one kind.

    Example: ``arrax.extend.core.TraceTag() == arrax.extend.core.TraceTag()`` is False.
    """


class _Implementation:
    """An operation on concrete values, whatever interpreter is current."""

    __slots__ = ("primitive",)

    def __init__(self, primitive: Primitive) -> None:
        self.primitive = primitive

    def __call__(self, *args: Any, **params: Any) -> Any:
        evaluation = Context.interpreter
        with current(evaluation):
            return evaluation.process(self.primitive, args, params)


class ValueWanted(BaseException):
    """A traced value is to be printed where the function can also be run operation by operation."""


class Rounding(enum.Enum):
    """How the bits of an operation's results are determined by the standard for floating-point numbers alone."""

    NONE = "none"  # elements are moved, compared or converted
    PRODUCT = "product"  # rounded once, but a compiler may fuse it with a sum that it is an operand of
    SUM = "sum"


class Primitive:
    """An operation of the language, with a slot for each of its meanings.

    Slots (all optional): ``impl`` (concrete evaluation), ``type_rule`` (from types to types), ``jvp``, ``transpose``,
    ``batch``, ``lower`` (platform, or None for all, to lowering rule), and for operations that hold programs
    ``partial_eval`` and ``dce``. ``meaning`` says it in other operations, to interpreters of libraries. ``collective`` serves
    operations over named axes. How it is best compiled say ``rounding`` (see ``Rounding``; None where results depend on the
    compiler's code), ``cost`` (additions that take as long, per element of its largest array; or a function of the equation
    that gives them for all of it), ``fold`` (what it is in NumPy, with the same bits) and ``forms`` (platform to a function of
    the equation: see ``interpreters.platform_forms``).

    Example: ``double = arrax.core.Primitive('double'); double.def_impl(lambda v: 2 * v); double.bind(y)`` is 4.0.
    """

    multiple_results = call_primitive = map_primitive = holds_programs = False

    def __init__(
        self, name: str, *, multiple_results: bool = False, rounding: Rounding | None = None,
        cost: float | Callable[[Any], float] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.rounding, self.cost = name, rounding, cost
        self.multiple_results = multiple_results or type(self).multiple_results  # a library's subclass may say it
        self.forms: dict[str, Callable[..., Any]] = {}
        # A library's subclass may define it as a method.
        self.own_impl: Callable[..., Any] | None = None if isinstance(type(self).impl, property) else self.impl
        self.type_rule: Callable[..., Any] | None = None
        self.effects_rule: Callable[..., Any] | None = None  # params -> effects
        self.jvp: Callable[..., Any] | None = None
        self.taylor: Callable[..., Any] | None = None  # derivatives along a curve, where not by ``jvp``: see ad/taylor
        self.transpose: Callable[..., Any] | None = None
        # Transposition of several uses of one operand: see ad/transpose. None where each is transposed by itself.
        self.transpose_together: Callable[..., Any] | None = None
        self.batch: Callable[..., Any] | None = None
        self.collective: Callable[..., Any] | None = None
        self.lower: dict[str | None, Callable[..., Any]] = {}
        # The operation in terms of others: what interpreters of libraries are given, which know no name for it.
        self.meaning: Callable[..., Any] | None = None
        self.partial_eval: Callable[..., Any] | None = None
        self.dce: Callable[..., Any] | None = None
        # What it does with references, ``(interpreter, operands, params)``; None where none is involved: see lax/references.
        self.on_refs: Callable[..., Any] | None = None
        # Of those that hold programs: a context manager of the parameters, in which these are traced.
        self.around: Callable[[dict[str, Any]], Any] | None = None
        self.stage: Callable[..., Any] | None = None  # how staging records it, where that is not one plain equation
        # Of those that hold programs: evaluation, one operation after the other.
        self.by_operation: Callable[..., Any] | None = None
        # How it takes part in an order of effects: see interpreters/ordering.
        self.with_token: Callable[..., Any] | None = None
        # From the mesh axes that operands vary over (and parameters) to those that results do; by default the same.
        self.varies: Callable[..., frozenset[Any]] | None = None
        # From how explicit mesh axes divide operands to how they divide results: see core/explicit_axes.
        self.divides: Callable[..., Any] | None = None
        # From the types of operands and results (a list) to the spaces of memory of results: see core/operand_memories.
        self.memories: Callable[..., list[Any]] | None = None
        # From the equation and some axes of its result: whether elements along these come from other places of the operand than a
        # row with a constant distance between its elements. None where they never do.
        self.relocates: Callable[..., bool] | None = None
        # From the equation: whether its result is its operand, weak type aside. None where it never is.
        self.is_idle: Callable[..., bool] | None = None
        self.fold: Callable[..., Any] | None = None  # on NumPy's arrays, with the same bits; may give None
        self.compiled: dict[Any, Any] = {}  # params -> compiled function of one eager operation
        self.text: Callable[..., str] | None = None  # how its equations print, where not as others do
        self.hidden_params: frozenset[str] = frozenset()
        self.shows_none = False  # whether parameters print that are None: those of libraries' primitives do
        self.param_texts: dict[str, Callable[[Any], str]] = {}  # how parameters print, where str does not do
        self.closes_over = False  # its parameters hold Python functions, which may close over tracers
        _primitives.add(self)

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the operation to ``args`` in the current interpretation."""
        return context.interpreter.process(self, args, params)

    def bind_with_trace(self, trace: Interpreter, args: Sequence[Any], *described: Any) -> Any:
        """Apply the operation in an interpretation; the parameters come last, behind the types of the arguments if given."""
        with current(trace):
            return trace.process(self, tuple(args), described[-1])

    def hand_to(self, trace: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Let an interpreter of a library give the operation its meaning."""
        if self.meaning is not None:
            with current(trace):
                return self.meaning(*args, **params)
        return trace.process_primitive(self, args, params)

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters with which ``bind`` does again what an equation of these parameters says."""
        return dict(params)

    @property
    def impl(self) -> Callable[..., Any]:
        """The function for concrete values: its own one, or what compiles and runs the operation."""
        return self.own_impl if self.own_impl is not None else _Implementation(self)

    @impl.setter
    def impl(self, function: Callable[..., Any] | None) -> None:
        self.own_impl = function

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Set the function for concrete values; returns it."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule from argument types to the result's type; returns it."""
        self.shows_none = True
        self.type_rule = lambda *avals, **params: self.checked_types(rule(*avals, **params))
        return rule

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set a rule that returns (types, effects); returns it."""
        self.shows_none = True
        self.type_rule = lambda *avals, **params: self.checked_types(rule(*avals, **params)[0])
        self.effects_rule = lambda *avals, **params: frozenset(rule(*avals, **params)[1])
        return rule

    def checked_types(self, out: Any) -> Any:
        """What a rule of the user's said of the results' types.

        Raises:
          ValueError: one type where there are several results, or several where there is one. TypeError: something else.
        """
        if isinstance(out, AbstractValue if self.multiple_results else tuple | list):
            raise ValueError(
                f"the abstract evaluation of '{self.name}' must return a list of types if, and only if, the primitive has "
                f"multiple_results; multiple_results is {self.multiple_results}, and it returned {out}"
            )
        types = list(out) if self.multiple_results else [out]
        other = [one for one in types if not isinstance(one, AbstractValue)]
        if other:
            raise TypeError(
                f"the abstract evaluation of '{self.name}' must return types such as ShapedArray, but it returned "
                f"{other[0]!r} of type {type(other[0])}"
            )
        return types if self.multiple_results else out

    def abstract_eval(self, *avals: Any, **params: Any) -> tuple[Any, frozenset[Any]]:
        """(types of the results, effects)."""
        return self.infer(avals, params), frozenset()

    def infer(self, avals: Any, params: dict[str, Any]) -> Any:
        """The type of the result (a list of types where there are several results)."""
        if self.type_rule is not None:
            out = self.type_rule(*avals, **params)
        elif type(self).abstract_eval is not Primitive.abstract_eval:  # that of a library's subclass
            out, _ = self.abstract_eval(*avals, **params)
        else:
            raise NotImplementedError(f"Abstract evaluation for '{self.name}' not implemented")
        if context.explicit_axes:
            out = with_divisions(self, avals, out, params)
        if memories_in_types.other_than_device:
            out = with_memories(self, avals, out)
        return self.with_varying(avals, out, params) if context.tracks_varying else out

    def with_varying(self, avals: Any, out: Any, params: dict[str, Any]) -> Any:
        """Types of results with the mesh axes over which these vary."""
        if self.holds_programs or self.closes_over:
            return out
        axes = frozenset().union(*(getattr(aval, "vma", frozenset()) for aval in avals))
        if self.varies is not None:
            axes = self.varies(axes, **params)
        if self.multiple_results:
            return [aval.update(vma=axes) if isinstance(aval, ShapedArray) else aval for aval in out]
        return out.update(vma=axes) if isinstance(out, ShapedArray) else out

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


_primitives: WeakSet[Primitive] = WeakSet()


@cleared_by
def _forget_compiled() -> None:
    for primitive in list(_primitives):
        primitive.compiled.clear()


class Tracer:
    """A value during tracing: everything an ``Array`` is, but for its elements. Methods are attached by numpy_api.

    Example: ``jit(lambda v: log.append(isinstance(v, arrax.core.Tracer)))(y); log`` is ``[True]``.
    """

    __slots__ = ("interpreter", "aval", "__weakref__")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]
    interpreter: Interpreter
    aval: Any

    def __init__(self, interpreter: Interpreter, aval: ShapedArray) -> None:
        self.interpreter, self.aval = interpreter, aval

    shape = property(lambda self: self.aval.shape, doc="Tuple of lengths.")
    dtype = property(lambda self: self.aval.dtype, doc="The elements' dtype.")
    ndim = property(lambda self: self.aval.ndim, doc="Number of dimensions.")
    size = property(lambda self: self.aval.size, doc="Number of elements.")
    weak_type = property(lambda self: self.aval.weak_type, doc="Whether the dtype gives way to others of its kind.")

    @property
    def _trace(self) -> Interpreter:
        """The interpreter, under the name that libraries look for."""
        return self.interpreter

    @_trace.setter
    def _trace(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def _is_traced_array(self) -> bool:
        return isinstance(self.aval, ShapedArray)

    def full_lower(self) -> Any:
        """The innermost concrete value of this tracer, or itself."""
        return self

    def is_concrete(self) -> bool:
        """True where the value is known under the tracer (as in ``grad`` outside ``jit``)."""
        return False

    def concrete(self) -> Any:
        """The known value under the tracer, or None."""
        return None

    def is_differentiated(self) -> bool:
        """Whether a derivative is taken of the value, to which a Python number made of it would be a constant."""
        return False

    def origin(self) -> str:
        """One sentence on where the tracer comes from, for error messages."""
        return ""


runtime.set_tracer_class(Tracer)
register_type(Tracer, lambda tracer: tracer.aval)


def is_concrete(value: Any) -> bool:
    """True for values whose elements can be looked at.

    Example: ``arrax.core.is_concrete(x)`` is True; inside ``jit`` it is False of an argument.
    """
    return value.is_concrete() if isinstance(value, Tracer) else True


def concrete_value(value: Any) -> Any:
    """The value whose elements can be looked at, under any tracers that carry it; None if there is none."""
    while isinstance(value, Tracer):
        value = value.concrete()
    return value
