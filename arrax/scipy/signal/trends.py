"""Trends: what is constant or linear in a signal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.core.types import typeof
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import array_of
from arrax.numpy_api.operands import canonical_axes, check_arraylike, promote_inexact
from arrax.xla.arrays import Array, ArrayLike


def detrend(
    data: ArrayLike, axis: int = -1, type: str = "linear", bp: int | Sequence[int] | Any = 0, overwrite_data: Any = None
) -> Array:
    """The signal less its best straight line, or its mean.

    Args:
      data: array.
      axis: the axis of time.
      type: ``"linear"`` or ``"constant"``.
      bp: places between which lines of their own are taken; of no effect with ``"constant"``.
      overwrite_data: must be None.
    Raises:
      ValueError: another type; places beyond the end.
      NotImplementedError: ``overwrite_data``.
    Example: ``signal.detrend(jnp.array([1., 2., 3.]))`` is ``[0., 0., 0.]``. Source: ``scipy.signal.detrend``.
    """
    data = array_of(data)
    check_arraylike("detrend", data)
    if overwrite_data is not None:
        raise NotImplementedError("detrend: overwrite_data is not supported: arrays cannot be written to")
    if type not in ("constant", "linear"):
        raise ValueError(f"detrend: type must be 'linear' or 'constant', got {type!r}")
    index = canonical_axes(axis, typeof(data).ndim)[0]
    length = typeof(data).shape[index]
    places = () if type == "constant" else np.atleast_1d(bp)  # SciPy ignores them, too, where there are no lines
    breaks = tuple(sorted({0, length, *(int(b) for b in places)}))
    if breaks[-1] > length or breaks[0] < 0:
        raise ValueError(f"detrend: bp must be places from 0 to {length}, got {bp}")
    return _detrend(data, axis=index, type=type, breaks=breaks)


@api(static=("axis", "type", "breaks"))
def _detrend(data: ArrayLike, axis: int, type: str, breaks: tuple[int, ...]) -> Array:
    (data,) = promote_inexact(data)
    data = jnp.asarray(data)
    dtype = data.dtype
    rows = jnp.moveaxis(data if dtype.itemsize >= 4 else data.astype(np.float32), axis, -1)
    if type == "constant":
        rows = rows - jnp.mean(rows, -1, keepdims=True)
    elif rows.size:
        parts = [_without_line(rows[..., a:b]) for a, b in zip(breaks, breaks[1:], strict=False)]
        rows = jnp.concatenate(parts, -1)
    return jnp.moveaxis(rows, -1, axis).astype(dtype)


def _without_line(x: Any) -> Any:
    """The residuals of the line of least squares: means and slopes about the middle are independent."""
    count = x.shape[-1]
    x = x - jnp.mean(x, -1, keepdims=True)
    if count < 2:
        return x
    time = np.arange(count) - (count - 1) / 2
    time = jnp.asarray((time / np.sqrt(np.sum(time * time))).astype(jnp.real(x).dtype))
    return x - jnp.sum(x * time, -1, keepdims=True) * time
