"""How families of primitives are made: one entry says all that an operation means.

``unary`` and ``binary`` return the public function of an entry; its primitive is ``function.primitive``. Rules call
operations (``mul(t, cos(x))``), never Python's operators, which belong to the NumPy API and promote types.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from arrax.core.calls import hands_on
from arrax.core.explicit_axes import elementwise as divided_elementwise
from arrax.core.functions import name_function
from arrax.core.interpreter import Primitive, Rounding, context
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.interpreters.batching import batch_size
from arrax.interpreters.lowering import builder
from arrax.lax.operand_checks import (
    accumulator,
    broadcast_shapes_strict,
    check_dtype,
    check_same_dtypes,
    checked_operand,
    floating,
    match_scalars,
)
from arrax.lax.shape_slots import broadcast_to_shape, shape_slots
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Value
    from arrax.interpreters.lowering.contexts import LoweringContext

# ---- lowering ---------------------------------------------------------------------------------------------------------


def lower_named(hlo_name: str, accepts_scalars: bool = True, **attributes: str) -> Callable[..., Any]:
    """The lowering to one StableHLO (or ``chlo.``) operation; scalar operands are repeated first."""
    full = hlo_name if "." in hlo_name else f"stablehlo.{hlo_name}"

    def rule(ctx: LoweringContext, *values: Value, **params: Any) -> list[Any]:
        aval = ctx.avals_out[0]
        if accepts_scalars and len(values) > 1:
            values = repeat_scalars(ctx, values)
        parsed = {key: builder.attribute(text) for key, text in attributes.items()} if attributes else None
        return [builder.operation(full, [builder.ir_type(aval)], values, parsed).results[0]]

    return rule


def repeat_scalars(
    ctx: LoweringContext, values: Sequence[Value], shape: tuple[int, ...] | None = None
) -> tuple[Any, ...]:
    """Operands with scalars repeated to the shape of the result."""
    shape = ctx.avals_out[0].shape if shape is None else shape
    return tuple(
        value if aval.shape == shape else builder.broadcast(value, ShapedArray(shape, aval.dtype), ())
        for value, aval in zip(values, ctx.avals_in, strict=True)
    )


# ---- the makers -------------------------------------------------------------------------------------------------------


def elementwise_rule(
    name: str, accepts: Sequence[frozenset], result: Callable[..., Any] | None, same_dtypes: bool
) -> Callable[..., Any]:
    """The type rule of an elementwise operation."""

    def rule(*avals: ShapedArray, **params: Any) -> ShapedArray:
        if len(avals) != len(accepts):
            raise TypeError(f"{name} takes {len(accepts)} operands, got {len(avals)}")
        for aval, kinds in zip(avals, accepts, strict=True):
            check_dtype(name, aval, kinds)
        dtype = check_same_dtypes(name, avals) if same_dtypes and len(avals) > 1 else avals[0].dtype
        shape = avals[0].shape if len(avals) == 1 else broadcast_shapes_strict(name, avals)
        weak = all(aval.weak_type for aval in avals)
        if result is not None:
            dtype = result(*[aval.dtype for aval in avals], **params)
            weak = weak and dtype != np.bool_
        return ShapedArray(shape, dtype, weak)

    return memoized_rule(rule)


def memoized_rule(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A type rule without parameters remembers its answers: types are interned, so the lookup is one hash."""
    known: dict[Any, Any] = {}

    def remembered(*avals: ShapedArray, **params: Any) -> Any:
        if params:
            return rule(*avals, **params)
        found = known.get(avals)
        if found is None:
            if len(known) > 4096:
                known.clear()
            found = known[avals] = rule(*avals)
        return found

    return remembered


def through_float32(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A lowering for the CPU that computes floats of up to 16 bits in float32, and rounds once, whatever is around them."""

    def lowered(ctx: LoweringContext, *values: Value, **params: Any) -> list[Value]:
        dtype = ctx.avals_out[0].dtype
        work = accumulator(dtype)
        if ctx.platform != "cpu" or work == dtype or any(aval.dtype != dtype for aval in ctx.avals_in):
            return rule(ctx, *values, **params)
        wide = [ShapedArray(aval.shape, work) for aval in ctx.avals_in]
        out = ShapedArray(ctx.avals_out[0].shape, work)
        inner = ctx.replace(avals_in=wide, avals_out=[out])
        widened = [builder.op("convert", aval, value) for aval, value in zip(wide, values, strict=True)]
        (result,) = rule(inner, *widened, **params)
        return [builder.op("convert", ShapedArray(out.shape, dtype), result)]

    return lowered


def elementwise(
    name: str,
    accepts: Sequence[frozenset],
    lower: Callable[..., Any],
    *,
    jvp: Sequence[Callable[..., Any] | None] | None = None,
    transpose: Callable[..., Any] | None = None,
    result: Callable[..., Any] | None = None,
    same_dtypes: bool = True,
    rounding: Rounding | None = None,
    cost: float | None = None,
) -> Primitive:
    """An elementwise primitive of any number of operands.

    Args:
      accepts: for each operand, the kinds of dtypes it takes.
      jvp: for each operand, ``f(*operands, answer, tangent, **params)`` or None where the derivative is zero.
      result: ``f(*dtypes, **params)`` -> dtype of the result, where it is not the operands'.
      rounding, cost: the primitive's slots.
    """
    primitive = Primitive(name, rounding=rounding, cost=cost)
    primitive.type_rule, primitive.divides = elementwise_rule(name, accepts, result, same_dtypes), divided_elementwise
    primitive.lower[None] = lower if rounding is not None else through_float32(lower)
    primitive.batch = batch_with_ranks(primitive)
    if jvp is not None:
        primitive.jvp = compose_jvp(primitive, jvp)
    primitive.transpose = transpose
    return primitive


def batch_with_ranks(primitive: Primitive) -> Callable[..., Any]:
    """The batching rule of an elementwise operation; per-example scalars are spread over the axes of arrays beside them."""

    def rule(values: Sequence[Any], dims: Dims, **params: Any) -> tuple[Any, Any]:
        if len(values) == 1:
            out = primitive.bind(*values, **params)
            return (out, [dims[0]] * len(out)) if primitive.multiple_results else (out, dims[0])
        ranks = [typeof(x).ndim - (d is not None) for x, d in zip(values, dims, strict=True)]
        rank = max(ranks)
        present = {d for d in dims if d is not None}
        simple = len(present) == 1 and all(
            (d is not None and r == rank) or (d is None and r == 0) for d, r in zip(dims, ranks, strict=True)
        )
        if simple:
            out, dim = primitive.bind(*values, **params), present.pop()
        else:
            size = batch_size(values, dims)
            examples = [typeof(x).update(shape=example_shape(x, d)) for x, d in zip(values, dims, strict=True)]
            shape = broadcast_shapes_strict(primitive.name, examples)
            aligned = [_broadcast_example(x, d, r, size, shape) for x, d, r in zip(values, dims, ranks, strict=True)]
            out, dim = primitive.bind(*aligned, **params), 0
        return (out, [dim] * len(out)) if primitive.multiple_results else (out, dim)

    return rule


def example_shape(value: ArrayLike, dim: int | None) -> tuple[int, ...]:
    """The shape that a value has for one example of a batch."""
    shape = typeof(value).shape
    return shape if dim is None else shape[:dim] + shape[dim + 1 :]


def _broadcast_example(value: ArrayLike, dim: int | None, rank: int, size: int, shape: tuple[int, ...]) -> ArrayLike:
    """An operand with the batch axis in front of ``shape``; plain scalars stay."""
    if dim is None:
        return value if rank == 0 else shape_slots.broadcast_in_dim(value, (size, *shape), tuple(range(1, rank + 1)))
    value = slots.move_axis(value, dim, 0) if dim != 0 else value
    if rank == len(shape):
        return value
    return shape_slots.broadcast_in_dim(value, (size, *shape), (0,))


def compose_jvp(primitive: Primitive, rules: Sequence[Callable[..., Any] | None]) -> Callable[..., Any]:
    """The jvp slot made of one derivative per operand: their sum."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        answer = primitive.bind(*primals, **params)
        total = None
        for derivative, tangent in zip(rules, tangents, strict=True):
            if type(tangent) is Zero or derivative is None:
                continue
            term = derivative(*primals, answer, tangent, **params)
            if type(term) is Zero:
                continue
            total = term if total is None else slots.add(total, term)
        aval = typeof(answer)
        if total is None:
            return answer, Zero(aval.to_tangent_aval())
        return answer, broadcast_to_shape(total, aval.shape)

    return rule


class Unary(Protocol):
    """The public function of an operation on one array."""

    primitive: Primitive
    __name__: str

    def __call__(self, x: ArrayLike) -> Array: ...


class Binary(Protocol):
    """The public function of an operation on two arrays of one dtype."""

    primitive: Primitive
    __name__: str

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Array: ...


def unary(
    name: str,
    accepts: frozenset,
    lower: str | Callable[..., Any],
    *,
    jvp: Callable[..., Any] | None = None,
    linear: bool = False,
    transpose: Callable[..., Any] | None = None,
    result: Callable[..., Any] | None = None,
    rounding: Rounding | None = None,
    cost: float | None = None,
    doc: str = "",
) -> Unary:
    """A unary elementwise operation: returns its public function.

    Args:
      lower: name of the StableHLO (or ``chlo.``) operation, or a lowering rule.
      jvp: ``f(x, answer, tangent)``; None where the derivative is zero.
      linear: the operation is its own derivative and transposes to itself (neg, real-linear ones give ``transpose``).
      rounding, cost: the primitive's slots.
    """
    rule = lower_named(lower) if isinstance(lower, str) else lower
    primitive = elementwise(
        name, [accepts], rule, jvp=[jvp], transpose=transpose, result=result, rounding=rounding, cost=cost
    )
    if linear:
        primitive.jvp = compose_jvp(primitive, [lambda x, ans, t: primitive.bind(t)])
        primitive.transpose = transpose or (lambda ct, x: [primitive.bind(ct) if type(ct) is not Zero else ct])

    def function(x: ArrayLike) -> Array:
        return context.interpreter.process(primitive, (checked_operand(name, x),), {})

    return public(function, primitive, name, doc, "x", accepts)


def binary(
    name: str,
    accepts: frozenset,
    lower: str | Callable[..., Any],
    *,
    jvp: Sequence[Callable[..., Any] | None] | None = None,
    transpose: Callable[..., Any] | None = None,
    result: Callable[..., Any] | None = None,
    rounding: Rounding | None = None,
    cost: float | None = None,
    doc: str = "",
    operands: tuple[str, str] = ("x", "y"),
) -> Binary:
    """A binary elementwise operation: returns its public function.

    Args:
      jvp: two functions ``f(x, y, answer, tangent)``, one per operand.
      rounding, cost: the primitive's slots.
      operands: the names of the public function's parameters.
    """
    rule = lower_named(lower) if isinstance(lower, str) else lower
    primitive = elementwise(
        name, [accepts, accepts], rule, jvp=jvp or [None, None], transpose=transpose, result=result, rounding=rounding,
        cost=cost,
    )  # fmt: skip

    def function(x: ArrayLike, y: ArrayLike) -> Array:
        return context.interpreter.process(primitive, match_scalars(name, x, y), {})

    if operands == ("x", "y"):
        return public(function, primitive, name, doc, ", ".join(operands), accepts)
    renamed = public(_with_parameters(function, operands), primitive, name, doc, ", ".join(operands), accepts)
    hands_on(renamed.__code__)
    return renamed


def _with_parameters(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """A function whose parameters have other names."""
    signature = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])

    def renamed(*args: Any, **kwargs: Any) -> Array:
        return function(*signature.bind(*args, **kwargs).args)

    renamed.__signature__ = signature  # type: ignore[attr-defined]
    return renamed


def public(
    function: Any, primitive: Primitive, name: str, doc: str, operands: str, accepts: frozenset = floating
) -> Any:
    """Name and document the public function of an entry, whose operands are of the kinds ``accepts``."""
    names = operands.split(", ")
    kinds = "of equal dtypes and shapes, scalars fit any shape" if len(names) > 1 else "of any shape"
    sample = "jnp.ones(3)" if "floating" in accepts else "jnp.arange(3)" if "signed" in accepts else "jnp.array([1j])"
    name_function(function, name)
    function.__module__ = "arrax.lax"
    function.__doc__ = (
        f"Elementwise {doc}.\n\n"
        f"Args:\n  {operands}: arrays or numbers {kinds}.\n"
        f"Returns: an array of the operands' shape.\n"
        f"Raises:\n  TypeError: a dtype that the operation does not take, or operands that differ.\n"
        f"Example: ``lax.{name}({', '.join(sample for _ in names)})``."
    )
    function.primitive = primitive
    return function
