"""The reference, one page per public module, written from signatures and docstrings when the site is built.

``docs/conf.py`` calls ``write_pages``; the pages are not committed.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import numbers
import pathlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType, ModuleType, UnionType
from typing import Any, NamedTuple

import arrax
from arrax.core.interpreter import Primitive
from arrax.core.options import Option
from docs import related, value_examples

CHAPTERS = {
    "Transformations, devices, settings": (
        "arrax", "arrax.ad_checkpoint", "arrax.custom_batching", "arrax.custom_derivatives", "arrax.custom_transpose", "arrax.export", "arrax.ffi", "arrax.stages", "arrax.errors", "arrax.debug",
        "arrax.profiler", "arrax.monitoring", "arrax.collect_profile", "arrax.tools.jax_to_ir", "arrax.test_util",
    ),
    "Arrays": (
        "arrax.numpy", "arrax.numpy.linalg", "arrax.numpy.fft", "arrax.lax", "arrax.lax.linalg", "arrax.ref", "arrax.dtypes",
        "arrax.typing", "arrax.ops", "arrax.image", "arrax.dlpack",
    ),
    "Trees": ("arrax.tree", "arrax.tree_util", "arrax.flatten_util"),
    "Random numbers and neural networks": (
        "arrax.random", "arrax.nn", "arrax.nn.initializers", "arrax.example_libraries.stax", "arrax.example_libraries.optimizers",
        "arrax.example_libraries.schedules",
    ),
    "Science": (
        "arrax.scipy.cluster.vq", "arrax.scipy.fft", "arrax.scipy.integrate", "arrax.scipy.interpolate", "arrax.scipy.linalg",
        "arrax.scipy.ndimage", "arrax.scipy.optimize", "arrax.scipy.signal",
        "arrax.scipy.sparse.linalg", "arrax.scipy.spatial.transform", "arrax.scipy.special", "arrax.scipy.stats",
        "arrax.scipy.stats.bernoulli", "arrax.scipy.stats.beta", "arrax.scipy.stats.betabinom", "arrax.scipy.stats.binom",
        "arrax.scipy.stats.cauchy", "arrax.scipy.stats.chi2", "arrax.scipy.stats.dirichlet", "arrax.scipy.stats.expon",
        "arrax.scipy.stats.gamma", "arrax.scipy.stats.gennorm", "arrax.scipy.stats.geom", "arrax.scipy.stats.gumbel_l",
        "arrax.scipy.stats.gumbel_r", "arrax.scipy.stats.laplace", "arrax.scipy.stats.logistic", "arrax.scipy.stats.multinomial",
        "arrax.scipy.stats.multivariate_normal", "arrax.scipy.stats.nbinom", "arrax.scipy.stats.norm", "arrax.scipy.stats.pareto",
        "arrax.scipy.stats.poisson", "arrax.scipy.stats.t", "arrax.scipy.stats.truncnorm", "arrax.scipy.stats.uniform",
        "arrax.scipy.stats.vonmises", "arrax.scipy.stats.wrapcauchy",
    ),
    "Many devices, many processes": ("arrax.sharding", "arrax.memory", "arrax.distributed"),
    "Experimental": (
        "arrax.experimental", "arrax.experimental.array_api", "arrax.experimental.array_api.fft",
        "arrax.experimental.array_api.linalg", "arrax.experimental.array_serialization.serialization", "arrax.experimental.buffer_callback",
        "arrax.experimental.checkify", "arrax.experimental.colocated_python",
        "arrax.experimental.compilation_cache.compilation_cache", "arrax.experimental.compute_on", "arrax.experimental.custom_partitioning",
        "arrax.experimental.export", "arrax.experimental.host_callback", "arrax.experimental.jet", "arrax.experimental.key_reuse", "arrax.experimental.layout",
        "arrax.experimental.maps", "arrax.experimental.mesh_utils", "arrax.experimental.multihost_utils",
        "arrax.experimental.ode", "arrax.experimental.pallas", "arrax.experimental.pallas.tpu", "arrax.experimental.pjit", "arrax.experimental.rnn", "arrax.experimental.serialize_executable", "arrax.experimental.shard_alike", "arrax.experimental.shard_map",
        "arrax.experimental.sparse", "arrax.experimental.sparse.linalg", "arrax.experimental.topologies", "arrax.experimental.x64_context",
        "arrax.experimental.xla_metadata",
    ),
    "For libraries": (
        "arrax.api_util", "arrax.core", "arrax.extend.backend", "arrax.extend.core", "arrax.extend.core.primitives", "arrax.extend.ffi",
        "arrax.extend.linear_util", "arrax.extend.mlir", "arrax.extend.random", "arrax.extend.sharding", "arrax.extend.source_info_util", "arrax.lib.xla_bridge", "arrax.util",
    ),
}  # fmt: skip
MODULES = tuple(name for names in CHAPTERS.values() for name in names)
IMPORTED_BY_NAME = ("arrax.experimental", "arrax.extend")  # packages all of whose modules are public
SECTIONS = {
    "Args": "Arguments", "Attributes": "Attributes", "Returns": "Returns", "Raises": "Raises", "Fix": "Fix", "Example": "Example",
    "Source": "Source",
}  # fmt: skip
LISTS = ("Args", "Attributes", "Raises")


class Doc(NamedTuple):
    """A docstring in parts: what stands before the sections, and each section's text."""

    head: str
    sections: dict[str, str]


class _Verbatim:
    """Text that stands as it is in a printed signature."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def public_names(module: ModuleType) -> list[str]:
    """The public names of a module that are no modules, those that load late too.

    A module says them itself (``__all__``, ``__dir__``); otherwise they are what it defines, and what it imports by
    ``import name as name``, as type checkers have it.
    """
    return [name for name in _names(module) if not isinstance(getattr(module, name), ModuleType)]


def public_modules(module: ModuleType = arrax) -> Iterator[str]:
    """The modules that are public names of a public module, theirs, and so on."""
    names = {*_names(module)}
    if module.__name__ in IMPORTED_BY_NAME:
        found = {room.name for room in pkgutil.iter_modules(module.__path__) if room.name[0] != "_"}
        for name in found - names:
            importlib.import_module(f"{module.__name__}.{name}")
        names |= found
    for name in sorted(names):
        value = getattr(module, name)
        if isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{name}":
            yield value.__name__
            yield from public_modules(value)


def _names(module: ModuleType) -> list[str]:
    if "__all__" in vars(module):
        names = list(module.__all__)
    else:
        names = dir(module) if "__dir__" in vars(module) else list(_declared(pathlib.Path(str(module.__file__))))
    return sorted(name for name in {*names} if not name.startswith("_"))


def _declared(path: pathlib.Path) -> Iterator[str]:
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ImportFrom(names=aliases):
                yield from (alias.name for alias in aliases if alias.asname == alias.name)
            case ast.Assign(targets=targets):
                yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def documented_at() -> dict[int, str]:
    """Where each value is documented, by its identity: elsewhere its page says so."""
    places: dict[int, str] = {}
    named: set[int] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in public_names(module):
            value = getattr(module, name)
            own_name = getattr(value, "__name__", None) == name
            if _is_shared(value) and (id(value) not in places or (own_name and id(value) not in named)):
                places[id(value)] = f"{module_name}.{name}"
                named |= {id(value)} if own_name else set()
    return places


def _is_shared(value: Any) -> bool:
    """Whether equal identity means that a name is another one's alias; of numbers it does not."""
    return not isinstance(value, (numbers.Number, str, frozenset, type(None)))


def parsed(text: str) -> Doc:
    """The parts of a docstring."""
    text = inspect.cleandoc(text)
    text = re.sub(rf"(?<=[.`)]) +(?=({'|'.join(SECTIONS)}): )", "\n", text)
    parts = re.split(rf"^({'|'.join(SECTIONS)}):", text, flags=re.M)
    return Doc(
        parts[0].strip(), {title: body.strip("\n") for title, body in zip(parts[1::2], parts[2::2], strict=True)}
    )


def docstring(value: Any) -> str:
    """A value's own docstring; instances that only have their class's have none."""
    if callable(value) or isinstance(value, (property, staticmethod, classmethod)):
        owner = value if inspect.isroutine(value) or isinstance(value, type) else None
        text = getattr(value, "__doc__", None)
        return text if isinstance(text, str) and (owner is not None or text != type(value).__doc__) else ""
    return getattr(value, "__dict__", {}).get("__doc__") or ""


def documentation(place: str, value: Any) -> str:
    """The docstring of a public name: its value's, or what a table of the documentation says of it."""
    own = docstring(value)
    if not own and isinstance(value, Primitive):
        own = value_examples.primitive_text(place.rpartition(".")[2], value)
    elif not own and not inspect.isroutine(value) and not isinstance(value, type):
        own = _kind(value)
    return value_examples.text(place, own)


def signature(value: Any, bound: bool = False) -> str:
    """A callable's parameters and result, without private ones; ``bound`` leaves the first out."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)" if callable(value) else ""
    kept = [one for one in found.parameters.values() if not one.name.startswith("_") or one.name.startswith("__")]
    shown = [one.replace(annotation=_annotation(one.annotation), default=_default(one.default)) for one in kept[bound:]]
    result = found.empty if isinstance(value, type) else _annotation(found.return_annotation)
    return str(inspect.Signature(shown, return_annotation=result))


def _annotation(annotation: Any) -> Any:
    return _Verbatim(annotation) if isinstance(annotation, str) else annotation


def _default(default: Any) -> Any:
    if default is inspect.Parameter.empty or not repr(default).startswith("<"):
        return default
    return _Verbatim(getattr(default, "__name__", "..."))


def prose(text: str, in_table: bool = False) -> str:
    """Markdown of a docstring's text: code stays, everything else means itself."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text, flags=re.S)
    parts[::2] = [re.sub(r"([\\`*_{}\[\]<>#|~^$])", r"\\\1", part) for part in parts[::2]]
    if in_table:
        parts[1::2] = [part.replace("|", "\\|") for part in parts[1::2]]
    return "".join(parts)


def summary(text: str) -> str:
    """The first sentence of a docstring, in one line."""
    return " ".join(parsed(text).head.split("\n\n")[0].split())


def _kind(value: Any) -> str:
    if isinstance(value, (numbers.Number, str, type(None))):
        return f"``{value!r}``"
    if isinstance(value, Option):
        return (
            f"Option: {value.doc}. A value sets it within a ``with`` statement; by default it is ``{value.default!r}``."
        )
    if isinstance(value, UnionType):
        return f"``{value}``"
    of = type(value)
    said = summary(docstring(of))
    about = f": {said}" if of.__module__.startswith("arrax") and said else "."
    return f"Of type ``{of.__name__}``{about}"


def entry(name: str, value: Any, text: str, same_as: str | None = None, see_also: str = "") -> str:
    """The Markdown of one public name, whose docstring is ``text``; ``see_also`` has links to others."""
    if same_as is not None:
        kind = "class" if isinstance(value, type) else "function" if callable(value) else "data"
        return _directive(kind, name, [f"The same as {{py:obj}}`{same_as}`."])
    body = [*_text(text), *([f":See also:\n  {see_also}"] if see_also else [])]
    if isinstance(value, type):
        return _directive("class", name + signature(value), [*body, *_members(value)], fence="::::")
    if not callable(value) or not (inspect.isroutine(value) or hasattr(value, "__wrapped__")):
        return _directive("data", name, body)
    return _directive("function", name + signature(value), body)


def links(places: Sequence[str], module_name: str) -> str:
    """Links to full names; those of the module at hand are shown without it."""
    shown = {place: place.removeprefix(f"{module_name}.").removeprefix("arrax.") for place in places}
    return ", ".join(f"{{py:obj}}`{text} <{place}>`" for place, text in shown.items())


def _directive(kind: str, head: str, body: list[str], fence: str = ":::") -> str:
    return "\n\n".join([f"{fence}{{py:{kind}}} {head}", *body, fence])


def _text(text: str) -> list[str]:
    doc = parsed(text)
    paragraphs = [
        f"```text\n{part}\n```" if all(line.startswith("    ") for line in part.split("\n")) else prose(part)
        for part in re.split(r"\n\s*\n", doc.head)
        if part.strip()
    ]
    return [
        *paragraphs,
        *("\n".join([f":{SECTIONS[title]}:", *_section(title, body)]) for title, body in doc.sections.items()),
    ]


def _section(title: str, body: str) -> Iterator[str]:
    entries = re.split(r"^ {2}(?=\S)", body, flags=re.M)[1:] if title in LISTS else []
    for each in entries:
        name, colon, text = each.partition(": ")
        said = prose(" ".join(text.split()))
        yield f"  - `{name}`: {said}" if colon and "`" not in name else f"  - {prose(' '.join(each.split()))}"
    if not entries:
        code = re.match(r"\s*``([^`]*\n[^`]*)``(.*)", body, re.S) if title == "Example" else None
        if code:
            yield "  ```python"
            yield from (f"  {line}" for line in inspect.cleandoc(" " + code.group(1)).split("\n"))
            yield "  ```"
            body = "\n" + code.group(2).lstrip(".") if code.group(2).strip(". \n") else ""
        if body.strip():
            said = prose(" ".join(body.split()))
            if title == "Source":
                said = re.sub(r"``((?:numpy|scipy)\.[\w.]+)``", r"{py:obj}`\1`", said)
            yield f"  {said}"


def _members(cls: type) -> Iterator[str]:
    for name, member in inspect.getmembers_static(cls):
        home = next((base for base in cls.__mro__ if name in vars(base)), cls)
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if name.startswith("_") or not _is_ours(home, function):
            continue
        if issubclass(cls, enum.Enum) and isinstance(member, cls):
            yield _directive("attribute", name, [f"``{member.value!r}``"])
        elif isinstance(member, property):
            yield _directive("property", name, _text(docstring(member)))
        elif isinstance(member, (staticmethod, classmethod)):
            kind = "staticmethod" if isinstance(member, staticmethod) else "classmethod"
            yield _directive(kind, name + signature(function, bound=kind == "classmethod"), _text(docstring(function)))
        elif inspect.isfunction(member):
            yield _directive("method", name + signature(member, bound=True), _text(docstring(member)))


def _is_ours(cls: type, function: Any) -> bool:
    return cls.__module__.startswith("arrax") or str(getattr(function, "__module__", "")).startswith("arrax")


def page(module_name: str, places: dict[int, str]) -> str:
    """The Markdown of a public module's page."""
    module = importlib.import_module(module_name)
    names = public_names(module)
    about = re.sub(r"Public names only\.|\s*\(public names[^)]*\)", "", parsed(module.__doc__ or "").head).strip()
    lines = [f"# {module_name}", f"```{{py:module}} {module_name}\n```", prose(about)]
    table = ["| name | what it is |", "|---|---|"]
    entries = []
    neighbours = [f"{module_name}.{name}" for name in names]
    for name, full in zip(names, neighbours, strict=True):
        value = getattr(module, name)
        place = places.get(id(value), full)
        text = documentation(place, value)
        table.append(f"| {{py:obj}}`{name} <{full}>` | {prose(summary(text), in_table=True)} |")
        see_also = links(related.see_also(full, neighbours), module_name)
        entries.append(entry(name, value, text, None if place == full else place, see_also))
    return "\n\n".join([*lines, "\n".join(table), *entries]) + "\n"


def contents() -> str:
    """The Markdown of the reference's first page."""
    chapters = [
        "\n".join([f"## {title}", "", "```{toctree}", ":maxdepth: 1", "", *names, "```"])
        for title, names in CHAPTERS.items()
    ]
    before = f"Before each example stands:\n\n```python\n{value_examples.IMPORTS}\n{value_examples.VALUES}```"
    text = "From the docstrings, one page per module; a function is at hand in its example, under its own name."
    return "\n\n".join(["# Every public name", text, before, *chapters]) + "\n"


def write_pages(folder: pathlib.Path, further: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write all pages into a folder, and further ones by name. Those that did not change are left alone: no need to build them."""
    folder.mkdir(exist_ok=True)
    places = documented_at()
    texts = {"index": contents(), **further} | {name: page(name, places) for name in MODULES}
    for path in folder.glob("*.md"):
        if path.stem not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
