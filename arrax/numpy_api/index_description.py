"""What an index means for a shape: a frozen description (the static part), starts, and operands (the dynamic part).

An index is first split into tokens (hashable) and operands (integer arrays); tokens and shape then give a description,
which is remembered. It says: take a window of the array (``starts``, ``sizes``, ``steps``), drop axes that an integer
selects, take entries along ``array_axes`` at places that are data, put their common axes at ``front``, insert new axes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple, NoReturn

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.errors import InconclusiveDimensionOperation, NonConcreteBooleanIndexError, TracerIntegerConversionError
from arrax.core.interpreter import Tracer, concrete_value, context, set_current_trace
from arrax.core.lengths import is_symbolic
from arrax.core.pytrees import tree_leaves
from arrax.core.types import refuse_masked, typeof
from arrax.dtypes.wording import shown
from arrax.native import runtime
from arrax.numpy_api.creation import asarray
from arrax.xla.arrays import ArrayLike
from arrax.xla.placement import host_value

ArrayImpl = runtime.ArrayImpl
_PLAIN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean arrays are valid indices"
)
_PAGE = "https://github.com/jax-ml/jax/issues/4564"

# Tokens: an int; None; Ellipsis; ("slice", start, stop, step); ("array", ndim); ("mask", shape).
Token = Any


class IndexDescription(NamedTuple):
    """The static part of an index. Axes are those of the operand after ``inserted`` axes of length 1 were put in.

    Attributes:
      inserted: axes to insert first: one for each scalar boolean index.
      sizes: how many entries of each axis the window has.
      steps: the distance between them, negative for descending order.
      squeezed: axes that integers select.
      scalar_axes: those among them whose integer is an operand.
      array_axes: axes along which operands select entries; empty where there are ``scalar_axes``, one operand for each.
      front: where the common axes of the operands are among the axes of the result, new ones not counted.
      newaxes: where the result has new axes of length 1.
      misses: whether an integer is out of bounds (``starts`` are clamped).
    """

    inserted: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    squeezed: tuple[int, ...]
    scalar_axes: tuple[int, ...]
    array_axes: tuple[int, ...]
    front: int
    newaxes: tuple[int, ...]
    misses: bool


class Index(NamedTuple):
    """An index for an array of a certain shape."""

    description: IndexDescription
    starts: tuple[int, ...]
    operands: tuple[Any, ...]


# ---- from an index to tokens ----------------------------------------------------------------------------------------


def describe(index: Any, shape: tuple[int, ...], wrap: bool = True) -> Index:
    """What ``array[index]`` means for an array of the given shape.

    Args:
      index: whatever stands between the brackets.
      wrap: whether negative integers count from the end.
    Raises:
      IndexError: too many indices, several ellipses, masks that don't fit, entries that are no indices.
      TypeError: floats, strings, sequences that are not tuples.
      NonConcreteBooleanIndexError: a mask whose values are not known.
    """
    entries = index if type(index) is tuple else _single(index)
    found = _described(entries, shape, wrap, False)
    if found.description.misses and not context.interpreter.is_evaluation:
        return _described(entries, shape, wrap, True)  # checks of the program look at its operands
    return found


def _described(entries: Sequence[Any], shape: tuple[int, ...], wrap: bool, integers_as_data: bool) -> Index:
    tokens: list[Token] = []
    operands: list[Any] = []
    for position, entry in enumerate(entries):
        token = _token(entry, position, operands)
        if integers_as_data and type(token) is int:
            operands.append(np.asarray(min(max(token, -(2**31)), 2**31 - 1), np.int32))
            token = ("array", 0)
        tokens.append(token)
    description, starts = _plan(tuple(tokens), shape, wrap)
    return Index(description, starts, tuple(operands))


def _single(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return tuple(index)
    if isinstance(index, Sequence) and not isinstance(index, str | bytes):
        _refuse_sequence(index)
    return (index,)


def _refuse_sequence(index: Sequence[Any]) -> NoReturn:
    kinds = (slice, type(None), type(Ellipsis), list, tuple)
    form = "tuple" if any(isinstance(entry, kinds) for entry in index) else "array"
    raise TypeError(
        f"Using a non-tuple sequence for multidimensional indexing is not allowed; use `arr[{form}(seq)]` instead of "
        f"`arr[seq]`. See {_PAGE} for more information."
    )


def _token(entry: Any, position: int, operands: list[Any]) -> Token:
    """The token of one entry; its dynamic part goes to ``operands``."""
    kind = type(entry)
    if kind is int or entry is None or entry is Ellipsis:
        return entry
    if kind is slice:
        return _slice_token(entry, position)
    if kind is bool or kind is np.bool_:
        operands.append(np.zeros(int(entry), np.int32))
        return ("mask", (), int(entry))
    if isinstance(entry, list | tuple):
        entry = _from_sequence(entry)
    elif hasattr(entry, "__jax_array__") and not isinstance(entry, Tracer) and kind is not ArrayImpl:
        entry = entry.__jax_array__()
    if isinstance(entry, np.ndarray | np.generic) or type(entry) is ArrayImpl or isinstance(entry, Tracer):
        return _array_token(entry, operands)
    if isinstance(entry, str | bytes):
        raise TypeError(f"string indexing is not supported; got {entry!r}")
    if isinstance(entry, float | complex):
        raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {kind.__name__}")
    if hasattr(entry, "__index__"):
        return as_index(entry)
    raise IndexError(f"{_PLAIN_INDEX}. Got {shown(entry)}")


def _from_sequence(entry: Sequence[int]) -> Any:
    """A nested list inside of a tuple stands for an array, whose elements are known if those of the list are."""
    if not len(entry):
        return np.zeros(0, np.int32)
    known = not any(isinstance(leaf, Tracer | ArrayImpl) for leaf in tree_leaves(entry))
    with set_current_trace(None) if known else nullcontext():
        return asarray(entry)


def _slice_token(entry: slice, position: int) -> Token:
    try:
        bounds = [None if bound is None else as_index(bound) for bound in (entry.start, entry.stop, entry.step)]
    except TracerIntegerConversionError:
        raise IndexError(
            f"Slice entries must be static integers. Got {entry} at position {position}. A piece of static length that begins "
            "at a place that is data is lax.dynamic_slice_in_dim(array, start, length), its update "
            "lax.dynamic_update_slice_in_dim."
        ) from None
    return ("slice", *bounds)


def _array_token(entry: ArrayLike, operands: list[Any]) -> Token:
    refuse_masked(entry)
    aval = typeof(entry) if not isinstance(entry, np.ndarray | np.generic) else entry
    dtype = aval.dtype
    if dtype == np.bool_:
        return _mask_token(entry, operands)
    if not isinstance(dtype, np.dtype) or not dtypes.is_integer(dtype):
        name = getattr(dtype, "name", dtype)
        raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {name}")
    if isinstance(entry, np.ndarray | np.generic) and entry.ndim == 0:
        return int(entry)
    operands.append(entry)
    return ("array", aval.ndim)


def _mask_token(mask: ArrayLike, operands: list[Any]) -> Token:
    known = concrete_value(mask)
    if known is None:
        raise NonConcreteBooleanIndexError(mask)
    values = host_value(known) if type(known) is ArrayImpl else np.asarray(known)
    if values.ndim == 0:
        operands.append(np.zeros(int(values), np.int32))
        return ("mask", (), int(values))
    operands.extend(indices.astype(np.int32) for indices in values.nonzero())
    return ("mask", values.shape)


# ---- from tokens and a shape to a description -----------------------------------------------------------------------


class _Plan:
    """A description in the making: one call per token."""

    def __init__(self, shape: tuple[int, ...], wrap: bool, advanced: bool) -> None:
        self.shape, self.wrap, self.advanced = shape, wrap, advanced
        self.source = 0  # the next axis of the array itself
        self.inserted: list[int] = []
        self.sizes: list[int] = []
        self.steps: list[int] = []
        self.starts: list[int] = []
        self.squeezed: list[int] = []
        self.scalar_axes: list[int] = []
        self.array_axes: list[int] = []
        self.layout: list[str] = []  # "kept", "new", "operand" or "gap"
        self.rank = 0  # of the operands' common shape
        self.misses = False

    def axis(self, size: int, start: int = 0, step: int = 1) -> int:
        """Go on to the next axis, of which the window has ``size`` entries."""
        self.sizes.append(size)
        self.starts.append(start)
        self.steps.append(step)
        return len(self.sizes) - 1

    def integer(self, value: int) -> None:
        length = self.shape[self.source]
        if length == 0:
            raise IndexError(f"index is out of bounds for axis {self.source} with size 0")
        index = value + length if value < 0 and self.wrap else value
        try:
            inside = 0 <= index < length
        except InconclusiveDimensionOperation:  # an index like any that is not known yet
            index, inside = 0, False
        self.misses |= not inside
        self.squeezed.append(self.axis(1, index if inside else min(max(index, 0), length - 1)))
        self.source += 1
        self.layout.append("operand")

    def scalar(self) -> None:
        if self.advanced:
            return self.array(0)
        length = self.shape[self.source]
        if length == 0:
            raise IndexError(f"index is out of bounds for axis {self.source} with size 0")
        axis = self.axis(1)
        self.squeezed.append(axis)
        self.scalar_axes.append(axis)
        self.source += 1
        self.layout.append("operand")
        return None

    def array(self, ndim: int) -> None:
        self.array_axes.append(self.axis(self.shape[self.source]))
        self.source += 1
        self.rank = max(self.rank, ndim)
        self.layout.append("operand")

    def mask(self, shape: tuple[int, ...], position: int) -> None:
        if not shape:
            axis = self.axis(1)
            self.inserted.append(axis)
            self.array_axes.append(axis)
            self.rank = max(self.rank, 1)
            self.layout.append("operand")
            return
        expected = self.shape[self.source : self.source + len(shape)]
        if shape != expected:
            raise IndexError(
                f"boolean index at position {position} has shape {shape}, but the axes it stands for have shape {expected}"
            )
        for _ in shape:
            self.array(1)

    def piece(self, start: int | None, stop: int | None, step: int | None) -> None:
        length: Any = self.shape[self.source]
        unknown = next(filter(is_symbolic, (length, start, stop)), None)
        if unknown is not None:
            self.axis(*unknown.of_scope(length).piece(start, stop, step))
            self.source += 1
            self.layout.append("kept")
            return
        first, last, stride = slice(start, stop, step).indices(length)
        indices = range(first, last, stride)
        count = len(indices)
        lowest = 0 if count == 0 else min(indices[0], indices[-1])
        self.axis(count, lowest, stride if count > 1 else 1)
        self.source += 1
        self.layout.append("kept")

    def rest(self, until: int) -> None:
        """Whole axes, up to the given one."""
        while self.source < until:
            self.piece(None, None, None)

    def finish(self) -> tuple[IndexDescription, tuple[int, ...]]:
        indices = [i for i, item in enumerate(self.layout) if item == "operand"]
        if not self.advanced:
            indices = []
        together = not indices or indices[-1] - indices[0] + 1 == len(indices)
        before = self.layout[: indices[0]] if indices and together else []
        final: list[str] = []
        common = ["common"] * self.rank
        if indices and not together:
            final += common
        for i, item in enumerate(self.layout):
            if item in ("kept", "new"):
                final.append(item)
            elif indices and together and i == indices[0]:
                final += common
        description = IndexDescription(
            tuple(self.inserted), tuple(self.sizes), tuple(self.steps), tuple(self.squeezed), tuple(self.scalar_axes),
            tuple(self.array_axes), before.count("kept"),
            tuple(i for i, item in enumerate(final) if item == "new"), self.misses,
        )  # fmt: skip
        return description, tuple(self.starts)


def _consumed(token: Token) -> int:
    if token is None or token is Ellipsis:
        return 0
    return len(token[1]) if type(token) is tuple and token[0] == "mask" else 1


def _is_advanced(token: Token) -> bool:
    return type(token) is tuple and (token[0] == "mask" or (token[0] == "array" and token[1] > 0))


@functools.lru_cache(1 << 13)
def _plan(tokens: tuple[Token, ...], shape: tuple[int, ...], wrap: bool) -> tuple[IndexDescription, tuple[int, ...]]:
    """The description and starts for some tokens."""
    if sum(token is Ellipsis for token in tokens) > 1:
        raise IndexError(f"an index may hold one ellipsis (...), got {sum(token is Ellipsis for token in tokens)}")
    used = sum(map(_consumed, tokens))
    if used > len(shape):
        raise IndexError(f"Too many indices for an array of shape {shape}: {used} axes were indexed")
    plan = _Plan(shape, wrap, any(map(_is_advanced, tokens)))
    for position, token in enumerate(tokens):
        if token is None:
            plan.layout.append("new")
        elif token is Ellipsis:
            plan.layout.append("gap")  # separates operands even where it stands for no axis
            plan.rest(plan.source + len(shape) - used)
        elif type(token) is int:
            plan.integer(token)
        elif token[0] == "slice":
            plan.piece(*token[1:])
        elif token[0] == "mask":
            plan.mask(token[1], position)
        elif token[1] == 0:
            plan.scalar()
        else:
            plan.array(token[1])
    plan.rest(len(shape))
    return plan.finish()


def result_shape(description: IndexDescription, common: Sequence[int]) -> tuple[int, ...]:
    """The shape of the indexed array.

    Args:
      common: the operands' common shape.
    """
    absent = (*description.squeezed, *description.array_axes)
    kept = [size for axis, size in enumerate(description.sizes) if axis not in absent]
    shape = [*kept[: description.front], *common, *kept[description.front :]]
    for index in description.newaxes:
        shape.insert(index, 1)
    return tuple(shape)
