"""Sums, means and other reductions, as the array API standard has them."""

from __future__ import annotations

from arrax.dtypes import OptionalDType
from arrax.experimental.array_api.standard import standard
from arrax.numpy_api import accumulations, averages, differences, reductions
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


@standard(reductions.all)
def all(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Whether all elements along axes are true.

    Example: ``xp.all(xp.asarray([True, False]))`` is False.
    """


@standard(reductions.any)
def any(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Whether an element along axes is true.

    Example: ``xp.any(xp.asarray([True, False]))`` is True.
    """


@standard(reductions.max, "real numeric")
def max(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """The greatest elements along axes.

    Example: ``xp.max(xp.asarray([1, 5, 3]))`` is 5.
    """


@standard(reductions.min, "real numeric")
def min(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """The least elements along axes.

    Example: ``xp.min(xp.asarray([1, 5, 3]))`` is 1.
    """


@standard(reductions.sum, "numeric")
def sum(x: ArrayLike, /, *, axis: Axes | None = None, dtype: OptionalDType = None, keepdims: bool = False) -> Array:
    """Sums along axes.

    Example: ``xp.sum(xp.ones((2, 3)), axis=1)`` is ``[3.0, 3.0]``.
    """


@standard(reductions.prod, "numeric")
def prod(x: ArrayLike, /, *, axis: Axes | None = None, dtype: OptionalDType = None, keepdims: bool = False) -> Array:
    """Products along axes.

    Example: ``xp.prod(xp.asarray([1, 5, 3]))`` is 15.
    """


@standard(averages.mean, "floating-point")
def mean(x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Means along axes.

    Example: ``xp.mean(xp.asarray([1.0, 2.0, 6.0]))`` is 3.0.
    """


@standard(averages.std, "real floating-point")
def std(x: ArrayLike, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Standard deviations along axes.

    Example: ``xp.std(xp.asarray([1.0, 3.0]), correction=1)`` is 1.41421.
    """


@standard(averages.var, "real floating-point")
def var(x: ArrayLike, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Variances along axes.

    Example: ``xp.var(xp.asarray([1.0, 3.0]))`` is 1.0.
    """


@standard(accumulations.cumulative_sum, "numeric")
def cumulative_sum(
    x: ArrayLike, /, *, axis: int | None = None, dtype: OptionalDType = None, include_initial: bool = False
) -> Array:
    """Sums of the elements up to each one, along an axis.

    Example: ``xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)`` is ``[0, 1, 3, 6]``.
    """


@standard(accumulations.cumulative_prod, "numeric")
def cumulative_prod(
    x: ArrayLike, /, *, axis: int | None = None, dtype: OptionalDType = None, include_initial: bool = False
) -> Array:
    """Products of the elements up to each one, along an axis.

    Example: ``xp.cumulative_prod(xp.asarray([1, 2, 3]))`` is ``[1, 2, 6]``.
    """


@standard(differences.diff, "numeric")
def diff(
    x: ArrayLike, /, *, axis: int = -1, n: int = 1, prepend: OptionalArray = None, append: OptionalArray = None
) -> Array:
    """Differences of neighbours along an axis.

    Example: ``xp.diff(xp.asarray([1, 4, 9]))`` is ``[3, 5]``.
    """
