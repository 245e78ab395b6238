"""Compiled programs at work: whether what is handed to the compiler is as good."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from benchmarks import transformer
from benchmarks.case import Repeated


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated]:
    """Each program, awaited at every call."""
    for family in (elementwise_programs, linear_programs, ordering_programs, loop_programs):
        for name, (function, *arguments) in family(lib, jnp).items():
            yield Repeated(name, awaited(lib, lib.jit(function), arguments))


def awaited(lib: ModuleType, function: Callable[..., Any], arguments: list[Any]) -> Callable[[], Any]:
    """A call that returns when its result is there."""
    return lambda: lib.block_until_ready(function(*arguments))


def elementwise_programs(lib: ModuleType, jnp: ModuleType) -> dict[str, tuple[Any, ...]]:
    """Maps and reductions over large arrays."""
    table, key = lib.random.normal(lib.random.key(0), (1000, 1000)), lib.random.key(1)
    return {
        "tanh(x) * exp(-x * x), 1M": (lambda x: jnp.tanh(x) * jnp.exp(-x * x), table),
        "softmax of 1000 rows": (lambda x: lib.nn.softmax(x, axis=-1), table),
        "mean and variance of columns": (lambda x: (jnp.mean(x, axis=0), jnp.var(x, axis=0)), table),
        "cumsum of 1M": (lambda x: jnp.cumsum(x.ravel()), table),
        "normal numbers, 1M": (lambda key: lib.random.normal(key, (1_000_000,)), key),
    }


def linear_programs(lib: ModuleType, jnp: ModuleType) -> dict[str, tuple[Any, ...]]:
    """Products, convolutions, decompositions, networks."""
    matrix = lib.random.normal(lib.random.key(0), (384, 384))
    batch = lib.random.normal(lib.random.key(1), (64, 48, 48))
    positive = matrix @ matrix.T + 384 * jnp.eye(384)
    images = lib.random.normal(lib.random.key(2), (8, 16, 32, 32))
    kernels = lib.random.normal(lib.random.key(3), (32, 16, 3, 3))
    layers = transformer.init(lib, jnp, 2)
    sequence = jnp.ones((transformer.LENGTH, transformer.WIDTH))
    return {
        "a product of matrices, 384": (lambda x: x @ x, matrix),
        "a batch of 64 products, 48": (lambda x: jnp.einsum("bij,bjk->bik", x, x), batch),
        "a convolution of images": (lambda x, k: lib.lax.conv(x, k, (1, 1), "SAME"), images, kernels),
        "a Cholesky decomposition, 384": (jnp.linalg.cholesky, positive),
        "linear equations, 384": (jnp.linalg.solve, positive, matrix[:, :8]),
        "a transformer of 2 layers": (lambda layers, x: transformer.forward(jnp, layers, x), layers, sequence),
        "the transformer's gradient": (
            lib.grad(lambda layers, x: jnp.sum(transformer.forward(jnp, layers, x) ** 2)),
            layers,
            sequence,
        ),
    }


def ordering_programs(lib: ModuleType, jnp: ModuleType) -> dict[str, tuple[Any, ...]]:
    """Sorting, and moving by index."""
    values = lib.random.normal(lib.random.key(0), (100_000,))
    places = lib.random.randint(lib.random.key(1), (100_000,), 0, 1000)
    return {
        "sort of 100k": (jnp.sort, values),
        "argsort of 100k": (jnp.argsort, values),
        "the 10 largest of 100k": (lambda x: lib.lax.top_k(x, 10), values),
        "100k gathered": (lambda x, i: x[i], values, places),
        "100k added to 1000 places": (lambda x, i: jnp.zeros(1000).at[i].add(x), values, places),
    }


def loop_programs(lib: ModuleType, jnp: ModuleType) -> dict[str, tuple[Any, ...]]:
    """Sequential work."""
    weights, inputs = 0.1 * jnp.ones((32, 32)), jnp.ones((200, 32))

    def recurrent(weights: Any, inputs: Any) -> Any:
        return lib.lax.scan(lambda h, x: (jnp.tanh(weights @ h + x),) * 2, jnp.zeros(32), inputs)

    def last_sum(weights: Any, inputs: Any) -> Any:
        return jnp.sum(recurrent(weights, inputs)[0])

    return {
        "a recurrent network, 200 steps": (recurrent, weights, inputs),
        "its gradient": (lib.grad(last_sum), weights, inputs),
        "a while loop of 1000 steps": (
            lambda x: lib.lax.while_loop(lambda s: s[0] < 1000, lambda s: (s[0] + 1, s[1] * 1.001), (0, x)),
            jnp.ones(8),
        ),
    }
