"""Logs of tracing and compiling: what is new about a call is told by name."""

import logging

import pytest

import arrax
import arrax.numpy as jnp


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, logger="arrax")
    return caplog


def fresh():
    """A function that was never traced."""

    def scaled(x, n=1, *, mode="plain"):
        return [y * n for y in x] if isinstance(x, list) else x * n

    return scaled


# fmt: off
CASES = {
    "a type":             (lambda f: f(jnp.ones(4)), "type of x: now f32[4], before f32[3]"),
    "weakness":           (lambda f: (f(1.0), f(jnp.float32(1))), "type of x: now f32[], before f32[] weakly typed"),
    "a positional more":  (lambda f: f(jnp.ones(3), 2), "number of positional arguments: now 2, before 1"),
    "a keyword":          (lambda f: f(jnp.ones(3), n=2), "keyword arguments: now ['n'], before []"),
    "a structure":        (lambda f: f([jnp.ones(3)]), "now it has a list of length 1, where before it has a leaf"),
    "a static argument":  (lambda f: f(jnp.ones(3), mode="other"), "static keyword argument mode: now 'other', before not"),
    "a setting":          (lambda f: arrax.numpy_rank_promotion("warn")(f)(jnp.ones(3)), "now 'warn', before 'allow'"),
    "a named axis":       (lambda f: arrax.vmap(f, axis_name="i")(jnp.ones((2, 3))), "named axes: now i of size 2"),
}
# fmt: on


@pytest.mark.parametrize("case", CASES)
def test_the_difference_to_earlier_calls_is_told(case, log):
    call, words = CASES[case]
    function = arrax.jit(fresh(), static_argnames="mode")
    function(jnp.ones(3))
    with arrax.explain_cache_misses(True):
        call(function)
    assert words in log.text and "cache_misses_test.py" in log.text


def test_functions_never_traced_before_are_named(log):
    arrax.clear_caches()
    with arrax.explain_cache_misses(True):
        arrax.jit(fresh())(1.0)
        assert "scaled at" in log.text and "never traced before" in log.text and "define it once" not in log.text
        arrax.jit(fresh())(1.0)
    assert "another function of this definition was: define it once" in log.text


def test_known_calls_are_silent(log):
    function = arrax.jit(fresh())
    function(1.0)
    with arrax.explain_cache_misses(True), arrax.log_compiles(True):
        function(2.0)
    assert not log.records


def test_compilations_are_logged(log):
    with arrax.log_compiles(True):
        arrax.jit(lambda x: x * 1.2345 + 77)(3.0)
    assert "tracing" in log.text


def test_keywords_and_arguments_behind_static_ones_keep_their_names(log):
    function = arrax.jit(lambda n, x, *, z, a: x, static_argnums=0)
    function(2, 1.0, z=1.0, a=1.0)
    with arrax.explain_cache_misses(True):
        function(2, 1.0, z=jnp.ones(3), a=1.0)
    assert "type of z: now f32[3]" in log.text
    compiled = arrax.jit(lambda n, x: x, static_argnums=0).lower(2, 1.0).compile()
    with pytest.raises(TypeError, match="'x' compiled with"):
        compiled(jnp.ones(3))
