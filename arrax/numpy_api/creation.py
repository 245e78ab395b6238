"""Arrays from values (NumPy reference, routines.array-creation)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, in_call
from arrax.core.interpreter import Tracer, concrete_value
from arrax.core.lengths import is_symbolic
from arrax.core.pytrees import tree_leaves, tree_map
from arrax.core.types import ShapedArray, refuse_masked, typeof
from arrax.dtypes import OptionalDType
from arrax.dtypes.canonical import warn_of_dropped_parts, warn_user
from arrax.dtypes.wording import shown
from arrax.interpreters.staging import PYTHON_SCALARS, current_recorder
from arrax.lax import concatenation, filled_arrays, shapes
from arrax.lax.conversion import convert, convert_element_type_p
from arrax.lax.placement import check_out_sharding, copy, device_put, of_rank, own_sharding
from arrax.native import runtime
from arrax.numpy_api import host
from arrax.numpy_api.operands import is_arraylike
from arrax.xla.annotations import OptionalDevice, OptionalSharding
from arrax.xla.arrays import Array, ArrayLike
from arrax.xla.devices import default_device
from arrax.xla.distribution import put_on, whole_where_bound
from arrax.xla.placement import array_from_host

ArrayImpl = runtime.ArrayImpl


def requested_dtype(name: str, dtype: OptionalDType) -> np.dtype | None:
    """The canonical dtype of a user's request, with a warning where it is truncated."""
    return None if dtype is None else dtypes.check_user_dtype(name, dtype)


def placed(value: Array, device: Any, out_sharding: OptionalSharding = None) -> Any:
    """The value on a device, or divided as asked.

    Raises:
      TypeError: an ``out_sharding`` that is no sharding.
      ValueError: both are given.
    """
    if out_sharding is not None:
        check_out_sharding(out_sharding)
        out_sharding = of_rank(out_sharding, typeof(value).ndim)
        if device is not None:
            raise ValueError(in_call(f"device and out_sharding cannot both be given, got {device} and {out_sharding}"))
    destination = out_sharding if device is None else device
    return value if destination is None else device_put(value, destination)


def array(
    object: ArrayLike | Sequence[Any], dtype: OptionalDType = None, copy: bool = True, order: str | None = "K", ndmin: int = 0, *, device: OptionalDevice = None,
    out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """An array with the elements of a number, array, or nested sequence of them.

    Args:
      object: number, array, tracer, nested lists or tuples of them, or an object with ``__jax_array__``, ``__array__``,
        ``__array_interface__`` or the buffer protocol, or another sequence of numbers.
      dtype: dtype of the result; by default the promoted dtype of the elements.
      copy: whether the result must have a buffer of its own.
      order: only ``"C"`` and ``"K"``: arrays have no memory order of their own.
      ndmin: least number of dimensions; missing ones go in front.
      device: device (or sharding) to put the result on.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array.
    Raises:
      TypeError: elements that are not numbers.
      ValueError: nested sequences of differing lengths.
      NotImplementedError: another order.
    Example: ``jnp.array([1, 2, 3])``. Source: ``numpy.array``.
    """
    if order is not None and order not in ("C", "K"):
        raise NotImplementedError("Only implemented for order='K'")
    requested = requested_dtype("array", dtype)
    value = _from_object(object, requested, bool(copy))
    missing = as_index(ndmin) - typeof(value).ndim
    if missing > 0:
        value = shapes.expand_dims(value, range(missing))
    return placed(value, device, out_sharding)


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


def array_of(x: Any) -> Any:
    """Nested lists of numbers as an array, which some functions take as SciPy's do; other values as they are."""
    return asarray(x) if isinstance(x, list | tuple) else x


def made_of(values: Any, *sources: Any) -> Array:
    """An array of values that were found on the host, on the devices to which a source of them is committed: whole on each."""
    place = whole_where_bound(sources)
    return asarray(values) if place is None else put_on(asarray(values), place)


def _sharding_of(sources: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Where the first source lies that is committed to a place which an array of the shape can have; None if none is."""
    arrays = (source for source in sources if type(source) is ArrayImpl and source._committed)
    return next(filter(None, (own_sharding(array, shape) for array in arrays)), None)


def _from_object(value: ArrayLike | Sequence[Any], dtype: np.dtype | None, must_copy: bool) -> Any:
    kind = type(value)
    if kind is ArrayImpl or isinstance(value, Tracer):
        return _from_array(value, dtype, must_copy)
    if isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic):
        return _from_number(value, dtype)
    if isinstance(value, np.ndarray | np.generic):
        if not must_copy:
            refuse_masked(value)  # a copy is without its mask, as documented
        return _from_numpy(np.asarray(value), dtype)
    if hasattr(value, "__jax_array__"):
        return _from_object(value.__jax_array__(), dtype, must_copy)
    if isinstance(value, list | tuple | range):
        return _from_sequence(list(value) if type(value) is range else value, dtype)
    if isinstance(getattr(value, "aval", None), ShapedArray):  # keys, which become nothing else
        return value if dtype is None else convert(value, dtype)
    if value is None:
        return _from_number(_nan_for_none(), dtype)
    if isinstance(value, str) and isinstance(dtype, np.dtype):
        return _from_numpy(np.asarray(value, dtype), dtype)  # a number in writing, as where texts are read from a file
    return _from_numpy(_numpy_of(value), dtype)


def _from_array(value: Any, dtype: np.dtype | None, must_copy: bool) -> Any:
    aval = typeof(value)
    if dtype is not None and (dtype != aval.dtype or aval.weak_type):
        warn_of_dropped_parts("array", aval.dtype, dtype)
        return convert(value, dtype, False)
    # Under a derivative, a tracer may hold a Python scalar, which becomes an array here.
    if isinstance(value, Tracer) and type(concrete_value(value)) in PYTHON_SCALARS:
        return convert_element_type_p.bind(value, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None)
    return copy(value) if must_copy else value


def _from_number(value: complex, dtype: np.dtype | None) -> Array:
    weak = dtype is None and not isinstance(value, bool)
    if dtype is None:
        aval = typeof(value)
        dtype = aval.dtype
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_range(value, dtype)
    if isinstance(value, complex):
        _check_complex(dtype)
    with np.errstate(all="ignore"):
        element = np.asarray(value).astype(dtype)
    return _constant(element, weak)


def _check_complex(dtype: np.dtype) -> None:
    """Refuse Python's complex numbers as elements that would lose their imaginary part."""
    if not dtypes.is_complex(dtype) and dtype != np.bool_:
        raise TypeError(in_call(f"a complex number cannot become an element of dtype {dtype}"))


def _check_range(value: int | float, dtype: np.dtype) -> None:
    """Refuse Python numbers beyond an integer dtype, and NaN, as NumPy does."""
    if dtype.kind in "iu" or (type(value) is float and dtypes.is_integer(dtype)):  # narrower integers wrap around
        limits = dtypes.iinfo(dtype)
        if not limits.min <= int(value) <= limits.max:
            raise OverflowError(f"Python integer {int(value)} out of bounds for {dtype.name}")


def _constant(element: np.ndarray, weak: bool) -> Any:
    """An array of a host value that nobody else holds; where a program is recorded, a constant of it."""
    if host.evaluating() or element.dtype == dtypes.float0:
        return host.new(element, weak)
    aval = ShapedArray(element.shape, element.dtype, weak)
    recorder = current_recorder()
    if recorder is not None and not element.ndim:
        return recorder.constant(element.item() if weak else element)
    value = array_from_host(element, aval, fresh=True)
    return value if recorder is None else recorder.value(value)


def _from_numpy(value: np.ndarray, dtype: np.dtype | None) -> ArrayLike:
    if dtypes.float0 in (dtype, value.dtype):
        if dtype is None or dtype == dtypes.float0:
            return np.zeros(value.shape, dtypes.float0)
        value = np.zeros(value.shape, np.bool_)
    if dtype is None:
        dtype = typeof(value).dtype
    with np.errstate(all="ignore"):
        return _constant(np.array(value, dtype=dtype, order="C"), False)


def _numpy_of(value: Any) -> np.ndarray:
    """What NumPy makes of an object that is not an array: of a buffer, of a picture, of a sequence of a class of its own."""
    if hasattr(value, "aval"):  # a reference, which NumPy would read as a sequence
        raise _no_element(value)
    found = np.asarray(memoryview(value) if isinstance(value, bytearray) else value)
    if found.dtype.kind in "OSU":
        raise _no_element(value)
    return found


def _is_none(value: Any) -> bool:
    return value is None


def _nan_for_none() -> float:
    warn_user(
        "None encountered in jnp.array(); this is currently treated as NaN. In the future this will result in an error.",
        FutureWarning,
    )
    return np.nan


def _no_element(value: Any) -> TypeError:
    return TypeError(
        in_call(
            f"Unexpected input type for array: {type(value)}. Value '{shown(value, str)}' with dtype object is not a valid JAX array "
            "type. Only arrays of numeric types are supported."
        )
    )


def _leaf_dtype(leaves: Sequence[Any]) -> np.dtype:
    pairs = [dtypes.value_pair(leaf if is_arraylike(leaf) else _numpy_of(leaf)) for leaf in leaves]
    return dtypes.result_type_of(pairs)[0]


_FLAT = {int: np.dtype(np.int64), float: np.dtype(np.float64), bool: np.dtype(np.bool_)}


def _from_flat_numbers(value: Sequence[Any], dtype: np.dtype | None) -> Array | None:
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
    elif wide.kind == "f" and dtypes.is_integer(chosen):
        for number in value:
            _check_range(number, chosen)
    if wide.kind == "i" and chosen == np.uint64:
        wide = chosen
    elif wide.kind == "i" and not -(2**63) <= min(value) <= max(value) < 2**63:  # floats may hold them
        wide = _FLAT[float]
    with np.errstate(all="ignore"):
        return _constant(np.array(value, wide).astype(chosen), False)


def _is_element(value: Any) -> bool:
    """Whether a value in a sequence is an element of its own: scalars are, whatever their class is registered as."""
    return value is None or isinstance(value, np.generic)


def _from_sequence(value: Sequence[Any], dtype: np.dtype | None) -> ArrayLike:
    flat = _from_flat_numbers(value, dtype) if value else None
    if flat is not None:
        return flat
    leaves = tree_leaves(value, is_leaf=_is_element)
    if any(map(_is_none, leaves)):
        nan = _nan_for_none()
        return _from_sequence(tree_map(lambda leaf: nan if leaf is None else leaf, value, is_leaf=_is_none), dtype)
    if any(type(leaf) is range for leaf in leaves):
        return _from_sequence(tree_map(lambda leaf: list(leaf) if type(leaf) is range else leaf, value), dtype)
    if any(map(is_symbolic, leaves)):
        return _from_sequence(tree_map(lambda leaf: leaf.__jax_array__() if is_symbolic(leaf) else leaf, value), dtype)
    if not leaves:
        plain = np.array(value, dtype=np.float32)
        chosen = dtypes.canonicalize_dtype(np.float64) if dtype is None else dtype
        return _constant(plain.astype(chosen), False)
    if dtype is None:
        dtype = _leaf_dtype(leaves)
    if any(isinstance(leaf, Tracer) or _is_spread(leaf) for leaf in leaves) or isinstance(dtype, dtypes.ExtendedDType):
        return _stacked(value, dtype)
    plain = _host_values(value)
    if dtype == dtypes.float0:
        return np.zeros(np.array(plain).shape, dtypes.float0)
    if dtypes.is_integer(dtype) and all(type(leaf) in (bool, int, float) for leaf in leaves):
        for leaf in leaves:
            _check_range(leaf, dtype)
    if any(type(leaf) is complex for leaf in leaves):
        _check_complex(dtype)
    try:
        # NumPy's common type of small and huge integers is float64, which has not the bits of all
        whole = dtypes.is_integer(dtype) and dtype.itemsize == 8 and all(map(_is_whole, leaves))
        elements = np.array(plain, dtype if whole else None)
        if elements.dtype == object:  # integers that only floats hold
            elements = np.array(plain, np.complex128 if any(type(leaf) is complex for leaf in leaves) else np.float64)
        with np.errstate(all="ignore"):
            elements = elements.astype(dtype)
    except ValueError as error:
        raise ValueError(
            f"array: nested sequences must have equal lengths and elements equal shapes; {error}"
        ) from None
    return placed(_constant(elements, False), _sharding_of(leaves, elements.shape))


def _is_whole(leaf: Any) -> bool:
    """Whether a leaf is an integer, a bool or an array of these."""
    return type(leaf) in (bool, int) or getattr(getattr(leaf, "dtype", None), "kind", None) in ("b", "i", "u")


def _is_spread(leaf: Any) -> bool:
    """Whether a leaf is an array over several devices, which the host may not have."""
    return type(leaf) is ArrayImpl and leaf._sharding.num_devices > 1


def _host_values(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_host_values(item) for item in value]
    return np.asarray(value) if not isinstance(value, bool | int | float | complex) else value


def _stacked(value: ArrayLike | Sequence[Any], dtype: np.dtype) -> Array:
    """Nested sequences with tracers, or arrays over several devices: element by element."""
    if not isinstance(value, list | tuple):
        return convert(value if is_arraylike(value) else _from_object(value, None, False), dtype)
    parts = [_stacked(item, dtype) for item in value]
    if not parts:
        return filled_arrays.full((0,), 0, dtype)
    shape = typeof(parts[0]).shape
    for part in parts:
        if typeof(part).shape != shape:
            raise ValueError(
                f"array: elements of a sequence must have equal shapes, got {shape} and {typeof(part).shape}"
            )
    return concatenation.concatenate([shapes.expand_dims(part, (0,)) for part in parts], 0)
