"""Conditionals: ``cond``, ``switch`` and ``platform_dependent``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.argument_values import flatten_values
from arrax.core.function_info import FunctionInfo
from arrax.core.functions import function_name, function_place
from arrax.core.interpreter import concrete_value, context
from arrax.core.program import ClosedJaxpr, SpareVar
from arrax.core.pytrees import tree_flatten, tree_map, tree_unflatten
from arrax.core.types import ShapedArray, typeof
from arrax.dtypes.wording import shown
from arrax.interpreters.high_types import lowered, raised
from arrax.lax.arithmetic import ne
from arrax.lax.control_flow.carries import same_type, tree_difference, type_difference
from arrax.lax.control_flow.conditional_rules import bind_cond, cond_p, platform_choice, platform_index_p
from arrax.lax.control_flow.staged_functions import (
    StagedFunction,
    known_scalar,
    leaf_names,
    owned,
    runs_at_once,
    stage_function,
)
from arrax.lax.conversion import convert
from arrax.lax.selection import clamp
from arrax.xla.arrays import Array, ArrayLike
from arrax.xla.devices import default_device, platform_name

__all__ = ["cond", "cond_p", "platform_dependent", "platform_index_p", "switch"]
Chosen = TypeVar("Chosen")
_MISSING: Any = object()
_HOST = (bool, int, float, np.ndarray, np.generic)


def cond(
    pred: ArrayLike,
    true_fun: Callable[..., Chosen],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _MISSING,
    linear: Any = None,
) -> Chosen:
    """Apply ``true_fun`` to the operands where ``pred`` holds, else ``false_fun``; only one of them runs.

    ``cond(pred, true_operand, true_fun, false_operand, false_fun)`` is an older form that gives each function its own
    operand. Under ``vmap`` with a mapped ``pred`` both functions run and a select chooses.

    Args:
      pred: bool or number (true where not 0), a scalar.
      true_fun, false_fun: functions of the operands, whose outputs have equal structures, shapes and dtypes.
      *operands: arrays or pytrees of them.
      operand: one operand, by keyword.
      linear: for each operand, whether the functions are linear in it; not needed.
    Returns: what the chosen function returns.
    Raises:
      TypeError: ``pred`` is not a scalar, functions that are not callable, or outputs that differ.
    Example: ``lax.cond(True, lambda x: x, lambda x: -x, 2.)`` is 2.
    """
    if operand is not _MISSING:
        if operands:
            raise TypeError("cond: operands are given both by position and by the keyword `operand`")
        operands = (operand,)
    own_operands = len(operands) == 2 and callable(false_fun) and callable(operands[1])
    if own_operands and not (callable(true_fun) and callable(false_fun)):
        first, first_fun, second, second_fun = true_fun, false_fun, *operands
        return _cond(pred, lambda both: first_fun(both[0]), lambda both: second_fun(both[1]), [(first, second)], linear)
    return _cond(pred, true_fun, false_fun, operands, linear)


def _cond(pred: ArrayLike, true_fun: Callable, false_fun: Callable, operands: Sequence[Any], linear: Any) -> Any:
    for name, fun in (("true_fun", true_fun), ("false_fun", false_fun)):
        if not callable(fun):
            raise TypeError(f"lax.cond: {name} should be a callable, got {fun!r} of type {type(fun)}")
    index = _index_of(pred)
    if config.disable_jit.cell.value:
        known = known_scalar(index)
        if known is not None:
            return (true_fun if known else false_fun)(*tree_map(owned, tuple(operands)))
    flat_linear = None if linear is None else tuple(tree_flatten(tuple(linear))[0])
    return _choose("cond", index, ("false_fun", "true_fun"), (false_fun, true_fun), operands, linear=flat_linear)


def _index_of(pred: ArrayLike) -> ArrayLike:
    """A predicate as int32: 0 or 1."""
    pred = bool(pred) if type(pred) is int else pred  # of any size
    try:
        aval = typeof(pred)
    except TypeError:
        raise TypeError(f"lax.cond: pred must be a scalar, got {shown(pred)} of type {type(pred)}") from None
    if aval.shape != ():
        raise TypeError(f"lax.cond: pred must be a scalar, got an array of shape {aval.shape}. {_pred_hint(aval)}")
    if dtypes.is_extended(aval.dtype) or not (dtypes.is_bool(aval.dtype) or np.dtype(aval.dtype).kind in "iufV"):
        raise TypeError(f"lax.cond: pred must be a bool or a real number, got dtype {aval.dtype}")
    if isinstance(pred, _HOST):
        return np.int32(bool(pred))
    return convert(pred if aval.dtype == np.bool_ else ne(pred, 0), np.int32)


def _pred_hint(aval: ShapedArray) -> str:
    return "Use `jnp.where` to choose between elements, or reduce the predicate with `jnp.all` or `jnp.any`."


def switch(
    index: ArrayLike, branches: Sequence[Callable[..., Any]], *operands: ArrayLike, operand: Any = _MISSING
) -> Any:
    """Apply one of several functions to the operands.

    Args:
      index: integer scalar, clamped to the range of ``branches``.
      branches: functions of the operands whose outputs have equal structures, shapes and dtypes.
      *operands: arrays or pytrees of them.
      operand: one operand, by keyword.
    Returns: what the chosen function returns.
    Raises:
      TypeError: ``index`` is not an integer scalar, or outputs differ.
      ValueError: no branches.
    Example: ``lax.switch(1, [lambda x: x + 1, lambda x: x - 1], 5)`` is 4.
    """
    if operand is not _MISSING:
        if operands:
            raise TypeError("switch: operands are given both by position and by the keyword `operand`")
        operands = (operand,)
    if not isinstance(branches, Sequence) or not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches should be a sequence of callables")
    if not branches:
        raise ValueError("lax.switch: the sequence of branches is empty")
    aval = typeof(index)
    if aval.shape != ():
        raise TypeError(f"lax.switch: the index must be a scalar, got an array of shape {aval.shape}")
    if dtypes.is_extended(aval.dtype) or not dtypes.is_integer(aval.dtype):
        raise TypeError(f"lax.switch: the index must be an integer, got dtype {aval.dtype}")
    if len(branches) == 1:
        return branches[0](*operands)
    index = _clamped(index, len(branches))
    if config.disable_jit.cell.value:
        known = known_scalar(index)
        if known is not None:
            return branches[int(known)](*tree_map(owned, tuple(operands)))
    names = [f"branch {number}" for number in range(len(branches))]
    return _choose("switch", index, names, branches, operands)


def _clamped(index: ArrayLike, count: int) -> ArrayLike:
    if isinstance(index, _HOST):
        return np.int32(min(max(int(index), 0), count - 1))
    return clamp(np.int32(0), convert(index, np.int32), np.int32(count - 1))


def platform_dependent(
    *args: ArrayLike, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Array:
    """Apply a function that depends on the platform for which the program is compiled.

    Args:
      *args: arrays or pytrees of them.
      default: function for platforms that are not named.
      **per_platform: functions by platform: ``cpu``, ``cuda``, ``rocm``, ``tpu``.
    Returns: what the platform's function returns; all of them return equal structures and types.
    Raises:
      NotImplementedError: compiled for a platform without a function.
    Example: ``lax.platform_dependent(2., cpu=jnp.square, default=jnp.sin)``.
    """
    names = list(per_platform)
    functions = [per_platform[name] for name in names]
    platforms: tuple[Any, ...] = tuple((name,) for name in names)
    if default is not None:
        names, functions, platforms = [*names, "default"], [*functions, default], (*platforms, None)
    if not functions:
        raise ValueError("platform_dependent needs a default or a function for some platform")
    if runs_at_once(context.interpreter):  # branches for other platforms are no business of derivatives and batches
        return functions[platform_choice(platforms, _platform_of(tree_flatten(args)[0]))](*args)
    index = platform_index_p.bind(platforms=platforms)
    return _choose("platform_dependent", index, names, functions, args, platforms=platforms)


def _platform_of(leaves: Sequence[Any]) -> str:
    """The platform on which operations on some values run now."""
    for leaf in map(concrete_value, leaves):
        sharding = getattr(leaf, "_sharding", None)
        if sharding is not None and leaf._committed:
            return platform_name(sharding._internal_device_list[0].client)
    return platform_name(default_device().client)


# ---- from functions to branches --------------------------------------------------------------------------------------


def _choose(
    construct: str, index: ArrayLike, names: Sequence[str], functions: Sequence[Callable], operands: Sequence[Any],
    *, linear: Any = None, platforms: tuple[tuple[str, ...], ...] | None = None,
) -> Any:  # fmt: skip
    leaves, in_tree = flatten_values(lowered(tuple(operands)))
    avals = [_operand_type(construct, leaf) for leaf in leaves]
    staged = [stage_function(fun, in_tree, avals, construct) for fun in functions]
    _check_outputs(construct, names, functions, staged)
    consts, branches = _join_consts(staged)
    flags = None if linear is None else (*[False] * len(consts), *linear)
    outs = bind_cond(index, [*consts, *leaves], branches, platforms, flags)
    return raised(tree_unflatten(staged[0].out_tree, outs))


def _operand_type(construct: str, leaf: Any) -> ShapedArray:
    try:
        return typeof(leaf)
    except TypeError:
        raise TypeError(
            f"lax.{construct}: operand {shown(leaf)} of type {type(leaf)} is not a valid array type"
        ) from None


def _join_consts(staged: Sequence[StagedFunction]) -> tuple[list[Any], tuple[ClosedJaxpr, ...]]:
    """All values that the branches close over, once each, as operands of every branch."""
    union: dict[int, Any] = {id(value): value for fun in staged for value in fun.consts}
    return list(union.values()), tuple(_with_consts(fun, union) for fun in staged)


def _with_consts(fun: StagedFunction, union: dict[int, Any]) -> ClosedJaxpr:
    """The program of a branch with all branches' consts in front of the operands."""
    own = {id(value): index for index, value in enumerate(fun.consts)}
    pattern = tuple(own.get(number, typeof(value)) for number, value in union.items())
    if pattern == tuple(range(len(fun.consts))):
        return fun.program
    jaxpr = fun.program.jaxpr

    def make() -> ClosedJaxpr:
        leading = [jaxpr.invars[index] if isinstance(index, int) else SpareVar(index) for index in pattern]
        return fun.program.replace(jaxpr=jaxpr.replace(invars=[*leading, *jaxpr.invars[len(fun.consts) :]]))

    return fun.program.memo(("operands of all branches", pattern), make)


def _described(name: str, fun: Callable) -> str:
    return f"{name} is {FunctionInfo('', function_name(fun), function_place(fun)).describe()}"


def same_result(x: ShapedArray, y: ShapedArray) -> bool:
    """Equal types but for weakness, divided alike by explicit axes of a mesh: as one instruction the results have one layout."""
    return same_type(x, y) and all(
        getattr(x, field, None) is getattr(y, field, None) for field in ("explicit", "memory_space")
    )


def _check_outputs(
    construct: str, names: Sequence[str], functions: Sequence[Callable], staged: Sequence[StagedFunction]
) -> None:
    """Raise where the outputs of branches differ, leaf by leaf."""
    first = staged[0]
    for name, fun, other in zip(names[1:], functions[1:], staged[1:], strict=True):
        where = f"\n{_described(names[0], functions[0])}\n{_described(name, fun)}"
        if other.out_tree != first.out_tree:
            difference = tree_difference(f"the output of {names[0]}", f"that of {name}", first.out_tree, other.out_tree)
            raise TypeError(
                f"{construct} branch outputs must have the same pytree structure, but they differ:\n"
                f"{difference}.{where}"
            )
        avals, others = first.program.out_avals, other.program.out_avals
        if all(map(same_result, avals, others)):
            continue
        lines = [
            f"  * output{path} is {a.str_short(False)} in {names[0]} and {b.str_short(False)} in {name}: "
            f"{type_difference(a, b)}"
            for path, a, b in zip(leaf_names("", first.out_tree), avals, others, strict=True)
            if not same_result(a, b)
        ]
        listed = "\n".join(lines)
        raise TypeError(f"{construct} branches must have equal output types but they differ:\n{listed}{where}")
