"""Faults that drawing random expressions has found, one test each."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp


def test_complex_numbers_are_sorted_along_the_last_axis():
    table = np.array([[2, 1], [0, -1]], np.float32)
    np.testing.assert_array_equal(jnp.sort_complex(table), np.sort_complex(table))


def test_odd_reflections_turn_the_long_axes_over_though_one_is_short():
    row = np.array([[3, 3, 3, 5]])
    np.testing.assert_array_equal(
        jnp.pad(row, (1, 2), mode="reflect", reflect_type="odd"),
        np.pad(row, (1, 2), mode="reflect", reflect_type="odd"),
    )


@pytest.mark.parametrize("p", [None, "fro", 1])
def test_no_matrices_have_no_condition_numbers(p):
    assert jnp.linalg.cond(jnp.zeros((0, 2, 2)), p).shape == (0,)


def test_the_step_function_of_a_number_and_no_values_has_no_values():
    assert jnp.heaviside(np.float32(np.nan), np.zeros(0, np.float32)).shape == (0,)


def test_slopes_and_integrals_of_integers_are_as_wide_as_other_fractions_of_them():
    with arrax.enable_x64(True):
        whole = jnp.arange(4, dtype="int32")
        assert jnp.gradient(whole).dtype == jnp.trapezoid(whole).dtype == jnp.mean(whole).dtype == np.float32
        assert jnp.gradient(whole, 0.5).dtype == jnp.angle(whole).dtype == np.float64


@pytest.mark.parametrize(
    "function",
    [jnp.add, jnp.logical_and, jnp.bitwise_or, jnp.maximum, jnp.logaddexp2],
    ids=lambda function: function.__name__,
)
def test_universal_functions_take_the_options_of_numpys_only_as_none(function):
    x = jnp.ones(2, int)
    assert function(x, x, out=None, where=None).shape == (2,)
    for options in ({"out": x}, {"where": x > 0}):
        with pytest.raises(NotImplementedError, match=f"{next(iter(options))}.*not supported"):
            function(x, x, **options)
