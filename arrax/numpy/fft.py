"""Fourier transforms. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.numpy_api.fourier import fft as fft
from arrax.numpy_api.fourier import fft2 as fft2
from arrax.numpy_api.fourier import fftn as fftn
from arrax.numpy_api.fourier import hfft as hfft
from arrax.numpy_api.fourier import ifft as ifft
from arrax.numpy_api.fourier import ifft2 as ifft2
from arrax.numpy_api.fourier import ifftn as ifftn
from arrax.numpy_api.fourier import ihfft as ihfft
from arrax.numpy_api.fourier import irfft as irfft
from arrax.numpy_api.fourier import irfft2 as irfft2
from arrax.numpy_api.fourier import irfftn as irfftn
from arrax.numpy_api.fourier import rfft as rfft
from arrax.numpy_api.fourier import rfft2 as rfft2
from arrax.numpy_api.fourier import rfftn as rfftn
from arrax.numpy_api.frequencies import fftfreq as fftfreq
from arrax.numpy_api.frequencies import fftshift as fftshift
from arrax.numpy_api.frequencies import ifftshift as ifftshift
from arrax.numpy_api.frequencies import rfftfreq as rfftfreq

_bound_names(__name__)
