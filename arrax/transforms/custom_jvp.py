"""``custom_jvp``: a function with its own derivative rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.argument_values import flatten_values
from arrax.core.calls import check_callable
from arrax.core.functions import function_name
from arrax.core.interpreter import Tracer
from arrax.core.pytrees import tree_flatten, tree_map, tree_unflatten
from arrax.core.source_places import call_at_own_lines
from arrax.core.tracebacks import bound_methods
from arrax.core.types import ShapedArray, Zero, instantiate, slots, typeof
from arrax.lax.barriers import stop_gradient
from arrax.lax.custom_linear_calls import Hidden
from arrax.lax.custom_rules import custom_jvp_call_p
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

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef


class SymbolicZero:
    """A tangent or cotangent known to be zero, where rules asked for symbolic zeros.

    Attributes:
      aval: its type. Also ``shape``, ``dtype``.
    Example: ``zero_from_primal(x, symbolic_zeros=True).shape`` is ``(4,)``.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    shape = property(lambda self: self.aval.shape, doc="Tuple of lengths.")
    dtype = property(lambda self: self.aval.dtype, doc="The elements' dtype.")
    ndim = property(lambda self: self.aval.ndim, doc="Number of dimensions.")

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval!r})"


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Zero tangents for values, as rules return them.

    Args:
      val: pytree of arrays or numbers.
      symbolic_zeros: give SymbolicZeros instead of arrays.
    Returns: pytree of the same structure; arrays of float0 for values that are not differentiated.
    Example: ``zero_from_primal({"a": 1.5})`` is ``{"a": 0.0}``.
    """
    zeros = tree_map(Zero.of, val)
    make = (lambda zero: SymbolicZero(zero.aval)) if symbolic_zeros else concrete_zero
    return tree_map(make, zeros, is_leaf=lambda node: type(node) is Zero)


@bound_methods
class custom_jvp(FunctionWithDerivative[P, R]):
    """A function whose forward derivative is given by a rule.

    Args:
      fun: function of arrays or pytrees of them.
      nondiff_argnums: positions of arguments that are not differentiated; the rule gets them first.
      nondiff_argnames: their names.
    Raises:
      AttributeError: called or differentiated before a rule is given.
    Example:
      ``f = custom_jvp(jnp.sin); f.defjvp(lambda primals, tangents: (f(*primals), 2 * tangents[0]))``.
    """

    def __init__(
        self, fun: Callable[P, R], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule ``jvp(*nondiff, primals, tangents) -> (primal out, tangent out)``; returns it.

        Args:
          symbolic_zeros: hand over zero tangents as SymbolicZero objects.
        """
        check_callable(jvp)
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set one rule per argument, ``rule(tangent, primal_out, *primals)``, whose results add up; None is zero."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        function: Callable[..., Any] = self

        def jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                raise ValueError(f"defjvps got {len(jvps)} rules for a function of {len(primals)} arguments.")
            out = function(*primals)
            zeros = _zero_tangents(out)
            pairs = [(rule, t) for rule, t in zip(jvps, tangents, strict=True) if rule is not None]
            terms = [call_at_own_lines(rule, t, out, *primals) for rule, t in pairs]
            for term in terms:
                zeros = _add_trees(zeros, term)
            return out, zeros

        self.defjvp(jvp)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {function_name(self.fun)} using defjvp.")
        resolved = resolve_arguments(self.fun, args, kwargs)
        dynamic, fixed, positions = split_nondiff(self.fun, self.nondiff_argnums, resolved)
        fixed = [_without_tangents(value) for value in fixed]
        leaves, in_tree = flatten_values(dynamic)
        check_leaves(self.fun, leaves)
        trees: dict[str, Any] = {}

        def flat(*values: Any) -> list[Any]:
            out = self.fun(*merge_arguments(tree_unflatten(in_tree, values), fixed, positions))
            outs, trees["out"] = tree_flatten(out)
            trees["avals"] = [typeof(out) for out in outs]
            return outs

        rule = Hidden(self._rule(fixed, in_tree, trees), function_name(self.jvp))
        outs = custom_jvp_call_p.bind(
            *leaves, fun=flat, call_jaxpr=None, jvp_jaxpr_fun=rule, num_consts=0, symbolic_zeros=self.symbolic_zeros,
            name=function_name(self.fun),
        )  # fmt: skip
        return tree_unflatten(trees["out"], outs)

    def _rule(self, fixed: list[Any], in_tree: PyTreeDef, trees: dict[str, Any]) -> Callable[..., Any]:
        jvp, symbolic, name = self.jvp, self.symbolic_zeros, function_name(self.fun)
        assert jvp is not None

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            given = [(SymbolicZero(t.aval) if symbolic else instantiate(t)) if type(t) is Zero else t for t in tangents]
            pair = call_at_own_lines(
                jvp, *fixed, tuple(tree_unflatten(in_tree, primals)), tuple(tree_unflatten(in_tree, given))
            )
            return _checked_pair(name, pair, trees)

        return rule


def _checked_pair(name: str, pair: tuple[Any, ...], trees: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(
            f"Custom JVP rule for function {name} must produce a pair (list or tuple of length two) representing primal and "
            f"tangent outputs, but got {pair}."
        )
    outs, tree = tree_flatten(pair[0])
    tangents, tangent_tree = tree_flatten(pair[1], is_leaf=lambda node: isinstance(node, SymbolicZero))
    if tree != tangent_tree:
        raise TypeError(
            f"Custom JVP rule for function {name} must produce primal and tangent outputs with equal container (pytree) "
            f"structures, but got {tree} and {tangent_tree} respectively."
        )
    trees.setdefault("out", tree)
    if trees["out"] != tree:
        raise TypeError(
            f"Custom JVP rule for function {name} must produce a pair whose primal output has the structure of the "
            f"function's output, {trees['out']}, but got {tree}"
        )
    if "avals" in trees:
        check_outputs(f"Custom JVP rule for function {name}", outs, trees["avals"])
    checked = []
    for out, tangent in zip(outs, tangents, strict=True):
        expected = typeof(out).to_tangent_aval()
        found = tangent.aval if isinstance(tangent, SymbolicZero) else typeof(tangent)
        if (expected.shape, expected.dtype) != (found.shape, found.dtype):
            raise TypeError(
                f"Custom JVP rule for function {name} must produce primal and tangent outputs with equal shapes and dtypes, "
                f"but got {typeof(out).str_short(True)} and tangent {found.str_short(True)}, expected {expected.str_short(True)}"
            )
        zero = expected.dtype == dtypes.float0 or isinstance(tangent, SymbolicZero)
        fits = found == expected
        checked.append(Zero(expected) if zero else tangent if fits else slots.convert(tangent, expected))
    return outs, checked


def _without_tangents(value: Any) -> Any:
    """An argument that is not differentiated: traced values in it are constants to the derivative."""
    leaves, tree = tree_flatten(value)
    if not any(isinstance(leaf, Tracer) for leaf in leaves):
        return value
    return tree_unflatten(tree, [stop_gradient(leaf) if isinstance(leaf, Tracer) else leaf for leaf in leaves])


def _zero_tangents(out: Any) -> Any:
    leaves, tree = tree_flatten(out)
    return tree_unflatten(tree, [instantiate(Zero.of(leaf)) for leaf in leaves])


def _add_trees(x: Any, y: Any) -> Any:
    xs, tree = tree_flatten(x)
    ys, given = tree_flatten(y)
    if given != tree:
        raise TypeError(
            f"A rule of defjvps must give tangents of the structure of the function's output, {tree}, but gives {given}."
        )
    return tree_unflatten(tree, [_sum_of_tangents(a, b) for a, b in zip(xs, ys, strict=True)])


def _sum_of_tangents(x: Any, y: Any) -> Any:
    """The tangent of a result with that of one more rule; between floats of several widths it is converted."""
    aval, found = typeof(x), typeof(y)
    if aval.dtype == dtypes.float0 == found.dtype:
        return x
    if aval.dtype != found.dtype and not any(
        dtypes.issubdtype(aval.dtype, kind) and dtypes.issubdtype(found.dtype, kind)
        for kind in (np.floating, np.complexfloating)
    ):
        raise TypeError(
            f"A rule of defjvps must give tangents of the type {aval.str_short(True)}, but gives {found.str_short(True)}."
        )
    return slots.add(x, slots.convert(y, aval))
