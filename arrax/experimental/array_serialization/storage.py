"""One array in storage: each process writes the pieces that it has, and reads those that it needs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.xla.arrays import Array
from arrax.xla.distribution import make_array_from_callback

try:
    import tensorstore
except ImportError:  # only those who store arrays need it
    tensorstore = None

TS_CONTEXT = None if tensorstore is None else tensorstore.Context()  # caches and pools of threads, for all arrays
_COMPRESSION = {"id": "zstd", "level": 1}


def get_tensorstore_spec(
    ckpt_path: str | os.PathLike[str], *, ocdbt: bool = False, driver: str = "zarr"
) -> dict[str, Any]:
    """The description by which TensorStore finds an array.

    Args:
      ckpt_path: folder of the array, absolute.
      ocdbt: keep all arrays of the folder above in one database.
      driver: format of the array.
    Raises:
      ValueError: a path that is not absolute.
    Example: ``get_tensorstore_spec("/tmp/x")["kvstore"]["path"]`` is ``"/tmp/x"``.
    """
    path = os.path.normpath(os.fspath(ckpt_path))
    if not os.path.isabs(path):
        raise ValueError(f"get_tensorstore_spec: the path must be absolute, got {ckpt_path}")
    if not ocdbt:
        return {"driver": driver, "kvstore": {"driver": "file", "path": path}}
    folder, name = os.path.split(path)
    return {"driver": driver, "kvstore": {"driver": "ocdbt", "base": {"driver": "file", "path": folder}, "path": name}}


def library() -> Any:
    """TensorStore.

    Raises:
      ImportError: it is not installed.
    """
    if tensorstore is None:
        raise ImportError("arrays are stored by TensorStore: pip install tensorstore")
    return tensorstore


def start_write(array: Array, spec: dict[str, Any], context: Any = TS_CONTEXT) -> list[Any]:
    """Begin to write an array; the program may change or delete it from now on.

    Returns: futures of the pieces that this process writes.
    Raises:
      TypeError: keys, which are stored as their data.
    """
    if dtypes.is_extended(array.dtype):
        raise TypeError(f"serialize: arrays of {array.dtype} are stored as their data: see arrax.random.key_data")
    ts = library()
    pieces = [(piece.index, np.array(piece.data)) for piece in array.addressable_shards if piece.replica_id == 0]
    if "metadata" not in spec and spec.get("driver") == "zarr":
        spec = {**spec, "metadata": {"compressor": _COMPRESSION}}
    chunks = [max(1, length) for length in array.sharding.shard_shape(array.shape)]
    stored = ts.open(
        ts.Spec(spec), create=True, open=True, dtype=ts.dtype(array.dtype), shape=list(array.shape),
        chunk_layout=ts.ChunkLayout(chunk_shape=chunks), context=context,
    ).result()  # fmt: skip
    return [stored[index].write(data) for index, data in pieces]


def read(
    spec: dict[str, Any], sharding: Any, shape: Sequence[int] | None, dtype: Any, context: Any = TS_CONTEXT
) -> Any:
    """An array from storage, laid out as a sharding says.

    Args:
      shape: what lies beyond the stored array is 0, what lies beyond the shape is left out; its own shape if None.
      dtype: the stored one if None.
    Raises:
      ValueError: nothing is stored there.
    """
    ts = library()
    stored = ts.open(ts.Spec(spec), open=True, context=context).result()
    whole = tuple(stored.shape) if shape is None else tuple(shape)
    found = stored.dtype.numpy_dtype if dtype is None else dtypes.dtype(dtype)

    def piece(index: tuple[slice, ...]) -> np.ndarray:
        ranges = [part.indices(length)[:2] for part, length in zip(index, whole, strict=True)]
        out = np.zeros([stop - start for start, stop in ranges], found)
        common = [(start, min(stop, length)) for (start, stop), length in zip(ranges, stored.shape, strict=True)]
        if all(start < stop for start, stop in common):
            part = stored[tuple(slice(*pair) for pair in common)].read().result()
            out[tuple(slice(0, stop - start) for start, stop in common)] = part
        return out

    return make_array_from_callback(whole, getattr(sharding, "sharding", sharding), piece)
