"""Associated Legendre functions and spherical harmonics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.calls import as_index
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, concrete_int, own_promotion, promote_inexact
from arrax.xla.arrays import Array, ArrayLike


def _normed_table(order: int, degree: int, cosine: Array, sine: Array) -> Array:
    """Legendre functions of the orders 0 to ``order`` and degrees 0 to ``degree``, normed, with (-1)^m.

    Those of order m begin with the degree m and follow by the recurrence in the degree, which is stable: Holmes and
    Featherstone, "A unified approach to the Clenshaw summation and the recursive computation of very high degree and order
    normalised associated Legendre functions" (2002).
    """
    n, m = np.arange(degree + 1.0)[:, None], np.arange(order + 1.0)
    product = np.where(n > m, (n - m) * (n + m), 1)
    first = np.sqrt(np.where(n > m, (2 * n - 1) * (2 * n + 1), 0) / product)
    second = np.sqrt(np.where(n > m + 1, (2 * n + 1) * (n + m - 1) * (n - m - 1) / (2 * n - 3), 0) / product)
    growth = np.append(1.0, -np.sqrt((2 * n[1:, 0] + 1) / (2 * n[1:, 0])))
    constants = [np.asarray(x, cosine.dtype)[..., None] for x in (growth, first, second)]

    def degree_after(carry: tuple[Any, Any, Any], given: tuple[Any, ...]) -> tuple[tuple[Any, Any, Any], Array]:
        """The functions of one degree, by those of the two degrees below, and by the one whose order was its degree."""
        last, below, corner = carry
        growth, first, second, begins = given
        corner = jnp.where(begins[0], corner, corner * sine * growth)
        row = jnp.where(begins, corner, first * cosine * last - second * below)
        return (row, last, corner), row

    nothing = jnp.zeros((order + 1, *cosine.shape), cosine.dtype)
    corner = jnp.full_like(cosine, math.sqrt(1 / (4 * math.pi)))
    _, rows = lax.scan(degree_after, (nothing, nothing, corner), (*constants, (n == m)[..., None]))
    return jnp.swapaxes(rows, 0, 1)


def _norms(order: int, degree: int) -> np.ndarray:
    """What Legendre functions are multiplied with to be normed, by order and degree; 1 where the order is above the degree."""
    table = np.ones((order + 1, degree + 1))
    for m in range(order + 1):
        for n in range(m, degree + 1):
            log = math.log((2 * n + 1) / (4 * math.pi)) + math.lgamma(n - m + 1) - math.lgamma(n + m + 1)
            table[m, n] = math.exp(0.5 * log)
    return table


def _checked(name: str, m: int, n: int, z: ArrayLike) -> tuple[int, int]:
    check_arraylike(name, z)
    order, degree = as_index(m), as_index(n)
    if order < 0 or degree < 0 or order > degree:
        raise ValueError(f"{name}: the order m must be from 0 to the degree n, got m={order} and n={degree}")
    if jnp.ndim(z) != 1:
        raise ValueError(f"{name}: z must be a vector, got the shape {jnp.shape(z)}")
    return order, degree


@own_promotion
def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Any, Any]:
    """Associated Legendre functions of the first kind and their derivatives.

    Args:
      m: the greatest order, from 0 to n.
      n: the greatest degree.
      z: real vector of numbers in [-1, 1].
    Returns: ``(values, derivatives)``, arrays of shape ``(m + 1, n + 1, len(z))``, with the factor (-1)^m.
    Raises:
      ValueError: an order or degree out of range; no vector.
    Example: ``special.lpmn(1, 1, jnp.zeros(1))[0][1, 1]`` is -1. Source: DLMF 14.6, 14.10.
    """
    order, degree = _checked("lpmn", m, n, z)
    return _lpmn(z, order=order, degree=degree)


@api(static=("order", "degree"))
def _lpmn(z: ArrayLike, order: int, degree: int) -> tuple[Any, Any]:
    (z,) = promote_inexact(z)
    values = _values(z, order, degree, False)
    n, m = np.arange(degree + 1)[None, :, None], np.arange(order + 1)[:, None, None]
    below = jnp.concatenate([jnp.zeros_like(values[:, :1]), values[:, :-1]], 1)
    square = 1 - z * z
    slopes = ((n + m) * below - n * z * values) / jnp.where(square == 0, 1, square)
    return values, jnp.where(square == 0, _slopes_at_ends(z, order, degree), slopes)


def _slopes_at_ends(z: Array, order: int, degree: int) -> Array:
    """Derivatives at 1 and -1: finite for the orders 0 and 2, infinite for 1 (DLMF 14.8.1 and 14.7.17)."""
    n = np.arange(degree + 1)[None, :, None]
    m = np.arange(order + 1)[:, None, None]
    sign = jnp.where(z > 0, 1.0, (-1.0) ** (n + 1))
    zeroth = n * (n + 1) / 2 * sign
    first = jnp.where(n >= 1, np.inf * jnp.where(z > 0, 1.0, (-1.0) ** n), 0.0)
    second = -(n - 1) * n * (n + 1) * (n + 2) / 4 * sign
    return jnp.where(m == 0, zeroth, jnp.where(m == 1, first, jnp.where(m == 2, second, 0.0)))


def _values(z: Array, order: int, degree: int, normed: bool) -> Array:
    table = _normed_table(order, degree, z, jnp.sqrt(jnp.maximum((1 - z) * (1 + z), 0)))
    return table if normed else table / jnp.asarray(_norms(order, degree)[..., None], table.dtype)


@own_promotion
def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """Associated Legendre functions of the first kind.

    Args:
      m: the greatest order, from 0 to n.
      n: the greatest degree.
      z: real vector of numbers in [-1, 1].
      is_normalized: whether they are normed as spherical harmonics need them.
    Returns: array of shape ``(m + 1, n + 1, len(z))``, with the factor (-1)^m.
    Raises:
      ValueError: an order or degree out of range; no vector.
    Example: ``special.lpmn_values(0, 1, jnp.array([.5]), False)[0, :, 0]`` is ``[1, .5]``. Source: DLMF 14.6, 14.10, 14.30.
    """
    order, degree = _checked("lpmn_values", m, n, z)
    return _lpmn_values(z, order=order, degree=degree, normed=bool(is_normalized))


@api(static=("order", "degree", "normed"))
def _lpmn_values(z: ArrayLike, order: int, degree: int, normed: bool) -> Array:
    (z,) = promote_inexact(z)
    return _values(z, order, degree, normed)


@own_promotion
def sph_harm_y(
    n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, diff_n: int | None = None, n_max: int | None = None
) -> Any:
    """Spherical harmonics Y of degree n and order m, and their derivatives in the angles.

    Args:
      n, m: integer vectors: degrees from 0 on, and orders from -n to n.
      theta: vector of polar angles, from 0 to pi.
      phi: vector of azimuths, from 0 to 2 pi.
      diff_n: how many orders of derivatives are wanted: 0 (or None), 1 or 2.
      n_max: the greatest degree, known while tracing; by default that of ``n``.
    Returns: complex vector; with ``diff_n`` a tuple of it, the derivatives in theta and phi along a further axis of length 2,
      and the second ones along two.
    Raises:
      ValueError: another ``diff_n``, a negative ``n_max``.
    Example: ``special.sph_harm_y(jnp.array([0]), jnp.array([0]), jnp.zeros(1), jnp.zeros(1))`` is 0.2821.
    Source: ``scipy.special.sph_harm_y``; DLMF 14.30.1.
    """
    order = 0 if diff_n is None else as_index(diff_n)
    if order not in (0, 1, 2):
        raise ValueError(f"sph_harm_y: diff_n must be 0, 1 or 2, got {order}")
    check_arraylike("sph_harm_y", n, m, theta, phi)
    if n_max is None:
        n_max = concrete_int(jnp.max(jnp.asarray(n)), "The argument n_max of sph_harm_y is needed")
        n_max = max(n_max, 0)
    if as_index(n_max) < 0:
        raise ValueError(f"sph_harm_y: n_max must not be negative, got {n_max}")
    values = _sph_harm(n, m, theta, phi, n_max=as_index(n_max), order=order)
    return values if order else values[0]


@api(static=("n_max", "order"))
def _sph_harm(n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, n_max: int, order: int) -> tuple[Any, ...]:
    theta, phi = jnp.broadcast_arrays(*promote_inexact(theta, phi))
    n, m = jnp.asarray(n), jnp.asarray(m)
    shape = jnp.broadcast_shapes(n.shape, m.shape, theta.shape)
    n, m, theta, phi = (jnp.broadcast_to(x, shape).reshape(-1) for x in (n, m, theta, phi))
    table = _normed_table(n_max, n_max, jnp.cos(theta), jnp.abs(jnp.sin(theta)))

    def polar(m: Array, times: int = 0) -> Array:
        """The derivative of the factor of theta for the orders m, by the neighbouring orders: so it holds at the poles, too."""
        if times:
            products = (n - m) * (n + m + 1), (n + m) * (n - m + 1)
            up, down = (jnp.sqrt(jnp.maximum(product, 0).astype(theta.dtype)) for product in products)
            return 0.5 * (up * polar(m + 1, times - 1) - down * polar(m - 1, times - 1))
        size = jnp.abs(m)
        valid = (size <= n) & (n >= 0)
        legendre = table[jnp.where(valid, size, 0), jnp.where(valid, n, 0), jnp.arange(n.shape[0])]
        # Y of -m is (-1)^m times the conjugate of that of m
        return jnp.where(valid, jnp.where((m < 0) & (size % 2 == 1), -legendre, legendre), 0)

    angle = m * phi
    turn = lax.complex(jnp.cos(angle), jnp.sin(angle))
    factors = [polar(m, times) for times in range(order + 1)]
    outs = [turn * factors[0]]
    if order > 0:
        outs.append(jnp.stack([turn * factors[1], 1j * m * outs[0]], -1))
    if order > 1:
        mixed = 1j * m * turn * factors[1]
        rows = [[turn * factors[2], mixed], [mixed, -(m * m) * outs[0]]]
        outs.append(jnp.stack([jnp.stack(row, -1) for row in rows], -2))
    return tuple(out.astype(turn.dtype).reshape(shape + out.shape[1:]) for out in outs)


@own_promotion
def sph_harm(m: ArrayLike, n: ArrayLike, theta: ArrayLike, phi: ArrayLike, n_max: int | None = None) -> Array:
    """Spherical harmonics Y of order m and degree n; ``sph_harm_y`` has another order of arguments.

    Args:
      m, n: integer vectors: orders from -n to n, and degrees from 0 on.
      theta: vector of azimuths, from 0 to 2 pi.
      phi: vector of polar angles, from 0 to pi.
      n_max: the greatest degree, known while tracing; by default that of ``n``.
    Returns: complex vector.
    Example: ``special.sph_harm(jnp.array([0]), jnp.array([0]), jnp.zeros(1), jnp.zeros(1))`` is 0.2821.
    """
    return sph_harm_y(n, m, phi, theta, n_max=n_max)
