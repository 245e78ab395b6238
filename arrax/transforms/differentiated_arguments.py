"""Which arguments of a function a derivative is taken by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from arrax.core.functions import argument_names
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.transforms.arguments import as_numbers
from arrax.transforms.differentiated_functions import check_function

Argnums = int | Sequence[int]  # positions of the arguments to differentiate


class DifferentiatedArguments:
    """The positions of the arguments to differentiate, read once, where a derivative is asked for.

    Args:
      name: of the transformation, for messages.
      fun: the function to differentiate.
      argnums: position or positions, negative ones from the end.
    Raises:
      TypeError: what is no function, or no positions.
    """

    __slots__ = ("argnums", "name", "numbers", "single")

    def __init__(self, name: str, fun: Callable[..., Any], argnums: Argnums) -> None:
        check_function(fun)
        if argnums is None:
            raise TypeError(f"{name}: argnums must be an int or a sequence of ints, got None")
        self.name, self.argnums = name, argnums
        self.numbers = as_numbers("argnums", argnums)
        self.single = not isinstance(argnums, Iterable) or getattr(argnums, "ndim", 1) == 0

    def of_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Chosen:
        """The arguments of one call.

        Raises:
          TypeError: the call has too few.
          ValueError: two positions name the same one.
        """
        for n in self.numbers:
            if not -len(args) <= n < len(args):
                raise TypeError(
                    f"cannot differentiate with respect to argnums={self.argnums}: the call has only {len(args)} positional "
                    f"arguments, it would need {max(n + 1 if n >= 0 else -n for n in self.numbers)}."
                )
        numbers = tuple(n % len(args) for n in self.numbers)
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"{self.name}: argnums={self.argnums} names an argument twice.")
        return Chosen(numbers, args, kwargs)

    def unpack(self, results: Sequence[Any]) -> Any:
        """One result for a single position, a tuple for several."""
        return results[0] if self.single else tuple(results)


class Chosen:
    """The arguments of a call to differentiate, apart from the others, which stay as they are."""

    __slots__ = ("args", "kwargs", "numbers", "values")

    def __init__(self, numbers: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.numbers, self.args, self.kwargs = numbers, args, kwargs
        self.values = tuple(args[n] for n in numbers)

    def call(self, fun: Callable[..., Any], *values: Any) -> Any:
        """Call with other values of the chosen arguments."""
        args = list(self.args)
        for n, value in zip(self.numbers, values, strict=True):
            args[n] = value
        return fun(*args, **self.kwargs)

    def leaf_names(self, fun: Callable[..., Any]) -> list[str]:
        """What the leaves of the chosen arguments are called, for messages: ``params['w']``."""
        names = argument_names(fun, self.args, {})
        paths = tree_flatten_with_path(self.values)[0]
        return [names[self.numbers[path[0].idx]] + keystr(path[1:]) for path, _ in paths]
