"""Sums with a part of an array, whose derivatives need no copy of it as those of reading, adding and writing do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.explicit_axes import of_first
from arrax.core.interpreter import Primitive
from arrax.core.types import Zero, instantiate, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import add
from arrax.lax.cpu.self_updates import self_update_form
from arrax.lax.slicing import dynamic_slice_p, dynamic_update_slice_p, normalised_starts

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent
    from arrax.xla.arrays import Array, ArrayLike

dynamic_add_slice_p = Primitive("dynamic_add_slice", cost=1)


def _new_values(x: Array, update: Array, *indices: Array) -> Array:
    return add(dynamic_slice_p.bind(x, *indices, slice_sizes=typeof(update).shape), update)


def _sum(x: Array, update: Array, *indices: Array) -> Array:
    return dynamic_update_slice_p.bind(x, _new_values(x, update, *indices), *indices)


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent]) -> tuple[Any, Any]:
    out = dynamic_add_slice_p.bind(*primals)
    t, t_update = tangents[:2]
    if type(t_update) is Zero:
        return out, Zero.of(out) if type(t) is Zero else t
    return out, dynamic_add_slice_p.bind(instantiate(t), t_update, *primals[2:])


def _transpose(ct: ArrayLike, x: Array | UndefinedPrimal, update: UndefinedPrimal, *indices: ArrayLike) -> list[Any]:
    given: list[Any] = [None for _ in indices]
    if type(ct) is Zero:
        return [*(Zero(v.aval.to_tangent_aval()) if is_undefined_primal(v) else None for v in (x, update)), *given]
    shape = (update.aval if is_undefined_primal(update) else typeof(update)).shape
    ct_update = dynamic_slice_p.bind(ct, *indices, slice_sizes=shape) if is_undefined_primal(update) else None
    return [ct if is_undefined_primal(x) else None, ct_update, *given]


def _batch(values: Sequence[ArrayLike], dims: Dims) -> tuple[Any, int]:
    (x, update, *indices), (dim, update_dim, *index_dims) = values, dims
    size = batch_size(values, dims)
    update = bdim_at_front(update, update_dim, size)
    if any(index_dim is not None for index_dim in index_dims):
        sizes = typeof(update).shape[1:]
        old, old_dim = dynamic_slice_p.batch((x, *indices), (dim, *index_dims), slice_sizes=sizes)  # type: ignore[misc]
        new = add(bdim_at_front(old, old_dim, size), update)
        return dynamic_update_slice_p.batch((x, new, *indices), (dim, 0, *index_dims))  # type: ignore[misc]
    first = np.zeros((), typeof(indices[0]).dtype if indices else np.int32)[()]
    return dynamic_add_slice_p.bind(bdim_at_front(x, dim, size), update, first, *indices), 0


def dynamic_add_slice(operand: ArrayLike, update: ArrayLike, start_indices: Sequence[Any]) -> Array:
    """An array with another one added to a part of it.

    Args:
      operand: array of floats or complex numbers.
      update: array of the same dtype and number of axes.
      start_indices: for each axis the integer at which the part begins, moved so that it lies inside; no negative ones.
    Example: ``dynamic_add_slice(jnp.ones(3), jnp.ones(2), (1,))`` is ``[1, 2, 2]``.
    """
    indices = normalised_starts("dynamic_add_slice", start_indices, typeof(operand).shape, False)
    return dynamic_add_slice_p.bind(operand, update, *indices)


dynamic_add_slice_p.type_rule, dynamic_add_slice_p.divides = dynamic_update_slice_p.type_rule, of_first
dynamic_add_slice_p.lower[None] = lower_fun(_sum, multiple_results=False)
dynamic_add_slice_p.jvp = _jvp
dynamic_add_slice_p.transpose = _transpose
dynamic_add_slice_p.batch = _batch
dynamic_add_slice_p.forms["cpu"] = self_update_form(
    dynamic_add_slice_p, dynamic_update_slice_p, dynamic_slice_p, _new_values
)
