"""Start-up of the runtime: registrations in their order, clients, and the stand-ins that give C++ our type class.

All of this state is global to the process: two front-ends cannot share it, so a process in which another one has already
taken the runtime is refused.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from arrax.core import config
from arrax.core.meshes import AbstractMesh
from arrax.core.ownership import refuse_other_owner
from arrax.core.partition_specs import PartitionSpec, check_spec
from arrax.core.types import ShapedArray
from arrax.native import runtime

lock = threading.RLock()  # of starting and forgetting clients
_clients: dict[str, Any] | None = None
_failures: dict[str, str] = {}
on_first_client: list[Callable[[Any], None]] = []
on_clear: list[Callable[[], None]] = []
_MAX_REUSED_BYTES = 31 << 20
_STAND_INS = ("jax", "jax.core", "jax._src", "jax._src.named_sharding")


def _register() -> None:
    """Cells that the C++ call path reads; without them every call raises."""
    states = runtime.call_states
    states.set_disable_jit_state(config.disable_jit.cell)
    states.set_enable_x64_state(config.enable_x64.cell)
    states.set_post_hook_state(config.post_hook)
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        runtime.native_utils.absl_set_min_log_level(1)
    replicated = runtime.HloSharding.replicate()
    runtime.SingleDeviceSharding._to_xla_hlo_sharding = lambda self, ndim: replicated
    # Host buffers kept alive for zero-copied arrays are let go only when the runtime is asked to.
    gc.callbacks.append(lambda phase, info: runtime.collect_garbage())


@contextmanager
def _lent_classes() -> Iterator[None]:
    """Let C++ find ShapedArray and a check of partition specs under the names where it looks once and for all."""
    before = {name: sys.modules[name] for name in _STAND_INS if name in sys.modules}
    modules = {name: types.ModuleType(name) for name in _STAND_INS}
    for name in _STAND_INS[1:]:
        parent, _, leaf = name.rpartition(".")
        setattr(modules[parent], leaf, modules[name])
    modules["jax.core"].ShapedArray = ShapedArray  # type: ignore[attr-defined]
    modules["jax._src.named_sharding"].check_pspec = check_spec  # type: ignore[attr-defined]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in _STAND_INS:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def _lend_type_class(device: Any) -> None:
    """Make C++ look for the class of types: it does so at the first array."""
    sharding = runtime.SingleDeviceSharding(device)
    aval = ShapedArray((), np.dtype(np.int32))
    with _lent_classes(), config.own_transfer():
        runtime.batched_device_put(aval, sharding, [np.int32(0)], [device], False)._arrays  # noqa: B018


def _lend_check_of_specs() -> None:
    """Make C++ look for the check of partition specs: it does so at the first NamedSharding, which needs no device."""
    with _lent_classes():
        runtime.NamedSharding(AbstractMesh((), ()), PartitionSpec())


cpu_options: list[Callable[[], dict[str, Any]]] = []  # what else CPU clients are started with
plugin_options: list[
    Callable[[], tuple[dict[str, Any], Any]]
] = []  # and others: options, connection to other processes
# functions of (executable, name, devices), called before a program over several processes runs for the first time
before_first_runs: list[Callable[[Any, str, Any], None]] = []
# functions of (value on the host, devices), called before it is put on devices of several processes
before_puts: list[Callable[[Any, Any], None]] = []


def started() -> bool:
    """Whether any client has been started."""
    return _clients is not None


def _keep_freed_memory() -> None:
    """Make the C library reuse the memory of results instead of handing it back to the system after each call.

    The GNU library asks the system for arrays of 128 kB on one by one and hands them back when they are freed, so that each
    call of a program pays for fresh pages: a step that updates eight arrays of half a megabyte takes two to four times as
    long. It stops doing so for sizes up to that of the greatest array that it has seen freed, of at most 32 MB, and keeps up
    to twice that size. So one is freed here, whose pages are never touched. Other libraries and a user's ``MALLOC_``
    variables are not concerned.
    """
    np.empty(_MAX_REUSED_BYTES, np.uint8)


def _start_cpu() -> Any:
    _keep_freed_memory()
    count = config.num_cpu_devices.value
    options: dict[str, Any] = {}
    for find in cpu_options:
        options.update(find())
    return runtime.xla_client.make_cpu_client(
        asynchronous=config.cpu_enable_async_dispatch.value,
        num_devices=count if count > 0 else None,
        **options,
    )


def _refuse_late_count(value: int, local: bool) -> None:
    if started():
        raise RuntimeError(
            f"num_cpu_devices={value} comes too late: devices are started already; set it before the first use"
        )


config.num_cpu_devices.on_change = _refuse_late_count
starters: dict[str, Callable[[], Any]] = {"cpu": _start_cpu}  # platform -> function that makes its client
discover: list[Callable[[], None]] = []  # run before the first client: add the starters of plugins
priorities: dict[str, int] = {"cpu": 0}  # of platforms that were added by libraries; plugins come before all of them
quiet: set[str] = set()  # those whose client need not start
_PLUGIN_PRIORITY = 400


def _platforms_with_plugins() -> list[str]:
    for find in discover:
        find()
    return list(starters)


config.further_platforms.append(_platforms_with_plugins)


def requested_platforms() -> list[str]:
    """Platforms to start, the default one first."""
    named = config.platforms.value or config.platform_name.value
    if named:
        return [name.strip() for name in named.split(",") if name.strip()]
    return sorted(starters, key=lambda name: (-priorities.get(name, _PLUGIN_PRIORITY), name == "cpu"))


def clients() -> dict[str, Any]:
    """All started clients by platform name, the default one first. The first call starts them."""
    global _clients
    if _clients is not None:
        return _clients
    with lock:
        if _clients is None:
            _clients = _start_all()
    return _clients


def _start_all() -> dict[str, Any]:
    refuse_other_owner()
    for find in discover:
        find()
    explicit = bool(config.platforms.value or config.platform_name.value)
    aliases = {"gpu": [name for name in starters if name in ("cuda", "rocm")] or ["cuda"]}
    started: dict[str, Any] = {}
    names = [real for name in requested_platforms() for real in aliases.get(name, [name])]
    for name in dict.fromkeys(names):
        if name not in starters:
            known = ", ".join(sorted(starters))
            raise RuntimeError(f"Unable to initialize backend {name!r}: no such platform; known platforms: {known}")
        try:
            client = starters[name]()
            if client is None:
                raise RuntimeError("its factory gives no client")
            started[name] = client
        except Exception as error:
            if explicit or (name in priorities and name not in quiet):
                raise RuntimeError(f"Unable to initialize backend {name!r}: {error}") from error
            _failures[name] = str(error)
    if "cpu" not in started and not (explicit and "cpu" not in names):
        started["cpu"] = _start_cpu()
    for client in started.values():
        _lend_type_class(client.local_devices()[0])
        break
    for action in on_first_client:
        action(started)
    return started


def is_started() -> bool:
    """Whether clients of the runtime exist."""
    return bool(_clients)


def running_arrays() -> list[Any]:
    """The arrays that programs have yet to give."""
    arrays = [array for client in (_clients or {}).values() for array in client.live_arrays()]
    return [array for array in arrays if not array.is_deleted() and not array.is_ready()]


def clear_clients() -> None:
    """Forget all clients; the next use starts new ones."""
    global _clients
    with lock:
        _clients = None
        for action in on_clear:
            action()


_register()
_lend_check_of_specs()
