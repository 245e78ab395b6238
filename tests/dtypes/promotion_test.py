"""Types of values, result types, conversions between kinds, casting."""

import enum
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from arrax import dtypes
from arrax.dtypes import scalars


class Traced:
    """A value that carries its type as arrays and tracers do."""

    def __init__(self, dtype, weak):
        self.dtype = np.dtype(dtype)
        self.aval = SimpleNamespace(weak_type=weak)


class Wrapped:
    """A value that turns into an array when asked."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


class Colour(enum.IntEnum):
    RED = 1


# fmt: off
@pytest.mark.parametrize("value, dtype, weak", [
    (True, "bool", False),
    (1, "int64", True),
    (1.0, "float64", True),
    (1j, "complex128", True),
    (Colour.RED, "int64", True),
    (np.float64(1), "float64", False),
    (np.int8(1), "int8", False),
    (np.ones(2, "float16"), "float16", False),
    (np.ones(2, ">f4"), "float32", False),
    (np.zeros(2, dtypes.float0), dtypes.float0, False),
    (Traced("int16", True), "int16", True),
    (Traced("int16", False), "int16", False),
    (Wrapped(Traced("float32", True)), "float32", True),
    (Wrapped(2), "int64", True),
])
# fmt: on
def test_a_value_has_its_dtype_and_weakness(value, dtype, weak):
    assert dtypes.value_pair(value) == (np.dtype(dtype), weak)
    assert dtypes.dtype(value) == np.dtype(dtype)


@pytest.mark.parametrize("value", [[1], (1, 2), object(), {}, np.array("s"), np.array(None), np.datetime64("2020")])
def test_what_is_no_array_or_number_is_refused(value):
    with pytest.raises(TypeError):
        dtypes.result_type(value)


# fmt: off
@pytest.mark.parametrize("value, weak", [
    (1, True), (1.0, True), (2j, True), (Colour.RED, True), (Traced("int8", True), True),
    (True, False), (np.float64(1), False), (np.ones(1), False), (Traced("int8", False), False), ("text", False),
    (SimpleNamespace(weak_type=True), True),
])
# fmt: on
def test_weakness(value, weak):
    assert dtypes.is_weakly_typed(value) is weak


def test_dtype_is_truncated_on_request_only(configure):
    assert dtypes.dtype(1.5) == np.float64
    assert dtypes.dtype(1.5, canonicalize=True) == np.float32
    assert dtypes.dtype("bfloat16") == ml_dtypes.bfloat16
    configure(x64=True)
    assert dtypes.dtype(1.5, canonicalize=True) == np.float64


# fmt: off
@pytest.mark.parametrize("args, dtype, weak", [
    ((1, 2), "int32", True),
    ((1, 2.0), "float32", True),
    ((True, True), "bool", False),
    ((True, 1), "int32", True),
    ((np.int64(1),), "int32", False),
    (("i1", 2.0), "float32", True),
    ((np.int8, 1), "int8", False),
    ((scalars.bfloat16, np.float16), "float32", False),
    ((float,), "float32", True),
    ((None,), "float32", False),
    ((Traced("int16", True), np.uint8(1)), "uint8", False),
    ((np.int32(1), 1j), "complex64", True),
    ((np.uint64(1), np.int64(1)), "int32", False),
    ((np.float16(1), 1.0, 1j), "complex64", False),
    ((2**40,), "int32", True),
    ((ml_dtypes.float8_e4m3fn(1), 1.0), "float8_e4m3fn", False),
])
# fmt: on
def test_result_type_with_its_weakness(args, dtype, weak):
    assert dtypes.result_type(*args, return_weak_type_flag=True) == (np.dtype(dtype), weak)
    assert dtypes.result_type(*args) == np.dtype(dtype)


def test_result_type_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        dtypes.result_type()


def test_result_type_keeps_64_bits_where_enabled(configure):
    configure(x64=True)
    assert dtypes.result_type(np.int16(1), np.array(1)) == np.int64
    assert dtypes.result_type(np.uint64(1), np.int64(1), return_weak_type_flag=True) == (np.dtype("float64"), True)


# fmt: off
@pytest.mark.parametrize("value, cls", [
    (True, bool), (np.bool_(1), bool), (1, int), (np.int8(3), int), ("uint4", int), (scalars.bfloat16, float),
    (np.float32, float), (Traced("float16", False), float), (2j, complex), (np.dtype("complex64"), complex),
])
# fmt: on
def test_scalar_type_of(value, cls):
    assert dtypes.scalar_type_of(value) is cls


@pytest.mark.parametrize("value", ["s", dtypes.float0, np.zeros(2, dtypes.float0), object])
def test_scalar_type_of_refuses_what_is_no_number(value):
    with pytest.raises(TypeError):
        dtypes.scalar_type_of(value)


# fmt: off
CONVERSIONS = {  # dtype: (numeric, inexact, complex), 64 bits enabled
    "bool":        ("int32",       "float32",     "complex64"),
    "int4":        ("int4",        "float32",     "complex64"),
    "uint8":       ("uint8",       "float32",     "complex64"),
    "int32":       ("int32",       "float32",     "complex64"),
    "int64":       ("int64",       "float64",     "complex128"),
    "uint64":      ("uint64",      "float64",     "complex128"),
    "float8_e5m2": ("float8_e5m2", "float8_e5m2", "complex64"),
    "bfloat16":    ("bfloat16",    "bfloat16",    "complex64"),
    "float32":     ("float32",     "float32",     "complex64"),
    "float64":     ("float64",     "float64",     "complex128"),
    "complex64":   ("complex64",   "complex64",   "complex64"),
    "complex128":  ("complex128",  "complex128",  "complex128"),
}
# fmt: on


@pytest.mark.parametrize("dtype", CONVERSIONS)
def test_conversions_between_kinds(configure, dtype):
    configure(x64=True)
    converted = (dtypes.to_numeric_dtype(dtype), dtypes.to_inexact_dtype(dtype), dtypes.to_complex_dtype(dtype))
    assert converted == tuple(map(np.dtype, CONVERSIONS[dtype]))


def test_conversions_are_truncated_by_default():
    assert dtypes.to_inexact_dtype("int64") == np.float32
    assert dtypes.to_complex_dtype("int64") == np.complex64


@pytest.mark.parametrize("convert", [dtypes.to_inexact_dtype, dtypes.to_complex_dtype])
def test_what_holds_no_numbers_is_not_made_inexact(convert):
    with pytest.raises(TypeError, match="no numbers"):
        convert(dtypes.float0)


# fmt: off
@pytest.mark.parametrize("source, target, casting, answer", [
    ("int8", "int32", "safe", True),
    ("int32", "float32", "safe", False),
    ("int32", "float32", "same_kind", True),
    ("bfloat16", "float32", "safe", True),
    ("float32", "bfloat16", "safe", False),
    ("int4", "int8", "safe", True),
    (scalars.int8, np.int16, "safe", True),
    (np.ones(2), "int8", "unsafe", True),
])
# fmt: on
def test_can_cast_follows_numpy(source, target, casting, answer):
    assert dtypes.can_cast(source, target, casting) is answer


def test_can_cast_refuses_python_numbers():
    with pytest.raises(TypeError, match="Python number"):
        dtypes.can_cast(1, "int8")
