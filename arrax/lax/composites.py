"""Composites: operations under a name of their own, which a compiler may know, with a program for those that do not."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import native
from arrax.core.calls import as_index
from arrax.core.errors import UnexpectedTracerError
from arrax.core.function_info import describe_call
from arrax.core.interpreter import Primitive, Tracer
from arrax.core.program import ClosedJaxpr
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.tracebacks import boundary
from arrax.core.types import typeof
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import inner_function
from arrax.interpreters.staging import stage
from arrax.lax.operand_checks import checked_operand

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.native.mlir import ir
    from arrax.xla.arrays import Array, ArrayLike

_NAME = re.compile(r"[a-zA-Z]\w*(\.[\w$]+)+")
composite_p = Primitive("composite", multiple_results=True)
composite_p.holds_programs = True
composite_p.type_rule = lambda *avals, jaxpr, **params: jaxpr.out_avals


def _attribute(value: float | str | tuple[str, float]) -> ir.Attribute:
    """The MLIR attribute of a constant."""
    if isinstance(value, bool | np.bool_):
        return builder.attribute(str(bool(value)).lower())
    if isinstance(value, int | np.integer):
        return builder.integer(int(value), 64 if isinstance(value, int) else value.dtype.itemsize * 8)
    if isinstance(value, float | np.floating):
        return builder.attribute(f"{float(value)!r} : f{64 if isinstance(value, float) else value.dtype.itemsize * 8}")
    if isinstance(value, str):
        return builder.string(value)
    if isinstance(value, tuple | list):
        return native.mlir.ir.ArrayAttr.get([_attribute(entry) for entry in value])
    if isinstance(value, dict):
        return native.mlir.ir.DictAttr.get({str(key): _attribute(entry) for key, entry in value.items()})
    if isinstance(value, Tracer):
        raise TypeError(f"composite: attributes must be constants, got {value}")
    return builder.dense(np.asarray(value))


def _lower(
    ctx: LoweringContext,
    *values: Value,
    jaxpr: ClosedJaxpr,
    name: str,
    version: int,
    attributes: Sequence[tuple[str, Any, Any]],
) -> list[Value]:
    if not _NAME.fullmatch(name):
        raise ValueError(f"composite: the name must have a namespace, as 'my.softmax', got {name!r}")
    function = inner_function(ctx.module_context, name, jaxpr)
    symbol = native.mlir.ir.FlatSymbolRefAttr.get(native.mlir.ir.StringAttr(function.attributes["sym_name"]).value)
    texts = {key: _attribute(tree_unflatten(tree, leaves)) for key, leaves, tree in attributes if leaves != (None,)}
    config = {
        "name": builder.string(name),
        "decomposition": symbol,
        "version": builder.integer(version, 32),
        "composite_attributes": native.mlir.ir.DictAttr.get(texts),
    }
    types = [builder.ir_type(aval) for aval in ctx.avals_out]
    return list(builder.operation("stablehlo.composite", types, values, config).results)


def _refuse_derivative(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, name: str, **params: Any) -> Any:
    raise ValueError(
        f"the composite '{name}' has no derivative, since its program is only one way to compute it. "
        "Give it one with `custom_jvp` around it."
    )


composite_p.lower[None] = _lower
composite_p.jvp = _refuse_derivative


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function that lowers to one operation of a given name.

    Args:
      decomposition: ``f(*args, **attributes)``: what the operation computes, where a compiler does not know the name.
      name: the operation's name, such as ``"my.softmax"``.
      version: its version, an int of 32 bits.
    Returns: a function of arrays (or pytrees of them); its keyword arguments are constants, the operation's attributes.
    Raises:
      TypeError: a keyword argument that is traced, or a version that is not an integer.
      OverflowError: a version of more than 32 bits.
      ValueError: where it is lowered, a name without a namespace.
    Example: ``lax.composite(lambda x, *, k: k * jnp.sin(x), "my.sin")(jnp.ones(2), k=3)``. Source: StableHLO ``composite``.
    """

    number = as_index(version)
    if number.bit_length() > 31:
        raise OverflowError(f"composite: version must be an int of 32 bits, got {number}")

    @boundary
    @functools.wraps(decomposition)
    def decorated(*args: Any, **attributes: Any) -> Any:
        constants = tuple(_hashable(key, value) for key, value in attributes.items())
        leaves, tree = tree_flatten(args)
        values = [checked_operand(name, leaf) for leaf in leaves]
        found: list[Any] = []

        def flat(*flat_args: Array) -> list[Any]:
            outs, out_tree = tree_flatten(decomposition(*tree_unflatten(tree, list(flat_args)), **attributes))
            found.append(out_tree)
            return outs

        jaxpr, consts = stage(
            flat, [typeof(value) for value in values], describe_call(decomposition, "composite", args)
        )
        if any(isinstance(const, Tracer) for const in consts):
            raise UnexpectedTracerError(
                f"composite: the program of '{name}' must not close over traced values: pass them to it"
            )
        outs = composite_p.bind(
            *values, jaxpr=ClosedJaxpr(jaxpr, consts), name=name, version=number, attributes=constants
        )  # fmt: skip
        return tree_unflatten(found[-1], outs)

    return decorated


def _hashable(key: str, value: ArrayLike | Sequence[Any]) -> tuple[str, tuple[Any, ...], Any]:
    leaves, tree = tree_flatten(value, is_leaf=lambda leaf: leaf is None)
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        raise TypeError(f"composite: the attribute {key} must be a constant, got {value}")
    return key, tuple(leaves), tree
