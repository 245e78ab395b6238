"""Fit a curve through noisy points with a Gaussian process, its length scale and noise learned from the points.

Run it with ``python examples/gaussian_process.py``. It prints what it has learned, and draws
``examples/output/gaussian_process.png``: the points, the curve, and where it may lie.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

import arrax
import arrax.numpy as jnp
from arrax.scipy import linalg
from arrax.scipy.optimize import minimize

HERE = Path(__file__).resolve().parent
NOISE, POINTS = 0.2, 60


class Fit(NamedTuple):
    """Means and standard deviations of the curve at places."""

    mean: Any
    deviation: Any


def sample(count: int = POINTS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Places and noisy heights of a curve."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-4, 4, count))
    y = np.sin(2 * x) + 0.3 * x + NOISE * rng.normal(size=count)
    return x.astype(np.float32), y.astype(np.float32)


def covariance(params: Any, x: Any, y: Any) -> Any:
    """How alike heights at two places are: less, the farther they are apart."""
    height, length, _ = jnp.exp(params)
    return height**2 * jnp.exp(-0.5 * jnp.square((x[:, None] - y) / length))


def factor(params: Any, x: Any) -> Any:
    """The Cholesky factor of the covariance of noisy heights."""
    noise = jnp.exp(params[2])
    return linalg.cholesky(covariance(params, x, x) + (noise**2 + 1e-5) * jnp.eye(len(x)), lower=True)


def surprise(params: Any, x: Any, y: Any) -> Any:
    """Minus the logarithm of the heights' density, per point."""
    lower = factor(params, x)
    scaled = linalg.solve_triangular(lower, y, lower=True)
    return (0.5 * jnp.sum(scaled**2) + jnp.sum(jnp.log(jnp.diagonal(lower)))) / len(x) + 0.5 * np.log(2 * np.pi)


@arrax.jit
def learn(x: Any, y: Any, start: Any) -> Any:
    """The parameters (logarithms of height, length and noise) under which the heights surprise least, and how much."""
    found = minimize(surprise, start, (x, y), method="BFGS", options={"gtol": 1e-3, "maxiter": 60})
    return found.x, found.fun


@arrax.jit
def predict(params: Any, x: Any, y: Any, places: Any) -> Fit:
    """The curve at places."""
    lower = factor(params, x)
    across = linalg.solve_triangular(lower, covariance(params, x, places), lower=True)
    scaled = linalg.solve_triangular(lower, y, lower=True)
    variance = jnp.exp(2 * params[0]) - jnp.sum(across**2, 0)
    return Fit(across.T @ scaled, jnp.sqrt(jnp.maximum(variance, 0)))


def train(x: np.ndarray, y: np.ndarray, starts: int = 4) -> np.ndarray:
    """The best parameters from several starts."""
    rng = np.random.default_rng(1)
    found = [learn(x, y, rng.normal(size=3).astype(np.float32) * 0.5) for _ in tqdm(range(starts), desc="learning")]
    return np.asarray(min((f for f in found if np.isfinite(f[1])), key=lambda pair: float(pair[1]))[0])


def draw(x: np.ndarray, y: np.ndarray, places: np.ndarray, fit: Fit, path: Path) -> None:
    """The points, the curve, and two standard deviations on either side."""
    figure = Figure(figsize=(8, 4))
    axes = figure.subplots()
    mean, deviation = np.asarray(fit.mean), np.asarray(fit.deviation)
    axes.fill_between(places, mean - 2 * deviation, mean + 2 * deviation, alpha=0.3)
    axes.plot(places, mean)
    axes.plot(x, y, "k.")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    x, y = sample()
    params = train(x, y)
    height, length, noise = np.exp(params)
    print(f"height {height:.2f}, length scale {length:.2f}, noise {noise:.2f} (it was {NOISE})")
    places = np.linspace(-5, 5, 300, dtype=np.float32)
    draw(x, y, places, predict(params, x, y, places), HERE / "output" / "gaussian_process.png")


if __name__ == "__main__":
    main()
