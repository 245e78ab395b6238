"""Functions called in Python beside the devices of their arguments."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental.colocated_python import colocated_cpu_devices, colocated_python
from arrax.sharding import Mesh, SingleDeviceSharding

X = np.arange(3, dtype=np.float32)


def test_the_processors_of_devices():
    devices = arrax.devices("cpu")
    assert colocated_cpu_devices(devices) == tuple(devices)
    mesh = Mesh(np.array(devices[:1]), ("x",))
    assert colocated_cpu_devices(mesh) == mesh


def test_functions_run_in_python_on_arrays():
    seen = []

    @colocated_python
    def double(tree, *, by=2):
        """Documentation."""
        seen.append(type(tree["x"]))
        return {"y": tree["x"] * by}

    assert double.__name__ == "double" and double.__doc__ == "Documentation."
    np.testing.assert_array_equal(double({"x": jnp.asarray(X)}, by=3)["y"], 3 * X)
    assert seen == [type(jnp.ones(1))]
    with pytest.raises(TypeError, match="double is called in Python and cannot take the traced value"):
        arrax.jit(double)({"x": X})


def test_specialized_functions_check_their_arguments_and_place_their_results():
    device = arrax.devices()[0]
    spec = arrax.ShapeDtypeStruct((3,), np.float32, sharding=SingleDeviceSharding(device))
    f = colocated_python(lambda x: x + 1)
    for g in (f.specialize(devices=[device]), f.specialize(in_specs=((spec,), {}), out_specs_fn=lambda x: x)):
        out = g(jnp.asarray(X))
        np.testing.assert_array_equal(out, X + 1)
        assert out.devices() == {device}
    with pytest.raises(ValueError, match=r"specialized for ShapeDtypeStruct.*, got f32\[4\]"):
        g(jnp.ones(4))
    with pytest.raises(ValueError, match="structure"):
        g(x=jnp.ones(3))
