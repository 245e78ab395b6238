"""Convolution and correlation of vectors (NumPy reference, routines.statistics)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import arithmetic, axis_order, shapes
from arrax.lax.conversion import convert
from arrax.lax.convolution import conv_general_dilated
from arrax.lax.precision import PrecisionLike
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, promote_dtypes
from arrax.numpy_api.products import hashable_precision
from arrax.xla.arrays import Array, ArrayLike

_MODES = ("full", "same", "valid")


def _checked(name: str, a: ArrayLike, v: ArrayLike, mode: str) -> None:
    check_arraylike(name, a, v)
    if typeof(a).ndim != 1 or typeof(v).ndim != 1:
        raise ValueError(
            f"{name}() only supports 1-dimensional inputs, got shapes {typeof(a).shape} and {typeof(v).shape}."
        )
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be one of {list(_MODES)}, got {mode!r}")
    if typeof(a).size == 0 or typeof(v).size == 0:
        raise ValueError(f"{name}: inputs cannot be empty, got shapes {typeof(a).shape} and {typeof(v).shape}.")


def _padding(mode: str, length: int) -> tuple[int, int]:
    """How many zeros stand before and behind the longer vector."""
    if mode == "full":
        return length - 1, length - 1
    return (length // 2, length - 1 - length // 2) if mode == "same" else (0, 0)


def _sliding_products(
    x: ArrayLike, kernel: Array, padding: tuple[int, int], precision: Any, preferred: np.dtype
) -> Array:
    """The sums of products of a kernel with the vector under it."""
    batched = shapes.expand_dims(x, (0, 1)), shapes.expand_dims(kernel, (0, 1))
    out = conv_general_dilated(*batched, (1,), [padding], precision=precision, preferred_element_type=preferred)
    return shapes.squeeze(out, (0, 1))


def _factors(name: str, a: ArrayLike, v: ArrayLike, preferred: OptionalDType) -> tuple[Any, Any, Any, bool]:
    """Both vectors in the dtype to multiply in, and the dtype of the result and whether it is weak.

    Integers become floating unless a dtype is preferred.
    """
    a, v = promote_dtypes(a, v)
    own, weak = typeof(a).dtype, typeof(a).weak_type
    dtype = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(own))
    if preferred is None:
        return convert(a, dtype, weak), convert(v, dtype, weak), dtype, weak
    target = dtypes.check_user_dtype(name, preferred)
    if dtypes.itemsize_bits(target) < dtypes.itemsize_bits(own):
        raise TypeError(
            f"{name}: preferred_element_type {target.name} must not be narrower than the original type {own.name}."
        )
    work = dtype if dtypes.is_inexact(own) else target
    return convert(a, work), convert(v, work), target, False


@api(static=("mode", "precision", "preferred", "name"))
def _convolve(a: ArrayLike, v: ArrayLike, mode: str, precision: Any, preferred: Any, name: str) -> Array:
    a, v, target, weak = _factors(name, a, v, preferred)
    dtype = typeof(a).dtype
    longer, shorter = (a, v) if typeof(a).size >= typeof(v).size else (v, a)
    padding = _padding(mode, typeof(shorter).size)
    kernel = axis_order.rev(shorter, (0,))
    if not dtypes.is_complex(dtype):
        return convert(_sliding_products(longer, kernel, padding, precision, target), target, weak)
    real = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
    (xr, xi), (kr, ki) = ((arithmetic.real_part(z), arithmetic.imag(z)) for z in (longer, kernel))
    rr, ii, ri, ir = (
        _sliding_products(x, k, padding, precision, real) for x, k in ((xr, kr), (xi, ki), (xr, ki), (xi, kr))
    )
    return convert(arithmetic.complex_(arithmetic.sub(rr, ii), arithmetic.add(ri, ir)), target, weak)


def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None,
) -> Array:
    """The convolution of two vectors: ``out[n] = sum over m of a[m] v[n - m]``.

    Args:
      a, v: vectors; integers are convolved as floating numbers, unless another dtype is preferred.
      mode: ``"full"``: wherever they overlap; ``"same"``: the middle, of the length of the longer one; ``"valid"``: wherever
        they overlap completely.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
    Raises:
      ValueError: operands that are not vectors, or are empty, or another mode.
      TypeError: lists; a narrower preferred dtype.
    Example: ``jnp.convolve(jnp.array([1., 2.]), jnp.array([1., 1.]))`` is ``[1., 3., 2.]``. Source: ``numpy.convolve``.
    """
    _checked("convolve", a, v, mode)
    return _convolve(a, v, mode, hashable_precision(precision), preferred_element_type, "convolve")


@api(static=("mode", "precision", "preferred"))
def _correlate(a: ArrayLike, v: ArrayLike, mode: str, precision: Any, preferred: Any) -> Array:
    a, v, _, _ = _factors("correlate", a, v, preferred)
    dtype = typeof(a).dtype
    swapped = typeof(a).size < typeof(v).size
    a, v = (v, a) if swapped else (a, v)
    kernel = axis_order.rev(arithmetic.conj(v) if dtypes.is_complex(dtype) else v, (0,))
    out = _convolve(a, kernel, mode, precision, preferred, "correlate")
    if not swapped:
        return out
    out = axis_order.rev(out, (0,))
    return arithmetic.conj(out) if dtypes.is_complex(typeof(out).dtype) else out


def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None,
) -> Array:
    """The correlation of two vectors: ``out[n] = sum over m of a[m + n] conj(v[m])``.

    Args: as of ``convolve``.
    Example: ``jnp.correlate(jnp.array([1., 2., 3.]), jnp.array([0., 1.]))`` is ``[2., 3.]``. Source: ``numpy.correlate``.
    """
    _checked("correlate", a, v, mode)
    return _correlate(a, v, mode, hashable_precision(precision), preferred_element_type)
