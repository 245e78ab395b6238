"""Python functions run beside the devices of their arguments: in this process, whose devices they must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core import config
from arrax.core.functions import function_name, named_like
from arrax.core.interpreter import Tracer
from arrax.core.pytrees import tree_flatten, tree_leaves, tree_map
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.core.tracebacks import boundary
from arrax.core.types import typeof
from arrax.lax.placement import device_put
from arrax.native import runtime
from arrax.xla.devices import client_of
from arrax.xla.meshes import Mesh

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef


def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """The CPU devices of the machines that devices belong to.

    Args:
      devices_or_mesh: sequence of devices, or Mesh.
    Returns: tuple of as many CPU devices (CPU devices stand for themselves), or a Mesh of them with the same axes.
    Raises:
      ValueError: a process of one of the devices has no CPU devices.
    Example: ``colocated_cpu_devices(arrax.devices("cpu")) == tuple(arrax.devices("cpu"))``.
    """
    if isinstance(devices_or_mesh, Mesh):
        mesh = devices_or_mesh
        found = np.array(_beside(list(mesh.devices.flat)), object).reshape(mesh.devices.shape)
        return Mesh(found, mesh.axis_names, axis_types=mesh.axis_types)
    return tuple(_beside(devices_or_mesh))


def _beside(devices: Sequence[Any]) -> list[Any]:
    processors: dict[int, list[Any]] = {}
    for processor in client_of("cpu").devices():
        processors.setdefault(processor.process_index, []).append(processor)
    found, counts = [], dict.fromkeys(processors, 0)
    for device in devices:
        if device.platform == "cpu":
            found.append(device)
            continue
        there = processors.get(device.process_index)
        if there is None:
            raise ValueError(f"colocated_cpu_devices: the process of {device} has no CPU devices")
        found.append(there[counts[device.process_index] % len(there)])
        counts[device.process_index] += 1
    return found


def colocated_python(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is called in Python beside the devices of its arguments, not traced.

    Args:
      fun: function of pytrees of arrays on CPU devices of this process.
    Returns: the function, with a method ``specialize(in_specs=None, out_specs_fn=None, devices=None)`` that says more of
      its arguments and results; results of a function specialized for devices lie on these.
    Raises:
      TypeError: called with traced values.
      ValueError: called with arrays of other processes, or with other structures or types than ``in_specs``.
    Example: ``colocated_python(lambda x: x + 1)(jnp.ones(2))`` is ``[2. 2.]``.
    """
    return _colocated(fun, None, None, None)


def _colocated(
    fun: Callable[..., Any],
    in_specs: Any,
    out_specs_fn: Callable[..., Any] | None,
    devices: Sequence[runtime.Device] | None,
) -> Callable[..., Any]:
    name = function_name(fun)

    @boundary
    @named_like(fun)
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        for leaf in leaves:
            if isinstance(leaf, Tracer):
                raise TypeError(f"colocated_python: {name} is called in Python and cannot take the traced value {leaf}")
            if not getattr(leaf, "is_fully_addressable", True):
                raise ValueError(f"colocated_python: {name} got an array that lies on devices of other processes")
        if in_specs is not None:
            _check_specs(name, in_specs, leaves, tree)
        place = None if devices is None else devices[0]
        with config.default_device(place):
            out = fun(*args, **kwargs)
        if out_specs_fn is not None:
            specs = out_specs_fn(
                *(args if in_specs is None else in_specs[0]), **(kwargs if in_specs is None else in_specs[1])
            )
            return tree_map(lambda x, spec: x if spec.sharding is None else device_put(x, spec.sharding), out, specs)
        return out

    def specialize(
        in_specs: Any = None, out_specs_fn: Callable[..., Any] | None = None, devices: Sequence[Any] | None = None
    ) -> Callable[..., Any]:
        """The function with what is known of its calls.

        Args:
          in_specs: ``(args, kwargs)``, pytrees of ShapeDtypeStructs.
          out_specs_fn: function of specs of the arguments to those of the results: results are laid out so.
          devices: where results lie that nothing else says the place of.
        """
        chosen = None if devices is None else list(devices)
        return _colocated(fun, in_specs, out_specs_fn, chosen)

    called.specialize = specialize  # type: ignore[attr-defined]
    return called


def _check_specs(name: str, in_specs: Any, leaves: Sequence[Any], tree: PyTreeDef) -> None:
    wanted, wanted_tree = tree_flatten(tuple(in_specs))
    if tree != wanted_tree:
        raise ValueError(
            f"colocated_python: {name} was specialized for arguments of structure {wanted_tree}, got {tree}"
        )
    for leaf, spec in zip(leaves, wanted, strict=True):
        aval = typeof(leaf)
        if (aval.shape, aval.dtype) != (tuple(spec.shape), spec.dtype):
            raise ValueError(f"colocated_python: {name} was specialized for {spec}, got {aval.str_short(True)}")


_bound_names(__name__)
