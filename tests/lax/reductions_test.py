"""Reductions over axes: values, derivatives, batching, and the recognition of well-known computations."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.support import (
    FLOATING,
    INTEGERS,
    assert_matches_numpy,
    bfloat16,
    check_batching,
    check_gradients,
    samples,
    x64_for,
)

# fmt: off
ARITHMETIC = {
    lax.reduce_sum:  np.sum,
    lax.reduce_prod: np.prod,
    lax.reduce_max:  np.max,
    lax.reduce_min:  np.min,
}
LOGIC = {
    lax.reduce_and: np.bitwise_and,
    lax.reduce_or:  np.bitwise_or,
    lax.reduce_xor: np.bitwise_xor,
}
# fmt: on
each_reduction = pytest.mark.parametrize("operation", ARITHMETIC, ids=lambda operation: operation.__name__)
AXES = [(0,), (2, 0), (0, 1, 2)]


def primitives_of(f, *arguments):
    return [eqn.primitive.name for eqn in arrax.make_jaxpr(f)(*arguments).eqns]


@each_reduction
@pytest.mark.parametrize("dtype", [*FLOATING, np.dtype(np.complex64), *INTEGERS], ids=str)
def test_values_are_those_of_numpy(operation, dtype):
    (x,) = samples([(1, 2)], dtype, (2, 3, 4))
    if dtype.kind == "c" and operation in (lax.reduce_max, lax.reduce_min):
        pytest.skip("the order of complex numbers has a test of its own")

    def reference(v):
        with np.errstate(all="ignore"):
            return ARITHMETIC[operation](v, axis=(0, 2)).astype(v.dtype)

    assert_matches_numpy(lambda v: operation(v, (2, 0)), reference, [x], ulps=8)


def test_small_floats_are_summed_with_more_digits():
    x = np.full((4096,), 1 + 2**-7, bfloat16)
    assert float(lax.reduce_sum(x, (0,))) == 4128
    assert float(lax.reduce_sum(np.full((4096,), 0.5, np.float16), (0,))) == 2048


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_any_axes_may_be_reduced(axes):
    (x,) = samples([(-1, 1)], np.float32, (2, 3, 4))
    assert_matches_numpy(lambda v: lax.reduce_sum(v, axes), lambda v: np.sum(v, axis=axes), [x])


def test_over_nothing_reductions_give_the_neutral_element():
    empty = np.zeros((0, 2), np.float32)
    for operation, neutral in zip(ARITHMETIC, [0, 1, -np.inf, np.inf], strict=True):
        np.testing.assert_array_equal(operation(empty, (0,)), np.full(2, neutral, np.float32))
    np.testing.assert_array_equal(lax.reduce_max(empty.astype(np.int32), (0,)), [np.iinfo(np.int32).min] * 2)


def test_extremes_of_bools_and_complex_numbers_and_nans():
    assert bool(lax.reduce_max(np.array([False, True]), (0,)))
    z = np.complex64([1 + 3j, 1 + 4j, 0 + 9j])
    assert complex(lax.reduce_max(z, (0,))) == 1 + 4j
    assert complex(lax.reduce_min(z, (0,))) == 9j
    assert np.isnan(lax.reduce_max(np.float32([1, np.nan, 2]), (0,)))


@pytest.mark.parametrize("operation", LOGIC, ids=lambda operation: operation.__name__)
@pytest.mark.parametrize("dtype", [np.dtype(bool), np.dtype(np.int32), np.dtype(np.uint8)], ids=str)
def test_logic_is_that_of_numpy(operation, dtype):
    x = np.random.default_rng(0).integers(0, 2 if dtype.kind == "b" else 99, (3, 4)).astype(dtype)
    np.testing.assert_array_equal(operation(x, (0,)), LOGIC[operation].reduce(x, axis=0))


@each_reduction
def test_derivatives_agree_with_differences(operation):
    check_gradients(lambda v: operation(v, (0, 2)), samples([(-2, 2)], np.float64, (2, 3, 2)), order=2)


def test_products_with_zeros_have_the_right_derivatives_to_any_order():
    def f(v):
        return lax.reduce_prod(v, (0,))

    x = np.float32([0, 2, 3])
    np.testing.assert_allclose(arrax.grad(f)(x), [6, 0, 0])
    np.testing.assert_allclose(arrax.grad(f)(np.float32([0, 0, 3])), [0, 0, 0])
    hessian = [[0, 3, 2], [3, 0, 0], [2, 0, 0]]
    rows = arrax.vmap(lambda d: arrax.jvp(arrax.grad(f), (x,), (d,))[1])(np.eye(3, dtype=np.float32))
    np.testing.assert_allclose(rows, hessian)


def test_equal_extremes_share_the_derivative():
    np.testing.assert_allclose(arrax.grad(lambda v: lax.reduce_max(v, (0,)))(np.float32([1, 3, 3])), [0, 0.5, 0.5])


@each_reduction
def test_batches_agree_with_loops(operation):
    check_batching(lambda v: operation(v, (0, 2)), samples([(-2, 2)], np.float32, (2, 3, 2)), rtol=1e-5)


def test_wrong_axes_and_types_are_refused():
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"reduce_sum: axes \(2,\) are out of bounds.*f32\[2,3\]"):
        lax.reduce_sum(x, (2,))
    with pytest.raises(ValueError, match="reduce_sum: duplicate"):
        lax.reduce_sum(x, (0, 0))
    with pytest.raises(TypeError, match="reduce_and does not accept dtype float32"):
        lax.reduce_and(x, (0,))
    with pytest.raises(TypeError, match="reduce_sum does not accept dtype bool"):
        lax.reduce_sum(x > 0, (0,))


# ---- the places of extremes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", [lax.argmax, lax.argmin], ids=lambda operation: operation.__name__)
@pytest.mark.parametrize("dtype", [*FLOATING, *INTEGERS, np.dtype(bool)], ids=str)
def test_places_are_the_first_ones_as_in_numpy(operation, dtype):
    x = np.random.default_rng(0).integers(0, 3, (4, 6)).astype(dtype)
    reference = getattr(np, operation.__name__)
    with x64_for(dtype):
        for axis in (0, 1):
            result = operation(x, axis, np.int32)
            assert result.dtype == np.int32
            np.testing.assert_array_equal(result, reference(x, axis))


def test_the_first_nan_counts_as_the_extreme():
    x = np.float32([1, np.nan, 9, np.nan])
    for operation in (lax.argmax, lax.argmin):
        assert int(operation(x, 0, np.int32)) == 1
    infinite = np.float32([-np.inf, -np.inf])
    assert int(lax.argmax(infinite, 0, np.int32)) == 0


# Large enough for what the CPU does with short and middle axes, in parts that overlap or not.
PARTED = [
    ((8192, 2), 1),
    ((5461, 3), 1),
    ((1639, 10), 1),
    ((700, 24), 1),
    ((2, 8200), 0),
    ((20, 20), 0),
    ((9, 11, 170), 1),
    ((3, 103, 54), 1),
]
OTHERS = [dtype for dtype in FLOATING if dtype != np.float32]
PARTED_FLOATS = [
    (*case, dtype) for n, case in enumerate(PARTED) for dtype in (np.dtype(np.float32), OTHERS[n % len(OTHERS)])
]


@pytest.mark.parametrize(("shape", "axis", "dtype"), PARTED_FLOATS, ids=str)
def test_nan_is_found_in_every_position_of_short_and_middle_axes(shape, axis, dtype):
    values = np.moveaxis(np.random.default_rng(0).integers(-2, 3, shape).astype(dtype), axis, -1).copy()
    length = shape[axis]
    for place in range(length):  # every third line has one, at all its places
        values.reshape(-1, length)[3 * place :: 3 * length, place] = np.nan
    values[..., -1].flat[1::6] = np.nan  # and some have another
    values.reshape(-1, length)[2] = -np.inf
    x = np.moveaxis(values, -1, axis).copy()
    with x64_for(dtype):
        extremes, places = arrax.jit(
            lambda v: (
                (lax.reduce_max(v, (axis,)), lax.reduce_min(v, (axis,))),
                (lax.argmax(v, axis, np.int32), lax.argmin(v, axis, np.int32)),
            )
        )(x)
    wide = x.astype(np.float64)
    for found, numpy_reduction in zip(extremes, (np.max, np.min), strict=True):
        np.testing.assert_array_equal(np.asarray(found).astype(np.float64), numpy_reduction(wide, axis=axis))
    for found, numpy_places in zip(places, (np.argmax, np.argmin), strict=True):
        np.testing.assert_array_equal(found, numpy_places(wide, axis=axis))


@pytest.mark.parametrize("dtype", [*INTEGERS, np.dtype(bool)], ids=str)
def test_extremes_and_places_of_integers_and_flags_along_short_and_middle_axes(dtype):
    narrow = dtype.itemsize == 1 and dtype.kind != "b"
    for shape, axis in PARTED[1::2] if narrow else PARTED[2::2]:
        x = np.random.default_rng(0).integers(0, 2 if dtype.kind == "b" else 99, shape).astype(dtype)
        x[x > 97] = 0
        with x64_for(dtype):
            greatest, common, place = arrax.jit(
                lambda v, axis=axis: (
                    lax.reduce_max(v, (axis,)),
                    lax.reduce_and(v, (axis,)),
                    lax.argmin(v, axis, np.int32),
                )
            )(x)
        np.testing.assert_array_equal(greatest, np.max(x, axis=axis))
        np.testing.assert_array_equal(common, np.bitwise_and.reduce(x, axis=axis))
        np.testing.assert_array_equal(place, np.argmin(x, axis))


@pytest.mark.parametrize("length", [3, 12, 13, 15, 16, 17, 20, 32])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_short_rows_are_searched_in_order_on_given_and_computed_operands(length, dtype):
    rng = np.random.default_rng(length)
    x = rng.integers(0, 5, (900, length)).astype(dtype)
    if dtype == np.float32:
        x[rng.random(x.shape) < 0.05] = np.nan
        x[:40], x[40:80] = np.inf, -np.inf
    both = (lax.argmax, lax.argmin)
    results = arrax.jit(lambda v: [(f(v, 1, np.int32), f(v + v, 1, np.int32)) for f in both])(x)
    for (given, computed), reference in zip(results, (np.argmax, np.argmin), strict=True):
        np.testing.assert_array_equal(given, reference(x, 1))
        np.testing.assert_array_equal(computed, given)


@pytest.mark.parametrize(
    "length", [17, 20, 61, 256, 300]
)  # with and without elements that groups leave over, and groups of groups
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_columns_are_searched_group_by_group(length, dtype):
    rng = np.random.default_rng(length)
    x = rng.integers(0, 5, (3, length, 40)).astype(dtype)
    if dtype == np.float32:
        x[rng.random(x.shape) < 0.01] = np.nan
    both = (lax.argmax, lax.argmin)
    results = arrax.jit(lambda v: [(f(v, 1, np.int32), f(v * 2, 1, np.int32)) for f in both])(x)
    for (given, computed), reference in zip(results, (np.argmax, np.argmin), strict=True):
        np.testing.assert_array_equal(given, reference(x, 1))
        np.testing.assert_array_equal(computed, given)


@pytest.mark.parametrize("length", [2, 3, 5, 10, 16])
def test_the_first_of_several_nans_along_short_axes(length):
    rows = np.random.default_rng(0).integers(0, 3, (length, length, length)).astype(np.float32)
    for first, second in np.ndindex(length, length):
        rows[first, second, [first, second]] = np.nan
    x = np.tile(rows.reshape(-1, length), (1 + 20_000 // length**3, 1))
    for function, reference in ((lax.argmax, np.argmax), (lax.argmin, np.argmin)):
        np.testing.assert_array_equal(function(x, 1, np.int32), reference(x, axis=1))
        np.testing.assert_array_equal(function(x.T.copy(), 0, np.int32), reference(x, axis=1))


@pytest.mark.parametrize("shape", [(5000, 8), (8, 5000), (20, 17), (3, 1)], ids=str)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -0.0])
def test_the_first_of_equal_elements_is_found(shape, value):
    x = np.full(shape, value, np.float32)
    for axis in (0, 1):
        for function in (lax.argmax, lax.argmin):
            assert not np.asarray(arrax.jit(lambda x, f=function, axis=axis: f(x, axis, np.int32))(x)).any()


def test_extremes_over_neighbouring_axes_taken_together():
    x = np.random.default_rng(0).standard_normal((12, 5, 3, 100)).astype(np.float32)
    x[:, 4, 1, 7] = np.nan
    np.testing.assert_array_equal(lax.reduce_max(x, (2, 1)), x.max((1, 2)))
    np.testing.assert_array_equal(lax.reduce_min(x, (0, 1, 2)), x.min((0, 1, 2)))
    np.testing.assert_array_equal(
        arrax.jit(lambda v: v - lax.reduce_max(v, (1, 2))[:, None, None])(x), x - x.max((1, 2), keepdims=True)
    )


def test_places_have_the_dtype_that_was_asked_for_and_no_derivative():
    x = np.float32([[1, 5, 2]])
    assert lax.argmax(x, 1, np.uint8).dtype == np.uint8

    def f(v):
        place = lax.convert_element_type(lax.argmax(v, 0, np.int32), v.dtype)
        return lax.mul(place, lax.reduce_sum(v, (0,)))

    np.testing.assert_array_equal(arrax.grad(f)(x[0]), [1, 1, 1])


def test_places_batch():
    check_batching(lambda v: lax.argmax(v, 1, np.int32), samples([(-2, 2)], np.float32, (2, 5)))


def test_places_refuse_empty_and_missing_axes_and_other_dtypes():
    x = np.ones((0, 3), np.float32)
    with pytest.raises(ValueError, match="argmax requires a non-empty axis"):
        lax.argmax(x, 0, np.int32)
    with pytest.raises(ValueError, match="argmin: invalid axis 2"):
        lax.argmin(x, 2, np.int32)
    with pytest.raises(TypeError, match="index_dtype must be an integer type"):
        lax.argmax(np.ones((2,), np.float32), 0, np.float32)
    with pytest.raises(TypeError, match="argmax does not accept dtype complex64"):
        lax.argmax(np.ones((2,), np.complex64), 0, np.int32)


# ---- any computation -----------------------------------------------------------------------------------------------


def join(x, y):
    """(1 + x)(1 + y) - 1, which is associative and has the neutral element 0."""
    return lax.add(lax.add(x, y), lax.mul(x, y))


def test_well_known_computations_become_named_reductions():
    x = np.ones((2, 3), np.float32)
    for computation, init, name in [
        (lax.add, 0, "reduce_sum"),
        (lambda a, b: lax.add(b, a), 0.0, "reduce_sum"),
        (lax.mul, 1, "reduce_prod"),
        (lax.max, -np.inf, "reduce_max"),
        (lax.min, np.inf, "reduce_min"),
    ]:
        assert primitives_of(lambda v: lax.reduce(v, init, computation, (0,)), x) == [name]  # noqa: B023
    flags = np.ones((2,), bool)
    assert primitives_of(lambda v: lax.reduce(v, False, lax.bitwise_or, (0,)), flags) == ["reduce_or"]
    assert primitives_of(lambda v: lax.reduce(v, 5.0, lax.add, (0,)), x) == ["reduce_sum", "add"]
    assert primitives_of(lambda v: lax.reduce(v, 0.0, join, (0,)), x) == ["reduce"]


def test_any_computation_reduces():
    (x,) = samples([(-0.5, 0.5)], np.float32, (2, 3, 4))
    np.testing.assert_allclose(lax.reduce(x, 0.0, join, (1,)), np.prod(1 + x, 1) - 1, atol=1e-5)
    np.testing.assert_allclose(lax.reduce(x, 0.5, join, (0, 2)), 1.5 * np.prod(1 + x, (0, 2)) - 1, atol=1e-5)
    np.testing.assert_allclose(lax.reduce(x, 5.0, lax.add, (0,)), 5 + x.sum(0), rtol=1e-5)


def test_scalars_are_operands_whatever_their_class_is_registered_as():
    class Half(np.float32):
        pass

    arrax.tree_util.register_static(Half)
    assert lax.reduce(np.ones(3, np.float32), Half(0.5), lambda a, b: lax.add(a, b), (0,)) == 3.5
    assert jnp.array([Half(0.5), 1]).tolist() == [0.5, 1]


def test_pytrees_reduce_together():
    keys, places = np.float32([3, 7, 7, 1]), np.arange(4, dtype=np.int32)

    def later_greatest(a, b):
        first = lax.gt(a["key"], b["key"])
        return {name: lax.select(first, a[name], b[name]) for name in a}

    out = lax.reduce({"key": keys, "place": places}, {"key": -np.inf, "place": -1}, later_greatest, (0,))
    assert (float(out["key"]), int(out["place"])) == (7, 2)


def test_any_computation_has_derivatives():
    def f(x, init):
        return lax.reduce(x, init, join, (1,))

    check_gradients(arrax.jit(f), [*samples([(-0.5, 0.5)], np.float64, (2, 3)), np.float64(0.3)], order=2)


def test_any_computation_batches_over_operands_and_initial_values():
    (x,) = samples([(-0.5, 0.5)], np.float32, (3, 2))
    check_batching(lambda v: lax.reduce(v, 0.0, join, (0,)), [x])
    check_batching(lambda v, init: lax.reduce(v, init, join, (0,)), [x, np.float32(0.2)], rtol=1e-5)


@pytest.mark.parametrize("init", [np.int32(1), np.float32(1.0), jnp.asarray(1), 1], ids=str)
def test_well_known_computations_convert_their_initial_value(init):
    x = jnp.arange(4, dtype=jnp.int8)
    for result, expected in (
        (lax.reduce(x, init, lax.add, (0,)), 7),
        (lax.reduce_window(x, init, lax.add, (2,), (1,), "VALID"), [2, 4, 6]),
        (arrax.jit(lambda i: lax.reduce(x, i, lax.max, (0,)))(init), 3),
    ):
        assert result.dtype == jnp.int8
        np.testing.assert_array_equal(result, expected)


def test_ill_fitting_operands_are_refused():
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="non-scalar initial value"):
        lax.reduce(x, np.zeros(2, np.float32), lax.add, (0,))
    with pytest.raises(TypeError, match="the computation must return the structure"):
        lax.reduce(x, 0.0, lambda a, b: (a, b), (0,))
    with pytest.raises(TypeError, match=r"the computation must return i32\[\], got bool\[\]"):
        lax.reduce(x.astype(np.int32), 0, lambda a, b: lax.lt(a, b), (0,))
    with pytest.raises(ValueError, match="operands of equal shapes"):
        lax.reduce((x, x[0]), (0.0, 0.0), lambda a, b: a, (0,))
    with pytest.raises(TypeError, match="same dtypes"):
        lax.reduce(x, np.int32(0), lambda a, b: a * b + a, (0,))
    with pytest.raises(TypeError, match="must not close over traced values"):
        arrax.jit(lambda v: lax.reduce(x, 0.0, lambda a, b: lax.mul(lax.add(a, b), v), (0,)))(1.0)


def test_a_reduction_over_no_axes_is_the_operand():
    x = np.array([3.0, 1.0], np.float32)
    for computation in (lax.min, lax.add, lambda a, b: a * b):
        np.testing.assert_array_equal(lax.reduce(x, np.float32(2), computation, ()), x)


@pytest.mark.parametrize("reduce", [jnp.max, jnp.min], ids=["max", "min"])
def test_extremes_of_what_is_computed_have_finite_gradients(reduce):
    for seed, size in enumerate((8, 100, 1000, 20_000)):
        a, b, c = np.random.default_rng(seed).standard_normal((3, size)).astype(np.float32)

        def f(a, b=b, c=c):
            return reduce((a * b + c).reshape(-1, 4), axis=1).sum() + reduce(jnp.abs(a * 1.7 + 0.3))

        gradient = np.asarray(arrax.jit(arrax.grad(f))(a))
        assert np.isfinite(gradient).all() and np.count_nonzero(gradient) in (size // 4, size // 4 + 1)


@pytest.mark.parametrize("way", [lambda f: f, arrax.jit])
def test_the_derivative_of_an_extreme_that_is_nan_is_nan(way):
    x = np.array([[1.0, np.nan], [2.0, 3.0]], np.float32)
    for extreme, plain in ((lax.reduce_max, [0, 1]), (lax.reduce_min, [1, 0])):
        gradient = way(arrax.grad(lambda x, extreme=extreme: extreme(x, (1,)).sum()))(x)
        np.testing.assert_array_equal(gradient, [[np.nan, np.nan], plain])
