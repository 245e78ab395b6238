"""Reports of compiled functions say what is known otherwise."""

import inspect
import json
import os
import sys

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.core import config
from arrax.debug import Explanation, explain
from tests.support import run_python


@pytest.fixture(autouse=True)
def without_stored_programs():
    """A program that is found again on disk has the lines of the file that it was compiled from first."""
    with config.enable_compilation_cache(False):
        yield


FILE = __file__


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def product(a, b):
    return jnp.tanh(a @ b)  # the product


def test_a_report_counts_work_and_memory():
    report = explain(product)(jnp.ones((64, 128)), jnp.ones((128, 32)))
    assert isinstance(report, Explanation)
    assert report.arguments == {"a": "f32[64,128]", "b": "f32[128,32]"}
    assert (report.function, report.platform, report.devices) == ("product", "cpu", 1)
    assert 2 * 64 * 128 * 32 <= report.work.flops < 2.1 * 64 * 128 * 32
    assert report.work.transcendentals == 64 * 32
    assert report.memory.arguments == 4 * (64 * 128 + 128 * 32) and report.memory.results == 4 * 64 * 32
    assert report.memory.peak >= report.memory.arguments + report.memory.results
    assert report.equations == 2 and report.instructions > 3


def scanned(a, n):
    return arrax.lax.scan(lambda c, _: (jnp.tanh(c @ a), None), a, None, length=n)[0]


# fmt: off
LOOPED = {  # a function of a matrix, how many products it takes, and how many loops nobody knows the turns of
    "scan":        (lambda a: scanned(a, 50), 50, 0),
    "nested":      (lambda a: arrax.lax.fori_loop(0, 7, lambda i, c: scanned(c, 5) @ a, a), 42, 0),
    "gradient":    (arrax.grad(lambda a: scanned(a, 10).sum()), 29, 0),
    "branch":      (lambda a: arrax.lax.cond(a[0, 0] > 0, lambda: scanned(a, 9), lambda: a), 9, 0),
    "no number":   (lambda a: arrax.lax.while_loop(lambda c: c[0, 0] < 9, lambda c: jnp.tanh(c @ a), a), 1, 1),
    "in a number": (lambda a: arrax.lax.fori_loop(0, 4, lambda i, c: arrax.lax.while_loop(
        lambda c: c[0, 0] < 9, lambda c: jnp.tanh(c @ a), c), a), 4, 1),
}
# fmt: on


@pytest.mark.parametrize("name", LOOPED)
def test_work_counts_all_turns_of_loops(name):
    fun, products, uncounted = LOOPED[name]
    report = explain(fun)(jnp.ones((48, 48)))
    assert report.work.flops == pytest.approx(products * 2 * 48**3, rel=0.15)
    assert report.work.uncounted_loops == uncounted and ("one turn of a loop" in str(report)) == bool(uncounted)


def test_the_least_time_follows_from_the_pace_of_the_device():
    work = explain(product)(jnp.ones((64, 128)), jnp.ones((128, 32))).work
    times = work.flops / work.peak_flops_per_second, work.bytes_accessed / work.peak_bytes_per_second
    assert work.least_seconds == pytest.approx(max(times)) and 0 < work.least_seconds < 1
    assert work.bound == ("computing" if times[0] > times[1] else "memory")


def test_the_largest_values_have_names_and_lines():
    def f(x):
        with arrax.named_scope("wide"):
            wide = jnp.sin(x)[:, None] @ jnp.cos(x)[None, :]  # made here
        return jnp.sin(wide) @ wide

    report = explain(f)(jnp.ones(300))
    assert [place.bytes for place in report.largest] == sorted((place.bytes for place in report.largest), reverse=True)
    assert report.largest[0].bytes == 4 * 300 * 300
    made = [place for place in report.largest if "wide/dot_general" in place.operation]
    assert made and all(place.line == f"{FILE}:{line_of(f, 'made here')} (f)" for place in made)


def test_loops_count_what_is_alive_inside():
    def f(x):
        return arrax.lax.fori_loop(0, 3, lambda i, y: jnp.sin(y @ y.T) @ y, x)

    report = explain(f)(jnp.ones((256, 4)))
    assert report.largest[0].bytes == 4 * 256 * 256 and "while/body" in report.largest[0].operation


def test_times_say_what_was_found():
    def fresh(x):
        return jnp.arctan(x) * 0.123

    with config.enable_compilation_cache(False):
        first = explain(fresh)(jnp.ones(3)).times
        assert (first.traced, first.compiled_by, first.run) == (True, "compiler", None)
        again = explain(arrax.jit(fresh))(jnp.ones(3)).times
        assert (again.traced, again.compiled_by) == (False, "memory")
    assert min(first.trace, first.lower, first.compile) > 0


def test_programs_are_found_on_disk(tmp_path):
    folder, at_once = config.compilation_cache_dir(str(tmp_path)), config.persistent_cache_min_compile_time_secs(0.0)
    with config.enable_compilation_cache(True), folder, at_once:
        assert explain(lambda x: jnp.arctan(x) * 0.125)(jnp.ones(3)).times.compiled_by == "compiler"
        arrax.clear_caches()
        assert explain(lambda x: jnp.arctan(x) * 0.125)(jnp.ones(3)).times.compiled_by == "disk"


def test_running_measures_calls_and_is_not_done_unasked():
    calls = []

    def f(x):
        arrax.debug.callback(lambda y: calls.append(float(y)), x)
        return x

    explain(f)(1.0)
    arrax.effects_barrier()
    assert calls == []
    report = explain(f, run=True)(2.0)
    arrax.effects_barrier()
    assert len(calls) >= 3 and report.times.run > 0 and "run " in str(report)


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_donated_arguments_are_listed_with_their_results():
    f = arrax.jit(lambda x, y, z: (y.sum(), x + 1.0, z[:2]), donate_argnums=(0, 2))
    report = explain(f)(jnp.ones((8, 4)), jnp.ones(3), jnp.ones(5))
    assert [(one.argument, one.bytes, one.result) for one in report.donations] == [("x", 128, 1), ("z", 20, None)]
    assert "result 1" in str(report) and "which no result is like" in str(report)


def test_large_constants_are_listed():
    large, small = jnp.ones((600, 600)), jnp.ones((100, 100))

    def f(x):
        return (large @ x).sum() + small.sum()  # closed over

    report = explain(f)(jnp.ones(600))
    (constant,) = report.constants
    assert (constant.bytes, constant.type) == (600 * 600 * 4, "f32[600,600]")
    assert constant.line == f"{FILE}:{line_of(f, 'closed over')} (f)"


@pytest.mark.parametrize("ordered", [False, True])
def test_calls_of_python_are_listed_with_function_bytes_and_line(ordered):
    def doubled(x):
        return 2 * np.asarray(x)

    def f(x):
        x = arrax.lax.map(lambda y: arrax.pure_callback(doubled, y, y), x)  # calls
        arrax.debug.print("x = {}", x, ordered=ordered)
        return x

    calls = explain(f)(jnp.ones(3)).host_calls
    assert [(call.what, call.type, call.bytes) for call in calls] == [
        ("pure_callback", "doubled", 4),
        ("debug.print", "", 12),
    ]
    assert f"{FILE}:{line_of(f, 'calls')} " in calls[0].line


def test_bars_of_loops_are_listed_among_the_calls_of_python():
    def f(n):
        body = arrax.debug.progress(lambda i, x: x + i, "adding", show=lambda x: {"x": x})
        return arrax.lax.fori_loop(0, n, body, 0.0)  # the loop

    (call,) = explain(f)(9).host_calls
    assert (call.what, call.type, call.bytes) == ("debug.progress", "adding", 4)
    assert f"{FILE}:{line_of(f, 'the loop')} (f)" in call.line


def test_communication_is_listed():
    code = """
import arrax, arrax.numpy as jnp
from arrax.sharding import NamedSharding, PartitionSpec as P
mesh = arrax.make_mesh((4,), ("i",))
f = arrax.jit(lambda x: jnp.sin(x @ x.T).sum(), in_shardings=NamedSharding(mesh, P("i")))
report = arrax.debug.explain(f)(jnp.ones((64, 64)))
assert report.devices == 4 and "4 devices" in str(report)
kinds = {one.what.removesuffix("-start"): one for one in report.collectives}
assert kinds["all-reduce"].bytes == 4 and kinds["all-gather"].bytes == 64 * 64 * 4, kinds
assert kinds["all-gather"].operation.startswith("jit(<lambda>)/")
"""
    done = run_python(code, XLA_FLAGS="--xla_force_host_platform_device_count=4")
    assert done.returncode == 0, done.stderr


def test_the_dictionary_is_what_json_takes():
    report = explain(product)(jnp.ones((3, 4)), jnp.ones((4, 3)))
    back = json.loads(json.dumps(report.to_dict()))
    assert back["work"]["flops"] == report.work.flops and back["largest"][0]["bytes"] == report.largest[0].bytes


def test_texts_are_plain_in_pipes_and_coloured_in_terminals(capsys, monkeypatch):
    report = explain(product)(jnp.ones((3, 4)), jnp.ones((4, 3)))
    report.show()
    assert capsys.readouterr().out == f"{report}\n" and "\x1b" not in str(report)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    report.show()
    assert "\x1b[36mmemory" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    report.show()
    assert "\x1b" not in capsys.readouterr().out


def test_rich_prints_reports():
    rich_console = pytest.importorskip("rich.console")
    report = explain(product)(jnp.ones((3, 4)), jnp.ones((4, 3)))
    with open(os.devnull, "w") as nowhere:
        console = rich_console.Console(file=nowhere, width=200, record=True)
        console.print(report)
    assert console.export_text().rstrip() == str(report)


def test_static_arguments_methods_and_errors():
    f = arrax.jit(lambda x, n: x * n, static_argnums=1)
    assert explain(f)(jnp.ones(3), 2).arguments == {"x": "f32[3]"}
    with pytest.raises(TypeError, match="explain: argument fun: must be callable"):
        explain(3)
    with pytest.raises(TypeError, match="explain: give the function, not what was compiled"):
        explain(f.lower(1.0, 2).compile())
    with pytest.raises(TypeError, match="text"):
        explain(f)("text", 2)
    with pytest.raises(ZeroDivisionError):
        explain(lambda x: 1 / 0)(1.0)


def test_long_lists_of_arguments_are_cut_in_the_text_only():
    report = explain(lambda xs: sum(xs))([1.0] * 9)
    assert report.title().endswith("xs[5]: f32[], … 3 more) on cpu") and len(report.arguments) == 9


def test_notebooks_show_reports():
    shown = explain(lambda x: x < 1)(jnp.ones(3))._repr_html_()
    assert shown.startswith("<pre") and "&lt;lambda&gt;(x: f32[3])" in shown and "<lambda>" not in shown
