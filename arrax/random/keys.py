"""Making and deriving keys: ``key``, ``PRNGKey``, ``split``, ``fold_in``, ``bits``; typed and raw keys alike."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.interpreter import Tracer, context
from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray, typeof
from arrax.dtypes import OptionalDType
from arrax.dtypes.canonical import warn_user
from arrax.dtypes.wording import shown
from arrax.lax.conversion import convert
from arrax.lax.operand_checks import kind_of
from arrax.native import runtime
from arrax.numpy_api.api import api
from arrax.random import hardware as _hardware  # noqa: F401  (registers rbg and unsafe_rbg)
from arrax.random import key_arrays
from arrax.random import key_structure as _key_structure  # noqa: F401  (gives key dtypes their operations)
from arrax.random.implementations import Implementation, KeyDType, implementation_of
from arrax.random.key_arrays import PRNGKeyArray, is_key, unwrap, wrap
from arrax.random.key_reuse import consume
from arrax.random.parameters import checked_shape, placed, static_int, type_of
from arrax.random.threefry import threefry
from arrax.random.threefry_on_host import fold_in_on_host, split_on_host
from arrax.transforms.vectorize import vmap
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike
from arrax.xla.placement import array_from_host

ArrayImpl = runtime.ArrayImpl


def default_implementation(impl: Any = None) -> Implementation:
    """The generator that ``impl`` names, or the configured default."""
    return implementation_of(config.default_prng_impl.cell.value if impl is None else impl)


def seed_value(seed: Any) -> ArrayLike:
    """A seed as an integer array; of Python ints the last 64 bits count with 64-bit types, the last 32 without.

    Raises:
      OverflowError: a Python int beyond int64.
      TypeError: not an integer scalar.
    """
    if isinstance(seed, int):
        if not -(1 << 63) <= seed < 1 << 63:
            raise OverflowError(f"a seed must fit into a 64-bit integer; got {seed}")
        width = np.uint64 if config.enable_x64.cell.value else np.uint32
        wrapped = width(seed & int(np.iinfo(width).max))
        return wrapped.astype(f"int{wrapped.itemsize * 8}")
    aval = type_of("key", "seed", seed)
    if aval.shape != ():
        raise TypeError(f"key: a seed must be a single integer, got {seed!r} of shape {aval.shape}")
    if isinstance(aval.dtype, dtypes.ExtendedDType) or not dtypes.is_integer(aval.dtype):
        raise TypeError(f"key: a seed must be a single integer, got {seed!r} of type {aval.dtype.name}")
    return seed


def _chosen(name: str, impl: Any, dtype: Any) -> Implementation:
    if impl is not None and dtype is not None:
        raise ValueError(f"{name}: impl and dtype cannot both be given")
    return default_implementation(impl if dtype is None else dtype)


def key(seed: ArrayLike, *, impl: Any = None, dtype: OptionalDType = None) -> Array:
    """A typed key from an integer.

    Args:
      seed: integer.
      impl: name of the generator, by default the configured one.
      dtype: instead of ``impl``, the dtype of keys.
    Returns: array of shape () and dtype ``key<…>``.
    Raises:
      TypeError: not an integer scalar.
    Example: ``arrax.random.key(0)``.
    """
    implementation = default_implementation() if impl is dtype is None else _chosen("key", impl, dtype)
    if is_key(seed):
        raise TypeError(
            "key: a seed must be a single integer, got a key; new keys come of old ones by split or fold_in"
        )
    value = seed_value(seed)
    if context.interpreter.is_evaluation and implementation is threefry and not isinstance(value, ArrayImpl):
        return PRNGKeyArray(implementation, _seed_on_host(value))
    return key_arrays.random_seed_p.bind(value, impl=implementation)


def _seed_on_host(value: Any) -> Array:
    number = int(value)
    wide = np.asarray(value).dtype.itemsize == 8 and config.enable_x64.cell.value
    high = (number >> 32) & 0xFFFFFFFF if wide else 0
    return array_from_host(
        np.array([high, number & 0xFFFFFFFF], np.uint32), ShapedArray((2,), np.dtype(np.uint32)), fresh=True
    )


def PRNGKey(seed: ArrayLike, *, impl: Any = None) -> Array:
    """A raw key from an integer: an array of unsigned ints (a typed key where ``enable_custom_prng`` is on).

    Example: ``arrax.random.PRNGKey(0)`` is ``[0, 0]``.
    """
    typed = key(seed, impl=impl)
    return typed if config.enable_custom_prng.cell.value else unwrap(typed)


checks_of_others: list[Callable[[str, Any, bool], tuple[Any, bool] | None]] = []  # which know keys of a library's own


def check_key(name: str, value: Any, allow_batch: bool = False) -> tuple[Any, bool]:
    """A typed key from a typed or raw one, and whether it was typed.

    Raises:
      TypeError: not a key.
      ValueError: an array of keys where one is wanted.
    """
    found = typed_key(name, value, allow_batch)
    for check in checks_of_others if found is None else ():
        found = found or check(name, value, allow_batch)
    if found is None:
        raise TypeError(
            f"{name} takes a random key (arrax.random.key makes one), got {shown(value)} of type {type(value)}"
        )
    return found


def typed_key(name: str, value: Any, allow_batch: bool) -> tuple[Any, bool] | None:
    """What ``check_key`` returns, or None where the value is no key.

    Raises:
      ValueError: an array of keys where one is wanted.
    """
    if is_key(value):
        if value.ndim and not allow_batch:
            raise ValueError(f"{name} takes one key, got keys of shape {value.shape}; arrax.vmap maps it over them")
        return value, True
    if isinstance(value, ArrayImpl | Tracer | np.ndarray) or hasattr(value, "__jax_array__"):
        aval = typeof(value)
        if aval.dtype == np.uint32:
            implementation = default_implementation()
            rank = len(implementation.key_shape)
            if aval.shape[aval.ndim - rank :] == implementation.key_shape and (aval.ndim == rank or allow_batch):
                if config.legacy_prng_key.cell.value != "allow":
                    _object_to_raw_key(name)
                return wrap(implementation, value), False
            if aval.ndim > rank and aval.shape[aval.ndim - rank :] == implementation.key_shape:
                raise ValueError(
                    f"{name} takes one key, for raw ones an array of shape {implementation.key_shape}, got the shape "
                    f"{aval.shape}; arrax.vmap maps it over several keys"
                )
    return None


def over_keys(name: str, keys: Array, draw: Callable[[Any], Any]) -> Array:
    """What ``draw`` makes of each key of an array, with a warning: who wants it says ``vmap``."""
    warn_user(
        f"{name} takes a single key, got a key array of shape {keys.shape}, over which it is mapped: use arrax.vmap for "
        "batching, since this will become an error",
        FutureWarning,
    )
    for _ in range(keys.ndim):
        draw = vmap(draw)
    return draw(keys)


def _object_to_raw_key(name: str) -> None:
    """Warn, or raise, as the option ``legacy_prng_key`` says.

    Raises:
      ValueError: it says ``error``.
    """
    message = (
        f"{name} was given a raw uint32 array as its key; make keys with arrax.random.key(), or set "
        'legacy_prng_key="allow" where raw keys are meant'
    )
    if config.legacy_prng_key.cell.value == "error":
        raise ValueError(message)
    warn_user(message, UserWarning)


@api(static=("implementation", "shape"), host=split_on_host, stepwise=True)
def _split_data(data: Array, implementation: Implementation, shape: tuple[int, ...]) -> Array:
    return implementation.split(data, shape)


@api(static=("implementation",), host=fold_in_on_host, stepwise=True)
def _fold_in_data(data: Array, number: Array, implementation: Implementation) -> Array:
    return implementation.fold_in(data, number)


@api(static=("implementation", "bit_width", "shape"))
def _bits_data(data: Array, implementation: Implementation, bit_width: int, shape: tuple[int, ...]) -> Array:
    return implementation.random_bits(data, bit_width, shape)


def split(key: Array, num: ArrayLike = 2) -> Array:
    """New keys from a key.

    Args:
      key: a key, typed or raw; it must not be used again.
      num: number of keys, or the shape of the array of them.
    Returns: array of keys of shape ``(num,)``, or data of shape ``(num, 2)`` for a raw key.
    Example: ``k1, k2 = arrax.random.split(arrax.random.key(0))``.
    """
    typed, was_typed = check_key("split", key)
    several: Any = num if isinstance(num, tuple | list) or is_symbolic(num) else (static_int("split", "num", num),)
    shape = checked_shape("split", several)
    if isinstance(typed, PRNGKeyArray) and context.interpreter.is_evaluation:
        consume("random_split", typed)
        data = _split_data(typed._base_array, typed._impl, shape)
        return PRNGKeyArray(typed._impl, data) if was_typed else data
    keys = key_arrays.random_split_p.bind(typed, shape=shape)
    return keys if was_typed else unwrap(keys)


def fold_in(key: Array, data: ArrayLike) -> Array:
    """A new key from a key and a number.

    Args:
      key: a key, typed or raw.
      data: integer from 0 to 2^32 - 1; elements of arrays are taken modulo 2^32.
    Raises:
      OverflowError: a Python integer out of these bounds.
      TypeError: data that is not a single number. ValueError: an infinity or NaN.
    Example: ``arrax.random.fold_in(arrax.random.key(0), 7)``.
    """
    typed, was_typed = check_key("fold_in", key)
    number: Any = data
    if isinstance(data, int):
        if not 0 <= data <= 0xFFFFFFFF:
            raise OverflowError(f"fold_in: data must be between 0 and {0xFFFFFFFF}, got {data}")
        number = np.uint32(data)
    elif isinstance(data, float) and not math.isfinite(data):
        raise ValueError(f"fold_in: data must be a single integer, got {data}")
    aval = type_of("fold_in", "data", number)
    if aval.shape != ():
        raise TypeError(f"fold_in: data must be a single integer, got one of shape {aval.shape}; arrax.vmap maps it")
    if kind_of(aval.dtype) not in ("signed", "unsigned", "floating", "bool"):
        raise TypeError(f"fold_in: data must be a single integer, got {data!r}")
    if isinstance(typed, PRNGKeyArray) and context.interpreter.is_evaluation:
        folded = _fold_in_data(typed._base_array, number, typed._impl)
        return PRNGKeyArray(typed._impl, folded) if was_typed else folded
    keys = key_arrays.random_fold_in_p.bind(typed, convert(number, np.uint32))
    return keys if was_typed else unwrap(keys)


def bits(key: Array, shape: Shape = (), dtype: OptionalDType = None, *, out_sharding: OptionalSharding = None) -> Array:
    """Uniformly distributed unsigned ints, all bits random.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: uint8, uint16, uint32 (by default; uint64 with x64) or uint64.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Example: ``arrax.random.bits(arrax.random.key(0), (3,))``.
    """
    chosen = dtypes.canonicalize_dtype(np.uint64) if dtype is None else dtypes.check_user_dtype("bits", dtype)
    if chosen.kind != "u":
        raise ValueError(f"bits: dtype must be one of unsigned integers, got {chosen}")
    draw = functools.partial(random_bits, "bits", key, chosen.itemsize * 8, checked_shape("bits", shape))
    return draw() if out_sharding is None else placed(draw, out_sharding)


def random_bits(name: str, key: Any, bit_width: int, shape: tuple[int, ...]) -> Array:
    """Random bits of a key of any form, in any interpretation."""
    typed, _ = check_key(name, key, allow_batch=True)
    if typed.ndim:
        return over_keys(name, typed, lambda key: random_bits(name, key, bit_width, shape))
    if isinstance(typed, PRNGKeyArray) and context.interpreter.is_evaluation:
        consume("random_bits", typed)
        return _bits_data(typed._base_array, typed._impl, bit_width, shape)
    return key_arrays.random_bits_p.bind(typed, bit_width=bit_width, shape=shape)


def key_data(keys: Array) -> Array:
    """The unsigned ints behind typed keys; raw keys are returned as they are.

    Example: ``arrax.random.key_data(arrax.random.key(0))`` is ``[0, 0]``.
    """
    typed, was_typed = check_key("key_data", keys, allow_batch=True)
    return unwrap(typed) if was_typed else keys


def wrap_key_data(key_bits_array: Array, *, impl: Any = None, dtype: OptionalDType = None) -> Array:
    """Unsigned ints as typed keys.

    Args:
      key_bits_array: uint32 array of shape ``(..., *key shape)``.
      impl: name of the generator.
      dtype: instead of ``impl``, the dtype of keys.
    Example: ``arrax.random.wrap_key_data(jnp.zeros(2, "uint32"))``.
    """
    return wrap(_chosen("wrap_key_data", impl, dtype), key_bits_array)


def key_impl(keys: Array) -> str:
    """The generator of some keys, as ``key(…, impl=…)`` takes it.

    Example: ``arrax.random.key_impl(arrax.random.key(0))`` is ``'threefry2x32'``.
    """
    typed, _ = check_key("key_impl", keys, allow_batch=True)
    return typed.aval.dtype.implementation.name


def clone(key: Array) -> Array:
    """The same key once more, which the key-reuse checker takes for a new one.

    Example: ``arrax.random.clone(arrax.random.key(0))``.
    """
    typed, was_typed = check_key("clone", key, allow_batch=True)
    return key_arrays.random_clone_p.bind(typed) if was_typed else key


def key_dtype(impl_spec: Any = None) -> KeyDType:
    """The dtype of typed keys of a generator.

    Args:
      impl_spec: name of the generator, by default the configured one.
    Example: ``arrax.random.key_dtype()`` is ``key<fry>``.
    """
    return default_implementation(impl_spec).dtype
