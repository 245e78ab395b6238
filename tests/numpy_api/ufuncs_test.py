"""Universal functions and vectorized functions; numbers in even steps; arrays from text and files."""

import io

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.numpy_api.comparison import assert_same

MATRIX = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], dtype=np.float32)
VECTOR = np.array([3, 1, 2, 5], dtype=np.int32)
PLACES = np.array([0, 2, 0])


def weigh(x, y):
    return x + 2 * y


OURS = {
    "weigh": jnp.frompyfunc(weigh, 2, 1, identity=0),
    **{n: getattr(jnp, n) for n in ("add", "multiply", "subtract", "maximum")},
}
THEIRS = {n: getattr(np, n) for n in ("add", "multiply", "subtract", "maximum")}


@pytest.mark.parametrize("name", THEIRS)
def test_methods_do_what_those_of_numpy_do(name):
    ours, theirs = OURS[name], THEIRS[name]
    assert_same(ours.reduce(VECTOR), np.int32(theirs.reduce(VECTOR)))
    assert_same(ours.reduce(MATRIX, axis=1, keepdims=True), theirs.reduce(MATRIX, axis=1, keepdims=True))
    assert_same(ours.accumulate(MATRIX, axis=1), theirs.accumulate(MATRIX, axis=1))
    assert_same(ours.outer(VECTOR, MATRIX), np.float32(theirs.outer(VECTOR, MATRIX)))
    assert_same(ours.reduceat(MATRIX, np.array([0, 1]), axis=1), theirs.reduceat(MATRIX, [0, 1], axis=1))
    changed = VECTOR.copy()
    theirs.at(changed, PLACES, 4)
    assert_same(ours.at(VECTOR, PLACES, 4, inplace=False), changed)


def test_updates_by_functions_leave_out_what_is_out_of_bounds():
    ones = np.ones(3, np.float32)
    for index in (np.array([3, -4]), np.array([[5, -9]]), np.array([], int)):
        assert_same(jnp.add.at(ones, index, 2, inplace=False), ones)
    traced = arrax.jit(lambda i: jnp.add.at(ones, i, 2, inplace=False))
    assert_same(traced(np.array([7, -1])), np.float32([1, 1, 3]))
    assert_same(jnp.multiply.at(np.ones((2, 2)), (1, np.array([1, 2])), 3, inplace=False), np.float32([[1, 1], [1, 3]]))
    for empty in (np.ones((2, 0), np.int8), np.ones((0, 2), np.int8)):
        assert_same(jnp.add.at(empty, np.array([0, 0, -1]), 2, inplace=False), empty)


LONG = np.linspace(-1, 2, 300, dtype=np.float32).reshape(100, 3) ** 3
FALLING = np.array([0, 7, 3, 3, 99, 40, 41])


@pytest.mark.parametrize("name", ["add", "maximum", "multiply", "logical_xor", "logaddexp", "subtract"])
def test_pieces_may_overlap_and_be_single_elements(name):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    expected = theirs.reduceat(LONG, FALLING, axis=0)
    traced = arrax.jit(lambda a, places: ours.reduceat(a, places))(LONG, FALLING)
    np.testing.assert_allclose(traced, expected, rtol=1e-4, atol=1e-5)
    mapped = arrax.vmap(lambda a: ours.reduceat(a, FALLING), 1, 1)(LONG)
    np.testing.assert_allclose(mapped, expected, rtol=1e-4, atol=1e-5)


def test_places_of_pieces_may_have_a_small_dtype():
    numbers = np.arange(300, dtype=np.int32)
    assert_same(jnp.add.reduceat(numbers, np.array([1, 100], np.int8)), np.add.reduceat(numbers, [1, 100]))


@pytest.mark.parametrize("name", ["add", "maximum", "multiply"])
def test_pieces_have_the_derivatives_of_their_reductions(name):
    ours, bounds = getattr(jnp, name), [(0, 7), (7, 8), (3, 4), (3, 99), (99, 100), (40, 41), (41, 100)]
    values, weights = 1 + LONG[:, 1] / 100, np.arange(1, 8, dtype=np.float32)

    def in_pieces(a):
        return ours.reduceat(a, FALLING) @ weights

    def reduced(a):
        return jnp.stack([ours.reduce(a[start:end]) for start, end in bounds]) @ weights

    gradients = arrax.jit(lambda a: (arrax.grad(in_pieces)(a), arrax.grad(reduced)(a)))(values)
    np.testing.assert_allclose(*gradients, rtol=1e-3)


def test_products_that_no_piece_has_do_no_harm_to_derivatives():
    large, places = np.full(64, 1e10, np.float32), np.arange(0, 64, 2)
    gradient = arrax.grad(lambda a: jnp.sum(jnp.multiply.reduceat(a, places)))(large)
    np.testing.assert_array_equal(gradient, large)


def test_a_function_of_scalars_becomes_a_universal_one():
    function = OURS["weigh"]
    assert (function.nin, function.nout, function.identity) == (2, 1, 0)
    assert_same(function(MATRIX, VECTOR[:3]), MATRIX + 2 * VECTOR[:3])
    assert_same(function.reduce(MATRIX, axis=1), np.float32([11, 28]))
    assert_same(function.reduce(MATRIX, axis=None, initial=1.0, where=MATRIX > 2), np.float32(39))
    assert_same(function.reduce(VECTOR[:0]), np.int32(0))
    assert_same(function.accumulate(VECTOR), np.int32([3, 5, 9, 19]))
    assert repr(function) == "<jnp.ufunc 'weigh'>"


def test_results_may_be_several():
    both = jnp.frompyfunc(lambda x: (x, -x), 1, 2)(VECTOR)
    assert_same(both, [VECTOR, -VECTOR])


def test_vectorized_functions_broadcast_their_leading_axes():
    product = jnp.vectorize(lambda m, v: m @ v, signature="(i,j),(j)->(i)")
    matrices = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    assert_same(product(matrices, MATRIX[0]), matrices @ MATRIX[0])
    assert product(matrices[:, None], np.stack([MATRIX[0]] * 5)).shape == (4, 5, 2)
    assert_same(jnp.vectorize(lambda x, k: x * k, excluded={1})(VECTOR, 2), VECTOR * 2)
    assert_same(jnp.vectorize(lambda x, k=1: x * k, excluded={"k"})(VECTOR, k=3), VECTOR * 3)
    assert_same(jnp.vectorize(lambda x: (x, x + 1), signature="()->(),()")(VECTOR), [VECTOR, VECTOR + 1])


def test_vectorized_functions_may_return_pytrees():
    rows = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    found = jnp.vectorize(lambda x: {"a": [x, x + 1], "b": None})(rows)
    assert found["b"] is None
    assert_same(found["a"], [rows, rows + 1])

    @arrax.tree_util.register_pytree_node_class
    class Boxed:  # what has a shape is compared with the signature
        def __init__(self, x):
            self.x, self.shape = x, getattr(x, "shape", None)

        def tree_flatten(self):
            return (self.x,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    assert_same(jnp.vectorize(Boxed, signature="(n)->(n)")(rows).x, rows)
    with pytest.raises(ValueError, match="output shape"):
        jnp.vectorize(Boxed, signature="(n)->()")(rows)


def test_functions_are_applied_along_axes():
    for axis in (0, 1):
        assert_same(jnp.apply_along_axis(jnp.cumsum, axis, MATRIX), np.apply_along_axis(np.cumsum, axis, MATRIX))
    outer = jnp.apply_along_axis(lambda row: jnp.outer(row, row), 1, MATRIX)
    assert_same(outer, np.apply_along_axis(lambda row: np.outer(row, row), 1, MATRIX))
    assert_same(jnp.apply_over_axes(jnp.sum, MATRIX, [0, 1]), np.float32([[22]]))


@pytest.mark.parametrize("arguments", [(0, 1, 5), (3, -2, 4), (0, 1j, 3), (0.5, 0.5, 1), (1, 2, 0)])
def test_numbers_in_even_steps(arguments):
    assert_same(jnp.linspace(*arguments), np.linspace(*arguments))
    assert_same(jnp.linspace(*arguments, endpoint=False), np.linspace(*arguments, endpoint=False))


def test_even_steps_between_arrays_and_in_programs():
    start, stop = np.float32([0, 1]), np.float32([[4], [2]])
    expected = np.float32(np.linspace(start, stop, 4, axis=1))
    assert_same(jnp.linspace(start, stop, 4, axis=1), expected)
    numbers, step = arrax.jit(lambda a: jnp.linspace(a, 2, 5, retstep=True))(1.0)
    assert_same([numbers, step], [np.float32(np.linspace(1, 2, 5)), np.float32(0.25)])
    assert_same(jnp.linspace(0, 10, 4, dtype=int), np.linspace(0, 10, 4, dtype=np.int32))
    assert_same(jnp.linspace(start, stop, 1, retstep=True)[1], np.float32(np.nan))  # no step: one number for all


def test_numbers_in_geometric_steps():
    assert_same(jnp.logspace(0, 2, 3), np.float32(np.logspace(0, 2, 3)))
    assert_same(jnp.logspace(0, 3, 4, base=2), np.float32([1, 2, 4, 8]))
    assert_same(jnp.geomspace(1, 1000, 4), np.float32(np.geomspace(1, 1000, 4)), rtol=1e-4)
    assert_same(
        jnp.geomspace(-1, -8, 3, endpoint=False), np.float32(np.geomspace(-1, -8, 3, endpoint=False)), rtol=1e-4
    )


def test_arrays_from_functions_bytes_text_and_files():
    assert_same(jnp.fromfunction(jnp.add, (2, 3), dtype=int), np.int32(np.fromfunction(np.add, (2, 3), dtype=int)))
    assert_same(jnp.frombuffer(b"abcd", dtype="uint8", count=2, offset=1), np.uint8([98, 99]))
    assert_same(jnp.fromstring("1 2 3", dtype=int, sep=" "), np.int32([1, 2, 3]))
    file = io.BytesIO()
    jnp.save(file, jnp.arange(3))
    file.seek(0)
    assert_same(jnp.load(file), np.int32([0, 1, 2]))


def test_arrays_become_text():
    assert jnp.array_repr(MATRIX[:1]) == "Array([[1., 2., 3.]], dtype=float32)"
    assert jnp.array_str(MATRIX / 3, precision=2) == np.array_str(MATRIX / 3, precision=2)


def test_scalars_are_recognized():
    assert jnp.isscalar(np.ma.array(1.0)) and jnp.isscalar(np.ma.masked) and not jnp.isscalar(np.ma.array([1.0]))
    assert jnp.isscalar(1) and jnp.isscalar(jnp.float32(1)) and jnp.isscalar("a") and not jnp.isscalar(jnp.ones(1))


# fmt: off
ERRORS = {
    "accumulate a scalar": (lambda: jnp.add.accumulate(jnp.float32(1)), ValueError, "a scalar has no axis"),
    "in place":      (lambda: OURS["add"].at(VECTOR, PLACES, 4), NotImplementedError, "inplace=False"),
    "no function":   (lambda: jnp.frompyfunc(3, 1, 1), TypeError, "must be callable"),
    "one argument":  (lambda: OURS["weigh"](1), TypeError, "takes 2 arguments"),
    "out":           (lambda: OURS["weigh"](1, 2, out=VECTOR), NotImplementedError, "'out'"),
    "no identity":   (lambda: jnp.frompyfunc(weigh, 2, 1).reduce(VECTOR, where=VECTOR > 1), ValueError, "identity"),
    "unary reduce":  (lambda: jnp.frompyfunc(abs, 1, 1).reduce(VECTOR), ValueError, "binary"),
    "signature":     (lambda: jnp.vectorize(abs, signature="foo")(1), ValueError, "not a valid gufunc signature"),
    "core sizes":    (lambda: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(MATRIX, VECTOR), ValueError, "inconsistent size"),
    "core rank":     (lambda: jnp.vectorize(abs, signature="(n)->(n)")(1.0), ValueError, "enough dimensions"),
    "output":        (lambda: jnp.vectorize(jnp.dot, signature="(n),(n)->(n)")(MATRIX, MATRIX), ValueError, "output shape"),
    "count":         (lambda: jnp.vectorize(abs, signature="(),()->()")(1.0), TypeError, "expected 2, got 1"),
    "excluded":      (lambda: jnp.vectorize(abs, excluded={1.5}), TypeError, "exclude integer or string"),
    "axis":          (lambda: jnp.apply_along_axis(jnp.sum, 3, MATRIX), ValueError, "out of bounds"),
    "fromiter":      (lambda: jnp.fromiter([1], int), NotImplementedError, "np.fromiter"),
    "linspace":      (lambda: jnp.linspace(0, 1, -1), ValueError, "non-negative"),
    "linspace traced": (lambda: arrax.jit(lambda n: jnp.linspace(0, 1, n))(3), TypeError, "'num' argument"),
}
# fmt: on


@pytest.mark.parametrize("case", ERRORS)
def test_mistakes_are_explained(case):
    call, kind, words = ERRORS[case]
    with pytest.raises(kind, match=words):
        call()


def test_sums_and_products_of_bools_are_or_and_and():
    x, y = np.array([True, True, False]), np.array([True, False, False])
    for add, multiply in ((jnp.add, jnp.multiply), (lambda x, y: jnp.asarray(x) + y, lambda x, y: jnp.asarray(x) * y)):
        np.testing.assert_array_equal(add(x, y), x | y, strict=True)
        np.testing.assert_array_equal(multiply(x, y), x & y, strict=True)


def test_functions_with_the_methods_of_universal_functions_are_instances():
    functions = (jnp.add, jnp.maximum, jnp.logical_or, jnp.negative, jnp.frompyfunc(jnp.add, 2, 1))
    assert all(isinstance(function, jnp.ufunc) for function in functions)
    assert not any(isinstance(other, jnp.ufunc) for other in (jnp.sin, jnp.where, len, None, 1))
    assert jnp.frompyfunc(jnp.add, 2, 1) != jnp.add


def test_methods_may_have_faster_ways():
    def way(name):
        return lambda *args, **options: (name, len(args), options)

    function = jnp.ufunc(
        jnp.add, 2, 1, reduce=way("reduce"), accumulate=way("accumulate"), at=way("at"), reduceat=way("reduceat")
    )
    x = jnp.ones(3)
    assert function.accumulate(x) == ("accumulate", 1, {"axis": 0, "dtype": None})
    assert function.at(x, 0, 1.0, inplace=False) == ("at", 3, {}) and function.reduce(x)[0] == "reduce"
    assert function.reduceat(x, jnp.array([0, 1])) == ("reduceat", 2, {"axis": 0, "dtype": None})
