"""What a program of the benchmarks is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Program:
    """A program to be timed.

    Args:
      name: what it is.
      make: takes the library and its ``numpy``, gives a compiled function and its arguments.
    """

    name: str
    make: Callable[[ModuleType, ModuleType], tuple[Callable[..., Any], tuple]]
