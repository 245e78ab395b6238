"""What users say of a function's arguments: which are static, which are donated, by number or by name."""

from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from arrax.core.functions import function_name, signature_of
from arrax.dtypes.wording import message_of, shown
from arrax.native import runtime

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def as_numbers(name: str, value: int | Sequence[int] | None) -> tuple[int, ...]:
    """A tuple of ints from one or several.

    Raises:
      TypeError: something else.
    """
    if value is None:
        return ()
    try:
        return (operator.index(value),)  # type: ignore[arg-type]
    except TypeError:
        pass
    try:
        return tuple(operator.index(number) for number in value)  # type: ignore[union-attr]
    except TypeError:
        raise TypeError(f"{name} must be an int or a sequence of ints, got {value!r}") from None


def as_names(name: str, value: str | Iterable[str] | None) -> tuple[str, ...]:
    """A tuple of strings from one or several.

    Raises:
      TypeError: something else.
    """
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(each, str) for each in names):
        raise TypeError(f"{name} must be a str or a sequence of strs, got {value!r}")
    return names


def resolve(
    fun: Callable[..., Any], what: str, argnums: Any, argnames: Any, *, infer: bool = True
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Numbers and names of some arguments, each completed from the other through the signature.

    Args:
      what: ``static`` or ``donate``, for messages.
    Raises:
      ValueError: numbers or names that the function does not have.
    """
    numbers, names = as_numbers(f"{what}_argnums", argnums), as_names(f"{what}_argnames", argnames)
    signature = signature_of(fun)
    if signature is None:
        if what == "donate" and names:
            raise ValueError(f"donate_argnames {list(names)}: {function_name(fun)} has no signature that has names")
        return numbers, names
    _check(fun, signature, what, numbers, names)
    return infer_argnums_and_argnames(signature, argnums, argnames) if infer else (numbers, names)


def infer_argnums_and_argnames(
    signature: inspect.Signature, argnums: int | Sequence[int] | None, argnames: str | Iterable[str] | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Numbers and names of the same arguments: where only one of the two is given, the other follows from the signature."""
    numbers, names = as_numbers("argnums", argnums), as_names("argnames", argnames)
    parameters = [p for p in signature.parameters.values() if p.kind in _POSITIONAL]
    if argnums is not None and argnames is None:
        names = tuple(
            parameters[n].name
            for n in numbers
            if -len(parameters) <= n < len(parameters) and parameters[n].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
    elif argnames is not None and argnums is None:
        order = [p.name for p in parameters]
        numbers = tuple(order.index(name) for name in names if name in order)
    return numbers, names


def _check(
    fun: Callable[..., Any], signature: inspect.Signature, what: str, numbers: Sequence[int], names: Sequence[str]
) -> None:
    parameters = signature.parameters.values()
    has_rest = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    has_keywords = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    count = sum(p.kind in _POSITIONAL for p in parameters)
    if not has_rest:
        for number in numbers:
            if not -count <= number < count:
                raise ValueError(
                    f"jitted function {function_name(fun)} has {what}_argnums={tuple(numbers)}, but only accepts {count} "
                    "positional arguments."
                )
    fixed = {p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)}
    for name in names:
        if name in fixed:
            raise ValueError(
                f"jitted function {function_name(fun)} has invalid argnames {{{name!r}}} in {what}_argnames: that argument "
                "is given by its position only"
            )
    if not has_keywords:
        known = {p.name for p in parameters if p.kind is not inspect.Parameter.POSITIONAL_ONLY}
        for name in names:
            if name not in known:
                raise ValueError(
                    f"jitted function {function_name(fun)} has invalid argnames {{{name!r}}} in {what}_argnames. "
                    f"Function does not take these args. Valid names are {sorted(known)}."
                )


def refuse_abstracted_axes(name: str, abstracted_axes: Any) -> None:
    """Raise NotImplementedError for axes whose lengths are to be known only when a program runs."""
    if abstracted_axes is not None:
        raise NotImplementedError(
            f"{name}: abstracted_axes={abstracted_axes!r}: programs of shapes that are known only when they run are not "
            "supported; each shape of the arguments gets a program of its own"
        )


def jitted_of(fun: Any) -> Any:
    """The ``Jitted`` of what ``jit`` gives, else None: functions around such ones have their attributes, too."""
    return getattr(fun, "_jitted", None) if isinstance(fun, runtime.PjitFunction) else None


def unbound(fun: Any) -> tuple[Any, tuple[Any, ...]]:
    """A jitted function that is bound to an object, as a method is, and the object; any other function and nothing."""
    if isinstance(fun, types.MethodType) and jitted_of(fun.__func__) is not None:
        return fun.__func__, (fun.__self__,)
    return fun, ()


def normalize(numbers: Sequence[int], count: int) -> tuple[int, ...]:
    """Non-negative numbers among ``count`` positional arguments."""
    return tuple(sorted({n + count if n < 0 else n for n in numbers if -count <= n < count}))


class UnhashableArgument(ValueError):
    """A static argument cannot be hashed. Users see it as the ValueError that it is."""

    __module__ = "builtins"


UnhashableArgument.__name__ = UnhashableArgument.__qualname__ = "ValueError"


class StaticArgument:
    """A static argument in a key: compared by type, ``==`` and hash.

    Raises:
      ValueError: the value cannot be hashed, or be compared: the C++ path, which compares it with those of later calls, ends
        the process at some exceptions.
    """

    __slots__ = ("value", "hash")

    def __init__(self, value: Any, place: str, fun: Callable[..., Any]) -> None:
        self.value = value
        try:
            self.hash = hash(value)
        except TypeError as error:
            raise UnhashableArgument(
                f"Non-hashable static arguments are refused: {place} of {function_name(fun)} has the value "
                f"{shown(value)} of type {type(value)}. Static arguments need __hash__ and __eq__: pass a tuple instead of a "
                "list, or wrap the value in a class that defines both."
            ) from error
        try:
            value == value  # noqa: B015
        except Exception as error:
            raise UnhashableArgument(
                f"Static arguments must be comparable with ==: {place} of {function_name(fun)}, of type {type(value)}, raises "
                f"{type(error).__name__}: {message_of(error)}"
            ) from error

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticArgument) and type(self.value) is type(other.value) and self.value == other.value


class AnyStaticArgument(StaticArgument):
    """A static argument that is compared by identity where it cannot be hashed."""

    __slots__ = ("hashable",)

    def __init__(self, value: Any, place: str, fun: Callable[..., Any]) -> None:
        try:
            super().__init__(value, place, fun)
            self.hashable = True
        except ValueError:
            self.hash, self.hashable = id(value), False

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if not self.hashable:
            return isinstance(other, AnyStaticArgument) and self.value is other.value
        return super().__eq__(other)


class Split:
    """A call's arguments, static ones apart.

    Args:
      kind: class of static arguments.
    """

    __slots__ = ("dynamic", "dynamic_kwargs", "static", "static_kwargs", "count", "key")

    def __init__(
        self, fun: Callable[..., Any], numbers: Sequence[int], names: Sequence[str], args: tuple[Any, ...], kwargs: dict[Any, Any],
        kind: type[StaticArgument] = StaticArgument,
    ) -> None:  # fmt: skip
        self.count = len(args)
        fixed = normalize(numbers, self.count)
        if fixed:
            self.static = {n: kind(args[n], f"argument {n}", fun) for n in fixed}
            self.dynamic = tuple(arg for n, arg in enumerate(args) if n not in self.static)
        else:
            self.static, self.dynamic = {}, args
        self.static_kwargs = {
            name: kind(kwargs[name], f"keyword argument {name!r}", fun) for name in names if name in kwargs
        }
        self.dynamic_kwargs = (
            {k: v for k, v in kwargs.items() if k not in self.static_kwargs} if self.static_kwargs else kwargs
        )
        self.key = (tuple(self.static.items()), tuple(sorted(self.static_kwargs.items(), key=lambda item: item[0])))

    def with_holes(self) -> list[Any]:
        """The positional arguments, with None, which has no leaves, for the static ones."""
        rest = iter(self.dynamic)
        return [None if n in self.static else next(rest) for n in range(self.count)]

    def merged(self, dynamic: Sequence[Any], dynamic_kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """All arguments for a call with other values of the dynamic ones."""
        if self.static:
            rest = iter(dynamic)
            args = [self.static[n].value if n in self.static else next(rest) for n in range(self.count)]
        else:
            args = list(dynamic)
        fixed = {name: static.value for name, static in self.static_kwargs.items()}
        return args, {**fixed, **dynamic_kwargs}
