"""Sums of exponentials and what is normed by sums."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import nn
from tests.support import bfloat16, check_gradients, wide

RNG = np.random.default_rng(0)


def test_logmeanexp_is_the_logarithm_of_the_mean():
    x = np.array([[1.0, 2.0, 3.0], [1000.0, 1000.0, -1000.0]], np.float32)
    np.testing.assert_allclose(nn.logmeanexp(x[0]), np.log(np.mean(np.exp(x[0]))), rtol=1e-6)
    np.testing.assert_allclose(nn.logmeanexp(x, 1, keepdims=True)[1], 1000 + np.log(2 / 3), rtol=1e-6)
    where = np.array([True, False, True])
    np.testing.assert_allclose(nn.logmeanexp(x[0], where=where), np.log(np.mean(np.exp(x[0][where]))), rtol=1e-6)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [-1, 0, None, (0, 1)])
def test_logmeanexp_along_axes_with_a_mask(axis, keepdims):
    rng = np.random.default_rng(2)
    x, where = rng.normal(size=(3, 4)).astype(np.float32), rng.uniform(size=(3, 4)) > 0.3
    where[:, 0] = True
    expected = np.log(np.mean(np.exp(x), axis, keepdims=keepdims, where=where))
    np.testing.assert_allclose(nn.logmeanexp(x, axis, where, keepdims), expected, rtol=1e-5, atol=1e-6)


def test_logsumexp_of_complex_numbers_has_a_real_size_and_a_complex_sign():
    x, b = np.array([1 + 1j, 2.0]), np.array([1j, -2.0])
    with arrax.enable_x64(True):
        for weights in (None, b):
            total = np.sum((1 if weights is None else weights) * np.exp(x))
            np.testing.assert_allclose(nn.logsumexp(x, b=weights), np.log(total))
            size, sign = nn.logsumexp(x, b=weights, return_sign=True)
            assert size.dtype == np.float64
            np.testing.assert_allclose([np.exp(size), sign], [abs(total), total / abs(total)])
        np.testing.assert_allclose(nn.logsumexp(x.real, b=b), np.log(np.sum(b * np.exp(x.real))))
        assert np.isnan(nn.logsumexp(np.array([1.0, 2.0]), b=np.array([1.0, -1.0])))


def test_of_no_elements():
    for shape in ((0,), (3, 0)):
        assert nn.softmax(jnp.zeros(shape)).shape == nn.log_softmax(jnp.zeros(shape)).shape == shape
        assert nn.logsumexp(jnp.zeros(shape)) == -np.inf


# ---- standardize ----------------------------------------------------------------------------------------------------


def standardized(x, axis=-1, mean=None, variance=None, epsilon=1e-5, where=True, about_mean=True):
    """The definition, in double precision."""
    x = np.asarray(x, np.float64)
    squares = np.mean(np.square(x), axis, keepdims=True, where=where)
    about = np.mean(x, axis, keepdims=True, where=where) if mean is None else mean
    if variance is None and (about_mean or mean is None):
        variance = np.mean(np.square(x - about), axis, keepdims=True, where=where)
    elif variance is None:
        variance = np.maximum(squares - np.square(mean), 0)
    return (x - about) / np.sqrt(variance + epsilon)


MASK = RNG.uniform(size=(4, 6)) > 0.4
MASK[:, 0] = True
OPTIONS = {
    "alone": {}, "first axis": {"axis": 0}, "two axes": {"axis": (0, 1)}, "all": {"axis": None}, "where": {"where": MASK},
    "mean": {"mean": 0.25}, "mean of rows": {"mean": RNG.normal(size=(4, 1)).astype(np.float32)}, "variance": {"variance": 2.0},
    "mean, where": {"mean": 0.25, "where": MASK}, "both": {"mean": 0.25, "variance": 2.0}, "epsilon": {"epsilon": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_standardize_is_its_definition(options, algorithm):
    x = np.random.default_rng(3).normal(0.3, 1.0, (4, 6)).astype(np.float32)
    expected = standardized(x, **options, about_mean=algorithm == "stable")
    np.testing.assert_allclose(nn.standardize(x, algorithm=algorithm, **options), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardize_does_not_cancel(algorithm):
    x = (1e4 + np.random.default_rng(1).normal(size=50)).astype(np.float32)
    np.testing.assert_allclose(nn.standardize(x, algorithm=algorithm), standardized(x), rtol=1e-3, atol=4e-3)


@pytest.mark.parametrize("dtype", [np.float16, bfloat16], ids=str)
def test_standardize_of_small_floats_is_rounded_once_and_does_not_overflow(dtype):
    for x in (np.random.default_rng(4).normal(0.3, 1.0, (4, 6)).astype(dtype), np.array([300, -400, 200, 100], dtype)):
        out = nn.standardize(x)
        assert out.dtype == dtype
        np.testing.assert_array_equal(wide(out), wide(standardized(wide(x)).astype(dtype)))
    assert nn.standardize(x, mean=np.float32(0)).dtype == np.float32


def test_standardize_of_integers_is_floating_and_has_derivatives():
    np.testing.assert_allclose(nn.standardize(jnp.arange(3)), [-1.2247, 0, 1.2247], rtol=1e-4)
    x = np.random.default_rng(5).normal(size=(2, 5))
    check_gradients(lambda x, m: nn.standardize(x) + nn.standardize(x, mean=m), [x, np.full((2, 1), 0.1)])
    assert np.isfinite(arrax.grad(lambda x: nn.standardize(x)[0])(jnp.full(3, 7.0))).all()


@pytest.mark.parametrize("algorithm", ["quick", None])
def test_standardize_knows_two_algorithms(algorithm):
    with pytest.raises(ValueError, match="standardize: algorithm"):
        nn.standardize(jnp.arange(3.0), algorithm=algorithm)


def test_operands_are_promoted_together():
    with arrax.enable_x64(True):
        x, half = jnp.arange(3, dtype=np.int32), jnp.ones(3, jnp.bfloat16)
        assert nn.logsumexp(1.0, b=half).dtype == jnp.bfloat16 and nn.logsumexp(x, b=0.5).dtype == np.float64
        standard = nn.standardize(x, mean=1, variance=4)
        assert standard.dtype == np.float64 and standard.weak_type
        assert nn.celu(x, 2).dtype == np.float64


def test_named_axes_are_normalized_as_the_batch_that_they_stand_for():
    x = np.sin(np.arange(24, dtype=np.float32)).reshape(4, 2, 3)
    mask = x > -0.5
    functions = (nn.softmax, nn.log_softmax, nn.standardize)

    def along(axis, x, mask):
        return [f(x, axis) for f in functions] + [f(x, axis, where=mask) for f in functions]

    named = arrax.vmap(lambda x, mask: along(("i", -1), x, mask), axis_name="i")(x, mask)
    for found, expected in zip(named, along((0, 2), x, mask), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    weights = np.cos(x)
    slopes = arrax.grad(lambda x: (arrax.vmap(lambda x: nn.softmax(x, ("i", -1)), axis_name="i")(x) * weights).sum())(x)
    expected = arrax.grad(lambda x: (nn.softmax(x, (0, 2)) * weights).sum())(x)
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("function", ["softmax", "log_softmax", "logsumexp", "logmeanexp"])
@pytest.mark.parametrize("mask", [np.ones(3, np.int32), np.ones(3, np.float32), 1])
def test_masks_that_hold_no_bools_are_refused(function, mask):
    with pytest.raises(ValueError, match=f"{function}: where must be None or a boolean array"):
        getattr(nn, function)(np.zeros(3, np.float32), where=mask)
