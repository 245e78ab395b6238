"""A small transformer over a sequence of vectors, as a program of realistic size."""

from types import ModuleType
from typing import Any

WIDTH, HEADS, LENGTH, LAYERS = 64, 4, 32, 6


def init(lib: ModuleType, jnp: ModuleType, layers: int = LAYERS) -> list[dict[str, Any]]:
    """Parameters of each layer."""
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    keys = iter(lib.random.split(lib.random.key(0), layers * len(shapes)))
    return [
        {name: lib.random.normal(next(keys), shape) * 0.1 for name, shape in shapes.items()}
        | {"scale": jnp.ones((2, WIDTH))}
        for _ in range(layers)
    ]


def forward(jnp: ModuleType, layers: list[dict[str, Any]], x: Any) -> Any:
    """What the layers make of ``x``, of shape (LENGTH, WIDTH)."""
    for layer in layers:
        x = x + attend(jnp, layer, normalise(jnp, x, layer["scale"][0]))
        hidden = jnp.tanh(normalise(jnp, x, layer["scale"][1]) @ layer["up"])
        x = x + hidden @ layer["down"]
    return x


def attend(jnp: ModuleType, layer: dict[str, Any], x: Any) -> Any:
    """Causal attention with several heads."""
    length = x.shape[0]
    query, key, value = jnp.split((x @ layer["qkv"]).reshape(length, HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("ihd,jhd->hij", query, key) / jnp.sqrt(query.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    scores = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    scores = scores / jnp.sum(scores, axis=-1, keepdims=True)
    return jnp.einsum("hij,jhd->ihd", scores, value).reshape(length, -1) @ layer["out"]


def normalise(jnp: ModuleType, x: Any, scale: Any) -> Any:
    """Each row with mean 0 and variance 1, then scaled."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return scale * centred / jnp.sqrt(jnp.mean(centred * centred, axis=-1, keepdims=True) + 1e-6)
