"""How public array functions are declared: ``@api(static=…, host=…, stepwise=…)``.

A declared function is a compiled one on the C++ call path (``interpreters/dispatch.py``): an eager call costs one dispatch,
promotion and all. While a program is recorded the Python body runs instead, so that its operations appear in the program
themselves; where ``grad`` or ``vmap`` run outside of ``jit``, a function of several operations is one program for them. Two
more ways are for functions that move small arrays, where compiling a program for each new shape, axis or index would cost
more than it saves: ``host`` does it with NumPy, and ``stepwise`` waits with compiling until a signature has come often. No
way changes a value: what runs on the host moves elements and computes nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from arrax.core import config
from arrax.core.caches import cleared_by
from arrax.core.calls import register_wrapper
from arrax.core.interpreter import Tracer, context
from arrax.interpreters.trace_state import transforms_at_once
from arrax.native import runtime
from arrax.numpy_api.host import back, on_host, view
from arrax.transforms.jit import Jitted, make_jitted
from arrax.transforms.jit_options import JitOptions
from arrax.xla.arrays import ArrayLike

F = TypeVar("F", bound=Callable[..., Any])
HostFunction = Callable[..., "np.ndarray | list[np.ndarray] | None"]
ArrayImpl = runtime.ArrayImpl
CALLS_BEFORE_COMPILING = 64  # of one signature: together they take about as long as the compiler does
_SIGNATURES = 4096  # that one function counts


class LibraryFunction(Jitted):
    """A public array function: calls that are recorded in a program run the Python body."""

    __slots__ = ()

    advice = " It takes arrays and numbers."

    def run_first(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if config.disable_jit.cell.value:
            return self.fun(*args, **kwargs), None
        if not context.interpreter.is_evaluation:
            return super().run_first(*args, **kwargs) if transforms_at_once() else (self.fun(*args, **kwargs), None)
        if any(isinstance(arg, Tracer) for arg in args):
            return self.fun(*args, **kwargs), None  # an escaped tracer: the first operation says so
        return super().run_first(*args, **kwargs)


class DeferringFunction(LibraryFunction):
    """An operator's function: operands of foreign types give Python's NotImplemented."""

    __slots__ = ("compiled",)

    compiled: Callable[..., Any]  # the callable that this is the Python side of

    def run_first(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        operands = [arg if type(arg) in operand_types else operand(arg) for arg in args]
        if any(each is NotImplemented for each in operands):
            return NotImplemented, None
        converted = any(each is not arg for each, arg in zip(operands, args, strict=True))
        if converted and all(type(each) in operand_types for each in operands):
            return self.compiled(*operands, **kwargs), None  # C++ may know these operands
        return super().run_first(*operands, **kwargs)


operand_types: set[type] = {runtime.ArrayImpl, int, float, bool, complex}


def operand(value: Any) -> Any:
    """What operators of arrays work with: arrays, tracers, NumPy's values, Python numbers, or what ``__jax_array__`` gives.

    Returns: ``NotImplemented`` for other values, also where ``__jax_array__`` says so: Python asks the value's class then.
    """
    if type(value) in operand_types or isinstance(
        value, (Tracer, np.ndarray, np.generic, int, float, complex, *_operand_classes)
    ):
        return value
    convert = getattr(value, "__jax_array__", None)
    return NotImplemented if convert is None else convert()


_operand_classes: list[type] = []


def register_operand(cls: type) -> None:
    """Let operators of arrays accept instances of a class."""
    _operand_classes.append(cls)


def api(
    static: Sequence[str] = (),
    *,
    host: HostFunction | None = None,
    stepwise: bool = False,
    kind: type[Jitted] = LibraryFunction,
) -> Callable[[F], F]:
    """Decorator: make a public array function a compiled one.

    Args:
      static: names of the arguments whose values are part of the program (axes, dtypes, shapes, modes); they must be
        hashable, so a function that takes lists there normalizes them before it calls the compiled one.
      host: what gives the same elements with NumPy, for a small array on the CPU: a function of its elements and the other
        arguments, which may be given by position only. It returns an array, a list of arrays, or None where the compiled
        function is to run.
      stepwise: run the body itself, operation by operation, in the first calls of each signature (with ``host``: only
        these calls run on the host). Calls with values that cannot be hashed (lists) always run so.
      kind: the class that runs first calls; ``DeferringFunction`` for operators.
    """

    def decorate(fun: F) -> F:
        made = make_api(fun, static, kind)
        routed = made if host is None else with_host_route(made, host)
        return _stepwise(fun if host is None else routed, made, _static_positions(fun, static)) if stepwise else routed

    return decorate


def make_api(
    fun: Callable[..., Any], static: Sequence[str] = (), kind: type[Jitted] = LibraryFunction, eager: bool = True
) -> Any:  # fmt: skip
    """The compiled function of a Python body.

    Args:
      eager: compile it as an operation, quickly; otherwise as ``jit`` would, which gives the same values to the last bit.
    """
    options = JitOptions(
        static_argnums=_static_positions(fun, static), static_argnames=tuple(static), donate_argnums=(), donate_argnames=(), inline=True,
        eager=eager,
    )  # fmt: skip
    function = kind(fun, options)
    made = make_jitted(function, by_user=False)
    if isinstance(function, DeferringFunction):
        function.compiled = made
    return made


def _static_positions(fun: Callable[..., Any], static: Sequence[str]) -> tuple[int, ...]:
    return tuple(n for n, name in enumerate(_positional(fun)) if name in static) if static else ()


def _positional(fun: Callable[..., Any]) -> Sequence[str]:
    """The names of the arguments that may be given by position; hundreds of functions ask at import."""
    code = getattr(fun, "__code__", None)
    if code is not None and not hasattr(fun, "__wrapped__"):
        return code.co_varnames[: code.co_argcount]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, p in inspect.signature(fun).parameters.items() if p.kind in kinds]


def with_host_route(compiled: Callable[..., Any], host: HostFunction) -> Any:
    """Small arrays on the CPU go through a function of NumPy, others through a compiled one."""

    @functools.wraps(compiled)
    def call(a: ArrayLike, *args: Any) -> Any:
        if on_host(a):
            found = host(view(a), *args)
            if isinstance(found, list):
                return [back(one, a) for one in found]
            if found is not None:
                return back(found, a, fresh=found.flags.owndata)
        return compiled(a, *args)

    return call


def _stepwise(fun: F, compiled: Callable[..., Any], static: Sequence[int]) -> F:
    """Calls of a signature run the body until they are many, then the compiled function."""
    calls: dict[Any, int] = {}
    cleared_by(calls.clear)

    def described(position: int, arg: Any) -> Any:
        return type(arg) if isinstance(arg, np.generic) and position not in static else arg

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not context.interpreter.is_evaluation:
            return fun(*args, **kwargs)
        signature: Any = [arg.aval if type(arg) is ArrayImpl else described(n, arg) for n, arg in enumerate(args)]
        signature = (*signature, *kwargs.items()) if kwargs else tuple(signature)
        try:
            past = calls.get(signature, 0)
        except TypeError:
            past = None  # run outside of this handler: an error of ``fun`` has nothing to do with this one
        if past is None:
            return fun(*args, **kwargs)
        if past >= CALLS_BEFORE_COMPILING:
            return compiled(*args, **kwargs)
        result = fun(*args, **kwargs)
        if len(calls) >= _SIGNATURES:
            calls.clear()
        calls[signature] = past + 1
        return result

    register_wrapper(call, lambda local: (local["fun"], local["args"], local["kwargs"]))
    return call  # type: ignore[return-value]
