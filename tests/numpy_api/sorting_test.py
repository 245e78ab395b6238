"""Sorting and sets: values, stability, sizes that are given, derivatives, mistakes."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.numpy_api.comparison import assert_same

FLOATS = np.array([3.0, np.nan, -1.0, 2.5, 2.5, 0.0], dtype=np.float32)
INTEGERS = np.array([3, 1, 2, 1, 3, 0], dtype=np.int32)
MATRIX = np.array([[0, 3, 1], [0, 1, 0], [0, 3, 1], [2, 1, 0]], dtype=np.int32)
COMPLEX = np.array([2 - 1j, 1, 2 + 1j, -3j], dtype=np.complex64)
ARRAYS = (FLOATS, INTEGERS, MATRIX, COMPLEX)

# fmt: off
CASES = {
    "sort":         lambda np, x, i, m, c: [np.sort(x), np.sort(m, axis=0), np.sort(m, axis=None), np.sort(c)],
    "argsort":      lambda np, x, i, m, c: [np.argsort(i, stable=True), np.argsort(m, axis=0, stable=True)],
    "lexsort":      lambda np, x, i, m, c: [np.lexsort((x, i)), np.lexsort(m), np.lexsort((m, m), axis=0)],
    "sort_complex": lambda np, x, i, m, c: np.sort_complex(c),
    "partition":    lambda np, x, i, m, c: np.partition(np.sort(m), 1),
    "argpartition": lambda np, x, i, m, c: np.argpartition(np.sort(m), 1),
}
SETS = {
    "unique":        lambda np, x, i, m, c: [np.unique(x), *np.unique(i, True, True, True), np.unique(c)],
    "unique rows":   lambda np, x, i, m, c: np.unique(m, True, True, True, axis=0),
    "unique columns": lambda np, x, i, m, c: np.unique(m, axis=1),
    "unique matrix": lambda np, x, i, m, c: np.unique(m, return_inverse=True),
    "unique nan":    lambda np, x, i, m, c: [np.unique(np.concatenate([x, x]), equal_nan=e) for e in (True, False)],
    "unique_all":    lambda np, x, i, m, c: [*np.unique_all(i), *np.unique_counts(i), *np.unique_inverse(m), np.sort(np.unique_values(i))],
    "union1d":       lambda np, x, i, m, c: np.union1d(i, m),
    "intersect1d":   lambda np, x, i, m, c: [np.intersect1d(i, m), *np.intersect1d(i, m, return_indices=True)],
    "setdiff1d":     lambda np, x, i, m, c: np.setdiff1d(m, np.unique(i)),
    "setxor1d":      lambda np, x, i, m, c: np.setxor1d(i, np.ravel(m)),
}
# fmt: on


@pytest.mark.parametrize("case", [*CASES, *SETS])
def test_eager_results_are_those_of_numpy(case):
    call = {**CASES, **SETS}[case]
    assert_same(call(jnp, *map(jnp.asarray, ARRAYS)), call(np, *ARRAYS))


def test_compiled_results_are_those_of_numpy():
    results = arrax.jit(lambda *xs: {name: case(jnp, *xs) for name, case in CASES.items()})(*ARRAYS)
    for name, case in CASES.items():
        assert_same(results[name], case(np, *ARRAYS))


def test_descending_order_is_stable_and_has_nan_first():
    both = [jnp.sort(FLOATS, descending=True), jnp.argsort(INTEGERS, descending=True)]
    compiled = arrax.jit(lambda x, i: [jnp.sort(x, descending=True), jnp.argsort(i, descending=True)])(FLOATS, INTEGERS)
    expected = [FLOATS[[1, 0, 3, 4, 5, 2]], np.int32([0, 4, 2, 1, 3, 5])]
    assert_same(both, expected)
    assert_same(compiled, expected)


def test_derivatives_follow_the_elements():
    x, weights = np.float32([3, 1, 2]), np.float32([10, 20, 30])
    assert_same(arrax.grad(lambda x: jnp.sum(jnp.sort(x) * weights))(x), np.float32([30, 10, 20]))


def test_sets_of_traced_arrays_have_a_given_size():
    @arrax.jit
    def sets(i, m, x):
        return {
            "unique": jnp.unique(i, True, True, True, size=5), "cut": jnp.unique(i, size=2),
            "filled": jnp.unique(i, size=6, fill_value=9), "rows": jnp.unique(m, axis=0, size=4, return_counts=True),
            "nan": jnp.unique(jnp.concatenate([x, x]), size=6), "union": jnp.union1d(i, m, size=5, fill_value=-1),
            "intersection": jnp.intersect1d(i, m, return_indices=True, size=5, fill_value=-1),
            "difference": jnp.setdiff1d(i, m[:, 1:], size=3, fill_value=7),
            "either": jnp.setxor1d(i, m[3], size=3, fill_value=8),
            "ordered": jnp.setdiff1d(x, jnp.zeros(1), assume_unique=True, size=5),
        }  # fmt: skip

    got = sets(INTEGERS, MATRIX, FLOATS)
    int32 = np.int32
    assert_same(
        got["unique"],
        [int32([0, 1, 2, 3, 0]), int32([5, 1, 2, 0, 5]), int32([3, 1, 2, 1, 3, 0]), int32([1, 2, 1, 2, 0])],
    )
    assert_same(got["cut"], int32([0, 1]))
    assert_same(got["filled"], int32([0, 1, 2, 3, 9, 9]))
    assert_same(got["rows"], [int32([[0, 1, 0], [0, 3, 1], [2, 1, 0], [0, 1, 0]]), int32([1, 2, 1, 0])])
    assert_same(got["nan"], np.float32([-1, 0, 2.5, 3, np.nan, -1]))
    assert_same(got["union"], int32([0, 1, 2, 3, -1]))
    assert_same(got["intersection"], [int32([0, 1, 2, 3, -1]), int32([5, 1, 2, 0, 6]), int32([0, 2, 9, 1, 12])])
    assert_same(got["difference"], int32([2, 7, 7]))
    assert_same(got["either"], int32([3, 8, 8]))
    assert_same(got["ordered"], np.float32([3, np.nan, -1, 2.5, 2.5]))


# fmt: off
ERRORS = {
    "kind":          (lambda: jnp.sort(FLOATS, kind="quicksort"), TypeError, "'kind'"),
    "order":         (lambda: jnp.argsort(FLOATS, order="a"), TypeError, "'order'"),
    "scalar":        (lambda: jnp.sort(1.0), ValueError, "axis -1 is out of bounds"),
    "list":          (lambda: jnp.sort([1, 2]), TypeError, "sort requires ndarray"),
    "lexsort":       (lambda: jnp.lexsort([]), TypeError, "len > 0"),
    "partition":     (lambda: jnp.partition(FLOATS, 9), ValueError, "kth 9 is out of bounds"),
    "unique traced": (lambda: arrax.jit(jnp.unique)(FLOATS), TypeError, "size"),
    "unique empty":  (lambda: jnp.unique(np.zeros(0), size=2), ValueError, "fill_value must be specified"),
    "union traced":  (lambda: arrax.jit(jnp.intersect1d)(FLOATS, FLOATS), TypeError, "`size`"),
}
# fmt: on


@pytest.mark.parametrize("case", ERRORS)
def test_mistakes_are_explained(case):
    call, kind, words = ERRORS[case]
    with pytest.raises(kind, match=words):
        call()
