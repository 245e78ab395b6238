import functools
import threading

import numpy as np
import pytest

import arrax.numpy as jnp
from arrax import lax
from arrax.xla.host_kernels import sharing


@pytest.fixture(autouse=True)
def small_shares(monkeypatch):
    monkeypatch.setattr(sharing, "MIN_SHARE", 16)
    monkeypatch.setattr(sharing, "usable_processors", lambda: 4)


def test_work_is_done_by_all_threads_before_it_is_over():
    barrier, done = threading.Barrier(3, timeout=60), []

    def task(number):
        barrier.wait()  # which all three have to reach
        done.append(number)

    sharing.run_together([functools.partial(task, number) for number in range(3)])
    assert sorted(done) == [0, 1, 2]


def test_the_error_of_a_share_is_raised_when_the_others_are_done():
    done = []

    def fail():
        raise ValueError("no order")

    with pytest.raises(ValueError, match="no order"):
        sharing.run_together([functools.partial(done.append, 0), fail, functools.partial(done.append, 2)])
    assert sorted(done) == [0, 2]


def test_shares_are_not_divided_again():
    counts = []
    sharing.run_together([lambda: counts.append(sharing.count_of_shares(1000))] * 2)
    assert counts == [1, 1] and sharing.count_of_shares(1000) == 4


def test_where_no_thread_can_be_started_one_does_all(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    row = np.random.default_rng(0).integers(0, 1000, 500)
    expected = np.sort(row)
    sharing.sort_row(row)
    assert (row == expected).all()


@pytest.mark.parametrize("size", [1, 31, 32, 63, 64, 97, 1000])
@pytest.mark.parametrize("dtype", ["int32", "uint64"])
def test_parts_of_a_row_are_merged_in_order(size, dtype):
    row = np.random.default_rng(size).integers(0, 50, size).astype(dtype)
    expected = np.sort(row)
    sharing.sort_row(row)
    assert (row == expected).all()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_rows_are_divided_among_threads(count):
    taken = []

    def work(inputs, outputs, factor):
        taken.append(len(inputs[0]))
        outputs[0][...] = inputs[0] * factor
        outputs[1][...] = inputs[0].sum(axis=1, keepdims=True)

    matrix = np.arange(count * 20).reshape(count, 20)
    doubled, sums = np.empty_like(matrix), np.empty((count, 1), int)
    sharing.share_rows(work, [matrix], [doubled, sums], 2)
    assert (doubled == 2 * matrix).all() and (sums[:, 0] == matrix.sum(1)).all()
    assert sum(taken) == count and len(taken) == min(count, 4)


@pytest.mark.parametrize("shape", [(1, 5000), (7, 800)])
def test_kernels_give_the_same_bits_in_shares_as_alone(shape, monkeypatch):
    x = np.random.default_rng(0).standard_normal(shape).round(2).astype(np.float32)
    x[0, :4] = [np.nan, -0.0, 0.0, np.inf]
    values = jnp.asarray(x)

    def results():
        keyed = lax.sort((values, lax.broadcasted_iota(jnp.int32, shape, 1)), num_keys=1)
        return [lax.sort(values), *keyed, jnp.nanmedian(values, 1), *lax.top_k(values, shape[1] // 4)]

    shared = results()
    monkeypatch.setattr(sharing, "usable_processors", lambda: 1)
    for one, alone in zip(shared, results(), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(alone).tobytes()
