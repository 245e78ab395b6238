"""Types of values as the compiler sees them, and which classes of values it is given (public names)."""

from arrax.core.types import ShapedArray as ShapedArray
from arrax.core.types import typeof as abstractify
from arrax.dtypes import canonicalize_dtype as canonicalize_dtype
from arrax.interpreters.operand_classes import canonicalize_dtype_handlers as canonicalize_dtype_handlers

__all__ = ["ShapedArray", "abstractify", "canonicalize_dtype", "canonicalize_dtype_handlers"]
