"""Sorting by host kernels: the same bits as the compiler's sort gives, for every type, shape and kind of data."""

import threading

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.cpu.routes import (
    COMPLEX,
    EVERY,
    FLOAT8,
    FLOATS,
    INTEGERS,
    assert_routes_agree,
    awkward,
    lowered_text,
    on_both_routes,
)
from tests.support import precision, wide

RNG = np.random.default_rng(0)
each_dtype = pytest.mark.parametrize("dtype", EVERY, ids=str)


def places(x, axis=-1):
    return lax.broadcasted_iota(np.int32, x.shape, axis % x.ndim)


@pytest.mark.parametrize(
    ("dtype", "axes"), [(FLOATS[2], (0, 1, 2)), *((dtype, (n % 3,)) for n, dtype in enumerate(EVERY))], ids=str
)
def test_one_array_comes_in_the_same_order_along_any_axis(dtype, axes):
    x = awkward(dtype, (3, 37, 11))
    assert "custom_call" in lowered_text(lambda x: lax.sort(x, 1), awkward(np.float32, (3, 37, 23)))
    assert_routes_agree(lambda x: [lax.sort(x, axis) for axis in axes], x)


@each_dtype
def test_equal_elements_keep_their_order(dtype):
    x = awkward(dtype, (4, 600))
    assert_routes_agree(lambda x: lax.sort((x, places(x)), num_keys=1), x)


@pytest.mark.parametrize("second", [np.dtype(np.int8), np.dtype(np.uint64), COMPLEX[0]], ids=str)
@pytest.mark.parametrize("first", [np.dtype(bool), np.dtype(np.float32)], ids=str)
def test_several_keys_of_any_types(first, second):
    x, y, z = awkward(first, 1500), awkward(second, 1500, 1), awkward(np.float32, 1500, 2)
    assert_routes_agree(lambda *v: [lax.sort(v, num_keys=n) for n in (1, 3)], x, y, z)


@pytest.mark.parametrize("length", [2**16 - 1, 2**16, 2**16 + 1])
def test_long_rows(length):
    x = awkward(np.float32, length)
    ordered, order = assert_routes_agree(lambda x: lax.sort((x, places(x)), num_keys=1), x)
    numbers = x[~np.isnan(x)]
    np.testing.assert_array_equal(ordered[: numbers.size], np.sort(numbers))
    np.testing.assert_array_equal(x[order].view(np.int32), ordered.view(np.int32))


ROWS = {
    "sorted": np.arange(3000, dtype=np.float32),
    "descending": np.arange(3000, 0, -1, dtype=np.float32),
    "constant": np.full(3000, 2.5, np.float32),
    "zeros of both signs": RNG.choice(np.array([0.0, -0.0], np.float32), 3000),
    "subnormal": (RNG.integers(-50, 50, 3000).astype(np.int32) & -0x7F000001).view(np.float32),
    "all NaN": np.full(3000, np.nan, np.float32),
    "negative": -RNG.random(3000, np.float32),
    "infinite": RNG.choice(np.array([np.inf, -np.inf], np.float32), 3000),
}


@pytest.mark.parametrize("name", ROWS)
def test_data_of_one_kind(name):
    assert_routes_agree(
        lambda x: [lax.sort(x), lax.sort((x, places(x)), num_keys=1), jnp.median(x), lax.top_k(x, 900)], ROWS[name]
    )


@pytest.mark.parametrize(
    "shape", [(0,), (1,), (5000, 1), (1, 5000), (2000, 0), (0, 2000), (2000, 2), (2, 1, 900)], ids=str
)
def test_empty_and_short_axes(shape):
    x = awkward(np.float32, shape) if np.prod(shape) >= 8 else np.ones(shape, np.float32)
    assert_routes_agree(lambda x: [lax.sort(x, axis) for axis in range(x.ndim)], x)


@pytest.mark.parametrize("dtype", [*INTEGERS[2:4], *FLOATS, FLOAT8[0]], ids=str)
def test_greatest_elements(dtype):
    x = awkward(dtype, (50, 600))
    if np.dtype(dtype).kind not in "iu":
        x = np.where(np.isnan(x.astype(np.float64)), np.zeros((), dtype), x)
    assert_routes_agree(lambda x: [lax.top_k(x, k) for k in (40, 300)], x)


@pytest.mark.parametrize("dtype", [np.dtype(np.int16), *FLOATS[1:]], ids=str)
def test_order_statistics(dtype):
    x = awkward(dtype, (6, 501))
    shares = np.array([0.0, 0.1, 0.5, 0.77, 1.0], np.float32)
    exact = ("nearest", 0.4, None), ("lower", 0.9, 0), ("higher", 0.4, None), ("nearest", 0.9, 0)
    assert_routes_agree(lambda x: [jnp.quantile(x, share, axis=axis, method=how) for how, share, axis in exact], x)
    if np.dtype(dtype).kind not in "iu":  # sums of numbers of very different sizes cancel
        x = RNG.standard_normal((6, 501)).astype(dtype)
    own, general = on_both_routes(  # what lies between two numbers may differ as compilers contract it
        lambda x: [
            jnp.median(x, axis=1), jnp.quantile(x, shares, axis=0), jnp.percentile(x, 30.0), jnp.nanmedian(x, axis=0),
            jnp.nanquantile(x, 0.3),
        ], x,
    )  # fmt: skip
    for one, other in zip(own, general, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(
            wide(one), wide(other), rtol=16 * precision(one.dtype), atol=4 * precision(one.dtype)
        )


@pytest.mark.parametrize("dtype", [np.dtype(np.int8), np.dtype(np.int64), *FLOATS[1:]], ids=str)
@pytest.mark.parametrize("kth", [0, 7, 400, -1])
def test_partitions_have_lesser_ones_before_and_greater_ones_behind(dtype, kth):
    x = awkward(dtype, (4, 501))
    if np.dtype(dtype).kind not in "iu":
        x = np.where(np.isnan(x.astype(np.float64)), np.zeros((), dtype), x)
    with arrax.enable_x64(True):
        found = np.asarray(jnp.partition(x, kth))
        order = np.asarray(jnp.argpartition(x, kth))
    for row in (found, np.take_along_axis(x, order, -1)):
        row, ordered, place = row.astype(np.float64), np.sort(x.astype(np.float64)), kth % 501
        np.testing.assert_array_equal(row[:, place], ordered[:, place])
        assert (row[:, :place] <= row[:, place : place + 1]).all() and (
            row[:, place:] >= row[:, place : place + 1]
        ).all()
        np.testing.assert_array_equal(np.sort(row), ordered)


def test_functions_built_on_sorting():
    x, few = awkward(np.float32, 2000), RNG.integers(0, 300, 2000).astype(np.int32)
    key = arrax.random.key(3)

    def everything(x, few):
        return [
            jnp.argsort(x), jnp.argsort(x, descending=True), jnp.lexsort((x, few)), jnp.unique(few, size=300),
            jnp.unique(few, size=300, return_inverse=True, return_counts=True, return_index=True),
            jnp.intersect1d(few, few[::3], size=300), jnp.union1d(few, few + 7, size=400), jnp.isin(few, few[:20]),
            arrax.random.permutation(key, x), arrax.random.permutation(key, 3000),
            arrax.random.choice(key, 3000, (1000,), replace=False),
        ]  # fmt: skip

    assert_routes_agree(everything, x, few)


def test_inside_transformations_and_control_flow():
    x = np.random.default_rng(4).standard_normal((6, 1200)).astype(np.float32)

    def everything(x):
        def loss(row):
            return (lax.sort(row) * jnp.arange(1200.0)).sum() + jnp.median(row) + lax.top_k(row, 500)[0].sum()

        def step(state):
            number, row = state
            return number + 1, lax.sort(row + lax.rev(row, (0,)) * 0.5)

        return [
            arrax.vmap(lax.sort, 1)(x), lax.map(lax.sort, x), arrax.grad(loss)(x[0]), arrax.vmap(arrax.grad(loss))(x),
            lax.scan(lambda c, row: (lax.sort(c + row), c[0]), x[0], x), arrax.jacfwd(jnp.median)(x[1]),
            lax.while_loop(lambda s: s[0] < 3, step, (0, x[2])), arrax.hessian(lambda r: jnp.sort(r * r)[3])(x[3, :1000])[3],
            lax.cond(x[0, 0] > 9, lax.neg, lax.sort, x[4]),
            arrax.checkpoint(lambda r: lax.sort(r * r))(x[5]), arrax.linearize(lax.sort, x[0])[1](x[1]),
        ]  # fmt: skip

    assert_routes_agree(everything, x)


def test_several_threads_sort_at_once():
    data = [np.random.default_rng(seed).standard_normal(50_000).astype(np.float32) for seed in range(6)]
    program, wrong = arrax.jit(lambda x: lax.sort(x + 0)), []

    def work(x):
        expected = np.sort(x)
        wrong.extend(number for number in range(15) if not np.array_equal(program(x), expected))

    threads = [threading.Thread(target=work, args=(x,)) for x in data]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
