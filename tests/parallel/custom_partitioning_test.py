"""Functions that say themselves how they are divided, and values laid out alike."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    custom_partitioning,
)
from arrax.experimental.shard_alike import shard_alike
from arrax.sharding import NamedSharding
from arrax.sharding import PartitionSpec as P
from arrax.transforms.sharding_rules import rule_attribute


def over(*spec):
    return NamedSharding(arrax.make_mesh((8,), ("x",)), P(*spec))


def rows_of(sharding):
    return NamedSharding(sharding.mesh, P(*sharding.spec[:1], None))


def transform(**options):
    """The Fourier transform of rows, which stay where they are."""
    seen = []

    @custom_partitioning
    def f(x):
        return jnp.fft.fft(x)

    def partition(mesh, arg_shapes, result_shape):
        seen.append((arg_shapes[0].shape, result_shape.shape))
        kept = rows_of(arg_shapes[0].sharding)
        return mesh, jnp.fft.fft, kept, (kept,)

    f.def_partition(partition, lambda mesh, args, result: rows_of(args[0].sharding), **options)
    return f, seen


X = np.random.default_rng(0).normal(size=(16, 8)).astype(np.complex64)


def test_the_function_runs_on_pieces_without_communication():
    f, seen = transform(sharding_rule="... i -> ... j")
    compiled = arrax.jit(f)
    x = arrax.device_put(X, over("x"))
    assert compiled(x).sharding == over("x") and seen[0] == ((16, 8), (16, 8))
    np.testing.assert_allclose(compiled(x), np.fft.fft(X), rtol=1e-4, atol=1e-4)
    text = compiled.lower(x).compile().as_text()
    assert "all-gather" not in text and "dynamic-slice" not in text
    inferred, _ = transform()  # without a rule: the function that infers shardings is asked
    assert arrax.jit(inferred)(x).sharding == over("x")
    assert "all-gather" not in arrax.jit(inferred).lower(x).compile().as_text()
    plain, _ = transform()
    asked = arrax.jit(plain, in_shardings=over("x"), out_shardings=over("x"))
    np.testing.assert_allclose(asked(X), np.fft.fft(X), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(f(X), np.fft.fft(X), rtol=1e-4, atol=1e-4)  # on one device


def test_pieces_may_talk_to_each_other_and_results_may_be_several():
    @custom_partitioning
    def moments(x, scale):
        return (x * scale).sum(0), x * scale

    moments = custom_partitioning(moments.fun, static_argnums=1)

    def partition(scale, mesh, arg_shapes, result_shape):
        rows, all_of_it = NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P(None))
        return mesh, lambda x: (lax.psum((x * scale).sum(0), "x"), x * scale), (all_of_it, rows), (rows,)

    moments.def_partition(partition, sharding_rule="i j -> j, i j")
    x = arrax.device_put(X.real, over("x"))
    total, scaled = arrax.jit(lambda x: moments(x, 2.0))(x)
    np.testing.assert_allclose(total, 2 * X.real.sum(0), rtol=1e-5)
    np.testing.assert_allclose(scaled, 2 * X.real)


def test_shardings_are_inferred_without_a_rule():
    grid = arrax.make_mesh((4, 2), ("x", "y"))

    @custom_partitioning
    def product(a, b):
        return a @ b, a.sum()

    def infer(mesh, args, results):
        (rows, _), (_, columns) = ((*each.sharding.spec, None, None)[:2] for each in args)
        return NamedSharding(mesh, P(rows, columns)), NamedSharding(mesh, P())

    def partition(mesh, args, results):
        spec = (*results[0].sharding.spec, None, None)
        shardings = NamedSharding(mesh, P(spec[0], None)), NamedSharding(mesh, P(None, spec[1]))
        names = () if spec[0] is None else spec[0]
        return mesh, lambda a, b: (a @ b, lax.psum(a.sum(), names)), infer(mesh, args, results), shardings

    product.def_partition(partition, infer)
    a = arrax.device_put(X.real, NamedSharding(grid, P("x")))
    b = arrax.device_put(X.real.T, NamedSharding(grid, P(None, "y")))
    found, total = arrax.jit(product)(a, b)
    np.testing.assert_allclose(found, X.real @ X.real.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(total, X.real.sum(), rtol=1e-5)
    assert found.sharding.is_equivalent_to(NamedSharding(grid, P("x", "y")), 2)


def test_rules_are_read():
    a, b, c = (arrax.ShapeDtypeStruct(shape, np.float32) for shape in ((2, 3), (3, 4), (2, 4)))
    text = rule_attribute("i k, k j -> i j", [a, b], [c], {"reduction": ("k",)})
    assert text == "#sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=2, j=3, k=4} reduction={j}, custom>"
    merged = arrax.ShapeDtypeStruct((6,), np.float32)
    assert "([ij])->([i, j])" in rule_attribute("(a b) -> a b", [merged], [a], {})
    for wrong in ("i j", "i -> i", "i j, k -> i"):
        with pytest.raises(ValueError, match="sharding rule"):
            rule_attribute(wrong, [a], [a], {})
    for factors in ({"permutation": ("k",)}, {"reduction": ("j",)}):
        with pytest.raises(ValueError, match="sharding rule"):
            rule_attribute("i j -> i j", [a], [a], factors)
    for text, factors in [("i i -> i i", {}), ("i j -> i j", {"sizes": {"k": 2}}), ("i j -> i j", {"sizes": {"i": 2}})]:
        with pytest.raises(ValueError, match="sharding rule"):
            rule_attribute(text, [a], [a], factors)
    with pytest.raises(ValueError, match=r"'...' stands for 1 and 2 axes"):
        rule_attribute("... i -> ...", [a], [a], {})
    with pytest.raises(ValueError, match="an axis of length 6, not 8"):
        rule_attribute("(i j) -> (i j)", [merged], [merged], {"sizes": {"i": 2, "j": 4}})
    with pytest.raises(ValueError, match="def_partition"):
        custom_partitioning(lambda x: x)(1.0)


def test_rules_may_be_written_as_their_parts():
    rule = SdyShardingRule(
        (ArrayMapping(BATCHING, CompoundFactor("i", "k")),), (("...", "i", "j"),), need_replication_factors=("j",), k=2
    )
    assert str(rule) == "... (i k) -> ... i j" and rule.factors["sizes"] == {"k": 2}
    f, _ = transform(sharding_rule=SdyShardingRule(((BATCHING, "i"),), ((BATCHING, "j"),)))
    x = arrax.device_put(X, over("x"))
    assert arrax.jit(f)(x).sharding == over("x")
    by_function, _ = transform(
        sharding_rule=lambda mesh, operands, results: SdyShardingRule((("a", "i"),), (("a", "j"),))
    )
    assert arrax.jit(by_function)(x).sharding == over("x")


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: SdyShardingRule((("i", "j"),), (("i", "j"),), i=3), ValueError),
        (lambda: SdyShardingRule((("i", "j"),), (("i", "j"),), k=3), ValueError),
        (lambda: SdyShardingRule(((CompoundFactor("i", "j"),),), (("i",),)), ValueError),
        (lambda: CompoundFactor("i"), ValueError),
        (lambda: CompoundFactor("i", BATCHING), ValueError),
        (lambda: ArrayMapping("i", 3), ValueError),
        (lambda: ArrayMapping("i", BATCHING), ValueError),
        (lambda: transform(sharding_rule=3), TypeError),
    ],
)
def test_rules_that_say_nothing_are_refused(make, error):
    with pytest.raises(error):
        make()


def test_values_are_laid_out_alike():
    x = arrax.device_put(np.ones((8, 2)), over("x"))
    f = arrax.jit(lambda x: shard_alike(x, jnp.zeros((8, 2)))[1])
    assert f(x).sharding == over("x")
    grads = arrax.grad(lambda x: (shard_alike(x, 2 * x)[1] ** 2).sum())(np.ones((8, 2)))
    assert np.array_equal(grads, np.full((8, 2), 8.0))
    first, second = shard_alike({"a": 1.0, "b": X}, {"a": 2.0, "b": X})
    assert first["a"] == 1 and second["a"] == 2
    with pytest.raises(ValueError, match="same shape"):
        shard_alike(np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="keys"):
        shard_alike({"a": 1}, {"b": 1})


@pytest.mark.parametrize("text", ["plain", "a\0b"])
def test_exceptions_of_rules_are_of_their_own_class(text):
    def partition(mesh, arg_shapes, result_shape):
        raise LookupError(text)

    f = custom_partitioning(lambda x: x)
    f.def_partition(partition, sharding_rule="i j -> i j")
    with pytest.raises(LookupError, match="custom_partitioning: a rule raised LookupError"):
        arrax.jit(f)(arrax.device_put(X, over("x")))
