"""``scan``: a loop that carries a value over the elements of arrays and stacks what each step returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from arrax.core import config, errors
from arrax.core.argument_values import flatten_values
from arrax.core.calls import as_index
from arrax.core.explicit_axes import mapped_sharding
from arrax.core.interpreter import Tracer
from arrax.core.lengths import is_symbolic
from arrax.core.memory_spaces import MemorySpace, memories_in_types
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_map, tree_structure, tree_unflatten
from arrax.core.types import ShapedArray, slots, typeof
from arrax.dtypes.wording import shown
from arrax.interpreters.high_types import lowered, raised
from arrax.lax.concatenation import concatenate
from arrax.lax.control_flow import scan_reverse
from arrax.lax.control_flow.carries import check_carry, staged_with_promotion
from arrax.lax.control_flow.scan_rules import bind_scan, scan_p
from arrax.lax.control_flow.staged_functions import Places, StagedFunction, owned, stage_function
from arrax.lax.shapes import expand_dims, squeeze
from arrax.lax.static_slicing import slice_in_dim

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike

Carried = TypeVar("Carried")
Stacked = TypeVar("Stacked")
__all__ = ["scan", "scan_p", "scan_reverse"]


def scan(
    f: Callable[[Any, Any], tuple[Carried, Stacked]],
    init: Any,
    xs: Any | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carried, Stacked]:
    """Carry a value over the elements of ``xs`` along their leading axis, and stack what each step returns.

    Args:
      f: function of the carry and an element to (next carry, y); the carry keeps its structure, shapes and dtypes.
      init: the first carry, an array or a pytree of them.
      xs: arrays or a pytree of them with leading axes of one length, or None.
      length: number of steps, needed where ``xs`` has no arrays.
      reverse: go from the last element to the first; ``ys`` keep the order of ``xs``.
      unroll: how many steps to put into one turn of the compiled loop; True for all of them.
    Returns: (last carry, stacked ys).
    Raises:
      TypeError: ``f`` returns no pair, or a carry of another structure or type.
      ValueError: lengths that differ or are not known. OverflowError: 2^31 steps or more.
    Example: ``lax.scan(lambda c, x: (c + x, c), 0, jnp.arange(4))`` is ``(6, [0, 0, 1, 3])``.
    """
    return scan_of(
        "scan", f, init, xs, length, reverse=reverse, unroll=unroll, user=f, _split_transpose=_split_transpose
    )


def checked_unroll(construct: str, unroll: Any) -> int | bool:
    """How many steps a turn of the compiled loop has, as a bool or a Python int that is not negative."""
    if isinstance(unroll, Tracer):
        raise errors.ConcretizationTypeError(unroll, f"It arose in the `unroll` argument of lax.{construct}.")
    if not isinstance(unroll, int | np.integer) or unroll < 0:
        raise ValueError(f"{construct}: `unroll` must be a bool or a non-negative int, got {unroll!r}")
    return unroll if isinstance(unroll, bool) else int(unroll)


def scan_of(
    construct: str, f: Callable, init: Any, xs: Any, length: int | None, *, reverse: bool = False,
    unroll: int | bool = 1, user: Callable, places: Places | None = None, _split_transpose: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The scan of a construct whose user wrote ``user``, with the arguments of ``f`` at ``places`` (None: all of them)."""
    if not callable(f):
        raise TypeError(f"lax.{construct}: f should be a callable, got {f!r} of type {type(f)}")
    unroll = checked_unroll(construct, unroll)
    init, xs = lowered(init), lowered(xs)
    x_leaves, xs_tree = flatten_values(xs)
    steps = _length(construct, x_leaves, xs, length)
    if config.disable_jit.cell.value:
        return _in_python(f, raised(tree_map(owned, init)), x_leaves, xs_tree, steps, reverse)
    x_avals = [_element_type(typeof(x)) for x in x_leaves]
    init_leaves, carry_tree = flatten_values(init)
    in_tree = tree_structure((init, xs))

    def stage_body(avals: list[Any]) -> StagedFunction:
        staged = stage_function(f, in_tree, [*avals, *x_avals], construct, user, places)
        _check_pair(construct, staged)
        return staged

    def carry_outs(staged: StagedFunction) -> Sequence[Any] | None:
        return (
            staged.program.out_avals[: carry_tree.num_leaves] if staged.out_tree.children()[0] == carry_tree else None
        )

    staged, init_leaves = staged_with_promotion(stage_body, init_leaves, carry_outs)
    out_carry, ys_tree = staged.out_tree.children()
    count = carry_tree.num_leaves
    out_avals = staged.program.out_avals[: out_carry.num_leaves]
    check_carry(construct, user, carry_tree, out_carry, [typeof(x) for x in init_leaves], out_avals, places)
    settings = {"length": steps, "reverse": bool(reverse), "unroll": unroll if unroll is True else max(int(unroll), 1)}
    outs = bind_scan(
        staged.program, staged.consts, init_leaves, x_leaves, {**settings, "_split_transpose": bool(_split_transpose)}
    )
    return raised((tree_unflatten(carry_tree, outs[:count]), tree_unflatten(ys_tree, outs[count:])))


def _check_pair(construct: str, staged: StagedFunction) -> None:
    tree = staged.out_tree
    data = tree.node_data()
    if data is None or data[0] not in (tuple, list) or len(tree.children()) != 2:
        raise TypeError(
            f"{construct}: the body must return a pair (carry, y), but {staged.info.describe()} returned "
            f"{_shown(staged)}"
        )


def _shown(staged: StagedFunction) -> str:
    return str(tree_unflatten(staged.out_tree, [aval.str_short(False) for aval in staged.program.out_avals]))


def _element_type(aval: ShapedArray) -> ShapedArray:
    element = aval.update(shape=aval.shape[1:])  # a step takes it out, to where it computes
    element = element.update(memory_space=MemorySpace.Device) if memories_in_types.other_than_device else element
    explicit = getattr(aval, "explicit", None)
    return element if explicit is None else element.update(sharding=mapped_sharding(aval, 0))


def _length(construct: str, leaves: Sequence[Any], xs: Any, length: int | None) -> int:
    """The number of steps: what the leading axes and ``length`` say."""
    avals = [_valid_type(construct, leaf) for leaf in leaves]
    if any(aval.shape == () for aval in avals):
        paths = tree_flatten_with_path(xs)[0]
        scalars = ", ".join(
            f"xs{keystr(path)}" for (path, _), aval in zip(paths, avals, strict=True) if aval.shape == ()
        )
        raise ValueError(f"{construct}: xs need a leading axis to loop over, but {scalars} has none")
    sizes = list(dict.fromkeys(aval.shape[0] for aval in avals))
    if isinstance(length, Tracer):
        raise errors.ConcretizationTypeError(
            length, f"The `length` of a {construct} must be a concrete int; for others use `while_loop` or `fori_loop`."
        )
    if length is not None:
        length = as_index(length)
        if any(size != length for size in sizes):
            raise ValueError(f"{construct}: `length` is {length}, but the leading axes of xs have the sizes {sizes}")
        if length < 0:
            raise ValueError(f"{construct}: `length` must not be negative, got {length}")
        if not is_symbolic(length) and length >= 1 << 31:
            raise OverflowError(f"{construct}: steps are counted in int32, which has no {length}: use `fori_loop`")
        return length
    if not sizes:
        raise ValueError(f"{construct}: there are no values to scan over and no `length` is given")
    if len(sizes) > 1:
        raise ValueError(f"{construct}: xs have leading axes of different sizes: {', '.join(map(str, sizes))}")
    return sizes[0]


def _valid_type(construct: str, leaf: Any) -> ShapedArray:
    try:
        return typeof(leaf)
    except TypeError:
        raise TypeError(
            f"lax.{construct}: {shown(leaf)} of type {type(leaf)} among xs is not a valid array type"
        ) from None


# ---- without compilation ---------------------------------------------------------------------------------------------


def _in_python(
    f: Callable, carry: Any, leaves: Sequence[Any], xs_tree: PyTreeDef, length: int, reverse: bool
) -> tuple[Any, Any]:
    """The loop in Python, step by step."""
    if length == 0:
        raise ValueError(
            "a scan over zero steps is not supported while disable_jit is set: there is no y to take types from"
        )
    ys = []
    for step in range(length):
        index = length - 1 - step if reverse else step
        element = raised(tree_unflatten(xs_tree, [at_index(leaf, index) for leaf in leaves]))
        carry, y = f(carry, element)
        ys.append(tree_flatten(lowered(y)))
    if reverse:
        ys.reverse()
    columns = zip(*(leaves for leaves, _ in ys), strict=True)
    return carry, raised(tree_unflatten(ys[0][1], [_stacked(column) for column in columns]))


def at_index(x: ArrayLike, index: int) -> Array:
    """Element ``index`` along the leading axis."""
    return squeeze(slice_in_dim(x, index, index + 1), (0,))


def _stacked(values: Sequence[Any]) -> Array:
    """Arrays, keys or numbers of one type along a new leading axis."""
    values = [slots.convert(x, typeof(x)) if isinstance(x, int | float | complex) else x for x in values]
    return concatenate([expand_dims(value, (0,)) for value in values], 0)
