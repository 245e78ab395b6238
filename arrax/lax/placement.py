"""Placing values on devices: ``device_put`` and copies, as operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from arrax import dtypes
from arrax.core.calls import in_call
from arrax.core.config import explicit_transfer
from arrax.core.explicit_axes import as_typed, explicit_sharding, placed_type
from arrax.core.interpreter import Primitive, Rounding, Tracer, context
from arrax.core.lengths import is_symbolic
from arrax.core.memory_spaces import MemorySpace
from arrax.core.meshes import mesh_state
from arrax.core.operand_memories import memories_as_typed
from arrax.core.partition_specs import PartitionSpec, spec_names
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.dtypes.wording import shown
from arrax.interpreters import reordering as _reordering  # noqa: F401  (lays arrays out anew)
from arrax.interpreters import resharding as _resharding  # noqa: F401  (moves pieces between devices)
from arrax.interpreters.batching import running_batch
from arrax.interpreters.lowering import sharding_text
from arrax.interpreters.placements import memories_of_primitive
from arrax.native import runtime
from arrax.xla import startup
from arrax.xla.annotations import OptionalDevice, Tree
from arrax.xla.arrays import Array, ArrayLike, copy_of
from arrax.xla.axis_orders import asked_order, in_order, note_asked
from arrax.xla.devices import single_sharding
from arrax.xla.distribution import naming_value, put_on
from arrax.xla.memories import HOST_KINDS, sharding_in
from arrax.xla.meshes import over_devices, physical_mesh, without_devices
from arrax.xla.placement import array_from_host, check_live, host_value
from arrax.xla.shardings import NamedSharding

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext

ArrayImpl = runtime.ArrayImpl

device_put_p = Primitive("device_put")
device_put_p.divides, device_put_p.memories = as_typed, memories_as_typed


def _type_rule(aval: ShapedArray, *, device: OptionalDevice) -> ShapedArray:
    if isinstance(device, MemorySpace):
        return aval.update(memory_space=device)
    return aval if device is None else placed_type(aval, target_sharding(device))


device_put_p.type_rule = _type_rule


def _jvp(primals: Sequence[Any], tangents: Sequence[Tangent], *, device: OptionalDevice) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = device_put_p.bind(x, device=device)
    return out, t if type(t) is Zero else device_put_p.bind(t, device=device)


device_put_p.jvp = _jvp
device_put_p.transpose = lambda ct, x, *, device: [slots.like(in_memory(ct, x.aval.memory_space), x.aval)]


def batched_spec(spec: PartitionSpec, aval: ShapedArray, dim: int, otherwise: Any) -> PartitionSpec:
    """The spec of all examples: explicit axes that divide the axis of these go on doing so, unless the spec names them."""
    names = aval.divided[dim]
    kept = names if names and set(names).isdisjoint(spec_names(spec)) else otherwise
    entries = [*spec, *[None] * (aval.ndim - 1 - len(spec))]
    entries.insert(dim, kept)
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries)


def _batch(values: Sequence[ArrayLike], dims: Any, *, device: Any) -> tuple[Any, int]:
    """A sharding is one of each example."""
    (x,), (dim,) = values, dims
    axis = running_batch().axis.spmd_name
    if isinstance(device, PartitionSpec):
        device = batched_spec(device, typeof(x), dim, axis)
    elif isinstance(device, NamedSharding) and spec_names(device.spec):
        spec = batched_spec(device.spec, typeof(x), dim, axis)
        device = NamedSharding(device.mesh, spec, memory_kind=device.memory_kind)
    return device_put_p.bind(x, device=device), dim


device_put_p.batch = _batch


def in_memory(x: Array, space: MemorySpace) -> Array:
    """The value, in a space of memory; a symbolic zero is in all."""
    if type(x) is Zero or typeof(x).memory_space is space:
        return x
    return device_put_p.bind(x, device=space)


def target_sharding(device: Any) -> runtime.Sharding | None:
    """The sharding that a device, sharding or spec (over the mesh in force) means, or None.

    The sharding of a type that no mesh divides says of no place.

    Raises:
      ValueError: something else.
    """
    if isinstance(device, NamedSharding) and device.mesh.empty:
        return None
    if device is None or isinstance(device, runtime.Sharding):
        return over_devices(device, physical_mesh())
    if isinstance(device, MemorySpace):  # wherever the value lies
        return None
    if isinstance(device, runtime.Device):
        return single_sharding(device)
    if isinstance(device, PartitionSpec):
        mesh = physical_mesh()
        if mesh is None:
            raise ValueError(
                in_call(f"the spec {device} needs a mesh in force (arrax.set_mesh); a NamedSharding carries its own")
            )
        return NamedSharding(mesh, device)
    formatted = isinstance(getattr(device, "sharding", None), runtime.Sharding)
    if formatted and not hasattr(device, "shape"):  # a format: layout and sharding; arrays have a sharding, too
        return device.sharding
    raise ValueError(
        in_call(
            f"expected a device or sharding or None, or a pytree of them, got {shown(device)} of type {type(device)}"
        )
    )


def _place(device: Any) -> runtime.Sharding | None:
    """The sharding of a concrete value that a target means, or None: one over devices.

    Raises:
      ValueError: it is over an abstract mesh, which in a program may be that of the program itself.
    """
    where = target_sharding(device)
    if isinstance(where, NamedSharding) and where.mesh._internal_device_list is None:
        raise ValueError(
            f"{device} is over {without_devices(where.mesh)}; put one with devices in force by arrax.set_mesh"
        )
    return where


def check_out_sharding(value: Any) -> None:
    """Refuse what does not say how results are divided over devices.

    Raises:
      TypeError: neither a sharding nor a PartitionSpec.
    """
    if not isinstance(value, runtime.Sharding | PartitionSpec):
        raise TypeError(
            in_call(
                f"out_sharding must be None, a sharding or a PartitionSpec, got {shown(value)} of type {type(value)}"
            )
        )


def of_rank(place: Any, rank: int) -> Any:
    """A sharding or spec as one of values with so many axes: entries beyond these say nothing where they are None."""
    spec = place.spec if isinstance(place, NamedSharding) else place
    if not isinstance(spec, PartitionSpec) or len(spec) <= rank or any(entry is not None for entry in spec[rank:]):
        return place
    spec = spec.update(partitions=spec[:rank])
    return place.with_spec(spec) if isinstance(place, NamedSharding) else spec


def refuse_uneven(sharding: runtime.Sharding, aval: ShapedArray) -> None:
    """Refuse a sharding whose explicit axes do not divide a value evenly, as its type would say that they do.

    Raises:
      ValueError: a length is no multiple of the number of pieces.
    """
    explicit = explicit_sharding(sharding, aval.ndim)
    if explicit is not None and not any(map(is_symbolic, aval.shape)):
        explicit.shard_shape(aval.shape)


def refuse_per_device(function: str, sharding: NamedSharding) -> None:
    """Refuse a sharding that divides values of a program per device: each device has its own.

    Raises:
      ValueError: it names an axis over which the program is per device, or axes of another mesh.
    """
    mesh, names = mesh_state().abstract, spec_names(sharding.spec)
    if not mesh.manual_axes or not names:
        return
    if not set(names).isdisjoint(mesh.manual_axes):
        raise ValueError(
            f"{function}: {sharding.spec} names an axis of {mesh.manual_axes}, over which the program is per device: there "
            "each device has its own values"
        )
    if sharding.mesh.shape_tuple != mesh.shape_tuple:
        raise ValueError(
            f"{function}: the program is per device over {mesh.manual_axes} of {mesh}, but {sharding} is one over another mesh"
        )


def put_value(x: ArrayLike, device: OptionalDevice, may_alias: bool = True) -> Any:
    """One concrete value on a device or over several; without one, placed data stays where it is."""
    if isinstance(device, MemorySpace):
        device = sharding_in(device, x)
    where = _place(device)
    if hasattr(x, "on_device"):  # key arrays
        return x.on_device(device)
    if where is not None:
        order = asked_order(getattr(device, "layout", None), np.ndim(x))
        out = put_on(x, where, may_alias=may_alias)
        return out if device is where else in_order(out, order)
    if type(x) is ArrayImpl:
        return x if may_alias else copy_of(x)
    return array_from_host(x, None, None, False)


device_put_p.impl = lambda x, *, device: put_value(x, device)


def _lower(ctx: LoweringContext, x: Value, *, device: OptionalDevice) -> list[Value]:
    """In a program for several devices a sharding is a constraint; where it runs is settled outside."""
    where = target_sharding(device)
    if where is None or ctx.module_context.num_devices == 1 or where.num_devices == 1:
        return [x]
    return [sharding_text.constrain(ctx.module_context, x, where)]


device_put_p.lower[None] = _lower


def memory_of(device: OptionalDevice) -> Any:
    """The memory that a target of ``device_put`` names: a space, or a kind other than that of devices; else None."""
    if isinstance(device, MemorySpace):
        return device
    kind = getattr(device, "memory_kind", None)
    return kind if kind in HOST_KINDS else None


memories_of_primitive[device_put_p] = lambda params: memory_of(params["device"])


@overload
def device_put(
    x: ArrayLike, device: Any = ..., *, src: Any = ..., donate: bool = ..., may_alias: Any = ...
) -> Array: ...
@overload
def device_put(x: Tree, device: Any = ..., *, src: Any = ..., donate: bool = ..., may_alias: Any = ...) -> Tree: ...
def device_put(x: Any, device: Any = None, *, src: Any = None, donate: bool = False, may_alias: Any = None) -> Any:
    """Put an array, or all leaves of a pytree, on a device or over several; with one given, the result is committed.

    Args:
      x: array or pytree of arrays and numbers.
      device: device or sharding (or, with a mesh in force, PartitionSpec), a Format (with the order of axes in memory), a
        ``memory.Space``, or a tree prefix of ``x`` of them; None leaves placed data alone.
      src: accepted, without effect.
      donate: give up the arrays: they are deleted where the result does not share their buffers. May be a tree prefix.
      may_alias: False for results with buffers of their own. May be a tree prefix.
    Returns: a pytree of arrays on the device.
    Raises:
      ValueError: something else than devices, a sharding that does not fit a shape, or ``donate`` with ``may_alias``.
      TypeError: leaves that are not arrays.
    Example: ``arrax.device_put(1., arrax.devices()[0])``.
    """
    leaves, tree = tree_flatten(x)
    targets = _per_leaf("device", device, x, len(leaves))
    given = _per_leaf("donate", donate, x, len(leaves))
    aliases = _per_leaf("may_alias", may_alias, x, len(leaves))
    for gives, alias in zip(given, aliases, strict=True):
        if gives and alias:
            raise ValueError("device_put: may_alias and donate cannot both be True")
    with explicit_transfer("put"):
        return tree_unflatten(tree, list(map(_put, leaves, targets, given, aliases)))


def _per_leaf(argument: str, value: Any, x: Any, count: int) -> list[Any]:
    """One entry per leaf of ``x`` from a tree prefix."""
    if value is None or isinstance(value, bool | runtime.Device | runtime.Sharding | PartitionSpec | MemorySpace):
        return [value] * count
    return named_broadcast_prefix(f"device_put {argument}", value, x, is_leaf=lambda entry: entry is None)


def _agree_on_value(x: Any, device: Any) -> None:
    """Refuse a value that is put on devices of several processes and is not the same in all of them.

    Raises:
      AssertionError: it is not.
    """
    where = _place(device)
    if where is None or where.num_devices == 1 or where.is_fully_addressable:
        return
    if type(x) is not ArrayImpl or x.is_fully_addressable:
        value = np.asarray(getattr(x, "_base_array", x))
        for agree in startup.before_puts:
            agree(value, where._internal_device_list)


def _put(x: Any, device: Any, donate: bool = False, may_alias: bool | None = None) -> ArrayLike:
    if not isinstance(x, Tracer) and getattr(x, "__jax_array__", None) is not None and type(x) is not ArrayImpl:
        x = x.__jax_array__()
    if typeof(x).dtype == dtypes.float0:  # it has no elements that could lie anywhere
        return x
    if target_sharding(device) is None and not isinstance(device, MemorySpace):
        device = None
    if isinstance(x, Tracer) or not context.interpreter.is_evaluation:
        if memory_of(device) is not None:
            note_asked()
        if isinstance(device, NamedSharding | PartitionSpec):
            where = cast(NamedSharding, target_sharding(device))
            refuse_per_device("device_put", where)
            with naming_value(typeof(x), where):
                where.check_compatible_aval(typeof(x).shape)
                refuse_uneven(where, typeof(x))
        out = device_put_p.bind(x, device=device)
        return copy(out) if may_alias is False else out
    if type(x) is ArrayImpl:
        check_live(x)
    _agree_on_value(x, device)
    donate = donate and type(x) is ArrayImpl
    out = put_value(x, device, may_alias is not False and not donate)
    if donate:
        out.block_until_ready()
        x.delete()
    return out


def own_sharding(x: Any, shape: tuple[int, ...]) -> Any:
    """The sharding of an array that is committed to it, if one of ``shape`` can have it, too; else None."""
    if not context.interpreter.is_evaluation:
        return None
    if type(x) is not ArrayImpl and hasattr(x, "__jax_array__") and not isinstance(x, Tracer) and not is_symbolic(x):
        x = x.__jax_array__()
    if type(x) is not ArrayImpl or not x._committed:
        return None
    single = isinstance(x._sharding, runtime.SingleDeviceSharding)
    return x._sharding if single or x.aval.shape == tuple(shape) else None


@overload
def device_get(x: Array) -> np.ndarray: ...
@overload
def device_get(x: Any) -> Any: ...
def device_get(x: Any) -> Any:
    """All leaves of a pytree as NumPy arrays on the host; traced values and what is not an array stay as they are.

    Args:
      x: pytree of arrays.
    Example: ``arrax.device_get(jnp.ones(2))`` is a ``numpy.ndarray``.
    """
    leaves, tree = tree_flatten(x)
    with explicit_transfer("get"):
        for leaf in leaves:
            if type(leaf) is ArrayImpl and leaf._npy_value is None and not leaf.is_deleted():
                leaf.copy_to_host_async()
        return tree_unflatten(tree, [_get(leaf) for leaf in leaves])


def _get(leaf: Any) -> np.ndarray:
    if type(leaf) is ArrayImpl:
        return host_value(leaf)
    if isinstance(leaf, Tracer) or hasattr(leaf, "on_device"):  # traced values stay; key arrays are no NumPy arrays
        return leaf
    return np.asarray(leaf) if hasattr(leaf, "__array__") else leaf


copy_p = Primitive("copy", rounding=Rounding.NONE)
copy_p.type_rule, copy_p.divides = lambda aval: aval, as_typed
copy_p.lower[None] = lambda ctx, x: [x]
copy_p.impl = lambda x: copy_of(x) if type(x) is ArrayImpl else array_from_host(x)
copy_p.jvp = lambda primals, tangents: (
    copy_p.bind(*primals), tangents[0] if type(tangents[0]) is Zero else copy_p.bind(*tangents)
)  # fmt: skip
copy_p.transpose = lambda ct, x: [ct]
copy_p.batch = lambda values, dims: (copy_p.bind(*values), dims[0])


def copy(x: Array) -> Array:
    """A copy of an array with a buffer of its own."""
    return context.interpreter.process(copy_p, (x,), {})
