"""Limits of dtypes."""

import numpy as np
import pytest

from arrax import dtypes
from arrax.dtypes import scalars

FLOATING = sorted(dtypes.floating_dtypes, key=str)
INTEGERS = sorted(dtypes.integer_dtypes, key=str)


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_one_plus_eps_is_the_next_float(dtype):
    info = dtypes.finfo(dtype)
    assert info.dtype == dtype
    assert info.bits == dtypes.itemsize_bits(dtype)
    assert float(info.max) > 0 and float(info.tiny) > 0 and info.nmant >= 0
    assert float(dtype.type(1 + float(info.eps))) == 1 + float(info.eps)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_standard_floats_have_numpys_limits(name):
    ours, numpys = dtypes.finfo(name), np.finfo(name)
    for attribute in (
        "bits",
        "eps",
        "epsneg",
        "max",
        "min",
        "tiny",
        "smallest_subnormal",
        "resolution",
        "nexp",
        "nmant",
    ):
        assert getattr(ours, attribute) == getattr(numpys, attribute)


def test_a_complex_dtype_has_the_limits_of_its_parts():
    assert dtypes.finfo("complex64").dtype == np.float32
    assert dtypes.finfo("complex128").max == np.finfo("float64").max


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_reach_as_far_as_their_bits(dtype):
    info, bits = dtypes.iinfo(dtype), dtypes.itemsize_bits(dtype)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if info.kind == "i" else (0, 2**bits - 1)
    assert (info.min, info.max, info.bits, info.dtype) == (low, high, bits, dtype)


@pytest.mark.parametrize("int_type", [int, 3, scalars.int64, "int64", np.ones(2, np.int64)])
def test_iinfo_takes_types_arrays_and_python_ints(int_type):
    assert dtypes.iinfo(int_type).bits == 64


@pytest.mark.parametrize("dtype", [float, scalars.float64, np.ones(2)])
def test_finfo_takes_types_and_arrays(dtype):
    assert dtypes.finfo(dtype).bits == 64


@pytest.mark.parametrize("dtype", [bool, np.bool_, scalars.bool_, True, "float32", dtypes.float0])
def test_iinfo_refuses_what_is_no_integer(dtype):
    with pytest.raises(ValueError, match="must be an integer"):
        dtypes.iinfo(dtype)


@pytest.mark.parametrize("dtype", ["int32", bool, dtypes.float0])
def test_finfo_refuses_what_is_not_floating(dtype):
    with pytest.raises(ValueError, match="must be floating-point"):
        dtypes.finfo(dtype)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("int8", [127, -128, 0, -1]), ("uint8", [255, 0, 0, 0]), ("int64", [2**63 - 1, -(2**63), 0, -1])],
)
def test_floats_beyond_an_integer_dtype_become_its_limits(dtype, expected):
    found = dtypes.saturated([np.inf, -1e30, np.nan, -1.5], np.dtype(dtype))
    assert found.dtype == dtype
    assert found.tolist() == expected


def test_saturated_integers_wrap_around_and_floats_overflow():
    assert dtypes.saturated(300, np.dtype("uint8")) == 44
    assert dtypes.saturated(1e300, np.dtype("float32")) == np.inf
    assert dtypes.saturated(np.float32(9), dtypes.to_dtype("int4")) == 7
