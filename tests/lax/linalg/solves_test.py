"""Systems with triangular and tridiagonal matrices: values, batches, mistakes."""

import itertools

import numpy as np
import pytest

import arrax
from arrax.lax import linalg
from tests.lax.linalg.decompositions_test import DTYPES, close, draw
from tests.support import check_batching, x64_for

each_dtype = pytest.mark.parametrize("dtype", DTYPES)
FLAGS = ["left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"]
CHOICES = [dict(zip(FLAGS, flags, strict=True)) for flags in itertools.product([False, True], repeat=5)]


def meant(a, lower, transpose_a, conjugate_a, unit_diagonal, left_side):
    """The matrix that the flags stand for."""
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = a * (1 - np.eye(a.shape[-1])) + np.eye(a.shape[-1])
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    return np.conj(a) if conjugate_a else a


@each_dtype
def test_every_kind_of_triangular_system(dtype):
    with x64_for(dtype):
        a = draw((2, 3, 3), dtype) / 2 + 2 * np.eye(3, dtype=dtype)
        left, right = draw((2, 3, 4), dtype, 1), draw((2, 4, 3), dtype, 1)
        outs = arrax.jit(
            lambda a: [linalg.triangular_solve(a, left if c["left_side"] else right, **c) for c in CHOICES]
        )(a)
        for choice, x in zip(CHOICES, outs, strict=True):
            m = meant(a, **choice)
            close(m @ x if choice["left_side"] else x @ m, left if choice["left_side"] else right, dtype)


@pytest.mark.parametrize("dtype", [np.float16, arrax.numpy.bfloat16], ids=["float16", "bfloat16"])
def test_triangular_systems_of_small_floats(dtype):
    a, b = (2 * np.eye(3)).astype(dtype), np.ones((3, 2), dtype)
    x = linalg.triangular_solve(a, b, left_side=True)
    assert x.dtype == dtype
    np.testing.assert_array_equal(np.asarray(x, np.float32), 0.5)


def test_the_right_side_may_be_a_vector():
    a, b = np.tril(draw((3, 3), "float32")) + 3 * np.eye(3, dtype=np.float32), draw(3, "float32", 1)
    close(a @ np.asarray(linalg.triangular_solve(a, b, left_side=True, lower=True)), b, "float32")
    close(np.asarray(linalg.triangular_solve(a, b, lower=True)) @ a, b, "float32")


def test_a_singular_matrix_gives_infinities_or_nan():
    x = np.asarray(linalg.triangular_solve(np.zeros((2, 2), np.float32), np.ones((2, 2), np.float32)))
    assert not np.isfinite(x).any()


@pytest.mark.parametrize("left_side", [True, False])
def test_batches_of_triangular_systems_agree_with_a_loop(left_side):
    a, b = draw((3, 3), "float32"), draw((3, 2) if left_side else (2, 3), "float32", 1)

    def solve(a, b):
        a = a / 4 + 3 * np.eye(3, dtype=np.float32)
        return linalg.triangular_solve(a, b, left_side=left_side, lower=True)

    check_batching(solve, (a, b), rtol=1e-5, atol=1e-5)
    middle = arrax.vmap(solve, (1, 1), 1)(np.stack([a, 2 * a], 1), np.stack([b, b], 1))
    close(np.asarray(middle)[:, 1], np.asarray(solve(2 * a, b)), "float32")


def dense(dl, d, du):
    return np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)


@each_dtype
@pytest.mark.parametrize("size", [1, 2, 5])
def test_tridiagonal_systems(dtype, size):
    with x64_for(dtype):
        dl, d, du = (draw((2, size), dtype, seed) for seed in range(3))
        d, b = d + 4, draw((2, size, 3), dtype, 3)
        for perturb in (False, True):
            x = np.asarray(linalg.tridiagonal_solve(dl, d, du, b, perturb_singular=perturb))
            for k in range(2):
                close(dense(dl[k], d[k], du[k]) @ x[k], b[k], dtype)


def test_a_singular_tridiagonal_matrix_gives_nan():
    zeros, b = np.zeros(3, np.float32), np.ones((3, 1), np.float32)
    assert np.isnan(np.asarray(linalg.tridiagonal_solve(zeros, zeros, zeros, b))).all()


def test_batches_of_tridiagonal_systems_agree_with_a_loop():
    dl, d, du = (draw(4, "float32", seed) for seed in range(3))
    b = draw((4, 2), "float32", 3)
    check_batching(lambda dl, d, du, b: linalg.tridiagonal_solve(dl, d / 4 + 4, du, b), (dl, d, du, b), 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a, b: linalg.triangular_solve(a[:2], b), ValueError, "square matrices"),
        (lambda a, b: linalg.triangular_solve(a, b[:2], left_side=True), ValueError, "Incompatible shapes"),
        (lambda a, b: linalg.triangular_solve(a[None], np.stack([b, b])), ValueError, "equal leading axes"),
        (lambda a, b: linalg.triangular_solve(a, b.astype(np.float16)), TypeError, "float32 and float16"),
        (lambda a, b: linalg.triangular_solve(a.astype(np.int32), b.astype(np.int32)), TypeError, "got int32"),
        (lambda a, b: linalg.tridiagonal_solve(a[0], a[0, :2], a[0], b), TypeError, r"got d of type float32\[2\]"),
        (lambda a, b: linalg.tridiagonal_solve(a[0], a[0], a[0], b.astype(np.int32)), TypeError, "got int32"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(np.eye(3, dtype=np.float32), np.ones((3, 3), np.float32))
