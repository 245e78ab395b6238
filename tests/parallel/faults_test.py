"""Processes that die, that run different programs, that join again and again; ports that are in use."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parallel.processes_test import free_address
from tests.support import run_python

pytestmark = pytest.mark.here
PLANS = ("work", "rest", "count")


@pytest.fixture(scope="module")
def ended():
    """For each plan the exit status, output and errors of both processes."""
    program = Path(__file__).with_name("faulty_processes.py")
    root = str(program.parent.parent.parent)
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "ARRAX_PLATFORMS": "cpu"}
    env["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    processes = {}
    for plan in PLANS:
        address = free_address()
        processes[plan] = [
            subprocess.Popen([sys.executable, str(program), plan, address, str(number)], env=env, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for number in range(2)
        ]  # fmt: skip
    try:
        outputs = {plan: [each.communicate(timeout=120) for each in pair] for plan, pair in processes.items()}
    finally:
        for pair in processes.values():
            for each in pair:
                each.kill()
    return {
        plan: [(each.returncode, *texts) for each, texts in zip(processes[plan], outputs[plan], strict=True)]
        for plan in PLANS
    }


def lines(text, start):
    return [line for line in text.splitlines() if line.startswith(start)]


def test_processes_join_and_leave_again_and_again(ended):
    for status, said, errors in ended["work"]:
        assert lines(said, "joined"), (status, errors)


def test_different_programs_are_refused_in_both_processes(ended):
    for number, (_, said, errors) in enumerate(ended["work"]):
        refused = lines(said, "RuntimeError")
        assert len(refused) == 1 and "about to run different programs" in refused[0], errors
        assert f"process {number} <lambda>" in refused[0] and f"process {1 - number} <lambda>" in refused[0]
        assert len(lines(said, "sum 4.0")) == 2  # it goes on


def names_the_dead(status, errors):
    return status not in (0, -9) and re.search(r"unhealthy.*\n1\n", errors)


def test_who_waits_for_a_process_that_dies_gets_an_error_or_is_ended(ended):
    (status, said, errors), (killed, *_) = ended["work"]
    assert killed == -9
    assert status == 7 and lines(said, "JaxRuntimeError") or names_the_dead(status, errors), (status, errors)


def test_a_process_that_dies_ends_the_others_and_is_named(ended):
    (status, said, errors), (killed, *_) = ended["rest"]
    assert killed == -9 and lines(said, "sum 4.0")
    assert names_the_dead(status, errors), (status, errors)


def test_processes_that_were_told_of_different_numbers_do_not_work_together(ended):
    (status, _, errors), (refused, said, _) = ended["count"]
    assert refused == 7 and "num_processes is 3 in process 1, but 2 in process 0" in said
    assert names_the_dead(status, errors), (status, errors)


def test_a_port_in_use_is_refused():
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        program = f"import arrax; arrax.distributed.initialize({address!r}, 1, 0, coordinator_bind_address='0.0.0.0:' + {address!r}[10:])"
        said = run_python(program).stderr
    assert "RuntimeError: distributed.initialize: the coordination service could not be started" in said, said
