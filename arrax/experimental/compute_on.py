"""Where the operations of a program are to be computed: on its device, or on the host of it."""

from __future__ import annotations

import contextlib
import re

from arrax.core.tracebacks import bound_names
from arrax.xla.devices import default_backend

_KINDS = re.compile(r"device_host|device|tpu_sparsecore|gpu_stream:\d+")


class _ComputeOn(contextlib.ContextDecorator):
    """For the CPU all places of computation are the device itself."""

    def __init__(self, compute_type: str) -> None:
        self.compute_type = compute_type

    def __enter__(self) -> None:
        platform = default_backend()
        if platform != "cpu" and self.compute_type != "device":
            raise NotImplementedError(
                f"compute_on: {self.compute_type!r} is for programs on the CPU, got platform {platform!r}"
            )

    def __exit__(self, *exception: object) -> None:
        pass


def compute_on(compute_type: str) -> contextlib.ContextDecorator:
    """Context manager and decorator: where the operations inside are computed.

    The host of a CPU is the CPU: there, programs and their results are the same with and without it.

    Args:
      compute_type: ``"device"``, or on the CPU also ``"device_host"``, ``"tpu_sparsecore"`` or ``"gpu_stream:#"``.
    Raises:
      TypeError: not a text. ValueError: another text.
      NotImplementedError: when it is entered on another platform, for another place than the device.
    Example: ``compute_on('device_host')(jnp.sin)(x)`` is ``jnp.sin(x)``.
    """
    if not isinstance(compute_type, str):
        raise TypeError(f"compute_on: compute_type must be a string, got {compute_type!r}")
    if not _KINDS.fullmatch(compute_type):
        raise ValueError(
            f"compute_on: compute_type must be 'device', 'device_host', 'tpu_sparsecore' or 'gpu_stream:#', got {compute_type!r}"
        )
    return _ComputeOn(compute_type)


bound_names(__name__)
