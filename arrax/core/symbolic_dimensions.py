"""Lengths of axes as expressions of symbols, which stand for any positive ints: sums of products, in a normal form.

Two expressions are equal if their difference comes to nothing. Expressions of different scopes have nothing in common, even where
their symbols have the same names. What is known of their sizes stands in ``symbolic_bounds``.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from arrax.core.errors import InconclusiveDimensionOperation
from arrax.core.tracebacks import bound_methods, boundary

Length: TypeAlias = "int | SymbolicDimension"
Monomial = tuple[tuple["Factor", int], ...]  # factors and their powers, sorted; () is 1
_OUTSIDE = "a symbolic dimension as a value: programs of symbolic shapes are not supported"


@functools.total_ordering
class Factor:
    """A symbol, or an operation on expressions: ``floordiv``, ``mod``, ``max`` or ``min``."""

    __slots__ = ("name", "operands", "text")

    def __init__(self, name: str, operands: tuple[Any, ...] = ()) -> None:
        self.name, self.operands = name, operands
        self.text = f"{name}({', '.join(map(str, operands))})" if operands else name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factor) and (self.name, self.operands) == (other.name, other.operands)

    def __lt__(self, other: Factor) -> bool:
        return self.text < other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text


def times(first: Monomial, second: Monomial) -> Monomial:
    """The product of two monomials."""
    powers = dict(first)
    for factor, power in second:
        powers[factor] = powers.get(factor, 0) + power
    return tuple(sorted(powers.items()))


def over(first: Monomial, second: Monomial) -> Monomial | None:
    """The quotient of two monomials, if it is one."""
    powers = dict(first)
    for factor, power in second:
        powers[factor] = powers.get(factor, 0) - power
    if min(powers.values(), default=0) < 0:
        return None
    return tuple(sorted((factor, power) for factor, power in powers.items() if power))


def _order(monomial: Monomial) -> tuple[Any, ...]:
    return sum(power for _, power in monomial), tuple((factor.text, power) for factor, power in reversed(monomial))


class Scope(Protocol):
    """What is assumed of symbols (``symbolic_shapes.SymbolicScope``)."""

    def described(self) -> str:
        """The constraints, for messages."""

    def known(self) -> Iterator[dict[Monomial, Fraction]]:
        """Sums of multiples of monomials that are at least 0."""

    def replaced(self, monomial: Monomial, coefficient: int) -> list[tuple[Monomial, int]] | None:
        """What stands for a term by an equality, or None."""


class Deciding:
    """Who knows the sizes of expressions: filled by ``symbolic_bounds``."""

    is_at_least: Callable[[SymbolicDimension, int], bool | None]  # None where it depends on the symbols
    least: Callable[[Any, Any], Any]  # of two lengths
    greatest: Callable[[Any, Any], Any]
    as_value: Callable[[SymbolicDimension], Any]  # an operation of a program, filled by ``lax``


deciding = Deciding()


@bound_methods
class SymbolicDimension:
    """A length of an axis that is known only when a program is called, such as ``2*a + b``.

    Attributes:
      scope: what is assumed of its symbols; expressions of other scopes do not mix with it.
    Example: ``a, b = arrax.export.symbolic_shape('a, b'); str(2 * a + b - a)`` is ``'b + a'``.
    """

    __slots__ = ("_hash", "scope", "terms")
    __array_priority__ = 1000
    terms: tuple[tuple[Monomial, int], ...]  # the greatest first

    def __init__(self, terms: Mapping[Monomial, int], scope: Scope) -> None:
        self.scope = scope
        self.terms = tuple(
            sorted(((m, c) for m, c in terms.items() if c), key=lambda term: _order(term[0]), reverse=True)
        )
        self._hash = hash(self.terms)

    def __str__(self) -> str:
        parts: list[str] = []
        for monomial, coefficient in self.terms:
            product = "*".join(factor.text + (f"^{power}" if power > 1 else "") for factor, power in monomial)
            size = abs(coefficient)
            text = str(size) if not product else product if size == 1 else f"{size}*{product}"
            parts.append(f"- {text}" if coefficient < 0 else f"+ {text}" if parts else text)
        return " ".join(parts) or "0"

    __repr__ = __str__

    def __hash__(self) -> int:
        return self._hash

    @boundary
    def __reduce__(self) -> Any:
        raise TypeError(f"the symbolic dimension '{self}' belongs to this process: it cannot be pickled")

    def __copy__(self) -> SymbolicDimension:
        return self

    def __deepcopy__(self, _: object) -> SymbolicDimension:
        return self

    # ---- arithmetic ----

    def _with(self, other: Length, what: str) -> SymbolicDimension | None:
        """Another operand as an expression of the same scope; None for what is no length."""
        if isinstance(other, SymbolicDimension):
            if other.scope is not self.scope:
                raise ValueError(
                    f"Invalid mixing of symbolic scopes {what}: '{self}' is of scope {self.scope}, '{other}' of scope {other.scope}"
                )
            return other
        return constant(int(other), self.scope) if isinstance(other, int) or _is_integer(other) else None

    def __add__(self, other: Length) -> Any:
        given = self._with(other, "for a sum")
        if given is None:
            return deciding.as_value(self) + other
        return normal([*self.terms, *given.terms], self.scope)

    def _operand(self, other: Any, what: str) -> SymbolicDimension:
        given = self._with(other, what)
        if given is None:
            raise NotImplementedError(f"'{self}' together with {other!r} of {type(other)}: {_OUTSIDE}")
        return given

    def __mul__(self, other: Length) -> Any:
        given = self._with(other, "for a product")
        if given is None:
            return deciding.as_value(self) * other
        return normal([(times(m, n), c * d) for m, c in self.terms for n, d in given.terms], self.scope)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Length) -> Any:
        given = self._with(other, "for a difference")
        return deciding.as_value(self) - other if given is None else self + given * -1

    def __rsub__(self, other: Length) -> Any:
        return -self + other

    def __pow__(self, power: Length) -> Any:
        if not isinstance(power, int) or power < 0:
            refusal = ValueError if isinstance(power, int) else TypeError
            raise refusal(f"'{self}' to the power of {power!r}: lengths have powers of ints of 0 and more")
        return functools.reduce(lambda x, y: x * y, [self] * power, 1)

    def __divmod__(self, other: Length) -> Any:
        return quotient_and_rest(self, self._operand(other, "for a quotient"))

    def __rdivmod__(self, other: Any) -> Any:
        return quotient_and_rest(self._operand(other, "for a quotient"), self)

    def __floordiv__(self, other: Length) -> Any:
        return divmod(self, other)[0]

    def __rfloordiv__(self, other: Any) -> Any:
        return divmod(other, self)[0]

    def __mod__(self, other: Length) -> Any:
        return divmod(self, other)[1]

    def __rmod__(self, other: Any) -> Any:
        return divmod(other, self)[1]

    def __truediv__(self, other: Length) -> Any:
        return deciding.as_value(self) / other

    def __rtruediv__(self, other: Length) -> Any:
        return other / deciding.as_value(self)

    # ---- comparison ----

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SymbolicDimension):
            return self.scope is other.scope and self.terms == other.terms
        return False  # an expression that comes to an int is that int

    def _at_least(self, other: Length, shown: str, more: int, turned: bool = False) -> bool:
        """Whether the difference to another length is at least ``more``."""
        given = self._with(other, f"when comparing '{self}' {shown} '{other}'")
        if given is None:
            raise TypeError(f"a symbolic dimension is compared with ints, got {other!r} of {type(other)}")
        difference = given - self if turned else self - given
        known = difference >= more if isinstance(difference, int) else deciding.is_at_least(difference, more)
        if known is None:
            using = self.scope.described()
            raise InconclusiveDimensionOperation(
                f"Symbolic dimension comparison '{self}' {shown} '{other}' is inconclusive.{using}\n"
                "The comparison holds for some sizes only. Say what is known of them by constraints, or write the function so that "
                "it does not compare them."
            )
        return known

    def __ge__(self, other: Length) -> bool:
        return self._at_least(other, ">=", 0)

    def __gt__(self, other: Length) -> bool:
        return self._at_least(other, ">", 1)

    def __le__(self, other: Length) -> bool:
        return self._at_least(other, "<=", 0, True)

    def __lt__(self, other: Any) -> bool:
        return self._at_least(other, "<", 1, True)

    @boundary
    def __bool__(self) -> bool:
        return True  # what could be zero is an expression all the same, and an int if it is zero

    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(f"Symbolic dimension '{self}' used in a context that requires a constant")

    def __jax_array__(self) -> Any:
        return deciding.as_value(self)

    def of_scope(self, length: SymbolicDimension) -> SymbolicDimension:
        """A length as an expression of the same scope."""
        return self._operand(length, "for a slice")

    def piece(self, start: int | None, stop: int | None, step: int | None) -> tuple[Any, Any, int]:
        """Size, start and step of a slice of an axis of this length."""
        if step == -1 and start is None and stop is None:
            return self, 0, -1
        step = 1 if step is None else operator.index(step)
        if step == 0:
            raise ValueError("slice step cannot be zero")
        least, most = deciding.least, deciding.greatest
        floor, ceiling = (0, self) if step > 0 else (-1, self - 1)  # between which the bounds lie
        ends = (floor, ceiling) if step > 0 else (ceiling, floor)
        first, last = (
            end if bound is None else least(bound, ceiling) if bound >= 0 else self - least(self - floor, -bound)
            for bound, end in zip((start, stop), ends, strict=True)
        )
        span = last - first if step > 0 else first - last
        size = most((span + abs(step) - 1) // abs(step), 0)
        lowest = 0 if size == 0 else first if step > 0 else most(first + (size - 1) * step, 0)
        return size, lowest, step

    def is_below(self, bound: int, unknown: bool) -> bool:
        """Whether it is less than a bound; ``unknown`` where that depends on the symbols."""
        reached = deciding.is_at_least(self, bound)
        return unknown if reached is None else not reached

    def greatest(self, *lengths: Length) -> Any:
        """The greater of two lengths."""
        return deciding.greatest(*lengths)

    def least(self, *lengths: Any) -> Any:
        """The lesser of two lengths."""
        return deciding.least(*lengths)

    def symbols(self) -> set[str]:
        """The names of its symbols."""
        return {name for monomial, _ in self.terms for factor, _ in monomial for name in _symbols(factor)}

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """The length for some sizes of its symbols."""
        total = 0
        for monomial, coefficient in self.terms:
            for factor, power in monomial:
                coefficient *= _value(factor, sizes) ** power
            total += coefficient
        return total


def _is_integer(value: Any) -> bool:
    return hasattr(value, "__index__") and getattr(value, "ndim", 1) == 0 and not hasattr(value, "aval")


def _symbols(factor: Factor) -> Iterable[str]:
    if not factor.operands:
        yield factor.name
    for operand in factor.operands:
        if isinstance(operand, SymbolicDimension):
            yield from operand.symbols()


def _value(factor: Factor, sizes: Mapping[str, int]) -> int:
    if not factor.operands:
        return sizes[factor.name]
    first, second = (each.evaluate(sizes) if isinstance(each, SymbolicDimension) else each for each in factor.operands)
    return _MEANINGS[factor.name](first, second)


_MEANINGS: dict[str, Callable[[int, int], int]] = {
    "floordiv": int.__floordiv__,
    "mod": int.__mod__,
    "max": max,
    "min": min,
}


def constant(value: int, scope: Scope) -> SymbolicDimension:
    """An int as an expression."""
    return SymbolicDimension({(): value}, scope)


def symbol(name: str, scope: Scope) -> SymbolicDimension:
    """A symbol as an expression."""
    return SymbolicDimension({((Factor(name), 1),): 1}, scope)


def normal(terms: Iterable[tuple[Monomial, int]], scope: Scope) -> Any:
    """The sum of some terms: an int where no symbol is left."""
    total: dict[Monomial, int] = {}
    waiting = list(terms)
    while waiting:
        monomial, coefficient = waiting.pop()
        replaced = scope.replaced(monomial, coefficient) or _whole_quotient(monomial, coefficient)
        if replaced is not None:
            waiting += replaced
        else:
            total[monomial] = total.get(monomial, 0) + coefficient
    total = {monomial: coefficient for monomial, coefficient in total.items() if coefficient}
    again = [term for term in total.items() if scope.replaced(*term) or _whole_quotient(*term)]
    if again:
        return normal(total.items(), scope)
    if set(total) <= {()}:
        return total.get((), 0)
    return SymbolicDimension(total, scope)


def _whole_quotient(monomial: Monomial, coefficient: int) -> list[tuple[Monomial, int]] | None:
    """n d y floordiv(x, d) is n y (x - mod(x, d)), for an int d."""
    for place, (factor, power) in enumerate(monomial):
        if power != 1 or factor.name != "floordiv":
            continue
        number, divisor = factor.operands
        if not isinstance(divisor, int) or coefficient % divisor:
            continue
        whole = number - number % divisor
        terms = whole.terms if isinstance(whole, SymbolicDimension) else (((), whole),)
        others = monomial[:place] + monomial[place + 1 :]
        return [(times(others, m), c * (coefficient // divisor)) for m, c in terms]
    return None


def quotient_and_rest(number: SymbolicDimension, divisor: SymbolicDimension) -> tuple[Any, Any]:
    """``divmod`` of two expressions: what can be divided exactly is, the rest waits for sizes."""
    scope = number.scope
    if not divisor.terms:
        raise ZeroDivisionError(f"'{number}' by 0")
    exact: list[tuple[Monomial, int]] = []
    rest: list[tuple[Monomial, int]] = []
    (leading, size), single = divisor.terms[0], len(divisor.terms) == 1
    for monomial, coefficient in number.terms:
        part = over(monomial, leading) if single and not coefficient % size else None
        (rest if part is None else exact).append(
            (monomial if part is None else part, coefficient if part is None else coefficient // size)
        )
    quotient, left = normal(exact, scope), normal(rest, scope)
    if not single and left == number and _multiple(number, divisor) is not None:
        return _multiple(number, divisor), 0
    if isinstance(left, int):
        if left == 0:
            return quotient, 0
        if single and not leading:  # by an int
            more, remainder = divmod(left, size)
            return quotient + more, remainder
    by = size if single and not leading else divisor
    if isinstance(by, int) and not isinstance(left, int):
        shift = dict(left.terms).get((), 0) // by  # a multiple of the divisor among the constants
        quotient, left = quotient + shift, left - shift * by
    if isinstance(by, int) and not isinstance(left, int):
        for monomial, coefficient in left.terms:
            found = _without_rest(left, monomial, -coefficient, by)
            if found is not None:  # what is divided was a multiple of a quotient
                more, remainder = divmod(found[1], by)
                return quotient + found[0] + more, remainder
        if by > 0 and left.is_below(by, False) and not left.is_below(0, True):
            return quotient, left
    floor, modulo = (operation(name, left, by, scope) for name in ("floordiv", "mod"))
    return quotient + floor, modulo


def _without_rest(number: SymbolicDimension, monomial: Monomial, times: int, by: int) -> tuple[Any, Any] | None:
    """(n (e // by), what is left) of a sum with n (e - mod(e, by)) in it, for a monomial mod(e, by); None of others."""
    if len(monomial) != 1 or monomial[0][1] != 1 or monomial[0][0].name != "mod":
        return None
    divided, divisor = monomial[0][0].operands
    if divisor != by:
        return None
    left = number + normal([(monomial, times)], number.scope) - times * divided
    if isinstance(left, SymbolicDimension) and len(left.terms) >= len(number.terms):
        return None
    return times * (divided // by), left


def _multiple(number: SymbolicDimension, divisor: SymbolicDimension) -> Any:
    """How many times an expression of several terms is in another one; None if it leaves a rest."""
    found: Any = 0
    left: Any = number
    while isinstance(left, SymbolicDimension):
        (monomial, coefficient), (leading, size) = left.terms[0], divisor.terms[0]
        part = over(monomial, leading)
        if part is None or coefficient % size:
            return None
        step = normal([(part, coefficient // size)], number.scope)
        found, left = found + step, left - step * divisor
    return found if left == 0 else None


def operation(name: str, first: Length, second: Any, scope: Scope) -> Any:
    """An operation that waits for sizes."""
    return normal([(((Factor(name, (first, second)), 1),), 1)], scope)
