"""Constraints on how intermediate values lie over devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.explicit_axes import as_typed, explicit_sharding, placed_type
from arrax.core.interpreter import Primitive, Tracer, context
from arrax.core.meshes import mesh_state
from arrax.core.operand_memories import memories_of_operands
from arrax.core.partition_specs import PartitionSpec, entry_names, free_entry, spec_names
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.interpreters.batching import running_batch
from arrax.interpreters.lowering import sharding_text
from arrax.interpreters.placements import placements_of_primitive
from arrax.lax.layout_constraints import with_order
from arrax.lax.operand_checks import checked_operand
from arrax.lax.placement import batched_spec, device_put_p, put_value, refuse_per_device, refuse_uneven
from arrax.native import runtime
from arrax.xla.annotations import Tree
from arrax.xla.axis_orders import asked_order
from arrax.xla.distribution import naming_value
from arrax.xla.meshes import over_devices, physical_mesh
from arrax.xla.tilings import with_axis

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.xla.arrays import ArrayLike

NamedSharding = runtime.NamedSharding

sharding_constraint_p = Primitive("sharding_constraint")
sharding_constraint_p.type_rule = lambda aval, *, sharding, **params: placed_type(aval, sharding)
sharding_constraint_p.divides, sharding_constraint_p.memories = as_typed, memories_of_operands
sharding_constraint_p.impl = lambda x, *, sharding, **params: put_value(x, _settled(x, sharding))
sharding_constraint_p.transpose = lambda ct, x, **params: [
    Zero(x.aval) if type(ct) is Zero else slots.like(sharding_constraint_p.bind(ct, **params), x.aval)
]
placements_of_primitive[sharding_constraint_p] = lambda params: params["sharding"]
placements_of_primitive[device_put_p] = lambda params: _sharding_of_device(params["device"])


def _sharding_of_device(device: runtime.Device | None) -> Any:
    """The sharding over several devices that an operand of ``device_put`` in a program is given, or None."""
    return device if isinstance(device, runtime.Sharding) and device.num_devices > 1 else None


def _settled(x: ArrayLike, sharding: runtime.Sharding) -> runtime.Sharding:
    """The sharding of a concrete value that obeys a constraint: axes that are free stay divided as they are, where they can."""
    sharding = over_devices(sharding, physical_mesh(), getattr(getattr(x, "sharding", None), "mesh", None))
    if not isinstance(sharding, NamedSharding) or PartitionSpec.UNCONSTRAINED not in sharding.spec:
        return sharding
    lies = getattr(x, "sharding", None)
    own = tuple(lies.spec) if isinstance(lies, NamedSharding) and lies.mesh == sharding.mesh else ()
    taken, entries = set(spec_names(sharding.spec)), []
    for axis, entry in enumerate(sharding.spec):
        if entry is PartitionSpec.UNCONSTRAINED:
            entry = own[axis] if axis < len(own) and taken.isdisjoint(entry_names(own[axis])) else None
        entries.append(entry)
    while entries and entries[-1] is None:
        entries.pop()
    return NamedSharding(sharding.mesh, PartitionSpec(*entries), memory_kind=sharding.memory_kind)


def _batch(values: Sequence[ArrayLike], dims: Any, *, sharding: Any, **params: Any) -> tuple[Any, int]:
    (x,), (dim,) = values, dims
    entry = running_batch().axis.spmd_name
    aval = typeof(x)
    if isinstance(sharding, NamedSharding):
        spec = batched_spec(sharding.spec, aval, dim, free_entry(sharding.mesh) if entry is None else entry)
        sharding = NamedSharding(sharding.mesh, spec, memory_kind=sharding.memory_kind)
    elif not sharding.is_fully_replicated:
        hlo = with_axis(sharding._to_xla_hlo_sharding(aval.ndim - 1), dim)
        sharding = runtime.GSPMDSharding(sharding._internal_device_list, hlo)
    return sharding_constraint_p.bind(x, sharding=sharding, **params), dim


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    out = sharding_constraint_p.bind(*primals, **params)
    return out, Zero.of(out) if type(tangents[0]) is Zero else sharding_constraint_p.bind(*tangents, **params)


def _lower(ctx: LoweringContext, x: Value, *, sharding: runtime.Sharding, **params: Any) -> list[Value]:
    """On one device every value lies there."""
    if ctx.module_context.num_devices == 1:
        return [x]
    return [sharding_text.constrain(ctx.module_context, x, sharding)]


sharding_constraint_p.jvp = _jvp
sharding_constraint_p.batch = _batch
sharding_constraint_p.lower[None] = _lower


def with_sharding_constraint(x: Tree, shardings: Any) -> Tree:
    """The values themselves, which the compiler lays out as told.

    Args:
      x: array or pytree of arrays.
      shardings: a sharding (or, with a mesh in force, a PartitionSpec), a Format (with the order of axes in memory), or a
        tree prefix of ``x`` of them. ``PartitionSpec.UNCONSTRAINED`` leaves an axis to the compiler.
    Returns: a pytree like ``x``.
    Raises:
      TypeError: something else than shardings. ValueError: None, or a sharding that does not fit a value.
      RuntimeError: a PartitionSpec without a mesh in force.
      AssertionError: explicit axes of the mesh divide a value otherwise.
    Example: ``lax.with_sharding_constraint(x, arrax.sharding.SingleDeviceSharding(arrax.devices()[0]))``.
    """
    leaves, tree = tree_flatten(x)
    if _is_sharding(shardings):
        per_leaf = [shardings] * len(leaves)
    else:
        per_leaf = named_broadcast_prefix("with_sharding_constraint shardings", shardings, x, is_leaf=_is_sharding)
    for leaf, leaf_sharding in zip(leaves, per_leaf, strict=True):
        if leaf_sharding is None:
            raise ValueError(
                "with_sharding_constraint: argument shardings: None constrains nothing; a Sharding or a PartitionSpec is needed"
            )
        _check_explicit(leaf, leaf_sharding)
    pairs = zip(leaves, per_leaf, strict=True)
    return tree_unflatten(tree, [constrained(leaf, _beside_explicit(leaf, place)) for leaf, place in pairs])


def _beside_explicit(x: Any, place: Any) -> Any:
    """A constraint over a mesh some of whose axes are explicit: these go on dividing the value as its type says.

    Raises:
      ValueError: the constraint names them, and otherwise.
    """
    explicit = getattr(getattr(x, "aval", None), "explicit", None)
    if explicit is None or explicit.mesh.are_all_axes_explicit or not isinstance(place, NamedSharding | PartitionSpec):
        return place
    sharding = constraint_sharding(place, x.aval)
    if sharding.mesh.abstract_mesh != explicit.mesh:  # type: ignore[attr-defined]
        return place
    entries: list[Any] = []
    for own, entry in zip(x.aval.divided, [*sharding.spec, *[None] * (x.aval.ndim - len(sharding.spec))], strict=False):  # type: ignore[attr-defined]
        named = tuple(name for name in entry_names(entry) if name in explicit.mesh.explicit_axes)
        if named and named != own:
            raise ValueError(
                f"with_sharding_constraint: a constraint is over axes of the mesh that are not explicit, but {place} names "
                f"{named} for a value of type {x.aval.str_short(True)}. Use arrax.reshard to lay it out anew."
            )
        others = tuple(name for name in entry_names(entry) if name not in named)
        entries.append(entry if entry is PartitionSpec.UNCONSTRAINED and not own else own + others)
    return sharding.update(spec=PartitionSpec(*entries))  # type: ignore[attr-defined]


def _check_explicit(x: Any, leaf_sharding: Any) -> None:
    """Refuse another layout than a value's type says: a constraint over explicit axes is an assertion.

    Raises:
      AssertionError: the value is laid out otherwise.
    """
    explicit = getattr(getattr(x, "aval", None), "explicit", None)
    if explicit is None:
        _check_automatic(leaf_sharding)
        return
    if not explicit.mesh.are_all_axes_explicit:
        return
    sharding = constraint_sharding(getattr(leaf_sharding, "sharding", leaf_sharding), x.aval)
    if isinstance(sharding, NamedSharding) and not sharding.mesh.explicit_axes:
        return
    if explicit_sharding(sharding, x.aval.ndim) is not explicit:
        raise AssertionError(
            f"with_sharding_constraint: over explicit axes of a mesh it asserts how a value is laid out, but a value of type "
            f"{x.aval.str_short(True)} is not laid out as {leaf_sharding}. Use arrax.reshard to lay it out anew."
        )


def _check_automatic(place: Any) -> None:
    """Refuse to divide a value by explicit axes that its type does not speak of.

    Raises:
      AssertionError: all axes of the mesh in force are explicit. ValueError: those of the sharding are.
    """
    if not isinstance(place, NamedSharding | PartitionSpec):
        return
    in_force = mesh_state().abstract
    mesh = in_force if isinstance(place, PartitionSpec) or not in_force.empty else place.mesh
    spec = place if isinstance(place, PartitionSpec) else place.spec
    named = [name for name in spec_names(spec) if name in mesh.explicit_axes]
    if named:
        error = AssertionError if in_force.explicit_axes else ValueError
        raise error(
            f"with_sharding_constraint: a constraint divides values by axes of the mesh that are not explicit, but {place} names "
            f"the explicit axes {named}. Use arrax.reshard to lay the value out anew."
        )


def _is_sharding(value: object) -> bool:
    return value is None or isinstance(value, runtime.Sharding | PartitionSpec) or hasattr(value, "layout")


def constraint_sharding(sharding: Any, aval: ShapedArray) -> runtime.Sharding:
    """The sharding that an entry of a constraint means.

    Raises:
      TypeError, ValueError, RuntimeError: as ``with_sharding_constraint``.
    """
    if isinstance(sharding, PartitionSpec):
        mesh = physical_mesh()
        abstract = mesh_state().abstract
        if mesh is None and abstract.empty:
            raise RuntimeError(
                f"with_sharding_constraint: the spec {sharding} needs a mesh in force; define one by "
                "`arrax.set_mesh(mesh)` or `with mesh:`, or pass a NamedSharding, which carries its own"
            )
        own = mesh is not None and mesh.explicit_axes == abstract.explicit_axes  # but for auto_axes and explicit_axes
        return NamedSharding(mesh if own or abstract.empty else abstract, sharding)
    if not isinstance(sharding, runtime.Sharding):
        raise TypeError(
            f"with_sharding_constraint: expected a sharding for a value of type {aval.str_short(True)}, got {sharding!r} of "
            f"type {type(sharding)}"
        )
    return over_devices(sharding, physical_mesh())


def constrained(x: ArrayLike, sharding: Any) -> Any:
    """One value of ``with_sharding_constraint``; None is no constraint."""
    if sharding is None:
        return x
    x = checked_operand("with_sharding_constraint", x)
    aval = typeof(x)
    layout = getattr(sharding, "layout", None)
    if layout is not None:  # a Format
        return with_order(constrained(x, sharding.sharding), layout, asked_order(layout, aval.ndim))
    sharding = constraint_sharding(sharding, aval)
    with naming_value(aval, sharding, "with_sharding_constraint"):
        sharding.check_compatible_aval(aval.shape)
        if isinstance(x, Tracer) or not context.interpreter.is_evaluation:
            refuse_uneven(sharding, aval)
        else:
            sharding.shard_shape(aval.shape)
    unconstrained: frozenset[int] = frozenset()
    if isinstance(sharding, NamedSharding):
        refuse_per_device("with_sharding_constraint", sharding)
        unconstrained = frozenset(n for n, e in enumerate(sharding.spec) if e is PartitionSpec.UNCONSTRAINED)
    return sharding_constraint_p.bind(
        x, sharding=sharding, layout=None, context_mesh=mesh_state().abstract, unconstrained_dims=unconstrained
    )
