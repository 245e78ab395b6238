"""References to mutable arrays: their type, their effects, and what all classes of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from arrax import dtypes
from arrax.core.effects import Effect
from arrax.core.program import Var
from arrax.core.tracebacks import bound_methods, boundary
from arrax.core.types import AbstractValue, ShapedArray, typeof

if TYPE_CHECKING:
    from arrax.core.function_info import FunctionInfo
    from arrax.experimental.pallas.block_specs import MemorySpace
    from arrax.numpy_api.references import TransformedRef


class AbstractRef(AbstractValue):
    """The type of references.

    Args:
      inner_aval: the type of the array that the reference holds.
      memory_space: where the array is, or None.
      kind: what the user called it, or None.
    Example: ``arrax.typeof(arrax.new_ref(x)).inner_aval == arrax.typeof(x)`` is True.
    """

    __slots__ = ("inner_aval", "memory_space", "kind")

    def __init__(
        self, inner_aval: ShapedArray, memory_space: MemorySpace | None = None, kind: str | None = None
    ) -> None:
        self.inner_aval, self.memory_space, self.kind = inner_aval, memory_space, kind

    shape = property(lambda self: self.inner_aval.shape, doc="Tuple of lengths of the array.")
    dtype = property(lambda self: self.inner_aval.dtype, doc="The array's dtype.")
    ndim = property(lambda self: self.inner_aval.ndim, doc="Number of dimensions of the array.")
    size = property(lambda self: self.inner_aval.size, doc="Number of elements of the array.")
    vma = property(lambda self: self.inner_aval.vma, doc="The mesh axes over which the array varies.")
    sharding = property(lambda self: self.inner_aval.sharding, doc="How axes of a mesh divide the array.")

    @property
    def weak_type(self) -> NoReturn:
        """Not there: operations on arrays ask for it, and a reference is no operand of them."""
        raise TypeError(f"{self!r} is no array: read it first, with ref[...]")

    def update(self, inner_aval: ShapedArray | None = None, **changes: Any) -> AbstractRef:
        """The type with changes to that of its array."""
        return AbstractRef((inner_aval or self.inner_aval).update(**changes), self.memory_space, self.kind)

    def strip_weak_type(self) -> AbstractRef:
        """The type of a reference to an array of no weak type."""
        return self.update(self.inner_aval.strip_weak_type())

    def to_tangent_aval(self) -> ShapedArray:
        """References have no tangents but those that stand beside them: ``float0``."""
        return ShapedArray(self.shape, dtypes.float0)

    to_cotangent_aval = at_least_vspace = to_tangent_aval

    def str_short(self, short_dtypes: bool = False) -> str:
        """``Ref{f32[3]}``, or ``Ref{float32[3]}``."""
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __repr__(self) -> str:
        return self.str_short(False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and (
            (self.inner_aval, self.memory_space, self.kind) == (other.inner_aval, other.memory_space, other.kind)
        )

    def __hash__(self) -> int:
        return hash((AbstractRef, self.inner_aval, self.kind))

    def __len__(self) -> int:
        return len(self.inner_aval)


class RefEffect(Effect):
    """An effect on the reference that a variable of the program stands for."""

    __slots__ = ("variable",)

    def __init__(self, variable: Var) -> None:
        super().__init__()
        self.variable = variable

    def __repr__(self) -> str:
        return f"{self.name}({self.variable!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.variable is other.variable

    def __hash__(self) -> int:
        return hash((type(self), self.variable))


class ReadEffect(RefEffect):
    """The array of a reference is read."""

    __slots__ = ()


class WriteEffect(RefEffect):
    """The array of a reference is changed."""

    __slots__ = ()


class AccumEffect(RefEffect):
    """Something is added to the array of a reference."""

    __slots__ = ()


class Access:
    """How references are read and written: filled by ``arrax.numpy_api.references``, which knows indices."""

    __slots__ = ("get", "set", "addupdate", "view", "reshaped", "shown")
    get: Callable[[Any, Any], Any]
    set: Callable[[Any, Any, Any], None]
    addupdate: Callable[[Any, Any, Any], None]
    view: Callable[[Any, Any], Any]
    reshaped: Callable[[Any, Any], Any]
    shown: Callable[[Any], str]


access = Access()


@bound_methods
class _Views:
    """``ref.at``."""

    __slots__ = ("_ref",)

    def __init__(self, ref: Any) -> None:
        self._ref = ref

    def __getitem__(self, index: Any) -> TransformedRef:
        return access.view(self._ref, index)


@bound_methods
class Ref:
    """A reference to an array that can be changed: ``ref[...]`` reads it, ``ref[...] = value`` writes it.

    ``new_ref`` makes one. In functions that are traced it is a tracer of this class, too.

    Example: ``ref = arrax.new_ref(jnp.zeros(3)); ref[1] = 5.; ref[...]`` is ``[0, 5, 0]``.
    """

    __slots__ = ()
    aval: AbstractRef
    shape: tuple[int, ...] = property(lambda self: self.aval.shape, doc="Tuple of lengths.")  # type: ignore[assignment]
    dtype: Any = property(lambda self: self.aval.dtype, doc="The elements' dtype.")
    ndim: int = property(lambda self: self.aval.ndim, doc="Number of dimensions.")  # type: ignore[assignment]
    size: int = property(lambda self: self.aval.size, doc="Number of elements.")  # type: ignore[assignment]
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__: Any = object.__hash__

    def __getitem__(self, index: Any) -> Any:
        return access.get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        access.set(self, index, value)

    def get(self, index: Any = ...) -> Any:
        """``ref[index]``."""
        return access.get(self, index)

    def set(self, value: Any, index: Any = ...) -> None:
        """``ref[index] = value``."""
        access.set(self, index, value)

    def addupdate(self, value: Any, index: Any = ...) -> None:
        """``ref[index] += value``, repeatedly where an entry is indexed repeatedly."""
        access.addupdate(self, index, value)

    @property
    def at(self) -> _Views:
        """``ref.at[index]``: a view of a part, which reads and writes the reference itself."""
        return _Views(self)

    @boundary
    def reshape(self, *shape: Any) -> TransformedRef:
        """A view of another shape, which reads and writes the reference itself.

        Args:
          *shape: lengths, one of which may be -1, or one tuple of them.
        Raises:
          TypeError: another number of elements.
        Example: ``arrax.new_ref(jnp.arange(4)).reshape(2, 2)[1]`` is ``[2, 3]``.
        """
        return access.reshaped(self, shape)

    @boundary
    def __len__(self) -> int:
        return len(self.aval)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return access.shown(self)

    __str__ = __repr__


def is_ref(value: Any) -> bool:
    """Whether a value is a reference."""
    return isinstance(value, Ref)


def ref_indices(avals: Sequence[Any]) -> list[int]:
    """Which of some types are those of references."""
    return [number for number, aval in enumerate(avals) if type(aval) is AbstractRef]


def holds_refs(values: Sequence[Any]) -> bool:
    """Whether a reference is among some values."""
    return any(isinstance(value, Ref) for value in values)


def refuse_returned(outputs: Sequence[Any], info: FunctionInfo | None) -> None:
    """Raise ValueError where a reference is among the results of a traced function."""
    for value in outputs:
        aval = getattr(value, "aval", None)
        if type(aval) is AbstractRef:
            described = (
                "the function" if info is None else f"function {info.describe()} traced for {info.transformation}"
            )
            raise ValueError(
                f"{described} returned a mutable array reference of type {aval!r}, but mutable array references cannot be "
                "returned: return what it holds, ref[...] or freeze(ref)"
            )


def refuse_aliases(values: Sequence[Any], where: str, names: Callable[[], Sequence[str]] = tuple) -> None:
    """Raise ValueError where one reference is two operands: what is written to one would have to be read from the other.

    Args:
      names: gives the names of the first operands, for the message.
    """
    seen: dict[Any, int] = {}
    for number, value in enumerate(values):
        if not isinstance(value, Ref):
            continue
        own = getattr(value, "variable", value)
        if own in seen:
            known = [*names(), *(f"operand {n}" for n in range(len(names()), number + 1))]
            raise ValueError(
                f"only one reference to a mutable array may be passed to {where}, but that of type {typeof(value)!r} is "
                f"there twice: as {known[seen[own]]} and as {known[number]} (closed-over references count, too)"
            )
        seen[own] = number
