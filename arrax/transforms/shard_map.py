"""``shard_map``: run a function on each device's pieces of arrays, with collectives between the devices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from types import CodeType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from arrax.core.errors import ConcretizationTypeError
from arrax.core.function_info import FunctionInfo, flat_names, naming_argument
from arrax.core.functions import function_name, named_like
from arrax.core.interpreter import Tracer, ValueWanted, context
from arrax.core.manual_regions import Region
from arrax.core.meshes import AbstractMesh, MeshDescription, mesh_state
from arrax.core.partition_specs import DuplicateSpecError, PartitionSpec, entry_names, spec_names
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.reference_hooks import reference_hooks
from arrax.core.tracebacks import boundary, bounded
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.calls import consts_as_inputs
from arrax.lax.collective_rules import declare_varying
from arrax.lax.operand_checks import checked_operand
from arrax.lax.per_device import per_device
from arrax.lax.placement import put_value
from arrax.lax.shard_maps import bind_shard_map
from arrax.transforms.arguments import Split
from arrax.transforms.tracing import Traced, trace, traces_of
from arrax.transforms.wrapped import F
from arrax.xla.meshes import physical_mesh
from arrax.xla.shardings import NamedSharding

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef


class Infer:
    """Stands for input specs that follow from how the arguments lie.

    Example: ``isinstance(infer, arrax.sharding.Infer)`` is True: it is the default of ``in_specs``.
    """

    def __repr__(self) -> str:
        return "Infer"


infer = Infer()
Specs = Any  # a pytree prefix of PartitionSpecs


@overload
def shard_map(
    f: F, /, *, out_specs: Specs, in_specs: Specs = ..., mesh: MeshDescription | None = ...,
    axis_names: AbstractSet[Any] = ..., check_vma: bool = ...,
) -> F: ...  # fmt: skip
@overload
def shard_map(
    f: None = None, /, *, out_specs: Specs, in_specs: Specs = ..., mesh: MeshDescription | None = ...,
    axis_names: AbstractSet[Any] = ..., check_vma: bool = ...,
) -> Callable[[F], F]: ...  # fmt: skip
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Specs,
    in_specs: Specs = infer,
    mesh: MeshDescription | None = None,
    axis_names: AbstractSet[Any] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """A function that runs ``f`` on every device of a mesh, on the pieces of the arguments that specs say.

    Args:
      f: function of pieces; it may name the mesh axes in collectives such as ``lax.psum``.
      out_specs: how results are put together: a tree prefix of PartitionSpecs. Over an axis that is not named, all devices
        must have the same.
      in_specs: how arguments are cut: a tree prefix of the tuple of arguments. Axes that are not named give every device
        along them the same piece.
      mesh: the mesh; by default the one in force.
      axis_names: the set of mesh axes that ``f`` is per device over; the compiler keeps the others. All if empty.
      check_vma: track over which axes values vary: refuse results that need not be the same where they should, and leave
        out communication in derivatives that is not needed.
    Returns: a function with the same arguments and results, of whole arrays.
    Raises:
      TypeError: specs, a mesh or axis names that are none.
      ValueError: specs that don't fit the mesh or the arrays, or results that cannot be known to be the same.
    Example: ``arrax.shard_map(lambda x: lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())(jnp.arange(8))`` with
    ``mesh = arrax.make_mesh((1,), ("x",))``.
    """
    if f is None:
        given = {"mesh": mesh, "axis_names": axis_names, "check_vma": check_vma}
        return functools.partial(bounded(shard_map), out_specs=out_specs, in_specs=in_specs, **given)
    if not callable(f):
        raise TypeError(f"shard_map: expected a function, got {f!r} of type {type(f)}")
    if not isinstance(axis_names, set | frozenset):
        raise TypeError(f"shard_map: axis_names must be a set of names, got {axis_names!r} of type {type(axis_names)}")
    checked_mesh(mesh)
    check_specs("in_specs", in_specs, mesh)
    check_specs("out_specs", out_specs, mesh)
    mapped = Mapped(f, mesh, in_specs, out_specs, frozenset(axis_names), bool(check_vma))

    @boundary
    @named_like(f)
    def wrapped(*args: Any) -> Any:
        return mapped.call(args)

    return wrapped


def checked_mesh(mesh: Any) -> None:
    """Refuse what is not a mesh.

    Raises:
      TypeError: something else than a mesh.
    """
    if mesh is not None and not isinstance(mesh, MeshDescription):
        raise TypeError(f"shard_map: mesh must be a Mesh or an AbstractMesh, got {mesh!r} of type {type(mesh)}")


def check_specs(which: str, specs: Specs, mesh: MeshDescription | None) -> None:
    """Refuse specs that no mesh, or not this one, can serve.

    Raises:
      TypeError: something else than PartitionSpecs. ValueError: axes that the mesh lacks, or left to the compiler.
    """
    if isinstance(specs, Infer) or specs is Infer:
        return
    for path, spec in tree_flatten_with_path(specs, is_leaf=_is_spec)[0]:
        if spec is None or isinstance(spec, Infer):  # as a result, None stands for None
            continue
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"shard_map: {which} must be a pytree of PartitionSpecs, but {which}{keystr(path)} is {spec!r} of type "
                f"{type(spec)}"
            )
        if PartitionSpec.UNCONSTRAINED in spec:
            raise ValueError(
                f"shard_map: {which}{keystr(path)} is {spec}, but pieces are cut as it says, so that no axis can be left "
                "to the compiler by UNCONSTRAINED"
            )
        names = spec_names(spec)
        for name in names:
            if mesh is not None and name not in mesh.axis_names:
                raise ValueError(
                    f"shard_map: {which}{keystr(path)} is {spec}, but the mesh has no axis {name!r}: its axes are "
                    f"{mesh.axis_names}"
                )
            if names.count(name) > 1:
                raise DuplicateSpecError(
                    f"shard_map: {which}{keystr(path)} is {spec}, which names the axis {name!r} twice"
                )


def _is_spec(entry: Any) -> bool:
    return entry is None or isinstance(entry, PartitionSpec | Infer)


def may_print(fun: Callable[..., Any]) -> bool:
    """Whether the code of a function names ``print``."""
    code = getattr(getattr(fun, "func", fun), "__code__", None)
    return isinstance(code, CodeType) and _names_print(code)


def _names_print(code: CodeType) -> bool:
    nested = (each for each in code.co_consts if isinstance(each, CodeType))
    return "print" in code.co_names or any(map(_names_print, nested))


class Mapped:
    """A function and how it is run per device. ``out_specs`` may be a function that is asked once ``f`` was traced.

    ``info`` is what messages say of the user's function, where ``f`` wraps it.
    """

    __slots__ = ("f", "mesh", "in_specs", "out_specs", "axis_names", "check_vma", "info", "store", "prints")

    def __init__(
        self,
        f: Callable[..., Any],
        mesh: Any,
        in_specs: Specs,
        out_specs: Specs,
        axis_names: frozenset[Any],
        check_vma: bool,
        info: FunctionInfo | None = None,
    ) -> None:
        self.f, self.mesh, self.in_specs, self.out_specs = f, mesh, in_specs, out_specs
        self.axis_names, self.check_vma, self.info = axis_names, check_vma, info
        self.store = traces_of(f)
        self.prints = may_print(f)  # what is printed once must not be printed by a trial before

    def region(self, leaves: Sequence[Any]) -> Region:
        """The mesh and axes of a call; the devices of an abstract mesh are those in force, or of the arguments.

        Raises:
          ValueError: there is no mesh, or it lacks an axis.
        """
        state, mesh = mesh_state(), self.mesh
        # Inside of a function per device there is one, too.
        in_force = state.mesh is not None or state.abstract.manual_axes
        if mesh is not None and in_force and state.abstract.shape_tuple != mesh.shape_tuple:
            raise ValueError(f"shard_map: mesh is {mesh}, but another one is in force, {state.abstract}")
        if mesh is None:
            mesh = physical_mesh() or state.abstract
            if mesh.empty:
                raise ValueError(
                    "shard_map: no mesh is given and none is in force; pass `mesh=` or use `with arrax.set_mesh(mesh):`"
                )
        elif isinstance(mesh, AbstractMesh):
            given = (
                leaf.sharding.mesh for leaf in leaves if isinstance(getattr(leaf, "sharding", None), NamedSharding)
            )
            known = (each for each in (physical_mesh(), *given) if each is not None)
            mesh = next((each for each in known if each.shape_tuple == mesh.shape_tuple), mesh)
        taken = frozenset(state.abstract.manual_axes) if state.abstract.shape_tuple == mesh.shape_tuple else frozenset()
        axes = self.axis_names or frozenset(mesh.axis_names) - taken
        unknown = axes - set(mesh.axis_names)
        if unknown:
            raise ValueError(f"shard_map: axis_names {sorted(map(str, unknown))} are no axes of the mesh {mesh}")
        if axes & taken:
            raise ValueError(f"shard_map: the program is already per device over {sorted(map(str, axes & taken))}")
        return Region(mesh, axes, self.check_vma)

    def operand(self, leaf: Any, args: tuple[Any, ...], index: int) -> Any:
        """A leaf of the arguments, by its number, if it is an array."""
        try:
            return checked_operand("shard_map", leaf)
        except TypeError as error:
            raise naming_argument(error, flat_names(self.f, args, {}), index) from None

    def call(self, args: tuple[Any, ...]) -> Any:
        """The function's results, put together."""
        leaves, tree = tree_flatten(args)
        if reference_hooks.run is not None and reference_hooks.among(leaves):
            return reference_hooks.shard(self, args, leaves, tree)
        region = self.region(leaves)
        leaves = [self.operand(leaf, args, index) for index, leaf in enumerate(leaves)]
        ins = self.input_specs(args, leaves, region)
        avals = [typeof(leaf) for leaf in leaves]
        self.check_inputs(avals, ins, region, args)
        pieces = tuple(region.piece(aval, spec) for aval, spec in zip(avals, ins, strict=True))
        tracing = not context.interpreter.is_evaluation or any(isinstance(leaf, Tracer) for leaf in leaves)
        placed = region.mesh._internal_device_list is not None  # type: ignore[attr-defined]
        whole = placed and region.axes == set(region.mesh.axis_names)
        if self.prints and whole and not tracing:
            return self.operation_by_operation(args, leaves, ins, region)
        try:
            context.values_wanted = not tracing and whole
            with region.entered():
                traced = self._traced(args, leaves, pieces)
                outs, program = self.outputs(traced, region)
        except (ConcretizationTypeError, ValueWanted):
            if tracing or not whole:
                raise
            context.values_wanted = False
            return self.operation_by_operation(args, leaves, ins, region)
        finally:
            context.values_wanted = False
        operands = [*program.consts, *traced.captured, *leaves]
        if reference_hooks.run is not None and reference_hooks.among(operands):
            raise NotImplementedError(
                f"shard_map: {function_name(self.f)} closes over a reference; pass it as an argument, cut by its in_specs"
            )
        ins = (*[PartitionSpec()] * (len(operands) - len(leaves)), *ins)
        if not tracing and placed:
            operands = [
                put_value(x, NamedSharding(region.mesh, region.joined(typeof(x), spec)))
                for x, spec in zip(operands, ins, strict=True)
            ]
        results = bind_shard_map(consts_as_inputs(program), operands, region, ins, outs, function_name(self.f))
        return tree_unflatten(traced.out_tree, results)

    def operation_by_operation(
        self, args: tuple[Any, ...], leaves: Sequence[Any], ins: Sequence[PartitionSpec], region: Region
    ) -> Any:
        """The function's results, where it looks at values: each operation runs at once on all devices."""
        tree = tree_flatten(args)[1]
        found: list[Any] = []

        def flat(*blocks: Any) -> list[Any]:
            outs, out_tree = tree_flatten(self.f(*tree_unflatten(tree, blocks)))
            found[:] = [out_tree]
            return [checked_operand("shard_map", out) for out in outs]

        _, avals, together = per_device(region, flat, leaves, ins)
        return tree_unflatten(found[0], together(self.output_specs(found[0], avals, region)))

    def _traced(self, args: tuple[Any, ...], leaves: Sequence[Any], pieces: tuple[Any, ...]) -> Traced:
        split = Split(self.f, (), (), args, {})
        tree = tree_flatten((split.dynamic, split.dynamic_kwargs))[1]
        return trace(self.f, split, "shard_map", self.store, leaves, tree, pieces, self.info)

    def input_specs(self, args: tuple[Any, ...], leaves: Sequence[Any], region: Region) -> tuple[PartitionSpec, ...]:
        """One spec per leaf of the arguments.

        Raises:
          ValueError: the specs are not a tree prefix of the arguments.
        """
        specs = self.in_specs
        if isinstance(specs, Infer) or specs is Infer:
            return tuple(_inferred(leaf, region) for leaf in leaves)
        if isinstance(specs, list):
            specs = tuple(specs)
        try:
            found = named_broadcast_prefix("in_specs", specs, args, is_leaf=_is_spec)
        except ValueError as error:
            raise ValueError(f"shard_map of {function_name(self.f)} for its tuple of arguments: {error}") from None
        return tuple(map(functools.partial(_input_spec, region), found, leaves))

    def check_inputs(
        self, avals: Sequence[Any], specs: Sequence[PartitionSpec], region: Region, args: tuple[Any, ...]
    ) -> None:
        """Refuse arguments that their specs do not fit."""
        for index, (aval, spec) in enumerate(zip(avals, specs, strict=True)):

            def name(index: int = index) -> str:
                return flat_names(self.f, args, {})[index]

            outside = [n for n in spec_names(spec) if n not in region.axes]
            if outside:
                raise ValueError(
                    f"shard_map: in_specs names the axis {outside[0]!r} for the argument {name()}, but the function is per "
                    f"device over {region.ordered(region.axes)} only"
                )
            if len(spec) > aval.ndim:
                raise ValueError(
                    f"shard_map of {function_name(self.f)}: in_specs has {spec} for the "
                    f"argument {name()}, which has {len(spec)} entries, but the argument has rank {aval.ndim} (shape "
                    f"{aval.shape})"
                )
            for axis, (size, count) in enumerate(zip(aval.shape, region.counts(spec, aval.ndim), strict=True)):
                if size % count:
                    raise ValueError(
                        f"shard_map of {function_name(self.f)}: every mesh axis must divide the axis that it cuts, but the sizes of the "
                        f"argument {name()} of type {aval.str_short(True)} are not evenly divisible: axis {axis} of size {size} is cut by "
                        f"{spec[axis]!r} into "
                        f"{count} pieces"
                    )
            if aval.explicit is not None and region.axes.issuperset(region.mesh.axis_names):
                entries = (*map(entry_names, spec), *[()] * (aval.ndim - len(spec)))
                if entries != aval.divided:
                    raise ValueError(
                        f"shard_map of {function_name(self.f)}: in_specs has {spec} for the argument {name()}, but its type "
                        f"{aval.str_short(True)} says that explicit axes of the mesh divide it otherwise. Lay it out anew with "
                        "arrax.reshard, or leave in_specs out: it follows from the types of the arguments"
                    )

    def outputs(self, traced: Traced, region: Region) -> tuple[tuple[PartitionSpec, ...], Any]:
        """One spec per result, and the program whose results vary over just the axes that their specs name."""
        avals = traced.program.out_avals
        specs = self.output_specs(traced.out_tree, avals, region)
        if not region.tracked or all(frozenset(spec_names(s)) <= a.vma for a, s in zip(avals, specs, strict=True)):
            return specs, traced.program
        return specs, traced.program.memo(("varying", specs), lambda: _declared(traced.program, specs))

    def output_specs(self, out_tree: PyTreeDef, avals: Sequence[Any], region: Region) -> tuple[PartitionSpec, ...]:
        """One spec per result.

        Raises:
          ValueError: the specs are not a tree prefix of the result, or do not fit it.
        """
        dummy = tree_unflatten(out_tree, list(range(out_tree.num_leaves)))
        try:
            given = self.out_specs() if callable(self.out_specs) else self.out_specs
            specs = tuple(
                named_broadcast_prefix(
                    "out_specs", given, dummy, is_leaf=lambda e: isinstance(e, PartitionSpec | Infer)
                )
            )
        except ValueError as error:
            raise ValueError(f"shard_map of {function_name(self.f)} for what it returns: {error}") from None
        paths = [keystr(path) for path, _ in tree_flatten_with_path(dummy)[0]]
        for path, aval, spec in zip(paths, avals, specs, strict=True):
            self.check_output(path, aval, spec, region)
        return specs

    def check_output(self, path: str, aval: ShapedArray, spec: PartitionSpec, region: Region) -> None:
        """Refuse a result that its spec does not fit, or that is no array."""
        name = function_name(self.f)
        if not isinstance(aval, ShapedArray):
            raise TypeError(
                f"shard_map of {name}: outputs must be arrays, but the one of out_specs{path} has the type "
                f"{aval.str_short(True)}, which no spec lays out"
            )
        outside = [n for n in spec_names(spec) if n not in region.axes]
        if outside:
            raise ValueError(f"shard_map: out_specs{path} is {spec}, but {name} is not per device over {outside[0]!r}")
        if len(spec) > aval.ndim:
            raise ValueError(
                f"shard_map of {name}: an output has too few axes for its spec: "
                f"out_specs{path} is {spec}, which needs rank at least {len(spec)}, but the output has rank {aval.ndim} "
                f"(type {aval.str_short(True)})"
            )
        extra = region.ordered((aval.vma & region.axes) - set(spec_names(spec))) if region.tracked else ()
        if extra:
            raise ValueError(
                f"shard_map of {name}: that the results agree between devices can't be statically inferred: out_specs{path} is {spec}, so the output must be the same on all devices "
                f"along the mesh axes {extra}, but its type {aval.str_short(True)} says that it may vary over them. Reduce it over "
                "them (such as by lax.psum), name them in out_specs, or pass check_vma=False to go unchecked"
            )


def _input_spec(region: Region, spec: PartitionSpec, leaf: Any) -> PartitionSpec:
    """The spec that an entry of ``in_specs`` means; with None every device has all of the argument."""
    if isinstance(spec, Infer):
        return _inferred(leaf, region)
    return PartitionSpec() if spec is None else spec


def _inferred(leaf: Any, region: Region) -> PartitionSpec:
    """The spec by which an argument lies over the axes of the mesh along which the function is per device."""
    sharding, explicit = getattr(leaf, "sharding", None), typeof(leaf).explicit
    if isinstance(sharding, NamedSharding) and sharding.mesh.axis_names == region.mesh.axis_names:
        return _restricted(sharding.spec, region)
    in_force = mesh_state().abstract  # whose axes are of other types inside of auto_axes
    kinds = in_force if in_force.shape_tuple == region.mesh.shape_tuple else region.mesh
    if np.ndim(leaf) and region.axes.intersection(kinds.auto_axes):
        raise TypeError(
            "shard_map: in_specs must be given, a pytree of PartitionSpecs: how an argument of type "
            f"{typeof(leaf).str_short(True)} lies over {region.mesh} is not known"
        )
    return PartitionSpec() if explicit is None else _restricted(explicit.spec, region)


def _restricted(spec: PartitionSpec, region: Region) -> PartitionSpec:
    """A spec without the axes along which the function is not per device."""
    if region.axes.issuperset(spec_names(spec)):
        return spec
    return PartitionSpec(*(tuple(name for name in entry_names(entry) if name in region.axes) for entry in spec))


def _declared(program: Any, specs: Sequence[PartitionSpec]) -> Any:
    """The program with results declared to vary over the axes that their specs name."""
    closed = type(program)

    def declared(*args: Any) -> list[Any]:
        outs = eval_jaxpr(program.jaxpr, program.consts, *args)
        return [declare_varying(out, frozenset(spec_names(spec))) for out, spec in zip(outs, specs, strict=True)]

    return closed(*stage(declared, program.in_avals))
