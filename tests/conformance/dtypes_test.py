"""The dtypes of results, as array-api-strict has them, with 64-bit types."""

import functools
import itertools
import warnings

import array_api_strict as strict
import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import array_api

REAL = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
NAMES = ["bool", *REAL, "complex64", "complex128"]
UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj", "cos", "cosh", "exp",
    "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "logical_not", "negative",
    "positive", "real", "reciprocal", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
    "sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "argmax", "argmin", "count_nonzero", "cumulative_sum",
    "cumulative_prod", "sort", "argsort", "diff", "unique_values", "flip", "tril",
]  # fmt: skip
BINARY = [
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "copysign",
    "divide", "equal", "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp",
    "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow",
    "remainder", "subtract", "matmul", "vecdot", "tensordot",
]  # fmt: skip


@pytest.fixture(autouse=True)
def wide_types():
    with arrax.enable_x64(True):
        yield


def ones(namespace, name):
    return namespace.ones((2, 2), dtype=getattr(namespace, name))


def outcome(call, *arrays):
    """(name of the dtype, shape) of a result, or None where the standard refuses the operands."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = call(*arrays)
        except (TypeError, ValueError):
            return None
    return str(np.dtype(str(result.dtype).rpartition(".")[2])), result.shape


def ours(namespace, function):
    """A function of ours, of which only the type of the result is asked where that does not depend on values."""
    found = getattr(namespace, function)
    return found if function == "unique_values" else functools.partial(arrax.eval_shape, found)


@pytest.mark.parametrize("function", UNARY)
def test_functions_of_one_array(function):
    for name in NAMES:
        expected = outcome(getattr(strict, function), ones(strict, name))
        assert outcome(ours(array_api, function), ones(array_api, name)) == expected, name
        if expected is not None:
            assert outcome(ours(jnp, function), ones(jnp, name)) == expected, name


@pytest.mark.parametrize("function", BINARY)
def test_functions_of_two_arrays(function):
    for pair in itertools.product(NAMES, NAMES):
        theirs = [ones(strict, name) for name in pair]
        promote = outcome(lambda *xs: strict.empty(0, dtype=strict.result_type(*xs)), *theirs) is not None
        expected = outcome(getattr(strict, function), *theirs) if promote else None  # mixed kinds are undefined
        operands = [ones(jnp, name) for name in pair]
        assert outcome(ours(array_api, function), *operands) == expected, pair
        if expected is not None:
            assert outcome(ours(jnp, function), *operands) == expected, pair


@pytest.mark.parametrize("function", ["add", "equal", "logical_or", "pow", "where"])
def test_functions_of_an_array_and_a_number(function):
    def call(namespace, x, number):
        first = [namespace.asarray(True)] if function == "where" else []
        return getattr(namespace, function)(*first, x, number)

    for name, number in itertools.product(NAMES, [True, 2, 2.5, 1j]):
        expected = outcome(functools.partial(call, strict, number=number), ones(strict, name))
        for namespace in (array_api, jnp) if expected is not None else (array_api,):
            staged = functools.partial(arrax.eval_shape, functools.partial(call, namespace, number=number))
            found = outcome(staged, ones(jnp, name))
            assert found == expected, (namespace, name, number)


def test_result_types():
    for pair in itertools.product(NAMES, NAMES):
        expected = outcome(lambda *xs: strict.empty(0, dtype=strict.result_type(*xs)), *(ones(strict, n) for n in pair))
        found = outcome(lambda *xs: jnp.empty(0, array_api.result_type(*xs)), *(ones(jnp, name) for name in pair))
        assert found == expected, pair


def test_kinds_of_dtypes():
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]
    for name, kind in itertools.product(NAMES, kinds):
        expected = strict.isdtype(getattr(strict, name), kind)
        assert jnp.isdtype(getattr(jnp, name), kind) is expected
        assert array_api.isdtype(getattr(array_api, name), kind) is expected


def test_limits_are_python_numbers():
    for name in ("float32", "float64", "complex64", "complex128"):
        ours, theirs = jnp.finfo(getattr(jnp, name)), strict.finfo(getattr(strict, name))
        for attribute in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(ours, attribute) == getattr(theirs, attribute)
            assert isinstance(getattr(ours, attribute), int | float)
    assert jnp.finfo("bfloat16").eps == 2.0**-7
    assert jnp.finfo("bfloat16").resolution == 0.01


def test_default_dtypes_follow_the_width_of_types():
    info = jnp.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] == jnp.arange(2.0).dtype == jnp.float64
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert len(info.dtypes()) == 13
    with arrax.enable_x64(False):
        assert info.default_dtypes()["indexing"] == jnp.argmax(jnp.ones(2)).dtype == jnp.int32
        assert set(info.dtypes(kind=("signed integer", "bool"))) == {"bool", "int8", "int16", "int32"}


def test_the_namespace_tells_of_devices_and_capabilities():
    info = jnp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.capabilities() == {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}
    with pytest.raises(ValueError, match="unknown kind 'text'"):
        info.dtypes(kind="text")
    with pytest.raises(ValueError, match="unknown device 'moon'"):
        info.default_dtypes(device="moon")
