"""Staging of the functions that control flow takes: to programs whose closed-over values have become leading inputs."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax.core import config
from arrax.core.argument_values import result_value
from arrax.core.caches import cleared_by
from arrax.core.function_info import FunctionInfo
from arrax.core.functions import argument_names, function_name, function_place
from arrax.core.interpreter import Interpreter, Tracer, concrete_value, context
from arrax.core.program import Atom, ClosedJaxpr, Jaxpr, Literal, consts_to_invars
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from arrax.interpreters.ad.forward import JVP
from arrax.interpreters.ad.partial import Partial
from arrax.interpreters.batching import Batch
from arrax.interpreters.high_types import lowered_results, raised
from arrax.interpreters.staging import stage
from arrax.native import runtime
from arrax.xla.arrays import Array, ArrayLike
from arrax.xla.placement import array_from_host, host_value

_trace_context = runtime.trace_context
Places = Sequence[tuple[int, ...]]  # paths by the numbers of children: (0, 2) is the third part of the first argument


class StagedFunction(NamedTuple):
    """A user's function as a program.

    Attributes:
      program: (*consts, *flat arguments) -> flat outputs; it has no constants of its own.
      consts: the values that the function closes over, tracers of enclosing transformations among them.
      out_tree: structure of the output.
      info: names for messages.
    """

    program: ClosedJaxpr
    consts: list[Any]
    out_tree: PyTreeDef
    info: FunctionInfo


def stage_function(
    fun: Callable, in_tree: PyTreeDef, avals: Sequence[Any], construct: str, origin: Callable | None = None,
    places: Places | None = None,
) -> StagedFunction:  # fmt: skip
    """Stage ``fun``, once per function and types of its arguments where that is possible.

    Args:
      in_tree: structure of the tuple of arguments.
      avals: types of their leaves.
      construct: name of the construct, for messages; part of the key.
      origin: the user's function, where ``fun`` wraps it.
      places: where the arguments of the user's function are in those of ``fun``, if they are not the same.
    Raises:
      TypeError: an output that is not an array.
    """
    user = fun if origin is None else origin
    key = (construct, in_tree, tuple(avals), _trace_context(), context.axes)
    store = _store_of(user)
    try:
        found = store.get(key)
    except TypeError:  # a structure that cannot be hashed
        found, store = None, {}
    if found is not None:
        return found
    staged = _stage(fun, user, in_tree, avals, construct, places)
    if not any(isinstance(value, Tracer) for value in staged.consts) and not config.check_tracer_leaks.cell.value:
        store[key] = staged
    return staged


def _stage(
    fun: Callable, user: Callable, in_tree: PyTreeDef, avals: Sequence[Any], construct: str, places: Places | None
) -> StagedFunction:
    info = FunctionInfo(construct, function_name(user), function_place(user), _leaf_names(user, in_tree, places))
    out_tree: Any = None

    def flat(*leaves: Array) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = tree_flatten(lowered_results(fun(*raised(tree_unflatten(in_tree, leaves)))))
        return [result_value(out, out_tree, index, info) for index, out in enumerate(outs)]

    jaxpr, consts = stage(flat, avals, info)
    jaxpr = jaxpr.replace(debug_info=info._replace(results=out_tree))
    return StagedFunction(_interned(ClosedJaxpr(consts_to_invars(jaxpr), ())), consts, out_tree, info)


def _leaf_names(fun: Callable, in_tree: PyTreeDef, places: Places | None) -> tuple[str, ...]:
    if places is None:
        places = [(number,) for number in range(len(in_tree.children()))]
    names = [f"number {number}" for number in range(in_tree.num_leaves)]
    for name, place in zip(argument_names(fun, places, {}), places, strict=True):
        tree, start = in_tree, 0
        for number in place:
            before, tree = tree.children()[:number], tree.children()[number]
            start += sum(each.num_leaves for each in before)
        names[start : start + tree.num_leaves] = leaf_names(name, tree)
    return tuple(names)


def leaf_names(name: str, tree: PyTreeDef) -> list[str]:
    """Names of the leaves of an argument: ``carry``, or ``carry['a'][0]`` and so on."""
    count = tree.num_leaves
    if count == 0 or tree.num_nodes == 1:
        return [name] * count
    paths = tree_flatten_with_path(tree_unflatten(tree, range(count)))[0]
    return [name + keystr(path) for path, _ in paths]


# ---- what was staged before ------------------------------------------------------------------------------------------

_stores: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def _store_of(fun: Callable) -> dict[Hashable, StagedFunction]:
    try:
        with _lock:
            store = _stores.get(fun)
            if store is None:
                store = _stores[fun] = {}
            return store
    except TypeError:  # functions that cannot be hashed or referred to weakly
        return {}


_programs: OrderedDict[Hashable, ClosedJaxpr] = OrderedDict()
_MAX_PROGRAMS = 512


@cleared_by
def _forget() -> None:
    with _lock:
        _programs.clear()
        for store in list(_stores.values()):
            store.clear()


def _interned(program: ClosedJaxpr) -> ClosedJaxpr:
    """An equal program that was staged before, if there is one: what was derived and compiled from it serves again.

    Only where operations run at once, where a fresh lambda per call is common and nobody asks which of two equal
    lambdas an equation came from.
    """
    if program.effects or not runs_at_once(context.interpreter):
        return program
    try:
        key = content_key(program.jaxpr)
        with _lock:
            found = _programs.get(key)
            if found is None:
                found = _programs[key] = program
                if len(_programs) > _MAX_PROGRAMS:
                    _programs.popitem(last=False)
            else:
                _programs.move_to_end(key)
    except TypeError:  # a parameter that cannot be hashed
        return program
    return found


def runs_at_once(interpreter: Interpreter) -> bool:
    """True where only derivatives and batching stand between an operation and its evaluation."""
    while isinstance(interpreter, JVP | Partial | Batch):
        interpreter = interpreter.parent
    return interpreter.is_evaluation


def content_key(jaxpr: Jaxpr) -> Hashable:
    """Equal for programs that differ only in their variables and in where they come from."""
    numbers: dict[Any, int] = {}

    def of(atom: Atom) -> Any:
        if type(atom) is Literal:
            value = atom.val
            exact = value.tobytes() if isinstance(value, np.generic | np.ndarray) else repr(value)
            return (type(value), exact, atom.aval)
        return numbers[atom]

    def bind(variables: Sequence[Any]) -> tuple:
        for var in variables:
            numbers[var] = len(numbers)
        return tuple([var.aval for var in variables])

    parts: list[Any] = [bind(jaxpr.constvars), bind(jaxpr.invars), _trace_context()]
    for eqn in jaxpr.eqns:
        operands = tuple([of(atom) for atom in eqn.invars])
        params = tuple([(name, _param_key(value)) for name, value in eqn.params.items()])
        parts.append((eqn.primitive, operands, params, eqn.source_info.names, bind(eqn.outvars)))
    parts.append(tuple([of(atom) for atom in jaxpr.outvars]))
    key = tuple(parts)
    hash(key)
    return key


def _param_key(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return value if value.consts else content_key(value.jaxpr)
    if isinstance(value, tuple) and any(isinstance(item, ClosedJaxpr) for item in value):
        return tuple([_param_key(item) for item in value])
    return (type(value), repr(value) if type(value) in (float, complex) else value)


# ---- small transformations of programs and lists that the rules share ------------------------------------------------


def rearranged(program: ClosedJaxpr, inputs: Sequence[int], outputs: Sequence[int]) -> ClosedJaxpr:
    """The program with its inputs and outputs in another order (or with some outputs left out)."""
    jaxpr = program.jaxpr
    return program.replace(
        jaxpr=jaxpr.replace(invars=[jaxpr.invars[i] for i in inputs], outvars=[jaxpr.outvars[i] for i in outputs])
    )


def selected(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The values whose flag is set."""
    return [value for value, flag in zip(values, flags, strict=True) if flag]


def unselected(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The values whose flag is not set."""
    return [value for value, flag in zip(values, flags, strict=True) if not flag]


def either(xs: Sequence[bool], ys: Sequence[bool]) -> list[bool]:
    """Elementwise or."""
    return [x or y for x, y in zip(xs, ys, strict=True)]


def owned(leaf: ArrayLike) -> ArrayLike:
    """An array of the host as one that no function can write to."""
    return array_from_host(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf


def owned_array(leaf: ArrayLike) -> ArrayLike:
    """A number or an array of the host as an array, weakly typed where it is a number of Python."""
    return array_from_host(leaf) if isinstance(leaf, bool | int | float | complex) else owned(leaf)


def known_scalar(value: ArrayLike) -> Any | None:
    """The NumPy value of a concrete scalar, or None where it is traced."""
    value = concrete_value(value)
    if value is None:
        return None
    return np.asarray(host_value(value) if isinstance(value, runtime.ArrayImpl) else value)
