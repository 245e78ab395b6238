"""The error function of float32 numbers, computed in float64."""

from __future__ import annotations

import numpy as np

from arrax.lax.cpu.expressions import Expression

_END = 15.5  # of the interval of x^2; beyond, the function is 1 to the last digit of a float32
_ERF = (  # erf(x) / x on [0, 15.5] of x^2, by powers of 2 x^2 / 15.5 - 1
    0.35918096729146143, -0.1793474648526031, 0.13356889370157188, -0.10887457543489742, 0.09055188042657354,
    -0.07419265600672359, 0.05857226308249175, -0.04392639244632843, 0.031067964666111746, -0.0206901846638965,
    0.012865212064102977, -0.007354031077904892, 0.004065148692018274, -0.0023468709487465596,
    0.0011116583905645704, -0.00028432538979075733, 0.000141463664307167, -0.00017295890525069203,
    6.425525834181226e-05,
)  # fmt: skip


def error_function(x: Expression) -> Expression:
    """erf(x), x times a polynomial of x^2"""
    wide = x.to(np.float64)
    square = wide * wide
    inner = wide * (square.minimum(_END) * (2 / _END) - 1).polynomial(_ERF)
    return (square.maximum(_END) > _END).where(wide.like(1).with_sign_of(wide), inner).to(np.float32)
