"""Where flags are set, on the CPU by a host kernel. Results are the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.program import JaxprEqn
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.kernel_calls import call_kernel
from arrax.lax.cpu.rows import to_rows
from arrax.lax.shapes import reshape
from arrax.xla.host_kernels import table

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def flags_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The indices of flags in each row, and how many there are."""
    if not around.host_kernels or eqn.invars[0].aval.size < thresholds.FLAGS_MIN_SIZE or not eqn.params["size"]:
        return None
    return Form(_found, (("size", eqn.params["size"]), ("dtype", eqn.params["dtype"])))


def _found(flags: Array, *, size: int, dtype: np.dtype) -> list[Any]:
    shape = typeof(flags).shape
    rows = to_rows(flags, len(shape) - 1)
    count = typeof(rows).shape[0]
    outs = [ShapedArray((count, length), dtype) for length in (size, 1)]
    indices, counts = call_kernel(table.nonzero_indices, [rows], outs)
    return [reshape(indices, (*shape[:-1], size)), reshape(counts, shape[:-1])]
