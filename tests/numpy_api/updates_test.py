"""``x.at[index]``: every operation against NumPy's, on the host, compiled and under jit; modes; dtypes; derivatives."""

import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.numpy_api import host
from tests.support import check_batching, check_gradients

ALL = slice(None)
PAIR, REPEATED = np.array([0, 1]), np.array([0, 2, 0])
MATRIX = np.arange(12, dtype=np.int32).reshape(3, 4)

# fmt: off
OPERATIONS = {
    "set": None, "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "mul": np.multiply,
    "min": np.minimum, "max": np.maximum, "power": np.power,
}
INDICES = [0, -1, (1, 2), (ALL, 1), slice(1, 3), (slice(None, None, 2), slice(None, None, -3)), (slice(2, None, -1), 0),
           (1, slice(None, None, 2)), PAIR, REPEATED, (REPEATED, 1), (REPEATED, REPEATED), (ALL, REPEATED),
           (REPEATED, slice(1, 3)), (REPEATED, slice(None, None, 2)), (slice(None, None, -1), PAIR), None, ...,
           (None, PAIR, None), (PAIR[:, None], PAIR), np.array([True, False, True]), (np.array([True, False, True]), 1),
           MATRIX % 2 == 1, slice(0, 0), np.zeros(0, int), True, False]
# fmt: on
each_operation = pytest.mark.parametrize("operation", OPERATIONS)
each_index = pytest.mark.parametrize("index", INDICES, ids=lambda index: str(index).replace("\n", ""))
each_numbered_index = pytest.mark.parametrize(
    ("number", "index"), [*enumerate(INDICES)], ids=lambda x: str(x).replace("\n", "")
)
DTYPES = np.int32, np.float32


@pytest.fixture(params=["host", "compiled", "jit"])
def update(request, monkeypatch):
    """``update(x, index, operation, values, **flags)`` by one of the routes."""
    if request.param == "compiled":
        monkeypatch.setattr(host, "MAX_ELEMENTS", 0)

    def apply(x, index, operation, values, **flags):
        return getattr(jnp.asarray(x).at[index], operation)(values, **flags)

    if request.param == "jit":
        return lambda x, index, operation, values, **flags: arrax.jit(
            lambda x, values: apply(x, index, operation, values, **flags)
        )(x, values)
    return apply


def expected_update(x, index, operation, values):
    out, key = x.copy(), index if isinstance(index, tuple) else (index,)
    if OPERATIONS[operation] is None:
        out[key] = values
    else:
        OPERATIONS[operation].at(out, key, values)
    return out


def update_case(index, operation, dtype):
    """(operand, values, NumPy's result)."""
    shape, x = MATRIX[index].shape, MATRIX.astype(dtype)
    values = (np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape) % 3).astype(dtype)
    return x, values, expected_update(x, index, operation, values)


def assert_is_update(result, expected):
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def by_numpy(index, operation, dtype):
    """Whether NumPy updates small arrays: of floats, only where they are written or slices of them computed with."""
    parts = index if isinstance(index, tuple) else (index,)
    basic = not any(isinstance(part, np.ndarray | bool) for part in parts)
    return dtype == np.int32 or operation == "set" or (basic and operation in ("add", "subtract", "multiply"))


@pytest.mark.parametrize("update", ["host"], indirect=True)
@each_operation
@each_index
def test_updates_are_those_of_numpy(update, operation, index):
    for dtype in (dtype for dtype in DTYPES if by_numpy(index, operation, dtype)):
        x, values, expected = update_case(index, operation, dtype)
        assert_is_update(update(x, index, operation, values), expected)


def compiled_alone(number):
    """The operations that are compiled alone for an index; the others are compiled for it under jit."""
    others = [*OPERATIONS][1:]
    return "set", others[number % 7], others[(number + 3) % 7]


@pytest.mark.parametrize("update", ["compiled"], indirect=True)
@each_numbered_index
def test_compiled_updates_are_those_of_numpy(update, number, index):
    for operation in compiled_alone(number):
        x, values, expected = update_case(index, operation, DTYPES[number % 2])
        assert_is_update(update(x, index, operation, values), expected)


@each_numbered_index
def test_updates_under_jit_are_those_of_numpy(number, index):
    operations = ["set", *(name for name in OPERATIONS if name not in compiled_alone(number))]
    cases = [(name, *update_case(index, name, DTYPES[(number + n + 1) % 2])) for n, name in enumerate(operations)]

    def updates(pairs):
        return [getattr(x.at[index], case[0])(values) for case, (x, values) in zip(cases, pairs, strict=True)]

    pairs = [(jnp.asarray(x), jnp.asarray(values)) for _, x, values, _ in cases]
    for result, (*_, expected) in zip(arrax.jit(updates)(pairs), cases, strict=True):
        assert_is_update(result, expected)


@pytest.mark.parametrize("update", ["host", "compiled"], indirect=True)
@each_index
def test_values_are_broadcast(update, index):
    np.testing.assert_array_equal(update(MATRIX, index, "set", 7), expected_update(MATRIX, index, "set", 7))


def test_values_are_broadcast_under_jit():
    results = arrax.jit(lambda x: [x.at[index].set(7) for index in INDICES])(MATRIX)
    for result, index in zip(results, INDICES, strict=True):
        np.testing.assert_array_equal(result, expected_update(MATRIX, index, "set", 7))


def test_division_gives_floats(update):
    expected = MATRIX.astype(np.float32)
    np.divide.at(expected, REPEATED, 2)
    result = update(MATRIX, REPEATED, "divide", 2)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("index", [(1, 2), slice(None, None, 2), REPEATED, (REPEATED, slice(1, 3))], ids=str)
def test_functions_are_applied_once_per_index(index):
    expected = MATRIX.copy()
    key = index if isinstance(index, tuple) else (index,)
    np.multiply.at(expected, key, 2)
    for apply in (
        lambda x: x.at[index].apply(lambda v: v * 2),
        arrax.jit(lambda x: x.at[index].apply(lambda v: v * 2)),
    ):
        np.testing.assert_array_equal(apply(jnp.asarray(MATRIX)), expected)


# Out of bounds


@pytest.mark.parametrize("index", [5, -5, (1, 7), np.array([5, -7, 1]), (np.array([9, 1]), slice(1, 3))], ids=str)
@pytest.mark.parametrize("mode", [None, "drop", "fill", "clip"])
@pytest.mark.parametrize("operation", ["set", "add"])
def test_updates_out_of_bounds_are_left_out_or_moved_inside(update, index, mode, operation):
    entries = list(index) if isinstance(index, tuple) else [index]
    arrays = [np.asarray(entry) for entry in entries if not isinstance(entry, slice)]
    expected = MATRIX.copy()
    for places in zip(*(np.atleast_1d(a) for a in np.broadcast_arrays(*arrays)), strict=True):
        wrapped = [int(p + n if p < 0 else p) for p, n in zip(places, MATRIX.shape, strict=False)]
        inside = [min(max(p, 0), n - 1) for p, n in zip(wrapped, MATRIX.shape, strict=False)]
        if mode == "clip" or inside == wrapped:
            target = (*inside, *(entry for entry in entries if isinstance(entry, slice)))
            expected[target] = 50 if operation == "set" else expected[target] + 50
    np.testing.assert_array_equal(update(MATRIX, index, operation, 50, mode=mode), expected)


def test_negative_indices_can_be_left_alone(update):
    np.testing.assert_array_equal(update(MATRIX, -1, "set", 7, wrap_negative_indices=False), MATRIX)


@pytest.mark.parametrize("mode", [None, "clip"])
def test_scalar_indices_may_be_traced(mode):
    write = arrax.jit(lambda x, i: x.at[i, 1:3].add(7, mode=mode))
    for place in (0, -1, 5, -9):
        inside = min(max(place + 3 if place < 0 else place, 0), 2)
        expected = MATRIX.copy()
        if mode == "clip" or -3 <= place < 3:
            expected[inside, 1:3] += 7
        np.testing.assert_array_equal(write(MATRIX, place), expected)


# Dtypes


@pytest.mark.parametrize(
    ("dtype", "value", "result"),
    [(np.int32, 1.5, 1), (np.int32, np.float32(2.5), 2), (np.int8, np.int32(300), 44), (np.float16, np.float32(1), 1),
     (np.float32, 1j, 0), (bool, 1, True)],
)  # fmt: skip
def test_lossy_values_are_converted_with_a_warning(update, dtype, value, result):
    with pytest.warns(FutureWarning, match="scatter inputs have incompatible types: cannot safely cast"):
        out = update(np.zeros(3, dtype), 0, "set", value)
    assert out.dtype == dtype and out[0] == np.asarray(result, dtype)


@pytest.mark.parametrize(
    ("dtype", "value", "result"),
    [(np.float32, 1, 1), (np.int8, 300, 44), (np.int32, True, 1), (np.uint32, 2**32 - 1, 2**32 - 1), (np.float16, 2.5, 2.5),
     (np.float32, np.int32(3), 3), (np.complex64, 1.5, 1.5)],
)  # fmt: skip
def test_other_values_are_converted_silently(dtype, value, result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = jnp.zeros(3, dtype).at[0].set(value)
    assert out.dtype == dtype and out[0] == np.asarray(result, dtype)


@pytest.mark.parametrize(
    ("operation", "array", "value", "expected"),
    [
        ("add", [-7], 2.5, -4), ("subtract", [3], 2.5, 0), ("multiply", [4], np.float32(2.5), 10), ("multiply", [-7], 2.5, -17),
        ("max", [7], 7.5, 7), ("min", [7], -0.5, 0),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:scatter inputs")
def test_entries_are_combined_in_the_dtype_that_both_promote_to(update, operation, array, value, expected):
    out = update(np.array(array, np.int32), 0, operation, value)
    assert out.dtype == np.int32 and out[0] == expected


def test_values_of_no_common_dtype_are_refused(update):
    with pytest.raises(arrax.dtypes.TypePromotionError):
        update(jnp.zeros(2, "int4"), 0, "set", 1.5)


def test_weak_types_stay_weak(update):
    assert update(jnp.asarray(1.0), (), "set", 2.0).weak_type
    assert update(jnp.asarray(1.0), (), "add", np.float32(2)).weak_type
    for operation in ("divide", "power"):
        assert update(jnp.asarray(2.0), (), operation, np.float32(2)).weak_type
    assert not update(jnp.zeros(()), (), "set", 2.0).weak_type


# Refusals and the rest


@pytest.mark.parametrize(
    "values", [np.ones(3, np.int32), np.ones((2, 4), np.int32), np.ones((1, 4), np.int32)], ids=np.shape
)
def test_values_that_do_not_fit_are_refused(update, values):
    with pytest.raises(ValueError, match="broadcasting"):
        update(MATRIX, 0, "set", values)


def test_values_may_be_lists():
    np.testing.assert_array_equal(jnp.zeros(3).at[:2].set([1, 2]), [1, 2, 0])
    with pytest.raises(TypeError, match="None cannot be written"):
        jnp.zeros(3).at[0].set(None)


def test_traced_masks_are_refused():
    with pytest.raises(arrax.errors.NonConcreteBooleanIndexError, match="must be concrete"):
        arrax.jit(lambda x: x.at[x < 0].set(0))(MATRIX)


def test_options_are_keywords_only():
    with pytest.raises(TypeError):
        jnp.zeros(3).at[0].set(1.0, True)
    with pytest.raises(ValueError, match="Unknown gather mode"):
        jnp.zeros(3).at[0].set(1.0, mode="wrap")


def test_the_array_itself_stays_as_it_is():
    x = jnp.asarray(MATRIX)
    x.at[0].set(7)
    np.testing.assert_array_equal(x, MATRIX)


FLOATS = np.random.default_rng(0).standard_normal((3, 4))


@pytest.mark.parametrize("operation", ["set", "add", "subtract", "min", "max"])
@pytest.mark.parametrize(
    "index", [0, (slice(None, None, 2), 1), REPEATED, (REPEATED, slice(1, 3)), (PAIR, PAIR)], ids=str
)
def test_derivatives(operation, index):
    values = np.random.default_rng(1).standard_normal(MATRIX[index].shape)
    check_gradients(lambda x, v: getattr(jnp.asarray(x).at[index], operation)(v), [FLOATS, values])


@pytest.mark.parametrize("operation", ["set", "add", "multiply"])
def test_batching(operation):
    def write(x, i, v):
        return getattr(jnp.asarray(x).at[i, 1:3], operation)(v)

    x = FLOATS.astype(np.float32)
    check_batching(write, [x, np.array(1), x[0, :2]])
    check_batching(write, [x, np.array([2, 0]), x[:2, :2]])


# NumPy's functions that write


def test_put_is_that_of_numpy():
    for places, values, mode in ((REPEATED, 9, None), (np.array([0, 50]), np.array([1, 2, 3]), "clip"),
                                 (np.array([0, -50]), np.array([1]), "wrap")):  # fmt: skip
        expected = MATRIX.copy()
        np.put(expected, places, values, mode=mode or "raise")
        result = jnp.put(MATRIX, places, np.asarray(values, np.int32), mode=mode, inplace=False)
        np.testing.assert_array_equal(result, expected)
    for mode, places in ((None, [-2, 50]), ("clip", [50])):  # without a mode, negative places count from the end
        expected = MATRIX.copy()
        expected.flat[np.clip(places, -2, MATRIX.size - 1)] = 99
        np.testing.assert_array_equal(jnp.put(MATRIX, np.array(places), 99, mode=mode, inplace=False), expected)


def test_put_along_axis_place_and_fill_diagonal_are_those_of_numpy():
    expected = MATRIX.copy()
    np.put_along_axis(expected, np.array([[0], [1], [-1]]), 9, 1)
    result = jnp.put_along_axis(MATRIX, np.array([[0], [1], [-1]]), 9, 1, inplace=False)
    np.testing.assert_array_equal(result, expected)
    expected = MATRIX.copy()
    np.place(expected, expected > 5, [1, 2])
    result = jnp.place(MATRIX, MATRIX > 5, np.array([1, 2], np.int32), inplace=False)
    np.testing.assert_array_equal(result, expected)
    expected = MATRIX.copy()
    np.fill_diagonal(expected, 7)
    np.testing.assert_array_equal(jnp.fill_diagonal(MATRIX, 7, inplace=False), expected)


@pytest.mark.parametrize("name", ["put", "put_along_axis", "place", "fill_diagonal"])
def test_writing_in_place_is_refused(name):
    arguments = {
        "put": (PAIR, 1),
        "put_along_axis": (PAIR[None], 1, 1),
        "place": (MATRIX > 0, 1),
        "fill_diagonal": (1,),
    }
    with pytest.raises((ValueError, NotImplementedError), match="inplace=False"):
        getattr(jnp, name)(MATRIX, *arguments[name])


def test_strict_promotion_holds_for_updates():
    with arrax.numpy_dtype_promotion("strict"):
        assert jnp.ones(2).at[0].set(2).dtype == np.float32
        with pytest.raises(arrax.dtypes.TypePromotionError):
            jnp.ones(2).at[0].set(jnp.int32(1))


def test_arithmetic_updates_of_bools_are_those_of_integers_made_bools():
    x = jnp.array([True, False, True])
    with pytest.warns(FutureWarning, match="incompatible types"):
        np.testing.assert_array_equal(x.at[:1].multiply(0), [False, False, True])
    for operation, value, expected in (
        ("add", True, [1, 1, 1]),
        ("multiply", False, [0, 0, 0]),
        ("subtract", True, [0, 1, 0]),
    ):
        for update in (lambda x, o=operation, v=value: getattr(x.at[:], o)(v),):
            for result in (update(x), arrax.jit(update)(x)):
                assert result.dtype == np.bool_
                np.testing.assert_array_equal(result, expected)


def test_functions_of_equal_parts_are_equal():
    add = lambda x, y: x + y  # noqa: E731
    assert jnp.frompyfunc(add, 2, 1) == jnp.frompyfunc(add, 2, 1)
    assert hash(jnp.frompyfunc(add, 2, 1)) == hash(jnp.frompyfunc(add, 2, 1))
    assert jnp.frompyfunc(add, 2, 1) != jnp.frompyfunc(add, 2, 1, identity=0)


@pytest.mark.parametrize("index", [0, slice(0, 2)])
def test_functions_of_elements_that_give_no_scalars_are_refused(index):
    with pytest.raises(
        TypeError, match=r"apply: func takes a scalar and must return one, but gave an array of shape \(2,\)"
    ):
        jnp.arange(3.0).at[index].apply(lambda _: jnp.ones(2))
