"""Who divides arrays along the axes of a mesh: the types of values (explicit axes) or the compiler (automatic ones)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from arrax.core.calls import check_callable
from arrax.core.interpreter import context
from arrax.core.meshes import AxisType, in_mesh, mesh_state
from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_map, tree_unflatten
from arrax.core.tracebacks import boundary, bounded
from arrax.lax.asked_shardings import declared, laid_out, left_to_compiler, over_mesh_in_force
from arrax.native import runtime
from arrax.transforms.jit import jit
from arrax.xla.annotations import OptionalSharding, Tree


def _is_sharding(value: Any) -> bool:
    return value is None or isinstance(value, runtime.Sharding | PartitionSpec)


def reshard(xs: Tree, out_shardings: Any) -> Tree:
    """The values, laid out anew; where axes of the mesh are explicit, their types say so.

    Args:
      xs: array or pytree of arrays.
      out_shardings: a NamedSharding or PartitionSpec (over the mesh in force), or a tree prefix of ``xs`` of them.
    Raises:
      TypeError: something else, such as a sharding over no mesh (``device_put`` takes these).
      ValueError: None, or a sharding that does not fit.
    Example: ``arrax.reshard(x, arrax.NamedSharding(arrax.make_mesh((1,), ("data",)), arrax.P()))``.
    """
    for place in tree_flatten(out_shardings, is_leaf=_is_sharding)[0]:
        if place is None:
            raise ValueError("reshard: out_shardings must say where values lie, got None")
        if not isinstance(place, runtime.NamedSharding | PartitionSpec):
            raise TypeError(
                f"reshard: out_shardings must be NamedShardings or PartitionSpecs, got {place!r}. Use arrax.device_put for "
                "other places."
            )
    return _each("reshard out_shardings", xs, out_shardings, laid_out)


def _each(name: str, xs: Any, shardings: Any, function: Callable[[Any, Any], Any]) -> Any:
    """A function of each leaf and its place; these are a tree prefix."""
    leaves, tree = tree_flatten(xs)
    each = (
        [shardings] * len(leaves)
        if _is_sharding(shardings)
        else named_broadcast_prefix(name, shardings, xs, _is_sharding)
    )
    return tree_unflatten(tree, list(map(function, leaves, each)))


@contextmanager
def _axes_as(kind: AxisType, axes: Any) -> Iterator[None]:
    """Context manager: axes of the mesh in force (all but per-device ones if not given) are of a type."""
    state = mesh_state()
    names = state.abstract.axis_names if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    unknown = set(names) - set(state.abstract.axis_names)
    if unknown:
        raise ValueError(f"axes {sorted(map(str, unknown))} are no axes of the mesh in force, {state.abstract}")
    changed = frozenset(names) - set(state.abstract.manual_axes)
    abstract, explicit = state.abstract.update_axis_types(dict.fromkeys(changed, kind)), context.explicit_axes
    with in_mesh(state._replace(abstract=abstract)):
        try:
            context.explicit_axes = explicit or AxisType.Explicit in abstract.axis_types
            yield
        finally:
            context.explicit_axes = explicit


def _without_mesh(shardings: Any) -> bool:
    """Whether no mesh is in force, and no sharding carries one."""
    places = tree_flatten(shardings, is_leaf=_is_sharding)[0]
    return mesh_state().abstract.empty and not any(isinstance(place, runtime.Sharding) for place in places)


def _whole(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that is traced as a whole: what is concrete has a type by where it lies, whatever the mesh in force says."""
    return (function if context.explicit_axes else jit(function))(*args, **kwargs)


def auto_axes(
    fun: Callable[..., Any] | None = None, /, *, axes: Any = None, out_sharding: OptionalSharding = None
) -> Any:
    """A function inside of which the compiler lays values out, and whose results lie as told.

    Args:
      fun: the function. axes: names of mesh axes; all if not given.
      out_sharding: how the results lie: sharding, PartitionSpec, or a tree prefix; may also be given at the call.
    Returns: the function; without a mesh in force and shardings, it is called as it is.
    Raises:
      ValueError: names that the mesh in force lacks.
    Example: ``auto_axes(lambda x: x + 1, out_sharding=P("x"))``.
    """
    if fun is None:
        return functools.partial(bounded(auto_axes), axes=axes, out_sharding=out_sharding)
    check_callable(fun)

    @boundary
    @functools.wraps(fun)
    def wrapped(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> Any:
        if _without_mesh(out_sharding):
            return fun(*args, **kwargs)

        def inside(*args: Any, **kwargs: Any) -> Any:
            with _axes_as(AxisType.Auto, axes):
                args, kwargs = tree_map(over_mesh_in_force, (args, kwargs))
                out = fun(*args, **kwargs)
            return tree_map(left_to_compiler, out) if out_sharding is None else reshard(out, out_sharding)

        return _whole(inside, args, kwargs)

    return wrapped


def explicit_axes(fun: Callable[..., Any] | None = None, /, *, axes: Any = None, in_sharding: Any = None) -> Any:
    """A function inside of which types say how values lie, and whose arguments lie as told.

    Args:
      fun: the function. axes: names of mesh axes; all if not given.
      in_sharding: how the arguments lie: a tree prefix of the tuple of arguments; may also be given at the call.
    Raises:
      ValueError: no mesh in force, or names that it lacks.
    Example: ``explicit_axes(lambda x: x + 1, in_sharding=(P("x"),))``.
    """
    if fun is None:
        return functools.partial(bounded(explicit_axes), axes=axes, in_sharding=in_sharding)
    check_callable(fun)

    @boundary
    @functools.wraps(fun)
    def wrapped(*args: Any, in_sharding: Any = in_sharding, **kwargs: Any) -> Any:
        if _without_mesh(in_sharding):
            raise ValueError("explicit_axes: needs a mesh in force; arrax.set_mesh puts one in force")
        shardings = tuple(in_sharding) if isinstance(in_sharding, list) else in_sharding

        def inside(*args: Any, **kwargs: Any) -> Any:
            if shardings is not None:
                args = reshard(args, shardings)
            with _axes_as(AxisType.Explicit, axes):
                out = fun(*(args if shardings is None else _each("in_sharding", args, shardings, declared)), **kwargs)
            return tree_map(over_mesh_in_force, out)

        return _whole(inside, args, kwargs)

    return wrapped
