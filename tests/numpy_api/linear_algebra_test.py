"""``jnp.linalg`` against NumPy and by what defines each result; derivatives; mistakes."""

from functools import partial

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.support import check_batching, check_gradients, precision

LA = jnp.linalg
DTYPES = ["float32", "complex64", "int32"]
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
RNG = np.random.default_rng(0)


def draw(*shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * (4 if dtype == "int32" else 1)
    return (x + 1j * rng.standard_normal(shape) if dtype == "complex64" else x).astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def close(actual, expected, factor=200):
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1)
    np.testing.assert_allclose(
        actual, expected, rtol=factor * precision("float32"), atol=factor * precision("float32") * scale
    )


# ---- against NumPy ---------------------------------------------------------------------------------------------------

A, B, C = draw(2, 3, 3), draw(2, 3, 3, seed=1), draw(4, 3, seed=2)
P = A @ adjoint(A) + np.eye(3, dtype=np.float32)
# fmt: off
CALLS = {  # name: (arguments, keywords) or lists of them
    "cholesky":      [((P,), {}), ((P,), {"upper": True})],
    "cond":          [((A,), {}), *[((A,), {"p": p}) for p in (2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")]],
    "cross":         [((A, B), {}), ((A, B), {"axis": 1})],
    "det":           [((A,), {}), ((P[:, :2, :2],), {}), ((A[:, :1, :1],), {}), ((draw(2, 4, 4),), {}), ((np.zeros((2, 0, 0)),), {})],
    "diagonal":      [((A,), {}), ((A,), {"offset": 1})],
    "eigvalsh":      [((P,), {}), ((P,), {"UPLO": "U"})],
    "inv":           [((A,), {}), ((np.zeros((0, 0)),), {})],
    "matmul":        [((A, B), {})],
    "matrix_norm":   [((A,), {"ord": p, "keepdims": k}) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf) for k in (0, 1)],
    "matrix_power":  [((A,), {"n": n}) for n in (-2, -1, 0, 1, 2, 3, 5)],
    "matrix_rank":   [((A,), {}), ((A @ np.diag([1, 1, 0]),), {}), ((np.diag([9., 5, 1]),), {"tol": 2.0}), ((np.diag([9., 5, 1]),), {"rtol": 0.2}),
                      ((P,), {"hermitian": True}), ((A[0, 0],), {}), ((np.zeros(3),), {})],
    "matrix_transpose": [((A,), {})],
    "multi_dot":     [(([C, A[0], B[0]],), {}), (([C[0], A[0], B[0, 0]],), {}), (([C[:2], C.T, C, A[0]],), {})],
    "norm":          [((A,), {}), ((A[0, 0],), {}), ((A,), {"axis": (0, 2), "keepdims": True}), ((A,), {"axis": 1, "ord": 3}), ((A[0],), {"ord": "nuc"}),
                      *[((A[0, 0],), {"ord": p}) for p in (1, 2, 3, 0, -1, 0.5, np.inf, -np.inf)]],
    "outer":         [((A[0, 0], C[:, 0]), {})],
    "pinv":          [((A,), {}), ((C,), {}), ((C.T,), {}), ((P,), {"hermitian": True}), ((P,), {"rtol": 0.3}), ((np.ones((2, 2)),), {}), ((np.zeros((3, 0)),), {})],
    "slogdet":       [((A,), {}), ((np.zeros((2, 2)),), {})],
    "solve":         [((A, B), {}), ((A, B[0, 0]), {}), ((A[0], B[0, 0]), {}), ((A[0], B), {})],
    "svdvals":       [((A,), {}), ((C,), {})],
    "tensordot":     [((A, C.T), {"axes": 1})],
    "tensorinv":     [((draw(2, 3, 6),), {}), ((draw(6, 2, 3),), {"ind": 1})],
    "tensorsolve":   [((draw(2, 3, 6), draw(2, 3)), {}), ((draw(2, 6, 3), draw(2, 3)), {"axes": (1,)})],
    "trace":         [((A,), {}), ((A,), {"offset": -1})],
    "vecdot":        [((A, B), {}), ((A, B), {"axis": 1})],
    "vector_norm":   [((A,), {}), ((A,), {"axis": (0, 1), "ord": 1}), ((A,), {"axis": 2, "ord": 3, "keepdims": True})],
}
# fmt: on


def reference(name, args, options):
    if name in ("matrix_rank", "multi_dot", "tensordot") or all(np.size(x) for x in args):
        return getattr(np.linalg, name)(*args, **options)
    return getattr(np.linalg, name)(*map(np.asarray, args), **options)


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_numpy(name):
    function, calls = getattr(LA, name), CALLS[name]
    arrays, options = zip(*calls, strict=True)
    found = arrax.jit(lambda arrays: [function(*a, **o) for a, o in zip(arrays, options, strict=True)])(arrays)
    for out, (args, keywords) in zip(found, calls, strict=True):
        expected = reference(name, args, keywords)
        if name == "slogdet":
            close(out.sign, expected[0])
            close(out.logabsdet, expected[1])
        else:
            close(out, expected)


@each_dtype
def test_values_of_other_types(dtype):
    a, b = draw(2, 4, 4, dtype=dtype), draw(2, 4, 3, dtype=dtype, seed=1)
    a = a + 9 * np.eye(4, dtype=dtype)
    wide = a.astype(np.complex128 if dtype == "complex64" else np.float64)
    close(LA.det(a), np.linalg.det(wide))
    close(LA.inv(a), np.linalg.inv(wide))
    close(LA.solve(a, b), np.linalg.solve(wide, b))
    close(LA.pinv(b), np.linalg.pinv(b.astype(wide.dtype)))
    close(LA.norm(a), np.linalg.norm(wide))
    close(LA.cond(a), np.linalg.cond(wide))
    for method in (None, "lu", "qr"):
        out, expected = LA.slogdet(a, method=method), np.linalg.slogdet(wide)
        close(out.sign, expected[0])
        close(out.logabsdet, expected[1])
    close(LA.vector_norm(a, axis=-1, ord=3), np.linalg.vector_norm(wide, axis=-1, ord=3))


# ---- decompositions --------------------------------------------------------------------------------------------------


@each_dtype
def test_decompositions_are_named_tuples_that_multiply_back(dtype):
    a = draw(2, 4, 3, dtype=dtype)
    square = draw(2, 4, 4, dtype=dtype)
    hermitian = square + adjoint(square)
    svd = LA.svd(a, full_matrices=False)
    close(np.asarray(svd.U * svd.S[..., None, :]) @ np.asarray(svd.Vh), a)
    assert LA.svd(a).U.shape == (2, 4, 4)
    close(LA.svd(a, compute_uv=False), svd.S)
    qr = LA.qr(a)
    close(np.asarray(qr.Q) @ np.asarray(qr.R), a)
    eigh = LA.eigh(hermitian)
    close(hermitian @ np.asarray(eigh.eigenvectors), np.asarray(eigh.eigenvectors * eigh.eigenvalues[..., None, :]))
    eig = LA.eig(square)
    close(square @ np.asarray(eig.eigenvectors), np.asarray(eig.eigenvectors * eig.eigenvalues[..., None, :]))
    close(np.sort_complex(LA.eigvals(square)), np.sort_complex(np.linalg.eigvals(square)))


def test_qr_modes():
    a = draw(4, 3)
    complete, reduced = LA.qr(a, "complete"), LA.qr(a)
    assert complete.Q.shape == (4, 4) and complete.R.shape == (4, 3) and reduced.Q.shape == (4, 3)
    np.testing.assert_array_equal(LA.qr(a, "r"), reduced.R)
    h, tau = LA.qr(a, "raw")
    expected = np.linalg.qr(a, "raw")
    close(h, expected[0])
    close(tau, expected[1])
    with pytest.raises(ValueError, match="mode 'economic'"):
        LA.qr(a, "economic")


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_hermitian_matrices_have_singular_values_by_their_eigenvalues(dtype):
    a = draw(2, 4, 4, dtype=dtype)
    a = a + adjoint(a)
    out = LA.svd(a, hermitian=True)
    close(np.asarray(out.U * out.S[..., None, :]) @ np.asarray(out.Vh), a)
    close(out.S, np.linalg.svd(a, compute_uv=False))
    close(LA.svd(a, hermitian=True, compute_uv=False), out.S)
    close(LA.pinv(a, hermitian=True), np.linalg.pinv(a), 2000)
    close(LA.matrix_rank(a, hermitian=True), np.linalg.matrix_rank(a))


@pytest.mark.parametrize("diagonal", [[1, 1, 1], [2, 1, 2], [1, -1, 1], [-2, 1, 2], [0, 0, 0]])
def test_vectors_of_equal_singular_values_are_in_the_order_of_numpy(diagonal):
    a = np.diag(np.array(diagonal, "float32"))
    np.testing.assert_array_equal(np.abs(LA.svd(a, hermitian=True).U), np.abs(np.linalg.svd(a, hermitian=True).U))


def test_one_triangle_can_count():
    a = draw(3, 3)
    for uplo, part in (("L", np.tril), ("U", np.triu)):
        whole = part(a) + part(a, {"L": -1, "U": 1}[uplo]).T
        close(LA.eigh(a, UPLO=uplo, symmetrize_input=False).eigenvalues, np.linalg.eigvalsh(whole))
    close(LA.eigvalsh(a), np.linalg.eigvalsh((a + a.T) / 2))
    close(LA.cholesky(np.tril(P), symmetrize_input=False), np.linalg.cholesky(P))
    close(LA.cholesky(np.triu(P), upper=True, symmetrize_input=False), adjoint(np.linalg.cholesky(P)))
    assert np.isnan(np.tril(LA.cholesky(-P))).any()


# ---- least squares, ranks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)], ids=str)
@pytest.mark.parametrize("right", [(), (2,)], ids=str)
def test_least_squares(shape, right):
    a, b = draw(*shape), draw(shape[0], *right, seed=1)
    out, expected = LA.lstsq(a, b, numpy_resid=True), np.linalg.lstsq(a, b, rcond=None)
    close(out[0], expected[0])
    np.testing.assert_allclose(out[1], np.atleast_1d(expected[1]), rtol=1e-4, atol=1e-6)
    assert int(out[2]) == expected[2]
    close(out[3], expected[3])
    assert LA.lstsq(a, b)[1].shape == (right or (1,))


def test_least_squares_of_less_than_full_rank_give_the_least_solution():
    a, b = np.ones((4, 2), np.float32), np.arange(4.0, dtype=np.float32)
    x, _, rank, _ = LA.lstsq(a, b)
    close(x, [0.75, 0.75])
    assert int(rank) == 1 and LA.lstsq(a, b, numpy_resid=True)[1].shape == (0,)
    assert LA.lstsq(np.zeros((0, 3)), np.zeros(0))[0].shape == (3,)
    with arrax.enable_x64(True):
        assert LA.lstsq(a, b)[2].dtype == LA.lstsq(np.zeros((0, 3)), np.zeros(0))[2].dtype == np.int64


def test_tolerances_may_differ_between_matrices():
    a = np.stack([np.diag([9.0, 5, 1])] * 2)
    np.testing.assert_array_equal(LA.matrix_rank(a, rtol=np.array([0.2, 0.8])), [2, 1])
    several = np.array([1e-3, 0.5, 2.0])  # for one matrix: a result for each
    np.testing.assert_array_equal(LA.matrix_rank(a[0], rtol=several), np.linalg.matrix_rank(a[0], rtol=several))
    close(LA.pinv(a[0], rtol=several), np.linalg.pinv(np.stack([a[0]] * 3), rtol=several))
    close(LA.lstsq(a[0], a[0][0], rcond=jnp.array(0.5))[0], LA.lstsq(a[0], a[0][0], rcond=0.5)[0])
    inverse = np.asarray(LA.pinv(a, rtol=np.array([0.2, 0.8])))
    close(inverse, np.stack([np.diag([1 / 9, 1 / 5, 0]), np.diag([1 / 9, 0, 0])]))


def test_a_singular_matrix_has_an_infinite_condition_number():
    singular = np.ones((2, 2), np.float32)
    assert np.isinf(LA.cond(singular, "fro")) and np.isinf(LA.cond(singular, 1))
    assert np.isnan(LA.cond(singular * np.nan, "fro"))


# ---- derivatives, batches --------------------------------------------------------------------------------------------

M = RNG.standard_normal((3, 3)) + 2 * np.eye(3)
LARGE = RNG.standard_normal((4, 4))
# fmt: off
DIFFERENTIABLE = {
    "det":      (LA.det, [M]),
    "det 4":    (LA.det, [np.stack([LARGE, LARGE.T @ LARGE])]),
    "slogdet":  (lambda a: LA.slogdet(a).logabsdet, [LARGE]),
    "slogdet qr": (lambda a: LA.slogdet(a, method="qr").logabsdet, [LARGE]),
    "phases":   (lambda a: [x.real for m in ("lu", "qr") for x in LA.slogdet(a * jnp.exp(1j * a), method=m)], [M]),
    "inv":      (LA.inv, [M]),
    "solve":    (LA.solve, [M, RNG.standard_normal((3, 2))]),
    "pinv":     (LA.pinv, [RNG.standard_normal((4, 3))]),
    "pinv wide": (LA.pinv, [RNG.standard_normal((2, 3))]),
    "pinv hermitian": (lambda a: LA.pinv(a + a.T, hermitian=True), [M]),
    "lstsq":    (lambda a, b: LA.lstsq(a, b)[0], [RNG.standard_normal((4, 3)), RNG.standard_normal(4)]),
    "norm":     (lambda a: [LA.norm(a), LA.norm(a, axis=1, ord=3), LA.norm(a, "nuc"), LA.norm(a, 2), LA.norm(a, np.inf)], [M]),
    "matrix_power": (lambda a: LA.matrix_power(a, -2), [M]),
    "cond":     (lambda a: [LA.cond(a), LA.cond(a, "fro")], [M]),
    "cholesky": (lambda a: LA.cholesky(a @ a.T + 3 * jnp.eye(3)), [M]),
    "multi_dot": (lambda a, b: LA.multi_dot([a, b, a, b]), [M, M.T + 1]),
    "tensorsolve": (lambda a, b: LA.tensorsolve(a.reshape(2, 2, 4), b), [LARGE, RNG.standard_normal((2, 2))]),
}
# fmt: on


# What has derivatives of its own, and norms; the others are made of operations whose second derivatives have tests.
TWICE = {"det 4", "slogdet", "slogdet qr", "phases", "inv", "pinv", "pinv wide", "pinv hermitian", "norm"}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_agree_with_differences(name):
    f, arguments = DIFFERENTIABLE[name]
    check_gradients(f, arguments, order=2 if name in TWICE else 1, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["det 4", "slogdet", "solve", "pinv", "norm", "cond"])
def test_batches_agree_with_a_loop(name):
    f, arguments = DIFFERENTIABLE[name]
    with arrax.enable_x64():
        check_batching(f, [a[0] if name == "det 4" else a for a in arguments], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("diagonal", [(1, 2, 3, 0), (0, 2, 3, 4), (1, 2, 0, 0)], ids=str)
def test_determinants_of_singular_matrices_have_derivatives(diagonal):
    turn = np.linalg.qr(LARGE)[0]
    check_gradients(LA.det, [turn @ np.diag(np.float64(diagonal)) @ turn.T[::-1]], rtol=1e-6, atol=1e-8)


def test_pseudo_inverses_of_less_than_full_rank_have_finite_derivatives():
    gradient = arrax.grad(lambda a: LA.pinv(a).sum())(jnp.ones((3, 3)))
    close(gradient, -np.ones((3, 3)) / 9, 2000)


@pytest.mark.parametrize(("order", "slope"), [(1, 1), (np.inf, 0.5), (0, 0)])
def test_norms_without_roots_have_one_sided_derivatives_at_zero(order, slope):
    np.testing.assert_array_equal(arrax.grad(lambda x: LA.norm(x, order))(jnp.zeros(2)), [slope, slope])


# ---- mistakes --------------------------------------------------------------------------------------------------------

ROWS = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *[
            (partial(getattr(LA, name), ROWS), "must have shape|square")
            for name in ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet")
        ],
        *[
            (partial(getattr(LA, name), ROWS[0]), "two axes|out of bounds|two-dim")
            for name in (
                "cholesky",
                "det",
                "eig",
                "eigh",
                "inv",
                "svd",
                "svdvals",
                "qr",
                "pinv",
                "cond",
                "matrix_norm",
                "matrix_transpose",
            )
        ],
        (lambda: LA.matrix_power(ROWS, 2), "square"),
        (lambda: LA.solve(np.eye(3), ROWS), "arguments to solve"),
        (lambda: LA.solve(ROWS, ROWS), "arguments to solve"),
        (lambda: LA.lstsq(ROWS, np.ones(3)), "must match"),
        (lambda: LA.norm(ROWS, "x"), "Invalid order 'x' for matrix norm"),
        (lambda: LA.norm(ROWS[0], "fro"), "Invalid order 'fro' for vector norm"),
        (lambda: LA.norm(np.ones((2, 2, 2)), 2), "Improper number of axes"),
        (lambda: LA.norm(np.ones((2, 2, 2)), axis=(0, 1, 2)), "Improper number of axes"),
        (lambda: LA.cond(np.zeros((0, 0))), "empty"),
        (lambda: LA.slogdet(np.eye(2), method="x"), "method 'x'"),
        (lambda: LA.eigh(np.eye(2), UPLO="x"), "UPLO must be one of"),
        (lambda: LA.pinv(ROWS, rtol=0.1, rcond=0.1), "not both"),
        (lambda: LA.matrix_rank(ROWS, rtol=0.1, tol=0.1), "not both"),
        (lambda: LA.multi_dot([ROWS]), "at least two arrays"),
        (lambda: LA.multi_dot([ROWS, ROWS]), "must match first dimension"),
        (lambda: LA.tensorinv(np.ones((2, 3)), ind=0), "positive integer"),
        (lambda: LA.tensorinv(np.ones((2, 3)), ind=1), "as many entries"),
        (lambda: LA.tensorinv(np.ones((0, 3)), ind=1), "as many entries"),
        (lambda: LA.tensorsolve(np.ones((2, 3)), np.ones(2)), "Expected a of square shape"),
        (lambda: LA.tensorsolve(np.ones((0, 3)), np.ones(0)), "Expected a of square shape"),
        (lambda: LA.cross(ROWS[:, :2], ROWS[:, :2]), "3-dimensional vectors"),
        (lambda: LA.cross(1.0, ROWS[:, :3]), "axis -1 is out of bounds"),
        (lambda: LA.outer(ROWS, ROWS[0]), "one-dimensional"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_lists_and_strings_are_refused():
    for name in CALLS:
        with pytest.raises(TypeError):
            getattr(LA, name)("a")


@pytest.mark.parametrize("name", ["det", "inv", "svd", "eigh", "norm"])
def test_a_list_of_rows_is_no_array(name):
    with pytest.raises(TypeError, match="list"):
        getattr(LA, name)([[1.0, 2.0], [3.0, 4.0]])


def test_jit_gives_the_same():
    a = draw(3, 3)
    for f in (LA.det, LA.inv, LA.pinv, LA.norm, LA.matrix_rank, lambda a: LA.lstsq(a, a[0])[0]):
        close(arrax.jit(f)(a), f(a))


def test_inverses_and_their_derivatives():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((2, 5, 5)) + 4 * np.eye(5)
    b = a + 1j * rng.standard_normal((2, 5, 5))
    with arrax.enable_x64(True):
        for matrices in (a, b):
            np.testing.assert_allclose(jnp.linalg.inv(matrices), np.linalg.inv(matrices), rtol=1e-9)
    check_gradients(jnp.linalg.inv, (a[0],), order=2)
    check_gradients(lambda x, y: jnp.abs(jnp.linalg.inv(x + 1j * y)), (a[0], b[0].imag))
    check_batching(jnp.linalg.inv, (a[0].astype(np.float32),), rtol=1e-4, atol=1e-4)
    assert not np.isfinite(jnp.linalg.inv(np.zeros((3, 3), np.float32))).any()
    assert jnp.linalg.inv(np.zeros((2, 0, 0), np.float32)).shape == (2, 0, 0)


def test_batches_of_vectors_are_solved_with_a_warning():
    matrices = np.eye(2, dtype=np.float32) * np.arange(1, 4, dtype=np.float32)[:, None, None]
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    with pytest.warns(DeprecationWarning, match="batches of vectors"):
        found = jnp.linalg.solve(matrices, vectors)
    np.testing.assert_allclose(found, np.linalg.solve(matrices, vectors[..., None])[..., 0])
    square = np.arange(4, dtype=np.float32).reshape(2, 2)  # a matrix that each of two matrices is applied to
    np.testing.assert_allclose(jnp.linalg.solve(matrices[:2], square), np.linalg.solve(matrices[:2], square))


def test_the_second_argument_of_matrix_rank_is_an_absolute_tolerance():
    a = np.diag([9.0, 5, 1]).astype(np.float32)
    assert LA.matrix_rank(a, 2.0) == np.linalg.matrix_rank(a, 2.0) == 2
    assert LA.matrix_rank(a, 2.0, True) == np.linalg.matrix_rank(a, 2.0, True) == 2
    assert LA.matrix_rank(a, rtol=0.2) == 2


def test_tolerances_may_have_more_axes_than_the_matrices():
    a, limits = np.diag([1.0, 1e-2]).astype(np.float32), np.array([1e-3, 1e-1], np.float32)
    close(LA.pinv(a, limits), [np.diag([1, 100.0]), np.diag([1, 0.0])])
    assert LA.matrix_rank(a, limits).tolist() == LA.matrix_rank(a, tol=limits).tolist() == [2, 1]
    assert LA.matrix_rank(np.stack([a, 0 * a]), limits[:, None]).tolist() == [[2, 0], [1, 0]]
