"""Convolutions of sparse vectors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import arrax.numpy as jnp
from arrax.dtypes import OptionalDType
from arrax.experimental.sparse.coordinates import BCOO, bcoo_fromdense, inside, where_inside
from arrax.experimental.sparse.layouts import bcoo_update_layout
from arrax.lax.convolution import conv_dimension_numbers, conv_general_dilated
from arrax.transforms.inspection import ShapeDtypeStruct, eval_shape
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array

if TYPE_CHECKING:
    from arrax.lax.convolution_geometry import ConvGeneralDilatedDimensionNumbers
    from arrax.lax.precision import PrecisionLike


def bcoo_conv_general_dilated(
    lhs: Array | BCOO, rhs: Array | BCOO, *, window_strides: Sequence[Any], padding: Sequence[Any], lhs_dilation: Sequence[Any] | None = None, rhs_dilation: Sequence[Any] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None, feature_group_count: int = 1, batch_group_count: int = 1, precision: PrecisionLike | None = None,
    preferred_element_type: OptionalDType = None, out_sharding: OptionalSharding = None,
) -> BCOO:  # fmt: skip
    """A convolution along one axis, of one batch and one feature, as ``lax.conv_general_dilated``.

    Args:
      lhs, rhs: operand and kernel of shape ``(1, 1, n)``, at least one of them sparse.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers: as of ``lax.conv_general_dilated``.
      feature_group_count, batch_group_count: must be 1.
      precision, preferred_element_type, out_sharding: accepted as by ``lax.conv_general_dilated``, without effect.
    Raises:
      NotImplementedError: more axes, batches or features.
    Example: ``signal = BCOO.fromdense(jnp.array([[[0.0, 2.0, 0.0, 1.0]]]));
    bcoo_conv_general_dilated(signal, jnp.ones((1, 1, 2)), window_strides=(1,), padding='VALID').todense()`` is
    ``[[[2, 2, 1]]]``.
    """
    if any(x.ndim != 3 for x in (lhs, rhs)) or feature_group_count != 1 or batch_group_count != 1:
        raise NotImplementedError("bcoo_conv_general_dilated only supports convolutions along one axis")
    spec = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    if any(x.shape[axis] != 1 for x, axes in ((lhs, spec.lhs_spec), (rhs, spec.rhs_spec)) for axis in axes[:2]):
        raise NotImplementedError("bcoo_conv_general_dilated only supports one batch and one feature")
    settings = (window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers)
    dense = [ShapeDtypeStruct(x.shape, x.dtype) for x in (lhs, rhs)]
    shape = eval_shape(lambda x, y: conv_general_dilated(x, y, *settings), *dense).shape
    (first, second), (at, to, out_at) = (
        [_vector(x) for x in (lhs, rhs)], [axes[2] for axes in (spec.lhs_spec, spec.rhs_spec, spec.out_spec)]
    )  # fmt: skip
    stride, wide, dilated = (
        1 if x is None else operator.index(x[0]) for x in (window_strides, lhs_dilation, rhs_dilation)
    )
    kernel = (rhs.shape[to] - 1) * dilated + 1
    length = (lhs.shape[at] - 1) * wide + 1
    before = _padding_before(padding, length, kernel, stride)
    positions = first.indices[:, None, at] * wide + before - second.indices[None, :, to] * dilated
    there = inside(first.indices, first.shape)[:, None] & inside(second.indices, second.shape)[None]
    there = there & (positions % stride == 0) & (positions >= 0) & (positions < shape[out_at] * stride)
    index = jnp.zeros((*positions.shape, 3), positions.dtype).at[..., out_at].set(positions // stride)
    data = (first.data[:, None] * second.data[None]).ravel()
    return BCOO(where_inside(there.ravel(), data, index.reshape(-1, 3), shape), shape=shape)


def _vector(x: Array | BCOO) -> BCOO:
    """The operand with sparse dimensions only."""
    if isinstance(x, BCOO):
        return bcoo_update_layout(x, n_batch=0, n_dense=0)
    return bcoo_fromdense(x, nse=x.size)


def _padding_before(padding: Sequence[tuple[int, ...]], length: int, kernel: int, stride: int) -> int:
    """The elements in front of the operand."""
    if not isinstance(padding, str):
        return operator.index(padding[0][0])
    if padding.upper() == "VALID":
        return 0
    total = max((-(-length // stride) - 1) * stride + kernel - length, 0)
    return total - total // 2 if padding.upper() == "SAME_LOWER" else total // 2
