"""Random numbers: small eager draws, and large ones in compiled programs."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from benchmarks.case import Repeated

MILLION = 1_000_000


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated]:
    """All draws of this file."""
    for name, call in eager_draws(lib, jnp).items():
        yield Repeated(name, call)
    for name, draw in compiled_draws(lib, jnp).items():
        yield Repeated(name, awaited(lib, lib.jit(draw), lib.random.key(1)))


def awaited(lib: ModuleType, function: Callable[..., Any], key: Any) -> Callable[[], Any]:
    """A call that returns when its numbers are there."""
    return lambda: lib.block_until_ready(function(key))


def eager_draws(lib: ModuleType, jnp: ModuleType) -> dict[str, Callable[[], Any]]:
    """Keys, and few numbers at a time."""
    random, key, raw, x = lib.random, lib.random.key(0), lib.random.PRNGKey(0), jnp.arange(12.0)
    step = lib.jit(random.split)
    return {
        "key(0)": lambda: random.key(0),
        "split(key)": lambda: random.split(key),
        "a, b = split(key)": lambda: list(random.split(key)),
        "split(raw key)": lambda: random.split(raw),
        "fold_in(key, 3)": lambda: random.fold_in(key, 3),
        "bits(key, (8,))": lambda: random.bits(key, (8,)),
        "uniform(key, (8,))": lambda: random.uniform(key, (8,)),
        "normal(key, (8,))": lambda: random.normal(key, (8,)),
        "randint(key, (5,), 0, 9)": lambda: random.randint(key, (5,), 0, 9),
        "bernoulli(key, 0.3, (5,))": lambda: random.bernoulli(key, 0.3, (5,)),
        "choice(key, 10, (3,))": lambda: random.choice(key, 10, (3,)),
        "choice(key, 10, (3,), replace=False)": lambda: random.choice(key, 10, (3,), replace=False),
        "permutation(key, 10)": lambda: random.permutation(key, 10),
        "permutation(key, x)": lambda: random.permutation(key, x),
        "categorical(key, x)": lambda: random.categorical(key, x),
        "gamma(key, 2., (8,))": lambda: random.gamma(key, 2.0, (8,)),
        "jit(split)(key)": lambda: step(key),
    }


def compiled_draws(lib: ModuleType, jnp: ModuleType) -> dict[str, Callable[[Any], Any]]:
    """Many numbers at a time, alone and with what is made of them."""
    random = lib.random
    return {
        "bits, 1M": lambda key: random.bits(key, (MILLION,)),
        "bits, 1M - 1": lambda key: random.bits(key, (MILLION - 1,)),
        "bytes, 1M": lambda key: random.bits(key, (MILLION,), "uint8"),
        "uniform, 1M": lambda key: random.uniform(key, (MILLION,)),
        "normal, 1M": lambda key: random.normal(key, (MILLION,)),
        "normal, 100k rows of 10": lambda key: random.normal(key, (MILLION // 10, 10)),
        "exponential, 1M": lambda key: random.exponential(key, (MILLION,)),
        "randint, 1M": lambda key: random.randint(key, (MILLION,), 0, 1000),
        "sum of uniform, 1M": lambda key: jnp.sum(random.uniform(key, (MILLION,))),
        "split into 100k": lambda key: random.split(key, MILLION // 10),
        "normal of 10k keys, 100 each": lambda key: lib.vmap(lambda k: random.normal(k, (100,)))(
            random.split(key, MILLION // 100)
        ),
        "categorical of 10, 100k": lambda key: random.categorical(key, jnp.zeros(10), shape=(MILLION // 10,)),
        "permutation of 100k": lambda key: random.permutation(key, MILLION // 10),
        "gamma, 10k": lambda key: random.gamma(key, 2.0, (MILLION // 100,)),
        "poisson, 100k": lambda key: random.poisson(key, 3.0, (MILLION // 10,)),
    }
