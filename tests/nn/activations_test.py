"""Activation functions where NumPy and rules of differentiation leave a choice."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import nn


@pytest.mark.parametrize(("activation", "corners"), [(nn.relu, [0]), (nn.relu6, [0, 6]), (nn.hard_sigmoid, [-3, 3])])
def test_slopes_at_the_corners_are_zero(activation, corners):
    np.testing.assert_array_equal(arrax.vmap(arrax.grad(activation))(np.array(corners, np.float32)), 0)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float16, np.float32])
def test_hard_tanh_keeps_the_dtype(dtype):
    out = nn.hard_tanh(np.array([-3, 0, 2], dtype))
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, [-1, 0, 1])


def test_logmeanexp_is_the_logarithm_of_the_mean():
    x = np.array([[1.0, 2.0, 3.0], [1000.0, 1000.0, -1000.0]], np.float32)
    np.testing.assert_allclose(nn.logmeanexp(x[0]), np.log(np.mean(np.exp(x[0]))), rtol=1e-6)
    np.testing.assert_allclose(nn.logmeanexp(x, 1, keepdims=True)[1], 1000 + np.log(2 / 3), rtol=1e-6)
    where = np.array([True, False, True])
    np.testing.assert_allclose(nn.logmeanexp(x[0], where=where), np.log(np.mean(np.exp(x[0][where]))), rtol=1e-6)


def test_one_hot_takes_lists_and_standardize_an_algorithm():
    np.testing.assert_array_equal(arrax.nn.one_hot([0, 2], 3), [[1, 0, 0], [0, 0, 1]])
    for algorithm in (None, "stable", "fast"):
        np.testing.assert_allclose(
            arrax.nn.standardize(jnp.arange(3.0), algorithm=algorithm), [-1.2247, 0, 1.2247], rtol=1e-4
        )
    with pytest.raises(ValueError, match="algorithm"):
        arrax.nn.standardize(jnp.arange(3.0), algorithm="quick")
    with pytest.raises(arrax.errors.ConcretizationTypeError, match="num_classes"):
        arrax.jit(arrax.nn.one_hot)(3, 5)


ACTIVATIONS = [
    "relu", "relu6", "sigmoid", "softplus", "soft_sign", "silu", "swish", "log_sigmoid", "leaky_relu", "hard_sigmoid",
    "hard_silu", "hard_tanh", "elu", "celu", "selu", "gelu", "squareplus", "mish", "identity", "sparse_plus", "softmax",
    "log_softmax", "logsumexp", "standardize",
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "tolerance"), [("bfloat16", 0.03), ("float16", 0.01), ("float8_e4m3fn", 0.4)])
def test_small_floats_give_the_values_and_derivatives_of_large_ones(dtype, tolerance):
    x = jnp.asarray([-1.5, 0.5, 1.0, 2.0], dtype)

    def everything(x):
        values = {name: getattr(nn, name)(x) for name in ACTIVATIONS}
        slopes = {
            name: arrax.grad(lambda x, name=name: getattr(nn, name)(x).astype("float32").sum())(x)
            for name in ACTIVATIONS
        }
        return values, slopes

    small, large = arrax.jit(everything)(x), arrax.jit(everything)(x.astype("float32"))
    for found, wanted in zip(small, large, strict=True):
        for name in ACTIVATIONS:
            assert found[name].dtype == dtype, name
            np.testing.assert_allclose(np.asarray(found[name], np.float32), wanted[name], atol=tolerance, err_msg=name)


def test_of_no_elements():
    for shape in ((0,), (3, 0)):
        assert nn.softmax(jnp.zeros(shape)).shape == nn.log_softmax(jnp.zeros(shape)).shape == shape
        assert nn.logsumexp(jnp.zeros(shape)) == -np.inf
