"""Staging records a flat function as a program; eval_jaxpr applies one in the interpretation that is current."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core import config
from arrax.core.program import ClosedJaxpr
from arrax.core.types import ShapedArray
from arrax.interpreters.staging import eval_jaxpr, stage

F32 = ShapedArray((), np.dtype(np.float32))
ROW = ShapedArray((3,), np.dtype(np.float32))


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_operations_are_recorded_in_order():
    jaxpr, consts = stage(lambda x, y: [lax.add(lax.sin(x), y), x], [F32, F32])
    assert names(jaxpr) == ["sin", "add"] and not consts
    assert jaxpr.outvars[1] is jaxpr.invars[0]
    assert [out.aval for out in jaxpr.outvars] == [F32, F32]


def test_numbers_become_literals_and_arrays_constants():
    table = jnp.arange(3.0)
    jaxpr, consts = stage(lambda x: [lax.add(lax.mul(x, np.float32(2)), table), lax.mul(x, table)], [ROW])
    assert len(consts) == 1 and consts[0] is table  # one constant, however often it is used
    literals = [atom for eqn in jaxpr.eqns for atom in eqn.invars if hasattr(atom, "val")]
    assert [float(literal.val) for literal in literals] == [2.0]


def test_what_depends_on_no_argument_is_recorded_too():
    jaxpr, _ = stage(lambda x: [lax.add(x, lax.sin(np.float32(0.5)))], [F32])
    assert names(jaxpr) == ["sin", "add"]


def test_an_exception_leaves_the_outer_interpretation_in_force():
    def fails(x):
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        stage(fails, [F32])
    assert float(jnp.sin(0.0)) == 0.0  # evaluated at once


def test_programs_are_applied_to_values_and_under_further_traces():
    jaxpr, consts = stage(lambda x: [lax.mul(lax.sin(x), np.float32(3))], [F32])
    (value,) = eval_jaxpr(jaxpr, consts, np.float32(0.5))
    assert value == pytest.approx(3 * np.sin(0.5))
    slope = arrax.grad(lambda x: eval_jaxpr(jaxpr, consts, x)[0])(0.5)
    assert slope == pytest.approx(3 * np.cos(0.5))
    again, _ = stage(lambda x: eval_jaxpr(jaxpr, consts, x), [F32])
    assert str(ClosedJaxpr(again, [])) == str(ClosedJaxpr(jaxpr, consts))


def test_leaked_tracers_are_reported_where_they_are_watched_for():
    kept = []
    with config.check_tracer_leaks(True), pytest.raises(Exception, match="Leaked"):
        stage(lambda x: [kept.append(lax.sin(x)) or x], [F32])
    kept.clear()
