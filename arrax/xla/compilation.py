"""Compiling modules, each content once: in memory, and on disk between processes.

The key of an executable is everything that its machine code depends on: the program without locations, the compile options,
XLA's flags, the build of jaxlib, the processors' features and number, the platform and the devices.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import platform as host_platform
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax.core import config, monitoring
from arrax.core.caches import cleared_by
from arrax.dtypes.wording import shown
from arrax.native import runtime
from arrax.xla import compat
from arrax.xla.devices import device_list
from arrax.xla.disk_store import DiskStore, default_folder
from arrax.xla.ir_dumps import dump
from arrax.xla.mapped_regions import watch
from arrax.xla.modules import Source, read_apart
from arrax.xla.processors import instruction_sets, usable_processors

logger = logging.getLogger("arrax")
CACHE_FORMAT = 3
_DIGEST_SIZE = hashlib.sha256().digest_size
_BACKEND_COMPILE = "/jax/core/compile/backend_compile_duration"

# How programs for the CPU are compiled (see docs/cpu.md, where the choice is justified by whole programs).
# What is compiled quickly gives the same bits in a third of the time, but code that is slow for large arrays.
SETTINGS: dict[str, Any] = {"xla_backend_optimization_level": 1}
QUICK_SETTINGS: dict[str, Any] = {"xla_backend_optimization_level": 0, **compat.WITHOUT_FUSION_EMITTERS}


def options_for(
    client: runtime.Client, devices: Sequence[Any], quickly: bool, overrides: dict[str, Any] | None = None, num_replicas: int = 1,
    propagated: Sequence[bool] = (),
) -> runtime.CompileOptions:  # fmt: skip
    """Compile options for a use, with the user's ``compiler_options`` above them."""
    on_cpu = client.platform == "cpu"
    options = compat.cpu_compile_options() if on_cpu else runtime.CompileOptions()
    count = len(devices) // num_replicas
    options.num_replicas, options.num_partitions = num_replicas, count
    ids = np.array([device.id for device in devices]).reshape(num_replicas, count)
    options.device_assignment = runtime.DeviceAssignment.create(ids)
    build = options.executable_build_options
    if count > 1:
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = True  # programs say how values lie in its dialect
        build.allow_spmd_sharding_propagation_to_output = list(propagated) or [True]
    settings = {} if not on_cpu else QUICK_SETTINGS if quickly else SETTINGS
    try:
        options.env_option_overrides = list({**settings, **(overrides or {})}.items())
    except TypeError:
        raise TypeError(
            f"compiler_options must be strings, bools or numbers by the names of options, got {shown(overrides)}"
        ) from None
    return options


class ExecutableCache:
    """Executables by content key, up to a size in all; the least recently used are dropped first.

    What functions that are alive have compiled stays with them, so this bounds what is kept for later ones.
    """

    def __init__(self) -> None:
        self.lock, self.size = threading.Lock(), 0
        self.entries: OrderedDict[bytes, tuple[Any, int, bytes]] = OrderedDict()
        self.compiling: dict[bytes, threading.Lock] = {}
        self.hits = self.disk_hits = self.misses = 0

    def get(self, key: bytes, client: runtime.Client) -> runtime.LoadedExecutable | None:
        """The executable of a key for a client, or None."""
        with self.lock:
            found = self.entries.get(key)
            if found is None or found[0].client is not client:  # which is another one once backends were cleared
                return None
            self.entries.move_to_end(key)
            self.hits += 1
            latest.names = found[2]
            return found[0]

    def put(self, key: bytes, executable: runtime.LoadedExecutable, size: int, names: bytes = b"") -> None:
        """Keep an executable of about ``size`` bytes, whose operations have certain names (see ``names_of``)."""
        limit = config.memory_cache_max_size.value
        dropped = []  # whose memory is freed when the lock is free again
        with self.lock:
            self.size += size - self.entries.pop(key, (None, 0, b""))[1]
            self.entries[key] = executable, size, names
            while 0 <= limit < self.size:
                dropped.append(self.entries.popitem(last=False)[1])
                self.size -= dropped[-1][1]

    def clear(self) -> None:
        """Forget all."""
        with self.lock:
            dropped, self.entries, self.size = self.entries, OrderedDict(), 0
        dropped.clear()

    def lock_of(self, key: bytes) -> threading.Lock:
        """The lock under which one content is compiled: several threads compile it once."""
        with self.lock:
            return self.compiling.setdefault(key, threading.Lock())


executables = ExecutableCache()


class _Latest(threading.local):
    """Of the executable that a thread asked for last.

    Attributes:
      source: where it came from: "memory", "disk" or "compiler".
      names: those of its operations: see ``names_of``.
    """

    source = "memory"
    names = b""


latest = _Latest()


@functools.cache
def _machine() -> bytes:
    """What machine code depends on besides the program: jaxlib's build, XLA's flags, the processor."""
    flags = os.environ.get("XLA_FLAGS", "")
    parts = (
        CACHE_FORMAT,
        runtime.jaxlib_build,
        host_platform.machine(),
        instruction_sets(),
        usable_processors(),
        flags,
        os.environ.get("LIBTPU_INIT_ARGS", ""),
    )
    return repr(parts).encode()


def content_key(
    bytecode: bytes, options: runtime.CompileOptions, client: runtime.Client, devices: Sequence[Any]
) -> bytes:
    """The key of an executable: a digest of everything it depends on."""
    digest = hashlib.sha256(_machine())
    where = (client.platform, client.platform_version, [(device.id, device.device_kind) for device in devices])
    for part in (options.SerializeAsString(), repr(where).encode(), bytecode):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


@functools.lru_cache(4)
def _store(folder: str, max_bytes: int) -> DiskStore:
    return DiskStore(folder, max_bytes, raises=lambda: config.raise_persistent_cache_errors.value)


def names_of(module: Source) -> bytes:
    """A digest of a module with the names and lines of its operations, which executables of one content may not share."""
    return _digest(module.full_bytecode())


def _digest(bytecode: bytes) -> bytes:
    return hashlib.sha256(bytecode).digest()


def disk_store() -> DiskStore | None:
    """The store on disk, or None where the settings turn it off."""
    if not config.enable_compilation_cache.value:
        return None
    folder = config.compilation_cache_dir.value or default_folder()
    limit = config.compilation_cache_max_size.value
    return _store(str(folder), sys.maxsize if limit < 0 else limit) if folder else None


def compile_module(
    module: Source,
    devices: Sequence[Any],
    *,
    quickly: bool = False,
    compiler_options: dict[str, Any] | None = None,
    host_callbacks: Sequence[Any] = (),
    name: str = "",
    num_replicas: int = 1,
    storable: bool = True,
    at_once: bool = False,
    propagated: Sequence[bool] = (),
    afresh: bool = False,
) -> runtime.LoadedExecutable:
    """The loaded executable of a module: from memory, from disk, or compiled now.

    Args:
      propagated: for several devices, which outputs the compiler may lay out.
      quickly: whether to compile as quickly as possible, on the CPU.
      at_once: whether calls run the program in their own thread. Otherwise they hand it to a thread of the runtime.
      afresh: compile it now, for the names of its operations, and keep it nowhere.

    Raises:
      RuntimeError: XLA refuses the program (out of memory, unsupported operation, unknown compile option).
    """
    if config.dump_ir_to.value:
        dump(module, name, config.dump_ir_to.value)
    client = devices[0].client
    host_callbacks = _callbacks(host_callbacks, at_once)
    options = options_for(client, devices, quickly, compiler_options, num_replicas, propagated)
    with_places = config.compilation_cache_include_metadata_in_key.value
    bytecode = module.full_bytecode() if with_places else module.plain_bytecode()
    request = _Request(module, devices, options, host_callbacks, name)
    if afresh:
        return _compile(request)
    if host_callbacks and not storable:
        with monitoring.timed(_BACKEND_COMPILE, fun_name=name):
            return _compile(request)
    key = content_key(bytecode, options, client, devices)
    found = executables.get(key, client)
    latest.source = "memory"
    if found is not None:
        if config.log_compiles.value:
            logger.warning("Found the program of %s in memory", name)
        return found
    try:
        with executables.lock_of(key):
            found = executables.get(key, client)
            if found is None:
                with monitoring.timed(_BACKEND_COMPILE, fun_name=name):
                    found, stored = _load_or_compile(key, request)
                executables.put(key, found, _size_in_memory(len(bytecode), stored), latest.names)
    finally:
        with executables.lock:
            executables.compiling.pop(key, None)
    watch.executable_made()
    return found


def _callbacks(host_callbacks: Sequence[Any], at_once: bool) -> Sequence[Any]:
    """The functions that a program gets; the runtime hands none over that may need this thread's interpreter lock."""
    return (_not_called,) if at_once and not host_callbacks else host_callbacks


def load_executable(
    payload: bytes, devices: Sequence[Any], host_callbacks: Sequence[Any] = (), at_once: bool = False
) -> runtime.LoadedExecutable:
    """The executable of its serialized form, on as many devices as it was compiled for.

    Args:
      host_callbacks, at_once: as for ``compile_module``.
    Raises:
      RuntimeError: the runtime refuses it.
    """
    client = devices[0].client
    options = options_for(client, devices, quickly=False)
    callbacks = list(_callbacks(host_callbacks, at_once))
    return client.deserialize_executable(payload, device_list(tuple(devices)), options, host_callbacks=callbacks)


def _not_called(context: Any, *buffers: Any) -> tuple:
    return ()


def _size_in_memory(program: int, stored: int | None) -> int:
    """About how many bytes an executable takes, which the runtime does not say.

    Args:
      program: bytes of the program it was compiled from.
      stored: bytes of its serialized form, where that is known.
    """
    # As measured on programs of 1 to 1,000 operations, most of it is not machine code.
    return 160_000 + (16 * stored if stored is not None else 400 * min(program, 1 << 16) + 2 * program)


class _Request(NamedTuple):
    """A program to be made an executable of, and what the runtime is told with it."""

    module: Source
    devices: Sequence[Any]
    options: runtime.CompileOptions
    host_callbacks: Sequence[Callable[..., Any]]
    name: str

    @property
    def client(self) -> runtime.Client:
        return self.devices[0].client


def _load_or_compile(key: bytes, request: _Request) -> tuple[Any, int | None]:
    """The executable, and the size of its serialized form, if it has been made."""
    store = disk_store()
    if store is not None:
        monitoring.record_event("/jax/compilation_cache/compile_requests_use_cache")
        loaded = _load(store, key, request)
        if loaded is not None:
            return loaded
    executables.misses += 1
    if store is not None:
        monitoring.record_event("/jax/compilation_cache/cache_misses")
    start = time.perf_counter()
    made = _compile(request)
    took, payload = time.perf_counter() - start, None
    if store is not None and took >= config.persistent_cache_min_compile_time_secs.value:
        try:
            payload = made.serialize()
        except Exception as error:  # some programs have no serialized form
            logger.debug("executable of %s cannot be stored: %s", request.name, error)
        else:
            if len(payload) >= config.persistent_cache_min_entry_size_bytes.value:
                store.put(key, latest.names + payload)
    return made, len(payload) if payload is not None else None


def _load(store: DiskStore, key: bytes, request: _Request) -> tuple[Any, int] | None:
    """What the disk has under a key, and its size, or None."""
    start = time.perf_counter()
    entry = store.get(key)
    if entry is None:
        return None
    names, payload = entry[:_DIGEST_SIZE], entry[_DIGEST_SIZE:]
    try:
        loaded = request.client.deserialize_executable(
            payload, device_list(tuple(request.devices)), request.options, host_callbacks=list(request.host_callbacks)
        )
    except Exception as error:  # the runtime refuses what it wrote: a miss
        store.failed(f"load the program of {request.name} from", error)
        return None
    executables.disk_hits += 1
    latest.source, latest.names = "disk", names
    took = time.perf_counter() - start
    if config.log_compiles.value:
        logger.warning("Loaded the program of %s from disk in %f sec", request.name, took)
    monitoring.record_event("/jax/compilation_cache/cache_hits")
    monitoring.record_event_duration_secs("/jax/compilation_cache/cache_retrieval_time_sec", took)
    return loaded, len(payload)


def _compile(request: _Request) -> runtime.LoadedExecutable:
    name, devices, client = request.name, request.devices, request.client
    if config.log_compiles.value:
        logger.warning("Compiling %s for %d device(s) of platform %s", name, len(devices), client.platform)
    bytecode = request.module.full_bytecode()
    latest.source, latest.names = "compiler", _digest(bytecode)
    start = time.perf_counter()
    made = read_apart(
        bytecode,
        lambda module: client.compile_and_load(
            module, device_list(tuple(devices)), request.options, host_callbacks=list(request.host_callbacks)
        ),
    )
    if config.log_compiles.value:
        logger.warning("Finished XLA compilation of %s in %f sec", name, time.perf_counter() - start)
    return made


@cleared_by
def clear_memory() -> None:
    """Forget all executables in memory."""
    executables.clear()
