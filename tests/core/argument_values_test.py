"""Objects that stand for arrays, as arguments of what takes functions."""

import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax


class Boxed:
    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


def square(x):
    return x * x


@pytest.mark.parametrize("call, expected", [
    (lambda x: arrax.jit(square)(x), [1, 4]),
    (lambda x: arrax.grad(lambda y: jnp.sum(square(y)))(x), [2, 4]),
    (lambda x: jnp.diagonal(arrax.jacfwd(square)(x)), [2, 4]),
    (lambda x: arrax.jvp(square, (x,), (x,))[1], [2, 8]),
    (lambda x: arrax.vjp(square, x)[1](jnp.ones(2))[0], [2, 4]),
    (lambda x: arrax.linearize(square, x)[1](jnp.ones(2)), [2, 4]),
    (lambda x: arrax.vmap(square)(x), [1, 4]),
    (lambda x: arrax.checkpoint(square)(x), [1, 4]),
    (lambda x: lax.scan(lambda c, y: (c + y, c), x, x)[0], [4, 5]),
    (lambda x: lax.map(square, x), [1, 4]),
    (lambda x: lax.while_loop(lambda c: c[0] < 3, square_of_sum, x), [4, 9]),
    (lambda x: lax.cond(True, square, jnp.sin, x), [1, 4]),
])  # fmt: skip
def test_objects_with_an_array_stand_for_it(call, expected):
    assert call(Boxed(jnp.array([1.0, 2.0]))).tolist() == expected


def square_of_sum(x):
    return square(x + 1)
