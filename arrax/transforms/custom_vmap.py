"""``custom_vmap``: a function with its own batching rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.argument_values import flatten_values
from arrax.core.calls import check_callable
from arrax.core.functions import function_name
from arrax.core.interpreter import context
from arrax.core.pytrees import tree_flatten, tree_map, tree_unflatten
from arrax.core.source_places import call_at_own_lines
from arrax.core.tracebacks import bound_methods
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.staging import stage
from arrax.lax.control_flow.mapping import map as sequential_map
from arrax.lax.control_flow.staged_functions import owned_array
from arrax.lax.custom_batching import custom_vmap_call_p
from arrax.lax.custom_linear_calls import Hidden
from arrax.transforms.ruled_functions import FunctionWithRule, resolve_arguments

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef


@bound_methods
class custom_vmap(FunctionWithRule):
    """A function that ``vmap`` maps by a rule.

    Forward derivatives go through the function, and through the rule where ``vmap`` is outside; reverse ones go through
    the function alone.

    Args:
      fun: function of arrays or pytrees of them.
    Raises:
      AttributeError: called before a rule is given.
    Example:
      ``f = custom_vmap(jnp.sin); f.def_vmap(lambda size, mapped, x: (jnp.sin(x), mapped[0]))``.
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        check_callable(fun)
        super().__init__(fun)
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule, and return it.

        Args:
          vmap_rule: ``rule(axis_size, in_batched, *args) -> (out, out_batched)``. ``in_batched`` is a list of trees like
            the arguments, True where an array has the batch as its first axis; ``out_batched`` is a tree like ``out``.
        """
        check_callable(vmap_rule)
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {function_name(self.fun)} using def_vmap."
            )
        arguments = resolve_arguments(self.fun, args, kwargs)
        leaves, in_tree = flatten_values(arguments)
        trees: dict[str, Any] = {}

        def flat(*values: Any) -> list[Any]:
            outs, trees["out"] = tree_flatten(self.fun(*tree_unflatten(in_tree, values)))
            return outs

        rule = Hidden(self._rule(flat, in_tree, trees), function_name(self.vmap_rule))
        outs = custom_vmap_call_p.bind(*leaves, fun=flat, call_jaxpr=None, rule=rule, num_consts=0)
        if context.interpreter.is_evaluation:  # where the function may have computed numbers of Python
            outs = list(map(owned_array, outs))
        return tree_unflatten(trees["out"], outs)

    def _rule(self, flat: Callable[..., Any], in_tree: PyTreeDef, trees: dict[str, Any]) -> Callable[..., Any]:
        rule = self.vmap_rule
        assert rule is not None
        name = function_name(rule)

        def flat_rule(size: int, mapped: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            found = call_at_own_lines(
                rule, size, list(tree_unflatten(in_tree, mapped)), *tree_unflatten(in_tree, values)
            )
            if not isinstance(found, tuple | list) or len(found) != 2:
                raise TypeError(f"the custom vmap rule {name} must give a pair, (out, out_batched), but gave {found}")
            outs, tree = tree_flatten(found[0])
            flags, flags_tree = tree_flatten(found[1])
            if tree != flags_tree:
                raise ValueError(
                    f"structure of output value and output batching specification returned by custom vmap rule ({name}) do "
                    f"not match.\nOutput values: {tree}\nBatching spec: {flags_tree}"
                )
            if "out" not in trees:
                stage(flat, [_row(typeof(x), flag) for x, flag in zip(values, mapped, strict=True)])
            if trees["out"] != tree:
                raise ValueError(
                    f"structure of output returned by custom vmap rule ({name}) does not match that of original "
                    f"custom-vmapped function.\nOriginal output: {trees['out']}\nRule output: {tree}"
                )
            return outs, flags

        return flat_rule


def _row(aval: ShapedArray, mapped: bool) -> ShapedArray:
    """The type of one element of a batch."""
    return aval.update(shape=aval.shape[1:]) if mapped else aval


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """A function that ``vmap`` calls for one element after the other, in a loop, rather than for all at once.

    Args:
      f: function of arrays or pytrees of them.
    Example: ``vmap(sequential_vmap(jnp.sin))(jnp.arange(3.))`` has a ``scan`` inside.
    """
    check_callable(f)
    mapped_function = custom_vmap(f)

    @mapped_function.def_vmap
    def rule(axis_size: int, in_batched: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        leaves, tree = tree_flatten(args)
        flags, _ = tree_flatten(in_batched)
        moving = [leaf for leaf, flag in zip(leaves, flags, strict=True) if flag]

        def one(row: Sequence[Any]) -> Any:
            rest = iter(row)
            return mapped_function(
                *tree_unflatten(tree, [next(rest) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)])
            )

        out = sequential_map(one, moving)
        return out, tree_map(lambda _: True, out)

    return mapped_function
