"""``grad`` and its kin, custom rules, checkpoint: values against formulas, finite differences and each other."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import checkpoint_policies


def f(x):
    return jnp.sin(x) * x**2


def df(x):
    return np.cos(x) * x**2 + 2 * x * np.sin(x)


WAYS = {
    "grad": arrax.grad(f),
    "jit of grad": arrax.jit(arrax.grad(f)),
    "grad of jit": arrax.grad(arrax.jit(f)),
    "jvp": lambda x: arrax.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda x: arrax.vjp(f, x)[1](1.0)[0],
    "linearize": lambda x: arrax.linearize(f, x)[1](1.0),
    "jacfwd": arrax.jacfwd(f),
    "jacrev": arrax.jacrev(f),
    "checkpoint": arrax.grad(arrax.checkpoint(f)),
    "jit of checkpoint": arrax.jit(arrax.grad(arrax.checkpoint(f, policy=checkpoint_policies.dots_saveable))),
    "vmap of grad": lambda x: arrax.vmap(arrax.grad(f))(jnp.array([x]))[0],
}


@pytest.mark.parametrize("way", WAYS)
def test_first_derivatives_agree(way):
    np.testing.assert_allclose(WAYS[way](1.3), df(1.3), rtol=1e-5)


def test_second_derivatives_agree():
    second = arrax.grad(arrax.grad(f))(1.3)
    for way in (
        arrax.hessian(f),
        arrax.jacfwd(arrax.jacfwd(f)),
        arrax.grad(arrax.jit(arrax.grad(arrax.checkpoint(f)))),
    ):
        np.testing.assert_allclose(way(1.3), second, rtol=1e-5)
    nested = arrax.jvp(arrax.grad(f), (1.3,), (1.0,))[1]
    np.testing.assert_allclose(nested, second, rtol=1e-5)


def test_perturbations_are_not_confused():
    inner = lambda x: arrax.grad(lambda y: x)(0.0)  # noqa: E731
    assert arrax.grad(lambda x: x * inner(x))(2.0) == 0.0


def test_argnums_aux_and_pytrees():
    g = lambda a, b: (a["w"] ** 2 * b, {"seen": a["w"]})  # noqa: E731
    (value, aux), (da, db) = arrax.value_and_grad(g, argnums=(0, 1), has_aux=True)({"w": 3.0}, 2.0)
    assert value == 18.0 and aux["seen"] == 3.0 and da["w"] == 12.0 and db == 9.0


def test_python_control_flow_sees_concrete_values():
    assert arrax.grad(lambda x: 3.0 * x**2 if x < 3 else -4 * x)(2.0) == 12.0


@pytest.mark.parametrize("convert", [float, complex, lambda x: x.tolist(), lambda x: x[None].tobytes()])
def test_no_gradient_is_lost_in_a_python_number(convert):
    with pytest.raises(arrax.errors.ConcretizationTypeError, match="The problem arose"):
        arrax.grad(lambda x: x if convert(x) else -x)(2.0)
    assert arrax.grad(lambda x: x if convert(arrax.lax.stop_gradient(x)) else -x)(jnp.float32(2.0)) == 1.0
    assert arrax.grad(lambda x: x if convert(x > 0) else -x)(2.0) == 1.0


def test_integers_and_float0():
    with pytest.raises(TypeError, match="requires real- or complex-valued inputs"):
        arrax.grad(lambda x: x * 2.0)(3)
    (ct,) = arrax.vjp(lambda n: n * 2.0, 3)[1](1.0)
    assert ct.dtype == arrax.float0


def test_cotangents_of_integer_results_count_as_zero():
    _, pull = arrax.vjp(lambda x: (x * 2.0, jnp.argmax(x), x > 0), jnp.arange(3.0))
    for second, third in ((np.int32(7), np.ones(3, bool)), (1.0, np.zeros(3, arrax.float0))):
        np.testing.assert_array_equal(pull((jnp.ones(3), second, third))[0], [2, 2, 2])


def test_complex_convention_and_holomorphic():
    z = 1.0 + 2.0j
    np.testing.assert_allclose(arrax.grad(jnp.sin, holomorphic=True)(z), np.cos(z), rtol=1e-5)
    np.testing.assert_allclose(arrax.grad(lambda z: jnp.abs(z) ** 2)(z), 2 * np.conj(z), rtol=1e-5)
    with pytest.raises(TypeError, match="requires real-valued outputs"):
        arrax.grad(jnp.sin)(z)


def test_jacobians_have_output_shape_then_input_shape():
    g = lambda x: jnp.stack([x.sum(), (x**2).sum()])  # noqa: E731
    x = jnp.arange(3.0)
    for jacobian in (arrax.jacfwd(g)(x), arrax.jacrev(g)(x)):
        np.testing.assert_allclose(jacobian, [np.ones(3), 2 * np.arange(3)])
    assert arrax.hessian(lambda x: (x**3).sum())(x).shape == (3, 3)


def test_vjp_functions_are_pytrees_of_their_residuals():
    chain = lambda x: jnp.sin(jnp.sin(jnp.sin(x)))  # noqa: E731
    _, pullback = arrax.vjp(chain, 1.0)
    leaves, tree = arrax.tree_util.tree_flatten(pullback)
    assert len(leaves) == 3
    np.testing.assert_allclose(arrax.tree_util.tree_unflatten(tree, leaves)(1.0)[0], arrax.grad(chain)(1.0))
    np.testing.assert_allclose(arrax.jit(lambda p: p(1.0)[0])(pullback), arrax.grad(chain)(1.0), rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: x * x, "mul"),
        (lambda x: 1 / x, "div"),
        (lambda x: x @ x, "dot_general"),
        (lambda x: jnp.where(x > 0, x, 0), "select_n"),
        (lambda x: arrax.lax.select(x > 0, x, -x), "select_n"),
    ],
)
def test_functions_that_are_not_linear_are_not_transposed(f, name):
    with pytest.raises((TypeError, NotImplementedError), match=f"must be linear: {name}|'gt'"):
        arrax.linear_transpose(f, jnp.ones(2))(f(jnp.ones(2)))
    with pytest.raises((TypeError, NotImplementedError), match=f"must be linear: {name}|'gt'"):
        arrax.jit(lambda x: arrax.linear_transpose(f, x)(f(x)))(jnp.ones(2))


def test_linear_transpose():
    np.testing.assert_allclose(arrax.linear_transpose(lambda x: 3 * x, 1.0)(2.0)[0], 6.0)
    for example in (np.ones(2), arrax.ShapeDtypeStruct((2,), "float64"), arrax.core.ShapedArray((2,), np.float32)):
        (ct,) = arrax.linear_transpose(lambda x: 3 * x, example)(np.ones(2))
        assert ct.dtype == np.float32 and ct.tolist() == [3, 3]
    with pytest.raises(NotImplementedError, match="Transpose rule"):
        arrax.linear_transpose(jnp.sin, 1.0)(2.0)


def test_shape_and_dtype_errors_name_what_came():
    with pytest.raises(ValueError, match="different primal and tangent shapes"):
        arrax.jvp(jnp.sin, (jnp.ones(2),), (jnp.ones(3),))
    with pytest.raises(TypeError, match="tree structure"):
        arrax.jvp(jnp.sin, (1.0,), ((1.0, 2.0),))
    with pytest.raises(TypeError, match=r"Output had shape: \(3,\)"):
        arrax.grad(jnp.sin)(jnp.ones(3))
    with pytest.raises(TypeError, match="got a tuple of length 3"):
        arrax.grad(lambda x: (x, 1, 2), has_aux=True)(1.0)
    with pytest.raises(TypeError, match=r"got an array of shape \(\) and dtype float32"):
        arrax.value_and_grad(lambda x: x * 2, has_aux=True)(1.0)
    # jacfwd has no allow_int
    with pytest.raises(TypeError, match=r"^jacfwd requires .* int32. For integers and bools use jvp\."):
        arrax.jacfwd(lambda x: jnp.sin(x))(jnp.arange(3))


@pytest.fixture
def log1pexp():
    rule = arrax.custom_jvp(lambda x: jnp.log(1.0 + jnp.exp(x)))
    rule.defjvps(lambda t, ans, x: (1 - 1 / (1 + jnp.exp(x))) * t)
    return rule


def test_custom_jvp_replaces_the_derivative(log1pexp):
    assert arrax.grad(log1pexp)(100.0) == 1.0
    assert arrax.jit(arrax.grad(log1pexp))(100.0) == 1.0
    np.testing.assert_allclose(arrax.vmap(arrax.grad(log1pexp))(jnp.array([0.0, 100.0])), [0.5, 1.0])


def test_custom_jvp_runs_only_the_function_when_not_differentiated():
    calls = []

    @arrax.custom_jvp
    def g(x):
        calls.append("g")
        return x

    g.defjvp(lambda p, t: (g(*p), calls.append("rule") or t[0]))
    g(1.0), arrax.jit(g)(1.0), arrax.vmap(g)(jnp.ones(2))
    assert set(calls) == {"g"}
    calls.clear()
    arrax.grad(g)(1.0)
    assert calls == ["g", "rule"] or calls == ["rule", "g"]


def test_custom_vjp_in_every_composition():
    @arrax.custom_vjp
    def clip(lo, hi, x):
        return x

    clip.defvjp(lambda lo, hi, x: (x, (lo, hi)), lambda res, g: (None, None, jnp.clip(g, *res)))
    h = lambda x: 3.0 * clip(-1.0, 1.0, x * 2.0)  # noqa: E731
    assert arrax.grad(h)(1.0) == 2.0
    assert arrax.jit(arrax.grad(h))(1.0) == 2.0 and arrax.grad(arrax.jit(h))(1.0) == 2.0
    np.testing.assert_array_equal(arrax.vmap(arrax.grad(h))(jnp.ones(2)), [2.0, 2.0])
    assert arrax.grad(arrax.checkpoint(h))(1.0) == 2.0
    with pytest.raises(TypeError, match="can't apply forward-mode autodiff"):
        arrax.jvp(h, (1.0,), (1.0,))


def test_custom_vjp_sums_over_the_batch_for_unbatched_arguments():
    @arrax.custom_vjp
    def scale(w, x):
        return w * x

    scale.defvjp(lambda w, x: (w * x, (w, x)), lambda res, g: (res[1] * g, res[0] * g))
    loss = lambda w: arrax.vmap(lambda x: scale(w, x))(jnp.arange(3.0)).sum()  # noqa: E731
    assert arrax.grad(loss)(2.0) == 3.0


def test_nondiff_arguments_come_first_in_rules():
    app = arrax.custom_jvp(lambda fun, x: fun(x), nondiff_argnums=(0,))
    app.defjvp(lambda fun, primals, tangents: (fun(*primals), 2.0 * tangents[0]))
    assert arrax.grad(lambda x: app(jnp.sin, x))(1.0) == 2.0


def test_rules_with_wrong_results_are_refused():
    bad = arrax.custom_vjp(lambda x: x)
    bad.defvjp(lambda x: (x, None), lambda res, g: (g, g))
    with pytest.raises(TypeError, match="tuple of length equal"):
        arrax.grad(bad)(1.0)
    for given in (1j, jnp.array(1j)):
        complex_rule = arrax.custom_vjp(lambda x: x)
        complex_rule.defvjp(lambda x: (x, None), lambda res, g, given=given: (given,))
        with pytest.raises(ValueError, match="of type c64"):  # the imaginary part would be lost
            arrax.grad(complex_rule)(1.0)
    with pytest.raises(AttributeError, match="No JVP defined"):
        arrax.custom_jvp(lambda x: x)(1.0)


def test_custom_gradient_and_closure_convert():
    g = arrax.custom_gradient(lambda x: (x**2, lambda ct: (ct * 7.0,)))
    assert g(3.0) == 9.0 and arrax.grad(g)(3.0) == 7.0

    def outer(w):
        converted, consts = arrax.closure_convert(lambda x: w * x, 1.0)
        return converted(2.0, *consts)

    assert arrax.grad(outer)(5.0) == 2.0


def test_recomputation_keeps_only_what_its_policy_allows(capsys):
    from arrax.ad_checkpoint import checkpoint_name, print_saved_residuals

    def g(x):
        return jnp.sin(checkpoint_name(jnp.sin(x), "first"))

    print_saved_residuals(arrax.checkpoint(g), 1.0)
    assert capsys.readouterr().out.strip() == "f32[] from the argument 'x'"
    policy = checkpoint_policies.save_only_these_names("first")
    print_saved_residuals(arrax.checkpoint(g, policy=policy), 1.0)
    out = capsys.readouterr().out
    assert "named 'first' from" in out and "from the argument 'x'" in out
    print_saved_residuals(lambda x: jnp.sin(jnp.sin(x)), 1.0)
    assert capsys.readouterr().out.count("output of cos") == 2


def test_stop_gradient():
    assert arrax.grad(lambda x: x * arrax.lax.stop_gradient(x))(3.0) == 3.0


def test_integer_functions_are_transposed():
    assert arrax.linear_transpose(lambda x: 3 * x, 1)(2) == (6,)
    with pytest.raises(TypeError, match="integer -> integer"):
        arrax.linear_transpose(lambda x: x.astype(float), 1)


@pytest.mark.parametrize("jacobian", [arrax.jacfwd, arrax.jacrev, arrax.hessian])
def test_results_without_arrays_have_jacobians_without_arrays(jacobian):
    assert jacobian(lambda x: {"v": [], "w": None})(1.5) == {"v": [], "w": None}


def test_integer_outputs_have_zero_jacobians():
    jacobian = arrax.jit(arrax.jacfwd(lambda x: (x.astype(int), x)))(jnp.ones(2))
    assert jacobian[0].dtype == np.int32
    np.testing.assert_array_equal(jacobian[0], np.zeros((2, 2)))
    np.testing.assert_array_equal(jacobian[1], np.eye(2))


def test_an_argument_is_named_once_in_argnums():
    with pytest.raises(ValueError, match="^grad: .* twice"):
        arrax.grad(lambda x, y: x * y, (0, -2))(1.0, 2.0)
    with pytest.raises(TypeError):
        arrax.grad(lambda x: x, "0")(1.0)


def test_values_of_numpy_that_a_function_hands_through_are_arrays_of_the_default_width():
    given = np.arange(2.0)
    for found in (
        arrax.vjp(lambda x: (x, 2 * x), given)[0][0],
        arrax.checkpoint(lambda x, y: (2 * x, y))(1.0, given)[1],
        arrax.value_and_grad(lambda x: x)(np.float64(2))[0],
    ):
        assert isinstance(found, arrax.Array) and found.dtype == np.float32


@pytest.mark.parametrize("jacobian", [arrax.jacfwd, arrax.jacrev])
def test_gradients_of_jacobians_at_weakly_typed_points_are_weakly_typed(jacobian):
    slope = arrax.grad(lambda x: jacobian(lambda x: x * x)(x))(1.5)
    assert slope == 2 and slope.weak_type


def test_gradients_of_complex_numbers_have_no_weak_type():
    gradient = arrax.grad(lambda z: jnp.real(z) ** 2 + jnp.imag(z) ** 2)(3.0 + 4.0j)
    assert repr(gradient) == "Array(6.-8.j, dtype=complex64)"


def test_linear_functions_are_pytrees_of_their_residuals():
    linear = arrax.jit(lambda x: arrax.linearize(jnp.sin, x)[1])(1.0)
    np.testing.assert_allclose(arrax.jit(lambda f, t: f(t))(linear, 3.0), 3 * np.cos(1.0), rtol=1e-6)
    assert len(arrax.make_jaxpr(lambda x: arrax.linearize(jnp.sin, x)[1])(2.0).jaxpr.outvars) == 1
    many = arrax.vmap(lambda x: arrax.linearize(jnp.sin, x)[1])(jnp.arange(3.0))
    np.testing.assert_allclose(arrax.tree.leaves(many)[0], np.cos(np.arange(3.0)), rtol=1e-6)
    transposed = arrax.linear_transpose(lambda x: 2 * x, 1.0)
    assert arrax.jit(lambda f, ct: f(ct))(transposed, 3.0) == (6.0,)
    assert arrax.jit(lambda c: arrax.linear_transpose(lambda x: c * x, 1.0))(2.0)(3.0) == (6.0,)


def test_a_pullback_says_that_it_takes_one_argument():
    _, pullback = arrax.vjp(lambda x, y: (x, y), 1.0, 2.0)
    with pytest.raises(TypeError, match="returned for <lambda> takes one argument.*2 arguments"):
        pullback(1.0, 2.0)


def test_tangents_follow_where_64_bits_are_turned_on():
    def f(x):
        with arrax.enable_x64(True):
            return jnp.sin(x)

    assert arrax.grad(f)(0.5).dtype == np.float32
    primal, tangent = arrax.jvp(jnp.asarray, (1.0,), (2.0,))
    assert type(primal) is type(tangent) is type(jnp.ones(1))


def test_forward_mode_leaves_numbers_that_nothing_was_computed_of():
    assert arrax.jvp(lambda x: x, (1.0,), (2.0,)) == (1.0, 2.0)
    assert [type(x) for x in arrax.jvp(lambda x: x, (1.0,), (2.0,))] == [float, float]
    value, tangent = arrax.jvp(lambda x: x + 1, (np.ones(2, np.float32),), (np.ones(2, np.float32),))
    assert isinstance(value, arrax.Array) and isinstance(tangent, arrax.Array)

    @arrax.custom_jvp
    def square(x):
        return x**2

    square.defjvp(lambda primals, tangents: (square(primals[0]), 2 * primals[0] * tangents[0]))
    found = arrax.jvp(square, (3.0,), (2.0,))
    assert found == (9.0, 12.0) and [type(x) for x in found] == [float, float]


def test_functions_without_a_proper_name_are_transformed():
    class Nameless:
        __name__ = property(lambda self: 42)

        def __call__(self, x):
            return x * x

    f = Nameless()
    assert arrax.grad(f)(3.0) == 6 and arrax.vmap(f)(jnp.arange(2.0))[1] == 1 and arrax.jacfwd(f)(3.0) == 6
    assert arrax.jit(f)(3.0) == 9 and arrax.checkpoint(f)(3.0) == 9


def test_derivatives_that_are_zero_are_arrays_in_programs_too():
    def check(x):
        slopes = arrax.grad(lambda pair: pair[0] * 2.0)((x, 0.5))
        pulled = arrax.vjp(lambda y: 3.0, 0.5)[1](1.0)
        _, pushed = arrax.jvp(lambda y: 3.0, (0.5,), (1.0,))
        twice = arrax.grad(arrax.grad(lambda y: 3.0))(x)
        for found in (*slopes, *pulled, pushed, twice):
            assert isinstance(found, arrax.Array) and found.dtype == np.float32
        assert slopes[1].weak_type
        return slopes

    assert [float(found) for found in arrax.jit(check)(np.float32(1))] == [2.0, 0.0]
    program = arrax.make_jaxpr(arrax.grad(lambda y: 3.0))(1.0)
    assert not program.eqns and str(program.jaxpr.outvars[0]) == "0.0"


@pytest.mark.parametrize(
    "transform",
    [arrax.grad, arrax.value_and_grad, arrax.jacfwd, arrax.jacrev, arrax.vmap, arrax.checkpoint, arrax.pmap, arrax.jit],
    ids=lambda transform: transform.__name__,
)
def test_transformed_functions_tell_of_the_users(transform):
    def squared(x: float) -> float:
        """The square."""
        return x * x

    made = transform(squared)
    assert made.__wrapped__ is squared
    assert (made.__name__, made.__doc__) == ("squared", "The square.")
    assert not getattr(made, "__annotations__", {})
