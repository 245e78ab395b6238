"""Extended dtypes: element types that NumPy's own dtypes cannot hold, such as random keys."""

from __future__ import annotations

from typing import Any

import numpy as np


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

    Attributes:
      name: how the dtype prints, ``key<fry>`` for one.
      type: scalar type, a subclass of ``extended``.
      itemsize: bytes per element.
      physical_shape: trailing dimensions by which one element is stored.
      physical_dtype: NumPy dtype of that storage.
    Example: ``isinstance(key.dtype, dtypes.ExtendedDType), str(key.dtype)`` is ``(True, 'key<fry>')``.
    """

    __slots__ = ()
    name: str
    type: Any = extended
    itemsize: int
    physical_shape: tuple[int, ...]
    physical_dtype: np.dtype[Any]
    # Structural operations on arrays of the dtype, which subclasses define as methods.
    reshape: Any
    transpose: Any
    broadcast_in_dim: Any
    concatenate: Any
    slice: Any
    select_n: Any
    pad: Any
    full: Any

    def __repr__(self) -> str:
        return self.name
