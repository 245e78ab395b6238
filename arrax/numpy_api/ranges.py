"""Numbers in even steps, and arrays from functions, buffers and text (NumPy reference, routines.array-creation)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn, cast, overload

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.calls import as_index
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer, concrete_value
from arrax.core.lengths import is_symbolic, longer
from arrax.core.types import typeof
from arrax.dtypes import DTypeLike, OptionalDType
from arrax.lax import (
    arithmetic,
    axis_order,
    bitwise,
    concatenation,
    exponential,
    filled_arrays,
    selection,
    shape_arguments,
    shapes,
    static_slicing,
)
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.placement import device_put
from arrax.numpy_api import host, operands
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.operands import check_arraylike
from arrax.transforms.vectorize import vmap
from arrax.xla.annotations import OptionalDevice, Shape
from arrax.xla.arrays import Array, ArrayLike
from arrax.xla.placement import check_live

Text = str

_SCALARS = (int, float, complex, np.number)


def _count(name: str, num: int) -> int:
    if isinstance(num, Tracer):
        known = concrete_value(num)
        if known is None:
            raise ConcretizationTypeError(num, f"It arose in the 'num' argument of jnp.{name}.")
        num = np.asarray(known).item()
    count = as_index(num)
    if count < 0:
        raise ValueError(f"{name}: number of samples, {count}, must be non-negative.")
    return count


def _range_dtype(
    name: str, dtype: OptionalDType, start: ArrayLike, stop: ArrayLike, base: ArrayLike | None = None
) -> tuple[Any, Any]:
    """(the dtype to compute in, the dtype of the result); both ends are promoted in the modes in force."""
    operands.report_ranks(name, start, stop)
    ends = dtypes.result_type_of([dtypes.value_pair(start), dtypes.value_pair(stop)])
    if base is not None:
        with config.numpy_dtype_promotion("standard"):
            ends = dtypes.result_type_of([ends, dtypes.value_pair(base)])
    common, _ = ends
    work = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(common))
    return work, work if dtype is None else dtypes.check_user_dtype(name, dtype)


@api(static=("num", "endpoint", "work", "dtype", "axis"))
def _linspace(
    start: ArrayLike, stop: ArrayLike, num: int, endpoint: bool, work: np.dtype, dtype: np.dtype, axis: int
) -> Array:
    start, stop = convert(start, work), convert(stop, work)
    shape = shapes.broadcast_shapes(typeof(start).shape, typeof(stop).shape)
    full = (num, *shape)
    kept = range(1, len(full))
    first, last = (shapes.broadcast_in_dim(operands.broadcast_to(v, shape), full, kept) for v in (start, stop))
    pieces = num - 1 if endpoint else num
    unknown = is_symbolic(pieces)
    if num == 0:
        out = filled_arrays.full(full, 0, work)
    elif pieces == 0:
        out = first
    else:
        real = dtypes.finfo(work).dtype if dtypes.is_complex(work) else work
        steps = arithmetic.div(filled_arrays.iota(real, num), length_of_axis(longer(pieces, 1), real))
        share = shapes.broadcast_in_dim(convert(steps, work), full, (0,))
        one = np.asarray(1).astype(work)[()]
        out = arithmetic.add(arithmetic.mul(first, arithmetic.sub(one, share)), arithmetic.mul(last, share))
        if endpoint and unknown:
            out = selection.select(_is_last(num, full), last, out)
        elif endpoint:  # the last number is the given one, whatever rounding says
            body = static_slicing.slice_in_dim(out, 0, num - 1)
            out = concatenation.concatenate([body, static_slicing.slice_in_dim(last, num - 1, num)], 0)
    if dtypes.is_integer(dtype):
        out = arithmetic.floor(out)
    return axis_order.move_axis(convert(out, dtype), 0, axis)


def _is_last(num: Any, shape: tuple[Any, ...]) -> Any:
    """Where the last of several numbers stands; nowhere if there is one."""
    number = filled_arrays.broadcasted_iota(np.dtype(np.int32), shape, 0)
    end, start = (shapes.broadcast_in_dim(length_of_axis(n, np.dtype(np.int32)), shape, ()) for n in (num - 1, 0))
    return bitwise.bitwise_and(arithmetic.eq(number, end), arithmetic.gt(number, start))


@functools.lru_cache(maxsize=64, typed=True)
def _known_steps(
    start: ArrayLike, stop: ArrayLike, count: int, endpoint: bool, dtype: OptionalDType, x64: bool
) -> np.ndarray | None:
    """The steps between two numbers, from 64 bits, wherever they are asked for; None where a program computes them."""
    work, chosen = _range_dtype("linspace", dtype, start, stop)
    if not isinstance(work, np.dtype) or work.kind not in "fc" or work.itemsize < 4 or not host.fits(count):
        return None
    if any(isinstance(end, int) and end.bit_length() > 63 for end in (start, stop)):  # no number of NumPy's
        return None
    values = np.linspace(start, stop, count, endpoint)
    return dtypes.saturated(np.floor(values) if dtypes.is_integer(chosen) else values, chosen)


@overload
def linspace(
    start: ArrayLike, stop: ArrayLike, num: int = ..., endpoint: bool = ..., retstep: Literal[False] = ...,
    dtype: OptionalDType = ..., axis: int = ..., *, device: OptionalDevice = ...,
) -> Array: ...  # fmt: skip
@overload
def linspace(
    start: ArrayLike, stop: ArrayLike, num: int = ..., endpoint: bool = ..., *, retstep: Literal[True],
    dtype: OptionalDType = ..., axis: int = ..., device: OptionalDevice = ...,
) -> tuple[Array, Array]: ...  # fmt: skip
@overload
def linspace(
    start: ArrayLike, stop: ArrayLike, num: int = ..., endpoint: bool = ..., retstep: bool = ...,
    dtype: OptionalDType = ..., axis: int = ..., *, device: OptionalDevice = ...,
) -> Array | tuple[Array, Array]: ...  # fmt: skip
def linspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: OptionalDType = None, axis: int = 0,
    *, device: OptionalDevice = None,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """Numbers in even steps from ``start`` to ``stop``.

    Args:
      start, stop: numbers or arrays, broadcast against each other.
      num: how many; known while tracing.
      endpoint: whether ``stop`` is the last one, or the one after it.
      retstep: whether the step is returned, too.
      dtype: by default floating; integers are rounded down.
      axis: the axis of the result along which the numbers go.
      device: device to put the result on.
    Returns: array, or (it, the step).
    Raises:
      ValueError: a negative number.
      TypeError: lists.
    Example: ``jnp.linspace(0, 1, 3)`` is ``[0., 0.5, 1.]``. Source: ``numpy.linspace``.
    """
    count, steps = _count("linspace", num), None
    if isinstance(start, _SCALARS) and isinstance(stop, _SCALARS) and not is_symbolic(count):
        shape_arguments.canonical_axis(axis, 1)
        steps = _known_steps(start, stop, count, bool(endpoint), dtype, config.enable_x64.cell.value)  # type: ignore[arg-type]
    if steps is not None:
        out = host.new(steps.copy()) if host.evaluating() else asarray(steps)
    else:
        check_arraylike("linspace", start, stop)
        work, chosen = _range_dtype("linspace", dtype, start, stop)
        rank = len(shapes.broadcast_shapes(typeof(start).shape, typeof(stop).shape)) + 1
        out = _linspace(start, stop, count, bool(endpoint), work, chosen, shape_arguments.canonical_axis(axis, rank))
    out = out if device is None else device_put(out, device)
    if not retstep:
        return out
    work, _ = _range_dtype("linspace", dtype, start, stop)
    return out, _step(start, stop, count - 1 if endpoint else count, work)


@api(static=("pieces", "work"))
def _step(start: ArrayLike, stop: ArrayLike, pieces: int, work: np.dtype) -> Array:
    shape = shapes.broadcast_shapes(typeof(start).shape, typeof(stop).shape)
    if pieces <= 0:  # one number for all, as in NumPy
        return filled_arrays.full((), np.nan, work)
    start, stop = (operands.broadcast_to(convert(v, work), shape) for v in (start, stop))
    return arithmetic.div(arithmetic.sub(stop, start), length_of_axis(pieces, work))


@api(static=("work", "dtype"))
def _powers(base: ArrayLike, exponents: Array, work: np.dtype, dtype: np.dtype) -> Array:
    base, exponents = convert(base, work), convert(exponents, work)
    shape = shapes.broadcast_shapes(typeof(base).shape, typeof(exponents).shape)
    return convert(exponential.pow(operands.broadcast_to(base, shape), operands.broadcast_to(exponents, shape)), dtype)


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: OptionalDType = None,
    axis: int = 0,
) -> Array:
    """Powers of a base whose exponents go in even steps.

    Args:
      start, stop: the first and the last exponent.
      base: number or array.
      num: how many; known while tracing.
      endpoint: whether ``stop`` is the last one, or the one after it.
      dtype: by default floating; integers are rounded down.
      axis: the axis of the result along which the numbers go.
    Example: ``jnp.logspace(0, 2, 3)`` is ``[1., 10., 100.]``. Source: ``numpy.logspace``.
    """
    check_arraylike("logspace", start, stop, base)
    work, chosen = _range_dtype("logspace", dtype, start, stop, base)
    exponents = linspace(start, stop, num, endpoint, dtype=work, axis=axis)
    return _powers(base, exponents, work, chosen)


@api(static=("num", "endpoint", "work", "dtype", "axis"))
def _geomspace(
    start: ArrayLike, stop: ArrayLike, num: int, endpoint: bool, work: np.dtype, dtype: np.dtype, axis: int
) -> Array:
    start, stop = convert(start, work), convert(stop, work)
    shape = shapes.broadcast_shapes(typeof(start).shape, typeof(stop).shape)
    start, stop = operands.broadcast_to(start, shape), operands.broadcast_to(stop, shape)
    exponents = _linspace(0.0, exponential.log(arithmetic.div(stop, start)), num, endpoint, work, work, 0)
    full = (num, *shape)
    kept = range(1, len(full))
    out = arithmetic.mul(shapes.broadcast_in_dim(start, full, kept), exponential.exp(exponents))
    ends = [shapes.broadcast_in_dim(v, (1, *shape), kept) for v in (start, stop)]
    if num > 1:  # the first and the last number are the given ones
        tail = [ends[1]] if endpoint else []
        inner = static_slicing.slice_in_dim(out, 1, num - len(tail))
        out = concatenation.concatenate([ends[0], inner, *tail], 0)
    if dtypes.is_integer(dtype):  # towards zero, but what is a whole number up to rounding is that number
        out = arithmetic.mul(out, np.asarray(1 + 16 * float(dtypes.finfo(work).eps)).astype(work)[()])
    return axis_order.move_axis(convert(out, dtype), 0, axis)


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: OptionalDType = None,
    axis: int = 0,
) -> Array:
    """Numbers of which each is the same multiple of the one before.

    Args:
      start, stop: the first and the last number, of one sign.
      num: how many; known while tracing.
      endpoint: whether ``stop`` is the last one, or the one after it.
      dtype: by default floating; integers are rounded down.
      axis: the axis of the result along which the numbers go.
    Example: ``jnp.geomspace(1, 8, 4)`` is ``[1., 2., 4., 8.]``. Source: ``numpy.geomspace``.
    """
    check_arraylike("geomspace", start, stop)
    count = _count("geomspace", num)
    work, chosen = _range_dtype("geomspace", dtype, start, stop)
    work = chosen if dtypes.is_complex(chosen) else work  # numbers of two signs are joined by a spiral
    if dtypes.is_complex(work) and not dtypes.is_complex(chosen):
        raise TypeError(f"geomspace: complex numbers cannot become elements of dtype {chosen}")
    rank = len(shapes.broadcast_shapes(typeof(start).shape, typeof(stop).shape)) + 1
    return _geomspace(start, stop, count, bool(endpoint), work, chosen, shape_arguments.canonical_axis(axis, rank))


# ---- from functions, buffers, text ----------------------------------------------------------------------------------


def fromfunction(function: Callable[..., Any], shape: Shape, *, dtype: DTypeLike = float, **kwargs: Any) -> Array:
    """The values of a function at all places of an array, found by mapping it over each index.

    Args:
      function: function of one number per axis.
      shape: the shape of the array of places.
      dtype: dtype of the numbers.
      kwargs: passed on to the function.
    Returns: array (or pytree of them) with the axes of ``shape`` in front.
    Example: ``jnp.fromfunction(jnp.add, (2, 2))`` is ``[[0., 1.], [1., 2.]]``. Source: ``numpy.fromfunction``.
    """
    lengths = shape_arguments.canonical_shape(shape, "fromfunction")
    chosen = dtypes.check_user_dtype("fromfunction", dtype)

    def mapped(*indices: Array) -> Array:
        return function(*indices, **kwargs)

    for axis in reversed(range(len(lengths))):
        mapped = vmap(mapped, in_axes=tuple(0 if i == axis else None for i in range(len(lengths))))
    return mapped(*[filled_arrays.iota(chosen, length) for length in lengths])


def fromstring(string: Text, dtype: DTypeLike = float, count: int = -1, *, sep: Text) -> Array:
    """An array of the numbers in a text.

    Args:
      string: text.
      dtype: dtype of the elements.
      count: how many numbers; -1 for all.
      sep: what stands between them.
    Example: ``jnp.fromstring("1 2", dtype=int, sep=" ")`` is ``[1, 2]``. Source: ``numpy.fromstring``.
    """
    return asarray(np.fromstring(string, cast(np.dtype, dtypes.to_dtype(dtype)), count, sep=sep))


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """An array of the bytes of a buffer.

    Args:
      buffer: bytes or another object with the buffer protocol.
      dtype: dtype of the elements.
      count: how many elements; -1 for all.
      offset: the byte to begin at.
    Example: ``jnp.frombuffer(b"ab", dtype=jnp.uint8)`` is ``[97, 98]``. Source: ``numpy.frombuffer``.
    """
    if type(buffer) is host.ArrayImpl:
        check_live(buffer)
    return asarray(np.frombuffer(buffer, cast(np.dtype, dtypes.to_dtype(dtype)), count, offset))


def _impure(name: str) -> NoReturn:
    raise NotImplementedError(
        f"jnp.{name}() is not implemented: it reads from the outside, which transformed functions must not do. Use "
        f"jnp.asarray(np.{name}(...)) outside of them."
    )


def fromfile(*args: Any, **kwargs: Any) -> NoReturn:
    """Not implemented, since it is not pure: use ``jnp.asarray(np.fromfile(...))``.

    Raises:
      NotImplementedError: always.
    Example: ``jnp.fromfile('numbers.bin')`` raises ``NotImplementedError``.
    """
    _impure("fromfile")


def fromiter(*args: Any, **kwargs: Any) -> NoReturn:
    """Not implemented, since it is not pure: use ``jnp.asarray(np.fromiter(...))``.

    Raises:
      NotImplementedError: always.
    Example: ``jnp.fromiter([1, 2], 'int32')`` raises ``NotImplementedError``.
    """
    _impure("fromiter")


def load(file: Any, *args: Any, **kwargs: Any) -> Array:
    """An array from a file of ``numpy.save``.

    Args:
      file: path or file object.
      args, kwargs: as of ``numpy.load``.
    Returns: array; an archive of several, and elements that are not numbers, stay NumPy's.
    Example: ``jnp.save("x.npy", jnp.ones(2)); jnp.load("x.npy")`` is ``[1., 1.]``. Source: ``numpy.load``.
    """
    found = np.load(file, *args, **kwargs)
    if isinstance(found, np.ndarray) and found.dtype == np.dtype("V2"):
        found = found.view(dtypes.bfloat16)  # whose name the file format does not know
    return asarray(found) if isinstance(found, np.ndarray) and found.dtype in dtypes.known_dtypes else found


def _on_host(values: Sequence[Any]) -> list[Any]:
    return [np.asarray(value) for value in values]


def save(file: Any, arr: ArrayLike, allow_pickle: bool = True, fix_imports: bool = True) -> None:
    """Write an array to a file that ``load`` reads.

    Args:
      file: name of a file, or an open one.
      arr: array.
      allow_pickle, fix_imports: accepted, without effect.
    Example: ``jnp.save("x.npy", jnp.ones(2))``. Source: ``numpy.save``.
    """
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to one archive.

    Args:
      file: name of a file, or an open one.
      args: arrays, which are named ``arr_0`` and so on.
      allow_pickle: accepted, without effect.
      kwds: arrays by name.
    Example: ``jnp.savez("x.npz", a=jnp.ones(2))``. Source: ``numpy.savez``.
    """
    named: dict[str, Any] = {name: np.asarray(value) for name, value in kwds.items()}
    np.savez(file, *_on_host(args), **named)
