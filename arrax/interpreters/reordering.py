"""Laying out arrays with their axes in another order in memory: by a compiled program that does nothing else."""

from __future__ import annotations

import functools
from typing import Any

from arrax.core.program import ClosedJaxpr
from arrax.core.types import ShapedArray
from arrax.interpreters.execution import CompiledProgram
from arrax.interpreters.lowered_programs import lower_program
from arrax.interpreters.placements import Placement
from arrax.interpreters.staging import stage
from arrax.xla.axis_orders import Order, order_of, reorderers
from arrax.xla.devices import platform_name
from arrax.xla.placement import check_live


@functools.lru_cache(512)
def _program(
    aval: ShapedArray, sharding: Any, committed: bool, before: Order | None, after: Order | None
) -> CompiledProgram:
    program = ClosedJaxpr(*stage(lambda x: [x], [aval]))
    devices = sharding._internal_device_list
    several, mesh = (devices, getattr(sharding, "mesh", None)) if len(devices) > 1 else (None, None)
    placement = Placement(devices[0], committed, several, (sharding,), (sharding,), mesh, (before,), (after,))
    lowered = lower_program(program, "device_put", platform_name(devices[0].client), placement=placement)
    return CompiledProgram(lowered, placement, "device_put")


def reordered(array: Any, order: Order | None) -> Any:
    """An array laid out with its axes in an order."""
    check_live(array)
    (out,) = _program(array.aval, array._sharding, array._committed, order_of(array), order)._run([array])
    return out


reorderers.append(reordered)
