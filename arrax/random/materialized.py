"""Values that are computed before what follows: random numbers are dear, and a program must not compute them twice.

The compiler fuses what makes an array with what takes it. Random bits, a hundred operations each, are then computed anew
for each use, and without vector instructions inside of reductions and of loops over short rows. Its own barriers don't
stand in the way: on CPUs they are gone before it fuses. A loop does, if the compiler cannot know that it never turns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_below
from arrax.core.types import Zero, typeof
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax import arithmetic, bitwise
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.conversion import convert
from arrax.lax.shapes import reshape
from arrax.lax.static_slicing import slice_
from arrax.xla.arrays import Array

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext


FEW = 4  # elements; of fewer, a loop (a tenth of a microsecond) costs more than it saves
LARGE = 1 << 5  # elements; loops over smaller arrays take no time, however they run
SHORT = 256  # rows of fewer elements are short

materialized_p = Primitive("materialized")
materialized_p.type_rule = lambda x: x
materialized_p.impl = lambda x: x
materialized_p.batch = lambda values, dims: (materialized_p.bind(*values), *dims)
materialized_p.transpose = lambda ct, x: [ct if type(ct) is Zero else materialized_p.bind(ct)]


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    out = materialized_p.bind(*primals)
    return out, Zero.of(out) if type(tangents[0]) is Zero else tangents[0]


def _unless_odd(x: Array) -> Array:
    """The value, through a loop whose condition, that the last bit of an element be above 1, never holds."""
    rank = typeof(x).ndim

    def impossible(x: Array) -> Array:
        corner = reshape(slice_(x, (0,) * rank, (1,) * rank), ())
        return arithmetic.gt(bitwise.bitwise_and(convert(corner, np.uint32), np.uint32(1)), np.uint32(1))

    return while_loop(impossible, arithmetic.neg, x)


materialized_p.jvp = _jvp
_lower_on_one_device = lower_fun(_unless_odd, multiple_results=False)


def _lower_on_cpu(ctx: LoweringContext, x: Value) -> Any:
    """Several devices are left alone: all of them would have to be told whether the loop turns."""
    alone = ctx.module_context.num_devices == 1 and ctx.avals_in[0].size
    return _lower_on_one_device(ctx, x) if alone else [x]


materialized_p.lower[None] = lambda ctx, x: [x]
materialized_p.lower["cpu"] = _lower_on_cpu


def materialized(x: Array) -> Array:
    """The values, computed once; a few elements are left to the compiler."""
    return materialized_p.bind(x) if not is_below(typeof(x).size, FEW, True) else x


def materialized_keys(words: Array) -> Array:
    """The words of keys, computed once, however few: the compiler would hash anew in all that draws from them."""
    return materialized_p.bind(words)


def has_short_rows(shape: tuple[int, ...]) -> bool:
    """Whether loops over an array's rows are short."""
    return len(shape) > 1 and is_below(shape[-1], SHORT, False) and not is_below(math.prod(shape), LARGE, True)
