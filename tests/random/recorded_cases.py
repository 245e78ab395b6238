"""Draws whose values were recorded from the reference: a name, and a function of a key, written against any library."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Draw = Callable[[Any], Any]
SEEDS = (0, 42, 3_000_000_019)
SETTINGS = ((False, False), (False, True), (True, False), (True, True))  # (64-bit types, partitionable generation)


def chapters(x64: bool, partitionable: bool) -> tuple[Callable[..., None], ...]:
    """The chapters whose draws depend on a setting in their own way, all of them where both are off.

    Partitionable generation numbers bits in another way, which all else is made of; 64-bit types are other ones to count
    and to round in.
    """
    shapes_and_parameters = (more_floats, more_orders, more_discrete, more_gammas, more_vectors)
    everything = (keys, bits, integers, floats, orders, continuous, discrete, gammas, vectors, generators)
    wide = (bits, integers, floats, orders, discrete, gammas, vectors)
    return {
        (False, False): everything + shapes_and_parameters,
        (False, True): (keys, bits, floats, orders),
        (True, False): wide,
    }.get((x64, partitionable), (bits, floats))


def cases(lib: ModuleType, x64: bool, partitionable: bool) -> dict[str, Draw]:
    """All draws for a setting, by name."""
    found: dict[str, Draw] = {}
    for chapter in chapters(x64, partitionable):
        chapter(lib, x64, found)
    return found


def keys_of(lib: ModuleType) -> dict[int, Any]:
    """A key per seed; seeds are given so that every setting takes them."""
    return {seed: lib.random.key(np.uint32(seed)) for seed in SEEDS}


def keys(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Splitting and folding."""
    random = lib.random
    for num in (1, 2, 3, 7, 0, (2, 3), (), (5, 1), 1001):
        found[f"split {num}"] = lambda key, num=num: random.key_data(random.split(key, num))
    for number in (0, 1, 7, 2**31, 2**32 - 1):
        found[f"fold_in {number}"] = lambda key, number=number: random.key_data(random.fold_in(key, np.uint32(number)))
    found["split vmap"] = lambda key: random.key_data(lib.vmap(random.split)(random.split(key, 3)))
    found["bits vmap"] = lambda key: lib.vmap(lambda k: random.bits(k, (3,)))(random.split(key, 3))


def bits(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Bits of all widths; narrow ones are the same with 64-bit types."""
    random = lib.random
    for width in (8, 16, 32, 64) if x64 else (8, 16, 32):
        for shape in ((), (1,), (7,), (3, 5), (2, 0), (1001,), (600, 33)) if not x64 or width == 64 else ((7,),):
            found[f"bits {width} {shape}"] = lambda key, width=width, shape=shape: random.bits(
                key, shape, f"uint{width}"
            )
    found["bits default"] = lambda key: random.bits(key, (3,))
    found["randint default"] = lambda key: random.randint(key, (5,), 0, 1000)


def integers(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Integers of all widths."""
    random = lib.random
    narrow = {"int8": (-100, 100), "uint8": (3, 250), "int16": (-7, 30000), "uint16": (0, 65535), "int32": (-5, 9),
              "uint32": (7, 4_000_000_000)}  # fmt: skip
    wide = {"int64": (-(2**40), 2**50), "uint64": (1, 2**63), "int16": (-7, 30000)}
    for dtype, (low, high) in (wide if x64 else narrow).items():
        for shape in ((), (500,)) if dtype in ("int32", "uint8", "int64") else ((500,),):
            found[f"randint {dtype} {shape}"] = lambda key, dtype=dtype, shape=shape, low=low, high=high: (
                random.randint(key, shape, np.asarray(low, dtype), np.asarray(high, dtype), dtype)
            )
    found["randint empty range"] = lambda key: random.randint(key, (4,), 5, 5)
    found["randint arrays"] = lambda key: random.randint(key, (2, 3), np.arange(3), np.arange(3) + np.array([[1], [9]]))
    if x64:
        return
    found["randint whole int8"] = lambda key: random.randint(key, (9,), -128, 128, "int8")
    found["randint whole uint8"] = lambda key: random.randint(key, (9,), 0, 256, "uint8")
    found["randint whole int32"] = lambda key: random.randint(key, (9,), -(2**31), 2**31 - 1, "int32")


def floats(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Uniform and normal numbers of all types."""
    random = lib.random
    for dtype in ("bfloat16", "float16", "float32") + (("float64",) if x64 else ()):
        found[f"uniform {dtype} (7,)"] = lambda key, dtype=dtype: random.uniform(key, (7,), dtype)
        found[f"normal {dtype} (7,)"] = lambda key, dtype=dtype: random.normal(key, (7,), dtype)
    found["uniform default"] = lambda key: random.uniform(key, (2, 2))
    found["uniform rows"] = lambda key: random.uniform(key, (700, 9))
    found["normal rows"] = lambda key: random.normal(key, (2, 700, 3))
    found["uniform array bounds"] = lambda key: random.uniform(key, (2, 3), minval=np.arange(3.0), maxval=9)
    found["normal default"] = lambda key: random.normal(key, (5,))
    for dtype in ("complex64",) + (("complex128",) if x64 else ()):
        found[f"normal {dtype}"] = lambda key, dtype=dtype: random.normal(key, (5,), dtype)


def more_floats(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Uniform and normal numbers of other shapes, and within bounds."""
    random = lib.random
    for dtype in ("bfloat16", "float16", "float32"):
        for shape in ((), (0, 2), (2001,)):
            found[f"uniform {dtype} {shape}"] = lambda key, dtype=dtype, shape=shape: random.uniform(key, shape, dtype)
        found[f"uniform bounds {dtype}"] = lambda key, dtype=dtype: random.uniform(key, (6,), dtype, -3, 10)
        for shape in ((), (3, 5)):
            found[f"normal {dtype} {shape}"] = lambda key, dtype=dtype, shape=shape: random.normal(key, shape, dtype)


MATRIX = np.arange(12.0, dtype=np.float32).reshape(4, 3)
WEIGHTS = np.array([0.1, 0.5, 0.2, 0.15, 0.05], np.float32)
LOGITS = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], np.float32))


def orders(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Permutations and choices."""
    random = lib.random
    for count in (9, 1626):
        found[f"permutation {count}"] = lambda key, count=count: random.permutation(key, count)
    found["permutation 0 True"] = lambda key: random.permutation(key, MATRIX, 0, True)
    for replace in (True, False):
        for p in (None, WEIGHTS):
            found[f"choice (4,) {replace} {p is None}"] = lambda key, replace=replace, p=p: random.choice(
                key, 5, (4,), replace, p
            )
    found["choice columns"] = lambda key: random.choice(key, MATRIX, (2, 2), axis=1)
    found["categorical shape"] = lambda key: random.categorical(key, LOGITS, shape=(5, 2))
    found["categorical high"] = lambda key: random.categorical(key, LOGITS, mode="high", shape=(7, 2))


def more_orders(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Permutations of other lengths and axes; choices of other shapes, and among parts of arrays."""
    random = lib.random
    for count in (0, 1, 2, 100, 1625, 5000):
        found[f"permutation {count}"] = lambda key, count=count: random.permutation(key, count)
    found["permutation vector"] = lambda key: random.permutation(key, np.arange(9, dtype=np.int16) * 3)
    for axis, independent in ((0, False), (1, False), (1, True), (-1, False)):
        found[f"permutation {axis} {independent}"] = lambda key, axis=axis, independent=independent: random.permutation(
            key, MATRIX, axis, independent
        )
    for shape, replace, p in (((), True, WEIGHTS), ((), False, None), ((2, 3), True, None), ((2, 3), True, WEIGHTS)):
        found[f"choice {shape} {replace} {p is None}"] = lambda key, shape=shape, replace=replace, p=p: random.choice(
            key, 5, shape, replace, p
        )
    found["choice vector"] = lambda key: random.choice(key, np.arange(5, dtype=np.int16) * 3, (4,), False)
    found["choice rows"] = lambda key: random.choice(key, MATRIX, (2,), False)
    found["choice columns p"] = lambda key: random.choice(key, MATRIX, (2,), False, WEIGHTS[:3], axis=1)
    found["choice high"] = lambda key: random.choice(key, 5, (3,), False, WEIGHTS, mode="high")
    for axis in (-1, 0):
        found[f"categorical {axis}"] = lambda key, axis=axis: random.categorical(key, LOGITS, axis)
    found["categorical vector"] = lambda key: random.categorical(key, LOGITS[0], shape=(3, 4))
    found["categorical axis shape"] = lambda key: random.categorical(key, LOGITS, 0, shape=(4, 3))
    found["categorical without replacement"] = lambda key: random.categorical(key, LOGITS, shape=(2, 2), replace=False)


def continuous(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Functions of uniform and normal numbers."""
    random = lib.random
    names = ("cauchy", "exponential", "gumbel", "laplace", "logistic", "maxwell")
    for name in names:
        sample = getattr(random, name)
        found[name] = lambda key, sample=sample: sample(key, (5,))
        found[f"{name} scalar"] = lambda key, sample=sample: sample(key)
        for dtype in ("bfloat16", "float16"):
            found[f"{name} {dtype}"] = lambda key, sample=sample, dtype=dtype: sample(key, (4,), dtype)
    found["gumbel high"] = lambda key: random.gumbel(key, (5,), mode="high")
    found["truncated_normal"] = lambda key: random.truncated_normal(key, -1, 2, (5,))
    found["truncated_normal half"] = lambda key: random.truncated_normal(key, -1, 2, (5,), "bfloat16")
    found["truncated_normal arrays"] = lambda key: random.truncated_normal(key, np.float32([-2, 0.5]), np.float32(1.5))
    found["lognormal"] = lambda key: random.lognormal(key, 0.5, (5,))
    found["lognormal default"] = lambda key: random.lognormal(key, shape=(3,))
    found["pareto"] = lambda key: random.pareto(key, np.float32([1, 2.5]), (3, 2))
    found["rayleigh"] = lambda key: random.rayleigh(key, np.float32([1, 2.5]), (3, 2))
    found["triangular"] = lambda key: random.triangular(key, np.float32(0), np.float32(1), np.float32(3), (5,))
    found["wald"] = lambda key: random.wald(key, np.float32([1, 2.5]), (3, 2))
    found["weibull_min"] = lambda key: random.weibull_min(key, 2.0, 1.5, (5,))
    found["double_sided_maxwell"] = lambda key: random.double_sided_maxwell(key, 1.0, 2.0, (5,))
    found["double_sided_maxwell arrays"] = lambda key: random.double_sided_maxwell(
        key, np.float32([1, 2]), np.float32(3), (3,)
    )


def discrete(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Counts and coins."""
    random = lib.random
    found["bernoulli default"] = lambda key: random.bernoulli(key, shape=(9,))
    found["rademacher"] = lambda key: random.rademacher(key, (9,))
    found["geometric"] = lambda key: random.geometric(key, np.float32([0.1, 0.5]), (4, 2))
    found["poisson"] = lambda key: random.poisson(key, np.float32([0, 0.5, 3, 9.9, 12, 150]), (3, 6))
    found["binomial"] = lambda key: random.binomial(
        key, np.float32([3, 20, 100, 1000, 50, 50, 50, 50]), np.float32([*[0.4] * 4, 0, 0.02, 0.97, 1]), (3, 8)
    )
    found["multinomial"] = lambda key: random.multinomial(
        key, np.float32([5, 40]), np.float32([[0.2, 0.3, 0.5], [0.5, 0.0, 0.5]])
    )


def more_discrete(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Coins of given chances; single counts."""
    random = lib.random
    found["bernoulli"] = lambda key: random.bernoulli(key, np.float32(0.3), (9,))
    found["bernoulli scalar"] = lambda key: random.bernoulli(key)
    found["bernoulli arrays"] = lambda key: random.bernoulli(key, np.float32([0, 0.5, 1]), (4, 3))
    found["bernoulli high"] = lambda key: random.bernoulli(key, np.float32(0.3), (9,), mode="high")
    found["rademacher float"] = lambda key: random.rademacher(key, (9,), "float32")
    found["poisson scalar"] = lambda key: random.poisson(key, 4.0)


GAMMA_PARAMETERS = np.float32([0.01, 0.5, 1, 3, 200])


def gammas(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Gamma numbers and what is made of them."""
    random, a = lib.random, GAMMA_PARAMETERS
    found["gamma"] = lambda key: random.gamma(key, a)
    found["loggamma"] = lambda key: random.loggamma(key, a)
    found["beta"] = lambda key: random.beta(key, a, np.float32(1.5))
    found["dirichlet"] = lambda key: random.dirichlet(key, a, (2,))
    found["t"] = lambda key: random.t(key, np.float32([1, 5]), (3, 2))
    found["generalized_normal"] = lambda key: random.generalized_normal(key, 1.5, (5,))


def more_gammas(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Single numbers, batches, further distributions."""
    random = lib.random
    found["gamma scalar"] = lambda key: random.gamma(key, 2.0)
    found["gamma half"] = lambda key: random.gamma(key, 2.0, (4,), "bfloat16")
    found["chisquare"] = lambda key: random.chisquare(key, GAMMA_PARAMETERS)
    found["dirichlet batch"] = lambda key: random.dirichlet(key, np.float32([[1, 2], [0.1, 30]]))
    found["f"] = lambda key: random.f(key, np.float32([3, 2]), np.float32([4, 9]))
    found["ball"] = lambda key: random.ball(key, 3, shape=(2,))
    found["ball 1"] = lambda key: random.ball(key, 2, 1.0, (2,))


def vectors(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Orthogonal matrices."""
    random = lib.random
    found["orthogonal"] = lambda key: random.orthogonal(key, 3)
    found["orthogonal batch"] = lambda key: random.orthogonal(key, 2, (2,))
    found["orthogonal wide"] = lambda key: random.orthogonal(key, 2, m=3)
    found["orthogonal tall"] = lambda key: random.orthogonal(key, 3, m=2)


def more_vectors(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """Complex matrices; vectors of a given covariance."""
    random, mean = lib.random, np.float32([1, -1])
    covariance = np.float32([[2, 0.5], [0.5, 1]])
    for method in ("cholesky", "eigh", "svd"):
        found[f"multivariate_normal {method}"] = lambda key, method=method: random.multivariate_normal(
            key, mean, covariance, (3,), method=method
        )
    found["multivariate_normal default"] = lambda key: random.multivariate_normal(key, mean, covariance)
    found["orthogonal complex"] = lambda key: random.orthogonal(key, 2, dtype="complex64")


def generators(lib: ModuleType, x64: bool, found: dict[str, Draw]) -> None:
    """The other generators, seeded by bits of the key."""
    random = lib.random
    for impl in ("rbg", "unsafe_rbg"):

        def other(key: Any, impl: str = impl) -> Any:
            return random.wrap_key_data(random.bits(key, (4,), "uint32"), impl=impl)

        found[f"{impl} split"] = lambda key, other=other: random.key_data(random.split(other(key), (3,)))
        found[f"{impl} fold_in"] = lambda key, other=other: random.key_data(random.fold_in(other(key), np.uint32(7)))
        found[f"{impl} key"] = lambda key, impl=impl: random.key_data(random.key(np.uint32(17), impl=impl))
        for width in (8, 16, 32):
            found[f"{impl} bits {width}"] = lambda key, other=other, width=width: random.bits(
                other(key), (5,), f"uint{width}"
            )
        found[f"{impl} uniform"] = lambda key, other=other: random.uniform(other(key), (3,))
        found[f"{impl} normal"] = lambda key, other=other: random.normal(other(key), (3,))
        found[f"{impl} permutation"] = lambda key, other=other: random.permutation(other(key), 9)
        found[f"{impl} gamma"] = lambda key, other=other: random.gamma(other(key), np.float32([0.3, 2, 5]))
        found[f"{impl} bits vmap"] = lambda key, other=other: lib.vmap(lambda k: random.bits(k, (3,)))(
            random.split(other(key), 3)
        )
        found[f"{impl} split vmap"] = lambda key, other=other: random.key_data(
            lib.vmap(random.split)(random.split(other(key), 3))
        )
