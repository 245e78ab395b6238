"""Which programs may be compiled quickly: those whose results are the same bits whatever code the compiler makes of them."""

from __future__ import annotations

import numpy as np

from arrax.core.interpreter import Rounding
from arrax.core.program import Jaxpr, open_jaxpr, subprograms
from arrax.core.types import ShapedArray
from arrax.dtypes import is_inexact
from arrax.interpreters.cost_model import size_of

# Of all operands and results: above, code that was compiled quickly takes longer than compiling well.
MAX_ELEMENTS = 10_000


def compiles_quickly(jaxpr: Jaxpr) -> bool:
    """Whether a small program consists of operations that the standard for floating-point numbers determines.

    A product that feeds a sum may be rounded with it or before it, so programs with both do not count.
    """
    avals = [var.aval for var in jaxpr.invars] + [atom.aval for atom in jaxpr.outvars]
    if sum(map(size_of, avals)) > MAX_ELEMENTS:
        return False
    roundings = _roundings(jaxpr)
    return roundings is not None and not {Rounding.PRODUCT, Rounding.SUM} <= roundings


def _roundings(jaxpr: Jaxpr) -> set[Rounding] | None:
    """How the operations of a program round, those of nested ones included; None if that is not known of all."""
    found: set[Rounding] = set()
    for eqn in jaxpr.eqns:
        if not all(_is_plain(atom.aval) for atom in (*eqn.invars, *eqn.outvars)):
            return None
        inner = [_roundings(open_jaxpr(program)) for program in subprograms(eqn.params)]
        if inner and eqn.primitive.cost is None:  # a call
            for one in inner:
                if one is None:
                    return None
                found |= one
        elif eqn.primitive.rounding is None:
            return None
        elif is_inexact(eqn.outvars[0].aval.dtype):
            found.add(eqn.primitive.rounding)
    return found


def _is_plain(aval: object) -> bool:
    """Not a complex number, whose operations are several; nor a float of less than 16 bits, whose zeros may have no sign."""
    if not isinstance(aval, ShapedArray) or not isinstance(aval.dtype, np.dtype):
        return False
    return aval.dtype.kind != "c" and (aval.dtype.itemsize > 1 or aval.dtype.kind in "iub")
