"""``debug.print``: values of a program printed while it runs."""

from __future__ import annotations

import functools
import string
from typing import Any

import numpy as np

from arrax.lax.effectful_callbacks import debug_callback


class _Checker(string.Formatter):
    """Finds out whether arguments and fields of a format belong together, without formatting anything."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return value

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [arg for place, arg in enumerate(args) if place not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `debug.print`: {unused}")
        names = [name for name in kwargs if name not in used_args]
        if names:
            raise ValueError(
                f"Unused keyword arguments to `debug.print`: {names}. Give them a field such as {{{names[0]}}}, in a plain "
                "text: the fields of an f-string are filled before the call"
            )


_checker = _Checker()


def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Print values when a program comes by, also in compiled and transformed functions.

    Args:
      fmt: text with fields, as of ``str.format``. Without it, the options alone make a function to be called with the rest.
      args, kwargs: what stands in the fields: pytrees of arrays, or anything else.
      ordered: whether prints come in the order of the program.
      partitioned: accepted; only one device so far.
      skip_format_check: do not look at the fields now.
    Raises:
      ValueError: arguments without a field.
      IndexError, KeyError: fields without an argument.
    Example: ``arrax.debug.print("x = {x}", x=x)``.
    """
    if fmt is None:
        options = {"ordered": ordered, "partitioned": partitioned, "skip_format_check": skip_format_check}
        return functools.partial(debug_print, **options, **kwargs)  # type: ignore[arg-type]
    if not isinstance(fmt, str):
        raise TypeError(f"debug.print: fmt must be a text, got {fmt!r}")
    if not skip_format_check:
        _checker.vformat(fmt, args, kwargs)
    printing: Any = np.get_printoptions()

    def show(*values: Any, **named: Any) -> None:
        with np.printoptions(**printing):
            print(fmt.format(*values, **named))

    return debug_callback(show, *args, ordered=ordered, partitioned=partitioned, **kwargs)
