"""How the name ``jax`` is served: a finder that gives arrax's modules under other names."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import logging
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

import arrax
from arrax import _src
from arrax.as_jax import version
from arrax.as_jax.children import serve_in_children
from arrax.as_jax.private import attribute_of_private_package, private_module
from arrax.core import config
from arrax.core.interpreter import Tracer
from arrax.xla.overlaid_arrays import OverlaidArray

# Modules of the served name that stand elsewhere in arrax.
ELSEWHERE = {"jax.version": "arrax.as_jax.version"}
_COPIED = {"jax.scipy.linalg", "jax.scipy.special"}  # and jax.lax, jax.numpy: namespaces that libraries copy (scico)


class _Namespace(ModuleType):
    """A module with the served name, by which libraries recognize it. Its dictionary has the names that load late, too."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # from which libraries copy namespaces
        names = _own_names(self)
        for name in names["__dir__"]():
            getattr(self, name)
        return names

    def __dir__(self) -> list[str]:
        return _own_names(self)["__dir__"]()

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (_own_names(self)["__spec__"].name,)  # arrax's own: it loads everywhere


def _own_names(module: ModuleType) -> dict[str, Any]:
    names: dict[str, Any] = vars(ModuleType)["__dict__"].__get__(module)
    return names


def _serve_namespace(module: ModuleType) -> None:
    module.__class__ = _Namespace
    module.__name__ = "jax" + module.__name__.removeprefix("arrax")


# Modules that arrax leaves out, and what to use.
INSTEAD = {
    "jax.experimental.jax2tf": "it needs TensorFlow, which arrax does not use; jax.export writes programs as StableHLO, which "
    "TensorFlow calls with XlaCallModule",
}


class _Loader(importlib.abc.Loader):
    """Gives a module that is there already."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has put its own there: the module keeps its name


class Finder(importlib.abc.MetaPathFinder):
    """Finds ``jax`` and what is in it, and says which version it is."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.startswith("arrax."):  # what ``from jax._src import …`` looks for
            module = private_module("jax" + fullname[len("arrax") :])
            if module is None:
                return None
            return importlib.machinery.ModuleSpec(fullname, _Loader(module), is_package=True)
        if fullname != "jax" and not fullname.startswith("jax."):
            return None
        module = module_for(fullname)
        if fullname in _COPIED and type(module) is ModuleType:
            _serve_namespace(module)
        if module is None:
            reason = INSTEAD.get(fullname, "arrax has none of this name yet")
            raise ModuleNotFoundError(f"No module named {fullname!r}: {reason}", name=fullname)
        return importlib.machinery.ModuleSpec(fullname, _Loader(module), is_package=hasattr(module, "__path__"))

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[importlib.metadata.Distribution]:
        """The metadata of the served name, for libraries that ask for its version."""
        return [_Served()] if context is not None and context.name == "jax" else []


class _Served(importlib.metadata.Distribution):
    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: jax\nVersion: {version.__version__}\n"
        return None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{path}: jax is served by arrax, which has no files of its")


def module_for(name: str) -> ModuleType | None:
    """arrax's module for a module of the served name, or None."""
    ours = ELSEWHERE.get(name, "arrax" + name[len("jax") :])
    try:
        if importlib.util.find_spec(ours) is not None:
            return importlib.import_module(ours)
    except ModuleNotFoundError:
        pass  # a parent is missing, or is no package
    return private_module(name)


class _ServedRecords(logging.Filter):
    """Hands the log records of arrax on to the loggers of the served name, where programs look for them."""

    def filter(self, record: logging.LogRecord) -> bool:
        failed = isinstance(record.msg, str) and record.msg.startswith("arrax.") and record.msg.endswith(" failed")
        if failed:
            record.msg = "jax" + record.msg[len("arrax") :]
        logger = logging.getLogger("jax._src.callback" if failed else "jax")
        record.name = logger.name
        if logger.isEnabledFor(record.levelno):
            logger.handle(record)
        return False


def _serve_logger() -> None:
    ours, served = logging.getLogger("arrax"), logging.getLogger("jax")
    ours.addFilter(_ServedRecords())
    ours.parent = served  # which sets the level


def _served_name(cls: type) -> None:
    """Let a class of values say that it is of the served package: libraries choose their functions by that name."""
    cls.__module__ = "jax" + cls.__module__.removeprefix("arrax")


def _serve_values() -> None:
    """Tracers, and arrays of extended dtypes such as keys; other arrays say that they are jaxlib's."""

    def also_later(cls: type) -> None:
        if cls.__module__.startswith("arrax."):
            _served_name(cls)

    classes: list[type] = [Tracer, OverlaidArray]
    for base in classes[:]:
        base.__init_subclass__ = classmethod(also_later)  # type: ignore[assignment]
    for cls in classes:
        _served_name(cls)
        classes += cls.__subclasses__()


def serve() -> None:
    """Let ``jax`` mean arrax from now on, in this process.

    Raises:
      ImportError: another ``jax`` has been imported already.
    """
    there = sys.modules.get("jax")
    if there is arrax:
        return
    if there is not None:
        raise ImportError(
            f"arrax cannot serve the name jax, since {getattr(there, '__file__', None) or 'another jax'} is imported already: import "
            "arrax.as_jax before anything that imports jax."
        )
    sys.meta_path.insert(0, Finder())
    sys.modules["jax"] = arrax
    here = ("core", "dtypes", "errors", "lax", "numpy", "tree", "tree_util")
    sys.modules.update({f"jax.{name}": getattr(arrax, name) for name in here})  # some look there for what is imported
    arrax.__version__, arrax.__version_info__ = version.__version__, version.__version_info__  # type: ignore[attr-defined]
    arrax.version = version  # type: ignore[attr-defined]
    _serve_logger()
    _serve_values()
    serve_in_children()
    for copied in (arrax.lax, arrax.numpy):
        _serve_namespace(copied)
    _src.__getattr__ = attribute_of_private_package  # type: ignore[method-assign]
    for option, value in (  # the defaults of the version that is served, which warns of no recompilations
        (config.threefry_partitionable, True),
        (config.recompilation_warnings, "off"),
    ):
        if not config.config.is_set(option.name):
            option.set_global(value)
