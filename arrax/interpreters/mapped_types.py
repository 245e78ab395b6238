"""Types with and without a batch axis."""

from __future__ import annotations

from typing import Any

from arrax.core.types import ShapedArray
from arrax.interpreters.batching import example_type


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of an example of a batch.

    Args:
      size: how many examples there are.
      axis: the batch axis, or None where every example is all of it.
      aval: the type of the batch.
    Returns: the type without the axis.
    Raises:
      ValueError: the axis has another length.
    Example: ``arrax.extend.core.mapped_aval(4, 0, arrax.typeof(x)).shape`` is ``()``.
    """
    if axis is None or not isinstance(aval, ShapedArray):
        return aval
    if aval.shape[axis] != size:
        raise ValueError(f"mapped_aval: axis {axis} of {aval.str_short(True)} has not the length {size}")
    return example_type(aval, axis)


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray, explicit_mesh_axis: Any = None) -> ShapedArray:
    """The type of a batch of so many examples.

    Args:
      size: how many examples there are.
      axis: where the batch axis is to be, or None where there is to be none.
      aval: the type of an example.
      explicit_mesh_axis: accepted, without effect.
    Returns: the type with the axis.
    Example: ``arrax.extend.core.unmapped_aval(3, 0, arrax.typeof(x)).shape`` is ``(3, 4)``.
    """
    if axis is None or not isinstance(aval, ShapedArray):
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))
