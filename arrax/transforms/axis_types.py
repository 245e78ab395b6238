"""Names for meshes with explicit axes, with the meaning that automatic ones give them: the compiler lays values out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from arrax.core.interpreter import Tracer, context
from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytree_prefixes import broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.lax.placement import device_put
from arrax.lax.sharding_constraints import constrained
from arrax.native import runtime


def _is_place(value: Any) -> bool:
    return value is None or isinstance(value, runtime.Sharding | PartitionSpec)


def reshard(xs: Any, out_shardings: Any) -> Any:
    """The values, laid out anew.

    Args:
      xs: array or pytree of arrays.
      out_shardings: a sharding or PartitionSpec (over the mesh in force), or a tree prefix of ``xs`` of them.
    Raises:
      ValueError: something else, or a sharding that does not fit.
    Example: ``arrax.reshard(x, arrax.sharding.SingleDeviceSharding(arrax.devices()[0]))``.
    """
    leaves, tree = tree_flatten(xs)
    places = (
        [out_shardings] * len(leaves)
        if _is_place(out_shardings)
        else broadcast_prefix(out_shardings, xs, is_leaf=_is_place)
    )
    return tree_unflatten(tree, [_laid_out(x, place) for x, place in zip(leaves, places, strict=True)])


def _laid_out(x: Any, place: Any) -> Any:
    if isinstance(x, Tracer) or not context.interpreter.is_evaluation:
        return constrained(x, place)
    return device_put(x, place)


def auto_axes(fun: Callable | None = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """A function inside of which the compiler lays values out, and whose results lie as told.

    Args:
      fun: the function. axes: names of mesh axes; all if not given.
      out_sharding: how the results lie: sharding, PartitionSpec, or a tree prefix; may also be given at the call.
    Example: ``auto_axes(lambda x: x + 1, out_sharding=P("x"))``.
    """
    if fun is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    @functools.wraps(fun)
    def wrapped(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> Any:
        out = fun(*args, **kwargs)
        return out if out_sharding is None else reshard(out, out_sharding)

    return wrapped


def explicit_axes(fun: Callable | None = None, /, *, axes: Any = None, in_sharding: Any = None) -> Any:
    """A function whose arguments lie as told.

    Args:
      fun: the function. axes: names of mesh axes; all if not given.
      in_sharding: how the arguments lie: a tree prefix of the tuple of arguments; may also be given at the call.
    Example: ``explicit_axes(lambda x: x + 1, in_sharding=(P("x"),))``.
    """
    if fun is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)

    @functools.wraps(fun)
    def wrapped(*args: Any, in_sharding: Any = in_sharding, **kwargs: Any) -> Any:
        if in_sharding is not None:
            args = reshard(args, tuple(in_sharding) if isinstance(in_sharding, list) else in_sharding)
        return fun(*args, **kwargs)

    return wrapped
