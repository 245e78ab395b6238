"""``vmap``: axes in and out, prefixes, named axes, errors."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax


def test_axes_in_and_out():
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(arrax.vmap(jnp.sum)(x), [3, 12])
    np.testing.assert_array_equal(arrax.vmap(jnp.sum, in_axes=1)(x), [3, 5, 7])
    np.testing.assert_array_equal(arrax.vmap(jnp.sum, in_axes=-1)(x), [3, 5, 7])
    assert arrax.vmap(lambda r: r * 2, out_axes=1)(x).shape == (3, 2)
    assert arrax.vmap(lambda r: r * 2, out_axes=-1)(x).shape == (3, 2)


def test_prefixes_and_none():
    tree = {"a": jnp.ones((4, 2)), "b": jnp.arange(4.0)}
    out = arrax.vmap(lambda t, c: t["a"].sum() + t["b"] + c, in_axes=({"a": 0, "b": 0}, None))(tree, 1.0)
    np.testing.assert_array_equal(out, [3, 4, 5, 6])
    assert arrax.vmap(lambda x: (x, 1.0), out_axes=(0, None))(jnp.ones(3))[1] == 1.0


def test_axis_size_without_mapped_arguments():
    assert arrax.vmap(lambda: jnp.ones(2), axis_size=3)().shape == (3, 2)


def test_nested_maps():
    x = jnp.arange(6.0).reshape(2, 3)
    outer = arrax.vmap(arrax.vmap(lambda a, b: a * b, (None, 0)), (0, None))
    np.testing.assert_array_equal(outer(jnp.arange(2.0), x[1]), np.outer([0, 1], [3, 4, 5]))


def test_collectives_over_a_named_axis():
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(arrax.vmap(lambda v: lax.psum(v, "i"), axis_name="i")(x), [3, 3, 3])
    np.testing.assert_array_equal(arrax.vmap(lambda v: lax.axis_index("i"), axis_name="i")(x), [0, 1, 2])
    normal = arrax.vmap(lambda v: v / lax.pmax(v, "i"), axis_name="i")
    np.testing.assert_allclose(arrax.jit(normal)(x), [0, 0.5, 1])
    inside_jit = arrax.vmap(arrax.jit(lambda v: lax.psum(v, "i")), axis_name="i")
    np.testing.assert_array_equal(inside_jit(x), [3, 3, 3])


def test_errors_name_axes_and_sizes():
    with pytest.raises(ValueError, match="inconsistent sizes"):
        arrax.vmap(jnp.add)(jnp.ones(2), jnp.ones(3))
    with pytest.raises(ValueError, match="at least one non-None"):
        arrax.vmap(jnp.sin, in_axes=None)(1.0)
    with pytest.raises(ValueError, match="rank should be at least 1"):
        arrax.vmap(jnp.sin)(1.0)
    with pytest.raises(TypeError, match="in_axes must be"):
        arrax.vmap(jnp.sin, in_axes="a")
    with pytest.raises(ValueError, match="out_axes is None"):
        arrax.vmap(jnp.sin, out_axes=None)(jnp.ones(2))
    with pytest.raises(ValueError, match=r"out_axes\['b'\]\[0\], got axis spec None but output was batched on axis 0"):
        arrax.vmap(lambda v: {"a": 1, "b": (v,)}, out_axes={"a": None, "b": None})(jnp.ones(2))
    with pytest.raises(NameError, match="unbound axis name: j. Here in scope are 'i'"):
        arrax.vmap(lambda v: lax.psum(v, "j"), axis_name="i")(jnp.ones(2))


def test_a_map_agrees_with_a_loop_under_grad_and_jit():
    w = jnp.linspace(-1, 1, 12).reshape(3, 4)
    f = lambda x: jnp.tanh(w @ x).sum()  # noqa: E731
    xs = jnp.linspace(0, 1, 8).reshape(2, 4)
    loop = np.stack([arrax.grad(f)(x) for x in xs])
    np.testing.assert_allclose(arrax.vmap(arrax.grad(f))(xs), loop, rtol=1e-6)
    np.testing.assert_allclose(arrax.jit(arrax.vmap(arrax.grad(arrax.jit(f))))(xs), loop, rtol=1e-6)


def test_tangents_of_integers_are_batched():
    push = lambda x: arrax.jvp(lambda x: (x > 0, x), (x,), (1.0,))[1]  # noqa: E731
    zeros, ones = arrax.vmap(push)(jnp.ones(2))
    assert zeros.shape == (2,) and zeros.dtype == arrax.dtypes.float0
    np.testing.assert_array_equal(ones, [1, 1])


def test_operations_with_programs_of_their_own_under_a_named_axis():
    x = jnp.arange(2.0)
    constant = jnp.arange(3.0)

    def function(a, b):
        applied = constant.at[jnp.array([1])].apply(lambda t: t + 1)
        reduced = lax.reduce(constant, 0.0, lambda p, q: p * q + p + q, (0,))
        windows = lax.reduce_window(constant, 0.0, lambda p, q: p + q + p * q, (2,), (1,), "VALID")
        return a + applied.sum() + reduced + windows.sum()

    expected = x + 4 + 5 + 6
    np.testing.assert_allclose(arrax.vmap(function, axis_name="n")(x, x), expected)
    compiled = arrax.jit(arrax.vmap(function, axis_name="n")).trace(x, x).lower().compile()
    np.testing.assert_allclose(compiled(x, x), expected)


def test_leaks_of_mapped_tracers_are_found():
    kept = []
    with arrax.checking_leaks():
        arrax.vmap(lambda x: arrax.vmap(lambda y: x * y)(jnp.arange(2)))(jnp.arange(3))
        with pytest.raises(Exception, match="Leaked"):
            arrax.vmap(lambda x: kept.append(x) or x)(jnp.arange(3))
