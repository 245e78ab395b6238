"""Functions with derivative rules of their own: dtypes, types of what rules give, arguments, copies."""

import copy
import functools

import ml_dtypes
import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)

# fmt: off
DTYPES = [
    "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3", "float8_e3m4",
]
# fmt: on
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
SMALL = np.array([-2.0, 0.5, 1.0], np.float32)


def doubled_by(rules):
    """A function that doubles, whose derivative is said to be 3."""
    if rules == "custom_jvp":
        f = arrax.custom_jvp(lambda x: x + x)
        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * np.asarray(3, tangents[0].dtype)))
    elif rules == "custom_vjp":
        f = arrax.custom_vjp(lambda x: x + x)
        f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * np.asarray(3, ct.dtype),))
    else:
        f = arrax.custom_gradient(lambda x: (x + x, lambda ct: ct * np.asarray(3, ct.dtype)))
    return f


@each_dtype
@pytest.mark.parametrize("rules", ["custom_jvp", "custom_vjp", "custom_gradient"])
def test_rules_apply_in_every_floating_dtype(rules, dtype):
    x = jnp.asarray(SMALL.astype(getattr(ml_dtypes, dtype, dtype)))
    f = doubled_by(rules)
    for wrapped in (f, arrax.jit(f), arrax.vmap(f), arrax.checkpoint(f)):
        (ct,) = arrax.vjp(wrapped, x)[1](jnp.ones(3, dtype))
        assert ct.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(ct, np.float32), [3, 3, 3])
    if rules == "custom_jvp":
        tangent = arrax.jvp(arrax.vmap(f), (x,), (jnp.ones(3, dtype),))[1]
        np.testing.assert_array_equal(np.asarray(tangent, np.float32), [3, 3, 3])


# fmt: off
ACTIVATIONS = {  # function: derivative at -2, 1/2, 1
    arrax.nn.relu:  [0, 1, 1],
    arrax.nn.relu6: [0, 1, 1],
    arrax.nn.leaky_relu: [0.01, 1, 1],
    arrax.nn.hard_tanh: [0, 1, None],
    arrax.nn.hard_sigmoid: [1 / 6, 1 / 6, 1 / 6],
    arrax.nn.silu: [-0.0908, 0.7399, 0.9277],
    arrax.nn.elu: [0.1353, 1, 1],
    arrax.nn.selu: [0.2379, 1.0507, 1.0507],
    arrax.nn.celu: [0.1353, 1, 1],
    arrax.nn.softplus: [0.1192, 0.6225, 0.7311],
    arrax.nn.sigmoid: [0.105, 0.235, 0.1966],
    arrax.nn.log_sigmoid: [0.8808, 0.3775, 0.2689],
    arrax.nn.soft_sign: [1 / 9, 4 / 9, 1 / 4],
    arrax.nn.gelu: [-0.0861, 0.8675, 1.083],
    arrax.nn.squareplus: [0.1464, 0.6213, 0.7236],
    arrax.nn.mish: [-0.1084, 0.8864, 1.0490],
}
# fmt: on


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_activations_have_their_derivatives_in_16_bits(dtype):
    x = jnp.asarray(SMALL, dtype)
    wanted = [np.array([np.nan if v is None else v for v in row]) for row in ACTIVATIONS.values()]
    found = arrax.jit(lambda x: [arrax.grad(lambda x, f=f: f(x).sum())(x) for f in ACTIVATIONS])(x)  # noqa: B008
    for function, gradient, expected in zip(ACTIVATIONS, found, wanted, strict=True):
        assert gradient.dtype == dtype, function
        difference = np.abs(np.asarray(gradient, np.float64) - expected)
        assert np.nanmax(difference) < 0.02, (function, gradient, expected)


def test_a_backward_rule_may_give_another_inexact_dtype():
    f = arrax.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct.astype("float32") * 2,))
    for dtype in ("float16", "bfloat16"):
        gradient = arrax.grad(lambda x: f(x).sum())(jnp.ones(3, dtype))
        assert gradient.dtype == dtype
        np.testing.assert_array_equal(np.asarray(gradient, np.float32), [2, 2, 2])


def test_a_rule_must_give_the_functions_own_value():
    f = arrax.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (jnp.zeros(3), None), lambda _, ct: (1.0,))
    with pytest.raises(TypeError, match="fwd rule.*own value"):
        arrax.vjp(arrax.jit(f), 1.0)
    g = arrax.custom_jvp(lambda x: x * 2)
    g.defjvp(lambda primals, tangents: (jnp.zeros(3), jnp.zeros(3)))
    with pytest.raises(TypeError, match="own value"):
        arrax.jvp(arrax.jit(g), (1.0,), (1.0,))


def test_a_symbolic_zero_of_another_shape_is_refused():
    f = arrax.custom_vjp(lambda x, y: (x, y))
    f.defvjp(lambda x, y: (f(x.value, y.value), None), lambda _, cts: (cts[1], cts[0]), symbolic_zeros=True)
    with pytest.raises(ValueError, match="produced an output"):
        arrax.grad(lambda x, y: f(x, y)[0].sum())(jnp.ones(1), jnp.ones(2))


def test_zeros_stay_symbolic_under_vmap():
    seen = []
    f = arrax.custom_jvp(lambda x, y: y)

    def rule(primals, tangents):
        seen.append(type(tangents[1]).__name__)
        return primals[1], tangents[1]

    f.defjvp(rule, symbolic_zeros=True)
    out = arrax.jvp(arrax.vmap(lambda x: f(x, f(x, 1.0))), (jnp.ones(3),), (jnp.ones(3),))
    assert seen == ["SymbolicZero", "SymbolicZero"]
    np.testing.assert_array_equal(out[1], np.zeros(3))


def test_a_result_with_a_zero_tangent_beside_one_with_a_tangent_is_batched():
    f = arrax.custom_jvp(lambda x, y: (x * 2, y * 2))
    f.defjvp(lambda p, t: (f(*p), (t[0] * 2, t[1])), symbolic_zeros=True)
    tangents = arrax.jvp(arrax.vmap(f), (jnp.ones(3), jnp.arange(3.0)), (jnp.ones(3), jnp.ones(3)))[1]
    np.testing.assert_array_equal(tangents, [[2, 2, 2], [1, 1, 1]])
    y = jnp.arange(3.0)
    out, tangents = arrax.jvp(lambda x: arrax.vmap(f)(x, y), (jnp.ones(3),), (jnp.ones(3),))
    np.testing.assert_array_equal(tangents, [[2, 2, 2], [0, 0, 0]])


def test_defaults_of_keyword_only_parameters_are_filled_in():
    function = functools.partial(lambda x, y, a: x + y * a, a=0.5)
    f = arrax.custom_jvp(function)
    f.defjvp(lambda primals, tangents: arrax.jvp(function, primals, tangents))
    assert arrax.grad(lambda pair: f(*pair))((1.0, 2.0)) == (1.0, 0.5)
    g = arrax.custom_vjp(function)
    g.defvjp(lambda x, y: (g(x, y), None), lambda _, ct: (ct, 2 * ct))
    assert arrax.grad(lambda pair: g(*pair))((1.0, 2.0)) == (1.0, 2.0)
    with pytest.raises(TypeError, match="keyword-only"):
        f(1.0, 2.0, a=3.0)
    with pytest.raises(TypeError, match="<lambda>.*missing"):
        f(1.0)


@pytest.mark.parametrize("decorator", [arrax.custom_jvp, arrax.custom_vjp])
@pytest.mark.parametrize("number", [2, -3])
def test_nondifferentiable_positions_are_those_of_arguments(decorator, number):
    def product(x, y):
        return x * y

    fun = decorator(product, nondiff_argnums=(number,))
    if decorator is arrax.custom_jvp:
        fun.defjvp(lambda primals, tangents: (primals, tangents))
    else:
        fun.defvjp(lambda x, y: (x, y), lambda kept, ct: (ct, ct))
    with pytest.raises(IndexError, match=f"product: nondiff_argnums has {number}, .* 2 arguments"):
        fun(1.0, 2.0)


def test_traced_values_at_nondifferentiable_positions_are_constants():
    f = arrax.custom_jvp(lambda k, *rest: k, nondiff_argnums=(0,))
    f.defjvp(lambda k, primals, tangents: (k, 0 * k))
    x = jnp.ones(1)
    np.testing.assert_array_equal(arrax.linearize(f, x)[1](x), [0])


def test_deep_copies_share_functions():
    f = doubled_by("custom_jvp")
    compiled = arrax.jit(lambda x: x + 1)
    held = {"act": arrax.nn.relu, "own": f, "vjp": doubled_by("custom_vjp"), "jit": compiled}
    arrax.nn.relu(1.0), compiled(1.0)
    copied = copy.deepcopy(held)
    assert copied["act"](2.0) == 2 and copied["own"](2.0) == 4 and copied["vjp"](2.0) == 4 and copied["jit"](2.0) == 3


@pytest.mark.parametrize("symbolic", [True, False])
def test_rules_return_zeros_for_what_has_no_tangent(symbolic):
    @arrax.custom_jvp
    def f(x):
        return {"root": 2 * x, "steps": jnp.array(3), "residual": x}

    @f.defjvp
    def _(primals, tangents):
        out = f(*primals)
        rest = {name: out[name] for name in ("steps", "residual")}
        return out, {"root": 2 * tangents[0], **zero_from_primal(rest, symbolic_zeros=symbolic)}

    _, tangent = arrax.jvp(f, (1.0,), (1.0,))
    assert tangent["root"] == 2 and tangent["residual"] == 0 and tangent["steps"].dtype == arrax.dtypes.float0
    assert arrax.grad(arrax.jit(lambda x: f(x)["root"] + f(x)["residual"]))(1.0) == 2
    zero = zero_from_primal(np.ones(2, np.float32), symbolic_zeros=symbolic)
    assert isinstance(zero, SymbolicZero) is symbolic and zero.shape == (2,) and zero.dtype == np.float32


def test_values_of_perturbed_primals():
    tree = {"a": CustomVJPPrimal(1.5, True), "b": [CustomVJPPrimal(2, False)]}
    assert custom_vjp_primal_tree_values(tree) == {"a": 1.5, "b": [2]}


def test_programs_list_what_they_close_over_in_the_order_of_use():
    def consts_of(first, second):
        return arrax.make_jaxpr(lambda x: x * first + second)(1.0).consts

    seen = []

    def traced(y):
        seen.append([np.shape(c) for c in consts_of(jnp.ones(2), y)])
        seen.append([np.shape(c) for c in consts_of(y, jnp.ones(2))])
        seen.append([np.shape(c) for c in consts_of(jnp.asarray(np.ones(2)), y)])
        return y

    arrax.jit(traced)(np.ones((3, 2)))
    assert seen == [[(2,), (3, 2)], [(3, 2), (2,)], [(2,), (3, 2)]]


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_keywords_may_leave_out_arguments_before_them(kind):
    def scaled(x, shift=0.0, factor=3.0, *, unused=1):
        return x * factor + shift

    if kind == "jvp":
        fun = arrax.custom_jvp(scaled, nondiff_argnums=(2,))
        fun.defjvp(lambda factor, primals, tangents: (fun(*primals, factor), 10 * factor * tangents[0]))
    else:
        fun = arrax.custom_vjp(scaled, nondiff_argnums=(2,))
        fun.defvjp(lambda x, shift, factor: (fun(x, shift, factor), None), lambda factor, _, ct: (10 * factor * ct, ct))
    assert fun(2.0, factor=5.0) == 10.0 and fun(2.0) == 6.0
    assert arrax.grad(lambda x: fun(x, factor=5.0))(2.0) == 50.0
    with pytest.raises(TypeError, match="keyword-only arguments, but got unused"):
        fun(2.0, unused=2)


def test_backward_rules_may_give_one_cotangent_for_the_leaves_of_a_subtree():
    seen = []

    @arrax.custom_vjp
    def f(tree):
        return tree["a"][0] * 2 + tree["b"]

    def backward(_, cotangent):
        seen.append(cotangent)
        return ({"a": cotangent * 2, "b": None},)

    f.defvjp(lambda tree: (f(tree), None), backward)
    gradient = arrax.grad(f)({"a": (1.0, 3.0), "b": 2.0})
    assert arrax.tree.map(float, gradient) == {"a": (2.0, 2.0), "b": 0.0}
    assert isinstance(seen[0], arrax.Array)


def test_rules_of_recorded_calls_get_literals_as_values_of_the_program():
    seen = []

    @arrax.custom_vjp
    def scaled(x, factor):
        return x * factor

    def forward(x, factor):
        seen.append((factor.shape, factor.dtype.name))
        return scaled(x, factor), factor

    scaled.defvjp(forward, lambda factor, ct: (ct * factor, None))

    @arrax.custom_jvp
    def shifted(x, offset):
        return x + offset

    @shifted.defjvp
    def _(primals, tangents):
        seen.append((primals[1].shape, primals[1].dtype.name))
        return shifted(*primals), tangents[0]

    def both(x):
        return scaled(shifted(x, jnp.asarray(3.0)), 2)

    assert arrax.grad(arrax.jit(both))(1.0) == 2
    assert arrax.jit(arrax.grad(arrax.checkpoint(both)))(1.0) == 2
    assert set(seen) == {((), "float32"), ((), "int32")}


@pytest.mark.parametrize("transformed", [lambda f: f, arrax.jit, arrax.checkpoint], ids=["plain", "jit", "checkpoint"])
def test_cotangents_of_a_rule_keep_their_weak_type(transformed):
    strong = arrax.custom_vjp(lambda x: x * 2)
    strong.defvjp(lambda x: (x * 2, None), lambda _, ct: (jnp.float32(3),))
    weak = arrax.custom_vjp(lambda x: x * 2)
    weak.defvjp(lambda x: (x * 2, None), lambda _, ct: (ct * 2,))
    assert not arrax.grad(transformed(strong))(1.0).weak_type
    assert arrax.grad(transformed(weak))(1.0).weak_type
    assert not arrax.grad(transformed(weak))(jnp.float32(1)).weak_type


@pytest.mark.parametrize(
    "tangent, says", [(3, "gives i32"), (True, "gives bool"), (1j, "gives c64"), ((1.0, 2.0), "structure")]
)
def test_a_rule_of_defjvps_gives_tangents_of_the_output(tangent, says):
    for rules in ([lambda t, out, x, y: tangent, None], [lambda t, out, x, y: t, lambda t, out, x, y: tangent]):
        f = arrax.custom_jvp(lambda x, y: x * y)
        f.defjvps(*rules)
        with pytest.raises(TypeError, match=f"rule of defjvps must give tangents.*{says}"):
            arrax.jvp(f, (1.0, 2.0), (1.0, 1.0))


def test_defjvps_takes_a_rule_for_each_argument_and_integer_results():
    f = arrax.custom_jvp(lambda x, n: (x * n, n))
    f.defjvps(lambda t, out, x, n: (t * n, np.zeros((), arrax.dtypes.float0)))
    with pytest.raises(ValueError, match="1 rules for a function of 2 arguments"):
        arrax.grad(lambda x: f(x, 3)[0])(2.0)
    f.defjvps(lambda t, out, x, n: (t * n, np.zeros((), arrax.dtypes.float0)), None)
    assert arrax.grad(lambda x: f(x, 3)[0])(2.0) == 3
