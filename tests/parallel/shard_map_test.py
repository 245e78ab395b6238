"""Programs per device: what they compute against the same computed on whole arrays, their derivatives, their errors."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.partition_specs import DuplicateSpecError
from arrax.experimental.shard_map import shard_map as older_shard_map
from arrax.sharding import Mesh, NamedSharding, get_abstract_mesh
from arrax.sharding import PartitionSpec as P


def mesh(shape=(4, 2), names=("x", "y")):
    return Mesh(np.array(arrax.devices()).reshape(shape), names)


def mapped(f, ins, outs, **options):
    return arrax.shard_map(f, mesh=mesh(), in_specs=ins, out_specs=outs, **options)


X = np.arange(1, 65, dtype=np.float32).reshape(16, 4) / 16
BLOCKS = X.reshape(4, 4, 4)  # what the devices along x have

# name: (function of a piece along x, spec of the result, the result from the blocks)
COLLECTIVES = {
    "psum": (lambda x: lax.psum(x, "x"), P(), lambda b: b.sum(0)),
    "psum of all": (lambda x: lax.psum(x, ("x", "y")), P(), lambda b: 2 * b.sum(0)),
    "pmean": (lambda x: lax.pmean(x, "x"), P(), lambda b: b.mean(0)),
    "pmax": (lambda x: lax.pmax(x, "x"), P(), lambda b: b.max(0)),
    "pmin": (lambda x: lax.pmin(x, "x"), P(), lambda b: b.min(0)),
    "psum in groups": (lambda x: lax.psum(x, "x", axis_index_groups=[[0, 3], [1, 2]]), P("x"),
                       lambda b: np.concatenate([b[0] + b[3], b[1] + b[2], b[1] + b[2], b[0] + b[3]])),
    "psum in uneven groups": (lambda x: lax.psum(x, "x", axis_index_groups=[[0, 2, 3], [1]]), P("x"),
                              lambda b: np.concatenate([b[0] + b[2] + b[3], b[1], *[b[0] + b[2] + b[3]] * 2])),
    "pmean in uneven groups": (lambda x: lax.pmean(x, "x", axis_index_groups=[[0], [1, 2, 3]]), P("x"),
                               lambda b: np.concatenate([b[0], *[b[1:].mean(0)] * 3])),
    "all_gather": (lambda x: lax.all_gather(x, "x"), P("x"), lambda b: np.concatenate([b] * 4)),
    "all_gather along 1": (lambda x: lax.all_gather(x, "x", axis=1), P("x"), lambda b: np.concatenate([b.transpose(1, 0, 2)] * 4)),
    "all_gather tiled": (lambda x: lax.all_gather(x, "x", axis=1, tiled=True), P("x"),
                         lambda b: np.concatenate([np.concatenate(b, 1)] * 4)),
    "all_gather for all": (lambda x: lax.all_gather_invariant(x, "x"), P(), lambda b: b),
    "all_gather for all tiled": (lambda x: lax.all_gather(x, "x", axis=1, tiled=True, to="invarying"), P(),
                                 lambda b: np.concatenate(b, 1)),
    "all_gather for all along both": (lambda x: lax.all_gather_invariant(x, ("y", "x"), axis=-1), P(),
                                      lambda b: np.stack([*b, *b], 2)),
    "psum_scatter": (lambda x: lax.psum_scatter(x, "x"), P("x"), lambda b: b.sum(0).reshape(16)),
    "psum_scatter tiled": (lambda x: lax.psum_scatter(x, "x", scatter_dimension=1, tiled=True), P(None, "x"), lambda b: b.sum(0)),
    "ppermute": (lambda x: lax.ppermute(x, "x", [(0, 1), (1, 2), (2, 0)]), P("x"),
                 lambda b: np.concatenate([b[2], b[0], b[1], 0 * b[3]])),
    "pshuffle": (lambda x: lax.pshuffle(x, "x", [3, 2, 1, 0]), P("x"), lambda b: np.concatenate(b[::-1])),
    "all_to_all": (lambda x: lax.all_to_all(x, "x", 1, 0), P("x"), lambda b: b.transpose(2, 0, 1).reshape(16, 4)),
    "all_to_all tiled": (lambda x: lax.all_to_all(x, "x", 0, 1, tiled=True), P("x"), lambda b: b.transpose(1, 0, 2).reshape(4, 16)),
    "pbroadcast": (lambda x: lax.pbroadcast(x, "x", 2), P("x"), lambda b: np.concatenate([b[2]] * 4)),
    "axis_index": (lambda x: x * lax.axis_index("x"), P("x"), lambda b: (b * np.arange(4)[:, None, None]).reshape(16, 4)),
    "sizes": (lambda x: x * lax.psum(1, "x") + lax.axis_size(("x", "y")), P("x"), lambda b: X * 4 + 8),
}  # fmt: skip


def test_every_collective_agrees_with_whole_arrays_and_has_the_derivative_of_its_meaning():
    """One program for all of them, so that the compiler is asked once."""
    weights = {}

    def all_of_them(x, checked):
        return {
            name: mapped(f, P("x"), spec, check_vma=checked)(x) for name, (f, spec, _) in COLLECTIVES.items()
        }  # fmt: skip

    outs = arrax.jit(lambda x: all_of_them(x, True))(X)
    for name, (_, _, meaning) in COLLECTIVES.items():
        np.testing.assert_allclose(outs[name], meaning(BLOCKS), rtol=1e-5, err_msg=name)
        weights[name] = np.cos(np.arange(outs[name].size, dtype=np.float32)).reshape(outs[name].shape)
    differentiable = [name for name in COLLECTIVES if name not in ("pmax", "pmin")]

    def total(x, name, checked):
        f, spec, _ = COLLECTIVES[name]
        return (mapped(lambda x: f(jnp.sin(x)), P("x"), spec, check_vma=checked)(x) * weights[name]).sum()

    for checked in (True, False):
        grads = arrax.jit(lambda x, c=checked: [arrax.grad(total)(x, name, c) for name in differentiable])(X)
        for name, actual in zip(differentiable, grads, strict=True):
            step, direction = 1e-3, np.sin(np.arange(64.0)).reshape(16, 4)
            meaning = COLLECTIVES[name][2]
            up, down = (
                (meaning(np.sin(X.astype(np.float64) + s * direction).reshape(4, 4, 4)) * weights[name]).sum()
                for s in (step, -step)
            )
            if name == "sizes":
                up, down = ((np.sin(X + s * direction) * 4 * weights[name]).sum() for s in (step, -step))
            np.testing.assert_allclose((np.asarray(actual) * direction).sum(), (up - down) / (2 * step), rtol=2e-4,
                                       atol=1e-3, err_msg=f"{name}, checked: {checked}")  # fmt: skip


def test_pieces_of_unequal_lengths_are_exchanged():
    send = np.array([[1, 2, 0], [0, 1, 3], [2, 1, 1]], np.int32)  # rows from source to destination
    tables = [np.cumsum(send, 1) - send, send, (np.cumsum(send.T, 1) - send.T).T, send.T]
    operand, output = np.random.default_rng(0).normal(size=(2, 3, 6, 2)).astype(np.float32)
    three = Mesh(np.array(arrax.devices()[:3]), ("i",))

    def exchange(operand, output):
        def one(*values):
            return lax.ragged_all_to_all(*(v[0] for v in values), axis_name="i")[None]

        return arrax.shard_map(one, mesh=three, in_specs=P("i"), out_specs=P("i"))(operand, output, *tables)

    def on_one_device(operand, output):
        return arrax.vmap(lambda *xs: lax.ragged_all_to_all(*xs, axis_name="i"), axis_name="i")(
            operand, output, *tables
        )

    np.testing.assert_array_equal(exchange(operand, output), on_one_device(operand, output))
    slopes = [
        arrax.jit(arrax.grad(lambda *xs, f=f: (f(*xs) ** 2).sum(), (0, 1)))(operand, output)
        for f in (exchange, on_one_device)
    ]
    for actual, expected in zip(*slopes, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_pieces_are_cut_and_joined_as_specs_say():
    shapes = []
    f = mapped(lambda x: shapes.append(x.shape) or x, P("x", "y"), P("y", "x"))
    out = f(X)
    assert shapes == [(4, 2)] and out.shape == (8, 8) and out.sharding == NamedSharding(mesh(), P("y", "x"))
    blocks = X.reshape(4, 4, 2, 2).transpose(0, 2, 1, 3)  # (x, y, rows, columns)
    assert np.array_equal(out, np.block([[blocks[i, j] for i in range(4)] for j in range(2)]))
    assert np.array_equal(mapped(lambda x: x, P(("y", "x")), P(("y", "x")))(X), X)
    assert mapped(lambda: jnp.array([[3.0]]), (), P("x", "y"))().shape == (4, 2)
    tree = mapped(lambda t: {"s": t["a"] + 1, "m": (t["b"], t["a"].sum())}, ({"a": P("x"), "b": P()},),
                  {"s": P("x"), "m": P()}, check_vma=False)({"a": X, "b": 2.0})  # fmt: skip
    assert np.array_equal(tree["s"], X + 1) and float(tree["m"][0]) == 2.0


def test_types_know_over_which_axes_values_vary():
    seen = {}

    def f(x, w):
        seen["x"], seen["w"], seen["sum"] = (arrax.typeof(v).vma for v in (x, w, lax.psum(x * w, "x")))
        seen["mixed"] = arrax.typeof(x + w).vma
        seen["axes"] = get_abstract_mesh().manual_axes
        return lax.psum(x * w, "x")

    mapped(f, (P("x"), P()), P())(X, 2.0)
    assert seen == {"x": {"x"}, "w": set(), "sum": set(), "mixed": {"x"}, "axes": ("x", "y")}
    text = str(arrax.make_jaxpr(mapped(f, (P("x"), P()), P()))(X, 2.0))
    assert "psum_invariant[axes=('x',)]" in text and "f32[4,4]{V:x}" in text


def test_derivatives_need_no_more_communication_than_the_textbook():
    def count(f, *args):
        return {name: str(arrax.make_jaxpr(f)(*args)).count(f" {name}[") for name in ("psum_invariant", "psum")}

    def one(x):
        return mapped(lambda x: lax.psum(jnp.sin(x), "x"), P("x"), P())(x).sum()

    def two(x):
        return mapped(lambda x: lax.psum(jnp.sin(x), "x") * x, P("x"), P("x"))(x).sum()

    assert count(arrax.grad(one), X) == {"psum_invariant": 1, "psum": 0}  # the forward one
    assert count(arrax.grad(two), X)["psum_invariant"] == 2
    sums = mapped(lambda x: lax.psum(lax.psum(x, "x"), "y"), P("x", "y"), P())
    grads = arrax.jit(arrax.grad(lambda x: (sums(x) ** 2).sum()))(X)
    np.testing.assert_allclose(grads, np.tile(2 * X.reshape(4, 4, 2, 2).sum((0, 2)), (4, 2)), rtol=1e-5)


def test_gradients_inside_are_summed_over_devices_that_share_a_parameter():
    w = np.float32(1.5)
    inside = mapped(lambda x, w: arrax.grad(lambda w: (jnp.sin(x * w)).sum())(w), (P("x"), P()), P())
    np.testing.assert_allclose(inside(X, w), (X * np.cos(X * w)).sum(), rtol=1e-5)
    plus = mapped(lambda x, w: arrax.grad(lambda w: (x + w).sum())(w), (P("x"), P()), P())
    assert float(plus(X, w)) == 64
    unchecked = mapped(
        lambda x, w: arrax.grad(lambda w: (x * w).sum())(w)[None], (P("x"), P()), P("x"), check_vma=False
    )
    np.testing.assert_allclose(unchecked(X, w), BLOCKS.sum((1, 2)), rtol=1e-5)


def test_closed_over_values_are_differentiated_too():
    def f(w):
        return mapped(lambda x: lax.psum((x * w).sum(), "x"), P("x"), P())(X)

    np.testing.assert_allclose(arrax.grad(f)(2.0), X.sum(), rtol=1e-6)
    np.testing.assert_allclose(arrax.jit(arrax.vmap(f))(np.arange(3.0)), X.sum() * np.arange(3.0), rtol=1e-6)
    tangents = arrax.jvp(f, (2.0,), (3.0,))[1]
    np.testing.assert_allclose(tangents, 3 * X.sum(), rtol=1e-6)


def test_control_flow_inside_keeps_track_of_what_varies():
    def f(x):
        total, rows = lax.scan(
            lambda c, r: (c + r, c * r), jnp.zeros(4), x
        )  # zeros are the same everywhere, sums are not
        chosen = lax.cond(x.sum() > 20, lambda x: x, lambda x: jnp.zeros_like(x), x)
        looped = lax.fori_loop(0, 3, lambda i, c: c + lax.psum(x, "x"), jnp.zeros(x.shape))
        until = lax.while_loop(lambda c: c[0, 0] < 50, lambda c: c * 2, x)
        return total[None], rows, chosen, looped, until

    outs = arrax.jit(mapped(f, P("x"), (P("x"), P("x"), P("x"), P(), P("x"))))(X)
    np.testing.assert_allclose(outs[0], BLOCKS.sum(1), rtol=1e-6)
    before = np.concatenate([np.zeros((4, 1, 4)), np.cumsum(BLOCKS, 1)[:, :-1]], 1)
    np.testing.assert_allclose(outs[1], (before * BLOCKS).reshape(16, 4), rtol=1e-5)
    np.testing.assert_allclose(outs[2], np.concatenate([b if b.sum() > 20 else 0 * b for b in BLOCKS]))
    np.testing.assert_allclose(outs[3], 3 * BLOCKS.sum(0), rtol=1e-6)
    first = BLOCKS[:, 0, 0]
    powers = 2.0 ** np.maximum(np.ceil(np.log2(50 / first)), 0)
    np.testing.assert_allclose(outs[4], (BLOCKS * powers[:, None, None]).reshape(16, 4))
    grads = arrax.jit(arrax.grad(lambda x: mapped(lambda x: lax.psum(lax.scan(
        lambda c, r: (jnp.sin(c + r), c), jnp.zeros(4), x)[0], "x"), P("x"), P())(x).sum()))(X)  # fmt: skip

    def plain(x):
        return sum(lax.scan(lambda c, r: (jnp.sin(c + r), c), jnp.zeros(4), b)[0].sum() for b in x.reshape(4, 4, 4))

    np.testing.assert_allclose(grads, arrax.grad(plain)(X), rtol=1e-4, atol=1e-6)


def test_it_composes_with_the_other_transformations():
    f = mapped(lambda x: lax.psum(jnp.sin(x), "x"), P("x"), P())
    whole = lambda x: jnp.sin(x).reshape(4, 4, 4).sum(0)  # noqa: E731
    batch = np.stack([X, X + 1, X * 2])
    np.testing.assert_allclose(arrax.vmap(f)(batch), arrax.vmap(whole)(batch), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(arrax.vmap(f, in_axes=2, out_axes=1)(batch.transpose(1, 2, 0)),
                               arrax.vmap(whole, out_axes=1)(batch), rtol=1e-5, atol=1e-6)  # fmt: skip
    hessian = arrax.jit(arrax.hessian(lambda s: (f(X * s) ** 2).sum()))(0.5)
    np.testing.assert_allclose(hessian, arrax.hessian(lambda s: (whole(X * s) ** 2).sum())(0.5), rtol=1e-3)
    rematted = arrax.grad(lambda x: arrax.checkpoint(f)(x).sum())(X)
    np.testing.assert_allclose(rematted, np.cos(X), rtol=1e-5, atol=1e-6)
    _, shape = arrax.jvp(f, (X,), (np.ones_like(X),))
    np.testing.assert_allclose(shape, np.cos(X).reshape(4, 4, 4).sum(0), rtol=1e-4, atol=1e-5)
    named = mapped(arrax.vmap(lambda x: lax.psum(x, ("x", "i")), axis_name="i"), P("x"), P())
    np.testing.assert_allclose(named(X), np.tile(X.sum(0), (4, 1)), rtol=1e-6)


def test_axes_may_be_left_to_the_compiler():
    placed = arrax.device_put(X, NamedSharding(mesh(), P("x", "y")))

    def f(x):
        assert x.shape == (4, 4)
        return lax.psum(x @ x.T, "x")

    expected = sum(b @ b.T for b in BLOCKS)
    left = arrax.jit(mapped(f, P("x"), P(), axis_names={"x"}))
    np.testing.assert_allclose(left(placed), expected, rtol=1e-5)
    older = arrax.jit(older_shard_map(f, mesh(), in_specs=P("x"), out_specs=P(), auto=frozenset({"y"})))
    np.testing.assert_allclose(older(placed), expected, rtol=1e-5)
    told = arrax.jit(
        mapped(lambda x: lax.with_sharding_constraint(x * 2, P(None, "y")), P("x"), P("x"), axis_names={"x"})
    )
    with arrax.set_mesh(mesh()):
        assert told(X).sharding == NamedSharding(mesh(), P("x", "y"))
    inner = arrax.shard_map(lambda x: lax.psum(x, "y"), in_specs=P(None, "y"), out_specs=P(), axis_names={"y"})
    nested = arrax.jit(mapped(lambda x: lax.psum(inner(x), "x"), P("x"), P(), axis_names={"x"}))
    np.testing.assert_allclose(nested(X), BLOCKS.sum(0).reshape(4, 2, 2).sum(1), rtol=1e-5)


INDICES = np.repeat(np.arange(4.0, dtype=np.float32), 4)[:, None]  # of the device along x that has a row of X


@pytest.mark.parametrize(
    "body, expected",
    [
        (lambda b: b * (1.0 + lax.axis_index("x")), lambda x: x * (1 + INDICES)),
        (lambda b: lax.cond(lax.axis_index("x") > 1, lambda b: b * 2, lambda b: b + 1, b), lambda x: np.where(INDICES > 1, x * 2, x + 1)),
        (lambda b: lax.map(lambda row: row * lax.axis_index("x"), b), lambda x: x * INDICES),
        (lambda b: arrax.jit(lambda b: b + lax.psum(1.0 * lax.axis_index("x"), "x"))(b), lambda x: x + 6),
        (lambda b: arrax.shard_map(lambda c: c * (lax.axis_index("y") + lax.axis_index("x")), in_specs=P(None, "y"),
                                   out_specs=P(None, "y"), axis_names={"y"})(b), lambda x: x * (INDICES + [0, 0, 1, 1])),
    ],
)  # fmt: skip
def test_devices_know_their_number_where_other_axes_are_left_to_the_compiler(body, expected):
    f = mapped(body, P("x"), P("x"), axis_names={"x"})
    for x in (
        X,
        arrax.device_put(X, NamedSharding(mesh(), P("x", "y"))),
        arrax.device_put(X, NamedSharding(mesh(), P("y"))),
    ):
        np.testing.assert_allclose(arrax.jit(f)(x), expected(X), rtol=1e-6)
    np.testing.assert_allclose(f(X), expected(X), rtol=1e-6)
    slope = arrax.jit(arrax.grad(lambda x: f(x).sum()))(X)
    np.testing.assert_allclose(slope, expected(X + 1) - expected(X), rtol=1e-4, atol=1e-5)


def test_the_mesh_may_be_the_one_in_force():
    with arrax.set_mesh(mesh()):
        f = arrax.shard_map(lambda x: lax.psum(x, "x"), in_specs=P("x"), out_specs=P())
        assert np.array_equal(f(X), BLOCKS.sum(0)) and np.array_equal(arrax.jit(f)(X), BLOCKS.sum(0))
        summed = arrax.smap(lambda x: lax.psum(x, "x"), in_axes=0, out_axes=None, axis_name="x")
        assert np.array_equal(arrax.jit(summed)(X), BLOCKS.sum(0))
    abstract = arrax.shard_map(lambda x: lax.psum(x, "x"), mesh=mesh().abstract_mesh, in_specs=P("x"), out_specs=P())
    placed = arrax.device_put(X, NamedSharding(mesh(), P("x")))
    assert np.array_equal(abstract(placed), BLOCKS.sum(0)) and np.array_equal(
        arrax.jit(abstract)(placed), BLOCKS.sum(0)
    )
    with pytest.raises(ValueError, match="abstract mesh"):
        arrax.device_put(X, NamedSharding(mesh().abstract_mesh, P("x")))
    inferred = arrax.shard_map(lambda x: x * 2, mesh=mesh(), out_specs=P("x"))
    assert np.array_equal(inferred(arrax.device_put(X, NamedSharding(mesh(), P("x")))), X * 2)


def test_functions_on_the_host_are_called_once_for_all_devices_along_axes_that_are_left_to_the_compiler():
    seen = []

    def body(b):
        arrax.debug.callback(lambda i, b: seen.append((int(i), b.tolist())), lax.axis_index("x"), b)
        lax.cond(lax.axis_index("x") > 1, lambda: arrax.debug.callback(lambda: seen.append((9, []))), lambda: None)
        return b * 2

    f = arrax.jit(mapped(body, P("x"), P("x"), axis_names={"x"}))
    for x in (X, arrax.device_put(X, NamedSharding(mesh(), P("x", "y")))):
        seen.clear()
        assert np.array_equal(f(x), 2 * X)
        arrax.effects_barrier()
        assert sorted(seen) == [*((i, X[4 * i : 4 * i + 4].tolist()) for i in range(4)), (9, []), (9, [])]


def test_functions_on_the_host_without_arguments_and_results_are_called_for_each_device(capsys):
    def body(x):
        arrax.debug.print("on each")

    two = Mesh(np.array(arrax.devices()[:2]), ("i",))
    f = arrax.shard_map(body, mesh=two, in_specs=P("i"), out_specs=P())
    for called in (f, arrax.jit(f)):
        called(np.arange(2.0))
        arrax.effects_barrier()
        assert capsys.readouterr().out == "on each\n" * 2


def test_values_can_be_printed_and_looked_at_where_devices_agree(capsys):
    one = Mesh(np.array(arrax.devices()[:2]), ("i",))

    def f(x):
        print("before:", x)
        total = lax.psum(x, "i")
        if total[0] > 5:  # the same on all devices
            total = total + 1
        print("after:", total.shape)
        return total

    out = arrax.shard_map(f, mesh=one, in_specs=P("i"), out_specs=P())(np.array([3, 1, 4, 2]))
    assert out.tolist() == [8, 4]
    assert capsys.readouterr().out == (
        "before: On cpu:0 at mesh coordinates (i,) = (0,):\n[3 1]\n\nOn cpu:1 at mesh coordinates (i,) = (1,):\n[4 2]\n\n"
        "after: (2,)\n"
    )

    def branches(x):
        return x if lax.pmax(x, "i")[0] > 3 else -x

    run = arrax.shard_map(branches, mesh=one, in_specs=P("i"), out_specs=P("i"))
    assert run(np.array([3, 1, 4, 2])).tolist() == [3, 1, 4, 2] and run(np.array([3, 1, 2, 2])).tolist() == [
        -3,
        -1,
        -2,
        -2,
    ]
    with pytest.raises(arrax.errors.TracerBoolConversionError):
        arrax.shard_map(lambda x: x if x[0] > 3 else -x, mesh=one, in_specs=P("i"), out_specs=P("i"))(np.arange(4))
    keys = arrax.random.split(arrax.random.key(0), 2)
    drawn = arrax.shard_map(
        lambda k: print(k.shape) or arrax.vmap(arrax.random.bits)(k), mesh=one, in_specs=P("i"), out_specs=P("i")
    )
    assert np.array_equal(drawn(keys), arrax.vmap(arrax.random.bits)(keys))


def test_bodies_are_traced_once_per_type():
    calls = []
    f = mapped(lambda x: calls.append(0) or x + 1, P("x"), P("x"))
    for _ in range(3):
        f(X)
    assert len(calls) == 1


def test_keys_and_small_types_travel():
    keys = arrax.random.split(arrax.random.key(0), 8)
    drawn = mapped(lambda k: arrax.vmap(arrax.random.bits)(k), P("x"), P("x"))(keys)
    assert np.array_equal(drawn, arrax.vmap(arrax.random.bits)(keys))
    for dtype in (jnp.bfloat16, jnp.int8, jnp.bool_):
        x = jnp.arange(8).astype(dtype)
        assert np.array_equal(mapped(lambda x: lax.all_gather(x, "x", tiled=True), P("x"), P(), check_vma=False)(x), x)
    total = mapped(lambda x: lax.psum(x, "x"), P("x"), P())(jnp.ones(8, jnp.bfloat16))
    assert total.dtype == jnp.bfloat16 and total.tolist() == [4, 4]


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: mapped(lambda x: x, P("x"), P("x"))(np.ones((6, 2))), ValueError, "evenly divi.*axis 0 of size 6"),
        (lambda: mapped(lambda x: x.sum(), P("x"), P("x"))(X), ValueError, "out_specs.*rank at least 1"),
        (lambda: mapped(lambda x: lax.psend(x, "x", []), P("x"), P("x"))(X), TypeError, "out_specs has the type Tok"),
        (lambda: mapped(lambda x: x, P("x"), P())(X), ValueError, "can't be statically inferred.*'x'"),
        (lambda: mapped(lambda x: lax.all_gather(x, "x"), P("x"), P())(X), ValueError, "can't be statically inferred"),
        (lambda: mapped(lambda x: x, P("z"), P()), ValueError, "no axis 'z'"),
        (lambda: mapped(lambda x: x, P("x", "x"), P()), DuplicateSpecError, "twice"),
        (lambda: mapped(lambda x: x, P(P.UNCONSTRAINED), P("x")), ValueError, "UNCONSTRAINED"),
        (lambda: mapped(lambda x: x, P("x"), P(None, P.UNCONSTRAINED)), ValueError, "UNCONSTRAINED"),
        (lambda: mapped(lambda x: x, "x", P()), TypeError, "PartitionSpecs"),
        (lambda: mapped(lambda x: x, P(None, None, "x"), P())(X), ValueError, "rank 2"),
        (lambda: mapped(lambda x: x, (P("x"), P()), P("x"))(X), ValueError, "tree prefix"),
        (lambda: mapped(lambda x: x, P("x"), (P("x"), P("x")))(X), ValueError, "out_specs must be a tree prefix"),
        (lambda: mapped(lambda x: lax.psum(x, "q"), P("x"), P())(X), NameError, "unbound axis name: q"),
        (lambda: arrax.shard_map(lambda x: x, in_specs=P("x"), out_specs=P("x"))(X), ValueError, "no mesh"),
        (lambda: mapped(3, P(), P()), TypeError, "expected a function"),
        (lambda: arrax.shard_map(lambda x: x, mesh=mesh(), out_specs=P())(X), TypeError, "in_specs must be given"),
        (lambda: under_another_mesh(lambda x: x)(X), ValueError, "another one is in force"),
        (lambda: mapped(arrax.shard_map(lambda x: x, mesh=mesh((8,), ("x",)), in_specs=P("x"), out_specs=P("x")), P("x"), P("x"))(X),
         ValueError, "another one is in force"),
        (lambda: mapped(lambda x: lax.with_sharding_constraint(x, P("x")), P("x"), P("x"), axis_names={"x"})(X), Exception,
         "with_sharding_constraint"),
        (lambda: mapped(lambda x: arrax.device_put(x, NamedSharding(mesh(), P("x"))), P("x"), P("x"))(X), ValueError,
         "device_put: .* names an axis"),
        (lambda: mapped(lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh((8,), "i"), P("i"))), P("x"), P("x"))(X),
         ValueError, "over another mesh"),
        (lambda: mapped(lambda x: x, P("y"), P("y"), axis_names={"x"})(X), ValueError, "'y'"),
        (lambda: mapped(lambda x: x, P("x"), P("x"), axis_names=["x"]), TypeError, "axis_names must be a set of names"),
        (lambda: mapped(lambda x: x, P("x"), P("x"), axis_names="x"), TypeError, "axis_names must be a set of names"),
        (lambda: mapped(lambda x: lax.all_gather(x, "x", to="all"), P("x"), P())(X), ValueError, "`to` must be"),
        (lambda: mapped(lambda x: lax.all_gather(x, "x", axis_index_groups=[[0, 1], [2, 3]], to="invarying"), P("x"), P())(X),
         ValueError, "groups"),
        (lambda: arrax.shard_map(lambda x: x, mesh=mesh().abstract_mesh, in_specs=P("x"), out_specs=P("x"))(X), ValueError,
         "has no devices"),
        (lambda: mapped(lambda x: lax.ppermute(x, "x", [(0, 1), (0, 2)]), P("x"), P("x"))(X), ValueError, "distinct"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(make, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        make()


def under_another_mesh(f):
    def call(x):
        with arrax.set_mesh(arrax.make_mesh((8,), ("i",))):
            return mapped(f, P("x"), P("x"))(x)

    return call


def test_without_a_spec_every_device_has_the_whole_argument():
    product = mapped(lambda x, y: x * y.sum(), (P("x"), None), P("x"))
    assert np.array_equal(product(X, np.arange(3.0)), X * 3)


def test_a_mesh_of_one_device_runs_the_same_programs():
    one = Mesh(np.array(arrax.devices()[3:4]), ("x",))
    left_out = (
        "psum of all",
        "all_gather for all along both",
        "sizes",
        "ppermute",
        "pshuffle",
        "pbroadcast",
        "psum_scatter",
        "all_to_all",
    )
    for name in [name for name in COLLECTIVES if name not in left_out and "groups" not in name]:
        f, spec, _ = COLLECTIVES[name]
        out = arrax.shard_map(f, mesh=one, in_specs=P("x"), out_specs=spec)(X)
        assert out.size == X.size and out.devices() == {arrax.devices()[3]}


@pytest.mark.parametrize("checked", [True, False])
def test_a_batch_may_be_divided_over_axes_that_the_program_has_no_use_for(checked):
    over = arrax.make_mesh((4, 2), ("x", "y"))

    def f(row, weights):
        body = arrax.shard_map(
            lambda r, w: lax.psum(r * w, "y"), mesh=over, in_specs=(P("y"), P()), out_specs=P(), check_vma=checked
        )
        return body(row, weights)

    rows, weights = np.arange(64.0, dtype=np.float32).reshape(8, 8), np.arange(4.0, dtype=np.float32)
    x = arrax.device_put(rows, NamedSharding(over, P("x", "y")))
    mapped = arrax.jit(arrax.vmap(f, (0, None), spmd_axis_name="x"))
    out = mapped(x, weights)
    np.testing.assert_allclose(out, (rows[:, :4] + rows[:, 4:]) * weights)
    assert out.sharding.is_equivalent_to(NamedSharding(over, P("x")), 2)
    assert "all-gather" not in mapped.lower(x, weights).compile().as_text()
    slopes = arrax.jit(arrax.grad(lambda x, w: (arrax.vmap(f, (0, None), spmd_axis_name="x")(x, w) ** 2).sum(), (0, 1)))
    plain = arrax.grad(lambda x, w: (((x[:, :4] + x[:, 4:]) * w) ** 2).sum(), (0, 1))(rows, weights)
    for slope, expected in zip(slopes(x, weights), plain, strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-5)
    used = arrax.vmap(lambda r: arrax.shard_map(lambda r: r * lax.axis_size("x"), mesh=over, in_specs=P("x"), out_specs=P("x"))(r),
                      spmd_axis_name="x")  # fmt: skip
    np.testing.assert_allclose(used(rows), rows * 4)


def test_none_among_results_has_no_spec():
    out, nothing = mapped(lambda x: (x * 2, None), P("x"), (P("x"), None))(X)
    assert np.array_equal(out, X * 2) and nothing is None
    with pytest.raises(ValueError, match="out_specs must be a tree prefix"):
        mapped(lambda x: (x, x), P("x"), (P("x"), None))(X)


def test_devices_write_to_their_pieces_of_references():
    def f(ref, total, x):
        ref[0] = x[0] * 2
        lax.fori_loop(1, 3, lambda i, _: ref.__setitem__(i, ref[i - 1]), None)
        total[...] += lax.psum(x.sum(), ("x", "y"))
        own = arrax.new_ref(x)
        own[1] += own[0]
        return own[...]

    specs = (P("x"), P(), P("x"))
    expected, rows = BLOCKS.copy(), BLOCKS.copy()
    expected[:, :3] = 2 * BLOCKS[:, :1]
    rows[:, 1] += rows[:, 0]
    for form in (mapped(f, specs, P("x")), arrax.jit(mapped(f, specs, P("x")))):
        place = NamedSharding(mesh(), P("x"))
        ref, total = (
            arrax.new_ref(arrax.device_put(X, place)),
            arrax.new_ref(arrax.device_put(0.0, NamedSharding(mesh(), P()))),
        )
        assert np.allclose(form(ref, total, X), rows.reshape(16, 4))
        assert np.allclose(ref[...], expected.reshape(16, 4)) and np.allclose(total[...], 2 * X.sum())
        assert ref.sharding.is_equivalent_to(place, 2)


@pytest.mark.parametrize(
    "start", [lambda x: x, jnp.zeros_like, lambda x: lax.pcast(jnp.zeros(x.shape), "x", to="varying")]
)
def test_functions_with_references_of_their_own_have_derivatives(start):
    def f(x):
        ref = arrax.new_ref(start(x))
        ref[...] = x * x
        lax.fori_loop(0, 2, lambda _, __: ref.__setitem__(0, ref[0] * 3), None)
        return ref[...]

    slopes = 2 * BLOCKS
    slopes[:, 0] *= 9
    for rows in (mapped(f, P("x"), P("x")), mapped(arrax.jit(f), P("x"), P("x"))):
        for slope in (
            arrax.grad(lambda x, rows=rows: rows(x).sum()),
            arrax.grad(arrax.jit(lambda x, rows=rows: rows(x).sum())),
        ):
            np.testing.assert_array_equal(slope(X), slopes.reshape(16, 4))
    whole = mapped(lambda x: arrax.new_ref(lax.psum(x, "x"))[...], P("x"), P())
    np.testing.assert_array_equal(arrax.grad(lambda x: whole(x).sum())(X), np.ones((16, 4)))


def test_what_varies_is_not_written_to_a_reference_that_does_not():
    def f(x):
        ref = arrax.new_ref(jnp.zeros(x.shape))
        ref[...] = x
        return ref[...]

    with pytest.raises(ValueError, match=r"varies over the mesh axes \['x'\], but Ref.*pcast"):
        mapped(f, P("x"), P("x"))(X)


def test_references_that_are_closed_over_are_refused():
    ref = arrax.new_ref(X)
    with pytest.raises(NotImplementedError, match="closes over a reference"):
        mapped(lambda x: x + ref[0, 0], P("x"), P("x"))(X)


def test_values_are_not_declared_to_be_what_their_types_exclude():
    for to, start, words in (
        ("varying", lambda x: x, r"cannot become varying along \['x'\], where it varies already"),
        ("reduced", lambda x: x, r"cannot become reduced along \['x'\], where it varies already"),
        ("unreduced", lambda x: lax.psum(x, "x"), r"cannot become unreduced along \['x'\], where it does not vary"),
    ):
        with pytest.raises(ValueError, match=f"pcast: a value of type .*{words}"):
            mapped(lambda x, start=start, to=to: lax.pcast(start(x), "x", to=to), P("x"), P("x"))(X)
    again = mapped(lambda x: lax.pcast(lax.psum(x, "x"), "x", to="varying"), P("x"), P("x"))
    np.testing.assert_array_equal(again(X), np.tile(BLOCKS.sum(0), (4, 1)))
    unchecked = mapped(lambda x: lax.pcast(x, "x", to="varying"), P("x"), P("x"), check_vma=False)
    np.testing.assert_array_equal(unchecked(X), X)
