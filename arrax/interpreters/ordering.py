"""Ordered effects before lowering: a token goes through the equations that have them, from each to the next.

The compiler keeps the order of what depends on each other, and of nothing else. So a program with ordered effects is
rewritten: every equation that has one takes a token and gives another one, and programs inside it take and give one, too.
Primitives that can have ordered effects say how by their slot ``with_token``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arrax.core.effects import any_ordered
from arrax.core.interpreter import Primitive
from arrax.core.program import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from arrax.core.types import abstract_token

WithToken = Callable[[JaxprEqn, Var, Var], Sequence[JaxprEqn]]


class Slots:
    """What the module of tokens fills in."""

    create_token: Primitive | None = None


slots = Slots()


def with_tokens(jaxpr: Jaxpr) -> Jaxpr:
    """The program with a token as first input and first output."""
    token = first = Var(abstract_token)
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if not any_ordered(eqn.effects):
            eqns.append(eqn)
            continue
        if eqn.primitive.with_token is None:
            raise NotImplementedError(f"ordered effects are not supported in {eqn.primitive.name}")
        after = Var(abstract_token)
        eqns += eqn.primitive.with_token(eqn, token, after)
        token = after
    return jaxpr.replace(invars=[first, *jaxpr.invars], outvars=[token, *jaxpr.outvars], eqns=eqns)


def program_with_tokens(program: ClosedJaxpr) -> ClosedJaxpr:
    """Like ``with_tokens``, for a program with its constants."""
    return program.memo("with tokens", lambda: program.replace(jaxpr=with_tokens(program.jaxpr)))


def in_order(jaxpr: Jaxpr) -> Jaxpr:
    """A whole program whose ordered effects happen in their order: its token begins and ends inside."""
    if not any_ordered(jaxpr.effects):
        return jaxpr
    if slots.create_token is None:
        raise NotImplementedError("ordered effects: arrax.experimental, which has what orders them, is not imported")
    threaded = with_tokens(jaxpr)
    begin = JaxprEqn([], [threaded.invars[0]], slots.create_token, {})
    return threaded.replace(invars=threaded.invars[1:], outvars=threaded.outvars[1:], eqns=[begin, *threaded.eqns])


def call_with_token(param: str) -> WithToken:
    """The slot of primitives that only call the program in ``params[param]``."""

    def rule(eqn: JaxprEqn, token: Var, after: Var) -> list[JaxprEqn]:
        program = program_with_tokens(eqn.params[param])
        params = {**eqn.params, param: program}
        return [eqn.replace(invars=[token, *eqn.invars], outvars=[after, *eqn.outvars], params=params)]

    rule.calls = True  # type: ignore[attr-defined]  # such a primitive runs its program, once, as if it stood there
    return rule


def operation_with_token(eqn: JaxprEqn, token: Var, after: Var) -> list[JaxprEqn]:
    """The slot of operations whose lowering looks for a token among the types of its operands."""
    return [eqn.replace(invars=[token, *eqn.invars], outvars=[after, *eqn.outvars])]
