"""Arrays over several devices: cutting values into pieces, moving pieces between devices, putting pieces together."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import called_function
from arrax.core.explicit_axes import placed_type
from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import ShapedArray, elements_of, typeof
from arrax.native import runtime
from arrax.xla import compat
from arrax.xla.arrays import Array, copy_of
from arrax.xla.axis_orders import in_order, order_of
from arrax.xla.devices import single_sharding
from arrax.xla.meshes import physical_mesh
from arrax.xla.placement import array_from_host, check_live, copy_to_device, host_value, is_whole_here, pieces_of
from arrax.xla.transfer_guards import between_devices

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike


ArrayImpl = runtime.ArrayImpl
SingleDeviceSharding = runtime.SingleDeviceSharding
Shape = tuple[int, ...]
_put = runtime.batched_device_put  # with enable_x64: values have the dtypes of their types, whatever the setting is
_COPY = {True: runtime.ArrayCopySemantics.REUSE_INPUT, False: runtime.ArrayCopySemantics.ALWAYS_COPY}


def put_on(
    value: ArrayLike, sharding: runtime.Sharding, aval: ShapedArray | None = None, may_alias: bool = True
) -> Array:
    """A committed array with the elements of a value, laid out by a sharding.

    Args:
      value: device array, ndarray or number.
      aval: its type; by default the canonical type of the value.
      may_alias: whether the result may share buffers with ``value``.
    Raises:
      ValueError: the sharding does not fit the shape. RuntimeError: the array was deleted.
    """
    if type(value) is ArrayImpl:
        return _moved(value, sharding, may_alias)
    aval = typeof(value) if aval is None else aval
    if isinstance(sharding, SingleDeviceSharding):
        if sharding.memory_kind == single_sharding(sharding._device).memory_kind:
            return array_from_host(value, aval, sharding._device, True)
    return from_host(elements_of(value), sharding, aval)


def everywhere(array: Any) -> runtime.Sharding:
    """The sharding by which all devices of an array have all of it."""
    own = array._sharding
    if isinstance(own, SingleDeviceSharding):
        return own
    if isinstance(own, runtime.NamedSharding):
        return runtime.NamedSharding(own.mesh, PartitionSpec(), memory_kind=own.memory_kind)
    return runtime.GSPMDSharding(
        own._internal_device_list, runtime.HloSharding.replicate(), memory_kind=own.memory_kind
    )


def whole_where_bound(values: Iterable[Any]) -> runtime.Sharding | None:
    """The sharding by which all devices have all of a result to which one of these values is committed; None if none is."""
    bound = next((value for value in values if type(value) is ArrayImpl and value._committed), None)
    return None if bound is None else everywhere(bound)


def whole_here(value: Any) -> Any:
    """A value whose elements this process has, all of them; pieces that others have are gathered, which all take part in."""
    return value if type(value) is not ArrayImpl or is_whole_here(value) else put_on(value, everywhere(value))


def place_argument(value: Any, sharding: Any, layout: Any) -> Any:
    """What the C++ call path asks for an argument that does not lie as the program takes it."""
    placed = put_on(value, sharding)
    return placed if layout is None else in_order(placed, layout.order)


def from_host(value: np.ndarray, sharding: runtime.Sharding, aval: ShapedArray) -> Array:
    """An array whose pieces are cut from a host array that every process has."""
    if value.dtype != aval.dtype:
        with np.errstate(all="ignore"):
            value = value.astype(np.bool_ if aval.dtype == dtypes.float0 else aval.dtype)
    with naming_value(aval, sharding):
        devices, indices, shared = _cut(sharding, aval.shape)
    # The runtime copies pieces, but fails where some devices share one: then each gets memory of its own from here.
    pieces = [value[index].copy() for index in indices] if shared else [value[index] for index in indices]
    return _put(placed_type(aval, sharding), sharding, pieces, devices, True, not shared, enable_x64=True)


@functools.lru_cache(4096)
def _cut(sharding: runtime.Sharding, shape: Shape) -> tuple[list[Any], list[tuple[slice, ...]], bool]:
    """The devices here, the piece that each holds, and whether some hold the same one, though not all of them the whole."""
    sharding.check_compatible_aval(shape)
    pieces = sharding.addressable_devices_indices_map(shape)
    distinct = len({index_key(index) for index in pieces.values()})
    return list(pieces), list(pieces.values()), distinct < len(pieces) and not sharding.is_fully_replicated


class naming_value(contextlib.AbstractContextManager):
    """Context manager: errors about a sharding's fit say for which value it was meant.

    Args:
      function: which function asks for it; by default the one that the user called.
    """

    def __init__(self, aval: ShapedArray, sharding: Any, function: str | None = None) -> None:
        self.aval, self.sharding, self.function = aval, sharding, function

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, ValueError) and "One of " not in str(error):
            raise type(error)(
                f"One of {self.function or called_function()} args, of type {self.aval.str_short(True)}, is incompatible with its sharding annotation "
                f"{self.sharding}: {error}"
            ) from None


def _moved(array: Any, sharding: Any, may_alias: bool) -> Any:
    check_live(array)
    aval, source = array.aval, array._sharding
    if source is sharding and array._committed and may_alias:
        return array
    if order_of(array) is not None and source != sharding:  # the runtime copies bytes and forgets their order
        array = in_order(array, None)
    with naming_value(aval, sharding):
        sharding.check_compatible_aval(aval.shape)
        alike = _lies_alike(source, sharding, aval.shape)
    if alike and not may_alias and not source._internal_device_list.is_fully_addressable:
        return _moved(copy_of(array), sharding, may_alias=True)
    if alike:
        devices = sharding._internal_device_list
        (moved,) = runtime.batched_copy_array_to_devices_with_sharding(
            [array], [devices], [sharding], [_COPY[may_alias]]
        )
        typed = placed_type(aval, sharding)
        if moved._committed and typed is aval:
            return moved
        return compat.make_array(typed, sharding, list(pieces_of(moved)), True)
    if isinstance(sharding, SingleDeviceSharding) and isinstance(source, SingleDeviceSharding):
        return copy_to_device(array, sharding._device, True, may_alias)
    recut = _recut(array, sharding)
    return recut if may_alias else copy_of(recut)


@functools.lru_cache(4096)
def _lies_alike(source: runtime.Sharding, target: runtime.Sharding, shape: Shape) -> bool:
    """Whether the n-th devices of two shardings hold the same piece, for all n; if the devices are the same, in one order."""
    target.shard_shape(shape)  # raises where it does not fit
    if source.num_devices != target.num_devices:
        return False
    if source._internal_device_list == target._internal_device_list and not same_order(source, target):
        return False
    return list(source.devices_indices_map(shape).values()) == list(target.devices_indices_map(shape).values())


@functools.lru_cache(4096)
def same_order(first: runtime.Sharding, second: runtime.Sharding) -> bool:
    """Whether two shardings list their devices in the same order."""
    return list(first._internal_device_list) == list(second._internal_device_list)


@functools.lru_cache(4096)
def _equal_pieces(source: Any, target: Any, shape: Shape) -> tuple[int, ...] | None:
    """For each device here of a sharding, which of the pieces here under another one equals its own; None without such."""
    there: dict[tuple, dict[Any, int]] = {}
    for number, (device, index) in enumerate(source.addressable_devices_indices_map(shape).items()):
        there.setdefault(index_key(index), {})[device] = number
    wanted = target.addressable_devices_indices_map(shape)
    if any(index_key(index) not in there for index in wanted.values()):
        return None
    found = [(device, there[index_key(index)]) for device, index in wanted.items()]
    return tuple(equal.get(device, next(iter(equal.values()))) for device, equal in found)


def index_key(index: Sequence[slice]) -> tuple:
    """A piece's place as something hashable."""
    return tuple((s.start, s.stop) for s in index)


movers: list[Callable[[Any, Any], Any]] = []  # what moves pieces between devices: see interpreters/resharding.py


def _recut(array: Any, sharding: Any) -> Any:
    """The array in other pieces: each is taken from a device that has it, or is cut from the whole."""
    aval, shape, source = array.aval, array.aval.shape, array._sharding
    same_devices = source.num_devices == sharding.num_devices > 1 and same_order(source, sharding)
    far = not source.is_fully_addressable or not sharding.is_fully_addressable
    if same_devices and (far or source._internal_device_list[0].platform != "cpu"):
        return movers[0](array, sharding)
    if far and not source.is_fully_replicated:
        raise ValueError(
            f"device_put: an array over the devices of several processes can only be moved to a sharding over the same devices "
            f"in the same order, but {source} and {sharding} have others"
        )
    numbers = _equal_pieces(source, sharding, shape)
    if numbers is not None:
        pieces = pieces_of(array)
        devices = list(sharding._internal_device_list.addressable_device_list)
        return _put(placed_type(aval, sharding), sharding, [pieces[number] for number in numbers], devices, True)
    with between_devices(aval, source, sharding):
        return from_host(host_value(array), sharding, aval)


# ---- arrays from pieces ----------------------------------------------------------------------------------------------


def make_array_from_callback(
    shape: Shape, sharding: Any, data_callback: Callable[[Any], Any], dtype: Any = None
) -> Array:
    """An array each of whose pieces a function gives.

    Args:
      shape: of the whole array.
      sharding: how it is laid out; the pieces on devices of this process are asked for.
      data_callback: from a piece's index, a tuple of slices, to its elements.
      dtype: of the elements; by default that of the pieces.
    Raises:
      ValueError: a piece of another shape than the sharding asks for, or of another dtype.
    Example: ``make_array_from_callback((8,), x.sharding, lambda index: np.arange(8)[index])``.
    """
    shape = tuple(int(size) for size in shape)
    _check_sharding("make_array_from_callback", sharding)
    wanted = sharding.addressable_devices_indices_map(shape)
    made: dict[tuple, Any] = {}
    pieces = []
    for index in wanted.values():
        key = index_key(index)
        if key not in made:
            made[key] = data_callback(index)
        pieces.append(made[key])
    if dtype is None:
        if not pieces:
            raise ValueError("make_array_from_callback: no device is in this process, so a dtype must be given")
        dtype = typeof(pieces[0]).dtype
    if dtypes.is_extended(dtype):
        return dtype.wrap(  # type: ignore[attr-defined]
            _assembled_keys(shape, sharding, pieces, dtype)
        )
    aval = placed_type(ShapedArray(shape, dtypes.canonicalize_dtype(dtype)), sharding)
    expected = sharding.shard_shape(shape)
    for piece in pieces:
        if hasattr(piece, "dtype") and dtypes.canonicalize_dtype(piece.dtype) != aval.dtype:
            raise ValueError(
                f"make_array_from_callback: dtype is {aval.dtype.name}, but data_callback returned {piece.dtype.name}"
            )
    values = [piece if type(piece) is ArrayImpl else np.asarray(piece, aval.dtype) for piece in pieces]
    for value in values:
        _check_piece(aval, sharding, expected, value.shape)
    values = [value if value.dtype == aval.dtype else np.asarray(value).astype(aval.dtype) for value in values]
    values = [
        value if isinstance(value, np.ndarray) else copy_to_device(value, d, True)
        for value, d in zip(values, wanted, strict=True)
    ]
    values = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
    return _put(aval, sharding, values, list(wanted), True, enable_x64=True)


def _assembled_keys(shape: Shape, sharding: Any, pieces: Sequence[Any], dtype: Any) -> Any:
    words = iter([piece._base_array for piece in pieces])
    # The words have the sharding of the keys: it says how the leading axes are divided, and their own axis is not.
    return make_array_from_callback((*shape, *dtype.physical_shape), sharding, lambda index: next(words))


def _check_sharding(function: str, sharding: Any) -> None:
    if not isinstance(sharding, runtime.Sharding):
        raise TypeError(f"{function}: `sharding` must be a Sharding, got {sharding!r} of type {type(sharding)}")


def _check_piece(aval: ShapedArray, sharding: Any, expected: Shape, shape: Shape) -> None:
    if tuple(shape) != expected:
        raise ValueError(
            f"Expected shard shape {expected} doesn't match the single device array shape {tuple(shape)}. Shape of Array is "
            f"{aval.str_short(False)} with sharding {sharding}"
        )


def make_array_from_single_device_arrays(
    shape: Shape, sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Array:
    """An array whose pieces are arrays that lie on their devices already.

    Args:
      shape: of the whole array.
      sharding: how it is laid out.
      arrays: one per device of this process, in any order.
      dtype: of the elements; needed where this process has no device.
    Raises:
      TypeError: something else than a list of arrays.
      ValueError: another number of arrays, or one of another shape or dtype, or on another device.
    Example: ``make_array_from_single_device_arrays(x.shape, x.sharding, [s.data for s in x.addressable_shards])``.
    """
    shape = tuple(int(size) for size in shape)
    _check_sharding("make_array_from_single_device_arrays", sharding)
    if not isinstance(arrays, list | tuple):
        raise TypeError(f"make_array_from_single_device_arrays: arrays must be a list or tuple, got {type(arrays)}")
    if arrays and hasattr(arrays[0], "_base_array"):
        kind = arrays[0].dtype
        words = make_array_from_single_device_arrays(
            (*shape, *kind.physical_shape), sharding, [a._base_array for a in arrays]
        )
        return kind.wrap(words)
    for array in arrays:
        if type(array) is not ArrayImpl:
            raise TypeError(f"make_array_from_single_device_arrays: unsupported type of an element: {type(array)}")
        check_live(array)
    wanted = list(sharding.addressable_devices_indices_map(shape))
    if len(arrays) != len(wanted):
        raise ValueError(
            f"Expected {len(wanted)} per-device arrays (this is how many devices are addressable by the sharding), but "
            f"got {len(arrays)}"
        )
    aval = ShapedArray(shape, arrays[0].dtype if dtype is None else dtypes.canonicalize_dtype(dtype))
    expected = sharding.shard_shape(shape)
    found: dict[Any, Any] = {}
    for array in arrays:
        _check_piece(aval, sharding, expected, array.shape)
        if array.dtype != aval.dtype:
            raise ValueError(f"Input buffers to `Array` must have matching dtypes: got {array.dtype} and {aval.dtype}")
        (device,) = array.devices()
        found[device] = array
    missing = [device for device in wanted if device not in found]
    if missing:
        raise ValueError(
            f"Addressable devices and per-device arrays devices do not match: no array lies on {missing}, which the "
            f"sharding {sharding} asks for; arrays lie on {list(found)}"
        )
    if isinstance(sharding, SingleDeviceSharding):
        return copy_to_device(arrays[0], sharding._device, True)
    return compat.make_array(placed_type(aval, sharding), sharding, [found[device] for device in wanted], True)


def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None) -> Array:
    """An array of which each process gives the part that its devices hold.

    Args:
      sharding: how the whole is laid out: a sharding, or a PartitionSpec over the mesh in force; for a pytree of parts a
        tree prefix of it.
      local_data: the part of this process: the box that the pieces on its devices span, or the whole array; or a pytree of
        parts.
      global_shape: of the whole; None (for all or for one axis) where it follows from the local lengths. For a pytree of
        parts a pytree of shapes, or None.
    Returns: an array, or a pytree of arrays like ``local_data``.
    Raises:
      ValueError: lengths that do not fit.
    Example: ``make_array_from_process_local_data(x.sharding, np.asarray(x))`` in a single process.
    """
    leaves, tree = tree_flatten(local_data)
    if len(leaves) == 1 and leaves[0] is local_data:
        return _from_local_data(sharding, local_data, global_shape)
    name = "make_array_from_process_local_data sharding"
    shardings = named_broadcast_prefix(name, sharding, local_data, _is_sharding)
    shapes = [None] * len(leaves) if global_shape is None else tree.flatten_up_to(global_shape)
    return tree_unflatten(tree, list(map(_from_local_data, shardings, leaves, shapes)))


def _is_sharding(entry: Any) -> bool:
    return isinstance(entry, runtime.Sharding | PartitionSpec)


def _from_local_data(sharding: Any, local_data: Any, global_shape: Any) -> Any:
    mesh = physical_mesh()
    if isinstance(sharding, PartitionSpec) and mesh is not None:
        sharding = runtime.NamedSharding(mesh, sharding)
    _check_sharding("make_array_from_process_local_data", sharding)
    local = local_data if hasattr(local_data, "shape") else np.asarray(local_data)
    sharding.check_compatible_aval(local.shape)
    given = (None,) * local.ndim if global_shape is None else tuple(global_shape)
    if len(given) != local.ndim:
        raise ValueError(
            f"make_array_from_process_local_data: global_shape {given} must have the rank of the data of shape {local.shape}"
        )
    shape = tuple(_global_length(sharding, local, axis, size) for axis, size in enumerate(given))
    offsets = []
    for axis, size in enumerate(shape):
        start, stop = _local_span(sharding, shape, axis)
        if local.shape[axis] not in (size, stop - start):
            raise ValueError(
                f"make_array_from_process_local_data: axis {axis} of the data has length {local.shape[axis]}, which is neither "
                f"the global length {size} nor that of this process, {stop - start} (sharding {sharding})"
            )
        offsets.append(0 if local.shape[axis] == size else start)

    def piece(index: Sequence[slice]) -> Any:
        return local[
            tuple(
                slice((s.start or 0) - offset, (n if s.stop is None else s.stop) - offset)
                for s, n, offset in zip(index, shape, offsets, strict=True)
            )
        ]

    return make_array_from_callback(shape, sharding, piece)


def _local_span(sharding: Any, shape: Shape, axis: int) -> tuple[int, int]:
    """Where the pieces of this process begin and end along an axis."""
    pieces = [index[axis] for index in sharding.addressable_devices_indices_map(shape).values()]
    return min(s.start or 0 for s in pieces), max(shape[axis] if s.stop is None else s.stop for s in pieces)


def _global_length(sharding: Any, local: Any, axis: int, size: int | None) -> int:
    """The whole length of an axis: the local one times the number of processes that divide it."""
    if size is not None:
        return int(size)
    whole = list(sharding.devices_indices_map(_unit_shape(sharding, local.ndim)).items())
    here = set(sharding.addressable_devices)
    parts = {(i[axis].start, i[axis].stop) for _, i in whole}
    mine = {(i[axis].start, i[axis].stop) for device, i in whole if device in here}
    if len(mine) == 0 or len(parts) % len(mine):
        raise ValueError(f"make_array_from_process_local_data: global_shape must be given for {sharding}")
    return local.shape[axis] * len(parts) // len(mine)


def _unit_shape(sharding: Any, rank: int) -> Shape:
    """A shape that a sharding divides, whatever its spec."""
    return (sharding.num_devices,) * rank
