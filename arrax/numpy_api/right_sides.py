"""Systems of linear equations with fewer matrices than right sides: those with one matrix stand beside each other.

A thousand right sides and one matrix would otherwise be a thousand equal matrices to decompose.
"""

from __future__ import annotations

import math

from arrax.core.types import typeof
from arrax.lax import shapes
from arrax.lax.axis_order import move_axis
from arrax.numpy_api.operands import broadcast_to
from arrax.xla.arrays import Array


class RightSides:
    """Right sides of systems of equations, and what their solutions have to do with matrices of fewer leading axes.

    Args:
      matrices: the sizes of the leading axes of the matrices, which broadcast against those of the right sides.
      b: array of shape ``(..., m, k)``, or ``(..., m)``.
      vectors: whether the right sides are vectors.
    Raises:
      ValueError: leading axes that do not broadcast.
    """

    def __init__(self, matrices: tuple[int, ...], b: Array, vectors: bool = False) -> None:
        self._vectors = vectors
        self._b = shapes.expand_dims(b, (-1,)) if vectors else b
        aval = typeof(self._b)
        batch = shapes.broadcast_shapes(matrices, aval.shape[:-2])
        own = (1,) * (len(batch) - len(matrices)) + tuple(matrices)
        left = len(batch)
        # Where a mesh divides right sides they stay apart, since columns of one matrix cannot be divided.
        while left > 0 and own[left - 1] == 1 and aval.explicit is None:
            left -= 1
        self._batch, self._shared, self._own = batch[:left], batch[left:], own[:left]

    def matrices(self, a: Array, rank: int = 2) -> Array:
        """What there is for each matrix, an array whose last ``rank`` axes are its own, for each of the leading axes left."""
        shape = typeof(a).shape
        rest = shape[len(shape) - rank :]
        return broadcast_to(shapes.reshape(a, (*self._own, *rest)), (*self._batch, *rest))

    def columns(self) -> Array:
        """The right sides, those of one matrix beside each other: an array of shape ``(..., m, n)``."""
        rows, columns = typeof(self._b).shape[-2:]
        b = broadcast_to(self._b, (*self._batch, *self._shared, rows, columns))
        if not self._shared:
            return b
        together = math.prod(self._shared) * columns
        return shapes.reshape(move_axis(b, -2, len(self._batch)), (*self._batch, rows, together))

    def solutions(self, x: Array) -> Array:
        """The solutions, in the shape of the right sides, from those for the columns."""
        if self._shared:
            rows, columns = typeof(self._b).shape[-2:]
            apart = shapes.reshape(x, (*self._batch, rows, *self._shared, columns))
            x = move_axis(apart, len(self._batch), -2)
        return shapes.squeeze(x, (-1,)) if self._vectors else x
