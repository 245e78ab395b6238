"""What private names that libraries look up stand for where arrax has no such thing."""

from typing import Any, NamedTuple, NoReturn

import numpy as np

from arrax.core.interpreter import Interpreter, context
from arrax.numpy_api import operands
from arrax.numpy_api.creation import asarray
from arrax.xla.arrays import Array
from arrax.xla.meshes import Mesh, empty_mesh, physical_mesh


class TypedNdArray:
    """Constants of traced programs are plain arrays in arrax: nothing is an instance of this class."""


class TypedInt:
    """Numbers in traced programs are Python's: nothing is an instance of this class."""


class TypedFloat:
    """Like ``TypedInt``."""


class TypedComplex:
    """Like ``TypedInt``."""


class _TraceContext:
    """What a thread traces."""

    @property
    def trace(self) -> Interpreter:
        """The current interpreter."""
        return context.interpreter

    def is_top_level(self) -> bool:
        """Whether operations are evaluated."""
        return context.interpreter.is_evaluation


trace_ctx = _TraceContext()


class JaxprEqnContext:
    """Settings of an operation that is recorded: operations of arrax hold theirs as parameters."""


def make_iota(size: int) -> np.ndarray:
    """The numbers of the elements of a batch."""
    return np.arange(size, dtype=np.int32)


class _Resources(NamedTuple):
    """What ``with mesh:`` gives to a thread."""

    physical_mesh: Mesh


class _ThreadResources:
    """The mesh that is in force in a thread."""

    @property
    def env(self) -> _Resources:
        """The mesh; an empty one where there is none."""
        return _Resources(physical_mesh() or empty_mesh)


thread_resources = _ThreadResources()


poly_einsum_handlers: dict[type, Any] = {}
"""Formulas over symbolic lengths are planned like others: no class of lengths has a function of its own."""


def gmm(*operands: Any, **options: Any) -> NoReturn:
    """Products of groups of rows on a TPU: ``lax.ragged_dot`` makes them everywhere."""
    raise NotImplementedError("megablox.gmm: arrax has no kernels for TPUs; use lax.ragged_dot.")


def promote_dtypes_inexact(*values: Any) -> list[Array]:
    """Operands as arrays of their common floating (or complex) dtype."""
    return [asarray(value) for value in operands.promote_inexact(*values)]


def promote_dtypes_complex(*values: Any) -> list[Array]:
    """Operands as arrays of their common complex dtype."""
    return [asarray(value) for value in operands.promote_complex(*values)]


def supports_inf(dtype: Any) -> bool:
    """Whether a floating dtype has infinities; some of 8 bits have none."""
    return bool(np.isinf(np.asarray(np.inf).astype(np.dtype(dtype)).astype(np.float64)))
