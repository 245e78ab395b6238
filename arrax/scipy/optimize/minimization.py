"""Minima of functions of a vector by quasi-Newton methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.numpy_api.operands import check_arraylike
from arrax.scipy.optimize.line_search import Found, Point, line_search
from arrax.transforms.gradients import value_and_grad
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


class OptimizeResults(NamedTuple):
    """What a minimization has found.

    Attributes:
      x: the place of the minimum.
      success: whether the gradient is small enough there.
      status: 0: success; 1: too many steps; 3: the search along a line failed; 5: too many values asked for.
      fun: the function's value.
      jac: its gradient.
      hess_inv: the approximate inverse of its second derivatives; None for the method of limited memory.
      nfev, njev, nit: how many values and gradients were asked for, and how many steps were made.
    Example: ``found = arrax.scipy.optimize.minimize(lambda v: jnp.sum((v - 1) ** 2), x, method='BFGS'); found.x`` is
    ``[1, 1, 1, 1]``.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    before: Any  # the value before, from which the first step is guessed
    memory: Any
    steps: Any
    evaluations: Any
    failed: Any


def minimize(
    fun: Callable[..., Any], x0: ArrayLike, args: tuple[Any, ...] = (), *, method: str, tol: OptionalArray = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:  # fmt: skip
    """The minimum of a function, started somewhere.

    Args:
      fun: function of a vector, and of ``args``, to a number.
      x0: vector to start at.
      args: further arguments of ``fun``.
      method: ``"BFGS"``, or ``"l-bfgs-experimental-do-not-rely-on-this"``.
      tol: the same as the option ``gtol``.
      options: ``gtol`` (the norm of the gradient that is small enough, 1e-5), ``norm`` (which one: infinity by default),
        ``maxiter``, ``line_search_maxiter``; of limited memory also ``maxcor``, ``ftol``, ``maxfun``, ``maxgrad``, ``maxls``.
    Returns: ``OptimizeResults``.
    Raises:
      ValueError: another method or option.
      TypeError: ``args`` that are not a tuple.
    Example: ``optimize.minimize(lambda x: jnp.sum((x - 1) ** 2), jnp.zeros(2), method="BFGS").x`` is ``[1., 1.]``.
    Source: ``scipy.optimize.minimize``; Nocedal and Wright, "Numerical optimization" (2006), algorithms 6.1 and 7.5.
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple, got {type(args).__name__}")
    check_arraylike("minimize", x0)
    x0 = jnp.asarray(x0)
    if x0.ndim != 1:
        raise ValueError(f"minimize: x0 must be a vector, got the shape {x0.shape}")
    x0 = x0 if jnp.issubdtype(x0.dtype, jnp.inexact) else x0.astype(jnp.result_type(float))
    if not isinstance(method, str) or method.lower() not in _METHODS:
        raise ValueError(
            f"minimize: method must be 'BFGS' or 'l-bfgs-experimental-do-not-rely-on-this', got {method!r}"
        )
    allowed, solve = _METHODS[method.lower()]
    given = dict(options or {})
    for option in given:
        if option not in allowed:
            raise ValueError(
                f"minimize: unknown option {option!r} of method {method!r}; known are {', '.join(allowed)}"
            )
    if tol is not None:
        given.setdefault("gtol", tol)
    return solve(value_and_grad(lambda x: fun(x, *args)), x0, **given)


def _norm_of(x: Array, norm: float) -> Array:
    return jnp.max(jnp.abs(x), initial=0) if norm in (np.inf, "inf") else jnp.linalg.norm(x, norm)


def _descend(
    evaluate: Callable, x0: Array, memory: Any, direction: Callable, remember: Callable, *, gtol: float, norm: float,
    maxiter: int, maxls: int, maxfun: int, ftol: float,
) -> tuple[_State, Any]:  # fmt: skip
    """Steps along the directions that a method gives, until the gradient is small."""
    dtype = x0.dtype

    def has_arrived(state: _State) -> Array:
        return _norm_of(state.gradient, norm) < gtol

    def goes_on(state: _State) -> Array:
        return ~has_arrived(state) & ~state.failed & (state.steps < maxiter) & (state.evaluations < maxfun)

    def step(state: _State) -> _State:
        p = direction(state.memory, state.gradient)
        slope = jnp.vdot(state.gradient, p)
        p = jnp.where(slope < 0, p, -state.gradient)
        slope = jnp.where(slope < 0, slope, -jnp.vdot(state.gradient, state.gradient))

        def at(t: Array) -> Point:
            value, gradient = evaluate(state.x + t * p)
            return Point(t, value, jnp.vdot(gradient, p), gradient)

        start = Point(jnp.zeros((), dtype), state.value, slope, state.gradient)
        guess = jnp.where(state.steps == 0, 1 / jnp.maximum(1, jnp.linalg.norm(state.gradient)), 1).astype(dtype)
        found: Found = line_search(at, start, guess, maxls)
        moved, turn = found.point.step * p, found.point.gradient - state.gradient
        stuck = (found.point.step == 0) | (state.value - found.point.value < ftol * jnp.abs(state.value)) & (ftol > 0)
        return _State(
            state.x + moved, found.point.value, found.point.gradient, state.value, remember(state.memory, moved, turn),
            state.steps + 1, state.evaluations + found.evaluations, (found.point.step == 0) | stuck & ~found.success,
        )  # fmt: skip

    value, gradient = evaluate(x0)
    first = _State(x0, value, gradient, value, memory, jnp.int32(0), jnp.int32(1), jnp.bool_(False))
    final = lax.while_loop(goes_on, step, first)
    return final, has_arrived(final)


def _results(state: _State, success: Array, inverse: Array | None, maxfun: int) -> OptimizeResults:
    spent = jnp.where(state.evaluations >= maxfun, 5, 1)
    status = jnp.where(success, 0, jnp.where(state.failed, 3, spent))
    return OptimizeResults(
        state.x,
        success,
        status,
        state.value,
        state.gradient,
        inverse,
        state.evaluations,
        state.evaluations,
        state.steps,
    )


# ---- BFGS -------------------------------------------------------------------------------------------------------------


def _bfgs(
    evaluate: Callable, x0: Array, gtol: float = 1e-5, norm: float = np.inf, maxiter: int | None = None,
    line_search_maxiter: int = 10,
) -> OptimizeResults:  # fmt: skip
    size = x0.shape[0]

    def remember(inverse: Array, moved: Array, turn: Array) -> Array:
        """Nocedal and Wright, equation 6.17; steps without positive curvature change nothing."""
        curvature = jnp.vdot(turn, moved)
        good = curvature > 0
        rho = jnp.where(good, 1 / jnp.where(good, curvature, 1), 0)
        left = jnp.eye(size, dtype=x0.dtype) - rho * jnp.outer(moved, turn)
        updated = left @ inverse @ left.T + rho * jnp.outer(moved, moved)
        return jnp.where(good & jnp.all(jnp.isfinite(updated)), updated, inverse)

    most = np.iinfo(np.int32).max
    state, success = _descend(
        evaluate, x0, jnp.eye(size, dtype=x0.dtype), lambda inverse, gradient: -(inverse @ gradient), remember,
        gtol=gtol, norm=norm, maxiter=200 * size if maxiter is None else maxiter, maxls=line_search_maxiter, maxfun=most,
        ftol=0.0,
    )  # fmt: skip
    return _results(state, success, state.memory, most)


# ---- limited memory ---------------------------------------------------------------------------------------------------


class _Pairs(NamedTuple):
    """The last steps and changes of the gradient, the newest last; products of 0 are empty places."""

    moved: Any
    turned: Any
    rho: Any
    scale: Any


def _recall(pairs: _Pairs, gradient: Array) -> Array:
    """The direction by two loops over the memory (algorithm 7.4)."""

    def backwards(q: Array, pair: tuple[Array, ...]) -> tuple[Array, Array]:
        moved, turned, rho = pair
        alpha = rho * jnp.vdot(moved, q)
        return q - alpha * turned, alpha

    listed = (pairs.moved, pairs.turned, pairs.rho)
    q, alphas = lax.scan(backwards, gradient, listed, reverse=True)

    def forwards(r: Array, pair: tuple[Array, ...]) -> tuple[Array, Any]:
        moved, turned, rho, alpha = pair
        return r + moved * (alpha - rho * jnp.vdot(turned, r)), None

    return -lax.scan(forwards, pairs.scale * q, (*listed, alphas))[0]


def _keep(pairs: _Pairs, moved: Array, turned: Array) -> _Pairs:
    curvature = jnp.vdot(moved, turned)
    good = curvature > 0
    rho = 1 / jnp.where(good, curvature, 1)
    square = jnp.vdot(turned, turned)
    new = _Pairs(
        jnp.roll(pairs.moved, -1, 0).at[-1].set(moved), jnp.roll(pairs.turned, -1, 0).at[-1].set(turned),
        jnp.roll(pairs.rho, -1).at[-1].set(rho), curvature / jnp.where(square > 0, square, 1),
    )  # fmt: skip
    return _Pairs(*(jnp.where(good, a, b) for a, b in zip(new, pairs, strict=True)))


def _lbfgs(
    evaluate: Callable, x0: Array, gtol: float = 1e-5, norm: float = np.inf, maxiter: int | None = None, maxcor: int = 10,
    ftol: float = 2.220446049250313e-09, maxfun: int | None = None, maxgrad: Any = None, maxls: int = 20,
) -> OptimizeResults:  # fmt: skip
    size = x0.shape[0]
    pairs = _Pairs(
        jnp.zeros((maxcor, size), x0.dtype), jnp.zeros((maxcor, size), x0.dtype), jnp.zeros(maxcor, x0.dtype),
        jnp.ones((), x0.dtype),
    )  # fmt: skip
    limits = [x for x in (maxfun, maxgrad) if x is not None]
    most = min(limits) if limits else np.iinfo(np.int32).max
    state, success = _descend(
        evaluate, x0, pairs, _recall, _keep, gtol=gtol, norm=norm, maxiter=200 * size if maxiter is None else maxiter,
        maxls=maxls, maxfun=most, ftol=ftol,
    )  # fmt: skip
    return _results(state, success, None, most)


_METHODS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "bfgs": (("gtol", "norm", "maxiter", "line_search_maxiter"), _bfgs),
    "l-bfgs-experimental-do-not-rely-on-this": (
        ("gtol", "norm", "maxiter", "maxcor", "ftol", "maxfun", "maxgrad", "maxls"),
        _lbfgs,
    ),
}
