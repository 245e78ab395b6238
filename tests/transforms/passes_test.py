"""``fwd_and_bwd``: forward and backward pass apart."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp


@pytest.mark.parametrize("jitted", [True, False])
def test_the_passes_together_are_the_gradient(jitted):
    f = lambda x, y: x * jnp.sin(y)  # noqa: E731
    fwd, bwd = arrax.fwd_and_bwd(f, (1, 0), jitted=jitted)
    value, residuals = fwd(2.0, 3.0)
    np.testing.assert_allclose(value, f(2.0, 3.0))
    np.testing.assert_allclose(bwd(residuals, 1.0), arrax.grad(f, (1, 0))(2.0, 3.0), rtol=1e-6)


def test_one_position_gives_one_cotangent_and_auxiliary_data_come_last():
    fwd, bwd = arrax.fwd_and_bwd(lambda d: ((d["a"] ** 2).sum(), 5), 0, has_aux=True)
    value, residuals, aux = fwd({"a": jnp.arange(2.0)})
    assert (value, aux) == (1, 5)
    np.testing.assert_array_equal(bwd(residuals, 1.0)["a"], [0, 2])
