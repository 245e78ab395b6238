"""Programs with one pattern at their heart: stencils, prefixes, updates in loops, normalizations over leading axes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from benchmarks.programs.learning import normal
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


PROGRAMS = [
    Program("wave equation", wave),
    Program("game of life", life),
    Program("selective scan", selective_scan),
    Program("L-BFGS", quasi_newton),
    Program("Sinkhorn", transport),
    Program("t-SNE", embedding),
]
