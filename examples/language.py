"""Train a small transformer to write on in the manner of a text, letter by letter.

Run it with ``python examples/language.py``. It prints what the network writes before and after it has read most of
``coriolanus.txt``, a play of Shakespeare's, and draws ``examples/output/language.png``: the loss on the way, and on the last
part of the play, which it has not read.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

import arrax
import arrax.numpy as jnp
from arrax import lax, nn, random
from arrax.example_libraries import optimizers

HERE = Path(__file__).resolve().parent
STEPS, BATCH, UNREAD = 1500, 16, 8000  # steps, windows in each, letters that are kept for the end

start, update, params_of = optimizers.adam(optimizers.exponential_decay(3e-3, 500, 0.6))


class Shape(NamedTuple):
    """How large a network is."""

    letters: int
    context: int = 64
    width: int = 96
    heads: int = 4
    layers: int = 2


class Text(NamedTuple):
    """A text as numbers of letters, and its letters in their order."""

    numbers: np.ndarray
    alphabet: str


def load_text() -> Text:
    text = (HERE / "coriolanus.txt").read_text(encoding="utf-8")
    alphabet = "".join(sorted(set(text)))
    return Text(np.array([alphabet.index(c) for c in text], np.int32), alphabet)


# The network


def init_params(key: arrax.Array, shape: Shape) -> dict[str, Any]:
    """Random weights; each layer keeps the size of what passes through."""
    keys = iter(random.split(key, 3 + 4 * shape.layers))
    dense, small = nn.initializers.lecun_normal(), nn.initializers.normal(0.02)
    width = shape.width
    layers = [
        {
            "attend": dense(next(keys), (width, 3 * width)), "join": dense(next(keys), (width, width)),
            "widen": dense(next(keys), (width, 4 * width)), "narrow": dense(next(keys), (4 * width, width)),
        }
        for _ in range(shape.layers)
    ]  # fmt: skip
    return {
        "letters": small(next(keys), (shape.letters, width)), "places": small(next(keys), (shape.context, width)),
        "out": dense(next(keys), (width, shape.letters)), "layers": layers,
    }  # fmt: skip


def apply_layer(layer: dict[str, Any], x: Any, heads: int) -> Any:
    """Attention to what was before, then a network for each letter; both are added to what came in."""
    batch, length, width = x.shape
    parts = (nn.standardize(x) @ layer["attend"]).reshape(batch, length, 3, heads, width // heads)
    seen = nn.dot_product_attention(parts[:, :, 0], parts[:, :, 1], parts[:, :, 2], is_causal=True)
    x = x + seen.reshape(x.shape) @ layer["join"]
    return x + nn.gelu(nn.standardize(x) @ layer["widen"]) @ layer["narrow"]


def scores(params: dict[str, Any], letters: Any, heads: int) -> Any:
    """For each place, how likely each letter is to come next (unnormed logarithms)."""
    x = params["letters"][letters] + params["places"][: letters.shape[1]]
    for layer in params["layers"]:
        x = apply_layer(layer, x, heads)
    return nn.standardize(x) @ params["out"]


# Learning


def loss(params: dict[str, Any], window: Any, heads: int) -> Any:
    """Minus the mean logarithm of the share given to the letter that came, in nats."""
    shares = nn.log_softmax(scores(params, window[:, :-1], heads))
    return -jnp.mean(jnp.take_along_axis(shares, window[:, 1:, None], -1))


def unread_loss(params: dict[str, Any], text: Text, shape: Shape) -> float:
    """The loss on the last part of the text, window by window."""
    letters = text.numbers[-UNREAD:]
    count = (len(letters) - 1) // shape.context
    windows = np.stack([letters[n * shape.context :][: shape.context + 1] for n in range(count)])
    return float(arrax.jit(loss, static_argnums=2)(params, windows, shape.heads))


def train(text: Text, shape: Shape, steps: int = STEPS, batch: int = BATCH) -> tuple[dict[str, Any], list[float]]:
    """Trained parameters, and the losses on the way."""
    numbers = jnp.asarray(text.numbers[:-UNREAD])

    @arrax.jit
    def learn(step: Any, state: Any) -> tuple[Any, Any]:
        places = random.randint(random.fold_in(random.key(1), step), (batch, 1), 0, len(numbers) - shape.context)
        window = numbers[places + jnp.arange(shape.context + 1)]
        value, slopes = arrax.value_and_grad(loss)(params_of(state), window, shape.heads)
        return update(step, optimizers.clip_grads(slopes, 1.0), state), value

    state, losses = start(init_params(random.key(0), shape)), []
    for step in tqdm(range(steps), desc="reading"):
        state, value = learn(step, state)
        losses.append(value)
    return params_of(state), [float(value) for value in losses]


def write(params: dict[str, Any], text: Text, shape: Shape, beginning: str, count: int = 200, seed: int = 2) -> str:
    """The beginning of a text, and as many letters that the network goes on with."""
    known = np.array([text.alphabet.index(c) for c in beginning], np.int32)[-shape.context :]
    window = jnp.zeros(shape.context, np.int32).at[: len(known)].set(known)

    def next_letter(state: tuple[Any, Any], key: Any) -> tuple[Any, Any]:
        window, length = state
        likely = scores(params, window[None], shape.heads)[0, length - 1]
        letter = random.categorical(key, likely / 0.7).astype(np.int32)
        full = length == shape.context
        window = jnp.where(full, jnp.roll(window, -1), window)
        window = window.at[jnp.where(full, shape.context - 1, length)].set(letter)
        return (window, jnp.minimum(length + 1, shape.context)), letter

    go_on = arrax.jit(lambda keys: lax.scan(next_letter, (window, jnp.int32(len(known))), keys)[1])
    letters = np.asarray(go_on(random.split(random.key(seed), count)))
    return beginning + "".join(text.alphabet[n] for n in letters)


def draw(losses: list[float], unread: float, path: Path) -> None:
    figure = Figure(figsize=(7, 4))
    axes = figure.subplots()
    axes.plot(np.array(losses) / np.log(2), label="what it reads")
    axes.axhline(unread / np.log(2), color="tab:orange", label="what it has not read, at the end")
    axes.set(xlabel="step", ylabel="bits per letter")
    axes.legend()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    text = load_text()
    shape = Shape(len(text.alphabet))
    print(f"before: {write(init_params(random.key(0), shape), text, shape, 'CORIOLANUS:', 80)!r}")
    params, losses = train(text, shape)
    unread = unread_loss(params, text, shape)
    print(f"after, at {unread / np.log(2):.2f} bits per letter that it has not read:")
    print(write(params, text, shape, "CORIOLANUS:", 400))
    draw(losses, unread, HERE / "output" / "language.png")


if __name__ == "__main__":
    main()
