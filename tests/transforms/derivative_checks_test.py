"""``test_util``: right derivatives pass, wrong ones of every kind are found."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.test_util import check_grads, check_jvp, check_vjp
from arrax.transforms.derivative_checks import check_close


def test_right_derivatives_pass():
    check_grads(lambda x, y: {"a": jnp.sin(x) * y["b"]}, (np.float32(0.3), {"b": jnp.arange(3.0)}), order=2)
    with arrax.enable_x64(True):
        check_grads(lambda x: jnp.tanh(x) ** 3, (np.linspace(-1.0, 1.0, 5),), order=3)


def test_complex_and_integer_arguments():
    check_grads(lambda z: jnp.exp(z) * jnp.abs(z), (np.complex64(0.5 + 0.25j),), order=1)
    check_grads(lambda x, n: x * n, (np.float32(0.5), np.int32(3)), order=2)


@arrax.custom_jvp
def wrong(x):
    return jnp.sin(x)


wrong.defjvps(lambda t, ans, x: 1.5 * jnp.cos(x) * t)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), "rev", ("fwd", "rev")])
def test_wrong_rules_are_found(modes):
    with pytest.raises(AssertionError, match=r"\((jvp|vjp) of f\)"):
        check_grads(wrong, (0.5,), order=1, modes=modes)


def test_wrong_second_derivatives_are_found():
    @arrax.custom_jvp
    def f(x):
        return x * x * x

    f.defjvps(lambda t, ans, x: 3 * x * arrax.lax.stop_gradient(x) * t)
    check_grads(f, (0.5,), order=1)
    with pytest.raises(AssertionError, match="of the jvp of f"):
        check_grads(f, (0.5,), order=2)


def test_given_derivatives_are_checked():
    check_jvp(jnp.sin, lambda x, t: (jnp.sin(*x), jnp.cos(*x) * t[0]), (0.5,))
    check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (jnp.cos(x) * ct,)), (0.5,))
    with pytest.raises(AssertionError, match="value of the jvp"):
        check_jvp(jnp.sin, lambda x, t: (jnp.cos(*x), jnp.cos(*x) * t[0]), (0.5,))
    with pytest.raises(AssertionError, match="mine"):
        check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (jnp.sin(x) * ct,)), (0.5,), err_msg="mine")


def test_differences_in_single_precision_are_taken_over_a_ten_thousandth():
    places = []

    def seen(x):
        places.append(x)
        return x

    def f(x):
        return x if isinstance(x, arrax.core.Tracer) else seen(x)

    check_grads(f, (np.float32(0),), order=1, modes=["fwd"])
    direction = np.random.RandomState(0).standard_normal()
    np.testing.assert_allclose(places, [0, 1e-4 * direction, -1e-4 * direction], rtol=1e-5)


def test_unknown_modes_and_integer_arguments_are_refused():
    with pytest.raises(ValueError, match="modes"):
        check_grads(jnp.sin, (0.5,), 1, modes=("back",))
    with pytest.raises(ValueError, match="no argument"):
        check_grads(lambda n: n, (1,), 1)


def test_arrays_are_compared_with_the_digits_of_their_dtypes():
    check_close({"a": jnp.ones(2)}, {"a": np.ones(2) + 5e-7})
    check_close(jnp.ones(2), np.ones(2) + 1e-3, atol={"float32": 1e-2})
    check_close(np.int32(3), 3)
    for xs, ys in [(1.0, np.float32(1) + 3e-5), ([1.0], [1.0, 2.0]), (np.ones(3), 1.0), (2, 3)]:
        with pytest.raises(AssertionError, match="check_close"):
            check_close(xs, ys)
