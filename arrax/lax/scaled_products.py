"""Products of arrays whose blocks have scales of their own, such as those of 8-bit floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_indices
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, typeof
from arrax.dtypes import OptionalDType
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import mul
from arrax.lax.contractions import dot_general, dot_general_p
from arrax.lax.conversion import convert
from arrax.lax.filled_arrays import full
from arrax.lax.operand_checks import checked_operand, kind_of, requested_dtype
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

scaled_dot_p = Primitive("scaled_dot")


def _check_scales(side: str, x: ShapedArray, scales: ShapedArray) -> None:
    fits = x.ndim == scales.ndim and all(
        s > 0 and n % s == 0 for n, s in zip(x.shape, scales.shape, strict=True) if n != s
    )
    if not fits:
        raise TypeError(
            f"scaled_dot: the lengths of {side}_scale must divide those of {side}, got shapes {scales.shape} and {x.shape}"
        )
    if kind_of(x.dtype) != "floating" or kind_of(scales.dtype) != "floating":
        raise TypeError(f"scaled_dot requires floats, got {side} of dtype {x.dtype} with scales of {scales.dtype}")


def _type_rule(
    x: ShapedArray, y: ShapedArray, x_scales: ShapedArray, y_scales: ShapedArray, *,
    dimension_numbers: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], preferred_element_type: np.dtype,
) -> ShapedArray:  # fmt: skip
    _check_scales("lhs", x, x_scales)
    _check_scales("rhs", y, y_scales)
    params = {"dimension_numbers": dimension_numbers, "preferred_element_type": preferred_element_type}
    return dot_general_p.infer((x, y), {"precision": None, **params})


def _scaled(x: Array, scales: Array) -> Array:
    """The numbers that are meant, in single precision."""
    shape, blocks = typeof(x).shape, typeof(scales).shape
    scales = convert(scales, np.float32)
    if shape != blocks:
        pairs = [(b, n // b) for n, b in zip(shape, blocks, strict=True)]
        broadcasted = broadcast_in_dim(scales, [n for pair in pairs for n in pair], range(0, 2 * len(shape), 2))
        scales = reshape(broadcasted, shape)
    return mul(convert(x, np.float32), scales)


def _product(
    x: Array,
    y: Array,
    x_scales: Array,
    y_scales: Array,
    *,
    dimension_numbers: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    preferred_element_type: np.dtype,
) -> Array:
    out = dot_general(_scaled(x, x_scales), _scaled(y, y_scales), dimension_numbers, preferred_element_type=np.float32)
    return convert(out, preferred_element_type)


def _batch(
    values: Sequence[Any], dims: Sequence[int | None], *, dimension_numbers: Sequence[tuple[tuple[int, ...], ...]],
    preferred_element_type: np.dtype,
) -> tuple[Array, int]:  # fmt: skip
    """The batch axis comes first, in an operand and in its scales; where both operands have it, it is one of their batch axes."""
    size = batch_size(values, dims)
    values, contract, batch, mapped = list(values), [], [], []
    for side in (0, 1):
        has_axis = dims[side] is not None or dims[side + 2] is not None
        for place in (side, side + 2) if has_axis else ():
            values[place] = bdim_at_front(values[place], dims[place], size)
        contract.append(tuple(axis + has_axis for axis in dimension_numbers[0][side]))
        batch.append(tuple(axis + has_axis for axis in dimension_numbers[1][side]))
        mapped.append(has_axis)
    if all(mapped):
        batch = [(0, *axes) for axes in batch]
    out = scaled_dot_p.bind(
        *values, dimension_numbers=(tuple(contract), tuple(batch)), preferred_element_type=preferred_element_type
    )
    if all(mapped):
        return out, 0
    free = 0 if mapped[0] else typeof(values[0]).ndim - len(contract[0]) - len(batch[0])
    return out, len(batch[0]) + free


scaled_dot_p.type_rule, scaled_dot_p.batch = _type_rule, _batch
scaled_dot_p.lower[None] = lower_fun(_product, multiple_results=False)


def scaled_dot(
    lhs: ArrayLike, rhs: ArrayLike, *, lhs_scale: OptionalArray = None, rhs_scale: OptionalArray = None,
    dimension_numbers: tuple[tuple[tuple[Any, ...], ...], ...] | None = None, preferred_element_type: OptionalDType = None,
) -> Array:  # fmt: skip
    """The product of two arrays, each the product of small floats with the scales of their blocks.

    Args:
      lhs, rhs: arrays of floats, often of 8 bits.
      lhs_scale, rhs_scale: arrays of as many axes, whose lengths divide those of the operands: one scale per block; None
        for ones.
      dimension_numbers: as of ``dot_general``; by default the product of matrices.
      preferred_element_type: dtype of the result, bfloat16 by default.
    Returns: array as of ``dot_general``.
    Raises:
      TypeError: shapes or dtypes that don't fit.
    Example: ``lax.scaled_dot(x8, y8, lhs_scale=s, rhs_scale=t)`` with ``x8`` of shape (2, 64) and ``s`` of shape (2, 2).
    """
    x, y = checked_operand("scaled_dot", lhs), checked_operand("scaled_dot", rhs)
    if dimension_numbers is None:
        dimension_numbers = (((typeof(x).ndim - 1,), (typeof(y).ndim - 2,)), ((), ()))
    (contract_x, contract_y), (batch_x, batch_y) = dimension_numbers
    axes = [as_indices(group) for group in (contract_x, contract_y, batch_x, batch_y)]
    scales = [
        _ones(value, contract) if given is None else checked_operand("scaled_dot", given)
        for value, given, contract in ((x, lhs_scale, axes[0]), (y, rhs_scale, axes[1]))
    ]
    preferred = (
        dtypes.bfloat16 if preferred_element_type is None else requested_dtype("scaled_dot", preferred_element_type)
    )
    return scaled_dot_p.bind(
        x, y, *scales, dimension_numbers=((axes[0], axes[1]), (axes[2], axes[3])),
        preferred_element_type=np.dtype(preferred),
    )  # fmt: skip


def _ones(x: ArrayLike, contracted: tuple[int, ...]) -> Array:
    shape = tuple(1 if axis in contracted else length for axis, length in enumerate(typeof(x).shape))
    return full(shape, 1, np.float32)
