"""Tracing a user's function to a program, once per function and signature of its arguments."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core import config, monitoring
from arrax.core.argument_values import result_value
from arrax.core.caches import cleared_by
from arrax.core.function_info import FunctionInfo, describe_call, flat_names
from arrax.core.functions import function_name
from arrax.core.interpreter import Tracer, context
from arrax.core.program import ClosedJaxpr, Jaxpr
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import high_classes, type_of_any, typeof
from arrax.dtypes.wording import shown
from arrax.interpreters.high_types import is_high
from arrax.interpreters.staging import stage
from arrax.native import runtime
from arrax.transforms.arguments import Split
from arrax.transforms.cache_misses import explain
from arrax.transforms.recompilations import note_trace
from arrax.xla.arrays import Array

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef
    from arrax.interpreters.references import StagedRef


logger = logging.getLogger("arrax")
_trace_context = runtime.trace_context
_ENTRIES_PER_FUNCTION = 2048


class Traced:
    """A function traced for one signature: its program, the values it closes over that are tracers, its output's tree.

    Attributes:
      program: from the flat dynamic arguments (and, in front of them, ``captured``) to the flat outputs.
      captured: tracers of enclosing transformations that the function closes over: leading operands of the program.
      is_captured: for each value that the function closes over, in the order of their first use, whether it is one of
        these; the others are constants of the program.
      compiled: what was compiled of it, by placement.
      key: what it depends on: a ``TraceKey``'s entries.
    """

    __slots__ = (
        "program",
        "captured",
        "is_captured",
        "out_tree",
        "info",
        "compiled",
        "in_avals",
        "in_tree",
        "key",
        "__weakref__",
    )
    key: tuple[Any, ...]

    def __init__(
        self, program: ClosedJaxpr, captured: list[Any], out_tree: PyTreeDef, info: FunctionInfo | None, in_avals: Any, in_tree: PyTreeDef,
        is_captured: list[bool] | None = None,
    ) -> None:  # fmt: skip
        self.program, self.captured, self.out_tree, self.info = program, captured, out_tree, info
        self.in_avals, self.in_tree = in_avals, in_tree
        self.is_captured = [False] * len(program.consts) if is_captured is None else is_captured
        self.compiled: dict[Any, Any] = {}


def leaf_type(value: Any, describe: Callable[[], str], advice: str = "") -> Any:
    """The type of an argument's leaf.

    Args:
      describe: says which argument it is, for messages.
      advice: what may be done about it.
    Raises:
      TypeError: it is not an array, naming the argument.
    """
    try:
        return type_of_any(value)
    except OverflowError:  # of a Python int
        raise OverflowError(
            f"An overflow was encountered while parsing an argument to a jitted computation, {describe()}: "
            f"too large to convert to {dtypes.canonicalize_dtype(np.int64).name}"
        ) from None
    except TypeError as error:
        reason = f"{error}"
        if not hasattr(value, "dtype"):
            reason = (
                f"Argument '{shown(value, str)}' of type {type(value)} is not a valid JAX type. Cannot interpret value of type "
                f"{type(value)} as an abstract array; it does not have a dtype attribute"
            )
        raise TypeError(f"{reason}. Error interpreting {describe()}.{advice}") from None


def described_argument(fun: Callable[..., Any], name: str, split: Split, leaves: Sequence[Any], index: int) -> str:
    """Which argument of a call a leaf belongs to, for messages: its name, that of the function, and the leaf."""
    return f"argument {dynamic_names(fun, split)[index]} of {name}, whose value is {shown(leaves[index])}"


class _Traces:
    """Traces by function (weakly) and key."""

    def __init__(self) -> None:
        self.by_function: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.lock = threading.Lock()

    def of(self, fun: Callable[..., Any]) -> dict[Any, Traced]:
        """The traces of a function; those of functions that cannot be keys live with the caller."""
        with self.lock:
            found = self.by_function.get(fun)
            if found is None:
                found = self.by_function[fun] = {}
            return found

    def clear(self) -> None:
        """Empty the stores, which jitted functions hold too."""
        with self.lock:
            for store in list(self.by_function.values()):
                store.clear()


traces = _Traces()
cleared_by(traces.clear)


def traces_of(fun: Callable[..., Any]) -> dict[Any, Traced]:
    """The store of a function's traces: shared by all transformations of the same (equal) function."""
    try:
        return traces.of(fun)
    except TypeError:
        return {}


def trace(
    fun: Callable[..., Any],
    split: Split,
    transformation: str,
    store: dict[Any, Traced] | None = None,
    leaves: Sequence[Any] | None = None,
    tree: PyTreeDef | None = None,
    avals: tuple[Any, ...] | None = None,
    info: FunctionInfo | None = None,
) -> Traced:
    """The trace of ``fun`` for the types of some arguments; found in ``store`` where it was made before.

    Args:
      info: what messages say of the user's function, where ``fun`` wraps it.
    """
    if leaves is None or tree is None:
        leaves, tree = tree_flatten((split.dynamic, split.dynamic_kwargs))
    if avals is None:
        avals = tuple(map(typeof, leaves))
    key = (tree, avals, split.key, split.count, _trace_context(), context.axes)
    if store is not None:
        found = store.get(key)
        if found is not None:
            return found
    if high_classes and any(map(is_high, avals)):
        raise NotImplementedError(
            f"{function_name(fun)} would be traced for {transformation} with arguments of types of a library's own, "
            f"{[aval for aval in avals if is_high(aval)]}: calls of jitted functions and eval_shape take such arguments"
        )
    if config.no_tracing.cell.value:
        raise RuntimeError(
            f"{function_name(fun)} would be traced for {transformation}, but the option no_tracing is set"
        )
    if info is None:
        info = describe_call(fun, transformation, split.with_holes(), split.dynamic_kwargs)
    if store is not None and config.explain_cache_misses.cell.value:
        explain(fun, key, list(store), info.argument_names)
    out_tree: list[Any] = []
    start = time.perf_counter()
    flat = _flat(fun, split, tree, info, out_tree)
    with monitoring.timed("/jax/core/compile/jaxpr_trace_duration", fun_name=info.name):
        program = stage(flat, avals, info)  # nested calls come back here: few frames deep
    took = time.perf_counter() - start
    if config.log_compiles.cell.value:
        logger.warning("Finished tracing + transforming %s for %s in %f sec", info.name, info.transformation, took)
    traced = _traced(*program, out_tree[0], info, avals, tree)
    traced.key = key
    if store is not None and transformation in ("jit", "eval_shape", "make_jaxpr"):
        note_trace(fun, traced, took)
    if store is not None and not traced.captured and not config.check_tracer_leaks.cell.value:
        if len(store) >= _ENTRIES_PER_FUNCTION:
            store.pop(next(iter(store)))
        store[key] = traced
    return traced


def dynamic_names(fun: Callable[..., Any], split: Split) -> list[str]:
    """A name for each leaf of the arguments that are not static."""
    return flat_names(fun, split.with_holes(), split.dynamic_kwargs)


def _flat(
    fun: Callable[..., Any], split: Split, tree: PyTreeDef, info: FunctionInfo, out_tree: list[Any]
) -> Callable[..., list[Any]]:
    """The function of flat arguments and results; a call appends the structure of the results to ``out_tree``."""

    def flat(*tracers: Array | StagedRef) -> list[Any]:
        args, kwargs = split.merged(*tree_unflatten(tree, tracers))
        outs, structure = tree_flatten(fun(*args, **kwargs))
        out_tree.append(structure)
        return [result_value(value, structure, index, info) for index, value in enumerate(outs)]

    return flat


def _traced(
    jaxpr: Jaxpr, consts: list[Any], out_tree: PyTreeDef, info: FunctionInfo, avals: tuple[Any, ...], tree: PyTreeDef
) -> Traced:
    """The trace of a staged program, with what it captured of enclosing transformations in front of its arguments."""
    is_captured = [isinstance(c, Tracer) for c in consts]
    captured = [(var, c) for var, c in zip(jaxpr.constvars, consts, strict=True) if isinstance(c, Tracer)]
    if captured:
        fixed = [(var, c) for var, c in zip(jaxpr.constvars, consts, strict=True) if not isinstance(c, Tracer)]
        jaxpr = jaxpr.replace(
            constvars=[var for var, _ in fixed], invars=[*(var for var, _ in captured), *jaxpr.invars]
        )
        consts = [c for _, c in fixed]
    jaxpr = jaxpr.replace(debug_info=info._replace(results=out_tree))
    return Traced(ClosedJaxpr(jaxpr, consts), [c for _, c in captured], out_tree, info, avals, tree, is_captured)
