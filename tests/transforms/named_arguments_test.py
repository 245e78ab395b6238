"""Errors of transformations and stages name the argument that is no array."""

import functools

import pytest

import arrax
import arrax.numpy as jnp


@pytest.mark.parametrize(
    "mapped", [arrax.vmap, arrax.grad, lambda f: functools.partial(arrax.vjp, f), lambda f: functools.partial(arrax.linearize, f),
               lambda f: lambda *args: arrax.jvp(f, args, args),
               lambda f: arrax.shard_map(f, mesh=arrax.make_mesh((1,), ("x",)), in_specs=arrax.P(), out_specs=arrax.P())],
)  # fmt: skip
def test_what_transformations_cannot_take_is_named(mapped):
    def f(options, x):
        return x

    with pytest.raises(TypeError, match=r"<class 'str'>.* The argument at fault is options\['mode'\]"):
        mapped(f)({"mode": "train", "rate": jnp.ones(1)}, jnp.ones(1))


@pytest.mark.parametrize(
    "stage", [lambda f: arrax.jit(f).lower, lambda f: arrax.jit(f).trace, lambda f: arrax.jit(f).eval_shape,
              lambda f: functools.partial(arrax.eval_shape, f), arrax.make_jaxpr, arrax.xla_computation],
)  # fmt: skip
def test_what_stages_cannot_trace_is_named(stage):
    def f(x, options):
        return x

    with pytest.raises(TypeError, match=r"argument options\['mode'\] of f, whose value is 'train'"):
        stage(f)(1.0, {"mode": "train"})
