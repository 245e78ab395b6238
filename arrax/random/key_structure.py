"""Structural operations on key arrays: those of the data, with the key's own axes at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax.core.types import typeof
from arrax.lax import arithmetic, axis_order, filled_arrays, reductions, selection, shapes, slicing, structure
from arrax.lax.gather import gather_p
from arrax.lax.scatter import scatter_p
from arrax.random.implementations import KeyDType
from arrax.random.key_arrays import PRNGKeyArray, random_wrap_p, unwrap, wrap
from arrax.xla.placement import array_from_host


class StructureOfKeys:
    """What a key dtype hands structural operations on to; see ``KeyDType``."""

    def wrap(self, dtype: KeyDType, data: Any) -> Any:
        return wrap(dtype.implementation, data)

    def unwrap(self, dtype: KeyDType, keys: Any) -> Any:
        return unwrap(keys)

    def _apply(self, dtype: KeyDType, operation: Any, keys: Any) -> Any:
        out = random_wrap_p.bind(operation(unwrap(keys)), impl=dtype.implementation)
        if type(keys) is PRNGKeyArray and np.any(keys._consumed):
            out._consumed = self._mask(operation, keys)
        return out

    def _mask(self, operation: Any, keys: PRNGKeyArray) -> Any:
        """Which keys are consumed after an operation on their array: what the operation does to a mask."""
        rank = len(keys._impl.key_shape)
        mask = np.broadcast_to(keys._consumed, keys.shape).reshape(keys.shape + (1,) * rank)
        words = np.broadcast_to(mask, keys.shape + keys._impl.key_shape).astype(np.uint32)
        moved = np.asarray(operation(array_from_host(words))).astype(bool)
        return moved.any(axis=tuple(range(moved.ndim - rank, moved.ndim)))

    def reshape(self, dtype: KeyDType, keys: Any, shape: tuple[int, ...]) -> Any:
        return self._apply(dtype, lambda data: shapes.reshape(data, (*shape, *dtype.physical_shape)), keys)

    def transpose(self, dtype: KeyDType, keys: Any, order: tuple[int, ...]) -> Any:
        rank = len(dtype.physical_shape)
        tail = tuple(range(len(order), len(order) + rank))
        return self._apply(dtype, lambda data: axis_order.transpose(data, (*order, *tail)), keys)

    def broadcast_in_dim(self, dtype: KeyDType, keys: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> Any:
        tail = tuple(range(len(shape), len(shape) + len(dtype.physical_shape)))
        full = (*shape, *dtype.physical_shape)
        return self._apply(dtype, lambda data: shapes.broadcast_in_dim(data, full, (*dims, *tail)), keys)

    def concatenate(self, dtype: KeyDType, keys: Any, dimension: int) -> Any:
        joined = structure.concatenate([unwrap(k) for k in keys], dimension)
        return random_wrap_p.bind(joined, impl=dtype.implementation)

    def slice(self, dtype: KeyDType, keys: Any, starts: Any, limits: Any, strides: Any) -> Any:
        rank = len(dtype.physical_shape)

        def cut(data: Any) -> Any:
            steps = None if strides is None else (*strides, *(1,) * rank)
            return structure.slice_(data, (*starts, *(0,) * rank), (*limits, *dtype.physical_shape), steps)

        return self._apply(dtype, cut, keys)

    def select_n(self, dtype: KeyDType, which: Any, *cases: Any) -> Any:
        data = [unwrap(case) for case in cases]
        shape = typeof(data[0]).shape
        own = typeof(which).shape
        spread = shapes.broadcast_in_dim(which, shape, tuple(range(len(own)))) if own else which
        return random_wrap_p.bind(selection.select_n(spread, *data), impl=dtype.implementation)

    def equal(self, dtype: KeyDType, x: Any, y: Any) -> Any:
        rank = typeof(x).ndim
        same = arithmetic.eq(unwrap(x), unwrap(y))
        return reductions.reduce_and(same, tuple(range(rank, rank + len(dtype.physical_shape))))

    def full(self, dtype: KeyDType, shape: tuple[int, ...], value: Any) -> Any:
        if typeof(value).dtype == dtype:
            return self.broadcast_in_dim(dtype, value, shape, ())
        words = filled_arrays.full((*shape, *dtype.physical_shape), value, np.uint32)
        return wrap(dtype.implementation, words)

    def pad(self, dtype: KeyDType, keys: Any, value: Any, config: Any) -> Any:
        raise TypeError(f"lax.pad is not defined for key arrays of dtype {dtype.name}")

    def dynamic_slice(self, dtype: KeyDType, keys: Any, indices: Any, sizes: tuple[int, ...]) -> Any:
        zeros = [_zero(indices)] * len(dtype.physical_shape)
        full = (*sizes, *dtype.physical_shape)
        return self._apply(
            dtype, lambda data: slicing.dynamic_slice_p.bind(data, *indices, *zeros, slice_sizes=full), keys
        )

    def dynamic_update_slice(self, dtype: KeyDType, keys: Any, new: Any, indices: Any) -> Any:
        _check_same("dynamic_update_slice", dtype, new)
        zeros = [_zero(indices)] * len(dtype.physical_shape)
        data = unwrap(new)
        return self._apply(dtype, lambda old: slicing.dynamic_update_slice_p.bind(old, data, *indices, *zeros), keys)

    def gather(self, dtype: KeyDType, keys: Any, indices: Any, **params: Any) -> Any:
        numbers = params["dimension_numbers"]
        rank = len(numbers.offset_dims) + typeof(indices).ndim - 1
        own = tuple(range(rank, rank + len(dtype.physical_shape)))
        params["dimension_numbers"] = numbers._replace(offset_dims=(*numbers.offset_dims, *own))
        params["slice_sizes"] = (*params["slice_sizes"], *dtype.physical_shape)
        return self._apply(dtype, lambda data: gather_p.bind(data, indices, **params), keys)

    def scatter(self, dtype: KeyDType, name: str, keys: Any, indices: Any, new: Any, **params: Any) -> Any:
        if name != "scatter":
            raise TypeError(f"{name} is not defined for key arrays of dtype {dtype.name}")
        _check_same(name, dtype, new)
        numbers, rank = params["dimension_numbers"], typeof(new).ndim
        own = tuple(range(rank, rank + len(dtype.physical_shape)))
        params["dimension_numbers"] = numbers._replace(update_window_dims=(*numbers.update_window_dims, *own))
        data = unwrap(new)
        return self._apply(dtype, lambda old: scatter_p.bind(old, indices, data, **params), keys)


def _zero(indices: Any) -> Any:
    """An index of the dtype of the others."""
    return np.zeros((), typeof(indices[0]).dtype if indices else np.int32)[()]


def _check_same(name: str, dtype: KeyDType, new: Any) -> None:
    if typeof(new).dtype != dtype:
        raise TypeError(
            f"{name}: values of dtype {typeof(new).dtype} cannot be written to a key array of dtype {dtype.name}"
        )


KeyDType.structure = StructureOfKeys()
