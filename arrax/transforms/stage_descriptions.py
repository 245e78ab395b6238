"""What the stages of compiling ahead of time tell of arguments, results and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arrax.transforms.inspection import ShapeDtypeStruct


@dataclass(frozen=True)
class ArgInfo:
    """Shape, dtype and donation of one argument.

    Example: ``lowered = jit(jnp.sin).lower(y); (info,), _ = lowered.args_info; info.donated`` is False.
    """

    shape: tuple[int, ...]
    dtype: Any
    donated: bool


class OutInfo(ShapeDtypeStruct):
    """Shape and dtype of one result.

    Example: ``jit(jnp.sin).lower(x).out_info.shape`` is ``(4,)``.
    """

    __slots__ = ()


class Costs(dict[str, float]):
    """The costs of a program, by name. As the documentation shows a list of one such table, ``costs[0]`` is the table, too."""

    def __missing__(self, key: object) -> Costs:
        if key == 0:
            return self
        raise KeyError(key)
