"""Arrays: attributes, printing, conversion to Python and NumPy, copies, pickling, placement, deletion."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp

DEVICE = arrax.devices()[0]
X = jnp.arange(6.0).reshape(2, 3)

# fmt: off
PRINTED = {
    "vector":     (lambda: jnp.arange(3.0), "Array([0., 1., 2.], dtype=float32)"),
    "scalar":     (lambda: jnp.float32(2), "Array(2., dtype=float32)"),
    "weak":       (lambda: jnp.asarray(2.0), "Array(2., dtype=float32, weak_type=True)"),
    "flags":      (lambda: jnp.array([True, False]), "Array([ True, False], dtype=bool)"),
    "complex":    (lambda: jnp.array([1 + 2j]), "Array([1.+2.j], dtype=complex64)"),
    "matrix":     (lambda: jnp.eye(2), "Array([[1., 0.],\n       [0., 1.]], dtype=float32)"),
    "empty":      (lambda: jnp.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
    "small ints": (lambda: jnp.array([1, -1], jnp.int8), "Array([ 1, -1], dtype=int8)"),
    "no room":    (lambda: jnp.arange(16), "Array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15],"
                   "      dtype=int32)"),
    "room":       (lambda: jnp.arange(15), "Array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14], dtype=int32)"),
    "long":       (lambda: jnp.zeros(2000), "Array([0., 0., 0., ..., 0., 0., 0.], dtype=float32)"),
}
# fmt: on


@pytest.mark.parametrize("case", PRINTED)
def test_arrays_print_as_in_numpy(case):
    make, text = PRINTED[case]
    assert repr(make()) == text


def test_print_options_and_formats_are_obeyed():
    with np.printoptions(precision=2):
        assert repr(jnp.array([1.23456])) == "Array([1.23], dtype=float32)"
        assert f"{jnp.array([1.23456])}" == "[1.23]"
    assert f"{jnp.float32(2.5):.3f} {jnp.int32(4):03d} {jnp.float32(2.5)}" == "2.500 004 2.5"
    with pytest.raises((TypeError, ValueError)):
        format(X, ".2f")


def test_attributes():
    assert (X.shape, X.ndim, X.size, X.dtype, X.itemsize, X.nbytes) == ((2, 3), 2, 6, np.float32, 4, 24)
    assert X.aval.str_short(True) == "f32[2,3]" and X.aval.str_short() == "float32[2,3]" and not X.weak_type
    assert X.devices() == {DEVICE} and X.device == DEVICE and X.sharding.device_set == {DEVICE}
    assert X.is_fully_addressable and X.is_fully_replicated and not X.committed and X.on_device_size_in_bytes() >= 24
    (shard,) = X.addressable_shards
    assert shard.device == DEVICE and shard.index == (slice(None), slice(None)) and shard.replica_id == 0
    np.testing.assert_array_equal(shard.data, X)


def test_conversions_to_python():
    one = jnp.ones(())
    assert (float(one), int(one), complex(one), bool(one), one.item(), X.tolist()[1]) == (1, 1, 1, True, 1, [3, 4, 5])
    assert [10, 20][jnp.int32(1)] == 20 and list(range(jnp.int32(2))) == [0, 1] and len(X) == 2
    assert [row.shape for row in X] == [(3,), (3,)] and 4.0 in X
    for wrong in (lambda: int(X), lambda: float(X), lambda: [1][jnp.float32(0)], lambda: len(one), lambda: iter(one)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match="ambiguous"):
        bool(X)
    with pytest.raises(TypeError, match="unhashable"):
        hash(X)


def test_conversions_to_numpy():
    host = np.asarray(X)
    assert not host.flags.writeable and np.array(X).flags.writeable
    assert np.asarray(X, np.float64).dtype == np.float64 and np.add(X, 1).shape == (2, 3)
    np.testing.assert_array_equal(memoryview(X.copy()), host)
    assert np.asarray(jnp.bfloat16(1.5)).dtype == jnp.bfloat16


def test_arrays_are_immutable():
    with pytest.raises(TypeError, match=r"\.at\["):
        X[0, 0] = 1
    with pytest.raises(AttributeError):
        X.shape = (6,)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.copy()]
)
def test_copies_are_of_their_own(copied):
    for value in (X * 2, jnp.asarray(2.0), jnp.array([1, 2], jnp.bfloat16), arrax.device_put(X.copy(), DEVICE)):
        other = copied(value)
        expected = np.array(value)
        assert (other.dtype, other.weak_type) == (value.dtype, value.weak_type)
        if copied is not copy.copy:
            value.delete()
            assert value.is_deleted()
        np.testing.assert_array_equal(np.asarray(other), expected)


def test_pickles_keep_what_is_no_array():
    for value in (arrax.ShapeDtypeStruct((2,), jnp.int8), arrax.tree_util.tree_structure({"a": (1, None)})):
        assert pickle.loads(pickle.dumps(value)) == value


def test_placement_is_committed_only_on_demand():
    assert not arrax.device_put(1.0).committed and arrax.device_put(1.0, DEVICE).committed
    assert arrax.device_put(X, arrax.sharding.SingleDeviceSharding(DEVICE)).sharding.device_set == {DEVICE}
    tree = arrax.device_put({"a": 1, "b": [X]}, DEVICE)
    assert tree["a"].committed and tree["b"][0].committed and (tree["b"][0] + 1).committed
    first, second = arrax.device_put((1, 2), (DEVICE, None))
    assert first.committed and not second.committed
    host = arrax.device_get(tree)
    assert type(host["b"][0]) is np.ndarray and host["a"] == 1
    for wrong, error in (("text", TypeError), (object(), TypeError)):
        with pytest.raises(error):
            arrax.device_put(wrong)
    with pytest.raises(ValueError, match="device or sharding"):
        arrax.device_put(X, "cpu")


def test_placement_inside_transformations():
    assert arrax.grad(lambda x: arrax.device_put(x, DEVICE) ** 2)(3.0) == 6
    np.testing.assert_array_equal(arrax.vmap(lambda x: arrax.device_put(x) + 1)(X), X + 1)
    np.testing.assert_array_equal(arrax.jit(lambda x: arrax.device_put(x, DEVICE))(X), X)


def test_devices_are_listed():
    assert arrax.device_count() == len(arrax.devices()) == arrax.local_device_count() == len(arrax.local_devices())
    assert arrax.default_backend() == DEVICE.platform and arrax.process_index() == 0 and arrax.process_count() == 1
    with pytest.raises(RuntimeError, match="nonsense"):
        arrax.devices("nonsense")


def test_waiting_and_deleting():
    y = X * 2
    assert y.block_until_ready() is y and arrax.block_until_ready({"a": y, "b": "text"})["a"] is y
    y.delete()
    y.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(y)


def test_a_failed_computation_says_so_wherever_its_result_is_read():
    x = arrax.numpy.ones((1 << 20, 1))
    product = arrax.numpy.matmul(x, x.T) @ x  # 4 TB
    for read in (np.asarray, repr, lambda a: a.tolist(), arrax.device_get, lambda a: a.block_until_ready()):
        with pytest.raises(RuntimeError, match="(?i)out of memory|allocat"):
            read(product)


def test_arrays_without_memory_raise_where_they_are_read():
    huge = arrax.jit(lambda x: x * jnp.arange(1 << 44, dtype=jnp.float32))(2.0)  # 70 TB
    reads = (
        repr,
        arrax.device_get,
        pickle.dumps,
        np.from_dlpack,
        lambda a: a.unsafe_buffer_pointer(),
        lambda a: float(a[0]),
    )
    for read in reads:
        with pytest.raises(RuntimeError, match="(?i)out of memory|allocat"):
            read(huge)


def test_copies_are_copies_under_transformations_too():
    x = jnp.ones(10)
    copied = lambda x: jnp.array(x, copy=True)  # noqa: E731
    results = [arrax.vmap(copied)(x), *arrax.jvp(copied, (x,), (x,)), arrax.vjp(copied, x)[0]]
    results.append(arrax.device_put(x, may_alias=False))
    assert not any(result is x or result.unsafe_buffer_pointer() == x.unsafe_buffer_pointer() for result in results)
    assert arrax.device_put(x) is x


def test_everything_public_of_arrays_is_documented():
    for cls in (arrax.Array, type(jnp.ones(1))):
        assert cls.__doc__
        bare = [name for name in dir(cls) if not name.startswith("_") and not inspect.getdoc(getattr(cls, name))]
        assert set(bare) <= {"aval", "traceback"}, bare  # the runtime's own
    assert jnp.ones(1).sum.__doc__ == jnp.sum.__doc__
    assert "several arguments" in arrax.Array.reshape.__doc__


def test_waiting_for_trees_passes_over_what_is_no_array():
    key = arrax.random.key(0)
    tree = {"a": jnp.ones(3) + 1, "b": [key, 2.0, None, "text"], "c": np.ones(2)}
    assert arrax.block_until_ready(tree) is tree
    lost = jnp.ones(3) + 0
    lost.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        arrax.block_until_ready([jnp.ones(1), lost])
