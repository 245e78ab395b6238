"""Discrete cosine transforms of the types 1 to 4, by Fourier transforms of the same length or twice it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.calls import as_index
from arrax.core.types import typeof
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import canonical_axes, check_arraylike, own_promotion, promote_inexact
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike

_NORMS = (None, "backward", "ortho", "forward")


def _check(name: str, x: Any, type: int, norm: str | None) -> None:
    check_arraylike(name, x)
    if type not in (1, 2, 3, 4):
        raise ValueError(f"{name}: type must be 1, 2, 3 or 4, got {type!r}")
    if norm not in _NORMS:
        raise ValueError(f"{name}: norm must be None, 'backward', 'ortho' or 'forward', got {norm!r}")


def _turn(dtype: np.dtype, numerator: np.ndarray, denominator: int) -> Array:
    """exp(-i pi numerator / denominator), from exact angles."""
    angle = np.pi * np.asarray(numerator, np.float64) / denominator
    return jnp.asarray(np.exp(-1j * angle).astype(np.complex128 if dtype == np.float64 else np.complex64))


def _type_1(x: Array) -> Array:
    size = x.shape[-1]
    if size < 2:
        raise ValueError("dct: type 1 needs at least two elements")
    return jnp.fft.rfft(jnp.concatenate([x, jnp.flip(x[..., 1:-1], -1)], -1), axis=-1).real


def _type_2(x: Array) -> Array:
    """2 sum of x_n cos(pi (2n + 1) k / (2N)): even elements, then odd ones backwards, and one transform. Makhoul (1980)."""
    size = x.shape[-1]
    ordered = jnp.concatenate([x[..., ::2], jnp.flip(x[..., 1::2], -1)], -1)
    turned = jnp.fft.fft(ordered, axis=-1) * _turn(x.dtype, np.arange(size), 2 * size)
    return 2 * turned.real


def _type_3(x: Array) -> Array:
    """x_0 + 2 sum of x_n cos(pi n (2k + 1) / (2N)): the transpose of type 2, by one transform."""
    size = x.shape[-1]
    weighted = x.at[..., 0].multiply(0.5) * _turn(x.dtype, np.arange(size), 2 * size)
    out = 2 * jnp.fft.fft(weighted, axis=-1).real
    index = np.arange(size)
    return out[..., np.where(index % 2 == 0, index // 2, size - 1 - index // 2)]


def _type_4(x: Array) -> Array:
    """2 sum of x_n cos(pi (2n + 1) (2k + 1) / (4N)), by a transform of twice the length."""
    size = x.shape[-1]
    padded = jnp.pad(x * _turn(x.dtype, np.arange(size), 2 * size), [(0, 0)] * (x.ndim - 1) + [(0, size)])
    turned = jnp.fft.fft(padded, axis=-1)[..., :size] * _turn(x.dtype, 2 * np.arange(size) + 1, 4 * size)
    return 2 * turned.real


_FORWARD = {1: _type_1, 2: _type_2, 3: _type_3, 4: _type_4}
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _logical_size(size: int, type: int) -> int:
    """By how much a transform and its inverse together enlarge."""
    return 2 * (size - 1) if type == 1 else 2 * size


def _factors(size: int, inner: float, special: tuple[int, ...], at_special: float, dtype: np.dtype) -> np.ndarray:
    """One factor for each element, rounded once: elements that have two factors else lose a digit more than the others."""
    factors = np.full(size, inner)
    factors[list(special)] = at_special
    return factors.astype(dtype)


def _orthonormal(x: Array, type: int) -> Array:
    """The transform that is its own inverse's transpose: ends of type 1, the mean of types 2 and 3 weighted."""
    size = x.shape[-1]
    logical = _logical_size(size, type)
    scale = 1 / math.sqrt(logical)  # a number of Python, which gives way to the dtype of x
    if type == 1:
        ends = (0, size - 1)
        weighted = x * _factors(size, 1.0, ends, math.sqrt(2), x.dtype)
        return _type_1(weighted) * _factors(size, scale, ends, 1 / math.sqrt(2 * logical), x.dtype)
    if type == 2:
        return _type_2(x) * _factors(size, scale, (0,), 1 / math.sqrt(2 * logical), x.dtype)
    if type == 3:
        return _type_3(x * _factors(size, scale, (0,), 1 / math.sqrt(size), x.dtype))
    return _type_4(x) * scale


def _resized(x: Array, n: int) -> Array:
    """Cut or filled with zeros to n elements along the last axis."""
    if x.shape[-1] >= n:
        return x[..., :n]
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1])])


@api(static=("type", "lengths", "axes", "norm", "inverse"))
def _transformed(x: Any, type: int, lengths: Any, axes: tuple[int, ...], norm: str | None, inverse: bool) -> Any:
    (x,) = promote_inexact(x)
    x = jnp.asarray(x)
    if jnp.iscomplexobj(x):
        options = {"type": type, "lengths": lengths, "axes": axes, "norm": norm, "inverse": inverse}
        return lax.complex(_transformed(x.real, **options), _transformed(x.imag, **options))
    x = x if x.dtype.itemsize >= 4 else x.astype(np.float32)
    kind = _INVERSE[type] if inverse else type
    for axis, length in zip(axes, lengths, strict=True):
        row = _resized(jnp.moveaxis(x, axis, -1), length)
        if norm == "ortho":
            row = _orthonormal(row, kind)
        else:
            row = _FORWARD[kind](row)
            if (norm == "forward") != inverse:
                row = row / _logical_size(length, type)
        x = jnp.moveaxis(row, -1, axis)
    return x


def _along(name: str, x: ArrayLike, type: int, n: int | None, axis: int, norm: str | None, inverse: bool) -> Array:
    _check(name, x, type, norm)
    (index,) = canonical_axes(as_index(axis), typeof(x).ndim)
    length = typeof(x).shape[index] if n is None else as_index(n)
    if length < 1:
        raise ValueError(f"{name}: n must be positive, got {length}")
    return _transformed(x, type=type, lengths=(length,), axes=(index,), norm=norm, inverse=inverse)


def _over(name: str, x: ArrayLike, type: int, s: Any, axes: Axes | None, norm: str | None, inverse: bool) -> Array:
    _check(name, x, type, norm)
    rank = typeof(x).ndim
    s = (s,) if isinstance(s, int) else s
    if axes is None:
        indices = tuple(range(rank)) if s is None else tuple(range(rank - len(s), rank))
    else:
        indices = canonical_axes(axes if isinstance(axes, int) else tuple(axes), rank)
    lengths = tuple(typeof(x).shape[p] for p in indices) if s is None else tuple(map(as_index, s))
    if len(lengths) != len(indices):
        raise ValueError(f"{name}: s and axes must have as many elements, got {lengths} and {indices}")
    if s is not None and any(length < 1 for length in lengths):
        raise ValueError(f"{name}: s must be positive, got {lengths}")
    return _transformed(x, type=type, lengths=lengths, axes=indices, norm=norm, inverse=inverse)


@own_promotion
def dct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete cosine transform along an axis.

    Args:
      x: array; real and imaginary parts are transformed each for itself.
      type: 1, 2, 3 or 4.
      n: length of the transformed axis, cut or filled with zeros.
      axis: the axis.
      norm: ``"backward"`` (the default): no factor; ``"forward"``: divided by the factor of there and back; ``"ortho"``:
        orthonormal.
    Returns: array of floats of at least 32 bits.
    Raises:
      ValueError: another type or norm.
    Example: ``dct(jnp.array([1., 1.]))`` is ``[4., 0.]``. Source: ``scipy.fft.dct``.
    """
    return _along("dct", x, type, n, axis, norm, False)


@own_promotion
def idct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``dct``. Args: as of ``dct``.

    Example: ``idct(jnp.array([4., 0.]))`` is ``[1., 1.]``. Source: ``scipy.fft.idct``.
    """
    return _along("idct", x, type, n, axis, norm, True)


@own_promotion
def dctn(
    x: ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The discrete cosine transform along several axes.

    Args:
      x: array.
      type: 1, 2, 3 or 4.
      norm: ``"backward"`` (the default): no factor; ``"forward"``: divided by the factor of there and back;
        ``"ortho"``: orthonormal.
      s: lengths of the transformed axes.
      axes: the axes, by default all (or the last ones, as many as there are lengths).
    Raises:
      ValueError: another type or norm; lengths that don't fit.
    Example: ``dctn(jnp.ones((2, 2)))``. Source: ``scipy.fft.dctn``.
    """
    return _over("dctn", x, type, s, axes, norm, False)


@own_promotion
def idctn(
    x: ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of ``dctn``. Args: as of ``dctn``.

    Example: ``idctn(jnp.ones((2, 2)))``. Source: ``scipy.fft.idctn``.
    """
    return _over("idctn", x, type, s, axes, norm, True)
