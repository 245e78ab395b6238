"""Computations on scalars, which reductions take: staged programs, and the well-known ones among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core.function_info import describe_call
from arrax.core.interpreter import Tracer, concrete_value
from arrax.core.program import ClosedJaxpr
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import ShapedArray, is_arraylike, typeof
from arrax.interpreters.batching import batch, bdim_at_front
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import inline_program
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.arithmetic import add, max_, min_, mul
from arrax.lax.bitwise import bitwise_and, bitwise_or, bitwise_xor
from arrax.lax.conversion import convert
from arrax.lax.operand_checks import checked_operand, kind_of, scalar_like
from arrax.lax.shapes import broadcast_in_dim, reshape

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef
    from arrax.interpreters.annotations import Value
    from arrax.native.mlir import ir
    from arrax.xla.arrays import Array, ArrayLike


def min_value(dtype: np.dtype) -> ArrayLike:
    """What every number is at least."""
    if dtype == np.bool_:
        return False
    if kind_of(dtype) in ("signed", "unsigned"):
        return dtypes.iinfo(dtype).min
    if kind_of(dtype) == "complex":
        return complex(-np.inf, -np.inf)
    infinite = np.asarray(-np.inf).astype(dtype)
    return infinite if np.isinf(infinite.astype(np.float32)) else dtypes.finfo(dtype).min


def max_value(dtype: np.dtype) -> ArrayLike:
    """What every number is at most."""
    if dtype == np.bool_:
        return True
    if kind_of(dtype) in ("signed", "unsigned"):
        return dtypes.iinfo(dtype).max
    if kind_of(dtype) == "complex":
        return complex(np.inf, np.inf)
    infinite = np.asarray(np.inf).astype(dtype)
    return infinite if np.isinf(infinite.astype(np.float32)) else dtypes.finfo(dtype).max


class Monoid(NamedTuple):
    """An associative operation with its neutral element."""

    combine: Any  # the public function
    neutral: Callable[[Any], Any]  # dtype -> value

    def identity(self, dtype: np.dtype) -> np.ndarray:
        """The neutral element as a NumPy scalar of a dtype."""
        return np.asarray(self.neutral(dtype)).astype(dtype)

    def lower(self, ctx: LoweringContext, dtype: np.dtype, x: Value, y: Value) -> Any:
        """The operation on two scalars, at the current insertion point."""
        primitive, aval = self.combine.primitive, ShapedArray((), dtype)
        inner = ctx.replace(primitive=primitive, avals_in=[aval, aval], avals_out=[aval])
        return primitive.lower[None](inner, x, y)[0]

    def lower_in_window(self, ctx: LoweringContext, dtype: np.dtype, x: Value, y: Value) -> Value:
        """The operation on two scalars inside a window reduction.

        Compilers for CPUs drop NaN from minima and maxima there: a comparison keeps it.
        """
        if ctx.platform != "cpu" or not drops_nan(self, dtype):
            return self.lower(ctx, dtype, x, y)
        aval, flag = ShapedArray((), dtype), ShapedArray((), np.dtype(np.bool_))
        better = builder.compare("GT" if self is maximum else "LT", (), x, y)
        return builder.op("select", aval, builder.op("or", flag, better, builder.compare("NE", (), x, x)), x, y)


def drops_nan(monoid: Monoid, dtype: np.dtype) -> bool:
    """Whether compiled reductions by a monoid may lose NaN: XLA's compiler for CPUs does so in minima and maxima."""
    return monoid in (maximum, minimum) and kind_of(dtype) == "floating"


sum_ = Monoid(add, lambda dtype: 0)
product = Monoid(mul, lambda dtype: 1)
maximum = Monoid(max_, min_value)
minimum = Monoid(min_, max_value)
conjunction = Monoid(bitwise_and, lambda dtype: True if dtype == np.bool_ else -1)
disjunction = Monoid(bitwise_or, lambda dtype: 0)
parity = Monoid(bitwise_xor, lambda dtype: 0)

_BY_PRIMITIVE = {
    monoid.combine.primitive: monoid for monoid in (sum_, product, maximum, minimum, conjunction, disjunction, parity)
}


def monoid_of(program: ClosedJaxpr) -> Monoid | None:
    """The monoid that a program on two scalars computes, where it is one operation on them."""
    jaxpr = program.jaxpr
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2 or len(jaxpr.outvars) != 1:
        return None
    eqn = jaxpr.eqns[0]
    if jaxpr.outvars[0] is not eqn.outvars[0] or {id(atom) for atom in eqn.invars} != {id(var) for var in jaxpr.invars}:
        return None
    found = _BY_PRIMITIVE.get(eqn.primitive)
    if found is not None and jaxpr.invars[0].aval.dtype == np.bool_:
        return {sum_: disjunction, product: conjunction}.get(found, found)
    return found


class Operands(NamedTuple):
    """Flat operands of a reduction with their initial values and the staged computation."""

    arrays: list[Any]
    inits: list[Any]
    program: ClosedJaxpr
    tree: Any


def read_operands(name: str, operands: ArrayLike, init_values: ArrayLike, computation: Callable[..., Any]) -> Operands:
    """Flatten and check what a reduction with any computation is given.

    Raises:
      ValueError: trees, shapes or initial values that don't fit each other.
      TypeError: dtypes that differ (a sum, product, extremum or the like converts its initial value), or a computation that does not return what it is given.
    """
    # scalars are operands, whatever their class is registered as
    arrays, tree = tree_flatten(operands, is_leaf=is_arraylike)
    inits, init_tree = tree_flatten(init_values, is_leaf=is_arraylike)
    if tree != init_tree:
        raise ValueError(
            f"{name}: operands and initial values must have the same tree structure, got {tree} and {init_tree}"
        )
    if not arrays:
        raise ValueError(f"{name} requires at least one operand")
    arrays = [checked_operand(name, x) for x in arrays]
    avals = [typeof(x) for x in arrays]
    if len({aval.shape for aval in avals}) > 1:
        raise ValueError(f"{name} requires operands of equal shapes, got {[aval.shape for aval in avals]}")
    inits = [
        scalar_like(init, aval) if type(init) in (bool, int, float, complex) else checked_operand(name, init)
        for init, aval in zip(inits, avals, strict=True)
    ]
    program = _stage_computation(name, computation, [aval.dtype for aval in avals], tree)
    if monoid_of(program) is not None:  # of the well-known ones the operand's dtype decides
        inits = [init if typeof(init).dtype == avals[0].dtype else convert(init, avals[0].dtype) for init in inits]
    _check_inits(name, avals, [typeof(init) for init in inits])
    return Operands(arrays, inits, program, tree)


def _check_inits(name: str, avals: Sequence[ShapedArray], inits: Sequence[ShapedArray]) -> None:
    if any(init.shape for init in inits):
        kind = TypeError if name.startswith("reduce_window") else ValueError
        raise kind(f"{name} found non-scalar initial value: {[init.shape for init in inits]}")
    for aval, init in zip(avals, inits, strict=True):
        if aval.dtype != init.dtype:
            raise TypeError(
                f"{name} requires operands and initial values of the same dtypes, got {aval.str_short(True)} with an "
                f"initial value of type {init.str_short(True)}"
            )


def _stage_computation(
    name: str, computation: Callable[..., Any], element_types: Sequence[Any], tree: PyTreeDef
) -> ClosedJaxpr:
    scalars = [ShapedArray((), dtype) for dtype in element_types]
    found: list[Any] = []

    def flat(*values: Array) -> list[Any]:
        x, y = (tree_unflatten(tree, part) for part in (values[: len(scalars)], values[len(scalars) :]))
        leaves, out_tree = tree_flatten(computation(x, y))
        found.append(out_tree)
        return leaves

    pair = [tree_unflatten(tree, scalars)] * 2
    jaxpr, consts = stage(flat, [*scalars, *scalars], describe_call(computation, name, pair))
    if found[0] != tree:
        raise TypeError(f"{name}: the computation must return the structure that it is given, {tree}, got {found[0]}")
    for atom, scalar in zip(jaxpr.outvars, scalars, strict=True):
        if (atom.aval.shape, atom.aval.dtype) != ((), scalar.dtype):
            raise TypeError(
                f"{name}: the computation must return {scalar.str_short(True)}, got {atom.aval.str_short(True)}"
            )
    if any(isinstance(const, Tracer) for const in consts):
        raise TypeError(f"{name}: the computation must not close over traced values")
    return ClosedJaxpr(jaxpr, consts)


def is_identity(init: ArrayLike, monoid: Monoid, dtype: np.dtype) -> bool:
    """True for an initial value that is known to be the neutral element."""
    value = concrete_value(init)
    return value is not None and bool(np.asarray(value) == monoid.identity(dtype))


def apply_elementwise(program: ClosedJaxpr, values: Sequence[Any]) -> list[Any]:
    """Apply a program on scalars to the elements of arrays of one shape; scalars among them repeat."""
    shape = max((typeof(value).shape for value in values), key=len)
    if shape == ():
        return eval_jaxpr(program.jaxpr, program.consts, *values)
    dims = [0 if typeof(value).shape == shape else None for value in values]
    rows = [
        value if dim is None else reshape(value, (typeof(value).size,)) for value, dim in zip(values, dims, strict=True)
    ]
    size = next(typeof(row).shape[0] for row, dim in zip(rows, dims, strict=True) if dim == 0)
    outs, out_dims = batch(lambda *xs: eval_jaxpr(program.jaxpr, program.consts, *xs), rows, dims)
    return [reshape(bdim_at_front(out, dim, size), shape) for out, dim in zip(outs, out_dims, strict=True)]


def repeat(value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """A scalar repeated to a shape."""
    return broadcast_in_dim(value, shape, ())


def fill_region(
    ctx: LoweringContext,
    operation: ir.Operation,
    index: int,
    element_types: Sequence[Any],
    body: Callable[..., Sequence[Any]],
) -> None:
    """Build the region of a reduction, which takes two scalars of each dtype, by ``body(*scalars)``."""
    scalars = [ShapedArray((), dtype) for dtype in element_types]
    block = builder.block_with(operation, index, [*scalars, *scalars])
    with builder.inside(block):
        builder.return_(body(*block.arguments))


def program_body(ctx: LoweringContext, program: ClosedJaxpr) -> Callable[..., Sequence[Any]]:
    """The body of a region that runs a program."""
    return lambda *scalars: inline_program(ctx.module_context, program, scalars)
