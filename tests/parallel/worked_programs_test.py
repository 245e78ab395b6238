"""Programs of the documents: products with overlapped communication, and a network trained in every parallel way."""

from functools import partial

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental.shard_map import shard_map
from arrax.sharding import Mesh, NamedSharding, PositionalSharding
from arrax.sharding import PartitionSpec as P


def mesh(shape, *names):
    return Mesh(np.array(arrax.devices()[: int(np.prod(shape))]).reshape(shape), names)


# ---- products ------------------------------------------------------------------------------------------------------


def ring(size, step):
    return partial(lax.ppermute, axis_name="i", perm=[(i, (i + step) % size) for i in range(size)])


def gathered(left, right):
    return left @ lax.all_gather(right, "i", tiled=True)


def gathered_on_the_way(left, right):
    size, here = lax.psum(1, "i"), lax.axis_index("i")
    width = left.shape[1] // size

    def piece(i):
        return lax.dynamic_slice_in_dim(left, i * width, width, 1)

    out = piece(here) @ right
    for i in range(1, size):
        right = ring(size, 1)(right)
        out += piece((here - i) % size) @ right
    return out


def gathered_both_ways(left, right):
    size, here = lax.psum(1, "i"), lax.axis_index("i")
    width = left.shape[1] // size // 2

    def piece(i, half):
        return lax.dynamic_slice_in_dim(left, (2 * i + half) * width, width, 1)

    low, high = jnp.split(right, 2, axis=0)
    out = piece(here, 0) @ low + piece(here, 1) @ high
    for i in range(1, size):
        low, high = ring(size, 1)(low), ring(size, -1)(high)
        out += piece((here - i) % size, 0) @ low + piece((here + i) % size, 1) @ high
    return out


def scattered(left, right):
    return lax.psum_scatter(left @ right, "i", tiled=True)


def scattered_on_the_way(left, right):
    size, here = lax.psum(1, "i"), lax.axis_index("i")
    pieces = left.reshape(size, -1, left.shape[1])
    out = pieces[(here + 1) % size] @ right
    for i in range(1, size):
        out = ring(size, -1)(out)
        out += pieces[(here + i + 1) % size] @ right
    return out


def gathered_in_a_loop(left, right):
    size, here = lax.axis_size("i"), lax.axis_index("i")
    width = left.shape[1] // size

    def step(i, carry):
        out, right = carry
        out = out + lax.dynamic_slice_in_dim(left, ((here - i) % size) * width, width, 1) @ right
        return out, ring(size, 1)(right)

    return lax.fori_loop(0, size, step, (jnp.zeros((left.shape[0], right.shape[1])), right))[0]


def test_products_overlap_communication():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(16, 16)).astype(np.float32), rng.normal(size=(16, 4)).astype(np.float32)
    m = mesh((8,), "i")
    by_rows, by_columns = (P("i", None), P("i", None)), (P(None, "i"), P("i", None))
    programs = [(f, by_rows) for f in (gathered, gathered_on_the_way, gathered_both_ways, gathered_in_a_loop)]
    programs += [(f, by_columns) for f in (scattered, scattered_on_the_way)]

    def all_of_them(left, right):
        return [shard_map(f, m, in_specs=specs, out_specs=P("i", None))(left, right) for f, specs in programs]

    for out in arrax.jit(all_of_them)(left, right):
        np.testing.assert_allclose(out, left @ right, rtol=1e-3, atol=1e-3)


def test_neighbours_exchange_the_borders_of_their_pieces():
    def smooth(x):
        size = lax.axis_size("i")
        before = lax.ppermute(x[-1:], "i", [(i, i + 1) for i in range(size - 1)])
        after = lax.ppermute(x[:1], "i", [(i + 1, i) for i in range(size - 1)])
        padded = jnp.concatenate([before, x, after])
        return (padded[:-2] + padded[1:-1] + padded[2:]) / 3

    x = np.arange(32, dtype=np.float32) ** 2
    whole = np.convolve(x, np.ones(3) / 3, "same")
    np.testing.assert_allclose(
        shard_map(smooth, mesh((8,), "i"), in_specs=P("i"), out_specs=P("i"))(x), whole, rtol=1e-5
    )


# ---- a network -----------------------------------------------------------------------------------------------------

SIZES, BATCH = [784, 128, 128, 128, 128, 128, 8], 32


def init(key, sizes, batch):
    key, *keys = arrax.random.split(key, len(sizes))
    params = []
    for k, n_in, n_out in zip(keys, sizes[:-1], sizes[1:], strict=True):
        k1, k2 = arrax.random.split(k)
        params.append((arrax.random.normal(k1, (n_in, n_out)) / jnp.sqrt(n_in), arrax.random.normal(k2, (n_out,))))
    key, *keys = arrax.random.split(key, 3)
    return params, (arrax.random.normal(keys[0], (batch, sizes[0])), arrax.random.normal(keys[1], (batch, sizes[-1])))


def predict(params, x):
    for w, b in params:
        out = jnp.dot(x, w) + b
        x = arrax.nn.relu(out)
    return out


def squares(predictions, targets):
    return jnp.mean(jnp.sum((predictions - targets) ** 2, axis=-1))


def loss(params, batch):
    return squares(predict(params, batch[0]), batch[1])


@pytest.fixture(scope="module")
def network():
    params, batch = init(arrax.random.PRNGKey(0), SIZES, BATCH)
    value, grads = arrax.jit(arrax.value_and_grad(loss))(params, batch)
    np.testing.assert_allclose(value, 22.779888, rtol=3e-7)  # the number that the documents print
    return params, batch, value, grads


def agree(network, parallel_loss, params, batch, grads_like=None):
    value, grads = arrax.jit(arrax.value_and_grad(parallel_loss))(params, batch)
    np.testing.assert_allclose(value, network[2], rtol=1e-6)
    for actual, expected in zip(arrax.tree.leaves(grads), arrax.tree.leaves(network[3]), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-2, atol=1e-2)
    return grads


def text_of(f, *args):
    return arrax.jit(f).lower(*args).compile().as_text()


def test_data_parallel(network):
    params, batch, _, _ = network
    m = mesh((8,), "batch")
    batch = arrax.device_put(batch, NamedSharding(m, P("batch")))
    params = arrax.device_put(params, NamedSharding(m, P()))

    def parallel(params, batch):
        @partial(shard_map, mesh=m, in_specs=P("batch", None), out_specs=P())
        def local(batch):
            return lax.pmean(squares(predict(params, batch[0]), batch[1]), "batch")

        return local(batch)

    agree(network, parallel, params, batch)
    text = text_of(arrax.grad(parallel), params, batch)
    assert "all-reduce" in text and "all-gather" not in text


keep_no_gathered = partial(arrax.remat, policy=lambda op, *_, **__: str(op) != "all_gather")


def test_fully_sharded_data_parallel(network):
    params, batch, _, _ = network
    m = mesh((8,), "batch")
    batch, params = (arrax.device_put(tree, NamedSharding(m, P("batch"))) for tree in (batch, params))

    @keep_no_gathered
    def predict_gathering(pieces, x):
        for w, b in pieces:
            out = jnp.dot(x, lax.all_gather(w, "batch", tiled=True)) + lax.all_gather(b, "batch", tiled=True)
            x = arrax.nn.relu(out)
        return out

    @partial(shard_map, mesh=m, in_specs=P("batch"), out_specs=P())
    def parallel(params, batch):
        return lax.pmean(squares(predict_gathering(params, batch[0]), batch[1]), "batch")

    grads = agree(network, parallel, params, batch)
    assert grads[0][0].sharding == NamedSharding(m, P("batch"))
    text = text_of(arrax.grad(parallel), params, batch)
    assert "reduce-scatter" in text and "all-gather" in text


def test_tensor_parallel(network):
    params, batch, _, _ = network
    m = mesh((8,), "feats")
    batch = arrax.device_put(batch, NamedSharding(m, P(None, "feats")))
    params = arrax.device_put(params, NamedSharding(m, P("feats")))

    @partial(shard_map, mesh=m, in_specs=(P(None, "feats"), P("feats", None), P("feats")), out_specs=P(None, "feats"))
    def layer(x, w, b):
        return lax.psum_scatter(jnp.dot(x, w), "feats", scatter_dimension=1, tiled=True) + b

    def parallel(params, batch):
        x = batch[0]
        for w, b in params:
            out = layer(x, w, b)
            x = arrax.nn.relu(out)
        return squares(out, batch[1])  # the compiler sums over the devices

    agree(network, parallel, params, batch)


def test_both_kinds_together(network):
    params, batch, _, _ = network
    m = mesh((4, 2), "batch", "feats")
    batch = arrax.device_put(batch, NamedSharding(m, P("batch", "feats")))
    params = arrax.device_put(params, NamedSharding(m, P(("batch", "feats"))))

    @keep_no_gathered
    def predict_both(pieces, x):
        for w, b in pieces:
            w, b = lax.all_gather(w, "batch", tiled=True), lax.all_gather(b, "batch", tiled=True)
            out = lax.psum_scatter(jnp.dot(x, w), "feats", scatter_dimension=1, tiled=True) + b
            x = arrax.nn.relu(out)
        return out

    @partial(shard_map, mesh=m, in_specs=(P(("feats", "batch")), P("batch", "feats")), out_specs=P())
    def parallel(params, batch):
        errors = lax.psum(jnp.sum((predict_both(params, batch[0]) - batch[1]) ** 2, axis=-1), "feats")
        return lax.pmean(jnp.mean(errors), "batch")

    agree(network, parallel, params, batch)


def test_pipeline(network):
    params, batch, value, _ = network
    stages, size, layers, features = 2, 8, len(params) - 2, SIZES[1]
    batches = BATCH // size
    held = batches // stages
    m = mesh((stages,), "stages")

    def shifted(x, by):
        return lax.ppermute(x, "stages", [(i, (i + by) % stages) for i in range(stages)])

    def pipeline(fn, stage_params, inputs):
        stage = lax.axis_index("stages")
        outputs = jnp.zeros_like(inputs) * jnp.nan
        state = jnp.zeros((layers // stages, size, features)) * jnp.nan
        for i in range(batches + layers - 1):
            state = state.at[0].set(jnp.where(stage == 0, inputs[i % held], state[0]))
            state = arrax.vmap(fn)(stage_params, state)
            at = (i - layers + 1) % held
            outputs = outputs.at[at].set(jnp.where(stage == stages - 1, state[-1], outputs[at]))
            state = jnp.roll(state, 1, axis=0).at[0].set(shifted(state[-1], 1))
            inputs = shifted(inputs, 1) if i % held == -1 % held else inputs
            outputs = shifted(outputs, 1) if at == -1 % held else outputs
        return shifted(outputs, 1)

    @partial(shard_map, mesh=m, in_specs=((P(), P("stages"), P()), P("stages")), out_specs=P())
    def parallel(params, batch):
        (w_first, b_first), inner, (w_last, b_last) = params
        inputs = batch[0].reshape(held, size, -1)
        x = arrax.nn.relu(jnp.dot(inputs, w_first) + b_first)
        x = pipeline(lambda wb, x: arrax.nn.relu(x @ wb[0] + wb[1]), inner, x)
        predictions = (jnp.dot(x, w_last) + b_last).reshape(held * size, -1)
        return lax.pmean(squares(predictions, batch[1]), "stages")

    first, *inner, last = params
    stacked = tuple(jnp.stack(each) for each in zip(*inner, strict=True))
    np.testing.assert_allclose(arrax.jit(parallel)((first, stacked, last), batch), value, rtol=1e-6)


def test_placing_arrays_is_all_that_automatic_parallelism_needs(network):
    """Data and parameters are placed in several ways; the program stays the same, and so do its numbers."""
    params, batch, value, grads = network
    positions = PositionalSharding(arrax.devices())
    grid = positions.reshape(4, 2)
    rows = arrax.device_put(batch, positions.reshape(8, 1))
    everywhere = arrax.device_put(params, positions.replicate())
    step = arrax.jit(arrax.value_and_grad(loss))
    np.testing.assert_allclose(step(everywhere, rows)[0], value, rtol=1e-6)
    (w1, b1), (w2, b2), (w3, b3), *rest = everywhere
    mixed = [(w1, b1), (arrax.device_put(w2, grid.replicate(0)), arrax.device_put(b2, positions.replicate())),
             (arrax.device_put(w3, grid.replicate(0).T), b3), *rest]  # fmt: skip
    found, found_grads = step(mixed, arrax.device_put(batch, grid.replicate(1)))
    np.testing.assert_allclose(found, value, rtol=1e-6)
    for actual, expected in zip(arrax.tree.leaves(found_grads), arrax.tree.leaves(grads), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-2, atol=1e-2)
