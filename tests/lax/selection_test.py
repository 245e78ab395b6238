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


@pytest.mark.parametrize("strong", ["low", "x", "high", None])
def test_a_clamped_value_is_weak_where_all_operands_are(strong):
    values = {name: jnp.float32(1) if name == strong else jnp.asarray(1.0) for name in ("low", "x", "high")}
    for clamp in (lax.clamp, arrax.jit(lax.clamp)):
        assert clamp(*values.values()).weak_type == (strong is None)
    assert lax.clamp(0.0, jnp.asarray(1.0), 2.0).weak_type
