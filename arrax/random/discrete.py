"""Discrete distributions: Bernoulli, binomial, geometric, multinomial, Poisson, signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import axis_order, filled_arrays
from arrax.lax.arithmetic import abs_, ceil, floor, max_, xla_div
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.control_flow.scans import scan
from arrax.lax.conversion import convert
from arrax.lax.cumulative import cumsum
from arrax.lax.exponential import log, log1p, sqrt
from arrax.lax.reductions import reduce_or
from arrax.lax.special import xla_lgamma
from arrax.numpy_api.operands import broadcast_to
from arrax.random import parameters
from arrax.random.keys import check_key
from arrax.random.parameters import checked_shape, float_dtype, integer_dtype, real_type_of, shape_of, type_of
from arrax.random.samplers import Bits, sampler
from arrax.random.uniforms import positive_uniform, random_signs, scaled_uniform, select_where, unit_uniform
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike


def _any(mask: Array) -> Array:
    return reduce_or(mask, tuple(range(typeof(mask).ndim)))


# ---- coins ---------------------------------------------------------------------------------------------------------------


@sampler(static=("shape", "mode"))
def _bernoulli(bits: Bits, p: ArrayLike, *, shape: tuple[int, ...], mode: str) -> Array:
    dtype = typeof(p).dtype
    p = broadcast_to(p, shape)
    if mode == "low":
        return unit_uniform(bits, shape, dtype) < p
    coarse, fine = scaled_uniform(bits, (2, *shape), dtype, 0, 1)
    return fine * np.asarray(2.0 ** -dtypes.finfo(dtype).nmant, dtype)[()] < p - coarse


def bernoulli(
    key: Array,
    p: ArrayLike = 0.5,
    shape: Shape | None = None,
    mode: str = "low",
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Booleans that are True with probability ``p``.

    Args:
      key: a key.
      p: floating probabilities, broadcast to ``shape``.
      shape: the result's shape, by default ``p``'s.
      mode: ``"low"`` or ``"high"``: the latter draws twice as many bits, for probabilities near 0.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      TypeError: a ``p`` that is not floating.
      ValueError: another mode, or a ``p`` that does not broadcast to the shape.
    Example: ``arrax.random.bernoulli(arrax.random.key(0), 0.3, (4,))``.
    """
    if mode not in ("low", "high"):
        raise ValueError(f"bernoulli: mode must be 'low' or 'high', got {mode!r}")
    dtype = type_of("bernoulli", "p", p).dtype
    if not dtypes.is_float(dtype):
        raise TypeError(f"bernoulli: p must be floating, got {dtype.name}")
    return _bernoulli(key, out_sharding, p, shape=shape_of("bernoulli", shape, p), mode=mode)


@sampler(static=("shape", "dtype"))
def _rademacher(bits: Bits, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return random_signs(bits, shape, dtype)


def rademacher(
    key: Array, shape: Shape = (), dtype: OptionalDType = None, *, out_sharding: OptionalSharding = None
) -> Array:
    """Numbers that are 1 or -1 with equal probability.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: signed or floating dtype, by default int32 (int64 with x64).
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Example: ``arrax.random.rademacher(arrax.random.key(0), (4,))``.
    """
    chosen = dtypes.canonicalize_dtype(np.int64) if dtype is None else dtypes.check_user_dtype("rademacher", dtype)
    return _rademacher(key, out_sharding, shape=checked_shape("rademacher", shape), dtype=chosen)


@sampler(static=("shape", "dtype"))
def _geometric(bits: Bits, p: Array, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    p = p if dtypes.is_float(typeof(p).dtype) else convert(p, float_dtype("geometric", None))
    u = positive_uniform(bits, shape, typeof(p).dtype)
    return convert(floor(xla_div(log(u), broadcast_to(log1p(-p), shape))) + 1, dtype)


def geometric(
    key: Array,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of independent trials up to the first success, 1 and more.

    Args:
      key: a key.
      p: probability of success, broadcast to ``shape``.
      shape: the result's shape, by default ``p``'s.
      dtype: integer dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or a ``p`` that does not broadcast to the shape.
    Example: ``arrax.random.geometric(arrax.random.key(0), 0.3, (4,))``.
    """
    return _geometric(
        key, out_sharding, p, shape=shape_of("geometric", shape, p), dtype=integer_dtype("geometric", dtype)
    )


# ---- Poisson -------------------------------------------------------------------------------------------------------------


def _poisson_by_products(bits: Bits, lam: Array, dtype: np.dtype, steps: int) -> Array:
    """Knuth's method: uniform numbers are multiplied until the product is below e^-lam."""
    shape, single = typeof(lam).shape, typeof(lam).dtype

    def going(carry: tuple[Array, ...]) -> Array:
        step, _, _, product = carry
        return _any(product > -lam) & (step < steps)

    def draw(carry: Sequence[Any]) -> tuple[Any, ...]:
        step, count, key, product = carry
        key, drawn = Bits(key).split(2)
        count = select_where(product > -lam, count + 1, count)
        return step + 1, count, key.key, product + log(unit_uniform(drawn, shape, single))

    start = (np.int32(0), filled_arrays.full(shape, -1, dtype), bits.key, filled_arrays.full(shape, 0, single))
    return while_loop(going, draw, start)[1]


def _poisson_by_rejection(bits: Bits, lam: Array, dtype: np.dtype, steps: int) -> Array:
    """Hoermann's transformed rejection with squeeze, for lam of 10 and more."""
    shape, single = typeof(lam).shape, typeof(lam).dtype
    log_lam = log(lam)
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    limit = 0.9277 - 3.6224 / (b - 2)

    def going(carry: tuple[Array, ...]) -> Array:
        step, _, accepted, _ = carry
        return _any(~accepted) & (step < steps)

    def draw(carry: Sequence[Any]) -> tuple[Any, ...]:
        step, found, accepted, key = carry
        key, first, second = Bits(key).split(3)
        u, v = unit_uniform(first, shape, single) - 0.5, unit_uniform(second, shape, single)
        distance = 0.5 - abs_(u)
        k = floor((2 * a / distance + b) * u + lam + 0.43)
        s = log(v * inverse_alpha / (a / (distance * distance) + b))
        t = -lam + k * log_lam - xla_lgamma(k + 1)
        squeezed = (distance >= 0.07) & (v <= limit)
        refused = (k < 0) | ((distance < 0.013) & (v > distance))
        accept = squeezed | (~refused & (s <= t))
        return step + 1, select_where(accept, k, found), accepted | accept, key.key

    start = (np.int32(0), filled_arrays.full(shape, -1, single), filled_arrays.full(shape, False), bits.key)
    return convert(while_loop(going, draw, start)[1], dtype)


@sampler(static=("shape", "dtype"))
def _poisson(bits: Bits, lam: Array, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    single = np.dtype(np.float32)
    lam = broadcast_to(convert(lam, single), shape)
    small = (lam != lam) | (lam < 10)
    steps = int(dtypes.iinfo(np.int32).max)
    by_products = _poisson_by_products(bits, select_where(small, lam, single.type(0)), dtype, steps)
    by_rejection = _poisson_by_rejection(bits.again(), select_where(small, single.type(1e5), lam), dtype, steps)
    drawn = select_where(small, by_products, by_rejection)
    return select_where(lam == 0, np.zeros((), dtype)[()], drawn)


def poisson(
    key: Array,
    lam: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of the Poisson distribution; -1 where ``lam`` is negative or NaN.

    Args:
      key: a key.
      lam: mean, broadcast to ``shape``.
      shape: the result's shape, by default ``lam``'s.
      dtype: integer dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or a ``lam`` that does not broadcast to the shape.
      NotImplementedError: keys of another generator than threefry2x32.
    Example: ``arrax.random.poisson(arrax.random.key(0), 3., (4,))``. Source: D. Knuth, TAOCP 2, 3.4.1; W. Hoermann, "The
    transformed rejection method for generating Poisson random variables", 1993.
    """
    name = check_key("poisson", key, allow_batch=True)[0].dtype.implementation.name
    if name != "threefry2x32":
        raise NotImplementedError(f"poisson takes keys of threefry2x32, got one of {name}")
    return _poisson(
        key, out_sharding, lam, shape=shape_of("poisson", shape, lam), dtype=integer_dtype("poisson", dtype)
    )


# ---- binomial ------------------------------------------------------------------------------------------------------------


def _binomial_by_inversion(bits: Bits, n: Array, p: Array, steps: int) -> Array:
    """Geometric numbers are added until they exceed ``n``."""
    shape, dtype = typeof(n).shape, typeof(n).dtype
    scale = log1p(-p)

    def going(carry: tuple[Array, ...]) -> Array:
        step, _, total, _ = carry
        return _any(total <= n) & (step < steps)

    def draw(carry: Sequence[Any]) -> tuple[Any, ...]:
        step, count, total, key = carry
        drawn, key = Bits(key).split(2)
        count = select_where(total <= n, count + 1, count)
        return step + 1, count, total + ceil(log(unit_uniform(drawn, shape, dtype)) / scale), key.key

    zeros = filled_arrays.full(shape, 0, dtype)
    return while_loop(going, draw, (np.int32(0), zeros, zeros, bits.key))[1] - 1


_TAILS = (0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
          0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287)  # fmt: skip


def _stirling_tail(k: Array) -> Array:
    """What Stirling's formula lacks of log k!; tabulated below 10."""
    small = k <= 9
    tail = filled_arrays.full_like(k, 0)
    for value, exact in enumerate(_TAILS):
        tail = select_where(k == value, np.asarray(exact, typeof(k).dtype)[()], tail)
    square = (k + 1) * (k + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    return select_where(small, tail, series)


def _binomial_by_rejection(bits: Bits, n: Array, p: Array, steps: int) -> Array:
    """Hoermann's transformed rejection with squeeze (BTRS), for n p above 10."""
    shape, dtype = typeof(n).shape, typeof(n).dtype
    deviation = sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center = n * p + 0.5
    limit = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    m = floor((n + 1) * p)

    def going(carry: tuple[Array, ...]) -> Array:
        step, _, accepted, _ = carry
        return _any(~accepted) & (step < steps)

    def draw(carry: Sequence[Any]) -> tuple[Any, ...]:
        step, found, accepted, key = carry
        key, first, second = Bits(key).split(3)
        u, v = unit_uniform(first, shape, dtype) - 0.5, unit_uniform(second, shape, dtype)
        distance = 0.5 - abs_(u)
        k = floor((2 * a / distance + b) * u + center)
        squeezed = (distance >= 0.07) & (v <= limit)
        refused = (k < 0) | (k > n)
        left = log(v * alpha / (a / (distance * distance) + b))
        bound = (
            (m + 0.5) * log((m + 1) / (odds * (n - m + 1)))
            + (n + 1) * log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * log(odds * (n - k + 1) / (k + 1))
            + (_stirling_tail(m) + _stirling_tail(n - m))
            - _stirling_tail(k) - _stirling_tail(n - k)
        )  # fmt: skip
        accept = squeezed | (~refused & (left <= bound))
        return step + 1, select_where(accept, k, found), accepted | accept, key.key

    start = (np.int32(0), filled_arrays.full(shape, -1, dtype), filled_arrays.full(shape, False), bits.key)
    return while_loop(going, draw, start)[1]


def _computing_dtype(p: ArrayLike) -> np.dtype:
    """The dtype in which binomial numbers are computed: that of the probabilities, of 32 bits at least."""
    own = typeof(p).dtype
    if not dtypes.is_float(own):
        return dtypes.canonicalize_dtype(np.float64)
    return own if own.itemsize >= 4 else np.dtype(np.float32)


def binomial_values(bits: Bits, n: Any, p: Any, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Binomial numbers as floats of 32 bits or more; NaN where the parameters make no sense."""
    number = np.dtype(dtype).type
    n, p = broadcast_to(convert(n, dtype), shape), broadcast_to(convert(p, dtype), shape)
    steps = int(dtypes.iinfo(np.int32).max)
    rarer = select_where(p < 0.5, p, 1 - p)
    no_count, infinite = (n != n) | (n < 0), n == np.inf
    usable = (p >= 0) & (p <= 1)
    n = select_where(no_count | infinite, number(0), n)
    rarer = select_where(usable, rarer, number(0.01))
    few = n * rarer <= 10
    by_inversion = _binomial_by_inversion(
        bits, select_where(few, n, number(0)), select_where(few, rarer, number(0.5)), steps
    )
    many = select_where(few, number(1e4), n)
    by_rejection = _binomial_by_rejection(bits.again(), many, select_where(few, number(0.5), rarer), steps)
    drawn = select_where(few, by_inversion, by_rejection)
    drawn = select_where((p < 0.5) | (p == 0), drawn, n - drawn)
    drawn = select_where(infinite, number(np.inf), drawn)
    return select_where(no_count | ~usable, number(np.nan), drawn)


@sampler(static=("shape", "dtype"))
def _binomial(bits: Bits, n: ArrayLike, p: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return convert(binomial_values(bits, n, p, shape, _computing_dtype(p)), dtype)


def binomial(key: Array, n: ArrayLike, p: ArrayLike, shape: Shape | None = None, dtype: OptionalDType = None) -> Array:
    """Numbers of successes among ``n`` trials, as floats; NaN for parameters that make no sense.

    Args:
      key: a key.
      n: number of trials, broadcast to ``shape``.
      p: probability of success, broadcast to ``shape``.
      shape: the result's shape, by default that of the parameters together.
      dtype: floating dtype.
    Raises:
      ValueError: another dtype, or parameters that do not broadcast to the shape.
    Example: ``arrax.random.binomial(arrax.random.key(0), 10, 0.3, (4,))``. Source: W. Hoermann, "The generation of binomial
    random variates", 1993.
    """
    lengths = shape_of("binomial", shape, n, p)
    return _binomial(key, None, n, p, shape=lengths, dtype=float_dtype("binomial", dtype))


@sampler(static=("shape", "dtype", "unroll"))
def _multinomial(
    bits: Bits, n: ArrayLike, p: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype, unroll: int
) -> Array:
    lead, kinds = shape[:-1], shape[-1]
    own = _computing_dtype(p)
    n = broadcast_to(convert(n, own), lead)
    p = axis_order.transpose(broadcast_to(convert(p, own), shape), (len(lead), *range(len(lead))))
    remaining = cumsum(p, 0, reverse=True)
    share = p / select_where(remaining == 0, np.ones((), own)[()], remaining)
    keys = bits.split_array(kinds)

    def one_kind(left: Array, item: tuple[Array, ...]) -> tuple[Array, Array]:
        key, probability = item
        drawn = binomial_values(Bits(key), left, max_(probability, filled_arrays.full_like(probability, 0)), lead, own)
        return left - drawn, drawn

    _, counts = scan(one_kind, n, (keys, share), unroll=unroll)
    return convert(axis_order.transpose(counts, (*range(1, len(shape)), 0)), dtype)


def _means_integers(dtype: OptionalDType) -> bool:
    return dtype is not None and dtypes.is_integer(dtypes.check_user_dtype("multinomial", dtype))


def multinomial(
    key: Array,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    unroll: int | bool = 1,
) -> Array:
    """How often each of several outcomes comes up in ``n`` trials, as floats.

    Args:
      key: a key.
      n: number of trials, broadcast to ``shape`` without its last axis.
      p: probabilities, the outcomes along the last axis; broadcast to ``shape``.
      shape: the result's shape, the axis of the outcomes included.
      dtype: floating or integer dtype.
      unroll: how the loop over the outcomes is unrolled, see ``lax.scan``.
    Raises:
      ValueError: another dtype, or parameters that do not broadcast to the shape.
    Example: ``arrax.random.multinomial(arrax.random.key(0), 10, jnp.array([.2, .3, .5]))``.
    """
    own, trials = real_type_of("multinomial", "p", p).shape, real_type_of("multinomial", "n", n).shape
    if not own:
        raise ValueError("multinomial: p must have an axis of outcomes, got a scalar")
    if shape is None:
        lengths = (*parameters.common_shape("multinomial", trials, own[:-1]), own[-1])
    else:
        lengths = checked_shape("multinomial", shape)
        parameters.check_broadcast("multinomial", lengths, p)
        parameters.check_broadcast("multinomial", lengths[:-1], n)
    chosen = integer_dtype("multinomial", dtype) if _means_integers(dtype) else float_dtype("multinomial", dtype)
    return _multinomial(key, None, n, p, shape=lengths, dtype=chosen, unroll=unroll)
