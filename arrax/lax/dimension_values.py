"""Lengths of axes as values of exported programs, which know them when they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.symbolic_dimensions import SymbolicDimension, deciding
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

dim_as_value_p = Primitive("dim_as_value")
dim_as_value_p.type_rule = lambda *, dim: ShapedArray((), np.dtype(np.int32), True)
dim_as_value_p.lower[None] = lambda ctx, *, dim: [builder.length(dim)]


def dimension_as_value(dimension: SymbolicDimension) -> Array:
    """The length as an int32 of the program.

    Raises:
      NotImplementedError: no program is recorded.
    """
    return dim_as_value_p.bind(dim=dimension)


deciding.as_value = dimension_as_value
