"""Loops: ``while_loop`` and ``fori_loop``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.argument_values import flatten_values
from arrax.core.calls import as_index
from arrax.core.interpreter import concrete_value, context
from arrax.core.lengths import is_symbolic
from arrax.core.pytrees import tree_map, tree_structure, tree_unflatten
from arrax.core.types import typeof
from arrax.interpreters.high_types import lowered, raised
from arrax.lax.arithmetic import add, lt
from arrax.lax.control_flow.carries import check_carry, staged_with_promotion
from arrax.lax.control_flow.loop_rules import bind_while, while_p
from arrax.lax.control_flow.scans import checked_unroll, scan_of
from arrax.lax.control_flow.staged_functions import (
    Places,
    StagedFunction,
    known_scalar,
    owned,
    owned_array,
    stage_function,
)  # fmt: skip
from arrax.xla.arrays import Array, ArrayLike

Carried = TypeVar("Carried")
__all__ = ["fori_loop", "while_loop", "while_p"]


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Carried], init_val: Any) -> Carried:
    """Apply ``body_fun`` again and again while ``cond_fun`` holds.

    Differentiable in forward mode; reverse mode needs a number of steps that is known (``scan``, ``fori_loop``).

    Args:
      cond_fun: function of the carry to a bool scalar.
      body_fun: function of the carry to the next one, of the same structure, shapes and dtypes.
      init_val: the first carry, an array or a pytree of them.
    Returns: the last carry.
    Raises:
      TypeError: functions that are not callable, a predicate that is not a bool scalar, or a carry whose type changes.
    Example: ``lax.while_loop(lambda x: x < 10, lambda x: 2 * x, 1)`` is 16.
    """
    for name, fun in (("cond_fun", cond_fun), ("body_fun", body_fun)):
        if not callable(fun):
            raise TypeError(f"lax.while_loop: {name} should be a callable, got {fun!r} of type {type(fun)}")
    return _while_loop("while_loop", cond_fun, body_fun, init_val, body_fun)


def _while_loop(
    construct: str, cond_fun: Callable, body_fun: Callable, init_val: Any, user: Callable, places: Places | None = None
) -> Any:
    """The loop of a construct whose user wrote ``user``, with parts of the carry at ``places`` (None: all of it)."""
    if config.disable_jit.cell.value:
        try:
            return _in_python(cond_fun, body_fun, tree_map(owned_array, init_val))
        except _Unknown:
            pass
    init_val = lowered(init_val)
    init, carry_tree = flatten_values(init_val)
    in_tree = tree_structure((init_val,))

    def stage_body(avals: list[Any]) -> StagedFunction:
        return stage_function(body_fun, in_tree, avals, construct, user, places)

    body, init = staged_with_promotion(
        stage_body, init, lambda staged: staged.program.out_avals if staged.out_tree == carry_tree else None
    )
    avals = [typeof(x) for x in init]
    origin = user if user is not body_fun else cond_fun
    cond = stage_function(cond_fun, in_tree, avals, f"{construct} condition", origin, places)
    _check_predicate(cond)
    check_carry(construct, user, carry_tree, body.out_tree, avals, body.program.out_avals, places)
    return raised(tree_unflatten(carry_tree, bind_while(cond.program, body.program, cond.consts, body.consts, init)))


class _Unknown(Exception):
    """A predicate that is traced."""


def _in_python(cond_fun: Callable, body_fun: Callable, carry: Any) -> Any:
    while True:
        known = known_scalar(cond_fun(carry))
        if known is None:
            raise _Unknown
        if not known:
            return carry
        carry = body_fun(carry)


def _check_predicate(cond: StagedFunction) -> None:
    if cond.out_tree.num_leaves != 1 or cond.out_tree.num_nodes != 1:
        raise TypeError(f"while_loop: cond_fun must return a boolean scalar, but it returned a pytree {cond.out_tree}")
    (aval,) = cond.program.out_avals
    if aval.shape != () or aval.dtype != np.bool_:
        raise TypeError(f"while_loop: cond_fun must return a boolean scalar, but it returned {aval.str_short(False)}")


def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Carried],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Carried:
    """Apply ``body_fun(i, carry)`` for ``i`` from ``lower`` to ``upper - 1``.

    With bounds that are known during tracing it is a ``scan``, differentiable in both modes; else a ``while_loop``.

    Args:
      lower, upper: integer scalars (floating ones, too, where both are). The index is a weakly typed int where both are
        known, otherwise it has the type of ``lower``.
      body_fun: function of the index and the carry to the next carry.
      init_val: the first carry, an array or a pytree of them.
      unroll: how many steps to put into one turn of the compiled loop; needs known bounds.
    Returns: the last carry.
    Raises:
      TypeError: bounds that are not integer scalars or differ in dtype, or a carry whose type changes.
      ValueError: ``unroll`` with bounds that are not known.
    Example: ``lax.fori_loop(0, 4, lambda i, x: x + i, 0)`` is 6.
    """
    if not callable(body_fun):
        raise TypeError(f"lax.fori_loop: body_fun should be a callable, got {body_fun!r} of type {type(body_fun)}")
    lower, upper = _bounds(lower, upper)
    whole = dtypes.is_integer(typeof(lower).dtype)
    first, last = (_known_int(lower), _known_int(upper)) if whole else (None, None)
    known = first is not None and last is not None and last - first < 1 << 31  # which a scan can count
    if first is not None and last is not None and _fit_default_int(first, last):
        lower, upper = first, last  # as if they were given as Python ints, so that the index gives way to other types
    if config.disable_jit.cell.value and known:
        for index in range(first, last):  # type: ignore[arg-type]
            init_val = body_fun(_index(index, lower), tree_map(owned, init_val))
        return init_val
    unroll = None if unroll is None else checked_unroll("fori_loop", unroll)
    one_step = unroll is False or (unroll == 1 and unroll is not True)
    if not known and unroll is not None and not one_step:
        raise ValueError("fori_loop: `unroll` needs bounds that are known during tracing (Python ints)")
    if known and (unroll is not None or not context.interpreter.is_evaluation):
        return _as_scan(first, last, lower, body_fun, init_val, unroll)  # type: ignore[arg-type]
    # Where nothing is traced, one program with the bounds as operands serves loops of every length.
    return _while_loop("fori_loop", _goes_on, _Step(body_fun), (lower, upper, init_val), body_fun, [(0, 0), (0, 2)])[2]


def _goes_on(carry: tuple[Any, Any, Any]) -> Array:
    return lt(carry[0], carry[1])


class _Step:
    """``body_fun`` as a step of (index, upper bound, carry)."""

    __slots__ = ("fun",)

    def __init__(self, fun: Callable) -> None:
        self.fun = fun

    def __call__(self, carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        index, upper, value = carry
        return add(index, 1), upper, self.fun(index, value)


def _as_scan(first: int, last: int, lower: int, body_fun: Callable, init_val: Any, unroll: int | None) -> Any:
    def step(loop_carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        index, value = loop_carry
        return (add(index, 1), body_fun(index, value)), None

    start, steps = _index(first, lower), max(last - first, 0)
    places = [(0, 0), (0, 1)]
    carry, _ = scan_of(
        "fori_loop", step, (start, init_val), None, steps, unroll=unroll or 1, user=body_fun, places=places
    )
    return carry[1]


def _fit_default_int(*values: int) -> bool:
    limits = np.iinfo(typeof(0).dtype)
    return all(limits.min <= value <= limits.max for value in values)


def _index(value: int, like: Any) -> Any:
    aval = typeof(like)
    return value if aval.weak_type else np.asarray(value, aval.dtype)[()]


def _known_int(value: ArrayLike) -> int | None:
    found = concrete_value(value)
    scalar = None if found is None else known_scalar(found)
    return None if scalar is None else as_index(scalar.item())


def _fits(value: int, dtype: np.dtype) -> bool:
    return dtypes.is_integer(dtype) and dtypes.iinfo(dtype).min <= value <= dtypes.iinfo(dtype).max


def _bounds(lower: Any, upper: Any) -> tuple[Any, Any]:
    """Both bounds with one dtype; a Python int takes the dtype of the other bound, or both that of a default int."""
    lower, upper = (bound.__jax_array__() if is_symbolic(bound) else bound for bound in (lower, upper))
    for name, value in (("lower", lower), ("upper", upper)):
        aval = typeof(value)
        if aval.shape != () or dtypes.is_extended(aval.dtype) or not (
            dtypes.is_integer(aval.dtype) or dtypes.is_float(aval.dtype)
        ):  # fmt: skip
            raise TypeError(
                f"lax.fori_loop: lower and upper must be integer scalars, got {name} of type {aval.str_short(False)}"
            )
    low, up = typeof(lower), typeof(upper)
    if low.dtype != up.dtype:
        if type(lower) is int and _fits(lower, up.dtype):
            return np.asarray(lower, up.dtype)[()], upper
        if type(upper) is int and _fits(upper, low.dtype):
            return lower, np.asarray(upper, low.dtype)[()]
        if type(upper) is int and isinstance(lower, np.integer):
            return int(lower), upper
        if isinstance(lower, np.integer) and _fits(int(lower), up.dtype):
            return np.asarray(lower).astype(up.dtype)[()], upper
        if isinstance(upper, np.integer) and _fits(int(upper), low.dtype):
            return lower, np.asarray(upper).astype(low.dtype)[()]
        if dtypes.is_integer(low.dtype) and dtypes.is_integer(up.dtype) and (low.weak_type or up.weak_type):
            first, last = _known_int(lower), _known_int(upper)
            if first is not None and last is not None:  # the narrower type can't hold the other bound, an int can
                return first, last
        raise TypeError(f"lax.fori_loop: lower and upper must have equal types, got {low.dtype} and {up.dtype}")
    return lower, upper
