"""Find a planet's start and the pull of its sun from noisy sightings, by derivatives through an equation of motion.

Run it with ``python examples/orbits.py``. It prints what it has found, and draws ``examples/output/orbits.png``.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.example_libraries import optimizers

HERE = Path(__file__).resolve().parent
STEP, SIGHTINGS, BETWEEN, NOISE = 0.02, 50, 8, 0.02
TRUTH = {"place": np.array([1.0, 0.0], np.float32), "speed": np.array([0.0, 1.1], np.float32), "pull": np.float32(1.0)}
GUESS = {
    "place": np.array([1.2, -0.1], np.float32),
    "speed": np.array([0.1, 1.0], np.float32),
    "pull": np.float32(0.85),
}

start, update, params_of = optimizers.adam(optimizers.exponential_decay(0.02, 800, 0.5))


def acceleration(place: Any, pull: Any) -> Any:
    """The pull of a sun at the origin."""
    return -pull * place / (jnp.sum(place**2) + 1e-3) ** 1.5


def advance(state: tuple[Any, Any], pull: Any) -> tuple[Any, Any]:
    """One step of Runge and Kutta's method of fourth order."""

    def slope(state: tuple[Any, Any]) -> tuple[Any, Any]:
        return state[1], acceleration(state[0], pull)

    def moved(by: tuple[Any, Any], factor: float) -> tuple[Any, Any]:
        return state[0] + factor * STEP * by[0], state[1] + factor * STEP * by[1]

    k1 = slope(state)
    k2 = slope(moved(k1, 0.5))
    k3 = slope(moved(k2, 0.5))
    k4 = slope(moved(k3, 1.0))
    return tuple(x + STEP / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True))


def orbit(params: Any, sightings: int = SIGHTINGS) -> Any:
    """The places at the times of the sightings, array of shape (sightings, 2)."""

    def watch(state: tuple[Any, Any], _: Any) -> tuple[Any, Any]:
        state = lax.fori_loop(0, BETWEEN, lambda _, s: advance(s, params["pull"]), state)
        return state, state[0]

    return lax.scan(watch, (params["place"], params["speed"]), None, length=sightings)[1]


def loss(params: Any, seen: Any) -> Any:
    """The mean squared distance between the orbit and the sightings."""
    return jnp.mean(jnp.sum((orbit(params, len(seen)) - seen) ** 2, -1))


@arrax.jit
def learn(step: Any, state: Any, seen: Any) -> tuple[Any, Any]:
    """The state after a step, and the loss before it."""
    value, slopes = arrax.value_and_grad(loss)(params_of(state), seen)
    return update(step, slopes, state), value


def fit(seen: np.ndarray, steps: int = 3000) -> tuple[Any, list[float]]:
    """What fits the sightings best, and the losses on the way."""
    state, losses = start(GUESS), []
    for step in tqdm(range(steps), desc="fitting"):
        state, value = learn(step, state, seen)
        losses.append(value)
    return params_of(state), [float(value) for value in losses]


def sightings(count: int = SIGHTINGS, seed: int = 0) -> np.ndarray:
    """Noisy places of the true planet."""
    true = np.asarray(arrax.jit(lambda params: orbit(params, count))(TRUTH))
    return true + NOISE * np.random.default_rng(seed).normal(size=true.shape).astype(np.float32)


def draw(seen: np.ndarray, params: Any, losses: list[float], path: Path) -> None:
    """The sightings, the first guess, the orbit found, and the loss."""
    figure = Figure(figsize=(9, 4))
    left, right = figure.subplots(1, 2)
    for label, values in (("guess", GUESS), ("found", params)):
        places = np.asarray(orbit(values))
        left.plot(places[:, 0], places[:, 1], label=label)
    left.plot(seen[:, 0], seen[:, 1], "k.", label="seen")
    left.legend()
    left.axis("equal")
    right.semilogy(losses)
    right.set(xlabel="step", ylabel="mean squared distance")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    seen = sightings()
    params, losses = fit(seen)
    print(f"pull {float(params['pull']):.3f} (it is {TRUTH['pull']}), start {np.asarray(params['place']).round(3)}, "
          f"speed {np.asarray(params['speed']).round(3)}")  # fmt: skip
    draw(seen, params, losses, HERE / "output" / "orbits.png")


if __name__ == "__main__":
    main()
