"""How loops keep the arrays that they take elements out of and put elements into.

The compiler for the CPU computes with bfloat16 and the floats of one byte by converting them, and where one element of an
array is read or written it converts all of it, in every turn of a loop. So there these arrays are kept as unsigned integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext


def kept_type(ctx: LoweringContext, aval: ShapedArray) -> ShapedArray:
    """The type that an array of some type is kept as while a loop runs."""
    if ctx.module_context.platform != "cpu" or not aval.dtype.name.startswith(("bfloat16", "float8")):
        return aval
    return ShapedArray(aval.shape, np.dtype(f"uint{8 * aval.dtype.itemsize}"))


def with_type(x: Value, aval: ShapedArray) -> Value:
    """The same bits with another type of the same size."""
    wanted = builder.ir_type(aval)
    return x if x.type == wanted else builder.op("bitcast_convert", aval, x)
