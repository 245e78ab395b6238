"""Convolutions with negative padding on the CPU, where the compiler's library reads behind the image."""

import re

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.convolution_by_definition import convolution, whole
from tests.lax.cpu.routes import formed_text

NUMBERS = ("NWC", "WIO", "NWC")
PLAIN = ((1,), (1,))  # distances between elements of images and kernels


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.complex64])
@pytest.mark.parametrize(
    ("sides", "stride"), [((-1, 1), 1), ((-2, 1), 1), ((-2, 2), 2), ((2, -1), 1), ((-1, -1), 1), ((-9, 8), 1)]
)
def test_images_that_are_cut_and_padded(sides, stride, dtype):
    x, y = whole((2, 7, 2), 0, dtype), whole((4, 2, 3), 1, dtype)
    geometry = ((stride,), (sides,), *PLAIN, NUMBERS)
    with arrax.enable_x64(True):
        out = arrax.jit(lambda x, y: lax.conv_general_dilated(x, y, *geometry))(x, y)
    np.testing.assert_array_equal(out, convolution(x, y, *geometry))


@pytest.mark.parametrize("groups", [1, 2])
def test_images_in_two_dimensions_in_groups(groups):
    numbers = ("NCHW", "OIHW", "NCHW")
    x, y = whole((2, 2 * groups, 7, 6), 0), whole((4, 2, 4, 4), 1)
    geometry = ((1, 1), ((-1, 1), (2, -1)), (1, 1), (1, 1), numbers, groups)
    out = arrax.jit(lambda x, y: lax.conv_general_dilated(x, y, *geometry))(x, y)
    np.testing.assert_array_equal(out, convolution(x, y, *geometry))


def test_derivatives_have_no_negative_padding_either():
    x, y = whole((2, 8, 2), 0), whole((3, 2, 3), 1)
    geometry = ((1,), ((5, -3),), *PLAIN, NUMBERS)
    weights = whole((2, 8, 3), 2)
    f = arrax.grad(lambda x, y: jnp.sum(lax.conv_general_dilated(x, y, *geometry) * weights), (0, 1))
    assert not re.search(r" padding=.*-", formed_text(f, x, y))
    by_image, by_kernel = arrax.jit(f)(x, y)
    ones = (
        np.eye(x.size, dtype=np.float32).reshape(-1, *x.shape),
        np.eye(y.size, dtype=np.float32).reshape(-1, *y.shape),
    )
    np.testing.assert_array_equal(
        by_image.ravel(), [np.sum(convolution(one, y, *geometry) * weights) for one in ones[0]]
    )
    np.testing.assert_array_equal(
        by_kernel.ravel(), [np.sum(convolution(x, one, *geometry) * weights) for one in ones[1]]
    )


@pytest.mark.parametrize("sides", [(-1, 1), (-2, 1), (-3, -2), (2, -5), (-14, 8)])
def test_images_with_holes(sides):
    x, y = whole((2, 7, 2), 0), whole((4, 2, 3), 1)
    geometry = ((1,), (sides,), (3,), (1,), NUMBERS)
    out = arrax.jit(lambda x, y: lax.conv_general_dilated(x, y, *geometry))(x, y)
    np.testing.assert_array_equal(out, convolution(x, y, *geometry))
