"""``linear_call`` and ``custom_transpose``: linear functions whose transposes the user gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arrax.core.function_info import FunctionInfo, describe_call
from arrax.core.functions import function_name
from arrax.core.program import ClosedJaxpr, consts_to_invars
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.tracebacks import bound_methods, boundary
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.staging import stage
from arrax.lax.linear_calls import Opened, Reverse, linear_call_p
from arrax.lax.operand_checks import checked_operand
from arrax.transforms.differentiated_functions import check_function
from arrax.transforms.ruled_functions import FunctionWithRule
from arrax.xla.arrays import Array, ArrayLike

Linear = Callable[[Any, Any], Any]  # of residuals and linear arguments


@boundary
def linear_call(fun: Linear, fun_transpose: Linear, residual_args: Any, linear_args: Any) -> Any:
    """Call a function that is linear in its second argument, and say what its transpose is.

    Reverse-mode differentiation calls ``fun_transpose`` in place of what follows from the operations of ``fun``, and the
    other way round where it is transposed again. Nothing checks that the two fit.

    Args:
      fun: function of ``(residual_args, linear_args)``, linear in the second.
      fun_transpose: function of ``(residual_args, cotangents of the result)`` to cotangents like ``linear_args``.
      residual_args: array or pytree of arrays; there is no derivative in these.
      linear_args: array or pytree of arrays.
    Returns: the result of ``fun``.
    Raises:
      TypeError: something is not a function, or, at differentiation, cotangents have another structure than ``linear_args``.
      ValueError: at differentiation, cotangents of another shape or dtype.
      NotImplementedError: at differentiation in residual arguments.
    Example: ``scale = lambda r, v: r * v; grad(lambda v: linear_call(scale, lambda r, ct: 10 * r * ct, 2.0, v))(1.0)`` is 20.0.
    """
    check_function(fun)
    check_function(fun_transpose)
    residuals, residual_tree = tree_flatten(residual_args)
    linear, linear_tree = tree_flatten(linear_args)
    residuals, linear = ([checked_operand("linear_call", leaf) for leaf in part] for part in (residuals, linear))
    avals = list(map(typeof, residuals))
    trees: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        args = tree_unflatten(residual_tree, values[: len(avals)]), tree_unflatten(linear_tree, values[len(avals) :])
        outs, tree = tree_flatten(fun(*args))
        trees[:] = [tree]
        return [checked_operand("linear_call", out) for out in outs]

    info = describe_call(fun, "linear_call", (residual_args, linear_args))
    program, consts = _opened(flat, [*avals, *map(typeof, linear)], info)

    def transposed(*values: Any) -> list[Any]:
        args = tree_unflatten(residual_tree, values[: len(avals)]), tree_unflatten(trees[0], values[len(avals) :])
        found, tree = tree_flatten(fun_transpose(*args))
        if tree != linear_tree:
            raise TypeError(
                f"transpose output pytree structure must match that of linear inputs, got output structure {tree} and "
                f"input structure {linear_tree}"
            )
        for one, other in zip(found, linear, strict=True):
            given, wanted = typeof(one), typeof(other).to_tangent_aval()
            if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
                raise ValueError(
                    f"linear_call: expected cotangent type {wanted.str_short(False)} but got {given.str_short(False)} from "
                    f"{function_name(fun_transpose)}"
                )
        return list(found)

    cotangents = [aval.to_tangent_aval() for aval in program.out_avals]
    outs = linear_call_p.bind(
        *consts, *residuals, *linear, callee=program, num_callee_consts=len(consts), num_res=len(avals),
        transpose_thunk=Reverse(lambda: _opened(transposed, [*avals, *cotangents])),
    )  # fmt: skip
    return tree_unflatten(trees[0], outs)


def _opened(flat: Callable[..., list[Any]], avals: list[Any], info: FunctionInfo | None = None) -> Opened:
    jaxpr, consts = stage(flat, avals, info)
    return ClosedJaxpr(consts_to_invars(jaxpr), ()), list(consts)


@bound_methods
class custom_transpose(FunctionWithRule):
    """A function that is linear in its second argument, with a transpose of the user's.

    It is called with the types of its results (anything with shapes and dtypes), its residual arguments and its linear ones;
    the function itself gets the last two.

    Args:
      fun: function of ``(residuals, linear)``.
    Raises:
      TypeError: at a call, results of other types than announced.
      AttributeError: at differentiation, where no transpose was given.
    Example:
      ``scale = custom_transpose(lambda r, v: r * v); rule = scale.def_transpose(lambda r, ct: 10 * r * ct);
      grad(lambda v: scale(v, 2.0, v))(1.0)`` is 20.0.
    """

    def __init__(self, fun: Linear) -> None:
        check_function(fun)
        super().__init__(fun)
        self.transpose: Linear | None = None

    def def_transpose(self, transpose: Linear) -> Linear:
        """Set the transpose, a function of ``(residuals, cotangents of the results)``, and return it."""
        check_function(transpose)
        self.transpose = transpose
        return transpose

    def __call__(self, out_types: Any, res_arg: ArrayLike, lin_arg: ArrayLike) -> Any:
        wanted, tree = tree_flatten(out_types)

        def fun(residuals: Any, linear: Array) -> Any:
            result = self.fun(residuals, linear)
            outs, out_tree = tree_flatten(result)
            types = [(typeof(out).shape, typeof(out).dtype) for out in outs]
            if out_tree != tree or types != [(each.shape, each.dtype) for each in wanted]:
                found = tree_unflatten(out_tree, [ShapedArray(*each) for each in types])
                raise TypeError(
                    f"custom_transpose function {function_name(self.fun)} gave results of types {found!r}, but was called for "
                    f"{tree_unflatten(tree, [ShapedArray(each.shape, each.dtype) for each in wanted])!r}"
                )
            return result

        def transpose(residuals: Any, cotangents: Any) -> Any:
            if self.transpose is None:
                raise AttributeError(
                    f"No transpose defined for custom_transpose function {function_name(self.fun)} using def_transpose."
                )
            return self.transpose(residuals, cotangents)

        return linear_call(fun, transpose, res_arg, lin_arg)
