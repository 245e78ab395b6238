"""Sparse arrays in each layout against dense ones."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental import sparse
from tests.experimental.sparse.layouts import LAYOUTS, SHAPE, dense_array, dense_of, sparse_array

layouts = pytest.mark.parametrize(("n_batch", "n_dense"), LAYOUTS)
some_layouts = pytest.mark.parametrize(
    ("n_batch", "n_dense"), [(0, 0), (1, 1), (2, 0), (0, 2)]
)  # which axis is of what kind differs


def same(found, wanted):
    """Equal arrays, the first of which may be sparse."""
    assert found.shape == np.shape(wanted)
    np.testing.assert_array_equal(dense_of(found), wanted)
    if isinstance(found, sparse.BCOO):
        assert_holds_what_it_says(found)


def assert_holds_what_it_says(mat):
    """Indices are in order, and none is there twice, where the array says so."""
    for place in np.ndindex(*mat.indices.shape[: mat.n_batch]):
        rows = np.asarray(mat.indices)[place].tolist()
        inside = [tuple(row) for row in rows if all(0 <= n < m for n, m in zip(row, mat.sparse_shape, strict=True))]
        assert rows == sorted(rows) or not mat.indices_sorted
        assert len({*inside}) == len(inside) or not mat.unique_indices


@layouts
def test_from_dense_and_back(n_batch, n_dense):
    dense = dense_array()
    made = sparse.BCOO.fromdense(dense, n_batch=n_batch, n_dense=n_dense)
    assert (made.n_batch, made.n_sparse, made.n_dense) == (n_batch, 3 - n_batch - n_dense, n_dense)
    assert (made.shape, made.size, made.ndim, made.dtype) == (SHAPE, 24, 3, np.dtype("float32"))
    same(made, dense)
    twice, doubled = sparse_array(n_batch, n_dense, twice=True)
    same(twice.todense(), doubled)


@some_layouts
def test_from_dense_and_back_in_one_program(n_batch, n_dense):
    dense = dense_array()
    there_and_back = lambda x: sparse.BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense, nse=24).todense()  # noqa: E731
    same(arrax.jit(there_and_back)(dense), dense)


def test_printing():
    assert repr(sparse.BCOO.fromdense(jnp.eye(3))) == "BCOO(float32[3, 3], nse=3)"
    assert repr(sparse.BCOO.fromdense(jnp.ones((2, 3, 4)), n_batch=1, n_dense=1)) == (
        "BCOO(float32[2, 3, 4], nse=3, n_batch=1, n_dense=1)"
    )


@layouts
def test_extract(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    other = dense_array(seed=3) + 10
    found = sparse.bcoo_extract(mat, other)
    mask = np.asarray(dense != 0)
    if n_dense:
        mask = np.broadcast_to(mask.any(tuple(range(3 - n_dense, 3)), keepdims=True), SHAPE)
    same(found, np.where(mask, other, 0))
    twice = sparse.BCOO((jnp.ones(2), jnp.array([[1], [1]])), shape=(3,))
    same(sparse.bcoo_extract(twice, jnp.arange(3.0)), [0, 1, 0])
    same(sparse.bcoo_extract(twice, jnp.arange(3.0), assume_unique=True), [0, 2, 0])


@layouts
def test_order_and_duplicates(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense, twice=True)
    ordered = mat.sort_indices()
    assert ordered.indices_sorted
    same(ordered, dense)
    once = mat.sum_duplicates()
    assert once.unique_indices
    assert once.nse <= mat.nse // 2
    same(once, dense)
    same(mat.sum_duplicates(remove_zeros=False), dense)


@some_layouts
def test_duplicates_of_a_known_number_in_one_program(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense, twice=True)
    same(arrax.jit(lambda m: m.sum_duplicates(nse=24))(mat), dense)


@layouts
def test_layouts_change(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    for to_batch, to_dense in LAYOUTS if (n_batch, n_dense) == (0, 0) else [(0, 0), (1, 1), (2, 0), (0, 2)]:
        made = mat.update_layout(n_batch=to_batch, n_dense=to_dense, on_inefficient=None)
        assert (made.n_batch, made.n_dense) == (to_batch, to_dense)
        same(made, dense)
    if (n_batch, n_dense) == (0, 0):
        with pytest.raises(sparse.SparseEfficiencyError, match="inefficient storage"):
            mat.update_layout(n_batch=1)
        with pytest.warns(sparse.SparseEfficiencyWarning, match="inefficient storage"):
            mat.update_layout(n_dense=1, on_inefficient="warn")


@layouts
def test_axes_in_another_order_and_turned_round(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    groups = [range(n_batch), range(n_batch, 3 - n_dense), range(3 - n_dense, 3)]
    order = [axis for group in groups for axis in reversed(group)]
    same(mat.transpose(order), dense.transpose(order))
    same(sparse.bcoo_rev(mat, (0, 2)), np.flip(dense, (0, 2)))


@layouts
def test_concatenation(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    for axis in range(3):
        same(sparse.bcoo_concatenate([mat, mat], dimension=axis), np.concatenate([dense, dense], axis))


@layouts
def test_sums(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    for axes in ((), (0,), (1,), (2,), (0, 2), (0, 1, 2)):
        same(sparse.bcoo_reduce_sum(mat, axes=axes), dense.sum(axes))


@layouts
def test_parts_that_begin_at_known_places(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    bounds = {"start_indices": (1, 0, 1), "limit_indices": (2, 3, 4), "strides": (1, 2, 2)}
    same(sparse.bcoo_slice(mat, **bounds), dense[1:2, 0:3:2, 1:4:2])


@layouts
def test_axes_of_length_one_are_left_out(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense, shape=(1, 3, 1))
    same(sparse.bcoo_squeeze(mat, dimensions=(0, 2)), dense[0, :, 0])


def test_arrays_that_lose_their_sparse_axes_do_not_count_elements_outside():
    mat, dense = sparse_array(shape=(1, 3), n_dense=1)
    for made in (sparse.bcoo_squeeze(mat, dimensions=(0,)), mat.reshape(3)):
        same(sparse.bcoo_extract(made, dense[0] + 10), dense[0] + 10)


@layouts
def test_parts_that_begin_at_traced_places(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    part = arrax.jit(lambda m, i: sparse.bcoo_dynamic_slice(m, (0, i, i), (1, 2, 3)))
    for start, row, column in ((2, 1, 1), (-1, 1, 1), (-9, 0, 0)):
        same(part(mat, start), dense[:1, row : row + 2, column : column + 3])


@some_layouts
def test_parts_that_begin_at_numbers(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    for start, column in ((-1, 3), (-9, 0), (jnp.int32(-2), 2)):
        same(sparse.bcoo_dynamic_slice(mat, (0, 0, start), (1, 2, 1)), dense[:1, :2, column : column + 1])


@layouts
def test_indexing(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    same(mat[..., -1], dense[..., -1])
    same(mat[1, ::-2, 1:3], dense[1, ::-2, 1:3])
    same(mat[0, None, 1], dense[0, None, 1])


@some_layouts
def test_indexing_with_a_traced_number(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    same(arrax.jit(lambda m, i: m[:, i])(mat, -1), dense[:, -1])


@layouts
def test_repetition(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense, shape=(2, 1, 4))
    for to, shape in (
        ((0, 1, 2), (2, 3, 4)),
        ((1, 2, 3), (3, 2, 1, 4)),
        ((0, 1, 3), (2, 3, 2, 4)),
        ((0, 1, 2), (2, 1, 4, 3)),
    ):
        found = sparse.bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=to)
        same(
            found, np.broadcast_to(np.expand_dims(dense, [axis for axis in range(len(shape)) if axis not in to]), shape)
        )


def test_reshape():
    mat, dense = sparse_array()
    for shape in ((24,), (4, 6), (2, 12), (1, 24, 1), (3, 2, 2, 2)):
        same(mat.reshape(shape), dense.reshape(shape))
    same(mat.reshape(-1, 4), dense.reshape(-1, 4))
    same(sparse.bcoo_reshape(mat, new_sizes=(4, 6), sharding=None), dense.reshape(4, 6))
    batched, dense = sparse_array(1, 1)
    same(batched.reshape(2, 3, 2, 2), dense.reshape(2, 3, 2, 2))
    with pytest.raises(NotImplementedError, match="mixes"):
        batched.reshape(6, 4)


@layouts
def test_elementwise_products(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense, twice=True)
    other, other_dense = sparse_array(n_batch, n_dense, seed=5, twice=True)
    same(sparse.bcoo_multiply_sparse(mat, other), dense * other_dense)
    coordinates, other_dense = sparse_array(seed=5)
    same(sparse.bcoo_multiply_sparse(mat, coordinates), dense * other_dense)
    for shape in ((), (4,), (3, 1), (2, 1, 4), SHAPE):
        factor = dense_array(shape, seed=2)
        elements = sparse.bcoo_multiply_dense(mat, factor)
        same(sparse.BCOO((elements, mat.indices), shape=mat.shape), dense * factor)
        same(sparse.sparsify(jnp.multiply)(mat, factor), dense * factor)


CONTRACTIONS = [
    ((3, 4), (((1,), (0,)), ((), ()))), ((4, 3, 5), (((1, 2), (1, 0)), ((), ()))), ((2, 4), (((2,), (1,)), ((0,), (0,)))),
    ((5, 3, 2), (((), ()), ((0, 1), (2, 1)))), ((2, 3, 4), (((0, 1, 2), (0, 1, 2)), ((), ()))), ((2,), (((), ()), ((), ()))),
]  # fmt: skip


@layouts
@pytest.mark.parametrize(("shape", "numbers"), CONTRACTIONS)
def test_contractions_with_dense_arrays(n_batch, n_dense, shape, numbers):
    mat, dense = sparse_array(n_batch, n_dense, twice=True)
    other = dense_array(shape, seed=4)
    same(sparse.bcoo_dot_general(mat, other, dimension_numbers=numbers), lax.dot_general(dense, other, numbers))
    (a, b), (c, d) = numbers
    turned = (b, a), (d, c)
    same(sparse.bcoo_dot_general(other, mat, dimension_numbers=turned), lax.dot_general(other, dense, turned))


@pytest.mark.parametrize(
    ("n_batch", "shape", "numbers"),
    [(0, *each) for each in CONTRACTIONS] + [(1, *CONTRACTIONS[0]), (1, *CONTRACTIONS[2])],
)
def test_contractions_of_sparse_arrays(n_batch, shape, numbers):
    mat, dense = sparse_array(n_batch, 0)
    other, other_dense = sparse_array(0, 0, shape=shape, seed=4)
    found = sparse.bcoo_dot_general(mat, other, dimension_numbers=numbers)
    assert isinstance(found, sparse.BCOO)
    assert found.nse <= np.prod(found.sparse_shape)  # as many as there are places for
    same(found, lax.dot_general(dense, other_dense, numbers))


def test_sampled_contractions():
    a, b = dense_array((3, 4)), dense_array((4, 5), seed=1)
    indices = jnp.array([[0, 1], [2, 4], [3, 5]])
    found = sparse.bcoo_dot_general_sampled(a, b, indices, dimension_numbers=(((1,), (0,)), ((), ())))
    np.testing.assert_array_equal(found, [(a @ b)[0, 1], (a @ b)[2, 4], 0])


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 4), (4, 2)),
        ((3, 4), (4,)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((4,), (2, 4, 3)),
    ],
)
def test_matmul(shapes):
    one, two = (sparse_array(shape=shape, seed=n) for n, shape in enumerate(shapes))
    for a, b in ((one[0], two[0]), (one[0], two[1]), (one[1], two[0])):
        same(a @ b, one[1] @ two[1])


@layouts
def test_vmap_scan_and_jit_take_them_apart(n_batch, n_dense):
    mat, dense = sparse_array(n_batch, n_dense)
    same(arrax.jit(lambda m: m)(mat), dense)
    if n_batch:
        same(arrax.vmap(lambda m: m.todense() * 2)(mat), 2 * dense)
        _, rows = lax.scan(lambda c, row: (c, row.todense()), 0, mat)
        same(rows, dense)


def test_vmap_makes_batches():
    dense = dense_array((3, 4))
    made = arrax.vmap(lambda row: sparse.BCOO.fromdense(row, nse=4))(dense)
    assert (made.n_batch, made.shape) == (1, (3, 4))
    same(made, dense)


@pytest.mark.parametrize(
    ("argnums", "error"), [(1, TypeError), (-2, TypeError), ("m", TypeError), ((0, -1), ValueError)]
)
def test_derivatives_with_respect_to_arguments_that_there_are_not_are_refused(argnums, error):
    with pytest.raises(error, match="argnums"):
        sparse.grad(lambda m: m.todense().sum(), argnums)(sparse_array()[0])


def test_derivatives_of_data():
    mat, dense = sparse_array(shape=(3, 4))
    v = jnp.arange(1.0, 5.0)
    found = sparse.grad(lambda m, v: ((m @ v) ** 2).sum(), (0, 1))(mat, v)
    wanted = arrax.grad(lambda m, v: ((m @ v) ** 2).sum(), (0, 1))(dense, v)
    assert isinstance(found[0], sparse.BCOO)
    same(found[0], np.where(dense != 0, wanted[0], 0))
    same(found[1], wanted[1])
    (value, aux), gradient = sparse.value_and_grad(lambda m: ((m @ v).sum(), "aux"), has_aux=True)(mat)
    assert (value, aux) == ((dense @ v).sum(), "aux")
    same(gradient, np.where(dense != 0, v, 0))
    for transformation in (sparse.jacrev, sparse.jacfwd):
        jacobian = transformation(lambda m: (m @ v) ** 2)(mat)
        assert jacobian.n_batch == 1
        same(jacobian, np.where(dense != 0, arrax.jacrev(lambda m: (m @ v) ** 2)(dense), 0))


def test_from_scipy():
    import scipy.sparse

    dense = np.asarray(dense_array((3, 4)))
    for kind in (sparse.BCOO, sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC):
        same(kind.from_scipy_sparse(scipy.sparse.csr_array(dense)), dense)


def test_random_arrays():
    key = arrax.random.key(0)
    made = sparse.random_bcoo(key, (4, 5), nse=0.3, sorted_indices=True)
    assert made.nse == 6
    assert len({tuple(row) for row in made.indices.tolist()}) == 6
    assert (np.diff(np.ravel_multi_index(made.indices.T, (4, 5))) > 0).all()
    batched = sparse.random_bcoo(
        key, (2, 5, 3), nse=2, n_batch=1, n_dense=1, dtype="float16", generator=arrax.random.normal
    )
    assert (batched.data.shape, batched.dtype) == ((2, 2, 3), np.dtype("float16"))
    with pytest.raises(ValueError, match="nse"):
        sparse.random_bcoo(key, (4, 5), nse=21)


@pytest.mark.parametrize("kind", ["bcoo", "bcsr", "coo", "csr", "csc"])
def test_empty_and_eye(kind):
    same(sparse.empty((3, 4), sparse_format=kind), np.zeros((3, 4)))
    for n, m, k in ((3, None, 0), (3, 5, 1), (5, 3, -2), (2, 2, 7)):
        same(sparse.eye(n, m, k, sparse_format=kind), np.eye(n, m, k))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sparse.BCOO((jnp.ones(3), jnp.ones((2, 2), int)), shape=(3, 3)), ValueError, "Invalid data.shape"),
        (lambda: sparse.BCOO((jnp.ones(3), jnp.ones((3, 2), int)), shape=(3,)), ValueError, "do not make an array"),
        (lambda: sparse.BCOO((jnp.ones(3), jnp.ones(3, int)), shape=(3,)), ValueError, "n_sparse"),
        (lambda: sparse.BCOO((jnp.ones(3), jnp.ones((3, 2))), shape=(3, 3)), TypeError, "indices must be integers"),
        (lambda: sparse.BCOO.fromdense(jnp.ones(3), n_batch=2), ValueError, "no 2 batch"),
        (lambda: arrax.jit(sparse.BCOO.fromdense)(jnp.ones(3)), arrax.errors.ConcretizationTypeError, "nse"),
        (lambda: sparse_array(1)[0].transpose((1, 0, 2)), NotImplementedError, "cannot permute batch"),
        (lambda: sparse_array()[0].transpose((0, 0, 2)), ValueError, "repeated axes"),
        (lambda: sparse_array()[0][5], IndexError, "out of bounds"),
        (lambda: sparse.bcoo_extract(sparse_array()[0], jnp.ones(3)), ValueError, "shape mismatch"),
        (lambda: sparse.empty((3,), sparse_format="x"), ValueError, "sparse_format"),
        (lambda: jnp.dot(sparse_array()[0], jnp.ones(4)), TypeError, "BCOO"),
        (lambda: sparse_array()[0] @ jnp.ones(3), TypeError, "equal lengths"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_new_axes_before_the_sparse_ones_are_of_the_batch():
    dense = jnp.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    repeated = sparse.bcoo_broadcast_in_dim(sparse.BCOO.fromdense(dense), shape=(4, 2, 3), broadcast_dimensions=(1, 2))
    assert (repeated.n_batch, repeated.n_sparse) == (1, 2)
    np.testing.assert_array_equal(repeated.todense(), np.broadcast_to(dense, (4, 2, 3)))
    rows = sparse.bcsr_broadcast_in_dim(sparse.BCSR.fromdense(dense), shape=(4, 2, 3), broadcast_dimensions=(1, 2))
    assert rows.indptr.shape == (4, 3)
    np.testing.assert_array_equal(rows.todense(), np.broadcast_to(dense, (4, 2, 3)))


def test_products_and_their_gradients_see_nothing_of_stored_elements_outside():
    data, indices = jnp.array([2.0, 3.0, np.nan, np.nan]), jnp.array([[0, 1], [1, 0], [2, 0], [1, -1]])
    dense, weights = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([[1.0, 2.0], [3.0, 4.0]])

    def product(data, dense, dimensions):
        mat = sparse.BCOO((data, indices), shape=(2, 2))
        return sparse.bcoo_dot_general(mat, dense, dimension_numbers=dimensions)

    matrices, rows = (((1,), (0,)), ((), ())), (((1,), (1,)), ((0,), (0,)))  # sums over columns; of each row by itself
    np.testing.assert_array_equal(product(data, dense, matrices), [[6.0, 8.0], [3.0, 6.0]])
    np.testing.assert_array_equal(product(data, dense, rows), [4.0, 9.0])
    total = lambda data: (product(data, dense, matrices) * weights).sum()  # noqa: E731
    np.testing.assert_array_equal(arrax.jit(arrax.grad(total))(data), [11.0, 11.0, 0.0, 0.0])
