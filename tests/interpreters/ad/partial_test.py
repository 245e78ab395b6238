"""Partial evaluation: what is known runs, the rest is recorded with what it needs."""

import numpy as np
import pytest

import arrax
from arrax import lax
from arrax.core.types import typeof
from arrax.interpreters.ad.partial import partial_eval, split_program
from arrax.interpreters.staging import eval_jaxpr

TWO = np.float32(2)


def test_what_is_known_runs_and_the_rest_is_recorded():
    outs, unknown, rest, residuals = partial_eval(
        lambda x, y: [lax.sin(x), lax.mul(lax.cos(x), y)], [TWO, None], [None, typeof(TWO)]
    )
    assert unknown == [False, True] and outs[0] == pytest.approx(np.sin(2), 1e-6) and outs[1] is None
    assert [eqn.primitive.name for eqn in rest.eqns] == ["mul"]
    assert [float(r) for r in residuals] == [pytest.approx(np.cos(2), 1e-6)]
    assert eval_jaxpr(rest, residuals, np.float32(3))[0] == pytest.approx(3 * np.cos(2), 1e-6)


def test_a_program_is_split_by_what_is_known():
    program = arrax.make_jaxpr(lambda x, y: (lax.sin(x), lax.mul(lax.exp(x), y)))(1.0, 2.0)
    split = split_program(program, [False, True])
    assert split.out_unknown == [False, True] and [aval.shape for aval in split.residual_avals] == [()]
    sine, residual = eval_jaxpr(split.known.jaxpr, split.known.consts, TWO)
    (product,) = eval_jaxpr(split.rest.jaxpr, split.rest.consts, residual, np.float32(3))
    assert sine == pytest.approx(np.sin(2), 1e-6) and product == pytest.approx(3 * np.exp(2), 1e-6)
    assert split_program(program, [False, True]) is split


def test_known_outputs_are_handed_on_where_that_is_asked():
    program = arrax.make_jaxpr(lambda x, y: (lax.sin(x), y))(1.0, 2.0)
    split = split_program(program, [False, True], instantiate=True)
    assert split.out_unknown == [True, True]
    residuals = eval_jaxpr(split.known.jaxpr, split.known.consts, TWO)
    sine, same = eval_jaxpr(split.rest.jaxpr, split.rest.consts, *residuals, np.float32(3))
    assert sine == pytest.approx(np.sin(2), 1e-6) and same == 3


@pytest.mark.parametrize("length", [1, 4])
def test_loops_are_split_with_their_residuals_stacked(length):
    def loop(x, y):
        return lax.scan(
            lambda c, _: ((lax.sin(c[0]), lax.mul(lax.cos(c[0]), c[1])), None), (x, y), None, length=length
        )[0]

    split = split_program(arrax.make_jaxpr(loop)(1.0, 2.0), [False, True])
    assert split.out_unknown == [False, True]
    known, *residuals = eval_jaxpr(split.known.jaxpr, split.known.consts, TWO)
    (rest,) = eval_jaxpr(split.rest.jaxpr, split.rest.consts, *residuals, np.float32(3))
    expected = loop(TWO, np.float32(3))
    np.testing.assert_allclose([known, rest], expected, 1e-6)
