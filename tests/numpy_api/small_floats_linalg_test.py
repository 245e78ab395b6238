"""Linear algebra in 16-bit and 8-bit floats: what has no factorization works in them, the rest refuses them by name."""

import numpy as np
import pytest

import arrax.numpy as jnp

MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 2.0]])
DTYPES = ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
# fmt: off
BY_PRODUCTS = {
    "norm": jnp.linalg.norm, "vector_norm": jnp.linalg.vector_norm, "trace": jnp.linalg.trace, "diagonal": jnp.linalg.diagonal,
    "matrix_transpose": jnp.linalg.matrix_transpose, "matrix_power": lambda a: jnp.linalg.matrix_power(a, 2),
    "multi_dot": lambda a: jnp.linalg.multi_dot([a, a, a]), "matmul": lambda a: jnp.linalg.matmul(a, a),
    "outer": lambda a: jnp.linalg.outer(a[0], a[1]), "tensordot": lambda a: jnp.linalg.tensordot(a, a, axes=1),
    "vecdot": lambda a: jnp.linalg.vecdot(a, a), "cross": lambda a: jnp.linalg.cross(a[0], a[1]),
}
BY_FACTORS = {
    "cholesky": jnp.linalg.cholesky, "svd": jnp.linalg.svd, "svdvals": jnp.linalg.svdvals, "eigh": jnp.linalg.eigh,
    "eigvalsh": jnp.linalg.eigvalsh, "eig": jnp.linalg.eig, "eigvals": jnp.linalg.eigvals, "qr": jnp.linalg.qr,
    "inv": jnp.linalg.inv, "pinv": jnp.linalg.pinv, "slogdet": jnp.linalg.slogdet, "cond": jnp.linalg.cond,
    "matrix_rank": jnp.linalg.matrix_rank, "solve": lambda a: jnp.linalg.solve(a, a), "lstsq": lambda a: jnp.linalg.lstsq(a, a),
    "spectral norm": lambda a: jnp.linalg.norm(a, 2), "tensorsolve": lambda a: jnp.linalg.tensorsolve(a, a[0]),
    "tensorinv": lambda a: jnp.linalg.tensorinv(a, 1), "negative power": lambda a: jnp.linalg.matrix_power(a, -1),
}
# fmt: on


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BY_PRODUCTS)
def test_what_has_no_factorization_keeps_the_dtype(name, dtype):
    a = jnp.asarray(MATRIX).astype(dtype)
    found = BY_PRODUCTS[name](a)
    expected = np.asarray(BY_PRODUCTS[name](a.astype("float32")))
    assert found.dtype == a.dtype
    allowed = 4 * float(jnp.finfo(dtype).eps) * np.abs(expected).max()
    np.testing.assert_allclose(np.asarray(found).astype("float32"), expected, atol=allowed)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BY_FACTORS)
def test_factorizations_refuse_it_by_name(name, dtype):
    with pytest.raises(TypeError, match=f"requires float32, float64, complex64 or complex128, got {dtype}"):
        BY_FACTORS[name](jnp.asarray(MATRIX).astype(dtype))


@pytest.mark.parametrize("function", [jnp.linalg.inv, jnp.linalg.solve, jnp.linalg.slogdet, jnp.linalg.pinv])
def test_messages_name_the_function_that_was_called(function):
    matrices = [jnp.asarray(MATRIX).astype("bfloat16")] * (1 + (function is jnp.linalg.solve))
    with pytest.raises(TypeError, match=f"^{function.__name__}: "):
        function(*matrices)
