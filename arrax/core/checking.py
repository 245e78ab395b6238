"""The type checker of programs: every variable bound once and before its use, every equation's types as its rule says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrax.core import errors
from arrax.core.program import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, open_jaxpr, subprograms
from arrax.core.types import ShapedArray

if TYPE_CHECKING:
    from arrax.core.program import Atom


class JaxprTypeError(errors.ErrorWithPage, TypeError):
    """A program is not well typed.

    Fix: what changed the program, as ``make_jaxpr`` makes none that is not.
    Example: ``program = make_jaxpr(lambda v: v + 1.0)(y).jaxpr; arrax.core.check_jaxpr(program.replace(eqns=[]))``
    raises it.
    """


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Check a program and all programs nested in it.

    Raises:
      JaxprTypeError: a variable used before or bound after another binding, or types that a rule does not give.
    Example: ``arrax.core.check_jaxpr(arrax.make_jaxpr(jnp.sin)(1.).jaxpr)``.
    """
    jaxpr = open_jaxpr(jaxpr)
    bound: set[Var] = set()
    for var in (*jaxpr.constvars, *jaxpr.invars):
        _bind(var, bound, jaxpr)
    for eqn in jaxpr.eqns:
        _check_eqn(eqn, bound, jaxpr)
    for atom in jaxpr.outvars:
        _check_bound(atom, bound, jaxpr)


def _bind(var: Var, bound: set[Var], jaxpr: Jaxpr) -> None:
    if var in bound:
        raise JaxprTypeError(f"variable {var} is bound twice in:\n{jaxpr}")
    bound.add(var)


def _check_bound(atom: Atom, bound: set[Var], jaxpr: Jaxpr) -> None:
    if not isinstance(atom, Literal) and atom not in bound:
        raise JaxprTypeError(f"variable {atom} is used but not bound in:\n{jaxpr}")


def _check_eqn(eqn: JaxprEqn, bound: set[Var], jaxpr: Jaxpr) -> None:
    for atom in eqn.invars:
        _check_bound(atom, bound, jaxpr)
    for inner in subprograms(eqn.params):
        check_jaxpr(inner)
    rule = eqn.primitive.type_rule
    if rule is not None:
        try:
            out = rule(*[atom.aval for atom in eqn.invars], **eqn.params)
        except Exception as error:
            raise JaxprTypeError(
                f"the type rule of {eqn.primitive} refuses its operands in:\n{eqn}\n{error}"
            ) from error
        for var, aval in zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True):
            if not _same(var.aval, aval):
                raise JaxprTypeError(f"result {var.aval} of {eqn.primitive} should be of type {aval} in:\n{eqn}")
    for var in eqn.outvars:
        _bind(var, bound, jaxpr)


def _same(x: ShapedArray, y: ShapedArray) -> bool:
    if isinstance(x, ShapedArray) and isinstance(y, ShapedArray):
        return x.shape == y.shape and x.dtype == y.dtype
    return type(x) is type(y)


errors.hooks.check_program = check_jaxpr
