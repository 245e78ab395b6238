"""Pickles of functions: those of the library by their names, jitted ones of the user with their options."""

import copy
import pickle

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.interpreter import context
from arrax.lax.remat import name_p
from arrax.lax.saved_values import Offloadable, Recompute, Saveable


def scaled(x, n):
    return x * n


named = arrax.jit(lambda x: x + 1)
jitted = arrax.jit(scaled, static_argnames="n")
PUBLIC = [
    jnp.sin, jnp.einsum, jnp.where, jnp.linalg.svd, arrax.nn.relu, arrax.nn.softmax, arrax.random.normal, arrax.lax.scan,
    arrax.tree.map, arrax.tree_util.tree_map, arrax.vmap, arrax.jit, arrax.grad, arrax.scipy.special.gammaln,
]  # fmt: skip


@pytest.mark.parametrize("function", PUBLIC, ids=lambda f: f.__qualname__)
def test_public_functions_are_pickled_by_their_names(function):
    assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function


def test_jitted_functions_are_pickled_with_their_options():
    again = pickle.loads(pickle.dumps(jitted))
    assert again is not jitted and again(np.float32(2), n=3) == 6 and again(np.float32(2), n=4) == 8
    assert again.lower(1.0, n=2).compile()(1.0) == 2
    (kept,) = pickle.loads(pickle.dumps([arrax.jit(scaled, donate_argnums=0, inline=True)]))
    assert kept._jitted.options.donate_argnums == (0,) and kept._jitted.options.inline
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(named)  # a lambda has no name to be found by


def test_policies_of_checkpoints_are_pickled():
    policies, product = arrax.checkpoint_policies, lax.dot_general_p
    for policy in (policies.dots_saveable, policies.checkpoint_dots, policies.save_only_these_names):
        assert pickle.loads(pickle.dumps(policy)) is policy
    places = {"offload_src": "device", "offload_dst": "pinned_host"}
    named = policies.save_only_these_names("a")
    both = policies.save_from_both_policies(named, policies.dots_saveable)
    moved = policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"], names_which_can_be_offloaded=["b"], **places
    )
    assert [pickle.loads(pickle.dumps(p))(name_p, name="a", names="b") for p in (named, both, moved)] == [
        True,
        True,
        Saveable,
    ]
    assert [pickle.loads(pickle.dumps(p))(product, name="a") for p in (named, both, moved)] == [False, True, Recompute]
    assert pickle.loads(pickle.dumps(moved))(name_p, name="b") == Offloadable("device", "pinned_host")


def test_symbolic_dimensions_are_their_own_copies():
    (a,) = arrax.export.symbolic_shape("a", constraints=["a >= 2"])
    found = copy.deepcopy({"length": a, "scope": a.scope})
    assert found["length"] is a and found["scope"] is a.scope and copy.copy(a) is a


def test_what_functions_are_pickled_with_belongs_to_the_process():
    assert pickle.loads(pickle.dumps(context)) is context
