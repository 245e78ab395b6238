"""Stacks of names as texts."""

import pytest

import arrax
import arrax.numpy as jnp
from arrax.core.name_stacks import JVP, TRANSPOSE, VMAP, stack_text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), ""),
        (("a", "b"), "a/b"),
        ((JVP,), "jvp()"),
        ((TRANSPOSE, JVP), "transpose(jvp())"),
        (("a", JVP, "b", "c"), "a/jvp(b)/c"),
        (("a", VMAP, "b", TRANSPOSE, JVP), "a/vmap(b)/transpose(jvp())"),
    ],
)
def test_transformations_wrap_the_name_that_follows(names, text):
    assert stack_text(names) == text


def test_equations_tell_the_names_around_them():
    @arrax.named_call
    def layer(x):
        return jnp.sin(x)

    program = arrax.make_jaxpr(arrax.grad(layer))(1.0)
    stacks = [eqn.source_info.name_stack for eqn in program.eqns]
    assert str(stacks[0]) == "jvp(layer)" and str(stacks[-1]) == "transpose(jvp(layer))"
    assert stacks[0].stack == (JVP, "layer")
