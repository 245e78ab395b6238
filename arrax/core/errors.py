"""The documented exceptions, and the wording of messages about tracers."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.calls import is_internal
from arrax.core.interpreter import Tracer
from arrax.core.program import Var
from arrax.native import runtime

if TYPE_CHECKING:
    from arrax.core.function_info import FunctionInfo
    from arrax.core.program import JaxprEqn
    from arrax.interpreters.staging import Staging


JaxRuntimeError = runtime.RuntimeFault
_PAGE = "See docs/errors.md#"


class ErrorWithPage:
    """Appends where the documentation explains the error: the section of its class."""

    of_traced_argument = False  # whether ``core.error_messages`` adds in which call, and by which argument, it arose

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}\n{_PAGE}{type(self).__name__.lower()}")  # type: ignore[call-arg]

    def __reduce__(self) -> tuple[Any, ...]:  # workers of a pool send their exceptions; the message is already whole
        return copyreg.__newobj__, (type(self), *self.args)  # type: ignore[attr-defined]


def _origin(tracer: Any) -> str:
    return tracer.origin() if isinstance(tracer, Tracer) else ""


class JAXTypeError(ErrorWithPage, TypeError):
    """A traced value was used as only a known one can be.

    It is the base of most of these errors, and a ``TypeError``.

    Example: ``jit(np.sin)(x)`` raises it; ``jit(jnp.sin)(x)`` does not.
    """


class JAXIndexError(ErrorWithPage, IndexError):
    """An index that only a known value can be.

    It is an ``IndexError``, too.

    Example: ``jit(lambda x: x[x > 1])(x)`` raises it; ``jit(lambda x: jnp.where(x > 1, x, 0))(x)`` does not.
    """


class ConcretizationTypeError(JAXTypeError):
    """A traced value stands where a concrete one is required, such as an axis or a shape.

    Fix: mark the argument as static (``static_argnums``), or use an operation whose shape doesn't depend on values, such
    as the three-argument ``jnp.where``.

    Example: ``jit(lambda x, axis: jnp.sum(x, axis))(x, 0)`` raises it;
    ``jit(lambda x, axis: jnp.sum(x, axis), static_argnums=1)(x, 0)`` does not.
    """

    of_traced_argument = True

    def __init__(self, tracer: Any, context: str = "") -> None:
        found = f"traced array with shape {tracer.aval.str_short(False)}" if hasattr(tracer, "aval") else tracer
        super().__init__(
            f"Abstract tracer value encountered where concrete value is expected: {found}\n{context}{_origin(tracer)}"
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask is used as an index: the size of the result would depend on its values.

    Fix: ``jnp.where(mask, x, 0)``.

    Example: ``jit(lambda x: x[x > 1])(x)`` raises it; ``jit(lambda x: jnp.where(x > 1, x, 0))(x)`` does not.
    """

    def __init__(self, tracer: Any) -> None:
        aval = getattr(tracer, "aval", tracer)
        super().__init__(f"Array boolean indices must be concrete: {aval!r}{_origin(tracer)}")


class TracerArrayConversionError(JAXTypeError):
    """A traced value reaches a NumPy function.

    Fix: use the function of ``arrax.numpy``; index ``jnp.asarray(x)`` instead of a NumPy array.

    Example: ``jit(np.sin)(x)`` raises it; ``jit(jnp.sin)(x)`` does not.
    """

    of_traced_argument = True

    def __init__(self, tracer: Any) -> None:
        super().__init__(
            "The numpy.ndarray conversion method __array__() was called on traced array with shape "
            f"{tracer.aval.str_short(False)}{_origin(tracer)}"
        )


class TracerIntegerConversionError(JAXTypeError):
    """A traced value stands where Python needs an int, such as a list index or a static argument.

    Fix: mark the argument as static, or index an array instead of a list.

    Example: ``jit(lambda i: [10, 20][i])(1)`` raises it; ``jit(lambda i: jnp.array([10, 20])[i])(1)`` does not.
    """

    of_traced_argument = True

    def __init__(self, tracer: Any) -> None:
        super().__init__(
            "The __index__() method was called on traced array with shape "
            f"{tracer.aval.str_short(False)}{_origin(tracer)}"
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value stands where Python needs a truth value: if, while, and, or, not, assert.

    Fix: ``jnp.where``, ``lax.cond``, ``lax.while_loop``, or a static argument.

    Example: ``jit(lambda v: v if v > 0 else 0.0)(y)`` raises it; ``jit(lambda v: jnp.where(v > 0, v, 0.0))(y)`` does
    not.
    """

    def __init__(self, tracer: Any) -> None:
        ErrorWithPage.__init__(
            self,
            f"Attempted boolean conversion of traced array with shape {tracer.aval.str_short(False)}.{_origin(tracer)}",
        )


class UnexpectedTracerError(JAXTypeError):
    """A value of a finished trace is used: it escaped its function through a side channel.

    Fix: return the value from the function instead of storing it elsewhere.

    Example: ``jit(lambda v: log.append(v))(y); log[0] + 1`` raises it; ``value = jit(lambda v: v)(y); value + 1`` does
    not.
    """

    def __init__(self, msg: str) -> None:
        super().__init__(msg)


class KeyReuseError(JAXTypeError):
    """A random key is consumed twice. Fix: ``split`` the key first.

    Example: ``with arrax.debug_key_reuse(): random.normal(key), random.uniform(key)`` raises it; with
    ``a, b = random.split(key)`` and a draw from each nothing is raised.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class InconclusiveDimensionOperation(ErrorWithPage, Exception):
    """Symbolic dimensions cannot be compared.

    Raised for comparisons that hold for some sizes only, while a function is exported for lengths that are symbols.
    Fix: constraints that say more of the symbols, or code that does not compare lengths.

    Example: ``raise arrax.errors.InconclusiveDimensionOperation('n > 4 depends on n')`` raises it.
    """


class LeakedTrace(ErrorWithPage, Exception):
    """``Leaked Trace``: a traced function left tracers behind while leaks are checked.

    Fix: return the value instead of storing it.
    Example: ``with arrax.check_tracer_leaks(): jit(lambda v: log.append(v))(y)`` raises it, and says what holds the
    tracer.
    """


_BEFORE_TRANSFORMATION = (
    "The preceding stack trace is the source of the JAX operation that, once transformed by JAX, triggered "
    "the following exception.\n\n--------------------"
)


class JaxStackTraceBeforeTransformation(Exception):
    """Carries the stack trace of an operation whose transformation failed later.

    It is the ``__cause__`` of the error, and its own traceback leads to the line of the operation.

    Example: ``bare = arrax.core.Primitive('bare'); bare.def_abstract_eval(lambda t: t); jit(bare.bind)(x)`` raises
    ``NotImplementedError``, which has such a cause: ``bare`` has no lowering.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message or _BEFORE_TRANSFORMATION)


def blame(error: BaseException, eqn: JaxprEqn) -> None:
    """Say in an error's note and cause which operation it comes from, and from which line; the innermost one counts."""
    blame_line(error, eqn.source_info.traceback, f"The operation {eqn.primitive.name} comes from line")


def blame_line(error: BaseException, traceback: runtime.Traceback, said: str) -> None:
    """Say in an error's note and cause that it comes from a recorded line of the user's.

    Args:
      said: what comes from there, as the beginning of a sentence that the line ends.
    """
    if getattr(error, "_blamed", False):
        return
    frames = user_frames(traceback, 1)
    if not frames:
        return
    try:
        error._blamed = True  # type: ignore[attr-defined]
    except (AttributeError, TypeError):  # a class without room for attributes
        return
    error.add_note(f"{said} {frame_text(frames[0])}.")
    if error.__cause__ is None:
        cause = JaxStackTraceBeforeTransformation(f"{type(error).__name__}: {error}\n\n{_BEFORE_TRANSFORMATION}")
        error.__cause__ = cause.with_traceback(traceback.as_python_traceback())


class Hooks:
    """Slots for what stands above this file."""

    check_program: Callable[[Any], None] = staticmethod(lambda jaxpr: None)
    check_keys: Callable[[Any, Any, str], Any] = staticmethod(lambda jaxpr, values, name: None)  # see random/key_reuse


hooks = Hooks()


def user_frames(traceback: runtime.Traceback | None, limit: int = 5) -> list[Any]:
    """The innermost frames of a recorded traceback that lie outside this package."""
    frames = traceback.frames if traceback is not None else []
    return [frame for frame in frames if not is_internal(frame.file_name)][:limit]


def frame_text(frame: Any) -> str:
    """``file.py:3 (function)`` of a frame."""
    return f"{frame.file_name}:{frame.line_num} ({frame.function_name.rpartition('.')[2]})"


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# By transformation: what its users may do about a value that they want to be concrete.
_HINTS = {"checkpoint": "\nMark arguments that are no arrays with checkpoint's static_argnums."}


def describe_origin(staging: Any, var: Any) -> str:
    """Why a value is a tracer: the arguments it depends on, or the operations that made it."""
    info = staging.info
    if info is None:
        return ""
    head = f"\nThe error occurred while tracing the function {info.describe()} for {info.transformation}."
    arguments, operations = _dependencies(staging, var)
    if arguments:
        names = [info.argument(index) for index in arguments]
        noun = "argument" if len(names) == 1 else "arguments"
        return (
            f"{head} This concrete value was not available in Python because it depends on the "
            f"value{'s' if len(names) > 1 else ''} of the {noun} {_join(names)}.{_HINTS.get(info.transformation, '')}"
        )
    if operations:
        lines = "\n\n".join(_operation_text(eqn) for eqn in operations[:5])
        return f"{head} This value became a tracer due to JAX operations on these lines:\n\n{lines}"
    return head


def _dependencies(staging: Staging, *variables: Var) -> tuple[list[int], list[Any]]:
    """Indices of the arguments behind some variables, and the equations behind them.

    Behind those of a call inside of the function are the operands of the call.
    """
    makers = {out: eqn for eqn in staging.eqns for out in eqn.outvars}
    waiting, seen, operations = list(variables), set(variables), []
    while waiting:
        eqn = makers.get(waiting.pop())
        if eqn is None:
            continue
        operations.append(eqn)
        for atom in eqn.invars:
            if isinstance(atom, Var) and atom not in seen:
                seen.add(atom)
                waiting.append(atom)
    arguments = [index for index, invar in enumerate(staging.invars) if invar in seen]
    if staging.operands is None or not arguments:
        return arguments, operations
    operands = [getattr(staging.operands[index], "variable", None) for index in arguments]
    outside, before = _dependencies(staging.parent, *(var for var in operands if isinstance(var, Var)))  # type: ignore[arg-type]
    return outside, [*operations, *before]


def _operation_text(eqn: JaxprEqn) -> str:
    frames = user_frames(eqn.source_info.traceback, 1)
    place = f"\n    from line {frame_text(frames[0])}" if frames else ""
    return f"  operation {eqn!r}{place}"


def closed_over(kind: str) -> UnexpectedTracerError:
    """The error for a transformation of a value that a function with a rule of its own closes over.

    Args:
      kind: ``custom_jvp`` or ``custom_vjp``, or both where it isn't known which; or ``custom_vmap``.
    """
    if kind == "custom_vmap":
        return UnexpectedTracerError(
            "A custom_vmap function closes over a value that is mapped or differentiated, of which its rule hears nothing: "
            "pass the value as an argument."
        )
    rule, rules = {"custom_jvp": ("JVP rule", "rule"), "custom_vjp": ("VJP rule", "fwd and bwd rules")}.get(
        kind, ("rule", "rules")
    )
    return UnexpectedTracerError(
        f"Detected differentiation of a {kind} function with respect to a closed-over value. That isn't supported because "
        f"the custom {rule} only specifies how to differentiate the {kind} function with respect to explicit input "
        f"parameters.\n\nTry passing the closed-over value into the {kind} function as an argument, and adapting the "
        f"{kind} {rules}."
    )


def escaped_tracer_error(tracer: Any, detail: str | None = None) -> UnexpectedTracerError:
    """The error for a tracer that left the function that was traced, for libraries to raise.

    Args:
      tracer: it.
      detail: what else is to be said.
    Example: ``jit(lambda v: log.append(arrax.core.escaped_tracer_error(v)))(y);
    type(log[0]) is arrax.errors.UnexpectedTracerError`` is True.
    """
    error = escaped_tracer(tracer)
    if detail:
        error.args = (f"{error.args[0]}\n{detail}", *error.args[1:])
    return error


def escaped_tracer(tracer: Any) -> UnexpectedTracerError:
    """The error for a tracer that is used after its trace has finished, or where its interpreter is not current."""
    if tracer.interpreter.alive and tracer.interpreter.left_by_rules:
        return closed_over("custom_jvp or custom_vjp")
    info = getattr(tracer.interpreter, "info", None)
    origin = getattr(tracer, "traceback", None)
    which = (
        f"The function being traced when the value leaked was {info.describe()} traced for {info.transformation}."
        if info is not None
        else f"The value leaked from a transformation by {tracer.interpreter.describe()}."
    )
    frames = user_frames(origin)
    made = ""
    if frames:
        lines = "\n".join(frame_text(frame) for frame in frames)
        made = (
            f"\nThe leaked intermediate value was created on line {frame_text(frames[0])}."
            f"\nWhen the value was created, the final 5 stack frames (most recent last) excluding internal frames were:\n"
            f"------------------------------\n{lines}\n"
            "------------------------------"
        )
    return UnexpectedTracerError(
        "Encountered an unexpected tracer. A function transformed by arrax had a side effect, allowing for a reference "
        f"to an intermediate value with type {tracer.aval.str_short(False)} to escape the scope of the transformation.\n"
        f"A transformed function must return its outputs, not save values to global state: what it stores is gone when it ends.\n{which}{made}\n"
        "To catch the leak earlier, try setting the environment variable ARRAX_CHECK_TRACER_LEAKS or using the "
        "`arrax.checking_leaks` context manager."
    )


def leaked_trace(held: Sequence[Any], info: FunctionInfo | None) -> LeakedTrace:
    """The error of the leak checker."""
    where = f" {info.describe()} traced for {info.transformation}" if info is not None else ""
    lines = "\n".join(
        f"  a value of type {tracer.aval.str_short(True)}"
        + "".join(
            f" created on line {frame_text(frame)}" for frame in user_frames(getattr(tracer, "traceback", None), 1)
        )
        for tracer in held[:5]
    )
    return LeakedTrace(f"Leaked Trace: the function{where} left tracers behind:\n{lines}")
