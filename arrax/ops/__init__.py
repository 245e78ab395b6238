"""Operations on segments of arrays. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.ops.segments import segment_max as segment_max
from arrax.ops.segments import segment_min as segment_min
from arrax.ops.segments import segment_prod as segment_prod
from arrax.ops.segments import segment_sum as segment_sum

_bound_names(__name__)
