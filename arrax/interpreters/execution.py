"""From a lowered program to something that runs: find or compile the executable, call it, describe it to the C++ call path."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core import config, errors
from arrax.core.effects import any_ordered
from arrax.core.explicit_axes import placed_type
from arrax.core.interpreter import Rounding
from arrax.core.program import Jaxpr
from arrax.core.pytree_nodes import call_registry
from arrax.interpreters.lowered_programs import Distribution, LoweredProgram
from arrax.interpreters.lowering.builder import physical_aval
from arrax.interpreters.placements import Placement, named_as_inside, out_memories
from arrax.interpreters.special_values import check_special_values, watching
from arrax.native import runtime
from arrax.xla import axis_orders, callers, compat, compilation, startup
from arrax.xla.devices import single_sharding
from arrax.xla.distribution import put_on
from arrax.xla.draining import drain
from arrax.xla.effect_tokens import pending
from arrax.xla.host_failures import interruption
from arrax.xla.modules import ModuleAsItIs, Source
from arrax.xla.pacing import pace
from arrax.xla.placement import array_from_host, check_live, copy_to_device

if TYPE_CHECKING:
    from arrax.core.types import ShapedArray
    from arrax.xla.arrays import Array, ArrayLike

logger = logging.getLogger("arrax")
ArrayImpl = runtime.ArrayImpl


class FastPath(NamedTuple):
    """What the C++ call path needs for calls of one signature; it reads these attributes by name."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: list[Any]
    out_shardings: list[Any]
    out_avals: list[Any]
    out_committed: list[bool]
    kept_var_bitvec: list[bool]
    in_device_local_layouts: list[Any]
    const_args: list[Any]
    runs_users: bool  # whether functions of users are called, whose exceptions C++ makes a ValueError


def _as_given(
    sharding: runtime.Sharding, rank: int, given: Iterable[tuple[runtime.NamedSharding, int | None]]
) -> runtime.Sharding:
    """The sharding of a result, as that of an argument says it: equal ones make one signature of the next call."""
    mesh = getattr(sharding, "mesh", None)
    alike = (
        each for each, own in given
        if own == rank and (mesh is None or each.mesh == mesh) and each.is_equivalent_to(sharding, rank)
    )  # fmt: skip
    return next(alike, sharding)


def _over_own_mesh(placement: Placement, aval: Any, meshes: Sequence[Any]) -> Placement:
    """The placement over the mesh of a result, where arguments lie over several: the one that its type speaks of, if any."""
    if len(meshes) < 2:
        return placement
    explicit = getattr(aval, "explicit", None)
    if explicit is not None:
        own = [mesh for mesh in meshes if mesh.abstract_mesh == explicit.mesh]
    else:
        own = [mesh for mesh in (placement.mesh, *meshes) if mesh is not None and not mesh.explicit_axes]
    return placement._replace(mesh=own[0]) if own else placement


class CompiledProgram:
    """An executable and how to call it with the flat arguments of its program."""

    __slots__ = (
        "executable", "placement", "kept", "const_args", "out_avals", "in_shardings", "out_shardings", "handlers", "effects",
        "name", "donated", "lowered", "physical", "paced", "to_agree", "names", "compiled_here", "in_orders", "_keys", "_on_host",
    )  # fmt: skip

    def __init__(
        self,
        lowered: LoweredProgram,
        placement: Placement,
        name: str,
        compiler_options: dict[str, Any] | None = None,
        afresh: bool = False,
        executable: runtime.LoadedExecutable | None = None,
    ) -> None:
        """With ``executable``, it is there already, and ``lowered`` has no module."""
        self.placement, self.name = placement, name
        self._prepare(lowered)
        self.executable = self._compile(lowered, compiler_options, afresh) if executable is None else executable
        latest = compilation.latest
        self.names, self.compiled_here = latest.names, executable is None and latest.source == "compiler"
        self.lowered = lowered._replace(module=None, locations=None)  # type: ignore[arg-type]  # whose memory is freed
        self.kept, self.donated, self.effects = lowered.kept, lowered.donated, lowered.effects
        self.out_avals = [atom.aval for atom in lowered.jaxpr.outvars]
        self._keys = [isinstance(aval.dtype, dtypes.ExtendedDType) for aval in self.out_avals]
        self._on_host = [aval.dtype == dtypes.float0 for aval in self.out_avals]  # of float0, which no buffer has
        physical = list(map(physical_aval, self.out_avals))
        self.in_shardings, self.out_shardings = self._shardings(lowered, physical)
        self.physical = list(map(placed_type, physical, self.out_shardings))
        count = len(lowered.const_args)
        orders = placement.in_orders or (None,) * len(self.kept)
        self.in_orders = [*[None] * count, *(o for o, keep in zip(orders, self.kept, strict=True) if keep)]
        self.const_args = list(map(self._constant, lowered.const_args, self.in_shardings[:count]))
        self.handlers = [
            compat.result_handler(aval, sharding, placement.committed)
            for aval, sharding in zip(self.physical, self.out_shardings, strict=True)
        ]

    def _prepare(self, lowered: LoweredProgram) -> None:
        device, distribution = self.placement.device, lowered.distribution
        if lowered.host_callbacks:
            drain.expect(device)
        self.paced = distribution is not None and device.platform == "cpu"
        self.to_agree = distribution is not None and not distribution.devices.is_fully_addressable
        if self.paced:
            pace.watch()

    def _compile(
        self, lowered: LoweredProgram, compiler_options: dict[str, Any] | None, afresh: bool
    ) -> runtime.LoadedExecutable:
        device, distribution = self.placement.device, lowered.distribution
        # Small programs that are many, and no user's: with names of their operations they would take a tenth longer to load.
        source: Source = ModuleAsItIs(lowered.module) if lowered.eager else lowered.locations
        return compilation.compile_module(
            source, [device] if distribution is None else list(distribution.devices), quickly=lowered.quickly,
            compiler_options=compiler_options, host_callbacks=lowered.host_callbacks, name=self.name,
            storable=not lowered.of_this_process, at_once=lowered.at_once and device.client.local_device_count() == 1,
            propagated=() if distribution is None else [sharding is None for sharding in distribution.out_shardings], afresh=afresh,
        )  # fmt: skip

    def _shardings(self, lowered: LoweredProgram, physical: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """How arguments and results lie."""
        placement, distribution = self.placement, lowered.distribution
        if distribution is None:
            single = single_sharding(placement.device)
            given = placement.in_shardings or [single] * len(lowered.kept)
            ins = [single] * len(lowered.const_args) + [
                each for each, kept in zip(given, lowered.kept, strict=True) if kept
            ]
            asked = placement.out_shardings or [None] * len(physical)
            outs = [single if sharding is None else sharding for sharding in asked]
        else:
            ins, outs = distribution.in_shardings, self._chosen_shardings(distribution, physical)
        memories = out_memories(placement, self.out_avals)
        if any(memories):
            outs = [
                sharding if kind is None else sharding.with_memory_kind(kind)
                for sharding, kind in zip(outs, memories, strict=True)
            ]
        return ins, outs

    def _chosen_shardings(self, distribution: Distribution, avals: Sequence[Any]) -> list[Any]:
        """How the results lie: as asked for, or as the compiler chose."""
        asked = distribution.out_shardings
        if all(sharding is not None for sharding in asked):
            return list(asked)
        chosen = self.executable.get_output_shardings()
        if not chosen:
            return [self.placement.replicated if sharding is None else sharding for sharding in asked]
        ins = zip(distribution.in_shardings, self.lowered.jaxpr.in_avals, strict=True)
        given = dict.fromkeys(
            (s, getattr(aval, "ndim", None)) for s, aval in ins if isinstance(s, runtime.NamedSharding)
        )
        meshes = list(dict.fromkeys(sharding.mesh for sharding, _ in given))
        over = [_over_own_mesh(self.placement, aval, meshes) for aval in self.out_avals]

        def named(proto: Any, rank: int, place: Placement) -> Any:
            sharding = _as_given(place.chosen(runtime.HloSharding.from_proto(proto), rank), rank, given)
            return named_as_inside(sharding, rank, self.lowered.jaxpr)

        return [
            named(proto, aval.ndim, place) if sharding is None else sharding
            for sharding, proto, aval, place in zip(asked, chosen, avals, over, strict=True)
        ]

    def sharding_of_argument(self, number: int) -> runtime.Sharding | None:
        """How a flat argument of the call is laid out; None where the program does not take it."""
        if not self.kept[number]:
            return None
        return self.in_shardings[len(self.const_args) + sum(self.kept[:number])]

    def _place(self, value: Any, sharding: runtime.Sharding) -> Any:
        base = getattr(value, "_base_array", None)
        if base is not None:
            value = base
        if self.lowered.distribution is not None:
            return put_on(value, sharding)
        device = self.placement.device
        if type(value) is not ArrayImpl:
            return array_from_host(value, None, device)
        check_live(value)
        if value._sharding is sharding or value._sharding == sharding:
            return value
        return copy_to_device(value, device, value._committed)

    def _constant(self, value: ArrayLike, sharding: runtime.Sharding) -> Array:
        """An array that the function closes over, as the program keeps it.

        One that may be given as a donated argument, too, as the first parameters of a training loop are, is copied.
        """
        placed = axis_orders.in_order(self._place(value, sharding), None)
        taken = map(physical_aval, self.lowered.jaxpr.in_avals[len(self.lowered.const_args) :])
        given = [aval for aval, donated in zip(taken, self._donated_of_kept(), strict=True) if donated]
        alike = any((aval.shape, aval.dtype) == (placed.shape, placed.dtype) for aval in given)
        return placed.copy() if alike else placed

    def _donated_of_kept(self) -> list[bool]:
        """Of each argument that the program takes, whether it is donated."""
        return [each for each, keep in zip(self.donated, self.kept, strict=True) if keep]

    def call(self, leaves: Sequence[Any]) -> list[Any]:
        """Run on flat arguments (arrays or host values, those not kept included)."""
        mark_results = None
        if config.debug_key_reuse.cell.value:
            kept = [leaf for leaf, keep in zip(leaves, self.kept, strict=True) if keep]
            mark_results = errors.hooks.check_keys(self.lowered.jaxpr, [*self.lowered.const_args, *kept], self.name)
        arrays = [*self.const_args]
        for leaf, keep in zip(leaves, self.kept, strict=True):
            if keep:
                placed = self._place(leaf, self.in_shardings[len(arrays)])
                arrays.append(axis_orders.in_order(placed, self.in_orders[len(arrays)]))
        if self.to_agree:
            for agree in startup.before_first_runs:
                agree(self.executable, self.name, self.placement.devices)
            self.to_agree = False
        ended = None
        try:
            outs = self._run_with_effects(arrays) if self.effects else self._run(arrays)
        except errors.JaxRuntimeError as error:
            ended = interruption(error)
            if ended is None and not any(value.is_deleted() for value in self.const_args):
                raise
            ended = ended or RuntimeError(
                f"{self.name} closes over an array that has been deleted or donated since: pass it as an argument."
            )
        if ended is not None:  # raised without the other one, whose frames hold results that there will never be
            raise ended
        if any(self._keys) or any(self._on_host):
            outs = [_in_its_type(out, aval) for out, aval in zip(outs, self.out_avals, strict=True)]
        check_special_values(outs, self.name, moved=self.lowered.eager and _moves_elements(self.lowered.jaxpr))
        if mark_results is not None:
            mark_results(outs)
        return outs

    def _run(self, arrays: list[Any]) -> list[Any]:
        outs = self.executable.execute_sharded(arrays).consume_with_handlers(self.handlers)
        if self.paced:
            pace.after_run(outs)
        return outs

    def _run_with_effects(self, arrays: list[Any]) -> list[Any]:
        ordered = any_ordered(self.effects)
        if ordered:
            pending.wait_for_turn()
        if any(effect.needs_caller for effect in self.effects):
            can_stop = any(effect.stops for effect in self.effects)
            return callers.attended(lambda: self._run_to_the_end(arrays), can_stop)
        results = self.executable.execute_sharded(arrays, with_tokens=True)
        outs = results.consume_with_handlers(self.handlers)
        pending.add(results.consume_token(), ordered)
        return outs

    def _run_to_the_end(self, arrays: list[Any]) -> list[Any]:
        results = self.executable.execute_sharded(arrays, with_tokens=True)
        results.consume_token().block_until_ready()
        return results.consume_with_handlers(self.handlers)

    def fast_path(self, result: Any, leaves: Sequence[Any]) -> FastPath | None:
        """The record for the C++ call path, or None where calls must pass through Python.

        Args:
          result: the result of this call; keys in it, whose words the program gives, are nodes of its tree.
          leaves: the arguments of this call.
        """
        if any(self._on_host) or self.effects:
            return None
        if watching() or config.debug_key_reuse.cell.value:
            return None
        kept = [True] * len(self.const_args) + list(self.kept)
        taken = [leaf for leaf, keep in zip(leaves, self.kept, strict=True) if keep]
        if axis_orders.overlooked(taken, self.in_orders[len(self.const_args) :]):
            return None
        return FastPath(
            self.executable, call_registry.flatten(result)[1], list(self.in_shardings), list(self.out_shardings),
            list(self.physical), [self.placement.committed] * len(self.out_avals), kept,
            [None if order is None else axis_orders.Wanted(order) for order in self.in_orders], list(self.const_args),
            self.lowered.runs_users,
        )  # fmt: skip


def _in_its_type(out: Array, aval: ShapedArray) -> ArrayLike:
    """A result of a type that no buffer has: keys around their words, float0 on the host."""
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return aval.dtype.wrap(out)
    return np.zeros(aval.shape, dtypes.float0) if aval.dtype == dtypes.float0 else out


def _moves_elements(jaxpr: Jaxpr) -> bool:
    """Whether a program computes nothing: elements are moved, compared or converted, and NaNs were there before."""
    return all(eqn.primitive.rounding is Rounding.NONE and eqn.primitive.cost is None for eqn in jaxpr.eqns)
