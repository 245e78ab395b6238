"""Transposition: cotangents of the inputs in which a program is linear."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.types import Zero, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, add_cotangents, backward_pass, transpose_program
from arrax.interpreters.staging import eval_jaxpr

ROW = np.arange(3, dtype=np.float32)


def linear(x):
    return UndefinedPrimal(typeof(x))


def test_cotangents_flow_backwards_and_add_up():
    program = arrax.make_jaxpr(lambda x: lax.add(lax.mul(x, 3.0), lax.neg(x)))(1.0)
    (ct,) = backward_pass(program.jaxpr, program.consts, [linear(np.float32(1))], [np.float32(1)])
    assert ct == 2


def test_inputs_that_are_not_linear_have_none():
    program = arrax.make_jaxpr(lambda x, y: lax.mul(lax.sin(x), y))(1.0, 2.0)
    cts = backward_pass(program.jaxpr, program.consts, [np.float32(1), linear(np.float32(1))], [np.float32(2)])
    assert cts[0] is None and cts[1] == pytest.approx(2 * np.sin(1), 1e-6)


def test_what_gets_nothing_has_a_symbolic_zero():
    program = arrax.make_jaxpr(lambda x, y: (lax.mul(x, 2.0), lax.mul(y, 2.0)))(1.0, 2.0)
    primals = [linear(np.float32(1)), linear(np.float32(1))]
    cts = backward_pass(program.jaxpr, program.consts, primals, [np.float32(1), Zero.of(np.float32(1))])
    assert cts[0] == 2 and type(cts[1]) is Zero
    nothing = backward_pass(program.jaxpr, program.consts, primals, [Zero.of(np.float32(1))] * 2)
    assert all(type(ct) is Zero for ct in nothing)


def test_sums_of_cotangents():
    zero = Zero.of(np.float32(1))
    assert add_cotangents(None, np.float32(2)) == 2 and add_cotangents(zero, np.float32(2)) == 2
    assert add_cotangents(np.float32(1), np.float32(2)) == 3 and type(add_cotangents(zero, zero)) is Zero


def test_transposed_programs_and_their_transposes():
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    program = arrax.make_jaxpr(lambda x: jnp.dot(matrix, x))(ROW)
    back, nonzero = transpose_program(program, [True], [True])
    assert nonzero == [True] and transpose_program(program, [True], [True])[0] is back
    (ct,) = eval_jaxpr(back.jaxpr, back.consts, np.ones(2, np.float32))
    np.testing.assert_array_equal(ct, matrix.sum(0))
    again, _ = transpose_program(back, [True], [True])
    np.testing.assert_array_equal(eval_jaxpr(again.jaxpr, again.consts, ROW)[0], matrix @ ROW)


def test_an_operation_that_is_not_linear_is_refused():
    program = arrax.make_jaxpr(lax.sin)(1.0)
    with pytest.raises(NotImplementedError, match="sin"):
        backward_pass(program.jaxpr, program.consts, [linear(np.float32(1))], [np.float32(1)])


def test_loops_are_transposed():
    def loop(x):
        return lax.scan(lambda c, a: (lax.mul(c, 2.0) + a, lax.mul(c, 3.0)), 0.0, x)

    program = arrax.make_jaxpr(loop)(ROW)
    back, _ = transpose_program(program, [True], [True, True])
    (ct,) = eval_jaxpr(back.jaxpr, back.consts, np.float32(1), np.ones(3, np.float32))
    _, pull = arrax.vjp(loop, ROW)
    np.testing.assert_allclose(ct, pull((np.float32(1), np.ones(3, np.float32)))[0], 1e-6)
