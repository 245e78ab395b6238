"""Reductions over windows by any computation on the CPU, where windows reach into padding or have gaps: flags say what takes part.

There the compiler combines elements in another order than they stand in, so that of equal elements, say, not the first one is
chosen. Of an array that has been filled in it keeps the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.program import ClosedJaxpr, JaxprEqn
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.bitwise import bitwise_or
from arrax.lax.filled_arrays import full
from arrax.lax.selection import select
from arrax.lax.window_geometry import Windows
from arrax.lax.window_selection import padded_and_dilated

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def filled_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of reductions by a computation over windows with gaps."""
    params = {**eqn.params}
    program = params.pop("jaxpr")
    windows = Windows(**params)
    if not windows.have_gaps():
        return None
    return Form(_filled, (("primitive", eqn.primitive), ("program", program), ("windows", windows)))


def _filled(*values: Array, primitive: Primitive, program: ClosedJaxpr, windows: Windows) -> list[Any]:
    count = len(values) // 2
    arrays, inits = values[:count], values[count:]
    present = padded_and_dilated(full(typeof(arrays[0]).shape, True, np.bool_), np.False_, windows)
    filled = [padded_and_dilated(x, init, windows) for x, init in zip(arrays, inits, strict=True)]
    outs = primitive.bind(
        *filled, present, *inits, np.False_, jaxpr=_of_present(program), **windows.without_gaps()._asdict()
    )
    return list(outs[:count])


def _of_present(program: ClosedJaxpr) -> ClosedJaxpr:
    """The computation on elements with flags: those that are not present change nothing."""
    count = len(program.jaxpr.outvars)

    def combined(*values: Array) -> list[Any]:
        (*before, any_before), (*after, present) = values[: count + 1], values[count + 1 :]
        news = eval_jaxpr(program.jaxpr, program.consts, *before, *after)
        return [
            *(select(present, new, old) for new, old in zip(news, before, strict=True)),
            bitwise_or(any_before, present),
        ]

    scalars = [*(ShapedArray((), var.aval.dtype) for var in program.jaxpr.outvars), ShapedArray((), np.dtype(np.bool_))]
    return ClosedJaxpr(*stage(combined, [*scalars, *scalars]))
