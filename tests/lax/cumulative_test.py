"""Cumulative operations and associative scans."""

import numpy as np
import pytest

import arrax
from arrax import lax
from arrax.lax import cumulative
from arrax.lax.recurrence import linear_recurrence, linear_recurrence_p
from tests.support import (
    FLOATING,
    assert_matches_numpy,
    bfloat16,
    check_batching,
    check_gradients,
    operations_of,
    samples,
)

# fmt: off
OPERATIONS = {
    lax.cumsum:       np.cumsum,
    lax.cumprod:      np.cumprod,
    lax.cummax:       np.maximum.accumulate,
    lax.cummin:       np.minimum.accumulate,
    lax.cumlogsumexp: np.logaddexp.accumulate,
}
# fmt: on
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)


def reversed_along(reference, axis):
    return lambda x: np.flip(reference(np.flip(x, axis), axis=axis), axis)


def test_the_table_has_every_operation():
    assert set(OPERATIONS) == operations_of(cumulative)


@each_operation
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_values_are_those_of_numpy(operation, dtype):
    reference = OPERATIONS[operation]
    (x,) = samples([(0.5, 2)], dtype, (3, 5))
    for axis in (0, 1):
        assert_matches_numpy(lambda v: operation(v, axis), lambda v: reference(v, axis=axis), [x])  # noqa: B023
    assert_matches_numpy(lambda v: operation(v, 1, True), reversed_along(reference, 1), [x])


@pytest.mark.parametrize("operation", [lax.cumsum, lax.cumprod, lax.cummax, lax.cummin], ids=lambda f: f.__name__)
def test_integers_and_complex_numbers_keep_their_types(operation):
    x = np.array([[3, 1, 2]], np.int8)
    result = operation(x, 1)
    assert result.dtype == np.int8
    np.testing.assert_array_equal(result, OPERATIONS[operation](x, axis=1))
    z = np.complex64([1 + 1j, 2 - 1j, 2 + 5j])
    if operation in (lax.cumsum, lax.cumprod):
        np.testing.assert_allclose(operation(z), OPERATIONS[operation](z), rtol=1e-6)
    else:
        assert operation(z).dtype == np.complex64


@each_operation
@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_agree_with_differences(operation, reverse):
    check_gradients(lambda v: operation(v, 1, reverse), samples([(-2, 2)], np.float64, (2, 4)), order=2)


@each_operation
def test_batches_agree_with_loops(operation):
    check_batching(lambda v: operation(v, 1), samples([(-2, 2)], np.float32, (2, 3)), rtol=1e-5)


@each_operation
def test_other_platforms_lowering_gives_the_same(operation, monkeypatch):
    (x,) = samples([(-1, 1)], np.float32, (3, 6))
    expected = np.asarray(operation(x, 1, True))
    monkeypatch.delitem(operation.primitive.lower, "cpu")
    np.testing.assert_allclose(arrax.jit(lambda v: operation(v, 1, True))(x), expected, rtol=1e-5, atol=1e-6)


def test_long_sums_keep_their_digits():
    x = np.random.default_rng(0).uniform(0, 1, 100_000).astype(np.float32)
    np.testing.assert_allclose(lax.cumsum(x), np.cumsum(x.astype(np.float64)), rtol=1e-6)
    halves = np.full((4096,), 0.5, bfloat16)
    assert float(np.asarray(lax.cumsum(halves))[-1]) == 2048


def test_zeros_and_ties_have_derivatives():
    def total(operation):
        return lambda v: lax.reduce_sum(operation(v), (0,))

    np.testing.assert_allclose(arrax.grad(total(lax.cumprod))(np.float32([2, 0, 3, 4])), [1, 2 + 6 + 24, 0, 0])
    np.testing.assert_allclose(arrax.grad(total(lax.cummax))(np.float32([2, 2, 1])), [2, 1, 0])
    np.testing.assert_array_equal(arrax.grad(total(lax.cummax))(np.float32([1, np.nan, 2])), [1, 0, 0])


def test_logarithms_of_nothing_are_harmless():
    x = np.float32([-np.inf, -np.inf, 1, 2, np.inf])
    np.testing.assert_allclose(lax.cumlogsumexp(x), np.logaddexp.accumulate(x), rtol=1e-6)
    slopes = arrax.grad(lambda v: lax.reduce_sum(lax.cumlogsumexp(v), (0,)))(x[:4])
    np.testing.assert_allclose(slopes, [1, 0, 1 + 1 / (1 + np.e), 1 / (1 + 1 / np.e)], rtol=1e-5)


def test_the_first_result_is_the_first_element_whatever_it_is():
    for first in (-np.inf, np.inf, np.nan):
        x, t = np.float32([first, 1]), np.float32([3, 5])
        assert arrax.jvp(lax.cumlogsumexp, (x,), (t,))[1][0] == 3
        assert arrax.jvp(lambda v: lax.cumlogsumexp(v, reverse=True), (x[::-1],), (t[::-1],))[1][1] == 3


def test_nans_spread_and_empty_axes_stay_empty():
    np.testing.assert_array_equal(lax.cummax(np.float32([1, np.nan, 2])), [1, np.nan, np.nan])
    for operation in OPERATIONS:
        assert operation(np.zeros((0, 3), np.float32)).shape == (0, 3)
        assert operation(np.zeros((3, 0), np.float32)).shape == (3, 0)


def test_missing_axes_and_bools_are_refused():
    with pytest.raises(ValueError, match=r"cumsum: axis 1 is out of bounds for array of shape \(3,\)"):
        lax.cumsum(np.ones(3, np.float32), 1)
    with pytest.raises(ValueError, match="cumsum: axis -1"):
        lax.cumsum(np.ones(3, np.float32), -1)
    with pytest.raises(TypeError, match="cumsum does not accept dtype bool"):
        lax.cumsum(np.ones(3, bool))
    with pytest.raises(TypeError, match="cumlogsumexp does not accept dtype int32"):
        lax.cumlogsumexp(np.ones(3, np.int32))


# ---- linear recurrences --------------------------------------------------------------------------------------------


def solution(a, b):
    y = np.zeros_like(b)
    for i in range(len(b)):
        y[i] = b[i] + (a[i] * y[i - 1] if i else 0)
    return y


@pytest.mark.parametrize("platform", ["cpu", "other"])
def test_recurrences_are_solved_from_either_end(platform, monkeypatch):
    a, b = samples([(-1, 1), (-1, 1)], np.float32, (7, 2))
    if platform == "other":
        monkeypatch.delitem(linear_recurrence_p.lower, "cpu")
    solve = arrax.jit(linear_recurrence, static_argnums=(2, 3))
    np.testing.assert_allclose(solve(a, b, 0, False), solution(a, b), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(solve(a, b, 0, True), solution(a[::-1], b[::-1])[::-1], rtol=1e-5, atol=1e-6)


def test_recurrences_have_derivatives_and_batch():
    a, b = samples([(-1, 1), (-1, 1)], np.float64, (4, 2))
    check_gradients(lambda p, q: linear_recurrence(p, q, 0, True), [a, b], order=2)
    check_batching(linear_recurrence, [a.astype(np.float32), b.astype(np.float32)], rtol=1e-5)


# ---- associative scans ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8])
def test_scans_give_all_prefixes(length):
    x = np.arange(1, length + 1, dtype=np.int32)
    np.testing.assert_array_equal(lax.associative_scan(lax.add, x), np.cumsum(x))
    np.testing.assert_array_equal(lax.associative_scan(lax.add, x, reverse=True), np.cumsum(x[::-1])[::-1])


def test_scans_keep_the_order_of_operands():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, 6, 3)).astype(np.float32)

    def compose(f, g):  # of the functions v -> a v + b, f first
        return {"a": lax.mul(f["a"], g["a"]), "b": lax.add(lax.mul(g["a"], f["b"]), g["b"])}

    out = lax.associative_scan(compose, {"a": a, "b": b})
    np.testing.assert_allclose(out["b"], solution(a, b), rtol=1e-5, atol=1e-6)
    backwards = lax.associative_scan(compose, {"a": a.T, "b": b.T}, reverse=True, axis=-1)
    np.testing.assert_allclose(np.asarray(backwards["b"]).T, solution(a[::-1], b[::-1])[::-1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("length", [5, 33])
def test_scans_have_derivatives(length):
    check_gradients(lambda v: lax.associative_scan(lax.mul, v), samples([(0.9, 1.1)], np.float64, (length, 2)))


def test_levels_of_long_scans_are_calls_of_their_own():
    decay, x = np.random.default_rng(0).uniform(0.5, 1, (2, 3, 70)).astype(np.float32)

    def compose(f, g):
        return f[0] * g[0], g[0] * f[1] + g[1]

    def last(scale, decay, x):
        return lax.associative_scan(compose, (scale * decay, x), reverse=True)[1]

    wanted = np.stack([solution(0.5 * a[::-1], b[::-1])[::-1] for a, b in zip(decay, x, strict=True)])
    mapped = arrax.jit(arrax.vmap(last, (None, 0, 0)))
    np.testing.assert_allclose(mapped(0.5, decay, x), wanted, rtol=1e-5)
    few = arrax.vmap(last, (None, 0, 0))(0.5, decay[:, -5:], x[:, -5:])
    np.testing.assert_allclose(few, wanted[:, -5:], rtol=1e-5)
    calls = mapped.lower(0.5, decay, x).as_text().count('inlineable = "false"')
    assert calls == 4  # two for each of the levels of 70 and 35 entries
    slope = arrax.jit(arrax.grad(lambda scale: last(scale, decay[0], x[0]).sum()))(0.5)
    above, below = (solution(scale * decay[0, ::-1], x[0, ::-1]).sum() for scale in (0.51, 0.49))
    numeric = (above - below) / 0.02
    np.testing.assert_allclose(slope, numeric, rtol=1e-2)


def test_scans_refuse_what_does_not_fit():
    x = np.ones((3, 4), np.float32)
    with pytest.raises(TypeError, match="argument fn: must be callable"):
        lax.associative_scan(1, x)
    with pytest.raises(ValueError, match="equal length along the first dimension"):
        lax.associative_scan(lambda a, b: a, (x, x.T))
    with pytest.raises(ValueError, match="axis 5 is out of bounds"):
        lax.associative_scan(lax.add, x, axis=5)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
@pytest.mark.parametrize("reverse", [False, True])
def test_many_rows_go_one_by_one(dtype, reverse):
    x = np.random.default_rng(0).integers(1, 4, (3, 40, 50)).astype(dtype)  # six groups of entries, and two entries
    for function, expected in ((lax.cumsum, np.cumsum), (lax.cummax, np.maximum.accumulate)):
        turned = x[..., ::-1] if reverse else x
        wanted = expected(turned, axis=2)
        np.testing.assert_array_equal(function(x, axis=2, reverse=reverse), wanted[..., ::-1] if reverse else wanted)
    text = arrax.jit(lambda x: lax.cumsum(x, axis=2)).lower(x).as_text()
    assert "stablehlo.transpose" not in text and text.count("stablehlo.while") == 3
    if dtype == np.float32:
        gradient = arrax.grad(lambda x: (lax.cumsum(x, axis=2, reverse=reverse) * x).sum())(x)
        sums = np.cumsum(x[..., ::-1], 2)[..., ::-1] + np.cumsum(x, 2)
        np.testing.assert_allclose(gradient, sums, rtol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
def test_tangents_of_products_that_begin_with_an_infinity_are_those_of_the_factors(reverse):
    x, order = np.array([np.inf, 2, 3], np.float32), slice(None, None, -1 if reverse else 1)
    out = arrax.jvp(lambda x: lax.cumprod(x, reverse=reverse), (x[order],), (np.ones(3, np.float32),))[1]
    np.testing.assert_array_equal(out[order], [1, np.inf, np.inf])
