"""Arrays made like others lie where those do, if they are committed to a place."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

LIKE = (jnp.zeros_like, jnp.ones_like, jnp.empty_like, lambda x: jnp.full_like(x, 2.0), lambda x: lax.full_like(x, 1.0))


class Standing:
    """Stands for an array."""

    def __init__(self, x):
        self.x = x

    def __jax_array__(self):
        return self.x


def test_arrays_like_a_committed_one_lie_with_it():
    second = arrax.devices()[1]
    x = arrax.device_put(jnp.arange(8.0), second)
    for make in (*LIKE, lambda x: jnp.zeros_like(x, shape=(3,)), lambda x: jnp.zeros_like(x, dtype=int)):
        for made in (make(x), make(Standing(x))):
            assert made.committed and made.devices() == {second}
    assert not any(make(jnp.arange(8.0)).committed for make in LIKE)
    assert jnp.zeros_like(x, device=arrax.devices()[2]).devices() == {arrax.devices()[2]}


def test_arrays_like_a_distributed_one_are_distributed():
    sharding = NamedSharding(Mesh(np.array(arrax.devices()), ("a",)), PartitionSpec("a"))
    x = arrax.device_put(jnp.arange(8.0), sharding)
    for make in LIKE:
        assert make(x).sharding == sharding
    assert len(jnp.zeros_like(x, shape=(3,)).devices()) == 1


def test_what_the_host_finds_of_a_committed_array_lies_with_it():
    second = arrax.devices()[1]
    x = arrax.device_put(jnp.arange(8.0), second)
    for found in (
        jnp.nonzero(x)[0], jnp.unique(x), *jnp.unique(x, return_counts=True), jnp.setdiff1d(x, x[:2]), jnp.array([x[0], 1]),
        jnp.intersect1d(x, x), jnp.setxor1d(x, x[:2]),
    ):  # fmt: skip
        assert found.committed and found.devices() == {second}
    assert not jnp.nonzero(jnp.arange(3))[0].committed


def test_sequences_of_distributed_arrays_are_distributed():
    mesh = Mesh(np.array(arrax.devices()), ("a",))
    x = arrax.device_put(jnp.arange(8.0), NamedSharding(mesh, PartitionSpec("a")))
    stacked = jnp.array([[x, x + 1], [np.ones(8), x]])
    assert stacked.sharding == NamedSharding(mesh, PartitionSpec(None, None, "a"))
    np.testing.assert_array_equal(stacked[0, 1], np.arange(1.0, 9))
    assert jnp.asarray([x.sum(), x.max()]).tolist() == [28, 7]


def test_gradients_lie_where_the_arguments_do():
    second = arrax.devices()[1]
    x = arrax.device_put(jnp.arange(8.0), second)
    for function in (lambda x: (x * 0).sum(), lambda x: 1.0, lambda x: lax.stop_gradient(x).sum()):
        gradient = arrax.grad(function)(x)
        assert gradient.committed and gradient.devices() == {second}
        np.testing.assert_array_equal(gradient, np.zeros(8))
    assert not arrax.grad(lambda x: 1.0)(jnp.arange(8.0)).committed
    sharding = NamedSharding(Mesh(np.array(arrax.devices()), ("a",)), PartitionSpec("a"))
    assert arrax.grad(lambda x: 1.0)(arrax.device_put(jnp.arange(8.0), sharding)).sharding == sharding


def test_arrays_lie_as_operands_do_in_programs_per_device_without_a_mesh_in_force():
    mesh = Mesh(np.array(arrax.devices()).reshape(4, 2), ("a", "b"))
    x = arrax.device_put(jnp.zeros((8, 2)), NamedSharding(mesh, PartitionSpec("a", "b")))

    def like(x):
        place = arrax.typeof(x).sharding
        drawn = arrax.random.bernoulli(arrax.random.key(0), 0.5, x.shape, out_sharding=place)
        return x + jnp.ones(x.shape, out_sharding=place) + arrax.device_put(drawn, place)

    expected = arrax.jit(like)(jnp.zeros((2, 2))).tolist()
    for over in (mesh, Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Explicit,) * 2)):
        per_device = arrax.shard_map(
            like, mesh=over, in_specs=PartitionSpec("a"), axis_names={"a"}, out_specs=PartitionSpec("a")
        )
        for run in (per_device, arrax.jit(per_device)):
            np.testing.assert_array_equal(run(arrax.device_put(x, NamedSharding(over, x.sharding.spec))), expected * 4)
    np.testing.assert_array_equal(arrax.pmap(like)(jnp.zeros((4, 2, 2))), [expected] * 4)


def test_errors_about_places_name_the_function_that_was_called():
    mesh = arrax.make_mesh((8,), ("x",))
    uneven = NamedSharding(mesh, PartitionSpec("x"))
    for name, call in {
        "reshard": lambda: arrax.sharding.reshard(np.ones(6), uneven),
        "device_put": lambda: arrax.device_put(np.ones(6), uneven),
        "zeros": lambda: jnp.zeros(6, device=uneven),
    }.items():
        with pytest.raises(ValueError, match=rf"One of {name} args, of type f32\[6\]"):
            call()
    for place in (arrax.sharding.reshard, arrax.device_put):
        with pytest.raises(ValueError, match=f"{place.__name__}: the spec .* needs a mesh in force"):
            place(np.ones(8), PartitionSpec("x"))
    with pytest.raises(ValueError, match="reshard: the spec .* needs a mesh in force"):
        arrax.jit(lambda x: arrax.sharding.reshard(x, PartitionSpec("x")))(np.ones(8))
