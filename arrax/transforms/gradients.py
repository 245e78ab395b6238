"""Gradients and Jacobians: ``grad``, ``value_and_grad``, ``jacfwd``, ``jacrev``, ``hessian``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from arrax import dtypes
from arrax.core.argument_values import flatten_values
from arrax.core.function_info import naming_argument
from arrax.core.functions import named_like
from arrax.core.lengths import is_symbolic
from arrax.core.pytrees import tree_flatten, tree_map, tree_structure, tree_unflatten
from arrax.core.tracebacks import boundary
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.dtypes.kinds import tangent_dtype
from arrax.lax.arithmetic import add, eq
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.filled_arrays import broadcasted_iota
from arrax.lax.placement import device_put, own_sharding
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.lax.static_slicing import slice_in_dim
from arrax.native import runtime
from arrax.transforms.autodiff import Linearized, jvp
from arrax.transforms.differentiated_arguments import Argnums, Chosen, DifferentiatedArguments
from arrax.transforms.differentiated_functions import (
    as_result,
    aux_from,
    check_leaf,
    concrete_zero,
    flat_function,
)
from arrax.transforms.vectorize import vmap
from arrax.transforms.wrapped import P, R
from arrax.xla.arrays import ArrayLike

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef


ArrayImpl = runtime.ArrayImpl


def _check_inputs(
    name: str, fun: Callable[..., Any], chosen: Chosen, leaves: Sequence[Any], holomorphic: bool, allow_int: bool
) -> None:
    """Refuse arguments that have no derivatives.

    Raises:
      TypeError: naming the argument.
    """
    for index, leaf in enumerate(leaves):
        try:
            _check_input(name, holomorphic, allow_int, leaf)
        except TypeError as error:
            raise naming_argument(error, chosen.leaf_names(fun), index) from None


def _check_input(name: str, holomorphic: bool, allow_int: bool, leaf: Any) -> None:
    aval = check_leaf(name, leaf)
    if not isinstance(aval, ShapedArray):
        raise TypeError(f"{name} requires arrays to differentiate with respect to, but got a value of type {aval!r}")
    dtype = aval.dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        if not allow_int and tangent_dtype(dtype) == dtypes.float0:
            raise TypeError(
                f"{name} without allow_int requires real- or complex-valued inputs, of a floating or complex dtype, "
                f"but got {dtype}."
            )
        return
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(f"{name} with holomorphic=True requires inputs with complex dtype, but got {dtype.name}.")
        return
    if not dtypes.is_inexact(dtype):
        if allow_int:
            return
        other = "jvp" if name == "jacfwd" else "vjp, or give allow_int=True"
        raise TypeError(
            f"{name} requires real- or complex-valued inputs, of a floating or complex dtype, but got "
            f"{dtype.name}. For integers and bools use {other}."
        )
    if dtypes.is_complex(dtype) and name in ("jacfwd",):
        raise TypeError(
            f"{name} requires real-valued inputs, of a floating dtype, but got {dtype.name}. "
            "Give holomorphic=True if the function is holomorphic; otherwise use jvp, which takes complex inputs."
        )


def _check_scalar_output(name: str, holomorphic: bool, leaves: Sequence[Any], tree: PyTreeDef) -> None:
    if tree != tree_structure(0):
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output was: {tree_unflatten(tree, leaves)}."
        )
    aval = typeof(leaves[0])
    if aval.shape != ():
        raise TypeError(f"Gradient only defined for scalar-output functions. Output had shape: {aval.shape}.")
    _check_output(name, holomorphic, aval)


def _check_output(name: str, holomorphic: bool, aval: ShapedArray) -> None:
    dtype = aval.dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"{name} with output element type {dtype}")
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(f"{name} with holomorphic=True requires outputs with complex dtype, but got {dtype.name}.")
    elif dtypes.is_complex(dtype):
        raise TypeError(
            f"{name} requires real-valued outputs, of a floating dtype, but got {dtype.name}. "
            "Give holomorphic=True if the function is holomorphic; otherwise use vjp, which takes complex outputs."
        )
    elif not dtypes.is_float(dtype):
        raise TypeError(
            f"{name} requires real-valued outputs, of a floating dtype, but got {dtype.name}. "
            "Functions with integer outputs can be differentiated by vjp."
        )


@overload
def value_and_grad(
    fun: Callable[P, R],
    argnums: Argnums = ...,
    has_aux: bool = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[Any, ...] = ...,
) -> Callable[P, tuple[R, Any]]: ...
@overload  # type checkers take functions without types, such as lambdas, better so
def value_and_grad(
    fun: Callable[..., Any],
    argnums: Argnums = ...,
    has_aux: bool = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[Any, ...] = ...,
) -> Callable[..., Any]: ...


def value_and_grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: tuple[Any, ...] = (),
) -> Callable[..., Any]:
    """A function that returns the value of ``fun`` and its gradient.

    Args:
      fun: function with a scalar result (with ``has_aux``: a pair of it and auxiliary data).
      argnums: position (or positions) of the arguments to differentiate.
      has_aux: whether ``fun`` returns auxiliary data.
      holomorphic: whether ``fun`` is a holomorphic function of complex arguments.
      allow_int: accept integer arguments; their gradients have dtype float0.
      reduce_axes: accepted, without effect.
    Returns: function with ``fun``'s arguments that returns ``(value, gradient)``; gradients have the arguments' structure.
    Raises:
      TypeError: inputs or outputs of other types, an output that is not a scalar.
    Example: ``value_and_grad(lambda x: x ** 2)(3.)`` is ``(9., 6.)``.
    """
    differentiated = DifferentiatedArguments("grad", fun, argnums)

    @boundary
    @named_like(fun)
    def value_and_grad_f(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        chosen = differentiated.of_call(args, kwargs)
        leaves, tree = flatten_values(chosen.values)
        _check_inputs("grad", fun, chosen, leaves, holomorphic, allow_int)
        outputs: dict[str, Any] = {}
        flat = flat_function(lambda *values: chosen.call(fun, *values), tree, has_aux, outputs)
        linear = Linearized(flat, leaves)
        _check_scalar_output("grad", holomorphic, linear.outs, outputs["tree"])
        value = as_result(linear.outs[0])
        cts = linear.pull([_one(linear.out_avals[0])])
        grads = [_gradient(ct, x) for ct, x in zip(cts, leaves, strict=True)]
        gradient = differentiated.unpack(tree_unflatten(tree, grads))
        return ((value, aux_from(outputs, linear.interpreters)), gradient) if has_aux else (value, gradient)

    return value_and_grad_f


def _gradient(ct: Any, x: Any) -> ArrayLike:
    """The gradient for an argument, where the argument lies: zeros that no operation made of it would lie elsewhere."""
    found = concrete_zero(Zero(typeof(x).to_tangent_aval()) if ct is None else ct)
    if type(x) is not ArrayImpl or not x._committed or type(found) is not ArrayImpl or found._committed:
        return found
    sharding = own_sharding(x, found.shape)
    return found if sharding is None else device_put(found, sharding)


def _one(aval: ShapedArray) -> ArrayLike:
    """The derivative of an output with respect to itself, as a constant."""
    if aval.weak_type and aval.dtype == typeof(1.0).dtype:
        return 1.0
    one = np.ones((), aval.dtype)[()]
    return convert(one, aval.dtype, aval.weak_type)


@overload
def grad(
    fun: Callable[P, Any],
    argnums: Argnums = ...,
    has_aux: bool = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[Any, ...] = ...,
) -> Callable[P, Any]: ...
@overload  # type checkers take functions without types, such as lambdas, better so
def grad(  # type: ignore[overload-cannot-match]
    fun: Callable[..., Any],
    argnums: Argnums = ...,
    has_aux: bool = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[Any, ...] = ...,
) -> Callable[..., Any]: ...


def grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: tuple[Any, ...] = (),
) -> Callable[..., Any]:
    """A function that returns the gradient of ``fun``.

    Args:
      fun: function with a scalar result (with ``has_aux``: a pair of it and auxiliary data).
      argnums: position (or positions) of the arguments to differentiate, which are arrays, numbers or pytrees of them.
      has_aux: whether ``fun`` returns auxiliary data.
      holomorphic: whether ``fun`` is a holomorphic function of complex arguments.
      allow_int: accept integer arguments; their gradients have dtype float0.
      reduce_axes: accepted, without effect.
    Returns: function with ``fun``'s arguments that returns the gradient, of the structure and shapes of the arguments (a tuple of
      gradients for several positions), with ``has_aux`` ``(gradient, auxiliary data)``.
    Raises:
      TypeError: inputs or outputs of other types, an output that is not a scalar.
    Example: ``grad(jnp.tanh)(0.)`` is 1.
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @boundary
    @named_like(fun)
    def grad_f(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return grad_f


def _basis(leaves: Sequence[Any]) -> list[Any]:
    """The standard basis of the space of some arrays: for each, an array with a leading axis over all elements."""
    avals = [typeof(leaf) for leaf in leaves]
    total = sum(aval.size for aval in avals)
    result, start = [], 0
    for aval in avals:
        block: Any
        if is_symbolic(total):
            block = reshape(_shifted_unit(total, aval.size, start, aval.dtype), (total, *aval.shape))
        else:
            block = np.zeros((total, aval.size), aval.dtype)
            block[start : start + aval.size] = np.eye(aval.size, dtype=aval.dtype)
            block = block.reshape(total, *aval.shape)
        result.append(convert(block, aval.dtype, True) if aval.weak_type else block)
        start += aval.size
    return result


def _shifted_unit(rows: Any, columns: Any, start: Any, dtype: Any) -> Any:
    """A unit matrix from row ``start`` on, of lengths that are expressions of symbols."""
    counter = np.dtype(np.int32)
    row, column = (broadcasted_iota(counter, (rows, columns), axis) for axis in (0, 1))
    first = broadcast_in_dim(length_of_axis(start, counter), (rows, columns), ())
    return convert(eq(row, add(column, first)), dtype)


def _split_leading(x: Any, avals: Sequence[ShapedArray], shape_rest: tuple[int, ...], after: bool) -> list[Any]:
    """Cut the basis axis (leading) into one piece per array, with the array's axes in its place or at the end."""
    pieces, start = [], 0
    for aval in avals:
        piece = slice_in_dim(x, start, start + aval.size)
        if after:
            rank = typeof(piece).ndim
            piece = slots.move_axis(piece, 0, rank - 1)
            pieces.append(reshape(piece, (*shape_rest, *aval.shape)))
        else:
            pieces.append(reshape(piece, (*aval.shape, *shape_rest)))
        start += aval.size
    return pieces


def jacfwd(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Jacobian of ``fun``, column by column (forward mode): for more outputs than inputs.

    Args: as of ``grad``; ``fun`` returns an array or a pytree of arrays.
    Returns: function that gives, for each output leaf and input leaf, an array of shape ``output.shape + input.shape``.
    Example: ``jacfwd(jnp.sin)(jnp.zeros(2))`` is the identity matrix.
    """
    differentiated = DifferentiatedArguments("jacfwd", fun, argnums)

    @boundary
    @named_like(fun)
    def jacfun(*args: Any, **kwargs: Any) -> Any:
        chosen = differentiated.of_call(args, kwargs)
        leaves, tree = flatten_values(chosen.values)
        _check_inputs("jacfwd", fun, chosen, leaves, holomorphic, False)
        if not leaves:
            raise ValueError("jacfwd: the arguments to differentiate by hold no arrays")
        avals = [typeof(leaf) for leaf in leaves]
        basis = tree_unflatten(tree, _basis(leaves))

        def push(*tangents: Any) -> tuple[Any, ...]:
            out = jvp(lambda *values: chosen.call(fun, *values), chosen.values, tangents, has_aux)
            return out if has_aux else (*out, ())

        value, columns, aux = vmap(push, out_axes=(None, 0, None))(*basis)
        for leaf in tree_flatten(value)[0]:
            if holomorphic or isinstance(typeof(leaf).dtype, dtypes.ExtendedDType):
                _check_output("jacfwd", holomorphic, typeof(leaf))

        def pieces(y: Any, column: Any) -> Any:
            if typeof(column).dtype == dtypes.float0:  # integers don't move with the input
                column = np.zeros(column.shape, typeof(y).dtype)
            found = _split_leading(column, avals, typeof(y).shape, after=True)
            return differentiated.unpack(tree_unflatten(tree, found))

        jacobian_tree = tree_map(pieces, value, columns)
        return (jacobian_tree, aux) if has_aux else jacobian_tree

    return jacfun


def jacrev(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of ``fun``, row by row (reverse mode): for more inputs than outputs.

    Args: as of ``grad``; ``fun`` returns an array or a pytree of arrays.
    Returns: function that gives, for each output leaf and input leaf, an array of shape ``output.shape + input.shape``.
    Example: ``jacrev(jnp.sin)(jnp.zeros(2))`` is the identity matrix.
    """
    differentiated = DifferentiatedArguments("jacrev", fun, argnums)

    @boundary
    @named_like(fun)
    def jacfun(*args: Any, **kwargs: Any) -> Any:
        chosen = differentiated.of_call(args, kwargs)
        leaves, tree = flatten_values(chosen.values)
        _check_inputs("jacrev", fun, chosen, leaves, holomorphic, allow_int)
        outputs: dict[str, Any] = {}
        flat = flat_function(lambda *values: chosen.call(fun, *values), tree, has_aux, outputs)
        linear = Linearized(flat, leaves)
        for aval in linear.out_avals:
            _check_output("jacrev", holomorphic, aval)

        def pull(*cotangents: Any) -> list[Any]:
            cts = linear.pull(list(cotangents))
            return [
                concrete_zero(Zero(typeof(x).to_tangent_aval()) if ct is None else ct)
                for ct, x in zip(cts, leaves, strict=True)
            ]

        rows = vmap(pull)(*_basis(linear.outs)) if linear.outs else [np.zeros(0)] * len(leaves)
        rows = [
            np.zeros(row.shape, typeof(x).dtype) if typeof(row).dtype == dtypes.float0 else row  # as of jacfwd
            for row, x in zip(rows, leaves, strict=True)
        ]
        per_input = [
            _split_leading(row, linear.out_avals, typeof(x).shape, after=False)
            for row, x in zip(rows, leaves, strict=True)
        ]
        per_output = [
            differentiated.unpack(tree_unflatten(tree, [per_input[i][o] for i in range(len(leaves))]))
            for o in range(len(linear.outs))
        ]
        jacobian_tree = tree_unflatten(outputs["tree"], per_output)
        return (jacobian_tree, aux_from(outputs, linear.interpreters)) if has_aux else jacobian_tree

    return jacfun


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Hessian of ``fun``: the Jacobian, forward over reverse.

    Args: as of ``grad``.
    Returns: function that gives arrays of shape ``output.shape + input.shape + input.shape``.
    Example: ``hessian(lambda x: x[0] * x[1])(jnp.ones(2))`` is ``[[0, 1], [1, 0]]``. Name of ``fun`` is kept.
    """
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )
