"""Formulas of the inverse hyperbolic functions of float32 numbers, computed in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from arrax.lax.cpu.expressions import Expression
from arrax.lax.cpu.powers import binary_logarithm

Elsewhere = Callable[[], Expression]

# Below, sums of 1 and a number lose too many of its digits; the functions are as good as the number itself there.
_SMALL = 2.0**-20


def _logarithm(x: Expression) -> Expression:
    return binary_logarithm(x) * math.log(2)


def inverse_sine(x: Expression, elsewhere: Elsewhere) -> Expression:
    """asinh(x)"""
    wide = x.to(np.float64)
    size = abs(wide)
    answer = _logarithm(size + (size * size + 1).sqrt())
    return (size < _SMALL).where(size, answer).with_sign_of(wide).to(np.float32)


def inverse_cosine(x: Expression, elsewhere: Elsewhere) -> Expression:
    """acosh(x)"""
    wide = x.to(np.float64)
    answer = _logarithm(wide + ((wide - 1) * (wide + 1)).sqrt())
    return (wide < 1).where(answer.like(math.nan), answer).to(np.float32)


def inverse_tangent(x: Expression, elsewhere: Elsewhere) -> Expression:
    """atanh(x)"""
    wide = x.to(np.float64)
    size = abs(wide)
    answer = _logarithm((size + 1) / (size.like(1) - size)) * 0.5
    answer = (size < _SMALL).where(size, answer).with_sign_of(wide)
    return (size > 1).where(answer.like(math.nan), answer).to(np.float32)
