"""Dead-code elimination: what no used output needs is dropped, operations with effects stay."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.staging import eval_jaxpr


def program(function, *args):
    return arrax.make_jaxpr(function)(*args).jaxpr


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_only_what_the_used_outputs_need_stays():
    jaxpr = program(lambda x, y: (lax.sin(x), lax.cos(y)), 1.0, 2.0)
    lean, kept = dce_jaxpr(jaxpr, [False, True])
    assert names(lean) == ["cos"] and kept == [False, True] and lean.invars == jaxpr.invars[1:]
    assert eval_jaxpr(lean, [], np.float32(0.0)) == [1.0]


def test_inputs_that_are_asked_for_stay():
    jaxpr = program(lambda x, y: lax.cos(y), 1.0, 2.0)
    assert dce_jaxpr(jaxpr, [True], instantiate=[True, False])[1] == [True, True]
    assert dce_jaxpr(jaxpr, [True], instantiate=True)[1] == [True, True]


def test_nothing_is_left_where_nothing_is_used():
    lean, kept = dce_jaxpr(program(lambda x: lax.sin(lax.cos(x)), 1.0), [False])
    assert not lean.eqns and not lean.outvars and kept == [False]


def test_operations_with_effects_stay():
    def shows(x):
        arrax.debug.print("{}", x)
        return lax.sin(x)

    lean, kept = dce_jaxpr(program(shows, 1.0), [False])
    assert len(lean.eqns) == 1 and lean.effects and kept == [True]


def test_a_result_of_several_that_is_not_used_has_no_name():
    jaxpr = program(lambda x: tuple(lax.top_k(x, 2)), jnp.arange(4.0))
    lean, _ = dce_jaxpr(jaxpr, [False, True])
    assert str(lean.eqns[0].outvars[0]).startswith("_") and lean.outvars == jaxpr.outvars[1:]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: arrax.jit(lambda a, b: (lax.sin(a), lax.cos(b)))(x, y),
        lambda x, y: lax.cond(x > 0, lambda a, b: (lax.sin(a), lax.cos(b)), lambda a, b: (a, b), x, y),
        lambda x, y: lax.scan(lambda c, _: ((lax.sin(c[0]), lax.cos(c[1])), None), (x, y), None, length=3)[0],
        lambda x, y: arrax.checkpoint(lambda a, b: (lax.sin(a), lax.cos(b)))(x, y),
    ],
    ids=["jit", "cond", "scan", "checkpoint"],
)
def test_nested_programs_are_made_leaner(function):
    jaxpr = program(function, 1.0, 2.0)
    lean, kept = dce_jaxpr(jaxpr, [False, True])
    assert "sin" not in str(lean) and "cos" in str(lean) and kept[1]
    values = [value for value, keep in zip((np.float32(1), np.float32(2)), kept, strict=True) if keep]
    np.testing.assert_array_equal(eval_jaxpr(lean, [], *values)[0], function(1.0, 2.0)[1])


def test_carries_of_a_loop_that_feed_each_other_stay():
    jaxpr = program(lambda x, y: lax.scan(lambda c, _: ((c[1], c[0]), None), (x, y), None, length=3)[0], 1.0, 2.0)
    assert dce_jaxpr(jaxpr, [True, False])[1] == [True, True]
