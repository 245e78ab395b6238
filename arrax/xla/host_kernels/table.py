"""The numbered kernels that compiled programs call by their number.

A stored executable holds numbers, so a number keeps its meaning for ever: kernels are added at the end, and whoever changes
what one expects or gives counts ``VERSION`` up, which makes other programs of those that use kernels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax.xla.host_kernels import copies, flags, reducing, sorting
from arrax.xla.host_kernels import order_statistics as statistics
from arrax.xla.host_kernels.pausing import pause
from arrax.xla.host_kernels.sharing import share_rows

VERSION = 6

# Inputs, outputs to be filled, parameters. Arrays have two axes, the second being the one that is worked along.
Kernel = Callable[..., None]


def sort(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], num_keys: int, kth: int, *sources: int) -> None:
    """Rows in order: see ``sorting.order_together``; of one array by its own values where it is the only one."""
    share_rows(_sort, inputs, outputs, num_keys, kth, *sources)


def _sort(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], num_keys: int, kth: int, *sources: int) -> None:
    if len(inputs) == 1 and tuple(sources) == (0,):
        sorting.order_values(inputs[0], outputs[0], kth)
    else:
        sorting.order_together(inputs, outputs, sources, num_keys, kth)


def order_statistics(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """The elements at given places of each row's order: see ``statistics.order_statistics``."""
    share_rows(lambda inputs, outputs: statistics.order_statistics(*inputs, *outputs), inputs, outputs)


def top_k(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """The greatest elements of each row and their places: see ``statistics.top_k``."""
    share_rows(lambda inputs, outputs: statistics.top_k(*inputs, *outputs), inputs, outputs)


def wait(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """The input, when the pause is over: see ``pausing``."""
    pause.hold()
    outputs[0][...] = inputs[0]


def argmax(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], largest: int) -> None:
    """The index of the greatest or least element of each row: see ``reducing.argmax``."""
    reducing.argmax(inputs[0], outputs[0], largest)


def reduce(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], operation: int, axis: int) -> None:
    """Rows or columns combined: see ``reducing.reduce``."""
    reducing.reduce(inputs[0], outputs[0], operation, axis)


def concatenate(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], *blocks: int) -> None:
    """Blocks of a matrix side by side: see ``copies.concatenate``."""
    copies.concatenate(inputs[0], outputs[0], blocks)


def nonzero_indices(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """Where flags are set in each row: see ``flags``."""
    flags.nonzero_indices(inputs[0], *outputs)


KERNELS: tuple[Kernel, ...] = (
    sort, order_statistics, top_k, wait, argmax, reduce, concatenate, nonzero_indices,
)  # fmt: skip


def _entry(kernel: Kernel) -> Callable[..., tuple]:
    def run(context: Any, parameters: Any, *buffers: Any) -> tuple:
        """Called by the runtime: the number of inputs and the parameters, inputs, outputs."""
        count, *given = np.asarray(parameters).tolist()
        arrays = [np.asarray(buffer) for buffer in buffers]
        kernel(arrays[:count], arrays[count:], *given)
        return ()

    return run


def _fixed_entry(kernel: Kernel, given: tuple[int, ...]) -> Callable[..., tuple]:
    def run(context: Any, *buffers: Any) -> tuple:
        """Called by the runtime: inputs and one output."""
        arrays = [buffer.__array__() for buffer in buffers]
        kernel(arrays[:-1], arrays[-1:], *given)
        return ()

    return run


def _choices(kernel: Kernel, *counts: int) -> list[tuple[Kernel, tuple[int, ...]]]:
    return [(kernel, numbers) for numbers in itertools.product(*map(range, counts))]


# Short kernels of one output: each choice of parameters is an entry of its own, which saves reading them.
FIXED = (
    *_choices(argmax, 2),
    *_choices(reduce, len(reducing.OPERATIONS), 2),
)
_FIXED_NUMBERS = {choice: len(KERNELS) + number for number, choice in enumerate(FIXED)}

ENTRIES = (*map(_entry, KERNELS), *itertools.starmap(_fixed_entry, FIXED))
"""What the runtime is given: the functions that compiled programs call by their places here."""


def number_of(kernel: Kernel, parameters: tuple[int, ...]) -> tuple[int, bool]:
    """The place of a kernel among ``ENTRIES``, and whether the parameters are settled by it."""
    number = _FIXED_NUMBERS.get((kernel, parameters))
    return (KERNELS.index(kernel), False) if number is None else (number, True)
