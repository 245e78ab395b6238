"""Derivatives of convolutions by their kernels on the CPU: values, and the form of each kind."""

import itertools

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.lax.cpu import thresholds
from tests.lax.convolution_by_definition import convolution, whole
from tests.lax.cpu.routes import formed_text

LAYOUTS = (("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"), ("WCNH", "IWOH", "CHNW"))

# Shapes of image and kernel in the first layout, strides, padding, dilation of both, groups.
# fmt: off
CASES = {
    "groups":             ((2, 5, 6, 6), (3, 2, 2, 9), (1, 1), ((1, 0), (2, 1)),  (1, 1), (1, 1), 3),
    "groups and strides": ((2, 5, 6, 4), (3, 2, 2, 6), (2, 1), ((1, 1), (0, 1)),  (1, 1), (1, 2), 2),
    "groups and holes":   ((2, 5, 4, 4), (3, 2, 2, 6), (1, 1), ((2, 1), (1, 1)),  (2, 1), (1, 1), 2),
    "depthwise":          ((2, 9, 9, 3), (3, 2, 1, 3), (1, 1), ((1, 1), (1, -1)), (1, 1), (1, 1), 3),
    "depthwise, strides": ((2, 9, 8, 3), (2, 3, 1, 3), (3, 2), ((1, 0), (1, 1)),  (1, 1), (2, 1), 3),
    "one image":          ((1, 14, 19, 1), (3, 2, 1, 1), (1, 2), ((1, 1), (0, 1)), (1, 1), (2, 1), 1),
    "transposed":         ((2, 4, 5, 3), (4, 4, 3, 2), (1, 1), ((2, 2), (2, 1)),  (2, 2), (1, 1), 1),
    "transposed and cut": ((2, 5, 5, 3), (2, 3, 3, 2), (1, 1), ((-1, 1), (2, 0)), (3, 1), (1, 1), 1),
}
# fmt: on


def laid_out(case, layout):
    image, kernel, *geometry, groups = CASES[case]
    x, y = whole(image, 0), whole(kernel, 1)
    x, y = (np.transpose(a, [first.index(letter) for letter in names])
            for a, first, names in zip((x, y), LAYOUTS[0], layout, strict=False))  # fmt: skip
    return x, y, (*geometry, layout, groups)


def gradient(geometry, weights):
    return arrax.grad(lambda y, x: jnp.sum(lax.conv_general_dilated(x, y, *geometry) * weights))


@pytest.mark.parametrize(("case", "layout"), list(itertools.product(CASES, LAYOUTS)))
def test_values_are_those_of_the_definition(case, layout, monkeypatch):
    monkeypatch.setattr(thresholds, "KERNEL_GRADIENT_MIN_PRODUCTS", 0)
    x, y, geometry = laid_out(case, layout)
    weights = whole(convolution(x, y, *geometry).shape, 2)
    found = arrax.jit(gradient(geometry, weights))(y, x)
    assert found.shape == y.shape
    for seed in (3, 4):  # the sum is linear in the kernel, and whole numbers are exact
        along = whole(y.shape, seed)
        np.testing.assert_array_equal(np.sum(found * along), np.sum(convolution(x, along, *geometry) * weights))


def test_each_kind_has_its_form(monkeypatch):
    monkeypatch.setattr(thresholds, "KERNEL_GRADIENT_MIN_PRODUCTS", 0)
    programs = {}
    for case in CASES:
        x, y, geometry = laid_out(case, LAYOUTS[0])
        programs[case] = formed_text(gradient(geometry, whole(convolution(x, y, *geometry).shape, 2)), y, x)
    for case in ("groups", "groups and strides", "groups and holes"):
        assert "batch_group_count=1 " in programs[case].replace("\n", " "), programs[case]
        assert "feature_group_count=1 " not in programs[case].replace("\n", " ")
    for case in ("depthwise", "depthwise, strides", "one image"):
        assert "conv_general_dilated" not in programs[case] and "while[" in programs[case]
    for case in ("transposed", "transposed and cut"):
        assert "rev[" in programs[case] and "lhs_dilation=(1, 1)" in programs[case]


def test_small_depthwise_layers_are_not_worth_a_loop():
    x, y, geometry = laid_out("depthwise", LAYOUTS[0])
    program = formed_text(gradient(geometry, whole(convolution(x, y, *geometry).shape, 2)), y, x)
    assert "while[" not in program


def test_models_side_by_side_have_the_derivatives_of_each():
    image, kernel, *geometry, groups = CASES["groups and strides"]
    layout = LAYOUTS[0]
    images, kernels = whole((3, *image), 0), whole((3, *kernel), 1)
    one = gradient((*geometry, layout, groups), 1.0)
    together = arrax.jit(arrax.vmap(one))(kernels, images)
    np.testing.assert_array_equal(together, np.stack([one(y, x) for y, x in zip(kernels, images, strict=True)]))


def test_narrow_floats_are_summed_in_wide_ones(monkeypatch):
    monkeypatch.setattr(thresholds, "KERNEL_GRADIENT_MIN_PRODUCTS", 0)
    x, y, geometry = laid_out("depthwise", LAYOUTS[0])
    wide = gradient(geometry, 1.0)(y, x)
    narrow = gradient(geometry, jnp.bfloat16(1.0))(y.astype(jnp.bfloat16), x.astype(jnp.bfloat16))
    assert narrow.dtype == jnp.bfloat16
    np.testing.assert_array_equal(narrow, np.asarray(wide).astype(jnp.bfloat16))
