"""Fourier transforms, as the array API standard has them."""

from __future__ import annotations

from typing import Any

from arrax.experimental.array_api.standard import standard
from arrax.numpy_api import fourier
from arrax.xla.arrays import Array


@standard(fourier.fft, "complex floating-point")
def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The Fourier transform along an axis."""


@standard(fourier.ifft, "complex floating-point")
def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse Fourier transform along an axis."""


@standard(fourier.fftn, "complex floating-point")
def fftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The Fourier transform along several axes."""


@standard(fourier.ifftn, "complex floating-point")
def ifftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The inverse Fourier transform along several axes."""


@standard(fourier.rfft, "real floating-point")
def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Half of the Fourier transform of real numbers along an axis."""


@standard(fourier.irfft, "complex floating-point")
def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of ``rfft``."""


@standard(fourier.rfftn, "real floating-point")
def rfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """Half of the Fourier transform of real numbers along several axes."""


@standard(fourier.irfftn, "complex floating-point")
def irfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The inverse of ``rfftn``."""


@standard(fourier.hfft, "complex floating-point")
def hfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The Fourier transform of a signal that is symmetric, given by half of it."""


@standard(fourier.ihfft, "real floating-point")
def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of ``hfft``."""


@standard(fourier.fftfreq, arrays=0)
def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of ``fft``."""


@standard(fourier.rfftfreq, arrays=0)
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of ``rfft``."""


@standard(fourier.fftshift, "floating-point")
def fftshift(x: Any, /, *, axes: Any = None) -> Array:
    """Frequency zero moved to the middle."""


@standard(fourier.ifftshift, "floating-point")
def ifftshift(x: Any, /, *, axes: Any = None) -> Array:
    """The inverse of ``fftshift``."""
