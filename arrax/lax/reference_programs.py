"""Operations that hold programs, where these use references: they become operations on the arrays that these hold.

What a program does to a reference that it takes is what it returns as that one's last array: a loop carries it, a branch
returns it. So an operation with references among its operands reads them, does its work without them, and writes back.
Recorded programs keep it as it is, with the effects of what is inside; it is discharged where it is differentiated,
batched, run or lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Interpreter, Primitive, context
from arrax.core.program import ClosedJaxpr, Jaxpr, Var, any_equation, open_jaxpr, subprograms
from arrax.core.reference_hooks import reference_hooks
from arrax.core.references import (
    AbstractRef,
    ReadEffect,
    Ref,
    RefEffect,
    holds_refs,
    is_ref,
    ref_indices,
    refuse_aliases,
    refuse_returned,
)
from arrax.core.sequences import split_list
from arrax.interpreters.references import LocalRef, StagedRef
from arrax.interpreters.staging import Staging, eval_jaxpr, stage
from arrax.lax.calls import core_call_p, jit_p
from arrax.lax.control_flow.conditional_rules import bind_cond, cond_p
from arrax.lax.control_flow.loop_rules import bind_while, while_p
from arrax.lax.control_flow.scan_rules import bind_scan, scan_p, settings_of
from arrax.lax.control_flow.staged_functions import StagedFunction, known_scalar, rearranged
from arrax.lax.custom_rules import custom_jvp_call_p, custom_vjp_call_p
from arrax.lax.references import get_p, swap_p
from arrax.lax.remat import remat_p

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike

Layout = Callable[[dict[str, Any], int], "list[tuple[Jaxpr | ClosedJaxpr, Sequence[int]]]"]


def read_whole(ref: Ref) -> ArrayLike:
    """The array that a reference holds."""
    return get_p.bind(ref, steps=(), shape=ref.shape)


def write_whole(ref: Ref, value: Array) -> None:
    """Put another array into a reference."""
    swap_p.bind(ref, value, steps=(), shape=ref.shape)


def _values(args: Sequence[Any]) -> list[Any]:
    return [read_whole(arg) if is_ref(arg) else arg for arg in args]


# ---- programs without references ---------------------------------------------------------------------------------------


def uses_refs(program: Jaxpr | ClosedJaxpr) -> bool:
    """Whether a reference is among the variables of a program, those of programs inside included."""
    jaxpr = open_jaxpr(program)
    if ref_indices([var.aval for var in [*jaxpr.constvars, *jaxpr.invars]]):
        return True
    return any(
        ref_indices([var.aval for var in eqn.outvars]) or any(map(uses_refs, subprograms(eqn.params)))
        for eqn in jaxpr.eqns
    )


class Discharge(Staging):
    """Records a program in which references have become the values that they hold."""

    __slots__ = ()

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if primitive.on_refs is not None:
            done = primitive.on_refs(self, args, params)
            return super().process(primitive, args, params) if done is None else done
        if holds_refs(args):
            raise NotImplementedError(
                f"{primitive.name}: a reference is among its operands, or its functions close over one; pass what it holds"
            )
        return super().process(primitive, args, _without_inner_refs(primitive, params))


def _without_inner_refs(primitive: Primitive, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an operation, with programs that make references of their own discharged."""
    if not any(map(uses_refs, subprograms(params))):
        return params
    with nullcontext() if primitive.around is None else primitive.around(params):
        return {name: _discharged_inside(value) for name, value in params.items()}


def _discharged_inside(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return without_own_refs(value)
    if not isinstance(value, tuple | list):
        return value
    values = list(map(_discharged_inside, value))
    return value._make(values) if hasattr(value, "_make") else tuple(values)


def discharged(program: ClosedJaxpr) -> tuple[ClosedJaxpr, list[int]]:
    """The program from arrays to arrays, and which of its inputs are references that it writes to.

    It takes what the references hold, and returns after its own results what those that it writes to hold in the end.
    """
    return program.memo("without references", lambda: _discharged(program))


def _discharged(program: ClosedJaxpr) -> tuple[ClosedJaxpr, list[int]]:
    jaxpr = program.jaxpr
    indices_of_refs = ref_indices(jaxpr.in_avals)
    changed = {
        effect.variable for effect in jaxpr.effects if isinstance(effect, RefEffect) and type(effect) is not ReadEffect
    }
    written = [n for n in indices_of_refs if jaxpr.invars[n] in changed]

    def flat(*values: Any) -> list[Any]:
        inputs = list(values)
        for n in indices_of_refs:
            inputs[n] = LocalRef(context.interpreter, jaxpr.invars[n].aval, values[n])
        outs = eval_jaxpr(jaxpr, program.consts, *inputs)
        return [*outs, *(inputs[n].content for n in written)]

    avals = [aval.inner_aval if type(aval) is AbstractRef else aval for aval in jaxpr.in_avals]
    return ClosedJaxpr(*stage(flat, avals, jaxpr.debug_info, Discharge)), written


def without_own_refs(program: ClosedJaxpr) -> ClosedJaxpr:
    """A program that takes no references, without those that it makes.

    Raises:
      NotImplementedError: it takes some.
    """
    if ref_indices(program.in_avals):
        raise NotImplementedError("a program that takes references: they are arguments of functions under jit only")
    return discharged(program)[0] if uses_refs(program) else program


# ---- effects of programs inside on the operands ------------------------------------------------------------------------


def _with_effects(primitive: Primitive, layout: Layout) -> Callable[..., Any]:
    """The slot ``stage``: as before, with the effects on references told of the operands."""
    plain = primitive.stage

    def rule(interpreter: Staging, args: tuple[Any, ...], params: dict[str, Any]) -> list[Array]:
        outs = interpreter.record(primitive, args, params) if plain is None else plain(interpreter, args, params)
        eqn = interpreter.eqns[-1]
        if not any(isinstance(effect, RefEffect) for effect in eqn.effects):
            return outs
        effects = {effect for effect in eqn.effects if not isinstance(effect, RefEffect)}
        for program, indices_of_refs in layout(eqn.params, len(eqn.invars)):
            jaxpr = open_jaxpr(program)
            operands = dict(zip(jaxpr.invars, (eqn.invars[number] for number in indices_of_refs), strict=True))
            own = [effect for effect in jaxpr.effects if isinstance(effect, RefEffect)]
            if any(effect.variable not in operands for effect in own):
                raise NotImplementedError(
                    f"{primitive.name}: a derivative rule uses a reference that it closes over; pass the reference to the "
                    "function as an argument, which its rules get, too"
                )
            effects |= {type(effect)(operands[effect.variable]) for effect in own}
        interpreter.eqns[-1] = eqn.replace(effects=frozenset(effects))
        return outs

    return rule


def _one_program(name: str) -> Layout:
    return lambda params, count: [(params[name], range(count))]


def _programs_of_while(params: dict[str, Any], count: int) -> list[tuple[Any, Sequence[int]]]:
    first, second = params["cond_nconsts"], params["body_nconsts"]
    carry = range(first + second, count)
    return [
        (params["cond_jaxpr"], [*range(first), *carry]),
        (params["body_jaxpr"], [*range(first, first + second), *carry]),
    ]


# ---- the operations ----------------------------------------------------------------------------------------------------


def _stashes(program: Jaxpr | ClosedJaxpr) -> bool:
    """Whether a function with a derivative rule of its own gets a reference: the rule may write to it."""
    return any_equation(
        program, lambda eqn: eqn.primitive.closes_over and ref_indices([atom.aval for atom in eqn.invars])
    )


def _concerns(interpreter: Interpreter, args: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether an operation has to do with references here: its operands, or those that its programs make, at lowering."""
    if holds_refs(args):
        return True
    return isinstance(interpreter, Discharge) and any(map(uses_refs, subprograms(params)))


def _taken_apart(
    interpreter: Interpreter, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
) -> list[Array] | None:
    """The operations inside, one by one, where a derivative rule may write to a reference; None where none does."""
    if isinstance(interpreter, Discharge) or interpreter.is_evaluation:
        return None
    if not any(map(_stashes, subprograms(params))):
        return None
    if primitive is cond_p:
        index = known_scalar(args[0])
        if index is None:
            raise NotImplementedError(
                "a derivative rule that writes to a reference, in a branch that is chosen by a traced value"
            )
        branch = params["branches"][int(index)]
        return eval_jaxpr(branch.jaxpr, branch.consts, *args[1:])
    assert primitive.by_operation is not None
    return primitive.by_operation(*args, **params)


def _rule(primitive: Primitive, without: Callable[..., Any], layout: Layout) -> None:
    """Fill the slots of an operation. ``without`` applies it to ``(operands, params)`` and writes back."""

    def on_refs(interpreter: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> list[Array] | None:
        if not _concerns(interpreter, args, params):
            return None
        apart = _taken_apart(interpreter, primitive, args, params)
        return without(primitive, args, params) if apart is None else apart

    primitive.on_refs, primitive.stage = on_refs, _with_effects(primitive, layout)


def _write_back(refs: Sequence[Any], values: Sequence[Any]) -> None:
    for ref, value in zip(refs, values, strict=True):
        write_whole(ref, value)


def _call(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    refuse_aliases(args, primitive.name)
    program = params["jaxpr"]
    pure, written = discharged(program)
    outs = context.interpreter.process(primitive, tuple(_values(args)), {**params, "jaxpr": pure})
    count = len(program.out_avals)
    _write_back([args[n] for n in written], outs[count:])
    return outs[:count]


def _scan(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """References that the body writes to are carried; those that it has slices of are stacks of what these hold."""
    refuse_aliases(args, "scan")
    num_consts, num_carry, program = params["num_consts"], params["num_carry"], params["jaxpr"]
    pure, written = discharged(program)
    count, total = len(program.out_avals), len(args)
    carried = [n for n in written if n < num_consts]
    sliced = [n for n in written if n >= num_consts]
    fixed = [n for n in range(num_consts) if n not in carried]

    def make() -> ClosedJaxpr:
        last = {n: count + number for number, n in enumerate(written)}
        outs = [*(last[n] for n in carried), *range(count), *(last[n] for n in sliced)]
        return rearranged(pure, [*fixed, *carried, *range(num_consts, total)], outs)

    body = pure.memo(("scan without references", num_consts), make)
    values = _values(args)
    init, xs = values[num_consts : num_consts + num_carry], values[num_consts + num_carry :]
    first = [values[n] for n in carried]
    outs = bind_scan(body, [values[n] for n in fixed], [*first, *init], xs, settings_of(params))
    last, results, stacks = split_list(outs, [len(carried), count])
    _write_back([args[n] for n in [*carried, *sliced]], [*last, *stacks])
    return results


def _while(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """References that the body writes to are carried, and the condition sees them so."""
    cond_consts, body_consts, init = split_list(args, [params["cond_nconsts"], params["body_nconsts"]])
    refuse_aliases(cond_consts, "while_loop's cond_fun")
    refuse_aliases([*body_consts, *init], "while_loop's body_fun")
    (pure, written), (pure_cond, written_by_cond) = map(discharged, (params["body_jaxpr"], params["cond_jaxpr"]))
    if written_by_cond:
        raise NotImplementedError("while_loop: cond_fun writes to a reference; only body_fun may")
    fixed = [n for n in range(len(body_consts)) if n not in written]
    count = len(init)
    body = rearranged(
        pure, [*fixed, *written, *range(len(body_consts), len(pure.in_avals))],
        [*range(count, count + len(written)), *range(count)],
    )  # fmt: skip
    carried = [body_consts[n] for n in written]
    numbers = {_identity(ref): number for number, ref in enumerate(carried)}
    own = [n for n, const in enumerate(cond_consts) if _identity(const) not in numbers]
    states = [Var(ref.aval.inner_aval) for ref in carried]
    invars = pure_cond.jaxpr.invars
    for n, const in enumerate(cond_consts):
        if n not in own:
            states[numbers[_identity(const)]] = invars[n]
    jaxpr = pure_cond.jaxpr.replace(invars=[*(invars[n] for n in own), *states, *invars[len(cond_consts) :]])
    values = _values([body_consts[n] for n in fixed])
    outs = bind_while(
        pure_cond.replace(jaxpr=jaxpr), body, _values([cond_consts[n] for n in own]), values,
        [*_values(carried), *init],
    )  # fmt: skip
    _write_back(carried, outs[: len(written)])
    return outs[len(written) :]


def _identity(value: Ref) -> Any:
    return value.variable if isinstance(value, StagedRef) else id(value)


def _cond(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Every branch returns what all references hold in the end that any branch writes to."""
    index, *operands = args
    refuse_aliases(operands, "cond")
    branches = params["branches"]
    pairs = [discharged(branch) for branch in branches]
    written = sorted({n for _, own in pairs for n in own})
    count = len(branches[0].out_avals)

    def returning_all(pure: ClosedJaxpr, own: list[int]) -> ClosedJaxpr:
        jaxpr = pure.jaxpr
        last = dict(zip(own, jaxpr.outvars[count:], strict=True))
        outvars = [*jaxpr.outvars[:count], *(last.get(n, jaxpr.invars[n]) for n in written)]
        return pure.replace(jaxpr=jaxpr.replace(outvars=outvars))

    key = ("cond without references", branches)
    forms = branches[0].memo(key, lambda: tuple(returning_all(*pair) for pair in pairs))
    outs = bind_cond(index, _values(operands), forms, params["branches_platforms"], params["linear"])
    _write_back([operands[n] for n in written], outs[count:])
    return outs[:count]


def _custom(interpreter: Interpreter, args: tuple[Any, ...], params: dict[str, Any]) -> list[Array] | None:
    """Functions with rules of their own keep references as operands, for the rules; once lowered there are none."""
    if (
        params["call_jaxpr"] is None
        or not isinstance(interpreter, Discharge)
        or not _concerns(interpreter, args, params)
    ):
        return None
    program = params["call_jaxpr"]
    return eval_jaxpr(program.jaxpr, program.consts, *args)


for _primitive in (jit_p, core_call_p, remat_p):
    _rule(_primitive, _call, _one_program("jaxpr"))
_rule(scan_p, _scan, _one_program("jaxpr"))
_rule(while_p, _while, _programs_of_while)
_rule(cond_p, _cond, lambda params, count: [(branch, range(1, count)) for branch in params["branches"]])
for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    _primitive.stage = _with_effects(_primitive, _one_program("call_jaxpr"))
    _primitive.on_refs = _custom


def takes_refs(avals: Sequence[Any], program: ClosedJaxpr) -> bool:
    """Whether a traced function takes references or closes over them."""
    return bool(ref_indices(avals)) or holds_refs(program.consts)


def _reading(staged: StagedFunction, name: str) -> StagedFunction:
    """A function that reads the references that it closes over, as one of what they hold now.

    Raises:
      NotImplementedError: it writes to one.
    """
    if not holds_refs(staged.consts):
        return staged
    pure, written = discharged(staged.program)
    if written:
        raise NotImplementedError(
            f"{name}: a function writes to a reference that it closes over; it may read them, but how often it is called is not "
            "settled"
        )
    return staged._replace(program=pure, consts=_values(staged.consts))


reference_hooks.refuse = refuse_returned
reference_hooks.read = _reading
reference_hooks.discharge = without_own_refs
reference_hooks.holds = takes_refs
