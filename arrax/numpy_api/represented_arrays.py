"""Arrays of extended dtypes of libraries, whose elements are stored as numbers and which have rules of their own.

``primal_tangent_dtype`` makes dtypes of values whose tangents have another dtype; libraries subclass ``ExtendedDType``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import Primitive, Rounding, context
from arrax.core.pytree_nodes import call_registry
from arrax.core.types import ShapedArray, Zero, register_type, typeof
from arrax.dtypes import DTypeLike
from arrax.dtypes import ExtendedDType as ExtendedDType
from arrax.lax import filled_arrays
from arrax.lax.conversion import convert
from arrax.lax.extended_structure import Structure
from arrax.lax.placement import put_value
from arrax.native import runtime
from arrax.numpy_api.api import register_operand
from arrax.numpy_api.array_methods import METHODS
from arrax.numpy_api.operators import OPERATORS
from arrax.xla.arrays import Array, attach
from arrax.xla.overlaid_arrays import OverlaidArray
from arrax.xla.placement import array_from_host


class EArray(OverlaidArray):
    """An array of an extended dtype: its type, and the array that stores its elements.

    Args:
      aval: the type. data: array of the dtype that stores elements, whose own axes stand last.
    Raises:
      TypeError: data of another type.
    Example: ``from arrax.experimental import EArray, primal_tangent_dtype
    dtype = primal_tangent_dtype('int8', 'float32')
    EArray(arrax.core.ShapedArray((2,), dtype), jnp.ones(2, 'int8')).shape`` is ``(2,)``.
    """

    def __init__(self, aval: ShapedArray, data: Array) -> None:
        dtype: Any = aval.dtype
        if data.shape != (*aval.shape, *dtype.physical_shape) or data.dtype != dtype.physical_dtype:
            raise TypeError(
                f"EArray: elements of {aval.str_short()} are stored in an array of {dtype.physical_dtype} of shape "
                f"{(*aval.shape, *dtype.physical_shape)}, got {typeof(data).str_short()}"
            )
        self.aval, self._base_array = aval, data

    nbytes = property(lambda self: self._base_array.nbytes, doc="Bytes of all elements.")

    def on_device(self, device: runtime.Device) -> EArray:
        """The array on a device: what ``device_put`` does with it."""
        return EArray(self.aval, put_value(self._base_array, device))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"arrays of dtype {self.dtype} have no form in NumPy; convert them first, with lax.convert_element_type"
        )

    def __repr__(self) -> str:
        return f"EArray({self.shape}, dtype={self.dtype}) overlaying:\n{self._base_array!s}"

    __str__ = __repr__


_STRUCTURAL = (
    "at", "T", "mT", "reshape", "transpose", "ravel", "flatten", "squeeze", "swapaxes", "take", "repeat", "diagonal", "astype",
    "__getitem__", "__iter__",
)  # fmt: skip
attach(EArray, {name: method for name, method in METHODS.items() if name in _STRUCTURAL or name in OPERATORS})
register_operand(EArray)
register_type(EArray, lambda values: values.aval)
call_registry.register_node(
    EArray, lambda values: ((values._base_array,), values.aval), lambda aval, data: EArray(aval, *data)
)


# ---- between elements and what stores them ----------------------------------------------------------------------------

extend_p = Primitive("to_extended_dtype", rounding=Rounding.NONE)
represent_p = Primitive("from_extended_dtype", rounding=Rounding.NONE)
represent_p.type_rule = lambda values, *, dtype: ShapedArray(
    (*values.shape, *dtype.physical_shape), dtype.physical_dtype
)


def _extended_type(data: ShapedArray, *, dtype: Any) -> ShapedArray:
    return ShapedArray(data.shape[: data.ndim - len(dtype.physical_shape)], dtype)


def _extend(data: Array, *, dtype: Any) -> EArray:
    data = data if isinstance(data, runtime.Array) else array_from_host(np.asarray(data, dtype.physical_dtype))
    return EArray(_extended_type(typeof(data), dtype=dtype), data)


def _jvp(primitive: Primitive) -> Callable[..., Any]:
    def rule(primals: tuple[Array, ...], tangents: tuple[Array, ...], *, dtype: Any) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        out = primitive.bind(x, dtype=dtype)
        aval = typeof(out).to_tangent_aval()
        if type(t) is Zero or aval.dtype == dtypes.float0:
            return out, Zero(aval)
        own = aval.dtype if primitive is extend_p else typeof(t).dtype  # which may be the dtype itself, or of numbers
        return out, primitive.bind(t, dtype=dtype) if own == dtype else convert(t, aval.dtype)

    return rule


extend_p.type_rule = _extended_type
extend_p.impl, represent_p.impl = _extend, lambda values, *, dtype: values._base_array
for _p, _other in ((extend_p, represent_p), (represent_p, extend_p)):
    _p.lower[None] = lambda ctx, x, **params: [x]
    _p.jvp = _jvp(_p)
    _p.transpose = lambda ct, x, *, dtype, other=_other: [other.bind(ct, dtype=dtype)]
    _p.batch = lambda values, dims, *, dtype, own=_p: (own.bind(*values, dtype=dtype), dims[0])


class StructureOfNumbers(Structure):
    """What a library's dtype hands operations on to: its rules, and otherwise those of the numbers that store elements."""

    def wrap(self, dtype: ExtendedDType, data: Array) -> Any:
        if context.interpreter.is_evaluation and isinstance(data, runtime.Array):
            return _extend(data, dtype=dtype)
        return extend_p.bind(data, dtype=dtype)

    def unwrap(self, dtype: ExtendedDType, values: Array) -> Array:
        return represent_p.bind(values, dtype=dtype)

    def converted(self, dtype: ExtendedDType, values: Any) -> Array:
        found = typeof(values).dtype
        if not dtype._rules.convert_to(found, dtype):
            raise ValueError(
                f"convert_element_type: values of dtype {found} are not converted to {dtype}, which is stored as "
                f"{dtype.physical_dtype}"
            )
        return self.wrap(dtype, convert(values, dtype.physical_dtype))

    def number(self, dtype: ExtendedDType, values: Array, other: DTypeLike) -> Any:
        wanted = other if isinstance(other, ExtendedDType) else dtypes.canonicalize_dtype(dtypes.dtype(other))
        if not dtype._rules.convert_from(dtype, wanted):
            raise ValueError(
                f"convert_element_type: values of dtype {dtype}, which are stored as {dtype.physical_dtype}, are not converted "
                f"to {wanted}"
            )
        return convert(self.unwrap(dtype, values), wanted)

    def add(self, dtype: ExtendedDType, x: Array, y: Array) -> Any:
        return dtype._rules.add(dtype, x, y)

    def zeros(self, dtype: ExtendedDType, shape: tuple[int, ...]) -> Array:
        return self.broadcast_in_dim(dtype, dtype._rules.zero(dtype), shape, ())

    def full(self, dtype: ExtendedDType, shape: tuple[int, ...], value: Any) -> Array:
        if typeof(value).dtype == dtype:
            return self.broadcast_in_dim(dtype, value, shape, ())
        rule = getattr(dtype._rules, "full", None)
        if rule is not None:
            return rule(shape, value, dtype)
        return self.wrap(dtype, filled_arrays.full((*shape, *dtype.physical_shape), value, dtype.physical_dtype))


ExtendedDType._structure = StructureOfNumbers()


# ---- values with tangents of another dtype ------------------------------------------------------------------------------


class _PrimalTangentRules:
    @staticmethod
    def physical_element_aval(dtype: PrimalTangentDType) -> ShapedArray:
        return ShapedArray((), dtype.primal)

    @staticmethod
    def tangent_dtype(dtype: PrimalTangentDType) -> np.dtype:
        return dtype.tangent

    @staticmethod
    def convert_from(dtype: PrimalTangentDType, other: np.dtype) -> bool:
        return other == dtype.primal

    @staticmethod
    def convert_to(other: np.dtype, dtype: PrimalTangentDType) -> bool:
        return other == dtype.primal


class PrimalTangentDType(ExtendedDType):
    """The dtype that ``primal_tangent_dtype`` makes. Equal to those of the same dtypes and name."""

    __slots__ = ("primal", "tangent", "name")
    _rules = _PrimalTangentRules

    def __init__(self, primal: np.dtype, tangent: np.dtype, name: str) -> None:
        self.primal, self.tangent, self.name = primal, tangent, name

    def _key(self) -> tuple[Any, ...]:
        return self.primal, self.tangent, self.name

    def __eq__(self, other: object) -> bool:
        return type(other) is PrimalTangentDType and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return PrimalTangentDType, self._key()


def primal_tangent_dtype(
    primal_dtype: DTypeLike, tangent_dtype: DTypeLike, name: str | None = None
) -> PrimalTangentDType:
    """A dtype of values that are stored in one dtype, and whose tangents and gradients have another one.

    Values are converted to and from the dtype that stores them by ``lax.convert_element_type``, through which no derivative
    flows where that dtype has none: rules of functions (``custom_vjp``) give it.

    Args:
      primal_dtype: of what stores the values. tangent_dtype: of their tangents.
      name: how the dtype prints.
    Example: ``arrax.experimental.primal_tangent_dtype('int8', 'float32')`` is ``PrimalTangentDType{i8/f32}``.
    """
    primal, tangent = (dtypes.canonicalize_dtype(dtypes.dtype(each)) for each in (primal_dtype, tangent_dtype))
    texts = map(dtypes.short_name, (primal, tangent))
    return PrimalTangentDType(primal, tangent, name or f"PrimalTangentDType{{{'/'.join(texts)}}}")
