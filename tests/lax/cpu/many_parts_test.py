"""Joins and stacks of many small computed parts."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.cpu.routes import lowered_text

X = np.arange(24, dtype=np.float32).reshape(12, 2)


def joins_in(function, *args):
    return lowered_text(function, *args).count("stablehlo.concatenate")


def parts(x, count):
    return [x[i % 12] * np.float32(i) + x[(i + 1) % 12] for i in range(count)]


@pytest.mark.parametrize(
    ("dtype", "count"),
    [("float32", 70), ("float16", 20), *((name, 9) for name in ("float32", "float16", "int32", "bool"))],
)
def test_the_parts_come_in_their_order(dtype, count):
    x, expected = X.astype(dtype), parts(X.astype(dtype).astype(np.float32), count)

    def joined(x):
        computed = [part.astype(dtype) for part in parts(x.astype(np.float32), count)]
        uneven = [*computed, computed[0][:1]]
        return jnp.stack(computed), jnp.stack(computed, -1), jnp.concatenate(computed), jnp.concatenate(uneven)

    expected = [part.astype(dtype) for part in expected]
    for found in (arrax.jit(joined)(x), joined(x)):
        np.testing.assert_array_equal(found[0], np.stack(expected))
        np.testing.assert_array_equal(found[1], np.stack(expected, -1))
        np.testing.assert_array_equal(found[2], np.concatenate(expected))
        np.testing.assert_array_equal(found[3], np.concatenate([*expected, expected[0][:1]]))


def test_groups_of_eight_are_joined_and_then_these():
    assert joins_in(lambda x: jnp.stack(parts(x, 8)), X) == 1
    assert joins_in(lambda x: jnp.stack(parts(x, 9)), X) == 3
    assert joins_in(lambda x: jnp.concatenate(parts(x, 64)), X) == 9
    assert joins_in(lambda x: jnp.concatenate(parts(x, 65)), X) == 12
    assert joins_in(lambda x: jnp.stack([jnp.where(x[i % 12] > i, x[0], 0) for i in range(9)]), X) == 3


def test_parts_in_memory_large_ones_and_those_that_share_work_are_joined_at_once():
    assert joins_in(lambda *xs: jnp.stack(xs), *X) == 1
    assert joins_in(lambda x: jnp.stack([x[i % 12] @ x.T for i in range(9)]), X) == 1
    large = np.ones((12, 2000), np.float32)
    assert joins_in(lambda x: jnp.stack(parts(x, 9)), large) == 1

    def chain(x):
        rows = [x]
        for _ in range(40):
            rows.append(lax.sin(rows[-1]) + x)
        return jnp.stack(rows)

    assert joins_in(chain, X) == 1


def test_derivatives_of_single_elements():
    def f(x):
        return sum(jnp.sin(x[i]) * x[i + 1] for i in range(10))

    x = np.linspace(0, 1, 11, dtype=np.float32)
    expected = np.append(np.cos(x[:-1]) * x[1:], 0) + np.append(0, np.sin(x[:-1]))
    np.testing.assert_allclose(arrax.jit(arrax.grad(f))(x), expected, rtol=1e-6)
    np.testing.assert_array_equal(arrax.jit(arrax.vmap(arrax.grad(f)))(x[None])[0], arrax.jit(arrax.grad(f))(x))
