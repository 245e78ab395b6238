"""Shapes with symbols, written as text: ``symbolic_shape("a, 2*b, ...")``; scopes, and what is assumed of their symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from arrax.core.dimensions import Dimension, max_dim, min_dim
from arrax.core.errors import frame_text, user_frames
from arrax.core.symbolic_dimensions import Monomial, SymbolicDimension, symbol
from arrax.core.tracebacks import bound_methods
from arrax.native import runtime

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(\.\.\.|>=|<=|==|[-+*^(),]))")
_OPERATIONS = {
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "max": max_dim,
    "min": min_dim,
}


Constraints = Sequence[str]  # such as "a >= 4"
KnownLengths = Sequence[int | None]  # None for those that are not known


@bound_methods
class SymbolicScope:
    """What is assumed of symbols; expressions of one scope mix, those of different ones do not.

    Args:
      constraints_str: texts such as ``"a >= 4"``, ``"b <= a"`` and ``"mod(a, 8) == 0"``: the last kind has one product on the left.
    Raises:
      ValueError: no constraint, or one that never holds.
    Example: ``scope = arrax.export.SymbolicScope(['a >= 4']); (a,) = arrax.export.symbolic_shape('a', scope=scope); a >= 3`` is
    True.
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise ValueError(f"SymbolicScope: constraints must be a sequence of texts, got {constraints_str!r}")
        frames = user_frames(runtime.Traceback.get_traceback(), 1)
        self._place = f"{id(self)} created at {frame_text(frames[0])}" if frames else str(id(self))
        self._checks: list[tuple[str, Dimension, str, Dimension]] = []
        self._known: list[dict[Monomial, Fraction]] = []
        self._rules: dict[Monomial, tuple[int, list[tuple[Monomial, int]]]] = {}
        for text in constraints_str:
            self._add(text)

    def __copy__(self) -> SymbolicScope:
        return self

    def __deepcopy__(self, _: object) -> SymbolicScope:
        return self

    def _add(self, text: str) -> None:
        found = re.search(r">=|<=|==", text) if isinstance(text, str) else None
        if found is None:
            raise ValueError(f"Constraint parsing error: must contain one of '==' or '>=' or '<=', got {text!r}")
        sides = [text[: found.start()], text[found.end() :]]
        left, right = (_Parser(side, self).whole() for side in sides)
        kind = found[0]
        if kind == "==":
            self._add_equality(text, left, right)
        difference = right - left if kind == "<=" else left - right
        if isinstance(difference, int):
            if difference < 0 or (kind == "==" and difference):
                raise ValueError(f"Unsatisfiable explicit constraint: {text.strip()}")
        else:
            known = {monomial: Fraction(coefficient) for monomial, coefficient in difference.terms}
            self._known += [known] if kind != "==" else [known, {m: -c for m, c in known.items()}]
        self._checks.append((text.strip(), left, kind, right))

    def _add_equality(self, text: str, left: Any, right: Any) -> None:
        """From now on the product on the left is what stands on the right."""
        if not isinstance(left, SymbolicDimension) or len(left.terms) != 1:
            raise ValueError(
                f"Invalid equality constraint: {text.strip()}. The left-hand side must be a product of symbols and operations, and a "
                "number."
            )
        ((monomial, coefficient),) = left.terms
        terms: list[tuple[Monomial, int]] = list(right.terms) if isinstance(right, SymbolicDimension) else [((), right)]
        self._rules[monomial] = coefficient, terms

    def replaced(self, monomial: Monomial, coefficient: int) -> list[tuple[Monomial, int]] | None:
        """What stands for a term by an equality, or None."""
        rule = self._rules.get(monomial)
        if rule is None or coefficient % rule[0]:
            return None
        return [(m, c * (coefficient // rule[0])) for m, c in rule[1]]

    def known(self) -> Iterator[dict[Monomial, Fraction]]:
        """Sums that are at least 0."""
        return iter(self._known)

    @property
    def constraints(self) -> tuple[str, ...]:
        """The constraints, as text."""
        return tuple(text for text, *_ in self._checks)

    def violated(self, sizes: Mapping[str, int]) -> str | None:
        """A constraint that does not hold for some sizes of the symbols, if there is one."""
        for text, left, kind, right in self._checks:
            one, other = (side if isinstance(side, int) else side.evaluate(sizes) for side in (left, right))
            if not {">=": one >= other, "<=": one <= other, "==": one == other}[kind]:
                return text
        return None

    def described(self) -> str:
        """The constraints, for messages."""
        return f"\nUsing symbolic scope {self}" if self._checks else ""

    def __str__(self) -> str:
        listed = "".join(f"\n  {text}" for text in self.constraints)
        return f"{self._place}{f' with constraints:{listed}' if listed else ''}"

    __repr__ = __str__


class _Parser:
    """Reads one text from left to right."""

    def __init__(self, text: str, scope: SymbolicScope, like: Sequence[Any] | None = None) -> None:
        self.text, self.scope, self.like = text, scope, like
        self.place, self.number = 0, 0

    def error(self, reason: str) -> ValueError:
        return ValueError(
            f"syntax error in symbolic shape {self.text!r} in dimension {self.number}: {reason}. Parsed "
            f"{self.text[: self.place]!r}, remaining {self.text[self.place :]!r}."
        )

    def peek(self) -> str:
        found = _TOKEN.match(self.text, self.place)
        if found is None and self.text[self.place :].strip():
            raise self.error(f"unexpected {self.text[self.place :].strip()[0]!r}")
        return found[0].strip() if found else ""

    def take(self, *wanted: str) -> str:
        token = self.peek()
        if wanted and token not in wanted:
            raise self.error(f"expected {' or '.join(map(repr, wanted))}, found {token or 'the end'!r}")
        found = _TOKEN.match(self.text, self.place)
        self.place = found.end() if found else len(self.text)
        return token

    def whole(self) -> Dimension:
        """An expression that is all of the text."""
        value = self.expression()
        if self.peek():
            raise self.error(f"expected the end, found {self.peek()!r}")
        return value

    def shape(self) -> tuple[Dimension, ...]:
        """Expressions with commas between them, in parentheses or not."""
        bare = self.text.strip()
        if bare.startswith("(") and bare.endswith(")") and _is_one_group(bare):
            inner = _Parser(bare[1:-1], self.scope, self.like)
            return inner.shape() if "," in bare or not bare[1:-1].strip() else (inner.whole(),)
        dimensions: list[Dimension] = []
        while self.peek():
            self.number = len(dimensions)
            if self.peek() == "...":
                dimensions += self.from_like()
                if self.peek():
                    raise self.error(f"expected the end after '...', found {self.peek()!r}")
                break
            dimensions.append(self.dimension())
            if self.peek():
                self.take(",")
        return tuple(dimensions)

    def from_like(self) -> list[Dimension]:
        if self.like is None:
            raise self.error("spec contains ... but no 'like' shape was given")
        self.take("...")
        rest = list(self.like[self.number :])
        if any(length is None for length in rest):
            raise self.error(f"'...' stands for unknown dimensions; like={tuple(self.like)}")
        return rest

    def dimension(self) -> Dimension:
        like = self.like
        known = like[self.number] if like is not None and self.number < len(like) else None
        if self.peek() == "_":
            if like is None:
                raise self.error("spec contains _ but no 'like' shape was given")
            if known is None:
                raise self.error(f"unexpected placeholder for unknown dimension; like={tuple(like)}")
            self.take("_")
            return known
        value = self.expression()
        if isinstance(value, int) and isinstance(known, int) and value != known:
            raise self.error(f"different size {value} for known dimension; like={tuple(like or ())}")
        return value

    def expression(self) -> Dimension:
        total: Any = self.product() if self.peek() != "-" else 0
        while self.peek() in ("+", "-"):
            sign = self.take()
            total = total + self.product() if sign == "+" else total - self.product()
        return total

    def product(self) -> Dimension:
        value = self.power()
        while self.peek() == "*":
            self.take()
            value = value * self.power()
        return value

    def power(self) -> Dimension:
        value = self.atom()
        if self.peek() == "^":
            self.take()
            if not self.peek().isdigit():
                raise self.error(f"expected a number, found {self.peek() or 'the end'!r}")
            value = value ** int(self.take())
        return value

    def atom(self) -> Dimension:
        token = self.peek()
        if token.isdigit():
            return int(self.take())
        if token == "(":
            self.take()
            value = self.expression()
            self.take(")")
            return value
        if not re.fullmatch(r"[A-Za-z]\w*", token):
            raise self.error(f"expected a number or a name, found {token or 'the end'!r}")
        if token not in _OPERATIONS:
            return symbol(self.take(), self.scope)
        name = self.take()
        self.take("(")
        first = self.expression()
        self.take(",")
        second = self.expression()
        self.take(")")
        return _OPERATIONS[name](first, second)


def _is_one_group(text: str) -> bool:
    """Whether the first parenthesis is closed by the last one."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


def scope_for(constraints: Sequence[str], scope: SymbolicScope | None) -> SymbolicScope:
    """A given scope, or a new one.

    Raises:
      TypeError: a scope that is none.
      ValueError: both a scope and constraints.
    """
    if scope is not None and not isinstance(scope, SymbolicScope):
        raise TypeError(f"scope must be a SymbolicScope or None, got {scope!r} of type {type(scope)}")
    if scope is not None and constraints:
        raise ValueError("Cannot specify both a `scope` and `constraints`.")
    return SymbolicScope(constraints) if scope is None else scope


def symbolic_shape(
    shape_spec: str | None, *, constraints: Constraints = (), scope: SymbolicScope | None = None,
    like: KnownLengths | None = None,
) -> tuple[Dimension, ...]:  # fmt: skip
    """A shape from text, in which names are symbols for any positive lengths.

    Args:
      shape_spec: lengths with commas between them: sums and products of numbers and names, with powers (``a^2``) and
        ``floordiv``, ``mod``, ``max`` and ``min``. ``_`` stands for a length of ``like``, ``...`` for all that are left, None for all.
      constraints: what is assumed of the symbols, such as ``"a >= 4"``: as of ``SymbolicScope``.
      scope: where the symbols belong; by default a new one.
      like: a shape with None for unknown lengths.
    Returns: tuple of ints and symbolic dimensions.
    Raises:
      ValueError: text that cannot be read, or that does not fit ``like``.
    Example: ``arrax.export.symbolic_shape('a, 2*b, 3')[2]`` is 3.
    """
    text = "..." if shape_spec is None else shape_spec
    if not isinstance(text, str):
        raise ValueError(f"symbolic_shape: the shape must be a text or None, got {shape_spec!r}")
    return _Parser(text, scope_for(constraints, scope), like).shape()
