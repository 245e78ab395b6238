"""Names of the faces that load on first use."""

import importlib
import pickle
import pkgutil
import subprocess
import sys
import threading
import time

import pytest

import arrax
import arrax.numpy as jnp
from arrax.core import late_names
from arrax.core.calls import is_internal


@pytest.mark.parametrize("face", [jnp, arrax.lax])
def test_every_name_is_there(face):
    assert dir(face) == face.__all__ and {"abs", "linalg"} <= set(face.__all__)
    for name in face.__all__:
        assert getattr(face, name) is not None or name == "newaxis"
    with pytest.raises(AttributeError, match=f"'{face.__name__}' has no attribute 'nonsense'"):
        face.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "find", [lambda: arrax.nonsense, lambda: jnp.nonsense, lambda: arrax.scipy.stats.nonsense, lambda: jnp.ones(2).at.nonsense]
)  # fmt: skip
def test_misspelt_names_are_told_of_at_the_users_line(find):
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'") as caught:
        find()
    assert not any(is_internal(str(each.path)) for each in caught.traceback)
    with pytest.raises(AttributeError, match="^module"):
        getattr(jnp, "nonsense" + str(find))


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


def test_a_star_imports_what_loads_late():
    program = "from arrax import *; print(jit.__module__, tree_util.__name__, debug_nans, isinstance(1.0, Array))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert done.stdout == "arrax arrax.tree_util <option debug_nans=False> False\n", done.stderr


@pytest.mark.parametrize(
    "program", ["from arrax.debug import print; print('{}', 1)", "from arrax.experimental import io_callback; io_callback(print, None, 1)"]
)  # fmt: skip
def test_the_first_name_that_a_program_uses_may_be_one_that_stands_in_its_module(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


@pytest.mark.parametrize("package", ["experimental", "extend", "example_libraries"])
def test_modules_of_public_packages_need_no_import(package):
    program = f"import arrax; print(*(getattr(arrax.{package}, name).__name__ for name in dir(arrax.{package})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = {found.name for found in pkgutil.iter_modules(getattr(arrax, package).__path__)}
    assert names <= set(dir(getattr(arrax, package)))


@pytest.mark.parametrize(
    "package", ["arrax", "arrax.core", "arrax.lax", "arrax.numpy", "arrax.experimental", "arrax.scipy.special"]
)
def test_no_module_of_a_package_hides_a_name_that_loads_late(package):
    face = importlib.import_module(package)
    modules = {found.name for found in pkgutil.iter_modules(face.__path__)}
    assert all(getattr(face, name).__name__ == f"{package}.{name}" for name in modules & set(dir(face)))


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_import_brings_settings_only():
    run("""
import sys, arrax, arrax.numpy as jnp
arrax.config.update("jax_enable_x64", True)
heavy = ("interpreters", "lax", "numpy_api", "transforms", "xla")
assert not [name for name in sys.modules if name.startswith(tuple(f"arrax.{each}" for each in heavy))], sorted(sys.modules)
assert jnp.pi > 3 and jnp.sin(jnp.ones(3)).dtype == jnp.float64
""")


FIRST = {  # what a program may use first, and what arrays and programs are then
    "a pickled array": "x = pickle.loads({array!r})",
    "a pickled function": "x = pickle.loads({function!r})(np.ones(3, np.float32))",
    "random numbers": "import arrax.random; x = arrax.random.normal(arrax.random.key(0), 3)",
    "a scalar type": "x = jnp.float32(1)[None]",
    "a type of the strict layer": "from arrax.lax import add; x = add(np.ones(3, np.float32), np.ones(3, np.float32))",
    "a library": "import arrax.scipy.special; x = arrax.scipy.special.erf(np.ones(3, np.float32))",
    "derivatives": "x = arrax.grad(lambda x: (x * x).sum())(np.ones(3, np.float32))",
    "a tree": "import arrax.tree_util; x = arrax.tree.map(jnp.asarray, [np.ones(3, np.float32)])[0]",
}


@pytest.mark.parametrize("first", FIRST)
def test_the_package_is_whole_whatever_is_used_first(first):
    given = FIRST[first].format(array=pickle.dumps(jnp.ones(3)), function=pickle.dumps(jnp.sin))
    run(f"""
import pickle, numpy as np, arrax, arrax.numpy as jnp
{given}
assert (-x + 1).sum().shape == () and x.at[0].set(3)[0] == 3 and x.format and x.sharding.device_set and np.from_dlpack(x).shape == x.shape
f = arrax.jit(lambda x: x.T @ x + jnp.add.reduce(x))
assert "dot_general" in str(arrax.make_jaxpr(f)(x)) and f.lower(x).compile() and f.eval_shape(x).shape == () and pickle.dumps(f(x))
""")


def test_the_package_is_whole_for_threads_that_use_it_first_at_once():
    run(f"""
import pickle, sys, threading, numpy as np, arrax, arrax.numpy as jnp
sys.setswitchinterval(1e-6)
start, done = threading.Barrier(16), []
ways = [
    lambda: pickle.loads({pickle.dumps(jnp.ones(3))!r}), lambda: jnp.ones(3), lambda: arrax.device_put(np.ones(3, np.float32)),
    lambda: __import__("arrax.random").random.normal(arrax.random.key(0), 3),
]
def use(way):
    start.wait()
    x = way()
    assert (-x + 1).sum().shape == () and x.at[0].set(3)[0] == 3 and arrax.jit(lambda x: x.T @ x)(x).shape == ()
    done.append(x)
threads = [threading.Thread(target=use, args=(ways[n % 4],)) for n in range(16)]
for each in threads: each.start()
for each in threads: each.join()
assert len(done) == 16
""")


class SlowFinder:
    """Takes so long to find a package that another thread waits for it, too, while it holds a module of the package."""

    def __init__(self):
        self.begun = threading.Event()

    def find_spec(self, name, path=None, target=None):
        if name == "half_loaded":
            self.begun.set()
            time.sleep(0.3)


def test_threads_that_wait_for_each_other_s_imports_begin_anew(tmp_path, monkeypatch):
    (tmp_path / "half_loaded").mkdir()
    (tmp_path / "half_loaded" / "__init__.py").write_text("from half_loaded.two import value as value\n")
    for name in ("one", "two"):
        (tmp_path / "half_loaded" / f"{name}.py").write_text("value = 1\n")
    finder, found = SlowFinder(), []
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    find, _, _ = late_names.late_names(
        __name__, {"half_loaded.one": ("value as one",), "half_loaded.two": ("value as two",)}
    )

    def take_second():
        finder.begun.wait(10)
        found.append(find("two"))

    threads = [threading.Thread(target=lambda: found.append(find("one"))), threading.Thread(target=take_second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [1, 1]
