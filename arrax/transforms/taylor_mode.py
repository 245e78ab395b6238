"""``jet``: derivatives of higher order of a function along a curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax import dtypes
from arrax.core.interpreter import context
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.tracebacks import boundary
from arrax.core.types import Zero, slots, typeof
from arrax.interpreters.ad.taylor import taylor
from arrax.lax import taylor_rules as _taylor_rules  # noqa: F401  (gives primitives their rules)
from arrax.lax.arithmetic import mul
from arrax.lax.filled_arrays import full, full_like
from arrax.lax.operand_checks import checked_operand
from arrax.transforms.differentiated_functions import check_function
from arrax.xla.arrays import ArrayLike

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef


@boundary
def jet(
    fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Any], factorial_scaled: bool = True
) -> tuple[Any, Any]:
    """The value of a function and its derivatives along a curve, up to the order of those of the curve that are given.

    Where ``h`` is a curve with h(0) = ``primals`` and the derivatives h'(0), h''(0), … = ``series``, these are the value and
    the derivatives of fun(h(t)) at t = 0. It takes work that grows with the square of the order, where nested ``jvp`` doubles
    it with each.

    Args:
      fun: function of arrays or pytrees of them.
      primals: its arguments, a tuple or list.
      series: for each argument its derivatives, a tuple or list; an argument that is a pytree has such a list at each leaf.
      factorial_scaled: False for the coefficients of Taylor series, here and in the results, which are the k-th derivatives
        divided by k!.
    Returns: ``fun(*primals)``, and a list of derivatives in place of each of its leaves.
    Raises:
      ValueError: arguments have different numbers of derivatives, or ``series`` has not the structure of ``primals``.
      TypeError: derivatives of another shape than their argument's, or something that is not an array.
    Example: ``jet(jnp.sin, (0.0,), ((1.0, 0.0, 0.0),))`` is ``(0.0, [1.0, 0.0, -1.0])``. Source: Griewank and Walther,
    *Evaluating Derivatives*, chapter 13.
    """
    check_function(fun)
    for name, value in (("primals", primals), ("series", series)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"jet: {name} must be a tuple or list with an entry for each argument, got {value!r}")
    if len(primals) != len(series):
        raise ValueError(f"jet: there are {len(primals)} primals, but series for {len(series)} arguments")
    leaves, tree = tree_flatten(tuple(primals))
    given = _series_of(tree, tuple(series))
    if len({len(terms) for terms in given}) > 1:
        raise ValueError(
            f"jet: terms have inconsistent lengths for different arguments: {', '.join(str(len(terms)) for terms in given)}"
        )
    order = len(given[0]) if given else 0
    values = [checked_operand("jet", leaf) for leaf in leaves]
    terms = [_checked_terms(number, *pair) for number, pair in enumerate(zip(values, given, strict=True))]
    if not factorial_scaled:
        terms = [_scaled(each, math.factorial) for each in terms]
    structure: list[Any] = []

    def flat(*args: Any) -> list[Any]:
        outs, out_tree = tree_flatten(fun(*tree_unflatten(tree, args)))
        structure[:] = [out_tree]
        return [checked_operand("jet", out) for out in outs]

    outs, found = taylor(flat, order, values, terms, context.interpreter)
    lists = [[_array(out, term) for term in each] for out, each in zip(outs, found, strict=True)]
    if not factorial_scaled:
        lists = [_scaled(each, lambda order: 1 / math.factorial(order)) for each in lists]
    return tree_unflatten(structure[0], outs), tree_unflatten(structure[0], lists)


def _series_of(tree: PyTreeDef, series: tuple[Any, ...]) -> list[Sequence[Any]]:
    """The derivatives of each leaf."""
    try:
        found = tree.flatten_up_to(series)
    except ValueError as error:
        raise ValueError(f"jet: series must have a list of derivatives for each leaf of primals: {error}") from None
    for number, terms in enumerate(found):
        if not isinstance(terms, (tuple, list)):
            raise ValueError(f"jet: series of leaf {number} of the arguments must be a tuple or list, got {terms!r}")
    return found


def _checked_terms(number: int, primal: ArrayLike, terms: Sequence[Any]) -> list[Any]:
    """Derivatives of the type of an argument; those of integers are zero."""
    aval = typeof(primal)
    if not dtypes.is_inexact(aval.dtype):
        return [Zero.of(primal)] * len(terms)
    found = []
    for place, term in enumerate(terms):
        shape = typeof(checked_operand("jet", term)).shape
        if shape != aval.shape:
            raise TypeError(
                f"jet: derivative {place + 1} of leaf {number} of the arguments has the shape {shape}, the argument {aval.shape}"
            )
        found.append(slots.convert(term, aval))
    return found


def _scaled(terms: Sequence[Any], factor: Callable[[int], float]) -> list[Any]:
    """The terms of orders 1, 2, … times a factor of the order."""
    return [
        term if order == 1 or type(term) is Zero else mul(term, full_like(term, factor(order)))
        for order, term in enumerate(terms, 1)
    ]


def _array(out: Any, term: Any) -> Any:
    """A derivative as an array; those of integers are zeros of weak floats."""
    if type(term) is not Zero:
        return term
    aval = typeof(out)
    return full_like(out, 0) if dtypes.is_inexact(aval.dtype) else full(aval.shape, 0.0)
