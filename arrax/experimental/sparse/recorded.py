"""Sparse operations as primitives: programs record them by their names, each with the program that it consists of."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from arrax.core.caches import cleared_by
from arrax.core.calls import register_wrapper
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Primitive, Tracer, context
from arrax.core.program import ClosedJaxpr
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from arrax.core.types import typeof
from arrax.experimental.sparse.base import JAXSparse
from arrax.interpreters.lowering.module import inline_program
from arrax.interpreters.staging import stage
from arrax.lax.calls import bind_program, fill_program_rules, jit_p
from arrax.native import runtime
from arrax.xla.arrays import Array

F = TypeVar("F", bound=Callable[..., Any])


class _Recording(threading.local):
    """Whether a thread traces what an operation consists of, where no others are recorded."""

    inside = False


_recording = _Recording()


@functools.cache
def primitive_of(name: str) -> Primitive:
    """The operation of a name, which calls the program that it holds."""
    made = Primitive(name, multiple_results=True)
    fill_program_rules(made)
    made.hidden_params = frozenset({"jaxpr"})
    made.taylor = lambda *args, **params: jit_p.taylor(*args, **params)  # type: ignore[misc]
    made.lower[None] = lambda ctx, *args, jaxpr, **params: inline_program(ctx.module_context, jaxpr, args, name)
    return made


def recorded(name: str, count: int, of_two: str | None = None) -> Callable[[F], F]:
    """Let programs record calls of a function by a name.

    Args:
      count: how many arguments, from the first on, are arrays, sparse ones among them; the others are parameters.
      of_two: the name for two sparse arrays, where that is another one.
    """
    one, two = primitive_of(name), primitive_of(of_two or name)

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*operands: Any, **settings: Any) -> Array | JAXSparse:
            if _recording.inside or context.interpreter.is_evaluation or len(operands) < count:
                return function(*operands, **settings)
            given, rest = operands[:count], operands[count:]
            sparse = sum(isinstance(each, JAXSparse) for each in given)
            return _record(two if sparse == 2 else one, function, given, rest, settings)

        register_wrapper(call, lambda local: (local["function"], local["operands"], local["settings"]))
        return call  # type: ignore[return-value]

    return decorate


def _record(
    primitive: Primitive, function: Callable[..., Any], operands: tuple[Any, ...], rest: tuple[Any, ...], settings: dict[str, Any]
) -> Array | JAXSparse:  # fmt: skip
    leaves, tree = tree_flatten(operands)
    traced = _traced(function, tree, tuple(map(typeof, leaves)), rest, settings)
    if traced is None:  # it looks at values, or refuses them: in the open, where errors say more
        return function(*operands, *rest, **settings)
    program, out_tree = traced
    return tree_unflatten(out_tree, bind_program(primitive, program, leaves, {**settings, "tree": tree}))


_traces: dict[Any, tuple[ClosedJaxpr, PyTreeDef]] = {}
_MAX_TRACES = 4096
cleared_by(_traces.clear)


def _traced(
    function: Callable[..., Any], tree: PyTreeDef, avals: tuple[Any, ...], rest: tuple[Any, ...], settings: dict[str, Any]
) -> tuple[ClosedJaxpr, PyTreeDef] | None:  # fmt: skip
    """What a call consists of, traced once for its parameters and the types of its operands, and the structure of its result.

    Returns: None where the call cannot be traced.
    """
    key: Any = (function, tree, avals, rest, tuple(settings.items()), runtime.trace_context(), context.axes)
    try:
        found = _traces.get(key)
    except TypeError:  # parameters that cannot be hashed
        key = found = None
    if found is not None:
        return found
    out_tree: Any = None

    def flat(*values: Array) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = tree_flatten(function(*tree_unflatten(tree, values), *rest, **settings))
        return outs

    _recording.inside = True
    try:
        program = ClosedJaxpr(*stage(flat, avals))
    except (ConcretizationTypeError, TypeError):
        return None
    finally:
        _recording.inside = False
    if key is not None and not any(isinstance(value, Tracer) for value in (*program.consts, *rest, *settings.values())):
        if len(_traces) >= _MAX_TRACES:
            _traces.clear()
        _traces[key] = program, out_tree
    return program, out_tree
