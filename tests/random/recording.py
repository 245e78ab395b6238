"""The file of recorded values: small results as they are, large ones as digests."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (makes NumPy know "bfloat16")
import numpy as np

FILE = Path(__file__).with_name("recorded.npz")
LARGE = 200  # bytes: above, a digest


def digest(values: np.ndarray) -> str:
    """A short fingerprint of an array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


def entry_of(values: np.ndarray) -> dict[str, Any]:
    """What is recorded of a result: its type, and its bytes or their digest."""
    entry: dict[str, Any] = {"dtype": values.dtype.name, "shape": list(values.shape)}
    if values.nbytes > LARGE:
        return entry | {"digest": digest(values)}
    return entry | {"bytes": np.ascontiguousarray(values).tobytes()}


def save(results: dict[str, np.ndarray]) -> None:
    """Write results, by name: all bytes in one array, and an index of them."""
    index, blob = [], bytearray()
    for name, values in results.items():
        entry = entry_of(values)
        if "bytes" in entry:
            data = entry.pop("bytes")
            entry["start"], entry["stop"] = len(blob), len(blob) + len(data)
            blob += data
        index.append(
            [
                name,
                *(entry[field] for field in ("dtype", "shape")),
                *[entry.get(f) for f in ("digest", "start", "stop")],
            ]
        )
    np.savez_compressed(FILE, index=np.array(json.dumps(index)), values=np.frombuffer(bytes(blob), np.uint8))


def load() -> dict[str, tuple[str, tuple[int, ...], str | np.ndarray]]:
    """(dtype, shape, values or their digest) by name."""
    file = np.load(FILE)
    blob, found = file["values"].tobytes(), {}
    for name, dtype, shape, fingerprint, start, stop in json.loads(str(file["index"])):
        values = fingerprint or np.frombuffer(blob[start:stop], np.dtype(dtype)).reshape(shape)
        found[name] = (dtype, tuple(shape), values)
    return found
