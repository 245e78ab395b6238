"""Spectra: Fourier transforms of windows of a signal, their powers, and the inverse transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax import numpy as jnp
from arrax.core.calls import as_index
from arrax.core.types import typeof
from arrax.dtypes.canonical import warn_user
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import canonical_axes, check_arraylike, own_promotion, promote_inexact
from arrax.scipy.signal.trends import _detrend
from arrax.scipy.signal.windows import window_values
from arrax.xla.arrays import Array, ArrayLike

# A window by its name, with parameters or without; a Kaiser window by its parameter; or values.
WindowLike = str | float | tuple[Any, ...] | ArrayLike
Detrend = str | bool | Callable[[Any], Any]
Samples = int | float | None  # their number, or that by default
_EXTENSIONS = ("even", "odd", "constant", "zeros", None)


def _number(samples: Samples) -> int:
    """A number of samples; fractions, as of durations times rates, are cut off."""
    return int(samples) if isinstance(samples, float | np.floating) else as_index(samples)


def _segments(
    name: str, window: Any, nperseg: Any, noverlap: Samples, nfft: Samples, length: int, least_known: bool = True
) -> tuple[np.ndarray, int, int, int]:
    """The window, its length, the overlap, and the length of the transforms."""
    if not isinstance(window, str | tuple | float | int) and nperseg is None:
        nperseg = len(np.asarray(window))
    size = 256 if nperseg is None else _number(nperseg)
    if size < 1:
        raise ValueError(f"{name}: nperseg must be positive, got {size}")
    if size > length and least_known:
        if nperseg is not None:
            warn_user(f"{name}: nperseg={size} is more than the signal's {length} values, which are used")
        size = length
    points = size if nfft is None else _number(nfft)
    if points < size:
        raise ValueError(f"{name}: nfft must be at least nperseg, {size}, got {points}")
    overlap = size // 2 if noverlap is None else _number(noverlap)
    if not 0 <= overlap < size:
        raise ValueError(f"{name}: noverlap must be less than nperseg, {size}, got {overlap}")
    return window_values(name, window, size), size, overlap, points


def _nothing(x: Any) -> Array:
    """What SciPy gives of empty signals: they themselves, floating."""
    return jnp.zeros(typeof(x).shape, jnp.result_type(float))


def _extended(x: Array, kind: str | None, count: int) -> Array:
    """The signal with ``count`` values more at either end."""
    if kind is None or not count:
        return x
    if kind == "zeros":
        return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(count, count)])
    if kind == "constant":
        return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(count, count)], mode="edge")
    before, after = jnp.flip(x[..., 1 : count + 1], -1), jnp.flip(x[..., -count - 1 : -1], -1)
    if kind == "odd":
        before, after = 2 * x[..., :1] - before, 2 * x[..., -1:] - after
    return jnp.concatenate([before, x, after], -1)


def _framed(x: Array, size: int, step: int) -> Array:
    count = (x.shape[-1] - size) // step + 1
    return x[..., np.arange(count)[:, None] * step + np.arange(size)]


def _spectra(x: Array, window: Array, size: int, step: int, points: int, trend: Any, onesided: bool) -> Array:
    """Transforms of all windows, shape (..., windows, frequencies)."""
    frames = _framed(x, size, step)
    if callable(trend):
        frames = trend(frames)
    elif trend:
        frames = _detrend(frames, axis=frames.ndim - 1, type=trend, breaks=(0, size))
    frames = frames * window
    return jnp.fft.rfft(frames, points, axis=-1) if onesided else jnp.fft.fft(frames, points, axis=-1)


def _is_onesided(wanted: bool, *signals: ArrayLike) -> bool:
    """Whether the frequencies from 0 on are all that is wanted, and all that there are: those of real signals."""
    if wanted and any(dtypes.is_complex(typeof(signal).dtype) for signal in signals):
        warn_user("Input data is complex, switching to return_onesided=False")
        return False
    return bool(wanted)


def _frequencies(points: int, fs: Any, onesided: bool, spectra: Array) -> Array:
    frequencies = jnp.fft.rfftfreq if onesided else jnp.fft.fftfreq
    return frequencies(points, 1 / fs, dtype=jnp.real(spectra).dtype)


def _as_signal(x: ArrayLike, axis: int) -> Array:
    (x,) = promote_inexact(x)
    x = jnp.asarray(x)
    return jnp.moveaxis(x if x.dtype.itemsize >= 4 else x.astype(np.float32), axis, -1)


def _checked_trend(name: str, detrend: Any) -> Any:
    if not callable(detrend) and detrend not in (False, "constant", "linear"):
        raise ValueError(f"{name}: detrend must be False, 'constant', 'linear' or a function, got {detrend!r}")
    return detrend


# ---- short-time transforms --------------------------------------------------------------------------------------------


@own_promotion
def stft(
    x: ArrayLike, fs: ArrayLike = 1.0, window: WindowLike = "hann", nperseg: Samples = 256, noverlap: Samples = None,
    nfft: Samples = None, detrend: Detrend = False, return_onesided: bool = True, boundary: str | None = "zeros",
    padded: bool = True, axis: int = -1,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The short-time Fourier transform.

    Args:
      x: array.
      fs: samples per unit of time.
      window: name, tuple of name and parameters, or values.
      nperseg: length of the windows; of this and the next two, fractions are cut off.
      noverlap: how much they overlap, by default half.
      nfft: length of the transforms, by default that of the windows.
      detrend: False, ``"constant"`` or ``"linear"``: what is taken from each window; or a function of the windows, shape
        (..., windows, samples), that gives what is left.
      return_onesided: of real signals, frequencies from 0 on only.
      boundary: what stands beyond the ends: ``"zeros"``, ``"even"``, ``"odd"``, ``"constant"``, or None for nothing.
      padded: fill up with zeros to whole windows.
      axis: the axis of time.
    Returns: ``(frequencies, times, transforms)``; in the last, frequencies are along ``axis`` and times along the last one.
    Raises:
      ValueError: arguments that don't fit.
    Example: ``signal.stft(jnp.ones(8), nperseg=4)[2].shape`` is ``(3, 5)``. Source: ``scipy.signal.stft``.
    """
    check_arraylike("stft", x)
    if boundary not in _EXTENSIONS:
        raise ValueError(f"stft: boundary must be 'zeros', 'even', 'odd', 'constant' or None, got {boundary!r}")
    if 0 in typeof(x).shape:
        return _nothing(x), _nothing(x), _nothing(x)
    index = canonical_axes(axis, typeof(x).ndim)[0]
    values, size, overlap, points = _segments("stft", window, nperseg, noverlap, nfft, typeof(x).shape[index])
    onesided = _is_onesided(return_onesided, x)
    outs = _stft(
        x, jnp.asarray(values), axis=index, step=size - overlap, points=points, trend=_checked_trend("stft", detrend),
        onesided=onesided, boundary=boundary, padded=bool(padded),
    )  # fmt: skip
    number = outs.shape[-1]
    times = (np.arange(number) * (size - overlap) + (0 if boundary is not None else size / 2)) / fs
    return _frequencies(points, fs, onesided, outs), jnp.asarray(times, jnp.real(outs).dtype), outs


@api(static=("axis", "step", "points", "trend", "onesided", "boundary", "padded"))
def _stft(
    x: ArrayLike,
    window: Array,
    axis: int,
    step: int,
    points: int,
    trend: Any,
    onesided: bool,
    boundary: str | None,
    padded: bool,
) -> Array:
    x = _as_signal(x, axis)
    size = window.shape[0]
    window = window.astype(jnp.real(x).dtype)
    x = _extended(x, boundary, size // 2)
    if padded:
        missing = -(x.shape[-1] - size) % step if x.shape[-1] >= size else size - x.shape[-1]
        x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
    outs = _spectra(x, window, size, step, points, trend, onesided) / jnp.sum(window)
    return jnp.moveaxis(outs, -1, axis)


@own_promotion
def istft(
    Zxx: ArrayLike, fs: ArrayLike = 1.0, window: WindowLike = "hann", nperseg: Samples = None,
    noverlap: Samples = None, nfft: Samples = None, input_onesided: bool = True, boundary: bool = True,
    time_axis: int = -1, freq_axis: int = -2,
) -> tuple[Array, Array]:  # fmt: skip
    """The inverse of ``stft``, by sums of the overlapping windows.

    Args:
      Zxx: transforms.
      fs, window, nperseg, noverlap, nfft: as of ``stft``; ``nperseg`` is by default as the number of frequencies says.
      input_onesided: whether the frequencies are from 0 on only.
      boundary: whether the signal had values added at its ends, which are cut off.
      time_axis, freq_axis: the axes of times and of frequencies.
    Returns: ``(times, signal)``.
    Raises:
      ValueError: arguments that don't fit; windows whose sum is 0 somewhere.
    Example: ``signal.istft(signal.stft(jnp.ones(8), nperseg=4)[2], nperseg=4)[1]`` is ``jnp.ones(8)``.
    Source: ``scipy.signal.istft``.
    """
    check_arraylike("istft", Zxx)
    rank = typeof(Zxx).ndim
    if rank < 2:
        raise ValueError(f"istft: Zxx must have at least two axes, got the shape {typeof(Zxx).shape}")
    time, frequency = canonical_axes(time_axis, rank)[0], canonical_axes(freq_axis, rank)[0]
    if time == frequency:
        raise ValueError(f"istft: time_axis and freq_axis must differ, got {time_axis} and {freq_axis}")
    count = typeof(Zxx).shape[frequency]
    default = 2 * (count - 1) if input_onesided else count
    size = default if nperseg is None else _number(nperseg)
    if nfft is None and nperseg is not None and input_onesided and size == default + 1:
        nfft = size  # an odd length
    points = default if nfft is None else _number(nfft)
    values, size, overlap, points = _segments("istft", window, size, noverlap, points, size, False)
    norm = _summed_squares(values, typeof(Zxx).shape[time], size - overlap)
    kept = slice(size // 2, len(norm) - size // 2) if boundary else slice(None)
    out = _istft(
        Zxx, jnp.asarray(values), jnp.asarray(np.where(norm > 1e-10, norm, 1.0)), time=time, frequency=frequency,
        step=size - overlap, points=points, onesided=bool(input_onesided), kept=(kept.start, kept.stop),
    )  # fmt: skip
    if np.any(norm[kept] <= 1e-10):
        warn_user("istft: the windows overlap so that their sum is 0 somewhere: the signal is not known there")
    length = out.shape[time - (frequency < time)]
    return jnp.asarray(np.arange(length) / fs, jnp.real(out).dtype), out


def _summed_squares(window: np.ndarray, count: int, step: int) -> np.ndarray:
    total = np.zeros(len(window) + (count - 1) * step)
    for n in range(count):
        total[n * step : n * step + len(window)] += window**2
    return total


@api(static=("time", "frequency", "step", "points", "onesided", "kept"))
def _istft(
    z: ArrayLike,
    window: Array,
    norm: Array,
    time: int,
    frequency: int,
    step: int,
    points: int,
    onesided: bool,
    kept: tuple[int, ...],
) -> Array:
    z = jnp.moveaxis(jnp.asarray(z), (time, frequency), (-2, -1))
    size = window.shape[0]
    frames = jnp.fft.irfft(z, points, axis=-1) if onesided else jnp.fft.ifft(z, points, axis=-1)
    real = jnp.real(frames).dtype
    window, norm = window.astype(real), norm.astype(real)
    frames = frames[..., :size] * (window * jnp.sum(window))
    indices = np.arange(frames.shape[-2])[:, None] * step + np.arange(size)
    total = jnp.zeros((*frames.shape[:-2], norm.shape[0]), frames.dtype).at[..., indices].add(frames)
    out = (total / norm)[..., slice(*kept)]
    return jnp.moveaxis(out, -1, time - (frequency < time))


# ---- powers -----------------------------------------------------------------------------------------------------------


@own_promotion
def csd(
    x: ArrayLike, y: ArrayLike, fs: ArrayLike = 1.0, window: WindowLike = "hann", nperseg: Samples = None,
    noverlap: Samples = None, nfft: Samples = None, detrend: Detrend = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[Array, Array]:  # fmt: skip
    """The cross power spectral density of two signals, by Welch's method.

    Args:
      x: array.
      y: array, or None for ``x`` itself.
      fs: samples per unit of time.
      window: name, tuple of name and parameters, or values.
      nperseg: length of the windows; of this and the next two, fractions are cut off.
      noverlap: how much they overlap, by default half.
      nfft: length of the transforms, by default that of the windows.
      detrend: False, ``"constant"`` or ``"linear"``: what is taken from each window; or a function of the windows, shape
        (..., windows, samples), that gives what is left.
      return_onesided: of real signals, frequencies from 0 on only.
      axis: the axis of time.
      scaling: ``"density"`` (power per frequency) or ``"spectrum"`` (power).
      average: ``"mean"`` or ``"median"`` of the windows.
    Returns: ``(frequencies, powers)``; of several windows the average.
    Raises:
      ValueError: arguments that don't fit.
    Example: ``signal.csd(jnp.ones(8), jnp.ones(8), nperseg=4)[1].shape`` is ``(3,)``. Source: ``scipy.signal.csd``.
    """
    return _power("csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


@own_promotion
def welch(
    x: ArrayLike, fs: ArrayLike = 1.0, window: WindowLike = "hann", nperseg: Samples = None, noverlap: Samples = None,
    nfft: Samples = None, detrend: Detrend = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1, average: str = "mean",
) -> tuple[Array, Array]:  # fmt: skip
    """The power spectral density of a signal, by Welch's method. Args: as of ``csd``.

    Example: ``signal.welch(jnp.ones(8), nperseg=4)[1].shape`` is ``(3,)``. Source: ``scipy.signal.welch``; Welch (1967).
    """
    return _power(
        "welch", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    )


def _power(
    name: str, x: ArrayLike, y: Any, fs: Any, window: Any, nperseg: Samples, noverlap: Samples, nfft: Samples,
    detrend: Any, onesided: bool, scaling: str, axis: int, average: str,
) -> tuple[Any, Any]:  # fmt: skip
    check_arraylike(name, x, *(() if y is None else (y,)))
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"{name}: scaling must be 'density' or 'spectrum', got {scaling!r}")
    if average not in ("mean", "median"):
        raise ValueError(f"{name}: average must be 'mean' or 'median', got {average!r}")
    signals = [x] if y is None or y is x else [x, y]
    if 0 in typeof(x).shape:
        return _nothing(x), _nothing(x)
    index = canonical_axes(axis, typeof(x).ndim)[0]
    length = max(typeof(s).shape[canonical_axes(axis, typeof(s).ndim)[0]] for s in signals)
    values, size, overlap, points = _segments(name, window, nperseg, noverlap, nfft, length)
    one = _is_onesided(onesided, *signals)
    scale = 1 / (fs * np.sum(values**2)) if scaling == "density" else 1 / np.sum(values) ** 2
    power = _averaged(
        signals, jnp.asarray(values), scale, axis=index - typeof(x).ndim, step=size - overlap, points=points, length=length,
        trend=_checked_trend(name, detrend), onesided=one, average=average,
    )  # fmt: skip
    return _frequencies(points, fs, one, power), power


@api(static=("axis", "step", "points", "length", "trend", "onesided", "average"))
def _averaged(
    signals: list[Any], window: Array, scale: ArrayLike, axis: int, step: int, points: int, length: int, trend: Any,
    onesided: bool, average: str,
) -> Array:  # fmt: skip
    signals = [_as_signal(s, axis) for s in promote_inexact(*signals)]
    signals = [jnp.pad(s, [(0, 0)] * (s.ndim - 1) + [(0, length - s.shape[-1])]) for s in signals]
    size = window.shape[0]
    window = window.astype(jnp.real(signals[0]).dtype)
    found = [_spectra(s, window, size, step, points, trend, onesided) for s in signals]
    power = jnp.square(jnp.abs(found[0])) if len(found) == 1 else jnp.conj(found[0]) * found[1]
    power = power * jnp.asarray(scale, window.dtype)
    if onesided:
        last = points // 2 if points % 2 == 0 else points // 2 + 1
        power = power.at[..., 1:last].multiply(2)
    power = jnp.mean(power, -2) if average == "mean" else _median(power)
    return jnp.moveaxis(power, -1, axis)


def _median(power: Array) -> Array:
    """The median over the windows, without its bias for squares of normal numbers."""
    count = power.shape[-2]
    even = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    bias = float(1 + np.sum(1 / (even + 1) - 1 / even))
    if jnp.iscomplexobj(power):
        return (jnp.median(power.real, -2) + 1j * jnp.median(power.imag, -2)) / bias
    return jnp.median(power, -2) / bias
