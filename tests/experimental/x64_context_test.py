"""Contexts with and without 64-bit types."""

import arrax
import arrax.numpy as jnp
from arrax.experimental import disable_x64, enable_x64


def test_contexts():
    before = arrax.config.jax_enable_x64
    with enable_x64():
        assert jnp.arange(3).dtype == "int64"
        with disable_x64():
            assert jnp.arange(3).dtype == "int32"
        with enable_x64(False):
            assert jnp.ones(3).dtype == "float32"
    assert arrax.config.jax_enable_x64 == before
