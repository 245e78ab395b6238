"""Transformations of functions that are new at every call, eagerly: the price of notebooks and of closures."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from benchmarks.case import Repeated


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated]:
    """All transformations of this file."""
    for family in (derivatives, batches, control_flow):
        for name, run in family(lib, jnp).items():
            yield Repeated(name, run)


def derivatives(lib: ModuleType, jnp: ModuleType) -> dict[str, Callable[[], Any]]:
    """Gradients, Jacobians, products with them."""
    x = jnp.arange(1.0, 5.0)
    weights = [jnp.ones((4, 4)) / 8] * 3

    def network(weights: Any, x: Any) -> Any:
        for layer in weights:
            x = jnp.tanh(layer @ x)
        return jnp.sum(x)

    return {
        "grad of x * x": lambda: lib.grad(lambda v: v * v)(2.0),
        "grad of sum(sin x)": lambda: lib.grad(lambda v: jnp.sum(jnp.sin(v)))(x),
        "value_and_grad of a 3-layer network": lambda: lib.value_and_grad(lambda w: network(w, x))(weights),
        "grad of grad": lambda: lib.grad(lib.grad(lambda v: jnp.sin(v) * v))(2.0),
        "jvp": lambda: lib.jvp(lambda v: jnp.sum(jnp.sin(v) * v), (x,), (x,)),
        "vjp, backward pass included": lambda: lib.vjp(lambda v: jnp.sin(v) * v, x)[1](x),
        "linearize, tangents included": lambda: lib.linearize(lambda v: jnp.sin(v) * v, x)[1](x),
        "jacfwd": lambda: lib.jacfwd(lambda v: jnp.sin(v) * v[0])(x),
        "jacrev": lambda: lib.jacrev(lambda v: jnp.sin(v) * v[0])(x),
        "hessian": lambda: lib.hessian(lambda v: jnp.sum(jnp.sin(v) * v[0]))(x),
        "grad of checkpoint": lambda: lib.grad(lib.checkpoint(lambda v: jnp.sum(jnp.sin(jnp.sin(v)))))(x),
        "jit": lambda: lib.jit(lambda v: jnp.sin(v) * v)(x),
        "jit of grad": lambda: lib.jit(lib.grad(lambda v: jnp.sum(jnp.sin(v) * v)))(x),
    }


def batches(lib: ModuleType, jnp: ModuleType) -> dict[str, Callable[[], Any]]:
    """vmap, alone and with derivatives."""
    rows, matrix = jnp.arange(12.0).reshape(3, 4), jnp.ones((4, 4))
    return {
        "vmap of sin(x) * x": lambda: lib.vmap(lambda v: jnp.sin(v) * v)(rows),
        "vmap of a product": lambda: lib.vmap(lambda v: matrix @ v)(rows),
        "vmap of indexing": lambda: lib.vmap(lambda v: v[1] + v[::2])(rows),
        "vmap of vmap": lambda: lib.vmap(lib.vmap(lambda v: v * 2 + 1))(rows),
        "vmap of grad": lambda: lib.vmap(lib.grad(lambda v: jnp.sum(jnp.sin(v) * v)))(rows),
    }


def control_flow(lib: ModuleType, jnp: ModuleType) -> dict[str, Callable[[], Any]]:
    """Loops and branches."""
    lax, x, steps = lib.lax, jnp.arange(4.0), jnp.arange(10.0)

    def summed(start: Any) -> Any:
        return lax.scan(lambda carry, step: (carry * 0.9 + step, carry), start, steps)[0].sum()

    return {
        "scan": lambda: lax.scan(lambda carry, step: (carry + step, carry), x, steps),
        "scan over closed-over values": lambda: lax.scan(lambda carry, step: (carry + step * x, carry), x, steps),
        "grad of scan": lambda: lib.grad(lambda v: summed(v))(x),
        "fori_loop": lambda: lax.fori_loop(0, 10, lambda _, carry: carry * 1.1, x),
        "while_loop": lambda: lax.while_loop(lambda c: c.sum() < 50, lambda c: c * 1.5 + 1, x),
        "cond": lambda: lax.cond(x[0] > 1, lambda v: v + 1, lambda v: v - 1, x),
        "switch": lambda: lax.switch(1, [lambda v: v + 1, lambda v: v * 2, lambda v: -v], x),
        "map": lambda: lax.map(lambda v: v * 2, x),
        "associative_scan": lambda: lax.associative_scan(lambda a, b: a + b, steps),
    }
