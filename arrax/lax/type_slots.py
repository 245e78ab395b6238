"""What interpreters need of arrays: zeros, sums, broadcasting and moving an axis. Fills the slots of core.types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arrax import dtypes
from arrax.core.types import ShapedArray, slots, typeof
from arrax.interpreters.trace_state import under_jit
from arrax.lax.arithmetic import add, add_jaxvals_p
from arrax.lax.axis_order import move_axis
from arrax.lax.conversion import convert
from arrax.lax.filled_arrays import zeros_of
from arrax.lax.shapes import broadcast_in_dim
from arrax.xla.meshes import physical_mesh

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike


def _broadcast(value: ArrayLike, size: int, axis: int) -> ArrayLike:
    shape = typeof(value).shape
    if typeof(value).dtype == dtypes.float0:  # tangents of integers lie on the host
        return np.zeros((*shape[:axis], size, *shape[axis:]), dtypes.float0)
    dims = [i for i in range(len(shape) + 1) if i != axis]
    return broadcast_in_dim(value, (*shape[:axis], size, *shape[axis:]), dims)


def _convert(value: ArrayLike, aval: ShapedArray) -> Array:
    return convert(value, aval.dtype, aval.weak_type)


def _zeros(aval: ShapedArray) -> ArrayLike:
    dtype = aval.dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype._structure.zeros(dtype, aval.shape)
    zeros = zeros_of(aval)
    return slots.laid_out(zeros, aval.explicit) if aval.explicit is not None and _can_divide(aval) else zeros


def _can_divide(aval: ShapedArray) -> bool:
    """Whether zeros may lie as a type says: types do not say on which devices, the mesh in force or a program does."""
    mesh = physical_mesh()
    return under_jit() or (mesh is not None and mesh.shape_tuple == aval.explicit.mesh.shape_tuple)


def _add(x: ArrayLike, y: ArrayLike) -> Array:
    dtype = typeof(x).dtype
    return dtype._structure.add(dtype, x, y) if isinstance(dtype, dtypes.ExtendedDType) else add(x, y)


_add.primitive = add_jaxvals_p  # type: ignore[attr-defined]  # which libraries give rules to
slots.zeros = _zeros
slots.add = _add
slots.broadcast = _broadcast
slots.move_axis = move_axis
slots.convert = _convert
