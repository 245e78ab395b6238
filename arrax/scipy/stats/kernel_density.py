"""Densities that are estimated by a normal distribution around each data point."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import lax, random
from arrax import numpy as jnp
from arrax.core.pytree_nodes import register_pytree_node_class
from arrax.core.tracebacks import bound_methods
from arrax.numpy_api.operands import check_arraylike, own_promotion, promote_inexact
from arrax.scipy.special.error_functions import ndtr
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


@bound_methods
@register_pytree_node_class
class gaussian_kde:  # noqa: N801  (the documented name)
    """A density of d variables: the mean of normal distributions around data points.

    Args:
      dataset: array of shape ``(d, n)``, or a vector of n numbers.
      bw_method: the width beside that of the data: ``"scott"`` (the default), ``"silverman"``, a number, or a function of the
        estimate.
      weights: vector of n weights, by default equal.
    Attributes: ``d``, ``n``, ``neff`` (the effective number of points), ``dataset``, ``weights``, ``covariance``, ``inv_cov``.
    Raises:
      ValueError: shapes that don't fit; fewer than two numbers; an unknown method.
    Example: ``stats.gaussian_kde(jnp.array([1., 2., 4.]))(jnp.array([2.]))``. Source: ``scipy.stats.gaussian_kde``.
    """

    @own_promotion
    def __init__(
        self, dataset: Any, bw_method: None | str | Any | Callable[[Any], Any] = None, weights: OptionalArray = None
    ) -> None:
        check_arraylike("gaussian_kde", dataset)
        (dataset,) = promote_inexact(jnp.atleast_2d(jnp.asarray(dataset)))
        if jnp.issubdtype(dataset.dtype, jnp.complexfloating):
            raise NotImplementedError("gaussian_kde: complex data are not supported")
        if dataset.size < 2:
            raise ValueError(f"gaussian_kde: dataset must have at least two elements, got {dataset.size}")
        self.dataset = dataset
        self.weights = self._checked_weights(weights, dataset)
        self.neff = 1 / jnp.sum(self.weights**2)
        self._set_width(bw_method)

    @staticmethod
    def _checked_weights(weights: Any, dataset: Any) -> Any:
        count = dataset.shape[1]
        if weights is None:
            return jnp.full(count, 1 / count, dataset.dtype)
        check_arraylike("gaussian_kde", weights)
        weights = jnp.atleast_1d(jnp.asarray(weights, dataset.dtype))
        if weights.ndim != 1 or weights.shape[0] != count:
            raise ValueError(
                f"gaussian_kde: weights must be a vector of {count} numbers, got the shape {weights.shape}"
            )
        return weights / jnp.sum(weights)

    def _set_width(self, bw_method: Any) -> None:
        factor = self._width(bw_method)
        data_covariance = jnp.atleast_2d(jnp.cov(self.dataset, rowvar=True, bias=False, aweights=self.weights))
        data_inverse = jnp.linalg.inv(data_covariance)
        self.covariance = data_covariance * factor**2
        self.inv_cov = data_inverse / factor**2

    def _width(self, bw_method: Any) -> Array:
        if bw_method is None or isinstance(bw_method, str) and bw_method == "scott":
            return jnp.power(self.neff, -1 / (self.d + 4))
        if isinstance(bw_method, str):
            if bw_method != "silverman":
                raise ValueError(f"gaussian_kde: bw_method must be 'scott' or 'silverman', got {bw_method!r}")
            return jnp.power(self.neff * (self.d + 2) / 4, -1 / (self.d + 4))
        if callable(bw_method):
            return bw_method(self)
        if jnp.ndim(bw_method) == 0:
            return jnp.asarray(bw_method, self.dataset.dtype)
        raise ValueError(f"gaussian_kde: bw_method must be a name, a number or a function, got {bw_method!r}")

    @property
    def d(self) -> int:
        """The number of variables."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of data points."""
        return self.dataset.shape[1]

    def tree_flatten(self) -> tuple[tuple, None]:
        """The arrays of the estimate."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Sequence[Array]) -> gaussian_kde:
        """An estimate of these arrays."""
        estimate = object.__new__(cls)
        estimate.neff, estimate.dataset, estimate.weights, estimate.covariance, estimate.inv_cov = children
        return estimate

    # ---- densities ------------------------------------------------------------------------------------------------------

    def _checked_points(self, name: str, points: ArrayLike) -> Array:
        check_arraylike(name, points)
        points = jnp.atleast_2d(jnp.asarray(points, self.dataset.dtype))
        if points.shape[0] == self.d:
            return points
        if points.shape == (1, self.d):
            return points.T  # one point as a row
        raise ValueError(f"{name}: points must have {self.d} rows, got the shape {points.shape}")

    def _log_density(self, points: Array) -> Array:
        factor = lax.linalg.cholesky(self.inv_cov)
        data, indices = factor.T @ self.dataset, factor.T @ points
        norm = jnp.sum(jnp.log(jnp.diagonal(factor))) - 0.5 * self.d * math.log(2 * math.pi)
        squares = jnp.sum(jnp.square(indices[:, :, None] - data[:, None, :]), 0)
        terms = jnp.log(self.weights) - 0.5 * squares
        high = lax.stop_gradient(jnp.max(terms, 1, keepdims=True))
        high = jnp.where(jnp.isfinite(high), high, 0)
        return jnp.log(jnp.sum(jnp.exp(terms - high), 1)) + high[:, 0] + norm

    @own_promotion
    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points.

        Args:
          points: array of shape ``(d, m)``, or a vector of m numbers, or one point.
        Returns: vector of m numbers.
        Example: ``stats.gaussian_kde(jnp.arange(4.)).evaluate(jnp.ones(1)).shape`` is ``(1,)``.
        """
        return jnp.exp(self.logpdf(points))

    def pdf(self, x: ArrayLike) -> Array:
        """The density, as ``evaluate`` gives it."""
        return self.evaluate(x)

    def __call__(self, points: ArrayLike) -> Array:
        return self.evaluate(points)

    @own_promotion
    def logpdf(self, x: ArrayLike) -> Array:
        """The logarithm of the density. Args: as of ``evaluate``."""
        return self._log_density(self._checked_points("gaussian_kde.logpdf", x))

    # ---- integrals ------------------------------------------------------------------------------------------------------

    def _overlap(self, centers: Any, covariance: Array, weights: Array) -> Array:
        """The integral of the density times a weighted sum of normal densities around centers."""
        total = self.covariance + covariance
        factor = lax.linalg.cholesky(total)
        apart = self.dataset[:, :, None] - centers[:, None, :]
        flat = apart.reshape(self.d, -1)
        scaled = lax.linalg.triangular_solve(factor, flat, left_side=True, lower=True)
        norm = jnp.sum(jnp.log(jnp.diagonal(factor))) + 0.5 * self.d * math.log(2 * math.pi)
        densities = jnp.exp(-0.5 * jnp.sum(scaled * scaled, 0) - norm).reshape(self.n, -1)
        return self.weights @ densities @ weights

    @own_promotion
    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the density times a normal one.

        Args:
          mean: vector of d numbers, or a number for one variable.
          cov: array of shape ``(d, d)``, or a number for one variable.
        Raises:
          ValueError: shapes that don't fit.
        """
        check_arraylike("gaussian_kde.integrate_gaussian", mean, cov)
        mean, cov = jnp.atleast_1d(jnp.squeeze(jnp.asarray(mean))), jnp.atleast_2d(jnp.asarray(cov))
        if mean.shape != (self.d,):
            raise ValueError(f"gaussian_kde.integrate_gaussian: mean must have the shape ({self.d},), got {mean.shape}")
        if cov.shape != (self.d, self.d):
            raise ValueError(
                f"gaussian_kde.integrate_gaussian: cov must be {self.d} by {self.d}, got the shape {cov.shape}"
            )
        return self._overlap(mean[:, None], cov, jnp.ones(1, self.dataset.dtype))

    @own_promotion
    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The integral of the density of one variable from ``low`` to ``high``.

        Raises:
          ValueError: several variables, or bounds that are not numbers.
        """
        if self.d != 1:
            raise ValueError(f"gaussian_kde.integrate_box_1d: there must be one variable, got {self.d}")
        if jnp.ndim(low) or jnp.ndim(high):
            raise ValueError(
                f"gaussian_kde.integrate_box_1d: the bounds must be numbers, got shapes {jnp.shape(low)} and {jnp.shape(high)}"
            )
        deviation = jnp.sqrt(self.covariance[0, 0])
        ends = ((jnp.asarray(end, self.dataset.dtype) - self.dataset[0]) / deviation for end in (low, high))
        below, above = (ndtr(end) for end in ends)
        return jnp.sum(self.weights * (above - below))

    @own_promotion
    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of the product of two estimates of the same variables.

        Raises:
          ValueError: another number of variables.
        """
        if other.d != self.d:
            raise ValueError(
                f"gaussian_kde.integrate_kde: both estimates need as many variables, got {self.d} and {other.d}"
            )
        return self._overlap(other.dataset, other.covariance, other.weights)

    def integrate_box(self, low_bounds: ArrayLike, high_bounds: ArrayLike, maxpts: Any = None) -> Array:
        """The integral of the density of one variable over a box, which is an interval.

        Args:
          low_bounds, high_bounds: vectors of one number, or numbers.
          maxpts: accepted, without effect.
        Raises:
          NotImplementedError: several variables.
        """
        if self.d != 1:
            raise NotImplementedError(f"gaussian_kde.integrate_box: there must be one variable, got {self.d}")
        return self.integrate_box_1d(*(jnp.squeeze(jnp.asarray(end)) for end in (low_bounds, high_bounds)))

    @own_promotion
    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Choose another width, in place. Args: ``bw_method`` as of the class; None changes nothing.

        Example: ``stats.gaussian_kde(jnp.arange(4.)).set_bandwidth("silverman")``.
        """
        if bw_method is not None:
            self._set_width(bw_method)

    # ---- draws ----------------------------------------------------------------------------------------------------------

    @own_promotion
    def resample(self, key: Array, shape: Sequence[int] = ()) -> Any:
        """Points drawn from the density.

        Args:
          key: a key.
          shape: the shape of the draws.
        Returns: array of shape ``(d, *shape)``.
        """
        shape = tuple(np.atleast_1d(shape).tolist()) if not isinstance(shape, tuple) else shape
        for_points, for_noise = random.split(key)
        chosen = random.choice(for_points, self.n, shape, replace=True, p=self.weights)
        noise = random.multivariate_normal(
            for_noise, jnp.zeros(self.d, self.covariance.dtype), self.covariance, shape, self.dataset.dtype
        )
        return self.dataset[:, chosen] + jnp.moveaxis(noise, -1, 0)
