"""Images of any number of axes. Public names only."""

from arrax.scipy.ndimage.coordinates import map_coordinates as map_coordinates
