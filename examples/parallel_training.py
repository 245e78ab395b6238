"""Learn handwritten digits on one device, on eight, and in two processes: the numbers are the same.

Run it by itself: ``python examples/parallel_training.py``. It starts processes of its own, with four or eight virtual devices
each, and compares the loss of every step with that of one device.
"""

import json
import os
import socket
import subprocess
import sys

import digits
import numpy as np

import arrax
from arrax.sharding import NamedSharding
from arrax.sharding import PartitionSpec as P

STEPS, BATCH = 60, 64
PLANS = {  # name: (processes, devices of each)
    "1 device": (1, 1), "8 devices": (1, 8), "2 processes of 4 devices": (2, 4),
}  # fmt: skip


def train() -> list[float]:
    """The loss of each step, with the images divided among all devices of all processes and the weights on each."""
    mesh = arrax.make_mesh((arrax.device_count(),), ("data",))
    rows, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    data, _ = digits.load_digits()
    params = digits.init_params(arrax.random.key(0))
    params, adam = arrax.device_put((params, digits.init_adam(params)), everywhere)
    step, shuffle, losses = arrax.jit(digits.train_step), np.random.default_rng(1), []
    for _ in range(STEPS):
        batch = shuffle.permutation(len(data.labels))[:BATCH]  # every process knows the batch, and places its own part
        images, labels = (arrax.device_put(each[batch], rows) for each in (data.images, data.labels))
        params, adam, value = step(params, adam, images, labels)
        losses.append(value)
    return [float(value) for value in losses]


def start(processes: int, devices: int) -> list[list[float]]:
    """The losses that each process of a plan found."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    flags = f"--xla_force_host_platform_device_count={devices}"
    started = [
        subprocess.Popen([sys.executable, __file__, address, str(processes), str(number)], stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "XLA_FLAGS": flags})
        for number in range(processes)
    ]  # fmt: skip
    return [json.loads(process.communicate()[0].strip().splitlines()[-1]) for process in started]


def worker(address: str, processes: str, number: str) -> None:
    """One process of a plan."""
    if int(processes) > 1:
        arrax.distributed.initialize(address, int(processes), int(number))
    print(json.dumps(train()))


def main() -> None:
    """Run every plan, and compare."""
    found = {name: start(*plan) for name, plan in PLANS.items()}
    (expected,) = found["1 device"]
    for name, runs in found.items():
        difference = max(float(np.max(np.abs(np.subtract(losses, expected)))) for losses in runs)
        print(f"{name:26s} loss {runs[0][0]:.4f} -> {runs[0][-1]:.4f}, at most {difference:.1e} from one device")
        if difference > 1e-4:
            raise SystemExit(f"{name}: the losses differ from those of one device")


if __name__ == "__main__":
    worker(*sys.argv[1:]) if len(sys.argv) > 1 else main()
