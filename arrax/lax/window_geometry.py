"""Where windows lie: padding by name, strides, dilations, and the shapes that follow from them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from arrax.core.calls import as_index, as_indices
from arrax.core.lengths import longer
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.native.mlir import ir

_PADDINGS = ("VALID", "SAME", "SAME_LOWER")


Padding = str | Sequence[tuple[int, int]]  # "SAME", "VALID", or what is added at both ends of each axis


def dilated(length: int, dilation: int) -> int:
    """The length of an axis with ``dilation - 1`` places between its entries."""
    return 0 if length == 0 else (length - 1) * dilation + 1


def cuts(lengths: Sequence[int], padding: Sequence[tuple[int, int]]) -> bool:
    """Whether padding is negative, and known as all lengths are."""
    numbers = (*lengths, *itertools.chain(*padding))
    return all(type(number) is int for number in numbers) and any(low < 0 or high < 0 for low, high in padding)


def within_padding(
    lengths: Sequence[int], padding: Sequence[tuple[int, int]], dilation: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]:
    """For each axis, where the entries begin and end that negative padding leaves, and the padding beside them that remains."""
    starts, stops, remaining = zip(*map(_within_sides, lengths, padding, dilation), strict=True)
    return starts, stops, remaining


def _within_sides(length: int, sides: tuple[int, int], dilation: int) -> tuple[int, int, tuple[int, int]]:
    before, after = (-(min(side, 0) // dilation) for side in sides)
    if before + after >= length:
        return 0, 0, (max(dilated(length, dilation) + sum(sides), 0), 0)
    return before, length - after, (sides[0] + before * dilation, sides[1] + after * dilation)


def check_windows(
    name: str, in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int]
) -> None:
    """Refuse windows that have not one entry per axis, and strides that are not positive."""
    if not len(in_shape) == len(window_shape) == len(window_strides):
        raise ValueError(
            f"{name}: windows and strides need one entry per axis, got {window_shape} and {window_strides} for the lengths {in_shape}"
        )
    if any(as_index(stride) <= 0 for stride in window_strides):
        raise ValueError(f"{name}: strides must be positive, got {window_strides}")


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
) -> list[tuple[int, int]]:
    """The numbers of places that a named padding adds before and after each axis.

    Args:
      in_shape, window_shape, window_strides: lengths, one per axis.
      padding: ``"VALID"``: none; ``"SAME"``: so many that the result has ``ceil(length / stride)`` entries, an odd one
        after the axis; ``"SAME_LOWER"``: an odd one before it.
    Raises:
      ValueError: another name, windows of other ranks, or strides that are not positive.
      TypeError: lengths that are no integers.
    Example: ``lax.padtype_to_pads((10,), (3,), (1,), "SAME")`` is ``[(1, 1)]``.
    """
    name = str(getattr(padding, "name", padding)).upper()
    if name not in _PADDINGS:
        raise ValueError(f"unknown padding {padding!r}: expected 'VALID', 'SAME' or 'SAME_LOWER'")
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    lengths, windows, strides = map(as_indices, (in_shape, window_shape, window_strides))
    check_windows("padtype_to_pads", lengths, windows, strides)
    pads = []
    for length, window, stride in zip(lengths, windows, strides, strict=True):
        missing = max((-(-length // stride) - 1) * stride + window - length, 0)
        less = missing // 2
        pads.append((missing - less, less) if name == "SAME_LOWER" else (less, missing - less))
    return pads


class Windows(NamedTuple):
    """The windows of a reduction, one entry per axis of the operand."""

    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]

    @staticmethod
    def read(
        name: str, shape: Sequence[int], window_dimensions: Sequence[int], window_strides: Sequence[int] | None,
        padding: Any, base_dilation: Sequence[int] | None, window_dilation: Sequence[int] | None,
    ) -> Windows:  # fmt: skip
        """The windows that a user described.

        Raises:
          TypeError: a wrong number of entries, or entries that are not positive.
        """
        rank = len(shape)
        fields = {
            "window_dimensions": window_dimensions, "window_strides": window_strides,
            "base_dilation": base_dilation, "window_dilation": window_dilation,
        }  # fmt: skip
        read = {field: (1,) * rank if given is None else as_indices(given) for field, given in fields.items()}
        for field, values in read.items():
            if len(values) != rank:
                raise TypeError(
                    f"{name} needs one entry of {field} per axis, got {values} for an operand of shape {tuple(shape)}"
                )
            if any(value < 1 for value in values):
                raise TypeError(f"{name}: every entry of {field} must be positive, got {values}")
        if isinstance(padding, str):
            spans = [dilated(w, d) for w, d in zip(read["window_dimensions"], read["window_dilation"], strict=True)]
            lengths = [dilated(n, d) for n, d in zip(shape, read["base_dilation"], strict=True)]
            padding = padtype_to_pads(lengths, spans, read["window_strides"], padding)
        pads = tuple((as_index(low), as_index(high)) for low, high in padding)
        if len(pads) != rank:
            raise TypeError(
                f"{name} needs one pair of paddings per axis: got {pads} for an operand of shape {tuple(shape)}"
            )
        return Windows(
            read["window_dimensions"], read["window_strides"], pads, read["base_dilation"], read["window_dilation"]
        )

    def spans(self) -> list[int]:
        """How many places each window reaches over."""
        return [dilated(w, d) for w, d in zip(self.window_dimensions, self.window_dilation, strict=True)]

    def padded(self, shape: Sequence[int]) -> list[int]:
        """Lengths of the dilated and padded operand."""
        return [
            longer(dilated(n, d) + low + high, 0)
            for n, d, (low, high) in zip(shape, self.base_dilation, self.padding, strict=True)
        ]

    def output_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        return tuple(
            longer((length - span) // stride + 1, 0)
            for length, span, stride in zip(self.padded(shape), self.spans(), self.window_strides, strict=True)
        )

    def have_gaps(self) -> bool:
        """Whether there are places in windows that are not of the operand."""
        return any(low > 0 or high > 0 for low, high in self.padding) or any(d > 1 for d in self.base_dilation)

    def are_elements(self, axis: int) -> bool:
        """Whether windows along an axis are its elements, one by one."""
        lengths = (self.window_dimensions, self.window_strides, self.base_dilation, self.window_dilation)
        return self.padding[axis] == (0, 0) and all(entries[axis] == 1 for entries in lengths)

    def overlap(self) -> bool:
        """Whether places of the operand, or gaps between them, lie in several windows."""
        return any(span > stride for span, stride in zip(self.spans(), self.window_strides, strict=True))

    def without_gaps(self) -> Windows:
        """The same windows over an operand whose padding and dilation are filled in."""
        rank = len(self.padding)
        return self._replace(padding=((0, 0),) * rank, base_dilation=(1,) * rank)

    def with_batch_axis(self, dim: int) -> Windows:
        """The same windows beside a batch axis."""

        def insert(values: tuple, value: int | tuple[int, ...]) -> tuple:
            return (*values[:dim], value, *values[dim:])

        return Windows(
            insert(self.window_dimensions, 1), insert(self.window_strides, 1), insert(self.padding, (0, 0)),
            insert(self.base_dilation, 1), insert(self.window_dilation, 1),
        )  # fmt: skip

    def transposed(self, shape: Sequence[int]) -> Windows:
        """The windows over the results, one for each entry of an operand of ``shape``: the windows that it lies in."""
        pads = []
        for axis, count in enumerate(self.output_shape(shape)):
            before = self.spans()[axis] - 1 - self.padding[axis][0]
            length = dilated(shape[axis], self.base_dilation[axis])
            after = length - dilated(count, self.window_strides[axis]) - before + self.spans()[axis] - 1
            pads.append((before, after))
        return self._replace(window_strides=self.base_dilation, padding=tuple(pads), base_dilation=self.window_strides)

    def offsets(self) -> Iterator[tuple[int, ...]]:
        """The places in a window, in row-major order."""
        ranges = [range(0, w * d, d) for w, d in zip(self.window_dimensions, self.window_dilation, strict=True)]
        return itertools.product(*ranges)

    def attributes(self) -> dict[str, Any]:
        """The attributes of StableHLO's window operations."""
        return {
            "window_dimensions": builder.ints(self.window_dimensions),
            "window_strides": builder.ints(self.window_strides),
            "padding": builder.matrix(self.padding, 2),
            "base_dilations": builder.ints(self.base_dilation),
            "window_dilations": builder.ints(self.window_dilation),
        }


def reduction_over_windows(
    ctx: LoweringContext, values: Sequence[Value], inits: Sequence[Value], avals: Sequence[ShapedArray],
    outs: Sequence[ShapedArray], windows: Windows,
) -> ir.Operation:  # fmt: skip
    """The operation ``stablehlo.reduce_window``, its region still empty.

    Operands are cut before where padding is negative, since the compiler takes no account of it for windows of one element.
    """
    if cuts(avals[0].shape, windows.padding):
        starts, stops, padding = within_padding(avals[0].shape, windows.padding, windows.base_dilation)
        windows = windows._replace(padding=padding)
        shape = tuple(stop - start for start, stop in zip(starts, stops, strict=True))
        parts = [aval.update(shape=shape) for aval in avals]
        values = [builder.static_slice(x, part, starts, stops) for x, part in zip(values, parts, strict=True)]
        avals = parts
    if not ctx.module_context.undivided and _is_dilated_twice(avals[0].shape, windows):
        shape = tuple(map(dilated, avals[0].shape, windows.base_dilation))
        values = [
            _with_gaps(x, init, aval.update(shape=shape), windows.base_dilation)
            for x, init, aval in zip(values, inits, avals, strict=True)
        ]
        windows = windows._replace(base_dilation=(1,) * len(shape))
    types = [builder.ir_type(aval) for aval in outs]
    return builder.operation("stablehlo.reduce_window", types, [*values, *inits], windows.attributes(), 1)


def _is_dilated_twice(lengths: Sequence[int], windows: Windows) -> bool:
    """Whether array and windows have gaps along one axis, where the compiler for several devices ends the process."""
    gaps = zip(windows.base_dilation, windows.window_dilation, strict=True)
    return all(type(length) is int for length in lengths) and any(a > 1 and b > 1 for a, b in gaps)


def _with_gaps(x: Value, fill: Value, aval: ShapedArray, dilation: Sequence[int]) -> Value:
    """An operand with the places between its entries filled."""
    sides, gaps = builder.ints([0] * len(dilation)), builder.ints([d - 1 for d in dilation])
    return builder.op("pad", aval, x, fill, edge_padding_low=sides, edge_padding_high=sides, interior_padding=gaps)


def reduce_window_shape_tuple(
    operand_shape: Sequence[int], window_dimensions: Sequence[int], window_strides: Sequence[int], padding: Padding,
    base_dilation: Sequence[int] | None = None, window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:  # fmt: skip
    """The shape of a reduction over windows.

    Args:
      operand_shape: shape of the array.
      window_dimensions: lengths of a window.
      window_strides: distances between windows.
      padding: pairs of numbers of elements before and after each axis.
      base_dilation, window_dilation: distances between elements of the array, and of a window.
    Example: ``lax.reduce_window_shape_tuple((10,), (3,), (2,), ((1, 1),))`` is ``(5,)``.
    """
    windows = Windows.read(
        "reduce_window", operand_shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    return windows.output_shape(operand_shape)
