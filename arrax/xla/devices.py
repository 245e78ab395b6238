"""Devices and platforms: which there are, which is the default."""

from __future__ import annotations

import functools
from typing import Any

from arrax.core import config
from arrax.dtypes.wording import shown
from arrax.native import runtime
from arrax.xla import startup

Device = runtime.Device


def client_of(backend: str | runtime.Client | None = None) -> runtime.Client:
    """The client of a platform (``"cpu"``, ``"gpu"``, ``"tpu"``, …), or the default one.

    Raises:
      RuntimeError: no such platform was started.
      TypeError: neither a name nor a client.
    """
    clients = startup.clients()
    if backend is None:
        return next(iter(clients.values()))
    if isinstance(backend, runtime.Client):
        return backend
    if not isinstance(backend, str):
        raise TypeError(f"a backend is the name of a platform or its client, got {shown(backend)}")
    names = {"gpu": ("cuda", "rocm")}.get(backend, (backend,))
    for name in names:
        if name in clients:
            return clients[name]
    raise RuntimeError(f"Unknown backend {backend}: known backends are {', '.join(clients)}")


def platform_name(client: runtime.Client) -> str:
    """The name that users know a client's platform by: CUDA and ROCm are ``gpu``."""
    name = client.platform.lower()
    return "gpu" if name in ("cuda", "rocm") else name


def devices(backend: str | None = None) -> list[Device]:
    """All devices of a platform.

    Args:
      backend: ``"cpu"``, ``"gpu"``, ``"tpu"``, or None for the default platform.
    Example: ``arrax.devices()`` is ``[CpuDevice(id=0)]`` on a machine without accelerators.
    """
    return client_of(backend).devices()


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Devices attached to one process, by default this one.

    Args:
      process_index: of which process.
      backend: the platform, by default that of ``default_backend``.
      host_id: an older name of ``process_index``.
    Raises:
      ValueError: no such process.
    Example: ``arrax.local_devices() == arrax.devices()`` is True, where there is one process.
    """
    wanted = host_id if process_index is None else process_index
    client = client_of(backend)
    if wanted is None:
        wanted = client.process_index()
    found = [device for device in client.devices() if device.process_index == wanted]
    if not found and not 0 <= wanted < process_count(backend):
        raise ValueError(f"Unknown process_index {wanted}")
    return found


def device_count(backend: str | None = None) -> int:
    """Number of devices of a platform, over all processes.

    Args:
      backend: the platform, by default that of ``default_backend``.
    Example: ``arrax.device_count() == len(arrax.devices())`` is True.
    """
    return client_of(backend).device_count()


def local_device_count(backend: str | None = None) -> int:
    """Number of devices attached to this process.

    Args:
      backend: the platform, by default that of ``default_backend``.
    Example: ``arrax.local_device_count() == len(arrax.local_devices())`` is True.
    """
    return len(client_of(backend).local_devices())


def process_index(backend: str | None = None) -> int:
    """Index of this process among all that work together.

    Args:
      backend: the platform, by default that of ``default_backend``.
    Example: ``arrax.process_index()`` is 0, where there is one process; ``if arrax.process_index() == 0:`` before what
    one of them should write.
    """
    return client_of(backend).process_index()


def process_count(backend: str | None = None) -> int:
    """Number of processes that work together.

    Args:
      backend: the platform, by default that of ``default_backend``.
    Example: ``arrax.process_count()`` is 1, where no ``arrax.distributed.initialize`` was called.
    """
    return max(device.process_index for device in client_of(backend).devices()) + 1


def process_indices(backend: str | None = None) -> list[int]:
    """Indices of all processes that work together.

    Args:
      backend: the platform, by default that of ``default_backend``.
    Example: ``arrax.process_indices()`` is ``[0]``, where there is one process.
    """
    return sorted({device.process_index for device in client_of(backend).devices()})


def default_backend() -> str:
    """The platform where computations run by default: ``"cpu"``, ``"gpu"`` or ``"tpu"``.

    Example: ``arrax.default_backend() in ('cpu', 'gpu', 'tpu')`` is True.
    """
    return platform_name(client_of())


def default_device() -> runtime.Device:
    """The device of computations whose operands are committed nowhere."""
    chosen = config.default_device.cell.value
    if chosen is None:
        return _first[0] if _first else _first_device()
    return _first_of_platform(chosen) if isinstance(chosen, str) else chosen


def _first_of_platform(name: str) -> runtime.Device:
    try:
        return client_of(name).local_devices()[0]
    except RuntimeError as error:
        raise ValueError(f"default_device: {error}") from None


_first: list[Any] = []  # the first device of the default platform, once clients have started


def _first_device() -> Any:
    if not _first:
        _first.append(client_of().local_devices()[0])
        startup.on_clear.append(_first.clear)
    return _first[0]


@functools.lru_cache(1024)
def single_sharding(device: runtime.Device, memory_kind: str | None = None) -> runtime.Sharding:
    """The one sharding object of a device."""
    return runtime.SingleDeviceSharding(device, memory_kind=memory_kind)


@functools.lru_cache(1024)
def device_list(devices_: tuple[Any, ...]) -> runtime.DeviceList:
    """The one DeviceList of some devices."""
    return runtime.DeviceList(devices_)


def device_by_id(platform: str | None, number: int) -> Any:
    """The device of a platform with an id.

    Raises:
      ValueError: there is no such device.
    """
    for device in client_of(platform).devices():
        if device.id == number:
            return device
    raise ValueError(f"no device of platform {platform} has the id {number}: there are {client_of(platform).devices()}")
