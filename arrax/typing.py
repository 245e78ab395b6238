"""Types for annotations: ``ArrayLike`` and ``DTypeLike``."""

from arrax.dtypes import DTypeLike as DTypeLike
from arrax.xla.arrays import ArrayLike as ArrayLike
