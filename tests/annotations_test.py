"""Annotations say something: how many parameters and results are ``Any``, of public functions and of all."""

import ast
import importlib
import inspect
import pathlib
import typing

import arrax

PACKAGES = [
    "", ".ad_checkpoint", ".custom_derivatives", ".debug", ".distributed", ".dlpack", ".dtypes", ".example_libraries.optimizers",
    ".example_libraries.stax", ".experimental", ".experimental.array_api", ".experimental.checkify", ".experimental.shard_map",
    ".flatten_util", ".image", ".lax", ".lax.linalg", ".monitoring", ".nn", ".nn.initializers", ".numpy", ".numpy.fft",
    ".numpy.linalg", ".ops", ".profiler", ".random", ".scipy.cluster.vq", ".scipy.fft", ".scipy.integrate", ".scipy.interpolate",
    ".scipy.linalg", ".scipy.ndimage", ".scipy.optimize", ".scipy.signal", ".scipy.sparse.linalg", ".scipy.special", ".scipy.stats",
    ".scipy.stats.norm", ".sharding", ".stages", ".test_util", ".tree", ".tree_util",
]  # fmt: skip
LIMIT = 0.10  # pytrees, and arguments that are handed on to users' functions, can be anything
LIMIT_OF_ALL = 0.15
SAYING_NOTHING = {"Any", "_Any", "typing.Any", "Any | None", "dict[Any, Any]"}


def public_functions():
    """The functions that users call, by their name."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(f"arrax{package}")
        for name in dir(module):
            function = inspect.unwrap(getattr(module, name)) if not name.startswith("_") else None
            if callable(function) and getattr(function, "__code__", None) is not None:
                found.setdefault(function, f"{module.__name__}.{name}")
    return {name: function for function, name in found.items() if function.__module__.startswith("arrax")}


def untyped(function):
    """The parameters (and "return") that are annotated with Any, or not at all; and the number of all."""
    signature = inspect.signature(function)
    given = {name: p.annotation for name, p in signature.parameters.items()} | {"return": signature.return_annotation}
    nothing = ("Any", typing.Any, inspect.Signature.empty)
    return [name for name, annotation in given.items() if annotation in nothing], len(given)


def test_few_parameters_and_results_of_public_functions_are_any():
    functions = public_functions()
    assert len(functions) > 900 and "arrax.numpy.sin" in functions
    counts = {name: untyped(function) for name, function in functions.items()}
    vague, slots = sum(len(names) for names, _ in counts.values()), sum(count for _, count in counts.values())
    worst = sorted(counts, key=lambda name: -len(counts[name][0]))[:20]
    assert vague <= LIMIT * slots, f"{vague} of {slots}; {[(name, counts[name][0]) for name in worst]}"


def declared(node, in_class=False):
    """[(name, annotation)] of the parameters and the result of every function below a node of a syntax tree."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [*child.args.posonlyargs, *child.args.args]
            bound = in_class and not any(
                isinstance(d, ast.Name) and d.id == "staticmethod" for d in child.decorator_list
            )
            others = [child.args.vararg, *child.args.kwonlyargs, child.args.kwarg]
            yield from ((p.arg, p.annotation) for p in [*given[bound:], *others] if p)
            yield "return", child.returns
        yield from declared(child, isinstance(child, ast.ClassDef))


def says_nothing(annotation):
    """Whether an annotation is missing or stands for any value."""
    return annotation is None or ast.unparse(annotation).strip("'\"") in SAYING_NOTHING


def test_few_parameters_and_results_of_all_functions_are_any():
    package = pathlib.Path(arrax.__path__[0])
    slots = {path: [a for _, a in declared(ast.parse(path.read_text()))] for path in package.rglob("*.py")}
    vague = {str(path.relative_to(package)): sum(map(says_nothing, found)) for path, found in slots.items()}
    total, count = sum(vague.values()), sum(map(len, slots.values()))
    assert count > 20000
    worst = sorted(vague, key=lambda path: -vague[path])[:20]
    assert total <= LIMIT_OF_ALL * count, f"{total} of {count}; {[(path, vague[path]) for path in worst]}"


def test_the_reader_of_declarations_sees_every_parameter():
    tree = ast.parse("class A:\n  def f(self, x: int, *y, z: Any = 1, **w: 'Any') -> None:\n    def g(a): pass")
    assert [(name, says_nothing(a)) for name, a in declared(tree)] == [
        ("x", False), ("y", True), ("z", True), ("w", True), ("return", False), ("a", True), ("return", True),
    ]  # fmt: skip


def test_annotations_of_array_functions_can_be_resolved():
    for function in (arrax.numpy.sin, arrax.numpy.sum, arrax.lax.add, arrax.nn.relu, arrax.random.normal):
        assert typing.get_type_hints(inspect.unwrap(function))["return"] is arrax.Array
