"""LAPACK kernels of jaxlib for the CPU. ``initialize`` imports scipy.linalg, so call it on first use."""

from jaxlib import lapack as kernels
from jaxlib.lapack import _lapack

initialize = _lapack.initialize
registrations = kernels.registrations
