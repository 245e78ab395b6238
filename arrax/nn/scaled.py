"""Products of matrices whose blocks of numbers are small floats with a scale of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.core.types import typeof
from arrax.dtypes import DTypeLike
from arrax.lax.barriers import stop_gradient
from arrax.lax.scaled_products import scaled_dot
from arrax.numpy_api.operands import check_arraylike
from arrax.xla.arrays import Array, ArrayLike


@dataclass(frozen=True)
class BlockScaleConfig:
    """How numbers are rounded: blocks of ``block_size`` small floats of ``data_type``, each with a scale of ``scale_type``.

    Args:
      mode: ``"nvfp4"`` or ``"mxfp8"``.
      global_scale: one more scale for the whole array, float32; None for none.
      infer_only: whether no derivative is needed.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any = None
    infer_only: bool = False


_MODES = {"mxfp8": (32, "float8_e4m3fn", "float8_e8m0fnu"), "nvfp4": (16, "float4_e2m1fn", "float8_e4m3fn")}


def get_scaled_dot_general_config(mode: str, global_scale: Any = None) -> BlockScaleConfig:
    """How ``scaled_dot_general`` rounds an operand.

    Args:
      mode: ``"mxfp8"``: blocks of 32 numbers of 8 bits, whose scales are powers of 2; ``"nvfp4"``: blocks of 16 numbers of 4
        bits with scales of 8 bits and a global scale.
      global_scale: that scale, by default 1; only for ``"nvfp4"``.
    Raises:
      ValueError: another mode; a global scale where there is none.
    Example: ``nn.get_scaled_dot_general_config("mxfp8").block_size`` is 32.
    Source: Rouhani et al., "Microscaling data formats for deep learning" (2023).
    """
    if not isinstance(mode, str) or mode not in _MODES:
        raise ValueError(f"get_scaled_dot_general_config: mode must be 'nvfp4' or 'mxfp8', got {mode!r}")
    if mode == "mxfp8" and global_scale is not None:
        raise ValueError("get_scaled_dot_general_config: mode 'mxfp8' has no global_scale")
    if mode == "nvfp4" and global_scale is None:
        global_scale = jnp.ones((1,), np.float32)
    size, data, scale = _MODES[mode]
    return BlockScaleConfig(mode, size, dtypes.canonicalize_dtype(data), dtypes.canonicalize_dtype(scale), global_scale)


def scaled_matmul(
    lhs: ArrayLike, rhs: ArrayLike, lhs_scales: ArrayLike, rhs_scales: ArrayLike, preferred_element_type: DTypeLike = np.float32
) -> Array:  # fmt: skip
    """The products ``(lhs lhs_scales) (rhs rhs_scales)^T`` of batches of matrices, each scale for a block of a row.

    Args:
      lhs: array of shape (B, M, K).
      rhs: array of shape (B, N, K).
      lhs_scales, rhs_scales: arrays of shape (B, M, S) and (B, N, S); S divides K.
      preferred_element_type: dtype of the result.
    Returns: array of shape (B, M, N).
    Raises:
      ValueError: shapes that don't fit.
    Example: ``nn.scaled_matmul(a, a, s, s)`` with ``a = jnp.ones((1, 2, 64))``, ``s = jnp.ones((1, 2, 2))`` is 64 everywhere.
    """
    check_arraylike("scaled_matmul", lhs, rhs, lhs_scales, rhs_scales)
    shapes = [typeof(x).shape for x in (lhs, rhs, lhs_scales, rhs_scales)]
    _check_matrices(*shapes)
    return scaled_dot(
        *(jnp.asarray(x) for x in (lhs, rhs)),
        lhs_scale=jnp.asarray(lhs_scales), rhs_scale=jnp.asarray(rhs_scales),
        dimension_numbers=(((2,), (2,)), ((0,), (0,))), preferred_element_type=preferred_element_type,
    )  # fmt: skip


def _check_matrices(
    lhs: tuple[int, ...], rhs: tuple[int, ...], lhs_scales: tuple[int, ...], rhs_scales: tuple[int, ...]
) -> None:
    if not len(lhs) == len(rhs) == len(lhs_scales) == len(rhs_scales) == 3:
        raise ValueError(
            f"scaled_matmul: all arrays must have 3 axes, got the shapes {lhs}, {rhs}, {lhs_scales} and {rhs_scales}"
        )
    if lhs[0] != rhs[0] or lhs[2] != rhs[2]:
        raise ValueError(
            f"scaled_matmul: lhs and rhs must have the shapes (B, M, K) and (B, N, K), got {lhs} and {rhs}"
        )
    for side, array, scales in (("lhs", lhs, lhs_scales), ("rhs", rhs, rhs_scales)):
        if array[:2] != scales[:2] or not scales[2] or array[2] % scales[2]:
            raise ValueError(
                f"scaled_matmul: {side}_scales must have the shape {array[:2] + ('S',)} with an S that divides {array[2]}, "
                f"got {scales}"
            )
    if lhs_scales[2] != rhs_scales[2]:
        raise ValueError(f"scaled_matmul: both sides need as many scales, got {lhs_scales} and {rhs_scales}")


def _rounded(x: Array, config: BlockScaleConfig) -> Array:
    """The numbers (float32) of which the last axis is in blocks, as the format holds them."""
    size = x.shape[-1]
    padded = jnp.pad(x.astype(np.float32), [(0, 0)] * (x.ndim - 1) + [(0, -size % config.block_size)])
    blocks = padded.reshape(*padded.shape[:-1], -1, config.block_size)
    whole = 1.0 if config.global_scale is None else jnp.asarray(config.global_scale, np.float32).reshape(())
    most = float(dtypes.finfo(config.data_type).max)
    scale = jnp.max(jnp.abs(blocks), -1, keepdims=True) / (most * whole)
    scale = _rounded_scale(scale, config.scale_type)
    safe = jnp.where(scale > 0, scale * whole, 1)
    held = jnp.clip(blocks / safe, -most, most).astype(config.data_type).astype(np.float32) * safe
    return held.reshape(padded.shape)[..., :size]


def _rounded_scale(scale: Array, dtype: np.dtype) -> Array:
    """Scales as their dtype holds them; powers of 2 are rounded up, so that no number of a block is too large."""
    if "e8m0" in str(dtype):
        exponent = jnp.ceil(jnp.log2(jnp.where(scale > 0, scale, 1)))
        return jnp.where(scale > 0, jnp.exp2(jnp.clip(exponent, -127, 127)), 0)
    return jnp.clip(scale, 0, float(dtypes.finfo(dtype).max)).astype(dtype).astype(np.float32)


def _rounded_along(x: Array, axes: tuple[int, ...], config: BlockScaleConfig) -> Array:
    """As rounded along the contracted axes taken together; its derivative is that of the value itself."""
    others = [axis for axis in range(x.ndim) if axis not in axes]
    order = [*others, *axes]
    turned = jnp.transpose(stop_gradient(x), order)
    flat = turned.reshape(*[x.shape[axis] for axis in others], -1)
    held = _rounded(flat, config).reshape(turned.shape)
    held = jnp.transpose(held, np.argsort(order).tolist()).astype(x.dtype)
    return x + stop_gradient(held - x)


def scaled_dot_general(
    lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: tuple[Any, ...], preferred_element_type: DTypeLike = np.float32,
    configs: list[BlockScaleConfig] | None = None, implementation: str | None = None,
) -> Array:  # fmt: skip
    """``lax.dot_general`` of operands that are rounded to small floats in blocks.

    Args:
      lhs, rhs: floating arrays.
      dimension_numbers: ``((lhs contracting, rhs contracting), (lhs batch, rhs batch))``, sequences of ints.
      preferred_element_type: dtype of the result.
      configs: how ``lhs``, ``rhs`` and the cotangent are rounded, from ``get_scaled_dot_general_config``; by default nothing is.
        The derivative is that of the product of the rounded operands.
      implementation: accepted, without effect.
    Returns: array as ``lax.dot_general`` gives it.
    Raises:
      ValueError: not three configs.
      TypeError: shapes that don't fit.
    Example: ``nn.scaled_dot_general(jnp.ones((2, 32)), jnp.ones((32, 2)), (((1,), (0,)), ((), ())))`` is 32 everywhere.
    """
    check_arraylike("scaled_dot_general", lhs, rhs)
    if configs is not None and len(configs) != 3:
        raise ValueError(
            f"scaled_dot_general: configs must be three, for lhs, rhs and the cotangent, got {len(configs)}"
        )
    if implementation not in (None, "cudnn"):
        raise ValueError(f"scaled_dot_general: implementation must be None or 'cudnn', got {implementation!r}")
    lhs, rhs = jnp.asarray(lhs), jnp.asarray(rhs)
    if configs is not None:
        (left, right), _ = dimension_numbers
        lhs = _rounded_along(lhs, tuple(axis % lhs.ndim for axis in left), configs[0])
        rhs = _rounded_along(rhs, tuple(axis % rhs.ndim for axis in right), configs[1])
    return lax.dot_general(lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type)
