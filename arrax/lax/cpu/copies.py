"""Parts of an array side by side, on the CPU by a host kernel. Results are the same bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.program import Atom, JaxprEqn
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.concatenation import split_p
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.kernel_calls import call_kernel
from arrax.lax.shapes import reshape
from arrax.lax.static_slicing import slice_p
from arrax.xla.host_kernels import table

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

COPIED = frozenset(
    "bool float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128".split()
)
TAKEN = COPIED | {"float16", "bfloat16"}  # by code of the compiler, which converts 8-bit floats


def concatenate_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of joins of parts of one array, as in ``roll``: the compiler looks each element up in all of them."""
    out, axis = eqn.outvars[0].aval, eqn.params["dimension"]
    if not around.host_kernels or out.size < thresholds.JOIN_MIN_SIZE or out.dtype.name not in COPIED:
        return None
    inner = math.prod(out.shape[axis + 1 :])
    if (
        out.shape[axis] * inner * out.dtype.itemsize < thresholds.JOIN_MIN_ROW_BYTES
        or inner >= thresholds.JOIN_MAX_INNER
    ):
        return None
    parts = parts_of_one(eqn, around)
    if parts is None or (math.prod(out.shape[:axis]) == 1 < inner and not _is_one_of_several(eqn, around)):
        return None  # the compiler copies such rows part by part
    whole, bounds = parts
    whole, rows = _joined_rows(whole, axis, eqn, around)
    return Form(_joined, (("axis", axis), ("bounds", bounds), ("rows", rows), ("shape", out.shape)), [whole])


def _joined_rows(whole: Atom, axis: int, eqn: JaxprEqn, around: Around) -> tuple[Atom, tuple[int, ...]]:
    """(array, first and end of each run of its rows) where ``whole`` is a join of rows itself, as in a roll of two axes.

    Rows are those of the matrix of all axes before ``axis`` and all behind.
    """
    maker = around.maker(whole)
    if maker is not None and maker.primitive is eqn.primitive:
        outer, found = maker.params["dimension"], parts_of_one(maker, around)
        if found is not None and outer < axis and math.prod(whole.aval.shape[:outer]) == 1:
            per_entry = math.prod(whole.aval.shape[outer + 1 : axis])
            return found[0], tuple(bound * per_entry for bound in found[1])
    return whole, (0, math.prod(whole.aval.shape[:axis]))


def _is_one_of_several(eqn: JaxprEqn, around: Around) -> bool:
    """Whether the program has other joins of parts of one array, which the compiler makes one loop of that looks them all up."""
    others = (other for other in around.jaxpr.eqns if other is not eqn and other.primitive is eqn.primitive)
    return any(parts_of_one(other, around) is not None for other in others)


def parts_of_one(eqn: JaxprEqn, around: Around) -> tuple[Atom, tuple[int, ...]] | None:
    """(array, first and end of each part) of a join of contiguous parts of one array along the axis; None for other joins."""
    parts = [part_of(atom, eqn.params["dimension"], around) for atom in eqn.invars]
    whole = parts[0][0] if parts[0] is not None else None
    if whole is None or len(parts) < 2 or any(part is None or part[0] is not whole for part in parts):
        return None
    return whole, tuple(bound for part in parts if part is not None for bound in part[1:])


def part_of(atom: Atom, axis: int, around: Around) -> tuple[Atom, int, int] | None:
    """(array, first, end) of a value that is a contiguous part of an array along an axis."""
    maker = around.maker(atom)
    if maker is None or maker.primitive not in (slice_p, split_p):
        return None
    (whole,) = maker.invars
    if maker.primitive is split_p:
        if maker.params["axis"] != axis:
            return None
        number, sizes = maker.outvars.index(atom), maker.params["sizes"]
        return whole, sum(sizes[:number]), sum(sizes[: number + 1])
    starts, limits, strides = (maker.params[name] for name in ("start_indices", "limit_indices", "strides"))
    others = [dim for dim in range(whole.aval.ndim) if dim != axis]
    if strides is not None and any(step != 1 for step in strides):
        return None
    if any(starts[dim] != 0 or limits[dim] != whole.aval.shape[dim] for dim in others):
        return None
    return whole, starts[axis], limits[axis]


def _joined(x: Array, *, axis: int, bounds: Sequence[int], rows: Sequence[int], shape: tuple[int, ...]) -> list[Any]:
    whole = typeof(x).shape
    inner = math.prod(whole[axis + 1 :])
    matrix = reshape(x, (math.prod(whole[:axis]), math.prod(whole[axis:])))
    columns = list(zip(bounds[::2], bounds[1::2], strict=True))
    numbers = [
        number
        for first_row, end_row in zip(rows[::2], rows[1::2], strict=True)
        for first, end in columns
        for number in (first_row, end_row, first * inner, end * inner)
    ]
    out = ShapedArray((math.prod(shape[:axis]), shape[axis] * inner), typeof(x).dtype)
    (joined,) = call_kernel(table.concatenate, [matrix], [out], *numbers)
    return [reshape(joined, shape)]
