"""Exported functions: what they know, calling them from other programs, derivatives, platforms, bytes."""

import collections
import concurrent.futures
import subprocess
import sys

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import export, random
from arrax.core import config
from arrax.experimental import export as older

X, Y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)


@arrax.jit
def wave(x, y):
    return {"a": jnp.sin(x) @ y, "b": x.sum()}


@pytest.fixture(scope="module")
def exported():
    return export.export(wave)(arrax.ShapeDtypeStruct((2, 3), jnp.float32), y=Y)


def same(one, other):
    arrax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), one, other)


def test_an_exported_function_knows_its_types(exported):
    assert exported.fun_name == "wave" and str(exported) == "Exported(fun_name=wave, ...)"
    assert [str(aval) for aval in exported.in_avals] == ["float32[2,3]", "float32[3]"]
    assert [aval.shape for aval in exported.out_avals] == [(2,), ()]
    assert exported.in_tree == arrax.tree.structure(((0,), {"y": 0})) and exported.out_tree == arrax.tree.structure(
        {"a": 0, "b": 0}
    )
    assert exported.platforms == (export.default_export_platform(),) and exported.nr_devices == 1
    assert exported.module_kept_var_idx == (0, 1) and exported.in_shardings_hlo == (None, None)
    low, high = export.minimum_supported_calling_convention_version, export.maximum_supported_calling_convention_version
    assert low <= exported.calling_convention_version <= high
    assert (
        "func.func public @main(%arg0: tensor<2x3xf32>" in exported.mlir_module()
        and "stablehlo.sine" in exported.mlir_module()
    )


def test_it_is_called_by_itself_and_in_other_programs(exported):
    same(exported.call(X, y=Y), wave(X, Y))

    @arrax.jit
    def twice(x):
        return exported.call(x, y=Y)["b"] + exported.call(x + 1, y=Y)["b"]

    assert twice(X) == 2 * X.sum() + 6
    assert twice.lower(X).as_text().count("func.func private @wave") == 1
    assert arrax.lax.map(lambda x: exported.call(x, y=Y)["b"], np.stack([X, X])).tolist() == [15, 15]


def test_it_is_differentiated_in_reverse_mode(exported):
    def loss(call):
        return lambda x, y: jnp.sum(call(x, y=y)["a"] ** 2) + call(x, y=y)["b"]

    same(arrax.grad(loss(exported.call), (0, 1))(X, Y), arrax.grad(loss(wave), (0, 1))(X, Y))
    same(arrax.jit(arrax.grad(loss(exported.call)))(X, Y), arrax.grad(loss(wave))(X, Y))
    derivative = exported.vjp()
    assert derivative is exported.vjp() and exported.has_vjp() and derivative.fun_name == "fun_vjp_jax"
    assert [aval.shape for aval in derivative.in_avals] == [(2, 3), (3,), (2,), ()]
    second = export.export(arrax.jit(jnp.sin))(1.0)
    assert arrax.grad(arrax.grad(second.call))(1.0) == -jnp.sin(1.0)


def test_integers_have_no_derivative():
    f = export.export(arrax.jit(lambda x, n: (x * n, n + 1, jnp.float32(n))))(2.0, 3)
    assert arrax.grad(lambda x: f.call(x, 3)[0])(2.0) == 3
    _, pullback = arrax.vjp(f.call, 2.0, 3)
    cotangents = (1.0, np.zeros((), arrax.float0), 0.0)
    assert pullback(cotangents)[0] == 3 and pullback(cotangents)[1].dtype == arrax.float0


def test_other_arguments_are_refused(exported):
    with pytest.raises(
        ValueError, match=r"Shape mismatch for args\[0\].shape\[1\].*expected \(2, 3\) and called with \(2, 4\)"
    ):
        exported.call(np.ones((2, 4), np.float32), y=Y)
    with pytest.raises(ValueError, match=r"Shape mismatch for kwargs\['y'\] \(expected same rank\)"):
        exported.call(X, y=X)
    with pytest.raises(ValueError, match=r"Dtype mismatch for args\[0\]: expected float32 and called with int32"):
        exported.call(X.astype(int), y=Y)
    with pytest.raises(
        ValueError, match="must have the same pytree structure as when the function 'wave' was exported"
    ):
        exported.call(X, Y)
    with pytest.raises(NotImplementedError, match="call_exported"):
        arrax.vmap(lambda x: exported.call(x, y=Y)["b"])(np.stack([X, X]))


def test_what_cannot_be_exported_is_refused():
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        export.export(jnp.sin.__wrapped__)
    for checks, shown in ((["cpu"], "'cpu'"), (3, "3")):
        with pytest.raises(TypeError, match=f"argument disabled_checks must hold DisabledSafetyChecks, got {shown}"):
            export.export(arrax.jit(jnp.sin), disabled_checks=checks)
    with pytest.raises(ValueError, match="platforms must be some of cpu, cuda, rocm, tpu"):
        export.export(wave, platforms=["abacus"])
    with pytest.raises(NotImplementedError, match="calls functions on the host"):
        export.export(arrax.jit(lambda x: arrax.pure_callback(np.sin, x, x)))(X)
    with pytest.raises(NotImplementedError, match="calls functions on the host"):
        export.export(arrax.jit(lambda x: arrax.debug.print("{}", x)))(X)


def test_functions_of_the_runtime_are_checked():
    kernel = arrax.core.Primitive("kernel")
    kernel.def_abstract_eval(lambda x: x)
    arrax.interpreters.mlir.register_lowering(
        kernel,
        lambda ctx, x: arrax.interpreters.mlir.custom_call("my_kernel", result_types=[x.type], operands=[x]).results,
    )
    f = arrax.jit(kernel.bind)
    with pytest.raises(ValueError, match="later versions may not have: my_kernel"):
        export.export(f)(X)
    allowed = export.DisabledSafetyCheck.custom_call("my_kernel")
    assert "my_kernel" in export.export(f, disabled_checks=[allowed])(X).mlir_module()
    assert (
        str(allowed) == "custom_call:my_kernel"
        and allowed.is_custom_call() == "my_kernel"
        and not allowed.is_platform()
    )
    assert allowed == export.DisabledSafetyCheck.custom_call("my_kernel") and len({allowed, allowed}) == 1
    assert export.DisabledSafetyCheck.platform().is_platform()
    matrix = np.array([[4, 2], [2, 5]], np.float32)
    factor = export.export(arrax.jit(jnp.linalg.cholesky))(matrix)
    np.testing.assert_allclose(factor.call(matrix), [[2, 0], [1, 2]])


def test_platforms():
    def own(x):
        return arrax.lax.platform_dependent(x, cpu=jnp.sin, cuda=jnp.cos, tpu=jnp.tan)

    both = export.export(arrax.jit(own), platforms=["cuda", "cpu"])(X)
    assert both.platforms == ("cuda", "cpu") and both.uses_global_constants
    text = both.mlir_module()
    assert "stablehlo.cosine" in text and "stablehlo.sine" in text and "_platform_index" in text
    np.testing.assert_allclose(both.call(X), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(arrax.grad(lambda x: both.call(x).sum())(X), np.cos(X), rtol=1e-6, atol=1e-6)
    other = export.export(wave, platforms=["tpu"])(X, Y)
    with pytest.raises(ValueError, match="was exported for platforms"):
        other.call(X, Y)
    unchecked = export.export(wave, platforms=["tpu"], disabled_checks=[export.DisabledSafetyCheck.platform()])(X, Y)
    same(unchecked.call(X, Y), wave(X, Y))


def test_static_donated_unused_and_constant_values():
    table = jnp.arange(5000.0)
    f = arrax.jit(lambda x, n, unused: table[x] + n, static_argnums=1)
    exported = export.export(f)(np.int32(7), 3, 1.0)
    assert exported.call(np.int32(7), 1.0) == 10 and exported.module_kept_var_idx == (0,)
    donating = export.export(arrax.jit(lambda x: x + 1, donate_argnums=0))(X)
    assert "tf.aliasing_output" in donating.mlir_module()
    np.testing.assert_array_equal(arrax.jit(donating.call)(X), X + 1)
    keyed = export.export(arrax.jit(lambda key: random.split(key)))(random.key(0))
    np.testing.assert_array_equal(
        random.key_data(keyed.call(random.key(3))), random.key_data(random.split(random.key(3)))
    )


# ---- bytes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("vjp_order", "error"), [(-1, ValueError), (1.5, TypeError), ("2", TypeError)])
def test_orders_of_derivatives_that_make_no_sense_are_refused(vjp_order, error):
    exported = export.export(arrax.jit(lambda x: x))(1.0)
    with pytest.raises(error, match="vjp_order"):
        exported.serialize(vjp_order)


def test_bytes_give_the_function_back(exported):
    blob = exported.serialize()
    again = export.deserialize(blob)
    assert isinstance(blob, bytearray) and not again.has_vjp()
    for name in (
        "fun_name",
        "in_tree",
        "in_avals",
        "out_tree",
        "out_avals",
        "platforms",
        "module_kept_var_idx",
        "nr_devices",
    ):
        assert getattr(again, name) == getattr(exported, name), name
    same(again.call(X, y=Y), wave(X, Y))
    with pytest.raises(ValueError, match="No VJP is available for 'wave'"):
        arrax.grad(lambda x: again.call(x, y=Y)["b"])(X)
    twice = export.deserialize(exported.serialize(vjp_order=2))
    same(arrax.grad(lambda x: twice.call(x, y=Y)["b"])(X), np.ones((2, 3)))
    assert twice.vjp().has_vjp() and not twice.vjp().vjp().has_vjp()


PROGRAM = """
import sys, pathlib
import numpy as np
from arrax import export, random
from arrax.core import config
from arrax.experimental import export as older

draw = export.deserialize(pathlib.Path(sys.argv[1]).read_bytes())
print(float(draw.call(random.key(0), np.float32(2))))
"""


def test_bytes_are_called_in_other_processes(tmp_path):
    draw = arrax.jit(lambda key, scale: scale * random.uniform(key))
    blob = export.export(draw)(random.key(0), 1.0).serialize()
    (tmp_path / "draw").write_bytes(blob)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "draw")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == float(draw(random.key(0), np.float32(2)))


Point = collections.namedtuple("Point", "x y")


@arrax.tree_util.register_pytree_node_class
class Scaled:
    def __init__(self, value, factor):
        self.value, self.factor = value, factor

    def tree_flatten(self):
        return (self.value,), self.factor

    @classmethod
    def tree_unflatten(cls, factor, children):
        return cls(*children, factor)


def test_structures_are_written_for_registered_classes():
    def f(point, rest):
        return {"scaled": Scaled(point.x, 3), "list": [point.y, None, (rest["a"],)]}

    exported = export.export(arrax.jit(f))(Point(1.0, 2.0), {"a": 4.0})
    with pytest.raises(ValueError, match="register the class by export.register_namedtuple_serialization"):
        exported.serialize()
    assert export.register_namedtuple_serialization(Point, serialized_name="tests.Point") is Point
    with pytest.raises(ValueError, match="register the class by export.register_pytree_node_serialization"):
        exported.serialize()
    export.register_pytree_node_serialization(
        Scaled, serialized_name="tests.Scaled", serialize_auxdata=lambda factor: str(factor).encode(),
        deserialize_auxdata=lambda data: int(data),
    )  # fmt: skip
    again = export.deserialize(exported.serialize())
    out = again.call(Point(1.0, 2.0), {"a": 4.0})
    assert out["scaled"].factor == 3 and out["scaled"].value == 1 and out["list"] == [2, None, (4,)]
    with pytest.raises(ValueError, match="Duplicate serialization registration for type"):
        export.register_namedtuple_serialization(Point, serialized_name="tests.Other")
    with pytest.raises(ValueError, match="Duplicate serialization registration for serialized_name"):
        export.register_namedtuple_serialization(collections.namedtuple("Q", "x"), serialized_name="tests.Point")
    with pytest.raises(ValueError, match="not a class of named tuples"):
        export.register_namedtuple_serialization(tuple, serialized_name="tests.tuple")
    with pytest.raises(ValueError, match="not registered as a node"):
        export.register_pytree_node_serialization(
            set, serialized_name="tests.set", serialize_auxdata=repr, deserialize_auxdata=repr
        )
    keyed = export.export(arrax.jit(lambda d: d[1]))({1: 2.0})
    with pytest.raises(ValueError, match="must have texts for keys"):
        keyed.serialize()


@pytest.mark.parametrize(
    "damage", [lambda b: b"", lambda b: b"some other bytes", lambda b: b[:-5], lambda b: b + b"more"]
)
def test_damaged_bytes_are_refused(exported, damage):
    with pytest.raises(ValueError, match="these are no bytes of an exported function"):
        export.deserialize(damage(bytes(exported.serialize())))


@pytest.mark.parametrize(
    ("word", "other"), [(b"constraints", b"konstraints"), (b"float32", b"flaot32"), (b"format", b"fromat")]
)
def test_damaged_attributes_are_refused(exported, word, other):
    with pytest.raises(ValueError, match="the bytes of this exported function are damaged"):
        export.deserialize(bytes(exported.serialize()).replace(word, other))


def test_older_names_mean_the_same():
    exported = older.export(lambda x: jnp.sin(x), lowering_platforms=["cpu", "tpu"])(X)
    assert isinstance(exported, older.Exported) and exported.platforms == ("cpu", "tpu")
    again = older.deserialize(older.serialize(exported, vjp_order=1))
    np.testing.assert_allclose(older.call_exported(again)(X), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(arrax.grad(lambda x: older.call(again)(x).sum())(X), np.cos(X), rtol=1e-6, atol=1e-6)
    assert older.export(wave)(X, Y).platforms == (older.default_lowering_platform(),)


def test_the_calling_convention_is_an_option():
    with config.export_calling_convention_version(9):
        assert export.export(wave)(X, Y).calling_convention_version == 9
    with config.export_calling_convention_version(8), pytest.raises(ValueError, match="between 9 and 10, got 8"):
        export.export(wave)(X, Y)


def test_threads_export_and_load_at_once():
    def through_bytes(number):
        found = export.export(arrax.jit(lambda x: x * number))(arrax.ShapeDtypeStruct((2,), jnp.float32))
        return float(export.deserialize(found.serialize()).call(jnp.ones(2))[0])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(through_bytes, range(16))) == list(range(16))
