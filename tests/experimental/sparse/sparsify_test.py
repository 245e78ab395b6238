"""Functions of dense arrays applied to sparse ones."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental import sparse
from tests.experimental.sparse.layouts import dense_array, sparse_array

MATRIX, DENSE = sparse_array(shape=(3, 4), twice=True)
DENSE = jnp.asarray(DENSE)
V, W = jnp.arange(1.0, 5.0), jnp.arange(1.0, 4.0)

FUNCTIONS = {
    "documented": lambda m: 2 * jnp.dot(jnp.sin(m.T), W) + 1,
    "unary": lambda m: jnp.tanh(-abs(lax.stop_gradient(m))) + jnp.expm1(m),
    "powers": lambda m: m**2 + m * m * m - m / 2,
    "mean": lambda m: m.mean(0),
    "sum": lambda m: m.sum(),
    "broadcast": lambda m: jnp.broadcast_to(m, (2, 3, 4)),
    "stack": lambda m: jnp.stack([m, m], 1),
    "split": lambda m: jnp.split(m, [1, 3], 1),
    "unstack": lambda m: jnp.unstack(m, axis=1),
    "concatenate": lambda m: jnp.concatenate([m, m], 1)[:, ::2],
    "slice": lambda m: m[1:, 2],
    "squeeze": lambda m: jnp.squeeze(m[:1]),
    "rows by number": lambda m: m[jnp.array([2, 0])],
    "columns by number": lambda m: m[:, jnp.array([3, -4])],
    "elements by number": lambda m: m[jnp.array([[2, 0]]), jnp.array([[1], [3]])],
    "elements along an axis": lambda m: jnp.take_along_axis(m.reshape(3, 2, 2), jnp.array([[[1, 0]]] * 3), 1),
    "rows, some outside": lambda m: jnp.take(m, jnp.array([1, 7]), axis=0, fill_value=0),
    "outer product of rows": lambda m: jnp.outer(m[0], m[1]),
    "einsum": lambda m: jnp.einsum("ij,kj->ki", m, jnp.ones((2, 4))),
    "tensordot": lambda m: jnp.tensordot(m, jnp.ones((4, 2, 2)), 1),
    "reshape": lambda m: m.reshape(2, 6),
    "beside dense": lambda m: m + jnp.ones((3, 4)),
    "division": lambda m: m / jnp.arange(1.0, 5.0),
    "scan": lambda m: lax.scan(lambda c, _: (m.T @ (m @ c) / 50, c.sum()), V, None, length=3),
    "scan of rows": lambda m: lax.scan(lambda c, row: (c + row @ V, row * 2), 0.0, m),
    "carry": lambda m: lax.fori_loop(0, 3, lambda i, c: c * 2, m),
    "loop": lambda m: lax.fori_loop(0, 3, lambda i, c: m.T @ (m @ c) / 50, V),
    "cond": lambda m: lax.cond(V[0] > 0, lambda m: m @ V, lambda m: -(m @ V), m),
    "jit": lambda m: arrax.jit(lambda m, v: m @ v)(m, V),
    "checkpoint": lambda m: arrax.checkpoint(lambda m: m @ V)(m),
    "relu": lambda m: arrax.grad(lambda v: arrax.nn.relu(m @ v).sum())(V),
}


def same(found, wanted):
    """Equal trees, the first of which may hold sparse arrays."""
    found = arrax.tree.leaves(found, is_leaf=lambda x: isinstance(x, sparse.JAXSparse))
    for a, b in zip(found, arrax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(sparse.todense(a), b, rtol=1e-5, atol=1e-6)


def test_arrays_without_repeated_indices_stand_beside_themselves():
    dense = jnp.array([[0.0, 2.0], [3.0, 0.0]])
    for axis in range(2):
        joined = sparse.sparsify(lambda m, axis=axis: jnp.concatenate([m, 2 * m], axis))(sparse.BCOO.fromdense(dense))
        same(joined, jnp.concatenate([dense, 2 * dense], axis))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    f = FUNCTIONS[name]
    same(sparse.sparsify(f)(MATRIX), f(DENSE))


def test_loops_over_arrays_whose_axes_are_all_dense():
    dense = sparse.BCOO.fromdense(DENSE, n_dense=2)
    f = FUNCTIONS["scan of rows"]
    same(sparse.sparsify(f)(dense), f(DENSE))


def test_under_transformations():
    f = FUNCTIONS["documented"]
    same(arrax.jit(sparse.sparsify(f))(MATRIX), f(DENSE))
    product = sparse.sparsify(lambda m, v: m @ v)
    same(arrax.grad(lambda v: product(MATRIX, v).sum())(V), DENSE.sum(0))
    same(arrax.vmap(lambda v: product(MATRIX, v))(jnp.stack([V, 2 * V])), jnp.stack([DENSE @ V, 2 * DENSE @ V]))


@pytest.mark.parametrize("f", [jnp.sign, jnp.trunc, jnp.nan_to_num, arrax.nn.elu, arrax.nn.silu, lax.bessel_i1e])
def test_elements_that_are_zero_again_in_the_end_are_not_stored(f):
    found = sparse.sparsify(f)(MATRIX)
    assert isinstance(found, sparse.BCOO) and found.nse == MATRIX.nse
    same(found, f(DENSE))
    same(arrax.jit(sparse.sparsify(f))(MATRIX), f(DENSE))


def test_results_stay_sparse():
    assert isinstance(sparse.sparsify(jnp.sin)(MATRIX), sparse.BCOO)
    assert isinstance(sparse.sparsify(FUNCTIONS["unary"])(MATRIX), sparse.BCOO)


def test_operators():
    other, other_dense = sparse_array(shape=(3, 4), seed=7)
    for found, wanted in (
        (MATRIX + other, DENSE + other_dense), (MATRIX - other, DENSE - other_dense), (MATRIX * other, DENSE * other_dense),
        (2 * MATRIX, 2 * DENSE), (MATRIX * np.float32(2), 2 * DENSE), (MATRIX / 2, DENSE / 2), (-MATRIX, -DENSE),
        (abs(MATRIX), abs(DENSE)), (MATRIX**2, DENSE**2), (MATRIX + other_dense, DENSE + other_dense),
        (np.asarray(other_dense) - MATRIX, other_dense - DENSE), (np.ones((2, 3), "f") @ MATRIX, np.ones((2, 3)) @ DENSE),
        (MATRIX[jnp.array([1, 0])], DENSE[jnp.array([1, 0])]), (MATRIX[:, np.arange(4) > 1], DENSE[:, 2:]),
        (MATRIX @ other.T, DENSE @ other_dense.T), (MATRIX.astype(int), DENSE.astype(int)), (MATRIX.sum(1), DENSE.sum(1)),
    ):  # fmt: skip
        same(found, wanted)
    assert [row.shape for row in MATRIX] == [(4,)] * 3


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (jnp.cos, "would be dense"), (lambda m: m + 1, "fewer elements"), (lambda m: 1 / m, "Division by a sparse array"),
        (lambda m: abs(m) + 1, "add of a sparse array would be dense"),
        (lambda m: m == m, "would be dense"), (lambda m: jnp.sort(m), "sparse rule for"),
        (lambda m: jnp.take(m, jnp.array([1, 7]), axis=0), "need fill_value=0"),
    ],
)  # fmt: skip
def test_what_would_be_dense_is_refused(f, message):
    with pytest.raises(NotImplementedError, match=message):
        sparse.sparsify(f)(MATRIX)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(mode):
    x, y = dense_array((7,)), dense_array((3,), seed=2)
    convolve = sparse.sparsify(lambda x, y: jnp.convolve(x, y, mode=mode))
    for a in (x, sparse.BCOO.fromdense(x)):
        for b in (y, sparse.BCOO.fromdense(y)):
            same(convolve(a, b), jnp.convolve(x, y, mode=mode))


@pytest.mark.parametrize("kind", [sparse.COO, sparse.CSR, sparse.CSC, sparse.BCSR])
def test_other_kinds(kind):
    dense = dense_array((3, 4))
    made = kind.fromdense(dense)
    same(made, dense)
    same(made.T, dense.T)
    same(made @ V, dense @ V)
    same(arrax.jit(lambda m: m.T @ W)(made), dense.T @ W)
    same(arrax.grad(lambda v: (made @ v).sum())(V), dense.sum(0))
    same(sparse.sparsify(jnp.sin)(made), jnp.sin(dense))
    same(sparse.grad(lambda m: (m @ V).sum())(made), np.where(dense != 0, V, 0))


@pytest.mark.parametrize("kind", [sparse.COO, sparse.CSR, sparse.CSC, sparse.BCSR])
def test_parts_and_sums_of_other_kinds(kind):
    dense = dense_array((3, 4))
    made = kind.fromdense(dense)
    same(made[None], dense[None])
    same(made[1:, -2], dense[1:, -2])
    for row, wanted in zip(made, dense, strict=True):
        same(row, wanted)
    same(made.reshape(2, 6), dense.reshape(2, 6))
    same(made.sum(axis=0), dense.sum(0))
    assert float(made.sum()) == dense.sum()


def test_rows_with_batches():
    dense = dense_array((2, 3, 4))
    made = sparse.BCSR.fromdense(dense, n_batch=1)
    assert repr(made) == f"BCSR(float32[2, 3, 4], nse={made.nse}, n_batch=1)"
    same(made, dense)
    same(arrax.vmap(lambda m: m.todense())(made), dense)
    same(sparse.bcsr_extract(made.indices, made.indptr, dense), made.data)
    numbers = (((2,), (0,)), ((), ()))
    same(sparse.bcsr_dot_general(made, V, dimension_numbers=numbers), dense @ V)
    same(sparse.bcsr_concatenate([made, made], dimension=0), jnp.concatenate([dense, dense]))
    same(made.sum_duplicates(), dense)
    same(sparse.coo_matmat(sparse.coo_fromdense(dense[0]), dense[1], transpose=True), dense[0].T @ dense[1])
    same(sparse.csr_matvec(sparse.csr_fromdense(dense[0]), W, transpose=True), dense[0].T @ W)


def test_logistic_regression_of_sparse_data():
    x, y = dense_array((40, 5), seed=1), (dense_array((40,), seed=2) > 0).astype(jnp.float32)

    def loss(params, x):
        guess = arrax.nn.sigmoid(x @ params[1:] + params[0])
        return -jnp.mean(y * jnp.log(guess) + (1 - y) * jnp.log(1 - guess))

    def fit(x):
        step = lambda _, params: params - 0.3 * arrax.grad(loss)(params, x)  # noqa: E731
        return lax.fori_loop(0, 20, step, jnp.zeros(6))

    same(sparse.sparsify(fit)(sparse.BCOO.fromdense(x)), fit(x))


def test_sums_over_all_axes_are_numbers_that_are_computed_with_further():
    total = DENSE.sum()
    for function, expected in (
        (lambda m: m.sum(), total),
        (lambda m: jnp.sin(m.sum()), np.sin(total)),
        (lambda m: m.sum() * jnp.arange(3.0), total * np.arange(3.0)),
        (lambda m: m.sum() / 2 + 1, total / 2 + 1),
    ):
        result = sparse.sparsify(function)(MATRIX)
        assert isinstance(result, arrax.Array)
        np.testing.assert_allclose(result, expected, rtol=1e-5)
    np.testing.assert_allclose(sparse.sparsify(lambda m: m * m.sum())(MATRIX).todense(), DENSE * total, rtol=1e-5)
