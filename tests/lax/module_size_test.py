"""What operations become stays small: no long expansions, and none of them twice in a module."""

import re

import numpy as np
import pytest

import arrax
from arrax import lax
from arrax.lax import linalg

SQUARE = np.ones((8, 8), np.float32)
MANY = np.ones((300, 300), np.float32)  # enough for the formulas of programs with many elements
REPEATS = 4


def elementwise_operations():
    """The public elementwise functions of float32 arrays, with as many operands as they take."""
    for name in dir(lax):
        function = getattr(lax, name)
        for count in (1, 2, 3) if hasattr(function, "primitive") else ():
            try:
                arrax.eval_shape(function, *[SQUARE] * count)
            except TypeError:
                continue
            yield name, function, count
            break


# fmt: off
OTHERS = {  # operation: (function of an array, the greatest number of operations, and of those that another use adds)
    "cumsum":       (lambda x: lax.cumsum(x, 0), 60, 30),
    "cummax":       (lambda x: lax.cummax(x, 0), 60, 60),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 0), 60, 40),
    "sort":         (lax.sort, 40, 40),
    "top_k":        (lambda x: lax.top_k(x, 3)[0], 40, 20),
    "argmax":       (lambda x: lax.argmax(x, 0, np.int32), 80, 70),
    "windows":      (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "SAME"), 14, 8),
    "convolution":  (lambda x: lax.conv(lax.broadcast(x, (1, 2)), lax.broadcast(x[:3, :3], (2, 2)), (1, 1), "SAME"), 20, 15),
    "one filter":   (lambda x: lax.conv(lax.broadcast(x, (1, 2)), lax.broadcast(x[:3, :3], (1, 2)), (1, 1), "SAME"), 140, 15),
    "cholesky":     (linalg.cholesky, 60, 50),
    "eigh":         (lambda x: linalg.eigh(x)[1], 60, 50),
    "svd":          (lambda x: linalg.svd(x)[1], 60, 50),
    "qr":           (lambda x: linalg.qr(x)[0], 60, 50),
    "lu":           (lambda x: linalg.lu(x)[0], 80, 40),
    "solve":        (lambda x: linalg.triangular_solve(x, x, left_side=True), 30, 20),
}
# fmt: on


def operations_in(f, *args):
    text = arrax.jit(f).lower(*args).as_text()
    return len(re.findall(r'^\s+(?:%\S+ = )?"?(?:stablehlo|chlo|func)\.', text, re.MULTILINE))


def repeated(f):
    """The function at several arguments of one type."""
    return lambda *args: [f(*(x * np.float32(factor + 1) for x in args)) for factor in range(REPEATS)]


def sizes(f, *args):
    """How many operations the function is, and how many more another use of it brings."""
    once = operations_in(f, *args)
    return once, (operations_in(repeated(f), *args) - once) / (REPEATS - 1)


# Several expansions for different operands, in one function for all uses.
LONG = {"betainc", "igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "gamma_density", "polygamma", "zeta"}


@pytest.mark.parametrize("x", [SQUARE, MANY], ids=["few", "many"])
def test_elementwise_operations_are_short_and_expanded_once(x):
    found = {name: sizes(function, *[x] * count) for name, function, count in elementwise_operations()}
    assert len(found) > 60
    ceilings = {name: 3_000 if name in LONG else 600 for name in found}
    assert not {name: size for name, size in found.items() if size[0] > ceilings[name] or size[1] > 45}


@pytest.mark.parametrize("name", OTHERS)
def test_other_operations_are_short(name):
    function, greatest, added = OTHERS[name]
    once, again = sizes(function, MANY)
    assert once <= greatest and again <= added, (once, again)


def test_a_loop_body_is_lowered_once():
    def looped(x):
        return lax.fori_loop(0, 100, lambda i, y: lax.igamma(y, y), x)

    assert operations_in(looped, SQUARE) < operations_in(lambda x: lax.igamma(x, x), SQUARE) + 40
