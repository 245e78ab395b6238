"""Programs as modules for the compiler, with their constants, donated arguments and places on devices."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core import config, monitoring
from arrax.core.program import ClosedJaxpr, Effects, Jaxpr, Var
from arrax.core.reference_hooks import reference_hooks
from arrax.dtypes.canonical import warn_user
from arrax.interpreters.compile_speed import compiles_quickly
from arrax.interpreters.constant_folding import with_constants_folded
from arrax.interpreters.cost_model import runs_inline
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.known_parts import folded_otherwise
from arrax.interpreters.lowering.builder import physical_aval
from arrax.interpreters.lowering.locations import Locations
from arrax.interpreters.lowering.module import lower_module
from arrax.interpreters.ordering import in_order
from arrax.interpreters.placements import Placement, out_memories
from arrax.interpreters.recorded_widths import holds_wide
from arrax.native import runtime
from arrax.xla import axis_orders
from arrax.xla.distribution import naming_value

logger = logging.getLogger("arrax")
ArrayImpl = runtime.ArrayImpl
_EMBEDDED_ELEMENTS = 4096  # host constants up to this size stand in the program, larger ones are passed as arguments


class LoweredProgram(NamedTuple):
    """A module and how to feed it."""

    module: Any
    kept: list[bool]  # one per argument: whether the module takes it
    const_args: list[Any]  # leading arguments: large constants
    jaxpr: Jaxpr
    formed: ClosedJaxpr | None  # the same program in its platform's form: see ``platform_forms``
    donated: list[bool]
    host_callbacks: list[Any]  # functions of Python that it may call, host kernels first; empty where it calls none
    of_this_process: bool  # whether it holds functions of this process, so that no other process can run it
    effects: Effects
    quickly: bool  # whether it may be compiled quickly
    at_once: bool  # whether calls run it themselves: see ``cost_model``
    distribution: Distribution | None  # for several devices: these, and how inputs and outputs lie
    locations: Locations  # of the module's operations, which it does not have before it is compiled or read
    eager: bool  # whether it is a function of the library, called outside of a program
    runs_users: bool = False  # whether functions of users are called while it runs


def hoist_constants(program: ClosedJaxpr) -> tuple[Jaxpr, list[Any], list[Any]]:
    """Large and device-held constants become leading inputs; small host ones stay. Returns (jaxpr, inputs, embedded).

    Small ones become inputs, too, where the compiler would give functions of them other digits than it gives those of inputs.
    """
    pairs = list(zip(program.jaxpr.constvars, program.consts, strict=True))
    small = [var for var, value in pairs if _may_be_embedded(var, value)]
    stays = set(small) - folded_otherwise(program.jaxpr, small) if small else set()
    passed = [(var, value) for var, value in pairs if var not in stays]
    embedded = [(var, value) for var, value in pairs if var in stays]
    jaxpr = program.jaxpr.replace(
        constvars=[var for var, _ in embedded], invars=[*(var for var, _ in passed), *program.jaxpr.invars]
    )
    return jaxpr, [value for _, value in passed], [value for _, value in embedded]


def _may_be_embedded(var: Var, value: Any) -> bool:
    """Whether a constant is a small array of NumPy."""
    on_host = not isinstance(value, ArrayImpl) and np.size(value) <= _EMBEDDED_ELEMENTS
    return on_host and not isinstance(var.aval.dtype, dtypes.ExtendedDType)


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
    if holds_wide(program):
        with config.enable_x64(True):
            return lower_program(
                program, name, platform, donated=donated, keep_unused=keep_unused, eager=eager, platforms=platforms,
                portable=portable, placement=placement,
            )  # fmt: skip
    if reference_hooks.discharge is not None:
        program = reference_hooks.discharge(program)
    if platform == "cpu" and not portable and not eager and placement is not None and placement.is_one_device:
        program = with_constants_folded(program, placement.device)
    jaxpr, passed, embedded = (program.jaxpr, [], program.consts) if portable else hoist_constants(program)
    count = len(passed)
    if config.debug_key_reuse.cell.value:
        kept = [True] * len(jaxpr.invars)  # keys count as used where no result needs what is drawn, too
    else:
        jaxpr, kept = dce_jaxpr(
            jaxpr, [True] * len(jaxpr.outvars), [False] * count + [keep_unused] * (len(jaxpr.invars) - count)
        )
    jaxpr = in_order(jaxpr)
    const_args = [value for value, keep in zip(passed, kept[:count], strict=True) if keep]
    kept = kept[count:]
    distribution = Distribution.of(placement, const_args, kept, jaxpr)
    donate = [d for d, keep in zip(donated, kept, strict=True) if keep] if donated is not None else []
    attributes = _donation_attributes(jaxpr, len(const_args), donate, placement, distribution)
    results: list[dict[str, str]] = []
    if placement is not None:
        attributes, results = _placement_attributes(placement, len(const_args), kept, attributes)
    results = _with_memories(results, out_memories(placement, jaxpr.out_avals))
    start = time.perf_counter()
    with monitoring.timed("/jax/core/compile/jaxpr_to_mlir_module_duration", fun_name=name):
        module, ctx = lower_module(
            ClosedJaxpr(jaxpr, embedded), name, platform, argument_attributes=attributes, result_attributes=results,
            argument_names=[*[""] * len(const_args), *_names_of(program.jaxpr, kept)], portable=portable, platforms=platforms,
            **({} if distribution is None else distribution._asdict()),
        )  # fmt: skip
    if config.log_compiles.cell.value:
        logger.warning("Finished jaxpr to MLIR module conversion %s in %f sec", name, time.perf_counter() - start)
    flags = list(donated) if donated is not None else [False] * len(kept)
    return LoweredProgram(
        module, kept, const_args, jaxpr, ctx.program, flags,
        host_callbacks=ctx.host_callbacks if ctx.calls_kernels or ctx.of_this_process else [],
        of_this_process=ctx.of_this_process,
        effects=jaxpr.effects,
        quickly=eager and compiles_quickly(jaxpr),
        at_once=platform == "cpu" and not portable and runs_inline(jaxpr),
        distribution=distribution,
        locations=ctx.locations,
        eager=eager,
        runs_users=ctx.runs_users,
    )  # fmt: skip


def _donation_attributes(
    jaxpr: Jaxpr, count: int, donate: Sequence[bool], placement: Placement | None, distribution: Distribution | None
) -> list[dict[str, str]]:
    """Attributes of inputs, the first ``count`` of which are constants: which ones are donated, and to which outputs."""
    if not any(donate):
        return []
    if placement is not None and (placement.in_orders or placement.out_orders):
        return [{"jax.buffer_donor": "true"} if each else {} for each in [*[False] * count, *donate]]
    wanted = (distribution.in_shardings[count:], distribution.out_shardings) if distribution is not None else ((), ())
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


def _with_memories(results: list[dict[str, str]], memories: Sequence[str | None]) -> list[dict[str, str]]:
    """Attributes of outputs, with the kind of memory in which each lies if not in that of the devices."""
    if not any(memories):
        return results
    kinds = [{} if kind is None else {"mhlo.memory_kind": f'"{kind}"'} for kind in memories]
    return [{**texts, **kind} for texts, kind in zip(results or [{}] * len(kinds), kinds, strict=True)]


def _names_of(jaxpr: Jaxpr, kept: Sequence[bool]) -> list[str]:
    """The names of the arguments that a module takes, where they are known."""
    names = getattr(jaxpr.debug_info, "argument_names", None)
    if names is None or len(names) != len(kept):
        return []
    return [name for name, keep in zip(names, kept, strict=True) if keep]


class Distribution(NamedTuple):
    """How a module's inputs and outputs lie over several devices."""

    devices: Any
    mesh: Any
    in_shardings: list[Any]
    out_shardings: list[Any]

    @classmethod
    def of(
        cls, placement: Placement | None, const_args: Sequence[Any], kept: Sequence[bool], jaxpr: Jaxpr
    ) -> Distribution | None:
        """None for one device."""
        if placement is None:
            return None
        ins, outs = placement.in_shardings, placement.out_shardings
        given = [sharding for sharding, keep in zip(ins, kept, strict=True) if keep] if ins else []
        _check_fit("jit", jaxpr.invars[len(const_args) :], given)
        _check_fit("jit's results, as out_shardings", jaxpr.outvars, outs, exact=True)
        if placement.devices is None:
            return None
        consts = [_sharding_of_constant(value, placement) for value in const_args]
        return cls(placement.devices, placement.mesh, [*consts, *given], list(outs) or [None] * len(jaxpr.outvars))


def _check_fit(function: str, atoms: Sequence[Any], shardings: Sequence[Any], exact: bool = False) -> None:
    """Refuse shardings that cannot be those of the values for which they are asked.

    Args:
      shardings: one or None for each of ``atoms``, or none at all.
      exact: whether specs must not have more entries than the values have axes, as arrays given to a program may lie.
    """
    for atom, sharding in zip(atoms, shardings, strict=bool(shardings)):
        if sharding is not None:
            with naming_value(atom.aval, sharding, function):
                shape = physical_aval(atom.aval).shape
                if exact:
                    sharding.check_compatible_aval(shape)
                sharding.shard_shape(shape)


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
