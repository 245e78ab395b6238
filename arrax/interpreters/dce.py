"""Dead-code elimination: what no output needs and no effect demands is dropped, nested programs included."""

from __future__ import annotations

from collections.abc import Sequence

from arrax.core.program import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Var, joined_effects


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """The program with only the used outputs and what they need.

    Args:
      used_outputs: for each output, whether it is kept.
      instantiate: which inputs are kept even where nothing uses them.
    Returns: the leaner program, and for each input whether it was kept.
    """
    forced = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else instantiate
    outvars = [atom for atom, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    live = {atom for atom in outvars if isinstance(atom, Var)}
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [var in live for var in eqn.outvars]
        if not any(used) and not eqn.effects:
            continue
        lean = eqn
        if eqn.primitive.dce is not None and not all(used):
            shrunk = eqn.primitive.dce(used, eqn)
            if shrunk is None:
                continue
            lean = shrunk
        elif not all(used):
            outs = [var if use else DropVar(var.aval) for var, use in zip(eqn.outvars, used, strict=True)]
            lean = eqn.replace(outvars=outs)
        eqns.append(lean)
        live.update(atom for atom in lean.invars if isinstance(atom, Var))
    eqns.reverse()
    kept = [var in live or force for var, force in zip(jaxpr.invars, forced, strict=True)]
    invars = [var for var, keep in zip(jaxpr.invars, kept, strict=True) if keep]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=eqns, effects=joined_effects(eqns)), kept


def inputs_used(program: ClosedJaxpr) -> list[bool]:
    """For each input of a program whether a result, or an effect, needs it."""
    found: list[bool] = program.memo(
        "inputs used", lambda: dce_jaxpr(program.jaxpr, [True] * len(program.out_avals))[1]
    )
    return found


def dce_closed_call(used: Sequence[bool], eqn: JaxprEqn, param: str) -> JaxprEqn | None:
    """The dce rule of operations whose only program is the closed one in ``params[param]``, applied to their operands."""
    program = eqn.params[param]
    if not any(used) and not eqn.effects:
        return None
    lean, kept = program.memo(("dce", tuple(used)), lambda: _dce_closed(program, used))
    return eqn.replace(
        invars=[atom for atom, keep in zip(eqn.invars, kept, strict=True) if keep],
        outvars=[var for var, use in zip(eqn.outvars, used, strict=True) if use],
        params={**eqn.params, param: lean},
        effects=lean.effects,
    )


def _dce_closed(program: ClosedJaxpr, used: Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
    lean, kept = dce_jaxpr(program.jaxpr, used)
    return program.replace(jaxpr=lean), kept
