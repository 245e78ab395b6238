"""Comparing whole arrays (NumPy reference, routines.logic)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.types import typeof
from arrax.lax import bitwise, shapes
from arrax.lax.reductions import reduce_and
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.logic import equal, isclose, isnan
from arrax.numpy_api.operands import check_arraylike
from arrax.xla.arrays import Array, ArrayLike

Answer = Array  # one bool


@api(static=("equal_nan",))
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-5, atol: ArrayLike = 1e-8, equal_nan: bool = False
) -> Answer:
    """Whether all elements are close. Args: as of ``isclose``.

    Example: ``jnp.allclose(1., 1. + 1e-9)`` is True. Source: ``numpy.allclose``.
    """
    check_arraylike("allclose", a, b)
    close = isclose(a, b, rtol, atol, equal_nan)
    return reduce_and(close, range(typeof(close).ndim))


@api(static=("equal_nan",))
def _all_equal(a1: Array, a2: Array, equal_nan: bool) -> Array:
    same = equal(a1, a2)
    if equal_nan and all(dtypes.is_inexact(typeof(a).dtype) for a in (a1, a2)):
        same = bitwise.bitwise_or(same, bitwise.bitwise_and(*_both_nan(a1, a2)))
    return reduce_and(same, range(typeof(same).ndim))


def _both_nan(a1: Array, a2: Array) -> tuple[Any, Any]:
    return isnan(a1), isnan(a2)


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Whether two arrays have the same shape and elements.

    Args:
      a1, a2: arrays, or what can be made one.
      equal_nan: count NaN as equal to NaN.
    Returns: a bool array.
    Raises:
      TypeError: what cannot be made an array.
    Example: ``jnp.array_equal(jnp.ones(2), jnp.ones(3))`` is False. Source: ``numpy.array_equal``.
    """
    a1, a2 = asarray(a1), asarray(a2)
    if typeof(a1).shape != typeof(a2).shape:
        return asarray(np.bool_(False))
    return _all_equal(a1, a2, bool(equal_nan))


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays, broadcast against each other, have the same elements.

    Args:
      a1, a2: arrays, or what can be made one.
    Returns: a bool array; False for shapes that don't fit.
    Raises:
      TypeError: what cannot be made an array.
    Example: ``jnp.array_equiv(jnp.ones((2, 2)), 1.)`` is True. Source: ``numpy.array_equiv``.
    """
    a1, a2 = asarray(a1), asarray(a2)
    try:
        shapes.broadcast_shapes(typeof(a1).shape, typeof(a2).shape)
    except (TypeError, ValueError):
        return asarray(np.bool_(False))
    with config.numpy_rank_promotion("allow"):  # broadcasting is what is asked about
        return _all_equal(a1, a2, False)
