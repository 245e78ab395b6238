"""The clients of platforms, for libraries that start some of their own or compile programs themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from arrax.core.caches import clear_caches
from arrax.core.calls import as_index
from arrax.native import runtime
from arrax.xla import startup
from arrax.xla.compilation import executables
from arrax.xla.devices import client_of, default_device

Client = Any  # jaxlib's class


class Clearable(Protocol):
    """A cache that can be emptied, such as those of ``functools.lru_cache``."""

    def cache_clear(self) -> None:
        """Forget everything."""


def backends() -> dict[str, Client]:
    """The clients of all platforms that are there, by the platform's name.

    Example: ``'cpu' in arrax.extend.backend.backends()`` is True.
    """
    return dict(startup.clients())


def get_backend(platform: str | Client | None = None) -> Client:
    """The client of a platform.

    Args:
      platform: ``"cpu"``, ``"gpu"``, …; None for the default one; a client is handed back.
    Raises:
      RuntimeError: no such platform.
    Example: ``arrax.extend.backend.get_backend('cpu').platform`` is ``'cpu'``.
    """
    return client_of(platform)


def get_default_device() -> runtime.Device:
    """The device of computations whose operands are committed nowhere.

    Example: ``arrax.extend.backend.get_default_device() in arrax.devices()`` is True.
    """
    return default_device()


def backend_xla_version(platform: str | None = None) -> int | None:
    """The version of XLA that a platform's plugin was built with, or None where it says none, as on the CPU.

    Example: ``arrax.extend.backend.backend_xla_version('cpu')`` is None.
    """
    return getattr(client_of(platform), "xla_version", None)


def clear_backends() -> None:
    """Forget all clients and all that was compiled for them; the next use starts new ones. Arrays that exist live on.

    Example: ``arrax.extend.backend.clear_backends()``.
    """
    clear_caches()
    startup.clear_clients()


def clear_in_memory_compilation_cache() -> None:
    """Forget compiled programs that no function holds; those on disk stay.

    Example: ``arrax.extend.backend.clear_in_memory_compilation_cache()``.
    """
    executables.clear()


def register_backend_cache(cache: Clearable, for_what: str) -> Clearable:
    """Let a cache be emptied when the clients of platforms are forgotten.

    Args:
      cache: with a method ``cache_clear``.
      for_what: what it holds, in words.
    Returns: ``cache``.
    Raises:
      TypeError: it has no such method.
    Example: ``keep = functools.cache(lambda n: n); arrax.extend.backend.register_backend_cache(keep, 'numbers') is keep``
    is True.
    """
    clear = getattr(cache, "cache_clear", None)
    if not callable(clear):
        raise TypeError(f"register_backend_cache: the cache for {for_what} has no method cache_clear: {cache!r}")
    startup.on_clear.append(clear)
    return cache


def register_backend_factory(
    name: str, factory: Callable[[], Client | None], *, priority: int = 0, fail_quietly: bool = True,
    experimental: bool = False, make_topology: Callable[..., Any] | None = None, c_api: Any = None,
) -> None:  # fmt: skip
    """Add a platform, before the first use of a device.

    Args:
      name: the platform's name.
      factory: function that starts its client.
      priority: of platforms that are there, that with the highest one is the default; the CPU has 0, GPUs and TPUs more.
      fail_quietly: leave the platform out where its client does not start, unless it was asked for by name.
      experimental, make_topology, c_api: accepted, without effect.
    Raises:
      RuntimeError: clients have been started already.
    Example: ``arrax.extend.backend.register_backend_factory('mychip', start)`` before the first use of a device.
    """
    if startup.started():
        raise RuntimeError(f"register_backend_factory: {name} comes too late: devices are started already")
    startup.starters[name], startup.priorities[name] = factory, priority
    (startup.quiet.add if fail_quietly else startup.quiet.discard)(name)


def get_compile_options(
    num_replicas: int, num_partitions: int, device_assignment: Sequence[Any] | np.ndarray | None = None,
    env_options_overrides: Mapping[str, str] | None = None, fdo_profile: bytes | None = None, detailed_logging: bool = True,
    backend: Client | None = None,
) -> runtime.CompileOptions:  # fmt: skip
    """Compile options of XLA, for a client's own ``compile``.

    Args:
      num_replicas: how many times the program runs, each time with data of its own.
      num_partitions: over how many devices each of these is partitioned.
      device_assignment: numbers of devices, or devices, shape (replicas, partitions); or one row of partitions.
      env_options_overrides: options of XLA by name.
      fdo_profile: a profile that guides optimization.
      detailed_logging: whether the compiler may log much.
      backend: accepted, without effect.
    Raises:
      ValueError: ``device_assignment`` has another shape.
    Example: ``arrax.extend.backend.get_compile_options(2, 1).num_replicas`` is 2.
    """
    num_replicas, num_partitions = as_index(num_replicas), as_index(num_partitions)
    options = runtime.CompileOptions()
    options.num_replicas, options.num_partitions = num_replicas, num_partitions
    build = options.executable_build_options
    build.use_auto_spmd_partitioning = False
    build.use_spmd_partitioning = num_partitions > 1
    if fdo_profile is not None:
        build.fdo_profile = fdo_profile
    if device_assignment is not None:
        ids = np.vectorize(lambda device: getattr(device, "id", device), otypes=[np.int64])(
            np.asarray(device_assignment)
        )
        ids = ids[None] if ids.ndim == 1 and num_replicas == 1 else ids[:, None] if ids.ndim == 1 else ids
        if ids.shape != (num_replicas, num_partitions):
            raise ValueError(
                f"get_compile_options: device_assignment has the shape {ids.shape}, expected "
                f"({num_replicas}, {num_partitions}): a row for each replica"
            )
        options.device_assignment = runtime.DeviceAssignment.create(ids)
    if env_options_overrides:
        options.env_option_overrides = list(env_options_overrides.items())
    return options
