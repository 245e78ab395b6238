"""Operations on shapes that stand above the families of operations, whose rules need them: they are filled in through slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arrax.core.types import ShapedArray, Zero, typeof

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike


def broadcast_to_shape(x: ArrayLike, shape: tuple[int, ...]) -> Any:
    """``x`` (a scalar or of the shape) repeated to ``shape``."""
    return x if typeof(x).shape == shape else shape_slots.broadcast_in_dim(x, shape, ())


class ShapeSlots:
    """Operations of ``lax.shapes`` and ``lax.reductions`` that the families' rules use."""

    broadcast_in_dim: Callable[..., Any]
    reduce_sum: Callable[..., Any]
    reshape: Callable[..., Any]
    convert: Callable[..., Any]


shape_slots = ShapeSlots()


def unbroadcast(ct: ArrayLike, aval: ShapedArray) -> ArrayLike:
    """The cotangent of an operand that was repeated: summed to its shape."""
    if type(ct) is Zero:
        return Zero(aval.to_tangent_aval())
    shape = typeof(ct).shape
    if shape == aval.shape:
        return ct
    return shape_slots.reduce_sum(ct, tuple(range(len(shape))))
