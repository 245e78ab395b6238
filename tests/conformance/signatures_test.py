"""The names and signatures of the array API standard, as array-api-strict has them."""

import inspect

import array_api_strict as strict
import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import array_api

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
OWN = {"set_array_api_strict_flags", "get_array_api_strict_flags", "reset_array_api_strict_flags", "Device"}


def functions(namespace, prefix=""):
    for name in namespace.__all__:
        value = getattr(namespace, name)
        if callable(value) and not isinstance(value, type) and name not in OWN and not name.startswith("_"):
            yield prefix + name, value


EXTENSIONS = [*functions(strict.linalg, "linalg."), *functions(strict.fft, "fft.")]
FUNCTIONS = dict([*functions(strict), *EXTENSIONS])
each_function = pytest.mark.parametrize("name", FUNCTIONS)
each_namespace = pytest.mark.parametrize("namespace", [jnp, array_api], ids=["numpy", "array_api"])


def find(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def disagreement(ours, theirs):
    """The first parameter of the standard that cannot be passed to ours in all the ways it says; None if there is none."""
    mine = list(ours.parameters.values())
    positional = [p for p in mine if p.kind in POSITIONAL]
    rest = {p.kind for p in mine}
    by_name = {p.name: p for p in mine if p.kind in BY_NAME}
    for place, wanted in enumerate(theirs.parameters.values()):
        if wanted.kind is inspect.Parameter.VAR_POSITIONAL:
            if inspect.Parameter.VAR_POSITIONAL not in rest:
                return wanted.name
            continue
        if wanted.kind in POSITIONAL and place >= len(positional):
            return wanted.name
        if wanted.kind in BY_NAME and wanted.name not in by_name:
            return wanted.name
        optional = wanted.default is not inspect.Parameter.empty
        same = positional[place] if wanted.kind is inspect.Parameter.POSITIONAL_ONLY else by_name[wanted.name]
        if optional and same.default is inspect.Parameter.empty:
            return wanted.name
    return None


@each_namespace
@each_function
def test_parameters_are_passed_as_the_standard_says(namespace, name):
    assert disagreement(inspect.signature(find(namespace, name)), inspect.signature(FUNCTIONS[name])) is None


def test_the_stricter_namespace_has_no_other_parameters():
    for name, theirs in FUNCTIONS.items():
        ours = inspect.signature(find(array_api, name)).parameters
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)
        named = {p.name for p in ours.values() if p.kind not in variable}
        assert named <= set(inspect.signature(theirs).parameters), name


def test_a_parameter_that_is_missing_is_found():
    assert disagreement(inspect.signature(lambda x, /: 0), inspect.signature(lambda x, /, *, axis=None: 0)) == "axis"
    assert disagreement(inspect.signature(lambda *, x: 0), inspect.signature(lambda x, /: 0)) == "x"


@each_namespace
def test_constants_and_dtypes_are_there(namespace):
    assert namespace.__array_api_version__ == "2025.12"
    assert (namespace.e, namespace.pi, namespace.inf, namespace.newaxis) == (np.e, np.pi, np.inf, None)
    assert namespace.nan != namespace.nan
    for name in ("bool", "int8", "uint64", "float32", "complex128"):
        assert np.dtype(getattr(namespace, name)).name == name


def test_arrays_and_tracers_have_the_methods_of_the_standard():
    theirs = {n for n in dir(strict.asarray(1.0)) if not n.startswith("_") or n.startswith("__") and n in METHODS}
    missing = []

    def look(x):
        missing.extend(name for name in theirs | METHODS if not hasattr(type(x), name))
        assert x.__array_namespace__() is jnp
        assert x.__array_namespace__(api_version="2024.12") is jnp
        return x

    look(jnp.ones((2, 2)))
    arrax.jit(look)(jnp.ones((2, 2)))
    assert missing == []


METHODS = {
    f"__{name}__"
    for name in (
        "abs add and array_namespace bool complex dlpack dlpack_device eq float floordiv ge getitem gt index int invert le "
        "lshift lt matmul mod mul ne neg or pos pow rshift setitem sub truediv xor radd rsub rmul rtruediv rfloordiv rmod "
        "rpow rmatmul rand ror rxor rlshift rrshift"
    ).split()
} | {"to_device", "dtype", "device", "mT", "ndim", "shape", "size", "T"}


def test_a_version_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="version '1999.1'"):
        jnp.ones(1).__array_namespace__(api_version="1999.1")
