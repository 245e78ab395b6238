"""References as interpreters see them: each holds values of one interpreter, which alone reads and writes it directly.

Where a program is recorded, reading and writing are recorded, too. Every other interpreter keeps the array that a reference
holds as a value of its own, so that derivatives and batch axes need no rules of references: a reference that a function
makes holds whatever was written to it, with its tangent or its batch axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax.core import errors
from arrax.core.interpreter import Context, Interpreter, Primitive, Tracer, context, current
from arrax.core.references import AbstractRef, Ref
from arrax.core.types import Zero, instantiate, slots, typeof
from arrax.interpreters.ad.forward import JVP, JVPTracer
from arrax.interpreters.batching import Batch, move_batch_axis
from arrax.interpreters.staging import StagedTracer, tracer_classes
from arrax.native import runtime
from arrax.xla.arrays import Array, ArrayLike, copy_of
from arrax.xla.placement import array_from_host


class StagedRef(Ref, StagedTracer):
    """A reference in a program that is being recorded."""

    __slots__ = ()


tracer_classes[AbstractRef] = StagedRef


class OwnedRef(Ref):
    """A reference whose array an interpreter keeps."""

    __slots__ = ()

    def read(self) -> Any:
        """The array."""
        raise NotImplementedError

    def write(self, value: Any) -> None:
        """Put another array in its place."""
        raise NotImplementedError

    def _in_own_type(self, value: ArrayLike) -> Any:
        aval = self.aval.inner_aval
        return value if typeof(value) == aval else slots.convert(value, aval)


class ArrayRef(OwnedRef):
    """A reference outside of all transformations: it holds an array.

    Attributes:
      array: what it holds.
      shared: whether somebody else may have that array, too, so that no program may write over its buffer.
    """

    __slots__ = ("aval", "array", "shared", "__weakref__")

    def __init__(self, array: Any, aval: AbstractRef) -> None:
        self.aval, self.array, self.shared = aval, array, True

    def read(self) -> Array:
        """The array, which the caller may keep."""
        if self.array is None:
            raise RuntimeError(f"the reference of type {self.aval!r} was freed by free_ref: it holds no array any more")
        array, self.shared = self.array, True
        return array

    def write(self, value: ArrayLike) -> None:
        value = self._in_own_type(value)
        on_host = isinstance(value, np.generic | np.ndarray)
        self.array, self.shared = array_from_host(value, None, None, False) if on_host else value, True

    def own_array(self) -> Array:
        """The array, which nobody else has: a program may write over it."""
        shared, array = self.shared, self.read()
        if shared:
            array = self.array = copy_of(array) if type(array) is runtime.ArrayImpl else array
        self.shared = False
        return array

    @property
    def sharding(self) -> runtime.Sharding:
        """How the array lies over devices."""
        return self.read().sharding

    @property
    def committed(self) -> bool:
        """Whether the array is bound to its devices."""
        return self.read().committed

    @property
    def format(self) -> Any:
        """Layout and sharding of the array."""
        return self.read().format

    def unsafe_buffer_pointer(self) -> int:
        """The address of the array's buffer."""
        return self.own_array().unsafe_buffer_pointer()

    def block_until_ready(self) -> ArrayRef:
        """Wait for what was written; returns the reference."""
        self.read().block_until_ready()
        return self

    def __reduce__(self) -> tuple[Any, Any]:
        return _array_ref, (self.array, self.aval.memory_space, self.aval.kind)


ArrayRef.__name__ = ArrayRef.__qualname__ = "Ref"


def _array_ref(array: Array, memory_space: Any, kind: str) -> ArrayRef:
    return ArrayRef(array, AbstractRef(typeof(array), memory_space, kind))


class LocalRef(OwnedRef, Tracer):
    """A reference that was made under an interpreter: it holds a value of that one."""

    __slots__ = ("content",)

    def __init__(self, interpreter: Interpreter, aval: AbstractRef, content: ArrayLike):
        self.interpreter, self.aval, self.content = interpreter, aval, content

    def read(self) -> Any:
        return self.content

    def write(self, value: Array) -> None:
        self.content = self._in_own_type(value)


class MappedRef(OwnedRef, Tracer):
    """A reference along whose axis ``dim`` a function is mapped: each example has its part of the array."""

    __slots__ = ("whole", "dim")
    interpreter: Batch

    def __init__(self, interpreter: Batch, whole: Ref, dim: int):
        self.interpreter, self.whole, self.dim = interpreter, whole, dim
        shape = whole.shape[:dim] + whole.shape[dim + 1 :]
        self.aval = whole.aval.update(shape=shape)

    def read(self) -> Any:
        with current(self.interpreter.parent):
            return self.interpreter.join(self.whole[...], self.dim)

    def write(self, value: Array) -> None:
        value, own = self.interpreter.lift(self._in_own_type(value))
        with current(self.interpreter.parent):
            self.whole[...] = move_batch_axis(value, own, self.interpreter.size, self.dim)


class DifferentiatedRef(OwnedRef, Tracer):
    """A reference beside which another one holds the tangents of its array."""

    __slots__ = ("primal", "tangent")
    interpreter: JVP

    def __init__(self, interpreter: JVP, primal: Ref, tangent: Ref):
        self.interpreter, self.primal, self.tangent, self.aval = interpreter, primal, tangent, primal.aval

    def read(self) -> Any:
        with current(self.interpreter.parent):
            return JVPTracer(self.interpreter, self.primal[...], self.tangent[...])

    def write(self, value: Array) -> None:
        value, tangent = self.interpreter.lift(self._in_own_type(value))
        with current(self.interpreter.parent):
            self.primal[...] = value
            self.tangent[...] = instantiate(Zero.of(value) if tangent is None else tangent)


def owns(interpreter: Interpreter, ref: Ref) -> bool:
    """Whether an interpreter keeps the array of a reference."""
    if isinstance(ref, ArrayRef):
        return interpreter.is_evaluation
    return isinstance(ref, OwnedRef) and ref.interpreter.main is interpreter.main  # type: ignore[attr-defined]


def is_own_value(interpreter: Interpreter, value: Array) -> bool:
    """Whether a value is a tracer of an interpreter, rather than a constant to it."""
    return isinstance(value, Tracer) and value.interpreter.main is interpreter.main


def outside(interpreter: Interpreter, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Array:
    """Apply an operation one level down; a reference that no interpreter there keeps has escaped from its trace."""
    if interpreter.is_evaluation:
        outer = getattr(interpreter, "outer", None)
        if outer is None:
            raise errors.escaped_tracer(args[0])
        with current(outer):
            return context.interpreter.process(primitive, args, params)
    with current(interpreter.parent):
        return interpreter.parent.process(primitive, args, params)


def at_once() -> bool:
    """Whether operations run at once."""
    return context.interpreter is Context.interpreter
