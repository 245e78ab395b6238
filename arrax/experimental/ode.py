"""Initial value problems of ordinary differential equations, with gradients by the adjoint equation.

Steps are those of Dormand and Prince, of order 5 with an error estimate of order 4, whose size follows the error; between the
ends of a step values come from a polynomial of degree 4. Source: Hairer, Norsett, Wanner, "Solving Ordinary Differential
Equations I" (1993), sections II.4 (step size), II.5 (the method) and II.6 (dense output); the adjoint: Chen et al., "Neural
Ordinary Differential Equations" (2018).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import arrax.numpy as jnp
from arrax import dtypes
from arrax.core import flat_functions as api_util  # noqa: F401, a name that programs import from here
from arrax.core.interpreter import Tracer
from arrax.core.program import ClosedJaxpr
from arrax.core.pytree_paths import SequenceKey, tree_flatten_with_path
from arrax.core.pytrees import tree_flatten, tree_map, tree_unflatten
from arrax.core.tracebacks import bound_names, boundary
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.staging import eval_jaxpr
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.control_flow.scans import scan
from arrax.lax.control_flow.staged_functions import StagedFunction, stage_function
from arrax.numpy_api.operands import own_promotion
from arrax.transforms.autodiff import vjp
from arrax.transforms.custom_vjp import custom_vjp
from arrax.transforms.jit import jit
from arrax.transforms.raveling import ravel_pytree
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array, ArrayLike

_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
_DENSE = (
    -12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072, 701980252875 / 199316789632,
    -1453857185 / 822651844, 69997945 / 29380423,
)  # fmt: skip
_SAFETY, _MIN_FACTOR, _MAX_FACTOR = 0.9, 0.2, 10.0


class _Equation(NamedTuple):
    """The slope as a program, which the calls of one function share.

    Attributes:
      program: of what the function closes over, a value, a time and further arguments.
      traced: which of the values that it closes over have derivatives.
    """

    program: ClosedJaxpr
    traced: tuple[bool, ...]


class _Settings(NamedTuple):
    """What has no derivatives: the tolerances, and what a slope needs besides its arguments."""

    rtol: Any
    atol: Any
    mxstep: Any
    hmax: Any
    constants: Any


class _State(NamedTuple):
    """Where the integration is: value and slope at ``time``, the next step's size, and the last step for interpolation."""

    value: Array
    slope: Array
    time: Array
    step: Array
    last_time: Array
    polynomial: Array  # five rows


@boundary
@own_promotion
def odeint(
    func: Callable[..., Any], y0: Any, t: ArrayLike, *args: Any, rtol: float = 1.4e-8, atol: float = 1.4e-8,
    mxstep: float = np.inf, hmax: float = np.inf,
) -> Any:  # fmt: skip
    """Solve ``dy/dt = func(y, t, *args)`` from ``y(t[0]) = y0``, with steps whose size follows the error.

    Derivatives with respect to ``y0``, ``t`` and ``args`` are reverse ones, by solving the adjoint equation backwards.

    Args:
      func: the slope at a value, a time and further arguments: a pytree like ``y0``, or a list of numbers for a vector.
      y0: the value at the first time: pytree of arrays of floating or complex numbers.
      t: vector of increasing times at which values are wanted.
      args: arrays or pytrees of them that ``func`` gets.
      rtol, atol: tolerances of the error of a step, relative and absolute.
      mxstep: at most so many steps from one time to the next.
      hmax: the largest step.
    Returns: the values at the times, like ``y0`` with a leading axis as long as ``t``.
    Raises:
      TypeError: ``args`` that are not arrays, ``y0`` of integers, a slope of another structure, shape or dtype than ``y0``.
      ValueError: ``t`` that is not a vector.
    Example: ``odeint(lambda y, t: -y, 1.0, jnp.linspace(0., 1., 5))`` are values of ``exp(-t)``.
    """
    for arg in tree_flatten(args)[0]:
        if not isinstance(arg, np.ndarray | np.generic | int | float | complex | Array):
            raise TypeError(f"The contents of odeint *args must be arrays or scalars, but got {arg}.")
    t = jnp.asarray(t)
    if t.ndim != 1 or not t.size:
        raise ValueError(f"odeint: t must be a vector of at least one time, got shape {t.shape}")
    if not dtypes.is_float(t.dtype):
        t = t.astype(dtypes.canonicalize_dtype(np.float64))
    y0 = tree_map(jnp.asarray, y0)
    for leaf in tree_flatten(y0)[0]:
        if not dtypes.is_inexact(leaf.dtype):
            raise TypeError(f"odeint: y0 must consist of floating or complex numbers, got {leaf.dtype.name}")
    avals, tree = tree_flatten((tree_map(typeof, y0), ShapedArray((), t.dtype), *tree_map(typeof, args)))
    staged = stage_function(func, tree, avals, "odeint")
    _check_slope(staged, y0)
    traced = tuple(isinstance(c, Tracer) and dtypes.is_inexact(typeof(c).dtype) for c in staged.consts)
    constants, closed_over = (
        [c for c, has in zip(staged.consts, traced, strict=True) if has is has_derivatives]
        for has_derivatives in (False, True)
    )
    settings = _Settings(rtol, atol, mxstep, hmax, constants)
    return _solution(_Equation(staged.program, traced), settings, y0, t, (closed_over, args))


@functools.partial(jit, static_argnums=0)
def _solution(equation: _Equation, settings: _Settings, y0: Any, t: Array, args: Any) -> Any:
    """The values at the times, like ``y0``."""
    flat, unravel = ravel_pytree(y0)
    wide = flat.astype(jnp.promote_types(flat.dtype, t.dtype))
    rows = _solve(functools.partial(_flat_slope, equation, unravel, flat.dtype), settings, wide, t, args)
    return vmap(unravel)(rows.astype(flat.dtype))


def ravel_first_arg(
    f: Callable[..., Any], unravel: Callable[[Array], Any], debug_info: Any = None
) -> Callable[..., Array]:
    """A function of a vector, and of further arguments, from one of a pytree.

    Args:
      f: a function whose result is a pytree.
      unravel: makes the pytree of the vector, as ``ravel_pytree`` gives it.
      debug_info: accepted for programs that give it; not used.
    Returns: a function whose result is a vector, too.
    Example: ``ravel_first_arg(lambda y: (y[1], y[0]), ravel_pytree((1., 2.))[1])(jnp.array([1., 2.]))`` is ``[2., 1.]``.
    """
    return lambda vector, *args: ravel_pytree(f(unravel(vector), *args))[0]


def _check_slope(staged: StagedFunction, y0: Any) -> None:
    """Refuse a slope of another structure than the value, of other sizes, or of complex numbers for real ones.

    Lists and tuples stand for each other, and a list of numbers for a vector, as in SciPy.
    """
    slopes, (values, tree) = staged.program.out_avals, tree_flatten(tree_map(typeof, y0))
    given, expected = (
        [path for path, _ in tree_flatten_with_path(tree_unflatten(structure, range(structure.num_leaves)))[0]]
        for structure in (staged.out_tree, tree)
    )
    elements: Sequence[Any] = values
    if expected == [()] and values[0].shape == (len(given),) and all(map(_is_position, given)):
        elements, expected = [ShapedArray((), values[0].dtype)] * len(given), given
    fits = given == expected and all(
        slope.size == value.size and dtypes.is_complex(slope.dtype) <= dtypes.is_complex(value.dtype)
        for slope, value in zip(slopes, elements, strict=True)
    )
    if not fits:
        gave, wanted = (
            tree_unflatten(structure, [aval.str_short(True) for aval in avals])
            for structure, avals in ((staged.out_tree, slopes), (tree, values))
        )
        raise TypeError(f"odeint: {staged.info.name} must give a slope like y0, {wanted}, but gave {gave}")


def _is_position(path: Sequence[Any]) -> bool:
    """Whether a leaf at a path is an element of a list or tuple that is the whole tree."""
    return len(path) == 1 and isinstance(path[0], SequenceKey)


def _flat_slope(
    equation: _Equation, unravel: Callable[[Array], Any], dtype: np.dtype, constants: Sequence[Any], y: Array, t: Array, args: Any
) -> Array:  # fmt: skip
    """The slope of a vector, in its dtype.

    Args:
      dtype: of the values that the equation takes.
      args: the values with derivatives that its function closes over, and its further arguments.
    """
    closed_over, given = args
    values = iter(constants), iter(closed_over)
    consts = [next(values[has_derivatives]) for has_derivatives in equation.traced]
    operands = tree_flatten((unravel(y.astype(dtype)), t, given))[0]
    return ravel_pytree(eval_jaxpr(equation.program.jaxpr, (), *consts, *operands))[0].astype(y.dtype)


def _combined(weights: tuple[float, ...], slopes: list[Array]) -> Array:
    """The weighted sum of slopes, in their dtype."""
    terms = [slope * np.asarray(w, slope.real.dtype)[()] for w, slope in zip(weights, slopes, strict=True) if w]
    return functools.reduce(jnp.add, terms)


def _rms(x: Array) -> Array:
    return jnp.sqrt(jnp.mean(jnp.square(jnp.abs(x))))


def _first_step(fun: Callable[..., Any], t: Array, y: Array, slope: Array, settings: _Settings) -> Array:
    """A step whose error is likely to be small enough (Hairer et al., II.4, algorithm 4.14)."""
    scale = settings.atol + jnp.abs(y) * settings.rtol
    size, speed = _rms(y / scale), _rms(slope / scale)
    small = 1e-6
    guess = jnp.where((size < 1e-5) | (speed < 1e-5), small, 0.01 * size / jnp.where(speed == 0, 1, speed))
    guess = guess.astype(t.dtype)
    change = _rms((fun(y + guess * slope, t + guess) - slope) / scale) / guess
    most = jnp.maximum(speed, change)
    refined = jnp.where(
        most <= 1e-15, jnp.maximum(small, guess * 1e-3), (0.01 / jnp.where(most == 0, 1, most)) ** (1 / 5)
    )
    return jnp.minimum(100 * guess, refined.astype(t.dtype))


def _attempt(fun: Callable[..., Any], state: _State, settings: _Settings) -> _State:
    """One step, taken if its error is small enough, and the size of the next one."""
    y, h, t = state.value, state.step, state.time
    slopes = [state.slope]
    for fraction, weights in zip(_TIMES, _STAGES, strict=True):
        new = y + h * _combined(weights, slopes)
        slopes.append(fun(new, t + np.asarray(fraction, t.dtype)[()] * h))
    scale = settings.atol + settings.rtol * jnp.maximum(jnp.abs(y), jnp.abs(new))
    ratio = _rms(h * _combined(_ERROR, slopes) / scale)
    taken = ratio <= 1
    factor = _SAFETY * jnp.maximum(ratio, np.finfo(ratio.dtype).tiny) ** -0.2
    factor = jnp.clip(
        jnp.where(jnp.isfinite(ratio), factor, _MIN_FACTOR), _MIN_FACTOR, jnp.where(taken, _MAX_FACTOR, 1)
    )
    change = new - y
    bend = h * slopes[0] - change
    polynomial = jnp.stack([y, change, bend, change - h * slopes[-1] - bend, h * _combined(_DENSE, slopes)])
    following = _State(
        new, slopes[-1], t + h, jnp.minimum(h * factor.astype(h.dtype), settings.hmax).astype(h.dtype), t, polynomial
    )
    kept = state._replace(step=following.step)
    return _State(*(jnp.where(taken, a, b) for a, b in zip(following, kept, strict=True)))


def _value_at(state: _State, t: Array) -> Array:
    """The polynomial of the last step at a time within it (Hairer et al., II.6)."""
    length = state.time - state.last_time
    at = jnp.where(length == 0, 0, (t - state.last_time) / jnp.where(length == 0, 1, length))
    start, change, bend, third, fourth = state.polynomial
    rest = 1 - at
    return start + at * (change + rest * (bend + at * (third + rest * fourth)))


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def _solve(fun: Callable[..., Any], settings: _Settings, y0: Array, t: Array, args: Any) -> Array:
    """The values at the times, in rows; ``fun`` is a function of the settings' constants, a value, a time, and ``args``."""

    def slope(y: Array, time: Array) -> Array:
        return fun(settings.constants, y, time, args)

    def advance(state: _State, target: Array) -> tuple[_State, Array]:
        def goes_on(carry: tuple[_State, Array]) -> Array:
            state, count = carry
            return (state.time < target) & (count < settings.mxstep) & (state.step > 0)

        def body(carry: tuple[_State, Array]) -> tuple[_State, Array]:
            return _attempt(slope, carry[0], settings), carry[1] + 1

        state, _ = while_loop(goes_on, body, (state, jnp.zeros((), np.int32)))
        reached = (state.last_time <= target) & (target <= state.time)
        return state, jnp.where(reached, _value_at(state, target), np.nan)

    start = slope(y0, t[0])
    step = jnp.minimum(_first_step(slope, t[0], y0, start, settings), settings.hmax).astype(t.dtype)
    polynomial = jnp.stack([y0, *[jnp.zeros_like(y0)] * 4])
    state = _State(y0, start, t[0], step, t[0], polynomial)
    _, rows = scan(advance, state, t[1:])
    return jnp.concatenate([y0[None], rows])


def _forward(fun: Callable[..., Any], settings: _Settings, y0: Array, t: Array, args: Any) -> tuple[Array, Any]:
    rows = _solve(fun, settings, y0, t, args)
    return rows, (rows, t, args, settings)


def _backward(fun: Callable[..., Any], saved: Any, ct: Array) -> tuple[Any, ...]:
    """The adjoint equation from the last time to the first: value, its cotangent, and those of the arguments."""
    rows, t, args, settings = saved
    leaves, tree = tree_flatten(args)
    numbers = [n for n, leaf in enumerate(leaves) if dtypes.is_inexact(typeof(leaf).dtype)]
    weights, unravel = ravel_pytree([leaves[n] for n in numbers])
    count = rows.shape[-1]
    wide = jnp.promote_types(rows.dtype, weights.dtype)

    def arguments(weights: Array, others: Sequence[Any]) -> Any:
        """The arguments with the numbers of a vector; those of integers are ``others``."""
        found = dict(zip(numbers, unravel(weights), strict=True))
        return tree_unflatten(tree, [found.get(n, other) for n, other in enumerate(others)])

    def joined(*parts: Array) -> Array:
        return jnp.concatenate([part.astype(wide) for part in parts])

    def split(state: Array) -> list[Array]:
        parts = jnp.split(state, (count, 2 * count))
        return [_narrowed(x, like.dtype) for x, like in zip(parts, (rows, rows, weights), strict=True)]

    def slope(constants: Any, state: Array, time: Array, weights: Array) -> Array:
        """Of (value, its cotangent, the arguments' cotangents), time running backwards."""
        (own, others), (y, y_bar, _) = constants, split(state)
        out, pull = vjp(lambda y, w: fun(own, y, -time, arguments(w, others)), y, weights)
        return joined(-out, *pull(y_bar))

    def back(carry: tuple[Array, Array], one: tuple[Array, Array, Array, Array]) -> tuple[Any, Array]:
        (y_bar, weights_bar), (y, row_ct, late, early) = carry, one
        state = joined(y, y_bar + row_ct, weights_bar)
        _, y_bar, weights_bar = split(_solve(slope, adjoint, state, jnp.stack([-late, -early]), weights)[1])
        return (y_bar, weights_bar), moved(y, late, row_ct)

    def moved(y: Array, time: Array, y_bar: Array) -> Array:
        """The cotangent of a time at which a value is taken."""
        return jnp.sum(fun(settings.constants, y, time, args) * y_bar).real.astype(t.dtype)

    others = [None if n in numbers else leaf for n, leaf in enumerate(leaves)]
    adjoint = settings._replace(constants=(settings.constants, others))
    start = jnp.zeros_like(rows[0]), jnp.zeros_like(weights)
    (y_bar, weights_bar), t_bars = scan(back, start, (rows[1:], ct[1:], t[1:], t[:-1]), reverse=True)
    t_bars = jnp.concatenate([-moved(rows[0], t[0], y_bar)[None], t_bars])
    return None, y_bar + ct[0], t_bars, arguments(weights_bar, [None] * len(leaves))


def _narrowed(x: Array, dtype: np.dtype) -> Array:
    """In another dtype; a complex number that ought to be real loses its imaginary part."""
    return (x if dtypes.is_complex(dtype) else x.real).astype(dtype)


_solve.defvjp(_forward, _backward)
bound_names(__name__)
