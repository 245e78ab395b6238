"""Explicit mesh axes in types: which of them divide which axes of values.

A value's type may say by which explicit axes of a mesh each of its axes is divided; a program then holds the value so. Where
a primitive has no rule (its slot ``divides``) types say nothing, and the compiler chooses.

A rule takes the types of the operands, that of the result (or the list of them) and the parameters of the operation, and
returns what divides each axis of the result: a tuple of mesh axes for each (or a list of such tuples).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from arrax.core.memory_spaces import space_of_kind
from arrax.core.meshes import AxisType, mesh_state
from arrax.core.partition_specs import PartitionSpec, entry_names
from arrax.core.types import ShapedArray, typeof
from arrax.native import runtime

NamedSharding = runtime.NamedSharding
Division = tuple[tuple[Any, ...], ...]


class ShardingTypeError(Exception):
    """It is ambiguous how explicit axes of a mesh divide the result of an operation."""


@functools.lru_cache(4096)
def explicit_sharding(sharding: runtime.Sharding, rank: int) -> Any:
    """What types of values of a rank say of a sharding: its explicit axes, on the mesh's description; None without any."""
    if not isinstance(sharding, NamedSharding):
        return None
    explicit = sharding.mesh.explicit_axes
    if not explicit:
        return None
    entries = [tuple(name for name in entry_names(entry) if name in explicit) for entry in sharding.spec]
    return _sharding(sharding.mesh.abstract_mesh, (*entries, *[()] * (rank - len(entries))))


@functools.lru_cache(4096)
def _sharding(mesh: Any, division: Division) -> Any:
    return NamedSharding(mesh, PartitionSpec(*division)) if any(division) else None


def placed_type(aval: ShapedArray, sharding: Any) -> ShapedArray:
    """The type of an array that lies as a sharding says."""
    space = space_of_kind(getattr(sharding, "_memory_kind", None))
    if aval.memory_space is not space:
        aval = aval.update(memory_space=space)
    if type(sharding) is not NamedSharding:
        return aval if aval.explicit is None else aval.update(sharding=None)
    explicit = explicit_sharding(sharding, aval.ndim)
    return aval if aval.explicit is explicit else aval.update(sharding=explicit)


def divided_type(aval: ShapedArray, mesh: Any, division: Division) -> ShapedArray:
    """The type of values that explicit axes of a mesh divide so."""
    return aval.update(sharding=_sharding(mesh, division))


def mapped_sharding(aval: ShapedArray, axis: int) -> Any:
    """What the type of one example along an axis says, where that of all says anything."""
    return _sharding(aval.explicit.mesh, aval.divided[:axis] + aval.divided[axis + 1 :])


def stacked_type(aval: ShapedArray, length: int) -> ShapedArray:
    """The type of values of a type, stacked along a leading axis."""
    stacked = aval.update(shape=(length, *aval.shape))
    if getattr(aval, "explicit", None) is None:
        return stacked
    return stacked.update(sharding=_sharding(aval.explicit.mesh, ((), *aval.divided)))


def batch_division(values: Iterable[Any], dims: Iterable[int | None]) -> Any:
    """What divides the axis of a batch: the sharding of a vector, by the first value whose type says so; None if none does.

    It is over a mesh with devices if the value is an array.
    """
    for value, dim in zip(values, dims, strict=True):
        if dim is None:
            continue
        aval = typeof(value)
        explicit = getattr(aval, "explicit", None)
        if explicit is not None and aval.divided[dim]:
            lies = getattr(value, "sharding", None)
            mesh = lies.mesh if isinstance(lies, NamedSharding) else explicit.mesh
            return NamedSharding(mesh, PartitionSpec(aval.divided[dim]))
    return None


def batched_type(aval: Any, size: int, division: Any) -> Any:
    """The type of a batch of values of a type, whose leading axis is divided as ``batch_division`` says."""
    if division is None:
        return stacked_type(aval, size)
    whole = aval.update(shape=(size, *aval.shape))
    return placed_type(whole, with_batch_axis(aval, 0, division))


def with_batch_axis(aval: ShapedArray, axis: int, division: Any) -> Any:
    """How a batch lies, given the type of an example; mesh axes that divide an example do not divide the batch."""
    names = entry_names(division.spec[0])
    if any(not set(names).isdisjoint(own) for own in aval.divided):
        names = ()
    return NamedSharding(division.mesh, PartitionSpec(*aval.divided[:axis], names, *aval.divided[axis:]))


def uses_explicit_axes(avals: Sequence[Any]) -> bool:
    """Whether types of operands, or the mesh in force, speak of explicit axes."""
    return any(aval.explicit is not None for aval in avals) or AxisType.Explicit in mesh_state().abstract.axis_types


def with_divisions(primitive: Any, avals: Sequence[Any], out: Any, params: dict[str, Any]) -> Any:
    """The types of results with how these are divided.

    Raises:
      ShardingTypeError: it is ambiguous. ValueError: operands lie over explicit axes of different meshes.
    """
    rule = primitive.divides
    if rule is as_typed or primitive.holds_programs or primitive.closes_over:
        return out
    known = [aval.explicit for aval in avals if aval.explicit is not None]
    if rule is None or not known:
        if primitive.multiple_results:
            return list(map(_undivided, out))
        return _undivided(out)
    mesh = known[0].mesh
    other = next((each.mesh for each in known if each.mesh.shape_tuple != mesh.shape_tuple), None)
    if other is not None:
        raise ValueError(f"{primitive.name}: operands lie over explicit axes of different meshes, {mesh} and {other}")
    try:
        found = rule(avals, out, **params)
    except ShardingTypeError as error:
        raise ShardingTypeError(f"{primitive.name}: {error}") from None
    if primitive.multiple_results:
        return [_divided(aval, mesh, division) for aval, division in zip(out, found, strict=True)]
    return _divided(out, mesh, found)


def _undivided(aval: Any) -> Any:
    return aval if aval.explicit is None else aval.update(sharding=None)


def _divided(aval: ShapedArray, mesh: Any, division: Sequence[tuple[Any, ...]]) -> ShapedArray:
    """The type, divided where lengths allow and no mesh axis is taken twice."""
    sizes = dict(mesh.shape_tuple)
    taken: set[Any] = set()
    kept: list[tuple[Any, ...]] = []
    for length, names in zip(aval.shape, division, strict=True):
        fits = not taken.intersection(names) and length % math.prod(sizes[name] for name in names) == 0
        kept.append(tuple(names) if fits else ())
        taken.update(kept[-1])
    return aval.update(sharding=_sharding(mesh, tuple(kept)))


# ---- rules -----------------------------------------------------------------------------------------------------------


def as_typed(avals: Sequence[ShapedArray], out: Any, **params: Any) -> Any:
    """The rule of primitives whose type rules say how results are divided; it is never called."""
    raise AssertionError("types are taken as they are")


def elementwise(avals: Sequence[ShapedArray], out: ShapedArray, **params: Any) -> Division:
    """Of operands of one rank, scalars beside them: what all that say anything agree on.

    Raises:
      ShardingTypeError: they do not.
    """
    result: list[tuple[Any, ...]] = [()] * out.ndim
    for aval in avals:
        for axis, names in enumerate(aval.divided):
            result[axis] = agreed(result[axis], names, f"axis {axis}")
    return tuple(result)


def agreed(first: tuple[Any, ...], second: tuple[Any, ...], what: str) -> tuple[Any, ...]:
    """What divides an axis that two operands share.

    Raises:
      ShardingTypeError: different axes of the mesh.
    """
    if first and second and first != second:
        raise ShardingTypeError(
            f"different axes of the mesh divide {what} of the operands, {_text(first)} and {_text(second)}. Lay one out like "
            "the other with reshard, or leave it to the compiler with auto_axes."
        )
    return first or second


def _text(names: tuple[Any, ...]) -> str:
    return repr(names[0]) if len(names) == 1 else repr(names)


def of_first(avals: Sequence[ShapedArray], out: ShapedArray, **params: Any) -> Division:
    """The first operand's."""
    return avals[0].divided


def without_axes(avals: Sequence[ShapedArray], out: ShapedArray, *, axes: Sequence[int], **params: Any) -> Division:
    """The operand's, without the axes that are reduced or dropped."""
    return tuple(names for axis, names in enumerate(avals[0].divided) if axis not in axes)


def whole_axes(avals: Sequence[ShapedArray], out: ShapedArray, **params: Any) -> Division:
    """The first operand's, of axes that keep their length."""
    lengths = zip(avals[0].divided, avals[0].shape, out.shape, strict=True)
    return tuple(names if before == after else () for names, before, after in lengths)


def leading_axes(count: int) -> Callable[..., Any]:
    """The rule of an operation on the last axes of its first operand, so many, which batches of it share the others of."""

    def rule(avals: Sequence[ShapedArray], out: Any, **params: Any) -> Any:
        kept = avals[0].divided[: avals[0].ndim - count]
        if not isinstance(out, list | tuple):
            return (*kept, *[()] * (out.ndim - len(kept)))
        return [(*kept, *[()] * (aval.ndim - len(kept))) for aval in out]

    return rule


def along_axis(parameter: str) -> Callable[..., Any]:
    """The rule of an operation along one axis, by which results are not divided: a result for each operand, or all for one."""

    def rule(avals: Sequence[ShapedArray], out: Any, **params: Any) -> Any:
        kept = [
            tuple(() if axis == params[parameter] else names for axis, names in enumerate(aval.divided))
            for aval in avals
        ]
        if not isinstance(out, list | tuple):
            return kept[0]
        return kept if len(kept) == len(out) else kept[:1] * len(out)

    return rule


def regrouped(avals: Sequence[ShapedArray], out: ShapedArray, **params: Any) -> Division:
    """Of a reshape: axes that are joined keep what divides them, in order; of an axis that is cut the first part has it."""
    result: list[tuple[Any, ...]] = []
    before, after = list(zip(avals[0].shape, avals[0].divided, strict=True)), list(out.shape)
    while before and after:
        if after[0] == 1 and before[0][0] != 1:  # in front of what is divided
            result.append(())
            after.pop(0)
            continue
        (length, names), size, count = before.pop(0), after.pop(0), 1
        while length != size:  # until both sides have as many elements
            if length < size and before:
                more, others = before.pop(0)
                length, names = length * more, names + others
            elif size < length and after:
                size, count = size * after.pop(0), count + 1
            else:
                break
        result += [names, *[()] * (count - 1)]
    return (*result, *[()] * (out.ndim - len(result)))
