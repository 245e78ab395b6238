"""Functions as programs of XLA, from Python and from the command line."""

import numpy as np
import pytest

import arrax.numpy as jnp
from arrax.tools.jax_to_ir import jax_to_ir, main, parse_shape_str


def test_texts_are_types():
    for text, shape, dtype in (
        ("f32[2,3]", (2, 3), np.float32), ("pred[]", (), np.bool_), ("s8[4]", (4,), np.int8), ("u16[1]", (1,), np.uint16),
        ("bf16[5]", (5,), jnp.bfloat16), ("c64[0]", (0,), np.complex64),
    ):  # fmt: skip
        aval = parse_shape_str(text)
        assert (aval.shape, aval.dtype) == (shape, dtype)
    for text in ("f32", "f99[1]", "f32[1,]", "[2]", "f32[-1]", "f32[2] "):
        with pytest.raises(ValueError, match="is no type of an array"):
            parse_shape_str(text)


def test_arguments_stand_in_the_order_that_is_asked_for():
    types = [("y", parse_shape_str("s32[2]")), ("x", parse_shape_str("f32[]")), ("unused", parse_shape_str("pred[]"))]
    message, text = jax_to_ir(lambda x, y, z, unused: x + y * z, types, constants={"z": [3, 4]}, format="HLO")
    assert "(s32[2]{0}, f32[], pred[])->f32[2]{0}" in text and "{3, 4}" in text and b"main" in message


def test_misuse_is_refused():
    types = [("x", parse_shape_str("f32[]"))]
    with pytest.raises(ValueError, match=r"each argument is to be given once.*: x"):
        jax_to_ir(jnp.sin, types, constants={"x": 1.0}, format="HLO")
    with pytest.raises(ValueError, match="each argument is to be given once"):
        jax_to_ir(jnp.sin, types * 2, format="HLO")
    with pytest.raises(ValueError, match="format must be 'HLO', got 'TF'"):
        jax_to_ir(jnp.sin, types, format="TF")
    with pytest.raises(TypeError):
        jax_to_ir(lambda y: y, types, format="HLO")


def test_the_command_line_writes_and_prints(tmp_path, capsys):
    command = ["--fn", "arrax.numpy.sum", "--input_shapes", '[("a", "f32[3]")]', "--evaled_constants", '{"axis": "0"}']
    message, text = tmp_path / "program.pb", tmp_path / "program.txt"
    assert main([*command, "--ir_dest", str(message), "--ir_human_dest", str(text)]) == 0
    assert capsys.readouterr().out == "" and message.read_bytes()
    assert main(command) == 0
    assert capsys.readouterr().out == text.read_text() and "f32[3]" in text.read_text()
