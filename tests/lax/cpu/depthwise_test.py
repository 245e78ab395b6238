"""Convolutions that sum over no channels, or over few: which programs go number by number, values, derivatives."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.convolution_by_definition import convolution, whole
from tests.lax.cpu.routes import formed_text

# What is convolved: shapes of image and kernel, strides, padding, dilation of both, numbers, groups.
# fmt: off
CASES = {
    "an image":           ((2, 1, 7, 6), (1, 1, 3, 3), (1, 1), ((1, 1), (1, 1)),  (1, 1), (1, 1), ("NCHW", "OIHW", "NCHW"), 1),
    "a depthwise layer":  ((2, 7, 6, 4), (3, 2, 1, 4), (2, 1), ((1, 0), (2, 1)),  (1, 1), (1, 2), ("NHWC", "HWIO", "NHWC"), 4),
    "its transpose":      ((2, 4, 3, 4), (3, 2, 1, 4), (1, 1), ((2, 1), (-1, 1)), (2, 3), (1, 1), ("NHWC", "HWIO", "NHWC"), 4),
    "other axes":         ((6, 3, 2, 7), (3, 1, 3, 2), (1, 2), ((0, 0), (1, 0)),  (1, 1), (2, 1), ("WCNH", "OIHW", "NHCW"), 3),
    "without padding":    ((2, 1, 7, 6), (1, 1, 3, 2), (1, 1), ((0, 0), (0, 0)),  (1, 1), (1, 1), ("NCHW", "OIHW", "NCHW"), 1),
    "a large kernel":     ((2, 1, 14, 13), (1, 1, 9, 8), (1, 1), ((4, 4), (3, 4)),  (1, 1), (1, 1), ("NCHW", "OIHW", "NCHW"), 1),
    "long rows":          ((1, 9, 90, 3), (2, 37, 1, 3), (2, 1), ((0, 1), (5, 0)),  (1, 1), (3, 2), ("NHWC", "HWIO", "NHWC"), 3),
    "a long vector":      ((90, 2, 2), (53, 1, 2),       (1,),   ((60, -3),),       (2,),   (1,),   ("WNC", "WIO", "NCW"),    2),
    "a volume":           ((1, 2, 5, 6, 9), (2, 1, 3, 4, 5), (1, 1, 1), ((1, 1), (2, 2), (2, 2)), (1, 1, 1), (1, 1, 1),
                           ("NCDHW", "OIDHW", "NCDHW"), 2),
    "groups of two":      ((2, 7, 6, 6), (3, 2, 2, 3), (2, 1), ((1, 0), (2, 1)),  (1, 1), (1, 2), ("NHWC", "HWIO", "NHWC"), 3),
    "all colours":        ((2, 3, 7, 6), (1, 3, 3, 3), (1, 1), ((1, 1), (0, -1)), (2, 1), (1, 1), ("NCHW", "OIHW", "NHWC"), 1),
    "a causal vector":    ((2, 9, 5), (4, 1, 5),       (1,),   ((3, 0),),         (1,),   (1,),   ("NWC", "WIO", "NWC"),    5),
}
# fmt: on


def convolved(x, y, case):
    _, _, strides, padding, base, gaps, numbers, groups = CASES[case]
    return lax.conv_general_dilated(x, y, strides, padding, base, gaps, numbers, groups)


def by_hand(x, y, case):
    _, _, *geometry, groups = CASES[case]
    return convolution(x, y, *geometry, groups)


@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_the_definition_and_no_convolution_is_left(case):
    x, y = whole(CASES[case][0], 0), whole(CASES[case][1], 1)
    function = arrax.jit(lambda x, y: convolved(x, y, case))
    np.testing.assert_array_equal(function(x, y), by_hand(x, y, case))
    assert "conv_general_dilated" not in formed_text(function, x, y)


def test_other_dtypes_are_those_of_the_convolution():
    for dtype in (jnp.bfloat16, np.int32):
        x, y = whole(CASES["an image"][0], 0, dtype), whole(CASES["an image"][1], 1, dtype)
        out = arrax.jit(lambda x, y: convolved(x, y, "an image"))(x, y)
        assert out.dtype == dtype
        wanted = by_hand(x.astype(np.float32), y.astype(np.float32), "an image")
        np.testing.assert_array_equal(np.asarray(out, np.float32), wanted.astype(dtype).astype(np.float32))


def test_derivatives_by_the_image_go_number_by_number_and_agree_with_the_sum():
    case = "a depthwise layer"
    x, y = whole(CASES[case][0], 0), whole(CASES[case][1], 1)
    weights = whole(by_hand(x, y, case).shape, 2)
    total = lambda x, y: jnp.sum(convolved(x, y, case) * weights)  # noqa: E731
    by_image, by_kernel = arrax.jit(arrax.grad(total, (0, 1)))(x, y)
    assert "conv_general_dilated" not in formed_text(arrax.grad(total), x, y)
    along = whole(x.shape, 3)  # the sum is linear in each operand, and whole numbers are exact
    np.testing.assert_array_equal(np.sum(by_image * along), np.sum(by_hand(along, y, case) * weights))
    along = whole(y.shape, 4)
    np.testing.assert_array_equal(np.sum(by_kernel * along), np.sum(by_hand(x, along, case) * weights))


def test_derivatives_of_layers_with_several_results_of_a_channel_go_number_by_number():
    numbers = ("NHWC", "HWIO", "NHWC")
    x, y, weights = whole((1, 6, 5, 2), 0), whole((3, 2, 1, 6), 1), whole((1, 6, 5, 6), 2)
    total = lambda x, y: jnp.sum(  # noqa: E731
        lax.conv_general_dilated(x, y, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=2) * weights
    )
    assert "conv_general_dilated" not in formed_text(arrax.grad(total), x, y)
    along = whole(x.shape, 3)  # the sum is linear in the image, and whole numbers are exact
    np.testing.assert_array_equal(np.sum(arrax.jit(arrax.grad(total))(x, y) * along), total(along, y))


@pytest.mark.parametrize(("image", "kernel", "groups"), [
    ((2, 3, 7, 6), (2, 3, 3, 3), 1),
    ((2, 6, 7, 6), (1, 6, 3, 3), 1),
    ((2, 1, 7, 6), (4, 1, 3, 3), 1),
    ((2, 1, 20, 20), (1, 1, 21, 20), 1),
], ids=["sums over channels", "sums of many terms", "several results of a channel", "a kernel larger than the result"])  # fmt: skip
def test_other_convolutions_stay(image, kernel, groups):
    function = lambda x, y: lax.conv_general_dilated(x, y, (1, 1), "SAME", feature_group_count=groups)  # noqa: E731
    assert "conv_general_dilated" in formed_text(function, np.ones(image, np.float32), np.ones(kernel, np.float32))


@pytest.mark.parametrize(("axes", "left"), [((0, 1), 0), ((1,), 1), ((0, 3), 1)], ids=["all", "one", "and channels"])
def test_a_kernel_that_is_reversed_along_its_space_is_read_backwards(axes, left):
    case = "a depthwise layer"
    x, y = whole(CASES[case][0], 0), whole(CASES[case][1], 1)
    function = lambda x, y: convolved(x, lax.rev(y, axes), case)  # noqa: E731
    np.testing.assert_array_equal(arrax.jit(function)(x, y), by_hand(x, np.flip(y, axes), case))
    assert formed_text(function, x, y).count("= rev[") == left
    image, kernel = whole((7, 6), 2), whole((3, 2), 3)
    filtered = lambda x, y: lax.conv(x[None, None], jnp.flip(y)[None, None], (1, 1), "VALID")[0, 0]  # noqa: E731
    assert "= rev[" not in formed_text(filtered, image, kernel)
    wanted = by_hand(image[None, None], np.flip(kernel)[None, None], "without padding")[0, 0]
    np.testing.assert_array_equal(arrax.jit(filtered)(image, kernel), wanted)


@pytest.mark.parametrize(("taps", "stride", "base", "gap"), [(9, 1, 1, 1), (9, 3, 1, 2), (64, 1, 2, 1), (61, 2, 3, 2)])
def test_long_vectors_go_to_a_length_that_divides_evenly(taps, stride, base, gap):
    x, kernel = whole((8_007,), 0), whole((taps,), 1)
    spread, reversed_kernel = np.zeros((8_006 * base + 1,)), np.zeros(((taps - 1) * gap + 1,))
    spread[::base], reversed_kernel[::gap] = x, kernel[::-1]
    wanted = np.convolve(np.pad(spread, (5, 3)), reversed_kernel, "valid")[::stride]
    geometry = ((stride,), ((5, 3),), (base,), (gap,), ("NCW", "OIW", "NCW"))
    function = arrax.jit(lambda x, y: lax.conv_general_dilated(x[None, None], y[None, None], *geometry)[0, 0])
    np.testing.assert_array_equal(function(x, kernel), wanted)
    assert wanted.size % 16 != 0  # the case is one
    assert f"1,1,{-(-wanted.size // 960) * 960}]" in formed_text(function, x, kernel)
