"""Products of other kinds: upper halves, wider results, algorithms, scales, groups of rows, named axes."""

import itertools

import numpy as np
import pytest

import arrax
from arrax import lax
from tests.support import check_batching, check_gradients

RNG = np.random.default_rng(0)


# ---- products of integers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_mulhi_is_the_upper_half_of_the_product(dtype):
    info = np.iinfo(dtype)
    x, y = RNG.integers(info.min, info.max, (2, 40), dtype=dtype, endpoint=True)
    with arrax.enable_x64(dtype.endswith("64")):
        actual = [int(value) for value in np.asarray(lax.mulhi(x, y))]
        assert actual == [int(a) * int(b) >> info.bits for a, b in zip(x, y, strict=True)]
        assert int(lax.mulhi(x[0], y)[3]) == int(x[0]) * int(y[3]) >> info.bits


def test_mulhi_takes_integers_only():
    with pytest.raises(TypeError, match="mulhi does not accept dtype float32"):
        lax.mulhi(np.float32(1), np.float32(1))


def test_a_product_may_have_another_dtype():
    assert int(lax.mul(np.int8(100), np.int8(3), out_dtype=np.int32)) == 300
    assert int(lax.mul(-1, np.int8(3), out_dtype=np.int32)) == -3  # of several dtypes, converted before
    printed = str(arrax.make_jaxpr(lambda x: lax.mul(x, x, out_dtype=np.int32))(np.int8(1)))
    assert "i32[] = mul[out_dtype=int32] a a" in printed
    gradient = arrax.grad(lambda x: lax.mul(x, x, out_dtype=arrax.numpy.bfloat16).astype(np.float32))(np.float32(3))
    assert gradient.dtype == np.float32 and float(gradient) == 6


@pytest.mark.parametrize("operation", ["eq_to", "lt_to", "le_to"])
def test_the_total_order_of_floats(operation):
    primitive = getattr(lax, f"{operation}_p")
    ascending = np.array([-np.nan, -np.inf, -1, -0.0, 0.0, 2, np.inf, np.nan], np.float32)
    places = np.arange(len(ascending))
    compare = {"eq_to": np.equal, "lt_to": np.less, "le_to": np.less_equal}[operation]
    x, y = (np.repeat(ascending, 8), np.tile(ascending, 8))
    expected = compare(np.repeat(places, 8), np.tile(places, 8))
    np.testing.assert_array_equal(primitive.bind(x, y), expected)
    np.testing.assert_array_equal(primitive.bind(places, places[::-1].copy()), compare(places, places[::-1]))


# ---- precision and scales --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["DEFAULT", "F32_F32_F32", "BF16_BF16_F32", "BF16_BF16_F32_X3", "F64_F64_F64"])
def test_algorithms_that_the_processor_has(algorithm):
    x = RNG.standard_normal((4, 4)).astype(np.float32)
    for precision in (algorithm, lax.DotAlgorithmPreset[algorithm]):
        np.testing.assert_allclose(lax.dot(x, x, precision), x @ x, rtol=0.05, atol=0.05)
    if algorithm != "DEFAULT":
        assert "algorithm" in arrax.jit(lambda x: lax.dot(x, x, precision=algorithm)).lower(x).as_text()


def test_algorithms_that_the_processor_lacks_are_refused():
    with pytest.raises(ValueError, match="TF32_TF32_F32 is not supported by dot_general on CPU"):
        lax.dot(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32), precision="TF32_TF32_F32")


def test_an_algorithm_may_be_given_by_its_types():
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(lax.dot(x, x, lax.DotAlgorithm(np.float32, np.float32, np.float32)), 2 * x)


def test_scaled_dot_multiplies_blocks_by_their_scales():
    x, y = RNG.standard_normal((2, 64)).astype(np.float32), RNG.standard_normal((64, 3)).astype(np.float32)
    s, t = 2.0 ** RNG.integers(-2, 3, (2, 2)), 2.0 ** RNG.integers(-2, 3, (4, 1))
    expected = (x * np.repeat(s, 32, 1)) @ (y * np.repeat(t, 16, 0))
    out = lax.scaled_dot(
        x, y, lhs_scale=s.astype(np.float32), rhs_scale=t.astype(np.float32), preferred_element_type=np.float32
    )
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    assert lax.scaled_dot(x, y).dtype == arrax.numpy.bfloat16
    with pytest.raises(TypeError, match="lhs_scale must divide"):
        lax.scaled_dot(x, y, lhs_scale=np.ones((2, 5), np.float32))


# ---- groups of rows --------------------------------------------------------------------------------------------------

ROWS, MATRICES = RNG.standard_normal((7, 3)), RNG.standard_normal((3, 3, 4))
SIZES = np.array([2, 0, 3], np.int32)
SUMMED = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])


def by_groups(rows, matrices, sizes):
    out, start = np.zeros((len(rows), matrices.shape[2])), 0
    for matrix, size in zip(matrices, sizes, strict=True):
        out[start : start + size] = rows[start : start + size] @ matrix
        start += size
    return out


def summed_by_groups(x, y, sizes):
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    return np.stack([x[a:b].T @ y[a:b] for a, b in itertools.pairwise(bounds)])


def test_ragged_dot_multiplies_groups_of_rows():
    with arrax.enable_x64():
        np.testing.assert_allclose(lax.ragged_dot(ROWS, MATRICES, SIZES), by_groups(ROWS, MATRICES, SIZES))
        last = lax.ragged_dot(ROWS, MATRICES[1:], SIZES, group_offset=np.array([1]))
        np.testing.assert_allclose(last, by_groups(ROWS, MATRICES * [[[0]], [[1]], [[1]]], SIZES))


def test_a_ragged_contraction_sums_each_group():
    with arrax.enable_x64():
        y = RNG.standard_normal((7, 2))
        actual = lax.ragged_dot_general(ROWS, y, SIZES, SUMMED)
        np.testing.assert_allclose(actual, summed_by_groups(ROWS, y, SIZES), atol=1e-15)


def test_groups_may_differ_along_batch_axes():
    x, y = RNG.standard_normal((5, 3, 7)), RNG.standard_normal((3, 4, 5, 3))
    sizes = np.array([[2, 0, 3], [1, 1, 1], [0, 0, 7], [7, 0, 0], [3, 3, 1]])
    numbers = lax.RaggedDotDimensionNumbers((((1,), (0,)), ((0,), (2,))), [2], [3])

    def product(x, y):
        return lax.ragged_dot_general(x, y, sizes, numbers)

    with arrax.enable_x64():
        expected = [by_groups(x[i].T, np.moveaxis(y[:, :, i], 2, 0), sizes[i]) for i in range(5)]
        np.testing.assert_allclose(product(x, y), np.stack(expected))
    check_gradients(product, (x, y))


@pytest.mark.parametrize("offset", [None, np.array([1])], ids=["all", "offset"])
def test_derivatives_of_ragged_products(offset):
    matrices = MATRICES if offset is None else MATRICES[1:]
    check_gradients(lambda x, y: lax.ragged_dot(x, y, SIZES, group_offset=offset), (ROWS, matrices), order=2)
    check_gradients(lambda x, y: lax.ragged_dot_general(x, y, SIZES, SUMMED), (ROWS, ROWS[:, :2]), order=2)


def test_batches_of_ragged_products_agree_with_a_loop():
    check_batching(lax.ragged_dot, (ROWS, MATRICES, SIZES), rtol=1e-4, atol=1e-4)
    check_batching(lambda x, y, s: lax.ragged_dot_general(x, y, s, SUMMED), (ROWS, ROWS[:, :2], SIZES), 1e-4, 1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ROWS, MATRICES, SIZES.astype(np.float32)), "integer group_sizes"),
        ((ROWS, MATRICES, SIZES[:2]), "as many parts of rhs as groups, got 3 and 2"),
        ((ROWS, MATRICES[:, :2], SIZES), r"same shape, got \(3,\) and \(2,\)"),
    ],
)
def test_mistakes_in_ragged_products_are_named(arguments, message):
    with pytest.raises(TypeError, match=message):
        lax.ragged_dot(*arguments)


# ---- named axes ------------------------------------------------------------------------------------------------------

X, Y = RNG.standard_normal((3, 4, 5)).astype(np.float32), RNG.standard_normal((3, 5, 2)).astype(np.float32)


def test_pdot_contracts_a_named_axis():
    out = arrax.vmap(lambda x, y: lax.pdot(x, y, "i", ((1,), (0,))), axis_name="i")(X, Y)
    np.testing.assert_allclose(out[2], np.einsum("iab,ibc->ac", X, Y), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spec", ["ab{i},bc{i}->ca", "ab{i},bc{i}->c{i}", "ab{i},bc->b", "ab,bc{i}->abc{i}"])
def test_xeinsum_sums_letters_and_names(spec):
    out = arrax.vmap(lambda x, y: lax.xeinsum(spec, x, y), axis_name="i")(X, Y)
    result = spec.split("->")[1]
    letters = result.removesuffix("{i}")
    expected = np.einsum(f"iab,ibc->{'i' if '{i}' in result else ''}{letters}", X, Y)
    np.testing.assert_allclose(out if "{i}" in result else out[0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spec", ["ab,bc", "ab,bc->ad", "abc,bc->a", "a-,bc->a"])
def test_xeinsum_names_mistakes(spec):
    with pytest.raises(ValueError, match="xeinsum"):
        lax.xeinsum(spec, X[0], Y[0])
