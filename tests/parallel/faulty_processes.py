"""What each of two processes does in ``faults_test.py``: it says line by line how far it came."""

import os
import signal
import sys
import threading
import time

import numpy as np

import arrax
from arrax.sharding import NamedSharding
from arrax.sharding import PartitionSpec as P


def join(address, number, count=2):
    arrax.distributed.initialize(
        address, count, number, initialization_timeout=60, heartbeat_timeout_seconds=3, shutdown_timeout_seconds=20
    )


def ones():
    rows = NamedSharding(arrax.make_mesh((4,), ("x",)), P("x"))
    return arrax.make_array_from_process_local_data(rows, np.ones(2, np.float32))


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def work(address, number):
    """Join and leave many times; run different programs; then one process dies amid collectives."""
    for _ in range(8):
        join(address, number)
        arrax.distributed.shutdown()
    join(address, number)
    print("joined", flush=True)
    x = ones()
    total = arrax.jit(lambda x: x.sum())
    print("sum", float(total(x)), flush=True)
    other = arrax.jit(lambda x: x.sum() * 2) if number == 0 else arrax.jit(lambda x: (x * 3).max() + x.sum() + x.min())
    try:
        other(x)
    except RuntimeError as error:
        print("RuntimeError:", error, flush=True)
    print("sum", float(total(x)), flush=True)
    if number == 1:
        threading.Timer(0.2, die).start()
    try:
        while True:
            float(total(x))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    os._exit(7)


def rest(address, number):
    """One process dies while the other does nothing."""
    join(address, number)
    print("sum", float(ones().sum()), flush=True)
    if number == 1:
        die()
    time.sleep(100)


def count(address, number):
    """One process was told of another number of processes."""
    try:
        join(address, number, 2 + number)
    except RuntimeError as error:
        print("RuntimeError:", error, flush=True)
        os._exit(7)
    time.sleep(100)


if __name__ == "__main__":
    {"work": work, "rest": rest, "count": count}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
