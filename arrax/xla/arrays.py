"""``arrax.Array``: what the runtime's array class lacks: attributes, host conversion, printing, pickling.

Operators and the methods that compute are attached by the NumPy API (numpy_api/array_methods.py).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from arrax import dtypes
from arrax.core.calls import in_call
from arrax.core.completion import complete_package
from arrax.core.config import copy_in_place
from arrax.core.tracebacks import bound_methods, boundary, bounded
from arrax.core.types import ShapedArray
from arrax.native import runtime
from arrax.xla import compat
from arrax.xla.placement import array_from_host, check_live, host_value, is_whole_here, pieces_of

ArrayImpl = runtime.ArrayImpl
if TYPE_CHECKING:
    from arrax.xla.array_interface import Array
else:
    Array = runtime.Array
# By typing's class: unlike those of `|`, its unions take names of classes that come later (`"Mine" | ArrayLike`).
ArrayLike = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]  # noqa: UP007
OptionalArray = ArrayLike | None
Matrices = ArrayLike  # of shape (..., rows, columns)


@bound_methods
class Shard:
    """The piece of an array that one device holds.

    Args:
      device: the device.
      sharding: placement of the whole array.
      global_shape: shape of the whole array.
      data: the piece as an array on one device, None for devices of other processes.
    Attributes:
      device, data: as given. index: tuple of slices into the whole array. replica_id: number among equal pieces.
    Raises:
      ValueError: the sharding does not use the device.
    Example: ``[shard] = x.addressable_shards; shard.index`` is ``(slice(None, None, None),)``.
    """

    __slots__ = ("device", "index", "replica_id", "data")
    device: runtime.Device
    index: tuple[slice, ...]
    replica_id: int
    data: Any

    def __init__(
        self, device: runtime.Device, sharding: runtime.Sharding, global_shape: Sequence[int], data: Any = None
    ):
        place = _places(sharding, tuple(global_shape)).get(device)
        if place is None:
            raise ValueError(f"Shard: the device {device} is none of those of {sharding}")
        self.device, self.data, (self.index, self.replica_id) = device, data, place

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data})"


def _shard(device: runtime.Device, index: tuple[slice, ...], replica_id: int, data: Any) -> Shard:
    """A piece whose place is known."""
    made = Shard.__new__(Shard)
    made.device, made.index, made.replica_id, made.data = device, index, replica_id, data
    return made


def _places(sharding: runtime.Sharding, shape: tuple[int, ...]) -> dict[Any, tuple[tuple[slice, ...], int]]:
    """For each device its slices of an array, and how many devices before it hold the same ones."""
    seen: dict[Any, int] = {}
    places = {}
    for device, index in sharding.devices_indices_map(shape).items():
        key = tuple((s.start, s.stop) for s in index)
        seen[key] = seen.get(key, -1) + 1
        places[device] = index, seen[key]
    return places


def _shards(self: Any) -> list[Shard]:
    """The pieces on devices of this process."""
    check_live(self)
    kept = self.__dict__.get("_kept_shards")
    if kept is None:
        kept = [shard for shard in _global_shards(self) if shard.data is not None]
        if not isinstance(self._sharding, runtime.SingleDeviceSharding):  # whose piece is the array itself
            self._kept_shards = kept
    return list(kept)


def _global_shards(self: Any) -> list[Shard]:
    """The pieces on all devices; those of other processes without data."""
    check_live(self)
    if isinstance(self._sharding, runtime.SingleDeviceSharding):
        data = self if is_whole_here(self) else None
        return [_shard(self._sharding._device, (slice(None),) * self.aval.ndim, 0, data)]
    held = {piece._sharding._device: piece for piece in pieces_of(self)}
    places = _places(self._sharding, self.aval.shape)
    return [_shard(device, *place, held.get(device)) for device, place in places.items()]


def _copy_to_host_async(self: Array) -> None:
    """Start the copy that ``numpy.asarray`` waits for."""
    check_live(self)
    for piece in pieces_of(self):
        piece._copy_single_device_array_to_host_async()


def _to_numpy(self: Array, dtype: np.dtype | None = None, copy: bool | None = None, context: Any = None) -> np.ndarray:
    value = host_value(self)
    if dtype is not None and np.dtype(dtype) != value.dtype:
        if copy is False:
            raise ValueError(f"a copy is needed to convert an array of dtype {value.dtype} to {np.dtype(dtype)}")
        return value.astype(dtype)
    return value.copy() if copy else value


def check_scalar(array: Any) -> None:
    """Raise TypeError for an array, known or traced, with axes."""
    if array.aval.ndim > 0:
        raise TypeError(
            in_call(f"Only scalar arrays can be converted to Python scalars; got array.ndim={array.aval.ndim}", array)
        )


def _scalar(self: Array) -> Any:
    check_scalar(self)
    return host_value(self).item()


def check_truth_value(array: Array) -> None:
    """Raise ValueError for an array, known or traced, of no element or of several."""
    if array.aval.size == 0:
        raise ValueError("The truth value of an empty array is ambiguous: compare array.size with 0.")
    if array.aval.size > 1:
        raise ValueError("The truth value of an array with several elements is ambiguous: say a.any() or a.all()")


def check_scalar_index(array: Array) -> None:
    """Raise TypeError for an array, known or traced, that is not an integer."""
    if array.aval.ndim > 0 or not dtypes.is_integer(array.aval.dtype):
        raise TypeError(in_call("Only integer scalar arrays can be converted to a scalar index.", array))


def _bool(self: Array) -> bool:
    check_truth_value(self)
    return bool(host_value(self).reshape(()).item())


def _index(self: Array) -> int:
    check_scalar_index(self)
    return host_value(self).item()


def _int(self: Array) -> int:
    return int(_scalar(self))


def _float(self: Array) -> float:
    return float(_scalar(self))


def _complex(self: Array) -> complex:
    return complex(_scalar(self))


def _len(self: Array) -> int:
    if not self.aval.shape:
        raise TypeError("len() of unsized object")
    return self.aval.shape[0]


def _repr(self: Array) -> str:
    return array_text(self)


def array_text(array: Any) -> str:
    """``Array([1, 2], dtype=int32)``, by NumPy's print options."""
    aval = array.aval
    dtype = str(getattr(aval.dtype, "name", aval.dtype))
    suffix = f"dtype={dtype}{', weak_type=True' if aval.weak_type else ''})"
    if array.is_deleted():
        return f"Array(shape={aval.shape}, {suffix} [deleted]"
    if not is_whole_here(array):
        return f"Array(shape={aval.shape}, {suffix}"
    value = host_value(array)
    if value.size == 0:
        return f"Array([], shape={aval.shape}, {suffix}"
    data = np.array2string(value, separator=", ", prefix="Array(", suffix=",")
    width = len(data.rsplit("\n", 1)[-1]) + len(", ") + len(suffix)
    gap = "      " if width >= np.get_printoptions()["linewidth"] else " "  # as documented arrays print
    return f"Array({data},{gap}{suffix}"


def _str(self: Any) -> str:
    return str(host_value(self)) if is_whole_here(self) else array_text(self)


def _format(self: Array, format_spec: str) -> str:
    if self.aval.ndim == 0:
        return format(host_value(self)[()], format_spec)
    return format(host_value(self), format_spec) if format_spec else str(self)


_runtime_pointer, _runtime_ready = ArrayImpl.unsafe_buffer_pointer, ArrayImpl.is_ready


def _is_ready(self: Any) -> bool:
    """Whether the elements are computed."""
    check_live(self)  # the runtime would crash
    return _runtime_ready(self)  # type: ignore[no-any-return]


def _buffer_pointer(self: Array) -> int:
    """The address of the elements, of an array on one device."""
    check_live(self)
    if not is_whole_here(self):
        raise RuntimeError("unsafe_buffer_pointer: the array lies on devices of other processes")
    self.block_until_ready()  # raises what went wrong, where the runtime would end the process
    return _runtime_pointer(self)  # type: ignore[no-any-return]


def _reduce(self: Array) -> tuple[Any, ...]:
    return _rebuild, (np.array(host_value(self)), self.aval.weak_type)


def _rebuild(value: np.ndarray, weak_type: bool) -> Array:
    complete_package()
    value = value.astype(dtypes.canonicalize_dtype(value.dtype), copy=False)  # 64 bits were written where they were on
    return array_from_host(value, ShapedArray(value.shape, value.dtype, weak_type), fresh=False)


def _deepcopy(self: Array, memo: dict[Any, Any]) -> Array:
    return copy_of(self)


def copy_of(array: Any) -> Array:
    """A copy with a buffer of its own, placed alike."""
    check_live(array)  # the runtime would crash
    sharding = array._sharding
    # The runtime cannot copy an array whose first device belongs to another process.
    if not sharding._internal_device_list.is_fully_addressable:
        return compat.make_array(array.aval, sharding, list(map(copy_of, pieces_of(array))), array._committed)
    devices, semantics = [sharding._internal_device_list], [runtime.ArrayCopySemantics.ALWAYS_COPY]
    with copy_in_place():
        (moved,) = runtime.batched_copy_array_to_devices_with_sharding([array], devices, [sharding], semantics)
    return moved


def _addressable_data(self: Array, index: int) -> Any:
    """The piece on one of the devices of this process, by number."""
    shards = _shards(self)
    if not -len(shards) <= operator.index(index) < len(shards):
        raise IndexError(f"addressable_data: index {index} is out of range for an array with {len(shards)} pieces here")
    return shards[index].data


def _devices(self: Any) -> set[Any]:
    """The devices on which the array lies."""
    return set(self._sharding._internal_device_list)


def _device(self: Any) -> Any:
    devices = self._sharding._internal_device_list
    return devices[0] if len(devices) == 1 else self._sharding


# fmt: off
ATTRIBUTES: dict[str, Any] = {
    "shape": property(lambda self: self.aval.shape, doc="Tuple of lengths."),
    "dtype": property(lambda self: self.aval.dtype, doc="The elements' dtype."),
    "ndim": property(lambda self: self.aval.ndim, doc="Number of dimensions."),
    "size": property(lambda self: self.aval.size, doc="Number of elements."),
    "weak_type": property(lambda self: self.aval.weak_type, doc="Whether the dtype gives way to others of its kind."),
    "itemsize": property(lambda self: self.aval.dtype.itemsize, doc="Bytes per element."),
    "nbytes": property(lambda self: self.aval.size * self.aval.dtype.itemsize, doc="Bytes of all elements."),
    "sharding": property(lambda self: self._sharding, doc="How the array lies on its devices."),
    "committed": property(lambda self: self._committed, doc="Whether the array is bound to its devices."),
    "device": property(_device, doc="The device, or the sharding of an array over several."),
    "devices": _devices,
    "is_fully_addressable": property(lambda self: self._sharding._internal_device_list.is_fully_addressable,
                                     doc="Whether all devices of the array belong to this process."),
    "is_fully_replicated": property(lambda self: self._sharding.is_fully_replicated,
                                    doc="Whether each device has all elements."),
    "addressable_shards": property(boundary(_shards), doc="The pieces on devices of this process."),
    "global_shards": property(boundary(_global_shards), doc="The pieces on all devices."),
    "addressable_data": _addressable_data,
    "copy_to_host_async": _copy_to_host_async,
    "is_ready": _is_ready,
    "unsafe_buffer_pointer": _buffer_pointer,
    "__array__": _to_numpy, "__array_priority__": 100, "__len__": _len, "__bool__": _bool, "__int__": _int,
    "__float__": _float, "__complex__": _complex, "__index__": _index, "__repr__": _repr, "__str__": _str,
    "__format__": _format, "__reduce__": _reduce, "__deepcopy__": _deepcopy, "__hash__": None,
    "__copy__": copy_of,
}
# fmt: on


def attach(cls: type, table: dict[str, Any]) -> None:
    """Give a class the methods and attributes of a table; methods are boundaries."""
    for name, value in table.items():
        setattr(cls, name, bounded(value))


attach(ArrayImpl, ATTRIBUTES)
Array.__doc__ = ArrayImpl.__doc__ = """An array: elements of one dtype on one device or over several. It never changes.

    Arrays come from ``jnp.array``, ``jnp.zeros`` and other functions, not from this class, which is for ``isinstance`` and
    annotations; traced values count as arrays. Methods are the functions of ``arrax.numpy``, operators promote as these do, and
    ``x.at[index].set(value)`` gives an array with other elements.

    Example: ``isinstance(jnp.ones(3), arrax.Array)`` is True, under ``jit``, too.
    """


def item(array: Array, *index: int) -> Any:
    """One element as a Python scalar."""
    value = host_value(array)
    return value.item(*index)


def to_list(array: Array) -> list[Any]:
    """Nested lists of Python scalars."""
    return host_value(array).tolist()
