"""How long a program may run, roughly: short ones on the CPU run where they are called, not on a thread of the runtime.

To hand a program over and to wait for it takes two changes of threads, some 50 us, during which a million numbers can be added.
Handing over pays for programs during which the caller can do something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arrax.core.program import Jaxpr, JaxprEqn, open_jaxpr, subprograms
from arrax.core.types import ShapedArray

MIN_WORK = 1_000  # additions; the runtime itself runs programs of fewer operations inline
PRODUCTS_PER_ADDITION = 8  # in products of matrices, which are vectorized and find their operands in the caches
MAX_WORK = 10_000_000  # elements moved or added: about a millisecond of one processor
MAX_ARRAYS = 100  # operands and results: each takes the caller a microsecond, while another thread runs the program


def runs_inline(jaxpr: Jaxpr) -> bool:
    """Whether calls of a program should run it in their own thread: it is short, but not known to the runtime for it."""
    return len(jaxpr.invars) + len(jaxpr.outvars) <= MAX_ARRAYS and MIN_WORK < work_of(jaxpr) <= MAX_WORK


def work_of(jaxpr: Jaxpr) -> float:
    """The additions that take as long as the program; infinite for loops of unknown length and for effects."""
    return sum(map(work_of_eqn, jaxpr.eqns))


def work_of_eqn(eqn: JaxprEqn) -> float:
    """The additions that take as long as an operation."""
    if eqn.effects:
        return float("inf")
    cost = eqn.primitive.cost
    if callable(cost):
        return cost(eqn)
    if cost is None:
        inner = [work_of(open_jaxpr(program)) for program in subprograms(eqn.params)]
        if inner:
            return sum(inner)
    return (1 if cost is None else cost) * largest_size(eqn)


def largest_size(eqn: JaxprEqn) -> int:
    """The elements of the largest array that an operation takes or gives."""
    return max((size_of(atom.aval) for atom in (*eqn.invars, *eqn.outvars)), default=0)


def work_of_rows(eqn: JaxprEqn) -> float:
    """The cost of operations on matrices: that of as many passes as there are rows."""
    avals: Sequence[Any] = [atom.aval for atom in eqn.invars]
    return largest_size(eqn) * max((aval.shape[-1] for aval in avals if aval.ndim >= 2), default=1)


def passes(count: int) -> Callable[[JaxprEqn], float]:
    """The cost of a library's code that takes as long as some passes over its operands, which must lie in memory."""
    return lambda eqn: count * largest_size(eqn)


def size_of(aval: object) -> int:
    """The elements of an array; tokens and the like have none."""
    return aval.size if isinstance(aval, ShapedArray) else 0
