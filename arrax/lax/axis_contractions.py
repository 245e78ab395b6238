"""Contractions over positional and named axes together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from arrax.core.types import typeof
from arrax.lax.axis_order import transpose
from arrax.lax.collective_rules import AxisName, names_of
from arrax.lax.collectives import psum
from arrax.lax.contractions import dot_general
from arrax.lax.operand_checks import checked_operand
from arrax.lax.precision import PrecisionLike
from arrax.lax.reductions import reduce_sum
from arrax.xla.arrays import Array, ArrayLike


def pdot(
    x: ArrayLike,
    y: ArrayLike,
    axis_name: AxisName,
    pos_contract: tuple[tuple[int, ...], ...] = ((), ()),
    pos_batch: tuple[tuple[Any, ...], ...] = ((), ()),
    precision: PrecisionLike = None,
) -> Array:
    """The product of two arrays, contracted over a named axis, and over positional ones if wanted.

    Args:
      x, y: arrays.
      axis_name: the named axis, or a tuple of them.
      pos_contract: positional axes to contract, of ``x`` and of ``y``.
      pos_batch: positional axes that run along, of ``x`` and of ``y``.
      precision: a Precision or its name, a pair of them, or an algorithm.
    Returns: array as of ``dot_general``, the same for all members of the axis.
    Raises:
      NameError: no such axis is in scope.
    Example: ``vmap(lambda x, y: lax.pdot(x, y, "i"), axis_name="i")(x, y)`` holds the inner product of two vectors.
    """
    return psum(dot_general(x, y, (pos_contract, pos_batch), precision), axis_name)


def xeinsum(spec: str, *operands: ArrayLike) -> Array:
    """Einstein's summation over positional axes, one letter each, and named axes, in braces.

    Args:
      spec: such as ``"ij{batch},jk->ik"``: letters and names that the result lacks are summed.
      operands: one array per term.
    Returns: array with an axis for each letter of the result.
    Raises:
      ValueError: a specification that does not fit the operands.
    Example: ``vmap(lambda x, y: lax.xeinsum("a{i},a{i}->a", x, y), axis_name="i")``.
    """
    if not isinstance(spec, str):
        raise TypeError(f"xeinsum: spec must be a string, got {type(spec).__name__}")
    if spec.count("->") != 1:
        raise ValueError(f'xeinsum requires a specification of the form "terms->result", got {spec!r}')
    left, right = spec.replace(" ", "").split("->")
    terms, (result,) = _terms(left), _terms(right)
    values = [checked_operand("xeinsum", x) for x in operands]
    if len(terms) != len(values) or any(
        len(letters) != typeof(x).ndim for (letters, _), x in zip(terms, values, strict=False)
    ):
        raise ValueError(f"xeinsum: {spec!r} does not fit operands of shapes {[typeof(x).shape for x in values]}")
    if any(len(set(letters)) < len(letters) for letters, _ in [*terms, result]):
        raise NotImplementedError(f"xeinsum: a letter occurs twice in one term of {spec!r}")
    missing = set(result[0]) - {letter for letters, _ in terms for letter in letters}
    if missing:
        raise ValueError(f"xeinsum: no operand has the axes {sorted(missing)} of the result of {spec!r}")
    out = _contracted([letters for letters, _ in terms], values, result[0])
    summed = [name for _, names in terms for name in names if name not in result[1]]
    return psum(out, tuple(dict.fromkeys(summed))) if summed else out


def _terms(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """(letters, names) of each term."""
    found = []
    for term in re.split(r",(?![^{]*\})", text):
        match = re.fullmatch(r"([A-Za-z]*)(?:\{([^{}]*)\})?", term)
        if match is None:
            raise ValueError(f"xeinsum cannot read the term {term!r}")
        found.append((match[1], names_of(tuple(filter(None, (match[2] or "").split(","))))))
    return found


def _contracted(terms: Sequence[str], values: Sequence[Any], result: str) -> Array:
    """The operands from left to right, letters summed as soon as nobody needs them."""
    letters, out = terms[0], values[0]
    for number in range(1, len(terms)):
        later = set(result).union(*terms[number + 1 :])
        letters, out = _pair(letters, out, terms[number], values[number], later)
    letters, out = _without(letters, out, set(result))
    return transpose(out, [letters.index(letter) for letter in result])


def _without(letters: str, x: Array, needed: set[str]) -> tuple[str, Any]:
    axes = tuple(at for at, letter in enumerate(letters) if letter not in needed)
    return "".join(c for c in letters if c in needed), reduce_sum(x, axes) if axes else x


def _pair(a: str, x: Array, b: str, y: Array, later: set[str]) -> tuple[str, Any]:
    a, x = _without(a, x, later | set(b))
    b, y = _without(b, y, later | set(a))
    shared = [c for c in a if c in b]
    batch = [c for c in shared if c in later]
    contract = [c for c in shared if c not in later]
    numbers = tuple((tuple(a.index(c) for c in group), tuple(b.index(c) for c in group)) for group in (contract, batch))
    free = [c for c in a if c not in shared] + [c for c in b if c not in shared]
    return "".join([*batch, *free]), dot_general(x, y, numbers)
