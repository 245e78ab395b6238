"""Decompositions of matrices: they multiply back, agree with LAPACK through SciPy, and batch; what has none is refused."""

import numpy as np
import pytest
import scipy.linalg

import arrax
from arrax import lax
from arrax.lax import linalg
from tests.support import precision, x64_for

DTYPES = ["float32", "float64", "complex64", "complex128"]
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
SHAPES = {"square": (4, 4), "tall": (5, 3), "wide": (3, 5), "one": (1, 1), "batched": (2, 3, 4, 4)}
each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
EMPTY = [(0, 0), (0, 3), (3, 0), (0, 3, 3), (2, 0, 0)]


def draw(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian(x):
    return x @ adjoint(x)


def close(actual, expected, dtype, factor=100):
    tolerance = factor * precision(dtype)
    np.testing.assert_allclose(
        np.asarray(actual), expected, rtol=tolerance, atol=tolerance * max(1, np.abs(expected).max())
    )


def unit_columns(q, dtype):
    close(
        adjoint(np.asarray(q)) @ np.asarray(q),
        np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])),
        dtype,
    )


# ---- factors multiply back -------------------------------------------------------------------------------------------


@each_dtype
def test_cholesky_factors(dtype):
    with x64_for(dtype):
        a = hermitian(draw((2, 3, 4, 4), dtype))
        factor = np.asarray(linalg.cholesky(a))
        assert factor.dtype == dtype and not np.triu(factor, 1).any()
        close(hermitian(factor), a, dtype)
        lower = np.tril(a) + np.triu(np.full(a.shape, 99), 1)
        close(linalg.cholesky(lower.astype(dtype), symmetrize_input=False), factor, dtype)


@each_dtype
@each_shape
def test_lu_factors(dtype, shape):
    with x64_for(dtype):
        a = draw(shape, dtype)
        factors, pivots, order = (np.asarray(x) for x in arrax.jit(linalg.lu)(a))
        k = min(shape[-2:])
        low = np.tril(factors[..., :k], -1) + np.eye(shape[-2], k)
        close(low @ np.triu(factors[..., :k, :]), np.take_along_axis(a, order[..., None], -2), dtype)
        assert pivots.shape == (*shape[:-2], k) and pivots.dtype == order.dtype == np.int32
        np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(pivots, shape[-2]), order)


@each_dtype
@each_shape
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("pivoting", [True, False])
def test_qr_factors(dtype, shape, full, pivoting):
    with x64_for(dtype):
        a = draw(shape, dtype)
        q, r, *order = arrax.jit(lambda x: linalg.qr(x, pivoting=pivoting, full_matrices=full))(a)
        expected = a if not pivoting else np.take_along_axis(a, np.asarray(order[0])[..., None, :], -1)
        close(np.asarray(q) @ np.asarray(r), expected, dtype)
        unit_columns(q, dtype)
        assert q.shape[-1] == (shape[-2] if full else min(shape[-2:])) and not np.tril(r, -1).any()
        if pivoting:
            assert (np.diff(np.abs(np.diagonal(r, axis1=-2, axis2=-1))) <= 1e-5).all()


@each_dtype
@each_shape
def test_reflections_give_q(dtype, shape):
    with x64_for(dtype):
        a = draw(shape, dtype)
        reflected, taus = linalg.geqrf(a)
        k = min(shape[-2:])
        q = np.asarray(linalg.householder_product(reflected[..., :k], taus))
        close(q, np.asarray(linalg.qr(a, full_matrices=False)[0]), dtype)
        c = draw((*shape[:-2], shape[-2], 2), dtype, 1)
        full = np.asarray(linalg.qr(a, full_matrices=True)[0])
        close(linalg.ormqr(reflected, taus, c), full @ c, dtype)
        close(linalg.ormqr(reflected, taus, c, transpose=True), adjoint(full) @ c, dtype)
        close(linalg.ormqr(reflected, taus, adjoint(c), left=False), adjoint(c) @ full, dtype)


@each_dtype
@each_shape
@pytest.mark.parametrize("full", [True, False])
def test_singular_values_and_vectors(dtype, shape, full):
    with x64_for(dtype):
        a = draw(shape, dtype)
        u, s, vh = linalg.svd(a, full_matrices=full)
        k = min(shape[-2:])
        close(np.asarray(u)[..., :k] * np.asarray(s)[..., None, :] @ np.asarray(vh)[..., :k, :], a, dtype)
        unit_columns(u, dtype)
        unit_columns(adjoint(np.asarray(vh)), dtype)
        close(s, np.linalg.svd(a, compute_uv=False), dtype)
        close(linalg.svd(a, compute_uv=False), s, dtype)
        assert s.dtype == np.dtype(dtype).type(0).real.dtype


def test_every_algorithm_and_subset_of_singular_values():
    a = draw((5, 3), "float32")
    s = np.linalg.svd(a, compute_uv=False)
    for algorithm in linalg.SvdAlgorithm:
        close(linalg.svd(a, algorithm=algorithm)[1], s, "float32")
    u, part, vh = linalg.svd(a, full_matrices=False, subset_by_index=(1, 3))
    assert u.shape == (5, 2) and vh.shape == (2, 3)
    close(part, s[1:3], "float32")
    with pytest.raises(ValueError, match="out of bounds for 3 singular values"):
        linalg.svd(a, full_matrices=False, subset_by_index=(2, 5))
    with pytest.raises(ValueError, match="cannot both be given"):
        linalg.svd(a, subset_by_index=(1, 2))


@each_dtype
@pytest.mark.parametrize("lower", [True, False])
def test_eigenvalues_of_hermitian_matrices(dtype, lower):
    with x64_for(dtype):
        a = draw((2, 3, 4, 4), dtype)
        triangle = np.tril(a) if lower else np.triu(a)
        diagonal = np.eye(4) * np.real(a)
        whole = np.where(np.eye(4) == 1, diagonal, triangle + adjoint(triangle))
        v, w = linalg.eigh(np.where(np.eye(4) == 1, diagonal, a).astype(dtype), lower=lower, symmetrize_input=False)
        close(np.asarray(v) * np.asarray(w)[..., None, :] @ adjoint(np.asarray(v)), whole, dtype)
        unit_columns(v, dtype)
        close(w, np.linalg.eigvalsh(whole), dtype)
        close(linalg.eigh(a)[1], np.linalg.eigvalsh((a + adjoint(a)) / 2), dtype)


def test_a_subset_of_eigenvalues():
    a = hermitian(draw((4, 4), "float32"))
    v, w = linalg.eigh(a, subset_by_index=(1, 3))
    assert v.shape == (4, 2)
    close(w, np.linalg.eigvalsh(a)[1:3], "float32")
    close(a @ np.asarray(v), np.asarray(v) * np.asarray(w), "float32")


@each_dtype
def test_eigenvalues_and_both_kinds_of_vectors(dtype):
    with x64_for(dtype):
        a = draw((2, 4, 4), dtype)
        w, left, right = (np.asarray(x) for x in linalg.eig(a))
        close(a @ right, right * w[..., None, :], dtype)
        close(adjoint(left) @ a, w[..., :, None] * adjoint(left), dtype)
        close(np.sort_complex(w), np.sort_complex(np.linalg.eigvals(a)), dtype)
        assert len(linalg.eig(a, compute_left_eigenvectors=False)) == 2
        assert len(linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)) == 1


@each_dtype
def test_schur_form(dtype):
    with x64_for(dtype):
        a = draw((2, 4, 4), dtype)
        t, z = (np.asarray(x) for x in linalg.schur(a))
        close(z @ t @ adjoint(z), a, dtype)
        assert not np.tril(t, -1 if t.dtype.kind == "c" else -2).any()
        close(linalg.schur(a, compute_schur_vectors=False)[0], t, dtype)


@each_dtype
def test_hessenberg_form(dtype):
    with x64_for(dtype):
        a = draw((2, 4, 4), dtype)
        form, taus = linalg.hessenberg(a)
        h = np.triu(form, -1)
        q = np.zeros((2, 4, 4), dtype)
        q[:, 0, 0] = 1
        q[:, 1:, 1:] = linalg.householder_product(form[:, 1:, :-1], taus)
        close(q @ h @ adjoint(q), a, dtype)
        close(h[0], scipy.linalg.hessenberg(a[0]), dtype)


@each_dtype
@pytest.mark.parametrize("lower", [True, False])
def test_tridiagonal_form_has_the_same_eigenvalues(dtype, lower):
    with x64_for(dtype):
        a = hermitian(draw((2, 4, 4), dtype))
        _, d, e, taus = linalg.tridiagonal(a, lower=lower)
        assert taus.shape == (2, 3)
        for k in range(2):
            w = scipy.linalg.eigvalsh_tridiagonal(np.asarray(d)[k], np.asarray(e)[k])
            close(w, np.linalg.eigvalsh(a[k]), dtype)


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("float32", (4, 4)), ("complex128", (4, 4)), ("float64", (5, 3)), ("complex64", (5, 3)), ("float32", (2, 5, 3)), ("complex64", (2, 5, 3))],
    ids=str,
)  # fmt: skip
def test_polar_factors(dtype, shape):
    with x64_for(dtype):
        a, rows = draw(shape, dtype), shape[-2] - 1
        (u, h, steps, converged), part = arrax.jit(lambda a: (linalg.qdwh(a), linalg.qdwh(a, dynamic_shape=(rows, 2))))(
            a
        )
        assert bool(converged) and 0 < int(steps) <= 10
        unit_columns(u, dtype)
        close(np.asarray(u) @ np.asarray(h), a, dtype, 1000)
        close(h, adjoint(np.asarray(h)), dtype)
        leading = a[..., :rows, :2]
        expected = [scipy.linalg.polar(matrix) for matrix in leading.reshape(-1, rows, 2)]
        for found, factors in zip(part[:2], zip(*expected, strict=True), strict=True):
            factor = np.stack(factors)
            found = np.asarray(found).reshape(-1, *np.shape(found)[-2:])[:, : factor.shape[1], :2]
            close(found, factor, dtype, 1000)


# ---- other operations ------------------------------------------------------------------------------------------------


@each_dtype
def test_update_of_cholesky_factors(dtype):
    if np.dtype(dtype).kind == "c":
        pytest.skip("real only")
    with x64_for(dtype):
        r, w = np.triu(draw((4, 4), dtype)), draw(4, dtype, 1)
        updated = np.asarray(linalg.cholesky_update(r, w))
        assert (np.tril(updated, -1) == 0).all()
        close(updated.T @ updated, r.T @ r + np.outer(w, w), dtype)
        batch = arrax.vmap(linalg.cholesky_update, (0, None))(np.stack([r, 2 * r]), w)
        close(batch[0], updated, dtype)


@each_dtype
def test_symmetric_products(dtype):
    with x64_for(dtype):
        a, c = draw((2, 3, 4), dtype), draw((2, 3, 3), dtype, 1)
        c = c + np.swapaxes(c, -1, -2)
        expected = 2 * a @ np.swapaxes(a, -1, -2) + 3 * c
        close(linalg.symmetric_product(a, c, alpha=2, beta=3), expected, dtype)
        close(linalg.symmetric_product(a, c, alpha=2, beta=3, symmetrize_output=True), expected, dtype)


def test_updates_and_symmetric_products_take_small_floats():
    a = np.float16([[1, 2], [3, 4]])
    product = linalg.symmetric_product(a, np.zeros_like(a), symmetrize_output=True)
    updated = linalg.cholesky_update(np.float16([[3, 0], [0, 1]]), np.float16([4, 0]))
    assert product.dtype == updated.dtype == np.float16
    assert product.tolist() == [[5, 11], [11, 25]] and updated.tolist() == [[5, 0], [0, 1]]


def test_pivots_to_permutation_exchanges_in_order():
    pivots = np.array([[1, 2, 2], [3, 1, 3]], np.int32)
    expected = []
    for row in pivots:
        order = list(range(4))
        for i, j in enumerate(row):
            order[i], order[j] = order[j], order[i]
        expected.append(order)
    np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(pivots, 4), expected)
    np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(pivots[1], 4), expected[1])
    np.testing.assert_array_equal(arrax.vmap(lambda p: linalg.lu_pivots_to_permutation(p, 4), 1)(pivots.T), expected)
    empty = np.zeros((3, 0), np.int32)  # of matrices without rows
    np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(empty, 2), [[0, 1]] * 3)
    np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(empty[0], 2), [0, 1])


# ---- batches, empty matrices, failures -------------------------------------------------------------------------------

# fmt: off
DECOMPOSITIONS = {  # name: (operation, whether matrices must be square)
    "cholesky":    (linalg.cholesky, True),
    "eig":         (linalg.eig, True),
    "eigh":        (linalg.eigh, True),
    "hessenberg":  (linalg.hessenberg, True),
    "lu":          (linalg.lu, False),
    "qr":          (linalg.qr, False),
    "qr pivoting": (lambda x: linalg.qr(x, pivoting=True), False),
    "schur":       (linalg.schur, True),
    "svd":         (linalg.svd, False),
    "tridiagonal": (linalg.tridiagonal, True),
}
# fmt: on
each_decomposition = pytest.mark.parametrize("name", DECOMPOSITIONS)


@each_decomposition
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_batches_agree_with_a_loop(name, dim):
    operation, square = DECOMPOSITIONS[name]
    batch = draw((3, 4, 4) if square else (3, 4, 5), "float32")
    batch = hermitian(batch) if square else batch
    outs = arrax.vmap(operation, dim)(np.moveaxis(batch, 0, dim))
    loop = [operation(x) for x in batch]
    for place, out in enumerate(outs if isinstance(outs, tuple | list) else [outs]):
        expected = [np.asarray(x[place] if isinstance(x, tuple | list) else x) for x in loop]
        np.testing.assert_allclose(out, np.stack(expected), rtol=1e-5, atol=1e-5)


@each_decomposition
@pytest.mark.parametrize("shape", EMPTY, ids=str)
def test_matrices_without_elements(name, shape):
    operation, square = DECOMPOSITIONS[name]
    if square and shape[-1] != shape[-2]:
        pytest.skip("square matrices only")
    if name in ("hessenberg", "tridiagonal") and shape[-1] == 0:
        with pytest.raises(ValueError, match="at least one row"):
            operation(np.zeros(shape, np.float32))
        return
    outs = operation(np.zeros(shape, np.float32))
    for out in outs if isinstance(outs, tuple | list) else [outs]:
        assert np.isfinite(np.asarray(out)).all()


@pytest.mark.parametrize("name", ["cholesky", "eig", "eigh", "schur", "svd"])
def test_failure_gives_nan_for_the_matrix_alone(name):
    operation, _ = DECOMPOSITIONS[name]
    good = np.eye(3, dtype=np.float32)
    outs = operation(np.stack([good, good * (-1 if name == "cholesky" else np.nan)]))
    for out in outs if isinstance(outs, tuple | list) else [outs]:
        out = np.asarray(out)
        assert np.isfinite(out[0]).all()
        assert np.isnan(np.tril(out[1]) if name == "cholesky" else out[1]).any()


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_matrices_with_infinities_have_no_singular_vectors(dtype):
    matrices = np.stack([np.eye(2), np.diag([np.inf, 1])]).astype(dtype)
    for out in linalg.svd(matrices):
        assert np.isfinite(np.asarray(out)[0]).all() and np.isnan(np.asarray(out)[1]).all()


@pytest.mark.parametrize(
    "f", [linalg.lu, linalg.hessenberg, linalg.schur, linalg.tridiagonal], ids=lambda f: f.__name__
)
def test_some_results_are_lists(f):
    assert type(f(np.eye(2, dtype=np.float32))) is list


@each_decomposition
def test_what_has_no_decomposition_is_refused(name):
    operation, square = DECOMPOSITIONS[name]
    with pytest.raises(TypeError, match="at least two axes"):
        operation(np.ones(3, np.float32))
    integers = () if name in ("cholesky", "eigh") else (np.int32,)
    for dtype in (*integers, np.float16, arrax.numpy.bfloat16):
        with pytest.raises(TypeError, match="requires float32, float64, complex64 or complex128, got"):
            operation(np.eye(3).astype(dtype))
    if square:
        with pytest.raises(ValueError, match=r"requires square matrices, got shape \(3, 2\)"):
            operation(np.ones((3, 2), np.float32))


def test_integers_that_are_symmetrized_are_floats_before():
    a = np.array([[100, 60], [60, 100]], np.int8)  # whose sum with itself has no room
    np.testing.assert_array_equal(linalg.cholesky(a), np.array([[10, 0], [6, 8]], np.float32))
    np.testing.assert_array_equal(linalg.eigh(a)[1], np.array([40, 160], np.float32))
    for operation in (linalg.cholesky, linalg.eigh):
        with pytest.raises(TypeError, match="got int8"):
            operation(a, symmetrize_input=False)


def test_large_matrices_are_symmetrized_without_overflow():
    a = np.diag(np.array([2.0**127, 1], np.float32))
    np.testing.assert_allclose(linalg.eigh(a)[1], [1, 2.0**127], rtol=1e-6)


@each_decomposition
def test_factors_are_weak_where_the_matrices_are(name):
    for matrix in (lax.full((3, 3), 1.0), np.ones((3, 3), np.float32)):
        types = arrax.make_jaxpr(DECOMPOSITIONS[name][0])(matrix).out_avals
        assert {aval.weak_type for aval in types if aval.dtype != np.int32} == {arrax.core.typeof(matrix).weak_type}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: linalg.householder_product(np.ones((3, 5)), np.ones(3)), ValueError, "m >= n"),
        (lambda: linalg.ormqr(np.ones((5, 3)), np.ones(3), np.ones((4, 4))), ValueError, "operands that fit"),
        (lambda: linalg.symmetric_product(np.ones((5, 3)), np.ones((4, 4))), ValueError, "requires matrices of shapes"),
        (lambda: linalg.lu_pivots_to_permutation(np.array([1.0]), 2), TypeError, "int32 vectors"),
        (lambda: linalg.lu_pivots_to_permutation(np.array([1, 2], np.int32), 1), ValueError, "below the number"),
        (lambda: linalg.qdwh(np.ones((2, 3), np.float32)), ValueError, "at least as many rows"),
        (lambda: linalg.schur(np.eye(2, dtype=np.float32), sort_eig_vals=True), NotImplementedError, "cannot sort"),
        (lambda: linalg.eigh(np.eye(2, dtype=np.float32), subset_by_index=(1, 3)), ValueError, "out of bounds"),
        (lambda: linalg.cholesky_update(np.eye(2, dtype=np.float32), np.ones(3, np.float32)), ValueError, "its length"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_every_primitive_stands_in_the_face():
    names = [name for name in dir(linalg) if name.endswith("_p")]
    assert len(names) >= 16 and all(getattr(linalg, name).type_rule is not None for name in names)
    assert lax.linalg is linalg


@pytest.mark.parametrize("size", [15, 16, 40, 300])
@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_permutations_of_many_pivots(size, batch):
    pivots = np.random.default_rng(size).integers(0, size, (*batch, size)).astype(np.int32)
    expected = np.empty((*batch, size + 2), np.int32)
    for place in np.ndindex(*batch):
        order = np.arange(size + 2)
        for i, j in enumerate(pivots[place]):
            order[[i, j]] = order[[j, i]]
        expected[place] = order
    np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(pivots, size + 2), expected)


def test_eigenvalues_alone_are_found_without_vectors():
    x = np.diag([3.0, 1.0, 2.0]).astype(np.float32)
    values = arrax.jit(lambda x: linalg.eigh(x)[1])
    text = values.lower(x).as_text()
    assert "mode = 78" in text and "mode = 86" not in text
    np.testing.assert_allclose(values(x), [1, 2, 3], rtol=1e-6)
    tangent = arrax.jit(lambda x, t: arrax.jvp(values, (x,), (t,))[1])(x, np.ones((3, 3), np.float32))
    np.testing.assert_allclose(tangent, np.ones(3), rtol=1e-6)
    np.testing.assert_allclose(arrax.vmap(values)(np.stack([x, 2 * x])), [[1, 2, 3], [2, 4, 6]], rtol=1e-6)


def test_what_is_no_algorithm_is_refused():
    x = np.eye(2, dtype=np.float32)
    for choose in (
        lambda: linalg.svd(x, algorithm="QR"),
        lambda: linalg.eigh(x, implementation="QR"),
        lambda: linalg.eig(x, implementation=1),
    ):
        with pytest.raises(TypeError, match=r"(algorithm|implementation) must be a member of \w+ or None, got"):
            choose()
