"""Conversion between types, and the same bits under another type."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import arrax
from arrax import lax
from arrax import numpy as jnp
from tests.support import check_batching, check_gradients

NAMES = ["bool", "int4", "uint4", "int8", "uint8", "int32", "uint32", "float8_e4m3fn", "float8_e5m2", "float16", "bfloat16",
         "float32", "complex64"]  # fmt: skip
DTYPES = [np.dtype(getattr(ml_dtypes, name, name)) for name in NAMES]


def exact(x):
    return np.asarray(x).astype(np.complex64)


def test_every_type_becomes_every_other_one():
    def all_conversions(xs):
        return [lax.convert_element_type(x, dtype) for x, dtype in itertools.product(xs, DTYPES)]

    arrays = [np.array([0, 1, 1, 0]).astype(dtype) for dtype in DTYPES]
    for out, (x, dtype) in zip(arrax.jit(all_conversions)(arrays), itertools.product(arrays, DTYPES), strict=True):
        assert out.dtype == dtype
        np.testing.assert_array_equal(exact(out), exact(x))


def test_conversion_of_complex_numbers_and_to_bools():
    z = np.array([1 + 2j, 0], np.complex64)
    np.testing.assert_array_equal(lax.convert_element_type(z, np.float32), [1, 0])
    np.testing.assert_array_equal(
        lax.convert_element_type(np.array([0.5, 0, -2, np.nan], np.float32), bool), [True, False, True, True]
    )
    np.testing.assert_array_equal(lax.convert_element_type(np.array([1.9, -1.9], np.float32), np.int32), [1, -1])


def test_no_dtype_is_refused():
    with pytest.raises(ValueError, match="the dtype must be given"):
        lax.convert_element_type(1.0, None)


def test_conversion_is_linear_between_floats_and_batches():
    check_gradients(lambda x: lax.convert_element_type(x, np.float64) ** 2, [np.arange(3.0)])
    slope = arrax.grad(lambda x: lax.convert_element_type(x, arrax.numpy.bfloat16).astype(np.float32) * 3)(
        np.float32(1)
    )
    assert slope.dtype == np.float32 and float(slope) == 3
    assert float(arrax.grad(lambda x: lax.convert_element_type(x, np.int32).astype(np.float32))(2.5)) == 0
    check_batching(lambda x: lax.convert_element_type(x, np.int32), [np.arange(6.0).reshape(2, 3)])


SAME = [("float32", "int32"), ("int8", "uint8"), ("bfloat16", "uint16"), ("float8_e5m2", "int8"), ("uint32", "float32")]


@pytest.mark.parametrize(("before", "after"), SAME)
def test_bits_stay_under_a_type_of_the_same_width(before, after):
    before, after = (np.dtype(getattr(ml_dtypes, name, name)) for name in (before, after))
    x = np.array([[1, 2, 3], [0, 5, 6]]).astype(before)
    out = np.asarray(lax.bitcast_convert_type(x, after))
    assert out.dtype == after
    np.testing.assert_array_equal(out.view(np.uint8), x.view(np.uint8))


@pytest.mark.parametrize(("wide", "narrow"), [("uint32", "uint8"), ("float32", "int16"), ("int32", "bfloat16")])
def test_bits_of_wide_types_are_several_narrow_ones(wide, narrow):
    wide, narrow = (np.dtype(getattr(ml_dtypes, name, name)) for name in (wide, narrow))
    x = np.array([1, 1 << 20, 77], np.uint32).view(wide) if wide.kind != "f" else np.array([1.5, -2, 7], wide)
    pieces = lax.bitcast_convert_type(x, narrow)
    assert pieces.shape == (3, wide.itemsize // narrow.itemsize)
    np.testing.assert_array_equal(np.asarray(pieces).view(np.uint8).ravel(), x.view(np.uint8).ravel())
    np.testing.assert_array_equal(np.asarray(lax.bitcast_convert_type(pieces, wide)).view(np.uint8), x.view(np.uint8))
    check_batching(lambda x: lax.bitcast_convert_type(x, narrow), [x])


def test_bits_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="the last axis must have length 4"):
        lax.bitcast_convert_type(np.ones((2, 3), np.uint8), np.uint32)
    for before, after in ((bool, np.uint8), (np.int8, bool), (np.complex64, np.float32), (np.float64, np.complex64)):
        with pytest.raises(TypeError, match="bool and complex"):
            lax.bitcast_convert_type(np.ones(2, before), after)


@pytest.mark.parametrize("kind", [int, float, complex])
def test_types_of_python_numbers_name_default_dtypes(kind):
    with arrax.enable_x64(True):
        x = np.ones(2, np.int8)
        assert lax.convert_element_type(x, kind).dtype == np.dtype(kind)
        assert not lax.convert_element_type(x, kind).weak_type
        assert not lax.convert_element_type(x, np.dtype(kind)).weak_type


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_products_of_flags_with_infinities_are_nan_in_compiled_programs_too(dtype):
    flags, x = np.array([False, True]), np.array([np.inf, 2], dtype)
    for function in (jnp.multiply, lambda flags, x: lax.convert_element_type(flags, dtype) * x):
        out = np.asarray(arrax.jit(function)(flags, x))
        assert out.dtype == dtype and np.isnan(out[0]) and out[1] == 2
