"""Values of an array at points between its elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.core.types import typeof
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike
from arrax.xla.arrays import Array, ArrayLike


def _mirrored(index: Array, size: int) -> Array:
    """... 2 1 | 0 1 2 | 1 0 ..."""
    turn = max(2 * (size - 1), 1)
    inside = index % turn
    return jnp.minimum(inside, turn - inside) if size > 1 else jnp.zeros_like(index)


def _reflected(index: Any, size: int) -> Any:
    """... 1 0 | 0 1 2 | 2 1 ..."""
    inside = index % (2 * size)
    return jnp.minimum(inside, 2 * size - 1 - inside)


# What an index outside of an axis means, and whether the value there is the fill.
_MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirrored,
    "reflect": _reflected,
}


def map_coordinates(
    input: ArrayLike | Sequence[Any],
    coordinates: Sequence[Any],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """The values of an array at points given by their coordinates, interpolated along each axis.

    Args:
      input: array of n axes, or nested sequence.
      coordinates: n arrays or sequences of one shape (or which broadcast), or an array of n rows: along each axis, in units of elements.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: what stands outside: ``"constant"`` (``cval``), ``"nearest"``, ``"wrap"``, ``"mirror"`` or ``"reflect"``.
      cval: the value of points outside, for ``"constant"``.
    Returns: array of the shape of the coordinates, of the dtype of ``input``.
    Raises:
      NotImplementedError: another mode or order.
      ValueError: not n coordinates.
    Example: ``ndimage.map_coordinates(jnp.arange(4.), [jnp.array([1.5])], 1)`` is ``[1.5]``.
    Source: ``scipy.ndimage.map_coordinates``.
    """
    image = _array(input)
    check_arraylike("map_coordinates", image, cval)
    count = len(coordinates)
    indices = [coordinates[n] for n in range(count)] if hasattr(coordinates, "shape") else [*map(_array, coordinates)]
    check_arraylike("map_coordinates", *indices)
    if len(indices) != typeof(image).ndim:
        raise ValueError(
            f"map_coordinates: {typeof(image).ndim} coordinates are needed, one for each axis, got {len(indices)}"
        )
    if mode not in _MODES:
        raise NotImplementedError(f"map_coordinates: mode must be one of {', '.join(_MODES)}, got {mode!r}")
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates: order must be 0 or 1, got {order}")
    return _map_coordinates(image, indices, cval, order=int(order), mode=mode)


def _array(value: Any) -> Any:
    """An array of a nested sequence of numbers; other values as they are."""
    return jnp.asarray(value) if isinstance(value, list | tuple) else value


def _nearest(x: Array) -> list[tuple[Any, Any]]:
    """The place beside a coordinate, and its weight."""
    rounded = lax.round(x) if jnp.issubdtype(x.dtype, jnp.inexact) else x  # halves go away from 0
    return [(rounded.astype(np.int32), None)]


def _two_nearest(x: Array) -> list[tuple[Any, Any]]:
    """Both places around a coordinate, and their weights."""
    low = jnp.floor(x)
    above = x - low
    index = low.astype(np.int32)
    return [(index, 1 - above), (index + 1, above)]


@api(static=("order", "mode"))
def _map_coordinates(input: ArrayLike, coordinates: list[Any], cval: ArrayLike, order: int, mode: str) -> Array:
    array = jnp.asarray(input)
    dtype = array.dtype
    work = dtype if dtypes.is_inexact(dtype) else jnp.result_type(float)
    positions = jnp.broadcast_arrays(*map(jnp.asarray, coordinates))
    fill = jnp.asarray(cval).astype(dtype)
    around = [(_nearest if order == 0 else _two_nearest)(_floating(x, order)) for x in positions]
    total: Any = None
    for corner in itertools.product(*around):
        indices: list[Any] = []
        inside: Any = None
        weight: Any = None
        for (index, share), size in zip(corner, array.shape, strict=True):
            indices.append(_MODES[mode](index, size))
            if mode == "constant":
                here = (index >= 0) & (index < size)
                inside = here if inside is None else inside & here
            if share is not None:
                weight = share if weight is None else weight * share
        value = array.at[tuple(indices)].get(mode="clip")
        value = value if inside is None else jnp.where(inside, value, fill)
        term = value if weight is None else value.astype(work) * weight.astype(work)
        total = term if total is None else total + term
    if not dtypes.is_inexact(dtype) and order:
        total = lax.round(total)  # halves go away from 0
    return total.astype(dtype)


def _floating(x: Array, order: int) -> Array:
    if jnp.issubdtype(x.dtype, jnp.inexact) or order == 0:
        return x
    return x.astype(jnp.result_type(float))
