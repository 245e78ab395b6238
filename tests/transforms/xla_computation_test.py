"""xla_computation: the program that XLA gets, for one device and for replicas."""

import re

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax


def wave(x):
    return jnp.sin(jnp.cos(x))


def test_the_computation_of_a_function_gives_a_tuple():
    text = arrax.xla_computation(wave)(3.0).as_hlo_text()
    assert text.startswith("HloModule xla_computation_wave")
    assert re.search(r"ROOT \S+ = \(f32\[\]\) tuple", text) and "cosine(" in text and "sine(" in text
    assert len(arrax.xla_computation(wave)(3.0).as_serialized_hlo_module_proto()) > 100


def test_arguments_are_anything_with_shapes_and_static_ones_are_part_of_the_program():
    computation, shapes = arrax.xla_computation(lambda x, n: {"power": x**n}, static_argnums=1, return_shape=True)(
        arrax.ShapeDtypeStruct((5,), jnp.float32), 3
    )
    assert shapes == {"power": arrax.ShapeDtypeStruct((5,), jnp.float32)}
    assert "(f32[5]{0})->(f32[5]{0})" in computation.as_hlo_text()


def test_axes_of_an_environment_are_replicas():
    def sums(x):
        return lax.psum(x, "i"), lax.psum(x, "j"), lax.psum(x, ("i", "j")), lax.axis_index("j")

    text = arrax.xla_computation(sums, axis_env=[("i", 4), ("j", 2)])(5.0).as_hlo_text()
    assert "{{0,2,4,6},{1,3,5,7}}" in text
    assert "{{0,1},{2,3},{4,5},{6,7}}" in text
    assert "{{0,1,2,3,4,5,6,7}}" in text
    assert "replica-id()" in text and "partition-id" not in text


def test_arguments_may_be_one_tuple_and_donated():
    maker = arrax.xla_computation(lambda x, y: (x + 1, y), tuple_args=True, donate_argnums=0)
    text = maker(np.ones(3, np.float32), np.ones(2, np.int32)).as_hlo_text()
    assert "((f32[3]{0}, s32[2]{0}))->(f32[3]{0}, s32[2]{0})" in text and "input_output_alias={ {0}: (0, {0}" in text


def test_constants_stand_in_the_computation():
    table = jnp.arange(5000.0)
    text = arrax.xla_computation(lambda i: table[i])(3).as_hlo_text()
    assert re.search(r"f32\[5000\]\S* constant", text) and "(s32[])->(f32[])" in text


def test_misuse_is_refused():
    with pytest.raises(ValueError, match=r"both name arguments \[1\]"):
        arrax.xla_computation(lambda x, y: x, static_argnums=(0, 1), donate_argnums=1)
    with pytest.raises(ValueError, match="hashable"):
        arrax.xla_computation(lambda x, y: x, static_argnums=1)(1.0, [])
    with pytest.raises(TypeError):
        arrax.xla_computation(3)
    with pytest.raises(NameError, match="unbound axis name: k"):
        arrax.xla_computation(lambda x: lax.psum(x, "k"), axis_env=[("i", 2)])(1.0)
