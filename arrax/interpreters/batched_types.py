"""Classes of values that ``vmap`` maps over by functions of their own: containers whose axes are not those of one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Vmappable(NamedTuple):
    """How values of a class are mapped over: see ``register_vmappable``."""

    spec_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any] | None
    make_iota: Callable[[Any], Any] | None


vmappables: dict[type, Vmappable] = {}


def register_vmappable(
    data_type: type, spec_type: type, axis_size_type: type, to_elt: Callable[..., Any],
    from_elt: Callable[..., Any] | None, make_iota: Callable[[Any], Any] | None,
) -> None:  # fmt: skip
    """Let ``vmap`` map over values of a class.

    Args:
      data_type: the class; its values are leaves of arguments and results.
      spec_type: class of what stands for them in ``in_axes`` and ``out_axes``.
      axis_size_type: int: a batch has a length.
      to_elt: ``to_elt(inner, index, value, spec)``, which gives an element; ``inner(array, axis)`` gives an element of an
        array inside, and ``index()`` the number of the element.
      from_elt: ``from_elt(inner, axis_size, element, spec)``, which puts elements together, where an element of the class is
        a result; ``inner(axis_size, array, axis)`` does so for an array inside.
      make_iota: from an ``axis_size`` to the array of the numbers of all elements; None counts from 0.
    Raises:
      NotImplementedError: lengths of another class than int.
    Example: see ``unregister_vmappable``.
    """
    if axis_size_type is not int:
        raise NotImplementedError(f"register_vmappable: axis_size_type must be int, got {axis_size_type}")
    vmappables[data_type] = Vmappable(spec_type, to_elt, from_elt, make_iota)


def unregister_vmappable(data_type: type) -> None:
    """Forget a class that was registered.

    Args:
      data_type: the class.
    Example: ``class Rows(list): pass``, ``register_vmappable(Rows, str, int, lambda inner, index, rows, spec:
    inner(rows[0], 0), None, None)`` and ``unregister_vmappable(Rows)``.
    """
    vmappables.pop(data_type, None)


def is_vmappable(value: Any) -> bool:
    """Whether a value is of a registered class."""
    return type(value) in vmappables


def is_spec(entry: Any) -> bool:
    """Whether an entry of ``in_axes`` or ``out_axes`` stands for a value of a registered class."""
    return any(isinstance(entry, known.spec_type) for known in vmappables.values())
