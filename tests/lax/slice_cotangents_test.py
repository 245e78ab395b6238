"""Derivatives of arrays that several slices take parts of."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import export, lax
from arrax.flatten_util import ravel_pytree

PARTS = {
    "side by side": [np.s_[:3], np.s_[3:5], np.s_[5:]],
    "in another order, with gaps": [np.s_[6:8], np.s_[1:2], np.s_[3:5]],
    "the same part twice": [np.s_[2:4], np.s_[2:4], np.s_[4:]],
    "overlapping": [np.s_[:-1], np.s_[1:], np.s_[2:3], np.s_[:1]],
    "with steps": [np.s_[::2], np.s_[1::2], np.s_[:4]],
    "elements": [0, 1, 3, 2, -1],
    "rows of a matrix": [np.s_[:, 0], np.s_[:, 2], np.s_[:, 1]],
    "elements of a matrix": [np.s_[0, 0], np.s_[0, 1], np.s_[1, 1], np.s_[2, 0]],
    "blocks of a matrix": [np.s_[:2, :2], np.s_[2:, 2:], np.s_[:2, 2:], np.s_[2:, :1]],
    "nothing of it": [np.s_[3:3], np.s_[3:5], np.s_[5:]],
}


def sum_of_squares(x, parts):
    """Each part's squares by a number of its own, and those of the whole."""
    return sum(number * jnp.sum(x[part] ** 2) for number, part in enumerate(parts, 2)) + jnp.sum(x * x)


def its_derivative(x, parts):
    ct = 2 * x
    for number, part in enumerate(parts, 2):
        ct[part] += number * 2 * x[part]
    return ct


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
@pytest.mark.parametrize("name", PARTS)
def test_each_element_has_the_sum_of_what_its_parts_have(name, dtype):
    shape = (3, 4) if "matrix" in name else (8,)
    x = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(np.float32)
    gradient = arrax.grad(lambda x: sum_of_squares(x, PARTS[name]), holomorphic=dtype == "complex64")
    for function in (gradient, arrax.jit(gradient)) if dtype == "float32" else (arrax.jit(gradient),):
        found = function(jnp.asarray(x, dtype))
        assert found.dtype == dtype
        np.testing.assert_array_equal(np.real(found).astype(x.dtype), its_derivative(x.copy(), PARTS[name]))


@pytest.mark.parametrize("name", ["side by side", "overlapping", "elements"])
def test_batches_and_second_derivatives(name):
    x = np.arange(16.0, dtype=np.float32).reshape(2, 8)
    gradient = arrax.grad(lambda x: sum_of_squares(x, PARTS[name]))
    expected = np.stack([its_derivative(row.copy(), PARTS[name]) for row in x])
    np.testing.assert_array_equal(arrax.vmap(gradient)(x), expected)
    ones = np.ones(8, np.float32)
    second = arrax.jacrev(gradient)(x[0])
    np.testing.assert_array_equal(second, np.diag(its_derivative(ones, PARTS[name])))
    np.testing.assert_array_equal(arrax.jvp(gradient, (x[0],), (x[1],))[1], expected[1])


def test_a_vector_cut_into_arrays_is_put_together_once():
    flat, unravel = ravel_pytree([jnp.ones((2, 3)), jnp.ones(4), jnp.ones(()), jnp.ones((5, 1))])
    gradient = arrax.grad(lambda flat: sum(jnp.sum(leaf**3) for leaf in unravel(flat)))
    names = [eqn.primitive.name for eqn in arrax.make_jaxpr(gradient)(flat).eqns]
    assert names.count("concatenate") == 1
    assert "pad" not in names
    np.testing.assert_array_equal(gradient(flat + 1), np.full(16, 12))


def test_parts_without_cotangents_take_none():
    def last_of_three(x):
        first, second, third = x[:2], x[2:4], x[4:]
        return jnp.sum(lax.stop_gradient(first) * 0) + jnp.sum(third) + 0 * jnp.sum(lax.stop_gradient(second))

    np.testing.assert_array_equal(arrax.grad(last_of_three)(np.ones(6, np.float32)), [0, 0, 0, 0, 1, 1])


def test_linear_programs_are_transposed():
    transposed = arrax.linear_transpose(lambda x: (x[:2] + x[4:], x[2:4]), np.ones(6, np.float32))
    (ct,) = transposed((jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
    np.testing.assert_array_equal(ct, [1, 2, 3, 4, 1, 2])


def test_symbolic_lengths():
    (length,) = export.symbolic_shape("n", constraints=["n >= 3"])
    gradient = arrax.jit(arrax.grad(lambda x: jnp.sum(x[1:] ** 2) + jnp.sum(x[:-1] ** 2) + 3 * x[0]))
    exported = export.export(gradient)(arrax.ShapeDtypeStruct((length,), jnp.float32))
    np.testing.assert_array_equal(exported.call(jnp.arange(4.0)), [3, 4, 8, 6])


def test_parts_of_a_divided_array():
    mesh = arrax.make_mesh((1,), ("devices",))

    def of_a_device(x):
        return lax.psum(jnp.sum(x[:2] ** 2) + 2 * jnp.sum(x[2:] ** 2), "devices")

    specs = arrax.sharding.PartitionSpec("devices")
    mapped = arrax.shard_map(of_a_device, mesh=mesh, in_specs=specs, out_specs=arrax.sharding.PartitionSpec())
    np.testing.assert_array_equal(arrax.grad(mapped)(jnp.arange(4.0)), [0, 2, 8, 12])
