"""``pure_callback``: the value of a function that runs on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax import dtypes
from arrax.core.calls import check_callable
from arrax.core.interpreter import Primitive
from arrax.core.operand_memories import memories_as_typed
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import ShapedArray, typeof
from arrax.dtypes.wording import shown
from arrax.interpreters.batching import bdim_at_front, running_batch
from arrax.lax.control_flow.mapping import map as map_in_turn
from arrax.lax.host_functions import HostFunction, call_step_by_step, lower_host_call
from arrax.lax.operand_checks import checked_operand
from arrax.lax.shapes import broadcast_in_dim, expand_dims
from arrax.lax.slicing_along_axes import index_in_dim
from arrax.lax.stacking import stack
from arrax.xla.arrays import Array, ArrayLike
from arrax.xla.shardings import SingleDeviceSharding

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent

METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")

pure_callback_p = Primitive("pure_callback", multiple_results=True)
pure_callback_p.type_rule = lambda *avals, result_avals, **params: list(result_avals)
pure_callback_p.memories = memories_as_typed
pure_callback_p.impl = lambda *values, callback, **params: call_step_by_step(callback, values)
pure_callback_p.lower[None] = lambda ctx, *values, callback, **params: lower_host_call(ctx, callback, values, False)


def _no_derivative(primals: Sequence[Any], tangents: Sequence[Tangent], **params: Any) -> Any:
    raise ValueError(
        "Pure callbacks do not support JVP. Please use `arrax.custom_jvp` to use callbacks while taking gradients."
    )


def _batch(values: Sequence[Any], dims: Dims, *, callback: HostFunction, **params: Any) -> tuple[list[Any], list[int]]:
    def widened(_: Sequence[ArrayLike], wide: tuple[ShapedArray, ...]) -> dict[str, Any]:
        return {"callback": HostFunction(callback.name, callback.function, callback.in_tree, callback.out_tree, wide)}

    return batched_call(pure_callback_p, values, dims, {**params, "callback": callback}, widened)


def batched_call(
    primitive: Primitive, values: Sequence[Any], dims: Dims, params: dict[str, Any],
    widened: Callable[[list[Any], tuple[ShapedArray, ...]], dict[str, Any]] = lambda moved, wide: {},
) -> tuple[list[Any], list[int]]:  # fmt: skip
    """A call of the host or of a library for a batch, as its ``vmap_method`` says: in turn (None, too), or one for all.

    Args:
      widened: from the operands and the types of the results of one call for all, what else changes in ``params``.
    """
    method = params["vmap_method"]
    if method is None or method.startswith("sequential"):
        return in_turn(primitive, values, dims, params, unrolled=method == "sequential_unrolled")
    size, moved = running_batch().size, batched_operands(values, dims, method)
    wide = tuple(ShapedArray((size, *aval.shape), aval.dtype, aval.weak_type) for aval in params["result_avals"])
    outs = primitive.bind(*moved, **{**params, "result_avals": wide, **widened(moved, wide)})
    return outs, [0] * len(outs)


def batched_operands(values: Sequence[Any], dims: Dims, vmap_method: str) -> list[Any]:
    """Operands of one call for a whole batch, whose axis is in front; ``vmap_method`` says of those that have none."""
    moved, mapped = _in_front(values, dims), [d is not None for d in dims]
    if vmap_method == "expand_dims":
        return [x if m else expand_dims(x, (0,)) for x, m in zip(moved, mapped, strict=True)]
    if vmap_method == "broadcast_all":
        return [x if m else _repeated(x, running_batch().size) for x, m in zip(moved, mapped, strict=True)]
    return moved


def _repeated(x: ArrayLike, size: int) -> Array:
    shape = typeof(x).shape
    return broadcast_in_dim(x, (size, *shape), range(1, len(shape) + 1))


def _in_front(values: Sequence[Any], dims: Dims) -> list[Any]:
    size = running_batch().size
    return [x if d is None else bdim_at_front(x, d, size) for x, d in zip(values, dims, strict=True)]


def in_turn(
    primitive: Primitive,
    values: Sequence[Any],
    dims: Dims,
    params: dict[str, Any],
    unrolled: bool = False,
) -> tuple[list[Any], list[int]]:
    """The batch slot of operations that are applied to one example after the other."""
    moved = _in_front(values, dims)
    chosen = [x for x, d in zip(moved, dims, strict=True) if d is not None]

    def one(examples: Sequence[Any]) -> tuple[Array, ...]:
        own = iter(examples)
        return tuple(
            primitive.bind(*(x if d is None else next(own) for x, d in zip(moved, dims, strict=True)), **params)
        )

    if unrolled:
        rows = [one([index_in_dim(x, i, keepdims=False) for x in chosen]) for i in range(running_batch().size)]
        outs = [stack(column) for column in zip(*rows, strict=True)]
    else:
        outs = list(map_in_turn(one, tuple(chosen)))
    return outs, [0] * len(outs)


pure_callback_p.jvp = _no_derivative
pure_callback_p.batch = _batch


def result_types(name: str, result_shape_dtypes: Any, keeps_weak_types: bool = False) -> tuple[list[ShapedArray], Any]:
    """Types and structure of what a function on the host is to return: arrays, which are not weakly typed.

    Args:
      keeps_weak_types: results that are said to be weakly typed are.
    Raises:
      TypeError: a leaf without shape or dtype.
      ValueError: 64-bit types where these are turned off.
    """
    leaves, tree = tree_flatten(result_shape_dtypes)
    avals = []
    for leaf in leaves:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise TypeError(f"{name}: result_shape_dtypes must hold things with a shape and a dtype, got {shown(leaf)}")
        if not isinstance(leaf.dtype, dtypes.ExtendedDType) and dtypes.canonicalize_dtype(leaf.dtype) != leaf.dtype:
            raise ValueError(
                f"{name}: result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled, got {leaf}"
            )
        weak = keeps_weak_types and bool(getattr(leaf, "weak_type", False))
        avals.append(ShapedArray(tuple(leaf.shape), leaf.dtype, weak))
    return avals, tree


def check_sharding(name: str, sharding: Any) -> None:
    """Raise where a call is asked for at another place than one device.

    Raises:
      NotImplementedError: it is.
    """
    if sharding is not None and not isinstance(sharding, SingleDeviceSharding):
        raise NotImplementedError(f"{name}: sharding must be a SingleDeviceSharding or None, got {sharding!r}")


def flat_arguments(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """The leaves of a callback's arguments, checked, and their structure."""
    leaves, tree = tree_flatten((args, kwargs))
    return [checked_operand(name, leaf) for leaf in leaves], tree


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vectorized: bool | None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Array:
    """Call a function without side effects on the host. Programs may leave the call out, or make it more than once.

    Args:
      callback: function of arrays on the host's device, which returns arrays or NumPy arrays.
      result_shape_dtypes: pytree of what has a shape and a dtype: what it returns.
      args, kwargs: its arguments, pytrees of arrays.
      sharding: where the call takes place; only one device so far.
      vectorized: older spelling: True stands for ``vmap_method="legacy_vectorized"``.
      vmap_method: what ``vmap`` does: ``"sequential"`` (the default) calls it for one example after the other,
        ``"sequential_unrolled"`` the same without a loop; ``"expand_dims"`` calls it once, with an axis of examples in
        front of all arguments (of length 1 where they do not differ), ``"broadcast_all"`` with repeated arguments,
        ``"legacy_vectorized"`` leaves those that do not differ as they are.
    Returns: pytree like ``result_shape_dtypes``.
    Raises:
      TypeError: not a function, or arguments that are not arrays.
      NotImplementedError: another sharding than that of one device.
      ValueError: an unknown method; at differentiation: the derivative is not known, see ``custom_jvp``.
      JaxRuntimeError: the function raises, or returns something else than announced.
    Example: ``pure_callback(np.sin, jax.ShapeDtypeStruct((3,), "float32"), x)``.
    """
    check_callable(callback)
    check_sharding("pure_callback", sharding)
    if vectorized:
        vmap_method = "legacy_vectorized"
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(f"pure_callback: vmap_method must be one of {[*METHODS, None]}, got {vmap_method!r}")
    avals, out_tree = result_types("pure_callback", result_shape_dtypes)
    leaves, in_tree = flat_arguments("pure_callback", args, kwargs)
    function = HostFunction("pure_callback", callback, in_tree, out_tree, avals)
    outs = pure_callback_p.bind(
        *leaves, callback=function, result_avals=tuple(avals), sharding=sharding, vmap_method=vmap_method
    )
    return tree_unflatten(out_tree, outs)
