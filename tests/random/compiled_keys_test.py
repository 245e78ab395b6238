"""Arrays of keys in calls of compiled functions: their words pass through C++, and all that holds of arrays holds of them."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import arrax
from arrax import lax, random
from arrax.core.calls import is_internal
from arrax.core.pytree_nodes import call_registry
from arrax.transforms.jit import Jitted


def words(keys):
    return np.asarray(random.key_data(keys))


@pytest.fixture
def python_runs(monkeypatch):
    """How often a call of a compiled function came to Python."""
    runs, run = [], Jitted.run_first

    def counting(self, *args, **kwargs):
        runs.append(self.name)
        return run(self, *args, **kwargs)

    monkeypatch.setattr(Jitted, "run_first", counting)
    return runs


CALLS = {
    "a key": (lambda k: random.bits(k), lambda k: (k,)),
    "returned": (lambda k: random.split(k, 3), lambda k: (k,)),
    "handed on": (lambda k: k, lambda k: (k,)),
    "in a tree": (lambda t: {"key": random.fold_in(t["key"], 1), "all": (t, None)}, lambda k: ({"key": k, "x": 1.0},)),
    "an array": (lambda ks: arrax.vmap(random.bits)(ks), lambda k: (random.split(k, 4),)),
    "rbg": (lambda k: random.uniform(k, (2,)), lambda k: (random.key(1, impl="rbg"),)),
    "a partial": (lambda p: p(), lambda k: (arrax.tree_util.Partial(random.bits, k),)),
    "a gradient": (arrax.grad(lambda x, k: x * random.uniform(k)), lambda k: (2.0, k)),
    "a loop": (
        lambda k: lax.scan(lambda c, _: (random.split(c)[0], random.bits(c)), k, None, length=3),
        lambda k: (k,),
    ),
}


@pytest.mark.parametrize("function, arguments", CALLS.values(), ids=CALLS)
def test_only_the_first_call_comes_to_python(python_runs, function, arguments):
    compiled, args = arrax.jit(function), arguments(random.key(7))
    first = compiled(*args)
    before = len(python_runs)
    second = compiled(*args)
    assert len(python_runs) == before
    assert arrax.tree.structure(first) == arrax.tree.structure(second)
    for one, other in zip(*map(arrax.tree.leaves, (first, second)), strict=True):
        assert type(one) is type(other) and one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_array_equal(*(words(x) if random.key(0).dtype == x.dtype else x for x in (one, other)))


def test_generators_and_raw_words_are_told_apart():
    compiled = arrax.jit(lambda k: k)
    fry, rbg, raw = random.key(0), random.key(0, impl="rbg"), random.PRNGKey(0)
    for _ in range(2):
        assert str(compiled(fry).dtype) == "key<fry>"
        assert str(compiled(rbg).dtype) == "key<rbg>"
        assert compiled(raw).dtype == np.uint32


def test_keys_are_no_static_arguments():
    with pytest.raises(ValueError, match="hash"):
        arrax.jit(random.bits, static_argnums=0)(random.key(0))


def test_donated_keys_are_gone():
    step = arrax.jit(lambda k: random.split(k, 1)[0], donate_argnums=0)
    for number in range(3):
        key = random.fold_in(random.key(0), number)
        step(key)
        assert key.is_deleted()


def test_a_deleted_key_is_refused():
    draw, key = arrax.jit(random.bits), random.fold_in(random.key(0), 1)
    draw(key)
    key.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        draw(key)
    with pytest.raises(RuntimeError, match="deleted") as caught:
        repr(key)
    assert not any(is_internal(str(each.path)) for each in caught.traceback[1:])


def test_concrete_keys_within_a_trace_are_traced():
    key, inner = random.key(0), arrax.jit(random.split)
    inner(key)
    program = arrax.make_jaxpr(lambda: inner(key))()
    assert "random_split" in str(program)
    outer = arrax.jit(lambda k: inner(k)[1])
    for _ in range(2):
        np.testing.assert_array_equal(words(outer(key)), words(random.split(key))[1])


def test_compiled_functions_are_mapped_over_keys():
    keys = random.split(random.key(0), 3)
    draw = arrax.jit(random.uniform)
    one_by_one = [draw(key) for key in keys]
    np.testing.assert_array_equal(arrax.vmap(draw)(keys), one_by_one)
    np.testing.assert_array_equal(arrax.jit(arrax.vmap(draw))(keys), one_by_one)


def test_programs_compiled_ahead_of_time_take_keys():
    key = random.key(3)
    compiled = arrax.jit(lambda k: {"keys": random.split(k)}).lower(key).compile()
    for _ in range(2):
        np.testing.assert_array_equal(words(compiled(key)["keys"]), words(random.split(key)))
    spec = arrax.ShapeDtypeStruct((), key.dtype)
    assert arrax.jit(random.bits).lower(spec).compile()(key) == random.bits(key)
    with pytest.raises(TypeError, match=r"key<fry>\[\].*uint32\[2\]"):
        compiled(random.PRNGKey(3))


def test_trees_are_those_of_keys_as_leaves():
    key = random.key(0)
    assert len(arrax.tree.leaves({"a": key})) == 1
    assert str(arrax.jit(lambda k: {"a": k}).lower(key).out_tree) == "PyTreeDef({'a': *})"
    inner = call_registry.flatten({"a": key})[1]
    assert pickle.loads(pickle.dumps(inner)) == inner
    assert pickle.loads(pickle.dumps(key._impl)) is key._impl
    returned = arrax.jit(random.split)(key)
    np.testing.assert_array_equal(words(pickle.loads(pickle.dumps(returned))), words(returned))


def test_the_reuse_checker_sees_functions_that_were_called_before():
    key, draw = random.key(0), arrax.jit(random.bits)
    draw(key), draw(key)
    with arrax.debug_key_reuse(True):
        draw(key)
        with pytest.raises(arrax.errors.KeyReuseError):
            draw(key)
    draw(key)


def test_functions_run_where_committed_keys_lie():
    code = """
import arrax
from arrax import random
a, b = arrax.devices()
key, draw = random.key(0), arrax.jit(random.bits)
there = arrax.device_put(key, b)
for _ in range(2):
    assert draw(key).devices() == {a} and draw(there).devices() == {b} and draw(there).committed
    assert arrax.jit(random.split)(there).devices() == random.split(there).devices() == {b}
assert random.uniform(key, (3,), out_sharding=arrax.sharding.SingleDeviceSharding(b)).devices() == {b}
try:
    arrax.jit(lambda k, x: random.uniform(k) + x)(there, arrax.device_put(1.0, a))
except ValueError as error:
    print("refused" if "incompatible devices" in str(error) and "key<fry>[]" in str(error) else error)
"""
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "refused", done.stderr
