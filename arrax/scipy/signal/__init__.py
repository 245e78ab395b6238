"""Signals. Public names only."""

from arrax.core.late_names import late_names

__getattr__, __dir__, __all__ = late_names(__name__, {
    "arrax.scipy.signal.convolutions": ("convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"),
    "arrax.scipy.signal.spectra": ("csd", "istft", "stft", "welch"),
    "arrax.scipy.signal.trends": ("detrend",),
})  # fmt: skip
