"""From a program to something that runs: lower, find or compile the executable, call it, describe it to the C++ call path."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core import config, errors
from arrax.core.effects import any_ordered
from arrax.core.program import ClosedJaxpr, Jaxpr, Var
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.compile_levels import choose_level
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.lowering.builder import physical_aval
from arrax.interpreters.lowering.module import lower_module
from arrax.interpreters.ordering import in_order
from arrax.interpreters.work import is_short
from arrax.native import runtime
from arrax.xla import compat, compilation
from arrax.xla.devices import default_device, platform_name, single_sharding
from arrax.xla.draining import drain
from arrax.xla.effect_tokens import pending
from arrax.xla.placement import array_from_host, check_live, copy_to_device, host_value

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


class Placement(NamedTuple):
    """Where a call runs: its device, and whether its operands are committed to it."""

    device: Any
    committed: bool


def common_placement(leaves: Sequence[Any], name: str, device: Any = None) -> Placement:
    """The device that committed operands agree on, or the default one.

    Raises:
      ValueError: operands are committed to different devices.
    """
    if device is not None:
        return Placement(device, True)
    found: Any = None
    first: Any = None
    for leaf in leaves:
        placed = (
            leaf if type(leaf) is ArrayImpl else getattr(leaf, "_base_array", None)
        )  # keys lie where their words do
        if placed is not None and placed._committed:
            sharding = placed._sharding
            devices = sharding._internal_device_list
            if found is None:
                found, first = devices, leaf
            elif devices != found:
                raise ValueError(
                    f"Received incompatible devices for jitted computation. Got argument with shape "
                    f"{first.aval.str_short(False)} and device ids {_ids(found)} on platform {_platform(found)}, and "
                    f"argument with shape {leaf.aval.str_short(False)} and device ids {_ids(devices)} on platform "
                    f"{_platform(devices)} (in {name})"
                )
    if found is not None:
        return Placement(found[0], True)
    return Placement(default_device(), False)


def _ids(devices: Any) -> list[int]:
    return [device.id for device in devices]


def _platform(devices: Any) -> str:
    return platform_name(devices[0].client).upper()


class LoweredProgram(NamedTuple):
    """A module and how to feed it."""

    module: Any
    kept: list[bool]  # one per argument: whether the module takes it
    const_args: list[Any]  # leading arguments: large constants
    jaxpr: Jaxpr
    donated: list[bool]
    host_callbacks: list[Any]
    calls_users: bool  # whether functions of users are among the callbacks
    effects: Any
    level: str
    at_once: bool  # whether calls run it themselves: see ``work``


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
    with_locations: bool = False,
    portable: bool = False,
) -> LoweredProgram:
    """Lower a program for one device: unused arguments dropped, constants placed, donations matched to outputs.

    Args:
      portable: the program is not for this process only, so it consists of the compiler's own operations.
    """
    jaxpr, passed, embedded = hoist_constants(program)
    count = len(passed)
    jaxpr, kept = dce_jaxpr(
        jaxpr, [True] * len(jaxpr.outvars), [False] * count + [keep_unused] * (len(jaxpr.invars) - count)
    )
    jaxpr = in_order(jaxpr)
    const_args = [value for value, keep in zip(passed, kept[:count], strict=True) if keep]
    kept = kept[count:]
    donate = [d for d, keep in zip(donated, kept, strict=True) if keep] if donated is not None else []
    attributes: list[dict[str, str]] = []
    avals = [var.aval for var in jaxpr.invars[len(const_args) :]]
    if any(donate):
        aliases = _match_donations(avals, donate, jaxpr.out_avals)
        attributes = [{} for _ in const_args] + aliases
    module, ctx = lower_module(
        ClosedJaxpr(jaxpr, embedded), name, platform, argument_attributes=attributes, with_locations=with_locations,
        portable=portable,
    )  # fmt: skip
    flags = list(donated) if donated is not None else [False] * len(kept)
    level = choose_level(jaxpr, eager, [aval for aval, donates in zip(avals, donate, strict=False) if donates])
    return LoweredProgram(
        module, kept, const_args, jaxpr, flags, ctx.host_callbacks if ctx.calls_kernels or ctx.calls_users else [],
        ctx.calls_users, jaxpr.effects, level, platform == "cpu" and is_short(jaxpr),
    )  # fmt: skip


def _match_donations(in_avals: list[Any], donate: list[bool], out_avals: list[Any]) -> list[dict[str, str]]:
    """Give each donated input an output of its type; warn of those that find none."""
    free: dict[Any, list[int]] = {}
    for index, aval in enumerate(out_avals):
        free.setdefault((aval.shape, aval.dtype), []).append(index)
    attributes, unusable = [], []
    for aval, donated in zip(in_avals, donate, strict=True):
        matches = free.get((aval.shape, aval.dtype)) if donated else None
        if matches:
            attributes.append({"tf.aliasing_output": f"{matches.pop(0)} : i32"})
            continue
        if donated:
            unusable.append(aval.str_short(False))
        attributes.append({"jax.buffer_donor": "true"} if donated else {})
    if unusable:
        warnings.warn(
            f"Some donated buffers were not usable: {', '.join(unusable)}.\nDonation needs an output of the same shape and "
            "dtype. See an explanation in the FAQ on buffer donation.",
            stacklevel=2,
        )
    return attributes


class CompiledProgram:
    """An executable and how to call it with the flat arguments of its program."""

    __slots__ = (
        "executable", "placement", "kept", "const_args", "out_avals", "sharding", "handlers", "effects", "name", "donated",
        "lowered", "_keys",
    )  # fmt: skip

    def __init__(self, lowered: LoweredProgram, placement: Placement, name: str, compiler_options: Any = None):
        self.placement, self.name, self.lowered = placement, name, lowered
        device = placement.device
        if lowered.host_callbacks:
            drain.expect(device)
        self.executable = compilation.compile_module(
            lowered.module, [device], level=lowered.level, compiler_options=compiler_options,
            host_callbacks=lowered.host_callbacks, name=name, storable=not lowered.calls_users,
            at_once=lowered.at_once and device.client.local_device_count() == 1,  # several are to run side by side
        )  # fmt: skip
        self.kept, self.donated, self.effects = lowered.kept, lowered.donated, lowered.effects
        self.sharding = single_sharding(device)
        self.const_args = [self._place(value) for value in lowered.const_args]
        self.out_avals = [atom.aval for atom in lowered.jaxpr.outvars]
        self._keys = [isinstance(aval.dtype, dtypes.ExtendedDType) for aval in self.out_avals]
        self.handlers = [
            compat.result_handler(physical_aval(aval), self.sharding, placement.committed) for aval in self.out_avals
        ]

    def _place(self, value: Any) -> Any:
        device = self.placement.device
        base = getattr(value, "_base_array", None)
        if base is not None:
            value = base
        if type(value) is not ArrayImpl:
            return array_from_host(value, None, device)
        check_live(value)
        if value._sharding == self.sharding:
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
                arrays.append(self._place(leaf))
        outs = self._run_with_effects(arrays) if self.effects else self._run(arrays)
        if any(self._keys):
            outs = [
                aval.dtype.wrap(out) if is_key else out
                for out, aval, is_key in zip(outs, self.out_avals, self._keys, strict=True)
            ]
        if config.debug_nans.cell.value or config.debug_infs.cell.value:
            check_special_values(outs, self.name)
        if mark_results is not None:
            mark_results(outs)
        return outs

    def _run(self, arrays: list[Any]) -> list[Any]:
        return self.executable.execute_sharded(arrays).consume_with_handlers(self.handlers)

    def _run_with_effects(self, arrays: list[Any]) -> list[Any]:
        ordered = any_ordered(self.effects)
        if ordered:
            pending.wait_for_turn()
        results = self.executable.execute_sharded(arrays, with_tokens=True)
        outs = results.consume_with_handlers(self.handlers)
        pending.add(results.consume_token(), ordered)
        return outs

    def fast_path(self, out_tree: Any, leaves: Sequence[Any], keys_are_nodes: bool = False) -> FastPath | None:
        """The record for the C++ call path, or None where calls must pass through Python.

        Args:
          keys_are_nodes: whether the tree's leaves are the words of key arrays in their place.
        """
        if any(self._keys) and not keys_are_nodes or self.effects:
            return None
        if config.debug_nans.cell.value or config.debug_infs.cell.value or config.debug_key_reuse.cell.value:
            return None
        kept = [True] * len(self.const_args) + list(self.kept)
        count = sum(kept)
        outs = len(self.out_avals)
        return FastPath(
            self.executable, out_tree, [self.sharding] * count, [self.sharding] * outs, list(map(physical_aval, self.out_avals)),
            [self.placement.committed] * outs, kept, [None] * count, list(self.const_args),
        )  # fmt: skip


class SpecialValueFound(FloatingPointError):
    """A result holds NaN or infinity while they are watched for. Users see it as the FloatingPointError that it is."""

    __module__, __qualname__ = "builtins", "FloatingPointError"

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatingPointError, self.args


def check_special_values(outs: Sequence[Any], name: str) -> None:
    """Raise where NaNs (or infinities) are watched for and found."""
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
        if config.debug_nans.cell.value and np.isnan(value).any():
            raise SpecialValueFound(f"invalid value (nan) encountered in {name}")
        if config.debug_infs.cell.value and np.isinf(value).any():
            raise SpecialValueFound(f"invalid value (inf) encountered in {name}")
