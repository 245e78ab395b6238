"""Windows by their names, as NumPy arrays: one period, without the last point that repeats the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_COSINES = {  # coefficients of cosines of multiples of the angle, with alternating signs
    "hann": (0.5, 0.5), "hanning": (0.5, 0.5), "hamming": (0.54, 0.46), "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411), "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}  # fmt: skip


def _sum_of_cosines(count: int, coefficients: tuple[float, ...]) -> np.ndarray:
    angle = np.linspace(-np.pi, np.pi, count)
    return sum((c * np.cos(k * angle) for k, c in enumerate(coefficients)), np.zeros(count))


def _tukey(count: int, alpha: float = 0.5) -> np.ndarray:
    if alpha <= 0:
        return np.ones(count)
    distance = np.minimum(np.arange(count), count - 1 - np.arange(count)) / (count - 1)
    edge = 0.5 * (1 - np.cos(2 * np.pi * distance / min(alpha, 1)))
    return np.where(distance < min(alpha, 1) / 2, edge, 1.0)


def _parzen(count: int) -> np.ndarray:
    index = np.abs(np.arange(count) - (count - 1) / 2)
    share = 2 * index / count
    return np.where(index <= (count - 1) / 4, 1 - 6 * share**2 * (1 - share), 2 * (1 - share) ** 3)


def _bohman(count: int) -> np.ndarray:
    x = np.abs(np.linspace(-1, 1, count))
    out = (1 - x) * np.cos(np.pi * x) + np.sin(np.pi * x) / np.pi
    out[[0, -1]] = 0
    return out


def _triangle(count: int) -> np.ndarray:
    n = np.arange(1, (count + 1) // 2 + 1)
    half = (2 * n - 1) / count if count % 2 == 0 else 2 * n / (count + 1)
    return np.concatenate([half, half[::-1][count % 2 :]])


_NAMED: dict[str, Callable[..., np.ndarray]] = {
    "boxcar": np.ones, "box": np.ones, "rect": np.ones, "ones": np.ones, "bartlett": np.bartlett, "triang": _triangle,
    "parzen": _parzen, "bohman": _bohman, "tukey": _tukey,
    "cosine": lambda count: np.sin(np.pi / count * (np.arange(count) + 0.5)),
    "kaiser": lambda count, beta: np.kaiser(count, beta),
    "gaussian": lambda count, std: np.exp(-0.5 * ((np.arange(count) - (count - 1) / 2) / std) ** 2),
    "general_gaussian": lambda count, p, sig: np.exp(-0.5 * np.abs((np.arange(count) - (count - 1) / 2) / sig) ** (2 * p)),
    "general_hamming": lambda count, alpha: _sum_of_cosines(count, (alpha, 1 - alpha)),
    "general_cosine": lambda count, a: _sum_of_cosines(count, tuple(a)),
    "exponential": lambda count, center=None, tau=1.0: np.exp(-np.abs(np.arange(count) - (count - 1) / 2) / tau),
}  # fmt: skip


def window_values(name: str, window: Any, length: int) -> np.ndarray:
    """The values of a window.

    Args:
      name: the function that was called.
      window: a name, a tuple of a name and its parameters, a number (the beta of Kaiser's), or the values themselves.
      length: how many.
    Raises:
      ValueError: an unknown name, or values of another length.
    """
    if isinstance(window, float | int):
        window = ("kaiser", float(window))
    if not isinstance(window, str | tuple):
        values = np.asarray(window)
        if values.shape != (length,):
            raise ValueError(f"{name}: window must have {length} values, got the shape {values.shape}")
        return values
    label, *parameters = (window,) if isinstance(window, str) else window
    if label in _COSINES and not parameters:
        values = _sum_of_cosines(length + 1, _COSINES[label])
    elif label in _NAMED:
        try:
            values = _NAMED[label](length + 1, *parameters)
        except TypeError:
            raise ValueError(f"{name}: the window {label!r} needs other parameters than {tuple(parameters)}") from None
    else:
        raise ValueError(f"{name}: unknown window {label!r}; known are {', '.join(sorted({*_COSINES, *_NAMED}))}")
    return values[:-1] if length > 1 else np.ones(length)
