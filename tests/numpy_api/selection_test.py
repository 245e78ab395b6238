"""Choosing, finding, searching, interpolating: values, sizes that are given, mistakes."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.numpy_api.comparison import assert_same

FLOATS = np.array([3.0, -1.0, 0.0, 2.5, 2.5], dtype=np.float32)
INTEGERS = np.array([3, 0, 1, 2, 2], dtype=np.int32)
MATRIX = np.array([[0, 1, 0], [2, 0, 3]], dtype=np.int32)
MASK = np.array([True, False, True, False, True])
SORTED = np.array([-1.0, 0.0, 0.0, 2.5, 4.0], dtype=np.float32)
ARRAYS = (FLOATS, INTEGERS, MATRIX, MASK, SORTED)

# fmt: off
CASES = {
    "where":               lambda np, x, i, m, b, s: np.where(b, x, i),
    "where broadcasts":    lambda np, x, i, m, b, s: np.where(m, np.float32(2), m),
    "select":              lambda np, x, i, m, b, s: np.select([b, np.greater(x, 2)], [x, np.negative(x)], 9),
    "piecewise":           lambda np, x, i, m, b, s: np.piecewise(x, [np.less(x, 0), np.greater(x, 2)], [-1, np.square, np.sin]),
    "piecewise of integers": lambda np, x, i, m, b, s: np.piecewise(i, [np.less(i, 2)], [1.5, lambda v, k: np.multiply(v, k)], 3),
    "choose":              lambda np, x, i, m, b, s: np.choose(np.minimum(i, 1), [x, s], mode="clip"),
    "choose wraps":        lambda np, x, i, m, b, s: np.choose(i, (x, s), mode="wrap"),
    "clip":                lambda np, x, i, m, b, s: [np.clip(x, -0.5, 2), np.clip(x, None, i), np.clip(i, 1, None)],
    "nan_to_num":          lambda np, x, i, m, b, s: np.nan_to_num(np.log(np.abs(x)), neginf=-1),
    "searchsorted":        lambda np, x, i, m, b, s: [np.searchsorted(s, x), np.searchsorted(s, x, side="right")],
    "searchsorted of a matrix": lambda np, x, i, m, b, s: np.searchsorted(s, m),
    "digitize":            lambda np, x, i, m, b, s: [np.digitize(x, s), np.digitize(x, np.flip(s), right=True), np.digitize(x, s, True)],
    "isin":                lambda np, x, i, m, b, s: [np.isin(m, i), np.isin(x, s, invert=True)],
    "interp":              lambda np, x, i, m, b, s: np.interp(x, np.array([-0.5, 1, 2]), np.array([1.0, 5, 2])),
    "interp with sides":   lambda np, x, i, m, b, s: np.interp(x, np.array([-0.5, 1, 2]), np.array([1.0, 5, 2]), left=7, right=8),
    "interp with period":  lambda np, x, i, m, b, s: np.interp(x, np.array([2, 0.5, 1]), np.array([1.0, 5, 2]), period=2.25),
}
FINDING = {
    "where":       lambda np, x, i, m, b, s: np.where(b),
    "nonzero":     lambda np, x, i, m, b, s: np.nonzero(m),
    "flatnonzero": lambda np, x, i, m, b, s: np.flatnonzero(m),
    "argwhere":    lambda np, x, i, m, b, s: np.argwhere(m),
    "compress":    lambda np, x, i, m, b, s: np.compress(np.array([True, False, True]), m, axis=1),
    "extract":     lambda np, x, i, m, b, s: np.extract(np.greater(m, 0), m),
}
# fmt: on


@pytest.mark.parametrize("case", [*CASES, *FINDING])
def test_eager_results_are_those_of_numpy(case):
    call = {**FINDING, **CASES}[case]
    assert_same(call(jnp, *map(jnp.asarray, ARRAYS)), call(np, *ARRAYS), dtypes="interp" not in case)


def test_compiled_results_are_those_of_numpy():
    results = arrax.jit(lambda *xs: {name: case(jnp, *xs) for name, case in CASES.items()})(*ARRAYS)
    for name, case in CASES.items():
        assert_same(results[name], case(np, *ARRAYS), dtypes="interp" not in name)


def test_places_have_a_given_number_where_the_mask_is_traced():
    @arrax.jit
    def find(m, b):
        return {
            "nonzero": jnp.nonzero(m, size=5, fill_value=(7, -1)), "where": jnp.where(m, size=2),
            "argwhere": jnp.argwhere(m, size=4), "flatnonzero": jnp.flatnonzero(m, size=4, fill_value=9),
            "compress": jnp.compress(b, FLOATS, size=4, fill_value=5), "extract": jnp.extract(b, FLOATS, size=2),
        }  # fmt: skip

    found = find(MATRIX, MASK)
    int32 = np.int32
    assert_same(found["nonzero"], [int32([0, 1, 1, 7, 7]), int32([1, 0, 2, -1, -1])])
    assert_same(found["where"], [int32([0, 1]), int32([1, 0])])
    assert_same(found["argwhere"], int32([[0, 1], [1, 0], [1, 2], [0, 0]]))
    assert_same(found["flatnonzero"], int32([1, 3, 5, 9]))
    assert_same(found["compress"], np.float32([3, 0, 2.5, 5]))
    assert_same(found["extract"], np.float32([3, 0]))


def test_methods_of_searching_agree():
    for method in ("scan", "scan_unrolled", "sort", "compare_all"):
        for side in ("left", "right"):
            expected = np.searchsorted(SORTED, FLOATS, side)
            assert_same(jnp.searchsorted(SORTED, FLOATS, side, method=method), expected)
    nan_last = np.array([1.0, 2.0, np.nan], np.float32)
    assert_same(jnp.searchsorted(nan_last, np.float32([np.nan, 3])), np.int32([2, 2]))
    order = np.argsort(FLOATS)
    assert_same(jnp.searchsorted(FLOATS, 2.5, sorter=order), np.searchsorted(FLOATS, 2.5, sorter=order))


def test_interpolation_may_extrapolate():
    ends = {"left": "extrapolate", "right": "extrapolate"}
    assert_same(jnp.interp(np.float32([0, 4]), np.float32([1, 2]), np.float32([10, 20]), **ends), np.float32([0, 40]))


def test_older_names_of_the_bounds_are_understood():
    with pytest.warns(DeprecationWarning, match="a_min"):
        assert_same(jnp.clip(a=FLOATS, a_min=0, a_max=1), np.clip(FLOATS, 0, 1))


def test_derivatives_of_the_branch_that_is_not_chosen_are_zero():
    x = np.float32([0.5, -1.5])
    slope = arrax.jit(arrax.grad(lambda x: jnp.sum(jnp.where(x > 0, x * x, 3.0))))
    assert_same(slope(x), np.float32([1, 0]))
    assert_same(arrax.grad(lambda x: jnp.sum(jnp.clip(x, 0, 1) + jnp.interp(x, SORTED, SORTED)))(x), np.float32([2, 0]))
    assert_same(arrax.grad(lambda x: jnp.sum(jnp.nan_to_num(x)))(np.float32([1, np.nan])), np.float32([1, 0]))


@pytest.mark.parametrize("given", [{"nan": -np.inf}, {"nan": np.inf, "posinf": 3}, {"posinf": -np.inf, "neginf": 5}])
def test_infinities_that_replace_others_and_nan_stay(given):
    special = np.float32([np.nan, np.inf, -np.inf, 1])
    assert_same(jnp.nan_to_num(special, **given), np.nan_to_num(special, **given))


def test_the_program_of_where_is_the_documented_one():
    program = str(arrax.make_jaxpr(lambda b, x, y: jnp.where(b, x, y))(MASK, FLOATS, SORTED))
    assert "name=_where" in program and "select_n" in program


# fmt: off
ERRORS = {
    "two arguments":      (lambda: jnp.where(MASK, FLOATS), TypeError, "NoneType.* at position 2"),
    "size with three":    (lambda: jnp.where(MASK, 1, 2, size=3), ValueError, "three arguments"),
    "list":               (lambda: jnp.where([True], 1, 2), TypeError, "position 0"),
    "shapes":             (lambda: jnp.where(MASK, MATRIX, 0), ValueError, r"shapes=\[\(5,\), \(2, 3\), \(\)\]\n.* of where"),
    "traced nonzero":     (lambda: arrax.jit(jnp.nonzero)(MASK), TypeError, "static size argument"),
    "nonzero of scalar":  (lambda: jnp.nonzero(1.0), ValueError, "atleast_1d"),
    "select":             (lambda: jnp.select([MASK], []), ValueError, "as long as"),
    "select nothing":     (lambda: jnp.select([], []), ValueError, "non-empty"),
    "piecewise":          (lambda: jnp.piecewise(FLOATS, [MASK], [1, 2, 3]), ValueError, "either 1 or 2 functions"),
    "choose":             (lambda: jnp.choose(INTEGERS, [FLOATS, FLOATS]), ValueError, "invalid entry"),
    "choose traced":      (lambda: arrax.jit(lambda i: jnp.choose(i, [FLOATS]))(INTEGERS), TypeError, "mode='wrap'"),
    "choose floats":      (lambda: jnp.choose(FLOATS, [FLOATS]), ValueError, "integer typed"),
    "clip complex":       (lambda: jnp.clip(1j, 0, 1), ValueError, "complex"),
    "searchsorted side":  (lambda: jnp.searchsorted(SORTED, 1, side="a"), ValueError, "side='a'"),
    "searchsorted method": (lambda: jnp.searchsorted(SORTED, 1, method="a"), ValueError, "method='a'"),
    "digitize method":    (lambda: jnp.digitize(FLOATS, SORTED, method="a"), ValueError, "digitize.* method='a'"),
    "searchsorted matrix": (lambda: jnp.searchsorted(MATRIX, 1), ValueError, "1-dimensional"),
    "isin":               (lambda: jnp.isin(MATRIX, MATRIX, method="a"), ValueError, "not implemented"),
    "interp":             (lambda: jnp.interp(1.0, FLOATS, SORTED[:2]), ValueError, "equal size"),
    "interp side":        (lambda: jnp.interp(1.0, FLOATS, SORTED, left="a"), ValueError, "extrapolate"),
    "compress":           (lambda: arrax.jit(jnp.compress)(MASK, FLOATS), TypeError, "size argument of jnp.compress"),
}
# fmt: on


@pytest.mark.parametrize("case", ERRORS)
def test_mistakes_are_explained(case):
    call, kind, words = ERRORS[case]
    with pytest.raises(kind, match=words):
        call()


def test_derivatives_of_pieces_see_nothing_of_the_pieces_that_are_not_taken():
    def pieces(x):
        return jnp.piecewise(x, [x > 0, x > 3], [jnp.sqrt, lambda x: 2 * x, lambda x: 1 / x])

    x = jnp.array([0.0, 4.0, 1.0])  # the root has no slope at 0, the last piece none there
    with np.errstate(divide="ignore"):
        expected = [-np.inf, 2, 0.5]
    np.testing.assert_allclose(arrax.grad(lambda x: pieces(x).sum())(x)[1:], expected[1:])
    np.testing.assert_allclose(arrax.grad(lambda x: jnp.piecewise(x, [x > 0], [jnp.sqrt]).sum())(x), [0, 0.25, 0.5])
    np.testing.assert_allclose(arrax.jvp(pieces, (x,), (jnp.ones(3),))[1], expected)


def test_functions_of_pieces_see_one_element_at_a_time():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for call in (jnp.piecewise, arrax.jit(jnp.piecewise, static_argnums=2)):
        np.testing.assert_array_equal(call(x, [x < 2], (jnp.sum, lambda t: -jnp.max(t))), np.where(x < 2, x, -x))
    nothing = jnp.piecewise(x[:0], [x[:0] < 2], [jnp.sum, 1.0])
    assert nothing.shape == (0, 3)
    with pytest.raises(TypeError, match=r"one element for each of x, got shape \(2,\)"):
        jnp.piecewise(x, [x < 2], [lambda t: jnp.ones(2)])


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 9])
def test_searchsorted_finds_all_places_of_vectors_of_any_length(length):
    a = np.arange(length, dtype=np.float32)
    v = np.arange(-1, length + 1, 0.5, np.float32)
    for side in ("left", "right"):
        np.testing.assert_array_equal(jnp.searchsorted(a, v, side), np.searchsorted(a, v, side))
    program = str(arrax.make_jaxpr(jnp.searchsorted)(a, v))
    assert "concatenate" not in program  # the vector is not copied
