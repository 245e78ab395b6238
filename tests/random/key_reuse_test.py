"""With debug_key_reuse, a key that is consumed twice is refused: eagerly, in programs, through loops and branches."""

import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax, random
from arrax.errors import KeyReuseError
from arrax.experimental import key_reuse
from tests.random.recorded_cases import cases


def first(keys):
    return keys[0]


def draw_all(keys):
    return arrax.vmap(random.bits)(keys)


def inside(body):
    return lambda key: arrax.jit(body)(key)


# fmt: off
REUSES = {
    "two draws":              lambda k: (random.uniform(k), random.uniform(k)),
    "two samplers":           lambda k: (random.permutation(k, 5), random.gamma(k, 1.0)),
    "two draws of bits":      lambda k: (random.bits(k), random.bits(k)),
    "draw, split":            lambda k: (random.uniform(k), random.split(k)),
    "split, draw":            lambda k: (random.split(k), random.uniform(k)),
    "split, split":           lambda k: (random.split(k), random.split(k)),
    "one element twice":      lambda k: (lambda ks: (random.bits(ks[0]), random.bits(ks[0])))(random.split(k)),
    "elements, then all":     lambda k: (lambda ks: (random.bits(ks[0]), draw_all(ks)))(random.split(k)),
    "all, then an element":   lambda k: (lambda ks: (draw_all(ks), random.bits(ks[0])))(random.split(k)),
    "all twice":              lambda k: (lambda ks: (draw_all(ks), draw_all(ks)))(random.split(k)),
    "another shape":          lambda k: (lambda ks: (draw_all(ks), arrax.vmap(draw_all)(ks.reshape(2, 1))))(random.split(k)),
    "a copy":                 lambda k: (random.bits(k), random.bits(k.copy())),
    "joined with another":    lambda k: (lambda ks: draw_all(jnp.stack([ks[1], k])))(random.split(k)),
    "jit":                    inside(lambda k: (random.uniform(k), random.uniform(k))),
    "jit, split and draw":    inside(lambda k: (random.split(k), random.uniform(k))),
    "jit within jit":         inside(lambda k: (arrax.jit(random.bits)(k), random.bits(k))),
    "a key that jit used":    lambda k: (arrax.jit(random.bits)(k), random.bits(k)),
    "jit used it twice":      lambda k: (arrax.jit(random.split)(k), arrax.jit(random.split)(k)),
    "jit returned it":        lambda k: random.bits(arrax.jit(lambda k: (k, random.bits(k)))(k)[0]),
    "closed over by jit":     lambda k: (arrax.jit(lambda x: x * random.uniform(k))(1.0), random.uniform(k)),
    "jit, one element twice": inside(lambda k: (lambda ks: (random.bits(ks[0]), random.bits(ks[0])))(random.split(k))),
    "jit, element and all":   inside(lambda k: (lambda ks: (random.bits(ks[0]), draw_all(ks)))(random.split(k))),
    "jit, an array repeated": inside(lambda k: draw_all(jnp.concatenate([random.split(k)] * 2))),
    "jit, broadcast":         inside(lambda k: draw_all(jnp.broadcast_to(k, (2,)))),
    "jit, transposed":        inside(lambda k: (lambda ks: (arrax.vmap(draw_all)(ks), arrax.vmap(draw_all)(ks.T)))(random.split(k, (2, 3)))),
    "jit, selected":          inside(lambda k: (random.bits(jnp.where(True, k, random.key(1))), random.bits(k))),
    "jit, vmap twice":        inside(lambda k: (lambda ks: (draw_all(ks), draw_all(ks)))(random.split(k))),
    "a branch and after it":  inside(lambda k: (lax.cond(True, random.bits, random.bits, k), random.bits(k))),
    "one branch and after":   inside(lambda k: (lax.cond(True, random.bits, lambda k: jnp.uint32(0), k), random.bits(k))),
    "within a branch":        inside(lambda k: lax.cond(True, lambda k: random.bits(k) + random.bits(k), lambda k: jnp.uint32(0), k)),
    "scan, each key twice":   lambda k: lax.scan(lambda c, q: (c, (random.bits(q), random.bits(q))), 0, random.split(k)),
    "grad":                   lambda k: arrax.grad(lambda x: x * random.uniform(k) * random.normal(k))(1.0),
    "remat":                  lambda k: arrax.grad(arrax.checkpoint(lambda x: x * random.uniform(k) * random.normal(k)))(1.0),
    "through raw data":       inside(lambda k: (random.bits(k), random.bits(random.wrap_key_data(random.key_data(k))))),
}
LOOPS = {
    "scan, constant":  lambda k: lax.scan(lambda c, _: (c, random.bits(k)), 0, None, length=3),
    "scan, carry":     lambda k: lax.scan(lambda c, _: (c, random.bits(c)), k, None, length=3),
    "scan in scan":    inside(lambda k: lax.scan(lambda c, q: (c, lax.scan(lambda a, _: (a, random.bits(q)), 0, None, length=2)), 0, random.split(k))),
    "while, carry":    lambda k: lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0], c[1] + random.bits(c[0])), (k, jnp.uint32(0))),
    "while, constant": lambda k: lax.while_loop(lambda c: c < 3, lambda c: c + random.bits(k), jnp.uint32(0)),
    "while, its test": lambda k: lax.while_loop(lambda c: random.uniform(c[0]) < 0.2, lambda c: (random.split(c[0])[0], c[1]), (k, 0)),
    "fori":            lambda k: lax.fori_loop(0, 3, lambda i, c: c + random.bits(k), jnp.uint32(0)),
}
USES = {
    "fold_in, draw":       lambda k: (random.fold_in(k, 1), random.fold_in(k, 2), random.uniform(k), random.fold_in(k, 3)),
    "looked at":           lambda k: (random.bits(k), k == k, str(k), random.key_data(k), k.dtype, random.key_impl(k)),
    "cloned before":       lambda k: (random.uniform(random.clone(k)), random.uniform(k)),
    "cloned after":        lambda k: (random.uniform(k), random.uniform(random.clone(k))),
    "each element":        lambda k: (lambda ks: (random.bits(ks[0]), random.bits(ks[1])))(random.split(k)),
    "unpacked":            lambda k: [random.bits(one) for one in random.split(k)],
    "handed through jit":  lambda k: random.bits(arrax.jit(lambda k: k)(k)),
    "jit, cloned":         inside(lambda k: (random.bits(k), random.bits(random.clone(k)))),
    "jit, folded":         inside(lambda k: (random.fold_in(k, 1), random.fold_in(k, 2), random.bits(k))),
    "jit, each element":   inside(lambda k: [random.bits(one) for one in random.split(k)]),
    "jit, own keys":       inside(lambda k: random.uniform(random.key(0)) + random.uniform(random.key(0))),
    "each branch":         inside(lambda k: lax.cond(True, random.bits, lambda k: random.bits(k) + 1, k)),
    "scan over keys":      lambda k: lax.scan(lambda c, q: (c, random.bits(q)), 0, random.split(k)),
    "scan, split carry":   lambda k: lax.scan(lambda c, _: (lambda ks: (ks[0], random.bits(ks[1])))(random.split(c)), k, None, length=3),
    "while, split carry":  lambda k: lax.while_loop(lambda c: c[1] < 3, lambda c: (random.split(c[0])[0], c[1] + 1), (k, 0)),
    "fori, by index":      lambda k: (lambda ks: lax.fori_loop(0, 3, lambda i, c: c + random.bits(ks[i]), jnp.uint32(0)))(random.split(k, 3)),
    "fori, folded":        lambda k: lax.fori_loop(0, 3, lambda i, c: c + random.bits(random.fold_in(k, i)), jnp.uint32(0)),
    "grad":                lambda k: arrax.grad(lambda x: x * random.uniform(k))(1.0),
    "raw keys":            lambda k: (lambda raw: (random.uniform(raw), random.uniform(raw)))(random.PRNGKey(0)),
    "samplers of loops":   lambda k: [draw(q) for q, draw in zip(random.split(k, 3), (lambda q: random.gamma(q, 2.0), lambda q: random.poisson(q, 3.0), lambda q: random.multinomial(q, 5.0, jnp.array([0.5, 0.5]))), strict=True)],
}
# fmt: on


@pytest.mark.parametrize("reuse", REUSES.values(), ids=REUSES)
def test_a_second_use_is_refused(reuse):
    with arrax.debug_key_reuse(True), pytest.raises(KeyReuseError, match="consumed"):
        reuse(random.key(0))


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_use_in_every_turn_is_refused(loop):
    with arrax.debug_key_reuse(True), pytest.raises(KeyReuseError, match="each turn of"):
        loop(random.key(0))


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_is_no_second_use_passes(use):
    with arrax.debug_key_reuse(True):
        arrax.block_until_ready(use(random.key(0)))


@pytest.mark.parametrize("reuse", [REUSES["two draws"], REUSES["jit"], LOOPS["scan, constant"]])
def test_nothing_is_refused_by_default(reuse):
    reuse(random.key(0))


@pytest.mark.parametrize("compiled", [False, True])
def test_no_sampler_uses_its_key_twice(compiled):
    draws = cases(arrax, False, False)
    names = {name.split()[0]: name for name in draws if not name.startswith(("rbg", "unsafe_rbg"))}.values()
    with arrax.debug_key_reuse(True):
        for name in names:
            draw = arrax.jit(draws[name]) if compiled else draws[name]
            draw(random.key(0))


def test_the_error_says_what_the_documentation_shows():
    with arrax.debug_key_reuse(True):
        key = random.key(0)
        random.uniform(key)
        with pytest.raises(KeyReuseError) as raised:
            random.uniform(key)
    assert str(raised.value).startswith("Previously-consumed key passed to jit-compiled function at index 0")


def test_the_option_can_be_set_globally():
    arrax.config.update("jax_debug_key_reuse", True)
    try:
        with pytest.raises(KeyReuseError):
            REUSES["two draws"](random.key(0))
    finally:
        arrax.config.update("jax_debug_key_reuse", False)


def test_the_room_names_what_it_is_about():
    assert key_reuse.KeyReuseError is KeyReuseError


def test_a_refused_call_leaves_the_key_consumed_and_its_siblings_usable():
    with arrax.debug_key_reuse(True):
        keys = random.split(random.key(0), 3)
        a, b = keys[0], keys[1]
        random.bits(a)
        with pytest.raises(KeyReuseError):
            random.bits(a)
        random.bits(b)
        random.bits(keys[2])


def test_draws_that_no_result_needs_count_in_compiled_functions():
    def draws(key):
        random.normal(key)
        return random.normal(key)

    with arrax.debug_key_reuse(True), pytest.raises(KeyReuseError):
        arrax.jit(draws)(random.key(0))
