"""Which programs use the CPU's own lowerings, and what becomes of these at exit, on disk and in other programs."""

import os
import subprocess
import sys

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core import config
from arrax.interpreters.lowering.module import lower_module
from tests.lax.cpu.routes import lowered_text

LONG = np.random.default_rng(0).standard_normal(1 << 15).astype(np.float32)
KERNEL = "xla_buffer_python_cpu_callback"


def run(code, **environment):
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)


def test_the_text_of_a_program_shows_what_runs():
    text = lowered_text(lambda x: lax.sort(x), LONG)
    assert KERNEL in text and 'kernel = "sort"' in text and "stablehlo.sort" not in text
    text = lowered_text(lambda x: jnp.arctan(x) + jnp.arctan(x + 1), LONG)
    assert "chlo.atan" not in text and text.count("func.func private @atan_by_formula") == 1


def test_small_arrays_are_sorted_by_the_compilers_own_code():
    assert KERNEL not in lowered_text(lambda x: lax.sort(x), LONG[:500])


@pytest.mark.parametrize("names", [("stablehlo.sort", "stablehlo.sine")], ids=["sort and sine"])
def test_the_setting_turns_them_off(names):
    def program(x):
        return lax.sort(jnp.sin(x))

    with config.cpu_kernels(False):
        text = lowered_text(program, LONG)
        assert KERNEL not in text and all(name in text for name in names)
    assert KERNEL in lowered_text(program, LONG)


def test_the_setting_is_part_of_what_a_compiled_function_depends_on():
    traced = []

    @arrax.jit
    def program(x):
        traced.append(x)
        return lax.sort(x)

    program(LONG)
    with config.cpu_kernels(False):
        np.testing.assert_array_equal(program(LONG), np.sort(LONG))
    assert len(traced) == 2
    done = run("import arrax; print(arrax.config.cpu_kernels)", ARRAX_CPU_KERNELS="0")
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "given",
    [{"portable": True}, {"devices": 2, "in_shardings": [None], "out_shardings": [None]}, {"num_replicas": 2}],
    ids=str,
)
def test_programs_for_elsewhere_or_several_devices_consist_of_the_compilers_own_operations(given):
    program = arrax.make_jaxpr(lambda x: lax.sort(jnp.sin(x)))(LONG)
    if "devices" in given:
        given = {**given, "devices": arrax.devices()[:1] * given["devices"]}
    for wanted, settings in ((False, given), (True, {})):
        module, _ = lower_module(program, "program", "cpu", **settings)
        assert (KERNEL in str(module)) is wanted
        assert ("stablehlo.sort" in str(module)) is not wanted


def test_another_process_loads_a_stored_program_that_uses_kernels(tmp_path):
    code = """
import numpy as np, arrax, arrax.numpy as jnp
from arrax.xla.compilation import executables
x = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
program = arrax.jit(lambda x: (jnp.sort(x), jnp.argsort(x), jnp.argmax(jnp.tile(x, 20)), jnp.median(x)))
outs = [np.asarray(out) for out in program(x)]
assert (outs[0] == np.sort(x)).all() and (outs[1] == np.argsort(x)).all() and outs[2] == x.argmax()
print(executables.misses)
"""
    first, second = (run(code, ARRAX_COMPILATION_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2))
    assert int(first.stdout) > 0 and second.stdout.strip() == "0", (first.stderr, second.stderr)


@pytest.mark.parametrize("ending", ["", "sys.exit(0)"], ids=["plain", "sys.exit"])
def test_the_interpreter_exits_while_a_program_sorts(ending):
    code = f"""
import sys, threading, numpy as np, arrax
from arrax import lax
x = np.random.default_rng(0).standard_normal((4, 1 << 16)).astype(np.float32)
program = arrax.jit(lambda x: lax.sort(lax.sort(x) * -1.0))
program(x).block_until_ready()
def work():
    while True:
        program(x)
threading.Thread(target=work, daemon=True).start()
for _ in range(5):
    program(x)
print("leaving", flush=True)
{ending}
"""
    done = run(code)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "leaving", "")


def test_a_kernel_that_fails_raises_an_error():
    done = run("""
import numpy as np, arrax
from arrax import lax
from arrax.xla.host_kernels import sorting
def broken(*_): raise MemoryError("no room")
sorting.order_values = broken
try:
    arrax.jit(lambda x: lax.sort(x))(np.ones(5000, np.float32)).block_until_ready()
except Exception as error:
    print("no room" in str(error))
""")
    assert done.stdout.strip() == "True", done.stderr
