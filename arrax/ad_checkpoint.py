"""Recomputation instead of saving (public names of ``arrax.transforms.checkpointing``)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.saved_values import Offloadable as Offloadable
from arrax.lax.saved_values import Recompute as Recompute
from arrax.lax.saved_values import Saveable as Saveable
from arrax.transforms.checkpointing import checkpoint as checkpoint
from arrax.transforms.checkpointing import checkpoint as remat  # noqa: F401
from arrax.transforms.checkpointing import checkpoint_name as checkpoint_name
from arrax.transforms.checkpointing import checkpoint_policies as checkpoint_policies
from arrax.transforms.checkpointing import print_saved_residuals as print_saved_residuals
from arrax.transforms.checkpointing import saved_residuals as saved_residuals

_bound_names(__name__)
