"""Einstein sums: a formula is read once into a chain of contractions of pairs, each one matrix product."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core.lengths import typical
from arrax.core.types import slots, typeof
from arrax.dtypes import OptionalDType
from arrax.lax import axis_order, shapes
from arrax.lax.collectives import psum
from arrax.lax.contractions import dot_general
from arrax.lax.conversion import convert
from arrax.lax.precision import PrecisionLike, canonical_precision
from arrax.lax.reductions import reduce_or, reduce_sum
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.elementwise import multiply
from arrax.numpy_api.matrices import diagonal_of_last
from arrax.numpy_api.operands import as_operand, check_arraylike, refuse_out
from arrax.numpy_api.products import factors, hashable_precision
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.lax.precision import Precision


Product = Callable[..., Array]  # of the arguments of lax.dot_general


class Contraction(NamedTuple):
    """One step: the operands at ``positions`` are replaced by their sum, whose axes are ``result``."""

    positions: tuple[int, ...]
    terms: tuple[str, ...]
    result: str


class Formula(NamedTuple):
    """A formula in its explicit form, and its chain of steps."""

    terms: tuple[str, ...]
    output: str
    steps: tuple[Contraction, ...]


@functools.cache
def _planner() -> ModuleType:
    """``opt_einsum``, imported with the first formula: most programs have none."""
    return importlib.import_module("opt_einsum")


# ---- reading --------------------------------------------------------------------------------------------------------


def _parsed(name: str, subscripts: Any, operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """The formula as text, and the operands; the interleaved form has operands and lists of labels in turn."""
    if isinstance(subscripts, str):
        return subscripts, list(operands)
    if not hasattr(subscripts, "shape") and not isinstance(subscripts, int | float | complex):
        raise TypeError(f"{name}: subscripts must be a string, got {type(subscripts)}")
    if not operands:
        raise TypeError(f"{name}: an operand must be followed by its list of axes, got only one argument")
    items = [subscripts, *operands]
    pairs, output = (items[:-1], items[-1]) if len(items) % 2 else (items, None)
    arrays, lists = pairs[::2], pairs[1::2]
    letters = _letters(name, [*lists, *([] if output is None else [output])])
    text = ",".join("".join(letters[label] for label in labels) for labels in lists)
    return text if output is None else f"{text}->{''.join(letters[label] for label in output)}", arrays


def _letters(name: str, lists: Sequence[Iterable[Hashable]]) -> dict[Hashable, str]:
    """The letters that stand for labels of axes, in the order of the labels: a result of which no list tells is in it."""
    try:
        labels: list[Any] = sorted({label for labels in lists for label in labels} - {Ellipsis})  # type: ignore[type-var]
    except TypeError as error:
        raise TypeError(
            f"{name}: axes are named by numbers, strings or other labels that have an order: {error}"
        ) from None
    return {Ellipsis: "..."} | {label: _planner().get_symbol(number) for number, label in enumerate(labels)}


@functools.lru_cache(4096)
def _read(name: str, text: str, sizes: tuple[tuple[int, ...], ...], optimize: Any) -> Formula:
    stand_ins = [_Shape(shape) for shape in sizes]
    try:
        inputs, output, _ = _planner().parser.parse_einsum_input((text.replace(" ", ""), *stand_ins), shapes=False)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None
    terms = inputs.split(",")
    _check(name, terms, output, sizes)
    return Formula(tuple(terms), output, _steps(terms, output, sizes, optimize))


class _Shape:
    """Stands in for an operand where only the shape is looked at."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.ndim = shape, len(shape)


def _check(name: str, terms: Sequence[str], output: str, sizes: Sequence[tuple[int, ...]]) -> None:
    if len(terms) != len(sizes):
        raise ValueError(f"{name}: {len(terms)} subscripts for {len(sizes)} operands")
    lengths: dict[str, int] = {}
    for position, (term, shape) in enumerate(zip(terms, sizes, strict=True)):
        if len(term) != len(shape):
            raise ValueError(
                f"{name}: subscript {term!r} does not have the rank of operand {position}, of shape {shape}"
            )
        for letter, length in zip(term, shape, strict=True):
            known = lengths.get(letter, 1)
            if known != 1 and length not in (1, known):
                raise ValueError(
                    f"{name}: size of label {letter!r} for operand {position} ({length}) does not match previous terms ({known})."
                )
            lengths[letter] = (length if known == 1 else known) if length and known else 0
    for letter in output:
        if letter not in lengths:
            raise ValueError(f"{name}: output character {letter!r} did not appear in the input")
        if output.count(letter) > 1:
            raise ValueError(f"{name}: output character {letter!r} appeared more than once in the output.")


def _steps(
    terms: Sequence[str], output: str, sizes: Sequence[tuple[int, ...]], optimize: Any
) -> tuple[Contraction, ...]:
    path = _path(terms, output, sizes, optimize)
    left, steps = list(terms), []
    for number, positions in enumerate(path):
        chosen = tuple(sorted(positions, reverse=True))
        taken = tuple(left.pop(position) for position in chosen)
        result = output if number == len(path) - 1 else _intermediate(taken, set(output).union(*left))
        steps.append(Contraction(chosen, taken, result))
        left.append(result)
    return tuple(steps)


def _intermediate(taken: tuple[str, ...], needed: set[str]) -> str:
    """The axes of a product in the order in which it has them."""
    first, second = taken[-1], "".join(taken[-2::-1])
    shared = [letter for letter in first if letter in second]
    order = dict.fromkeys((*shared, *first, *second))
    return "".join(letter for letter in order if letter in needed)


def _path(terms: Sequence[str], output: str, sizes: Sequence[tuple[int, ...]], optimize: Any) -> list[tuple[int, ...]]:
    count = len(terms)
    if count == 1:
        return [(0,)]
    if count == 2:
        return [(0, 1)]
    path: list[tuple[int, ...]]
    if isinstance(optimize, tuple):
        path = [tuple(step) for step in optimize if not isinstance(step, str)]
    elif optimize is False:
        return [(0, 1), *((0, n) for n in range(count - 2, 0, -1))]
    else:
        strategy = "optimal" if optimize == "optimal" else "auto" if optimize is True else optimize
        text = f"{','.join(terms)}->{output}"
        known = [tuple(map(typical, shape)) for shape in sizes]
        path, _ = _planner().contract_path(text, *known, shapes=True, optimize=strategy)
    return list(path)


# ---- contracting ----------------------------------------------------------------------------------------------------


def _summed(x: ArrayLike, term: str, letters: set[str]) -> tuple[Any, str]:
    """A sum over the axes of some letters."""
    axes = [i for i, letter in enumerate(term) if letter in letters]
    if not axes:
        return x, term
    reduce = reduce_or if typeof(x).dtype == np.bool_ else reduce_sum
    return reduce(x, axes), "".join(letter for letter in term if letter not in letters)


def _with_diagonals(x: ArrayLike, term: str) -> tuple[Any, str]:
    """Letters that repeat within a term stand for a diagonal."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first, second = term.index(letter), term.rindex(letter)
            order = [i for i in range(len(term)) if i not in (first, second)]
            x = diagonal_of_last(_equal_lengths(axis_order.transpose(x, (*order, first, second))), 0)
            term = "".join(term[i] for i in order) + letter
    return x, term


def _equal_lengths(x: Array) -> Array:
    """Matrices whose axis of length 1 is repeated to the length of the other."""
    *batch, rows, columns = typeof(x).shape
    size = max(rows, columns) if rows and columns else 0
    if rows == columns:
        return x
    return shapes.broadcast_in_dim(x, (*batch, size, size), range(len(batch) + 2))


def _ordered(x: Array, term: str, result: str) -> Array:
    order = [term.index(letter) for letter in result]
    return x if order == list(range(len(term))) else axis_order.transpose(x, order)


def _single(x: Array, term: str, result: str) -> Array:
    x, term = _with_diagonals(x, term)
    x, term = _summed(x, term, set(term) - set(result))
    return _ordered(x, term, result)


def _without_ones(x: ArrayLike, term: str, other: ArrayLike, other_term: str) -> tuple[Any, str]:
    """Axes of length 1 that the other operand has longer are dropped: they broadcast."""
    lengths = dict(zip(other_term, typeof(other).shape, strict=True))
    axes = [
        i for i, (letter, length) in enumerate(zip(term, typeof(x).shape, strict=True))
        if length == 1 and lengths.get(letter, 1) != 1
    ]  # fmt: skip
    if not axes:
        return x, term
    return shapes.squeeze(x, axes), "".join(letter for i, letter in enumerate(term) if i not in axes)


def _pair(
    x: ArrayLike,
    y: Array,
    terms: tuple[str, str],
    result: str,
    precision: PrecisionLike,
    dtype: np.dtype,
    product: Product | None,
) -> Array:
    (x, a), (y, b) = _with_diagonals(x, terms[0]), _with_diagonals(y, terms[1])
    x, a = _without_ones(x, a, y, b)
    y, b = _without_ones(y, b, x, a)
    kept = set(result)
    x, a = _summed(x, a, set(a) - set(b) - kept)
    y, b = _summed(y, b, set(b) - set(a) - kept)
    shared = [letter for letter in a if letter in b]
    contracted = [letter for letter in shared if letter not in kept]
    batch = [letter for letter in shared if letter in kept]
    outer = set(a) - set(b) and set(b) - set(a)  # whose derivatives are contractions
    if not contracted and product is None and not outer:
        return _elementwise(x, y, a, b, result, dtype)
    names = batch + [n for n in a if n not in shared] + [n for n in b if n not in shared]
    swapped = batch + [n for n in b if n not in shared] + [n for n in a if n not in shared]
    if "".join(swapped) == result and "".join(names) != result:
        x, y, a, b, names = y, x, b, a, swapped
    numbers = (
        (tuple(a.index(n) for n in contracted), tuple(b.index(n) for n in contracted)),
        (tuple(a.index(n) for n in batch), tuple(b.index(n) for n in batch)),
    )
    found = (product or dot_general)(x, y, numbers, precision, preferred_element_type=dtype)
    return _ordered(convert(found, dtype), "".join(names), result)


def _elementwise(x: ArrayLike, y: Array, a: str, b: str, result: str, dtype: np.dtype) -> Array:
    """A product without a sum: multiply, axis by axis."""

    def aligned(value: ArrayLike, term: str) -> Array:
        value = _ordered(convert(value, dtype), term, "".join(n for n in result if n in term))
        return shapes.expand_dims(value, [i for i, n in enumerate(result) if n not in term])

    return multiply(aligned(x, a), aligned(y, b))


def _contracted(
    arrays: Sequence[Any],
    formula: Formula,
    precision: PrecisionLike,
    dtype: np.dtype,
    weak: bool,
    product: Product | None = None,
) -> Array:
    parts = list(arrays)
    for step in formula.steps:
        taken = [parts.pop(position) for position in step.positions]
        if len(taken) == 1:
            value = _single(taken[0], step.terms[0], step.result)
        else:
            value = _many(taken, step, precision, dtype, product)
        parts.append(value)
    return convert(parts[0], dtype, weak)


@api(static=("formula", "precision", "dtype", "weak"))
def _einsum(arrays: Sequence[Any], formula: Formula, precision: PrecisionLike, dtype: np.dtype, weak: bool) -> Array:
    return _contracted(arrays, formula, precision, dtype, weak)


def _many(
    taken: list[Any], step: Contraction, precision: PrecisionLike, dtype: np.dtype, product: Product | None
) -> Array:
    """The operands of one step, two at a time."""
    value, term = taken[0], step.terms[0]
    for index in range(1, len(taken)):
        last = index == len(taken) - 1
        later = set("".join(step.terms[index + 1 :])) | set(step.result)
        both = dict.fromkeys(term + step.terms[index])
        result = step.result if last else "".join(n for n in both if n in later)
        pair = (
            (value, taken[index], (term, step.terms[index])) if index > 1 else (taken[1], value, (step.terms[1], term))
        )
        value, term = _pair(*pair, result, precision, dtype, product), result
    return value


def _static_optimize(optimize: Any) -> Any:
    if isinstance(optimize, list | tuple):
        if all(isinstance(step, str | list | tuple) for step in optimize):
            return tuple(tuple(step) if not isinstance(step, str) else step for step in optimize)
    elif optimize is None or isinstance(optimize, bool | str | np.bool_) or callable(optimize):
        return bool(optimize) if isinstance(optimize, np.bool_) else optimize
    raise TypeError(f"einsum: argument optimize must be a bool, the name of a strategy or a path, got {optimize!r}")


def einsum(
    subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = "auto", precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None, _dot_general: Product | None = None, out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """The sum of products that a formula describes: a letter per axis, repeated letters are multiplied and summed.

    Args:
      subscripts: ``"ij,jk->ik"``; without an arrow, letters that occur once remain, in alphabetical order. ``...`` stands for
        axes that broadcast. Or operands and lists of labels in turn: numbers, strings or others that have an order.
      operands: one array per term.
      optimize: the order of the products: a strategy of opt_einsum (``"auto"``, ``"optimal"``, ``"greedy"``), False for
        left to right, or a path.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
      _dot_general: what multiplies two operands in the place of ``lax.dot_general``, with its arguments: products of libraries.
      out: must be None: arrays cannot be written to.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array with the axes after the arrow.
    Raises:
      ValueError: a formula that doesn't fit the operands.
      TypeError: operands that are not arrays.
    Example: ``jnp.einsum("ij,j->i", jnp.eye(2), jnp.ones(2))`` is ``[1., 1.]``. Source: ``numpy.einsum``.
    """
    refuse_out("einsum", out)
    if isinstance(subscripts, str) and "{" in subscripts:
        plain, names = _without_names(subscripts)
        found = einsum(
            plain,
            *operands,
            precision=precision,
            preferred_element_type=preferred_element_type,
            _dot_general=_dot_general,
        )
        return psum(found, names) if names else found
    text, arrays = _parsed("einsum", subscripts, operands)
    check_arraylike("einsum", *arrays)
    if out_sharding is not None:
        again = functools.partial(
            einsum, text, optimize=optimize, precision=precision, preferred_element_type=preferred_element_type,
            _dot_general=_dot_general,
        )  # fmt: skip
        return slots.as_asked(out_sharding, again, *arrays)
    arrays = [as_operand(array) for array in arrays]
    formula = _read("einsum", text, tuple(typeof(array).shape for array in arrays), _static_optimize(optimize))
    promoted = factors(arrays, preferred_element_type)
    dtype, weak = typeof(promoted[0]).dtype, all(typeof(array).weak_type for array in arrays)
    if preferred_element_type is not None:
        dtype, weak = dtypes.check_user_dtype("einsum", preferred_element_type), False
    if _dot_general is not None and getattr(_dot_general, "__wrapped__", None) is not dot_general:  # what flax passes
        arrays = [asarray(array) for array in arrays]  # of dtypes of their own: the product sees what is multiplied
        return _contracted(arrays, formula, precision, dtype, weak, _dot_general)
    return _einsum(promoted, formula, _static_precision(precision), dtype, weak)


def einsum_of_steps(
    operands: Sequence[Any], steps: Sequence[Any], precision: PrecisionLike, preferred_element_type: OptionalDType,
    _dot_general: Product | None = None, out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """What ``opt_einsum.contract_path(…, einsum_call=True)`` describes: libraries that plan formulas themselves call this.

    Args:
      steps: (positions of operands, letters that are summed, formula) of each step; its result becomes the last operand.
      others: as of ``einsum``.
    """
    parts = list(operands)
    for number, (positions, _, formula, *_) in enumerate(steps):
        taken = [parts.pop(position) for position in positions]
        sharding = out_sharding if number == len(steps) - 1 else None
        parts.append(
            einsum(
                formula, *taken, precision=precision, preferred_element_type=preferred_element_type, _dot_general=_dot_general,
                out_sharding=sharding,
            )
        )  # fmt: skip
    return parts[0]


def _without_names(subscripts: str) -> tuple[str, tuple[str, ...]]:
    """The formula without the names of axes in braces, and those names that are summed over."""
    inputs, arrow, output = subscripts.partition("->")
    if not arrow:
        raise ValueError(f"einsum: a formula with named axes needs an arrow, got {subscripts!r}")

    def names_in(text: str) -> list[str]:
        return [name.strip() for group in re.findall(r"{([^}]*)}", text) for name in group.split(",") if name.strip()]

    kept = names_in(output)
    summed = tuple(dict.fromkeys(name for name in names_in(inputs) if name not in kept))
    return re.sub(r"{[^}]*}", "", subscripts), summed


def _static_precision(precision: PrecisionLike) -> tuple[Precision, Precision] | None:
    return canonical_precision(hashable_precision(precision))


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[list[tuple[int, ...]], Any]:
    """The order in which ``einsum`` would contract its operands.

    Args: as of ``einsum``.
    Returns: (list of the positions that meet in each step, a description with the costs).
    Example: ``jnp.einsum_path("ij,jk", jnp.eye(2), jnp.eye(2))[0]`` is ``[(0, 1)]``. Source: ``numpy.einsum_path``.
    """
    text, arrays = _parsed("einsum_path", subscripts, operands)
    check_arraylike("einsum_path", *arrays)
    sizes = [typeof(array).shape for array in arrays]
    strategy = (
        {True: "greedy", False: [tuple(range(len(sizes)))]}.get(optimize, optimize)
        if isinstance(optimize, bool)
        else optimize
    )
    return _planner().contract_path(text.replace(" ", ""), *sizes, shapes=True, optimize=strategy)
