"""Which programs may be compiled quickly: those whose bits do not depend on how they are compiled."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.interpreters.compile_speed import compiles_quickly

FEW, MANY = np.ones(100, np.float32), np.ones(20_000, np.float32)


@pytest.mark.parametrize(
    ("f", "operand", "wanted"),
    [
        (lambda x: x + x, FEW, True),
        (lambda x: x * x, FEW, True),
        (lambda x: x / 3, FEW, True),
        (lambda x: x * x * x, FEW, True),
        (lambda x: x * x + x, FEW, False),  # may be rounded once
        (lambda x: (x * 2).reshape(10, 10).T, FEW, True),
        (lambda x: x * x + x, FEW.astype(np.int32), True),
        (lambda x: arrax.jit(lambda y: y + 1)(x), FEW, True),
        (lambda x: arrax.jit(lambda y: lax.exp(y))(x), FEW, False),
        (lambda x: lax.exp(x), FEW, False),
        (lambda x: jnp.sum(x), FEW, False),
        (lambda x: x + x, FEW.astype(np.complex64), False),
        (lambda x: lax.neg(x), jnp.asarray(FEW).astype(jnp.float8_e4m3fnuz), False),
        (lambda x: x + x, MANY, False),
    ],
)  # fmt: skip
def test_programs_of_determined_operations_compile_quickly(f, operand, wanted):
    assert compiles_quickly(arrax.make_jaxpr(f)(operand).jaxpr) == wanted
