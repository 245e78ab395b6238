"""Images of any number of axes. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.scipy.ndimage.coordinates import map_coordinates as map_coordinates

_bound_names(__name__)
