"""Gamma numbers and the distributions made of them: beta, chi-squared, Dirichlet, F, Student's t, generalized normal.

Source: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000). Derivatives in
the shape parameter are implicit ones: M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization gradients" (2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.dtypes import OptionalDType
from arrax.lax import filled_arrays, shapes
from arrax.lax.arithmetic import add, div, max_, mul, xla_div
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.control_flow.mapping import map as loop_over
from arrax.lax.conversion import convert
from arrax.lax.exponential import exp, log, pow, sqrt
from arrax.lax.incomplete_gamma import random_gamma_grad
from arrax.lax.reductions import reduce_max, reduce_sum
from arrax.lax.selection import select
from arrax.numpy_api.operands import broadcast_to
from arrax.random import key_reuse
from arrax.random.continuous import exponential_values
from arrax.random.key_arrays import key_primitive, wrap
from arrax.random.parameters import (
    checked_shape,
    dtype_of,
    float_dtype,
    real_type_of,
    shape_of,
    static_length,
    type_of,
)
from arrax.random.samplers import Bits, sampler
from arrax.random.uniforms import normal_values, random_signs, unit_uniform
from arrax.transforms.vectorize import vmap
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike


def _one_gamma(key: Any, a: Array, log_space: bool) -> Array:
    """One gamma number (or its logarithm) for a scalar ``a``; below 1 it is one for a + 1 times a power of a uniform."""
    dtype = typeof(a).dtype
    number = dtype.type
    at_least_one = a >= number(1)
    raised = select(at_least_one, a, a + number(1))
    d = raised - number(1 / 3)
    c = xla_div(number(1 / 3), sqrt(d))
    key, boost = Bits(key).split(2)

    def propose(carry: Sequence[Any]) -> tuple[Any, ...]:
        """A normal number x for which (1 + c x)^3 is positive."""
        key, _, _ = carry
        key, drawn = Bits(key).split(2)
        x = normal_values(drawn, (), dtype)
        return key.key, x, number(1) + x * c

    def attempt(carry: tuple[Array, ...]) -> tuple[Any, ...]:
        key, for_x, for_u = Bits(carry[0]).split(3)
        start = (for_x.key, number(0), number(-1))
        _, x, v = while_loop(lambda found: found[2] <= number(0), propose, start)
        return key.key, x * x, v * v * v, unit_uniform(for_u, (), dtype)

    def refused(carry: tuple[Array, ...]) -> Any:
        _, square, cube, u = carry
        outside = u >= number(1) - number(0.0331) * (square * square)
        return outside & (log(u) >= square * number(0.5) + d * (number(1) - cube + log(cube)))

    _, _, cube, _ = while_loop(refused, attempt, (key.key, number(0), number(1), number(2)))
    if log_space:
        logarithm = -exponential_values(boost, (), dtype)
        correction = select(at_least_one | (logarithm == number(0)), number(0), logarithm * xla_div(number(1), a))
        return log(d) + log(cube) + correction
    u = number(1) - unit_uniform(boost, (), dtype)
    return d * cube * select(at_least_one, number(1), pow(u, xla_div(number(1), a)))


def _gamma_type(keys: ShapedArray, a: ShapedArray, *, log_space: bool) -> ShapedArray:
    if keys.shape != a.shape[: keys.ndim]:
        raise TypeError(f"random_gamma: the shape {a.shape} of a must begin with that of the keys, {keys.shape}")
    return ShapedArray(a.shape, a.dtype)


def _evaluate(avals: Sequence[ShapedArray], raw: Sequence[Array], *, log_space: bool) -> Array:
    """For each key, as many keys as elements; then all elements at once, by other generators than Threefry in turn."""
    implementation = avals[0].dtype.implementation
    data, a = raw
    shape, rank = typeof(a).shape, avals[0].ndim
    own = math.prod(shape[rank:])

    def keys_of(data: Array) -> Array:
        return wrap(implementation, implementation.split(data, (own,)))

    def of_key(data: Array, a: Array) -> Array:
        flat = vmap(lambda key, a: _one_gamma(key, a, log_space))(keys_of(data), shapes.reshape(a, (own,)))
        return shapes.reshape(flat, shape[rank:])

    if typeof(a).size == 0:
        return a
    all_keys = keys_of
    for _ in range(rank):
        of_key, all_keys = vmap(of_key), vmap(all_keys)
    if implementation.name == "threefry2x32":
        return of_key(data, a)
    # other generators may give mapped keys one common stream
    keys, elements = (shapes.reshape(x, (typeof(a).size,)) for x in (all_keys(data), a))
    flat = loop_over(lambda pair: _one_gamma(pair[0], pair[1], log_space), (keys, elements))
    return shapes.reshape(flat, shape)


def _derivative(primals: tuple[Array, ...], tangents: tuple[Zero, Array], *, log_space: bool) -> tuple[Any, Any]:
    """The implicit derivative, from the distribution function; in logarithms it is divided by the number."""
    keys, a = primals
    sample = random_gamma_p.bind(keys, a, log_space=log_space)
    if type(tangents[1]) is Zero:
        return sample, Zero.of(sample)
    if not log_space:
        return sample, mul(tangents[1], random_gamma_grad(a, sample))
    number = exp(sample)
    smallest = filled_arrays.full_like(number, dtypes.finfo(typeof(number).dtype).tiny)
    number = max_(number, smallest)
    return sample, mul(tangents[1], div(random_gamma_grad(a, number), number))


random_gamma_p = key_primitive("random_gamma", _gamma_type, _evaluate)
key_reuse.rules[random_gamma_p] = key_reuse.consuming
random_gamma_p.jvp = _derivative


def gamma_values(bits: Bits, a: ArrayLike, shape: tuple[int, ...], dtype: np.dtype, log_space: bool) -> Array:
    """Gamma numbers (or their logarithms) for an ``a`` that broadcasts to ``shape``."""
    return random_gamma_p.bind(bits.key, broadcast_to(convert(a, dtype), shape), log_space=log_space)


@sampler(static=("shape", "dtype"))
def _gamma(bits: Bits, a: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return gamma_values(bits, a, shape, dtype, False)


@sampler(static=("shape", "dtype"))
def _loggamma(bits: Bits, a: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return gamma_values(bits, a, shape, dtype, True)


def gamma(
    key: Array,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of the gamma distribution of scale 1, density x^(a-1) e^-x / Gamma(a). Differentiable in ``a``.

    Args:
      key: a key.
      a: positive shape parameter, broadcast to ``shape``.
      shape: the result's shape, by default ``a``'s.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or an ``a`` that does not broadcast to the shape.
    Example: ``arrax.random.gamma(arrax.random.key(0), 2., (3,))``. Source: Marsaglia and Tsang, 2000.
    """
    return _gamma(key, out_sharding, a, shape=shape_of("gamma", shape, a), dtype=float_dtype("gamma", dtype))


def loggamma(
    key: Array,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Logarithms of gamma numbers: exact also where small ``a`` give numbers below the least float.

    Args:
      key: a key.
      a: positive shape parameter, broadcast to ``shape``.
      shape: the result's shape, by default ``a``'s.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or an ``a`` that does not broadcast to the shape.
    Example: ``arrax.random.loggamma(arrax.random.key(0), 1e-3, (3,))``.
    """
    return _loggamma(key, out_sharding, a, shape=shape_of("loggamma", shape, a), dtype=float_dtype("loggamma", dtype))


@sampler(static=("shape", "dtype"))
def _beta(bits: Bits, a: ArrayLike, b: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    first, second = bits.split(2)
    log_a, log_b = gamma_values(first, a, shape, dtype, True), gamma_values(second, b, shape, dtype, True)
    largest = max_(log_a, log_b)
    x, y = exp(log_a - largest), exp(log_b - largest)
    return xla_div(x, x + y)


def beta(
    key: Array,
    a: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of the beta distribution, density x^(a-1) (1-x)^(b-1) / B(a, b) on (0, 1). Differentiable in a and b.

    Args:
      key: a key.
      a, b: positive parameters, broadcast to ``shape``.
      shape: the result's shape, by default that of the parameters together.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or parameters that do not broadcast to the shape.
    Example: ``arrax.random.beta(arrax.random.key(0), 2., 3., (3,))``.
    """
    lengths = shape_of("beta", shape, a, b)
    return _beta(key, out_sharding, a, b, shape=lengths, dtype=dtype_of("beta", dtype, a, b))


def chisquare_values(bits: Bits, df: ArrayLike, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Chi-squared numbers: twice gamma numbers of df/2."""
    half = convert(df, dtype) / np.asarray(2, dtype)[()]
    return exp(gamma_values(bits, half, shape, dtype, True)) * np.asarray(2, dtype)[()]


@sampler(static=("shape", "dtype"))
def _chisquare(bits: Bits, df: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return chisquare_values(bits, df, shape, dtype)


def chisquare(
    key: Array,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of the chi-squared distribution. Differentiable in ``df``.

    Args:
      key: a key.
      df: positive degrees of freedom, broadcast to ``shape``.
      shape: the result's shape, by default ``df``'s.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or a ``df`` that does not broadcast to the shape.
    Example: ``arrax.random.chisquare(arrax.random.key(0), 3., (2,))``.
    """
    return _chisquare(
        key, out_sharding, df, shape=shape_of("chisquare", shape, df), dtype=dtype_of("chisquare", dtype, df)
    )


@sampler(static=("shape", "dtype"))
def _f(bits: Bits, dfnum: ArrayLike, dfden: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    second, first = bits.split(2)
    dfnum, dfden = convert(dfnum, dtype), convert(dfden, dtype)
    above = xla_div(chisquare_values(first, dfnum, shape, dtype), broadcast_to(dfnum, shape))
    return xla_div(above, xla_div(chisquare_values(second, dfden, shape, dtype), broadcast_to(dfden, shape)))


def f(
    key: Array,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of Fisher's F distribution: the ratio of two chi-squared numbers, each per degree of freedom.

    Args:
      key: a key.
      dfnum, dfden: positive degrees of freedom, broadcast to ``shape``.
      shape: the result's shape, by default that of the parameters together.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or parameters that do not broadcast to the shape.
    Example: ``arrax.random.f(arrax.random.key(0), 3., 4., (2,))``.
    """
    lengths = shape_of("f", shape, dfnum, dfden)
    return _f(key, out_sharding, dfnum, dfden, shape=lengths, dtype=dtype_of("f", dtype, dfnum, dfden))


@sampler(static=("shape", "dtype"))
def _t(bits: Bits, df: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    first, second = bits.split(2)
    half = broadcast_to(convert(df, dtype), shape) / np.asarray(2, dtype)[()]
    return normal_values(first, shape, dtype) * sqrt(xla_div(half, gamma_values(second, half, shape, dtype, False)))


def t(
    key: Array,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of Student's t distribution. Differentiable in ``df``.

    Args:
      key: a key.
      df: positive degrees of freedom, broadcast to ``shape``.
      shape: the result's shape, by default ``df``'s.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or a ``df`` that does not broadcast to the shape.
    Example: ``arrax.random.t(arrax.random.key(0), 3., (2,))``.
    """
    return _t(key, out_sharding, df, shape=shape_of("t", shape, df), dtype=dtype_of("t", dtype, df))


@sampler(static=("shape", "dtype"))
def _dirichlet(bits: Bits, alpha: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    logarithms = gamma_values(bits, alpha, shape, dtype, True)
    last = len(shape) - 1
    kept = tuple(range(last))
    largest = shapes.broadcast_in_dim(reduce_max(logarithms, (last,)), shape, kept)
    parts = exp(logarithms - largest)
    return xla_div(parts, shapes.broadcast_in_dim(reduce_sum(parts, (last,)), shape, kept))


def dirichlet(
    key: Array,
    alpha: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Vectors of the Dirichlet distribution: positive numbers with sum 1. Differentiable in ``alpha``.

    Args:
      key: a key.
      alpha: positive parameters; its last axis is that of the vectors, the others broadcast to ``shape``.
      shape: the result's shape without the axis of the vectors, by default ``alpha``'s.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, an ``alpha`` without axes or one that does not broadcast to the shape.
    Example: ``arrax.random.dirichlet(arrax.random.key(0), jnp.ones(3), (2,))`` has the shape (2, 3).
    """
    own = type_of("dirichlet", "alpha", alpha).shape
    if not own:
        raise ValueError("dirichlet: alpha must have an axis of outcomes, got a scalar")
    lead = own[:-1] if shape is None else checked_shape("dirichlet", shape)
    full = shape_of("dirichlet", (*lead, own[-1]), alpha)
    return _dirichlet(key, out_sharding, alpha, shape=full, dtype=float_dtype("dirichlet", dtype))


def generalized_normal_values(bits: Bits, p: ArrayLike, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Signed powers 1/p of gamma numbers of 1/p."""
    first, second = bits.split(2)
    exponent = 1 / p
    g = gamma_values(first, exponent, shape, dtype, False)
    return random_signs(second, shape, dtype) * pow(g, broadcast_to(convert(exponent, dtype), shape))


@sampler(static=("shape", "dtype"))
def _generalized_normal(bits: Bits, p: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return generalized_normal_values(bits, p, shape, dtype)


def generalized_normal(
    key: Array,
    p: ArrayLike,
    shape: Shape = (),
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of the generalized normal distribution, whose density is proportional to e^(-|x|^p).

    Args:
      key: a key.
      p: positive number, broadcast to ``shape``: 1 gives Laplace's, 2 the normal distribution of variance 1/2.
      shape: the result's shape.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype.
    Example: ``arrax.random.generalized_normal(arrax.random.key(0), 1.5, (3,))``.
    """
    lengths = shape_of("generalized_normal", () if shape is None else shape, p)
    chosen = float_dtype("generalized_normal", dtype)
    return _generalized_normal(key, out_sharding, _floating(p, chosen), shape=lengths, dtype=chosen)


def _floating(p: ArrayLike, dtype: np.dtype) -> ArrayLike:
    """A norm's exponent, integers as numbers of the result's dtype."""
    return p if dtypes.is_float(typeof(p).dtype) else convert(p, dtype)


@sampler(static=("d", "shape", "dtype"))
def _ball(bits: Bits, p: ArrayLike, *, d: int, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    first, second = bits.split(2)
    g = generalized_normal_values(first, p, (*shape, d), dtype)
    powers = reduce_sum(pow(abs(g), broadcast_to(convert(p, dtype), (*shape, d))), (len(shape),))
    radius = pow(add(powers, exponential_values(second, shape, dtype)), broadcast_to(convert(1 / p, dtype), shape))
    return xla_div(g, broadcast_to(shapes.expand_dims(radius, (len(shape),)), (*shape, d)))


def ball(
    key: Array,
    d: int,
    p: ArrayLike = 2,
    shape: Shape = (),
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Vectors distributed uniformly in the unit ball of the p-norm.

    Args:
      key: a key.
      d: number of dimensions.
      p: positive number, the norm's.
      shape: the result's shape without the axis of the vectors.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      TypeError: a ``d`` that is not an integer.
      ValueError: another dtype.
    Example: ``arrax.random.ball(arrax.random.key(0), 3, shape=(2,))`` has the shape (2, 3).
    """
    chosen, lengths = float_dtype("ball", dtype), checked_shape("ball", shape)
    if real_type_of("ball", "p", p).shape:
        raise ValueError(f"ball: p must be a single number, got an array of shape {typeof(p).shape}")
    count = static_length("ball", "d", d)
    return _ball(key, out_sharding, _floating(p, chosen), d=count, shape=lengths, dtype=chosen)
