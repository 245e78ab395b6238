"""Sorting and selecting on the CPU by host kernels, which are many times faster there than the compiler's code.

The compiler's sort stays where it is faster, for few elements, and where kernels cannot be used. Results are the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.program import Atom, DropVar, JaxprEqn
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.lowering import builder
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.kernel_calls import call_kernel
from arrax.lax.cpu.rows import from_rows, rows_type, to_rows
from arrax.lax.filled_arrays import iota_p
from arrax.xla.host_kernels import table

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.xla.arrays import Array

_ODD_TYPES = frozenset({"int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float8_e8m0fnu"})
_NUMBERED, _UNUSED = -1, -2  # where an output comes from; from 0 on: the input with that number


def _fits(avals: Sequence[ShapedArray], axis: int, min_size: int = thresholds.SORT_MIN_SIZE) -> bool:
    """Whether kernels put these arrays in order faster than the compiler's code."""
    aval = avals[0]
    return aval.size >= min_size and aval.shape[axis] > 1 and not any(a.dtype.name in _ODD_TYPES for a in avals)


def _avals(atoms: Sequence[Atom]) -> list[ShapedArray]:
    return [atom.aval for atom in atoms]


def sort_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """Rows in order."""
    return _order_form(eqn, around, eqn.params["dimension"], eqn.params["num_keys"], -1)


def partition_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """Rows along the last axis, in order around one index."""
    return _order_form(eqn, around, eqn.invars[0].aval.ndim - 1, 1, eqn.params["kth"])


def _order_form(eqn: JaxprEqn, around: Around, axis: int, num_keys: int, kth: int) -> Form | None:
    if not around.host_kernels or not _fits(_avals(eqn.invars), axis):
        return None
    operands: list[Atom] = []
    sources: list[int] = []
    for number, (atom, out) in enumerate(zip(eqn.invars, eqn.outvars, strict=True)):
        unused = type(out) is DropVar
        numbered = number >= num_keys and _is_index(atom, axis, around)
        if number < num_keys or not (unused or numbered):
            sources.append(_UNUSED if unused else len(operands))
            operands.append(atom)
        else:
            sources.append(_UNUSED if unused else _NUMBERED)
    avals = tuple(ShapedArray(aval.shape, aval.dtype) for aval in _avals(eqn.outvars))
    params = (("avals", avals), ("axis", axis), ("num_keys", num_keys), ("kth", kth), ("sources", tuple(sources)))
    return Form(_ordered, params, operands)


def _is_index(atom: Atom, axis: int, around: Around) -> bool:
    """Whether a value numbers the elements along an axis."""
    maker = around.maker(atom)
    return (
        maker is not None and maker.primitive is iota_p and maker.params["dimension"] == axis
        and atom.aval.dtype.kind in "iu"
    )  # fmt: skip


def _ordered(
    *values: Array, avals: Sequence[ShapedArray], axis: int, num_keys: int, kth: int, sources: Sequence[int]
) -> list[Any]:
    wanted = [number for number, source in enumerate(sources) if source != _UNUSED]
    outs = [rows_type(avals[number], axis) for number in wanted]
    rows = [to_rows(value, axis) for value in values]
    found = call_kernel(table.sort, rows, outs, num_keys, kth, *(sources[number] for number in wanted))
    results: list[Any] = [values[0]] * len(avals)  # what nobody reads may be anything
    for number, one in zip(wanted, found, strict=True):
        results[number] = from_rows(one, avals[number], axis)
    return results


def order_statistics_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The elements at some indices of the order of each row."""
    x, indices = _avals(eqn.invars)
    fits = _fits([x], x.ndim - 1, thresholds.ORDER_STATISTICS_SIZE)
    return Form(_selected) if around.host_kernels and fits and indices.size and x.dtype.kind != "c" else None


def _selected(x: Array, indices: Array) -> list[Any]:
    axis = typeof(x).ndim - 1
    out = ShapedArray(typeof(indices).shape, typeof(x).dtype)
    found = call_kernel(table.order_statistics, [to_rows(x, axis), to_rows(indices, axis)], [rows_type(out, axis)])
    return [from_rows(found[0], out, axis)]


def top_k_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The greatest elements of each row, where they are so many that the compiler's partial sort takes long."""
    aval, k, axis = eqn.invars[0].aval, eqn.params["k"], eqn.params["axis"]
    if not around.host_kernels or not k or not _fits([aval], axis) or aval.dtype.itemsize == 1:
        return None
    length = aval.shape[axis]
    insertions = aval.size // length * k * (1 + math.log(length / k))
    if aval.size < thresholds.TOP_K_MIN_SIZE or length < thresholds.TOP_K_MIN_LENGTH or insertions < aval.size / 8:
        return None
    outs = tuple(ShapedArray(out.shape, out.dtype) for out in _avals(eqn.outvars))
    return Form(_top_k, (("axis", axis), ("outs", outs)))


def _top_k(x: Array, *, axis: int, outs: Sequence[ShapedArray]) -> list[Any]:
    found = call_kernel(table.top_k, [to_rows(x, axis)], [rows_type(out, axis) for out in outs])
    return [from_rows(one, out, axis) for one, out in zip(found, outs, strict=True)]


# ---- keys of the compiler's sort ---------------------------------------------------------------------------------------


def as_integers(dtype: np.dtype, x: Value, y: Value) -> tuple[Any, Any, Any]:
    """A pair of scalars to be compared, as signed integers in the same order where they are floats of several bytes."""
    if dtype.kind in "iub" or dtype.itemsize == 1:
        return dtype, x, y
    integer = ShapedArray((), np.dtype(f"int{8 * dtype.itemsize}"))
    return integer.dtype, _as_integer(dtype, integer, x), _as_integer(dtype, integer, y)


def _as_integer(dtype: np.dtype, integer: ShapedArray, x: Value) -> Value:
    """Zeros of both signs give 0, all NaNs the greatest integer."""
    smallest = int(np.iinfo(integer.dtype).min)
    bits = builder.op("bitcast_convert", integer, x)
    magnitude = builder.op("and", integer, bits, builder.full(~smallest, integer))
    key = builder.op(
        "select", integer, builder.compare("LT", (), bits, builder.full(0, integer)),
        builder.op("negate", integer, magnitude), magnitude,
    )  # fmt: skip
    is_nan = builder.compare(
        "GT", (), magnitude, builder.full(int(np.array(np.inf, dtype).view(integer.dtype)), integer)
    )
    return builder.op("select", integer, is_nan, builder.full(~smallest, integer), key)
