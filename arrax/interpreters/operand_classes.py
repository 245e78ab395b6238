"""Classes of users whose values stand for arrays: the documented registry, as a view of the protocol ``__jax_array__``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.xla.placement import array_from_host

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def _as_array(value: Any) -> Array:
    return array_from_host(np.asarray(value))


class OperandClasses(dict[type, Callable[[Any], Any]]):
    """For each class of values that are not arrays, a function that makes an array of one.

    A class that is registered gets the method ``__jax_array__``, by which all functions here know such values.
    """

    def __setitem__(self, cls: type, convert: Callable[[Any], Any]) -> None:
        super().__setitem__(cls, convert)
        cls.__jax_array__ = lambda self: convert(self)  # type: ignore[attr-defined]


canonicalize_dtype_handlers = OperandClasses(
    {cls: _as_array for cls in (np.ndarray, np.generic, bool, int, float, complex)}
)
"""The registry: ``canonicalize_dtype_handlers[Cls] = canonicalize_dtype_handlers[numpy.ndarray]`` for one with ``__array__``."""
