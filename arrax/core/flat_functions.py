"""Functions of trees as functions of their leaves, for libraries that trace them themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from arrax.core.functions import function_name
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import typeof
from arrax.core.wrapped_functions import Store, WrappedFun, transformation, transformation_with_aux


@dataclass(frozen=True)
class DebugInfo:
    """What messages say of a traced function.

    Args:
      traced_for: the transformation.
      func_src_info: the function's name and where it is written.
      arg_names: the names of its parameters.
    """

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] = ()


def debug_info(
    traced_for: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, sourceinfo: str | None = None,
    signature: inspect.Signature | None = None, result_paths_thunk: Any = None,
    static_argnums: Sequence[int] = (), static_argnames: Sequence[str] = (),
) -> DebugInfo:  # fmt: skip
    """What messages should say of a function that is traced.

    Args:
      traced_for: the transformation, such as ``"jit"``.
      args, kwargs: what it is called with.
      sourceinfo: its name and place, where they are known.
    Returns: what ``debug_info=`` of ``wrap_init`` takes.
    Example: ``arrax.api_util.debug_info('jit', lambda first, second: first, (1, 2), {}).arg_names`` is
    ``('first', 'second')``.
    """
    code = getattr(inspect.unwrap(fun), "__code__", None)
    index = f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    names = tuple(code.co_varnames[: code.co_argcount]) if code is not None else ()
    return DebugInfo(traced_for, sourceinfo or f"{function_name(fun)}{index}", (*names[: len(args)], *kwargs))


@transformation_with_aux
def _flatten_fun(in_tree: Any, *leaves: Any) -> Generator[Any, Any, None]:
    args, kwargs = tree_unflatten(in_tree, leaves)
    answer = yield args, kwargs
    yield tree_flatten(answer)


@transformation_with_aux
def _flatten_fun_nokwargs(in_tree: Any, *leaves: Any) -> Generator[Any, Any, None]:
    answer = yield tree_unflatten(in_tree, leaves), {}
    yield tree_flatten(answer)


def flatten_fun(f: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Store]:
    """A function of ``(args, kwargs)`` as one of their leaves, and a store of the tree of its results.

    Args:
      in_tree: the structure of ``(args, kwargs)``.
    Returns: ``(function, store)``; the store is called for the tree, once the function has run.
    Example: ``from arrax.extend import linear_util; leaves, tree = tree_flatten(((1, 2), {}));
    flat, out_tree = arrax.api_util.flatten_fun(linear_util.wrap_init(lambda a, b: {'sum': a + b}), tree);
    flat.call_wrapped(*leaves)``
    is ``[3]``.
    """
    return _flatten_fun(f, in_tree)


def flatten_fun_nokwargs(f: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Store]:
    """A function of positional arguments as one of their leaves, and a store of the tree of its results.

    Args:
      in_tree: the structure of the tuple of arguments.
    Returns: ``(function, store)``; the store is called for the tree, once the function has run.
    Example: ``from arrax.extend import linear_util; leaves, tree = tree_flatten((1, 2));
    flat, out_tree = arrax.api_util.flatten_fun_nokwargs(linear_util.wrap_init(lambda a, b: {'sum': a + b}), tree);
    flat.call_wrapped(*leaves)``
    is ``[3]``.
    """
    return _flatten_fun_nokwargs(f, in_tree)


@transformation
def _with_other_arguments(
    dyn_argnums: tuple[int, ...], args: tuple[Any, ...], *given: Any
) -> Generator[Any, Any, None]:
    whole = list(args)
    for number, value in zip(dyn_argnums, given, strict=True):
        whole[number] = value
    answer = yield tuple(whole), {}
    yield answer


def argnums_partial(
    f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any], require_static_args_hashable: bool = True
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """The function of some of its arguments, the others given; and those arguments.

    Args:
      dyn_argnums: the positions of the arguments that stay.
      require_static_args_hashable: whether to refuse others that cannot be hashed.
    Raises:
      ValueError: an argument that is given cannot be hashed.
    Returns: ``(function, arguments)``.
    Example: ``from arrax.extend import linear_util;
    part, args = arrax.api_util.argnums_partial(linear_util.wrap_init(lambda a, b: a - b), 0, (5, 3));
    part.call_wrapped(*args)``
    is 2.
    """
    numbers = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    numbers = tuple(number % len(args) for number in numbers)
    fixed = tuple(None if number in numbers else arg for number, arg in enumerate(args))
    for number, arg in enumerate(fixed):
        if require_static_args_hashable and not isinstance(arg, type(None)) and type(arg).__hash__ is None:
            raise ValueError(
                f"argnums_partial: argument {number} of type {type(arg)} is to be static, but cannot be hashed"
            )
    return _with_other_arguments(f, numbers, fixed), tuple(args[number] for number in numbers)


def shaped_abstractify(x: Any) -> Any:
    """The type of a value: its shape, dtype and weak type.

    Args:
      x: array, number, or anything with a shape and a dtype.
    Example: ``arrax.api_util.shaped_abstractify(x).shape`` is ``(4,)``.
    """
    return typeof(x)
