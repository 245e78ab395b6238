"""Parallel operators under vmap: values against NumPy on the whole batch, derivatives, errors."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import arrax
from arrax import lax
from arrax.lax import collectives

X = np.arange(12.0, dtype=np.float32).reshape(4, 3)
SQUARE = np.arange(16.0, dtype=np.float32).reshape(4, 4)
BLOCKS = np.arange(24.0, dtype=np.float32).reshape(2, 4, 3)


def over(f, *args, **options):
    return arrax.vmap(f, axis_name="i", **options)(*args)


def repeated(value, count):
    return np.broadcast_to(value, (count, *np.shape(value)))


# fmt: off
CASES = {
    "psum": (lambda v: collectives.psum(v, "i"), X, repeated(X.sum(0), 4)),
    "pmax": (lambda v: collectives.pmax(v, "i"), X, repeated(X.max(0), 4)),
    "pmin": (lambda v: collectives.pmin(v, "i"), X, repeated(X.min(0), 4)),
    "pmean": (lambda v: collectives.pmean(v, "i"), X, repeated(X.mean(0), 4)),
    "pmean of integers": (lambda v: collectives.pmean(v, "i"), np.arange(4), repeated(1.5, 4)),
    "psum of bools": (lambda v: collectives.psum(v, "i"), X > 3, repeated((X > 3).sum(0), 4)),
    "axis_index": (lambda v: lax.add(v, collectives.axis_index("i")), np.zeros(4, np.int32), np.arange(4)),
    "ppermute": (lambda v: collectives.ppermute(v, "i", [(0, 1), (1, 3)]), X,
                 np.stack([0 * X[0], X[0], 0 * X[0], X[1]])),
    "pshuffle": (lambda v: collectives.pshuffle(v, "i", [1, 0, 3, 2]), X, X[[1, 0, 3, 2]]),
    "pbroadcast": (lambda v: collectives.pbroadcast(v, "i", 2), X, repeated(X[2], 4)),
    "pswapaxes": (lambda v: collectives.pswapaxes(v, "i", 0), SQUARE, SQUARE.T),
    "all_gather": (lambda v: lax.all_gather(v, "i"), X, repeated(X, 4)),
    "all_gather axis": (lambda v: lax.all_gather(v, "i", axis=1), X, repeated(X.T, 4)),
    "all_gather last": (lambda v: lax.all_gather(v, "i", axis=-1), X, repeated(X.T, 4)),
    "all_gather tiled": (lambda v: lax.all_gather(v, "i", tiled=True), X, repeated(X.ravel(), 4)),
    "psum_scatter": (lambda v: collectives.psum_scatter(v, "i"), SQUARE, SQUARE.sum(0)),
    "psum_scatter tiled": (lambda v: collectives.psum_scatter(v, "i", tiled=True), BLOCKS,
                           BLOCKS.sum(0).reshape(2, 2, 3)),
    "all_to_all": (lambda v: collectives.all_to_all(v, "i", 0, 0), SQUARE, SQUARE.T),
    "all_to_all elsewhere": (lambda v: collectives.all_to_all(v, "i", 0, 1), BLOCKS[:, :2],
                             BLOCKS[:, :2].transpose(1, 2, 0)),
    "all_to_all tiled": (lambda v: collectives.all_to_all(v, "i", 0, 1, tiled=True), BLOCKS,
                         BLOCKS.reshape(2, 2, 2, 3).transpose(1, 2, 0, 3).reshape(2, 2, 6)),
    "psum in groups": (lambda v: collectives.psum(v, "i", axis_index_groups=[[0, 2], [1, 3]]), X,
                       (X[:2] + X[2:])[[0, 1, 0, 1]]),
    "pmax in groups": (lambda v: collectives.pmax(v, "i", axis_index_groups=[[0, 1], [2, 3]]), X, X[[1, 1, 3, 3]]),
    "pmean in uneven groups": (lambda v: collectives.pmean(v, "i", axis_index_groups=[[0], [1, 2, 3]]), X,
                               np.stack([X[0], *[X[1:].mean(0)] * 3])),
    "all_gather in groups": (lambda v: lax.all_gather(v, "i", axis_index_groups=[[0, 2], [1, 3]]), X,
                             np.stack([X[[0, 2]], X[[1, 3]]] * 2)),
    "pvary": (lambda v: collectives.pvary(v, "i"), X, X),
}
# fmt: on
LINEAR = [name for name in CASES if not any(word in name for word in ("pmax", "pmin", "integers", "bools", "index"))]


@pytest.mark.parametrize("wrap", [lambda f: f, arrax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_the_whole_batch(name, wrap):
    f, x, expected = CASES[name]
    assert_allclose(over(wrap(f), x), expected)
    assert_allclose(wrap(lambda x: over(f, x))(x), expected)


@pytest.mark.parametrize("name", CASES)
def test_the_mapped_axis_may_stand_anywhere(name):
    f, x, expected = CASES[name]
    assert_allclose(over(f, np.moveaxis(x, 0, -1).copy(), in_axes=x.ndim - 1), expected)


@pytest.mark.parametrize("name", CASES)
def test_another_mapped_axis_changes_nothing(name):
    f, x, expected = CASES[name]
    many = np.stack([x, x], -1)
    assert_allclose(arrax.vmap(lambda x: over(f, x), -1)(many), np.stack([expected, expected]))
    inside = arrax.vmap(arrax.vmap(f, in_axes=-1, out_axes=-1), axis_name="i")(many)
    assert_allclose(inside, np.stack([expected, expected], -1))


@pytest.mark.parametrize("name", LINEAR)
def test_linear_operators_have_the_transposed_derivative(name):
    """The sum over all examples of <w, f(x)> has the gradient f^T(w), inside and outside of vmap."""
    f, x, expected = CASES[name]
    weights = np.cos(np.arange(np.size(expected), dtype=np.float32)).reshape(np.shape(expected))

    def whole(x):
        out = lax.mul(over(f, x), weights)
        return lax.reduce_sum(out, tuple(range(weights.ndim)))

    def single(x, w):
        return lax.reduce_sum(lax.mul(f(x), w), tuple(range(weights.ndim - 1)))

    outside = np.asarray(arrax.grad(whole)(x))
    basis = np.eye(x.size, dtype=np.float32).reshape(x.size, *x.shape)
    expected_gradient = [np.sum(np.asarray(over(f, e)) * weights) for e in basis]
    assert_allclose(outside.ravel(), expected_gradient, rtol=1e-4, atol=1e-5)
    if "groups" not in name:
        assert_allclose(over(arrax.grad(single), x, weights), outside, rtol=1e-4, atol=1e-5)


def test_constants_are_folded_in_python():
    found = []

    def f(v):
        found.extend([collectives.psum(1, "i"), collectives.psum(2.5, "i"), collectives.axis_size("i")])
        assert_array_equal(collectives.psum(np.ones(2), "i"), [4, 4])
        return v

    over(f, X)
    assert found == [4, 10.0, 4] and [type(value) for value in found] == [int, float, int]


def test_unmapped_values_count_once_per_example():
    unmapped = np.ones(2, np.float32)
    out = arrax.vmap(lambda v, u: collectives.psum(u, "i"), (0, None), axis_name="i")(X, unmapped)
    assert_allclose(out, np.full((4, 2), 4))


def test_pytrees_are_mapped_over_their_leaves():
    out = over(lambda v: collectives.psum({"a": v, "b": 1}, "i"), X)
    assert_allclose(out["a"], repeated(X.sum(0), 4))
    assert_array_equal(out["b"], [4, 4, 4, 4])


def over_two(f, x):
    return arrax.vmap(arrax.vmap(f, axis_name="j"), axis_name="i")(x)


def test_several_axes_at_once():
    assert_allclose(over_two(lambda v: collectives.psum(v, ("i", "j")), X), np.full((4, 3), X.sum()))
    assert_allclose(over_two(lambda v: collectives.pmax(v, ("i", "j")), X), np.full((4, 3), X.max()))
    assert_allclose(over_two(lambda v: collectives.psum(v, "i"), X), repeated(X.sum(0), 4))
    assert_array_equal(over_two(lambda v: collectives.axis_index(("i", "j")), X), np.arange(12).reshape(4, 3))
    gathered = over_two(lambda v: lax.all_gather(v, ("i", "j")), X)
    assert_allclose(gathered, np.broadcast_to(X.ravel(), (4, 3, 12)))


def test_nested_programs_see_the_axis():
    def f(v):
        total = lax.scan(lambda c, x: (lax.add(c, collectives.psum(x, "i")), None), np.float32(0), v)[0]
        return lax.cond(lax.gt(total, 0.0), lambda t: collectives.pmean(t, "i"), lambda t: t, total)

    assert_allclose(over(f, X), np.full(4, X.sum()))


@pytest.mark.parametrize(
    "call",
    [
        lambda: collectives.psum(X, "i"),
        lambda: collectives.axis_index("i"),
        lambda: collectives.axis_size("i"),
        lambda: lax.all_gather(X, "i"),
        lambda: arrax.jit(lambda x: collectives.pmax(x, "i"))(X),
        lambda: arrax.vmap(lambda x: collectives.ppermute(x, "i", []), axis_name="j")(X),
    ],
)
def test_unbound_names_are_refused(call):
    with pytest.raises(NameError, match="unbound axis name: i. Here (no named axis is|.j. is|in scope are .j.)"):
        call()


@pytest.mark.parametrize("name", [{}, {"i"}, [["i"]], np.ones(2)])
@pytest.mark.parametrize(
    "operation",
    [
        lambda name: collectives.psum(X, name),
        lambda name: collectives.pmean(X, name),
        lambda name: lax.all_gather(X, name),
        lambda name: collectives.all_to_all(X, name, 0, 0),
    ],
)
def test_what_cannot_be_a_name_is_refused(operation, name):
    with pytest.raises(TypeError, match="the name of an axis must be hashable"):
        operation(name)


def test_over_no_axes_values_stay_and_nothing_moves():
    for whole in (lax.all_gather(X, ()), lax.all_gather(X, [], tiled=True), collectives.psum_scatter(X, ())):
        assert_array_equal(whole, X)
    assert collectives.axis_index(((),)) == 0
    for move in (
        lambda: collectives.all_to_all(X, (), 0, 0),
        lambda: collectives.ppermute(X, [], [(0, 0)]),
        lambda: collectives.pbroadcast(X, (), 0),
    ):
        with pytest.raises(ValueError, match="axis_name must name an axis"):
            move()


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda v: collectives.ppermute(v, "i", [(0, 1), (0, 2)]), "sources"),
        (lambda v: collectives.ppermute(v, "i", [(0, 1), (2, 1)]), "destinations"),
        (lambda v: collectives.ppermute(v, "i", [(0, 9)]), "axis of size 4"),
        (lambda v: collectives.ppermute(v, "i", [(0, 1, 2)]), "pairs"),
        (lambda v: collectives.pshuffle(v, "i", [0, 0, 1, 2]), "no permutation"),
        (lambda v: collectives.psum(v, "i", axis_index_groups=[[0, 1]]), "exactly once"),
        (lambda v: collectives.psum(v, ("i", "i")), "must differ"),
        (lambda v: collectives.pmax(v, ("i", "i")), "must differ"),
        (lambda v: collectives.psum_scatter(v, "i"), "equal to the axis size 4"),
        (lambda v: collectives.all_to_all(v, "i", 0, 0, tiled=True), "a multiple of the axis size 4"),
        (lambda v: lax.all_gather(v, "i", axis=5), "out of bounds"),
        (lambda v: collectives.pbroadcast(v, "i", 4), "no index"),
        (lambda v: collectives.pcast(v, "i", to="nowhere"), "nowhere"),
        (lambda v: collectives.pcast(v, "i", to="invariant"), "invariant"),
    ],
)
def test_wrong_arguments_are_refused(f, words):
    with pytest.raises(ValueError, match=words):
        over(f, X)


@pytest.mark.parametrize(
    "f",
    [
        lambda v: collectives.ppermute(v, "i", [(0.0, 1.0)]),
        lambda v: collectives.pshuffle(v, "i", [1.0, 0.0, 3.0, 2.0]),
        lambda v: collectives.psum(v, "i", axis_index_groups=[[0.0, 1.0], [2.0, 3.0]]),
        lambda v: collectives.pbroadcast(v, "i", 1.0),
        lambda v: collectives.all_to_all(v, "i", 1.5, 0),
    ],
)
def test_indices_along_axes_are_integers(f):
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        over(f, X)


@pytest.mark.parametrize("f", [collectives.psum, collectives.pmax, collectives.pmin, collectives.psum_scatter])
def test_keys_are_not_reduced(f):
    with pytest.raises(TypeError, match=f"{f.__name__} does not accept dtype key<fry>"):
        arrax.vmap(lambda k: f(k, "i"), axis_name="i")(arrax.random.split(arrax.random.key(0), (2, 2)))


@pytest.mark.parametrize("f", [collectives.psum, collectives.pmax, collectives.pmin], ids=lambda f: f.__name__)
def test_reductions_over_no_axis_change_nothing(f):
    np.testing.assert_array_equal(over(lambda v: f(v, ()), X), X)


@pytest.mark.parametrize("names", [("i", "j"), ("j", "i")])
@pytest.mark.parametrize("tiled", [False, True])
def test_an_exchange_over_several_axes(names, tiled):
    sizes = {"i": 2, "j": 3}
    for split, concat in ((0, 0), (0, 1), (1, 0)):
        shape = [4, 4]
        shape[split] = 12 if tiled else 6
        x = np.random.default_rng(0).integers(0, 100, (2, 3, *shape))
        function = lambda v, split=split, concat=concat: lax.all_to_all(v, names, split, concat, tiled=tiled)  # noqa: E731
        found = arrax.vmap(arrax.vmap(function, axis_name="j"), axis_name="i")(x)
        places = list(itertools.product(*(range(sizes[name]) for name in names)))
        order = [place if names == ("i", "j") else place[::-1] for place in places]
        for number, here in enumerate(order):
            pieces = [
                np.split(x[there], 6, split)[number] if tiled else np.take(x[there], number, split) for there in order
            ]
            expected = np.concatenate(pieces, concat) if tiled else np.stack(pieces, concat)
            np.testing.assert_array_equal(found[here], expected)


def test_integers_among_the_axes_are_those_of_the_operand():
    both = {
        "psum": (lambda v: collectives.psum(v, (0, "i")), X.sum()),
        "pmean": (lambda v: collectives.pmean(v, ("i", -1)), X.mean()),
        "pmax": (lambda v: collectives.pmax(v, (0, "i")), X.max()),
        "pmin": (lambda v: collectives.pmin(v, (0, "i")), X.min()),
    }
    for f, wanted in both.values():
        assert_allclose(over(f, X), np.full(4, wanted), rtol=1e-6)
    assert_allclose(arrax.vmap(lambda v: collectives.psum(v, 0))(X), X.sum(1), rtol=1e-6)
    assert collectives.psum(np.array([True, True, False]), 0) == 2 and collectives.pmean(np.arange(4), 0) == 1.5
    assert_array_equal(arrax.grad(lambda v: collectives.psum(v, 0))(np.ones(3, np.float32)), np.ones(3))
    for x in (1, np.ones(2)):
        with pytest.raises(ValueError, match="psum: axis 1 is out of bounds"):
            collectives.psum(x, 1)
