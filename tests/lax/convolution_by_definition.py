"""Convolutions by their definition, place by place, and operands for which they are exact."""

import itertools

import numpy as np


def whole(shape, seed, dtype=np.float32):
    """Small whole numbers."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(dtype)


def convolution(x, y, strides, padding, base, gaps, numbers, groups=1, batch_groups=1):
    """The convolution of arrays whose axes ``numbers`` names by letters, as ``lax.conv_general_dilated`` has it."""
    image, kernel, result = numbers
    space = [letter for letter in kernel if letter not in "OI"]
    x = np.transpose(x, [image.index(letter) for letter in ("N", "C", *space)])
    y = np.transpose(y, [kernel.index(letter) for letter in ("O", "I", *space)])
    x = _padded(x, padding, base)
    spans = [(n - 1) * gap + 1 for n, gap in zip(y.shape[2:], gaps, strict=True)]
    lengths = [(n - s) // step + 1 for n, s, step in zip(x.shape[2:], spans, strides, strict=True)]
    out = np.zeros((x.shape[0] // batch_groups, y.shape[0], *lengths), x.dtype)
    parts = np.split(x, groups, 1) if groups > 1 else np.split(x, batch_groups, 0)
    kernels = np.split(y, len(parts), 0)
    for place in itertools.product(*map(range, lengths)):
        at = tuple(slice(p * k, p * k + s, g) for p, k, s, g in zip(place, strides, spans, gaps, strict=True))
        sums = [
            np.tensordot(part[(..., *at)], one, [range(1, x.ndim)] * 2)
            for part, one in zip(parts, kernels, strict=True)
        ]
        out[(..., *place)] = np.concatenate(sums, 1)
    return np.transpose(out, [("N", "C", *space).index(letter) for letter in result])


def _padded(x, padding, base):
    spread = np.zeros((*x.shape[:2], *((n - 1) * step + 1 for n, step in zip(x.shape[2:], base, strict=True))), x.dtype)
    spread[(..., *(slice(None, None, step) for step in base))] = x
    spread = np.pad(spread, [(0, 0), (0, 0), *((max(low, 0), max(high, 0)) for low, high in padding)])
    cut = (slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(spread.shape[2:], padding, strict=True))
    return spread[(..., *cut)]
