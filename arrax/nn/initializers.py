"""Initializers of the parameters of networks: functions of a key, a shape and a dtype."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from arrax import dtypes, random
from arrax import numpy as jnp
from arrax.core.tracebacks import bound_names, boundary
from arrax.dtypes import OptionalDType
from arrax.lax.linalg import qr
from arrax.random.parameters import checked_shape
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

# The standard deviations by which numbers that are cut at magnitude 2 are divided: that of real ones, and the one that
# the documented draws of complex ones have.
_CUT_DEVIATION = 0.87962566103423978
_CUT_COMPLEX_DEVIATION = 0.95311164380491208


@runtime_checkable
class Initializer(Protocol):
    """What every initializer is: ``initializer(key, shape, dtype) -> array``.

    Example: ``isinstance(nn.initializers.lecun_normal(), nn.initializers.Initializer)`` is True.
    """

    def __call__(self, key: Any, shape: Sequence[int], dtype: Any = ..., out_sharding: Any = ...) -> Any: ...


def _number_dtype(name: str, dtype: OptionalDType) -> np.dtype:
    """The inexact dtype that a user names; None is the default."""
    chosen = dtypes.canonicalize_dtype(np.float64) if dtype is None else dtypes.check_user_dtype(name, dtype)
    if not dtypes.is_inexact(chosen):
        raise ValueError(f"{name}: dtype must be floating or complex, got {chosen}")
    return chosen


def zeros(
    key: Array, shape: Sequence[int], dtype: OptionalDType = None, out_sharding: OptionalSharding = None
) -> Array:
    """Zeros.

    Args:
      key: a key, which is not looked at.
      shape: the array's shape.
      dtype: its dtype, by default floating.
      out_sharding: where it lies.
    Example: ``nn.initializers.zeros(None, (2,))`` is ``[0, 0]``.
    """
    return jnp.zeros(shape, _default_dtype("zeros", dtype), out_sharding=out_sharding)


def ones(key: Array, shape: Sequence[int], dtype: OptionalDType = None, out_sharding: OptionalSharding = None) -> Array:
    """Ones. Args: as of ``zeros``.

    Example: ``nn.initializers.ones(None, (2,))`` is ``[1, 1]``.
    """
    return jnp.ones(shape, _default_dtype("ones", dtype), out_sharding=out_sharding)


def _default_dtype(name: str, dtype: OptionalDType) -> np.dtype:
    return dtypes.canonicalize_dtype(np.float64) if dtype is None else dtypes.check_user_dtype(name, dtype)


def constant(value: ArrayLike, dtype: OptionalDType = None) -> Initializer:
    """An initializer that gives one number everywhere.

    Args:
      value: the number, or an array that fits the shapes.
      dtype: the default dtype of what it makes.
    Example: ``nn.initializers.constant(3.)(None, (2,))`` is ``[3, 3]``.
    """

    @boundary
    def init(key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: OptionalSharding = None) -> Array:
        return jnp.full(shape, value, _default_dtype("constant", dtype), out_sharding=out_sharding)

    return init


def uniform(scale: ArrayLike = 1e-2, dtype: OptionalDType = None) -> Initializer:
    """An initializer of uniform numbers in ``[0, scale)``.

    Args:
      scale: the upper end.
      dtype: the default dtype of what it makes.
    Example: ``nn.initializers.uniform(10.)(arrax.random.key(0), (2, 3))``.
    """

    @boundary
    def init(key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: OptionalSharding = None) -> Array:
        dtype = _number_dtype("uniform", dtype)
        return random.uniform(key, shape, dtype, out_sharding=out_sharding) * _number("uniform", scale, dtype)

    return init


def normal(stddev: ArrayLike = 1e-2, dtype: OptionalDType = None) -> Initializer:
    """An initializer of normal numbers of mean 0.

    Args:
      stddev: their standard deviation.
      dtype: the default dtype of what it makes.
    Example: ``nn.initializers.normal(5.)(arrax.random.key(0), (2, 3))``.
    """

    @boundary
    def init(
        key: Array, shape: Sequence[int], dtype: OptionalDType = dtype, out_sharding: OptionalSharding = None
    ) -> Array:
        dtype = _number_dtype("normal", dtype)
        return random.normal(key, shape, dtype, out_sharding=out_sharding) * _number("normal", stddev, dtype)

    return init


def truncated_normal(
    stddev: ArrayLike = 1e-2, dtype: OptionalDType = None, lower: ArrayLike = -2.0, upper: ArrayLike = 2.0
) -> Initializer:
    """An initializer of normal numbers of mean 0 that lie between two bounds.

    Args:
      stddev: the standard deviation of the normal numbers before they are cut.
      dtype: the default dtype of what it makes.
      lower, upper: the bounds, in units of ``stddev``.
    Example: ``nn.initializers.truncated_normal(5.)(arrax.random.key(0), (2, 3))``.
    """

    @boundary
    def init(key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: OptionalSharding = None) -> Array:
        dtype = _number_dtype("truncated_normal", dtype)
        drawn = random.truncated_normal(key, lower, upper, shape, dtype, out_sharding=out_sharding)
        return drawn * _number("truncated_normal", stddev, dtype)

    return init


def _number(name: str, value: Any, dtype: np.dtype) -> Array:
    """A factor in an array's dtype."""
    factor = jnp.asarray(value)
    if dtypes.is_complex(factor.dtype) and not dtypes.is_complex(dtype):
        raise TypeError(f"{name}: a complex factor, {value}, needs a complex dtype, got {dtype}")
    return factor.astype(dtype)


# ---- by the variance of what a layer gives ----------------------------------------------------------------------------


def _listed(axes: int | Sequence[int]) -> tuple[int, ...]:
    return (axes,) if isinstance(axes, int) else tuple(axes)


def _fans(shape: Sequence[int], in_axis: Any, out_axis: Any, batch_axis: Any) -> tuple[float, float]:
    """How many numbers each output is a sum of, and how many outputs each number goes into."""
    if len(shape) <= 1:
        raise ValueError(f"variance_scaling: inputs and outputs need a shape of at least 2 axes, got {tuple(shape)}")
    inputs, outputs, batch = (
        math.prod(shape[axis] for axis in _listed(axes)) for axes in (in_axis, out_axis, batch_axis)
    )
    window = math.prod(shape) / inputs / outputs / batch
    return inputs * window, outputs * window


_DENOMINATORS = {
    "fan_in": lambda inputs, outputs: inputs,
    "fan_out": lambda inputs, outputs: outputs,
    "fan_avg": lambda inputs, outputs: (inputs + outputs) / 2,
    "fan_geo_avg": lambda inputs, outputs: (inputs * outputs) ** 0.5,
}


def _cut_complex_normal(key: Array, shape: Sequence[int], dtype: np.dtype) -> Array:
    """Complex normal numbers of magnitude up to 2, of variance 1 before they are cut."""
    real = dtypes.finfo(dtype).dtype
    for_radius, for_angle = random.split(key)
    most = np.asarray(1 - math.exp(-4), real)[()]
    radius = jnp.sqrt(-jnp.log(1 - most * random.uniform(for_radius, shape, real).astype(dtype)))
    angle = np.asarray(2 * math.pi, real)[()] * random.uniform(for_angle, shape, real).astype(dtype)
    return radius * jnp.exp(1j * angle)


def _disk_uniform(key: Array, shape: Sequence[int], dtype: np.dtype) -> Array:
    """Complex numbers that are uniform in the disk of radius 1."""
    real = dtypes.finfo(dtype).dtype
    for_radius, for_angle = random.split(key)
    radius = jnp.sqrt(random.uniform(for_radius, shape, real).astype(dtype))
    angle = np.asarray(2 * math.pi, real)[()] * random.uniform(for_angle, shape, real).astype(dtype)
    return radius * jnp.exp(1j * angle)


def _draw_truncated(key: Array, shape: Sequence[int], dtype: np.dtype, variance: Array) -> Array:
    if not dtypes.is_complex(dtype):
        return random.truncated_normal(key, -2, 2, shape, dtype) * (
            jnp.sqrt(variance) / np.asarray(_CUT_DEVIATION, dtype)[()]
        )
    return _cut_complex_normal(key, shape, dtype) * (jnp.sqrt(variance) / np.asarray(_CUT_COMPLEX_DEVIATION, dtype)[()])


def _draw_uniform(key: Array, shape: Sequence[int], dtype: np.dtype, variance: Array) -> Array:
    if dtypes.is_complex(dtype):
        return _disk_uniform(key, shape, dtype) * jnp.sqrt(2 * variance)
    return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)


_DRAWS = {
    "truncated_normal": _draw_truncated,
    "normal": lambda key, shape, dtype, variance: random.normal(key, shape, dtype) * jnp.sqrt(variance),
    "uniform": _draw_uniform,
}


def variance_scaling(
    scale: ArrayLike, mode: str, distribution: str, in_axis: int | Sequence[int] = -2, out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (), dtype: OptionalDType = None,
) -> Initializer:  # fmt: skip
    """An initializer that keeps the variance of what passes through a layer: ``scale / n``, with n by the shape.

    Args:
      scale: positive number.
      mode: what n is: ``"fan_in"``, the inputs of an output; ``"fan_out"``, the outputs of an input; ``"fan_avg"`` or
        ``"fan_geo_avg"``, the mean of the two, or the geometric one.
      distribution: ``"truncated_normal"``, ``"normal"`` or ``"uniform"``, all of mean 0.
      in_axis, out_axis, batch_axis: axes of inputs, of outputs, and of what is neither; all other axes belong to a
        window that both share.
      dtype: the default dtype of what it makes; complex ones have that variance in all.
    Raises:
      ValueError: another mode or distribution; a shape of less than two axes.
    Example: ``nn.initializers.variance_scaling(1., "fan_in", "normal")(arrax.random.key(0), (3, 4))``.
    Source: He et al., "Delving deep into rectifiers" (2015); Glorot and Bengio (2010).
    """
    if mode not in _DENOMINATORS:
        raise ValueError(f"variance_scaling: mode must be one of {', '.join(_DENOMINATORS)}, got {mode!r}")
    if distribution not in _DRAWS:
        raise ValueError(f"variance_scaling: distribution must be one of {', '.join(_DRAWS)}, got {distribution!r}")

    @boundary
    def init(key: Array, shape: Sequence[int], dtype: OptionalDType = dtype, out_sharding: Any = None) -> Array:
        shape = checked_shape("variance_scaling", shape)
        dtype = _number_dtype("variance_scaling", dtype)
        count = _DENOMINATORS[mode](*_fans(shape, in_axis, out_axis, batch_axis))
        drawn = _DRAWS[distribution](key, shape, dtype, _number("variance_scaling", scale / count, dtype))
        return drawn if out_sharding is None else jnp.asarray(drawn, device=out_sharding)

    return init


def glorot_uniform(
    in_axis: int | Sequence[int] = -2, out_axis: int | Sequence[int] = -1, batch_axis: int | Sequence[int] = (),
    dtype: OptionalDType = None,
) -> Initializer:  # fmt: skip
    """Uniform numbers of variance 2 / (inputs + outputs). Args: as of ``variance_scaling``.

    Example: ``nn.initializers.glorot_uniform()(arrax.random.key(0), (2, 3))``.
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(
    in_axis: int | Sequence[int] = -2, out_axis: int | Sequence[int] = -1, batch_axis: int | Sequence[int] = (),
    dtype: OptionalDType = None,
) -> Initializer:  # fmt: skip
    """Normal numbers, cut, of variance 2 / (inputs + outputs). Args: as of ``variance_scaling``.

    Example: ``nn.initializers.glorot_normal()(arrax.random.key(0), (2, 3))``.
    """
    return variance_scaling(1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def lecun_uniform(
    in_axis: int | Sequence[int] = -2, out_axis: int | Sequence[int] = -1, batch_axis: int | Sequence[int] = (),
    dtype: OptionalDType = None,
) -> Initializer:  # fmt: skip
    """Uniform numbers of variance 1 / inputs. Args: as of ``variance_scaling``.

    Example: ``nn.initializers.lecun_uniform()(arrax.random.key(0), (2, 3))``.
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(
    in_axis: int | Sequence[int] = -2, out_axis: int | Sequence[int] = -1, batch_axis: int | Sequence[int] = (),
    dtype: OptionalDType = None,
) -> Initializer:  # fmt: skip
    """Normal numbers, cut, of variance 1 / inputs. Args: as of ``variance_scaling``.

    Example: ``nn.initializers.lecun_normal()(arrax.random.key(0), (2, 3))``.
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(
    in_axis: int | Sequence[int] = -2, out_axis: int | Sequence[int] = -1, batch_axis: int | Sequence[int] = (),
    dtype: OptionalDType = None,
) -> Initializer:  # fmt: skip
    """Uniform numbers of variance 2 / inputs. Args: as of ``variance_scaling``.

    Example: ``nn.initializers.he_uniform()(arrax.random.key(0), (2, 3))``.
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(
    in_axis: int | Sequence[int] = -2, out_axis: int | Sequence[int] = -1, batch_axis: int | Sequence[int] = (),
    dtype: OptionalDType = None,
) -> Initializer:  # fmt: skip
    """Normal numbers, cut, of variance 2 / inputs. Args: as of ``variance_scaling``.

    Example: ``nn.initializers.he_normal()(arrax.random.key(0), (2, 3))``.
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# ---- orthogonal ---------------------------------------------------------------------------------------------------------


def _orthogonal_matrix(key: Array, rows: int, columns: int, dtype: np.dtype) -> Array:
    """A matrix with orthonormal rows or columns, whichever are fewer, uniform among these."""
    tall = (max(rows, columns), min(rows, columns))
    work = np.float32 if dtypes.itemsize_bits(dtype) < 32 else dtype
    q, r = qr(random.normal(key, tall, work), full_matrices=False)
    diagonal = jnp.diagonal(r)
    q = (q * jnp.expand_dims(diagonal / jnp.abs(diagonal), 0)).astype(dtype)
    return q if rows >= columns else q.T


def orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: OptionalDType = None) -> Initializer:
    """An initializer of orthogonal matrices: that of the shape ``(-1, shape[column_axis])`` has orthonormal rows or columns.

    Args:
      scale: factor.
      column_axis: the axis of the columns; all others together are the rows.
      dtype: the default dtype of what it makes.
    Raises:
      ValueError: a shape of less than two axes.
    Example: ``nn.initializers.orthogonal()(arrax.random.key(0), (2, 3))``. Source: Saxe et al. (2013).
    """

    @boundary
    def init(key: Array, shape: Sequence[int], dtype: OptionalDType = dtype, out_sharding: Any = None) -> Array:
        shape = checked_shape("orthogonal", shape)
        dtype = _number_dtype("orthogonal", dtype)
        if len(shape) < 2:
            raise ValueError(f"orthogonal: shape must have at least 2 axes, got {shape}")
        columns = shape[column_axis]
        q = _orthogonal_matrix(key, math.prod(shape) // columns if columns else 0, columns, dtype)
        others = np.delete(shape, column_axis)
        out = jnp.moveaxis(jnp.reshape(q, (*others, columns)), -1, column_axis) * _number("orthogonal", scale, dtype)
        return out if out_sharding is None else jnp.asarray(out, device=out_sharding)

    return init


def delta_orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: OptionalDType = None) -> Initializer:
    """An initializer of convolution kernels that are orthogonal in the middle of the window and 0 elsewhere.

    Args:
      scale: factor.
      column_axis: which of the last two axes are the columns.
      dtype: the default dtype of what it makes.
    Raises:
      ValueError: a shape of other than 3, 4 or 5 axes; more inputs (axis -2) than outputs (axis -1).
    Example: ``nn.initializers.delta_orthogonal()(arrax.random.key(0), (3, 3, 2, 4))``. Source: Xiao et al. (2018).
    """

    @boundary
    def init(key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Array:
        shape = checked_shape("delta_orthogonal", shape)
        dtype = _number_dtype("delta_orthogonal", dtype)
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal: shape must have 3, 4 or 5 axes, got {shape}")
        if shape[-1] < shape[-2]:
            raise ValueError(f"delta_orthogonal: shape[-1] must be at least shape[-2], got {shape}")
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        out = jnp.zeros(shape, dtype).at[middle].set(matrix)
        return out if out_sharding is None else jnp.asarray(out, device=out_sharding)

    return init


bound_names(__name__)
