"""Types for annotations: ``ArrayLike`` and ``DTypeLike``."""

import numpy as np

from arrax.dtypes import DTypeLike as DTypeLike
from arrax.xla.arrays import Array

ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
