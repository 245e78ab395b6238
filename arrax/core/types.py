"""Types of values: ShapedArray, the types of Python and NumPy values, and the symbolic zero."""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import in_call
from arrax.core.lengths import is_symbolic
from arrax.core.memory_spaces import MemorySpace, memories_in_types
from arrax.core.meshes import mesh_state
from arrax.core.partition_specs import PartitionSpec, entry_names
from arrax.dtypes.kinds import tangent_dtype
from arrax.dtypes.wording import shown
from arrax.native import runtime

if TYPE_CHECKING:
    from arrax.core.meshes import AbstractMesh


class AbstractValue:
    """The base of all types of values.

    Example: ``isinstance(arrax.typeof(x), arrax.core.AbstractValue)`` is True.
    """

    __slots__ = ("__weakref__",)
    explicit: Any = None

    def str_short(self, short_dtypes: bool = False) -> str:
        """How programs print the type."""
        return type(self).__name__

    def lo_ty(self) -> list[Any]:
        """The types of what programs hold of a value: of an array, it itself. Types of a library's own have other rules."""
        return [self]

    def lower_val(self, value: Any) -> list[Any]:
        """What programs hold of a value."""
        return [value]

    def raise_val(self, value: Any) -> Any:
        """The value of what programs hold of it."""
        return value


_interned: dict[tuple[Any, ...], ShapedArray] = {}
_NO_AXES: frozenset[Any] = frozenset()
_DEVICE = MemorySpace.Device
_MAX_INTERNED = 1 << 17


def _lengths(shape: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(size if is_symbolic(size) else operator.index(size) for size in shape)
    except TypeError:
        pass  # nothing to iterate over: one length
    try:
        return (operator.index(shape),)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"ShapedArray: shape must be a sequence of integers, got {shape!r}") from None


class ShapedArray(AbstractValue):
    """The type of an array: shape, dtype, and whether the dtype is weak. Interned: equal types are one object.

    Args:
      shape: tuple of ints, or one int.
      dtype: NumPy dtype or extended dtype.
      weak_type: True for values whose dtype came from a Python scalar.
      sharding: how explicit axes of a mesh divide the value (``core.explicit_axes.explicit_sharding``), or None.
      vma: names of the mesh axes over which the value varies, in a program per device that tracks them.
      memory_space: whether the value lies in the memory of its device or of the host.
      named_shape: accepted for older programs; types do not have the lengths of axes with names.
    Example: ``arrax.core.ShapedArray((4,), jnp.float32) == arrax.typeof(x)`` is True.
    """

    __slots__ = ("shape", "dtype", "weak_type", "explicit", "vma", "memory_space", "size", "ndim", "_hash", "_tangent")
    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    size: int
    ndim: int
    explicit: Any
    vma: frozenset[Any]
    memory_space: MemorySpace
    _hash: int
    _tangent: ShapedArray | None

    def __new__(
        cls,
        shape: Sequence[int],
        dtype: Any,
        weak_type: bool = False,
        sharding: runtime.Sharding | None = None,
        vma: frozenset[Any] = _NO_AXES,
        memory_space: MemorySpace = _DEVICE,
        *,
        named_shape: Mapping[Any, int] | None = None,
    ) -> ShapedArray:
        key = (shape, dtype, weak_type, sharding, vma, memory_space)
        try:
            return _interned[key]
        except (KeyError, TypeError):
            pass
        if not isinstance(dtype, np.dtype | dtypes.ExtendedDType):
            dtype = dtypes.to_dtype(dtype)
        shape, weak_type = _lengths(shape), bool(weak_type)
        if sharding is not None and sharding == _undivided(sharding.mesh, len(shape)):
            sharding = None
        if memory_space is not _DEVICE:
            memories_in_types.other_than_device = True
        key = (shape, dtype, weak_type, sharding, vma, memory_space)
        found = _interned.get(key)
        if found is None:
            if len(_interned) >= _MAX_INTERNED:
                _interned.clear()
            found = object.__new__(cls)
            found.shape, found.dtype, found.weak_type, found.explicit, found.vma, found.memory_space = key
            found._hash, found._tangent = hash(key), None
            found.ndim, found.size = len(shape), math.prod(shape)
            _interned[key] = found
        return found

    def update(self, **changes: Any) -> ShapedArray:
        """The type with some of its fields replaced; with another shape it says no longer how the value is divided."""
        names = ("shape", "dtype", "weak_type", "vma", "memory_space")
        sharding = None if "shape" in changes else self.explicit
        return ShapedArray(**{**{name: getattr(self, name) for name in names}, "sharding": sharding, **changes})

    @property
    def sharding(self) -> Any:
        """How axes of the mesh in force divide the value, as a sharding over a mesh without devices."""
        if self.explicit is not None:
            return self.explicit
        return _undivided(mesh_state().abstract, self.ndim)

    @property
    def named_shape(self) -> dict[Any, int]:
        """The lengths of axes with names, of which types tell none: empty. For rules of older programs."""
        return {}

    @property
    def divided(self) -> tuple[tuple[Any, ...], ...]:
        """For each axis, the explicit axes of the mesh that divide it."""
        return (((),) * self.ndim) if self.explicit is None else tuple(map(entry_names, self.explicit.spec))

    def strip_weak_type(self) -> ShapedArray:
        """The same type, no longer weak."""
        return self.update(weak_type=False) if self.weak_type else self

    def to_tangent_aval(self) -> ShapedArray:
        """The type of tangents: itself for inexact dtypes, ``float0`` otherwise."""
        if self._tangent is None:
            dtype = tangent_dtype(self.dtype)
            self._tangent = self if dtype == self.dtype else ShapedArray(self.shape, dtype)
        return self._tangent

    at_least_vspace = to_tangent_aval
    to_cotangent_aval = to_tangent_aval

    def str_short(self, short_dtypes: bool = False) -> str:
        """``float32[2,3]``, or ``f32[2,3]``."""
        if self.dtype == dtypes.float0:
            name = "float0"  # which NumPy calls void
        else:
            name = dtypes.short_name(self.dtype) if short_dtypes else str(getattr(self.dtype, "name", self.dtype))
        name = name if self.memory_space is _DEVICE else f"{name}<{self.memory_space.name.lower()}>"
        varies = f"{{V:{_names_text(sorted(map(str, self.vma)))}}}" if self.vma else ""
        if self.explicit is None:
            return f"{name}[{','.join(map(str, self.shape))}]{varies}"
        lengths = zip(self.shape, self.divided, strict=True)
        return f"{name}[{','.join(f'{n}@{_names_text(axes)}' if axes else str(n) for n, axes in lengths)}]{varies}"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, ShapedArray) and (
            (self.shape, self.dtype, self.weak_type, self.explicit, self.vma, self.memory_space)
            == (other.shape, other.dtype, other.weak_type, other.explicit, other.vma, other.memory_space)
        )

    def __hash__(self) -> int:
        return self._hash

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __str__(self) -> str:
        return f"{'~' * self.weak_type}{self.str_short()}"

    def __repr__(self) -> str:
        return f"ShapedArray({self.str_short()}{', weak_type=True' if self.weak_type else ''})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)


@functools.lru_cache(256)
def _undivided(mesh: AbstractMesh, ndim: int) -> runtime.Sharding:
    """The sharding of types of a rank that no axis of a mesh divides."""
    return runtime.NamedSharding(mesh, PartitionSpec(*(None,) * ndim))


def _names_text(names: Sequence[Any]) -> str:
    return str(names[0]) if len(names) == 1 else f"({','.join(map(str, names))})"


def joined_varying(avals: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Types, varying over the mesh axes of other types, too."""
    return [
        aval.update(vma=aval.vma | other.vma) if isinstance(aval, ShapedArray) and other.vma - aval.vma else aval
        for aval, other in zip(avals, others, strict=True)
    ]


class AbstractToken(AbstractValue):
    """The type of tokens, which order effects.

    Example: ``program = make_jaxpr(lambda: lax.create_token())(); type(program.out_avals[0]).__name__`` is ``'AbstractToken'``.
    """

    __slots__ = ()

    def to_tangent_aval(self) -> AbstractToken:
        """Tokens have no tangent: themselves."""
        return self

    def str_short(self, short_dtypes: bool = False) -> str:
        """How programs print the type."""
        return "Tok"

    __repr__ = str_short


abstract_token = AbstractToken()


class Zero:
    """A tangent or cotangent that is known to be zero, without an array."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    @staticmethod
    def of(value: Any) -> Zero:
        """The zero tangent of a value."""
        return Zero(typeof(value).to_tangent_aval())

    from_primal_value = of

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short(True) if isinstance(self.aval, AbstractValue) else self.aval})"


class TypeSlots:
    """What interpreters need of arrays but must not import: filled by ``lax`` (see lax/type_slots.py)."""

    __slots__ = ("zeros", "add", "broadcast", "move_axis", "full_like", "convert", "vary", "sum_over", "as_asked", "like", "laid_out", "in_memory_of")  # fmt: skip
    zeros: Callable[[ShapedArray], Any]  # an array of zeros of a type
    add: Callable[[Any, Any], Any]  # sum of two cotangents
    broadcast: Callable[[Any, int, int], Any]  # (value, size, axis): a new axis along which the value repeats
    move_axis: Callable[[Any, int, int], Any]  # (value, from, to)
    vary: Callable[[Any, frozenset[Any]], Any]  # the value, declared to vary over mesh axes
    sum_over: Callable[[Any, frozenset[Any]], Any]  # the sum of a cotangent over mesh axes
    # (sharding, function, *arrays): what the function gives, laid out so, whatever the arrays' types say
    as_asked: Callable[..., Any]
    in_memory_of: Callable[[Any, ShapedArray], Any]  # the value, in the space of memory that a type says
    like: Callable[[Any, ShapedArray], Any]  # a cotangent, divided by explicit mesh axes like the value of a type
    laid_out: Callable[[Any, Any], Any]  # the value, divided by explicit mesh axes as a sharding says
    convert: Callable[[Any, ShapedArray], Any]  # the value with the weak type (and dtype) of a type


slots = TypeSlots()


def instantiate(tangent: Any) -> Any:
    """An array for a tangent that may be symbolic."""
    return slots.zeros(tangent.aval) if type(tangent) is Zero else tangent


_SCALARS: dict[type, type] = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}
pytype_aval_mappings: dict[type, Callable[[Any], Any]] = {}
"""For each class of values that primitives accept, a function from a value to its type."""


def register_type(cls: type, type_of: Callable[[Any], AbstractValue]) -> None:
    """Make values of class ``cls`` operands of primitives."""
    pytype_aval_mappings[cls] = type_of


def _python_scalar(cls: type) -> Callable[[Any], ShapedArray]:
    wide = np.dtype(_SCALARS[cls])

    def type_of(value: Any) -> ShapedArray:
        return ShapedArray((), dtypes.canonicalize_dtype(wide), cls is not bool)

    return type_of


def _python_int(value: int) -> ShapedArray:
    dtype = dtypes.canonicalize_dtype(np.dtype(np.int64))
    bits = 64 if dtype.itemsize == 8 else 32
    if not -(1 << (bits - 1)) <= value < (1 << (bits - 1)):
        raise OverflowError(in_call(f"Python int {value} too large to convert to {dtype.name}", value))
    return ShapedArray((), dtype, True)


_EXTENDED = (np.longdouble, np.clongdouble) if np.dtype("g").itemsize > 8 else ()  # wider than what compilers have


def _numpy_value(value: Any) -> ShapedArray:
    dtype = value.dtype
    if dtype == dtypes.float0:
        return ShapedArray(value.shape, dtype)
    if dtype.kind in "OSUMm" or dtype.type in _EXTENDED or (dtype.kind == "V" and dtype not in dtypes.known_dtypes):
        raise TypeError(
            in_call(
                f"Cannot interpret value of type {type(value)} as an abstract array; dtype {dtype} is not supported",
                value,
            )
        )
    return ShapedArray(value.shape, dtypes.canonicalize_dtype(dtype))


def refuse_masked(value: Any) -> None:
    """Raise ValueError for a masked array of NumPy: nothing here would look at its mask."""
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)  # another thread may be loading it
    if masked is not None and isinstance(value, masked):
        raise ValueError(in_call("a masked array of NumPy is no array here: give its elements, value.filled()", value))


def elements_of(value: Any) -> np.ndarray:
    """The elements of a value that has a type, on the host.

    Raises:
      TypeError: it only describes an array, as a ``ShapeDtypeStruct`` does.
    """
    elements = np.asarray(value)
    if elements.dtype.kind == "O" and hasattr(value, "shape"):
        raise TypeError(f"{value!r} only describes an array: it has no elements that a program could use or return")
    return elements


for _cls in (bool, float, complex):
    register_type(_cls, _python_scalar(_cls))
register_type(int, _python_int)
register_type(np.ndarray, _numpy_value)
register_type(runtime.ArrayImpl, lambda array: array.aval)


def typeof(value: Any) -> Any:
    """The type of any value that primitives accept.

    Raises:
      TypeError: the value is not an array, a number or a tracer.
    """
    found = pytype_aval_mappings.get(type(value))
    if found is not None:
        return found(value)
    aval = getattr(value, "aval", None)
    if isinstance(aval, AbstractValue):
        return aval
    if isinstance(value, np.ndarray | np.generic):
        refuse_masked(value)
        return _numpy_value(value)
    for cls, type_of in pytype_aval_mappings.items():
        if isinstance(value, cls):
            return type_of(value)
    if hasattr(value, "__jax_array__"):
        return typeof(value.__jax_array__())
    own = high_classes.get(type(value))
    if own is not None:
        return own(value)
    raise TypeError(in_call(f"Value {shown(value)} of type {type(value)} is not a valid array type", value))


high_classes: dict[type, Callable[[Any], Any]] = {}  # classes of a library's own types (interpreters/high_types)


def type_of_any(value: Any) -> Any:
    """The type of a value, a library's own type included, where ``typeof`` gives that of the array that the value stands for."""
    own = high_classes.get(type(value))
    return typeof(value) if own is None else own(value)


def is_arraylike(value: Any) -> bool:
    """True for values that primitives accept.

    Example: ``arrax.core.is_arraylike(x) and not arrax.core.is_arraylike("text")``.
    """
    try:
        typeof(value)
    except (TypeError, OverflowError):
        return False
    return True
