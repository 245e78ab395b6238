"""Sums, means and other reductions, as the array API standard has them."""

from __future__ import annotations

from typing import Any

from arrax.experimental.array_api.standard import standard
from arrax.numpy_api import accumulations, averages, differences, reductions


@standard(reductions.all)
def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements along axes are true."""


@standard(reductions.any)
def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether an element along axes is true."""


@standard(reductions.max, "real numeric")
def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest elements along axes."""


@standard(reductions.min, "real numeric")
def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The least elements along axes."""


@standard(reductions.sum, "numeric")
def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Sums along axes."""


@standard(reductions.prod, "numeric")
def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Products along axes."""


@standard(averages.mean, "floating-point")
def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Means along axes."""


@standard(averages.std, "real floating-point")
def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Standard deviations along axes."""


@standard(averages.var, "real floating-point")
def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Variances along axes."""


@standard(accumulations.cumulative_sum, "numeric")
def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Sums of the elements up to each one, along an axis."""


@standard(accumulations.cumulative_prod, "numeric")
def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Products of the elements up to each one, along an axis."""


@standard(differences.diff, "numeric")
def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis."""
