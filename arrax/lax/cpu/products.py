"""Products on the CPU that the compiler's code is slow at: many small matrices, products without sums, sums over several axes,
transposed matrices by vectors, and computed 8-bit integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.program import Atom, JaxprEqn
from arrax.core.types import slots, typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.arithmetic import add, div, mul
from arrax.lax.axis_order import transpose, transpose_p
from arrax.lax.barriers import optimization_barrier_p
from arrax.lax.conversion import convert_element_type
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.regrouping import (
    apart_form,
    becomes_costly,
    several_columns_form,
    several_sums_form,
    sums_over_one_axis,
)
from arrax.lax.cpu.transposes import in_order_form
from arrax.lax.shapes import broadcast_in_dim, squeeze
from arrax.lax.static_slicing import slice_in_dim

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

# Of one product, whatever their number: so that each gives the same bits in every batch.
_FEW_TERMS = 4  # of an element of a product of any size: the library takes 10 ns for each row
_MAX_TERMS = 8  # of an element of one product of a batch
_MAX_ELEMENTS = 64
_HALVES = ("float16", "bfloat16")


def product_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of ``dot_general``."""
    return (
        several_sums_form(eqn, around)
        or _small_products_form(eqn, around)
        or _outer_form(eqn)
        or _merged_form(eqn, around)
        or _untransposed_form(eqn, around)
        or _few_columns_form(eqn, around)
        or _integer_form(eqn, around)
        or in_order_form(eqn, around)
        or several_columns_form(eqn, around)
    )


def _small_products_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """One term after the other, for all elements of a product of few terms, or all small products of a batch, at once."""
    (contracted, batch) = eqn.params["dimension_numbers"]
    (x, y), out, precision = eqn.invars, eqn.outvars[0].aval, eqn.params["precision"]
    dtype, count = x.aval.dtype, len(batch[0])
    if len(contracted[0]) != 1 or not isinstance(precision, tuple | None):
        return None
    terms, size = x.aval.shape[contracted[0][0]], math.prod(out.shape[count:])
    work = np.dtype(np.float32) if dtype.name in _HALVES else dtype
    small = count and size <= _MAX_ELEMENTS
    if not isinstance(terms, int) or not 1 <= terms <= (_MAX_TERMS if small else _FEW_TERMS):
        return None
    if not isinstance(work, np.dtype) or work.kind not in "iufc" or work.itemsize < 4:
        return None  # short integers are added up as wider ones elsewhere
    if y.aval.dtype != dtype or out.dtype not in (dtype, work):
        return None
    if not small and (terms == 1 or work.kind == "c" or not around.one_device):
        return None  # complex terms take longer to compile than products, of which circuits of gates have hundreds
    params = (("axes", (contracted[0][0], contracted[1][0])), ("batch", (tuple(batch[0]), tuple(batch[1]))))
    kept = work.kind == "f" and not becomes_costly(eqn.outvars[0], around)
    return Form(_term_by_term, (*params, ("shape", out.shape), ("dtype", out.dtype), ("work", work), ("kept", kept)))


def _term_by_term(
    x: Array, y: Array, *, axes: tuple[int, int], batch: tuple[Sequence[int], Sequence[int]], shape: tuple[int, ...],
    dtype: np.dtype, work: np.dtype, kept: bool,
) -> list[Any]:  # fmt: skip
    count, free_y = len(batch[0]), typeof(x).ndim - 1  # the result's axes are those of the batch, of x, of y
    total: Any = None
    for term in range(typeof(x).shape[axes[0]]):
        left = _entry_of_all(x, axes[0], batch[0], count, term, shape, work)
        right = _entry_of_all(y, axes[1], batch[1], free_y, term, shape, work)
        product = mul(left, right)
        total = product if total is None else add(total, product)
    return [convert_element_type(_computed_once(total) if kept else total, dtype)]


def _computed_once(x: Array) -> Array:
    """``x`` as a quotient by 1, which the compiler drops when all else is done.

    In a chain of products it would compute the sums before anew for each of the elements that they take part in, since they
    look cheap; quotients it computes once.
    """
    number = slots.in_memory_of(broadcast_in_dim(x.dtype.type(1), (), ()), typeof(x))
    (one,) = optimization_barrier_p.bind(number)
    return div(x, broadcast_in_dim(one, x.shape, ()))


def _entry_of_all(
    x: Array, axis: int, batch: Sequence[int], first_free: int, entry: int, shape: tuple[int, ...], dtype: np.dtype
) -> Array:
    """An operand at one index of its contracted axis, repeated along the other operand's axes."""
    piece = convert_element_type(squeeze(slice_in_dim(x, entry, entry + 1, axis=axis), (axis,)), dtype)
    return _along_all(piece, [dim for dim in range(typeof(x).ndim) if dim != axis], batch, first_free, shape)


def _along_all(
    piece: Array, kept: Sequence[int], batch: Sequence[int], first_free: int, shape: tuple[int, ...]
) -> Array:
    """An operand's axes, of which ``kept`` are left, at their places in the result; it is repeated along the others."""
    free = iter(range(first_free, len(shape)))
    targets = [list(batch).index(dim) if dim in batch else next(free) for dim in kept]
    return broadcast_in_dim(transpose(piece, tuple(np.argsort(targets).tolist())), shape, sorted(targets))


def _outer_form(eqn: JaxprEqn) -> Form | None:
    """Products without a sum are multiplied, which the compiler fuses with what comes before and after."""
    (contracted, batch), out = eqn.params["dimension_numbers"], eqn.outvars[0].aval
    numbers = out.dtype.name in _HALVES or isinstance(out.dtype, np.dtype) and out.dtype.kind in "iuf"
    if contracted[0] or not numbers or not isinstance(eqn.params["precision"], tuple | None):
        return None
    batches = tuple(batch[0]), tuple(batch[1])
    return Form(_multiplied, (("batch", batches), ("shape", out.shape), ("dtype", out.dtype)))


def _multiplied(
    x: Array, y: Array, *, batch: tuple[Sequence[int], Sequence[int]], shape: tuple[int, ...], dtype: np.dtype
) -> list[Any]:
    factors = []
    for operand, own_batch, first_free in ((x, batch[0], len(batch[0])), (y, batch[1], typeof(x).ndim)):
        kept = range(typeof(operand).ndim)
        factors.append(_along_all(convert_element_type(operand, dtype), kept, own_batch, first_free, shape))
    return [mul(*factors)]


def _merged_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """A sum over several axes as one over a single axis, where that needs no copy: the compiler would transpose for it.

    So it is with the gradients of a layer's weights, which are sums over the batch and over places.
    """
    contracted, batch = eqn.params["dimension_numbers"]
    sides, count = [tuple(axes) for axes in contracted], len(contracted[0])
    if batch[0] or count < 2 or not around.one_device:
        return None
    for atom, axes in zip(eqn.invars, sides, strict=True):
        free = atom.aval.ndim - count
        if not free or not atom.aval.size or axes not in (tuple(range(count)), tuple(range(free, free + count))):
            return None
        if atom.aval.dtype.name in _HALVES:
            return None  # which are converted first, and transposed on the way
    return sums_over_one_axis(eqn, (sides[0][0], sides[1][0]), ((), ()), (False, False))


def _untransposed_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """A transposed matrix by a vector: the matrix as it is, contracted along its other axis. A transposed matrix by a
    transposed one: the second by the first, transposed, as where a transposed matrix takes a batch of vectors.
    """
    contracted, batch = eqn.params["dimension_numbers"]
    precision, ranks = eqn.params["precision"], [atom.aval.ndim for atom in eqn.invars]
    if batch[0] or len(contracted[0]) != 1 or sorted(ranks) not in ([1, 2], [2, 2]) or not around.one_device:
        return None
    sides = [_untransposed(atom, axes[0], around) for atom, axes in zip(eqn.invars, contracted, strict=True)]
    swapped = ranks == [2, 2] and [axis for _, axis in sides] == [0, 1] and _gains_by_swap(eqn)
    if swapped:
        sides.reverse()
        precision = precision and precision[::-1]
    elif ranks == [2, 2] or all(made is atom for (made, _), atom in zip(sides, eqn.invars, strict=True)):
        return None
    numbers = tuple((axis,) for _, axis in sides), batch
    params = {**eqn.params, "dimension_numbers": numbers, "precision": precision}
    return Form(
        _transposed_again if swapped else _again,
        (("primitive", eqn.primitive), ("params", tuple(params.items()))),
        [atom for atom, _ in sides],
    )


def _gains_by_swap(eqn: JaxprEqn) -> bool:
    """Whether the result, which must then be transposed, is small beside the work."""
    x, out, (contracted, _) = eqn.invars[0].aval, eqn.outvars[0].aval, eqn.params["dimension_numbers"]
    inexact = out.dtype.name in _HALVES or isinstance(out.dtype, np.dtype) and out.dtype.kind in "fc"
    terms = x.shape[contracted[0][0]]
    return inexact and terms >= min(out.shape) and isinstance(eqn.params["precision"], tuple | None)


def _untransposed(atom: Atom, axis: int, around: Around) -> tuple[Atom, int]:
    """A matrix before it was transposed, and where its axis was."""
    maker = around.maker(atom)
    if maker is None or maker.primitive is not transpose_p or atom.aval.ndim != 2:
        return atom, axis
    return maker.invars[0], maker.params["permutation"][axis]


def _few_columns_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """A product of two matrices of which one is far narrower than the other, on the side where the compiler's library takes less
    time: on the left in sums over their rows, as the gradient of a layer with few outputs is; on the right in sums over
    their columns, as a few examples by transposed weights are.
    """
    contracted, batch = eqn.params["dimension_numbers"]
    out, precision = eqn.outvars[0].aval, eqn.params["precision"]
    if batch[0] or len(contracted[0]) != 1 or out.ndim != 2 or not around.one_device:
        return None
    numbers = isinstance(out.dtype, np.dtype) and out.dtype.kind == "f" and out.dtype.itemsize >= 4
    alike = all(atom.aval.dtype == out.dtype for atom in eqn.invars)
    if not numbers or not alike or not isinstance(precision, tuple | None):
        return None
    sides = [_untransposed(atom, axes[0], around) for atom, axes in zip(eqn.invars, contracted, strict=True)]
    (axis, other), (fewer, more) = (at for _, at in sides), sorted(out.shape)
    most = thresholds.PRODUCT_FEW_ROWS if axis else thresholds.PRODUCT_FEW_COLUMNS
    terms = sides[0][0].aval.shape[axis]
    if axis != other or fewer > most or min(more, terms) < 2 * fewer or terms * out.size < thresholds.PRODUCT_MIN_WORK:
        return None
    params = {**eqn.params, "dimension_numbers": (((axis,), (axis,)), batch)}
    swapped = fewer != out.shape[axis]
    if swapped:
        sides.reverse()
        params["precision"] = precision and precision[::-1]
    elif not any(user.primitive is transpose_p for user in around.users.get(eqn.outvars[0], ())):
        return None
    return Form(
        _transposed_again if swapped else _as_it_is,
        (("primitive", eqn.primitive), ("params", tuple(params.items()))),
        [atom for atom, _ in sides],
    )


def _again(*operands: Array, primitive: Primitive, params: tuple[tuple[str, Any], ...]) -> list[Any]:
    return [primitive.bind(*operands, **dict(params))]


def _transposed_again(*operands: Array, primitive: Primitive, params: tuple[tuple[str, Any], ...]) -> list[Any]:
    (product,) = _as_it_is(*operands, primitive=primitive, params=params)
    return [transpose(product, (1, 0))]


def _as_it_is(*operands: Array, primitive: Primitive, params: tuple[tuple[str, Any], ...]) -> list[Any]:
    # Without a barrier the compiler would turn the transposed product into one of transposed matrices again.
    return list(optimization_barrier_p.bind(primitive.bind(*operands, **dict(params))))


def _integer_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """Computed 8-bit integers: apart from what computes them.

    The compiler's library has code for them. Where an operand is computed from a transposed array the compiler widens the
    integers first, and multiplies them with code that takes three times as long.
    """
    names = [atom.aval.dtype.name for atom in (*eqn.invars, *eqn.outvars)]
    if names != ["int8", "int8", "int32"] or not around.one_device:
        return None
    return apart_form(eqn, "product") if any(around.maker(atom) is not None for atom in eqn.invars) else None
