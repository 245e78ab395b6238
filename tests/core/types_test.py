"""Types of arrays: what they say of divisions among devices."""

import subprocess
import sys

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import core, lax
from arrax.core import ShapedArray
from arrax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec


def test_types_that_no_mesh_divides_say_so():
    array = arrax.typeof(jnp.ones((2, 3)))
    assert array.sharding == NamedSharding(AbstractMesh((), ()), PartitionSpec(None, None))
    assert array.sharding.is_fully_replicated and array.sharding.mesh.empty
    seen = []
    arrax.jit(lambda x: seen.append(arrax.typeof(x).sharding.spec) or x)(np.float32(1))
    assert seen == [PartitionSpec()]


def test_changed_types_keep_their_other_fields_but_other_shapes_are_undivided():
    plain = ShapedArray((2,), np.float32)
    sharding = NamedSharding(AbstractMesh((2,), ("x",), AxisType.Explicit), PartitionSpec("x"))
    divided = plain.update(sharding=sharding)
    assert divided.sharding == sharding and divided != plain and divided.str_short(True) == "f32[2@x]"
    assert divided.update(dtype=np.dtype(np.int32)).sharding == sharding
    assert divided.update(shape=(3,)) is plain.update(shape=(3,)) is ShapedArray((3,), np.float32)
    assert ShapedArray((2,), np.float32, sharding=plain.sharding) is plain


def test_shardings_without_devices_need_no_runtime():
    program = (
        "from arrax.sharding import *; print(NamedSharding(AbstractMesh((2,), ('x',)), PartitionSpec('x')).spec);"
        "from arrax.xla import startup; print(startup.started())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "PartitionSpec('x',)\nFalse\n", done.stderr


def test_the_sharding_of_a_type_that_nothing_divides_asks_for_nothing():
    x, key = jnp.ones(3), arrax.random.key(0)
    sharding = arrax.typeof(x).sharding
    makers = [
        lambda: jnp.zeros(3, out_sharding=sharding),
        lambda: arrax.random.normal(key, (3,), out_sharding=sharding),
        lambda: jnp.dot(jnp.eye(3), x, out_sharding=sharding),
        lambda: jnp.reshape(x, (3,), out_sharding=sharding),
        lambda: x.at[np.arange(3)].get(out_sharding=sharding),
        lambda: arrax.device_put(x, sharding),
    ]
    for make in makers:
        assert make().sharding == arrax.jit(make)().sharding == x.sharding


def test_rules_of_older_programs_hand_the_named_axes_of_types_on():
    plain = ShapedArray((2,), np.float32)
    assert plain.named_shape == {} and ShapedArray((2,), np.float32, named_shape=plain.named_shape) is plain


def test_one_length_is_the_shape_of_a_vector():
    assert ShapedArray(3, np.dtype(np.float32)) is ShapedArray((3,), np.dtype(np.float32))
    with pytest.raises(TypeError, match="must be a sequence of integers, got 3.5"):
        ShapedArray(3.5, np.dtype(np.float32))


def test_types_print_briefly_and_a_tilde_says_that_one_is_weak():
    strong, weak = ShapedArray((2, 3), np.float32), ShapedArray((), np.int32, weak_type=True)
    assert (str(strong), f"{weak}") == ("float32[2,3]", "~int32[]")
    assert [repr(strong), repr(weak)] == ["ShapedArray(float32[2,3])", "ShapedArray(int32[], weak_type=True)"]


def test_effects_and_the_type_of_tokens_have_public_names():
    traced = arrax.make_jaxpr(lambda x: arrax.debug.print("{}", x))(1.0)
    assert [isinstance(effect, core.Effect) for effect in traced.effects] == [True]
    assert arrax.make_jaxpr(lambda: lax.create_token(0))().out_avals == [core.abstract_token]
