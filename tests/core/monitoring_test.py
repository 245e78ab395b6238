"""Listeners: who is told what, and what compiling and the cache on disk record."""

import pytest

import arrax
import arrax.numpy as jnp
from arrax import monitoring
from arrax.core import config

KINDS = [
    ("event", monitoring.record_event, monitoring.register_event_listener, monitoring.unregister_event_listener, ()),
    (
        "duration", monitoring.record_event_duration_secs, monitoring.register_event_duration_secs_listener,
        monitoring.unregister_event_duration_listener, (1.5,),
    ),
    (
        "span", monitoring.record_event_time_span, monitoring.register_event_time_span_listener,
        monitoring.unregister_event_time_span_listener, (1.0, 2.5),
    ),
    ("scalar", monitoring.record_scalar, monitoring.register_scalar_listener, monitoring.unregister_scalar_listener, (7,)),
]  # fmt: skip


@pytest.fixture
def heard():
    log = []
    for name, _, register, _, _ in KINDS:
        register(lambda *args, _name=name, **about: log.append((_name, *args, about)))
    yield log
    monitoring.clear_event_listeners()


def test_each_kind_of_event_has_its_own_listeners(heard):
    for name, record, _, _, values in KINDS:
        record("/own/event", *values, team="a")
        assert heard == [(name, "/own/event", *values, {"team": "a"})]
        heard.clear()
    monitoring.clear_event_listeners()
    monitoring.record_event("/own/event")
    assert heard == []


@pytest.mark.parametrize(("record", "register", "unregister", "values"), [kind[1:] for kind in KINDS])
def test_listeners_come_and_go(record, register, unregister, values):
    log = []
    listen = lambda *args, **about: log.append(args)  # noqa: E731
    register(listen)
    record("/own/event", *values)
    unregister(listen)
    record("/own/event", *values)
    assert log == [("/own/event", *values)]
    with pytest.raises(ValueError, match="is not registered"):
        unregister(listen)
    with pytest.raises(TypeError, match="callable"):
        register(3)


def test_compiling_and_the_cache_on_disk_are_recorded(heard, tmp_path):
    def fresh():
        return arrax.jit(lambda x: jnp.cos(x) * 0.31 + 4.7)

    folder, least = config.compilation_cache_dir.value, config.persistent_cache_min_compile_time_secs.value
    size = config.persistent_cache_min_entry_size_bytes.value
    arrax.config.update("jax_compilation_cache_dir", str(tmp_path))
    arrax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    arrax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    try:
        fresh()(1.0)
        first, heard[:] = list(heard), []
        arrax.clear_caches()
        fresh()(1.0)
    finally:
        arrax.config.update("jax_compilation_cache_dir", folder)
        arrax.config.update("jax_persistent_cache_min_compile_time_secs", least)
        arrax.config.update("jax_persistent_cache_min_entry_size_bytes", size)
    steps = ["jaxpr_trace", "jaxpr_to_mlir_module", "backend_compile"]
    for log in (first, heard):
        durations = [entry for entry in log if entry[0] == "duration" and "/core/compile/" in entry[1]]
        assert {entry[1] for entry in durations} >= {f"/jax/core/compile/{step}_duration" for step in steps}
        assert all(entry[2] >= 0 and "fun_name" in entry[3] for entry in durations)
        assert all(entry[3] >= entry[2] for entry in log if entry[0] == "span")
    assert ("event", "/jax/compilation_cache/cache_misses", {}) in first
    assert ("event", "/jax/compilation_cache/cache_hits", {}) in heard
    assert ("event", "/jax/compilation_cache/cache_misses", {}) not in heard
