"""Rules that say which axes of operands and results of a function are divided together."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from arrax.core.tracebacks import boundary
from arrax.interpreters.lowering.sharding_text import factor

BATCHING = "..."


class CompoundFactor(tuple[str, ...]):
    """Factors whose product is the length of one axis, the one that varies slowest first.

    Args:
      factors: names, at least two.
    Raises:
      ValueError: fewer, or something else than names.
    Example: ``from arrax.experimental.custom_partitioning import CompoundFactor; CompoundFactor("i", "j")[0]`` is ``'i'``.
    """

    __slots__ = ()

    @boundary
    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise ValueError(f"CompoundFactor: at least two factors are needed, got {factors}")
        for each in factors:
            if not isinstance(each, str) or each == BATCHING:
                raise ValueError(f"CompoundFactor: factors must be names, got {each!r} of type {type(each)}")
        return tuple.__new__(cls, factors)


class ArrayMapping(tuple[str | CompoundFactor, ...]):
    """For each axis of an array its factor.

    Args:
      axes: for each axis a name or a CompoundFactor; BATCHING stands for any number of axes.
    Raises:
      ValueError: something else, or BATCHING behind others.
    Example: ``from arrax.experimental.custom_partitioning import ArrayMapping; len(ArrayMapping("i", "j"))`` is 2.
    """

    __slots__ = ()

    @boundary
    def __new__(cls, *axes: str | CompoundFactor) -> ArrayMapping:
        for each in axes:
            if not isinstance(each, str | CompoundFactor):
                raise ValueError(
                    f"ArrayMapping: an axis must have a name or a CompoundFactor, got {each!r} of type {type(each)}"
                )
        if BATCHING in axes[1:]:
            raise ValueError(f"ArrayMapping: BATCHING stands for the first axes, got {axes}")
        return tuple.__new__(cls, axes)

    def __str__(self) -> str:
        return " ".join(each if isinstance(each, str) else f"({' '.join(each)})" for each in self)


class SdyShardingRule:
    """A sharding rule, written as its parts.

    Args:
      operand_mappings, result_mappings: an ArrayMapping (or a tuple) for each operand and result.
      reduction_factors, need_replication_factors, permutation_factors: factors that are summed over, must not be divided,
        or are permuted. **factor_sizes: sizes of factors in compound ones.
    Raises:
      ValueError: the size of a factor that is a whole axis, or of none.
    Example: ``from arrax.experimental.custom_partitioning import SdyShardingRule; str(SdyShardingRule((("i", "j"), ("j",)),
    (("i",),)))`` is ``'i j, j -> i'``.
    """

    @boundary
    def __init__(
        self, operand_mappings: Sequence[Any], result_mappings: Sequence[Any], *, reduction_factors: Sequence[str] = (),
        need_replication_factors: Sequence[str] = (), permutation_factors: Sequence[str] = (), **factor_sizes: int,
    ):  # fmt: skip
        self.operand_mappings = tuple(ArrayMapping(*axes) for axes in operand_mappings)
        self.result_mappings = tuple(ArrayMapping(*axes) for axes in result_mappings)
        axes = [each for mapping in (*self.operand_mappings, *self.result_mappings) for each in mapping]
        whole = {each for each in axes if isinstance(each, str)}
        parts = {name for each in axes if isinstance(each, CompoundFactor) for name in each}
        for name in factor_sizes:
            if name in whole:
                raise ValueError(f"SdyShardingRule: the factor {name!r} is a whole axis, whose length is its size")
            if name not in parts:
                raise ValueError(f"SdyShardingRule: a size is given for {name!r}, which the rule does not name")
        missing = sorted(parts - whole - set(factor_sizes))
        if missing:
            raise ValueError(f"SdyShardingRule: the sizes of the factors {missing} must be given")
        self.factors: dict[str, Any] = {
            "sizes": factor_sizes, "reduction": tuple(reduction_factors),
            "need_replication": tuple(need_replication_factors), "permutation": tuple(permutation_factors),
        }  # fmt: skip

    def __str__(self) -> str:
        return " -> ".join(", ".join(map(str, side)) for side in (self.operand_mappings, self.result_mappings))

    def __repr__(self) -> str:
        return f"SdyShardingRule({str(self)!r})"


def rule_attribute(rule: str, avals_in: Sequence[Any], avals_out: Sequence[Any], factors: dict[str, Any]) -> str:
    """A rule such as ``"i j -> i j"`` as an attribute of Shardy's dialect.

    Raises:
      ValueError: another number of values or axes than there are, or factors without a size.
    """
    left, arrow, right = rule.partition("->")
    if not arrow:
        raise ValueError(f"custom_partitioning: the sharding rule {rule!r} has no '->'")
    values = [_axes(side) for text in (left, right) for side in text.split(",")]
    avals = [*avals_in, *avals_out]
    if len(values) != len(avals):
        raise ValueError(
            f"custom_partitioning: the sharding rule {rule!r} names {len(values)} values, there are {len(avals)}"
        )
    numbers: dict[str, int] = {}
    sizes: dict[str, int] = dict(factors.get("sizes", {}))
    _check_sizes(rule, sizes, [names for axes in values for names in axes])
    _check_batches(rule, values, avals)
    texts = []
    for axes, aval in zip(values, avals, strict=True):
        axes = _with_batch(axes, aval.ndim)
        _check_axes(rule, axes, aval.ndim)
        for names, size in zip(axes, aval.shape, strict=True):
            for name in names:
                numbers.setdefault(name, len(numbers))
            if len(names) == 1:
                sizes.setdefault(names[0], size)
        texts.append("[" + ", ".join("".join(factor(numbers[name]) for name in names) for names in axes) + "]")
    for kind in ("reduction", "need_replication", "permutation"):
        unknown = [name for name in factors.get(kind, ()) if name not in numbers]
        if unknown:
            raise ValueError(f"custom_partitioning: the sharding rule {rule!r} has no {unknown} of {kind}_factors")
    summed = [name for name in factors.get("reduction", ()) if name in _names(values[len(avals_in) :])]
    if summed:
        raise ValueError(f"custom_partitioning: in the sharding rule {rule!r} {summed} are summed over, but in results")
    missing = [name for name in numbers if name not in sizes]
    if missing:
        raise ValueError(f"custom_partitioning: the sharding rule {rule!r} needs the sizes of {missing}")
    for axes, aval in zip(values, avals, strict=True):
        for names, size in zip(_with_batch(axes, aval.ndim), aval.shape, strict=True):
            if len(names) > 1 and math.prod(sizes[name] for name in names) != size:
                raise ValueError(
                    f"custom_partitioning: in the sharding rule {rule!r} {' '.join(names)!r} is an axis of length {size}, "
                    f"not {math.prod(sizes[name] for name in names)}"
                )
    listed = ", ".join(f"{factor(number)}={sizes[name]}" for name, number in numbers.items())
    special = "".join(
        f" {kind}={{{', '.join(factor(numbers[name]) for name in factors[kind])}}}"
        for kind in ("reduction", "need_replication", "permutation") if factors.get(kind)
    )  # fmt: skip
    count = len(avals_in)
    return f"#sdy.op_sharding_rule<({', '.join(texts[:count])})->({', '.join(texts[count:])}) {{{listed}}}{special}, custom>"


def _check_batches(rule: str, values: Sequence[Sequence[tuple[str, ...]]], avals: Sequence[Any]) -> None:
    """Refuse ``...`` that stands for different numbers of axes."""
    batches = {aval.ndim - len(axes) + 1 for axes, aval in zip(values, avals, strict=True) if (BATCHING,) in axes}
    if len(batches) > 1:
        stands = " and ".join(map(str, sorted(batches)))
        raise ValueError(f"custom_partitioning: in the sharding rule {rule!r} '...' stands for {stands} axes")


def _check_axes(rule: str, axes: Sequence[tuple[str, ...]], rank: int) -> None:
    """Refuse factors that one value has twice, and other axes than it has."""
    listed = [name for names in axes for name in names]
    repeated = sorted({name for name in listed if listed.count(name) > 1})
    if repeated:
        raise ValueError(f"custom_partitioning: the sharding rule {rule!r} names {repeated} twice in one value")
    if len(axes) != rank:
        raise ValueError(f"custom_partitioning: the sharding rule {rule!r} has {axes} for a value of {rank} axes")


def _check_sizes(rule: str, sizes: dict[str, int], axes: Sequence[tuple[str, ...]]) -> None:
    """Refuse sizes of factors that are a whole axis, and of none."""
    whole, named = {names[0] for names in axes if len(names) == 1}, {name for names in axes for name in names}
    for name in sizes:
        if name in whole:
            raise ValueError(
                f"custom_partitioning: in the sharding rule {rule!r} {name!r} is a whole axis, whose length is its size"
            )
        if name not in named:
            raise ValueError(
                f"custom_partitioning: a size is given for {name!r}, which the sharding rule {rule!r} does not name"
            )


def _names(values: Sequence[list[tuple[str, ...]]]) -> set[str]:
    return {name for axes in values for names in axes for name in names}


def _axes(text: str) -> list[tuple[str, ...]]:
    """``i (j k) ...`` as groups of names."""
    return [tuple(group.strip("()").split()) for group in re.findall(r"\([^)]*\)|\S+", text)]


def _with_batch(axes: list[tuple[str, ...]], rank: int) -> list[tuple[str, ...]]:
    """The axes with those that ``...`` stands for."""
    if (BATCHING,) not in axes:
        return axes
    at, missing = axes.index((BATCHING,)), rank - len(axes) + 1
    return [*axes[:at], *((f"...{number}",) for number in range(missing)), *axes[at + 1 :]]
