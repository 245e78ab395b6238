"""Clusters whose launchers say to each process where the others are: Slurm, Open MPI, Kubernetes, Cloud TPU."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from typing import NamedTuple

Environment = Mapping[str, str]
_PORTS = 1 << 12  # ports are taken from the last 4096, by the number of the job


class Cluster(NamedTuple):
    """What a launcher says.

    Attributes:
      coordinator: address and port of process 0. processes: how many there are. process: the number of this one.
      local_process: its number among those of its machine, or None where it has the machine to itself.
    """

    coordinator: str | None
    processes: int | None
    process: int | None
    local_process: int | None = None


def _port_of(job: int) -> int:
    return job % _PORTS + (1 << 16) - _PORTS


def _plain(environment: Environment) -> Cluster | None:
    """Variables of our own, for any launcher."""

    def read(name: str) -> str | None:
        return environment.get(f"ARRAX_{name}", environment.get(f"JAX_{name}"))

    address, count, number = read("COORDINATOR_ADDRESS"), read("NUM_PROCESSES"), read("PROCESS_ID")
    if address is None or count is None or number is None:
        return None
    return Cluster(address, int(count), int(number))


def _slurm(environment: Environment) -> Cluster | None:
    needed = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID")
    if any(name not in environment for name in needed):
        return None
    host = first_of_nodelist(environment["SLURM_STEP_NODELIST"])
    local = environment.get("SLURM_LOCALID")
    return Cluster(
        f"{host}:{_port_of(int(environment['SLURM_JOB_ID']))}", int(environment["SLURM_NTASKS"]),
        int(environment["SLURM_PROCID"]), None if local is None else int(local),
    )  # fmt: skip


def first_of_nodelist(nodes: str) -> str:
    """The first host of a list such as ``node[003-005,9],other``."""
    found = re.match(r"([^,\[]*)(?:\[([^\]]*)\])?([^,]*)", nodes)
    assert found is not None
    head, numbers, tail = found.groups()
    return head if numbers is None else head + re.split("[,-]", numbers)[0] + tail


def _open_mpi(environment: Environment) -> Cluster | None:
    needed = ("OMPI_MCA_orte_hnp_uri", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")
    if any(name not in environment for name in needed):
        return None
    job, _, addresses = environment["OMPI_MCA_orte_hnp_uri"].partition(".")
    found = re.search(r"tcp://\[?([^,:\]]+)", addresses)
    if found is None:
        return None
    local = environment.get("OMPI_COMM_WORLD_LOCAL_RANK")
    return Cluster(
        f"{found.group(1)}:{_port_of(int(job))}", int(environment["OMPI_COMM_WORLD_SIZE"]),
        int(environment["OMPI_COMM_WORLD_RANK"]), None if local is None else int(local),
    )  # fmt: skip


def _kubernetes(environment: Environment) -> Cluster | None:
    """An indexed job: its pods are called JOB-0, JOB-1, ...; a headless service lets them find each other."""
    if "KUBERNETES_SERVICE_HOST" not in environment or "JOB_COMPLETION_INDEX" not in environment:
        return None
    number = int(environment["JOB_COMPLETION_INDEX"])
    count = environment.get("ARRAX_NUM_PROCESSES", environment.get("JAX_NUM_PROCESSES"))
    host = environment.get("HOSTNAME", socket.gethostname())
    first = re.sub(rf"-{number}(\.|$)", r"-0\1", host, count=1)
    return Cluster(f"{first}:8476", None if count is None else int(count), number)


def _cloud_tpu(environment: Environment) -> Cluster | None:
    hosts, number = environment.get("TPU_WORKER_HOSTNAMES"), environment.get("TPU_WORKER_ID")
    if not hosts or number is None:
        return None
    names = hosts.split(",")
    return Cluster(f"{names[0]}:8476", len(names), int(number))


DETECTORS: dict[str, Callable[[Environment], Cluster | None]] = {
    "environment": _plain, "slurm": _slurm, "ompi": _open_mpi, "k8s": _kubernetes, "cloud_tpu": _cloud_tpu,
}  # fmt: skip


def detect(method: str | None = None, environment: Environment = os.environ) -> Cluster | None:
    """The cluster that this process runs in, as its launcher says, or None.

    Args:
      method: the launcher; by default the first that is found. ``"deactivate"`` looks for none.
    Raises:
      ValueError: an unknown launcher.
    """
    if method == "deactivate":
        return None
    if method is not None and method not in DETECTORS:
        raise ValueError(f"cluster_detection_method must be one of {[*DETECTORS, 'deactivate']}, got {method!r}")
    chosen = DETECTORS.values() if method is None else [DETECTORS[method]]
    return next((found for found in (find(environment) for find in chosen) if found is not None), None)
