"""``ragged_all_to_all`` under ``vmap``, against loops over sources and destinations."""

import numpy as np
import pytest

import arrax
from arrax import lax
from tests.support import check_gradients

SEND = np.array([[1, 2, 0], [0, 1, 3], [2, 1, 1]])  # rows from source to destination


def starts(sizes):
    return np.cumsum(sizes, 1) - sizes


RNG = np.random.default_rng(0)
OPERAND, OUTPUT = RNG.standard_normal((2, 3, 6, 2))
TABLES = (starts(SEND), SEND, starts(SEND.T).T, SEND.T)


def exchange(operand, output):
    return arrax.vmap(lambda *xs: lax.ragged_all_to_all(*xs, axis_name="i"), axis_name="i")(operand, output, *TABLES)


def test_pieces_arrive_at_their_places_and_the_rest_stays():
    expected = OUTPUT.copy()
    for source, destination in np.ndindex(3, 3):
        size, to, start = SEND[source, destination], TABLES[2][source, destination], TABLES[0][source, destination]
        expected[destination, to : to + size] = OPERAND[source, start : start + size]
    with arrax.enable_x64():
        np.testing.assert_array_equal(exchange(OPERAND, OUTPUT), expected)


def test_derivatives_agree_with_differences():
    check_gradients(exchange, (OPERAND, OUTPUT))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({5: np.zeros((1, 1), np.int32)}, "vectors recv_sizes"),
        ({3: np.zeros(1, np.float32)}, "integer send_sizes"),
        ({1: np.zeros((3, 4), np.float32)}, "differ in their first length only"),
        ({4: np.zeros(2, np.int32)}, "output_offsets as long as input_offsets"),
        (dict.fromkeys(range(2, 6), np.zeros(2, np.int32)), "a number for each of 1 members"),
    ],
)
def test_mistakes_are_named(change, message):
    arguments = [np.zeros((3, 2), np.float32)] * 2 + [np.zeros(1, np.int32)] * 4
    for place, value in change.items():
        arguments[place] = value
    with pytest.raises(ValueError, match=message):
        arrax.make_jaxpr(lambda *xs: lax.ragged_all_to_all(*xs, axis_name="i"), axis_env=[("i", 1)])(*arguments)
    batched = [np.asarray(value)[None] for value in arguments]
    with pytest.raises(ValueError, match=message):
        arrax.vmap(lambda *xs: lax.ragged_all_to_all(*xs, axis_name="i"), axis_name="i")(*batched)
