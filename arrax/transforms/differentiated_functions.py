"""Functions that are differentiated, as functions of leaves, and checks of their arguments, results and tangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.function_info import naming_argument
from arrax.core.functions import function_name
from arrax.core.interpreter import Tracer, context, current_interpreters
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from arrax.core.reference_hooks import reference_hooks
from arrax.core.types import ShapedArray, Zero, instantiate, typeof
from arrax.dtypes.wording import shown
from arrax.interpreters.staging import Staging
from arrax.native import runtime
from arrax.xla.arrays import ArrayLike
from arrax.xla.placement import to_device_array

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent


_PLAIN = frozenset({int, float, complex})


def check_function(fun: Any) -> None:
    """Raise TypeError for what cannot be called."""
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}")


def check_axis_name(name: str, axis_name: Any) -> None:
    """Raise TypeError for a name of an axis that cannot be one."""
    try:
        hash(axis_name)
    except TypeError:
        raise TypeError(f"{name}: axis_name must be hashable, got {shown(axis_name)}") from None


def flat_function(
    fun: Callable[..., Any], in_tree: PyTreeDef, has_aux: bool, outputs: dict[str, Any]
) -> Callable[..., list[Any]]:
    """``fun`` as a function of leaves; the tree of its output (and its auxiliary output) go to ``outputs``."""

    def flat(*leaves: ArrayLike) -> list[Any]:
        out = fun(*tree_unflatten(in_tree, leaves))
        if has_aux:
            if not isinstance(out, tuple | list) or len(out) != 2:
                raise TypeError(
                    f"expected a pair as the output of {function_name(fun)}, since has_aux=True: (result, auxiliary data); "
                    f"got {_found(out)}"
                )
            out, outputs["aux"] = out
        values, outputs["tree"] = tree_flatten(out)
        for value in values:
            check_output(fun, value)
        return values

    return flat


def _found(out: Any) -> str:
    """What a function returned in place of a pair."""
    if isinstance(out, Tracer):
        return f"an array of shape {out.shape} and dtype {out.dtype}"
    return f"a {type(out).__name__} of length {len(out)}" if isinstance(out, tuple | list) else str(type(out))


def check_output(fun: Callable[..., Any], value: Any) -> None:
    """Raise TypeError where a function's output is not an array."""
    try:
        typeof(value)
    except TypeError:
        raise TypeError(
            f"differentiated function {function_name(fun)} returned a value of type {type(value)}, "
            "which is not a valid array type"
        ) from None
    if reference_hooks.refuse is not None:
        reference_hooks.refuse((value,), None)


def check_leaf(name: str, value: Any, names: Callable[[], Sequence[str]] | None = None, index: int = 0) -> Any:
    """The type of an argument's leaf.

    Args:
      name: of the function that gets it.
      names: gives what the leaves are called, and ``index`` which of them this one is.
    Raises:
      TypeError: it is not an array, naming the function and the argument.
    """
    try:
        return typeof(value)
    except TypeError:
        error = TypeError(f"Argument '{shown(value, str)}' of type {type(value)} to {name} is not a valid JAX type.")
        raise (error if names is None else naming_argument(error, names(), index)) from None


def aux_from(outputs: dict[str, Any], interpreter: Any) -> Any:
    """Auxiliary output with the tracers of a finished interpreter unwrapped."""
    leaves, tree = tree_flatten(outputs["aux"])

    def lowered(leaf: Any) -> Any:
        if reference_hooks.run is not None and reference_hooks.among((leaf,)):
            own = getattr(leaf, "interpreter", None) in interpreter
            return reference_hooks.returned("auxiliary data", leaf, lowered) if own else leaf
        while isinstance(leaf, Tracer) and leaf.interpreter in interpreter and hasattr(leaf, "primal"):
            leaf = leaf.primal
        return leaf

    return tree_unflatten(tree, list(map(lowered, leaves)))


def check_tangents(name: str, primals: Sequence[Any], tangents: Sequence[Any]) -> None:
    """Raise where tangents do not fit their primals, naming the function."""
    for primal, tangent in zip(primals, tangents, strict=True):
        aval, given = typeof(primal), typeof(tangent)
        if not isinstance(aval, ShapedArray) and given == aval:  # a reference, and one that holds tangents
            continue
        expected = aval.to_tangent_aval()
        if given.dtype != expected.dtype:
            raise TypeError(
                f"primal and tangent arguments to {name} do not match: a primal of dtype {aval.dtype} has tangents of dtype "
                f"{expected.dtype} (float0 for ints and bools), but got {given.dtype}."
            )
        if given.shape != aval.shape:
            raise ValueError(
                f"{name} called with different primal and tangent shapes; Got primal shape {aval.shape} and tangent shape "
                f"as {given.shape}"
            )


def symbolic_tangent(tangent: ArrayLike) -> Tangent:
    """float0 tangents become symbolic zeros."""
    aval = typeof(tangent)
    return Zero(aval) if aval.dtype == dtypes.float0 else tangent


def concrete_zero(tangent: Tangent) -> Any:
    """An array for a tangent that may be symbolic or a plain number: of float0 for integers."""
    if type(tangent) is Zero:
        if tangent.aval.dtype == dtypes.float0:
            return np.zeros(tangent.aval.shape, dtypes.float0)
        tangent = instantiate(tangent)
    return _as_array(tangent) if type(tangent) in _PLAIN else as_result(tangent)


def as_result(value: Any) -> Any:
    """A value as a transformed function returns it: one of NumPy as an array, of a dtype that arrays have."""
    of_numpy = isinstance(value, np.generic | np.ndarray) and value.dtype != dtypes.float0
    return _as_array(value) if of_numpy else value


def _as_array(value: Any) -> ArrayLike:
    """A constant as an array: in a program that is recorded, a value of it, for which no operation is recorded."""
    if context.interpreter.is_evaluation:
        return to_device_array(value)
    recording = next((each for each in current_interpreters() if isinstance(each, Staging)), None)
    return value if recording is None else recording.value(value)


def tangent_beside(value: Any, tangent: Tangent) -> Any:
    """A tangent as it leaves ``jvp``: an array beside an array, and as the user gave it where nothing was computed."""
    computed = isinstance(value, runtime.Array | Tracer)
    return concrete_zero(tangent) if computed or type(tangent) is Zero else tangent
