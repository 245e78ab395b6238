"""Fresh processes: how long until something is there, the first time and the second."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from types import ModuleType

from benchmarks.case import Measured

IMPORT = "import {library}, {library}.numpy as jnp"

FIRST_RESULT = """
import {library}, {library}.numpy as jnp
(jnp.arange(3.0) + 1).block_until_ready()
"""

FIRST_STEP = """
import {library}, {library}.numpy as jnp
def loss(weights, x):
    for layer in weights:
        x = jnp.tanh(x @ layer)
    return jnp.mean(x ** 2)
step = {library}.jit({library}.value_and_grad(loss))
{library}.block_until_ready(step([jnp.ones((8, 8))] * 3, jnp.ones((4, 8))))
"""

THIRTY_OPERATIONS = """
import {library}, {library}.numpy as jnp
x, key = jnp.arange(12.0).reshape(3, 4), {library}.random.key(0)
results = [
    x + 1, x * x, x / 3, -x, x ** 2, x > 3, x @ x.T, x.T, x[1], x[:, 1:3], x.at[0].set(1),
    jnp.sin(x), jnp.exp(x), jnp.sqrt(x), jnp.maximum(x, 2), jnp.where(x > 3, x, 0), jnp.clip(x, 1, 5),
    x.sum(), jnp.mean(x, axis=0), jnp.max(x, axis=1), jnp.std(x), jnp.argmax(x), jnp.cumsum(x, axis=1),
    jnp.sort(x, axis=0), jnp.concatenate([x, x]), jnp.stack([x, x]), jnp.linspace(0, 1, 5), jnp.eye(3),
    {library}.random.normal(key, (3,)), {library}.random.uniform(key, (3,)),
]
{library}.block_until_ready(results)
"""

# The reference keeps nothing on disk by default; for the second process it is told to keep everything.
CACHES = {
    "arrax": ("ARRAX_COMPILATION_CACHE_DIR", {}),
    "jax": (
        "JAX_COMPILATION_CACHE_DIR",
        {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"},
    ),
}

TIMED = "import time\n_start = time.perf_counter()\n{program}\nprint('seconds', time.perf_counter() - _start)"


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Measured]:
    """Each program, by the clock outside and inside the process, with nothing on disk and with all of it."""
    library = lib.__name__
    yield from both_clocks("import", first_process(library, IMPORT))
    programs = {"1 result": FIRST_RESULT, "1 training step": FIRST_STEP, "30 eager operations": THIRTY_OPERATIONS}
    for name, program in programs.items():
        yield from both_clocks(f"{name}, nothing on disk", first_process(library, program))
        yield from both_clocks(f"{name}, second process", second_process(library, program))


def both_clocks(name: str, run: Callable[[], tuple[float, float]]) -> Iterator[Measured]:
    """Two cases: the process from start to end, and its program from first line to last."""
    yield Measured(f"{name} (whole process)", lambda: run()[0])
    yield Measured(f"{name} (inside)", lambda: run()[1])


def first_process(library: str, program: str) -> Callable[[], tuple[float, float]]:
    """Runs a program where nothing has been compiled before."""

    def run() -> tuple[float, float]:
        with tempfile.TemporaryDirectory() as folder:
            # The reference as it comes, arrax with an empty folder.
            return run_program(library, program, folder if library == "arrax" else None)

    return run


def second_process(library: str, program: str) -> Callable[[], tuple[float, float]]:
    """Runs a program where another process has run the same before."""
    folder = tempfile.TemporaryDirectory()

    def run() -> tuple[float, float]:
        if not os.listdir(folder.name):
            run_program(library, program, os.path.join(folder.name, "programs"))
        return run_program(library, program, os.path.join(folder.name, "programs"))

    return run


def run_program(library: str, program: str, cache: str | None) -> tuple[float, float]:
    """Seconds that a process takes, from outside and from inside."""
    environment = dict(os.environ)
    if cache is not None:
        variable, settings = CACHES[library]
        environment |= settings | {variable: cache}
    text = TIMED.format(program=program.format(library=library))
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True)
    whole = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return whole, float(done.stdout.rpartition("seconds")[2])
