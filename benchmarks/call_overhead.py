"""Calls of compiled functions that do next to nothing: what the call itself costs."""

import functools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.case import Repeated


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated]:
    """Signatures of all kinds."""
    x, host = jnp.ones(4), np.ones(4, np.float32)
    many = [x + number for number in range(20)]
    tree = {f"layer {n}": {"weights": [x] * 4, "bias": (x, x, x), "scale": x} for n in range(25)}
    one = lib.jit(lambda x: x + 1)
    first = lib.jit(lambda *arrays: arrays[0] + 1)
    keyword = lib.jit(lambda x, *, scale: x * scale)
    static = functools.partial(lib.jit, static_argnames=("mode", "power"))(power_or_sum)
    static_position = lib.jit(power_or_sum, static_argnums=(1, 2))
    donating = lib.jit(lambda x: x + 1, donate_argnums=0)
    first_leaf = lib.jit(lambda tree: tree["layer 0"]["scale"] + 1)
    identity = lib.jit(lambda tree: lib.tree_util.tree_map(lambda leaf: leaf + 1, tree))
    ahead = lib.jit(lambda x: x + 1).lower(x).compile()
    slope = lib.jit(lib.grad(lambda x: jnp.sum(x * x)))
    calls = {
        "1 array": lambda: one(x),
        "1 host array": lambda: one(host),
        "1 Python float": lambda: one(1.5),
        "1 Python int": lambda: one(3),
        "20 arrays": lambda: first(*many),
        "a keyword": lambda: keyword(x, scale=x),
        "static arguments by name": lambda: static(x, mode="sum", power=2),
        "static arguments by position": lambda: static_position(x, "sum", 2),
        "a donated argument": lambda: donating(x + 0),
        "a tree of 200 leaves": lambda: first_leaf(tree),
        "a tree of 200 leaves in and out": lambda: identity(tree),
        "a compiled function made ahead of time": lambda: ahead(x),
        "a jitted gradient": lambda: slope(x),
        "50 calls in a row": lambda: chain_of_calls(one, x),
    }
    for name, run in calls.items():
        yield Repeated(name, run)


def power_or_sum(x: Any, mode: str, power: int) -> Any:
    """A function with static arguments."""
    return x.sum() if mode == "sum" else x**power


def chain_of_calls(function: Any, x: Any) -> Any:
    """Each call on the last one's result."""
    for _ in range(50):
        x = function(x)
    return x
