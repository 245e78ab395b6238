"""Constant folding: what a program computes of small arrays that it closes over alone, NumPy computes before it is compiled.

Such arrays are inputs of the compiled program. So the compiler, which knows nothing of their values, would make code for what
depends on nothing else, such as the filter that is the outer product of two of them, and each call would run it. Operations
fold that NumPy does with the same bits (``Primitive.fold``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arrax.core.lengths import is_symbolic
from arrax.core.memory_spaces import MemorySpace
from arrax.core.program import ClosedJaxpr, JaxprEqn, Literal, Var
from arrax.core.types import ShapedArray
from arrax.interpreters.known_parts import known_equations
from arrax.native import runtime
from arrax.xla.placement import array_from_host, host_value

_MAX_BYTES = 1 << 14  # of an array that is folded: half of what the fastest memory of processors holds


def with_constants_folded(program: ClosedJaxpr, device: runtime.Device) -> ClosedJaxpr:
    """The program with results of its constants in place of constants, where it takes no more of them than before.

    Args:
      device: the one on which it runs.
    """
    jaxpr = program.jaxpr
    constants = dict(zip(jaxpr.constvars, program.consts, strict=True))
    held = {var: value for var, value in constants.items() if _is_readable(var, value, device)}
    folded = known_equations(jaxpr.eqns, held, _folds) if held else []
    if not folded:
        return program
    numbers = set(map(id, folded))
    eqns = [eqn for eqn in jaxpr.eqns if id(eqn) not in numbers]
    used = {atom for atom in (*jaxpr.outvars, *(atom for eqn in eqns for atom in eqn.invars)) if isinstance(atom, Var)}
    results = [var for eqn in folded for var in eqn.outvars if var in used]
    if len(results) > sum(var not in used for var in held):
        return program
    values = _evaluated(folded, held)
    if values is None:
        return program
    kept = {var: value for var, value in constants.items() if var in used}
    kept.update({var: array_from_host(values[var], var.aval, device) for var in results})
    return ClosedJaxpr(jaxpr.replace(constvars=list(kept), eqns=eqns), list(kept.values()))


def _is_readable(var: Var, value: object, device: runtime.Device) -> bool:
    """Whether a constant is a small array on the device, which was not deleted."""
    return (
        isinstance(value, runtime.ArrayImpl)
        and _is_small(var)
        and not value.is_deleted()
        and value.devices() == {device}
    )


def _is_small(var: Var) -> bool:
    """Whether a value is a small array in a device's memory, of a dtype in which NumPy computes with the same bits."""
    aval = var.aval
    return (
        type(aval) is ShapedArray
        and aval.memory_space is MemorySpace.Device
        and (aval.dtype in (np.float32, np.float64) or aval.dtype.kind in "biu")
        and not any(map(is_symbolic, aval.shape))
        and aval.size * aval.dtype.itemsize <= _MAX_BYTES
    )


def _folds(eqn: JaxprEqn) -> bool:
    """Whether NumPy may do an equation."""
    return eqn.primitive.fold is not None and all(map(_is_small, eqn.outvars))


def _evaluated(eqns: list[JaxprEqn], held: Mapping[Var, runtime.ArrayImpl]) -> dict[Var, np.ndarray] | None:
    """What equations compute; None where some numbers are of the kinds that a device may treat otherwise."""
    taken = {atom for eqn in eqns for atom in eqn.invars if not isinstance(atom, Literal)}
    values = {var: host_value(array) for var, array in held.items() if var in taken}
    with np.errstate(all="ignore"):
        for eqn in eqns:
            operands = [
                np.asarray(atom.val, atom.aval.dtype) if isinstance(atom, Literal) else values[atom]
                for atom in eqn.invars
            ]
            fold = eqn.primitive.fold
            value = None if fold is None else fold(*operands, **eqn.params)
            if value is None or not _is_normal(value):
                return None
            values[eqn.outvars[0]] = np.asarray(value)
    return values


def _is_normal(value: np.ndarray) -> bool:
    """Whether floats are finite, and none of them subnormal, which devices may take for 0."""
    if value.dtype.kind != "f":
        return True
    size = np.abs(value)
    return bool(((size < np.inf) & ((size == 0) | (size >= np.finfo(value.dtype).tiny))).all())
