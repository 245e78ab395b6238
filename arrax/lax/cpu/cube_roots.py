"""Cube roots of float32 numbers, computed in float64, and of these."""

from __future__ import annotations

import math

import numpy as np

from arrax.lax.cpu.expressions import Expression

_THIRD = 0x55555556  # times the 32 first bits, shifted by 32: a third of them
_BITS_OF_FIRST_GUESS = 0x2A9F7893


def cube_root(x: Expression) -> Expression:
    """cbrt(x): a third of the exponent, found by dividing the bits by 3, then two steps of Halley's method."""
    wide = x.to(np.float64)
    size = abs(wide)
    answer = _nearly_cube_root(size)
    return ((size > 0) & (size < math.inf)).where(answer, size).with_sign_of(wide).to(np.float32)


def cube_root_of_double(x: Expression) -> Expression:
    """cbrt(x) of a float64, with a last step of Newton's method; the smallest and largest numbers are scaled first."""
    size = abs(x)
    small, large = size < 2.0**-960, size > 2.0**960
    scaled = small.where(size * 2.0**108, large.where(size * 2.0**-108, size))
    nearly = _nearly_cube_root(scaled)
    square = nearly * nearly
    answer = nearly - (square * nearly - scaled) / (square * 3)
    answer = small.where(answer * 2.0**-36, large.where(answer * 2.0**36, answer))
    return ((scaled > 0) & (size < math.inf)).where(answer, scaled).with_sign_of(x)


def _nearly_cube_root(size: Expression) -> Expression:
    """To some 47 bits."""
    answer = ((((size.bits() >> 32) * _THIRD >> 32) + _BITS_OF_FIRST_GUESS) << 32).floats()
    for _ in range(2):
        cube = answer * answer * answer
        answer = answer * ((cube + (size + size)) / ((cube + cube) + size))
    return answer
