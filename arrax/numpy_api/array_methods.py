"""Methods of arrays: the table that gives the Array class and tracers what ``numpy.ndarray`` has, and ``.at``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from arrax.core.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from arrax.core.interpreter import Tracer
from arrax.core.tracebacks import boundary
from arrax.core.types import typeof
from arrax.dtypes import DTypeLike
from arrax.native import runtime
from arrax.numpy_api import (
    accumulations,
    averages,
    axis_order,
    bit_views,
    creation,
    elementwise,
    filled_arrays,
    indexing,
    manipulation,
    matrices,
    products,
    rearranging,
    reductions,
    searching,
    selection,
    sorting,
    updates,
)
from arrax.numpy_api.operands import check_arraylike
from arrax.numpy_api.operators import OPERATORS
from arrax.xla.annotations import Axes, OneAxis, OptionalDevice, OptionalSharding
from arrax.xla.arrays import (
    ATTRIBUTES,
    Array,
    ArrayLike,
    OptionalArray,
    attach,
    check_scalar,
    check_scalar_index,
    check_truth_value,
    item,
    to_list,
)
from arrax.xla.placement import host_value

ArrayImpl = runtime.ArrayImpl


def _documented_as(function: Any, difference: str = "") -> Any:
    """Decorator: a method has the documentation of the function of ``arrax.numpy`` that it is."""

    def decorate(method: Any) -> Any:
        method.__doc__ = f"{function.__doc__}{difference and f'As a method: {difference}'}"
        return method

    return decorate


@_documented_as(manipulation.reshape, "the shape may be given as several arguments.")
def _reshape(
    self: Array, *args: Any, order: str = "C", copy: bool | None = None, out_sharding: OptionalSharding = None
) -> Array:
    return manipulation.reshape(
        self, args[0] if len(args) == 1 else args, order=order, copy=copy, out_sharding=out_sharding
    )


@_documented_as(axis_order.transpose, "the axes may be given as several arguments.")
def _transpose(self: Array, *args: Any) -> Array:
    axes = None if not args else args[0] if len(args) == 1 and (args[0] is None or np.ndim(args[0]) > 0) else args
    return axis_order.transpose(self, axes)


@_documented_as(manipulation.astype)
def _astype(self: Array, dtype: DTypeLike, copy: bool = False, device: OptionalDevice = None) -> Array:
    return manipulation.astype(self, dtype, copy=copy, device=device)


def _item(self: Array, *args: Any) -> Any:
    """One element as a Python scalar."""
    return item(self, *args)


def _iterate(self: Array) -> Iterator[Any]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return iter(indexing.iterate(self))


@_documented_as(reductions.sum)
def _sum(
    self: Array,
    axis: Axes | None = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Array:
    return reductions.sum(self, axis, dtype, out, keepdims, initial, where, promote_integers)


@_documented_as(selection.clip)
def _clip(self: Array, min: OptionalArray = None, max: OptionalArray = None) -> Array:
    return selection.clip(self, min, max)


@_documented_as(rearranging.repeat)
def _repeat(
    self: Array, repeats: ArrayLike, axis: OneAxis = None, *, total_repeat_length: int | None = None,
    out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    return rearranging.repeat(
        self, repeats, axis=axis, total_repeat_length=total_repeat_length, out_sharding=out_sharding
    )


@_documented_as(searching.compress)
def _compress(
    self: Array,
    condition: ArrayLike,
    axis: OneAxis = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: ArrayLike = 0,
) -> Array:
    return searching.compress(condition, self, axis=axis, out=out, size=size, fill_value=fill_value)


@_documented_as(searching.nonzero)
def _nonzero(self: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    return searching.nonzero(self, size=size, fill_value=fill_value)


def _copy(self: Array) -> Array:
    """An array with a buffer of its own."""
    return filled_arrays.copy_(self)


def _bytes(self: Any, order: str = "C") -> bytes:
    """The elements' bytes, in the order of ``numpy.ndarray.tobytes``."""
    return host_value(self).tobytes(order)  # type: ignore[arg-type]


def _swap_last(self: Array) -> Array:
    if self.ndim < 2:
        raise ValueError(f"matrix_transpose requires at least 2 dimensions; got {self.ndim}")
    return axis_order.swapaxes(self, -1, -2)


def _array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """The namespace of the Python array API standard: ``arrax.numpy``, which the package has always loaded."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise ValueError(f"__array_namespace__: version {api_version!r} of the array API is not available")
    return sys.modules["arrax.numpy"]


def _to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """The array on a device."""
    if stream is not None:
        raise NotImplementedError("stream is not supported by to_device")
    return creation.device_put(self, device)


def _contains(self: Array, value: ArrayLike) -> bool:
    """Whether any element equals the number ``value``."""
    check_arraylike("Array.__contains__", value)
    if typeof(value).ndim:
        raise ValueError(
            f"Array.__contains__: the element must be a number, got an array of shape {typeof(value).shape}"
        )
    return bool(reductions.any(self == value))


def _flat_iterator(self: Any) -> Any:
    return manipulation.ravel(self)


# fmt: off
METHODS: dict[str, Any] = {
    **OPERATORS,
    "__getitem__": indexing.getitem, "__iter__": _iterate, "__contains__": _contains, "__setitem__": indexing.setitem_refused,
    "__array_namespace__": _array_namespace, "__array_priority__": 100,
    "at": property(lambda self: updates.IndexUpdater(self), doc="Functional updates: ``x.at[index].set(value)``."),
    "T": property(boundary(lambda self: axis_order.transpose(self)), doc="The array with its axes reversed."),
    "mT": property(boundary(_swap_last), doc="The array with its last two axes swapped."),
    "real": property(boundary(lambda self: elementwise.real(self)), doc="Real part."),
    "imag": property(boundary(lambda self: elementwise.imag(self)), doc="Imaginary part."),
    "flat": property(_flat_iterator, doc="The elements in row-major order."),
    "reshape": _reshape, "transpose": _transpose, "astype": _astype, "sum": _sum, "clip": _clip,
    "view": bit_views.view, "byteswap": bit_views.byteswap,
    "repeat": _repeat, "compress": _compress, "nonzero": _nonzero, "to_device": _to_device,
    "ravel": manipulation.ravel, "flatten": manipulation.ravel,
    "squeeze": manipulation.squeeze, "swapaxes": axis_order.swapaxes,
    "diagonal": matrices.diagonal, "trace": matrices.trace, "dot": products.dot,
    "conj": elementwise.conjugate, "conjugate": elementwise.conjugate,
    "round": elementwise.round, "copy": _copy,
    "choose": selection.choose, "searchsorted": searching.searchsorted,
    "sort": sorting.sort, "argsort": sorting.argsort,
    "argpartition": sorting.argpartition, "take": indexing.take,
    "all": reductions.all, "any": reductions.any, "argmax": reductions.argmax,
    "argmin": reductions.argmin, "max": reductions.max, "min": reductions.min,
    "prod": reductions.prod, "ptp": reductions.ptp, "mean": averages.mean,
    "std": averages.std, "var": averages.var, "cumsum": accumulations.cumsum,
    "cumprod": accumulations.cumprod,
}
CONCRETE: dict[str, Any] = {
    "item": _item, "tolist": to_list, "tobytes": _bytes,
}
# fmt: on


def _refuse_array(self: Array, *args: Any, **kwargs: Any) -> Any:
    raise TracerArrayConversionError(self)


def _known(tracer: ArrayLike) -> Any:
    """The concrete value under tracers that carry one."""
    value = tracer
    while isinstance(value, Tracer):
        value = value.concrete()
    return value


def _known_constant(tracer: ArrayLike) -> Any:
    """The concrete value under tracers that carry one and are not differentiated.

    To the derivative, a float made of a differentiated value is a constant: the gradient through it would be lost
    without a word. Truth values and ints are constants between jumps, so that they are known all the same.
    """
    return None if isinstance(tracer, Tracer) and tracer.is_differentiated() else _known(tracer)


def _bool(self: Array) -> bool:
    known = _known(self)
    if known is None:
        check_truth_value(self)
        raise TracerBoolConversionError(self)
    return bool(known)


def _index(self: Array) -> int:
    known = _known(self)
    if known is None:
        check_scalar_index(self)
        raise TracerIntegerConversionError(self)
    return int(np.asarray(known).__index__()) if not isinstance(known, int) else known


def _conversion_context(tracer: Any, kind: str) -> str:
    problem = f"The problem arose with the `{kind}` function."
    if tracer.is_concrete():
        return f"{problem} To the derivative, the result would be a constant: `{kind}(lax.stop_gradient(x))` says that this is meant."
    return f"{problem} If trying to convert the data type of a value, try using `x.astype({kind})` or `jnp.array(x, {kind})` instead."


def _number(kind: type) -> Any:
    known_of = _known if kind is int else _known_constant

    def convert(self: Array) -> Any:
        known = known_of(self)
        if known is None:
            check_scalar(self)
            raise ConcretizationTypeError(self, _conversion_context(self, kind.__name__))
        return kind(known)

    convert.__name__ = f"__{kind.__name__}__"
    return convert


def _refuse_item(self: Any, *args: Any) -> Any:
    known = _known(self)
    if known is None:
        raise ConcretizationTypeError(self, "The problem arose with the `item` method.")
    return np.asarray(known).item(*args)


def _refuse_list(self: Any) -> Any:
    known = _known_constant(self)
    if known is None:
        raise ConcretizationTypeError(self, "The problem arose with the `tolist` method.")
    return np.asarray(known).tolist()


def _refuse_bytes(self: Any, order: str = "C") -> Any:
    known = _known_constant(self)
    if known is None:
        raise ConcretizationTypeError(self, "The problem arose with the `tobytes` method.")
    return np.asarray(known).tobytes(order)  # type: ignore[arg-type]


def _length(self: Array) -> int:
    if not self.shape:
        raise TypeError("len() of unsized object")
    return self.shape[0]


def _format(self: Any, format_spec: str) -> str:
    if format_spec and not self.is_concrete():
        raise TypeError(f"unsupported format string passed to a traced array of shape {self.shape}: {format_spec!r}")
    return format(_known(self), format_spec) if format_spec else repr(self)


def _device(self: Array) -> Any:
    known = _known(self)
    return None if known is None else getattr(known, "device", None)


def _absent(name: str) -> Any:
    """An attribute of arrays in memory, which traced ones have not yet."""

    def get(self: Array) -> Any:
        known = _known(self)
        if known is None:
            raise ConcretizationTypeError(
                self, f"The problem arose with the attribute `{name}`: it tells of the memory."
            )
        return getattr(known, name)

    return property(get, doc=f"``{name}`` of the array, where it is known.")


def _no_deletion(self: Array) -> None:
    raise ConcretizationTypeError(self, "The problem arose with `delete`: the memory of a traced array is not its own.")


def _no_sharding(self: Array) -> Any:
    raise AttributeError(
        f"the attribute 'sharding' is that of arrays in memory, and this is a traced one of type {self.aval.str_short(False)}: "
        "arrax.typeof(x) tells what is known of it"
    )


def _refuse_pickling(self: Array, protocol: int = 0) -> Any:
    raise ConcretizationTypeError(
        self, "The problem arose with pickling: a traced array has no elements to write down."
    )


# fmt: off
TRACED: dict[str, Any] = {
    "__array__": _refuse_array, "__bool__": _bool, "__index__": _index, "__int__": _number(int),
    "__float__": _number(float), "__complex__": _number(complex), "__len__": _length, "__format__": _format,
    "item": _refuse_item, "tolist": _refuse_list, "tobytes": _refuse_bytes,
    "itemsize": property(lambda self: self.dtype.itemsize), "nbytes": property(lambda self: self.size * self.dtype.itemsize),
    "delete": _no_deletion, "block_until_ready": lambda self: self, "copy_to_host_async": lambda self: None,
    "device": property(_device, doc="The device, or None for a traced array: where it will lie is not settled yet."),
    "__copy__": _copy, "__deepcopy__": lambda self, memo: _copy(self), "__reduce_ex__": _refuse_pickling,
    "sharding": property(_no_sharding, doc="Only arrays in memory have one."),
    **{name: _absent(name) for name in (
        "addressable_data", "addressable_shards", "committed", "devices", "global_shards", "is_deleted",
        "is_fully_addressable", "is_fully_replicated", "is_ready", "on_device_size_in_bytes", "unsafe_buffer_pointer", "__dlpack__",
        "__dlpack_device__",
    )},
}
# fmt: on

# The class that users see has the methods too, so that ``vmap(arrax.Array.sum)`` can be written; operators stay apart.
_OF_MEMORY = ("block_until_ready", "delete", "is_deleted", "is_ready", "on_device_size_in_bytes")  # the runtime's own
_SHOWN = METHODS | CONCRETE | ATTRIBUTES | {name: getattr(ArrayImpl, name) for name in _OF_MEMORY}
# Arrays of keys inherit these: no conversions to numbers and texts.
_PLAIN = {*OPERATORS, "__getitem__", "__setitem__", "__copy__", "__deepcopy__"}
attach(Array, {name: value for name, value in _SHOWN.items() if name in _PLAIN or not name.startswith("_")})
attach(ArrayImpl, METHODS | CONCRETE)
attach(Tracer, METHODS | TRACED)
