"""Types of values as the compiler sees them, which classes of values it is given, operations applied at once (public names)."""

from arrax.core.types import ShapedArray as ShapedArray
from arrax.core.types import pytype_aval_mappings as pytype_aval_mappings
from arrax.core.types import typeof as abstractify
from arrax.dtypes import canonicalize_dtype as canonicalize_dtype
from arrax.interpreters.evaluation import apply_primitive as apply_primitive
from arrax.interpreters.operand_classes import canonicalize_dtype_handlers as canonicalize_dtype_handlers

__all__ = [
    "ShapedArray", "abstractify", "apply_primitive", "canonicalize_dtype", "canonicalize_dtype_handlers", "pytype_aval_mappings",
]  # fmt: skip
