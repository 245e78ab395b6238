"""The pass that puts a platform's forms in the place of operations."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import ShapeDtypeStruct, lax
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray
from arrax.interpreters.platform_forms import Form, with_forms
from arrax.interpreters.staging import eval_jaxpr

LONG = np.random.default_rng(0).standard_normal(5000).astype(np.float32)


def doubling(platform="here", when=lambda eqn, around: True):
    """An operation that doubles, and on a platform has the form of a sum."""
    primitive = Primitive("double")
    primitive.type_rule = lambda aval: ShapedArray(aval.shape, aval.dtype)
    primitive.forms[platform] = lambda eqn, around: Form(_sum) if when(eqn, around) else None
    return primitive


def _sum(x):
    return [lax.add(x, x)]


def names(program):
    return [eqn.primitive.name for eqn in program.jaxpr.eqns]


def test_a_form_takes_the_place_of_an_equation():
    double = doubling()
    program = arrax.make_jaxpr(lambda x: double.bind(lax.neg(double.bind(x))))(LONG)
    formed = with_forms(program, "here")
    assert names(formed) == ["add", "neg", "add"]
    np.testing.assert_array_equal(eval_jaxpr(formed.jaxpr, formed.consts, LONG)[0], -4 * LONG)
    assert with_forms(program, "elsewhere") is program


def test_programs_inside_programs_have_forms_too():
    double = doubling()
    program = arrax.make_jaxpr(lambda x: lax.scan(lambda c, _: (double.bind(c), None), x, None, length=2)[0])(LONG)
    (scan,) = with_forms(program, "here").jaxpr.eqns
    assert names(scan.params["jaxpr"]) == ["add"]


def test_conversions_of_weak_types_hide_nothing_from_forms():
    double = doubling(when=lambda eqn, around: around.maker(eqn.invars[0]).primitive is lax.neg_p)
    weak = arrax.make_jaxpr(
        lambda x: double.bind(lax.convert_element_type(lax.neg(jnp.where(x, 1.0, 2.0)), np.float32))
    )
    program = weak(LONG > 0)
    assert "convert_element_type" in names(program) and names(with_forms(program, "here"))[-2:] == ["neg", "add"]
    given = arrax.make_jaxpr(lambda x: lax.convert_element_type(x, np.float32))(
        ShapeDtypeStruct((2,), np.float32, weak_type=True)
    )
    assert names(given) and not names(with_forms(given, "here"))


def test_what_a_form_consists_of_has_forms_too():
    double, quadruple = doubling(when=lambda eqn, around: around.maker(eqn.invars[0]) is not None), doubling()
    quadruple.forms["here"] = lambda eqn, around: Form(lambda x: [double.bind(double.bind(x))])
    given = with_forms(arrax.make_jaxpr(lambda x: quadruple.bind(x))(LONG), "here")
    assert names(given) == ["double", "add"]  # the first one's operand is an input of the program
    computed = with_forms(arrax.make_jaxpr(lambda x: quadruple.bind(lax.neg(x)))(LONG), "here")
    assert names(computed) == ["neg", "add", "add"]
    np.testing.assert_array_equal(eval_jaxpr(computed.jaxpr, computed.consts, LONG)[0], -4 * LONG)


def test_programs_inside_of_what_a_form_consists_of_have_forms_too():
    double, outer = doubling(), doubling()
    outer.forms["here"] = lambda eqn, around: Form(
        lambda x: [lax.fori_loop(0, 2, lambda i, y: double.bind(outer.bind(y)), x)]
    )
    (loop,) = with_forms(arrax.make_jaxpr(lambda x: outer.bind(x))(np.float32(1)), "here").jaxpr.eqns
    assert names(loop.params["jaxpr"])[-2:] == ["double", "add"]


def test_primitives_whose_forms_lead_to_each_other_do_so_once():
    first, second = doubling(), doubling()
    first.forms["here"] = lambda eqn, around: Form(lambda x: [second.bind(x)])
    second.forms["here"] = lambda eqn, around: Form(lambda x: [first.bind(lax.neg(x))])
    program = arrax.make_jaxpr(lambda x: (first.bind(x), second.bind(x)))(LONG)
    assert names(with_forms(program, "here")) == ["neg", "double", "neg", "double"]


def test_a_form_may_take_other_operands_and_what_nothing_needs_goes():
    double = Primitive("double")
    double.type_rule = lambda aval: aval
    double.forms["here"] = lambda eqn, around: Form(_sum, operands=around.maker(eqn.invars[0]).invars)
    program = with_forms(arrax.make_jaxpr(lambda x: double.bind(lax.neg(x)))(LONG), "here")
    assert names(program) == ["add"]


def test_constants_of_a_form_become_constants_of_the_program():
    table = np.arange(5000, dtype=np.float32)
    double = Primitive("double")
    double.type_rule = lambda aval: aval
    double.forms["here"] = lambda eqn, around: Form(lambda x: [lax.add(x, table)])
    program = with_forms(arrax.make_jaxpr(lambda x: double.bind(x))(LONG), "here")
    np.testing.assert_array_equal(eval_jaxpr(program.jaxpr, program.consts, LONG)[0], LONG + table)


@pytest.mark.parametrize(
    ("f", "kernel"),
    [
        (jnp.sort, "sort"), (jnp.median, "order_statistics"), (lambda x: jnp.argmax(jnp.tile(x, 14)), "argmax"),
        (lambda x: jnp.sum(jnp.tile(x, 14) > 0), "reduce"), (lambda x: jnp.nonzero(jnp.tile(x, 4) > 0, size=9), "nonzero_indices"),
        (lambda x: jnp.roll(jnp.tile(x, 60), 3) + jnp.roll(jnp.tile(x, 60), 5), "concatenate"),
    ],
)  # fmt: skip
def test_host_kernels_are_chosen_without_compiling(f, kernel):
    program = arrax.make_jaxpr(f)(LONG)
    assert f"kernel={kernel}" in str(with_forms(program, "cpu", host_kernels=True))
    assert "host_kernel" not in str(with_forms(program, "cpu", host_kernels=False))
