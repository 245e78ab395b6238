"""What kernels for TPUs do with memory and with bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.dtypes import DTypeLike
from arrax.experimental.pallas.programs import store as store_part
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.references import StagedRef
    from arrax.numpy_api.references import TransformedRef


def store(ref: StagedRef | TransformedRef, val: ArrayLike, *, mask: ArrayLike | None = None) -> None:
    """Write to a reference, or to the part of it that a view is.

    Args:
      ref: reference, or view such as ``ref.at[pl.ds(0, 4)]``.
      val: array of its shape, or that broadcasts to it.
      mask: bools of that shape: nothing is written elsewhere.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: pltpu.store(o_ref.at[:], x_ref[...] + 1), out_shape=x)(x)`` is ``x + 1``.
    """
    store_part(ref, (), val, mask=mask)  # type: ignore[arg-type]


def touch(ref: StagedRef | TransformedRef) -> None:
    """Keep a compiler from moving accesses to a reference beyond this line; XLA moves none.

    Args:
      ref: reference.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: (pltpu.touch(x_ref), o_ref.set(x_ref[...]))[1], out_shape=x)(x)`` is ``x``.
    """


def bitcast(x: Array, ty: DTypeLike) -> Array:
    """The same bits as elements of another dtype; one of another width changes the number of rows.

    Args:
      x: array, of two dimensions or more where the width changes.
      ty: dtype.
    Returns: array; each row has become several rows, the lowest bits first, or several have become one.
    Raises: ValueError for fewer dimensions, or rows that cannot be joined.
    Example: ``pltpu.bitcast(jnp.ones((1, 2), jnp.int32), jnp.int16)`` is ``[[1, 1], [0, 0]]``.
    """
    old, new = np.dtype(x.dtype), np.dtype(dtypes.canonicalize_dtype(ty))
    if old.itemsize == new.itemsize:
        return lax.bitcast_convert_type(x, new)
    if x.ndim < 2 or (x.shape[-2] * old.itemsize) % new.itemsize:
        raise ValueError(f"bitcast: an array of shape {x.shape} and dtype {old.name} has no rows of {new.name}")
    rows, columns = x.shape[-2:]
    if old.itemsize > new.itemsize:
        pieces = jnp.moveaxis(lax.bitcast_convert_type(x, new), -1, -2)
        return pieces.reshape(*x.shape[:-2], rows * old.itemsize // new.itemsize, columns)
    count = new.itemsize // old.itemsize
    joined = x.reshape(*x.shape[:-2], rows // count, count, columns)
    return lax.bitcast_convert_type(jnp.moveaxis(joined, -2, -1), new)
