"""Scattering to the element of each window that a computation selects, and combining by another computation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive
from arrax.core.program import ClosedJaxpr
from arrax.core.types import ShapedArray
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering import builder
from arrax.lax.computations import fill_region, program_body
from arrax.lax.window_geometry import Windows

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.xla.arrays import ArrayLike

select_and_scatter_p = Primitive("select_and_scatter", cost=1)


def _windows(window_dimensions: Sequence[Any], window_strides: Sequence[Any], padding: Sequence[Any]) -> Windows:
    ones = (1,) * len(window_dimensions)
    return Windows(tuple(window_dimensions), tuple(window_strides), tuple(map(tuple, padding)), ones, ones)


def _program(jaxpr: ClosedJaxpr, consts: Sequence[Any]) -> ClosedJaxpr:
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, consts)


def _type_rule(
    operand: ShapedArray, source: ShapedArray, init_value: ShapedArray, *, window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...], padding: tuple[tuple[int, ...], ...], **computations: Any,
) -> ShapedArray:  # fmt: skip
    if not operand.dtype == source.dtype == init_value.dtype:
        names = ", ".join(aval.dtype.name for aval in (operand, source, init_value))
        raise TypeError(f"select_and_scatter requires arguments to have the same dtypes, got {names}")
    shape = _windows(window_dimensions, window_strides, padding).output_shape(operand.shape)
    if source.shape != shape or init_value.shape != ():
        raise TypeError(
            f"select_and_scatter requires a source of shape {shape} and a scalar initial value, got {source.str_short(True)} "
            f"and {init_value.str_short(True)}"
        )
    return operand


def _lower(
    ctx: LoweringContext, operand: Value, source: Value, init_value: Value, *, select_jaxpr: ClosedJaxpr,
    select_consts: Sequence[Any], scatter_jaxpr: ClosedJaxpr, scatter_consts: Sequence[Any],
    window_dimensions: tuple[int, ...], window_strides: tuple[int, ...], padding: tuple[tuple[int, ...], ...],
) -> list[Value]:  # fmt: skip
    out = ctx.avals_out[0]
    attributes = _windows(window_dimensions, window_strides, padding).attributes()
    kept = {key: attributes[key] for key in ("window_dimensions", "window_strides", "padding")}
    values = [operand, source, init_value]
    operation = builder.operation("stablehlo.select_and_scatter", [builder.ir_type(out)], values, kept, 2)
    fill_region(ctx, operation, 0, [out.dtype], program_body(ctx, _program(select_jaxpr, select_consts)))
    fill_region(ctx, operation, 1, [out.dtype], program_body(ctx, _program(scatter_jaxpr, scatter_consts)))
    return list(operation.results)


def _batch(
    values: Sequence[ArrayLike],
    dims: Dims,
    *,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, ...], ...],
    **computations: Any,
) -> tuple[Any, int]:
    """Windows have length 1 along the batch axis."""
    if dims[2] is not None:
        raise NotImplementedError("select_and_scatter with an initial value per example")
    size = batch_size(values, dims)
    operand, source = (bdim_at_front(x, dim, size) for x, dim in zip(values[:2], dims[:2], strict=True))
    out = select_and_scatter_p.bind(
        operand, source, values[2], window_dimensions=(1, *window_dimensions), window_strides=(1, *window_strides),
        padding=((0, 0), *padding), **computations,
    )  # fmt: skip
    return out, 0


select_and_scatter_p.type_rule = _type_rule
select_and_scatter_p.lower[None] = _lower
select_and_scatter_p.batch = _batch
