"""How elementwise functions are made: from an operation, and what is done with the operands before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from arrax import dtypes
from arrax.core.functions import name_function
from arrax.core.types import typeof
from arrax.lax import arithmetic
from arrax.numpy_api.api import make_api
from arrax.numpy_api.operands import as_operand, broadcast_operands, check_arraylike, refuse_options
from arrax.xla.arrays import Array, ArrayLike

Promotion = Callable[..., list[Any]]


class Unary(Protocol):
    """A public function of one array."""

    __name__: str
    __wrapped__: Callable[..., Any]

    def __call__(self, x: ArrayLike, /) -> Array: ...


class Binary(Protocol):
    """A public function of two arrays, some of which have the methods of NumPy's ufuncs."""

    __name__: str
    __wrapped__: Callable[..., Any]
    nin: int
    nout: int
    nargs: int
    identity: int | None
    reduce: Callable[..., Array]
    accumulate: Callable[..., Array]
    outer: Callable[..., Array]
    at: Callable[..., Array]
    reduceat: Callable[..., Array]

    def __call__(self, x1: ArrayLike, x2: ArrayLike, /) -> Array: ...


def _document(function: Any, name: str, doc: str, operands: str, sample: str) -> Any:
    name_function(function, name)
    function.__module__ = "arrax.numpy"
    function.__doc__ = (
        f"{doc[0].upper()}{doc[1:]}, elementwise.\n\n"
        f"Args:\n  {operands}: arrays or numbers, broadcast against each other.\n"
        f"Returns: array of the common shape, of the promoted dtype.\n"
        f"Raises:\n  TypeError: a list, tuple or other object that is no array.\n"
        f"Example: ``jnp.{name}({', '.join(sample for _ in operands.split(','))})``. Source: ``numpy.{name}``."
    )
    return function


def unary(
    name: str, operation: Callable[[Any], Any], promote: Promotion, doc: str, by_name: bool = False,
    universal: bool = False, sample: str = "1.5",
) -> Unary:  # fmt: skip
    """A function of one array, which may be passed by name where ``by_name`` is set.

    Args:
      universal: it takes ``out`` and ``where``, though only as None.
      sample: an operand that it accepts, for the example.
    """

    def body(x: ArrayLike, /) -> Array:
        check_arraylike(name, x)
        return operation(*promote(x))

    def named(x: ArrayLike) -> Array:
        return body(x)

    def with_options(x: ArrayLike, /, *, out: None = None, where: None = None) -> Array:
        refuse_options(name, out, where)
        return body(x)

    return make_api(_document(with_options if universal else named if by_name else body, name, doc, "x", sample))


def binary(
    name: str, operation: Callable[[Any, Any], Any], promote: Promotion, doc: str, by_name: bool = False,
    universal: bool = False, sample: str = "1.5",
) -> Binary:  # fmt: skip
    """A function of two arrays; the options as in ``unary``."""

    def body(x1: ArrayLike, x2: ArrayLike, /) -> Array:
        check_arraylike(name, x1, x2)
        return operation(*broadcast_operands(name, *promote(x1, x2)))

    def named(x1: ArrayLike, x2: ArrayLike) -> Array:
        return body(x1, x2)

    def with_options(x1: ArrayLike, x2: ArrayLike, /, *, out: None = None, where: None = None) -> Array:
        refuse_options(name, out, where)
        return body(x1, x2)

    return make_api(_document(with_options if universal else named if by_name else body, name, doc, "x1, x2", sample))


def kept(*values: ArrayLike) -> list[Any]:
    """The promotion that changes nothing."""
    return [as_operand(value) for value in values]


def is_complex(x: ArrayLike) -> bool:
    """Whether a value has a complex dtype."""
    return dtypes.is_complex(typeof(x).dtype)


def is_float(x: ArrayLike) -> bool:
    """Whether a value has a real floating dtype."""
    return dtypes.is_float(typeof(x).dtype)


def is_bool(x: ArrayLike) -> bool:
    """Whether a value has the dtype bool."""
    return typeof(x).dtype == np.bool_


def constant(value: Any, like: Any) -> ArrayLike:
    """A scalar constant of the dtype of ``like``, weak where that is."""
    return arithmetic.scalar(value, like)
