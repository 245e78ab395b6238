"""How a user's values appear in messages."""

from __future__ import annotations

from collections.abc import Callable

_LONGEST = 200  # characters of one value in a message


def shown(value: object, write: Callable[[object], str] = repr) -> str:
    """The representation of a value, cut where it is long; that of any object where the value's own fails.

    A message is made where something is wrong already: an object whose ``__repr__`` raises must not hide that.

    Args:
      write: what gives the representation, such as ``str``.

    Example: ``shown("a")`` is ``"'a'"``.
    """
    try:
        text = write(value)
    except Exception:
        return object.__repr__(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def writable(text: str) -> str:
    """A text without what C++ cannot take: halves of characters, as names of files may have, and zeros.

    Example: ``writable("a\\0")`` is ``"a\\\\0"``.
    """
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def message_of(error: BaseException) -> str:
    """What an exception says, as far as it can be written; nothing where saying it fails.

    Example: ``message_of(ValueError("no"))`` is ``"no"``.
    """
    try:
        return writable(str(error))
    except Exception:
        return ""
