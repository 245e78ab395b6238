"""Networks of layers: pairs of functions that make parameters and apply them.

A layer is ``(init_fun, apply_fun)``: ``init_fun(key, input_shape)`` gives ``(output_shape, params)``, and
``apply_fun(params, inputs, **kwargs)`` the outputs. Lengths of -1 in shapes, of batches, stay as they are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import lax, random
from arrax import numpy as jnp
from arrax.core.tracebacks import bound_names, boundary
from arrax.nn.activations import elu as elu
from arrax.nn.activations import gelu as gelu
from arrax.nn.activations import leaky_relu as leaky_relu
from arrax.nn.activations import relu as relu
from arrax.nn.activations import selu as selu
from arrax.nn.activations import sigmoid as sigmoid
from arrax.nn.activations import softplus as softplus
from arrax.nn.initializers import glorot_normal as glorot_normal
from arrax.nn.initializers import normal as normal
from arrax.nn.initializers import ones as ones
from arrax.nn.initializers import zeros as zeros
from arrax.nn.normalization import log_softmax as logsoftmax
from arrax.nn.normalization import softmax as softmax
from arrax.nn.normalization import standardize as standardize
from arrax.transforms.inspection import ShapeDtypeStruct, eval_shape
from arrax.xla.arrays import Array, ArrayLike

Layer = tuple[Callable, Callable]
glorot, randn, log_softmax = glorot_normal, normal, logsoftmax


def _layer(init: Callable, apply: Callable) -> Layer:
    """The two functions of a layer, which users call."""
    return boundary(init), boundary(apply)


def _output_shape(apply: Callable, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape that a layer without parameters gives; lengths of -1 stay."""
    known = tuple(1 if n == -1 else int(n) for n in shape)
    out = eval_shape(apply, ShapeDtypeStruct(known, np.float32)).shape
    return tuple(-1 if n == -1 else int(m) for n, m in zip(shape, out, strict=True))


# ---- with parameters --------------------------------------------------------------------------------------------------


def Dense(
    out_dim: int,
    W_init: Callable[..., Array] = glorot_normal(),  # noqa: B008
    b_init: Callable[..., Array] = normal(),  # noqa: B008
) -> Layer:
    """The product with a matrix, and a vector added.

    Args:
      out_dim: the number of outputs.
      W_init, b_init: initializers.
    Example: ``stax.Dense(4)[0](arrax.random.key(0), (-1, 3))[0]`` is ``(-1, 4)``.
    """

    def init(rng: Array, input_shape: Sequence[int]) -> Any:
        for_matrix, for_vector = random.split(rng)
        params = W_init(for_matrix, (input_shape[-1], out_dim)), b_init(for_vector, (out_dim,))
        return (*input_shape[:-1], out_dim), params

    def apply(params: Any, inputs: ArrayLike, **kwargs: Any) -> Any:
        matrix, vector = params
        return jnp.dot(inputs, matrix) + vector

    return _layer(init, apply)


def _convolution(
    product: Callable, dimension_numbers: tuple[str, str, str], out_chan: int, filter_shape: Sequence[int],
    strides: Sequence[int] | None, padding: Any, W_init: Any, b_init: Any,
) -> Layer:  # fmt: skip
    """A layer of windows: ``product(inputs, kernel, strides, padding, dimension_numbers=...)``."""
    left, right, out = dimension_numbers
    if len(filter_shape) != len(right) - 2:
        raise ValueError(
            f"filter_shape must have {len(right) - 2} lengths for a kernel {right!r}, got {filter_shape!r}"
        )
    strides = tuple(strides) if strides else (1,) * len(filter_shape)
    kernel_init = W_init or glorot_normal(right.index("I"), right.index("O"))

    def convolve(kernel: Any, inputs: Any) -> Any:
        return product(inputs, kernel, strides, padding, dimension_numbers=dimension_numbers)

    def init(rng: Any, input_shape: Sequence[int]) -> Any:
        lengths = iter(filter_shape)
        sizes = {"O": out_chan, "I": input_shape[left.index("C")]}
        kernel_shape = [sizes[c] if c in sizes else next(lengths) for c in right]
        for_kernel, for_vector = random.split(rng)
        kernel = kernel_init(for_kernel, kernel_shape)
        vector = b_init(for_vector, tuple(out_chan if c == "C" else 1 for c in out))
        return _output_shape(lambda x: convolve(kernel, x), input_shape), (kernel, vector)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        kernel, vector = params
        return convolve(kernel, inputs) + vector

    return _layer(init, apply)


def GeneralConv(
    dimension_numbers: tuple[str, str, str], out_chan: int, filter_shape: Sequence[int],
    strides: Sequence[int] | None = None, padding: str | Sequence[tuple[int, int]] = "VALID", W_init: Callable[..., Array] | None = None, b_init: Callable[..., Array] = normal(1e-6),  # noqa: B008
) -> Layer:  # fmt: skip
    """A convolution.

    Args:
      dimension_numbers: the axes of inputs, kernel and outputs, such as ``("NHWC", "HWIO", "NHWC")``.
      out_chan: the number of channels that come out.
      filter_shape: lengths of the window.
      strides: its steps, by default 1.
      padding: ``"VALID"``, ``"SAME"`` or pairs of numbers.
      W_init, b_init: initializers, by default for the kernel that of Glorot.
    Example: ``stax.GeneralConv(("NHWC", "HWIO", "NHWC"), 4, (3, 3))[0](arrax.random.key(0), (-1, 8, 8, 3))[0]`` is
    ``(-1, 6, 6, 4)``.
    """
    return _convolution(
        lax.conv_general_dilated, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init
    )


def GeneralConvTranspose(
    dimension_numbers: tuple[str, str, str], out_chan: int, filter_shape: Sequence[int],
    strides: Sequence[int] | None = None, padding: str | Sequence[tuple[int, int]] = "VALID", W_init: Callable[..., Array] | None = None, b_init: Callable[..., Array] = normal(1e-6),  # noqa: B008
) -> Layer:  # fmt: skip
    """A transposed convolution, which makes lengths greater. Args: as of ``GeneralConv``.

    Example: ``stax.ConvTranspose(4, (3, 3))[0](arrax.random.key(0), (-1, 8, 8, 3))[0]`` is ``(-1, 10, 10, 4)``.
    """
    return _convolution(lax.conv_transpose, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init)


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2), epsilon: float = 1e-5, center: bool = True, scale: bool = True,
    beta_init: Callable[..., Array] = zeros, gamma_init: Callable[..., Array] = ones,
) -> Layer:  # fmt: skip
    """Mean 0 and variance 1 over a batch, then a factor and a number added. Source: Ioffe and Szegedy (2015).

    Args:
      axis: the axes to average over.
      epsilon: added to the variance.
      center: add numbers.
      scale: multiply with factors.
      beta_init, gamma_init: initializers of the two.
    Example: ``stax.BatchNorm()[0](arrax.random.key(0), (-1, 8, 8, 3))[1][0].shape`` is ``(3,)``.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Array, input_shape: Sequence[int]) -> tuple[Any, ...]:
        shape = tuple(n for index, n in enumerate(input_shape) if index not in axes)
        for_beta, for_gamma = random.split(rng)
        beta = beta_init(for_beta, shape) if center else ()
        return tuple(input_shape), (beta, gamma_init(for_gamma, shape) if scale else ())

    def apply(params: Any, inputs: ArrayLike, **kwargs: Any) -> Any:
        beta, gamma = params
        out = standardize(inputs, axes, epsilon=epsilon)
        if scale:
            out = out * jnp.expand_dims(gamma, axes)
        return out + jnp.expand_dims(beta, axes) if center else out

    return _layer(init, apply)


# ---- without parameters -----------------------------------------------------------------------------------------------


def elementwise(fun: Callable, **fun_kwargs: Any) -> Layer:
    """A function of the inputs that keeps their shape.

    Args:
      fun: function of an array.
      fun_kwargs: its further arguments.
    Example: ``stax.elementwise(jnp.square)[1]((), jnp.ones(2))`` is ``[1., 1.]``.
    """
    return _layer(
        lambda rng, input_shape: (tuple(input_shape), ()),
        lambda params, inputs, **kwargs: fun(inputs, **fun_kwargs),
    )


Elu = elementwise(elu)
Exp = elementwise(jnp.exp)
Gelu = elementwise(gelu)
Identity = elementwise(lambda inputs: inputs)
LeakyRelu = elementwise(leaky_relu)
LogSoftmax = elementwise(logsoftmax, axis=-1)
Relu = elementwise(relu)
Selu = elementwise(selu)
Sigmoid = elementwise(sigmoid)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Tanh = elementwise(jnp.tanh)
Flatten = _layer(
    lambda rng, input_shape: ((input_shape[0], math.prod(input_shape[1:])), ()),
    lambda params, inputs, **kwargs: jnp.reshape(inputs, (inputs.shape[0], -1)),
)


def _pooling(
    combine: Callable, start: float, finish: Callable[[Any, Any], Any], window_shape: Sequence[int],
    strides: Sequence[int] | None, padding: Any, spec: str | None,
) -> Layer:  # fmt: skip
    """A layer of windows that are combined; ``finish(outs, how many elements each has)``."""
    window, steps = list(window_shape), list(strides) if strides else [1] * len(window_shape)
    batch, channels = (0, len(window) + 1) if spec is None else (spec.index("N"), spec.index("C"))
    for index in sorted((batch, channels)):
        window.insert(index, 1)
        steps.insert(index, 1)

    def pooled(x: Any, first: float, function: Callable) -> Any:
        return lax.reduce_window(x, np.asarray(first, x.dtype)[()], function, tuple(window), tuple(steps), padding)

    def apply(params: Any, inputs: ArrayLike, **kwargs: Any) -> Any:
        inputs = jnp.asarray(inputs)
        return finish(pooled(inputs, start, combine), lambda: pooled(jnp.ones_like(inputs), 0.0, lax.add))

    return _layer(lambda rng, input_shape: (_output_shape(lambda x: apply((), x), input_shape), ()), apply)


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    spec: str | None = None,
) -> Layer:
    """The greatest element of each window.

    Args:
      window_shape: lengths of the window.
      strides: its steps, by default 1.
      padding: ``"VALID"``, ``"SAME"`` or pairs of numbers.
      spec: the axes of the inputs, such as ``"NCHW"``; by default batch first and channels last.
    Example: ``stax.MaxPool((2, 2))[1]((), jnp.ones((1, 4, 4, 3))).shape`` is ``(1, 3, 3, 3)``.
    """
    return _pooling(lax.max, -np.inf, lambda outs, count: outs, window_shape, strides, padding, spec)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of each window. Args: as of ``MaxPool``.

    Example: ``stax.SumPool((2, 2))[1]((), jnp.ones((1, 2, 2, 1))).item()`` is 4.
    """
    return _pooling(lax.add, 0.0, lambda outs, count: outs, window_shape, strides, padding, spec)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of each window, of the elements inside of the inputs. Args: as of ``MaxPool``.

    Example: ``stax.AvgPool((2, 2))[1]((), jnp.ones((1, 2, 2, 1))).item()`` is 1.
    """
    return _pooling(lax.add, 0.0, lambda outs, count: outs / count(), window_shape, strides, padding, spec)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Zeros in place of random elements; the others are divided by the share that is kept.

    Args:
      rate: the share of elements that are kept.
      mode: ``"train"``; otherwise nothing changes.
    Raises:
      ValueError: when applied without a key.
    Example: ``stax.Dropout(0.5)[1]((), jnp.ones(4), rng=arrax.random.key(0)).shape`` is ``(4,)``. Source: Srivastava et al.
    (2014).
    """

    def apply(params: Any, inputs: ArrayLike, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "Dropout: apply_fun needs a key: call apply_fun(params, inputs, rng=key) instead of apply_fun(params, inputs)"
            )
        if mode != "train":
            return inputs
        kept = random.bernoulli(rng, rate, jnp.shape(inputs))
        return jnp.where(kept, inputs / rate, 0)

    return _layer(lambda rng, input_shape: (tuple(input_shape), ()), apply)


# ---- several inputs and outputs -----------------------------------------------------------------------------------------


def FanOut(num: int) -> Layer:
    """The inputs, ``num`` times.

    Args:
      num: how often.
    Example: ``len(stax.FanOut(3)[1]((), jnp.ones(2)))`` is 3.
    """
    return _layer(lambda rng, input_shape: ([input_shape] * num, ()), lambda params, inputs, **kwargs: [inputs] * num)


FanInSum = _layer(
    lambda rng, input_shape: (input_shape[0], ()),
    lambda params, inputs, **kwargs: functools.reduce(jnp.add, inputs),
)


def FanInConcat(axis: int = -1) -> Layer:
    """The inputs, joined along an axis.

    Args:
      axis: the axis.
    Example: ``stax.FanInConcat()[1]((), [jnp.ones(1), jnp.ones(2)]).shape`` is ``(3,)``.
    """

    def init(rng: Any, input_shape: Sequence[Sequence[int]]) -> Any:
        shape = list(input_shape[0])
        index = axis % len(shape)
        shape[index] = sum(one[index] for one in input_shape)
        return tuple(shape), ()

    return _layer(init, lambda params, inputs, **kwargs: jnp.concatenate(inputs, axis))


# ---- networks ---------------------------------------------------------------------------------------------------------


def _keys(rng: Any, count: int) -> Any:
    return random.split(rng, count) if rng is not None else (None,) * count


def serial(*layers: Layer) -> Layer:
    """Layers one after the other.

    Args:
      layers: pairs of functions.
    Example: ``stax.serial(stax.Dense(4), stax.Relu)[0](arrax.random.key(0), (-1, 3))[0]`` is ``(-1, 4)``.
    """
    inits, applies = zip(*layers, strict=True) if layers else ((), ())

    def init(rng: Array, input_shape: tuple[int, ...]) -> tuple[Any, ...]:
        params = []
        for one in inits:
            rng, own = random.split(rng)
            input_shape, found = one(own, input_shape)
            params.append(found)
        return input_shape, params

    def apply(params: Any, inputs: ArrayLike, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(applies))
        for fun, own, key in zip(applies, params, keys, strict=True):
            inputs = fun(own, inputs, rng=key, **kwargs)
        return inputs

    return _layer(init, apply)


def parallel(*layers: Layer) -> Layer:
    """Layers side by side, each with an input of its own; ``FanOut`` makes these, ``FanInSum`` and ``FanInConcat`` end it.

    Args:
      layers: pairs of functions.
    Example: ``stax.parallel(stax.Relu, stax.Tanh)[1]([(), ()], [jnp.ones(1), jnp.zeros(1)])[1]`` is ``[0.]``.
    """
    inits, applies = zip(*layers, strict=True) if layers else ((), ())

    def init(rng: Any, input_shape: Any) -> Any:
        found = [one(key, shape) for one, key, shape in zip(inits, _keys(rng, len(inits)), input_shape, strict=True)]
        return [shape for shape, _ in found], tuple(params for _, params in found)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(applies))
        return [f(p, x, rng=k, **kwargs) for f, p, x, k in zip(applies, params, inputs, keys, strict=True)]

    return _layer(init, apply)


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that is made when the shape of its inputs is known.

    Args:
      make_layer: function of the shape to a layer.
    Example: ``stax.shape_dependent(lambda s: stax.Dense(s[-1]))[0](arrax.random.key(0), (-1, 3))[0]`` is ``(-1, 3)``.
    """
    return _layer(
        lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
        lambda params, inputs, **kwargs: make_layer(jnp.shape(inputs))[1](params, inputs, **kwargs),
    )


bound_names(__name__)
