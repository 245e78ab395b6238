"""Placing values on devices: ``device_put`` and copies, as operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax.core.config import explicit_transfer
from arrax.core.interpreter import Primitive, Tracer, context
from arrax.core.pytree_prefixes import broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import Zero, typeof
from arrax.native import runtime
from arrax.xla.arrays import copy_of
from arrax.xla.placement import array_from_host, copy_to_device, host_value

ArrayImpl = runtime.ArrayImpl

device_put_p = Primitive("device_put")
device_put_p.type_rule = lambda aval, *, device: aval
device_put_p.lower[None] = lambda ctx, x, *, device: [x]


def _jvp(primals: Any, tangents: Any, *, device: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = device_put_p.bind(x, device=device)
    return out, t if type(t) is Zero else device_put_p.bind(t, device=device)


device_put_p.jvp = _jvp
device_put_p.transpose = lambda ct, x, *, device: [ct]
device_put_p.batch = lambda values, dims, *, device: (device_put_p.bind(*values, device=device), dims[0])


def target_device(device: Any) -> Any:
    """The device of a device, a single-device sharding, or None."""
    if device is None or isinstance(device, runtime.Device):
        return device
    if isinstance(device, runtime.SingleDeviceSharding):
        return device._device
    raise ValueError(f"device_put: expected a device or sharding, got {device!r} of type {type(device)}")


def put_value(x: Any, device: Any) -> Any:
    """One concrete value on a device; without one, placed data stays where it is."""
    where = target_device(device)
    if hasattr(x, "on_device"):  # key arrays
        return x.on_device(device)
    if type(x) is ArrayImpl:
        return x if where is None else copy_to_device(x, where, True)
    return array_from_host(x, None, where, where is not None)


device_put_p.impl = lambda x, *, device: put_value(x, device)


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Put an array, or all leaves of a pytree, on a device; with a device given, the result is committed to it.

    Args:
      x: array or pytree of arrays and numbers.
      device: device or sharding, or a tree prefix of ``x`` of them; None leaves placed data alone.
      src, donate, may_alias: accepted.
    Returns: a pytree of arrays on the device.
    Raises:
      ValueError: something else than devices.
      TypeError: leaves that are no arrays.
    Example: ``arrax.device_put(1., arrax.devices()[0])``.
    """
    leaves, tree = tree_flatten(x)
    single = device is None or isinstance(device, runtime.Device | runtime.Sharding)
    places = [device] * len(leaves) if single else broadcast_prefix(device, x, is_leaf=lambda d: d is None)
    with explicit_transfer("put"):
        return tree_unflatten(tree, [_put(leaf, place) for leaf, place in zip(leaves, places, strict=True)])


def _put(x: Any, device: Any) -> Any:
    if not isinstance(x, Tracer) and getattr(x, "__jax_array__", None) is not None and type(x) is not ArrayImpl:
        x = x.__jax_array__()
    typeof(x)
    return device_put_p.bind(x, device=device)


def device_get(x: Any) -> Any:
    """All leaves of a pytree as NumPy arrays on the host.

    Args:
      x: pytree of arrays.
    Example: ``arrax.device_get(jnp.ones(2))`` is a ``numpy.ndarray``.
    """
    leaves, tree = tree_flatten(x)
    with explicit_transfer("get"):
        for leaf in leaves:
            if type(leaf) is ArrayImpl and leaf._npy_value is None and not leaf.is_deleted():
                leaf.copy_to_host_async()
        return tree_unflatten(tree, [_get(leaf) for leaf in leaves])


def _get(leaf: Any) -> Any:
    if type(leaf) is ArrayImpl:
        return host_value(leaf)
    if hasattr(leaf, "on_device"):  # key arrays are no NumPy arrays
        return leaf
    convert = getattr(leaf, "__array__", None)
    return (
        np.asarray(leaf)
        if convert is not None and not isinstance(leaf, Tracer)
        else leaf
        if convert is None
        else leaf.__array__()
    )


copy_p = Primitive("copy")
copy_p.type_rule = lambda aval: aval
copy_p.lower[None] = lambda ctx, x: [x]
copy_p.impl = lambda x: copy_of(x) if type(x) is ArrayImpl else array_from_host(x)
copy_p.jvp = lambda primals, tangents: (
    copy_p.bind(*primals), tangents[0] if type(tangents[0]) is Zero else copy_p.bind(*tangents)
)  # fmt: skip
copy_p.transpose = lambda ct, x: [ct]
copy_p.batch = lambda values, dims: (copy_p.bind(*values), dims[0])


def copy(x: Any) -> Any:
    """A copy of an array with a buffer of its own."""
    return context.interpreter.process(copy_p, (x,), {})
