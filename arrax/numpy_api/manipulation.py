"""Shapes, numbers of axes and dtypes of one array (NumPy reference, routines.array-manipulation)."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_indices, as_sequence
from arrax.core.errors import InconclusiveDimensionOperation, TracerIntegerConversionError
from arrax.core.interpreter import Tracer
from arrax.core.lengths import is_symbolic
from arrax.core.types import slots, typeof
from arrax.dtypes import DType, DTypeLike
from arrax.dtypes.canonical import warn_of_dropped_parts, warn_user
from arrax.lax import axis_order, placement, shape_arguments, shapes
from arrax.lax.conversion import convert
from arrax.numpy_api import host, operands
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.operands import axes_tuple, canonical_axes, check_arraylike, is_arraylike
from arrax.numpy_api.routes import eager_operand, shape_of
from arrax.xla.annotations import OptionalDevice, OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike

# ---- questions about shapes -----------------------------------------------------------------------------------------


def _described(name: str, a: ArrayLike) -> tuple[int, ...]:
    if hasattr(a, "shape"):
        return tuple(a.shape)
    if isinstance(a, int):  # of any size
        return ()
    if not is_arraylike(a):
        warn_user(
            f"{name} requires ndarray or scalar arguments, got {type(a)} at position 0.",
            DeprecationWarning,
        )
        return np.shape(a)
    return shape_of(a)


def shape(a: ArrayLike) -> tuple[int, ...]:
    """The lengths of the axes of an array.

    Args:
      a: array, number, or nested sequence.
    Example: ``jnp.shape(jnp.ones((2, 3)))`` is ``(2, 3)``. Source: ``numpy.shape``.
    """
    return _described("shape", a)


def ndim(a: ArrayLike) -> int:
    """The number of axes of an array.

    Args:
      a: array, number, or nested sequence of numbers.
    Example: ``jnp.ndim(jnp.ones((2, 3)))`` is 2. Source: ``numpy.ndim``.
    """
    return len(_described("ndim", a))


def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements of an array, or the length of some axes, multiplied.

    Args:
      a: array.
      axis: axis, or sequence of axes; None for all.
    Raises:
      ValueError: no such axis.
    Example: ``jnp.size(jnp.ones((2, 3)), 1)`` is 3. Source: ``numpy.size``.
    """
    lengths = _described("size", a)
    return math.prod(lengths[i] for i in canonical_axes(axis, len(lengths)))


# ---- reshaping ------------------------------------------------------------------------------------------------------


def resolve_shape(name: str, old: tuple[int, ...], new: Any) -> tuple[int, ...]:
    """A user's new shape, with the length that -1 stands for.

    Raises:
      TypeError: lengths that are no concrete integers, several -1, or another number of elements.
    """
    if isinstance(new, int | np.integer):
        new = (new,)
    try:
        lengths = as_indices(new)
    except (TypeError, TracerIntegerConversionError):
        lengths = shape_arguments.canonical_shape(new, name)  # words the error
    total = math.prod(old)
    unknown = lengths.count(-1)
    if unknown > 1:
        raise TypeError(f"{name}: can only specify one unknown axis size with a `-1` value, got {lengths}")
    if unknown:
        known = -math.prod(lengths)
        if is_symbolic(total) and known > 0 and is_symbolic(total % known):
            raise InconclusiveDimensionOperation(
                f"{name}: the shapes {old} and {lengths} have equally many elements only where {total % known} is 0"
            )
        if known <= 0 or total % known:
            raise TypeError(
                f"cannot reshape array of shape {old} (size {total}) into shape {lengths} because the product of "
                f"specified axis sizes ({known}) does not evenly divide {total}"
            )
        lengths = tuple(total // known if length == -1 else length for length in lengths)
    if math.prod(lengths) != total or any(length < 0 for length in lengths):
        raise TypeError(
            f"cannot reshape array of shape {old} (size {total}) into shape {lengths} (size {math.prod(lengths)})"
        )
    return lengths


@api(static=("shape", "order"), host=lambda values, shape, order: values.reshape(shape, order=order))
def _reshape(a: ArrayLike, shape: tuple[int, ...], order: str) -> Array:
    if order == "C":
        return shapes.reshape(a, shape)
    backwards = axis_order.transpose(a, range(typeof(a).ndim)[::-1])
    return axis_order.transpose(shapes.reshape(backwards, shape[::-1]), range(len(shape))[::-1])


@api(static=("shape", "order", "copy", "out_sharding"), stepwise=True)
def reshape(
    a: ArrayLike, shape: Shape | None = None, order: Any = "C", *, newshape: Shape | None = None, copy: bool | None = None,
    out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """Give the elements of an array another shape.

    Args:
      a: array.
      shape: int or sequence of ints; one of them may be -1, for whatever length is left.
      order: ``"C"`` counts the last axis fastest, ``"F"`` the first.
      newshape: the older name of ``shape``.
      copy: accepted; results are always arrays of their own.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      TypeError: no shape or two, a shape that is not concrete or that holds another number of elements; a list for ``a``.
      NotImplementedError: order ``"A"``.
    Example: ``jnp.reshape(jnp.arange(6), (2, -1))``. Source: ``numpy.reshape``.
    """
    if (shape is None) is (newshape is None):
        raise TypeError("reshape: exactly one of shape and newshape must be given")
    shape = newshape if shape is None else shape
    if out_sharding is not None:
        return slots.as_asked(out_sharding, functools.partial(reshape, shape=shape, order=order), a)
    a = eager_operand("reshape", a)
    if order not in ("C", "F"):
        if order == "A":
            raise NotImplementedError("reshape: order='A' is not implemented, since arrays have no memory order.")
        raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}")
    lengths = resolve_shape("reshape", shape_of(a), shape)
    return _reshape(a, lengths, order)


@api(static=("order", "out_sharding"), stepwise=True)
def ravel(a: ArrayLike, order: str = "C", *, out_sharding: OptionalSharding = None) -> Array:
    """All elements of an array in one axis.

    Args:
      a: array.
      order: ``"C"`` counts the last axis fastest, ``"F"`` the first.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Example: ``jnp.ravel(jnp.ones((2, 3))).shape`` is ``(6,)``. Source: ``numpy.ravel``.
    """
    if out_sharding is not None:
        return slots.as_asked(out_sharding, functools.partial(ravel, order=order), a)
    a = eager_operand("ravel", a)
    if order in ("A", "K"):
        raise NotImplementedError(f"ravel: order={order!r} is not implemented, use 'C' or 'F'.")
    if order not in ("C", "F"):
        raise ValueError(f"ravel: order must be 'C' or 'F', got {order!r}")
    return reshape(a, (typeof(a).size,), order)


# ---- the number of axes ---------------------------------------------------------------------------------------------


@api(static=("axes",), host=np.squeeze)
def _squeeze(a: Array, axes: tuple[int, ...]) -> Array:
    return shapes.squeeze(a, axes)


@api(static=("axis",), stepwise=True)
def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Drop axes of length 1.

    Args:
      a: array.
      axis: axis or axes to drop; by default all of length 1.
    Raises:
      ValueError: an axis of another length, or no such axis.
    Example: ``jnp.squeeze(jnp.ones((1, 3, 1))).shape`` is ``(3,)``. Source: ``numpy.squeeze``.
    """
    a = eager_operand("squeeze", a)
    lengths = shape_of(a)
    axes = tuple(i for i, n in enumerate(lengths) if n == 1) if axis is None else canonical_axes(axis, len(lengths))
    if any(lengths[i] != 1 for i in axes):
        raise ValueError(f"squeeze: cannot drop an axis whose length is not one, got shape {lengths} and axis={axis}")
    return _squeeze(a, tuple(sorted(axes)))


@api(static=("axes",), host=np.expand_dims)
def _expand_dims(a: ArrayLike, axes: tuple[int, ...]) -> Array:
    return shapes.expand_dims(a, axes)


@api(static=("axis",), stepwise=True)
def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Insert axes of length 1.

    Args:
      a: array.
      axis: place or places of the new axes in the result.
    Raises:
      ValueError: places out of bounds or repeated.
    Example: ``jnp.expand_dims(jnp.ones(3), 0).shape`` is ``(1, 3)``. Source: ``numpy.expand_dims``.
    """
    a = eager_operand("expand_dims", a)
    indices = axes_tuple(axis)
    axes = canonical_axes(indices, typeof(a).ndim + len(indices))
    return _expand_dims(a, axes)


def _at_least(name: str, rank: int, arrays: Sequence[Any]) -> Array | list[Array]:
    arrays = [eager_operand(name, a) for a in arrays]
    grown = [_grown(a, rank) for a in arrays]
    return grown[0] if len(grown) == 1 else grown


def _grown(a: ArrayLike, rank: int) -> Any:
    missing = _MISSING_AXES.get((rank, typeof(a).ndim))
    if missing is None:
        return shapes.broadcast_in_dim(a, a.shape, range(len(a.shape))) if isinstance(a, np.ndarray) else a
    return expand_dims(a, missing)


# Where new axes go, by the rank that is wanted and the rank that there is.
_MISSING_AXES: dict[tuple[int, int], tuple[int, ...]] = {
    (1, 0): (0,), (2, 0): (0, 1), (2, 1): (0,), (3, 0): (0, 1, 2), (3, 1): (0, 2), (3, 2): (2,),
}  # fmt: skip


def shape_with_rank(rank: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that ``atleast_1d``, ``atleast_2d`` or ``atleast_3d`` gives an array of a shape."""
    grown = list(shape)
    for axis in _MISSING_AXES.get((rank, len(shape)), ()):
        grown.insert(axis, 1)
    return tuple(grown)


@overload
def atleast_1d(ary: ArrayLike, /) -> Array: ...
@overload
def atleast_1d(*arys: ArrayLike) -> list[Array]: ...
@api(stepwise=True)
def atleast_1d(*arys: ArrayLike) -> Any:
    """Arrays with at least one axis; scalars get one.

    Args:
      arys: arrays or numbers.
    Returns: one array, or a list of them for several arguments.
    Example: ``jnp.atleast_1d(1.).shape`` is ``(1,)``. Source: ``numpy.atleast_1d``.
    """
    return _at_least("atleast_1d", 1, arys)


@overload
def atleast_2d(ary: ArrayLike, /) -> Array: ...
@overload
def atleast_2d(*arys: ArrayLike) -> list[Array]: ...
@api(stepwise=True)
def atleast_2d(*arys: ArrayLike) -> Any:
    """Arrays with at least two axes; new ones go in front.

    Args:
      arys: arrays or numbers.
    Returns: one array, or a list of them for several arguments.
    Example: ``jnp.atleast_2d(jnp.ones(3)).shape`` is ``(1, 3)``. Source: ``numpy.atleast_2d``.
    """
    return _at_least("atleast_2d", 2, arys)


@overload
def atleast_3d(ary: ArrayLike, /) -> Array: ...
@overload
def atleast_3d(*arys: ArrayLike) -> list[Array]: ...
@api(stepwise=True)
def atleast_3d(*arys: ArrayLike) -> Any:
    """Arrays with at least three axes; vectors become ``(1, n, 1)``, matrices ``(m, n, 1)``.

    Args:
      arys: arrays or numbers.
    Returns: one array, or a list of them for several arguments.
    Example: ``jnp.atleast_3d(jnp.ones(3)).shape`` is ``(1, 3, 1)``. Source: ``numpy.atleast_3d``.
    """
    return _at_least("atleast_3d", 3, arys)


# ---- broadcasting ---------------------------------------------------------------------------------------------------


@api(static=("shape",), host=lambda values, shape: np.broadcast_to(values, shape) if host.fits(*shape) else None)
def _broadcast_to(a: ArrayLike, shape: tuple[int, ...]) -> Any:
    return operands.broadcast_to(a, shape)


@api(static=("shape", "out_sharding"), stepwise=True)
def broadcast_to(array: ArrayLike, shape: Shape, *, out_sharding: OptionalSharding = None) -> Array:
    """Repeat an array to a shape by NumPy's rules: missing axes go in front, axes of length 1 repeat.

    Args:
      array: array.
      shape: int or sequence of ints.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: a shape that the array does not fit.
    Example: ``jnp.broadcast_to(jnp.arange(3), (2, 3))``. Source: ``numpy.broadcast_to``.
    """
    if out_sharding is not None:
        return slots.as_asked(out_sharding, functools.partial(broadcast_to, shape=shape), array)
    array = eager_operand("broadcast_to", array)
    own, lengths = shape_of(array), shape_arguments.canonical_shape(shape, "broadcast_to")
    if len(lengths) < len(own):
        raise ValueError(
            f"broadcast_to: cannot broadcast to a shape with fewer axes, got array shape {own} and shape {lengths}"
        )
    lead = len(lengths) - len(own)
    if any(n not in (1, lengths[lead + i]) for i, n in enumerate(own)):
        raise ValueError(
            f"Incompatible shapes for broadcasting: broadcast_to got array shape {own} and requested shape {lengths}"
        )
    return _broadcast_to(array, lengths) if lengths else asarray(array)  # of a number, too


def broadcast_shapes(*shapes: int | tuple[int, ...]) -> tuple[int, ...]:
    """The shape that several shapes broadcast to.

    Args:
      shapes: ints or sequences of ints.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``jnp.broadcast_shapes((2, 1), (3,))`` is ``(2, 3)``. Source: ``numpy.broadcast_shapes``.
    """
    return _broadcast_shapes(
        *[(one,) if isinstance(one, int | np.integer) else tuple(as_sequence(one)) for one in shapes]
    )


_broadcast_shapes = shapes.broadcast_shapes


def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """Arrays repeated to their common shape: a tuple, as the array API standard says.

    Args:
      args: arrays or numbers.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``jnp.broadcast_arrays(1., jnp.ones(2))``. Source: ``numpy.broadcast_arrays``.
    """
    check_arraylike("broadcast_arrays", *args)
    if not args:
        return ()
    arrays = [eager_operand("broadcast_arrays", a) for a in args]
    common = shapes.broadcast_shapes(*map(shape_of, arrays))
    if not common:
        return tuple(map(asarray, arrays))
    return tuple(
        a if shape_of(a) == common and not isinstance(a, np.ndarray) else broadcast_to(a, common) for a in arrays
    )


# ---- dtypes ---------------------------------------------------------------------------------------------------------


@api(static=("dtype",))
def _astype(x: Array, dtype: np.dtype) -> Array:
    return convert(x, dtype)


def _converts_exactly(values: np.ndarray, dtype: np.dtype) -> bool:
    """True where NumPy's conversion of the values is XLA's too."""
    if values.dtype.kind in "biu":
        return True
    if values.dtype.kind == "f" and values.dtype.itemsize >= 4:
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return bool(np.all((values > float(limits.min) - 1) & (values < float(limits.max))))
        return dtype.kind in "bc" or (dtype.kind == "f" and dtype.itemsize >= 2)
    return values.dtype == dtype


def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: OptionalDevice = None) -> Array:
    """Convert the elements of an array, as XLA does: floats to integers truncate and saturate.

    Args:
      x: array.
      dtype: the new dtype; None is the default float.
      copy: whether an array of that dtype already is copied.
      device: device to put the result on.
    Example: ``jnp.astype(jnp.arange(2), jnp.float32)`` is ``[0., 1.]``. Source: ``numpy.astype``.
    """
    x = eager_operand("astype", x)
    target = dtypes.canonicalize_dtype(np.float64) if dtype is None else dtypes.check_user_dtype("astype", dtype)
    out = _converted(x, target, copy)
    return out if device is None else placement.device_put(out, device)


@api(static=("dtype", "copy"), stepwise=True)
def _converted(x: Array, dtype: DType, copy: bool) -> Any:
    aval = typeof(x)
    if isinstance(dtype, dtypes.ExtendedDType) or isinstance(aval.dtype, dtypes.ExtendedDType):
        return convert(x, dtype)
    warn_of_dropped_parts("astype", aval.dtype, dtype)
    if aval.dtype == dtype and not aval.weak_type and (isinstance(x, Tracer) or type(x) is host.ArrayImpl and not copy):
        return placement.copy(x) if copy else x
    if host.on_host(x) and _converts_exactly(host.view(x), dtype):
        with np.errstate(all="ignore"):
            return host.back(host.view(x).astype(dtype), x, weak_type=False, fresh=True)
    return _astype(x, dtype)
