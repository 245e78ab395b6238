"""Contexts in which there are 64-bit types, or none."""

from __future__ import annotations

from contextlib import AbstractContextManager

from arrax.core.config import enable_x64 as option
from arrax.core.tracebacks import bound_names


def enable_x64(new_val: bool = True) -> AbstractContextManager[None]:
    """A context with 64-bit types, in the calling thread; ``arrax.enable_x64(True)`` is the same.

    Args:
      new_val: whether there are any.
    Example: ``with enable_x64(): assert jnp.arange(3).dtype == "int64"``.
    """
    return option(new_val)


def disable_x64() -> AbstractContextManager[None]:
    """A context without 64-bit types, in the calling thread.

    Example: ``with disable_x64(): assert jnp.arange(3).dtype == "int32"``.
    """
    return option(False)


bound_names(__name__)
