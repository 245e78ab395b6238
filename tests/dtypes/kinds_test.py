"""Kinds of dtypes, the hierarchy of scalar types, names."""

import ml_dtypes
import numpy as np
import pytest

from arrax import dtypes
from arrax.dtypes import scalars

# fmt: off
KINDS = {  # dtype: (short name, bits, family, array API kind)
    "bool":               ("bool",           8,   np.bool_,           "bool"),
    "int1":               ("i1",             1,   np.signedinteger,   "signed integer"),
    "int2":               ("i2",             2,   np.signedinteger,   "signed integer"),
    "int4":               ("i4",             4,   np.signedinteger,   "signed integer"),
    "int8":               ("i8",             8,   np.signedinteger,   "signed integer"),
    "int16":              ("i16",            16,  np.signedinteger,   "signed integer"),
    "int32":              ("i32",            32,  np.signedinteger,   "signed integer"),
    "int64":              ("i64",            64,  np.signedinteger,   "signed integer"),
    "uint1":              ("u1",             1,   np.unsignedinteger, "unsigned integer"),
    "uint2":              ("u2",             2,   np.unsignedinteger, "unsigned integer"),
    "uint4":              ("u4",             4,   np.unsignedinteger, "unsigned integer"),
    "uint8":              ("u8",             8,   np.unsignedinteger, "unsigned integer"),
    "uint16":             ("u16",            16,  np.unsignedinteger, "unsigned integer"),
    "uint32":             ("u32",            32,  np.unsignedinteger, "unsigned integer"),
    "uint64":             ("u64",            64,  np.unsignedinteger, "unsigned integer"),
    "float4_e2m1fn":      ("f4_e2m1fn",      4,   np.floating,        "real floating"),
    "float6_e2m3fn":      ("f6_e2m3fn",      6,   np.floating,        "real floating"),
    "float6_e3m2fn":      ("f6_e3m2fn",      6,   np.floating,        "real floating"),
    "float8_e3m4":        ("f8_e3m4",        8,   np.floating,        "real floating"),
    "float8_e4m3":        ("f8_e4m3",        8,   np.floating,        "real floating"),
    "float8_e4m3b11fnuz": ("f8_e4m3b11fnuz", 8,   np.floating,        "real floating"),
    "float8_e4m3fn":      ("f8_e4m3fn",      8,   np.floating,        "real floating"),
    "float8_e4m3fnuz":    ("f8_e4m3fnuz",    8,   np.floating,        "real floating"),
    "float8_e5m2":        ("f8_e5m2",        8,   np.floating,        "real floating"),
    "float8_e5m2fnuz":    ("f8_e5m2fnuz",    8,   np.floating,        "real floating"),
    "float8_e8m0fnu":     ("f8_e8m0fnu",     8,   np.floating,        "real floating"),
    "bfloat16":           ("bf16",           16,  np.floating,        "real floating"),
    "float16":            ("f16",            16,  np.floating,        "real floating"),
    "float32":            ("f32",            32,  np.floating,        "real floating"),
    "float64":            ("f64",            64,  np.floating,        "real floating"),
    "complex64":          ("c64",            64,  np.complexfloating, "complex floating"),
    "complex128":         ("c128",           128, np.complexfloating, "complex floating"),
}
ABOVE = {  # kind: the kinds that contain it
    "signed integer": ("integral", "numeric"), "unsigned integer": ("integral", "numeric"),
    "real floating": ("numeric",), "complex floating": ("numeric",), "bool": (),
}
# fmt: on
ALL_KINDS = set(ABOVE) | {"integral", "numeric"}
each_dtype = pytest.mark.parametrize("name", KINDS)


def test_the_table_has_every_known_dtype():
    assert {np.dtype(name) for name in KINDS} == dtypes.known_dtypes


@each_dtype
def test_it_has_its_short_name(name):
    assert dtypes.short_name(np.dtype(name)) == KINDS[name][0]


@each_dtype
def test_it_carries_its_bits(name):
    assert dtypes.itemsize_bits(name) == KINDS[name][1]


@each_dtype
def test_it_stands_below_its_family_only(name):
    families = {np.bool_, np.signedinteger, np.unsignedinteger, np.floating, np.complexfloating}
    assert {family for family in families if dtypes.issubdtype(name, family)} == {KINDS[name][2]}
    assert dtypes.issubdtype(name, np.generic)


@each_dtype
def test_it_is_of_its_array_api_kinds_only(name):
    kind = KINDS[name][3]
    assert {each for each in ALL_KINDS if dtypes.isdtype(name, each)} == {kind, *ABOVE[kind]}


@each_dtype
def test_predicates_agree_with_its_kind(name):
    kind = KINDS[name][3]
    assert dtypes.is_bool(name) == (kind == "bool")
    assert dtypes.is_integer(name) == (kind in ("signed integer", "unsigned integer"))
    assert dtypes.is_float(name) == (kind == "real floating")
    assert dtypes.is_complex(name) == (kind == "complex floating")
    assert dtypes.is_inexact(name) == (kind in ("real floating", "complex floating"))


# fmt: off
@pytest.mark.parametrize("a, b, answer", [
    (np.floating, np.inexact, True),
    (np.inexact, np.floating, False),
    (np.float32, np.float32, True),
    (np.dtype("float32"), scalars.float32, True),
    (scalars.bfloat16, np.inexact, True),
    (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, False),
    (ml_dtypes.float8_e5m2, np.float32, False),
    (ml_dtypes.int4, np.integer, True),
    (ml_dtypes.int4, np.unsignedinteger, False),
    (float, np.floating, True),
    (np.float32, float, False),
    (np.float64, float, True),
    (bool, np.integer, False),
    (np.zeros(3, np.int8), np.integer, True),
    (dtypes.float0, np.void, True),
    (dtypes.float0, np.floating, False),
    (dtypes.float0, dtypes.float0, True),
    (dtypes.extended, np.generic, True),
    (object, np.number, False),
])
# fmt: on
def test_issubdtype_follows_the_hierarchy(a, b, answer):
    assert dtypes.issubdtype(a, b) is answer


@pytest.mark.parametrize("a, b", [("no such type", np.floating), (np.float32, 3), ([1], np.floating)])
def test_issubdtype_refuses_what_is_no_type(a, b):
    with pytest.raises(TypeError):
        dtypes.issubdtype(a, b)


# fmt: off
@pytest.mark.parametrize("dtype, kind, answer", [
    ("int32", np.int32, True),
    ("int32", "int32", True),
    ("int32", scalars.int32, True),
    ("int32", np.dtype("int8"), False),
    ("int64", int, True),
    ("int32", ("bool", np.int32), True),
    ("int32", ("bool", "real floating"), False),
    ("int32", (), False),
    (dtypes.float0, "numeric", False),
])
# fmt: on
def test_isdtype_takes_dtypes_and_tuples(dtype, kind, answer):
    assert dtypes.isdtype(dtype, kind) is answer


def test_isdtype_names_the_kinds_when_a_string_is_none_of_them():
    with pytest.raises(ValueError, match="'floaty'.*'real floating'"):
        dtypes.isdtype("float32", "floaty")


@pytest.mark.parametrize("kind", [3, np.integer, dtypes.extended, ["bool"], None, ("bool", ("int8",))])
def test_isdtype_refuses_what_is_no_kind(kind):
    with pytest.raises(TypeError, match="kind must be"):
        dtypes.isdtype("int32", kind)


def test_float0_takes_no_room():
    assert dtypes.float0.itemsize == 0
    assert dtypes.short_name(dtypes.float0) == "float0"
    assert np.zeros((2, 3), dtypes.float0).nbytes == 0


# fmt: off
@pytest.mark.parametrize("dtype_like, name", [
    ("bfloat16", "bfloat16"), (scalars.int4, "int4"), (np.float16, "float16"), (float, "float64"), (None, "float64"),
    (np.ones(2, np.int8), "int8"), (np.uint8(1), "uint8"),
])
# fmt: on
def test_to_dtype_understands(dtype_like, name):
    assert dtypes.to_dtype(dtype_like) == np.dtype(name)
