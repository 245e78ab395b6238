"""Compiled programs are forgotten before the kernel allows a process no further mapped regions."""

import logging

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.xla import mapped_regions

needs_regions = pytest.mark.skipif(
    mapped_regions.allowed() is None, reason="the system does not say how many regions there are"
)


@needs_regions
def test_the_regions_of_programs_are_bounded(monkeypatch, caplog):
    arrax.clear_caches()
    before = mapped_regions.regions()
    watch = mapped_regions.Watch(int((before + 60) / 0.75))
    monkeypatch.setattr(arrax.xla.compilation, "watch", watch)
    once = arrax.jit(lambda x: x * 2 + 1)
    with caplog.at_level(logging.INFO, "arrax"):
        for n in range(1, 70):
            assert once(np.full(n, 2.0))[-1] == 5
            assert jnp.negative(np.full(n, n))[0] == -n
    assert "compiled programs are forgotten" in caplog.text
    assert mapped_regions.regions() < before + 60 + 3 * 2 * 20  # sixteen programs between two looks


def test_nothing_is_counted_where_the_system_has_no_bound():
    watch = mapped_regions.Watch(None)
    watch.executable_made()
    assert watch.until == 0
