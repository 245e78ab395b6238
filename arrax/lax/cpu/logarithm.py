"""log(1 + x) of float64 numbers: the compiler's own has errors of up to a hundred units in the last place for x around -0.4."""

from __future__ import annotations

import functools

import numpy as np

from arrax.lax.cpu.expressions import Expression

# atanh(s) / s in s^2, for s to 1/3, a Chebyshev series
_ATANH = (
    1.019510728362366, 0.019853046320987205, 0.00034948921239912935, 7.335059538349656e-06, 1.6774463485374075e-07,
    4.036869036640762e-09, 1.00492602719776e-10, 2.562636311589187e-12, 6.653828157688297e-14, 1.7520188318298278e-15,
    4.6651628430668434e-17, 1.253627767573718e-18,
)  # fmt: skip


@functools.cache
def _powers() -> list[float]:
    """The coefficients of powers; made at the first use, since NumPy loads its polynomials late."""
    return np.polynomial.chebyshev.cheb2poly(_ATANH).tolist()


def log_one_plus(x: Expression) -> Expression:
    """From -1/2 to 1 by log(1 + x) = 2 atanh(s) with s = x / (2 + x), beyond by the logarithm of the sum."""
    near = (x > -0.5) & (x < 1)
    small = near.where(x, 0)
    s = small / (small + 2)
    series = s * (s * s * 18 - 1).polynomial(_powers())
    return near.where(series + series, (near.where(x.like(1), x) + 1).log())
