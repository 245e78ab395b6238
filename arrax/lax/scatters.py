"""Scatter: windows of an array, combined with updates at places that are data. Gather's transpose stands here too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_indices, check_callable
from arrax.core.explicit_axes import of_first
from arrax.core.function_info import describe_call
from arrax.core.functions import name_function
from arrax.core.interpreter import Primitive, Tracer
from arrax.core.operand_memories import memories_of_operands
from arrax.core.program import ClosedJaxpr
from arrax.core.types import ShapedArray, Zero, instantiate, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.staging import stage
from arrax.lax.arithmetic import add, div, eq, max_, min_, mul, neg, sub
from arrax.lax.conversion import convert
from arrax.lax.filled_arrays import full
from arrax.lax.gathers import (
    ONE_HOT,
    GatherDimensionNumbers,
    GatherScatterMode,
    gather_p,
    shifted,
)
from arrax.lax.operand_checks import anything, checked_operand, numeric, scalar_like
from arrax.lax.scatter_lowering import ScatterDimensionNumbers, lower_scatter, scatter_type_rule, window_sizes
from arrax.lax.selection import select
from arrax.lax.shapes import broadcast_in_dim
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent

# ---- batching -------------------------------------------------------------------------------------------------------


def _batch(primitive: Primitive) -> Callable[..., tuple[Any, int]]:
    def rule(
        values: Sequence[ArrayLike], dims: Dims, *, dimension_numbers: ScatterDimensionNumbers, **params: Any
    ) -> tuple[Any, int]:
        size = batch_size(values, dims)
        x, updates = bdim_at_front(values[0], dims[0], size), bdim_at_front(values[2], dims[2], size)
        indices, numbers = values[1], dimension_numbers
        window, batching = shifted(numbers.update_window_dims), shifted(numbers.operand_batching_dims)
        index_batching = numbers.scatter_indices_batching_dims
        if dims[1] is None:
            window = (0, *window)
        else:
            indices = bdim_at_front(indices, dims[1], size)
            batching, index_batching = (0, *batching), (0, *shifted(index_batching))
        moved = ScatterDimensionNumbers(
            window, shifted(numbers.inserted_window_dims), shifted(numbers.scatter_dims_to_operand_dims),
            batching, index_batching,
        )  # fmt: skip
        return primitive.bind(x, indices, updates, dimension_numbers=moved, **params), 0

    return rule


# ---- derivatives ----------------------------------------------------------------------------------------------------


def gather_back(x: ArrayLike, indices: ArrayLike, updates: ShapedArray, params: dict[str, Any]) -> Array:
    """The windows of ``x`` that a scatter with these parameters writes to; zeros for those that it leaves out."""
    numbers = params["dimension_numbers"]
    shape = typeof(x).shape
    sizes = tuple(
        min(size, length) for size, length in zip(window_sizes(shape, updates.shape, numbers), shape, strict=True)
    )
    taken = GatherDimensionNumbers(
        tuple(numbers.update_window_dims), tuple(numbers.inserted_window_dims),
        tuple(numbers.scatter_dims_to_operand_dims), tuple(numbers.operand_batching_dims),
        tuple(numbers.scatter_indices_batching_dims),
    )  # fmt: skip
    return gather_p.bind(
        x, indices, dimension_numbers=taken, slice_sizes=sizes, fill_value=0, mode=params["mode"],
        indices_are_sorted=params["indices_are_sorted"], unique_indices=params["unique_indices"],
    )  # fmt: skip


def _gather_transpose(
    ct: ArrayLike,
    x: UndefinedPrimal,
    indices: ArrayLike,
    *,
    fill_value: int | None,
    slice_sizes: tuple[int, ...],
    **params: Any,
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(x.aval.to_tangent_aval()), None]
    numbers: GatherDimensionNumbers = params["dimension_numbers"]
    zeros = full(x.aval.shape, 0, typeof(ct).dtype)
    if typeof(ct).size == 0:
        return [zeros, None]
    mirrored = {**params, "dimension_numbers": ScatterDimensionNumbers(*numbers)}
    return [_bind(scatter_add_p, zeros, indices, ct, mirrored), None]


gather_p.transpose = _gather_transpose


def _linear_jvp(primitive: Primitive) -> Any:
    """Sums and differences: linear in operand and updates."""

    def rule(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
        x, indices, updates = primals
        out = primitive.bind(*primals, **params)
        t, _, tu = tangents
        if type(t) is Zero and type(tu) is Zero:
            return out, Zero.of(out)
        return out, primitive.bind(instantiate(t), indices, instantiate(tu), **params)

    return rule


def _linear_transpose(sign: Callable[[Any], Any]) -> Any:
    def rule(
        ct: ArrayLike, x: Array | UndefinedPrimal, indices: ArrayLike, updates: UndefinedPrimal, **params: Any
    ) -> list[Any]:
        if type(ct) is Zero:
            return [_zero_of(x), None, _zero_of(updates)]
        for_updates = None
        if is_undefined_primal(updates):
            for_updates = sign(gather_back(ct, indices, updates.aval, params))
        return [ct if is_undefined_primal(x) else None, None, for_updates]

    return rule


def _zero_of(value: Any) -> Any:
    return Zero(value.aval.to_tangent_aval()) if is_undefined_primal(value) else None


def _product_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    x, indices, updates = primals
    t, _, tu = tangents
    out = scatter_mul_p.bind(*primals, **params)
    total = None if type(t) is Zero else scatter_mul_p.bind(t, indices, updates, **params)
    if type(tu) is not Zero:
        if not params["unique_indices"]:
            raise NotImplementedError(
                "the derivative of scatter_mul with respect to its updates needs unique_indices=True: promise that no "
                "element is multiplied twice, or take the products before the scatter"
            )
        change = mul(x, _bind(scatter_add_p, full(typeof(x).shape, 0, typeof(x).dtype), indices, tu, params))
        total = change if total is None else add(total, change)
    return out, Zero.of(out) if total is None else total


def _product_transpose(
    ct: ArrayLike, x: UndefinedPrimal, indices: np.ndarray, updates: np.ndarray, **params: Any
) -> list[Any]:
    if type(ct) is Zero:
        return [_zero_of(x), None, None]
    return [scatter_mul_p.bind(ct, indices, updates, **params), None, None]


def _minmax_jvp(primitive: Primitive) -> Any:
    """The mean of the tangents of all that attain the extreme: the old element, and updates of it."""

    def rule(primals: Sequence[ArrayLike], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        x, indices, updates = primals
        t, _, tu = tangents
        out = primitive.bind(*primals, **params)
        dtype, shape = typeof(out).dtype, typeof(out).shape
        zeros = full(shape, 0, dtype)
        attained = convert(eq(updates, gather_back(out, indices, typeof(updates), params)), dtype)
        kept = convert(eq(x, out), dtype)
        count = _bind(scatter_add_p, kept, indices, attained, params)
        terms = [] if type(t) is Zero else [mul(kept, t)]
        if type(tu) is not Zero:
            terms.append(_bind(scatter_add_p, zeros, indices, mul(attained, tu), params))
        if not terms:
            return out, Zero.of(out)
        return out, div(terms[0] if len(terms) == 1 else add(*terms), count)

    return rule


def _replace_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """Where an element is written twice, one update wins: numbers scattered in the same way tell which."""
    if params["update_jaxpr"] is not None:
        raise NotImplementedError("scatter_apply JVP not implemented: use at[...].get() and at[...].set() instead")
    x, indices, updates = primals
    t, _, tu = tangents
    out = scatter_p.bind(*primals, **params)
    if type(t) is Zero and type(tu) is Zero:
        return out, Zero.of(out)
    if params["unique_indices"] or type(tu) is Zero:
        return out, scatter_p.bind(instantiate(t), indices, instantiate(tu), **params)
    aval = typeof(updates)
    outer = [dim for dim in range(aval.ndim) if dim not in params["dimension_numbers"].update_window_dims]
    scattered = [aval.shape[dim] for dim in outer]
    count = int(np.prod(scattered, dtype=np.int64))
    numbers = broadcast_in_dim(np.arange(1, count + 1, dtype=np.int32).reshape(scattered), aval.shape, outer)
    winners = scatter_p.bind(full(typeof(x).shape, 0, np.int32), indices, numbers, **params)
    won = eq(gather_back(winners, indices, aval, params), numbers)
    tu = select(won, tu, full(aval.shape, 0, typeof(tu).dtype))
    untouched = eq(winners, full(typeof(x).shape, 0, np.int32))
    base = full(typeof(x).shape, 0, typeof(tu).dtype)
    if type(t) is not Zero:
        base = select(untouched, t, base)
    return out, _bind(scatter_add_p, base, indices, tu, params)


def _replace_transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    """Of a scatter with unique indices, or of one that writes zeros."""
    if type(ct) is Zero:
        return [_zero_of(x), None, _zero_of(updates)]
    ct_x = ct_updates = None
    if is_undefined_primal(x):
        shape = (updates.aval if is_undefined_primal(updates) else typeof(updates)).shape
        ct_x = scatter_p.bind(ct, indices, full(shape, 0, typeof(ct).dtype), **params)
    if is_undefined_primal(updates):
        ct_updates = gather_back(ct, indices, updates.aval, params)
    return [ct_x, None, ct_updates]


# ---- the primitives -------------------------------------------------------------------------------------------------


def _primitive(name: str, combine: Any, accepts: frozenset) -> Primitive:
    primitive = Primitive(name, cost=16)
    primitive.type_rule, primitive.divides = scatter_type_rule(name.replace("-", "_"), accepts), of_first
    primitive.memories = memories_of_operands
    primitive.lower[None] = lower_scatter(combine)
    primitive.batch = _batch(primitive)
    return primitive


def _bind(primitive: Primitive, x: Array, indices: ArrayLike, updates: Any, params: dict[str, Any]) -> Array:
    names = ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")
    return primitive.bind(
        x, indices, updates, **{name: params[name] for name in names}, update_jaxpr=None, update_consts=()
    )


# fmt: off
scatter_p     = _primitive("scatter",     None, anything)
scatter_add_p = _primitive("scatter-add", add,  numeric)
scatter_sub_p = _primitive("scatter-sub", sub,  numeric)
scatter_mul_p = _primitive("scatter-mul", mul,  numeric)
scatter_min_p = _primitive("scatter-min", min_, anything)
scatter_max_p = _primitive("scatter-max", max_, anything)

scatter_p.jvp,     scatter_p.transpose     = _replace_jvp, _replace_transpose
scatter_add_p.jvp, scatter_add_p.transpose = _linear_jvp(scatter_add_p), _linear_transpose(lambda ct: ct)
scatter_sub_p.jvp, scatter_sub_p.transpose = _linear_jvp(scatter_sub_p), _linear_transpose(neg)
scatter_mul_p.jvp, scatter_mul_p.transpose = _product_jvp, _product_transpose
scatter_min_p.jvp, scatter_max_p.jvp       = _minmax_jvp(scatter_min_p), _minmax_jvp(scatter_max_p)
# fmt: on


def _parameters(
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode | str | None,
    program: ClosedJaxpr | None = None,
) -> dict[str, Any]:
    parsed = GatherScatterMode.from_any(mode)
    return {
        "dimension_numbers": ScatterDimensionNumbers(*(as_indices(dims) for dims in dimension_numbers)),
        "indices_are_sorted": bool(indices_are_sorted), "unique_indices": bool(unique_indices),
        "mode": GatherScatterMode.FILL_OR_DROP if parsed is ONE_HOT else parsed,
        "update_jaxpr": program, "update_consts": (),
    }  # fmt: skip


Mode = str | GatherScatterMode | None


def _public(name: str, primitive: Primitive, doc: str) -> Any:
    """The public function of a scatter."""

    def function(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
    ) -> Array:
        x, indices, new = (
            checked_operand(name, operand),
            checked_operand(name, scatter_indices),
            checked_operand(name, updates),
        )
        aval = typeof(x)
        params = _parameters(dimension_numbers, indices_are_sorted, unique_indices, mode)
        if isinstance(aval.dtype, dtypes.ExtendedDType):
            return aval.dtype.scatter(name, x, indices, new, **params)  # type: ignore[attr-defined]
        if type(new) in (int, float, bool, complex):
            new = scalar_like(new, aval)
        return primitive.bind(x, indices, new, **params)

    name_function(function, name)
    function.__module__ = "arrax.lax"
    function.__doc__ = (
        f"{doc}.\n\n"
        "Args:\n  operand: array.\n"
        "  scatter_indices: integer array; its last axis holds the components of an index: where a window begins.\n"
        "  updates: array of the operand's dtype with one window per index.\n"
        "  dimension_numbers: which axis means what, see ``ScatterDimensionNumbers``.\n"
        "  indices_are_sorted: a promise that the indices ascend.\n"
        "  unique_indices: a promise that no element is updated twice.\n"
        "  mode: what happens out of bounds, see ``GatherScatterMode``; by default such windows are left out.\n"
        "Returns: array like the operand. Of updates of one element, the order is not defined.\n"
        "Raises:\n  TypeError: dtypes that differ, dimension numbers that don't fit the shapes.\n"
        "  ValueError: an unknown mode.\n"
        f"Example: ``lax.{name}(x, jnp.array([[1]]), jnp.array([2.]), lax.ScatterDimensionNumbers((), (0,), (0,)))``.\n"
        "Source: StableHLO ``scatter``."
    )
    function.primitive = primitive  # type: ignore[attr-defined]
    return function


# fmt: off
scatter     = _public("scatter",     scatter_p,     "Replace windows of an array")
scatter_add = _public("scatter_add", scatter_add_p, "Add to windows of an array")
scatter_sub = _public("scatter_sub", scatter_sub_p, "Subtract from windows of an array")
scatter_mul = _public("scatter_mul", scatter_mul_p, "Multiply windows of an array")
scatter_min = _public("scatter_min", scatter_min_p, "Take the lesser of old and new elements in windows of an array")
scatter_max = _public("scatter_max", scatter_max_p, "Take the greater of old and new elements in windows of an array")
# fmt: on


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Apply a function to the elements of windows of an array, once for each time that an element is indexed.

    Args:
      operand: array.
      scatter_indices: integer array; its last axis holds the components of an index.
      func: function of a scalar that returns a scalar of the same dtype.
      dimension_numbers: which axis means what, see ``ScatterDimensionNumbers``.
      update_shape: the shape that updates would have.
      indices_are_sorted, unique_indices, mode: as in ``scatter``.
    Returns: array like the operand.
    Raises:
      TypeError: ``func`` changes the dtype or the shape, or closes over traced values.
    Example: ``lax.scatter_apply(x, jnp.array([[0]]), lax.sin, ScatterDimensionNumbers((), (0,), (0,)), update_shape=(1,))``.
    """
    check_callable(func)
    x, indices = checked_operand("scatter_apply", operand), checked_operand("scatter_apply", scatter_indices)
    scalar = ShapedArray((), typeof(x).dtype)
    jaxpr, consts = stage(
        lambda old, new: [func(old)], [scalar, scalar], describe_call(func, "scatter_apply", [scalar])
    )
    out = jaxpr.outvars[0].aval
    if (out.shape, out.dtype) != ((), scalar.dtype):
        raise TypeError(f"scatter_apply: the function must return {scalar.str_short(True)}, got {out.str_short(True)}")
    if any(isinstance(const, Tracer) for const in consts):
        raise TypeError("scatter_apply: the function must not close over traced values")
    program = ClosedJaxpr(jaxpr, consts)
    zeros = full(tuple(update_shape), 0, scalar.dtype)
    params = _parameters(dimension_numbers, indices_are_sorted, unique_indices, mode, program)
    return scatter_p.bind(x, indices, zeros, **params)
