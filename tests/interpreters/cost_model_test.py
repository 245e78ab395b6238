"""How long programs are estimated to run."""

import math

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray
from arrax.interpreters.cost_model import MAX_ARRAYS, MAX_WORK, runs_inline, work_of

LONG = np.zeros(100_000, np.float32)


def jaxpr_of(f, *args):
    return arrax.make_jaxpr(f)(*args).jaxpr


@pytest.mark.parametrize(
    ("f", "args", "work"),
    [
        (lambda x: x * x + x, (LONG,), 2 * LONG.size),
        (lambda x: lax.exp(x), (LONG,), 2 * LONG.size),
        (lambda x: arrax.jit(lambda y: y + 1)(x), (LONG,), LONG.size),
        (lambda x: lax.scan(lambda c, _: (c + 1, None), x, None, length=7)[0], (LONG,), 7 * LONG.size),
        (lambda x: lax.while_loop(lambda y: y < 9, lambda y: y + 1, x), (0,), math.inf),
    ],
)  # fmt: skip
def test_work_is_counted_in_additions(f, args, work):
    assert work_of(jaxpr_of(f, *args)) == work


def test_products_of_matrices_count_their_terms():
    square = np.zeros((64, 64), np.float32)
    assert work_of(jaxpr_of(lambda x: x @ x, square)) == 64 * 64 + 64**3 / 8


def test_programs_for_two_numbers_do_not_count():
    assert work_of(jaxpr_of(lambda x: lax.reduce(x, np.float32(1), lambda a, b: a * b + a, (0,)), LONG)) == LONG.size


def test_effects_never_run_inline():
    def f(x):
        arrax.debug.callback(lambda _: None, x)
        return x + 1

    assert not runs_inline(jaxpr_of(f, LONG))


@pytest.mark.parametrize(("size", "wanted"), [(10, False), (10_000, True), (MAX_WORK + 1, False)])
def test_what_is_neither_tiny_nor_long_runs_inline(size, wanted):
    assert runs_inline(jaxpr_of(lambda x: x + 1, arrax.ShapeDtypeStruct((size,), np.float32))) == wanted


@pytest.mark.parametrize(
    "name", ["scan", "dot_general", "concatenate", "reduce_prod", "scatter", "conv_general_dilated"]
)
def test_primitives_of_users_may_have_any_name(name):
    primitive = Primitive(name)
    primitive.type_rule = lambda aval, **_: ShapedArray(aval.shape, aval.dtype)
    primitive.lower[None] = lambda ctx, x: [x]
    np.testing.assert_array_equal(arrax.jit(lambda x: primitive.bind(x) + 1)(jnp.arange(3)), [1, 2, 3])


@pytest.mark.parametrize(("count", "wanted"), [(3, True), (MAX_ARRAYS, False)])
def test_programs_of_many_arrays_are_handed_over(count, wanted):
    arrays = [arrax.ShapeDtypeStruct((10_000,), np.float32)] * count
    assert runs_inline(jaxpr_of(lambda xs: [x + 1 for x in xs], arrays)) == wanted
