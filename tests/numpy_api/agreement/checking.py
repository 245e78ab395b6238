"""Draws expressions of a family and reports those whose results differ from NumPy's: eagerly, compiled, under vmap."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import arrax
import arrax.numpy as jnp
from arrax.xla.compilation import QUICK_SETTINGS
from tests.numpy_api.agreement import calculations, mathematics, movements
from tests.numpy_api.agreement.expressions import NARROW, Draw, Expression

FAMILIES = {**calculations.FAMILIES, **mathematics.FAMILIES, **movements.FAMILIES}
TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "complex64": 2e-6, "float64": 1e-13, "complex128": 1e-13}


def leaves(result: Any) -> list[np.ndarray]:
    if isinstance(result, list | tuple):
        return [leaf for item in result for leaf in leaves(item)]
    return [np.asarray(result)]


def numpys(expression: Expression, arrays: tuple[Any, ...]) -> list[np.ndarray] | None:
    """What NumPy gives; None where it refuses."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return leaves(expression.theirs(*(a.copy() if isinstance(a, np.ndarray) else a for a in arrays)))
        except (ValueError, TypeError, IndexError, OverflowError):
            return None


def expected_dtype(expression: Expression, theirs: np.dtype, place: int, x64: bool) -> str:
    """NumPy's dtype in our width; fractions of integers are as wide as their common dtype, at least 32 bits."""
    if expression.dtype is not None:
        named = expression.dtype
        return np.dtype(named[place] if isinstance(named, tuple) else named).name
    own = [np.asarray(array).dtype for array in expression.arrays]
    name = theirs.name
    if own and theirs.kind in "fc" and all(dtype.kind in "biu" for dtype in own):
        wide = jnp.result_type(*expression.arrays).itemsize == 8
        name = {"f": ("float32", "float64"), "c": ("complex64", "complex128")}[theirs.kind][wide]
    return name if x64 else NARROW.get(name, name)


def difference(expression: Expression, ours: Any, theirs: list[np.ndarray], x64: bool) -> str | None:
    """How a result differs from the expected one."""
    results = leaves(ours)
    if len(results) != len(theirs):
        return f"{len(results)} results, not {len(theirs)}"
    for place, (result, wanted) in enumerate(zip(results, theirs, strict=True)):
        dtype = expected_dtype(expression, wanted.dtype, place, x64)
        if result.shape != wanted.shape:
            return f"shape {result.shape}, not {wanted.shape}"
        if result.dtype.name != dtype:
            return f"dtype {result.dtype.name}, not {dtype}"
        tolerance = max(TOLERANCE.get(dtype, 0), TOLERANCE.get(wanted.dtype.name, 0))
        if not agree(result, wanted, tolerance * expression.looseness):
            return f"{result!r}, not {wanted!r}"
    return None


def agree(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> bool:
    if not tolerance:
        return np.array_equal(ours, theirs.astype(ours.dtype))
    if ours.dtype.kind == "c":
        return agree(ours.real, theirs.real, tolerance) and agree(ours.imag, theirs.imag, tolerance)
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    size = max(1.0, float(np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0)))
    return np.allclose(ours, theirs, rtol=tolerance, atol=tolerance * size, equal_nan=True)


class Batch:
    """Two examples of an expression, for vmap: some arguments stacked, along the first axis or the last."""

    def __init__(self, draw: Draw, expression: Expression) -> None:
        arrays = expression.arrays
        free = [n for n, a in enumerate(arrays) if isinstance(a, np.ndarray) and n not in expression.fixed]
        mapped = [n for n in free if draw.chance(0.7)] or free[:1]
        others = [
            draw.numbers.permutation(a.ravel()).reshape(a.shape) if n in mapped else a for n, a in enumerate(arrays)
        ]
        self.axes = tuple(draw.pick([0, -1]) if n in mapped else None for n in range(len(arrays)))
        self.arrays = tuple(
            a if axis is None else np.stack([a, b], axis) for a, b, axis in zip(arrays, others, self.axes, strict=True)
        )
        examples = [numpys(expression, tuple(arrays)), numpys(expression, tuple(others))] if mapped else [None]
        fits = mapped and all(example is not None for example in examples)
        pairs = list(zip(*examples, strict=True)) if fits else []
        fits = fits and all(
            first.shape == second.shape for first, second in pairs
        )  # some of NumPy's shapes depend on values
        self.expected = [np.stack(pair) for pair in pairs] if fits else None


def attempt(call: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    """A result, or the error as text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(*arrays)
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0]


def compiled(programs: list[tuple[Callable[..., Any], tuple[Any, ...]]], quickly: bool) -> list[Any]:
    """The results of all the calls, from one program."""
    errors: dict[int, str] = {}

    def run(inputs: list[Any]) -> list[Any]:
        results = []
        for place, ((call, _), arrays) in enumerate(zip(programs, inputs, strict=True)):
            result = attempt(call, arrays)
            if isinstance(result, str):
                errors[place], result = result, ()
            results.append(result)
        return results

    options = QUICK_SETTINGS if quickly else None
    results = arrax.jit(run, compiler_options=options)([arrays for _, arrays in programs])
    return [errors.get(place, result) for place, result in enumerate(results)]


def disagreements(
    family: str, x64: bool, seed: int, count: int = 50, eager: int = 16, quickly: bool = False
) -> Iterator[str]:
    """Reports of the expressions of a family that differ from NumPy's.

    Args:
      family: name of a family.
      x64: whether 64-bit dtypes take part.
      seed: names the expressions drawn.
      count: how many.
      eager: how many of them run eagerly too; each of those is compiled alone, the others as parts of one program.
      quickly: compile with little optimization.
    """
    draw = Draw(f"{family} {x64} {seed}", x64)
    drawn = [FAMILIES[family](draw) for _ in range(count)]
    expected = [(expression, numpys(expression, expression.arrays)) for expression in drawn]
    cases = [(expression, result) for expression, result in expected if result is not None]
    assert len(cases) > count // 2, "NumPy refuses most of the expressions"
    checks = [("eager", e, e.ours, e.arrays, r) for n, (e, r) in enumerate(cases) if n < eager or not e.traceable]
    staged = []
    for e, result in cases:
        if e.traceable:
            staged.append(("jit", e, e.ours, e.arrays, result))
            batch = Batch(draw, e)
            if batch.expected is not None:
                staged.append(("vmap", e, arrax.vmap(e.ours, batch.axes), batch.arrays, batch.expected))
    results = [attempt(call, arrays) for _, _, call, arrays, _ in checks]
    results += compiled([(call, arrays) for _, _, call, arrays, _ in staged], quickly) if staged else []
    for (mode, e, _, arrays, wanted), result in zip(checks + staged, results, strict=True):
        fault = result if isinstance(result, str) else difference(e, result, wanted, x64)
        if fault is not None:
            yield f"{mode}, seed {seed}: {e.text}\n    gives {fault}" + (f"\n    {arrays}" if mode == "vmap" else "")
