"""The numbered kernels that compiled programs call by their number.

A stored executable holds numbers, so a number keeps its meaning for ever: kernels are added at the end, and whoever changes
what one expects or gives counts ``VERSION`` up, which makes other programs of those that use kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax.xla.host_kernels import counting, ordering, reducing, selection
from arrax.xla.host_kernels.pausing import pause

VERSION = 2

# Inputs, outputs to be filled, parameters. Arrays have two axes, the second being the one that is worked along.
Kernel = Callable[..., None]


def order(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], num_keys: int, kth: int, *sources: int) -> None:
    """Rows in order: see ``ordering.order_together``; of one array by its own values where it is the only one."""
    if len(inputs) == 1 and tuple(sources) == (0,):
        ordering.order_values(inputs[0], outputs[0], kth)
    else:
        ordering.order_together(inputs, outputs, sources, num_keys, kth)


def select(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """The elements at given places of each row's order: see ``selection.select_places``."""
    selection.select_places(*inputs, *outputs)


def greatest(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """The greatest elements of each row and their places: see ``selection.greatest``."""
    selection.greatest(*inputs, *outputs)


def wait(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """The input, when the pause is over: see ``pausing``."""
    pause.hold()
    outputs[0][...] = inputs[0]


def place_of_extreme(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], is_greatest: int, axis: int) -> None:
    """Places of the greatest or least elements: see ``reducing.place_of_extreme``."""
    reducing.place_of_extreme(inputs[0], outputs[0], is_greatest, axis)


def fold(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], operation: int, axis: int) -> None:
    """Rows or columns combined: see ``reducing.fold``."""
    reducing.fold(inputs[0], outputs[0], operation, axis)


def count(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """How often numbers occur in each row: see ``counting``."""
    counting.count_values(inputs[0], outputs[0])


KERNELS: tuple[Kernel, ...] = (order, select, greatest, wait, place_of_extreme, fold, count)


def _entry(kernel: Kernel) -> Callable[..., tuple]:
    def run(context: Any, parameters: Any, *buffers: Any) -> tuple:
        """Called by the runtime, on one of its threads: the number of inputs and the parameters, inputs, outputs."""
        count, *given = np.asarray(parameters).tolist()
        arrays = [np.asarray(buffer) for buffer in buffers]
        kernel(arrays[:count], arrays[count:], *given)
        return ()

    return run


ENTRIES = tuple(map(_entry, KERNELS))
"""What the runtime is given: the functions that compiled programs call by their places here."""


def number_of(kernel: Kernel) -> int:
    """The place of a kernel in the table."""
    return KERNELS.index(kernel)
