"""Paddings as joins: which programs have them, values, derivatives, batches."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.cpu.routes import EVERY, FLOAT8, awkward, formed_text
from tests.support import check_batching, check_gradients, x64_for


@pytest.mark.parametrize("shape", [(17,), (5, 4), (1, 5, 4)], ids=str)
@pytest.mark.parametrize("dtype", [dtype for dtype in EVERY if dtype not in FLOAT8[1:]], ids=str)
def test_the_bits_are_those_of_numpy(dtype, shape):
    x, fill = awkward(dtype, shape), np.ones((), dtype)
    axis = len(shape) > 2
    widths = [(2, 3) if one == axis else (0, 0) for one in range(len(shape))]
    with x64_for(x.dtype):
        found = arrax.jit(lambda x, fill: lax.pad(x, fill, [(*width, 0) for width in widths]))(x, fill)
    wanted = np.full([n + sum(width) for n, width in zip(shape, widths, strict=True)], fill)
    wanted[tuple(slice(low, low + n) for n, (low, _) in zip(shape, widths, strict=True))] = x
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.asarray(found).reshape(-1).view(np.uint8), wanted.reshape(-1).view(np.uint8))


@pytest.mark.parametrize(
    ("widths", "joined"),
    [
        (((1, 2, 0), (0, 0, 0), (0, 0, 0)), True),
        (((0, 0, 0), (1, 1, 0), (0, 0, 0)), False),  # not the first axis
        (((1, 0, 0), (0, 0, 0), (0, 0, 0)), False),  # one end only
        (((1, 1, 1), (0, 0, 0), (0, 0, 0)), False),
        (((1, -1, 0), (0, 0, 0), (0, 0, 0)), False),
        (((1, 1, 0), (1, 1, 0), (0, 0, 0)), False),
        (((0, 0, 0), (0, 0, 0), (0, 0, 0)), False),
    ],
)
def test_paddings_at_both_ends_of_the_first_axis_are_joins(widths, joined):
    program = formed_text(lambda x: lax.pad(x, np.float32(0), widths), np.ones((2, 3, 4), np.float32))
    assert ("concatenate" in program) == joined and ("pad[" in program) == (not joined)


def test_axes_of_length_1_before_it_do_not_matter():
    program = formed_text(lambda x: lax.pad(x, np.float32(0), ((0, 0, 0), (1, 1, 0))), np.ones((1, 3), np.float32))
    assert "concatenate" in program
    assert "concatenate" not in formed_text(lambda x: jnp.pad(x, 1), np.ones(0, np.float32))


def test_derivatives_and_batches():
    x, fill = np.random.default_rng(0).standard_normal((3, 4)), np.float64(0.5)
    pad = ((2, 1, 0), (0, 0, 0))
    check_gradients(arrax.jit(lambda x, fill: lax.pad(x**2, fill, pad)), [x, fill], order=2)
    check_batching(arrax.jit(lambda x: lax.pad(x, np.float32(2), pad)), [x.astype(np.float32)])
