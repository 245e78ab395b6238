"""Sparse arrays of all layouts for tests, and their dense twins, made by NumPy alone."""

import numpy as np

import arrax.numpy as jnp
from arrax.experimental import sparse

SHAPE = (2, 3, 4)
LAYOUTS = [(b, d) for b in range(3) for d in range(3) if b + d <= 3]


def dense_array(shape=SHAPE, seed=0, dtype="float32"):
    """Whole numbers, about half of which are zero."""
    generator = np.random.default_rng(seed)
    values = generator.integers(-4, 5, shape) * (generator.random(shape) < 0.5)
    return np.asarray(values.astype(dtype))


def sparse_array(n_batch=0, n_dense=0, shape=SHAPE, seed=0, twice=False):
    """An array with indices outside, whose elements count for nothing, and with some that stand there twice."""
    dense = dense_array(shape, seed)
    batch, middle, tail = np.split(shape, [n_batch, len(shape) - n_dense])
    count, repeats = int(np.prod(middle)) + 1, 1 + twice
    data = np.full((*batch, count, *tail), 7 if middle.size else 0, dense.dtype)
    indices = np.full((*batch, count, len(middle)), middle, np.int32)
    for place in np.ndindex(*batch):
        there = (dense[place] != 0).any(tuple(range(len(middle), len(middle) + n_dense)))
        found = np.argwhere(there) if middle.size else np.zeros((1, 0), int)
        indices[place][: len(found)] = found
        data[place][: len(found)] = dense[place][tuple(found.T)] if middle.size else dense[place]
    both = (jnp.asarray(np.concatenate([x] * repeats, n_batch)) for x in (data, indices))
    return sparse.BCOO(both, shape=shape, indices_sorted=not twice, unique_indices=not twice and middle.size > 0), (
        repeats * dense
    )


def dense_of(found):
    """The dense array of NumPy that a array of coordinates stands for, by its definition; those of others."""
    if not isinstance(found, sparse.BCOO):
        return np.asarray(sparse.todense(found))
    n_batch = found.n_batch
    batch, places = found.shape[:n_batch], found.indices.shape[n_batch:]
    data = np.broadcast_to(found.data, (*batch, *found.data.shape[n_batch:]))
    indices = np.broadcast_to(found.indices, (*batch, *places))
    dense = np.zeros(found.shape, found.dtype)
    for place in np.ndindex(*batch):
        for element, index in zip(data[place], indices[place], strict=True):
            if all(0 <= n < length for n, length in zip(index, found.sparse_shape, strict=True)):
                dense[(*place, *index)] += element
    return dense
