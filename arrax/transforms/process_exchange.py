"""What processes do together: gather, broadcast, compare and wait, and pass between local and global arrays."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_map, tree_unflatten
from arrax.dtypes.wording import shown
from arrax.native import runtime
from arrax.transforms.jit import jit
from arrax.xla import processes
from arrax.xla.devices import devices, process_count, process_index
from arrax.xla.distribution import make_array_from_process_local_data, put_on
from arrax.xla.local_views import globalized, local_part
from arrax.xla.meshes import Mesh
from arrax.xla.shardings import NamedSharding

ArrayImpl = runtime.ArrayImpl


def _one_device_each() -> Mesh:
    """A mesh with the first device of every process."""
    first: dict[int, Any] = {}
    for device in devices():
        first.setdefault(device.process_index, device)
    return Mesh(np.array([first[number] for number in sorted(first)], object), ("processes",))


def _same(x: Any) -> Any:
    return x


def _everywhere(array: Any, mesh: Mesh) -> np.ndarray:
    """All of an array over a mesh, in every process."""
    replicated = NamedSharding(mesh, PartitionSpec())
    return np.asarray(jit(_same, out_shardings=replicated)(array))


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values of all processes, in each of them.

    Args:
      in_tree: pytree of arrays, of equal shapes in all processes. Arrays over several processes come back whole.
      tiled: join along the first axis instead of stacking along a new one.
    Returns: a pytree of NumPy arrays.
    Raises:
      ValueError: an array over several processes without ``tiled``.
    Example: ``process_allgather(np.ones(2))`` has shape (1, 2) in a single process.
    """

    def gather(x: Any) -> np.ndarray:
        if type(x) is ArrayImpl and not x.is_fully_addressable:
            if not tiled:
                raise ValueError("process_allgather: arrays over several processes are gathered with tiled=True")
            if x.is_fully_replicated:
                return np.asarray(x)
            mesh = (
                x.sharding.mesh
                if isinstance(x.sharding, NamedSharding)
                else Mesh(list(x.sharding._device_assignment), ("d",))
            )
            return _everywhere(x, mesh)
        value = np.asarray(x)
        if process_count() == 1:
            return value if tiled else value[None]
        mesh = _one_device_each()
        rows = make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec("processes")), value[None])
        out = _everywhere(rows, mesh)
        return out.reshape(-1, *out.shape[2:]) if tiled and value.ndim else out

    return tree_map(gather, in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of one process, in all of them.

    Args:
      in_tree: pytree of arrays, of equal shapes and dtypes in all processes.
      is_source: whether this process is the one; by default process 0 is.
    Returns: a pytree of NumPy arrays.
    Raises:
      ValueError: no process, or more than one, is the source.
    Example: ``broadcast_one_to_all(np.arange(3))``.
    """
    mine = process_index() == 0 if is_source is None else bool(is_source)
    if process_count() == 1:
        return tree_map(np.asarray, in_tree)
    sources = np.flatnonzero(process_allgather(np.array(mine)))
    if len(sources) != 1:
        raise ValueError(f"broadcast_one_to_all: one process must be the source, but {len(sources)} are: {sources}")
    return tree_map(lambda rows: np.asarray(rows[sources[0]]), process_allgather(in_tree))


def sync_global_devices(name: str) -> None:
    """Wait until all processes have come to the point of a name.

    Args:
      name: of the point.
    Raises:
      AssertionError: another process is at a point of another name.
      TypeError: the name is no string.
    Example: ``from arrax.experimental import multihost_utils; multihost_utils.sync_global_devices('saved')``.
    """
    if not isinstance(name, str):
        raise TypeError(f"sync_global_devices: name must be a string, got {shown(name)}")
    if process_count() > 1:
        assert_equal(np.uint32(zlib.crc32(name.encode())), f"sync_global_devices name mismatch ('{name}')")


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same values as process 0.

    Args:
      in_tree: pytree of arrays or numbers.
      fail_message: what the error says first.
    Raises:
      AssertionError: this process or another has others.
    Example: ``from arrax.experimental import multihost_utils; multihost_utils.assert_equal({'step': 3})``.
    """
    for rows in tree_flatten(process_allgather(in_tree))[0]:
        for process, row in enumerate(rows):
            if not np.array_equal(rows[0], row, equal_nan=rows.dtype.kind in "fc"):
                raise AssertionError(
                    f"{fail_message or 'assert_equal'}: process 0 has {rows[0]}, process {process} has {row}"
                )


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays over a mesh of all processes, from the parts that each process has.

    Args:
      local_inputs: pytree of arrays: of each, the part on this process's devices.
      global_mesh: the mesh.
      pspecs: PartitionSpec, or a tree prefix of them.
    Raises:
      ValueError: None instead of a spec, or lengths that don't fit.
    Example: ``host_local_array_to_global_array(x, mesh, P("x"))`` with ``mesh = arrax.make_mesh((1,), ("x",))``.
    """
    return _mapped_with_specs(
        "host_local_array_to_global_array", local_inputs, pspecs,
        lambda x, spec: put_on(x, NamedSharding(global_mesh, spec)) if process_count() == 1
        else globalized(x, NamedSharding(global_mesh, spec)),
    )  # fmt: skip


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The parts of arrays over a mesh that are on this process's devices.

    Args:
      global_inputs: pytree of arrays over the mesh.
      global_mesh: the mesh.
      pspecs: PartitionSpec, or a tree prefix of them, by which the parts are put together.
    Returns: arrays over the mesh's local part.
    Raises:
      ValueError: None instead of a spec.
    Example: ``global_array_to_host_local_array(x, mesh, P("x"))`` with ``mesh = arrax.make_mesh((1,), ("x",))``.
    """

    def local(x: Any, spec: PartitionSpec) -> Any:
        wanted = NamedSharding(global_mesh, spec)
        if not (type(x) is ArrayImpl and x.sharding.is_equivalent_to(wanted, x.ndim)):
            x = jit(_same, out_shardings=wanted)(x)
        return local_part(x, global_mesh, spec)

    return _mapped_with_specs("global_array_to_host_local_array", global_inputs, pspecs, local)


def _mapped_with_specs(name: str, tree: Any, pspecs: Any, fun: Any) -> Any:
    leaves, structure = tree_flatten(tree)
    if isinstance(pspecs, PartitionSpec):
        specs: list[Any] = [pspecs] * len(leaves)
    else:
        specs = named_broadcast_prefix(
            f"{name} pspecs", pspecs, tree, lambda s: s is None or isinstance(s, PartitionSpec)
        )
    if any(spec is None for spec in specs):
        raise ValueError(
            f"{name}: `None` is not a valid input to the pspecs argument; use PartitionSpec() to replicate"
        )
    return tree_unflatten(structure, [fun(x, spec) for x, spec in zip(leaves, specs, strict=True)])


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether a process was told that it is about to be stopped, and all processes are at the step to save at.

    Args:
      step_id: the number of the step; all processes call this at each step.
    Returns: True where all should save and leave; False where there is one process.
    Raises:
      RuntimeError: the processes have nobody who tells them.
    Example: ``from arrax.experimental import multihost_utils; multihost_utils.reached_preemption_sync_point(7)`` is
    False.
    """
    if processes.state.client is None:
        return False
    if processes.state.preemption is None:
        raise RuntimeError("reached_preemption_sync_point: there is no preemption manager")
    return processes.state.preemption.reached_sync_point(step_id)


@contextlib.contextmanager
def live_devices(wanted: Sequence[Any]) -> Iterator[list[Any]]:
    """Context manager: those of some devices whose processes are alive.

    Args:
      wanted: devices.
    Example: ``with live_devices(arrax.devices()) as alive: usable = len(alive)``.
    """
    client = processes.state.client
    if client is None:
        yield list(wanted)
        return
    alive = set(client.get_live_nodes(sorted({device.process_index for device in wanted})))
    yield [device for device in wanted if device.process_index in alive]
