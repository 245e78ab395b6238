"""Functions compiled for several devices as bytes, and meshes of the devices that are attached."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import topologies
from arrax.experimental.layout import Format, Layout
from arrax.experimental.serialize_executable import deserialize_and_load, serialize
from arrax.sharding import Mesh, NamedSharding
from arrax.sharding import PartitionSpec as P

TABLE = np.arange(32, dtype=np.float32).reshape(8, 4)
LARGE = jnp.arange(6000.0)


def over(devices, *spec):
    return NamedSharding(Mesh(np.array(devices).reshape(2, 2), ("x", "y")), P(*spec))


def test_shardings_of_arguments_and_results_are_kept():
    x = arrax.device_put(TABLE, over(arrax.devices()[:4], "x", "y"))
    compiled = arrax.jit(lambda x: (x @ x.T, x.sum(0), LARGE[:3] + x[0, 0])).lower(x).compile()
    loaded = deserialize_and_load(*serialize(compiled))
    for _ in range(2):
        for found, wanted in zip(loaded(x), compiled(x), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.sharding == wanted.sharding
    with pytest.raises(ValueError):
        loaded(arrax.device_put(TABLE, over(arrax.devices()[:4], "y", "x")))


def test_other_devices_may_run_it():
    first, last = arrax.devices()[:4], arrax.devices()[4:]
    compiled = arrax.jit(lambda x: x * 2).lower(arrax.device_put(TABLE, over(first, "x"))).compile()
    loaded = deserialize_and_load(*serialize(compiled), execution_devices=last)
    result = loaded(arrax.device_put(TABLE, over(last, "x")))
    assert result.sharding == over(last, "x") and (result == 2 * TABLE).all()
    with pytest.raises(ValueError, match="runs on 4 devices"):
        deserialize_and_load(*serialize(compiled), execution_devices=first[:2])
    one = arrax.jit(lambda x: x * 2).lower(1.0).compile()
    assert deserialize_and_load(*serialize(one), execution_devices=last[:1])(3.0).devices() == {last[0]}


def test_memories_and_orders_of_axes_are_kept():
    columns = Format(Layout((1, 0)), arrax.sharding.SingleDeviceSharding(arrax.devices()[0]))
    compiled = arrax.jit(lambda x: x + 1, in_shardings=columns, out_shardings=columns).lower(TABLE).compile()
    loaded = deserialize_and_load(*serialize(compiled))
    given = arrax.device_put(TABLE, columns)
    for _ in range(2):
        result = loaded(given)
        assert result.format.layout.major_to_minor == (1, 0) and (result == TABLE + 1).all()
    host = over(arrax.devices()[:4], "x").with_memory_kind("pinned_host")
    moved = arrax.jit(lambda x: x + 1, out_shardings=host).lower(TABLE).compile()
    assert deserialize_and_load(*serialize(moved))(TABLE).sharding.memory_kind == "pinned_host"


def test_attached_devices_form_meshes():
    topology = topologies.get_attached_topology("cpu")
    assert topology.devices == arrax.devices() and "CpuDevice(id=7)" in repr(topology)
    mesh = topologies.make_mesh(topology, (4, 2), ("x", "y"))
    assert mesh.shape == {"x": 4, "y": 2} and list(mesh.devices.flat) == arrax.devices()
    sharding = NamedSharding(mesh, P("x"))
    compiled = (
        arrax.jit(lambda x: x + 1, in_shardings=sharding).lower(arrax.ShapeDtypeStruct((8,), "float32")).compile()
    )
    assert (compiled(arrax.device_put(np.arange(8.0, dtype="f"), sharding)) == np.arange(1, 9)).all()
    with pytest.raises(ValueError, match=r"Number of devices 8 must equal the product of mesh_shape \(3, 3\)"):
        topologies.make_mesh(topology, (3, 3), ("x", "y"))
    with pytest.raises(ValueError):
        topologies.make_mesh(topology, (8,), ("x", "y"))
    with pytest.raises(RuntimeError, match="nowhere"):
        topologies.get_attached_topology("nowhere")


def test_devices_that_are_not_attached_are_refused():
    with pytest.raises(NotImplementedError, match="not for v5e:2x2 of platform tpu"):
        topologies.get_topology_desc("v5e:2x2", "tpu")
