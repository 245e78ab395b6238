"""The example programs learn, at a small size, and draw."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "output" / "picture.png"
    yield path
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_convolutional_network_learns_digits(picture):
    example = load("convolutions")
    images, labels = example.load_digits()
    params, losses = example.train(images[:640], labels[:640], epochs=4, batch=32)
    seen = np.asarray(example.read(params, images[1000:1200]))
    assert losses[-1] < 0.5 * losses[0] and np.mean(seen == labels[1000:1200]) > 0.7
    example.draw(losses, images[1000:1200], labels[1000:1200], seen, picture)


def test_the_transformer_learns_letters(picture):
    example = load("language")
    text = example.load_text()
    assert len(text.numbers) > 100_000
    shape = example.Shape(len(text.alphabet), context=16, width=32, heads=2, layers=1)
    params, losses = example.train(text, shape, steps=60, batch=8)
    assert np.mean(losses[-5:]) < 0.8 * losses[0]
    unread = example.unread_loss(params, text, shape)
    assert losses[-1] / 2 < unread < losses[0]
    written = example.write(params, text, shape, "MENENIUS", 20)
    assert written.startswith("MENENIUS") and len(written) == 28 and set(written) <= set(text.alphabet)
    example.draw(losses, unread, picture)


def test_the_gaussian_process_learns_its_noise(picture):
    example = load("gaussian_process")
    x, y = example.sample(30)
    params = example.train(x, y, starts=2)
    assert 0.1 < np.exp(params[2]) < 0.4
    places = np.linspace(-3, 3, 20, dtype=np.float32)
    fit = example.predict(params, x, y, places)
    assert (
        np.mean(np.abs(np.asarray(fit.mean) - np.sin(2 * places) - 0.3 * places) < 4 * np.asarray(fit.deviation) + 0.1)
        > 0.9
    )
    example.draw(x, y, places, fit, picture)


def test_the_orbit_is_fitted(picture):
    example = load("orbits")
    seen = example.sightings(20)
    params, losses = example.fit(seen, steps=300)
    assert losses[-1] < 0.05 * losses[0] and abs(float(params["pull"]) - 1) < 0.2
    example.draw(seen, params, losses, picture)
