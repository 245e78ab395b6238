"""Images of any number of axes. The face: public names only."""

from arrax.scipy.ndimage.coordinates import map_coordinates as map_coordinates
