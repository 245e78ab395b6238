"""Sorting along an axis, and the greatest elements of an axis."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.calls import as_index
from arrax.core.explicit_axes import along_axis
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_below
from arrax.core.operand_memories import memories_of_operands
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.batching import batch_size, move_batch_axis
from arrax.interpreters.cost_model import passes
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import neg
from arrax.lax.cpu import sorting as cpu_sorting
from arrax.lax.filled_arrays import broadcasted_iota, full
from arrax.lax.gathers import PROMISE_IN_BOUNDS, GatherDimensionNumbers, gather
from arrax.lax.operand_checks import checked_operand, kind_of
from arrax.lax.shape_arguments import canonical_axis
from arrax.lax.shapes import reshape
from arrax.lax.whole_bytes import NARROW, in_whole_bytes
from arrax.native import runtime
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value


def taken_along(x: Any, indices: ArrayLike, axis: int) -> Array:
    """Entries of an axis, at places of their own for each position along the other axes."""
    aval = typeof(indices)
    batch = tuple(dim for dim in range(aval.ndim) if dim != axis)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), batch, batch)
    if aval.size == 0:
        return full(aval.shape, 0, typeof(x).dtype)
    return gather(x, reshape(indices, (*aval.shape, 1)), numbers, (1,) * aval.ndim, mode=PROMISE_IN_BOUNDS)


# ---- sort ------------------------------------------------------------------------------------------------------------

sort_p = Primitive("sort", multiple_results=True, cost=passes(100))


def _sort_type(*avals: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> list[ShapedArray]:
    first = avals[0].shape
    if any(aval.shape != first for aval in avals):
        raise TypeError(f"sort needs operands of one shape, got {[aval.shape for aval in avals]}")
    return list(avals)


_BOOL = ShapedArray((), np.dtype(np.bool_))


def _precedes(dtype: np.dtype, x: Value, y: Value) -> Value:
    """Whether scalar ``x`` comes before ``y``: zeros of both signs are equal, NaNs are equal and come last."""
    less = builder.compare("LT", (), x, y)
    if kind_of(dtype) != "floating":
        return less
    return builder.op(
        "or", _BOOL, less, builder.op("and", _BOOL, builder.compare("EQ", (), x, x), builder.compare("NE", (), y, y))
    )


def _key_parts(dtype: np.dtype, x: Value, y: Value) -> list[tuple[Any, Any, Any]]:
    """A key as real keys in order of their weight: complex numbers go by real, then by imaginary part."""
    if kind_of(dtype) != "complex":
        return [(dtype, x, y)]
    part = ShapedArray((), np.dtype(np.float32 if dtype == np.complex64 else np.float64))
    return [(part.dtype, builder.op(name, part, x), builder.op(name, part, y)) for name in ("real", "imag")]


def _comparison(keys: Sequence[tuple[Any, Any, Any]]) -> Value:
    """Whether the first row of keys comes before the second."""
    (dtype, x, y), *rest = keys
    before = _precedes(dtype, x, y)
    if not rest:
        return before
    not_after = builder.op("not", _BOOL, _precedes(dtype, y, x))
    return builder.op("or", _BOOL, before, builder.op("and", _BOOL, not_after, _comparison(rest)))


def _sort_lower(
    ctx: LoweringContext, *values: Value, dimension: int, is_stable: bool, num_keys: int, as_integers: bool = False
) -> list[Value]:
    attributes = {
        "dimension": builder.integer(dimension), "is_stable": builder.attribute("true" if is_stable else "false"),
    }  # fmt: skip
    types = [builder.ir_type(aval) for aval in ctx.avals_out]
    operation = builder.operation("stablehlo.sort", types, values, attributes, 1)
    scalars = [ShapedArray((), aval.dtype) for aval in ctx.avals_in for _ in range(2)]
    block = builder.block_with(operation, 0, scalars)
    with builder.inside(block):
        arguments = list(block.arguments)
        keys: list[tuple[Any, Any, Any]] = []
        for index, aval in enumerate(ctx.avals_in[:num_keys]):
            keys += _key_parts(aval.dtype, arguments[2 * index], arguments[2 * index + 1])
        if as_integers:
            keys = [cpu_sorting.as_integers(*key) for key in keys]
        builder.return_([_comparison(keys)])
    return list(operation.results)


def _sort_jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, dimension: int, **params: Any
) -> tuple[list[Any], list[Any]]:
    """Tangents follow their elements: a permutation is sorted along."""
    shape = typeof(primals[0]).shape
    counter = np.int32 if is_below(shape[dimension], 2**31, True) else np.int64
    indices = broadcasted_iota(counter, shape, dimension)
    *outs, permutation = sort_p.bind(*primals, indices, dimension=dimension, **params)
    return outs, [
        Zero.of(out) if type(t) is Zero else taken_along(t, permutation, dimension)
        for out, t in zip(outs, tangents, strict=True)
    ]


def _sort_batch(
    values: Sequence[ArrayLike], dims: Dims, *, dimension: int, **params: Any
) -> tuple[list[Any], list[int]]:
    size = batch_size(values, dims)
    at = next(dim for dim in dims if dim is not None)
    moved = [move_batch_axis(x, dim, size, at) for x, dim in zip(values, dims, strict=True)]
    outs = sort_p.bind(*moved, dimension=dimension + (at <= dimension), **params)
    return outs, [at] * len(outs)


sort_p.type_rule, sort_p.divides = _sort_type, along_axis("dimension")
sort_p.memories = memories_of_operands
sort_p.lower[None] = in_whole_bytes(_sort_lower)
# Comparisons of floats take subnormal numbers for zeros there.
sort_p.lower["cpu"] = in_whole_bytes(functools.partial(_sort_lower, as_integers=True))
sort_p.forms["cpu"] = cpu_sorting.sort_form
sort_p.jvp = _sort_jvp
sort_p.batch = _sort_batch


def sort(
    operand: ArrayLike | Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> Any:
    """Sort along an axis, several arrays together by the first of them.

    Floats are in numerical order: zeros of both signs are equal, NaNs are equal and come last. Complex numbers go by their
    real, then by their imaginary part.

    Args:
      operand: array, or sequence of arrays of one shape.
      dimension: the axis.
      is_stable: whether equal elements keep their order.
      num_keys: how many of the arrays are keys; later ones decide where earlier ones are equal.
    Returns: array, or tuple of arrays.
    Raises:
      TypeError: operands that are not arrays, or shapes that differ.
      ValueError: no such axis, a wrong number of keys.
    Example: ``lax.sort((jnp.array([2, 1]), jnp.array([10, 20])))``. Source: StableHLO ``sort``.
    """
    several = isinstance(operand, list | tuple)
    values = [checked_operand("sort", x) for x in ([*operand] if isinstance(operand, list | tuple) else [operand])]
    if not values:
        raise TypeError("sort needs an operand, got none")
    num_keys = as_index(num_keys)
    if not 1 <= num_keys <= len(values):
        raise ValueError(f"sort: num_keys must be from 1 to the number of operands, {len(values)}, got {num_keys}")
    dimension = canonical_axis(dimension, typeof(values[0]).ndim)
    outs = sort_p.bind(*values, dimension=dimension, is_stable=bool(is_stable), num_keys=num_keys)
    return tuple(outs) if several else outs[0]


def sort_key_val(keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Sort ``keys`` along an axis, and bring ``values`` into the same order.

    Args:
      keys: array.
      values: array of the same shape.
      dimension: the axis.
      is_stable: whether values of equal keys stay in their order.
    Example: ``lax.sort_key_val(jnp.array([2, 1]), jnp.array([10, 20]))``.
    """
    ordered, along = sort((keys, values), dimension=dimension, is_stable=is_stable, num_keys=1)
    return ordered, along


# ---- top_k -----------------------------------------------------------------------------------------------------------

top_k_p = Primitive("top_k", multiple_results=True, cost=passes(100))


def _top_k_type(aval: ShapedArray, *, k: int, axis: int) -> list[ShapedArray]:
    if kind_of(aval.dtype) == "complex":
        raise ValueError(f"top_k needs real numbers, got {aval.str_short(True)}")
    if k < 0:
        raise ValueError(f"top_k: k must not be negative, got {k}")
    if k > aval.shape[axis]:
        raise ValueError(f"top_k: axis {axis} of {aval.str_short(True)} has fewer than k={k} elements")
    shape = (*aval.shape[:axis], k, *aval.shape[axis + 1 :])
    return [ShapedArray(shape, aval.dtype, aval.weak_type), ShapedArray(shape, np.dtype(np.int32))]


def _last(aval: ShapedArray, axis: int) -> list[int]:
    return [*(dim for dim in range(aval.ndim) if dim != axis), axis]


def _transposed(x: Value, aval: ShapedArray, order: Sequence[int]) -> Value:
    if list(order) == list(range(aval.ndim)):
        return x
    result = ShapedArray(tuple(aval.shape[dim] for dim in order), aval.dtype)
    return builder.op("transpose", result, x, permutation=builder.ints(order))


def _top_k_lower(ctx: LoweringContext, x: Value, *, k: int, axis: int) -> list[Value]:
    """XLA's own operation works on the last axis."""
    aval, outs = ctx.avals_in[0], ctx.avals_out
    if outs[0].size == 0:
        return [builder.full(0, out) for out in outs]
    order = _last(aval, axis)
    back = [int(dim) for dim in np.argsort(order)]
    inner = [ShapedArray(tuple(out.shape[dim] for dim in order), out.dtype) for out in outs]
    types = [builder.ir_type(one) for one in inner]
    found = builder.operation("chlo.top_k", types, [_transposed(x, aval, order)], {"k": builder.integer(k)}).results
    return [_transposed(one, own, back) for one, own in zip(found, inner, strict=True)]


def _top_k_jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, k: int, axis: int
) -> tuple[list[Any], list[Any]]:
    values, indices = top_k_p.bind(*primals, k=k, axis=axis)
    t = tangents[0]
    t_values = Zero.of(values) if type(t) is Zero else taken_along(t, indices, axis)
    return [values, indices], [t_values, Zero.of(indices)]


def _top_k_batch(values: Sequence[ArrayLike], dims: Sequence[int], *, k: int, axis: int) -> tuple[list[Any], list[int]]:
    (x,), (dim,) = values, dims
    return top_k_p.bind(x, k=k, axis=axis + (dim <= axis)), [dim, dim]


top_k_p.type_rule, top_k_p.divides = _top_k_type, along_axis("axis")
top_k_p.lower[None] = in_whole_bytes(_top_k_lower, NARROW)
top_k_p.forms["cpu"] = cpu_sorting.top_k_form
top_k_p.jvp = _top_k_jvp
top_k_p.batch = _top_k_batch


_MAX_PLACES = int(np.iinfo(np.int32).max)


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> list[Array]:
    """The ``k`` greatest elements along an axis in descending order, and their indices; of equal ones the first come first.

    Args:
      operand: array of real numbers.
      k: how many.
      axis: the axis.
    Returns: ``[values, indices]``, the indices int32.
    Raises:
      ValueError: complex numbers, a negative or too large ``k``, no such axis.
    Example: ``lax.top_k(jnp.array([3, 1, 2]), 2)``. Source: CHLO ``top_k``.
    """
    x = checked_operand("top_k", operand)
    axis = canonical_axis(axis, typeof(x).ndim)
    if not is_below(typeof(x).shape[axis], _MAX_PLACES + 1, True):
        raise ValueError(
            f"top_k gives indices in int32, which cannot count the {typeof(x).shape[axis]} places of axis {axis}"
        )
    return top_k_p.bind(x, k=as_index(k), axis=axis)


# ---- approximate top_k -------------------------------------------------------------------------------------------------

approx_top_k_p = Primitive("approx_top_k", multiple_results=True)


def _approx_size(
    aval: ShapedArray, k: int, axis: int, recall_target: float, override: int, aggregate_to_topk: bool
) -> int:
    """How many elements a partial reduction keeps so as to find the target share of the top k."""
    if aggregate_to_topk:
        return k
    length = aval.shape[axis]
    size = runtime.approx_top_k_reduction_output_size(length, aval.ndim, k, recall_target, False, override)
    return size[0] if isinstance(size, tuple) else size


def _approx_type(
    aval: ShapedArray, *, k: int, reduction_dimension: int, recall_target: float, is_max_k: bool,
    reduction_input_size_override: int, aggregate_to_topk: bool,
) -> list[ShapedArray]:  # fmt: skip
    if kind_of(aval.dtype) != "floating":
        raise ValueError(
            f"approx_max_k and approx_min_k need an operand of a floating type, got {aval.str_short(True)}"
        )
    if not 0 < recall_target <= 1:
        raise ValueError(f"recall_target must be in (0, 1], got {recall_target}")
    axis = reduction_dimension
    if k <= 0:
        raise ValueError(f"k must be positive, got {k}")
    if k > aval.shape[axis]:
        raise ValueError(f"axis {axis} of {aval.str_short(True)} has fewer than k={k} elements")
    size = _approx_size(aval, k, axis, recall_target, reduction_input_size_override, aggregate_to_topk)
    shape = (*aval.shape[:axis], size, *aval.shape[axis + 1 :])
    return [ShapedArray(shape, aval.dtype, aval.weak_type), ShapedArray(shape, np.dtype(np.int32))]


def _exact(x: Array, *, k: int, reduction_dimension: int, is_max_k: bool, **params: Any) -> list[Any]:
    """The exact answer, whose recall is 1."""
    out, _ = _approx_type(typeof(x), k=k, reduction_dimension=reduction_dimension, is_max_k=is_max_k, **params)
    size = out.shape[reduction_dimension]
    values, indices = top_k(x if is_max_k else neg(x), size, axis=reduction_dimension)
    return [values if is_max_k else neg(values), indices]


def _approx_jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any
) -> tuple[list[Any], list[Any]]:
    values, indices = approx_top_k_p.bind(*primals, **params)
    t, axis = tangents[0], params["reduction_dimension"]
    t_values = Zero.of(values) if type(t) is Zero else taken_along(t, indices, axis)
    return [values, indices], [t_values, Zero.of(indices)]


def _approx_batch(
    values: Sequence[ArrayLike], dims: Sequence[int], *, reduction_dimension: int, **params: Any
) -> tuple[list[Any], list[int]]:
    (x,), (dim,) = values, dims
    axis = reduction_dimension + (dim <= reduction_dimension)
    return approx_top_k_p.bind(x, reduction_dimension=axis, **params), [dim, dim]


approx_top_k_p.type_rule, approx_top_k_p.divides = _approx_type, along_axis("reduction_dimension")
approx_top_k_p.lower[None] = lower_fun(_exact)
approx_top_k_p.jvp = _approx_jvp
approx_top_k_p.batch = _approx_batch


def _approximate(
    name: str, x: ArrayLike, k: int, axis: int, recall_target: float, override: int, aggregate: bool, is_max_k: bool
) -> list[Any]:
    x = checked_operand(name, x)
    return approx_top_k_p.bind(
        x, k=as_index(k), reduction_dimension=canonical_axis(axis, typeof(x).ndim),
        recall_target=float(recall_target), is_max_k=is_max_k, reduction_input_size_override=as_index(override),
        aggregate_to_topk=bool(aggregate),
    )  # fmt: skip


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """The ``k`` greatest elements along an axis, of which a share may be missed; here none is.

    Args:
      operand: array of floats.
      k: how many.
      reduction_dimension: the axis.
      recall_target: the share of the true ``k`` greatest that must be found.
      reduction_input_size_override: the length of the whole axis, where the operand is a part of it.
      aggregate_to_topk: return ``k`` elements; otherwise more candidates, to be aggregated by the caller.
    Returns: ``[values, indices]``, the indices int32.
    Raises:
      ValueError: elements that are not floats, or ``k`` or ``recall_target`` out of range.
    Example: ``lax.approx_max_k(jnp.arange(10.), 3)``.
    """
    return _approximate(
        "approx_max_k", operand, k, reduction_dimension, recall_target, reduction_input_size_override,
        aggregate_to_topk, True,
    )  # fmt: skip


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """The ``k`` least elements along an axis, of which a share may be missed; see ``approx_max_k``.

    Example: ``lax.approx_min_k(jnp.arange(10.), 3)``.
    """
    return _approximate(
        "approx_min_k", operand, k, reduction_dimension, recall_target, reduction_input_size_override,
        aggregate_to_topk, False,
    )  # fmt: skip
