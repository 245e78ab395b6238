"""Functions with the memory of arrays over several devices: each calls for all, or for its part."""

import numpy as np

import arrax
from arrax.experimental.buffer_callback import buffer_callback
from arrax.sharding import Mesh, NamedSharding
from arrax.sharding import PartitionSpec as P

TABLE = np.arange(32, dtype=np.float32).reshape(8, 4)


def calls():
    shapes = []

    def double(context, out, x):
        shapes.append(x.shape)
        np.asarray(out)[...] = 2 * np.asarray(x)

    return shapes, lambda x: buffer_callback(double, arrax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def test_each_device_calls_with_the_whole_values():
    shapes, double = calls()
    sharding = NamedSharding(Mesh(np.array(arrax.devices()), ("x",)), P("x"))
    found = arrax.jit(lambda x: double(x) + 1)(arrax.device_put(TABLE, sharding)).block_until_ready()  # on all devices
    np.testing.assert_array_equal(found, 2 * TABLE + 1)
    assert shapes == [(8, 4)] * 8


def test_each_device_calls_with_its_part_of_a_shard_map():
    shapes, double = calls()
    mesh = Mesh(np.array(arrax.devices()), ("x",))
    found = arrax.jit(arrax.shard_map(double, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))(TABLE)
    found.block_until_ready()
    np.testing.assert_array_equal(found, 2 * TABLE)
    assert shapes == [(1, 4)] * 8
