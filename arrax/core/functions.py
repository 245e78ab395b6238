"""What interpreters and error messages know of the user's function: its name, place, argument names, flattening."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arrax.native import runtime

_WRAPPERS = (types.FunctionType, runtime.PjitFunction)


def unwrap(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function under partials and wrappers."""
    while True:
        if isinstance(fun, functools.partial):
            fun = fun.func
        elif hasattr(fun, "__wrapped__"):
            fun = fun.__wrapped__
        else:
            return fun


def named_like(fun: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that gives a function the name, place and documentation of the user's, as far as that has them.

    The user's annotations are not kept: a transformed function has arguments and results of other types.
    """
    names = ("__module__", "__name__", "__qualname__", "__doc__")
    texts = [name for name in names if isinstance(getattr(fun, name, None), str)]

    def name(function: Callable[..., Any]) -> Callable[..., Any]:
        function = functools.wraps(fun, assigned=texts)(function)
        function.__annotations__ = {}
        return function

    return name


def function_name(fun: Callable[..., Any]) -> str:
    """A name to show for ``fun``."""
    inner = fun
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, "__name__", None)
    return printable(name) if isinstance(name, str) and name else type(inner).__name__


def printable(text: str) -> str:
    """A text with halves of surrogate pairs, which have no form outside of Python, as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def name_function(function: Callable[..., Any], name: str) -> None:
    """Name a function that another one has made, in tracebacks, too."""
    function.__name__ = function.__qualname__ = name
    if hasattr(function, "__code__"):
        function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)


def function_place(fun: Callable[..., Any]) -> str:
    """``file.py:3`` of the definition, or an empty text."""
    code = getattr(unwrap(fun), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""


def signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    """The signature, or None where Python knows none.

    What functions wrap is looked for here: Python would ask each of several compiled ones around each other for its signature,
    which asks all those inside of it, twice.
    """
    while isinstance(fun, _WRAPPERS) and hasattr(fun, "__wrapped__") and "__signature__" not in fun.__dict__:
        fun = fun.__wrapped__
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def argument_names(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """Parameter names of positional and keyword arguments, as the signature has them."""
    if type(fun) is types.FunctionType and not fun.__dict__ and len(args) <= fun.__code__.co_argcount:
        return [*fun.__code__.co_varnames[: len(args)], *kwargs]  # as a signature would say, which takes 20 us to make
    signature = signature_of(fun)
    names: list[str] = []
    parameters = list(signature.parameters.values()) if signature is not None else []
    rest = None
    for position in range(len(args)):
        if rest is None and position < len(parameters):
            parameter = parameters[position]
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                rest = (parameter.name, position)
            elif parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
                continue
        names.append(f"{rest[0]}[{position - rest[1]}]" if rest is not None else f"args[{position}]")
    return [*names, *kwargs]
