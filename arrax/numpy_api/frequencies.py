"""Frequencies of Fourier transforms, and their order (NumPy reference, routines.fft)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import arithmetic, shape_arguments
from arrax.lax.conversion import convert
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import placed
from arrax.numpy_api.operands import check_arraylike, known_size
from arrax.numpy_api.rearranging import roll
from arrax.numpy_api.routes import eager_operand
from arrax.xla.annotations import Axes, OptionalDevice
from arrax.xla.arrays import Array, ArrayLike


def _frequencies(
    name: str, numerators: np.ndarray, n: int, d: ArrayLike, dtype: OptionalDType, device: OptionalDevice
) -> Array:
    check_arraylike(f"fft.{name}", d)
    if dtypes.is_complex(typeof(d).dtype):
        raise TypeError(f"fft.{name}: d must be real, got dtype {typeof(d).dtype}")
    if typeof(d).shape not in ((), numerators.shape):
        raise ValueError(f"fft.{name}: d must be a number, got shape {typeof(d).shape}")
    chosen = dtypes.canonicalize_dtype(np.float64) if dtype is None else dtypes.check_user_dtype(name, dtype)
    return placed(_divided(host.new(numerators.astype(chosen)), d, n), device)


@api(static=("n",))
def _divided(numerators: Array, d: ArrayLike, n: int) -> Array:
    dtype = typeof(numerators).dtype
    step = arithmetic.mul(convert(d, dtype), np.asarray(n).astype(dtype)[()])
    return arithmetic.div(numerators, step)


def _check_count(name: str, n: int | Sequence[int]) -> int:
    if isinstance(n, list | tuple):
        raise ValueError(f"The n argument of jnp.fft.{name} only takes an int. Got n = {n}.")
    return known_size(n, f"jnp.fft.{name}", "n")


def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: OptionalDType = None, device: OptionalDevice = None) -> Array:
    """The frequencies of the entries of ``fft``.

    Args:
      n: length of the transform.
      d: distance of samples.
      dtype: by default float32 (float64 with x64).
      device: device to put the result on.
    Raises:
      ValueError: ``n`` or ``d`` is a sequence.
    Example: ``jnp.fft.fftfreq(4)`` is ``[0, 0.25, -0.5, -0.25]``. Source: ``numpy.fft.fftfreq``.
    """
    n = _check_count("fftfreq", n)
    numerators = np.concatenate([np.arange((n - 1) // 2 + 1), np.arange(-(n // 2), 0)])
    return _frequencies("fftfreq", numerators, n, d, dtype, device)


def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: OptionalDType = None, device: OptionalDevice = None) -> Array:
    """The frequencies of the entries of ``rfft``.

    Args:
      n: length of the transform.
      d: distance of samples.
      dtype: by default float32 (float64 with x64).
      device: device to put the result on.
    Raises:
      ValueError: ``n`` is a sequence.
    Example: ``jnp.fft.rfftfreq(4)`` is ``[0, 0.25, 0.5]``. Source: ``numpy.fft.rfftfreq``.
    """
    n = _check_count("rfftfreq", n)
    return _frequencies("rfftfreq", np.arange(n // 2 + 1), n, d, dtype, device)


def _half_turn(name: str, x: ArrayLike, axes: Axes | None, sign: int) -> Array:
    check_arraylike(name, x)
    shape = typeof(x).shape
    chosen = range(len(shape)) if axes is None else (axes,) if isinstance(axes, int | np.integer) else tuple(axes)
    turned = tuple(shape_arguments.canonical_axis(axis, len(shape)) for axis in chosen)
    if not turned:
        return eager_operand(name, x)
    return roll(x, tuple(sign * (shape[axis] // 2) for axis in turned), turned)


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Entries turned so that the frequency 0 stands in the middle.

    Args:
      x: array.
      axes: which axes; all by default.
    Example: ``jnp.fft.fftshift(jnp.fft.fftfreq(4))`` is ``[-0.5, -0.25, 0, 0.25]``. Source: ``numpy.fft.fftshift``.
    """
    return _half_turn("fftshift", x, axes, 1)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of ``fftshift``.

    Args:
      x: array.
      axes: which axes; all by default.
    Example: ``jnp.fft.ifftshift(jnp.fft.fftshift(x))`` is ``x``. Source: ``numpy.fft.ifftshift``.
    """
    return _half_turn("ifftshift", x, axes, -1)
