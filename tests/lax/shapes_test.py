"""Operations that only move elements or make them, against NumPy: any shapes by hypothesis, derivatives, batches."""

import math

import hypothesis
import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.support import check_batching, check_gradients

few = hypothesis.settings(max_examples=25, deadline=None, derandomize=True, database=None)
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
DTYPES = ["bool", "int4", "int8", "uint32", "float16", "float32", "complex64", "bfloat16", "float8_e4m3fn"]


def array(shape, dtype=np.float32):
    return np.arange(math.prod(shape)).reshape(shape).astype(getattr(ml_dtypes, str(dtype), dtype))


@few
@hypothesis.given(shapes, st.randoms(use_true_random=False))
def test_any_array_can_be_transposed_reversed_reshaped_and_repeated(shape, random):
    x, rank = array(shape), len(shape)
    order = random.sample(range(rank), rank)
    np.testing.assert_array_equal(lax.transpose(x, order), np.transpose(x, order))
    axes = [axis for axis in range(rank) if random.random() < 0.5]
    np.testing.assert_array_equal(lax.rev(x, axes), np.flip(x, axes))
    np.testing.assert_array_equal(lax.reshape(x, (math.prod(shape),), order), np.transpose(x, order).ravel())
    sizes = (random.randint(0, 3), random.randint(0, 3))
    np.testing.assert_array_equal(lax.broadcast(x, sizes), np.broadcast_to(x, (*sizes, *shape)))
    places = sorted(random.sample(range(rank + 2), rank))
    grown = [1] * (rank + 2)
    for place, length in zip(places, shape, strict=True):
        grown[place] = length
    full = tuple(length if at in places else random.randint(0, 3) for at, length in enumerate(grown))
    np.testing.assert_array_equal(lax.broadcast_in_dim(x, full, places), np.broadcast_to(x.reshape(grown), full))
    new = sorted(random.sample(range(rank + 2), 2))
    np.testing.assert_array_equal(lax.expand_dims(x, new), np.expand_dims(x, new))
    np.testing.assert_array_equal(lax.squeeze(lax.expand_dims(x, new), new), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_moves(dtype):
    x = array((2, 3), dtype)
    for out, expected in (
        (lax.transpose(x, (1, 0)), x.T),
        (lax.rev(x, (1,)), x[:, ::-1]),
        (lax.reshape(x, (3, 2)), x.reshape(3, 2)),
        (lax.broadcast_in_dim(x, (2, 2, 3), (1, 2)), np.stack([x, x])),
        (lax.squeeze(x[:1], (0,)), x[0]),
        (lax.full_like(x, 1), np.ones_like(x)),
        (lax.full((2,), 1, x.dtype), np.ones(2, x.dtype)),
    ):
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(out).view(np.uint8) if x.dtype.itemsize == 1 else out,
                                      expected.astype(x.dtype).copy().view(np.uint8) if x.dtype.itemsize == 1 else expected)  # fmt: skip
    if dtype != "bool":
        assert lax.iota(x.dtype, 3).dtype == x.dtype


# fmt: off
MOVES = {
    "broadcast":        lambda x: lax.broadcast(x, (2,)),
    "broadcast_in_dim": lambda x: lax.broadcast_in_dim(x, (2, 2, 5, 3), (0, 3)),
    "broadcast ones":   lambda x: lax.broadcast_in_dim(lax.reshape(x, (1, 6)), (4, 6), (0, 1)),
    "broadcast_to_rank": lambda x: lax.broadcast_to_rank(x, 4),
    "collapse":         lambda x: lax.collapse(x, 0, 2),
    "expand_dims":      lambda x: lax.expand_dims(x, (0, -1)),
    "reshape":          lambda x: lax.reshape(x, (3, 2)),
    "reshape order":    lambda x: lax.reshape(x, (3, 2), (1, 0)),
    "rev":              lambda x: lax.rev(x, (0,)),
    "squeeze":          lambda x: lax.squeeze(lax.expand_dims(x, (1,)), (1,)),
    "transpose":        lambda x: lax.transpose(x, (1, 0)),
    "convert":          lambda x: lax.convert_element_type(x, x.dtype),
    "copy":             lambda x: lax.copy_p.bind(x),
}
# fmt: on
each_move = pytest.mark.parametrize("name", MOVES)


@each_move
def test_derivatives_agree_with_differences(name):
    check_gradients(lambda x: MOVES[name](x) ** 2, [array((2, 3))], order=2)


@each_move
def test_batches_agree_with_loops(name):
    check_batching(MOVES[name], [array((2, 3))])
    middle = arrax.vmap(MOVES[name], 1, 1)(np.stack([array((2, 3)), -array((2, 3))], 1))
    np.testing.assert_array_equal(np.moveaxis(np.asarray(middle), 1, 0)[1], MOVES[name](-array((2, 3))))


def test_numbers_are_made():
    np.testing.assert_array_equal(lax.iota(np.int32, 4), np.arange(4))
    np.testing.assert_array_equal(lax.broadcasted_iota(np.float32, (2, 3), 1), [[0, 1, 2]] * 2)
    np.testing.assert_array_equal(lax.full((2, 2), 7.0), np.full((2, 2), 7))
    assert lax.full((2,), 1, np.int8).dtype == np.int8
    assert lax.full_like(array((2, 3)), 1, np.int32, (4,)).shape == (4,)
    assert lax.empty((2, 3), np.float32).shape == (2, 3)
    assert lax.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    with pytest.raises(TypeError, match="dtype bool"):
        lax.iota(bool, 3)


X = array((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.reshape(X, (4,)), TypeError, r"(?s)\(4,\).*\(2, 3\)|\(2, 3\).*\(4,\)"),
        (lambda: lax.reshape(X, (6,), (0, 0)), TypeError, "permutation|dimensions"),
        (lambda: lax.transpose(X, (0,)), TypeError, "permutation"),
        (lambda: lax.transpose(X, (0, 0)), TypeError, "permutation"),
        (lambda: lax.rev(X, (2,)), TypeError, "less than operand ndim"),
        (lambda: lax.rev(X, (0, 0)), TypeError, "unique|twice|repeat"),
        (lambda: lax.squeeze(X, (0,)), ValueError, "cannot|size|length"),
        (lambda: lax.squeeze(X, (2,)), ValueError, "out of bounds"),
        (lambda: lax.expand_dims(X, (0, 0)), ValueError, "repeated|unique|twice"),
        (lambda: lax.broadcast_in_dim(X, (2, 4), (0, 1)), TypeError, "length 3 cannot become axis 1 of length 4"),
        (lambda: lax.broadcast_in_dim(X, (2, 3), (0,)), TypeError, "ndim"),
        (lambda: lax.broadcast_in_dim(X, (3, 2), (0, 0)), TypeError, "different ones|axis 0"),
        (lambda: lax.broadcast_shapes((2,), (3,)), ValueError, r"shapes=\[\(2,\), \(3,\)\]"),
        (lambda: lax.full((-1,), 0), TypeError, "-1|negative|non-negative"),
        (lambda: lax.full((2.5,), 0), TypeError, "integer"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_no_axes_collapse_to_one_of_length_one():
    assert lax.collapse(np.ones((2, 3)), 1, 1).shape == (2, 1, 3)


def test_integers_of_any_size_that_the_dtype_holds_fill_arrays():
    jnp = arrax.numpy
    greatest = 2**32 - 1
    for make in (
        lambda: jnp.full(3, greatest, "uint32"), lambda: jnp.full_like(jnp.zeros(3, "uint32"), greatest),
        lambda: lax.full((3,), greatest, "uint32"), lambda: lax.full_like(jnp.zeros(3, "uint32"), greatest),
    ):  # fmt: skip
        for value in (make(), arrax.jit(make)()):
            assert value.dtype == np.uint32
            np.testing.assert_array_equal(value, [greatest] * 3)
    assert lax.convert_element_type(2**40, np.float32) == 2.0**40
    assert lax.full((), -1, "uint8") == 255
    with arrax.enable_x64(True):
        assert int(jnp.full((), 2**64 - 1, "uint64")) == 2**64 - 1


def test_arrays_of_one_number_are_weakly_typed_where_no_place_is_asked_for():
    (device,) = arrax.devices()[:1]
    place = arrax.sharding.SingleDeviceSharding(device)
    assert all(x.weak_type for x in (lax.full((2,), 1), lax.full_like(1, 2), jnp.full(2, 1), jnp.zeros_like(1)))
    placed = [
        lax.full((2,), 1, sharding=place), lax.full_like(1, 2, sharding=place), jnp.full(2, 1, device=device),
        *(like(1, device=device) for like in (jnp.zeros_like, jnp.ones_like, jnp.empty_like)),
        jnp.full_like(1, 2, device=device),
    ]  # fmt: skip
    assert all(not x.weak_type and x.committed and x.sharding == place for x in placed)
