"""Convolutions: the general one with strides, dilations and groups, and those made of it (seen from neural networks)."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.calls import as_index, as_indices
from arrax.core.types import slots, typeof
from arrax.dtypes import OptionalDType
from arrax.lax.axis_order import rev, transpose
from arrax.lax.contractions import dot_general
from arrax.lax.convolution_geometry import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    entries,
    lengths_at,
    read_padding,
    transposed_padding,
)
from arrax.lax.convolution_rules import conv_general_dilated_p
from arrax.lax.operand_checks import checked_operand
from arrax.lax.precision import PrecisionLike, accumulation_dtype, canonical_precision
from arrax.lax.window_geometry import dilated
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

Lengths = Sequence[int]
Padding = str | Sequence[tuple[int, int]]

_ACCUMULATED: dict[str, tuple[str, ...]] = {"i": ("i", "f"), "u": ("u", "i", "f"), "f": ("f",), "c": ("c",)}


def conv_general_dilated(
    lhs: ArrayLike, rhs: ArrayLike, window_strides: Lengths, padding: Padding, lhs_dilation: Lengths | None = None,
    rhs_dilation: Lengths | None = None, dimension_numbers: ConvGeneralDilatedDimensionNumbers = None, feature_group_count: int = 1,
    batch_group_count: int = 1, precision: PrecisionLike = None, preferred_element_type: OptionalDType = None,
    out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """The sums of products of a kernel (not reversed) with the input under it, at each place of the kernel.

    Args:
      lhs: the input, of rank n + 2: batch, channels and n axes of space.
      rhs: the kernel, of the same rank: output channels, input channels and space.
      window_strides: n distances between places of the kernel.
      padding: n pairs of numbers of zeros before and after the axes of space; or ``"VALID"`` (none), ``"SAME"`` (so
        many that strides alone shorten the result) or ``"SAME_LOWER"``.
      lhs_dilation, rhs_dilation: n distances between elements of the input and of the kernel; ones by default.
      dimension_numbers: what the axes are (see ``conv_dimension_numbers``); ``NCHW``-like by default.
      feature_group_count: number of groups of channels that don't mix.
      batch_group_count: number of groups of the batch, each of which has its own output channels.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array of batch, output channels and space, in the order that ``dimension_numbers`` gives.
    Raises:
      TypeError: ranks, dtypes or numbers of entries that don't fit; a ``preferred_element_type`` that is too narrow.
      ValueError: channels or groups that don't fit, an unknown padding.
    Example: ``lax.conv_general_dilated(jnp.ones((1, 1, 5)), jnp.ones((1, 1, 3)), (1,), "SAME")``.
    Source: StableHLO ``convolution``.
    """
    if out_sharding is not None:
        return slots.as_asked(
            out_sharding,
            functools.partial(
                conv_general_dilated,
                window_strides=window_strides,
                padding=padding,
                lhs_dilation=lhs_dilation,
                rhs_dilation=rhs_dilation,
                dimension_numbers=dimension_numbers,
                feature_group_count=feature_group_count,
                batch_group_count=batch_group_count,
                precision=precision,
                preferred_element_type=preferred_element_type,
            ),
            lhs,
            rhs,
        )
    x, y = checked_operand("conv_general_dilated", lhs), checked_operand("conv_general_dilated", rhs)
    own, kernel = typeof(x).shape, typeof(y).shape
    spec = conv_dimension_numbers(own, kernel, dimension_numbers)
    count = len(spec.lhs_spec) - 2
    strides = entries("window_strides", window_strides, count)
    base_dilations, gaps = entries("lhs_dilation", lhs_dilation, count), entries("rhs_dilation", rhs_dilation, count)
    spans = [dilated(k, gap) for k, gap in zip(lengths_at(kernel, spec.rhs_spec[2:]), gaps, strict=True)]
    pads = read_padding(padding, lengths_at(own, spec.lhs_spec[2:]), spans, strides, base_dilations)
    operands = (typeof(x).dtype, typeof(y).dtype)
    preferred = accumulation_dtype("conv_general_dilated", operands, preferred_element_type, _ACCUMULATED)
    return conv_general_dilated_p.bind(
        x, y, window_strides=strides, padding=pads, lhs_dilation=base_dilations, rhs_dilation=gaps, dimension_numbers=spec,
        feature_group_count=as_index(feature_group_count), batch_group_count=as_index(batch_group_count),
        precision=canonical_precision(precision), preferred_element_type=preferred, out_sharding=None,
    )  # fmt: skip


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Lengths,
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None,
) -> Array:
    """A convolution of ``NCHW``-like input and ``OIHW``-like kernel, without dilation.

    Args:
      lhs: the input, of rank n + 2: batch, channels and n axes of space.
      rhs: the kernel, of the same rank: output channels, input channels and space.
      window_strides: n distances between places of the kernel.
      padding: n pairs of numbers of zeros before and after the axes of space; or ``"VALID"`` (none), ``"SAME"`` (so
        many that strides alone shorten the result) or ``"SAME_LOWER"``.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
    Example: ``lax.conv(jnp.ones((1, 1, 5)), jnp.ones((1, 1, 3)), (1,), "VALID").shape`` is ``(1, 1, 3)``.
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: ArrayLike, rhs: ArrayLike, window_strides: Lengths, padding: Padding, lhs_dilation: Lengths | None,
    rhs_dilation: Lengths | None, precision: PrecisionLike = None, preferred_element_type: OptionalDType = None,
) -> Array:  # fmt: skip
    """A convolution of ``NCHW``-like input and ``OIHW``-like kernel, with dilations and any padding.

    Args:
      lhs: the input, of rank n + 2: batch, channels and n axes of space.
      rhs: the kernel, of the same rank: output channels, input channels and space.
      window_strides: n distances between places of the kernel.
      padding: n pairs of numbers of zeros before and after the axes of space; or ``"VALID"`` (none), ``"SAME"`` (so
        many that strides alone shorten the result) or ``"SAME_LOWER"``.
      lhs_dilation, rhs_dilation: n distances between elements of the input and of the kernel; ones by default.
      precision, preferred_element_type: see ``conv_general_dilated``.
    Example: ``lax.conv_with_general_padding(x, kernel, (1, 1), ((2, 2), (2, 2)), (1, 1), (1, 1))``.
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


_LAYOUTS = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: ArrayLike, rhs: ArrayLike, strides: Lengths, padding: Padding, rhs_dilation: Lengths | None = None,
    dimension_numbers: Any = None, transpose_kernel: bool = False, precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None, use_consistent_padding: bool = False,
) -> Array:  # fmt: skip
    """A convolution with fractional strides, which undoes the shapes of one with strides.

    Args:
      lhs, rhs: input and kernel; channels last by default.
      strides: n distances between elements of the input.
      padding: ``"SAME"`` or ``"VALID"``: the padding of the convolution that is undone; or n pairs of paddings of the
        dilated input.
      rhs_dilation: n distances between elements of the kernel.
      dimension_numbers: what the axes are (see ``conv_dimension_numbers``).
      transpose_kernel: reverse the kernel's space and exchange its channels, as the derivative of a convolution does.
      use_consistent_padding: let pairs mean the padding of the convolution that is undone.
      precision, preferred_element_type: see ``conv_general_dilated``.
    Returns: array of batch, output channels and space.
    Raises:
      ValueError: an unknown padding, or more than three axes of space without ``dimension_numbers``.
    Example: ``lax.conv_transpose(jnp.ones((1, 4, 2)), jnp.ones((3, 2, 5)), (2,), "SAME").shape`` is ``(1, 8, 5)``.
    """
    x, y = checked_operand("conv_transpose", lhs), checked_operand("conv_transpose", rhs)
    own, kernel = typeof(x).shape, typeof(y).shape
    if dimension_numbers is None:
        if len(own) not in _LAYOUTS:
            raise ValueError("conv_transpose has default dimension_numbers for 0 to 3 axes of space only: give them.")
        dimension_numbers = _LAYOUTS[len(own)]
    spec = conv_dimension_numbers(own, kernel, dimension_numbers)
    space = spec.rhs_spec[2:]
    gaps = entries("rhs_dilation", rhs_dilation, len(space))
    spans = [dilated(kernel[axis], gap) for axis, gap in zip(space, gaps, strict=True)]
    if isinstance(padding, str):
        padding = [transposed_padding(span, stride, padding) for span, stride in zip(spans, strides, strict=True)]
    elif use_consistent_padding:
        padding = [(span - 1 - low, span - 1 - high) for span, (low, high) in zip(spans, padding, strict=True)]
    if transpose_kernel:
        out, inner = spec.rhs_spec[:2]
        order = list(range(len(kernel)))
        order[out], order[inner] = inner, out
        y = transpose(rev(y, space), order)
    return conv_general_dilated(
        x, y, (1,) * len(space), padding, strides, gaps, spec, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def conv_general_dilated_patches(
    lhs: ArrayLike, filter_shape: Lengths, window_strides: Lengths, padding: Padding,
    lhs_dilation: Lengths | None = None, rhs_dilation: Lengths | None = None,
    dimension_numbers: ConvDimensionNumbers | None = None, precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None,
) -> Array:  # fmt: skip
    """The elements that a kernel sees at each of its places, as channels.

    Args:
      lhs: the input of a convolution.
      filter_shape: the kernel's n lengths.
      window_strides: n distances between places of the kernel.
      padding: n pairs of numbers of zeros before and after the axes of space; or ``"VALID"`` (none), ``"SAME"`` (so
        many that strides alone shorten the result) or ``"SAME_LOWER"``.
      lhs_dilation, rhs_dilation: n distances between elements of the input and of the kernel; ones by default.
      dimension_numbers: what the axes are (see ``conv_dimension_numbers``); ``NCHW``-like by default.
      precision, preferred_element_type: see ``conv_general_dilated``.
    Returns: array like the convolution's result, with as many channels as the kernel has input elements: channel
      first, then place in the kernel.
    Example: ``lax.conv_general_dilated_patches(jnp.ones((1, 2, 5)), (3,), (1,), "VALID").shape`` is ``(1, 6, 3)``.
    """
    x = checked_operand("conv_general_dilated_patches", lhs)
    aval = typeof(x)
    lengths = as_indices(filter_shape)
    spec = conv_dimension_numbers(aval.shape, (1, 1, *lengths), dimension_numbers)
    channels, count = aval.shape[spec.lhs_spec[1]], math.prod(lengths)
    unit = np.eye(count, dtype=aval.dtype).reshape(count, 1, *lengths)
    kernel = np.transpose(np.tile(unit, (channels,) + (1,) * (unit.ndim - 1)), np.argsort(spec.rhs_spec))
    return conv_general_dilated(
        x, kernel, window_strides, padding, lhs_dilation, rhs_dilation, spec, channels, 1,
        "highest" if precision is None else precision, preferred_element_type,
    )  # fmt: skip


def conv_general_dilated_local(
    lhs: ArrayLike, rhs: ArrayLike, window_strides: Lengths, padding: Padding, filter_shape: Lengths,
    lhs_dilation: Lengths | None = None, rhs_dilation: Lengths | None = None, dimension_numbers: Any = None,
    precision: PrecisionLike = None,
) -> Array:  # fmt: skip
    """A convolution with a kernel of its own at each place.

    Args:
      lhs: the input of a convolution.
      rhs: the kernels: their space is that of the result; their input channels are the elements that a kernel sees, in
        the order of ``conv_general_dilated_patches``.
      window_strides: n distances between places of the kernel.
      padding: n pairs of numbers of zeros before and after the axes of space; or ``"VALID"`` (none), ``"SAME"`` (so
        many that strides alone shorten the result) or ``"SAME_LOWER"``.
      lhs_dilation, rhs_dilation: n distances between elements of the input and of the kernel; ones by default.
      dimension_numbers: what the axes are (see ``conv_dimension_numbers``); ``NCHW``-like by default.
      precision: a Precision or its name, a pair of them, or an algorithm.
      filter_shape: the n lengths of a kernel.
    Returns: array of batch, output channels and space.
    Example: ``lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (3,))``.
    """
    x, y = checked_operand("conv_general_dilated_local", lhs), checked_operand("conv_general_dilated_local", rhs)
    spec = conv_dimension_numbers(typeof(x).shape, typeof(y).shape, dimension_numbers)
    (_, channel, *space), (_, inner, *indices) = spec.lhs_spec, spec.rhs_spec
    patches = conv_general_dilated_patches(
        x, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation,
        ConvDimensionNumbers(spec.lhs_spec, spec.rhs_spec, spec.lhs_spec), precision,
    )  # fmt: skip
    numbers = (((inner,), (channel,)), (tuple(indices), tuple(space)))
    result = dot_general(y, patches, numbers, precision)  # space, output channels, batch
    count = len(space)
    order = [0] * (count + 2)
    for index, axis in zip((count + 1, count, *range(count)), spec.out_spec, strict=True):
        order[axis] = index
    return transpose(result, order)
