"""Names of the faces that load on first use."""

import pkgutil
import subprocess
import sys

import pytest

import arrax
import arrax.numpy as jnp


@pytest.mark.parametrize("face", [jnp, arrax.lax])
def test_every_name_is_there(face):
    assert dir(face) == face.__all__ and {"abs", "linalg"} <= set(face.__all__)
    for name in face.__all__:
        assert getattr(face, name) is not None or name == "newaxis"
    with pytest.raises(AttributeError, match=f"'{face.__name__}' has no attribute 'nonsense'"):
        face.nonsense  # noqa: B018


def test_rooms_load_on_first_use_also_while_a_function_is_traced():
    program = """
import sys, arrax, arrax.numpy as jnp
late = ["arrax.numpy_api.polynomials", "arrax.numpy_api.fourier", "arrax.lax.linalg", "arrax.lax.windows"]
assert not any(name in sys.modules for name in late), sorted(sys.modules)
f = arrax.jit(lambda x: jnp.polyval(x, 2.0) + jnp.fft.fft(x).real.sum() + jnp.linalg.norm(jnp.linalg.inv(jnp.eye(2))))
f(jnp.ones(3))
arrax.jit(lambda x: arrax.lax.reduce_window(x, -jnp.inf, arrax.lax.max, (2,), (1,), "VALID"))(jnp.ones(3))
assert all(name in sys.modules for name in late)
from arrax.numpy import *
assert polyfit is jnp.polyfit and linalg is jnp.linalg
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_universal_functions_have_their_methods_from_the_start():
    program = "import arrax.numpy as jnp; assert jnp.add.reduce(jnp.arange(3)) == 3 and jnp.maximum.accumulate"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize("package", ["experimental", "extend", "example_libraries"])
def test_modules_of_public_packages_need_no_import(package):
    program = f"import arrax; print(*(getattr(arrax.{package}, name).__name__ for name in dir(arrax.{package})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = {found.name for found in pkgutil.iter_modules(getattr(arrax, package).__path__)}
    assert names <= set(dir(getattr(arrax, package)))
