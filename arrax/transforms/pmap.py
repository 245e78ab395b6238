"""``pmap``: run a function on several devices, one slice of an axis of its arguments each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.argument_values import result_value
from arrax.core.function_info import FunctionInfo, describe_call
from arrax.core.functions import function_name, named_like
from arrax.core.interpreter import Tracer, context
from arrax.core.meshes import in_mesh, mesh_state
from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_structure, tree_unflatten
from arrax.core.tracebacks import boundary
from arrax.core.types import typeof
from arrax.lax.axis_order import move_axis
from arrax.lax.operand_checks import checked_operand
from arrax.lax.placement import put_value
from arrax.lax.shapes import expand_dims, squeeze
from arrax.lax.static_slicing import slice_in_dim
from arrax.native import runtime
from arrax.transforms.arguments import Split, as_numbers, normalize
from arrax.transforms.differentiated_functions import check_axis_name
from arrax.transforms.jit import jit
from arrax.transforms.shard_map import Mapped
from arrax.transforms.vectorize import vmap
from arrax.transforms.wrapped import P, R, Wrapped
from arrax.xla.arrays import Array
from arrax.xla.devices import client_of, process_count
from arrax.xla.local_views import globalized, localized
from arrax.xla.meshes import Mesh
from arrax.xla.shardings import NamedSharding

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef


ArrayImpl = runtime.ArrayImpl
DEFAULT_AXIS = "_internal_pmap_axis_name"
AxesTree = Any  # int, None, or a pytree prefix of them


def pmap(
    fun: Callable[P, R],
    axis_name: Hashable | None = None,
    *,
    in_axes: AxesTree = 0,
    out_axes: AxesTree = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
    global_arg_shapes: Any = None,
) -> Wrapped[P, R]:
    """A function that runs ``fun`` on several devices at once, one slice of the mapped axes each.

    Args:
      fun: function of slices; it may name the axis in collectives such as ``lax.psum``.
      axis_name: a hashable name of the axis.
      in_axes: for each argument the axis that is mapped, or None for arguments that every device gets: an int, None, or a
        tree prefix of the tuple of positional arguments. Keyword arguments are mapped along their first axis.
      out_axes: for each result where the mapped axis goes; None takes the result of one device.
      static_broadcasted_argnums: positions of arguments whose values (hashable) are part of the program.
      devices: which devices; by default the first ones, as many as the axis is long.
      backend: platform to run on.
      axis_size: length of the axis over all processes, needed where no argument is mapped.
      donate_argnums: positions of arguments whose buffers the results may reuse.
      global_arg_shapes: accepted, without effect.
    Returns: a function with the same arguments and results, with ``lower``.
    Raises:
      TypeError: ``fun`` is not callable, or axes are something else than ints and None.
      ValueError: axes of different lengths, more slices than devices, or no axis to map.
    Example: ``pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.arange(1.0, 2.0))``.
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}")
    check_axis_name("pmap", axis_name)
    for which, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        for leaf in tree_flatten(axes, is_leaf=_is_none)[0]:
            if leaf is not None and (isinstance(leaf, bool) or not isinstance(leaf, int)):
                raise TypeError(
                    f"pmap {which} must be an int, None, or (nested) container with those types as leaves, but got {axes!r}"
                )
    name = DEFAULT_AXIS if axis_name is None else axis_name
    static = as_numbers("static_broadcasted_argnums", static_broadcasted_argnums)
    donated = as_numbers("donate_argnums", donate_argnums)
    mapped = Pmapped(fun, name, in_axes, out_axes, static, donated, devices, backend, axis_size)

    @boundary
    @named_like(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return mapped.call(args, kwargs)

    wrapped.lower = mapped.lower  # type: ignore[attr-defined]
    return wrapped  # type: ignore[return-value]


def _is_none(entry: object) -> bool:
    return entry is None


class Pmapped:
    """A function and how it is mapped over devices."""

    def __init__(
        self, fun: Callable[..., Any], axis_name: Any, in_axes: AxesTree, out_axes: AxesTree, static: tuple[int, ...],
        donated: tuple[int, ...], devices: Sequence[Any] | None, backend: str | None, axis_size: int | None,
    ) -> None:  # fmt: skip
        self.fun, self.axis_name, self.in_axes, self.out_axes = fun, axis_name, in_axes, out_axes
        self.static, self.donated, self.axis_size = static, donated, axis_size
        self.devices = None if devices is None else list(devices)
        self.backend = backend
        self.process_count: int | None = None
        self.settled: dict[Any, tuple[Callable[..., Any], list[Any]]] = {}  # of arrays of some types
        self.programs: dict[
            Any, tuple[Callable[..., Any], list[Any]]
        ] = {}  # by structure, static values and axis length

    def processes(self) -> int:
        """How many processes take part."""
        if self.process_count is None:
            self.process_count = process_count(self.backend)
        return self.process_count

    def available(self) -> list[Any]:
        """The devices to choose from; those of this process first where there are several processes."""
        if self.devices is not None:
            return self.devices
        client = client_of(self.backend)
        return client.local_devices() if process_count(self.backend) == 1 else client.devices()

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results of all devices, put together."""
        leaves, tree = tree_flatten((args, kwargs))
        plain = not self.static and all(type(x) is ArrayImpl for x in leaves) and context.interpreter.is_evaluation
        key = (tree, tuple(x.aval for x in leaves)) if plain else None
        settled = self.settled.get(key)
        if settled is None:
            program, leaves, shardings = self.prepared(args, kwargs)
            if key is not None and shardings is not None:
                self.settled[key] = program, shardings
        else:
            program, shardings = settled
        if shardings is None:
            return program(*leaves)
        several = self.processes() > 1
        placed = [
            x if type(x) is ArrayImpl and x._sharding == sharding and x._committed else _placed(x, sharding, several)
            for x, sharding in zip(leaves, shardings, strict=True)
        ]
        out = program(*placed)
        return localized(out) if several else out

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Lower for arguments, without running."""
        program, leaves, shardings = self.prepared(args, kwargs)
        if shardings is not None:
            leaves = [_placed(x, sharding, False) for x, sharding in zip(leaves, shardings, strict=True)]
        dynamic = tuple(arg for n, arg in enumerate(args) if n not in normalize(self.static, len(args)))
        return program.lower(*leaves).with_arguments_in(tree_structure((dynamic, kwargs)))  # type: ignore[attr-defined]

    def prepared(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Callable[..., Any], list[Any], list[Any] | None]:
        """The compiled function of flat arguments, these, and how they lie (None where they are traced)."""
        if not all(-len(args) <= number < len(args) for number in self.static):
            raise ValueError(
                f"pmap: static_broadcasted_argnums={self.static}, but there are {len(args)} positional arguments"
            )
        split = Split(self.fun, self.static, (), args, kwargs)
        static, dynamic = split.static, split.dynamic
        leaves, tree = tree_flatten((dynamic, kwargs))
        leaves = [x if type(x) is ArrayImpl else checked_operand("pmap", x) for x in leaves]
        inside = bool(mesh_state().abstract.manual_axes)
        axes = self._axes(dynamic, kwargs, static)
        size = self._size(leaves, axes)
        key = (tree, tuple(static.items()), size, tuple(axes), inside)
        found = self.programs.get(key)
        if found is None:
            info = describe_call(self.fun, "pmap", split.with_holes(), kwargs)
            found = self.programs[key] = self._program(tree, static, len(args), axes, size, inside, info)
        tracing = inside or not context.interpreter.is_evaluation or any(isinstance(x, Tracer) for x in leaves)
        return found[0], leaves, None if tracing else found[1]

    def _axes(self, dynamic: tuple[Any, ...], kwargs: dict[str, Any], static: dict[int, Any]) -> list[int | None]:
        """The mapped axis of each leaf."""
        axes = self.in_axes
        if isinstance(axes, list):
            axes = tuple(axes)
        if isinstance(axes, tuple) and len(axes) == len(dynamic) + len(static):
            axes = tuple(axis for n, axis in enumerate(axes) if n not in static)
        found = named_broadcast_prefix("pmap in_axes", axes, dynamic, _is_none)
        return [*found, *[0] * len(tree_flatten(kwargs)[0])]

    def _size(self, leaves: Sequence[Any], axes: list[int | None]) -> int:
        """The common length of the mapped axes (on this process), and ``axes`` made non-negative."""
        sizes: dict[int, int] = {}
        for number, (leaf, axis) in enumerate(zip(leaves, axes, strict=True)):
            if axis is None:
                continue
            shape = typeof(leaf).shape
            if not -len(shape) <= axis < len(shape):
                raise ValueError(
                    f"pmap was requested to map axis {axis} of an argument of shape {shape}: there is no such axis"
                )
            axes[number] = axis % len(shape)
            sizes[number] = shape[axis]
        lengths = set(sizes.values())
        if len(lengths) > 1:
            examples: dict[int, int] = {}
            for number, size in sizes.items():
                examples.setdefault(size, number)
            listed = [f"{size} in an argument of shape {typeof(leaves[n]).shape}" for size, n in examples.items()]
            raise ValueError(
                f"pmap got inconsistent sizes for array axes to be mapped: their lengths are {', '.join(listed)}"
            )
        if not lengths and self.axis_size is None:
            raise ValueError("pmap requires at least one argument with a mapped axis, or axis_size")
        expected = None if self.axis_size is None else int(self.axis_size) - len(self._devices_elsewhere())
        size = next(iter(lengths)) if lengths else expected or 0
        if expected is not None and size != expected:
            raise ValueError(f"pmap: axis_size is {self.axis_size}, but the mapped axes have length {size}")
        return size

    def _devices_elsewhere(self) -> list[Any]:
        """The devices of other processes, each of which has a slice."""
        if self.processes() == 1:
            return []
        own = client_of(self.backend).process_index()
        return [device for device in self.available() if device.process_index != own]

    def _mesh(self, size: int) -> Mesh:
        """The devices of a call: one per slice."""
        found, needed = self.available(), size
        elsewhere = self._devices_elsewhere()
        if elsewhere:
            here = len(found) - len(elsewhere)
            if here != size:
                raise ValueError(f"pmap: the mapped axis has length {size}, but this process has {here} devices")
            needed = len(found)
        if not needed:
            raise ValueError(
                f"pmap of {function_name(self.fun)}: the mapped axes have length 0, so no device would run it"
            )
        if needed > len(found):
            raise ValueError(
                f"compiling computation that requires {needed} logical devices, but only {len(found)} XLA devices are "
                f"available (pmap of {function_name(self.fun)} over an axis of length {size})"
            )
        if self.devices is not None and needed < len(found):
            raise ValueError(
                f"Leading axis size that is pmapped over must equal the number of devices given, {len(found)}, got {size}"
            )
        return Mesh(np.array(found[:needed], object), (self.axis_name,))

    def _program(
        self, tree: PyTreeDef, static: dict[int, Any], count: int, axes: Sequence[int | None], size: int,
        inside: bool, info: FunctionInfo,
    ) -> tuple[Callable[..., Any], list[Any]]:  # fmt: skip
        def of_slices(*slices: Array) -> tuple[list[Any], Any]:
            dynamic, kwargs = tree_unflatten(tree, slices)
            rest = iter(dynamic)
            args = [static[n].value if n in static else next(rest) for n in range(count)]
            outs, out_tree = tree_flatten(self.fun(*args, **kwargs))
            return [result_value(out, out_tree, index, info) for index, out in enumerate(outs)], out_tree

        if inside:  # the devices are taken already: the slices of this axis share one
            return self._on_one_device(of_slices, axes, size), []
        mesh = self._mesh(size)
        ins = tuple(PartitionSpec() if axis is None else _at(axis, self.axis_name) for axis in axes)
        whole = _WithResults(self, of_slices, axes, ins, mesh, info)
        donate = self._donated_leaves(tree, static, count)
        return jit(whole, donate_argnums=donate), [NamedSharding(mesh, spec) for spec in ins]

    def _on_one_device(
        self, of_slices: Callable[..., Any], axes: Sequence[int | None], size: int
    ) -> Callable[..., Any]:
        def whole(*leaves: Any) -> Any:
            structure: list[Any] = []

            def flat(*slices: Any) -> list[Any]:
                outs, tree = of_slices(*slices)
                structure[:] = [tree]
                return outs

            outs = vmap(flat, in_axes=tuple(axes), out_axes=0, axis_name=self.axis_name, axis_size=size)(*leaves)
            axes_of_leaves = self.axes_of_results(structure[0])
            moved = [
                squeeze(slice_in_dim(x, 0, 1), (0,)) if a is None else move_axis(x, 0, a % typeof(x).ndim)
                for x, a in zip(outs, axes_of_leaves, strict=True)
            ]
            return tree_unflatten(structure[0], moved)

        return whole

    def axes_of_results(self, tree: PyTreeDef) -> list[int | None]:
        """Where the mapped axis goes in each result of a structure."""
        dummy = tree_unflatten(tree, list(range(tree.num_leaves)))
        return named_broadcast_prefix("pmap out_axes", self.out_axes, dummy, _is_none)

    def _donated_leaves(self, tree: PyTreeDef, static: dict[int, Any], count: int) -> tuple[int, ...]:
        """Numbers of the leaves of donated arguments."""
        if not self.donated:
            return ()
        wanted = normalize(self.donated, count)
        positions = [n for n in range(count) if n not in static]
        numbers: list[int] = []
        start = 0
        for position, child in zip(positions, tree.children()[0].children(), strict=True):
            if position in wanted:
                numbers += range(start, start + child.num_leaves)
            start += child.num_leaves
        return tuple(numbers)


class _WithResults:
    """The function of whole leaves; what it returns is known only after ``fun`` was traced."""

    def __init__(
        self,
        owner: Pmapped,
        of_slices: Callable[..., Any],
        axes: Sequence[int | None],
        ins: tuple[Any, ...],
        mesh: Mesh,
        info: FunctionInfo,
    ) -> None:
        self.owner, self.of_slices, self.axes, self.ins, self.mesh, self.info = owner, of_slices, axes, ins, mesh, info
        self.__name__ = info.name

    def __call__(self, *leaves: Array) -> Any:
        structure: list[Any] = []

        def body(*pieces: Array) -> list[Any]:
            slices = [x if a is None else squeeze(x, (a,)) for x, a in zip(pieces, self.axes, strict=True)]
            outs, tree = self.of_slices(*slices)
            axes = self.owner.axes_of_results(tree)
            joinable = [_joinable(out, axis) for out, axis in zip(outs, axes, strict=True)]
            structure[:] = [tree, axes, [typeof(out).ndim for out in joinable]]
            return joinable

        body.__name__, body.__wrapped__ = self.__name__, self.owner.fun  # type: ignore[attr-defined]  # for messages

        def specs() -> list[PartitionSpec]:
            axes, ranks = structure[1:]
            name = self.owner.axis_name
            return [PartitionSpec() if a is None else _at(a % r, name) for a, r in zip(axes, ranks, strict=True)]

        with in_mesh(mesh_state()._replace(mesh=None)):  # another mesh in force has no say
            outs = Mapped(body, self.mesh, self.ins, specs, frozenset(), False, self.info).call(leaves)
        return tree_unflatten(structure[0], outs)


def _joinable(out: Any, axis: int | None) -> Array:
    if axis is None:
        return out
    rank = typeof(out).ndim + 1
    if not -rank <= axis < rank:
        raise ValueError(f"pmap out_axes has {axis} for a result of {rank - 1} dimensions")
    return expand_dims(out, (axis % rank,))


def _at(axis: int, name: Any) -> PartitionSpec:
    return PartitionSpec(*[None] * axis, name)


def _placed(x: Any, sharding: runtime.Sharding, several: bool) -> Array:
    """An argument on its devices; with several processes it is this process's part."""
    return globalized(x, sharding) if several else put_value(x, sharding)
