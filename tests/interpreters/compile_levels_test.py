"""Which settings of the compiler programs get."""

import numpy as np
import pytest

import arrax
from arrax import lax
from arrax import numpy as jnp
from arrax.interpreters.compile_levels import choose_level

TABLE = np.ones((300, 300), np.float32)
PLACES = np.ones(90_000, np.int32)
IMAGES = np.ones((8, 4, 64, 64), np.float32)


def level(f, *args, eager=False):
    return choose_level(arrax.make_jaxpr(f)(*args).jaxpr, eager)


def many_products(x):
    for _ in range(6):
        x = x @ x
    return x


# fmt: off
@pytest.mark.parametrize(("wanted", "f", "args"), [
    ("fused", many_products, (TABLE[:8, :8],)),
    ("fused", arrax.jit(many_products), (TABLE[:8, :8],)),
    ("fused", lambda x, i: jnp.zeros(9).at[i].add(x), (TABLE.ravel(), PLACES)),
    ("fused", lambda x: lax.conv(x, x[:4, :, :3, :3], (1, 1), "SAME"), (IMAGES,)),
    ("fused", lambda x: lax.fori_loop(0, 9, lambda i, y: y * x, x), (TABLE,)),
    ("fused", lambda x: lax.while_loop(lambda y: y[0, 0] < 9, lambda y: y + 1, x), (TABLE,)),
    ("fused", lambda x: lax.scan(lambda c, e: (c + e, c), x[0], x)[0], (np.ones((1000, 1100), np.float32),)),
    ("fused", lambda x: lax.dot(x, x, preferred_element_type=np.int32), (TABLE.astype(np.int8),)),
    ("fused", lambda x: lax.reduce(x, np.float32(0), lambda a, b: a + b * 2, (0,)), (TABLE,)),
    ("jit",   lambda x: lax.fori_loop(0, 9, lambda i, y: y * x, x), (TABLE[:10, :10],)),
    ("jit",   lambda x: lax.scan(lambda c, e: (c + e, c), x[0], x)[0], (TABLE,)),
    ("best",  lambda x: jnp.sum(x, 0), (TABLE.astype(np.int32),)),
    ("best",  lambda x: jnp.sum(x > 0, 1), (TABLE,)),
    ("best",  lambda x: jnp.prod(x, 0), (TABLE,)),
    ("jit",   lambda x: jnp.prod(x, 1), (TABLE,)),
    ("jit",   lambda x: jnp.sum(x), (TABLE.astype(np.int32),)),
    ("fused", lambda x: jnp.concatenate([x, x + 1]), (TABLE,)),
    ("fused", lambda x: jnp.pad(x, 1), (TABLE,)),
    ("jit",   lambda x: jnp.concatenate([x, x + 1]), (TABLE.ravel(),)),
    ("fused", lambda x: jnp.exp(x).sum(-1), (TABLE.reshape(-1, 5, 10),)),
    ("jit",   lambda x: jnp.exp(x).sum(-1), (TABLE.reshape(-1, 10),)),
    ("jit",   lambda x: jnp.stack([x, x + 1], -1), (TABLE,)),
    ("jit",   lambda x: jnp.sum(x, 0), (TABLE,)),
    ("jit",   jnp.matmul, (TABLE, TABLE)),
    ("jit",   jnp.sin, (TABLE,)),
    ("jit",   lambda x, i: jnp.zeros((9, 9)).at[i].add(x), (np.ones((90_000, 9), np.float32), PLACES)),
])
# fmt: on
def test_programs_get_the_emitters_where_they_pay(wanted, f, args):
    assert level(f, *args) == wanted


def test_exponentials_that_are_summed_and_used_again_are_kept():
    assert level(arrax.nn.softmax, TABLE) == "fused"
    assert level(lambda x: jnp.sum(jnp.exp(x)), TABLE) == "jit"
    assert level(arrax.nn.softmax, TABLE[:8]) == "jit"
    assert level(arrax.nn.softmax, TABLE.reshape(-1, 10)) == "jit"


def test_one_operation_on_few_elements_is_compiled_at_the_lowest_level():
    assert level(jnp.sin, TABLE[:8], eager=True) == "eager"
    assert level(jnp.sin, TABLE, eager=True) == "jit"
    assert level(jnp.tanh, TABLE[:8], eager=True) == "jit"  # its bits depend on the level


def test_results_in_the_place_of_large_inputs_get_the_emitters():
    jaxpr = arrax.make_jaxpr(lambda x, y: x - y)(TABLE, TABLE).jaxpr
    assert choose_level(jaxpr, False, [jaxpr.invars[0].aval]) == "fused"
    small = arrax.make_jaxpr(lambda x: x + 1)(TABLE[0]).jaxpr
    assert choose_level(jaxpr, False) == choose_level(small, False, [small.invars[0].aval]) == "jit"
