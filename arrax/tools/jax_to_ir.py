"""A function as a program of XLA: ``python -m arrax.tools.jax_to_ir --fn module.function --input_shapes '[("x", "f32[3]")]'``."""

from __future__ import annotations

import argparse as _argparse
import ast as _ast
import importlib as _importlib
import re as _re
import sys as _sys
from collections.abc import Callable as _Callable
from collections.abc import Mapping as _Mapping
from collections.abc import Sequence as _Sequence
from typing import Any as _Any

import arrax as _arrax
from arrax import dtypes as _dtypes
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.core.types import ShapedArray as _ShapedArray
from arrax.export import export as _export
from arrax.native import runtime as _runtime

__all__ = ["jax_to_hlo", "jax_to_ir", "main", "parse_shape_str"]

_to_hlo = _runtime._jax.mlir.mlir_module_to_xla_computation
_KINDS = {"s": "int", "u": "uint", "f": "float", "c": "complex"}
_NAMES = {"pred": "bool", "bf16": "bfloat16"}
_SHAPE = _re.compile(r"([a-z]+\d*)\[((?:\d+(?:,\d+)*)?)\]")
_Inputs = _Sequence[tuple[str, _ShapedArray]]


def parse_shape_str(s: str) -> _ShapedArray:
    """The type that a text says in the words of XLA.

    Args:
      s: such as ``"f32[3,4]"``.
    Raises:
      ValueError: it says none.
    Example: ``from arrax.tools import jax_to_ir; jax_to_ir.parse_shape_str('bf16[2]').shape`` is ``(2,)``.
    """
    found = _SHAPE.fullmatch(s)
    if found is not None:
        kind, lengths = found.groups()
        try:
            dtype = _dtypes.to_dtype(_NAMES.get(kind) or _KINDS.get(kind[0], "") + kind[1:])
        except TypeError:
            pass
        else:
            return _ShapedArray(tuple(map(int, filter(None, lengths.split(",")))), dtype)
    raise ValueError(
        f"{s!r} is no type of an array: it is to be like 'f32[2,3]', 's8[4]', 'pred[]', 'bf16[5]' or 'c64[1]'"
    )


def jax_to_hlo(
    fn: _Callable[..., _Any], input_shapes: _Inputs, *, constants: _Mapping[str, _Any] | None = None
) -> tuple[bytes, str]:
    """A function as a program of XLA.

    Args:
      fn: function that takes its arguments by name.
      input_shapes: names and types of the program's arguments, in their order.
      constants: values of the other arguments, by name; lists become arrays.
    Returns: the program as XLA's message ``HloModuleProto``, and as text.
    Raises:
      ValueError: an argument is among both, or the program calls functions of this process.
      TypeError: arguments that the function does not have, or that are missing.
    Example: ``from arrax.tools import jax_to_ir
    types = [('v', jax_to_ir.parse_shape_str('f32[3]'))]
    program, text = jax_to_ir.jax_to_hlo(lambda v, scale: scale * v, types, constants={'scale': 2.0})``.
    """
    names = [name for name, _ in input_shapes]
    fixed = {
        name: _arrax.numpy.asarray(value) if isinstance(value, list) else value
        for name, value in (constants or {}).items()
    }
    twice = sorted({name for name in names if name in fixed or names.count(name) > 1})
    if twice:
        raise ValueError(
            f"jax_to_hlo: each argument is to be given once, in input_shapes or constants: {', '.join(twice)}"
        )

    def program(*values: _Any) -> _Any:
        return fn(**dict(zip(names, values, strict=True)), **fixed)

    structs = [_arrax.ShapeDtypeStruct(aval.shape, aval.dtype) for _, aval in input_shapes]
    exported = _export(_arrax.jit(program, keep_unused=True))(*structs)  # of the compiler's own operations only
    hlo = _to_hlo(exported.mlir_module(), use_tuple_args=False, return_tuple=False)
    return hlo.as_serialized_hlo_module_proto(), hlo.as_hlo_text()


def jax_to_ir(
    fn: _Callable[..., _Any], input_shapes: _Inputs, *, constants: _Mapping[str, _Any] | None = None, format: str
) -> tuple[bytes, str]:
    """A function as a program: see ``jax_to_hlo``.

    Args:
      fn, input_shapes, constants: as of ``jax_to_hlo``.
      format: ``"HLO"``.
    Raises:
      ValueError: another format. TensorFlow's needs TensorFlow; ``arrax.export`` writes StableHLO, which it reads, too.
    Example: ``from arrax.tools import jax_to_ir
    program, text = jax_to_ir.jax_to_ir(jnp.sum, [], constants={'a': 2.0}, format='HLO')``.
    """
    if format != "HLO":
        raise ValueError(f"jax_to_ir: format must be 'HLO', got {format!r}; arrax.export.export writes StableHLO")
    return jax_to_hlo(fn, input_shapes, constants=constants)


def _parser() -> _argparse.ArgumentParser:
    parser = _argparse.ArgumentParser(
        prog="python -m arrax.tools.jax_to_ir", description="Write a function as a program of XLA."
    )
    parser.add_argument("--fn", required=True, help="function, as module.name")
    parser.add_argument("--input_shapes", default="[]", help="list of pairs of names and types of arguments")
    parser.add_argument("--constants", default="{}", help="dict of the values of other arguments")
    parser.add_argument("--evaled_constants", default="{}", help="the same; texts among the values are read as Python")
    parser.add_argument("--ir_format", default="HLO", help="HLO")
    parser.add_argument("--ir_dest", help="file for the program as a message")
    parser.add_argument("--ir_human_dest", help="file for the program as text; by default it is printed")
    return parser


def main(arguments: _Sequence[str] | None = None) -> int:
    """Write a function as a program of XLA, as a command line says.

    Args:
      arguments: of the command line; those of the process for None.
    Returns: the exit code: 0.
    Raises:
      ValueError, TypeError: as ``jax_to_ir``.
    Example: ``from arrax.tools import jax_to_ir
    jax_to_ir.main(['--fn', 'arrax.numpy.sum', '--input_shapes', '[("a", "f32[3]")]'])`` is 0.
    """
    given = _parser().parse_args(arguments)
    module, _, name = given.fn.rpartition(".")
    inputs = [(each, parse_shape_str(text)) for each, text in _ast.literal_eval(given.input_shapes)]
    texts = _ast.literal_eval(given.evaled_constants)
    read = {each: _ast.literal_eval(text) if isinstance(text, str) else text for each, text in texts.items()}
    constants = {**_ast.literal_eval(given.constants), **read}
    function = getattr(_importlib.import_module(module), name)
    program, text = jax_to_ir(function, inputs, constants=constants, format=given.ir_format)
    if given.ir_dest is not None:
        with open(given.ir_dest, "wb") as file:
            file.write(program)
    if given.ir_human_dest is not None:
        with open(given.ir_human_dest, "w", encoding="utf-8") as file:
            file.write(text)
    elif given.ir_dest is None:
        print(text, end="")
    return 0


_bound_names(__name__)

if __name__ == "__main__":
    _sys.exit(main())
