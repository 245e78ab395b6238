"""Shapes, indices, sorting, searching and sets, as the array API standard has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arrax.core.types import typeof
from arrax.experimental.array_api.standard import check_arrays, check_operands, promoted, standard
from arrax.numpy_api import (
    indexing,
    joining,
    manipulation,
    membership,
    rearranging,
    reductions,
    searching,
    selection,
    sets,
    sorting,
)


def _one_kind(name: str, arrays: Sequence[Any]) -> None:
    check_arrays(name, "all", *arrays)
    if arrays:
        promoted(name, *(typeof(array).dtype for array in arrays))


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """Arrays repeated to their common shape.

    Source: array API standard, ``broadcast_arrays``.
    """
    check_arrays("broadcast_arrays", "all", *arrays)
    return manipulation.broadcast_arrays(*arrays)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays of dtypes of one kind, one after the other.

    Source: array API standard, ``concat``.
    """
    _one_kind("concat", list(arrays))
    return joining.concat(arrays, axis=axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Arrays of dtypes of one kind, along a new axis.

    Source: array API standard, ``stack``.
    """
    _one_kind("stack", list(arrays))
    return joining.stack(arrays, axis=axis)


@standard(manipulation.broadcast_to)
def broadcast_to(x: Any, /, shape: Any) -> Any:
    """An array repeated to a shape."""


@standard(manipulation.expand_dims)
def expand_dims(x: Any, /, axis: Any) -> Any:
    """New axes of length 1."""


@standard(rearranging.flip)
def flip(x: Any, /, *, axis: Any = None) -> Any:
    """The elements along axes in reverse order."""


@standard(manipulation.moveaxis)
def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """Axes moved to other places."""


@standard(manipulation.permute_dims)
def permute_dims(x: Any, /, axes: Any) -> Any:
    """The axes in another order."""


@standard(rearranging.repeat)
def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Each element several times."""


@standard(manipulation.reshape)
def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The elements in another shape."""


@standard(rearranging.roll)
def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """The elements moved along axes, around the end."""


@standard(manipulation.squeeze)
def squeeze(x: Any, /, axis: Any) -> Any:
    """Some axes of length 1 left out."""


@standard(rearranging.tile)
def tile(x: Any, repetitions: Any, /) -> Any:
    """The array several times along each axis."""


@standard(joining.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """The slices along an axis, as a tuple."""


@standard(indexing.take, arrays=2)
def _take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The slices along an axis at some places."""


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The slices along an axis at the places of an integer array; the axis may be left out for vectors only.

    Source: array API standard, ``take``.
    """
    check_arrays("take", "integer", indices)
    if axis is None and typeof(x).ndim != 1:
        raise TypeError(f"take: axis is required for arrays of {typeof(x).ndim} dimensions")
    return _take(x, indices, axis=axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """The elements along an axis at the places that an integer array gives for each row.

    Source: array API standard, ``take_along_axis``.
    """
    check_arrays("take_along_axis", "all", x)
    check_arrays("take_along_axis", "integer", indices)
    return indexing.take_along_axis(x, indices, axis=axis)


# ---- searching, sorting, sets ----------------------------------------------------------------------------------------


@standard(reductions.argmax, "real numeric")
def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The places of the greatest elements."""


@standard(reductions.argmin, "real numeric")
def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The places of the least elements."""


@standard(reductions.count_nonzero)
def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements are not zero."""


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The indices of the elements that are not zero, of an array with axes.

    Source: array API standard, ``nonzero``.
    """
    check_arrays("nonzero", "all", x)
    if typeof(x).ndim == 0:
        raise ValueError("nonzero: the array must have an axis at least")
    return searching.nonzero(x)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where elements would have to be put into a sorted vector.

    Source: array API standard, ``searchsorted``.
    """
    check_operands("searchsorted", "real numeric", x1, x2)
    return searching.searchsorted(x1, x2, side=side, sorter=sorter)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """Elements of one array where a mask holds, elsewhere those of another.

    Source: array API standard, ``where``.
    """
    check_arrays("where", "boolean", condition)
    check_operands("where", "all", x1, x2)
    return selection.where(condition, x1, x2)


@standard(sorting.sort, "real numeric")
def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements along an axis in order."""


@standard(sorting.argsort, "real numeric")
def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The places of the elements along an axis in order."""


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Which integers are among others.

    Source: array API standard, ``isin``.
    """
    check_operands("isin", "integer", x1, x2)
    return membership.isin(x1, x2, invert=invert)


@standard(sets.unique_all)
def unique_all(x: Any, /) -> Any:
    """The different elements, where each occurs first, which one each element is, and how often each occurs."""


@standard(sets.unique_counts)
def unique_counts(x: Any, /) -> Any:
    """The different elements and how often each occurs."""


@standard(sets.unique_inverse)
def unique_inverse(x: Any, /) -> Any:
    """The different elements and which one each element is."""


@standard(sets.unique_values)
def unique_values(x: Any, /) -> Any:
    """The different elements."""
