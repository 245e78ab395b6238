"""Simulation, inference and optimization."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from benchmarks.programs.learning import normal
from benchmarks.programs.program import Program


def gaussian_process(lib: ModuleType, jnp: ModuleType) -> Any:
    """The log likelihood of a Gaussian process and its gradient."""
    x = jnp.linspace(0, 5, 128)
    y = jnp.sin(3 * x)

    def loss(params: Any, x: Any, y: Any) -> Any:
        scale, width, noise = jnp.exp(params)
        kernel = scale * jnp.exp(-0.5 * ((x[:, None] - x) / width) ** 2) + (noise + 1e-4) * jnp.eye(128)
        factor = jnp.linalg.cholesky(kernel)
        white = lib.lax.linalg.triangular_solve(factor, y[:, None], left_side=True, lower=True)
        return 0.5 * jnp.sum(white**2) + jnp.sum(jnp.log(jnp.diag(factor)))

    return lib.jit(lib.value_and_grad(loss)), (jnp.zeros(3), x, y)


def kalman(lib: ModuleType, jnp: ModuleType) -> Any:
    """A Kalman filter over 200 observations."""
    move = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)
    look = jnp.eye(2, 4)
    seen = normal(lib, 0, (200, 2), scale=1.0)[0]

    @lib.jit
    def run(seen: Any) -> Any:
        def step(state: Any, z: Any) -> Any:
            mean, cov = state
            mean, cov = move @ mean, move @ cov @ move.T + 0.01 * jnp.eye(4)
            spread = look @ cov @ look.T + 0.1 * jnp.eye(2)
            gain = jnp.linalg.solve(spread, look @ cov).T
            mean = mean + gain @ (z - look @ mean)
            return (mean, cov - gain @ look @ cov), mean

        return lib.lax.scan(step, (jnp.zeros(4), jnp.eye(4)), seen)[1]

    return run, (seen,)


def hamiltonian(lib: ModuleType, jnp: ModuleType) -> Any:
    """Hamiltonian Monte Carlo: 100 proposals of 10 leapfrog steps."""

    def energy(q: Any) -> Any:
        return 0.5 * jnp.sum(q**2) + jnp.sum((q[1:] - q[:-1] ** 2) ** 2)

    @lib.jit
    def run(q: Any, key: Any) -> Any:
        def propose(q: Any, key: Any) -> Any:
            of_speed, of_choice = lib.random.split(key)
            p = lib.random.normal(of_speed, q.shape)

            def leap(_: Any, state: Any) -> Any:
                q, p = state
                p = p - 0.025 * lib.grad(energy)(q)
                q = q + 0.05 * p
                return q, p - 0.025 * lib.grad(energy)(q)

            new, speed = lib.lax.fori_loop(0, 10, leap, (q, p))
            change = energy(q) + 0.5 * jnp.sum(p**2) - energy(new) - 0.5 * jnp.sum(speed**2)
            q = jnp.where(jnp.log(lib.random.uniform(of_choice)) < change, new, q)
            return q, q

        return lib.lax.scan(propose, q, lib.random.split(key, 100))[1]

    return run, (jnp.zeros(10), lib.random.key(0))


def neural_ode(lib: ModuleType, jnp: ModuleType) -> Any:
    """Runge-Kutta steps of a network under checkpoint, with gradients."""
    params = normal(lib, 0, (2, 64), (64, 2))
    start = normal(lib, 1, (32, 2), scale=1.0)[0]

    def slope(params: Any, y: Any) -> Any:
        return jnp.tanh(y @ params[0]) @ params[1]

    def loss(params: Any, y: Any) -> Any:
        @lib.checkpoint
        def step(y: Any, _: Any) -> Any:
            a = slope(params, y)
            b = slope(params, y + 0.05 * a)
            c = slope(params, y + 0.05 * b)
            d = slope(params, y + 0.1 * c)
            return y + 0.1 / 6 * (a + 2 * b + 2 * c + d), None

        return jnp.mean(lib.lax.scan(step, y, None, length=100)[0] ** 2)

    return lib.jit(lib.value_and_grad(loss)), (params, start)


def turbulence(lib: ModuleType, jnp: ModuleType) -> Any:
    """Twenty spectral steps of a flow in two dimensions."""
    n = 64
    k = jnp.fft.fftfreq(n, 1 / n)
    kx, ky = jnp.meshgrid(k, k, indexing="ij")
    square = kx**2 + ky**2
    inverse = jnp.where(square == 0, 0, 1 / jnp.where(square == 0, 1, square))
    start = normal(lib, 0, (n, n), scale=1.0)[0]

    @lib.jit
    def run(w: Any) -> Any:
        def step(_: Any, f: Any) -> Any:
            stream = f * inverse
            u, v = (jnp.fft.ifft2(1j * part * stream).real for part in (ky, -kx))
            wx, wy = (jnp.fft.ifft2(1j * part * f).real for part in (kx, ky))
            f = f - 0.001 * jnp.fft.fft2(u * wx + v * wy)
            return f / (1 + 0.0001 * square)

        return jnp.fft.ifft2(lib.lax.fori_loop(0, 20, step, jnp.fft.fft2(w))).real

    return run, (start,)


def bodies(lib: ModuleType, jnp: ModuleType) -> Any:
    """Ten leapfrog steps of 256 bodies."""
    q, p = normal(lib, 0, (256, 3), (256, 3), scale=1.0)

    def force(q: Any) -> Any:
        apart = q[None] - q[:, None]
        return jnp.sum(apart * (jnp.sum(apart**2, -1, keepdims=True) + 0.01) ** -1.5, 1)

    @lib.jit
    def run(q: Any, p: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            q, p = state
            p = p + 0.001 * force(q)
            return (q + 0.01 * p, p), jnp.sum(p**2)

        return lib.lax.scan(step, (q, p), None, length=10)

    return run, (q, p)


def clusters(lib: ModuleType, jnp: ModuleType) -> Any:
    """Twenty rounds of k-means."""
    points = normal(lib, 0, (4000, 8), scale=1.0)[0]

    @lib.jit
    def run(points: Any) -> Any:
        def step(_: Any, centres: Any) -> Any:
            distances = jnp.sum(points**2, 1)[:, None] - 2 * points @ centres.T + jnp.sum(centres**2, 1)
            nearest = lib.nn.one_hot(jnp.argmin(distances, 1), 16)
            return (nearest.T @ points) / jnp.maximum(nearest.sum(0), 1)[:, None]

        return lib.lax.fori_loop(0, 20, step, points[:16])

    return run, (points,)


def graph(lib: ModuleType, jnp: ModuleType) -> Any:
    """Two rounds of messages over a graph, with gradients."""
    params = normal(lib, 0, (32, 32), (64, 32), (32, 1))
    nodes = normal(lib, 1, (1000, 32), scale=1.0)[0]
    source, target = (jnp.arange(5000) * 31) % 1000, (jnp.arange(5000) * 17) % 1000

    def loss(params: Any, nodes: Any, source: Any, target: Any) -> Any:
        x = nodes
        for _ in range(2):
            messages = lib.nn.relu(x[source] @ params[0])
            gathered = lib.ops.segment_sum(messages, target, num_segments=1000)
            x = jnp.tanh(jnp.concatenate([x, gathered], -1) @ params[1])
        return jnp.mean((x @ params[2]) ** 2)

    return lib.jit(lib.value_and_grad(loss)), (params, nodes, source, target)


def alignment(lib: ModuleType, jnp: ModuleType) -> Any:
    """Smith-Waterman along diagonals, smoothed, with gradients."""
    scores = normal(lib, 0, (100, 120), scale=1.0)[0]

    def best(scores: Any) -> Any:
        rows, columns = scores.shape
        i = jnp.arange(rows)

        def step(state: Any, d: Any) -> Any:
            before, last = state
            j = d - i
            inside = (j >= 0) & (j < columns)
            here = jnp.where(inside, scores[i, jnp.clip(j, 0, columns - 1)], -1e9)
            options = [jnp.roll(before, 1).at[0].set(0) + here, last - 1, jnp.roll(last, 1).at[0].set(0) - 1]
            now = jnp.where(inside, lib.nn.logsumexp(jnp.stack([*options, jnp.zeros(rows)]), 0), 0)
            return (last, now), jnp.max(now)

        start = jnp.zeros(rows)
        return jnp.max(lib.lax.scan(step, (start, start), jnp.arange(rows + columns - 1))[1])

    return lib.jit(lib.value_and_grad(best)), (scores,)


def tensor_network(lib: ModuleType, jnp: ModuleType) -> Any:
    """The energy of a matrix product state and its gradient."""
    sites = normal(lib, 0, *[(16, 2, 16)] * 12, scale=0.3)
    coupling = jnp.diag(jnp.array([1.0, -1.0]))

    def energy(sites: Any) -> Any:
        norm, total = jnp.eye(16), 0.0
        for a, b in zip(sites[:-1], sites[1:], strict=True):
            pair = jnp.einsum("isj,jtk->istk", a, b)
            turned = jnp.einsum("istk,su,tv->iuvk", pair, coupling, coupling)
            total = total + jnp.einsum("il,istk,lstk->", norm, pair, turned)
            norm = jnp.einsum("il,isj,lsm->jm", norm, a, a)
            norm = norm / jnp.linalg.norm(norm)
        return total

    return lib.jit(lib.value_and_grad(energy)), (sites,)


def second_derivatives(lib: ModuleType, jnp: ModuleType) -> Any:
    """A network fitted to a differential equation: derivatives of derivatives."""
    params = normal(lib, 0, (1, 32), (32, 32), (32, 1), scale=0.5)
    points = jnp.linspace(0, 1, 128)

    def value(params: Any, t: Any) -> Any:
        x = t[None]
        for w in params[:-1]:
            x = jnp.tanh(x @ w)
        return (x @ params[-1])[0]

    def loss(params: Any, points: Any) -> Any:
        residual = lambda t: lib.grad(lib.grad(value, 1), 1)(params, t) + jnp.sin(t)  # noqa: E731
        return jnp.mean(lib.vmap(residual)(points) ** 2)

    return lib.jit(lib.value_and_grad(loss)), (params, points)


def newton(lib: ModuleType, jnp: ModuleType) -> Any:
    """Newton's method for logistic regression: Hessians and solves."""
    x = normal(lib, 0, (500, 20), scale=1.0)[0]
    y = (x[:, 0] > 0).astype(jnp.float32)

    def loss(w: Any) -> Any:
        return jnp.mean(lib.nn.softplus(x @ w) - y * (x @ w)) + 0.01 * jnp.sum(w**2)

    @lib.jit
    def run(w: Any) -> Any:
        step = lambda _, w: w - jnp.linalg.solve(lib.hessian(loss)(w), lib.grad(loss)(w))  # noqa: E731
        return lib.lax.fori_loop(0, 5, step, w)

    return run, (jnp.zeros(20),)


def hidden_markov(lib: ModuleType, jnp: ModuleType) -> Any:
    """The likelihood of a hidden Markov model by an associative scan, with gradients."""
    table = normal(lib, 0, (8, 8), scale=1.0)[0]
    seen = normal(lib, 1, (128, 8), scale=1.0)[0]

    def loss(table: Any, seen: Any) -> Any:
        moves = lib.nn.log_softmax(table)[None] + lib.nn.log_softmax(seen)[:, None, :]
        joined = lambda a, b: lib.nn.logsumexp(a[..., :, :, None] + b[..., None, :, :], axis=-2)  # noqa: E731
        return lib.nn.logsumexp(lib.lax.associative_scan(joined, moves)[-1])

    return lib.jit(lib.value_and_grad(loss)), (table, seen)


def images(lib: ModuleType, jnp: ModuleType) -> Any:
    """Blur, gradient, maxima of neighbourhoods and a histogram of an image."""
    image = normal(lib, 0, (256, 256), scale=1.0)[0]

    @lib.jit
    def run(image: Any) -> Any:
        taps = jnp.exp(-0.5 * jnp.arange(-3.0, 4.0) ** 2)
        smooth = lib.vmap(lambda row: jnp.convolve(row, taps, mode="same"))
        blurred = smooth(smooth(image).T).T
        dx, dy = jnp.gradient(blurred)
        strength = jnp.hypot(dx, dy)
        pooled = strength.reshape(128, 2, 128, 2).max((1, 3))
        return pooled, jnp.histogram(strength, 32)[0], jnp.where(strength > jnp.mean(strength), blurred, 0)

    return run, (image,)


def conjugate_gradients(lib: ModuleType, jnp: ModuleType) -> Any:
    """A linear system by conjugate gradients until it is solved."""
    half = normal(lib, 0, (200, 200))[0]
    matrix, right = half @ half.T + jnp.eye(200), jnp.ones(200)

    @lib.jit
    def run(matrix: Any, right: Any) -> Any:
        def step(state: Any) -> Any:
            x, r, p, square, count = state
            ap = matrix @ p
            alpha = square / (p @ ap)
            x, r = x + alpha * p, r - alpha * ap
            new = r @ r
            return x, r, r + new / square * p, new, count + 1

        goes_on = lambda state: (state[3] > 1e-8) & (state[4] < 200)  # noqa: E731
        return lib.lax.while_loop(goes_on, step, (jnp.zeros(200), right, right, right @ right, 0))

    return run, (matrix, right)


def long_chain(lib: ModuleType, jnp: ModuleType) -> Any:
    """A thousand operations in a row."""

    @lib.jit
    def run(x: Any) -> Any:
        for i in range(250):
            x = jnp.sin(x) * 1.01 + 0.1 * i - x
        return x

    return run, (jnp.linspace(0, 1, 100),)


def many_outputs(lib: ModuleType, jnp: ModuleType) -> Any:
    """Three hundred results."""
    tree = {f"a{i}": jnp.full((20, 20), 0.01 * i) for i in range(300)}
    return lib.jit(lambda tree: {name: jnp.tanh(x) * 2 for name, x in tree.items()}), (tree,)


PROGRAMS = [
    Program("Gaussian process", gaussian_process),
    Program("Kalman filter", kalman),
    Program("Hamiltonian Monte Carlo", hamiltonian),
    Program("neural ODE under checkpoint", neural_ode),
    Program("turbulence by FFT", turbulence),
    Program("N bodies", bodies),
    Program("k-means", clusters),
    Program("graph network", graph),
    Program("sequence alignment", alignment),
    Program("tensor network", tensor_network),
    Program("second derivatives", second_derivatives),
    Program("Newton's method", newton),
    Program("hidden Markov model", hidden_markov),
    Program("image filters", images),
    Program("conjugate gradients", conjugate_gradients),
    Program("a thousand operations", long_chain),
    Program("three hundred results", many_outputs),
]
