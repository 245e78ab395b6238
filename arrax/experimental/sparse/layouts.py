"""Other layouts of the same sparse array: more or fewer batch and dense dimensions."""

from __future__ import annotations

import math
import operator

import arrax.numpy as jnp
from arrax.dtypes.canonical import warn_user
from arrax.experimental.sparse.base import Count, SparseEfficiencyError, SparseEfficiencyWarning, Text
from arrax.experimental.sparse.coordinates import BCOO, full, inside, over_batch, where_inside
from arrax.xla.arrays import Array


def bcoo_update_layout(
    mat: BCOO, *, n_batch: Count = None, n_dense: Count = None, on_inefficient: Text = "error"
) -> BCOO:
    """The same array with other numbers of batch and dense dimensions.

    Args:
      mat: the sparse array.
      n_batch, n_dense: the numbers of dimensions; by default as they are.
      on_inefficient: ``"error"``, ``"warn"`` or None: what to do where the result takes more memory.
    Raises:
      ValueError: numbers of dimensions that the array does not have.
      SparseEfficiencyError: more memory, with ``"error"``.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_update_layout(mat, n_dense=1, on_inefficient=None).n_dense`` is ``1``.
    """
    new_batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    new_dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if min(new_batch, new_dense, mat.ndim - new_batch - new_dense) < 0:
        raise ValueError(
            f"bcoo_update_layout: shape {mat.shape} has no {new_batch} batch and {new_dense} dense dimensions"
        )
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f"bcoo_update_layout: on_inefficient must be 'error', 'warn', or None, got {on_inefficient!r}")
    for name, before, after in (("n_batch", mat.n_batch, new_batch), ("n_dense", mat.n_dense, new_dense)):
        lengths = mat.shape[:after] if name == "n_batch" else mat.shape[mat.ndim - after :]
        if after > before and mat.nse < mat.nse * math.prod(lengths) and on_inefficient is not None:
            report_inefficient(
                f"For matrix of shape {mat.shape}, increasing {name} from {before} to {after} results in inefficient storage.",
                on_inefficient, "bcoo_update_layout",
            )  # fmt: skip
    for _ in range(mat.n_batch - new_batch):
        mat = _batch_to_sparse(mat)
    for _ in range(mat.n_dense - new_dense):
        mat = _dense_to_sparse(mat)
    for _ in range(new_dense - mat.n_dense):
        mat = _sparse_to_dense(mat)
    if new_batch > mat.n_batch:
        mat = _sparse_to_batch(mat, new_batch - mat.n_batch)
    return mat


def report_inefficient(message: str, on_inefficient: str, name: str) -> None:
    """Raise or warn, as was asked for."""
    text = f"{message} To disable this {{}}, set the on_inefficient argument of {name} to {{}}."
    if on_inefficient == "error":
        raise SparseEfficiencyError(text.format("error", "'warn' or None"))
    warn_user(text.format("warning", "None"), SparseEfficiencyWarning)


def _batch_to_sparse(mat: BCOO) -> BCOO:
    """The last batch dimension as the first sparse one."""
    data, indices = full(mat)
    axis, nse = mat.n_batch - 1, mat.nse
    length = data.shape[axis]
    lead = data.shape[:axis]
    numbers = jnp.broadcast_to(jnp.arange(length, dtype=indices.dtype)[:, None, None], (*lead, length, nse, 1))
    there = inside(indices, mat.sparse_shape)[..., None]
    indices = jnp.concatenate([jnp.where(there, numbers, length), indices], -1)
    data = data.reshape(*lead, length * nse, *data.shape[axis + 2 :])
    return BCOO((data, indices.reshape(*lead, length * nse, indices.shape[-1])), shape=mat.shape)


def _dense_to_sparse(mat: BCOO) -> BCOO:
    """The first dense dimension as the last sparse one."""
    data, indices = full(mat)
    axis = mat.n_batch + 1
    length, lead, nse = data.shape[axis], data.shape[: mat.n_batch], mat.nse
    numbers = jnp.broadcast_to(jnp.arange(length, dtype=indices.dtype)[:, None], (*lead, nse, length, 1))
    indices = jnp.broadcast_to(indices[..., None, :], (*lead, nse, length, mat.n_sparse))
    there = inside(indices, mat.sparse_shape)[..., None]
    indices = jnp.concatenate([indices, jnp.where(there, numbers, length)], -1)
    made = (
        data.reshape(*lead, nse * length, *data.shape[axis + 1 :]),
        indices.reshape(*lead, nse * length, indices.shape[-1]),
    )
    return BCOO(made, shape=mat.shape)


def _sparse_to_dense(mat: BCOO) -> BCOO:
    """The last sparse dimension as the first dense one."""
    length = mat.sparse_shape[-1]

    def one(data: Array, indices: Array) -> tuple[Array, Array]:
        wide = jnp.zeros((data.shape[0], length, *data.shape[1:]), data.dtype)
        return wide.at[jnp.arange(data.shape[0]), indices[:, -1]].set(data, mode="drop"), indices[:, :-1]

    return BCOO(over_batch(one, mat.n_batch)(*full(mat)), shape=mat.shape)


def _sparse_to_batch(mat: BCOO, count: int) -> BCOO:
    """The first sparse dimensions as batch dimensions: each array of the new batch keeps what has its number."""
    lengths = mat.sparse_shape[:count]

    def one(data: Array, indices: Array) -> tuple[Array, Array]:
        numbers = jnp.stack(jnp.meshgrid(*map(jnp.arange, lengths), indexing="ij"), -1)
        own = jnp.all(indices[:, :count] == numbers[..., None, :], axis=-1)
        wide = jnp.broadcast_to(data, (*lengths, *data.shape))
        rest = jnp.broadcast_to(indices[:, count:], (*lengths, data.shape[0], indices.shape[1] - count))
        return where_inside(own, wide, rest, mat.sparse_shape[count:])

    return BCOO(over_batch(one, mat.n_batch)(*full(mat)), shape=mat.shape)
