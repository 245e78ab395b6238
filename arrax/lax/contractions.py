"""Contractions: ``dot_general`` and its special cases, by XLA's matrix products."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.calls import as_indices
from arrax.core.explicit_axes import ShardingTypeError, agreed
from arrax.core.interpreter import Primitive
from arrax.core.partition_specs import UNCONSTRAINED
from arrax.core.program import JaxprEqn
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.dtypes import OptionalDType
from arrax.interpreters.ad.transpose import is_undefined_primal
from arrax.interpreters.cost_model import PRODUCTS_PER_ADDITION, largest_size
from arrax.interpreters.lowering import builder
from arrax.lax.axis_order import transpose, transpose_p
from arrax.lax.conversion import convert, convert_ir
from arrax.lax.cpu.products import product_form
from arrax.lax.cpu.transposes import transpose_form
from arrax.lax.operand_checks import checked_operand, kind_of, requested_dtype
from arrax.lax.precision import (
    Precision,
    PrecisionLike,
    accumulation_dtype,
    algorithm_attribute,
    canonical_precision,
    precision_attribute,
)
from arrax.lax.whole_bytes import whole_bytes
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext

DotDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]

dot_general_p = Primitive("dot_general")
dot_general_p.hidden_params = frozenset({"out_sharding"})
dot_general_p.param_texts["dimension_numbers"] = lambda numbers: str(tuple(tuple(map(list, pair)) for pair in numbers))
_ACCUMULATED: dict[str, tuple[str, ...]] = dict.fromkeys("iuc", ("u", "i", "f", "c"))
Dimensions = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


def _check_dimensions(x: ShapedArray, y: ShapedArray, dimension_numbers: Dimensions) -> None:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    for what, left, right in (("contracting", x_contract, y_contract), ("batch", x_batch, y_batch)):
        if len(left) != len(right):
            raise TypeError(
                f"dot_general requires equal numbers of lhs_{what} and rhs_{what} dimensions, got {left} and {right}."
            )
        for d, aval, side in [*((d, x, "lhs") for d in left), *((d, y, "rhs") for d in right)]:
            if not 0 <= d < aval.ndim:
                raise TypeError(
                    f"dot_general requires {side} {what} dimensions to be nonnegative and less than the number of axes of the {side} value, got {d} for shape {aval.shape}."
                )
        shapes = tuple(x.shape[d] for d in left), tuple(y.shape[d] for d in right)
        if shapes[0] != shapes[1]:
            raise TypeError(
                f"dot_general requires {what} dimensions to have the same shape, got {shapes[0]} and {shapes[1]}."
            )
    for side, contract, batch in (("lhs", x_contract, x_batch), ("rhs", y_contract, y_batch)):
        if len({*contract, *batch}) != len(contract) + len(batch):
            raise TypeError(
                f"dot_general requires {side} batch dimensions to be disjoint from contracting dimensions, got {batch} and {contract}."
            )


def _type_rule(
    x: ShapedArray, y: ShapedArray, *, dimension_numbers: Dimensions, precision: tuple[Precision, ...] | None,
    preferred_element_type: np.dtype | None, out_sharding: Any = None,
) -> ShapedArray:  # fmt: skip
    _check_dimensions(x, y, dimension_numbers)
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    shape = (
        *(x.shape[d] for d in x_batch),
        *(x.shape[d] for d in range(x.ndim) if d not in x_contract and d not in x_batch),
        *(y.shape[d] for d in range(y.ndim) if d not in y_contract and d not in y_batch),
    )
    dtype = preferred_element_type
    if dtype is None:
        dtype = x.dtype if x.dtype == y.dtype else _common_dtype(x, y)
    return ShapedArray(shape, dtype, x.weak_type and y.weak_type and preferred_element_type in (None, x.dtype))


def _common_dtype(x: ShapedArray, y: ShapedArray) -> Any:
    """The dtype of products of two, also where operators promote nothing: the operation itself takes both."""
    with config.numpy_dtype_promotion("standard"):
        return dtypes.result_type_of([(x.dtype, x.weak_type), (y.dtype, y.weak_type)])[0]


def _divides(
    avals: Any, out: ShapedArray, *, dimension_numbers: Dimensions, out_sharding: Any = None, **params: Any
) -> tuple[Any, ...]:
    """Batch axes as both say, free axes as their operand says; contracted axes must not be divided by the same mesh axes.

    Raises:
      ShardingTypeError: operands say different things, devices would have parts of sums, or one mesh axis would divide two axes.
    """
    if out_sharding is UNCONSTRAINED:
        return ((),) * out.ndim
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x, y = (aval.divided for aval in avals)
    for i, j in zip(x_contract, y_contract, strict=True):
        if agreed(x[i], y[j], f"the contracted axes {i} and {j}") and x[i] == y[j]:
            raise ShardingTypeError(
                f"{x[i]} divides the contracted axes {i} and {j} of the operands, so it is ambiguous how the result is "
                "divided: say so by `out_sharding`"
            )
    batch = [agreed(x[i], y[j], f"the batch axes {i} and {j}") for i, j in zip(x_batch, y_batch, strict=True)]
    x_free = [names for axis, names in enumerate(x) if axis not in x_contract and axis not in x_batch]
    y_free = [names for axis, names in enumerate(y) if axis not in y_contract and axis not in y_batch]
    both = {name for names in x_free for name in names}.intersection(name for names in y_free for name in names)
    if both:
        raise ShardingTypeError(
            f"{', '.join(map(repr, sorted(both, key=str)))} divides free axes of both operands, so it is ambiguous which axis of the "
            "result it divides: say so by `out_sharding`"
        )
    return (*batch, *x_free, *y_free)


_SMALL = ("float8", "int4", "uint4", "int2", "uint2", "float4")


def _lower(
    ctx: LoweringContext, x: Value, y: Value, *, dimension_numbers: Dimensions, precision: tuple[Precision, ...] | None,
    preferred_element_type: np.dtype | None, out_sharding: Any = None,
) -> list[Value]:  # fmt: skip
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_aval, y_aval, out = ctx.avals_in[0], ctx.avals_in[1], ctx.avals_out[0]
    work = _work_dtype(x_aval.dtype, y_aval.dtype, out.dtype, ctx.platform)
    if work is not None:
        wide_x, wide_y = ShapedArray(x_aval.shape, work), ShapedArray(y_aval.shape, work)
        x, y = convert_ir(x, x_aval, wide_x), convert_ir(y, y_aval, wide_y)
    element = x_aval.dtype if work is None else work
    same = (kind_of(element) == "complex") == (kind_of(out.dtype) == "complex")
    accumulated = out if same and work is None else ShapedArray(out.shape, element)
    numbers = builder.attribute(
        f"#stablehlo.dot<lhs_batching_dimensions = {list(x_batch)}, rhs_batching_dimensions = {list(y_batch)}, "
        f"lhs_contracting_dimensions = {list(x_contract)}, rhs_contracting_dimensions = {list(y_contract)}>"
    )
    attributes = {"dot_dimension_numbers": numbers}
    if isinstance(precision, tuple):
        attributes["precision_config"] = precision_attribute(precision)
    algorithm = algorithm_attribute(precision, x_aval.dtype, y_aval.dtype, ctx.platform)
    if algorithm is not None:
        attributes["algorithm"] = algorithm
    result = builder.operation("stablehlo.dot_general", [builder.ir_type(accumulated)], [x, y], attributes).results[0]
    return [convert_ir(result, accumulated, out)]


def _work_dtype(x: np.dtype, y: np.dtype, out: np.dtype, platform: str) -> np.dtype | None:
    """The dtype to convert operands to where the platform has no product of theirs, else None."""
    small = any(name.startswith(prefix) for name in (x.name, y.name) for prefix in _SMALL)
    if x == y and not small:
        if platform == "cpu" and x.itemsize <= 2 and kind_of(x) == "floating":
            return np.dtype(np.float32)
        if platform == "cpu" and kind_of(x) in ("signed", "unsigned") and out != x and out.itemsize <= x.itemsize:
            return out  # wider results have kernels of their own
        return np.dtype(np.int32) if x == np.bool_ and out != np.bool_ else None
    kinds = {kind_of(x), kind_of(y)}
    if "complex" in kinds:
        return np.result_type(*(d if kind_of(d) == "complex" or d.itemsize == 8 else np.float32 for d in (x, y)))
    if (kind_of(out) == "floating" and out.itemsize < 4) or (kind_of(out) != "complex" and "floating" in kinds):
        return np.dtype(np.float64 if np.float64 in (x, y, out) else np.float32)
    return whole_bytes(out)


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    (x, y), (tx, ty) = primals, tangents
    out = dot_general_p.bind(x, y, **params)
    terms = []
    if type(tx) is not Zero:
        terms.append(dot_general_p.bind(tx, y, **params))
    if type(ty) is not Zero:
        terms.append(dot_general_p.bind(x, ty, **params))
    if not terms or not dtypes.is_inexact(typeof(out).dtype):
        return out, Zero.of(out)
    return out, terms[0] if len(terms) == 1 else slots.add(*terms)


def _transpose_side(
    ct: ArrayLike,
    y: ArrayLike,
    x_aval: ShapedArray,
    dimension_numbers: Dimensions,
    params: dict[str, Any],
    swapped: bool,
) -> Array:
    """The cotangent of one operand: contract the cotangent with the other over the other's free axes."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_rank, y_shape = x_aval.ndim, typeof(y).shape
    x_kept = [d for d in range(x_rank) if d not in x_contract and d not in x_batch]
    y_kept = [d for d in range(len(y_shape)) if d not in y_contract and d not in y_batch]
    batch = len(x_batch)
    ct_batch = tuple(range(batch))
    start = batch if swapped else batch + len(x_kept)
    ct_y = tuple(range(start, start + len(y_kept)))
    numbers = ((ct_y, tuple(y_kept)), (ct_batch, tuple(y_batch)))
    result = dot_general_p.bind(
        ct, y, dimension_numbers=numbers, precision=params["precision"],
        preferred_element_type=x_aval.dtype if params["preferred_element_type"] is not None or typeof(ct).dtype != typeof(y).dtype else None,
        out_sharding=None if typeof(ct).explicit is None and typeof(y).explicit is None else UNCONSTRAINED,
    )  # fmt: skip
    # The other axes of y, in its order: those that were contracted with x.
    remaining = [d for d in range(len(y_shape)) if d not in y_kept and d not in y_batch]
    order_of_y = {d: x_contract[y_contract.index(d)] for d in remaining}
    axes = [*x_batch, *x_kept, *(order_of_y[d] for d in remaining)]
    return convert(transpose(result, tuple(int(i) for i in np.argsort(axes))), x_aval.dtype)


def _transpose(
    ct: ArrayLike, x: Any, y: Any, *, dimension_numbers: Dimensions, precision: tuple[Precision, ...] | None,
    preferred_element_type: np.dtype | None, out_sharding: Any = None,
) -> list[Any]:  # fmt: skip
    if type(ct) is Zero:
        return [None, None]
    params = {"precision": precision, "preferred_element_type": preferred_element_type}
    if is_undefined_primal(x):
        return [_transpose_side(ct, y, x.aval, dimension_numbers, params, False), None]
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    mirrored = ((y_contract, x_contract), (y_batch, x_batch))
    return [None, _transpose_side(ct, x, y.aval, mirrored, params, True)]


def _batch(
    values: Sequence[ArrayLike], dims: Sequence[Any], *, dimension_numbers: Dimensions, **params: Any
) -> tuple[Any, int]:
    (x, y), (x_dim, y_dim) = values, dims
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers

    def moved(axes: Sequence[int], dim: int | None) -> tuple[int, ...]:
        return tuple(a if dim is None or a < dim else a + 1 for a in axes)

    contract = (moved(x_contract, x_dim), moved(y_contract, y_dim))
    batch_x, batch_y = moved(x_batch, x_dim), moved(y_batch, y_dim)
    if x_dim is not None and y_dim is not None:
        numbers = (contract, ((x_dim, *batch_x), (y_dim, *batch_y)))
        return dot_general_p.bind(x, y, dimension_numbers=numbers, **params), 0
    out = dot_general_p.bind(x, y, dimension_numbers=(contract, (batch_x, batch_y)), **params)
    count = len(x_batch)
    if x_dim is not None:
        free = [d for d in range(typeof(x).ndim) if d not in contract[0] and d not in batch_x]
        return out, count + free.index(x_dim)
    x_free = typeof(x).ndim - len(x_contract) - count
    free = [d for d in range(typeof(y).ndim) if d not in contract[1] and d not in batch_y]
    return out, count + x_free + free.index(y_dim)


def _cost(eqn: JaxprEqn) -> float:
    (contracted, _), _ = eqn.params["dimension_numbers"]
    length = math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted)
    return largest_size(eqn) + eqn.outvars[0].aval.size * length / PRODUCTS_PER_ADDITION


dot_general_p.type_rule, dot_general_p.divides = _type_rule, _divides
dot_general_p.lower[None] = _lower
dot_general_p.forms["cpu"] = product_form
transpose_p.forms["cpu"] = transpose_form(dot_general_p)
dot_general_p.cost = _cost
dot_general_p.jvp = _jvp
dot_general_p.transpose = _transpose
dot_general_p.batch = _batch


def dot_general(
    lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: Any, precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None, *, out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """Contract two arrays over any axes, with any batch axes.

    Args:
      lhs, rhs: arrays.
      dimension_numbers: ``((lhs contracting, rhs contracting), (lhs batch, rhs batch))``, sequences of ints.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
      out_sharding: how the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array of the promoted dtype with the batch axes, then the free axes of ``lhs``, then those of ``rhs``.
    Raises:
      TypeError: axes or lengths that don't fit, a ``preferred_element_type`` narrower than integers.
    Example: ``lax.dot_general(x, y, (((1,), (0,)), ((), ())))`` is a matrix product. Source: StableHLO ``dot_general``.
    """
    if out_sharding is not None:
        product = functools.partial(
            dot_general, dimension_numbers=dimension_numbers, precision=precision,
            preferred_element_type=preferred_element_type,
        )  # fmt: skip
        return slots.as_asked(out_sharding, product, lhs, rhs)
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    numbers = (
        (as_indices(x_contract), as_indices(y_contract)),
        (as_indices(x_batch), as_indices(y_batch)),
    )
    x, y = checked_operand("dot_general", lhs), checked_operand("dot_general", rhs)
    operands = (typeof(x).dtype, typeof(y).dtype)
    preferred = accumulation_dtype("dot_general", operands, preferred_element_type, _ACCUMULATED)
    return dot_general_p.bind(
        x, y, dimension_numbers=numbers, precision=canonical_precision(precision), preferred_element_type=preferred,
        out_sharding=None,
    )  # fmt: skip


def dot(
    lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None, preferred_element_type: OptionalDType = None, *,
    dimension_numbers: tuple[Any, ...] | None = None, out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """Products of vectors and matrices; with ``dimension_numbers``, ``dot_general``.

    Args:
      lhs, rhs: arrays of one or two dimensions (of any number with ``dimension_numbers``).
      dimension_numbers: ``((lhs contracting, rhs contracting), (lhs batch, rhs batch))``, sequences of ints.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: scalar, vector or matrix.
    Raises:
      ValueError: other ranks, or lengths that differ.
    Example: ``lax.dot(jnp.ones(3), jnp.ones(3))`` is 3.
    """
    if preferred_element_type is not None:
        preferred_element_type = requested_dtype("dot", preferred_element_type)
    if dimension_numbers is not None:
        return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding)
    x, y = typeof(checked_operand("dot", lhs)), typeof(checked_operand("dot", rhs))
    if not (1 <= x.ndim <= 2 and 1 <= y.ndim <= 2):
        raise ValueError(
            f"dot of arrays other than vectors and matrices needs dimension_numbers, got shapes {x.shape} and {y.shape}."
        )
    if x.shape[-1] != y.shape[0]:
        raise ValueError(f"Incompatible shapes for dot: got {x.shape} and {y.shape}.")
    numbers = (((x.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, numbers, precision, preferred_element_type, out_sharding=out_sharding)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Products of matrices over leading batch axes.

    Args:
      lhs, rhs: arrays of shapes ``(*batch, m, k)`` and ``(*batch, k, n)``.
      precision: a Precision or its name, a pair of them, or an algorithm.
    Example: ``lax.batch_matmul(jnp.ones((2, 3, 4)), jnp.ones((2, 4, 5))).shape`` is ``(2, 3, 5)``.
    """
    x, y = typeof(checked_operand("batch_matmul", lhs)), typeof(checked_operand("batch_matmul", rhs))
    if x.ndim < 2 or y.ndim < 2 or x.ndim != y.ndim:
        raise ValueError(f"Arguments to batch_matmul must have equal ranks of at least 2, got {x.ndim} and {y.ndim}")
    batch = tuple(range(x.ndim - 2))
    return dot_general(lhs, rhs, (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch)), precision)
