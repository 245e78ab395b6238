"""Evenly spaced numbers: ``linspace``, ``logspace``, ``geomspace`` (NumPy reference, routines.array-creation)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.lax import arithmetic, exponential, shapes, structure
from arrax.lax.conversion import convert
from arrax.numpy_api import elementwise
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import broadcast_to, check_arraylike, promote_inexact


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0,
    *, device: Any = None,
) -> Any:  # fmt: skip
    """Evenly spaced numbers from ``start`` to ``stop``.

    Args:
      start, stop: numbers or arrays, broadcast against each other.
      num: how many.
      endpoint: whether ``stop`` is the last one.
      retstep: also return the distance.
      dtype: by default a floating dtype.
      axis: axis of the result along which the numbers increase.
    Raises:
      ValueError: a negative ``num``.
    Example: ``jnp.linspace(0, 1, 3)`` is ``[0., 0.5, 1.]``. Source: ``numpy.linspace``.
    """
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    check_arraylike("linspace", start, stop)
    requested = None if dtype is None else dtypes.check_user_dtype("linspace", dtype)
    values, step = _linspace(start, stop, num=count, endpoint=bool(endpoint), dtype=requested, axis=operator.index(axis))
    return (values, step) if retstep else values


@api(static=("num", "endpoint", "dtype", "axis"))
def _linspace(start: Any, stop: Any, *, num: int, endpoint: bool, dtype: Any, axis: int) -> tuple[Any, Any]:
    start, stop = promote_inexact(start, stop)
    work = typeof(start).dtype
    start, stop = convert(start, work), convert(stop, work)
    shape = shapes.broadcast_shapes(typeof(start).shape, typeof(stop).shape)
    start, stop = broadcast_to(start, shape), broadcast_to(stop, shape)
    intervals = num - 1 if endpoint else num
    span = arithmetic.sub(stop, start)
    nan = np.asarray(np.nan, work)[()]
    step = arithmetic.div(span, np.asarray(intervals, work)[()]) if intervals > 0 else shapes.full_like(start, nan)
    full_shape = (num, *shape)
    if num == 0:
        values = shapes.full(full_shape, 0, work)
    else:
        index = shapes.iota(work if not dtypes.is_complex(work) else np.float32, num)
        portion = arithmetic.div(convert(index, work), np.asarray(max(intervals, 1), work)[()])
        portion = shapes.broadcast_in_dim(portion, full_shape, (0,))
        tail = tuple(range(1, len(shape) + 1))
        low, high = shapes.broadcast_in_dim(start, full_shape, tail), shapes.broadcast_in_dim(stop, full_shape, tail)
        one = np.ones((), work)[()]
        values = arithmetic.add(arithmetic.mul(low, arithmetic.sub(one, portion)), arithmetic.mul(high, portion))
        if endpoint and num > 1:
            body = structure.slice_in_dim(values, 0, num - 1)
            values = structure.concatenate([body, shapes.expand_dims(stop, (0,))], 0)
    if dtype is not None and dtypes.is_integer(dtype) and not dtypes.is_complex(work):
        values = arithmetic.floor(values)
    values = convert(values, work if dtype is None else dtype)
    if axis:
        values = shapes.move_axis(values, 0, axis)
    return values, step


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """Powers of ``base`` with evenly spaced exponents.

    Args: as of ``linspace``; ``base``: number or array.
    Example: ``jnp.logspace(0, 2, 3)`` is ``[1., 10., 100.]``. Source: ``numpy.logspace``.
    """
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    check_arraylike("logspace", base)
    powers = elementwise.power(base, exponents)
    return powers if dtype is None else convert(powers, dtypes.check_user_dtype("logspace", dtype))


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Numbers with a constant ratio from ``start`` to ``stop``.

    Args: as of ``linspace``; both ends of one sign and not zero.
    Example: ``jnp.geomspace(1, 100, 3)`` is ``[1., 10., 100.]``. Source: ``numpy.geomspace``.
    """
    check_arraylike("geomspace", start, stop)
    requested = None if dtype is None else dtypes.check_user_dtype("geomspace", dtype)
    return _geomspace(start, stop, num=operator.index(num), endpoint=bool(endpoint), dtype=requested, axis=operator.index(axis))


@api(static=("num", "endpoint", "dtype", "axis"))
def _geomspace(start: Any, stop: Any, *, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    start, stop = promote_inexact(start, stop)
    sign = arithmetic.sign(start)
    logs = [exponential.log(arithmetic.mul(arithmetic.conj(sign) if dtypes.is_complex(typeof(sign).dtype) else sign, x)) for x in (start, stop)]
    values = exponential.exp(_linspace.__wrapped__(*logs, num=num, endpoint=endpoint, dtype=None, axis=0)[0])
    values = arithmetic.mul(values, broadcast_to(sign, typeof(values).shape))
    if num > 0:
        rest = structure.slice_in_dim(values, 1, num)
        first = broadcast_to(start, typeof(values).shape[1:])
        values = structure.concatenate([shapes.expand_dims(first, (0,)), rest], 0)
    values = values if dtype is None else convert(values, dtype)
    return shapes.move_axis(values, 0, axis) if axis else values


