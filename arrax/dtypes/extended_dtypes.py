"""Extended dtypes: element types that NumPy's own dtypes cannot hold, such as random keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike


class extended(np.generic):
    """The scalar type above those of all extended dtypes. It has no instances.

    Example: ``dtypes.issubdtype(key.dtype, dtypes.extended)`` is True of a typed key.
    Source: "Design of typed PRNG keys", extended dtypes.
    """


class prng_key(extended):
    """The scalar type of random keys. It has no instances: a single key is an array of shape ().

    Example: ``dtypes.issubdtype(key.dtype, dtypes.prng_key)`` tells a typed key from a raw one.
    Source: "Design of typed PRNG keys", PRNG dtypes.
    """


extended.__module__ = prng_key.__module__ = "arrax.dtypes"


named_dtypes: dict[str, Any] = {}  # those of which programs on disk may speak, by their names


class ExtendedDType:
    """The base of extended dtypes; an instance stands where a ``numpy.dtype`` stands.

    Equality is identity unless a subclass says otherwise; a subclass that defines ``__eq__`` defines ``__hash__`` too.
    Libraries give theirs ``_rules``: ``physical_element_aval(dtype)`` is the type that stores an element; ``convert_from(dtype,
    other)`` and ``convert_to(other, dtype)`` say between which dtypes elements are converted; ``tangent_dtype(dtype)`` is that
    of tangents, by default that of integers. Where it is the dtype itself, ``add(dtype, x, y)`` sums gradients and
    ``zero(dtype)`` is a scalar that changes no sum. ``full(shape, value, dtype)`` fills arrays.

    Attributes:
      name: how the dtype prints, ``key<fry>`` for one.
      type: scalar type, a subclass of ``extended``.
      kind: ``"V"``, that of NumPy's opaque types: neither numbers nor bools.
      itemsize: bytes per element.
      physical_shape: trailing dimensions by which one element is stored.
      physical_dtype: NumPy dtype of that storage.
    Example: ``isinstance(key.dtype, dtypes.ExtendedDType), str(key.dtype)`` is ``(True, 'key<fry>')``.
    """

    __slots__ = ()
    name: str
    type: Any = extended
    kind: str = "V"
    _structure: Any = None  # what does operations that only move elements, conversions and sums
    _rules: Any = None

    @property
    def physical_shape(self) -> tuple[int, ...]:
        return self._rules.physical_element_aval(self).shape

    @property
    def physical_dtype(self) -> np.dtype[Any]:
        return self._rules.physical_element_aval(self).dtype

    @property
    def itemsize(self) -> int:
        return math.prod(self.physical_shape) * self.physical_dtype.itemsize

    def __repr__(self) -> str:
        return self.name

    def wrap(self, data: Array) -> Array:
        """An array of the dtype from what stores its elements."""
        return self._structure.wrap(self, data)

    def unwrap(self, values: Array) -> Array:
        """What stores the elements of an array of the dtype."""
        return self._structure.unwrap(self, values)

    def reshape(self, values: Array, shape: tuple[int, ...]) -> Any:
        return self._structure.reshape(self, values, shape)

    def transpose(self, values: Array, order: tuple[int, ...]) -> Array:
        return self._structure.transpose(self, values, order)

    def broadcast_in_dim(self, values: Array, shape: tuple[int, ...], dims: tuple[int, ...]) -> Array:
        return self._structure.broadcast_in_dim(self, values, shape, dims)

    def concatenate(self, values: Sequence[Array], dimension: int) -> Any:
        return self._structure.concatenate(self, values, dimension)

    def slice(
        self, values: Array, starts: tuple[int, ...], limits: tuple[int, ...], strides: tuple[int, ...] | None
    ) -> Any:
        return self._structure.slice(self, values, starts, limits, strides)

    def select_n(self, which: Array, *cases: Array) -> Array:
        return self._structure.select_n(self, which, *cases)

    def equal(self, x: Array, y: Array) -> Array:
        return self._structure.equal(self, x, y)

    def full(self, shape: tuple[int, ...], value: ArrayLike) -> Any:
        return self._structure.full(self, shape, value)

    def pad(self, values: Array, value: Array, config: tuple[tuple[int, ...], ...]) -> Array:
        return self._structure.pad(self, values, value, config)

    def dynamic_slice(self, values: Array, indices: Sequence[ArrayLike], sizes: tuple[int, ...]) -> Array:
        return self._structure.dynamic_slice(self, values, indices, sizes)

    def dynamic_update_slice(self, values: Array, new: Array, indices: Sequence[ArrayLike]) -> Array:
        return self._structure.dynamic_update_slice(self, values, new, indices)

    def gather(self, values: Array, indices: ArrayLike, **params: Any) -> Array:
        return self._structure.gather(self, values, indices, **params)

    def scatter(self, name: str, values: Any, indices: Any, new: Any, **params: Any) -> Any:
        return self._structure.scatter(self, name, values, indices, new, **params)
