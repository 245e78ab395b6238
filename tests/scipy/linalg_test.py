"""scipy.linalg: values against SciPy's, reconstructions, batches, derivatives, refusals."""

import numpy as np
import pytest
import scipy.linalg

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.scipy import linalg
from tests.support import check_batching, check_gradients

RNG = np.random.default_rng(0)
A = RNG.normal(size=(5, 5))
C = A + 1j * RNG.normal(size=(5, 5))
TALL, WIDE = RNG.normal(size=(6, 4)), RNG.normal(size=(3, 5))
SPD = A @ A.T + 5 * np.eye(5)
B = RNG.normal(size=(5, 2))


@pytest.fixture(autouse=True)
def wide_numbers():
    with arrax.enable_x64(True):
        yield


def close(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=tolerance, atol=tolerance)


# ---- matrices of special form ------------------------------------------------------------------------------------------

V = np.array([3.0, -1.0, 2.0, 5.0])
SPECIAL = {  # name: the arguments of several calls
    "block_diag": [(), (A,), (A, np.ones((1, 3)), np.array([1, 2]))], "circulant": [(V,)], "companion": [(V,)],
    "convolution_matrix": [(V, n, mode) for n in (2, 4, 6) for mode in ("full", "same", "valid")], "fiedler": [(V,)],
    "fiedler_companion": [(V[:k],) for k in (2, 3, 4)] + [(np.arange(1.0, 9),)], "hankel": [(V,), (V, np.arange(3.0))],
    "leslie": [(V, V[1:])], "toeplitz": [(V,), (V, np.arange(3.0)), (C[0],)], "hilbert": [(4,)], "invhilbert": [(4,), (1,)],
    "hadamard": [(8,), (1,)], "helmert": [(5,), (4, True)], "dft": [(4,), (4, "n"), (4, "sqrtn")],
    "pascal": [(5,), (5, "lower"), (5, "upper")], "invpascal": [(5,), (5, "lower"), (5, "upper")],
}  # fmt: skip


def test_matrices_of_python_numbers_have_dtypes_of_their_own():
    for out in (linalg.block_diag(3, 4), linalg.toeplitz(3), linalg.toeplitz(3.0, 4.0), linalg.hankel(3)):
        assert not out.weak_type


@pytest.mark.parametrize("name", SPECIAL)
def test_matrices_of_special_form_are_those_of_scipy(name):
    for arguments in SPECIAL[name]:
        close(getattr(linalg, name)(*arguments), getattr(scipy.linalg, name)(*arguments))


@pytest.mark.parametrize("name", ["circulant", "companion", "fiedler", "fiedler_companion", "hankel", "toeplitz"])
def test_matrices_of_special_form_take_batches(name):
    rows = RNG.normal(size=(3, 4))
    fun = getattr(linalg, name)
    close(fun(rows), np.stack([fun(row) for row in rows]))


# ---- decompositions ---------------------------------------------------------------------------------------------------


def test_cholesky_factors_are_those_of_scipy():
    for lower in (False, True):
        close(linalg.cholesky(SPD, lower), scipy.linalg.cholesky(SPD, lower))
        close(linalg.cho_solve(linalg.cho_factor(SPD, lower), B), scipy.linalg.solve(SPD, B))
    hermitian = C @ C.conj().T + 5 * np.eye(5)
    close(linalg.cholesky(hermitian), scipy.linalg.cholesky(hermitian))
    close(linalg.cho_solve(linalg.cho_factor(hermitian), B), scipy.linalg.solve(hermitian, B))


@pytest.mark.parametrize("matrix", [A, C, TALL, WIDE], ids=["real", "complex", "tall", "wide"])
def test_decompositions_multiply_back(matrix):
    def decompositions(matrix):
        modes = "full", "economic"
        return (
            linalg.lu(matrix), linalg.lu(matrix, permute_l=True), [linalg.qr(matrix, mode=mode) for mode in modes],
            [linalg.qr(matrix, mode=mode, pivoting=True) for mode in modes], linalg.qr(matrix, mode="r"),
            linalg.svd(matrix, full_matrices=False), linalg.svd(matrix, compute_uv=False),
        )  # fmt: skip

    found = arrax.tree.map(np.asarray, arrax.jit(decompositions)(matrix))
    (p, lower, upper), (permuted, same), qr, pivoted, triangle, (u, s, vh), values = found
    close(p @ lower @ upper, matrix)
    close(permuted @ same, matrix)
    for (q, r), (turned, triangular, order) in zip(qr, pivoted, strict=True):
        close(q @ r, matrix)
        close(turned @ triangular, matrix[:, order])
    close(np.abs(triangle[0]), np.abs(scipy.linalg.qr(matrix, mode="r")[0]))
    close(u * s @ vh, matrix)
    close(values, scipy.linalg.svdvals(matrix))


@pytest.mark.parametrize("matrix", [A, C], ids=["real", "complex"])
def test_similar_forms_multiply_back(matrix):
    for output in ("real", "complex"):
        form, vectors = (np.asarray(x) for x in linalg.schur(matrix, output))
        close(vectors @ form @ vectors.conj().T, matrix)
    form, vectors = (np.asarray(x) for x in linalg.rsf2csf(*linalg.schur(A)))
    close(vectors @ form @ vectors.conj().T, A)
    close(np.tril(form, -1), 0)
    form, q = (np.asarray(x) for x in linalg.hessenberg(matrix, calc_q=True))
    close(q @ form @ q.conj().T, matrix)
    close(np.tril(form, -2), 0)
    close(np.abs(linalg.hessenberg(matrix)), np.abs(form))


@pytest.mark.parametrize(("matrix", "side"), [(A, "right"), (TALL, "right"), (WIDE, "left"), (C, "left")])
@pytest.mark.parametrize("method", ["qdwh", "svd"])
def test_polar_decompositions_are_those_of_scipy(matrix, side, method):
    for ours, theirs in zip(linalg.polar(matrix, side, method=method), scipy.linalg.polar(matrix, side), strict=True):
        close(ours, theirs, 1e-8)


@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_polar_decompositions_of_huge_and_tiny_matrices_are_those_of_their_multiples(size):
    huge = (A * size).astype(np.float32)
    for factor, theirs in zip(linalg.polar(huge), scipy.linalg.polar(A), strict=True):
        close(factor / np.max(np.abs(factor)), theirs / np.max(np.abs(theirs)), 1e-5)


def test_unitary_matrices_are_their_own_polar_factors():
    for matrix in (np.eye(2, dtype=np.float32), np.eye(3, dtype=np.float32)):
        for factor in linalg.polar(matrix):
            np.testing.assert_array_equal(factor, matrix)


@pytest.mark.parametrize("type", [1, 2, 3])
def test_generalized_eigenvalues_are_those_of_scipy(type):
    symmetric = A + A.T
    values, vectors = (np.asarray(x) for x in linalg.eigh(symmetric, SPD, type=type))
    close(values, scipy.linalg.eigh(symmetric, SPD, type=type, eigvals_only=True))
    product = {1: lambda v: SPD @ v, 2: lambda v: v, 3: lambda v: v}[type]
    operator = {1: symmetric, 2: symmetric @ SPD, 3: SPD @ symmetric}[type]
    close(operator @ vectors, product(vectors) * values, 1e-8)
    chosen = linalg.eigh(symmetric, SPD, type=type, eigvals=(1, 3))
    close(chosen[0], values[1:4])
    close(chosen[1], vectors[:, 1:4])
    close(linalg.eigh(symmetric, SPD, type=type, eigvals=(4, 4), eigvals_only=True), values[4:])
    close(linalg.eigh(np.tril(symmetric), eigvals_only=True), scipy.linalg.eigvalsh(symmetric))
    close(linalg.eigh(np.triu(symmetric), lower=False, eigvals_only=True), scipy.linalg.eigvalsh(symmetric))


@pytest.mark.parametrize(("select", "span"), [("a", None), ("i", (1, 3)), ("v", (-1.0, 1.5))])
def test_tridiagonal_eigenvalues_are_those_of_scipy(select, span):
    d, e = RNG.normal(size=6), RNG.normal(size=5)
    expected, vectors = scipy.linalg.eigh_tridiagonal(d, e, select=select, select_range=span)
    close(linalg.eigh_tridiagonal(d, e, eigvals_only=True, select=select, select_range=span), expected)
    values, ours = (np.asarray(x) for x in linalg.eigh_tridiagonal(d, e, select=select, select_range=span))
    close(values, expected)
    close(np.abs(np.sum(ours * vectors, 0)), 1)


# fmt: off
TRIDIAGONAL = {  # hard ones: multiple values, small beside great ones, huge ones, tiny ones
    "random": (RNG.normal(size=21), RNG.normal(size=20)), "diagonal": (np.array([3.0, 1e-9, 3.0, 1e-9, 3.0]), np.zeros(4)),
    "Wilkinson": (np.abs(np.arange(-10, 11.0)), np.ones(20)), "one": (np.array([2.5]), np.zeros(0)), "zero": (np.zeros(5), np.zeros(4)),
    "huge": (1e300 * RNG.normal(size=5), 1e300 * RNG.normal(size=4)), "tiny": (1e-300 * RNG.normal(size=5), 1e-300 * RNG.normal(size=4)),
}
# fmt: on


@pytest.mark.parametrize("case", TRIDIAGONAL)
def test_tridiagonal_eigenvalues_are_exact_beside_the_greatest(case):
    d, e = TRIDIAGONAL[case]
    values = np.asarray(linalg.eigh_tridiagonal(d, e, eigvals_only=True))
    expected = scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True)
    np.testing.assert_allclose(values, expected, rtol=0, atol=2e-15 * np.abs(expected).max())


def test_tridiagonal_matrices_of_other_numbers():
    d, e = RNG.normal(size=6), RNG.normal(size=5) + 1j * RNG.normal(size=5)
    full = np.diag(d) + np.diag(e, -1) + np.diag(e.conj(), 1)
    close(linalg.eigh_tridiagonal(d, e, eigvals_only=True), np.linalg.eigvalsh(full))
    values, vectors = (np.asarray(x) for x in linalg.eigh_tridiagonal(d, e, select="i", select_range=(2, 3)))
    close(full @ vectors, vectors * values)
    assert linalg.eigh_tridiagonal(np.float16([1, 2]), np.zeros(1, np.float16), eigvals_only=True).dtype == np.float32
    close(linalg.eigh_tridiagonal(np.arange(4), np.zeros(3), eigvals_only=True), np.arange(4))
    assert np.isnan(linalg.eigh_tridiagonal(np.array([1.0, np.nan]), np.zeros(1), eigvals_only=True)).all()
    for span, count in (((1, 3), 2), ((5, 6), 0), ((3, 1), 0)):  # above the first bound, up to the second
        chosen = linalg.eigh_tridiagonal(np.arange(4.0), np.zeros(3), eigvals_only=True, select="v", select_range=span)
        assert chosen.shape == (count,)


def test_tridiagonal_eigenvalues_have_derivatives_and_batches():
    def values(d, e):
        return linalg.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(1, 3))

    d, e = RNG.normal(size=5), RNG.normal(size=4)
    check_gradients(values, [d, e], rtol=1e-4)
    check_batching(values, [d, e])


def test_products_with_q_are_those_of_scipy():
    for matrix in (A, TALL, C):
        for mode, c in (
            ("left", RNG.normal(size=(min(matrix.shape), 2))),
            ("right", RNG.normal(size=(2, matrix.shape[0]))),
        ):
            ours, theirs = linalg.qr_multiply(matrix, c, mode), scipy.linalg.qr_multiply(matrix, c, mode)
            close(np.abs(ours[0] @ np.ones(ours[0].shape[1]) if mode == "left" else ours[0]),
                  np.abs(theirs[0] @ np.ones(theirs[0].shape[1]) if mode == "left" else theirs[0]))  # fmt: skip
            close(ours[1], theirs[1])
    with pytest.raises(ValueError, match=r"qr_multiply: matrices are needed, got the shape \(\)"):
        linalg.qr_multiply(A, 2.0)
    with pytest.raises(ValueError, match="rsf2csf"):
        linalg.rsf2csf((1.0, 2.0), A)


# ---- systems --------------------------------------------------------------------------------------------------------


def test_solutions_are_those_of_scipy():
    ways = [(trans, lower) for trans in (0, 1, 2) for lower in (False, True)]

    @arrax.jit
    def solutions(matrix, b):
        by_factors = [linalg.lu_solve(linalg.lu_factor(matrix), b, trans) for trans in (0, 1, 2)]
        return linalg.solve(matrix, b), by_factors, [linalg.solve_triangular(matrix, b, *way) for way in ways]

    for matrix in (A, C):
        for b in (B, B[:, 0]):
            solved, by_factors, triangular = solutions(matrix, b)
            close(solved, scipy.linalg.solve(matrix, b), 1e-9)
            for trans, found in enumerate(by_factors):
                close(found, scipy.linalg.lu_solve(scipy.linalg.lu_factor(matrix), b, trans), 1e-9)
            for way, found in zip(ways, triangular, strict=True):
                close(found, scipy.linalg.solve_triangular(matrix, b, *way), 1e-7)
    for lower in (False, True):
        close(linalg.solve(SPD, B, lower, assume_a="pos"), scipy.linalg.solve(SPD, B))
    close(linalg.det(A), scipy.linalg.det(A))
    close(linalg.inv(A), scipy.linalg.inv(A), 1e-9)


def test_batches_of_systems_are_solved_one_by_one():
    many, sides = RNG.normal(size=(3, 4, 4)), RNG.normal(size=(3, 4, 2))
    close(
        linalg.solve(many, sides), np.stack([scipy.linalg.solve(a, b) for a, b in zip(many, sides, strict=True)]), 1e-9
    )
    close(linalg.lu_solve(linalg.lu_factor(many), sides), linalg.solve(many, sides), 1e-9)
    close(linalg.expm(many), np.stack([scipy.linalg.expm(a) for a in many]))


@pytest.mark.parametrize(("leading", "right"), [((), (3, 2)), ((2, 1), (2, 3)), ((2, 1), (3,)), ((1, 3), (2, 1))])
def test_right_sides_of_one_matrix_are_solved_together(leading, right):
    many, sides = RNG.normal(size=(*leading, 4, 4)), RNG.normal(size=(*right, 4, 2))
    batch = np.broadcast_shapes(leading, right)
    expected = np.linalg.solve(np.broadcast_to(many, (*batch, 4, 4)), np.broadcast_to(sides, (*batch, 4, 2)))
    close(arrax.numpy.linalg.solve(many, sides), expected, 1e-9)
    close(linalg.lu_solve(linalg.lu_factor(many), sides), expected, 1e-9)
    if leading == (2, 1):
        text = str(arrax.make_jaxpr(arrax.numpy.linalg.solve)(many, sides))
        assert "f64[2,4,4] _:i32[2,4] " in text and "f64[2,3,4,4]" not in text


def test_triangular_systems_keep_small_floats_and_weak_types():
    a, b = np.float16([[2, 1], [0, 4]]), np.float16([4, 8])
    for x in (linalg.solve_triangular(a, b), linalg.lu_solve((a, np.arange(2)), b)):
        assert x.dtype == np.float16 and x.tolist() == [1, 2]
    assert linalg.cho_solve((a, False), b).dtype == np.float16
    weak = lax.full((2, 2), 1.0)
    assert arrax.eval_shape(linalg.solve, weak, weak).weak_type
    assert not arrax.eval_shape(linalg.solve, weak, np.float32([[1], [2]])).weak_type


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_sylvester_equations_hold(method):
    b, c = RNG.normal(size=(3, 3)), RNG.normal(size=(5, 3))
    close(linalg.solve_sylvester(A, b, c, method=method), scipy.linalg.solve_sylvester(A, b, c), 1e-8)
    assert np.any(np.isnan(linalg.solve_sylvester(np.eye(2), -np.eye(2), np.eye(2), method=method)))


# ---- functions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_exponentials_are_those_of_scipy(scale):
    for matrix in (A, C):
        close(linalg.expm(scale * matrix), scipy.linalg.expm(scale * matrix), 1e-9)
    upper = np.triu(A)
    close(linalg.expm(scale * upper, upper_triangular=True), scipy.linalg.expm(scale * upper), 1e-9)
    for ours, theirs in zip(linalg.expm_frechet(A, C.real), scipy.linalg.expm_frechet(A, C.real), strict=True):
        close(ours, theirs, 1e-9)
    assert np.all(np.isnan(linalg.expm(1e9 * A, max_squarings=4)))
    np.testing.assert_array_equal(linalg.expm(np.zeros((5, 5))), np.eye(5))


def test_roots_and_functions_of_matrices_are_those_of_scipy():
    for matrix in (A, C, SPD):
        root = np.asarray(linalg.sqrtm(matrix))
        close(root @ root, matrix, 1e-8)
        close(linalg.sqrtm(matrix, blocksize=2), root)
        close(linalg.funm(matrix, arrax.numpy.exp), scipy.linalg.expm(matrix), 1e-7)
    value, error = linalg.funm(SPD, arrax.numpy.sqrt, disp=False)
    close(value, scipy.linalg.sqrtm(SPD))
    assert 0 < error < 1


def test_derivatives_agree_with_finite_differences():
    check_gradients(linalg.expm, [0.7 * A], rtol=1e-4)
    check_gradients(lambda a, b: linalg.solve(a @ a.T + np.eye(5), b, assume_a="pos"), [A, B], rtol=1e-4)
    check_gradients(lambda a: linalg.eigh(a + a.T, SPD, eigvals_only=True), [A], rtol=1e-4)
    check_gradients(lambda a: linalg.cho_solve(linalg.cho_factor(a @ a.T + np.eye(5)), B), [A], rtol=1e-4)
    check_gradients(linalg.toeplitz, [V])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: linalg.cholesky(TALL), ValueError),
        (lambda: linalg.solve(A, np.ones(3)), ValueError),
        (lambda: linalg.solve(A, B, assume_a="banded"), ValueError),
        (lambda: linalg.qr(A, mode="thin"), ValueError),
        (lambda: linalg.schur(A, "quasi"), ValueError),
        (lambda: linalg.eigh(SPD, eigvals=(3, 2)), ValueError),
        (lambda: linalg.eigh(SPD, eigvals=(0, 5)), ValueError),
        (lambda: linalg.polar(WIDE), ValueError),
        (lambda: linalg.polar(A, "middle"), ValueError),
        (lambda: linalg.expm([[1.0]]), TypeError),
        (lambda: linalg.hadamard(3), ValueError),
        (lambda: linalg.pascal(3, "left"), ValueError),
        (lambda: linalg.eigh_tridiagonal(V, V), ValueError),
        (lambda: linalg.eigh_tridiagonal(V, V[1:], select="v"), ValueError),
        (lambda: linalg.solve_sylvester(A, A, B), ValueError),
        (lambda: linalg.lu_solve(linalg.lu_factor(A), B, 3), ValueError),
        (lambda: linalg.convolution_matrix(V, 0), ValueError),
        (lambda: linalg.companion(V[:1]), ValueError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize(
    "function",
    [
        linalg.cholesky, linalg.cho_factor, linalg.svd, linalg.eigh, linalg.lu, linalg.lu_factor, linalg.qr, linalg.polar,
        lambda a: linalg.rsf2csf(a, a), lambda a: linalg.solve_triangular(a, a[0]), lambda a: linalg.cho_solve((a, True), a[0]),
        lambda a: linalg.eigh_tridiagonal(a[0], a[1][:1]), lambda a: linalg.expm_frechet(a, a), lambda a: linalg.funm(a, jnp.sqrt),
    ],
)  # fmt: skip
def test_lists_of_numbers_are_matrices(function):
    a = [[4.0, 1.0], [1.0, 3.0]]
    for found, right in zip(arrax.tree.leaves(function(a)), arrax.tree.leaves(function(jnp.array(a))), strict=True):
        np.testing.assert_array_equal(found, right)
