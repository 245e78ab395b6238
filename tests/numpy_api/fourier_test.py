"""Discrete Fourier transforms: values and dtypes, axes, lengths and norms, derivatives, mistakes."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
import arrax.numpy.fft as fourier
from tests.numpy_api.comparison import assert_same
from tests.support import check_batching, check_gradients

RANDOM = np.random.default_rng(0)
REAL = RANDOM.normal(size=(2, 3, 4, 5)).astype(np.float32)
COMPLEX = (REAL + 1j * RANDOM.normal(size=REAL.shape)).astype(np.complex64)
INTEGERS = RANDOM.integers(-9, 9, (4, 6)).astype(np.int32)
NORMS = (None, "backward", "ortho", "forward")
OF_REALS = ("rfft", "ihfft", "rfft2", "rfftn")
ALONG = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
PLANE = ("fft2", "ifft2", "rfft2", "irfft2")
SPACE = ("fftn", "ifftn", "rfftn", "irfftn")


def argument(name):
    return REAL if name in OF_REALS else COMPLEX


def check(name, *args, **kwargs):
    ours, theirs = getattr(fourier, name)(*args, **kwargs), getattr(np.fft, name)(*args, **kwargs)
    assert_same(ours, theirs, rtol=1e-4, atol=1e-4, dtypes=False)
    assert ours.dtype == (np.float32 if name in ("irfft", "hfft", "irfft2", "irfftn") else np.complex64)


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("norm", NORMS)
def test_transforms_along_an_axis_are_those_of_numpy(name, norm):
    check(name, argument(name), norm=norm)
    check(name, argument(name), 3, axis=1, norm=norm)
    check(name, argument(name), 8, 2, norm)


@pytest.mark.parametrize("name", PLANE)
def test_transforms_over_two_axes_are_those_of_numpy(name):
    check(name, argument(name))
    check(name, argument(name), (3, 6), (2, 0), "ortho")


@pytest.mark.parametrize("name", SPACE)
@pytest.mark.parametrize("norm", NORMS)
def test_transforms_over_many_axes_are_those_of_numpy(name, norm):
    check(name, argument(name), norm=norm)
    check(name, argument(name), s=(3, 2), axes=(0, 2), norm=norm)
    check(name, argument(name), s=(6, 3), axes=(-2, -1))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "fft2", "rfftn"])
def test_integers_are_taken_as_floats(name):
    check(name, INTEGERS)


def test_narrow_floats_are_widened():
    assert fourier.fft(REAL.astype(np.float16)).dtype == np.complex64
    assert fourier.rfft(jnp.ones(4, jnp.bfloat16)).dtype == np.complex64


def test_transforms_work_under_jit():
    result = arrax.jit(lambda x: fourier.ifftn(fourier.fftn(x)))(COMPLEX)
    assert_same(result, COMPLEX, rtol=1e-4, atol=1e-5)


def test_frequencies_are_those_of_numpy():
    for n in (1, 4, 5):
        assert_same(fourier.fftfreq(n), np.fft.fftfreq(n))
        assert_same(fourier.rfftfreq(n, d=0.5), np.fft.rfftfreq(n, d=0.5))
    assert fourier.fftfreq(4, dtype=np.float16).dtype == np.float16
    assert fourier.fftfreq(0).shape == (0,)
    device = arrax.devices()[0]
    assert fourier.fftfreq(4, device=device).committed and fourier.rfftfreq(4, device=device).committed
    assert not fourier.fftfreq(4).committed


@pytest.mark.parametrize("axes", [None, 1, (0, -1)])
def test_shifts_are_those_of_numpy(axes):
    assert_same(fourier.fftshift(INTEGERS, axes), np.fft.fftshift(INTEGERS, axes))
    assert_same(fourier.ifftshift(REAL[0], axes), np.fft.ifftshift(REAL[0], axes))


@pytest.mark.parametrize("name", ["rfft", "ihfft", "rfft2", "fft"])
def test_derivatives_agree_with_finite_differences(name):
    check_gradients(lambda x: jnp.abs(getattr(fourier, name)(x, norm="ortho") + 2.0) ** 2, [REAL[0]], rtol=1e-4)


@pytest.mark.parametrize("name", ["irfft", "hfft"])
def test_derivatives_of_inverses_agree_with_finite_differences(name):
    check_gradients(lambda a, b: getattr(fourier, name)(a + 1j * b) ** 2, [REAL[0], 2 * REAL[1]], rtol=1e-4)


@pytest.mark.parametrize("name", ["rfft", "fftn", "fftshift"])
def test_batches_agree_with_loops(name):
    check_batching(getattr(fourier, name), [REAL[0]], rtol=1e-4, atol=1e-5)


# fmt: off
MISTAKES = {
    "norm":     (lambda: fourier.fft(REAL, norm="foo"), ValueError, "Invalid norm value foo"),
    "axis":     (lambda: fourier.fft(REAL, axis=7), ValueError, "axis 7 is out of bounds"),
    "axes":     (lambda: fourier.fft(REAL, axis=(1,)), ValueError, "multiple axes"),
    "repeated": (lambda: fourier.fftn(REAL, axes=(0, 0)), ValueError, "repeated axes"),
    "lengths":  (lambda: fourier.fftn(REAL, s=(3,), axes=(1, 2)), ValueError, "different lengths"),
    "plane":    (lambda: fourier.fft2(REAL, axes=(1, 2, 3)), ValueError, "only supports 2 axes"),
    "zero":     (lambda: fourier.fft(REAL, 0), ValueError, "positive"),
    "complex":  (lambda: fourier.rfft(COMPLEX), ValueError, "only real valued inputs"),
    "list":     (lambda: fourier.fft([1, 2]), TypeError, "position 0"),
    "count":    (lambda: fourier.fftfreq([1]), ValueError, "only takes an int"),
}
# fmt: on


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_explained(case):
    call, kind, words = MISTAKES[case]
    with pytest.raises(kind, match=words):
        call()


def test_ihfft_takes_lists_of_numbers():
    np.testing.assert_array_equal(fourier.ihfft([1.0, 2.0, 4.0, 2.0]), fourier.ihfft(np.float32([1, 2, 4, 2])))
