"""``io_callback`` and ``debug.callback``: functions on the host that are called for what they do there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.calls import check_callable
from arrax.core.effects import Effect
from arrax.core.effects import ordered_effects as ordered_effects
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_symbolic
from arrax.core.operand_memories import memories_as_typed
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import Zero, abstract_token
from arrax.interpreters import ordering
from arrax.interpreters.batching import running_batch
from arrax.interpreters.lowering import builder
from arrax.lax.host_functions import HostFunction, call_step_by_step, lower_host_call, on_host
from arrax.lax.operand_checks import checked_operand
from arrax.lax.pure_callbacks import check_sharding, flat_arguments, in_turn, result_types
from arrax.lax.tokens import create_token_p

if TYPE_CHECKING:
    from arrax.interpreters.ad.transpose import UndefinedPrimal
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.xla.arrays import Array, ArrayLike


class IOEffect(Effect):
    """Input and output on the host."""

    __slots__ = ()
    exactly_once = True


class OrderedIOEffect(Effect):
    """Input and output on the host, in the order of the program."""

    __slots__ = ()
    ordered = exactly_once = per_device = True


class DebugEffect(Effect):
    """What is done on the host to watch a program.

    Example: ``effects = make_jaxpr(lambda v: arrax.debug.print('{}', v))(y).effects;
    [type(one) is arrax.debug.DebugEffect for one in effects]`` is ``[True]``.
    """

    __slots__ = ()


class OrderedDebugEffect(Effect):
    """What is done on the host to watch a program, in its order.

    Example: ``effects = make_jaxpr(lambda v: arrax.debug.print('{}', v, ordered=True))(y).effects;
    [type(one) is arrax.debug.OrderedDebugEffect for one in effects]`` is ``[True]``.
    """

    __slots__ = ()
    ordered = True


class AttendedDebugEffect(DebugEffect):
    """What is done on the host together with whoever called the program, who waits for it."""

    __slots__ = ()
    needs_caller = True


class OrderedAttendedDebugEffect(OrderedDebugEffect):
    """What is done on the host together with the waiting caller, in the order of the program."""

    __slots__ = ()
    needs_caller = True


ordering.slots.create_token = create_token_p
io_effect, ordered_io_effect = IOEffect("IO"), OrderedIOEffect("OrderedIO")
debug_effect, ordered_debug_effect = DebugEffect("Debug"), OrderedDebugEffect("OrderedDebug")
attended_effect, ordered_attended_effect = AttendedDebugEffect("Debug"), OrderedAttendedDebugEffect("OrderedDebug")


# ---- input and output ----------------------------------------------------------------------------------------------

io_callback_p = Primitive("io_callback", multiple_results=True)


def _io_batch(values: Sequence[ArrayLike], dims: Sequence[int], **params: Any) -> tuple[list[Array], list[int]]:
    if params["ordered"]:
        raise ValueError("Cannot `vmap` ordered IO callback.")
    return in_turn(io_callback_p, values, dims, params)


def _io_jvp(primals: Sequence[Any], tangents: Sequence[Tangent], **params: Any) -> Any:
    raise ValueError("IO callbacks do not support JVP.")


io_callback_p.type_rule = lambda *avals, result_avals, **params: list(result_avals)
io_callback_p.effects_rule = lambda *avals, ordered, **params: frozenset({ordered_io_effect if ordered else io_effect})
io_callback_p.memories = memories_as_typed
io_callback_p.impl = lambda *values, callback, **params: call_step_by_step(callback, values)
io_callback_p.lower[None] = lambda ctx, *values, callback, **params: lower_host_call(ctx, callback, values, True)
io_callback_p.batch = _io_batch
io_callback_p.jvp = _io_jvp
io_callback_p.with_token = ordering.operation_with_token


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a function with side effects on the host, exactly once for each time that the program comes by.

    Args:
      callback: function of arrays on the host's device, which returns arrays or NumPy arrays.
      result_shape_dtypes: pytree of what has a shape and a dtype: what it returns. None for nothing.
      args, kwargs: its arguments, pytrees of arrays.
      sharding: where the call takes place; only one device so far.
      ordered: whether such calls happen in the order of the program.
    Returns: pytree like ``result_shape_dtypes``.
    Raises:
      TypeError: not a function, or arguments that are not arrays.
      NotImplementedError: another sharding than that of one device.
      ValueError: it is differentiated, or mapped while ordered.
      JaxRuntimeError: the function raises, or returns something else than announced.
    Example: ``io_callback(print, None, x, ordered=True)``.
    """
    check_callable(callback)
    check_sharding("io_callback", sharding)
    avals, out_tree = result_types("io_callback", result_shape_dtypes)
    leaves, in_tree = flat_arguments("io_callback", args, kwargs)
    function = HostFunction("io_callback", callback, in_tree, out_tree, avals)
    outs = io_callback_p.bind(
        *leaves, callback=function, result_avals=tuple(avals), sharding=sharding, ordered=bool(ordered)
    )
    return tree_unflatten(out_tree, outs)


def _no_transpose(cts: Sequence[Tangent], *args: UndefinedPrimal, **params: Any) -> Any:
    raise ValueError("IO callbacks do not support transpose.")


io_callback_p.transpose = _no_transpose

# ---- watching ------------------------------------------------------------------------------------------------------

debug_callback_p = Primitive("debug_callback", multiple_results=True)
_FEW_EXAMPLES = 16


def _debug_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[list[Any], list[Any]]:
    return debug_callback_p.bind(*primals, **params), []


def _run_at_once(*values: ArrayLike, callback: HostFunction, **params: Any) -> list[Any]:
    return callback.run(on_host(values))


def _lower_debug_callback(
    ctx: LoweringContext, *values: Value, callback: HostFunction, partitioned: bool, **params: Any
) -> list[Value]:
    """A call; on one device, those that stand side by side in the program happen as they are written.

    A token goes from each to the next, though none goes into loops and functions: there is no promise.
    """
    module, block = ctx.module_context, builder.current_block()
    ordered = bool(ctx.avals_in) and ctx.avals_in[0] is abstract_token
    if ordered or module.num_devices > 1 or module.manual is not None:
        return lower_host_call(ctx, callback, values, True, partitioned)
    token = module.latest_calls.get(block) or builder.op("create_token", abstract_token)
    ctx = ctx.replace(avals_in=[abstract_token, *ctx.avals_in], avals_out=[abstract_token, *ctx.avals_out])
    module.latest_calls[block], *outs = lower_host_call(ctx, callback, [token, *values], True)
    return outs


def _batch_debug_callback(values: Sequence[Any], dims: Dims, **params: Any) -> tuple[list[Any], list[int]]:
    """A call for each example: side by side for few of them, which then stand in the order of the program, or in a loop."""
    size = running_batch().size
    return in_turn(debug_callback_p, values, dims, params, unrolled=not is_symbolic(size) and size <= _FEW_EXAMPLES)


debug_callback_p.type_rule = lambda *avals, **params: []
debug_callback_p.effects_rule = lambda *avals, effect, **params: frozenset({effect})
debug_callback_p.impl = _run_at_once
debug_callback_p.lower[None] = _lower_debug_callback
debug_callback_p.batch = _batch_debug_callback
debug_callback_p.jvp = _debug_jvp
debug_callback_p.transpose = lambda cts, *args, **params: [
    Zero(arg.aval.to_tangent_aval()) if hasattr(arg, "aval") else None for arg in args
]
debug_callback_p.with_token = ordering.operation_with_token


def _is_operand(leaf: ArrayLike) -> bool:
    try:
        checked_operand("debug.callback", leaf)
    except TypeError:
        return False
    return True


def callback_(
    callback: Callable[..., Any] | None = None,
    *args: ArrayLike,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a function on the host for what it does there, such as printing or logging.

    It is called under every transformation: ``vmap`` calls it for each example, ``grad`` with the values of the forward
    pass. Calls may happen in another order than they are written, and later; see ``effects_barrier``.

    Args:
      callback: function of arrays on the host's device; what it returns is ignored. Without it, the options alone make a
        function to be called with the rest.
      args, kwargs: its arguments, pytrees of arrays; what is not an array is handed on as it is.
      ordered: whether such calls happen in the order of the program.
      partitioned: whether each device calls it with its parts of the arguments, instead of one with the whole arguments.
    Raises:
      TypeError: not a function.
      ValueError: ``ordered`` on several devices, in ``pmap``, ``shard_map`` or with ``partitioned``.
    Example: ``arrax.debug.callback(lambda x: log.append(float(x)), x)``.
    """
    if callback is None:
        if args:
            check_callable(callback)
        return functools.partial(callback_, ordered=ordered, partitioned=partitioned, **kwargs)
    check_callable(callback)
    effect = ordered_debug_effect if ordered else debug_effect
    watch_on_host("debug.callback", callback, args, kwargs, effect, partitioned)


def watch_on_host(
    name: str,
    callback: Callable[..., Any],
    args: Sequence[ArrayLike],
    kwargs: dict[Any, Any],
    effect: Effect,
    partitioned: bool = False,
) -> None:
    """Call a function on the host, as ``debug.callback``.

    Args:
      name: of the public function that was called, for messages.
      effect: of kind ``Debug``.
    """
    leaves, tree = tree_flatten((args, kwargs))
    operands = [_is_operand(leaf) for leaf in leaves]
    fixed = [None if is_operand else leaf for leaf, is_operand in zip(leaves, operands, strict=True)]

    def flat(*values: Array) -> None:
        given = iter(values)
        every = [next(given) if is_operand else leaf for leaf, is_operand in zip(fixed, operands, strict=True)]
        own_args, own_kwargs = tree_unflatten(tree, every)
        callback(*own_args, **own_kwargs)

    chosen = [leaf for leaf, is_operand in zip(leaves, operands, strict=True) if is_operand]
    in_tree = tree_flatten((tuple(0 for _ in chosen), {}))[1]
    debug_callback_p.bind(
        *chosen, callback=HostFunction(name, flat, in_tree, None, ()), effect=effect, partitioned=bool(partitioned)
    )
