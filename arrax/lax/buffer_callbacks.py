"""``buffer_callback``: functions on the host that see the memory of their arguments and fill that of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core import config
from arrax.core.calls import check_callable
from arrax.core.interpreter import Primitive
from arrax.core.pytrees import PyTreeDef, tree_unflatten
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.lowering.builder import physical_aval
from arrax.lax.ffi_calls import check_aliases, foreign_effect
from arrax.lax.host_functions import call_host
from arrax.lax.pure_callbacks import METHODS, batched_call, flat_arguments, result_types
from arrax.native import runtime
from arrax.xla import host_failures

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.xla.arrays import ArrayLike

Buffer, ExecutionContext, ExecutionStage = runtime.Buffer, runtime.ExecutionContext, runtime.ExecutionStage

buffer_callback_p = Primitive("buffer_callback", multiple_results=True)
buffer_callback_p.type_rule = lambda *avals, result_avals, **params: list(result_avals)
buffer_callback_p.effects_rule = lambda *avals, has_side_effect, **params: frozenset([foreign_effect] * has_side_effect)


def _refuse_derivative(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> Any:
    raise ValueError(
        f"the derivative of what buffer_callback calls, {params['callback']}, is not known: give it with custom_jvp or custom_vjp"
    )


def _batch(values: Sequence[Any], dims: Dims, **params: Any) -> tuple[list[Any], list[int]]:
    if params["vmap_method"] is None:
        raise NotImplementedError(
            f"vmap of buffer_callback needs its vmap_method, one of {', '.join(map(repr, METHODS))}; that of "
            f"{params['callback']} is None"
        )
    return batched_call(buffer_callback_p, values, dims, params)


def _lower(
    ctx: LoweringContext, *values: Value, callback: Callable[..., Any], in_tree: PyTreeDef, out_tree: PyTreeDef,
    result_avals: Sequence[ShapedArray], has_side_effect: bool, input_output_aliases: tuple[tuple[int, int], ...],
    vmap_method: str | None, command_buffer_compatible: bool,
) -> list[Value]:  # fmt: skip
    return call_host(
        ctx.module_context, "buffer_callback", _entry(callback, in_tree, out_tree), values,
        list(map(physical_aval, ctx.avals_in)), list(map(physical_aval, ctx.avals_out)), side_effect=has_side_effect,
        in_place=True, aliases=dict(input_output_aliases),
    )  # fmt: skip


def _entry(callback: Callable[..., Any], in_tree: PyTreeDef, out_tree: PyTreeDef) -> Callable[..., tuple]:
    x64, count = config.enable_x64.value, in_tree.num_leaves

    def run(context: Any, *buffers: Any) -> tuple:
        """Called by the runtime, with memory that is the call's as long as it lasts."""
        args, kwargs = tree_unflatten(in_tree, buffers[:count])
        try:
            with config.enable_x64(x64):
                result = callback(context, tree_unflatten(out_tree, buffers[count:]), *args, **kwargs)
            if result is not None:
                raise ValueError(
                    f"buffer_callback: the function fills its results and returns None, got {type(result)}"
                )
        except BaseException as error:
            host_failures.hand_over(error, "buffer_callback")
            raise
        return ()

    return run


buffer_callback_p.jvp = _refuse_derivative
buffer_callback_p.batch = _batch
buffer_callback_p.lower[None] = _lower


def buffer_callback(
    callback: Callable[..., None], result_shape_dtypes: object, *, has_side_effect: bool = False,
    vmap_method: str | None = None, input_output_aliases: Mapping[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function of arrays that calls a function of Python with the memory of its arguments and of its results.

    Nothing is copied: on the CPU the function reads and fills NumPy's views (``np.asarray(buffer)``), on a GPU those of a
    library that knows ``__cuda_array_interface__`` or DLPack. It must not keep them after it has returned, nor write to
    arguments that no result takes the memory of, and must fill its results whole. In a program over several devices each of
    them calls it with the whole values, inside of ``shard_map`` with its parts.

    Args:
      callback: called with an ``ExecutionContext``, a pytree of ``Buffer`` for the results, and those of the arguments.
      result_shape_dtypes: pytree of what has a shape and a dtype: the results.
      has_side_effect: call it even if nobody uses its results.
      vmap_method: what ``vmap`` does: as of ``pure_callback``, but that None refuses.
      input_output_aliases: from numbers of flat arguments to those of flat results that take their memory: the result holds
        the argument when the function is called.
      command_buffer_compatible: it may be recorded once and replayed, on a GPU; accepted.
    Returns: function of pytrees of arrays, whose result is a pytree of arrays like ``result_shape_dtypes``.
    Raises:
      TypeError: not a function, results without shape or dtype, or arguments that are not arrays.
      ValueError: an unknown ``vmap_method``, aliases that do not fit; at differentiation: the derivative is not known.
      NotImplementedError: the platform has no such calls; ``vmap`` without a method.
      JaxRuntimeError: the function raises, or returns something.
    Example: ``def fill(context, out, v): np.asarray(out)[...] = 2 * np.asarray(v)
    from arrax.experimental import buffer_callback
    double = buffer_callback.buffer_callback(fill, arrax.ShapeDtypeStruct((), 'float32')); double(y)`` is 4.0.
    """
    check_callable(callback)
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(f"buffer_callback: vmap_method must be one of {[*METHODS, None]}, got {vmap_method!r}")
    avals, out_tree = result_types("buffer_callback", result_shape_dtypes)
    aliases = tuple(sorted((input_output_aliases or {}).items()))

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = flat_arguments("buffer_callback", args, kwargs)
        check_aliases(aliases, list(map(typeof, leaves)), avals)
        outs = buffer_callback_p.bind(
            *leaves, callback=callback, in_tree=in_tree, out_tree=out_tree, result_avals=tuple(avals), vmap_method=vmap_method,
            has_side_effect=bool(has_side_effect), input_output_aliases=aliases,
            command_buffer_compatible=bool(command_buffer_compatible),
        )  # fmt: skip
        return tree_unflatten(out_tree, outs)

    return call
