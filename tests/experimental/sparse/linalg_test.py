"""Direct solutions and eigenvalues of sparse matrices."""

import logging

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import sparse
from arrax.experimental.sparse.linalg import lobpcg_standard, spsolve

MATRIX = np.array([[4.0, 1, 0], [2, 3, 1], [0, 1, 2]], np.float32)
CSR = sparse.CSR.fromdense(MATRIX)


def test_direct_solutions():
    b = jnp.array([1.0, 2.0, 3.0])
    solve = lambda data, b: spsolve(data, CSR.indices, CSR.indptr, b)  # noqa: E731
    np.testing.assert_allclose(arrax.jit(solve)(CSR.data, b), np.linalg.solve(MATRIX, b), rtol=1e-5, atol=1e-6)
    rows = arrax.vmap(lambda b: solve(CSR.data, b))(jnp.stack([b, 2 * b]))
    np.testing.assert_allclose(rows[1], 2 * np.linalg.solve(MATRIX, b), rtol=1e-5, atol=1e-6)
    found = arrax.grad(lambda data, b: solve(data, b).sum(), (0, 1))(CSR.data, b)
    wanted = arrax.grad(lambda m, b: jnp.linalg.solve(m, b).sum(), (0, 1))(jnp.asarray(MATRIX), b)
    np.testing.assert_allclose(found[0], wanted[0][MATRIX != 0], rtol=1e-4)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4)
    with pytest.raises(ValueError, match="square matrix"):
        spsolve(CSR.data, CSR.indices, CSR.indptr, jnp.ones(4))


def test_eigenvalues():
    generator = np.random.default_rng(0)
    half = generator.standard_normal((30, 30)).astype(np.float32)
    symmetric = jnp.asarray(half @ half.T)
    guess = jnp.asarray(generator.standard_normal((30, 3)).astype(np.float32))
    wanted = np.linalg.eigvalsh(symmetric)[::-1][:3]
    for a in (symmetric, lambda x: symmetric @ x, sparse.BCOO.fromdense(symmetric)):
        values, vectors, count = lobpcg_standard(a, guess)
        np.testing.assert_allclose(values, wanted, rtol=1e-4)
        np.testing.assert_allclose(symmetric @ vectors, vectors * values, atol=2e-2)
        assert 0 < count <= 100


def test_later_calls_with_a_matrix_compile_nothing(caplog):
    matrix, guess = jnp.diag(jnp.arange(8.0)), jnp.ones((8, 1))
    other = 2 * matrix
    lobpcg_standard(matrix, guess)
    with arrax.log_compiles(True), caplog.at_level(logging.INFO, logger="arrax"):
        values, _, _ = lobpcg_standard(other, guess, m=50, tol=1e-5)
    assert not [record for record in caplog.records if "MLIR" in record.getMessage() or "ompil" in record.getMessage()]
    np.testing.assert_allclose(values, 14, rtol=1e-5)


@pytest.mark.parametrize(
    ("a", "x", "error", "message"),
    [
        (jnp.eye(5), jnp.ones((5, 2)), ValueError, "search dim"), (jnp.eye(20), jnp.ones(20), ValueError, "expected X"),
        (jnp.eye(19), jnp.ones((20, 2)), ValueError, "expected A"), (jnp.eye(20), jnp.ones((20, 2), int), TypeError, "floating"),
    ],
)  # fmt: skip
def test_bad_arguments(a, x, error, message):
    with pytest.raises(error, match=message):
        lobpcg_standard(a, x)


def test_conjugate_gradients_take_sparse_matrices():
    found, _ = arrax.scipy.sparse.linalg.cg(sparse.eye(3) * 2, jnp.ones(3))
    np.testing.assert_allclose(found, 0.5)
