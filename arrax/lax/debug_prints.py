"""``debug.print`` and ``debug.log``: values of a program printed or logged while it runs."""

from __future__ import annotations

import functools
import logging
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax.dtypes.canonical import warn_user
from arrax.lax.effectful_callbacks import debug_effect, ordered_debug_effect, watch_on_host
from arrax.xla.arrays import Array

logger = logging.getLogger("arrax.debug")


class FieldFinder(string.Formatter):
    """Looks up the fields of a format among arguments, without formatting these."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return value


class _Checker(FieldFinder):
    """Finds out whether arguments and fields of a format belong together."""

    def check_unused_args(self, used_args: set[Any], args: Sequence[Any], kwargs: Any) -> None:
        unused = [arg for index, arg in enumerate(args) if index not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `debug.print`: {unused}")
        names = [name for name in kwargs if name not in used_args]
        if names:
            raise ValueError(
                f"Unused keyword arguments to `debug.print`: {names}. Give them a field such as {{{names[0]}}}, in a plain "
                "text: the fields of an f-string are filled before the call"
            )


_checker = _Checker()
_ADVICE = (
    'The fields of an f-string are filled before the call: give a plain text and the values, as in ("x = {x}", x=x)'
)


def _check_format(name: str, fmt: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    if not isinstance(fmt, str):
        raise TypeError(f"{name}: fmt must be a text, got {fmt!r}")
    if "Traced<" in fmt:  # how traced values print
        warn_user(
            f"{name}: the text holds the description of a traced value in place of its elements. {_ADVICE}",
        )
    try:
        _checker.vformat(fmt, args, kwargs)
    except (IndexError, KeyError, ValueError) as error:
        error.add_note(f"{name}: fields and arguments do not fit together in {fmt!r}. {_ADVICE}")
        raise


def _showing(
    name: str, show: Callable[[str], object], fmt: Any, args: Sequence[Any], kwargs: dict[str, Any], ordered: bool,
    partitioned: bool, skip_format_check: bool,
) -> None:  # fmt: skip
    if not skip_format_check:
        _check_format(name, fmt, args, kwargs)
    printing: Any = np.get_printoptions()

    def formatted(*values: Any, **named: Any) -> None:
        with np.printoptions(**printing):
            show(fmt.format(*values, **named))

    watch_on_host(name, formatted, args, kwargs, ordered_debug_effect if ordered else debug_effect, partitioned)


def _print_line(text: str) -> None:
    print(text + "\n", end="")  # written at once: lines of several threads do not mix


def print_(
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
      partitioned: whether each device prints its parts of the values, instead of one the whole values.
      skip_format_check: do not look at the fields now.
    Raises:
      ValueError: arguments without a field; ``ordered`` on several devices, in ``pmap``, ``shard_map`` or with
        ``partitioned``.
      IndexError, KeyError: fields without an argument.
    Example: ``arrax.debug.print("x = {x}", x=x)``.
    """
    options = {"ordered": ordered, "partitioned": partitioned, "skip_format_check": skip_format_check}
    if fmt is None:
        return functools.partial(print_, **options, **kwargs)  # type: ignore[arg-type]
    _showing("debug.print", _print_line, fmt, args, kwargs, **options)


def log_(
    fmt: str | None = None,
    *args: Array,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Log values at level INFO when a program comes by: ``debug.print`` through ``logging``, by the logger ``arrax.debug``.

    Args:
      fmt, args, kwargs, ordered, partitioned, skip_format_check: as of ``debug.print``.
    Raises:
      ValueError: arguments without a field; ``ordered`` on several devices, in ``pmap``, ``shard_map`` or with
        ``partitioned``.
      IndexError, KeyError: fields without an argument.
    Example: ``arrax.debug.log("x = {x}", x=x)``.
    """
    options = {"ordered": ordered, "partitioned": partitioned, "skip_format_check": skip_format_check}
    if fmt is None:
        return functools.partial(log_, **options, **kwargs)  # type: ignore[arg-type]
    _showing("debug.log", logger.info, fmt, args, kwargs, **options)
