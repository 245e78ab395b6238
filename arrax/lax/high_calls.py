"""Calls of operations whose rules are methods of a class (``VJPHiPrimitive``): how programs hold, differentiate and map them.

In a program such a call is one operation. Its derivative is one, too, as long as it is not known in which direction it will
be taken: forwards it does what the class says of tangents, backwards what it says of cotangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from arrax.core.interpreter import Primitive, is_concrete
from arrax.core.pytree_prefixes import flatten_axes
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from arrax.core.types import Zero, instantiate, type_of_any, typeof
from arrax.interpreters.ad.forward import jvp
from arrax.interpreters.ad.transpose import is_undefined_primal
from arrax.interpreters.batching import BatchTracer, batch_within, running_batch
from arrax.interpreters.high_types import inner_operation_p, is_high
from arrax.interpreters.lowering.module import lower_fun
from arrax.interpreters.staging import Staging
from arrax.lax.high_mapped import VmapOf
from arrax.lax.high_primitives import Accumulator, NullAccumulator, VJPHiPrimitive, high_call_p

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike

high_linear_p = Primitive("call_hi_primitive_linearized", multiple_results=True)


# ---- the call ---------------------------------------------------------------------------------------------------------


def run(*values: Any, _prim: VJPHiPrimitive) -> list[Any]:
    """The results of a call, by the operations that it stands for."""
    return _prim.leaves("expand", _prim.expand(*tree_unflatten(_prim.in_tree, values)))


def _checked(*values: Any, _prim: VJPHiPrimitive) -> list[Any]:
    outs = run(*values, _prim=_prim)
    for out, aval in zip(outs, _prim.out_avals_flat, strict=True):
        found = typeof(out)
        if (found.shape, found.dtype) != (aval.shape, aval.dtype):
            raise TypeError(
                f"{_prim.name}.expand: a result is {found.str_short(True)}, but out_aval says {aval.str_short(True)}"
            )
    return outs


def _stage(interpreter: Staging, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Programs hold arrays: with values of types of a library's own, the operations that it stands for are recorded."""
    avals = list(map(type_of_any, args))
    if not any(map(is_high, (*avals, *params["_prim"].out_avals_flat))):
        return interpreter.record(high_call_p, tuple(args), params)
    return run(*(_guarded(arg, aval, params["_prim"]) for arg, aval in zip(args, avals, strict=True)), **params)


def _guarded(arg: Any, aval: Any, prim: VJPHiPrimitive) -> Any:
    arrays = [inner_operation_p.bind(array, of=prim.name) for array in aval.lower_val(arg)]
    return aval.raise_val(*arrays)


def _refuse_derivative(primals: Sequence[Any], tangents: Sequence[Any], *, of: str) -> Any:
    raise NotImplementedError(
        f"{of}: a program in which it has operands or results of types of a library's own holds what it stands for, without "
        "its rules: differentiate inside of jit, loops and branches rather than around them"
    )


def _batch(values: Sequence[Any], dims: Sequence[Any], *, _prim: VJPHiPrimitive) -> tuple[list[Any], list[Any]]:
    axis = running_batch().axis
    args, in_dims = (tree_unflatten(_prim.in_tree, each) for each in (values, dims))
    if not _prim.defines("batch") and _prim.defines("batch_dim_rule"):
        mapped = VmapOf(_prim, axis, in_dims, _prim.batch_dim_rule(axis, in_dims))
        return tree_flatten(mapped(*args))[0], mapped.flat_out
    out, out_dims = _prim.batch(axis, args, in_dims)
    return _prim.leaves("batch", out), flatten_axes(f"{_prim.name}.batch", _prim.out_tree, out_dims)


def _transpose(cts: Sequence[Any], *args: Any, _prim: VJPHiPrimitive) -> list[Any]:
    wanted = [Accumulator(arg.aval.to_tangent_aval()) if is_undefined_primal(arg) else arg for arg in args]
    _prim.transpose(tree_unflatten(_prim.out_tree, cts), *tree_unflatten(_prim.in_tree, wanted))
    return [each.freeze() if isinstance(each, Accumulator) else None for each in wanted]


# ---- its derivative ---------------------------------------------------------------------------------------------------


class _Kept(NamedTuple):
    """What a derivative keeps, of which arrays are operands of the operation.

    Attributes:
      tree: its structure. others: the leaves that are not arrays, by their places; values of a library's own types among them.
    """

    tree: PyTreeDef
    others: dict[int, Any]

    @classmethod
    def of(cls, values: Any) -> tuple[list[Any], _Kept]:
        leaves, tree = tree_flatten(values)
        others = {n: leaf for n, leaf in enumerate(leaves) if _is_other(leaf)}
        return [leaf for n, leaf in enumerate(leaves) if n not in others], cls(tree, others)

    def num_arrays(self) -> int:
        return self.tree.num_leaves - len(self.others)

    def values(self, arrays: Sequence[Any]) -> Any:
        rest = iter(arrays)
        leaves = [self.others[n] if n in self.others else next(rest) for n in range(self.tree.num_leaves)]
        return tree_unflatten(self.tree, leaves)


def _is_other(leaf: Any) -> bool:
    try:
        return is_high(type_of_any(leaf))
    except (TypeError, OverflowError):
        return True


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, _prim: VJPHiPrimitive) -> tuple[list[Any], list[Any]]:
    """The derivative. Where tangents are known, or there is no rule for the other direction, it is taken at once."""
    if not (_prim.defines("vjp_fwd") or _prim.differentiates_forwards):
        raise _prim.missing("differentiation", "vjp_fwd, or jvp")
    if not _prim.defines("vjp_fwd") or all(type(t) is Zero or _is_known(t) for t in tangents):
        return _prim.forwards(primals, tangents)
    out, residuals = _prim.vjp_fwd(_prim.nonzeros(tangents), *tree_unflatten(_prim.in_tree, primals))
    outs = _prim.leaves("vjp_fwd", out)
    arrays, kept = _Kept.of((residuals, list(primals) if _prim.differentiates_forwards else ()))
    given = [t for t in tangents if type(t) is not Zero]
    out_tangents = high_linear_p.bind(
        *arrays, *given, _prim=_prim, kept=kept, in_avals=tuple(t.aval for t in map(_zero_like, tangents)),
        nonzero=tuple(type(t) is not Zero for t in tangents),
        out_avals=tuple(aval.to_tangent_aval() for aval in map(type_of_any, outs)),
    )  # fmt: skip
    return outs, list(out_tangents)


def _is_known(tangent: Any) -> bool:
    """Whether a tangent has elements already: the derivative is taken forwards then."""
    while type(tangent) is BatchTracer:
        tangent = tangent.value
    return is_concrete(tangent)


def _zero_like(tangent: Any) -> Zero:
    return tangent if type(tangent) is Zero else Zero(type_of_any(tangent))


def _with_zeros(given: Sequence[Any], nonzero: Sequence[bool], in_avals: Sequence[Any]) -> list[Any]:
    rest = iter(given)
    return [next(rest) if nz else Zero(aval) for nz, aval in zip(nonzero, in_avals, strict=True)]


def _run_forward(
    *args: Any, _prim: VJPHiPrimitive, kept: _Kept, nonzero: Sequence[bool], in_avals: Sequence[Any], out_avals: Any
) -> list[Any]:
    count = kept.num_arrays()
    _, primals = kept.values(args[:count])
    if not _prim.differentiates_forwards:
        raise _prim.missing("forward-mode differentiation", "jvp")
    return list(map(instantiate, _prim.forwards(primals, _with_zeros(args[count:], nonzero, in_avals))[1]))


def _run_backward(
    cts: Sequence[Any], *args: Any, _prim: VJPHiPrimitive, kept: _Kept, nonzero: Sequence[bool], in_avals: Sequence[Any],
    out_avals: Any,
) -> list[Any]:  # fmt: skip
    count = kept.num_arrays()
    residuals, _ = kept.values(args[:count])
    sums = [(Accumulator if nz else NullAccumulator)(aval) for nz, aval in zip(nonzero, in_avals, strict=True)]
    _prim.vjp_bwd(residuals, tree_unflatten(_prim.out_tree, cts), *tree_unflatten(_prim.in_tree, sums))
    return [None] * count + [each.freeze() for each, nz in zip(sums, nonzero, strict=True) if nz]


def _linear_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    """The derivative of the derivative: that of what it does forwards."""
    return jvp(_of(params), primals, tangents)


def _linear_batch(values: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    return batch_within(running_batch(), _of(params), values, dims)


def _of(params: dict[str, Any]) -> Callable[..., list[Any]]:
    def fun(*args: ArrayLike) -> list[Any]:
        return _run_forward(*args, **params)

    return fun


inner_operation_p.impl = lambda x, of: x
inner_operation_p.type_rule = lambda aval, of: aval
inner_operation_p.lower[None] = lambda ctx, x, of: [x]
inner_operation_p.jvp = _refuse_derivative
inner_operation_p.batch = lambda values, dims, of: (inner_operation_p.bind(*values, of=of), dims[0])
high_call_p.impl = run
high_call_p.stage = _stage
high_call_p.type_rule = lambda *avals, _prim: list(_prim.out_avals_flat)
high_call_p.lower[None] = lower_fun(_checked)
high_call_p.jvp = _jvp
high_call_p.batch = _batch
high_call_p.transpose = _transpose
high_linear_p.impl = _run_forward
high_linear_p.type_rule = lambda *avals, out_avals, **params: list(out_avals)
high_linear_p.lower[None] = lower_fun(_run_forward)
high_linear_p.jvp = _linear_jvp
high_linear_p.transpose = _run_backward
high_linear_p.batch = _linear_batch
high_linear_p.hidden_params = frozenset({"kept", "in_avals", "out_avals"})
