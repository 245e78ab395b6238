"""Recompilations are counted and explained, and warned of once where they go on."""

import gc
import json
import sys
import warnings

import pytest

import arrax
import arrax.numpy as jnp
from arrax.core import config
from arrax.debug import RecompilationError, RecompilationWarning, recompiles
from tests.support import run_python


@pytest.fixture(autouse=True)
def forgotten():
    recompiles(clear=True)
    with config.recompilation_warnings("warn"):
        yield


def history_of(name):
    (found,) = [one for one in recompiles(everything=True).functions if one.function.split(" ")[0] == name]
    return found


def changes_of(name):
    return [change.changed for change in history_of(name).changes]


class Setting:
    """Compared by identity."""


def test_changes_are_known_when_the_function_is_gone():
    def calls():
        fun = arrax.jit(lambda x, n=None, **rest: x, static_argnames="n")
        for x in (jnp.ones(3), jnp.ones(4), jnp.ones(4, jnp.int32)):
            fun(x)
        for n in ("one", ("two", 2), Setting(), Setting()):
            fun(x, n=n)
        fun((x, x), n=n)

    calls()
    gc.collect()
    assert changes_of("<lambda>") == [
        (), ("type of x: now f32[4], before f32[3]",), ("type of x: now i32[4], before f32[4]",),
        ("static keyword argument n: now 'one', before not static",), ("static keyword argument n: now ('two', 2), before 'one'",),
        ("static keyword argument n: now a value of type Setting, before ('two', 2)",),
        ("static keyword argument n: now a value of type Setting, before a value of type Setting",),
        ("structure of the arguments: another one than before",),
    ]  # fmt: skip
    assert "The static argument n keeps changing" in history_of("<lambda>").advice


def test_functions_of_references_are_listed_like_others():
    @arrax.jit
    def add_to(total, x):
        total[...] += x

    for length, x in ((3, 1.0), (3, jnp.ones(3)), (4, 1.0)):
        add_to(arrax.new_ref(jnp.zeros(length)), x)
    found = history_of("add_to")
    assert [change.changed for change in found.changes] == [
        (), ("type of x: now f32[3], before f32[]",), ("type of total: now Ref{f32[4]}, before Ref{f32[3]}",),
    ]  # fmt: skip
    assert all(change.source and change.trace_seconds and change.compile_seconds for change in found.changes)


def test_each_change_is_listed_with_what_it_cost():
    @arrax.jit
    def scaled(x, n=1):
        return x * n

    for x in (jnp.ones(3), jnp.ones(4), jnp.ones(4, jnp.int32), 1.0, jnp.float32(1)):
        scaled(x)
        scaled(x)
    scaled(jnp.ones(3), 2)
    history = history_of("scaled")
    assert (history.traces, history.compilations) == (6, 6) and __file__ in history.function
    assert changes_of("scaled") == [
        (),
        ("type of x: now f32[4], before f32[3]",),
        ("type of x: now i32[4], before f32[4]",),
        ("type of x: now f32[], before i32[4]",),
        ("type of x: now f32[], before f32[] weakly typed (as Python numbers are)",),
        ("number of positional arguments: now 2, before 1", *changes_of("scaled")[5][1:]),
    ]
    assert all(change.trace_seconds > 0 and change.compile_seconds > 0 for change in history.changes)
    total = sum(change.trace_seconds + change.compile_seconds for change in history.changes)
    assert history.seconds == pytest.approx(total)


def test_static_values_settings_and_structures_are_named():
    def f(x, n):
        return arrax.tree.map(lambda y: y * n, x)

    jitted = arrax.jit(f, static_argnums=1)
    jitted(1.0, 2)
    jitted(1.0, 3)
    jitted([1.0], 3)
    with config.numpy_rank_promotion("warn"):
        jitted([1.0], 3)
    assert [changed[0].partition(":")[0] for changed in changes_of("f")[1:]] == [
        "static argument n",
        "structure of (args, kwargs)[0][0]",
        "setting numpy_rank_promotion",
    ]


def test_another_placement_compiles_the_same_trace_again():
    code = """
import arrax, arrax.numpy as jnp
@arrax.jit
def f(x): return x + 1
for device in arrax.devices():
    f(arrax.device_put(jnp.ones(3), device))
(history,) = [one for one in arrax.debug.recompiles().functions if one.function.startswith("f ")]
assert (history.traces, history.compilations) == (1, 2)
first, second = arrax.devices()
assert history.changes[1].changed == (f"device: now {second}, before {first}",)
assert "one sharding" in history.advice

from arrax.sharding import NamedSharding, PartitionSpec as P
mesh = arrax.make_mesh((2,), ("i",))
@arrax.jit
def g(x, y): return x + y
for spec in (P("i"), P(None, "i")):
    g(arrax.device_put(jnp.ones((2, 2)), NamedSharding(mesh, P())), arrax.device_put(jnp.ones((2, 2)), NamedSharding(mesh, spec)))
(history,) = [one for one in arrax.debug.recompiles().functions if one.function.startswith("g ")]
change, = history.changes[1].changed
assert change.startswith("sharding of y: now NamedSharding(") and "Where y lies keeps changing" in history.advice, change
"""
    done = run_python(code, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert done.returncode == 0, done.stderr


def test_functions_that_are_defined_anew_are_one():
    for _ in range(3):
        arrax.jit(lambda x: x * 7.25)(1.0)
    kept = [arrax.jit(lambda x: x * 7.5) for _ in range(2)]
    for function in kept:
        function(1.0)
    first, second = recompiles().functions
    if len(first.changes) == 2:
        first, second = second, first
    assert (first.traces, second.traces) == (3, 2)
    assert "another function object of this definition" in first.changes[2].changed[0]
    assert second.changes[1].changed == ("another function object of this definition",)
    assert "define it once, outside of the loop" in first.advice
    assert first.changes[2].source == "memory" and first.by_compiler <= 1


def test_wrapped_functions_are_apart_from_what_they_wrap():
    def f(x):
        return x * x

    arrax.jit(f)(1.0)
    arrax.jit(arrax.grad(f))(1.0)
    assert [one.traces for one in recompiles(everything=True).functions if one.function.startswith("f ")] == [1, 1]


def test_library_functions_count_where_users_call_them():
    config_count = 3
    for length in range(1, 1 + config_count):
        jnp.cumsum(jnp.ones(length + 40))

    @arrax.jit
    def f(x):
        return jnp.cumsum(x)

    f(jnp.ones(60))
    names = {one.function: one.traces for one in recompiles().functions}
    assert names.get("arrax.numpy.cumsum", config_count) == config_count


def test_cleared_caches_are_told():
    @arrax.jit
    def f(x):
        return x * 2

    f(1.0)
    arrax.clear_caches()
    f(1.0)
    history = history_of("f")
    assert history.compilations == 2 and len(history.changes) == 2


def warned_by(call, times, **options):
    with warnings.catch_warnings(record=True) as caught, config.recompilation_seconds(0.0):
        warnings.simplefilter("always")
        for number in range(times):
            call(number)
    return [one for one in caught if issubclass(one.category, RecompilationWarning)]


def test_the_eleventh_recompilation_warns_once_at_the_users_line_with_a_remedy():
    @arrax.jit
    def lengths(x):
        return x + 1

    assert warned_by(lambda n: lengths(jnp.ones(n + 1)), 11) == []
    (warning,) = warned_by(lambda n: lengths(jnp.ones(n + 101)), 5)
    assert warning.filename == __file__
    text = str(warning.message)
    assert "lengths at" in text and "compiled 12 times" in text and "shape of x keeps changing: pad it" in text


REMEDIES = {
    "static": (lambda: arrax.jit(lambda x, n: x * n, static_argnums=1), lambda f, n: f(1.0, n), "static argument n"),
    "keyword": (
        lambda: arrax.jit(lambda x, n: x * n, static_argnames="n"),
        lambda f, n: f(1.0, n=n),
        "argument n keeps",
    ),
    "tree": (lambda: arrax.jit(lambda x: x), lambda f, n: f([1.0] * (n + 1)), "structure of (args, kwargs)"),
    "new": (lambda: None, lambda f, n: arrax.jit(lambda x: x + 4.5)(1.0), "define it once"),
}


@pytest.mark.parametrize("case", REMEDIES)
def test_the_remedy_follows_from_what_keeps_changing(case):
    make, call, words = REMEDIES[case]
    function = make()
    (warning,) = warned_by(lambda n: call(function, n), 13)
    assert words in str(warning.message)


def test_the_option_turns_warnings_off_or_into_errors():
    def fresh():
        return arrax.jit(lambda x: x - 1)

    with config.recompilation_warnings("off"):
        function = fresh()
        assert warned_by(lambda n: function(jnp.ones(n + 1)), 14) == []
    recompiles(clear=True)
    with config.recompilation_warnings("error"), config.recompilation_count(3), config.recompilation_seconds(0.0):
        function = fresh()
        for n in range(1, 5):
            function(jnp.ones(n))
        with pytest.raises(RecompilationError, match="compiled 5 times"):
            function(jnp.ones(5))
        assert function(jnp.ones(2)).shape == (2,)  # what is compiled goes on
        with pytest.raises(RecompilationError):
            function(jnp.ones(6))


def test_little_time_is_not_worth_a_warning():
    function = arrax.jit(lambda x: x - 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with config.recompilation_seconds(1000.0):
            for n in range(1, 14):
                function(jnp.ones(n))


def test_static_values_are_not_kept_alive():
    import gc
    import weakref

    class Model:
        pass

    model = Model()
    reference = weakref.ref(model)
    arrax.jit(lambda x, m: x, static_argnums=1)(1.0, model)
    assert history_of("<lambda>").traces == 1
    del model
    gc.collect()
    assert reference() is None


def test_reports_are_texts_dictionaries_and_empty_at_first(capsys):
    assert str(recompiles()) == "Nothing was compiled."
    function = arrax.jit(lambda x: x - 3)
    for n in range(1, 16):
        function(jnp.ones(n))
    report = recompiles()
    text = str(report)
    assert "compiled 15 times" in text and "… 3 earlier ones" in text and "pad it" in text
    report.show()
    assert capsys.readouterr().out == f"{text}\n"
    back = json.loads(json.dumps(report.to_dict()))
    assert back["functions"][0]["compilations"] == 15
    assert recompiles(clear=True).functions and not recompiles().functions


def test_repeated_calls_do_not_enter_python():
    function = arrax.jit(lambda x: x - 4)
    x = jnp.ones(3)
    for _ in range(3):
        function(x)
    entered = []
    sys.setprofile(lambda frame, event, arg: entered.append(frame.f_code.co_name) if event == "call" else None)
    try:
        for _ in range(5):
            function(x)
    finally:
        sys.setprofile(None)
    assert entered == []


def test_lengths_given_to_library_functions_are_no_arrays():
    for length in range(1, 4):
        jnp.linspace(0.0, jnp.float32(1.0), length + 70)
    listed = [one for one in recompiles().functions if one.function == "arrax.numpy.linspace"]
    assert all("is another program" in one.advice for one in listed)


def test_of_many_changes_the_latest_are_kept():
    function = arrax.jit(lambda x: x - 5)
    for length in range(1, 41):
        function(jnp.ones(length))
    history = history_of("<lambda>")
    assert history.compilations == 40 and 20 < len(history.changes) < 40
    assert all(change.changed for change in history.changes)
    assert history.changes[-1].changed == ("type of x: now f32[40], before f32[39]",)
