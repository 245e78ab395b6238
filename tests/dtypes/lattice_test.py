"""Promotion: the documented tables, the recorded ones, and the laws of a lattice."""

import itertools
import pathlib

import numpy as np
import pytest

from arrax import dtypes

# The table of "Type promotion semantics", in its own codes.
DOCUMENTED = """
     b    u8   u16  u32  u64  i8   i16  i32  i64  bf16 f16  f32  f64  c64  c128 i*   f*   c*
b    b    u8   u16  u32  u64  i8   i16  i32  i64  bf16 f16  f32  f64  c64  c128 i*   f*   c*
u8   u8   u8   u16  u32  u64  i16  i16  i32  i64  bf16 f16  f32  f64  c64  c128 u8   f*   c*
u16  u16  u16  u16  u32  u64  i32  i32  i32  i64  bf16 f16  f32  f64  c64  c128 u16  f*   c*
u32  u32  u32  u32  u32  u64  i64  i64  i64  i64  bf16 f16  f32  f64  c64  c128 u32  f*   c*
u64  u64  u64  u64  u64  u64  f*   f*   f*   f*   bf16 f16  f32  f64  c64  c128 u64  f*   c*
i8   i8   i16  i32  i64  f*   i8   i16  i32  i64  bf16 f16  f32  f64  c64  c128 i8   f*   c*
i16  i16  i16  i32  i64  f*   i16  i16  i32  i64  bf16 f16  f32  f64  c64  c128 i16  f*   c*
i32  i32  i32  i32  i64  f*   i32  i32  i32  i64  bf16 f16  f32  f64  c64  c128 i32  f*   c*
i64  i64  i64  i64  i64  f*   i64  i64  i64  i64  bf16 f16  f32  f64  c64  c128 i64  f*   c*
bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32  f32  f64  c64  c128 bf16 bf16 c64
f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f32  f16  f32  f64  c64  c128 f16  f16  c64
f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f64  c64  c128 f32  f32  c64
f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  c128 c128 f64  f64  c128
c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c128 c64  c128 c64  c64  c64
c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128
i*   i*   u8   u16  u32  u64  i8   i16  i32  i64  bf16 f16  f32  f64  c64  c128 i*   f*   c*
f*   f*   f*   f*   f*   f*   f*   f*   f*   f*   bf16 f16  f32  f64  c64  c128 f*   f*   c*
c*   c*   c*   c*   c*   c*   c*   c*   c*   c*   c64  c64  c64  c128 c64  c128 c*   c*   c*
"""

PAIRS = {dtypes.short_name(dtype): (dtype, False) for dtype in dtypes.known_dtypes}
PAIRS |= {"b": PAIRS["bool"], "i*": (np.dtype("int64"), True), "f*": (np.dtype("float64"), True)}
PAIRS |= {"c*": (np.dtype("complex128"), True)}
STANDARD_CASES = sorted(PAIRS.keys() - {"b"})


def cells(table):
    """(row, column, entry) of a table whose first line names the columns and whose first words name the rows."""
    columns, *rows = [line.split() for line in table.strip().splitlines()]
    return [(row, column, entry) for row, *entries in rows for column, entry in zip(columns, entries, strict=True)]


def recorded_tables():
    text = (pathlib.Path(__file__).parent / "promotion_tables.txt").read_text()
    sections = text.split("\n[")[1:]
    return {title: table for title, table in (section.split("]\n") for section in sections)}


def outcome(*names):
    """The code of the result type: a weak one has a star, none is a dash."""
    try:
        dtype, weak = dtypes.result_type_of([PAIRS[name] for name in names])
    except dtypes.TypePromotionError:
        return "-"
    return dtypes.short_name(dtype) + "*" * weak


def test_results_are_those_of_the_documented_table(configure):
    configure(x64=True)
    table = cells(DOCUMENTED)
    assert len(table) == 18 * 18
    weak = {"i*": "i64*", "f*": "f64*", "c*": "c128*", "b": "bool"}
    wrong = [(a, b, entry) for a, b, entry in table if outcome(a, b) != weak.get(entry, entry)]
    assert not wrong


@pytest.mark.parametrize("title", ["standard x64", "standard x32", "strict x64", "strict x32"])
def test_results_are_those_of_the_recorded_table(configure, title):
    mode, width = title.split()
    configure(mode, x64=width == "x64")
    table = cells(recorded_tables()[title])
    assert len(table) == 26 * 26
    wrong = [(a, b, entry, outcome(a, b)) for a, b, entry in table if outcome(a, b) != entry]
    assert not wrong


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_promotion_is_commutative(configure, mode):
    configure(mode, x64=True)
    assert all(outcome(a, b) == outcome(b, a) for a, b in itertools.combinations(STANDARD_CASES, 2))


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_the_type_of_three_operands_is_that_of_any_two_and_the_third(configure, mode):
    configure(mode, x64=True)
    by_name = {dtypes.short_name(dtype) + "*" * weak: name for name, (dtype, weak) in PAIRS.items()}
    wrong = []
    for a, b, c in itertools.product(STANDARD_CASES, repeat=3):
        first = outcome(a, b)
        if first != "-" and outcome(by_name[first], c) != outcome(a, b, c):
            wrong.append((a, b, c))
    assert not wrong


def test_every_known_dtype_and_a_number_of_its_kind_give_that_dtype(configure):
    configure(x64=True)
    for dtype in dtypes.known_dtypes - dtypes.bool_dtypes:
        kind = "i*" if dtypes.is_integer(dtype) else "f*" if dtypes.is_float(dtype) else "c*"
        assert dtypes.result_type_of([(dtype, False), PAIRS[kind]]) == (dtype, False)


def test_strict_mode_refuses_with_the_documented_words(configure):
    configure("strict")
    with pytest.raises(ValueError) as caught:
        dtypes.promote_types("float32", "int32")
    assert type(caught.value) is dtypes.TypePromotionError
    assert str(caught.value) == (
        "Input dtypes ('float32', 'int32') have no available implicit dtype promotion path when "
        "jax_numpy_dtype_promotion=strict. Try explicitly casting inputs to the desired output type, or set "
        "jax_numpy_dtype_promotion=standard."
    )


def test_strict_mode_lets_a_python_int_join_floats(configure):
    configure("strict")
    assert outcome("f32", "i*") == "f32"


def test_narrow_integers_are_refused_with_the_way_out():
    with pytest.raises(dtypes.TypePromotionError, match=r"\('int4', 'int8'\).*below 8 bits.*astype\('int32'\)"):
        dtypes.promote_types("int4", "int8")


def test_narrow_floats_are_refused_with_the_way_out():
    with pytest.raises(dtypes.TypePromotionError, match=r"\('float8_e5m2', 'float32'\).*astype\('float32'\)"):
        dtypes.promote_types("float8_e5m2", "float32")


def test_python_numbers_are_named_as_such_in_messages():
    with pytest.raises(dtypes.TypePromotionError, match=r"\('int4', 'float'\)"):
        dtypes.promote_types("int4", float)


def test_operands_are_truncated_before_they_are_joined(configure):
    assert outcome("u64", "i64") == "i32"
    configure(x64=True)
    assert outcome("u64", "i64") == "f64*"


def test_a_change_of_settings_is_seen_at_once(configure):
    assert outcome("f32", "i32") == "f32"
    configure("strict")
    assert outcome("f32", "i32") == "-"


def test_equal_types_stay_as_they_are(configure):
    configure(x64=True)
    weak_int32 = (np.dtype("int32"), True)
    assert dtypes.result_type_of([weak_int32, weak_int32]) == weak_int32
    assert dtypes.result_type_of([(dtypes.float0, False)] * 2) == (dtypes.float0, False)


def test_types_outside_the_lattice_join_nothing_else():
    with pytest.raises(dtypes.TypePromotionError, match="not a valid dtype for JAX type promotion"):
        dtypes.result_type_of([(dtypes.float0, False), PAIRS["f32"]])


def test_promoting_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        dtypes.result_type_of([])


def test_promote_types_takes_python_classes_as_weak_and_keeps_64_bits():
    assert dtypes.promote_types(int, np.int8) == np.int8
    assert dtypes.promote_types(int, float) == np.float64
    assert dtypes.promote_types("uint64", "int64") == np.float64
    assert dtypes.promote_types(np.int16, np.array(1)) == np.int64


def test_lattice_result_type_is_not_truncated():
    assert dtypes.lattice_result_type(PAIRS["u32"], PAIRS["i8"]) == (np.dtype("int64"), False)
    assert dtypes.lattice_result_type(PAIRS["u64"], PAIRS["i8"]) == (np.dtype("float64"), True)
