"""Batches that explicit mesh axes divide: types inside of programs go on saying so."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.sharding import NamedSharding, reshard
from arrax.sharding import PartitionSpec as P
from tests.parallel.explicit_axes_test import HOST, explicit_mesh, short

HOLDERS = {  # of a row, programs that others hold
    "jit": arrax.jit(lambda row: row * 2 + jnp.ones(8)),
    "jit of a constant": arrax.jit(lambda row: jnp.ones(3)),
    "scan": lambda row: lax.scan(lambda c, x: (c + x, c * x.sum()), jnp.zeros(8), jnp.ones((3, 8)) * row)[1],
    "scan from a constant": lambda row: lax.scan(lambda c, x: (c + row.sum(), c), 0.0, None, length=3),
    "while": lambda row: lax.while_loop(lambda c: c.sum() < 90, lambda c: c * 2 + 1, row),
    "cond": lambda row: lax.cond(True, lambda row: row * 2, lambda row: jnp.ones(8), row),
    "cond by example": lambda row: lax.cond(row.sum() > 20, lambda row: row * 2, lambda row: jnp.ones(8), row),
    "remat": arrax.checkpoint(lambda row: jnp.sin(row)),
    "gradient": arrax.grad(arrax.jit(lambda row: jnp.sin(row).sum())),
    "solve": lambda row: lax.custom_linear_solve(lambda x: x * 2, row, lambda f, b: b / 2),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_operations_that_hold_programs_say_what_divides_a_batch(name):
    function = HOLDERS[name]
    expected = arrax.vmap(function)(HOST)
    mesh = explicit_mesh()
    x = arrax.device_put(HOST, NamedSharding(mesh, P("X")))
    with arrax.set_mesh(mesh):
        told = arrax.eval_shape(arrax.vmap(function), x)
        found = arrax.vmap(function)(x)
    for struct, out, wanted in zip(*map(arrax.tree.leaves, (told, found, expected)), strict=True):
        assert struct.sharding.spec[0] == "X" and short(out).startswith("f32[8@X")
        np.testing.assert_allclose(out, wanted, rtol=1e-5)
    if name != "jit of a constant":  # which lies nowhere
        assert all(short(out).startswith("f32[8@X") for out in arrax.tree.leaves(arrax.vmap(function)(x)))


def test_programs_per_device_keep_what_divides_a_batch():
    mapped = arrax.vmap(arrax.shard_map(lambda piece: lax.psum(piece, "X"), in_specs=P("X"), out_specs=P()))
    partly = arrax.vmap(arrax.shard_map(lambda x: x * 2, in_specs=P("X"), out_specs=P("X"), axis_names={"X"}))
    with arrax.set_mesh(explicit_mesh()):
        x = reshard(HOST, P("Y", "X"))
        for call in (mapped, arrax.jit(mapped)):
            assert short(call(x)) == "f32[8@Y,2]"
            np.testing.assert_allclose(call(x), HOST.reshape(8, 4, 2).sum(1))
        assert short(partly(x)) == "f32[8@Y,8@X]"
