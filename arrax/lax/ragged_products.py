"""Products of matrices over groups of rows: ``ragged_dot`` multiplies each group of rows with a matrix of its own.

One axis of ``lhs`` is ragged: its entries come in consecutive groups, whose sizes are known at run time only.

- A free axis is ragged: each group meets the part of ``rhs`` along the group axis that is the group's.
- A contracted axis is ragged: each group is summed by itself, and gives a part of the result along a new leading axis.
- A batch axis is ragged: groups make no difference.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_indices
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.dtypes import OptionalDType
from arrax.interpreters.ad.transpose import is_undefined_primal
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax.arithmetic import ge, lt, sub
from arrax.lax.axis_order import move_axis, transpose
from arrax.lax.bitwise import bitwise_and
from arrax.lax.contractions import dot_general_p
from arrax.lax.conversion import convert
from arrax.lax.cumulative import cumsum
from arrax.lax.filled_arrays import broadcasted_iota, full_like
from arrax.lax.operand_checks import checked_operand, requested_dtype
from arrax.lax.precision import PrecisionLike, canonical_precision
from arrax.lax.selection import select
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.lax.slicing_along_axes import dynamic_slice_in_dim
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Which axes a ragged product contracts, runs over, and groups.

    Args:
      dot_dimension_numbers: as of ``dot_general``, without the group axis.
      lhs_ragged_dimensions: the one axis of ``lhs`` whose entries come in groups.
      rhs_group_dimensions: the axis of ``rhs`` along which each group has its part, where a free axis is ragged.
    Example: ``lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])`` is that of ``ragged_dot``.
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]

    def __post_init__(self) -> None:
        (contract_x, contract_y), (batch_x, batch_y) = self.dot_dimension_numbers
        numbers = ((_ints(contract_x), _ints(contract_y)), (_ints(batch_x), _ints(batch_y)))
        object.__setattr__(self, "dot_dimension_numbers", numbers)
        object.__setattr__(self, "lhs_ragged_dimensions", _ints(self.lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", _ints(self.rhs_group_dimensions))


def _ints(values: Sequence[int]) -> tuple[int, ...]:
    return as_indices(values)


class Axes:
    """The axes of a ragged product by their roles."""

    __slots__ = ("contract", "batch", "ragged", "group", "x_free", "y_free", "mode")

    def __init__(self, numbers: RaggedDotDimensionNumbers, x_rank: int, y_rank: int) -> None:
        self.contract, self.batch = numbers.dot_dimension_numbers
        (self.ragged,) = numbers.lhs_ragged_dimensions
        self.group = numbers.rhs_group_dimensions
        self.x_free = [d for d in range(x_rank) if d not in self.contract[0] and d not in self.batch[0]]
        taken = (*self.contract[1], *self.batch[1], *self.group)
        self.y_free = [d for d in range(y_rank) if d not in taken]
        self.mode = (
            "contract" if self.ragged in self.contract[0] else "batch" if self.ragged in self.batch[0] else "free"
        )

    def result(self) -> list[tuple[str, int]]:
        """What stands on each axis of the result: (operand, axis)."""
        lead = [("group", 0)] if self.mode == "contract" else []
        both = [("x", d) for d in (*self.batch[0], *self.x_free)]
        return [*lead, *both, *(("y", d) for d in self.y_free)]


ragged_dot_general_p = Primitive("ragged_dot_general")
ragged_dot_general_p.hidden_params = frozenset({"out_sharding"})


def _type_rule(
    x: ShapedArray, y: ShapedArray, sizes: ShapedArray, *offset: ShapedArray,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers, precision: Any, preferred_element_type: Any,
) -> ShapedArray:  # fmt: skip
    numbers = ragged_dot_dimension_numbers
    if len(numbers.lhs_ragged_dimensions) != 1 or not 0 <= numbers.lhs_ragged_dimensions[0] < x.ndim:
        raise TypeError(f"ragged_dot_general requires one ragged axis of lhs, got {numbers.lhs_ragged_dimensions}")
    taken = (*numbers.dot_dimension_numbers[0][1], *numbers.dot_dimension_numbers[1][1], *numbers.rhs_group_dimensions)
    if not all(0 <= d < y.ndim for d in taken) or len({*taken}) < len(taken):
        raise TypeError(
            f"ragged_dot_general: the axes {taken} are not axes of rhs of shape {y.shape}, each for one purpose"
        )
    axes = Axes(numbers, x.ndim, y.ndim)
    if not dtypes.issubdtype(sizes.dtype, np.integer) or sizes.ndim < 1:
        raise TypeError(f"ragged_dot_general requires integer group_sizes, got {sizes.str_short(False)}")
    if len(axes.group) != (axes.mode == "free"):
        raise TypeError(
            "ragged_dot_general requires one group axis of rhs where a free axis is ragged and none elsewhere, got "
            f"{axes.group}"
        )
    lead = sizes.shape[:-1]
    if lead != tuple(x.shape[d] for d in axes.batch[0][: len(lead)]):
        raise TypeError(f"ragged_dot_general: group_sizes of shape {sizes.shape} do not fit lhs of shape {x.shape}")
    if axes.group and not offset and y.shape[axes.group[0]] != sizes.shape[-1]:
        raise TypeError(
            f"ragged_dot_general requires as many parts of rhs as groups, got {y.shape[axes.group[0]]} and {sizes.shape[-1]}"
        )
    grouped = set(axes.group)
    kept = [d for d in range(y.ndim) if d not in grouped]
    plain = ShapedArray([y.shape[d] for d in kept], y.dtype, y.weak_type)
    (contract_x, contract_y), (batch_x, batch_y) = numbers.dot_dimension_numbers
    moved = ((contract_x, tuple(map(kept.index, contract_y))), (batch_x, tuple(map(kept.index, batch_y))))
    params = {"dimension_numbers": moved, "preferred_element_type": preferred_element_type}
    out = dot_general_p.infer((x, plain), {"precision": precision, **params})
    return out.update(shape=(sizes.shape[-1], *out.shape)) if axes.mode == "contract" else out


# ---- lowering -------------------------------------------------------------------------------------------------------


def _members(sizes: Array, offset: Sequence[Any], count: int, length: int) -> Array:
    """For each of ``count`` groups, which entries of the ragged axis belong to it: shape ``(..., count, length)``."""
    axis = typeof(sizes).ndim - 1
    ends = cumsum(sizes, axis)
    bounds = [sub(ends, sizes), ends]
    if offset:
        first = reshape(offset[0], ())
        bounds = [dynamic_slice_in_dim(bound, first, count, axis) for bound in bounds]
    shape = (*typeof(sizes).shape[:-1], count, length)
    indices = broadcasted_iota(typeof(sizes).dtype, shape, axis + 1)
    start, end = (broadcast_in_dim(bound, shape, range(axis + 1)) for bound in bounds)
    return bitwise_and(ge(indices, start), lt(indices, end))


def _by_masks(
    x: Array, y: Array, sizes: Array, *offset: Array, ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any, preferred_element_type: Any,
) -> Any:  # fmt: skip
    """One product with a copy of ``lhs`` per group, in which only the group's entries are not zero."""
    axes = Axes(ragged_dot_dimension_numbers, typeof(x).ndim, typeof(y).ndim)
    count = typeof(y).shape[axes.group[0]] if axes.group else typeof(sizes).shape[-1]
    shape = (count, *typeof(x).shape)
    mask = _members(sizes, offset, count, typeof(x).shape[axes.ragged])
    targets = [1 + d for d in axes.batch[0][: typeof(sizes).ndim - 1]] + [0, 1 + axes.ragged]
    order = sorted(range(len(targets)), key=targets.__getitem__)
    mask = broadcast_in_dim(transpose(mask, order), shape, sorted(targets))
    copies = broadcast_in_dim(x, shape, range(1, len(shape)))
    copies = select(mask, copies, full_like(copies, 0))
    contract, batch = tuple(1 + d for d in axes.contract[0]), tuple(1 + d for d in axes.batch[0])
    lead = ((0,), axes.group) if axes.mode == "free" else ((), ())
    numbers = ((lead[0] + contract, lead[1] + axes.contract[1]), (batch, axes.batch[1]))
    out = dot_general_p.bind(
        copies, y, dimension_numbers=numbers, precision=precision, preferred_element_type=preferred_element_type,
        out_sharding=None,
    )  # fmt: skip
    return move_axis(out, len(batch), 0) if axes.mode == "contract" else out


# ---- derivatives and batching ---------------------------------------------------------------------------------------


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    (x, y, *rest), (tx, ty, *_) = primals, tangents
    out = ragged_dot_general_p.bind(x, y, *rest, **params)
    terms = [] if type(tx) is Zero else [ragged_dot_general_p.bind(tx, y, *rest, **params)]
    terms += [] if type(ty) is Zero else [ragged_dot_general_p.bind(x, ty, *rest, **params)]
    if not terms:
        return out, Zero.of(out)
    return out, terms[0] if len(terms) == 1 else slots.add(*terms)


def _in_order(x: Array, axes: Sequence[int], dtype: np.dtype) -> Array:
    """An array whose axis i is to be axis ``axes[i]``."""
    return convert(transpose(x, tuple(int(i) for i in np.argsort(axes))), dtype)


def _transpose(
    ct: ArrayLike, x: Any, y: Any, sizes: ArrayLike, *offset: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers, precision: Any, preferred_element_type: Any,
) -> list[Any]:  # fmt: skip
    nothing = [None] * (1 + len(offset))
    if type(ct) is Zero:
        return [None, None, *nothing]
    for_x = is_undefined_primal(x)
    x_rank, y_rank = (v.aval.ndim if is_undefined_primal(v) else typeof(v).ndim for v in (x, y))
    axes = Axes(ragged_dot_dimension_numbers, x_rank, y_rank)
    (cx, cy), (bx, by), free = axes.contract, axes.batch, axes.mode == "free"
    indices = {label: at for at, label in enumerate(axes.result())}
    ct_batch = tuple(indices["x", d] for d in bx)
    ct_x, ct_y = ([indices[side, d] for d in dims] for side, dims in (("x", axes.x_free), ("y", axes.y_free)))

    def product(
        left: ArrayLike,
        right: ArrayLike,
        contract: Sequence[Sequence[int]],
        batch: tuple[tuple[int, ...], ...],
        ragged: int,
        group: Sequence[int],
    ) -> Array:
        numbers = RaggedDotDimensionNumbers((contract, batch), (ragged,), group)
        dtype = (x if for_x else y).aval.dtype
        return ragged_dot_general_p.bind(
            left, right, sizes, *offset, ragged_dot_dimension_numbers=numbers, precision=precision,
            preferred_element_type=None if typeof(left).dtype == typeof(right).dtype else dtype,
        )  # fmt: skip

    if for_x:
        partners = [cx[cy.index(d)] for d in sorted(cy)]
        if free:
            out = product(ct, y, (ct_y, axes.y_free), (ct_batch, by), indices["x", axes.ragged], axes.group)
            order = [*bx, *axes.x_free, *partners]
        else:
            ragged = cy[cx.index(axes.ragged)]
            out = product(y, ct, (axes.y_free, ct_y), (by, ct_batch), ragged, (0,))
            order = [*bx, *partners, *axes.x_free]
        return [_in_order(out, order, x.aval.dtype), None, *nothing]
    partners = [cy[cx.index(d)] for d in sorted(cx)]
    out = product(x, ct, (axes.x_free, ct_x), (bx, ct_batch), axes.ragged, () if free else (0,))
    if free and offset:
        out = dynamic_slice_in_dim(out, reshape(offset[0], ()), y.aval.shape[axes.group[0]], 0)
    return [None, _in_order(out, [*axes.group, *by, *partners, *axes.y_free], y.aval.dtype), *nothing]


def _shifted(axes: Sequence[int], dim: int | None) -> tuple[int, ...]:
    return tuple(axes) if dim is None else tuple(a + (a >= dim) for a in axes)


def _batch(
    values: Sequence[ArrayLike],
    dims: Sequence[Any],
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    **params: Any,
) -> tuple[Any, int]:
    (x, y, sizes, *offset), (x_dim, y_dim, sizes_dim, *offset_dim) = values, dims
    if any(d is not None for d in offset_dim):
        raise NotImplementedError("ragged_dot_general with a group_offset per example")
    size = batch_size(values, dims)
    both = sizes_dim is not None or (x_dim is not None and y_dim is not None)
    if both:
        x, y = bdim_at_front(x, x_dim, size), bdim_at_front(y, y_dim, size)
        if sizes_dim is not None or typeof(sizes).ndim > 1:
            sizes = bdim_at_front(sizes, sizes_dim, size)
        x_dim = y_dim = 0
    (cx, cy), (bx, by) = ragged_dot_dimension_numbers.dot_dimension_numbers
    lead = (0,) if both else ()
    numbers = RaggedDotDimensionNumbers(
        ((_shifted(cx, x_dim), _shifted(cy, y_dim)), ((*lead, *_shifted(bx, x_dim)), (*lead, *_shifted(by, y_dim)))),
        _shifted(ragged_dot_dimension_numbers.lhs_ragged_dimensions, x_dim),
        _shifted(ragged_dot_dimension_numbers.rhs_group_dimensions, y_dim),
    )
    out = ragged_dot_general_p.bind(x, y, sizes, *offset, ragged_dot_dimension_numbers=numbers, **params)
    result = Axes(numbers, typeof(x).ndim, typeof(y).ndim).result()
    return out, result.index(("x", x_dim) if x_dim is not None else ("y", y_dim))


ragged_dot_general_p.type_rule = _type_rule
ragged_dot_general_p.lower[None] = cached_lower_fun(_by_masks, "ragged_dot")
ragged_dot_general_p.jvp = _jvp
ragged_dot_general_p.transpose = _transpose
ragged_dot_general_p.batch = _batch


# ---- the public functions -------------------------------------------------------------------------------------------


def ragged_dot_general(
    lhs: ArrayLike, rhs: ArrayLike, group_sizes: ArrayLike, ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None, preferred_element_type: OptionalDType = None, group_offset: OptionalArray = None,
    out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """A product of arrays, of which one axis of ``lhs`` comes in groups.

    Args:
      lhs, rhs: arrays of equal dtype.
      group_sizes: integer array of shape ``(groups,)``, or with leading batch axes of ``lhs``; entries beyond the last group
        count as zeros.
      ragged_dot_dimension_numbers: which axes do what. Where a free axis is ragged, ``rhs`` has a part per group; where a
        contracted one is, the result has a part per group, along a new leading axis.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
      group_offset: integer array of shape (1,): the group of the first part of ``rhs``, which need not have all.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array with the batch axes, the free axes of ``lhs``, then those of ``rhs``.
    Raises:
      TypeError: axes, lengths or dtypes that don't fit.
    Example: ``numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]);
    lax.ragged_dot_general(jnp.ones((3, 2)), jnp.ones((2, 2, 1)), jnp.array([1, 2]), numbers)``
    is ``[[2], [2], [2]]``. Source: CHLO ``ragged_dot``.
    """
    if out_sharding is not None:
        return slots.as_asked(
            out_sharding,
            functools.partial(
                ragged_dot_general,
                ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
                precision=precision,
                preferred_element_type=preferred_element_type,
                group_offset=group_offset,
            ),
            lhs,
            rhs,
            group_sizes,
        )
    x, y, sizes = (checked_operand("ragged_dot_general", v) for v in (lhs, rhs, group_sizes))
    numbers = ragged_dot_dimension_numbers
    if not isinstance(numbers, RaggedDotDimensionNumbers):
        raise TypeError(
            "ragged_dot_general: ragged_dot_dimension_numbers must be RaggedDotDimensionNumbers, "
            f"got {type(numbers).__name__}"
        )
    precision = canonical_precision(precision)
    preferred = (
        None if preferred_element_type is None else requested_dtype("ragged_dot_general", preferred_element_type)
    )
    if set(numbers.lhs_ragged_dimensions) <= set(numbers.dot_dimension_numbers[1][0]):
        _type_rule(typeof(x), typeof(y), typeof(sizes), ragged_dot_dimension_numbers=numbers, precision=precision,
                   preferred_element_type=preferred)  # fmt: skip
        return dot_general_p.bind(
            x, y, dimension_numbers=numbers.dot_dimension_numbers, precision=precision,
            preferred_element_type=preferred, out_sharding=None,
        )  # fmt: skip
    offset = [] if group_offset is None else [checked_operand("ragged_dot_general", group_offset)]
    return ragged_dot_general_p.bind(
        x, y, sizes, *offset, ragged_dot_dimension_numbers=numbers, precision=precision,
        preferred_element_type=preferred,
    )  # fmt: skip


def ragged_dot(
    lhs: ArrayLike, rhs: ArrayLike, group_sizes: ArrayLike, precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None, group_offset: OptionalArray = None,
    out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """Products of consecutive groups of rows, each with a matrix of its own.

    Args:
      lhs: array of shape ``(m, k)``.
      rhs: array of shape ``(groups, k, n)``.
      group_sizes: integer array of shape ``(groups,)``: the numbers of rows; rows beyond the last group give zeros.
      precision, preferred_element_type, group_offset: as of ``ragged_dot_general``.
    Returns: array of shape ``(m, n)``.
    Raises:
      TypeError: lengths or dtypes that don't fit.
    Example: ``lax.ragged_dot(jnp.ones((3, 2)), jnp.ones((2, 2, 4)), jnp.array([1, 2]))`` is twos.
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(
        lhs, rhs, group_sizes, numbers, precision, preferred_element_type, group_offset, out_sharding
    )
