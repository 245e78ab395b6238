"""Interpolation. Public names only."""

from arrax.scipy.interpolate.regular_grids import RegularGridInterpolator as RegularGridInterpolator
