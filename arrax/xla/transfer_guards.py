"""The guard of transfers between devices, where such a transfer takes its way through the host's memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from arrax.core.config import transfers_guarded
from arrax.core.errors import JaxRuntimeError
from arrax.core.types import ShapedArray
from arrax.native import runtime

logger = logging.getLogger(__name__)
_GUARDS = runtime.guard_lib
_LEVELS = _GUARDS.TransferGuardLevel


@contextmanager
def between_devices(aval: ShapedArray, source: object, target: object) -> Iterator[None]:
    """Guard a transfer from device to device; the guards of its two halves, to the host and back, leave it alone.

    Args:
      aval: type of the array.
      source, target: its shardings.
    Raises:
      JaxRuntimeError: such transfers are forbidden.
    """
    if not transfers_guarded():
        yield
        return
    local, everywhere = _GUARDS.thread_local_state(), _GUARDS.global_state()
    halves = local.host_to_device, local.device_to_host
    level = local.device_to_device if local.device_to_device is not None else everywhere.device_to_device
    explicit = local.explicit_device_put
    text = f"device-to-device transfer: aval={aval!r}, sharding={source}, dst_sharding={target}"
    if level == _LEVELS.DISALLOW_EXPLICIT or (level == _LEVELS.DISALLOW and not explicit):
        raise JaxRuntimeError(f"INVALID_ARGUMENT: Disallowed {text}")
    if level == _LEVELS.LOG_EXPLICIT or (level == _LEVELS.LOG and not explicit):
        logger.warning(text)
    local.host_to_device = local.device_to_host = _LEVELS.ALLOW
    try:
        yield
    finally:
        local.host_to_device, local.device_to_host = halves
