"""Functions of trees as functions of their leaves, for libraries that trace them themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from arrax.core.functions import function_name
from arrax.core.pytree_prefixes import flatten_axes
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from arrax.core.types import AbstractValue, typeof
from arrax.core.wrapped_functions import Store, WrappedFun, transformation, transformation_with_aux


@dataclass(frozen=True)
class DebugInfo:
    """What messages say of a traced function.

    Args:
      traced_for: the transformation.
      func_src_info: the function's name and where it is written.
      arg_names: the names of its parameters.
      result_paths: where each result is in what it returns, or a function that says so.
    Example: ``arrax.extend.core.DebugInfo('jit', 'norm at model.py:3', ('v',)).arg_names`` is ``('v',)``.
    """

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None = ()
    result_paths: Any = None


def debug_info(
    traced_for: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, sourceinfo: str | None = None,
    signature: inspect.Signature | None = None, result_paths_thunk: Any = None,
    static_argnums: Sequence[int] = (), static_argnames: Sequence[str] = (),
) -> DebugInfo:  # fmt: skip
    """What messages should say of a function that is traced.

    Args:
      fun: the function.
      traced_for: the transformation, such as ``"jit"``.
      args, kwargs: what it is called with.
      sourceinfo: its name and place, where they are known.
      signature, static_argnums, static_argnames: accepted, without effect.
      result_paths_thunk: where each result is in what it returns, or a function that says so.
    Returns: what ``debug_info=`` of ``wrap_init`` takes.
    Example: ``arrax.api_util.debug_info('jit', lambda first, second: first, (1, 2), {}).arg_names`` is
    ``('first', 'second')``.
    """
    code = getattr(inspect.unwrap(fun), "__code__", None)
    index = f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    names = tuple(code.co_varnames[: code.co_argcount]) if code is not None else ()
    where = sourceinfo or f"{function_name(fun)}{index}"
    return DebugInfo(traced_for, where, (*names[: len(args)], *kwargs), result_paths_thunk)


@transformation_with_aux
def _flatten_fun(in_tree: PyTreeDef, *leaves: Any) -> Generator[Any, Any, None]:
    args, kwargs = tree_unflatten(in_tree, leaves)
    answer = yield args, kwargs
    yield tree_flatten(answer)


@transformation_with_aux
def _flatten_fun_nokwargs(in_tree: PyTreeDef, *leaves: Any) -> Generator[Any, Any, None]:
    answer = yield tree_unflatten(in_tree, leaves), {}
    yield tree_flatten(answer)


def flatten_fun(f: WrappedFun, in_tree: PyTreeDef) -> tuple[WrappedFun, Store]:
    """A function of ``(args, kwargs)`` as one of their leaves, and a store of the tree of its results.

    Args:
      f: ``WrappedFun`` of ``*args`` and ``**kwargs``.
      in_tree: the structure of ``(args, kwargs)``.
    Returns: ``(function, store)``; the store is called for the tree, once the function has run.
    Example: ``from arrax.extend import linear_util; leaves, tree = tree_flatten(((1, 2), {}));
    flat, out_tree = arrax.api_util.flatten_fun(linear_util.wrap_init(lambda a, b: {'sum': a + b}), tree);
    flat.call_wrapped(*leaves)`` is ``[3]``.
    """
    return _flatten_fun(f, in_tree)


def flatten_fun_nokwargs(f: WrappedFun, in_tree: PyTreeDef) -> tuple[WrappedFun, Store]:
    """A function of positional arguments as one of their leaves, and a store of the tree of its results.

    Args:
      f: ``WrappedFun`` of ``*args``.
      in_tree: the structure of the tuple of arguments.
    Returns: ``(function, store)``; the store is called for the tree, once the function has run.
    Example: ``from arrax.extend import linear_util; leaves, tree = tree_flatten((1, 2));
    flat, out_tree = arrax.api_util.flatten_fun_nokwargs(linear_util.wrap_init(lambda a, b: {'sum': a + b}), tree);
    flat.call_wrapped(*leaves)`` is ``[3]``.
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
      f: ``WrappedFun`` of positional arguments.
      dyn_argnums: the positions of the arguments that stay.
      require_static_args_hashable: whether to refuse others that cannot be hashed.
    Returns: ``(function, arguments)``.
    Raises:
      ValueError: an argument that is given cannot be hashed.
    Example: ``from arrax.extend import linear_util;
    part, args = arrax.api_util.argnums_partial(linear_util.wrap_init(lambda a, b: a - b), 0, (5, 3));
    part.call_wrapped(*args)`` is 2.
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
      x: array, number, or anything with a shape and a dtype; a type is that of itself.
    Example: ``arrax.api_util.shaped_abstractify(x).shape`` is ``(4,)``.
    """
    return x if isinstance(x, AbstractValue) else typeof(x)


def donation_vector(
    donate_argnums: Sequence[int], donate_argnames: Sequence[str], in_tree: PyTreeDef, kws: bool = True
) -> tuple[bool, ...]:
    """For each leaf of a call's arguments, whether its argument is donated.

    Args:
      donate_argnums, donate_argnames: positions and names of the arguments that are.
      in_tree: the structure of ``(args, kwargs)``; of ``args`` alone where ``kws`` is False.
    Example: ``arrax.api_util.donation_vector((1,), (), tree_structure(((1, [2, 3]), {})))`` is ``(False, True, True)``.
    """
    trees = in_tree.children() if kws else [in_tree]
    positional = trees[0].children()
    chosen = {number % len(positional) for number in donate_argnums if -len(positional) <= number < len(positional)}
    flags = [number in chosen for number, tree in enumerate(positional) for _ in range(tree.num_leaves)]
    if kws:
        by_name = trees[1].unflatten([0] * trees[1].num_leaves)
        flags += [name in donate_argnames for name in sorted(by_name) for _ in tree_leaves(by_name[name])]
    return tuple(flags)


def rebase_donate_argnums(donate_argnums: Sequence[int], static_argnums: Sequence[int]) -> tuple[int, ...]:
    """Positions of donated arguments among those that are not static.

    Raises:
      ValueError: an argument is both.
    Example: ``arrax.api_util.rebase_donate_argnums((2, 3), (0,))`` is ``(1, 2)``.
    """
    both = sorted(set(donate_argnums) & set(static_argnums))
    if both:
        raise ValueError(
            f"static_argnums {static_argnums} and donate_argnums {donate_argnums} cannot intersect, both name {both}"
        )
    return tuple(number - sum(static < number for static in static_argnums) for number in sorted(donate_argnums))


def flatten_prefix(
    name: str,
    treedef: PyTreeDef,
    axis_tree: Any,
    *,
    kws: bool = False,
    tupled_args: bool = False,
) -> list[Any]:
    """The leaves of a tree prefix in which None is a leaf, each as often as the subtree it stands for has leaves.

    Args:
      name: what the user calls the prefix, for messages; such as ``vmap in_axes``.
      treedef: the structure of which ``axis_tree`` is a prefix.
      axis_tree: pytree of axes, shardings or the like, and None.
      kws: whether ``treedef`` is that of ``(args, kwargs)``.
      tupled_args: whether it is that of a tuple of arguments, so that the message may say so.
    Raises:
      ValueError: they do not fit; the message names all places.
    Example: ``arrax.api_util.flatten_axes('in_axes', tree_structure((1, [2, 3])), (None, 0))`` is ``[None, 0, 0]``.
    """
    return flatten_axes(name, treedef, axis_tree, tupled_args=tupled_args)
