"""Compiled functions as bytes: the loaded one is called as the other, also by another process, and says what it lacks."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.core import config
from arrax.experimental.serialize_executable import deserialize_and_load, serialize

LARGE = jnp.arange(6000.0)


def compiled(function, *args, **options):
    return arrax.jit(function, **options).lower(*args).compile()


def again(function, *args, **options):
    return deserialize_and_load(*serialize(compiled(function, *args, **options)))


def test_a_loaded_function_takes_and_gives_what_the_compiled_one_does():
    lowered = arrax.jit(lambda tree, shift=0: {"sum": tree["x"] + shift}).lower({"x": jnp.ones(3)}, shift=2)
    first = lowered.compile()
    loaded = deserialize_and_load(*serialize(first))
    for _ in range(2):  # the second call is made by C++
        np.testing.assert_array_equal(loaded({"x": jnp.arange(3.0)}, shift=5)["sum"], [5, 6, 7])
    assert (loaded.in_tree, loaded.out_tree, loaded.in_avals) == (first.in_tree, first.out_tree, first.in_avals)
    assert loaded.out_info["sum"].shape == (3,) and isinstance(loaded, arrax.stages.Compiled)
    assert "HloModule" in loaded.as_text() and loaded.input_shardings == first.input_shardings
    with pytest.raises(TypeError, match=r"tree\['x'\]' compiled with float32\[3\] and called with float32\[4\]"):
        loaded({"x": jnp.ones(4)}, shift=1)
    with pytest.raises(TypeError, match="another structure"):
        loaded({"y": jnp.ones(3)}, shift=1)


def test_constants_keys_kernels_unused_and_donated_arguments_are_kept():
    np.testing.assert_array_equal(again(lambda x: (x + LARGE)[:3], 1.0)(2.0), [2, 3, 4])
    key = arrax.random.key(3)
    split = again(arrax.random.split, key)(key)
    assert split.dtype == key.dtype and (split == arrax.random.split(key)).all()
    np.testing.assert_array_equal(again(jnp.sort, LARGE)(LARGE[::-1]), LARGE)
    given = jnp.ones(64)
    loaded = again(lambda unused, x: x + 1, 1.0, given, donate_argnums=1)
    assert loaded.donate_argnums == (1,) and loaded(7.0, given)[0] == 2 and given.is_deleted()


def test_what_was_loaded_or_came_from_the_disk_can_be_written_again(tmp_path):
    def function(x):
        return jnp.sin(x) * 2.125

    with config.compilation_cache_dir(str(tmp_path)):
        compiled(function, 1.0)
        arrax.clear_caches()
        found = compiled(function, 1.0)
    written = serialize(found)
    loaded = deserialize_and_load(*written)
    assert serialize(loaded) == written
    twice = deserialize_and_load(*serialize(loaded))
    assert twice(1.0) == loaded(1.0) == found(1.0) == function(1.0)


def test_another_process_loads_it(tmp_path):
    file = tmp_path / "function"
    file.write_bytes(pickle.dumps(serialize(compiled(lambda x: jnp.cumsum(x) * 3, jnp.arange(4.0)))))
    program = f"""
import pickle, arrax.numpy as jnp
from arrax.experimental import serialize_executable
function = serialize_executable.deserialize_and_load(*pickle.loads(open({str(file)!r}, "rb").read()))
print(function(jnp.ones(4)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == "[ 3. 6. 9. 12.]".split(), done.stderr


def test_what_cannot_be_written_is_refused():
    for value in (arrax.jit(jnp.sin), arrax.jit(jnp.sin).lower(1.0), 3):
        with pytest.raises(TypeError, match=r"serialize: expected a compiled function.*got <class"):
            serialize(value)
    with pytest.raises(ValueError, match="calls functions of this process"):
        serialize(compiled(lambda x: arrax.pure_callback(np.sin, x, x), 1.0))
    with pytest.raises(ValueError, match="effects"):
        serialize(compiled(lambda x: (arrax.debug.print("{}", x), x)[1], 1.0))
    with pytest.raises(ValueError, match="effects"):
        serialize(compiled(lambda ref: ref[...], arrax.new_ref(1.0)))


def test_what_cannot_be_loaded_is_refused():
    data, in_tree, out_tree = serialize(compiled(jnp.tan, 1.0))
    for wrong, message in (
        (b"", "not the bytes of a compiled function"),
        (data[:-1] + b"?", "damaged"),
        (data.replace(b"\n", b"0\n", 1), "compiled with jaxlib .*compile it again"),
    ):
        with pytest.raises(ValueError, match=message):
            deserialize_and_load(wrong, in_tree, out_tree)
    with pytest.raises(
        ValueError, match="has 1 arguments and 1 results, and the structures that were given have 2 and 1"
    ):
        deserialize_and_load(data, arrax.tree.structure(((1, 2), {})), out_tree)
    with pytest.raises(RuntimeError, match="nowhere"):
        deserialize_and_load(data, in_tree, out_tree, backend="nowhere")
    with pytest.raises(ValueError, match="runs on 1 devices"):
        deserialize_and_load(data, in_tree, out_tree, execution_devices=arrax.devices()[:1] * 2)
    with pytest.raises(NotImplementedError, match="no function to trace"):
        deserialize_and_load(data, in_tree, out_tree)._jitted.fun(1.0)
