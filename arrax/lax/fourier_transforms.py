"""Fourier transforms over the last axes."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.calls import as_indices
from arrax.core.explicit_axes import leading_axes
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.cost_model import passes
from arrax.interpreters.lowering import builder, sharding_text
from arrax.lax.arithmetic import conj, mul, real_part
from arrax.lax.axis_order import move_axis
from arrax.lax.conversion import convert_element_type
from arrax.lax.families import compose_jvp
from arrax.lax.operand_checks import checked_operand, kind_of
from arrax.lax.shapes import broadcast_in_dim
from arrax.lax.static_slicing import pad
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.ad.transpose import UndefinedPrimal
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext


class FftType(enum.IntEnum):
    """The direction of a transform, and whether its real side is stored as real numbers.

    Example: ``lax.fft(x, lax.FftType.RFFT, (4,))`` is ``[6, -2 + 2j, -2]``.
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


fft_p = Primitive("fft", cost=passes(16))
_COMPLEX = {"float32": np.dtype(np.complex64), "float64": np.dtype(np.complex128)}
_REAL = {"complex64": np.dtype(np.float32), "complex128": np.dtype(np.float64)}


def _type_rule(aval: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
    count = len(fft_lengths)
    if not 1 <= count <= 3:
        raise ValueError(f"fft takes one to three fft_lengths, got {fft_lengths}")
    if aval.ndim < count:
        raise ValueError(f"fft over {count} axes needs an operand with as many, got shape {aval.shape}")
    known = _COMPLEX if fft_type == FftType.RFFT else _REAL
    if aval.dtype.name not in known:
        if fft_type == FftType.RFFT and aval.dtype.kind == "c":
            raise ValueError(f"fft of type RFFT requires real input, got {aval.dtype.name}.")
        kinds = "float32 or float64" if fft_type == FftType.RFFT else "complex64 or complex128"
        raise TypeError(f"fft of type {fft_type.name} requires {kinds} input, got {aval.dtype.name}.")
    half = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
    expected = half if fft_type == FftType.IRFFT else fft_lengths
    if aval.shape[-count:] != expected:
        raise ValueError(
            f"fft of type {fft_type.name} with fft_lengths {fft_lengths} needs an operand whose last axes have lengths "
            f"{expected}, got shape {aval.shape}"
        )
    lead = aval.shape[:-count]
    if fft_type == FftType.RFFT:
        return ShapedArray((*lead, *half), _COMPLEX[aval.dtype.name])
    if fft_type == FftType.IRFFT:
        return ShapedArray((*lead, *fft_lengths), _REAL[aval.dtype.name])
    return ShapedArray(aval.shape, aval.dtype)


def _lower(ctx: LoweringContext, x: Value, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> list[Value]:
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    if aval.size == 0 or out.size == 0:
        return [builder.full(0, out)]
    kind = builder.attribute(f"#stablehlo<fft_type {FftType(fft_type).name}>")
    attributes = {"fft_type": kind, "fft_length": builder.ints(fft_lengths)}
    if ctx.module_context.num_devices == 1:
        return [_row_major(ctx, builder.op("fft", out, x, **attributes), out)]
    # For CPUs the compiler fails where transformed axes or several others are divided.
    batch, rank = math.prod(aval.shape[: -len(fft_lengths)]), len(fft_lengths)
    flat, result = (ShapedArray((batch, *each.shape[-rank:]), each.dtype) for each in (aval, out))
    x = sharding_text.undivided(ctx.module_context, builder.op("reshape", flat, x), range(1, rank + 1))
    transformed = _row_major(ctx, builder.op("fft", result, x, **attributes), result)
    return [builder.op("reshape", out, transformed)]


def _row_major(ctx: LoweringContext, x: Value, aval: ShapedArray) -> Value:
    """The transform, laid out row by row on CPUs: what uses it, such as LAPACK, may ask the compiler for columns.

    The library of transforms for CPUs has no others, and a program with one would stop.
    """
    if ctx.platform != "cpu" or aval.ndim < 2:
        return x
    layout = builder.row_major([aval])
    attributes = {
        "call_target_name": builder.string("LayoutConstraint"), "operand_layouts": layout, "result_layouts": layout
    }  # fmt: skip
    return builder.operation("stablehlo.custom_call", [builder.ir_type(aval)], [x], attributes).results[0]


def _rfft_transpose(ct: Array, lengths: tuple[int, ...], dtype: np.dtype) -> Array:
    """The real part of the transform of the cotangent, whose missing half is zero."""
    shape = typeof(ct).shape
    config = [(0, 0, 0)] * (len(shape) - 1) + [(0, lengths[-1] - shape[-1], 0)]
    full = pad(ct, np.zeros((), typeof(ct).dtype)[()], config)
    return convert_element_type(real_part(fft_p.bind(full, fft_type=FftType.FFT, fft_lengths=lengths)), dtype)


def _irfft_transpose(ct: Array, lengths: tuple[int, ...]) -> Array:
    """The conjugate transform, where each number counts as often as the inverse uses it: the half without a mirror once."""
    half = fft_p.bind(ct, fft_type=FftType.RFFT, fft_lengths=lengths)
    aval = typeof(half)
    weights = np.full(aval.shape[-1], 2.0 / math.prod(lengths))
    weights[0] /= 2
    if lengths[-1] % 2 == 0:
        weights[-1] = weights[0]
    broadcasted = broadcast_in_dim(weights.astype(aval.dtype), aval.shape, (aval.ndim - 1,))
    return mul(conj(half), broadcasted)


def _transpose(ct: Array, x: UndefinedPrimal, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(x.aval)]
    if fft_type == FftType.RFFT:
        return [_rfft_transpose(ct, fft_lengths, x.aval.dtype)]
    if fft_type == FftType.IRFFT:
        return [_irfft_transpose(ct, fft_lengths)]
    return [fft_p.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)]


fft_p.type_rule = _type_rule
fft_p.divides = lambda avals, out, *, fft_lengths, **params: leading_axes(len(fft_lengths))(avals, out)
fft_p.lower[None] = _lower
fft_p.jvp = compose_jvp(fft_p, [lambda x, ans, t, **params: fft_p.bind(t, **params)])
fft_p.transpose = _transpose
fft_p.batch = lambda values, dims, **params: (fft_p.bind(move_axis(values[0], dims[0], 0), **params), 0)


def _read_type(fft_type: int | FftType | str) -> FftType:
    if isinstance(fft_type, str):
        try:
            return FftType[fft_type.upper()]
        except KeyError:
            raise ValueError(f"Unknown FFT type {fft_type!r}: expected one of {[t.name for t in FftType]}") from None
    if not isinstance(fft_type, int) or isinstance(fft_type, bool):
        raise TypeError(f"fft: fft_type must be a FftType or its name, got {fft_type!r}")
    return FftType(fft_type)


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The discrete Fourier transform over the last axes.

    Args:
      x: array; RFFT takes real numbers only, the others turn them into complex ones.
      fft_type: FFT; IFFT, its inverse; RFFT, of real numbers, without the redundant half of the last axis; IRFFT, its
        inverse. A FftType or its name.
      fft_lengths: lengths of the one to three axes, on the side where they are complete.
    Returns: array with as many axes.
    Raises:
      TypeError: a dtype that the type does not take, a type that is neither a FftType nor a name.
      ValueError: lengths that don't fit the shape, an unknown type.
    Example: ``lax.fft(jnp.ones(4), "RFFT", (4,))`` is ``[4, 0, 0]``. Source: StableHLO ``fft``.
    """
    lengths = as_indices(fft_lengths)
    if not lengths:
        return checked_operand("fft", x)
    kind = _read_type(fft_type)
    return fft_p.bind(_operand(checked_operand("fft", x), kind), fft_type=kind, fft_lengths=lengths)


def _operand(x: ArrayLike, fft_type: FftType) -> ArrayLike:
    """Real numbers as complex ones, and integers as floats, where the type asks for them."""
    dtype = typeof(x).dtype
    if fft_type != FftType.RFFT:
        wide = np.complex128 if dtype == np.float64 else np.complex64
        return x if kind_of(dtype) == "complex" else convert_element_type(x, wide)
    return convert_element_type(x, np.float32) if kind_of(dtype) in ("bool", "signed", "unsigned") else x
