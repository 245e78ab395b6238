"""Covariance and correlation coefficients (NumPy reference, routines.statistics)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import arithmetic, axis_order, concatenation, exponential, selection, shapes
from arrax.lax.contractions import dot_general
from arrax.lax.conversion import convert
from arrax.lax.reductions import reduce_sum
from arrax.numpy_api.api import api
from arrax.numpy_api.averages import number_like
from arrax.numpy_api.matrices import diagonal_of_last
from arrax.numpy_api.operands import as_operand, check_arraylike, check_arraylike_or_none, promote_inexact
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


def _variables(m: ArrayLike, y: Array | None, rowvar: bool, dtype: OptionalDType) -> Array:
    """A matrix with a row per variable and a column per observation."""
    values = promote_inexact(*(as_operand(v) for v in (m, y) if v is not None))
    chosen = typeof(values[0]).dtype if dtype is None else dtypes.check_user_dtype("cov", dtype)
    if not dtypes.is_inexact(chosen):
        raise ValueError(f"cov: dtype must be floating or complex, got {chosen}")
    rows = []
    for v, original in zip(values, (m, y), strict=False):
        v = convert(v, chosen)
        if typeof(v).ndim > 2:
            raise ValueError(
                f"cov: {'m' if original is m else 'y'} has more than 2 dimensions, got shape {typeof(v).shape}"
            )
        if typeof(v).ndim < 2:
            v = shapes.reshape(v, (1, typeof(v).size))
        elif not rowvar:
            v = axis_order.transpose(v, (1, 0))
        rows.append(v)
    if len(rows) == 2 and typeof(rows[0]).shape[1] != typeof(rows[1]).shape[1]:
        raise ValueError(
            f"cov: m and y must have the same number of observations, got shapes {typeof(m).shape} and {typeof(y).shape}"
        )
    return concatenation.concatenate(rows, 0) if len(rows) > 1 else rows[0]


def _weights(fweights: Array | None, aweights: Array | None, count: int, dtype: np.dtype) -> Any:
    product = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        weights = as_operand(weights)
        if typeof(weights).shape != (count,):
            raise ValueError(
                f"cov: {name} must be a vector with one entry per observation ({count}), got {typeof(weights).shape}"
            )
        converted = convert(weights, dtype)
        product = converted if product is None else arithmetic.mul(product, converted)
    return product


@api(static=("rowvar", "bias", "ddof", "dtype"))
def _cov(
    m: ArrayLike, y: Any, fweights: Any, aweights: Any, rowvar: bool, bias: bool, ddof: int | None, dtype: OptionalDType
) -> Array:
    x = _variables(m, y, rowvar, dtype)
    rows, count = typeof(x).shape
    real = dtypes.finfo(typeof(x).dtype).dtype if dtypes.is_complex(typeof(x).dtype) else typeof(x).dtype
    weights = _weights(fweights, aweights, count, real)
    freedom = (0 if bias else 1) if ddof is None else ddof
    if weights is None:
        total = number_like(count, np.zeros((), real))
        average = arithmetic.div(reduce_sum(x, (1,)), number_like(count, x))
        factor = number_like(max(count - freedom, 0), np.zeros((), real))
        weighted = None
    else:
        total = reduce_sum(weights, (0,))
        weighted = convert(shapes.broadcast_in_dim(weights, (rows, count), (1,)), typeof(x).dtype)
        average = arithmetic.div(reduce_sum(arithmetic.mul(x, weighted), (1,)), convert(total, typeof(x).dtype))
        factor = _normalization(total, weights, aweights, freedom, real)
    centered = arithmetic.sub(x, shapes.broadcast_in_dim(average, (rows, count), (0,)))
    other = centered if weighted is None else arithmetic.mul(centered, weighted)
    other = arithmetic.conj(other) if dtypes.is_complex(typeof(x).dtype) else other
    products = dot_general(centered, other, (((1,), (1,)), ((), ())))
    out = arithmetic.div(products, convert(factor, typeof(products).dtype))
    return shapes.squeeze(out, (0, 1)) if rows == 1 else out


def _normalization(total: Array, weights: Array, aweights: Array | None, freedom: int, dtype: np.dtype) -> Array:
    if freedom == 0:
        return total
    lost = number_like(freedom, total)
    if aweights is not None:
        squares = reduce_sum(arithmetic.mul(weights, convert(as_operand(aweights), dtype)), (0,))
        lost = arithmetic.div(arithmetic.mul(lost, squares), total)
    return arithmetic.max_(arithmetic.sub(total, lost), number_like(0, total))


def cov(
    m: ArrayLike, y: OptionalArray = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: OptionalArray = None,
    aweights: OptionalArray = None, dtype: OptionalDType = None,
) -> Array:  # fmt: skip
    """The covariances of variables.

    Args:
      m: vector, or matrix with a row per variable and a column per observation.
      y: more variables, of the same form.
      rowvar: False: a column per variable.
      bias: divide by the number of observations instead of one less.
      ddof: what is taken from that number, instead.
      fweights: vector of integers: how often each observation was made.
      aweights: vector: how much each observation counts.
      dtype: dtype to compute in.
    Returns: matrix, or a scalar for one variable.
    Raises:
      ValueError: more than two axes, weights of another length, or a dtype of integers.
      TypeError: ``fweights`` that are not integers; lists.
    Example: ``jnp.cov(jnp.array([[0., 2.], [0., 4.]]))`` is ``[[2., 4.], [4., 8.]]``. Source: ``numpy.cov``.
    """
    check_arraylike("cov", m)
    check_arraylike_or_none("cov", y, fweights, aweights)
    if fweights is not None and not dtypes.is_integer(typeof(fweights).dtype):
        raise TypeError("cov: fweights must be integers.")
    return _cov(m, y, fweights, aweights, bool(rowvar), bool(bias), ddof, dtype)


@api(static=("rowvar", "dtype"))
def _corrcoef(x: ArrayLike, y: Any, rowvar: bool, dtype: Any) -> Array:
    c = _cov(x, y, None, None, rowvar, False, None, dtype)
    if typeof(c).ndim == 0:
        return arithmetic.div(c, c)
    size = typeof(c).shape[0]
    real = arithmetic.real_part(c) if dtypes.is_complex(typeof(c).dtype) else c
    deviations = convert(exponential.sqrt(diagonal_of_last(real, 0)), typeof(c).dtype)
    for axis in (0, 1):
        c = arithmetic.div(c, shapes.broadcast_in_dim(deviations, (size, size), (axis,)))
    if dtypes.is_complex(typeof(c).dtype):
        return arithmetic.complex_(_limited(arithmetic.real_part(c)), _limited(arithmetic.imag(c)))
    return _limited(c)


def _limited(x: Array) -> Array:
    return selection.clamp(number_like(-1, x), x, number_like(1, x))


def corrcoef(x: ArrayLike, y: OptionalArray = None, rowvar: bool = True, dtype: OptionalDType = None) -> Array:
    """The correlation coefficients of variables: covariances over the deviations, within [-1, 1].

    Args: as of ``cov``.
    Example: ``jnp.corrcoef(jnp.array([[0., 2.], [0., 4.]]))`` is all ones. Source: ``numpy.corrcoef``.
    """
    check_arraylike("corrcoef", x)
    check_arraylike_or_none("corrcoef", y)
    if dtype is not None and not dtypes.is_inexact(dtypes.check_user_dtype("corrcoef", dtype)):
        raise ValueError(f"corrcoef: dtype must be floating or complex, got {dtypes.dtype(dtype)}")
    return _corrcoef(x, y, bool(rowvar), dtype)
