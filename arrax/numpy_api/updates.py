"""Updates: ``x.at[index].set(y)`` and the other methods of ``at``, which return a new array (NumPy reference, ufunc.at)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.calls import in_call
from arrax.core.interpreter import context
from arrax.core.tracebacks import boundary
from arrax.core.types import slots, typeof
from arrax.dtypes.canonical import warn_user
from arrax.lax import selection, shapes
from arrax.lax.conversion import convert
from arrax.lax.gathers import GatherScatterMode
from arrax.native import runtime
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.elementwise import true_divide
from arrax.numpy_api.filled_arrays import ones
from arrax.numpy_api.index_application import READ_DEFAULT, Access, fill_scalar
from arrax.numpy_api.index_description import IndexDescription, describe
from arrax.numpy_api.index_writing import UPDATES, WRITE_DEFAULT, write, write_applied  # fmt: skip
from arrax.numpy_api.indexing import (
    NoHostKey,
    access_item,
    host_key,
    starts_as_operand,
    starts_from_operand,
)  # fmt: skip
from arrax.numpy_api.operands import is_arraylike
from arrax.numpy_api.powers import power
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

ArrayImpl = runtime.ArrayImpl

# ---- values ---------------------------------------------------------------------------------------------------------

_EXACT_INTO = {bool: "biufc", int: "iufc", float: "fc", complex: "c"}  # kinds that take a Python number without loss


def _warn_of_loss(source: np.dtype, target: np.dtype) -> None:
    warn_user(
        "scatter inputs have incompatible types: cannot safely cast value from "
        f"dtype={getattr(source, 'name', source)} to dtype={target.name} with "
        f"jax_numpy_dtype_promotion={config.numpy_dtype_promotion.cell.value}. In a later version this will be an error.",
        FutureWarning,
    )


def _check_cast(value: ArrayLike, array: Array) -> None:
    """Warn where a value's dtype would be promoted to another than the array's."""
    own = typeof(value).dtype
    if own == dtypes.float0:
        raise TypeError(in_call("float0, the dtype of tangents of integers, has no values to write", value))
    if _common_dtype(value, array) != typeof(array).dtype:
        _warn_of_loss(own, typeof(array).dtype)


def _common_dtype(value: ArrayLike, array: Array) -> np.dtype:
    """The dtype that a value and the elements of an array are combined in."""
    aval = typeof(array)
    if getattr(value, "dtype", None) == aval.dtype or isinstance(aval.dtype, dtypes.ExtendedDType):
        return aval.dtype
    return dtypes.result_type_of([(aval.dtype, aval.weak_type), dtypes.value_pair(value)])[0]


def update_value(array: Array, value: Any) -> ArrayLike:
    """A value to write to an array: Python numbers become constants of its dtype; others are checked and stay.

    Raises:
      TypeError: a value that is not an array.
    """
    kind = type(value)
    if kind is ArrayImpl and value.aval.dtype == array.aval.dtype:
        return value
    dtype = typeof(array).dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        return value
    if not is_arraylike(value):
        if value is None:
            raise TypeError("None cannot be written to an array")
        value = asarray(value)
        kind = type(value)
    elif hasattr(value, "__jax_array__") and kind is not ArrayImpl and not hasattr(value, "interpreter"):
        value = value.__jax_array__()
    if kind in _EXACT_INTO:
        if kind is int and dtype.kind in "iu" and not dtypes.iinfo(dtype).min <= value <= dtypes.iinfo(dtype).max:
            typeof(value)  # wraps, unless it is beyond the default dtype
        if dtype.kind in _EXACT_INTO[kind] or (dtypes.is_float(dtype) and kind is not complex):
            with np.errstate(all="ignore"):
                return np.asarray(value).astype(dtype)[()]
        typeof(value)  # ints beyond the default dtype are refused
    _check_cast(value, array)
    return value


# ---- the host route -------------------------------------------------------------------------------------------------

_INTEGER_UPDATES: dict[str, np.ufunc] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip
_FLOAT_UPDATES: dict[str, np.ufunc] = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}
_MAX_WINDOW = 1 << 12


def _host_value(value: Any, dtype: np.dtype, array: Any) -> np.ndarray | None:
    """A value of the array's dtype as NumPy takes it, or None."""
    if type(value) is ArrayImpl:
        placed = not value._committed or (array._committed and value._sharding == array._sharding)
        return host.view(value) if placed and value.aval.dtype == dtype and host.on_host(value) else None
    return np.asarray(value) if isinstance(value, np.generic | np.ndarray) and value.dtype == dtype else None


def _has_subnormal(values: np.ndarray) -> bool:
    """True where compiled code, which takes such numbers for zero, could differ."""
    smallest = np.finfo(values.dtype).tiny
    if values.size == 1:
        return 0 < abs(values.item()) < smallest
    magnitudes = np.abs(values)
    return bool(((magnitudes < smallest) & (magnitudes > 0)).any())


def _combined_floats(target: np.ndarray, new: np.ndarray, ufunc: np.ufunc) -> bool:
    """Update a window of floats in place; False where compiled code would give other numbers."""
    if target.size > _MAX_WINDOW or _has_subnormal(target) or _has_subnormal(new):
        return False
    with np.errstate(all="ignore"):
        ufunc(target, new, out=target)
    return not _has_subnormal(target)


def _write_by_numpy(out: np.ndarray, key: tuple[Any, ...], basic: bool, new: np.ndarray, operation: str) -> bool:
    """Update ``out``; False where NumPy would not do what compiled code does."""
    target = out[key]
    if new.ndim > target.ndim:
        return False
    if operation == "set":
        out[key] = new
        return True
    kind = out.dtype.kind
    if kind == "f" and out.dtype.itemsize >= 4 and basic and operation in _FLOAT_UPDATES:
        return _combined_floats(target, new, _FLOAT_UPDATES[operation])
    ufunc = _INTEGER_UPDATES.get(operation) if kind in "iu" else None
    if ufunc is None:
        return False
    if basic:
        ufunc(target, new, out=target)
    else:
        ufunc.at(out, key, new)
    return True


def _write_on_host(array: Array, index: ArrayLike | Sequence[Any], value: ArrayLike, operation: str) -> Array | None:
    """The updated array by NumPy; None where the route is closed."""
    aval = array.aval
    if not host.on_host(array) and not (operation == "set" and _is_mask(index) and host.on_cpu(array)):
        return None
    new = _host_value(value, aval.dtype, array)
    if new is None:
        return None
    try:
        key, basic = host_key(index, array)
        out = host.view(array).copy()
        if not _write_by_numpy(out, key, basic, new, operation):
            return None
    except (NoHostKey, IndexError, ValueError, TypeError):
        return None  # the other route says what is wrong, if anything is
    return host.back(out, array, fresh=True)


def _is_mask(index: ArrayLike | Sequence[Any]) -> bool:
    return isinstance(index, ArrayImpl | np.ndarray) and index.dtype == np.bool_


# ---- the compiled route ---------------------------------------------------------------------------------------------


@api(static=("description", "operation", "access"))
def _write_compiled(
    x: ArrayLike,
    starts: ArrayLike,
    operands: tuple[Any, ...],
    value: ArrayLike,
    description: IndexDescription,
    operation: str,
    access: Access,
) -> Array:
    firsts = starts_from_operand(starts, description, typeof(x).shape)
    new = convert(value, typeof(x).dtype)
    return write(x, description, firsts, operands, new, operation, access)


@api(static=("operation",))
def _write_masked(x: Any, mask: Any, value: Any, operation: str) -> Any:
    """A scalar written where a mask holds."""
    shape, dtype = typeof(x).shape, typeof(x).dtype
    new = shapes.broadcast_in_dim(convert(value, dtype), shape, ())
    combine = UPDATES[operation].combine
    new = new if combine is None else combine(x, new)
    return selection.select(shapes.broadcast_in_dim(mask, shape, range(typeof(mask).ndim)), new, x)


def rewriting_update(array: ArrayLike, index: Any, value: Any, operation: str, access: Access) -> Array:
    """``array`` with ``array[index]`` updated, by the index's description."""
    aval = typeof(array)
    eager = context.interpreter.is_evaluation and type(array) is ArrayImpl
    if _is_mask(index) and index.shape == aval.shape[: index.ndim] and index.ndim and typeof(value).shape == ():
        out = _write_masked(array, index, value, operation)
    else:
        found = describe(index, aval.shape, access.wrap)
        if eager:
            starts = starts_as_operand(found, aval.shape)
            out = _write_compiled(array, starts, found.operands, value, found.description, operation, access)
        else:
            new = value if isinstance(aval.dtype, dtypes.ExtendedDType) else convert(value, aval.dtype)
            out = write(array, *found, new, operation, access)
    return convert(out, aval.dtype, True) if aval.weak_type else out


def update_item(array: Array, index: Any, value: ArrayLike, operation: str, access: Access = WRITE_DEFAULT) -> Array:
    """``array`` with ``array[index]`` updated.

    Args:
      array: array or tracer.
      index: ints, slices, ``...``, None, integer or bool arrays, or a tuple of them.
      value: array or number, broadcast to the indexed shape.
      operation: ``"set"``, ``"add"``, ``"subtract"``, ``"multiply"``, ``"min"`` or ``"max"``.
      access: what happens out of bounds, and promises about the index.
    """
    value = update_value(array, value)
    if operation == "set" and isinstance(kept := typeof(array).dtype, dtypes.ExtendedDType):
        _check_same(kept, typeof(value).dtype)
    if operation != "set" and (common := _common_dtype(value, array)) != typeof(array).dtype:
        wide = update_item(convert(array, common), index, convert(value, common), operation, access)
        return convert(wide, typeof(array).dtype, typeof(array).weak_type)
    if type(array) is ArrayImpl and access.wrap and context.interpreter.is_evaluation:
        found = _write_on_host(array, index, value, operation)
        if found is not None:
            return found
    return rewriting_update(array, index, value, operation, access)


def _check_same(kept: Any, given: Any) -> None:
    """Raise TypeError where something else would be written among keys; promotion refuses keys among numbers."""
    if kept != given:
        raise TypeError(in_call(f"values of dtype {given} do not go into an array of dtype {kept}"))


# ---- x.at -----------------------------------------------------------------------------------------------------------


class IndexUpdater:
    """``x.at``: takes an index; see ``IndexUpdate`` for what can be done there.

    Example: ``x.at[0].set(1.)`` is a new array with another first entry.
    """

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdate:
        return IndexUpdate(self.array, index)

    @boundary
    def __getattr__(self, name: str) -> Any:
        advice = f": an index comes first, as in x.at[0].{name}(...)" if hasattr(IndexUpdate, name) else ""
        raise AttributeError(f"'IndexUpdater' object has no attribute {name!r}{advice}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"IndexUpdater({self.array!r})"


def _access(default: Access, mode: Any, indices_are_sorted: bool, unique_indices: bool, wrap: bool) -> Access:
    """The access for a method's arguments; the default one where they are."""
    if mode is None and wrap and not indices_are_sorted and not unique_indices:
        return default
    parsed = default.mode if mode is None else GatherScatterMode.from_any(mode)
    return Access(parsed, None, bool(indices_are_sorted), bool(unique_indices), bool(wrap))


_ARITHMETIC = ("add", "subtract", "multiply")


def _update_method(
    operation: str, doc: str, finish: Callable[[Any, Any], Any] | None = None, name: str | None = None
) -> Any:
    """A method of ``IndexUpdate``.

    Args:
      operation: a name in ``UPDATES``.
      finish: ``f(array, factors)`` for methods that first multiply ones by the values.
      name: of the method, where it is not the operation.
    """

    def method(
        self: IndexUpdate,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
        out_sharding: OptionalSharding = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        access = _access(WRITE_DEFAULT, mode, indices_are_sorted, unique_indices, wrap_negative_indices)
        array = self.array
        if out_sharding is not None:
            update = functools.partial(
                _update_method(operation, doc, finish), mode=mode, wrap_negative_indices=wrap_negative_indices
            )
            return slots.as_asked(out_sharding, lambda x, y: update(IndexUpdate(x, self.index), y), array, values)
        if operation in _ARITHMETIC and typeof(array).dtype == np.bool_:  # bools are computed with as integers
            array = convert(array, np.int32)
        if finish is not None:
            aval = typeof(array)
            neutral = convert(ones(aval.shape, aval.dtype), aval.dtype, aval.weak_type)
            return finish(array, update_item(neutral, self.index, values, operation, access))
        if array is self.array:
            return update_item(array, self.index, values, operation, access)
        if typeof(values).dtype != np.bool_:
            _warn_of_loss(typeof(values).dtype, np.dtype(np.bool_))
        return convert(update_item(array, self.index, convert(values, np.int32), operation, access), np.bool_)

    method.__doc__ = f"{doc} See ``IndexUpdate`` for the arguments."
    method.__name__ = name or operation
    method.__qualname__ = f"IndexUpdate.{method.__name__}"
    method.__code__ = method.__code__.replace(co_name=method.__name__)  # by which messages call it
    return boundary(method)


class IndexUpdate:
    """``x.at[index]``: reads, and updates that return a new array.

    Attributes:
      array: the array. index: the index, with all of NumPy's forms.

    Methods that update take ``values``, which are broadcast to the shape of ``x[index]``. Entries are combined with them in
    the dtype that both promote to; the result has that of ``x``. All methods take these keyword arguments.

    Args:
      indices_are_sorted, unique_indices: promises about integer arrays in the index.
      mode: what happens out of bounds, see ``lax.GatherScatterMode``: ``"clip"``, ``"fill"`` or ``"drop"``, or
        ``"promise_in_bounds"``. By default reads are moved inside and updates are left out.
      wrap_negative_indices: whether negative integers count from the end.
    Raises:
      ValueError: values whose shape doesn't fit, an unknown mode.
      TypePromotionError: values of a dtype that has none in common with that of ``x``.
    Example: ``x.at[jnp.array([0, 0])].add(1)`` adds twice to the first entry.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index: Any):
        self.array, self.index = array, index

    def __repr__(self) -> str:
        return f"IndexUpdate({self.array!r}, {self.index!r})"

    @boundary
    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """``x[index]`` with other rules out of bounds: ``mode="fill"`` fills with ``fill_value``, by default NaN, the
        least signed or greatest unsigned number, or True."""
        access = _access(READ_DEFAULT, mode, indices_are_sorted, unique_indices, wrap_negative_indices)
        if out_sharding is not None:
            given = {"mode": mode, "fill_value": fill_value, "wrap_negative_indices": wrap_negative_indices}
            return slots.as_asked(out_sharding, lambda array: IndexUpdate(array, self.index).get(**given), self.array)
        if fill_value is not None:
            access = access._replace(fill_value=fill_scalar(fill_value))
        return access_item(self.array, self.index, access)

    @boundary
    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """``x[index] = func(x[index])``, repeatedly where an entry is indexed repeatedly; ``func`` takes a scalar."""
        access = _access(WRITE_DEFAULT, mode, indices_are_sorted, unique_indices, wrap_negative_indices)
        found = describe(self.index, typeof(self.array).shape, access.wrap)
        return write_applied(self.array, *found, func, access)

    # fmt: off
    set      = _update_method("set",      "``x[index] = values``.")
    add      = _update_method("add",      "``x[index] += values``, repeatedly where an entry is indexed repeatedly.")
    subtract = _update_method("subtract", "``x[index] -= values``, repeatedly where an entry is indexed repeatedly.")
    multiply = _update_method("multiply", "``x[index] *= values``, repeatedly where an entry is indexed repeatedly.")
    divide   = _update_method("multiply", "``x[index] /= values``, repeatedly; integers give floats.", true_divide, "divide")
    power    = _update_method("multiply", "``x[index] **= values``, repeatedly where indexed repeatedly.", power, "power")
    min      = _update_method("min",      "``x[index] = minimum(x[index], values)``.")
    max      = _update_method("max",      "``x[index] = maximum(x[index], values)``.")
    # fmt: on
    mul = multiply
