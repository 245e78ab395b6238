"""Resizing of images: weighted sums of neighbouring pixels along each axis."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.core.calls import as_index, as_indices
from arrax.core.lengths import is_symbolic, typical
from arrax.core.types import typeof
from arrax.lax.precision import Precision, PrecisionLike
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, own_promotion, promote_inexact
from arrax.numpy_api.products import hashable_precision
from arrax.xla.arrays import Array, ArrayLike


class ResizeMethod(enum.Enum):
    """Which neighbours a pixel of a resized image is made of, and with which weights.

    NEAREST takes the nearest pixel; LINEAR a triangle of weights; LANCZOS3 and LANCZOS5 a windowed sinc of 3 or 5 pixels on
    either side; CUBIC the cubic kernel of Keys. CUBIC_PYTORCH is CUBIC, but without antialiasing as PyTorch has it: a steeper
    kernel, which sees the pixels of the border go on outside. AREA is the mean over the area that a new pixel covers.

    Example: ``arrax.image.resize(x, (2,), arrax.image.ResizeMethod.NEAREST)`` is ``[1.0, 3.0]``.
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(name: str) -> ResizeMethod:
        """The method of a name.

        Raises:
          ValueError: no such method.
        Example: ``ResizeMethod.from_string("bilinear")`` is ``ResizeMethod.LINEAR``.
        """
        return _named("ResizeMethod.from_string", "name", name)


# fmt: off
_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR, "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR, "triangle": ResizeMethod.LINEAR,
    "lanczos3": ResizeMethod.LANCZOS3, "lanczos5": ResizeMethod.LANCZOS5,
    "cubic": ResizeMethod.CUBIC, "bicubic": ResizeMethod.CUBIC, "tricubic": ResizeMethod.CUBIC,
    "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH, "area": ResizeMethod.AREA,
}
# fmt: on


def _triangle(x: Array) -> Array:
    return jnp.maximum(0, 1 - jnp.abs(x))


def _keys_cubic(a: float) -> Callable[..., Any]:
    """Keys, "Cubic convolution interpolation for digital image processing" (1981), of slope ``a`` at 1."""

    def weight(x: Array) -> Array:
        near = (((a + 2) * x - (a + 3)) * x) * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return jnp.where(x >= 2, 0, jnp.where(x >= 1, far, near))

    return weight


def _lanczos(radius: int) -> Callable[..., Any]:
    def weight(x: Array) -> Array:
        angle = math.pi * x
        safe = jnp.where(x == 0, 1, angle)
        value = radius * jnp.sin(safe) * jnp.sin(safe / radius) / (safe * safe)
        return jnp.where(x > radius, 0, jnp.where(x == 0, 1, value))

    return weight


_KERNELS = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: _keys_cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _keys_cubic(-0.5),
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
}


def _weights(method: ResizeMethod, size: int, new: int, scale: Array, translation: Array, antialias: bool) -> Any:
    """The matrix (size, new) of the weights that old pixels have in new ones; columns sum to 1 or are outside and 0."""
    dtype = typeof(scale).dtype
    step = 1 / scale
    indices = (jnp.arange(new, dtype=dtype) + 0.5) * step - translation * step - 0.5
    pixels = jnp.arange(size, dtype=dtype)[:, None]
    if method is ResizeMethod.AREA:
        weights = _overlaps(indices, pixels, step)
    elif method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        weights = _with_borders(indices, pixels)
    else:
        wide = jnp.maximum(step, 1) if antialias else 1
        weights = _KERNELS[method](jnp.abs(indices - pixels) / wide)
    total = jnp.sum(weights, 0, keepdims=True)
    tiny = 1000 * float(np.finfo(np.float32).eps)
    weights = jnp.where(jnp.abs(total) > tiny, weights / jnp.where(total != 0, total, 1), 0)
    inside = (indices >= -0.5) & (indices <= size - 0.5)
    return jnp.where(inside[None, :], weights, 0)


def _overlaps(indices: Array, pixels: Array, step: Array) -> Array:
    """How much of each pixel lies in the interval of length ``step`` around each index."""
    low, high = indices - 0.5 * step, indices + 0.5 * step
    return jnp.maximum(jnp.minimum(high, pixels + 0.5) - jnp.maximum(low, pixels - 0.5), 0)


def _with_borders(indices: Any, pixels: Any) -> Any:
    """Weights of PyTorch's cubic kernel; the first and the last pixel stand also for two more on their side."""
    kernel, last = _keys_cubic(-0.75), pixels[-1]
    weights = kernel(jnp.abs(indices - pixels))
    before = sum(kernel(jnp.abs(indices + n)) for n in (1, 2))
    behind = sum(kernel(jnp.abs(indices - last - n)) for n in (1, 2))
    return weights.at[0].add(before).at[-1].add(behind)


def _work_dtype(x: Array) -> np.dtype:
    """The dtype of the weights: that of a wide image, float32 for small floats."""
    return np.dtype(np.float64) if typeof(x).dtype in (np.float64, np.complex128) else np.dtype(np.float32)


@api(static=("shape", "axes", "method", "antialias", "precision"))
def _scaled(
    image: Any, scale: Any, translation: Any, shape: tuple[int, ...], axes: tuple[int, ...], method: ResizeMethod,
    antialias: bool, precision: PrecisionLike,
) -> Array:  # fmt: skip
    (image,) = promote_inexact(image)
    work = _work_dtype(image)
    matrices = [
        _weights(method, image.shape[axis], shape[axis], scale[n].astype(work), translation[n].astype(work), antialias)
        for n, axis in enumerate(axes)
    ]
    return _weighted_sums(image, matrices, axes, precision)


@api(static=("shape", "axes", "method", "antialias", "precision"))
def _resized(
    image: Any, shape: tuple[int, ...], axes: tuple[int, ...], method: ResizeMethod, antialias: bool,
    precision: PrecisionLike,
) -> Array:  # fmt: skip
    (image,) = promote_inexact(image)
    work = _work_dtype(image)

    @functools.cache
    def weights(old: int, new: int) -> Any:
        """Those of axes of one length are the same."""
        ratio = 1.0 if new == 0 else new / old
        scale = work.type(ratio) if isinstance(ratio, float) else ratio.astype(work)
        return _weights(method, old, new, scale, work.type(0), antialias)

    return _weighted_sums(image, [weights(image.shape[axis], shape[axis]) for axis in axes], axes, precision)


def _weighted_sums(image: Array, matrices: Sequence[Any], axes: tuple[int, ...], precision: PrecisionLike) -> Array:
    """Sums over the axes, with the weights of a matrix each."""
    if not axes:
        return image
    letters = list(range(image.ndim))
    operands: list[Any] = []
    for n, (axis, matrix) in enumerate(zip(axes, matrices, strict=True)):
        operands += [matrix.astype(typeof(image).dtype), [axis, image.ndim + n]]
    operands += [image, letters]
    result = [image.ndim + axes.index(axis) if axis in axes else axis for axis in letters]
    return jnp.einsum(*operands, result, precision=precision, optimize=_cheapest_path(matrices))


def _cheapest_path(matrices: Sequence[Any]) -> list[tuple[int, int]]:
    """The order of the sums in which they take the fewest operations; of those, in which the image is transposed least.

    A sum over n pixels into m is best before one over k into l where 1 / n - 1 / m < 1 / k - 1 / l.
    """
    sizes = [[max(typical(length), 1) for length in typeof(matrix).shape] for matrix in matrices]
    left = list(range(len(matrices)))
    path = []
    for n in sorted(left, key=lambda n: 1 / sizes[n][0] - 1 / sizes[n][1]):
        path.append((left.index(n), len(left)))
        left.remove(n)
    return path


@api(static=("shape",))
def _nearest(image: Array, shape: tuple[int, ...]) -> Array:
    for axis, (old, new) in enumerate(zip(image.shape, shape, strict=True)):
        if old != new:
            image = jnp.take(image, _nearest_indices(old, new), axis=axis, mode="clip")
    return image


def _nearest_indices(old: int, new: int) -> Array:
    """For each new pixel, the old one in which its middle lies."""
    if is_symbolic(old) or is_symbolic(new):
        middles = jnp.arange(new).astype(np.float32) + np.float32(0.5)
        return jnp.floor(middles * jnp.float32(old) / jnp.float32(new)).astype(np.int32)
    return jnp.asarray(np.floor((np.arange(new, dtype=np.float32) + np.float32(0.5)) * old / new).astype(np.int32))


def _method(name: str, method: str | ResizeMethod) -> ResizeMethod:
    if isinstance(method, ResizeMethod):
        return method
    if not isinstance(method, str):
        raise TypeError(f"{name}: method must be a ResizeMethod or its name, got {method!r}")
    return _named(name, "method", method)


def _named(function: str, argument: str, method: str) -> ResizeMethod:
    if method not in _NAMES:
        raise ValueError(f"{function}: {argument} must be one of {', '.join(map(repr, _NAMES))}, got {method!r}")
    return _NAMES[method]


def _checked_shape(name: str, image: ArrayLike, shape: Sequence[int]) -> tuple[int, ...]:
    shape = as_indices(shape)
    if len(shape) != typeof(image).ndim:
        raise ValueError(
            f"{name}: shape must have the image's number of axes, {typeof(image).ndim}, got {len(shape)}: {shape}"
        )
    return shape


@own_promotion
def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: Any,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """The image in another size.

    Args:
      image: array of any number of axes.
      shape: the new lengths; axes that keep theirs (of channels, say) stay as they are.
      method: a ``ResizeMethod`` or its name: ``"nearest"``, ``"linear"`` (also ``"bilinear"``, ``"trilinear"``,
        ``"triangle"``), ``"cubic"`` (``"bicubic"``, ``"tricubic"``), ``"cubic-pytorch"``, ``"lanczos3"``, ``"lanczos5"`` or
        ``"area"``.
      antialias: widen the weights where an axis gets shorter, so that all pixels count.
      precision: of the products.
    Returns: array of ``shape``; integers become floating, except by ``"nearest"``.
    Raises:
      ValueError: another method, or a shape of another number of axes.
    Example: ``image.resize(jnp.arange(4.).reshape(2, 2), (4, 4), "linear")``.
    """
    check_arraylike("resize", image)
    image, shape = jnp.asarray(image), _checked_shape("resize", image, shape)
    chosen = _method("resize", method)
    if chosen is ResizeMethod.NEAREST:
        return _nearest(image, shape)
    axes = tuple(axis for axis, (old, new) in enumerate(zip(image.shape, shape, strict=True)) if old != new)
    return _resized(image, shape, axes, chosen, bool(antialias), hashable_precision(precision))


@own_promotion
def scale_and_translate(
    image: ArrayLike, shape: Sequence[int], spatial_dims: Sequence[int], scale: ArrayLike, translation: ArrayLike, method: str | ResizeMethod,
    antialias: bool = True, precision: PrecisionLike = Precision.HIGHEST,
) -> Array:  # fmt: skip
    """The image, scaled and then shifted, cut to a shape; what lies outside of the image is 0.

    A point x of the image goes to ``x scale + translation`` along each axis; pixels are squares of side 1, whose middles lie
    at half numbers.

    Args:
      image: array of any number of axes.
      shape: the shape of the result.
      spatial_dims: the axes that are scaled, in ascending order as ``scale``.
      scale, translation: a number for each of these axes.
      method: a ``ResizeMethod`` or its name, as of ``resize``, but not ``"nearest"``.
      antialias: widen the weights where an axis gets shorter.
      precision: of the products.
    Returns: array of ``shape``, differentiable in ``image``, ``scale`` and ``translation``.
    Raises:
      ValueError: shapes or axes that don't fit; the method ``"nearest"``.
    Example: ``image.scale_and_translate(jnp.ones((2, 2)), (4, 4), (0, 1), jnp.array([2., 2.]), jnp.zeros(2), "linear")``.
    """
    check_arraylike("scale_and_translate", image, scale, translation)
    image, shape = jnp.asarray(image), _checked_shape("scale_and_translate", image, shape)
    chosen = _method("scale_and_translate", method)
    if chosen is ResizeMethod.NEAREST:
        raise ValueError("scale_and_translate: the method 'nearest' is not supported")
    axes = tuple(as_index(axis) for axis in spatial_dims)
    if any(not -image.ndim <= axis < image.ndim for axis in axes):
        raise ValueError(f"scale_and_translate: spatial_dims must be axes of an image of {image.ndim} axes, got {axes}")
    axes = tuple(axis % image.ndim for axis in axes)
    if len(set(axes)) != len(axes):
        raise ValueError(f"scale_and_translate: spatial_dims must not repeat an axis, got {tuple(spatial_dims)}")
    for axis, (old, new) in enumerate(zip(image.shape, shape, strict=True)):
        if old != new and axis not in axes:
            raise ValueError(f"scale_and_translate: axis {axis} is none of spatial_dims and must keep the length {old}")
    scale, translation = promote_inexact(scale, translation)
    for what, given in (("scale", scale), ("translation", translation)):
        if jnp.shape(given) != (len(axes),):
            raise ValueError(f"scale_and_translate: {what} must have the shape ({len(axes)},), got {jnp.shape(given)}")
    precision = hashable_precision(precision)
    return _scaled(image, scale, translation, shape, axes, chosen, bool(antialias), precision)
