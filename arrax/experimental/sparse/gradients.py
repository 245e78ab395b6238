"""Derivatives with respect to sparse arrays: with respect to what they store, at the same indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import arrax.numpy as jnp
from arrax import dtypes
from arrax.core.functions import named_like
from arrax.core.pytrees import tree_flatten, tree_map, tree_unflatten
from arrax.core.tracebacks import boundary
from arrax.core.types import typeof
from arrax.experimental.sparse.base import JAXSparse
from arrax.experimental.sparse.coordinates import BCOO
from arrax.transforms import gradients
from arrax.transforms.differentiated_arguments import Argnums, DifferentiatedArguments
from arrax.xla.arrays import Array

_DOC = """{summary} with respect to sparse arrays: the derivatives are arrays with the same indices.

    Args:
      fun: function of arrays, sparse arrays or pytrees of them.
      argnums: position or positions of the arguments.
      has_aux: whether ``fun`` gives a pair, of which the second is auxiliary.
    Example: ``{name}(lambda M: (M @ jnp.ones(3)).sum())(BCOO.fromdense(jnp.eye(3)))``.
    """


def _derivative(name: str, summary: str) -> Callable[..., Any]:
    """A derivative of functions of sparse arrays, by that of functions of dense ones."""
    transformation = getattr(gradients, name)

    def of_function(
        fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, **kwargs: Any
    ) -> Callable[..., Any]:
        differentiated = DifferentiatedArguments(name, fun, argnums)

        @boundary
        @named_like(fun)
        def derivative(*args: Any, **keywords: Any) -> Any:
            chosen = differentiated.of_call(args, keywords)
            leaves, tree = tree_flatten(list(chosen.values))
            moving = [n for n, leaf in enumerate(leaves) if dtypes.is_inexact(typeof(leaf).dtype)]
            trees: dict[str, Any] = {}

            def of_numbers(values: list[Any]) -> Any:
                parts = tree_unflatten(tree, _filled(leaves, moving, values))
                out = chosen.call(fun, *parts)
                trees["out"] = tree_flatten(out[0] if has_aux else out)[1]
                return out

            found = transformation(of_numbers, has_aux=has_aux, **kwargs)([leaves[n] for n in moving])
            found, beside = found if has_aux or name == "value_and_grad" else (found, None)
            if name == "value_and_grad":
                found, beside = beside, found

            def as_arguments(derivatives: Sequence[Any]) -> Any:
                parts = tree_unflatten(tree, _filled(leaves, moving, derivatives))
                placed = tree_map(_with_batch, parts, is_leaf=lambda x: isinstance(x, JAXSparse))
                return differentiated.unpack(placed)

            out_tree = trees["out"]
            made = tree_unflatten(out_tree, list(map(as_arguments, out_tree.flatten_up_to(found))))
            if name == "value_and_grad":
                return beside, made
            return (made, beside) if has_aux else made

        return derivative

    of_function.__name__ = of_function.__qualname__ = name
    of_function.__doc__ = _DOC.format(summary=summary, name=name)
    return of_function


def _filled(leaves: Sequence[Any], at: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """The leaves with others at some positions."""
    found = dict(zip(at, values, strict=True))
    return [found.get(n, leaf) for n, leaf in enumerate(leaves)]


def _with_batch(part: Array | JAXSparse) -> Array | JAXSparse:
    """A derivative whose data have the axes of a function's result in front: these are a batch."""
    if not isinstance(part, BCOO):
        return part
    more = part.data.ndim - 1 - (part.indices.ndim - 2) - (len(part._row_shape) - part.indices.shape[-1])
    indices = part.indices.reshape((1,) * more + part.indices.shape)
    return BCOO.tree_unflatten(part.tree_flatten()[1], (part.data, jnp.asarray(indices)))


grad = _derivative("grad", "The gradient")
value_and_grad = _derivative("value_and_grad", "The value and the gradient")
jacfwd = _derivative("jacfwd", "The Jacobian, by forward mode,")
jacrev = _derivative("jacrev", "The Jacobian, by reverse mode,")
jacobian = jacrev
