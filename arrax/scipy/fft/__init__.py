"""Discrete cosine transforms. Public names only."""

from arrax.scipy.fft.cosine_transforms import dct as dct
from arrax.scipy.fft.cosine_transforms import dctn as dctn
from arrax.scipy.fft.cosine_transforms import idct as idct
from arrax.scipy.fft.cosine_transforms import idctn as idctn
