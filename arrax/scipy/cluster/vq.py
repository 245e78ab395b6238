"""Vector quantization: the code that is nearest to each observation."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.core.tracebacks import boundary
from arrax.core.types import typeof
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, promote_inexact
from arrax.xla.arrays import ArrayLike


@boundary
def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest code of each observation, and its distance.

    Args:
      obs: array of shape ``(m, n)``, or a vector of m numbers.
      code_book: array of shape ``(k, n)``, or a vector of k numbers.
      check_finite: accepted, without effect.
    Returns: ``(codes, distances)``: integers and floating numbers of shape ``(m,)``.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``vq(jnp.array([[1.], [4.]]), jnp.array([[0.], [5.]]))[0]`` is ``[0, 1]``. Source: ``scipy.cluster.vq.vq``.
    """
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    one, other = typeof(obs), typeof(code_book)
    if one.ndim != other.ndim:
        raise ValueError(f"vq: obs and code_book must have as many axes, got the shapes {one.shape} and {other.shape}")
    if one.ndim not in (1, 2):
        raise ValueError(f"vq: obs must have one or two axes, got the shape {one.shape}")
    if one.shape[1:] != other.shape[1:]:
        raise ValueError(
            f"vq: obs and code_book must have as many columns, got the shapes {one.shape} and {other.shape}"
        )
    return _vq(obs, code_book)


@api()
def _vq(obs: ArrayLike, code_book: ArrayLike) -> tuple[Any, Any]:
    obs, code_book = promote_inexact(obs, code_book)
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    squares = jnp.sum(jnp.square(jnp.abs(obs[:, None, :] - code_book[None, :, :])), -1)
    codes = jnp.argmin(squares, -1)
    smallest = jnp.take_along_axis(squares, codes[:, None], -1)[:, 0]
    same = smallest == 0  # where a distance has no slope
    return codes, jnp.where(same, 0, jnp.sqrt(jnp.where(same, 1, smallest)))
