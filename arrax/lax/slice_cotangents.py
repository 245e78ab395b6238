"""Cotangents of an array that several slices take parts of: put side by side, where each by itself is padded to the array's size.

A vector of parameters that is cut into the arrays of a model has as many slices as there are arrays: sums of paddings would take
its length times their number.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arrax.core.lengths import is_symbolic
from arrax.interpreters.ad.transpose import UndefinedPrimal, add_cotangents
from arrax.lax.arithmetic import scalar
from arrax.lax.concatenation import concatenate
from arrax.lax.static_slicing import pad, slice_p

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


@dataclass(frozen=True)
class Block:
    """The cotangent of a part of an array: the elements from ``starts`` to ``limits``."""

    value: Array
    starts: tuple[int, ...]
    limits: tuple[int, ...]


def cotangent_of_parts(cts: Sequence[Array], x: UndefinedPrimal, params: Sequence[dict[str, Any]]) -> Array:
    """The cotangent of an array that slices take parts of.

    Args:
      cts: the cotangents of the parts.
      params: the parameters of the slices.
    """
    parts, alone = list[Block](), list[Any]()
    for ct, slicing in zip(cts, params, strict=True):
        starts, limits, strides = (slicing[name] for name in ("start_indices", "limit_indices", "strides"))
        if strides is not None or any(map(is_symbolic, (*starts, *limits, *x.aval.shape))):
            alone.extend(slice_p.transpose(ct, x, **slicing))  # type: ignore[misc]
        else:
            parts.append(Block(ct, starts, limits))
    for axis in reversed(range(x.aval.ndim)):
        parts = list(_joined_along(axis, parts))
    return functools.reduce(add_cotangents, [*alone, *(_padded(part, x.aval.shape) for part in parts)])


def _joined_along(axis: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """Blocks of which those that lie side by side along an axis are one."""
    beside: dict[Any, list[Block]] = {}
    for block in blocks:
        others = [bounds for dim, bounds in enumerate(zip(block.starts, block.limits, strict=True)) if dim != axis]
        beside.setdefault(tuple(others), []).append(block)
    for group in beside.values():
        rows = list[list[Block]]()  # blocks that do not overlap
        for block in sorted(group, key=lambda block: block.starts[axis]):
            row = next((row for row in rows if row[-1].limits[axis] <= block.starts[axis]), None)
            if row is None:
                rows.append([block])
            else:
                row.append(block)
        for row in rows:
            yield _joined(axis, row) if len(row) > 1 else row[0]


def _joined(axis: int, row: Sequence[Block]) -> Block:
    values = [block.value for block in row]
    for number, (block, following) in enumerate(zip(row, row[1:], strict=False)):
        gap = following.starts[axis] - block.limits[axis]
        if gap:
            config = [(0, gap * (dim == axis), 0) for dim in range(len(block.starts))]
            values[number] = pad(block.value, scalar(0, block.value), config)
    limits = row[0].limits[:axis] + (row[-1].limits[axis],) + row[0].limits[axis + 1 :]
    return Block(concatenate(values, axis), row[0].starts, limits)


def _padded(block: Block, shape: tuple[int, ...]) -> Array:
    config = [
        (start, length - limit, 0) for start, limit, length in zip(block.starts, block.limits, shape, strict=True)
    ]
    return pad(block.value, scalar(0, block.value), config) if any(map(any, config)) else block.value
