"""How public array functions are made: compiled functions that a traced program sees through.

``@api(static=(...))`` turns a function of arrays into one on the C++ call path: an eager call costs one dispatch,
promotion and all. Under a trace the Python body runs instead, so that its operations appear in the program themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from arrax.core import config
from arrax.core.interpreter import Tracer, context
from arrax.native import runtime
from arrax.transforms.jit import JitOptions, Jitted, register_jitted

F = TypeVar("F", bound=Callable[..., Any])
_registry = runtime.pytree.default_registry()
_calls = runtime.PjitFunctionCache(1 << 15)


class LibraryFunction(Jitted):
    """A public array function: traced calls run the Python body."""

    __slots__ = ()

    advice = " It takes arrays and numbers."

    def _run(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Any]:
        if not context.interpreter.is_evaluation or config.disable_jit.cell.value:
            return self.fun(*args, **kwargs), None
        if any(isinstance(arg, Tracer) for arg in args):
            return self.fun(*args, **kwargs), None  # an escaped tracer: the first operation says so
        return super()._run(args, kwargs)


class DeferringFunction(LibraryFunction):
    """An operator's function: operands of foreign types give Python's NotImplemented."""

    __slots__ = ()

    def _run(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Any]:
        for arg in args:
            if type(arg) not in operand_types and not accepts_operand(arg):
                return NotImplemented, None
        return super()._run(args, kwargs)


operand_types: set[type] = {runtime.ArrayImpl, int, float, bool, complex}


def accepts_operand(value: Any) -> bool:
    """True for values that operators of arrays work with: arrays, tracers, NumPy's values, Python numbers."""
    if type(value) in operand_types or isinstance(value, (Tracer, np.ndarray, np.generic, *_operand_classes)):
        return True
    return hasattr(value, "__jax_array__")


_operand_classes: list[type] = []


def register_operand(cls: type) -> None:
    """Let operators of arrays accept instances of a class."""
    _operand_classes.append(cls)


def api(static: Sequence[str] = (), *, kind: type[Jitted] = LibraryFunction) -> Callable[[F], F]:
    """Decorator: make a public array function a compiled one.

    Args:
      static: names of the arguments whose values are part of the program (axes, dtypes, shapes, modes); they must be
        hashable, so a function that takes lists there normalizes them before it calls the compiled one.
    """

    def decorate(fun: F) -> F:
        return make_api(fun, static, kind)

    return decorate


def _positional(fun: Any) -> Sequence[str]:
    """The names of the arguments that may be given by position; hundreds of functions ask at import."""
    code = getattr(fun, "__code__", None)
    if code is not None and not hasattr(fun, "__wrapped__"):
        return code.co_varnames[: code.co_argcount]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, p in inspect.signature(fun).parameters.items() if p.kind in kinds]


def make_api(
    fun: Any, static: Sequence[str] = (), kind: type[Jitted] = LibraryFunction, eager: bool = True
) -> Any:  # fmt: skip
    """The compiled function of a Python body.

    Args:
      eager: compile it as an operation, quickly; otherwise as ``jit`` would, which gives the same values to the last bit.
    """
    positions = tuple(n for n, name in enumerate(_positional(fun)) if name in static) if static else ()
    options = JitOptions(
        static_argnums=positions, static_argnames=tuple(static), donate_argnums=(), donate_argnames=(), inline=True,
        eager=eager,
    )  # fmt: skip
    jitted = kind(fun, options)
    return register_jitted(jitted, _calls)
