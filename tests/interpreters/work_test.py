"""Which programs are short enough to run where they are called."""

import math
import threading

import numpy as np
import pytest

import arrax
from arrax import lax
from arrax import numpy as jnp
from arrax.interpreters.work import is_short, work_of

TABLE = np.ones((300, 300), np.float32)
LONG = np.ones(1_000_000, np.float32)


def jaxpr_of(f, *args):
    return arrax.make_jaxpr(f)(*args).jaxpr


# fmt: off
@pytest.mark.parametrize(("wanted", "f", "args"), [
    (True,  lambda x: x + 1, (LONG,)),
    (True,  jnp.sum, (LONG,)),
    (True,  jnp.sin, (LONG,)),
    (True,  arrax.jit(lambda x: x @ x[0]), (TABLE,)),
    (True,  lambda x: lax.fori_loop(0, 100, lambda i, y: y + 1, x), (LONG[:1000],)),
    (False, lambda x: x + 1, (LONG[:10],)),  # the runtime itself runs it at once
    (False, lambda x: lax.pow(x, x), (LONG,)),
    (False, lambda x: x @ x, (np.ones((1000, 1000), np.float32),)),
    (False, jnp.linalg.svd, (TABLE,)),
    (False, lambda x: lax.conv(x, x, (1, 1), "SAME"), (np.ones((64, 64, 32, 32), np.float32),)),
    (False, lambda x: lax.fori_loop(0, 100, lambda i, y: y + 1, x), (LONG,)),
    (False, lambda x: lax.while_loop(lambda y: y[0, 0] < 9, lambda y: y + 1, x), (TABLE,)),
])
# fmt: on
def test_short_programs_are_told_from_others(wanted, f, args):
    assert is_short(jaxpr_of(f, *args)) == wanted


def test_work_grows_with_the_program():
    assert work_of(jaxpr_of(lambda x: x * x + x, LONG)) == 2 * LONG.size
    assert work_of(jaxpr_of(lambda x: lax.reduce(x, np.float32(0), lax.add, (0,)), LONG)) >= LONG.size
    assert work_of(jaxpr_of(lambda x: lax.while_loop(lambda y: y < 9, lambda y: y + 1, x), 0)) == math.inf


def test_short_programs_run_in_several_threads_and_out_of_the_store():
    def f(x):
        return jnp.sort(jnp.cos(x) + x[::-1])

    wanted = np.sort(np.cos(LONG) + LONG)
    for _ in range(2):  # the second time the executable comes out of the store on disk, where there is one
        arrax.clear_caches()
        compiled, failed = arrax.jit(f), []

        def run(compiled=compiled, failed=failed):
            failed.extend(
                index for index in range(5) if not np.allclose(compiled(LONG * (1 + 0 * index)), wanted, rtol=1e-6)
            )

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
