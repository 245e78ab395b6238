"""Resizing of images: weights by their formulas, all methods, derivatives."""

import numpy as np
import pytest

import arrax
from arrax import image
from tests.support import check_batching, check_gradients

RNG = np.random.default_rng(0)
NAMES = ["linear", "cubic", "lanczos3", "lanczos5", "area", "cubic-pytorch"]
KERNELS = {
    "linear": lambda x: np.maximum(0, 1 - x),
    "cubic": lambda x: np.where(
        x < 1, 1.5 * x**3 - 2.5 * x**2 + 1, np.where(x < 2, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2, 0)
    ),
    "cubic-pytorch": lambda x: KERNELS["cubic"](x),
    "lanczos3": lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0),
    "lanczos5": lambda x: np.where(x < 5, np.sinc(x) * np.sinc(x / 5), 0),
}


def pytorch_cubic(x):
    x, a = abs(x), -0.75
    near, far = (a + 2) * x**3 - (a + 3) * x**2 + 1, a * (x**3 - 5 * x**2 + 8 * x - 4)
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def resized(row, size, method, scale=None, shift=0.0, antialias=True):
    """A row of pixels in another size, pixel by pixel."""
    scale = size / len(row) if scale is None else scale
    out = np.zeros(size)
    for i in range(size):
        place = (i + 0.5 - shift) / scale - 0.5
        if not -0.5 <= place <= len(row) - 0.5:
            continue
        if method == "area":
            edges = np.clip((np.array([i, i + 1]) - shift) / scale, 0, len(row))
            weights = np.diff(
                np.clip(edges, np.arange(len(row))[:, None], np.arange(1, len(row) + 1)[:, None]), axis=1
            )[:, 0]
        elif method == "cubic-pytorch" and not antialias:
            out[i] = pytorch_cubic(place - np.arange(-2, len(row) + 2)) @ np.pad(row, 2, mode="edge")
            continue
        else:
            weights = KERNELS[method](abs(place - np.arange(len(row))) / (max(1 / scale, 1) if antialias else 1))
        out[i] = weights @ row / weights.sum()
    return out


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", NAMES)
def test_rows_are_weighted_sums_by_the_kernel(method, antialias):
    row = RNG.normal(size=9)
    with arrax.enable_x64(True):
        for size in (1, 4, 9, 13, 31):
            out = image.resize(row, (size,), method, antialias=antialias)
            expected = row if size == 9 else resized(row, size, method, antialias=antialias)
            np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", NAMES)
def test_scales_and_translations_move_pixels(method):
    row = RNG.normal(size=9)
    with arrax.enable_x64(True):
        for scale, shift in ((1.5, 2.0), (0.4, -3.0), (2.0, 100.0)):
            out = image.scale_and_translate(row, (8,), (0,), np.array([scale]), np.array([shift]), method)
            np.testing.assert_allclose(out, resized(row, 8, method, scale, shift), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32])
def test_the_nearest_pixel_keeps_the_dtype(dtype):
    x = np.arange(12, dtype=dtype).reshape(3, 4)
    out = image.resize(x, (6, 2), "nearest")
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, x[np.repeat(np.arange(3), 2)][:, [1, 3]])


def test_axes_are_scaled_together_and_integers_become_floating():
    x = RNG.integers(0, 255, (4, 6, 3)).astype(np.uint8)
    out = image.resize(x, (7, 5, 3), image.ResizeMethod.CUBIC)
    step = np.apply_along_axis(resized, 0, x.astype(float), 7, "cubic")
    np.testing.assert_allclose(out, np.apply_along_axis(resized, 1, step, 5, "cubic"), rtol=1e-4, atol=1e-2)
    assert out.dtype == np.float32


def test_axes_of_one_length_share_their_weights():
    def sums(*shape):
        program = arrax.make_jaxpr(lambda x: image.resize(x, (7, 7, 3), "cubic"))(np.zeros(shape, np.float32))
        return str(program).count("reduce_sum")

    assert sums(4, 4, 3) == sums(4, 7, 3) == sums(4, 5, 3) - 1 == 1


def test_known_scales_give_what_given_ones_do():
    x = RNG.normal(size=(4, 6)).astype(np.float32)
    known = image.resize(x, (8, 3), "cubic")
    scaled = image.scale_and_translate(x, (8, 3), (0, 1), np.array([2, 0.5], np.float32), np.zeros(2), "cubic")
    np.testing.assert_allclose(scaled, known, rtol=1e-5, atol=1e-6)


def test_derivatives_agree_with_finite_differences():
    x = RNG.normal(size=(4, 3))
    check_gradients(lambda x: image.resize(x, (6, 2), "lanczos3"), [x])

    def moved(x, scale, shift):
        return image.scale_and_translate(x, (5, 6), (0, 1), scale, shift, "cubic")

    check_gradients(moved, [x, np.array([1.3, 0.7]), np.array([0.2, 0.41])], rtol=1e-4)


def test_mapping_agrees_with_a_loop():
    check_batching(lambda x: image.resize(x, (3, 7), "linear"), [RNG.normal(size=(4, 5)).astype(np.float32)])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: image.resize(x, (2, 2), "sharp"), ValueError),
        (lambda x: image.resize(x, (2,), "linear"), ValueError),
        (lambda x: image.resize(x, (2, 2), 3), TypeError),
        (lambda x: image.resize([1.0], (2,), "linear"), TypeError),
        (lambda x: image.scale_and_translate(x, (2, 2), (0,), np.ones(1), np.ones(1), "linear"), ValueError),
        (lambda x: image.scale_and_translate(x, (2, 3), (0,), np.ones(2), np.ones(1), "linear"), ValueError),
        (lambda x: image.scale_and_translate(x, (2, 3), (2,), np.ones(1), np.ones(1), "linear"), ValueError),
        (lambda x: image.scale_and_translate(x, (2, 3), (0, -2), np.ones(2), np.ones(2), "linear"), ValueError),
        (lambda x: image.scale_and_translate(x, (2, 3), (0,), np.ones(1), np.ones(1), "nearest"), ValueError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call(np.ones((2, 3), np.float32))


def test_unknown_methods_are_refused_by_the_function_that_was_called():
    with pytest.raises(ValueError, match="^resize: method must be one of 'nearest', .*, got 'sharp'"):
        image.resize(np.ones((2, 3), np.float32), (2, 2), "sharp")
    with pytest.raises(ValueError, match="^scale_and_translate: method must be one of .*, got 'sharp'"):
        image.scale_and_translate(np.ones((2, 3), np.float32), (2, 3), (0,), np.ones(1), np.ones(1), "sharp")
    with pytest.raises(ValueError, match="^ResizeMethod.from_string: name must be one of .*, got 'sharp'"):
        image.ResizeMethod.from_string("sharp")
