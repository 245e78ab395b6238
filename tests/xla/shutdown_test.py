"""Leaving the process while other threads compile, run programs, or wait for kernels."""

import sys
import threading
import time
from types import SimpleNamespace

import pytest

from arrax.xla import shutdown
from arrax.xla.shutdown import Gate
from tests.support import run_python

# One thread per state. Each tells that it works before the main thread leaves; those that Python waits for tell their end.
PROGRAM = """
{before}
import os, threading, time, numpy as np
import arrax, arrax.numpy as jnp
from arrax import lax

rng = np.random.default_rng(0)
dense, row = rng.standard_normal((256, 256)).astype(np.float32), rng.standard_normal(1 << 16).astype(np.float32)
product = arrax.jit(lambda x: lax.fori_loop(0, 8, lambda _, y: jnp.tanh(y @ x), x))
ordered = arrax.jit(lambda x: lax.sort(lax.sort(x) * -1.0))
product(dense), ordered(row)  # compiled by now

def host(x):
    return np.asarray(product(x))

states = {{
    "compiling": lambda i: arrax.jit(lambda x: jnp.sin(x) + float(i))(row[:4]),
    "running": lambda i: product(dense),
    "host kernel": lambda i: ordered(row),
    "callback": lambda i: arrax.pure_callback(host, arrax.ShapeDtypeStruct((256, 256), np.float32), dense),
}}
begun = threading.Barrier(len(states) + 1)

def work(state):
    for i in range({rounds}):
        states[state](i)
        if i == 1:
            begun.wait()
    os.write(1, f"{{state}} ended\\n".encode())  # at once, whole

threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()  # such as a progress bar's
{start}
begun.wait()
os.write(1, b"leaving\\n")
"""
THREADS = """
for state in states:
    threading.Thread(target=work, args=(state,), daemon={daemon}).start()
"""
POOL = """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(len(states))
for state in states:
    pool.submit(work, state)
"""
CASES = {
    "daemon": ("", THREADS.format(daemon=True), 1 << 30),
    "other": ("", THREADS.format(daemon=False), 20),
    "pool": ("", POOL, 20),
    "pool imported before": ("import concurrent.futures.thread", POOL, 20),
}


@pytest.mark.parametrize("case", CASES)
def test_a_process_ends_while_its_threads_work(case):
    before, start, rounds = CASES[case]
    done = run_python(PROGRAM.format(before=before, start=start, rounds=rounds))
    ends = [] if case == "daemon" else ["callback ended", "compiling ended", "host kernel ended", "running ended"]
    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (0, sorted(["leaving", *ends]), "")


def test_interrupts_between_any_two_steps_stop_no_other_thread():
    gate, steps = Gate(), 0

    def interrupting(at):
        passed = 0

        def trace(frame, event, _):
            nonlocal passed
            if frame.f_code.co_filename != shutdown.__file__:
                return None
            passed += event == "line"
            if passed == at:
                raise KeyboardInterrupt
            return trace

        return trace

    for steps in range(1, 100):
        before = sys.gettrace()
        sys.settrace(interrupting(steps))
        try:
            with gate:
                pass
        except KeyboardInterrupt:
            pass
        else:
            break
        finally:
            sys.settrace(before)
        through = []
        thread = threading.Thread(target=lambda through=through: (gate.__enter__(), gate.__exit__(), through.append(1)))
        thread.start()
        thread.join(30)
        assert through
    assert 5 < steps < 99
    gate.inside = {threading.get_ident(): 3}  # what interrupts leave of the thread that closes the gate
    daemon = threading.Thread(target=threading.Event().wait, daemon=True)
    daemon.start()
    started = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutdown, "config", SimpleNamespace(post_hook=SimpleNamespace(set_global=lambda _: None)))
        gate.close()
    assert gate.closing and time.monotonic() - started < shutdown._PATIENCE / 2


def test_threads_that_load_names_are_waited_for():
    done = run_python("""
import sys, threading, time
import arrax

arrax.jit(lambda x: x + 1)(1.0)

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("arrax.scipy.special.") and not loading.is_set():
            loading.set()
            time.sleep(0.3)

def work():
    from arrax.scipy.special import gammaln

    print("loaded", flush=True)
    for _ in range(100):
        arrax.jit(lambda x: gammaln(x))(1.0)

loading = threading.Event()
sys.meta_path.insert(0, Slow())
threading.Thread(target=work, daemon=True).start()
loading.wait()
""")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "loaded", "")
