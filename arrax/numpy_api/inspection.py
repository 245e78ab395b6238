"""Questions about values (NumPy reference, routines.logic)."""

from __future__ import annotations

import numpy as np

from arrax.core.types import typeof
from arrax.numpy_api.operands import is_arraylike
from arrax.xla.arrays import ArrayLike


def isscalar(element: ArrayLike) -> bool:
    """True for numbers, texts, and arrays without axes.

    Args:
      element: anything.
    Example: ``jnp.isscalar(jnp.float32(1))`` is True. Source: ``numpy.isscalar``.
    """
    if isinstance(element, np.ndarray):  # masked ones, too
        return element.ndim == 0
    if not isinstance(element, np.generic) and is_arraylike(element):
        return typeof(element).ndim == 0
    return bool(np.isscalar(element))
