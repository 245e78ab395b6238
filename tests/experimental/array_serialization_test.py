"""Arrays in storage: what is written is read, in any layout; errors of the writing thread are raised."""

import asyncio
import json

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental.array_serialization import serialization, storage
from arrax.experimental.array_serialization.serialization import (
    GlobalAsyncCheckpointManager,
    GlobalAsyncCheckpointManagerBase,
    get_tensorstore_spec,
)

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_descriptions_of_places():
    assert get_tensorstore_spec("/a/b/") == {"driver": "zarr", "kvstore": {"driver": "file", "path": "/a/b"}}
    database = get_tensorstore_spec("/a/b", ocdbt=True)["kvstore"]
    assert database == {"driver": "ocdbt", "base": {"driver": "file", "path": "/a"}, "path": "b"}
    with pytest.raises(ValueError, match="must be absolute, got b"):
        get_tensorstore_spec("b")


def test_coroutines_write_and_read(tmp_path):
    pytest.importorskip("tensorstore")
    x, spec = jnp.asarray(X), get_tensorstore_spec(tmp_path / "a")

    async def there_and_back():
        await serialization.async_serialize(x, spec)
        futures = []
        await serialization.async_serialize(x + 1, get_tensorstore_spec(tmp_path / "b"), futures)
        for future in futures:
            await future
        both = (serialization.async_deserialize(x.sharding, get_tensorstore_spec(tmp_path / name)) for name in "ab")
        longer = serialization.async_deserialize(x.sharding, spec, (3, 3), jnp.int32, context=serialization.TS_CONTEXT)
        return await asyncio.gather(*both, longer)

    same, next_, longer = asyncio.run(there_and_back())
    np.testing.assert_array_equal(same, X)
    np.testing.assert_array_equal(next_, X + 1)
    np.testing.assert_array_equal(longer, [[0, 1, 2], [3, 4, 5], [0, 0, 0]])
    assert same.sharding == x.sharding and longer.dtype == jnp.int32


def test_what_is_written_is_read(tmp_path):
    pytest.importorskip("tensorstore")
    arrays = [jnp.asarray(X), jnp.array(3, jnp.bfloat16), jnp.zeros((0, 2), np.int8)]
    specs = [get_tensorstore_spec(tmp_path / name) for name in "abc"]
    committed = []
    manager = GlobalAsyncCheckpointManager()
    manager.serialize(arrays, specs, on_commit_callback=lambda: committed.append(True))
    found = manager.deserialize([x.sharding for x in arrays], specs)
    assert committed == [True]
    for x, y in zip(arrays, found, strict=True):
        np.testing.assert_array_equal(x, y)
        assert x.dtype == y.dtype and x.sharding == y.sharding
    assert json.loads((tmp_path / "a" / ".zarray").read_text())["chunks"] == [2, 3]
    paths = [str(tmp_path / "d")]
    manager.serialize_with_paths(arrays[:1], paths)
    (wider,) = manager.deserialize_with_paths([arrays[0].sharding], paths, global_shapes=[(3, 2)], dtypes=[np.int32])
    np.testing.assert_array_equal(wider, [[0, 1], [3, 4], [0, 0]])
    assert wider.dtype == np.int32


def test_what_went_wrong_is_raised(tmp_path):
    pytest.importorskip("tensorstore")
    manager = GlobalAsyncCheckpointManager()
    manager.serialize_with_paths([jnp.asarray(X)], [str(tmp_path / "x")], on_commit_callback=lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        manager.wait_until_finished()
    manager.wait_until_finished()  # it is raised once
    with pytest.raises(ValueError, match="NOT_FOUND"):
        serialization.run_deserialization([jnp.ones(2).sharding], [get_tensorstore_spec(tmp_path / "none")])


def test_refusals(tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="key_data"):
        storage.start_write(arrax.random.key(0), get_tensorstore_spec(tmp_path))
    with pytest.raises(NotImplementedError, match="transactions"):
        GlobalAsyncCheckpointManager().serialize([], [], transaction=object())
    with pytest.raises(TypeError, match="abstract"):
        GlobalAsyncCheckpointManagerBase()
    monkeypatch.setattr(storage, "tensorstore", None)
    with pytest.raises(ImportError, match="pip install tensorstore"):
        serialization.run_serialization([jnp.asarray(X)], [get_tensorstore_spec(tmp_path)])
