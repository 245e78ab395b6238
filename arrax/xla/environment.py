"""What a report of a fault should say of the machine and the libraries."""

from __future__ import annotations

import os
import platform
import sys

import numpy as np

from arrax.core.version import VERSION
from arrax.native import runtime
from arrax.xla.devices import local_devices, process_count


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions of Python and the libraries, the devices and the settings in the environment.

    Args:
      return_string: give the text back instead.
    Returns: the text, or None.
    Example: ``print_environment_info()``.
    """
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(("ARRAX_", "JAX_"))]
    flags = os.environ.get("XLA_FLAGS", "")
    lines = [
        f"arrax:  {VERSION}",
        f"jaxlib: {runtime.jaxlib_version}",
        f"numpy:  {np.__version__}",
        f"python: {sys.version}",
        f"device info: {_device_info()}",
        f"process_count: {process_count()}",
        f"platform: {platform.uname()}",
        *settings,
        *([f"XLA_FLAGS={flags}"] if flags else []),
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


def _device_info() -> str:
    devices = local_devices()
    return f"{devices[0].device_kind}-{len(devices)}, {len(devices)} local devices"
