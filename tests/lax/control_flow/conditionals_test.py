"""lax.cond, lax.switch and lax.platform_dependent: values, types, derivatives, batching."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.interpreter import Primitive
from arrax.core.types import typeof
from arrax.experimental import io_callback
from arrax.interpreters.dce import dce_jaxpr

BOTH = pytest.mark.parametrize("wrap", [lambda f: f, arrax.jit], ids=["eager", "jit"])


def bent(x):
    """sin(x^2) below 1, 3 x above."""
    return lax.cond(lax.lt(x, 1.0), lambda x: lax.sin(lax.mul(x, x)), lambda x: lax.mul(x, 3.0), x)


def slope(x):
    return np.cos(x * x) * 2 * x if x < 1 else 3.0


@BOTH
@pytest.mark.parametrize("pred", [True, False, 1, 0, 0.5, np.bool_(True), np.float32(0), np.array(2)])
def test_the_predicate_chooses_the_function(wrap, pred):
    out = wrap(lambda p: lax.cond(p, lambda x: lax.add(x, 1), lambda x: lax.sub(x, 1), 5))(pred)
    assert int(np.asarray(out)) == (6 if pred else 4)


@BOTH
@pytest.mark.parametrize(("index", "expected"), [(-3, 1), (0, 1), (1, 2), (2, 3), (9, 3)])
def test_switch_clamps_its_index(wrap, index, expected):
    out = wrap(lambda i: lax.switch(i, [lambda x: x, lambda x: lax.mul(x, 2), lambda x: lax.mul(x, 3)], 1))(index)
    assert int(np.asarray(out)) == expected


def test_switch_with_one_branch_calls_it():
    assert lax.switch(5, [lambda x: x], 3) == 3


def test_operands_and_results_may_be_pytrees():
    out = lax.cond(False, lambda a, b: {"x": a["k"], "y": b}, lambda a, b: {"x": b, "y": a["k"]}, {"k": 1.0}, 2.0)
    assert_allclose(out["x"], 2)
    assert_allclose(out["y"], 1)


def test_functions_without_operands_and_without_results():
    assert_allclose(lax.cond(True, lambda: 1.0, lambda: 2.0), 1)
    assert lax.cond(True, lambda: None, lambda: None) is None


def test_older_forms_of_calls():
    assert_allclose(lax.cond(True, 3.0, lambda x: lax.add(x, 1.0), 5.0, lambda x: x), 4)
    assert_allclose(lax.cond(False, 3.0, lambda x: lax.add(x, 1.0), 5.0, lambda x: x), 5)
    assert_allclose(lax.cond(True, lambda x: lax.add(x, 1.0), lambda x: x, operand=1.0), 2)
    assert_allclose(lax.cond(True, lambda x: 1.0, lambda x: 2.0, operand=None), 1)
    assert_allclose(lax.switch(1, [lambda x: x, lambda x: lax.add(x, 1.0)], operand=1.0), 2)


def test_callable_operands_do_not_make_it_the_older_form():
    from arrax.tree_util import Partial

    f = Partial(lax.sin)
    assert_allclose(lax.cond(True, lambda f, g: f(1.0), lambda f, g: g(1.0), f, f), np.sin(1), rtol=1e-6)


def test_branches_close_over_arrays_and_tracers():
    table = np.arange(3.0, dtype=np.float32)

    def f(p, x):
        return lax.cond(p, lambda: lax.mul(table, x), lambda: lax.add(lax.mul(table, 2.0), lax.mul(x, x)))

    assert_allclose(f(True, np.float32(3)), table * 3)
    assert_allclose(arrax.jit(f)(False, np.float32(3)), table * 2 + 9)
    jacobian = arrax.jacrev(f, argnums=1)(False, np.float32(3))
    assert_allclose(jacobian, [6, 6, 6])


def test_a_result_is_weak_only_where_all_branches_are():
    strong = np.float32(2)
    assert typeof(lax.cond(True, lambda x: lax.add(x, 1.0), lambda x: x, 1.0)).weak_type
    for first, second in ((1.0, strong), (strong, 1.0)):
        out = arrax.jit(lambda p, a=first, b=second: lax.cond(p, lambda: a, lambda: b))(True)
        assert not typeof(out).weak_type
        assert_allclose(out, first)


def test_a_derivative_is_weak_where_the_argument_is():
    slope = arrax.grad(lambda x: lax.cond(True, lax.sin, lambda x: lax.mul(x, 2.0), x))
    assert typeof(slope(1.0)).weak_type and not typeof(slope(np.float32(1))).weak_type


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lax.cond(np.ones(3) > 0, lambda: 1, lambda: 2), TypeError, r"scalar.*\(3,\).*jnp.where"),
        (lambda: lax.cond("a", lambda: 1, lambda: 2), TypeError, "must be a scalar, got 'a'"),
        (lambda: lax.cond(1j, lambda: 1, lambda: 2), TypeError, "complex"),
        (lambda: lax.cond(True, 3, lambda: 2), TypeError, "true_fun should be a callable"),
        (lambda: lax.switch(1.0, [lambda: 1, lambda: 2]), TypeError, "integer"),
        (lambda: lax.switch(np.arange(2), [lambda: 1, lambda: 2]), TypeError, "scalar"),
        (lambda: lax.switch(1, []), ValueError, "empty"),
        (lambda: lax.switch(1, [3]), TypeError, "callables"),
        (
            lambda: lax.cond(True, lambda x: (x, x), lambda x: [x, x], 1.0),
            TypeError,
            "^cond branch outputs must have the same pytree structure",
        ),
        (
            lambda: lax.cond(True, lambda: 1, lambda: 2.0),
            TypeError,
            "^cond branches must have equal output types but they differ(.|\n)*the dtypes differ",
        ),
        (
            lambda: lax.cond(True, lambda x: (x, {"k": x}), lambda x: (x, {"k": np.ones(2, np.float32)}), 1.0),
            TypeError,
            r"output\[1\]\['k'\] is float32\[2\] in false_fun and float32\[\] in true_fun: the shapes differ",
        ),
        (lambda: lax.cond(True, lambda x: "a", lambda x: x, 1.0), TypeError, "not a valid array type"),
        (lambda: lax.cond(True, lambda x: x, lambda x: x, "a"), TypeError, "operand 'a'"),
        (lambda: lax.cond(True, lambda x: x, lambda x: x, 1.0, operand=2.0), TypeError, "keyword"),
    ],
)
def test_wrong_arguments_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


# ---- derivatives ----


@BOTH
@pytest.mark.parametrize("x", [0.5, 2.0])
def test_both_modes_follow_the_chosen_branch(wrap, x):
    assert_allclose(wrap(arrax.grad(bent))(x), slope(x), rtol=1e-5)
    assert_allclose(wrap(lambda x: arrax.jvp(bent, (x,), (1.0,))[1])(x), slope(x), rtol=1e-5)
    assert_allclose(wrap(arrax.grad(arrax.jit(bent)))(x), slope(x), rtol=1e-5)


def test_second_derivatives():
    x = 0.5
    assert_allclose(arrax.grad(arrax.grad(bent))(x), 2 * np.cos(x * x) - 4 * x * x * np.sin(x * x), rtol=1e-5)


def test_residuals_of_branches_share_their_slots():
    def f(i, x):
        return lax.switch(i, [lambda x: lax.sin(x), lambda x: lax.cos(x), lambda x: x], x)

    jaxpr = arrax.make_jaxpr(lambda x: arrax.grad(lambda y: f(1, y))(x))(2.0)
    known = next(eqn for eqn in jaxpr.eqns if eqn.primitive.name == "cond")
    assert len(known.outvars) <= 2  # the value, and one residual for all three


@pytest.mark.parametrize("index", [0, 1, 2])
def test_branches_with_different_residuals_and_zeros(index):
    def f(a, b):
        branches = [lambda a, b: lax.mul(lax.sin(a), b), lambda a, b: a, lambda a, b: np.float32(3)]
        return lax.switch(index, branches, a, b)

    expected = [(np.cos(0.5) * 2, np.sin(0.5)), (1, 0), (0, 0)][index]
    for found in (arrax.grad(f, (0, 1))(0.5, 2.0), arrax.jit(arrax.grad(f, (0, 1)))(0.5, 2.0)):
        assert_allclose(found[0], expected[0], rtol=1e-5)
        assert_allclose(found[1], expected[1], rtol=1e-5)


def test_a_predicate_from_a_linearized_value():
    assert_allclose(arrax.linearize(bent, 2.0)[1](1.0), 3)


# ---- batching ----


@BOTH
def test_vmap_over_the_predicate_selects(wrap):
    xs = np.array([0.25, 0.5, 2.0, 3.0], np.float32)
    assert_allclose(wrap(arrax.vmap(bent))(xs), [np.sin(x * x) if x < 1 else 3 * x for x in xs], rtol=1e-5)
    assert_allclose(wrap(arrax.vmap(arrax.grad(bent)))(xs), [slope(x) for x in xs], rtol=1e-5)
    assert_allclose(
        wrap(arrax.grad(lambda xs: lax.reduce_sum(arrax.vmap(bent)(xs), (0,))))(xs), [slope(x) for x in xs], rtol=1e-5
    )


def test_vmap_over_the_operands_keeps_the_conditional():
    xs = np.arange(3.0, dtype=np.float32)

    def f(p):
        return arrax.vmap(lambda x: lax.cond(p, lambda x: (x, 1.0), lambda x: (lax.mul(x, 2.0), x), x))(xs)

    text = str(arrax.make_jaxpr(f)(True))
    assert "cond[" in text and "select_n" not in text
    first, second = f(False)
    assert_allclose(first, xs * 2)
    assert_allclose(second, xs)
    assert_allclose(f(True)[1], np.ones(3))


def test_vmap_over_a_switch_with_many_branches():
    branches = [lambda x: x, lambda x: lax.mul(x, 2.0), lambda x: lax.mul(x, 3.0), lambda x: lax.neg(x)]
    indices, xs = np.array([3, 0, 2, 1, 9]), np.arange(10.0, dtype=np.float32).reshape(5, 2)
    out = arrax.vmap(lambda i, x: lax.switch(i, branches, x))(indices, xs)
    assert_allclose(out, xs * np.array([[-1], [1], [3], [2], [-1]]))


# ---- dead code, platforms, Python ----


def test_unused_results_and_operands_disappear():
    def f(p, x, y):
        return lax.cond(p, lambda x, y: (x, lax.sin(y)), lambda x, y: (lax.neg(x), y), x, y)[0]

    lean, kept = dce_jaxpr(arrax.make_jaxpr(f)(True, 1.0, 2.0).jaxpr, [True])
    assert kept == [True, True, False] and len(lean.eqns[-1].outvars) == 1


def test_platform_dependent_takes_the_branch_of_the_platform():
    def f(x):
        return lax.platform_dependent(x, default=lambda x: lax.add(x, 1.0), tpu=lambda x: lax.mul(x, 2.0))

    assert_allclose(f(2.0), 3)
    assert_allclose(arrax.jit(arrax.grad(f))(2.0), 1)
    assert_allclose(arrax.vmap(f)(np.arange(2.0, dtype=np.float32)), [1, 2])


def test_platform_dependent_without_a_branch_for_the_platform_is_refused():
    with pytest.raises(NotImplementedError, match="no branch for platform"):
        lax.platform_dependent(2.0, tpu=lambda x: x)


def test_disable_jit_calls_the_chosen_function_only():
    called = []
    with arrax.disable_jit():
        lax.cond(False, lambda x: called.append("true") or x, lambda x: called.append("false") or x, 1.0)
        lax.switch(1, [lambda: called.append(0), lambda: called.append(1)])
    assert called == ["false", 1]


def test_nans_of_branches_not_taken_do_not_reach_gradients_under_vmap():
    def root(x):
        return lax.cond(x < 1e-3, lambda x: x, jnp.sqrt, x)

    np.testing.assert_array_equal(arrax.grad(lambda x: arrax.vmap(root)(x).sum())(jnp.zeros(2)), [1, 1])
    np.testing.assert_array_equal(arrax.jit(arrax.grad(lambda x: arrax.vmap(root)(x).sum()))(jnp.zeros(2)), [1, 1])
    np.testing.assert_array_equal(arrax.vmap(arrax.grad(root))(jnp.zeros(2)), [1, 1])

    def three(x):
        return lax.switch(x.astype(int), [lambda x: x, jnp.log, lambda x: 1 / x], x - 1)

    found = arrax.grad(lambda x: arrax.vmap(three)(x).sum())(jnp.array([0.0, 1.5, 2.0]))
    np.testing.assert_allclose(found, [1, 2, -1])


def test_gradients_by_what_is_shared_are_safe_too():
    flags = jnp.array([True, True])

    def logarithm(w, x):
        return lax.cond(x > 0, lambda: w * jnp.log(x), lambda: 0.0)

    slope = arrax.grad(lambda w: arrax.vmap(lambda x: logarithm(w, x))(jnp.array([1.0, -1.0, 0.0])).sum())(2.0)
    assert slope == 0

    def shared(w):
        return arrax.vmap(lambda p: lax.cond(p, lambda x: x, jnp.sqrt, w))(flags).sum()

    assert arrax.grad(shared)(0.0) == 2


def test_what_every_branch_hands_on_stays_unmapped():
    def f(x, y):
        return lax.cond(x < 3, lambda x, y: (x * 2, y), lambda x, y: (x * 3, y), x, y)

    doubled, y = arrax.vmap(f, (0, None), (0, None))(jnp.arange(5), 3.0)
    np.testing.assert_array_equal(doubled, [0, 2, 4, 9, 12])
    assert y == 3

    def loop(x, y):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1], c[2] + c[1]), (x, y, y))

    counts, y, sums = arrax.vmap(loop, (0, None), (0, None, 0))(jnp.arange(3), 2.0)
    np.testing.assert_array_equal(counts, [3, 3, 3])
    np.testing.assert_array_equal(sums, [8, 6, 4])
    assert y == 2


def test_input_and_output_in_branches_by_example_are_refused():
    def branch(p):
        return lax.cond(p, lambda: io_callback(lambda: None, None), lambda: None)

    with pytest.raises(NotImplementedError, match="IO effect"):
        arrax.vmap(branch)(jnp.array([True, False]))

    def turn(i):
        io_callback(lambda i: None, None, i)
        return i + 1

    with pytest.raises(NotImplementedError, match="IO effect"):
        arrax.vmap(lambda n: lax.while_loop(lambda i: i < 3, turn, n))(jnp.arange(3))


def test_branches_for_other_platforms_need_no_rules():
    nope = Primitive("nope")
    nope.def_abstract_eval(lambda x: x)

    def function(x):
        return lax.platform_dependent(x, cpu=jnp.sin, default=nope.bind)

    if arrax.default_backend() == "cpu":
        assert_allclose(arrax.jvp(function, (1.0,), (1.0,))[1], np.cos(1), rtol=1e-6)
        assert_allclose(arrax.grad(function)(1.0), np.cos(1), rtol=1e-6)
        assert_allclose(arrax.vmap(function)(jnp.ones(2)), np.sin([1, 1]), rtol=1e-6)


def test_traced_numbers_of_steps_to_unroll_are_refused():
    with pytest.raises(arrax.errors.ConcretizationTypeError, match="unroll"):
        arrax.jit(lambda n: lax.scan(lambda c, _: (c, c), 1.0, None, 3, unroll=n))(3)
