"""Objects that are indexed with slices: grids, and joins of arrays (NumPy reference, routines.indexing)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer, concrete_value
from arrax.core.tracebacks import bound_methods
from arrax.core.types import typeof
from arrax.lax import axis_order, concatenation, shape_arguments, shapes
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.filled_arrays import arange
from arrax.numpy_api.index_tricks import shape_along
from arrax.numpy_api.operands import join_dtypes
from arrax.numpy_api.ranges import linspace
from arrax.xla.arrays import Array

s_ = np.s_
index_exp = np.index_exp


def _known_number(value: complex, what: str) -> complex:
    if isinstance(value, Tracer):
        known = concrete_value(value)
        if known is None:
            raise ConcretizationTypeError(value, what)
        value = known
    return np.asarray(value).item() if hasattr(value, "dtype") else value


def _points(piece: slice, name: str) -> Array:
    """The numbers that a slice stands for; an imaginary step is a number of points, ends included."""
    start = _known_number(0 if piece.start is None else piece.start, f"slice start of jnp.{name}")
    stop = _known_number(piece.stop, f"slice stop of jnp.{name}")
    step = _known_number(1 if piece.step is None else piece.step, f"slice step of jnp.{name}")
    if stop is None:
        start, stop = 0, start
    if isinstance(step, complex):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


@bound_methods
class _Grid:
    """``mgrid`` and ``ogrid``: index with slices."""

    def __init__(self, name: str, sparse: bool) -> None:
        self.name, self.sparse = name, sparse

    def __repr__(self) -> str:
        return f"<jnp.{self.name}>"

    def __getitem__(self, key: Any) -> Array | list[Array]:
        if isinstance(key, slice):
            return _points(key, self.name)
        axes = join_dtypes(*[_points(piece, self.name) for piece in key]) if len(key) else []
        lengths = tuple(typeof(axis).size for axis in axes)
        along = [
            shapes.reshape(axis, shape_along(n, i, len(axes)))
            for i, (axis, n) in enumerate(zip(axes, lengths, strict=True))
        ]
        if self.sparse:
            return along
        if not along:
            return asarray(np.zeros(0, np.int32))
        broadcasted = [shapes.broadcast_in_dim(axis, (1, *lengths), (i + 1,)) for i, axis in enumerate(axes)]
        return concatenation.concatenate(broadcasted, 0)


mgrid = _Grid("mgrid", sparse=False)
ogrid = _Grid("ogrid", sparse=True)
mgrid.__doc__ = "A dense grid; imaginary steps count points. Example: ``jnp.mgrid[0:2, 0:1:2j]`` is ``[[[0, 0], [1, 1]], [[0, 1], [0, 1]]]``. Source: ``numpy.mgrid``."
ogrid.__doc__ = "An open grid, one array per axis; imaginary steps count points. Example: ``jnp.ogrid[0:2, 0:1:2j]`` is ``[[[0], [1]], [[0, 1]]]``. Source: ``numpy.ogrid``."


@bound_methods
class _Joiner:
    """``r_`` and ``c_``: index with arrays, numbers and slices to join them along an axis."""

    name: str
    defaults: tuple[int, int, int]  # the axis, the least rank, and where a part's own axes begin

    def __repr__(self) -> str:
        return f"<jnp.{self.name}>"

    def _directive(self, text: str) -> tuple[int, int, int]:
        axis, ndmin, placement = self.defaults
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            raise ValueError(f"could not understand directive {text!r}") from None
        if not 1 <= len(numbers) <= 3:
            raise ValueError(f"could not understand directive {text!r}")
        given = dict(enumerate(numbers))
        placement = given.get(2, placement if len(numbers) < 2 or self.name == "c_" else -1)
        return given.get(0, axis), given.get(1, ndmin), placement

    def __getitem__(self, key: Any) -> Array:
        entries = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, placement = self.defaults
        as_matrix = None
        if entries and isinstance(entries[0], str):
            text = entries.pop(0)
            if text in ("r", "c"):
                as_matrix = text
            else:
                axis, ndmin, placement = self._directive(text)
        if any(isinstance(entry, str) for entry in entries):
            raise ValueError("string directive must be placed at the beginning")
        if not entries:
            raise ValueError(f"need at least one array to concatenate, got an empty index of jnp.{self.name}")
        parts = join_dtypes(*[_points(e, self.name) if isinstance(e, slice) else asarray(e) for e in entries])
        parts = [_with_rank(part, ndmin if typeof(part).ndim < ndmin else 0, placement) for part in parts]
        if as_matrix is not None:
            parts = [_with_rank(part, 2, -1) for part in parts]
            if self.name == "r_" and as_matrix == "c" and typeof(parts[0]).shape[0] == 1:
                parts = [axis_order.transpose(part, (1, 0)) for part in parts]
            axis = 0 if self.name == "r_" and as_matrix == "c" else -1
        parts = [part if typeof(part).ndim else shapes.reshape(part, (1,)) for part in parts]
        return concatenation.concatenate(parts, shape_arguments.canonical_axis(axis, typeof(parts[0]).ndim))


def _with_rank(part: Array, rank: int, placement: int) -> Array:
    """A part with new axes up to a rank, its own axes beginning at ``placement`` (-1: at the end)."""
    shape = typeof(part).shape
    missing = rank - len(shape)
    if missing <= 0:
        return part
    before = min(placement, missing) if placement >= 0 else max(missing + placement + 1, 0)
    return shapes.reshape(part, (*(1,) * before, *shape, *(1,) * (missing - before)))


class RowJoiner(_Joiner):
    """The class of ``r_``."""

    name, defaults = "r_", (0, 1, -1)


class ColumnJoiner(_Joiner):
    """The class of ``c_``."""

    name, defaults = "c_", (-1, 2, 0)


r_ = RowJoiner()
c_ = ColumnJoiner()
r_.__doc__ = "Join along the first axis. Example: ``jnp.r_[1:4, 0, jnp.array([5.0])]`` is ``[1, 2, 3, 0, 5]``. Source: ``numpy.r_``."
c_.__doc__ = "Join as columns. Example: ``jnp.c_[jnp.array([1, 2]), jnp.array([3, 4])]`` is ``[[1, 3], [2, 4]]``. Source: ``numpy.c_``."
