"""Memories of devices and of their hosts: arrays lie where they are put, and results of programs where they are asked to."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
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


def on_host(x):
    return arrax.device_put(x, Space.Host)


OPERATIONS = [
    lambda h: h * 2,
    lambda h: h + h,
    lambda h: jnp.sin(h),
    lambda h: h[1:3],
    lambda h: h.at[0].set(2.0),
    lambda h: jnp.concatenate([h, h]),
    lambda h: h.reshape(4, 8).sum(0),
    lambda h: jnp.dot(h, h.T),
    lambda h: lax.reduce(h, np.float32(0), lax.add, (0,)),
    lambda h: lax.fori_loop(0, 2, lambda i, c: c * 2, h),
    lambda h: lax.cond(True, jnp.cos, jnp.sin, h),
    lambda h: arrax.vmap(jnp.cumsum)(h),
    lambda h: arrax.jvp(jnp.sin, (h,), (h,))[1],
    lambda h: arrax.vjp(jnp.sin, h)[1](h)[0],
    lambda h: arrax.checkpoint(jnp.sin)(h),
]


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_results_lie_where_operands_do_and_types_say_so(number):
    function = OPERATIONS[number]
    x = jnp.asarray(VALUES)
    for call in (function, arrax.jit(function)):
        out = call(on_host(x))
        assert arrax.typeof(out).memory_space is Space.Host and out.sharding.memory_kind == "pinned_host"
        np.testing.assert_allclose(out, call(x), rtol=1e-6)
    told = []
    arrax.jit(lambda x: told.append(arrax.typeof(function(on_host(x))).str_short(False)))(x)
    assert told[0].startswith("float32<host>[")


MIXTURES = [
    ("add", lambda h, x: h + x),
    ("mul", lambda h, x: x * h),
    ("concatenate", lambda h, x: jnp.concatenate([h, x])),
    ("select_n", lambda h, x: jnp.where(h > 0, h, x)),
    ("dot_general", lambda h, x: h @ x.T),
    ("gather", lambda h, x: h[jnp.array([0, 1])]),
]


@pytest.mark.parametrize(("name", "function"), MIXTURES)
def test_operands_in_different_memories_are_refused(name, function):
    x = jnp.asarray(VALUES)
    message = f"memory_space of all inputs passed to `{name}` must be the same"
    with pytest.raises(ValueError, match=message):
        function(on_host(x), x)
    with pytest.raises(ValueError, match=message):
        arrax.jit(lambda x: function(on_host(x), x))(x)


def test_loops_and_branches_keep_values_in_one_memory():
    x = jnp.asarray(VALUES)
    with pytest.raises(TypeError, match="the memory spaces differ"):
        lax.cond(True, on_host, lambda x: x, x)
    with pytest.raises(TypeError, match="the memory spaces differ"):
        lax.scan(lambda c, _: (on_host(c), None), x, None, length=2)
    # a step takes its part of what lies on the host to where it computes, and may leave results there
    weights = on_host(jnp.ones((3, 4, 4), np.float32))
    last, kept = arrax.jit(lambda x, ws: lax.scan(lambda c, w: (c @ w, on_host(c)), x, ws))(x, weights)
    assert (last.sharding.memory_kind, kept.sharding.memory_kind) == ("device", "pinned_host")
    assert np.array_equal(kept[1], VALUES @ np.ones((4, 4)))


def test_gradients_lie_where_their_arguments_do():
    x = jnp.asarray(VALUES)
    for argument in (x, on_host(x)):
        slope = arrax.grad(lambda x: (on_host(arrax.device_put(x, Space.Device) ** 2) * 3).sum())(argument)
        assert arrax.typeof(slope) is arrax.typeof(argument)
        assert np.array_equal(slope, 6 * VALUES)


def test_arguments_in_another_memory_than_asked_for_are_refused():
    for asked in (over("x", kind="pinned_host"), SingleDeviceSharding(arrax.devices()[0], memory_kind="pinned_host")):
        with pytest.raises(ValueError, match="Got jit memory kind: pinned_host, arg memory kind: device"):
            arrax.jit(lambda x: x, in_shardings=asked)(jnp.asarray(VALUES))
