"""Bars of compiled loops: what they show, in which loops, and that they change nothing."""

import fcntl
import importlib.util
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.debug import progress
from arrax.transforms.progress import bars, reporting

X = jnp.arange(20.0)


class Bar:
    """A bar that remembers."""

    made = []

    def __init__(self, label, total):
        self.label, self.total, self.steps, self.words, self.closed = label, total, [], [], 0
        Bar.made.append(self)

    def show(self, steps, seconds, words):
        assert not self.closed and seconds >= 0
        self.steps.append(steps)
        self.words.append(words)

    def close(self):
        self.closed += 1


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(reporting, "bar_of", lambda style: Bar)
    Bar.made = []
    return Bar.made


def shown(fun, label="", **settings):
    return progress(fun, label, style="text", delay=0, **settings)


def step(c, x):
    return c + jnp.sin(x), c * x


def add(i, x):
    return x + i


def half(x):
    return x / 2


# fmt: off
LOOPS = {  # a function of how a body is wrapped, which gives a loop and its argument; steps; whether the number is known
    "scan":          (lambda w: (lambda x: lax.scan(w(step), 0.0, x), X), 20, True),
    "reverse":       (lambda w: (lambda x: lax.scan(w(step), 0.0, x, reverse=True), X), 20, True),
    "unrolled":      (lambda w: (lambda x: lax.scan(w(step), 0.0, x, unroll=3), X), 20, True),
    "map":           (lambda w: (lambda x: lax.map(w(jnp.sin), x), X), 20, True),
    "map of rows":   (lambda w: (lambda x: lax.map(w(jnp.sin), x, batch_size=4), X), 5, True),
    "fori":          (lambda w: (lambda n: lax.fori_loop(0, n, w(add), 0), 30), 30, True),
    "fori, static":  (lambda w: (lambda x: lax.fori_loop(2, 9, w(lambda i, x: x * 2 + i), x), X), 7, True),
    "fori, body":    (lambda w: (lambda x: lax.fori_loop(0, 7, w(arrax.jit(add)), x), X), 7, True),
    "around jit":    (lambda w: (lambda x: lax.fori_loop(0, 7, arrax.jit(w(add)), x), X), 7, True),
    "checkpoint":    (lambda w: (lambda x: lax.fori_loop(0, 7, arrax.checkpoint(w(add)), x), X), 7, True),
    "while":         (lambda w: (lambda x: lax.while_loop(lambda x: x > 1, w(half), x), 64.0), 6, False),
    "no counter":    (lambda w: (lambda x: lax.while_loop(lambda x: x < 40, w(lambda x: 2 * x + 1), x), 1), 5, False),
}
TRANSFORMATIONS = {
    "at once":   lambda f: f,
    "jit":       arrax.jit,
    "vmap":      lambda f: lambda x: arrax.vmap(f)(jnp.stack([jnp.asarray(x)] * 3)),
    "jvp":       lambda f: lambda x: arrax.jvp(f, (x,), (_tangent(x),)),
    "ordered":   lambda f: arrax.jit(lambda x: (arrax.debug.callback(lambda: None, ordered=True), f(x))[1]),
}
# fmt: on


def same(found, expected):
    assert found.dtype == expected.dtype
    if found.dtype != arrax.float0:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def _tangent(x):
    return np.ones(np.shape(x), arrax.typeof(x).to_tangent_aval().dtype)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("name", LOOPS)
def test_loops_report_to_their_end_and_give_the_same(name, transformation, made):
    make, steps, known = LOOPS[name]
    plain, x = make(lambda fun: fun)
    reported, _ = make(shown)
    if "fori" == name and transformation == "jvp":
        pytest.skip("its argument is the number of steps")
    transform = TRANSFORMATIONS[transformation]
    expected, found = transform(plain)(x), transform(reported)(x)
    arrax.tree.map(same, found, expected)
    arrax.effects_barrier()
    (bar,) = made
    assert bar.closed == 1 and bar.steps == sorted(bar.steps) and bar.steps[-1] == steps
    if name == "fori" and transformation == "vmap":
        known = False  # examples may end at different times
    assert bar.total == (steps if known else None)


def test_derivatives_go_through_and_show_the_forward_pass(made):
    def loss(wrap, x):
        c, ys = lax.scan(wrap(step), x[0], x)
        return c * ys.sum()

    for wrap in (arrax.jit, lambda f: f):
        expected = arrax.grad(loss, 1)(lambda f: f, X)
        np.testing.assert_allclose(wrap(arrax.grad(lambda x: loss(shown, x)))(X), expected, rtol=1e-6)
    arrax.effects_barrier()
    assert [(bar.steps[-1], bar.closed) for bar in made] == [(20, 1)] * 2


def test_reports_are_few_and_as_often_as_asked():
    calls = []

    class Recorder(reporting.Reporter):
        def __call__(self, *args):
            steps, found = args[1], super().__call__(*args)
            calls.append((steps, found[1]))
            return found

    body = reporting.Reporting(
        add, Recorder("", None, "text", 1e9, 1e9), None
    )  # so seldom that only the growth is bounded
    lax.fori_loop(0, 100_000, body, 0)
    arrax.effects_barrier()
    assert [steps for steps, _ in calls] == [0, 1, 17, 273, 4369, 69905, 100_000]
    calls.clear()
    lax.fori_loop(
        0, 50, reporting.Reporting(add, Recorder("", None, "text", 0.0, 1e9), None), 0
    )  # as often as possible
    arrax.effects_barrier()
    assert [steps for steps, _ in calls] == [*range(51)]


def test_short_loops_show_nothing(made):
    lax.fori_loop(0, 5, progress(add, style="text", delay=1000), 0)
    lax.fori_loop(0, 0, shown(add), 0)
    arrax.effects_barrier()
    assert made == []


def test_settings_reach_the_bar(made):
    lax.while_loop(lambda x: x < 8, shown(lambda x: x + 1, "count", total=8), 0)

    @progress(label="decorated", style="text", delay=0)
    def body(i, x):
        """Adds."""
        return x + i

    assert body.__doc__ == "Adds." and body.__name__ == "body"
    assert lax.fori_loop(0, 5, body, 0) == 10
    arrax.effects_barrier()
    assert [(bar.label, bar.total) for bar in made] == [("count", 8), ("decorated", 5)]


def last(x):
    return {"now": x, "int": jnp.int32(7)}


# fmt: off
SHOWN = {  # a call of a loop that shows values, and what stands behind the bar in the end
    "scan":     (lambda s: lax.scan(s(step, lambda out: {"carry": out[0], "row": out[1]}), 0.5, X), "carry=0.5853, row=8.273"),
    "unrolled": (lambda s: lax.scan(s(step, lambda out: {"c": out[0]}), 0.5, X, unroll=4), "c=0.5853"),
    "uneven":   (lambda s: lax.scan(s(step, lambda out: {"c": out[0]}), 0.5, X, unroll=3), "c=0.5853"),
    "fori":     (lambda s: lax.fori_loop(0, 5, s(add, last), 1.5), "now=11.5, int=7"),
    "while":    (lambda s: lax.while_loop(lambda x: x > 1, s(half, last), 64.0), "now=1, int=7"),
    "map":      (lambda s: lax.map(s(jnp.sqrt, lambda y: {"y": y}), X), "y=4.359"),
    "vmap":     (lambda s: arrax.vmap(lambda x: lax.fori_loop(0, 5, s(add, last), x))(X), "now=19.5 (mean of 20), int=7"),
    "jit":      (lambda s: arrax.jit(lambda x: lax.fori_loop(0, 5, s(add, last), x))(1.5), "now=11.5, int=7"),
    "grad":     (lambda s: arrax.grad(lambda x: lax.scan(s(step, lambda out: {"c": out[0]}), x, X)[0])(0.5), "c=0.5853"),
    "nothing":  (lambda s: lax.fori_loop(0, 5, s(add, lambda x: {}), 1.5), ""),
    "jitted":   (lambda s: lax.fori_loop(0, 5, arrax.jit(s(add, last)), 1.5), ""),
}
# fmt: on


@pytest.mark.parametrize("name", SHOWN)
def test_values_of_the_last_step_stand_behind_the_bar(name, made):
    call, expected = SHOWN[name]
    found = call(lambda fun, show: shown(fun, show=show))
    arrax.tree.map(same, found, call(lambda fun, show: fun))
    arrax.effects_barrier()
    assert made[0].words[-1] == expected


def test_loops_in_loops_have_bars_of_their_own(made):
    def outer(i, x):
        return lax.fori_loop(0, 4, shown(add, "inner"), x) + lax.cond(i > 0, lambda: 1.0, lambda: 2.0)

    arrax.jit(lambda x: lax.fori_loop(0, 3, shown(outer, "outer"), x))(0.0)
    arrax.effects_barrier()
    # A bar is made when the first report comes after the first step: for the outer loop, after its inner one.
    assert [(bar.label, bar.steps[-1], bar.closed) for bar in made] == [
        ("inner", 4, 1), ("outer", 3, 1), ("inner", 4, 1), ("inner", 4, 1)
    ]  # fmt: skip


def test_a_loop_without_a_mark_around_one_with_a_mark_does_not_report(made):
    arrax.jit(lambda x: lax.fori_loop(0, 3, lambda i, x: lax.fori_loop(0, 4, shown(add), x), x))(0)
    arrax.effects_barrier()
    assert [bar.total for bar in made] == [4] * 3


def test_outside_of_compiled_loops_nothing_happens(made):
    assert shown(add)(1, 2) == 3 and arrax.jit(shown(add))(1, 2) == 3
    with arrax.disable_jit():
        assert lax.fori_loop(0, 4, shown(add), 0) == 6
    assert made == []


def test_exceptions_close_bars_and_the_next_run_has_a_new_one(made):
    fails = True

    def body(i, x):
        arrax.experimental.io_callback(check, None, i)
        return x + i

    def check(i):
        if fails and i == 3:
            raise KeyError("three")

    loop = arrax.jit(lambda x: lax.fori_loop(0, 8, shown(body), x))
    with pytest.raises(KeyError, match="three"):
        arrax.block_until_ready(loop(0))
        arrax.effects_barrier()
    assert [bar.closed for bar in made] == [1]
    fails = False
    assert loop(0) == 28
    arrax.effects_barrier()
    assert made[-1].steps[-1] == 8 and made[-1].closed == 1


def test_a_bar_that_fails_does_not_end_the_loop(made, monkeypatch, caplog):
    monkeypatch.setattr(Bar, "show", lambda self, steps, seconds, words: 1 / 0)
    assert lax.fori_loop(0, 5, shown(add), 0) == 10
    arrax.effects_barrier()
    assert "the bar cannot be shown" in caplog.text


def test_a_report_is_where_an_interrupt_ends_the_loop(made, monkeypatch):
    def interrupt(self, steps, seconds, words):
        if steps > 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Bar, "show", interrupt)
    with pytest.raises(KeyboardInterrupt):
        arrax.jit(lambda x: lax.fori_loop(0, 2**31 - 1, shown(add, every=0.01), x))(0)
        arrax.effects_barrier()


def test_threads_have_bars_of_their_own(made):
    loop = arrax.jit(lambda x: lax.fori_loop(0, 50, shown(add), x))
    loop(0)
    threads = [threading.Thread(target=loop, args=(0,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    arrax.effects_barrier()
    assert [(bar.steps[-1], bar.closed) for bar in made] == [(50, 1)] * 9


def test_loops_that_run_at_once_are_compiled_once(made):
    compiled = []
    arrax.monitoring.register_event_duration_secs_listener(lambda event, *_, **__: compiled.append(event))
    try:
        for n in range(3):
            lax.scan(shown(step), np.float32(n), X)
    finally:
        arrax.monitoring.clear_event_listeners()
    arrax.effects_barrier()
    assert len(made) == 3 and len([event for event in compiled if "backend_compile" in event]) <= 1


def test_misuse():
    with pytest.raises(TypeError, match="argument fun: must be callable"):
        progress(3)
    with pytest.raises(ValueError, match="style must be one of.*'paint'"):
        progress(add, style="paint")
    with pytest.raises(ValueError, match="must not be negative"):
        progress(add, every=-1)
    with pytest.raises(TypeError, match="argument show: must be callable"):
        progress(add, show=3)
    with pytest.raises(TypeError, match="show must return a dict of names and numbers"):
        lax.fori_loop(0, 3, progress(add, show=lambda x: x), 0)
    with pytest.raises(ValueError, match="total must be positive, got 0"):
        progress(add, total=0)
    with pytest.raises(TypeError, match="every must be a number of seconds, got 'a'"):
        progress(add, every="a")
    with pytest.raises(TypeError, match="argument total: 'float' object cannot be interpreted as an integer"):
        progress(add, total=2.5)


def test_a_style_whose_package_is_missing(monkeypatch):
    monkeypatch.setattr(bars, "find_spec", lambda name: None)
    bars._first_installed.cache_clear()
    with pytest.raises(ModuleNotFoundError, match="needs the package rich"):
        progress(add, style="rich")
    assert progress(add).reporter.style == "text"
    bars._first_installed.cache_clear()


# ---- what is seen ----------------------------------------------------------------------------------------------------

PROGRAM = """
import time
import arrax
from arrax import lax
from arrax.debug import progress

def slow(i, x):
    arrax.experimental.io_callback(lambda i: time.sleep(0.01), None, i)
    return x + i

def outer(i, x):
    return lax.fori_loop(0, 10, progress(slow, "inner", show=lambda x: {"sum": x}, style=STYLE, delay=0, every=0.02), x)

print("sum", lax.fori_loop(0, 4, progress(outer, "outer", style=STYLE, delay=0, every=0), 0))
print("end", lax.while_loop(lambda x: x < 5, progress(lambda x: x + 1, style=STYLE, delay=0), 0))
"""
installed = [style for style in bars.STYLES if style == "text" or importlib.util.find_spec(style)]


@pytest.mark.parametrize("style", installed)
def test_bars_in_a_terminal(style):
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    code = PROGRAM.replace("STYLE", repr(style))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=child, stderr=child, env=environment)
    os.close(child)
    found = b""
    while select.select([parent], [], [], 60)[0]:
        try:
            found += os.read(parent, 4096)
        except OSError:  # the other end is closed
            break
    os.close(parent)
    text = found.decode()
    assert process.wait(60) == 0 and "sum 180" in text and "end 5" in text
    assert "outer" in text and "inner" in text and "4/4" in text and "10/10" in text and "\r" in text
    assert "sum=180" in text
    if style == "text":
        assert " | inner: 100%" in text and "5 steps [00:0" in text


ENDLESS = """
import signal
import arrax, arrax.numpy as jnp
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background ignores it
from arrax import lax
from arrax.debug import progress

body = progress(lambda i, x: jnp.sin(x) + 1, "endless", style="text", delay=0)
try:
    arrax.jit(lambda x: lax.fori_loop(0, 2**31 - 1, body, x))(jnp.ones(SIZE))
except KeyboardInterrupt:
    print("stopped", arrax.jit(lambda x: x + 1)(1))
"""


@pytest.mark.parametrize("size", [10, 100_000])  # the larger one runs on several threads
def test_ctrl_c_ends_a_compiled_loop(size):
    command = [sys.executable, "-c", ENDLESS.replace("SIZE", str(size))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr.readline().startswith("endless:   0%")
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60)[0] == "stopped 2\n" and process.returncode == 0
        finally:
            process.kill()


def test_bars_in_a_pipe():
    code = PROGRAM.replace("STYLE", "'text'")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("end 5\n")
    assert done.stderr.splitlines()[0].startswith("inner:") and len(done.stderr.splitlines()) <= 7
    assert "outer: 100% [########################] 4/4" in done.stderr
