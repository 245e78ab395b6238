"""Generators: what a random-number implementation consists of, and the registry of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.tracebacks import bound_methods
from arrax.dtypes.extended_dtypes import named_dtypes
from arrax.dtypes.wording import shown


class Implementation:
    """A generator: functions of raw key data (arrays of unsigned ints of shape ``key_shape``).

    Attributes:
      key_shape: shape of one key's data.
      seed: from an integer array of shape () to key data.
      split: ``(data, shape)`` to data of shape ``shape + key_shape``.
      random_bits: ``(data, bit_width, shape)`` to unsigned ints.
      fold_in: ``(data, number)`` to key data.
      name, tag: ``threefry2x32`` and ``fry``.
    """

    __slots__ = ("key_shape", "seed", "split", "random_bits", "fold_in", "name", "tag", "dtype")

    def __init__(
        self, key_shape: tuple[int, ...], seed: Callable, split: Callable, random_bits: Callable, fold_in: Callable,
        name: str, tag: str,
    ) -> None:  # fmt: skip
        self.key_shape, self.seed, self.split, self.random_bits = tuple(key_shape), seed, split, random_bits
        self.fold_in, self.name, self.tag = fold_in, name, tag
        self.dtype = KeyDType(self)

    def __repr__(self) -> str:
        return f"PRNGImpl(name={self.name!r}, tag={self.tag!r}, key_shape={self.key_shape})"

    def __reduce__(self) -> tuple:
        return implementation_of, (self.name,)


@bound_methods
class KeyDType(dtypes.ExtendedDType):
    """The dtype of typed keys, ``key<fry>``. Structural operations act on the key data underneath (see key_structure)."""

    __slots__ = ("implementation", "name")
    type = dtypes.prng_key
    physical_dtype = np.dtype(np.uint32)

    def __init__(self, implementation: Implementation) -> None:
        self.implementation = implementation
        self.name = f"key<{implementation.tag}>"
        named_dtypes.setdefault(self.name, self)

    @property
    def physical_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.implementation.key_shape

    @property
    def itemsize(self) -> int:  # type: ignore[override]
        return int(np.prod(self.implementation.key_shape, dtype=np.int64)) * 4

    def __eq__(self, other: object) -> bool:
        return type(other) is KeyDType and self.implementation is other.implementation

    def __hash__(self) -> int:
        return hash((KeyDType, id(self.implementation)))

    def __reduce__(self) -> tuple:
        return dtype_of, (self.implementation.name,)


_implementations: dict[str, Implementation] = {}


def register(implementation: Implementation) -> None:
    """Make a generator known by its name.

    Raises:
      ValueError: the name is taken.
    """
    if implementation.name in _implementations:
        raise ValueError(f"a generator named {implementation.name!r} exists already")
    _implementations[implementation.name] = implementation


def register_if_named(implementation: Implementation) -> Implementation:
    """Register a generator that has a name of its own; returns it."""
    if implementation.name != "<unnamed>":
        register(implementation)
    return implementation


def implementation_of(spec: Any) -> Implementation:
    """The generator that a name, a key dtype or an Implementation stands for.

    Raises:
      ValueError: an unknown name.
      TypeError: something else.
    """
    if isinstance(spec, Implementation):
        return spec
    if isinstance(spec, KeyDType):
        return spec.implementation
    if isinstance(spec, str):
        if spec not in _implementations:
            raise ValueError(f"no generator is named {spec!r}; there are {', '.join(_implementations)}")
        return _implementations[spec]
    raise TypeError(
        f"a generator is given by its name, its key dtype or itself; got {shown(spec)} of type {type(spec)}"
    )


def dtype_of(name: str) -> KeyDType:
    """The key dtype of a named generator."""
    return implementation_of(name).dtype
