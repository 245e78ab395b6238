"""Classes of values that ``vmap`` maps over by functions of their own: containers whose axes are not those of one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax.core.types import typeof
from arrax.xla.arrays import ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.batching import Batch
    from arrax.xla.arrays import Array


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


def element_of(batch: Batch, value: ArrayLike, axis: Any) -> Any:
    """The element of a value, along an axis or by a spec, that a function which is mapped over it sees."""
    known = vmappables.get(type(value))
    if known is None:
        return batch.join(value, axis if axis is None else axis % typeof(value).ndim)

    def index() -> Any:
        numbers = np.arange(batch.size, dtype=np.int32) if known.make_iota is None else known.make_iota(batch.size)
        return batch.join(numbers, 0)

    return known.to_elt(lambda inner, inner_axis: element_of(batch, inner, inner_axis), index, value, axis)


def together(batch: Batch, element: Any, spec: Any, place: Callable[[Batch, Any, Any], Any]) -> Any:
    """A result whose elements are of a registered class.

    Args:
      place: does so for arrays: ``(batch, array, axis)``.
    Raises:
      TypeError: its class says nothing of results.
    """
    known = vmappables[type(element)]
    if known.from_elt is None:
        raise TypeError(f"vmap: {type(element)} was registered without from_elt: its values cannot be results")

    def inner(_: int, part: Array, part_spec: Any) -> Array:
        return together(batch, part, part_spec, place) if type(part) in vmappables else place(batch, part, part_spec)

    return known.from_elt(inner, batch.size, element, spec)
