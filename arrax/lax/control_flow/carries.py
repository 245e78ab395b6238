"""Carries of loops: weakly typed initial values are promoted to the body's types; mismatches are told leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arrax import dtypes
from arrax.core.functions import argument_names
from arrax.core.pytree_mismatch import mismatches
from arrax.core.pytree_nodes import default_registry
from arrax.core.pytree_paths import keystr
from arrax.core.pytrees import PyTreeDef, tree_unflatten
from arrax.core.types import ShapedArray, slots, typeof
from arrax.lax.control_flow.staged_functions import Places, leaf_names
from arrax.lax.conversion import convert


def same_type(x: ShapedArray, y: ShapedArray) -> bool:
    """Whether two types are equal, but for weakness."""
    if not isinstance(x, ShapedArray) or not isinstance(y, ShapedArray):
        return x == y
    return x.shape == y.shape and x.dtype == y.dtype


def same_carry(x: ShapedArray, y: ShapedArray) -> bool:
    """Whether two types are equal but for weakness, in one memory, and not divided differently by explicit axes of a mesh."""
    if not same_type(x, y):
        return False
    if getattr(x, "memory_space", None) is not getattr(y, "memory_space", None):
        return False
    known = (getattr(x, "explicit", None), getattr(y, "explicit", None))
    return None in known or known[0] is known[1]


def promoted(values: Sequence[Any], outs: Sequence[Any]) -> list[Any] | None:
    """Weakly typed initial values converted, where outputs have other dtypes; None where nothing changes."""
    result, changed = list(values), False
    for index, (value, out) in enumerate(zip(values, outs, strict=True)):
        aval = typeof(value)
        if getattr(out, "vma", None) and out.vma - aval.vma:  # the carry varies over mesh axes after the first step
            result[index], changed = slots.vary(value, out.vma - aval.vma), True
            continue
        if not getattr(aval, "weak_type", False) or aval.dtype == out.dtype or dtypes.is_extended(out.dtype):
            continue
        dtype, _ = dtypes.result_type_of([(aval.dtype, True), (out.dtype, out.weak_type)])
        result[index], changed = convert(value, dtype), True  # no longer weak: so are the carries that come after it
    return result if changed else None


def staged_with_promotion(
    stage_body: Callable[[list[Any]], Any], init: Sequence[Any], carry_outs: Callable[[Any], Sequence[Any] | None]
) -> tuple[Any, list[Any]]:
    """Stage a body for the types of ``init``, and again while weakly typed values of it must be promoted.

    Args:
      stage_body: function of the types of the carry to whatever was staged.
      carry_outs: function of that to the types of the carry that comes out, or None where the trees differ.
    Returns: what was staged, and the (converted) initial values.
    """
    values = list(init)
    while True:
        staged = stage_body([typeof(value) for value in values])
        outs = carry_outs(staged)
        better = promoted(values, outs) if outs is not None and len(outs) == len(values) else None
        if better is None:
            return staged, values
        values = better


def check_carry(
    construct: str,
    fun: Callable,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    ins: Sequence[ShapedArray],
    outs: Sequence[ShapedArray],
    places: Places | None = None,
) -> None:
    """Compare the carry that goes into a body with the one that comes out.

    Args:
      construct: such as ``scan``.
      fun: the user's function, which takes the carry as its first argument (as its second, where it gets a part of it).
      places: where the arguments of ``fun`` are in those of the body, if the construct adds leaves of its own in front.
    Raises:
      TypeError: structures or types differ.
    """
    part = None if places is None else next(iter(places[-1][1:]), None)
    if part is not None:
        in_tree, out_tree = in_tree.children()[part], out_tree.children()[part]
        ins, outs = ins[part:], outs[part:]
    if in_tree == out_tree and all(map(same_carry, ins, outs)):
        return
    name = argument_names(fun, range(1 if part is None else 2), {})[-1]
    if in_tree != out_tree:
        raise TypeError(
            f"{construct}: the carry that the body returns must have the pytree structure of the carry that it takes, "
            f"but {tree_difference(f'the carry {name} that goes in', 'the one that comes out', in_tree, out_tree)}.\n"
            "Change the body so that both structures agree."
        )
    lines = [
        f"  * {path} goes in as {before.str_short(False)} and comes out as {after.str_short(False)}: "
        f"{type_difference(before, after)}"
        for path, before, after in zip(leaf_names(name, in_tree), ins, outs, strict=True)
        if not same_carry(before, after)
    ]
    raise TypeError(
        f"{construct}: body function carry input and carry output must have equal types, but they differ:\n"
        + "\n".join(lines)
        + "\nConvert the initial value, or what the body returns, so that the types agree."
    )


def type_difference(x: ShapedArray, y: ShapedArray) -> str:
    """``the dtypes differ``, ``the shapes differ``, both or where values lie; or the shardings of the types."""
    kinds = (("dtypes", "dtype"), ("shapes", "shape"), ("memory spaces", "memory_space"))
    words = [word for word, field in kinds if getattr(x, field) != getattr(y, field)]
    return f"the {' and the '.join(words or ['shardings'])} differ"


def tree_difference(first: str, second: str, tree: PyTreeDef, other: PyTreeDef) -> str:
    """Where two structures differ, in words."""
    for a, b, one, two in ((tree, other, first, second), (other, tree, second, first)):
        for mismatch in mismatches(tree_unflatten(a, range(a.num_leaves)), b, default_registry, full_is_treedef=True):
            place = keystr(mismatch.path)
            return mismatch.describe(one, two) + (f" (at {place})" if place else "")
    return f"{first} has structure {tree}, {second} has {other}"
