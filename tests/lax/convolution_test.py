"""Convolutions: values against sums over places, derivatives, batching, groups, the functions made of them, mistakes."""

import numpy as np
import pytest

import arrax
from arrax.lax import convolution as lax
from arrax.lax import convolution_geometry as geometry
from tests.lax.convolution_by_definition import convolution
from tests.support import check_batching, check_gradients

RANDOM = np.random.default_rng(0)

# fmt: off
WINDOWS = {
    "strides":       dict(window_strides=(2, 1), padding=((0, 0), (0, 0))),
    "padding":       dict(window_strides=(1, 2), padding=((1, 2), (0, 1))),
    "cut off":       dict(window_strides=(1, 1), padding=((-1, 2), (0, -1))),
    "dilated":       dict(window_strides=(1, 1), padding=((1, 1), (2, 2)), lhs_dilation=(2, 3)),
    "atrous":        dict(window_strides=(1, 1), padding=((1, 1), (2, 2)), rhs_dilation=(2, 3)),
    "all together":  dict(window_strides=(3, 2), padding=((1, 2), (0, 3)), lhs_dilation=(2, 1), rhs_dilation=(2, 2)),
}
LAYOUTS = [None, ("NHWC", "HWIO", "NHWC"), ("HCNW", "HOWI", "CHWN")]
GROUPS = {"no groups": (1, 1), "groups of channels": (2, 1), "groups of the batch": (1, 2)}
# fmt: on
each_window = pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
each_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=str)
each_grouping = pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)


def convolved(x, y, window_strides, padding, lhs_dilation=(1, 1), rhs_dilation=(1, 1), groups=(1, 1)):
    """The definition, for NCHW and OIHW."""
    layout = ("NCHW", "OIHW", "NCHW")
    return convolution(x, y, window_strides, padding, lhs_dilation, rhs_dilation, layout, *groups)


def operands(groups=(1, 1), dtype=np.float64):
    x, y = RANDOM.normal(size=(2, 2, 5, 6)), RANDOM.normal(size=(4, 2 // groups[0], 2, 3))
    return x.astype(dtype), y.astype(dtype)


def rearranged(x, letters, to):
    return np.transpose(x, [letters.index(letter) for letter in to])


@each_window
@each_layout
def test_values_are_sums_over_places(window, layout):
    x, y = operands(dtype=np.float32)
    lhs, rhs, out = layout or ("NCHW", "OIHW", "NCHW")
    result = lax.conv_general_dilated(
        rearranged(x, "NCHW", lhs), rearranged(y, "OIHW", rhs), **window, dimension_numbers=layout
    )
    np.testing.assert_allclose(
        rearranged(np.asarray(result), out, "NCHW"), convolved(x, y, **window), rtol=1e-4, atol=1e-4
    )


@each_grouping
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int32, np.float16, "bfloat16"])
def test_groups_dont_mix(groups, dtype):
    x, y = (np.round(2 * v) for v in operands(groups))
    window = WINDOWS["all together"]
    result = lax.conv_general_dilated(
        np.asarray(x).astype(dtype),
        y.astype(dtype),
        **window,
        feature_group_count=groups[0],
        batch_group_count=groups[1],
    )
    assert result.dtype == dtype
    np.testing.assert_allclose(
        np.asarray(result).astype(np.complex64), convolved(x, y, **window, groups=groups), rtol=1e-2
    )


def convolution_of(window, groups=(1, 1), layout=None):
    return lambda x, y: lax.conv_general_dilated(
        x, y, **window, feature_group_count=groups[0], batch_group_count=groups[1], dimension_numbers=layout
    )


@each_window
def test_derivatives_agree_with_finite_differences(window):
    check_gradients(convolution_of(window), operands())


@each_grouping
def test_derivatives_of_groups_agree_with_finite_differences(groups):
    x, y = operands(groups)
    function = convolution_of(WINDOWS["all together"], groups, ("HCNW", "HOWI", "CHWN"))
    check_gradients(function, (rearranged(x, "NCHW", "HCNW"), rearranged(y, "OIHW", "HOWI")), order=2)


@each_grouping
def test_batches_agree_with_loops(groups):
    check_batching(convolution_of(WINDOWS["all together"], groups), operands(groups, np.float32), rtol=1e-4, atol=1e-4)


def test_batches_agree_with_loops_in_any_layout():
    x, y = operands(dtype=np.float32)
    function = convolution_of(WINDOWS["strides"], layout=LAYOUTS[2])
    check_batching(function, (rearranged(x, "NCHW", "HCNW"), rearranged(y, "OIHW", "HOWI")), rtol=1e-4, atol=1e-4)


def test_named_paddings_keep_the_length():
    x, y = np.ones((1, 1, 7), np.float32), np.ones((1, 1, 4), np.float32)
    assert lax.conv(x, y, (1,), "SAME").shape == (1, 1, 7)
    assert lax.conv(x, y, (2,), "SAME").shape == (1, 1, 4)
    assert lax.conv(x, y, (1,), "VALID").shape == (1, 1, 4)
    assert float(lax.conv(x, y, (1,), "SAME")[0, 0, 0]) == 3
    assert float(lax.conv(x, y, (1,), "SAME_LOWER")[0, 0, 0]) == 2


def test_the_result_may_be_wider():
    x, y = np.full((1, 1, 3), 100, np.int8), np.full((1, 1, 2), 100, np.int8)
    result = lax.conv(x, y, (1,), "VALID", preferred_element_type=np.int32)
    assert result.dtype == np.int32 and result.tolist() == [[[20000, 20000]]]


def test_empty_operands_give_zeros():
    out = lax.conv(np.ones((1, 0, 4), np.float32), np.ones((2, 0, 3), np.float32), (1,), "VALID")
    assert np.asarray(out).tolist() == [[[0, 0], [0, 0]]]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_transposed_convolutions_are_derivatives_of_convolutions(padding, stride):
    kernel, length = RANDOM.normal(size=(3, 2, 4)).astype(np.float32), 4 * stride + (2 if padding == "VALID" else 0)
    length = length if padding == "SAME" else 3 * stride + 3

    def forward(x):
        return lax.conv_general_dilated(x, kernel, (stride,), padding, dimension_numbers=("NHC", "HIO", "NHC"))

    out, pull = arrax.vjp(forward, np.ones((1, length, 2), np.float32))
    ct = RANDOM.normal(size=out.shape).astype(np.float32)
    if padding == "VALID" or stride == 1:
        result = lax.conv_transpose(ct, kernel, (stride,), padding, transpose_kernel=True)
        np.testing.assert_allclose(result, pull(ct)[0], rtol=1e-4, atol=1e-5)
    assert lax.conv_transpose(ct, kernel, (stride,), "SAME", transpose_kernel=True).shape == (
        1,
        out.shape[1] * stride,
        2,
    )


def test_pairs_of_a_transposed_convolution_may_mean_the_one_undone():
    x, y = np.ones((1, 4, 1), np.float32), np.ones((3, 1, 1), np.float32)
    assert lax.conv_transpose(x, y, (2,), [(0, 0)]).shape == (1, 5, 1)
    assert lax.conv_transpose(x, y, (2,), [(0, 0)], use_consistent_padding=True).shape == (1, 9, 1)


def test_patches_are_what_the_kernel_sees():
    x, y = operands(dtype=np.float32)
    patches = lax.conv_general_dilated_patches(x, (2, 3), (1, 2), "SAME")
    assert patches.shape == (2, 12, 5, 3)
    product = np.einsum("nchw,oc->nohw", np.asarray(patches), y.reshape(4, 12))
    np.testing.assert_allclose(product, lax.conv(x, y, (1, 2), "SAME"), rtol=1e-4, atol=1e-5)


@each_layout
def test_local_kernels_may_be_equal_everywhere(layout):
    x, y = operands(dtype=np.float32)
    lhs, rhs, out = layout or ("NCHW", "OIHW", "NCHW")
    kernels = np.broadcast_to(y.reshape(4, 12, 1, 1), (4, 12, 4, 4))
    result = lax.conv_general_dilated_local(
        rearranged(x, "NCHW", lhs), rearranged(kernels, "OIHW", rhs), (1, 1), "VALID", (2, 3), dimension_numbers=layout
    )
    np.testing.assert_allclose(
        rearranged(np.asarray(result), out, "NCHW"), lax.conv(x, y, (1, 1), "VALID"), rtol=1e-4, atol=1e-4
    )


def test_axes_are_described_by_letters():
    assert geometry.conv_general_permutations(("NWC", "WIO", "NWC")) == ((0, 2, 1), (2, 1, 0), (0, 2, 1))
    numbers = geometry.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
    assert str(numbers) == "ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))"
    assert geometry.conv_dimension_numbers((1, 1, 8), (1, 1, 3), None).out_spec == (0, 1, 2)


def test_results_are_weakly_typed_where_both_operands_are():
    weak, strong = arrax.lax.full((1, 1, 2), 1.5), np.ones((1, 1, 2), np.float32)
    for x, y, preferred, expected in [
        (weak, weak, None, True), (weak, weak, np.float32, True), (weak, strong, None, False), (strong, weak, None, False),
    ]:  # fmt: skip
        out = arrax.eval_shape(
            lambda x, y, to=preferred: lax.conv(x, y, (1,), "VALID", preferred_element_type=to), x, y
        )
        assert out.weak_type is expected


def test_shapes_are_known_beforehand():
    layout = ("NWC", "WIO", "NWC")
    assert geometry.conv_shape_tuple((1, 2, 8), (4, 2, 3), (2,), [(1, 0)]) == (1, 4, 4)
    with pytest.raises(ValueError, match="conv_shape_tuple: windows and strides need one entry per axis"):
        geometry.conv_shape_tuple((1, 2, 8), (4, 2, 3), (1, 2), [(0, 0)])
    assert geometry.conv_general_shape_tuple((1, 8, 2), (3, 2, 5), (2,), "SAME", layout) == (1, 4, 5)
    assert geometry.conv_transpose_shape_tuple((1, 4, 2), (3, 2, 5), (2,), "SAME", layout) == (1, 8, 5)


X, Y = np.ones((2, 2, 5), np.float32), np.ones((4, 2, 3), np.float32)
# fmt: off
MISTAKES = {
    "channels": (lambda: lax.conv(X, np.ones((4, 3, 3), np.float32), (1,), "SAME"), ValueError, "2 // 1 != 3"),
    "dtypes":   (lambda: lax.conv(X, Y.astype(np.int32), (1,), "SAME"), TypeError, "float32, int32"),
    "ranks":    (lambda: lax.conv(X, Y[0], (1,), "SAME"), TypeError, "3 and 2"),
    "strides":  (lambda: lax.conv(X, Y, (1, 1), "SAME"), ValueError, "window_strides"),
    "zero":     (lambda: lax.conv(X, Y, (0,), "SAME"), ValueError, "positive"),
    "padding":  (lambda: lax.conv(X, Y, (1,), "EQUAL"), ValueError, "EQUAL"),
    "pairs":    (lambda: lax.conv_general_dilated(X, Y, (1,), [(0, 0)] * 2), TypeError, "one pair per axis"),
    "triples":  (lambda: lax.conv_general_dilated(X, Y, (1,), [(0, 0, 0)]), ValueError, "a name or pairs"),
    "dilated":  (lambda: lax.conv_general_dilated(X, Y, (1,), "SAME", (2,)), ValueError, "conv_transpose"),
    "groups":   (lambda: lax.conv_general_dilated(X, Y, (1,), "SAME", batch_group_count=3), ValueError, "3 does not divide 2"),
    "mapped":   (lambda: arrax.vmap(lambda x: lax.conv_general_dilated(x, Y, (1,), "SAME", batch_group_count=3))(X[None]),
                 ValueError, "3 does not divide 2"),
    "letters":  (lambda: geometry.conv_dimension_numbers((1,) * 3, (1,) * 3, ("NCW", "OIH", "NCW")), TypeError, "spatial"),
    "no batch": (lambda: geometry.conv_dimension_numbers((1,) * 3, (1,) * 3, ("HCW", "OIH", "NCW")), TypeError, "'N'"),
}
# fmt: on


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_explained(case):
    call, kind, words = MISTAKES[case]
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [("float32", "int32"), ("float32", "float16"), ("int32", "int8"), ("int8", "uint8"), ("complex64", "float32")],
)
def test_sums_are_not_kept_in_types_that_cannot_hold_them(dtype, wanted):
    x = np.ones((1, 1, 4), dtype)
    with pytest.raises(TypeError, match=f"preferred_element_type {wanted} cannot hold .* of {dtype}"):
        lax.conv_general_dilated(x, x, (1,), "VALID", preferred_element_type=wanted)


@pytest.mark.parametrize(("dtype", "wanted"), [("int8", "int32"), ("uint8", "int32"), ("int8", "float32")])
def test_sums_of_small_integers_may_be_kept_in_wider_types(dtype, wanted):
    x = np.full((1, 1, 4), 100, dtype)
    out = lax.conv_general_dilated(x, x, (1,), "VALID", preferred_element_type=wanted)
    assert out.dtype == wanted and out[0, 0, 0] == 40_000


def test_a_batch_of_no_examples():
    f = lambda x, y: lax.conv_general_dilated(x, y, (1, 1), "VALID")  # noqa: E731
    images, kernels = np.ones((0, 1, 2, 6, 7), np.float32), np.ones((0, 3, 2, 1, 2), np.float32)
    assert arrax.vmap(f)(images, kernels).shape == (0, 1, 3, 6, 6)
    assert arrax.vmap(f, (0, None))(images, np.ones((3, 2, 1, 2), np.float32)).shape == (0, 1, 3, 6, 6)
    assert arrax.vmap(f, (None, 0))(np.ones((1, 2, 6, 7), np.float32), kernels).shape == (0, 1, 3, 6, 6)


def test_ranks_that_are_not_those_of_dimension_numbers_are_refused():
    numbers = lax.ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2), (0, 1, 2, 3))
    with pytest.raises(ValueError, match="one rank"):
        lax.conv_general_dilated(np.ones((1, 1, 3, 3)), np.ones((1, 1, 3)), (1, 1), "VALID", dimension_numbers=numbers)


@pytest.mark.parametrize("sides", [(-2, -2), (-4, 0), (0, -4)])
def test_padding_that_cuts_more_than_there_is_is_refused(sides):
    with pytest.raises(ValueError, match=r"conv_general_dilated cuts more than there is.*lengths \[3\]"):
        lax.conv_general_dilated(np.ones((2, 1, 3)), np.ones((1, 1, 2)), (1,), [sides])


@pytest.mark.parametrize("name", ["VALID", "same"])
def test_named_paddings_of_dilated_inputs_are_refused(name):
    image, kernel = np.ones((1, 1, 5), np.float32), np.ones((1, 1, 3), np.float32)
    with pytest.raises(ValueError, match=f"{name}.*dilated"):
        lax.conv_general_dilated(image, kernel, (1,), name, lhs_dilation=(2,))
    assert lax.conv_general_dilated(image, kernel, (1,), "VALID", lhs_dilation=(1,)).shape == (1, 1, 3)
