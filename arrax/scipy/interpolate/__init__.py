"""Interpolation. The face: public names only."""

from arrax.scipy.interpolate.regular_grids import RegularGridInterpolator as RegularGridInterpolator
