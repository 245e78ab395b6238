"""Learn handwritten digits with a convolutional network of layers from ``stax``.

Run it with ``python examples/convolutions.py``. It prints how many unseen digits it reads right, and draws
``examples/output/convolutions.png``: the loss, and the digits that it reads wrong.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

import arrax
import arrax.numpy as jnp
from arrax.example_libraries import optimizers, stax

HERE = Path(__file__).resolve().parent
EPOCHS, BATCH, TEST_SIZE = 12, 64, 360

init_network, apply_network = stax.serial(
    stax.Conv(16, (3, 3), padding="SAME"), stax.Relu, stax.Conv(32, (3, 3), padding="SAME"), stax.Relu,
    stax.MaxPool((2, 2), (2, 2)), stax.Flatten, stax.Dense(64), stax.Relu, stax.Dense(10), stax.LogSoftmax,
)  # fmt: skip
start, update, params_of = optimizers.adam(optimizers.exponential_decay(2e-3, 200, 0.7))


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """Images of shape (n, 8, 8, 1) with numbers from 0 to 1, and which digit each shows, in random order."""
    with np.load(HERE / "digits.npz") as data:
        images = data["images"].reshape(-1, 8, 8, 1).astype(np.float32) / 16
        labels = data["labels"].astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    return images[order], labels[order]


def loss(params: Any, images: Any, labels: Any) -> Any:
    """Minus the mean logarithm of the share given to the right digit."""
    return -jnp.mean(jnp.take_along_axis(apply_network(params, images), labels[:, None], 1))


@arrax.jit
def learn(step: Any, state: Any, images: Any, labels: Any) -> tuple[Any, Any]:
    """The state after a step, and the loss before it."""
    value, slopes = arrax.value_and_grad(loss)(params_of(state), images, labels)
    return update(step, slopes, state), value


@arrax.jit
def read(params: Any, images: Any) -> Any:
    """The digits that the network sees."""
    return jnp.argmax(apply_network(params, images), -1)


def batches(count: int, epochs: int, size: int) -> Iterator[np.ndarray]:
    """Places of the images of each step, every image once in an epoch."""
    rng = np.random.default_rng(1)
    for _ in range(epochs):
        order = rng.permutation(count)
        yield from (order[n : n + size] for n in range(0, count - size + 1, size))


def train(images: np.ndarray, labels: np.ndarray, epochs: int = EPOCHS, batch: int = BATCH) -> tuple[Any, list[float]]:
    """Trained parameters, and the losses on the way."""
    state = start(init_network(arrax.random.key(0), (-1, 8, 8, 1))[1])
    losses = []
    for step, places in enumerate(tqdm(list(batches(len(labels), epochs, batch)), desc="learning")):
        state, value = learn(step, state, images[places], labels[places])
        losses.append(value)
    return params_of(state), [float(value) for value in losses]


def draw(losses: list[float], images: np.ndarray, labels: np.ndarray, seen: np.ndarray, path: Path) -> None:
    """The loss, and up to eight digits that were read wrong."""
    figure = Figure(figsize=(9, 4))
    axes = figure.subplots(1, 2)
    axes[0].semilogy(losses)
    axes[0].set(xlabel="step", ylabel="loss")
    wrong = np.flatnonzero(seen != labels)[:8]
    tiles = [np.pad(images[n, :, :, 0], 1, constant_values=1) for n in wrong] or [np.ones((10, 10))]
    axes[1].imshow(np.concatenate(tiles, 1), cmap="gray_r")
    axes[1].set_title("read wrong: " + ", ".join(f"{labels[n]} as {seen[n]}" for n in wrong), fontsize=7)
    axes[1].axis("off")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    images, labels = load_digits()
    params, losses = train(images[TEST_SIZE:], labels[TEST_SIZE:])
    seen = np.asarray(read(params, images[:TEST_SIZE]))
    print(f"{np.mean(seen == labels[:TEST_SIZE]):.1%} of {TEST_SIZE} unseen digits are read right")
    draw(losses, images[:TEST_SIZE], labels[:TEST_SIZE], seen, HERE / "output" / "convolutions.png")


if __name__ == "__main__":
    main()
