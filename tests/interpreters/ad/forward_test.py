"""Forward derivatives of flat functions and of programs; zeros stay symbolic."""

import inspect

import numpy as np
import pytest

import arrax
from arrax import dtypes, lax
from arrax.core.types import Zero
from arrax.interpreters import ad
from arrax.interpreters.ad.forward import jvp, jvp_jaxpr
from arrax.interpreters.staging import eval_jaxpr

ONE = np.float32(1)


def test_values_and_tangents():
    outs, tangents = jvp(lambda x, y: [lax.mul(x, y), lax.sin(x)], [np.float32(2), np.float32(3)], [ONE, ONE])
    assert outs[0] == 6 and tangents[0] == 5 and tangents[1] == pytest.approx(np.cos(2), 1e-6)


def test_what_does_not_depend_on_a_tangent_has_a_symbolic_zero():
    zero = Zero.of(ONE)
    outs, tangents = jvp(lambda x, y: [lax.sin(y), x, lax.mul(x, y)], [ONE, ONE], [ONE, zero])
    assert type(tangents[0]) is Zero and tangents[0].aval.shape == () and tangents[1] is ONE
    assert tangents[2] == 1


def test_integers_have_no_tangents():
    (_,), (tangent,) = jvp(lambda x: [lax.convert_element_type(x, np.int32)], [ONE], [ONE])
    assert type(tangent) is Zero and tangent.aval.dtype == dtypes.float0


def test_programs_of_derivatives():
    program = arrax.make_jaxpr(lambda x, y: (lax.sin(x), lax.cos(y)))(1.0, 2.0)
    derived, nonzero = jvp_jaxpr(program, [True, False])
    assert nonzero == [True, False] and len(derived.in_avals) == 3 and len(derived.jaxpr.outvars) == 3
    sine, cosine, slope = eval_jaxpr(derived.jaxpr, derived.consts, ONE, ONE, ONE)
    assert (sine, cosine, slope) == (pytest.approx(np.sin(1)), pytest.approx(np.cos(1)), pytest.approx(np.cos(1)))
    assert jvp_jaxpr(program, [True, False])[0] is derived  # kept with the program
    forced, nonzero = jvp_jaxpr(program, [True, False], instantiate_outs=True)
    assert nonzero == [True, True] and eval_jaxpr(forced.jaxpr, forced.consts, ONE, ONE, ONE)[3] == 0


def test_derivatives_nest_without_confusion():
    inner = lambda x, y: jvp(lambda y: [lax.mul(x, y)], [y], [ONE])[1][0]  # noqa: E731
    _, (slope,) = jvp(lambda x: [lax.mul(x, inner(x, ONE))], [np.float32(3)], [ONE])
    assert slope == 6  # of x * x


def test_the_package_has_the_function_whatever_was_looked_up_before():
    assert ad.jvp is jvp and ad.jvp is jvp  # no module has this name, which a second look would find


def test_a_nested_call_takes_few_frames_of_the_stack():
    depths = []

    @arrax.custom_jvp
    def innermost(x):
        return x

    @innermost.defjvp
    def rule(primals, tangents):
        depths.append(len(inspect.stack(0)))
        return primals[0], tangents[0]

    for levels in (1, 2):
        f = innermost
        for _ in range(levels):
            f = arrax.jit(lambda x, f=f: f(x))
        arrax.make_jaxpr(lambda x, f=f: arrax.jvp(f, (x,), (x,)))(1.0)
    assert depths[1] - depths[0] <= 12  # of the 1000 that Python allows
