"""``fwd_and_bwd``: the two halves of reverse-mode differentiation as functions of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arrax.transforms.autodiff import vjp
from arrax.transforms.differentiated_arguments import Argnums, DifferentiatedArguments
from arrax.transforms.jit import jit


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: Argnums, has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The forward and the backward pass of a function, to be run (and compiled) apart from each other.

    Args:
      fun: function of arrays or pytrees of them.
      argnums: position (or positions) of the arguments to differentiate.
      has_aux: ``fun`` returns (result, auxiliary data).
      jitted: compile both.
    Returns: ``fwd`` and ``bwd``: ``fwd(*args)`` is ``(result, residuals)``, with ``has_aux`` also the auxiliary data, and
      ``bwd(residuals, cotangent)`` the cotangents of the chosen arguments, a tuple if there are several positions.
    Raises:
      TypeError: ``fun`` is not callable.
    Example: ``fwd, bwd = fwd_and_bwd(jnp.sin, 0); y, residuals = fwd(0.)`` gives ``bwd(residuals, 1.) == 1``.
    """
    differentiated = DifferentiatedArguments("fwd_and_bwd", fun, argnums)

    def fwd(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        chosen = differentiated.of_call(args, kwargs)
        return vjp(lambda *values: chosen.call(fun, *values), *chosen.values, has_aux=has_aux)

    def bwd(residuals: Any, cotangent: Any) -> Any:
        return differentiated.unpack(residuals(cotangent))

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
