"""Cosine transforms, interpolation, coordinates in images, vector quantization, integrals: against SciPy's."""

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.ndimage

import arrax
import arrax.numpy as jnp
from arrax.scipy import fft, integrate, interpolate, ndimage
from arrax.scipy.cluster import vq
from tests.support import check_batching, check_gradients

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def wide_numbers():
    with arrax.enable_x64(True):
        yield


# ---- fft --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("type", [1, 2, 3, 4])
def test_cosine_transforms_are_those_of_scipy(type, norm):
    x = RNG.normal(size=(5, 6))
    for name in ("dct", "idct"):
        ours, theirs = getattr(fft, name), getattr(scipy.fft, name)
        for options in ({}, {"axis": 0}, {"n": 4}, {"n": 9, "axis": 0}):
            np.testing.assert_allclose(
                ours(x, type, norm=norm, **options), theirs(x, type, norm=norm, **options), rtol=1e-10, atol=1e-12
            )
    for name in ("dctn", "idctn"):
        ours, theirs = getattr(fft, name), getattr(scipy.fft, name)
        for options in ({}, {"axes": (1,)}, {"s": (3, 8)}, {"s": (4,), "axes": (0,)}):
            np.testing.assert_allclose(
                ours(x, type, norm=norm, **options), theirs(x, type, norm=norm, **options), rtol=1e-10, atol=1e-12
            )


def test_cosine_transforms_of_complex_numbers_and_of_one_axis():
    x = RNG.normal(size=(3, 5)) + 1j * RNG.normal(size=(3, 5))
    with arrax.enable_x64(True):
        np.testing.assert_allclose(fft.dct(x), scipy.fft.dct(x), rtol=1e-10)
        np.testing.assert_allclose(fft.idctn(x, norm="ortho"), scipy.fft.idctn(x, norm="ortho"), rtol=1e-10)
        np.testing.assert_allclose(fft.dctn(x.real, axes=0, s=2), scipy.fft.dctn(x.real, axes=0, s=2), rtol=1e-10)
        for kind in (1, 2, 3, 4):
            assert fft.dct(np.ones(4, np.float32), kind, norm="ortho").dtype == np.float32


def test_orthonormal_cosine_transforms_of_constants_are_rounded_once():
    np.testing.assert_array_equal(fft.dct(np.ones(4, np.float32), norm="ortho"), [2, 0, 0, 0])
    np.testing.assert_array_equal(fft.idct(np.float32([2, 0, 0, 0]), norm="ortho"), np.ones(4))
    np.testing.assert_array_equal(fft.dct(np.float32([0, 1]), 1, norm="ortho"), np.float32([0.5**0.5, -(0.5**0.5)]))


@pytest.mark.parametrize("transform", [fft.dct, fft.idct, fft.dctn, fft.idctn])
def test_cosine_transforms_of_16_bits_are_of_32(transform):
    assert transform(jnp.ones(3, "bfloat16")).dtype == transform(np.ones(3, np.float16)).dtype == np.float32


def test_cosine_transforms_have_derivatives_and_batches():
    check_gradients(lambda x: fft.dct(x, norm="ortho"), [RNG.normal(size=5)])
    check_batching(fft.dct, [RNG.normal(size=(5,)).astype(np.float32)], rtol=1e-5, atol=1e-5)


# ---- ndimage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_coordinates_mean_what_they_mean_in_scipy(mode, order):
    image = RNG.normal(size=(4, 5))
    points = RNG.uniform(-6, 9, size=(2, 60)) + 1e-3
    theirs = "grid-wrap" if mode == "wrap" else "grid-constant" if mode == "constant" else mode
    expected = scipy.ndimage.map_coordinates(image, points, order=order, mode=theirs, cval=2.5)
    out = ndimage.map_coordinates(image, list(points), order, mode, 2.5)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


def test_images_and_coordinates_may_be_sequences_of_numbers():
    assert ndimage.map_coordinates([[1.0, 3.0]], [[0, 0], [0.5, 1]], 1).tolist() == [2, 3]


def test_whole_images_stay_whole_and_derivatives_exist():
    image = RNG.integers(0, 9, (4, 5))
    out = ndimage.map_coordinates(image, [np.array([1.5, 0.0]), np.array([2.0, 3.7])], 1)
    assert out.dtype == image.dtype
    line, halves = np.arange(-5, 5), np.arange(9) + 0.5
    np.testing.assert_array_equal(
        ndimage.map_coordinates(line, [halves], 1), scipy.ndimage.map_coordinates(line, [halves], order=1)
    )
    check_gradients(
        lambda image, x: ndimage.map_coordinates(image, [x, x + 0.3], 1),
        [RNG.normal(size=(4, 5)), np.array([0.4, 1.6])],
    )


# ---- interpolate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, 2.0, None])
def test_interpolation_on_grids_is_that_of_scipy(method, fill):
    grid = (np.array([0.0, 1.0, 2.5, 4.0]), np.array([3.0, 2.0, -1.0]))
    values = RNG.normal(size=(4, 3, 2))
    points = RNG.uniform(-2, 5, size=(40, 2))
    ours = interpolate.RegularGridInterpolator(grid, values, method, fill_value=fill)
    theirs = scipy.interpolate.RegularGridInterpolator(grid, values, method, bounds_error=False, fill_value=fill)
    np.testing.assert_allclose(ours(points), theirs(points), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours((points[:, 0], points[:, 1])), theirs(points), rtol=1e-10, atol=1e-12)


def test_vectors_are_points_on_a_line_or_one_point():
    line, plane = np.arange(4.0), np.outer(np.arange(4.0), np.arange(4.0))
    on_line = interpolate.RegularGridInterpolator((line,), line**2)
    np.testing.assert_allclose(on_line(np.array([0.5, 1.5])), [0.5, 2.5])
    assert interpolate.RegularGridInterpolator((line, line), plane)(np.array([1.0, 2.0])).shape == (1,)
    with arrax.enable_x64(True):  # places that are integers leave the dtype of the values
        single = np.arange(4, dtype=np.float32)
        assert interpolate.RegularGridInterpolator((single,), single)(np.array([1, 2])).dtype == np.float32
    with pytest.raises(ValueError, match="1 coordinates"):
        on_line(np.ones((2, 3)))
    with pytest.raises(ValueError, match="fill_value"):
        interpolate.RegularGridInterpolator((line,), line, fill_value=1j)


def test_interpolation_has_derivatives():
    def value(values, x, *grid):
        return interpolate.RegularGridInterpolator(grid, values)(x)

    places = np.array([[0.3, 1.2], [2.6, 0.4]])
    check_gradients(value, [RNG.normal(size=(4, 3)), places, np.arange(4.0), np.array([0.0, 0.7, 2.0])])


# ---- cluster and integrate --------------------------------------------------------------------------------------------


def test_codes_are_those_of_scipy():
    points, codes = RNG.normal(size=(20, 3)), RNG.normal(size=(5, 3))
    for ours, theirs in zip(vq.vq(points, codes), scipy.cluster.vq.vq(points, codes), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    for ours, theirs in zip(
        vq.vq(points[:, 0], codes[:, 0]), scipy.cluster.vq.vq(points[:, 0], codes[:, 0]), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_codes_of_nan_have_no_distance():
    assert np.isnan(vq.vq(np.array([[np.nan]]), np.array([[1.0], [0.0]]))[1])


def test_integrals_are_those_of_scipy():
    y, x = RNG.normal(size=(3, 5)), np.sort(RNG.normal(size=5))
    np.testing.assert_allclose(integrate.trapezoid(y, x), scipy.integrate.trapezoid(y, x), rtol=1e-12)
    np.testing.assert_allclose(
        integrate.trapezoid(y, dx=0.3, axis=0), scipy.integrate.trapezoid(y, dx=0.3, axis=0), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: fft.dct(x, 5), ValueError),
        (lambda x: fft.dct(x, norm="unit"), ValueError),
        (lambda x: fft.dctn(x, s=(2, 3, 4), axes=(0,)), ValueError),
        (lambda x: fft.dctn(x, s=-1), ValueError),
        (lambda x: fft.idctn(x, s=(2, 0)), ValueError),
        (lambda x: fft.dct(x, axis=None), TypeError),
        (lambda x: ndimage.map_coordinates(x, [x[0]], 1), ValueError),
        (lambda x: ndimage.map_coordinates(x, [x, x], 3), NotImplementedError),
        (lambda x: ndimage.map_coordinates(x, [x, x], 1, "loop"), NotImplementedError),
        (lambda x: interpolate.RegularGridInterpolator((np.arange(2.0),), x, "cubic"), ValueError),
        (lambda x: interpolate.RegularGridInterpolator((np.zeros(2),), x), ValueError),
        (lambda x: interpolate.RegularGridInterpolator((np.arange(3.0),), x), ValueError),
        (lambda x: interpolate.RegularGridInterpolator((np.arange(2.0),), x, bounds_error=True), NotImplementedError),
        (lambda x: vq.vq(x, x[:, :1]), ValueError),
        (lambda x: vq.vq(x, x[0]), ValueError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call(np.ones((2, 2)))
