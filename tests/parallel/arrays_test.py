"""Arrays over several devices: making them, moving them, looking at them, computing with them."""

import copy
import pickle

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import mesh_utils
from arrax.sharding import Mesh, NamedSharding, PositionalSharding, SingleDeviceSharding
from arrax.sharding import PartitionSpec as P


def mesh(shape=(4, 2), names=("x", "y"), devices=slice(None)):
    return Mesh(np.array(arrax.devices()[devices]).reshape(shape), names)


def over(*spec):
    return NamedSharding(mesh(), P(*spec))


VALUES = np.arange(128, dtype=np.float32).reshape(16, 8)


def placements():
    positions = PositionalSharding(arrax.devices())
    return [
        over(), over("x"), over("y", "x"), over(("x", "y")), over(None, ("y", "x")), over(None, "y"),
        positions.reshape(2, 4), positions.reshape(4, 2).replicate(0), SingleDeviceSharding(arrax.devices()[5]),
        NamedSharding(mesh((2, 2), devices=slice(4)), P("y", "x")),
        NamedSharding(mesh(devices=slice(None, None, -1)), P("x", "y")),
    ]  # fmt: skip


def test_values_survive_every_move():
    for number, first in enumerate(placements()):
        array = arrax.device_put(VALUES, first)
        assert array.sharding == first and array.committed
        for second in placements()[number % 2 :: 2]:
            moved = arrax.device_put(array, second)
            assert moved.sharding == second and np.array_equal(moved, VALUES)
            for shard in moved.addressable_shards:
                assert shard.data.devices() == {shard.device} and np.array_equal(shard.data, VALUES[shard.index])


def test_shards_say_where_and_which_they_are():
    shards = arrax.device_put(VALUES, over("x")).addressable_shards
    assert [shard.replica_id for shard in shards] == [0, 1] * 4
    assert shards[2].index == (slice(4, 8), slice(None)) and shards[2].data.shape == (4, 8)
    assert len(arrax.device_put(VALUES, over()).global_shards) == 8
    assert np.array_equal(arrax.device_put(VALUES, over("x")).addressable_data(6), VALUES[12:])
    made = arrax.Shard(arrax.devices()[5], over("x"), (16, 8), shards[5].data)
    assert (made.index, made.replica_id, made.data) == ((slice(8, 12), slice(None)), 1, shards[5].data)
    with pytest.raises(ValueError, match="none of those"):
        arrax.Shard(arrax.devices()[5], SingleDeviceSharding(arrax.devices()[0]), (2,))


def test_trees_take_trees_of_placements():
    tree = {"a": VALUES, "b": [1.0, np.arange(8)]}
    placed = arrax.device_put(tree, {"a": over("x"), "b": over()})
    assert placed["a"].sharding == over("x") and placed["b"][0].sharding == placed["b"][1].sharding == over()
    assert arrax.device_put(tree, over())["b"][1].sharding == over()


def test_key_arrays_lie_over_devices():
    keys = arrax.device_put(arrax.random.split(arrax.random.key(0), 8), over("x"))
    assert keys.sharding == over("x")
    plain = arrax.random.split(arrax.random.key(0), 8)
    assert np.array_equal(arrax.vmap(arrax.random.bits)(keys), arrax.vmap(arrax.random.bits)(plain))


def test_donated_arrays_are_gone_and_others_share_nothing_they_should_not():
    first = arrax.device_put(VALUES, over("x"))
    second = arrax.device_put(first, over("y"), donate=True)
    assert first.is_deleted() and np.array_equal(second, VALUES)
    copied = arrax.device_put(second, over("y"), may_alias=False)
    second.delete()
    assert np.array_equal(copied, VALUES)
    with pytest.raises(ValueError, match="cannot both"):
        arrax.device_put(copied, over(), donate=True, may_alias=True)
    with pytest.raises(RuntimeError, match="deleted"):
        arrax.device_put(second, over())


def test_ndarrays_may_change_after_they_were_put():
    host = VALUES.copy()
    array = arrax.device_put(host, over("x"))
    host[:] = -1
    assert np.array_equal(array, VALUES)


@pytest.mark.parametrize("spec", [("x",), (("x", "y"),), ("x", "y"), (None, "y")])
def test_axes_without_elements_are_divided(spec):
    nothing = np.ones((0, 4), np.float32)
    for value in (nothing, jnp.asarray(nothing), arrax.device_put(nothing, over("y"))):
        put = arrax.device_put(value, over(*spec))
        assert put.sharding == over(*spec) and np.asarray(arrax.jit(jnp.sin)(put)).shape == (0, 4)
    assert jnp.zeros((0, 4), device=over(*spec)).shape == (0, 4)


def test_arrays_are_made_of_pieces():
    made = arrax.make_array_from_callback(VALUES.shape, over("y", "x"), lambda index: VALUES[index])
    assert np.array_equal(made, VALUES) and made.sharding == over("y", "x")
    pieces = [shard.data for shard in made.addressable_shards]
    again = arrax.make_array_from_single_device_arrays(VALUES.shape, made.sharding, pieces[::-1])
    assert np.array_equal(again, VALUES)
    local = arrax.make_array_from_process_local_data(over("x"), VALUES)
    assert np.array_equal(local, VALUES) and local.sharding == over("x")
    tree = arrax.make_array_from_process_local_data({"a": over("x"), "b": over()}, {"a": VALUES, "b": (VALUES, VALUES)})
    assert tree["a"].sharding == over("x") and tree["b"][1].sharding == over() and np.array_equal(tree["b"][1], VALUES)
    with arrax.set_mesh(mesh()):
        assert arrax.make_array_from_process_local_data(P("x"), VALUES).sharding == over("x")
    ones = lambda index: np.ones(2)  # noqa: E731
    assert arrax.make_array_from_callback((8,), over("x"), ones, dtype="float64").dtype == jnp.float32
    stacked = arrax.device_put_sharded([{"a": np.full(3, i)} for i in range(4)], arrax.devices()[:4])["a"]
    assert stacked.tolist() == [[i] * 3 for i in range(4)] and len(stacked.devices()) == 4
    assert arrax.device_put_replicated(np.ones(3), arrax.devices()[:2]).shape == (2, 3)


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: arrax.device_put(np.ones(6), over("x")), ValueError),
        (lambda: arrax.device_put(np.ones(8), over("x", "y")), ValueError),
        (lambda: arrax.device_put(np.ones(8), "x"), ValueError),
        (lambda: arrax.make_array_from_callback((8, 2), over("x"), lambda index: np.ones(3)), ValueError),
        (lambda: arrax.make_array_from_callback((8,), over("x"), lambda index: np.ones(2), "bfloat16"), ValueError),
        (lambda: arrax.make_array_from_callback((8, 2), "x", lambda index: np.ones(3)), TypeError),
        (lambda: arrax.make_array_from_single_device_arrays((8,), over("x"), [jnp.ones(2)] * 3), ValueError),
        (lambda: arrax.make_array_from_single_device_arrays((8,), over("x"), [jnp.ones(2)] * 8), ValueError),
        (lambda: arrax.make_array_from_single_device_arrays((8,), over("x"), jnp.ones(2)), TypeError),
        (lambda: arrax.make_array_from_single_device_arrays((8,), over("x"), [np.ones(2)] * 8), TypeError),
        (lambda: arrax.device_put_sharded([np.ones(2)], arrax.devices()[:2]), ValueError),
        (lambda: arrax.device_put_sharded([np.ones(2), np.ones(3)], arrax.devices()[:2]), ValueError),
        (lambda: arrax.device_put(VALUES, over("x")).__dlpack__(), BufferError),
    ],
)
def test_what_does_not_fit_is_refused(make, error):
    with pytest.raises(error):
        make()


def test_eager_operations_follow_their_operands():
    x = arrax.device_put(VALUES, over("x", "y"))
    cases = {
        "x + 1": (x + 1, P("x", "y")), "x.T": (x.T, P("y", "x")), "sin": (jnp.sin(x), P("x", "y")),
        "sum": (x.sum(), P()), "rows": (x.sum(0), P("y")), "product": (x @ x.T, P("x")), "copy": (jnp.copy(x), P("x", "y")),
        "with uncommitted": (x + jnp.ones(8), P("x", "y")), "like": (jnp.zeros_like(x) + x, P("x", "y")),
    }  # fmt: skip
    for name, (result, spec) in cases.items():
        assert result.sharding.is_equivalent_to(over(*spec), result.ndim), (name, result.sharding)
    expected = {"x.T": VALUES.T, "sum": VALUES.sum(), "rows": VALUES.sum(0), "product": VALUES @ VALUES.T}
    for name, value in expected.items():
        np.testing.assert_allclose(cases[name][0], value, rtol=1e-6)


def test_indexing_iterating_and_updating_give_the_values():
    x = arrax.device_put(VALUES, over("x", "y"))
    assert np.array_equal(x[3], VALUES[3]) and np.array_equal(x[2:9, ::2], VALUES[2:9, ::2])
    assert np.array_equal(x[jnp.array([5, 1])], VALUES[[5, 1]]) and float(x[1, 2]) == VALUES[1, 2]
    assert np.array_equal(np.stack([np.asarray(row) for row in x]), VALUES) and len(x) == 16
    changed = VALUES.copy()
    changed[4] = 7
    assert np.array_equal(x.at[4].set(7), changed) and len(x.at[4].set(7).devices()) == 8
    assert np.array_equal(jnp.concatenate([x, x]), np.concatenate([VALUES, VALUES]))


def test_arrays_print_pickle_and_copy_whole():
    x = arrax.device_put(np.arange(4), NamedSharding(mesh((2,), ("x",), slice(2)), P("x")))
    assert repr(x) == "Array([0, 1, 2, 3], dtype=int32)"
    assert np.array_equal(pickle.loads(pickle.dumps(x)), x)
    for copied in (copy.copy(x), copy.deepcopy(x)):
        assert copied.sharding == x.sharding and np.array_equal(copied, x) and copied is not x
    x.delete()
    assert repr(x).endswith("[deleted]")


def test_operands_on_different_devices_are_refused_by_name():
    x = arrax.device_put(VALUES, over("x"))
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3, 4, 5, 6, 7\] on platform CPU.*\[3\] on platform CPU"):
        x + arrax.device_put(1, arrax.devices()[3])
    with pytest.raises(ValueError, match="incompatible devices"):
        x + arrax.device_put(VALUES, NamedSharding(mesh(devices=slice(None, None, -1)), P("x")))


def test_a_mesh_of_one_device_holds_arrays_like_any_other():
    one = NamedSharding(Mesh(np.array(arrax.devices()[:1]), ("x",)), P("x"))
    array = arrax.device_put(VALUES, one)
    np.testing.assert_array_equal(np.asarray(arrax.jit(lambda x: x + 1)(array)), VALUES + 1)
    assert array.sharding == one and "0." in repr(array)
    for held in (array, array + 0):
        assert held.sharding == one and held.device == arrax.devices()[0]
        (shard,) = held.addressable_shards
        assert (shard.device, shard.index, held.addressable_data(0).device) == (
            held.device,
            (slice(None),) * 2,
            held.device,
        )
        np.testing.assert_array_equal(shard.data, VALUES)
        np.testing.assert_array_equal(np.from_dlpack(held), VALUES)
        assert jnp.from_dlpack(held).devices() == {held.device}
        again = arrax.make_array_from_single_device_arrays(VALUES.shape, one, [shard.data])
        np.testing.assert_array_equal(again, VALUES)


def test_the_last_axes_of_positions_cut_arrays_of_lower_rank():
    positions = PositionalSharding(arrax.devices()).reshape(4, 2).replicate(0)
    bias = arrax.device_put(np.arange(6.0), positions)
    assert bias.sharding.shard_shape((6,)) == (3,)
    assert [list(np.asarray(shard.data)) for shard in bias.addressable_shards] == [[0, 1, 2], [3, 4, 5]] * 4
    with pytest.raises(ValueError, match="only valid for values of rank 2"):
        arrax.device_put(np.arange(8.0), PositionalSharding(arrax.devices()).reshape(4, 2))


def test_a_mesh_of_one_axis_may_be_asked_for_by_a_number():
    assert mesh_utils.create_device_mesh(8).shape == (8,)


def test_arrays_are_no_places():
    x = jnp.ones(2)
    for name, put in (
        ("device_put", lambda: arrax.device_put(1.0, x)),
        ("zeros", lambda: jnp.zeros(2, device=x)),
        ("to_device", lambda: x.to_device(x)),
    ):
        with pytest.raises(ValueError, match=f"{name}: .*expected a device or sharding"):
            put()


def test_results_are_asked_for_by_shardings():
    for name, ask in (
        ("zeros", lambda place: jnp.zeros(2, out_sharding=place)),
        ("array", lambda place: jnp.array([1], out_sharding=place)),
        ("reshape", lambda place: jnp.reshape(np.ones(2), (1, 2), out_sharding=place)),
        ("einsum", lambda place: jnp.einsum("i->i", np.ones(2), out_sharding=place)),
    ):
        for place in ("x", arrax.devices()[0]):
            with pytest.raises(TypeError, match=f"{name}: .*out_sharding must be None, a sharding or a PartitionSpec"):
                ask(place)
    with pytest.raises(ValueError, match="zeros: device and out_sharding cannot both be given"):
        jnp.zeros(2, device=arrax.devices()[0], out_sharding=SingleDeviceSharding(arrax.devices()[0]))


def test_an_exchange_without_copies_stays_on_its_device():
    here, there = arrax.devices()[:2]
    x = arrax.device_put(np.arange(3, dtype=np.float32), there)
    assert arrax.dlpack.from_dlpack(x, device=there, copy=False).devices() == {there}
    for source, device in ((x, here), (np.arange(3, dtype=np.float32), there)):
        with pytest.raises(ValueError, match="from_dlpack: moving elements .*copy=False refuses"):
            arrax.dlpack.from_dlpack(source, device=device, copy=False)


def test_pieces_of_keys_are_keys():
    keys = arrax.random.split(arrax.random.key(0), 8)
    placed = arrax.device_put(keys, over("x"))
    for shards in (placed.addressable_shards, placed.global_shards):
        for shard in shards:
            assert shard.data.dtype == keys.dtype and shard.data.shape == over("x").shard_shape((8,))
            assert np.array_equal(arrax.random.key_data(shard.data), arrax.random.key_data(keys[shard.index]))
    (own,) = arrax.random.key(1).addressable_shards
    assert own.data.shape == () and own.index == ()
