"""Reductions by segment against a loop in NumPy; their options, derivatives, batches, mistakes."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import ops

RNG = np.random.default_rng(0)
IDS = np.array([2, 0, 0, 5, 2, -1, 9, 1], np.int32)
# fmt: off
OPERATIONS = {
    ops.segment_sum: (np.add, 0), ops.segment_prod: (np.multiply, 1),
    ops.segment_max: (np.maximum, -np.inf), ops.segment_min: (np.minimum, np.inf),
}
# fmt: on
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)


def expected(operation, data, ids, count):
    combine, empty = OPERATIONS[operation]
    if data.dtype.kind == "i" and not np.isfinite(empty):
        empty = np.iinfo(data.dtype).min if empty < 0 else np.iinfo(data.dtype).max
    out = np.full((count, *data.shape[1:]), empty, data.dtype)
    for number, row in zip(ids, data, strict=True):
        if 0 <= number < count:
            out[number] = combine(out[number], row)
    return out


@each_operation
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("shape", [(8,), (8, 3), (8, 2, 2)])
def test_values_are_those_of_a_loop(operation, dtype, shape):
    data = (RNG.standard_normal(shape) * 4).astype(dtype)
    wanted = expected(operation, data, IDS, 6)
    np.testing.assert_allclose(operation(data, IDS, 6), wanted, rtol=1e-6)
    np.testing.assert_allclose(operation(data, IDS, 6, bucket_size=3), wanted, rtol=1e-6)
    np.testing.assert_allclose(arrax.jit(operation, static_argnums=2)(data, IDS, 6), wanted, rtol=1e-6)
    assert operation(data, IDS).shape == (10, *shape[1:])


def test_promises_and_modes():
    ordered = np.array([0, 0, 1, 3], np.int32)
    np.testing.assert_array_equal(ops.segment_sum(np.ones(4), ordered, 4, indices_are_sorted=True), [2, 1, 0, 1])
    np.testing.assert_array_equal(ops.segment_sum(np.ones(3), np.array([2, 0, 1]), 3, unique_indices=True), [1, 1, 1])
    np.testing.assert_array_equal(ops.segment_sum(np.ones(3), np.array([-1, 0, 9]), 3, mode="clip"), [2, 0, 1])
    assert ops.segment_sum(np.ones((0, 2)), np.zeros(0, np.int32)).shape == (0, 2)


def test_more_buckets_than_narrow_numbers_count():
    ids = np.zeros(300, np.int8)
    np.testing.assert_array_equal(ops.segment_sum(np.ones(300, np.float32), ids, 2, bucket_size=1), [300, 0])


def test_derivatives_and_batches():
    data = jnp.asarray(RNG.standard_normal((8, 3)), jnp.float32)
    slope = arrax.grad(lambda data: (ops.segment_sum(data, IDS, 6) ** 2).sum() / 2)(data)
    sums = np.concatenate([ops.segment_sum(data, IDS, 6), np.zeros((4, 3))])
    np.testing.assert_allclose(slope, np.where((IDS < 0)[:, None], 0, sums[IDS]), rtol=1e-6)
    batch = jnp.stack([data, 2 * data])
    mapped = arrax.vmap(lambda data: ops.segment_max(data, IDS, 6))(batch)
    np.testing.assert_array_equal(mapped[1], ops.segment_max(2 * data, IDS, 6))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ops.segment_sum([1, 2], np.zeros(2, np.int32)), TypeError, "segment_sum.*list"),
        (lambda: ops.segment_sum(np.ones(2), np.zeros(2)), TypeError, "segment_ids must be integers, got float"),
        (lambda: ops.segment_max(np.ones(2), np.zeros(3, np.int32)), ValueError, r"\(3,\) and \(2,\)"),
        (lambda: ops.segment_sum(np.ones(2), np.zeros(2, np.int32), -1), ValueError, "not be negative"),
        (lambda: ops.segment_sum(np.ones(2), np.zeros(2, np.int32), 1.5), TypeError, "float"),
        (lambda: ops.segment_sum(np.ones(2), np.zeros(2, np.int32), 2, bucket_size=0), ValueError, "positive"),
        (lambda: arrax.jit(ops.segment_sum)(np.ones(2), np.zeros(2, np.int32)), TypeError, "num_segments"),
    ],
)
def test_mistakes_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_one_number_or_row_stands_for_all():
    ids = np.array([0, 2, 2])
    np.testing.assert_array_equal(ops.segment_sum(2.0, ids, 3), [2, 0, 4])
    np.testing.assert_array_equal(ops.segment_min(np.arange(2.0)[None], ids, 3), [[0, 1], [np.inf, np.inf], [0, 1]])
    assert arrax.grad(lambda x: ops.segment_sum(x, ids, 3).sum())(1.0) == 3
