"""Shardings in programs: meshes as symbols of the module, shardings as attributes of Shardy's dialect."""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax import native
from arrax.core.meshes import AbstractMesh, MeshDescription
from arrax.core.partition_specs import UNCONSTRAINED, entry_names, fitted_entries
from arrax.interpreters.lowering import builder
from arrax.native import runtime
from arrax.xla.tilings import hlo_to_spec

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import ModuleContext
    from arrax.native.mlir import ir

NamedSharding = runtime.NamedSharding


def axis_text(mesh: MeshDescription, name: Any) -> str:
    """The quoted name of a mesh axis: any hashable may be a name, but a program has strings."""
    return f'"{name}"' if isinstance(name, str) else f'"_axis_{mesh.axis_names.index(name)}"'


def mesh_symbol(ctx: ModuleContext, mesh: MeshDescription) -> str:
    """The symbol of a mesh in the module, which it is added to where it is new."""
    devices = getattr(mesh, "_internal_device_list", None)
    order: list[int] = []
    if devices is not None and ctx.devices is not None and tuple(devices) != tuple(ctx.devices):
        numbers = {device: number for number, device in enumerate(ctx.devices)}
        order = [numbers[device] for device in devices]
    axes = ", ".join(f"{axis_text(mesh, name)}={size}" for name, size in mesh.shape_tuple)
    return _symbol(ctx, f"[{axes}]" + (f", device_ids={order}" if order else ""))


def _symbol(ctx: ModuleContext, text: str) -> str:
    found = ctx.meshes.get(text)
    if found is None:
        found = ctx.meshes[text] = "mesh" if not ctx.meshes else f"mesh_{len(ctx.meshes) - 1}"
        attributes = {"sym_name": builder.string(found), "mesh": builder.attribute(f"#sdy.mesh<{text}>")}
        with native.mlir.ir.InsertionPoint.at_block_begin(ctx.module.body):
            builder.operation("sdy.mesh", [], [], attributes)
    return found


def spec_text(mesh: MeshDescription, spec: Any, rank: int, open_axes: bool = False) -> str:
    """``[{"x"}, {}]``: the mesh axes that divide each axis of an array.

    Args:
      open_axes: whether the compiler may divide axes further.
    """
    parts = []
    for entry in fitted_entries(f"Spec {spec}", spec, rank):
        names = [axis_text(mesh, name) for name in entry_names(entry)]
        if entry is UNCONSTRAINED or open_axes:
            names.append("?")
        parts.append(f"{{{', '.join(names)}}}")
    return f"[{', '.join(parts)}]"


_FACTORS = string.ascii_lowercase[string.ascii_lowercase.index("i") :]


def factor(number: int) -> str:
    """The symbol of a factor in a rule of how axes of operands and results belong together."""
    return _FACTORS[number] if number < len(_FACTORS) else f"z_{number - len(_FACTORS) + 1}"


def sharding_text(ctx: ModuleContext, sharding: Any, rank: int, open_axes: bool = False) -> str:
    """``#sdy.sharding<@mesh, [{"x"}, {}]>``."""
    if isinstance(sharding, NamedSharding):
        symbol = mesh_symbol(ctx, sharding.mesh)
        return f"#sdy.sharding<@{symbol}, {spec_text(sharding.mesh, sharding.spec, rank, open_axes)}>"
    return _hlo_text(ctx, sharding._to_xla_hlo_sharding(rank), rank)


def _hlo_text(ctx: ModuleContext, hlo: Any, rank: int) -> str:
    """The text of a sharding of the compiler's, by parts of the axes of the program's mesh where it has such."""
    base = _mesh_of(ctx)
    parts, fine = _parts(base)
    spec = hlo_to_spec(fine, hlo, rank)
    if spec is None:
        return _own_mesh_text(ctx, hlo, rank)
    entries = [_joined(base, [parts[name] for name in entry_names(entry)]) for entry in spec]
    dims = [f"{{{', '.join(entry)}}}" for entry in [*entries, *[[]] * (rank - len(entries))]]
    return f"#sdy.sharding<@{mesh_symbol(ctx, base)}, [{', '.join(dims)}]>"


def _mesh_of(ctx: ModuleContext) -> MeshDescription:
    """The mesh that describes how the values of a program lie, or else one of its devices."""
    return ctx.mesh if ctx.mesh is not None else _prime_mesh(ctx.num_devices)


@functools.lru_cache(64)
def _prime_mesh(count: int) -> AbstractMesh:
    """A number of devices as a mesh whose axes are the prime factors: the compiler handles whole axes best."""
    factors = _prime_factors(count)
    return AbstractMesh(factors, [f"_devices_{number}" for number in range(len(factors))])


@functools.lru_cache(256)
def _parts(base: MeshDescription) -> tuple[dict[int, tuple[Any, int, int]], AbstractMesh]:
    """The prime factors of a mesh's axes, by number: (axis, product of the factors before, factor); and as a mesh."""
    parts: dict[int, tuple[Any, int, int]] = {}
    for name, size in base.shape_tuple:
        before = 1
        for factor in _prime_factors(size):
            parts[len(parts)] = (name, before, factor)
            before *= factor
    return parts, AbstractMesh([factor for _, _, factor in parts.values()], list(parts))


def _prime_factors(size: int) -> list[int]:
    factors, divisor = [], 2
    while size > 1:
        while size % divisor == 0:
            factors.append(divisor)
            size //= divisor
        divisor += 1
    return factors


def _joined(base: MeshDescription, parts: Sequence[tuple[Any, int, int]]) -> list[str]:
    """Texts of parts of axes, neighbours joined: ``"x":(2)4``, or ``"x"`` for a whole one."""
    runs: list[tuple[Any, int, int]] = []
    for name, before, factor in parts:
        if runs and runs[-1][0] == name and runs[-1][1] * runs[-1][2] == before:
            runs[-1] = (name, runs[-1][1], runs[-1][2] * factor)
        else:
            runs.append((name, before, factor))
    whole = dict(base.shape_tuple)
    return [
        axis_text(base, name) + ("" if size == whole[name] else f":({before}){size}") for name, before, size in runs
    ]


def _own_mesh_text(ctx: ModuleContext, hlo: Any, rank: int) -> str:
    """The grid of the tiles as a mesh of its own: for orders of devices that no axes describe."""
    sizes = list(hlo.tile_assignment_dimensions())
    order = [int(number) for number in hlo.tile_assignment_devices()]
    axes = ", ".join(f'"_axis_{number}"={size}' for number, size in enumerate(sizes))
    symbol = _symbol(ctx, f"[{axes}], device_ids={order}")
    parts = [f'{{"_axis_{axis}"}}' if axis < len(sizes) and sizes[axis] > 1 else "{}" for axis in range(rank)]
    return f"#sdy.sharding<@{symbol}, [{', '.join(parts)}]>"


def on_first_device(ctx: ModuleContext, results: int) -> ir.Attribute:
    """The attribute of an operation in a program for several devices that only the first of them runs."""
    symbol = _symbol(ctx, "[], device_ids=[0]")
    each = ", ".join([f"<@{symbol}, []>"] * max(results, 1))
    return builder.attribute(f"#sdy.sharding_per_value<[{each}]>")


def on_each_device(ctx: ModuleContext) -> ir.Attribute:
    """The attribute of an operation without results that every device runs on its parts of the operands."""
    return builder.attribute(f"#sdy.sharding_per_value<[<@{mesh_symbol(ctx, _mesh_of(ctx))}, []>]>")


def _constrained(x: Value, sharding: str) -> Value:
    """A value of a program, laid out by the text of a sharding."""
    attributes = {"sharding": builder.attribute(sharding)}
    return builder.operation("sdy.sharding_constraint", [x.type], [x], attributes).results[0]


def everywhere(ctx: ModuleContext, x: Value) -> Value:
    """A value of a program that every device has."""
    return _constrained(x, _hlo_text(ctx, runtime.HloSharding.replicate(), x.type.rank))


def undivided(ctx: ModuleContext, x: Value, axes: Sequence[int]) -> Value:
    """A value of a program of which devices have all along some axes; the compiler divides the others as it likes."""
    if ctx.num_devices == 1 or ctx.manual is not None or not axes:
        return x
    dims = ", ".join("{}" if axis in axes else "{?}" for axis in range(x.type.rank))
    return _constrained(x, f"#sdy.sharding<@{mesh_symbol(ctx, _mesh_of(ctx))}, [{dims}]>")


def divided_by_all(ctx: ModuleContext, x: Value, axis: int, whole: Sequence[int] = ()) -> Value:
    """A value of a program, divided among all devices along an axis; where its length forbids that, not along it.

    In that case it is not divided along the axes ``whole`` either.
    """
    if ctx.num_devices == 1 or ctx.manual is not None:
        return x
    if x.type.shape[axis] % ctx.num_devices:
        return undivided(ctx, x, (axis, *whole))
    mesh = _mesh_of(ctx)
    names = ", ".join(axis_text(mesh, name) for name, size in mesh.shape_tuple if size > 1)
    dims = ", ".join(f"{{{names}}}" if each == axis else "{?}" for each in range(x.type.rank))
    return _constrained(x, f"#sdy.sharding<@{mesh_symbol(ctx, mesh)}, [{dims}]>")


def several_axes(ctx: ModuleContext) -> bool:
    """Whether the devices of a program may have parts of a value along some axes of a mesh, and copies along others."""
    return sum(size > 1 for size in _mesh_of(ctx).axis_sizes) > 1


def constrain(ctx: ModuleContext, x: Value, sharding: Any, open_axes: bool = False) -> Value:
    """A value of a program, laid out by a sharding there; with ``open_axes`` the compiler may divide it further."""
    return _constrained(x, sharding_text(ctx, sharding, x.type.rank, open_axes))
