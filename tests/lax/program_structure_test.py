"""Operations that shape a program more than its values: tokens, queues, composites, sinks, constraints on places."""

import numpy as np
import pytest

import arrax
from arrax import lax

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def lowered(f, *args):
    return arrax.jit(f).lower(*args).as_text()


def test_tokens_join():
    printed = str(arrax.make_jaxpr(lambda x: lax.after_all(lax.create_token(x), lax.create_token()))(X))
    assert "d:Tok = after_all b c" in printed
    lax.after_all(lax.create_token(), lax.create_token()).block_until_ready()
    with pytest.raises(TypeError, match="requires tokens"):
        arrax.make_jaxpr(lax.after_all)(X)


def test_queues_lower_to_transfers_that_nobody_drops():
    text = lowered(lambda: lax.infeed(lax.create_token(), arrax.ShapeDtypeStruct((3,), np.float32))[0])
    assert "stablehlo.infeed" in text and "tensor<3xf32>" in text
    assert "stablehlo.outfeed" in lowered(lambda x: (lax.outfeed(lax.create_token(), (x, x)), x)[1], X)


def scaled_sine(x, *, k, names=()):
    return k * arrax.numpy.sin(x)


def test_a_composite_is_one_operation_with_its_program_beside_it():
    function = lax.composite(scaled_sine, "my.sine", 2)
    text = lowered(lambda x: function(x, k=3, names=("a", 1.5)), X)
    assert 'stablehlo.composite "my.sine"' in text and "version = 2" in text
    assert 'k = 3 : i64, names = ["a", 1.5' in text
    for run in (function, arrax.jit(function, static_argnames="k")):
        np.testing.assert_allclose(run(X, k=3), 3 * np.sin(X), rtol=1e-6)


def test_a_composite_has_no_derivative_and_closes_over_no_tracers():
    with pytest.raises(ValueError, match="'my.sine' has no derivative"):
        arrax.grad(lambda x: lax.composite(scaled_sine, "my.sine")(x, k=2.0).sum())(X)
    with pytest.raises(TypeError, match="must not close over traced values"):
        arrax.jit(lambda x: lax.composite(lambda y: x + y, "my.sum")(1.0))(X)
    with pytest.raises(TypeError, match="attribute k must be a constant"):
        arrax.jit(lambda k: lax.composite(scaled_sine, "my.sine")(X, k=k))(2.0)
    with pytest.raises(OverflowError, match="composite: version"):
        lax.composite(scaled_sine, "my.sine", 2**40)


def test_a_sink_keeps_what_leads_to_it():
    def f(x, keep):
        lax.dce_sink(x * 2, prevent_mlir_dce=keep)
        return x.sum()

    assert "dce_sink[prevent_mlir_dce=False]" in str(arrax.make_jaxpr(lambda x: f(x, False))(X))
    compiled = arrax.jit(lambda x: f(x, True)).lower(X).compile()
    assert "multiply" in compiled.as_text() and float(compiled(X)) == 15
    assert "multiply" not in arrax.jit(lambda x: f(x, False)).lower(X).compile().as_text()
    assert "multiply" in lowered(lambda x: f(x, False), X)
    assert float(arrax.jit(lambda x: f(x, False))(X)) == 15
    np.testing.assert_array_equal(arrax.grad(lambda x: f(x, False))(X), np.ones_like(X))


def test_a_staged_constant_is_a_value_of_the_program():
    assert isinstance(lax.stage(1.0), arrax.Array)
    assert float(arrax.grad(lambda x: lax.stage(x) * 3)(1.0)) == 3


def test_a_constraint_on_places_is_linear_and_needs_a_sharding():
    where = arrax.sharding.SingleDeviceSharding(arrax.devices()[0])
    out = lax.with_sharding_constraint({"a": X}, where)
    np.testing.assert_array_equal(out["a"], X)
    gradient = arrax.grad(lambda x: arrax.jit(lambda x: lax.with_sharding_constraint(x, where) ** 2)(x).sum())(X)
    np.testing.assert_array_equal(gradient, 2 * X)
    with pytest.raises(TypeError, match="expected a sharding"):
        lax.with_sharding_constraint(X, "a")


def test_select_and_scatter_takes_any_computations():
    compare, add = (arrax.make_jaxpr(f)(0.0, 0.0) for f in (lambda a, b: a >= b, lambda a, b: a + b))
    params = dict(select_jaxpr=compare, select_consts=(), scatter_jaxpr=add, scatter_consts=())

    def scatter(x, source):
        return lax.select_and_scatter_p.bind(
            x, source, 10.0, window_dimensions=(2,), window_strides=(2,), padding=((0, 0),), **params
        )

    x, source = np.array([1, 5, 4, 3], np.float32), np.array([7, 8], np.float32)
    np.testing.assert_array_equal(scatter(x, source), [10, 17, 18, 10])
    batched = arrax.vmap(scatter, (1, 0))(np.stack([x, -x], 1), np.stack([source, source]))
    np.testing.assert_array_equal(batched, [[10, 17, 18, 10], [17, 10, 10, 18]])


def test_broadcasting_to_a_rank_and_like_another_array():
    assert lax.broadcast_to_rank(X, 4).shape == (1, 1, 2, 3) and lax.broadcast_to_rank(X, 1).shape == (2, 3)
    np.testing.assert_array_equal(lax.broadcast_like(X[:, :1], np.zeros((4, 2, 3))), np.tile(X[:, :1], (4, 1, 3)))
    with pytest.raises(ValueError, match="cannot be repeated"):
        lax.broadcast_like(X, X[:, :1])


def test_message_passing_needs_an_axis_and_a_permutation():
    printed = arrax.make_jaxpr(lambda x: lax.precv(lax.psend(x, "i", [(0, 1)]), x, "i", [(0, 1)]), axis_env=[("i", 2)])
    assert "psend[axis_name=('i',) perm=((0, 1),)] a" in str(printed(X))
    with pytest.raises(NameError, match="unbound axis name: i"):
        lax.psend(X, "i", [(0, 1)])
    with pytest.raises(ValueError, match="below the axis' size 2"):
        arrax.make_jaxpr(lambda x: lax.psend(x, "i", [(0, 2)]), axis_env=[("i", 2)])(X)
