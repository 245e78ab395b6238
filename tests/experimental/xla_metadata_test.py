"""What the compiler is told of operations."""

import re

import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental.xla_metadata import set_xla_metadata


@set_xla_metadata(kind="outer", count=1)
def scoped(x):
    with set_xla_metadata(kind="inner", flag=True):
        y = jnp.sin(x)
    return jnp.exp(y)


def told(fun, *args):
    """What each operation of a program is told."""
    text = arrax.jit(fun).lower(*args).as_text()
    lines = re.findall(r"(?:stablehlo|call)[.\" @]*(\w+).*?frontend_attributes = {(.*?)}", text)
    return {name: entries.replace('"', "") for name, entries in lines}


CASES = {
    "scopes": (scoped, {"sine": "count = 1, flag = true, kind = inner", "exponential": "count = 1, kind = outer"}),
    "values": (lambda x: jnp.exp(set_xla_metadata(jnp.sin(x), a=2)), {"sine": "a = 2"}),
    "both": (set_xla_metadata(a=1, b=1)(lambda x: set_xla_metadata(jnp.sin(x), b=2)), {"sine": "a = 1, b = 1"}),
    "slopes": (arrax.grad(set_xla_metadata(a=1)(jnp.sin)), {"cosine": "a = 1", "multiply": "a = 1"}),
    "arguments": (lambda x: set_xla_metadata(x, a=1), {}),
    "calls": (set_xla_metadata(a=1)(arrax.jit(jnp.sin)), {"sin": "a = 1", "sine": "a = 1"}),
}


@pytest.mark.parametrize("case", CASES)
def test_operations_carry_what_is_said_of_them(case):
    fun, expected = CASES[case]
    assert told(fun, 1.0) == expected


def test_results_and_derivatives_stay_what_they_are():
    tell = arrax.jit(lambda x: set_xla_metadata({"x": 3 * x}, a=1)["x"])
    assert tell(2.0) == 6 and arrax.grad(tell)(2.0) == 3 and arrax.vmap(tell)(jnp.ones(2)).tolist() == [3, 3]
    assert scoped(0.0) == 1 and set_xla_metadata(2.0) == 2
    assert "xla_metadata_value[xla_metadata_kvs=(('a', 1),)]" in str(arrax.make_jaxpr(tell)(2.0))


def test_functions_are_no_values():
    with pytest.raises(TypeError, match="set_xla_metadata: argument x: .* is not a valid array type"):
        set_xla_metadata(jnp.sin, a=1)
