"""Semaphores: counters by which programs of a kernel wait for each other. Here one program runs at a time, so nobody waits."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import numpy as np

from arrax import numpy as jnp
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.references import StagedRef
    from arrax.numpy_api.references import TransformedRef


class DeviceIdType(enum.Enum):
    """How another device is named: by its place in a mesh, or by its number.

    Example: ``pl.DeviceIdType.MESH.value`` is ``"mesh"``.
    """

    MESH = "mesh"
    LOGICAL = "logical"


def semaphore_signal(
    sem_or_view: StagedRef | TransformedRef, inc: int | Array = 1, *, device_id: ArrayLike | None = None,
    device_id_type: DeviceIdType = DeviceIdType.MESH, core_index: int | Array | None = None,
) -> None:  # fmt: skip
    """Count a semaphore up.

    Args:
      sem_or_view: a single semaphore, such as ``semaphores.at[0]``.
      inc: by how much.
      device_id, core_index: whose semaphore; here there are only those of the program itself, so None.
      device_id_type: what ``device_id`` means.
    Raises:
      ValueError: several semaphores. NotImplementedError: semaphores of another device or core.
    Example: ``pl.run_scoped(lambda s: (pl.semaphore_signal(s, 3), pl.semaphore_read(s))[1], pltpu.SemaphoreType.REGULAR)`` is 3.
    """
    if device_id is not None or core_index is not None:
        raise NotImplementedError("semaphore_signal: there are no semaphores of other devices and cores here")
    _count("semaphore_signal", sem_or_view, inc)


def semaphore_wait(sem_or_view: StagedRef | TransformedRef, value: int | Array = 1, *, decrement: bool = True) -> None:
    """Wait until a semaphore has counted to a value. What has not been signalled by now never will be: nothing waits.

    Args:
      sem_or_view: a single semaphore, such as ``semaphores.at[0]``.
      value: how far.
      decrement: count it down by as much.
    Raises: ValueError for several semaphores.
    Example: ``pl.run_scoped(lambda s: (pl.semaphore_signal(s, 3), pl.semaphore_wait(s, 2), pl.semaphore_read(s))[2],
    pltpu.SemaphoreType.REGULAR)`` is 1.
    """
    _count("semaphore_wait", sem_or_view, -jnp.asarray(value) if decrement else 0)


def semaphore_read(sem_or_view: StagedRef | TransformedRef) -> Array:
    """What a semaphore has counted to.

    Args:
      sem_or_view: a single semaphore, such as ``semaphores.at[0]``.
    Returns: int32 scalar.
    Raises: ValueError for several semaphores.
    Example: ``pl.run_scoped(pl.semaphore_read, pltpu.SemaphoreType.DMA)`` is 0.
    """
    _check_single("semaphore_read", sem_or_view)
    return sem_or_view[...]


def _check_single(name: str, semaphore: StagedRef | TransformedRef) -> None:
    if semaphore.shape != ():
        raise ValueError(f"{name}: expected a single semaphore, got semaphores of shape {semaphore.shape}")


def _count(name: str, semaphore: StagedRef | TransformedRef, step: ArrayLike) -> None:
    _check_single(name, semaphore)
    semaphore[...] = semaphore[...] + jnp.asarray(step).astype(np.int32)
