"""lax.while_loop and lax.fori_loop: values, types of the carry, derivatives, batching."""

import operator

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import arrax
from arrax import lax
from arrax.core.types import typeof
from arrax.interpreters.dce import dce_jaxpr


def grow(x, limit=10.0):
    return lax.while_loop(lambda c: lax.lt(c, limit), lambda c: lax.mul(c, lax.add(x, 1.0)), x)


def grown(x, limit=10.0):
    c = x
    while c < limit:
        c = c * (x + 1)
    return c


# ---- while_loop ----


def test_a_loop_runs_while_its_condition_holds():
    assert int(np.asarray(lax.while_loop(lambda x: lax.lt(x, 10), lambda x: lax.mul(2, x), 1))) == 16
    assert int(np.asarray(lax.while_loop(lambda x: lax.lt(x, 10), lambda x: lax.mul(2, x), 11))) == 11


def test_carries_may_be_pytrees_and_functions_close_over_tracers():
    @arrax.jit
    def f(n, x):
        out = lax.while_loop(
            lambda c: lax.lt(c["i"], n), lambda c: {"i": lax.add(c["i"], 1), "v": lax.add(c["v"], x)}, {"i": 0, "v": x}
        )
        return out["v"]

    assert_allclose(f(3, np.arange(2.0, dtype=np.float32)), [0, 4])


def test_bounds_that_are_known_may_exceed_the_type_of_the_other():
    seen = []

    def count(i, total):
        seen.append((typeof(i).dtype, typeof(i).weak_type))
        return total + 1

    small = arrax.numpy.int8(100)
    assert lax.fori_loop(small, 1000, count, 0) == 900 and lax.fori_loop(-1000, small, count, 0) == 1100
    assert lax.fori_loop(arrax.numpy.asarray(-1000), small, count, 0) == 1100
    assert set(seen) == {(np.dtype(np.int32), True)}


def test_weakly_typed_carries_stay_weak_or_are_promoted():
    assert typeof(lax.while_loop(lambda c: lax.lt(c, 3), lambda c: lax.add(c, 1), 0)).weak_type
    x = np.float32(1)
    out = lax.while_loop(
        lambda c: lax.lt(lax.convert_element_type(c, np.float32), 3.0),
        lambda c: lax.add(lax.convert_element_type(c, np.float32), x),
        0,
    )
    assert typeof(out).dtype == np.float32 and not typeof(out).weak_type


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lax.while_loop(lambda c: c, lambda c: c, 1.0), "boolean scalar"),
        (lambda: lax.while_loop(lambda c: (lax.lt(c, 1.0),), lambda c: c, 1.0), "boolean scalar"),
        (lambda: lax.while_loop(lambda c: lax.lt(c, 1.0), lambda c: (c, c), 1.0), "pytree structure"),
        (lambda: lax.while_loop(lambda c: True, lambda c: lax.lt(c, 1.0), 1.0), "the dtypes differ"),
        (lambda: lax.while_loop(lambda c: True, 3, 1.0), "callable"),
        (lambda: lax.fori_loop(0.0, 4, lambda i, c: c, 1.0), "equal types"),
        (lambda: lax.fori_loop(np.arange(2), 4, lambda i, c: c, 1.0), "integer scalars"),
        (lambda: lax.fori_loop(arrax.numpy.int8(0), np.int32(400), lambda i, c: c, 1.0), "equal types"),
        (lambda: lax.fori_loop(0, 4, lambda i, c: lax.lt(c, 1.0), np.float32(1)), r"c goes in as float32\[\]"),
        (
            lambda: arrax.jit(lambda x: lax.fori_loop(0, 4, lambda i, val: (val[0], lax.lt(val[1], x)), (x, x)))(1.0),
            r"val\[1\] goes in as float32\[\] and comes out as bool\[\]",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_forward_mode_follows_the_loop():
    value, tangent = arrax.jvp(grow, (2.0,), (1.0,))
    assert_allclose(value, 18)
    assert_allclose(tangent, 9 + 2 * 2 * 3)  # x (x + 1)^2


def test_linearize_recomputes_the_known_part():
    value, push = arrax.linearize(grow, 2.0)
    assert_allclose(value, 18)
    assert_allclose(push(2.0), 42)


def test_tangents_spread_through_the_carry():
    def f(x):
        return lax.while_loop(
            lambda c: lax.lt(c[0], 3), lambda c: (lax.add(c[0], 1), lax.add(c[1], c[2]), x), (0, 0.0, 0.0)
        )[1]

    assert_allclose(arrax.jvp(f, (2.0,), (1.0,)), (4.0, 2.0))


def test_reverse_mode_is_refused_with_the_documented_error():
    with pytest.raises(
        ValueError, match="Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop"
    ):
        arrax.grad(grow)(2.0)


def test_reverse_mode_passes_a_loop_that_does_not_depend_on_the_argument():
    def f(x):
        return lax.mul(x, lax.while_loop(lambda c: lax.lt(c, 3.0), lambda c: lax.add(c, 1.0), 0.0))

    assert_allclose(arrax.grad(f)(2.0), 3)
    assert_allclose(arrax.grad(arrax.jit(f))(2.0), 3)


@pytest.mark.parametrize("wrap", [lambda f: f, arrax.jit], ids=["eager", "jit"])
def test_vmap_runs_each_example_as_long_as_it_needs(wrap):
    xs = np.array([0.5, 1.5, 3.0, 20.0], np.float32)
    assert_allclose(wrap(arrax.vmap(grow))(xs), [grown(x) for x in xs], rtol=1e-5)
    assert_allclose(
        wrap(arrax.vmap(lambda x: arrax.jvp(grow, (x,), (np.float32(1),))[1]))(xs[1:3]),
        [np.asarray(arrax.jvp(grow, (x,), (np.float32(1),))[1]) for x in xs[1:3]],
        rtol=1e-4,
    )


def test_vmap_with_a_condition_that_is_the_same_for_all_examples():
    xs = np.arange(6.0, dtype=np.float32).reshape(3, 2)

    def f(x):
        return lax.while_loop(lambda c: lax.lt(c[0], 3), lambda c: (lax.add(c[0], 1), lax.add(c[1], x)), (0, x))[1]

    assert_allclose(arrax.vmap(f)(xs), xs * 4)
    assert_allclose(arrax.vmap(f, in_axes=1, out_axes=1)(xs), xs * 4)


def test_vmap_over_what_only_the_condition_uses():
    limits = np.array([1, 5, 9], np.int32)
    out = arrax.vmap(lambda n: lax.while_loop(lambda c: lax.lt(c, n), lambda c: lax.add(c, np.int32(2)), np.int32(0)))(
        limits
    )
    assert_array_equal(out, [2, 6, 10])


def test_vmap_twice():
    xs = np.array([[0.5, 1.5], [3.0, 20.0]], np.float32)
    limits = np.array([10.0, 50.0], np.float32)
    out = arrax.vmap(arrax.vmap(grow, (0, None)), (None, 0))(xs[0], limits)
    assert_allclose(out, [[grown(x, limit) for x in xs[0]] for limit in limits], rtol=1e-5)


def test_unused_parts_of_the_carry_disappear():
    def f(x):
        return lax.while_loop(lambda c: lax.lt(c[0], 3), lambda c: (lax.add(c[0], 1), lax.sin(c[1])), (0, x))[0]

    eqn = dce_jaxpr(arrax.make_jaxpr(f)(1.0).jaxpr, [True])[0].eqns[-1]
    assert len(eqn.outvars) == 1 and "sin" not in str(eqn.params["body_jaxpr"])


def test_disable_jit_runs_the_loop_in_python():
    seen = []

    def body(c):
        seen.append(c)
        return lax.add(c, 1)

    with arrax.disable_jit():
        lax.while_loop(lambda c: lax.lt(c, 3), body, 0)
        lax.fori_loop(0, 2, lambda i, c: seen.append(i) or c, 0)
        last, kept = lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1.0, c[1]), (0.0, 5))
    assert len(seen) == 5
    assert all(isinstance(value, arrax.Array) and value.weak_type for value in (last, kept)) and (last, kept) == (2, 5)


def test_disable_jit_leaves_the_callers_arrays_alone():
    def add(*carry):
        (value,) = carry
        value += 1
        return value

    start = np.zeros(2, np.float32)
    with arrax.disable_jit():
        results = (
            lax.while_loop(lambda c: c[0] < 3, add, start), lax.fori_loop(0, 3, lambda _, c: add(c), start),
            lax.scan(lambda c, _: (add(c), None), start, None, length=3)[0],
            lax.cond(True, add, add, start) + 2, lax.switch(1, [add, add], start) + 2,
        )  # fmt: skip
    assert all(result.tolist() == [3, 3] for result in results) and start.tolist() == [0, 0]


# ---- fori_loop ----


@pytest.mark.parametrize("wrap", [lambda f: f, arrax.jit], ids=["known bounds", "traced bounds"])
@pytest.mark.parametrize("bounds", [(0, 4), (2, 5), (-3, 1), (4, 4), (5, 2)])
def test_the_index_goes_from_lower_to_upper(wrap, bounds):
    out = wrap(lambda a, b: lax.fori_loop(a, b, lambda i, c: lax.add(lax.mul(c, 10), i), 0))(*bounds)
    expected = 0
    for i in range(*bounds):
        expected = expected * 10 + i
    assert int(np.asarray(out)) == expected


@pytest.mark.parametrize("unroll", [None, 1, 2, 3, True, np.int32(2)])
def test_unrolling_gives_the_same_values(unroll):
    out = lax.fori_loop(0, 5, lambda i, c: lax.add(c, i), 0, unroll=unroll)
    assert int(np.asarray(out)) == 10


def test_unrolling_needs_known_bounds():
    with pytest.raises(ValueError, match="known"):
        arrax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, 0, unroll=2))(3)
    rolled = arrax.jit(lambda n: [lax.fori_loop(0, n, lambda i, c: c + i, 0, unroll=u) for u in (1, False, None)])(3)
    assert rolled == [3, 3, 3]


def test_the_index_of_known_bounds_is_weak_and_of_traced_ones_has_the_type_of_the_lower():
    types = []

    def loop(lower, upper):
        return lax.fori_loop(
            lower, upper, lambda i, c: types.append((typeof(i).dtype, typeof(i).weak_type)) or c + i, 0
        )

    sums = [loop(np.uint8(0), np.uint8(3)), loop(0, np.int16(3)), arrax.jit(lambda: loop(0, BOUND))(), loop(0, 3)]
    assert all(found == (np.int32, True) for found in types)
    assert all(total == 3 and total.dtype == np.int32 and total.weak_type for total in sums)
    types.clear()
    assert arrax.jit(loop)(np.uint8(0), np.uint8(3)).dtype == np.uint8
    assert loop(np.uint32(2**32 - 3), np.uint32(2**32 - 1)).dtype == np.uint32
    assert set(types) == {(np.dtype("uint8"), False), (np.dtype("uint32"), False)}
    small = arrax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, np.int8(0)))(np.int32(3))
    assert small == 3 and small.dtype == np.int8


@pytest.mark.parametrize("wrap", [lambda f: f, arrax.jit], ids=["eager", "jit"])
def test_known_bounds_make_it_differentiable_in_reverse_mode(wrap):
    gradient = wrap(arrax.grad(lambda x: lax.fori_loop(0, 3, lambda i, c: lax.mul(c, x), x)))(2.0)
    assert_allclose(gradient, 4 * 2.0**3)


BOUND = arrax.numpy.int32(3)


@pytest.mark.parametrize("wrap", [arrax.jit, arrax.checkpoint, lambda f: lambda x: lax.cond(True, f, f, x)])
@pytest.mark.parametrize("bounds", [(0, BOUND), (np.int32(0), BOUND), (BOUND - 3, 3), (np.array(0), 3)], ids=str)
def test_bounds_that_are_arrays_from_outside_are_known(wrap, bounds):
    gradient = arrax.grad(wrap(lambda x: lax.fori_loop(*bounds, lambda i, c: lax.mul(c, x), x)))(2.0)
    assert_allclose(gradient, 4 * 2.0**3)


def test_traced_bounds_are_refused_in_reverse_mode_only():
    def f(x, n):
        return lax.fori_loop(0, n, lambda i, c: lax.mul(c, x), x)

    assert_allclose(arrax.jit(lambda x, n: arrax.jvp(lambda y: f(y, n), (x,), (1.0,))[1])(2.0, 3), 32)
    with pytest.raises(ValueError, match="dynamic start/stop"):
        arrax.jit(arrax.grad(f))(2.0, 3)


def test_vmap_over_the_upper_bound():
    out = arrax.vmap(lambda n: lax.fori_loop(0, n, lambda i, c: lax.add(c, i), 0))(np.array([0, 1, 4]))
    assert_array_equal(out, [0, 0, 6])


def test_bounds_of_several_types():
    add = lambda i, c: c + i  # noqa: E731
    assert lax.fori_loop(1.0, 3.0, add, 0.0) == 3
    assert lax.fori_loop(np.int16(0), arrax.numpy.int32(3), add, 0) == 3
    assert arrax.jit(lambda n: lax.fori_loop(np.int16(0), n, add, 0))(np.int32(3)) == 3
    assert lax.fori_loop(np.int8(0), 300, lambda i, c: c + 1, 0) == 300


def test_the_users_arrays_are_not_written_to_without_jit():
    def body(carry):
        x, y = carry
        x += 1
        return x, y + x

    start = np.array(1.0)
    with arrax.disable_jit():
        assert lax.while_loop(lambda c: c[0] < 10, body, (start, start))[1] == 55
        lax.fori_loop(0, 2, lambda i, c: operator.iadd(c, 1), start)
    assert start == 1


def test_no_batches_is_batch_size_zero():
    np.testing.assert_array_equal(lax.map(lambda x: x**2, arrax.numpy.arange(4), batch_size=0), [0, 1, 4, 9])
