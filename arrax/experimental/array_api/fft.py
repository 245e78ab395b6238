"""Fourier transforms, as the array API standard has them."""

from __future__ import annotations

from typing import Any

from arrax.core.tracebacks import bound_names
from arrax.experimental.array_api.standard import standard
from arrax.numpy_api import fourier, frequencies
from arrax.xla.annotations import OptionalDevice
from arrax.xla.arrays import Array


@standard(fourier.fft, "complex floating-point")
def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The Fourier transform along an axis.

    Example: ``xp.fft.fft(xp.asarray([1j, 0, 0, 0]))`` is ``[1j, 1j, 1j, 1j]``.
    """


@standard(fourier.ifft, "complex floating-point")
def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse Fourier transform along an axis.

    Example: ``xp.fft.ifft(xp.asarray([4j, 0, 0, 0]))`` is ``[1j, 1j, 1j, 1j]``.
    """


@standard(fourier.fftn, "complex floating-point")
def fftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The Fourier transform along several axes.

    Example: ``xp.fft.fftn(xp.asarray([[1j, 0], [0, 0]]))`` is ``[[1j, 1j], [1j, 1j]]``.
    """


@standard(fourier.ifftn, "complex floating-point")
def ifftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The inverse Fourier transform along several axes.

    Example: ``xp.fft.ifftn(xp.asarray([[4j, 0], [0, 0]]))`` is ``[[1j, 1j], [1j, 1j]]``.
    """


@standard(fourier.rfft, "real floating-point")
def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Half of the Fourier transform of real numbers along an axis.

    Example: ``xp.fft.rfft(xp.ones((4,)))`` is ``[4.0, 0.0, 0.0]``.
    """


@standard(fourier.irfft, "complex floating-point")
def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of ``rfft``.

    Example: ``xp.fft.irfft(xp.asarray([4j - 4j, 0j, 4 + 0j]))`` is ``[1.0, -1.0, 1.0, -1.0]``.
    """


@standard(fourier.rfftn, "real floating-point")
def rfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """Half of the Fourier transform of real numbers along several axes.

    Example: ``xp.fft.rfftn(xp.ones((2, 2)))`` is ``[[4.0, 0.0], [0.0, 0.0]]``.
    """


@standard(fourier.irfftn, "complex floating-point")
def irfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The inverse of ``rfftn``.

    Example: ``xp.fft.irfftn(xp.asarray([[4 + 0j, 0j], [0j, 0j]]))`` is ``[[1.0, 1.0], [1.0, 1.0]]``.
    """


@standard(fourier.hfft, "complex floating-point")
def hfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The Fourier transform of a signal that is symmetric, given by half of it.

    Example: ``xp.fft.hfft(xp.asarray([1 + 0j, 0j, 0j]))`` is ``[1.0, 1.0, 1.0, 1.0]``.
    """


@standard(fourier.ihfft, "real floating-point")
def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of ``hfft``.

    Example: ``xp.fft.ihfft(xp.ones((4,)))`` is ``[1.0, 0.0, 0.0]``.
    """


@standard(frequencies.fftfreq, arrays=0)
def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: OptionalDevice = None) -> Array:
    """The frequencies of ``fft``.

    Example: ``xp.fft.fftfreq(4)`` is ``[0.0, 0.25, -0.5, -0.25]``.
    """


@standard(frequencies.rfftfreq, arrays=0)
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: OptionalDevice = None) -> Array:
    """The frequencies of ``rfft``.

    Example: ``xp.fft.rfftfreq(4)`` is ``[0.0, 0.25, 0.5]``.
    """


@standard(frequencies.fftshift, "floating-point")
def fftshift(x: Any, /, *, axes: Any = None) -> Array:
    """Frequency zero moved to the middle.

    Example: ``xp.fft.fftshift(xp.asarray([0.0, 0.25, -0.5, -0.25]))`` is ``[-0.5, -0.25, 0.0, 0.25]``.
    """


@standard(frequencies.ifftshift, "floating-point")
def ifftshift(x: Any, /, *, axes: Any = None) -> Array:
    """The inverse of ``fftshift``.

    Example: ``xp.fft.ifftshift(xp.asarray([-0.5, -0.25, 0.0, 0.25]))`` is ``[0.0, 0.25, -0.5, -0.25]``.
    """


bound_names(__name__)
