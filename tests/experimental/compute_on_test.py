"""Places of computation: on the CPU the host is the device; what is no place is refused."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import compute_on as module
from arrax.experimental.compute_on import compute_on


@pytest.mark.parametrize("place", ["device", "device_host", "gpu_stream:1"])
def test_results_do_not_depend_on_the_place(place):
    def f(x):
        with compute_on(place):
            y = jnp.sin(x) * 2
        return compute_on(place)(arrax.jit(jnp.cos))(y).sum()

    x = jnp.arange(3.0)
    expected = np.cos(np.sin(x) * 2).sum()
    for form in (f, arrax.jit(f), lambda x: arrax.vmap(f)(x).sum()):
        np.testing.assert_allclose(form(x), expected, rtol=1e-6)
    np.testing.assert_allclose(arrax.grad(f)(x), -np.sin(np.sin(x) * 2) * 2 * np.cos(x), rtol=1e-5)


def test_mistakes_are_explained(monkeypatch):
    with pytest.raises(TypeError, match="must be a string, got 3"):
        compute_on(3)
    with pytest.raises(ValueError, match="got 'host'"):
        compute_on("host")
    monkeypatch.setattr(module, "default_backend", lambda: "gpu")
    with compute_on("device"):
        pass
    with pytest.raises(NotImplementedError, match="'device_host' is for programs on the CPU, got platform 'gpu'"):
        compute_on("device_host").__enter__()
