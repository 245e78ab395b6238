"""How long a program may run, roughly: short ones on the CPU run where they are called, not on a thread of the runtime.

To hand a program over and to wait for it takes two changes of threads, some 50 us, during which a million numbers can be added.
Handing over pays for programs during which the caller can do something else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from arrax.core.program import Jaxpr, JaxprEqn, open_jaxpr, subprograms
from arrax.core.types import ShapedArray

LEAST = 1_000  # the runtime itself knows programs of fewer operations for short
MOST = 10_000_000  # elements moved or added: about a millisecond of one processor

# Times of an element, in additions of one. What is not named takes one.
_TIMES: dict[str, int] = {
    **dict.fromkeys(("exp", "exp2", "log", "tanh", "logistic", "div", "sqrt", "rsqrt"), 2),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "cbrt", "log1p", "expm1", "rem"), 8),
    **dict.fromkeys(("gather", "random_bits", "threefry2x32", "cumsum", "cumprod", "cummax", "cummin"), 16),
    **dict.fromkeys(("atan2", "pow", "erf_inv", "sinh", "cosh", "asinh", "acosh", "atanh", "remainder"), 24),
    **dict.fromkeys(
        ("lgamma", "sort", "digamma", "polygamma", "zeta", "igamma", "igammac", "bessel_i1e", "cumlogsumexp"), 100
    ),
    **dict.fromkeys(("regularized_incomplete_beta", "igamma_grad_a", "random_gamma", "random_gamma_grad"), 1000),
}
_OF_MATRICES = frozenset(
    "cholesky custom_linear_solve eig eigh geqp3 geqrf gesvdj hessenberg householder_product lu ormqr qr schur svd "
    "symmetric_product triangular_solve tridiagonal".split()
)
_PRODUCTS_PER_ADDITION = 8  # vectorised, and their operands are in the caches


def is_short(jaxpr: Jaxpr) -> bool:
    """Whether a program takes longer than the runtime's least, and not longer than the caller should wait."""
    return LEAST < work_of(jaxpr) <= MOST


def work_of(jaxpr: Jaxpr) -> float:
    """The additions that take as long as the program. Loops of unknown length are endless."""
    return sum(map(_work_of_eqn, jaxpr.eqns))


def _work_of_eqn(eqn: JaxprEqn) -> float:
    name = eqn.primitive.name
    if name == "while" or eqn.effects:
        return math.inf
    inner = [work_of(open_jaxpr(program)) for program in subprograms(eqn.params)]
    if inner and not name.startswith(("reduce", "scatter", "select_and")):  # these have programs for two numbers
        return sum(inner) * (eqn.params["length"] if name == "scan" else 1)
    made = max((size_of(var.aval) for var in eqn.outvars), default=0)
    largest = max([made, *(size_of(atom.aval) for atom in eqn.invars)])
    if name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        length = math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted)
        return largest + made * length / _PRODUCTS_PER_ADDITION
    if name == "conv_general_dilated":
        kernel = eqn.invars[1].aval
        length = kernel.size // max(kernel.shape[eqn.params["dimension_numbers"].rhs_spec[0]], 1)
        return largest + made * length / _PRODUCTS_PER_ADDITION
    if name in _OF_MATRICES:
        rows = max((atom.aval.shape[-1] for atom in eqn.invars if atom.aval.ndim >= 2), default=1)
        return largest * rows
    if name == "fft" or name.startswith("scatter"):
        return 16 * largest
    return _TIMES.get(name, 1) * largest


def repeated_equations(jaxpr: Jaxpr, times: int = 1, unknown: int = 1) -> Iterator[tuple[JaxprEqn, int]]:
    """All equations, those of nested programs included, and how often each runs.

    Args:
      unknown: the turns that are assumed of a loop of unknown length.
    """
    for eqn in jaxpr.eqns:
        yield eqn, times
        name = eqn.primitive.name
        turns = eqn.params["length"] if name == "scan" else unknown if name == "while" else 1
        for inner in subprograms(eqn.params):
            yield from repeated_equations(open_jaxpr(inner), times * turns, unknown)


def size_of(aval: object) -> int:
    """The elements of an array; tokens and the like have none."""
    return aval.size if isinstance(aval, ShapedArray) else 0
