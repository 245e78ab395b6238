"""The linear call that stands for a ``custom_vjp`` function's derivative until it is transposed; rules as equations hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax import dtypes
from arrax.core.explicit_axes import as_typed
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero, instantiate, slots, typeof
from arrax.interpreters.ad.transpose import is_undefined_primal
from arrax.interpreters.batching import batch, move_batch_axis, running_batch

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent
    from arrax.xla.arrays import ArrayLike

custom_linear_p = Primitive("custom_lin", multiple_results=True)
custom_linear_p.hidden_params = frozenset({"in_avals"})
_FORWARD_MODE = "can't apply forward-mode autodiff (jvp) to a custom_vjp function."


class Hidden:
    """A rule among the parameters of an equation: printed by name, compared by identity."""

    __slots__ = ("call", "name")

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        self.call, self.name = call, name

    def __repr__(self) -> str:
        return f"<function {self.name}>"


def _refuse_forward(*args: ArrayLike, **params: Any) -> Any:
    raise TypeError(_FORWARD_MODE)


def _linear_type(*avals: ShapedArray, out_avals: Sequence[ShapedArray], **params: Any) -> list[Any]:
    return list(out_avals)


def _linear_transpose(
    cts: Sequence[Any],
    *args: Any,
    num_res: int,
    bwd: Hidden,
    out_avals: Sequence[ShapedArray],
    nonzero: tuple[bool, ...],
    in_avals: Sequence[ShapedArray],
) -> list[Any]:
    residuals, linear = args[:num_res], args[num_res:]
    found = bwd.call(residuals, cts)
    used = [ct for ct, nz in zip(found, nonzero, strict=True) if nz]
    result: list[Any] = [None] * num_res
    for ct, arg in zip(used, linear, strict=True):
        aval = (arg.aval if is_undefined_primal(arg) else typeof(arg)).to_tangent_aval()
        # Zeros are arrays from here on: backward rules further up may have something to say all the same.
        result.append(ct if ct is not None else Zero(aval) if aval.dtype == dtypes.float0 else slots.zeros(aval))
    return result


def _linear_batch(
    values: Sequence[Any],
    dims: Sequence[Any],
    *,
    num_res: int,
    bwd: Hidden,
    out_avals: Any,
    nonzero: Any,
    in_avals: Any,
) -> tuple[list[Any], list[Any]]:
    """The linear call over a batch: every operand gets the axis in front; the backward rule runs under the batch."""
    axis = running_batch().axis
    size = axis.size
    moved = [move_batch_axis(value, dim, size, 0) for value, dim in zip(values, dims, strict=True)]

    def backward(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        arrays = [*residuals, *map(instantiate, cts)]

        def flat(*args: Any) -> list[Any]:
            found = bwd.call(args[:num_res], args[num_res:])
            return [
                slots.zeros(aval) if ct is None else instantiate(ct) for ct, aval in zip(found, in_avals, strict=True)
            ]

        outs, found = batch(flat, arrays, [0] * len(arrays), axis)
        return [move_batch_axis(out, dim, size, 0) for out, dim in zip(outs, found, strict=True)]

    def wide(avals: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(ShapedArray((size, *aval.shape), aval.dtype) for aval in avals)

    outs = custom_linear_p.bind(
        *moved, num_res=num_res, bwd=Hidden(backward, bwd.name), out_avals=wide(out_avals), nonzero=nonzero,
        in_avals=wide(in_avals),
    )  # fmt: skip
    return outs, [0] * len(outs)


def _linear_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, num_res: int, **params: Any) -> Any:
    if any(type(t) is not Zero for t in tangents[:num_res]):
        raise TypeError(_FORWARD_MODE)
    outs = custom_linear_p.bind(*primals, num_res=num_res, **params)
    return outs, custom_linear_p.bind(
        *primals[:num_res], *map(instantiate, tangents[num_res:]), num_res=num_res, **params
    )


custom_linear_p.impl = _refuse_forward
custom_linear_p.type_rule, custom_linear_p.divides = _linear_type, as_typed
custom_linear_p.lower[None] = _refuse_forward
custom_linear_p.transpose = _linear_transpose
custom_linear_p.batch = _linear_batch
custom_linear_p.jvp = _linear_jvp
