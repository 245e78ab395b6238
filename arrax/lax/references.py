"""Operations on references: make one, read it, write to it, add to it, end it.

Each has one rule for all interpreters, its slot ``on_refs``, which works on the array that the reference holds; where a
program is recorded, it is recorded with its effect. The index into a reference is a tuple of steps (views of views), each
of which can ``take`` a part of an array and ``put`` it back: see ``numpy_api/reference_index.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from arrax.core.interpreter import Interpreter, Primitive, context
from arrax.core.program import JaxprEqn
from arrax.core.references import AbstractRef, AccumEffect, ReadEffect, Ref, RefEffect, WriteEffect
from arrax.core.types import ShapedArray, slots, typeof
from arrax.interpreters.batching import Batch
from arrax.interpreters.references import (
    ArrayRef,
    LocalRef,
    OwnedRef,
    StagedRef,
    is_own_value,
    outside,
    owns,
)
from arrax.interpreters.staging import Staging

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike


class Step(Protocol):
    """An index into an array, but for its operands."""

    def take(self, array: Any, operands: Sequence[Any]) -> Any:
        """``array[index]``."""

    def put(self, array: Any, operands: Sequence[Any], value: Any) -> Any:
        """The array with ``value`` at the index."""

    def add(self, array: Any, operands: Sequence[Any], value: Any) -> Any:
        """The array with ``value`` added at the index."""

    def operand_count(self) -> int:
        """The number of operands."""

    def text(self, operands: Sequence[str]) -> str:
        """What stands between the brackets."""


Steps = tuple[Step, ...]


def take(array: ArrayLike, steps: Steps, operands: Sequence[Any]) -> Any:
    """The part of an array that some steps lead to."""
    for step in steps:
        own, operands = operands[: step.operand_count()], operands[step.operand_count() :]
        array = step.take(array, own)
    return array


def put(
    array: ArrayLike, steps: Steps, operands: Sequence[Any], value: ArrayLike, accumulate: bool = False
) -> ArrayLike:
    """The array with another value there, or (``accumulate``) with the value added there."""
    if not steps:
        return slots.add(array, value) if accumulate else value
    step, *rest = steps
    own, others = operands[: step.operand_count()], operands[step.operand_count() :]
    if not rest:
        return step.add(array, own, value) if accumulate else step.put(array, own, value)
    return step.put(array, own, put(step.take(array, own), tuple(rest), others, value, accumulate))


new_ref_p = Primitive("new_ref")
empty_ref_p = Primitive("empty_ref")
get_p = Primitive("get")
swap_p = Primitive("swap")
addupdate_p = Primitive("addupdate", multiple_results=True)
freeze_p = Primitive("freeze")
free_ref_p = Primitive("free_ref", multiple_results=True)


# ---- to make one, and to end it ----------------------------------------------------------------------------------------


def _made(interpreter: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> Ref:
    (value,) = args
    aval = _ref_type(typeof(value), **params)
    if not interpreter.is_evaluation:
        return LocalRef(interpreter, aval, value)
    if params["memory_space"] is not None:
        raise NotImplementedError("new_ref: a memory_space needs a function that is traced, such as one under jit")
    return ArrayRef(value, aval)


def _made_empty(interpreter: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> Ref:
    return _made(interpreter, (slots.zeros(params["ty"]),), {"memory_space": params["memory_space"], "kind": None})


def _ref_type(aval: ShapedArray, *, memory_space: Any, kind: str | None) -> AbstractRef:
    return AbstractRef(aval, memory_space, kind)


def _frozen(interpreter: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> Array:
    (ref,) = args
    return ref.read() if owns(interpreter, ref) else outside(interpreter, freeze_p, args, params)


def _freed(interpreter: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    (ref,) = args
    if not owns(interpreter, ref):
        return outside(interpreter, free_ref_p, args, params)
    if isinstance(ref, ArrayRef):
        ref.array = None
    return []


new_ref_p.on_refs, new_ref_p.type_rule = _made, _ref_type
empty_ref_p.on_refs = _made_empty
empty_ref_p.type_rule = lambda *, ty, memory_space: AbstractRef(ty, memory_space)
freeze_p.on_refs, freeze_p.type_rule = _frozen, lambda aval: aval.inner_aval
free_ref_p.on_refs, free_ref_p.type_rule = _freed, lambda aval: []


# ---- to read and to write ----------------------------------------------------------------------------------------------


def _got(interpreter: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> ArrayLike:
    ref, *operands = args
    if owns(interpreter, ref):
        return take(ref.read(), params["steps"], operands)
    if any(is_own_value(interpreter, operand) for operand in operands):
        whole = outside(interpreter, get_p, (ref,), {"steps": (), "shape": ref.shape})
        return take(whole, params["steps"], operands)
    return outside(interpreter, get_p, args, params)


def _swapped(interpreter: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> ArrayLike:
    ref, value, *operands = args
    if not owns(interpreter, ref):
        _refuse_inner(interpreter, "a set/swap", args)
        return outside(interpreter, swap_p, args, params)
    before = ref.read()
    ref.write(put(before, params["steps"], operands, value))
    return take(before, params["steps"], operands)


def _added(interpreter: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    ref, value, *operands = args
    if not owns(interpreter, ref):
        _refuse_inner(interpreter, "an addupdate", args)
        return outside(interpreter, addupdate_p, args, params)
    ref.write(put(ref.read(), params["steps"], operands, value, accumulate=True))
    return []


def _refuse_inner(interpreter: Interpreter, what: str, args: tuple[Any, ...]) -> None:
    """Raise where a value of an interpreter is written to a reference from outside of it.

    In a batch nothing is written to such a reference: each example would do so.
    """
    ref, *values = args
    mapped = isinstance(interpreter, Batch)
    if not mapped and not any(is_own_value(interpreter, value) for value in values):
        return
    value, array, wanted = ("vmapped", "an unbatched", "vmapped") if mapped else ("differentiated", "a non-differentiated", "differentiated")  # fmt: skip
    hint = "" if mapped else ", or stop_gradient of the value"
    raise ValueError(
        f"performing {what} operation with a {value} value on {array} array reference of type {typeof(ref)!r}. Move the "
        f"array reference to be an argument of the {wanted} function{hint}?"
    )


def _part(aval: AbstractRef, shape: tuple[int, ...]) -> ShapedArray:
    return aval.inner_aval if shape == aval.shape else aval.inner_aval.update(shape=shape)


get_p.on_refs, swap_p.on_refs, addupdate_p.on_refs = _got, _swapped, _added
get_p.type_rule = lambda aval, *operands, steps, shape: _part(aval, shape)
swap_p.type_rule = lambda aval, value, *operands, steps, shape: _part(aval, shape)
addupdate_p.type_rule = lambda aval, value, *operands, steps, shape: []


# ---- what is recorded, and how it prints -------------------------------------------------------------------------------


def _check_varying(eqn: JaxprEqn) -> None:
    """Refuse values that vary over more mesh axes than a reference: its type tells later reads of them.

    Raises:
      ValueError: a part of the operands does.
    """
    ref, *others = (atom.aval for atom in eqn.invars)
    more = sorted(frozenset().union(*(aval.vma for aval in others)) - ref.vma, key=str)
    if more and eqn.primitive is not get_p:
        raise ValueError(
            f"what is written to a reference varies over the mesh axes {more}, but {ref.str_short(True)} does not: make it of "
            f"a value that does, such as lax.pcast(value, {tuple(more)}, to='varying')"
        )


def _recorded(primitive: Primitive, effect: type[RefEffect] | None) -> Callable[..., Any]:
    """The slot ``stage``: an equation with its effect; what it makes is a reference."""

    def rule(interpreter: Staging, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        out = interpreter.record(primitive, args, params)
        if effect is None:
            return StagedRef(interpreter, out.variable, out.traceback)
        eqn = interpreter.eqns[-1]
        if context.tracks_varying:
            _check_varying(eqn)
        interpreter.eqns[-1] = eqn.replace(effects=frozenset({effect(eqn.invars[0])}))
        return out

    return rule


for _primitive, _effect in (
    (new_ref_p, None), (empty_ref_p, None), (get_p, ReadEffect), (swap_p, WriteEffect), (addupdate_p, AccumEffect),
    (freeze_p, ReadEffect), (free_ref_p, WriteEffect),
):  # fmt: skip
    _primitive.stage = _recorded(_primitive, _effect)


def _target(eqn: JaxprEqn, atoms: Sequence[str], start: int) -> str:
    """``a[0, b:]`` for an equation with the texts of its operands, those of the index from ``start`` on."""
    text, operands = atoms[0], atoms[start:]
    for step in eqn.params["steps"]:
        text += f"[{step.text(operands[: step.operand_count()])}]"
        operands = operands[step.operand_count() :]
    return text if eqn.params["steps"] else f"{text}[...]"


def _swap_text(eqn: JaxprEqn, left: str, used: bool, atoms: Sequence[str]) -> str:
    target = _target(eqn, atoms, 2)
    return f"{left}, {target} <- {target}, {atoms[1]}" if used else f"{target} <- {atoms[1]}"


get_p.text = lambda eqn, left, used, atoms: f"{left} <- {_target(eqn, atoms, 1)}"
swap_p.text = _swap_text
addupdate_p.text = lambda eqn, left, used, atoms: f"{_target(eqn, atoms, 2)} += {atoms[1]}"

__all__ = ["OwnedRef", "addupdate_p", "empty_ref_p", "free_ref_p", "freeze_p", "get_p", "new_ref_p", "swap_p"]
