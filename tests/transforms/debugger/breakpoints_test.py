"""Breakpoints: what the prompt shows where a program comes by, and what it leaves behind."""

import dataclasses
import functools
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import debug, lax
from arrax.xla import callers

X = np.arange(3, dtype=np.float32)


class Session:
    """Commands that every stop of a program reads on, and what it has answered."""

    def __init__(self, *commands):
        self.given, self.shown = io.StringIO("".join(f"{one}\n" for one in commands)), io.StringIO()
        self.streams = {"stdin": self.given, "stdout": self.shown}

    def answers(self):
        """What commands have printed, stop by stop."""
        stops = self.shown.getvalue().split("Entering jdb:\n")[1:]
        return [[part.removesuffix("\n") for part in stop.split("(jdb) ")[1:]] for stop in stops]


def number(text):
    """The value of a printed scalar array."""
    return float(re.search(r"-?\d+\.?\d*(e-?\d+)?", text)[0])


def stops_of(function, *args, commands=("p x", "c") * 8):
    """The first answer of every stop of a call."""
    session = Session(*commands)
    arrax.block_until_ready(function(session)(*args))
    return [number(answers[0]) for answers in session.answers()]


def stopping(session, x):
    debug.breakpoint(**session.streams)
    return x * 2


# ---- values under transformations ----------------------------------------------------------------------------------


def custom(session):
    @arrax.custom_vjp
    def f(x):
        return stopping(session, x)

    f.defvjp(lambda x: (f(x), x), lambda residual, ct: (stopping(session, ct),))
    return arrax.grad(lambda x: f(x * 2))


# fmt: off
TRANSFORMATIONS = {  # how the function is called, with 1.0, and what x is at each stop
    "at once":      (lambda s: functools.partial(stopping, s), [1]),
    "jit":          (lambda s: arrax.jit(functools.partial(stopping, s)), [1]),
    "jit in jit":   (lambda s: arrax.jit(lambda x: arrax.jit(functools.partial(stopping, s))(x + 1)), [2]),
    "disable_jit":  (lambda s: lambda x: _without_jit(arrax.jit(functools.partial(stopping, s)), x), [1]),
    "grad":         (lambda s: arrax.grad(functools.partial(stopping, s)), [1]),
    "jit of grad":  (lambda s: arrax.jit(arrax.grad(functools.partial(stopping, s))), [1]),
    "grad of jit":  (lambda s: arrax.grad(arrax.jit(functools.partial(stopping, s))), [1]),
    "jvp":          (lambda s: lambda x: arrax.jvp(functools.partial(stopping, s), (x,), (x,)), [1]),
    "custom_vjp":   (custom, [2, 1]),
    "checkpoint":   (lambda s: arrax.checkpoint(functools.partial(stopping, s)), [1]),
    "vmap":         (lambda s: lambda x: arrax.vmap(functools.partial(stopping, s))(x + X), [1, 2, 3]),
    "jit of vmap":  (lambda s: lambda x: arrax.jit(arrax.vmap(functools.partial(stopping, s)))(x + X), [1, 2, 3]),
    "scan":         (lambda s: lambda x: lax.scan(lambda c, x: (c + stopping(s, x), x), x, X + 1), [1, 2, 3]),
    "map in jit":   (lambda s: arrax.jit(lambda x: lax.map(functools.partial(stopping, s), x + X)), [1, 2, 3]),
    "while":        (lambda s: arrax.jit(lambda x: lax.while_loop(lambda x: x < 8, functools.partial(stopping, s), x)), [1, 2, 4]),
    "fori":         (lambda s: arrax.jit(lambda x: lax.fori_loop(0, 2, lambda i, x: stopping(s, x), x)), [1, 2]),
    "cond":         (lambda s: arrax.jit(lambda x: lax.cond(x > 0, functools.partial(stopping, s), lambda x: x, x)), [1]),
    "not taken":    (lambda s: arrax.jit(lambda x: lax.cond(x < 0, functools.partial(stopping, s), lambda x: x, x)), []),
    "pmap":         (lambda s: lambda x: arrax.pmap(functools.partial(stopping, s))(x[None]), [1]),
    "shard_map":    (lambda s: arrax.jit(_sharded(functools.partial(stopping, s))), [1]),
}
# fmt: on


def _without_jit(function, x):
    with arrax.disable_jit():
        return function(x)


def _sharded(function):
    mesh, whole = arrax.make_mesh((1,), ("i",)), arrax.sharding.PartitionSpec()
    return lambda y: arrax.shard_map(function, mesh=mesh, in_specs=whole, out_specs=whole)(y)


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_a_stop_shows_the_values_of_the_program(name):
    function, expected = TRANSFORMATIONS[name]
    assert stops_of(function, jnp.float32(1)) == expected


def test_ordered_stops_come_in_order_and_are_refused_with_a_token():
    session = Session(*["p n", "c"] * 3)

    def stop(n):
        debug.breakpoint(**session.streams, ordered=True)

    def f(x):
        for n in range(3):
            stop(n)
        return x

    arrax.jit(f)(1.0)
    assert [answers[0] for answers in session.answers()] == ["0", "1", "2"]
    with pytest.raises(ValueError, match="token or ordered"):
        debug.breakpoint(token=X, ordered=True)


@pytest.mark.parametrize("transformation", [lambda f: f, arrax.jit, arrax.grad, arrax.vmap])
def test_a_token_goes_through_a_stop(transformation):
    def f(x):
        y = x * 2
        y, n = debug.breakpoint(**session.streams, token=(y, 1))
        return y * x

    session = Session(*["p y", "c"] * 3)
    x = X if transformation is arrax.vmap else jnp.float32(3)
    found = transformation(f)(x)
    np.testing.assert_allclose(found, 4 * x if transformation is arrax.grad else 2 * x * x)
    assert [number(answers[0]) for answers in session.answers()] == list(np.atleast_1d(2 * x))


# ---- commands ------------------------------------------------------------------------------------------------------


def three_frames(session):
    def inner(x):
        y, settings = jnp.sin(x), {"scale": [x, 2], 3: "three"}  # noqa: F841
        debug.breakpoint(**session.streams)
        return y

    def outer(x):
        q = x + 1
        return inner(q)

    return outer


@pytest.mark.parametrize("wrap", [arrax.jit, lambda f: f])
def test_commands(wrap):
    session = Session(
        "p x", "p y + 1", "pp settings", "u", "p x", "p q", "d", "up 2", "d", "d", "d", "w", "l", "x * 10",
        "z = x + 5", "p z", "for i in range(2): print(i)", "p X", "p unknown", "p 1 +", "p", "up many", "nonsense here",
        "vars", "help", "help p", "? up", "bt", "c",
    )  # fmt: skip
    wrap(three_frames(session))(jnp.float32(1))
    (found,) = session.answers()
    answers = iter(found)
    assert number(next(answers)) == 2
    assert number(next(answers)) == pytest.approx(1 + np.sin(2))
    assert "'scale': [Array(2., dtype=float32" in next(answers).replace("\n", "")
    assert re.search(r"breakpoints_test.py\(\d+\)outer\(\)\n.*\n.*\n-> +\d+         return inner\(q\)", next(answers))
    assert number(next(answers)) == 1 and number(next(answers)) == 2
    assert "inner()" in next(answers)
    assert "test_commands()" in next(answers) and "outer()" in next(answers) and "inner()" in next(answers)
    assert next(answers).startswith("At bottommost frame.\n> ")
    where = next(answers)
    assert re.search(
        r"in test_commands\n.*\n.*in outer\n    return inner\(q\)\n->.*in inner\n    debug.breakpoint", where, re.S
    )
    assert "     def outer(x):" in next(answers)
    assert number(next(answers)) == 20
    assert next(answers) == "" and number(next(answers)) == 7
    next(answers)
    assert next(answers) == "array([0., 1., 2.], dtype=float32)"
    assert next(answers) == "*** NameError: name 'unknown' is not defined"
    assert next(answers) == "*** SyntaxError: invalid syntax"
    assert next(answers) == "*** an expression is missing"
    assert next(answers) == "*** a number of frames is wanted, got 'many'"
    assert next(answers).startswith("*** SyntaxError")
    assert re.search(r"^x: Array\(2\..*\ny: Array\(0\.9", next(answers), re.M)
    topics = next(answers).split()
    assert {
        "p",
        "pp",
        "u",
        "up",
        "d",
        "down",
        "w",
        "where",
        "bt",
        "l",
        "list",
        "c",
        "cont",
        "continue",
        "q",
        "quit",
    } < {*topics}
    assert next(answers).startswith("p EXPRESSION") and next(answers).startswith("u(p)")
    assert next(answers) == where


def test_what_is_no_command_is_python():
    def f(c, q, w):
        debug.breakpoint(**session.streams)
        return c * q * w

    session = Session(
        "c + 1", "q = 5", "p q", "w.shape", "w[0] * 2", "!c", "p == 3", "p(c)", "c += 40", "p c", "?p", "c"
    )
    arrax.jit(f)(1.0, 2.0, jnp.ones(3))
    (found,) = session.answers()
    plus, bound, q, shape, element, whole, compared, called, added, c, told, _ = found
    assert number(plus) == 2 and bound == "" and q == "5" and shape == "(3,)" and number(element) == 2
    assert number(whole) == 1 and compared.startswith("*** NameError") and number(called) == 1
    assert added == "" and number(c) == 41 and told.startswith("p EXPRESSION")


@pytest.mark.parametrize("word", ["c", "cont", "continue"])
def test_words_that_resume(word):
    session = Session(word)
    assert arrax.jit(functools.partial(stopping, session))(2.0) == 4


@pytest.mark.parametrize("words", [["q"], ["quit"], ["exit"], []])
@pytest.mark.parametrize("size", [1, 1000])
def test_quitting_ends_the_process_unless_it_is_caught_and_leaves_everything_usable(words, size):
    session = Session("p 1", *words)

    def f(x):
        y = x @ x  # large ones run in the background
        debug.breakpoint(**session.streams)
        return y

    x = jnp.ones((size, size))
    with pytest.raises(SystemExit) as error:
        arrax.jit(f)(x)
    assert error.value.code == 0
    assert arrax.jit(lambda x: x + 1)(1) == 2 and stops_of(TRANSFORMATIONS["jit"][0], 3.0) == [3]
    arrax.effects_barrier()


def test_frames_can_be_limited_and_shown_whole():
    session = Session(*["w", "c"] * 3)
    arrax.jit(lambda x: debug.breakpoint(**session.streams, num_frames=1))(X)
    arrax.jit(lambda x: debug.breakpoint(**session.streams, num_frames=2))(X)
    assert [answers[0].count("File ") for answers in session.answers()] == [1, 2]
    arrax.jit(lambda x: debug.breakpoint(**session.streams, filter_frames=False))(X)
    assert "staging.py" in session.answers()[2][0]


def test_misuse():
    with pytest.raises(ValueError, match="backend must be one of .*web.*got 'paper'"):
        debug.breakpoint(backend="paper")
    with pytest.raises(ValueError, match="num_frames must be positive, got 0"):
        debug.breakpoint(num_frames=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        debug.breakpoint(colour="red")


# ---- variables of all kinds ----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Layer:
    weights: object

    def __call__(self, x):
        return self.weights * x


def test_traced_values_are_found_in_objects_closures_and_methods():
    session = Session("p layer.weights", "p layer(x)", "p twice()", "p call(x)", "p pair[1]['k']", "p itself[0]", "c")

    @arrax.jit
    def f(x):
        layer = Layer(x + 1)
        twice = lambda: x * 2  # noqa: E731, F841
        call, pair = layer.__call__, (1, {"k": x, 2: x})  # noqa: F841
        itself = [x]
        itself.append(itself)
        debug.breakpoint(**session.streams)
        return x

    f(jnp.float32(3))
    assert [number(text) for text in session.answers()[0][:6]] == [4, 12, 6, 12, 3, 3]


@pytest.mark.filterwarnings("error")
def test_traced_values_are_found_in_views_of_dictionaries():
    session = Session("p list(values)[1] + 1", "p dict(items)['b']", "p 'a' in keys", "c")

    @arrax.jit
    def f(x):
        named = {"a": 2, "b": x}
        keys, values, items = named.keys(), named.values(), named.items()  # noqa: F841
        debug.breakpoint(**session.streams)
        return x

    f(jnp.float32(3))
    first, second, third = session.answers()[0][:3]
    assert (number(first), number(second), third) == (4, 3, "True")


class Unshowable:
    def __repr__(self):
        raise OSError("no")


def test_what_cannot_be_shown_does_not_end_the_program():
    session = Session("p thing", "thing", "vars", "print(2 + 3)", "for n in range(2): print(n)", "c")

    def f(x):
        thing = Unshowable()  # noqa: F841
        debug.breakpoint(**session.streams)
        return x

    assert arrax.jit(f)(1.0) == 1
    answers = session.answers()[0]
    assert answers[:2] == ["*** OSError: no"] * 2
    assert "thing: <Unshowable, which cannot be shown: no>" in answers[2]
    assert answers[3:5] == ["5", "0\n1"]


def test_keys_and_whole_arrays_are_shown():
    session = Session("p arrax.random.uniform(key).shape, x.shape", "p key", "c")

    def f(key, x):
        debug.breakpoint(**session.streams)
        return x

    arrax.jit(f)(arrax.random.key(3), jnp.ones((2, 0)))
    assert session.answers()[0][0] == "((), (2, 0))" and "key<fry>" in session.answers()[0][1]


def test_no_tracer_is_kept():
    session = Session("p helper()", "c")

    def f(x):
        helper = lambda: x + 1  # noqa: E731, F841
        debug.breakpoint(**session.streams)
        return x

    with arrax.checking_leaks():
        arrax.jit(f)(1.0)
    assert number(session.answers()[0][0]) == 2


def test_frames_outside_are_those_of_the_call():
    session = Session(*["up", "p n", "c"] * 2)
    f = arrax.jit(functools.partial(stopping, session))
    for n in range(2):
        assert f(jnp.float32(n)) == 2 * n  # traced once
    assert [answers[1] for answers in session.answers()] == ["0", "1"]


def test_frames_around_a_compiled_loop_show_what_is_known_of_mapped_and_differentiated_values():
    session = Session("p c", "u", "p c", "p jnp.sin(c + 1)", "p held['c'] * 2", "u", "p cs", "q")

    def body(c, _):
        debug.breakpoint(**session.streams)
        return c * 2, None

    def looped(c):
        held = {"c": c}
        return lax.scan(body, c, None, length=1)[0] * len(held)

    with pytest.raises(SystemExit):
        arrax.grad(lambda cs: arrax.vmap(looped, in_axes=1)(cs).sum())(jnp.array([[1.0, 3.0]]))
    (found,) = session.answers()
    first, _, mapped, sine, in_dict, _, whole, _ = found
    assert first.startswith("Array([1.], dtype=float32")
    assert mapped.startswith("Array([[1.],\n       [3.]], dtype=float32") and sine.startswith("Array([[ 0.909297")
    assert in_dict.startswith("Array([[2.],") and whole.startswith("Array([[1., 3.]], dtype=float32")


def test_failures_are_told_without_their_notes():
    session = Session("p jnp.sin('text')", "c")
    stopping(session, jnp.ones(()))
    assert session.answers()[0][0].startswith("*** TypeError: Argument 'text' of type <class 'str'> is not a valid")


def test_the_prompt_runs_in_the_thread_of_the_caller_though_the_program_does_not():
    session = Session("up", "p threading.current_thread() is caller", "p y.shape", "c")

    def f(x):
        z = (x @ x).sum()
        debug.breakpoint(**session.streams)
        return z

    caller, y = threading.current_thread(), np.ones((1000, 1000), np.float32)
    arrax.jit(f)(y)
    assert session.answers()[0][1:3] == ["True", "(1000, 1000)"], caller


def test_frames_end_with_the_program_or_the_cell_of_a_notebook():
    session = Session("w", "c")
    cell = compile("f(1.0)", "<cell>", "exec")
    exec(cell, {"f": arrax.jit(lambda x: debug.breakpoint(**session.streams))})
    assert session.answers()[0][0].startswith('Traceback:\n  File "<cell>", line 1, in <module>')


# ---- processes -----------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
import arrax
def f(x):
    y = x * 2
    arrax.debug.breakpoint()
    return y
for n in range(2):
    print("result", arrax.jit(f)(float(n)), flush=True)
"""


def run(commands, code=PROGRAM):
    return subprocess.run([sys.executable, "-c", code], input=commands, capture_output=True, text=True, timeout=60)


def test_commands_come_through_a_pipe():
    done = run("p y\nc\np y\nc\n")
    assert done.returncode == 0 and done.stderr == ""
    results = [line for line in done.stdout.splitlines() if "result" in line]
    assert [line.removeprefix("(jdb) ") for line in results] == ["result 0.0", "result 2.0"]
    assert "Array(2., dtype=float32" in done.stdout
    ended = run("p y\nq\n")
    assert ended.returncode == 0 and ended.stderr == "" and "result" not in ended.stdout


# Programs that are started in the background, as tests may be, ignore it.
HEARS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def test_commands_come_from_a_terminal():
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", HEARS_CTRL_C + PROGRAM],
        stdin=child,
        stdout=child,
        stderr=child,
        env=environment,
        start_new_session=True,
    )
    os.close(child)
    shown = ""

    def read_until(text):
        nonlocal shown
        start = len(shown)
        while text not in shown[start:]:
            assert select.select([parent], [], [], 60)[0], shown
            shown += os.read(parent, 1024).decode()
        return shown[start:]

    read_until("(jdb) ")
    os.write(parent, b"p y + 1\n")
    assert "Array(1., dtype=float32" in read_until("(jdb) ")
    os.write(parent, b"c\n")
    assert "result 0.0" in read_until("(jdb) ")
    process.send_signal(signal.SIGINT)  # Ctrl-C leaves the command, not the prompt
    os.write(parent, b"\n")  # Python may look for signals only when a key comes
    assert "KeyboardInterrupt" in read_until("(jdb) ")
    os.write(parent, b"quit\n")
    assert process.wait(60) == 0
    os.close(parent)


def test_the_page_in_the_browser():
    shown, answers = io.StringIO(), []
    finished = threading.Event()

    class Watched(io.StringIO):
        def write(self, text):
            if "http://" in text:
                threading.Thread(target=visit, args=(text.split()[-1],)).start()
            return super().write(text)

    def visit(address):
        fetch = lambda path, data=None: urllib.request.urlopen(address + path, data, timeout=30).read().decode()  # noqa: E731
        assert "<input" in fetch("")
        seen = 0
        for command in ("p x + 1", "c"):
            fetch("input", command.encode())
        while "Array" not in "".join(answers):
            found = json.loads(fetch(f"output?from={seen}"))
            answers.append(found["text"])
            seen = found["end"]
        with pytest.raises(OSError):
            urllib.request.urlopen(address.rsplit("/", 2)[0] + "/wrong/", timeout=30)
        finished.set()

    shown, before = Watched(), sys.stdout
    sys.stdout = shown
    try:
        f = arrax.jit(lambda x: (debug.breakpoint(backend="web"), x)[1])
        assert f(jnp.float32(2)) == 2
    finally:
        sys.stdout = before
    assert finished.wait(30) and "Array(3., dtype=float32" in "".join(answers)


def test_an_interrupt_in_the_terminal_ends_the_wait_for_the_page(monkeypatch):
    class Interrupting(io.StringIO):
        def write(self, text):
            if "http://" in text:
                threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            return super().write(text)

    monkeypatch.setattr(sys, "stdout", Interrupting())
    f = arrax.jit(lambda x: (debug.breakpoint(backend="web"), x)[1])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # programs in the background ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            f(jnp.float32(2))
    finally:
        signal.signal(signal.SIGINT, before)
    assert arrax.jit(lambda x: x + 1)(1) == 2


def test_an_interrupt_just_before_a_pause_ends_the_program(monkeypatch):
    def interrupted(caller):
        with callers._changed:
            while not caller.requests:
                callers._changed.wait(1)
        helpers.append(caller.helper)
        raise KeyboardInterrupt

    helpers, session = [], Session("c")
    monkeypatch.setattr(callers, "_serve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        arrax.jit(functools.partial(stopping, session))(2.0)
    helpers[0].join(30)
    assert not helpers[0].is_alive() and not session.shown.getvalue()
