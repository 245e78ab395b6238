"""What changes how values flow but not the values: stopped gradients, optimization barriers, tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.effects import Effect
from arrax.core.explicit_axes import as_typed
from arrax.core.interpreter import Primitive, context
from arrax.core.operand_memories import memories_of_operands
from arrax.core.pytrees import tree_flatten, tree_map, tree_unflatten
from arrax.core.types import Zero, instantiate, slots, typeof
from arrax.dtypes import DTypeLike
from arrax.dtypes.canonical import warn_user
from arrax.interpreters.ad.transpose import instantiate_all
from arrax.interpreters.lowering import builder
from arrax.lax.filled_arrays import full
from arrax.lax.host_functions import HostFunction, lower_host_call
from arrax.lax.operand_checks import checked_operand
from arrax.lax.shape_arguments import canonical_shape
from arrax.xla.annotations import OptionalSharding, Shape, Tree
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext

stop_gradient_p = Primitive("stop_gradient")
stop_gradient_p.type_rule, stop_gradient_p.divides = lambda aval: aval, as_typed
stop_gradient_p.lower[None] = lambda ctx, x: [x]
stop_gradient_p.impl = lambda x: x
stop_gradient_p.batch = lambda values, dims: (stop_gradient_p.bind(*values), dims[0])


def _no_tangent(primals: Sequence[ArrayLike], tangents: Sequence[Tangent]) -> tuple[Any, Any]:
    out = stop_gradient_p.bind(*primals)
    return out, Zero.of(out)


stop_gradient_p.jvp = _no_tangent
stop_gradient_p.transpose = lambda ct, x: [Zero(x.aval.to_tangent_aval())]  # of a value that is linear in others


def stop_gradient(x: Tree) -> Tree:
    """The value itself, of which no derivative is taken.

    Args:
      x: array or pytree of arrays.
    Example: ``grad(lambda x: x * lax.stop_gradient(x))(3.)`` is 3.
    """

    def stop(leaf: ArrayLike) -> ArrayLike:
        aval = typeof(leaf)
        if isinstance(aval.dtype, dtypes.ExtendedDType) or not dtypes.is_inexact(aval.dtype):
            return leaf
        return context.interpreter.process(stop_gradient_p, (checked_operand("stop_gradient", leaf),), {})

    return tree_map(stop, x)


optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True)
optimization_barrier_p.type_rule, optimization_barrier_p.divides = lambda *avals: list(avals), as_typed
optimization_barrier_p.memories = memories_of_operands
optimization_barrier_p.batch = lambda values, dims: (optimization_barrier_p.bind(*values), list(dims))
optimization_barrier_p.transpose = lambda cts, *operands: optimization_barrier_p.bind(*instantiate_all(cts))


def _lower_barrier(ctx: LoweringContext, *values: Value) -> list[Value]:
    types = [builder.ir_type(aval) for aval in ctx.avals_out]
    return list(builder.operation("stablehlo.optimization_barrier", types, values).results) if values else []


def _barrier_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent]) -> tuple[Any, Any]:
    return optimization_barrier_p.bind(*primals), optimization_barrier_p.bind(*map(instantiate, tangents))


optimization_barrier_p.lower[None] = _lower_barrier
optimization_barrier_p.jvp = _barrier_jvp


def optimization_barrier(operand: Tree, /) -> Tree:
    """The values themselves, across which the compiler moves no operation.

    Args:
      operand: array or pytree of arrays.
    Example: ``lax.optimization_barrier((x, y))``. Source: StableHLO ``optimization_barrier``.
    """
    leaves, tree = tree_flatten(operand)
    return tree_unflatten(tree, optimization_barrier_p.bind(*leaves))


def tie_in(x: ArrayLike, y: ArrayLike) -> ArrayLike:
    """``y``: kept for programs from before every operation was staged.

    Args:
      x: anything.
      y: the result.
    Example: ``lax.tie_in(1., 2.)`` is 2, with a ``DeprecationWarning``.
    """
    warn_user("lax.tie_in is deprecated: it gives its second argument, and nothing else", DeprecationWarning)
    return y


def dtype(x: ArrayLike, *, canonicalize: bool = False) -> np.dtype:
    """The dtype of a value: of a Python number, that of the array that it becomes.

    Args:
      x: array, number, dtype or scalar type.
      canonicalize: whether 64-bit types become 32-bit ones where those are off.
    Raises: ValueError for None.
    Example: ``lax.dtype(1.)`` is float32.
    """
    if x is None:
        raise ValueError("dtype: None has no dtype")
    return dtypes.dtype(x, canonicalize=canonicalize or isinstance(x, int | float | complex))


def empty(shape: Shape, dtype: DTypeLike, *, out_sharding: OptionalSharding = None) -> Array:
    """Zeros: there are no uninitialized arrays.

    Args:
      shape: sequence of ints.
      dtype: of the elements.
      out_sharding: how the result is divided over a mesh.
    Example: ``lax.empty((2,), jnp.float32)``.
    """
    value = full(canonical_shape(shape, "empty"), 0, dtype)
    return value if out_sharding is None else slots.as_asked(out_sharding, lambda: value)


def shape_as_value(shape: Shape) -> Array:
    """The lengths of a shape, as operands.

    Args:
      shape: sequence of ints.
    Example: ``lax.shape_as_value((2, 3))``.
    """
    return np.asarray(canonical_shape(shape), np.int32)  # type: ignore[return-value]


# ---- values that stay in the program --------------------------------------------------------------------------------

stage_p = Primitive("stage")
stage_p.type_rule, stage_p.divides = lambda aval: aval, as_typed
stage_p.lower[None] = lambda ctx, x: [x]
stage_p.batch = lambda values, dims: (stage_p.bind(*values), dims[0])
stage_p.jvp = lambda primals, tangents: (
    stage_p.bind(*primals), tangents[0] if type(tangents[0]) is Zero else stage_p.bind(*tangents)
)  # fmt: skip
stage_p.transpose = lambda ct, x: [ct]


def stage(x: ArrayLike, /) -> Array:
    """The value itself, as an array: a constant becomes one of the program's values.

    Args:
      x: array or number.
    Example: ``lax.stage(1.)`` is an array.
    """
    return stage_p.bind(checked_operand("stage", x))


keep_effect = Effect("keep")  # what has it is never left out

dce_sink_p = Primitive("dce_sink", multiple_results=True)
dce_sink_p.type_rule = lambda aval, *, prevent_mlir_dce: []
dce_sink_p.effects_rule = lambda aval, *, prevent_mlir_dce: frozenset({keep_effect})
dce_sink_p.impl = lambda x, *, prevent_mlir_dce: []
dce_sink_p.batch = lambda values, dims, **params: (dce_sink_p.bind(*values, **params), [])
dce_sink_p.jvp = lambda primals, tangents, **params: (dce_sink_p.bind(*primals, **params), [])


def _lower_sink(ctx: LoweringContext, x: Value, *, prevent_mlir_dce: bool) -> list[Any]:
    if prevent_mlir_dce:  # a call of something on the host is what no compiler leaves out
        lower_host_call(ctx, _nothing, [x], True)
    return []


_nothing = HostFunction("dce_sink", lambda x: None, tree_flatten(((0,), {}))[1], None, ())


dce_sink_p.lower[None] = _lower_sink


def dce_sink(val: ArrayLike, *, prevent_mlir_dce: bool = False) -> None:
    """Keep what computes a value in the program, although nothing uses it.

    Args:
      val: array or pytree of arrays.
      prevent_mlir_dce: keep it in the compiled program too.
    Example: ``lax.dce_sink(x * 2)``.
    """
    for leaf in tree_flatten(val)[0]:
        dce_sink_p.bind(checked_operand("dce_sink", leaf), prevent_mlir_dce=bool(prevent_mlir_dce))
