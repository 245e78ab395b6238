"""What a function costs, for ``cost_estimate``: counted from its program, without compiling it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from arrax.core.program import Jaxpr, JaxprEqn, open_jaxpr, subprograms
from arrax.experimental.pallas.block_specs import CostEstimate
from arrax.interpreters.cost_model import size_of
from arrax.transforms.inspection import make_jaxpr

# One operation for each element of the result.
_SINGLE = {
    "add", "sub", "mul", "div", "max", "min", "and", "or", "xor", "neg", "floor", "ceil", "round", "abs", "sign",
    "square", "add_any",
}  # fmt: skip
_TRANSCENDENTAL = {
    "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "sqrt", "rsqrt", "cbrt", "logistic", "pow", "erf", "erfc", "erf_inv", "lgamma", "digamma",
}  # fmt: skip


def estimate_cost(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> CostEstimate:
    """The operations of a function, and the bytes of its arguments and results.

    Operations on numbers are counted, movements of them are not. Loops count as often as they run where that is known, and
    once otherwise; of branches the one that takes most operations counts.

    Args:
      fun: function of arrays.
      args: arrays, or objects with shape and dtype.
      kwargs: what the function is told besides; their bytes are not counted.
    Returns: ``CostEstimate``.
    Example: ``pl.estimate_cost(lambda a, b: jnp.exp(a @ b), jnp.ones((4, 8)), jnp.ones((8, 2))).flops`` is 128.
    """
    program = make_jaxpr(lambda *values: fun(*values, **kwargs))(*args).jaxpr
    flops, transcendentals = _operations(program)
    moved = sum(size_of(atom.aval) * atom.aval.dtype.itemsize for atom in (*program.invars, *program.outvars))
    return CostEstimate(flops=flops, transcendentals=transcendentals, bytes_accessed=moved)


def _operations(program: Jaxpr) -> tuple[int, int]:
    return _sum([_operations_of(eqn) for eqn in program.eqns])


def _sum(counts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(count[0] for count in counts), sum(count[1] for count in counts)


def _operations_of(eqn: JaxprEqn) -> tuple[int, int]:
    """Operations, and transcendental functions, of an equation."""
    name, size = eqn.primitive.name, sum(size_of(var.aval) for var in eqn.outvars)
    if name in _SINGLE:
        return size, 0
    if name in _TRANSCENDENTAL:
        return 0, size
    if name == "clamp":
        return 2 * size, 0
    if name == "integer_pow":
        return _products_of_power(eqn.params["y"]) * size, 0
    if name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        return 2 * size * math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted), 0
    inner = [_operations(open_jaxpr(part)) for part in subprograms(eqn.params)]
    if name == "cond":
        return max(inner)
    flops, transcendentals = _sum(inner)
    times = eqn.params["length"] if name == "scan" else 1
    return flops * times, transcendentals * times


def _products_of_power(exponent: int) -> int:
    """By squaring: the squares, and the products of those that make up the power; a quotient for negative exponents."""
    power = abs(exponent)
    products = power.bit_length() - 1 + power.bit_count() if power > 1 else 0
    return products + (exponent < 0)
