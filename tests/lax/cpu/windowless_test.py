"""Convolutions that are products of matrices on the CPU: values, which programs become such, derivatives."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.convolution_by_definition import convolution, whole
from tests.lax.cpu.routes import formed_text

# Shapes of image and kernel, strides, padding, dilation of both, the meaning of the axes.
# fmt: off
CASES = {
    "a layer of 1 by 1":     ((2, 4, 5, 3), (1, 1, 3, 4), (1, 1), ((0, 0), (0, 0)),   (1, 1), (1, 1), ("NHWC", "HWIO", "NHWC")),
    "with strides":          ((2, 4, 5, 3), (1, 1, 3, 4), (2, 3), ((0, 0), (0, 0)),   (1, 1), (1, 1), ("NHWC", "HWIO", "NHWC")),
    "channels first":        ((2, 3, 4, 5), (4, 3, 1, 1), (1, 2), ((0, 0), (0, 0)),   (1, 1), (1, 1), ("NCHW", "OIHW", "NCHW")),
    "cut":                   ((2, 3, 4, 5), (4, 3, 1, 1), (1, 1), ((-1, 0), (0, -2)), (1, 1), (1, 1), ("NCHW", "OIHW", "NHWC")),
    "the whole image":       ((2, 4, 5, 3), (4, 5, 3, 6), (1, 1), ((0, 0), (0, 0)),   (1, 1), (1, 1), ("NHWC", "HWIO", "NHWC")),
    "with gaps, one axis":   ((2, 3, 5, 4), (6, 3, 3, 1), (1, 1), ((0, 0), (0, 0)),   (1, 1), (2, 1), ("NCHW", "OIHW", "CNHW")),
    "other axes":            ((4, 2, 3, 5), (1, 6, 5, 3), (1, 1), ((0, 0), (0, 0)),   (1, 1), (1, 1), ("HNCW", "HOWI", "WNHC")),
    "a vector":              ((2, 9, 5),    (1, 5, 4),    (2,),   ((0, 0),),          (1,),   (1,),   ("NWC", "WIO", "NWC")),
    "no space":              ((2, 5),       (4, 5),       (),     (),                 (),     (),     ("NC", "OI", "NC")),
}
# fmt: on


@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_the_definition_and_no_convolution_is_left(case):
    image, kernel, *geometry = CASES[case]
    x, y = whole(image, 0), whole(kernel, 1)
    function = arrax.jit(lambda x, y: lax.conv_general_dilated(x, y, *geometry))
    np.testing.assert_array_equal(function(x, y), convolution(x, y, *geometry))
    assert "conv_general_dilated" not in formed_text(function, x, y)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.int32, np.complex64])
def test_other_dtypes_are_those_of_the_convolution(dtype):
    image, kernel, *geometry = CASES["with strides"]
    x, y = whole(image, 0), whole(kernel, 1)
    out = arrax.jit(lambda x, y: lax.conv_general_dilated(x, y, *geometry))(x.astype(dtype), y.astype(dtype))
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, convolution(x, y, *geometry).astype(dtype))


@pytest.mark.parametrize("case", ["a layer of 1 by 1", "with strides", "channels first"])
def test_the_derivative_by_the_kernel_is_a_product_too(case):
    image, kernel, *geometry = CASES[case]
    x, y = whole(image, 0), whole(kernel, 1)
    weights = whole(convolution(x, y, *geometry).shape, 2)
    total = lambda y, x: jnp.sum(lax.conv_general_dilated(x, y, *geometry) * weights)  # noqa: E731
    along = whole(kernel, 3)  # the sum is linear, and whole numbers are exact
    wanted = np.sum(convolution(x, along, *geometry) * weights)
    np.testing.assert_array_equal(np.sum(arrax.jit(arrax.grad(total))(y, x) * along), wanted)
    assert "conv_general_dilated" not in formed_text(arrax.grad(total), y, x)


@pytest.mark.parametrize(("kernel", "padding", "groups"), [
    ((1, 1, 4, 4), ((1, 0), (0, 0)), 1),
    ((1, 2, 4, 4), ((0, 0), (0, 0)), 1),
    ((1, 1, 2, 4), ((0, 0), (0, 0)), 2),
    ((4, 5, 4, 4), ((1, 1), (1, 1)), 1),
], ids=["padding", "windows", "groups", "windows that reach beyond the image"])  # fmt: skip
def test_other_convolutions_stay(kernel, padding, groups):
    numbers = ("NHWC", "HWIO", "NHWC")
    function = lambda x, y: lax.conv_general_dilated(x, y, (1, 1), padding, None, None, numbers, groups)  # noqa: E731
    assert "conv_general_dilated" in formed_text(
        function, np.ones((2, 4, 5, 4), np.float32), np.ones(kernel, np.float32)
    )
