"""scipy.signal: values against SciPy's, derivatives, refusals."""

import numpy as np
import pytest
import scipy.signal

import arrax
from arrax.scipy import signal
from arrax.scipy.signal.windows import window_values
from tests.support import check_gradients

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def wide_numbers():
    with arrax.enable_x64(True):
        yield


def close(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=tolerance, atol=tolerance)


PAIRS = {
    "vectors": (RNG.normal(size=9), RNG.normal(size=4)), "short first": (RNG.normal(size=3), RNG.normal(size=6)),
    "complex": (RNG.normal(size=6) + 1j * RNG.normal(size=6), RNG.normal(size=4) - 1j), "whole": (np.arange(5), np.arange(3)),
    "matrices": (RNG.normal(size=(5, 6)), RNG.normal(size=(3, 2))), "boxes": (RNG.normal(size=(4, 3, 5)), RNG.normal(size=(2, 3, 2))),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("pair", PAIRS)
def test_convolutions_are_those_of_scipy(pair, mode):
    x, y = PAIRS[pair]
    for name in ("convolve", "correlate"):
        for method in ("direct", "fft"):
            expected = getattr(scipy.signal, name)(x, y, mode, method)
            close(getattr(signal, name)(x, y, mode, method), expected, 1e-9)
    close(signal.fftconvolve(x, y, mode), scipy.signal.fftconvolve(x, y, mode), 1e-9)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
def test_convolutions_of_images_are_those_of_scipy(mode, boundary):
    for x, y in (
        (RNG.normal(size=(7, 6)), RNG.normal(size=(3, 3))),
        (RNG.normal(size=(6, 6)), RNG.normal(size=(2, 3))),
    ):
        close(signal.convolve2d(x, y, mode, boundary, 1.5), scipy.signal.convolve2d(x, y, mode, boundary, 1.5))
        if mode != "same" or all(n % 2 for n in y.shape):
            close(signal.correlate2d(x, y, mode, boundary, 1.5), scipy.signal.correlate2d(x, y, mode, boundary, 1.5))


@pytest.mark.parametrize("kernel", [(3, 4), (4, 3), (1, 2), (9, 3)])
def test_images_keep_the_middle_of_scipy_for_kernels_of_any_length(kernel):
    x, y = RNG.normal(size=(8, 9)), RNG.normal(size=kernel)
    for name in ("convolve2d", "correlate2d"):
        for boundary in ("fill", "wrap", "symm"):
            ours, theirs = (getattr(of, name)(x, y, "same", boundary) for of in (signal, scipy.signal))
            close(ours, theirs)


def test_spectra_of_nothing_are_nothing():
    for function, count in ((signal.welch, 2), (signal.stft, 3)):
        assert [part.shape for part in function(np.zeros(0))] == [(0,)] * count


def test_fftconvolve_goes_along_the_axes_wanted():
    x, y = RNG.normal(size=(4, 9)), RNG.normal(size=(4, 3))
    close(signal.fftconvolve(x, y, axes=1), scipy.signal.fftconvolve(x, y, axes=1))
    close(signal.fftconvolve(x, y[:1], "same", axes=[1]), scipy.signal.fftconvolve(x, y[:1], "same", axes=[1]))


@pytest.mark.parametrize("axis", [0, -1])
def test_trends_are_those_of_scipy(axis):
    x = RNG.normal(size=(8, 10)).cumsum(axis)
    for options in ({"type": "constant"}, {}, {"bp": 4}, {"bp": [3, 5]}):
        close(signal.detrend(x, axis, **options), scipy.signal.detrend(x, axis, **options), 1e-9)
    assert signal.detrend(np.ones((2, 0))).shape == (2, 0)


WINDOWS = ["hann", "hamming", "blackman", "bartlett", "boxcar", "nuttall", "blackmanharris", "flattop", "parzen", "bohman",
           "triang", "cosine", "tukey", ("tukey", 0.3), ("kaiser", 4.0), 5.0, ("gaussian", 3.0), ("general_hamming", 0.7),
           ("exponential", None, 2.0), ("general_gaussian", 1.5, 3.0)]  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("length", [8, 9])
def test_windows_are_those_of_scipy(window, length):
    close(window_values("stft", window, length), scipy.signal.get_window(window, length), 1e-12)


SPECTRA = [
    {}, {"nperseg": 16}, {"nperseg": 16, "noverlap": 4, "nfft": 20}, {"nperseg": 15, "window": "boxcar", "fs": 3.0},
    {"nperseg": 16, "return_onesided": False}, {"nperseg": 16, "detrend": "linear"}, {"nperseg": 16, "axis": 0},
]  # fmt: skip


def test_complex_signals_have_frequencies_on_both_sides_as_a_warning_says():
    x = np.exp(1j * np.arange(8))
    for spectrum in (signal.stft, signal.welch):
        with pytest.warns(UserWarning, match="return_onesided=False"):
            assert spectrum(x, nperseg=4)[0].shape == (4,)


def test_frequencies_and_times_have_the_dtype_of_the_signal():
    x = np.ones(8, np.float32)
    with arrax.enable_x64(True):
        spectra = *signal.stft(x, nperseg=4), *signal.welch(x, nperseg=4), *signal.istft(np.ones((3, 5), np.complex64))
        spectra += signal.welch(x, nperseg=4, average="median")
    assert {str(out.dtype) for out in spectra} == {"float32", "complex64"}


@pytest.mark.parametrize("options", SPECTRA, ids=str)
@pytest.mark.parametrize("kind", [float, complex])
def test_spectra_are_those_of_scipy(options, kind):
    x, y = (RNG.normal(size=(40, 50)).astype(kind) for _ in range(2))
    if kind is complex:
        x, options = x + 1j * RNG.normal(size=x.shape), {**options, "return_onesided": False}
    for ours, theirs in zip(
        signal.stft(x, **{"nperseg": 32, **options}), scipy.signal.stft(x, **{"nperseg": 32, **options}), strict=True
    ):
        close(ours, theirs)
    for extra in ({}, {"scaling": "spectrum"}, {"average": "median"}):
        for ours, theirs in zip(
            signal.welch(x, **{"nperseg": 32, **options, **extra}),
            scipy.signal.welch(x, **{"nperseg": 32, **options, **extra}),
            strict=True,
        ):
            close(ours, theirs)
        for ours, theirs in zip(
            signal.csd(x, y, **{"nperseg": 32, **options, **extra}),
            scipy.signal.csd(x, y, **{"nperseg": 32, **options, **extra}),
            strict=True,
        ):
            close(ours, theirs)


def test_functions_take_the_trends_from_windows():
    x = RNG.normal(size=(2, 12))
    for ours, theirs in ((signal.stft, scipy.signal.stft), (signal.welch, scipy.signal.welch)):
        for ours_of, theirs_of in zip(
            ours(x, nperseg=4, detrend=lambda frames: frames - frames[..., :1]),
            theirs(x, nperseg=4, detrend=lambda frames: frames - frames[..., :1]), strict=True,
        ):  # fmt: skip
            close(ours_of, theirs_of)


@pytest.mark.parametrize("boundary", ["zeros", "even", "odd", "constant", None])
def test_boundaries_of_windows_are_those_of_scipy(boundary):
    x = RNG.normal(size=50)
    for padded in (True, False):
        ours = signal.stft(x, nperseg=12, boundary=boundary, padded=padded)
        theirs = scipy.signal.stft(x, nperseg=12, boundary=boundary, padded=padded)
        for one, other in zip(ours, theirs, strict=True):
            close(one, other)


@pytest.mark.parametrize(
    "options", [{"nperseg": 16}, {"nperseg": 15}, {"nperseg": 16, "noverlap": 12, "nfft": 20}], ids=str
)
def test_the_way_back_gives_the_signal(options):
    x = RNG.normal(size=(3, 64))
    times, out = signal.istft(signal.stft(x, **options)[2], **options)
    theirs = scipy.signal.istft(scipy.signal.stft(x, **options)[2], **options)
    close(times, np.arange(theirs[1].shape[-1]))
    close(out, theirs[1])
    close(np.asarray(out)[:, :64], x)
    spectrum = np.asarray(signal.stft(x, **options)[2])
    turned = signal.istft(np.moveaxis(spectrum, (-2, -1), (0, 1)), time_axis=1, freq_axis=0, **options)[1]
    close(np.moveaxis(np.asarray(turned), 0, -1), out)


def test_fractions_of_samples_are_cut_off():
    signal_values, wanted = RNG.normal(size=40), {"nperseg": 8, "noverlap": 5, "nfft": 12}
    given = {"nperseg": 8.7, "noverlap": np.float32(5.5), "nfft": 12.0}
    for function in (signal.stft, signal.welch, lambda x, **options: signal.csd(x, x[::-1], **options)):
        close(function(signal_values, **given)[-1], function(signal_values, **wanted)[-1], 0)
    spectra = signal.stft(signal_values, **wanted)[-1]
    close(signal.istft(spectra, **given)[-1], signal.istft(spectra, **wanted)[-1], 0)


def test_derivatives_agree_with_finite_differences():
    x, y = RNG.normal(size=12), RNG.normal(size=4)
    check_gradients(lambda x, y: signal.fftconvolve(x, y, "same"), [x, y])
    check_gradients(lambda x: signal.welch(x, nperseg=6)[1], [x])
    check_gradients(signal.detrend, [x])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: signal.convolve(x, x, "half"), ValueError),
        (lambda x: signal.convolve(x, x, method="slow"), ValueError),
        (lambda x: signal.convolve(x, x[0]), ValueError),
        (lambda x: signal.convolve(np.ones((2, 5)), np.ones((3, 2)), "valid"), ValueError),
        (lambda x: signal.convolve2d(x, x, boundary="glue"), ValueError),
        (lambda x: signal.convolve2d(x[0], x[0]), ValueError),
        (lambda x: signal.fftconvolve(x, np.ones((2, 3)), axes=1), ValueError),
        (lambda x: signal.detrend(x, type="curved"), ValueError),
        (lambda x: signal.detrend(x, bp=99), ValueError),
        (lambda x: signal.stft(x, nperseg=2, noverlap=2), ValueError),
        (lambda x: signal.stft(x, nperseg=2, window="sharp"), ValueError),
        (lambda x: signal.stft(x, nperseg=2, boundary="glue"), ValueError),
        (lambda x: signal.welch(x, nperseg=2, scaling="loud"), ValueError),
        (lambda x: signal.csd(x, x, nperseg=2, average="mode"), ValueError),
        (lambda x: signal.istft(x[0]), ValueError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call(np.ones((4, 4)))


def test_detrend_takes_lists_of_numbers():
    np.testing.assert_array_equal(signal.detrend([1.0, 3.0, 2.0], type="constant"), [-1, 1, 0])


def test_zeros_around_an_image_are_the_convolution_s_padding() -> None:
    """Filled with zeros, an image is not copied with a border first, so that its derivative has the image's shape throughout."""
    image, kernel = arrax.numpy.ones((6, 5)), arrax.numpy.ones((3, 3))
    blurred = arrax.make_jaxpr(lambda x: signal.convolve2d(x, kernel, mode="same"))(image)
    filled = arrax.make_jaxpr(lambda x, v: signal.convolve2d(x, kernel, mode="same", fillvalue=v))(image, 0.0)
    assert " pad[" not in str(blurred) and " pad[" in str(filled)
    np.testing.assert_array_equal(
        signal.convolve2d(image, kernel, mode="same"),
        signal.convolve2d(image, kernel, mode="same", fillvalue=arrax.numpy.zeros(())),
    )
