"""``pjit``: an older name of ``jit`` with shardings (public names)."""

from arrax.lax.calls import jit_p as pjit_p
from arrax.lax.sharding_constraints import with_sharding_constraint as with_sharding_constraint
from arrax.transforms.jit import jit as pjit
from arrax.xla.shardings import AUTO as AUTO
from arrax.xla.shardings import UNSPECIFIED as UNSPECIFIED

__all__ = ["AUTO", "UNSPECIFIED", "pjit", "pjit_p", "with_sharding_constraint"]
