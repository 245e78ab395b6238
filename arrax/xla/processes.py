"""Several processes that work together: the coordination service of the runtime, and the clients that know of each other."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Sequence
from typing import Any

from arrax.core import config
from arrax.native import runtime
from arrax.xla import startup
from arrax.xla.agreement import agree, same_value
from arrax.xla.clusters import Cluster, detect
from arrax.xla.farewells import Farewells, say_farewell
from arrax.xla.ports import check_free, wait_for_listener

logger = logging.getLogger("arrax")
_FAREWELLS, _PATIENCE = "arrax/farewells", 5.0  # seconds that processes wait for each other once they have left
_COUNT = "arrax/num_processes"  # where process 0 writes how many processes it was told of
Text = str | None
Number = int | None


class State:
    """What this process knows of the others.

    Attributes:
      client: connection to the coordination service (a key-value store, barriers). service: the service, in process 0.
    """

    def __init__(self) -> None:
        self.client: Any = None
        self.service: Any = None
        self.preemption: Any = None
        self.farewells: Any = None
        self.process_id = 0
        self.num_processes: int | None = None
        self.coordinator_address: str | None = None
        self.local_devices: Sequence[int] | None = None


state = State()


def initialize(
    coordinator_address: Text = None,
    num_processes: Number = None,
    process_id: Number = None,
    local_device_ids: Number | Sequence[int] = None,
    cluster_detection_method: Text = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: Text = None,
    slice_index: Number = None,
    partition_index: Number = None,
) -> None:
    """Join the other processes, before anything is computed. Under Slurm, Open MPI and others no argument is needed.

    Args:
      coordinator_address: address and port of process 0, where its coordination service listens.
      num_processes: how many processes there are.
      process_id: the number of this one, from 0.
      local_device_ids: numbers of the devices of this machine that this process uses; all if not given.
      cluster_detection_method: ``"slurm"``, ``"ompi"``, ``"k8s"``, ``"cloud_tpu"``, ``"environment"`` (the variables
        ``ARRAX_COORDINATOR_ADDRESS``, ``ARRAX_NUM_PROCESSES``, ``ARRAX_PROCESS_ID``), or ``"deactivate"``.
      initialization_timeout: seconds to wait for the others.
      heartbeat_timeout_seconds: seconds of silence after which a process counts as dead, which ends the others.
      shutdown_timeout_seconds: seconds that processes wait for each other at the end.
      coordinator_bind_address: where process 0 listens; by default on all interfaces, at the same port.
      slice_index, partition_index: accepted, without effect.
    Raises:
      RuntimeError: a second call, or after devices were used; or another number of processes than in process 0.
      ValueError: an argument is missing and the environment does not say it, or does not fit.
    It is the first thing that each process does, with its own number.

    Example: ``jnp.zeros(2); arrax.distributed.initialize("192.168.0.1:1234", num_processes=2, process_id=0)`` raises
    ``RuntimeError``, since devices are in use already.
    """
    if state.client is not None:
        raise RuntimeError("distributed.initialize should only be called once.")
    if startup.started():
        raise RuntimeError(
            "distributed.initialize() must be called before any computation or use of devices: devices have been started"
        )
    found = _settled(coordinator_address, num_processes, process_id, cluster_detection_method)
    address, count, number = _checked(found)
    bind = coordinator_bind_address or "[::]:" + address.rsplit(":", 1)[1]
    if local_device_ids is None and found.local_process is not None and _one_gpu_per_process():
        local_device_ids = found.local_process
    state.process_id, state.num_processes, state.coordinator_address = number, count, address
    state.local_devices = (local_device_ids,) if isinstance(local_device_ids, int) else local_device_ids
    if number == 0:
        logger.info("Starting the coordination service at %s", bind)
        try:
            check_free(bind)
            state.service = runtime._jax.get_distributed_runtime_service(
                bind, count, heartbeat_timeout=heartbeat_timeout_seconds, shutdown_timeout=shutdown_timeout_seconds
            )
        except Exception as error:
            raise RuntimeError(
                f"distributed.initialize: the coordination service could not be started at {bind}; is the port in use? {error}"
            ) from None
    client = runtime._jax.get_distributed_runtime_client(
        address, number, init_timeout=initialization_timeout, heartbeat_timeout=heartbeat_timeout_seconds,
        shutdown_timeout=shutdown_timeout_seconds, use_compression=True, shutdown_on_destruction=False,
    )  # fmt: skip
    logger.info("Connecting process %d of %d to %s", number, count, address)
    # The runtime tries again only a second after a connection that failed: so it begins when somebody listens.
    wait_for_listener(address, initialization_timeout / 2)
    try:
        client.connect()
    except Exception as error:
        state.service = None
        raise RuntimeError(
            f"distributed.initialize: process {number} of {count} could not join the others at {address} within "
            f"{initialization_timeout} seconds: {error}"
        ) from None
    _agree_on_count(client, number, count, initialization_timeout)
    state.client = client
    if number == 0:
        state.farewells = Farewells()
        client.key_value_set(_FAREWELLS, str(state.farewells.port))
    state.preemption = runtime._jax.create_preemption_sync_manager()
    state.preemption.initialize(client)
    atexit.register(shutdown)


def _agree_on_count(client: Any, number: int, count: int, seconds: int) -> None:
    """Refuse to take part where process 0 was told of another number of processes.

    Raises:
      RuntimeError: it was.
    """
    if number == 0:
        client.key_value_set(_COUNT, str(count))
        return
    there = int(client.blocking_key_value_get(_COUNT, seconds * 1000))
    if there != count:
        raise RuntimeError(
            f"distributed.initialize: num_processes is {count} in process {number}, but {there} in process 0: all processes "
            "must be given the same"
        )


def _settled(address: str | None, count: int | None, number: int | None, method: str | None) -> Cluster:
    """What the caller says, completed by what the environment says."""
    found = None if None not in (address, count, number) else detect(method)
    known = found or Cluster(None, None, None)
    return Cluster(
        known.coordinator if address is None else address, known.processes if count is None else count,
        known.process if number is None else number, known.local_process,
    )  # fmt: skip


def _checked(cluster: Cluster) -> tuple[str, int, int]:
    named = {
        "coordinator_address": cluster.coordinator,
        "num_processes": cluster.processes,
        "process_id": cluster.process,
    }
    missing = [name for name, value in named.items() if value is None]
    if missing:
        raise ValueError(
            f"distributed.initialize: {' and '.join(missing)} should be defined: no argument says it, and no known cluster "
            "(Slurm, Open MPI, Kubernetes, Cloud TPU, ARRAX_ variables) was found in the environment"
        )
    address, count, number = cluster.coordinator, cluster.processes, cluster.process
    assert address is not None and count is not None and number is not None
    if not 0 <= number < count:
        raise ValueError(f"distributed.initialize: process_id must be between 0 and {count - 1}, got {number}")
    if not address.rpartition(":")[2].isdigit():
        raise ValueError(f"distributed.initialize: coordinator_address must be host:port, got {address!r}")
    return address, count, number


def _one_gpu_per_process() -> bool:
    return any(name in startup.starters for name in ("cuda", "rocm"))


def is_initialized() -> bool:
    """Whether this process has joined others.

    Example: ``arrax.distributed.is_initialized()`` is False, before ``initialize``.
    """
    return state.client is not None


def shutdown() -> None:
    """Leave the other processes; process 0 also ends the service. Called when the process exits.

    Example: ``arrax.distributed.shutdown()`` does nothing where there is one process.
    """
    if state.client is None:
        return
    if state.preemption is not None:
        state.preemption.shutdown()
    client, service, others = state.client, state.service, (state.num_processes or 1) - 1
    address, farewells = state.coordinator_address or "", state.farewells
    port = None if service is not None else _port_for_farewells(client)
    state.__init__()  # type: ignore[misc]
    client.shutdown()
    if service is not None:
        with farewells.awaited(others, _PATIENCE):
            service.shutdown()
    elif port is not None:
        say_farewell(address.rpartition(":")[0], port, _PATIENCE)


def _port_for_farewells(client: Any) -> int | None:
    """Where process 0 waits for the others to leave."""
    try:
        return int(client.blocking_key_value_get(_FAREWELLS, 1000))
    except runtime.RuntimeFault:  # process 0 is not there any more
        return None


def _cpu_options() -> dict[str, Any]:
    """What a CPU client must know of the other processes."""
    if state.client is None:
        return {}
    collectives = None
    if config.cpu_collectives_implementation.value == "gloo":
        collectives = runtime._jax.make_gloo_tcp_collectives(distributed_client=state.client)
    elif config.cpu_collectives_implementation.value == "mpi":
        collectives = runtime._jax.make_mpi_collectives()
        collectives.Init()
        atexit.register(collectives.Finalize)
    return {
        "distributed_client": state.client, "node_id": state.process_id, "num_nodes": state.num_processes,
        "collectives": collectives,
    }  # fmt: skip


def _plugin_options() -> tuple[dict[str, Any], Any]:
    """What a client of a plugin must know of the other processes."""
    if state.client is None:
        return {}, None
    options: dict[str, Any] = {"node_id": state.process_id, "num_nodes": state.num_processes}
    if state.local_devices is not None:
        options["visible_devices"] = list(state.local_devices)
    return options, state.client


startup.before_first_runs.append(lambda *program: agree(state.client, state.process_id, *program))
startup.before_puts.append(lambda value, devices: same_value(state.client, state.process_id, value, devices))
startup.cpu_options.append(_cpu_options)
startup.plugin_options.append(_plugin_options)
