"""Arrays as text (NumPy reference, routines.io)."""

from __future__ import annotations

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import Tracer
from arrax.core.types import typeof
from arrax.numpy_api.creation import asarray
from arrax.xla.arrays import ArrayLike, array_text


def array_repr(
    arr: ArrayLike, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The text of an array from which its elements and dtype can be read.

    Args:
      arr: array.
      max_line_width, precision, suppress_small: as of ``numpy.array_repr``; by default NumPy's print options count.
    Example: ``jnp.array_repr(jnp.ones(1))`` is ``Array([1.], dtype=float32)``. Source: ``numpy.array_repr``.
    """
    array = asarray(arr)
    if isinstance(array, Tracer | np.ndarray) or dtypes.is_extended(array.dtype):  # arrays of float0 are NumPy's
        return repr(array)
    if max_line_width is None and precision is None and suppress_small is None:
        return array_text(array)
    head = "Array("
    body = np.array2string(
        np.asarray(array), max_line_width, precision, suppress_small, separator=", ", prefix=head, suffix=")"
    )
    return f"{head}{body}, dtype={typeof(array).dtype.name})"


def array_str(
    a: ArrayLike, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The elements of an array as text.

    Args:
      a: array.
      max_line_width, precision, suppress_small: as of ``numpy.array_str``; by default NumPy's print options count.
    Example: ``jnp.array_str(jnp.ones(2))`` is ``[1. 1.]``. Source: ``numpy.array_str``.
    """
    return np.array_str(np.asarray(asarray(a)), max_line_width, precision, suppress_small)
