"""What this namespace refuses though ``arrax.numpy`` takes it: other signatures, other dtypes, mixed kinds, no arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.functions import name_function
from arrax.core.types import typeof
from arrax.dtypes import DTypeLike, OptionalDType
from arrax.numpy_api.elementwise_makers import Binary, Unary
from arrax.xla.arrays import Array, ArrayLike

# fmt: off
BOOLEAN  = frozenset({np.dtype(np.bool_)})
SIGNED   = frozenset(np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
UNSIGNED = frozenset(np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
INTEGER  = SIGNED | UNSIGNED
REAL     = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
COMPLEX  = frozenset({np.dtype(np.complex64), np.dtype(np.complex128)})
FLOATING = REAL | COMPLEX

CATEGORIES: dict[str, frozenset] = {
    "all":                      BOOLEAN | INTEGER | FLOATING,
    "boolean":                  BOOLEAN,
    "integer":                  INTEGER,
    "integer or boolean":       INTEGER | BOOLEAN,
    "real numeric":             INTEGER | REAL,
    "numeric":                  INTEGER | FLOATING,
    "real floating-point":      REAL,
    "floating-point":           FLOATING,
    "complex floating-point":   COMPLEX,
}
_SCALARS: dict[type, frozenset] = {  # the arrays that a Python number may stand beside
    bool: BOOLEAN, int: INTEGER | FLOATING, float: FLOATING, complex: FLOATING,
}
# fmt: on
_MIXED = (BOOLEAN, INTEGER, FLOATING)  # within a family, dtypes promote; across, they don't


def standard(function: Callable[..., Any], accepts: str = "all", arrays: int = 1) -> Callable[[Any], Any]:
    """Decorator: serve a signature of the standard by a function of ``arrax.numpy``.

    Args:
      function: what does the work; it is given the arguments as they came.
      accepts: category of the arrays.
      arrays: how many of the first arguments are arrays.
    Returns: decorator of a function whose docstring is a sentence and an example.
    """

    def decorate(signature: Any) -> Callable[..., Any]:
        name = signature.__name__

        @functools.wraps(signature)
        def call(*args: Any, **kwargs: Any) -> Array:
            signature(*args, **kwargs)  # Python refuses what the signature does not have
            check_arrays(name, accepts, *args[:arrays])
            check_dtype(name, kwargs.get("dtype"))
            return function(*args, **kwargs)

        return described(accepts if arrays else None)(call)

    return decorate


def described(accepts: str | None) -> Callable[[Any], Any]:
    """Decorator: complete a docstring that is a sentence and an example.

    Args:
      accepts: category of the arrays; None for functions without any.
    """

    def decorate(function: Any) -> Callable[..., Any]:
        name, module = function.__name__, function.__module__.rpartition(".")[2]
        shown_name = f"{module}.{name}" if module in ("fft", "linalg") else name
        head, _, example = (function.__doc__ or "").partition("Example:")  # None under python -OO
        function.__doc__ = _docstring(head, shown_name, accepts, example)
        return function

    return decorate


def check_arrays(name: str, accepts: str, *values: ArrayLike) -> None:
    """Refuse what is not an array, and dtypes outside a category.

    Raises:
      TypeError: naming the function and what came.
    """
    for value in values:
        if not isinstance(value, Array):
            raise TypeError(f"{name}: the array API standard asks for arrays, got {type(value).__name__}.")
        if typeof(value).dtype not in CATEGORIES[accepts]:
            raise TypeError(f"{name}: only {accepts} dtypes are allowed, got {typeof(value).dtype}.")


def check_dtype(name: str, dtype: OptionalDType) -> None:
    """Refuse requests of dtypes that the standard does not have."""
    if dtype is not None and dtypes.to_dtype(dtype) not in CATEGORIES["all"]:
        raise TypeError(f"{name}: the array API standard has no dtype {dtype}.")


def check_operands(name: str, accepts: str, x1: ArrayLike, x2: Any) -> None:
    """Refuse two operands whose types don't go together: Python's numbers stand beside arrays of their kind or above.

    Raises:
      TypeError: naming the function and what came.
    """
    arrays = [x for x in (x1, x2) if isinstance(x, Array)]
    if not arrays:
        raise TypeError(
            f"{name}: at least one operand must be an array, got {type(x1).__name__} and {type(x2).__name__}."
        )
    check_arrays(name, accepts, *arrays)
    if len(arrays) == 2:
        promoted(name, typeof(x1).dtype, typeof(x2).dtype)
        return
    (array,), scalar = arrays, x2 if arrays[0] is x1 else x1
    if typeof(array).dtype not in _SCALARS.get(type(scalar), frozenset()):
        raise TypeError(f"{name}: {scalar!r} cannot stand beside an array of dtype {typeof(array).dtype}.")


def promoted(name: str, *types: Any) -> np.dtype:
    """The dtype of an operation on several ones, where the standard has one.

    Raises:
      TypeError: dtypes of different kinds, and uint64 with signed integers.
    """
    first = types[0]
    family = next((family for family in _MIXED if first in family), frozenset())
    result = np.result_type(*types)
    if not family.issuperset(types) or result not in family:
        listed = ", ".join(str(one) for one in types)
        raise TypeError(f"{name}: the array API standard does not promote {listed} to a common dtype.")
    return result


def unary(function: Callable[..., Array], accepts: str, name: str, operand: str, result: str) -> Unary:
    """An elementwise function of one array, with an example of the elements that it takes and gives."""

    def body(x: Array, /) -> Array:
        check_arrays(name, accepts, x)
        return function(x)

    return _named(body, name, function, accepts, f"``xp.{name}(xp.asarray({operand}))`` is ``{result}``.")


def binary(function: Callable[..., Array], accepts: str, name: str, operands: str, result: str) -> Binary:
    """An elementwise function of two arrays, or of an array and a number, with an example of these."""

    def body(x1: ArrayLike, x2: ArrayLike, /) -> Array:
        check_operands(name, accepts, x1, x2)
        return function(x1, x2)

    array, _, number = operands.rpartition(", ")
    return _named(body, name, function, accepts, f"``xp.{name}(xp.asarray({array}), {number})`` is ``{result}``.")


def _named(body: Callable[..., Any], name: str, function: Callable[..., Any], accepts: str, example: str) -> Any:
    name_function(body, name)
    body.__module__ = "arrax.experimental.array_api"
    body.__doc__ = _docstring(str(function.__doc__).partition("\n")[0], name, accepts, example)
    return body


def _docstring(head: str, place: str, accepts: str | None, example: str) -> str:
    """A docstring; ``place`` is the function of ``arrax.numpy`` that tells of the parameters."""
    taken = f"of arrays of {accepts} dtypes" if accepts else "with the standard's dtypes"
    refused = "no array, or one of another dtype; " if accepts else ""
    return "\n".join(
        (
            f"{head.strip()}\n\nIt is ``arrax.numpy.{place}``, whose page tells more of the parameters, {taken} only.",
            f"Raises:\n  TypeError: {refused}parameters or dtypes that the standard does not have.",
            f"Example: {' '.join(example.split())} Source: array API standard, ``{place.rpartition('.')[2]}``.",
        )
    )


def operand_dtype(value: Any) -> Any:
    """The dtype of an array or a dtype; a Python number's class.

    Raises:
      TypeError: something else.
    """
    if isinstance(value, Array):
        return typeof(value).dtype
    if type(value) in _SCALARS:
        return type(value)
    return dtypes.to_dtype(value)


def result_type(*arrays_and_dtypes: ArrayLike) -> np.dtype:
    """The dtype that arrays, dtypes and Python numbers promote to, where the standard says so.

    Raises:
      TypeError: no common dtype, or numbers only.
    Example: ``xp.result_type(xp.int8, xp.uint8)`` is int16. Source: array API standard, ``result_type``.
    """
    kinds = [operand_dtype(value) for value in arrays_and_dtypes]
    concrete = [kind for kind in kinds if not isinstance(kind, type)]
    if not concrete:
        raise TypeError("result_type: at least one array or dtype is required.")
    common = promoted("result_type", *concrete)
    for kind in kinds:
        if isinstance(kind, type) and common not in _SCALARS[kind]:
            raise TypeError(f"result_type: {kind.__name__} cannot stand beside dtype {common}.")
    return np.result_type(common, 0j) if complex in kinds else common


def can_cast(from_: DTypeLike, to: DTypeLike, /) -> bool:
    """Whether a dtype (or that of an array) promotes to another by the rules of the standard.

    Example: ``xp.can_cast(xp.int8, xp.int16)`` is True. Source: array API standard, ``can_cast``.
    """
    source, target = operand_dtype(from_), dtypes.to_dtype(to)
    try:
        return promoted("can_cast", source, target) == target
    except TypeError:
        return False
