"""Functions with rules of their own: what ``custom_jvp``, ``custom_vjp``, ``custom_vmap`` and ``custom_transpose`` share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self

from arrax.core.calls import check_callable
from arrax.core.functions import function_name, signature_of
from arrax.core.interpreter import Tracer
from arrax.core.types import typeof
from arrax.dtypes.wording import shown
from arrax.transforms.arguments import as_numbers
from arrax.transforms.wrapped import P, R


class FunctionWithRule:
    """A user's function that has a rule for a transformation. It is bound to objects, and copied, as functions are."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)  # type: ignore[arg-type]  # subclasses can be called
        self.fun = fun

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)  # type: ignore[arg-type,operator,misc]


class FunctionWithDerivative(FunctionWithRule, Generic[P, R]):
    """A user's function that has a derivative rule.

    Attributes:
      nondiff_argnums: positions of the arguments that are not differentiated, in ascending order.
      symbolic_zeros: whether the rule takes symbolic zeros.
    """

    def __init__(self, fun: Callable[P, R], nondiff_argnums: Sequence[int], nondiff_argnames: Sequence[str]) -> None:
        check_callable(fun)
        super().__init__(fun)
        self.symbolic_zeros = False
        names = _positions_of(fun, nondiff_argnames)
        self.nondiff_argnums = tuple(sorted({*as_numbers("nondiff_argnums", nondiff_argnums), *names}))


def _positions_of(fun: Callable[..., Any], names: str | Sequence[str]) -> list[int]:
    if not names:
        return []
    listed = (names,) if isinstance(names, str) else tuple(names)
    parameters = list(inspect.signature(fun).parameters)
    unknown = [name for name in listed if name not in parameters]
    if unknown:
        raise ValueError(
            f"nondiff_argnames: {function_name(fun)} has no parameters of the names {unknown}, only {parameters}"
        )
    return [parameters.index(name) for name in listed]


def resolve_arguments(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments as positional ones, defaults filled in.

    Raises:
      TypeError: arguments that the signature doesn't take.
    """
    signature = signature_of(fun)
    if signature is None:
        if kwargs:
            raise TypeError(f"cannot resolve keyword arguments of {function_name(fun)}: it has no signature")
        return args
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(
            f"the arguments of {function_name(fun)}, a function with a derivative rule of its own, do not fit its "
            f"signature {signature}: {error}"
        ) from None
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    if given := [name for name in bound.arguments if signature.parameters[name].kind in kinds]:
        raise TypeError(
            f"{function_name(fun)}: a function with a derivative rule of its own takes no keyword-only arguments, but got "
            + ", ".join(given)
        )
    bound.apply_defaults()
    return bound.args


def split_nondiff(
    fun: Callable[..., Any], numbers: Sequence[int], args: tuple[Any, ...]
) -> tuple[list[Any], list[Any], list[int]]:
    """(differentiable arguments, the others in order, positions of the differentiable ones).

    Raises:
      IndexError: a call without an argument at one of the positions.
    """
    beyond = [n for n in numbers if not -len(args) <= n < len(args)]
    if beyond:
        raise IndexError(
            f"{function_name(fun)}: nondiff_argnums has {beyond[0]}, but the function was called with {len(args)} arguments"
        )
    fixed = {n % len(args) for n in numbers}
    dynamic = [n for n in range(len(args)) if n not in fixed]
    return [args[n] for n in dynamic], [args[n] for n in sorted(fixed)], dynamic


def merge_arguments(dynamic: Sequence[Any], fixed: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """Arguments in their order again."""
    rest, chosen = iter(fixed), dict(zip(positions, dynamic, strict=True))
    return [chosen[n] if n in chosen else next(rest) for n in range(len(dynamic) + len(fixed))]


def check_leaves(fun: Callable[..., Any], leaves: Sequence[Any]) -> None:
    """Raise TypeError where a leaf of the differentiated arguments is neither an array nor a number."""
    for leaf in leaves:
        if not isinstance(leaf, Tracer):
            try:
                typeof(leaf)
            except TypeError:
                raise TypeError(
                    f"{function_name(fun)}: argument {shown(leaf)} of type {type(leaf)} is not a valid array type; "
                    "name its position in nondiff_argnums"
                ) from None


def check_outputs(rule: str, outs: Sequence[Any], avals: Sequence[Any]) -> None:
    """Raise TypeError where a rule's value is of another type than the function's."""
    for number, (found, aval) in enumerate(zip(map(typeof, outs), avals, strict=True)):
        if (found.shape, found.dtype) != (aval.shape, aval.dtype):
            raise TypeError(
                f"{rule} must give the function's own value, of type {aval.str_short(True)} at output {number}, but gives "
                f"{found.str_short(True)}"
            )
