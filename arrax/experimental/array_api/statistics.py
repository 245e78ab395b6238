"""Sums, means and other reductions, as the array API standard has them."""

from __future__ import annotations

from arrax.dtypes import OptionalDType
from arrax.experimental.array_api.standard import standard
from arrax.numpy_api import accumulations, averages, differences, reductions
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


@standard(reductions.all)
def all(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Whether all elements along axes are true."""


@standard(reductions.any)
def any(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Whether an element along axes is true."""


@standard(reductions.max, "real numeric")
def max(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """The greatest elements along axes."""


@standard(reductions.min, "real numeric")
def min(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """The least elements along axes."""


@standard(reductions.sum, "numeric")
def sum(x: ArrayLike, /, *, axis: Axes | None = None, dtype: OptionalDType = None, keepdims: bool = False) -> Array:
    """Sums along axes."""


@standard(reductions.prod, "numeric")
def prod(x: ArrayLike, /, *, axis: Axes | None = None, dtype: OptionalDType = None, keepdims: bool = False) -> Array:
    """Products along axes."""


@standard(averages.mean, "floating-point")
def mean(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Means along axes."""


@standard(averages.std, "real floating-point")
def std(x: ArrayLike, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Standard deviations along axes."""


@standard(averages.var, "real floating-point")
def var(x: ArrayLike, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Variances along axes."""


@standard(accumulations.cumulative_sum, "numeric")
def cumulative_sum(
    x: ArrayLike, /, *, axis: int | None = None, dtype: OptionalDType = None, include_initial: bool = False
) -> Array:
    """Sums of the elements up to each one, along an axis."""


@standard(accumulations.cumulative_prod, "numeric")
def cumulative_prod(
    x: ArrayLike, /, *, axis: int | None = None, dtype: OptionalDType = None, include_initial: bool = False
) -> Array:
    """Products of the elements up to each one, along an axis."""


@standard(differences.diff, "numeric")
def diff(
    x: ArrayLike, /, *, axis: int = -1, n: int = 1, prepend: OptionalArray = None, append: OptionalArray = None
) -> Array:
    """Differences of neighbours along an axis."""
