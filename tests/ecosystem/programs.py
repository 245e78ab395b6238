"""Programs as users of JAX write them, with arrax and with JAX: ``python -m tests.ecosystem.programs --reference PYTHON``.

Each runs in processes of its own: a hundred steps, whose losses both must give, the time of the first step (tracing and
compiling included, nothing stored before) and of the steady ones.
"""

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))  # where the file is run by its path

from benchmarks.report import Group, Row, merged, section, text_heading, text_row  # noqa: E402

RESULTS = ROOT / "benchmarks" / "RESULTS.md"
STEPS = 100
TOLERANCE = 2e-3  # relative, of losses that a hundred steps of training have made of other last digits


def images(jax, count):
    """Random pictures of a brightness that says their class."""
    labels = jax.random.randint(jax.random.key(7), (count,), 0, 10)
    pictures = jax.random.uniform(jax.random.key(8), (count, 28, 28, 1)) * (labels[:, None, None, None] + 1) / 10
    return pictures, labels


def trained(jax, optax, loss, params, rate=1e-3):
    """A step of training by Adam, and the state before the first one."""
    optimizer = optax.adam(rate)

    @jax.jit
    def step(state):
        params, inner, key = state
        key, use = jax.random.split(key)
        value, grads = jax.value_and_grad(loss)(params, use)
        updates, inner = optimizer.update(grads, inner, params)
        return (optax.apply_updates(params, updates), inner, key), value

    return step, (params, optimizer.init(params), jax.random.key(1))


def flax_convolutions(jax):
    """flax.linen: a convolutional classifier of pictures like MNIST's."""
    import flax.linen as nn
    import optax

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            for features in (16, 32):
                x = nn.avg_pool(nn.relu(nn.Conv(features, (3, 3))(x)), (2, 2), strides=(2, 2))
            return nn.Dense(10)(nn.relu(nn.Dense(64)(x.reshape(x.shape[0], -1))))

    pictures, labels = images(jax, 64)
    network = Network()

    def loss(params, key):
        logits = network.apply(params, pictures)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    return trained(jax, optax, loss, network.init(jax.random.key(0), pictures))


def flax_autoencoder(jax):
    """flax.linen: a variational autoencoder."""
    import flax.linen as nn
    import optax

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x, key):
            hidden = nn.relu(nn.Dense(128)(x))
            mean, logvar = nn.Dense(8)(hidden), nn.Dense(8)(hidden)
            z = mean + jax.numpy.exp(logvar / 2) * jax.random.normal(key, mean.shape)
            return nn.Dense(784)(nn.relu(nn.Dense(128)(z))), mean, logvar

    pictures = images(jax, 128)[0].reshape(128, -1)
    network = Network()

    def loss(params, key):
        logits, mean, logvar = network.apply(params, pictures, key)
        fit = optax.sigmoid_binary_cross_entropy(logits, pictures).sum(-1)
        return (fit - 0.5 * (1 + logvar - mean**2 - jax.numpy.exp(logvar)).sum(-1)).mean()

    return trained(jax, optax, loss, network.init(jax.random.key(0), pictures, jax.random.key(2)))


def optax_meta_learning(jax):
    """optax: steps of gradient descent inside of a loss, through which a rate of learning is learned."""
    import optax

    def inner_loss(w, x, y):
        return jax.numpy.mean((jax.numpy.tanh(x @ w["a"]) @ w["b"] - y) ** 2)

    start = {"a": 0.3 * jax.random.normal(jax.random.key(3), (4, 16)), "b": jax.numpy.zeros((16, 1))}

    def loss(params, key):
        x = jax.random.normal(key, (32, 4))
        y = jax.numpy.sin(x.sum(-1, keepdims=True))

        def descend(w, _):
            grads = jax.grad(inner_loss)(w, x, y)
            return jax.tree.map(lambda p, g: p - jax.numpy.exp(params["log_rate"]) * g, w, grads), None

        w, _ = jax.lax.scan(descend, params["start"], None, length=5)
        return inner_loss(w, x, y)

    return trained(jax, optax, loss, {"log_rate": jax.numpy.float32(-3), "start": start}, rate=1e-2)


def optax_language(jax):
    """optax: a small transformer that learns to continue a text."""
    import optax

    jnp = jax.numpy
    width, heads, context, letters = 64, 4, 32, 64
    keys = iter(jax.random.split(jax.random.key(5), 32))

    def matrix(*shape):
        return jax.random.normal(next(keys), shape) / shape[0] ** 0.5

    def block():
        return {"qkv": matrix(width, 3 * width), "out": matrix(width, width), "up": matrix(width, 4 * width),
                "down": matrix(4 * width, width)}  # fmt: skip

    params = {"embed": 0.1 * matrix(letters, width), "place": 0.1 * matrix(context, width), "head": matrix(width, letters),
              "blocks": [block() for _ in range(2)]}  # fmt: skip
    text = (jnp.arange(4096) ** 2 // 7) % letters

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def attend(p, x):
        q, k, v = jnp.split((norm(x) @ p["qkv"]).reshape(*x.shape[:2], 3 * heads, -1), 3, axis=2)
        return jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ p["out"]

    def loss(params, key):
        starts = jax.random.randint(key, (16,), 0, 4096 - context - 1)
        rows = jax.vmap(lambda s: jax.lax.dynamic_slice(text, (s,), (context + 1,)))(starts)
        x = params["embed"][rows[:, :-1]] + params["place"]
        for p in params["blocks"]:
            x = x + attend(p, x)
            x = x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]
        return optax.softmax_cross_entropy_with_integer_labels(norm(x) @ params["head"], rows[:, 1:]).mean()

    return trained(jax, optax, loss, params)


def equinox_trained(jax, model, loss):
    """A step of training for a module of equinox."""
    import equinox as eqx
    import optax

    params, static = eqx.partition(model, eqx.is_inexact_array)
    return trained(jax, optax, lambda params, key: loss(eqx.combine(params, static), key), params, rate=3e-3)


def equinox_recurrence(jax):
    """equinox: a recurrent network that tells spirals apart."""
    import equinox as eqx

    jnp = jax.numpy

    class Network(eqx.Module):
        cell: eqx.nn.GRUCell
        head: eqx.nn.Linear

        def __init__(self, key):
            first, second = jax.random.split(key)
            self.cell, self.head = eqx.nn.GRUCell(2, 16, key=first), eqx.nn.Linear(16, 1, key=second)

        def __call__(self, path):
            last, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), jnp.zeros(16), path)
            return self.head(last)[0]

    time_ = jnp.linspace(0, 4 * jnp.pi, 16)
    turn = jnp.where(jnp.arange(64) % 2 == 0, 1.0, -1.0)
    shift = jax.random.uniform(jax.random.key(4), (64,))
    angle = turn[:, None] * (time_ + shift[:, None])
    paths = jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1) * time_[:, None] / 10

    def loss(model, key):
        logits = jax.vmap(model)(paths)
        return jnp.mean(jnp.logaddexp(0, -turn * logits))

    return equinox_trained(jax, Network(jax.random.key(0)), loss)


def equinox_convolutions(jax):
    """equinox: a convolutional classifier with dropout."""
    import equinox as eqx

    class Network(eqx.Module):
        layers: list

        def __init__(self, key):
            one, two, three = jax.random.split(key, 3)
            self.layers = [eqx.nn.Conv2d(1, 8, 4, key=one), eqx.nn.MaxPool2d(2, 2), jax.nn.relu, jax.numpy.ravel,
                           eqx.nn.Dropout(0.2), eqx.nn.Linear(8 * 12 * 12, 64, key=two), jax.nn.sigmoid,
                           eqx.nn.Linear(64, 10, key=three), jax.nn.log_softmax]  # fmt: skip

        def __call__(self, x, key):
            for layer in self.layers:
                x = layer(x, key=key) if isinstance(layer, eqx.nn.Dropout) else layer(x)
            return x

    pictures, labels = images(jax, 64)

    def loss(model, key):
        rows = jax.vmap(model)(pictures.transpose(0, 3, 1, 2), jax.random.split(key, 64))
        return -jax.numpy.take_along_axis(rows, labels[:, None], 1).mean()

    return equinox_trained(jax, Network(jax.random.key(0)), loss)


def diffrax_equation(jax):
    """diffrax: a differential equation whose right-hand side is a network."""
    import diffrax
    import equinox as eqx

    jnp = jax.numpy
    times = jnp.linspace(0, 4, 20)
    truth = jnp.stack([jnp.cos(times), -jnp.sin(times)], -1)

    def loss(model, key):
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: model(y)), diffrax.Tsit5(), 0.0, 4.0, 0.05, truth[0],
            saveat=diffrax.SaveAt(ts=times), stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
        )  # fmt: skip
        return jnp.mean((found.ys - truth) ** 2)

    model = eqx.nn.MLP(2, 2, 32, 2, activation=jax.nn.softplus, key=jax.random.key(0))
    return equinox_trained(jax, model, loss)


def hamiltonian_chain(jax):
    """A Markov chain by Hamiltonian dynamics for the weights of a regression."""
    jnp = jax.numpy
    x = jax.random.normal(jax.random.key(2), (200, 8))
    y = (x @ jnp.arange(-4.0, 4.0) > 0).astype(jnp.float32)

    def energy(w):
        logits = x @ w
        return jnp.sum(jnp.logaddexp(0, logits) - y * logits) + 0.5 * jnp.sum(w**2)

    @jax.jit
    def step(state):
        w, key = state
        key, first, second = jax.random.split(key, 3)
        momentum = jax.random.normal(first, w.shape)

        def leap(carry, _):
            w, p = carry
            p = p - 0.01 * jax.grad(energy)(w)
            w = w + 0.02 * p
            return (w, p - 0.01 * jax.grad(energy)(w)), None

        (new, p), _ = jax.lax.scan(leap, (w, momentum), None, length=10)
        change = energy(w) - energy(new) + 0.5 * (momentum @ momentum - p @ p)
        w = jnp.where(jnp.log(jax.random.uniform(second)) < change, new, w)
        return (w, key), energy(w)

    return step, (jnp.zeros(8), jax.random.key(1))


def blackjax_sampler(jax):
    """blackjax: the no-U-turn sampler for the weights of a regression."""
    import blackjax

    jnp = jax.numpy
    x = jax.random.normal(jax.random.key(2), (100, 4))
    y = x @ jnp.array([1.0, -2.0, 0.5, 0.0]) + 0.3 * jax.random.normal(jax.random.key(3), (100,))

    def logdensity(w):
        return -0.5 * jnp.sum((x @ w - y) ** 2) / 0.09 - 0.5 * jnp.sum(w**2)

    sampler = blackjax.nuts(logdensity, step_size=0.02, inverse_mass_matrix=jnp.ones(4), max_num_doublings=4)

    @jax.jit
    def step(state):
        state, key = state
        key, use = jax.random.split(key)
        state, _ = sampler.step(use, state)
        return (state, key), -state.logdensity

    return step, (sampler.init(jnp.zeros(4)), jax.random.key(1))


def numpyro_sampler(jax):
    """numpyro: the no-U-turn sampler for a hierarchy of means, its step size fixed."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import NUTS

    jnp = jax.numpy
    groups = jnp.arange(40) % 5
    seen = jax.random.normal(jax.random.key(2), (40,)) + groups

    def model():
        centre = numpyro.sample("centre", dist.Normal(0.0, 3.0))
        spread = numpyro.sample("spread", dist.HalfNormal(2.0))
        with numpyro.plate("groups", 5):
            means = numpyro.sample("means", dist.Normal(centre, spread))
        numpyro.sample("seen", dist.Normal(means[groups], 1.0), obs=seen)

    kernel = NUTS(model, step_size=0.1, adapt_step_size=False, adapt_mass_matrix=False, max_tree_depth=4)
    state = kernel.init(jax.random.key(1), 0, None, (), {})

    @jax.jit
    def step(state):
        state = kernel.sample(state, (), {})
        return state, state.potential_energy

    return step, state


PROGRAMS = {f.__name__: f for f in (
    flax_convolutions, flax_autoencoder, optax_meta_learning, optax_language, equinox_recurrence, equinox_convolutions,
    diffrax_equation, hamiltonian_chain, blackjax_sampler, numpyro_sampler,
)}  # fmt: skip


# Imported before times are taken: how long that takes is the libraries' own matter.
LIBRARIES = ("optax", "flax.linen", "equinox", "diffrax", "blackjax", "numpyro")


def run(name):
    """Losses of a program, its times and the memory that its process takes at most, as JSON."""
    import jax

    for library in LIBRARIES:
        importlib.import_module(library)
    start = time.perf_counter()
    step, state = PROGRAMS[name](jax)
    state, loss = jax.block_until_ready(step(state))
    first = time.perf_counter() - start
    losses, times = [float(loss)], []
    for _ in range(STEPS - 1):
        start = time.perf_counter()
        state, loss = jax.block_until_ready(step(state))
        times.append(time.perf_counter() - start)
        losses.append(float(loss))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # in bytes; Linux counts in units of 1024
    print(json.dumps({"losses": losses, "first": first, "steady": sorted(times)[len(times) // 2], "peak": peak}))


def measured(name, python, served):
    """What ``run`` prints in a process of its own."""
    serve = ["-m", "arrax.as_jax"] if served else []
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as stored:
        environment = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "ARRAX_COMPILATION_CACHE_DIR": stored}
        done = subprocess.run(
            [python, *serve, __file__, "--run", name], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def apart(ours, theirs):
    """How far the losses of two runs are from each other, relative to theirs."""
    return max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(ours["losses"], theirs["losses"], strict=True))


def compared(name, reference, rounds):
    """The rows of a program, and how far its losses are apart: both sides in turn, the shortest times of the rounds."""
    rows = {kind: Row(f"{name}, {title}") for kind, title in (("first", "first step"), ("steady", "steady step"))}
    far, peaks = 0.0, []
    for _ in range(rounds):
        ours, theirs = measured(name, sys.executable, True), measured(name, reference, False)
        for kind, row in rows.items():
            row.ours.add(ours[kind])
            row.reference.add(theirs[kind])
        far = max(far, apart(ours, theirs))
        peaks.append(ours["peak"] / theirs["peak"])
    return list(rows.values()), far, min(peaks)


def versions_of(python, served):
    """The versions of what a side runs with, the libraries included."""
    names = ["arrax" if served else "jax", "jaxlib", "numpy", *(library.partition(".")[0] for library in LIBRARIES)]
    code = (
        "import importlib.metadata as m, json, platform, sys; served = sys.argv.pop() == 'True'\n"
        "if served: import arrax\n"
        "version = lambda name: arrax.__version__ if name == 'arrax' else m.version(name)\n"
        "print(json.dumps({'python': platform.python_version(), **{name: version(name) for name in sys.argv[1:]}}))"
    )
    done = subprocess.run(
        [python, "-c", code, *names, str(served)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def main(arguments):
    """Compare the programs; 1 if the losses of one differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.ecosystem.programs")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--reference", help="interpreter of an environment with JAX and the libraries")
    parser.add_argument("--rounds", type=int, default=3, help="how often each program runs on each side")
    parser.add_argument("--write", action="store_true", help="write the group ecosystem of benchmarks/RESULTS.md")
    parser.add_argument("--run", choices=list(PROGRAMS))
    options = parser.parse_args(arguments)
    if options.run:
        run(options.run)
        return 0
    about = (
        "Programs of users with optax, flax, equinox, diffrax, blackjax and numpyro: a hundred steps with equal losses."
    )
    group = Group("ecosystem", about, [])
    print(text_heading(group))
    wrong = 0
    for name in options.names or PROGRAMS:
        rows, far, peak = compared(name, options.reference, options.rounds)
        wrong += far > TOLERANCE
        group.rows += rows
        print(
            *map(text_row, rows), f"  {'':<20} losses differ by {far:.0e}; peak memory {peak:.2f}", sep="\n", flush=True
        )
    print(f"\n{group.summary}")
    if options.write:
        versions = {"arrax": versions_of(sys.executable, True), "reference": versions_of(options.reference, False)}
        command = f"python -m tests.ecosystem.programs --reference PYTHON --rounds {options.rounds} --write"
        part = section(group, versions, command)
        RESULTS.write_text(merged(RESULTS.read_text("utf-8"), {group.name: part}), "utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
