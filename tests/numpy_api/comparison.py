"""How results of arrax.numpy are compared with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


def leaves(result: Any) -> list[np.ndarray]:
    """The arrays of a result, which may be a sequence of them."""
    if isinstance(result, list | tuple):
        return [leaf for item in result for leaf in leaves(item)]
    return [np.asarray(result)]


def assert_same(ours: Any, theirs: Any, rtol: float = 1e-5, atol: float = 1e-6, dtypes: bool = True) -> None:
    """Equal shapes, close values, and NumPy's dtypes narrowed to 32 bits."""
    mine, expected = leaves(ours), leaves(theirs)
    assert len(mine) == len(expected)
    for a, b in zip(mine, expected, strict=True):
        assert a.shape == b.shape
        if dtypes:
            assert a.dtype.name == NARROW.get(b.dtype.name, b.dtype.name)
        if a.dtype.kind == "V":
            a = a.astype(np.float32)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
