"""Reading at an index: every form against NumPy, on the host, compiled, under jit, vmap and grad; modes; refusals."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.numpy_api import host, indexing
from arrax.numpy_api.index_objects import c_, mgrid, ogrid, r_
from arrax.numpy_api.index_tricks import ix_
from tests.support import check_gradients

ALL = slice(None)
PAIR, ONE, NEGATIVE, SQUARE = np.array([0, 1]), np.array([1]), np.array([-1, 0]), np.array([[0, 1], [1, 0]])
EMPTY = np.zeros(0, int)
ODD = np.array([True, False, True])

ARRAYS = {
    0: np.float32(3).reshape(()),
    1: np.arange(5, dtype=np.float32),
    2: np.arange(12, dtype=np.int32).reshape(3, 4),
    3: np.arange(24, dtype=np.float32).reshape(2, 3, 4),
}
# fmt: off
FORMS = {
    0: [(), ..., None, (None, ...), (..., None, None), True, False, np.array(True), (True, None)],
    1: [0, -1, 4, ALL, slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(4, None, -2), slice(3, 1),
        slice(-3, None), slice(1, 100), PAIR, NEGATIVE, SQUARE, EMPTY, None, (None, PAIR), (PAIR, None), ..., (..., 0),
        (0, ...), (0, None), np.array([True] * 5), np.array([True, False, False, True, True]), True, False, (True, PAIR),
        np.int8(3), np.array(2), np.uint8([1, 2]), (slice(1, 4, 2), None)],
    2: [0, -1, (1, 2), (-1, -1), (ALL, 1), (slice(0, 2), slice(1, 3)), (slice(None, None, -1), slice(None, None, -2)),
        (1, slice(None, None, 2)), PAIR, (PAIR, PAIR), (PAIR, 1), (1, PAIR), (ALL, PAIR), (PAIR, slice(1, 3)),
        (PAIR, slice(None, None, 2)), (slice(None, None, 2), PAIR), (SQUARE, PAIR), (SQUARE[:, :, None], PAIR),
        (None, PAIR, ALL), (PAIR, None, PAIR), (PAIR, None, 1), (ALL, PAIR, None), (..., PAIR), (PAIR, ...),
        (..., None, PAIR), ODD, (ODD, 0), (ODD, PAIR), (ODD, slice(1, 3)), (ALL, np.array([True, False, True, True])),
        np.array([[True] * 4, [False] * 4, [True, False] * 2]), EMPTY, (EMPTY, EMPTY), (EMPTY, slice(0, 0)),
        (slice(0, 0), PAIR), (1, ..., 2), (1, 2, ...), (True, 0), (True, PAIR), (False, ALL), (1, True),
        (ALL, True, PAIR), ([0, 1], 1), (1, [0, 1]), ([True, False, True], [0, 1]), (np.int64(1), np.int8(2)),
        (PAIR, slice(3, 0, -2))],
    3: [0, (0, 1), (0, 1, 2), (ALL, 1), (ALL, 1, slice(1, 3)), (0, ALL, PAIR), (PAIR, ALL, PAIR), (ALL, PAIR, PAIR),
        (PAIR, PAIR), (PAIR, PAIR, PAIR), (0, PAIR, ALL), (ALL, 0, PAIR), (PAIR, ALL, 0), (0, ALL, 0),
        (PAIR, None, ALL, PAIR), (..., PAIR), (PAIR, ..., PAIR), (PAIR, PAIR, ...), (ALL, PAIR, ..., PAIR),
        (ALL, PAIR, ..., ONE), (0, ..., PAIR), (SQUARE, slice(1, 2), 0),
        (slice(None, None, -1), PAIR, slice(None, None, -1)), (ALL, ODD), (ALL, ODD, 0), (ALL, ODD, PAIR),
        (np.ones((2, 3), bool),), (np.ones((2, 3), bool), slice(0, 2)), (ALL, np.ones((3, 4), bool)), (0, ODD, ALL),
        (None, PAIR, None, PAIR, None), (PAIR, 0, ALL), (ALL, 0, ..., None), (PAIR, ALL, SQUARE)],
}
# fmt: on
CASES = [(rank, form) for rank, forms in FORMS.items() for form in forms]
each_form = pytest.mark.parametrize(
    ("rank", "form"), CASES, ids=[f"{rank}-{form}".replace("\n", "") for rank, form in CASES]
)


def with_arrays(form, convert):
    """An index with its NumPy arrays converted."""
    if isinstance(form, tuple):
        return tuple(with_arrays(entry, convert) for entry in form)
    return convert(form) if isinstance(form, np.ndarray) else form


def is_known(form):
    """Whether all entries may be data: masks may not."""
    entries = form if isinstance(form, tuple) else (form,)
    return not any(np.asarray(entry).dtype == bool for entry in entries if isinstance(entry, np.ndarray | list | bool))


def assert_equal(actual, expected):
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@each_form
@pytest.mark.parametrize("convert", [lambda a: a, jnp.asarray], ids=["numpy", "array"])
def test_every_form_means_what_it_means_to_numpy(rank, form, convert):
    x, index = jnp.asarray(ARRAYS[rank]), with_arrays(form, convert)
    assert_equal(x[index], ARRAYS[rank][form])
    assert_equal(indexing.rewriting_take(x, index), ARRAYS[rank][form])


@each_form
def test_every_form_is_the_same_under_jit(rank, form):
    assert_equal(arrax.jit(lambda x: x[form])(ARRAYS[rank]), ARRAYS[rank][form])


TRACED = [(rank, form) for rank, form in CASES[40:] if is_known(form)][::3]


@pytest.mark.parametrize(("rank", "form"), TRACED, ids=str)
def test_indices_may_be_traced_and_batched(rank, form):
    x, arrays = ARRAYS[rank], []
    with_arrays(form, arrays.append)

    def read(x, *arrays):
        rest = iter(arrays)
        return x[with_arrays(form, lambda _: next(rest))]

    expected, flipped = x[form], x[::-1][form]
    batch, x = np.stack([x, x[::-1]]), jnp.asarray(x)
    assert_equal(arrax.jit(read)(x, *arrays), expected)
    assert_equal(arrax.vmap(lambda x: read(x, *arrays))(batch), np.stack([expected, flipped]))
    if arrays:
        twice = [np.stack([a, a]) for a in arrays]
        assert_equal(arrax.vmap(read)(batch, *twice), np.stack([expected, flipped]))
        assert_equal(arrax.vmap(lambda *i: read(x, *i))(*twice), np.stack([expected, expected]))


@pytest.mark.parametrize("form", FORMS[3][::2], ids=str)
def test_derivatives(form):
    check_gradients(lambda x: jnp.asarray(x)[form], [ARRAYS[3]])


# Out of bounds

FAR = np.array([5, -7, 1])


@pytest.fixture(params=["host", "compiled", "jit"])
def read(request, monkeypatch):
    if request.param == "compiled":
        monkeypatch.setattr(host, "MAX_ELEMENTS", 0)
    if request.param == "jit":
        return lambda x, index, **flags: arrax.jit(lambda x: x.at[index].get(**flags))(x)
    return lambda x, index, **flags: x.at[index].get(**flags)


MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("index", [5, -5, (5, 1), (1, 7), FAR, (FAR, 1), (5, PAIR), (FAR, slice(1, 3))], ids=str)
def test_reads_out_of_bounds_are_clamped_or_filled(read, index):
    entries = index if isinstance(index, tuple) else (index,)
    bounded, missing = [], False
    for entry, length in zip(entries, MATRIX.shape, strict=False):
        if not isinstance(entry, slice):
            entry = np.where(np.asarray(entry) < 0, np.asarray(entry) + length, entry)
            missing |= (entry < 0) | (entry >= length)
            entry = np.clip(entry, 0, length - 1)
        bounded.append(entry)
    clamped = MATRIX[tuple(bounded)]
    missing = np.reshape(missing, np.shape(missing) + (1,) * (clamped.ndim - np.ndim(missing)))
    x = jnp.asarray(MATRIX)
    for mode in (None, "clip", "promise_in_bounds"):
        np.testing.assert_array_equal(read(x, index, mode=mode), clamped)
    for mode in ("fill", "drop"):
        np.testing.assert_array_equal(read(x, index, mode=mode), np.where(missing, np.nan, clamped))
    np.testing.assert_array_equal(read(x, index, mode="fill", fill_value=7), np.where(missing, 7, clamped))


def test_negative_indices_can_be_left_alone(read):
    x = jnp.asarray(MATRIX)
    np.testing.assert_array_equal(read(x, -1, wrap_negative_indices=False), MATRIX[0])
    filled = read(x, NEGATIVE, wrap_negative_indices=False, mode="fill")
    np.testing.assert_array_equal(filled, [[np.nan] * 4, MATRIX[0]])


def test_great_unsigned_indices_are_out_of_bounds(read):
    assert read(jnp.arange(3), jnp.asarray([2**32 - 1], jnp.uint32))[0] == 2


def test_reads_from_nothing():
    nothing = jnp.zeros((0, 3))
    assert nothing[EMPTY].shape == (0, 3)
    assert nothing[1:].shape == (0, 3)
    for index in (0, PAIR):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 0"):
            nothing[index]


def test_weak_types_stay_weak():
    assert (jnp.asarray(1.0))[None].weak_type
    assert not jnp.arange(3)[0].weak_type


def test_iteration_gives_the_entries_of_the_first_axis():
    assert [row.tolist() for row in jnp.asarray(MATRIX)] == MATRIX.tolist()
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(jnp.float32(1))


@pytest.mark.parametrize("length", [192, 193, 383, 384, 1000])
def test_iteration_over_long_axes_gives_each_entry_once(length):
    assert [int(entry) for entry in jnp.arange(length)] == list(range(length))


def test_static_indices_become_slices():
    def names(form):
        return [eqn.primitive.name for eqn in arrax.make_jaxpr(lambda x: x[form])(MATRIX).eqns]

    assert names(1) == ["slice", "squeeze"]
    assert names((1, slice(0, 2))) == ["slice", "squeeze"]
    assert names(slice(None, None, -1)) == ["rev"]
    assert names((slice(None, None, 2), None)) == ["slice", "broadcast_in_dim"]
    assert names(...) == []
    assert names(PAIR) == ["gather"]


def test_scalar_indices_become_dynamic_slices():
    program = arrax.make_jaxpr(lambda x, i: x[i, 1:3])(MATRIX, np.int32(1))
    assert [eqn.primitive.name for eqn in program.eqns][-2:] == ["dynamic_slice", "squeeze"]


@pytest.mark.parametrize("update", [lambda row, x: row.set(x), lambda row, x: row.add(x)], ids=["set", "add"])
def test_updates_at_scalar_indices_work_on_the_window_as_it_lies(update):
    """Without reshapes between, the compiler reads, chooses and writes in one loop."""
    text = str(arrax.make_jaxpr(lambda x, i: update(x.at[i], x[0]))(jnp.ones((4, 3)), 2))
    assert text.count("dynamic_update_slice") == 1
    assert text.count("squeeze") == 1 and "reshape" not in text  # the row that is read


# Refusals


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        ((0, 0, 0), IndexError, "Too many indices"),
        ((..., ...), IndexError, "ellipsis"),
        ([0, 1], TypeError, r"use `arr\[array\(seq\)\]` instead"),
        ([], TypeError, "non-tuple sequence"),
        ([slice(0, 1)], TypeError, r"use `arr\[tuple\(seq\)\]` instead"),
        (range(2), TypeError, "non-tuple sequence"),
        (1.0, TypeError, "integer or boolean type"),
        (np.float32(1), TypeError, "integer or boolean type"),
        (np.array([0.0]), TypeError, "got indexer with type float"),
        (1j, TypeError, "integer or boolean type"),
        ("a", TypeError, "string indexing"),
        (slice(1.0, None), TypeError, "integer"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero"),
        ({}, IndexError, "only integers, slices"),
        (np.array([True, False]), IndexError, "boolean index"),
        (np.ones((3, 4, 1), bool), IndexError, "Too many indices"),
        ((PAIR, np.arange(3)), ValueError, "Incompatible shapes"),
    ],
    ids=str,
)
def test_what_is_no_index_is_refused(index, error, words):
    for x in (jnp.asarray(MATRIX), jnp.zeros((300, 400))[:3, :4]):
        with pytest.raises(error, match=words):
            x[index]
    with pytest.raises(error, match=words):
        arrax.jit(lambda x: x[index])(MATRIX)


def test_traced_masks_and_bounds_are_refused():
    with pytest.raises(
        arrax.errors.NonConcreteBooleanIndexError, match=r"must be concrete: ShapedArray\(bool\[3,4\]\)"
    ):
        arrax.jit(lambda x: x[x > 0])(MATRIX)
    with pytest.raises(IndexError, match="static integers"):
        arrax.jit(lambda x, i: x[i : i + 1])(MATRIX, 1)


def test_assignment_is_refused():
    with pytest.raises(TypeError, match="does not support item assignment. JAX arrays are immutable"):
        jnp.arange(3)[0] = 1


def test_unknown_modes_are_refused():
    with pytest.raises(ValueError, match="Unknown gather mode"):
        jnp.arange(3).at[0].get(mode="wrap")


# take


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("indices", [np.array([0, 2]), SQUARE, np.int32(1), EMPTY], ids=str)
def test_take_is_that_of_numpy(axis, indices):
    assert_equal(jnp.take(jnp.asarray(MATRIX), indices, axis=axis), np.take(MATRIX, indices, axis=axis))


def test_take_out_of_bounds():
    x, far = jnp.arange(12), np.array([-1, 99, -13])
    assert jnp.take(x, far).tolist() == [11, -(2**31), -(2**31)]
    assert jnp.take(x, far, fill_value=5).tolist() == [11, 5, 5]
    assert jnp.take(x, far, mode="clip").tolist() == [0, 11, 0]
    assert jnp.take(x, far, mode="wrap").tolist() == [11, 3, 11]
    with pytest.raises(NotImplementedError, match="raise"):
        jnp.take(x, far, mode="raise")
    with pytest.raises(TypeError):
        jnp.take(x, np.array([0.0]))
    with pytest.raises(TypeError, match="position 1"):
        jnp.take(x, [0, 1])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take_along_axis_is_that_of_numpy(axis):
    order = np.argsort(-MATRIX, axis=axis)
    assert_equal(jnp.take_along_axis(MATRIX, order, axis), np.take_along_axis(MATRIX, order, axis))
    assert_equal(
        arrax.jit(lambda x, i: jnp.take_along_axis(x, i, axis))(MATRIX, order), np.take_along_axis(MATRIX, order, axis)
    )
    check_gradients(lambda x: jnp.take_along_axis(x, order, axis), [MATRIX])


def test_take_along_axis_out_of_bounds():
    indices = np.array([[0, 9], [1, -1], [2, -9]])
    filled = [[0, np.nan], [5, 7], [10, np.nan]]
    np.testing.assert_array_equal(jnp.take_along_axis(MATRIX, indices, 1), filled)
    np.testing.assert_array_equal(jnp.take_along_axis(MATRIX, indices, 1, mode="clip"), [[0, 3], [5, 7], [10, 8]])
    assert jnp.take_along_axis(MATRIX, np.array([0, 5]), None).tolist() == [0, 5]
    assert jnp.take_along_axis(MATRIX, np.array([[1]]), 1).tolist() == [[1], [5], [9]]
    with pytest.raises(TypeError, match="integer"):
        jnp.take_along_axis(MATRIX, indices.astype(float), 1)
    with pytest.raises(ValueError, match="same number of dimensions"):
        jnp.take_along_axis(MATRIX, np.array([0]), 1)


# Making indices


def test_index_makers_are_those_of_numpy():
    for name, arguments in {
        "diag_indices": (3, 3), "tril_indices": (3, 1, 4), "triu_indices": (3, -1, 4), "tril_indices_from": (MATRIX, 1),
        "triu_indices_from": (MATRIX,), "diag_indices_from": (MATRIX[:, :3],), "indices": ((2, 3),),
        "unravel_index": (np.array([5, 11]), (3, 4)), "ravel_multi_index": ((PAIR, PAIR), (3, 4)),
    }.items():  # fmt: skip
        np.testing.assert_array_equal(getattr(jnp, name)(*arguments), getattr(np, name)(*arguments), err_msg=name)
    np.testing.assert_array_equal(jnp.mask_indices(3, jnp.triu, 1), np.mask_indices(3, np.triu, 1))
    assert [len(places) for places in jnp.mask_indices(3, jnp.triu, size=2)] == [2, 2]
    assert [places.shape for places in jnp.indices((2, 3), sparse=True)] == [(2, 1), (1, 3)]


def test_flat_indices_out_of_bounds():
    np.testing.assert_array_equal(jnp.unravel_index(np.array([99, -1, -99]), (3, 4)), [[2, 2, 0], [3, 3, 0]])
    far = (np.array([1, 9]), np.array([0, -3]))
    for mode in ("clip", "wrap"):
        expected = np.ravel_multi_index(far, (3, 4), mode=mode)
        np.testing.assert_array_equal(jnp.ravel_multi_index(far, (3, 4), mode=mode), expected)
    with pytest.raises(ValueError, match="invalid entry in coordinates array"):
        jnp.ravel_multi_index(far, (3, 4))
    with pytest.raises(arrax.errors.ConcretizationTypeError):
        arrax.jit(lambda i: jnp.ravel_multi_index((i, i), (3, 4)))(PAIR)
    assert jnp.ravel_multi_index((1, 2), (3, 4), order="F") == np.ravel_multi_index((1, 2), (3, 4), order="F")


def test_what_fills_is_a_known_scalar():
    x = jnp.arange(3.0)
    ways = [
        lambda value: x.at[9].get(mode="fill", fill_value=value), lambda value: jnp.take(x, 9, fill_value=value),
        lambda value: jnp.take_along_axis(x, jnp.array([9]), 0, mode="fill", fill_value=value),
    ]  # fmt: skip
    for way in ways:
        with pytest.raises(arrax.errors.ConcretizationTypeError, match="fill_value"):
            arrax.jit(way)(1.0)
        with pytest.raises(ValueError, match="fill_value must be a scalar, got shape"):
            way(np.ones(2))


def test_grids_are_those_of_numpy():
    for key in (np.s_[0:3], np.s_[0:3, 1:5:2], np.s_[0:1:3j], np.s_[0:1:3j, 0:2]):
        np.testing.assert_allclose(mgrid[key], np.mgrid[key])
        dense, open_ = ogrid[key], np.ogrid[key]
        for ours, theirs in zip(dense, open_, strict=True):
            np.testing.assert_allclose(ours, theirs)
    for key in (
        np.s_[1:4, 0, 5.0],
        np.s_["0,2", [1, 2], [3, 4]],
        np.s_["r", [1, 2]],
        np.s_["c", [1, 2]],
        np.s_[0:1:3j, 2],
    ):
        np.testing.assert_allclose(r_[key], np.r_[key])
    for key in (np.s_[1:3], np.s_[PAIR, PAIR], np.s_[MATRIX, 0:3]):
        np.testing.assert_allclose(c_[key], np.c_[key])
    rows, columns = ix_(np.array([0, 2]), np.array([1, 3]))
    np.testing.assert_array_equal(jnp.asarray(MATRIX)[rows, columns], MATRIX[np.ix_([0, 2], [1, 3])])
