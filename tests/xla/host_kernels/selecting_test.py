import numpy as np
import pytest

import arrax.numpy as jnp
from arrax import lax
from arrax.xla.host_kernels import selecting

RNG = np.random.default_rng(0)
LENGTH = 5000
ROWS = {
    "random": RNG.integers(-(2**31), 2**31, LENGTH).astype(np.int32),
    "random, 16 bits": RNG.integers(-(2**15), 2**15, LENGTH).astype(np.int16),
    "random, unsigned": RNG.integers(0, 2**63, LENGTH, dtype=np.uint64) * 2,
    "few values": RNG.integers(0, 3, LENGTH),
    "one value": np.full(LENGTH, 7),
    "one beside many": np.where(np.arange(LENGTH) == 77, -1, 5),
    "ascending": np.arange(LENGTH),
    "descending": np.arange(LENGTH)[::-1].astype(np.int32),
    "periodic": np.tile(np.arange(50, dtype=np.int8), LENGTH // 50),
    "the sample sees zeros alone": np.where(
        np.isin(np.arange(LENGTH), selecting._sampled(LENGTH)), 0, np.arange(LENGTH)
    ),
}
PLACES = [[0], [LENGTH - 1], [2499, 2500], [0, 10, 2500, 2600, 4000, 4999], [100, 101, 102]]


@pytest.fixture(autouse=True)
def all_are_long(monkeypatch):
    monkeypatch.setattr(selecting, "MIN_LENGTH", 1)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("places", PLACES, ids=str)
def test_selected_elements_are_those_of_the_sorted_row(name, places):
    row = ROWS[name]
    before, ordered = row.copy(), np.sort(row)
    assert (selecting.select(row, places) == ordered[places]).all()
    for kth in places:
        parts = np.empty_like(row)
        selecting.partition_row(row, kth, parts)
        for found in (parts, row[selecting.argpartition_row(row, kth)]):
            assert found[kth] == ordered[kth] and (np.sort(found) == ordered).all()
            assert (found[:kth] <= found[kth]).all() and (found[kth:] >= found[kth]).all()
    assert (row == before).all()


@pytest.mark.parametrize("length", [1, 2, 3, 10])
def test_rows_of_few_elements(length):
    row = RNG.integers(0, 9, length)
    assert (selecting.select(row, range(length)) == np.sort(row)).all()


def test_a_sample_bounds_what_is_looked_at():
    row = ROWS["random"]
    bounds = selecting._bounds_of(row, 2499, 2500)
    assert bounds is not None and bounds.below <= 2499 and LENGTH - bounds.above > 2500
    assert bounds.below + bounds.above > LENGTH // 2


@pytest.mark.parametrize("shape", [(2000,), (3, 2000)])
def test_order_statistics_of_long_rows_are_those_of_short_ones(shape, monkeypatch):
    x = RNG.standard_normal(shape).round(2).astype(np.float32)
    x[..., :4] = [np.nan, -0.0, 0.0, -np.inf]
    q = np.array([0.0, 0.2, 0.5, 0.51, 1.0], np.float32)

    def results():
        values = jnp.asarray(x)
        return [
            jnp.nanquantile(values, q, -1), jnp.median(values[..., 1:], -1),
            jnp.partition(values, 900)[..., 900], jnp.take_along_axis(values, jnp.argpartition(values, 900), -1)[..., 900],
            *lax.top_k(values, 200),
        ]  # fmt: skip

    long = results()
    monkeypatch.setattr(selecting, "MIN_LENGTH", 1 << 40)
    for one, other in zip(long, results(), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
