"""Programs with one pattern at their heart: stencils, prefixes, updates in loops, reductions over leading axes, windows, checks."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from benchmarks.programs.learning import convolved, normal
from benchmarks.programs.program import Program


def wave(lib: ModuleType, jnp: ModuleType) -> Any:
    """A hundred steps of the wave equation in two dimensions."""
    x = jnp.linspace(-1, 1, 128)
    start = jnp.exp(-30 * (x[:, None] ** 2 + x**2))

    @lib.jit
    def run(u: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            u, v = state
            neighbours = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
            v = v + 0.1 * (neighbours - 4 * u)
            u = u + 0.1 * v
            return (u, v), u[64, 64]

        return lib.lax.scan(step, (u, jnp.zeros_like(u)), None, length=100)

    return run, (start,)


def life(lib: ModuleType, jnp: ModuleType) -> Any:
    """A hundred generations of the game of life."""
    world = (normal(lib, 0, (128, 128))[0] > 0).astype(jnp.int32)

    @lib.jit
    def run(world: Any) -> Any:
        def step(_: Any, world: Any) -> Any:
            shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
            count = sum(jnp.roll(world, shift, (0, 1)) for shift in shifts)
            return jnp.where((count == 3) | ((world == 1) & (count == 2)), 1, 0)

        return lib.lax.fori_loop(0, 100, step, world)

    return run, (world,)


def selective_scan(lib: ModuleType, jnp: ModuleType) -> Any:
    """A state space layer whose steps depend on its input, by an associative scan, with gradients."""
    x, *weights = normal(lib, 0, (2, 128, 16), (16, 16), (16, 8), (16, 8), scale=0.5)

    def loss(weights: Any, x: Any) -> Any:
        step = lib.nn.softplus(x @ weights[0])
        decay = jnp.exp(-step[..., None] * jnp.arange(1.0, 9.0))
        given = (step * x)[..., None] * (x @ weights[1])[:, :, None]
        joined = lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1])  # noqa: E731
        state = lib.lax.associative_scan(joined, (decay, given), axis=1)[1]
        return jnp.mean(jnp.einsum("btds,bts->btd", state, x @ weights[2]) ** 2)

    return lib.jit(lib.value_and_grad(loss)), (weights, x)


def quasi_newton(lib: ModuleType, jnp: ModuleType) -> Any:
    """L-BFGS with a line search: loops in a loop, and updates of single rows."""
    kept, size = 5, 50

    def height(x: Any) -> Any:
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def direction(slope: Any, moves: Any, changes: Any, scales: Any) -> Any:
        def down(k: Any, state: Any) -> Any:
            q, weights = state
            j = kept - 1 - k
            weight = scales[j] * (moves[j] @ q)
            return q - weight * changes[j], weights.at[j].set(weight)

        q, weights = lib.lax.fori_loop(0, kept, down, (slope, jnp.zeros(kept)))
        up = lambda j, r: r + moves[j] * (weights[j] - scales[j] * (changes[j] @ r))  # noqa: E731
        return -lib.lax.fori_loop(0, kept, up, 1e-3 * q)

    @lib.jit
    def run(x: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            x, slope, moves, changes, scales = state
            along = direction(slope, moves, changes, scales)
            least, rise = height(x), slope @ along
            too_far = lambda t: (height(x + t * along) > least + 1e-4 * t * rise) & (t > 1e-8)  # noqa: E731
            new = x + lib.lax.while_loop(too_far, lambda t: t / 2, 1.0) * along
            new_slope = lib.grad(height)(new)
            moves = jnp.roll(moves, -1, 0).at[-1].set(new - x)
            changes = jnp.roll(changes, -1, 0).at[-1].set(new_slope - slope)
            scale = 1 / jnp.maximum((new - x) @ (new_slope - slope), 1e-10)
            return new, new_slope, moves, changes, jnp.roll(scales, -1).at[-1].set(scale)

        rows = jnp.zeros((kept, size))
        return lib.lax.fori_loop(0, 40, step, (x, lib.grad(height)(x), rows, rows, jnp.zeros(kept)))[0]

    return run, (jnp.zeros(size),)


def transport(lib: ModuleType, jnp: ModuleType) -> Any:
    """Sinkhorn's algorithm for two clouds of points, with gradients."""
    x, y = normal(lib, 0, (200, 2), (300, 2), scale=1.0)

    def cost(x: Any, y: Any) -> Any:
        distances = jnp.sum((x[:, None] - y[None]) ** 2, -1)

        def step(_: Any, state: Any) -> Any:
            f, g = state
            f = -0.1 * lib.nn.logsumexp((g[None] - distances) / 0.1 - jnp.log(300.0), axis=1)
            return f, -0.1 * lib.nn.logsumexp((f[:, None] - distances) / 0.1 - jnp.log(200.0), axis=0)

        f, g = lib.lax.fori_loop(0, 50, step, (jnp.zeros(200), jnp.zeros(300)))
        return jnp.sum(jnp.exp((lib.lax.stop_gradient(f[:, None] + g[None]) - distances) / 0.1) * distances)

    return lib.jit(lib.value_and_grad(cost)), (x, y)


def embedding(lib: ModuleType, jnp: ModuleType) -> Any:
    """Five steps of t-SNE."""
    x, start = normal(lib, 0, (300, 10), (300, 2), scale=1.0)

    @lib.jit
    def run(x: Any, y: Any) -> Any:
        apart = jnp.sum((x[:, None] - x) ** 2, -1) + 1e9 * jnp.eye(300)
        wanted = lib.nn.softmax(-apart)
        wanted = (wanted + wanted.T) / 600

        def divergence(y: Any) -> Any:
            near = (1 - jnp.eye(300)) / (1 + jnp.sum((y[:, None] - y) ** 2, -1))
            return jnp.sum(wanted * jnp.log((wanted + 1e-9) / (near / near.sum() + 1e-9)))

        def step(state: Any, _: Any) -> Any:
            y, speed = state
            speed = 0.8 * speed - 50 * lib.grad(divergence)(y)
            return (y + speed, speed), None

        return lib.lax.scan(step, (y, jnp.zeros_like(y)), None, length=5)[0][0]

    return run, (x, start)


def pooling(lib: ModuleType, jnp: ModuleType) -> Any:
    """A classifier of images with max pooling, with gradients."""
    kernels = [*normal(lib, 0, (3, 3, 3, 16), scale=0.2), *normal(lib, 1, (3, 3, 16, 32), scale=0.1)]
    (weights,), (images,) = normal(lib, 2, (8 * 8 * 32, 10), scale=0.05), normal(lib, 3, (16, 32, 32, 3), scale=1.0)

    def loss(kernels: Any, weights: Any) -> Any:
        x, layout = images, ("NHWC", "HWIO", "NHWC")
        for kernel in kernels:
            x = lib.nn.relu(lib.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout))
            x = lib.lax.reduce_window(x, -jnp.inf, lib.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        logits = lib.nn.log_softmax(x.reshape(16, -1) @ weights)
        return -logits[jnp.arange(16), jnp.arange(16) % 10].mean()

    return lib.jit(lib.value_and_grad(loss, (0, 1))), (kernels, weights)


def random_field(lib: ModuleType, jnp: ModuleType) -> Any:
    """A linear chain of labels: its likelihood with gradients, and the best labels of each sequence."""
    scores, moves = normal(lib, 0, (32, 50, 12), (12, 12), scale=1.0)
    labels = (scores[..., :1] > 0).astype(jnp.int32)[..., 0]

    def loss(scores: Any, moves: Any) -> Any:
        def one(scores: Any, labels: Any) -> Any:
            step = lambda total, score: (lib.nn.logsumexp(total[:, None] + moves, axis=0) + score, None)  # noqa: E731
            total = lib.lax.scan(step, scores[0], scores[1:])[0]
            chosen = jnp.take_along_axis(scores, labels[:, None], 1).sum() + moves[labels[:-1], labels[1:]].sum()
            return lib.nn.logsumexp(total) - chosen

        return lib.vmap(one)(scores, labels).mean()

    def best(scores: Any, moves: Any) -> Any:
        def step(total: Any, score: Any) -> Any:
            through = total[:, None] + moves
            return through.max(0) + score, through.argmax(0)

        total, before = lib.lax.scan(step, scores[0], scores[1:])
        return lib.lax.scan(lambda label, row: (row[label], label), total.argmax(), before, reverse=True)[1]

    @lib.jit
    def run(scores: Any, moves: Any) -> Any:
        return lib.value_and_grad(loss, (0, 1))(scores, moves), lib.vmap(best, (0, None))(scores, moves)

    return run, (scores, moves)


def tomography(lib: ModuleType, jnp: ModuleType) -> Any:
    """Five steps of gradient descent from projections of an image: updates of bins, and lookups of them."""
    size = 64
    image = jnp.abs(normal(lib, 0, (size, size), scale=1.0)[0])
    places = jnp.arange(size) - size / 2 + 0.5

    def projected(image: Any) -> Any:
        def one(angle: Any) -> Any:
            along = places[:, None] * jnp.cos(angle) + places * jnp.sin(angle) + size / 2
            first = jnp.floor(along).astype(jnp.int32)
            part = along - first
            bins = jnp.zeros(size + 2).at[jnp.clip(first, 0, size)].add(image * (1 - part))
            return bins.at[jnp.clip(first + 1, 0, size + 1)].add(image * part)

        return lib.vmap(one)(jnp.linspace(0, jnp.pi, 60))

    @lib.jit
    def run(measured: Any) -> Any:
        def step(image: Any, _: Any) -> Any:
            slope = lib.grad(lambda image: jnp.sum((projected(image) - measured) ** 2) / 2)(image)
            return jnp.maximum(image - 1e-4 * slope, 0), None

        return lib.lax.scan(step, jnp.zeros((size, size)), None, length=5)[0]

    return run, (projected(image),)


def checked_lookups(lib: ModuleType, jnp: ModuleType) -> Any:
    """A bag of words with checks of all indices."""
    checkify = importlib.import_module(f"{lib.__name__}.experimental.checkify")
    table, weights = normal(lib, 0, (5000, 64), (64, 20), scale=0.3)
    words = (jnp.arange(128 * 50) * 7919 % 5000).reshape(128, 50)

    def scored(table: Any, weights: Any, words: Any) -> Any:
        logits = lib.nn.log_softmax(jnp.tanh(table[words].mean(1)) @ weights)
        return logits[jnp.arange(128), words[:, 0] % 20].mean()

    return lib.jit(checkify.checkify(scored, errors=checkify.index_checks)), (table, weights, words)


def depthwise(lib: ModuleType, jnp: ModuleType) -> Any:
    """A classifier of images with separable convolutions, each channel first by itself, and its gradients."""
    (first,), (last,) = normal(lib, 0, (3, 3, 3, 32)), normal(lib, 1, (32, 10))
    layers = [normal(lib, 2 + seed, (3, 3, 1, 32), (1, 1, 32, 32)) for seed in range(3)]
    images, layout = normal(lib, 9, (8, 32, 32, 3), scale=1.0)[0], ("NHWC", "HWIO", "NHWC")

    def loss(weights: Any) -> Any:
        first, layers, last = weights
        x = lib.nn.relu(convolved(lib, images, first, 2))
        for alone, across in layers:
            y = lib.lax.conv_general_dilated(x, alone, (1, 1), "SAME", dimension_numbers=layout, feature_group_count=32)
            x = x + convolved(lib, lib.nn.relu(y), across)
        return -lib.nn.log_softmax(x.mean((1, 2)) @ last)[jnp.arange(8), jnp.arange(8)].mean()

    return lib.jit(lib.value_and_grad(loss)), ((first, layers, last),)


def edges(lib: ModuleType, jnp: ModuleType) -> Any:
    """Edges of an image by filters in two dimensions."""
    image = normal(lib, 0, (256, 256), scale=1.0)[0]
    convolved = importlib.import_module(f"{lib.__name__}.scipy.signal").convolve2d

    @lib.jit
    def run(image: Any) -> Any:
        taps = jnp.exp(-0.5 * jnp.arange(-2.0, 3.0) ** 2)
        slope = jnp.outer(jnp.array([1.0, 2.0, 1.0]), jnp.array([1.0, 0.0, -1.0]))
        smooth = convolved(image, jnp.outer(taps, taps) / taps.sum() ** 2, mode="same")
        dx, dy = convolved(smooth, slope, mode="same"), convolved(smooth, slope.T, mode="same")
        strength = jnp.sqrt(dx**2 + dy**2)
        return strength, strength > 2 * strength.mean()

    return run, (image,)


def light(lib: ModuleType, jnp: ModuleType) -> Any:
    """A hundred steps of an electromagnetic wave between walls: parts of arrays are added to."""
    zeros = jnp.zeros((150, 150))

    @lib.jit
    def run(electric: Any) -> Any:
        def step(state: Any, time: Any) -> Any:
            e, hx, hy = state
            hx = hx.at[:, :-1].add(-0.5 * (e[:, 1:] - e[:, :-1]))
            hy = hy.at[:-1].add(0.5 * (e[1:] - e[:-1]))
            curl = hy[1:-1, 1:-1] - hy[:-2, 1:-1] - hx[1:-1, 1:-1] + hx[1:-1, :-2]
            e = e.at[1:-1, 1:-1].add(0.5 * curl).at[75, 75].add(jnp.sin(0.1 * time))
            return (e, hx, hy), e[100, 100]

        return lib.lax.scan(step, (electric, zeros, zeros), jnp.arange(100.0))

    return run, (zeros,)


def automaton(lib: ModuleType, jnp: ModuleType) -> Any:
    """Twenty steps of a neural cellular automaton: small convolutions in a loop, with gradients."""
    kernels = normal(lib, 0, (3, 3, 8, 32), (1, 1, 32, 8), scale=0.05)
    cells = normal(lib, 1, (4, 24, 24, 8), scale=0.5)[0]

    def loss(kernels: Any, cells: Any) -> Any:
        def step(x: Any, _: Any) -> Any:
            y = convolved(lib, lib.nn.relu(convolved(lib, x, kernels[0])), kernels[1])
            return x + 0.1 * jnp.tanh(y), None

        return jnp.mean(lib.lax.scan(lib.checkpoint(step), cells, None, length=20)[0] ** 2)

    return lib.jit(lib.value_and_grad(loss)), (kernels, cells)


def positions(lib: ModuleType, jnp: ModuleType) -> Any:
    """Patches of images with positions that are learned, through one layer, with gradients."""
    weights = normal(lib, 0, (48, 128), (64, 128), (128, 10), scale=0.1)
    patches = normal(lib, 1, (64, 64, 48), scale=1.0)[0]

    def loss(weights: Any, patches: Any) -> Any:
        x = lib.nn.gelu(patches @ weights[0] + weights[1])
        scores = lib.nn.log_softmax(x.mean(1) @ weights[2])
        return -scores[jnp.arange(64), jnp.arange(64) % 10].mean()

    return lib.jit(lib.value_and_grad(loss)), (weights, patches)


def blurred(lib: ModuleType, jnp: ModuleType) -> Any:
    """Twenty steps that sharpen an image which a wide kernel has blurred."""
    distances = jnp.arange(-7.0, 8.0) ** 2
    kernel = jnp.exp(-0.05 * (distances[:, None] + distances))
    image = normal(lib, 0, (128, 128), scale=1.0)[0]

    @lib.jit
    def run(image: Any) -> Any:
        blur = lambda x: lib.scipy.signal.convolve2d(x, kernel / kernel.sum(), mode="same")  # noqa: E731
        error = lambda x: jnp.sum((blur(x) - image) ** 2)  # noqa: E731
        step = lambda x, _: (x - 0.5 * lib.grad(error)(x), None)  # noqa: E731
        return lib.lax.scan(step, image, None, length=20)[0]

    return run, (image,)


def similarity(lib: ModuleType, jnp: ModuleType) -> Any:
    """How similar images are by averages over windows that overlap, with gradients."""
    one, other = (normal(lib, seed, (8, 64, 64, 3), scale=1.0)[0] for seed in (0, 1))

    def loss(x: Any, y: Any) -> Any:
        mean = lambda z: lib.lax.reduce_window(z, 0.0, lib.lax.add, (1, 5, 5, 1), (1, 1, 1, 1), "VALID") / 25  # noqa: E731
        a, b = mean(x), mean(y)
        spread, joint = mean(x * x) - a * a + mean(y * y) - b * b, mean(x * y) - a * b
        return -jnp.mean((2 * a * b + 0.01) * (2 * joint + 0.03) / ((a * a + b * b + 0.01) * (spread + 0.03)))

    return lib.jit(lib.value_and_grad(loss)), (one, other)


def shock(lib: ModuleType, jnp: ModuleType) -> Any:
    """A hundred steps of Burgers' equation on a ring of a hundred thousand cells."""
    start = 1.5 + jnp.sin(jnp.linspace(0, 2 * jnp.pi, 100_000, endpoint=False))

    @lib.jit
    def run(u: Any) -> Any:
        def step(_: Any, u: Any) -> Any:
            flux = u * u / 2
            return u - 0.1 * (flux - jnp.roll(flux, 1))

        return lib.lax.fori_loop(0, 100, step, u)

    return run, (start,)


PROGRAMS = [
    Program("wave equation", wave),
    Program("game of life", life),
    Program("selective scan", selective_scan),
    Program("L-BFGS", quasi_newton),
    Program("Sinkhorn", transport),
    Program("t-SNE", embedding),
    Program("max pooling", pooling),
    Program("conditional random field", random_field),
    Program("tomography", tomography),
    Program("checked lookups", checked_lookups),
    Program("separable convolutions", depthwise),
    Program("neural cellular automaton", automaton),
    Program("edges of an image", edges),
    Program("electromagnetic wave", light),
    Program("positions of patches", positions),
    Program("blurred image", blurred),
    Program("similarity of images", similarity),
    Program("shock wave", shock),
]
