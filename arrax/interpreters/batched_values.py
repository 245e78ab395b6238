"""Values of the classes that ``batched_types`` registers: what a mapped function sees of one, and how results become one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.types import typeof
from arrax.interpreters.batched_types import vmappables
from arrax.interpreters.batching import Batch
from arrax.xla.arrays import ArrayLike

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def element_of(batch: Batch, value: ArrayLike, axis: Any) -> Any:
    """The element of a value that a mapped function sees, along an axis or by a spec."""
    known = vmappables.get(type(value))
    if known is None:
        return batch.join(value, axis if axis is None else axis % typeof(value).ndim)

    def index() -> Any:
        numbers = np.arange(batch.size, dtype=np.int32) if known.make_iota is None else known.make_iota(batch.size)
        return batch.join(numbers, 0)

    return known.to_elt(lambda inner, inner_axis: element_of(batch, inner, inner_axis), index, value, axis)


def put_together(batch: Batch, element: Any, spec: Any, place: Callable[[Batch, Any, Any], Any]) -> Any:
    """The result for a whole batch, from the element that the function gave, which is of a registered class.

    Args:
      place: the same for arrays: ``(batch, array, axis)``.
    Raises:
      TypeError: the class was registered without a function for results.
    """
    known = vmappables[type(element)]
    if known.from_elt is None:
        raise TypeError(f"vmap: {type(element)} was registered without from_elt: its values cannot be results")

    def inner(_: int, part: Array, part_spec: Any) -> Array:
        return (
            put_together(batch, part, part_spec, place) if type(part) in vmappables else place(batch, part, part_spec)
        )

    return known.from_elt(inner, batch.size, element, spec)
