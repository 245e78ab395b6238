"""Conversion between types of elements, and constants of a type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.explicit_axes import elementwise
from arrax.core.interpreter import Primitive, Rounding
from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.dtypes import DTypeLike
from arrax.dtypes.canonical import warn_of_dropped_parts
from arrax.interpreters.lowering import builder
from arrax.lax.operand_checks import checked_operand, kind_of, requested_dtype
from arrax.lax.shape_slots import shape_slots
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.ad.transpose import UndefinedPrimal
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.interpreters.staging import Staging

convert_element_type_p = Primitive("convert_element_type", rounding=Rounding.NONE)
convert_element_type_p.hidden_params = frozenset({"sharding"})


def _type_rule(aval: ShapedArray, *, new_dtype: np.dtype, weak_type: bool, sharding: Any = None) -> ShapedArray:
    return ShapedArray(aval.shape, new_dtype, weak_type)


def convert_ir(x: Value, before: ShapedArray, after: ShapedArray) -> Value:
    """Lowering of a conversion: complex to real takes the real part, to bool compares with zero."""
    old, new = before.dtype, after.dtype
    if old == new:
        return x
    if kind_of(old) == "complex" and kind_of(new) != "complex":
        part = ShapedArray(before.shape, np.dtype(np.float32 if old == np.complex64 else np.float64))
        if new != np.bool_:
            return convert_ir(builder.op("real", part, x), part, after)
    if new == np.bool_:
        return builder.compare("NE", after.shape, x, builder.full(0, before))
    if old == np.bool_ and dtypes.is_inexact(new):
        # A converted flag times a number would be 0 to the compiler where the flag is off, for infinities, too.
        return builder.op("select", after, x, builder.full(1, after), builder.full(0, after))
    return builder.op("convert", after, x)


def _lower(
    ctx: LoweringContext, x: Value, *, new_dtype: np.dtype, weak_type: bool, sharding: Any = None
) -> list[Value]:
    return [convert_ir(x, ctx.avals_in[0], ctx.avals_out[0])]


def _jvp(
    primals: Sequence[ArrayLike],
    tangents: Sequence[Tangent],
    *,
    new_dtype: np.dtype,
    weak_type: bool,
    sharding: Any = None,
) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    answer = convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=weak_type, sharding=sharding)
    if type(t) is Zero or not dtypes.is_inexact(new_dtype):
        return answer, Zero.of(answer)
    return answer, convert_element_type_p.bind(t, new_dtype=new_dtype, weak_type=weak_type, sharding=sharding)


def _transpose(
    ct: ArrayLike, x: UndefinedPrimal, *, new_dtype: np.dtype, weak_type: bool, sharding: Any = None
) -> list[Any]:
    if type(ct) is Zero:
        return [ct]
    aval = x.aval
    return [convert_element_type_p.bind(ct, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None)]


def _stage(interpreter: Staging, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Constants are converted while the program is recorded, where nothing is lost."""
    x = args[0]
    if isinstance(x, np.ndarray) and typeof(x).dtype == params["new_dtype"] and not params["weak_type"]:
        return interpreter.value(x)  # the constant itself, however often it is used
    known = interpreter.number(x)
    value = None if known is None else _converted(known, params["new_dtype"], params["weak_type"])
    if value is not None:
        return interpreter.constant(value)
    return interpreter.record(convert_element_type_p, args, params)


def _converted(x: ArrayLike, dtype: np.dtype, weak_type: bool) -> Any:
    """A scalar of NumPy or Python in another dtype; None where the two differ in value."""
    before = np.asarray(x, typeof(x).dtype)
    if kind_of(before.dtype) == "complex" and kind_of(dtype) != "complex":
        return None
    with np.errstate(all="ignore"):
        after = before.astype(dtype)
    if not dtypes.is_inexact(dtype) and after != before:
        return None
    if not weak_type:
        return after[()]
    value = after.item()
    return value if typeof(value).dtype == dtype else None


convert_element_type_p.type_rule, convert_element_type_p.divides = _type_rule, elementwise
convert_element_type_p.stage = _stage
convert_element_type_p.lower[None] = _lower
convert_element_type_p.jvp = _jvp
convert_element_type_p.transpose = _transpose
convert_element_type_p.is_idle = lambda eqn: (
    eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype and eqn.params.get("sharding") is None
)
convert_element_type_p.batch = lambda values, dims, **params: (convert_element_type_p.bind(*values, **params), dims[0])


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Convert elements to another dtype, as XLA does (floats to ints truncate and saturate).

    Args:
      operand: array or number.
      new_dtype: dtype, or what names one; Python's scalar types name the default dtypes of their kinds.
    Returns: array of the same shape, not weakly typed.
    Raises:
      ValueError: None for a dtype.
    Example: ``lax.convert_element_type(jnp.arange(3), jnp.float32)``. Source: StableHLO ``convert``.
    """
    if new_dtype is None:
        raise ValueError("convert_element_type: the dtype must be given, got None")
    if isinstance(new_dtype, dtypes.ExtendedDType):
        return convert(operand, new_dtype, False)
    target = requested_dtype("convert_element_type", new_dtype)
    converted = convert(operand, new_dtype, False)
    warn_of_dropped_parts("convert_element_type", dtypes.value_pair(operand)[0], target)
    return converted


def length_of_axis(length: Any, dtype: np.dtype) -> ArrayLike:
    """The length of an axis as a number of a dtype."""
    return convert(length.__jax_array__(), dtype) if is_symbolic(length) else np.asarray(length).astype(dtype)[()]


def scalar_of(value: int, dtype: np.dtype) -> ArrayLike:
    """A Python int, however large, as a NumPy scalar of a dtype; integers wrap around."""
    bits = dtypes.iinfo(dtype).bits if dtypes.is_integer(dtype) else None
    with np.errstate(all="ignore"):
        return np.asarray(value if bits is None else value % (1 << bits), None if bits is None else np.uint64).astype(
            dtype
        )[()]


def convert(x: Any, new_dtype: Any, weak_type: bool = False) -> Array:
    """The conversion with an explicit weak type; no operation where nothing changes."""
    x = checked_operand("convert_element_type", x)
    if (
        type(x) is int
        and new_dtype is not None
        and not isinstance(new_dtype, dtypes.ExtendedDType)
        and x.bit_length() > 31
    ):
        x = scalar_of(x, dtypes.canonicalize_dtype(dtypes.dtype(new_dtype)))
    aval = typeof(x)
    if new_dtype is None:
        dtype = aval.dtype
    elif isinstance(new_dtype, dtypes.ExtendedDType) or isinstance(aval.dtype, dtypes.ExtendedDType):
        if new_dtype == aval.dtype:
            return x
        if isinstance(aval.dtype, dtypes.ExtendedDType):
            return aval.dtype._structure.number(aval.dtype, x, new_dtype)
        return new_dtype._structure.converted(new_dtype, x)
    else:
        dtype = dtypes.canonicalize_dtype(dtypes.dtype(new_dtype))
    if (
        dtype == aval.dtype
        and weak_type == aval.weak_type
        and not isinstance(x, int | float | complex | bool | np.ndarray | np.generic)
    ):
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=bool(weak_type), sharding=None)


shape_slots.convert = convert
