"""Attention: values against NumPy, masks, blocks, derivatives."""

import numpy as np
import pytest

import arrax
from arrax import nn
from arrax.nn import attention
from tests.support import FLOATING, check_batching, check_gradients, precision, wide, x64_for

RNG = np.random.default_rng(0)
SHAPES = {
    "plain": ((2, 5, 4, 3), (2, 6, 4, 3)),
    "grouped": ((2, 5, 4, 3), (2, 6, 2, 3)),
    "shared": ((1, 4, 3, 2), (1, 4, 1, 2)),
}


def draw(name, dtype=np.float32):
    query, key = SHAPES[name]
    return [RNG.normal(size=shape).astype(dtype) for shape in (query, key, key)]


def plain(q, k, v, bias=0, seen=True, scale=None):
    """Attention as the formula says it, in double precision."""
    q, k, v = (wide(x) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], 2) for x in (k, v))
    scores = np.einsum("btnh,bsnh->bnts", q, k) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale) + bias
    scores = np.where(seen, scores, -1e300)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bnts,bsnh->btnh", weights / weights.sum(-1, keepdims=True), v)


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_values_are_those_of_the_formula(name, dtype):
    q, k, v = draw(name, dtype)
    with x64_for(dtype):
        out = nn.dot_product_attention(q, k, v)
    assert out.dtype == dtype
    np.testing.assert_allclose(wide(out), plain(q, k, v), atol=8 * precision(dtype))


def masks(queries, keys):
    row, column = np.arange(queries)[:, None], np.arange(keys)
    some = RNG.uniform(size=(2, 4, queries, keys)) < 0.7
    some[..., 0] = True
    return {
        "causal": (dict(is_causal=True), column <= row),
        "mask": (dict(mask=some), some),
        "one mask for all": (dict(mask=some[:1, :1]), some[:1, :1]),
        "bias": (dict(bias=np.log(some + 0.1).astype(np.float32)), None),
        "window": (dict(local_window_size=(2, 1)), (column >= row - 2) & (column <= row + 1)),
        "even window": (dict(local_window_size=1), abs(column - row) <= 1),
        "lengths": (
            dict(key_value_seq_lengths=np.array([3, 5])), column < np.array([3, 5])[:, None, None, None],
        ),
        "several": (dict(is_causal=True, mask=some), some & (column <= row)),
    }  # fmt: skip


@pytest.mark.parametrize("case", masks(1, 1))
@pytest.mark.parametrize("block", [2, 256])
def test_masks_and_biases_apply_in_blocks_and_in_one(case, block, monkeypatch):
    monkeypatch.setattr(attention, "_QUERIES", block)
    q, k, v = draw("plain")
    options, seen = masks(5, 6)[case]
    expected = plain(q, k, v, options.get("bias", 0), True if seen is None else seen)
    np.testing.assert_allclose(nn.dot_product_attention(q, k, v, **options), expected, rtol=1e-5, atol=1e-5)


def test_without_keys_nothing_is_seen():
    q, k, v = draw("plain")
    np.testing.assert_array_equal(nn.dot_product_attention(q, k[:, :0], v[:, :0]), np.zeros_like(q))


def test_rows_beyond_the_length_of_queries_are_zero():
    q, k, v = draw("plain")
    out = np.asarray(nn.dot_product_attention(q, k, v, query_seq_lengths=np.array([2, 5])))
    assert np.all(out[0, 2:] == 0) and np.all(out[0, :2] != 0) and np.all(out[1] != 0)


def test_the_residual_is_the_logarithm_of_the_sum_of_weights():
    q, k, v = draw("plain")
    scores = np.einsum("btnh,bsnh->btns", q, k) / np.sqrt(3)
    _, residual = nn.dot_product_attention(q, k, v, return_residual=True)
    np.testing.assert_allclose(residual, np.log(np.exp(scores).sum(-1)), rtol=1e-5)
    out, residual = nn.dot_product_attention(q[0], k[0], v[0], return_residual=True)
    assert out.shape == (5, 4, 3) and residual.shape == (5, 4)


@pytest.mark.parametrize("block", [2, 256])
def test_derivatives_agree_with_finite_differences(block, monkeypatch):
    monkeypatch.setattr(attention, "_QUERIES", block)
    check_gradients(lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True), draw("shared"), order=1)


def test_mapping_agrees_with_a_loop():
    check_batching(nn.dot_product_attention, draw("grouped"), rtol=1e-5, atol=1e-5)


def test_long_rows_of_queries_keep_memory_small():
    q = arrax.ShapeDtypeStruct((1, 8192, 1, 16), np.float32)
    gradient = arrax.grad(lambda q: nn.dot_product_attention(q, q, q, is_causal=True).sum())
    memory = arrax.jit(gradient).lower(q).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 8192 * 8192 * 4 / 2  # the weights of all pairs would take 256 MiB


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (dict(mask=np.ones((5, 6), np.float32)), ValueError, "mask must hold bools"),
        (dict(bias=np.ones((5, 5), np.float32)), ValueError, "bias must broadcast"),
        (dict(key=np.ones((2, 6, 3, 3), np.float32)), ValueError, "key must have the shape"),
        (dict(value=np.ones((2, 5, 4, 3), np.float32)), ValueError, "value must have the shape of key"),
        (dict(key=np.ones((2, 6, 4, 3), np.float16)), ValueError, "dtype of query"),
        (dict(scale=1j), TypeError, "scale must be a real number"),
        (dict(implementation="fast"), ValueError, "implementation must be"),
        (dict(local_window_size=-1), ValueError, "must not be negative"),
        (dict(query_seq_lengths=np.ones(2, np.float32)), ValueError, "query_seq_lengths must hold integers"),
    ],
)
def test_bad_arguments_are_refused(change, error, words):
    q, k, v = draw("plain")
    with pytest.raises(error, match=words):
        nn.dot_product_attention(**{"query": q, "key": k, "value": v, **change})
