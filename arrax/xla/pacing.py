"""Programs over several CPU devices that are started faster than they end.

Starting such a program takes one of the runtime's threads for each device. Once 32 programs wait for a device, these threads
wait, too, and none is left for those that run: a program whose devices wait for each other then waits for ever, until the
runtime ends the process. So every few calls one waits for its results.
"""

from __future__ import annotations

from typing import Any

from arrax.core import config
from arrax.native import runtime

AT_ONCE = 16  # half of what the runtime allows
_registry = runtime.pytree.default_registry()


class Pace:
    """Counts calls; those of programs for one device may be among them."""

    def __init__(self) -> None:
        self.calls = 0

    def watch(self) -> None:
        """Look at calls that stay in C++, too: from the first program over several CPU devices on."""
        if config.post_hook.get_global() is None:
            config.post_hook.set_global(self.after_call)

    def after_call(self, function: Any, args: Any, kwargs: Any, out: Any) -> None:
        """What the C++ path calls after each call."""
        self.calls += 1
        if self.calls >= AT_ONCE:
            self.wait_for(_registry.flatten(out)[0])

    def after_run(self, outs: list[Any]) -> None:
        """Called after each run that comes through Python."""
        self.calls += 1
        if self.calls >= AT_ONCE:
            self.wait_for(outs)

    def wait_for(self, outs: list[Any]) -> None:
        """Wait for results over several devices; others wait for nobody."""
        for out in outs[:1]:
            sharding = getattr(out, "_sharding", None)
            if sharding is not None and type(sharding) is not runtime.SingleDeviceSharding:
                self.calls = 0
                out.block_until_ready()


pace = Pace()
