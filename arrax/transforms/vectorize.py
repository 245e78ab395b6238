"""``vmap``: map a function over an axis of its arguments."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core import config
from arrax.core.argument_values import flatten_values
from arrax.core.calls import as_index
from arrax.core.explicit_axes import batch_division
from arrax.core.function_info import FunctionInfo, flat_names
from arrax.core.functions import function_name, function_place, named_like
from arrax.core.interpreter import context, run_in
from arrax.core.lengths import is_symbolic
from arrax.core.name_stacks import VMAP
from arrax.core.named_axes import named_axes
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.core.pytree_prefixes import flatten_axes
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.reference_hooks import reference_hooks
from arrax.core.tracebacks import boundary
from arrax.core.types import typeof
from arrax.dtypes.wording import shown
from arrax.interpreters.batched_types import is_spec, vmappables
from arrax.interpreters.batched_values import element_of, put_together
from arrax.interpreters.batching import AxisData, Batch, batch_at, move_batch_axis
from arrax.interpreters.staging import refuse_leaks
from arrax.transforms.differentiated_functions import check_axis_name, check_function, check_leaf
from arrax.transforms.wrapped import F
from arrax.xla.arrays import ArrayLike

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef


def _axis_sizes(
    name: str, fun: Callable[..., Any], args: Any, leaves: Sequence[Any], axes: Sequence[int | None]
) -> dict[int, list[int]]:
    """Indices of the leaves by the length of their mapped axis."""
    sizes: dict[int, list[int]] = {}
    names = functools.partial(flat_names, fun, *args)
    for index, (leaf, axis) in enumerate(zip(leaves, axes, strict=True)):
        if axis is None:
            continue
        shape = check_leaf(name, leaf, names, index).shape
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"{name} cannot map argument {names()[index]} of shape {shape} along axis {axis}: its rank should be at least "
                f"{axis + 1 if axis >= 0 else -axis}, but it is {len(shape)}"
            )
        sizes.setdefault(shape[axis], []).append(index)
    return sizes


def _common_size(
    name: str,
    fun: Callable[..., Any],
    args: Any,
    leaves: Sequence[Any],
    axes: Sequence[int | None],
    axis_size: int | None,
) -> int:
    sizes = _axis_sizes(name, fun, args, leaves, axes)
    if axis_size is not None:
        if not is_symbolic(axis_size) and as_index(axis_size) < 0:
            raise ValueError(f"{name} of {function_name(fun)}: axis_size must not be negative, got {axis_size}")
        sizes.setdefault(axis_size, [])
    if not sizes:
        if not leaves:
            raise ValueError(
                f"{name} of {function_name(fun)}: no argument holds an array to map over, and axis_size is not given"
            )
        raise ValueError(f"{name}: in_axes needs at least one non-None entry, or axis_size must be given")
    if len(sizes) == 1:
        return next(iter(sizes))
    names, lines = flat_names(fun, *args), []
    for size, indices in sizes.items():
        for index in indices[:3]:
            shape = typeof(leaves[index]).shape
            lines.append(
                f"  * the mapped axis {axes[index]} of argument {names[index]} of shape {shape} had size {size}"
            )
        if not indices:
            lines.append(f"  * axis_size was given as {size}")
    listed = "\n".join(lines)
    raise ValueError(f"{name} got inconsistent sizes for array axes to be mapped (in {function_name(fun)}):\n{listed}")


def vmap(
    fun: F,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable | None = None,
    sum_match: bool = False,
) -> F:
    """Map a function over axes of its arguments, without a loop: the operations themselves are batched.

    Args:
      fun: function of arrays or pytrees of them.
      in_axes: for each positional argument the axis to map over (or None), or one for all; may be a tree prefix of the
        arguments. Keyword arguments are mapped over axis 0.
      out_axes: where the mapped axis is in the outputs, a tree prefix of them; None for outputs that do not vary.
      axis_name: name of the axis for collectives such as ``lax.psum``.
      axis_size: its length, needed where no argument is mapped.
      spmd_axis_name: mesh axis along which the mapped axis is sharded.
      sum_match: accepted, without effect.
    Returns: the mapped function.
    Raises:
      TypeError: in_axes or out_axes of a wrong type.
      ValueError: lengths that differ, axes out of bounds.
    Example: ``vmap(jnp.dot)(jnp.ones((5, 3)), jnp.ones((5, 3))).shape`` is ``(5,)``.
    """
    check_function(fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, int | tuple) or is_spec(in_axes)) or isinstance(in_axes, bool):
        raise TypeError(
            f"vmap in_axes must be an int, None, or a tuple with one entry per positional argument, but got {shown(in_axes)}."
        )
    check_axis_name("vmap", axis_name)
    for entry, which in ((in_axes, "in_axes"), (out_axes, "out_axes")):
        _check_axes(which, entry)

    @boundary
    @named_like(fun)
    def vmap_f(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap in_axes has {len(in_axes)} entries, but the function is called with {len(args)} positional arguments: a "
                "tuple needs one entry for each of them"
            )
        leaves, tree = flatten_values((args, kwargs))
        axes = _axes_of_arguments(tree, in_axes)
        lengths: list[Any] = axes
        if vmappables:  # whose specs may be ints, and say nothing of a length
            lengths = [None if type(leaf) in vmappables else axis for leaf, axis in zip(leaves, axes, strict=True)]
        size = _common_size("vmap", fun, (args, kwargs), leaves, lengths, axis_size)
        axis = AxisData(axis_name, size, spmd_axis_name, batch_division(leaves, lengths))
        result, batch = _mapped(fun, leaves, tree, axes, out_axes, axis)
        if config.check_tracer_leaks.cell.value:
            refuse_leaks(batch, FunctionInfo("vmap", function_name(fun), function_place(fun)))
        return result

    return vmap_f  # type: ignore[return-value]


def _axes_of_arguments(tree: PyTreeDef, in_axes: Any) -> list[Any]:
    """The axis of each leaf of ``(args, kwargs)``; that of keyword arguments is 0."""
    positional, by_name = tree.children()
    axes = flatten_axes("vmap in_axes", positional, in_axes, tupled_args=True)
    return [*axes, *[0] * by_name.num_leaves]


def _mapped(
    fun: Callable[..., Any], leaves: Sequence[Any], tree: PyTreeDef, axes: Sequence[int | None], out_axes: Any,
    axis: AxisData,
) -> tuple[Any, weakref.ref[Any]]:  # fmt: skip
    """The result of a function over a batch, and a weak reference to the interpreter, which nothing should hold now."""
    batch = Batch(context.interpreter, axis, fun=fun)

    def mapped() -> tuple[Any, Any]:
        join = batch.join if reference_hooks.join is None else functools.partial(reference_hooks.join, batch)

        def element(x: Any, dim: int | None) -> Any:
            return join(x, None if dim is None else dim % typeof(x).ndim)

        entries = zip(leaves, axes, strict=True)
        if vmappables:
            inputs = [element_of(batch, x, dim) if type(x) in vmappables else element(x, dim) for x, dim in entries]
        else:
            inputs = [element(x, dim) for x, dim in entries]
        with named_axes(*(((axis.name, axis.size),) if axis.name is not None else ())):
            mapped_args, mapped_kwargs = tree_unflatten(tree, inputs)
            return tree_flatten(fun(*mapped_args, **mapped_kwargs))

    outs, out_tree = run_in(batch, mapped, name=VMAP)
    targets = flatten_axes("vmap out_axes", out_tree, out_axes)
    try:
        placed = [_place(batch, out, target) for out, target in zip(outs, targets, strict=True)]
    except _Refused as found:
        raise _refusal(fun, outs, out_tree, found) from None
    return tree_unflatten(out_tree, placed), weakref.ref(batch)


def _check_axes(which: str, entry: Any) -> None:
    leaves = tree_flatten(entry)[0]
    if not all(isinstance(leaf, int) or not hasattr(leaf, "shape") for leaf in leaves):
        raise TypeError(
            f"vmap {which} must be an int, None, or (nested) container with those types as leaves, but got {entry}."
        )
    if not all((isinstance(leaf, int) and not isinstance(leaf, bool)) or is_spec(leaf) for leaf in leaves):
        raise TypeError(
            f"vmap {which} must be an int, None, or (nested) container with those types as leaves, but got {entry}."
        )


class _Refused(Exception):
    """An output that should not vary over the batch, or, without ``dim``, one that is no array."""

    def __init__(self, value: Any, dim: int | None = None) -> None:
        super().__init__()
        self.value, self.dim = value, dim


def _refusal(fun: Callable[..., Any], outs: Sequence[Any], tree: PyTreeDef, found: _Refused) -> Exception:
    """What to say of an output that is no array, or mapped though ``out_axes`` is None for it, naming its place."""
    paths = tree_flatten_with_path(tree_unflatten(tree, range(len(outs))))[0]
    path = next((keystr(path) for (path, _), out in zip(paths, outs, strict=True) if out is found.value), "")
    if found.dim is None:
        return TypeError(
            f"function {function_name(fun)} mapped by vmap returned a value of type {type(found.value)}"
            f"{' at output component ' + path if path else ''}, which is not a valid array type"
        )
    return ValueError(
        f"vmap has mapped output but out_axes is None: at vmap out_axes{path}, got axis spec None but output was batched on "
        f"axis {found.dim}: function {function_name(fun)} returned a value that depends on the mapped arguments"
    )


def _place(batch: Batch, out: Any, target: int | None) -> ArrayLike:
    if vmappables and type(out) in vmappables:
        return put_together(batch, out, target, _place)
    if reference_hooks.run is not None and reference_hooks.among((out,)):
        return reference_hooks.returned("vmap", out, lambda content: _place(batch, content, target))
    try:
        typeof(out)
    except TypeError:
        raise _Refused(out) from None
    value, dim = batch.lift(out)
    if target is None:
        if dim is not None:
            raise _Refused(out, dim)
        return value
    rank = typeof(value).ndim + (dim is None)
    if not -rank <= target < rank:
        raise ValueError(
            f"vmap out_axes {target} is out of bounds for an output of rank {rank} (the mapped axis included)"
        )
    if dim is None:
        return batch_at(value, None, batch.axis, target % rank)
    return move_batch_axis(value, dim, batch.size, target % rank)
