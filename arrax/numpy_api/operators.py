"""Operators of arrays: compiled functions attached to the array class itself, so that ``x + y`` is one C++ dispatch.

An operand of a foreign type gives NotImplemented, and Python asks the other operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arrax import dtypes
from arrax.core.functions import name_function
from arrax.lax import arithmetic
from arrax.lax.conversion import convert
from arrax.lax.operand_checks import kind_of
from arrax.numpy_api import elementwise, logic, powers, products
from arrax.numpy_api.api import DeferringFunction, make_api, operand
from arrax.xla.arrays import Array, ArrayLike


class EqualityFunction(DeferringFunction):
    """``==`` and ``!=``: Python would answer by identity where both operands decline, silently wrong for containers."""

    __slots__ = ()

    def run_first(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if isinstance(args[-1], list | tuple | dict | set):
            symbol = {"__eq__": "==", "__ne__": "!="}[self.name]
            kinds = " and ".join(f"'{type(arg).__name__}'" for arg in args)
            raise TypeError(f"unsupported operand type(s) for {symbol}: {kinds}")
        return super().run_first(*args, **kwargs)


class ProductFunction(DeferringFunction):
    """``*``: Python would repeat lists and tuples where an array declines, which is a product for NumPy."""

    __slots__ = ()

    def run_first(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        other = args[-1]
        if isinstance(other, list | tuple) and type(other).__mul__ in (list.__mul__, tuple.__mul__):
            kinds = " and ".join(f"'{type(arg).__name__}'" for arg in args)
            raise TypeError(f"unsupported operand type(s) for *: {kinds}")
        return super().run_first(*args, **kwargs)


def _compiled(
    function: Any, name: str, swapped: bool = False, kind: type[DeferringFunction] = DeferringFunction
) -> Any:
    """The function of an operator; ``swapped`` for the reflected one."""
    body = function.__wrapped__

    if swapped:

        def operator(self: Any, other: Any) -> Any:
            return body(other, self)

    else:

        def operator(self: Any, other: Any) -> Any:
            return body(self, other)

    name_function(operator, name)
    operator.__module__ = "arrax.numpy"
    operator.__doc__ = f"``{function.__name__}`` as an operator."
    return make_api(operator, kind=kind)


_square = make_api(lambda x: arithmetic.integer_pow(x, 2))


def _power(self: Array, other: ArrayLike) -> Array:
    """``power`` as an operator; small integer exponents multiply repeatedly."""
    if type(other) is int:
        if other == 2 and kind_of(self.dtype) != "bool":
            return _square(self)
        return powers.power(self, other)
    other = operand(other)
    return NotImplemented if other is NotImplemented else powers.power(self, other)


def _reflected_power(self: Array, other: ArrayLike) -> Array:
    """``power`` as a reflected operator."""
    other = operand(other)
    return NotImplemented if other is NotImplemented else powers.power(other, self)


def _divmod(self: Array, other: ArrayLike) -> tuple[Array, Array]:
    """``divmod`` as an operator."""
    other = operand(other)
    return NotImplemented if other is NotImplemented else elementwise.divmod(self, other)


def _reflected_divmod(self: Any, other: Any) -> Any:
    """``divmod`` as a reflected operator."""
    other = operand(other)
    return NotImplemented if other is NotImplemented else elementwise.divmod(other, self)


def _matmul(self: Array, other: Any) -> Array:
    """``matmul`` as an operator."""
    other = operand(other)
    return NotImplemented if other is NotImplemented else products.matmul(self, other)


def _reflected_matmul(self: Array, other: ArrayLike) -> Array:
    """``matmul`` as a reflected operator."""
    other = operand(other)
    return NotImplemented if other is NotImplemented else products.matmul(other, self)


def _round(self: Array, ndigits: int | None = None) -> Array:
    """``round`` of Python's built-in: integers where no ``ndigits`` are given."""
    if ndigits is not None:
        return elementwise.round(self, ndigits)
    return convert(elementwise.round(self, 0), dtypes.canonicalize_dtype(int), False)


# fmt: off
BINARY: dict[str, Any] = {
    "add": elementwise.add, "sub": elementwise.subtract, "truediv": elementwise.divide,
    "floordiv": elementwise.floor_divide, "mod": elementwise.remainder, "and": logic.bitwise_and, "or": logic.bitwise_or,
    "xor": logic.bitwise_xor, "lshift": logic.left_shift, "rshift": logic.right_shift,
}
EQUALITIES: dict[str, Any] = {"eq": logic.equal, "ne": logic.not_equal}
COMPARISONS: dict[str, Any] = {
    "lt": logic.less, "le": logic.less_equal, "gt": logic.greater,
    "ge": logic.greater_equal,
}
# fmt: on

OPERATORS: dict[str, Callable[..., Any]] = {
    **{f"__{name}__": _compiled(function, f"__{name}__") for name, function in (BINARY | COMPARISONS).items()},
    **{f"__{name}__": _compiled(f, f"__{name}__", kind=EqualityFunction) for name, f in EQUALITIES.items()},
    **{f"__r{name}__": _compiled(function, f"__r{name}__", swapped=True) for name, function in BINARY.items()},
    "__mul__": _compiled(elementwise.multiply, "__mul__", kind=ProductFunction),
    "__rmul__": _compiled(elementwise.multiply, "__rmul__", swapped=True, kind=ProductFunction),
    "__neg__": elementwise.negative,
    "__pos__": elementwise.positive,
    "__abs__": elementwise.absolute,
    "__invert__": logic.invert,
    "__pow__": _power, "__rpow__": _reflected_power, "__divmod__": _divmod, "__rdivmod__": _reflected_divmod,
    "__matmul__": _matmul, "__rmatmul__": _reflected_matmul, "__round__": _round,
}  # fmt: skip
