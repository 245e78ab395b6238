"""Operations of lax promote nothing: the documented table of ``lax.add`` with 64-bit types."""

import itertools
import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax

DTYPES = {
    "b": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "i8": "int8", "i16": "int16", "i32": "int32",
    "i64": "int64", "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64",
    "c128": "complex128",
}  # fmt: skip
NUMBERS = {"i*": (int, "i64"), "f*": (float, "f64"), "c*": (complex, "c128")}
KINDS = [*DTYPES, *NUMBERS]


@pytest.fixture(autouse=True)
def wide_types():
    with arrax.enable_x64(True):
        yield


def zero(kind):
    return NUMBERS[kind][0](0) if kind in NUMBERS else jnp.zeros((), DTYPES[kind])


def expected(first, second):
    """The dtype of the sum; None where it is refused."""
    if "b" in (first, second):
        return None
    dtypes = {NUMBERS[kind][1] if kind in NUMBERS else kind for kind in (first, second)}
    return DTYPES[dtypes.pop()] if len(dtypes) == 1 else None


@pytest.mark.parametrize(("first", "second"), list(itertools.product(KINDS, KINDS)))
def test_sums(first, second):
    x, y, dtype = zero(first), zero(second), expected(first, second)
    if dtype is None:
        for add in (lax.add, arrax.jit(lax.add), arrax.jit(lambda x, y: lax.add(x, y))):
            with pytest.raises(TypeError):
                add(x, y)
    else:
        total = lax.add(x, y)
        assert total.dtype == dtype
        assert total.weak_type is (first in NUMBERS and second in NUMBERS)


@pytest.mark.parametrize("operation", [lax.mul, lax.max, lax.div, lax.atan2, lax.lt, lax.pow], ids=lambda f: f.__name__)
def test_other_operations_want_numbers_of_the_arrays_dtype(operation):
    narrow = jnp.ones(2, jnp.float32)
    with pytest.raises(TypeError):
        operation(narrow, 2.0)
    with arrax.enable_x64(False):
        assert operation(narrow, 2.0).shape == (2,)
        if operation is not lax.pow:  # exponents may be integers
            with pytest.raises(TypeError):
                operation(narrow, 2)


@pytest.mark.parametrize(
    "operation",
    [lax.nextafter, lax.igamma, lax.igammac, lax.zeta, lax.polygamma, lambda x, y: lax.clamp(y, x, y),
     lambda x, y: lax.clamp(x[0], y, x[0]), lambda x, y: lax.pad(x, y, [(1, 0, 0)])],
)  # fmt: skip
def test_scalar_operands_of_other_functions_have_the_arrays_dtype(operation):
    with arrax.enable_x64(False):
        assert operation(jnp.ones(2), 1.5).dtype == np.float32
        for x in (jnp.ones(2, jnp.float16), jnp.ones(2, int)):
            for call in (
                operation,
                lambda x, y: arrax.jit(operation)(x, y),
                lambda x, y: arrax.jit(lambda x: operation(x, y))(x),
            ):
                with pytest.raises(TypeError):
                    call(x, 1.5)


def test_numbers_beside_values_without_elements_are_refused_by_their_dtype():
    for operation in (lax.add, lax.nextafter, lax.eq):
        with pytest.raises(TypeError, match="float0"):
            operation(1.5, np.zeros(3, arrax.float0))


def test_functions_of_numpy_promote():
    assert jnp.add(jnp.ones(2, jnp.bfloat16), 1).dtype == jnp.bfloat16
    assert arrax.grad(lambda x: jnp.sum(x * 3 + 1))(jnp.ones(2, jnp.float16)).dtype == jnp.float16


@pytest.mark.parametrize(
    "call",
    [lambda: lax.convert_element_type(1.5, "float64"), lambda: lax.full((2,), 1.0, np.float64), lambda: lax.iota("int64", 3),
     lambda: lax.broadcasted_iota("int64", (2,), 0), lambda: lax.full_like(jnp.ones(2), 1, dtype="float64"),
     lambda: lax.dot(jnp.ones(2), jnp.ones(2), preferred_element_type="float64"),
     lambda: lax.dot_general(jnp.ones(2), jnp.ones(2), (([0], [0]), ([], [])), preferred_element_type="float64"),
     lambda: lax.bitcast_convert_type(jnp.ones(2), "int64"), lambda: lax.argmax(jnp.ones(2), 0, np.int64),
     lambda: lax.rng_bit_generator(jnp.zeros(4, "uint32"), (2,), "uint64")],
)  # fmt: skip
def test_lost_bits_of_dtypes_that_were_asked_for_are_warned_of(call):
    with (
        arrax.enable_x64(False),
        pytest.warns(UserWarning, match="Explicitly requested dtype .*int64|.*float64") as seen,
    ):
        call()
    assert len(seen) == 1 and seen[0].filename == __file__


def test_pythons_types_lose_no_bits():
    with arrax.enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lax.convert_element_type(1, float).dtype == lax.full((2,), 1, float).dtype == np.float32
        assert lax.iota(int, 3).dtype == lax.argmax(jnp.ones(2), 0, int).dtype == np.int32
