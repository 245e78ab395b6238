"""How samplers are made: a body that draws bits from a key, compiled for eager calls, seen through by traces."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from arrax.core.functions import name_function
from arrax.core.interpreter import context
from arrax.numpy_api.api import make_api
from arrax.random import key_arrays
from arrax.random.key_arrays import PRNGKeyArray, wrap
from arrax.random.key_reuse import consume
from arrax.random.keys import check_key, over_keys
from arrax.random.parameters import placed
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


class Bits:
    """A single typed key as a source of bits: call it with a width and a shape; ``split`` it for independent sources."""

    __slots__ = ("key",)

    def __init__(self, key: ArrayLike):
        self.key = key

    def __call__(self, bit_width: int, shape: tuple[int, ...]) -> Array:
        return key_arrays.random_bits_p.bind(self.key, bit_width=bit_width, shape=shape)

    def split(self, count: int) -> list[Bits]:
        """Independent sources."""
        keys = self.split_array(count)
        return [Bits(take_key(keys, i)) for i in range(count)]

    def again(self) -> Bits:
        """The same source, for an alternative of which one value only is kept."""
        return Bits(key_arrays.random_clone_p.bind(self.key))

    def split_array(self, count: int) -> Array:
        """The keys of independent sources, as one array."""
        return key_arrays.random_split_p.bind(self.key, shape=(count,))


def take_key(keys: Array, index: int) -> Array:
    """One key of a one-dimensional key array, as an array of shape ()."""
    dtype = keys.aval.dtype
    return dtype.reshape(dtype.slice(keys, (index,), (index + 1,), None), ())


def split_in_two(bits: Bits) -> list[Bits]:
    """Two independent sources."""
    return bits.split(2)


def sampler(static: tuple[str, ...], name: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: make ``body(bits, *parameters, **static)`` a function ``(key, out_sharding, *parameters, **static)``.

    An eager call hands the key's data to a compiled function; inside a trace the body runs on the typed key. Both compile
    at the level of ``jit``, so that they give the same last bits.

    Args:
      static: names of the arguments that are part of the program.
      name: what messages call it, by default the body's name.
    """

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        called = name or body.__name__.lstrip("_")

        def on_data(data: Any, *parameters: Any, implementation: Any, **fixed: Any) -> Any:
            return body(Bits(wrap(implementation, data)), *parameters, **fixed)

        name_function(on_data, called)
        on_data.__signature__ = _signature(static)  # type: ignore[attr-defined]
        compiled = make_api(on_data, static=("implementation", *static), eager=False)

        def sample(
            key: Any,
            out_sharding: OptionalSharding,
            *parameters: OptionalArray,
            **fixed: Any,
        ) -> Array:
            if out_sharding is not None:
                return placed(lambda: sample(key, None, *parameters, **fixed), out_sharding)
            typed = (
                key if type(key) is PRNGKeyArray and not key.aval.ndim else check_key(called, key, allow_batch=True)[0]
            )
            if typed.ndim:
                return over_keys(called, typed, lambda key: sample(key, None, *parameters, **fixed))
            if context.interpreter.is_evaluation and type(typed) is PRNGKeyArray:
                consume("jit-compiled function", typed)
                return compiled(typed._base_array, *parameters, implementation=typed._impl, **fixed)
            return body(Bits(typed), *parameters, **fixed)

        sample.__name__ = called
        return sample

    return decorate


def _signature(static: tuple[str, ...]) -> Any:
    """A signature that names the static arguments as keyword-only ones."""
    parameter = inspect.Parameter
    return inspect.Signature(
        [parameter("data", parameter.POSITIONAL_ONLY), parameter("parameters", parameter.VAR_POSITIONAL)]
        + [parameter(name, parameter.KEYWORD_ONLY) for name in ("implementation", *static)]
    )
