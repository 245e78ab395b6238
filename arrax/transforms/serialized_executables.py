"""Compiled functions as bytes, which another process loads without tracing, lowering or compiling anything.

The bytes are those of the runtime, and beside them how to call it: types, names and placement of arguments and results.
They hold machine code, so only those that one trusts may be loaded; they say for which jaxlib they were made, since no
other one reads them.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax.core.functions import name_function
from arrax.core.interpreter import Primitive
from arrax.core.program import ClosedJaxpr, Jaxpr, JaxprEqn, Var, no_effects
from arrax.core.pytrees import PyTreeDef
from arrax.core.reference_hooks import reference_hooks
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.execution import CompiledProgram
from arrax.interpreters.lowered_programs import Distribution, LoweredProgram
from arrax.interpreters.placements import Placement
from arrax.native import runtime
from arrax.transforms.jit import Jitted
from arrax.transforms.jit_options import JitOptions
from arrax.transforms.stages import Compiled
from arrax.transforms.tracing import Traced as TracedFunction
from arrax.xla.compilation import load_executable
from arrax.xla.devices import Device, client_of, device_list, single_sharding
from arrax.xla.host_kernels import table as host_kernels
from arrax.xla.meshes import Mesh
from arrax.xla.placement import host_value

_MAGIC = b"ARRAXEXE1 "
_DIGEST = hashlib.sha256().digest_size
_GSPMD, _SINGLE = runtime.GSPMDSharding, runtime.SingleDeviceSharding
_DeviceList = type(device_list(()))

# The program of what was loaded: one operation, of which only the types are known.
loaded_p = Primitive("loaded_executable", multiple_results=True)


class _Needs(NamedTuple):
    """What has to be there for a function to be loaded; the first thing in its bytes.

    Attributes:
      ids: of the devices. leaves: how many arguments and results there are.
      kernels: how many functions of this package the program may call by their places, 0 where it calls none.
    """

    name: str
    platform: str
    ids: tuple[int, ...]
    leaves: tuple[int, int]
    kernels: int


class _Record(NamedTuple):
    """The machine code and how it is called.

    Attributes:
      constants: what the program is given in front of the arguments that it takes, which ``kept`` says.
      in_shardings: of these constants and arguments.
    """

    executable: bytes
    placement: Placement
    at_once: bool
    constants: list[np.ndarray]
    in_avals: tuple[ShapedArray, ...]
    names: list[str]
    kept: list[bool]
    donated: list[bool]
    out_avals: list[ShapedArray]
    in_shardings: list[Any]
    out_shardings: list[Any]


class _Writer(pickle.Pickler):
    """Writes devices as places in a list, also those that shardings and meshes hold."""

    def __init__(self, file: io.BytesIO, devices: Sequence[Device]) -> None:
        super().__init__(file)
        self.places = {device: place for place, device in enumerate(devices)}

    def persistent_id(self, value: Any) -> int | None:
        return self.places.get(value) if isinstance(value, Device) else None

    def reducer_override(self, value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if isinstance(value, Mesh):
            return Mesh, (value.devices, value.axis_names, value.axis_types)
        if type(value) is _SINGLE:
            return single_sharding, (value._device, value._memory_kind)
        if type(value) is _GSPMD:
            proto = value._hlo_sharding.to_proto().SerializeToString()
            return _gspmd, (tuple(value._internal_device_list), proto, value._memory_kind)
        if type(value) is _DeviceList:
            return device_list, (tuple(value),)
        return NotImplemented


def _gspmd(devices: tuple[Device, ...], proto: bytes, memory_kind: str | None) -> Any:
    described = runtime.OpSharding()
    described.ParseFromString(proto)
    return _GSPMD(devices, described, memory_kind=memory_kind)


class _Reader(pickle.Unpickler):
    """Reads devices as those that take their places."""

    def __init__(self, file: io.BytesIO, devices: Sequence[Device]) -> None:
        super().__init__(file)
        self.devices = devices

    def persistent_load(self, place: int) -> Device:
        return self.devices[place]


class LoadedCompiled(Compiled):
    """A compiled function that was loaded from bytes."""

    serialized: bytes

    def _own_modules(self) -> list[Any]:
        return list(self._program.executable.hlo_modules())


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """A compiled function as bytes, with the structures of its arguments and results.

    Another process of the same version of jaxlib on the same kind of machine loads them (``deserialize_and_load``).

    Args:
      compiled: from ``jit(f).lower(...).compile()``.
    Returns: the bytes, and the two structures, which are to be handed on as they are: ``(args, kwargs)``, and the result.
    Raises:
      TypeError: something else, such as a function that is not compiled.
      ValueError: the program calls functions of this process (callbacks, prints), has other effects, or takes references.
    Example: ``from arrax.experimental import serialize_executable
    written = serialize_executable.serialize(jit(jnp.sin).lower(y).compile())``.
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(
            f"serialize: expected a compiled function, as jit(f).lower(...).compile() gives it, got {type(compiled)}"
        )
    if not isinstance(compiled, LoadedCompiled):
        return _written(compiled), compiled.in_tree, compiled.out_tree
    return compiled.serialized, compiled.in_tree, compiled.out_tree


def _written(compiled: Compiled) -> bytes:
    traced, program = compiled._traced, compiled.own_program(compiled._program.compiled_here)
    name, lowered, placement = program.name, program.lowered, program.placement
    if program.effects or (reference_hooks.run is not None and reference_hooks.holds(traced.in_avals, traced.program)):
        raise ValueError(f"serialize: {name} has effects beside its results, which bytes cannot keep")
    if lowered.of_this_process:
        raise ValueError(f"serialize: {name} calls functions of this process, which others do not have")
    devices = [placement.device] if lowered.distribution is None else list(lowered.distribution.devices)
    kernels = len(host_kernels.ENTRIES) if lowered.host_callbacks else 0
    needs = _Needs(
        name, devices[0].client.platform, tuple(device.id for device in devices),
        (compiled.in_tree.num_leaves, compiled.out_tree.num_leaves), kernels,
    )  # fmt: skip
    record = _Record(
        program.executable.serialize(), placement, lowered.at_once, list(map(host_value, program.const_args)),
        tuple(traced.in_avals), list(compiled._names), list(program.kept), list(lowered.donated), list(program.out_avals),
        list(program.in_shardings), list(program.out_shardings),
    )  # fmt: skip
    file = io.BytesIO()
    pickle.dump(needs, file)
    _Writer(file, devices).dump(record)
    body = file.getvalue()
    return b"".join((_MAGIC, runtime.jaxlib_build.encode(), b"\n", hashlib.sha256(body).digest(), body))


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: str | Any | None = None,
    execution_devices: Sequence[Device] | None = None,
) -> Compiled:
    """A compiled function from what ``serialize`` gave, in this process or another one.

    Only bytes that one trusts may be loaded: they hold machine code.

    Args:
      serialized, in_tree, out_tree: what ``serialize`` gave.
      backend: platform, or its client; by default the platform that the function was compiled for.
      execution_devices: devices that run it, as many as it was compiled for; by default those of the same ids.
    Returns: the function, which takes arguments of the same types.
    Raises:
      ValueError: bytes that are not such, that another jaxlib wrote or that are damaged, structures with other numbers of
        leaves, another platform or number of devices, or devices that are not there.
      RuntimeError: no such platform.
    Example: ``from arrax.experimental import serialize_executable
    written = serialize_executable.serialize(jit(jnp.sin).lower(y).compile())
    sine = serialize_executable.deserialize_and_load(*written); sine(y)`` is 0.9092974.
    """
    file = io.BytesIO(_body(bytes(serialized)))
    needs: _Needs = pickle.load(file)
    devices = _devices_for(needs, (in_tree.num_leaves, out_tree.num_leaves), backend, execution_devices)
    record: _Record = _Reader(file, devices).load()
    found = _loaded(needs, record, devices, in_tree, out_tree)
    found.serialized = bytes(serialized)
    return found


def _body(data: bytes) -> bytes:
    """What is pickled in the bytes.

    Raises:
      ValueError: they are not of this process's kind, or damaged.
    """
    if not data.startswith(_MAGIC):
        raise ValueError("deserialize_and_load: these are not the bytes of a compiled function that serialize gave")
    build, _, rest = data[len(_MAGIC) :].partition(b"\n")
    if build.decode(errors="replace") != runtime.jaxlib_build:
        raise ValueError(
            f"deserialize_and_load: the function was compiled with jaxlib {build.decode(errors='replace')}, and this is "
            f"{runtime.jaxlib_build}: compile it again"
        )
    digest, body = rest[:_DIGEST], rest[_DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("deserialize_and_load: the bytes are damaged")
    return body


def _devices_for(
    needs: _Needs, leaves: tuple[int, int], backend: str | None, asked: Sequence[Device] | None
) -> list[Device]:  # fmt: skip
    """The devices that are to run a program.

    Raises:
      ValueError: they, the platform or the structures do not fit the program.
    """
    name, count = needs.name, len(needs.ids)
    if leaves != needs.leaves:
        raise ValueError(
            f"deserialize_and_load: {name} has {needs.leaves[0]} arguments and {needs.leaves[1]} results, and the structures "
            f"that were given have {leaves[0]} and {leaves[1]}"
        )
    client = client_of(needs.platform if backend is None else backend)
    if client.platform != needs.platform:
        raise ValueError(f"deserialize_and_load: {name} was compiled for {needs.platform}, not for {client.platform}")
    if needs.kernels not in (0, len(host_kernels.ENTRIES)):
        raise ValueError(f"deserialize_and_load: another version of arrax has compiled {name}: compile it again")
    if asked is not None:
        if len(asked) != count:
            raise ValueError(f"deserialize_and_load: {name} runs on {count} devices, got execution_devices={asked}")
        return list(asked)
    there = {device.id: device for device in client.devices()}
    if not set(needs.ids) <= set(there):
        raise ValueError(
            f"deserialize_and_load: {name} was compiled for devices {list(needs.ids)}, and there are {list(there)}: name "
            f"{count} with execution_devices"
        )
    return [there[number] for number in needs.ids]


def _loaded(
    needs: _Needs, record: _Record, devices: list[Device], in_tree: PyTreeDef, out_tree: PyTreeDef
) -> LoadedCompiled:
    placement = record.placement._replace(out_shardings=tuple(record.out_shardings))
    taken = [aval for aval, keep in zip(record.in_avals, record.kept, strict=True) if keep]
    distribution = None
    if placement.devices is not None:
        distribution = Distribution(placement.devices, placement.mesh, record.in_shardings, record.out_shardings)
    callbacks = host_kernels.ENTRIES if needs.kernels else ()
    lowered = LoweredProgram(
        None, record.kept, record.constants, _types_only([*map(typeof, record.constants), *taken], record.out_avals), None,
        record.donated, list(callbacks), False, no_effects, False, record.at_once, distribution,
        None,  # type: ignore[arg-type]  # there is no module
        False,
    )  # fmt: skip
    executable = load_executable(record.executable, devices, callbacks, record.at_once and distribution is None)
    program = CompiledProgram(lowered, placement, needs.name, executable=executable)

    def called(*args: Any) -> Any:
        raise NotImplementedError(f"{needs.name} was loaded compiled: there is no function to trace")

    name_function(called, needs.name)
    whole = ClosedJaxpr(_types_only(record.in_avals, record.out_avals), [])
    traced = TracedFunction(whole, [], out_tree, None, record.in_avals, in_tree)
    return LoadedCompiled(Jitted(called, JitOptions()), traced, record.names, record.donated, placement, program, None)


def _types_only(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> Jaxpr:
    """A program of which only the types are known."""
    invars, outvars = list(map(Var, in_avals)), list(map(Var, out_avals))
    return Jaxpr([], invars, outvars, [JaxprEqn(invars, outvars, loaded_p, {})])
