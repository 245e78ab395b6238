"""What is known of the size of an expression of symbols: bounds by those of its parts, and by constraints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from arrax.core.symbolic_dimensions import Factor, Monomial, Scope, SymbolicDimension, deciding

Linear = Mapping[Monomial, Fraction]  # a sum of multiples of monomials
Interval = tuple[Any, Any]
_DEPTH = 3  # how many constraints are put together


def _linear(expression: Any) -> dict[Monomial, Fraction]:
    if isinstance(expression, int):
        return {(): Fraction(expression)}
    return {monomial: Fraction(coefficient) for monomial, coefficient in expression.terms}


def _is_at_least(expression: SymbolicDimension, value: int) -> bool | None:
    terms = _linear(expression)
    if _lower(terms, expression.scope, _DEPTH) >= value:
        return True
    upper = -_lower({monomial: -c for monomial, c in terms.items()}, expression.scope, _DEPTH)
    return False if upper < value else None


deciding.is_at_least = _is_at_least


def interval(expression: Any) -> Interval:
    """Between which ints an expression lies, infinities among them."""
    if isinstance(expression, int):
        return expression, expression
    terms = _linear(expression)
    low = _lower(terms, expression.scope, _DEPTH - 1)
    high = -_lower({monomial: -c for monomial, c in terms.items()}, expression.scope, _DEPTH - 1)
    return _ceiling(low), -_ceiling(-high)


def _ceiling(value: Any) -> Any:
    return value if math.isinf(value) else math.ceil(value)


def _lower(terms: Linear, scope: Scope, depth: int) -> Any:
    """A number that a sum is never below."""
    best = sum(
        (_scaled(coefficient, _of_monomial(monomial))[0] for monomial, coefficient in terms.items()), Fraction(0)
    )
    if depth == 0 or set(terms) <= {()}:
        return best
    for known in [*scope.known(), *_implied(terms)]:
        for monomial, coefficient in terms.items():
            ratio = coefficient / known[monomial] if monomial and monomial in known else 0
            if ratio > 0:  # the sum is ratio times what is at least 0, and a rest
                rest = {m: terms.get(m, Fraction(0)) - ratio * known.get(m, 0) for m in {*terms, *known}}
                best = max(best, _lower({m: c for m, c in rest.items() if c}, scope, depth - 1))
    for monomial, coefficient in terms.items():
        if _is_extreme(monomial) and (coefficient < 0) == (monomial[0][0].name == "max"):  # then it is one or the other
            others = {m: c for m, c in terms.items() if m != monomial}
            cases = (_sum(others, _linear(operand), coefficient) for operand in monomial[0][0].operands)
            best = max(best, min(_lower({m: c for m, c in case.items() if c}, scope, depth - 1) for case in cases))
    return best


def _is_extreme(monomial: Monomial) -> bool:
    """Whether a factor stands alone that is the greater or the smaller of two expressions."""
    if len(monomial) != 1:
        return False
    ((factor, power),) = monomial
    return power == 1 and bool(factor.operands) and factor.name in ("max", "min")


def _implied(terms: Linear) -> Iterator[Linear]:
    """What is at least 0 by the meaning of the operations in a sum."""
    for monomial in terms:
        if len(monomial) != 1 or monomial[0][1] != 1 or not monomial[0][0].operands:
            continue
        factor = monomial[0][0]
        first, second = map(_linear, factor.operands)
        own: dict[Monomial, Fraction] = {monomial: Fraction(1)}
        if factor.name == "floordiv" and isinstance(factor.operands[1], int) and factor.operands[1] > 0:
            by = Fraction(factor.operands[1])
            yield _sum(first, own, -by)
            yield _sum({**_sum({}, own, by), (): by - 1}, first, Fraction(-1))
        elif factor.name in ("max", "min"):
            sign = Fraction(1 if factor.name == "max" else -1)
            for operand in (first, second):
                yield {m: sign * c for m, c in _sum(own, operand, Fraction(-1)).items()}


def _sum(first: Linear, second: Linear, times: Fraction) -> dict[Monomial, Fraction]:
    return {m: first.get(m, Fraction(0)) + times * second.get(m, Fraction(0)) for m in {*first, *second}}


def _scaled(coefficient: Fraction, bounds: Interval) -> Interval:
    low, high = (
        coefficient * each if not math.isinf(each) else (each if coefficient > 0 else -each) for each in bounds
    )
    return (low, high) if coefficient > 0 else (high, low)


def _of_monomial(monomial: Monomial) -> Interval:
    bounds: Interval = (1, 1)
    for factor, power in monomial:
        for _ in range(power):
            bounds = _product(bounds, _of_factor(factor))
    return bounds


def _product(first: Interval, second: Interval) -> Interval:
    corners = [0 if 0 in (x, y) else x * y for x in first for y in second]
    return min(corners), max(corners)


def _of_factor(factor: Factor) -> Interval:
    if not factor.operands:
        return 1, math.inf
    (low, high), (least, most) = map(interval, factor.operands)
    if factor.name in ("max", "min"):
        choose = max if factor.name == "max" else min
        return choose(low, least), choose(high, most)
    if least <= 0:  # the divisor's sign is not known
        return -math.inf, math.inf
    if factor.name == "mod":
        return 0, most - 1
    return _quotient(low, most if low >= 0 else least), _quotient(high, least if high >= 0 else most)


def _quotient(number: Any, divisor: Any) -> Any:
    if math.isinf(number):
        return number
    if math.isinf(divisor):
        return 0 if number >= 0 else -1
    return number // divisor
