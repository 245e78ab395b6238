"""Checks as values: messages, every construct that they go through, mapped errors, the sets of automatic checks."""

import traceback

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.tracebacks import filter_traceback
from arrax.experimental import checkify
from arrax.experimental.checkify import check


def message(f, *args, errors=checkify.all_checks):
    error, _ = checkify.checkify(f, errors=errors)(*map(jnp.asarray, args))
    return error.get()


def positive(x):
    check(x > 0, "x is {x}", x=x)
    return jnp.sin(x)


@arrax.custom_jvp
def with_jvp(x):
    return positive(x)


@arrax.custom_vjp
def with_vjp(x):
    return positive(x)


def forward(x):
    check(x > 0, "forward {}", x)
    return jnp.sin(x), x


def backward(x, ct):
    check(ct < 0, "cotangent {:.2f}", ct)
    return (ct * jnp.cos(x),)


@with_jvp.defjvp
def jvp_rule(primals, tangents):
    check(primals[0] > 0, "rule {}", primals[0])
    return jnp.sin(primals[0]), tangents[0] * jnp.cos(primals[0])


with_vjp.defvjp(forward, backward)


def scanned(xs):
    def body(total, x):
        check(x < 3, "element {x}", x=x)
        return total + x, total

    return lax.scan(body, jnp.zeros((), xs.dtype), xs)


def repeated(start):
    def body(i):
        check(i < 2, "step {i}", i=i)
        return i + 1

    return lax.while_loop(lambda i: i < 5, body, start)


def repeated_while(start):
    def going(i):
        check(i < 2, "condition {i}", i=i)
        return i < 5

    return lax.while_loop(going, lambda i: i + 1, start)


def one_of(index):
    def refuse(name):
        check(index < 0, f"{name} {{}}", index)

    return lax.switch(index, [lambda: refuse("zero"), lambda: None, lambda: refuse("two")])


def two_checks(x):
    check(x > 0, "first")
    check(x > 1, "second")


CONSTRUCTS = [
    (positive, -1.0, "x is -1.0"), (positive, 1.0, None),
    (arrax.jit(positive), -1.0, "x is -1.0"), (arrax.checkpoint(positive), -1.0, "x is -1.0"),
    (arrax.grad(positive), -1.0, "x is -1.0"), (arrax.grad(arrax.checkpoint(positive)), -1.0, "x is -1.0"),
    (arrax.jit(arrax.grad(positive)), -1.0, "x is -1.0"), (with_jvp, -1.0, "x is -1.0"),
    (arrax.grad(with_jvp), -1.0, "rule -1.0"), (with_vjp, -1.0, "x is -1.0"),
    (arrax.grad(with_vjp), -1.0, "forward -1.0"), (arrax.grad(with_vjp), 1.0, "cotangent 1.00"),
    (arrax.vmap(positive), [1.0, -1.0, -2.0], "x is -1.0"), (arrax.vmap(arrax.vmap(positive)), [[1.0], [-2.0]], "x is -2.0"),
    (scanned, [0, 3, 4, 0], "element 3"), (scanned, [0, 1], None), (arrax.vmap(scanned), [[0, 1], [5, 7]], "element 5"),
    (repeated, 0, "step 2"), (repeated, 5, None), (arrax.vmap(repeated), [1, 4], "step"),
    (repeated_while, 0, "condition 2"), (repeated_while, 3, "condition 3"), (repeated_while, 7, "condition 7"),
    (one_of, 0, "zero 0"), (one_of, 1, None), (one_of, 2, "two 2"), (arrax.vmap(one_of), [1, 2], "two 2"), (arrax.vmap(one_of), [1, 1], None), (arrax.vmap(repeated), [5, 6], None),
    (two_checks, 0.5, "second"), (two_checks, -1.0, "first"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "expected"), CONSTRUCTS)
def test_a_check_goes_through(f, x, expected):
    found = message(f, x, errors=checkify.user_checks)
    assert found is None if expected is None else found.startswith(expected) and "(check failed" in found
    assert found is None or "checkify_test.py:" in found  # the user's line


@pytest.mark.parametrize(("f", "x", "expected"), CONSTRUCTS)
def test_checks_that_are_not_asked_for_are_left_out(f, x, expected):
    for run in (
        checkify.checkify(f, errors=checkify.index_checks),
        arrax.jit(checkify.checkify(f, errors=frozenset())),
    ):
        assert run(jnp.asarray(x))[0].get() is None


def newton(f, x):
    return lax.fori_loop(0, 20, lambda i, x: x - f(x) / (2 * x), x)


def root(a):
    f = lambda x: positive(3 - x) * 0 + x**2 - a  # noqa: E731
    return lax.custom_root(f, jnp.ones_like(a), newton, lambda g, y: y / g(1.0))


def solved(b):
    double = lambda x: positive(3 - x) * 0 + x * 2  # noqa: E731
    return lax.custom_linear_solve(double, b, lambda f, b: f(b) * 0 + b / 2, symmetric=True)


@pytest.mark.parametrize(("f", "good", "bad", "value"), [(root, 2.0, 40.0, 40.0**0.5), (solved, 2.0, 40.0, 20.0)])
def test_checks_inside_of_solves_keep_values_and_derivatives(f, good, bad, value):
    good, bad = jnp.float32(good), jnp.float32(bad)
    for g in (f, arrax.jit(f), arrax.grad(f), lambda x: arrax.vmap(f)(x[None])[0]):
        assert message(g, good, errors=checkify.user_checks) is None
        assert message(g, bad, errors=checkify.user_checks).startswith("x is -")
        assert message(g, bad, errors=checkify.div_checks) is None
    error, out = checkify.checkify(f)(bad)
    np.testing.assert_allclose(out, value, rtol=1e-5)
    slope = arrax.grad(lambda x: checkify.checkify(f)(x)[1])(bad)
    np.testing.assert_allclose(slope, 0.5 / value if f is root else 0.5, rtol=1e-4)


ROWS = jnp.ones((3, 4))
AUTOMATIC = [
    (checkify.nan_checks, lambda x: jnp.sin(x), (np.inf,), "nan generated by primitive sin at "),
    (checkify.nan_checks, lambda x: x / x, (0.0,), "nan generated by primitive div"),
    (checkify.nan_checks, lambda x: jnp.sort(x), ([1.0, np.nan],), None),
    (checkify.nan_checks, lambda x: jnp.exp(x), (1e10,), None),
    (checkify.nan_checks, lambda x: x[0] @ x[1], ([[np.inf, 1.0], [0.0, 1.0]],), "nan generated by primitive dot_general"),
    (checkify.nan_checks, arrax.grad(lambda x: x / (1 + jnp.sqrt(x))), (0.0,), "nan generated by primitive div"),
    (checkify.nan_checks, lambda x: lax.cond(x > 0, jnp.sin, jnp.log, x), (-1.0,), "nan generated by primitive log"),
    (checkify.nan_checks, lambda x: jnp.linalg.solve(x, x[0]), (np.zeros((2, 2)),), "primitive custom_linear_solve"),
    (checkify.div_checks, lambda x: 1 / x, ([1.0, 0.0],), "division by zero: divided by zero at "),
    (checkify.div_checks, lambda x: 7 // x, (0,), "division by zero"),
    (checkify.float_checks, lambda x: 0.0 / x, (0.0,), "division by zero"),
    (checkify.div_checks, lambda x: jnp.log(x), (-1.0,), None),
    (checkify.index_checks, lambda i: ROWS[i], (1,), None),
    (checkify.index_checks, lambda i: ROWS[i], (-3,), None),
    (checkify.index_checks, lambda i: ROWS[i], (-4,), "out-of-bounds indexing for array of shape (3, 4)"),
    (checkify.index_checks, lambda i: ROWS[0, i], (9,), "index 9 is out of bounds for axis 1 with size 4"),
    (checkify.index_checks, lambda i: ROWS[i], ([0, 5, 7],), "index 5 is out of bounds for axis 0 with size 3"),
    (checkify.index_checks, lambda i: ROWS[i], (np.array([0, 200], np.uint8),), "index 200 is out of bounds"),
    (checkify.index_checks, lambda i: ROWS.at[i].add(1), ([0, 5],), "index 5 is out of bounds for axis 0"),
    (checkify.index_checks, lambda i: ROWS.at[0, i].set(1), (4,), "index 4 is out of bounds for axis 1"),
    (checkify.index_checks, lambda i: lax.dynamic_slice(ROWS, (0, i), (2, 2)), (3,), "index 3 is out of bounds for axis 1"),
    (checkify.index_checks, lambda i: lax.dynamic_slice(ROWS, (0, i), (2, 2)), (2,), None),
    (checkify.index_checks, lambda i: lax.dynamic_update_slice(ROWS, ROWS[:2], (i, 0)), (2,), "index 2 is out of bounds"),
    (checkify.index_checks, arrax.vmap(lambda i: ROWS[i]), ([0, 8],), "index 8 is out of bounds"),
    (checkify.index_checks, lambda x: x[100], ([1.0, 2.0],), "index 100 is out of bounds for axis 0 with size 2"),
    (checkify.index_checks, lambda x: x[0, 7], (ROWS,), "index 7 is out of bounds for axis 1 with size 4"),
    (checkify.index_checks, lambda x: x[-1, 3], (ROWS,), None),
    (checkify.index_checks, lambda x: x.at[3, ::2].add(1), (ROWS,), "index 3 is out of bounds for axis 0 with size 3"),
    (checkify.index_checks, lambda x: x[np.array([0, 77])], ([1.0],), "index 77 is out of bounds for axis 0 with size 1"),
    (checkify.user_checks, lambda i: ROWS[i] / 0, (9,), None),
    (checkify.automatic_checks, positive, (-1.0,), None),
]  # fmt: skip


@pytest.mark.parametrize(("errors", "f", "args", "expected"), AUTOMATIC)
def test_operations_are_checked_automatically(errors, f, args, expected):
    found = message(f, *args, errors=errors)
    assert found is None if expected is None else expected in found


def test_errors_are_values_that_transformations_apply_to():
    f = checkify.checkify(lambda i: (check(i >= 0, "negative: {}", i), ROWS[i])[1], errors=checkify.all_checks)
    indices = jnp.array([1, -2, 7])
    for mapped in (arrax.vmap(f), arrax.jit(arrax.vmap(f))):
        error, out = mapped(indices)
        lines = error.get().split("\n")
        assert out.shape == (3, 4)
        assert lines[0].startswith("at mapped index 1: negative: -2 (check failed")
        assert lines[1].startswith("at mapped index 2: out-of-bounds indexing")
        assert len(lines) == 2
        with pytest.raises(checkify.JaxRuntimeError, match="at mapped index 1"):
            error.throw()
    first, _ = arrax.jit(f)(1)
    assert first.get() is None
    assert first.throw() is None
    assert arrax.tree.structure(first) == arrax.tree.structure(arrax.jit(f)(2)[0])


@arrax.custom_vjp
def halved(x):
    return positive(x) / 2


halved.defvjp(lambda x: (jnp.sin(x) / 2, x), lambda x, ct: (ct * jnp.cos(x) / 2,))


@arrax.custom_jvp
def doubled(x):
    return 2 * positive(x)


doubled.defjvps(lambda t, out, x: 2 * jnp.cos(x) * t)


@pytest.mark.parametrize(("f", "factor"), [(positive, 1), (doubled, 2), (halved, 0.5), (arrax.jit(halved), 0.5)])
def test_checked_functions_are_differentiated(f, factor):
    checked = arrax.value_and_grad(lambda x: checkify.checkify(f)(x)[::-1], has_aux=True)
    for x in (2.0, -2.0):
        (_, error), slope = checked(jnp.float32(x))
        np.testing.assert_allclose(slope, factor * np.cos(x), rtol=1e-6)
        assert (error.get() or "").startswith("x is -2.0") is (x < 0)


def test_checks_raise_at_once_where_nothing_is_compiled():
    check(True, "holds")
    with pytest.raises(checkify.JaxRuntimeError, match=r"1 and \[0 1\] \(check failed at .*checkify_test.py"):
        check(False, "{} and {x}", 1, x=jnp.arange(2))
    with pytest.raises(ValueError, match="index 1: x is -1"):
        arrax.vmap(positive)(jnp.array([1.0, -1.0]))
    checkify.debug_check(False, "only under checkify")
    assert "only" in message(lambda x: checkify.debug_check(x > 0, "only"), -1.0)
    assert arrax.jit(lambda x: (checkify.debug_check(x > 0, "only"), x)[1])(-1.0) == -1.0
    error, _ = checkify.checkify(lambda x: checkify.debug_check(x > 0, "only"))(-1.0)
    with pytest.raises(checkify.JaxRuntimeError, match="only"):
        error.throw()


def test_messages_show_arrays_and_keys():
    def f(key, x):
        check(x > 0, "{shown} and {key}, {x:.2f}", shown={"x": x}, key=key, x=x)
        return x

    keys = arrax.random.split(arrax.random.key(0))
    error, _ = arrax.jit(checkify.checkify(f))(keys[0], -1.0)
    start = f"{{'x': Array(-1., dtype=float32)}} and {keys[0]}, -1.00"
    assert error.get().startswith(start)
    error, _ = arrax.vmap(checkify.checkify(f))(keys, jnp.array([1.0, -2.0]))
    assert f"at mapped index 1: {{'x': Array(-2., dtype=float32)}} and {keys[1]}, -2.00" in error.get()
    with pytest.raises(TypeError, match="must be pytrees of arrays or numbers, got 'text'"):
        check(False, "{}", "text")


def test_checked_programs_leave_no_tracers_behind():
    with arrax.checking_leaks():
        error, _ = checkify.checkify(arrax.jit(positive))(jnp.float32(-1))
    assert error.get().startswith("x is -1.0")


def test_a_compiled_check_needs_checkify():
    for f, x in ((arrax.jit(positive), -1.0), (scanned, jnp.arange(2))):
        with pytest.raises(ValueError, match="Cannot abstractly evaluate a checkify.check .*checkify_test.py"):
            f(x)


def test_an_error_is_raised_or_handed_on():
    inner = checkify.checkify(positive)
    assert message(lambda x: checkify.check_error(inner(x)[0]), -3.0).startswith("x is -3.0")
    error, _ = inner(jnp.float32(-3.0))
    assert repr(error).startswith("Error(x is -3.0")
    with pytest.raises(checkify.JaxRuntimeError, match="x is -3.0"):
        checkify.check_error(error)
    checkify.check_error(checkify.init_error)
    assert str(checkify.init_error) == "Error(None)"


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: check(1, "number"), TypeError, "check takes a scalar pred"),
        (lambda: check(jnp.array([True]), "vector"), TypeError, "check takes a scalar pred"),
        (lambda: check(True, 3), TypeError, "msg must be a text"),
        (lambda: check(True, "{}", "text"), TypeError, "what the message shows must be pytrees"),
        (lambda: check(True, "{x}"), KeyError, "x"),
        (lambda: check(True, "{}"), IndexError, "index"),
        (lambda: checkify.check_error(3), TypeError, "check_error takes an Error"),
        (lambda: checkify.checkify(3), TypeError, "callable"),
        (lambda: checkify.checkify(abs, errors=3), TypeError, "errors must be a set of checks"),
        (lambda: checkify.checkify(abs, errors={"nan"}), TypeError, "errors must be a set of checks"),
        (lambda: arrax.jit(lambda x: checkify.checkify(positive)(x)[0].get())(1.0), ValueError, "the error is traced"),
    ],
)  # fmt: skip
def test_wrong_calls_are_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def user_first(x):
    check(x > 100, "user {}", x)
    return jnp.log(-1 - x * x)


def user_last(x):
    y = jnp.log(-1 - x * x)
    check(x > 100, "user {}", x)
    return y


def custom(f):
    made = arrax.custom_jvp(f)
    made.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return made


# fmt: off
INSIDE = {  # ways to call a function where some examples do not come by, which have x <= 0
    "cond":       lambda f: lambda x: lax.cond(x > 0, f, jnp.sin, x),
    "switch":     lambda f: lambda x: lax.switch((x > 0).astype(int), [jnp.sin, f, f], x),
    "jit":        lambda f: lambda x: lax.cond(x > 0, arrax.jit(f), jnp.sin, x),
    "checkpoint": lambda f: lambda x: lax.cond(x > 0, arrax.checkpoint(f), jnp.sin, x),
    "scan":       lambda f: lambda x: lax.cond(
        x > 0, lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0], jnp.sin, x),
    "while":      lambda f: lambda x: lax.while_loop(lambda c: c[0] < x, lambda c: (c[0] + 1, f(c[1])), (0.0, x))[1],
    "in a while": lambda f: lambda x: lax.cond(
        x > 0, lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, f(c[1])), (0, x))[1], jnp.sin, x),
    "cond in cond": lambda f: lambda x: lax.cond(x > -9, lambda x: lax.cond(x > 0, f, jnp.sin, x), jnp.cos, x),
    "known cond": lambda f: lambda x: lax.cond(
        x > 0, lambda x: lax.cond(jnp.float32(1) > 0, f, jnp.sin, x), jnp.sin, x),
    "custom":     lambda f: lambda x: lax.cond(x > 0, custom(f), jnp.sin, x),
    "batch":      lambda f: lambda x: lax.cond(x > 0, lambda x: arrax.vmap(f)(jnp.stack([x, x])).sum(), jnp.sin, x),
}
# fmt: on


@pytest.mark.parametrize("name", INSIDE)
def test_mapped_branches_and_loops_check_what_they_run_in_the_order_of_the_program(name):
    away, there = jnp.array([-1.0, -2.0]), jnp.array([-1.0, 1.0, 2.0])
    for f in (user_first, user_last):
        mapped = arrax.vmap(INSIDE[name](f))
        assert message(mapped, away, errors=checkify.user_checks) is None
        found = message(arrax.jit(mapped), there, errors=checkify.all_checks)
        if name != "custom":
            assert found.startswith("user 1.0" if f is user_first else "nan generated by primitive log")
    twice = lambda x: arrax.vmap(mapped)(x[None])  # noqa: E731
    assert message(twice, away, errors=checkify.user_checks) is None
    assert message(twice, there, errors=checkify.user_checks).startswith("user 1.0")
    if "while" not in name:
        slope = arrax.grad(lambda x: mapped(x).sum())
        assert message(slope, away, errors=checkify.user_checks) is None
        assert message(slope, there, errors=checkify.user_checks).startswith("user 1.0")


@pytest.mark.parametrize("name", INSIDE)
def test_mapped_branches_and_loops_raise_at_once_what_they_run(name):
    there = jnp.array([-1.0, 1.0, 2.0])
    with pytest.raises(checkify.JaxRuntimeError, match="user 1.0"):
        arrax.vmap(INSIDE[name](user_first))(there)
    found, expected = (arrax.vmap(INSIDE[name](f))(there) for f in (positive, jnp.sin))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_devices_find_errors_of_their_own():
    mesh = arrax.make_mesh((1,), ("i",))
    spec = arrax.P("i")
    mapped = arrax.shard_map(lambda x: positive(x.sum()) + jnp.log(x), mesh=mesh, in_specs=spec, out_specs=spec)
    for f in (mapped, arrax.jit(mapped)):
        found = message(f, [1.0, -2.0], errors=checkify.user_checks)
        assert found.startswith("at mapped index 0: x is -1.0 (check failed")
        assert "at mapped index 0: nan generated by primitive log" in message(f, [-1.0, 2.0])
        assert message(f, [1.0, 2.0]) is None
    found = message(arrax.pmap(positive), [-1.0], errors=checkify.user_checks)
    assert found.startswith("at mapped index 0: x is -1.0")
    error, _ = arrax.vmap(checkify.checkify(mapped))(-jnp.ones((2, 1)))
    assert [line.split(" (")[0] for line in error.get().split("\n")] == [
        "at mapped index 0, 0: x is -1.0",
        "at mapped index 1, 0: x is -1.0",
    ]
    error, _ = arrax.pmap(checkify.checkify(positive))(jnp.array([-1.0]))
    assert error.get().startswith("at mapped index 0: x is -1.0")


def test_checks_of_single_indices_search_nothing():
    def program(f, *args):
        return str(arrax.make_jaxpr(checkify.checkify(f, errors=checkify.index_checks))(*args))

    assert "argmax" not in program(lambda x, i: x[i], ROWS, 1)
    assert "argmax" not in program(lambda x, i: x.at[i, 0].set(2), ROWS, 1)
    assert "argmax" in program(lambda x, i: x[i], ROWS, jnp.arange(2))
    start = program(lambda x: lax.dynamic_slice(x, (0, 1), (2, 2)), ROWS)
    assert " gt " not in start  # known indices in bounds are not looked at


def test_functions_get_what_is_no_array_and_numbers_that_they_ask_for():
    def f(x, times, mode="plain"):
        check(x > 0, "x is {}", x)
        for _ in range(times):
            x = x * 2 if mode == "plain" else x
        return x

    for g in (f, arrax.jit(f, static_argnames=("times", "mode"))):
        error, out = checkify.checkify(g)(jnp.float32(-1), 3)
        assert error.get().startswith("x is -1.0") and out == -8
        error, out = checkify.checkify(g)(jnp.float32(1), times=3, mode="other")
        assert error.get() is None and out == 1
    assert checkify.checkify(lambda n: jnp.zeros(n))(3)[1].shape == (3,)
    error, _ = checkify.checkify(lambda x, y: x / y, errors=checkify.div_checks)(1, 0)  # not asked for
    assert error.get().startswith("division by zero")
    with pytest.raises(arrax.errors.TracerBoolConversionError):
        checkify.checkify(lambda x, n: x if x > n else n)(jnp.ones(()), 2)
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        checkify.checkify(arrax.jit(f, static_argnames="times"))(1.0, jnp.int32(2))


def test_fields_without_values_name_the_text():
    with pytest.raises(IndexError) as error:
        check(True, "{} of {}", 1)
    assert "check: fields and values do not fit together in '{} of {}'" in error.value.__notes__


def test_errors_have_as_many_results_as_the_check_with_most_values():
    def f(x, i):
        check(x > 0, "first {}", x)
        y = ROWS[i, i] + lax.cond(x > 1, lambda: ROWS[i].sum(), lambda: ROWS[0, i])
        check(x > 2, "second {} and {}", x, jnp.arange(2.0) + y)
        return lax.fori_loop(0, 3, lambda k, y: y + ROWS[k, i], y)

    checked = arrax.jit(checkify.checkify(f, errors=checkify.all_checks))
    error, _ = checked(3.0, 1)
    assert [leaf.shape for leaf in arrax.tree.leaves(error)] == [(), (), (), (2,)]  # code, x, index, what both have
    assert checked(-1.0, 9)[0].get().startswith("first -1.0")
    assert "index 9 is out of bounds for axis 0 with size 3" in checked(3.0, 9)[0].get()
    assert checked(2.0, 2)[0].get().startswith("second 2.0 and [5. 6.] (check failed")
    x, i = jnp.array([1.0, 3.0, -2.0, 3.0, 3.0]), jnp.array([1, 3, 0, 2, -9])
    error, _ = arrax.vmap(checkify.checkify(f, errors=checkify.all_checks))(x, i)
    outside = "out-of-bounds indexing for array of shape (3, 4): index {} is out of bounds for axis 0 with size 3"
    assert [line.split(" at /")[0].split(": ", 1) for line in error.get().split("\n")] == [
        ["at mapped index 0", "second 1.0 and [2. 3.] (check failed"],
        ["at mapped index 1", outside.format(3)],
        ["at mapped index 2", "first -2.0 (check failed"],
        ["at mapped index 4", outside.format(-6)],
    ]


@pytest.mark.parametrize(
    ("function", "argument", "name"),
    [
        (jnp.log, -1.0, "NaNError"),
        (lambda x: 1 / x, 0.0, "DivisionByZeroError"),
        (lambda i: jnp.arange(3)[i], 5, "OOBError"),
        (positive, -1.0, "FailedCheckError"),
        (arrax.vmap(positive), [1.0, -1.0], "FailedCheckError"),
        (positive, 1.0, None),
    ],
)
def test_errors_as_exceptions(function, argument, name):
    error, _ = arrax.jit(checkify.checkify(function, errors=checkify.all_checks))(jnp.asarray(argument))
    exception = error.get_exception()
    assert (exception is None) if name is None else (type(exception).__name__ == name)
    assert exception is None or (str(exception) == error.get() and isinstance(exception, Exception))


def test_sets_of_checks_hold_the_classes_of_the_exceptions():
    error, _ = checkify.checkify(jnp.log, errors=checkify.float_checks)(-1.0)
    assert isinstance(error.get_exception(), tuple(checkify.nan_checks))
    assert not isinstance(error.get_exception(), tuple(checkify.all_checks - checkify.nan_checks))
    assert checkify.float_checks == checkify.nan_checks | checkify.div_checks
    assert sorted(kind.__name__ for kind in checkify.all_checks) == [
        "DivisionByZeroError", "FailedCheckError", "NaNError", "OOBError"
    ]  # fmt: skip
    with pytest.raises(TypeError, match="must be a set of checks"):
        checkify.checkify(jnp.log, errors={ValueError})


def test_exceptions_know_the_operation_and_its_place():
    def reciprocals(x):
        return jnp.log(x)

    error, _ = checkify.checkify(reciprocals, errors=checkify.nan_checks)(-1.0)
    exception = error.get_exception()
    assert exception.prim == "log"
    frames = filter_traceback(exception.traceback_info.as_python_traceback())
    assert [one.name for one in traceback.extract_tb(frames)][-1] == "reciprocals"
    error, _ = checkify.checkify(lambda i: jnp.arange(3)[i], errors=checkify.index_checks)(jnp.asarray(5))
    assert error.get_exception().prim in str(arrax.make_jaxpr(lambda i: jnp.arange(3)[i])(5))


def test_a_mapped_error_is_one_exception():
    errors = arrax.vmap(lambda x: checkify.checkify(positive)(x)[0])(jnp.array([1.0, -1.0, -2.0]))
    assert type(errors.get_exception()).__name__ == "BatchedError" and "mapped index 2" in str(errors.get_exception())


def test_operations_that_hand_values_on_are_not_blamed():
    assert "stop_gradient" not in message(arrax.nn.softmax, [np.nan, 1.0])
