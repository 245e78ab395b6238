"""Small eager data movement on the host: no compilation per new index or shape, bit for bit what compiled code gives.

Data movement (indexing, slicing, reshaping, joining, creating) of small arrays on the CPU runs as NumPy operations on the
arrays' own buffers; the result goes back with one put. Everything else, larger arrays, other devices, several devices,
traces, and guarded transfers take the compiled route.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.interpreter import context
from arrax.core.lengths import is_symbolic
from arrax.core.memory_spaces import MemorySpace
from arrax.core.types import ShapedArray
from arrax.native import runtime
from arrax.xla.arrays import Array
from arrax.xla.devices import default_device, single_sharding
from arrax.xla.placement import elements

ArrayImpl = runtime.ArrayImpl
SingleDeviceSharding = runtime.SingleDeviceSharding
MAX_ELEMENTS = 1 << 16
_DEVICE = MemorySpace.Device
_put = runtime.batched_device_put  # with enable_x64: values have the dtypes of their types, whatever the setting is
_guard = config.transfer_guard_host_to_device.cell


def evaluating() -> bool:
    """True where operations run at once and the default device is a CPU whose transfers are not guarded."""
    return context.interpreter.is_evaluation and _guard.value is None and default_device().platform == "cpu"


def on_host(array: Any) -> bool:
    """True for a small live array on one CPU device, where plain evaluation is current."""
    return type(array) is ArrayImpl and array.aval.size <= MAX_ELEMENTS and on_cpu(array)


def on_cpu(array: Any) -> bool:
    """True for a live array on one CPU device of this process, where plain evaluation is current."""
    return (
        context.interpreter.is_evaluation
        and type(array._sharding) is SingleDeviceSharding
        and array._sharding._device.platform == "cpu"
        and array._sharding._internal_device_list.is_fully_addressable
        and _guard.value is None
        and array.aval.memory_space is _DEVICE
        and not array.is_deleted()
    )


def fits(*shape: int) -> bool:
    """Whether a result of a shape is one of the small arrays that are made on the host."""
    size = math.prod(shape)
    return not is_symbolic(size) and size <= MAX_ELEMENTS


def view(array: Any) -> np.ndarray:
    """The elements of an array on the host, not to be written to."""
    if array.aval.dtype.isbuiltin == 1:
        return np.asarray(array)  # the buffer protocol: it waits for fresh results faster
    return elements(array)[0]


def back(value: np.ndarray, like: Any, weak_type: bool | None = None, fresh: bool = False) -> Array:
    """A device array with the elements of ``value``, placed like ``like``.

    Args:
      fresh: nobody else holds the memory of ``value``.
    """
    sharding = like._sharding
    weak = like.aval.weak_type if weak_type is None else weak_type
    aval = ShapedArray(value.shape, value.dtype, weak)
    return _put(aval, sharding, [value], [sharding._device], like._committed, not fresh, enable_x64=True)


def new(value: np.ndarray, weak_type: bool = False) -> Any:
    """A fresh, uncommitted device array with the elements of a host array that nobody else holds; float0 stays on the host."""
    if value.dtype == dtypes.float0:
        return np.zeros(value.shape, dtypes.float0)
    device = default_device()
    aval = ShapedArray(value.shape, value.dtype, weak_type)
    must_copy = not value.ndim  # a number gets memory of the runtime, which takes it for a result where it is donated
    return _put(aval, single_sharding(device), [value], [device], False, must_copy, enable_x64=True)


def common_like(arrays: Sequence[Any]) -> Any:
    """The array whose placement a result of several takes: a committed one where there is one. None if they differ."""
    first = arrays[0]
    for array in arrays[1:]:
        if array._committed:
            if first._committed and array._sharding != first._sharding:
                return None
            first = array if not first._committed else first
        elif array._sharding != first._sharding and not first._committed:
            return None
    return first
