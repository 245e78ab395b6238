"""What stays in memory of functions that are gone, and what ``clear_caches`` forgets."""

import contextlib
import gc
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.config import memory_cache_max_size
from arrax.lax.control_flow import staged_functions
from arrax.lax.static_slicing import slice_p
from arrax.transforms.tracing import traces
from arrax.xla import compilation
from arrax.xla.compilation import ExecutableCache, executables

X = jnp.ones(3)


class Model:
    def step(self, x):
        return x * 3.125


def fresh_function():
    arrax.jit(lambda x: x * 3.125)(X)


def fresh_method():
    arrax.jit(Model().step)(X)


def fresh_stages():
    arrax.jit(lambda x: x * 3.125).lower(X).compile()(X)


def fresh_transformation():
    arrax.grad(arrax.jit(lambda x: (x * 3.125).sum()))(X)


def fresh_loop():
    lax.scan(lambda c, x: (c * 3.125, x), 1.0, X)


def kept():
    gc.collect()
    return len(traces.by_function), len(staged_functions._stores), len(executables.entries), len(executables.compiling)


@pytest.mark.parametrize(
    "make, count",
    [(fresh_function, 3000), (fresh_method, 1000), (fresh_stages, 200), (fresh_transformation, 200), (fresh_loop, 200)],
)
def test_fresh_functions_leave_nothing_behind(make, count):
    make()
    before = kept()
    for _ in range(count):
        make()
    assert kept() == before


def test_executables_are_kept_up_to_a_size():
    references = []
    with memory_cache_max_size(500_000):
        for n in range(12):
            compiled = arrax.jit(lambda x, n=n: x * 3.125 - float(n)).lower(X).compile()
            references.append(weakref.ref(compiled))
            assert executables.size <= 500_000
        assert 0 < len(executables.entries) <= 3
        gc.collect()
        assert sum(reference() is not None for reference in references) == 1
        np.testing.assert_array_equal(compiled(X), 3.125 * np.ones(3) - 11)


class Executable(NamedTuple):
    name: str
    client: str = "client"


def test_the_least_recently_used_executables_are_dropped_first():
    cache = ExecutableCache()
    with memory_cache_max_size(100):
        for key in (b"a", b"b", b"c"):
            cache.put(key, Executable(key.decode()), 40)
        assert list(cache.entries) == [b"b", b"c"] and cache.size == 80
        assert cache.get(b"b", "client") == Executable("b")
        assert cache.get(b"b", "another client") is None
        cache.put(b"d", Executable("d"), 40)
        assert cache.get(b"c", "client") is None and list(cache.entries) == [b"b", b"d"]
        cache.put(b"d", Executable("other"), 60)
        assert cache.size == 100 and cache.get(b"d", "client") == Executable("other")
        cache.put(b"large", Executable("large"), 101)
        assert cache.size == 0 and not cache.entries
    with memory_cache_max_size(-1):
        cache.put(b"large", Executable("large"), 1 << 60)
        assert cache.get(b"large", "client") == Executable("large")
    cache.clear()
    assert cache.size == 0 and cache.get(b"large", "client") is None


def test_failed_compilations_leave_no_lock():
    before = len(executables.compiling)
    with pytest.raises(RuntimeError):
        arrax.jit(lambda x: x + 1, compiler_options={"xla_no_such_option": True})(X)
    assert len(executables.compiling) == before == 0


def test_operations_with_many_parameters_keep_some_of_their_programs(monkeypatch):
    monkeypatch.setattr("arrax.interpreters.evaluation._OPERATIONS_PER_PRIMITIVE", 4)
    slice_p.compiled.clear()
    x = jnp.arange(50.0)
    for start in (*range(8), 0, 7):
        np.testing.assert_array_equal(lax.slice(x, (start,), (start + 40,)), np.arange(start, start + 40.0))
    assert len(slice_p.compiled) == 4


def test_clear_caches_forgets_traces_programs_and_operations():
    traced = []

    @arrax.jit
    def f(x):
        traced.append(x)
        return lax.scan(lambda c, y: (c + y, c), 0.0, x)

    f(X), lax.slice(jnp.arange(50.0), (3,), (45,)), fresh_loop()
    assert executables.entries and slice_p.compiled and staged_functions._programs
    arrax.clear_caches()
    assert not executables.entries and executables.size == 0 and not slice_p.compiled
    assert not staged_functions._programs and not any(map(len, staged_functions._stores.values()))
    assert not any(map(len, traces.by_function.values()))
    f(X)
    assert len(traced) == 2


def scoped(*scopes):
    def f(x):
        with contextlib.ExitStack() as stack:
            for scope in scopes:
                stack.enter_context(arrax.named_scope(scope))
            return jnp.sin(x) * 3.25

    return f


def test_functions_that_share_a_program_keep_their_names(monkeypatch):
    monkeypatch.setattr(compilation, "disk_store", lambda: None)  # where the program may be another function's
    plain, inside = scoped(), scoped("mine")
    compiled = [arrax.jit(f).lower(X).compile() for f in (plain, inside)]
    assert compiled[0].runtime_executable() is compiled[1].runtime_executable()
    assert ["mine/sin" in one.as_text() for one in compiled] == [False, True]
    assert any("mine" in one.operation for one in arrax.debug.explain(inside)(X).largest)
    made = []
    monkeypatch.setattr(compilation, "_compile", lambda *args: made.append(args))
    arrax.jit(plain)(X)
    assert "f)/sin" in arrax.jit(plain).lower(X).compile().as_text() and not made  # it was compiled for this function


def test_a_program_of_the_disk_has_the_names_of_its_function(tmp_path, monkeypatch):
    monkeypatch.setattr(compilation, "disk_store", lambda: store)
    store = compilation.DiskStore(str(tmp_path), 1 << 20)
    texts = []
    for name in ("one", "one", "two"):
        compilation.clear_memory()
        texts.append(arrax.jit(scoped(name)).lower(X).compile().as_text())
        assert compilation.latest.source == ("disk" if len(texts) == 2 else "compiler")  # only names that are not there
    assert ["one/sin" in text for text in texts] == [True, True, False] and "two/sin" in texts[2]
