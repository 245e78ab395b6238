"""Lengths of axes, which are ints, or symbols that stand for any."""

from __future__ import annotations

import operator
from typing import Any, TypeGuard

from arrax.core import symbolic_bounds as _symbolic_bounds  # noqa: F401  (decides comparisons)
from arrax.core.errors import InconclusiveDimensionOperation
from arrax.core.symbolic_dimensions import SymbolicDimension, deciding, operation

Dimension = Any  # an int or a SymbolicDimension


def is_symbolic_dim(dimension: Any) -> TypeGuard[SymbolicDimension]:
    """Whether a length of an axis is an expression of symbols.

    Example: ``a, n = arrax.export.symbolic_shape('a, 3'); arrax.export.is_symbolic_dim(a), arrax.export.is_symbolic_dim(n)`` is
    ``(True, False)``.
    """
    return isinstance(dimension, SymbolicDimension)


def is_constant_dim(dimension: Any) -> bool:
    """Whether a length of an axis is an int.

    Example: ``a, n = arrax.export.symbolic_shape('a, 3'); arrax.core.is_constant_dim(a), arrax.core.is_constant_dim(n)`` is
    ``(False, True)``.
    """
    try:
        operator.index(dimension)
    except TypeError:
        return False
    return not is_symbolic_dim(dimension)


def max_dim(d1: Dimension, d2: Dimension) -> Dimension:
    """The greater of two lengths of axes.

    Example: ``arrax.core.max_dim(2, 3)`` is 3.
    """
    return _chosen("max", d1, d2)


def min_dim(d1: Dimension, d2: Dimension) -> Dimension:
    """The smaller of two lengths of axes.

    Example: ``arrax.core.min_dim(2, 3)`` is 2.
    """
    return _chosen("min", d1, d2)


deciding.least, deciding.greatest = min_dim, max_dim


def _chosen(name: str, first: Dimension, second: Dimension) -> Dimension:
    for one, other in ((first, second), (second, first)):  # of which only one may be known
        try:
            return one if (one >= other) == (name == "max") else other
        except InconclusiveDimensionOperation:
            scope = one.scope if is_symbolic_dim(one) else other.scope
    return operation(name, first, second, scope)
