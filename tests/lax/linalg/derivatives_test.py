"""Derivatives of decompositions and solves, first and second, against differences; complex ones by real and imaginary parts."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.lax import linalg
from tests.support import check_gradients

RNG = np.random.default_rng(3)


def as_tuple(outs):
    return tuple(outs) if isinstance(outs, tuple | list) else (outs,)


def floats_of(f):
    """``f`` with real and imaginary parts of floating results apart; integers are left out."""

    def parts(*args):
        outs = [out for out in as_tuple(f(*args)) if jnp.issubdtype(out.dtype, np.inexact)]
        return [part for out in outs for part in ((out.real, out.imag) if jnp.iscomplexobj(out) else (out,))]

    return parts


def on_complex(f):
    """``f`` as a function of real and imaginary parts."""
    return lambda *args: floats_of(f)(*(lax.complex(re, im) for re, im in zip(args[::2], args[1::2], strict=True)))


def real(*shape):
    return RNG.standard_normal(shape)


def positive(x):
    return x @ jnp.conj(x.mT) + 3 * jnp.eye(x.shape[-1])


def lower(x):
    return jnp.tril(x) + 3 * jnp.eye(x.shape[-1])


def projectors(v, w):
    """What eigenvectors say whatever their phases are."""
    return (v * jnp.cos(w)[..., None, :]) @ jnp.conj(v.mT)


def eigenvector_lines(a):
    """Right eigenvectors scaled to have a first entry of 1, in the order of their values."""
    w, v = linalg.eig(a, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    return w, v / v[..., :1, :]


def svd_combined(a):
    u, s, vh = linalg.svd(a, full_matrices=False)
    return s, (u * jnp.sin(s)[..., None, :]) @ vh, (u * jnp.cos(s)[..., None, :]) @ jnp.conj(u.mT)


def tridiagonal(dl, d, du, b):
    return linalg.tridiagonal_solve(dl, d + 4, du, b)


def triangular(**options):
    return lambda a, b: linalg.triangular_solve(lower(a) if options.get("lower") else lower(a).mT, b, **options)


# fmt: off
OPERATIONS = {  # name: (function, shapes of the operands)
    "cholesky":        (lambda a: linalg.cholesky(positive(a)), [(2, 3, 3)]),
    "cholesky lower":  (lambda a: linalg.cholesky(positive(a), symmetrize_input=False), [(3, 3)]),
    "lu":              (linalg.lu, [(2, 3, 3)]),
    "lu tall":         (linalg.lu, [(4, 2)]),
    "lu wide":         (linalg.lu, [(2, 4)]),
    "qr":              (linalg.qr, [(2, 3, 3)]),
    "qr tall":         (lambda a: linalg.qr(a, full_matrices=False), [(4, 2)]),
    "qr wide":         (linalg.qr, [(2, 4)]),
    "qr completed":    (linalg.qr, [(4, 2)]),
    "qr pivoting":     (lambda a: linalg.qr(a, pivoting=True, full_matrices=False), [(4, 3)]),
    "eigh":            (lambda a: projectors(*linalg.eigh(a)), [(2, 3, 3)]),
    "eigh values":     (lambda a: linalg.eigh(a)[1], [(3, 3)]),
    "eig values":      (lambda a: linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False), [(3, 3)]),
    "eig vectors":     (eigenvector_lines, [(2, 3, 3)]),
    "svd":             (svd_combined, [(2, 3, 3)]),
    "svd tall":        (svd_combined, [(4, 2)]),
    "svd wide":        (svd_combined, [(2, 4)]),
    "svd values":      (lambda a: linalg.svd(a, compute_uv=False), [(2, 3, 4)]),
    "solve lower":     (triangular(left_side=True, lower=True), [(2, 3, 3), (2, 3, 2)]),
    "solve upper":     (triangular(), [(3, 3), (2, 3)]),
    "solve transposed": (triangular(left_side=True, transpose_a=True, unit_diagonal=True), [(3, 3), (3, 2)]),
    "solve adjoint":   (triangular(lower=True, transpose_a=True, conjugate_a=True), [(3, 3), (2, 3)]),
    "solve conjugate": (triangular(left_side=True, lower=True, conjugate_a=True), [(3, 3), (3, 2)]),
    "tridiagonal":     (tridiagonal, [(2, 4), (2, 4), (2, 4), (2, 4, 3)]),
    "symmetric_product": (lambda a, c: linalg.symmetric_product(a, c, alpha=2, beta=3), [(3, 2), (3, 3)]),
    "cholesky_update": (lambda r, w: linalg.cholesky_update(lower(r).mT, w), [(3, 3), (3,)]),
}
# fmt: on
FIRST_ONLY = {  # whose second derivatives are those of another shape, or of a part of another result
    "lu tall",
    "qr tall",
    "svd",
    "svd wide",
    "eigh values",
    "svd values",
    "solve upper",
    "solve adjoint",
}  # fmt: skip
each_operation = pytest.mark.parametrize("name", OPERATIONS)


@each_operation
def test_real_derivatives(name):
    f, shapes = OPERATIONS[name]
    order = 1 if name in FIRST_ONLY else 2
    check_gradients(floats_of(f), [real(*shape) for shape in shapes], order=order, rtol=2e-4, atol=1e-5)


@each_operation
def test_complex_derivatives(name):
    f, shapes = OPERATIONS[name]
    if name == "cholesky_update":
        pytest.skip("real only")
    arguments = [real(*shape) for shape in shapes for _ in range(2)]
    check_gradients(on_complex(f), arguments, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda a: linalg.svd(a, full_matrices=True), (4, 2)),
        (lambda a: linalg.eig(a), (3, 3)),
        (lambda a: linalg.eig(a, compute_left_eigenvectors=False), (3, 3)),
    ],
    ids=["svd", "eig", "eig right"],
)
def test_derivatives_that_are_not_defined_are_refused(f, shape):
    with pytest.raises(NotImplementedError, match="derivative"):
        arrax.jvp(f, (real(*shape).astype(np.float32),), (np.ones(shape, np.float32),))


def test_derivatives_of_singular_values_are_finite_where_vectors_have_none():
    a = np.zeros((3, 3), np.float32)
    for f in (lambda a: linalg.svd(a, compute_uv=False).sum(), lambda a: linalg.eigh(a)[1].sum()):
        assert np.isfinite(np.asarray(arrax.grad(f)(a))).all()


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_eigenvectors_move_as_the_library_normalizes_them(dtype):
    rng = np.random.default_rng(1)
    a, da = (
        rng.normal(size=(2, 4, 4)) + (1j * rng.normal(size=(2, 4, 4)) if dtype == np.complex128 else 0) for _ in "ab"
    )
    with arrax.enable_x64(True):

        def f(a):
            return lax.linalg.eig(a, enable_eigvec_derivs=True)

        tangents, h = arrax.jvp(f, (a,), (da,))[1], 1e-6
        for tangent, after, before in zip(tangents, f(a + h * da), f(a - h * da), strict=True):
            np.testing.assert_allclose(tangent, (after - before) / (2 * h), atol=1e-7)
        left_only = arrax.jvp(
            lambda a: lax.linalg.eig(a, compute_right_eigenvectors=False, enable_eigvec_derivs=True)[1], (a,), (da,)
        )[1]
        np.testing.assert_allclose(left_only, tangents[1], atol=1e-9)
