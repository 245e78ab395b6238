"""Typed keys: arrays whose elements are keys of a generator, and the operations on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from arrax.core.interpreter import Primitive, Tracer, context
from arrax.core.types import ShapedArray, Zero, register_type, typeof
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax import shapes, structure
from arrax.native import runtime
from arrax.numpy_api.api import make_api
from arrax.random.implementations import Implementation, KeyDType, implementation_of
from arrax.transforms.vectorize import vmap
from arrax.xla.placement import array_from_host


class PRNGKeyArray(runtime.Array):
    """An array of keys. Looks like an array of dtype ``key<fry>``; its data is an array of unsigned ints underneath."""

    def __init__(self, implementation: Implementation, data: Any):
        self._impl, self._base_array = implementation, data
        rank = len(implementation.key_shape)
        shape = data.shape[: len(data.shape) - rank]
        if data.shape[len(shape) :] != implementation.key_shape or data.dtype != np.uint32:
            raise TypeError(
                f"JAX encountered invalid PRNG key data: expected key_data.shape to end with "
                f"{implementation.key_shape} and dtype uint32; got {data.shape=} and dtype {data.dtype}"
            )
        self.aval = ShapedArray(shape, implementation.dtype)

    shape = property(lambda self: self.aval.shape, doc="Tuple of lengths.")
    dtype = property(lambda self: self.aval.dtype, doc="The key dtype.")
    ndim = property(lambda self: self.aval.ndim, doc="Number of dimensions.")
    size = property(lambda self: self.aval.size, doc="Number of keys.")
    itemsize = property(lambda self: self.aval.dtype.itemsize, doc="Bytes per key.")
    nbytes = property(lambda self: self.aval.size * self.aval.dtype.itemsize, doc="Bytes of all keys.")
    weak_type = False
    sharding = property(lambda self: self._base_array.sharding, doc="How the key data lies on devices.")
    committed = property(lambda self: self._base_array.committed, doc="Whether the data is bound to its devices.")
    _committed = property(lambda self: self._base_array._committed)
    device = property(lambda self: self._base_array.device, doc="The device.")
    is_fully_addressable = property(lambda self: self._base_array.is_fully_addressable)
    is_fully_replicated = property(lambda self: self._base_array.is_fully_replicated)
    _consumed = False  # the key-reuse checker sets it
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100

    def devices(self) -> set[Any]:
        """The devices that hold the key data."""
        return self._base_array.devices()

    def block_until_ready(self) -> PRNGKeyArray:
        """Wait for the key data."""
        self._base_array.block_until_ready()
        return self

    def copy_to_host_async(self) -> None:
        """Start copying the key data to the host."""
        self._base_array.copy_to_host_async()

    def is_deleted(self) -> bool:
        """True where the key data is gone."""
        return self._base_array.is_deleted()

    def delete(self) -> None:
        """Free the key data."""
        self._base_array.delete()

    def _is_traced_array(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self.aval)

    def __iter__(self) -> Iterator[PRNGKeyArray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d key array")
        return iter([PRNGKeyArray(self._impl, row) for row in self._base_array])

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use arrax.random.key_data(arr) if you wish to extract the underlying integer array.")

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype.name}) overlaying:\n{np.asarray(self._base_array)}"

    __str__ = __repr__

    def __reduce__(self) -> tuple:
        return _rebuild, (self._impl.name, np.asarray(self._base_array))

    def __getitem__(self, index: Any) -> Any:
        from_data = self._base_array[_data_index(index, self.ndim)]
        return PRNGKeyArray(self._impl, from_data)


def _rebuild(name: str, data: np.ndarray) -> PRNGKeyArray:
    return PRNGKeyArray(implementation_of(name), array_from_host(data))


def _data_index(index: Any, rank: int) -> Any:
    """An index of a key array as one of its data: an ellipsis must not reach the key's own axes."""
    parts = index if isinstance(index, tuple) else (index,)
    if any(part is Ellipsis for part in parts):
        used = sum(1 for p in parts if p is not None and p is not Ellipsis)
        place = next(i for i, p in enumerate(parts) if p is Ellipsis)
        parts = (*parts[:place], *(slice(None) for _ in range(rank - used)), *parts[place + 1 :])
    return (*parts, Ellipsis)


register_type(PRNGKeyArray, lambda keys: keys.aval)


def is_key(value: Any) -> bool:
    """True for arrays (and tracers) of typed keys."""
    return isinstance(value, PRNGKeyArray) or (isinstance(value, Tracer) and isinstance(value.aval.dtype, KeyDType))


# ---- primitives ---------------------------------------------------------------------------------------------------------


def _over_keys(function: Any, rank: int) -> Any:
    """Map a function of one key's data over the axes of a key array."""
    for _ in range(rank):
        function = vmap(function)
    return function


def key_primitive(name: str, type_rule: Any, evaluate: Any) -> Primitive:
    """An operation on key arrays: ``evaluate(implementation, key shape, data, …)`` gives data (or bits)."""
    primitive = Primitive(name)
    primitive.type_rule = type_rule

    def on_data(*raw: Any, avals: Any, fixed: Any) -> Any:
        return evaluate(avals, list(raw), **dict(fixed))

    on_data.__name__ = on_data.__qualname__ = name
    compiled = make_api(on_data, static=("avals", "fixed"))

    def impl(*args: Any, **params: Any) -> Any:
        raw = [arg._base_array if isinstance(arg, PRNGKeyArray) else arg for arg in args]
        avals = tuple(typeof(arg) for arg in args)
        out = compiled(*raw, avals=avals, fixed=tuple(params.items()))
        aval = type_rule(*avals, **params)
        return PRNGKeyArray(aval.dtype.implementation, out) if isinstance(aval.dtype, KeyDType) else out

    def lower(ctx: Any, *values: Any, **params: Any) -> Any:
        avals = ctx.avals_in
        physical = [_physical(aval) for aval in avals]
        inner = ctx.replace(avals_in=physical)
        return lower_fun(lambda *raw: evaluate(avals, list(raw), **params), multiple_results=False)(inner, *values)

    primitive.impl = impl
    primitive.lower[None] = lower
    primitive.batch = lambda values, dims, **params: _batch(primitive, values, dims, params)
    primitive.jvp = lambda primals, tangents, **params: _no_tangent(primitive, primals, params)
    return primitive


def _physical(aval: ShapedArray) -> ShapedArray:
    if isinstance(aval.dtype, KeyDType):
        return ShapedArray((*aval.shape, *aval.dtype.physical_shape), aval.dtype.physical_dtype)
    return aval


def _no_tangent(primitive: Primitive, primals: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    out = primitive.bind(*primals, **params)
    return out, Zero.of(out)


def _batch(primitive: Primitive, values: Any, dims: Any, params: dict[str, Any]) -> tuple[Any, int]:
    size = next(typeof(v).shape[d] for v, d in zip(values, dims, strict=True) if d is not None)
    moved = []
    for value, dim in zip(values, dims, strict=True):
        if dim is not None:
            moved.append(shapes.move_axis(value, dim, 0))
        else:
            own = typeof(value).shape
            moved.append(shapes.broadcast_in_dim(value, (size, *own), tuple(range(1, len(own) + 1))))
    return primitive.bind(*moved, **params), 0


def _bits(avals: Any, raw: Any, *, bit_width: int, shape: tuple[int, ...]) -> Any:
    implementation = avals[0].dtype.implementation
    return _over_keys(lambda key: implementation.random_bits(key, bit_width, shape), avals[0].ndim)(raw[0])


def _split(avals: Any, raw: Any, *, shape: tuple[int, ...]) -> Any:
    implementation = avals[0].dtype.implementation
    return _over_keys(lambda key: implementation.split(key, shape), avals[0].ndim)(raw[0])


def _fold_in(avals: Any, raw: Any) -> Any:
    implementation = avals[0].dtype.implementation
    return _over_keys(implementation.fold_in, avals[0].ndim)(*raw)


def _seed(avals: Any, raw: Any, *, impl: Implementation) -> Any:
    return _over_keys(impl.seed, avals[0].ndim)(raw[0])


def _fold_in_type(keys: ShapedArray, numbers: ShapedArray) -> ShapedArray:
    if keys.shape != numbers.shape:
        raise TypeError(f"fold_in takes one number per key, got key shape {keys.shape} and data shape {numbers.shape}")
    return keys


random_bits_p = key_primitive(
    "random_bits", lambda keys, *, bit_width, shape: ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}")), _bits
)
random_split_p = key_primitive("random_split", lambda keys, *, shape: ShapedArray((*keys.shape, *shape), keys.dtype), _split)
random_fold_in_p = key_primitive("random_fold_in", _fold_in_type, _fold_in)
random_seed_p = key_primitive("random_seed", lambda numbers, *, impl: ShapedArray(numbers.shape, impl.dtype), _seed)


def _wrap_type(data: ShapedArray, *, impl: Implementation) -> ShapedArray:
    rank = len(impl.key_shape)
    lead = data.shape[: data.ndim - rank]
    if data.dtype != np.uint32 or data.shape[len(lead) :] != impl.key_shape:
        raise TypeError(f"key data of {impl.name} must be uint32 of shape (..., {', '.join(map(str, impl.key_shape))}), got {data.str_short()}")
    return ShapedArray(lead, impl.dtype)


random_wrap_p = key_primitive("random_wrap", _wrap_type, lambda avals, raw, *, impl: raw[0])
random_unwrap_p = key_primitive(
    "random_unwrap", lambda keys: ShapedArray((*keys.shape, *keys.dtype.physical_shape), np.dtype(np.uint32)),
    lambda avals, raw: raw[0],
)  # fmt: skip
for _p in (random_wrap_p, random_unwrap_p):
    _p.lower[None] = lambda ctx, x, **params: [x]
random_wrap_p.impl = lambda data, *, impl: PRNGKeyArray(impl, data if isinstance(data, runtime.Array) else array_from_host(np.asarray(data)))
random_unwrap_p.impl = lambda keys: keys._base_array


def wrap(implementation: Implementation, data: Any) -> Any:
    """Key data as an array of keys."""
    if type(data) is runtime.ArrayImpl and context.interpreter.is_evaluation:
        return PRNGKeyArray(implementation, data)
    return random_wrap_p.bind(data, impl=implementation)


def unwrap(keys: Any) -> Any:
    """The data of an array of keys."""
    return random_unwrap_p.bind(keys)


class StructureOfKeys:
    """Structural operations on key arrays: those of the data, with the key's own axes at the end."""

    def wrap(self, dtype: KeyDType, data: Any) -> Any:
        return wrap(dtype.implementation, data)

    def _apply(self, dtype: KeyDType, operation: Any, keys: Any) -> Any:
        return random_wrap_p.bind(operation(unwrap(keys)), impl=dtype.implementation)

    def reshape(self, dtype: KeyDType, keys: Any, shape: tuple[int, ...]) -> Any:
        return self._apply(dtype, lambda data: shapes.reshape(data, (*shape, *dtype.physical_shape)), keys)

    def transpose(self, dtype: KeyDType, keys: Any, order: tuple[int, ...]) -> Any:
        rank = len(dtype.physical_shape)
        tail = tuple(range(len(order), len(order) + rank))
        return self._apply(dtype, lambda data: shapes.transpose(data, (*order, *tail)), keys)

    def broadcast_in_dim(self, dtype: KeyDType, keys: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> Any:
        tail = tuple(range(len(shape), len(shape) + len(dtype.physical_shape)))
        full = (*shape, *dtype.physical_shape)
        return self._apply(dtype, lambda data: shapes.broadcast_in_dim(data, full, (*dims, *tail)), keys)

    def concatenate(self, dtype: KeyDType, keys: Any, dimension: int) -> Any:
        joined = structure.concatenate([unwrap(k) for k in keys], dimension)
        return random_wrap_p.bind(joined, impl=dtype.implementation)

    def slice(self, dtype: KeyDType, keys: Any, starts: Any, limits: Any, strides: Any) -> Any:
        rank = len(dtype.physical_shape)

        def cut(data: Any) -> Any:
            steps = None if strides is None else (*strides, *(1,) * rank)
            return structure.slice_(data, (*starts, *(0,) * rank), (*limits, *dtype.physical_shape), steps)

        return self._apply(dtype, cut, keys)

    def select_n(self, dtype: KeyDType, which: Any, *cases: Any) -> Any:
        data = [unwrap(case) for case in cases]
        shape = typeof(data[0]).shape
        own = typeof(which).shape
        spread = shapes.broadcast_in_dim(which, shape, tuple(range(len(own)))) if own else which
        return random_wrap_p.bind(structure.select_n(spread, *data), impl=dtype.implementation)

structure_of_keys = StructureOfKeys()
KeyDType.structure = structure_of_keys
