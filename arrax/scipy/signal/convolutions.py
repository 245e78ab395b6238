"""Convolutions and correlations of arrays of any number of axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.types import typeof
from arrax.dtypes.wording import shown
from arrax.lax.precision import PrecisionLike
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import canonical_axes, check_arraylike, promote_inexact
from arrax.numpy_api.products import hashable_precision
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike

_MODES = ("full", "same", "valid")


def _check(name: str, in1: Any, in2: ArrayLike, mode: str) -> None:
    check_arraylike(name, in1, in2)
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}")
    one, other = typeof(in1), typeof(in2)
    if one.ndim != other.ndim:
        raise ValueError(f"{name}: in1 and in2 must have as many axes, got the shapes {one.shape} and {other.shape}")
    if not one.size or not other.size:
        raise ValueError(f"{name}: in1 and in2 must not be empty, got the shapes {one.shape} and {other.shape}")


def _needs_swap(name: str, shape: Sequence[int], kernel: Sequence[int], axes: Sequence[int]) -> bool:
    """For ``"valid"``: whether the second array is the one that contains the other."""
    if all(shape[axis] >= kernel[axis] for axis in axes):
        return False
    if all(shape[axis] <= kernel[axis] for axis in axes):
        return True
    raise ValueError(f"{name}: for mode 'valid' one array must contain the other, got the shapes {shape} and {kernel}")


def _middle(x: Array, shape: Sequence[int]) -> Array:
    """The part of a shape in the middle; of two middles, the first."""
    starts = [(have - want) // 2 for have, want in zip(x.shape, shape, strict=True)]
    return x[tuple(slice(start, start + want) for start, want in zip(starts, shape, strict=True))]


def _around(kernel: Sequence[int], firsts: Sequence[int | None]) -> list[tuple[int, int]]:
    """How far the whole convolution looks before and behind an array, or the part of the array's length from ``firsts`` on."""
    return [
        (n - 1, n - 1) if first is None else (n - 1 - first, first) for n, first in zip(kernel, firsts, strict=True)
    ]


# ---- by products ------------------------------------------------------------------------------------------------------


def _real_windows(x: Array, kernel: Array, padding: Sequence[tuple[int, int]], precision: Any) -> Array:
    out = lax.conv_general_dilated(
        x[None, None], jnp.flip(kernel)[None, None], (1,) * x.ndim, list(padding), precision=precision
    )
    return out[0, 0]


def _windows(x: Array, kernel: Array, padding: Sequence[tuple[int, int]], precision: Any) -> Array:
    """Sums of products of the reversed kernel with the part of ``x`` under it."""
    if x.ndim == 0:
        return x * kernel
    if not jnp.iscomplexobj(x):
        return _real_windows(x, kernel, padding, precision)
    parts = [_real_windows(a, b, padding, precision) for a in (x.real, x.imag) for b in (kernel.real, kernel.imag)]
    return lax.complex(parts[0] - parts[3], parts[1] + parts[2])


@api(static=("mode", "precision", "name"))
def _direct(in1: ArrayLike, in2: ArrayLike, mode: str, precision: Any, name: str) -> Array:
    in1, in2 = (jnp.asarray(x) for x in promote_inexact(in1, in2))
    if mode == "valid":
        if _needs_swap(name, in1.shape, in2.shape, range(in1.ndim)):
            in1, in2 = in2, in1
        return _windows(in1, in2, [(0, 0)] * in1.ndim, precision)
    firsts = [(n - 1) // 2 if mode == "same" else None for n in in2.shape]
    return _windows(in1, in2, _around(in2.shape, firsts), precision)


def _reversed(x: ArrayLike) -> Array:
    return jnp.conj(jnp.flip(jnp.asarray(x)))


def convolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: PrecisionLike = None
) -> Array:
    """The convolution of two arrays.

    Args:
      in1, in2: arrays of as many axes.
      mode: ``"full"``: wherever they overlap; ``"same"``: the middle, of the shape of ``in1``; ``"valid"``: wherever one
        contains the other.
      method: ``"direct"`` (also ``"auto"``): by products; ``"fft"``: by Fourier transforms.
      precision: of the products.
    Returns: floating (or complex) array.
    Raises:
      ValueError: another mode or method; empty arrays; shapes that don't fit.
    Example: ``signal.convolve(jnp.array([1., 2.]), jnp.array([1., 1.]))`` is ``[1., 3., 2.]``. Source: ``scipy.signal.convolve``.
    """
    return _by_method("convolve", in1, in2, mode, method, precision)


def correlate(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: PrecisionLike = None
) -> Array:
    """The correlation of two arrays: the convolution with the second one reversed and conjugate. Args: as of ``convolve``.

    Example: ``signal.correlate(jnp.array([1., 2.]), jnp.array([1., 0.]))`` is ``[0., 1., 2.]``.
    Source: ``scipy.signal.correlate``.
    """
    check_arraylike("correlate", in1, in2)
    if mode == "valid" and np.shape(in1) != np.shape(in2) and _is_inside(in1, in2):
        out = _by_method("correlate", in2, _reversed(in1), mode, method, precision)
        return _reversed(out)
    return _by_method("correlate", in1, _reversed(in2), mode, method, precision)


def _is_inside(in1: Any, in2: Any) -> bool:
    """Whether the second array contains the first."""
    pairs = zip(jnp.shape(in1), jnp.shape(in2), strict=False)
    return jnp.ndim(in1) == jnp.ndim(in2) and all(n <= m for n, m in pairs)


def _by_method(name: str, in1: Any, in2: ArrayLike, mode: str, method: str, precision: Any) -> Array:
    _check(name, in1, in2, mode)
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"{name}: method must be 'auto', 'direct' or 'fft', got {method!r}")
    if method == "fft":
        return _by_transform(in1, in2, mode=mode, axes=tuple(range(typeof(in1).ndim)), name=name)
    return _direct(in1, in2, mode, hashable_precision(precision), name)


# ---- by Fourier transforms ----------------------------------------------------------------------------------------------


def _fast_length(n: int) -> int:
    """The least length from n on that has no prime factor above 5."""
    best = 1 << (n - 1).bit_length()
    for fives in range(int(math.log(n, 5)) + 2):
        for threes in range(int(math.log(n, 3)) + 2):
            odd = 5**fives * 3**threes
            twos = max(0, math.ceil(n / odd) - 1).bit_length()
            best = min(best, odd << twos)
    return best


@api(static=("mode", "axes", "name"))
def _by_transform(in1: ArrayLike, in2: ArrayLike, mode: str, axes: tuple[int, ...], name: str) -> Array:
    in1, in2 = (jnp.asarray(x) for x in promote_inexact(in1, in2))
    dtype = in1.dtype
    if dtype.itemsize < 4:
        in1, in2 = in1.astype(np.float32), in2.astype(np.float32)
    if not axes:
        return (in1 * in2).astype(dtype)
    if mode == "valid" and _needs_swap(name, in1.shape, in2.shape, axes):
        in1, in2 = in2, in1
    lengths = [in1.shape[axis] + in2.shape[axis] - 1 for axis in axes]
    fast = [_fast_length(n) for n in lengths]
    there, back = (jnp.fft.fftn, jnp.fft.ifftn) if jnp.iscomplexobj(in1) else (jnp.fft.rfftn, jnp.fft.irfftn)
    product = there(in1, fast, axes) * there(in2, fast, axes)
    full = back(product, fast, axes)
    cut = [slice(None)] * full.ndim
    for axis, length in zip(axes, lengths, strict=True):
        cut[axis] = slice(length)
    full = full[tuple(cut)].astype(dtype)
    if mode == "full":
        return full
    shape = list(full.shape)
    for axis in axes:
        shape[axis] = in1.shape[axis] if mode == "same" else in1.shape[axis] - in2.shape[axis] + 1
    return _middle(full, shape)


def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Axes | None = None) -> Array:
    """The convolution of two arrays by Fourier transforms.

    Args:
      in1, in2: arrays of as many axes.
      mode: ``"full"``: wherever they overlap; ``"same"``: the middle, of the shape of ``in1``; ``"valid"``: wherever
        one contains the other.
      axes: the axes to convolve along, by default all; along others, lengths are equal or 1.
    Raises:
      ValueError: another mode; empty arrays; shapes that don't fit.
    Example: ``signal.fftconvolve(jnp.array([1., 2.]), jnp.array([1., 1.]))``. Source: ``scipy.signal.fftconvolve``.
    """
    _check("fftconvolve", in1, in2, mode)
    one, other = typeof(in1).shape, typeof(in2).shape
    indices = canonical_axes(axes if axes is None or isinstance(axes, int) else tuple(axes), len(one))
    for axis, (n, m) in enumerate(zip(one, other, strict=True)):
        if axis not in indices and n != m and 1 not in (n, m):
            raise ValueError(
                f"fftconvolve: along axis {axis} lengths must be equal or 1, got the shapes {one} and {other}"
            )
    return _by_transform(in1, in2, mode=mode, axes=indices, name="fftconvolve")


# ---- of images ----------------------------------------------------------------------------------------------------------

_BOUNDARIES = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric",
               "symmetric": "symmetric"}  # fmt: skip
_ZEROS = "zeros"  # filled with what convolutions pad with


@api(static=("mode", "boundary", "precision", "name"))
def _direct_2d(
    in1: ArrayLike, in2: ArrayLike, fillvalue: ArrayLike, mode: str, boundary: str, precision: Any, name: str
) -> Array:
    in1, in2 = (jnp.asarray(x) for x in promote_inexact(in1, in2))
    if mode == "valid":
        return _direct(in1, in2, mode, precision, name)
    # where SciPy has the middle
    firsts = [None if mode == "full" else n // 2 if name == "correlate2d" else (n - 1) // 2 for n in in2.shape]
    around = _around(in2.shape, firsts)
    if boundary == _ZEROS:
        return _windows(in1, in2, around, precision)
    options = {"constant_values": fillvalue} if boundary == "constant" else {}
    return _windows(jnp.pad(in1, around, mode=boundary, **options), in2, [(0, 0), (0, 0)], precision)


def _of_images(name: str, in1: Any, in2: ArrayLike, mode: str, boundary: str, fillvalue: Any, precision: Any) -> Array:
    _check(name, in1, in2, mode)
    if typeof(in1).ndim != 2:
        raise ValueError(
            f"{name}: arrays of two axes are needed, got the shapes {typeof(in1).shape} and {typeof(in2).shape}"
        )
    if boundary not in _BOUNDARIES:
        raise ValueError(f"{name}: boundary must be 'fill', 'wrap' or 'symm', got {boundary!r}")
    way = _BOUNDARIES[boundary]
    if fillvalue is None or np.ndim(fillvalue) > 0:
        raise ValueError(f"{name}: fillvalue must be one number, got {shown(fillvalue)}")
    if jnp.iscomplexobj(fillvalue) and not (jnp.iscomplexobj(in1) or jnp.iscomplexobj(in2)):
        raise TypeError(f"{name}: fillvalue must be a real number for real arrays, got {shown(fillvalue)}")
    if way == "constant" and isinstance(fillvalue, (int, float, complex, np.number)) and fillvalue == 0:
        way = _ZEROS
    return _direct_2d(in1, in2, fillvalue, mode, way, hashable_precision(precision), name)


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The convolution of two matrices.

    Args:
      in1, in2: arrays of two axes.
      mode: ``"full"``: wherever they overlap; ``"same"``: the middle, of the shape of ``in1``; ``"valid"``: wherever
        one contains the other.
      precision: of the products.
      boundary: what is around ``in1``: ``"fill"`` (``fillvalue``), ``"wrap"`` or ``"symm"``.
      fillvalue: a number.
    Raises:
      ValueError: another mode or boundary; empty arrays; other numbers of axes.
    Example: ``signal.convolve2d(jnp.ones((2, 2)), jnp.ones((1, 1)))``. Source: ``scipy.signal.convolve2d``.
    """
    return _of_images("convolve2d", in1, in2, mode, boundary, fillvalue, precision)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The correlation of two matrices. Args: as of ``convolve2d``.

    Example: ``signal.correlate2d(jnp.ones((2, 2)), jnp.ones((1, 1)))``. Source: ``scipy.signal.correlate2d``.
    """
    check_arraylike("correlate2d", in1, in2)
    if mode == "valid" and jnp.shape(in1) != jnp.shape(in2) and _is_inside(in1, in2):
        return _reversed(_of_images("correlate2d", in2, _reversed(in1), mode, boundary, fillvalue, precision))
    return _of_images("correlate2d", in1, _reversed(in2), mode, boundary, fillvalue, precision)
