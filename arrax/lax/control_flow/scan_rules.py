"""The primitive ``scan``, a loop over the leading axis of arrays: its types, jvp, batching, dead code, lowering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.explicit_axes import stacked_type
from arrax.core.interpreter import Primitive, context
from arrax.core.lengths import is_symbolic
from arrax.core.program import ClosedJaxpr, JaxprEqn, Var
from arrax.core.sequences import split_list
from arrax.core.types import ShapedArray, Zero, abstract_token, instantiate, joined_varying, typeof
from arrax.interpreters.ad.forward import Derive, jvp_jaxpr
from arrax.interpreters.batching import AxisData, batch_at, batch_program, running_batch
from arrax.interpreters.cost_model import work_of
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import inline_program
from arrax.interpreters.ordering import program_with_tokens
from arrax.interpreters.staging import eval_jaxpr
from arrax.lax.concatenation import concatenate
from arrax.lax.control_flow.reported_loops import loop_ir, with_values
from arrax.lax.control_flow.staged_functions import either, rearranged, selected
from arrax.lax.kept_bits import kept_type, with_type
from arrax.lax.shapes import expand_dims, squeeze
from arrax.lax.static_slicing import slice_in_dim

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.xla.arrays import Array, ArrayLike


class Scan(Primitive):
    """A loop over the leading axis of arrays."""

    def bind(
        self, *args: Any, linear: Sequence[bool] | None = None, _split_transpose: bool = False, **params: Any
    ) -> Any:
        """Apply the operation; libraries neither say which operands are linear nor how the loop is transposed."""
        linear = (False,) * len(args) if linear is None else tuple(linear)
        return super().bind(*args, **params, linear=linear, _split_transpose=_split_transpose)


scan_p = Scan("scan", multiple_results=True, cost=lambda eqn: eqn.params["length"] * work_of(eqn.params["jaxpr"].jaxpr))
scan_p.holds_programs = True


def scan_params(
    program: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    settings: dict[str, Any],
    linear: Sequence[bool] | None = None,
) -> dict[str, Any]:
    """The parameters of the primitive; ``settings`` are length, reverse, unroll and _split_transpose."""
    flags = (False,) * len(program.jaxpr.invars) if linear is None else tuple(linear)
    return {"jaxpr": program, "linear": flags, "num_carry": num_carry, "num_consts": num_consts, **settings}


def bind_scan(
    program: ClosedJaxpr, consts: Sequence[Any], init: Sequence[Any], xs: Sequence[Any], settings: dict[str, Any],
    linear: Sequence[bool] | None = None,
) -> list[Any]:  # fmt: skip
    """Scan ``program`` (*consts, *carry, *x) -> (*carry, *y) over the leading axis of ``xs``."""
    params = scan_params(program, len(consts), len(init), settings, linear)
    return scan_p.bind(*consts, *init, *xs, **params)


def settings_of(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that derived scans keep."""
    return {name: params[name] for name in ("length", "reverse", "unroll", "_split_transpose")}


def _types(*avals: Any, jaxpr: ClosedJaxpr, length: int, num_carry: int, **params: Any) -> list[Any]:
    outs = jaxpr.out_avals
    if context.tracks_varying:
        carries = jaxpr.in_avals[params["num_consts"] :]
        outs = [*joined_varying(outs[:num_carry], carries[:num_carry]), *outs[num_carry:]]
    return [*outs[:num_carry], *(stacked_type(aval, length) for aval in outs[num_carry:])]


def differentiated_scan(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, jaxpr: ClosedJaxpr, num_carry: int, num_consts: int,
    linear: tuple[bool, ...], derive: Derive = jvp_jaxpr, kind: str = "jvp", **settings: Any,
) -> tuple[list[Array], list[Array | Zero]]:  # fmt: skip
    """The jvp rule, with another way to differentiate programs if asked for.

    Args:
      derive: like ``jvp_jaxpr``. kind: what it gives, for caches.
    """
    nonzeros = [type(t) is not Zero for t in tangents]
    derived, carry_nz, ys_nz = jaxpr.memo(
        ("scan", kind, num_consts, num_carry, tuple(nonzeros)),
        lambda: _jvp_program(derive, jaxpr, *split_list(nonzeros, [num_consts, num_carry])),
    )
    const_nz, _, xs_nz = split_list(nonzeros, [num_consts, num_carry])
    (consts, init, xs), (const_t, init_t, xs_t) = (
        split_list(values, [num_consts, num_carry]) for values in (primals, tangents)
    )
    const_t, xs_t = selected(const_t, const_nz), selected(xs_t, xs_nz)
    carry_t = [instantiate(t) for t in selected(init_t, carry_nz)]
    const_lin, init_lin, xs_lin = split_list(linear, [num_consts, num_carry])
    flags = [
        *const_lin, *[True] * len(const_t), *init_lin, *[True] * len(carry_t), *xs_lin, *[True] * len(xs_t)
    ]  # fmt: skip
    outs = bind_scan(derived, [*consts, *const_t], [*init, *carry_t], [*xs, *xs_t], settings, flags)
    carry, carry_dot, ys, ys_dot = split_list(outs, [num_carry, len(carry_t), len(ys_nz)])
    dots, values, nz = iter([*carry_dot, *ys_dot]), [*carry, *ys], [*carry_nz, *ys_nz]
    return values, [next(dots) if n else Zero(typeof(x).to_tangent_aval()) for x, n in zip(values, nz, strict=True)]


def _jvp_program(
    derive: Derive, program: ClosedJaxpr, const_nz: list[bool], carry_nz: list[bool], xs_nz: list[bool]
) -> tuple[ClosedJaxpr, list[bool], list[bool]]:
    ys_count = len(program.out_avals) - len(carry_nz)
    while True:
        derived, out_nz = derive(program, [*const_nz, *carry_nz, *xs_nz], [*carry_nz, *[False] * ys_count])
        out_carry, ys_nz = split_list(out_nz, [len(carry_nz)])
        if out_carry == carry_nz:
            break
        carry_nz = either(carry_nz, out_carry)
    consts, carry, xs, const_t, carry_t, xs_t = split_list(
        range(len(derived.in_avals)), [len(const_nz), len(carry_nz), len(xs_nz), sum(const_nz), sum(carry_nz)]
    )
    out_carry, ys, out_carry_t, ys_t = split_list(
        range(len(derived.out_avals)), [len(carry_nz), ys_count, sum(carry_nz)]
    )
    order = [*consts, *const_t, *carry, *carry_t, *xs, *xs_t]
    return rearranged(derived, order, [*out_carry, *out_carry_t, *ys, *ys_t]), carry_nz, ys_nz


def _batch(
    values: Sequence[ArrayLike],
    dims: Dims,
    *,
    jaxpr: ClosedJaxpr,
    num_carry: int,
    num_consts: int,
    linear: tuple[bool, ...],
    **settings: Any,
) -> tuple[list[Array], list[int | None]]:
    axis = running_batch().axis
    mapped = [dim is not None for dim in dims]
    derived, carry_m, ys_m = jaxpr.memo(
        ("scan batch", num_consts, num_carry, tuple(mapped), axis),
        lambda: _batch_program(jaxpr, split_list(mapped, [num_consts, num_carry]), axis),
    )
    must = [*mapped[:num_consts], *carry_m, *mapped[num_consts + num_carry :]]
    indices = [0] * (num_consts + num_carry) + [1] * (len(values) - num_consts - num_carry)
    moved = [
        batch_at(x, d, axis, index) if m else x for x, d, m, index in zip(values, dims, must, indices, strict=True)
    ]
    consts, init, xs = split_list(moved, [num_consts, num_carry])
    outs = bind_scan(derived, consts, init, xs, settings, linear)
    return outs, [*(0 if m else None for m in carry_m), *(1 if m else None for m in ys_m)]


def _batch_program(
    program: ClosedJaxpr, mapped: Sequence[list[bool]], axis: AxisData
) -> tuple[ClosedJaxpr, list[bool], list[bool]]:
    const_m, carry_m, xs_m = mapped
    ys_count = len(program.out_avals) - len(carry_m)
    while True:
        forced = [*carry_m, *[False] * ys_count]
        derived, out_m = batch_program(program, axis, [*const_m, *carry_m, *xs_m], forced)
        out_carry, ys_m = split_list(out_m, [len(carry_m)])
        if out_carry == carry_m:
            return derived, carry_m, ys_m
        carry_m = either(carry_m, out_carry)


# ---- ordered effects --------------------------------------------------------------------------------------------------


def _with_token(eqn: JaxprEqn, token: Var, after: Var) -> list[JaxprEqn]:
    """The token is the first of what is carried."""
    params, count = eqn.params, eqn.params["num_consts"]
    program = program_with_tokens(params["jaxpr"])
    first, *invars = program.jaxpr.invars
    program = program.replace(jaxpr=program.jaxpr.replace(invars=[*invars[:count], first, *invars[count:]]))
    consts, rest = split_list(eqn.invars, [count])
    carried = scan_params(program, count, params["num_carry"] + 1, settings_of(params))
    return [eqn.replace(invars=[*consts, token, *rest], outvars=[after, *eqn.outvars], params=carried)]


# ---- dead code -------------------------------------------------------------------------------------------------------


def _dce(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    if not any(used) and not eqn.effects:
        return None
    params = eqn.params
    program, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    lean, kept, outs = program.memo(
        ("scan dce", num_consts, num_carry, tuple(used)), lambda: _lean(program, num_consts, num_carry, list(used))
    )
    if all(kept) and all(outs):
        return eqn
    return eqn.replace(
        invars=selected(eqn.invars, kept),
        outvars=selected(eqn.outvars, outs),
        params=scan_params(
            lean, sum(kept[:num_consts]), sum(outs[:num_carry]), settings_of(params), selected(params["linear"], kept)
        ),
    )


def _lean(
    program: ClosedJaxpr, num_consts: int, num_carry: int, used: list[bool]
) -> tuple[ClosedJaxpr, list[bool], list[bool]]:
    carry, ys = split_list(used, [num_carry])
    rest = len(program.in_avals) - num_consts - num_carry
    while True:
        jaxpr, kept = dce_jaxpr(program.jaxpr, [*carry, *ys], [False] * num_consts + carry + [False] * rest)
        needed = kept[num_consts : num_consts + num_carry]
        if needed == carry:
            return program.replace(jaxpr=jaxpr), kept, [*carry, *ys]
        carry = either(carry, needed)


# ---- lowering --------------------------------------------------------------------------------------------------------

_COUNTER = ShapedArray((), np.int32)


def _physical(aval: Any) -> Any:
    if aval is abstract_token:
        return aval
    aval = builder.physical_aval(aval)
    return ShapedArray(aval.shape, np.bool_) if aval.dtype == dtypes.float0 else aval


def _starts(index: Value, rank: int) -> list[Value]:
    if rank == 1:
        return [index]
    zero = builder.constant(np.int32(0))
    return [index, *[zero] * (rank - 1)]


def _stack(aval: ShapedArray, length: int) -> ShapedArray:
    return ShapedArray((length, *aval.shape), aval.dtype)


def _element(ctx: LoweringContext, xs: Value, aval: ShapedArray, index: Value) -> Value:
    """The element at ``index`` of the leading axis."""
    one = ShapedArray((1, *aval.shape), aval.dtype)
    kept = ShapedArray(one.shape, kept_type(ctx, aval).dtype)
    piece = builder.piece(kept, xs, _starts(index, len(one.shape)))
    return builder.op("reshape", aval, with_type(piece, one))


def _with_element(ys: Value, whole: ShapedArray, y: Value, aval: ShapedArray, index: Value) -> Value:
    one = ShapedArray((1, *aval.shape), whole.dtype)
    piece = builder.op("reshape", one, with_type(y, ShapedArray(aval.shape, whole.dtype)))
    return builder.op("dynamic_update_slice", whole, ys, piece, *_starts(index, len(whole.shape)))


def _lower(
    ctx: LoweringContext, *args: Value, jaxpr: ClosedJaxpr, num_carry: int, num_consts: int, length: int, reverse: bool,
    unroll: int, **params: Any,
) -> list[Any]:  # fmt: skip
    """A ``while`` over a counter; ``unroll`` steps per turn, what remains of them after the loop."""
    ctx.module_context.show_as("while")
    consts, init, xs = split_list(args, [num_consts, num_carry])
    x_avals = [_physical(aval) for aval in jaxpr.in_avals[num_consts + num_carry :]]
    y_avals = [_physical(aval) for aval in jaxpr.out_avals[num_carry:]]
    carry_avals = [_physical(aval) for aval in jaxpr.out_avals[:num_carry]]
    results = [_stack(aval, length) for aval in y_avals]
    stacks = [kept_type(ctx, aval) for aval in results]
    xs = [with_type(x, kept_type(ctx, _stack(aval, length))) for x, aval in zip(xs, x_avals, strict=True)]
    buffers = [builder.full(0, aval) for aval in stacks]

    program, value_avals = with_values(jaxpr)
    rows = num_carry + len(y_avals)

    def step(position: int | Value, carry: list[Any], ys: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        if not isinstance(position, int):
            index = builder.op("subtract", _COUNTER, builder.length(length - 1), position) if reverse else position
        else:
            index = builder.constant(np.int32(length - 1 - position if reverse else position))
        elements = [_element(ctx, x, aval, index) for x, aval in zip(xs, x_avals, strict=True)]
        outs = inline_program(ctx.module_context, program, [*consts, *carry, *elements], "while/body")
        new = [
            _with_element(stack, whole, y, aval, index)
            for stack, whole, aval, y in zip(ys, stacks, y_avals, outs[num_carry:rows], strict=True)
        ]
        return outs[:num_carry], new, outs[rows:]

    def steps(positions: Sequence[Any], state: list[Any]) -> list[Any]:
        counter, carry, ys, values = (
            state[0],
            state[1 : 1 + num_carry],
            state[1 + num_carry : rows + 1],
            state[rows + 1 :],
        )
        for position in positions:
            carry, ys, values = step(position, carry, ys)
        return [counter, *carry, *ys, *values]

    def body(state: list[Any]) -> list[Any]:
        counter = state[0]
        shifts = [builder.constant(np.int32(offset)) for offset in range(per_turn)]
        positions = [counter, *(builder.op("add", _COUNTER, counter, shift) for shift in shifts[1:])]
        following = builder.op("add", _COUNTER, counter, builder.constant(np.int32(per_turn)))
        return [following, *steps(positions, state)[1:]]

    def goes_on(state: list[Any]) -> Value:
        return builder.compare("LT", (), state[0], builder.length(length - length % per_turn))

    per_turn = steps_per_turn(unroll, length)
    start = [builder.constant(np.int32(0)), *init, *buffers]
    if is_symbolic(length) or length > per_turn:
        left = () if is_symbolic(length) else range(length - length % per_turn, length)
        state = loop_ir(
            ctx, jaxpr, start, [_COUNTER, *carry_avals, *stacks], goes_on, body,
            lambda: builder.constant(np.int64(length)), value_avals, per_turn,
            lambda state: steps(left, state), len(left),
        )  # fmt: skip
    else:
        state = steps(range(length), start)
    return [*state[1 : 1 + num_carry], *map(with_type, state[1 + num_carry : rows + 1], results)]


def steps_per_turn(unroll: int, length: int) -> int:
    """How many steps one turn of the compiled loop takes."""
    if is_symbolic(length):
        return 1
    steps = length if unroll is True else int(unroll)
    return max(1, min(steps, length))


def _by_operation(
    *values: ArrayLike, jaxpr: ClosedJaxpr, num_carry: int, num_consts: int, length: int, reverse: bool, **params: Any
) -> list[Any]:
    consts, carry, xs = split_list(values, [num_consts, num_carry])
    rows = []
    for step in range(length):
        index = length - 1 - step if reverse else step
        elements = [squeeze(slice_in_dim(x, index, index + 1), (0,)) for x in xs]
        outs = eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *consts, *carry, *elements)
        carry = outs[:num_carry]
        rows.append([expand_dims(y, (0,)) for y in outs[num_carry:]])
    return [*carry, *(concatenate(column, 0) for column in zip(*rows[:: -1 if reverse else 1], strict=True))]


scan_p.type_rule = _types
scan_p.by_operation = _by_operation
scan_p.effects_rule = lambda *avals, jaxpr, **params: jaxpr.effects
scan_p.jvp = differentiated_scan
scan_p.batch = _batch
scan_p.dce = _dce
scan_p.with_token = _with_token
scan_p.lower[None] = _lower
