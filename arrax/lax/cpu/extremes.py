"""Greatest and least floats on the CPU by operations on whole arrays, which keep NaN.

The compiler's library drops NaN, so that its result needs a second look at all elements. Here every element is looked at once:
windows that cover an axis are compared place by place until few places are left. Those of columns go half against half. Those
of rows become integers of the same order, with NaN at its end, for which the compiler's own loops have vectors; short rows, and
what is left of few, go element by element. Of a stack its parts are compared, and it need not be made. Those of columns that are
repeated afterwards stand apart, as the compiler would compare again for each element.

Zeros have their order too: the greatest of both is 0, the least is -0, wherever they lie.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.program import Atom, JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.cost_model import work_of_eqn
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.arithmetic import eq, gt, max_, min_, ne
from arrax.lax.bitcast import bitcast_convert_type
from arrax.lax.bitwise import bitwise_and, bitwise_or, bitwise_xor, shift_right_arithmetic
from arrax.lax.calls import call_apart
from arrax.lax.concatenation import concatenate_p
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.regrouping import is_all_elementwise, is_repeated_later
from arrax.lax.filled_arrays import full_like
from arrax.lax.selection import select
from arrax.lax.shapes import reshape
from arrax.lax.stacking import stack_p
from arrax.lax.static_slicing import slice_in_dim

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

Reduction = Callable[..., Any]  # of an array over axes, or of an array, a neutral element and a computation over axes

# Dtypes whose bits, read as a sign and a magnitude, have their order.
_ORDERED = ("bfloat16", "float16", "float32", "float64")
_AXES_OF_STACKS = {stack_p: "axis", concatenate_p: "dimension"}


def extreme_form(
    largest: bool,
    reduce: Reduction,
    fold: Reduction,
    otherwise: Rule,
) -> Rule:
    """The form of reductions to an extreme.

    Args:
      largest: whether it is the greatest, or the least.
      reduce: the reduction itself, over axes.
      fold: reductions by any computation: of an array, the neutral element, the computation and axes.
      otherwise: the form of reductions of other types, over axes apart, and of those that may drop NaN along rows.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        aval, axes = eqn.invars[0].aval, sorted(eqn.params["axes"])
        if aval.dtype.name not in _ORDERED or not aval.size or not axes or not around.host_kernels:
            return otherwise(eqn, around)
        first, last = axes[0], axes[-1] + 1
        before, length, after = (math.prod(aval.shape[a:b]) for a, b in ((0, first), (first, last), (last, aval.ndim)))
        if last - first > len(axes) or length < 2:
            return otherwise(eqn, around)
        parts = _parts(eqn, around)
        if parts is not None:
            return Form(_of_parts, (("largest", largest), ("shape", eqn.outvars[0].aval.shape)), parts)
        params = (("block", (before, length, after)), ("largest", largest), ("shape", eqn.outvars[0].aval.shape))
        if after > 1 and (length <= thresholds.EXTREME_MAX_HALVED or not eqn.params.get("may_drop_nan", False)):
            long = length > thresholds.EXTREME_FUSED_WORK + 1
            apart = long and is_repeated_later(eqn.outvars[0], around.users)
            many = length > thresholds.EXTREME_MAX_HALVED and after >= thresholds.EXTREME_MIN_COLUMNS
            grouping = fold if many and _is_computed(eqn.invars[0], around) else None
            return Form(_of_columns, (*params, ("fold", grouping), ("apart", apart)))
        if after == 1 and not eqn.params.get("may_drop_nan", False):
            short = length <= thresholds.EXTREME_MAX_FOLDED
            apart = not short and around.maker(eqn.invars[0]) is not None and not _fused(eqn.invars[0], around)
            folded = aval.dtype.itemsize >= 4 and (short or before <= thresholds.EXTREME_FOLDED_ROWS)
            way = (("way", _folded), ("reduce", fold)) if folded else (("way", _by_keys), ("reduce", reduce))
            return Form(_of_rows, (*params, *way, ("apart", apart)))
        return otherwise(eqn, around)

    return rule


def _parts(eqn: JaxprEqn, around: Around) -> Sequence[Atom] | None:
    """The parts, of length 1 along the axis that is reduced, of a stack that is made for the reduction alone."""
    (x,), maker = eqn.invars, around.maker(eqn.invars[0])
    if maker is None or len(around.users[x]) > 1 or x in around.jaxpr.outvars:
        return None
    axis = maker.params[_AXES_OF_STACKS[maker.primitive]] if maker.primitive in _AXES_OF_STACKS else None
    if tuple(eqn.params["axes"]) != (axis,) or len(maker.invars) > thresholds.EXTREME_MAX_HALVED:
        return None
    length = x.aval.shape[axis]
    return maker.invars if all(part.aval.size * length == x.aval.size for part in maker.invars) else None


def _of_parts(*parts: Array, largest: bool, shape: tuple[int, ...]) -> list[Any]:
    arrays, dtype = [reshape(part, shape) for part in parts], typeof(parts[0]).dtype
    better = functools.partial(_better, largest)
    if not _is_keyed(dtype):
        return [functools.reduce(better, arrays)]
    return [_numbers(functools.reduce(better, [_keys(x, largest) for x in arrays]), dtype, largest)]


def _of_columns(
    x: Array, *, block: tuple[int, ...], largest: bool, shape: tuple[int, ...], fold: Reduction | None, apart: bool
) -> list[Any]:
    x, dtype = reshape(x, block), typeof(x).dtype
    keyed = _is_keyed(dtype)
    parts = [_keys(x, largest) if keyed else x] if fold is None else _groups(x, largest, fold)
    parts = [_columns_by_windows(part, thresholds.EXTREME_MAX_HALVED, largest) for part in parts]

    def extreme(*parts: Array) -> list[Any]:
        found = functools.reduce(functools.partial(_better, largest), [_halved(part, largest) for part in parts])
        return [reshape(_numbers(found, dtype, largest) if keyed else found, shape)]

    return call_apart(extreme, *parts) if apart else extreme(*parts)


def _groups(x: Array, largest: bool, fold: Reduction) -> list[Array]:
    """The extremes of groups of rows, in one loop with what computes the elements, and the rows that are left over."""
    before, length, after = typeof(x).shape
    count = thresholds.EXTREME_WINDOWS
    whole = length // count * count
    grouped = reshape(_entries(x, 0, whole), (before, count, whole // count, after))
    found = _element_by_element(grouped, largest, fold)
    return [found] if whole == length else [found, _entries(x, whole, length)]


def _of_rows(
    x: Array, *, block: tuple[int, ...], largest: bool, shape: tuple[int, ...], way: Callable[[Array, bool, Reduction], Array],
    reduce: Reduction, apart: bool,
) -> list[Any]:  # fmt: skip
    def extreme(x: Array) -> list[Any]:
        return [reshape(way(reshape(x, block[:2]), largest, reduce), shape)]

    return call_apart(extreme, x) if apart else extreme(x)


def _by_keys(x: Array, largest: bool, reduce: Reduction) -> Array:
    """Integers, whose loops have vectors."""
    dtype = typeof(x).dtype
    if _is_keyed(dtype):
        keys = _rows_by_windows(_keys(x, largest), thresholds.EXTREME_MIN_ROW, largest)
    else:
        keys = _keys(_rows_by_windows(x, 2 * thresholds.EXTREME_MIN_ROW, largest), largest)
    return _numbers(reduce(keys, (1,)), dtype, largest)


def _folded(x: Array, largest: bool, fold: Reduction) -> Array:
    """One element after the other, in half the time to compile."""
    return _element_by_element(_rows_by_windows(x, 2 * thresholds.EXTREME_MIN_ROW, largest), largest, fold)


def _element_by_element(x: Array, largest: bool, fold: Reduction) -> Array:
    """The extremes along axis 1 by a loop of the compiler's own. Of ``max`` alone it would make its library's."""

    def better(a: Array, b: Array) -> Array:
        return select(bitwise_or(ne(a, a), ne(b, b)), full_like(a, np.nan), _better(largest, a, b))

    return fold(x, typeof(x).dtype.type(-np.inf if largest else np.inf), better, (1,))


def _fused(x: Atom, around: Around) -> bool:
    """Whether what makes an array takes so little that it may be computed in all of its windows."""
    return _takes_little(x, around, lambda eqn: True)


def _is_computed(x: Atom, around: Around) -> bool:
    """Whether elementwise operations that take little make an array, of others or of what is in memory."""
    maker = around.maker(x)
    return maker is not None and is_all_elementwise(maker) and _takes_little(x, around, is_all_elementwise)


def _takes_little(x: Atom, around: Around, counts: Callable[[JaxprEqn], bool]) -> bool:
    """Whether those operations that count among what makes an array take few additions for each element."""
    if x.aval.dtype.itemsize < 4:  # rounded after each operation
        return False
    work, seen, left = 0.0, set[Atom](), [x]
    while left and work <= thresholds.EXTREME_FUSED_WORK:
        maker = around.maker(left.pop())
        if maker is not None and maker.outvars[0] not in seen and counts(maker):
            seen.add(maker.outvars[0])
            work += work_of_eqn(maker) / x.aval.size
            left += maker.invars
    return work <= thresholds.EXTREME_FUSED_WORK


def _columns_by_windows(x: Array, limit: int, largest: bool) -> Array:
    """The extremes of windows until no more than ``limit`` are left."""
    while (length := typeof(x).shape[1]) > limit:
        x = _by_windows(x, -(-length // min(thresholds.EXTREME_WINDOWS, -(-length // limit))), largest)
    return x


def _rows_by_windows(x: Array, limit: int, largest: bool) -> Array:
    """The extremes of windows until no more than ``limit`` are left, or as many as vectors take with at most one left over."""
    vector = thresholds.EXTREME_MIN_ROW
    few, most = 2 * vector, 4 * vector
    while (length := typeof(x).shape[1]) > limit and not (few <= length <= most and length % vector <= 1):
        width = -(-length // thresholds.EXTREME_WINDOWS)
        if width <= few:
            width = min(few, 1 << (length.bit_length() - 1))
        elif width <= most:
            width = most
        x = _by_windows(x, width, largest)
    return x


def _by_windows(x: Array, width: int, largest: bool) -> Array:
    """The extremes of windows of a width along axis 1, at equal distances, the first at the beginning and the last at the end;
    they may overlap."""
    length = typeof(x).shape[1]
    count = -(-length // width)
    starts = [(length - width) * number // (count - 1) for number in range(count)]
    parts = [_entries(x, start, start + width) for start in starts]
    while len(parts) > 1:
        odd = parts[len(parts) // 2 * 2 :]
        parts = [*map(functools.partial(_better, largest), parts[::2], parts[1::2]), *odd]
    return parts[0]


def _halved(x: Array, largest: bool) -> Array:
    """The extremes along axis 1, half against half; the halves of an odd number share an element."""
    while (length := typeof(x).shape[1]) > 1:
        half = -(-length // 2)
        x = _better(largest, _entries(x, 0, half), _entries(x, length - half, length))
    return x


def _better(largest: bool, a: Array, b: Array) -> Array:
    return (max_ if largest else min_)(a, b)


def _entries(x: Array, start: int, stop: int) -> Array:
    return slice_in_dim(x, start, stop, axis=1)


def _is_keyed(dtype: np.dtype) -> bool:
    return dtype.itemsize < 4  # comparisons of such floats are computed in wider ones


def _keys(x: Array, largest: bool) -> Array:
    """Integers in the order of floats; those of NaN come after the greatest, or before the least."""
    dtype = typeof(x).dtype
    bits = bitcast_convert_type(x, _integers(dtype))
    is_nan = gt(bitwise_and(bits, full_like(bits, _magnitude(bits))), full_like(bits, _bits(np.inf, dtype)))
    return select(is_nan, full_like(bits, _key_of_nan(dtype, largest)), _turned(bits))


def _numbers(keys: Array, dtype: np.dtype, largest: bool) -> Array:
    """The floats of integers in their order; all NaN are the same."""
    is_nan = eq(keys, full_like(keys, _key_of_nan(dtype, largest)))
    return bitcast_convert_type(select(is_nan, full_like(keys, _bits(np.nan, dtype)), _turned(keys)), dtype)


def _integers(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"int{8 * dtype.itemsize}")


def _bits(value: float, dtype: np.dtype) -> Any:
    return np.array(value, dtype).view(_integers(dtype))[()]


def _key_of_nan(dtype: np.dtype, largest: bool) -> Any:
    nan = _bits(np.nan, dtype)
    return nan if largest else ~nan


def _turned(bits: Array) -> Array:
    """With the magnitudes of negative numbers the other way round, which is undone by the same."""
    width = 8 * typeof(bits).dtype.itemsize
    sign = shift_right_arithmetic(bits, full_like(bits, width - 1))
    return bitwise_xor(bits, bitwise_and(sign, full_like(bits, _magnitude(bits))))


def _magnitude(bits: Array) -> int:
    return int(np.iinfo(typeof(bits).dtype).max)
