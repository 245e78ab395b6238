"""Which axes of a convolution's operands are batch, channels and space, and the shapes that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from arrax.core.calls import as_index, as_indices
from arrax.core.lengths import is_below
from arrax.lax.window_geometry import check_windows, dilated, padtype_to_pads

Axes = tuple[int, ...]


class ConvDimensionNumbers(NamedTuple):
    """The meaning of the axes of a convolution.

    Attributes:
      lhs_spec: axes of the input: batch, channels, then space.
      rhs_spec: axes of the kernel: output channels, input channels, then space.
      out_spec: axes of the result: batch, channels, then space.
    Example: ``lax.conv_dimension_numbers((1, 8, 8, 3), (2, 2, 3, 4), ('NHWC', 'HWIO', 'NHWC')).lhs_spec`` is
    ``(0, 3, 1, 2)``.
    """

    lhs_spec: Axes
    rhs_spec: Axes
    out_spec: Axes


ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


def _axes_of(letters: str, pair: str, space: Sequence[str]) -> Axes:
    return tuple(letters.index(letter) for letter in (*pair, *space))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[Axes, Axes, Axes]:
    """The axes that three strings of letters such as ``("NHWC", "HWIO", "NHWC")`` name, in the canonical order.

    Args:
      dimension_numbers: three strings of letters, for input, kernel and result.
    Raises:
      TypeError: letters that repeat, are missing, or differ between the strings.
    Example: ``lax.conv_general_permutations(("NWC", "WIO", "NWC"))`` is ``((0, 2, 1), (2, 1, 0), (0, 2, 1))``.
    """
    if len(dimension_numbers) != 3 or not all(isinstance(letters, str) for letters in dimension_numbers):
        raise TypeError(f"convolution dimension_numbers must be three strings, got {dimension_numbers!r}.")
    lhs, rhs, out = dimension_numbers
    for number, (letters, pair) in enumerate(((lhs, "NC"), (rhs, "OI"), (out, "NC"))):
        if any(letters.count(letter) != 1 for letter in pair):
            raise TypeError(
                f"convolution dimension_numbers[{number}] must contain the characters {pair[0]!r} and {pair[1]!r} "
                f"exactly once, got {letters}."
            )
        if len(set(letters)) != len(letters):
            raise TypeError(f"convolution dimension_numbers[{number}] cannot have duplicate characters, got {letters}.")
    space = [letter for letter in rhs if letter not in "OI"]
    if not set(lhs) - set("NC") == set(rhs) - set("IO") == set(out) - set("NC"):
        raise TypeError(
            "convolution dimension_numbers elements must each have the same set of spatial characters, "
            f"got {tuple(dimension_numbers)}."
        )
    return _axes_of(lhs, "NC", space), _axes_of(rhs, "OI", space), _axes_of(out, "NC", space)


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: ConvGeneralDilatedDimensionNumbers
) -> ConvDimensionNumbers:
    """The canonical description of a convolution's axes.

    Args:
      lhs_shape, rhs_shape: shapes of input and kernel; only their ranks matter.
      dimension_numbers: None for ``NCHW``-like input and ``OIHW``-like kernel; a ConvDimensionNumbers; or three strings:
        N is batch, C channels, I and O the kernel's input and output channels, any other letters are space.
    Raises:
      TypeError: ranks or letters that don't fit.
    Example: ``lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))``.
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        ranks = {len(lhs_shape), len(rhs_shape), *map(len, dimension_numbers)}
        if len(ranks) > 1:
            raise ValueError(
                f"convolution requires lhs and rhs of one rank, that of dimension_numbers: got shapes {tuple(lhs_shape)} and "
                f"{tuple(rhs_shape)} with {dimension_numbers}"
            )
        return dimension_numbers
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise TypeError(f"convolution requires lhs and rhs ndim to be equal, got {rank} and {len(rhs_shape)}.")
    if dimension_numbers is None:
        return ConvDimensionNumbers(*(tuple(range(rank)),) * 3)
    if not isinstance(dimension_numbers, list | tuple) or len(dimension_numbers) != 3:
        raise TypeError(
            f"convolution dimension_numbers must be a tuple/list or None, of length 3, got {dimension_numbers!r}."
        )
    if not all(isinstance(letters, str) for letters in dimension_numbers):
        raise TypeError(f"convolution dimension_numbers elements must be strings, got {dimension_numbers!r}.")
    for number, letters in enumerate(dimension_numbers):
        if len(letters) != rank:
            raise TypeError(
                f"convolution dimension_numbers[{number}] must have len equal to the ndim of lhs and rhs, got "
                f"{letters!r} for lhs and rhs shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def entries(name: str, given: Sequence[int] | None, count: int) -> tuple[int, ...]:
    """One positive int per axis of space; ones where nothing was given.

    Raises:
      TypeError: another number of entries, or entries below 1.
    """
    if given is None:
        return (1,) * count
    read = as_indices(given)
    if len(read) != count:
        raise ValueError(
            f"conv_general_dilated {name} should have one entry per axis of space ({count}), got {given!r}."
        )
    if any(entry < 1 for entry in read):
        raise ValueError(f"conv_general_dilated {name} should have positive entries, got {given!r}.")
    return read


def lengths_at(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """The lengths of some axes."""
    return [shape[axis] for axis in axes]


def read_padding(
    padding: str | Sequence[tuple[int, ...]],
    lhs_space: Sequence[int],
    spans: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    """Pairs of paddings, from a name or from what the user gave.

    Raises:
      TypeError: a wrong number of pairs.
      ValueError: a name for an input that is dilated; what is not a sequence of pairs; pairs that cut more than there is.
    """
    if not isinstance(padding, str):
        try:
            pairs = tuple((as_index(low), as_index(high)) for low, high in padding)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"padding argument to conv_general_dilated should be a name or pairs of integers, got {padding!r}."
            ) from error
        if len(pairs) != len(lhs_space):
            raise TypeError(
                f"padding argument to conv_general_dilated should have one pair per axis of space ({len(lhs_space)}), "
                f"got {padding!r}."
            )
        for n, step, (low, high) in zip(lhs_space, dilation, pairs, strict=True):
            if is_below(dilated(n, step) + low + high, 0, False):
                raise ValueError(
                    f"padding argument to conv_general_dilated cuts more than there is: got {padding!r} for the lengths {lhs_space}."
                )
        return pairs
    if any(step != 1 for step in dilation):
        raise ValueError(
            f"padding {padding!r} has no meaning for an input that is dilated: give pairs of numbers, or use conv_transpose."
        )
    return tuple(padtype_to_pads(lhs_space, spans, strides, padding))


def output_lengths(
    lhs_space: Sequence[int], rhs_space: Sequence[int], strides: Sequence[int], padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int], rhs_dilation: Sequence[int],
) -> tuple[int, ...]:  # fmt: skip
    """How many places of the kernel there are along each axis of space."""
    out = []
    for n, k, stride, (low, high), dilation, gap in zip(
        lhs_space, rhs_space, strides, padding, lhs_dilation, rhs_dilation, strict=True
    ):
        length, span = dilated(n, dilation) + low + high, dilated(k, gap)
        out.append(0 if length < span else (length - span) // stride + 1)
    return tuple(out)


def conv_shape_tuple(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], strides: Sequence[int], pads: Any, batch_group_count: int = 1
) -> tuple[int, ...]:
    """The shape of a convolution of input (batch, channels, space…) and kernel (output, input channels, space…).

    Args:
      lhs_shape, rhs_shape: shapes of input and kernel.
      strides: distances between places of the kernel.
      pads: a name, or pairs of paddings.
      batch_group_count: in how many groups the batch is divided.
    Raises:
      TypeError: another number of pads than there are axes of space.
      ValueError: strides or a kernel of another rank, or strides that are not positive.
    Example: ``lax.conv_shape_tuple((1, 2, 8), (4, 2, 3), (1,), "VALID")`` is ``(1, 4, 6)``.
    """
    check_windows("conv_shape_tuple", lhs_shape[2:], rhs_shape[2:], strides)
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(
            f"Wrong number of explicit pads for convolution: expected {len(lhs_shape) - 2}, got {len(pads)}."
        )
    ones = (1,) * len(pads)
    space = output_lengths(lhs_shape[2:], rhs_shape[2:], strides, pads, ones, ones)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *space)


def _placed(canonical: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    placed = [0] * len(canonical)
    for length, axis in zip(canonical, spec, strict=True):
        placed[axis] = length
    return tuple(placed)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: tuple[str, ...],
) -> tuple[int, ...]:
    """The shape of a convolution with axes in any order.

    Args:
      lhs_shape, rhs_shape: shapes of input and kernel.
      window_strides: distances between places of the kernel.
      padding: pairs of numbers of zeros, ``"VALID"`` or ``"SAME"``.
      dimension_numbers: three strings of letters, for input, kernel and result.
    Example: ``lax.conv_general_shape_tuple((1, 8, 2), (3, 2, 4), (1,), "VALID", ("NWC", "WIO", "NWC"))`` is ``(1, 6, 4)``.
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(lengths_at(lhs_shape, lhs), lengths_at(rhs_shape, rhs), window_strides, padding)
    return _placed(shape, out)


def transposed_padding(span: int, stride: int, padding: str) -> tuple[int, int]:
    """Paddings of the dilated input with which a convolution undoes the shapes of one with a named padding.

    Raises:
      ValueError: another name than SAME and VALID.
    """
    if padding == "SAME":
        total = span + stride - 2
        before = span - 1 if stride > span - 1 else -(-total // 2)
    elif padding == "VALID":
        total = span + stride - 2 + max(span - stride, 0)
        before = span - 1
    else:
        raise ValueError(f"padding mode of conv_transpose must be `SAME` or `VALID`, got {padding!r}.")
    return before, total - before


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: tuple[str, ...],
) -> tuple[int, ...]:
    """The shape of a transposed convolution with axes in any order.

    Args:
      lhs_shape, rhs_shape: shapes of input and kernel.
      window_strides: distances between places of the kernel.
      padding: pairs of numbers of zeros, ``"VALID"`` or ``"SAME"``.
      dimension_numbers: three strings of letters, for input, kernel and result.
    Example: ``lax.conv_transpose_shape_tuple((1, 4, 2), (3, 2, 5), (2,), "SAME", ("NWC", "WIO", "NWC"))`` is ``(1, 8, 5)``.
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    own, kernel = lengths_at(lhs_shape, lhs), lengths_at(rhs_shape, rhs)
    check_windows("conv_transpose_shape_tuple", own[2:], kernel[2:], window_strides)
    if isinstance(padding, str):
        padding = [transposed_padding(k, s, padding) for k, s in zip(kernel[2:], window_strides, strict=True)]
    ones = (1,) * len(window_strides)
    space = output_lengths(own[2:], kernel[2:], ones, padding, window_strides, ones)
    return _placed((own[0], kernel[0], *space), out)
