"""Arrays of one number, of even steps, and the identity; copies (NumPy reference, routines.array-creation)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer, concrete_value, context
from arrax.core.lengths import is_symbolic, longer
from arrax.core.types import ShapedArray, slots, typeof
from arrax.dtypes import DType, OptionalDType
from arrax.lax import arithmetic, filled_arrays, shape_arguments, shapes
from arrax.lax.conversion import convert, scalar_of
from arrax.lax.placement import own_sharding
from arrax.native import runtime
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import array, asarray, placed, requested_dtype
from arrax.numpy_api.operands import as_operand, check_arraylike, is_arraylike
from arrax.xla.annotations import OptionalDevice, OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

ArrayImpl = runtime.ArrayImpl


@api(static=("shape", "dtype", "weak"))
def _full_compiled(fill_value: ArrayLike, shape: tuple[int, ...], dtype: np.dtype, weak: bool) -> Array:
    return convert(shapes.broadcast_in_dim(convert(fill_value, dtype), shape, ()), dtype, weak)


def _filled(shape: tuple[int, ...], value: ArrayLike, dtype: DType, weak: bool = False) -> Any:
    """An array of one repeated number: on the host where it is small."""
    if dtype == dtypes.float0:
        return np.zeros(shape, dtypes.float0)
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(shape, value)
    if isinstance(value, int | float | bool | complex | np.generic) and host.evaluating():
        total = ShapedArray(shape, dtype).size
        if total <= host.MAX_ELEMENTS:
            return host.new(np.full(shape, dtypes.saturated(value, dtype), dtype), weak)
        return _full_compiled(dtypes.saturated(value, dtype), shape, dtype, weak)
    if not context.interpreter.is_evaluation:
        made = filled_arrays.full(shape, value, dtype)
        return convert(made, dtype, weak) if weak else made
    return _full_compiled(value, shape, dtype, weak)


def _holds_numbers(dtype: np.dtype) -> bool:
    return not isinstance(dtype, dtypes.ExtendedDType) and dtype != dtypes.float0


def _default_float() -> np.dtype:
    return dtypes.canonicalize_dtype(np.float64)


def _requested_of_shape(name: str, shape: Shape, dtype: OptionalDType) -> Any:
    """The dtype of an array of some shape; a number there is another length of the shape."""
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        raise TypeError(
            f"{name}: Cannot interpret {dtype!r} as a data type. A shape is one argument: jnp.{name}(({shape}, {dtype}))"
        )
    return requested_dtype(name, dtype)


def zeros(
    shape: Shape,
    dtype: OptionalDType = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """An array of zeros.

    Args:
      shape: int or sequence of ints.
      dtype: by default float32 (float64 with x64).
      device: device to put it on.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      TypeError: a shape that is not made of concrete integers.
      ValueError: negative lengths.
    Example: ``jnp.zeros((2, 3))``. Source: ``numpy.zeros``.
    """
    chosen = _default_float() if dtype is None else _requested_of_shape("zeros", shape, dtype)
    return placed(_filled(shape_arguments.canonical_shape(shape, "zeros"), 0, chosen), device, out_sharding)


def ones(
    shape: Shape,
    dtype: OptionalDType = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """An array of ones. Args: as of ``zeros``.

    Example: ``jnp.ones(3)``. Source: ``numpy.ones``.
    """
    chosen = _default_float() if dtype is None else _requested_of_shape("ones", shape, dtype)
    return placed(_filled(shape_arguments.canonical_shape(shape, "ones"), 1, chosen), device, out_sharding)


def empty(
    shape: Shape,
    dtype: OptionalDType = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """An array of zeros: there are no uninitialized arrays.

    Args:
      shape: int or sequence of ints.
      dtype: by default float32 (float64 with x64).
      device: device to put it on.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.empty(2)``. Source: ``numpy.empty``.
    """
    return zeros(shape, _requested_of_shape("empty", shape, dtype), device=device, out_sharding=out_sharding)


def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: OptionalDType = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """An array filled with a value.

    Args:
      shape: int or sequence of ints.
      fill_value: number or array, broadcast to ``shape``.
      dtype: by default that of ``fill_value``.
      device: device to put it on.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Example: ``jnp.full((2,), 3)``. Source: ``numpy.full``.
    """
    check_arraylike("full", fill_value)
    requested = requested_dtype("full", dtype)
    lengths = shape_arguments.canonical_shape(shape, "full")
    if type(fill_value) is int and requested is not None and _holds_numbers(requested):
        fill_value = scalar_of(fill_value, requested)  # of any size that the dtype holds
    aval = typeof(fill_value)
    weak = requested is None and aval.weak_type and device is None
    chosen = aval.dtype if requested is None else requested
    if aval.shape == ():
        return placed(_filled(lengths, fill_value, chosen, weak), device, out_sharding)
    from_array = convert(asarray(fill_value), chosen, weak)
    return placed(_broadcast(from_array, lengths), device, out_sharding)


@api(static=("shape",))
def _broadcast(value: Array, shape: tuple[int, ...]) -> Any:
    own = typeof(value).shape
    lead = len(shape) - len(own)
    if lead < 0:
        raise ValueError(f"Incompatible shapes for broadcasting: {own} and requested shape {shape}")
    for length, new_length in zip(own, shape[lead:], strict=True):
        if length not in (1, new_length):
            raise ValueError(f"Incompatible shapes for broadcasting: {own} and requested shape {shape}")
    return shapes.broadcast_in_dim(value, shape, range(lead, len(shape)))


def _like(
    name: str, a: Any, dtype: OptionalDType, shape: Any, device: OptionalDevice
) -> tuple[tuple[int, ...], Any, bool]:
    """Shape and dtype of an array like ``a``, and whether it is weakly typed: not where a device is asked for."""
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        check_arraylike(name, a)
    known = a if hasattr(a, "shape") and not is_arraylike(a) else typeof(a)
    known = getattr(known, "inner_aval", known)  # of references
    own_dtype = dtypes.canonicalize_dtype(known.dtype, allow_extended_dtype=True)
    lengths = tuple(known.shape) if shape is None else shape_arguments.canonical_shape(shape, name)
    requested = requested_dtype(name, dtype)
    return (
        lengths,
        own_dtype if requested is None else requested,
        requested is None and device is None and getattr(known, "weak_type", False),
    )


def _placed_like(value: Array, a: ArrayLike, device: Any, out_sharding: OptionalSharding = None) -> Array:
    """A new array where ``a`` lies, if that is committed to a place, and no other one is asked for."""
    a = a if is_symbolic(a) else as_operand(a)
    if device is None and out_sharding is None:
        return placed(value, own_sharding(a, typeof(value).shape)) if type(a) is ArrayImpl else _divided_like(value, a)
    return placed(value, device, out_sharding)


def _divided_like(value: Array, a: ArrayLike) -> Array:
    """The value, divided by explicit axes of a mesh as a traced ``a`` of its shape is, and varying as that does."""
    aval = a.aval if isinstance(a, Tracer) else None
    value = filled_arrays.varying_like(value, aval)
    return (
        value if aval is None or aval.explicit is None or typeof(value).shape != aval.shape else slots.like(value, aval)
    )


def zeros_like(
    a: ArrayLike,
    dtype: OptionalDType = None,
    shape: Shape | None = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Zeros of the shape and dtype of ``a``, unless others are given.

    Args:
      a: array or number.
      dtype: of the result, instead of that of ``a``.
      shape: of the result, instead of that of ``a``.
      device: device to put it on.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.zeros_like(jnp.ones(2))``. Source: ``numpy.zeros_like``.
    """
    lengths, chosen, weak = _like("zeros_like", a, dtype, shape, device)
    return _placed_like(_filled(lengths, 0, chosen, weak), a, device, out_sharding)


def ones_like(
    a: ArrayLike,
    dtype: OptionalDType = None,
    shape: Shape | None = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Ones of the shape and dtype of ``a``, unless others are given.

    Args:
      a: array or number.
      dtype: of the result, instead of that of ``a``.
      shape: of the result, instead of that of ``a``.
      device: device to put it on.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.ones_like(jnp.zeros(2))``. Source: ``numpy.ones_like``.
    """
    lengths, chosen, weak = _like("ones_like", a, dtype, shape, device)
    return _placed_like(_filled(lengths, 1, chosen, weak), a, device, out_sharding)


def empty_like(
    prototype: Any,
    dtype: OptionalDType = None,
    shape: Shape | None = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Zeros of the shape and dtype of ``prototype``: there are no uninitialized arrays.

    Args:
      prototype: array or number.
      dtype: of the result, instead of that of ``prototype``.
      shape: of the result, instead of that of ``prototype``.
      device: device to put it on.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.empty_like(jnp.ones(2))``. Source: ``numpy.empty_like``.
    """
    lengths, chosen, weak = _like("empty_like", prototype, dtype, shape, device)
    return _placed_like(_filled(lengths, 0, chosen, weak), prototype, device, out_sharding)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: OptionalDType = None,
    shape: Shape | None = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """An array of the shape and dtype of ``a``, unless others are given, filled with a value.

    Args:
      a: array or number.
      fill_value: number, or array that broadcasts.
      dtype: of the result, instead of that of ``a``.
      shape: of the result, instead of that of ``a``.
      device: device to put it on.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.full_like(jnp.ones(2), 3)`` is ``[3., 3.]``. Source: ``numpy.full_like``.
    """
    lengths, chosen, weak = _like("full_like", a, dtype, shape, device)
    check_arraylike("full_like", fill_value)
    if type(fill_value) is int and _holds_numbers(chosen):
        fill_value = scalar_of(fill_value, chosen)
    if typeof(fill_value).shape == ():
        return _placed_like(_filled(lengths, fill_value, chosen, weak), a, device, out_sharding)
    return placed(_broadcast(convert(asarray(fill_value), chosen, weak), lengths), device, out_sharding)


# ---- ranges -----------------------------------------------------------------------------------------------------------------


def _known(argument: str, value: ArrayLike) -> Any:
    """The value of an argument of ``arange``, which must be known."""
    if isinstance(value, Tracer):
        known = concrete_value(value)
        if known is None:
            raise ConcretizationTypeError(value, f"It arose in the jnp.arange argument '{argument}'.")
        return np.asarray(known)[()]
    return np.asarray(value)[()] if isinstance(value, ArrayImpl | np.ndarray) else value


def _counted(start: Any, stop: Any, step: Any, dtype: np.dtype) -> Array:
    """``arange`` up to a length that is an expression of symbols."""
    first, last = (0, start) if stop is None else (start, stop)
    step = 1 if step is None else as_index(step)
    if is_symbolic(step):
        raise NotImplementedError(f"arange: the step {step} between symbolic dimensions {first} and {last}")
    if step == 0:
        raise ZeroDivisionError("arange: the step must not be 0")
    span = last - first if step > 0 else first - last
    count = (span + abs(step) - 1) // abs(step)
    numbers = filled_arrays.broadcasted_iota(dtype, (longer(count, 0),), 0)
    numbers = numbers if step == 1 else arithmetic.mul(numbers, convert(asarray(step), dtype))
    return numbers if type(first) is int and first == 0 else arithmetic.add(numbers, convert(asarray(first), dtype))


def arange(
    start: ArrayLike,
    stop: OptionalArray = None,
    step: OptionalArray = None,
    dtype: OptionalDType = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Evenly spaced numbers from ``start`` (0 if only one is given) to below ``stop``.

    Args:
      start, stop, step: numbers that are known while tracing.
      dtype: by default the promoted dtype of the arguments.
      device: device to put it on.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ZeroDivisionError: a step of zero, as in NumPy.
      TypeError: bools, which cannot be counted.
    Example: ``jnp.arange(3)`` is ``[0, 1, 2]``. Source: ``numpy.arange``.
    """
    requested = requested_dtype("arange", dtype)
    given = [x for x in (start, stop, step) if x is not None]
    for value in given:
        if not is_arraylike(value):
            raise TypeError(f"arange requires ndarray or scalar arguments, got {type(value)}")
        if getattr(value, "ndim", 0):
            raise ValueError("arange: arguments must be scalars")
        if dtypes.is_complex(dtypes.value_pair(value)[0]):
            raise ValueError("arange: start, stop and step must be real numbers, got a complex one")
    result = dtypes.result_type_of([dtypes.value_pair(value) for value in given])[0] if requested is None else requested
    if result == np.bool_:
        raise TypeError("arange: bools cannot be counted, give an integer or floating dtype")
    if any(map(is_symbolic, given)):
        return _counted(start, stop, step, result)
    if stop is None:
        ends: Any = (("start", 0), ("stop", start))
    else:
        ends = (("start", start), ("stop", stop))
    low, high = (_known(name, value) for name, value in ends)
    by = 1 if step is None else _known("step", step)
    if by == 0:
        raise ZeroDivisionError("arange: step must not be zero")
    exact = all(isinstance(x, int | np.integer) for x in (low, high, by))
    size = len(range(int(low), int(high), int(by))) if exact else max(0, int(np.ceil((high - low) / by)))
    if not exact and dtypes.is_integer(result):  # as in NumPy, the step is that of the first two numbers made integers
        low, by, exact = int(low), int(low + by) - int(low), True
    if context.interpreter.is_evaluation and size <= host.MAX_ELEMENTS and host.evaluating():
        if exact:
            with np.errstate(all="ignore"):
                return placed(host.new((np.arange(size) * int(by) + int(low)).astype(result)), device, out_sharding)
    first, distance = np.asarray(low).astype(result)[()], np.asarray(by).astype(result)[()]
    return placed(_steps(size, first, distance), device, out_sharding)


@api(static=("size", "first", "by"))
def _steps(size: int, first: Any, by: ArrayLike) -> Array:
    numbers = filled_arrays.iota(first.dtype, size)
    numbers = numbers if by == 1 else arithmetic.mul(numbers, by)
    return numbers if first == 0 else arithmetic.add(numbers, first)


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: OptionalDType = None, *, device: OptionalDevice = None
) -> Array:
    """A matrix with ones on a diagonal.

    Args:
      N, M: rows and columns (as many as rows by default).
      k: which diagonal: above the main one where positive.
      dtype: by default float32 (float64 with x64).
      device: device to put it on.
    Example: ``jnp.eye(2)``. Source: ``numpy.eye``.
    """
    chosen = _default_float() if dtype is None else requested_dtype("eye", dtype)
    rows = as_index(N)
    columns = rows if M is None else as_index(M)
    if rows < 0 or columns < 0:
        raise ValueError(f"negative dimensions are not allowed, got {rows} and {columns}")
    known = not isinstance(k, Tracer | ArrayImpl)
    if known:
        k = as_index(k)
    elif typeof(k).shape or not dtypes.is_integer(typeof(k).dtype):
        raise ValueError(f"eye: k must be an integer, got {k}")
    if host.fits(rows, columns) and host.evaluating() and known:
        return placed(host.new(np.eye(rows, columns, k, dtype=np.bool_).astype(chosen)), device)
    row, column = (
        filled_arrays.broadcasted_iota(np.int32, (rows, columns), 0),
        filled_arrays.broadcasted_iota(np.int32, (rows, columns), 1),
    )
    return placed(convert(arithmetic.eq(arithmetic.add(row, convert(k, np.int32)), column), chosen), device)


def identity(n: int, dtype: OptionalDType = None) -> Array:
    """The identity matrix.

    Args:
      n: number of rows and columns.
      dtype: by default float32 (float64 with x64).
    Example: ``jnp.identity(2)``. Source: ``numpy.identity``.
    """
    return eye(n, dtype=dtype)


def copy_(a: ArrayLike, order: str | None = None) -> Array:
    """A copy of an array.

    Args:
      a: array or number.
      order: ``"C"``, ``"K"`` or None: arrays have no memory order of their own.
    Example: ``jnp.copy(jnp.ones(2))``. Source: ``numpy.copy``.
    """
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)
