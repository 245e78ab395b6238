"""Derivatives checked against differences: for tests of functions with rules of their own."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.pytrees import tree_flatten, tree_leaves, tree_map, tree_structure
from arrax.core.types import typeof
from arrax.transforms.autodiff import jvp, vjp
from arrax.xla.arrays import ArrayLike

# Half the step of central differences, and what errors of rounding and truncation then amount to, by precision.
_STEPS = {np.dtype(name): 1e-4 for name in ("float32", "float64", "complex64", "complex128")}
_TOLERANCES = {np.dtype(np.float64): 1e-5, np.dtype(np.complex128): 1e-5}
_STEP, _TOLERANCE, _COARSE_TOLERANCE = 1 / 1024, 2e-2, 1e-1


def _differentiable(x: Any) -> bool:
    return dtypes.issubdtype(typeof(x).dtype, np.inexact)


def _direction(random: np.random.RandomState, x: Any) -> np.ndarray:
    """A random tangent."""
    aval = typeof(x)
    if not _differentiable(x):
        return np.zeros(aval.shape, dtypes.float0)
    values = random.standard_normal(aval.shape)
    if dtypes.is_complex(aval.dtype):
        values = values + 1j * random.standard_normal(aval.shape)
    return np.asarray(values).astype(aval.dtype)


def _finest(values: tuple[Any, ...]) -> np.dtype:
    """The least precise floating dtype among some values: it decides how far differences can be trusted."""
    found = [typeof(x).dtype for x in tree_leaves(values) if _differentiable(x)]
    return min(found, key=lambda dtype: -dtypes.finfo(dtype).eps, default=np.dtype(np.float32))


def _tolerance(dtype: np.dtype) -> float:
    return _TOLERANCES.get(dtype, _TOLERANCE if dtypes.finfo(dtype).bits >= 32 else _COARSE_TOLERANCE)


def _moved(x: Any, direction: np.ndarray, step: float) -> ArrayLike:
    return np.asarray(x + direction * step, typeof(x).dtype) if _differentiable(x) else x


def _difference_quotient(f: Callable[..., Any], args: Any, directions: tuple[Any, ...], step: float) -> Any:
    """(f(args + step directions) - f(args - step directions)) / (2 step)."""
    ahead = f(*tree_map(lambda x, d: _moved(x, d, step), args, directions))
    behind = f(*tree_map(lambda x, d: _moved(x, d, -step), args, directions))

    def quotient(a: ArrayLike, b: ArrayLike) -> Any:
        if not _differentiable(a):
            return np.zeros(typeof(a).shape, dtypes.float0)
        wide = np.complex128 if dtypes.is_complex(typeof(a).dtype) else np.float64
        return (np.asarray(a, wide) - np.asarray(b, wide)) / (2 * step)

    return tree_map(quotient, ahead, behind)


Tolerance = float | Mapping[Any, float] | None  # for all dtypes, for some by name, or what they can tell


def _tolerance_for(left: np.dtype, right: np.dtype, given: Tolerance) -> float:
    """How far apart values of two dtypes may lie: as the less precise one says."""
    if isinstance(given, (int, float)):
        return given
    chosen = {np.dtype(dtype): value for dtype, value in (given or {}).items()}
    return max(chosen.get(dtype, _digits(dtype)) for dtype in (left, right))


def _digits(dtype: np.dtype) -> float:
    """A power of ten just above the unit in the last place of a dtype."""
    if not dtypes.issubdtype(dtype, np.inexact):
        return 0.0
    return min(10.0 ** math.ceil(math.log10(dtypes.finfo(dtype).eps)), 0.1)


def check_close(xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = "") -> None:
    """Compare the arrays in two pytrees.

    Args:
      xs, ys: pytrees of one structure, with arrays of equal shapes.
      atol, rtol: largest difference and relative one, or a dictionary of them by dtype; where they are not given, what
        the less precise dtype of two arrays can tell.
      err_msg: added to the error's message.
    Raises:
      AssertionError: they differ.
    Example: ``check_close([1.0], [1.0 + 1e-9])``.
    """
    _assert_close("check_close", xs, ys, atol, rtol, err_msg)


def _assert_close(what: str, got: Any, expected: Any, atol: Tolerance, rtol: Tolerance, err_msg: str) -> None:
    if tree_structure(got) != tree_structure(expected):
        raise AssertionError(
            f"{what}: structures differ: {tree_structure(got)} and {tree_structure(expected)}. {err_msg}"
        )
    for a, b in zip(tree_leaves(got), tree_leaves(expected), strict=True):
        kinds = typeof(a).dtype, typeof(b).dtype
        if dtypes.float0 in kinds:
            continue
        wide = np.complex128 if dtypes.is_complex(kinds[1]) else np.float64
        left, right = np.asarray(a).astype(wide), np.asarray(b).astype(wide)
        if left.shape != right.shape:
            raise AssertionError(f"{what}: shapes differ: {left.shape} and {right.shape}. {err_msg}")
        np.testing.assert_allclose(
            left, right, atol=_tolerance_for(*kinds, atol), rtol=_tolerance_for(*kinds, rtol), err_msg=f"{what} {err_msg}".strip()
        )  # fmt: skip


def _options(args: Any, atol: float | None, rtol: float | None, eps: float | None) -> tuple[float, float, float]:
    dtype = _finest(args)
    tolerance = _tolerance(dtype)
    step = _STEPS.get(dtype, _STEP) if eps is None else eps
    return tolerance if atol is None else atol, tolerance if rtol is None else rtol, step


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a forward derivative against central differences in a random direction.

    Args:
      f: function of ``args``, of arrays and pytrees of them.
      f_jvp: what gives its value and derivative: ``f_jvp(primals, tangents) -> (outputs, output_tangents)``.
      args: where.
      atol, rtol: absolute and relative tolerance; by default what differences in the arguments' precision allow.
      eps: the step of the differences.
      err_msg: added to the message of a failure.
    Raises:
      AssertionError: they differ.
    Example: ``check_jvp(jnp.sin, functools.partial(arrax.jvp, jnp.sin), (1.0,))``.
    """
    atol, rtol, step = _options(args, atol, rtol, eps)
    random = np.random.RandomState(0)
    args = tuple(args)
    directions = tree_map(functools.partial(_direction, random), args)
    values, slopes = f_jvp(args, directions)
    _assert_close("The value of the jvp differs from the function's.", values, f(*args), atol, rtol, err_msg)
    quotients = _difference_quotient(f, args, directions, step)
    _assert_close("The jvp differs from finite differences.", slopes, quotients, atol, rtol, err_msg)


def _product(left: Any, right: Any) -> float:
    """The real part of the sum of the products of two trees' elements."""
    total = 0.0
    for a, b in zip(tree_leaves(left), tree_leaves(right), strict=True):
        if typeof(a).dtype != dtypes.float0 and typeof(b).dtype != dtypes.float0:
            total += float(np.sum(np.asarray(a, np.complex128) * np.asarray(b, np.complex128)).real)
    return total


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a reverse derivative against central differences: both give the same slope in a random direction.

    Args:
      f: function of ``args``.
      f_vjp: what gives its value and pullback: ``f_vjp(*args) -> (outputs, pullback)``.
      args, atol, rtol, eps, err_msg: see ``check_jvp``.
    Raises:
      AssertionError: they differ.
    Example: ``check_vjp(jnp.sin, functools.partial(arrax.vjp, jnp.sin), (1.0,))``.
    """
    atol, rtol, step = _options(args, atol, rtol, eps)
    random = np.random.RandomState(0)
    args = tuple(args)
    values, pullback = f_vjp(*args)
    _assert_close("The value of the vjp differs from the function's.", values, f(*args), atol, rtol, err_msg)
    directions = tree_map(functools.partial(_direction, random), args)
    quotients = _difference_quotient(f, args, directions, step)
    weights = tree_map(functools.partial(_direction, random), values)
    found, expected = _product(pullback(weights), directions), _product(weights, quotients)
    _assert_close(
        "The vjp differs from finite differences.", np.float64(found), np.float64(expected), atol, rtol, err_msg
    )


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: str | Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of a function, up to some order, against central differences.

    Args:
      f: function of ``args``, of arrays and pytrees of them.
      args: where.
      order: the highest order.
      modes: ``"fwd"`` for jvp, ``"rev"`` for vjp, or both, alone and in every mixture.
      atol, rtol, eps: see ``check_jvp``.
    Raises:
      AssertionError: a derivative differs; the message names the modes that lead to it.
    Example: ``check_grads(jnp.sin, (1.0,), order=2)``.
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    unknown = set(modes) - {"fwd", "rev"}
    if unknown:
        raise ValueError(f"check_grads: modes are 'fwd' and 'rev', got {sorted(unknown)}")
    leaves = tree_flatten(tuple(args))[0]
    if not any(_differentiable(leaf) for leaf in leaves):
        raise ValueError("check_grads: no argument is floating or complex")
    atol, rtol, step = _options(args, atol, rtol, eps)
    _check_order(f, tuple(args), order, modes, atol, rtol, step, "of f")


def _check_order(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    order: int,
    modes: tuple[str, ...],
    atol: float,
    rtol: float,
    eps: float,
    of: str,
) -> None:
    if "fwd" in modes:
        check_jvp(f, functools.partial(jvp, f), args, atol, rtol, eps, f"(jvp {of})")
        if order > 1:
            tangents = tree_map(lambda x: x if _differentiable(x) else _direction(np.random.RandomState(0), x), args)
            forward = functools.partial(_slopes, f, tangents)
            _check_order(forward, args, order - 1, modes, atol, rtol, eps, f"of the jvp {of}")
    if "rev" in modes:
        check_vjp(f, functools.partial(vjp, f), args, atol, rtol, eps, f"(vjp {of})")
        if order > 1:
            _check_order(functools.partial(_pulled, f), args, order - 1, modes, atol, rtol, eps, f"of the vjp {of}")


def _slopes(f: Callable[..., Any], tangents: tuple[Any, ...], *args: Any) -> Any:
    return tuple(x for x in tree_leaves(jvp(f, args, tangents)) if typeof(x).dtype != dtypes.float0)


def _pulled(f: Callable[..., Any], *args: Any) -> Any:
    outs, pullback = vjp(f, *args)
    return tuple(x for x in tree_leaves(pullback(outs)) if typeof(x).dtype != dtypes.float0)
