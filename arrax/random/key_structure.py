"""Operations that move elements, on key arrays: those on the data, with a note of which keys are used up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arrax.core.types import typeof
from arrax.dtypes import ExtendedDType
from arrax.lax import filled_arrays
from arrax.lax.extended_structure import Structure
from arrax.random.implementations import KeyDType
from arrax.random.key_arrays import PRNGKeyArray, random_wrap_p, unwrap, wrap
from arrax.xla.arrays import Array
from arrax.xla.placement import array_from_host


class StructureOfKeys(Structure):
    """What a key dtype hands operations on to; see ``ExtendedDType``."""

    def wrap(self, dtype: Any, data: Array) -> Array:
        return wrap(dtype.implementation, data)

    def unwrap(self, dtype: ExtendedDType, values: Array) -> Array:
        if typeof(values).dtype != dtype:
            raise TypeError(f"{dtype} goes together with keys of its own kind only, got dtype {typeof(values).dtype}")
        return unwrap(values)

    def _apply(self, dtype: Any, operation: Callable[[Any], Any], values: Array) -> Array:
        out = random_wrap_p.bind(operation(unwrap(values)), impl=dtype.implementation)
        if type(values) is PRNGKeyArray and np.any(values._consumed):
            out._consumed = self._mask(operation, values)
        return out

    def _mask(self, operation: Callable[[Any], Any], keys: PRNGKeyArray) -> Any:
        """Which keys are consumed after an operation on their array: what the operation does to a mask."""
        rank = len(keys._impl.key_shape)
        mask = np.broadcast_to(keys._consumed, keys.shape).reshape(keys.shape + (1,) * rank)
        words = np.broadcast_to(mask, keys.shape + keys._impl.key_shape).astype(np.uint32)
        moved = np.asarray(operation(array_from_host(words))).astype(bool)
        return moved.any(axis=tuple(range(moved.ndim - rank, moved.ndim)))

    def full(self, dtype: Any, shape: tuple[int, ...], value: Array) -> Array:
        if typeof(value).dtype == dtype:
            return self.broadcast_in_dim(dtype, value, shape, ())
        words = filled_arrays.full((*shape, *dtype.physical_shape), value, np.uint32)
        return wrap(dtype.implementation, words)

    def pad(self, dtype: ExtendedDType, values: Any, value: Any, config: Any) -> Any:
        raise TypeError(f"lax.pad is not defined for key arrays of dtype {dtype.name}")


KeyDType._structure = StructureOfKeys()
