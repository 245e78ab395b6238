"""From a program to something that runs: lower, find or compile the executable, call it, describe it to the C++ call path."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core import config, errors, monitoring
from arrax.core.effects import any_ordered
from arrax.core.explicit_axes import placed_type
from arrax.core.interpreter import Rounding
from arrax.core.program import ClosedJaxpr, Jaxpr, Var
from arrax.core.pytree_nodes import call_registry
from arrax.core.reference_hooks import reference_hooks
from arrax.core.types import ShapedArray, typeof
from arrax.dtypes.canonical import warn_user
from arrax.interpreters.compile_speed import compiles_quickly
from arrax.interpreters.cost_model import runs_inline
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.lowering.builder import physical_aval
from arrax.interpreters.lowering.locations import Locations
from arrax.interpreters.lowering.module import lower_module
from arrax.interpreters.ordering import in_order
from arrax.interpreters.placements import Placement, out_memories
from arrax.native import runtime
from arrax.xla import axis_orders, callers, compat, compilation, startup
from arrax.xla.devices import single_sharding
from arrax.xla.distribution import naming_value, put_on
from arrax.xla.draining import drain
from arrax.xla.effect_tokens import pending
from arrax.xla.host_failures import interruption
from arrax.xla.modules import ModuleAsItIs, Source
from arrax.xla.pacing import pace
from arrax.xla.placement import array_from_host, check_live, copy_to_device, host_value

logger = logging.getLogger("arrax")
ArrayImpl = runtime.ArrayImpl
_EMBEDDED_ELEMENTS = 4096  # host constants up to this size stand in the program, larger ones are passed as arguments


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


class LoweredProgram(NamedTuple):
    """A module and how to feed it."""

    module: Any
    kept: list[bool]  # one per argument: whether the module takes it
    const_args: list[Any]  # leading arguments: large constants
    jaxpr: Jaxpr
    formed: ClosedJaxpr | None  # the same program in its platform's form: see ``platform_forms``
    donated: list[bool]
    host_callbacks: list[Any]
    calls_users: bool  # whether functions of users are among the callbacks
    effects: Any
    quickly: bool  # whether it may be compiled quickly
    at_once: bool  # whether calls run it themselves: see ``cost_model``
    spread: Any  # for several devices: these, and how inputs and outputs lie
    locations: Locations  # of the module's operations, which it does not have before it is compiled or read
    eager: bool  # whether it is a function of the library, called outside of a program


def hoist_constants(program: ClosedJaxpr) -> tuple[Jaxpr, list[Any], list[Any]]:
    """Large and device-held constants become leading inputs; small host ones stay. Returns (jaxpr, inputs, embedded)."""
    passed: list[tuple[Var, Any]] = []
    embedded: list[tuple[Var, Any]] = []
    for var, value in zip(program.jaxpr.constvars, program.consts, strict=True):
        host = not isinstance(value, ArrayImpl) and np.size(value) <= _EMBEDDED_ELEMENTS
        (embedded if host and not isinstance(var.aval.dtype, dtypes.ExtendedDType) else passed).append((var, value))
    jaxpr = program.jaxpr.replace(
        constvars=[var for var, _ in embedded], invars=[*(var for var, _ in passed), *program.jaxpr.invars]
    )
    return jaxpr, [value for _, value in passed], [value for _, value in embedded]


def lower_program(
    program: ClosedJaxpr,
    name: str,
    platform: str,
    *,
    donated: Sequence[bool] | None = None,
    keep_unused: bool = False,
    eager: bool = False,
    platforms: Sequence[str] = (),
    portable: bool = False,
    placement: Placement | None = None,
) -> LoweredProgram:
    """Lower a program: unused arguments dropped, constants placed, donations matched to outputs.

    Args:
      placement: for a program over several devices, which these are and how values are laid out.
      portable: the program is not for this process only, so it consists of the compiler's own operations, and of constants
        of any size.
      platforms: several that the program is for; it then takes the number of one of them as its first argument.
    """
    if reference_hooks.discharge is not None:
        program = reference_hooks.discharge(program)
    jaxpr, passed, embedded = (program.jaxpr, [], program.consts) if portable else hoist_constants(program)
    count = len(passed)
    jaxpr, kept = dce_jaxpr(
        jaxpr, [True] * len(jaxpr.outvars), [False] * count + [keep_unused] * (len(jaxpr.invars) - count)
    )
    jaxpr = in_order(jaxpr)
    const_args = [value for value, keep in zip(passed, kept[:count], strict=True) if keep]
    kept = kept[count:]
    spread = Spread.of(placement, const_args, kept, jaxpr)
    donate = [d for d, keep in zip(donated, kept, strict=True) if keep] if donated is not None else []
    attributes = _donation_attributes(jaxpr, len(const_args), donate, placement, spread)
    results: list[dict[str, str]] = []
    memories = out_memories(placement, jaxpr.out_avals)
    if placement is not None:
        attributes, results = _placement_attributes(placement, len(const_args), kept, attributes)
    if any(memories):
        kinds = [{} if kind is None else {"mhlo.memory_kind": f'"{kind}"'} for kind in memories]
        results = [{**texts, **kind} for texts, kind in zip(results or [{}] * len(kinds), kinds, strict=True)]
    start = time.perf_counter()
    with monitoring.timed("/jax/core/compile/jaxpr_to_mlir_module_duration", fun_name=name):
        module, ctx = lower_module(
            ClosedJaxpr(jaxpr, embedded), name, platform, argument_attributes=attributes, result_attributes=results,
            portable=portable, platforms=platforms,
            argument_names=[*[""] * len(const_args), *_names_of(program.jaxpr, kept)], **({} if spread is None else spread._asdict()),
        )  # fmt: skip
    if config.log_compiles.cell.value:
        logger.warning("Finished jaxpr to MLIR module conversion %s in %f sec", name, time.perf_counter() - start)
    flags = list(donated) if donated is not None else [False] * len(kept)
    return LoweredProgram(
        module, kept, const_args, jaxpr, ctx.program, flags, ctx.host_callbacks if ctx.calls_kernels or ctx.calls_users else [],
        ctx.calls_users, jaxpr.effects, eager and compiles_quickly(jaxpr), platform == "cpu" and not portable and runs_inline(jaxpr), spread,
        ctx.locations, eager,
    )  # fmt: skip


def _donation_attributes(
    jaxpr: Jaxpr, count: int, donate: Sequence[bool], placement: Placement | None, spread: Any
) -> list[dict[str, str]]:
    """Attributes of inputs, the first ``count`` of which are constants: which ones are donated, and to which outputs."""
    if not any(donate):
        return []
    if placement is not None and (placement.in_orders or placement.out_orders):
        return [{"jax.buffer_donor": "true"} if each else {} for each in [*[False] * count, *donate]]
    wanted = (spread.in_shardings[count:], spread.out_shardings) if spread is not None else ((), ())
    avals = [var.aval for var in jaxpr.invars[count:]]
    return [*({} for _ in range(count)), *match_donations(avals, donate, jaxpr.out_avals, *wanted)]


def _placement_attributes(
    placement: Placement, count: int, kept: Sequence[bool], attributes: list[dict[str, str]]
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Attributes of inputs and of outputs, with the order of their axes where that is unusual."""
    results: list[dict[str, str]] = []
    if placement.in_orders:
        orders = [order for order, keep in zip(placement.in_orders, kept, strict=True) if keep]
        attributes = _with_orders(attributes, [*[None] * count, *orders])
    if placement.out_orders:
        results = _with_orders([], placement.out_orders)
    return attributes, results


def _with_orders(attributes: Sequence[dict[str, str]], orders: Sequence[Any]) -> list[dict[str, str]]:
    """Attributes of inputs or outputs, with the order of their axes in memory where it is unusual."""
    given = attributes or [{}] * len(orders)
    return [
        texts if order is None else {**texts, "mhlo.layout_mode": axis_orders.mode(order)}
        for texts, order in zip(given, orders, strict=True)
    ]


def _names_of(jaxpr: Jaxpr, kept: Sequence[bool]) -> list[str]:
    """The names of the arguments that a module takes, where they are known."""
    names = getattr(jaxpr.debug_info, "argument_names", None)
    if names is None or len(names) != len(kept):
        return []
    return [name for name, keep in zip(names, kept, strict=True) if keep]


class Spread(NamedTuple):
    """How a module's inputs and outputs lie over several devices."""

    devices: Any
    mesh: Any
    in_shardings: list[Any]
    out_shardings: list[Any]

    @classmethod
    def of(
        cls, placement: Placement | None, const_args: Sequence[Any], kept: Sequence[bool], jaxpr: Jaxpr
    ) -> Spread | None:
        """None for one device."""
        if placement is None or placement.devices is None:
            return None
        consts = [_sharding_of_constant(value, placement) for value in const_args]
        given = [sharding for sharding, keep in zip(placement.in_shardings, kept, strict=True) if keep]
        outs = list(placement.out_shardings) or [None] * len(jaxpr.outvars)
        for var, sharding in zip(jaxpr.invars[len(consts) :], given, strict=True):
            with naming_value(var.aval, sharding, "jit"):
                sharding.shard_shape(physical_aval(var.aval).shape)
        for atom, sharding in zip(jaxpr.outvars, outs, strict=True):
            if sharding is not None:
                with naming_value(atom.aval, sharding, "jit's results, as out_shardings"):
                    sharding.shard_shape(physical_aval(atom.aval).shape)
        return cls(placement.devices, placement.mesh, [*consts, *given], outs)


def _sharding_of_constant(value: Any, placement: Placement) -> Any:
    array = getattr(value, "_base_array", value)
    return array._sharding if type(array) is ArrayImpl and array._committed else placement.replicated


def match_donations(
    in_avals: Sequence[Any],
    donate: Sequence[bool],
    out_avals: Sequence[Any],
    in_shardings: Sequence[Any] = (),
    out_shardings: Sequence[Any] = (),
) -> list[dict[str, str]]:
    """Give each donated input an output of its type (and layout); warn of those that find none."""
    free: dict[Any, list[int]] = {}
    outs = out_shardings or [None] * len(out_avals)
    for index, (aval, sharding) in enumerate(zip(out_avals, outs, strict=True)):
        free.setdefault((aval.shape, aval.dtype, sharding), []).append(index)
    attributes, unusable = [], []
    for aval, donated, sharding in zip(in_avals, donate, in_shardings or [None] * len(in_avals), strict=True):
        matches = free.get((aval.shape, aval.dtype, sharding)) if donated else None
        if donated and not matches and sharding is not None and free.get((aval.shape, aval.dtype, None)):
            free[aval.shape, aval.dtype, None].pop()
            attributes.append({"jax.buffer_donor": "true"})  # the compiler lays that output out: it may fit
            continue
        if matches:
            attributes.append({"tf.aliasing_output": f"{matches.pop(0)} : i32"})
            continue
        if donated:
            unusable.append(aval.str_short(False))
        attributes.append({"jax.buffer_donor": "true"} if donated else {})
    if unusable:
        warn_user(
            f"Some donated buffers were not usable: {', '.join(unusable)}.\nDonation needs an output of the same shape and "
            "dtype. See docs/donation.md.",
        )
    return attributes


class CompiledProgram:
    """An executable and how to call it with the flat arguments of its program."""

    __slots__ = (
        "executable", "placement", "kept", "const_args", "out_avals", "in_shardings", "out_shardings", "handlers", "effects",
        "name", "donated", "lowered", "physical", "paced", "to_agree", "names", "compiled_here", "_keys", "_on_host", "in_orders",
    )  # fmt: skip

    def __init__(
        self,
        lowered: LoweredProgram,
        placement: Placement,
        name: str,
        compiler_options: Any = None,
        afresh: bool = False,
        executable: Any = None,
    ):
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
        self._on_host = [aval.dtype == dtypes.float0 for aval in self.out_avals]  # which have no elements to speak of
        physical = list(map(physical_aval, self.out_avals))
        self.in_shardings, self.out_shardings = self._shardings(lowered, physical)
        self.physical = list(map(placed_type, physical, self.out_shardings))
        count = len(lowered.const_args)
        orders = placement.in_orders or (None,) * len(self.kept)
        self.in_orders = [*[None] * count, *(o for o, keep in zip(orders, self.kept, strict=True) if keep)]
        placed = map(self._place, lowered.const_args, self.in_shardings[:count])
        self.const_args = [axis_orders.in_order(value, None) for value in placed]
        self.handlers = [
            compat.result_handler(aval, sharding, placement.committed)
            for aval, sharding in zip(self.physical, self.out_shardings, strict=True)
        ]

    def _prepare(self, lowered: LoweredProgram) -> None:
        device, spread = self.placement.device, lowered.spread
        if lowered.host_callbacks:
            drain.expect(device)
        self.paced = spread is not None and device.platform == "cpu"
        self.to_agree = spread is not None and not spread.devices.is_fully_addressable
        if self.paced:
            pace.watch()

    def _compile(self, lowered: LoweredProgram, compiler_options: Any, afresh: bool) -> Any:
        device, spread = self.placement.device, lowered.spread
        # Small programs that are many, and no user's: with names of their operations they would take a tenth longer to load.
        source: Source = ModuleAsItIs(lowered.module) if lowered.eager else lowered.locations
        return compilation.compile_module(
            source, [device] if spread is None else list(spread.devices), quickly=lowered.quickly,
            compiler_options=compiler_options, host_callbacks=lowered.host_callbacks, name=self.name,
            storable=not lowered.calls_users, at_once=lowered.at_once and device.client.local_device_count() == 1,
            propagated=() if spread is None else [sharding is None for sharding in spread.out_shardings], afresh=afresh,
        )  # fmt: skip

    def _shardings(self, lowered: LoweredProgram, physical: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """How arguments and results lie."""
        placement, spread = self.placement, lowered.spread
        if spread is None:
            single = single_sharding(placement.device)
            ins = [single] * (len(lowered.const_args) + sum(lowered.kept))
            asked = placement.out_shardings or [None] * len(physical)
            outs = [single if sharding is None else sharding for sharding in asked]
        else:
            ins, outs = spread.in_shardings, self._chosen_shardings(spread.out_shardings, physical)
        memories = out_memories(placement, self.out_avals)
        if any(memories):
            outs = [
                sharding if kind is None else sharding.with_memory_kind(kind)
                for sharding, kind in zip(outs, memories, strict=True)
            ]
        return ins, outs

    def _chosen_shardings(self, asked: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
        """How the results lie: as asked for, or as the compiler chose."""
        if all(sharding is not None for sharding in asked):
            return list(asked)
        chosen = self.executable.get_output_shardings()
        if not chosen:
            return [self.placement.replicated if sharding is None else sharding for sharding in asked]
        return [
            self.placement.chosen(runtime.HloSharding.from_proto(proto), aval.ndim) if sharding is None else sharding
            for sharding, proto, aval in zip(asked, chosen, avals, strict=True)
        ]

    def sharding_of_argument(self, number: int) -> Any:
        """How a flat argument of the call is laid out; None where the program does not take it."""
        if not self.kept[number]:
            return None
        return self.in_shardings[len(self.const_args) + sum(self.kept[:number])]

    def _place(self, value: Any, sharding: Any) -> Any:
        base = getattr(value, "_base_array", None)
        if base is not None:
            value = base
        if self.lowered.spread is not None:
            return put_on(value, sharding)
        device = self.placement.device
        if type(value) is not ArrayImpl:
            return array_from_host(value, None, device)
        check_live(value)
        if value._sharding is sharding or value._sharding == sharding:
            return value
        return copy_to_device(value, device, value._committed)

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
            if ended is None:
                raise
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
        if config.debug_nans.cell.value or config.debug_infs.cell.value or config.debug_key_reuse.cell.value:
            return None
        kept = [True] * len(self.const_args) + list(self.kept)
        taken = [leaf for leaf, keep in zip(leaves, self.kept, strict=True) if keep]
        if axis_orders.overlooked(taken, self.in_orders[len(self.const_args) :]):
            return None
        return FastPath(
            self.executable, call_registry.flatten(result)[1], list(self.in_shardings), list(self.out_shardings),
            list(self.physical), [self.placement.committed] * len(self.out_avals), kept,
            [None if order is None else axis_orders.Wanted(order) for order in self.in_orders], list(self.const_args),
        )  # fmt: skip


def _in_its_type(out: Any, aval: Any) -> Any:
    """A result of a type that no buffer has: keys around their words, float0 on the host."""
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return aval.dtype.wrap(out)
    return np.zeros(aval.shape, dtypes.float0) if aval.dtype == dtypes.float0 else out


class SpecialValueFound(FloatingPointError):
    """A result holds NaN or infinity while they are watched for. Users see it as the FloatingPointError that it is."""

    __module__ = "builtins"

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatingPointError, self.args


SpecialValueFound.__name__ = SpecialValueFound.__qualname__ = "FloatingPointError"


def _moves_elements(jaxpr: Jaxpr) -> bool:
    """Whether a program computes nothing: elements are moved, compared or converted, and NaNs were there before."""
    return all(eqn.primitive.rounding is Rounding.NONE and eqn.primitive.cost is None for eqn in jaxpr.eqns)


def check_special_values(outs: Sequence[Any], name: str, moved: bool = False) -> None:
    """Raise where NaNs (or infinities) are watched for and found.

    Args:
      moved: whether no NaN was made here, such as by a step of a function that puts NaNs where it is not defined.
    """
    if not (config.debug_nans.cell.value or config.debug_infs.cell.value):
        return
    for out in outs:
        aval = typeof(out)
        if (
            not isinstance(aval, ShapedArray)
            or not isinstance(aval.dtype, np.dtype)
            or not dtypes.is_inexact(aval.dtype)
        ):
            continue
        value = host_value(out)
        if value.dtype.kind not in "fc":
            value = value.astype(np.float32)
        for kind, option, test in (("nan", config.debug_nans, np.isnan), ("inf", config.debug_infs, np.isinf)):
            if option.cell.value and not (moved and kind == "nan") and test(value).any():
                raise SpecialValueFound(f"invalid value ({kind}) encountered in {name}")
