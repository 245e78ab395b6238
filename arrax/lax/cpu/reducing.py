"""Reductions on the CPU by host kernels: of integers and flags, and where the greatest or least element is.

The compiler takes ten times as long to compile them, and its code goes element by element. Results are the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import Primitive
from arrax.core.program import JaxprEqn, Var
from arrax.core.types import ShapedArray
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.conversion import convert_element_type, convert_element_type_p
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.kernel_calls import call_kernel
from arrax.lax.shapes import reshape
from arrax.xla.host_kernels import reducing, table

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_PLAIN = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())


def _rows_along(aval: ShapedArray, axes: Sequence[int], min_length: int) -> tuple[int, int] | None:
    """The shape of the matrix whose rows are reduced; None where they are few, short or not contiguous."""
    return _contiguous_rows(aval, axes, min_length) if aval.size >= thresholds.REDUCE_MIN_SIZE else None


def _contiguous_rows(aval: ShapedArray, axes: Sequence[int], min_length: int) -> tuple[int, int] | None:
    kept = aval.ndim - len(axes)
    if sorted(axes) != list(range(kept, aval.ndim)):
        return None
    length = math.prod(aval.shape[kept:])
    return (aval.size // length, length) if length >= min_length else None


def _columns_along(aval: ShapedArray, axes: Sequence[int]) -> tuple[int, int] | None:
    """The shape of the matrix whose columns are reduced, where there are many; the first axis is."""
    if aval.size < thresholds.REDUCE_MIN_SIZE or tuple(axes) != (0,) or aval.shape[0] < thresholds.REDUCE_MIN_HEIGHT:
        return None
    width = aval.size // aval.shape[0]
    return (aval.shape[0], width) if width >= thresholds.REDUCE_MIN_WIDTH else None


def _reduced(
    x: Array, *, kernel: table.Kernel, numbers: tuple[int, ...], matrix: tuple[int, int], axis: int, out: ShapedArray
) -> list[Any]:
    """What a kernel makes of a matrix: a column, or a row where the first axis is reduced."""
    reduced = ShapedArray((matrix[0], 1) if axis else (1, matrix[1]), out.dtype)
    (found,) = call_kernel(kernel, [reshape(x, matrix)], [reduced], *numbers)
    return [reshape(found, out.shape)]


def _form(
    eqn: JaxprEqn,
    kernel: table.Kernel,
    numbers: tuple[int, ...],
    matrix: tuple[int, int],
    axis: int,
    operands: Sequence[Var] | None,
) -> Form:
    out = ShapedArray(eqn.outvars[0].aval.shape, eqn.outvars[0].aval.dtype)
    params = (("kernel", kernel), ("numbers", numbers), ("matrix", matrix), ("axis", axis), ("out", out))
    return Form(_reduced, params, operands)


def argmax_form(largest: bool) -> Rule:
    """The form of argmax, or of argmin: of 16-bit floats, of the same numbers in 32 bits, which compare faster."""

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        aval = eqn.invars[0].aval
        if dtypes.is_float(aval.dtype) and aval.dtype.itemsize == 2:
            return Form(_searched_in_32_bits, (("primitive", eqn.primitive), ("params", tuple(eqn.params.items()))))
        if not around.host_kernels or (aval.dtype.name not in _PLAIN and aval.dtype not in _FLOATS):
            return None
        matrix = _rows_along(aval, eqn.params["axes"], thresholds.REDUCE_MIN_LENGTH)  # NumPy takes longer along columns
        return None if matrix is None else _form(eqn, table.argmax, (int(largest),), matrix, 1, None)

    return rule


def _searched_in_32_bits(x: Array, *, primitive: Primitive, params: tuple[tuple[str, Any], ...]) -> list[Any]:
    return [primitive.bind(convert_element_type(x, np.float32), **dict(params))]


def reduce_form(name: str) -> Rule:
    """The form of a reduction of integers and flags; ``name`` is one of the kernel's ``OPERATIONS``."""

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        (x,) = eqn.invars
        if not around.host_kernels or x.aval.dtype.name not in _PLAIN:
            return None
        fold, flags = name, _counted_flags(eqn, around) if name == "add" else None
        if x.aval.dtype == np.bool_:
            fold = {"maximum": "logical_or", "minimum": "logical_and"}.get(name, name)
        elif flags is not None:
            fold, x = "count", flags
        elif name.startswith("logical"):
            return None
        axes = eqn.params["axes"]
        axis, matrix = 1, _rows_along(x.aval, axes, _min_length(x.aval.dtype))
        if matrix is None and fold != "add":
            axis, matrix = 0, _columns_along(x.aval, axes)
        if matrix is None:
            return None
        return _form(eqn, table.reduce, (reducing.OPERATIONS.index(fold), axis), matrix, axis, [x])

    return rule


def flags_form(name: str, extreme: Callable[..., Array]) -> Rule:
    """The form of ``any`` or ``all`` along rows: by the kernel, or of long rows by the greatest or least of the flags as floats.

    Args:
      name: of the kernel's operation.
      extreme: of an array of floats over axes, whose loop has vectors.
    """
    by_kernel = reduce_form(name)

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        form, aval, axes = by_kernel(eqn, around), eqn.invars[0].aval, eqn.params["axes"]
        if form is not None or aval.dtype != np.bool_ or type(aval.size) is not int or not around.host_kernels:
            return form
        if _contiguous_rows(aval, axes, thresholds.FLAGS_MIN_ROW) is None:
            return None
        return Form(_extreme_of_flags, (("extreme", extreme), ("axes", tuple(axes))))

    return rule


def _extreme_of_flags(flags: Array, *, extreme: Callable[..., Array], axes: tuple[int, ...]) -> list[Any]:
    return [convert_element_type(extreme(convert_element_type(flags, np.float32), axes), np.bool_)]


def _min_length(dtype: np.dtype) -> int:
    return thresholds.REDUCE_MIN_LENGTH if dtype.itemsize == 1 else thresholds.REDUCE_MIN_INT_LENGTH


def _counted_flags(eqn: JaxprEqn, around: Around) -> Var | None:
    """The flags that the integers of a sum were converted from, if they were."""
    maker = around.maker(eqn.invars[0])
    if maker is None or maker.primitive is not convert_element_type_p:
        return None
    (source,) = maker.invars
    return source if source.aval.dtype == np.bool_ else None
