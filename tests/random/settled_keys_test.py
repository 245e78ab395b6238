"""Keys that others are drawn from are hashed once, before what draws from them."""

import numpy as np
import pytest

import arrax
from arrax import random


@pytest.mark.parametrize(
    "derive", [lambda k: random.split(k)[0], lambda k: random.fold_in(k, 3)], ids=["split", "fold_in"]
)
def test_derived_keys_are_not_hashed_again_in_each_draw(derive):
    def draws(key):
        derived = derive(key)
        return random.normal(derived, (4, 3)), random.uniform(derived, (5,))

    with arrax.threefry_partitionable(True):
        key = random.PRNGKey(0)
        text = arrax.jit(draws).lower(key).compile().as_text()
        assert " while(" in text  # which the compiler does not fuse with what comes after it
        for one, other in zip(arrax.jit(draws)(key), draws(key), strict=True):
            np.testing.assert_array_equal(one, other)
