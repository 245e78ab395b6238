"""Keys of a library's own: libraries put a function in the place of the check of keys (kauldron does), which makes keys of them."""

from __future__ import annotations

from typing import Any

from arrax.as_jax.private import private_module
from arrax.random import keys


def check_key(name: str, key: Any, *, allow_batched: bool = False) -> tuple[Any, bool] | None:
    """A typed key from a typed or raw one, and whether it was typed; None where it is no key.

    Args:
      name: the function that was called, for messages.
      key: what it was called with.
      allow_batched: whether it may be an array of keys.
    """
    return keys.typed_key(name, key, allow_batched)


def _check_in_place(name: str, key: Any, allow_batch: bool) -> tuple[Any, bool] | None:
    """What the function says that stands in the place of the check now."""
    checks: Any = private_module("jax._src.random.core")
    return checks._check_prng_key(name, key, allow_batched=allow_batch)


keys.checks_of_others.append(_check_in_place)
