"""Layers: shapes that are said are shapes that come out, values, keys, a network that learns."""

import numpy as np
import pytest

import arrax
from arrax import numpy as jnp
from arrax.example_libraries import optimizers, stax

KEY = arrax.random.key(0)
RNG = np.random.default_rng(0)
IMAGES = (-1, 8, 8, 3)
LAYERS = {
    "dense": (stax.Dense(4), (-1, 5)), "conv": (stax.Conv(4, (3, 3)), IMAGES),
    "conv with strides": (stax.Conv(4, (3, 2), (2, 1), "SAME"), IMAGES),
    "conv transpose": (stax.ConvTranspose(4, (3, 3), (2, 2)), IMAGES),
    "conv 1d transpose": (stax.Conv1DTranspose(4, (3,), (2,), "SAME"), (-1, 8, 3)),
    "general conv": (stax.GeneralConv(("NCHW", "OIHW", "NCHW"), 4, (3, 3)), (-1, 3, 8, 8)),
    "general transpose": (stax.GeneralConvTranspose(("NCHW", "OIHW", "NCHW"), 4, (3, 3), (2, 1)), (-1, 3, 8, 8)),
    "max": (stax.MaxPool((2, 2)), IMAGES), "sum": (stax.SumPool((3, 2), (2, 2), "SAME"), IMAGES),
    "avg": (stax.AvgPool((2, 2), (2, 2), "VALID", "NCHW"), (-1, 3, 8, 8)), "batch norm": (stax.BatchNorm(), IMAGES),
    "batch norm of rows": (stax.BatchNorm(axis=0, center=False), (-1, 5)), "dropout": (stax.Dropout(0.7), (-1, 50)),
    "dropout in tests": (stax.Dropout(0.7, "test"), (-1, 50)), "flatten": (stax.Flatten, IMAGES),
    "serial": (stax.serial(stax.Dense(4), stax.Relu, stax.Dropout(0.5), stax.Dense(2)), (-1, 5)),
    "join": (stax.serial(stax.FanOut(2), stax.parallel(stax.Dense(3), stax.Identity), stax.FanInConcat()), (-1, 5)),
    "sum of two": (stax.serial(stax.FanOut(2), stax.parallel(stax.Dense(5), stax.Identity), stax.FanInSum), (-1, 5)),
    "by shape": (stax.shape_dependent(lambda shape: stax.Dense(2 * shape[-1])), (-1, 5)),
}  # fmt: skip
FUNCTIONS = {
    "Tanh": np.tanh, "Relu": lambda x: np.maximum(x, 0), "Exp": np.exp, "Softplus": lambda x: np.log1p(np.exp(x)),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "LeakyRelu": lambda x: np.where(x > 0, x, 0.01 * x), "Identity": lambda x: x,
    "Softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True), "LogSoftmax": lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)),
    "Selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "Gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_shapes_are_as_said(name):
    (init, apply), shape = LAYERS[name]
    out_shape, params = init(KEY, shape)
    x = RNG.normal(size=[7 if n == -1 else n for n in shape]).astype(np.float32)
    out = apply(params, x, rng=KEY)
    assert out.shape == tuple(7 if n == -1 else n for n in ([7, 192] if name == "flatten" else out_shape))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_applied_elementwise(name):
    init, apply = getattr(stax, name)
    x = RNG.normal(size=(3, 4)).astype(np.float32)
    assert init(KEY, (-1, 4)) == ((-1, 4), ())
    np.testing.assert_allclose(apply((), x), FUNCTIONS[name](x), rtol=2e-6, atol=1e-6)


def test_pools_combine_their_windows():
    x = RNG.normal(size=(1, 4, 4, 2)).astype(np.float32)
    blocks = x.reshape(1, 2, 2, 2, 2, 2)
    for layer, combined in (
        (stax.MaxPool, blocks.max((2, 4))),
        (stax.SumPool, blocks.sum((2, 4))),
        (stax.AvgPool, blocks.mean((2, 4))),
    ):
        np.testing.assert_allclose(layer((2, 2), (2, 2))[1]((), x), combined, rtol=1e-5)
    corner = stax.AvgPool((3, 3), (1, 1), "SAME")[1]((), x)[0, 0, 0]
    np.testing.assert_allclose(corner, x[0, :2, :2].mean((0, 1)), rtol=1e-5)


def test_batches_are_normed():
    init, apply = stax.BatchNorm()
    x = 3 + 2 * RNG.normal(size=(5, 8, 8, 3)).astype(np.float32)
    out = np.asarray(apply(init(KEY, IMAGES)[1], x))
    np.testing.assert_allclose(out.mean((0, 1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(out.var((0, 1, 2)), 1, atol=1e-3)


def test_dropout_keeps_the_mean_and_needs_a_key():
    _, apply = stax.Dropout(0.25)
    out = np.asarray(apply((), np.ones(10_000, np.float32), rng=KEY))
    assert set(np.unique(out)) == {0, 4} and abs(out.mean() - 1) < 0.1
    with pytest.raises(ValueError, match="needs a key"):
        apply((), np.ones(3))


def test_a_network_learns():
    x = RNG.normal(size=(64, 2)).astype(np.float32)
    labels = np.eye(2)[(x[:, 0] * x[:, 1] > 0).astype(int)]
    init, apply = stax.serial(stax.Dense(32), stax.Tanh, stax.Dense(2), stax.LogSoftmax)
    start, update, params_of = optimizers.adam(0.02)

    def loss(params):
        return -jnp.mean(jnp.sum(apply(params, x) * labels, 1))

    @arrax.jit
    def train(state):
        return arrax.lax.fori_loop(0, 200, lambda i, s: update(i, arrax.grad(loss)(params_of(s)), s), state)

    params = init(KEY, (-1, 2))[1]
    assert loss(params_of(train(start(params)))) < 0.2 * loss(params)
