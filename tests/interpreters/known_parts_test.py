"""What depends on arrays that a function closes over alone is computed once, where that takes much of the program's time."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.interpreters.known_parts import opened, split_known
from arrax.interpreters.staging import eval_jaxpr
from arrax.transforms import jit as jit_module

COUNTS = jnp.asarray(np.arange(3000, dtype=np.float32) % 50)
RATES = np.linspace(1, 5, 3000, dtype=np.float32)


def likelihood(counts, rates):
    return jnp.sum(counts * jnp.log(rates) - rates - lax.lgamma(counts + 1))


def program(function, *args):
    return arrax.make_jaxpr(function)(*args).jaxpr


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_costly_operations_on_constants_are_split_off_with_their_operands():
    known, rest = split_known(program(lambda rates: likelihood(COUNTS, rates), RATES))
    assert names(known) == ["add", "lgamma"] and not known.invars and len(known.outvars) == 1
    assert "lgamma" not in names(rest) and rest.constvars[-1] is known.outvars[0]


@pytest.mark.parametrize(
    "function",
    [
        lambda rates: rates * jnp.sqrt(COUNTS),  # as fast as it is read
        lambda rates: rates * lax.lgamma(COUNTS[:20] + 1).sum(),  # short
        lambda rates: lax.fori_loop(0, 100, lambda _, x: jnp.sin(jnp.tan(jnp.sort(x))), rates) * jnp.sin(COUNTS),  # a small share
        lambda rates: (jnp.sin(COUNTS[:, None] + COUNTS) @ rates).sum(),  # large results
        lambda rates: likelihood(rates, rates) + COUNTS.sum(),  # of the argument
    ],
)  # fmt: skip
def test_what_saves_little_or_takes_much_memory_stays(function):
    assert split_known(program(function, RATES)) is None


def test_calls_of_jitted_functions_are_looked_into():
    inner = arrax.jit(likelihood)
    opened_twice = program(lambda rates: inner(COUNTS, rates) + inner(COUNTS, rates / 2), RATES)
    assert split_known(opened_twice) is None
    known, rest = split_known(opened(opened_twice, lambda eqn: eqn.params.get("jaxpr")))
    assert names(known) == ["add", "lgamma"] * 2 and "lgamma" not in names(rest)
    values = eval_jaxpr(known, [COUNTS])
    (found,) = eval_jaxpr(rest, [COUNTS, *values], RATES)
    np.testing.assert_allclose(found, inner(COUNTS, RATES) + inner(COUNTS, RATES / 2), rtol=1e-5)


def test_values_and_slopes_have_the_bits_of_arguments():
    closed = arrax.jit(arrax.value_and_grad(lambda rates: likelihood(COUNTS, rates)))
    given = arrax.jit(lambda counts, rates: arrax.value_and_grad(likelihood, 1)(counts, rates))
    for _ in range(2):
        for found, expected in zip(closed(RATES), given(COUNTS, RATES), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_the_part_runs_once(monkeypatch):
    runs = []

    class Counted(jit_module.CompiledProgram):
        def call(self, leaves):
            runs.append(names(self.lowered.jaxpr))
            return super().call(leaves)

    monkeypatch.setattr(jit_module, "CompiledProgram", Counted)
    function = arrax.jit(lambda rates: likelihood(COUNTS, rates))
    function(RATES)
    function(RATES + 1)
    assert sum("lgamma" in run for run in runs) == 1


def test_functions_on_the_host_run_at_each_call():
    calls = []

    def slow(x):
        calls.append(None)
        return x

    shape = arrax.ShapeDtypeStruct(COUNTS.shape, COUNTS.dtype)
    function = arrax.jit(lambda rates: rates + lax.lgamma(arrax.pure_callback(slow, shape, COUNTS) + 1))
    for _ in range(3):
        function(RATES).block_until_ready()
    assert len(calls) >= 3


def test_results_that_are_known_are_results():
    known, both = arrax.jit(lambda rates: (lax.lgamma(COUNTS + 1), lax.lgamma(COUNTS + 1) * rates))(RATES)
    np.testing.assert_array_equal(known, lax.lgamma(COUNTS + 1))
    np.testing.assert_array_equal(both, lax.lgamma(COUNTS + 1) * RATES)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: arrax.jit(lambda x, y: jnp.exp(x) * y)(x, y),
        lambda x, y: lax.scan(lambda c, row: (c, jnp.exp(row) * y), 0, x)[1],
        lambda x, y: lax.fori_loop(0, 2, lambda i, c: jnp.exp(x) * y, x * y),
        lambda x, y: lax.cond(y > 0, lambda x: jnp.exp(x) * y, lambda x: x * y, x),
        lambda x, y: jnp.exp((x * 2).T / 2).T * y,
    ],
)  # fmt: skip
def test_functions_of_small_arrays_of_numpy_have_the_bits_of_arguments(function):
    table = np.random.default_rng(0).normal(0, 3, (16, 9)).astype(np.float32)
    closed_over = arrax.jit(lambda y: function(table, y))(np.float32(1))
    np.testing.assert_array_equal(closed_over, jnp.exp(table))


def test_small_arrays_of_numpy_stay_in_the_program_where_the_compiler_computes_nothing_of_them_but_exact_results():
    table = np.arange(1, 7, dtype=np.float32)
    for function, stays in [
        (lambda y: y[:6] * table, True),
        (lambda y: jnp.exp(y[:6] * table), True),
        (lambda y: y[table.astype(int)], True),
        (lambda y: y[:6] * jnp.exp(table), False),
    ]:
        module = arrax.jit(function).lower(np.ones(9, np.float32)).as_text()
        assert (module.split("public @main(")[1].split("->")[0].count("%arg") == 1) is stays
