"""Two processes with two devices each, on this machine; and what launchers say of themselves."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arrax.xla.clusters import Cluster, detect, first_of_nodelist

pytestmark = pytest.mark.here


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture(scope="module")
def found():
    """What both processes found."""
    program, address = Path(__file__).with_name("two_processes.py"), free_address()
    root = str(program.parent.parent.parent)
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "ARRAX_PLATFORMS": "cpu"}
    env["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    processes = [
        subprocess.Popen([sys.executable, str(program), address, str(number)], env=env, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for number in range(2)
    ]  # fmt: skip
    try:
        outputs = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, errors
    return [json.loads(out.strip().splitlines()[-1]) for out, _ in outputs]


def test_processes_know_each_other(found):
    assert [each["counts"] for each in found] == [[0, 2, 4, 2], [1, 2, 4, 2]]
    assert [each["alive"] for each in found] == [4, 4] and not found[0]["preempted"]


def test_values_are_exchanged(found):
    for each in found:
        assert (
            each["gathered"] == [[0, 1, 2], [1, 2, 3]] and each["tiled"] == [0, 1, 1, 2] and each["from one"] == [1, 1]
        )
        assert (
            each["differ"] == "AssertionError: numbers: process 0 has 0, process 1 has 1"
            and each["scalar"] == "ndarray"
        )


def test_arrays_span_processes(found):
    for number, each in enumerate(found):
        shape, addressable, text, refused = each["global"]
        assert shape == [8] and not addressable and text == "Array(shape=(8,), dtype=float32)"
        assert refused.startswith("RuntimeError: Fetching value") and "process_allgather" in refused
        assert each["keys"] == "Array((4,), dtype=key<fry>) overlaying:\nArray(shape=(4, 2), dtype=uint32)"
        assert each["sum"] == 28 and each["whole"] == each["replicated"] == [2.0 * n for n in range(8)]
        assert each["local"] == [2.0 * (4 * number + n) for n in range(4)]
        assert each["put"] == [[4.0 * number, 4.0 * number + 1], [4.0 * number + 2, 4.0 * number + 3]]
        assert each["made"] == [4, 3] and each["none"].startswith("ValueError")


def test_arrays_are_copied_where_each_process_has_a_part(found):
    for each in found:
        assert each["copy"] == [28.0, "Array(shape=(8,), dtype=float32)"]


def test_arrays_may_lie_on_devices_of_another_process(found):
    for each in found:
        whole, element = "Array(shape=(2,), dtype=float32)", "Array(shape=(), dtype=float32)"
        assert each["far"] == [whole, element, whole, [], None]
        kinds = [refusal.partition(":")[0] for refusal in each["far refused"]]
        assert kinds == ["RuntimeError", "RuntimeError", "BufferError"]


def test_programs_span_processes(found):
    for number, each in enumerate(found):
        assert each["psum"] == [12.0, 16.0]
        assert each["pmap"] == [[4.0, 4.0], [2 * number, 2 * number + 1]]
        assert each["xmap"] == [[4.0 * number, 4.0 * number + 2], 6.0]
        assert each["no nans"] and each["nans"] == "FloatingPointError: invalid value (nan) encountered in div"
        assert each["axis size"][0] == [4.0, 4.0] and each["axis size"][1].startswith(
            "ValueError: pmap: axis_size is 4"
        )
        assert each["grad"] == 2 * 2 * np.mean(np.arange(8.0) ** 2)


def test_results_that_depend_on_values_are_known_to_all(found):
    for each in found:
        assert each["of values"] == [[0, 1, 2, 3], [1, 2, 4, 5, 6, 7], [2, 3, 2, 1]]
        assert each["from the host"] == [[0, 2, 4, 0, 2, 4, 6, 2]] * 2


def test_what_does_not_fit_is_refused(found):
    for each in found:
        assert each["put refused"].startswith("AssertionError: device_put to the devices of several processes")
        assert each["too few arguments"].startswith("ValueError") and "coordinator_address" in each["too few arguments"]
        assert each["again"] == "RuntimeError: distributed.initialize should only be called once."


def test_launchers_are_recognised_by_their_variables():
    slurm = {"SLURM_JOB_ID": "4097", "SLURM_STEP_NODELIST": "node[003-005,9],x", "SLURM_NTASKS": "4", "SLURM_PROCID": "2",
             "SLURM_LOCALID": "0"}  # fmt: skip
    assert detect(environment=slurm) == Cluster("node003:61441", 4, 2, 0)
    mpi = {"OMPI_MCA_orte_hnp_uri": "8192.0;tcp://10.96.0.1,10.148.0.1:34911", "OMPI_COMM_WORLD_SIZE": "2",
           "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}  # fmt: skip
    assert detect(environment=mpi) == Cluster("10.96.0.1:61440", 2, 1, 1)
    pods = {
        "KUBERNETES_SERVICE_HOST": "h",
        "JOB_COMPLETION_INDEX": "3",
        "HOSTNAME": "train-3",
        "JAX_NUM_PROCESSES": "4",
    }
    assert detect(environment=pods) == Cluster("train-0:8476", 4, 3)
    tpu = {"TPU_WORKER_HOSTNAMES": "a,b", "TPU_WORKER_ID": "1"}
    assert detect(environment=tpu) == Cluster("a:8476", 2, 1)
    own = {"ARRAX_COORDINATOR_ADDRESS": "h:1", "JAX_NUM_PROCESSES": "3", "ARRAX_PROCESS_ID": "0", **slurm}
    assert detect(environment=own) == Cluster("h:1", 3, 0)
    assert detect("slurm", own).processes == 4 and detect("deactivate", own) is None and detect(environment={}) is None
    assert first_of_nodelist("host,other") == "host" and first_of_nodelist("n[1-3].local") == "n1.local"
    with pytest.raises(ValueError, match="cluster_detection_method"):
        detect("pigeons")
