"""Schedules: step sizes as functions of the number of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arrax import numpy as jnp
from arrax.core.tracebacks import bound_names, boundary
from arrax.xla.arrays import ArrayLike

Schedule = Callable[[Any], Any]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A function of the step's number: the one given, or the one that always gives a number.

    Args:
      scalar_or_schedule: number or function.
    Returns: function of the number of a step, from 0.
    Raises:
      TypeError: neither.
    Example: ``optimizers.make_schedule(0.1)(7)`` is 0.1.
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if not isinstance(scalar_or_schedule, str) and jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(f"make_schedule: a number or a function is needed, got {type(scalar_or_schedule).__name__}")


def constant(step_size: float) -> Schedule:
    """The same number for all steps.

    Args:
      step_size: the number.
    Returns: function of the number of a step.
    Example: ``optimizers.constant(0.1)(7)`` is 0.1.
    """
    return boundary(lambda i: step_size)


def exponential_decay(step_size: float, decay_steps: float, decay_rate: float) -> Schedule:
    """``step_size decay_rate^(i / decay_steps)``.

    Args:
      step_size, decay_steps, decay_rate: numbers.
    Returns: function of the number of a step.
    Example: ``optimizers.exponential_decay(0.1, decay_steps=10, decay_rate=0.5)(20)`` is 0.025.
    """
    return boundary(lambda i: step_size * decay_rate ** (i / decay_steps))


def inverse_time_decay(step_size: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Schedule:
    """``step_size / (1 + decay_rate i / decay_steps)``.

    Args:
      step_size, decay_steps, decay_rate: numbers.
      staircase: count whole multiples of ``decay_steps`` only.
    Returns: function of the number of a step.
    Example: ``optimizers.inverse_time_decay(0.1, decay_steps=10, decay_rate=1.0)(10.0)`` is 0.05.
    """

    @boundary
    def schedule(i: ArrayLike) -> Any:
        share = i / decay_steps
        return step_size / (1 + decay_rate * (jnp.floor(share) if staircase else share))

    return schedule


def polynomial_decay(step_size: float, decay_steps: float, final_step_size: float, power: float = 1.0) -> Schedule:
    """From ``step_size`` to ``final_step_size`` in ``decay_steps`` steps, along a power.

    Args:
      step_size, decay_steps, final_step_size, power: numbers.
    Returns: function of the number of a step.
    Example: ``optimizers.polynomial_decay(1.0, decay_steps=10, final_step_size=0.0)(4)`` is ``jnp.array(0.6)``.
    """

    @boundary
    def schedule(i: Any) -> Any:
        left = 1 - jnp.minimum(i, decay_steps) / decay_steps
        return left**power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: ArrayLike) -> Schedule:
    """A number for each stretch of steps.

    Args:
      boundaries: n ascending numbers of steps.
      values: n + 1 numbers; the first for steps up to and with the first boundary.
    Returns: function of the number of a step.
    Raises:
      ValueError: lengths that don't fit.
    Example: ``optimizers.piecewise_constant([100], [0.1, 0.01])(101)`` is ``jnp.array(0.01)``.
    """
    boundaries, values = jnp.asarray(boundaries), jnp.asarray(values)
    if boundaries.ndim != 1 or values.shape != (boundaries.shape[0] + 1,):
        raise ValueError(
            f"piecewise_constant: values must be one more than boundaries, got the shapes {values.shape} and {boundaries.shape}"
        )
    return boundary(lambda i: values[jnp.sum(i > boundaries)])


bound_names(__name__)
