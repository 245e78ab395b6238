"""Transposition: run a linear program backwards, from cotangents of its outputs to cotangents of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core import errors
from arrax.core.interpreter import Primitive, context
from arrax.core.memory_spaces import memories_in_types
from arrax.core.name_stacks import Names
from arrax.core.program import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var
from arrax.core.types import ShapedArray, Zero, instantiate, slots, typeof
from arrax.interpreters.recorded_widths import recorded_settings
from arrax.interpreters.staging import stage, valueless
from arrax.xla.arrays import Array

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent


class UndefinedPrimal:
    """Stands for a linear operand in transposition rules: only its type is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval!r})"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise _UsedAsValue


class _UsedAsValue(TypeError):
    """A rule takes a linear operand for a known one: the operation is linear in it only while the others are constant."""


valueless[UndefinedPrimal] = _UsedAsValue


def is_undefined_primal(x: Any) -> bool:
    """True for linear operands."""
    return type(x) is UndefinedPrimal


def add_cotangents(x: Tangent | None, y: Tangent) -> Tangent:
    """The sum of two cotangents, either of which may be symbolic or None."""
    if x is None or type(x) is Zero:
        return y
    if y is None or type(y) is Zero:
        return x
    return slots.add(x, y)


def backward_pass(
    jaxpr: Jaxpr, consts: Sequence[Any], primals: Sequence[Any], cotangents: Sequence[Any], name: Names = ()
) -> list[Any]:
    """Cotangents of the inputs of a program that is linear in its UndefinedPrimal inputs.

    Args:
      name: what the operations have in their stacks of names before those of the program.
      primals: one value per input, UndefinedPrimal where the program is linear.
      cotangents: one per output, arrays or Zeros.
    Returns: one per input: an array or Zero for linear inputs, None for the others.
    """
    if all(type(ct) is Zero for ct in cotangents) and not jaxpr.effects:
        return [Zero(x.aval.to_tangent_aval()) if type(x) is UndefinedPrimal else None for x in primals]
    known: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    linear: set[Var] = set()
    for var, primal in zip(jaxpr.invars, primals, strict=True):
        if type(primal) is UndefinedPrimal:
            linear.add(var)
        else:
            known[var] = primal
    sums: dict[Var, Any] = {}

    def accumulate(atom: Atom, ct: Tangent | None) -> None:
        if ct is not None and type(ct) is not Zero and isinstance(atom, Var) and atom in linear:
            sums[atom] = add_cotangents(sums.get(atom), _varying_as(ct, atom) if context.tracks_varying else ct)

    scopes, source = context.scopes, context.source
    around = scopes + name
    setting = recorded_settings(jaxpr)
    try:
        linear_eqns = []
        for eqn in jaxpr.eqns:
            if any(isinstance(atom, Var) and atom in linear for atom in eqn.invars):
                linear_eqns.append(eqn)
                linear.update(var for var in eqn.outvars if not isinstance(var, DropVar))
            else:
                context.source, names = eqn.source_info
                context.scopes = around + names
                with setting(eqn):
                    _evaluate(eqn, known)
        for atom, ct in zip(jaxpr.outvars, cotangents, strict=True):
            accumulate(atom, ct)
        uses = _uses_together(linear_eqns)
        for eqn in reversed(linear_eqns):
            together = uses.get(id(eqn), ())
            if together and together[0] is not eqn:
                continue  # its cotangent waits for those of the uses before it
            context.source, names = eqn.source_info
            context.scopes = around + names
            with setting(eqn):
                if together:
                    _transpose_uses(together, sums, accumulate)
                else:
                    _transpose_eqn(eqn, known, linear, sums, accumulate)
    except Exception as error:
        errors.blame(error, eqn)
        raise
    finally:
        context.scopes, context.source = scopes, source
    return [_divided_like(sums.get(var), var.aval) if var in linear else None for var in jaxpr.invars]


def _divided_like(ct: Any, aval: ShapedArray) -> Tangent:
    """The cotangent of an input, divided by explicit axes of a mesh as that is."""
    if ct is None:
        return Zero(aval.to_tangent_aval())
    return slots.like(ct, aval)


def _varying_as(ct: Any, var: Var) -> Any:
    """A cotangent of a value that other devices have, too: the sum of what comes from each of them.

    An operand that does not vary over a mesh axis is used by every device along it: its use stands for a broadcast.
    """
    extra = typeof(ct).vma - var.aval.vma
    return slots.sum_over(ct, extra) if extra else ct


def _vary_like(ct: Any, var: Var) -> Any:
    """A cotangent declared to vary over the mesh axes that its value varies over, in the memory of that."""
    missing = var.aval.vma - typeof(ct).vma
    ct = slots.vary(ct, missing) if missing else ct
    return slots.in_memory_of(ct, var.aval) if memories_in_types.other_than_device else ct


def _evaluate(eqn: JaxprEqn, known: dict[Var, Any]) -> None:
    """Run an equation that doesn't depend on linear inputs."""
    values = tuple(atom.val if type(atom) is Literal else known[atom] for atom in eqn.invars)
    out = context.interpreter.process(eqn.primitive, values, eqn.params)
    known.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True))


def get_primitive_transpose(p: Primitive) -> Callable[..., Any]:
    """The transposition rule of a primitive.

    Raises:
      NotImplementedError: it has none.
    """
    if p.transpose is None:
        raise NotImplementedError(f"Transpose rule (for reverse-mode differentiation) for '{p.name}' not implemented")
    return p.transpose


def _transpose_eqn(
    eqn: JaxprEqn, known: dict[Any, Any], linear: set[Any], sums: dict[Any, Any], accumulate: Callable[..., Any]
) -> None:
    cts = [_cotangent(var, sums) for var in eqn.outvars]
    if all(ct is None for ct in cts) and not eqn.effects:
        return
    cts = [Zero(var.aval.to_tangent_aval()) if ct is None else ct for var, ct in zip(eqn.outvars, cts, strict=True)]
    args = [
        atom.val if type(atom) is Literal else UndefinedPrimal(atom.aval) if atom in linear else known[atom]
        for atom in eqn.invars
    ]
    transpose = get_primitive_transpose(eqn.primitive)
    try:
        out = transpose(cts if eqn.primitive.multiple_results else cts[0], *args, **eqn.params)
    except _UsedAsValue:
        raise TypeError(
            f"a function that is transposed must be linear: {eqn.primitive.name} is not, in the values that depend on the "
            "arguments"
        ) from None
    for atom, ct in zip(eqn.invars, out, strict=True):
        accumulate(atom, ct)


def _cotangent(var: Var, sums: dict[Any, Any]) -> Any:
    """The cotangent of a result, None where it has none."""
    ct = sums.pop(var, None)
    if ct is not None and (context.tracks_varying or memories_in_types.other_than_device):
        return _vary_like(ct, var)
    return ct


def _uses_together(eqns: Sequence[JaxprEqn]) -> dict[int, list[JaxprEqn]]:
    """From the identities of equations that are transposed together to all of them, in order."""
    uses: dict[Any, list[JaxprEqn]] = {}
    for eqn in eqns:
        if eqn.primitive.transpose_together is not None:
            uses.setdefault((eqn.primitive, eqn.invars[0]), []).append(eqn)
    return {id(eqn): together for together in uses.values() if len(together) > 1 for eqn in together}


def _transpose_uses(eqns: Sequence[JaxprEqn], sums: dict[Any, Any], accumulate: Callable[..., Any]) -> None:
    """Transpose equations of one operand and one result, all of the same operand."""
    cts = [_cotangent(eqn.outvars[0], sums) for eqn in eqns]
    used = [(ct, eqn.params) for ct, eqn in zip(cts, eqns, strict=True) if ct is not None]
    if used:
        operand, together = eqns[0].invars[0], eqns[0].primitive.transpose_together
        assert together is not None
        values, params = zip(*used, strict=True)
        accumulate(operand, together(values, UndefinedPrimal(operand.aval), params))


def transpose_program(
    program: ClosedJaxpr, linear: Sequence[bool], ct_nonzero: Sequence[bool]
) -> tuple[ClosedJaxpr, list[bool]]:
    """The program (*non-linear inputs, *nonzero cotangents) -> (*nonzero cotangents of linear inputs), and which those are."""
    key = ("transpose", tuple(linear), tuple(ct_nonzero))
    return program.memo(key, _transpose_program, program, list(linear), list(ct_nonzero))


def _transpose_program(
    program: ClosedJaxpr, linear: list[bool], ct_nonzero: list[bool]
) -> tuple[ClosedJaxpr, list[bool]]:
    jaxpr = program.jaxpr
    nonzero: list[bool] = []

    def transposed(*values: Array) -> list[Any]:
        rest = iter(values)
        primals = [
            UndefinedPrimal(var.aval) if is_linear else next(rest)
            for var, is_linear in zip(jaxpr.invars, linear, strict=True)
        ]
        cts = [
            next(rest) if nz else Zero(atom.aval.to_tangent_aval())
            for atom, nz in zip(jaxpr.outvars, ct_nonzero, strict=True)
        ]
        out = [ct for ct, lin in zip(backward_pass(jaxpr, program.consts, primals, cts), linear, strict=True) if lin]
        nonzero[:] = [type(ct) is not Zero for ct in out]
        return [ct for ct in out if type(ct) is not Zero]

    avals = [var.aval for var, is_linear in zip(jaxpr.invars, linear, strict=True) if not is_linear]
    avals += [atom.aval.to_tangent_aval() for atom, nz in zip(jaxpr.outvars, ct_nonzero, strict=True) if nz]
    derived, consts = stage(transposed, avals, jaxpr.debug_info)
    return ClosedJaxpr(derived, consts), list(nonzero)


def instantiate_all(cotangents: Sequence[Any]) -> list[Any]:
    """Arrays for cotangents that may be symbolic."""
    return [instantiate(ct) for ct in cotangents]
