"""Programs (jaxprs): what they print, how they are evaluated, checked, pruned."""

import copy
import gc
import textwrap
import weakref

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.checking import check_jaxpr
from arrax.core.program import Literal
from arrax.interpreters.dce import dce_jaxpr

X = jnp.arange(3.0)


def block(text):
    return textwrap.dedent(text).strip()


# fmt: off
PRINTED = {
    "one line": (lambda x: jnp.sin(x), (X,), "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }"),
    "nothing":  (lambda: (), (), "{ lambda ; . let  in () }"),
    "identity": (lambda x: x, (X,), "{ lambda ; a:f32[3]. let  in (a,) }"),
    "literals": (lambda x: (x * 2, 3, True), (1.0,), "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0 in (b, 3, True) }"),
    "types": (
        lambda a, b, c, d: (a, b, c, d),
        (np.int8(1), np.ones((1, 2), bool), np.complex64(1), jnp.bfloat16(1)),
        "{ lambda ; a:i8[] b:bool[1,2] c:c64[] d:bf16[]. let  in (a, b, c, d) }",
    ),
    "constants": (lambda x: x + X, (X,), "{ lambda a:f32[3]; b:f32[3]. let c:f32[3] = add b a in (c,) }"),
    "unused results and parameters of None": (
        lambda x: lax.top_k(x, 2)[0], (X,), """
        { lambda ; a:f32[3]. let b:f32[2] _:i32[2] = top_k[axis=0 k=2] a in (b,) }
        """,
    ),
    "many equations": (
        lambda x: jnp.sin(jnp.cos(jnp.tan(x))) * x, (X,), """
        { lambda ; a:f32[3]. let
            b:f32[3] = tan a
            c:f32[3] = cos b
            d:f32[3] = sin c
            e:f32[3] = mul d a
          in (e,) }
        """,
    ),
    "programs inside": (
        lambda x: arrax.jit(jnp.sin)(x) + 1, (X,), """
        { lambda ; a:f32[3]. let
            b:f32[3] = pjit[
              name=sin
              jaxpr={ lambda ; c:f32[3]. let d:f32[3] = sin c in (d,) }
            ] a
            e:f32[3] = add b 1.0
          in (e,) }
        """,
    ),
    "many variables": (
        lambda *xs: (lax.concatenate(xs, 0), *xs), (X,) * 24, """
        { lambda ; a:f32[3] b:f32[3] c:f32[3] d:f32[3] e:f32[3] f:f32[3] g:f32[3] h:f32[3]
            i:f32[3] j:f32[3] k:f32[3] l:f32[3] m:f32[3] n:f32[3] o:f32[3] p:f32[3] q:f32[3]
            r:f32[3] s:f32[3] t:f32[3] u:f32[3] v:f32[3] w:f32[3] x:f32[3]. let
            y:f32[72] = concatenate[dimension=0] a b c d e f g h i j k l m n o p q r s t
              u v w x
          in (y, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x) }
        """,
    ),
    "many results": (
        lambda x: lax.split(x, [1] * 27), (np.ones(27),), """
        { lambda ; a:f32[27]. let
            b:f32[1] c:f32[1] d:f32[1] e:f32[1] f:f32[1] g:f32[1] h:f32[1] i:f32[1] j:f32[1]
              k:f32[1] l:f32[1] m:f32[1] n:f32[1] o:f32[1] p:f32[1] q:f32[1] r:f32[1] s:f32[1]
              t:f32[1] u:f32[1] v:f32[1] w:f32[1] x:f32[1] y:f32[1] z:f32[1] ba:f32[1] bb:f32[1] = split[
              axis=0
              sizes=(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
            ] a
          in (b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z,
            ba, bb) }
        """,
    ),
}
# fmt: on


@pytest.mark.parametrize("case", PRINTED)
def test_programs_print_as_documented(case):
    function, arguments, text = PRINTED[case]
    assert str(arrax.make_jaxpr(function)(*arguments)) == block(text)


def test_variables_are_named_in_order_through_the_alphabet():
    def long(x):
        for _ in range(60):
            x = jnp.sin(x)
        return x

    lines = str(arrax.make_jaxpr(long)(1.0)).splitlines()
    assert lines[25].strip() == "z:f32[] = sin y" and lines[26].strip() == "ba:f32[] = sin z"
    assert lines[52].strip() == "ca:f32[] = sin bz"


def test_static_arguments_shapes_and_named_axes():
    program, shapes = arrax.make_jaxpr(lambda n, x: {"y": x * n}, static_argnums=0, return_shape=True)(3, X)
    assert str(program) == "{ lambda ; a:f32[3]. let b:f32[3] = mul a 3.0 in (b,) }"
    assert shapes == {"y": arrax.ShapeDtypeStruct((3,), jnp.float32)}
    collective = arrax.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])(X)
    assert collective.eqns[0].primitive is lax.psum_p and collective.out_avals[0].shape == (3,)


def test_programs_know_their_types_and_parts():
    program = arrax.make_jaxpr(lambda x: jnp.sin(x) + X)(X)
    assert [str(aval) for aval in program.in_avals] == ["float32[3]"] == [str(a) for a in program.out_avals]
    assert len(program.consts) == 1 and len(program.jaxpr.constvars) == 1 and len(program.eqns) == 2
    assert not program.effects and program.eqns[0].source_info.traceback is not None


def test_programs_are_evaluated_by_any_interpretation():
    program = arrax.make_jaxpr(lambda x: jnp.sin(x) * X)(X)

    def again(x):
        return arrax.core.eval_jaxpr(program.jaxpr, program.consts, x)[0]

    np.testing.assert_allclose(again(X), jnp.sin(X) * X, rtol=1e-6)
    np.testing.assert_allclose(arrax.jit(again)(X), jnp.sin(X) * X, rtol=1e-6)
    np.testing.assert_allclose(arrax.grad(lambda x: again(x).sum())(X), jnp.cos(X) * X, rtol=1e-6)
    assert str(arrax.make_jaxpr(again)(X)) == str(program)
    assert arrax.core.jaxpr_as_fun(program)(X)[0].shape == (3,)


def test_the_checker_finds_what_is_wrong():
    jaxpr = arrax.make_jaxpr(lambda x: jnp.sin(jnp.cos(x)))(X).jaxpr
    check_jaxpr(jaxpr)
    first, second = jaxpr.eqns
    for eqns, words in (
        ([second], "used but not bound"),
        ([first, first, second], "bound twice"),
        ([first, second.replace(invars=[Literal(1.0)])], "sin|type|aval"),
    ):
        with pytest.raises((TypeError, arrax.core.JaxprTypeError), match=words):
            check_jaxpr(jaxpr.replace(eqns=eqns))


def test_dead_equations_are_dropped_everywhere():
    def wasteful(x):
        jnp.cos(x)
        (carry, _), ys = lax.scan(lambda c, a: ((c[0] * a, c[1] + 1), jnp.tan(a)), (1.0, 0), x)
        return carry, ys

    jaxpr = arrax.make_jaxpr(wasteful)(X).jaxpr
    pruned, used = dce_jaxpr(jaxpr, [True, False])
    assert used == [True] and len(pruned.eqns) == 1
    body = pruned.eqns[0].params["jaxpr"].jaxpr
    assert [eqn.primitive.name for eqn in body.eqns if eqn.primitive.name in ("tan", "cos", "add")] == []
    assert dce_jaxpr(jaxpr, [False, False])[1] == [False]


def test_constants_need_no_equations():
    program = arrax.make_jaxpr(lambda x: x + jnp.float32(2) + jnp.full((), 3.0) * jnp.asarray(1, jnp.float32))(X)
    assert {eqn.primitive.name for eqn in program.eqns} <= {"add", "mul"}


def test_variables_are_shown_with_their_types_in_full():
    (var,) = arrax.make_jaxpr(lambda x: x)(jnp.ones((2, 3))).jaxpr.invars
    assert repr(var) == f"Var(id={id(var)}):float32[2,3]"


def test_programs_cannot_be_changed():
    program = arrax.make_jaxpr(lambda x: x * 2)(1.0).jaxpr
    for field in ("eqns", "invars", "outvars", "constvars", "effects"):
        with pytest.raises(AttributeError, match=f"jaxpr.replace\\({field}=...\\) gives a changed copy"):
            setattr(program, field, [])
    assert len(program.eqns) == 1 and not program.replace(eqns=[]).eqns


def test_what_a_program_keeps_is_made_once_and_does_not_keep_it():
    program = arrax.make_jaxpr(lambda x: x + 1)(1.0)
    made = []
    for value in (program, None, 7):
        for _ in range(2):
            assert (
                program.memo(("kept", value is None, value == 7), lambda value=value: made.append(value) or value)
                is value
            )
    assert len(made) == 3
    gc.collect()
    gc.disable()
    try:
        gone = weakref.ref(program)
        del program, value
        made.clear()
        assert gone() is None
    finally:
        gc.enable()


def test_programs_cannot_be_changed_but_copied():
    program = arrax.make_jaxpr(lambda x: jnp.sin(x))(1.0)
    for changed, name in ((program, "jaxpr"), (program, "consts"), (program.jaxpr, "eqns")):
        with pytest.raises(AttributeError, match=rf"a program cannot be changed: jaxpr.replace\({name}=...\)"):
            setattr(changed, name, [])
        assert str(copy.copy(changed)) == str(changed)


def test_closed_programs_have_the_attributes_of_their_programs():
    program = arrax.make_jaxpr(lambda x: x + np.ones(3))(1.0)
    for name in ("constvars", "invars", "outvars", "eqns", "effects", "debug_info"):
        assert getattr(program, name) is getattr(program.jaxpr, name)
