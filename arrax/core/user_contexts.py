"""Settings of a library's own that compiled functions depend on, as they depend on those of the package."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from arrax.native import runtime

_numbers = itertools.count()


class UserContext:
    """A setting with a value for each thread. Call it with a value to get a context manager."""

    __slots__ = ("_cell",)

    def __init__(self, default_value: Hashable) -> None:
        hash(default_value)
        name = f"arrax_user_context_{next(_numbers)}"
        self._cell = runtime.Config(name, default_value, include_in_jit_key=True, include_in_trace_context=True)

    @property
    def value(self) -> Hashable:
        """The value in force in this thread."""
        return self._cell.value

    @contextmanager
    def __call__(self, new_value: Hashable) -> Iterator[None]:
        try:
            hash(new_value)
        except TypeError:
            raise TypeError(
                f"values of a user context are compared by hashes: {type(new_value).__name__} has none"
            ) from None
        previous = self._cell.swap_local(new_value)
        try:
            yield
        finally:
            self._cell.set_local(previous)

    def __repr__(self) -> str:
        return f"<user context, value={self.value!r}>"


def make_user_context(default_value: Hashable = None) -> UserContext:
    """A setting that functions may read while they are traced: compiled functions are traced anew for each of its values.

    Make it once, when a module is imported, not while other threads compile; to use it is safe in all threads.

    Args:
      default_value: the value outside of all ``with`` statements. Values have a hash.
    Returns: an object ``context``: ``with context(value):`` puts a value in force, ``context.value`` reads it.
    Raises:
      TypeError: a value without a hash.
    Example: ``scale = arrax.make_user_context(1); f = arrax.jit(lambda v: v * scale.value); manager = scale(3);
      manager.__enter__(); result = f(2); manager.__exit__(None, None, None); (int(result), int(f(2)))`` is ``(6, 2)``.
    """
    return UserContext(default_value)
