"""Initializers: shapes, dtypes, moments, orthogonality, refusals."""

import numpy as np
import pytest

import arrax
from arrax.nn import initializers
from tests.support import x64_for

KEY = 3
SCALED = {  # initializer: the variance of its numbers for 300 inputs and 200 outputs
    initializers.glorot_uniform: 2 / 500,
    initializers.glorot_normal: 2 / 500,
    initializers.lecun_uniform: 1 / 300,
    initializers.lecun_normal: 1 / 300,
    initializers.he_uniform: 2 / 300,
    initializers.he_normal: 2 / 300,
}


@pytest.mark.parametrize("initializer", SCALED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_the_variance_is_that_of_the_inputs_and_outputs(initializer, dtype):
    drawn = np.asarray(initializer()(arrax.random.key(KEY), (300, 200), dtype))
    assert drawn.dtype == dtype and drawn.shape == (300, 200)
    assert abs(drawn.mean()) < 0.02 * np.sqrt(SCALED[initializer])
    np.testing.assert_allclose(np.mean(np.abs(drawn) ** 2), SCALED[initializer], rtol=0.04)


@pytest.mark.parametrize("distribution", ["normal", "truncated_normal", "uniform"])
@pytest.mark.parametrize(
    ("mode", "count"),
    [("fan_in", 3 * 40 * 4), ("fan_out", 3 * 50 * 4), ("fan_avg", 540), ("fan_geo_avg", np.sqrt(480 * 600))],
)
def test_windows_count_for_inputs_and_outputs(mode, count, distribution):
    init = initializers.variance_scaling(1.5, mode, distribution, in_axis=2, out_axis=-1)
    drawn = np.asarray(init(arrax.random.key(KEY), (3, 4, 40, 50)))
    np.testing.assert_allclose(drawn.var(), 1.5 / count, rtol=0.05)


def test_axes_of_batches_count_for_neither():
    init = initializers.variance_scaling(1.0, "fan_in", "normal", in_axis=1, out_axis=2, batch_axis=0)
    np.testing.assert_allclose(np.asarray(init(arrax.random.key(KEY), (10, 50, 60))).var(), 1 / 50, rtol=0.03)


@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (2, 3, 5), (5, 5)])
@pytest.mark.parametrize("column_axis", [-1, 0])
def test_orthogonal_matrices_have_orthonormal_rows_or_columns(shape, column_axis):
    out = np.asarray(initializers.orthogonal(2.0, column_axis)(arrax.random.key(KEY), shape))
    assert out.shape == shape
    matrix = np.moveaxis(out, column_axis, -1).reshape(-1, shape[column_axis]) / 2
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 2, 4), (3, 3, 2, 4), (3, 5, 3, 2, 2)])
def test_delta_orthogonal_kernels_are_orthogonal_in_the_middle(shape):
    out = np.asarray(initializers.delta_orthogonal()(arrax.random.key(KEY), shape))
    middle = out[tuple((n - 1) // 2 for n in shape[:-2])]
    np.testing.assert_allclose(middle @ middle.T, np.eye(shape[-2]), atol=1e-5)
    assert np.count_nonzero(out) == np.count_nonzero(middle)


def test_the_simple_ones_give_what_they_say():
    key = arrax.random.key(KEY)
    assert np.all(np.asarray(initializers.zeros(key, (2, 3))) == 0)
    assert np.all(np.asarray(initializers.ones(key, (2, 3), np.int32)) == 1)
    assert np.all(np.asarray(initializers.constant(2.5)(key, (2, 3))) == 2.5)
    spread = np.asarray(initializers.uniform(0.5)(key, (10_000,)))
    assert spread.min() >= 0 and spread.max() < 0.5 and abs(spread.mean() - 0.25) < 0.005
    assert abs(np.asarray(initializers.normal(0.3)(key, (10_000,))).std() - 0.3) < 0.01
    cut = np.asarray(initializers.truncated_normal(0.5, lower=-1.0, upper=3.0)(key, (10_000,)))
    assert cut.min() >= -0.5 and cut.max() <= 1.5


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_call_s_dtype_is_used_before_the_default(dtype):
    with x64_for(dtype):
        assert initializers.he_normal(dtype=np.float32)(arrax.random.key(0), (2, 2), dtype).dtype == dtype
        assert initializers.normal(dtype=dtype)(arrax.random.key(0), (2, 2)).dtype == dtype


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda key: initializers.variance_scaling(1.0, "fan", "normal"), "mode must be one of"),
        (lambda key: initializers.variance_scaling(1.0, "fan_in", "cauchy"), "distribution must be one of"),
        (lambda key: initializers.he_normal()(key, (3,)), "at least 2 axes"),
        (lambda key: initializers.orthogonal()(key, (3,)), "at least 2 axes"),
        (lambda key: initializers.delta_orthogonal()(key, (3, 4)), "3, 4 or 5 axes"),
        (lambda key: initializers.delta_orthogonal()(key, (3, 4, 2)), "at least"),
        (lambda key: initializers.normal()(key, (3,), np.int32), "dtype must be floating"),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call(arrax.random.key(0))


@pytest.mark.parametrize("make", [initializers.uniform, initializers.normal, initializers.orthogonal])
def test_complex_factors_need_a_complex_dtype(make):
    with pytest.raises(TypeError, match=f"{make.__name__}: a complex factor"):
        make(1j)(arrax.random.key(0), (2, 2))
    with pytest.raises(TypeError, match="variance_scaling: a complex factor"):
        initializers.variance_scaling(1j, "fan_in", "normal")(arrax.random.key(0), (2, 2))
    key, shape, dtype = arrax.random.key(0), (2, 2), np.complex64
    if make is not initializers.uniform:
        np.testing.assert_allclose(make(2j)(key, shape, dtype), 2j * make(1)(key, shape, dtype), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_orthogonal_matrices_of_small_floats(dtype):
    matrix = initializers.orthogonal()(arrax.random.key(0), (6, 4), dtype)
    assert matrix.dtype == dtype
    wide = np.asarray(matrix, np.float32)
    np.testing.assert_allclose(wide.T @ wide, np.eye(4), atol=0.02)
