"""``sparsify``: functions of dense arrays applied to sparse ones, operation by operation.

The function is traced for dense arrays of the same shapes, and the program that comes of it runs on the sparse ones, by a
rule for each operation that has to do with one.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import arrax.numpy as jnp
from arrax.core.calls import check_callable
from arrax.core.function_info import describe_call
from arrax.core.functions import named_like
from arrax.core.interpreter import Primitive
from arrax.core.program import Atom, ClosedJaxpr, JaxprEqn, Literal
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.tracebacks import boundary
from arrax.core.types import ShapedArray, typeof
from arrax.experimental.sparse.base import JAXSparse
from arrax.experimental.sparse.compressed import BCSR
from arrax.experimental.sparse.convolutions import bcoo_conv_general_dilated
from arrax.experimental.sparse.coordinates import BCOO, bcoo_sum_duplicates, full
from arrax.experimental.sparse.fillings import Filled, is_elementwise, of_elements, once
from arrax.experimental.sparse.gathers import bcoo_gather
from arrax.experimental.sparse.layouts import bcoo_update_layout
from arrax.experimental.sparse.matrices import COO, CSC, CSR
from arrax.experimental.sparse.parts import bcoo_getitem, bcoo_reduce_sum, bcoo_slice, part_beginning_at
from arrax.experimental.sparse.products import (
    bcoo_dot_general,
    bcoo_multiply_sparse,
    beside_data,
    of_one_layout,
    times_dense,
)
from arrax.experimental.sparse.shapes import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_reshape,
    bcoo_rev,
    bcoo_squeeze,
    bcoo_transpose,
)
from arrax.interpreters.staging import stage
from arrax.lax import named_primitives as p
from arrax.lax.arithmetic import mul_p
from arrax.lax.axis_order import rev_p, transpose_p
from arrax.lax.barriers import stop_gradient_p
from arrax.lax.calls import jit_p
from arrax.lax.concatenation import concatenate_p, split_p
from arrax.lax.contractions import dot_general_p
from arrax.lax.control_flow.conditional_rules import cond_p
from arrax.lax.control_flow.conditionals import switch
from arrax.lax.control_flow.loop_rules import while_p
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.control_flow.scan_rules import scan_p
from arrax.lax.control_flow.scans import scan
from arrax.lax.conversion import convert_element_type_p
from arrax.lax.convolution_rules import conv_general_dilated_p
from arrax.lax.custom_rules import custom_jvp_call_p, custom_vjp_call_p
from arrax.lax.gathers import gather_p
from arrax.lax.placement import copy_p
from arrax.lax.remat import remat_p
from arrax.lax.rounding import reduce_precision_p
from arrax.lax.shapes import broadcast_in_dim_p, reshape_p, squeeze_p
from arrax.lax.slicing import dynamic_slice_p
from arrax.lax.stacking import stack_p, unstack_p
from arrax.lax.static_slicing import slice_p
from arrax.xla.arrays import Array

Value = Any  # a dense array, or a BCOO


def is_sparse(x: Any) -> bool:
    """Whether a value is a sparse array."""
    return isinstance(x, JAXSparse)


@boundary
def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """A function of dense arrays as one that takes sparse arrays too.

    Args:
      f: function of arrays or pytrees of them.
      use_tracer: accepted; both ways of the interface are one here.
    Returns: a function whose results are sparse where zeros stay zeros, and dense otherwise.
    Raises:
      NotImplementedError: an operation that would make a sparse array dense, or has no rule for sparse ones.
    Example: ``sparsify(lambda M, v: jnp.sin(M).T @ v)(BCOO.fromdense(jnp.eye(3)), jnp.ones(3))``.
    """
    check_callable(f)

    @boundary
    @named_like(f)
    def sparse_function(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs), is_leaf=is_sparse)
        values = [as_bcoo(leaf) for leaf in leaves]
        trees: dict[str, Any] = {}

        def flat(*dense: Array) -> list[Any]:
            own_args, own_kwargs = tree_unflatten(tree, dense)
            outs, trees["out"] = tree_flatten(f(*own_args, **own_kwargs), is_leaf=is_sparse)
            return outs

        avals = [ShapedArray(x.shape, x.dtype) if isinstance(x, BCOO) else typeof(x) for x in values]
        info = describe_call(f, "sparsify", *tree_unflatten(tree, avals))
        jaxpr, consts = stage(flat, avals, info)
        return tree_unflatten(trees["out"], evaluate(ClosedJaxpr(jaxpr, consts), values))

    return sparse_function


def as_bcoo(leaf: Any) -> Value:
    return leaf.to_bcoo() if isinstance(leaf, BCSR | COO | CSR | CSC) else leaf


def evaluate(program: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
    """The results of a program for arguments some of which are sparse.

    Raises:
      NotImplementedError: a result that would be dense, or an operation without a rule for sparse operands.
    """
    outs = _evaluated(program, args)
    _refuse_filled(outs)
    return outs


def _evaluated(program: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
    """Results some of which may be filled with other numbers than 0."""
    jaxpr = program.jaxpr
    known: dict[Any, Value] = dict(zip(jaxpr.constvars, program.consts, strict=True))
    known.update(zip(jaxpr.invars, args, strict=True))
    uniform: dict[Any, Value] = {}  # arrays of one number, by their variables

    def read(atom: Atom) -> Value:
        return atom.val if isinstance(atom, Literal) else known[atom]

    def element(atom: Atom) -> Value:
        value = uniform.get(atom) if not isinstance(atom, Literal) else None
        if value is not None:
            return value
        value = read(atom)
        if isinstance(value, BCOO) and not value.unique_indices:
            value = known[atom] = once(value)
        return value

    for eqn in jaxpr.eqns:
        values = [read(atom) for atom in eqn.invars]
        if any(isinstance(value, BCOO | Filled) for value in values):
            outs = _applied(eqn, values, element)
        else:
            found = eqn.primitive.bind(*values, **eqn.params)
            outs = found if eqn.primitive.multiple_results else [found]
            if eqn.primitive is broadcast_in_dim_p and jnp.ndim(values[0]) == 0:
                uniform[eqn.outvars[0]] = values[0]
        known.update(zip(eqn.outvars, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _refuse_filled(values: Sequence[Value]) -> None:
    for value in values:
        if isinstance(value, Filled):
            raise NotImplementedError(
                f"{value.reason} of a sparse array would be dense: where that is meant, make the operand dense first, by "
                "sparse.todense()."
            )


def _applied(eqn: JaxprEqn, values: list[Value], element: Callable[[Atom], Value]) -> list[Value]:
    primitive, rule = eqn.primitive, _RULES.get(eqn.primitive)
    if primitive in _CALLS:
        return _evaluated(eqn.params[_CALLS[primitive]], values)
    if is_elementwise(primitive):
        if rule is None or all(value.unique_indices for value in values if isinstance(value, BCOO)):
            found = of_elements(primitive, list(map(element, eqn.invars)), eqn.params)
            if found is not None:
                return [found]
    _refuse_filled(values)
    if rule is None:
        raise NotImplementedError(f"sparse rule for {primitive.name} is not implemented.")
    outs = rule(*values, **eqn.params)
    return list(outs) if primitive.multiple_results else [outs]


# ---- elementwise, by rules of their own: for operands of other indices, or without a look at the indices -------------------

_LINEAR = (p.neg_p, p.real_p, p.imag_p, convert_element_type_p, copy_p, reduce_precision_p, stop_gradient_p)


def _linear(primitive: Primitive) -> Callable[..., BCOO]:
    return lambda mat, **params: mat._with(primitive.bind(mat.data, **params))


def _sum(x: Value, y: Value, sign: int) -> Value:
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        if x.shape != y.shape:
            raise NotImplementedError(f"Addition between sparse matrices of different shapes, {x.shape} and {y.shape}.")
        x, y = of_one_layout(x, y)
        (data, indices), (more, more_indices) = full(x), full(y)
        joined = (
            jnp.concatenate([data, more if sign > 0 else -more], x.n_batch),
            jnp.concatenate([indices, more_indices], x.n_batch),
        )
        return BCOO(joined, shape=x.shape)
    mat, dense = (x, y) if isinstance(x, BCOO) else (y, x)
    if jnp.shape(dense) != mat.shape:
        raise NotImplementedError(
            "Addition between a sparse array and a dense one of fewer elements is not implemented, since the result is dense. "
            "If this is your intent, use sparse.todense() to convert the sparse array first."
        )
    left, right = (value.todense() if isinstance(value, BCOO) else value for value in (x, y))
    return left + right if sign > 0 else left - right


def _mul(x: Value, y: Value, **params: Any) -> Value:
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        return bcoo_multiply_sparse(x, y)
    return times_dense(x, y) if isinstance(x, BCOO) else times_dense(y, x)


def _div(x: Value, y: Value, **params: Any) -> Value:
    if isinstance(y, BCOO):
        raise NotImplementedError(
            "Division by a sparse array would give infinities or NaN where it has zeros: where that is meant, make the operand "
            "dense first, by sparse.todense()."
        )
    data, indices = full(x)
    return BCOO((data / beside_data(x, y, outside=1), indices), shape=x.shape)


# ---- shapes and contractions ----------------------------------------------------------------------------------------------


def _reshape(x: BCOO, *shape: Any, new_sizes: tuple[int, ...], dimensions: Any = None, **params: Any) -> BCOO:
    return bcoo_reshape(x, new_sizes=new_sizes, dimensions=dimensions)


def _dynamic_slice(x: Value, *starts: Any, slice_sizes: Any, **params: Any) -> BCOO:
    return part_beginning_at(x, starts, slice_sizes)


def _concatenate(*operands: Value, dimension: int, **params: Any) -> BCOO:
    if not all(isinstance(x, BCOO) for x in operands):
        raise NotImplementedError("concatenation of sparse arrays with dense ones is not implemented")
    return bcoo_concatenate(operands, dimension=dimension)


def _dot_general(
    x: Value,
    y: Value,
    *,
    dimension_numbers: tuple[Any, ...],
    preferred_element_type: np.dtype | None = None,
    **params: Any,
) -> Value:
    return bcoo_dot_general(x, y, dimension_numbers=dimension_numbers, preferred_element_type=preferred_element_type)


# ---- programs inside ------------------------------------------------------------------------------------------------------


def _like(value: Value, model: Value, construct: str) -> Value:
    """A carried value in the form that it came in.

    Raises:
      TypeError: it cannot be.
    """
    if isinstance(model, BCOO) and isinstance(value, BCOO) and value.nse > model.nse:
        value = bcoo_sum_duplicates(value, nse=model.nse)
    if isinstance(model, BCOO) != isinstance(value, BCOO) or (isinstance(model, BCOO) and value.nse != model.nse):
        raise TypeError(f"sparsify of {construct}: a carried value comes as {model!r} and leaves as {value!r}")
    return (
        BCOO.tree_unflatten(model.tree_flatten()[1], (value.data, value.indices)) if isinstance(model, BCOO) else value
    )


def _carried(mat: Value) -> Value:
    """A value to be carried: nothing is said about the order of its indices."""
    return BCOO(full(mat), shape=mat.shape) if isinstance(mat, BCOO) else mat


def _of_rows(x: Value) -> Value:
    """A value whose first axis, along which a loop goes, is one of the batch."""
    if not isinstance(x, BCOO) or x.n_batch:
        return x
    return bcoo_update_layout(x, n_batch=1, n_dense=min(x.n_dense, x.ndim - 1), on_inefficient=None)


def _scan(*values: Value, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: int, reverse: bool, unroll: int,
          **params: Any) -> list[Value]:  # fmt: skip
    consts, carry, xs = (
        values[:num_consts],
        values[num_consts : num_consts + num_carry],
        values[num_consts + num_carry :],
    )
    rows = list(map(_of_rows, xs))

    def body(carry: list[Value], row: list[Value]) -> tuple[list[Value], list[Value]]:
        outs = evaluate(jaxpr, [*consts, *carry, *row])
        kept = [_like(out, own, "scan") for out, own in zip(outs[:num_carry], carry, strict=True)]
        return kept, outs[num_carry:]

    final, ys = scan(body, list(map(_carried, carry)), rows, length=length, reverse=reverse, unroll=unroll)
    return [*final, *ys]


def _while(*values: Value, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int,
           **params: Any) -> list[Value]:  # fmt: skip
    count = cond_nconsts + body_nconsts
    cond_consts, body_consts, init = values[:cond_nconsts], values[cond_nconsts:count], values[count:]

    def body(carry: list[Value]) -> list[Value]:
        outs = evaluate(body_jaxpr, [*body_consts, *carry])
        return [_like(out, own, "while_loop") for out, own in zip(outs, carry, strict=True)]

    return while_loop(lambda carry: evaluate(cond_jaxpr, [*cond_consts, *carry])[0], body, list(map(_carried, init)))


def _cond(index: Any, *operands: Value, branches: Sequence[ClosedJaxpr], **params: Any) -> list[Value]:
    functions = [functools.partial(_branch, branch) for branch in branches]
    return switch(index, functions, *operands)


def _branch(program: ClosedJaxpr, *operands: Value) -> list[Value]:
    return list(map(_carried, evaluate(program, operands)))


def _split(x: BCOO, *, sizes: Sequence[int], axis: int) -> list[BCOO]:
    before = (slice(None),) * axis
    ends = itertools.accumulate(sizes)
    return [bcoo_getitem(x, (*before, slice(end - size, end))) for size, end in zip(sizes, ends, strict=True)]


def _unstack(x: BCOO, *, axis: int) -> list[BCOO]:
    return [bcoo_squeeze(piece, dimensions=(axis,)) for piece in _split(x, sizes=(1,) * x.shape[axis], axis=axis)]


def _stack(*values: Value, axis: int) -> Value:
    shape = (*values[0].shape[:axis], 1, *values[0].shape[axis:])
    kept = [dim for dim in range(len(shape)) if dim != axis]
    grown = (
        bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=kept) if isinstance(x, BCOO) else x for x in values
    )
    return _concatenate(*grown, dimension=axis)


def _reduce_sum(x: BCOO, *, axes: Sequence[int], **params: Any) -> Value:
    """A sum over all axes is a number, and not sparse."""
    total = bcoo_reduce_sum(x, axes=axes)
    return total if total.ndim else total.todense()


_RULES: dict[Primitive, Callable[..., Any]] = {
    **{primitive: _linear(primitive) for primitive in _LINEAR},
    p.add_p: lambda x, y, **params: _sum(x, y, 1),
    p.sub_p: lambda x, y, **params: _sum(x, y, -1),
    mul_p: _mul,
    p.div_p: _div,
    p.reduce_sum_p: _reduce_sum,
    transpose_p: lambda x, *, permutation: bcoo_transpose(x, permutation=permutation),
    reshape_p: _reshape,
    squeeze_p: lambda x, *, dimensions: bcoo_squeeze(x, dimensions=dimensions),
    broadcast_in_dim_p: lambda x, *lengths, shape, broadcast_dimensions, **params: bcoo_broadcast_in_dim(
        x, shape=shape, broadcast_dimensions=broadcast_dimensions
    ),
    concatenate_p: _concatenate,
    split_p: _split,
    stack_p: _stack,
    unstack_p: _unstack,
    slice_p: lambda x, *, start_indices, limit_indices, strides: bcoo_slice(
        x, start_indices=start_indices, limit_indices=limit_indices, strides=strides
    ),
    dynamic_slice_p: _dynamic_slice,
    gather_p: lambda x, indices, *, dimension_numbers, slice_sizes, mode, fill_value, **params: bcoo_gather(
        x, indices, dimension_numbers, slice_sizes, mode=mode, fill_value=fill_value
    ),
    rev_p: lambda x, *, dimensions: bcoo_rev(x, dimensions),
    dot_general_p: _dot_general,
    conv_general_dilated_p: lambda x, y, **params: bcoo_conv_general_dilated(x, y, **params),
    scan_p: _scan,
    while_p: _while,
    cond_p: _cond,
}

# the programs inside, by the names of their parameters
_CALLS = {jit_p: "jaxpr", remat_p: "jaxpr", custom_jvp_call_p: "call_jaxpr", custom_vjp_call_p: "call_jaxpr"}
