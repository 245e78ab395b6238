"""Sums over short axes, of wide rows and of products, and reshapes that are kept apart from loops: the CPU's own routes."""

import functools

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.lax.cpu.routes import FLOATS, by_turns, on_both_routes
from tests.support import x64_for

RNG = np.random.default_rng(0)
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-13}


def numbers(shape, dtype=np.float32):
    """Normally distributed ones."""
    return RNG.standard_normal(shape).astype(dtype)


def assert_close(own, general, dtype):
    for one, other in zip(own, general, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        limit = TOLERANCE[np.dtype(dtype).name]
        np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), limit, 10 * limit)


SUMMED = [
    ((8000, 2), (1,)), ((3000, 7), (1,)), ((1000, 16), (1,)), ((600, 31), (1,)), ((2, 9000), (0,)), ((16, 13_000), (0,)),
    ((100, 13_000), (0,)), ((31, 17_000), (0,)), ((5, 7, 17_000), (0, 1)), ((2, 27, 17_000), (1,)), ((5, 3, 9000), (0, 1)), ((5, 3, 9000), (1,)), ((500, 12, 4), (1,)), ((900, 3, 7), (2,)),
    ((300, 2, 30), (0, 2)), ((300, 4, 4, 5), (1, 2)), ((40, 20, 25), (0, 1, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "summed"), by_turns(SUMMED, FLOATS[2], FLOATS[0], FLOATS[1], FLOATS[3]), ids=str)
def test_sums_over_short_axes_and_of_wide_rows(dtype, summed):
    shape, axes = summed
    x = numbers(shape, dtype)
    with x64_for(dtype):
        found = arrax.jit(lambda x: [jnp.sum(x, axes), jnp.mean(x * x, axes), jnp.sum(jnp.exp(x), axes)])(x)
    wide = x.astype(np.float64)
    exact = [wide.sum(axes), (wide * wide).mean(axes), np.exp(wide).sum(axes)]
    assert_close(map(np.asarray, found), [sums.astype(dtype) for sums in exact], dtype)


@pytest.mark.parametrize(
    ("shape", "axes", "short"),
    [((30, 8), 1, True), ((30, 9), 1, False), ((24, 5), 0, True), ((25, 5), 0, False), ((4, 6, 5), (0, 1), True), ((7, 1), 1, False)],
)  # fmt: skip
def test_sums_over_few_elements_are_loops_of_the_compiler(shape, axes, short):
    text = arrax.jit(lambda x: x.sum(axes)).lower(numbers(shape)).as_text("jaxpr")
    assert ("reduce_sum" not in text) == short


@pytest.mark.parametrize(
    ("shape", "axes", "wide"),
    [((25, 16_385), 0, True), ((25, 16_384), 0, False), ((25, 130, 130), 0, True), ((3, 9, 4, 4100), (0, 1), True),
     ((5, 9, 6, 4100), (0, 2), False), ((17_000, 25), 1, False), ((25, 17_000), (0, 1), False)],
)  # fmt: skip
def test_wide_rows_are_added_by_groups(shape, axes, wide):
    text = arrax.jit(lambda x: x.sum(axes)).lower(arrax.ShapeDtypeStruct(shape, np.float32)).as_text("jaxpr")
    assert ("of_groups" in text) == wide == ("reduce_sum" not in text)


@pytest.mark.parametrize(("dtype", "width"), [("float64", 8193), ("bfloat16", 16_385), ("float16", 16_385)])
def test_which_rows_are_wide_is_a_matter_of_the_numbers_that_are_added(dtype, width):
    with arrax.enable_x64(dtype == "float64"):
        for more, wide in ((0, True), (-1, False)):
            x = arrax.ShapeDtypeStruct((25, width + more), dtype)
            assert ("of_groups" in arrax.jit(lambda x: x.sum(0)).lower(x).as_text("jaxpr")) == wide


@pytest.mark.parametrize("length", [25, 29, 60, 73, 700])
def test_columns_of_any_length_are_added_up_once(length):
    whole = RNG.integers(-100, 100, (length, 16_400)).astype(np.float32)
    np.testing.assert_array_equal(arrax.jit(lambda x: x.sum(0))(whole), whole.sum(0))


REPEATED = [
    ((40, 1, 1), 0, True), ((40, 1, 7), 0, True), ((40, 6, 1), 0, False), ((40, 6, 7), 0, False), ((1, 6, 7), 0, False),
    ((40, 1, 1), (0, 1), False), ((40, 1, 1), 2, False), ((40, 1, 1), (0, 2), False),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "repeated"), by_turns(REPEATED, FLOATS[2], FLOATS[0], FLOATS[1], FLOATS[3]), ids=str)
def test_sums_of_products_with_a_factor_that_is_repeated(dtype, repeated):
    shape, axes, grouped = repeated
    x, w = numbers((40, 6, 7), dtype), numbers(shape, dtype)

    def sums(w, x):
        return [
            (w * x).sum(axes),
            -(w * x).sum(axes),
            (-(w * x)).mean(axes),
            arrax.vmap(lambda x: (w * x).sum(axes))(x[None]),
        ]

    with x64_for(dtype):
        found = arrax.jit(sums)(w, x)
    product = w.astype(np.float64) * x
    exact = [product.sum(axes), -product.sum(axes), -product.mean(axes), product.sum(axes)[None]]
    assert_close(map(np.asarray, found), [sums.astype(dtype) for sums in exact], dtype)
    text = arrax.jit(lambda w, x: (w * x).sum(axes)).lower(w, x).as_text("jaxpr")
    assert ("of_groups" in text) == grouped


def test_sums_by_groups_take_what_is_not_finite_and_derivatives():
    x, w = numbers((30, 4, 5)), numbers(30)
    x[3, 1, 1], x[4, 1, 2], w[5] = np.inf, np.nan, 0
    x[5, 2, 2] = np.inf  # times 0 is NaN
    whole = arrax.jit(lambda w, x: (w[:, None, None] * x).sum(0))(w, x)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(whole, (w[:, None, None].astype(np.float64) * x).sum(0), 1e-5, 1e-5)
    x = np.nan_to_num(x, posinf=1.0)
    loss = lambda w, x: jnp.sum(jnp.sin((w[:, None, None] * x).sum(0)))  # noqa: E731
    own, general = on_both_routes(arrax.grad(loss, (0, 1)), w, x)
    assert_close(own, general, np.float32)


def test_a_row_has_the_same_sum_in_every_batch():
    x = numbers((50, 7)) * 10.0 ** numbers((50, 7))
    whole = arrax.jit(lambda x: x.sum(1))(x)
    assert [arrax.jit(jnp.sum)(row) for row in x[:5]] == whole[:5].tolist()
    np.testing.assert_array_equal(arrax.jit(arrax.vmap(jnp.sum, in_axes=1))(x.T), whole)
    ordered = functools.reduce(np.add, x.T)
    np.testing.assert_array_equal(whole, ordered)


def test_a_sum_of_negative_zeros_is_zero():
    zeros = arrax.jit(lambda x: x.sum(1))(np.full((3, 4), -0.0, np.float32))
    assert not np.signbit(zeros).any()


@pytest.mark.parametrize("shape", [(9000, 3), (3, 30_000)], ids=str)
def test_sums_of_special_numbers(shape):
    x = numbers(shape)
    x[0], x[1, 1], x[2, 2], x[1, 0] = -0.0, np.inf, np.nan, -np.inf
    for axis in (0, 1):
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(arrax.jit(lambda x, axis=axis: x.sum(axis))(x), x.sum(axis), 1e-4, 1e-4)


def test_sums_in_transformations():
    x, w = numbers((5000, 6)), numbers((4, 40_000))

    def everything(x, w):
        loss = lambda x, w: jnp.sum(jnp.tanh(x.sum(1)) ** 2) + jnp.sum(jnp.sin(w.sum(0)))  # noqa: E731
        return [
            *arrax.grad(loss, (0, 1))(x, w), arrax.vmap(lambda r: r.sum())(x), arrax.vmap(lambda c: c.sum(), 1)(w),
            arrax.jvp(lambda x: x.sum(1), (x,), (x,))[1], arrax.lax.map(lambda r: (r * w).sum(0), w[:2]),
        ]  # fmt: skip

    assert_close(*on_both_routes(everything, x, w), np.float32)


def moved(x, v):
    """Programs that reshape what they have computed."""
    return [
        (v[:, None] * v[:150]).ravel(), jnp.tril(x).reshape(-1, 10), jnp.exp(x).reshape(-1, 6), (x.T * 2).ravel(),
        jnp.repeat(v, 100), jnp.stack([x, -x], -1).reshape(150, -1), (x - x.mean(1, keepdims=True)).ravel() + 1,
        jnp.pad(x, 1).reshape(2, -1), (x[:, 1:] - x[:, :-1]).ravel(), jnp.arange(22_500).reshape(150, 150) * x,
        jnp.tanh(x).reshape(10, 15, 15, 10).transpose(0, 2, 1, 3).reshape(-1), jnp.kron(x[:12, :13], x[:10, :11]),
        jnp.triu(x).reshape(-1, 5).sum(1), jnp.where(x > v[:150], x, 0).reshape(-1, 9).max(1),
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_reshapes_of_what_is_computed(dtype):
    x, v = ((10 * numbers(shape)).clip(-9, 9).astype(dtype) for shape in ((150, 150), (300,)))
    own, general = on_both_routes(moved, x, v)
    for one, other in zip(own, general, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-5, 1e-5)


def test_reshapes_in_transformations():
    x, v = numbers((150, 150)), numbers((150,))

    def everything(x, v):
        def loss(x, v):
            return jnp.sum(jnp.sin((x * v).reshape(-1, 10)) * jnp.exp(x).reshape(-1, 10))

        mapped = arrax.vmap(lambda r: jnp.outer(r, v).ravel())(x[:3])
        return [*arrax.grad(loss, (0, 1))(x, v), mapped, arrax.lax.map(lambda r: jnp.outer(r, v).ravel(), x[:2])]

    assert_close(*on_both_routes(everything, x, v), np.float32)
