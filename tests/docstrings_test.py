"""The examples of docstrings run, and give what they say."""

import ast
import contextlib
import functools
import importlib
import inspect
import pkgutil
import re
import sys
import tempfile
import types
import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.core.interpreter import Primitive
from arrax.extend.core import primitives
from docs import reference, value_examples

# What examples may use without making it, beside the names of their own module and the reference's imports.
NAMES = {
    **vars(arrax.tree_util), **vars(arrax.dtypes), **{kind: jnp.dtype(kind) for kind in ("int8", "uint8", "int64", "float32")},
    **{name: getattr(arrax.scipy, name) for name in ("linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats")},
    "jax": arrax, "numpy": np, "types": types, "functools": functools, "tempfile": tempfile, "nan": np.nan, "inf": np.inf, "pi": np.pi,
}  # fmt: skip
exec(value_examples.IMPORTS, NAMES)
MATRIX = "x = jnp.eye(3)"
BOX = "Box = type('Box', (), {'__init__': lambda self, value: setattr(self, 'value', value)})"
FURTHER = {
    "all_to_all": MATRIX, "pswapaxes": MATRIX, "dot_general": "x = y = jnp.eye(2)", "gather": MATRIX, "eig": MATRIX,
    "householder_product": MATRIX, "ormqr": MATRIX, "take_along_axis": MATRIX, "pdot": "y = x",
    "reduce_and": "x = x > 2", "reduce_or": "x = x > 2", "reduce_xor": "x = x > 2",
    "register_pytree_node": BOX, "register_pytree_with_keys": BOX,
    "register_dataclass": "import dataclasses; Layer = dataclasses.make_dataclass('Layer', ['weight', 'bias', 'name'])",
    "custom_linear_solve": "a, b = jnp.eye(2), jnp.ones(2)",
    "custom_root": "a, newton = 4.0, lambda g, x0: lax.fori_loop(0, 9, lambda _, x: x - g(x) / grad(g)(x), x0)",
    "conv_with_general_padding": "x = kernel = jnp.ones((1, 1, 3, 3))",
    "conv_general_dilated_local": "x, kernels = jnp.ones((1, 2, 5)), jnp.ones((3, 6, 3))",
    "callback_": "x = 1.0", "callback": "x = 1.0",
    "pure_callback": "x = np.ones(3, 'float32')",
    "scaled_dot": "x8, s = jnp.ones((1, 64), jnp.float8_e4m3fn), jnp.ones((1, 2)); y8, t = x8.T, s.T",
    "DiskStore.get": "store = DiskStore(tempfile.mkdtemp()); store.put(b'key', b'payload')",
    "DiskStore.put": "store = DiskStore(tempfile.mkdtemp())",
    "random_seed": "from arrax.random.threefry import threefry as threefry_prng_impl",
    "define_prng_impl": "from arrax.random.threefry import threefry as threefry_prng_impl",
    "seed_with_impl": "from arrax.random.threefry import threefry as threefry_prng_impl",
}  # fmt: skip
# What needs several devices, several processes, or a compiled program around it, and operations without a public name.
ELSEWHERE = {
    "psend",
    "precv",
    "infeed",
    "outfeed",
    "eq_to",
    "lt_to",
    "le_to",
    "xla_div",
    "xla_lgamma",
    "trigamma",
    "pvary",
    "gamma_density",
    "register_subprocess",
    "register_backend_factory",
    "ffi_call",
    "register_ffi_target",
    "register_ffi_type",
    "register_ffi_type_id",
    "clear_backends",
}
LEFT_OUT = ("_src", "native", "as_jax")  # the last changes the process that imports it


def modules(package):
    """The modules of a package that can be imported, itself first."""
    found = importlib.import_module(package)
    yield found
    if hasattr(found, "__path__"):
        for info in pkgutil.walk_packages(found.__path__, f"{package}."):
            yield importlib.import_module(info.name)


def documented(package):
    """(name, docstring, names of the module) of what a package itself defines with an example."""
    seen = set()
    for module in modules(package):
        names = {name: getattr(module, name) for name in dir(module) if not name.startswith("__")}
        for name, value in names.items():
            members = vars(value).items() if inspect.isclass(value) else ()
            for label, one in [(name, value), *((f"{name}.{key}", member) for key, member in members)]:
                text = getattr(one, "__doc__", None)
                if (
                    name.startswith("_")
                    or not isinstance(text, str)
                    or not re.search(r"Example:\s+``[^@]", text)
                    or text in seen
                ):
                    continue
                if label not in ELSEWHERE and is_defined_in(package, one):
                    seen.add(text)
                    yield label, text, names


def is_defined_in(package, value):
    """Whether the code of a function or class stands in a package."""
    if inspect.isclass(value):
        return f"{value.__module__}.".startswith(f"{package}.") or value.__module__ == "arrax"
    code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
    if code is None and "__doc__" in getattr(value, "__dict__", {}):
        return f"{type(value).__module__}.".startswith(f"{package}.")
    file = getattr(code, "co_filename", "").removesuffix(".py").removesuffix("__init__")
    return "/".join(["", *package.split("."), ""]) in f"{file}/"


def example(text):
    """The code of a docstring's example, what has to stand before it, and the text of its value, or None."""
    found = re.search(r"Example:\s+``(.+?)``(.*?)(?:Source: |\n\n|$)", text, re.S)
    code, rest = found.groups()
    setting = re.findall(r"``(\w+ = .+?)``", rest)
    said = re.match(
        r"(?: with .*?)?,?\s+is (?:``(.+?)``|(-?[\d.]+|True|False)(?= everywhere|[.,\s]*$|[.,] ))", rest, re.S
    )
    quoted, plain = said.groups() if said else (None, None)
    return (
        inspect.cleandoc(" " + code).replace("…", "..."),
        "\n".join(setting),
        quoted or (plain or "").rstrip(".") or None,
    )


def raised(text):
    """The name of the exception that a docstring's example raises, ``it`` for the class itself, or None."""
    found = re.search(r"Example:\s+``.+?``\s+raises\s+(?:``([\w.]+)``|(it)\b)", text, re.S)
    return found and (found[1] or found[2])


def run(code, names):
    """The value of the last expression of a piece of code."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "example", "exec"), names)
    return eval(compile(ast.Expression(last.value), "example", "eval"), names) if last is not None else None


def is_program(code, names):
    """Whether a piece of code is an expression of arrays that is lowered without an error."""
    try:
        expression = compile(code, "example", "eval")
        arrax.jit(lambda: eval(expression, names)).lower()
    except Exception:
        return False
    return True


def expected_value(text, names):
    """What a docstring says a value is: an expression, or what it prints."""
    try:
        return eval(text, names)
    except Exception:
        return text


def assert_same(value, expected):
    if isinstance(expected, str) and not isinstance(value, str):
        assert " ".join(expected.split()) in (str(value), repr(value)), f"{value} is not {expected}"
        return
    if isinstance(value, np.dtype) or arrax.dtypes.issubdtype(getattr(value, "dtype", None), arrax.dtypes.prng_key):
        assert value == expected
    elif hasattr(value, "shape") or hasattr(expected, "shape"):
        kind = complex if np.result_type(np.asarray(value)).kind in "fc" else None
        np.testing.assert_allclose(np.asarray(value, kind), np.asarray(expected, kind), rtol=2e-4, atol=1e-6)
    elif isinstance(value, tuple | list) and isinstance(expected, tuple | list) and len(value) == len(expected):
        for one, other in zip(value, expected, strict=True):
            assert_same(one, other)
    else:
        assert value == expected, f"{value} is not {expected}"


@contextlib.contextmanager
def settings_as_before():
    """Whatever an example sets is as before afterwards."""
    before = arrax.config.values
    try:
        yield
    finally:
        arrax.monitoring.clear_event_listeners()
        for name, value in before.items():
            if arrax.config.read(name) != value:
                arrax.config.update(name, value)


def run_example(name, text, own, of_programs=False):
    """Run an example; what has gone wrong, or None.

    Args:
      of_programs: an example that says no value is lowered only, if it is a program.
    """
    code, setting, expected = example(text)
    error = raised(text)
    names = {**NAMES, **own}
    try:
        exec(f"{value_examples.VALUES}\n{FURTHER.get(name, '')}\n{setting}", names)
        with warnings.catch_warnings(), settings_as_before():
            warnings.simplefilter("ignore")
            if error is not None:
                with pytest.raises(eval(name if error == "it" else error, names)):
                    run(code, names)
                return None
            if of_programs and expected is None and is_program(code, names):
                return None
            value = run(code, names)
            if expected is not None:
                assert_same(value, expected_value(expected, names))
    except (Exception, pytest.fail.Exception) as error:
        return f"{name}: {code} | {type(error).__name__}: {str(error).splitlines()[:1]}"
    return None


PACKAGES = sorted(f"arrax.{info.name}" for info in pkgutil.iter_modules(arrax.__path__) if info.name not in LEFT_OUT)


# Of functions that are compiled as programs of their own, each tested by its values elsewhere.
OF_PROGRAMS = ("arrax.lax", "arrax.random", "arrax.scipy")


@pytest.mark.parametrize("package", PACKAGES)
def test_examples_run_and_give_what_they_say(package, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    failures = [failure for one in documented(package) if (failure := run_example(*one, package in OF_PROGRAMS))]
    assert not failures, "\n".join([f"{len(failures)} examples fail", *failures])


@pytest.mark.parametrize("module", sorted(value_examples.EXAMPLES))
def test_examples_of_values_without_docstrings_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = value_examples.EXAMPLES[module]
    assert {*texts} <= {*dir(importlib.import_module(module))}
    failures = [failure for name, text in texts.items() if (failure := run_example(name, text, {}))]
    assert not failures, "\n".join([f"{len(failures)} examples fail", *failures])


def test_nearly_all_public_names_have_an_example_that_runs():
    run = {text for package in PACKAGES for _, text, _ in documented(package)}
    places = reference.documented_at()
    names, without = 0, set()
    for module in reference.MODULES:
        for name in reference.public_names(sys.modules[module]):
            value = getattr(sys.modules[module], name)
            home, _, said = places.get(id(value), f"{module}.{name}").rpartition(".")
            in_table = said in value_examples.EXAMPLES.get(home, {})
            of_program = isinstance(value, Primitive) and value_examples.program(said.removesuffix("_p")) is not None
            names += 1
            if not (reference.docstring(value) in run or in_table or of_program):
                without.add(f"{module}.{name}")
    unexplained = {name for name in without if name.rpartition(".")[2] not in value_examples.WITHOUT}
    assert len(without) <= 0.02 * names, f"no example: {sorted(unexplained)}"
    assert {name.rpartition(".")[2] for name in without} >= {*value_examples.WITHOUT}, "some have one by now"


def unnamed_arguments(function):
    """The arguments that a docstring's list leaves out; None where it has no list, or refers to another function's."""
    text = function.__doc__ or ""
    if "Args:" not in text or " as of " in text:
        return None
    variadic = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    names = [name for name, one in inspect.signature(function).parameters.items() if one.kind not in variadic]
    return [name for name in names if not name.startswith("_") and not re.search(rf"\b{name}\b", text)]


def test_lists_of_arguments_name_all_of_them():
    missing = set()
    for module in map(importlib.import_module, reference.MODULES):
        for name in reference.public_names(module):
            value = getattr(module, name)
            if inspect.isfunction(value) and f"{value.__module__}.".startswith("arrax."):
                missing.update(f"{module.__name__}.{name}: {one}" for one in unnamed_arguments(value) or ())
    assert not missing, "\n".join(sorted(missing))


def operations(program):
    """The names of the operations of a program, and of those in it."""
    for equation in program.eqns:
        yield equation.primitive.name
        for inner in arrax.core.jaxprs_in_params(equation.params):
            yield from operations(inner)


def test_the_program_that_is_shown_for_a_primitive_has_it():
    found = {getattr(primitives, name): name for name in sorted(dir(primitives)) if name.endswith("_p")}
    missing = []
    for primitive, name in found.items():
        code = value_examples.program(name.removesuffix("_p"))
        names = dict(NAMES)
        exec(value_examples.VALUES, names)
        if code is not None and primitive.name not in operations(run(code, names).jaxpr):
            missing.append(f"{name}: {code}")
    assert not missing
    without = {name for name in found.values() if value_examples.program(name.removesuffix("_p")) is None}
    assert without <= {*value_examples.WITHOUT}
