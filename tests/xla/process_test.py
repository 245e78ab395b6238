"""What concerns the whole process: import, exit, the cache between processes, threads, depth, odd names."""

import ast
import os
import pathlib
import platform
import re
import threading

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.native import versions
from tests.support import run_python as run


def test_import_leaves_random_state_and_environment_alone():
    code = """
import os, numpy as np
np.random.seed(0); before = np.random.get_state()[1].copy(); environment = dict(os.environ)
import arrax, arrax.numpy as jnp
jnp.ones(3) + 1
assert (np.random.get_state()[1] == before).all() and dict(os.environ) == environment
print("unchanged")
"""
    assert run(code).stdout.strip() == "unchanged"


def test_programs_load_neither_classes_of_operations_nor_descriptions_of_packages_before_somebody_asks():
    code = """
import sys
import arrax, arrax.numpy as jnp
lowered = arrax.jit(lambda x: arrax.lax.fori_loop(0, 3, lambda n, x: jnp.sort(x) + n, x)).lower(jnp.ones(3))
lowered.compile()(jnp.ones(3))
print(sorted(set(sys.modules) & {"jaxlib.mlir.dialects.stablehlo", "jaxlib.mlir.dialects.func", "importlib.metadata"}))
module = lowered.compiler_ir()
function = next(each for each in module.body.operations if each.name.value == "main")
print(type(function).__name__, type(list(function.entry_block.operations)[-1]).__name__)
"""
    assert run(code).stdout.splitlines() == ["[]", "FuncOp ReturnOp"]


def test_programs_with_linear_algebra_leave_the_package_of_scipy_to_who_imports_it():
    code = """
import sys
import numpy as np
import arrax, arrax.numpy as jnp
assert jnp.linalg.cholesky(4 * np.eye(3))[0, 0] == 2
print(sorted(name for name in sys.modules if name.startswith("scipy.linalg")))
import scipy.linalg.cython_lapack
print(len(scipy.linalg.cython_lapack.__pyx_capi__) > 1000, scipy.linalg.solve(4 * np.eye(3), np.ones(3)))
"""
    assert run(code).stdout.splitlines() == ["[]", "True [0.25 0.25 0.25]"]


def test_linear_algebra_and_the_package_of_scipy_are_first_used_by_threads_at_once():
    code = """
import sys, threading
import numpy as np
import arrax.numpy as jnp
sys.setswitchinterval(1e-6)
together, failed = threading.Barrier(8), []

def work(number):
    together.wait()
    try:
        if number % 2:
            jnp.linalg.cholesky(np.eye(3))
        else:
            import scipy.linalg.cython_blas
            scipy.linalg.cython_blas.__pyx_capi__
    except BaseException as error:
        failed.append(error)

threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(failed)
"""
    assert run(code).stdout.strip() == "[]"


def test_plugins_are_found_by_entry_points_of_installed_packages(tmp_path):
    described = tmp_path / "some_plugin-1.0.dist-info"
    described.mkdir()
    (described / "entry_points.txt").write_text("[jax_plugins]\nsome = some_plugin.start\n")
    (described / "METADATA").write_text("Name: some_plugin\nVersion: 1.0\n")
    code = f"""
import sys
from arrax.xla import plugins
before = list(plugins.plugin_modules())
sys.path.append({str(tmp_path)!r})
assert list(plugins.plugin_modules()) == [*before, "some_plugin.start"]
print("found")
"""
    assert run(code).stdout.strip() == "found"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="concerns the GNU C library")
def test_calls_reuse_the_memory_of_results():
    run("""
import resource
import numpy as np, arrax, arrax.numpy as jnp
step = arrax.jit(lambda xs: [x + 1 for x in xs])
xs = [np.ones((512, 256), np.float32) for _ in range(40)]
arrays = step(xs)
for _ in range(3):
    step(arrays)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    arrax.block_until_ready(step(arrays))
assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 20 * 40 * 128 / 10  # a tenth of all results' pages
""")


def test_exit_while_daemon_threads_compile():
    code = """
import threading, time, numpy as np
import arrax, arrax.numpy as jnp
def work(k):
    for i in range(10000):
        arrax.jit(lambda x: jnp.sin(x) + float(i + 10000 * k))(np.ones(4, np.float32))
for k in range(3):
    threading.Thread(target=work, args=(k,), daemon=True).start()
time.sleep(0.5)
print("leaving")
"""
    done = run(code, ARRAX_ENABLE_COMPILATION_CACHE="0")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "leaving", "")


def test_a_second_process_compiles_nothing(tmp_path):
    code = """
import arrax, arrax.numpy as jnp
from arrax.xla.compilation import executables
x = jnp.arange(6.0).reshape(2, 3)
print(float(arrax.jit(lambda x: jnp.sin(x) @ x.T)(x).sum()), executables.misses)
"""
    first = run(code, ARRAX_COMPILATION_CACHE_DIR=str(tmp_path / "cache")).stdout.split()
    second = run(code, ARRAX_COMPILATION_CACHE_DIR=str(tmp_path / "cache")).stdout.split()
    assert first[0] == second[0] and int(first[1]) > 0 and int(second[1]) == 0
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_swapped_and_broken_entries_are_only_misses(tmp_path):
    code = """
import arrax, arrax.numpy as jnp
f = arrax.jit(lambda x: x * 2); g = arrax.jit(lambda x: x * 3)
print(float(f(jnp.float32(5))), float(g(jnp.float32(5))))
"""
    folder = tmp_path / "cache"
    for damage in ("none", "swap", "truncate", "fifo", "folder", "garbage"):
        entries = sorted(folder.glob("*.entry")) if folder.exists() else []
        if damage == "swap":
            a, b = entries[0].read_bytes(), entries[1].read_bytes()
            entries[0].write_bytes(b), entries[1].write_bytes(a)
        for entry in entries if damage in ("truncate", "fifo", "folder", "garbage") else ():
            content = entry.read_bytes()
            entry.unlink()
            if damage == "truncate":
                entry.write_bytes(content[: len(content) // 2])
            elif damage == "fifo":
                os.mkfifo(entry)
            elif damage == "folder":
                entry.mkdir()
            else:
                entry.write_bytes(b"\x80\x04" + bytes(100))
        done = run(code, ARRAX_COMPILATION_CACHE_DIR=str(folder))
        assert done.stdout.split() == ["10.0", "15.0"], (damage, done.stderr)
        for entry in folder.glob("*.entry"):
            if not entry.is_file():
                entry.rmdir() if entry.is_dir() else entry.unlink()


def test_many_threads_trace_compile_and_run_at_once():
    failures = []

    def work(k):
        try:
            for i in range(6):
                out = arrax.jit(lambda x, i=i: (jnp.sin(x) + float(k * i)).sum())(np.ones(3, np.float32))
                assert abs(float(out) - 3 * (np.sin(1.0) + k * i)) < 1e-3
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures


def test_impossible_shapes_are_refused():
    with pytest.raises((ValueError, RuntimeError)):
        jnp.zeros((2**31, 2**31))
    with pytest.raises((ValueError, RuntimeError, MemoryError)):
        arrax.jit(lambda: jnp.ones((2**31, 2**31)))()


def test_deep_and_recursive_trees_give_a_recursion_error():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        arrax.jit(lambda t: 0)(deep)
    loop = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        arrax.jit(lambda t: 0)(loop)
    assert arrax.jit(lambda x: x + 1)(1) == 2


def test_odd_characters_in_names():
    odd = 'a "b"\n\t\\ é'

    def f(**kwargs):
        return kwargs[odd]

    f.__name__ = odd
    assert arrax.jit(f)(**{odd: 1.0}) == 1.0
    assert arrax.grad(lambda d: d[odd] ** 2)({odd: 3.0})[odd] == 6.0


def test_halves_of_surrogate_pairs_in_names():
    def f(x, **kwargs):
        return x * kwargs["\udc80"]

    f.__name__ = "half \udc80 of a pair"
    jitted = arrax.jit(f)
    assert jitted(2.0, **{"\udc80": 3.0}) == 6.0 and arrax.grad(jitted)(2.0, **{"\udc80": 3.0}) == 3.0
    assert "half \\udc80" in str(arrax.make_jaxpr(jitted)(2.0, **{"\udc80": 3.0}))
    assert "module @jit_half" in jitted.lower(2.0, **{"\udc80": 3.0}).as_text()


def test_jitted_functions_in_jitted_functions_a_hundred_deep():
    def deeper(function, number):
        return lambda x: arrax.jit(function)(x) + float(number)

    nested = [lambda x: x * 2]
    for number in range(100):
        nested.append(deeper(nested[-1], number))
    assert arrax.jit(nested[100])(1.0) == 2 + sum(range(100))
    assert arrax.grad(arrax.jit(nested[40]))(1.0) == 2


def test_fresh_functions_leave_nothing_behind():
    import gc
    import weakref

    references = []
    for _ in range(20):

        def f(x):
            return x * 2

        references.append(weakref.ref(f))
        arrax.jit(f)(1.0)
        arrax.grad(lambda x, f=f: f(x))(1.0)
        arrax.lax.scan(lambda c, x, f=f: (f(c), x), 1.0, jnp.ones(3))
    del f
    gc.collect()
    assert sum(reference() is not None for reference in references) <= 1


def test_virtual_devices_and_committed_placement():
    code = """
import arrax, arrax.numpy as jnp
a, b = arrax.devices()
x, y = arrax.device_put(jnp.ones(3), a), arrax.device_put(jnp.ones(3), b)
assert (x + 1).devices() == {a} and (y + 1).devices() == {b} and (y + 1).committed
assert arrax.jit(lambda v: v * 2)(y).device == b
with arrax.default_device(b):
    z = jnp.ones(3) + 1
assert z.devices() == {b} and not z.committed
try:
    x + y
except ValueError as error:
    assert "incompatible devices" in str(error) and "[0]" in str(error) and "[1]" in str(error) and "CPU" in str(error)
    print("refused")
"""
    done = run(code, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert done.stdout.strip() == "refused", done.stderr


def test_the_environment_is_described(capsys):
    text = arrax.print_environment_info(return_string=True)
    assert "numpy" in text and f"arrax:  {arrax.__version__}" in text
    assert arrax.print_environment_info() is None
    assert "device info: cpu" in capsys.readouterr().out


def test_the_folder_of_stored_programs_is_chosen_by_functions(tmp_path):
    from arrax.experimental.compilation_cache import compilation_cache

    compilation_cache.set_cache_dir(tmp_path / "programs")
    try:
        assert compilation_cache.is_initialized()
        arrax.jit(lambda x: x * 3.25 + jnp.cos(x))(1.5)
        assert any((tmp_path / "programs").rglob("*"))
        with pytest.raises(TypeError, match="set_cache_dir: argument path"):
            compilation_cache.set_cache_dir(1)
        compilation_cache.reset_cache()
        assert arrax.config.jax_compilation_cache_dir == str(tmp_path / "programs")
    finally:
        arrax.config.update("jax_compilation_cache_dir", None)


def test_renamed_names_warn_and_work():
    with pytest.warns(DeprecationWarning, match="tree.map"):
        assert arrax.tree_map(lambda x: x + 1, [1]) == [2]


@pytest.mark.parametrize("donated", [False, True])
def test_deleted_arrays_are_refused_everywhere(donated):
    x = jnp.ones(3) + 0
    if donated:
        arrax.jit(lambda x: x + 1, donate_argnums=0)(x)
    else:
        x.delete()
    assert x.is_deleted()
    for use in (
        arrax.lax.cosh, np.asarray, repr, jnp.from_dlpack, lambda x: x[0], arrax.device_put, lambda x: arrax.device_put(x, arrax.devices()[0]),
        lambda x: x.at[0].set(1), arrax.jit(lambda x: x * 5), arrax.device_get, lambda x: x.copy(), list,
    ):  # fmt: skip
        if use is repr:
            assert "deleted" in repr(x)
            continue
        with pytest.raises(RuntimeError, match="deleted"):
            use(x)


def test_names_that_load_late_are_first_used_by_many_threads_at_once():
    code = """
import sys, threading, traceback
import numpy as np
sys.setswitchinterval(1e-6)
x, begin, failures = np.ones((4, 4), np.float32), threading.Barrier(16), []

def first_uses():
    import arrax
    jnp, lax = arrax.numpy, arrax.lax
    return [
        lambda: jnp.unique(x), lambda: arrax.jit(jnp.linalg.svd)(x), lambda: arrax.random.normal(arrax.random.key(0), (3,)),
        lambda: jnp.diff(x), lambda: lax.split(x, (2, 2)), lambda: arrax.nn.relu(x), lambda: jnp.histogram(x),
        lambda: jnp.polyfit(x[0], x[1], 1), lambda: arrax.debug.print, lambda: lax.conv, lambda: arrax.pure_callback,
        lambda: jnp.fft.fft, lambda: arrax.experimental, lambda: arrax.ops.segment_sum, lambda: arrax.core.Jaxpr,
        lambda: arrax.flatten_util.ravel_pytree, lambda: arrax.stages.Lowered, lambda: arrax.extend, lambda: lax.linalg.svd,
        lambda: arrax.custom_derivatives.closure_convert,
    ]

def work(k):
    begin.wait()
    try:
        uses = first_uses()
        for n in range(len(uses)):
            uses[(n * (3, 7, 9, 11)[k % 4] + k) % len(uses)]()
    except BaseException:
        failures.append(traceback.format_exc())

threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
print(*failures, sep="\\n")
"""
    done = run(code, ARRAX_TRACEBACK_FILTERING="off")
    assert done.stdout.strip() == "" and done.returncode == 0, (done.stdout, done.stderr)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_processes_refuse_to_run_programs_and_the_parent_is_warned():
    code = """
import multiprocessing, sys, warnings, numpy as np
import arrax, arrax.numpy as jnp
fork = multiprocessing.get_context("fork")

def child(array):
    assert np.asarray(array).sum() == 3
    for call in (lambda: array + 1, lambda: program(array), lambda: arrax.jit(lambda x: x * 2)(array), lambda: jnp.sin(array)):
        try:
            call()
        except RuntimeError as error:
            assert "forked" in str(error) and "spawn" in str(error)
        else:
            sys.exit("not refused")
    sys.exit(0)

def start(target, *args):
    process = fork.Process(target=target, args=args)
    process.start()
    process.join(30)
    print(process.exitcode, flush=True)

program = arrax.jit(lambda x: x @ x)
with warnings.catch_warnings():
    warnings.simplefilter("error", RuntimeWarning)
    start(lambda: print(program(np.ones(3, np.float32)), flush=True))  # nothing has run here yet
ones = jnp.ones(3)
assert program(ones) == 3
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    start(child, ones)
print([w.category for w in seen].count(RuntimeWarning), program(ones))
"""
    done = run(code)
    assert done.stdout.splitlines() == ["3.0", "0", "0", "1 3.0"], (done.stdout, done.stderr)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_processes_do_not_wait_for_programs_that_were_running_or_for_a_runtime_half_started():
    code = """
import os, threading, warnings, numpy as np
import arrax, arrax.numpy as jnp
from arrax.xla import startup
warnings.simplefilter("ignore")

def in_child(*calls):
    child = os.fork()
    if child == 0:
        for call in calls:
            try:
                call()
            except RuntimeError as error:
                print(str(error).partition(" with ")[0].partition(" in ")[0], flush=True)
        os._exit(0)
    os.waitpid(child, 0)

jnp.ones  # is imported
start, starting, allowed = startup.starters["cpu"], threading.Event(), threading.Event()
startup.starters["cpu"] = lambda: (starting.set(), allowed.wait(), start())[2]
thread = threading.Thread(target=arrax.devices)
thread.start()
starting.wait()
threading.Timer(0.1, allowed.set).start()
in_child(lambda: jnp.ones(3) + 1)
thread.join()

x = jnp.zeros((500, 500))
running = arrax.jit(lambda x: arrax.lax.fori_loop(0, 100, lambda _, y: y @ x, x))(x)  # long, so not waited for
in_child(lambda: np.asarray(running), running.block_until_ready, lambda: float(running[0, 0] + 1), arrax.effects_barrier)
print(running.sum())
"""
    done = run(code)
    refused = "arrax cannot run programs"
    lost = ["Array has been deleted", "INVALID_ARGUMENT: BlockHostUntilReady() called on deleted or donated buffer"]
    assert done.stdout.splitlines() == [refused, *lost, refused, "0.0"], (done.stdout, done.stderr)


def test_a_second_copy_and_subinterpreters_are_refused():
    code = """
import sys, arrax
for name in [name for name in sys.modules if name.partition(".")[0] == "arrax"]:
    del sys.modules[name]
try:
    import arrax.numpy
except ImportError as error:
    print(error)
"""
    assert run(code).stdout.startswith("arrax cannot be imported twice in a process")
    code = """
try:
    import _interpreters as interpreters
    inner = interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    inner = interpreters.create(isolated=False)
lines = ("try:", "    import arrax", "except ImportError as error:", "    print(error, flush=True)")
interpreters.run_string(inner, chr(10).join(lines))
"""
    assert run(code).stdout.startswith("arrax cannot be imported in a subinterpreter")


def test_all_modules_load_without_docstrings():
    code = """
import importlib, pkgutil, arrax
for module in pkgutil.walk_packages(arrax.__path__, "arrax."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
    done = run(code, "-OO")
    assert done.returncode == 0, done.stderr


def test_one_front_end_owns_the_runtime_of_a_process(tmp_path):
    package = tmp_path / "jax" / "_src" / "lib"
    package.mkdir(parents=True)
    for folder in (tmp_path / "jax", tmp_path / "jax" / "_src", package):
        (folder / "__init__.py").touch()
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    code = """
import importlib.util
try:
    import {first}, {second}
except ImportError as error:
    print(error)
assert importlib.util.find_spec("jax") is not None
"""
    said = run(code.format(first="jax._src.lib", second="arrax"), PYTHONPATH=path).stdout
    assert said.startswith("arrax cannot be imported after jax")
    said = run(code.format(first="arrax", second="jax"), PYTHONPATH=path).stdout
    assert said.startswith("jax cannot be imported after arrax")
    code = "import sys, arrax; sys.modules['jax'] = arrax; import jax; print(jax.__name__)"
    assert run(code, PYTHONPATH=path).stdout.strip() == "arrax"


def test_the_names_of_the_package_complete():
    (names,) = run("import arrax; print(dir(arrax))").stdout.splitlines()
    listed = set(ast.literal_eval(names))
    assert {"grad", "random", "nn", "experimental", "pure_callback", "numpy", "lax"} <= listed
    assert not listed & {"xla", "native", "transforms", "numpy_api", "annotations"}
    assert all(hasattr(arrax, name) for name in listed)


@pytest.mark.parametrize(("version", "says"), [("0.10.1", "too old"), ("0.13.0", "too new"), ("0.12.0.1", None)])
def test_versions_of_jaxlib_that_are_not_supported_are_refused(version, says):
    program = f"import jaxlib.version; jaxlib.version.__version__ = {version!r}; import arrax"
    done = run(program)
    if says is None:
        assert done.returncode == 0, done.stderr
    else:
        assert f"ImportError: jaxlib {version} is {says} for arrax" in done.stderr


def test_the_supported_versions_of_jaxlib_are_those_of_the_package():
    bounds = re.search(
        r'"jaxlib>=([\d.]+),<([\d.]+)"', (pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text()
    )
    assert [tuple(map(int, bound.split("."))) for bound in bounds.groups()] == [versions.OLDEST, versions.TOO_NEW]
