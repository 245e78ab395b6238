"""Lowering of a scan over a long axis in blocks side by side, for the CPU's vector instructions.

Each block is scanned by itself, all blocks at the same time; then what stands before each block is combined into it. For
operations whose result does not depend on how terms are grouped: extremes, and what integers wrap around in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.lax.axis_loop import lower_along_axis

_BLOCKS = 1008  # a power of two would bring the rows of a transposition into the same lines of the cache
_LEAST_LENGTH = 1 << 14
_MOST_BESIDE = 16  # entries beside the axis; from more of them on, a plain loop has vectors enough

Combine = Callable[[ShapedArray], Callable[[Any, Any], Any]]


def pays(aval: ShapedArray, axis: int) -> bool:
    """Whether blocks are faster than one loop."""
    return aval.shape[axis] >= _LEAST_LENGTH and aval.size // aval.shape[axis] <= _MOST_BESIDE


def lower_in_blocks(
    ctx: Any, x: Any, aval: ShapedArray, combine: Combine, identity: Any, axis: int, reverse: bool
) -> Any:
    """The scan of a value along an axis.

    Args:
      combine: for a type, the operation on two values of it, the earlier one first.
      identity: the operation's neutral element.
    """
    blocks = _Blocks(ctx, aval, combine, identity, axis, reverse)
    return blocks.joined(blocks.scanned(blocks.split(x)))


class _Blocks:
    """The axis as (place in the block, block), the former in front of all axes."""

    def __init__(self, ctx: Any, aval: ShapedArray, combine: Combine, identity: Any, axis: int, reverse: bool):
        self.ctx, self.aval, self.combine, self.axis, self.reverse = ctx, aval, combine, axis, reverse
        self.identity, self.dtype = identity, aval.dtype
        before, length, behind = math.prod(aval.shape[:axis]), aval.shape[axis], math.prod(aval.shape[axis + 1 :])
        self.places = -(-length // _BLOCKS)
        self.flat = ShapedArray((before, length, behind), self.dtype)
        self.padded = ShapedArray((before, _BLOCKS * self.places, behind), self.dtype)
        self.apart = ShapedArray((before, _BLOCKS, self.places, behind), self.dtype)
        self.side_by_side = ShapedArray((self.places, before, _BLOCKS, behind), self.dtype)
        self.ends = ShapedArray((before, _BLOCKS, behind), self.dtype)

    def _op(self, name: str, aval: ShapedArray, *operands: Any, **attributes: Any) -> Any:
        return builder.op(name, aval, *operands, **attributes)

    def split(self, x: Any) -> Any:
        """The blocks side by side, those behind the end filled up."""
        x, length = self._op("reshape", self.flat, x), self.flat.shape[1]
        behind = builder.ints([0, self.padded.shape[1] - length, 0])
        x = self._op(
            "pad", self.padded, x, builder.constant(self.identity), edge_padding_low=builder.ints([0, 0, 0]),
            edge_padding_high=behind, interior_padding=builder.ints([0, 0, 0]),
        )  # fmt: skip
        x = self._op("reshape", self.apart, x)
        return self._op("transpose", self.side_by_side, x, permutation=builder.ints([2, 0, 1, 3]))

    def _scan(self, x: Any, aval: ShapedArray, axis: int) -> Any:
        entry = ShapedArray((*aval.shape[:axis], 1, *aval.shape[axis + 1 :]), aval.dtype)
        combined = self.combine(entry)

        def step(carries: Any, entries: Any) -> tuple[list[Any], list[Any]]:
            total = combined(carries[0], entries[0])
            return [total], [total]

        return lower_along_axis(
            self.ctx, [x], [self.identity], step, avals_in=[aval], avals_out=[aval], carries=[self.dtype], axis=axis,
            reverse=self.reverse,
        )[0]  # fmt: skip

    def scanned(self, x: Any) -> Any:
        """Each block scanned, and what stands before it combined into it."""
        inner = self._scan(x, self.side_by_side, 0)
        totals = self._scan(self._ends(inner), self.ends, 1)
        shape = self.side_by_side
        before = self._op("broadcast_in_dim", shape, self._moved(totals), broadcast_dimensions=builder.ints([1, 2, 3]))
        return self.combine(shape)(before, inner)

    def _ends(self, x: Any) -> Any:
        """The last entry of each block."""
        last = 0 if self.reverse else self.places - 1
        shape = self.side_by_side.shape
        one = ShapedArray((1, *shape[1:]), self.dtype)
        x = self._op(
            "slice", one, x, start_indices=builder.ints([last, 0, 0, 0]),
            limit_indices=builder.ints([last + 1, *shape[1:]]), strides=builder.ints([1, 1, 1, 1]),
        )  # fmt: skip
        return self._op("reshape", self.ends, x)

    def _moved(self, totals: Any) -> Any:
        """For each block what stands before it: the total up to the block before."""
        low, high = ([0, -1, 0], [0, 1, 0]) if self.reverse else ([0, 1, 0], [0, -1, 0])
        return self._op(
            "pad", self.ends, totals, builder.constant(self.identity), edge_padding_low=builder.ints(low),
            edge_padding_high=builder.ints(high), interior_padding=builder.ints([0, 0, 0]),
        )  # fmt: skip

    def joined(self, x: Any) -> Any:
        """The inverse of ``split``."""
        x = self._op("transpose", self.apart, x, permutation=builder.ints([1, 2, 0, 3]))
        x = self._op("reshape", self.padded, x)
        sizes = self.flat.shape
        x = self._op(
            "slice", self.flat, x, start_indices=builder.ints([0, 0, 0]), limit_indices=builder.ints(sizes),
            strides=builder.ints([1, 1, 1]),
        )  # fmt: skip
        return self._op("reshape", ShapedArray(self.aval.shape, self.dtype), x)
