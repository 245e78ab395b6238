"""Choosing elements: where the operands are mapped."""

import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax


def test_numbers_are_chosen_by_whatever_is_mapped():
    flags = jnp.array([[True], [False]])
    chosen = arrax.vmap(lambda flag: lax.select(flag, 1.0, 2.0), in_axes=0, out_axes=1)(flags)
    assert chosen.tolist() == [[1.0, 2.0]]
    assert arrax.vmap(arrax.vmap(lambda flag: lax.select(flag, 1, 2)))(flags).tolist() == [[1], [2]]
    with pytest.raises(TypeError, match="neither a scalar nor of the cases' shape"):
        lax.select(flags, 1, 2)
