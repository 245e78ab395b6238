"""Optimizers: triples of functions that keep the state of a descent.

An optimizer is ``(init_fn, update_fn, params_fn)``: ``init_fn(params)`` gives a state, ``update_fn(step, grads, state)`` the
next one, and ``params_fn(state)`` the parameters in it. Parameters are pytrees; states are, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

from arrax import numpy as jnp
from arrax.core.pytree_nodes import register_pytree_node
from arrax.core.pytrees import tree_flatten, tree_map, tree_unflatten
from arrax.core.tracebacks import bound_names, boundary
from arrax.example_libraries.schedules import Schedule as Schedule
from arrax.example_libraries.schedules import constant as constant
from arrax.example_libraries.schedules import exponential_decay as exponential_decay
from arrax.example_libraries.schedules import inverse_time_decay as inverse_time_decay
from arrax.example_libraries.schedules import make_schedule as make_schedule
from arrax.example_libraries.schedules import piecewise_constant as piecewise_constant
from arrax.example_libraries.schedules import polynomial_decay as polynomial_decay
from arrax.xla.arrays import Array, ArrayLike


class Optimizer(NamedTuple):
    """The three functions of an optimizer.

    Attributes:
      init_fn: from a pytree of arrays to the ``OptimizerState``.
      update_fn: from the number of the step, gradients (a pytree like the parameters) and the state to the next state.
      params_fn: from a state to the parameters in it.
    Example: ``init, update, params_of = optimizers.adam(0.1); state = init(x); params_of(update(0, 2 * x, state))`` is
    ``[0.0, 0.9, 1.9, 2.9]``.
    """

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """The states of all parameters.

    Attributes:
      packed_state: for each parameter, the leaves of its state.
      tree_def: the structure of the parameters.
      subtree_defs: the structures of the states.
    Example: ``state = optimizers.momentum(0.1, 0.9).init_fn(x); len(arrax.tree.leaves(state))`` is 2, ``x`` and its
    velocity.
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structures, children: OptimizerState(children[0], *structures),
)


class JoinPoint:
    """Where the state of one parameter stands in the tree that ``unpack_optimizer_state`` gives.

    Args:
      subtree: the parameter's state.
    Example: ``state = optimizers.sgd(0.1).init_fn(x); optimizers.unpack_optimizer_state(state).subtree`` is
    ``[0.0, 1.0, 2.0, 3.0]``.
    """

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree


def optimizer(opt_maker: Callable[..., tuple]) -> Callable[..., Optimizer]:
    """Decorator: make an optimizer of single arrays one of pytrees.

    Args:
      opt_maker: function that returns ``(init, update, get_params)``: ``init(x)`` gives the state of an array,
        ``update(step, gradient, state)`` the next one.
    Returns: function of the same arguments to an ``Optimizer``.
    Raises:
      TypeError: gradients of another structure than the parameters; an ``update`` that changes the structure of the state.
    Example: ``make = optimizers.optimizer(lambda size: (lambda x: x, lambda i, g, x: x - size * g, lambda x: x));
    init, update, params_of = make(0.5); params_of(update(0, x, init(x)))`` is ``[0.0, 0.5, 1.0, 1.5]``.
    """

    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def tree_init(params: Any) -> OptimizerState:
            leaves, tree = tree_flatten(params)
            flat = [tree_flatten(init(leaf)) for leaf in leaves]
            return OptimizerState([tuple(state) for state, _ in flat], tree, tuple(structure for _, structure in flat))

        def tree_update(step: ArrayLike, grads: Any, state: OptimizerState) -> OptimizerState:
            packed, tree, structures = state
            gradients, found = tree_flatten(grads)
            if found != tree:
                raise TypeError(
                    f"the gradients given to an optimizer have the structure {found}, its parameters {tree}"
                )
            states = map(tree_unflatten, structures, packed)
            flat = [tree_flatten(update(step, g, s)) for g, s in zip(gradients, states, strict=True)]
            for old, (_, new) in zip(structures, flat, strict=True):
                if old != new:
                    raise TypeError(f"an optimizer's update gave a state of the structure {new} in place of {old}")
            return OptimizerState([tuple(leaves) for leaves, _ in flat], tree, structures)

        def tree_params(state: OptimizerState) -> Any:
            packed, tree, structures = state
            return tree_unflatten(tree, [get_params(s) for s in map(tree_unflatten, structures, packed)])

        return Optimizer(boundary(tree_init), boundary(tree_update), boundary(tree_params))

    return make


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The state as a tree like that of the parameters, to be saved: a ``JoinPoint`` in place of each one.

    Args:
      opt_state: the state.
    Returns: pytree of ``JoinPoint``.
    Example: ``state = optimizers.sgd(0.1).init_fn({'w': x}); list(optimizers.unpack_optimizer_state(state))`` is
    ``['w']``.
    """
    packed, tree, structures = opt_state
    return tree_unflatten(tree, [JoinPoint(state) for state in map(tree_unflatten, structures, packed)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state from what ``unpack_optimizer_state`` gave.

    Args:
      marked_pytree: tree of ``JoinPoint``.
    Raises:
      TypeError: other leaves.
    Example: ``state = optimizers.sgd(0.1).init_fn(x);
    again = optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state)); again.packed_state[0][0]``
    is ``[0.0, 1.0, 2.0, 3.0]``.
    """
    points, tree = tree_flatten(marked_pytree)
    for point in points:
        if not isinstance(point, JoinPoint):
            raise TypeError(f"pack_optimizer_state: leaves must be JoinPoint, got {type(point).__name__}")
    flat = [tree_flatten(point.subtree) for point in points]
    return OptimizerState([tuple(leaves) for leaves, _ in flat], tree, tuple(structure for _, structure in flat))


# ---- optimizers -------------------------------------------------------------------------------------------------------


@optimizer
def sgd(step_size: float | Callable[[Any], Any]) -> tuple:
    """Steps against the gradient.

    Args:
      step_size: a number, or a function of the step's number.
    Returns: ``Optimizer``.
    Example: ``init, update, params_of = optimizers.sgd(0.1); params_of(update(0, x, init(x)))`` is
    ``[0.0, 0.9, 1.8, 2.7]``.
    """
    rate = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - rate(i) * g, lambda x: x


@optimizer
def momentum(step_size: float | Callable[[Any], Any], mass: float) -> tuple:
    """Steps along a sum of past gradients, each ``mass`` times the one after. Source: Polyak (1964).

    Args:
      step_size: a number, or a function of the step's number.
      mass: below 1.
    Returns: ``Optimizer``.
    Example: ``init, update, params_of = optimizers.momentum(0.1, mass=0.9); params_of(update(0, x, init(x)))`` is
    ``[0.0, 0.9, 1.8, 2.7]``.
    """
    rate = make_schedule(step_size)

    def update(i: Array, g: Array, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return lambda x: (x, jnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def nesterov(step_size: float | Callable[[Any], Any], mass: float) -> tuple:
    """Like ``momentum``, the gradient seen ahead. Source: Nesterov (1983); Sutskever et al. (2013).

    Args:
      step_size: a number, or a function of the step's number.
      mass: below 1.
    Returns: ``Optimizer``.
    Example: ``init, update, params_of = optimizers.nesterov(0.1, mass=0.9); params_of(update(0, x, init(x)))`` is
    ``[0.0, 0.81, 1.62, 2.43]``.
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return lambda x: (x, jnp.zeros_like(x)), update, lambda state: state[0]


def _inverse_root(x: Any) -> Array:
    """1 / sqrt(x), 0 at 0."""
    return jnp.where(x > 0, 1 / jnp.sqrt(jnp.where(x > 0, x, 1)), 0)


@optimizer
def adagrad(step_size: float | Callable[[Any], Any], momentum: float = 0.9) -> tuple:
    """Gradients over the root of the sum of their squares. Source: Duchi, Hazan and Singer (2011).

    Args:
      step_size: a number, or a function of the step's number.
      momentum: how much of the last step stays.
    Returns: ``Optimizer``.
    Example: ``init, update, params_of = optimizers.adagrad(0.1); params_of(update(0, x, init(x)))`` is
    ``[0.0, 0.99, 1.99, 2.99]``.
    """
    rate = make_schedule(step_size)

    def update(i: ArrayLike, g: ArrayLike, state: Any) -> Any:
        x, squares, average = state
        squares = squares + jnp.square(g)
        average = (1 - momentum) * (g * _inverse_root(squares)) + momentum * average
        return x - rate(i) * average, squares, average

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def rmsprop(step_size: float | Callable[[Any], Any], gamma: float = 0.9, eps: ArrayLike = 1e-8) -> tuple:
    """Gradients over the root of the mean of their squares. Source: Tieleman and Hinton (2012).

    Args:
      step_size: a number, or a function of the step's number.
      gamma: how much of the mean stays.
      eps: added to the mean.
    Returns: ``Optimizer``.
    Example: ``init, update, params_of = optimizers.rmsprop(0.1); params_of(update(0, x, init(x)))`` is
    ``[0.0, 0.683772, 1.683772, 2.683772]``.
    """
    rate = make_schedule(step_size)

    def update(i: Array, g: Array, state: Any) -> Any:
        x, mean = state
        mean = gamma * mean + (1 - gamma) * jnp.square(g)
        return x - rate(i) * g / jnp.sqrt(mean + eps), mean

    return lambda x: (x, jnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def rmsprop_momentum(
    step_size: float | Callable[[Any], Any], gamma: float = 0.9, eps: ArrayLike = 1e-8, momentum: float = 0.9
) -> tuple:
    """``rmsprop``, its steps with momentum.

    Args:
      step_size: a number, or a function of the step's number.
      gamma: how much of the mean stays.
      eps: added to the mean.
      momentum: how much of the last step stays.
    Returns: ``Optimizer``.
    Example: ``init, update, params_of = optimizers.rmsprop_momentum(0.1); params_of(update(0, x, init(x)))`` is
    ``[0.0, 0.683772, 1.683772, 2.683772]``.
    """
    rate = make_schedule(step_size)

    def update(i: ArrayLike, g: ArrayLike, state: Any) -> Any:
        x, mean, velocity = state
        mean = gamma * mean + (1 - gamma) * jnp.square(g)
        velocity = momentum * velocity + rate(i) * g / jnp.sqrt(mean + eps)
        return x - velocity, mean, velocity

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def adam(step_size: float | Callable[[Any], Any], b1: float = 0.9, b2: float = 0.999, eps: ArrayLike = 1e-8) -> tuple:
    """The mean of gradients over the root of the mean of their squares. Source: Kingma and Ba (2014).

    Args:
      step_size: a number, or a function of the step's number.
      b1, b2: how much of the two means stays.
      eps: added to the root.
    Returns: ``Optimizer``.
    Example: ``init, update, params_of = optimizers.adam(0.1); params_of(update(0, x, init(x)))`` is
    ``[0.0, 0.9, 1.9, 2.9]``.
    """
    rate = make_schedule(step_size)

    def update(i: ArrayLike, g: ArrayLike, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        unbiased = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1)), v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - rate(i) * unbiased[0] / (jnp.sqrt(unbiased[1]) + eps), m, v

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def adamax(step_size: float | Callable[[Any], Any], b1: float = 0.9, b2: float = 0.999, eps: ArrayLike = 1e-8) -> tuple:
    """The mean of gradients over their greatest magnitude. Source: Kingma and Ba (2014), section 7.1.

    Args:
      step_size: a number, or a function of the step's number.
      b1, b2: how much of the mean and of the greatest magnitude stays.
      eps: added to the magnitude.
    Returns: ``Optimizer``.
    Example: ``init, update, params_of = optimizers.adamax(0.1); params_of(update(0, x, init(x)))`` is
    ``[0.0, 0.9, 1.9, 2.9]``.
    """
    rate = make_schedule(step_size)

    def update(i: ArrayLike, g: ArrayLike, state: Any) -> Any:
        x, m, largest = state
        m = (1 - b1) * g + b1 * m
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        return x - rate(i) / (1 - jnp.asarray(b1, m.dtype) ** (i + 1)) * m / (largest + eps), m, largest

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def sm3(step_size: float | Callable[[Any], Any], momentum: float = 0.9) -> tuple:
    """Like ``adagrad``, with one sum of squares for each row along each axis. Source: Anil et al. (2019).

    Args:
      step_size: a number, or a function of the step's number.
      momentum: how much of the last step stays.
    Returns: ``Optimizer``.
    Example: ``init, update, params_of = optimizers.sm3(0.1); params_of(update(0, x, init(x)))`` is
    ``[0.0, 0.99, 1.99, 2.99]``.
    """
    rate = make_schedule(step_size)

    def along(axis: int, rank: int) -> tuple[int, ...]:
        return tuple(n for n in range(rank) if n != axis)

    def init(x: ArrayLike) -> Any:
        lengths = jnp.shape(x) or ((),)  # a number is a row of its own
        return x, jnp.zeros_like(x), [jnp.zeros(n, jnp.asarray(x).dtype) for n in lengths]

    def update(i: ArrayLike, g: Any, state: Any) -> Any:
        x, average, sums = state
        rank = jnp.ndim(x)
        broadcasted = [jnp.expand_dims(s, along(axis, rank)) for axis, s in enumerate(sums)]
        squares = reduce(jnp.minimum, broadcasted) + jnp.square(g)
        average = (1 - momentum) * (g * _inverse_root(squares)) + momentum * average
        return x - rate(i) * average, average, [jnp.max(squares, along(axis, rank)) for axis in range(len(sums))]

    return init, update, lambda state: state[0]


# ---- gradients --------------------------------------------------------------------------------------------------------


def l2_norm(tree: Any) -> Array:
    """The root of the sum of squares of all elements.

    Args:
      tree: pytree of arrays.
    Returns: number.
    Example: ``optimizers.l2_norm({'w': x, 'b': 1.0})`` is ``jnp.sqrt(15)``.
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_flatten(tree)[0]))


def clip_grads(grad_tree: Any, max_norm: float) -> Any:
    """Gradients, scaled down where their norm is greater than allowed.

    Args:
      grad_tree: pytree of arrays.
      max_norm: the greatest norm.
    Returns: pytree of the same structure.
    Example: ``optimizers.clip_grads(x, 1.0)`` is ``x / jnp.sqrt(14)``.
    """
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


bound_names(__name__)
