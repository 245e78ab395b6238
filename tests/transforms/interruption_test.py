"""Interrupted calls: whatever stops a trace, a compilation or a run, the next call works as if nothing had been."""

import subprocess
import sys
import textwrap

import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.interpreter import context

X = jnp.arange(3.0)


def with_rules(f):
    """``f`` as the forward rule of a function with a derivative of its own."""
    function = arrax.custom_vjp(jnp.sin)
    function.defvjp(lambda x: (f(x), None), lambda _, g: (g,))
    return function


# fmt: off
CALLS = {
    "make_jaxpr":   lambda f: arrax.make_jaxpr(f)(X),
    "eval_shape":   lambda f: arrax.eval_shape(f, X),
    "jit":          lambda f: arrax.jit(f)(X),
    "nested jit":   lambda f: arrax.jit(lambda x: arrax.jit(f)(x) + 1)(X),
    "grad":         lambda f: arrax.grad(lambda x: f(x).sum())(X),
    "jvp":          lambda f: arrax.jvp(f, (X,), (X,)),
    "linearize":    lambda f: arrax.linearize(f, X),
    "vmap":         lambda f: arrax.vmap(f, axis_name="i")(X),
    "vmap of grad": lambda f: arrax.vmap(arrax.grad(f))(X),
    "scan":         lambda f: lax.scan(lambda c, x: (f(c), x), X, X),
    "while_loop":   lambda f: lax.while_loop(lambda x: x[0] < 1, lambda x: f(x) + 2, X),
    "cond":         lambda f: lax.cond(True, f, jnp.cos, X),
    "checkpoint":   lambda f: arrax.grad(arrax.checkpoint(lambda x: f(x).sum()))(X),
    "custom rules": lambda f: arrax.grad(lambda x: with_rules(f)(x).sum())(X),
}
# fmt: on


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, SystemExit, ValueError])
@pytest.mark.parametrize("call", CALLS)
def test_whatever_a_function_raises_while_it_is_traced(call, error):
    def function(x):
        with arrax.named_scope("inside"):
            y = jnp.sin(x)
            if stop:
                raise error("now")
            return y

    stop = True
    with pytest.raises(error, match="now"):
        CALLS[call](function)
    assert context.interpreter.is_evaluation and context.axes == () and context.scopes == ()
    stop = False
    CALLS[call](function)
    assert arrax.jit(lambda x: x * 2)(X)[1] == 2


def test_signals_at_any_moment():
    program = """
        import random, signal
        import arrax, arrax.numpy as jnp
        from arrax.core.interpreter import context

        def interrupt(*_):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        moments, xs = random.Random(0), jnp.arange(3.0)
        stopped = 0
        for number in range(60):
            step = lambda c, x: (c * jnp.sin(x), c * number)
            loss = lambda x: arrax.lax.scan(step, x, jnp.arange(3.0))[0]
            transformed = arrax.vmap(arrax.grad(loss))
            whole = arrax.jit(transformed) if number % 3 == 0 else lambda x: arrax.make_jaxpr(transformed)(x)
            signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-4, 6e-3))
            try:
                try:
                    whole(xs)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                stopped += 1
            assert context.interpreter.is_evaluation and not context.axes and not context.scopes
            assert arrax.jit(lambda x: x * number)(xs)[1] == number
        assert stopped
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
