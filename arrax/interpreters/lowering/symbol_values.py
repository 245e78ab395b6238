"""The symbols in the shapes of a function's arguments: which there are, and what they come to for given shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder


def symbols_of(avals: Sequence[Any]) -> set[str]:
    """The names of the symbols in the shapes of some types."""
    found: set[str] = set()
    for aval in avals:
        if isinstance(aval, ShapedArray) and type(aval.size) is not int:
            lengths: Any = filter(is_symbolic, aval.shape)
            found.update(*(length.symbols() for length in lengths))
    return found


def determining(avals: Sequence[Any]) -> dict[str, tuple[int, int, int, int]]:
    """Where each symbol is to be read off: (argument, axis, factor, summand) of a length that is factor * symbol + summand.

    Raises:
      ValueError: a symbol stands in no such length.
    """
    found: dict[str, tuple[int, int, int, int]] = {}
    for number, aval in enumerate(avals):
        for axis, length in enumerate(getattr(aval, "shape", ())):
            if not is_symbolic(length):
                continue
            terms = dict(length.terms)
            summand = terms.pop((), 0)
            if len(terms) != 1:
                continue
            ((monomial, factor),) = terms.items()
            if len(monomial) == 1 and monomial[0][1] == 1 and not monomial[0][0].operands and factor > 0:
                name = monomial[0][0].name
                if name not in found or found[name][2] > factor:
                    found[name] = number, axis, factor, summand
    missing = symbols_of(avals) - {*found}
    if missing:
        raise ValueError(
            f"the symbols {', '.join(sorted(missing))} cannot be read off the shapes of the arguments: each must be the length of "
            "an axis, or such as 2*a + 1"
        )
    return found


@contextmanager
def symbols_from(avals: Sequence[Any], values: Sequence[Any]) -> Iterator[None]:
    """Context manager: lengths that are symbols are those of a function's arguments."""
    outside = builder.symbols.values
    if symbols_of(avals):
        length = ShapedArray((), np.dtype(np.int32))
        found = {}
        for name, (number, axis, factor, summand) in determining(avals).items():
            value = builder.op("get_dimension_size", length, values[number], dimension=builder.integer(axis))
            if summand:
                value = builder.op("subtract", length, value, builder.constant(np.int32(summand)))
            if factor != 1:
                value = builder.op("divide", length, value, builder.constant(np.int32(factor)))
            found[name] = value
        builder.symbols.values = found
    try:
        yield
    finally:
        builder.symbols.values = outside


def solved(avals: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """What each symbol is where arguments have some shapes.

    Raises:
      ValueError: a length that no size of a symbol gives.
    """
    sizes = {}
    for name, (number, axis, factor, summand) in determining(avals).items():
        size, rest = divmod(shapes[number][axis] - summand, factor)
        if rest or size < 1:
            raise ValueError(
                f"the length {shapes[number][axis]} of axis {axis} of argument {number} is not '{avals[number].shape[axis]}' for "
                f"any {name} of 1 and more"
            )
        sizes[name] = size
    for scope in scopes_of(avals):
        violated = scope.violated(sizes)
        if violated is not None:
            listed = ", ".join(f"{name} = {size}" for name, size in sorted(sizes.items()))
            raise ValueError(f"the constraint {violated} does not hold for {listed}")
    return sizes


def scopes_of(avals: Sequence[Any]) -> list[Any]:
    """The scopes of the symbols in the shapes of some types."""
    lengths = (length for aval in avals for length in getattr(aval, "shape", ()) if is_symbolic(length))
    return list(dict.fromkeys(length.scope for length in lengths))
