"""In which memory the results of operations lie, as types say it.

Operands that are not scalars lie in one space, and so do the results. Primitives whose results lie elsewhere have a rule (their
slot ``memories``): from the types of the operands and the list of those of the results to a space for each result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arrax.core.memory_spaces import MemorySpace
from arrax.core.types import ShapedArray


def with_memories(primitive: Any, avals: Sequence[Any], out: Any) -> Any:
    """The types of results with the space of memory in which these lie.

    Raises:
      ValueError: the operands lie in different spaces.
    """
    rule = primitive.memories
    if rule is None:
        if primitive.holds_programs or primitive.closes_over:  # whose own types say it
            return out
        space = common_space(primitive.name, avals)
        return [_in(aval, space) for aval in out] if primitive.multiple_results else _in(out, space)
    if primitive.multiple_results:
        return list(map(_in, out, rule(avals, out)))
    return _in(out, rule(avals, [out])[0])


def common_space(name: str, avals: Sequence[Any]) -> MemorySpace:
    """The space in which the operands of an operation lie; of scalars in different ones that of the device.

    Raises:
      ValueError: others lie in different spaces.
    """
    arrays = [aval for aval in avals if isinstance(aval, ShapedArray)]
    larger = [aval for aval in arrays if aval.ndim] or arrays
    other = next((aval for aval in larger if aval.memory_space is not larger[0].memory_space), None)
    if other is None:
        return larger[0].memory_space if larger else MemorySpace.Device
    if not other.ndim:
        return MemorySpace.Device
    raise ValueError(
        f"memory_space of all inputs passed to `{name}` must be the same. Got one operand with type: "
        f"{larger[0].str_short(False)} and another operand with type: {other.str_short(False)}. Move one of them with "
        "device_put."
    )


def _in(aval: Any, space: MemorySpace) -> Any:
    if not isinstance(aval, ShapedArray) or aval.memory_space is space:
        return aval
    return aval.update(memory_space=space)


# ---- rules -----------------------------------------------------------------------------------------------------------


def memories_of_operands(avals: Sequence[Any], out: Sequence[Any]) -> list[MemorySpace]:
    """Each result lies where the operand of its number does."""
    return [aval.memory_space for aval in avals[: len(out)]]


def memories_as_typed(avals: Sequence[Any], out: Sequence[Any]) -> list[MemorySpace]:
    """Results lie where the type rule says."""
    return [aval.memory_space if isinstance(aval, ShapedArray) else MemorySpace.Device for aval in out]


def memory_of_all(name: str) -> Callable[..., list[MemorySpace]]:
    """The rule of an operation that holds programs but whose results lie where its operands do."""
    return lambda avals, out: [common_space(name, avals)] * len(out)
