"""Interpolation between rotations."""

from __future__ import annotations

from typing import Any, NamedTuple

from arrax import numpy as jnp
from arrax.core.tracebacks import bound_methods
from arrax.numpy_api.operands import check_arraylike, own_promotion
from arrax.scipy.spatial.rotations import Rotation
from arrax.xla.arrays import ArrayLike


@bound_methods
class Slerp(NamedTuple):
    """A rotation that moves from one to the next at even angular speed.

    Make it by ``Slerp.init``.

    Attributes:
      times: vector of n ascending times.
      timedelta: the n - 1 times between them.
      rotations: the n rotations, the last one left out.
      rotvecs: vectors of the rotations from each one to the next.
    Example: ``Slerp.init(jnp.array([0., 1.]), Rotation.identity(2))(0.5).magnitude()`` is 0. Source: ``scipy.spatial.transform.Slerp``.
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    @own_promotion
    def init(cls, times: ArrayLike, rotations: Rotation) -> Slerp:
        """The interpolation between rotations at given times.

        Args:
          times: vector of n ascending times, n at least 2.
          rotations: n rotations.
        Raises:
          ValueError: a single rotation; numbers that differ.
        """
        if not isinstance(rotations, Rotation):
            raise TypeError(f"Slerp.init: rotations must be a Rotation, got {type(rotations).__name__}")
        if rotations.single or len(rotations) == 1:
            raise ValueError("Slerp.init: at least two rotations are needed")
        check_arraylike("Slerp.init", times)
        times = jnp.asarray(times, rotations.quat.dtype)
        if times.ndim != 1 or times.shape[0] != len(rotations):
            raise ValueError(
                f"Slerp.init: times must be a vector of {len(rotations)} numbers, one for each rotation, got {times.shape}"
            )
        first, after = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, jnp.diff(times), first, (first.inv() * after).as_rotvec())

    @own_promotion
    def __call__(self, times: ArrayLike) -> Rotation:
        """The rotations at times, a number or a vector."""
        check_arraylike("Slerp", times)
        asked = jnp.asarray(times, self.times.dtype)
        if asked.ndim > 1:
            raise ValueError(f"Slerp: times must be a number or a vector, got the shape {asked.shape}")
        at = jnp.atleast_1d(asked)
        index = jnp.clip(jnp.searchsorted(self.times, at, side="left") - 1, 0, self.timedelta.shape[0] - 1)
        share = (at - self.times[index]) / self.timedelta[index]
        out = self.rotations[index] * Rotation.from_rotvec(self.rotvecs[index] * share[:, None])
        return Rotation(out.quat[0]) if asked.ndim == 0 else out
