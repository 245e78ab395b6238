"""The grid of a kernel, and which of its programs runs."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from arrax import lax
from arrax.core.calls import as_index
from arrax.xla.arrays import Array, ArrayLike


def unravelled(number: ArrayLike, lengths: Sequence[Any]) -> list[Any]:
    """The indices of a program, from its number in lexicographic order."""
    indices = []
    for length in reversed(lengths[1:]):
        indices.append(number % length)
        number = number // length
    return [number, *reversed(indices)] if lengths else []


def each_program(lengths: Sequence[Any], step: Callable[[list[Any], Any], Any], carry: Any) -> Any:
    """Call ``step(indices, carry)`` for the programs of a grid, one after the other: the last carry.

    Indices are of 32 bits, also where the default integers have 64: a kernel is traced once, for this type.
    """
    if not lengths:
        return step([], carry)
    narrow = [length if isinstance(length, int) else lax.convert_element_type(length, np.int32) for length in lengths]

    def one(number: Array, carry: Any) -> Any:
        return step(unravelled(lax.convert_element_type(number, np.int32), narrow), carry)

    return lax.fori_loop(0, math.prod(narrow), one, carry)


class _Grids(threading.local):
    """The grids of the kernels that are traced, the innermost last: lengths, and the running program's indices."""

    def __init__(self) -> None:
        self.stack: list[tuple[Sequence[Any], Sequence[Any]]] = []


_grids = _Grids()


@contextmanager
def running(lengths: Sequence[Any], indices: Sequence[Any]) -> Iterator[None]:
    """While a kernel is traced: the grid, and where in it the program runs."""
    _grids.stack.append((lengths, indices))
    try:
        yield
    finally:
        _grids.stack.pop()


def _entry(name: str, axis: int, grid_index: int) -> Any:
    number = as_index(axis)
    if not _grids.stack:
        raise ValueError(f"{name}: there is no grid outside of a kernel that pallas_call runs")
    entries = _grids.stack[-1][grid_index]
    if not 0 <= number < len(entries):
        raise ValueError(f"{name}: axis {number} is out of bounds for grid {tuple(_grids.stack[-1][0])}")
    return entries[number]


def program_id(axis: int) -> Array:
    """The index, in one axis of the grid, of the program that runs.

    Args:
      axis: which axis, from 0.
    Returns: int32 scalar.
    Raises: ValueError outside of a kernel, or for an axis that the grid has not.
    Example: ``pl.pallas_call(lambda o_ref: o_ref.set(pl.program_id(0), pl.program_id(0)), out_shape=x.astype(int), grid=4)()``
    is ``[0, 1, 2, 3]``.
    """
    return _entry("program_id", axis, 1)


def num_programs(axis: int) -> int | Array:
    """The length of one axis of the grid.

    Args:
      axis: which axis, from 0.
    Returns: int, or a scalar where the grid was given by one.
    Raises: ValueError outside of a kernel, or for an axis that the grid has not.
    Example: ``pl.pallas_call(lambda o_ref: o_ref.set(jnp.full(4, pl.num_programs(0))), out_shape=x.astype(int), grid=3)()``
    is ``[3, 3, 3, 3]``.
    """
    return _entry("num_programs", axis, 0)
