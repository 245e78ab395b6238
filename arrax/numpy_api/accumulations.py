"""Cumulative sums and products (NumPy reference, routines.math)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import concatenation, cumulative, filled_arrays, selection, shape_arguments, shapes
from arrax.lax.conversion import convert
from arrax.numpy_api.api import api
from arrax.numpy_api.elementwise_makers import constant
from arrax.numpy_api.logic import isnan
from arrax.numpy_api.operands import as_operand, check_arraylike, refuse_out, requested
from arrax.numpy_api.reductions import sum_dtype
from arrax.xla.annotations import OneAxis
from arrax.xla.arrays import Array, ArrayLike

_OPERATIONS: dict[str, tuple[Any, Any]] = {
    "cumsum": (cumulative.cumsum, 0),
    "cumprod": (cumulative.cumprod, 1),
    "nancumsum": (cumulative.cumsum, 0),
    "nancumprod": (cumulative.cumprod, 1),
    "cumulative_sum": (cumulative.cumsum, 0),
    "cumulative_prod": (cumulative.cumprod, 1),
    "maximum.accumulate": (cumulative.cummax, None),
    "minimum.accumulate": (cumulative.cummin, None),
}


@api(static=("name", "axis", "dtype", "include_initial"))
def _accumulate(a: ArrayLike, name: str, axis: OneAxis, dtype: OptionalDType, include_initial: bool = False) -> Array:
    check_arraylike(name, a)
    a = as_operand(a)
    operation, neutral = _OPERATIONS[name]
    if axis is None or (not typeof(a).ndim and axis in (0, -1)):  # as in NumPy, a number counts as a vector
        a, axis = shapes.reshape(a, (typeof(a).size,)), 0
    axis = shape_arguments.canonical_axis(axis, typeof(a).ndim)
    if name.startswith("nan"):
        a = selection.select(isnan(a), filled_arrays.full_like(a, neutral), a)
    own = typeof(a).dtype
    natural = sum_dtype(own) if name.startswith("cumulative") or dtypes.is_bool(own) else own
    target = requested(name, dtype, natural, own)
    work = dtypes.canonicalize_dtype(np.int64) if dtypes.is_bool(target) else target
    a = convert(a, target) if dtypes.is_bool(target) else a
    out = convert(operation(convert(a, work), axis), target)
    if include_initial:
        shape = typeof(out).shape
        first = filled_arrays.full((*shape[:axis], 1, *shape[axis + 1 :]), constant(neutral, out))
        out = concatenation.concatenate([first, out], axis)
    return out


def _index(axis: Any) -> int | None:
    return None if axis is None else as_index(axis)


def cumsum(a: ArrayLike, axis: OneAxis = None, dtype: OptionalDType = None, out: None = None) -> Array:
    """The sums of the elements up to each one, along an axis.

    Args:
      a: array.
      axis: axis; by default the flattened array.
      dtype: dtype to sum in; by default that of ``a``, the default integer for bools.
      out: must be None: arrays cannot be written to.
    Raises:
      TypeError: a list or tuple.
      ValueError: no such axis.
    Example: ``jnp.cumsum(jnp.array([1, 2, 3]))`` is ``[1, 3, 6]``. Source: ``numpy.cumsum``.
    """
    refuse_out("cumsum", out)
    return _accumulate(a, "cumsum", _index(axis), dtype)


def cumprod(a: ArrayLike, axis: OneAxis = None, dtype: OptionalDType = None, out: None = None) -> Array:
    """The products of the elements up to each one, along an axis. Args: as of ``cumsum``.

    Example: ``jnp.cumprod(jnp.array([1, 2, 3]))`` is ``[1, 2, 6]``. Source: ``numpy.cumprod``.
    """
    refuse_out("cumprod", out)
    return _accumulate(a, "cumprod", _index(axis), dtype)


def nancumsum(a: ArrayLike, axis: OneAxis = None, dtype: OptionalDType = None, out: None = None) -> Array:
    """Cumulative sums that count NaN as zero. Args: as of ``cumsum``.

    Example: ``jnp.nancumsum(jnp.array([1., jnp.nan]))`` is ``[1., 1.]``. Source: ``numpy.nancumsum``.
    """
    refuse_out("nancumsum", out)
    return _accumulate(a, "nancumsum", _index(axis), dtype)


def nancumprod(a: ArrayLike, axis: OneAxis = None, dtype: OptionalDType = None, out: None = None) -> Array:
    """Cumulative products that count NaN as one. Args: as of ``cumsum``.

    Example: ``jnp.nancumprod(jnp.array([2., jnp.nan]))`` is ``[2., 2.]``. Source: ``numpy.nancumprod``.
    """
    refuse_out("nancumprod", out)
    return _accumulate(a, "nancumprod", _index(axis), dtype)


def _standard(name: str, x: ArrayLike, axis: OneAxis, dtype: Any, include_initial: bool) -> Array:
    check_arraylike(name, x)
    rank = typeof(x).ndim
    if rank == 0:
        raise ValueError(f"{name}: the input must have at least one axis, got a scalar")
    if axis is None and rank != 1:
        raise ValueError(
            f"{name}: the input array has rank {rank}, so axis must be given; it is optional for vectors only"
        )
    return _accumulate(x, name, 0 if axis is None else as_index(axis), dtype, bool(include_initial))


def cumulative_sum(
    x: ArrayLike, /, *, axis: OneAxis = None, dtype: OptionalDType = None, include_initial: bool = False
) -> Array:
    """The sums of the elements up to each one, along an axis.

    Args:
      x: array.
      axis: axis; optional for vectors.
      dtype: dtype to sum in; by default smaller integers become the default integer.
      include_initial: begin with the empty sum, zero.
    Raises:
      ValueError: a scalar, no axis for a matrix, or no such axis.
    Example: ``jnp.cumulative_sum(jnp.array([1, 2]), include_initial=True)`` is ``[0, 1, 3]``. Source: array API.
    """
    return _standard("cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: ArrayLike, /, *, axis: OneAxis = None, dtype: OptionalDType = None, include_initial: bool = False
) -> Array:
    """The products of the elements up to each one, along an axis. Args: as of ``cumulative_sum``.

    Example: ``jnp.cumulative_prod(jnp.array([2, 3]), include_initial=True)`` is ``[1, 2, 6]``. Source: array API.
    """
    return _standard("cumulative_prod", x, axis, dtype, include_initial)


def running_maximum(a: ArrayLike, axis: OneAxis = 0, dtype: Any = None) -> Array:
    """The greatest of the elements up to each one, along an axis: ``maximum.accumulate``."""
    return _accumulate(a, "maximum.accumulate", _index(axis), dtype)


def running_minimum(a: Any, axis: OneAxis = 0, dtype: Any = None) -> Any:
    """The least of the elements up to each one, along an axis: ``minimum.accumulate``."""
    return _accumulate(a, "minimum.accumulate", _index(axis), dtype)
