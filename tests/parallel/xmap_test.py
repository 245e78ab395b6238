"""``xmap``: named axes in arguments, results, reductions, products; laid out over meshes."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental.maps import SerialLoop, xmap
from arrax.nn import logsumexp, one_hot, relu
from arrax.sharding import Mesh

pytestmark = pytest.mark.filterwarnings("ignore:xmap is an experimental:DeprecationWarning")


def named_loss(w1, w2, images, labels):
    hidden = relu(lax.pdot(images, w1, "inputs"))
    logits = lax.pdot(hidden, w2, "hidden")
    predictions = logits - logsumexp(logits, "classes")
    targets = one_hot(labels, lax.psum(1, "classes"), axis="classes")
    return -lax.pmean(lax.psum(targets * predictions, "classes"), "batch")


IN_AXES = [["inputs", "hidden", ...], ["hidden", "classes", ...], ["batch", "inputs", ...], ["batch", ...]]


def loss_of(w1, w2, images, labels):
    logits = relu(images @ w1) @ w2
    predictions = logits - logsumexp(logits, 1, keepdims=True)
    return -(one_hot(labels, w2.shape[1]) * predictions).sum(1).mean()


def test_a_network_is_the_same_sequentially_and_over_any_mesh():
    rng = np.random.default_rng(0)
    data = [rng.normal(size=shape).astype(np.float32) for shape in ((12, 16), (16, 10), (8, 12))]
    data.append(rng.integers(0, 10, 8))
    expected = loss_of(*data)
    np.testing.assert_allclose(xmap(named_loss, in_axes=IN_AXES, out_axes=[...])(*data), expected, rtol=1e-5)
    devices = np.array(arrax.devices())
    cases = [
        ({"batch": "x"}, (devices, ("x",))), ({"hidden": "x"}, (devices, ("x",))),
        ({"batch": "x", "hidden": "y"}, (devices.reshape(4, 2), ("x", "y"))), ({"hidden": ("x", "y")}, (devices.reshape(4, 2), ("x", "y"))),
        ({"batch": SerialLoop(2)}, (devices, ("x",))),
    ]  # fmt: skip
    for resources, mesh in cases:
        with Mesh(*mesh):
            loss = xmap(named_loss, in_axes=IN_AXES, out_axes=[...], axis_resources=resources)
            np.testing.assert_allclose(loss(*data), expected, rtol=1e-5, err_msg=str(resources))
    zeros = [np.zeros((784, 512), np.float32), np.zeros((512, 10), np.float32), np.zeros((128, 784), np.float32)]
    loss = xmap(named_loss, in_axes=IN_AXES, out_axes=[...])(*zeros, np.zeros(128, np.int32))
    np.testing.assert_allclose(loss, np.log(10), rtol=1e-6)


def test_axes_are_named_and_placed():
    x = np.arange(100.0).reshape(20, 5)

    def inside(x):
        assert x.shape == (5,) and x.ndim == 1
        return x

    assert np.array_equal(xmap(inside, in_axes={0: "batch"}, out_axes={1: "batch"})(x), x.T)
    a, b = np.arange(7.0), np.arange(5.0)
    pairs = xmap(
        lambda a, b: (a - b, a), in_axes=(["i", ...], ["j", ...]), out_axes=(["i", "j", ...], {0: "j", 1: "i"})
    )(a, b)
    assert np.array_equal(pairs[0], a[:, None] - b) and np.array_equal(pairs[1], np.tile(a, (5, 1)))


def test_names_broadcast_and_reduce():
    x, y, z = np.ones((2, 2, 1, 1)), np.ones((3, 1, 3, 1)), np.ones((5, 1, 1, 5))
    out = xmap(
        lambda x, y, z: (x + y) + (y + z), in_axes=(["a", ...], ["b", ...], ["c", ...]), out_axes=["a", "b", "c", ...]
    )(x, y, z)
    assert out.shape == (2, 3, 5, 2, 3, 5)
    p, q = np.arange(2, dtype=np.float32), np.arange(20, dtype=np.float32).reshape(5, 4)
    for reduce in (lambda z: jnp.sum(z, axis=(0, "x", "y")), lambda z: jnp.sum(jnp.sum(jnp.sum(z, 0), "x"), "y")):
        assert (
            float(xmap(lambda x, y, reduce=reduce: reduce(x + y), in_axes=({0: "x"}, {1: "y"}), out_axes={})(p, q))
            == 400
        )
    assert (
        float(xmap(lambda x: jnp.max(x, "i") - jnp.min(x, axis=(0, "i")), in_axes=["i", ...], out_axes=[...])(q)[0])
        == 16
    )


def test_products_over_names():
    x, y = np.random.default_rng(0).normal(size=(20, 5, 7)), np.random.default_rng(1).normal(size=(7, 11))
    named = xmap(lambda x, y: jnp.einsum("n{b,k},{k,m}->n{b,m}", x, y), in_axes=[{0: "b", 2: "k"}, ["k", "m", ...]],
                 out_axes={0: "b", 2: "m"})(x, y)  # fmt: skip
    np.testing.assert_allclose(named, np.einsum("bnk,km->bnm", x, y), rtol=1e-4, atol=1e-5)
    shuffled = xmap(lambda x: lax.pshuffle(x, "i", list(reversed(range(8)))), in_axes=["i", ...], out_axes=["i", ...])
    assert shuffled(np.arange(8)).tolist() == list(range(7, -1, -1))
    m = np.random.default_rng(2).normal(size=(8, 8)).astype(np.float32)
    product = xmap(jnp.vdot, in_axes=({0: "left"}, {1: "right"}), out_axes=["left", "right", ...],
                   axis_resources={"left": "x", "right": "y"})  # fmt: skip
    with pytest.raises(ValueError, match=r"missing resources are: \{.*'x'"):
        product(m, m)
    with Mesh(np.array(arrax.devices()).reshape(4, 2), ("x", "y")):
        out = product(m, m)
        assert out.sharding.shard_shape((8, 8)) == (2, 4)
    np.testing.assert_allclose(out, m @ m, rtol=1e-4, atol=1e-5)


def test_two_names_may_share_a_resource_in_different_arrays():
    with Mesh(np.array(arrax.devices()[:4]), ("x",)):
        f = xmap(lambda x, y: jnp.sum(x, axis="a") + jnp.sum(y, axis="b"), in_axes=(["a", ...], ["b", ...]), out_axes=[...],
                 axis_resources={"a": "x", "b": "x"})  # fmt: skip
        assert float(f(np.ones(4), np.ones(12))) == 16.0


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: xmap(lambda x, y: x * y, in_axes=(["i", ...], ["i", ...]), out_axes=["i", ...])(np.ones(5), np.ones(7)),
         ValueError, "'i'.*5.*7"),
        (lambda: xmap(lambda x: x, in_axes=["i", ...], out_axes=[...])(np.ones(3)), ValueError, "named axis 'i'"),
        (lambda: xmap(lambda x: x, in_axes=0, out_axes=[...])(np.ones(3)), TypeError, "axis mappings"),
        (lambda: xmap(lambda x: x, in_axes={1: "i"}, out_axes=["i", ...])(np.ones(3)), ValueError, "axis 1"),
        (lambda: xmap(lambda x: x, in_axes=["i", ...], out_axes=["i", ...], axis_resources={"i": SerialLoop(2)})(np.ones(3)),
         ValueError, "multiple"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(make, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        make()


def test_its_end_is_announced():
    with pytest.warns(DeprecationWarning, match="xmap"):
        xmap(lambda x: x, in_axes=[...], out_axes=[...])


def test_a_serial_loop_works_on_parts_one_after_the_other():
    def f(x, w):
        return {"y": jnp.sin(x) @ w, "w": w.sum()}

    def mapped(**resources):
        return xmap(
            f, in_axes=({0: "i", 1: "j"}, {}), out_axes={"y": {1: "i", 0: "j"}, "w": {}}, axis_resources=resources
        )

    x, w = np.arange(48.0, dtype=np.float32).reshape(6, 2, 4), np.arange(8.0, dtype=np.float32).reshape(4, 2)
    looped, plain = mapped(i=SerialLoop(3)), mapped()
    for name, value in plain(x, w).items():
        np.testing.assert_allclose(looped(x, w)[name], value, rtol=1e-6)
    np.testing.assert_allclose(mapped(i=SerialLoop(2), j=SerialLoop(2))(x, w)["y"], plain(x, w)["y"], rtol=1e-6)
    assert "while" in looped.lower(x, w).as_text() and "while" not in plain.lower(x, w).as_text()
    with pytest.raises(ValueError, match="has the named axis 'i'"):
        xmap(lambda x: x, in_axes={0: "i"}, out_axes={}, axis_resources={"i": SerialLoop(2)})(np.ones(4))


def test_elements_that_need_each_other_are_worked_on_at_once():
    x = np.arange(8.0, dtype=np.float32)
    shares = xmap(
        lambda x: x / lax.psum(x, "i"), in_axes={0: "i"}, out_axes={0: "i"}, axis_resources={"i": SerialLoop(4)}
    )
    np.testing.assert_allclose(shares(x), x / x.sum())
