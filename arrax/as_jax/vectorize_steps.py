"""The steps of ``jnp.vectorize`` as functions of their own, from which libraries build variants of it (quaxed, galax, desc)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from arrax.lax import shapes
from arrax.numpy_api.vectorization import Core, Dims, checked, parsed_signature


def apply_excluded(
    function: Callable[..., Any], left_out: Collection[int | str], values: Sequence[Any], named: dict[str, Any]
) -> tuple[Callable[..., Any], Sequence[Any], dict[str, Any]]:
    """A function of the arguments that are not left out, by position or by name, and those arguments."""
    places = [place for place in range(len(values)) if place not in left_out]
    given = {name: value for name, value in named.items() if name in left_out}

    def of_the_rest(*rest: Any, **others: Any) -> Any:
        whole = {**dict(enumerate(values)), **dict(zip(places, rest, strict=True))}
        return function(*(whole[place] for place in range(len(values))), **given, **others)

    return of_the_rest, [values[place] for place in places], {name: named[name] for name in named if name not in given}


def parse_gufunc_signature(signature: str) -> tuple[list[Dims], list[Dims]]:
    """The core axes of the arguments and of the results that a signature names.

    Raises:
      ValueError: a signature that cannot be read.
    """
    inputs, outputs = parsed_signature(signature)
    return list(inputs), list(outputs)


def parse_input_dimensions(
    args: Sequence[Any], input_core_dims: Sequence[Dims], error_context: str = ""
) -> tuple[tuple[int, ...], dict[str, int]]:
    """The common shape of the axes that are mapped, and the lengths of the core axes.

    Args:
      args: arrays, or anything that has a shape.
      input_core_dims: the core axes of each.
      error_context: what errors say behind the fault.
    Raises:
      TypeError: another number of arguments than the signature has.
      ValueError: shapes that don't fit the signature, or one another.
    """
    if len(args) != len(input_core_dims):
        raise TypeError(
            f"wrong number of positional arguments: expected {len(input_core_dims)}, got {len(args)} {error_context}"
        )
    core, leading = Core(error_context), []
    for arg, dims in zip(args, input_core_dims, strict=True):
        shape = np.shape(arg)
        core.learn(shape, dims)
        leading.append(shape[: len(shape) - len(dims)])
    return shapes.broadcast_shapes(*leading) if leading else (), core.lengths


def check_output_dims(
    func: Callable[..., Any],
    dim_sizes: dict[str, int],
    expected_output_core_dims: Sequence[Dims],
    error_context: str = "",
) -> Callable[..., Any]:
    """The function, whose results are compared with the core axes that a signature gives them, and with known lengths."""

    def call(*args: Any) -> Any:
        core = Core(error_context)
        core.lengths.update(dim_sizes)
        return checked(func, core, tuple(expected_output_core_dims))(*args)

    return call
