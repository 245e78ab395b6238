"""``Array.view`` and ``Array.byteswap``: the bits of elements, read as another dtype or with their bytes reversed."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.lax.arithmetic import complex_, imag, real_part
from arrax.lax.axis_order import rev
from arrax.lax.bitcast import bitcast_convert_type
from arrax.lax.concatenation import concatenate
from arrax.lax.conversion import convert
from arrax.numpy_api.manipulation import reshape
from arrax.xla.arrays import Array


def view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """The same bits as another dtype.

    Args:
      dtype: the dtype; where its elements have another size, the last axis gets another length.
      type: not supported.
    Raises:
      ValueError: the last axis does not hold a whole number of elements.
      TypeError: random keys.
    Example: ``jnp.ones(2, jnp.float32).view(jnp.int16)`` has four elements.
    """
    if type is not None:
        raise NotImplementedError("view: the 'type' argument is not supported.")
    if dtype is None:
        return self
    chosen = dtypes.check_user_dtype("view", dtype)
    if chosen == self.dtype:
        return self
    if dtypes.is_extended(self.dtype) or dtypes.is_extended(chosen):
        raise TypeError(f"view: elements of the dtype {self.dtype} have no bits that could be read as {chosen}")
    if self.ndim == 0:
        if dtypes.itemsize_bits(self.dtype) != dtypes.itemsize_bits(chosen):
            raise ValueError("view() cannot change the itemsize of a 0d array")
        return reshape(_view(reshape(self, (1,)), chosen), ())
    return _view(self, chosen)


def byteswap(self: Array) -> Array:
    """The elements with their bytes in reverse order; those of real and imaginary parts each.

    Raises:
      TypeError: random keys.
    Example: ``jnp.array([1, 2], jnp.int16).byteswap()`` is ``[256, 512]``. Source: ``numpy.ndarray.byteswap``.
    """
    if dtypes.is_extended(self.dtype):
        raise TypeError(f"byteswap: elements of the dtype {self.dtype} have no bytes to reverse")
    if dtypes.is_complex(self.dtype):
        return complex_(byteswap(real_part(self)), byteswap(imag(self)))
    if dtypes.itemsize_bits(self.dtype) <= 8:
        return self
    return bitcast_convert_type(rev(bitcast_convert_type(self, np.dtype(np.uint8)), (self.ndim,)), self.dtype)


def _view(x: Any, chosen: np.dtype) -> Any:
    """Bits regrouped along the last axis. The compiler casts neither booleans nor complex numbers: these go by bytes and
    by parts."""
    if x.dtype == np.bool_:
        return _view(convert(x, np.dtype(np.uint8), False), chosen)
    if chosen == np.bool_:
        return convert(_view(x, np.dtype(np.uint8)), chosen, False)
    if dtypes.is_complex(x.dtype):
        parts = [reshape(part(x), (*x.shape, 1)) for part in (real_part, imag)]
        return _view(reshape(concatenate(parts, x.ndim), (*x.shape[:-1], 2 * x.shape[-1])), chosen)
    if dtypes.is_complex(chosen):
        pairs = _grouped(_view(x, np.finfo(chosen).dtype), 2, chosen)
        return complex_(pairs[..., 0], pairs[..., 1])
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(chosen)
    if old == new:
        return bitcast_convert_type(x, chosen) if x.dtype != chosen else x
    if old > new:
        return reshape(bitcast_convert_type(x, chosen), (*x.shape[:-1], old // new * x.shape[-1]))
    return bitcast_convert_type(_grouped(x, new // old, chosen), chosen)


def _grouped(x: Any, count: int, chosen: np.dtype) -> Array:
    """``x`` with every ``count`` elements of its last axis along an axis of their own."""
    if x.shape[-1] % count:
        raise ValueError(f"view: the last axis does not hold a whole number of {chosen.name} elements.")
    return reshape(x, (*x.shape[:-1], x.shape[-1] // count, count))
