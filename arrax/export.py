"""Functions as portable programs (public names)."""

from arrax import random as _random  # noqa: F401  (gives dtypes of keys their names)
from arrax.core.dimensions import is_symbolic_dim as is_symbolic_dim
from arrax.core.symbolic_shapes import SymbolicScope as SymbolicScope
from arrax.core.symbolic_shapes import symbolic_shape as symbolic_shape
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax import dimension_values as _dimension_values  # noqa: F401  (lengths as values)
from arrax.transforms.export_format import register_namedtuple_serialization as register_namedtuple_serialization
from arrax.transforms.export_format import register_pytree_node_serialization as register_pytree_node_serialization
from arrax.transforms.exporting import DisabledSafetyCheck as DisabledSafetyCheck
from arrax.transforms.exporting import Exported as Exported
from arrax.transforms.exporting import default_export_platform as default_export_platform
from arrax.transforms.exporting import deserialize as deserialize
from arrax.transforms.exporting import export as export
from arrax.transforms.exporting import (
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
)
from arrax.transforms.exporting import (
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from arrax.transforms.symbolic_arguments import symbolic_args_specs as symbolic_args_specs

_bound_names(__name__)
