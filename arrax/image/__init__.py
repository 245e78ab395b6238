"""Operations on images. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.image.scaling import ResizeMethod as ResizeMethod
from arrax.image.scaling import resize as resize
from arrax.image.scaling import scale_and_translate as scale_and_translate

_bound_names(__name__)
