"""Running a program per device operation by operation: values can be printed, and looked at where all devices agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Interpreter, Primitive, Tracer, ValueWanted, context, current, run_in
from arrax.core.manual_regions import Region
from arrax.core.meshes import in_mesh, mesh_state
from arrax.core.partition_specs import PartitionSpec
from arrax.core.program import ClosedJaxpr
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.special_values import SpecialValueFound
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.placement import put_value
from arrax.lax.shapes import expand_dims, squeeze
from arrax.lax.shard_maps import bind_shard_map, region_of, shard_map_p
from arrax.xla.placement import host_value, pieces_of
from arrax.xla.shardings import NamedSharding

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

Specs = Sequence[PartitionSpec]
_ONE_OPERATION = "shard_map of one operation"


class DeviceTracer(Tracer):
    """A value of which each device has its own; underneath these are stacked along a leading axis."""

    __slots__ = ("stack",)
    interpreter: PerDevice

    def __init__(self, interpreter: PerDevice, stack: Array, aval: ShapedArray):
        self.interpreter, self.stack, self.aval = interpreter, stack, aval

    def is_concrete(self) -> bool:
        return not self.aval.vma

    def concrete(self) -> Any:
        return self.blocks()[0] if self.is_concrete() else None

    def blocks(self) -> list[np.ndarray]:
        """What each device has, in the order of the mesh."""
        base = getattr(self.stack, "_base_array", self.stack)
        return [host_value(piece)[0] for piece in pieces_of(base)]

    def __repr__(self) -> str:
        mesh = self.interpreter.region.mesh
        names = f"({', '.join(map(str, mesh.axis_names))},)"
        texts = []
        for (index, device), block in zip(np.ndenumerate(mesh.devices), self.blocks(), strict=True):  # type: ignore[attr-defined]
            texts.append(f"On {device} at mesh coordinates {names} = {index}:\n{block}\n")
        return "\n".join(texts)

    __str__ = __repr__


class PerDevice(Interpreter):
    """Runs each operation at once, on what every device has."""

    __slots__ = ("region", "outside")

    def __init__(self, region: Region):
        self.parent, self.alive, self.region = context.interpreter, True, region
        self.outside = context.axes, context.tracks_varying, mesh_state()

    def describe(self) -> str:
        return "shard_map"

    @property
    def divided_spec(self) -> PartitionSpec:
        """The spec of a stack."""
        return PartitionSpec(self.region.ordered(self.region.axes))

    def process(self, primitive: Primitive, args: tuple, params: dict[str, Any]) -> Any:
        own = [isinstance(arg, DeviceTracer) and arg.interpreter is self for arg in args]
        with self.region.entered():
            out = primitive.infer([typeof(arg) for arg in args], params)
        avals = out if primitive.multiple_results else [out]

        def body(*blocks: Any) -> list[Any]:
            values = [squeeze(x, (0,)) if mine else x for x, mine in zip(blocks, own, strict=True)]
            found = primitive.bind(*values, **params)
            return [expand_dims(x, (0,)) for x in (found if primitive.multiple_results else [found])]

        values = [arg.stack if mine else arg for arg, mine in zip(args, own, strict=True)]
        try:
            stacks = self.run(body, values, [self.divided_spec if mine else PartitionSpec() for mine in own])
        except SpecialValueFound as error:
            self.find_special_value(primitive, args, params)
            raise SpecialValueFound(str(error).replace(shard_map_p.name, primitive.name)) from None
        tracers = [DeviceTracer(self, stack, aval) for stack, aval in zip(stacks, avals, strict=True)]
        return tracers if primitive.multiple_results else tracers[0]

    def find_special_value(self, primitive: Primitive, args: tuple, params: dict[str, Any]) -> None:
        """Run the operations inside of an operation, of which one raises that it gives NaN or infinity."""
        if primitive.by_operation is not None:
            try:
                primitive.by_operation(*args, **params)
            except (ConcretizationTypeError, ValueWanted):
                pass  # it goes another way on each device

    def run(
        self, body: Callable[..., list[Any]], values: Sequence[Any], ins: Specs, outs: Specs | None = None
    ) -> list[Any]:
        """Run a function of blocks on all devices, outside of this interpretation."""
        region = self.region._replace(tracked=False)
        with self._outside():
            placed = [put_value(x, NamedSharding(region.mesh, spec)) for x, spec in zip(values, ins, strict=True)]
            with region.entered():
                pieces = [region.piece(typeof(x), spec) for x, spec in zip(placed, ins, strict=True)]
                program = ClosedJaxpr(*stage(body, pieces))
            wanted = tuple(outs) if outs is not None else (self.divided_spec,) * len(program.out_avals)
            return bind_shard_map(program, placed, region, tuple(ins), wanted, _ONE_OPERATION)

    @contextmanager
    def _outside(self) -> Iterator[None]:
        inside = context.axes, context.tracks_varying
        context.axes, context.tracks_varying, state = self.outside
        try:
            with in_mesh(state), current(self.parent):
                yield
        finally:
            context.axes, context.tracks_varying = inside


def per_device(
    region: Region, flat: Callable[..., Sequence[Any]], values: Sequence[Any], ins: Specs
) -> tuple[list[Any], list[Any], Callable[[Specs], list[Any]]]:
    """Run a flat function of blocks operation by operation.

    Returns: what it gave, its types, and a function that puts this together by specs.
    """
    interpreter = PerDevice(region)
    stacks = interpreter.run(lambda *blocks: [expand_dims(x, (0,)) for x in blocks], values, ins)
    avals = [region.piece(typeof(x), spec) for x, spec in zip(values, ins, strict=True)]
    tracers = [DeviceTracer(interpreter, stack, aval) for stack, aval in zip(stacks, avals, strict=True)]
    with region.entered():
        outs = list(run_in(interpreter, flat, *tracers))

    def together(specs: Specs) -> list[Any]:
        own = [isinstance(out, DeviceTracer) for out in outs]
        given = [out.stack if mine else out for out, mine in zip(outs, own, strict=True)]
        return interpreter.run(
            lambda *blocks: [squeeze(x, (0,)) if mine else x for x, mine in zip(blocks, own, strict=True)],
            given, [interpreter.divided_spec if mine else PartitionSpec() for mine in own], specs,
        )  # fmt: skip

    return outs, [typeof(out) for out in outs], together


def _by_operation(*args: Any, jaxpr: ClosedJaxpr, in_specs: Specs, out_specs: Specs, **params: Any) -> list[Any]:
    if params["name"] == _ONE_OPERATION:
        return []  # there is nothing more to find out
    together = per_device(
        region_of(params), lambda *blocks: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *blocks), args, in_specs
    )[2]
    return together(out_specs)


shard_map_p.by_operation = _by_operation
