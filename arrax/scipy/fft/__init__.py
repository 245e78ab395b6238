"""Discrete cosine transforms. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.scipy.fft.cosine_transforms import dct as dct
from arrax.scipy.fft.cosine_transforms import dctn as dctn
from arrax.scipy.fft.cosine_transforms import idct as idct
from arrax.scipy.fft.cosine_transforms import idctn as idctn

_bound_names(__name__)
