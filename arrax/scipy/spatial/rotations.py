"""Rotations in three dimensions."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax import dtypes, random
from arrax import numpy as jnp
from arrax.core.tracebacks import bound_methods
from arrax.core.types import typeof
from arrax.dtypes import DTypeLike
from arrax.numpy_api.operands import check_arraylike, promote_inexact
from arrax.scipy.spatial import quaternions
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


@bound_methods
class Rotation(NamedTuple):
    """One rotation in three dimensions, or several, as normed quaternions.

    Make them by ``from_quat``, ``from_matrix``, ``from_rotvec``, ``from_mrp``, ``from_euler``, ``identity`` or ``random``.

    Attributes:
      quat: array of shape ``(4,)`` or ``(n, 4)``: x, y, z, w.
    Example: ``Rotation.from_euler("z", 90., degrees=True).apply(jnp.array([1., 0., 0.]))``.
    Source: ``scipy.spatial.transform.Rotation``.
    """

    quat: Any

    # ---- making -----------------------------------------------------------------------------------------------------------

    @classmethod
    def from_quat(cls, quat: ArrayLike | Sequence[Any]) -> Rotation:
        """The rotations of quaternions (x, y, z, w), which need not be normed. Args: quat: array ``(4,)`` or ``(n, 4)``."""
        return cls(quaternions.normalized(_rows("from_quat", quat, 4)))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike | Sequence[Any]) -> Rotation:
        """The rotations of orthogonal matrices. Args: matrix: array ``(3, 3)`` or ``(n, 3, 3)``."""
        matrix = _floating("from_matrix", matrix)
        if matrix.shape[-2:] != (3, 3) or matrix.ndim > 3:
            raise ValueError(f"Rotation.from_matrix: the shape (3, 3) or (n, 3, 3) is needed, got {matrix.shape}")
        return cls(quaternions.from_matrix(matrix))

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike | Sequence[Any], degrees: bool = False) -> Rotation:
        """The rotations around vectors, by angles of their lengths. Args: rotvec: array ``(3,)`` or ``(n, 3)``."""
        vector = _rows("from_rotvec", rotvec, 3)
        return cls(quaternions.from_rotation_vector(jnp.deg2rad(vector) if degrees else vector))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike | Sequence[Any]) -> Rotation:
        """The rotations of modified Rodrigues parameters: axis times tan(angle / 4). Args: mrp: ``(3,)`` or ``(n, 3)``."""
        vector = _rows("from_mrp", mrp, 3)
        square = jnp.sum(vector * vector, -1, keepdims=True)
        return cls(jnp.concatenate([2 * vector, 1 - square], -1) / (1 + square))

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike | Sequence[Any], degrees: bool = False) -> Rotation:
        """The rotations by angles around axes in turn.

        Args:
          seq: one to three axes: ``"xyz"``, ..., fixed ones, or ``"XYZ"``, ..., those of the body.
          angles: a number, or array ``(k,)`` or ``(n, k)`` of an angle for each axis; for one axis also ``(n,)``.
          degrees: whether angles are in degrees.
        Raises:
          ValueError: other axes; angles that don't fit.
        """
        axes, intrinsic = _axes("from_euler", seq)
        angles = _floating("from_euler", angles)
        angles = jnp.deg2rad(angles) if degrees else angles
        if len(axes) == 1 and (angles.ndim == 0 or angles.shape[-1] != 1 or angles.ndim == 1):
            single = angles.ndim == 0
            angles = angles.reshape(1) if single else angles[:, None]
        if angles.ndim not in (1, 2) or angles.shape[-1] != len(axes):
            raise ValueError(
                f"Rotation.from_euler: angles must have the shape ({len(axes)},) or (n, {len(axes)}), got {angles.shape}"
            )
        return cls(quaternions.from_angles(angles, axes, intrinsic))

    @classmethod
    def identity(cls, num: int | None = None, dtype: DTypeLike = float) -> Rotation:
        """The rotation that changes nothing, once or ``num`` times."""
        one = jnp.asarray([0, 0, 0, 1], dtypes.canonicalize_dtype(np.float64 if dtype is float else dtype))
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Array, num: int | None = None) -> Rotation:
        """Rotations that are uniform among all. Args: random_key: a key; num: how many, None for a single one."""
        return cls(quaternions.normalized(random.normal(random_key, (4,) if num is None else (num, 4))))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """The rotations of several objects, in one."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    # ---- describing -------------------------------------------------------------------------------------------------------

    @property
    def single(self) -> bool:
        """Whether this is one rotation, not an array of them."""
        return typeof(self.quat).ndim == 1

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Normed quaternions. Args: canonical: of the two, the one whose w is not negative; scalar_first: (w, x, y, z)."""
        quat = _canonical(self.quat) if canonical else self.quat
        return jnp.roll(quat, 1, -1) if scalar_first else quat

    def as_matrix(self) -> Array:
        """Orthogonal matrices, array ``(3, 3)`` or ``(n, 3, 3)``."""
        return quaternions.to_matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Vectors along the axes whose lengths are the angles."""
        vector = quaternions.to_rotation_vector(self.quat)
        return jnp.rad2deg(vector) if degrees else vector

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters: axis times tan(angle / 4)."""
        quat = jnp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        return quat[..., :3] / (1 + quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles around three axes in turn. Args: seq: as of ``from_euler``; degrees: whether angles are in degrees."""
        axes, intrinsic = _axes("as_euler", seq)
        if len(axes) != 3:
            raise ValueError(f"Rotation.as_euler: seq must be three axes, got {seq!r}")
        angles = quaternions.to_angles(self.quat, axes, intrinsic)
        return jnp.rad2deg(angles) if degrees else angles

    def magnitude(self) -> Array:
        """The angles of the rotations, from 0 to pi."""
        return quaternions.rotation_angle(self.quat)

    # ---- using --------------------------------------------------------------------------------------------------------------

    def apply(self, vectors: ArrayLike | Sequence[Any], inverse: bool = False) -> Array:
        """The vectors, turned.

        Args:
          vectors: array ``(3,)`` or ``(n, 3)``.
          inverse: turn them back.
        """
        vectors = _rows("apply", vectors, 3)
        return jnp.einsum("...kj,...k->...j" if inverse else "...jk,...k->...j", self.as_matrix(), vectors)

    def inv(self) -> Rotation:
        """The inverse rotations."""
        return Rotation(quaternions.conjugate(self.quat))

    def mean(self, weights: OptionalArray = None) -> Rotation:
        """The mean rotation: the axis of the greatest weighted sum of squared products with the quaternions.

        Args:
          weights: vector of a number for each rotation.
        Source: Markley et al., "Averaging quaternions" (2007).
        """
        quat = jnp.atleast_2d(self.quat)
        weights = jnp.ones(quat.shape[0], quat.dtype) if weights is None else jnp.asarray(weights, quat.dtype)
        if weights.shape != (quat.shape[0],):
            raise ValueError(f"Rotation.mean: weights must be a vector of {quat.shape[0]} numbers, got {weights.shape}")
        _, vectors = jnp.linalg.eigh(jnp.einsum("n,ni,nj->ij", weights, quat, quat))
        return Rotation(vectors[:, -1])

    def __mul__(self, other: Rotation) -> Rotation:  # type: ignore[override]
        """The rotation ``other``, and then this one."""
        return Rotation(quaternions.normalized(quaternions.product(self.quat, other.quat)))

    def __getitem__(self, index: Any) -> Rotation:  # type: ignore[override]
        if self.single:
            raise TypeError("a single Rotation cannot be indexed")
        return Rotation(self.quat[index])

    def __len__(self) -> int:
        if self.single:
            raise TypeError("a single Rotation has no length")
        return self.quat.shape[0]


def _floating(name: str, value: ArrayLike | Sequence[Any]) -> Array:
    """A floating array, not weakly typed, of an array, a number or a nested sequence of numbers."""
    operand: Any = jnp.asarray(value) if isinstance(value, list | tuple) else value
    check_arraylike(f"Rotation.{name}", operand)
    array = jnp.asarray(promote_inexact(operand)[0])
    return jnp.asarray(array, array.dtype)


def _rows(name: str, value: ArrayLike | Sequence[Any], size: int) -> Array:
    value = _floating(name, value)
    if value.ndim not in (1, 2) or value.shape[-1] != size:
        raise ValueError(f"Rotation.{name}: the shape ({size},) or (n, {size}) is needed, got {value.shape}")
    return value


@functools.cache
def _axes(name: str, seq: str) -> tuple[tuple[int, ...], bool]:
    """The axes of a name such as "zxz", and whether they are those of the body."""
    if not isinstance(seq, str) or not re.fullmatch("[xyz]{1,3}|[XYZ]{1,3}", seq):
        raise ValueError(f"Rotation.{name}: seq must be one to three of 'xyz', or of 'XYZ', got {seq!r}")
    if any(one == other for one, other in itertools.pairwise(seq)):
        raise ValueError(f"Rotation.{name}: neighbouring axes of seq must be different, got {seq!r}")
    return tuple("xyz".index(c) for c in seq.lower()), seq.isupper()


def _canonical(quat: Array) -> Array:
    """Of a quaternion and its negative, the one whose last component that is not 0 is positive (w, then x, y, z)."""
    sign = jnp.sign(quat[..., 3])
    for n in range(3):
        sign = jnp.where(sign == 0, jnp.sign(quat[..., n]), sign)
    return quat * jnp.where(sign < 0, -1, 1).astype(quat.dtype)[..., None]
