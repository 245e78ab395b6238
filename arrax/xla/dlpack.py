"""DLPack: handing arrays to other libraries, and taking theirs, without copying where that is possible."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.types import ShapedArray
from arrax.dtypes import DTypeLike
from arrax.native import runtime
from arrax.xla.arrays import attach, copy_of
from arrax.xla.devices import client_of
from arrax.xla.placement import array_from_host, check_live, copy_to_device, host_value, pieces_of

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


ArrayImpl = runtime.ArrayImpl
_CPU, _CUDA, _PINNED, _ROCM = 1, 2, 3, 10  # DLPack's numbers of kinds of devices
_PLATFORMS = {_CPU: "cpu", _PINNED: "cpu", _CUDA: "cuda", _ROCM: "rocm"}
_KINDS = {"cpu": _CPU, "cuda": _CUDA, "gpu": _CUDA, "rocm": _ROCM}
_SUPPORTED = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128".split()
)


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """Whether arrays of a dtype can be exchanged.

    Args:
      dtype: dtype-like.
    Example: ``arrax.dlpack.is_supported_dtype("int4")`` is False.
    """
    return getattr(dtypes.to_dtype(dtype), "name", "") in _SUPPORTED


# ---- export ---------------------------------------------------------------------------------------------------------


def device_pair(array: Any) -> tuple[int, int]:
    """(kind, number) of an array's device, as DLPack counts them: the method ``__dlpack_device__``.

    Raises:
      BufferError: an array over several devices, or on one of another process.
    """
    if not array._sharding._internal_device_list.is_fully_addressable:
        raise BufferError("__dlpack_device__: the array lies on devices of other processes")
    device = array.device
    if not isinstance(device, runtime.Device):
        raise BufferError("__dlpack_device__: an array over several devices cannot be exchanged with DLPack")
    kind = _KINDS.get(device.platform, _CPU)
    return kind, 0 if kind == _CPU else device.local_hardware_id or 0


def export(
    array: Array,
    *,
    stream: Any = None,
    max_version: tuple[int, ...] | None = None,
    dl_device: tuple[int, ...] | None = None,
    copy: bool | None = None,
) -> Any:
    """A capsule that other libraries make an array of: the method ``__dlpack__``.

    Args:
      stream: the consumer's stream on a GPU.
      max_version: accepted; capsules are of the version that every consumer reads.
      dl_device: where to export to, (kind, number): the array's own device, or the CPU.
      copy: True for a copy, False to refuse where one is needed.
    Raises:
      BufferError: a dtype or a device that cannot be exported; a copy is needed and refused.
    """
    check_live(array)
    if not is_supported_dtype(array.aval.dtype):
        raise BufferError(f"__dlpack__: DLPack has no dtype {array.aval.dtype}")
    own = device_pair(array)
    if own[0] == _CPU:
        array.block_until_ready()  # raises what went wrong, where the runtime would end the process
    if dl_device is None or (int(dl_device[0]), int(dl_device[1])) == own:
        (piece,) = pieces_of(array)
        return runtime.buffer_to_dlpack_managed_tensor(copy_of(piece) if copy else piece, stream=stream)
    if int(dl_device[0]) != _CPU:
        raise BufferError(f"__dlpack__: an array on device {own} cannot be exported to device {tuple(dl_device)}")
    if copy is False:
        raise BufferError(f"__dlpack__: exporting from device {own} to the CPU needs a copy")
    on_cpu = array_from_host(host_value(array), array.aval, client_of("cpu").local_devices()[0])
    return runtime.buffer_to_dlpack_managed_tensor(on_cpu)


def to_dlpack(
    x: Array, stream: Any = None, src_device: Any = None, dl_device: Any = None, max_version: Any = None,
    copy: bool | None = None,
) -> Any:  # fmt: skip
    """A capsule that other libraries make an array of. Libraries of today take the array itself.

    Args:
      x: array.
      stream, dl_device, max_version, copy: as of the array's ``__dlpack__``.
      src_device: device to put the array on first.
    Raises:
      BufferError: a dtype or a device that cannot be exported; a copy is needed and refused.
    Example: ``arrax.dlpack.to_dlpack(jnp.ones(2))``.
    """
    source = x if src_device is None else copy_to_device(x, _one_device(src_device), True)
    return export(source, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


attach(ArrayImpl, {"__dlpack__": export, "__dlpack_device__": device_pair})


# ---- import ---------------------------------------------------------------------------------------------------------


class _Capsule:
    """A capsule of ``to_dlpack`` as the array that it was made of; it can be taken once."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """(kind, number), which stand behind the pointer to the elements.

        Raises:
          ValueError: a capsule of something else, or one that was taken.
        """
        pointer = _capsule_pointer(self.capsule, b"dltensor")
        kind, number = (ctypes.c_int32.from_address(pointer + offset).value for offset in (8, 12))
        return kind, number


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Array:
    """An array with the elements of another library's array; they share memory where that is possible.

    Args:
      external_array: object with ``__dlpack__`` and ``__dlpack_device__``, or a capsule of ``to_dlpack``.
      device: device, or sharding of one device, to put the result on; by default where the elements are.
      copy: True for memory of its own, False to refuse where a copy is needed, None to copy only where needed.
    Returns: array, committed to its device.
    Raises:
      TypeError: an object without these methods.
      ValueError: a copy is needed and refused; several devices.
      BufferError: a dtype that arrays cannot have.
    Example: ``arrax.dlpack.from_dlpack(numpy.ones(2))``.
    """
    if type(external_array).__name__ == "PyCapsule":
        external_array = _Capsule(external_array)
    if not (hasattr(external_array, "__dlpack__") and hasattr(external_array, "__dlpack_device__")):
        raise TypeError(
            f"from_dlpack: expected an object with __dlpack__ and __dlpack_device__, got {type(external_array).__name__}."
        )
    kind, number = (int(part) for part in external_array.__dlpack_device__())
    source, target = _device_of(kind, number), _one_device(device)
    if type(external_array) is ArrayImpl:
        source = external_array.device  # DLPack knows one device of the CPU, where there may be several
    target = source if target is None else target
    if copy is False and target != source:
        raise ValueError(
            f"from_dlpack: moving elements from {source} to {target} needs a copy, which copy=False refuses"
        )
    if type(external_array) is ArrayImpl:
        return copy_to_device(copy_of(external_array) if copy else external_array, target, True)
    taken = _imported(external_array, kind, source, copy)
    return copy_to_device(taken, target, True)


def _one_device(device: Any) -> runtime.Device | None:
    if isinstance(device, runtime.Sharding):
        devices = list(device._internal_device_list)
        if len(devices) != 1:
            raise ValueError(f"from_dlpack: expected a device or a sharding of one device, got {device}")
        return devices[0]
    if device is not None and not isinstance(device, runtime.Device):
        raise TypeError(f"from_dlpack: device must be a device, a sharding or None, got {device!r}")
    return device


def _device_of(kind: int, number: int) -> runtime.Device:
    if kind not in _PLATFORMS:
        raise BufferError(f"from_dlpack: arrays on devices of DLPack's kind {kind} cannot be imported")
    devices = client_of(_PLATFORMS[kind]).local_devices()
    return devices[0] if kind in (_CPU, _PINNED) else next(d for d in devices if (d.local_hardware_id or 0) == number)


def _imported(external: Any, kind: int, device: Any, copy: bool | None) -> Array:
    if kind not in (_CPU, _PINNED):
        stream = device.get_stream_for_external_ready_events()
        array = runtime.dlpack_managed_tensor_to_buffer(external.__dlpack__(stream=stream), device, stream)
        return copy_of(array) if copy else array
    view = external if isinstance(external, np.ndarray) else _host_view(external)
    if view is None:  # a dtype that NumPy's own import does not know, such as bfloat16
        array = runtime.dlpack_managed_tensor_to_buffer(external.__dlpack__(), device, None)
        return copy_of(array) if copy else array
    if view.dtype.name not in _SUPPORTED:
        raise BufferError(f"from_dlpack: DLPack has no dtype {view.dtype}")
    canonical = dtypes.canonicalize_dtype(view.dtype)
    if copy or canonical != view.dtype or not view.flags.c_contiguous or not view.flags.writeable:
        if copy is False:
            raise ValueError(
                f"from_dlpack: elements of dtype {view.dtype} and strides {view.strides} need a copy to become an array of "
                f"dtype {canonical}, which copy=False refuses"
            )
        with np.errstate(all="ignore"):
            return array_from_host(
                np.array(view, canonical, order="C"), ShapedArray(view.shape, canonical), device, True, True
            )
    array = runtime.dlpack_managed_tensor_to_buffer(view.__dlpack__(), device, None)
    if copy is False and view.size and array.unsafe_buffer_pointer() != view.ctypes.data:
        raise ValueError("from_dlpack: elements that are not aligned to 64 bytes need a copy, which copy=False refuses")
    return array


def _host_view(external: _Capsule) -> np.ndarray | None:
    try:
        return np.from_dlpack(external)
    except (RuntimeError, BufferError):
        return None
