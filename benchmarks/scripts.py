"""Whole scripts, from the start of the process to its end: imports, parameters, training or simulation, what is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.case import Measured
from benchmarks.cold_start import first_process

PROGRAM = """
import {{library}}, {{library}}.numpy as jnp
from benchmarks.scripts import SCRIPTS
SCRIPTS["{name}"]({{library}}, jnp)
"""


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Measured]:
    """Each script in a process of its own, which finds nothing on disk."""
    for name in SCRIPTS:
        run = first_process(lib.__name__, PROGRAM.format(name=name))
        yield Measured(name, lambda run=run: run()[0])


def digits(lib: ModuleType, jnp: ModuleType) -> None:
    """A dense network, mapped over examples and trained by gradient descent; its accuracy after each epoch."""
    sizes = (784, 512, 512, 10)
    keys = lib.random.split(lib.random.key(0), len(sizes))
    shapes = zip(sizes[:-1], sizes[1:], keys, strict=False)
    params = [(0.01 * lib.random.normal(key, (n, m)), jnp.zeros(n)) for m, n, key in shapes]
    numbers = np.random.default_rng(0)
    images = numbers.normal(size=(1280, 784)).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[numbers.integers(0, 10, 1280)]

    def predict(params: Any, image: Any) -> Any:
        for weights, offset in params[:-1]:
            image = lib.nn.relu(weights @ image + offset)
        weights, offset = params[-1]
        return lib.nn.log_softmax(weights @ image + offset)

    predicted = lib.vmap(predict, in_axes=(None, 0))

    @lib.jit
    def update(params: Any, images: Any, labels: Any) -> Any:
        slopes = lib.grad(lambda params: -jnp.mean(predicted(params, images) * labels))(params)
        return lib.tree.map(lambda p, slope: p - 0.01 * slope, params, slopes)

    for epoch in range(2):
        for start in range(0, len(images), 128):
            params = update(params, images[start : start + 128], labels[start : start + 128])
        hits = jnp.argmax(predicted(params, images), axis=1) == jnp.argmax(labels, axis=1)
        print(epoch, float(jnp.mean(hits)))


def line(lib: ModuleType, jnp: ModuleType) -> None:
    """A line through points by gradient descent, without jit."""
    of_places, of_noise = lib.random.split(lib.random.key(0))
    places = lib.random.normal(of_places, (200, 5))
    values = places @ jnp.arange(5.0) + 0.1 * lib.random.normal(of_noise, (200,))
    slopes, offset = jnp.zeros(5), jnp.zeros(())
    loss = lib.value_and_grad(lambda w, b: jnp.mean((places @ w + b - values) ** 2), argnums=(0, 1))
    for step in range(200):
        value, (by_slopes, by_offset) = loss(slopes, offset)
        slopes, offset = slopes - 0.1 * by_slopes, offset - 0.1 * by_offset
        if step % 50 == 0:
            print(step, float(value))
    print(slopes, offset)


def letters(lib: ModuleType, jnp: ModuleType) -> None:
    """A recurrent network of letters: trained, then sampled letter by letter."""
    keys = lib.random.split(lib.random.key(0), 4)
    shapes = {"embed": (64, 128), "enter": (128, 128), "keep": (128, 128), "leave": (128, 64)}
    params = {
        name: 0.1 * lib.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }

    def cell(params: Any, state: Any, letter: Any) -> tuple[Any, Any]:
        state = jnp.tanh(params["embed"][letter] @ params["enter"] + state @ params["keep"])
        return state, state @ params["leave"]

    def loss(params: Any, text: Any) -> Any:
        start = jnp.zeros((text.shape[0], 128))
        _, logits = lib.lax.scan(lambda state, letter: cell(params, state, letter), start, text[:, :-1].T)
        return -jnp.mean(jnp.take_along_axis(lib.nn.log_softmax(logits), text[:, 1:].T[..., None], axis=-1))

    @lib.jit
    def step(params: Any, text: Any) -> tuple[Any, Any]:
        value, slopes = lib.value_and_grad(loss)(params, text)
        return lib.tree.map(lambda p, slope: p - 0.5 * slope, params, slopes), value

    numbers = np.random.default_rng(0)
    for _ in range(20):
        params, value = step(params, jnp.asarray(numbers.integers(0, 64, (16, 50))))
    print(float(value))
    advance, key = lib.jit(cell), lib.random.key(1)
    state, letter, drawn = jnp.zeros((1, 128)), jnp.array([3]), []
    for _ in range(50):
        key, one = lib.random.split(key)
        state, logits = advance(params, state, letter)
        letter = lib.random.categorical(one, logits)
        drawn.append(int(letter[0]))
    print(drawn)


def posterior(lib: ModuleType, jnp: ModuleType) -> None:
    """Four Markov chains of 2,000 steps for a mean and a width, and what they say of both."""
    data = jnp.asarray(np.random.default_rng(0).normal(1.5, 2.0, 500), jnp.float32)

    def density(at: Any) -> Any:
        mean, log_width = at
        widths = jnp.exp(log_width)
        return -0.5 * jnp.sum(((data - mean) / widths) ** 2) - data.size * log_width - 0.5 * (mean / 10) ** 2

    @lib.jit
    def chain(key: Any) -> tuple[Any, Any]:
        def step(state: Any, key: Any) -> tuple[Any, Any]:
            at, value = state
            of_move, of_choice = lib.random.split(key)
            other = at + 0.05 * lib.random.normal(of_move, (2,))
            new = density(other)
            taken = jnp.log(lib.random.uniform(of_choice)) < new - value
            state = jnp.where(taken, other, at), jnp.where(taken, new, value)
            return state, (state[0], taken)

        start = jnp.zeros(2)
        return lib.lax.scan(step, (start, density(start)), lib.random.split(key, 2000))[1]

    places, taken = lib.vmap(chain)(lib.random.split(lib.random.key(0), 4))
    kept = places[:, 500:]
    print(kept.mean((0, 1)), jnp.std(kept, axis=(0, 1)), taken.mean())
    print(jnp.percentile(kept[..., 0], jnp.array([5.0, 50.0, 95.0])))


def heat(lib: ModuleType, jnp: ModuleType) -> None:
    """Five hundred steps of heat in a plate, looked at now and then."""

    @lib.jit
    def step(u: Any) -> Any:
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return u + 0.2 * (around - 4 * u)

    u = jnp.zeros((128, 128)).at[64, 64].set(100.0)
    for number in range(500):
        u = step(u)
        if number % 100 == 0:
            print(number, float(u.sum()), float(u.max()))


def analysis(lib: ModuleType, jnp: ModuleType) -> None:
    """What one tries on data at a prompt: some thirty functions, one after the other."""
    x = jnp.linspace(0, 10, 1000)
    y = jnp.sin(x) + 0.1 * jnp.cos(5 * x)
    a = jnp.array(np.random.default_rng(0).normal(size=(20, 20)), dtype=jnp.float32)
    print(jnp.trapezoid(y, x), jnp.gradient(y)[:3], jnp.interp(5.5, x, y), jnp.polyfit(x, y, 3))
    print(jnp.linalg.det(a), jnp.linalg.norm(a), jnp.linalg.inv(a)[0, :3], jnp.linalg.eigvalsh(a @ a.T)[:3])
    print(jnp.linalg.qr(a)[1][0, 0], jnp.linalg.svd(a)[1][:3], jnp.einsum("ij,jk->ik", a, a)[0, :3])
    print(jnp.histogram(y, bins=10)[0], jnp.unique(jnp.round(y))[:5], jnp.median(y), jnp.std(y))
    print(jnp.cumsum(y)[-1], jnp.sort(y)[:3], jnp.argsort(y)[:3], jnp.where(y > 0.5)[0][:5])
    print(jnp.fft.fft(y)[:3], jnp.convolve(y, jnp.ones(5) / 5, mode="same")[:3], jnp.corrcoef(jnp.stack([x, y])))
    print(
        jnp.kron(jnp.eye(2), jnp.ones((2, 2))), jnp.outer(x[:3], y[:3]), jnp.tile(x[:3], 2), jnp.meshgrid(x[:2], y[:2])
    )


def valley(lib: ModuleType, jnp: ModuleType) -> None:
    """Newton's method with whole second derivatives, without jit."""

    def height(x: Any) -> Any:
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    x = jnp.zeros(10)
    for _ in range(15):
        x = x - jnp.linalg.solve(lib.hessian(height)(x) + 1e-3 * jnp.eye(10), lib.grad(height)(x))
    print(x, height(x))


def resampling(lib: ModuleType, jnp: ModuleType) -> None:
    """The spread of a mean, a median and a width over 1,000 samples drawn anew."""
    data = lib.random.gamma(lib.random.key(0), 2.0, (500,))

    def statistics(key: Any) -> Any:
        sample = lib.random.choice(key, data, (500,))
        return jnp.array([jnp.mean(sample), jnp.median(sample), jnp.std(sample, ddof=1)])

    found = lib.jit(lib.vmap(statistics))(lib.random.split(lib.random.key(1), 1000))
    print(found.mean(0), jnp.quantile(found, jnp.array([0.025, 0.975]), axis=0))


SCRIPTS: dict[str, Callable[[ModuleType, ModuleType], None]] = {
    "a dense network for digits": digits,
    "a line by gradient descent, no jit": line,
    "a recurrent network of letters": letters,
    "Markov chains": posterior,
    "heat in a plate": heat,
    "thirty functions of data": analysis,
    "Newton's method, no jit": valley,
    "resampling": resampling,
}
