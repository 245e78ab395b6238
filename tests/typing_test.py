"""What type checkers see: names that load late, the class of arrays, signatures of transformed functions."""

import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import arrax
import arrax.numpy as jnp
from docs import late_stubs

INTERFACE = pathlib.Path(arrax.__path__[0]) / "xla" / "array_interface.pyi"
RUNTIMES_OWN = {"clone", "platform", "traceback", "unsafe_raw_buffer"}  # of the runtime's class, not documented


@pytest.mark.parametrize("package", late_stubs.PACKAGES)
def test_stubs_of_names_that_load_late_are_up_to_date(package):
    assert late_stubs.path_of(package).read_text() == late_stubs.stub(package), "run python -m docs.late_stubs"


def declared():
    """The body of the class of arrays as checkers see it."""
    (cls,) = (node for node in ast.parse(INTERFACE.read_text()).body if getattr(node, "name", None) == "Array")
    found = {}
    for node in cls.body[1:]:  # without its docstring
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        names = [node.name] if isinstance(node, ast.FunctionDef) else [getattr(target, "id", "") for target in targets]
        found |= dict.fromkeys(names, node)
    return found


def test_the_declared_class_has_what_arrays_have():
    array = type(jnp.ones(3))
    public = {name for name in dir(array) if not name.startswith("_")} - RUNTIMES_OWN
    mine = {name for name in declared() if not name.startswith("_")}
    assert mine == public, mine ^ public
    assert all(hasattr(array, name) for name in declared() if name.startswith("__"))


def test_declared_methods_have_the_parameters_of_arrays():
    array = type(jnp.ones(3))
    for name, node in declared().items():
        function = getattr(array, name)
        if not isinstance(node, ast.FunctionDef) or node.decorator_list or not inspect.isfunction(function):
            continue
        if name.startswith("_"):
            continue
        parameters = list(inspect.signature(function).parameters)[1:]
        given = [arg.arg for arg in [*node.args.posonlyargs, *node.args.args][1:]]
        given += [node.args.vararg.arg] if node.args.vararg else []
        assert parameters == [*given, *(arg.arg for arg in node.args.kwonlyargs)], name


PROGRAM = """
import arrax
import arrax.numpy as jnp


def f(x: arrax.Array, y: arrax.typing.ArrayLike = 1.0) -> arrax.Array:
    reveal_type(x + 1)
    reveal_type(x @ x)
    reveal_type(x.at[0].set(1))
    reveal_type(x.sum())
    reveal_type(x.shape)
    return x


reveal_type(arrax.lax.add(jnp.ones(3), jnp.ones(3)))
reveal_type(jnp.sin(1.0))
reveal_type(jnp.add(jnp.ones(3), 1))
reveal_type(arrax.jit(f)(jnp.ones(3)))
reveal_type(arrax.jit(static_argnums=1)(f)(jnp.ones(3)))
reveal_type(arrax.vmap(f)(jnp.ones(3)))
reveal_type(arrax.value_and_grad(f)(jnp.ones(3))[0])
jnp.sin("text")
arrax.jit(f)()
arrax.grad(f)(z=1)
jnp.smu(3)
arrax.lax.spilt
"""


def test_a_users_program_gets_types_and_mistakes_are_found(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # With the user's settings, not with those of this repository: arrax is read as source, and must be free of errors.
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(program)]
    environment = {**os.environ, "MYPYPATH": str(pathlib.Path(arrax.__path__[0]).parent)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    array = "arrax.xla.array_interface.Array"
    assert revealed == [array] * 4 + ["tuple[int, ...]"] + [array] * 7, done.stdout
    lines = PROGRAM.splitlines()
    wrong = [int(number) for number in re.findall(r":(\d+): error", done.stdout)]
    assert [lines[number - 1] for number in wrong] == lines[-5:], done.stdout
