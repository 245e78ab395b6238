"""Settings as such: their types and values, the environment variables that set them, and the list of all there are.

Each option is a cell of the runtime (one global value, one value per thread). Options flagged ``in_key`` take part in the
key of every compiled function, so that changing one retraces; the runtime compares them in C++ at each call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from arrax.dtypes.wording import shown
from arrax.native import runtime

_UNSET = runtime.Config("arrax_unset", None).get_local()  # what a cell holds for a thread without a value of its own
_TRUE, _FALSE = {"y", "yes", "t", "true", "on", "1"}, {"n", "no", "f", "false", "off", "0", ""}


def parse_bool(text: str) -> bool:
    """The truth value that ``text`` spells (``1``, ``true``, ``yes``, ``on``, … or their opposites)."""
    lowered = text.strip().lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError(f"invalid truth value {text!r}: use one of {sorted(_TRUE | _FALSE)}")


def environment(name: str) -> tuple[str, str] | None:
    """``ARRAX_NAME``, or else the documented ``JAX_NAME``, with its value; None where neither is set."""
    for variable in (f"ARRAX_{name.upper()}", f"JAX_{name.upper()}"):
        if variable in os.environ:
            return variable, os.environ[variable]
    return None


class Option:
    """One setting. Call it with a value to get a context manager: ``with enable_x64(True): …``."""

    __slots__ = ("name", "kind", "default", "choices", "doc", "cell", "on_change", "nullable", "in_key")

    def __init__(
        self,
        name: str,
        kind: type,
        default: Any,
        doc: str,
        *,
        choices: tuple[str, ...] = (),
        in_key: bool = False,
        nullable: bool = False,
        on_change: Callable[[Any, bool], None] | None = None,
    ):
        self.name, self.kind, self.default, self.choices, self.doc = name, kind, default, choices, doc
        self.on_change, self.nullable, self.in_key = on_change, nullable or default is None, in_key
        found = environment(name)
        value = default if found is None else self._parse_variable(*found)
        self.cell = runtime.Config(f"arrax_{name}", value, include_in_jit_key=in_key, include_in_trace_context=in_key)
        options[name] = self
        if found is not None and on_change is not None:
            on_change(value, False)

    def _parse_variable(self, variable: str, text: str) -> Any:
        try:
            return self.parse(text)
        except (ValueError, TypeError) as error:
            raise type(error)(f"environment variable {variable}={text}: {error}") from None

    def parse(self, text: str) -> Any:
        """The value that a text (of the environment or a command line) spells."""
        if self.kind is bool:
            return self.check(parse_bool(text))
        if self.kind is object or (self.nullable and text in ("", "None")):
            return text or None
        return self.check(self.kind(text))

    def check(self, value: Any) -> Any:
        """``value`` in the option's type.

        Raises:
          ValueError: a value that the option does not have.
          TypeError: a value of another type.
        """
        if value is None and self.nullable or self.kind is object:
            return value
        if self.kind is bool:
            if isinstance(value, str):
                try:
                    return parse_bool(value)
                except ValueError as error:
                    raise ValueError(f"config option {self.name!r}: {error}") from None
            if not isinstance(value, bool | int | np.bool_):
                raise TypeError(f"config option {self.name!r} takes a bool, got {shown(value)}")
            return bool(value)
        if self.choices:
            if value not in self.choices:
                raise ValueError(f"config option {self.name!r} takes one of {list(self.choices)}, got {shown(value)}")
            return value
        if self.kind in (int, float) and isinstance(value, int | float) and not isinstance(value, bool):
            if self.kind is float or isinstance(value, int) or value.is_integer():
                return self.kind(value)
        if not isinstance(value, self.kind):
            raise TypeError(f"config option {self.name!r} takes {self.kind.__name__}, got {value!r}")
        return value

    @property
    def value(self) -> Any:
        """The value in force in this thread."""
        return self.cell.value

    def set_global(self, value: Any) -> None:
        """Set the value for all threads that have no value of their own."""
        value = self.check(value)
        self.cell.set_global(value)
        if self.on_change is not None:
            self.on_change(value, False)

    def __call__(self, new_val: Any = _UNSET) -> AbstractContextManager[None]:
        if new_val is _UNSET:
            if self.kind is not bool:
                raise TypeError(f"{self.name}: new_val, the value, is missing")
            new_val = True
        return self._inside(self.check(new_val))

    @contextmanager
    def _inside(self, value: Any) -> Iterator[None]:
        previous = self.cell.swap_local(value)
        if self.on_change is not None:
            self.on_change(value, True)
        try:
            yield
        finally:
            self.cell.set_local(previous)
            if self.on_change is not None:
                self.on_change(None if previous is _UNSET else previous, True)

    def __bool__(self) -> bool:
        return bool(self.cell.value)

    def __repr__(self) -> str:
        return f"<option {self.name}={self.value!r}>"


options: dict[str, Option] = {}


def traced_options() -> list[str]:
    """Names of the options whose values the runtime's trace context lists, in its order."""
    return [*(name for name, option in options.items() if option.in_key), "mesh"]
