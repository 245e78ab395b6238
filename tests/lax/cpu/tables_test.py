"""Elements taken from computed arrays: which programs compute the arrays before, and values."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.support import check_gradients

NUMBERS = np.random.default_rng(0)
TABLE = NUMBERS.standard_normal((5, 6)).astype(np.float32)
ROWS, COLUMNS = (NUMBERS.integers(0, 5, (20, 30)) for _ in range(2))


def is_computed_before(function):
    return "name=taken" in arrax.jit(function).lower(TABLE, ROWS, COLUMNS).as_text("jaxpr")


COMPUTED = {
    "sine": lambda x, i, j: jnp.sin(x)[i, j],
    "stacked": lambda x, i, j: jnp.stack([jnp.cos(x), jnp.sin(x)], -1)[i, j, 0],
    "rows": lambda x, i, j: jnp.log1p(x**2).T[j],
    "nested": lambda x, i, j: arrax.nn.softplus(x)[i, j] - 1,
    "flat": lambda x, i, j: jnp.exp(jnp.exp(x) / 2).reshape(-1)[i * 6 + j],
}


@pytest.mark.parametrize("name", COMPUTED)
def test_costly_tables_are_computed_before_more_elements_are_taken_than_there_are(name):
    function = COMPUTED[name]
    assert is_computed_before(function)
    assert (arrax.jit(function)(TABLE, ROWS, COLUMNS) == function(jnp.asarray(TABLE), ROWS, COLUMNS)).all()


@pytest.mark.parametrize("function", [
    lambda x, i, j: x[i, j],
    lambda x, i, j: (2 * x + 1)[i, j],
    lambda x, i, j: jnp.sin(x)[i[0], j[0]],
    lambda x, i, j: arrax.nn.log_softmax(x[:, i[:, 0]])[jnp.arange(5), j[0, :5]],
], ids="given cheap few labels".split())  # fmt: skip
def test_others_are_computed_where_they_are_taken(function):
    assert not is_computed_before(function)


def test_derivatives_of_tables():
    check_gradients(lambda x: jnp.sin(x)[ROWS, COLUMNS], (TABLE,))
