"""Compiled programs at work: whether what is handed to the compiler is as good."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from benchmarks import transformer
from benchmarks.case import Repeated

Programs = dict[str, tuple[Any, ...]]


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated]:
    """Each program, awaited at every call."""
    for family in FAMILIES:
        for name, (function, *arguments) in family(lib, jnp).items():
            yield Repeated(name, awaited(lib, lib.jit(function), arguments))


def awaited(lib: ModuleType, function: Callable[..., Any], arguments: list[Any]) -> Callable[[], Any]:
    """A call that returns when its result is there."""
    return lambda: lib.block_until_ready(function(*arguments))


def normal(lib: ModuleType, seed: int, *shape: int) -> Any:
    """Normal numbers."""
    return lib.random.normal(lib.random.key(seed), shape)


def elementwise_programs(lib: ModuleType, jnp: ModuleType) -> Programs:
    """Maps over large arrays."""
    table = normal(lib, 0, 1000, 1000)
    shares = lib.random.uniform(lib.random.key(1), (1_000_000,), minval=-0.99, maxval=0.99)
    positive = jnp.abs(table) + 0.1
    return {
        "tanh(x) * exp(-x * x), 1M": (lambda x: jnp.tanh(x) * jnp.exp(-x * x), table),
        "sums and products of 1M": (lambda x: (x * 2 + 1) * x - jnp.maximum(x, 0), table),
        "erf_inv of 1M": (lib.lax.erf_inv, shares),
        "lgamma of 1M": (lib.lax.lgamma, positive),
        "digamma of 1M": (lib.lax.digamma, positive),
        "i0e of 1M": (lib.lax.bessel_i0e, table),
        "igamma of 100k": (lib.lax.igamma, positive[:100], positive[100:200]),
        "power of 1M": (lambda x: x**2.5, positive),
        "a conversion of 1M to int8 and back": (lambda x: x.astype(jnp.int8).astype(jnp.float32), table),
    }


def reductions(lib: ModuleType, jnp: ModuleType) -> Programs:
    """Reductions, normalizations, running sums of 1M elements."""
    table = normal(lib, 0, 1000, 1000)
    flat = table.ravel()
    images = normal(lib, 2, 8, 64, 64, 16)

    def pooled(x: Any, init: float, combine: Any) -> Any:
        return lib.lax.reduce_window(x, init, combine, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def largest(x: Any) -> Any:
        return pooled(x, -jnp.inf, lib.lax.max)

    return {
        "softmax of 1000 rows": (lambda x: lib.nn.softmax(x, axis=-1), table),
        "logsumexp of 1000 rows": (lambda x: lib.nn.logsumexp(x, axis=-1), table),
        "sum of 1M": (jnp.sum, table),
        "sums of rows": (lambda x: jnp.sum(x, axis=1), table),
        "sums of columns": (lambda x: jnp.sum(x, axis=0), table),
        "greatest of columns": (lambda x: jnp.max(x, axis=0), table),
        "mean and variance of columns": (lambda x: (jnp.mean(x, axis=0), jnp.var(x, axis=0)), table),
        "cumsum of 1M": (jnp.cumsum, flat),
        "cumprod of 1M": (jnp.cumprod, flat),
        "cummax of 1M": (lib.lax.cummax, flat),
        "cumsum of 1000 columns": (lambda x: jnp.cumsum(x, axis=0), table),
        "averages of 2 by 2": (lambda x: pooled(x, 0.0, lib.lax.add), images),
        "greatest of 2 by 2": (largest, images),
        "the gradient of greatest of 2 by 2": (lib.grad(lambda x: jnp.sum(largest(x) ** 2)), images),
    }


def linear_programs(lib: ModuleType, jnp: ModuleType) -> Programs:
    """Products, convolutions, transforms, networks."""
    matrix, batch = normal(lib, 0, 384, 384), normal(lib, 1, 64, 48, 48)
    images, kernels = normal(lib, 2, 8, 16, 32, 32), normal(lib, 3, 32, 16, 3, 3)
    signals = normal(lib, 4, 64, 4096)
    layers = transformer.init(lib, jnp, 2)
    sequence = jnp.ones((transformer.LENGTH, transformer.WIDTH))

    def convolved(x: Any, k: Any) -> Any:
        return lib.lax.conv(x, k, (1, 1), "SAME")

    return {
        "a product of matrices, 384": (lambda x: x @ x, matrix),
        "a product of matrices, 384, bfloat16": (lambda x: x @ x, matrix.astype(jnp.bfloat16)),
        "a batch of 64 products, 48": (lambda x: jnp.einsum("bij,bjk->bik", x, x), batch),
        "an einsum of three": (
            lambda x, y, z: jnp.einsum("ij,jk,kl->il", x, y, z),
            matrix,
            matrix[:, :16],
            matrix[:16],
        ),
        "a convolution of images": (convolved, images, kernels),
        "its gradient in the kernels": (lib.grad(lambda k, x: jnp.sum(convolved(x, k) ** 2)), kernels, images),
        "fft of 64 signals of 4096": (jnp.fft.fft, signals),
        "rfft and irfft of 64 signals": (lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), signals),
        "a transformer of 2 layers": (lambda layers, x: transformer.forward(jnp, layers, x), layers, sequence),
        "the transformer's gradient": (
            lib.grad(lambda layers, x: jnp.sum(transformer.forward(jnp, layers, x) ** 2)),
            layers,
            sequence,
        ),
    }


def decompositions(lib: ModuleType, jnp: ModuleType) -> Programs:
    """Decompositions and systems of equations: large ones and batches of small ones."""
    programs: Programs = {}
    for what, matrices in (("384", normal(lib, 0, 384, 384)), ("500 of 8", normal(lib, 1, 500, 8, 8))):
        size = matrices.shape[-1]
        positive = matrices @ jnp.swapaxes(matrices, -1, -2) + size * jnp.eye(size)
        programs |= {
            f"cholesky, {what}": (jnp.linalg.cholesky, positive),
            f"linear equations, {what}": (jnp.linalg.solve, positive, matrices[..., :8]),
            f"inverse, {what}": (jnp.linalg.inv, positive),
            f"determinant, {what}": (lambda x: jnp.linalg.slogdet(x)[1], positive),
            f"qr, {what}": (jnp.linalg.qr, matrices),
            f"eigh, {what}": (jnp.linalg.eigh, positive),
            f"svd, {what}": (lambda x: jnp.linalg.svd(x, full_matrices=False), matrices[..., :128]),
        }
    return programs


def ordering_programs(lib: ModuleType, jnp: ModuleType) -> Programs:
    """Sorting, and moving by index."""
    values = normal(lib, 0, 1_000_000)
    places = lib.random.randint(lib.random.key(1), (1_000_000,), 0, 1000)
    anywhere = lib.random.randint(lib.random.key(2), (1_000_000,), 0, 1_000_000)
    return {
        "sort of 100k": (jnp.sort, values[:100_000]),
        "sort of 1M": (jnp.sort, values),
        "argsort of 100k": (jnp.argsort, values[:100_000]),
        "argsort of 1M": (jnp.argsort, values),
        "the 10 largest of 1M": (lambda x: lib.lax.top_k(x, 10), values),
        "place of the greatest of 1M": (jnp.argmax, values),
        "1M gathered": (lambda x, i: x[i], values, anywhere),
        "1M added to 1000 places": (lambda x, i: jnp.zeros(1000).at[i].add(x), values, places),
        "1M added to 1M places": (lambda x, i: jnp.zeros(1_000_000).at[i].add(x), values, anywhere),
        "1M summed by segment": (lambda x, i: lib.ops.segment_sum(x, i, 1000), values, places),
        "rows gathered and added": (
            lambda x, i: jnp.zeros((1000, 64)).at[i].add(x[i]),
            values[:64_000].reshape(1000, 64),
            places[:20_000],
        ),
    }


def loop_programs(lib: ModuleType, jnp: ModuleType) -> Programs:
    """Sequential work."""
    weights, inputs = 0.1 * jnp.ones((32, 32)), jnp.ones((200, 32))
    values = normal(lib, 0, 100_000)

    def recurrent(weights: Any, inputs: Any) -> Any:
        return lib.lax.scan(lambda h, x: (jnp.tanh(weights @ h + x),) * 2, jnp.zeros(32), inputs)

    def last_sum(weights: Any, inputs: Any) -> Any:
        return jnp.sum(recurrent(weights, inputs)[0])

    def smoothed(x: Any) -> Any:
        return lib.lax.scan(lambda c, v: (0.9 * c + 0.1 * v,) * 2, 0.0, x)[1]

    def composed(first: Any, second: Any) -> Any:
        return first[0] * second[0], first[1] * second[0] + second[1]

    return {
        "a recurrent network, 200 steps": (recurrent, weights, inputs),
        "its gradient": (lib.grad(last_sum), weights, inputs),
        "a scan of 10k steps": (smoothed, values[:10_000]),
        "the scan's gradient": (lib.grad(lambda x: jnp.sum(smoothed(x) ** 2)), values[:10_000]),
        "a while loop of 1000 steps": (
            lambda x: lib.lax.while_loop(lambda s: s[0] < 1000, lambda s: (s[0] + 1, s[1] * 1.001), (0, x)),
            jnp.ones(8),
        ),
        "a while loop of 100k steps": (
            lambda x: lib.lax.while_loop(lambda s: s[0] < 100_000, lambda s: (s[0] + 1, s[1] * 1.0001), (0, x)),
            1.0,
        ),
        "an associative scan of 100k": (
            lambda x: lib.lax.associative_scan(composed, (jnp.tanh(x), x)),
            values,
        ),
    }


FAMILIES = (elementwise_programs, reductions, linear_programs, decompositions, ordering_programs, loop_programs)
