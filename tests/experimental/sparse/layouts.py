"""Sparse arrays of all layouts for tests, and their dense twins."""

import numpy as np

import arrax.numpy as jnp
from arrax.experimental import sparse

SHAPE = (2, 3, 4)
LAYOUTS = [(b, d) for b in range(3) for d in range(3) if b + d <= 3]


def dense_array(shape=SHAPE, seed=0, dtype="float32"):
    """Whole numbers, about half of which are zero."""
    generator = np.random.default_rng(seed)
    values = generator.integers(-4, 5, shape) * (generator.random(shape) < 0.5)
    return jnp.asarray(values.astype(dtype))


def sparse_array(n_batch=0, n_dense=0, shape=SHAPE, seed=0, twice=False):
    """An array with indices outside, and with some that stand there twice."""
    dense = dense_array(shape, seed)
    stored = int(np.prod(shape[n_batch : len(shape) - n_dense]))
    made = sparse.BCOO.fromdense(dense, n_batch=n_batch, n_dense=n_dense, nse=stored + 1)
    if not twice:
        return made, dense
    both = jnp.concatenate([made.data, made.data], n_batch), jnp.concatenate([made.indices, made.indices], n_batch)
    return sparse.BCOO(both, shape=shape), 2 * dense
