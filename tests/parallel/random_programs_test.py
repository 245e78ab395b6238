"""Operations on arrays laid out at random over random meshes: the values of one device; and random programs per device."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.sharding import Mesh, NamedSharding
from arrax.sharding import PartitionSpec as P

MESHES = [((8,), "a"), ((4, 2), "ab"), ((2, 4), "ab"), ((2, 2, 2), "abc")]
OPERATIONS = {
    "add": lambda x, y: x + y[0], "sin": lambda x, y: jnp.sin(x), "matmul": lambda x, y: x @ y.T, "sum": lambda x, y: x.sum(0),
    "mean": lambda x, y: x.mean((0, 1)), "max": lambda x, y: x.max(1), "transpose": lambda x, y: x.T,
    "reshape": lambda x, y: x.reshape(-1, 4), "concatenate": lambda x, y: jnp.concatenate([x, y], 1),
    "slice": lambda x, y: x[1:7, ::2], "gather": lambda x, y: x[jnp.array([3, 0, 5])], "sort": lambda x, y: jnp.sort(x, 0),
    "cumsum": lambda x, y: jnp.cumsum(x, 1), "einsum": lambda x, y: jnp.einsum("ij,kj->ki", x, y),
    "softmax": lambda x, y: arrax.nn.softmax(x, 0), "where": lambda x, y: jnp.where(x > 0, x, y), "roll": lambda x, y: jnp.roll(x, 3, 0),
    "update": lambda x, y: x.at[2:5].add(1), "scan": lambda x, y: lax.scan(lambda c, r: (c + r, c * r), y[0], x)[1],
    "pad": lambda x, y: jnp.pad(x, 1), "argmax": lambda x, y: jnp.argmax(x, 1), "solve": lambda x, y: jnp.linalg.solve(x @ x.T + 9 * jnp.eye(8), y),
    "fft": lambda x, y: jnp.abs(jnp.fft.fft(x)), "gradient": lambda x, y: arrax.grad(lambda x: (jnp.tanh(x @ y.T) ** 2).sum())(x),
}  # fmt: skip


def random_spec(rng, names):
    """Each mesh axis divides one of two axes, or none."""
    entries = ([], [])
    for name in rng.permutation(list(names)):
        place = rng.integers(3)
        if place < 2:
            entries[place].append(str(name))
    return P(*(tuple(names) or None for names in entries))


@pytest.mark.parametrize("shape, names", MESHES, ids=str)
def test_operations_on_arrays_over_a_mesh_give_the_values_of_one_device(shape, names):
    rng = np.random.default_rng(len(names) * 10 + shape[0])
    mesh = Mesh(np.array(arrax.devices()).reshape(shape), tuple(names))
    x, y = (rng.normal(size=(8, 8)).astype(np.float32) for _ in range(2))
    inputs = [
        (
            arrax.device_put(x, NamedSharding(mesh, random_spec(rng, names))),
            arrax.device_put(y, NamedSharding(mesh, random_spec(rng, names))),
        )
        for _ in OPERATIONS
    ]
    outs = arrax.jit(lambda pairs: [f(*pair) for f, pair in zip(OPERATIONS.values(), pairs, strict=True)])(inputs)
    expected = arrax.jit(lambda x, y: [f(x, y) for f in OPERATIONS.values()])(x, y)
    for name, out, value, (first, second) in zip(OPERATIONS, outs, expected, inputs, strict=True):
        message = f"{name} of arrays over {first.sharding.spec} and {second.sharding.spec}"
        np.testing.assert_allclose(out, value, rtol=1e-4, atol=1e-4, err_msg=message)
        assert len(out.devices()) == 8, message


STEPS = [  # (what a device does, what that means for the stack of all blocks)
    (lambda b: lax.psum(b, "a") + b, lambda s: s.sum(0) + s),
    (lambda b: b - lax.pmean(b, "a"), lambda s: s - s.mean(0)),
    (lambda b: lax.ppermute(b, "a", [(i, (i + 1) % 8) for i in range(8)]), lambda s: jnp.roll(s, 1, 0)),
    (lambda b: lax.all_gather(b, "a").sum(0) * b, lambda s: s.sum(0) * s),
    (lambda b: lax.all_to_all(b, "a", 0, 0, tiled=True), lambda s: s.transpose(1, 0, 2)),
    (lambda b: lax.psum_scatter(jnp.tile(b, (8, 1)), "a", tiled=True), lambda s: jnp.tile(s.sum(0), (8, 1, 1))),
    (lambda b: b * (1 + lax.axis_index("a")), lambda s: s * jnp.arange(1, 9)[:, None, None]),
    (lambda b: jnp.tanh(b), lambda s: jnp.tanh(s)),
    (lambda b: b / (1 + lax.pmax(lax.stop_gradient(jnp.abs(b)), "a")), lambda s: s / (1 + lax.stop_gradient(jnp.abs(s)).max(0))),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_per_device_mean_what_they_mean_on_stacks(seed):
    rng = np.random.default_rng(seed)
    chosen = [STEPS[i] for i in rng.permutation(len(STEPS))[:5]]
    mesh = Mesh(np.array(arrax.devices()), ("a",))
    x = rng.normal(size=(64, 3)).astype(np.float32) / 4
    weights = rng.normal(size=(64, 3)).astype(np.float32)

    def body(block):
        for step, _ in chosen:
            block = step(block)
        return block

    def on_stacks(x):
        stack = x.reshape(8, 8, 3)
        for _, meaning in chosen:
            stack = meaning(stack)
        return stack.reshape(64, 3)

    for checked in (True, False):
        f = arrax.shard_map(body, mesh=mesh, in_specs=P("a"), out_specs=P("a"), check_vma=checked)
        value, slope = arrax.jit(arrax.value_and_grad(lambda x, f=f: (f(x) * weights).sum()))(x)
        wanted, wanted_slope = arrax.jit(arrax.value_and_grad(lambda x: (on_stacks(x) * weights).sum()))(x)
        np.testing.assert_allclose(value, wanted, rtol=2e-4, atol=1e-3)
        np.testing.assert_allclose(slope, wanted_slope, rtol=2e-3, atol=1e-4 + 2e-3 * float(np.abs(wanted_slope).max()))


SIZES = {"a": 4, "b": 2}


def grid_step(rng):
    """What a device of a grid does with its block and with weights that all have, and what that means for all blocks."""
    names = [("a",), ("b",), ("a", "b")][rng.integers(3)]
    places, count = tuple("ab".index(name) for name in names), int(np.prod([SIZES[name] for name in names]))
    axis = names[0]
    place, size = places[0], SIZES[axis]
    shift = [(i, (i + 1) % size) for i in range(size)]
    return [
        (lambda b, w: b + lax.psum(b * w, names), lambda s, w: s + (s * w).sum(places, keepdims=True)),
        (lambda b, w: b - lax.pmean(b, names) * w, lambda s, w: s - s.mean(places, keepdims=True) * w),
        (lambda b, w: lax.ppermute(b, axis, shift) * w, lambda s, w: jnp.roll(s, 1, place) * w),
        (lambda b, w: b * lax.all_gather(b, names).mean(0), lambda s, w: s * s.mean(places, keepdims=True)),
        (lambda b, w: lax.psum_scatter(jnp.tile(b, (count, 1)), names, tiled=True) / count,
         lambda s, w: s.mean(places, keepdims=True) + 0 * s),
        (lambda b, w: jnp.where(lax.axis_index(axis) > 0, b, b * w), lambda s, w: jnp.where(
            jnp.arange(size).reshape([size if n == place else 1 for n in range(4)]) > 0, s, s * w)),
        (lambda b, w: lax.scan(lambda c, r: (c + lax.pmean(r, names) * 0.1, c * r), w, b)[1],
         lambda s, w: lax.scan(lambda c, r: (c + r.mean(places, keepdims=True) * 0.1, c * r), w + 0 * s[:, :, 0],
                               s.transpose(2, 0, 1, 3))[1].transpose(1, 2, 0, 3)),
        (lambda b, w: jnp.tanh(b @ jnp.outer(w, w)), lambda s, w: jnp.tanh(s @ jnp.outer(w, w))),
    ][rng.integers(8)]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_over_a_grid_mean_what_they_mean_on_all_blocks(seed):
    rng = np.random.default_rng(seed)
    chosen = [grid_step(rng) for _ in range(4)]
    mesh = Mesh(np.array(arrax.devices()).reshape(4, 2), ("a", "b"))
    x = rng.normal(size=(16, 3)).astype(np.float32) / 2
    weights, factors = (rng.normal(size=shape).astype(np.float32) / 2 for shape in ((3,), (16, 3)))

    def body(block, weights):
        for step, _ in chosen:
            block = step(block, weights)
        return block

    def on_all(x, weights):
        blocks = x.reshape(4, 2, 2, 3)
        for _, meaning in chosen:
            blocks = meaning(blocks, weights)
        return blocks.reshape(16, 3)

    def score(f):
        return arrax.jit(arrax.value_and_grad(lambda x, w: (f(x, w) * factors).sum(), (0, 1)))

    wanted, wanted_slopes = score(on_all)(x, weights)
    for checked in (True, False):
        f = arrax.shard_map(body, mesh=mesh, in_specs=(P(("a", "b")), P()), out_specs=P(("a", "b")), check_vma=checked)
        value, slopes = score(f)(x, weights)
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-4)
        for slope, expected in zip(slopes, wanted_slopes, strict=True):
            np.testing.assert_allclose(slope, expected, rtol=1e-3, atol=1e-4)


# Where devices have parts of the space of images the compiler by itself sums over too many of them.
@pytest.mark.parametrize("spec", [P(None, None, "a"), P("b", None, "a"), P(None, None, "b", "a"), P("a", "b")], ids=str)
def test_derivatives_of_convolutions_and_transforms_of_divided_images(spec):
    rng = np.random.default_rng(0)
    mesh = Mesh(np.array(arrax.devices()).reshape(4, 2), ("a", "b"))
    images, kernel = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 4, 8, 8), (4, 4, 3, 3)))

    @arrax.jit
    def slopes(images, kernel):
        def score(images, kernel):
            return (lax.conv(images, kernel, (1, 1), "SAME") ** 2).sum() + (jnp.abs(jnp.fft.fft2(images)) ** 3).sum()

        return arrax.grad(score, (0, 1))(images, kernel)

    found = slopes(arrax.device_put(images, NamedSharding(mesh, spec)), kernel)
    for slope, expected in zip(found, slopes(images, kernel), strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-3, atol=1e-4 * float(np.abs(expected).max()))


# (sizes of the mesh axes, how images lie, how kernels do, how results do, groups, length of kernels). The compiler by itself
# gives wrong values or derivatives in all of these.
CONVOLUTIONS = [
    ((4, 2), P("a"), P(), None, 8, 3),
    ((4, 2), P(None, None, "b"), P(None, "a"), None, 1, 3),
    ((2, 2, 2), P(None, None, "a"), P("c"), None, 1, 3),
    ((2, 2, 2), P("b", None, "c"), P(("c", "b")), None, 1, 3),
    ((4, 2), P("b", "a"), P(), P("a", "b"), 2, 1),
    ((4, 2), P(), P("a"), P(None, "b", None, "a"), 4, 1),
    ((8,), P(None, "a"), P("a"), None, 4, 1),
]


@pytest.mark.parametrize("shape, images, kernel, results, groups, length", CONVOLUTIONS, ids=str)
def test_convolutions_of_divided_images_and_kernels(shape, images, kernel, results, groups, length):
    rng = np.random.default_rng(0)
    mesh = Mesh(np.array(arrax.devices()).reshape(shape), tuple("abc"[: len(shape)]))
    x = rng.normal(size=(8, 8, 8, 4)).astype(np.float32)
    y = rng.normal(size=(16, 8 // groups, length, 1)).astype(np.float32)

    def convolution(x, y):
        return lax.conv_general_dilated(x, y, (1, 1), "SAME", feature_group_count=groups)

    def slopes(x, y):
        return arrax.grad(lambda x, y: (convolution(x, y) ** 2).sum(), (0, 1))(x, y)

    placed = arrax.device_put(x, NamedSharding(mesh, images)), arrax.device_put(y, NamedSharding(mesh, kernel))
    asked = None if results is None else NamedSharding(mesh, results)
    found = [arrax.jit(convolution, out_shardings=asked)(*placed), *arrax.jit(slopes)(*placed)]
    for out, expected in zip(found, [convolution(x, y), *slopes(x, y)], strict=True):
        np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-4 * float(np.abs(expected).max()))


def test_padding_cuts_axes_that_devices_have_parts_of():
    mesh = Mesh(np.array(arrax.devices()).reshape(2, 2, 2), ("a", "b", "c"))
    x = np.arange(8 * 8 * 8, dtype=np.float32).reshape(8, 8, 8)
    placed = arrax.device_put(x, NamedSharding(mesh, P("b", "c", "a")))
    cut = arrax.jit(lambda x: lax.pad(x, np.float32(5), ((-1, 2, 1), (1, -1, 0), (-2, -1, 0))))
    assert np.array_equal(cut(placed), cut(x))
    slope = arrax.jit(arrax.grad(lambda x: (jnp.pad(x, ((1, 2), (2, 0), (0, 1))) ** 2).sum()))
    assert np.array_equal(slope(placed), 2 * x)


@pytest.mark.parametrize("method", ["add", "multiply", "max"])
@pytest.mark.parametrize(
    "specs", [(P(), P("a"), P("b")), (P("a", "b"), P("a", "b"), P()), (P(None, "c"), P(("c", "a")), P("b"))], ids=str
)
def test_updates_at_some_indices_of_divided_arrays(method, specs):
    rng = np.random.default_rng(3)
    mesh = Mesh(np.array(arrax.devices()).reshape(2, 2, 2), ("a", "b", "c"))
    values = (*(rng.normal(size=(8, 8, 16)).astype(np.float32) for _ in range(2)), rng.permutation(8))
    update = arrax.jit(lambda x, y, i: getattr(x.at[:, i[:3]], method)(y[:, :3]))
    placed = [arrax.device_put(v, NamedSharding(mesh, spec)) for v, spec in zip(values, specs, strict=True)]
    np.testing.assert_allclose(update(*placed), update(*values), rtol=1e-5)
