"""Learn handwritten digits: a small network, trained with jit, grad and vmap.

Run it with ``make demo``. It prints how many unseen digits it reads right, how long a step takes compiled and not, and
the program that arrax makes of the loss; it draws ``examples/output/digits.png``.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

import arrax
import arrax.numpy as jnp
from arrax import random

HERE = Path(__file__).resolve().parent
LAYERS = (64, 128, 64, 10)
EPOCHS, BATCH, TEST_SIZE = 40, 64, 360
LEARNING_RATE, MOMENTUM, VARIANCE = 2e-3, 0.9, 0.999

Params = list[dict[str, arrax.Array]]


class Digits(NamedTuple):
    """Images as vectors of 64 numbers between 0 and 1, and which digit each shows."""

    images: np.ndarray
    labels: np.ndarray


class Adam(NamedTuple):
    """The optimiser's memory: steps taken, running means of gradients and of their squares."""

    count: arrax.Array
    mean: Params
    square: Params


def load_digits() -> tuple[Digits, Digits]:
    """The digits to learn from and those to be tested on."""
    with np.load(HERE / "digits.npz") as data:
        images = data["images"].reshape(-1, 64).astype(np.float32) / 16
        labels = data["labels"].astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    test, train = order[:TEST_SIZE], order[TEST_SIZE:]
    return Digits(images[train], labels[train]), Digits(images[test], labels[test])


# The network


def init_params(key: arrax.Array, sizes: tuple[int, ...] = LAYERS) -> Params:
    """Random weights, scaled so that each layer keeps the size of what it is given, and zero biases."""
    keys = random.split(key, len(sizes) - 1)
    return [
        {"weights": random.normal(key, (n_out, n_in)) * jnp.sqrt(2 / n_in), "bias": jnp.zeros(n_out)}
        for key, n_in, n_out in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def predict(params: Params, image: arrax.Array) -> arrax.Array:
    """The log-probability of each digit, for a single image: batches are vmap's business."""
    *hidden, last = params
    for layer in hidden:
        image = jnp.maximum(layer["weights"] @ image + layer["bias"], 0)
    scores = last["weights"] @ image + last["bias"]
    highest = jnp.max(scores)
    return scores - highest - jnp.log(jnp.sum(jnp.exp(scores - highest)))


predict_batch = arrax.vmap(predict, in_axes=(None, 0))


def loss(params: Params, images: arrax.Array, labels: arrax.Array) -> arrax.Array:
    """Mean surprise at the right answers."""
    rows = predict_batch(params, images)
    return -jnp.mean(jnp.take_along_axis(rows, labels[:, None], axis=1))


def accuracy(params: Params, digits: Digits) -> float:
    """The share of images for which the most probable digit is the right one."""
    answers = jnp.argmax(arrax.jit(predict_batch)(params, digits.images), axis=1)
    return float(jnp.mean(answers == digits.labels))


# The training


def init_adam(params: Params) -> Adam:
    """A memory of nothing."""
    zeros = arrax.tree_util.tree_map(jnp.zeros_like, params)
    return Adam(jnp.zeros((), jnp.int32), zeros, zeros)


def train_step(
    params: Params, adam: Adam, images: arrax.Array, labels: arrax.Array
) -> tuple[Params, Adam, arrax.Array]:
    """One step of Adam (Kingma and Ba, 2015) on a batch: new parameters, new memory, the loss before."""
    value, slopes = arrax.value_and_grad(loss)(params, images, labels)
    tree_map = arrax.tree_util.tree_map
    count = adam.count + 1
    mean = tree_map(lambda m, g: MOMENTUM * m + (1 - MOMENTUM) * g, adam.mean, slopes)
    square = tree_map(lambda s, g: VARIANCE * s + (1 - VARIANCE) * g * g, adam.square, slopes)
    rate = LEARNING_RATE * jnp.sqrt(1 - VARIANCE**count) / (1 - MOMENTUM**count)
    params = tree_map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
    return params, Adam(count, mean, square), value


def train(params: Params, digits: Digits) -> tuple[Params, list[float]]:
    """The parameters after some epochs, and the loss of every step."""
    step, adam = arrax.jit(train_step), init_adam(params)
    shuffle, losses = np.random.default_rng(1), []
    with tqdm(range(EPOCHS), desc="training", unit="epoch", disable=None) as epochs:
        for _ in epochs:
            order = shuffle.permutation(len(digits.labels))
            for start in range(0, len(order) - BATCH + 1, BATCH):
                batch = order[start : start + BATCH]
                params, adam, value = step(params, adam, digits.images[batch], digits.labels[batch])
                losses.append(value)
            epochs.set_postfix(loss=f"{float(losses[-1]):.4f}")
    return params, [float(value) for value in losses]


# What can be seen


def milliseconds(step: Callable[..., Any], arguments: tuple[Any, ...], repeats: int) -> float:
    """The shortest time of a step, after one that may compile."""
    arrax.block_until_ready(step(*arguments))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        arrax.block_until_ready(step(*arguments))
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def print_step_times(params: Params, digits: Digits) -> None:
    """How much compiling a whole step saves."""
    arguments = (params, init_adam(params), digits.images[:BATCH], digits.labels[:BATCH])
    compiled = milliseconds(arrax.jit(train_step), arguments, 50)
    with arrax.disable_jit():
        stepwise = milliseconds(arrax.jit(train_step), arguments, 3)
    print(f"step time: {compiled:.2f} ms compiled, {stepwise:.2f} ms one operation after the other")


def print_program() -> None:
    """The loss of a tiny network as arrax sees it."""
    tiny = init_params(random.key(0), (4, 3))
    print(
        "\nThis is what arrax makes of Python functions, and compiles: the loss of a 4-to-3 network on two examples.\n"
    )
    print(arrax.make_jaxpr(loss)(tiny, jnp.zeros((2, 4)), jnp.zeros(2, jnp.int32)))


def draw(params: Params, digits: Digits, losses: list[float], path: Path) -> None:
    """The loss over the steps, and unseen digits with the network's answers; wrong ones red, the truth in brackets."""
    answers = np.asarray(jnp.argmax(predict_batch(params, digits.images), axis=1))
    wrong = np.flatnonzero(answers != digits.labels)[:8]
    right = np.flatnonzero(answers == digits.labels)[: 32 - len(wrong)]
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    curve, grid = figure.subfigures(1, 2)
    axes = curve.subplots()
    axes.semilogy(losses, linewidth=0.7)
    axes.set(xlabel="step", ylabel="loss", title="training")
    grid.suptitle("unseen digits and the network's answers (red: wrong, the truth in brackets)", fontsize=10)
    for picture, index in zip(grid.subplots(4, 8).flat, [*right, *wrong], strict=True):
        picture.imshow(digits.images[index].reshape(8, 8), cmap="gray_r")
        if index in wrong:
            picture.set_title(f"{answers[index]} ({digits.labels[index]})", color="red", fontsize=9)
        else:
            picture.set_title(str(answers[index]), fontsize=9)
        picture.set_axis_off()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Train, test, show."""
    train_digits, test_digits = load_digits()
    params, losses = train(init_params(random.key(0)), train_digits)
    share = accuracy(params, test_digits)
    print(f"test accuracy: {share:.4f} ({len(test_digits.labels)} digits it has not seen)")
    print_step_times(params, train_digits)
    print_program()
    path = HERE / "output" / "digits.png"
    draw(params, test_digits, losses, path)
    print(f"\npictures: {path}")
    if share < 0.96:
        raise SystemExit("It has learned less than it should: 0.96 is the least to be expected.")


if __name__ == "__main__":
    main()
