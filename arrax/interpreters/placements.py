"""Where a call runs: on one device, or over several as the shardings of its operands, results and program say."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from arrax.core.errors import frame_text, user_frames
from arrax.core.interpreter import Primitive
from arrax.core.memory_spaces import HOST_KIND, MemorySpace, memories_in_types
from arrax.core.meshes import mesh_state
from arrax.core.partition_specs import PartitionSpec
from arrax.core.program import ClosedJaxpr, Jaxpr, JaxprEqn, Var, open_jaxpr, subprograms
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.lowering.builder import physical_aval
from arrax.native import runtime
from arrax.xla.arrays import ArrayLike
from arrax.xla.devices import default_device, platform_name, single_sharding
from arrax.xla.distribution import naming_value
from arrax.xla.meshes import physical_mesh
from arrax.xla.shardings import named_like

ArrayImpl = runtime.ArrayImpl
NamedSharding = runtime.NamedSharding
# By primitive: the sharding or mesh that its parameters ask for, or None.
placements_of_primitive: dict[Primitive, Callable[[dict[str, Any]], Any]] = {}

# By primitive: over how many devices it runs, where that is fixed.
device_counts_of_primitive: dict[Primitive, Callable[[dict[str, Any]], int]] = {}

# By primitive: how its results lie where it runs by itself.
placements_of_results: dict[Primitive, Callable[[dict[str, Any]], list[Any]]] = {}

# By primitive: the order in memory of the axes of its result, where it is the result of a program.
orders_of_primitive: dict[Primitive, Callable[[dict[str, Any]], Any]] = {}

# By primitive: the memory in which its result lies, a space or a kind, or None for that of the device.
memories_of_primitive: dict[Primitive, Callable[[dict[str, Any]], Any]] = {}


class Placement(NamedTuple):
    """Where a call runs.

    Attributes:
      device: the (first) device. committed: whether operands are bound to it.
      devices: all devices, in the order of the program's partitions; None for one device.
      in_shardings: for each operand, how it is laid out (for several devices, or a mesh of one).
      out_shardings: for each result, the sharding that was asked for, or None.
      mesh: the mesh whose specs describe what the compiler chooses, or None. It may be one of a single device.
      in_orders, out_orders: for each operand and result, the order of its axes in memory, None for the usual one; empty
        where all are usual.
      out_memories: for each result, the kind of memory in which it lies, None for that of the devices; empty where all are.
    """

    device: Any
    committed: bool
    devices: Any = None
    in_shardings: tuple[Any, ...] = ()
    out_shardings: tuple[Any, ...] = ()
    mesh: Any = None
    in_orders: tuple[Any, ...] = ()
    out_orders: tuple[Any, ...] = ()
    out_memories: tuple[Any, ...] = ()

    def chosen(self, hlo: Any, rank: int) -> Any:
        """The sharding of a result that the compiler laid out."""
        if self.mesh is not None:
            return named_like(self.mesh, hlo, rank)
        return runtime.GSPMDSharding(self.devices, hlo)

    @property
    def is_one_device(self) -> bool:
        """Whether there is one device, and no mesh of it."""
        return self.devices is None and self.mesh is None

    @property
    def replicated(self) -> Any:
        """The sharding of what every device has."""
        return self.chosen(runtime.HloSharding.replicate(), 0)


def out_memories(placement: Placement | None, avals: Sequence[Any]) -> tuple[str | None, ...]:
    """For each result, the kind of memory in which it lies if not in that of the devices: as asked, or as its type says."""
    asked = () if placement is None else placement.out_memories
    if not memories_in_types.other_than_device:
        return asked
    shardings = (None if placement is None else placement.out_shardings) or (None,) * len(avals)
    typed = (
        HOST_KIND if sharding is None and getattr(aval, "memory_space", None) is MemorySpace.Host else None
        for aval, sharding in zip(avals, shardings, strict=True)
    )
    return tuple(kind or own for kind, own in zip(asked or (None,) * len(avals), typed, strict=True))


def asked_of_results(program: ClosedJaxpr, table: Mapping[Primitive, Callable[[dict[str, Any]], Any]]) -> list[Any]:
    """For each result of a program what the operation that gives it asks for, by a table such as ``orders_of_primitive``."""
    asked = {eqn.outvars[0]: table[eqn.primitive](eqn.params) for eqn in program.jaxpr.eqns if eqn.primitive in table}
    return [asked.get(atom) if isinstance(atom, Var) else None for atom in program.jaxpr.outvars]


class _Wish(NamedTuple):
    """Devices that something asks for, and what it is."""

    devices: Any
    describe: Callable[[], str]


def _data(leaf: Any) -> Any:
    """The array under an operand (keys lie where their words do), or None."""
    return leaf if type(leaf) is ArrayImpl else getattr(leaf, "_base_array", None)


def is_description(leaf: Any) -> bool:
    """Whether an operand only describes an array, and says on which devices it lies."""
    if _data(leaf) is not None:
        return False
    sharding = getattr(leaf, "sharding", None)
    mesh = sharding.mesh if isinstance(sharding, NamedSharding) else None
    return isinstance(sharding, runtime.Sharding) and (mesh is None or mesh._internal_device_list is not None)


def is_bound(leaf: Any) -> bool:
    """Whether an operand is bound to devices, or describes an array that is."""
    placed = _data(leaf)
    return is_description(leaf) if placed is None else placed._committed


def common_placement(
    leaves: Sequence[Any], name: str, device: Any = None, names: Callable[[], Sequence[str]] | None = None
) -> Placement:
    """Where operands are bound to, or the default device.

    Args:
      names: gives those of the operands, for messages.
    Raises:
      ValueError: operands are bound to different devices.
    """
    if device is not None:
        return Placement(device, True)
    found = mesh = None
    for leaf in leaves:
        placed = _data(leaf)
        if placed is not None and placed._committed:
            sharding = placed._sharding
            devices = sharding._internal_device_list
            if mesh is None and type(sharding) is NamedSharding:
                mesh = sharding.mesh
            if found is None:
                found = devices
            elif devices is not found and devices != found:
                break
    else:
        if found is None:
            return Placement(default_device(), False)
        if len(found) == 1:
            return Placement(found[0], True, mesh=mesh)
    return decide_placement(leaves, name, names=names)


def over_mesh_in_force(placement: Placement, count: int, entered: bool = False) -> Placement:
    """The placement of a call of so many operands; where nothing is bound to devices, all of the mesh in force run it.

    Args:
      entered: whether that of ``with mesh:`` is one, too.
    """
    mesh = physical_mesh() if entered else mesh_state().mesh
    if placement.committed or placement.devices is not None or mesh is None or mesh.size == 0:
        return placement
    devices = mesh._internal_device_list
    if mesh.size == 1:
        return placement._replace(device=devices[0], committed=True, mesh=mesh)
    over = Placement(devices[0], True, devices, (), placement.out_shardings, mesh)
    return over._replace(in_shardings=(over.replicated,) * count)


def over_mesh_where_needed(placement: Placement, program: ClosedJaxpr, count: int) -> Placement:
    """The placement of an operation on so many operands, which the mesh in force runs if something inside has to run over it."""
    mesh = mesh_state().mesh
    if mesh is None or mesh.size == 1 or placement.committed or mesh.size not in _device_counts_in(program):
        return placement
    return over_mesh_in_force(placement, count)


def decide_placement(
    leaves: Sequence[Any], name: str, in_shardings: Sequence[Any] = (), out_shardings: Sequence[Any] = (),
    program: ClosedJaxpr | None = None, names: Callable[[], Sequence[str]] | None = None,
) -> Placement:  # fmt: skip
    """Where a call runs that may ask for devices by its shardings and inside its program, too.

    Args:
      leaves: operands; those that are not arrays are bound to nothing.
      in_shardings, out_shardings: what the user asked for, per operand and result, None where nothing; may be empty.
      names: gives those of the operands, for messages.
    Raises:
      ValueError: these ask for different devices, or an operand is bound otherwise than it should be.
    """
    asked = list(in_shardings) or [None] * len(leaves)
    wishes = list(_wishes(leaves, name, asked, out_shardings, program, names))
    if not wishes:
        return Placement(default_device(), False)
    devices = next((wish.devices for wish in wishes if len(wish.devices) > 1), wishes[0].devices)
    for wish in wishes:
        if list(wish.devices) != list(devices):
            raise incompatible(name, wishes[0], next(w for w in wishes if list(w.devices) != list(wishes[0].devices)))
    for leaf, sharding in zip(leaves, asked, strict=True):
        if sharding is not None:
            _check_memory(leaf, sharding)
            _check_rank(leaf, sharding)
    mesh = _mesh(leaves, asked, out_shardings, program)
    if len(devices) == 1:
        return Placement(devices[0], True, None, () if mesh is None else tuple(asked), tuple(out_shardings), mesh)
    for leaf, sharding in zip(leaves, asked, strict=True):
        if sharding is not None:
            check_operand(leaf, sharding, name)
    base = Placement(devices[0], True, devices, (), tuple(out_shardings), mesh)
    layouts = tuple(_layout(leaf, sharding, base) for leaf, sharding in zip(leaves, asked, strict=True))
    return base._replace(in_shardings=layouts)


def on_mesh_of_one(placement: Placement, leaves: Sequence[Any], avals: Sequence[Any]) -> Placement:
    """The placement with operands and results that lie on its mesh, if that is one of a single device.

    Results lie as their types say, or else as the first operand of their shape that lies on it, or wholly on the device.
    """
    mesh = placement.mesh
    if mesh is None or placement.devices is not None:
        return placement
    ins: list[Any] = []
    specs: dict[tuple[int, ...], PartitionSpec] = {}
    for leaf, own in zip(leaves, placement.in_shardings or (None,) * len(leaves), strict=True):
        sharding: Any = getattr(leaf, "sharding", None) if own is None else own
        if not isinstance(sharding, NamedSharding) or sharding.mesh != mesh:
            ins.append(single_sharding(placement.device))
            continue
        ins.append(NamedSharding(mesh, sharding.spec))
        if typeof(leaf).explicit is None and len(sharding.spec) <= typeof(leaf).ndim:
            specs.setdefault(typeof(leaf).shape, sharding.spec)

    def place(aval: ShapedArray) -> NamedSharding:
        spec = specs.get(aval.shape, PartitionSpec()) if aval.explicit is None else aval.explicit.spec
        return NamedSharding(mesh, spec, memory_kind=HOST_KIND if aval.memory_space is MemorySpace.Host else None)

    asked = placement.out_shardings or (None,) * len(avals)
    outs = tuple(place(aval) if own is None else own for own, aval in zip(asked, avals, strict=True))
    return placement._replace(in_shardings=tuple(ins), out_shardings=outs)


def _check_memory(leaf: ArrayLike, asked: runtime.NamedSharding) -> None:
    """Refuse an array in another kind of memory than jit's in_shardings ask for.

    Raises:
      ValueError: it is.
    """
    placed = _data(leaf)
    if placed is not None and placed._sharding.memory_kind != asked.memory_kind:
        raise ValueError(
            "Memory kinds passed to jit does not match memory kind on the respective arg. Got jit memory kind: "
            f"{asked.memory_kind}, arg memory kind: {placed._sharding.memory_kind} for arg type: "
            f"{placed.aval.str_short(False)}. Move it with device_put."
        )


def _check_rank(leaf: Any, asked: runtime.Sharding) -> None:
    """Refuse an operand of fewer axes than jit's in_shardings speak of, even where it lies so.

    Raises:
      ValueError: it has fewer.
    """
    aval = typeof(leaf)
    with naming_value(aval, asked, "jit"):
        asked.check_compatible_aval(physical_aval(aval).shape)


def _layout(leaf: Any, asked: Any, placement: Placement) -> Any:
    """How an operand lies over the devices: as asked for, as it is bound, or all of it on each."""
    placed = _data(leaf)
    if asked is not None:
        return asked
    if placed is not None and placed._committed:
        return placed._sharding
    if is_description(leaf):
        return leaf.sharding
    return placement.replicated


def _wishes(
    leaves: Sequence[Any],
    name: str,
    asked: Sequence[Any],
    outs: Sequence[Any],
    program: ClosedJaxpr | None,
    names: Callable[[], Sequence[str]] | None,
) -> Iterator[_Wish]:
    def described(index: int) -> str:
        which = f"argument {names()[index]} of {name}" if names is not None else "argument"
        return f"{which} with shape {leaves[index].aval.str_short(False)}"

    def operand(index: int) -> Callable[[], str]:
        return functools.partial(described, index)

    for index, (leaf, sharding) in enumerate(zip(leaves, asked, strict=True)):
        placed = _data(leaf)
        if placed is not None and placed._committed:
            yield _Wish(placed._sharding._internal_device_list, operand(index))
        elif is_description(leaf):
            yield _Wish(leaf.sharding._internal_device_list, lambda: "a described argument")
        if sharding is not None:
            yield _Wish(sharding._internal_device_list, lambda: "explicit input sharding")
    for sharding in outs:
        if sharding is not None:
            yield _Wish(sharding._internal_device_list, lambda: "explicit output sharding")
    if program is not None:
        yield from _wishes_inside(program)


def binds(program: ClosedJaxpr) -> bool:
    """Whether a program closes over arrays that are bound to devices, or asks for some inside."""

    def bound() -> bool:
        arrays = map(_data, program.consts)
        return any(placed is not None and placed._committed for placed in arrays) or bool(placements_in(program))

    return bool(program.memo("binds", bound))


def _wishes_inside(program: ClosedJaxpr) -> Iterator[_Wish]:
    """What closed-over arrays and operations of a program ask for."""
    for placed in map(_data, program.consts):
        if placed is not None and placed._committed:
            text = f"closed-over array with shape {placed.aval.str_short(False)}"
            yield _Wish(placed._sharding._internal_device_list, functools.partial(str, text))
    for place in placements_in(program):
        mesh = place.mesh if isinstance(place, NamedSharding) else place
        if mesh._internal_device_list is not None:  # abstract ones have no devices
            yield _Wish(place._internal_device_list, functools.partial(_asked_inside, program.jaxpr, place))


def _asked_inside(jaxpr: Jaxpr, place: Any) -> str:
    """What asks inside of a program to run at a place, and on which line of the user's."""
    asker = _asker(jaxpr, place)
    frames = [] if asker is None else user_frames(asker.source_info.traceback, 1)
    operation = "" if asker is None else f" of {asker.primitive.name}"
    return f"{place}{operation} inside the function{''.join(f' at {frame_text(frame)}' for frame in frames)}"


def _asker(jaxpr: Jaxpr, place: Any) -> JaxprEqn | None:
    """The equation that asks for a place, nested ones included."""
    for eqn in jaxpr.eqns:
        find = placements_of_primitive.get(eqn.primitive)
        if find is not None and find(eqn.params) == place:
            return eqn
        for inner in subprograms(eqn.params):
            found = _asker(open_jaxpr(inner), place)
            if found is not None:
                return found
    return None


def incompatible(name: str, one: _Wish, other: _Wish) -> ValueError:
    """The error for two things that ask for different devices."""
    alike = _ids(one.devices) == _ids(other.devices) and _platform(one.devices) == _platform(other.devices)
    note = "; the devices of one of them were forgotten by clear_backends" if alike else ""
    return ValueError(
        f"Received incompatible devices for jitted computation. Got {one.describe()} and device ids "
        f"{_ids(one.devices)} on platform {_platform(one.devices)}, and {other.describe()} and device ids "
        f"{_ids(other.devices)} on platform {_platform(other.devices)} (in {name}){note}"
    )


def _ids(devices: Any) -> list[int]:
    return [device.id for device in devices]


def _platform(devices: Any) -> str:
    return platform_name(devices[0].client).upper()


def check_operand(leaf: Any, sharding: Any, name: str) -> None:
    """Refuse an operand that is bound otherwise than its function asks.

    Raises:
      ValueError: it is; move it with ``device_put`` first.
    """
    placed = _data(leaf)
    if placed is not None and placed._committed and not placed._sharding.is_equivalent_to(sharding, placed.ndim):
        raise ValueError(
            f"Sharding passed to jit does not match the sharding on the respective arg (in {name}). Got jit sharding: "
            f"{sharding},\narg sharding: {placed._sharding} for arg type: {placed.aval.str_short(False)}"
        )


def placements_in(program: ClosedJaxpr) -> tuple[Any, ...]:
    """The shardings and meshes with devices that the operations of a program ask for, nested ones included."""
    return program.memo("places", lambda: tuple(dict.fromkeys(_placements(program.jaxpr))))


def _placements(jaxpr: Jaxpr) -> Iterator[Any]:
    for eqn in jaxpr.eqns:
        find = placements_of_primitive.get(eqn.primitive)
        place = find(eqn.params) if find is not None else None
        if place is not None:
            yield place
        for inner in subprograms(eqn.params):
            if isinstance(inner, ClosedJaxpr):
                yield from placements_in(inner)
            else:
                yield from _placements(inner)


def _device_counts_in(program: ClosedJaxpr) -> frozenset[int]:
    """Over how many devices operations of a program have to run, nested ones included."""
    found: frozenset[int] = program.memo("device counts", lambda: frozenset(_device_counts(program.jaxpr)))
    return found


def _device_counts(jaxpr: Jaxpr) -> Iterator[int]:
    for eqn in jaxpr.eqns:
        find = device_counts_of_primitive.get(eqn.primitive)
        if find is not None:
            yield find(eqn.params)
        for inner in subprograms(eqn.params):
            yield from _device_counts_in(inner) if isinstance(inner, ClosedJaxpr) else _device_counts(inner)


def _mesh(leaves: Sequence[Any], asked: Sequence[Any], outs: Sequence[Any], program: ClosedJaxpr | None) -> Any:
    """The first mesh with devices that anything names."""
    given = [leaf.sharding for leaf in leaves if isinstance(getattr(leaf, "sharding", None), NamedSharding)]
    inside, consts = ((), ()) if program is None else (placements_in(program), program.consts)
    held = (placed._sharding for placed in map(_data, consts) if placed is not None)
    return next(_meshes_of(itertools.chain(asked, given, outs, inside, held)), None)


def _meshes_of(places: Iterable[Any]) -> Iterator[Any]:
    """The meshes with devices among places, and those of shardings."""
    for each in places:
        mesh = each.mesh if isinstance(each, NamedSharding) else each if hasattr(each, "axis_names") else None
        if mesh is not None and mesh._internal_device_list is not None:
            yield mesh


def named_as_inside(sharding: Any, rank: int, jaxpr: Jaxpr) -> Any:
    """The sharding of a result, where no mesh of arguments describes it: by one that an operation of the program names."""
    if type(sharding) is not runtime.GSPMDSharding:
        return sharding
    devices, hlo = sharding._internal_device_list, sharding._hlo_sharding
    meshes = (mesh for mesh in _meshes_of(_placements(jaxpr)) if mesh._internal_device_list == devices)
    named = (named_like(mesh, hlo, rank) for mesh in meshes)
    return next((each for each in named if isinstance(each, NamedSharding)), sharding)
