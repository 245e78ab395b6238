"""Activation functions where NumPy and rules of differentiation leave a choice."""

import subprocess
import sys

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


def test_one_hot_takes_lists_and_refuses_traced_counts():
    np.testing.assert_array_equal(nn.one_hot([0, 2], 3), [[1, 0, 0], [0, 0, 1]])
    with pytest.raises(arrax.errors.ConcretizationTypeError, match="num_classes"):
        arrax.jit(nn.one_hot)(3, 5)
    with pytest.raises(TypeError):
        nn.one_hot([0], 2.5)
    with pytest.warns(DeprecationWarning, match="should hold integers, got dtype float32"):
        np.testing.assert_array_equal(nn.one_hot(np.float32([0.5, 1]), 2), [[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="axis 2"):
        nn.one_hot([0], 3, axis=2)
    for nothing in (None, [1.0]):
        with pytest.raises(TypeError, match="identity"):
            nn.identity(nothing)


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


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name not in ("logsumexp",)])
def test_the_argument_has_a_name(name):
    function = getattr(nn, name)
    np.testing.assert_array_equal(function(x=jnp.ones(2)), function(jnp.ones(2)))


def test_log1mexp_has_slopes_for_all_positive_numbers():
    x = np.array([1e-30, 1e-6, 0.5, 0.7, 3.0, 100.0], np.float32)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(arrax.vmap(arrax.grad(nn.log1mexp))(x), 1 / np.expm1(x), rtol=2e-6)


FAR = np.array(
    [-6e4, -1e4, -300, -90, -50, -20, -10, -6, -4, -2.5, -0.5, -1e-3, 1e-3, 0.5, 2.5, 4, 8, 20, 90, 300, 1e4, 6e4]
)
ELEMENTWISE = [name for name in ACTIVATIONS if name not in ("softmax", "log_softmax", "logsumexp", "standardize")]


def _values_and_slopes(x):
    functions = {name: getattr(nn, name) for name in ELEMENTWISE}
    functions["gelu, exact"] = lambda x: nn.gelu(x, approximate=False)
    functions["squareplus, 2.5"] = lambda x: nn.squareplus(x, 2.5)
    slopes = {name: arrax.vmap(arrax.grad(function))(x) for name, function in functions.items()}
    return {name: function(x) for name, function in functions.items()}, slopes


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_values_and_slopes_far_out_are_those_of_wide_numbers(dtype):
    x = np.asarray(jnp.asarray(FAR, dtype))
    found = arrax.jit(_values_and_slopes)(x)
    with arrax.enable_x64(True):
        wanted = arrax.jit(_values_and_slopes)(x.astype(np.float64))
    spacing = float(jnp.finfo(dtype).eps)
    for kind, (ours, wide) in enumerate(zip(found, wanted, strict=True)):
        for name in ours:
            np.testing.assert_allclose(
                np.asarray(ours[name], np.float64),
                wide[name],
                rtol=6 * spacing,
                atol=max(6e-8, kind * 4 * spacing),
                err_msg=name,
            )


def test_slopes_are_finite_at_the_largest_numbers():
    x = np.array([-1e38, -1e30, 1e30, 1e38], np.float32)
    values, slopes = arrax.jit(_values_and_slopes)(x)
    for name in values:
        assert np.isfinite(values[name]).all() and np.isfinite(slopes[name]).all(), name


def test_derivatives_of_nan_are_those_of_the_middle():
    assert arrax.grad(arrax.grad(nn.sparse_plus))(np.nan) == 0.5


@pytest.mark.parametrize("wide", [False, True])
def test_bools_are_floats_of_their_own_dtype(wide):
    with arrax.enable_x64(wide):
        assert all(
            nn.squareplus(x).dtype == np.float32 and not nn.squareplus(x).weak_type for x in (True, np.ones(2, bool))
        )


def test_complex_constants_of_compiled_programs_give_what_they_give_at_once():
    names = "celu elu hard_tanh leaky_relu log1mexp mish relu relu6 selu sparse_plus squareplus".split()
    compiled = arrax.jit(lambda: {name: getattr(nn, name)(1j) for name in names})()
    for name in names:
        alone = getattr(nn, name)(1j)
        assert compiled[name].dtype == alone.dtype == np.complex64 and compiled[name].weak_type == alone.weak_type
        np.testing.assert_allclose(compiled[name], alone, rtol=1e-6, err_msg=name)


def test_they_work_as_the_first_call_of_a_process():
    program = "import numpy as np; from arrax import nn; print(nn.softmax(np.zeros(2, 'f')), nn.gelu(np.zeros(1, 'f')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[0.5 0.5] [0.]\n"
