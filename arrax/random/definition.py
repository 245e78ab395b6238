"""Generators of users' own: ``define_prng_impl`` and keys made with a given generator."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from arrax.random import key_arrays
from arrax.random.implementations import Implementation, register_if_named
from arrax.random.keys import seed_value
from arrax.xla.arrays import Array, ArrayLike


def define_prng_impl(
    *, key_shape: tuple[int, ...], seed: Callable, split: Callable, random_bits: Callable, fold_in: Callable,
    name: str = "<unnamed>", tag: str = "?",
) -> Hashable:  # fmt: skip
    """A generator made of functions of raw key data, arrays of uint32 of shape ``key_shape``.

    Args:
      key_shape: shape of one key's data.
      seed: from an integer array of shape () to key data.
      split: ``(key data, shape)`` to key data of shape ``shape + key_shape``.
      random_bits: ``(key data, bit width, shape)`` to unsigned ints of the width and the shape.
      fold_in: ``(key data, integer)`` to key data.
      name: under which ``key(…, impl=name)`` knows it.
      tag: short name, for printing dtypes: ``key<tag>``.
    Returns: what ``impl=`` of ``arrax.random.key`` takes.
    Raises:
      ValueError: the name is taken.
    Example: ``fry = threefry_prng_impl;
    mine = define_prng_impl(key_shape=(2,), seed=fry.seed, split=fry.split, random_bits=fry.random_bits,
    fold_in=fry.fold_in, name='mine', tag='me'); str(random.key(0, impl=mine).dtype)`` is ``'key<me>'``.
    """
    return register_if_named(Implementation(key_shape, seed, split, random_bits, fold_in, name, tag))


def random_seed(seeds: Any, impl: Implementation) -> Array:
    """Keys of a generator from integers, one per element.

    Example: ``random_seed(jnp.arange(3), threefry_prng_impl).shape`` is ``(3,)``.
    """
    return key_arrays.random_seed_p.bind(seeds if getattr(seeds, "ndim", 0) else seed_value(seeds), impl=impl)


def seed_with_impl(impl: Implementation, seed: ArrayLike) -> Array:
    """A key of a generator from an integer.

    Example: ``seed_with_impl(threefry_prng_impl, 0)`` is ``arrax.random.key(0)``.
    """
    return random_seed(seed, impl)
