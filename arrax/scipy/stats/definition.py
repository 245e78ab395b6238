"""How functions of distributions are declared, and what most of them need: standard variables, supports, parameters."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax import numpy as jnp
from arrax.core.types import typeof
from arrax.interpreters.staging import literal
from arrax.lax.conversion import convert
from arrax.nn import activations
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, firm_inexact, inexact_as_first, promote_inexact, refuse_complex
from arrax.xla.arrays import Array, ArrayLike

Function = Callable[..., Any]


def of_distribution(fun: Function, promote: Callable[..., list[Any]] = inexact_as_first) -> Function:
    """Decorator: make a function of real arrays of one floating dtype, of 32 bits at least, a public one that broadcasts.

    Args:
      promote: what gives the operands their common dtype, and says whether it is weak.
    """
    signature = inspect.signature(fun)
    name = f"{fun.__module__.rpartition('.')[2]}.{fun.__name__}"

    @functools.wraps(fun)
    def computed(*args: ArrayLike, **kwargs: ArrayLike) -> Array:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        check_arraylike(name, *bound.args)
        operands = promote(*bound.args)
        for x in operands:
            refuse_complex(name, x)
        dtype, weak = typeof(operands[0]).dtype, typeof(operands[0]).weak_type
        small = dtypes.itemsize_bits(dtype) < 32
        operands = [convert(x, np.float32) if small else jnp.asarray(x) for x in operands]
        out = fun(*operands)
        return convert(out, dtype if small else typeof(out).dtype, weak and typeof(out).weak_type)

    if "Example:" not in (fun.__doc__ or ""):
        computed.__doc__ = f"{fun.__doc__}\n\n{_shared_documentation(name, signature)}"
    _declare(computed, signature)
    return api()(computed)


weak_as_sums = functools.partial(of_distribution, promote=promote_inexact)
"""``of_distribution`` for functions whose result is weak where the sum of the operands is."""

weak_among_scalars = functools.partial(of_distribution, promote=firm_inexact)
"""``of_distribution`` for functions whose result is weak only where all operands are weak, or scalars."""


def _declare(function: Any, signature: inspect.Signature) -> None:
    """Give a public function its signature: it takes numbers, too, which its body gets as arrays."""
    parameters = [p.replace(annotation="ArrayLike") for p in signature.parameters.values()]
    function.__signature__ = signature.replace(parameters=parameters, return_annotation="Array")


def _shared_documentation(name: str, signature: inspect.Signature) -> str:
    required = [p.name for p in signature.parameters.values() if p.default is p.empty]
    values = ", ".join("0.5" for _ in required)
    return (
        f"Args:\n  {', '.join(signature.parameters)}: real arrays or numbers, which broadcast.\n"
        "Returns: floating array; NaN where a parameter is not valid.\n"
        f"Example: ``stats.{name}({values})``. Source: ``scipy.stats.{name}``."
    )


def standard(x: Any, loc: Any, scale: Any) -> Array:
    """(x - loc) / scale, NaN for scales that are not positive."""
    if literal(loc) == 0 and literal(scale) == 1:
        return x  # a quotient that stands in the program would be computed
    return (x - loc) / jnp.where(scale > 0, scale, np.nan)


def inside(condition: Array, value: Function, x: ArrayLike, safe: float, otherwise: ArrayLike = -np.inf) -> Array:
    """``value(x)`` where the condition holds, ``otherwise`` elsewhere; at NaN the formula's own NaN and slope.

    Elsewhere the value is computed at a harmless place, so that its derivative is finite there, too.
    """
    chosen = condition | jnp.isnan(x)
    return jnp.where(chosen, value(jnp.where(chosen, x, safe)), otherwise)


def at_least(z: Array, bound: float) -> Array:
    """The greater of the two, with the slope of z at the bound itself, as the support has its border."""
    return jnp.where(z < bound, bound, z)


def exponential(z: Array) -> Array:
    """exp(z), no greater than the root of the largest number: exp(-exp(z)) is 0 by then, and so is its slope."""
    return jnp.exp(jnp.minimum(z, 0.5 * math.log(float(dtypes.finfo(z.dtype).max))))


def log_of_extreme(z: Any) -> Any:
    """z - exp(z), NaN at infinity, where a compiled exponential of 32 bits may be finite and the difference infinite."""
    return jnp.where(z == np.inf, np.nan, z - jnp.exp(z))


def log_of_rise(z: Array) -> Array:
    """log(1 - exp(-exp(z))), which is z itself where exp(z) is nothing beside 1."""
    low = z < math.log(float(dtypes.finfo(z.dtype).eps))
    return jnp.where(low, z, activations.log1mexp(exponential(jnp.where(low, 0.0, z))))


def provided(condition: ArrayLike, value: ArrayLike) -> Array:
    """The value where the parameters are valid, NaN elsewhere."""
    return jnp.where(condition, value, np.nan)


def is_whole(k: Array) -> Array:
    """Whether a number is an integer."""
    return k == jnp.floor(k)
