"""From a Python function to a program that can run: tracing, lowering, compiling, each without help from caches."""

import functools
import itertools
import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks import transformer
from benchmarks.case import Prepared

ENVIRONMENT = {"ARRAX_ENABLE_COMPILATION_CACHE": "0"}

# A constant that no program has had before: without it, compiled programs could be found again by their content.
# Processes start at different places.
constants = (1 + (os.getpid() * 1009 + count) * 1e-6 for count in itertools.count())


class Program(NamedTuple):
    """Makes a function with a constant in it; the function takes the arguments."""

    make: Callable[[float], Callable[..., Any]]
    arguments: tuple[Any, ...]


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Prepared]:
    """Every stage of every program."""
    for name, program in programs(lib, jnp).items():
        fresh = functools.partial(fresh_function, program)
        arguments = program.arguments
        yield Prepared(f"trace {name}", fresh, lambda f, arguments=arguments: traced(lib, f, arguments))
        yield Prepared(f"lower {name}", fresh, lambda f, arguments=arguments: lowered(lib, f, arguments))
        yield Prepared(f"compile {name}", functools.partial(ready_to_compile, lib, program), compiled)


def programs(lib: ModuleType, jnp: ModuleType) -> dict[str, Program]:
    """A long chain of cheap operations and a transformer, forward and backward."""
    x, sequence = jnp.ones(100), jnp.ones((transformer.LENGTH, transformer.WIDTH))
    layers = transformer.init(lib, jnp)

    def chain(constant: float) -> Callable[..., Any]:
        def run(x: Any) -> Any:
            for _ in range(100):
                x = jnp.sin(x) * constant + jnp.cos(x)
            return x.sum()

        return run

    def network(constant: float) -> Callable[..., Any]:
        return lambda layers, x: jnp.sum(transformer.forward(jnp, layers, x * constant))

    return {
        "a chain of 400 operations": Program(chain, (x,)),
        "the gradient of the chain": Program(lambda constant: lib.grad(chain(constant)), (x,)),
        "a transformer of 6 layers": Program(network, (layers, sequence)),
        "the gradient of the transformer": Program(lambda constant: lib.grad(network(constant)), (layers, sequence)),
    }


def fresh_function(program: Program) -> Callable[..., Any]:
    """A function that no cache knows."""
    return program.make(next(constants))


def traced(lib: ModuleType, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The function as a jaxpr."""
    lib.make_jaxpr(function)(*arguments)


def lowered(lib: ModuleType, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The function as StableHLO, tracing included."""
    lib.jit(function).lower(*arguments)


def ready_to_compile(lib: ModuleType, program: Program) -> Any:
    """Everything before the compiler's part, done; what was compiled before, forgotten."""
    lib.clear_caches()
    return lib.jit(fresh_function(program)).lower(*program.arguments)


def compiled(program: Any) -> None:
    """The compiler's part."""
    program.compile()
