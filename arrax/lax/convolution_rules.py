"""The primitive of convolutions: types, lowering, derivatives, transposes, batching."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.explicit_axes import Division
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_below
from arrax.core.program import JaxprEqn
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.interpreters.ad.transpose import is_undefined_primal
from arrax.interpreters.batching import batch_size, example_type
from arrax.interpreters.cost_model import PRODUCTS_PER_ADDITION, largest_size
from arrax.interpreters.lowering import builder, sharding_text
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.axis_order import move_axis, rev
from arrax.lax.conversion import convert, convert_ir
from arrax.lax.convolution_axes import groups_moved
from arrax.lax.convolution_geometry import ConvDimensionNumbers, lengths_at, output_lengths
from arrax.lax.cpu.depthwise import depthwise_form
from arrax.lax.cpu.kernel_gradients import kernel_gradient_form
from arrax.lax.cpu.library_convolutions import library_form
from arrax.lax.cpu.windowless import windowless_form
from arrax.lax.filled_arrays import full
from arrax.lax.operand_checks import kind_of
from arrax.lax.precision import precision_attribute
from arrax.lax.shapes import reshape
from arrax.lax.window_geometry import dilated

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext, ModuleContext
    from arrax.xla.arrays import Array, ArrayLike

conv_general_dilated_p = Primitive("conv_general_dilated")
conv_general_dilated_p.hidden_params = frozenset({"out_sharding"})


def _check_groups(x: ShapedArray, y: ShapedArray, spec: ConvDimensionNumbers, features: int, batches: int) -> None:
    for name, count in (("feature_group_count", features), ("batch_group_count", batches)):
        if count < 1:
            raise ValueError(f"conv_general_dilated {name} must be a positive integer, got {count}.")
    if features > 1 and batches > 1:
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            f"{batches} and {features} for conv_general_dilated."
        )
    channels, out, inner = x.shape[spec.lhs_spec[1]], y.shape[spec.rhs_spec[0]], y.shape[spec.rhs_spec[1]]
    if channels != inner * features:
        raise ValueError(
            "conv_general_dilated: the features of lhs per group (feature_group_count) must be as many as the inputs of rhs: "
            f"{channels} // {features} != {inner}."
        )
    if x.shape[spec.lhs_spec[0]] % batches:
        raise ValueError(
            "conv_general_dilated batch_group_count must divide lhs batch dimension size, but "
            f"{batches} does not divide {x.shape[spec.lhs_spec[0]]}."
        )
    for name, count in (("feature_group_count", features), ("batch_group_count", batches)):
        if out % count:
            raise ValueError(
                f"conv_general_dilated rhs output feature dimension size must be a multiple of {name}, but {out} is "
                f"not a multiple of {count}."
            )


def _type_rule(
    x: ShapedArray, y: ShapedArray, *, window_strides: tuple[int, ...], padding: tuple[Any, ...],
    lhs_dilation: tuple[int, ...], rhs_dilation: tuple[int, ...], dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int, batch_group_count: int, precision: Any, preferred_element_type: np.dtype | None,
    out_sharding: Any = None,
) -> ShapedArray:  # fmt: skip
    spec = dimension_numbers
    if not x.ndim == y.ndim == len(spec.lhs_spec) == len(spec.rhs_spec) == len(spec.out_spec):
        raise ValueError(
            f"conv_general_dilated requires lhs and rhs of equal ranks, which are those of dimension_numbers; got shapes {x.shape} "
            f"and {y.shape} with {spec}"
        )
    _check_groups(x, y, spec, feature_group_count, batch_group_count)
    dtype = preferred_element_type
    if dtype is None:
        if x.dtype != y.dtype:
            raise TypeError(
                "lax.conv_general_dilated requires arguments to have the same dtypes, got "
                f"{x.dtype.name}, {y.dtype.name}. (Or give preferred_element_type.)"
            )
        dtype = x.dtype
    space = output_lengths(
        lengths_at(x.shape, spec.lhs_spec[2:]), lengths_at(y.shape, spec.rhs_spec[2:]), window_strides, padding,
        lhs_dilation, rhs_dilation,
    )  # fmt: skip
    canonical = (x.shape[spec.lhs_spec[0]] // batch_group_count, y.shape[spec.rhs_spec[0]], *space)
    shape = [0] * len(canonical)
    for axis, length in zip(spec.out_spec, canonical, strict=True):
        shape[axis] = length
    return ShapedArray(tuple(shape), dtype, x.weak_type and y.weak_type and preferred_element_type in (None, x.dtype))


def _divides(
    avals: Any, out: ShapedArray, *, dimension_numbers: ConvDimensionNumbers, batch_group_count: int, **params: Any
) -> Division:
    """Batches are divided as the images are, features of the result as those of the kernel."""
    (x, y), spec = avals, dimension_numbers
    result: list[tuple[Any, ...]] = [()] * out.ndim
    result[spec.out_spec[0]] = x.divided[spec.lhs_spec[0]] if batch_group_count == 1 else ()
    result[spec.out_spec[1]] = y.divided[spec.rhs_spec[0]]
    return tuple(result)


# ---- lowering -------------------------------------------------------------------------------------------------------


def _letters(spec: Sequence[int], pair: str) -> str:
    names = [""] * len(spec)
    for number, axis in enumerate(spec):
        names[axis] = pair[number] if number < 2 else str(number - 2)
    return f"[{', '.join(names)}]"


def _work_dtype(x: np.dtype, y: np.dtype, out: np.dtype, platform: str) -> np.dtype:
    """The dtype in which a platform convolves: wider where it has no convolution of the operands' own."""
    if kind_of(out) == "floating" and out.itemsize < 4 and (platform == "cpu" or x != y or out.itemsize < 2):
        return np.dtype(np.float32)
    return out


def _lower(
    ctx: LoweringContext, x: Value, y: Value, *, window_strides: tuple[int, ...], padding: tuple[tuple[int, ...], ...],
    lhs_dilation: tuple[int, ...], rhs_dilation: tuple[int, ...], dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int, batch_group_count: int, precision: Any, **params: Any,
) -> list[Value]:  # fmt: skip
    (x_aval, y_aval), out = ctx.avals_in, ctx.avals_out[0]
    work = _work_dtype(x_aval.dtype, y_aval.dtype, out.dtype, ctx.platform)
    if out.size == 0 or x_aval.size == 0 or y_aval.size == 0:  # an empty sum
        return [builder.full(0, out)]
    x = convert_ir(x, x_aval, ShapedArray(x_aval.shape, work))
    y = convert_ir(y, y_aval, ShapedArray(y_aval.shape, work))
    lhs, rhs, result = dimension_numbers
    grouped = feature_group_count > 1
    x, y = _laid_out(ctx.module_context, x, y, out, dimension_numbers, batch_group_count, grouped)
    numbers = f"#stablehlo.conv<{_letters(lhs, 'bf')}x{_letters(rhs, 'oi')}->{_letters(result, 'bf')}>"
    attributes = {
        "window_strides": builder.ints(window_strides),
        "padding": builder.matrix(padding, 2),
        "lhs_dilation": builder.ints(lhs_dilation),
        "rhs_dilation": builder.ints(rhs_dilation),
        "dimension_numbers": builder.attribute(numbers),
        "feature_group_count": builder.integer(feature_group_count),
        "batch_group_count": builder.integer(batch_group_count),
        "precision_config": precision_attribute(precision),
    }
    wide = ShapedArray(out.shape, work)
    made = builder.op("convolution", wide, x, y, **attributes)
    if grouped:
        made = sharding_text.undivided(ctx.module_context, made, (result[1],))
    return [convert_ir(made, wide, out)]


def _laid_out(
    ctx: ModuleContext,
    x: Value,
    y: Value,
    out: ShapedArray,
    numbers: ConvDimensionNumbers,
    batch_groups: int,
    grouped: bool,
) -> tuple[Value, Value]:
    """The operands of a program for several devices, so divided that the compiler sums over the right devices.

    It sums over too many where they have parts of a kernel along its space, where they have parts of both an image along
    its space and of the kernel, and in groups where some of them have the same part of what is summed over. Groups it cuts.
    """
    lhs, rhs, result = numbers
    size = math.prod(y.type.shape[axis] for axis in rhs[2:])
    several = ctx.num_devices > 1 and sharding_text.several_axes(ctx)
    kernel = size > 1 and not is_below(math.prod(out.shape[axis] for axis in result[2:]), size, unknown=False)
    y = sharding_text.undivided(ctx, y, range(len(rhs)) if kernel and several or grouped else rhs[2:])
    large = several and size > 1 and not kernel  # as in derivatives, where the other operand is the image
    x = sharding_text.undivided(ctx, x, (*(lhs[1:2] if grouped else ()), *(lhs[2:] if large else ())))
    if batch_groups > 1 and (several or batch_groups % ctx.num_devices):
        x = sharding_text.divided_by_all(ctx, x, lhs[1], (lhs[0],))
        y = sharding_text.divided_by_all(ctx, y, rhs[1], (rhs[0],))
    return x, y


# ---- derivatives ----------------------------------------------------------------------------------------------------


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    (x, y), (tx, ty) = primals, tangents
    out = conv_general_dilated_p.bind(x, y, **params)
    terms = []
    if type(tx) is not Zero:
        terms.append(conv_general_dilated_p.bind(tx, y, **params))
    if type(ty) is not Zero:
        terms.append(conv_general_dilated_p.bind(x, ty, **params))
    if not terms or not dtypes.is_inexact(typeof(out).dtype):
        return out, Zero.of(out)
    return out, terms[0] if len(terms) == 1 else slots.add(*terms)


def _lhs_cotangent(
    ct: ArrayLike, x_aval: ShapedArray, y: ArrayLike, *, window_strides: tuple[int, ...],
    padding: tuple[tuple[int, ...], ...], lhs_dilation: tuple[int, ...], rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers, feature_group_count: int, batch_group_count: int, precision: Any,
    preferred: Any,
) -> Array:  # fmt: skip
    """The input's cotangent: the result's, spread by the strides, convolved with the reversed kernel."""
    lhs, rhs, out = dimension_numbers
    pads = []
    for axis, kernel_axis, out_axis, stride, (low, _), dilation, gap in zip(
        lhs[2:], rhs[2:], out[2:], window_strides, padding, lhs_dilation, rhs_dilation, strict=True
    ):
        span = dilated(typeof(y).shape[kernel_axis], gap)
        before = span - 1 - low
        length = dilated(x_aval.shape[axis], dilation)
        pads.append((before, length + span - 1 - dilated(typeof(ct).shape[out_axis], stride) - before))
    groups = max(feature_group_count, batch_group_count)
    # Its groups stand in the input channels of the kernel, not in the output channels.
    kernel = rev(groups_moved(y, rhs[0], rhs[1], groups), rhs[2:])
    result = conv_general_dilated_p.bind(
        ct, kernel, window_strides=lhs_dilation, padding=tuple(pads), lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation, dimension_numbers=ConvDimensionNumbers(out, (rhs[1], rhs[0], *rhs[2:]), lhs),
        feature_group_count=groups, batch_group_count=1, precision=precision, preferred_element_type=preferred,
        out_sharding=None,
    )  # fmt: skip
    if batch_group_count == 1:
        return result
    batch, feature = lhs[:2]
    shape = typeof(result).shape
    split = (*shape[:feature], groups, shape[feature] // groups, *shape[feature + 1 :])
    grouped = move_axis(reshape(result, split), feature, batch)
    return reshape(grouped, x_aval.shape)


def _rhs_cotangent(
    ct: ArrayLike, x: ArrayLike, y_aval: ShapedArray, *, window_strides: tuple[int, ...],
    padding: tuple[tuple[int, ...], ...], lhs_dilation: tuple[int, ...], rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers, feature_group_count: int, batch_group_count: int, precision: Any,
    preferred: Any,
) -> Array:  # fmt: skip
    """The kernel's cotangent: the input convolved with the result's, channels and batch having changed places."""
    lhs, rhs, out = dimension_numbers
    pads = []
    for axis, kernel_axis, out_axis, stride, (low, _), dilation, gap in zip(
        lhs[2:], rhs[2:], out[2:], window_strides, padding, lhs_dilation, rhs_dilation, strict=True
    ):
        needed = dilated(y_aval.shape[kernel_axis], gap) + dilated(typeof(ct).shape[out_axis], stride) - 1
        pads.append((low, needed - dilated(typeof(x).shape[axis], dilation) - low))

    def swapped(spec: Sequence[int]) -> tuple[int, ...]:
        return (spec[1], spec[0], *spec[2:])

    return conv_general_dilated_p.bind(
        x, ct, window_strides=rhs_dilation, padding=tuple(pads), lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides, dimension_numbers=ConvDimensionNumbers(swapped(lhs), swapped(out), swapped(rhs)),
        feature_group_count=batch_group_count, batch_group_count=feature_group_count, precision=precision,
        preferred_element_type=preferred, out_sharding=None,
    )  # fmt: skip


def _transpose(
    ct: ArrayLike, x: Any, y: Any, *, preferred_element_type: np.dtype | None, out_sharding: Any = None, **params: Any
) -> list[Any]:
    linear_x = is_undefined_primal(x)
    aval = x.aval if linear_x else y.aval
    if type(ct) is Zero:
        return [Zero(aval), None] if linear_x else [None, Zero(aval)]
    other = y if linear_x else x
    params["preferred"] = aval.dtype if typeof(ct).dtype != typeof(other).dtype else None
    if linear_x:
        return [convert(_lhs_cotangent(ct, aval, y, **params), aval.dtype), None]
    return [None, convert(_rhs_cotangent(ct, x, aval, **params), aval.dtype)]


# ---- batching -------------------------------------------------------------------------------------------------------


def _merge(x: ArrayLike, dim: int, axis: int, groups: int = 1) -> Array:
    """``x`` with its batch axis merged into another (counted without it): within each group, the batch comes first."""
    x = move_axis(x, dim, 0)
    size, *rest = typeof(x).shape
    x = reshape(x, (size, *rest[:axis], groups, rest[axis] // groups, *rest[axis + 1 :]))
    rest[axis] *= size
    return reshape(move_axis(x, 0, axis + 1), rest)


def _split(out: ArrayLike, axis: int, size: int, groups: int = 1) -> tuple[Any, int]:
    """The inverse of ``_merge``: (array, place of the batch axis)."""
    shape = typeof(out).shape
    inner = shape[axis] // (size * groups)
    if groups == 1:
        return reshape(out, (*shape[:axis], size, inner, *shape[axis + 1 :])), axis
    out = move_axis(reshape(out, (*shape[:axis], groups, size, inner, *shape[axis + 1 :])), axis + 1, 0)
    return reshape(out, (size, *shape[:axis], groups * inner, *shape[axis + 1 :])), 0


def _batch(values: Sequence[ArrayLike], dims: Sequence[Any], **params: Any) -> tuple[Any, int]:
    (x, y), (x_dim, y_dim) = values, dims
    (batch, feature), out_channel = params["dimension_numbers"].lhs_spec[:2], params["dimension_numbers"].rhs_spec[0]
    out_batch, out_feature = params["dimension_numbers"].out_spec[:2]
    features, batches = params["feature_group_count"], params["batch_group_count"]
    size = batch_size(values, dims)
    avals = [example_type(typeof(value), dim) for value, dim in zip(values, dims, strict=True)]
    out = conv_general_dilated_p.infer(avals, params)  # refuses groups that one example cannot have
    if size == 0:
        return full((0, *out.shape), 0, out.dtype), 0
    if y_dim is None:
        return _split(conv_general_dilated_p.bind(_merge(x, x_dim, batch, batches), y, **params), out_batch, size)
    groups = max(features, batches)
    if x_dim is None:
        out = conv_general_dilated_p.bind(x, _merge(y, y_dim, out_channel, groups), **params)
        return _split(out, out_feature, size, groups)
    if batches > 1:
        x, params["batch_group_count"] = _merge(x, x_dim, batch), size * batches
    else:
        x, params["feature_group_count"] = _merge(x, x_dim, feature), size * features
    out = conv_general_dilated_p.bind(x, _merge(y, y_dim, out_channel), **params)
    return _split(out, out_feature, size)


def _cost(eqn: JaxprEqn) -> float:
    kernel = eqn.invars[1].aval
    length = kernel.size // max(kernel.shape[eqn.params["dimension_numbers"].rhs_spec[0]], 1)
    return largest_size(eqn) + eqn.outvars[0].aval.size * length / PRODUCTS_PER_ADDITION


def _cpu_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of convolutions: of known lengths that sum over something, then of any others."""
    if all(type(atom.aval.size) is int and atom.aval.size for atom in (*eqn.invars, *eqn.outvars)):
        form = depthwise_form(eqn, around) or windowless_form(eqn, around) or kernel_gradient_form(eqn, around)
        if form is not None:
            return form
    return library_form(eqn, around)


conv_general_dilated_p.type_rule, conv_general_dilated_p.divides = _type_rule, _divides
conv_general_dilated_p.cost = _cost
conv_general_dilated_p.lower[None] = _lower
conv_general_dilated_p.forms["cpu"] = _cpu_form
conv_general_dilated_p.jvp = _jvp
conv_general_dilated_p.transpose = _transpose
conv_general_dilated_p.batch = _batch
