"""The functions of the group numpy, of operands that the program has just computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.case import Repeated
from benchmarks.numpy import HOST_LIBRARY, bound, programs

__all__ = ["HOST_LIBRARY", "cases"]
ONE = np.ones(())


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated]:
    """Each program after a product of every operand with one, or a sum with zero, which is given."""
    for name, (function, *arrays) in programs():
        yield Repeated(name, bound(lib, jnp, computing(function), [ONE.astype(np.float32), *arrays]))


def computing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of what is computed from its operands and a one."""

    def run(xp: Any, one: Any, *operands: Any) -> Any:
        return function(xp, *(computed(one, x) for x in operands))

    return run


def computed(one: Any, x: Any) -> Any:
    """The same numbers, as the result of an operation."""
    if x.dtype.kind == "b":
        return x
    return x * one.astype(x.dtype) if x.dtype.kind in "fc" else x + (one - 1).astype(x.dtype)
