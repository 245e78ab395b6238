"""A user's own primitive passes through every interpreter, and each missing rule is named (chapter "How primitives work")."""

import re

import numpy as np
import pytest

import arrax
import arrax.experimental
from arrax import core, lax
from arrax.core import Primitive
from arrax.core.effects import Effect, ordered_effects
from arrax.interpreters import ad, batching, mlir, xla
from arrax.lax import linalg


@pytest.fixture
def multiply_add():
    primitive = core.Primitive("multiply_add")
    calls = []

    def evaluate(x, y, z):
        calls.append((x, y, z))
        return np.add(np.multiply(x, y), z)

    primitive.def_impl(evaluate)
    primitive.calls = calls
    return primitive


def full_rules(primitive):
    primitive.def_abstract_eval(lambda x, y, z: core.ShapedArray(x.shape, x.dtype))

    def lowering(ctx, x, y, z):
        return [mlir.hlo.AddOp(mlir.hlo.MulOp(x, y), z).result]

    def jvp(primals, tangents):
        x, y, z = primals
        xt, yt, zt = (lax.zeros_like_array(x) if type(t) is ad.Zero else t for t in tangents)
        return primitive.bind(x, y, z), primitive.bind(xt, y, primitive.bind(x, yt, zt))

    def transpose(ct, x, y, z):
        if not ad.is_undefined_primal(x):
            return None, primitive.bind(x, ct, lax.zeros_like_array(x)), ct
        return primitive.bind(ct, y, lax.zeros_like_array(y)), None, ct

    mlir.register_lowering(primitive, lowering, platform="cpu")
    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = lambda values, dims: (primitive.bind(*values), dims[0])
    return lambda a, b: primitive.bind(a, a, b)


def test_evaluation_sees_plain_python_values_once(multiply_add):
    assert multiply_add.bind(2.0, 2.0, 10.0) == 14.0
    assert multiply_add.calls == [(2.0, 2.0, 10.0)]


def test_rules_are_registered_for_known_platforms():
    def rule(ctx, x):
        return [x]

    for platform in (None, "cpu", "gpu", "cuda", "tpu"):
        assert mlir.register_lowering(Primitive("handed_on"), rule, platform=platform) is rule
    _raises(
        "platform must be one of cpu, .* got 'cup'",
        lambda: mlir.register_lowering(Primitive("p"), rule, platform="cup"),
    )


def test_every_transformation_uses_its_rule(multiply_add):
    square_add = full_rules(multiply_add)
    assert arrax.jit(square_add)(2.0, 10.0) == 14.0
    assert arrax.jvp(square_add, (2.0, 10.0), (1.0, 1.0)) == (14.0, 5.0)
    assert arrax.jit(lambda p, t: arrax.jvp(square_add, p, t))((2.0, 10.0), (1.0, 1.0)) == (14.0, 5.0)
    assert arrax.grad(square_add)(2.0, 10.0) == 4.0
    assert arrax.jit(arrax.grad(square_add))(2.0, 10.0) == 4.0
    pair = np.array([2.0, 3.0]), np.array([10.0, 20.0])
    np.testing.assert_array_equal(arrax.vmap(square_add)(*pair), [14.0, 29.0])
    np.testing.assert_array_equal(arrax.jit(arrax.vmap(square_add))(*pair), [14.0, 29.0])


def _raises(words, call):
    with pytest.raises(NotImplementedError, match=words):
        call()


def test_missing_rules_are_named():
    bare = core.Primitive("multiply_add")
    _raises("Evaluation rule for 'multiply_add' not implemented", lambda: bare.bind(2.0, 2.0, 10.0))
    call = lambda a, b: bare.bind(a, a, b)  # noqa: E731
    _raises("Abstract evaluation for 'multiply_add' not implemented", lambda: arrax.jit(call)(2.0, 10.0))
    bare.def_abstract_eval(lambda x, y, z: core.ShapedArray(x.shape, x.dtype))
    _raises(
        "MLIR translation rule for primitive 'multiply_add' not found for platform cpu",
        lambda: arrax.jit(call)(2.0, 10.0),
    )
    _raises("Differentiation rule for 'multiply_add' not implemented", lambda: arrax.jvp(call, (2.0, 10.0), (1.0, 1.0)))
    _raises("Batching rule for 'multiply_add' not implemented", lambda: arrax.vmap(call)(np.ones(2), np.ones(2)))
    ad.defjvp(bare, lambda t, x, y, z: bare.bind(t, y, z), None, None)
    bare.def_impl(lambda x, y, z: x * y + z)
    _raises(
        r"Transpose rule \(for reverse-mode differentiation\) for 'multiply_add' not implemented",
        lambda: arrax.grad(lambda x: bare.bind(x, 2.0, 1.0))(3.0),
    )


@pytest.mark.parametrize(
    ("rule", "several", "error", "message"),
    [
        (lambda x: 3, False, TypeError, "types such as ShapedArray, but it returned 3"),
        (lambda x: [x, arrax.ShapeDtypeStruct((), "int8")], True, TypeError, "returned ShapeDtypeStruct"),
        (lambda x: (x, x), False, ValueError, "multiple_results is False"),
        (lambda x: x, True, ValueError, "multiple_results is True"),
    ],
)
def test_what_an_abstract_evaluation_returns_is_checked(rule, several, error, message):
    typed = core.Primitive("typed")
    typed.def_abstract_eval(rule)
    typed.multiple_results = several
    with pytest.raises(error, match=f"abstract evaluation of 'typed'.*{message}"):
        arrax.make_jaxpr(typed.bind)(1.0)


def test_batching_rules_are_given_tuples():
    given = []
    pair = core.Primitive("pair")
    pair.def_impl(lambda x, y: x + y)
    batching.primitive_batchers[pair] = lambda values, dims: (
        given.append((type(values), dims)),
        (pair.bind(*values), 0),
    )[1]
    assert arrax.vmap(pair.bind, in_axes=(0, None))(np.arange(3.0), 2.0).tolist() == [2, 3, 4]
    assert given == [(tuple, (0, None))]


def test_reductions_and_batch_axes_for_primitives_of_ones_own():
    total = arrax.core.Primitive("total")
    total.def_impl(lambda x, *, axes: np.sum(np.asarray(x), axes))
    batching.defreducer(total)
    batch = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    for in_axis in range(3):
        mapped = arrax.vmap(lambda x: total.bind(x, axes=(1,)), in_axes=in_axis)(batch)
        np.testing.assert_allclose(mapped, np.moveaxis(batch, in_axis, 0).sum(2))
    assert batching.broadcast(arrax.numpy.ones(2), 3, 1).shape == (2, 3)
    assert batching.moveaxis(arrax.numpy.ones((2, 3, 4)), -1, 0).shape == (4, 2, 3)
    assert batching.matchaxis(None, 5, None, None, 1, arrax.numpy.ones(2)).shape == (2, 5)


def test_a_primitive_may_call_a_function_that_is_registered_with_the_runtime():
    factor = core.Primitive("cholesky_factor")
    factor.multiple_results = True
    factor.def_impl(lambda *args, **params: xla.apply_primitive(factor, *args, **params))
    factor.def_abstract_eval(lambda x: [x, core.ShapedArray((), np.dtype(np.int32))])

    def lowering(ctx, x):
        types = list(map(mlir.aval_to_ir_type, ctx.avals_out))
        return mlir.custom_call(
            "lapack_spotrf_ffi", result_types=types, operands=[x], api_version=4, operand_output_aliases={0: 0},
            backend_config={"uplo": mlir.ir.IntegerAttr.get(mlir.ir.IntegerType.get_unsigned(8), ord("L"))},
            operand_layouts=[(0, 1)], result_layouts=[(0, 1), ()],
        ).results  # fmt: skip

    mlir.register_lowering(factor, lowering, "cpu")
    x = np.array([[4.0, 0.0], [2.0, 5.0]], np.float32)
    linalg.cholesky(x + x.T)  # loads the kernels
    for run in (factor.bind, arrax.jit(factor.bind)):
        lower, status = run(x)
        np.testing.assert_allclose(np.tril(lower), [[2, 0], [1, 2]], rtol=1e-6)
        assert status == 0
    with pytest.raises(NotImplementedError, match="Abstract evaluation for 'bare' not implemented"):
        xla.apply_primitive(core.Primitive("bare"), 1.0)


def test_calls_of_functions_of_the_runtime_are_checked():
    def lowered(**options):
        primitive = core.Primitive("checked")
        primitive.def_abstract_eval(lambda x: x)
        mlir.register_lowering(
            primitive,
            lambda ctx, x: mlir.custom_call(b"some", result_types=[x.type], operands=[x], **options).results,
        )
        return arrax.jit(primitive.bind).lower(np.ones(3, np.float32)).as_text()

    text = lowered(backend_config="some text", has_side_effect=True)
    assert "@some(" in text and 'backend_config = "some text"' in text and "has_side_effect = true" in text
    with pytest.raises(ValueError, match="1 operands and 1 results"):
        lowered(operand_output_aliases={0: 1})
    with pytest.raises(ValueError, match="api_version=4"):
        lowered(backend_config={})


# ---- ordered effects -----------------------------------------------------------------------------------------------------


class Noted(Effect):
    """An entry in a log."""


ordered_effects.add_type(Noted)
noted_effect = Noted()


def noting_primitive(log, tells=True):
    """Notes its operand, after what was noted before, and adds 1 to it."""
    primitive = Primitive("note")
    primitive.def_effectful_abstract_eval(lambda x: (x, {noted_effect}))

    def note(x):
        log.append(float(x))
        return [np.asarray(x) + np.float32(1)]

    def rule(ctx, x):
        token = ctx.tokens_in.get(noted_effect)
        outs, after, _ = mlir.emit_python_callback(
            ctx, note, token, [x], ctx.avals_in, ctx.avals_out, has_side_effect=True
        )
        if tells:
            ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({noted_effect: after})))
        return outs

    mlir.register_lowering(primitive, rule)
    return primitive.bind


@pytest.mark.parametrize("tells", [True, False])
def test_lowering_rules_order_their_effects_by_tokens(tells):
    log = []
    note = noting_primitive(log, tells)

    def f(x):
        for _ in range(2):
            x = note(x)
        x = lax.fori_loop(0, 3, lambda i, x: note(x), x)
        return lax.cond(x > 0, note, lambda x: x, x)

    assert arrax.jit(f)(1.0) == 7
    arrax.effects_barrier()
    assert log == [1, 2, 3, 4, 5, 6]
    assert noted_effect in arrax.make_jaxpr(f)(1.0).effects
    text = arrax.jit(lambda x: note(note(x))).lower(1.0).as_text()
    first, second = re.findall(r"custom_call @xla_ffi_python_cpu_callback\((%\d+)(?:#\d)?, ", text)
    assert first != second or not tells


def test_sets_of_tokens_are_tables_by_effect():
    other = Noted("other")
    tokens = mlir.TokenSet({noted_effect: 1, other: 2})
    assert tokens.get(other) == 2 and tokens.effects() == {noted_effect, other}
    assert tokens.items() == ((noted_effect, 1), (other, 2)) and mlir.TokenSet().items() == ()
    assert tokens.subset([other]).items() == ((other, 2),)
    assert tokens.update_tokens(mlir.TokenSet({other: 3})).items() == ((noted_effect, 1), (other, 3))
    with pytest.raises(KeyError):
        mlir.TokenSet().get(other)


def test_rules_are_given_by_the_documented_names():
    product, double = core.Primitive("product"), core.Primitive("double")
    ad.defbilinear(
        prim=product, lhs_rule=lambda ct, x, y: product.bind(ct, y), rhs_rule=lambda ct, x, y: product.bind(x, ct)
    )
    ad.deflinear2(primitive=double, transpose_rule=lambda ct, x: [double.bind(ct)])
    batching.defvectorized(prim=double)
    batching.defbroadcasting(prim=product)
    product.def_abstract_eval(lambda x, y: x)
    double.def_abstract_eval(lambda x: x)

    def lowered(ctx, x, y):
        (aval,) = ctx.avals_out
        assert mlir.aval_to_ir_type(ctx, aval) == mlir.aval_to_ir_type(aval) == x.type
        return [mlir.hlo.multiply(x, y)]

    def doubled(ctx, x):
        two = mlir.ir_constant(np.float32(2), const_lowering=None, aval=core.ShapedArray((), np.float32))
        return [mlir.hlo.multiply(x, two)]

    mlir.register_lowering(product, lowered, inline=False, cacheable=False)
    mlir.register_lowering(double, doubled)
    slopes = arrax.jit(arrax.grad(lambda x, y: double.bind(product.bind(x, y)), (0, 1)))(3.0, 5.0)
    assert slopes == (10, 6)
    mapped = arrax.vmap(product.bind, (0, None))(np.arange(3.0, dtype=np.float32), np.float32(2))
    np.testing.assert_array_equal(mapped, [0, 2, 4])
    assert ad.get_primitive_transpose(p=double) is double.transpose
    assert batching.bdim_at_front(np.ones((2, 3)), 1, size=3, mesh_axis=None).shape == (3, 2)


def test_all_parameters_print():
    primitive = core.Primitive("chosen")
    primitive.def_abstract_eval(lambda x, **params: x)
    program = arrax.make_jaxpr(lambda x: primitive.bind(x, size=None, at=(None, 1)))(1.0)
    assert str(program) == "{ lambda ; a:f32[]. let b:f32[] = chosen[at=(None, 1) size=None] a in (b,) }"
