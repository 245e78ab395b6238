"""Functions on the host, called from programs: their values, their order, and what transformations make of them."""

import logging
import pickle
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import debug, lax
from arrax.core import ShapedArray
from arrax.experimental import io_callback
from arrax.extend.core import Primitive
from arrax.interpreters import mlir
from tests.support import run_python

F3, SCALAR = arrax.ShapeDtypeStruct((3,), np.float32), arrax.ShapeDtypeStruct((), np.float32)
X = np.arange(3, dtype=np.float32)


@pytest.fixture
def log():
    return []


def noting(log, tag, *values, ordered=True):
    """Note a tag and numbers when the program comes by."""
    debug.callback(lambda *found: log.append((tag, *map(float, found))), *values, ordered=ordered)


def notes_of(log, function, *args):
    """What a call has noted, when all of it has happened."""
    log.clear()
    function(*args)
    arrax.effects_barrier()
    return list(log)


# ---- pure callbacks ------------------------------------------------------------------------------------------------


def test_values_of_pure_callbacks():
    def f(x):
        return arrax.pure_callback(np.sin, F3, x) + 1

    for g in (f, arrax.jit(f)):
        np.testing.assert_allclose(g(X), np.sin(X) + 1, rtol=1e-6)
    np.testing.assert_allclose(lax.map(lambda x: arrax.pure_callback(np.cos, SCALAR, x), X), np.cos(X), rtol=1e-6)
    stepped = lax.fori_loop(0, 3, lambda i, x: arrax.pure_callback(lambda v: np.asarray(v) + 1, SCALAR, x), 0.0)
    assert stepped == 3


def test_arguments_and_results_are_pytrees_of_arrays():
    def host(tree, *, scale):
        assert isinstance(tree["a"], arrax.Array) and isinstance(scale, arrax.Array)
        return {"sum": np.asarray(tree["a"]) + np.asarray(tree["b"]), "twice": (2 * np.asarray(scale),)}

    kinds = {"sum": F3, "twice": (arrax.ShapeDtypeStruct((), np.int32),)}
    for call in (arrax.pure_callback, arrax.jit(arrax.pure_callback, static_argnums=0, static_argnames="vmap_method")):
        found = call(host, kinds, {"a": X, "b": 1.0}, scale=4)
        np.testing.assert_array_equal(found["sum"], X + 1)
        assert found["twice"][0] == 8


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "complex64"])
def test_dtypes_go_through(dtype):
    x = jnp.arange(4).astype(dtype)
    kind = arrax.ShapeDtypeStruct(x.shape, x.dtype)
    np.testing.assert_array_equal(arrax.jit(lambda x: arrax.pure_callback(np.asarray, kind, x))(x), x)
    with arrax.enable_x64(True):
        wide = arrax.ShapeDtypeStruct((2,), np.float64)
        found = arrax.jit(lambda x: arrax.pure_callback(lambda v: np.asarray(v) / 3, wide, x))(np.ones(2))
        assert found.dtype == np.float64 and found[0] == 1 / 3


def test_empty_arrays_and_keys_go_through():
    empty = arrax.ShapeDtypeStruct((0, 2), np.float32)
    call = arrax.jit(lambda x: arrax.pure_callback(np.asarray, empty, x))
    assert call(np.zeros((0, 2), np.float32)).shape == (0, 2)
    key = arrax.random.key(7)
    words = arrax.jit(lambda k: arrax.pure_callback(arrax.random.key_data, arrax.ShapeDtypeStruct((2,), np.uint32), k))
    np.testing.assert_array_equal(words(key), arrax.random.key_data(key))


def test_unused_calls_are_left_out(log):
    f = arrax.jit(lambda x: (arrax.pure_callback(lambda v: log.append(1) or v, F3, x), x * 2)[1])
    f(X).block_until_ready()
    assert log == []


METHODS = {
    "sequential": [((), ())] * 3, "sequential_unrolled": [((), ())] * 3, None: [((), ())] * 3,
    "expand_dims": [((3,), (1,))], "broadcast_all": [((3,), (3,))], "legacy_vectorized": [((3,), ())],
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_mapped_calls(method, log):
    def host(a, b):
        log.append((a.shape, b.shape))
        return np.asarray(a) + np.asarray(b)

    def f(x, y):
        return arrax.pure_callback(host, SCALAR, x, y, vmap_method=method)

    mapped = arrax.vmap(f, in_axes=(0, None))
    for g in (mapped, arrax.jit(mapped)):
        log.clear()
        np.testing.assert_array_equal(g(X, 1.0), X + 1)
        assert log == METHODS[method]


def test_derivatives_are_refused_and_can_be_given():
    def f(x):
        return arrax.pure_callback(np.sin, SCALAR, x)

    with pytest.raises(ValueError, match="Pure callbacks do not support JVP"):
        arrax.grad(f)(1.0)
    own = arrax.custom_jvp(f)
    own.defjvp(lambda primals, tangents: (own(*primals), jnp.cos(primals[0]) * tangents[0]))
    np.testing.assert_allclose(arrax.grad(own)(1.0), np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(arrax.jit(arrax.grad(arrax.grad(own)))(1.0), -np.sin(1.0), rtol=1e-6)


WRONG = {
    "shape": lambda v: np.ones(4, np.float32),
    "dtype": lambda v: np.ones(3, np.int32),
    "structure": lambda v: (v, v),
    "division": lambda v: 1 / 0,
}


@pytest.mark.parametrize("name", WRONG)
def test_failures_say_what_happened(name):
    expected = {"structure": "structure", "division": "ZeroDivisionError"}.get(name, f"returned {name}")
    for call in (arrax.pure_callback, arrax.jit(arrax.pure_callback, static_argnums=(0, 1))):
        with pytest.raises(arrax.errors.JaxRuntimeError, match=expected) as caught:
            arrax.block_until_ready(call(WRONG[name], F3, X))
        message = str(caught.value)
        assert message.startswith("INTERNAL: pure_callback: ") and "\n" not in message
        assert name == "division" or "<lambda> at" in message


class OwnError(Exception):
    def __init__(self, code, place):
        super().__init__(code, place)
        self.code = code


class SilentError(Exception):
    def __str__(self):
        raise LookupError("no words")


# fmt: off
CALLS = {  # a function that calls another one on the host
    "debug":      lambda call, x: debug.callback(call, x),
    "io":         lambda call, x: io_callback(call, SCALAR, x),
    "pure":       lambda call, x: arrax.pure_callback(call, SCALAR, x),
    "jit debug":  lambda call, x: arrax.jit(lambda x: debug.callback(call, x))(x),
    "jit io":     lambda call, x: arrax.jit(lambda x: io_callback(call, SCALAR, x))(x),
    "jit pure":   lambda call, x: arrax.jit(lambda x: arrax.pure_callback(call, SCALAR, x))(x),
    "background": lambda call, x: arrax.jit(lambda x: arrax.pure_callback(call, SCALAR, (x @ x).sum()))(jnp.ones((900, 900))),
}
# fmt: on


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "error",
    [
        ValueError("one\ntwo"),
        KeyError("k"),
        OwnError(3, "here"),
        SilentError(),
        AssertionError(),
        ValueError("a\0b"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_exceptions_are_of_their_own_class_and_point_to_their_line(name, error):
    def fails(x):
        raise error

    with pytest.raises(type(error)) as caught:
        arrax.block_until_ready(CALLS[name](fails, jnp.float32(1)))
        arrax.effects_barrier()
    cause = caught.value if name == "debug" else caught.value.__cause__
    assert cause is error and traceback.extract_tb(cause.__traceback__)[-1].name == "fails"
    if cause is not caught.value:
        assert isinstance(caught.value, arrax.errors.JaxRuntimeError)
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), arrax.errors.JaxRuntimeError)
    assert getattr(caught.value, "code", 3) == 3
    with pytest.raises(OSError if "jit" not in name and name == "debug" else arrax.errors.JaxRuntimeError) as caught:
        CALLS[name](lambda x: open("/none/such"), jnp.float32(1)).block_until_ready()
    assert name == "debug" or isinstance(caught.value.__cause__, FileNotFoundError)
    try:
        arrax.effects_barrier()
    except arrax.errors.JaxRuntimeError:
        pass


@pytest.mark.parametrize("error", [OwnError(3, "here"), KeyboardInterrupt()], ids=lambda e: type(e).__name__)
def test_exceptions_of_later_calls_are_those_of_the_first(error):
    fails = []

    def on_host(x):
        if fails:
            raise error
        return x

    f = arrax.jit(lambda x: arrax.pure_callback(on_host, x, x))
    assert [float(f(x)) for x in (1.0, 2.0, 3.0)] == [1, 2, 3]
    fails.append(True)
    with pytest.raises(type(error)):
        f(4.0)
    fails.clear()
    assert float(f(5.0)) == 5


def test_exceptions_about_undecodable_names_do_not_end_the_process():
    code = """
import arrax, numpy as np
namespace = {}
exec(compile("def fails(x): raise ValueError('no file ' + chr(0xdcff))", "of" + chr(0xdcff), "exec"), namespace)
for call in (lambda f: f, arrax.jit):
    try:
        print(call(lambda x: arrax.pure_callback(namespace["fails"], x, x))(np.float32(1)))
    except ValueError as error:
        print(error)
"""
    said = r"INTERNAL: pure_callback: the function on the host raised ValueError: no file \udcff"
    assert run_python(code).stdout.splitlines() == [said, said]


@pytest.mark.parametrize("name", [name for name in CALLS if name != "background"])
@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_exits_and_interrupts_reach_the_caller(name, kind):
    def leave(x):
        raise kind(3)

    with pytest.raises(kind, match="3"):
        CALLS[name](leave, jnp.float32(1))


def test_misuse():
    with pytest.raises(TypeError, match="argument callback: must be callable"):
        arrax.pure_callback(3, F3)
    with pytest.raises(TypeError, match="shape and a dtype"):
        arrax.pure_callback(np.sin, "float32", X)
    with pytest.raises(ValueError, match="64-bit"):
        arrax.pure_callback(np.sin, arrax.ShapeDtypeStruct((), np.float64), 1.0)
    with pytest.raises(ValueError, match="vmap_method"):
        arrax.pure_callback(np.sin, F3, X, vmap_method="parallel")
    with pytest.raises(TypeError, match="pure_callback requires array"):
        arrax.pure_callback(np.sin, F3, "text")


# ---- effects -------------------------------------------------------------------------------------------------------


def test_io_callbacks_run_although_nobody_uses_their_results(log):
    f = arrax.jit(lambda x: (io_callback(lambda v: log.append(int(v)), None, x), x)[1])
    for i in range(3):
        f(i)
    arrax.effects_barrier()
    assert sorted(log) == [0, 1, 2]


def test_io_callbacks_in_transformations(log):
    def counted(x):
        return io_callback(lambda v: (log.append(float(v)), np.float32(v))[1], SCALAR, x)

    np.testing.assert_array_equal(arrax.vmap(counted)(X), X)
    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        arrax.vmap(lambda x: io_callback(float, None, x, ordered=True))(X)
    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        arrax.grad(counted)(1.0)
    assert arrax.grad(lambda x: x * counted(2.0))(3.0) == 2
    total, _ = lax.scan(lambda c, x: (c + counted(x), None), 0.0, X)
    assert total == 3


def test_effects_stand_in_programs():
    program = arrax.make_jaxpr(lambda x: debug.callback(print, x, ordered=True))(1.0)
    (effect,) = program.effects
    assert isinstance(effect, debug.OrderedDebugEffect) and effect.ordered
    looped = arrax.make_jaxpr(lambda x: lax.fori_loop(0, 2, lambda i, c: (debug.print("{}", c), c)[1], x))(1.0)
    assert {type(e) for e in looped.effects} == {debug.DebugEffect}
    assert "debug_callback" in str(looped)


# ---- order ---------------------------------------------------------------------------------------------------------


def winding(log):
    """A function that notes its way through calls, loops, branches and rules of its own."""

    @arrax.custom_jvp
    def ruled(x):
        noting(log, "ruled", x)
        return x

    ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents[0]))

    def f(x):
        noting(log, "begin", x)
        x = arrax.jit(lambda x: (noting(log, "inner", x), x * 2)[1])(x)

        def step(carry, t):
            noting(log, "step", t)
            return lax.cond(t > 1, lambda c: (noting(log, "large", c), c)[1], lambda c: c + 1, carry), None

        x, _ = lax.scan(step, x, X)
        x = lax.while_loop(
            lambda c: (noting(log, "test", c), c < 6)[1], lambda c: (noting(log, "turn", c), c + 1)[1], x
        )
        x = ruled(arrax.checkpoint(lambda x: (noting(log, "again", x), jnp.sin(x))[1])(x))
        noting(log, "end")
        return x

    return f


WAY = [
    "begin",
    "inner",
    "step",
    "step",
    "step",
    "large",
    "test",
    "turn",
    "test",
    "turn",
    "test",
    "again",
    "ruled",
    "end",
]


def test_ordered_effects_happen_in_order(log):
    f = winding(log)
    compiled = arrax.jit(f)
    for g in (f, compiled, compiled, lambda x: arrax.jvp(f, (x,), (1.0,)), lambda x: arrax.jit(arrax.jvp, static_argnums=0)(
        f, (x,), (1.0,))):  # fmt: skip
        assert [tag for tag, *_ in notes_of(log, g, 1.0)] == WAY


def test_unordered_calls_side_by_side_happen_as_written(log):
    def f(x):
        for tag in "abc":
            noting(log, tag, x, ordered=False)
            x = jnp.sin(x)
        noting(log, "d", ordered=False)
        return x

    turn = [("a", 0), ("b", 0), ("c", 0), ("d",)]
    for g, turns in (arrax.jit(f), 1), (lambda x: lax.map(f, jnp.repeat(x, 3)), 3):
        assert notes_of(log, g, jnp.float32(0)) == turn * turns
    twice = [("a", 0), ("a", 0), ("b", 0), ("b", 0), ("c", 0), ("c", 0), ("d",)]
    assert notes_of(log, arrax.jit(arrax.vmap(f)), jnp.zeros(2)) == twice


def test_ordered_effects_of_mapped_functions(log):
    def f(x):
        noting(log, "a", x)
        noting(log, "b", x + 1)

    expected = [("a", 0), ("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3)]
    assert notes_of(log, arrax.vmap(f), X) == notes_of(log, arrax.jit(arrax.vmap(f)), X) == expected
    assert notes_of(log, lambda x: lax.map(f, x), X) == [("a", 0), ("b", 1), ("a", 1), ("b", 2), ("a", 2), ("b", 3)]


def test_order_between_programs(log):
    first = arrax.jit(lambda x: noting(log, "first", x))
    second = arrax.jit(lambda x: (noting(log, "second", x), x + 1)[1])
    x = 0.0
    for _ in range(10):
        first(x)
        x = second(x)
    arrax.effects_barrier()
    assert log == [(tag, float(i)) for i in range(10) for tag in ("first", "second")]


def test_each_thread_has_an_order_of_its_own():
    logs = {n: [] for n in range(4)}

    def work(n):
        f = arrax.jit(lambda x: debug.callback(lambda v: logs[n].append(int(v)), x, ordered=True))
        for i in range(20):
            f(i)

    threads = [threading.Thread(target=work, args=(n,)) for n in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    arrax.effects_barrier()
    assert all(found == list(range(20)) for found in logs.values())


@pytest.mark.parametrize("ordered", [False, True])
def test_reverse_derivatives_call_once_with_the_forward_values(log, ordered):
    def watched(x):
        noting(log, "x", x, ordered=ordered)
        return None

    losses = {
        "alone": lambda x: (watched(x), x)[1],
        "in a compiled function": lambda x: (arrax.jit(watched)(x), x * x)[1],
        "in a branch": lambda x: lax.cond(x > 0, lambda x: (watched(x), x * x)[1], lambda x: x, x),
        "recomputed": arrax.checkpoint(lambda x: (watched(x), jnp.sin(jnp.sin(x)))[1]),
    }
    for loss in losses.values():
        assert notes_of(log, arrax.grad(loss), 2.0)[:1] == [("x", 2.0)]
        assert notes_of(log, arrax.jit(arrax.grad(loss)), 2.0)[:1] == [("x", 2.0)]
    looped = arrax.grad(lambda x: (lax.scan(lambda c, _: (watched(c), (c, None))[1], x, None, length=2), x * x)[1])
    assert notes_of(log, looped, 2.0) == [("x", 2.0)] * 2


def test_cotangents_can_be_watched(log):
    @arrax.custom_vjp
    def identity(x):
        return x

    identity.defvjp(lambda x: (x, None), lambda _, ct: (noting(log, "ct", ct), (ct,))[1])
    assert notes_of(log, arrax.grad(lambda x: 3 * identity(x)), 1.0) == [("ct", 3.0)]


# ---- printing ------------------------------------------------------------------------------------------------------


def printed(capsys, function, *args):
    function(*args)
    arrax.effects_barrier()
    return capsys.readouterr().out


def test_prints(capsys):
    def f(x):
        debug.print("x = {x}, {:.2f} {}", 1.5, "text", x=x)

    for g in (f, arrax.jit(f)):
        assert printed(capsys, g, X) == "x = [0. 1. 2.], 1.50 text\n"
    assert printed(capsys, arrax.vmap(lambda x: debug.print("{}", x)), X) == "0.0\n1.0\n2.0\n"
    tree = {"a": X, "b": (1, 2)}
    assert printed(capsys, lambda: debug.print("{t[b][1]}", t=tree)) == "2\n"


def test_formats_are_looked_at_when_the_program_is_made():
    with pytest.raises(ValueError, match="Unused positional"):
        arrax.jit(lambda x: debug.print("x", x))(1.0)
    with pytest.raises(ValueError, match="Unused keyword"):
        debug.print("{}", 1, x=2)
    with pytest.raises(IndexError):
        debug.print("{} {}", 1)
    with pytest.raises(KeyError):
        debug.print("{x}")
    with pytest.raises(TypeError, match="fmt must be a text"):
        debug.print(X)


def test_prints_in_branches_that_give_nothing(capsys):
    f = arrax.jit(lambda p: lax.cond(p, lambda: debug.print("yes", ordered=True), lambda: None))
    assert printed(capsys, f, True) == "yes\n" and printed(capsys, f, False) == ""


def test_a_failing_callback_is_told_of_and_leaves_nothing_behind(log):
    f = arrax.jit(lambda x: debug.callback(lambda v: 1 / 0, x))
    with pytest.raises(arrax.errors.JaxRuntimeError, match="ZeroDivisionError"):
        f(1.0)
        arrax.effects_barrier()
    arrax.effects_barrier()
    assert notes_of(log, arrax.jit(lambda x: noting(log, "fine", x)), 1.0) == [("fine", 1.0)]


def test_programs_run_inside_callbacks_and_beside_kernels():
    kind = arrax.ShapeDtypeStruct((100_000,), np.float32)
    f = arrax.jit(lambda x: arrax.pure_callback(lambda v: jnp.sort(v) * 2, kind, jnp.sort(x)).sum())
    assert f(np.ones(100_000, np.float32)) == 200_000


def test_effects_happen_before_the_process_ends():
    program = """
import time, arrax
def slow(v):
    time.sleep(0.2)
    print("late", int(v), flush=True)
arrax.jit(lambda x: arrax.debug.callback(slow, x))(3)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "late 3\n", done.stderr


def test_values_are_logged(caplog):
    with caplog.at_level(logging.INFO, "arrax.debug"):
        arrax.jit(lambda x: debug.log("{:.1f} of 100%", x))(2)
        debug.log(ordered=True)("{x}", x=3)
        arrax.effects_barrier()
    assert [record.getMessage() for record in caplog.records] == ["2.0 of 100%", "3"]
    assert {record.name for record in caplog.records} == {"arrax.debug"}


def test_a_word_for_f_strings():
    with pytest.warns(UserWarning, match=r"description of a traced value.*f-string.*x = \{x\}") as caught:
        arrax.jit(lambda x: debug.print(f"x = {x}"))(1.0)
    assert caught[0].filename == __file__
    with pytest.raises(KeyError) as error:
        debug.print(f"{ {'a': 1} }")
    assert "f-string" in error.value.__notes__[0]


def test_lines_of_threads_do_not_mix(capsys):
    f = arrax.jit(lambda n: debug.print("{n} " + "x" * 50, n=n))
    f(0)
    threads = [threading.Thread(target=lambda n=n: [f(n) for _ in range(20)]) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    arrax.effects_barrier()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 321 and all(line.split(" ")[1] == "x" * 50 for line in lines)


def test_eager_loops_with_effects_are_compiled_once(log):
    def step(c, x):
        noting(log, "step", c)
        return c + x, None

    compiled = []
    arrax.monitoring.register_event_duration_secs_listener(lambda event, *_, **__: compiled.append(event))
    try:
        for n in range(3):
            lax.scan(step, np.float32(n), X)
            arrax.effects_barrier()
    finally:
        arrax.monitoring.clear_event_listeners()
    assert [event for event in compiled if "backend_compile" in event] == ["/jax/core/compile/backend_compile_duration"]
    assert [c for _, c in log] == [n + c for n in range(3) for c in (0, 0, 1)]


def test_options_of_prints_and_callbacks_may_come_first(capsys):
    seen = []
    arrax.debug.print(ordered=True)("x: {x}", x=3)
    arrax.debug.callback(ordered=True)(seen.append, 4)
    arrax.effects_barrier()
    assert capsys.readouterr().out == "x: 3\n" and seen == [4]
    with pytest.raises(ValueError, match="f-string"):
        arrax.debug.print("x 3", x=3)


def test_results_of_callbacks_are_matched_by_their_leaves():
    shape = arrax.ShapeDtypeStruct((), np.float32)
    found = arrax.pure_callback(lambda x: {"y": [x]}, {"y": [shape]}, [np.float32(2)])
    assert found == {"y": [2.0]}
    with pytest.raises(Exception, match="structure"):
        arrax.pure_callback(lambda x: (x, x), shape, np.float32(2)).block_until_ready()


def test_a_callback_with_effects_cannot_be_transposed():
    function = lambda x: arrax.experimental.io_callback(lambda x: x, arrax.ShapeDtypeStruct((), np.float32), x)  # noqa: E731
    with pytest.raises(ValueError, match="IO callbacks"):
        arrax.linear_transpose(function, 1.0)(1.0)


def test_functions_on_the_host_get_arrays_of_no_weak_type():
    seen = []
    arrax.jit(lambda x: debug.callback(seen.append, x))(1.0)
    for call in (arrax.pure_callback, io_callback):
        call(lambda x: seen.append(x) or np.asarray(x), arrax.ShapeDtypeStruct((), np.float32), 1.0)
    arrax.effects_barrier()
    assert [x.weak_type for x in seen] == [False] * 3 and all(x.dtype == np.float32 for x in seen)


def test_lowering_rules_call_functions_on_the_host():
    double = Primitive("double_on_host")
    double.multiple_results = True
    double.def_abstract_eval(lambda x: [x, ShapedArray((), np.int32)])

    def rule(ctx, x):
        outs, token, keepalive = mlir.emit_python_callback(
            ctx, lambda x: [2 * x, np.int32(x.size)], None, [x], ctx.avals_in, ctx.avals_out, has_side_effect=False
        )
        assert token is None
        ctx.module_context.add_keepalive(keepalive)
        return outs

    mlir.register_lowering(double, rule)
    twice, size = arrax.jit(double.bind)(np.arange(3, dtype=np.float32))
    np.testing.assert_array_equal(twice, [0, 2, 4])
    assert size == 3


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: arrax.jit(arrax.jit(f))])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_sum_over_the_only_result_can_be_watched(wrap, dtype, ordered):
    def layer(w, x):
        y = x @ w
        arrax.debug.callback(seen.append, y.sum(), ordered=ordered)
        return y

    seen = []
    w, x = jnp.ones((64, 128), dtype) * 2, jnp.ones((96, 64), dtype)
    found = arrax.jit(wrap(layer))(w, x)
    arrax.effects_barrier()
    np.testing.assert_array_equal(found, np.full((96, 128), 128, found.dtype))
    assert [float(total) for total in seen] == [96 * 128 * 128]


def test_callbacks_run_on_one_device():
    mesh = arrax.make_mesh((1,), ("x",))
    over = arrax.sharding.NamedSharding(mesh, arrax.sharding.PartitionSpec("x"))
    x = jnp.ones(2)
    for call in (arrax.pure_callback, arrax.experimental.io_callback):
        place = arrax.sharding.SingleDeviceSharding(arrax.devices()[0])
        np.testing.assert_array_equal(call(lambda x: x + 1, x, x, sharding=place), [2, 2])
        for other in (3, over):
            with pytest.raises(NotImplementedError, match="sharding must be a SingleDeviceSharding"):
                call(lambda x: x, x, x, sharding=other)


@pytest.mark.parametrize("call", [arrax.pure_callback, io_callback])
def test_results_are_not_weakly_typed(call):
    def shifted(x):
        return call(lambda x: x + 1, x, x)

    for found in (shifted(jnp.asarray(1.0)), arrax.jit(shifted)(1.0), arrax.vmap(shifted)(jnp.full(1, 1.0))[0]):
        assert found == 2 and not found.weak_type
        assert (found + jnp.bfloat16(1)).dtype == np.float32
