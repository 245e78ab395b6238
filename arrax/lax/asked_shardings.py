"""Values that explicit mesh axes divide, handed to the compiler and back; functions whose results lie as the user asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.calls import in_call
from arrax.core.explicit_axes import as_typed, explicit_sharding
from arrax.core.interpreter import Primitive, Rounding, Tracer, context
from arrax.core.meshes import mesh_state
from arrax.core.partition_specs import PartitionSpec, entry_names, free_entry
from arrax.core.program import ClosedJaxpr
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.interpreters.staging import stage
from arrax.lax.calls import consts_as_inputs, jit_p
from arrax.lax.placement import batched_spec, check_out_sharding, device_put, in_memory, of_rank
from arrax.lax.sharding_constraints import constrained, constraint_sharding
from arrax.xla.meshes import over_devices, physical_mesh
from arrax.xla.shardings import NamedSharding

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent
    from arrax.native import runtime
    from arrax.xla.arrays import Array, ArrayLike

# The value itself, in whose type something else stands on how explicit axes divide it: a sharding, or None.
mesh_cast_p = Primitive("mesh_cast", rounding=Rounding.NONE)
mesh_cast_p.type_rule = lambda aval, *, sharding: aval.update(sharding=explicit_sharding(sharding, aval.ndim))
mesh_cast_p.divides = as_typed
mesh_cast_p.lower[None] = lambda ctx, x, *, sharding: [x]
mesh_cast_p.transpose = lambda ct, x, *, sharding: [
    Zero(x.aval) if type(ct) is Zero else mesh_cast_p.bind(ct, sharding=x.aval.explicit)
]


def _batch(values: Sequence[ArrayLike], dims: Any, *, sharding: Any) -> tuple[Any, int]:
    """What divides the axis of examples goes on doing so."""
    (x,), (dim,) = values, dims
    if sharding is not None:
        sharding = NamedSharding(sharding.mesh, batched_spec(sharding.spec, typeof(x), dim, None))
    return mesh_cast_p.bind(x, sharding=sharding), dim


mesh_cast_p.batch = _batch


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, sharding: Any) -> tuple[Any, Any]:
    out = mesh_cast_p.bind(*primals, sharding=sharding)
    (t,) = tangents
    return out, Zero.of(out) if type(t) is Zero else mesh_cast_p.bind(t, sharding=sharding)


mesh_cast_p.jvp = _jvp


def left_to_compiler(x: Array) -> Array:
    """The value, of whose layout its type says nothing."""
    return x if typeof(x).explicit is None else mesh_cast_p.bind(x, sharding=None)


def over_mesh_in_force(x: Array) -> Array:
    """The value, whose type says what it did of the axes that are explicit in the mesh in force."""
    explicit, mesh = typeof(x).explicit, mesh_state().abstract
    if explicit is None or explicit.mesh == mesh or explicit.mesh.axis_names != mesh.axis_names:
        return x
    return mesh_cast_p.bind(x, sharding=NamedSharding(mesh, explicit.spec))


def declared(x: Any, place: Any) -> Any:
    """The value, whose type says that it lies where it does: a sharding, a spec over the mesh in force, or None."""
    if place is None:
        return x
    return mesh_cast_p.bind(x, sharding=constraint_sharding(place, typeof(x)))


def laid_out(x: Array, place: runtime.NamedSharding) -> Array:
    """The value where it is asked to be: a sharding, or a spec over the mesh in force.

    The sharding of a type that no mesh divides asks for nothing.
    """
    if isinstance(place, NamedSharding) and place.mesh.empty:
        return x
    place = of_rank(place, typeof(x).ndim)
    if isinstance(x, Tracer) or not context.interpreter.is_evaluation:
        if isinstance(place, PartitionSpec) and mesh_state().abstract.empty:
            raise ValueError(
                in_call(f"the spec {place} needs a mesh in force (arrax.set_mesh); a NamedSharding carries its own")
            )
        return constrained(x, place)
    return device_put(x, over_devices(place, physical_mesh(), getattr(getattr(x, "sharding", None), "mesh", None)))


def as_asked(out_sharding: runtime.NamedSharding, function: Callable[..., Any], *args: Array) -> Array:
    """The result of a function of arrays, laid out as asked, whatever the types of its arguments say.

    Args:
      out_sharding: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      TypeError: something else.
    """
    check_out_sharding(out_sharding)

    def run(*args: Array) -> Array:
        known = [typeof(x).explicit for x in args if typeof(x).explicit is not None]
        if known and known[0].mesh.are_all_axes_explicit:
            args = tuple(_known_whole(x, known[0].mesh) for x in args)
        return laid_out(function(*map(left_to_compiler, args)), out_sharding)

    return run(*args) if all(typeof(x).explicit is None for x in args) else staged_call(run, *args)


def _known_whole(x: Array, mesh: Any) -> Array:
    """The value; where its type divides it by no axis of a mesh, the compiler is told, for its cotangent, too."""
    if typeof(x).explicit is not None or not typeof(x).ndim:
        return x
    return laid_out(x, NamedSharding(mesh, PartitionSpec()))


def staged_call(function: Callable[..., Any], *args: Any) -> Any:
    """A function of arrays with one result, traced as a whole: operations in it see types, not where arrays lie."""
    if context.explicit_axes:  # which is so while something is traced
        return function(*args)
    program = ClosedJaxpr(*stage(lambda *tracers: [function(*tracers)], list(map(typeof, args))))
    name = getattr(function, "__name__", "function")
    return jit_p.bind(*program.consts, *args, jaxpr=consts_as_inputs(program), name=name)[0]


def _same_layout(ct: Any, aval: ShapedArray) -> Any:
    """A cotangent that lies like the value that it belongs to: whole where explicit axes do not divide that."""
    if type(ct) is Zero or getattr(typeof(ct), "explicit", None) is aval.explicit:
        return ct
    return _whole(ct) if aval.explicit is None else laid_out(ct, aval.explicit)


def _whole(x: Array) -> Array:
    """The value, which explicit axes of its mesh no longer divide; of the other axes nothing is said."""
    mesh = typeof(x).explicit.mesh
    if isinstance(x, Tracer) or not context.interpreter.is_evaluation:
        return laid_out(x, NamedSharding(mesh, PartitionSpec(*[free_entry(mesh)] * typeof(x).ndim)))
    place = x.sharding
    kept = [tuple(name for name in entry_names(entry) if name not in mesh.explicit_axes) for entry in place.spec]
    return device_put(x, NamedSharding(place.mesh, PartitionSpec(*kept), memory_kind=place.memory_kind))


def _divided(x: Any, place: runtime.NamedSharding) -> Any:
    """The value, divided by explicit axes of a mesh as a sharding says."""
    return x if typeof(x).explicit is explicit_sharding(place, typeof(x).ndim) else laid_out(x, place)


slots.as_asked = as_asked
slots.in_memory_of = lambda value, aval: in_memory(value, aval.memory_space)
slots.like = _same_layout
slots.laid_out = _divided
