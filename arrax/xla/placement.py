"""Moving values: from the host to a device, between devices, back to the host."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from arrax import dtypes
from arrax.core.types import ShapedArray, elements_of, typeof
from arrax.native import runtime
from arrax.xla import compat, tilings
from arrax.xla.axis_orders import in_order, order_of
from arrax.xla.devices import default_device, device_list, single_sharding
from arrax.xla.transfer_guards import between_devices

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike


ArrayImpl = runtime.ArrayImpl
_put = runtime.batched_device_put  # with enable_x64: values have the dtypes of their types, whatever the setting is
Result = TypeVar("Result")


def array_from_host(
    value: Any,
    aval: ShapedArray | None = None,
    device: runtime.Device | None = None,
    committed: bool = False,
    fresh: bool = False,
) -> Any:
    """A device array with the elements of a host value.

    Args:
      value: ndarray, NumPy scalar or Python scalar.
      aval: its type; by default the canonical type of the value.
      fresh: True where nobody else holds the ndarray, which then needs no copy.
    """
    aval = typeof(value) if aval is None else aval
    device = default_device() if device is None else device
    if not isinstance(value, np.ndarray):
        value = elements_of(value)
    if aval.dtype == dtypes.float0:  # which programs take as bools
        aval, value = ShapedArray(aval.shape, np.bool_), np.zeros(aval.shape, np.bool_)
    if value.dtype != aval.dtype:
        with np.errstate(all="ignore"):
            value = value.astype(aval.dtype)
        fresh = True
    return _put(aval, single_sharding(device), [value], [device], committed, not fresh, enable_x64=True)


def as_arrays(values: Sequence[Any], device: runtime.Device | None = None) -> list[Any]:
    """Arrays and tracers as they are, numbers and NumPy's arrays as arrays on a device."""
    return [value if hasattr(value, "aval") else array_from_host(value, device=device) for value in values]


def check_live(array: Any) -> None:
    """Raise RuntimeError for an array whose buffer was deleted or donated: the runtime itself may crash on it."""
    if array.is_deleted():
        raise RuntimeError(f"Array has been deleted with shape={array.aval.str_short(False)}.")


def host_value(array: Any) -> np.ndarray:
    """The elements of a device array as a read-only ndarray, without a copy where the device is the CPU.

    Raises:
      RuntimeError: the array was deleted or donated, or some of its elements are on devices of other processes only.
    """
    check_live(array)
    cached = array._npy_value
    if cached is not None:
        return cached
    if isinstance(array._sharding, runtime.SingleDeviceSharding):
        value, copied = elements(array)
        if copied:
            array._npy_value = value
    else:
        array._npy_value = value = _assemble(array)
    value.flags.writeable = False
    return value


def elements(array: Any) -> tuple[np.ndarray, bool]:
    """The elements of an array on one device, and whether they were copied."""
    # The buffer protocol waits for a fresh result ten times faster than the call that also serves other devices. But it
    # ends the process where a result had no memory, which waiting raises; a scalar has some always.
    if array.aval.dtype.isbuiltin == 1 and array.platform() == "cpu":
        if array.aval.shape:
            array.block_until_ready()
        try:
            return np.asarray(memoryview(array)), False
        except BufferError:  # the call below raises what went wrong
            pass
    if not array._sharding._internal_device_list.is_fully_addressable:
        raise _elsewhere(array)
    return _with_modules(array._single_device_array_to_np_array_did_copy)


class _SingleShardings(types.ModuleType):
    """What the runtime looks for in vain, once per piece, where it makes arrays of an array's pieces or reads one."""

    @staticmethod
    def make_single_device_sharding(device: runtime.Device, memory_kind: str | None = None) -> runtime.Sharding:
        return single_sharding(device, memory_kind)


_PLACES = ("jax", "jax._src", "jax._src.sharding_impls")
_lent = dict(
    zip(
        _PLACES, (types.ModuleType(_PLACES[0]), types.ModuleType(_PLACES[1]), _SingleShardings(_PLACES[2])), strict=True
    )
)
_lent["jax"]._src = _lent["jax._src"]  # type: ignore[attr-defined]
_lent["jax._src"].sharding_impls = _lent["jax._src.sharding_impls"]  # type: ignore[attr-defined]
_lending = threading.Lock()


def _with_modules(action: Callable[[], Result]) -> Result:
    """What a call into the runtime gives which looks for a certain function in a certain module.

    Each call that does not find it searches all folders of ``sys.path``, which takes a tenth of a millisecond.
    """
    if any(name in sys.modules for name in _PLACES) or not _lending.acquire(blocking=False):
        return action()
    sys.modules.update(_lent)
    try:
        return action()
    finally:
        for name in _PLACES:
            sys.modules.pop(name, None)
        _lending.release()


def pieces_of(array: Any) -> list[Any]:
    """The pieces of an array, as arrays on one device each. The runtime keeps them."""
    pieces = _with_modules(lambda: array._arrays)
    if len(pieces) == 1 and not isinstance(pieces[0]._sharding, runtime.SingleDeviceSharding):  # the array itself
        (device,) = array._sharding._internal_device_list.addressable_device_list
        return [compat.make_array(array.aval, single_sharding(device), pieces, array._committed)]
    return pieces


def is_whole_here(array: Any) -> bool:
    """Whether the devices of this process have all elements of an array."""
    devices = array._sharding._internal_device_list
    return devices.is_fully_addressable or (array._sharding.is_fully_replicated and len(pieces_of(array)) > 0)


def _elsewhere(array: Any) -> RuntimeError:
    return RuntimeError(
        f"Fetching value for array of type {array.aval.str_short(True)} that spans non-addressable (non process local) "
        "devices is not possible: each process has its own pieces, array.addressable_shards. Use "
        "multihost_utils.process_allgather to fetch the whole."
    )


def _assemble(array: Any) -> np.ndarray:
    """The elements of an array over several devices."""
    pieces = pieces_of(array)
    if array._sharding.is_fully_replicated and pieces:
        return elements(pieces[0])[0]
    if not array._sharding._internal_device_list.is_fully_addressable:
        raise _elsewhere(array)
    out = np.empty(array.aval.shape, array.aval.dtype)
    for number, index in tilings.distinct_pieces(array._sharding, array.aval.shape):
        out[index] = elements(pieces[number])[0]
    return out


def copy_to_device(array: Any, device: Any, committed: bool, may_alias: bool = True) -> Array:
    """The array on another device (or the same, where it may then share its buffer)."""
    check_live(array)
    if order_of(array) is not None and array.devices() != {device}:  # the runtime copies bytes and forgets their order
        array = in_order(array, None)
    aval, sharding = array.aval, single_sharding(device)
    if len(array._sharding.device_set) == 1:
        if not isinstance(array._sharding, runtime.SingleDeviceSharding):
            (array,) = pieces_of(array)
        semantics = runtime.ArrayCopySemantics.REUSE_INPUT if may_alias else runtime.ArrayCopySemantics.ALWAYS_COPY
        (moved,) = runtime.batched_copy_array_to_devices_with_sharding(
            [array], [device_list((device,))], [sharding], [semantics]
        )
        if moved._committed == committed and moved.aval == aval:
            return moved
        (inner,) = pieces_of(moved)
        return compat.make_array(aval, sharding, [inner], committed)
    with between_devices(aval, array._sharding, sharding):
        return array_from_host(host_value(array), aval, device, committed)


def to_device_array(value: ArrayLike, device: Any = None) -> Any:
    """A device array for any concrete value; arrays stay as they are."""
    if type(value) is ArrayImpl:
        return value
    return array_from_host(value, None, device)
