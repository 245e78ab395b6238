"""Discrete Fourier transforms (NumPy reference, routines.fft)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_indices
from arrax.core.types import typeof
from arrax.lax import arithmetic, axis_order, shape_arguments, static_slicing
from arrax.lax.conversion import convert
from arrax.lax.fourier_transforms import FftType
from arrax.lax.fourier_transforms import fft as transform
from arrax.lax.operand_checks import kind_of
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import array_of
from arrax.numpy_api.operands import check_arraylike, promote_inexact
from arrax.xla.arrays import Array, ArrayLike

FFT, IFFT, RFFT, IRFFT = FftType
_INVERSE = (IFFT, IRFFT)
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


# ---- one plan for all -----------------------------------------------------------------------------------------------

Norm = str | None  # "backward" (None), "ortho" or "forward"


def _check_norm(norm: str | None) -> None:
    if norm not in _SWAPPED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')


def _scale(norm: str | None, kind: FftType, size: int) -> float:
    """What the result of lax's transform, which divides in the inverse, is multiplied by."""
    _check_norm(norm)
    inverse, size = kind in _INVERSE, max(size, 1)
    if norm == "ortho":
        return math.sqrt(size) if inverse else 1 / math.sqrt(size)
    if norm == "forward":
        return float(size) if inverse else 1 / size
    return 1.0


def _plan(
    name: str, kind: FftType, shape: tuple[int, ...], s: Any, axes: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(axes, lengths of the transform along them).

    Raises:
      ValueError: axes that repeat or don't exist, lengths that are not positive or not one per axis.
    """
    lengths = None if s is None else as_indices(s)
    if axes is None:
        axes = range(len(shape)) if lengths is None else range(-len(lengths), 0)
    chosen = tuple(shape_arguments.canonical_axis(axis, len(shape)) for axis in axes)
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"{name} does not support repeated axes. Got axes {tuple(axes)}.")
    if lengths is None:
        lengths = tuple(shape[axis] for axis in chosen)
        if kind == IRFFT and chosen:
            lengths = (*lengths[:-1], max(0, 2 * (lengths[-1] - 1)))
    elif len(lengths) != len(chosen):
        raise ValueError(f"{name}: shape and axes have different lengths: s={tuple(s)} and axes={tuple(axes)}.")
    elif any(length < 1 for length in lengths):
        raise ValueError(f"{name}: lengths of transforms should be positive, got {lengths}.")
    return chosen, lengths


def _resized(a: ArrayLike, axes: Sequence[int], lengths: Sequence[int]) -> Any:
    """``a`` cut off or filled with zeros at the ends of some axes."""
    config = [(0, 0, 0)] * typeof(a).ndim
    for axis, length in zip(axes, lengths, strict=True):
        config[axis] = (0, length - typeof(a).shape[axis], 0)
    if not any(high for _, high, _ in config):
        return a
    return static_slicing.pad(a, np.zeros((), typeof(a).dtype)[()], config)


def _over(a: ArrayLike, kind: FftType, axes: Sequence[int], lengths: Sequence[int]) -> Array:
    """lax's transform over up to three axes, which are moved to the end and back."""
    rank = typeof(a).ndim
    order = [axis for axis in range(rank) if axis not in axes] + list(axes)
    if order != list(range(rank)):
        a = axis_order.transpose(a, order)
    a = transform(a, kind, lengths)
    return a if order == list(range(rank)) else axis_order.transpose(a, np.argsort(order).tolist())


def _converted(name: str, a: ArrayLike, kind: FftType) -> Any:
    (a,) = promote_inexact(a)
    dtype = typeof(a).dtype
    if kind == RFFT and kind_of(dtype) == "complex":
        raise ValueError(f"{name}: only real valued inputs supported for rfft, got {dtype.name}")
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    return convert(a, wide if kind == RFFT else dtypes.to_complex_dtype(wide))


@api(static=("name", "kind", "axes", "lengths", "norm"))
def _transformed(
    a: ArrayLike, name: str, kind: FftType, axes: tuple[int, ...], lengths: tuple[int, ...], norm: str | None
) -> Any:
    a = _converted(name, a, kind)
    if not axes:
        return a
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    a = _resized(a, axes, half if kind == IRFFT else lengths)
    # At most three axes at a time; the last ones, of which one may be halved, are first in and last out.
    groups = [slice(max(end - 3, 0), end) for end in range(len(axes), 0, -3)]
    other = IFFT if kind in _INVERSE else FFT
    kinds = [kind] + [other] * (len(groups) - 1)
    steps = list(zip(groups, kinds, strict=True))
    for group, step in reversed(steps) if kind in _INVERSE else steps:
        a = _over(a, step, axes[group], lengths[group])
    factor = _scale(norm, kind, math.prod(lengths))
    if factor == 1.0 or typeof(a).size == 0:
        return a
    return arithmetic.mul(a, np.asarray(factor).astype(typeof(a).dtype)[()])


def _apply(
    name: str, kind: FftType, a: ArrayLike, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None
) -> Array:
    name = f"jnp.fft.{name}"
    check_arraylike(name, a)
    _check_norm(norm)
    chosen, lengths = _plan(name, kind, np.shape(a) if not hasattr(a, "shape") else tuple(a.shape), s, axes)
    return _transformed(a, name, kind, chosen, lengths, norm)


def _along(name: str, kind: FftType, a: ArrayLike, n: int | None, axis: int, norm: str | None) -> Array:
    if isinstance(axis, list | tuple):
        raise ValueError(
            f"jnp.fft.{name} does not support multiple axes. Please use jnp.fft.{name}n. Got axis = {axis}."
        )
    return _apply(name, kind, a, None if n is None else (n,), (axis,), norm)


def _in_plane(
    name: str, kind: FftType, a: ArrayLike, s: Sequence[int] | None, axes: Sequence[int], norm: str | None
) -> Array:
    if len(axes) != 2:
        raise ValueError(f"jnp.fft.{name} only supports 2 axes. Got axes = {tuple(axes)}.")
    return _apply(name, kind, a, s, axes, norm)


# ---- complex transforms ---------------------------------------------------------------------------------------------


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """The discrete Fourier transform along an axis: ``A[k] = sum_j a[j] exp(-2 pi i j k / n)``.

    Args:
      a: array.
      n: length of the transform: the axis is cut off or filled with zeros. Its own by default.
      axis: axis along which to transform.
      norm: where to divide: by n in the inverse (``"backward"``, the default), by n in the forward one (``"forward"``),
        or by the square root of n in both (``"ortho"``).
    Returns: complex array of length n along the axis.
    Raises:
      ValueError: an axis, length or norm that does not exist.
      TypeError: lists.
    Example: ``jnp.fft.fft(jnp.ones(4))`` is ``[4, 0, 0, 0]``. Source: ``numpy.fft.fft``.
    """
    return _along("fft", FFT, a, n, axis, norm)


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """The inverse of ``fft``.

    Args:
      a: array.
      n: length of the transform: the axis is cut off or filled with zeros. Its own by default.
      axis: axis along which to transform.
      norm: where to divide: by n in the inverse (``"backward"``, the default), by n in the forward one (``"forward"``),
        or by the square root of n in both (``"ortho"``).
    Example: ``jnp.fft.ifft(jnp.fft.fft(jnp.ones(4)))`` is ones. Source: ``numpy.fft.ifft``.
    """
    return _along("ifft", IFFT, a, n, axis, norm)


def fft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = None) -> Array:
    """The discrete Fourier transform over two axes.

    Args:
      a: array.
      s: lengths of the transform along the axes; their own by default.
      axes: the two axes, by default the last ones.
      norm: where to divide by the product n of the lengths: in the inverse (``"backward"``, the default), in the
        forward one (``"forward"``), or by its square root in both (``"ortho"``).
    Example: ``jnp.fft.fft2(jnp.ones((2, 2)))``. Source: ``numpy.fft.fft2``.
    """
    return _in_plane("fft2", FFT, a, s, axes, norm)


def ifft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = None) -> Array:
    """The inverse of ``fft2``.

    Args:
      a: array.
      s: lengths of the transform along the axes; their own by default.
      axes: the two axes, by default the last ones.
      norm: where to divide by the product n of the lengths: in the inverse (``"backward"``, the default), in the
        forward one (``"forward"``), or by its square root in both (``"ortho"``).
    Example: ``jnp.fft.ifft2(jnp.ones((2, 2)))``. Source: ``numpy.fft.ifft2``.
    """
    return _in_plane("ifft2", IFFT, a, s, axes, norm)


def fftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = None) -> Array:
    """The discrete Fourier transform over several axes.

    Args:
      a: array.
      s: lengths of the transform along the axes; their own by default.
      axes: all by default, or the last ones where ``s`` is given.
      norm: where to divide by the product n of the lengths: in the inverse (``"backward"``, the default), in the
        forward one (``"forward"``), or by its square root in both (``"ortho"``).
    Returns: complex array.
    Raises:
      ValueError: axes that repeat or don't exist, lengths that are not one per axis.
    Example: ``jnp.fft.fftn(jnp.ones((2, 2)))``. Source: ``numpy.fft.fftn``.
    """
    return _apply("fftn", FFT, a, s, axes, norm)


def ifftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = None) -> Array:
    """The inverse of ``fftn``.

    Args:
      a: array.
      s: lengths of the transform along the axes; their own by default.
      axes: all by default, or the last ones where ``s`` is given.
      norm: where to divide by the product n of the lengths: in the inverse (``"backward"``, the default), in the
        forward one (``"forward"``), or by its square root in both (``"ortho"``).
    Example: ``jnp.fft.ifftn(jnp.ones((2, 2)))``. Source: ``numpy.fft.ifftn``.
    """
    return _apply("ifftn", IFFT, a, s, axes, norm)


# ---- transforms of real numbers -------------------------------------------------------------------------------------


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """The transform of real numbers, without the half of it that follows from the other.

    Args:
      a: real array.
      n: length of the transform: the axis is cut off or filled with zeros. Its own by default.
      axis: axis along which to transform.
      norm: where to divide: by n in the inverse (``"backward"``, the default), by n in the forward one (``"forward"``),
        or by the square root of n in both (``"ortho"``).
    Returns: complex array of length ``n // 2 + 1`` along the axis.
    Raises:
      ValueError: complex numbers.
    Example: ``jnp.fft.rfft(jnp.ones(4))`` is ``[4, 0, 0]``. Source: ``numpy.fft.rfft``.
    """
    return _along("rfft", RFFT, a, n, axis, norm)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """The inverse of ``rfft``.

    Args:
      a: the half of a transform.
      n: length of the result; ``2 (m - 1)`` by default, for m entries of ``a``.
      axis: axis along which to transform.
      norm: where to divide: by n in the inverse (``"backward"``, the default), by n in the forward one (``"forward"``),
        or by the square root of n in both (``"ortho"``).
    Returns: real array.
    Example: ``jnp.fft.irfft(jnp.array([4, 0, 0]))`` is ones. Source: ``numpy.fft.irfft``.
    """
    return _along("irfft", IRFFT, a, n, axis, norm)


def rfft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = None) -> Array:
    """The transform of real numbers over two axes, the last of them halved.

    Args:
      a: real array.
      s: lengths of the transform along the axes; their own by default.
      axes: the two axes, by default the last ones.
      norm: where to divide by the product n of the lengths: in the inverse (``"backward"``, the default), in the
        forward one (``"forward"``), or by its square root in both (``"ortho"``).
    Example: ``jnp.fft.rfft2(jnp.ones((2, 2)))``. Source: ``numpy.fft.rfft2``.
    """
    return _in_plane("rfft2", RFFT, a, s, axes, norm)


def irfft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = None) -> Array:
    """The inverse of ``rfft2``.

    Args:
      a: the half of a transform.
      s: lengths of the result; by default the last one is ``2 (m - 1)`` for m entries of ``a``.
      axes: the two axes, by default the last ones.
      norm: where to divide by the product n of the lengths: in the inverse (``"backward"``, the default), in the
        forward one (``"forward"``), or by its square root in both (``"ortho"``).
    Example: ``jnp.fft.irfft2(jnp.ones((2, 2)))``. Source: ``numpy.fft.irfft2``.
    """
    return _in_plane("irfft2", IRFFT, a, s, axes, norm)


def rfftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = None) -> Array:
    """The transform of real numbers over several axes, the last of them halved.

    Args:
      a: real array.
      s: lengths of the transform along the axes; their own by default.
      axes: all by default, or the last ones where ``s`` is given.
      norm: where to divide by the product n of the lengths: in the inverse (``"backward"``, the default), in the
        forward one (``"forward"``), or by its square root in both (``"ortho"``).
    Example: ``jnp.fft.rfftn(jnp.ones((2, 2)))``. Source: ``numpy.fft.rfftn``.
    """
    return _apply("rfftn", RFFT, a, s, axes, norm)


def irfftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = None) -> Array:
    """The inverse of ``rfftn``.

    Args:
      a: the half of a transform.
      s: lengths of the result; by default the last one is ``2 (m - 1)`` for m entries of ``a``.
      axes: all by default, or the last ones where ``s`` is given.
      norm: where to divide by the product n of the lengths: in the inverse (``"backward"``, the default), in the
        forward one (``"forward"``), or by its square root in both (``"ortho"``).
    Example: ``jnp.fft.irfftn(jnp.ones((2, 2)))``. Source: ``numpy.fft.irfftn``.
    """
    return _apply("irfftn", IRFFT, a, s, axes, norm)


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """The transform of a signal that is conjugate-symmetric, of which ``a`` is one half: real numbers.

    Args:
      a: the half of a signal.
      n: length of the result; ``2 (m - 1)`` by default, for m entries of ``a``.
      axis: axis along which to transform.
      norm: where to divide: by n in the inverse (``"backward"``, the default), by n in the forward one (``"forward"``),
        or by the square root of n in both (``"ortho"``).
    Example: ``jnp.fft.hfft(jnp.ones(3))`` is ``[4, 0, 0, 0]``. Source: ``numpy.fft.hfft``.
    """
    check_arraylike("jnp.fft.hfft", a)
    _check_norm(norm)
    return _along("hfft", IRFFT, _conjugate(a), n, axis, _SWAPPED[norm])


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """The inverse of ``hfft``.

    Args:
      a: real array.
      n: length of the transform: the axis is cut off or filled with zeros. Its own by default.
      axis: axis along which to transform.
      norm: where to divide: by n in the inverse (``"backward"``, the default), by n in the forward one (``"forward"``),
        or by the square root of n in both (``"ortho"``).
    Example: ``jnp.fft.ihfft(jnp.ones(4))`` is ``[1, 0, 0]``. Source: ``numpy.fft.ihfft``.
    """
    _check_norm(norm)
    return _conjugate(_along("ihfft", RFFT, array_of(a), n, axis, _SWAPPED[norm]))


@api()
def _conjugate(a: ArrayLike) -> Array:
    (a,) = promote_inexact(a)
    return arithmetic.conj(a) if kind_of(typeof(a).dtype) == "complex" else a
