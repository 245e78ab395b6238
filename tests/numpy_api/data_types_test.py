"""What there is to know of dtypes, and integers narrower than NumPy's."""

import ml_dtypes
import numpy as np
import pytest

import arrax.numpy as jnp


def test_limits_of_numpys_dtypes_are_python_numbers_and_those_of_others_scalars_of_these():
    assert type(jnp.finfo(jnp.float32).max) is float and jnp.finfo(jnp.float32).max == np.finfo(np.float32).max
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        limits = jnp.finfo(name)
        assert type(limits.max) is getattr(ml_dtypes, name) and limits.max.astype(np.float32) > 400
        assert limits.max == ml_dtypes.finfo(name).max and type(limits.bits) is int


@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4"])
def test_narrow_integers_wrap_around(dtype):
    values = [[1, 2], [3, 4], [-1, 300]]
    expected = np.array(values).astype(dtype)
    np.testing.assert_array_equal(jnp.array(values, dtype), expected)
    np.testing.assert_array_equal(jnp.array(values[0] + values[2], dtype), np.array([1, 2, -1, 300]).astype(dtype))
    assert jnp.array(300, dtype) == np.array(300).astype(dtype)


def test_narrow_integers_are_counted_and_count_themselves():
    numbers = jnp.array([1, -3, 2, 2], jnp.int4)
    wide = np.asarray(numbers).astype(int)
    np.testing.assert_array_equal(jnp.bincount(abs(numbers)), np.bincount(abs(wide)))
    for found, wanted in (
        (jnp.histogram(numbers, 3, weights=numbers), np.histogram(wide, 3, weights=wide)),
        (jnp.histogramdd(numbers[:, None], [[-3, 0, 2]]), np.histogramdd(wide[:, None], [[-3, 0, 2]])),
    ):
        np.testing.assert_array_equal(found[0], wanted[0])
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6)
    np.testing.assert_array_equal(jnp.repeat(jnp.arange(4), abs(numbers)), np.repeat(np.arange(4), abs(wide)))
    np.testing.assert_array_equal(jnp.roll(jnp.arange(20), numbers[1]), np.roll(np.arange(20), -3))


def test_numpys_integers_do_not():
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        jnp.array([300], jnp.int8)


@pytest.mark.parametrize("text, dtype, number", [("1.5", "float32", 1.5), ("-3", "int16", -3), ("2j", "complex64", 2j)])
def test_numbers_in_writing_are_read_where_a_dtype_is_given(text, dtype, number):
    for made in (getattr(jnp, dtype)(text), jnp.array(text, dtype), jnp.asarray([text], dtype)[0]):
        assert made.dtype == dtype and made == number
    with pytest.raises(ValueError, match="one"):
        jnp.array("one", dtype)
    with pytest.raises(TypeError, match="not a valid JAX array type"):
        jnp.array(text)
