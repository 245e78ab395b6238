"""What every NumPy function does with its operands: refuse lists, promote types, broadcast shapes."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.calls import as_index, called_function, in_call, register_wrapper
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer, concrete_value
from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray, refuse_masked, typeof
from arrax.dtypes import DType, OptionalDType
from arrax.dtypes.canonical import warn_of_dropped_parts, warn_user
from arrax.lax import shape_arguments, shapes
from arrax.lax.conversion import convert
from arrax.lax.operand_checks import FLOAT0_REFUSED
from arrax.native import runtime
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

logger = logging.getLogger("arrax")
ArrayImpl = runtime.ArrayImpl
_FOREIGN_KINDS = frozenset("OSUMmT")  # objects, strings, dates
_FAST = frozenset({ArrayImpl, int, float, bool, complex})


def is_arraylike(value: Any) -> bool:
    """True for arrays, tracers, NumPy values and Python numbers; False for lists and other objects."""
    if type(value) in _FAST or isinstance(value, Tracer | np.ndarray | np.generic | int | float | complex):
        return not isinstance(value, np.str_ | np.bytes_)
    return hasattr(value, "__jax_array__") or isinstance(getattr(value, "aval", None), ShapedArray)


def check_arraylike(name: str, *values: object) -> None:
    """Refuse operands that are not arrays, or arrays of what nothing can be computed with.

    Raises:
      TypeError: naming the function, the type and the position.
    """
    for position, value in enumerate(values):
        if type(value) in _FAST:
            continue
        if not is_arraylike(value):
            kind = f"{type(value)}"
        elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind in _FOREIGN_KINDS:
            kind = f"elements of dtype {value.dtype}"
        else:
            refuse_masked(value)
            continue
        raise TypeError(in_call(f"{name} requires ndarray or scalar arguments, got {kind} at position {position}."))


def check_arraylike_or_none(name: str, *values: OptionalArray) -> None:
    """Like ``check_arraylike``, None allowed."""
    for position, value in enumerate(values):
        if value is not None and not is_arraylike(value):
            raise TypeError(
                f"{name} requires ndarray, scalar, or None arguments, got {type(value)} at position {position}."
            )


def refuse_complex(name: str, x: ArrayLike) -> None:
    """Refuse complex operands.

    Raises:
      TypeError: naming the function.
    """
    if dtypes.is_complex(typeof(x).dtype):
        raise TypeError(f"{name} does not support complex-valued inputs")


def as_operand(value: Any) -> Array:
    """The value itself, or what its ``__jax_array__`` gives."""
    if type(value) in _FAST or isinstance(value, Tracer):
        return value
    convert_value = getattr(value, "__jax_array__", None)
    return value if convert_value is None else convert_value()


F = TypeVar("F", bound=Callable[..., Any])
D = TypeVar("D", bound=DType)
Value = TypeVar("Value")


def own_promotion(function: F) -> F:
    """Decorator: what a function of a library combines by itself, it combines whatever the user says of operands."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with config.numpy_dtype_promotion("standard"), config.numpy_rank_promotion("allow"):
            return function(*args, **kwargs)

    register_wrapper(call, lambda local: (local["function"], local["args"], local["kwargs"]))
    return call  # type: ignore[return-value]


def index_dtype(*lengths: int) -> np.dtype:
    """The dtype of indices, int32 or, with x64, int64.

    Args:
      lengths: how many places each axis has that the indices belong to.
    Raises:
      OverflowError: more of them than the dtype counts.
    """
    dtype: np.dtype = dtypes.canonicalize_dtype(np.int64)
    for length in lengths:
        if not is_symbolic(length) and length > np.iinfo(dtype).max:
            raise OverflowError(in_call(f"{dtype} cannot count the {length} places of an axis: use enable_x64"))
    return dtype


def promote_dtypes(*values: Any) -> list[Array]:
    """Operands converted to their common dtype, weak where all are weak."""
    values = [as_operand(value) for value in values]  # type: ignore[assignment]
    avals = [typeof(value) for value in values]
    first = avals[0]
    if all(aval.dtype == first.dtype and aval.weak_type == first.weak_type for aval in avals):
        return list(values)
    dtype, weak = common_type(values)
    return [_converted(value, dtype, weak) for value in values]


class MixedDTypesError(TypeError, dtypes.TypePromotionError):
    """Keys beside numbers: documented as an error of promotion, and of the operands' types."""


def common_type(values: Sequence[Any]) -> tuple[Any, bool]:
    """The common dtype of operands, and whether it is weak.

    Raises:
      TypeError: operands that nothing can be computed with beside the others: keys beside numbers, float0.
      TypePromotionError: dtypes that have none.
    """
    pairs = [dtypes.value_pair(value) for value in values]
    found = {dtype for dtype, _ in pairs}
    if dtypes.float0 in found:
        raise TypeError(in_call(FLOAT0_REFUSED.format(called_function())))
    if len(found) > 1 and any(map(dtypes.is_extended, found)):
        names, key = ", ".join(sorted(map(str, found))), next(filter(dtypes.is_extended, found))
        raise MixedDTypesError(
            in_call(
                f"dtype={key} is not a valid dtype for JAX type promotion. Operands of the dtypes {names} do not go together"
            )
        )
    return dtypes.result_type_of(pairs)


def _converted(value: Any, dtype: Any, weak: bool) -> Any:
    """A scalar constant stays a constant of the dtype, so that programs show it as a literal."""
    if type(value) in (int, float, bool, complex):
        if weak:
            number = float(value) if dtypes.is_float(dtype) else complex(value) if dtypes.is_complex(dtype) else value
            return number if typeof(number).dtype == dtype else convert(value, dtype, weak)
        if isinstance(dtype, np.dtype) and not weak:
            with np.errstate(all="ignore"):
                return np.asarray(value).astype(dtype)[()]
        return convert(value, dtype, weak)
    return convert(value, dtype, weak)


def promote_inexact(*values: ArrayLike) -> list[Array]:
    """Operands converted to their common floating (or complex) dtype."""
    return _promoted(values, _inexact)


def promote_complex(*values: Any) -> list[Array]:
    """Operands converted to their common complex dtype."""
    return _promoted(values, lambda dtype: dtypes.canonicalize_dtype(dtypes.to_complex_dtype(dtype)))


def may_stay_weak(values: Sequence[ArrayLike]) -> bool:
    """Whether operands that promotion makes weak are so in functions that hold arrays to be of a dtype.

    Scalars follow the lattice alone; among them and arrays, one that is not weak decides.
    """
    avals = [typeof(value) for value in values]
    return all(not aval.shape for aval in avals) or all(aval.weak_type for aval in avals)


def firm_inexact(*values: ArrayLike) -> list[Array]:
    """``promote_inexact`` for functions whose result is weak only where all operands are weak, or scalars."""
    return _promoted(values, _inexact, may_stay_weak(values))


def inexact_as_first(first: ArrayLike, *others: ArrayLike) -> list[Array]:
    """``promote_inexact`` where the first operand is a scalar or weak, ``firm_inexact`` beside a first array of a dtype."""
    weakly = not typeof(first).shape or typeof(first).weak_type
    return (promote_inexact if weakly else firm_inexact)(first, *others)


def requested(name: str, dtype: OptionalDType, natural: D, source: DType) -> D:
    """The dtype that a user asks for, by default the natural one; warns where it drops the imaginary parts of ``source``."""
    if dtype is None:
        return natural
    chosen: D = dtypes.check_user_dtype(name, dtype)
    warn_of_dropped_parts(name, source, chosen)
    return chosen


def strong_inexact(*values: ArrayLike) -> list[Array]:
    """``promote_inexact`` for functions whose result is never weak."""
    return _promoted(values, _inexact, False)


def promote_numeric(*values: ArrayLike) -> list[Array]:
    """Operands converted to their common numeric dtype: bools become ints."""
    return _promoted(values, dtypes.to_numeric_dtype)


def firm_numeric(*values: ArrayLike) -> list[Array]:
    """``promote_numeric`` for functions whose result is weak only where all operands are weak, or scalars."""
    return _promoted(values, dtypes.to_numeric_dtype, may_stay_weak(values))


def _inexact(dtype: DType) -> DType:
    return dtype if dtypes.is_extended(dtype) else dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(dtype))


def _promoted(values: Sequence[Any], widened: Callable[[Any], Any], may_be_weak: bool = True) -> list[Any]:
    """Operands converted to what ``widened`` makes of their common dtype."""
    values = [as_operand(value) for value in values]
    dtype, weak = common_type(values)
    target = widened(dtype)
    return [_converted(value, target, weak and may_be_weak) for value in values]


def join_dtypes(*values: Array) -> list[Array]:
    """``promote_dtypes`` for what a function combines by itself, whatever the user says of the promotion of operands."""
    with config.numpy_dtype_promotion("standard"):
        return promote_dtypes(*values)


def join_inexact(*values: ArrayLike) -> list[Array]:
    """``promote_inexact`` for what a function combines by itself."""
    with config.numpy_dtype_promotion("standard"):
        return promote_inexact(*values)


def of_whole_bytes(value: Value) -> Value | Array:
    """Integers of less than a byte in one, where they go together with other dtypes; other values as they are."""
    dtype = typeof(value).dtype
    if dtype not in dtypes.narrow_integer_dtypes:
        return value
    return convert(value, np.int8 if dtypes.issubdtype(dtype, np.signedinteger) else np.uint8)


def broadcast_operands(name: str, *values: Any, keep_scalars: bool = True) -> list[Array]:
    """Operands repeated to their common shape by NumPy's rules; plain scalars stay as they are.

    Raises:
      ValueError: shapes that don't fit, or ranks that differ where rank promotion is forbidden.
    """
    all_shapes = [typeof(value).shape for value in values]
    if all(shape == all_shapes[0] for shape in all_shapes):
        return list(values)
    nonscalar = [shape for shape in all_shapes if shape != ()]
    if keep_scalars and all(shape == nonscalar[0] for shape in nonscalar):
        return list(values)
    report_rank_promotion(name, nonscalar)
    try:
        shape = shapes.broadcast_shapes(*all_shapes)
    except ValueError as error:
        kind = TypeError if len({len(shape) for shape in nonscalar}) == 1 else ValueError
        raise kind(f"{error}\nThese are the shapes of the arguments of {name}.") from None
    return [
        value if keep_scalars and own == () else broadcast_to(value, shape)
        for value, own in zip(values, all_shapes, strict=True)
    ]


def report_ranks(name: str, *values: ArrayLike) -> None:
    """The same as ``report_rank_promotion`` for operands that a function broadcasts by itself; numbers have any rank."""
    report_rank_promotion(name, [typeof(value).shape for value in values if typeof(value).shape != ()])


def report_rank_promotion(name: str, nonscalar: Sequence[tuple[int, ...]]) -> None:
    """Warn of shapes of different ranks that are broadcast, or refuse them, as the user has asked for."""
    if config.numpy_rank_promotion.cell.value == "allow" or len({len(shape) for shape in nonscalar}) <= 1:
        return
    message = (
        f"Operands could not be broadcast together for {name} on shapes {' '.join(map(str, nonscalar))} and with the config "
        "option jax_numpy_rank_promotion='raise'. For more information, see the documentation of rank promotion."
    )
    if config.numpy_rank_promotion.cell.value == "raise":
        raise ValueError(message)
    warn_user(
        f"{name} promotes ranks, as NumPy does, on shapes {' '.join(map(str, nonscalar))}. The config option "
        "jax_numpy_rank_promotion='allow' silences this warning; see the documentation of rank promotion.",
    )


def broadcast_to(value: ArrayLike, shape: tuple[int, ...]) -> Any:
    """``value`` repeated to a shape by NumPy's rules."""
    own = typeof(value).shape
    if own == shape:
        return value
    return shapes.broadcast_in_dim(value, shape, range(len(shape) - len(own), len(shape)))


def refuse_out(name: str, out: object) -> None:
    """Refuse the argument ``out``: arrays cannot be written to."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to {name} is not supported.")


def refuse_options(name: str, out: object, where: OptionalArray) -> None:
    """Refuse the arguments ``out`` and ``where`` of universal functions, which would change an array in part."""
    refuse_out(name, out)
    if where is not None:
        raise NotImplementedError(f"The 'where' argument to {name} is not supported.")


def concrete_int(value: Any, context: str) -> int:
    """A Python int from an int-like value that must be known.

    Raises:
      ConcretizationTypeError: a traced value.
      TypeError: not a number.
    """
    if isinstance(value, Tracer):
        known = concrete_value(value)
        if known is None:
            raise ConcretizationTypeError(value, context)
        value = known
    if isinstance(value, int):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.size != 1:
        raise TypeError(in_call(f"an integer is required, got {value!r}", value))
    return int(array.item())


def known_size(value: Any, name: str, argument: str = "size") -> int:
    """A length that a function is given: an int, or a symbolic one.

    Raises:
      ConcretizationTypeError: a traced value.
      TypeError: what Python does not accept as an int.
    """
    if isinstance(value, Tracer):
        return concrete_int(value, f"The error arose in the `{argument}` argument of {name}.")
    return as_index(value)


def axes_tuple(axes: Any) -> tuple[Any, ...]:
    """One axis, or a sequence or a vector of them, as a tuple."""
    if type(axes) is int or type(axes) is tuple:  # what the rest would find more slowly
        return axes if type(axes) is tuple else (axes,)
    several = isinstance(axes, Sequence) and not isinstance(axes, str)
    return tuple(axes) if several or getattr(axes, "ndim", 0) > 0 else (axes,)


def canonical_axes(axis: Any, rank: int, context: str = "axis") -> tuple[int, ...]:
    """The axes that ``axis`` (None for all, an int, a tuple, a vector) names, in [0, rank).

    Raises:
      ValueError: out of bounds, or repeated.
      TypeError: not ints.
    """
    if axis is None:
        return tuple(range(rank))
    axes = []
    for one in axes_tuple(axis):
        if isinstance(one, Tracer):
            raise ConcretizationTypeError(one, f"The problem arose with the {context}: it must be known statically.")
        axes.append(shape_arguments.canonical_axis(one, rank))
    if len(set(axes)) != len(axes):
        raise ValueError(in_call(f"duplicate value in 'axis': {axis}"))
    return tuple(axes)


def unsupported(name: str, argument: str) -> NoReturn:
    """Refuse an argument that NumPy has and arrays here cannot honour."""
    raise NotImplementedError(f"The {argument!r} argument to {name} is not supported.")
