"""Before the interpreter ends: wait for programs that may still call Python.

A thread of the runtime that asks for the interpreter's lock while the interpreter is being torn down is ended by Python in
the middle of C++ frames, which aborts the process. Programs run in the background, also such whose results nobody holds, and
the runtime has no call that waits for all of them. But it runs at most ``_SLOTS`` programs at a time on a device, and lets
the caller wait for a free slot. So at exit all slots are filled with programs that wait for each other: when the last one
has got its slot, no other program is left.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import native
from arrax.core.types import ShapedArray
from arrax.native import runtime
from arrax.xla import compat
from arrax.xla.compilation import compile_module
from arrax.xla.devices import single_sharding
from arrax.xla.host_kernels import table
from arrax.xla.host_kernels.pausing import pause
from arrax.xla.modules import ModuleAsItIs, new_context
from arrax.xla.placement import array_from_host
from arrax.xla.shutdown import gate

logger = logging.getLogger("arrax")
_SLOTS = 32
_ATTEMPTS = 100
_SIZE = 1 << 20  # so large that the runtime computes it in the background

# Takes a while, so that whoever needs its result is put on another thread.
_LONG = f"""module @exit_long {{ func.func public @main(%x: tensor<{_SIZE}xf32>) -> tensor<{_SIZE}xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sine = stablehlo.sine %x : tensor<{_SIZE}xf32>
  %sum = stablehlo.reduce(%sine init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<{_SIZE}xf32>, tensor<f32>) -> tensor<f32>
  %all = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<{_SIZE}xf32>
  %result = stablehlo.add %all, %x : tensor<{_SIZE}xf32>
  return %result : tensor<{_SIZE}xf32> }} }}"""

# Waits as long as the pause lasts; %before makes it wait for the one before.
_PAUSING = f"""module @exit_pause {{ func.func public @main(%x: tensor<{_SIZE}xf32>, %before: tensor<1xf32>)
    -> tensor<1xf32> {{
  %none = stablehlo.constant dense<[1]> : tensor<1xi32>
  %first = stablehlo.slice %x [0:1] : (tensor<{_SIZE}xf32>) -> tensor<1xf32>
  %both = stablehlo.add %first, %before : tensor<1xf32>
  %result = stablehlo.custom_call @xla_buffer_python_cpu_callback(%none, %both) {{api_version = 4 : i32,
    backend_config = {{index = {table.number_of(table.wait, ())[0]} : ui64}}}} : (tensor<1xi32>, tensor<1xf32>) -> tensor<1xf32>
  return %result : tensor<1xf32> }} }}"""


class Drain:
    """The devices whose programs call Python, and how to wait for these programs."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.devices: list[Any] = []

    def expect(self, device: runtime.Device) -> None:
        """Programs that call Python will run on a device."""
        if device in self.devices or device.platform != "cpu":
            return
        with self.lock:
            if not self.devices:
                atexit.register(self.wait)
            self.devices.append(device)

    def wait(self) -> None:
        """Return when no program runs any more on these devices."""
        gate.close()  # nobody starts another one
        for device in self.devices:
            try:
                _fill_slots(device)
            except Exception as error:  # the process is on its way out
                logger.debug("could not wait for programs on %s: %s", device, error)
            finally:
                pause.over.set()
        if gate.closing:  # daemon threads come back from the programs that were waited for, and stop
            time.sleep(0.1)


drain = Drain()


def _fill_slots(device: Any) -> None:
    long, pausing = _compiled(_LONG, device), _compiled(_PAUSING, device)
    none = array_from_host(np.zeros(1, np.float32), None, device)
    # The runtime copies memory that does not begin where it likes it, which it may leave to its threads: if these are busy,
    # the program that needs the copy has to wait; if they are idle, they take their part of a long program.
    unaligned = np.zeros(_SIZE + 1, np.float32)[1:]
    for _ in range(_ATTEMPTS):
        pause.begin()
        busy = long(array_from_host(unaligned, None, device, fresh=True))
        held = [pausing(busy, none)]
        if not held[0].is_ready():  # it waits on another thread, not on this one, where it would not have waited
            for _ in range(_SLOTS - 1):
                held.append(pausing(busy, held[0]))
                pause.step()
            pause.over.set()
            for one in held:
                one.block_until_ready()
            return
    logger.debug("programs on %s may still run", device)


def _compiled(text: str, device: Any) -> Callable[..., Any]:
    """The program of a text, as a function of arrays on a device."""
    module = native.mlir.ir.Module.parse(text, new_context())
    executable = compile_module(ModuleAsItIs(module), [device], host_callbacks=table.ENTRIES, name="exit")
    size = 1 if text is _PAUSING else _SIZE
    handler = compat.result_handler(ShapedArray((size,), np.dtype(np.float32)), single_sharding(device), False)
    return lambda *arrays: executable.execute_sharded(list(arrays)).consume_with_handlers([handler])[0]
