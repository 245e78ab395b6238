"""Stacks of names as texts."""

import pytest

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
