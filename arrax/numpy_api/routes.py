"""Which way a call goes: small eager arrays over the host, everything else through compiled functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arrax.core.interpreter import Tracer, context
from arrax.core.types import typeof
from arrax.native import runtime
from arrax.numpy_api import host
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.operands import as_operand, check_arraylike
from arrax.xla.arrays import Array, ArrayLike

ArrayImpl = runtime.ArrayImpl


def eager_operand(name: str, value: Any) -> Array:
    """A checked operand; where operations run at once, NumPy values and numbers become arrays.

    Raises:
      TypeError: a list, tuple or other object that is not an array.
    """
    if type(value) is ArrayImpl or isinstance(value, Tracer):
        return value
    check_arraylike(name, value)
    value = as_operand(value)
    return asarray(value) if context.interpreter.is_evaluation else value


def eager_operands(name: str, values: Sequence[Any]) -> list[Array]:
    """Checked operands, see ``eager_operand``."""
    if not all(type(value) is ArrayImpl or isinstance(value, Tracer) for value in values):
        check_arraylike(name, *values)
    return [eager_operand(name, value) for value in values]


def group_like(arrays: Sequence[Any]) -> Array | None:
    """The array whose placement a result of several small arrays takes; None where the host route is closed."""
    if not all(host.on_host(array) for array in arrays):
        return None
    if len(arrays) > 1 and sum(array.aval.size for array in arrays) > host.MAX_ELEMENTS:
        return None
    return host.common_like(arrays)


def shape_of(a: ArrayLike) -> tuple[int, ...]:
    """The shape of an operand."""
    return typeof(a).shape
