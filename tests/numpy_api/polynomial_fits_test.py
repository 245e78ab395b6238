"""``polyfit`` and ``roots`` against NumPy."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.support import check_gradients

X = np.arange(6.0)
Y = X**2 + X * [1, -1, 1, 1, -1, 1]
BOTH = np.stack([Y, 2 * Y + X], 1)
WEIGHTS = np.arange(1.0, 7)
# fmt: off
OPTIONS = [{}, {"full": True}, {"cov": True}, {"cov": "unscaled"}, {"w": WEIGHTS}, {"w": WEIGHTS, "cov": True},
           {"w": WEIGHTS, "full": True}, {"rcond": 0.1, "full": True}]
# fmt: on


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options)) or "plain")
@pytest.mark.parametrize("y", [Y, BOTH], ids=["one", "two"])
@pytest.mark.filterwarnings("ignore")
def test_polyfit_is_that_of_numpy(y, options):
    with arrax.enable_x64():
        outs, expected = (f(X, y, 2, **options) for f in (jnp.polyfit, np.polyfit))
        several = isinstance(expected, tuple)
        for out, wanted in zip(outs if several else [outs], expected if several else [expected], strict=True):
            if np.size(wanted) or np.size(out) == 0:
                np.testing.assert_allclose(out, wanted, rtol=1e-9, atol=1e-9)


def test_polyfit_of_integers_is_in_floats():
    fitted = jnp.polyfit(np.arange(4), np.arange(4) * 3 + 1, 1)
    assert fitted.dtype == np.float32
    np.testing.assert_allclose(fitted, [3, 1], rtol=1e-5)


def test_polyfit_of_complex_numbers_has_the_least_distances():
    x, y = np.array([1, 1j, 0, 2]), np.array([1, 2j, 3, 1 - 1j])
    table = np.vander(x, 2)
    wanted, rests, *_ = np.linalg.lstsq(table, y)
    with arrax.enable_x64():
        found, distances, *_ = jnp.polyfit(x, y, 1, full=True)
        covariances = jnp.polyfit(x, y, 1, cov="unscaled")[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(distances, rests, rtol=1e-12)
    np.testing.assert_allclose(covariances, np.linalg.inv(table.T.conj() @ table), rtol=1e-12, atol=1e-15)


def test_polyfit_has_derivatives_and_batches():
    check_gradients(lambda y: jnp.polyfit(X, y, 2), [Y])
    batch = arrax.vmap(lambda y: jnp.polyfit(X, y, 2), 1)(BOTH)
    np.testing.assert_allclose(batch, np.polyfit(X, BOTH, 2).T, rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jnp.polyfit(X, Y[:3], 2), TypeError, "same length"),
        (lambda: jnp.polyfit(X, Y, -1), ValueError, "deg >= 0"),
        (lambda: jnp.polyfit(X, Y, 2, w=X[:3]), TypeError, "shape of x"),
        (lambda: jnp.polyfit(X[None], Y, 2), TypeError, "1D vector"),
        (lambda: jnp.polyfit(X[:2], Y[:2], 2, cov=True), ValueError, "must exceed"),
        (lambda: jnp.roots(jnp.ones((2, 2))), ValueError, "rank-1"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "p", [[1, -3, 2], [0, 0, 1, -3, 2, 0, 0], [0, 0], [1.0], [], [2.0, 1], [1j, 2], [0, 0, 3, 0]], ids=str
)
def test_roots_are_those_of_numpy(p):
    found = np.asarray(jnp.roots(jnp.array(p)))
    assert np.iscomplexobj(found)
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(np.roots(p)), rtol=1e-5, atol=1e-6)


def test_roots_of_traced_coefficients_keep_their_zeros():
    find = arrax.jit(lambda p: jnp.roots(p, strip_zeros=False))
    np.testing.assert_allclose(np.sort_complex(find(jnp.array([1.0, -3, 2]))), [1, 2], rtol=1e-5)
    found = np.asarray(find(jnp.array([0.0, 0, 1, -3, 2])))  # zeros in front: fewer roots, then NaN
    np.testing.assert_allclose(np.sort_complex(found[:2]), [1, 2], rtol=1e-5)
    assert np.isnan(found[2:]).all()
    with pytest.raises(arrax.errors.ConcretizationTypeError):
        arrax.jit(jnp.roots)(jnp.array([1.0, -3, 2]))
