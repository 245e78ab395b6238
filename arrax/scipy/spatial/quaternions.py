"""Quaternions ``(x, y, z, w)`` of rotations along the last axis of arrays, and other descriptions of these."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.numpy_api.api import api
from arrax.xla.arrays import Array, ArrayLike

_SMALL = 1e-3  # below this angle, functions of it are polynomials


def normalized(quat: Array) -> Array:
    """The quaternions over their norms."""
    return quat / jnp.sqrt(jnp.sum(quat * quat, -1, keepdims=True))


@api()
def product(p: Array, q: Array) -> Array:
    """The rotation q, and then p."""
    vector = p[..., 3:] * q[..., :3] + q[..., 3:] * p[..., :3] + jnp.cross(p[..., :3], q[..., :3])
    scalar = p[..., 3:] * q[..., 3:] - jnp.sum(p[..., :3] * q[..., :3], -1, keepdims=True)
    return jnp.concatenate([vector, scalar], -1)


def conjugate(quat: Array) -> Array:
    """The inverses of rotations."""
    return quat * jnp.asarray([-1, -1, -1, 1], quat.dtype)


@api()
def to_matrix(quat: Array) -> Array:
    """The matrices of rotations."""
    x, y, z, w = (quat[..., n] for n in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


@api()
def from_matrix(matrix: Array) -> Array:
    """The quaternions of matrices, by the greatest of their components, so that none is divided by a small number."""
    m = matrix
    diagonal = jnp.diagonal(m, axis1=-2, axis2=-1)
    trace = jnp.sum(diagonal, -1)
    largest = jnp.argmax(jnp.concatenate([diagonal, trace[..., None]], -1), -1)
    found = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: list[Any] = [None] * 4
        parts[i] = 1 - trace + 2 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        parts[3] = m[..., k, j] - m[..., j, k]
        found.append(jnp.stack(parts, -1))
    found.append(
        jnp.stack(
            [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1 + trace], -1
        )
    )
    chosen = found[3]
    for i in range(3):
        chosen = jnp.where((largest == i)[..., None], found[i], chosen)
    return normalized(chosen)


@api()
def from_rotation_vector(vector: ArrayLike) -> Array:
    """The quaternions of rotations by the angle |v| around v."""
    square = jnp.sum(vector * vector, -1, keepdims=True)
    small = square < _SMALL**2
    angle = jnp.sqrt(jnp.where(small, 1, square))
    series = 0.5 - square / 48 + square * square / 3840
    scale = jnp.where(small, series, jnp.sin(0.5 * angle) / angle)
    scalar = jnp.where(small, 1 - square / 8 + square * square / 384, jnp.cos(0.5 * angle))
    return jnp.concatenate([scale * vector, scalar], -1)


@api()
def to_rotation_vector(quat: Array) -> Array:
    """The vectors of rotations, of angles up to pi."""
    quat = jnp.where(quat[..., 3:] < 0, -quat, quat)
    vector, scalar = quat[..., :3], quat[..., 3:]
    square = jnp.sum(vector * vector, -1, keepdims=True)
    small = square < (_SMALL / 2) ** 2
    size = jnp.sqrt(jnp.where(small, 1, square))
    series = 2 / scalar * (1 - square / (3 * scalar * scalar))
    return jnp.where(small, jnp.where(small, series, 0), 2 * jnp.arctan2(size, scalar) / size) * vector


@api()
def rotation_angle(quat: Array) -> Array:
    """The angles of rotations, from 0 to pi."""
    square = jnp.sum(quat[..., :3] ** 2, -1)
    size = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
    return 2 * jnp.arctan2(size, jnp.abs(quat[..., 3]))


# ---- Euler angles -----------------------------------------------------------------------------------------------------


def _around_axis(axis: int, angle: ArrayLike) -> Array:
    parts = [jnp.zeros_like(angle)] * 4
    parts[axis], parts[3] = jnp.sin(0.5 * angle), jnp.cos(0.5 * angle)
    return jnp.stack(parts, -1)


@api(static=("axes", "intrinsic"))
def from_angles(angles: Array, axes: tuple[int, ...], intrinsic: bool) -> Array:
    """The quaternions of rotations around axes in turn: those of the body (intrinsic), or fixed ones."""
    out = _around_axis(axes[0], angles[..., 0])
    for index, axis in enumerate(axes[1:], 1):
        next_one = _around_axis(axis, angles[..., index])
        out = product(out, next_one) if intrinsic else product(next_one, out)
    return out


@api(static=("axes", "intrinsic"))
def to_angles(quat: Array, axes: tuple[int, ...], intrinsic: bool) -> Array:
    """Three angles of rotations. Bernardes and Viollet, "Quaternion to Euler angles conversion" (2022)."""
    i, j, k = axes[::-1] if intrinsic else axes
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2  # of the permutation
    q = [quat[..., n] for n in range(4)]
    if symmetric:
        a, b, c, d = q[3], q[i], q[j], q[k] * sign
    else:
        a, b, c, d = q[3] - q[j], q[i] + q[k] * sign, q[j] + q[3], q[k] * sign - q[i]
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    tiny = 1e-7 if quat.dtype == np.float64 else 1e-3
    locked_low, locked_high = jnp.abs(middle) <= tiny, jnp.abs(middle - math.pi) <= tiny
    first, third = half_sum - half_difference, half_sum + half_difference
    # Where the middle angle leaves only a sum or a difference of the others known, one of these is 0.
    alone = jnp.where(locked_low, 2 * half_sum, 2 * half_difference * (1 if intrinsic else -1))
    locked = locked_low | locked_high
    if intrinsic:
        first, third = jnp.where(locked, 0.0, first), jnp.where(locked, alone, third)
    else:
        first, third = jnp.where(locked, alone, first), jnp.where(locked, 0.0, third)
    if not symmetric:
        third, middle = third * sign, middle - 0.5 * math.pi
    out = jnp.stack([third, middle, first] if intrinsic else [first, middle, third], -1)
    out = jnp.where(out < -math.pi, out + 2 * math.pi, out)
    return jnp.where(out > math.pi, out - 2 * math.pi, out)
