"""What ``pad`` is asked for: widths and values for each axis and side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.calls import as_index
from arrax.core.errors import ConcretizationTypeError
from arrax.core.lengths import is_symbolic
from arrax.core.types import typeof
from arrax.lax import shape_arguments
from arrax.numpy_api.operands import is_arraylike
from arrax.numpy_api.rearranging import known
from arrax.numpy_api.routes import shape_of
from arrax.xla.arrays import Array, ArrayLike

Widths = tuple[tuple[int, int], ...]


def as_pairs(name: str, value: Any, rank: int) -> np.ndarray:
    """A (before, after) per axis from a number, a pair, or one pair for all axes or for each."""
    array = np.asarray(value)
    if array.dtype == object and not all(isinstance(width, int) or is_symbolic(width) for width in array.flat):
        raise ValueError(f"pad: {name} has entries of different lengths: {value!r}")
    if array.shape not in {(), (1,), (2,), (1, 2), (rank, 2), (rank, 1), (1, 1)} or (
        array.shape == (rank, 1) and rank > 1
    ):
        raise ValueError(
            f"pad: {name} with nd={rank} has unsupported shape {array.shape}. "
            f"Valid shapes are ({rank}, 2), (1, 2), (2,), (1,), or ()."
        )
    return np.broadcast_to(array, (rank, 2))


def as_widths(pad_width: ArrayLike | Sequence[Any], rank: int) -> Widths:
    if type(pad_width) is int and pad_width >= 0:
        return ((pad_width, pad_width),) * rank
    if isinstance(pad_width, dict):
        rows = [(0, 0)] * rank
        for axis, width in pad_width.items():
            rows[shape_arguments.canonical_axis(axis, rank)] = tuple(np.broadcast_to(np.asarray(width), (2,)).tolist())
        pad_width = rows
    if callable(pad_width):
        raise TypeError("pad: `pad_width` must be of integral type, got a function")
    pairs = as_pairs("pad_width", as_host_values(pad_width), rank)
    if pairs.size and pairs.dtype.kind not in "iuO":
        raise TypeError(f"pad: `pad_width` must be of integral type, got {pad_width!r}")
    if (pairs < 0).any():
        raise ValueError(f"pad: pad_width can't contain negative values, got {pad_width!r}")
    return tuple((as_index(low), as_index(high)) for low, high in pairs)


def as_host_values(value: ArrayLike | Sequence[Any]) -> Any:
    """Nested sequences of known values as NumPy understands them."""
    if isinstance(value, list | tuple):
        return [as_host_values(item) for item in value]
    found = known(value)
    if found is None:
        raise ConcretizationTypeError(
            value, "The problem arose with the argument pad_width of jnp.pad: it must be known statically."
        )
    return found.tolist()


def per_side(name: str, value: ArrayLike | Sequence[Any], rank: int) -> tuple[tuple[Any, Any], ...]:
    """Values per axis and side, which may be traced.

    Raises:
      OverflowError: a Python int that default integers do not hold.
    """
    pairs = _sides(name, value, rank)
    for each in {each for pair in pairs for each in pair if type(each) is int}:
        try:
            typeof(each)
        except OverflowError:
            raise OverflowError(f"pad: argument {name}: Python int {each} too large for the default integers") from None
    return pairs


def _sides(name: str, value: ArrayLike | Sequence[Any], rank: int) -> tuple[tuple[Any, Any], ...]:
    if type(value) in (int, float) or (is_arraylike(value) and typeof(value).ndim == 0):
        return ((value, value),) * rank
    if not isinstance(value, list | tuple):
        return tuple((low, high) for low, high in as_pairs(name, known(value), rank))
    rows = [list(row) if isinstance(row, list | tuple) else row for row in value]
    if not any(isinstance(row, list) for row in rows):
        if len(rows) not in (1, 2):
            raise ValueError(f"pad: {name} with nd={rank} has unsupported length {len(rows)}")
        return ((rows[0], rows[-1]),) * rank
    pairs: list[Any] = [tuple(row * 2 if len(row) == 1 else row) for row in rows]
    pairs = pairs * rank if len(pairs) == 1 else pairs
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"pad: {name} with nd={rank} has unsupported entries {value!r}")
    return tuple(pairs)


def refuse_empty(x: Array, widths: Widths) -> None:
    """Refuse to extend an axis without elements by what its elements say."""
    for axis, (n, (low, high)) in enumerate(zip(shape_of(x), widths, strict=True)):
        if n == 0 and (low or high):
            raise ValueError(f"pad: can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
