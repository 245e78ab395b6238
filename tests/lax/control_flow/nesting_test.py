"""Control flow inside control flow, under every pair of transformations."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import arrax
from arrax import lax

XS = np.array([0.3, 0.8, 1.2], np.float32)


def scan_of_cond(x):
    def body(c, y):
        return lax.cond(lax.lt(c, 1.0), lambda c: lax.add(c, lax.mul(x, y)), lambda c: lax.mul(c, lax.sin(y)), c), c

    carry, ys = lax.scan(body, x, XS)
    return lax.add(carry, lax.reduce_sum(ys, (0,)))


def scan_of_cond_in_python(x):
    total, c = 0.0, x
    for y in XS:
        total, c = total + c, c + x * y if c < 1 else c * np.sin(y)
    return c + total


def cond_of_scan(x):
    return lax.cond(
        lax.lt(x, 1.0),
        lambda x: lax.scan(lambda c, y: (lax.mul(c, lax.add(x, y)), None), x, XS)[0],
        lambda x: lax.fori_loop(0, 2, lambda i, c: lax.mul(c, x), x),
        x,
    )


def cond_of_scan_in_python(x):
    return x * np.prod(x + XS) if x < 1 else x**3


def scan_of_scan(x):
    def outer(c, y):
        inner, zs = lax.scan(lambda d, z: (lax.add(d, lax.mul(y, z)), lax.mul(d, x)), c, XS)
        return lax.sin(inner), lax.reduce_sum(zs, (0,))

    carry, ys = lax.scan(outer, x, XS, reverse=True)
    return lax.add(carry, lax.reduce_sum(ys, (0,)))


def scan_of_scan_in_python(x):
    c, total = x, 0.0
    for y in XS[::-1]:
        d = c
        for z in XS:
            total, d = total + d * x, d + y * z
        c = np.sin(d)
    return c + total


def scan_of_jit_of_while(x):
    @arrax.jit
    def count(c):
        return lax.while_loop(lambda i: lax.lt(i, 3), lambda i: lax.add(i, 1), 0), lax.mul(c, 2.0)

    def body(c, y):
        n, doubled = count(c)
        return lax.add(lax.mul(doubled, x), lax.convert_element_type(n, np.float32)), None

    return lax.scan(body, x, XS)[0]


def scan_of_jit_of_while_in_python(x):
    c = x
    for _ in XS:
        c = 2 * c * x + 3
    return c


PAIRS = {
    "scan of cond": (scan_of_cond, scan_of_cond_in_python),
    "cond of scan": (cond_of_scan, cond_of_scan_in_python),
    "scan of scan": (scan_of_scan, scan_of_scan_in_python),
    "scan of jit of while": (scan_of_jit_of_while, scan_of_jit_of_while_in_python),
}
POINTS = np.array([0.4, 0.7, 1.6], np.float32)
each = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)


def finite_difference(f, x, step=1e-5):
    return (f(np.float64(x) + step) - f(np.float64(x) - step)) / (2 * step)


TRANSFORMATIONS = {
    "plain": lambda f: f,
    "jit": arrax.jit,
    "vmap": lambda f: lambda x: lax.squeeze(arrax.vmap(f)(lax.expand_dims(x, (0,))), (0,)),
    "remade": lambda f: lambda x: arrax.linearize(f, x)[0],
}
DERIVATIVES = {
    "grad": arrax.grad,
    "jvp": lambda f: lambda x: arrax.jvp(f, (x,), (np.float32(1),))[1],
    "linearize": lambda f: lambda x: arrax.linearize(f, x)[1](np.float32(1)),
}


@each
@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(TRANSFORMATIONS, TRANSFORMATIONS)))
def test_values_are_those_of_python(pair, outer, inner):
    f = TRANSFORMATIONS[outer](TRANSFORMATIONS[inner](pair[0]))
    for x in POINTS:
        assert_allclose(f(x), pair[1](x), rtol=1e-4)


@each
@pytest.mark.parametrize("outer", TRANSFORMATIONS)
@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("inner", TRANSFORMATIONS)
def test_derivatives_are_finite_differences(pair, outer, derivative, inner):
    f = TRANSFORMATIONS[outer](DERIVATIVES[derivative](TRANSFORMATIONS[inner](pair[0])))
    for x in POINTS:
        assert_allclose(f(x), finite_difference(pair[1], x), rtol=2e-3)


@each
def test_batches_are_loops_over_examples(pair):
    f, reference = pair
    assert_allclose(arrax.vmap(f)(POINTS), [reference(x) for x in POINTS], rtol=1e-4)
    expected = [finite_difference(reference, x) for x in POINTS]
    assert_allclose(arrax.jit(arrax.vmap(arrax.grad(f)))(POINTS), expected, rtol=2e-3)
    assert_allclose(
        arrax.jit(arrax.grad(lambda xs: lax.reduce_sum(arrax.vmap(f)(xs), (0,))))(POINTS), expected, rtol=2e-3
    )


@each
def test_second_derivatives_agree_between_modes(pair):
    for x in POINTS:
        backward = arrax.grad(arrax.grad(pair[0]))(x)
        forward = arrax.jvp(arrax.grad(pair[0]), (x,), (np.float32(1),))[1]
        assert_allclose(backward, forward, rtol=1e-3, atol=1e-4)
        assert_allclose(arrax.jit(arrax.grad(arrax.grad(pair[0])))(x), backward, rtol=1e-3, atol=1e-4)
