"""The profiler: traces of what runs when, annotations in them, and what takes memory."""

from __future__ import annotations

import functools
import gzip
import os
import shutil
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arrax.core.calls import as_index, check_callable
from arrax.core.errors import JaxRuntimeError
from arrax.native import profiler
from arrax.xla.devices import client_of
from arrax.xla.profile_requests import request_trace
from arrax.xla.trace_page import serve_once

ProfileData, ProfileEvent, ProfilePlane = profiler.ProfileData, profiler.ProfileEvent, profiler.ProfilePlane
ProfileOptions = profiler.ProfileOptions


class _Recording:
    """The one trace and the one server of the process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: Any = None
        self.folder = Path()
        self.link = self.perfetto = False
        self.server: Any = None


_recording = _Recording()


def start_trace(
    log_dir: os.PathLike | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Begin to record what runs when, on the host and on devices.

    Args:
      log_dir: folder that the trace is written to, under ``plugins/profile``, for TensorBoard and XProf.
      create_perfetto_link: print a link that shows the trace in a browser when it stops, and wait until it is opened.
      create_perfetto_trace: write ``perfetto_trace.json.gz`` too, for ui.perfetto.dev.
      profiler_options: a ``ProfileOptions``: what to record.
    Raises:
      RuntimeError: a trace has been started already.
      OSError: the folder cannot be made.
      TypeError: not a path, or not ``ProfileOptions``.
    Example: ``start_trace(tempfile.mkdtemp()); jnp.sin(x).block_until_ready(); stop_trace()``.
    """
    with _recording.lock:
        if _recording.session is not None:
            raise RuntimeError("Profile has already been started. Only one profile may be run at a time.")
        folder = _path("start_trace", "log_dir", log_dir)
        if not isinstance(profiler_options, ProfileOptions | None):
            raise TypeError(f"start_trace: profiler_options must be a ProfileOptions, got {profiler_options!r}")
        folder.mkdir(parents=True, exist_ok=True)
        client_of()  # so that it sees the devices
        options = () if profiler_options is None else (profiler_options,)
        _recording.session = profiler.ProfilerSession(*options)
        _recording.folder, _recording.link = folder, create_perfetto_link
        _recording.perfetto = create_perfetto_trace or create_perfetto_link


def stop_trace() -> None:
    """End the trace and write it.

    Raises:
      RuntimeError: none has been started.
      OSError: it cannot be written.
    Example: ``start_trace(tempfile.mkdtemp()); jnp.sin(x).block_until_ready(); stop_trace()``.
    """
    with _recording.lock:
        if _recording.session is None:
            raise RuntimeError("No profile started")
        session, _recording.session = _recording.session, None
        folder, link, perfetto = _recording.folder, _recording.link, _recording.perfetto
    try:
        session.stop_and_export(str(folder))
    except JaxRuntimeError as error:
        raise OSError(f"stop_trace: the trace cannot be written to {folder}: {error}") from None
    if perfetto:
        written = _write_perfetto(folder)
        if link:
            serve_once(written)


def _path(function: str, argument: str, given: Any) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"{function}: {argument} must be a path, got {given!r}")
    return Path(given)


def _write_perfetto(folder: Path) -> Path:
    """The newest trace of a folder, under the name that the viewer is told."""
    traces = sorted(folder.glob("plugins/profile/*/*.trace.json.gz"), key=lambda path: path.stat().st_mtime_ns)
    if not traces:
        raise OSError(f"stop_trace: no trace was written to {folder}")
    target = traces[-1].parent / "perfetto_trace.json.gz"
    shutil.copyfile(traces[-1], target)
    return target


@contextmanager
def trace(
    log_dir: os.PathLike | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Record what runs in the block; see ``start_trace``.

    Example: ``with trace(tempfile.mkdtemp()): jnp.sin(x).block_until_ready()``.
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation(profiler.TraceMe):
    """Context manager that names a part of a trace of the host.

    Args:
      name: what the trace shows.
      kwargs: more about it, numbers or texts.
    Example: ``with TraceAnnotation("load", rows=4): x + 1``.
    """


class StepTraceAnnotation(TraceAnnotation):
    """Context manager that names a step of a training loop, which tools take together.

    Args:
      name: what the trace shows.
      kwargs: more about it; ``step_num`` numbers the step.
    Example: ``with StepTraceAnnotation("train", step_num=3): x + 1``.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)  # the mark of an event that others belong to


def annotate_function(func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any) -> Callable[..., Any]:
    """A function whose calls have a name in traces.

    Args:
      func: function.
      name: by default the function's own.
      decorator_kwargs: more about it, numbers or texts.
    Example: ``load = annotate_function(jnp.sin, name="load")``.
    """
    check_callable(func)
    shown = name or getattr(func, "__qualname__", None) or getattr(func, "__name__", None) or type(func).__name__

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Let tools such as TensorBoard record traces of this process.

    Args:
      port: TCP port that the server listens on.
      requires_backend: start the devices first, so that they are recorded.
    Returns: the server, which runs until ``stop_server``.
    Raises:
      ValueError: one is running, or there is no such port.
      TypeError: the port is not an integer.
      OSError: something else listens on the port.
    Example: ``start_server(9999); stop_server()``.
    """
    port = _checked_port(port)
    with _recording.lock:
        if _recording.server is not None:
            raise ValueError("Only one profiler server can be active at a time.")
        if requires_backend:
            client_of()
        _recording.server = profiler.start_server(port)
        return _recording.server


def _checked_port(port: Any) -> int:
    try:
        number = as_index(port)
    except TypeError:
        raise TypeError(f"start_server: port must be an integer, got {port!r}") from None
    if not 0 <= number < 1 << 16:
        raise ValueError(f"start_server: port must be from 0 to 65535, got {number}")
    with socket.socket() as probe:  # the server itself would only log that it cannot listen
        for option in (socket.SO_REUSEADDR, getattr(socket, "SO_REUSEPORT", socket.SO_REUSEADDR)):
            probe.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            probe.bind(("", number))
        except OSError as error:
            raise OSError(error.errno, f"start_server: cannot listen on port {number}: {error.strerror}") from None
    return number


def stop_server() -> None:
    """Stop the server.

    Raises:
      ValueError: none is running.
    Example: ``start_server(9999); stop_server()``.
    """
    with _recording.lock:
        if _recording.server is None:
            raise ValueError("No active profiler server.")
        _recording.server = None


def collect_profile(
    port: int, duration_ms: int, host: str, log_dir: os.PathLike | str | None, create_perfetto_link: bool,
    levels: tuple[int, int, int],
) -> None:  # fmt: skip
    """Record a trace of a process whose profiler server listens on a port, and say where it is.

    Args:
      host: the machine of the process. On another one than this it writes the trace there.
      log_dir: folder for the trace; a temporary one for None.
      create_perfetto_link: print a link that shows the trace in a browser, and wait until it is opened.
      levels: of tracing on the host, on devices and of Python.
    Raises:
      ValueError: a duration that is not positive.
      OSError: no server answers, or it has written nothing.
      RuntimeError: the server fails.
    """
    if duration_ms <= 0:
        raise ValueError(f"collect_profile: duration_in_ms must be positive, got {duration_ms}")
    session = time.strftime("%Y_%m_%d_%H_%M_%S")
    # Only a name yet: a request that fails leaves no folder behind.
    folder = Path(tempfile.gettempdir(), f"arrax-profile-{uuid.uuid4().hex}") if log_dir is None else Path(log_dir)
    folder = folder.absolute()
    if not _is_here(host):
        request_trace(host, port, duration_ms, str(folder / "plugins" / "profile"), session, levels)
        print(f"{host} has written the trace to {folder}", flush=True)
        return
    with tempfile.TemporaryDirectory() as written:
        request_trace(host, port, duration_ms, written, session, levels)
        found = next(iter(sorted(Path(written).glob("*/*.xplane.pb"))), None)
        if found is None:
            raise OSError(f"collect_profile: the profiler server at {host}:{port} has written no trace")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        exporter = profiler.ProfilerSession()
        exporter.export(found.read_bytes(), str(folder))
        exporter.stop()
    print(f"The trace is in {folder}", flush=True)
    if create_perfetto_link:
        serve_once(_write_perfetto(folder))


def _is_here(host: str) -> bool:
    return host in ("localhost", "127.0.0.1", "::1", socket.gethostname())


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Have traces of this process also show a process that it started, whose profiler server listens on ``port``.

    Args:
      pid: number of the process.
      port: where its ``arrax.profiler.start_server(port)`` listens.
    Returns: a function that ends it.
    Raises:
      RuntimeError: the process cannot be reached, or this jaxlib cannot do it.
    Example: ``end = arrax.profiler.register_subprocess(process.pid, 9012)`` for a process that began with
    ``arrax.profiler.start_server(9012)``; ``end()`` leaves it out again.
    """
    if profiler.register_subprocess is None:
        raise RuntimeError("register_subprocess: this version of jaxlib cannot record other processes")
    return profiler.register_subprocess(pid, port)


def device_memory_profile(backend: str | None = None) -> bytes:
    """What takes memory on the devices now, as a gzipped profile for ``pprof``.

    Args:
      backend: platform, such as ``"cpu"``; by default the default one.
    Example: ``profile = device_memory_profile()``.
    """
    return gzip.compress(client_of(backend).heap_profile())


def save_device_memory_profile(filename: os.PathLike | str, backend: str | None = None) -> None:
    """Write ``device_memory_profile`` to a file.

    Raises:
      OSError: it cannot be written.
      TypeError: not a path.
    Example: ``save_device_memory_profile(tempfile.mkdtemp() + "/memory.prof")``.
    """
    _path("save_device_memory_profile", "filename", filename).write_bytes(device_memory_profile(backend))
