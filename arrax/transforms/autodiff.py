"""Derivatives of users' functions: ``jvp``, ``linearize``, ``vjp``, ``linear_transpose``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from arrax import dtypes
from arrax.core.argument_values import flatten_values
from arrax.core.flat_functions import shaped_abstractify
from arrax.core.function_info import describe_call, flat_names
from arrax.core.functions import function_name
from arrax.core.interpreter import context, run_in
from arrax.core.name_stacks import JVP as JVP_NAME
from arrax.core.name_stacks import TRANSPOSE
from arrax.core.program import ClosedJaxpr, Jaxpr
from arrax.core.pytree_mismatch import different_structures
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.core.pytrees import Partial as TreePartial
from arrax.core.pytrees import PyTreeDef, register_pytree_node, tree_flatten, tree_unflatten
from arrax.core.reference_hooks import reference_hooks
from arrax.core.tracebacks import boundary
from arrax.core.types import Zero, typeof
from arrax.interpreters.ad.forward import JVP
from arrax.interpreters.ad.forward import jvp as jvp_flat
from arrax.interpreters.ad.partial import Partial
from arrax.interpreters.ad.transpose import UndefinedPrimal, backward_pass
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.transforms.differentiated_functions import (
    as_result,
    aux_from,
    check_function,
    check_leaf,
    check_tangents,
    concrete_zero,
    flat_function,
    symbolic_tangent,
    tangent_beside,
)
from arrax.transforms.wrapped import A, R


@overload
def jvp(
    fun: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[False] = ...
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, A]], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
) -> tuple[R, R, A]: ...
@overload
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = ...
) -> tuple[Any, ...]: ...
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of a function and its derivative along a direction (forward mode).

    Args:
      fun: function of arrays or pytrees of them.
      primals: tuple or list of arguments.
      tangents: tuple or list of the same structure, shapes and dtypes: the direction.
      has_aux: ``fun`` returns (result, auxiliary data), of which the latter is not differentiated.
    Returns: ``(fun(*primals), derivative)``, with ``has_aux`` also the auxiliary data.
    Raises:
      TypeError: structures or dtypes that differ.
      ValueError: shapes that differ.
    Example: ``jvp(jnp.sin, (0.,), (1.,))`` is ``(0., 1.)``.
    """
    check_function(fun)
    for name, value in (("primal", primals), ("tangent", tangents)):
        if not isinstance(value, tuple | list):
            raise TypeError(f"{name}s passed to jvp must be a tuple or a list of arguments, found {type(value)}")
    flat_primals, tree = flatten_values(tuple(primals))
    flat_tangents, tangent_tree = flatten_values(tuple(tangents))
    if tree != tangent_tree:
        raise TypeError(
            "primal and tangent arguments to jvp must have the same tree structure; primals have tree structure "
            f"{tree} whereas tangents have tree structure {tangent_tree}."
        )
    names = functools.partial(flat_names, fun, primals, {})
    for index, leaf in enumerate(flat_primals):
        check_leaf("jvp", leaf, names, index)
    check_tangents("jvp", flat_primals, flat_tangents)
    outputs: dict[str, Any] = {}
    flat = flat_function(fun, tree, has_aux, outputs)
    interpreter = JVP(context.interpreter)
    join = interpreter.join if reference_hooks.join is None else functools.partial(reference_hooks.join, interpreter)
    inputs = [join(x, symbolic_tangent(t)) for x, t in zip(flat_primals, flat_tangents, strict=True)]
    outs = run_in(interpreter, flat, *inputs, name=JVP_NAME)
    pairs = [interpreter.lift(out) for out in outs]
    value = tree_unflatten(outputs["tree"], [x for x, _ in pairs])
    tangent = tree_unflatten(outputs["tree"], [tangent_beside(x, t) for x, t in pairs])
    return (value, tangent, aux_from(outputs, (interpreter,))) if has_aux else (value, tangent)


class Linearized:
    """The derivative of a flat function at a point, as a linear program.

    Attributes:
      outs: values of the function.
      jaxpr, residuals: the linear program from the tangents of differentiable inputs to those of nonzero outputs.
      in_nonzero, out_nonzero: which inputs and outputs those are.
    """

    __slots__ = ("outs", "jaxpr", "residuals", "in_nonzero", "out_nonzero", "out_avals", "interpreters")

    def __init__(self, flat: Callable[..., Sequence[Any]], primals: Sequence[Any]) -> None:
        partial = Partial(context.interpreter)
        interpreter = JVP(partial)
        avals = [typeof(x).to_tangent_aval() for x in primals]
        self.in_nonzero = [aval.dtype != dtypes.float0 for aval in avals]
        tangents = [
            partial.unknown(aval) if nz else Zero(aval) for aval, nz in zip(avals, self.in_nonzero, strict=True)
        ]
        inputs = [interpreter.join(x, t) for x, t in zip(primals, tangents, strict=True)]

        def program_of_tangents() -> None:
            pairs = run_in(interpreter, lambda: [interpreter.lift(out) for out in flat(*inputs)], name=JVP_NAME)
            out_tangents = [t for _, t in pairs]
            self.out_nonzero = [type(t) is not Zero for t in out_tangents]
            self.outs = [x for x, _ in pairs]
            known = [partial.is_unknown(x) for x in self.outs]
            if any(known):
                raise TypeError(f"linearization failed: the values of {function_name(flat)} depend on tangents")
            inputs_unknown = [t for t in tangents if partial.is_unknown(t)]
            self.jaxpr, self.residuals = partial.program(
                inputs_unknown, [t for t in out_tangents if type(t) is not Zero]
            )

        run_in(partial, program_of_tangents)
        self.out_avals = [typeof(x) for x in self.outs]
        self.interpreters = (partial, interpreter)

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """Cotangents of the inputs (symbolic Zeros among them) for cotangents of the outputs."""
        return pull_back(self.jaxpr, self.residuals, self.in_nonzero, self.out_nonzero, cotangents)


def pull_back(
    jaxpr: Jaxpr, residuals: Sequence[Any], in_nonzero: Sequence[bool], out_nonzero: Sequence[bool], cts: Sequence[Any]
) -> list[Any]:
    """Cotangents of the inputs of a linear program: None where the input is not differentiable."""
    given = [ct for ct, nz in zip(cts, out_nonzero, strict=True) if nz]
    undefined = [UndefinedPrimal(var.aval) for var in jaxpr.invars]
    outs = iter(backward_pass(jaxpr, residuals, undefined, given, (TRANSPOSE,)))
    return [next(outs) if nz else None for nz in in_nonzero]


def _described(linear: Linearized, in_tree: PyTreeDef, out_tree: PyTreeDef, leaves: Sequence[Any]) -> Static:
    """All of a linear program but its residuals."""
    in_avals = [typeof(leaf) for leaf in leaves]
    return Static((linear.jaxpr, linear.in_nonzero, linear.out_nonzero, in_tree, out_tree, in_avals, linear.out_avals))


class LinearFunction:
    """The linear function that ``linearize`` returns: call it with tangents. A pytree whose leaves are its residuals."""

    def __init__(self, static: Static, residuals: Sequence[Any]) -> None:
        self._static, self._residuals = static, residuals

    @property
    def jaxpr(self) -> Jaxpr:
        """The linear program."""
        return self._static.value[0]

    @boundary
    def __call__(self, *tangents: Any) -> Any:
        jaxpr, in_nonzero, out_nonzero, in_tree, out_tree, in_avals, out_avals = self._static.value
        leaves, tree = tree_flatten(tangents)
        if tree != in_tree:
            raise TypeError(
                f"linearized function called with arguments of structure {tree}, but the function was linearized for "
                f"{in_tree}"
            )
        for leaf, aval in zip(leaves, in_avals, strict=True):
            given, expected = check_leaf("linearized function", leaf), aval.to_tangent_aval()
            if given.shape != expected.shape or given.dtype != expected.dtype:
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the original primal values: got "
                    f"{given.str_short(True)} for primal aval {aval.str_short(True)}"
                )
        given = [t for t, nz in zip(leaves, in_nonzero, strict=True) if nz]
        outs = iter(eval_jaxpr(jaxpr, self._residuals, *given))
        return tree_unflatten(out_tree, [
            next(outs) if nz else concrete_zero(Zero(aval.to_tangent_aval()))
            for nz, aval in zip(out_nonzero, out_avals, strict=True)
        ])  # fmt: skip


register_pytree_node(
    LinearFunction,
    lambda function: (tuple(function._residuals), function._static),
    lambda static, residuals: LinearFunction(static, residuals),
)


@overload
def linearize(fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = ...) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[..., R], A]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = ...) -> tuple[Any, ...]: ...
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function at a point and its derivative there, as a linear function computed once.

    Args:
      fun: function of arrays or pytrees of them.
      primals: the point.
      has_aux: ``fun`` returns (result, auxiliary data).
    Returns: ``(fun(*primals), linear function of tangents)``, with ``has_aux`` also the auxiliary data.
    Example: ``y, f_jvp = linearize(jnp.sin, 0.)`` gives ``f_jvp(1.) == 1.``.
    """
    check_function(fun)
    leaves, tree = flatten_values(primals)
    names = functools.partial(flat_names, fun, primals, {})
    for index, leaf in enumerate(leaves):
        check_leaf("linearize", leaf, names, index)
    outputs: dict[str, Any] = {}
    linear = Linearized(flat_function(fun, tree, has_aux, outputs), leaves)
    function = LinearFunction(_described(linear, tree, outputs["tree"], leaves), linear.residuals)
    value = tree_unflatten(outputs["tree"], linear.outs)
    return (value, function, aux_from(outputs, linear.interpreters)) if has_aux else (value, function)


def run_pullback(static: Static, residuals: Sequence[Any], cotangent: Any) -> tuple[Any, ...]:
    """The body of vjp functions: static description, residuals, one cotangent."""
    jaxpr, in_nonzero, out_nonzero, in_tree, out_tree, in_avals, out_avals = static.value
    leaves, tree = tree_flatten(cotangent)
    if tree != out_tree:
        raise ValueError(
            "unexpected tree structure of argument to vjp function: it must be that of the differentiated function's "
            f"output. {different_structures('argument', tree, 'output', out_tree)}"
        )
    for (path, leaf), aval in zip(tree_flatten_with_path(cotangent)[0], out_avals, strict=True):
        given, expected = check_leaf("vjp function", leaf), aval.to_tangent_aval()
        no_tangent = expected.dtype == dtypes.float0  # of such an output, any cotangent counts as zero
        if given.shape != expected.shape or (given.dtype != expected.dtype and not no_tangent):
            place = f" at path {keystr(path)}" if path else ""
            raise ValueError(
                f"unexpected JAX type (e.g. shape/dtype) for argument to vjp function: got {given.str_short(False)}, but "
                f"expected {expected.str_short(False)} because the corresponding output of the differentiated function "
                f"had type {aval.str_short(False)}{place}"
            )
    cts = pull_back(jaxpr, residuals, in_nonzero, out_nonzero, leaves)
    arrays = [
        concrete_zero(Zero(aval.to_tangent_aval()) if ct is None else ct)
        for ct, aval in zip(cts, in_avals, strict=True)
    ]
    return tree_unflatten(in_tree, arrays)


class Static:
    """A value in the structure of a pytree, compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: tuple[Any, ...]) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<linear program>"


@overload
def vjp(
    fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = ..., reduce_axes: Sequence[Any] = ...
) -> tuple[R, Callable[..., Any]]: ...
@overload
def vjp(
    fun: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True], reduce_axes: Sequence[Any] = ...
) -> tuple[R, Callable[..., Any], A]: ...
@overload
def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = ..., reduce_axes: Sequence[Any] = ...
) -> tuple[Any, ...]: ...
def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """The value of a function and the function that pulls cotangents of its output back to its inputs (reverse mode).

    Args:
      fun: function of arrays or pytrees of them.
      primals: the point.
      has_aux: ``fun`` returns (result, auxiliary data).
      reduce_axes: accepted, without effect.
    Returns: ``(fun(*primals), vjp_fun)``, with ``has_aux`` also the auxiliary data. ``vjp_fun`` takes one cotangent of the
      output's structure and returns a tuple of cotangents, one per argument; it is a pytree of its residuals.
    Example: ``y, f_vjp = vjp(jnp.sin, 0.)`` gives ``f_vjp(1.) == (1.,)``.
    """
    check_function(fun)
    leaves, tree = flatten_values(primals)
    names = functools.partial(flat_names, fun, primals, {})
    for index, leaf in enumerate(leaves):
        check_leaf("vjp", leaf, names, index)
    outputs: dict[str, Any] = {}
    linear = Linearized(flat_function(fun, tree, has_aux, outputs), leaves)
    value = tree_unflatten(outputs["tree"], list(map(as_result, linear.outs)))
    static = _described(linear, tree, outputs["tree"], leaves)
    pullback = TreePartial(run_pullback_of(static, function_name(fun)), linear.residuals)
    return (value, pullback, aux_from(outputs, linear.interpreters)) if has_aux else (value, pullback)


class run_pullback_of:
    """``run_pullback`` with its static part, a function that is equal only to itself."""

    __slots__ = ("static", "name")

    def __init__(self, static: Static, name: str) -> None:
        self.static, self.name = static, name

    @boundary
    def __call__(self, residuals: Sequence[Any], *cotangents: Any, **named: Any) -> tuple[Any, ...]:
        _check_count("vjp", self.name, cotangents, named)
        return run_pullback(self.static, residuals, cotangents[0])


def _check_count(transformation: str, name: str, cotangents: Sequence[Any], named: dict[str, Any]) -> None:
    if len(cotangents) != 1 or named:
        raise TypeError(
            f"the function that {transformation} returned for {name} takes one argument, the cotangent of the output of {name} "
            f"(of its structure, where that is a tuple or another container: {transformation}_fun((ct0, ct1))), but got "
            f"{len(cotangents)} arguments{f' and keyword arguments {sorted(named)}' if named else ''}"
        )


def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a function that is linear in its arguments.

    Args:
      fun: linear function.
      primals: arguments, of which only shapes and dtypes matter (``ShapeDtypeStruct`` will do).
      reduce_axes: accepted, without effect.
    Returns: a function from a cotangent of the output to a tuple of cotangents of the inputs.
    Raises:
      TypeError: types other than floating or complex throughout, or integer throughout.
    Example: ``linear_transpose(lambda x: 2 * x, 1.)(3.)`` is ``(6.,)``.
    """
    check_function(fun)
    leaves, tree = flatten_values(primals)
    avals = list(map(shaped_abstractify, leaves))
    outputs: dict[str, Any] = {}
    info = describe_call(fun, "linear_transpose", primals)
    jaxpr, consts = stage(flat_function(fun, tree, False, outputs), avals, info)
    if reference_hooks.discharge is not None:
        program = reference_hooks.discharge(ClosedJaxpr(jaxpr, consts))
        jaxpr, consts = program.jaxpr, program.consts
    jaxpr, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), True)
    types = (*jaxpr.in_avals, *jaxpr.out_avals)
    for aval in types:
        if dtypes.is_inexact(aval.dtype) != dtypes.is_inexact(types[0].dtype) or dtypes.is_bool(aval.dtype):
            raise TypeError(
                "linear_transpose only supports [float or complex] -> [float or complex], and integer -> integer functions, but "
                f"got a value of type {aval.str_short(True)}"
            )
    return TreePartial(_transposed_of(Static((jaxpr, avals, tree, outputs["tree"])), function_name(fun)), consts)


class _transposed_of:
    """The body of transposed functions; equal only to itself, as the program that it holds."""

    __slots__ = ("static", "name")

    def __init__(self, static: Static, name: str) -> None:
        self.static, self.name = static, name

    @boundary
    def __call__(self, consts: Sequence[Any], *cotangents: Any, **named: Any) -> tuple[Any, ...]:
        _check_count("linear_transpose", self.name, cotangents, named)
        jaxpr, avals, in_tree, out_tree = self.static.value
        cts, ct_tree = tree_flatten(cotangents[0])
        if ct_tree != out_tree:
            raise TypeError(f"cotangent tree does not match function output, expected {out_tree} but got {ct_tree}")
        for ct, aval in zip(cts, jaxpr.out_avals, strict=True):
            given = typeof(ct)
            if (given.shape, given.dtype) != (aval.shape, aval.dtype):
                raise TypeError(
                    f"cotangent type does not match function output, expected {aval.str_short(True)} but got {given.str_short(True)}"
                )
        outs = backward_pass(jaxpr, consts, [UndefinedPrimal(aval) for aval in avals], cts, (TRANSPOSE,))
        return tree_unflatten(in_tree, [concrete_zero(ct) for ct in outs])


__all__ = ["jvp", "jvp_flat", "linear_transpose", "linearize", "vjp"]
