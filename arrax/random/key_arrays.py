"""Typed keys: arrays whose elements are keys of a generator, and the operations on them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core import config
from arrax.core.functions import name_function
from arrax.core.interpreter import Primitive, Tracer, context
from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytree_nodes import call_registry
from arrax.core.tracebacks import bound_methods, boundary
from arrax.core.types import ShapedArray, Zero, register_type, typeof
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax import axis_order, shapes
from arrax.lax.placement import put_value
from arrax.native import runtime
from arrax.numpy_api.api import make_api, register_operand
from arrax.numpy_api.array_methods import METHODS
from arrax.numpy_api.operators import OPERATORS
from arrax.random import key_reuse
from arrax.random.implementations import Implementation, KeyDType, implementation_of
from arrax.random.materialized import materialized
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array, ArrayLike, attach
from arrax.xla.overlaid_arrays import OverlaidArray
from arrax.xla.placement import array_from_host
from arrax.xla.shardings import NamedSharding

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Value
    from arrax.interpreters.lowering.contexts import LoweringContext


@bound_methods
class PRNGKeyArray(OverlaidArray):
    """An array of keys. Looks like an array of dtype ``key<fry>``; its data is an array of unsigned ints underneath."""

    def __init__(self, implementation: Implementation, data: Array) -> None:
        self._impl, self._base_array = implementation, data
        rank = len(implementation.key_shape)
        shape = data.shape[: len(data.shape) - rank]
        if data.shape[len(shape) :] != implementation.key_shape or data.dtype != np.uint32:
            raise TypeError(
                f"key data of {implementation.name} is uint32 of a shape that ends with {implementation.key_shape}, "
                f"got {data.dtype} of shape {data.shape}"
            )
        self.aval = ShapedArray(shape, implementation.dtype)

    @property
    def sharding(self) -> runtime.Sharding:  # type: ignore[override]
        """How the keys lie on devices. The words of one key are never divided, and no entry of a spec stands for them."""
        found = self._base_array.sharding
        if not isinstance(found, NamedSharding) or len(found.spec) <= self.ndim:
            return found
        return NamedSharding(found.mesh, PartitionSpec(*found.spec[: self.ndim]), memory_kind=found.memory_kind)

    nbytes = property(lambda self: self.aval.size * self.aval.dtype.itemsize, doc="Bytes of all keys.")
    _consumed = False  # the key-reuse checker sets it

    def copy_to_host_async(self) -> None:
        """Start copying the key data to the host."""
        self._base_array.copy_to_host_async()

    def __iter__(self) -> Iterator[PRNGKeyArray]:
        if not self.shape:
            raise TypeError("one key, of shape (), is no sequence of keys; split it")
        if config.debug_key_reuse.cell.value:
            key_reuse.take_part(self, ...)
        return iter([PRNGKeyArray(self._impl, row) for row in self._base_array])

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("keys have no form in NumPy; arrax.random.key_data(keys) gives their words")

    def item(self, *args: int) -> Any:
        """Refused: keys are no Python numbers."""
        raise TypeError("keys have no value in Python; arrax.random.key_data(keys) gives their words")

    tolist = item

    @boundary
    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype.name}) overlaying:\n{self._base_array!s}"

    __str__ = __repr__

    def __reduce__(self) -> tuple:
        return _rebuild, (self._impl.name, np.asarray(self._base_array))

    def __getitem__(self, index: Any) -> Array:
        data_index = _data_index(index, self.ndim)
        if config.debug_key_reuse.cell.value:
            key_reuse.take_part(self, index)
        return wrap(self._impl, self._base_array[data_index])

    @boundary
    def __bool__(self) -> bool:
        raise TypeError("keys are neither true nor false; arrax.random.key_data(keys) gives their words")

    def __copy__(self) -> PRNGKeyArray:
        return PRNGKeyArray(self._impl, copy.copy(self._base_array))

    def __deepcopy__(self, memo: dict[int, Any]) -> PRNGKeyArray:
        return PRNGKeyArray(self._impl, copy.deepcopy(self._base_array, memo))

    def copy(self) -> PRNGKeyArray:
        """The same keys in memory of their own."""
        copied = copy.copy(self)
        copied._consumed = self._consumed
        return copied

    def on_device(self, device: Any) -> PRNGKeyArray:
        """The keys on a device: what ``device_put`` does with them."""
        return PRNGKeyArray(self._impl, put_value(self._base_array, device))

    def _shards(self, pieces: list[Any]) -> list[Any]:
        """Pieces of the key data as pieces of the keys."""
        pieces = list(map(copy.copy, pieces))
        for piece in pieces:
            piece.index = piece.index[: self.ndim]
            piece.data = None if piece.data is None else PRNGKeyArray(self._impl, piece.data)
        return pieces

    @property
    def addressable_shards(self) -> list[Any]:
        """The pieces of the keys on this process's devices."""
        return self._shards(self._base_array.addressable_shards)

    @property
    def global_shards(self) -> list[Any]:
        """The pieces of the keys on all devices; those of other processes without data."""
        return self._shards(self._base_array.global_shards)

    def addressable_data(self, index: int) -> PRNGKeyArray:
        """One piece of the keys."""
        return PRNGKeyArray(self._impl, self._base_array.addressable_data(index))

    def is_ready(self) -> bool:
        """Whether the key data is computed."""
        return self._base_array.is_ready()

    def on_device_size_in_bytes(self) -> int:
        """How much memory the key data takes."""
        return self._base_array.on_device_size_in_bytes()

    def unsafe_buffer_pointer(self) -> int:
        """Where the key data lies in memory."""
        return self._base_array.unsafe_buffer_pointer()


def _rebuild(name: str, data: np.ndarray) -> PRNGKeyArray:
    return PRNGKeyArray(implementation_of(name), array_from_host(data))


def _axes_used(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    mask = getattr(part, "dtype", None) == np.bool_ or isinstance(part, bool)
    return getattr(part, "ndim", 0) if mask else 1


def _data_index(index: Any, rank: int) -> tuple[Any, ...]:
    """An index of a key array as one of its data: it must not reach the key's own axes."""
    parts = index if isinstance(index, tuple) else (index,)
    used = sum(map(_axes_used, parts))
    if used > rank:
        raise IndexError(f"{used} indices for a key array of {rank} dimensions")
    for number, part in enumerate(parts):
        if part is Ellipsis:
            return (*parts[:number], *(slice(None) for _ in range(rank - used)), *parts[number + 1 :], Ellipsis)
    return (*parts, Ellipsis)


# Arithmetic is among the methods, to be refused with a message about dtypes.
_STRUCTURAL = (
    "at", "T", "mT", "reshape", "transpose", "ravel", "flatten", "squeeze", "swapaxes", "take", "repeat", "diagonal",
    "astype", "sum", "__setitem__",
)  # fmt: skip
attach(PRNGKeyArray, {name: method for name, method in METHODS.items() if name in _STRUCTURAL or name in OPERATORS})
register_operand(PRNGKeyArray)
register_type(PRNGKeyArray, lambda keys: keys.aval)


call_registry.register_node(
    PRNGKeyArray,
    lambda keys: ((keys._base_array,), keys._impl),
    lambda implementation, words: PRNGKeyArray(implementation, *words),
)


def is_key(value: Any) -> bool:
    """True for arrays (and tracers) of typed keys."""
    return isinstance(value, PRNGKeyArray) or (isinstance(value, Tracer) and isinstance(value.aval.dtype, KeyDType))


# ---- primitives ---------------------------------------------------------------------------------------------------------


def _over_keys(function: Callable[..., Any], rank: int) -> Callable[..., Any]:
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

    name_function(on_data, name)
    compiled = make_api(on_data, static=("avals", "fixed"))

    def impl(*args: ArrayLike, **params: Any) -> Array:
        if config.debug_key_reuse.cell.value and key_reuse.rules.get(primitive) is key_reuse.consuming:
            key_reuse.consume(name, args[0])
        raw = [arg._base_array if isinstance(arg, PRNGKeyArray) else arg for arg in args]
        avals = tuple(typeof(arg) for arg in args)
        out = compiled(*raw, avals=avals, fixed=tuple(params.items()))
        aval = type_rule(*avals, **params)
        return PRNGKeyArray(aval.dtype.implementation, out) if isinstance(aval.dtype, KeyDType) else out

    def lower(ctx: LoweringContext, *values: Value, **params: Any) -> Any:
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


def _batch(primitive: Primitive, values: Sequence[Array], dims: Dims, params: dict[str, Any]) -> tuple[Any, int]:
    size = next(typeof(v).shape[d] for v, d in zip(values, dims, strict=True) if d is not None)
    moved = []
    for value, dim in zip(values, dims, strict=True):
        if dim is not None:
            moved.append(axis_order.move_axis(value, dim, 0))
        else:
            own = typeof(value).shape
            moved.append(shapes.broadcast_in_dim(value, (size, *own), tuple(range(1, len(own) + 1))))
    return primitive.bind(*moved, **params), 0


def _bits(avals: Sequence[ShapedArray], raw: Sequence[Array], *, bit_width: int, shape: tuple[int, ...]) -> Array:
    implementation = avals[0].dtype.implementation
    drawn = _over_keys(lambda key: implementation.random_bits(key, bit_width, shape), avals[0].ndim)(raw[0])
    return materialized(drawn)


def _split(avals: Sequence[ShapedArray], raw: Sequence[Array], *, shape: tuple[int, ...]) -> Array:
    implementation = avals[0].dtype.implementation
    return _over_keys(lambda key: implementation.split(key, shape), avals[0].ndim)(raw[0])


def _fold_in(avals: Sequence[ShapedArray], raw: Sequence[Array]) -> Array:
    folded = _over_keys(avals[0].dtype.implementation.fold_in, avals[1].ndim)
    for _ in range(avals[0].ndim - avals[1].ndim):
        folded = vmap(folded, (0, None))
    return folded(*raw)


def _fold_in_batch(values: Sequence[Array], dims: Dims) -> tuple[Any, int]:
    (keys, numbers), (place, dim) = values, dims
    if dim is None:  # unsafe_rbg draws from the number: one that all keys share is drawn from once, as for a single key
        return random_fold_in_p.bind(axis_order.move_axis(keys, place or 0, 0), numbers), 0
    numbers = axis_order.move_axis(numbers, dim, 0)
    size, *own = typeof(numbers).shape
    lead = [length for axis, length in enumerate(typeof(keys).shape) if axis != place]
    lead = lead[: len(lead) - len(own)]  # axes of keys that share numbers
    axes = (0, *range(len(lead) + 1, len(lead) + len(own) + 1))
    numbers = shapes.broadcast_in_dim(numbers, (size, *lead, *own), axes)
    return _batch(random_fold_in_p, (keys, numbers), (place, 0), {})


def _seed(avals: Sequence[ShapedArray], raw: Sequence[Array], *, impl: Implementation) -> Array:
    return _over_keys(impl.seed, avals[0].ndim)(raw[0])


def _fold_in_type(keys: ShapedArray, numbers: ShapedArray) -> ShapedArray:
    if keys.shape[keys.ndim - numbers.ndim :] != numbers.shape or numbers.ndim > keys.ndim:
        raise TypeError(f"fold_in takes one number per key, got key shape {keys.shape} and data shape {numbers.shape}")
    return keys


random_bits_p = key_primitive(
    "random_bits",
    lambda keys, *, bit_width, shape: ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}")),
    _bits,
)
random_split_p = key_primitive(
    "random_split", lambda keys, *, shape: ShapedArray((*keys.shape, *shape), keys.dtype), _split
)
random_fold_in_p = key_primitive("random_fold_in", _fold_in_type, _fold_in)
random_fold_in_p.batch = _fold_in_batch
random_seed_p = key_primitive("random_seed", lambda numbers, *, impl: ShapedArray(numbers.shape, impl.dtype), _seed)


def _wrap_type(data: ShapedArray, *, impl: Implementation) -> ShapedArray:
    rank = len(impl.key_shape)
    lead = data.shape[: data.ndim - rank]
    if data.dtype != np.uint32 or data.shape[len(lead) :] != impl.key_shape:
        raise TypeError(
            f"key data of {impl.name} must be uint32 of shape (..., {', '.join(map(str, impl.key_shape))}), got {data.str_short(True)}"
        )
    return ShapedArray(lead, impl.dtype)


random_wrap_p = key_primitive("random_wrap", _wrap_type, lambda avals, raw, *, impl: raw[0])
random_unwrap_p = key_primitive(
    "random_unwrap", lambda keys: ShapedArray((*keys.shape, *keys.dtype.physical_shape), np.dtype(np.uint32)),
    lambda avals, raw: raw[0],
)  # fmt: skip
for _p in (random_wrap_p, random_unwrap_p):
    _p.lower[None] = lambda ctx, x, **params: [x]
for _p in (random_seed_p, random_wrap_p):
    _p.param_texts["impl"] = lambda impl: impl.tag  # as in the dtypes of keys
random_wrap_p.impl = lambda data, *, impl: PRNGKeyArray(
    impl, data if isinstance(data, runtime.Array) else array_from_host(np.asarray(data))
)
random_unwrap_p.impl = lambda keys: keys._base_array


random_clone_p = key_primitive("random_clone", lambda keys: keys, lambda avals, raw: raw[0])
random_clone_p.impl = lambda keys: PRNGKeyArray(keys._impl, keys._base_array)
random_clone_p.lower[None] = lambda ctx, x: [x]


def wrap(implementation: Implementation, data: Array) -> Array:
    """Key data as an array of keys."""
    if type(data) is runtime.ArrayImpl and context.interpreter.is_evaluation:
        return PRNGKeyArray(implementation, data)
    return random_wrap_p.bind(data, impl=implementation)


def unwrap(keys: Array) -> Array:
    """The data of an array of keys."""
    return random_unwrap_p.bind(keys)


key_reuse.rules |= {
    random_bits_p: key_reuse.consuming, random_split_p: key_reuse.consuming,
    random_wrap_p: key_reuse.handing_on(key_reuse.wrapped), random_unwrap_p: key_reuse.handing_on(key_reuse.unwrapped),
}  # fmt: skip
