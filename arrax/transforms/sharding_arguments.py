"""What users say of the shardings of a function's arguments and results: tree prefixes of shardings, specs, None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.memory_spaces import MemorySpace
from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import typeof
from arrax.interpreters.placements import Placement, asked_of_results, memories_of_primitive, orders_of_primitive
from arrax.native import runtime
from arrax.xla import axis_orders
from arrax.xla.devices import single_sharding
from arrax.xla.memories import kind_in
from arrax.xla.meshes import Mesh, over_devices, physical_mesh
from arrax.xla.shardings import UNSPECIFIED, Auto, NamedSharding, Unspecified

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef
    from arrax.transforms.tracing import Traced


Leaf = Any  # a Sharding, PartitionSpec, Format, None, UNSPECIFIED, AUTO or _WHOLE_OVER_MESH
Meaning = Callable[[str, Leaf, "Mesh | None"], Any]


class _WholeOverMesh:
    """Whole on every device of the mesh in force; without one, the compiler chooses."""

    __slots__ = ()


_WHOLE_OVER_MESH = _WholeOverMesh()


def _is_leaf(entry: Any) -> bool:
    return entry is None or isinstance(entry, PartitionSpec | runtime.Sharding | Unspecified | _WholeOverMesh)


def whole_where_none(tree: Any) -> Any:
    """A pytree of shardings in which None means whole on every device of the mesh that a call finds in force, as in ``pjit``."""
    leaves, structure = tree_flatten(tree, is_leaf=_is_leaf)
    return tree_unflatten(structure, [_WHOLE_OVER_MESH if leaf is None else leaf for leaf in leaves])


def checked_shardings(name: str, tree: Any) -> Any:
    """A pytree of shardings as users write it.

    Args:
      name: ``in_shardings`` or ``out_shardings``.
    Raises:
      TypeError: a leaf is something else than a sharding, a PartitionSpec, None or UNSPECIFIED.
    """
    for leaf in tree_flatten(tree, is_leaf=_is_leaf)[0]:
        if not _is_leaf(leaf) and not isinstance(leaf, Auto) and leaf is not Auto and not _is_format(leaf):
            raise TypeError(
                f"{name} leaf specifications are expected to be Sharding or PartitionSpec instances or None, but got "
                f"{leaf!r} of type {type(leaf)}"
            )
    return tree


def leaves_all_open(tree: Any) -> bool:
    """Whether a pytree of shardings says of no value how it lies: all its leaves are None."""
    return all(leaf is None or leaf is UNSPECIFIED for leaf in tree_flatten(tree, is_leaf=_is_leaf)[0])


def _is_format(leaf: Any) -> bool:
    return hasattr(leaf, "layout") and (leaf.sharding is None or isinstance(leaf.sharding, runtime.Sharding))


def _of_format(leaf: Any) -> Any:
    """The sharding of a format (layout and sharding), or None."""
    found = getattr(leaf, "sharding", None)
    return found if isinstance(found, runtime.Sharding) else None


def resolved(name: str, leaf: Leaf, mesh: Mesh | None) -> runtime.Sharding | None:
    """The sharding that one entry means; None where the compiler chooses.

    Raises:
      RuntimeError: a spec without a mesh in force.
      ValueError: one that leaves an axis to the compiler.
    """
    if PartitionSpec.UNCONSTRAINED in (leaf if isinstance(leaf, PartitionSpec) else getattr(leaf, "spec", ())):
        raise ValueError(f"{name} says how values lie, so that no axis can be UNCONSTRAINED, got {leaf}")
    if isinstance(leaf, runtime.Sharding):
        leaf = over_devices(leaf, mesh)
        leaf.is_fully_addressable  # noqa: B018  (raises where the sharding is over an abstract mesh)
        return leaf
    if isinstance(leaf, PartitionSpec):
        if mesh is None:
            raise RuntimeError(
                f"{name} has the PartitionSpec {leaf}, which needs a mesh in force: define one by `arrax.set_mesh(mesh)` or "
                "`with mesh:`, or pass NamedShardings, which carry their own"
            )
        return NamedSharding(mesh, leaf)
    if isinstance(leaf, runtime.Device):
        return single_sharding(leaf)
    if leaf is _WHOLE_OVER_MESH:
        return None if mesh is None else NamedSharding(mesh, PartitionSpec())
    if leaf is None or leaf is UNSPECIFIED or leaf is Auto or isinstance(leaf, Auto):
        return None
    return _of_format(leaf)


def layout_in(name: str, leaf: Leaf, mesh: Mesh | None) -> Any:
    """The layout that one entry asks for, where it is a format, or None."""
    return getattr(leaf, "layout", None)


def for_arguments(
    shardings: Any, dynamic: Sequence[Any], kwargs: dict[str, Any], meaning: Meaning = resolved
) -> list[Any]:
    """One sharding or None per leaf of ``(dynamic, kwargs)``, from a prefix of the positional arguments' tuple.

    Args:
      meaning: what is asked of each entry; its sharding if not given.
    Raises:
      ValueError: the shardings are not a tree prefix of the arguments, or are meant for keyword arguments, too.
    """
    count = len(tree_flatten((tuple(dynamic), kwargs))[0])
    if shardings is None or shardings is UNSPECIFIED:
        return [None] * count
    mesh = physical_mesh()
    if _is_leaf(shardings) or isinstance(shardings, Auto):
        return [meaning("jit's in_shardings", shardings, mesh)] * count
    if kwargs:
        raise ValueError(
            f"jit does not support kwargs when in_shardings is specified: got the keyword arguments {sorted(kwargs)}"
        )
    if isinstance(shardings, list | tuple):
        shardings = tuple(shardings)
        if len(shardings) != len(dynamic):
            raise ValueError(
                "jit in_shardings specification must be a tree prefix of the positional arguments tuple: got a tuple or list "
                f"of length {len(shardings)} for an args tuple of length {len(dynamic)}"
            )
    elif len(dynamic) == 1:
        shardings = (shardings,)
    leaves = named_broadcast_prefix("jit's in_shardings", shardings, tuple(dynamic), _is_leaf)
    return [meaning("jit's in_shardings", leaf, mesh) for leaf in leaves]


def for_results(shardings: Any, out_tree: PyTreeDef, meaning: Meaning = resolved) -> list[Any]:
    """One sharding or None per leaf of a result of a structure.

    Args:
      meaning: what is asked of each entry; its sharding if not given.
    Raises:
      ValueError: the shardings are not a tree prefix of the result.
    """
    if shardings is None or shardings is UNSPECIFIED:
        return [None] * out_tree.num_leaves
    mesh = physical_mesh()
    if _is_leaf(shardings) or isinstance(shardings, Auto):
        return [meaning("jit's out_shardings", shardings, mesh)] * out_tree.num_leaves
    results = tree_unflatten(out_tree, list(range(out_tree.num_leaves)))
    leaves = named_broadcast_prefix("jit's out_shardings", shardings, results, _is_leaf)
    return [meaning("jit's out_shardings", leaf, mesh) for leaf in leaves]


def sharding_key(tree: Any) -> Any:
    """The contents of a pytree of shardings, hashable: what compiled calls depend on."""
    if tree is None:
        return None
    leaves, structure = tree_flatten(tree, is_leaf=_is_leaf)
    return tuple(leaves), structure


def in_orders_asked(
    placement: Placement, ins: Any, outs: Any, leaves: Sequence[Any], traced: Traced, dynamic: Any, kwargs: Any
) -> Placement:
    """The placement of a call, with the orders and memories in which arguments and results are asked to be.

    Args:
      ins, outs: what the user said of arguments and results, which may be formats: a layout and a sharding.
    Raises:
      ValueError: a layout that does not fit a value.
    """
    avals = traced.program.out_avals
    nothing: list[Any] = [None] * len(avals)
    looked = axis_orders.ever_asked()
    of_program = asked_of_results(traced.program, orders_of_primitive) if looked else nothing
    memories = asked_of_results(traced.program, memories_of_primitive) if looked else nothing
    in_layouts = [getattr(leaf, "layout", None) for leaf in leaves]  # of descriptions
    if ins is not None and dynamic is not None:
        in_layouts = for_arguments(ins, dynamic, kwargs, layout_in)
    in_orders = tuple(map(axis_orders.asked_order, in_layouts, (typeof(leaf).ndim for leaf in leaves)))
    out_layouts = for_results(outs, traced.out_tree, layout_in)
    out_orders = tuple(
        axis_orders.asked_order_of_result(layout, aval.ndim) if layout is not None else order
        for layout, aval, order in zip(out_layouts, avals, of_program, strict=True)
    )
    if any(memories):
        kinds = [kind_in(m, placement.device) if isinstance(m, MemorySpace) else m for m in memories]
        usual = placement.device.default_memory().kind
        asked = placement.out_shardings or nothing
        free = (kind if out is None and kind != usual else None for kind, out in zip(kinds, asked, strict=True))
        placement = placement._replace(out_memories=tuple(free))
    if any(in_orders) or any(out_orders):
        placement = placement._replace(in_orders=in_orders, out_orders=out_orders)
    return placement
