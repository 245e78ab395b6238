"""What type checkers see: names that load late, the class of arrays, signatures of transformed functions."""

import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys
from typing import ForwardRef, get_args

import pytest

import arrax
import arrax.numpy as jnp
from docs import late_stubs, reference

INTERFACE = pathlib.Path(arrax.__path__[0]) / "xla" / "array_interface.pyi"
RUNTIMES_OWN = {"clone", "platform", "traceback", "unsafe_raw_buffer"}  # of the runtime's class, not documented


@pytest.mark.parametrize("package", late_stubs.PACKAGES)
def test_stubs_of_names_that_load_late_are_up_to_date(package):
    assert late_stubs.path_of(package).read_text() == late_stubs.stub(package), "run python -m docs.late_stubs"


@pytest.mark.parametrize("accepted", [arrax.typing.ArrayLike, arrax.typing.DTypeLike])
def test_unions_with_names_of_classes_that_come_later(accepted):
    def load(x: "Later" | accepted, y: accepted | "Later" | None = None): ...  # noqa: F821, UP037

    assert set(get_args(accepted)) | {ForwardRef("Later")} == set(get_args(load.__annotations__["x"]))
    assert type(None) in get_args(load.__annotations__["y"]) and isinstance(1.5, arrax.typing.ArrayLike)


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


STRICT = """
import functools
from typing import NamedTuple

import numpy as np

import arrax
import arrax.numpy as jnp
from arrax import lax, random
from arrax.scipy.sparse.linalg import cg
from arrax.sharding import NamedSharding
from arrax.sharding import PartitionSpec as P


class Params(NamedTuple):
    w: arrax.Array
    b: arrax.Array


def loss(params: Params, x: arrax.Array) -> arrax.Array:
    return jnp.mean((x @ params.w + params.b) ** 2)


@arrax.jit
def step(params: Params, x: arrax.Array) -> tuple[Params, arrax.Array]:
    value, slopes = arrax.value_and_grad(loss)(params, x)
    moved: Params = arrax.tree.map(lambda p, s: p - 0.1 * s, params, slopes)
    return moved, value


@functools.partial(arrax.custom_vjp, nondiff_argnums=(1,))
def scaled(x: arrax.Array, factor: float) -> arrax.Array:
    return x * factor


@arrax.custom_jvp
def softplus(x: arrax.Array) -> arrax.Array:
    return jnp.log1p(jnp.exp(x))


@arrax.checkpoint
def layer(x: arrax.Array) -> arrax.Array:
    return jnp.tanh(x)


def add(total: arrax.Array, row: arrax.Array) -> tuple[arrax.Array, arrax.Array]:
    return total + row, total


class Net:
    w: arrax.Array

    @arrax.jit
    def whole(self, x: arrax.Array) -> arrax.Array:
        return x @ self.w

    @functools.partial(arrax.jit, static_argnums=0)
    def apply(self, x: arrax.Array, times: int = 1) -> arrax.Array:
        return times * x @ self.w


x = random.normal(random.key(0), (8, 3))
params = Params(jnp.zeros((3, 2)), jnp.zeros(2))
mesh = arrax.make_mesh((1,), ("rows",))
total = arrax.shard_map(lambda x: lax.psum(x.sum(), "rows"), mesh=mesh, in_specs=P("rows"), out_specs=P())
Net().apply(x, times=2)
arrax.debug.print("{}", lax.max(x, 0.0))
reveal_type(step(params, x))
reveal_type(scaled(x, 2.0))
reveal_type(softplus(x))
reveal_type(layer(x))
reveal_type(lax.scan(add, 0.0, x))
reveal_type(lax.fori_loop(0, 3, lambda i, y: layer(y), x))
reveal_type(lax.cond(True, layer, jnp.sin, x))
reveal_type(lax.pmean(params, "rows"))
reveal_type(arrax.vjp(layer, x)[0])
reveal_type(arrax.jvp(layer, (x,), (x,)))
reveal_type(arrax.jit(layer).lower(x).compile())
reveal_type(Net().whole(x))
reveal_type(arrax.device_put(params, NamedSharding(mesh, P())))
reveal_type(arrax.device_get(x))
reveal_type(x.sharding.is_fully_replicated)
reveal_type(jnp.where(x > 0, x, 0))
reveal_type(jnp.where(x > 0))
reveal_type(jnp.linalg.svd(x).S)
reveal_type(jnp.split(x, 2))
reveal_type(jnp.linspace(0, 1, 5))
reveal_type(cg(lambda v: 2 * v, x)[0])
reveal_type(x**2)
"""

REVEALED = """
tuple[tuple[Array, Array, fallback=strict.Params], Array]
Array
Array
Array
tuple[Array, Array]
Array
Array
tuple[Array, Array, fallback=strict.Params]
Array
tuple[Array, Array]
arrax.transforms.stages.Compiled
Array
tuple[Array, Array, fallback=strict.Params]
numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]]
bool
Array
tuple[Array, ...]
Array
list[Array]
Array
Array
Array
"""
ARRAY = "arrax.xla.array_interface.Array"


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says of programs, with a user's settings, not with those of this repository; line by line, by program."""
    pytest.importorskip("mypy")
    folder, places = tmp_path_factory.mktemp("programs"), reference.documented_at()
    pages = {name: reference.page(name, places) for name in reference.MODULES}
    entry = re.compile(r"^:{3,4}\{py:(?:function|class|data)\} (\w+)", re.M)
    entries = [f"{name}.{one}" for name, page in pages.items() for one in entry.findall(page)]
    imports = [f"import {name}" for name in pages]
    programs = {"program": PROGRAM, "strict": STRICT, "names": "\n".join([*imports, *entries])}
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--cache-dir",
        str(folder / "cache"),
    ]
    environment = {**os.environ, "MYPYPATH": str(pathlib.Path(arrax.__path__[0]).parent)}
    done = subprocess.run(
        [*command, *(f"{name}.py" for name in programs)], capture_output=True, text=True, cwd=folder, env=environment
    )
    found = {name: [] for name in programs}
    for line in done.stdout.splitlines():
        place = re.match(r"(\w+)\.py:\d+: ", line)
        if place:
            found[place[1]].append(line.replace(ARRAY, "Array"))
    return found


def revealed(lines):
    return [line.split('Revealed type is "')[1].rstrip('"') for line in lines if "Revealed type" in line]


def test_a_users_program_gets_types_and_mistakes_are_found(said):
    assert revealed(said["program"]) == ["Array"] * 4 + ["tuple[int, ...]"] + ["Array"] * 7, said["program"]
    lines = PROGRAM.splitlines()
    wrong = [int(line.split(":")[1]) for line in said["program"] if ": error" in line]
    assert [lines[number - 1] for number in wrong] == lines[-5:], said["program"]


def test_a_strictly_checked_program_gets_types_and_no_complaints(said):
    assert [line for line in said["strict"] if ": error" in line] == []
    assert revealed(said["strict"]) == REVEALED.split("\n")[1:-1]


def test_checkers_see_every_name_of_the_reference(said):
    assert said["names"] == []
