"""What the CPU's compiler computes in one loop with the operation that takes it."""

from __future__ import annotations

from collections.abc import Sequence

from arrax.core.explicit_axes import elementwise
from arrax.core.program import Atom, JaxprEqn, open_jaxpr
from arrax.interpreters.platform_forms import Around
from arrax.lax.axis_order import rev_p, transpose_p
from arrax.lax.calls import jit_p
from arrax.lax.concatenation import concatenate_p, split_p
from arrax.lax.filled_arrays import iota_p
from arrax.lax.shapes import broadcast_in_dim_p, reshape_p, squeeze_p
from arrax.lax.stacking import stack_p
from arrax.lax.static_slicing import pad_p, slice_p

_RESHAPES = frozenset({reshape_p, squeeze_p, broadcast_in_dim_p})
_REGROUPINGS = _RESHAPES | {transpose_p, slice_p, split_p, pad_p, concatenate_p, stack_p, rev_p, iota_p}


def is_in_loop(eqn: JaxprEqn) -> bool:
    """Whether an operation, or all of those that a call consists of, is elementwise or takes elements from other places."""
    if eqn.primitive is jit_p:
        return all(map(is_in_loop, open_jaxpr(eqn.params["jaxpr"]).eqns))
    return eqn.primitive.divides is elementwise or eqn.primitive in _REGROUPINGS


def is_reshape(eqn: JaxprEqn) -> bool:
    """Whether an operation gives an array another shape, and its elements lie where they lay."""
    if eqn.primitive not in _RESHAPES or len(eqn.invars) > 1:  # lengths that are data
        return False
    return eqn.invars[0].aval.size == eqn.outvars[0].aval.size


def in_loop_makers(atom: Atom, around: Around, limit: int) -> Sequence[JaxprEqn] | None:
    """The operations that are computed in one loop with what takes a value; None where they are more than ``limit``."""
    makers, left = dict[Atom, JaxprEqn](), [atom]
    while left:
        maker = around.maker(left.pop())
        if maker is None or maker.outvars[0] in makers or not is_in_loop(maker):
            continue
        makers[maker.outvars[0]] = maker
        left += maker.invars
        if len(makers) > limit:
            return None
    return list(makers.values())
