"""Truncation of 64 bits, and dtypes that users request."""

import warnings

import numpy as np
import pytest

from arrax import dtypes
from arrax.dtypes import scalars

TRUNCATED = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


@pytest.mark.parametrize("dtype", sorted(dtypes.known_dtypes, key=str))
def test_64_bits_become_32_and_others_stay(dtype):
    assert dtypes.canonicalize_dtype(dtype) == np.dtype(TRUNCATED.get(dtype.name, dtype))


@pytest.mark.parametrize("dtype", sorted(dtypes.known_dtypes, key=str))
def test_everything_stays_where_64_bits_are_enabled(configure, dtype):
    configure(x64=True)
    assert dtypes.canonicalize_dtype(dtype) == dtype


@pytest.mark.parametrize("dtype_like", ["float64", np.str_("float64"), np.float64, float, scalars.float64, None, ">f8"])
def test_canonicalize_takes_dtype_likes(dtype_like):
    assert dtypes.canonicalize_dtype(dtype_like) == np.dtype("float32")


def test_canonical_dtypes_are_in_native_byte_order(configure):
    configure(x64=True)
    assert dtypes.canonicalize_dtype(np.dtype("float64").newbyteorder()).isnative


@pytest.mark.parametrize("dtype", [np.dtype(object), np.dtype("S1"), dtypes.float0])
def test_canonicalize_leaves_other_dtypes_alone(dtype):
    assert dtypes.canonicalize_dtype(dtype) == dtype


def test_python_numbers_have_default_dtypes(configure):
    assert [dtypes.python_scalar_dtype(cls).name for cls in (bool, int, float, complex)] == [
        "bool",
        "int32",
        "float32",
        "complex64",
    ]
    configure(x64=True)
    assert dtypes.python_scalar_dtype(int) == np.int64


def test_a_truncated_request_warns_with_the_documented_words():
    with pytest.warns(UserWarning) as caught:
        assert dtypes.check_user_dtype("", scalars.float64) == np.float32
    assert str(caught[0].message).startswith(
        "Explicitly requested dtype float64 is not available, and will be truncated to dtype "
        "float32. To enable more dtypes, set the jax_enable_x64 configuration option or the JAX_ENABLE_X64 shell "
        "environment variable."
    )


def test_the_warning_names_the_function_and_points_at_the_users_line():
    with pytest.warns(UserWarning, match="dtype int64 requested in zeros is not available") as caught:
        dtypes.check_user_dtype("zeros", "int64")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("dtype", ["float64", np.float64, np.dtype("float64"), scalars.float64, "float", "uint"])
def test_named_64_bit_dtypes_warn(dtype):
    with pytest.warns(UserWarning, match="truncated"):
        dtypes.check_user_dtype("zeros", dtype)


@pytest.mark.parametrize("dtype", [int, float, complex, bool, "float32", np.int8, scalars.bfloat16, dtypes.float0])
def test_other_requests_do_not_warn(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dtypes.check_user_dtype("zeros", dtype) == dtypes.canonicalize_dtype(dtype)


def test_requests_do_not_warn_where_64_bits_are_enabled(configure):
    configure(x64=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dtypes.check_user_dtype("zeros", "float64") == np.float64


def test_no_request_stays_none():
    assert dtypes.check_user_dtype("sum", None) is None


@pytest.mark.parametrize("dtype", [object, str, "S3", np.datetime64, np.dtype([("a", np.int32)])])
def test_dtypes_that_hold_no_numbers_are_refused(dtype):
    with pytest.raises(TypeError, match="requested in zeros"):
        dtypes.check_user_dtype("zeros", dtype)


def test_words_that_name_no_dtype_are_refused():
    with pytest.raises(TypeError, match="no_such"):
        dtypes.check_user_dtype("zeros", "no_such")
