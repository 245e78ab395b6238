"""Choosing between values, elementwise (NumPy reference, routines.indexing and routines.math)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_sequence
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer, concrete_value, context
from arrax.core.types import typeof
from arrax.dtypes.canonical import warn_user
from arrax.interpreters.staging import Staging
from arrax.lax import arithmetic, selection, shapes, static_slicing
from arrax.lax.barriers import stop_gradient
from arrax.lax.conversion import convert
from arrax.numpy_api import host, operands
from arrax.numpy_api.api import api
from arrax.numpy_api.elementwise import maximum, minimum
from arrax.numpy_api.indexing import floor_modulo
from arrax.numpy_api.logic import isnan, logical_and, logical_not
from arrax.numpy_api.operands import as_operand, check_arraylike, check_arraylike_or_none, promote_dtypes, refuse_out
from arrax.numpy_api.routes import eager_operand
from arrax.numpy_api.searching import nonzero
from arrax.transforms.jit import jit
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

_NUMBERS = (bool, int, float, complex)

# ---- where ----------------------------------------------------------------------------------------------------------


def choose_between(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """``x`` where a condition holds, else ``y``: broadcast to one shape; dtypes are equal already."""
    shape = shapes.broadcast_shapes(typeof(condition).shape, typeof(x).shape, typeof(y).shape)
    weak = typeof(x).weak_type and typeof(y).weak_type
    x, y = (operands.broadcast_to(convert(v, typeof(v).dtype, weak), shape) for v in (x, y))
    mask = convert(condition, np.bool_)
    return selection.select(mask if typeof(mask).shape == () else operands.broadcast_to(mask, shape), x, y)


@api()
def _where_eager(condition: Array, x: Array, y: Array) -> Array:
    return choose_between(condition, *promote_dtypes(x, y))


def _where(condition: Array, x: Array, y: Array) -> Array:
    return choose_between(condition, x, y)


_where_program = jit(_where)


def _where_on_host(condition: ArrayLike, x: ArrayLike, y: ArrayLike, shape: tuple[int, ...]) -> Array | None:
    """The choice by NumPy where all arrays are small; None where that route is closed."""
    arrays = [v for v in (condition, x, y) if type(v) is host.ArrayImpl]
    if not arrays or not all([host.on_host(v) for v in arrays]) or math.prod(shape) > host.MAX_ELEMENTS:
        return None
    if len(arrays) < 3 and not all([type(v) is host.ArrayImpl or type(v) in _NUMBERS for v in (condition, x, y)]):
        return None
    like = host.common_like(arrays)
    if like is None:
        return None
    dtype, weak = dtypes.result_type_of([dtypes.value_pair(x), dtypes.value_pair(y)])
    mask, first, second = [host.view(v) if type(v) is host.ArrayImpl else np.asarray(v) for v in (condition, x, y)]
    mask = mask if mask.dtype == np.bool_ else mask.astype(np.bool_)
    return host.back(np.where(mask, _of_dtype(first, dtype), _of_dtype(second, dtype)), like, weak, fresh=True)


def _of_dtype(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if values.dtype == dtype:
        return values
    with np.errstate(all="ignore"):
        return values.astype(dtype)


@overload
def where(condition: ArrayLike, /, *, size: int | None = ..., fill_value: OptionalArray = ...) -> tuple[Array, ...]: ...
@overload
def where(
    condition: ArrayLike, x: ArrayLike, y: ArrayLike, /, *, size: int | None = ..., fill_value: OptionalArray = ...
) -> Array: ...
@overload
def where(
    condition: ArrayLike, x: OptionalArray = ..., y: OptionalArray = ..., /, *, size: int | None = ...,
    fill_value: OptionalArray = ...,
) -> Any: ...  # fmt: skip
def where(
    condition: ArrayLike,
    x: OptionalArray = None,
    y: OptionalArray = None,
    /,
    *,
    size: int | None = None,
    fill_value: OptionalArray = None,
) -> Any:
    """``x`` where a condition holds, else ``y``; with one argument, the places where it holds.

    Both ``x`` and ``y`` are computed. Where the one that is not chosen has an infinite or NaN derivative, the gradient is
    NaN: choose an argument for it that is safe there, too.

    Args:
      condition: array; what is not zero counts as true.
      x, y: arrays or numbers; all three are broadcast against each other.
      size, fill_value: with one argument only, see ``nonzero``.
    Returns: array of the common shape and dtype; or, for one argument, a tuple of arrays of indices.
    Raises:
      TypeError: lists, or only two arguments.
      ValueError: shapes that don't fit; ``size`` with three arguments.
      ConcretizationTypeError: one traced argument without ``size``.
    Example: ``jnp.where(jnp.array([True, False]), 1, 2)`` is ``[1, 2]``. Source: ``numpy.where``.
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value arguments cannot be used with three arguments.")
    return _chosen(condition, x, y)


@api(stepwise=True)
def _chosen(condition: ArrayLike, x: Any, y: Any) -> Array:
    condition, x, y = as_operand(condition), as_operand(x), as_operand(y)
    done = _where_on_host(condition, x, y, _common_shape(condition, x, y))
    if done is not None:
        return done
    if context.interpreter.is_evaluation:
        return _where_eager(condition, x, y)
    if isinstance(context.interpreter, Staging):
        return _where_program(condition, *promote_dtypes(x, y))
    return choose_between(condition, *promote_dtypes(x, y))


def _common_shape(*values: ArrayLike) -> tuple[int, ...]:
    own = [typeof(value).shape for value in values]
    if own[0] == own[1] == own[2]:
        return own[0]
    try:
        return shapes.broadcast_shapes(*own)
    except ValueError as error:
        raise ValueError(f"{error}\nThese are the shapes of the arguments of where.") from None


# ---- select, piecewise, choose --------------------------------------------------------------------------------------


@api()
def _select(conditions: Sequence[Any], choices: Sequence[Any], default: ArrayLike) -> Array:
    *values, result = promote_dtypes(*choices, default)
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        result = choose_between(condition, value, result)
    return result


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: ArrayLike = 0) -> Array:
    """For each place, the choice of the first condition that holds.

    Args:
      condlist: conditions.
      choicelist: as many arrays; all are broadcast against each other.
      default: what stands where none holds.
    Raises:
      ValueError: no conditions, or another number of choices.
    Example: ``jnp.select([x < 0, x > 1], [0, 1], x)``. Source: ``numpy.select``.
    """
    if len(as_sequence(condlist)) != len(as_sequence(choicelist)):
        raise ValueError(
            f"select: condlist must be as long as choicelist, got lengths {len(condlist)} and {len(choicelist)}"
        )
    if len(condlist) == 0:
        raise ValueError("select: condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    return _select(list(condlist), list(choicelist), default)


def piecewise(
    x: ArrayLike, condlist: ArrayLike | Sequence[ArrayLike], funclist: Sequence[Any], *args: Any, **kw: Any
) -> Array:
    """A function that is defined piece by piece.

    Args:
      x: array.
      condlist: conditions of the shape of ``x``; where several hold, the last one counts.
      funclist: for each condition a function of one element, called once for all of them by ``vmap``, or a number; one
        more for where none holds (0 by default).
      args, kw: passed on to the functions.
    Returns: array of the shape and dtype of ``x``.
    Raises:
      ValueError: another number of functions.
      TypeError: a function that gives no single element.
    Example: ``jnp.piecewise(x, [x < 0], [lambda x: -x, lambda x: x])``. Source: ``numpy.piecewise``.
    """
    check_arraylike("piecewise", x)
    x = eager_operand("piecewise", x)
    if isinstance(condlist, list | tuple):
        flags = bool(condlist) and isinstance(condlist[0], bool | np.bool_) and typeof(x).ndim > 0  # one condition
        nested = [condlist] if flags or not condlist else condlist
        conditions = [eager_operand("piecewise", np.asarray(c) if isinstance(c, list) else c) for c in nested]
    else:
        array = eager_operand("piecewise", condlist)
        rank = typeof(array).ndim
        conditions = [array] if rank <= typeof(x).ndim and rank != typeof(x).ndim + 1 and rank == 0 else _rows(array, x)
    count = len(conditions)
    if len(funclist) not in (count, count + 1):
        raise ValueError(
            f"piecewise: with {count} condition(s), either {count} or {count + 1} functions are expected; got {len(funclist)}"
        )
    pieces = list(funclist) if len(funclist) == count + 1 else [*funclist, 0]
    masks = _where_taken(conditions) if isinstance(x, Tracer) else [None] * len(pieces)
    values = [_piece(piece, x, mask, args, kw) for piece, mask in zip(pieces, masks, strict=True)]
    result = values[-1]
    for condition, value in zip(conditions, values[:-1], strict=True):
        result = where(condition, value, result)
    return convert(result, typeof(x).dtype)


def _rows(condition: Any, x: Any) -> list[Any]:
    if typeof(condition).shape == typeof(x).shape and typeof(x).ndim != 1:
        return [condition]
    return [
        shapes.squeeze(static_slicing.slice_in_dim(condition, i, i + 1), (0,))
        for i in range(typeof(condition).shape[0])
    ]


def _where_taken(conditions: Sequence[Any]) -> list[Any]:
    """For each condition where it is the last one that holds, and at the end where none does."""
    masks: list[Any] = []
    left: Any = np.True_
    for condition in reversed(conditions):
        holds = convert(condition, np.bool_)
        masks.append(logical_and(holds, left))
        left = logical_and(left, logical_not(holds))
    return [*reversed(masks), left]


def _of_each(function: Callable[..., Any], x: Array, args: tuple[Any, ...], kw: dict[str, Any]) -> Array:
    """What a function gives for each element by itself, so that it cannot mix in those that belong to other pieces."""

    def of_element(element: Array) -> ArrayLike:
        value = function(element, *args, **kw)
        check_arraylike("piecewise", value)
        if typeof(value).ndim:
            raise TypeError(
                f"piecewise: a function of funclist must give one element for each of x, got shape {typeof(value).shape}"
            )
        return value

    mapped: Callable[..., Any] = of_element
    for _ in range(typeof(x).ndim):
        mapped = vmap(mapped)
    return mapped(x)


def _piece(piece: Any, x: Array, mask: Array | None, args: tuple[Any, ...], kw: dict[str, Any]) -> ArrayLike:
    """A piece everywhere. Derivatives stop where it is not taken, so that they see no NaN from outside of its range."""
    if callable(piece):
        value = _of_each(piece, x if mask is None else where(mask, x, stop_gradient(x)), args, kw)
    else:
        value = piece
        check_arraylike("piecewise", value)
    dtype = typeof(x).dtype
    scalar = np.asarray(value).astype(dtype)[()] if isinstance(value, _NUMBERS) else convert(value, dtype)
    return operands.broadcast_to(scalar, typeof(x).shape)


def choose(a: ArrayLike, choices: ArrayLike, out: None = None, mode: str = "raise") -> Array:
    """For each place, the element of the choice with the number that stands there.

    Args:
      a: integer array.
      choices: sequence of arrays, or one array whose first axis counts them.
      mode: what numbers out of bounds mean: ``"raise"`` an error (not for traced arrays), ``"wrap"``, ``"clip"``.
    Raises:
      ValueError: numbers out of bounds; ``a`` is not an integer array; an unknown mode.
      ConcretizationTypeError: a traced array with the mode ``"raise"``.
    Example: ``jnp.choose(jnp.array([1, 0]), [jnp.zeros(2), jnp.ones(2)])`` is ``[1., 0.]``. Source: ``numpy.choose``.
    """
    refuse_out("choose", out)
    check_arraylike("choose", a)
    index = eager_operand("choose", a)
    if not dtypes.is_integer(typeof(index).dtype) and not dtypes.is_bool(typeof(index).dtype):
        raise ValueError("choose: `a` array must be integer typed")
    if not isinstance(choices, list | tuple) and np.ndim(choices) == 0:
        raise TypeError(f"choose: choices must be a sequence of arrays, got {choices!r}")
    table = (
        [eager_operand("choose", v) for v in choices] if isinstance(choices, list | tuple) else list(_choices(choices))
    )
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"choose: mode={mode!r} not understood, must be 'raise', 'wrap' or 'clip'")
    if mode == "raise":
        known = concrete_value(index)
        if known is None:
            raise ConcretizationTypeError(
                index, "jnp.choose with mode='raise' must look at the numbers: use mode='wrap' or mode='clip' instead.",
            )  # fmt: skip
        if not ((np.asarray(known) >= 0) & (np.asarray(known) < len(table))).all():
            raise ValueError("choose: invalid entry in choice array")
    return _choose(index, table, mode)


def _choices(choices: Any) -> Sequence[Any]:
    array = eager_operand("choose", choices)
    return [shapes.squeeze(static_slicing.slice_in_dim(array, i, i + 1), (0,)) for i in range(typeof(array).shape[0])]


@api(static=("mode",))
def _choose(index: ArrayLike, table: Sequence[Any], mode: str) -> Array:
    values = promote_dtypes(*table)
    shape = shapes.broadcast_shapes(typeof(index).shape, *(typeof(v).shape for v in values))
    position = operands.broadcast_to(convert(index, np.int32), shape)
    if mode == "wrap":
        position = floor_modulo(position, len(values))
    else:
        position = selection.clamp(np.int32(0), position, np.int32(len(values) - 1))
    return selection.select_n(position, *[operands.broadcast_to(convert(v, typeof(v).dtype), shape) for v in values])


# ---- limits ---------------------------------------------------------------------------------------------------------

_MISSING: Any = object()


def clip(
    arr: OptionalArray = None,
    /,
    min: OptionalArray = None,
    max: OptionalArray = None,
    *,
    a: ArrayLike = _MISSING,
    a_min: ArrayLike = _MISSING,
    a_max: ArrayLike = _MISSING,
) -> Array:
    """Limit elements to a range.

    Args:
      arr: array or number.
      min, max: the bounds, broadcast against it; None for no bound. Where they cross, ``max`` counts.
      a, a_min, a_max: older names of the three, deprecated.
    Raises:
      ValueError: complex values, which have no order; no array.
      TypeError: lists.
    Example: ``jnp.clip(jnp.arange(4), 1, 2)`` is ``[1, 1, 2, 2]``. Source: ``numpy.clip``.
    """
    if not a is a_min is a_max is _MISSING:
        warn_user(
            "clip: the arguments a, a_min and a_max are deprecated: pass the array by position, the bounds as min and max",
            DeprecationWarning,
        )
    arr = arr if a is _MISSING else a
    low, high = min if a_min is _MISSING else a_min, max if a_max is _MISSING else a_max
    if arr is None:
        raise ValueError("clip: an array is required as first argument")
    return _clip(arr, low, high)


@api()
def _clip(arr: ArrayLike, low: OptionalArray, high: OptionalArray) -> Array:
    given = [v for v in (low, high) if v is not None]
    check_arraylike("clip", arr, *given)
    if any(dtypes.is_complex(typeof(v).dtype) for v in (arr, *given)):
        raise ValueError("clip: complex values have no order; take the real or imaginary part first")
    if low is not None:
        arr = maximum(low, arr)
    if high is not None:
        arr = minimum(high, arr)
    return convert(arr, typeof(arr).dtype, typeof(arr).weak_type)


@api()
def _nan_to_num(x: Array, nan: ArrayLike, posinf: OptionalArray, neginf: OptionalArray) -> Array:
    aval = typeof(x)
    if dtypes.is_complex(aval.dtype):
        parts = [_nan_to_num(part, nan, posinf, neginf) for part in (arithmetic.real_part(x), arithmetic.imag(x))]
        return arithmetic.complex_(*parts)
    if not dtypes.is_inexact(aval.dtype):
        return x
    x = convert(x, aval.dtype)
    limits = dtypes.finfo(aval.dtype)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    infinite = {np.inf: high, -np.inf: low}
    result = choose_between(isnan(x), convert(nan, aval.dtype), x)
    for sign, value in infinite.items():
        here = arithmetic.eq(x, np.asarray(sign).astype(aval.dtype)[()])
        result = choose_between(
            here,
            convert(value, aval.dtype) if isinstance(value, Tracer) else np.asarray(value).astype(aval.dtype)[()],
            result,
        )
    return result


@api(static=("copy",), stepwise=True)
def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: ArrayLike = 0.0, posinf: OptionalArray = None, neginf: OptionalArray = None
) -> Array:
    """Replace NaN and infinities by numbers.

    Args:
      x: array or number; of complex numbers, both parts.
      copy: accepted; arrays are never changed in place.
      nan: what replaces NaN.
      posinf, neginf: what replaces the infinities; by default the greatest and the least finite number.
    Example: ``jnp.nan_to_num(jnp.array([jnp.nan, 1.]))`` is ``[0., 1.]``. Source: ``numpy.nan_to_num``.
    """
    check_arraylike("nan_to_num", x, nan)
    check_arraylike_or_none("nan_to_num", posinf, neginf)
    return _nan_to_num(eager_operand("nan_to_num", x), nan, posinf, neginf)
