"""Programs that were recorded under the other setting for 64-bit types than the one in force.

The numbers of Python in a program, and those that the rules of its operations make, have the types that the setting gives
them: so its operations are processed under the setting that they were recorded under.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from arrax.core import config
from arrax.core.program import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, any_equation

_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))


def width_of(eqn: JaxprEqn) -> bool | None:
    """The setting for 64-bit types under which an operation was recorded; None where it was the same under both."""
    if is_wide(eqn):
        return True
    return False if any(type(a) is Literal and type(a.val) in (int, float, complex) for a in eqn.invars) else None


def is_wide(eqn: JaxprEqn) -> bool:
    """Whether an operand or a result has 64 bits."""
    return any(getattr(atom.aval, "dtype", None) in _WIDE for atom in (*eqn.invars, *eqn.outvars))


def recorded_otherwise(jaxpr: Jaxpr) -> bool:
    """Whether operations of a program, those of programs inside left out, were recorded under the other setting."""
    if not config.widths.both:
        return False
    if jaxpr.widths is None:
        object.__setattr__(jaxpr, "widths", frozenset(map(width_of, jaxpr.eqns)))
    return (not config.enable_x64.cell.value) in jaxpr.widths  # type: ignore[operator]


def recorded_settings(jaxpr: Jaxpr) -> Callable[[JaxprEqn], AbstractContextManager[None]]:
    """For each operation of a program, a context with the setting under which it was recorded."""
    return as_recorded if recorded_otherwise(jaxpr) else lambda eqn: nullcontext()


def as_recorded(eqn: JaxprEqn) -> AbstractContextManager[None]:
    """A context with the setting under which an operation was recorded."""
    width = width_of(eqn)
    return nullcontext() if width in (None, config.enable_x64.cell.value) else config.enable_x64(width)


def holds_wide(program: ClosedJaxpr) -> bool:
    """Whether operations of a program, those of programs inside included, need 64-bit types where there are none."""
    return config.widths.both and not config.enable_x64.cell.value and any_equation(program, is_wide)
