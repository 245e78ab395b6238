"""Constraints on where intermediate values lie."""

from __future__ import annotations

from typing import Any

from arrax.core.interpreter import Primitive
from arrax.core.pytree_prefixes import broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import Zero, typeof
from arrax.lax.families import checked_operand
from arrax.lax.placement import put_value
from arrax.native import runtime

sharding_constraint_p = Primitive("sharding_constraint")
sharding_constraint_p.type_rule = lambda aval, **params: aval
sharding_constraint_p.impl = lambda x, *, sharding, **params: put_value(x, sharding)
sharding_constraint_p.transpose = lambda ct, x, **params: [
    Zero(x.aval) if type(ct) is Zero else sharding_constraint_p.bind(ct, **params)
]
sharding_constraint_p.batch = lambda values, dims, **params: (sharding_constraint_p.bind(*values, **params), dims[0])


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    out = sharding_constraint_p.bind(*primals, **params)
    return out, Zero.of(out) if type(tangents[0]) is Zero else sharding_constraint_p.bind(*tangents, **params)


def _lower(ctx: Any, x: Any, *, sharding: Any, **params: Any) -> list[Any]:
    """On one device every value lies there."""
    if ctx.module_context.num_devices > 1:
        raise NotImplementedError("with_sharding_constraint in a program for several devices")
    return [x]


sharding_constraint_p.jvp = _jvp
sharding_constraint_p.lower[None] = _lower


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The values themselves, which the compiler lays out as told.

    Args:
      x: array or pytree of arrays.
      shardings: a sharding, or a tree prefix of ``x`` of them.
    Returns: a pytree like ``x``.
    Raises:
      ValueError: something else than shardings, or a sharding that does not fit a value.
    Example: ``lax.with_sharding_constraint(x, arrax.sharding.SingleDeviceSharding(arrax.devices()[0]))``.
    """
    leaves, tree = tree_flatten(x)
    if isinstance(shardings, runtime.Sharding):
        places = [shardings] * len(leaves)
    else:
        places = broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    return tree_unflatten(tree, [_constrained(leaf, place) for leaf, place in zip(leaves, places, strict=True)])


def _constrained(x: Any, sharding: Any) -> Any:
    x = checked_operand("with_sharding_constraint", x)
    if not isinstance(sharding, runtime.Sharding):
        raise ValueError(
            f"with_sharding_constraint: expected a sharding for a value of type {typeof(x).str_short()}, got {sharding!r}; "
            "partition specs need a mesh around them"
        )
    sharding.shard_shape(typeof(x).shape)
    return sharding_constraint_p.bind(
        x, sharding=sharding, layout=None, context_mesh=None, unconstrained_dims=frozenset()
    )
