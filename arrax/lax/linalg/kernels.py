"""How decompositions call LAPACK on the CPU and cuSOLVER on GPUs: names, layouts, failures; and how they are batched."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import in_call
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering import builder, sharding_text
from arrax.lax.operand_checks import kind_of
from arrax.xla import lapack

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Value
    from arrax.interpreters.lowering.contexts import LoweringContext

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_COMPLEX = {"float32": np.dtype(np.complex64), "float64": np.dtype(np.complex128)}
INT32 = np.dtype(np.int32)


def check_matrices(name: str, aval: ShapedArray, square: bool = False, half: bool = False) -> None:
    """Refuse what has no decomposition.

    Args:
      square: whether matrices must be square.
      half: whether 16-bit floats are welcome too.

    Raises:
      ValueError: matrices that are not square where they must be.
      TypeError: fewer than two axes; a dtype other than float32, float64, complex64 and complex128.
    """
    if square:
        check_square(name, aval)
    if aval.ndim < 2:
        raise TypeError(f"{name} requires an array of at least two axes, got shape {aval.shape}")
    if half and aval.dtype in builder.small_floats:
        return
    if not has_routines(aval):
        dtype = getattr(aval.dtype, "name", aval.dtype)
        raise TypeError(in_call(f"{name} requires float32, float64, complex64 or complex128, got {dtype}"))


def check_square(name: str, aval: ShapedArray) -> None:
    """Refuse what is not an array of square matrices, of whatever dtype.

    Raises:
      ValueError: matrices that are not square.
      TypeError: fewer than two axes.
    """
    if aval.ndim < 2:
        raise TypeError(f"{name} requires an array of at least two axes, got shape {aval.shape}")
    if aval.shape[-1] != aval.shape[-2]:
        raise ValueError(f"{name} requires square matrices, got shape {aval.shape}")


def check_choice(name: str, argument: str, value: object, choices: type[enum.Enum]) -> None:
    """Refuse what is no choice among algorithms.

    Raises:
      TypeError: neither None nor a member of ``choices``.
    """
    if value is not None and not isinstance(value, choices):
        raise TypeError(f"{name}: {argument} must be a member of {choices.__name__} or None, got {value!r}")


def has_routines(aval: ShapedArray) -> bool:
    """Whether LAPACK knows the dtype."""
    return not dtypes.is_extended(aval.dtype) and aval.dtype.name in _PREFIXES


def is_complex(aval: ShapedArray) -> bool:
    """Whether elements are complex."""
    return kind_of(aval.dtype) == "complex"


def complex_dtype(dtype: np.dtype) -> Any:
    """The complex dtype of the same precision."""
    return _COMPLEX.get(dtype.name, dtype)


def factor_type(aval: ShapedArray, shape: Sequence[int], dtype: np.dtype | None = None) -> ShapedArray:
    """The type of a factor: weak where the matrices are."""
    return ShapedArray(tuple(shape), aval.dtype if dtype is None else dtype, weak_type=aval.weak_type)


def weak_as(aval: ShapedArray, *others: ShapedArray) -> ShapedArray:
    """The type, weak only where those of the other operands are weak, too."""
    return aval if all(other.weak_type for other in others) else aval.strip_weak_type()


def integers(shape: Sequence[int]) -> ShapedArray:
    """The type of pivots and of reports of failure."""
    return ShapedArray(tuple(shape), INT32)


# ---- calls ----------------------------------------------------------------------------------------------------------


def _layout(aval: ShapedArray, matrix_rank: int) -> str:
    """Matrices are stored by columns, all else by rows."""
    order = list(range(aval.ndim - 1, -1, -1))
    if aval.ndim == matrix_rank and matrix_rank >= 2:
        order[:2] = [aval.ndim - 2, aval.ndim - 1]
    return f"dense<[{', '.join(map(str, order))}]> : tensor<{aval.ndim}xindex>"


def _attribute(value: int | str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{ord(value)} : ui8" if isinstance(value, str) else f"{value} : i32"


def kernel_call(
    target: str, values: Sequence[Value], avals: Sequence[ShapedArray], outs: Sequence[ShapedArray],
    attributes: dict[str, Any] | None = None, aliases: dict[int, int] | None = None,
    texts: dict[str, str] | None = None, matrix_rank: int | None = None,
) -> list[Value]:  # fmt: skip
    """A call of a kernel at the current insertion point.

    Args:
      values, avals: the operands. Arrays of ``matrix_rank`` axes (by default those of the first one) are matrices, stored
        by columns.
      outs: types of the results.
      attributes: bools, ints, or single characters.
      aliases: operand -> the result that may use its memory.
      texts: further attributes, as text.
    """
    rank = avals[0].ndim if matrix_rank is None else matrix_rank
    batch = rank - 2 if target.startswith("lapack_") and builder.partitions() > 1 else 0
    pairs = ", ".join(
        f"#stablehlo.output_operand_alias<output_tuple_indices = [{out if len(outs) > 1 else ''}], "
        f"operand_index = {number}, operand_tuple_indices = []>"
        for number, out in (aliases or {}).items()
    )
    config = {**{key: _attribute(value) for key, value in (attributes or {}).items()}, **(texts or {})}
    sizes = _sizes_of(outs)
    first = len(values)
    numbers = builder.dense(np.arange(first, first + len(sizes), dtype=np.int64)) if sizes else None
    avals = [*avals, *(ShapedArray((out.ndim,), INT32) for out in outs if sizes)]
    operation = builder.operation(
        "stablehlo.custom_call",
        [builder.ir_type(aval) for aval in outs],
        [*values, *sizes],
        {
            **({"indices_of_shape_operands": numbers} if sizes else {}),
            "call_target_name": builder.string(target),
            "api_version": builder.integer(4, 32),
            "backend_config": builder.attribute(f"{{{', '.join(f'{key} = {text}' for key, text in config.items())}}}"),
            "operand_layouts": builder.attribute(f"[{', '.join(_layout(aval, rank) for aval in avals)}]"),
            "result_layouts": builder.attribute(f"[{', '.join(_layout(aval, rank) for aval in outs)}]"),
            "output_operand_aliases": builder.attribute(f"[{pairs}]"),
            **(_divided_batch(avals, outs, batch) if batch > 0 else {}),
        },
    )
    return list(operation.results)


def _sizes_of(outs: Sequence[ShapedArray]) -> list[Value]:
    """The shapes of results as operands, which calls need where lengths are symbols; they are dropped once these are known."""
    if all(type(out.size) is int for out in outs):
        return []
    return [builder.lengths(out.shape) for out in outs]


def _divided_batch(avals: Sequence[ShapedArray], outs: Sequence[ShapedArray], batch: int) -> dict[str, Any]:
    """What tells the compiler that devices may have parts of the leading axes of all operands and results."""
    sizes = list(avals[0].shape[:batch])
    texts = []
    for aval in (*avals, *outs):
        own = range(len(sizes), len(sizes) + aval.ndim - batch)
        sizes += aval.shape[batch:]
        texts.append(f"[{', '.join(map(sharding_text.factor, (*range(batch), *own)))}]")
    factors = ", ".join(f"{sharding_text.factor(number)}={size}" for number, size in enumerate(sizes))
    operands, results = ", ".join(texts[: len(avals)]), ", ".join(texts[len(avals) :])
    return {
        "mhlo.frontend_attributes": builder.attribute(f'{{num_batch_dims = "{batch}"}}'),
        "sdy.sharding_rule": builder.attribute(f"#sdy.op_sharding_rule<({operands})->({results}) {{{factors}}}>"),
    }


def lapack_call(
    routine: str, values: Sequence[Value], avals: Sequence[ShapedArray], outs: Sequence[ShapedArray],
    attributes: dict[str, Any] | None = None, aliases: dict[int, int] | None = None, matrix_rank: int | None = None,
) -> list[Value]:  # fmt: skip
    """A call of a LAPACK routine, such as ``potrf``, for the dtype of the first operand."""
    lapack.prepare()
    target = f"lapack_{_PREFIXES[avals[0].dtype.name]}{routine}_ffi"
    return kernel_call(target, values, avals, outs, attributes, aliases, matrix_rank=matrix_rank)


def solver_name(ctx: LoweringContext, routine: str) -> str:
    """The name of a routine of the GPU's library."""
    return f"{'hip' if ctx.platform == 'rocm' else 'cu'}solver_{routine}_ffi"


def plain_call(target: str, values: Sequence[Any], outs: Sequence[ShapedArray], config: str = "") -> list[Any]:
    """A call of a decomposition that XLA itself expands, on every platform."""
    attributes = {"call_target_name": builder.string(target), "backend_config": builder.string(config)}
    sizes = _sizes_of(outs)
    if sizes:
        numbers = np.arange(len(values), len(values) + len(sizes), dtype=np.int64)
        attributes["indices_of_shape_operands"] = builder.dense(numbers)
    types = [builder.ir_type(aval) for aval in outs]
    return list(builder.operation("stablehlo.custom_call", types, [*values, *sizes], attributes).results)


# ---- failures, empty matrices ---------------------------------------------------------------------------------------


def succeeded(info: Value, batch: Sequence[int], direction: str = "EQ") -> Value:
    """For each matrix, whether ``info`` is 0 (or, with GE, not negative)."""
    aval = integers(batch)
    return builder.compare(direction, aval.shape, info, builder.full(0, aval))


def nan_unless(ok: Value, batch: Sequence[int], value: Value, aval: ShapedArray) -> Value:
    """``value`` where a matrix's decomposition succeeded, else NaN."""
    flags = builder.broadcast(ok, ShapedArray(aval.shape, np.dtype(np.bool_)), range(len(batch)))
    nan = complex(np.nan, np.nan) if is_complex(aval) else np.nan
    return builder.op("select", aval, flags, value, builder.full(nan, aval))


def finite_or_nan(value: Value, aval: ShapedArray) -> Value:
    """``value`` with NaN for infinities, which LAPACK reports as a failure where iterations with infinities might not end."""
    flags = ShapedArray(aval.shape, np.dtype(np.bool_))
    parts = [value]
    if is_complex(aval):
        real = ShapedArray(aval.shape, dtypes.real_dtype(aval.dtype))
        parts = [builder.op("real", real, value), builder.op("imag", real, value)]
    finite = [builder.op("is_finite", flags, part) for part in parts]
    both = finite[0] if len(finite) == 1 else builder.op("and", flags, *finite)
    nan = complex(np.nan, np.nan) if is_complex(aval) else np.nan
    return builder.op("select", aval, both, value, builder.full(nan, aval))


def for_empty(rule: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """A lowering rule that gives zeros, or unit matrices where a result has more axes than it has vectors, for no elements."""

    def lowering(ctx: LoweringContext, *values: Value, **params: Any) -> Sequence[Value]:
        if ctx.avals_in[0].size > 0:
            return rule(ctx, *values, **params)
        return [_unit(aval) for aval in ctx.avals_out]

    return lowering


def _unit(aval: ShapedArray) -> Value:
    square = aval.ndim >= 2 and aval.shape[-1] == aval.shape[-2] and aval.size > 0
    return (
        builder.constant(np.broadcast_to(np.eye(aval.shape[-1], dtype=aval.dtype), aval.shape).copy())
        if square
        else builder.full(0, aval)
    )


# ---- batching -------------------------------------------------------------------------------------------------------


def batch_in_front(primitive: Primitive) -> None:
    """Batching of an operation that takes any number of leading axes: one more of them."""

    def rule(values: Sequence[Any], dims: Dims, **params: Any) -> tuple[Any, Any]:
        size = batch_size(values, dims)
        out = primitive.bind(*(bdim_at_front(x, d, size) for x, d in zip(values, dims, strict=True)), **params)
        return (out, [0] * len(out)) if primitive.multiple_results else (out, 0)

    primitive.batch = rule
