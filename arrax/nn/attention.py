"""Attention: weighted means of values, with weights by the products of queries and keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.core.lengths import is_below, is_symbolic
from arrax.core.types import typeof
from arrax.numpy_api.api import api
from arrax.numpy_api.exponential_sums import shift_along
from arrax.numpy_api.operands import check_arraylike, check_arraylike_or_none
from arrax.transforms.checkpointing import checkpoint
from arrax.xla.arrays import Array, ArrayLike, OptionalArray
from arrax.xla.devices import default_backend

_QUERIES = 512  # how many queries are looked at together: what is in memory at once grows with the keys alone
_IMPLEMENTATIONS = (None, "xla", "cudnn")


def dot_product_attention(
    query: ArrayLike, key: Array, value: ArrayLike, bias: OptionalArray = None, mask: OptionalArray = None, *, scale: float | None = None,
    is_causal: bool = False, query_seq_lengths: OptionalArray = None, key_value_seq_lengths: OptionalArray = None,
    local_window_size: int | tuple[int, int] | None = None, implementation: str | None = None,
    return_residual: bool = False,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """``softmax(scale query key^T + bias) value`` for each head.

    With B examples, T queries of N heads, S keys and values of K heads (N is a multiple of K: neighbouring heads of queries
    share one head of keys), and heads of H numbers. Memory grows with T and S, not with their product: long rows of queries
    are done in blocks, and each block's weights are computed again where a derivative needs them.

    Args:
      query: array of shape (B, T, N, H) or (T, N, H).
      key, value: arrays of shape (B, S, K, H) or (S, K, H), of the dtype of ``query``.
      bias: added to the products; array that broadcasts to (B, N, T, S).
      mask: bools that broadcast to (B, N, T, S); where False, a key has no weight.
      scale: factor of the products, by default 1 / sqrt(H).
      is_causal: query t sees the keys 0 to t only.
      query_seq_lengths: integers of shape (B,): how many queries of each example count; the results of others are 0.
      key_value_seq_lengths: integers of shape (B,): how many keys of each example count.
      local_window_size: query t sees the keys t - left to t + right only: ``(left, right)``, or one number for both.
      implementation: ``"xla"``, ``"cudnn"`` (GPUs only), or None to choose.
      return_residual: return the logarithms of the sums of the exponentials, too.
    Returns: array of the shape and dtype of ``query``, or (it, float32 array of shape (B, T, N)).
    Raises:
      ValueError: shapes or dtypes that don't fit; an unknown implementation.
    Example: ``nn.dot_product_attention(q, q, q)`` with ``q = jnp.ones((1, 3, 2, 4))`` is ones.
    Source: Vaswani et al., "Attention is all you need" (2017); memory: Rabe and Staats (2021).
    """
    name = "dot_product_attention"
    check_arraylike(name, query, key, value)
    check_arraylike_or_none(name, bias, mask, query_seq_lengths, key_value_seq_lengths)
    _check_implementation(implementation)
    _check_lengths(query_seq_lengths=query_seq_lengths, key_value_seq_lengths=key_value_seq_lengths)
    if scale is not None and np.iscomplexobj(scale):
        raise TypeError(f"{name}: scale must be a real number, got {scale}")
    single = typeof(query).ndim == 3
    q, k, v = (jnp.expand_dims(x, 0) if single else jnp.asarray(x) for x in (query, key, value))
    _check_shapes(q, k, v, bias, mask)
    outs, residual = _attention(
        q, k, v, bias, mask, query_seq_lengths, key_value_seq_lengths, scale, causal=bool(is_causal),
        window=_window(local_window_size), block=_QUERIES,
    )  # fmt: skip
    if single:
        outs, residual = outs[0], residual[0]
    return (outs, residual) if return_residual else outs


def _check_implementation(implementation: str | None) -> None:
    if implementation not in _IMPLEMENTATIONS:
        raise ValueError(
            f"dot_product_attention: implementation must be one of None, 'xla' and 'cudnn', got {implementation!r}"
        )
    if implementation == "cudnn" and default_backend() not in ("gpu", "cuda"):
        raise RuntimeError("dot_product_attention: implementation 'cudnn' needs a GPU")


def _check_shapes(query: Array, key: Array, value: Array, bias: Any, mask: Any) -> None:
    if query.ndim != 4:
        raise ValueError(
            f"dot_product_attention: query must have the shape (B, T, N, H) or (T, N, H), got {query.shape}"
        )
    batch, queries, heads, size = query.shape
    if key.ndim != 4 or key.shape[0] != batch or key.shape[3] != size or heads % max(key.shape[2], 1):
        raise ValueError(
            f"dot_product_attention: key must have the shape ({batch}, S, K, {size}) with a K of which {heads} "
            f"(the number of query heads) must be a multiple, got {key.shape}"
        )
    if value.shape != key.shape:
        raise ValueError(f"dot_product_attention: value must have the shape of key, {key.shape}, got {value.shape}")
    for what, array in (("key", key), ("value", value)):
        if array.dtype != query.dtype:
            raise ValueError(
                f"dot_product_attention: {what} must have the dtype of query, {query.dtype}, got {array.dtype}"
            )
    full = (batch, heads, queries, key.shape[1])
    for what, array in (("bias", bias), ("mask", mask)):
        shape = () if array is None else typeof(array).shape
        padded = (1,) * (4 - len(shape)) + tuple(shape)
        if len(shape) > 4 or any(n not in (1, m) for n, m in zip(padded, full, strict=True)):
            raise ValueError(f"dot_product_attention: {what} must broadcast to {full}, got the shape {shape}")
    if mask is not None and typeof(mask).dtype != np.bool_:
        raise ValueError(f"dot_product_attention: mask must hold bools, got {typeof(mask).dtype}")


def _check_lengths(**lengths: Any) -> None:
    for what, given in lengths.items():
        if given is not None and not dtypes.is_integer(typeof(given).dtype):
            raise ValueError(f"dot_product_attention: {what} must hold integers, got {typeof(given).dtype}")


def _window(size: int | tuple[int, int] | None) -> tuple[int, int] | None:
    if size is None:
        return None
    left, right = (size, size) if isinstance(size, int) else size
    if left < 0 or right < 0:
        raise ValueError(f"dot_product_attention: local_window_size must not be negative, got {size}")
    return int(left), int(right)


def _default_scale(query: Array) -> ArrayLike:
    width = query.shape[3]
    return lax.rsqrt(jnp.asarray(width, query.dtype)) if is_symbolic(width) else 1 / math.sqrt(width)


@api(static=("causal", "window", "block"))
def _attention(
    query: Array, key: Array, value: Array, bias: Any, mask: Any, query_lengths: Any, key_lengths: Any, scale: Any, causal: bool,
    window: tuple[int, int] | None, block: int,
) -> tuple[Any, Any]:  # fmt: skip
    count = query.shape[1]
    scale = _default_scale(query) if scale is None else scale
    bias, mask = (None if x is None else jnp.reshape(x, (1,) * (4 - jnp.ndim(x)) + jnp.shape(x)) for x in (bias, mask))

    def rows(start: Any, q: Array, b: Any, m: Any) -> tuple[Any, Any]:
        seen = _seen(start, q.shape[1], key.shape[1], m, causal, window, key_lengths)
        outs, residual = _weighted(q, key, value, b, seen, scale)
        if query_lengths is None:
            return outs, residual
        indices = start + jnp.arange(q.shape[1])
        inside = (indices < query_lengths[:, None])[:, :, None, None]
        return jnp.where(inside, outs, 0), residual

    if is_below(count, block + 1, True):
        return rows(0, query, bias, mask)
    number = -(-count // block)
    blocks = [_in_blocks(query, 1, number, block)]
    blocks += [None if x is None else x if x.shape[2] == 1 else _in_blocks(x, 2, number, block) for x in (bias, mask)]
    moving = [x is not None and (n == 0 or x.ndim == 5) for n, x in enumerate(blocks)]

    @checkpoint
    def step(start: Array, taken: tuple[Array, ...]) -> tuple[Any, Any]:
        given = iter(taken)
        return rows(start, *(next(given) if moves else x for moves, x in zip(moving, blocks, strict=True)))

    starts = jnp.arange(number, dtype=np.int32) * block
    carried = (starts, [x for moves, x in zip(moving, blocks, strict=True) if moves])
    outs, residual = lax.map(lambda given: step(*given), carried)
    outs, residual = (jnp.moveaxis(x, 0, 1).reshape(x.shape[1], -1, *x.shape[3:])[:, :count] for x in (outs, residual))
    return outs, residual


def _in_blocks(x: Array, axis: int, number: int, block: int) -> Any:
    """The array with its ``axis`` in blocks, zeros behind its end, the number of the block first."""
    padding = [(0, 0)] * x.ndim
    padding[axis] = (0, number * block - x.shape[axis])
    x = jnp.pad(x, padding)
    return jnp.moveaxis(x.reshape(*x.shape[:axis], number, block, *x.shape[axis + 1 :]), axis, 0)


def _seen(
    start: int,
    queries: int,
    keys: int,
    mask: Array | None,
    causal: bool,
    window: tuple[int, ...] | None,
    key_lengths: Array | None,
) -> Any:
    """Which keys each query sees, bools that broadcast to (B, N, T, S); None for all."""
    row, column = start + jnp.arange(queries)[:, None], jnp.arange(keys)
    parts = [] if mask is None else [mask]
    if causal:
        parts.append((column <= row)[None, None])
    if window is not None:
        parts.append(((column >= row - window[0]) & (column <= row + window[1]))[None, None])
    if key_lengths is not None:
        parts.append((column < jnp.asarray(key_lengths)[:, None])[:, None, None])
    seen = None
    for part in parts:
        seen = part if seen is None else seen & part
    return seen


def _weighted(query: Array, key: Array, value: Array, bias: Any, seen: Array, scale: ArrayLike) -> tuple[Any, Any]:
    """The weighted means of values and the logarithms of the sums of the weights; sums are float32 at least."""
    (batch, queries, heads, size), shared = query.shape, key.shape[2]
    wide = np.dtype(np.float64) if query.dtype == np.float64 else np.dtype(np.float32)
    g, groups = ("", (heads,)) if heads == shared else ("g", (shared, heads // shared if shared else 0))
    grouped = query.reshape(batch, queries, *groups, size)
    scores = jnp.einsum(f"btk{g}h,bskh->bk{g}ts", grouped, key, preferred_element_type=wide)
    scores = scores.reshape(batch, heads, queries, key.shape[1]) * jnp.asarray(scale, wide)
    if bias is not None:
        scores = (scores + bias).astype(wide)
    if seen is not None:  # not -inf: rows that see nothing have equal weights
        scores = jnp.where(seen, scores, jnp.asarray(-0.7 * float(dtypes.finfo(wide).max), wide))
    high = shift_along(scores, -1)
    weights = jnp.exp(scores - high)
    total = jnp.sum(weights, -1, keepdims=True)
    shares = (weights / total).astype(query.dtype).reshape(batch, *groups, queries, key.shape[1])
    outs = jnp.einsum(f"bk{g}ts,bskh->btk{g}h", shares, value).reshape(batch, queries, heads, size)
    residual = (jnp.log(total) + high)[..., 0]
    return outs, jnp.moveaxis(residual, 1, 2).astype(np.float32)
