"""Training steps of networks, and optimizers."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from benchmarks.programs.program import Program

Tree = Any


def normal(lib: ModuleType, seed: int, *shapes: tuple[int, ...], scale: float = 0.1) -> list[Any]:
    """Normal numbers, an array for each shape."""
    keys = lib.random.split(lib.random.key(seed), len(shapes))
    return [scale * lib.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)]


def adam(lib: ModuleType, jnp: ModuleType, params: Tree, grads: Tree, means: Tree, squares: Tree, count: Any) -> Any:
    """A step of Adam."""
    means = lib.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, grads)
    squares = lib.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, squares, grads)
    first, second = 1 - 0.9**count, 1 - 0.999**count
    update = lambda p, m, v: p - 1e-3 * (m / first) / (jnp.sqrt(v / second) + 1e-8)  # noqa: E731
    return lib.tree.map(update, params, means, squares), means, squares


def adam_of(leaves: int) -> Program:
    """Adam over so many arrays of 64 x 64."""

    def make(lib: ModuleType, jnp: ModuleType) -> Any:
        params = {f"w{i}": jnp.full((64, 64), 0.01 * i) for i in range(leaves)}
        zeros = {name: jnp.zeros((64, 64)) for name in params}

        @lib.jit
        def step(params: Tree, grads: Tree, means: Tree, squares: Tree, count: Any) -> Any:
            return adam(lib, jnp, params, grads, means, squares, count)

        return step, (params, params, zeros, zeros, jnp.float32(3))

    return Program(f"Adam over {leaves} arrays", make)


def dense_step(lib: ModuleType, jnp: ModuleType) -> Any:
    """A network of dense layers with dropout, trained by SGD with momentum."""
    weights = normal(lib, 0, (784, 256), (256, 256), (256, 10))
    speeds = [jnp.zeros_like(w) for w in weights]
    images, labels = normal(lib, 1, (128, 784))[0], jnp.arange(128) % 10

    def loss(weights: Tree, key: Any) -> Any:
        x = images
        for w in weights[:-1]:
            key, use = lib.random.split(key)
            x = lib.nn.relu(x @ w)
            x = jnp.where(lib.random.bernoulli(use, 0.9, x.shape), x / 0.9, 0)
        logits = lib.nn.log_softmax(x @ weights[-1])
        return -jnp.mean(logits[jnp.arange(128), labels])

    @lib.jit
    def step(weights: Tree, speeds: Tree, key: Any) -> Any:
        value, grads = lib.value_and_grad(loss)(weights, key)
        speeds = lib.tree.map(lambda s, g: 0.9 * s - 0.01 * g, speeds, grads)
        return value, lib.tree.map(jnp.add, weights, speeds), speeds

    return step, (weights, speeds, lib.random.key(3))


def mixed_precision(lib: ModuleType, jnp: ModuleType) -> Any:
    """Dense layers in bfloat16, their weights kept in float32."""
    weights = normal(lib, 0, (256, 512), (512, 512), (512, 256))
    x = normal(lib, 1, (64, 256))[0]

    def loss(weights: Tree, x: Any) -> Any:
        y = x.astype(jnp.bfloat16)
        for w in weights:
            y = lib.nn.gelu(y @ w.astype(jnp.bfloat16))
        return jnp.mean((y.astype(jnp.float32) - x) ** 2)

    @lib.jit
    def step(weights: Tree, x: Any) -> Any:
        value, grads = lib.value_and_grad(loss)(weights, x)
        return value, lib.tree.map(lambda w, g: w - 0.1 * g, weights, grads)

    return step, (weights, x)


def _norm(jnp: ModuleType, x: Any) -> Any:
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)


def _attention(lib: ModuleType, jnp: ModuleType, layer: Tree, x: Any, heads: int) -> Any:
    batch, length, width = x.shape
    query, key, value = jnp.split((x @ layer["qkv"]).reshape(batch, length, heads, -1), 3, axis=-1)
    scores = jnp.einsum("bihd,bjhd->bhij", query, key) / (width // heads) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhij,bjhd->bihd", lib.nn.softmax(scores, axis=-1), value)
    return mixed.reshape(batch, length, width) @ layer["out"]


def transformer(layers: int) -> Program:
    """A language model of some layers, with Adam."""

    def make(lib: ModuleType, jnp: ModuleType) -> Any:
        width, heads, length = 64, 4, 64
        shapes = {
            "qkv": (width, 3 * width),
            "out": (width, width),
            "up": (width, 4 * width),
            "down": (4 * width, width),
        }
        blocks = [
            dict(zip(shapes, normal(lib, seed, *shapes.values()), strict=True)) for seed in range(layers)
        ]  # fmt: skip
        table = normal(lib, 99, (256, width))[0]
        params = {"table": table, "blocks": blocks}
        zeros = lib.tree.map(jnp.zeros_like, params)
        tokens = (jnp.arange(4 * length).reshape(4, length) * 7) % 256

        def loss(params: Tree, tokens: Any) -> Any:
            x = params["table"][tokens]
            for layer in params["blocks"]:
                x = x + _attention(lib, jnp, layer, _norm(jnp, x), heads)
                x = x + lib.nn.gelu(_norm(jnp, x) @ layer["up"]) @ layer["down"]
            logits = lib.nn.log_softmax(_norm(jnp, x) @ params["table"].T)[:, :-1]
            return -jnp.mean(jnp.take_along_axis(logits, tokens[:, 1:, None], axis=-1))

        @lib.jit
        def step(params: Tree, means: Tree, squares: Tree, tokens: Any, count: Any) -> Any:
            value, grads = lib.value_and_grad(loss)(params, tokens)
            return value, adam(lib, jnp, params, grads, means, squares, count)

        return step, (params, zeros, zeros, tokens, jnp.float32(1))

    return Program(f"transformer of {layers} layers", make)


def convolved(lib: ModuleType, x: Any, kernel: Any, stride: int = 1) -> Any:
    """Images, channels last, convolved with a kernel."""
    return lib.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )  # fmt: skip


def _cross_entropy(lib: ModuleType, jnp: ModuleType, logits: Any, labels: Any) -> Any:
    return -jnp.mean(jnp.sum(lib.nn.log_softmax(logits) * lib.nn.one_hot(labels, 10), -1))


def convolutional(lib: ModuleType, jnp: ModuleType) -> Any:
    """Two convolutions with pooling, a dense layer."""
    params = normal(lib, 0, (3, 3, 1, 16), (3, 3, 16, 32), (7 * 7 * 32, 10))
    images, labels = normal(lib, 1, (32, 28, 28, 1))[0], jnp.arange(32) % 10

    def loss(params: Tree, images: Any) -> Any:
        x = images
        for kernel in params[:2]:
            x = lib.nn.relu(convolved(lib, x, kernel))
            x = lib.lax.reduce_window(x, -jnp.inf, lib.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return _cross_entropy(lib, jnp, x.reshape(32, -1) @ params[2], labels)

    @lib.jit
    def step(params: Tree, images: Any) -> Any:
        value, grads = lib.value_and_grad(loss)(params, images)
        return value, lib.tree.map(lambda p, g: p - 0.01 * g, params, grads)

    return step, (params, images)


def convolutional_steps(lib: ModuleType, jnp: ModuleType) -> Any:
    """Ten steps of a network of convolutions, a batch each, in a loop."""
    params = normal(lib, 0, (3, 3, 3, 16), (3, 3, 16, 32), (32, 10))
    batches, labels = normal(lib, 1, (10, 16, 16, 16, 3))[0], jnp.arange(16) % 10

    def loss(params: Tree, images: Any) -> Any:
        x = lib.nn.relu(convolved(lib, images, params[0]))
        x = lib.nn.relu(convolved(lib, x, params[1], 2))
        return _cross_entropy(lib, jnp, x.mean((1, 2)) @ params[2], labels)

    @lib.jit
    def steps(params: Tree, batches: Any) -> Any:
        def step(params: Tree, images: Any) -> Any:
            value, grads = lib.value_and_grad(loss)(params, images)
            return lib.tree.map(lambda p, g: p - 0.01 * g, params, grads), value

        return lib.lax.scan(step, params, batches)

    return steps, (params, batches)


def residual(lib: ModuleType, jnp: ModuleType) -> Any:
    """Six residual blocks with batch normalisation."""
    params = {
        "in": normal(lib, 0, (3, 3, 3, 16))[0],
        "blocks": [normal(lib, s, (3, 3, 16, 16), (3, 3, 16, 16)) for s in range(6)],
    }
    images = normal(lib, 1, (8, 16, 16, 3))[0]

    def normalised(x: Any) -> Any:
        mean, var = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
        return (x - mean) * lib.lax.rsqrt(var + 1e-5)

    def loss(params: Tree, images: Any) -> Any:
        x = convolved(lib, images, params["in"])
        for first, second in params["blocks"]:
            y = lib.nn.relu(normalised(convolved(lib, x, first)))
            x = x + normalised(convolved(lib, y, second))
        return jnp.mean(jnp.mean(x, (1, 2)) ** 2)

    @lib.jit
    def step(params: Tree, images: Any) -> Any:
        value, grads = lib.value_and_grad(loss)(params, images)
        return value, lib.tree.map(lambda p, g: p - 0.01 * g, params, grads)

    return step, (params, images)


def _recurrent(lib: ModuleType, jnp: ModuleType, cell: Any, gates: int, states: int) -> Any:
    width = 64
    params = normal(lib, 0, (width, gates * width), (width, gates * width), (gates * width,))
    xs = normal(lib, 1, (100, 16, width), scale=1.0)[0]
    start = tuple(jnp.zeros((16, width)) for _ in range(states))

    def loss(params: Tree, xs: Any) -> Any:
        _, hidden = lib.lax.scan(lambda state, x: cell(params, state, x), start, xs)
        return jnp.mean((hidden[:-1] - xs[1:]) ** 2)

    return lib.jit(lib.value_and_grad(loss)), (params, xs)


def lstm(lib: ModuleType, jnp: ModuleType) -> Any:
    """Long short-term memory over 100 steps, with gradients."""

    def cell(params: Tree, state: Any, x: Any) -> Any:
        hidden, memory = state
        i, f, g, o = jnp.split(x @ params[0] + hidden @ params[1] + params[2], 4, axis=-1)
        memory = lib.nn.sigmoid(f) * memory + lib.nn.sigmoid(i) * jnp.tanh(g)
        hidden = lib.nn.sigmoid(o) * jnp.tanh(memory)
        return (hidden, memory), hidden

    return _recurrent(lib, jnp, cell, 4, 2)


def gru(lib: ModuleType, jnp: ModuleType) -> Any:
    """A gated recurrent unit over 100 steps, with gradients."""

    def cell(params: Tree, state: Any, x: Any) -> Any:
        (hidden,) = state
        xr, xz, xn = jnp.split(x @ params[0] + params[2], 3, axis=-1)
        hr, hz, hn = jnp.split(hidden @ params[1], 3, axis=-1)
        z = lib.nn.sigmoid(xz + hz)
        hidden = (1 - z) * jnp.tanh(xn + lib.nn.sigmoid(xr + hr) * hn) + z * hidden
        return (hidden,), hidden

    return _recurrent(lib, jnp, cell, 3, 1)


def rnn_forward(lib: ModuleType, jnp: ModuleType) -> Any:
    """A plain recurrence forward, 200 steps."""
    w, u = normal(lib, 0, (64, 64), (64, 64))
    xs = normal(lib, 1, (200, 16, 64), scale=1.0)[0]

    @lib.jit
    def run(w: Any, u: Any, xs: Any) -> Any:
        return lib.lax.scan(lambda h, x: (jnp.tanh(h @ w + x @ u), None), jnp.zeros((16, 64)), xs)[0]

    return run, (w, u, xs)


def diffusion(lib: ModuleType, jnp: ModuleType) -> Any:
    """A denoising step: random times and noise, sinusoidal embedding, gradients."""
    params = normal(lib, 0, (2 + 64, 128), (128, 128), (128, 2))
    points = normal(lib, 1, (256, 2), scale=1.0)[0]

    def loss(params: Tree, points: Any, key: Any) -> Any:
        of_time, of_noise = lib.random.split(key)
        time = lib.random.uniform(of_time, (256, 1))
        noise = lib.random.normal(of_noise, points.shape)
        angles = time * jnp.exp(jnp.linspace(0, 6, 32))
        x = jnp.concatenate([jnp.cos(time) * points + jnp.sin(time) * noise, jnp.sin(angles), jnp.cos(angles)], -1)
        for w in params[:-1]:
            x = lib.nn.silu(x @ w)
        return jnp.mean((x @ params[-1] - noise) ** 2)

    @lib.jit
    def step(params: Tree, points: Any, key: Any) -> Any:
        value, grads = lib.value_and_grad(loss)(params, points, key)
        return value, lib.tree.map(lambda p, g: p - 0.01 * g, params, grads)

    return step, (params, points, lib.random.key(5))


def autoencoder(lib: ModuleType, jnp: ModuleType) -> Any:
    """A variational autoencoder's step."""
    params = normal(lib, 0, (196, 128), (128, 32), (16, 128), (128, 196))
    images = lib.nn.sigmoid(normal(lib, 1, (64, 196), scale=1.0)[0])

    def loss(params: Tree, images: Any, key: Any) -> Any:
        mean, log_scale = jnp.split(lib.nn.relu(images @ params[0]) @ params[1], 2, axis=-1)
        code = mean + jnp.exp(log_scale) * lib.random.normal(key, mean.shape)
        logits = lib.nn.relu(code @ params[2]) @ params[3]
        likelihood = jnp.sum(images * logits - lib.nn.softplus(logits), -1)
        divergence = 0.5 * jnp.sum(jnp.exp(2 * log_scale) + mean**2 - 1 - 2 * log_scale, -1)
        return jnp.mean(divergence - likelihood)

    @lib.jit
    def step(params: Tree, images: Any, key: Any) -> Any:
        value, grads = lib.value_and_grad(loss)(params, images, key)
        return value, lib.tree.map(lambda p, g: p - 0.001 * g, params, grads)

    return step, (params, images, lib.random.key(5))


def embeddings(lib: ModuleType, jnp: ModuleType) -> Any:
    """Rows looked up in a table, whose gradients are added to it."""
    table = normal(lib, 0, (5000, 32))[0]
    left, right = (jnp.arange(2048) * 7) % 5000, (jnp.arange(2048) * 13) % 5000

    def loss(table: Any, left: Any, right: Any) -> Any:
        scores = table[left] @ table[right].T
        return -jnp.mean(jnp.diag(lib.nn.log_softmax(scores[:256, :256])))

    @lib.jit
    def step(table: Any, left: Any, right: Any) -> Any:
        value, grad = lib.value_and_grad(loss)(table, left, right)
        return value, table - 0.1 * grad

    return step, (table, left, right)


def per_example(lib: ModuleType, jnp: ModuleType) -> Any:
    """Gradients of each example, clipped and averaged."""
    params = normal(lib, 0, (64, 64), (64, 10))
    xs, ys = normal(lib, 1, (128, 64), scale=1.0)[0], jnp.arange(128) % 10

    def loss(params: Tree, x: Any, y: Any) -> Any:
        return -lib.nn.log_softmax(jnp.tanh(x @ params[0]) @ params[1])[y]

    @lib.jit
    def step(params: Tree, xs: Any, ys: Any) -> Any:
        grads = lib.vmap(lib.grad(loss), (None, 0, 0))(params, xs, ys)
        squares = sum(jnp.sum(g * g, (1, 2)) for g in grads)
        factors = jnp.minimum(1, 1 / jnp.sqrt(squares))
        return [p - jnp.mean(factors[:, None, None] * g, 0) for p, g in zip(params, grads, strict=True)]

    return step, (params, xs, ys)


def flat_parameters(lib: ModuleType, jnp: ModuleType) -> Any:
    """A network of forty arrays that are parts of one vector, and a step of gradient descent on that."""
    ravel = importlib.import_module(f"{lib.__name__}.flatten_util").ravel_pytree
    widths = [64] * 20 + [10]
    layers = [(w, jnp.zeros(w.shape[1])) for w in normal(lib, 0, *zip(widths, widths[1:], strict=False))]
    vector, unravel = ravel(layers)
    x = normal(lib, 1, (128, 64), scale=1.0)[0]

    def loss(vector: Any, x: Any) -> Any:
        *hidden, (last, bias) = unravel(vector)
        for w, b in hidden:
            x = x + jnp.tanh(x @ w + b)
        return jnp.mean((x @ last + bias) ** 2)

    @lib.jit
    def step(vector: Any, x: Any) -> Any:
        value, gradient = lib.value_and_grad(loss)(vector, x)
        return value, vector - 0.1 * gradient / jnp.sqrt(jnp.sum(gradient**2))

    return step, (vector, x)


PROGRAMS = [
    *map(adam_of, (10, 100, 300)),
    *map(transformer, (2, 12)),
    Program("dense network with dropout", dense_step),
    Program("dense network in bfloat16", mixed_precision),
    Program("convolutional network", convolutional),
    Program("convolutional network, ten steps in a loop", convolutional_steps),
    Program("residual network", residual),
    Program("LSTM", lstm),
    Program("GRU", gru),
    Program("recurrence forward", rnn_forward),
    Program("diffusion step", diffusion),
    Program("variational autoencoder", autoencoder),
    Program("embeddings", embeddings),
    Program("gradients per example", per_example),
    Program("parameters as one vector", flat_parameters),
]
