"""Products of small floats with scales."""

import numpy as np
import pytest

import arrax
from arrax import lax, nn
from arrax import numpy as jnp

RNG = np.random.default_rng(0)
MATRICES = (((1,), (0,)), ((), ()))
MXFP8 = [nn.get_scaled_dot_general_config("mxfp8")] * 3


def test_each_scale_counts_for_its_block():
    lhs, rhs = (RNG.integers(-4, 5, (2, n, 64)).astype(np.float32) for n in (3, 5))
    scales = [2.0 ** RNG.integers(-2, 3, (2, n, 2)).astype(np.float32) for n in (3, 5)]
    out = nn.scaled_matmul(
        *(jnp.asarray(x).astype(jnp.float8_e4m3fn) for x in (lhs, rhs)),
        *(jnp.asarray(s).astype(jnp.float8_e8m0fnu) for s in scales),
    )
    left, right = (x * np.repeat(s, 32, -1) for x, s in zip((lhs, rhs), scales, strict=True))
    np.testing.assert_array_equal(out, np.einsum("bmk,bnk->bmn", left, right))


@pytest.mark.parametrize(("mode", "bound"), [("mxfp8", 2.0**-4), ("nvfp4", 2.0**-2)])
def test_rounded_products_are_near_the_exact_ones(mode, bound):
    x, y = (RNG.uniform(1, 2, shape).astype(np.float32) for shape in ((4, 80), (80, 3)))
    configs = [nn.get_scaled_dot_general_config(mode)] * 3
    out = nn.scaled_dot_general(x, y, (((1,), (0,)), ((), ())), configs=configs)
    np.testing.assert_allclose(out, x @ y, rtol=bound)
    assert not np.array_equal(out, x @ y)


def test_numbers_that_the_format_holds_are_exact():
    x = np.tile(2.0 ** np.arange(-4, 4, dtype=np.float32), (2, 4))
    out = nn.scaled_dot_general(x, x.T, MATRICES, configs=MXFP8)
    np.testing.assert_array_equal(out, x @ x.T)
    assert np.all(np.asarray(nn.scaled_dot_general(0 * x, x.T, MATRICES, configs=MXFP8)) == 0)


def test_without_configs_nothing_is_rounded():
    x = RNG.normal(size=(3, 20)).astype(np.float32)
    np.testing.assert_allclose(nn.scaled_dot_general(x, x.T, MATRICES), x @ x.T, rtol=1e-5, atol=1e-5)


def test_the_derivative_is_that_of_the_rounded_product():
    x = np.tile(2.0 ** np.arange(-4, 4, dtype=np.float32), (2, 4))
    slope = arrax.grad(lambda a: nn.scaled_dot_general(a, x.T, MATRICES, configs=MXFP8).sum())(x)
    np.testing.assert_array_equal(slope, np.tile(x.sum(0), (2, 1)))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: nn.scaled_matmul(a[0], a, a, a), ValueError),
        (lambda a: nn.scaled_matmul(a, a, a[..., :3], a[..., :3]), ValueError),
        (lambda a: nn.get_scaled_dot_general_config("fp8"), ValueError),
        (lambda a: nn.get_scaled_dot_general_config("mxfp8", jnp.ones(1)), ValueError),
        (lambda a: nn.scaled_dot_general(a[0], a[0], (((1,), (1,)), ((), ())), configs=[]), ValueError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call(np.ones((1, 2, 64), np.float32))


@pytest.mark.parametrize("dims", [(0, None, None, None), (None, 2, None, 1), (1, 0, 2, None), (None, None, 1, None)])
def test_products_with_scales_are_mapped(dims):
    rng = np.random.default_rng(0)
    shapes = [(2, 3, 4), (2, 4, 5), (2, 3, 2), (2, 2, 5)]
    operands = [rng.uniform(1, 2, shape).astype(np.float32) for shape in shapes]
    numbers = (((2,), (1,)), ((0,), (0,)))

    def product(x, y, s, t):
        return lax.scaled_dot(
            x, y, lhs_scale=s, rhs_scale=t, dimension_numbers=numbers, preferred_element_type="float32"
        )

    stacked = [x if d is None else np.stack([x, 2 * x, x + 1], d) for x, d in zip(operands, dims, strict=True)]
    found = arrax.vmap(product, dims)(*stacked)
    for n in range(3):
        own = [x if d is None else x.take(n, d) for x, d in zip(stacked, dims, strict=True)]
        np.testing.assert_allclose(found[n], product(*own), rtol=1e-6)
