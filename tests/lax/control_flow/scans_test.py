"""lax.scan: values, types of the carry, derivatives, batching, dead code, unrolling."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import arrax
from arrax import lax
from arrax.core.types import typeof

XS = np.linspace(0.5, 1.5, 4, dtype=np.float32)


def step(carry, x):
    return lax.mul(carry, lax.sin(lax.add(carry, x))), lax.mul(carry, x)


def in_numpy(carry, xs, reverse=False):
    ys = []
    for x in xs[::-1] if reverse else xs:
        ys.append(carry * x)
        carry = carry * np.sin(carry + x)
    return carry, np.array(ys[::-1] if reverse else ys)


def unrolled(carry, xs, count):
    """The same loop as operations one after the other."""
    total = None
    for i in range(count):
        carry, y = step(carry, lax.squeeze(lax.slice_in_dim(xs, i, i + 1), (0,)))
        total = y if total is None else lax.add(total, y)
    return lax.add(carry, total)


def scanned(carry, xs):
    carry, ys = lax.scan(step, carry, xs)
    return lax.add(carry, lax.reduce_sum(ys, (0,)))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, 4, 7, True, False, 0])
def test_values_are_those_of_a_python_loop(reverse, unroll):
    carry, ys = lax.scan(step, np.float32(0.7), XS, reverse=reverse, unroll=unroll)
    expected = in_numpy(np.float32(0.7), XS, reverse)
    assert_allclose(carry, expected[0], rtol=1e-5)
    assert_allclose(ys, expected[1], rtol=1e-5)


@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_every_length_works(length):
    carry, ys = arrax.jit(lambda c: lax.scan(lambda c, _: (lax.add(c, 1), c), c, None, length=length))(3)
    assert int(np.asarray(carry)) == 3 + length
    assert_array_equal(ys, np.arange(3, 3 + length))


def test_zero_steps_give_empty_results_of_the_right_type():
    _, ys = lax.scan(lambda c, x: (c, lax.convert_element_type(x, np.int8)), 0.0, np.ones((0, 3), np.float32))
    assert ys.shape == (0, 3) and ys.dtype == np.int8


def test_carries_and_elements_may_be_pytrees():
    def body(carry, x):
        return {"sum": lax.add(carry["sum"], x[0])}, (x[1], None)

    carry, (ys, nothing) = lax.scan(body, {"sum": np.float32(0)}, (XS, XS * 2))
    assert_allclose(carry["sum"], XS.sum(), rtol=1e-6)
    assert_allclose(ys, XS * 2)
    assert nothing is None


def test_closed_over_arrays_and_tracers_reach_the_body():
    weights = np.arange(4.0, dtype=np.float32)

    def f(scale):
        return lax.scan(lambda c, x: (lax.add(c, lax.mul(weights, lax.mul(scale, x))), None), weights, XS)[0]

    expected = weights + weights * 2 * XS.sum()
    assert_allclose(f(np.float32(2)), expected, rtol=1e-5)
    assert_allclose(arrax.jit(f)(np.float32(2)), expected, rtol=1e-5)
    assert_allclose(arrax.jvp(f, (np.float32(2),), (np.float32(1),))[1], weights * XS.sum(), rtol=1e-5)


# ---- types ----


def test_a_weakly_typed_carry_is_promoted_to_the_type_that_comes_out():
    carry, _ = lax.scan(lambda c, x: (lax.add(lax.convert_element_type(c, np.float32), x), None), 0, XS)
    assert typeof(carry).dtype == np.float32
    assert_allclose(carry, XS.sum(), rtol=1e-6)


def test_a_weakly_typed_carry_stays_weak_where_nothing_asks_for_more():
    carry, _ = lax.scan(lambda c, _: (lax.add(c, 1), None), 0, None, length=3)
    assert typeof(carry).weak_type


def test_a_carry_of_another_dtype_is_refused_with_its_path():
    def body(carry, _):
        return {"a": lax.gt(carry["a"], 0.0), "b": carry["b"]}, None

    with pytest.raises(TypeError, match=r"carry\['a'\] goes in as float32\[\] and comes out as bool\[\]") as caught:
        lax.scan(body, {"a": np.float32(1), "b": np.float32(2)}, None, length=2)
    assert "['b']" not in str(caught.value)


def test_a_carry_of_another_shape_is_refused():
    with pytest.raises(TypeError, match="the shapes differ"):
        lax.scan(lambda c, x: (x, None), np.float32(1), np.ones((2, 3), np.float32))


def test_a_carry_of_another_structure_is_refused():
    with pytest.raises(TypeError, match="pytree structure"):
        lax.scan(lambda c, x: ((c, c), None), np.float32(1), XS)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lax.scan(lambda c, x: c, 0.0, XS), TypeError, "must return a pair"),
        (lambda: lax.scan(lambda c, x: (c, "a"), 0.0, XS), TypeError, r"returned a value of type .*str.*\[1\]"),
        (lambda: lax.scan(3, 0.0, XS), TypeError, "callable"),
        (lambda: lax.scan(step, 0.0, None), ValueError, "no `length` is given"),
        (lambda: lax.scan(step, 0.0, (XS, XS[:2])), ValueError, "different sizes: 4, 2"),
        (lambda: lax.scan(step, 0.0, XS, length=3), ValueError, "`length` is 3"),
        (lambda: lax.scan(step, 0.0, (XS, 1.0)), ValueError, r"xs\[1\] has none"),
        (lambda: lax.scan(step, 0.0, XS, unroll=-1), ValueError, "unroll"),
        (lambda: arrax.jit(lambda n: lax.scan(step, 0.0, None, length=n))(3), TypeError, "while_loop"),
    ],
)
def test_wrong_arguments_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


# ---- derivatives ----


def test_forward_mode_agrees_with_the_unrolled_loop():
    point, direction = (np.float32(0.7), XS), (np.float32(1), XS[::-1].copy())
    value, tangent = arrax.jvp(scanned, point, direction)
    expected = arrax.jvp(lambda c, xs: unrolled(c, xs, 4), point, direction)
    assert_allclose(value, expected[0], rtol=1e-5)
    assert_allclose(tangent, expected[1], rtol=1e-5)


@pytest.mark.parametrize("wrap", [lambda f: f, arrax.jit], ids=["eager", "jit"])
def test_reverse_mode_agrees_with_the_unrolled_loop(wrap):
    found = wrap(arrax.grad(scanned, argnums=(0, 1)))(np.float32(0.7), XS)
    expected = arrax.grad(lambda c, xs: unrolled(c, xs, 4), argnums=(0, 1))(np.float32(0.7), XS)
    for x, y in zip(found, expected, strict=True):
        assert_allclose(x, y, rtol=1e-4, atol=1e-6)


def test_reverse_mode_agrees_with_finite_differences():
    gradient = arrax.grad(scanned)(np.float32(0.7), XS)
    below, above = (np.asarray(scanned(np.float32(0.7 + d), XS)) for d in (-1e-2, 1e-2))
    assert_allclose(gradient, (above - below) / 2e-2, rtol=1e-2)


def test_second_derivatives_agree_with_the_unrolled_loop():
    found = arrax.grad(arrax.grad(scanned))(np.float32(0.7), XS)
    expected = arrax.grad(arrax.grad(lambda c: unrolled(c, XS, 4)))(np.float32(0.7))
    assert_allclose(found, expected, rtol=1e-4)
    forward = arrax.jvp(arrax.grad(scanned), (np.float32(0.7), XS), (np.float32(1), XS * 0))[1]
    assert_allclose(forward, expected, rtol=1e-4)


def test_gradients_of_closed_over_values_are_summed_over_the_steps():
    def loss(weight):
        return lax.scan(lambda c, x: (lax.add(c, lax.mul(lax.sin(weight), x)), None), np.float32(0), XS)[0]

    assert_allclose(arrax.grad(loss)(np.float32(0.3)), np.cos(0.3) * XS.sum(), rtol=1e-5)


def test_what_is_equal_in_all_steps_is_not_stacked_for_the_backward_pass():
    def loss(weight):
        return lax.scan(lambda c, x: (lax.mul(c, lax.sin(weight)), None), np.float32(1), XS)[0]

    text = str(arrax.make_jaxpr(arrax.grad(loss))(np.float32(0.3)))
    forward = text[: text.index("scan[")].splitlines()[-1]
    assert forward.count("f32[4]") == 1  # the carries of the steps only


def test_a_counter_in_the_carry_does_not_hinder_reverse_mode():
    def loss(x):
        def body(carry, _):
            i, c = carry
            return (lax.add(i, 1), lax.mul(c, lax.add(x, lax.convert_element_type(i, np.float32)))), None

        return lax.scan(body, (0, np.float32(1)), None, length=3)[0][1]

    assert_allclose(arrax.grad(loss)(np.float32(2)), 3 * 4 + 2 * 4 + 2 * 3)


def test_a_linear_loop_with_a_counter_is_transposed():
    def double(x):
        def body(carry, _):
            i, c = carry
            return (lax.add(i, 1), lax.mul(c, lax.convert_element_type(i, np.float32))), c

        (_, c), ys = lax.scan(body, (1, x), None, length=3)
        return lax.add(c, lax.reduce_sum(ys, (0,)))

    (ct,) = arrax.linear_transpose(double, np.float32(1))(np.float32(1))
    assert_allclose(ct, 6 + 1 + 1 + 2)


def test_linearize_gives_a_linear_function():
    value, push = arrax.linearize(scanned, np.float32(0.7), XS)
    tangent = arrax.jvp(scanned, (np.float32(0.7), XS), (np.float32(1), XS))[1]
    assert_allclose(value, scanned(np.float32(0.7), XS), rtol=1e-5)
    assert_allclose(push(np.float32(1), XS), tangent, rtol=1e-5)
    assert_allclose(push(np.float32(2), 2 * XS), 2 * np.asarray(tangent), rtol=1e-5)


@pytest.mark.parametrize("unroll", [1, 2, True])
def test_reverse_loops_are_differentiated(unroll):
    def loss(xs):
        return lax.scan(step, np.float32(0.7), xs, reverse=True, unroll=unroll)[0]

    expected = arrax.grad(lambda xs: lax.scan(step, np.float32(0.7), lax.rev(xs, (0,)))[0])(XS)
    assert_allclose(arrax.grad(loss)(XS), expected, rtol=1e-5)


def test_zero_steps_are_differentiated():
    gradient = arrax.grad(lambda c: lax.scan(step, c, np.ones(0, np.float32))[0])(np.float32(0.7))
    assert_allclose(gradient, 1)


# ---- batching ----


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0), (0, 1)])
def test_vmap_agrees_with_a_loop_over_examples(axes):
    carries = np.array([0.2, 0.7, 1.1], np.float32)
    many = np.stack([XS, XS + 1, XS * 2])
    carry = carries if axes[0] == 0 else carries[0]
    xs = many[0] if axes[1] is None else many if axes[1] == 0 else many.T.copy()
    last, ys = arrax.vmap(lambda c, x: lax.scan(step, c, x), axes)(carry, xs)
    for n in range(3):
        expected = in_numpy(carries[n] if axes[0] == 0 else carry, many[0] if axes[1] is None else many[n])
        assert_allclose(np.asarray(last)[n], expected[0], rtol=1e-5)
        assert_allclose(np.asarray(ys)[n], expected[1], rtol=1e-5)


def test_a_carry_that_becomes_mapped_in_the_loop_is_mapped_from_the_start():
    scales = np.array([1.0, 2.0], np.float32)
    out = arrax.vmap(lambda s: lax.scan(lambda c, x: (lax.add(c, s), c), np.float32(0), None, length=3)[1])(scales)
    assert_allclose(out, [[0, 1, 2], [0, 2, 4]])


def test_vmap_and_grad_compose_in_either_order():
    carries = np.array([0.2, 0.7], np.float32)
    single = [np.asarray(arrax.grad(scanned)(c, XS)) for c in carries]
    assert_allclose(arrax.vmap(arrax.grad(scanned), (0, None))(carries, XS), single, rtol=1e-4)
    summed = arrax.grad(lambda c: lax.reduce_sum(arrax.vmap(scanned, (0, None))(c, XS), (0,)))(carries)
    assert_allclose(summed, single, rtol=1e-4)


def test_carries_that_change_places_have_one_type():
    carry, _ = lax.scan(lambda c, _: (c[::-1], None), (1, 2.0), None, 3)
    looped = lax.while_loop(lambda c: lax.lt(c[0], 2.0), lambda c: c[::-1], (1, 2.0))
    for first, second in (carry, looped):
        assert (first, second) == (2, 1)
        assert [(x.dtype, x.weak_type) for x in (first, second)] == [(np.float32, False)] * 2


# ---- dead code, repetition ----


def test_unused_results_disappear_from_the_program():
    def f(x):
        (a, _), (ys, _) = lax.scan(
            lambda c, x: ((lax.add(c[0], x), lax.mul(c[1], x)), (c[0], lax.sin(c[1]))), (x, x), XS
        )
        return a

    jaxpr = arrax.make_jaxpr(f)(np.float32(1)).jaxpr
    from arrax.interpreters.dce import dce_jaxpr

    lean = dce_jaxpr(jaxpr, [True])[0].eqns[-1]
    assert lean.params["num_carry"] == 1 and len(lean.outvars) == 1
    assert "sin" not in str(lean.params["jaxpr"])


def test_equal_lambdas_share_one_program_in_plain_evaluation():
    from arrax.lax.control_flow.staged_functions import stage_function
    from arrax.tree_util import tree_structure

    aval = typeof(np.float32(1))
    first, second = (
        stage_function(lambda c: lax.sin(lax.mul(c, 2.0)), tree_structure((0,)), [aval], "test") for _ in range(2)
    )
    other = stage_function(lambda c: lax.sin(lax.mul(c, 3.0)), tree_structure((0,)), [aval], "test")
    assert first.program is second.program and first.program is not other.program


def test_the_body_is_traced_once_per_function_and_types():
    calls = []

    def body(c, x):
        calls.append(c)
        return lax.add(c, x), None

    for _ in range(3):
        lax.scan(body, np.float32(0), XS)
    assert len(calls) == 1


def test_disable_jit_runs_the_steps_in_python():
    seen = []

    def body(c, x):
        seen.append(float(np.asarray(x)))
        return lax.add(c, x), lax.mul(x, x)

    with arrax.disable_jit():
        carry, ys = lax.scan(body, np.float32(0), XS, reverse=True)
    assert_allclose(seen, XS[::-1])
    assert_allclose(ys, XS * XS)
    assert_allclose(carry, XS.sum(), rtol=1e-6)


def test_derivatives_in_the_elements_are_not_weak_where_the_first_carry_is():
    slopes = arrax.grad(lambda xs: lax.scan(lambda c, x: (lax.add(lax.sin(c), x), None), 1.0, xs)[0])(XS)
    assert not slopes.weak_type


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16"])
@pytest.mark.parametrize("unroll", [1, 3])
def test_elements_of_small_floats(dtype, unroll):
    x = (arrax.numpy.arange(24.0) / 8 - 1).reshape(8, 3).astype(dtype)

    def step(carry, element):
        carry = carry + element
        return carry, (carry, element > 0, {"double": element + element})

    def run(x, reverse=False):
        return lax.scan(step, arrax.numpy.zeros(3, dtype), x, reverse=reverse, unroll=unroll)

    total, (totals, flags, others) = arrax.jit(run)(x)
    carry, rows = np.zeros(3, x.dtype), []
    for element in np.asarray(x):
        carry = (carry.astype(np.float32) + element.astype(np.float32)).astype(x.dtype)
        rows.append(carry)
    np.testing.assert_array_equal(np.asarray(totals).astype(np.float32), np.stack(rows).astype(np.float32))
    assert total.dtype == totals.dtype == others["double"].dtype == x.dtype
    np.testing.assert_array_equal(flags, np.asarray(x).astype(np.float32) > 0)
    np.testing.assert_array_equal(others["double"].astype(np.float32), 2 * x.astype(np.float32))
    backwards, _ = arrax.jit(run, static_argnums=1)(x, True)
    np.testing.assert_allclose(backwards.astype(np.float32), total.astype(np.float32), atol=2)
    mapped = arrax.vmap(lambda x: run(x)[0])(arrax.numpy.stack([x, x]))
    np.testing.assert_array_equal(mapped.astype(np.float32), np.stack([total.astype(np.float32)] * 2))


def test_effects_are_no_part_of_what_a_loop_computes_once():
    def whole(x):
        def outer(carry, _):
            def inner(carry, t):
                constant = arrax.numpy.resize((arrax.debug.callback(lambda t: None, t), t)[1] * 0 + 1, (2, 1))
                return (carry[1], arrax.numpy.resize(1.0, (2, 1))), constant

            spread = arrax.numpy.broadcast_to(carry, (2, 1))
            lax.scan(inner, (spread, spread), arrax.numpy.ones(1))
            return arrax.numpy.ones(()), 1

        lax.scan(outer, x, length=1)
        return x

    assert arrax.grad(whole)(arrax.numpy.ones(())) == 1
