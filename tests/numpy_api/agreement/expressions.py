"""Random expressions of NumPy functions: what an expression is, and where its arrays, axes and options come from."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import arrax.numpy as jnp

NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
INTEGERS = ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
FLOATS = ("float32", "float32", "float64", "float16")
COMPLEX = ("complex64", "complex128")
REAL = ("bool", *INTEGERS, *FLOATS, *FLOATS)
ALL = (*REAL, *COMPLEX)


@dataclass(frozen=True)
class Expression:
    """A call that NumPy and arrax.numpy both understand.

    Attributes:
      text: the call, for the report.
      arrays: its array arguments.
      ours, theirs: functions of the arrays.
      dtype: the expected dtype where it does not follow from NumPy's; a sequence has one for each result.
      traceable: False where the result's shape depends on values.
      fixed: places of the arguments that vmap may not map, whose values obey a rule (sorted, integers in a range).
      looseness: factor of the tolerance.
    """

    text: str
    arrays: tuple[Any, ...]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    dtype: Any = None
    traceable: bool = True
    fixed: tuple[int, ...] = ()
    looseness: float = 1


class Draw:
    """A source of random choices.

    Args:
      seed: any number or text.
      x64: whether 64-bit dtypes take part.
    """

    def __init__(self, seed: Any, x64: bool) -> None:
        self.choices = random.Random(f"{seed}")
        self.numbers = np.random.default_rng(self.choices.randrange(1 << 32))
        self.x64 = x64

    def chance(self, probability: float = 0.5) -> bool:
        return self.choices.random() < probability

    def pick(self, options: Sequence[Any]) -> Any:
        return self.choices.choice(options)

    def integer(self, low: int, high: int) -> int:
        return self.choices.randint(low, high)

    def dtype(self, kinds: Sequence[str] = ALL) -> str:
        name = self.pick(kinds)
        return name if self.x64 else NARROW.get(name, name)

    def shape(self, low: int = 0, high: int = 3, empty: float = 0.08) -> tuple[int, ...]:
        sizes = (1, 2, 3, 4)
        shape = [self.pick(sizes) for _ in range(self.integer(low, high))]
        if shape and self.chance(empty):
            shape[self.integer(0, len(shape) - 1)] = 0
        return tuple(shape)

    def array(self, kinds: Sequence[str] = ALL, shape: Any = None, low: int = -3, high: int = 6) -> np.ndarray:
        """Small multiples of a quarter or small integers: ties, zeros and exact sums are common."""
        shape = self.shape() if shape is None else shape
        dtype = np.dtype(self.dtype(kinds))
        if dtype.kind == "b":
            return self.numbers.random(shape) < 0.5 if shape else np.array(self.chance())
        if dtype.kind in "iu":
            return np.asarray(self.numbers.integers(max(low, 0) if dtype.kind == "u" else low, high, shape), dtype)
        values = self.numbers.integers(low * 4, high * 4, shape) / 4
        if dtype.kind == "c":
            values = values + 1j * (self.numbers.integers(low * 4, high * 4, shape) / 4)
        return np.asarray(values, dtype)

    def special(self, array: np.ndarray) -> np.ndarray:
        """The array with infinities, NaN and signed zeros in places."""
        if array.dtype.kind != "f" or not array.size:
            return array
        array = array.copy()
        for value in (np.nan, np.inf, -np.inf, -0.0):
            if self.chance(0.3):
                array.flat[self.integer(0, array.size - 1)] = value
        return array

    def broadcast(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to the shape."""
        kept = [1 if self.chance(0.3) else size for size in shape]
        return tuple(kept[self.integer(0, len(kept)) :]) if self.chance(0.3) else tuple(kept)

    def axis(self, ndim: int) -> int:
        return self.integer(-ndim, ndim - 1)

    def axes(self, ndim: int) -> Any:
        """None, an axis, or several."""
        if not ndim or self.chance(0.3):
            return None
        if self.chance(0.6):
            return self.axis(ndim)
        chosen = self.choices.sample(range(ndim), self.integer(0, ndim))
        return tuple(axis - ndim if self.chance() else axis for axis in chosen)


def found(module: Any, name: str) -> Any:
    """A function by its dotted name."""
    for part in name.split("."):
        module = getattr(module, part)
    return module


def call(
    name: str, arrays: Sequence[Any], *more: Any, promote: bool = False, theirs: dict[str, Any] | None = None,
    gives: Any = None, **options: Any,
) -> Expression:  # fmt: skip
    """The expression ``name(*arrays, *more, **options)``.

    Args:
      promote: NumPy sees the arrays in the dtype to which ours promote.
      theirs: options of NumPy only.
      gives: the expected dtype.
    """
    operands = tuple(arrays)
    common = jnp.result_type(*operands) if promote else None

    def expected(*values: Any) -> Any:
        values = tuple(np.asarray(value, common) for value in values) if promote else values
        return found(np, name)(*values, *more, **{**options, **(theirs or {})})

    return Expression(
        describe(name, arrays, more, options), operands, lambda *values: found(jnp, name)(*values, *more, **options),
        expected, options.get("dtype") if gives is None else gives,
    )  # fmt: skip


def describe(name: str, arrays: Sequence[Any], more: Sequence[Any] = (), options: dict[str, Any] | None = None) -> str:
    """A call as text."""
    words = [f"{array!r}" for array in (*arrays, *more)]
    words += [f"{key}={value!r}" for key, value in (options or {}).items()]
    return f"{name}({', '.join(words)})".replace("\n", "")


def listed(text: str, function: Callable[..., Any], arrays: Sequence[Any], promote: bool = True) -> Expression:
    """A function of a namespace and a list of arrays, which NumPy sees in our common dtype."""
    operands = tuple(arrays)
    common = jnp.result_type(*operands) if promote else None
    return Expression(
        describe(text, operands), operands, lambda *values: function(jnp, list(values)),
        lambda *values: function(np, [np.asarray(value, common) for value in values]),
    )  # fmt: skip
