"""Arrays made like others lie where those do, if they are committed to a place."""

import numpy as np

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.sharding import Mesh, NamedSharding, PartitionSpec

LIKE = (jnp.zeros_like, jnp.ones_like, jnp.empty_like, lambda x: jnp.full_like(x, 2.0), lambda x: lax.full_like(x, 1.0))


def test_arrays_like_a_committed_one_lie_with_it():
    second = arrax.devices()[1]
    x = arrax.device_put(jnp.arange(8.0), second)
    for make in (*LIKE, lambda x: jnp.zeros_like(x, shape=(3,)), lambda x: jnp.zeros_like(x, dtype=int)):
        made = make(x)
        assert made.committed and made.devices() == {second}
    assert not any(make(jnp.arange(8.0)).committed for make in LIKE)
    assert jnp.zeros_like(x, device=arrax.devices()[2]).devices() == {arrax.devices()[2]}


def test_arrays_like_a_distributed_one_are_distributed():
    sharding = NamedSharding(Mesh(np.array(arrax.devices()), ("a",)), PartitionSpec("a"))
    x = arrax.device_put(jnp.arange(8.0), sharding)
    for make in LIKE:
        assert make(x).sharding == sharding
    assert len(jnp.zeros_like(x, shape=(3,)).devices()) == 1
