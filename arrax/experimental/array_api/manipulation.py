"""Shapes, indices, sorting, searching and sets, as the array API standard has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arrax.core.types import typeof
from arrax.experimental.array_api.standard import check_arrays, check_operands, described, promoted, standard
from arrax.numpy_api import (
    axis_order,
    indexing,
    joining,
    manipulation,
    membership,
    rearranging,
    reductions,
    searching,
    selection,
    sorting,
    splitting,
    unique_elements,
)
from arrax.xla.annotations import Axes, Shape
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


def _one_kind(name: str, arrays: Sequence[Any]) -> None:
    check_arrays(name, "all", *arrays)
    if arrays:
        promoted(name, *(typeof(array).dtype for array in arrays))


@described("all")
def broadcast_arrays(*arrays: ArrayLike) -> tuple[Any, ...]:
    """Arrays repeated to their common shape.

    Example: ``xp.broadcast_arrays(xp.arange(2), xp.zeros((1, 1)))`` is ``([[0, 1]], [[0.0, 0.0]])``.
    """
    check_arrays("broadcast_arrays", "all", *arrays)
    return manipulation.broadcast_arrays(*arrays)


@described("all")
def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Arrays of dtypes of one kind, one after the other.

    Example: ``xp.concat([xp.arange(2), xp.ones((1,), dtype=xp.int8)])`` is ``[0, 1, 1]``.
    """
    _one_kind("concat", list(arrays))
    return joining.concat(arrays, axis=axis)


@described("all")
def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Arrays of dtypes of one kind, along a new axis.

    Example: ``xp.stack([xp.arange(2), xp.arange(2)], axis=1)`` is ``[[0, 0], [1, 1]]``.
    """
    _one_kind("stack", list(arrays))
    return joining.stack(arrays, axis=axis)


@standard(manipulation.broadcast_to)
def broadcast_to(x: ArrayLike, /, shape: Shape) -> Array:
    """An array repeated to a shape.

    Example: ``xp.broadcast_to(xp.arange(2), (2, 2))`` is ``[[0, 1], [0, 1]]``.
    """


@standard(manipulation.expand_dims)
def expand_dims(x: ArrayLike, /, axis: Axes) -> Array:
    """New axes of length 1.

    Example: ``xp.expand_dims(xp.arange(2), axis=1)`` is ``[[0], [1]]``.
    """


@standard(rearranging.flip)
def flip(x: ArrayLike, /, *, axis: Axes | None = None) -> Array:
    """The elements along axes in reverse order.

    Example: ``xp.flip(xp.arange(3))`` is ``[2, 1, 0]``.
    """


@standard(axis_order.moveaxis)
def moveaxis(x: ArrayLike, source: Any, destination: Any, /) -> Array:
    """Axes moved to other places.

    Example: ``xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape`` is ``(3, 4, 2)``.
    """


@standard(axis_order.permute_dims)
def permute_dims(x: ArrayLike, /, axes: Axes) -> Array:
    """The axes in another order.

    Example: ``xp.permute_dims(xp.ones((2, 3, 4)), (2, 0, 1)).shape`` is ``(4, 2, 3)``.
    """


@standard(rearranging.repeat)
def repeat(x: ArrayLike, repeats: ArrayLike, /, *, axis: int | None = None) -> Array:
    """Each element several times.

    Example: ``xp.repeat(xp.arange(2), 2)`` is ``[0, 0, 1, 1]``.
    """


@standard(manipulation.reshape)
def reshape(x: ArrayLike, /, shape: Shape, *, copy: bool | None = None) -> Array:
    """The elements in another shape.

    Example: ``xp.reshape(xp.arange(4), (2, 2))`` is ``[[0, 1], [2, 3]]``.
    """


@standard(rearranging.roll)
def roll(x: ArrayLike, /, shift: ArrayLike, *, axis: Axes | None = None) -> Array:
    """The elements moved along axes, around the end.

    Example: ``xp.roll(xp.arange(4), 1)`` is ``[3, 0, 1, 2]``.
    """


@standard(manipulation.squeeze)
def squeeze(x: ArrayLike, /, axis: Axes) -> Array:
    """Some axes of length 1 left out.

    Example: ``xp.squeeze(xp.ones((1, 2)), axis=0)`` is ``[1.0, 1.0]``.
    """


@standard(rearranging.tile)
def tile(x: ArrayLike, repetitions: Any, /) -> Array:
    """The array several times along each axis.

    Example: ``xp.tile(xp.arange(2), (2,))`` is ``[0, 1, 0, 1]``.
    """


@standard(splitting.unstack)
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices along an axis, as a tuple.

    Example: ``xp.unstack(xp.reshape(xp.arange(4), (2, 2)))`` is ``([0, 1], [2, 3])``.
    """


@standard(indexing.take, arrays=2)
def _take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The slices along an axis at some places."""


@described("all")
def take(x: ArrayLike, indices: ArrayLike, /, *, axis: int | None = None) -> Array:
    """The slices along an axis at the places of an integer array; the axis may be left out for vectors only.

    Example: ``xp.take(xp.asarray([5, 6, 7]), xp.asarray([2, 0]))`` is ``[7, 5]``.
    """
    check_arrays("take", "integer", indices)
    if axis is None and typeof(x).ndim != 1:
        raise TypeError(f"take: axis is required for arrays of {typeof(x).ndim} dimensions")
    return _take(x, indices, axis=axis)


@described("all")
def take_along_axis(x: ArrayLike, indices: ArrayLike, /, *, axis: int = -1) -> Array:
    """The elements along an axis at the places that an integer array gives for each row.

    Example: ``xp.take_along_axis(xp.asarray([[5, 6], [7, 8]]), xp.asarray([[1], [0]]))`` is ``[[6], [7]]``.
    """
    check_arrays("take_along_axis", "all", x)
    check_arrays("take_along_axis", "integer", indices)
    return indexing.take_along_axis(x, indices, axis=axis)


# ---- searching, sorting, sets ----------------------------------------------------------------------------------------


@standard(reductions.argmax, "real numeric")
def argmax(x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The places of the greatest elements.

    Example: ``xp.argmax(xp.asarray([1, 5, 3]))`` is 1.
    """


@standard(reductions.argmin, "real numeric")
def argmin(x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The places of the least elements.

    Example: ``xp.argmin(xp.asarray([1, 5, 3]))`` is 0.
    """


@standard(reductions.count_nonzero)
def count_nonzero(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """How many elements are not zero.

    Example: ``xp.count_nonzero(xp.asarray([0, 5, 3]))`` is 2.
    """


@described("all")
def nonzero(x: ArrayLike, /) -> tuple[Any, ...]:
    """The indices of the elements that are not zero, of an array with axes.

    Example: ``xp.nonzero(xp.asarray([0, 5, 3]))[0]`` is ``[1, 2]``.
    """
    check_arrays("nonzero", "all", x)
    if typeof(x).ndim == 0:
        raise ValueError("nonzero: the array must have an axis at least")
    return searching.nonzero(x)


@described("real numeric")
def searchsorted(x1: ArrayLike, x2: ArrayLike, /, *, side: str = "left", sorter: OptionalArray = None) -> Array:
    """Where elements would have to be put into a sorted vector.

    Example: ``xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 4]))`` is ``[1, 2]``.
    """
    check_operands("searchsorted", "real numeric", x1, x2)
    return searching.searchsorted(x1, x2, side=side, sorter=sorter)


@described("all")
def where(condition: ArrayLike, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Elements of one array where a mask holds, elsewhere those of another.

    Example: ``xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0)`` is ``[1, 0]``.
    """
    check_arrays("where", "boolean", condition)
    check_operands("where", "all", x1, x2)
    return selection.where(condition, x1, x2)


@standard(sorting.sort, "real numeric")
def sort(x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements along an axis in order.

    Example: ``xp.sort(xp.asarray([3, 1, 2]), descending=True)`` is ``[3, 2, 1]``.
    """


@standard(sorting.argsort, "real numeric")
def argsort(x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The places of the elements along an axis in order.

    Example: ``xp.argsort(xp.asarray([3, 1, 2]))`` is ``[1, 2, 0]``.
    """


@described("integer")
def isin(x1: ArrayLike, x2: ArrayLike, /, *, invert: bool = False) -> Array:
    """Which integers are among others.

    Example: ``xp.isin(xp.asarray([1, 2]), xp.asarray([2, 3]))`` is ``[False, True]``.
    """
    check_operands("isin", "integer", x1, x2)
    return membership.isin(x1, x2, invert=invert)


@standard(unique_elements.unique_all)
def unique_all(x: ArrayLike, /) -> Any:
    """The different elements, where each occurs first, which one each element is, and how often each occurs.

    Example: ``xp.unique_all(xp.asarray([3, 1, 3])).indices`` is ``[1, 0]``.
    """


@standard(unique_elements.unique_counts)
def unique_counts(x: ArrayLike, /) -> Any:
    """The different elements and how often each occurs.

    Example: ``xp.unique_counts(xp.asarray([3, 1, 3])).counts`` is ``[1, 2]``.
    """


@standard(unique_elements.unique_inverse)
def unique_inverse(x: ArrayLike, /) -> Any:
    """The different elements and which one each element is.

    Example: ``xp.unique_inverse(xp.asarray([3, 1, 3])).inverse_indices`` is ``[1, 0, 1]``.
    """


@standard(unique_elements.unique_values)
def unique_values(x: ArrayLike, /) -> Array:
    """The different elements.

    Example: ``xp.unique_values(xp.asarray([3, 1, 3]))`` is ``[1, 3]``.
    """
