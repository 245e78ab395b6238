"""jet: derivatives of higher order along a curve, against nested jvp and closed forms."""

import functools

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax, nn
from arrax.experimental.jet import jet


def nested(f, primals, series):
    """The value and derivatives of f along the curve, by differentiating again and again along it."""
    order = len(series[0])
    factorials = np.cumprod([1, *range(1, order + 1)])

    def along(t):
        curve = [
            x + sum(term * t ** (k + 1) / factorials[k + 1] for k, term in enumerate(terms))
            for x, terms in zip(primals, series, strict=True)
        ]
        return f(*curve)

    found, g = [], along
    for _ in range(order + 1):
        found.append(g(0.0))
        g = (lambda h: lambda t: arrax.jvp(h, (t,), (1.0,))[1])(g)
    return found


def check(functions, *primals, order=3, rtol=1e-9):
    """All of some functions of the same arguments, by their names."""
    rng = np.random.default_rng(0)
    with arrax.enable_x64():
        primals = [jnp.asarray(x, jnp.float64) for x in primals]
        series = [[jnp.asarray(rng.normal(size=x.shape)) for _ in range(order)] for x in primals]
        found = arrax.jit(lambda *xs: {name: jet(f, xs, series) for name, f in functions.items()})(*primals)
        expected = arrax.jit(lambda *xs: {name: nested(f, xs, series) for name, f in functions.items()})(*primals)
        for name, (out, terms) in found.items():
            for one, other in zip([out, *terms], expected[name], strict=True):
                assert one.shape == other.shape and one.dtype == other.dtype, name
                np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-9, err_msg=name)


# fmt: off
ELEMENTWISE = {
    "exp": (lax.exp, 0.4), "exp2": (lax.exp2, 0.4), "expm1": (lax.expm1, 0.4), "log": (lax.log, 0.4), "log1p": (lax.log1p, 0.4),
    "sqrt": (lax.sqrt, 0.4), "rsqrt": (lax.rsqrt, 0.4), "cbrt": (lax.cbrt, 0.4), "logistic": (lax.logistic, 0.4),
    "sin": (lax.sin, 0.4), "cos": (lax.cos, 0.4), "tan": (lax.tan, 0.4), "tanh": (lax.tanh, 0.4), "asin": (lax.asin, 0.4),
    "acosh": (lax.acosh, 1.4), "atanh": (lax.atanh, 0.4), "erf": (lax.erf, 0.4), "erf_inv": (lax.erf_inv, 0.4),
    "integer_pow": (lambda x: lax.integer_pow(x, -3), 0.4), "abs": (lax.abs, -0.4),
    "square": (lax.square, 0.4), "neg": (lax.neg, 0.4), "sign": (lax.sign, 0.4), "floor": (lax.floor, 0.4),
}
BINARY = {
    "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "pow": lax.pow, "atan2": lax.atan2, "max": lax.max,
    "min": lax.min, "rem": lax.rem, "logaddexp": jnp.logaddexp,
}
MATRIX = {
    "product": lambda a: a @ jnp.sin(a), "convolution": lambda a: lax.conv(a[None, None], a[None, None], (1, 1), "SAME"),
    "solve": lambda a: jnp.linalg.solve(a, a[0] ** 2), "cholesky": lambda a: jnp.linalg.cholesky(a @ a.T),
    "eigh": lambda a: jnp.linalg.eigh(a + a.T)[0], "determinant": jnp.linalg.det, "sort": jnp.sort,
    "maximum": jnp.max, "product of all": jnp.prod, "sums": lambda a: jnp.cumsum(a**2, 0), "products": lambda a: jnp.cumprod(a, 1),
    "softmax": nn.softmax, "gather": lambda a: a[jnp.array([1, 0]), 0] ** 2, "scatter": lambda a: a.at[0].multiply(a[1]),
    "choice": lambda a: jnp.where(a > 1, a**2, jnp.sin(a)), "update": lambda a: lax.dynamic_update_slice(a, a[:1] ** 2, (1, 0)),
    "windows": lambda a: lax.reduce_window(a**2, -jnp.inf, lax.max, (1, 2), (1, 1), "VALID"), "clamp": lambda a: lax.clamp(0.0, a, 2.0),
    "fourier": lambda a: jnp.abs(jnp.fft.fft(a)), "variance": jnp.var, "norm": jnp.linalg.norm, "top": lambda a: lax.top_k(a, 1)[0],
}
PROGRAMS = {
    "jit": arrax.jit(lambda x: jnp.sin(x) * x), "checkpoint": arrax.checkpoint(lambda x: jnp.sin(x) * x), "relu": nn.relu,
    "silu": nn.silu, "softplus": nn.softplus,
    "cond": lambda x: lax.cond(x > 0, lambda v: v**3, jnp.cos, x),
    "switch": lambda x: lax.switch(jnp.int32(1), [jnp.sin, lambda v: jnp.exp(v) * x], x),
    "scan": lambda x: sum(lax.scan(lambda c, y: (c * jnp.sin(y) + x, c**2), x, jnp.stack([x, x**2, x * 0]))[1]),
    "fori": lambda x: lax.fori_loop(0, 4, lambda i, c: c * x + i, x),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] * 2 + x, c[1] * x, c[2] + 1), (x, x, 0))[1],
    "constant": lambda x: x * 0 + 1.0,
}
# fmt: on


def _scaled(f, factor, x):
    return f(factor * x)


def test_elementwise_operations_expand():
    ones = np.ones(2)
    check({name: functools.partial(_scaled, *entry) for name, entry in ELEMENTWISE.items()}, ones)


def _first(f, y, x):
    return f(x, y)


def test_operations_of_two_arrays_expand():
    x, y = np.array([1.4, 0.7]), np.array([0.5, 1.2])
    check(BINARY, x, y)
    check({name: functools.partial(_first, f, y) for name, f in BINARY.items()}, x)
    check({name: functools.partial(f, x) for name, f in BINARY.items()}, y)


def test_operations_of_matrices_expand():
    check(MATRIX, np.array([[4.0, 1.5], [2.0, 7.0]]), order=2, rtol=1e-7)


def test_nested_programs_expand():
    check(PROGRAMS, 1.3)


def test_operations_expand_one_by_one():
    out, terms = jet(
        lambda x: jnp.tanh(x @ x) / (1 + jnp.sum(x)), (np.ones((2, 2), np.float32),), ((np.eye(2), np.ones((2, 2))),)
    )
    expected = nested(lambda x: jnp.tanh(x @ x) / (1 + jnp.sum(x)), (np.ones((2, 2)),), ((np.eye(2), np.ones((2, 2))),))
    np.testing.assert_allclose([out, *terms], expected, rtol=1e-5, atol=1e-6)


def test_the_documented_example():
    h0, h1, h2 = 0.5**3.0, 3.0 * 0.5**2.0, 6.0 * 0.5
    f0, (f1, f2) = jet(jnp.sin, (h0,), ((h1, h2),))
    np.testing.assert_allclose([f0, f1, f2], [0.12467473, 0.7441479, 2.9064622], rtol=1e-5)


def test_results_have_lists_of_derivatives_at_their_leaves():
    out, terms = jet(lambda x, y: (x * y, {"x": x}), (2.0, 3.0), ([1.0, 0.0], (0.0, 1.0)))
    assert arrax.tree.map(float, out) == (6.0, {"x": 2.0})
    assert arrax.tree.map(float, terms) == ([3.0, 2.0], {"x": [1.0, 0.0]})
    out, terms = jet(lambda d: d["x"] * d["y"], ({"x": 2.0, "y": 3.0},), ({"x": [1.0, 0.0], "y": [0.0, 1.0]},))
    assert float(out) == 6.0 and list(map(float, terms)) == [3.0, 2.0]
    assert jet(jnp.sin, (0.0,), ((),)) == (0.0, [])


def test_integers_have_no_derivatives():
    out, terms = jet(lambda x, n: (x * n, n + 1, x > 0), (2.0, 3), ((1.0, 0.0), (5, 5)))
    assert [float(term) for term in terms[0]] == [3.0, 0.0] and int(out[1]) == 4
    assert [(term.dtype, float(term)) for each in terms[1:] for term in each] == [(np.float32, 0.0)] * 4


def test_expansions_are_differentiated_mapped_compiled_and_expanded():
    def second(x):
        return jet(jnp.sin, (x,), ((1.0, x),))[1][1]  # x cos x - sin x

    x = np.float32(2)
    np.testing.assert_allclose(arrax.grad(second)(x), -x * np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(
        arrax.jit(arrax.vmap(second))(np.array([0, x])), [0, x * np.cos(x) - np.sin(x)], rtol=1e-6
    )
    _, terms = jet(second, (x,), ((1.0, 0.0),))
    np.testing.assert_allclose(terms, [-x * np.sin(x), -np.sin(x) - x * np.cos(x)], rtol=1e-5)


def test_complex_functions_expand():
    out, terms = jet(lambda z: jnp.exp(1j * z), (0.3,), ((1.0, 0.0, 0.0),))
    np.testing.assert_allclose([out, *terms], np.exp(0.3j) * np.array([1, 1j, -1, -1j]), rtol=1e-6)


def test_work_grows_slowly_with_the_order():
    def operations(order):
        def expanded(x):
            return jet(lambda v: jnp.tanh(jnp.sin(v) * jnp.exp(v) / (1 + v**2)), (x,), ([1.0] * order,))

        return len(arrax.make_jaxpr(arrax.jit(expanded))(0.3).eqns[0].params["jaxpr"].eqns)

    assert operations(12) < 12 * operations(6)  # nested differentiation takes 64 times as many


def test_rules_of_the_user_look_at_values():
    @arrax.custom_jvp
    def f(x):
        return jnp.sin(x)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), 2 * t * jnp.cos(x) if x > 0 else t

    np.testing.assert_allclose(jet(f, (0.5,), ((1.0, 0.0),))[1], [2 * np.cos(0.5), -2 * np.sin(0.5)], rtol=1e-6)
    assert list(map(float, jet(f, (-0.5,), ((1.0, 0.0),))[1])) == [1.0, 0.0]


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="inconsistent lengths for different arguments: 2, 1"):
        jet(lambda x, y: x * y, (2.0, 3.0), ((1.0, 0.0), (0.0,)))
    with pytest.raises(ValueError, match="2 primals, but series for 1"):
        jet(lambda x, y: x * y, (2.0, 3.0), ((1.0, 0.0),))
    with pytest.raises(
        TypeError, match=r"derivative 2 of leaf 0 of the arguments has the shape \(2,\), the argument \(3,\)"
    ):
        jet(jnp.sin, (np.ones(3),), ((np.ones(3), np.ones(2)),))
    with pytest.raises(ValueError, match="series must have a list"):
        jet(lambda d: d["x"], ({"x": 1.0},), ([1.0],))
    with pytest.raises(ValueError, match="must be a tuple or list, got 1.0"):
        jet(jnp.sin, (1.0,), (1.0,))
    with pytest.raises(TypeError, match="primals must be a tuple or list"):
        jet(jnp.sin, 1.0, ((1.0,),))
    with pytest.raises(TypeError):
        jet(jnp.sin, ("a",), ((1.0,),))
    with pytest.raises(TypeError, match="custom_vjp"):
        jet(arrax.custom_gradient(lambda x: (jnp.sin(x), lambda ct: ct)), (2.0,), ((1.0,),))
    bare = arrax.core.Primitive("bare")
    bare.def_impl(lambda x: x)
    with pytest.raises(NotImplementedError, match="'bare'"):
        jet(bare.bind, (2.0,), ((1.0,),))
    kept = []
    jet(lambda x: kept.append(x) or x, (2.0,), ((1.0,),))
    with pytest.raises(arrax.errors.UnexpectedTracerError):
        jet(lambda x: x * kept[0], (2.0,), ((1.0,),))


def test_series_may_be_coefficients_of_taylor_series():
    def f(x, y):
        return x**3 + y, x * y

    coefficients = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    values, derivatives = jet(f, (2.0, 3.0), tuple((a, 2 * b, 6 * c) for a, b, c in coefficients))
    same, found = jet(f, (2.0, 3.0), coefficients, factorial_scaled=False)
    assert same == values
    assert [[a, 2 * b, 6 * c] for a, b, c in found] == [*map(list, derivatives)]
