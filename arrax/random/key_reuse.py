"""The key-reuse checker (option ``debug_key_reuse``): random keys must be consumed at most once.

Each element of a key array has an identity. Structural operations hand identities on; drawing and splitting consume them.
Concrete keys remember by a mask which of their elements are consumed; a program is followed equation by equation before it
runs, loops through two of their turns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core import config, errors
from arrax.core.errors import KeyReuseError
from arrax.core.interpreter import Primitive, Tracer
from arrax.core.program import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, open_jaxpr, subprograms
from arrax.core.types import ShapedArray
from arrax.lax.axis_order import rev_p, transpose_p
from arrax.lax.concatenation import concatenate_p
from arrax.lax.control_flow.conditional_rules import cond_p
from arrax.lax.control_flow.loop_rules import while_p
from arrax.lax.control_flow.scan_rules import scan_p
from arrax.lax.placement import copy_p, device_put_p
from arrax.lax.selection import select_n_p
from arrax.lax.shapes import broadcast_in_dim_p, reshape_p, squeeze_p
from arrax.lax.static_slicing import slice_p

Identities = np.ndarray | None
Rule = Callable[["Uses", JaxprEqn, list[Identities]], Sequence[Identities]]
rules: dict[
    Primitive, Rule
] = {}  # how an operation consumes keys or hands them on; others run their programs, or make new ones
_numbers = itertools.count()


# ---- concrete keys -------------------------------------------------------------------------------------------------------


def consume(operation: str, keys: Any) -> None:
    """Mark concrete keys as consumed by an operation, where the checker is on.

    Raises:
      KeyReuseError: some of them were consumed before.
    """
    if config.debug_key_reuse.cell.value:
        refuse_consumed(operation, keys)
        keys._consumed = True


def refuse_consumed(operation: str, keys: Any, index: int = 0, part: Any = ...) -> None:
    """Raise where keys (or a part of them) that reach an operation were consumed before."""
    if np.any(np.asarray(keys._consumed)[part] if part is not ... else keys._consumed):
        raise KeyReuseError(f"Previously-consumed key passed to {operation} at index {index}")


def take_part(keys: Any, index: Any) -> None:
    """Indexing: the elements taken now belong to the result, so they count as consumed here."""
    parts = index if isinstance(index, tuple) else (index,)
    if not keys.shape or any(isinstance(part, Tracer) for part in parts):
        return  # nobody knows which elements a traced index takes
    mask = np.broadcast_to(keys._consumed, keys.shape).copy()
    position = tuple(np.asarray(part) if hasattr(part, "shape") else part for part in parts)
    if np.any(mask[position]):
        raise KeyReuseError("Previously-consumed key passed to slice at index 0")
    mask[position] = True
    keys._consumed = mask


# ---- programs ------------------------------------------------------------------------------------------------------------


def _fresh(shape: Sequence[int]) -> np.ndarray:
    size = int(np.prod(shape, dtype=np.int64))
    return np.array([next(_numbers) for _ in range(size)], np.int64).reshape(shape)


def _is_key(aval: ShapedArray) -> bool:
    return isinstance(getattr(aval, "dtype", None), dtypes.ExtendedDType)


def _of_type(aval: ShapedArray) -> Identities:
    return _fresh(aval.shape) if _is_key(aval) else None


def new_keys(eqn: JaxprEqn) -> list[Identities]:
    """Identities of their own for the keys among the results of an equation."""
    return [_of_type(var.aval) for var in eqn.outvars]


class Uses:
    """Which identities are consumed so far. A selected key stands for all those among which it was selected."""

    __slots__ = ("consumed", "choices")

    def __init__(self) -> None:
        self.consumed: set[int] = set()
        self.choices: dict[int, tuple[int, ...]] = {}

    def consume(self, name: str, identities: Identities) -> None:
        """Note a use; raises where one of the keys was used before, or stands in the array twice."""
        if identities is None:
            return
        for number in identities.ravel().tolist():
            for choice in self.choices.get(number, (number,)):
                if choice in self.consumed:
                    raise KeyReuseError(f"{name} takes a key that was consumed before")
                self.consumed.add(choice)

    def is_consumed(self, identities: np.ndarray) -> np.ndarray:
        """Which of the keys are consumed."""
        numbers = identities.ravel().tolist()
        used = [any(choice in self.consumed for choice in self.choices.get(n, (n,))) for n in numbers]
        return np.array(used, bool).reshape(identities.shape)

    def select(self, cases: Sequence[Identities]) -> Identities:
        """Keys of which each is one of several, nobody knows which."""
        known = [case for case in cases if case is not None]
        if not known:
            return None
        made: dict[tuple[int, ...], int] = {}
        for among in zip(*(ids.ravel().tolist() for ids in known), strict=True):
            if among not in made:
                made[among] = next(_numbers)
                self.choices[made[among]] = tuple({one for n in among for one in self.choices.get(n, (n,))})
        numbers = [made[among] for among in zip(*(ids.ravel().tolist() for ids in known), strict=True)]
        return np.array(numbers, np.int64).reshape(known[0].shape)

    def run(self, program: Jaxpr | ClosedJaxpr, inputs: Sequence[Identities]) -> list[Identities]:
        """Follow a program; returns the identities of its results."""
        jaxpr = open_jaxpr(program)
        known: dict[Any, Identities] = {}
        for var in jaxpr.constvars:
            known[var] = _of_type(var.aval)
        known.update(zip(jaxpr.invars, inputs, strict=True))
        for eqn in jaxpr.eqns:
            args = [None if type(atom) is Literal else known.get(atom) for atom in eqn.invars]
            known.update(zip(eqn.outvars, self.follow(eqn, args), strict=True))
        return [None if type(atom) is Literal else known.get(atom) for atom in jaxpr.outvars]

    def follow(self, eqn: JaxprEqn, args: list[Identities]) -> Sequence[Identities]:
        """One equation."""
        rule = rules.get(eqn.primitive)
        if rule is not None:
            return rule(self, eqn, args)
        for inner in subprograms(eqn.params):
            jaxpr = open_jaxpr(inner)
            if len(jaxpr.invars) == len(args) and len(jaxpr.outvars) == len(eqn.outvars):
                return self.run(inner, args)
        return new_keys(eqn)

    def follow_scan(self, eqn: JaxprEqn, args: list[Identities]) -> Sequence[Identities]:
        """Two turns; the keys of further ones are consumed as those of the first."""
        params = eqn.params
        first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
        consts, carry, columns = args[:first], args[first:last], args[last:]
        for turn in range(min(2, params["length"])):
            rows = [None if column is None else column[turn] for column in columns]
            carry = self._turn("scan", params["jaxpr"], [*consts, *carry, *rows])[: params["num_carry"]]
        for column in columns:
            if column is not None and column.size and column.ravel()[0] in self.consumed:
                self.consumed.update(column.ravel().tolist())
        return new_keys(eqn)

    def follow_while(self, eqn: JaxprEqn, args: list[Identities]) -> Sequence[Identities]:
        """Condition and body, twice."""
        params = eqn.params
        first, last = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        cond_consts, body_consts, carry = args[:first], args[first:last], args[last:]
        for _ in range(2):
            self._turn("while_loop", params["cond_jaxpr"], [*cond_consts, *carry])
            carry = self._turn("while_loop", params["body_jaxpr"], [*body_consts, *carry])
        return new_keys(eqn)

    def follow_cond(self, eqn: JaxprEqn, args: list[Identities]) -> Sequence[Identities]:
        """Each branch by itself; what one of them consumes is consumed."""
        before, after = set(self.consumed), set(self.consumed)
        for branch in eqn.params["branches"]:
            self.consumed = set(before)
            self.run(branch, args[1:])
            after |= self.consumed
        self.consumed = after
        return new_keys(eqn)

    def _turn(self, name: str, program: ClosedJaxpr, args: list[Identities]) -> list[Identities]:
        before = set(self.consumed)
        try:
            return self.run(program, args)
        except KeyReuseError as error:
            fact = str(error).partition("\n")[0]
            if any(number in before for ids in args if ids is not None for number in ids.ravel().tolist()):
                raise KeyReuseError(f"each turn of {name} consumes the same key: {fact}") from None
            raise


# ---- what operations do with keys ----------------------------------------------------------------------------------------


def consuming(uses: Uses, eqn: JaxprEqn, args: list[Identities]) -> Sequence[Identities]:
    """The rule of operations that consume the keys of their first operand."""
    uses.consume(eqn.primitive.name, args[0])
    return new_keys(eqn)


def handing_on(move: Callable[[list[Any], JaxprEqn], np.ndarray]) -> Rule:
    """The rule of an operation that moves elements.

    Args:
      move: from the identities of the operands and the equation, those of its result.
    """
    return lambda uses, eqn, args: new_keys(eqn) if args[0] is None else [move(args, eqn)]


def _slice(args: list[Any], eqn: JaxprEqn) -> np.ndarray:
    params = eqn.params
    strides = params["strides"] or (1,) * args[0].ndim
    indices = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return args[0][tuple(slice(*index) for index in indices)]


def _broadcast(args: list[Any], eqn: JaxprEqn) -> np.ndarray:
    shape = [1] * len(eqn.params["shape"])
    for length, index in zip(args[0].shape, eqn.params["broadcast_dimensions"], strict=True):
        shape[index] = length
    return np.broadcast_to(args[0].reshape(shape), eqn.params["shape"])


def _concatenate(args: list[Any], eqn: JaxprEqn) -> np.ndarray:
    parts = [_fresh(atom.aval.shape) if ids is None else ids for ids, atom in zip(args, eqn.invars, strict=True)]
    return np.concatenate(parts, eqn.params["dimension"])


def unwrapped(args: list[Any], eqn: JaxprEqn) -> np.ndarray:
    """Each word of a key is that key."""
    own = eqn.invars[0].aval.dtype.physical_shape
    return np.broadcast_to(args[0].reshape(args[0].shape + (1,) * len(own)), args[0].shape + own)


def wrapped(args: list[Any], eqn: JaxprEqn) -> np.ndarray:
    """Words that belong to one key each are that key; others are new keys."""
    shape = eqn.outvars[0].aval.shape
    words = args[0].reshape((*shape, -1))
    return words[..., 0] if np.all(words == words[..., :1]) else _fresh(shape)


# fmt: off
rules |= {
    slice_p:            handing_on(_slice),
    broadcast_in_dim_p: handing_on(_broadcast),
    concatenate_p:      handing_on(_concatenate),
    reshape_p:          handing_on(lambda args, eqn: args[0].reshape(eqn.outvars[0].aval.shape)),
    squeeze_p:          handing_on(lambda args, eqn: args[0].reshape(eqn.outvars[0].aval.shape)),
    transpose_p:        handing_on(lambda args, eqn: args[0].transpose(eqn.params["permutation"])),
    rev_p:              handing_on(lambda args, eqn: np.flip(args[0], eqn.params["dimensions"])),
    copy_p:             handing_on(lambda args, eqn: args[0]),
    device_put_p:       handing_on(lambda args, eqn: args[0]),
    select_n_p:         lambda uses, eqn, args: [uses.select(args[1:])],
    scan_p:             Uses.follow_scan,
    while_p:            Uses.follow_while,
    cond_p:             Uses.follow_cond,
}
# fmt: on


# ---- calls ---------------------------------------------------------------------------------------------------------------


def check_call(jaxpr: Jaxpr, values: Sequence[Any], name: str) -> Callable[[Sequence[Any]], None] | None:
    """Before a program runs on concrete values: check it and its keys, and mark the keys that it consumes.

    Returns: what marks those keys among the program's results that it has consumed, or None.
    Raises:
      KeyReuseError: the program uses a key twice, or one that was consumed before.
    """
    keys = {id(value): value for value in values if hasattr(value, "_consumed")}
    if not keys and not any(_is_key(eqn_var.aval) for eqn in jaxpr.eqns for eqn_var in eqn.outvars):
        return None
    identities = {number: _fresh(value.shape) for number, value in keys.items()}
    uses = Uses()
    results = uses.run(jaxpr, [identities.get(id(value)) for value in values])
    before = {id(value): value._consumed for value in keys.values()}
    known = [(ids, keys[number]) for number, ids in identities.items()]
    for index, value in enumerate(values):
        ids = identities.pop(id(value), None)
        if ids is None:
            continue
        used = uses.is_consumed(ids)
        if np.any(used & value._consumed):
            operation = (
                name if name in {p.name for p, rule in rules.items() if rule is consuming} else "jit-compiled function"
            )
            raise KeyReuseError(f"Previously-consumed key passed to {operation} at index {index}")
        if used.any():
            value._consumed = np.asarray(used | value._consumed)

    for ids, value in known:  # what hands them on does not make them new
        uses.consumed.update(ids[np.broadcast_to(before[id(value)], ids.shape)].tolist())

    def mark(outs: Sequence[Any]) -> None:
        for out, ids in zip(outs, results, strict=True):
            if ids is not None and hasattr(out, "_consumed"):
                out._consumed = uses.is_consumed(ids)

    return mark


errors.hooks.check_keys = check_call
