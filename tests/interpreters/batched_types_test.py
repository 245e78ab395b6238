"""Classes of values that ``vmap`` maps over by functions of their own."""

from dataclasses import dataclass

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.interpreters import batching


class Rows:
    """Rows of one length, end to end."""

    def __init__(self, flat, length):
        self.flat, self.length = flat, length


@dataclass
class ByRow:
    length: int


@pytest.fixture(autouse=True)
def registered():
    def to_row(inner, index, rows, spec):
        return Rows(inner(rows.flat.reshape(-1, spec.length), 0) + index(), spec.length)

    def from_row(inner, size, row, spec):
        return Rows(inner(size, row.flat, 0).reshape(-1), spec.length)

    batching.register_vmappable(Rows, ByRow, int, to_row, from_row, None)
    yield
    batching.unregister_vmappable(Rows)


def test_elements_are_taken_out_and_put_together_again():
    def f(rows, scale):
        return Rows(jnp.cumsum(rows.flat) * scale, rows.length), rows.flat.sum()

    mapped = arrax.vmap(f, in_axes=(ByRow(2), 0), out_axes=(ByRow(2), 0))
    out, sums = mapped(Rows(np.arange(6.0, dtype=np.float32), 2), np.float32([1, 10, 100]))
    np.testing.assert_array_equal(out.flat, [0, 1, 30, 70, 600, 1300])
    np.testing.assert_array_equal(sums, [1, 7, 13])


def test_the_length_of_a_batch_may_be_given():
    sums = arrax.vmap(lambda rows: rows.flat.sum(), in_axes=ByRow(3), axis_size=2)(Rows(jnp.ones(6), 3))
    np.testing.assert_array_equal(sums, [3, 6])
    with pytest.raises(ValueError, match="axis_size must be given"):
        arrax.vmap(lambda rows: rows.flat, in_axes=ByRow(3))(Rows(jnp.ones(6), 3))


def test_classes_without_from_elt_are_no_results():
    batching.register_vmappable(Rows, ByRow, int, lambda inner, index, rows, spec: rows, None, None)
    with pytest.raises(TypeError, match="without from_elt"):
        arrax.vmap(lambda rows: rows, in_axes=(ByRow(3),), out_axes=ByRow(3), axis_size=2)(Rows(jnp.ones(6), 3))
    with pytest.raises(NotImplementedError, match="axis_size_type"):
        batching.register_vmappable(Rows, ByRow, float, None, None, None)


def test_classes_whose_specs_are_ints_leave_arrays_as_they_are():
    class Simulation:
        def __init__(self, steps):
            self.steps = steps

    batching.register_vmappable(
        Simulation, int, int, lambda inner, index, value, axis: Simulation(inner(value.steps, axis)), None, None
    )
    try:
        rows = jnp.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(arrax.vmap(lambda row, x: row.sum() + x)(rows, jnp.ones(2)), [4, 13])
        np.testing.assert_array_equal(arrax.vmap(lambda column: column.sum(), in_axes=1)(rows), [3, 5, 7])
        mapped = arrax.vmap(lambda simulation, x: simulation.steps * x)
        np.testing.assert_array_equal(mapped(Simulation(jnp.array([1, 2])), rows), rows * np.array([[1], [2]]))
        with pytest.raises(ValueError, match="in_axes needs at least one"):
            arrax.vmap(lambda x: x, in_axes=(None,))(rows)
    finally:
        batching.unregister_vmappable(Simulation)
