"""Settings that find mistakes: where NaNs come from, Python instead of programs, tracers left behind, what is compiled."""

import functools
import logging
import traceback

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax

ONE, LOW = np.float32(1), np.float32(-1)


def bad(x):
    return jnp.log(x - 3)  # the line of the mistake


LINE = bad.__code__.co_firstlineno + 1


def backward_only(x):
    return x + jnp.sqrt(x) * 0.0  # NaN in the backward pass, at 0


def step(c, x):
    return bad(c), x


def bad_where_low(x):
    return lax.cond(x < 2, bad, jnp.sin, x)


# fmt: off
PROGRAMS = {  # what gives NaN, and whether the traceback has the line, or the message
    "eager":             (lambda: bad(ONE), "traceback"),
    "jit":               (lambda: arrax.jit(bad)(ONE), "traceback"),
    "jit in jit":        (lambda: arrax.jit(lambda x: arrax.jit(bad)(x) + 1)(ONE), "traceback"),
    "donated":           (lambda: arrax.jit(bad, donate_argnums=0)(jnp.float32(1)), "traceback"),
    "grad":              (lambda: arrax.grad(bad)(ONE), "traceback"),
    "jit of grad":       (lambda: arrax.jit(arrax.value_and_grad(bad))(ONE), "traceback"),
    "grad of jit":       (lambda: arrax.grad(arrax.jit(bad))(ONE), "message"),
    "vmap":              (lambda: arrax.vmap(bad)(np.ones(3, np.float32)), "traceback"),
    "jit of vmap":       (lambda: arrax.jit(arrax.vmap(bad))(np.ones(3, np.float32)), "traceback"),
    "scan":              (lambda: lax.scan(step, ONE, np.arange(3.0)), "message"),
    "reverse scan":      (lambda: lax.scan(step, ONE, np.arange(3.0), reverse=True), "message"),
    "jit of scan":       (lambda: arrax.jit(lambda x: lax.scan(step, x, np.arange(3.0)))(ONE), "traceback"),
    "grad of scan":      (lambda: arrax.grad(lambda x: lax.scan(step, x, np.arange(3.0))[0])(ONE), "message"),
    "scan in scan":      (lambda: lax.scan(lambda c, x: (lax.scan(step, c, np.arange(2.0))[0], x), ONE, np.arange(2.0)), "message"),
    "map":               (lambda: lax.map(bad, np.ones(3, np.float32)), "message"),
    "while":             (lambda: lax.while_loop(lambda x: x == x, bad, ONE), "message"),
    "jit of while":      (lambda: arrax.jit(lambda x: lax.while_loop(lambda x: x == x, bad, x))(ONE), "traceback"),
    "fori":              (lambda: lax.fori_loop(0, 3, lambda i, x: bad(x), ONE), "message"),
    "jit of cond":       (lambda: arrax.jit(bad_where_low)(ONE), "traceback"),
    "vmap of cond":      (lambda: arrax.vmap(bad_where_low)(np.ones(3, np.float32)), "message"),
    "checkpoint":        (lambda: arrax.grad(arrax.checkpoint(bad))(ONE), "message"),
    "custom rule":       (lambda: arrax.jit(arrax.grad(lambda x: arrax.nn.silu(bad(x))))(ONE), "traceback"),
}
# fmt: on


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("error")
def test_a_nan_is_traced_to_its_operation_and_line(name):
    program, where = PROGRAMS[name]
    with (
        arrax.debug_nans(True),
        pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in log") as caught,
    ):
        program()
    assert type(caught.value).__name__ == "FloatingPointError"
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    if where == "message":
        assert any(f"log comes from line {__file__}:{LINE} (bad)" in note for note in caught.value.__notes__)
    else:
        assert (__file__, LINE) in [(f.filename, f.lineno) for f in traceback.extract_tb(caught.value.__traceback__)]


@pytest.mark.parametrize("wrap", [lambda f: f, arrax.jit])
@pytest.mark.parametrize("loop", [False, True])
def test_a_nan_of_the_backward_pass_names_the_line_of_the_forward_one(wrap, loop):
    f = backward_only
    if loop:
        f = lambda x: lax.scan(lambda c, _: (backward_only(c), None), x, None, length=2)[0]  # noqa: E731
    with arrax.debug_nans(True), pytest.raises(FloatingPointError, match=r"encountered in div") as caught:
        wrap(arrax.grad(f))(np.float32(0))
    assert "(backward_only)" in caught.value.__notes__[-1]


@arrax.custom_vjp
def with_rules(x):
    return x


@arrax.custom_jvp
def with_tangents(x):
    return x


def infinite_over(x):
    zero = x * 0
    return zero / zero


with_rules.defvjp(lambda x: (x, x), lambda x, ct: (infinite_over(ct),))
with_tangents.defjvp(lambda primals, tangents: (primals[0], infinite_over(tangents[0])))
RULES_CALLED = {
    "reverse": lambda: arrax.grad(with_rules)(2.0),
    "of jit": lambda: arrax.grad(arrax.jit(with_rules))(2.0),
    "jit": lambda: arrax.jit(arrax.grad(with_rules))(2.0),
    "scan": lambda: arrax.grad(lambda x: lax.scan(lambda c, _: (with_rules(c), None), x, None, length=2)[0])(2.0),
    "vmap": lambda: arrax.vmap(arrax.grad(arrax.jit(with_rules)))(jnp.ones(2)),
    "forward": lambda: arrax.jvp(lambda x: lax.cond(x > 0, with_tangents, jnp.sin, x), (2.0,), (1.0,)),
    "forward of jit": lambda: arrax.jvp(arrax.jit(with_tangents), (2.0,), (1.0,)),
}


@pytest.mark.parametrize("name", RULES_CALLED)
def test_a_nan_of_a_derivative_rule_names_the_rules_own_line(name):
    with arrax.debug_nans(True), pytest.raises(FloatingPointError, match=r"encountered in div") as caught:
        RULES_CALLED[name]()
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "infinite_over" in frames or any("(infinite_over)" in note for note in caught.value.__notes__)


def test_infinities_are_found_alike_and_apart():
    inverse = lambda x: 1 / x  # noqa: E731
    for program in (inverse, arrax.jit(inverse), lambda x: lax.map(inverse, x[None])):
        with (
            arrax.debug_infs(True),
            pytest.raises(FloatingPointError, match=r"invalid value \(inf\) encountered in div"),
        ):
            program(jnp.float32(0))
        with arrax.debug_nans(True):
            assert jnp.isinf(program(jnp.float32(0))).all()
    with arrax.debug_infs(True):
        assert jnp.isnan(jnp.log(LOW)) and jnp.max(jnp.ones(3)) == 1


def test_nothing_is_said_of_values_that_do_not_leave_the_program():
    with arrax.debug_nans(True):
        assert arrax.jit(lambda x: jnp.where(jnp.isnan(jnp.log(x)), 0.0, 1.0))(LOW) == 0
        assert jnp.isnan(arrax.device_put(np.nan)) and arrax.random.normal(arrax.random.key(0)).shape == ()


def test_settings_end_with_their_contexts():
    f = arrax.jit(bad)
    for _ in range(2):
        with arrax.debug_nans(True), pytest.raises(FloatingPointError):
            f(ONE)
        assert jnp.isnan(f(ONE))


# ---- disable_jit -----------------------------------------------------------------------------------------------------


def double(seen, x):
    seen.append(float(lax.stop_gradient(jnp.sum(x))))  # refused where the value is not known
    return x * 2


# fmt: off
CONCRETE = {
    "jit":         lambda f: arrax.jit(f)(1.0),
    "cond":        lambda f: lax.cond(True, f, lambda x: x, 1.0),
    "switch":      lambda f: lax.switch(7, [lambda x: x, f], 1.0),
    "scan":        lambda f: lax.scan(lambda c, x: (f(c), x), 1.0, np.arange(2.0))[0],
    "while":       lambda f: lax.while_loop(lambda x: x < 2, f, 1.0),
    "fori":        lambda f: lax.fori_loop(0, 1, lambda i, x: f(x), 1.0),
    "map":         lambda f: lax.map(f, np.ones(1)),
    "associative": lambda f: lax.associative_scan(lambda a, b: f(a) + b, np.ones(2)),
    "grad":        lambda f: arrax.grad(arrax.jit(f))(1.0),
    "grad scan":   lambda f: arrax.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0])(1.0),
    "jvp while":   lambda f: arrax.jvp(lambda x: lax.while_loop(lambda x: x < 2, f, x), (1.0,), (1.0,)),
    "hessian":     lambda f: arrax.hessian(arrax.jit(f))(1.0),
    "pmap":        lambda f: arrax.pmap(f)(np.ones(1)),
}
# fmt: on


@pytest.mark.parametrize("name", CONCRETE)
def test_functions_run_in_python_on_known_values(name):
    seen = []
    with arrax.disable_jit():
        CONCRETE[name](functools.partial(double, seen))
    assert seen[0] == 1


# ---- tracers left behind -----------------------------------------------------------------------------------------------

TRACING = {
    "jit": lambda f: arrax.jit(f)(1.0),
    "vmap": lambda f: arrax.vmap(f)(np.ones(2)),
    "scan": lambda f: lax.scan(lambda c, x: (f(c), x), 1.0, np.arange(2.0)),
    "cond": lambda f: arrax.jit(lambda x: lax.cond(x > 0, f, lambda x: x, x))(1.0),
    "make_jaxpr": lambda f: arrax.make_jaxpr(f)(1.0),
    "pmap": lambda f: arrax.pmap(f)(np.ones(1)),
    "checkpoint": lambda f: arrax.grad(arrax.checkpoint(f))(1.0),
}


@pytest.mark.parametrize("name", TRACING)
def test_tracers_left_behind_are_found_where_they_are_left(name):
    kept = []
    with arrax.checking_leaks():
        with pytest.raises(Exception, match=r"Leaked Trace.*<lambda> at .*debug_flags_test.py:\d+"):
            TRACING[name](lambda x: (kept.append(x), x)[1])
        kept.clear()
        TRACING[name](lambda x: x * 2)


# ---- what is traced and compiled -----------------------------------------------------------------------------------------


def test_tracing_can_be_refused():
    f = arrax.jit(lambda x: x + 1)
    f(1.0)
    with arrax.no_tracing():
        assert float(f(2.0)) == 3
        with pytest.raises(RuntimeError, match="would be traced for jit, but the option no_tracing is set"):
            f(np.ones(3))
        with pytest.raises(RuntimeError, match="no_tracing"):
            arrax.make_jaxpr(lambda x: x)(1.0)


def test_compilations_are_logged_with_where_programs_come_from(caplog):
    def unheard(x):
        return jnp.cosh(x) * 1.2345678

    arrax.clear_caches()
    with caplog.at_level(logging.WARNING), arrax.log_compiles():
        for _ in range(2):
            arrax.jit(lambda x: unheard(x))(np.ones(3))
    text = caplog.text
    assert "tracing + transforming <lambda> for jit" in text and "jaxpr to MLIR module conversion <lambda> in" in text
    assert "Compiling <lambda>" in text or "Loaded the program of <lambda> from disk" in text
    assert "Found the program of <lambda> in memory" in text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        arrax.jit(lambda x: unheard(x) + 1)(np.ones(3))
    assert caplog.text == ""


@pytest.mark.parametrize("wrap", [lambda f: f, arrax.jit])
def test_a_nan_of_a_function_on_the_host_names_the_callback(wrap):
    shape = arrax.ShapeDtypeStruct((), np.float32)
    f = wrap(lambda x: arrax.pure_callback(lambda x: np.float32(np.nan), shape, x))
    with arrax.debug_nans(True), pytest.raises(FloatingPointError, match="encountered in pure_callback"):
        f(1.0)


def test_constants_of_a_function_that_is_not_defined_everywhere_are_no_made_nans():
    with arrax.debug_nans(True):
        x = jnp.ones(3)
        np.testing.assert_array_equal(arrax.vmap(lambda x: jnp.where(x > 2, np.nan, x))(x), x)
        np.testing.assert_array_equal(arrax.grad(lambda x: jnp.where(x > 2, jnp.nan, x).sum())(x), x)
        with pytest.raises(FloatingPointError, match="log"):
            arrax.vmap(lambda x: jnp.where(x > 2, np.nan, jnp.log(-x)))(x)
