"""Tests over eight virtual devices: they run in a process of their own, started once, so that other tests see one device."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

INSIDE = "TESTS_OVER_EIGHT_DEVICES"
DEVICES = 8
ROOT = Path(__file__).resolve().parent.parent.parent


class Worker:
    """A process with eight devices that runs tests by their names."""

    def __init__(self):
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "XLA_FLAGS": flags.strip(), INSIDE: "1", "PYTHONPATH": path}
        for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
            del environment[name]
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py"))], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=environment, text=True, cwd=ROOT,
        )  # fmt: skip

    def run(self, name):
        """(whether the test passed, what pytest said)."""
        self.process.stdin.write(json.dumps(name) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            return False, f"the process with {DEVICES} devices died with exit status {self.process.wait()}"
        return tuple(json.loads(line))

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)


def pytest_configure(config):
    config.addinivalue_line("markers", "here: run in this process, whatever its devices")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if os.environ.get(INSIDE) or pyfuncitem.get_closest_marker("here"):
        return None
    session = pyfuncitem.session
    if getattr(session, "eight_devices", None) is None:
        session.eight_devices = Worker()
    passed, text = session.eight_devices.run(pyfuncitem.nodeid)
    if not passed:
        session.eight_devices.process.poll()
        if session.eight_devices.process.returncode is not None:
            session.eight_devices = None
        pytest.fail(text, pytrace=False)
    return True


def pytest_sessionfinish(session):
    worker = getattr(session, "eight_devices", None)
    if worker is not None:
        worker.stop()
