"""Convolutions as the library of the CPU takes them: of images that are not cut, and in loops with axes in its order."""

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


LAYOUTS = [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"), ("WCNH", "IWOH", "CHNW")]
LIBRARY = "ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))"


def in_order(x, names, wanted):
    return np.transpose(x, [names.index(letter) for letter in wanted])


def in_a_loop(f):
    """The last result of a function that a loop calls twice with the same operands."""

    def looped(*args):
        _, results = lax.scan(lambda carry, _: (carry, f(*carry)), args, None, length=2)
        return arrax.tree.map(lambda result: result[1], results)

    return looped


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout[0])
def test_axes_in_loops_have_the_order_of_the_library(layout, groups):
    x = in_order(whole((2, 2 * groups, 7, 6), 0), "NCHW", layout[0])
    y = in_order(whole((4, 2, 3, 2), 1), "OIHW", layout[1])
    geometry = ((1, 2), ((1, 1), (0, 1)), (1, 1), (2, 1), layout, groups)
    f = in_a_loop(lambda x, y: lax.conv_general_dilated(x, y, *geometry))
    assert f"dimension_numbers={LIBRARY}" in formed_text(f, x, y)
    np.testing.assert_array_equal(arrax.jit(f)(x, y), convolution(x, y, *geometry))


@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=lambda layout: layout[0])
def test_derivatives_have_the_same_bits_in_loops_and_branches(layout):
    random = np.random.default_rng(0).standard_normal
    x, y = random((2, 12, 12, 8)).astype(np.float32), random((3, 3, 8, 8)).astype(np.float32)
    x, y = in_order(x, "NHWC", layout[0]), in_order(y, "HWIO", layout[1])
    f = arrax.grad(
        lambda x, y: jnp.sum(jnp.sin(lax.conv_general_dilated(x, y, (2, 1), "SAME", None, None, layout))), (0, 1)
    )
    expected = arrax.jit(f)(x, y)
    branch = arrax.jit(lambda x, y: lax.cond(x.ravel()[0] < 9, f, lambda x, y: (x, y), x, y))
    for way in (arrax.jit(in_a_loop(f)), branch):
        assert all(map(np.array_equal, way(x, y), expected))


@pytest.mark.parametrize("channels", [3, 16])
def test_images_with_channels_before_places_are_copied_where_that_is_faster(channels):
    x, y = whole((2, channels, 6, 6), 0), whole((16, channels, 3, 3), 1)
    geometry = ((1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), ("NCHW", "OIHW", "NCHW"))
    convolved = lambda x, y: lax.conv_general_dilated(x, y, *geometry)  # noqa: E731
    assert formed_text(convolved, x, y).count("name=transposed") == (2 if channels == 16 else 1)
    np.testing.assert_array_equal(arrax.jit(convolved)(x, y), convolution(x, y, *geometry))


@pytest.mark.parametrize(
    ("kernel", "image", "sides", "steps"),
    [((3, 2), (2, 4), ((2, 2), (0, 0)), (2, 2)), ((2, 4), (5, 2), ((0, 0), (1, 0)), (2, 2)),
     ((4, 2), (2, 4), ((3, 3), (0, 0)), (1, 2))],
)  # fmt: skip
def test_small_dilated_images_do_not_end_the_process(kernel, image, sides, steps):
    x, y = whole((2, 3, *image), 0), whole((4, 3, *kernel), 1)
    geometry = ((1, 1), sides, steps, (1, 1), ("NCHW", "OIHW", "NCHW"))
    out = arrax.jit(lambda x, y: lax.conv_general_dilated(x, y, *geometry))(x, y)
    np.testing.assert_array_equal(out, convolution(x, y, *geometry))
