"""Small operations on programs and their values: as functions, nested programs, concrete values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer, concrete_value
from arrax.core.program import ClosedJaxpr, Jaxpr, open_jaxpr, subprograms
from arrax.core.types import ShapedArray, type_of_any
from arrax.interpreters.staging import eval_jaxpr


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr, *args: Any) -> Callable[..., list[Any]]:
    """A closed program as a function of flat arguments, with a list of results.

    Args:
      closed_jaxpr: the program.
      args: its first arguments, which the function then leaves out.
    Raises:
      ValueError: when it is called, another number of arguments than the program takes.
    Example: ``jaxpr_as_fun(make_jaxpr(jnp.sin)(1.))(0.)``.
    """
    wanted = len(closed_jaxpr.in_avals)

    def program(*rest: Any) -> list[Any]:
        if len(args) + len(rest) != wanted:
            raise ValueError(f"jaxpr_as_fun: the program takes {wanted} arguments, got {len(args) + len(rest)}")
        return eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *args, *rest)

    return program


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The programs among an equation's parameters.

    Args:
      params: of an equation.
    Example: ``program = make_jaxpr(jit(jnp.sin))(y); [inner] = arrax.core.jaxprs_in_params(program.eqns[0].params);
    len(inner.eqns)`` is 1.
    """
    return (open_jaxpr(program) for program in subprograms(params))


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The programs that a program's equations hold.

    Args:
      jaxpr: the program.
    Example: ``[inner] = arrax.core.subjaxprs(make_jaxpr(jit(jnp.sin))(y).jaxpr); len(inner.eqns)`` is 1.
    """
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def concrete_or_error(force: type[Any], val: Any, context: str = "") -> Any:
    """A known value, converted by ``force``.

    Args:
      force: function such as ``int``.
      val: what is converted.
      context: what the message says of it.
    Returns: ``force(value)``.
    Raises:
      ConcretizationTypeError: a traced value.
    Example: ``arrax.core.concrete_or_error(int, jnp.array(3))`` is 3.
    """
    known = concrete_value(val)
    if isinstance(val, Tracer) and known is None:
        raise ConcretizationTypeError(val, context)
    return force(known) if force is not None else known


def get_aval(x: Any) -> ShapedArray:
    """The type of a value.

    Args:
      x: array, tracer, NumPy value or Python number.
    Raises:
      TypeError: something else.
    Example: ``arrax.core.get_aval(x).shape`` is ``(4,)``.
    """
    return type_of_any(x)
