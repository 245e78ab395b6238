"""Creating arrays: from values, of constants, from ranges (NumPy reference, routines.array-creation)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, in_call
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer, concrete_value, context
from arrax.core.pytrees import tree_leaves, tree_map
from arrax.core.types import ShapedArray, slots, typeof
from arrax.dtypes import OptionalDType
from arrax.interpreters.staging import PYTHON_SCALARS, Staging
from arrax.lax import arithmetic, shapes, structure
from arrax.lax.conversion import convert, convert_element_type_p, scalar_of
from arrax.lax.placement import copy, device_put, own_sharding
from arrax.native import runtime
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, is_arraylike
from arrax.xla.annotations import OptionalDevice, OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike, OptionalArray
from arrax.xla.devices import default_device
from arrax.xla.placement import array_from_host

ArrayImpl = runtime.ArrayImpl


def _requested(name: str, dtype: Any) -> Any:
    """The canonical dtype of a user's request, with a warning where it is truncated."""
    return None if dtype is None else dtypes.check_user_dtype(name, dtype)


def _placed(value: Any, device: Any, out_sharding: Any = None) -> Any:
    place = out_sharding if device is None else device
    return value if place is None else device_put(value, place)


def array(
    object: Any, dtype: OptionalDType = None, copy: bool = True, order: str | None = "K", ndmin: int = 0, *, device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """An array with the elements of a number, array, or nested sequence of them.

    Args:
      object: number, array, tracer, nested lists or tuples of them, or an object with ``__jax_array__``, ``__array__`` or the
        buffer protocol.
      dtype: dtype of the result; by default the promoted dtype of the elements.
      copy: whether the result must have a buffer of its own.
      order: only ``"C"`` and ``"K"``: arrays have no memory order of their own.
      ndmin: least number of dimensions; missing ones go in front.
      device: device (or sharding) to put the result on.
    Returns: array.
    Raises:
      TypeError: elements that are no numbers.
      ValueError: nested sequences of differing lengths.
      NotImplementedError: another order.
    Example: ``jnp.array([1, 2, 3])``. Source: ``numpy.array``.
    """
    if order is not None and order not in ("C", "K"):
        raise NotImplementedError("Only implemented for order='K'")
    requested = _requested("array", dtype)
    value = _from_object(object, requested, bool(copy))
    rank = typeof(value).ndim
    if ndmin > rank:
        value = shapes.expand_dims(value, range(ndmin - rank))
    return _placed(value, device, out_sharding)


def asarray(
    a: Any, dtype: OptionalDType = None, order: str | None = None, *, copy: bool | None = None, device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """An array with the elements of ``a``: itself where it is one of that dtype already.

    Args: as of ``array``; ``copy=False`` raises where a copy is needed.
    Example: ``jnp.asarray([1, 2])``. Source: ``numpy.asarray``.
    """
    if copy is False and not isinstance(a, ArrayImpl | Tracer):
        target = default_device() if device is None else device
        if getattr(target, "platform", "cpu") != "cpu":  # a sharding has no platform of its own: device_put judges it
            raise ValueError("jnp.asarray(..., copy=False) cannot be honored: the input is not an array on that device")
    elif copy is False and dtype is not None and dtypes.check_user_dtype("asarray", dtype) != a.dtype:
        raise ValueError(f"jnp.asarray(..., copy=False) cannot change the dtype {a.dtype} to {dtype}")
    return array(a, dtype=dtype, copy=bool(copy), order=order, device=device, out_sharding=out_sharding)


def made_of(values: Any, *sources: Any) -> Array:
    """An array of values that were found on the host, on the device to which a source of them is committed."""
    return _placed(asarray(values), _sharding_of(sources, np.shape(values)))


def _sharding_of(sources: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Where the first source lies that is committed to a place which an array of the shape can have; None if none is."""
    arrays = (source for source in sources if type(source) is ArrayImpl and source._committed)
    return next(filter(None, (own_sharding(array, shape) for array in arrays)), None)


def _from_object(value: Any, dtype: Any, must_copy: bool) -> Any:
    kind = type(value)
    if kind is ArrayImpl or isinstance(value, Tracer):
        return _from_array(value, dtype, must_copy)
    if isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic):
        return _from_number(value, dtype)
    if isinstance(value, np.ndarray | np.generic):
        return _from_numpy(np.asarray(value), dtype)
    if hasattr(value, "__jax_array__"):
        return _from_object(value.__jax_array__(), dtype, must_copy)
    if isinstance(value, list | tuple | range):
        return _from_sequence(list(value) if type(value) is range else value, dtype)
    if getattr(value, "aval", None) is not None:
        return value
    if hasattr(value, "__array__"):
        return _from_numpy(np.asarray(value), dtype)
    if value is None:
        raise ValueError(in_call("None is not a valid value for an array"))
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(in_call(f"Unexpected input type for array: {kind}")) from None
    return _from_numpy(np.asarray(view), dtype)


def _from_array(value: Any, dtype: Any, must_copy: bool) -> Any:
    aval = typeof(value)
    if dtype is not None and (dtype != aval.dtype or aval.weak_type):
        return convert(value, dtype, False)
    if (
        isinstance(value, Tracer) and type(concrete_value(value)) in PYTHON_SCALARS
    ):  # under a derivative: an array of it
        return convert_element_type_p.bind(value, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None)
    if must_copy and isinstance(value, ArrayImpl | Tracer) and not isinstance(context.interpreter, Staging):
        return copy(value)  # in a program that is recorded no buffer is shared
    return value


def _from_number(value: Any, dtype: Any) -> Any:
    weak = dtype is None and not isinstance(value, bool)
    if dtype is None:
        aval = typeof(value)
        dtype = aval.dtype
    elif isinstance(value, int) and not isinstance(value, bool):
        _check_range(value, dtype)
    if isinstance(value, complex) and not dtypes.is_complex(dtype):
        raise TypeError(f"a complex number cannot become an element of dtype {dtype}")
    with np.errstate(all="ignore"):
        element = np.asarray(value).astype(dtype)
    return _constant(element, weak)


def _check_range(value: int, dtype: Any) -> None:
    if dtype.kind in "iu":  # narrower integers wrap around, in NumPy too
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"Python integer {value} out of bounds for {dtype.name}")


def _constant(element: np.ndarray, weak: bool) -> Any:
    """An array of a host value that nobody else holds; inside a trace, a constant of the program."""
    if host.evaluating():
        return host.new(element, weak)
    return array_from_host(element, ShapedArray(element.shape, element.dtype, weak), fresh=True)


def _from_numpy(value: np.ndarray, dtype: Any) -> Any:
    if dtypes.float0 in (dtype, value.dtype):
        if dtype is None or dtype == value.dtype:
            return np.zeros(value.shape, dtypes.float0)
        value = np.zeros(value.shape, np.bool_)
    if dtype is None:
        dtype = typeof(value).dtype
    with np.errstate(all="ignore"):
        return _constant(np.array(value, dtype=dtype, order="C"), False)


def _leaf_dtype(leaves: Sequence[Any]) -> Any:
    for leaf in leaves:
        if leaf is None:
            raise ValueError(in_call("None is not a valid value for an array"))
        if not (is_arraylike(leaf) or hasattr(leaf, "__array__")):
            raise TypeError(
                f"Value {leaf!r} with dtype object is not a valid array type. Only arrays of numeric types are supported."
            )
    pairs = [dtypes.value_pair(leaf if is_arraylike(leaf) else np.asarray(leaf)) for leaf in leaves]
    return dtypes.result_type_of(pairs)[0]


_FLAT = {int: np.dtype(np.int64), float: np.dtype(np.float64), bool: np.dtype(np.bool_)}


def _from_flat_numbers(value: Any, dtype: Any) -> Any:
    """A flat sequence of Python numbers of one class, the commonest case; None where it is something else."""
    classes = set(map(type, value))
    wide = _FLAT.get(next(iter(classes))) if len(classes) == 1 else None
    if wide is None:
        return None
    chosen = dtypes.canonicalize_dtype(wide) if dtype is None else dtype
    if isinstance(chosen, dtypes.ExtendedDType):
        return None
    if wide.kind == "i":
        _check_range(max(value), chosen)
        _check_range(min(value), chosen)
    wide = chosen if wide.kind == "i" and chosen == np.uint64 else wide
    with np.errstate(all="ignore"):
        return _constant(np.array(value, wide).astype(chosen), False)


def _from_sequence(value: Any, dtype: Any) -> Any:
    flat = _from_flat_numbers(value, dtype) if value else None
    if flat is not None:
        return flat
    leaves = tree_leaves(value, is_leaf=lambda node: node is None)
    if any(type(leaf) is range for leaf in leaves):
        return _from_sequence(tree_map(lambda leaf: list(leaf) if type(leaf) is range else leaf, value), dtype)
    if not leaves:
        plain = np.array(value, dtype=np.float32)
        chosen = dtypes.canonicalize_dtype(np.float64) if dtype is None else dtype
        return _constant(plain.astype(chosen), False)
    if dtype is None:
        dtype = _leaf_dtype(leaves)
    if any(isinstance(leaf, Tracer) for leaf in leaves) or isinstance(dtype, dtypes.ExtendedDType):
        return _stacked(value, dtype)
    plain = _host_values(value)
    if dtype == dtypes.float0:
        return np.zeros(np.array(plain).shape, dtypes.float0)
    try:
        if dtypes.is_integer(dtype) and all(type(leaf) is int for leaf in leaves):
            _check_range(max(leaves), dtype)
            _check_range(min(leaves), dtype)
        elements = np.array(plain)
        if elements.dtype == object:
            raise ValueError("setting an array element with a sequence: the lengths of nested sequences differ")
        with np.errstate(all="ignore"):
            elements = elements.astype(dtype)
    except ValueError as error:
        raise ValueError(
            f"array: nested sequences must have equal lengths and elements equal shapes; {error}"
        ) from None
    return _placed(_constant(elements, False), _sharding_of(leaves, elements.shape))


def _host_values(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_host_values(item) for item in value]
    return np.asarray(value) if not isinstance(value, bool | int | float | complex) else value


def _stacked(value: Any, dtype: Any) -> Any:
    """Nested sequences with tracers: element by element."""
    if not isinstance(value, list | tuple):
        return convert(value if is_arraylike(value) else _from_object(value, None, False), dtype)
    parts = [_stacked(item, dtype) for item in value]
    if not parts:
        return shapes.full((0,), 0, dtype)
    shape = typeof(parts[0]).shape
    for part in parts:
        if typeof(part).shape != shape:
            raise ValueError(
                f"array: elements of a sequence must have equal shapes, got {shape} and {typeof(part).shape}"
            )
    return structure.concatenate([shapes.expand_dims(part, (0,)) for part in parts], 0)


# ---- constants ----------------------------------------------------------------------------------------------------------


@api(static=("shape", "dtype", "weak"))
def _full_compiled(fill_value: Any, shape: tuple[int, ...], dtype: Any, weak: bool) -> Any:
    return convert(shapes.broadcast_in_dim(convert(fill_value, dtype), shape, ()), dtype, weak)


def _filled(shape: tuple[int, ...], value: Any, dtype: Any, weak: bool = False) -> Any:
    """An array of one repeated number: on the host where it is small."""
    if dtype == dtypes.float0:
        return np.zeros(shape, dtypes.float0)
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(shape, value)
    if isinstance(value, int | float | bool | complex | np.generic) and host.evaluating():
        total = ShapedArray(shape, dtype).size
        if total <= host.ELEMENT_LIMIT:
            with np.errstate(all="ignore"):
                return host.new(np.full(shape, np.asarray(value).astype(dtype), dtype), weak)
        return _full_compiled(np.asarray(value).astype(dtype), shape, dtype, weak)
    if not context.interpreter.is_evaluation:
        made = shapes.full(shape, value, dtype)
        return convert(made, dtype, weak) if weak else made
    return _full_compiled(value, shape, dtype, weak)


def _holds_numbers(dtype: Any) -> bool:
    return not isinstance(dtype, dtypes.ExtendedDType) and dtype != dtypes.float0


def _default_float() -> Any:
    return dtypes.canonicalize_dtype(np.float64)


def _requested_of_shape(name: str, shape: Any, dtype: Any) -> Any:
    """The dtype of an array of some shape; a number there is another length of the shape."""
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        raise TypeError(
            f"{name}: Cannot interpret {dtype!r} as a data type. A shape is one argument: jnp.{name}(({shape}, {dtype}))"
        )
    return _requested(name, dtype)


def zeros(
    shape: Shape,
    dtype: OptionalDType = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """An array of zeros.

    Args:
      shape: int or sequence of ints.
      dtype: by default float32 (float64 with x64).
      device: device to put it on.
    Raises:
      TypeError: a shape that is not made of concrete integers.
      ValueError: negative lengths.
    Example: ``jnp.zeros((2, 3))``. Source: ``numpy.zeros``.
    """
    chosen = _default_float() if dtype is None else _requested_of_shape("zeros", shape, dtype)
    return _placed(_filled(shapes.canonical_shape(shape, "zeros"), 0, chosen), device, out_sharding)


def ones(
    shape: Shape,
    dtype: OptionalDType = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """An array of ones. Args: as of ``zeros``.

    Example: ``jnp.ones(3)``. Source: ``numpy.ones``.
    """
    chosen = _default_float() if dtype is None else _requested_of_shape("ones", shape, dtype)
    return _placed(_filled(shapes.canonical_shape(shape, "ones"), 1, chosen), device, out_sharding)


def empty(
    shape: Shape,
    dtype: OptionalDType = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """An array of zeros: there are no uninitialized arrays.

    Args:
      shape: int or sequence of ints.
      dtype: by default float32 (float64 with x64).
      device: device to put it on.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.empty(2)``. Source: ``numpy.empty``.
    """
    return zeros(shape, _requested_of_shape("empty", shape, dtype), device=device, out_sharding=out_sharding)


def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: OptionalDType = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """An array filled with a value.

    Args:
      shape: int or sequence of ints.
      fill_value: number or array, broadcast to ``shape``.
      dtype: by default that of ``fill_value``.
    Example: ``jnp.full((2,), 3)``. Source: ``numpy.full``.
    """
    check_arraylike("full", fill_value)
    requested = _requested("full", dtype)
    lengths = shapes.canonical_shape(shape, "full")
    if type(fill_value) is int and requested is not None and _holds_numbers(requested):
        fill_value = scalar_of(fill_value, requested)  # of any size that the dtype holds
    aval = typeof(fill_value)
    weak = requested is None and aval.weak_type
    chosen = aval.dtype if requested is None else requested
    if aval.shape == ():
        return _placed(_filled(lengths, fill_value, chosen, weak), device, out_sharding)
    from_array = convert(asarray(fill_value), chosen, weak)
    return _placed(_broadcast(from_array, lengths), device, out_sharding)


@api(static=("shape",))
def _broadcast(value: Any, shape: tuple[int, ...]) -> Any:
    own = typeof(value).shape
    lead = len(shape) - len(own)
    if lead < 0:
        raise ValueError(f"Incompatible shapes for broadcasting: {own} and requested shape {shape}")
    for length, new_length in zip(own, shape[lead:], strict=True):
        if length not in (1, new_length):
            raise ValueError(f"Incompatible shapes for broadcasting: {own} and requested shape {shape}")
    return shapes.broadcast_in_dim(value, shape, range(lead, len(shape)))


def _like(name: str, a: Any, dtype: Any, shape: Any) -> tuple[tuple[int, ...], Any, bool]:
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        check_arraylike(name, a)
    known = a if hasattr(a, "shape") and not is_arraylike(a) else typeof(a)
    own_dtype = dtypes.canonicalize_dtype(known.dtype, allow_extended_dtype=True)
    lengths = tuple(known.shape) if shape is None else shapes.canonical_shape(shape, name)
    requested = _requested(name, dtype)
    return (
        lengths,
        own_dtype if requested is None else requested,
        requested is None and getattr(known, "weak_type", False),
    )


def _placed_like(value: Any, a: Any, device: Any, out_sharding: Any = None) -> Any:
    """A new array where ``a`` lies, if that is committed to a place, and no other one is asked for."""
    if device is None and out_sharding is None:
        return _placed(value, own_sharding(a, typeof(value).shape)) if type(a) is ArrayImpl else _divided_like(value, a)
    return _placed(value, device, out_sharding)


def _divided_like(value: Any, a: Any) -> Any:
    """The value, divided by explicit axes of a mesh as a traced ``a`` of its shape is."""
    aval = a.aval if isinstance(a, Tracer) else None
    return (
        value if aval is None or aval.explicit is None or typeof(value).shape != aval.shape else slots.like(value, aval)
    )


def zeros_like(
    a: ArrayLike,
    dtype: OptionalDType = None,
    shape: Shape | None = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Zeros of the shape and dtype of ``a``, unless others are given.

    Args:
      a: array or number.
      dtype: of the result, instead of that of ``a``.
      shape: of the result, instead of that of ``a``.
      device: device to put it on.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.zeros_like(jnp.ones(2))``. Source: ``numpy.zeros_like``.
    """
    lengths, chosen, weak = _like("zeros_like", a, dtype, shape)
    return _placed_like(_filled(lengths, 0, chosen, weak), a, device, out_sharding)


def ones_like(
    a: ArrayLike,
    dtype: OptionalDType = None,
    shape: Shape | None = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Ones of the shape and dtype of ``a``, unless others are given.

    Args:
      a: array or number.
      dtype: of the result, instead of that of ``a``.
      shape: of the result, instead of that of ``a``.
      device: device to put it on.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.ones_like(jnp.zeros(2))``. Source: ``numpy.ones_like``.
    """
    lengths, chosen, weak = _like("ones_like", a, dtype, shape)
    return _placed_like(_filled(lengths, 1, chosen, weak), a, device, out_sharding)


def empty_like(
    prototype: Any,
    dtype: OptionalDType = None,
    shape: Shape | None = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Zeros of the shape and dtype of ``prototype``: there are no uninitialized arrays.

    Args:
      prototype: array or number.
      dtype: of the result, instead of that of ``prototype``.
      shape: of the result, instead of that of ``prototype``.
      device: device to put it on.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.empty_like(jnp.ones(2))``. Source: ``numpy.empty_like``.
    """
    lengths, chosen, weak = _like("empty_like", prototype, dtype, shape)
    return _placed_like(_filled(lengths, 0, chosen, weak), prototype, device, out_sharding)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: OptionalDType = None,
    shape: Shape | None = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """An array of the shape and dtype of ``a``, unless others are given, filled with a value.

    Args:
      a: array or number.
      fill_value: number, or array that broadcasts.
      dtype: of the result, instead of that of ``a``.
      shape: of the result, instead of that of ``a``.
      device: device to put it on.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.full_like(jnp.ones(2), 3)`` is ``[3., 3.]``. Source: ``numpy.full_like``.
    """
    lengths, chosen, weak = _like("full_like", a, dtype, shape)
    check_arraylike("full_like", fill_value)
    if type(fill_value) is int and _holds_numbers(chosen):
        fill_value = scalar_of(fill_value, chosen)
    if typeof(fill_value).shape == ():
        return _placed_like(_filled(lengths, fill_value, chosen, weak), a, device, out_sharding)
    return _placed(_broadcast(convert(asarray(fill_value), chosen, weak), lengths), device, out_sharding)


# ---- ranges -----------------------------------------------------------------------------------------------------------------


def _known(name: str, argument: str, value: Any) -> Any:
    if isinstance(value, Tracer):
        known = concrete_value(value)
        if known is None:
            raise ConcretizationTypeError(value, f"It arose in the {name} argument '{argument}'.")
        return np.asarray(known)[()]
    return np.asarray(value)[()] if isinstance(value, ArrayImpl | np.ndarray) else value


def arange(
    start: ArrayLike,
    stop: OptionalArray = None,
    step: OptionalArray = None,
    dtype: OptionalDType = None,
    *,
    device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Evenly spaced numbers from ``start`` (0 if only one is given) to below ``stop``.

    Args:
      start, stop, step: numbers that are known while tracing.
      dtype: by default the promoted dtype of the arguments.
    Raises:
      ValueError: a step of zero.
    Example: ``jnp.arange(3)`` is ``[0, 1, 2]``. Source: ``numpy.arange``.
    """
    requested = _requested("arange", dtype)
    given = [x for x in (start, stop, step) if x is not None]
    for value in given:
        if not is_arraylike(value):
            raise TypeError(f"arange requires ndarray or scalar arguments, got {type(value)}")
        if getattr(value, "ndim", 0):
            raise ValueError("arange: arguments must be scalars")
        if dtypes.is_complex(dtypes.value_pair(value)[0]):
            raise ValueError("arange: start, stop and step must be real numbers, got a complex one")
    result = dtypes.result_type_of([dtypes.value_pair(value) for value in given])[0] if requested is None else requested
    if stop is None:
        ends: Any = (("start", 0), ("stop", start))
    else:
        ends = (("start", start), ("stop", stop))
    low, high = (_known("jnp.arange", name, value) for name, value in ends)
    by = 1 if step is None else _known("jnp.arange", "step", step)
    if by == 0:
        raise ValueError("arange: step must not be zero")
    exact = all(isinstance(x, int | np.integer) for x in (low, high, by))
    size = len(range(int(low), int(high), int(by))) if exact else max(0, int(np.ceil((high - low) / by)))
    if not exact and dtypes.is_integer(result):  # as in NumPy, the step is that of the first two numbers made integers
        low, by, exact = int(low), int(low + by) - int(low), True
    if context.interpreter.is_evaluation and size <= host.ELEMENT_LIMIT and host.evaluating():
        if exact:
            with np.errstate(all="ignore"):
                return _placed(host.new((np.arange(size) * int(by) + int(low)).astype(result)), device, out_sharding)
    first, distance = np.asarray(low).astype(result)[()], np.asarray(by).astype(result)[()]
    return _placed(_steps(size, first, distance), device, out_sharding)


@api(static=("size", "first", "by"))
def _steps(size: int, first: Any, by: Any) -> Any:
    numbers = shapes.iota(first.dtype, size)
    numbers = numbers if by == 1 else arithmetic.mul(numbers, by)
    return numbers if first == 0 else arithmetic.add(numbers, first)


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: OptionalDType = None, *, device: OptionalDevice = None
) -> Array:
    """A matrix with ones on a diagonal.

    Args:
      N, M: rows and columns (as many as rows by default).
      k: which diagonal: above the main one where positive.
      dtype: by default float32 (float64 with x64).
    Example: ``jnp.eye(2)``. Source: ``numpy.eye``.
    """
    chosen = _default_float() if dtype is None else _requested("eye", dtype)
    rows = as_index(N)
    columns = rows if M is None else as_index(M)
    if rows < 0 or columns < 0:
        raise ValueError(f"negative dimensions are not allowed, got {rows} and {columns}")
    if rows * columns <= host.ELEMENT_LIMIT and host.evaluating() and not isinstance(k, Tracer | ArrayImpl):
        return _placed(host.new(np.eye(rows, columns, as_index(k), dtype=np.bool_).astype(chosen)), device)
    row, column = (
        shapes.broadcasted_iota(np.int32, (rows, columns), 0),
        shapes.broadcasted_iota(np.int32, (rows, columns), 1),
    )
    return _placed(convert(arithmetic.eq(arithmetic.add(row, convert(k, np.int32)), column), chosen), device)


def identity(n: int, dtype: OptionalDType = None) -> Array:
    """The identity matrix.

    Args:
      n: number of rows and columns.
      dtype: by default float32 (float64 with x64).
    Example: ``jnp.identity(2)``. Source: ``numpy.identity``.
    """
    return eye(n, dtype=dtype)


def copy_array(a: ArrayLike, order: str | None = None) -> Array:
    """A copy of an array.

    Args:
      a: array or number.
      order: ``"C"``, ``"K"`` or None: arrays have no memory order of their own.
    Example: ``jnp.copy(jnp.ones(2))``. Source: ``numpy.copy``.
    """
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)
