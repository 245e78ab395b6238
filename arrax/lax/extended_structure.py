"""Operations on arrays of extended dtypes that only move elements: those on what stores these, whose own axes stand last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.types import typeof
from arrax.dtypes import DTypeLike, ExtendedDType
from arrax.lax import (
    arithmetic,
    axis_order,
    concatenation,
    reductions,
    selection,
    shapes,
    slicing,
    static_slicing,
)
from arrax.lax.gathers import gather_p
from arrax.lax.scatters import scatter_p

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike


class Structure:
    """What an extended dtype hands operations on to. Subclasses say how arrays are made of what stores their elements."""

    def wrap(self, dtype: ExtendedDType, data: Any) -> Any:
        raise NotImplementedError

    def unwrap(self, dtype: ExtendedDType, values: Any) -> Any:
        raise NotImplementedError

    def full(self, dtype: ExtendedDType, shape: tuple[int, ...], value: Any) -> Any:
        raise NotImplementedError

    def _apply(self, dtype: ExtendedDType, operation: Callable[[Any], Any], values: Any) -> Array:
        return self.wrap(dtype, operation(self.unwrap(dtype, values)))

    def converted(self, dtype: ExtendedDType, values: Sequence[ArrayLike]) -> Any:
        raise ValueError(f"Cannot convert_element_type from {typeof(values).dtype} to {dtype}")

    def number(self, dtype: ExtendedDType, values: Array, other: DTypeLike) -> Any:
        raise ValueError(f"Cannot convert_element_type from {dtype} to {other}")

    def reshape(self, dtype: ExtendedDType, values: Array, shape: tuple[int, ...]) -> Array:
        return self._apply(dtype, lambda data: shapes.reshape(data, (*shape, *dtype.physical_shape)), values)

    def transpose(self, dtype: ExtendedDType, values: Array, order: tuple[int, ...]) -> Array:
        tail = range(len(order), len(order) + len(dtype.physical_shape))
        return self._apply(dtype, lambda data: axis_order.transpose(data, (*order, *tail)), values)

    def broadcast_in_dim(
        self, dtype: ExtendedDType, values: Array, shape: tuple[int, ...], dims: tuple[int, ...]
    ) -> Array:
        tail = range(len(shape), len(shape) + len(dtype.physical_shape))
        full = (*shape, *dtype.physical_shape)
        return self._apply(dtype, lambda data: shapes.broadcast_in_dim(data, full, (*dims, *tail)), values)

    def concatenate(self, dtype: ExtendedDType, values: Sequence[Any], dimension: int) -> Array:
        return self.wrap(dtype, concatenation.concatenate([self.unwrap(dtype, each) for each in values], dimension))

    def slice(
        self,
        dtype: ExtendedDType,
        values: Array,
        starts: tuple[int, ...],
        limits: tuple[int, ...],
        strides: tuple[int, ...] | None,
    ) -> Array:
        rank = len(dtype.physical_shape)

        def cut(data: Array) -> Array:
            steps = None if strides is None else (*strides, *(1,) * rank)
            return static_slicing.slice_(data, (*starts, *(0,) * rank), (*limits, *dtype.physical_shape), steps)

        return self._apply(dtype, cut, values)

    def select_n(self, dtype: ExtendedDType, which: Array, *cases: Array) -> Array:
        data = [self.unwrap(dtype, case) for case in cases]
        shape, own = typeof(data[0]).shape, typeof(which).shape
        broadcasted = shapes.broadcast_in_dim(which, shape, tuple(range(len(own)))) if own else which
        return self.wrap(dtype, selection.select_n(broadcasted, *data))

    def equal(self, dtype: ExtendedDType, x: Array, y: Array) -> Array:
        rank = typeof(x).ndim
        same = arithmetic.eq(self.unwrap(dtype, x), self.unwrap(dtype, y))
        return reductions.reduce_and(same, tuple(range(rank, rank + len(dtype.physical_shape))))

    def pad(self, dtype: ExtendedDType, values: Array, value: Array, config: tuple[Any, ...]) -> Array:
        own = [(0, 0, 0)] * len(dtype.physical_shape)
        filling = self.unwrap(dtype, value)
        return self._apply(dtype, lambda data: static_slicing.pad(data, filling, [*config, *own]), values)

    def dynamic_slice(
        self, dtype: ExtendedDType, values: Array, indices: Sequence[ArrayLike], sizes: tuple[int, ...]
    ) -> Array:
        zeros = [_zero(indices)] * len(dtype.physical_shape)
        full = (*sizes, *dtype.physical_shape)
        return self._apply(
            dtype, lambda data: slicing.dynamic_slice_p.bind(data, *indices, *zeros, slice_sizes=full), values
        )

    def dynamic_update_slice(
        self, dtype: ExtendedDType, values: Array, new: Array, indices: Sequence[ArrayLike]
    ) -> Array:
        _check_same("dynamic_update_slice", dtype, new)
        zeros = [_zero(indices)] * len(dtype.physical_shape)
        data = self.unwrap(dtype, new)
        return self._apply(dtype, lambda old: slicing.dynamic_update_slice_p.bind(old, data, *indices, *zeros), values)

    def gather(self, dtype: ExtendedDType, values: Array, indices: ArrayLike, **params: Any) -> Array:
        numbers = params["dimension_numbers"]
        rank = len(numbers.offset_dims) + typeof(indices).ndim - 1
        own = tuple(range(rank, rank + len(dtype.physical_shape)))
        params["dimension_numbers"] = numbers._replace(offset_dims=(*numbers.offset_dims, *own))
        params["slice_sizes"] = (*params["slice_sizes"], *dtype.physical_shape)
        return self._apply(dtype, lambda data: gather_p.bind(data, indices, **params), values)

    def scatter(
        self, dtype: ExtendedDType, name: str, values: Sequence[ArrayLike], indices: Any, new: Any, **params: Any
    ) -> Any:
        if name != "scatter":
            raise TypeError(f"{name} is not defined for arrays of dtype {dtype.name}")
        _check_same(name, dtype, new)
        numbers, rank = params["dimension_numbers"], typeof(new).ndim
        own = tuple(range(rank, rank + len(dtype.physical_shape)))
        params["dimension_numbers"] = numbers._replace(update_window_dims=(*numbers.update_window_dims, *own))
        data = self.unwrap(dtype, new)
        return self._apply(dtype, lambda old: scatter_p.bind(old, indices, data, **params), values)


def _zero(indices: Sequence[ArrayLike]) -> ArrayLike:
    """An index of the dtype of the others."""
    return np.zeros((), typeof(indices[0]).dtype if indices else np.int32)[()]


def _check_same(name: str, dtype: ExtendedDType, new: Array) -> None:
    if typeof(new).dtype != dtype:
        raise TypeError(
            f"{name}: values of dtype {typeof(new).dtype} cannot be written to an array of dtype {dtype.name}"
        )
