"""A few keys are made on the host: the same bits, without a program."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import random
from arrax.numpy_api.api import CALLS_BEFORE_COMPILING
from arrax.transforms.jit import Jitted


def words(keys):
    return np.asarray(random.key_data(keys))


@pytest.fixture
def compiled(monkeypatch):
    """The names of the functions that make keys from keys whose calls came to be compiled."""
    arrax.clear_caches()  # no other test has called these functions
    names, run = [], Jitted.run_first

    def counting(self, *args, **kwargs):
        if self.name in ("_split_data", "_fold_in_data"):
            names.append(self.name)
        return run(self, *args, **kwargs)

    monkeypatch.setattr(Jitted, "run_first", counting)
    return names


@pytest.mark.parametrize("partitionable", [True, False])
def test_few_keys_have_the_same_bits_without_a_program(compiled, partitionable):
    key, shapes, numbers = random.key(-7), (1, 2, 5, (2, 3), (4, 0)), (0, 1, 2**32 - 1, np.int32(-5), jnp.uint8(3))
    with arrax.threefry_partitionable(partitionable):
        keys = [random.split(key, shape) for shape in shapes] + [random.fold_in(key, number) for number in numbers]
        assert not compiled
        traced = arrax.jit(
            lambda key: [random.split(key, s) for s in shapes] + [random.fold_in(key, number) for number in numbers]
        )(key)
    for found, expected in zip(keys, traced, strict=True):
        assert found.shape == expected.shape and found.sharding == expected.sharding
        np.testing.assert_array_equal(words(found), words(expected))


def test_many_keys_and_other_generators_have_programs(compiled):
    random.split(random.key(0), 1000)
    random.fold_in(random.key(0), 2.5)
    random.split(random.key(0, impl="rbg"))
    assert len(compiled) == 3


def test_what_is_asked_often_is_compiled_whatever_the_numbers(compiled):
    key = random.key(3)
    folded = [words(random.fold_in(key, np.int16(number))) for number in range(CALLS_BEFORE_COMPILING + 2)]
    assert len(compiled) == 1
    mapped = arrax.vmap(lambda number: random.fold_in(key, number))(np.arange(len(folded), dtype=np.int16))
    np.testing.assert_array_equal(np.stack(folded), words(mapped))
