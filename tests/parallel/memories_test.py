"""Memories of devices and of their hosts: arrays lie where they are put, and results of programs where they are asked to."""

import numpy as np
import pytest

import arrax
from arrax.memory import Space
from arrax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from arrax.sharding import PartitionSpec as P

VALUES = np.arange(32, dtype=np.float32).reshape(8, 4)


def over(*spec, kind="device"):
    mesh = Mesh(np.array(arrax.devices()).reshape(4, 2), ("x", "y"))
    return NamedSharding(mesh, P(*spec), memory_kind=kind)


def placements(kind):
    return [SingleDeviceSharding(arrax.devices()[3], memory_kind=kind), over("x", kind=kind), over("y", "x", kind=kind)]


@pytest.mark.parametrize("number", range(3))
def test_arrays_go_to_the_host_and_back(number):
    on_device, on_host = placements("device")[number], placements("pinned_host")[number]
    x = arrax.device_put(VALUES, on_device)
    there = arrax.device_put(x, Space.Host)
    assert there.sharding == on_host and np.array_equal(there, VALUES)
    assert there.addressable_shards[0].data.sharding.memory_kind == "pinned_host"
    for back in (arrax.device_put(there, Space.Device), arrax.device_put(there, on_device)):
        assert back.sharding == on_device and np.array_equal(back, VALUES)


def test_trees_and_host_values_take_spaces():
    out = arrax.device_put({"a": VALUES, "b": VALUES}, {"a": Space.Host, "b": arrax.devices()[1]})
    assert out["a"].sharding == SingleDeviceSharding(arrax.devices()[0], memory_kind="pinned_host")
    assert out["b"].devices() == {arrax.devices()[1]}
    assert repr(Space.Host) == "MemorySpace.Host" and [space.name for space in Space] == ["Device", "Host", "Any"]
    with pytest.raises(ValueError, match="Any is no memory"):
        arrax.device_put(VALUES, Space.Any)


@pytest.mark.parametrize("number", range(3))
def test_results_lie_in_the_memory_that_programs_ask_for(number):
    on_device, on_host = placements("device")[number], placements("pinned_host")[number]
    program = arrax.jit(lambda x: (x * 2, arrax.device_put(x * 3, Space.Host), arrax.device_put(x * 4, on_host)))
    x = arrax.device_put(VALUES, on_device)
    for _ in range(3):
        outs = program(x)
        kinds = [out.sharding.memory_kind for out in outs]
        assert kinds == ["device", "pinned_host", "pinned_host"]
        for factor, out in zip((2, 3, 4), outs, strict=True):
            assert np.array_equal(out, factor * VALUES)
    again = arrax.jit(lambda x: arrax.device_put(arrax.device_put(x, Space.Host), Space.Device) * 2)(outs[1])
    assert again.sharding.memory_kind == "device" and np.array_equal(again, 6 * VALUES)


def test_transformations_pass_through_memories():
    def loss(x):
        return (arrax.device_put(x**2, Space.Host) * 2).sum()

    assert np.array_equal(arrax.grad(loss)(VALUES), 4 * VALUES)
    assert np.array_equal(arrax.jit(arrax.grad(loss))(VALUES), 4 * VALUES)
    batch = arrax.vmap(lambda x: arrax.device_put(x, Space.Host))(VALUES)
    assert batch.sharding.memory_kind == "pinned_host" and np.array_equal(batch, VALUES)
    tangent = arrax.jvp(lambda x: arrax.device_put(x * 2, Space.Host), (VALUES,), (VALUES,))[1]
    assert np.array_equal(tangent, 2 * VALUES)
