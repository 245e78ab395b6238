"""Activation functions where NumPy and rules of differentiation leave a choice."""

import numpy as np
import pytest

import arrax
from arrax import nn


@pytest.mark.parametrize(("activation", "corners"), [(nn.relu, [0]), (nn.relu6, [0, 6]), (nn.hard_sigmoid, [-3, 3])])
def test_slopes_at_the_corners_are_zero(activation, corners):
    np.testing.assert_array_equal(arrax.vmap(arrax.grad(activation))(np.array(corners, np.float32)), 0)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float16, np.float32])
def test_hard_tanh_keeps_the_dtype(dtype):
    out = nn.hard_tanh(np.array([-3, 0, 2], dtype))
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, [-1, 0, 1])
