"""What messages say of a function that is traced: its name and place, and what its arguments and results are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from arrax.core.functions import argument_names, function_name, function_place
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.core.pytrees import PyTreeDef, tree_unflatten


class FunctionInfo(NamedTuple):
    """Names for messages: which function, traced for what, and what its flat arguments are called."""

    transformation: str
    name: str
    place: str
    argument_names: tuple[str, ...] | None = None
    results: PyTreeDef | None = None  # the structure of what it returns; of programs derived from its own, nothing

    def describe(self) -> str:
        """``f at file.py:3``."""
        return f"{self.name} at {self.place}" if self.place else self.name

    # The same, by the names under which libraries look for it: see ``DebugInfo``.

    @property
    def traced_for(self) -> str:
        """The transformation."""
        return self.transformation

    @property
    def func_src_info(self) -> str:
        """The function's name and place."""
        return self.describe()

    @property
    def arg_names(self) -> tuple[str, ...] | None:
        """The names of the arguments."""
        return self.argument_names

    @property
    def result_paths(self) -> tuple[str, ...] | None:
        """Where each result is in what the function returns: ``result['loss']``."""
        if self.results is None:
            return None
        paths = tree_flatten_with_path(tree_unflatten(self.results, range(self.results.num_leaves)))[0]
        return tuple(f"result{keystr(path)}" for path, _ in paths)

    def of_derived(self) -> FunctionInfo:
        """The description for a program derived from the function's own, which has other results."""
        return self if self.results is None else self._replace(results=None)

    def argument(self, index: int) -> str:
        """The name of a flat argument."""
        if self.argument_names is None or index >= len(self.argument_names):
            return f"number {index}"
        return self.argument_names[index]


def describe_function(fun: Callable[..., Any], transformation: str, names: Sequence[str] | None = None) -> FunctionInfo:
    """The FunctionInfo of a user's function."""
    return FunctionInfo(
        transformation, function_name(fun), function_place(fun), None if names is None else tuple(names)
    )


def flat_names(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """A name for each leaf of the arguments, in the order of the leaves of ``(args, kwargs)``: ``x``, ``params['w']``."""
    pairs = [*zip(argument_names(fun, args, {}), args, strict=True), *sorted(kwargs.items())]
    return [f"{name}{keystr(path)}" for name, value in pairs for path, _ in tree_flatten_with_path(value)[0]]


def naming_argument(error: TypeError, names: Sequence[str], index: int) -> TypeError:
    """The error with the name of the argument that it is about, which is the leaf of that number."""
    return TypeError(f"{str(error).rstrip('.')}. The argument at fault is {names[index]}.")


def describe_call(
    fun: Callable[..., Any], transformation: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> FunctionInfo:
    """The FunctionInfo of a user's function that is traced for some arguments, with None where they are static."""
    try:
        names = flat_names(fun, args, kwargs or {})
    except Exception:  # names serve messages only
        names = None
    return describe_function(fun, transformation, names)
