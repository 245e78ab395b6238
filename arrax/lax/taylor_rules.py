"""Taylor rules of operations that would be slow by their derivatives: products, quotients, loops and branches.

Leibniz: the k-th derivative of x y is the sum over j of (k choose j) times the derivatives x_j and y_(k-j). Loops and branches
run the Taylor expansions of their programs, where the derivatives of a value are one array, along a new axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax import dtypes
from arrax.core.interpreter import Primitive, context
from arrax.core.program import ClosedJaxpr
from arrax.core.types import Zero, instantiate, slots, typeof
from arrax.interpreters.ad.taylor import taylor
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.arithmetic import div, mul_p, neg, scalar
from arrax.lax.calls import core_call_p, jit_p
from arrax.lax.concatenation import concatenate
from arrax.lax.contractions import dot_general_p
from arrax.lax.control_flow.conditional_rules import cond_p, differentiated_branches
from arrax.lax.control_flow.loop_rules import differentiated_while, while_p
from arrax.lax.control_flow.scan_rules import differentiated_scan, scan_p
from arrax.lax.convolution_rules import conv_general_dilated_p
from arrax.lax.families import broadcast_to_shape
from arrax.lax.remat import remat_p
from arrax.lax.shapes import expand_dims, squeeze
from arrax.lax.static_slicing import slice_in_dim

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent
    from arrax.xla.arrays import Array, ArrayLike

Series = Sequence[Sequence[Any]]


def _is_zero(value: Tangent) -> bool:
    return type(value) is Zero


def _choose(k: int, j: int, value: Array) -> Array:
    """(k choose j) times a value."""
    factor = math.comb(k, j)
    return value if factor == 1 else mul_p.bind(value, scalar(factor, value))


def _total(terms: Sequence[Any], like: Array) -> Any:
    if not terms:
        return Zero.of(like)
    total = terms[0]
    for term in terms[1:]:
        total = slots.add(total, term)
    return broadcast_to_shape(total, typeof(like).shape)


def bilinear(primitive: Primitive) -> Callable[..., Any]:
    """The Taylor rule of an operation that is linear in each of two operands."""

    def rule(order: int, primals: Sequence[Any], series: Series, **params: Any) -> tuple[Any, list[Any]]:
        xs, ys = ([primal, *terms] for primal, terms in zip(primals, series, strict=True))
        out = primitive.bind(*primals, **params)
        if not dtypes.is_inexact(typeof(out).dtype):
            return out, [Zero.of(out)] * order
        return out, [
            _total(
                [
                    _choose(k, j, primitive.bind(xs[j], ys[k - j], **params))
                    for j in range(k + 1)
                    if not (_is_zero(xs[j]) or _is_zero(ys[k - j]))
                ],
                out,
            )
            for k in range(1, order + 1)
        ]

    return rule


def _quotient(order: int, primals: Sequence[Any], series: Series) -> tuple[Any, list[Any]]:
    """From x = q y: q_k = (x_k - the sum over j > 0 of (k choose j) y_j q_(k-j)) / y."""
    (_, y), (x_terms, y_terms) = primals, series
    quotients = [div(*primals)]
    for k in range(1, order + 1):
        parts = [] if _is_zero(x_terms[k - 1]) else [x_terms[k - 1]]
        for j in range(1, k + 1):
            if not (_is_zero(y_terms[j - 1]) or _is_zero(quotients[k - j])):
                parts.append(neg(_choose(k, j, mul_p.bind(y_terms[j - 1], quotients[k - j]))))
        total = _total(parts, quotients[0])
        quotients.append(total if _is_zero(total) else div(total, y))
    return quotients[0], quotients[1:]


# ---- nested programs ---------------------------------------------------------------------------------------------------


def _inlined(primitive: Primitive) -> Callable[..., Any]:
    """The Taylor rule of an operation that only calls its program: the program, in place."""

    def rule(
        order: int, primals: Sequence[ArrayLike], series: Series, *, jaxpr: ClosedJaxpr, **params: Any
    ) -> tuple[Any, Any]:
        def call(*args: ArrayLike) -> list[Any]:
            return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)

        return taylor(call, order, primals, series, context.interpreter)

    return rule


def _stacked(terms: Sequence[Any], axis: int) -> Tangent:
    """The derivatives of a value as one array, along a new axis; a Zero of its type where all are zero."""
    if all(map(_is_zero, terms)):
        aval = terms[0].aval
        return Zero(aval.update(shape=(*aval.shape[:axis], len(terms), *aval.shape[axis:])))
    return concatenate([expand_dims(instantiate(term), (axis,)) for term in terms], axis)


def _unstacked(stack: Any, axis: int, order: int, primal: Array) -> list[Any]:
    if _is_zero(stack):
        return [Zero.of(primal)] * order
    return [squeeze(slice_in_dim(stack, k, k + 1, axis=axis), (axis,)) for k in range(order)]


def _expansion(order: int) -> Callable[..., tuple[ClosedJaxpr, list[bool]]]:
    """Like ``jvp_jaxpr``, from values and stacks of derivatives to such."""

    def derive(
        program: ClosedJaxpr, nonzeros: Sequence[bool], instantiate_outs: Sequence[bool] | None = None
    ) -> tuple[ClosedJaxpr, list[bool]]:
        forced = [False] * len(program.out_avals) if instantiate_outs is None else list(instantiate_outs)
        key = ("taylor", order, tuple(nonzeros), tuple(forced))
        return program.memo(key, lambda: _expanded(program, list(nonzeros), forced, order))

    return derive


def _expanded(
    program: ClosedJaxpr, nonzeros: list[bool], forced: list[bool], order: int
) -> tuple[ClosedJaxpr, list[bool]]:
    avals = program.in_avals
    out_nonzeros: list[bool] = []

    def expand(*values: Array) -> list[Any]:
        primals, stacks = values[: len(avals)], iter(values[len(avals) :])
        series = [
            _unstacked(next(stacks), 0, order, x) if nonzero else [Zero.of(x)] * order
            for x, nonzero in zip(primals, nonzeros, strict=True)
        ]

        def call(*args: Array) -> list[Any]:
            return eval_jaxpr(program.jaxpr, program.consts, *args)

        outs, terms = taylor(call, order, primals, series, context.interpreter)
        found = [_stacked(each, 0) for each in terms]
        out_nonzeros[:] = [force or not _is_zero(each) for force, each in zip(forced, found, strict=True)]
        return [*outs, *(instantiate(each) for each, nonzero in zip(found, out_nonzeros, strict=True) if nonzero)]

    tangents = [aval.to_tangent_aval() for aval, nonzero in zip(avals, nonzeros, strict=True) if nonzero]
    stacks = [aval.update(shape=(order, *aval.shape)) for aval in tangents]
    jaxpr, consts = stage(expand, [*avals, *stacks], program.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts), list(out_nonzeros)


def _of_programs(
    differentiated: Callable[..., Any], axes: Callable[[dict[str, Any], int, int], tuple[list[int], list[int]]]
) -> Callable[..., Any]:
    """The Taylor rule of an operation whose jvp rule takes the derivatives of its programs from a function.

    Args:
      axes: from parameters and numbers of operands and results, along which axis of each derivatives are stacked.
    """

    def rule(order: int, primals: Sequence[ArrayLike], series: Series, **params: Any) -> tuple[Any, Any]:
        in_axes = axes(params, len(primals), 0)[0]
        stacks = list(map(_stacked, series, in_axes))
        outs, found = differentiated(primals, stacks, derive=_expansion(order), kind=("taylor", order), **params)
        out_axes = axes(params, len(primals), len(outs))[1]
        return outs, [
            _unstacked(stack, axis, order, out) for stack, axis, out in zip(found, out_axes, outs, strict=True)
        ]

    return rule


def _scan_axes(params: dict[str, Any], operands: int, results: int) -> tuple[list[int], list[int]]:
    """What is scanned has its own axis first."""
    whole, carry = params["num_consts"] + params["num_carry"], params["num_carry"]
    return [0] * whole + [1] * (operands - whole), [0] * carry + [1] * max(results - carry, 0)


def _first_axes(params: dict[str, Any], operands: int, results: int) -> tuple[list[int], list[int]]:
    return [0] * operands, [0] * results


for _primitive in (mul_p, dot_general_p, conv_general_dilated_p):
    _primitive.taylor = bilinear(_primitive)
for _primitive in (jit_p, core_call_p, remat_p):
    _primitive.taylor = _inlined(_primitive)
div.primitive.taylor = _quotient
scan_p.taylor = _of_programs(differentiated_scan, _scan_axes)
while_p.taylor = _of_programs(differentiated_while, _first_axes)
cond_p.taylor = _of_programs(differentiated_branches, _first_axes)
