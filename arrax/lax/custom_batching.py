"""Functions with batching rules of the user's: the primitive behind ``custom_vmap``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax import dtypes
from arrax.core import errors
from arrax.core.interpreter import Primitive
from arrax.core.types import Zero, instantiate, typeof
from arrax.interpreters.ad.forward import jvp
from arrax.interpreters.batching import batch_within, move_batch_axis, running_batch
from arrax.lax.custom_linear_calls import Hidden
from arrax.lax.custom_rules import fill_call_rules, function_of
from arrax.lax.slicing_along_axes import index_in_dim

if TYPE_CHECKING:
    from arrax.core.program import ClosedJaxpr
    from arrax.xla.arrays import ArrayLike

custom_vmap_call_p = Primitive("custom_vmap_call", multiple_results=True)
custom_vmap_call_p.hidden_params = frozenset({"fun", "num_consts"})
fill_call_rules(custom_vmap_call_p)


def _batch(
    values: Sequence[Any],
    dims: Sequence[Any],
    *,
    fun: Callable[..., Any] | None,
    call_jaxpr: ClosedJaxpr | None,
    rule: Hidden,
    num_consts: int,
) -> tuple[list[Any], list[int | None]]:
    """The user's rule: from the batch's size, which operands have its axis in front, and these, to results and their flags."""
    info = running_batch()
    size = info.size
    if all(dim is None for dim in dims):  # what the function closes over may have the axis
        return batch_within(info, function_of(fun, call_jaxpr), values, dims)
    if any(dim is not None for dim in dims[:num_consts]):
        raise errors.closed_over("custom_vmap")
    own = dims[num_consts:]
    operands = [
        value if dim is None else move_batch_axis(value, dim, size, 0)
        for value, dim in zip(values[num_consts:], own, strict=True)
    ]
    outs, mapped = rule.call(size, [dim is not None for dim in own], operands)
    return outs, [0 if each else None for each in mapped]


def _derivative(
    primals: Sequence[Any], tangents: Sequence[Any], *, fun: Callable[..., Any] | None, call_jaxpr: ClosedJaxpr | None,
    rule: Hidden, num_consts: int, **params: Any,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """A call of the function's derivative, whose batching rule is the derivative of the function's rule."""
    if any(type(t) is not Zero for t in tangents[:num_consts]):
        raise errors.closed_over("custom_vmap")
    consts, operands, tangents = primals[:num_consts], primals[num_consts:], tangents[num_consts:]
    plain, count = function_of(fun, call_jaxpr), len(operands)
    given = [type(t) is not Zero for t in tangents]
    with_tangent: list[bool] = []  # for each result, known when the function or the rule has run

    def paired(xs: Sequence[Any], moving: Sequence[Any]) -> list[Any]:
        rest = iter(moving)
        return [next(rest) if nonzero else Zero.of(x) for x, nonzero in zip(xs, given, strict=True)]

    def with_tangents(outs: Sequence[Any], out_tangents: Sequence[Any]) -> list[Any]:
        with_tangent[:] = [typeof(out).to_tangent_aval().dtype != dtypes.float0 for out in outs]
        moving = zip(out_tangents, with_tangent, strict=True)
        return [*outs, *(instantiate(t) for t, there in moving if there)]

    def derived(*args: ArrayLike) -> list[Any]:
        xs = args[:count]
        return with_tangents(*jvp(lambda *row: plain(*consts, *row), xs, paired(xs, args[count:])))

    def derived_rule(size: int, mapped: Sequence[bool], args: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        both = [here or there for here, there in zip(mapped[:count], paired_flags(mapped), strict=True)]
        xs, moving = args[:count], paired(args[:count], args[count:])
        xs = [_in_front(x, here, to, size) for x, here, to in zip(xs, mapped[:count], both, strict=True)]
        pairs = zip(xs, moving, paired_flags(mapped), both, strict=True)
        moving = [Zero.of(x) if type(t) is Zero else _in_front(t, there, to, size) for x, t, there, to in pairs]
        flags: list[bool] = []

        def ruled(*row: ArrayLike) -> list[Any]:
            outs, flags[:] = rule.call(size, both, row)
            return outs

        results, out_tangents = jvp(ruled, xs, moving)
        outs = with_tangents(results, out_tangents)
        own = list(flags)
        if size and not any(mapped[:count]):  # only tangents are mapped: the results are the same for all of them
            outs[: len(own)] = [
                index_in_dim(x, 0, 0, keepdims=False) if each else x for x, each in zip(results, own, strict=True)
            ]
            own = [False] * len(own)
        return outs, [*own, *(flag for flag, there in zip(flags, with_tangent, strict=True) if there)]

    def paired_flags(mapped: Sequence[bool]) -> list[bool]:
        rest = iter(mapped[count:])
        return [next(rest) if nonzero else False for nonzero in given]

    outs = custom_vmap_call_p.bind(
        *operands, *(t for t in tangents if type(t) is not Zero), fun=derived, call_jaxpr=None,
        rule=Hidden(derived_rule, rule.name), num_consts=0, **params,
    )  # fmt: skip
    values, rest = outs[: len(with_tangent)], iter(outs[len(with_tangent) :])
    return values, [next(rest) if there else Zero.of(x) for x, there in zip(values, with_tangent, strict=True)]


def _in_front(x: ArrayLike, mapped: bool, wanted: bool, size: int) -> ArrayLike:
    """The operand with the batch axis in front, where it is wanted."""
    return move_batch_axis(x, 0 if mapped else None, size, 0) if wanted else x


custom_vmap_call_p.batch, custom_vmap_call_p.jvp = _batch, _derivative
