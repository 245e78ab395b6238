"""Interpolation of values that are given on a grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.core.tracebacks import bound_methods
from arrax.numpy_api.operands import check_arraylike
from arrax.numpy_api.rearranging import known
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

_METHODS = ("linear", "nearest")


@bound_methods
class RegularGridInterpolator:
    """A function through values on a grid, whose lines need not be equally far apart.

    Args:
      points: for each axis the ascending (or descending) places of the grid's lines, vectors; traced ones have to ascend.
      values: array whose leading axes are the grid's.
      method: ``"linear"`` or ``"nearest"``.
      bounds_error: must be False: whether points lie outside is not known while tracing.
      fill_value: the value of points outside, NaN by default; None to go on beyond the borders.
    Raises:
      ValueError: another method; places that don't fit, or are not in strict order.
      NotImplementedError: ``bounds_error``.
    Example: ``RegularGridInterpolator((jnp.arange(3.),), jnp.array([0., 1., 4.]))(jnp.array([[1.5]]))`` is ``[2.5]``.
    Source: ``scipy.interpolate.RegularGridInterpolator``.
    """

    def __init__(
        self, points: Sequence[Any], values: ArrayLike, method: str = "linear", bounds_error: bool = False,
        fill_value: OptionalArray = np.nan,
    ) -> None:  # fmt: skip
        if method not in _METHODS:
            raise ValueError(f"RegularGridInterpolator: method must be 'linear' or 'nearest', got {method!r}")
        if bounds_error:
            raise NotImplementedError(
                "RegularGridInterpolator: bounds_error=True is not supported: points may be traced"
            )
        check_arraylike("RegularGridInterpolator", values, *(() if fill_value is None else (fill_value,)))
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        values = jnp.asarray(values)
        if fill_value is not None and jnp.iscomplexobj(fill_value) and not jnp.iscomplexobj(values):
            raise ValueError(
                f"RegularGridInterpolator: fill_value must be None or real, as values are, got {fill_value!r}"
            )
        if len(points) > values.ndim:
            raise ValueError(
                f"RegularGridInterpolator: there are {len(points)} axes of points, but values have the shape {values.shape}"
            )
        if not jnp.issubdtype(values.dtype, jnp.inexact):
            values = values.astype(jnp.result_type(float))
        self.grid, flipped = self._checked_grid(points, values)
        self.values = jnp.flip(values, flipped) if flipped else values

    @staticmethod
    def _checked_grid(points: Sequence[Any], values: Array) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """The places in ascending order, and the axes that were turned for it."""
        grid, flipped = [], []
        for axis, indices in enumerate(points):
            listed = jnp.asarray(indices)
            if listed.ndim != 1:
                raise ValueError(
                    f"RegularGridInterpolator: the points of axis {axis} must be a vector, got the shape {listed.shape}"
                )
            if values.shape[axis] != len(listed):
                raise ValueError(
                    f"RegularGridInterpolator: axis {axis} has {len(listed)} points, but {values.shape[axis]} values"
                )
            found = known(listed)  # of traced places nothing is known: they have to ascend
            steps = np.ones(1) if found is None else np.diff(found)
            if np.all(steps < 0) and len(listed) > 1:
                listed = listed[::-1]
                flipped.append(axis)
            elif not np.all(steps > 0):
                raise ValueError(
                    f"RegularGridInterpolator: the points of axis {axis} must be strictly ascending or descending"
                )
            grid.append(listed)
        return tuple(grid), tuple(flipped)

    def __call__(self, xi: ArrayLike | Sequence[Any], method: str | None = None) -> Array:
        """The function's values.

        Args:
          xi: points, an array whose last axis holds the coordinates, or a tuple of arrays of coordinates; a vector is one
            point, or several ones of a single coordinate.
          method: as of the class.
        Returns: array of the shape of the points, followed by the axes of ``values`` behind the grid's.
        Raises:
          ValueError: another method; points of another number of coordinates.
        """
        method = self.method if method is None else method
        if method not in _METHODS:
            raise ValueError(f"RegularGridInterpolator: method must be 'linear' or 'nearest', got {method!r}")
        count = len(self.grid)
        points = self._as_points(xi)
        if points.shape[-1:] != (count,):
            raise ValueError(
                f"RegularGridInterpolator: points must have {count} coordinates, got the shape {points.shape}"
            )
        flat = points.reshape(-1, count)
        found = [_bracket(grid, flat[:, axis]) for axis, grid in enumerate(self.grid)]
        value = (_linear if method == "linear" else _nearest)(self.values, found)
        if self.fill_value is not None:
            outside = jnp.any(jnp.stack([index[2] for index in found]), 0)
            value = jnp.where(outside.reshape((-1,) + (1,) * (value.ndim - 1)), self.fill_value, value)
        unknown = jnp.any(jnp.isnan(flat), -1).reshape((-1,) + (1,) * (value.ndim - 1))
        return jnp.where(unknown, np.nan, value).reshape(points.shape[:-1] + self.values.shape[count:])

    def _as_points(self, xi: ArrayLike | Sequence[Any]) -> Array:
        if isinstance(xi, tuple) or isinstance(xi, list) and not all(jnp.isscalar(x) for x in xi):
            return jnp.stack(jnp.broadcast_arrays(*map(jnp.asarray, xi)), -1)
        points = jnp.asarray(xi)
        if points.ndim == 1:  # points on a line, or one point
            points = points[:, None] if len(self.grid) == 1 else points[None]
        if jnp.issubdtype(points.dtype, jnp.inexact):
            return points
        return points.astype(jnp.promote_types(np.float32, jnp.finfo(self.values.dtype).dtype))


def _bracket(grid: Array, x: Array) -> tuple[Any, Any, Any]:
    """(the line before each coordinate, how far it is on to the next one, whether it is outside)."""
    if grid.shape[0] < 2:
        return jnp.zeros(x.shape, np.int32), jnp.zeros_like(x), x != grid[0]
    index = jnp.clip(jnp.searchsorted(grid, x) - 1, 0, grid.shape[0] - 2)
    share = (x - grid[index]) / (grid[index + 1] - grid[index])
    return index, share, (x < grid[0]) | (x > grid[-1])


def _linear(values: Array, found: list[tuple[Any, Any, Any]]) -> Array:
    total: Any = 0
    for corner in itertools.product((0, 1), repeat=len(found)):
        weight: Any = 1
        indices = []
        for step, (index, share, _), size in zip(corner, found, values.shape, strict=False):
            indices.append(jnp.minimum(index + step, size - 1))
            weight = weight * (share if step else 1 - share)
        value = values[tuple(indices)]
        total = total + value * jnp.reshape(weight, (-1,) + (1,) * (value.ndim - 1))
    return total


def _nearest(values: Array, found: list[tuple[Any, Any, Any]]) -> Array:
    return values[tuple(jnp.where(share <= 0.5, index, index + 1) for index, share, _ in found)]
