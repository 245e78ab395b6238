"""Matrix products: values, derivatives, batches, types, mistakes. (For any dimension numbers: dimension_numbers_test.)"""

import numpy as np
import pytest

import arrax
from arrax import lax
from tests.support import (
    COMPLEX,
    FLOATING,
    INTEGERS,
    bfloat16,
    check_batching,
    check_gradients,
    precision,
    wide,
    x64_for,
)

RNG = np.random.default_rng(0)
NUMBERS = (((2, 0), (1, 2)), ((3,), (0,)))  # x: contract 2 and 0, batch 3; y: contract 1 and 2, batch 0
X, Y = RNG.standard_normal((2, 3, 4, 5)), RNG.standard_normal((5, 4, 2, 6))


def product(x, y):
    return lax.dot_general(x, y, NUMBERS)


@pytest.mark.parametrize("dtype", [*FLOATING, *COMPLEX, *INTEGERS], ids=str)
def test_values_are_those_of_numpy(dtype):
    x, y = (np.round(v * 2).astype(dtype) if dtype.kind != "u" else np.round(np.abs(v)).astype(dtype) for v in (X, Y))
    with x64_for(dtype):
        out = product(x, y)
        assert out.dtype == dtype and out.shape == (5, 3, 6)
        expected = np.einsum("abcd,dcae->dbe", wide(x), wide(y))
        np.testing.assert_allclose(
            wide(out),
            expected.astype(out.dtype).astype(expected.dtype),
            rtol=8 * precision(dtype),
            atol=8 * precision(dtype),
        )


@pytest.mark.parametrize(
    ("operands", "result"),
    [("bfloat16", "float32"), ("float16", "float32"), ("int8", "int32"), ("float32", "int32"), ("float32", "bfloat16"),
     ("complex64", "float32"), ("float8_e4m3fn", "float32"), ("float8_e5m2", "bfloat16"), ("int4", "int8"), ("bool", "int32")],
)  # fmt: skip
def test_the_preferred_type_is_accumulated_and_returned(operands, result):
    import ml_dtypes

    dtype = np.dtype(getattr(ml_dtypes, operands, operands))
    preferred = np.dtype(getattr(ml_dtypes, result, result))
    x = np.round(RNG.uniform(0, 1.4, (3, 40))).astype(dtype)
    out = lax.dot(x, x.T.copy(), preferred_element_type=preferred)
    assert out.dtype == preferred
    expected = x.astype(np.complex64) @ x.T.astype(np.complex64)
    np.testing.assert_array_equal(
        np.asarray(out).astype(np.complex64), expected.real.astype(preferred).astype(np.complex64)
    )


def test_derivatives_agree_with_differences():
    check_gradients(product, [X, Y], order=2)
    check_gradients(lambda x: product(x, lax.transpose(x, (3, 2, 0, 1))), [X])
    check_gradients(lambda x, y: lax.dot(x, y, preferred_element_type=np.float64), [X[0, 0].T, Y[0, :, 0]])


def test_derivatives_of_narrow_operands_have_their_types():
    x, y = np.ones((2, 3), bfloat16), np.ones((3, 2), bfloat16)
    f = lambda x, y: lax.dot(x, y, preferred_element_type=np.float32).sum()  # noqa: E731
    gx, gy = arrax.grad(f, (0, 1))(x, y)
    assert gx.dtype == gy.dtype == bfloat16
    np.testing.assert_array_equal(wide(gx), 2 * np.ones((2, 3)))


def test_batches_agree_with_loops():
    check_batching(product, [X.astype(np.float32), Y.astype(np.float32)], 1e-5, 1e-5)
    both = arrax.vmap(product, (2, 4), 1)(np.stack([X, 2 * X], 2), np.stack([Y, Y], 4))
    np.testing.assert_allclose(np.asarray(both)[:, 1], np.asarray(product(2 * X, Y)), rtol=1e-4, atol=1e-5)


def test_forms_for_vectors_and_matrices():
    a, v = X[0, 0].astype(np.float32), X[0, 0, 0].astype(np.float32)
    np.testing.assert_allclose(lax.dot(a, v), a @ v, rtol=1e-5)
    np.testing.assert_allclose(lax.dot(v, v), v @ v, rtol=1e-5)
    np.testing.assert_allclose(lax.batch_matmul(X, X.swapaxes(2, 3)), X @ X.swapaxes(2, 3), rtol=1e-4)
    assert lax.dot(a, a, dimension_numbers=(((0,), (0,)), ((), ()))).shape == (5, 5)
    assert lax.dot(np.zeros((0, 3), np.float32), np.zeros((3, 2), np.float32)).shape == (0, 2)
    np.testing.assert_array_equal(lax.dot(np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)), np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lax.dot_general(X, Y, (((0,), (0, 1)), ((), ()))),
            "equal numbers of lhs_contracting and rhs_contracting",
        ),
        (lambda: lax.dot_general(X, Y, (((4,), (0,)), ((), ()))), "contracting dimensions to be nonnegative and less"),
        (lambda: lax.dot_general(X, Y, (((0,), (0,)), ((), ()))), r"same shape, got \(2,\) and \(5,\)"),
        (lambda: lax.dot_general(X, Y, (((3,), (0,)), ((3,), (0,)))), "disjoint"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_unknown_precisions_and_ranks_are_refused():
    with pytest.raises(ValueError, match="Invalid precision 'most'"):
        lax.dot(X[0, 0].T, Y[0, :, 0], precision="most")
    with pytest.raises(ValueError, match="equal ranks"):
        lax.batch_matmul(X, X[0])
    with pytest.raises(ValueError, match="needs dimension_numbers"):
        lax.dot(X, X)
    with pytest.raises(ValueError, match=r"Incompatible shapes for dot: got \(4, 5\) and \(4, 5\)"):
        lax.dot(X[0, 0], X[0, 0])


@pytest.mark.parametrize(
    ("own", "wanted"),
    [("int32", "int8"), ("int32", "float16"), ("int8", "int4"), ("complex64", "float16"), ("complex64", "bool")],
)
def test_sums_are_not_kept_in_narrower_types(own, wanted):
    x = lax.full((2, 2), 1, own)
    with pytest.raises(TypeError, match=f"preferred_element_type {wanted} cannot hold .* of {own}"):
        lax.dot_general(x, x, (((1,), (0,)), ((), ())), preferred_element_type=wanted)
    assert lax.dot_general(x, x, (((1,), (0,)), ((), ())), preferred_element_type=np.float32).dtype == np.float32


def test_operands_of_two_dtypes_give_the_promoted_one():
    x, y = np.array([[1, 0, 1], [1, 1, 0]]), np.array([[1, 0], [1, 1], [0, 1]])
    names = ["int8", "uint8", "int32", "bfloat16", "float16", "float32", "complex64", "bool"]
    pairs = [(a, b) for a in names for b in names if a != b]
    cases = [(arrax.numpy.asarray(x, a), arrax.numpy.asarray(y, b)) for a, b in pairs]
    results = arrax.jit(lambda cases: [lax.dot(a, b) for a, b in cases])(cases)
    for (a, b), result in zip(pairs, results, strict=True):
        assert result.dtype == arrax.numpy.promote_types(a, b), (a, b)
        np.testing.assert_array_equal(np.asarray(result).astype(np.complex64), x @ y, err_msg=f"{a} {b}")
    gradients = arrax.jit(
        lambda cases: [arrax.grad(lambda a, b: lax.dot(a, b).real.astype("float32").sum())(a, b) for a, b in cases]
    )([(a, b) for a, b in cases if arrax.numpy.issubdtype(a.dtype, np.inexact)])
    for gradient, (a, _) in zip(
        gradients, [c for c in cases if arrax.numpy.issubdtype(c[0].dtype, np.inexact)], strict=True
    ):
        assert gradient.dtype == a.dtype
        np.testing.assert_array_equal(np.asarray(gradient).astype(np.complex64), np.ones((2, 2)) @ y.T)


@pytest.mark.parametrize(
    ("dtype", "wanted"), [("int8", "int32"), ("uint8", "int32"), ("int16", "int32"), ("int8", "int16")]
)
def test_small_integers_go_into_wider_products_as_they_are(dtype, wanted):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    x, y = (rng.integers(limits.min, limits.max, shape, dtype, endpoint=True) for shape in ((3, 65, 40), (3, 40, 33)))
    x[0], y[0] = limits.min or limits.max, limits.min or limits.max

    def product(x, y):
        return lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,))), preferred_element_type=wanted)

    assert "convert" not in arrax.jit(product).lower(x, y).as_text()
    expected = np.matmul(x.astype(np.int64), y.astype(np.int64)).astype(wanted)  # wraps around
    for call in (
        product,
        arrax.jit(product),
        arrax.vmap(arrax.jit(lambda x, y: lax.dot(x, y, preferred_element_type=wanted))),
    ):
        np.testing.assert_array_equal(call(x, y), expected)


def test_a_precision_is_written_by_its_name():
    assert [str(precision) for precision in lax.Precision] == ["DEFAULT", "HIGH", "HIGHEST"]
    assert repr(lax.Precision.HIGH) == "Precision.HIGH"
    named = [lax.Precision(name) for name in ("default", "fastest", "tensorfloat32", "highest", "float32", 1, None)]
    assert [precision.value for precision in named] == [0, 0, 1, 2, 2, 1, 0]
    with pytest.raises(ValueError, match="'exact' is not a valid Precision"):
        lax.Precision("exact")


def test_named_algorithms_tell_their_types():
    split, fast = lax.DotAlgorithmPreset.BF16_BF16_F32_X3, lax.DotAlgorithmPreset.ANY_F8_ANY_F8_F32_FAST_ACCUM
    assert (split.accumulation_type, split.supported_lhs_types) == (np.float32, (np.float32,))
    assert (fast.accumulation_type, fast.supported_rhs_types) == (np.float32, None)
    assert lax.DotAlgorithmPreset.DEFAULT.accumulation_type is None
