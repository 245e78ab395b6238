"""Taps: functions on the host that look at values, and are told which transformations have changed them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.effects import Effect
from arrax.core.interpreter import Primitive
from arrax.core.pytrees import tree_flatten
from arrax.core.types import ShapedArray, Zero
from arrax.interpreters import ordering
from arrax.interpreters.lowering import builder
from arrax.lax.host_functions import HostFunction, lower_host_call, on_host
from arrax.xla.devices import client_of

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.xla.arrays import ArrayLike

Transforms = tuple[tuple[str, dict[str, Any]], ...]
Tap = Callable[[Sequence[Any], Transforms], None]  # from values, and what was done to them

host_tap_p = Primitive("host_tap", multiple_results=True)


class TapEffect(Effect):
    """A function on the host looks at values, in no particular order."""

    __slots__ = ()


class OrderedTapEffect(Effect):
    """A function on the host looks at values in the order of the program."""

    __slots__ = ()
    ordered = True


tap_effect, ordered_tap_effect = TapEffect("Tap"), OrderedTapEffect("OrderedTap")


def _host_function(tap: Tap, transforms: Transforms, count: int) -> HostFunction:
    in_tree = tree_flatten((tuple(range(count)), {}))[1]
    return HostFunction("host_callback.id_tap", lambda *values: tap(values, transforms), in_tree, None, ())


def _lower(ctx: LoweringContext, *values: Value, tap: Tap, transforms: Transforms, effect: Effect) -> list[Value]:
    return lower_host_call(ctx, _host_function(tap, transforms, len(values) - effect.ordered), values, True)


def _batch(
    values: Sequence[ArrayLike], dims: Dims, *, transforms: Transforms, **params: Any
) -> tuple[list[Any], list[Any]]:
    host_tap_p.bind(*values, transforms=(*transforms, ("batch", {"batch_dims": tuple(dims)})), **params)
    return [], []


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[list[Any], list[Any]]:
    return host_tap_p.bind(*primals, **params), []


host_tap_p.type_rule = lambda *avals, **params: []
host_tap_p.effects_rule = lambda *avals, effect, **params: frozenset({effect})
host_tap_p.impl = lambda *values, tap, transforms, **params: _host_function(tap, transforms, len(values)).run(
    on_host(values)
)
host_tap_p.lower[None] = _lower
host_tap_p.batch = _batch
host_tap_p.jvp = _jvp
host_tap_p.transpose = lambda cts, *args, **params: [
    Zero(arg.aval.to_tangent_aval()) if hasattr(arg, "aval") else None for arg in args
]
host_tap_p.with_token = ordering.operation_with_token


# ---- which device it is ----------------------------------------------------------------------------------------------

device_id_p = Primitive("device_id")
_ID = ShapedArray((), np.int32)


def _lower_device_id(ctx: LoweringContext) -> list[Value]:
    module = ctx.module_context
    if module.manual is None or module.num_devices == 1:  # the first device calls the host
        devices = module.devices if module.devices is not None else client_of(module.platform).local_devices()
        return [builder.constant(np.int32(tuple(devices)[0].id))]
    ids = builder.constant(np.array([device.id for device in module.devices], np.int32))
    number = builder.op("convert", _ID, builder.op("partition_id", ShapedArray((), np.uint32)))
    one = builder.op("dynamic_slice", ShapedArray((1,), np.int32), ids, number, slice_sizes=builder.ints((1,)))
    return [builder.op("reshape", _ID, one)]


device_id_p.type_rule = lambda: _ID
device_id_p.impl = lambda: np.int32(client_of().local_devices()[0].id)
device_id_p.lower[None] = _lower_device_id
