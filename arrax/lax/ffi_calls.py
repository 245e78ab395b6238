"""``ffi_call``: functions of shared libraries in programs, and lowering rules that call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.calls import as_index
from arrax.core.effects import Effect
from arrax.core.interpreter import Primitive, Tracer
from arrax.core.tracebacks import boundary
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.custom_calls import custom_call, ir_attribute
from arrax.lax.operand_checks import checked_operand
from arrax.lax.pure_callbacks import METHODS, batched_call, result_types
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.native.mlir import ir

Layout = Sequence[int]  # the axes of an array, that of the most distant elements first
Layouts = Sequence[Layout | None] | None


class ForeignEffect(Effect):
    """What a function of a shared library does beside its results."""

    __slots__ = ()


foreign_effect = ForeignEffect("FFI")
ffi_call_p = Primitive("ffi_call", multiple_results=True)
ffi_call_p.type_rule = lambda *avals, result_avals, **params: list(result_avals)
ffi_call_p.effects_rule = lambda *avals, has_side_effect, **params: frozenset([foreign_effect] * has_side_effect)


class Attribute:
    """A number or array as a parameter of an equation: equal only to one of the same class and dtype."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def _key(self) -> tuple[Any, ...]:
        array = np.asarray(self.value)
        return type(self.value), array.dtype, array.shape, array.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attribute) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return repr(self.value)


def _frozen(value: Any) -> Any:
    """An attribute that can be hashed.

    Raises:
      TypeError: it is traced.
    """
    if isinstance(value, Tracer):
        raise TypeError(
            f"ffi_call: attributes are parts of the program, so they cannot be traced values, got {value!r}"
        )
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        return Attribute(value)
    if isinstance(value, Mapping):
        return _Entries((key, _frozen(each)) for key, each in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


class _Entries(tuple):  # type: ignore[type-arg]
    """The pairs of a dictionary."""

    __slots__ = ()


def _thawed(value: Any) -> Any:
    if isinstance(value, _Entries):
        return {key: _thawed(each) for key, each in value}
    if isinstance(value, Attribute):
        return value.value
    return list(map(_thawed, value)) if isinstance(value, tuple) else value


def _refuse_derivative(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, target_name: str, **params: Any
) -> Any:
    raise ValueError(
        f"The FFI call to `{target_name}` cannot be differentiated: its derivative is not known. Wrap it in a function with a "
        "rule (custom_jvp or custom_vjp)."
    )


def _batch(values: Sequence[Any], dims: Dims, **params: Any) -> tuple[list[Any], list[int]]:
    if params["vmap_method"] is None:
        raise NotImplementedError(
            f"vmap of ffi_call needs its vmap_method, one of {', '.join(map(repr, METHODS))}; the call of "
            f"{params['target_name']} has None"
        )

    def widened(moved: list[Any], wide: tuple[ShapedArray, ...]) -> dict[str, Any]:
        return {
            "input_layouts": tuple(map(_with_axis, params["input_layouts"], (typeof(x).ndim for x in moved))),
            "output_layouts": tuple(map(_with_axis, params["output_layouts"], (aval.ndim for aval in wide))),
        }

    return batched_call(ffi_call_p, values, dims, params, widened)


def _with_axis(layout: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """A layout with the batch axis outermost, where the array has it."""
    return layout if len(layout) == rank else (0, *(axis + 1 for axis in layout))


def _lower(
    ctx: LoweringContext, *operands: Value, target_name: str, result_avals: Sequence[ShapedArray],
    has_side_effect: bool, vmap_method: str | None, input_layouts: tuple[tuple[int, ...], ...],
    output_layouts: tuple[tuple[int, ...], ...], input_output_aliases: tuple[Any, ...], attributes: tuple[tuple[str, Any], ...],
    custom_call_api_version: int, legacy_backend_config: str | None,
) -> list[Value]:  # fmt: skip
    rule = ffi_lowering(
        target_name, operand_layouts=input_layouts, result_layouts=output_layouts, backend_config=legacy_backend_config,
        has_side_effect=has_side_effect, operand_output_aliases=dict(input_output_aliases),
        api_version=custom_call_api_version,
    )  # fmt: skip
    return list(rule(ctx, *operands, **{name: _thawed(value) for name, value in attributes}))


ffi_call_p.jvp = _refuse_derivative
ffi_call_p.batch = _batch
ffi_call_p.lower[None] = _lower


def build_ffi_lowering_function(
    call_target_name: str, *, operand_layouts: Layouts = None, result_layouts: Layouts = None,
    backend_config: Mapping[str, Any] | str | None = None, skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:  # fmt: skip
    """A function of a lowering context, values of MLIR and attributes, to the operation that calls a registered function.

    Args:
      call_target_name: the name that it is registered by.
      operand_layouts, result_layouts: for each array its axes, that of the most distant elements first; None as NumPy's.
      backend_config: further attributes of MLIR, by name; a text for calls of older kinds.
      skip_ffi_layout_processing: layouts are as ``custom_call`` has them, that of the nearest elements first.
      lowering_args: of ``arrax.interpreters.mlir.custom_call``.
    Raises:
      ValueError: attributes for a call of an older kind, or layouts of another number or rank than the arrays.
      TypeError: attributes of a class that has no counterpart in MLIR.
    Example: ``rule = arrax.ffi.build_ffi_lowering_function('my_kernel')``; ``rule(ctx, x, scale=2.0).results``.
    """

    def lower(ctx: LoweringContext, *operands: Value, **params: Any) -> ir.Operation:
        version = lowering_args.get("api_version", 4)
        config: Any = backend_config
        if version >= 4:
            if isinstance(backend_config, str):
                raise ValueError(
                    f"The use of a text for backend_config requires api_version < 4; the call of {call_target_name} has {version}"
                )
            config = {**(backend_config or {}), **{name: ir_attribute(value) for name, value in params.items()}}
        elif params:
            raise ValueError(
                f"The use of attributes requires api_version=4; the call of {call_target_name} has {version} and {sorted(params)}"
            )
        orders: list[Any] = [
            given if skip_ffi_layout_processing and given is not None else _nearest_first(what, given, avals)
            for what, given, avals in (
                ("input", operand_layouts, ctx.avals_in), ("output", result_layouts, ctx.avals_out)
            )
        ]  # fmt: skip
        options = {"api_version": 4, "result_types": list(map(builder.ir_type, ctx.avals_out)), **lowering_args}
        return custom_call(
            call_target_name, operands=operands, backend_config=config, operand_layouts=orders[0],
            result_layouts=orders[1], **options,
        )  # fmt: skip

    return lower


def _nearest_first(what: str, layouts: Layouts, avals: Sequence[Any]) -> list[tuple[int, ...]]:
    """Layouts as the compiler has them, the axis of the nearest elements first."""
    ranks = [builder.physical_aval(aval).ndim if isinstance(aval, ShapedArray) else 0 for aval in avals]
    return [order[::-1] for order in checked_layouts(what, layouts, ranks)]


def checked_layouts(what: str, layouts: Layouts, ranks: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """A layout for each array, those that are not given as NumPy's.

    Raises:
      ValueError: other numbers of layouts than of arrays, or something that is no order of an array's axes.
    """
    given: Sequence[Any] = [None] * len(ranks) if layouts is None else layouts
    if len(given) != len(ranks):
        arguments = {"input": "input arguments", "output": "outputs"}[what]
        raise ValueError(
            f"The number of {arguments} ({len(ranks)}) must equal the number of {what} layouts ({len(given)})."
        )
    found = tuple(
        tuple(range(rank)) if layout is None else tuple(getattr(layout, "major_to_minor", layout))
        for layout, rank in zip(given, ranks, strict=True)
    )
    for layout, rank in zip(found, ranks, strict=True):
        if sorted(layout) != list(range(rank)):
            raise ValueError(f"{what} layout {layout} is no order of the axes of an array with {rank} of them")
    return found


def ffi_lowering(
    call_target_name: str, *, operand_layouts: Layouts = None, result_layouts: Layouts = None,
    backend_config: Mapping[str, Any] | str | None = None, skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Sequence[Any]]:  # fmt: skip
    """A lowering rule that calls a registered function, for ``arrax.interpreters.mlir.register_lowering``.

    Parameters of the primitive become attributes of the call.

    Args:
      call_target_name: the name that it is registered by.
      operand_layouts, result_layouts: for each array its axes, that of the most distant elements first; None as NumPy's.
      backend_config, skip_ffi_layout_processing, lowering_args: as of ``build_ffi_lowering_function``.
    Example: ``from arrax.interpreters import mlir; kernel = arrax.core.Primitive('kernel');
    rule = mlir.register_lowering(kernel, arrax.ffi.ffi_lowering('my_kernel'))``.
    """
    lower = build_ffi_lowering_function(
        call_target_name, operand_layouts=operand_layouts, result_layouts=result_layouts, backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing, **lowering_args,
    )  # fmt: skip
    return lambda ctx, *operands, **params: list(lower(ctx, *operands, **params).results)


def ffi_call(
    target_name: str, result_shape_dtypes: Any, *, has_side_effect: bool = False, vmap_method: str | None = None,
    input_layouts: Layouts = None, output_layouts: Sequence[Any] | None = None, input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4, legacy_backend_config: str | None = None,
) -> Callable[..., Array]:  # fmt: skip
    """A function of arrays that calls a function of a shared library.

    Args:
      target_name: the name that it is registered by (``register_ffi_target``).
      result_shape_dtypes: what has a shape and a dtype, or a sequence of such: its results.
      has_side_effect: it must be called even if nobody uses its results.
      vmap_method: what ``vmap`` does: as of ``pure_callback``, but that None refuses.
      input_layouts, output_layouts: for each array its axes, that of the most distant elements first; None as NumPy's arrays lie.
      input_output_aliases: from numbers of arguments to those of results that are written over them.
      custom_call_api_version: how it is called; 4 for functions that are written with XLA's header ``ffi.h``.
      legacy_backend_config: a text for functions of older kinds.
    Returns: a function of arrays, and of attributes by name: Python's and NumPy's numbers, texts, arrays, lists and dictionaries of
      such. Its result is an array, or a list or tuple of them as ``result_shape_dtypes`` is.
    Raises:
      ValueError: an unknown ``vmap_method``, layouts or aliases that do not fit, attributes for functions of older kinds; at
        differentiation: the derivative is not known.
      TypeError: arguments that are not arrays, or attributes of other classes.
      JaxRuntimeError: no function is registered by the name, or it fails.
    Example: ``arrax.ffi.register_ffi_target('my_kernel', arrax.ffi.pycapsule(library.my_kernel))``, then
    ``arrax.ffi.ffi_call('my_kernel', arrax.ShapeDtypeStruct(x.shape, x.dtype))(x, scale=2.0)``.
    """
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(f"ffi_call: vmap_method must be one of {[*METHODS, None]}, got {vmap_method!r}")
    if legacy_backend_config is not None and custom_call_api_version >= 4:
        raise ValueError(
            f"ffi_call: legacy_backend_config is for functions with custom_call_api_version < 4, got {custom_call_api_version}"
        )
    if not isinstance(target_name, str):
        raise TypeError(f"ffi_call: target_name must be a text, got {target_name!r} of type {type(target_name)}")
    several = isinstance(result_shape_dtypes, list | tuple)
    results = tuple(result_shape_dtypes) if several else (result_shape_dtypes,)
    for place, each in enumerate(results):
        if not hasattr(each, "shape") or not hasattr(each, "dtype"):
            raise ValueError(
                f"All elements of result_shape_dtypes must have 'shape' and 'dtype' attributes. Got {each} at position {place}."
            )
    result_avals = tuple(result_types("ffi_call", list(results), keeps_weak_types=True)[0])
    orders = output_layouts if several or output_layouts is None else [output_layouts]
    out_layouts = checked_layouts("output", orders, [aval.ndim for aval in result_avals])

    aliases = tuple(sorted((as_index(n), as_index(out)) for n, out in dict(input_output_aliases or {}).items()))

    @boundary
    def foreign_function(*args: Any, **attributes: Any) -> Any:
        if attributes and custom_call_api_version < 4:
            raise ValueError(
                f"ffi_call: {target_name} takes no attributes by name with custom_call_api_version={custom_call_api_version}, "
                f"got {', '.join(sorted(attributes))}: these need version 4"
            )
        operands = [checked_operand("ffi_call", arg) for arg in args]
        avals = list(map(typeof, operands))
        check_aliases(aliases, avals, result_avals)
        outs = ffi_call_p.bind(
            *operands, target_name=target_name, result_avals=result_avals, has_side_effect=bool(has_side_effect),
            vmap_method=vmap_method, input_layouts=checked_layouts("input", input_layouts, [aval.ndim for aval in avals]),
            output_layouts=out_layouts, input_output_aliases=aliases,
            attributes=tuple((name, _frozen(value)) for name, value in sorted(attributes.items())),
            custom_call_api_version=custom_call_api_version, legacy_backend_config=legacy_backend_config,
        )  # fmt: skip
        return type(result_shape_dtypes)(outs) if several else outs[0]

    return foreign_function


def check_aliases(
    aliases: tuple[tuple[int, ...], ...], avals: Sequence[ShapedArray], result_avals: Sequence[ShapedArray]
) -> None:
    """Refuse results that are to be written over arguments that are not there, or of other types.

    Raises:
      ValueError: there are such.
    """
    for operand, result in aliases:
        mapping = f"input_output_aliases contains the mapping '{operand}:{result}'"
        for kind, number, count in (("input", operand, len(avals)), ("output", result, len(result_avals))):
            if not 0 <= number < count:
                raise ValueError(f"{mapping} with {kind} index {number} outside the range [0, {count}).")
        one, other = avals[operand].strip_weak_type(), result_avals[result].strip_weak_type()
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            raise ValueError(
                f"{mapping} of {one.str_short(True)} to {other.str_short(True)}: the two must have one type."
            )
