"""What the Python array API standard lets a program ask a namespace: devices, dtypes, capabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.xla import devices, dlpack
from arrax.xla.annotations import OptionalDevice
from arrax.xla.arrays import Array, ArrayLike

__array_api_version__ = "2025.12"

# fmt: off
_DTYPES = {
    "bool":             ("bool",),
    "signed integer":   ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating":    ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_UNIONS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric":  ("signed integer", "unsigned integer", "real floating", "complex floating"),
}
_DEFAULTS = {"real floating": np.float64, "complex floating": np.complex128, "integral": np.int64, "indexing": np.int64}
# fmt: on


class ArrayNamespaceInfo:
    """Devices, dtypes and capabilities of ``arrax.numpy``, as the array API standard asks for them.

    Example: ``jnp.__array_namespace_info__().default_dtypes()["integral"]`` is int32, or int64 with x64.
    """

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """What functions can do, jitted ones included.

        Returns: whether arrays can be indexed with masks and shapes may depend on values (not within ``jit``), and the
          greatest number of dimensions.
        """
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Any:
        """The device where arrays are created if none is given."""
        return devices.default_device()

    def devices(self) -> tuple[Any, ...]:
        """The devices that arrays can be put on."""
        return tuple(devices.local_devices())

    def default_dtypes(self, *, device: OptionalDevice = None) -> dict[str, Any]:
        """The dtype of each kind where none is given.

        Args:
          device: a device, or None; the defaults are the same on all.
        """
        self._check(device)
        return {kind: dtypes.canonicalize_dtype(dtype) for kind, dtype in _DEFAULTS.items()}

    def dtypes(self, *, device: OptionalDevice = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """The dtypes of the standard that are available: those of 64 bits only with x64.

        Args:
          device: a device, or None; the dtypes are the same on all.
          kind: a kind as of ``isdtype``, a tuple of kinds, or None for all.
        Returns: dict from names to dtypes.
        Raises:
          ValueError: an unknown kind.
        """
        self._check(device)
        names = [name for one in self._kinds(kind) for name in _DTYPES[one]]
        return {name: np.dtype(name) for name in names if dtypes.canonicalize_dtype(name) == np.dtype(name)}

    def _kinds(self, kind: Any) -> list[str]:
        if kind is None:
            return list(_DTYPES)
        if isinstance(kind, tuple):
            return list(dict.fromkeys(one for member in kind for one in self._kinds(member)))
        if kind not in _DTYPES and kind not in _UNIONS:
            raise ValueError(f"dtypes: unknown kind {kind!r}; known ones are {', '.join([*_DTYPES, *_UNIONS])}")
        return list(_UNIONS.get(kind, (kind,)))

    def _check(self, device: Any) -> None:
        if device is not None and device not in devices.devices():
            raise ValueError(f"unknown device {device!r}; known ones are {', '.join(map(str, devices.devices()))}")


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """Devices, dtypes and capabilities of this namespace (array API standard)."""
    return ArrayNamespaceInfo()


def from_dlpack(x: ArrayLike, /, *, device: OptionalDevice = None, copy: bool | None = None) -> Array:
    """An array with the elements of another library's array; they share memory where that is possible.

    Args:
      x: object with ``__dlpack__`` and ``__dlpack_device__``.
      device: device to put the result on; by default where the elements are.
      copy: True for memory of its own, False to refuse where a copy is needed, None to copy only where needed.
    Raises:
      TypeError: an object without these methods.
      ValueError: a copy is needed and refused.
      BufferError: a dtype that arrays cannot have.
    Example: ``jnp.from_dlpack(numpy.ones(2, "float32"))`` is ``[1., 1.]``. Source: ``numpy.from_dlpack``.
    """
    return dlpack.from_dlpack(x, device, copy)
