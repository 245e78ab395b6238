"""Products of sparse arrays: elementwise, and contractions with dense and with sparse arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import arrax.numpy as jnp
from arrax import dtypes
from arrax.dtypes import OptionalDType
from arrax.experimental.sparse.coordinates import (
    BCOO,
    bcoo_sum_duplicates,
    columns,
    full,
    inside,
    over_batch,
    where_inside,
)
from arrax.experimental.sparse.layouts import bcoo_update_layout
from arrax.experimental.sparse.recorded import recorded
from arrax.experimental.sparse.shapes import bcoo_broadcast_in_dim, bcoo_transpose
from arrax.lax.contractions import dot_general
from arrax.transforms.vectorize import vmap
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.lax.precision import PrecisionLike


Dimensions = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


# ---- elementwise ----------------------------------------------------------------------------------------------------------


def beside_data(sp_mat: BCOO, v: ArrayLike, outside: ArrayLike = 0) -> Array:
    """The elements of a dense array that belong to the stored ones of a sparse array, to whose shape it broadcasts.

    Args:
      outside: what belongs to indices that lie outside.
    Raises:
      ValueError: a shape that does not broadcast to that of ``sp_mat``.
    """
    v = jnp.asarray(v)
    if v.ndim > sp_mat.ndim or any(n not in (1, m) for n, m in zip(v.shape[::-1], sp_mat.shape[::-1], strict=False)):
        raise ValueError(f"sparse array: shape {v.shape} does not broadcast to {sp_mat.shape}")
    if v.ndim == 0:
        return v
    v = v.reshape((1,) * (sp_mat.ndim - v.ndim) + v.shape)
    n_batch = sp_mat.n_batch
    v = jnp.broadcast_to(v, (*sp_mat.shape[:n_batch], *v.shape[n_batch:]))

    def one(indices: Array, row: Array) -> Array:
        lengths = row.shape[: indices.shape[-1]]
        at = tuple(jnp.minimum(column, length - 1) for column, length in zip(columns(indices), lengths, strict=True))
        there = inside(indices, sp_mat.sparse_shape)
        found = row[at] if at else jnp.broadcast_to(row, (indices.shape[0], *row.shape))
        return jnp.where(there.reshape(there.shape + (1,) * sp_mat.n_dense), found, jnp.asarray(outside, v.dtype))

    return over_batch(one, n_batch)(full(sp_mat)[1], v)


def of_one_layout(*mats: BCOO) -> list[BCOO]:
    """The arrays with as few batch and dense dimensions as the one that has fewest."""
    n_batch, n_dense = min(mat.n_batch for mat in mats), min(mat.n_dense for mat in mats)
    return [bcoo_update_layout(mat, n_batch=n_batch, n_dense=n_dense) for mat in mats]


def times_dense(sp_mat: BCOO, v: ArrayLike) -> BCOO:
    """The elementwise product with a dense array that broadcasts to the sparse one's shape."""
    flags = {"indices_sorted": sp_mat.indices_sorted, "unique_indices": sp_mat.unique_indices}
    return BCOO((bcoo_multiply_dense(sp_mat, v), full(sp_mat)[1]), shape=sp_mat.shape, **flags)


def bcoo_multiply_dense(sp_mat: BCOO, v: ArrayLike) -> Array:
    """The stored elements of the elementwise product with a dense array that broadcasts to the sparse one's shape.

    Args:
      sp_mat: the sparse array.
      v: the dense array.
    Returns: the product's ``data``, which belongs to the indices of ``sp_mat``.
    Raises:
      ValueError: a shape that does not broadcast to that of ``sp_mat``.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_multiply_dense(mat, jnp.array([10.0, 1.0]))`` is ``[2, 30]``.
    """
    return full(sp_mat)[0] * beside_data(sp_mat, v)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The elementwise product of two sparse arrays of the same shape.

    Args:
      lhs, rhs: sparse arrays.
    Returns: an array with the indices of ``lhs``, in a layout that both can have.
    Raises:
      ValueError: other shapes.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_multiply_sparse(mat, mat).todense()`` is ``[[0, 4], [9, 0]]``.
    """
    if lhs.shape != rhs.shape:
        raise ValueError(f"bcoo_multiply_sparse: shapes must be equal, got {lhs.shape} and {rhs.shape}")
    lhs, rhs = of_one_layout(lhs, rhs)

    def one(data: Array, indices: Array, other: Array, other_indices: Array) -> Array:
        same = jnp.all(indices[:, None] == other_indices[None], axis=-1) & inside(indices, lhs.sparse_shape)[:, None]
        return data * jnp.tensordot(same.astype(other.dtype), other, 1)

    data, indices = full(lhs)
    made = over_batch(one, lhs.n_batch)(data, indices, *full(rhs))
    return BCOO((made, indices), shape=lhs.shape, indices_sorted=lhs.indices_sorted, unique_indices=lhs.unique_indices)


# ---- contractions ---------------------------------------------------------------------------------------------------------


def check_dimension_numbers(name: str, lhs: Array | BCOO, rhs: Array | BCOO, numbers: Dimensions) -> Dimensions:
    """Dimension numbers of a contraction as tuples of integers.

    Raises:
      TypeError: axes whose lengths differ.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = [
        [tuple(map(operator.index, x)) for x in pair] for pair in numbers
    ]
    for kind, here, there in (("contracting", lhs_contract, rhs_contract), ("batch", lhs_batch, rhs_batch)):
        for axis, rank in [(axis, lhs.ndim) for axis in here] + [(axis, rhs.ndim) for axis in there]:
            if not -rank <= axis < rank:
                raise TypeError(f"{name}: the {kind} axis {axis} is out of bounds for an operand of {rank} dimensions")
        if [lhs.shape[axis] for axis in here] != [rhs.shape[axis] for axis in there]:
            raise TypeError(
                f"{name} requires {kind} dimensions of equal lengths, got axes {here} of shape {lhs.shape} and axes {there} of "
                f"shape {rhs.shape}"
            )
    return (lhs_contract, rhs_contract), (lhs_batch, rhs_batch)


@recorded("bcoo_dot_general", 2, of_two="bcoo_spdot_general")
def bcoo_dot_general(
    lhs: Any, rhs: Any, *, dimension_numbers: Dimensions, precision: PrecisionLike | None = None, preferred_element_type: OptionalDType = None,
    out_sharding: OptionalSharding = None,
) -> Array | BCOO:  # fmt: skip
    """A contraction, as ``lax.dot_general``, of which at least one operand is sparse.

    Args:
      lhs, rhs: arrays; where both are sparse, the result is too.
      dimension_numbers: ``((contracting axes of lhs, of rhs), (batch axes of lhs, of rhs))``.
      precision, out_sharding: accepted as by ``lax.dot_general``, without effect.
      preferred_element_type: dtype of the result.
    Returns: axes in the order batch, others of lhs, others of rhs.
    Raises:
      TypeError: axes whose lengths differ.
    Example: ``bcoo_dot_general(BCOO.fromdense(jnp.eye(3)), jnp.ones(3), dimension_numbers=(((1,), (0,)), ((), ())))``.
    """
    if not isinstance(lhs, BCOO) and not isinstance(rhs, BCOO):
        return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    lhs, rhs = (x if isinstance(x, BCOO) else jnp.asarray(x) for x in (lhs, rhs))
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = check_dimension_numbers(
        "bcoo_dot_general", lhs, rhs, dimension_numbers
    )
    if preferred_element_type is not None:
        lhs, rhs = lhs.astype(preferred_element_type), rhs.astype(preferred_element_type)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        return _of_two_sparse(lhs, rhs, (lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    if isinstance(lhs, BCOO):
        return _with_dense(lhs, rhs, (lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    out = _with_dense(rhs, lhs, (rhs_contract, lhs_contract), (rhs_batch, lhs_batch))
    batch, own = len(lhs_batch), rhs.ndim - len(rhs_contract) - len(rhs_batch)
    return jnp.moveaxis(out, range(batch, batch + own), range(out.ndim - own, out.ndim))


def _with_dense(sparse: BCOO, dense: Array, contract: Sequence[Any], batch: Sequence[Any]) -> Array:
    """The contraction of a sparse array and a dense one, with the axes (batch, others of sparse, others of dense).

    Each stored element is multiplied with the part of the dense array that its indices choose, and added where the others of
    its indices say.
    """
    labels = [f"s{n}" for n in range(sparse.ndim)]
    dense_labels = [f"d{n}" for n in range(dense.ndim)]
    for here, there in ((contract[0], contract[1]), (batch[0], batch[1])):
        for axis, other in zip(here, there, strict=True):
            dense_labels[other] = labels[axis]
    contracted = {labels[axis] for axis in contract[0]}
    wanted = [labels[axis] for axis in batch[0]]
    wanted += [name for name in labels if name not in contracted and name not in wanted]
    wanted += [name for name in dense_labels if name not in labels]
    data, indices = full(sparse)
    out, found = _labelled(data, indices, dense, labels, dense_labels, contracted, sparse)
    return jnp.transpose(out, [found.index(name) for name in wanted])


def _labelled(
    data: Array,
    indices: Array,
    dense: Array,
    labels: list[str],
    dense_labels: list[str],
    contracted: set[str],
    mat: BCOO,
) -> tuple[Array, list[str]]:
    """The contraction and the labels of its axes; batch axes one by one, outermost first."""
    if indices.ndim > 2:
        name, *rest = labels
        axis = dense_labels.index(name) if name in dense_labels else None
        inner_labels = [label for label in dense_labels if label != name]
        found: list[str] = []

        def one(data: Array, indices: Array, dense: Array) -> Array:
            out, found[:] = _labelled(data, indices, dense, rest, inner_labels, contracted, mat)
            return out

        out = vmap(one, in_axes=(0, 0, axis))(data, indices, dense)
        return (out.sum(0), found) if name in contracted else (out, [name, *found])
    n_sparse = indices.shape[-1]
    sparse_labels, own_dense = labels[:n_sparse], labels[n_sparse:]
    sizes = dict(zip(sparse_labels, mat.sparse_shape, strict=True))
    there = inside(indices, mat.sparse_shape)
    column = {
        name: jnp.clip(own, 0, max(sizes[name] - 1, 0))
        for name, own in zip(sparse_labels, columns(indices), strict=True)
    }
    into = [name for name in sparse_labels if name not in contracted]
    if not into:
        data = where_inside(there, data, indices, mat.sparse_shape)[0]
    # the part of the dense array that belongs to each stored element
    shared = [name for name in sparse_labels if name in dense_labels]
    others = [name for name in dense_labels if name not in shared]
    moved = jnp.transpose(dense, [dense_labels.index(name) for name in (*shared, *others)])
    if not shared:
        chosen = jnp.broadcast_to(moved[None], (data.shape[0], *moved.shape))
    elif any(sizes[name] == 0 for name in shared):
        chosen = jnp.zeros((data.shape[0], *moved.shape[len(shared) :]), dense.dtype)
    else:
        chosen = moved.at[tuple(column[name] for name in shared)].get(mode="promise_in_bounds")
    # multiplied, dense axes contracted
    names = {name: n for n, name in enumerate(dict.fromkeys(["element", *own_dense, *others]))}
    kept = [name for name in names if name not in contracted]
    terms = jnp.einsum(
        data, [names["element"], *(names[x] for x in own_dense)], chosen, [names["element"], *(names[x] for x in others)],
        [names[name] for name in kept],
    )  # fmt: skip
    # added where the other indices say
    if not into:
        return terms.sum(0), kept[1:]
    lengths = [max(sizes[name], 1) for name in into[1:]]
    zeros = jnp.zeros((sizes[into[0]] + 1, *lengths, *terms.shape[1:]), terms.dtype)
    first = jnp.where(there, column[into[0]], sizes[into[0]])  # what lies outside is added behind the others
    at = (first, *(column[name] for name in into[1:]))
    sums = zeros.at[at].add(terms, mode="promise_in_bounds", wrap_negative_indices=False)
    return sums[tuple(slice(sizes[name]) for name in into)], [*into, *kept[1:]]


def _of_two_sparse(lhs: BCOO, rhs: BCOO, contract: Sequence[Any], batch: Sequence[Any]) -> BCOO:
    """The sparse contraction of two sparse arrays: an element for each pair of theirs, of one place together if these are too many.

    Batch axes of the product that are not of the arrays' batches become sparse ones there.
    """
    for mat in (lhs, rhs):
        if mat.n_dense:
            raise NotImplementedError("bcoo_dot_general: products of two sparse arrays with dense dimensions")
    count = len(batch[0])
    if batch[0] and not (lhs.n_batch == rhs.n_batch == count and batch[0] == batch[1] == tuple(range(count))):
        return _of_two_sparse_in_general(lhs, rhs, contract, batch)
    if not batch[0] and (lhs.n_batch or rhs.n_batch):
        lhs, rhs = (bcoo_update_layout(mat, n_batch=0) for mat in (lhs, rhs))
    own = [n - count for n in range(count, lhs.ndim) if n not in contract[0]]
    other = [n - count for n in range(count, rhs.ndim) if n not in contract[1]]
    here, there = ([axis - count for axis in axes] for axes in contract)
    shape = [lhs.sparse_shape[n] for n in own] + [rhs.sparse_shape[n] for n in other]

    def one(data: Array, indices: Array, more: Array, more_indices: Array) -> tuple[Array, Array]:
        pairs = jnp.all(indices[:, None, np.array(here, int)] == more_indices[None, :, np.array(there, int)], axis=-1)
        pairs = pairs & inside(indices, lhs.sparse_shape)[:, None] & inside(more_indices, rhs.sparse_shape)[None]
        both = (pairs.shape[0], pairs.shape[1])
        left = jnp.broadcast_to(indices[:, None, np.array(own, int)], (*both, len(own)))
        right = jnp.broadcast_to(more_indices[None, :, np.array(other, int)], (*both, len(other)))
        joined = jnp.concatenate([left, right.astype(left.dtype)], -1).reshape(math.prod(both), len(shape))
        return where_inside(pairs.ravel(), (data[:, None] * more[None]).ravel(), joined, shape)

    made = BCOO(over_batch(one, count)(*full(lhs), *full(rhs)), shape=(*lhs.shape[:count], *shape))
    most = math.prod(shape)
    return bcoo_sum_duplicates(made, nse=most) if made.nse > most else made


def _of_two_sparse_in_general(
    lhs: BCOO, rhs: BCOO, contract: Sequence[tuple[int, ...]], batch: Sequence[tuple[int, ...]]
) -> BCOO:
    """With batch axes anywhere: these axes are contracted pairwise and kept, in front."""
    lhs, rhs = (bcoo_update_layout(mat, n_batch=0) for mat in (lhs, rhs))
    own = [n for n in range(lhs.ndim) if n not in (*contract[0], *batch[0])]
    other = [n for n in range(rhs.ndim) if n not in (*contract[1], *batch[1])]
    shape = [lhs.shape[n] for n in (*batch[0], *own)] + [rhs.shape[n] for n in other]
    left = bcoo_transpose(lhs, permutation=(*batch[0], *own, *contract[0]))
    # the batch axes are there twice, once to meet those of rhs and once to stay
    data, indices = left.data, left.indices
    count = len(batch[0])
    wide = BCOO((data, jnp.concatenate([indices, indices[:, :count]], -1)), shape=(*left.shape, *left.shape[:count]))
    at = count + len(own)
    met = tuple(range(at, wide.ndim)), (*contract[1], *batch[1])
    out = _of_two_sparse(wide, rhs, met, ((), ()))
    assert list(out.shape) == shape
    return out


@recorded("bcoo_dot_general_sampled", 3)
def bcoo_dot_general_sampled(A: ArrayLike, B: ArrayLike, indices: Array, *, dimension_numbers: Dimensions) -> Array:
    """The elements of a contraction of dense arrays at some indices.

    Args:
      A, B: dense arrays.
      indices: the indices of the result's elements, of shape ``(*batch, nse, number of the other axes)``; the result's batch
        axes are those of ``indices``.
      dimension_numbers: as of ``lax.dot_general``.
    Returns: array of shape ``(*batch, nse)``.
    Example: ``bcoo_dot_general_sampled(jnp.eye(2), jnp.eye(2), jnp.array([[0, 0], [0, 1]]), dimension_numbers=(((1,),
    (0,)), ((), ())))`` is ``[1, 0]``.
    """
    A, B, indices = map(jnp.asarray, (A, B, indices))
    if indices.ndim < 2 or not dtypes.issubdtype(indices.dtype, np.integer):
        raise TypeError(
            "bcoo_dot_general_sampled: indices must be integers of shape (..., nse, n_sparse), got "
            f"{indices.dtype.name}{list(indices.shape)}"
        )
    product = dot_general(A, B, dimension_numbers)
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]

    def one(row: Array, indices: Array) -> Array:
        if not n_sparse:
            return jnp.broadcast_to(row, (indices.shape[0], *row.shape))
        return row.at[columns(indices)].get(mode="fill", fill_value=0)

    lengths = product.shape[:n_batch]
    return over_batch(one, n_batch)(product, jnp.broadcast_to(indices, (*lengths, *indices.shape[n_batch:])))


def matmul(lhs: Array | BCOO, rhs: Array | BCOO) -> Array | BCOO:
    """``lhs @ rhs`` where at least one is sparse.

    Raises:
      TypeError: operands without dimensions, or lengths that differ.
    """
    if not lhs.ndim or not rhs.ndim:
        raise TypeError(f"matmul: operands must have dimensions, got shapes {lhs.shape} and {rhs.shape}")
    contract = ((lhs.ndim - 1,), (max(rhs.ndim - 2, 0),))
    if lhs.ndim <= 2 and rhs.ndim <= 2:
        return bcoo_dot_general(lhs, rhs, dimension_numbers=(contract, ((), ())))
    lead = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    lhs, rhs = _with_lead(lhs, lead if lhs.ndim > 1 else ()), _with_lead(rhs, lead if rhs.ndim > 1 else ())
    shared = tuple(range(len(lead))) if lhs.ndim > 2 and rhs.ndim > 2 else ()
    contract = ((lhs.ndim - 1,), (max(rhs.ndim - 2, 0),))
    out = bcoo_dot_general(lhs, rhs, dimension_numbers=(contract, (shared, shared)))
    if rhs.ndim > 2 and not shared:  # the rows of lhs stand in front of the other's leading axes
        own = lhs.ndim - 1
        order = (*range(own, own + len(lead)), *range(own), out.ndim - 1)
        return bcoo_transpose(out, permutation=order) if isinstance(out, BCOO) else jnp.transpose(out, order)
    return out


def _with_lead(x: Array | BCOO, lead: tuple[int, ...]) -> Array | BCOO:
    """The operand with leading axes of the given lengths, if there are any."""
    if not lead or x.shape[:-2] == lead:
        return x
    shape = (*lead, *x.shape[-2:])
    if not isinstance(x, BCOO):
        return jnp.broadcast_to(x, shape)
    return bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=range(len(shape) - x.ndim, len(shape)))
