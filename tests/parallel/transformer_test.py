"""A step of training a transformer, divided over data and tensors: the numbers of one device, the communication of textbooks."""

import re

import numpy as np

import arrax
import arrax.numpy as jnp
from arrax import lax, nn
from arrax.sharding import NamedSharding
from arrax.sharding import PartitionSpec as P

LAYERS, HEADS, WIDTH, HIDDEN, WORDS, LENGTH, BATCH = 2, 4, 16, 32, 24, 6, 8
# Each device has some heads of the attention and some of the hidden units.
COLUMNS, ROWS = P(None, "model"), P("model", None)
SPECS = {
    "words": P(),
    "layers": [{"q": COLUMNS, "k": COLUMNS, "v": COLUMNS, "o": ROWS, "up": COLUMNS, "down": ROWS, "scale": P()}] * LAYERS,
}  # fmt: skip


def parameters():
    rng = np.random.default_rng(0)

    def matrix(rows, columns):
        return (rng.normal(size=(rows, columns)) / np.sqrt(rows)).astype(np.float32)

    def layer():
        square = {name: matrix(WIDTH, WIDTH) for name in "qkvo"}
        return {**square, "up": matrix(WIDTH, HIDDEN), "down": matrix(HIDDEN, WIDTH), "scale": np.ones((2, WIDTH), np.float32)}  # fmt: skip

    return {"words": matrix(WORDS, WIDTH), "layers": [layer() for _ in range(LAYERS)]}


def normalized(x, scale):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def block(layer, x, heads, total):
    """One layer; ``total`` sums what devices have of a product."""
    y = normalized(x, layer["scale"][0])
    q, k, v = (jnp.reshape(y @ layer[name], (*y.shape[:2], heads, -1)) for name in "qkv")
    scores = jnp.einsum("blhd,bmhd->bhlm", q, k) / np.sqrt(q.shape[-1])
    weights = nn.softmax(jnp.where(np.tril(np.ones((LENGTH, LENGTH), bool)), scores, -1e9))
    x = x + total(jnp.einsum("bhlm,bmhd->blhd", weights, v).reshape(*y.shape[:2], -1) @ layer["o"])
    return x + total(nn.gelu(normalized(x, layer["scale"][1]) @ layer["up"]) @ layer["down"])


def loss(params, tokens, heads=HEADS, total=lambda x: x):
    x = params["words"][tokens[:, :-1]]
    for layer in params["layers"]:
        x = block(layer, x, heads, total)
    likelihoods = nn.log_softmax(x @ params["words"].T)
    return -jnp.mean(jnp.take_along_axis(likelihoods, tokens[:, 1:, None], -1))


def step_of(loss):
    def step(params, tokens):
        value, slopes = arrax.value_and_grad(loss)(params, tokens)
        return value, arrax.tree.map(lambda p, s: p - 0.1 * s, params, slopes)

    return step


def over_mesh():
    mesh = arrax.make_mesh((2, 4), ("data", "model"))
    rng = np.random.default_rng(1)
    tokens = rng.integers(0, WORDS, (BATCH, LENGTH + 1)).astype(np.int32)
    placed = arrax.tree.map(lambda p, spec: arrax.device_put(p, NamedSharding(mesh, spec)), parameters(), SPECS)
    return mesh, placed, arrax.device_put(tokens, NamedSharding(mesh, P("data"))), tokens


def communication(text):
    """How often the devices of the groups of each size communicate, by kind."""
    found = {}
    for line in text.splitlines():
        kind = re.search(r" (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(-start)?\(", line)
        if kind:
            groups = re.search(r"replica_groups=(?:\{\{([\d,]+)\}|\[\d+,(\d+)\])", line)
            members, size = groups.groups() if groups else (None, None)
            count = len(members.split(",")) if members else int(size or 0)
            found[kind.group(1), count] = found.get((kind.group(1), count), 0) + 1
    return found


def check(step):
    mesh, placed, divided, tokens = over_mesh()
    value, updated = arrax.jit(step_of(loss))(parameters(), tokens)
    layouts = arrax.tree.map(lambda p: p.sharding, placed)
    compiled = arrax.jit(step, out_shardings=(NamedSharding(mesh, P()), layouts)).lower(placed, divided).compile()
    found, parallel = compiled(placed, divided)
    np.testing.assert_allclose(found, value, rtol=1e-5)
    for one, other in zip(arrax.tree.leaves(parallel), arrax.tree.leaves(updated), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    return compiled.as_text()


def kinds(text):
    return {kind for kind, _ in communication(text)}


def test_the_compiler_divides_a_step_as_textbooks_do():
    text = check(step_of(loss))
    # Over tensors each layer has two sums forward and two backward; over data there is one of all slopes.
    assert kinds(text) == {"all-reduce"} and sum(communication(text).values()) == 4 * LAYERS + 1


def test_so_does_a_program_per_device():
    mesh, *_ = over_mesh()

    def local(params, tokens):
        own = loss(params, tokens, HEADS // 4, lambda x: lax.psum(x, "model"))
        return lax.pmean(own, "data")

    text = check(step_of(arrax.shard_map(local, mesh=mesh, in_specs=(SPECS, P("data")), out_specs=P())))
    assert communication(text) == {("all-reduce", 4): 4 * LAYERS, ("all-reduce", 2): 1}
