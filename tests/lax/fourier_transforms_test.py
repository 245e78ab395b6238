"""Fourier transforms over the last axes: values, derivatives, batching, mistakes."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import arrax
from arrax import export, lax
from arrax.lax.fourier_transforms import FftType, fft
from tests.support import check_batching, check_gradients

RANDOM = np.random.default_rng(0)
REAL = RANDOM.normal(size=(2, 4, 5)).astype(np.float32)
COMPLEX = (REAL + 1j * RANDOM.normal(size=REAL.shape)).astype(np.complex64)

# fmt: off
CASES = {
    "FFT":           (FftType.FFT,   COMPLEX, (5,),   lambda x: np.fft.fft(x)),
    "IFFT":          ("IFFT",        COMPLEX, (5,),   lambda x: np.fft.ifft(x)),
    "RFFT":          ("rfft",        REAL,    (5,),   lambda x: np.fft.rfft(x)),
    "IRFFT":         (3,             COMPLEX, (8,),   lambda x: np.fft.irfft(x, 8)),
    "IRFFT odd":     ("IRFFT",       COMPLEX, (9,),   lambda x: np.fft.irfft(x, 9)),
    "FFT plane":     ("FFT",         COMPLEX, (4, 5), lambda x: np.fft.fft2(x)),
    "RFFT plane":    ("RFFT",        REAL,    (4, 5), lambda x: np.fft.rfft2(x)),
    "IRFFT plane":   ("IRFFT",       COMPLEX, (4, 8), lambda x: np.fft.irfft2(x, (4, 8))),
    "RFFT space":    ("RFFT",        REAL,    (2, 4, 5), lambda x: np.fft.rfftn(x)),
}
# fmt: on
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@each_case
def test_values_are_those_of_numpy(case):
    kind, x, lengths, reference = case
    result = fft(x, kind, lengths)
    assert result.dtype == (np.float32 if "irfft" in str(reference.__code__.co_names) else np.complex64)
    np.testing.assert_allclose(result, reference(x), rtol=1e-4, atol=1e-5)


@each_case
def test_derivatives_agree_with_finite_differences(case):
    kind, x, lengths, _ = case
    if x.dtype == np.float32:
        check_gradients(lambda v: abs(fft(v, kind, lengths) + 1.5) ** 2, [x], order=2, rtol=1e-4)
    else:
        check_gradients(lambda a, b: abs(fft(a + 1j * b, kind, lengths) + 1.5) ** 2, [x.real, x.imag], rtol=1e-4)


@each_case
def test_batches_agree_with_loops(case):
    kind, x, lengths, _ = case
    check_batching(lambda v: fft(v, kind, lengths), [x], rtol=1e-4, atol=1e-5)


def test_wide_types_are_kept():
    with arrax.enable_x64(True):
        assert fft(REAL.astype(np.float64), "RFFT", (5,)).dtype == np.complex128


def test_empty_batches_give_empty_results():
    assert fft(np.zeros((0, 4), np.float32), "RFFT", (4,)).shape == (0, 3)


# fmt: off
MISTAKES = {
    "text":    (lambda: fft("x", "FFT", (5,)), TypeError, "str"),
    "complex": (lambda: fft(COMPLEX, "RFFT", (5,)), ValueError, "real input"),
    "length":  (lambda: fft(COMPLEX, "FFT", (4,)), ValueError, r"\(4,\)"),
    "half":    (lambda: fft(COMPLEX, "IRFFT", (5,)), ValueError, r"\(3,\)"),
    "name":    (lambda: fft(COMPLEX, "DFT", (5,)), ValueError, "DFT"),
    "number":  (lambda: fft(COMPLEX, 1.5, (5,)), TypeError, "fft_type"),
    "bool":    (lambda: fft(COMPLEX, True, (5,)), TypeError, "fft_type"),
    "axes":    (lambda: fft(COMPLEX, "FFT", (1, 2, 4, 5)), ValueError, "one to three"),
}
# fmt: on


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_explained(case):
    call, kind, words = MISTAKES[case]
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(("kind", "lengths"), [("FFT", (5,)), ("IRFFT", (9,)), ("FFT", (4, 5))], ids=str)
def test_transforms_feed_matrix_functions_that_want_columns(kind, lengths):
    def factor(x):
        return lax.linalg.qr(fft(x, kind, lengths), full_matrices=False)[1]

    np.testing.assert_allclose(arrax.jit(factor)(COMPLEX), factor(COMPLEX), atol=1e-4)


def test_transforms_of_rows_can_be_exported():
    program = export.export(arrax.jit(lambda x: fft(x, "RFFT", (5,))), platforms=("cpu", "cuda"))(REAL)
    np.testing.assert_allclose(program.call(REAL), np.fft.rfft(REAL), atol=1e-5)


def test_functions_of_the_face_stay_when_a_room_of_their_name_is_loaded():
    rooms = {path.stem for path in Path(lax.__file__).parent.glob("*.py")}
    for name in rooms & set(lax.__all__):
        import_module(f"arrax.lax.{name}")
        assert callable(getattr(lax, name))
