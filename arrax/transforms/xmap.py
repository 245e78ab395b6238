"""``xmap``: functions of arrays with named axes, which may be laid out over the axes of a mesh."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arrax.core.function_info import flat_names
from arrax.core.functions import function_name, named_like
from arrax.core.interpreter import Tracer, context
from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.tracebacks import boundary
from arrax.core.types import typeof
from arrax.dtypes.canonical import warn_user
from arrax.interpreters.batching import AxisData, batch, move_batch_axis
from arrax.lax.axis_order import transpose
from arrax.lax.control_flow.mapping import map as loop_map
from arrax.lax.operand_checks import checked_operand
from arrax.lax.placement import put_value
from arrax.lax.shapes import reshape
from arrax.lax.sharding_constraints import constrained
from arrax.lax.slicing_along_axes import index_in_dim
from arrax.transforms.jit import jit
from arrax.xla.local_views import globalized, localized
from arrax.xla.meshes import Mesh, physical_mesh
from arrax.xla.shardings import NamedSharding


class SerialLoop:
    """A resource that an axis can be mapped to: the elements along it are worked on in a loop of some length.

    Args:
      length: number of steps, which divides the axis' length.
    Example: ``from arrax.experimental.maps import SerialLoop, xmap;
    f = xmap(jnp.sin, in_axes=['i', ...], out_axes=['i', ...], axis_resources={'i': SerialLoop(2)}); f(x)``
    is ``jnp.sin(x)``.
    """

    __slots__ = ("length",)

    def __init__(self, length: int):
        if length < 1:
            raise ValueError(f"SerialLoop: the length must be positive, got {length}")
        self.length = length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SerialLoop) and self.length == other.length

    def __hash__(self) -> int:
        return hash((SerialLoop, self.length))

    def __repr__(self) -> str:
        return f"SerialLoop({self.length})"


def _is_mapping(entry: Any) -> bool:
    if isinstance(entry, Mapping):
        return all(isinstance(key, int) for key in entry)
    return isinstance(entry, list | tuple) and bool(entry) and entry[-1] is Ellipsis


def _positions(entry: Any, what: str) -> dict[int, Any]:
    """Name by position of an axis mapping.

    Raises:
      TypeError: something else. ValueError: a name twice.
    """
    if isinstance(entry, Mapping) and _is_mapping(entry):
        found = dict(entry)
    elif _is_mapping(entry):
        found = dict(enumerate(entry[:-1]))
    else:
        raise TypeError(
            f"xmap: {what} must hold axis mappings, dicts of positions to names or lists of names that end with `...`, got "
            f"{entry!r}"
        )
    if len(set(found.values())) < len(found):
        raise ValueError(f"xmap: {what} gives two axes of one array the same name: {entry!r}")
    return found


def xmap(
    fun: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    *,
    axis_sizes: Mapping[Any, int] | None = None,
    axis_resources: Mapping[Any, Any] | None = None,
    donate_argnums: int | Sequence[int] = (),
    backend: str | None = None,
) -> Any:
    """A function whose arguments have named axes inside: ``fun`` sees the others only.

    Args:
      fun: function of arrays; it may reduce over named axes (``jnp.sum(x, "name")``, ``lax.psum``), which otherwise go along.
      in_axes: which axes of the arguments have names: a pytree like the arguments, of dicts ``{position: name}`` or lists of
        leading names that end with ``...``.
      out_axes: where named axes go in the results, likewise.
      axis_sizes: sizes of names that no argument has.
      axis_resources: for names the mesh axis, or tuple of mesh axes, over which they are laid out, of the mesh in force
        (``with mesh:``); or a SerialLoop, for elements that do not need each other. The results are the same. Over a mesh of
        several processes arguments and results are the parts that this process has.
      donate_argnums: positions of arguments whose buffers the results may reuse.
      backend: platform to run on.
    Returns: a function of the whole arrays, with ``lower``.
    Raises:
      ValueError: one name with different sizes, a name that a result has but ``out_axes`` does not place, resources that are
        not in force, or a size that a mesh axis does not divide.
    Example: ``xmap(lambda x: x, in_axes={0: "i"}, out_axes={1: "i"})(jnp.ones((3, 2)))`` is the transpose.
    """
    warn_user(
        "xmap is an experimental feature and probably has bugs: it is deprecated; use arrax.shard_map or arrax.vmap with "
        "axis_name",
        DeprecationWarning,
    )
    mapped = Named(fun, in_axes, out_axes, dict(axis_sizes or {}), dict(axis_resources or {}), donate_argnums, backend)

    @boundary
    @named_like(fun)
    def wrapped(*args: Any) -> Any:
        return mapped.call(args)

    wrapped.lower = mapped.lower  # type: ignore[attr-defined]
    return wrapped


class Named:
    """A function and which axes of its arguments and results have names."""

    def __init__(
        self,
        fun: Callable[..., Any],
        in_axes: Any,
        out_axes: Any,
        sizes: dict[Any, Any],
        resources: dict[Any, Any],
        donate: Any,
        backend: Any,
    ):
        self.fun, self.out_axes, self.sizes, self.resources = fun, out_axes, sizes, resources
        self.in_axes = tuple(in_axes) if isinstance(in_axes, list) and not _is_mapping(in_axes) else in_axes
        self.donate, self.backend = donate, backend
        self.programs: dict[Any, Callable[..., Any]] = {}

    def call(self, args: tuple[Any, ...]) -> Any:
        """The results."""
        program, args = self.prepared(args)
        out = program(*args)
        return localized(out) if self._spans_processes(self.mesh_axes()[0]) else out

    def lower(self, *args: Any) -> Any:
        """Lower for arguments, without running."""
        program, args = self.prepared(args)
        return program.lower(*args)  # type: ignore[attr-defined]

    def prepared(self, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The compiled function, and the arguments laid out over the mesh."""
        leaves, tree = tree_flatten(args)
        leaves = [checked_operand("xmap", leaf) for leaf in leaves]
        axes = [_positions(entry, "in_axes") for entry in self._mappings(args)]
        mesh, mesh_axes = self.mesh_axes()
        if mesh is not None and self._spans_processes(mesh):
            shardings = [
                NamedSharding(mesh, _spec(at, typeof(x).ndim, mesh_axes)) for x, at in zip(leaves, axes, strict=True)
            ]
            leaves = list(map(globalized, leaves, shardings))
        sizes = self.sizes_of(args, leaves, axes)
        self.check_sizes(sizes, mesh, mesh_axes)
        if mesh is not None:
            leaves = [
                self._placed(x, _spec(at, typeof(x).ndim, mesh_axes), mesh) for x, at in zip(leaves, axes, strict=True)
            ]
        key = (tree, tuple(tuple(at.items()) for at in axes), tuple(sizes.items()), mesh, tuple(mesh_axes.items()))
        found = self.programs.get(key)
        if found is None:
            whole = functools.partial(self._whole, tree, axes, sizes, mesh, mesh_axes)
            whole.__name__ = function_name(self.fun)  # type: ignore[attr-defined]
            found = self.programs[key] = jit(whole, donate_argnums=self.donate, backend=self.backend)
        return found, tree_unflatten(tree, leaves)

    def _mappings(self, args: tuple[Any, ...]) -> list[Any]:
        return named_broadcast_prefix("xmap in_axes", self.in_axes, args, _is_mapping)

    def sizes_of(self, args: tuple[Any, ...], leaves: Sequence[Any], axes: Sequence[dict[int, Any]]) -> dict[Any, int]:
        """The size of each name, in the order of their appearance."""
        sizes = dict(self.sizes)
        for number, (leaf, at) in enumerate(zip(leaves, axes, strict=True)):
            shape = typeof(leaf).shape
            for position, name in at.items():
                if not -len(shape) <= position < len(shape):
                    raise ValueError(
                        f"xmap: in_axes names axis {position} of the argument {flat_names(self.fun, args, {})[number]}, which "
                        f"has shape {shape}"
                    )
                size = shape[position]
                if sizes.setdefault(name, size) != size:
                    raise ValueError(
                        f"The size of axis {name!r} was previously inferred to be {sizes[name]}, but found an argument of shape "
                        f"{shape} with in_axes specification {at}. Shape mismatch for the named axis {name!r}: sizes {sizes[name]} "
                        f"and {size}"
                    )
        return sizes

    def _spans_processes(self, mesh: Mesh | None) -> bool:
        """Whether arguments and results are the parts of this process, as of ``pmap``."""
        return mesh is not None and context.interpreter.is_evaluation and mesh.is_multi_process

    def mesh_axes(self) -> tuple[Mesh | None, dict[Any, tuple[Any, ...]]]:
        """The mesh in force and the mesh axes of each name.

        Raises:
          ValueError: resources that are not in force.
        """
        wanted = {
            name: tuple(resource) if isinstance(resource, tuple | list) else (resource,)
            for name, resource in self.resources.items()
            if not isinstance(resource, SerialLoop)
        }
        if not wanted:
            return None, {}
        mesh = physical_mesh()
        known = dict(mesh.shape) if mesh is not None else {}
        missing = [axis for axes in wanted.values() for axis in axes if axis not in known]
        if missing:
            raise ValueError(
                f"In-scope resources are insufficient to execute the xmapped function {function_name(self.fun)}. The missing "
                f"resources are: {set(missing)}. Define them by `with Mesh(devices, names):`"
            )
        return mesh, wanted

    def check_sizes(self, sizes: dict[Any, int], mesh: Mesh | None, mesh_axes: dict[Any, tuple[Any, ...]]) -> None:
        """Raise ValueError for sizes of axes that their resources do not divide."""
        for name, resource in self.resources.items():
            if isinstance(resource, SerialLoop) and sizes.get(name, 0) % resource.length:
                raise ValueError(f"xmap: the size {sizes[name]} of axis {name!r} is no multiple of {resource}")
        for name, axes in mesh_axes.items():
            assert mesh is not None
            pieces = math.prod(mesh.shape[axis] for axis in axes)
            if sizes.get(name, 0) % pieces:
                raise ValueError(
                    f"xmap: the size {sizes.get(name)} of axis {name!r} must be divisible by the {pieces} devices of the resources "
                    f"{axes} that it is mapped to"
                )

    def _placed(self, x: Any, spec: PartitionSpec, mesh: Mesh) -> Any:
        sharding = NamedSharding(mesh, spec)
        if isinstance(x, Tracer) or not context.interpreter.is_evaluation:
            return constrained(x, sharding)
        return put_value(x, sharding)

    def _whole(
        self,
        tree: Any,
        axes: Sequence[dict[int, Any]],
        sizes: dict[Any, int],
        mesh: Any,
        mesh_axes: dict[Any, Any],
        *args: Any,
    ) -> Any:
        """The function of whole arrays: batched over one name after the other."""
        leaves = tree_flatten(args)[0]
        names = list(sizes)
        held = [{at[p] for p in at} for at in axes]
        moved = [_to_front(x, at, names) for x, at in zip(leaves, axes, strict=True)]
        structure: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            outs, out_tree = tree_flatten(self.fun(*tree_unflatten(tree, values)))
            structure[:] = [out_tree, self._out_positions(out_tree)]
            return [checked_operand("xmap", out) for out in outs]

        outs = self._batched(flat, names, sizes, held, structure, moved)
        out_tree, positions = structure
        results = [_into_positions(x, at, names) for x, at in zip(outs, positions, strict=True)]
        if mesh is not None:
            results = [
                constrained(x, NamedSharding(mesh, _spec(at, typeof(x).ndim, mesh_axes)))
                for x, at in zip(results, positions, strict=True)
            ]
        return tree_unflatten(out_tree, results)

    def _batched(
        self,
        flat: Callable[..., Any],
        names: list[Any],
        sizes: dict[Any, Any],
        held: Sequence[set[Any]],
        structure: list[Any],
        values: Sequence[Any],
    ) -> list[Any]:
        if not names:
            return flat(*values)
        name, rest = names[0], names[1:]
        if isinstance(self.resources.get(name), SerialLoop) and any(name in has for has in held):
            try:
                return self._looped(flat, names, sizes, held, structure, values)
            except NameError as error:
                if not str(error).startswith(f"unbound axis name: {name}."):
                    raise  # else elements of different steps need each other: all are worked on at once
        dims = [0 if name in has else None for has in held]
        outs, out_dims = batch(
            lambda *xs: self._batched(flat, rest, sizes, held, structure, xs), values, dims, AxisData(name, sizes[name])
        )
        return self._with_axis_in_front(name, sizes[name], outs, out_dims, structure[1])

    def _with_axis_in_front(
        self, name: Any, size: int, outs: Sequence[Any], dims: Sequence[int | None], positions: Sequence[dict[Any, Any]]
    ) -> list[Any]:
        """Results with the axis of a name in front, where they have it."""
        placed = []
        for out, dim, at in zip(outs, dims, positions, strict=True):
            if name in at.values():
                placed.append(move_batch_axis(out, dim, size, 0))
            elif dim is None:
                placed.append(out)
            else:
                raise ValueError(
                    f"xmap: a result of {function_name(self.fun)} has the named axis {name!r}, which out_axes does not place: {at}; "
                    "reduce over it, or name it in out_axes"
                )
        return placed

    def _looped(
        self,
        flat: Callable[..., Any],
        names: list[Any],
        sizes: dict[Any, Any],
        held: Sequence[set[Any]],
        structure: list[Any],
        values: Sequence[Any],
    ) -> list[Any]:
        """``_batched`` with a loop over the first name, whose steps each work on a part of its elements."""
        name, rest, steps = names[0], names[1:], self.resources[names[0]].length
        size, has = sizes[name] // steps, [name in each for each in held]
        dims = [0 if h else None for h in has]

        def one_step(parts: Sequence[Any]) -> list[Any]:
            given = iter(parts)
            whole = [next(given) if h else x for x, h in zip(values, has, strict=True)]
            outs, out_dims = batch(
                lambda *xs: self._batched(flat, rest, sizes, held, structure, xs), whole, dims, AxisData(None, size)
            )
            return self._with_axis_in_front(name, size, outs, out_dims, structure[1])

        parts = [x for x, h in zip(values, has, strict=True) if h]
        cut = [reshape(x, (steps, size, *typeof(x).shape[1:])) for x in parts]
        stacked = loop_map(one_step, cut)
        return [
            reshape(x, (sizes[name], *typeof(x).shape[2:])) if name in at.values() else index_in_dim(x, 0, 0, False)
            for x, at in zip(stacked, structure[1], strict=True)
        ]

    def _out_positions(self, out_tree: Any) -> list[dict[int, Any]]:
        dummy = tree_unflatten(out_tree, list(range(out_tree.num_leaves)))
        entries = named_broadcast_prefix("xmap out_axes", self.out_axes, dummy, _is_mapping)
        return [_positions(entry, "out_axes") for entry in entries]


def _to_front(x: Any, at: dict[int, Any], names: Sequence[Any]) -> Any:
    """The array with its named axes in front, in the order of the names."""
    rank = typeof(x).ndim
    position = {name: index % rank for index, name in at.items()}
    front = [position[name] for name in names if name in position]
    order = [*front, *(axis for axis in range(rank) if axis not in front)]
    return x if order == list(range(rank)) else transpose(x, order)


def _into_positions(x: Any, at: dict[int, Any], names: Sequence[Any]) -> Any:
    """The array whose leading axes are named, in the order of the names, with these where they belong."""
    rank = typeof(x).ndim
    index = {name: position % rank for position, name in at.items()}
    front = [name for name in names if name in index]
    order: list[int | None] = [None] * rank
    for number, name in enumerate(front):
        order[index[name]] = number
    rest = iter(range(len(front), rank))
    final = [next(rest) if axis is None else axis for axis in order]
    return x if final == list(range(rank)) else transpose(x, final)


def _spec(at: dict[int, Any], rank: int, mesh_axes: dict[Any, tuple[Any, ...]]) -> PartitionSpec:
    """Over which mesh axes the axes of an array are laid out."""
    named = {position % rank: mesh_axes.get(name) for position, name in at.items()} if rank else {}
    used: set[Any] = set()
    entries: list[Any] = []
    for axis in range(rank):
        entry = named.get(axis)
        entries.append(entry if entry is not None and not used.intersection(entry) else None)
        used.update(entry or ())
    return PartitionSpec(*entries)
