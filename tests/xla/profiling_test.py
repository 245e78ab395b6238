"""Profiles: what is written, what annotations are found in it, the server, memory, and wrong uses."""

import gzip
import json
import socket
import threading
import time
import urllib.request

import pytest

import arrax
import arrax.numpy as jnp
from arrax import profiler
from arrax.xla import trace_page


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@profiler.annotate_function
def work(x):
    return jnp.sin(x).block_until_ready()


def events(folder):
    (written,) = folder.glob("plugins/profile/*/*.xplane.pb")
    data = profiler.ProfileData.from_serialized_xspace(written.read_bytes())
    return {event.name: dict(event.stats) for plane in data.planes for line in plane.lines for event in line.events}


def test_a_trace_shows_annotations_and_is_written_for_viewers(tmp_path):
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    with profiler.trace(tmp_path, create_perfetto_trace=True, profiler_options=options):
        with profiler.TraceAnnotation("load", rows=10), profiler.StepTraceAnnotation("train", step_num=3):
            work(jnp.arange(3.0))
        profiler.annotate_function(work, name="renamed", kind="w")(jnp.arange(3.0))
    found = events(tmp_path)
    assert {"load", "train", "work", "renamed"} <= found.keys()
    assert int(found["load"]["rows"]) == 10
    assert int(found["train"]["step_num"]) == 3
    (perfetto,) = tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz")
    names = {event.get("name") for event in json.loads(gzip.decompress(perfetto.read_bytes()))["traceEvents"]}
    assert "load" in names


def test_one_trace_runs_at_a_time(tmp_path):
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    with pytest.raises(ZeroDivisionError), profiler.trace(tmp_path / "new" / "folder"):
        with pytest.raises(RuntimeError, match="already been started"):
            profiler.start_trace(tmp_path)
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()  # the block has ended it
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        profiler.start_trace(tmp_path / "file")


def test_a_link_serves_the_trace_until_it_is_fetched(tmp_path, monkeypatch, capsys):
    port = free_port()
    monkeypatch.setattr(trace_page, "PORT", port)
    (tmp_path / "perfetto_trace.json.gz").write_bytes(b"trace")
    serving = threading.Thread(target=trace_page.serve_once, args=(tmp_path / "perfetto_trace.json.gz",))
    serving.start()
    url, deadline = f"http://127.0.0.1:{port}/perfetto_trace.json.gz", time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                assert answer.read() == b"trace"
                assert answer.headers["Access-Control-Allow-Origin"] == "*"
            break
        except OSError:
            assert time.monotonic() < deadline
    serving.join(20)
    assert not serving.is_alive()
    assert f"https://ui.perfetto.dev/#!/?url={url}" in capsys.readouterr().out


def test_one_server_runs_at_a_time():
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()
    port = free_port()
    assert profiler.start_server(port) is not None
    with socket.create_connection(("127.0.0.1", port), 5):
        pass
    with pytest.raises(ValueError, match="Only one profiler server"):
        profiler.start_server(port)
    profiler.stop_server()


def test_memory_profiles_are_gzipped(tmp_path):
    kept = arrax.device_put(jnp.ones((1000, 10)))
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert b"cpu" in gzip.decompress((tmp_path / "memory.prof").read_bytes()).lower()
    assert profiler.device_memory_profile("cpu")[:2] == b"\x1f\x8b"
    assert kept.shape == (1000, 10)


def test_annotations_want_a_function():
    with pytest.raises(TypeError, match="callable"):
        profiler.annotate_function(3)
    assert work.__name__ == "work"
