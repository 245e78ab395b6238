"""Types of values as the compiler sees them (public names)."""

from arrax.core.types import ShapedArray as ShapedArray
from arrax.core.types import typeof as abstractify
from arrax.dtypes import canonicalize_dtype as canonicalize_dtype

__all__ = ["ShapedArray", "abstractify", "canonicalize_dtype"]
