"""Splitting arrays (NumPy reference, routines.array-manipulation)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.interpreter import Tracer
from arrax.core.lengths import is_symbolic, longer, shorter
from arrax.core.types import typeof
from arrax.lax import concatenation, shape_arguments, shapes, stacking, static_slicing
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import concrete_int
from arrax.numpy_api.routes import eager_operand, shape_of
from arrax.xla.arrays import Array, ArrayLike


def _cut_on_host(
    values: np.ndarray, bounds: tuple[tuple[int, int], ...], axis: int, drop: bool
) -> list[np.ndarray]:  # fmt: skip
    before = (slice(None),) * axis
    return [values[(*before, start if drop else slice(start, stop), ...)] for start, stop in bounds]


@api(static=("bounds", "axis", "drop"), host=_cut_on_host)
def _cut(a: Array, bounds: tuple[tuple[int, int], ...], axis: int, drop: bool) -> list[Any]:
    if _cut_everything(a, bounds, axis):
        sizes = [stop - start for start, stop in bounds]
        return list(stacking.unstack(a, axis) if drop else concatenation.split(a, sizes, axis))
    pieces = [static_slicing.slice_in_dim(a, start, longer(start, stop), axis=axis) for start, stop in bounds]
    return [shapes.squeeze(piece, (axis,)) for piece in pieces] if drop else pieces


def _cut_everything(a: Array, bounds: tuple[tuple[int, int], ...], axis: int) -> bool:
    """Whether pieces follow one another and leave nothing out, as ``lax.split`` and ``lax.unstack`` have them."""
    aval = typeof(a)
    if isinstance(aval.dtype, dtypes.ExtendedDType) or any(is_symbolic(point) for pair in bounds for point in pair):
        return False
    points = [0, *(stop for _, stop in bounds)]
    starts = [start for start, _ in bounds]
    return points == sorted(points) and starts == points[:-1] and points[-1] == aval.shape[axis]


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices of an array along an axis, without that axis.

    Args:
      x: array.
      axis: the axis.
    Raises:
      ValueError: a scalar, or no such axis.
    Example: ``jnp.unstack(jnp.ones((2, 3)))`` gives two vectors. Source: array API, ``unstack``.
    """
    x = eager_operand("unstack", x)
    if typeof(x).ndim == 0:
        raise ValueError("unstack requires arrays with at least one axis, got a scalar: axis 0 is out of bounds")
    axis = shape_arguments.canonical_axis(axis, typeof(x).ndim)
    return tuple(_cut(x, tuple((i, i + 1) for i in range(shape_of(x)[axis])), axis, True))


def _bounds(name: str, length: int, sections: Any, equal: bool) -> list[tuple[int, int]]:
    """(start, stop) of the pieces of an axis."""
    if isinstance(sections, list | tuple) or getattr(sections, "ndim", 0) > 0:
        place = f"The problem arose with the argument indices_or_sections of {name}."
        given = [concrete_int(one, place) if isinstance(one, Tracer) else as_index(one) for one in sections]
        points = [_point(start, length) for start in given]
        return list(zip([0, *points], [*points, length], strict=True))
    count = concrete_int(sections, f"The problem arose with the argument indices_or_sections of {name}.")
    if count <= 0:
        raise ValueError(f"{name}: the number of sections must be larger than 0, got {count}")
    size, rest = divmod(length, count)
    if rest and equal:
        raise ValueError(f"{name}: array split does not result in an equal division: rest is {rest}")
    if count >= 1 << 31:
        raise ValueError(f"{name}: {count} sections are more elements than can be addressed")
    points = [n * size + shorter(n, rest) for n in range(count + 1)]
    return list(zip(points, points[1:], strict=False))


def _point(start: Any, length: Any) -> int:
    """Where a piece of an axis begins."""
    unknown = next(filter(is_symbolic, (length, start)), None)
    return (
        slice(start, None).indices(length)[0]
        if unknown is None
        else unknown.of_scope(length).piece(start, None, None)[1]
    )


def _split(name: str, ary: ArrayLike, sections: ArrayLike | Sequence[Any], axis: int, equal: bool = True) -> list[Any]:
    ary = eager_operand(name, ary)
    axis = shape_arguments.canonical_axis(as_index(axis), typeof(ary).ndim)
    return _cut(ary, tuple(_bounds(name, shape_of(ary)[axis], sections, equal)), axis, False)


@api(static=("indices_or_sections", "axis"), stepwise=True)
def split(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0) -> list[Array]:
    """Cut an array into pieces along an axis.

    Args:
      ary: array.
      indices_or_sections: the number of equal pieces, or a sequence of the indices where to cut.
      axis: axis.
    Returns: list of arrays.
    Raises:
      ValueError: an axis that cannot be divided equally, or no such axis.
    Example: ``jnp.split(jnp.arange(6), 3)``. Source: ``numpy.split``.
    """
    return _split("split", ary, indices_or_sections, axis)


@api(static=("indices_or_sections", "axis"), stepwise=True)
def array_split(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0) -> list[Array]:
    """Cut an array into pieces along an axis; the first ones are longer where the division leaves a rest.

    Args:
      ary: array.
      indices_or_sections: number of pieces, or the indices where to cut.
      axis: the axis.
    Example: ``jnp.array_split(jnp.arange(5), 2)``. Source: ``numpy.array_split``.
    """
    return _split("array_split", ary, indices_or_sections, axis, equal=False)


def vsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Cut an array along its first axis, see ``split``.

    Args:
      ary: array.
      indices_or_sections: number of equal pieces, or the indices where to cut.
    Example: ``jnp.vsplit(jnp.ones((4, 2)), 2)``. Source: ``numpy.vsplit``.
    """
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Cut an array along its second axis (a vector along its only one), see ``split``.

    Args:
      ary: array.
      indices_or_sections: number of equal pieces, or the indices where to cut.
    Example: ``jnp.hsplit(jnp.ones((2, 4)), 2)``. Source: ``numpy.hsplit``.
    """
    ary = eager_operand("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if typeof(ary).ndim == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Cut an array along its third axis, see ``split``.

    Args:
      ary: array.
      indices_or_sections: number of equal pieces, or the indices where to cut.
    Example: ``jnp.dsplit(jnp.ones((1, 2, 4)), 2)``. Source: ``numpy.dsplit``.
    """
    return _split("dsplit", ary, indices_or_sections, 2)
