"""linear_call and custom_transpose: the user's transpose under all transformations."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.custom_derivatives import linear_call
from arrax.custom_transpose import custom_transpose


def divided(x, r):
    """x / r, with ten times its transpose."""
    return linear_call(lambda r, x: x / r, lambda r, ct: 10 * ct / r, r, x)


def plus(x, r):
    return x + divided(x, r)


x, r = np.float32(2), np.float32(4)


def test_values_are_those_of_the_function():
    for f in (plus, arrax.jit(plus)):
        assert f(x, r) == 2.5
    (eqn, _) = arrax.make_jaxpr(plus)(x, r).eqns
    assert eqn.primitive.name == "linear_call" and eqn.params["num_res"] == 1
    assert [inner.primitive.name for inner in eqn.params["callee"].eqns] == ["div"]


def test_reverse_mode_calls_the_transpose_and_forward_mode_the_function():
    assert arrax.grad(plus)(x, r) == 1 + 10 / 4 == arrax.jit(arrax.grad(plus))(x, r)
    assert arrax.jvp(lambda v: plus(v, r), (x,), (np.float32(1),)) == (2.5, 1.25)
    assert arrax.linear_transpose(lambda v: plus(v, r), x)(np.float32(1)) == (3.5,)
    assert arrax.grad(lambda v: arrax.grad(plus)(v, r) * v)(x) == 3.5


def test_the_transpose_of_the_transpose_is_the_function():
    def transposed(ct):
        return arrax.linear_transpose(lambda v: plus(v, r), x)(ct)[0]

    assert arrax.linear_transpose(transposed, x)(np.float32(1)) == (1.25,)
    assert arrax.grad(transposed)(x) == 1.25


def test_batches():
    xs, rs = np.arange(1.0, 4.0, dtype=np.float32), np.array([1, 2, 4], np.float32)
    np.testing.assert_allclose(arrax.vmap(plus)(xs, rs), xs + xs / rs)
    np.testing.assert_allclose(arrax.vmap(arrax.grad(plus))(xs, rs), 1 + 10 / rs)
    np.testing.assert_allclose(arrax.vmap(arrax.grad(plus), (0, None))(xs, r), [3.5] * 3)
    np.testing.assert_allclose(arrax.grad(lambda v: arrax.vmap(plus, (None, 0))(v, rs).sum())(x), np.sum(1 + 10 / rs))
    np.testing.assert_allclose(arrax.jit(arrax.vmap(arrax.vmap(plus, (0, None)), (None, 0)))(xs, rs)[1], xs * 1.5)


def test_loops_and_branches():
    def looped(v):
        return lax.scan(lambda c, row: (divided(c, row), None), v, np.array([2, 5], np.float32))[0]

    assert looped(x) == np.float32(0.2)
    np.testing.assert_allclose([arrax.grad(looped)(x), arrax.jit(arrax.grad(looped))(x)], 10, rtol=1e-6)
    assert arrax.grad(lambda v: lax.cond(v > 0, lambda u: divided(u, r), lambda u: u, v))(x) == 2.5
    assert arrax.grad(arrax.checkpoint(lambda v: divided(jnp.sin(v) * 0 + v, r)))(x) == 2.5


def test_trees_and_values_that_are_closed_over():
    scale = jnp.float32(3)

    def f(v):
        def forward(res, lin):
            return {"o": scale * lin[0] * res["a"], "p": lin[1]}

        def backward(res, ct):
            return ct["o"] * res["a"] * 7, scale * ct["p"]

        out = linear_call(forward, backward, {"a": 2.0}, (v, v))
        return out["o"] + out["p"]

    assert f(1.0) == 7 and arrax.grad(f)(1.0) == 14 + 3
    np.testing.assert_array_equal(
        arrax.vmap(lambda s: arrax.grad(lambda v: _scaled(s, v))(1.0))(jnp.arange(3.0)), [0, 2, 4]
    )
    with pytest.raises(NotImplementedError, match="closes over"):
        arrax.grad(lambda s: _scaled(s, 1.0))(1.0)


def _scaled(s, v):
    return linear_call(lambda r, lin: s * lin, lambda r, ct: 2 * s * ct, (), v)


def test_misuse_is_refused():
    with pytest.raises(NotImplementedError, match="no derivative in its residual arguments"):
        arrax.grad(plus, 1)(x, r)
    with pytest.raises(TypeError, match="structure must match that of linear inputs"):
        arrax.grad(lambda v: linear_call(lambda r, v: v, lambda r, ct: (ct, ct), (), v))(x)
    with pytest.raises(ValueError, match=r"expected cotangent type float32\[\] but got float32\[3\]"):
        arrax.grad(lambda v: linear_call(lambda r, v: v, lambda r, ct: jnp.ones(3), (), v))(x)
    with pytest.raises(TypeError, match="callable"):
        linear_call(3, lambda r, ct: ct, (), x)
    with pytest.raises(TypeError):
        linear_call(lambda r, v: v, lambda r, ct: ct, (), "text")


def test_custom_transposes_are_told_the_types_of_results():
    @custom_transpose
    def scale(r, v):
        """r v"""
        return r * v

    @scale.def_transpose
    def rule(r, ct):
        return 5 * r * ct

    struct = arrax.ShapeDtypeStruct((), jnp.float32)
    assert scale.__doc__ == "r v" and rule is scale.transpose
    assert scale(struct, r, x) == 8 and arrax.grad(lambda v: scale(v, r, v))(x) == 20
    assert arrax.jit(arrax.grad(lambda v: scale(v, r, v)))(x) == 20
    with pytest.raises(TypeError, match=r"gave results of types ShapedArray\(float32\[\]\), but was called for"):
        scale(arrax.ShapeDtypeStruct((2,), jnp.float32), r, x)
    bare = custom_transpose(lambda r, v: v)
    assert bare(x, r, x) == 2
    with pytest.raises(AttributeError, match="No transpose defined"):
        arrax.grad(lambda v: bare(v, r, v))(x)
    with arrax.enable_custom_vjp_by_custom_transpose(True):
        assert arrax.config.jax_enable_custom_vjp_by_custom_transpose
