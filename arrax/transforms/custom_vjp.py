"""``custom_vjp``: a function with its own reverse-mode rule; ``custom_gradient`` and ``closure_convert`` beside it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arrax import dtypes
from arrax.core import errors
from arrax.core.argument_values import flatten_values
from arrax.core.calls import check_callable
from arrax.core.function_info import describe_call
from arrax.core.functions import function_name
from arrax.core.interpreter import Tracer
from arrax.core.program import Jaxpr
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import register_pytree_node, tree_flatten, tree_map, tree_unflatten
from arrax.core.source_places import call_at_own_lines
from arrax.core.tracebacks import bound_methods, boundary
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.dtypes.wording import shown
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.custom_linear_calls import Hidden
from arrax.lax.custom_rules import custom_vjp_call_p
from arrax.transforms.custom_jvp import SymbolicZero
from arrax.transforms.differentiated_functions import concrete_zero
from arrax.transforms.ruled_functions import (
    FunctionWithDerivative,
    check_leaves,
    check_outputs,
    merge_arguments,
    resolve_arguments,
    split_nondiff,
)
from arrax.transforms.wrapped import P, R
from arrax.xla.arrays import ArrayLike

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef
    from arrax.interpreters.annotations import Tangent


@dataclass
class CustomVJPPrimal:
    """A primal value for forward rules that asked for symbolic zeros: ``value``, and whether it is ``perturbed``.

    A leaf of pytrees.

    Example: ``arrax.custom_derivatives.CustomVJPPrimal(1.5, perturbed=True).value`` is 1.5.
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of a pytree of CustomVJPPrimals.

    Example: ``custom_vjp_primal_tree_values({"a": CustomVJPPrimal(1.5, True)})`` is ``{"a": 1.5}``.
    """
    return tree_map(lambda leaf: leaf.value, tree)


@bound_methods
class custom_vjp(FunctionWithDerivative[P, R]):
    """A function whose reverse-mode derivative is given by a pair of rules.

    Args:
      fun: function of arrays or pytrees of them.
      nondiff_argnums: positions of arguments that are not differentiated; the backward rule gets them first.
      nondiff_argnames: their names.
    Raises:
      AttributeError: called before rules are given.
    Example:
      ``f = custom_vjp(jnp.sin); f.defvjp(lambda x: (f(x), jnp.cos(x)), lambda c, ct: (c * ct,))``.
    """

    def __init__(
        self, fun: Callable[P, R], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rules.

        Args:
          fwd: ``fwd(*args) -> (output, residuals)``.
          bwd: ``bwd(*nondiff, residuals, cotangent) -> tuple of cotangents``, None for zeros.
          symbolic_zeros: hand over CustomVJPPrimal and SymbolicZero objects.
          optimize_remat: accepted, without effect.
        """
        check_callable(fwd, bwd)
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {function_name(self.fun)} using defvjp.")
        resolved = resolve_arguments(self.fun, args, kwargs)
        dynamic, fixed, positions = split_nondiff(self.fun, self.nondiff_argnums, resolved)
        for value in fixed:
            if any(isinstance(leaf, Tracer) for leaf in tree_flatten(value)[0]):
                raise _traced_nondiff(function_name(self.fun), value)
        leaves, in_tree = flatten_values(dynamic)
        check_leaves(self.fun, leaves)
        trees: dict[str, Any] = {}

        def flat(*values: Any) -> list[Any]:
            out = self.fun(*merge_arguments(tree_unflatten(in_tree, values), fixed, positions))
            outs, trees["out"] = tree_flatten(out)
            trees["avals"] = [typeof(out) for out in outs]
            return outs

        avals = [typeof(leaf) for leaf in leaves]
        outs = custom_vjp_call_p.bind(
            *leaves, fun=flat, call_jaxpr=None,
            fwd_jaxpr_thunk=Hidden(self._forward(fixed, positions, in_tree, trees), function_name(self.fwd)),
            bwd=Hidden(self._backward(fixed, in_tree, avals, trees), function_name(self.bwd)),
            num_consts=0, symbolic_zeros=self.symbolic_zeros, name=function_name(self.fun), out_avals=None,
        )  # fmt: skip
        return tree_unflatten(trees["out"], outs)

    def _forward(
        self, fixed: list[Any], positions: list[int], in_tree: PyTreeDef, trees: dict[str, Any]
    ) -> Callable[..., Any]:
        fwd, symbolic, name = self.fwd, self.symbolic_zeros, function_name(self.fun)
        assert fwd is not None

        def forward(primals: Sequence[Any], nonzero: Sequence[bool]) -> tuple[list[Any], list[Any]]:
            values: Sequence[Any] = primals
            if symbolic:
                values = [CustomVJPPrimal(x, nz) for x, nz in zip(primals, nonzero, strict=True)]
            pair = call_at_own_lines(fwd, *merge_arguments(tree_unflatten(in_tree, values), fixed, positions))
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"Custom VJP fwd rule {function_name(fwd)} of {name} must produce a pair: the output of {name}, and the residuals "
                    f"that its bwd rule gets. It returned {pair}."
                )
            outs, out_tree = tree_flatten(pair[0])
            residuals, trees["residuals"] = tree_flatten(pair[1])
            trees.setdefault("out", out_tree)
            if trees["out"] != out_tree:
                raise TypeError(
                    f"Custom VJP fwd rule {function_name(fwd)} for function {name} must produce a pair whose first element "
                    f"has the structure of the function's output, {trees['out']}, but it is {out_tree}"
                )
            if "avals" in trees:
                check_outputs(f"Custom VJP fwd rule {function_name(fwd)} for function {name}", outs, trees["avals"])
            return outs, residuals

        return forward

    def _backward(
        self, fixed: list[Any], in_tree: PyTreeDef, avals: list[Any], trees: dict[str, Any]
    ) -> Callable[..., Any]:
        bwd, symbolic, name = self.bwd, self.symbolic_zeros, function_name(self.fun)
        assert bwd is not None

        def backward(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            given = [SymbolicZero(ct.aval) if symbolic and type(ct) is Zero else _array(ct) for ct in cts]
            found: Any = call_at_own_lines(
                bwd, *fixed, tree_unflatten(trees["residuals"], residuals), tree_unflatten(trees["out"], given)
            )
            if isinstance(found, list):
                found = tuple(found)
            return _flat_cotangents(name, function_name(bwd), found, in_tree, avals)

        return backward


def _array(ct: Tangent) -> ArrayLike:
    """A cotangent as rules expect it, with a shape and a dtype."""
    return concrete_zero(slots.convert(ct, typeof(ct)) if type(ct) is float else ct)


def _flat_cotangents(name: str, rule: str, found: tuple[Any, ...], in_tree: PyTreeDef, avals: list[Any]) -> list[Any]:
    """One cotangent (or None) per input leaf; None stands for the zeros of a whole subtree.

    Raises:
      TypeError: another structure, or types that don't match.
    """
    expected = tree_unflatten(in_tree, avals)
    if not isinstance(found, tuple) or len(found) != len(expected):
        got = f"a tuple of length {len(found)}" if isinstance(found, tuple) else f"{found!r}"
        raise TypeError(
            f"Custom VJP bwd rule {rule} for function {name} must produce a tuple of length equal to the number of "
            f"(differentiable) arguments, {len(expected)}, but got {got}"
        )
    result: list[Any] = []
    for position, (ct, part) in enumerate(zip(found, expected, strict=True)):
        result += _with_nones_broadcast(name, rule, ct, part, f"[{position}]")
    return result


def _with_nones_broadcast(name: str, rule: str, ct: Any, part: Any, position: str) -> list[Any]:
    leaves, tree = tree_flatten(part)
    if ct is None:
        return [None] * len(leaves)
    cts, ct_tree = tree_flatten(ct, is_leaf=lambda node: node is None or isinstance(node, SymbolicZero))
    with_nones, whole = tree_flatten(part, is_leaf=lambda node: node is None)
    if ct_tree in (tree, whole):
        kept = [ct for ct, aval in zip(cts, with_nones, strict=True) if aval is not None] if ct_tree == whole else cts
        paths = [path for path, _ in tree_flatten_with_path(part)[0]]
        return [
            None if x is None else _checked(name, rule, x, aval, position + keystr(path))
            for x, aval, path in zip(kept, leaves, paths, strict=True)
        ]
    children = tree.children() if not isinstance(part, dict) else None
    if (
        isinstance(part, tuple | list)
        and isinstance(ct, tuple | list)
        and len(part) == len(ct)
        and children is not None
    ):
        result: list[Any] = []
        for index, (inner_ct, inner) in enumerate(zip(ct, part, strict=True)):
            result += _with_nones_broadcast(name, rule, inner_ct, inner, f"{position}[{index}]")
        return result
    if isinstance(part, dict) and isinstance(ct, dict) and part.keys() == ct.keys():
        result = []
        for key in sorted(part):
            result += _with_nones_broadcast(name, rule, ct[key], part[key], f"{position}[{key!r}]")
        return result
    try:  # a cotangent stands for all of the leaves of a subtree
        broadcast_result = named_broadcast_prefix(
            "cotangents", ct, part, is_leaf=lambda node: node is None or isinstance(node, SymbolicZero)
        )
    except ValueError:
        broadcast_result = None
    if broadcast_result is not None:
        paths = [path for path, _ in tree_flatten_with_path(part)[0]]
        return [
            None if x is None else _checked(name, rule, x, aval, position + keystr(path))
            for x, aval, path in zip(broadcast_result, leaves, paths, strict=True)
        ]
    raise TypeError(
        f"Custom VJP bwd rule {rule} for function {name} must produce cotangents of the structure of the arguments: at "
        f"output{position}, got {ct_tree}, but expected {tree}"
    )


def _checked(name: str, rule: str, ct: Any, aval: ShapedArray, index: str) -> Any:
    expected = aval.to_tangent_aval()
    symbolic = isinstance(ct, SymbolicZero)
    found = ct.aval if symbolic else typeof(ct)
    if expected.dtype == dtypes.float0 and not symbolic:
        return None
    fits = found.dtype == expected.dtype or (not symbolic and (found.weak_type or dtypes.is_inexact(found.dtype)))
    loses = dtypes.is_complex(found.dtype) and not dtypes.is_complex(expected.dtype)  # its imaginary part
    if found.shape != expected.shape or not fits or loses:
        raise ValueError(
            f"Custom VJP bwd rule {rule} for function {name} produced an output{index} of type {found.str_short(True)}, but the "
            f"corresponding input has type {aval.str_short(True)}"
        )
    if symbolic:
        return None
    return (
        ct if found.dtype == expected.dtype and found.weak_type <= expected.weak_type else slots.convert(ct, expected)
    )


def _traced_nondiff(name: str, value: Any) -> errors.UnexpectedTracerError:
    return errors.UnexpectedTracerError(
        f"Found a traced value {value} passed as an argument of {name} at a position in nondiff_argnums: arrays to be "
        "traced must be ordinary arguments; give zeros (None) as their cotangents instead"
    )


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns its result together with its own pullback.

    Args:
      fun: ``fun(*args) -> (output, pullback)``, where ``pullback(ct)`` gives a cotangent per argument.
    Returns: function with output ``output`` and that derivative.
    Raises:
      TypeError: ``fun`` is not callable, or returns something else.
    Example: ``f = custom_gradient(lambda x: (x ** 2, lambda g: (g * x,)))``.
    """
    check_callable(fun)

    def pair(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        found = fun(*args, **kwargs)
        if not (isinstance(found, tuple | list) and len(found) == 2 and callable(found[1])):
            raise TypeError(f"custom_gradient: {function_name(fun)} must return (output, pullback), got {shown(found)}")
        return found[0], found[1]

    @custom_vjp
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return pair(*args, **kwargs)[0]

    def fwd(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        out, rule = pair(*args, **kwargs)
        leaves, out_tree = tree_flatten(out)
        trees: dict[str, Any] = {}

        def flat(*cts: Any) -> list[Any]:
            found = rule(tree_unflatten(out_tree, cts))
            if not isinstance(found, tuple | list):
                found = (found,)
            outs, trees["in"] = tree_flatten(tuple(found))
            return outs

        jaxpr, consts = stage(flat, [typeof(leaf).to_tangent_aval() for leaf in leaves])
        return out, _Residuals(consts, (jaxpr, trees["in"]))

    def bwd(residuals: _Residuals, ct: Any) -> Any:
        jaxpr, in_tree = residuals.static
        return tree_unflatten(in_tree, eval_jaxpr(jaxpr, residuals.values, *tree_flatten(ct)[0]))

    wrapped.defvjp(fwd, bwd)

    @boundary
    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        return wrapped(*args, **kwargs)

    return call


class _Residuals:
    """Residuals with a program among their structure."""

    def __init__(self, values: Sequence[Any], static: tuple[Jaxpr, PyTreeDef]) -> None:
        self.values, self.static = list(values), static


register_pytree_node(
    _Residuals, lambda r: (tuple(r.values), r.static), lambda static, values: _Residuals(values, static)
)


def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A function's closed-over traced values as explicit arguments.

    Args:
      fun: function.
      example_args: arguments of the shapes and dtypes that it will be called with.
    Returns: ``(converted, values)`` where ``converted(*args, *values)`` is ``fun(*args)``.
    Example: ``converted, consts = closure_convert(lambda x: x * y, 1.)``.
    """
    check_callable(fun)
    leaves, in_tree = tree_flatten(example_args)
    trees: dict[str, Any] = {}

    def flat(*values: Any) -> list[Any]:
        outs, trees["out"] = tree_flatten(fun(*tree_unflatten(in_tree, values)))
        return outs

    info = describe_call(fun, "closure_convert", example_args)
    jaxpr, consts = stage(flat, [typeof(leaf) for leaf in leaves], info)
    hoisted = [isinstance(c, Tracer) and dtypes.is_inexact(typeof(c).dtype) for c in consts]

    @boundary
    def converted(*args_and_values: Any) -> Any:
        count = sum(hoisted)
        args = args_and_values[: len(args_and_values) - count]
        given = iter(args_and_values[len(args_and_values) - count :])
        values, tree = tree_flatten(args)
        if tree != in_tree:
            raise TypeError(f"closure_convert: function called with arguments of structure {tree}, expected {in_tree}")
        all_consts = [next(given) if is_hoisted else c for c, is_hoisted in zip(consts, hoisted, strict=True)]
        return tree_unflatten(trees["out"], eval_jaxpr(jaxpr, all_consts, *values))

    return converted, [c for c, is_hoisted in zip(consts, hoisted, strict=True) if is_hoisted]
