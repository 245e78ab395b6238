"""The pieces that lowering rules build with: types, constants, attributes, operations. All are cached where that pays."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from arrax import dtypes, native
from arrax.core.calls import in_call
from arrax.core.lengths import is_symbolic
from arrax.core.types import AbstractToken, ShapedArray
from arrax.xla.modules import new_context

if TYPE_CHECKING:
    from arrax.core.symbolic_dimensions import Factor
    from arrax.interpreters.annotations import Value
    from arrax.native.mlir import ir
    from arrax.xla.arrays import ArrayLike

_lock = threading.Lock()


@functools.cache
def ir_context() -> ir.Context:
    """The one MLIR context of the process, with the dialects that programs use."""
    with _lock:
        return new_context()


_ELEMENT_TYPES: dict[str, str] = {
    "bool": "i1", "int2": "i2", "int4": "i4", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint2": "ui2", "uint4": "ui4", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "complex<f32>",
    "complex128": "complex<f64>", "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e8m0fnu": "f8E8M0FNU", "float4_e2m1fn": "f4E2M1FN",
}  # fmt: skip


@functools.cache
def element_type(dtype: np.dtype) -> ir.Type:
    """The MLIR type of the elements of an array."""
    if dtype.name not in _ELEMENT_TYPES:
        raise TypeError(
            in_call(
                f"Nothing can be computed with elements of dtype {dtype.name}: the compiler has no such type.", dtype
            )
        )
    return native.mlir.ir.Type.parse(_ELEMENT_TYPES[dtype.name], ir_context())


@functools.lru_cache(1 << 14)
def tensor_type(shape: tuple[int, ...], dtype: np.dtype) -> ir.Type:
    """The MLIR type of an array; lengths that are symbols are known when the program is called."""
    if any(map(is_symbolic, shape)):
        unknown = native.mlir.ir.ShapedType.get_dynamic_size()
        shape = tuple(unknown if is_symbolic(length) else length for length in shape)
    if dtype == dtypes.float0:
        dtype = np.dtype(np.bool_)
    try:
        return native.mlir.ir.RankedTensorType.get(shape, element_type(dtype))
    except TypeError:
        if max(shape, default=0) < 1 << 63:
            raise
        raise ValueError(f"an array of shape {shape} has more elements than can be addressed") from None


def row_major(avals: Sequence[Any]) -> ir.Attribute:
    """The layouts attribute of operands or results whose elements lie as NumPy's do; tokens have no axes."""
    ranks = [0 if isinstance(aval, AbstractToken) else aval.ndim for aval in avals]
    return attribute(f"[{', '.join(f'dense<{list(range(rank))[::-1]}> : tensor<{rank}xindex>' for rank in ranks)}]")


def physical_aval(aval: ShapedArray) -> ShapedArray:
    """The type of the array that represents a value: keys are arrays of unsigned ints."""
    dtype = aval.dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        return ShapedArray((*aval.shape, *dtype.physical_shape), dtype.physical_dtype)
    return aval


def ir_type(aval: Any) -> ir.Type:
    """The MLIR type of a value."""
    if isinstance(aval, AbstractToken):
        return native.mlir.stablehlo_types.TokenType.get()
    aval = physical_aval(aval)
    return tensor_type(aval.shape, aval.dtype)


class _Recorder(threading.local):
    """Who notes the operations that a thread makes: see ``locations``."""

    note: Callable[[Any], None] = staticmethod(lambda operation: None)


recorder = _Recorder()


@functools.cache
def _create() -> Callable[..., Any]:
    ir_context()
    return native.mlir.ir.Operation.create


def operation(
    name: str,
    types: Sequence[Any],
    operands: Sequence[Value],
    attributes: dict[str, Any] | None = None,
    regions: int = 0,
) -> ir.Operation:
    """A new operation at the current insertion point, such as ``operation("stablehlo.sine", [t], [x])``."""
    made = _create()(name, results=types, operands=operands, attributes=attributes, regions=regions)
    recorder.note(made)
    return made


_SIZED = {"broadcast_in_dim": "dynamic_broadcast_in_dim", "reshape": "dynamic_reshape", "iota": "dynamic_iota"}


def op(name: str, aval: Any, *operands: Any, **attributes: Any) -> Value:
    """The single result of a StableHLO operation: ``op("sine", aval, x)``; attributes are MLIR attributes.

    Operations whose results have the shape that their type says are told that of symbols as an operand.
    """
    if name in _SIZED and type(aval.size) is not int:
        name, operands = _SIZED[name], (*operands, lengths(physical_aval(aval).shape))
    made = _create()(f"stablehlo.{name}", results=[ir_type(aval)], operands=operands, attributes=attributes or None)
    recorder.note(made)
    return made.results[0]


class _Symbols(threading.local):
    """The lengths of axes that are symbols, in the program that a thread lowers."""

    values: dict[str, Any] | None = None


symbols = _Symbols()
_LENGTH = ShapedArray((), np.dtype(np.int32))


def length(dimension: Any) -> Any:
    """A length of an axis as a value of the program: an int, or an expression of symbols.

    Raises:
      NotImplementedError: the program's arguments have no symbols in their shapes.
    """
    if not is_symbolic(dimension):
        return constant(np.int32(dimension))
    if symbols.values is None:
        raise NotImplementedError(
            f"the symbolic dimension '{dimension}' as a value, outside of arrax.export: only exported programs know its length"
        )
    total = None
    for monomial, coefficient in dimension.terms:
        term = constant(np.int32(coefficient)) if coefficient != 1 or not monomial else None
        for factor, power in monomial:
            for _ in range(power):
                value = _factor(factor)
                term = value if term is None else op("multiply", _LENGTH, term, value)
        total = term if total is None else op("add", _LENGTH, total, term)
    return total


def _factor(factor: Factor) -> Value:
    if not factor.operands:
        assert symbols.values is not None
        return symbols.values[factor.name]
    x, y = map(length, factor.operands)
    if factor.name in ("max", "min"):
        return op(f"{factor.name}imum", _LENGTH, x, y)
    rest = op("remainder", _LENGTH, op("add", _LENGTH, op("remainder", _LENGTH, x, y), y), y)  # with the divisor's sign
    return rest if factor.name == "mod" else op("divide", _LENGTH, op("subtract", _LENGTH, x, rest), y)


def lengths(shape: Sequence[Any]) -> Value:
    """A shape as a value of the program, of rank 1."""
    one = ShapedArray((1,), np.dtype(np.int32))
    if not shape:
        return constant(np.zeros(0, np.int32))
    parts = [op("reshape", one, length(each)) for each in shape]
    return op("concatenate", ShapedArray((len(parts),), np.dtype(np.int32)), *parts, dimension=integer(0))


def static_slice(
    x: Value, aval: ShapedArray, starts: Sequence[int], stops: Sequence[int], strides: Sequence[int] | None = None
) -> Value:
    """The part of ``x`` between known places, which has the type ``aval``."""
    steps = strides or [1] * len(starts)
    if strides:
        # There is no step after one element; by it the compiler takes another element where devices have parts of the axis.
        single = [count == 1 for count in aval.shape]
        stops = [start + 1 if one else stop for start, stop, one in zip(starts, stops, single, strict=True)]
        steps = [1 if one else step for step, one in zip(strides, single, strict=True)]
    return op("slice", aval, x, start_indices=ints(starts), limit_indices=ints(stops), strides=ints(steps))


def piece(aval: ShapedArray, x: Value, starts: Sequence[Value]) -> Value:
    """The part of ``x`` that has the shape of a type, from some places on (scalars); lengths may be symbols."""
    if type(aval.size) is int:
        return op("dynamic_slice", aval, x, *starts, slice_sizes=ints(aval.shape))
    one, all_ = (ShapedArray((count,), np.dtype(np.int32)) for count in (1, len(starts)))
    numbers = [op("reshape", one, op("convert", _LENGTH, start)) for start in starts]
    start = op("concatenate", all_, *numbers, dimension=integer(0))
    limit = op("add", all_, start, lengths(aval.shape))
    return op("real_dynamic_slice", aval, x, start, limit, lengths([1] * len(starts)))


def compare(direction: str, shape: tuple[int, ...], x: Value, y: Value, **attributes: Any) -> Value:
    """Flags of a shape: ``x`` against ``y``; the direction is EQ, NE, LT, LE, GT or GE."""
    flags = ShapedArray(shape, np.dtype(np.bool_))
    chosen = attribute(f"#stablehlo<comparison_direction {direction}>")
    return op("compare", flags, x, y, comparison_direction=chosen, **attributes)


def dense(value: np.ndarray, shape: tuple[int, ...] | None = None) -> ir.Attribute:
    """A dense attribute with the elements of a host array (repeated to ``shape`` where it is a scalar)."""
    ir = native.mlir.ir
    value = np.asarray(value)
    if value.dtype == dtypes.float0:
        value = np.zeros(value.shape, np.bool_)
    full = value.shape if shape is None else shape
    dtype = value.dtype
    if value.size == 0 or dtype.name in ("int2", "uint2", "int4", "uint4", "float4_e2m1fn"):
        return _parsed(value, full)
    if value.size == 1:  # a splat
        return ir.DenseElementsAttr.get(value.reshape(()).view(_storage(dtype)), type=element_type(dtype), shape=full)
    value = np.ascontiguousarray(value)
    return ir.DenseElementsAttr.get(value.view(_storage(dtype)), type=element_type(dtype), shape=full)


def _storage(dtype: np.dtype) -> np.dtype:
    """The NumPy dtype whose buffer the bindings understand."""
    if dtype.name == "bfloat16":
        return np.dtype(np.uint16)
    return np.dtype(np.uint8) if dtype.name.startswith("float8") else dtype


def _parsed(value: np.ndarray, shape: tuple[int, ...]) -> ir.Attribute:
    def text(element: Any) -> str:
        if "float" in value.dtype.name:
            return f"0x{np.asarray(element).astype(value.dtype).view(np.uint8).item():x}"
        return str(int(element))

    if value.size == 0:
        return native.mlir.ir.Attribute.parse(f"dense<> : {tensor_type(shape, value.dtype)}")
    if value.size == 1:
        return native.mlir.ir.Attribute.parse(f"dense<{text(value.ravel()[0])}> : {tensor_type(shape, value.dtype)}")
    body = ", ".join(text(x) for x in value.ravel())
    flat = native.mlir.ir.Attribute.parse(f"dense<[{body}]> : {tensor_type((value.size,), value.dtype)}")
    return flat if shape == (value.size,) else flat.reshape(tensor_type(shape, value.dtype))


def constant(value: ArrayLike, aval: ShapedArray | None = None) -> Value:
    """A constant operation for a host value (of the dtype of ``aval``, where given)."""
    array = np.asarray(value)
    if aval is not None and array.dtype != aval.dtype and array.dtype != dtypes.float0:
        with np.errstate(all="ignore"):
            array = array.astype(aval.dtype)
    # The bindings have no attribute for an empty complex array.
    if array.size == 0 and array.shape != () and array.dtype.kind == "c":
        return full(0, ShapedArray(array.shape, array.dtype))
    result = tensor_type(array.shape, array.dtype)
    made = _create()("stablehlo.constant", results=[result], attributes={"value": dense(array)})
    recorder.note(made)
    return made.results[0]


def full(value: Any, aval: ShapedArray) -> Value:
    """A constant scalar repeated to a type."""
    scalar = constant(np.asarray(value).astype(aval.dtype))
    return scalar if aval.shape == () else broadcast(scalar, aval, ())


def broadcast(x: Value, aval: ShapedArray, dims: Sequence[int]) -> Value:
    """``x`` with its axes at ``dims`` of the result type."""
    return op("broadcast_in_dim", aval, x, broadcast_dimensions=ints(dims))


@functools.lru_cache(1 << 12)
def _ints(values: tuple[int, ...]) -> ir.Attribute:
    return native.mlir.ir.DenseI64ArrayAttr.get(values, ir_context())


def ints(values: Sequence[int]) -> ir.Attribute:
    """The attribute ``array<i64: …>``."""
    return _ints(tuple(int(v) for v in values))


def bools(values: Sequence[bool]) -> Any:
    """The attribute ``array<i1: …>``."""
    return native.mlir.ir.DenseBoolArrayAttr.get([bool(v) for v in values])


@functools.lru_cache(1 << 12)
def attribute(text: str) -> ir.Attribute:
    """Any attribute, by its text."""
    return native.mlir.ir.Attribute.parse(text, ir_context())


_FRONTEND = "mhlo.frontend_attributes"


def add_metadata(operation: Any, metadata: dict[str, str]) -> None:
    """Let an operation carry texts by names, beside those that it has; where it has one of a name, that stays."""
    ir, attributes = native.mlir.ir, operation.attributes
    with ir_context():
        told = {name: ir.StringAttr.get(text) for name, text in metadata.items()}
        if _FRONTEND in attributes:
            told.update({each.name: each.attr for each in attributes[_FRONTEND]})
        attributes[_FRONTEND] = ir.DictAttr.get(told)


def integer(value: int, bits: int = 64) -> ir.Attribute:
    """An integer attribute."""
    return attribute(f"{value} : i{bits}")


def matrix(rows: Sequence[Sequence[int]], width: int) -> ir.Attribute:
    """A dense attribute of 64-bit integers, shape (rows, width)."""
    array = np.asarray(rows, np.int64).reshape(len(rows), width)
    return dense(array)


def string(text: str) -> ir.Attribute:
    """A string attribute."""
    return native.mlir.ir.StringAttr.get(text)


def partitions() -> int:
    """How many devices share the module that is being built."""
    operation_ = native.mlir.ir.InsertionPoint.current.block.owner
    while operation_.name != "builtin.module":
        operation_ = operation_.parent
    return native.mlir.ir.IntegerAttr(operation_.attributes["mhlo.num_partitions"]).value


def block_with(operation_: ir.Operation, index: int, avals: Sequence[ShapedArray]) -> ir.Block:
    """A new block in a region of an operation, with scalar (or other) arguments of the given types."""
    ir = native.mlir.ir
    types = [ir_type(aval) for aval in avals]
    return operation_.regions[index].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))


def current_block() -> ir.Block:
    """The block in which is being built."""
    return native.mlir.ir.InsertionPoint.current.block


def inside(block: ir.Block) -> ir.InsertionPoint:
    """Context manager: build in a block."""
    return native.mlir.ir.InsertionPoint(block)


def return_(values: Sequence[Any]) -> None:
    """The terminator of a region."""
    operation("stablehlo.return", [], values)


small_floats = frozenset(np.dtype(t) for t in (ml_dtypes.bfloat16, np.float16))
