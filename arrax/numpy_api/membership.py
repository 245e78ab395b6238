"""Whether elements are among some values (NumPy reference, routines.set)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.lengths import is_below
from arrax.core.types import typeof
from arrax.lax import arithmetic, bitwise, shapes, sorting, static_slicing
from arrax.lax.conversion import length_of_axis
from arrax.lax.operand_checks import kind_of
from arrax.lax.reductions import reduce_or
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.gathers import take_slices
from arrax.numpy_api.logic import equal
from arrax.numpy_api.operands import check_arraylike, promote_dtypes
from arrax.numpy_api.routes import eager_operand
from arrax.numpy_api.searching import search_sorted
from arrax.xla.arrays import Array, ArrayLike

_FEW = 64  # values to compare with, one after the other
_FEW_PAIRS = 1 << 17


def _isin_on_host(element: Array, test: Array) -> Array | None:
    if not (host.on_host(element) and host.on_host(test)) or not {element.aval.dtype.kind, test.aval.dtype.kind} <= set(
        "biuf"
    ):
        return None
    like = host.common_like([element, test])
    if like is None:
        return None
    dtype, _ = dtypes.result_type_of([dtypes.value_pair(element), dtypes.value_pair(test)])
    values, tests = (host.view(v).astype(dtype, copy=False) for v in (element, test))
    few = values.size * tests.size <= host.MAX_ELEMENTS
    found = np.equal.outer(values, tests.ravel()).any(-1) if few else np.isin(values, tests)
    return host.back(np.asarray(found), like, weak_type=False)


@api(static=("method",))
def _found(element: Array, test: Array, method: str) -> Array:
    element, test = promote_dtypes(element, test)
    count = typeof(test).size
    test = shapes.reshape(test, (count,))
    if method == "auto":
        few = is_below(count, _FEW + 1, False) or is_below(count * typeof(element).size, _FEW_PAIRS + 1, False)
        unordered = kind_of(typeof(test).dtype) in ("complex", "extended")
        method = "compare_all" if few or unordered else "binary_search"
    if method != "compare_all" and count:
        return _by_search(element, test)
    return _one_by_one(element, test) if is_below(count, _FEW + 1, False) and count > 0 else _with_all(element, test)


def _one_by_one(element: Array, test: Array) -> Array:
    """Flags of few values, which the compiler finds in one pass."""
    shape = typeof(element).shape
    found: Any = None
    for index in range(typeof(test).shape[0]):
        value = shapes.broadcast_in_dim(
            shapes.squeeze(static_slicing.slice_in_dim(test, index, index + 1), (0,)), shape, ()
        )
        same = equal(element, value)
        found = same if found is None else bitwise.bitwise_or(found, same)
    return found


def _with_all(element: Array, test: Array) -> Array:
    shape = typeof(element).shape
    whole = (*shape, typeof(test).size)
    mine = shapes.broadcast_in_dim(element, whole, range(len(shape)))
    other = shapes.broadcast_in_dim(test, whole, (len(shape),))
    return reduce_or(equal(mine, other), (len(shape),))


def _by_search(element: Array, test: Array) -> Array:
    """The first value that is not less is equal, or none is."""
    test = sorting.sort(test)
    indices = search_sorted(test, element, None, False, "scan")
    last = length_of_axis(typeof(test).size - 1, typeof(indices).dtype)
    return arithmetic.eq(take_slices(test, arithmetic.min_(indices, last), 0), element)


@api()
def _inverted(found: Array) -> Array:
    return bitwise.bitwise_not(found)


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Whether each element is one of some values.

    Args:
      element: array.
      test_elements: array of values.
      assume_unique: accepted, without effect.
      invert: ask for the contrary.
      method: ``"compare_all"`` compares each with each; ``"binary_search"`` and ``"sort"`` sort the values and search by
        halves; ``"auto"`` chooses by the numbers of both.
    Returns: bool array of the shape of ``element``. NaN equals nothing.
    Raises:
      ValueError: an unknown method.
      TypeError: lists.
    Example: ``jnp.isin(jnp.array([1, 2]), jnp.array([2]))`` is ``[False, True]``. Source: ``numpy.isin``.
    """
    check_arraylike("isin", element, test_elements)
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"isin: {method=} is not implemented; options are 'compare_all', 'binary_search', 'sort', and 'auto'"
        )
    element, test = eager_operand("isin", element), eager_operand("isin", test_elements)
    found = _isin_on_host(element, test)
    if found is None:
        found = _found(element, test, method)
    return _inverted(found) if invert else found
