"""Reductions by universal functions that need not go from element to element: by those of whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arrax.core.functions import name_function
from arrax.core.types import typeof
from arrax.lax import bitwise
from arrax.lax import reductions as lax_reductions
from arrax.lax.conversion import convert
from arrax.lax.operand_checks import bools, check_dtype, integers
from arrax.numpy_api import elementwise, logic, reductions
from arrax.numpy_api.api import api
from arrax.numpy_api.exponential_sums import logsumexp
from arrax.numpy_api.operands import as_operand, canonical_axes
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

Reduce = Callable[..., Array]  # of an array over ``axis``, with ``keepdims``, ``initial`` and ``where``


def _begun_with(name: str, reduced: Callable[..., Any], combine: Callable[..., Array]) -> Reduce:
    """A reduction that takes ``initial``, by one that does not."""

    def reduce(a: ArrayLike, axis: Axes | None, keepdims: bool, initial: OptionalArray, where: OptionalArray) -> Array:
        if initial is not None and typeof(initial).ndim:
            raise ValueError(f"{name}.reduce: initial must be a scalar, got shape {typeof(initial).shape}")
        found = reduced(a, axis=axis, keepdims=keepdims, where=where)
        return found if initial is None else combine(found, convert(initial, typeof(found).dtype))

    return reduce


def _with_names(reduction: Callable[..., Array]) -> Callable[..., Array]:
    """A compiled reduction, whose axes are static, with options by name."""

    def reduced(a: ArrayLike, *, axis: Axes | None, keepdims: bool, where: OptionalArray) -> Array:
        return reduction(a, where, reductions.static_axis(axis), bool(keepdims))

    return reduced


def _of_bits(name: str, operation: Callable[..., Any], neutral: int) -> Callable[..., Array]:
    """A reduction of integers or bools whose order says nothing."""

    def body(a: ArrayLike, where: OptionalArray, axis: Axes | None, keepdims: bool) -> Array:
        a = as_operand(a)
        check_dtype(f"{name}.reduce", typeof(a), integers | bools)
        a = reductions.masked(f"{name}.reduce", a, where, neutral)
        axes = canonical_axes(axis, typeof(a).ndim)
        return reductions.with_kept_axes(operation(a, axes), axes, keepdims)

    name_function(body, name)
    return _with_names(api(static=("axis", "keepdims"))(body))


sum_of_exponentials = _begun_with("logaddexp", logsumexp, elementwise.logaddexp)
all_true = _begun_with("logical_and", reductions.all, logic.logical_and)
any_true = _begun_with("logical_or", reductions.any, logic.logical_or)
odd_true = _begun_with(
    "logical_xor",
    _with_names(reductions.truth_reduction("logical_xor", lax_reductions.reduce_xor, False)),
    logic.logical_xor,
)
bits_of_all = _begun_with("bitwise_and", _of_bits("bitwise_and", lax_reductions.reduce_and, -1), bitwise.bitwise_and)
bits_of_any = _begun_with("bitwise_or", _of_bits("bitwise_or", lax_reductions.reduce_or, 0), bitwise.bitwise_or)
bits_of_odd = _begun_with("bitwise_xor", _of_bits("bitwise_xor", lax_reductions.reduce_xor, 0), bitwise.bitwise_xor)
