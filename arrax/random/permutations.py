"""Random order and random choice: ``permutation``, ``choice``, ``categorical``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.lengths import is_symbolic
from arrax.core.types import typeof
from arrax.lax import axis_order, filled_arrays, shapes
from arrax.lax.argminmax import argmax
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.cumulative import cumsum
from arrax.lax.exponential import log
from arrax.lax.gathers import GatherDimensionNumbers, GatherScatterMode, gather
from arrax.lax.shape_arguments import canonical_axis
from arrax.lax.sorting import sort_key_val, top_k
from arrax.lax.static_slicing import slice_in_dim
from arrax.numpy_api.operands import broadcast_to, check_arraylike, known_size
from arrax.numpy_api.searching import search_sorted
from arrax.random.continuous import checked_mode, gumbel_values
from arrax.random.keys import check_key
from arrax.random.parameters import as_floats, checked_shape, fits, static_int
from arrax.random.samplers import Bits, sampler
from arrax.random.uniforms import integer_values, unit_uniform
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

# Draws by entries: to compare each with each then takes less than the steps of a search by halves.
_MAX_COMPARED = 8192


def rows(x: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """The entries of an axis at integer places within bounds; the axes of the indices stand in the axis's place."""
    shape, own = typeof(x).shape, typeof(indices).shape
    if shape[axis] == 0:  # no places, and no entry that a window could have
        return shapes.reshape(x, (*shape[:axis], *own, *shape[axis + 1 :]))
    windows = [*range(axis), *range(axis + len(own), len(shape) - 1 + len(own))]
    numbers = GatherDimensionNumbers(tuple(windows), (axis,), (axis,))
    sizes = [1 if i == axis else length for i, length in enumerate(shape)]
    positions = shapes.reshape(indices, (*own, 1))
    return gather(x, positions, numbers, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)


# ---- permutations --------------------------------------------------------------------------------------------------------


def shuffled(bits: Bits, x: ArrayLike, axis: int) -> Any:
    """Sort by random numbers, as often as it takes that equal numbers hardly matter."""
    size = typeof(x).size
    if is_symbolic(size):
        raise NotImplementedError(
            f"how often {size} entries are sorted for a random order depends on their number, a symbolic dimension"
        )
    size, key = max(1, size), bits
    for _ in range(math.ceil(3 * math.log(size) / math.log(2**32 - 1))):
        key, drawn = key.split(2)
        _, x = sort_key_val(drawn(32, typeof(x).shape), x, axis)
    return x


@sampler(static=("axis", "independent"))
def _permutation(bits: Bits, x: ArrayLike, *, axis: int, independent: bool) -> Array:
    aval = typeof(x)
    if aval.ndim == 1 or independent and not isinstance(aval.dtype, dtypes.ExtendedDType):
        if not isinstance(aval.dtype, dtypes.ExtendedDType):
            return shuffled(bits, x, axis)
    order = shuffled(bits, filled_arrays.iota(dtypes.canonicalize_dtype(np.int64), aval.shape[axis]), 0)
    return rows(x, order, axis)


@sampler(static=("count", "dtype"), name="permutation")
def _permuted_numbers(bits: Bits, *, count: int, dtype: np.dtype) -> Array:
    return shuffled(bits, filled_arrays.iota(dtype, count), 0)


def permutation(
    key: Array, x: ArrayLike, axis: int = 0, independent: bool = False, *, out_sharding: OptionalSharding = None
) -> Array:
    """The entries of an array along an axis, or the integers below a number, in random order.

    Args:
      key: a key.
      x: array, or an integer n that stands for ``arange(n)``.
      axis: the axis along which ``x`` is permuted.
      independent: give each line along the axis an order of its own.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      TypeError: a number that is not an integer.
      ValueError: an axis that ``x`` doesn't have.
    Example: ``arrax.random.permutation(arrax.random.key(0), 5)``.
    """
    check_key("permutation", key, allow_batch=True)
    check_arraylike("permutation", x)
    aval = typeof(x)
    if aval.ndim:
        index = canonical_axis(static_int("permutation", "axis", axis), aval.ndim, "permutation: axis")
        return _permutation(key, out_sharding, x, axis=index, independent=bool(independent))
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(f"permutation: x must be an integer or at least 1-dimensional, got {x!r}")
    canonical_axis(static_int("permutation", "axis", axis), 1, "permutation: axis")
    return _permuted_numbers(
        key,
        out_sharding,
        count=max(known_size(x, "random.permutation", "x"), 0),
        dtype=dtypes.canonicalize_dtype(np.int64),
    )


# ---- choice --------------------------------------------------------------------------------------------------------------


def _draws(bits: Bits, p: OptionalArray, count: int, shape: tuple[int, ...], replace: bool, mode: str) -> Array:
    """Indices below ``count``, of ``shape``."""
    integer = dtypes.canonicalize_dtype(np.int64)
    number = math.prod(shape)
    if p is None:
        if replace:
            return integer_values(bits, shape, integer, integer.type(0), length_of_axis(count, integer))
        order = shuffled(bits, filled_arrays.iota(integer, count), 0)
        return shapes.reshape(slice_in_dim(order, 0, number), shape)
    if replace:
        total = cumsum(p, 0)
        drawn = (1 - unit_uniform(bits, shape, typeof(p).dtype)) * rows(total, np.asarray(count - 1, np.int32)[()], 0)
        few = type(count) is int and count * number <= _MAX_COMPARED
        return convert(search_sorted(total, drawn, None, False, "compare_all" if few else "scan"), integer)
    scores = gumbel_values(bits, (count,), typeof(p).dtype, mode) + log(p)
    return shapes.reshape(
        convert(top_k(scores, number)[1], integer) if number else filled_arrays.full((0,), 0, integer), shape
    )


@sampler(static=("count", "shape", "replace", "mode"), name="choice")
def _choice_of_numbers(
    bits: Bits, p: OptionalArray, *, count: int, shape: tuple[int, ...], replace: bool, mode: str
) -> Array:
    return _draws(bits, p, count, shape, replace, mode)


@sampler(static=("shape", "replace", "axis", "mode"))
def _choice(
    bits: Bits, a: Array, p: Array | None, *, shape: tuple[int, ...], replace: bool, axis: int, mode: str
) -> Array:
    aval = typeof(a)
    if p is None and not replace and aval.ndim == 1 and not isinstance(aval.dtype, dtypes.ExtendedDType):
        return shapes.reshape(slice_in_dim(shuffled(bits, a, 0), 0, math.prod(shape)), shape)
    return rows(a, _draws(bits, p, aval.shape[axis], shape, replace, mode), axis)


def choice(
    key: Array,
    a: ArrayLike,
    shape: Shape = (),
    replace: bool = True,
    p: OptionalArray = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Entries of an array along an axis, or integers below a number, chosen at random.

    Args:
      key: a key.
      a: array, or an integer n that stands for ``arange(n)``.
      shape: the shape of the choice; it stands where ``axis`` was.
      replace: whether an entry may come again.
      p: probability of each entry, by default all equal.
      axis: the axis whose entries are chosen.
      mode: ``"low"`` or ``"high"``, see ``gumbel``; for choices with probabilities and without replacement.
    Raises:
      TypeError: a number that is not an integer, or lists for arrays.
      ValueError: nothing to choose from, more choices than entries, or probabilities of another shape.
    Example: ``arrax.random.choice(arrax.random.key(0), 5, (3,), replace=False)``.
    """
    check_key("choice", key, allow_batch=True)
    check_arraylike("choice", a, *(() if p is None else (p,)))
    aval, lengths, chosen = typeof(a), checked_shape("choice", shape), checked_mode("choice", mode)
    index = canonical_axis(static_int("choice", "axis", axis), aval.ndim, "choice: axis") if aval.ndim else 0
    if not aval.ndim and not dtypes.is_integer(aval.dtype):
        raise TypeError(f"choice: a must be an integer or at least 1-dimensional, got {a!r}")
    count, number = aval.shape[index] if aval.ndim else known_size(a, "random.choice", "a"), math.prod(lengths)
    _check_choice(count, number, replace, p)
    p = None if p is None else as_floats("choice", "p", p)
    if not number:
        shape_left = (*aval.shape[:index], *lengths, *aval.shape[index + 1 :]) if aval.ndim else lengths
        return filled_arrays.full(shape_left, 0, aval.dtype)
    if not aval.ndim:
        return _choice_of_numbers(key, None, p, count=count, shape=lengths, replace=bool(replace), mode=chosen)
    return _choice(key, None, a, p, shape=lengths, replace=bool(replace), axis=index, mode=chosen)


def _check_choice(count: int, number: int, replace: bool, p: OptionalArray) -> None:
    if number and count <= 0:
        raise ValueError("choice: a must be greater than 0 unless no samples are taken")
    if not replace and number > count:
        raise ValueError(f"choice: cannot take {number} samples of {count} entries without replacement")
    if p is not None and typeof(p).shape != (max(count, 0),):
        raise ValueError(
            f"choice: p must be None, or a vector of one probability per entry of a ({count}), got shape {typeof(p).shape}"
        )


# ---- categorical ---------------------------------------------------------------------------------------------------------


@sampler(static=("axis", "shape", "replace", "mode"))
def _categorical(
    bits: Bits, logits: ArrayLike, *, axis: int, shape: tuple[int, ...], replace: bool, mode: str
) -> Array:
    aval = typeof(logits)
    if not replace:
        lead = shape[: len(shape) - aval.ndim + 1]
        scores = gumbel_values(bits, aval.shape, aval.dtype, mode) + logits
        order = (*(i for i in range(aval.ndim) if i != axis), axis)
        _, best = top_k(axis_order.transpose(scores, order), math.prod(lead))
        best = axis_order.transpose(best, (aval.ndim - 1, *range(aval.ndim - 1)))
        return shapes.reshape(best, shape)
    lead = shape[: len(shape) - aval.ndim + 1]
    rest = list(shape[len(lead) :])
    rest.insert(axis, aval.shape[axis])
    full = (*lead, *rest)
    scores = gumbel_values(bits, full, aval.dtype, mode) + broadcast_to(logits, full)
    return argmax(scores, len(lead) + axis, dtypes.canonicalize_dtype(np.int64))


def categorical(
    key: Array, logits: ArrayLike, axis: int = -1, shape: Shape | None = None, replace: bool = True, mode: str | None = None, *,
    out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """Indices along an axis with probabilities proportional to the exponentials of ``logits``.

    Args:
      key: a key.
      logits: array of unnormalized log probabilities.
      axis: the axis of the outcomes.
      shape: the result's shape; it ends with the shape of ``logits`` without ``axis``, or what that broadcasts to. By
        default it is that shape.
      replace: whether an outcome may come again among the samples of one distribution.
      mode: ``"low"``, ``"high"`` or ``"highest"``, see ``gumbel``.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another shape, more samples without replacement than outcomes, or another mode.
    Example: ``arrax.random.categorical(arrax.random.key(0), jnp.zeros(3), shape=(4,))``. Source: the Gumbel-max trick.
    """
    check_key("categorical", key, allow_batch=True)
    check_arraylike("categorical", logits)
    logits = as_floats("categorical", "logits", logits)
    own = typeof(logits).shape
    index = canonical_axis(static_int("categorical", "axis", axis), len(own), "categorical: axis")
    batch = own[:index] + own[index + 1 :]
    lengths = batch if shape is None else checked_shape("categorical", shape)
    tail = lengths[len(lengths) - len(batch) :]
    if len(lengths) < len(batch) or not fits(batch, tail):
        raise ValueError(f"categorical: shape {lengths} must end with that of the distributions, {batch}")
    wanted = math.prod(lengths[: len(lengths) - len(batch)])
    if not replace and wanted > own[index]:
        raise ValueError(f"categorical: cannot take {wanted} samples of {own[index]} outcomes without replacement")
    if not replace and tail != batch:
        wide = list(tail)
        wide.insert(index, own[index])
        logits = broadcast_to(logits, tuple(wide))
    chosen = checked_mode("categorical", mode)
    return _categorical(key, out_sharding, logits, axis=index, shape=lengths, replace=bool(replace), mode=chosen)
