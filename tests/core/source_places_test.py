"""Stacks of names and recorded lines, as libraries set and read them."""

import pytest

import arrax
import arrax.numpy as jnp
from arrax.extend import source_info_util as places

EQUATION = arrax.make_jaxpr(jnp.sin)(1.0).eqns[0]


def test_stacks_of_names_are_put_together():
    stack = places.new_name_stack("layer").extend("head").transform("vmap")
    assert str(stack) == "layer/head/vmap()" and len(stack) == 3 and str(stack[1:]) == "head/vmap()"
    assert places.new_name_stack() == places.NameStack() and len(places.NameStack()) == 0
    assert places.new_name_stack("a") + places.new_name_stack("b") == places.new_name_stack("a").extend("b")
    assert places.new_name_stack("a").transform("jvp") != places.new_name_stack("a").extend("jvp")
    assert len({places.new_name_stack("a").transform("jvp"), places.new_name_stack("a").transform("jvp")}) == 1


def test_what_is_recorded_has_the_names_around_it():
    def named(x):
        with places.extend_name_stack("outer"), places.transform_name_stack("jvp") as stack:
            assert stack == places.current_name_stack() and places.current().name_stack == stack.stack
            with places.reset_name_stack():
                y = jnp.sin(x)
            with places.set_name_stack(places.new_name_stack("other")):
                z = jnp.cos(x)
        return y, z

    program = arrax.make_jaxpr(named)(1.0)
    assert [eqn.source_info.name_stack for eqn in program.eqns] == [(), ("other",)]
    assert places.current_name_stack() == places.NameStack()


def test_places_are_said_in_words():
    assert places.summarize(EQUATION.source_info).endswith("source_places_test.py:9 (<module>)")
    assert places.summarize(places.new_source_info()) == ""
    assert "test_places_are_said_in_words" in places.summarize(places.current())


def test_what_is_done_for_an_equation_is_recorded_and_blamed_as_its_own():
    def again(x):
        with places.user_context(EQUATION.source_info.traceback, name_stack=places.new_name_stack("again")):
            return jnp.cos(x)

    (eqn,) = arrax.make_jaxpr(again)(1.0).eqns
    assert places.summarize(eqn.source_info) == places.summarize(EQUATION.source_info)
    assert eqn.source_info.name_stack == ("again",)
    with pytest.raises(TypeError) as caught, places.user_context(EQUATION.source_info.traceback):
        jnp.ones(3) @ jnp.ones(4)
    assert any("comes from line" in note and "source_places_test.py:9" in note for note in caught.value.__notes__)
    with pytest.raises(TypeError) as caught, places.user_context(None):
        jnp.ones(3) @ jnp.ones(4)
    assert not any("comes from line" in note for note in getattr(caught.value, "__notes__", []))
