"""Profiles: what is written, what annotations are found in it, the server, memory, and wrong uses."""

import gzip
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

import arrax
import arrax.numpy as jnp
from arrax import collect_profile, profiler
from arrax.xla import profiling, trace_page
from arrax.xla.profile_requests import request_trace


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


@pytest.fixture
def busy_server():
    """The port of a profiler server of this process, which computes meanwhile."""
    arrax.clear_caches()  # a trace describes every program that the process has compiled
    port, over = free_port(), threading.Event()

    def compute():
        while not over.is_set():
            work(jnp.arange(3.0))

    profiler.start_server(port)
    worker = threading.Thread(target=compute)
    worker.start()
    yield str(port)
    over.set()
    worker.join()
    profiler.stop_server()


def test_a_trace_of_another_process_is_collected(busy_server, tmp_path, capsys):
    quiet = ["--python_tracer_level", "0", "--no_perfetto_link"]
    for milliseconds in (50, 500, 5000):  # a busy machine may run nothing of this process for a while
        folder = tmp_path / str(milliseconds)
        assert collect_profile.main([busy_server, str(milliseconds), "--log_dir", str(folder), *quiet]) == 0
        assert capsys.readouterr().out == f"The trace is in {folder}\n"
        if "work" in events(folder):
            break
    else:
        pytest.fail("no trace shows the program that runs all the time")
    assert list(folder.glob("plugins/profile/*/*.trace.json.gz"))
    assert collect_profile.main([busy_server, "20", *quiet]) == 0
    folder = pathlib.Path(capsys.readouterr().out.split()[-1])
    assert list(folder.glob("plugins/profile/*/*.xplane.pb"))
    shutil.rmtree(folder)


def test_a_collected_trace_is_offered_to_the_viewer(busy_server, tmp_path, monkeypatch):
    offered = []
    monkeypatch.setattr(profiling, "serve_once", offered.append)
    assert collect_profile.main([busy_server, "20", "--log_dir", str(tmp_path)]) == 0
    assert [path.name for path in offered] == ["perfetto_trace.json.gz"]


def test_what_fails_is_said_on_standard_error(capsys):
    port = free_port()
    assert collect_profile.main([str(port), "10"]) == 1
    assert f"no profiler server answers at 127.0.0.1:{port}" in capsys.readouterr().err
    assert collect_profile.main([str(port), "0"]) == 1
    assert "duration_in_ms must be positive, got 0" in capsys.readouterr().err
    done = subprocess.run([sys.executable, "-m", "arrax.collect_profile", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "duration_in_ms" in done.stdout and "--no_perfetto_link" in done.stdout


def test_answers_of_a_server_that_fails(tmp_path):
    """A server that speaks the protocol and refuses."""
    trailers = b"@\x0bgrpc-status\x0212@\x0cgrpc-message\x04oops"
    answers = {  # frames: length, type, flags, stream, payload
        len(trailers).to_bytes(3, "big") + b"\x01\x05\x00\x00\x00\x01" + trailers: (RuntimeError, "failed: 12: oops"),
        b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x02": (OSError, "has ended the call"),
        b"": (OSError, "has closed the connection"),
    }
    for answer, (kind, text) in answers.items():
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def serve(listener=listener, answer=answer):
                connection, _ = listener.accept()
                connection.recv(4096)
                connection.sendall(answer)
                connection.close()

            thread = threading.Thread(target=serve)
            thread.start()
            with pytest.raises(kind, match=text):
                request_trace("127.0.0.1", listener.getsockname()[1], 1, str(tmp_path), "s", (2, 1, 1))
            thread.join()


def test_memory_profiles_are_gzipped(tmp_path):
    kept = arrax.device_put(jnp.ones((1000, 10)))
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert b"cpu" in gzip.decompress((tmp_path / "memory.prof").read_bytes()).lower()
    assert profiler.device_memory_profile("cpu")[:2] == b"\x1f\x8b"
    assert kept.shape == (1000, 10)


def test_a_trace_that_cannot_be_written_is_ended_with_an_error(tmp_path):
    profiler.start_trace(tmp_path / "trace")
    (tmp_path / "trace").rmdir()
    (tmp_path / "trace").write_text("in the way")
    with pytest.raises(OSError, match="stop_trace: the trace cannot be written to"):
        profiler.stop_trace()
    with profiler.trace(tmp_path / "another"):
        pass


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: profiler.start_trace(3), TypeError, "start_trace: log_dir must be a path, got 3"),
        (lambda: profiler.start_trace("x", profiler_options=3), TypeError, "must be a ProfileOptions, got 3"),
        (lambda: profiler.save_device_memory_profile(3), TypeError, "filename must be a path, got 3"),
        (lambda: profiler.start_server("9012"), TypeError, "port must be an integer, got '9012'"),
        (lambda: profiler.start_server(70000), ValueError, "port must be from 0 to 65535, got 70000"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()


def test_a_port_that_is_taken_is_refused():
    with socket.socket() as listener:
        listener.bind(("", 0))
        listener.listen()
        with pytest.raises(OSError, match="start_server: cannot listen on port"):
            profiler.start_server(listener.getsockname()[1])
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()


def test_annotations_want_a_function():
    with pytest.raises(TypeError, match="callable"):
        profiler.annotate_function(3)
    assert work.__name__ == "work"
