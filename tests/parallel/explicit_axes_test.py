"""Meshes with explicit axes: types say how values lie, values lie so and are those of one device."""

import functools

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.explicit_axes import ShardingTypeError
from arrax.sharding import AxisType, NamedSharding, auto_axes, explicit_axes, get_abstract_mesh, reshard
from arrax.sharding import PartitionSpec as P
from tests.support import check_batching

HOST = np.arange(64, dtype=np.float32).reshape(8, 8) / 8


def explicit_mesh():
    return arrax.make_mesh((4, 2), ("X", "Y"), (AxisType.Explicit,) * 2)


def short(x):
    return arrax.typeof(x).str_short(True)


def square(x):
    """Symmetric matrices, one for each row."""
    return x[:, :4].reshape(8, 1, 2, 2) @ x[:, :4].reshape(8, 1, 2, 2).mT + jnp.eye(2)


# operation, of an array [X, Y], one [X, -] and one [-, Y]: how its result's type prints
# fmt: off
OPERATIONS = {
    "f32[8@X,8@Y]":   [lambda a, x, y: a + 1, lambda a, x, y: a * y, lambda a, x, y: x @ y, lambda a, x, y: jnp.sin(x) + y,
                       lambda a, x, y: jnp.where(a > 3, a, 0.0), lambda a, x, y: jnp.zeros_like(a), lambda a, x, y: a[None][0],
                       lambda a, x, y: a.astype(jnp.int32).astype(jnp.float32), lambda a, x, y: a.at[0].set(1.0),
                       lambda a, x, y: jnp.einsum("ik,kj->ij", x, y), lambda a, x, y: a / a.sum(-1, keepdims=True),
                       lambda a, x, y: jnp.flip(a, 1), lambda a, x, y: a[::-1], lambda a, x, y: jnp.roll(a, 4, 0)],
    "f32[8@Y,8@X]":   [lambda a, x, y: a.T, lambda a, x, y: jnp.swapaxes(a * 2, 0, 1)],
    "f32[8@Y]":       [lambda a, x, y: a.sum(0), lambda a, x, y: y.max(0), lambda a, x, y: a[0], lambda a, x, y: jnp.ones(8) @ y],
    "f32[8@X]":       [lambda a, x, y: jnp.mean(a, 1), lambda a, x, y: x[:, 0], lambda a, x, y: x @ np.ones(8, np.float32)],
    "f32[]":          [lambda a, x, y: a.sum(), lambda a, x, y: jnp.linalg.norm(a)],
    "f32[64@(X,Y)]":  [lambda a, x, y: a.reshape(64)],
    "f32[64@X]":      [lambda a, x, y: x.ravel(), lambda a, x, y: jnp.reshape(a, 64, out_sharding=P("X"))],
    "f32[4@X,8@Y]":   [lambda a, x, y: a[2:6], lambda a, x, y: lax.slice_in_dim(a, 0, 8, 2), lambda a, x, y: jnp.split(a, 2)[1],
                       lambda a, x, y: lax.dynamic_slice_in_dim(a, 1, 4), lambda a, x, y: a.at[:4].get()],
    "f32[12@X,8@Y]":  [lambda a, x, y: jnp.pad(a, ((0, 4), (0, 0)))],
    "f32[3,8@Y]":     [lambda a, x, y: a[1:4], lambda a, x, y: lax.dynamic_slice_in_dim(a, 1, 3)],
    "f32[1,8@X,8@Y]": [lambda a, x, y: a.reshape(1, 8, 8), lambda a, x, y: a[None]],
    "f32[8@X,2@Y,4]": [lambda a, x, y: a.reshape(8, 2, 4)],
    "f32[3,8@X,8@Y]": [lambda a, x, y: jnp.broadcast_to(a, (3, 8, 8))],
    "f32[2,8@X,8@Y]": [lambda a, x, y: jnp.stack([a, y])],
    "f32[16@X,8@Y]":  [lambda a, x, y: jnp.concatenate([a, a])],
    "f32[8@X,10]":    [lambda a, x, y: jnp.pad(x, ((0, 0), (1, 1)))],
    "f32[8@X,4]":     [lambda a, x, y: x[:, :4], lambda a, x, y: jnp.split(x, 2, axis=1)[1]],
    "f32[8@X,8]":     [lambda a, x, y: jnp.cumsum(x, 1), lambda a, x, y: jnp.sort(x, 1), lambda a, x, y: arrax.nn.softmax(x),
                       lambda a, x, y: jnp.dot(a, a.T, out_sharding=P("X")),
                       lambda a, x, y: jnp.einsum("ij,kj->ik", a, a, out_sharding=P("X", None)),
                       lambda a, x, y: jnp.matmul(a, x, out_sharding=P("X")), lambda a, x, y: reshard(a, P("X")),
                       lambda a, x, y: jnp.diag(x[:, 0]),
                       lambda a, x, y: lax.dot_general(y, x, (((0,), (0,)), ((), ())), out_sharding=P("X"))],
    "f32[2,8@Y]":     [lambda a, x, y: a.at[jnp.array([0, 2])].get(out_sharding=P(None, "Y"))],
    "i32[8@X]":       [lambda a, x, y: jnp.argmax(a, 1)],
    "f32[8@X,2]":     [lambda a, x, y: lax.top_k(x, 2)[0], lambda a, x, y: x[:, jnp.array([0, 2])],
                       lambda a, x, y: jnp.take_along_axis(x, jnp.zeros((8, 2), int), 1),
                       lambda a, x, y: lax.approx_max_k(x, 2)[0]],
    "c64[8@X,8]":     [lambda a, x, y: jnp.fft.fft(x)],
    "i32[8@X,8@Y]":   [lambda a, x, y: lax.bitcast_convert_type(a, jnp.int32)],
    "f32[8@X,1,2,2]": [lambda a, x, y: jnp.linalg.cholesky(square(x)), lambda a, x, y: jnp.linalg.eigh(square(x))[1],
                       lambda a, x, y: jnp.linalg.qr(square(x))[0], lambda a, x, y: jnp.linalg.inv(square(x))],
    "f32[8@X,4@Y,8]": [lambda a, x, y: lax.conv(x[:, None], reshard(jnp.ones((4, 1, 3)), P("Y")), (1,), "SAME")],
    "f32[8@X,3]":     [lambda a, x, y: lax.reduce_window(x, 0.0, lax.add, (1, 3), (1, 2), "VALID")],
    "f32[4,8@X]":     [lambda a, x, y: lax.map(lambda row: row * 2, x.T[:4])],
    "f32[8,8]":       [lambda a, x, y: reshard(a, P()), lambda a, x, y: jnp.ones((8, 8))],
}
# fmt: on


@pytest.mark.parametrize("expected", OPERATIONS)
def test_types_say_how_values_lie(expected):
    with arrax.set_mesh(explicit_mesh()):
        operands = [reshard(HOST, spec) for spec in (P("X", "Y"), P("X", None), P(None, "Y"))]
        for operation in OPERATIONS[expected]:
            plain = operation_on_one_device(operation)
            for call in (operation, arrax.jit(operation)):
                found = call(*operands)
                assert short(found) == expected
                np.testing.assert_allclose(found, plain, rtol=1e-5)
                if "@" in expected:
                    spec = arrax.typeof(found).sharding.spec
                    assert found.sharding.is_equivalent_to(NamedSharding(explicit_mesh(), spec), found.ndim)
            program = arrax.make_jaxpr(operation)(*operands)
            assert program.out_avals[0].str_short(True) == expected


def operation_on_one_device(operation):
    one = arrax.make_mesh((1, 1), ("X", "Y"), devices=arrax.devices()[:1])
    with arrax.set_mesh(one):
        return np.asarray(operation(*[jnp.asarray(HOST)] * 3))


def test_what_is_ambiguous_is_refused():
    with arrax.set_mesh(explicit_mesh()):
        a, across = reshard(HOST, P("X", "Y")), reshard(HOST, P("Y", "X"))
        with pytest.raises(
            ShardingTypeError, match="add: different axes of the mesh divide axis 0 of the operands, 'X'"
        ):
            a + across
        with pytest.raises(ShardingTypeError, match="dot_general: different axes .* contracted axes 1 and 0"):
            a @ a
        with pytest.raises(ShardingTypeError, match="say so by `out_sharding`"):
            arrax.jit(lambda a: jnp.einsum("ij,kj->ik", a, a))(a)
        with pytest.raises(ShardingTypeError, match="'X' divides free axes of both operands"):
            reshard(a, P("X")) @ reshard(a, P("X")).T
        with pytest.raises(AssertionError, match="is not laid out as PartitionSpec\\('X', None\\)"):
            arrax.jit(lambda a: lax.with_sharding_constraint(a, P("X", None)))(a)
        arrax.jit(lambda a: lax.with_sharding_constraint(a, P("X", "Y")))(a)


def test_a_look_up_over_two_explicit_axes_is_refused_unless_it_says_how_its_result_lies():
    with arrax.set_mesh(explicit_mesh()):
        rows, places = reshard(HOST, P("X")), reshard(np.arange(4), P("Y"))
        for look_up in (lambda: rows[places], lambda: arrax.vmap(lambda column: column[places])(rows.T)):
            with pytest.raises(ShardingTypeError, match="gather: .*axis 0 of the indices.*out_sharding"):
                look_up()
        asked = rows.at[places].get(out_sharding=P("X"))
        assert short(asked) == "f32[4@X,8]" and short(rows[np.arange(4)]) == "f32[4,8]"
        np.testing.assert_array_equal(asked, HOST[:4])


@pytest.mark.parametrize(
    "loop",
    [
        lambda x: lax.cond(x[0, 0] > 1, lambda x: x, lambda x: reshard(x, P("Y")), x),
        lambda x: lax.cond(x[0, 0] > 1, lambda x: x, lambda x: reshard(x, P()), x),
        lambda x: lax.while_loop(lambda x: x[0, 0] < 9, lambda x: reshard(x + 1, P("Y")), x),
        lambda x: lax.scan(lambda x, _: (reshard(x, P("Y")), None), x, None, length=2)[0],
    ],
)
def test_branches_and_carries_lie_alike(loop):
    with arrax.set_mesh(explicit_mesh()), pytest.raises(TypeError, match="the shardings differ"):
        arrax.jit(loop)(arrax.device_put(HOST, P("X")))


def test_gradients_lie_like_arguments_that_are_laid_out_anew():
    with arrax.set_mesh(explicit_mesh()):
        x = arrax.device_put(HOST, P("X"))
        slope = arrax.grad(lambda y: (y @ reshard(x, P()).T).sum())(x)
        assert short(slope) == "f32[8@X,8]" and np.allclose(slope, HOST.sum(0) * np.ones((8, 1)))


WHOLE = {  # functions of a whole vector and of an array [X, Y]
    "elementwise": lambda x, a: (x * a).sum(),
    "laid out anew": lambda x, a: (reshard(x, P("X")) ** 2).sum(),
    "in a program": lambda x, a: arrax.jit(lambda x: x * a[:, 0])(x).sum(),
    "per device": lambda x, a: arrax.shard_map(lambda x: x * 2, in_specs=P("Y"), out_specs=P("Y"))(
        reshard(x, P("Y"))
    ).sum(),
    "with a layout asked": lambda x, a: jnp.einsum("ni,i->n", a, x, out_sharding=P("X")).sum(),
    "in a loop": lambda x, a: lax.scan(lambda c, row: (c + (row * x).sum(), None), 0.0, a.T)[0],
}


@pytest.mark.parametrize("name", WHOLE)
def test_gradients_of_whole_values_are_whole(name):
    whole = arrax.device_put(HOST[0], NamedSharding(explicit_mesh(), P()))
    slope = arrax.grad(WHOLE[name])
    with arrax.set_mesh(explicit_mesh()):
        for call in (slope, arrax.jit(slope)):
            found = call(whole, reshard(HOST, P("X", "Y")))
            assert short(found) == "f32[8]" and found.sharding.is_fully_replicated
    with arrax.set_mesh(arrax.make_mesh((1, 1), ("X", "Y"), devices=arrax.devices()[:1])):
        np.testing.assert_allclose(found, slope(HOST[0], HOST), rtol=1e-5)


@pytest.mark.parametrize("move", [lambda y: reshard(y, P("Y")), lambda y: arrax.device_put(y, P("Y"))])
def test_cotangents_lie_like_the_values_that_were_laid_out_anew(move):
    square = arrax.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))  # of which both must lie alike
    with arrax.set_mesh(explicit_mesh()):
        x = arrax.device_put(HOST, P("X"))
        for slope in (
            arrax.grad(lambda x: (move(square(x)) * move(square(x) * 3)).sum()),
            arrax.grad(lambda x: move(x).sum()),
        ):
            for way in (slope, arrax.jit(slope)):
                assert short(way(x)) == "f32[8@X,8]"
        np.testing.assert_array_equal(arrax.grad(lambda x: move(square(x) * 3).sum())(x), 6 * HOST)


def test_entries_of_a_spec_beyond_the_axes_of_a_value_say_nothing_where_they_are_none():
    ways = [
        lambda x: reshard(x, P("X", None, None)), lambda x: jnp.ones(8, out_sharding=P("X", None)),
        lambda x: jnp.matmul(HOST, x, out_sharding=P("X", None)),
        lambda x: arrax.random.normal(arrax.random.key(0), (8,), out_sharding=P("X", None)),
    ]  # fmt: skip
    with arrax.set_mesh(explicit_mesh()):
        for way in ways:
            assert short(way(HOST[0])) == short(arrax.jit(way)(HOST[0])) == "f32[8@X]"
        with pytest.raises(ValueError, match="rank"):
            reshard(HOST[0], P(None, "X"))


def test_zero_derivatives_lie_like_the_values_that_they_belong_to():
    def pulled_back(x, y):
        return arrax.vjp(lambda x, y: (x * x).sum(), x, y)[1](jnp.float32(1))

    def pushed_forward(x, y):
        return arrax.jvp(lambda x: (x * x, y), (x,), (x,))[1]

    mesh = explicit_mesh()
    x, y = (arrax.device_put(HOST, NamedSharding(mesh, spec)) for spec in (P("X"), P("X", "Y")))
    np.testing.assert_array_equal(pushed_forward(x, y)[1], 0 * HOST)  # no mesh in force says on which devices
    for derivative in (pulled_back, pushed_forward):
        assert short(arrax.jit(derivative)(x, y)[1]) == "f32[8@X,8@Y]"
        with arrax.set_mesh(mesh):
            assert short(derivative(x, y)[1]) == short(arrax.jit(derivative)(x, y)[1]) == "f32[8@X,8@Y]"


def test_types_show_the_sharding_of_arrays_and_descriptions():
    mesh = explicit_mesh()
    a = arrax.device_put(HOST, NamedSharding(mesh, P("X")))
    assert arrax.typeof(a).sharding == NamedSharding(mesh.abstract_mesh, P("X", None))
    assert arrax.typeof(np.ones(3)).sharding.spec == P(None)
    with arrax.set_mesh(mesh):
        struct = arrax.ShapeDtypeStruct((8, 8), jnp.float32, sharding=P(None, "Y"))
        assert "a:f32[8,8@Y]" in str(arrax.make_jaxpr(jnp.sin)(struct))
        assert arrax.eval_shape(jnp.sin, struct).sharding.spec == P(None, "Y")
    half = arrax.make_mesh((4, 2), ("X", "Y"), (AxisType.Explicit, AxisType.Auto))
    assert short(arrax.device_put(HOST, NamedSharding(half, P("X", "Y")))) == "f32[8@X,8]"


def test_inside_auto_axes_the_compiler_lays_values_out():
    seen = []

    @auto_axes
    def product(a, b):
        seen.append((short(a), get_abstract_mesh().are_all_axes_auto))
        return {"product": a @ b}

    with arrax.set_mesh(explicit_mesh()):
        a = reshard(HOST, P("X", "Y"))
        spread = functools.partial(product, out_sharding=P("X", "Y"))
        for call in (spread, arrax.jit(spread)):
            found = call(a, a)["product"]
            assert short(found) == "f32[8@X,8@Y]"
            np.testing.assert_allclose(found, HOST @ HOST, rtol=1e-5)
        slope = arrax.grad(lambda a: product(a, a, out_sharding=P("X"))["product"].sum())(a)
        assert short(slope) == "f32[8@X,8@Y]"
        np.testing.assert_allclose(slope, HOST.sum(1) + HOST.sum(0)[:, None], rtol=1e-5)
    assert set(seen) == {("f32[8,8]", True)}
    with arrax.set_mesh(explicit_mesh()), pytest.raises(ValueError, match="no axes of the mesh"):
        auto_axes(lambda x: x, axes="Z")(HOST)
    assert auto_axes(short, out_sharding=P("X"))(HOST) == "f32[8,8]"  # without a mesh all is left to the compiler


def test_axes_that_stay_explicit_go_on_dividing_values():
    def sums(a):
        assert short(a * 2) == "f32[8,8@Y]"
        return (a * 2).sum(0)

    with arrax.set_mesh(explicit_mesh()):
        a = reshard(HOST, P("X", "Y"))
        for rows in (a, a[:, None]):  # by itself, and mapped over rows that another axis divides
            inside = auto_axes(sums, axes="X", out_sharding=P("Y"))
            found = arrax.vmap(inside, 1, 1)(rows) if rows.ndim == 3 else inside(rows)
            np.testing.assert_array_equal(np.ravel(found), 2 * HOST.sum(0))
        mapped = arrax.jit(arrax.vmap(auto_axes(lambda row: row + 1, axes="Y", out_sharding=P("Y"))))(a)
        assert short(mapped) == "f32[8@X,8@Y]"


def test_inside_explicit_axes_types_say_how_values_lie():
    mesh, seen = arrax.make_mesh((4, 2), ("X", "Y")), []

    def doubled(a):
        seen.append((short(a * 2), get_abstract_mesh().explicit_axes))
        return a * 2

    with arrax.set_mesh(mesh):
        a = arrax.device_put(HOST, NamedSharding(mesh, P("X", "Y")))
        found = arrax.jit(lambda a: explicit_axes(doubled, axes=("X",), in_sharding=P("X"))(a))(a)
    assert seen == [("f32[8@X,8]", ("X",))] and short(found) == "f32[8,8]"
    np.testing.assert_array_equal(found, HOST * 2)
    with arrax.set_mesh(arrax.make_mesh((4, 2), ("X", "Y"), (AxisType.Explicit, AxisType.Auto))):
        found = explicit_axes(doubled, axes="Y", in_sharding=P("X", "Y"))(HOST)
    assert seen[1:] == [("f32[8@X,8@Y]", ("X", "Y"))] and short(found) == "f32[8@X,8]"
    with pytest.raises(ValueError, match="explicit_axes: needs a mesh in force"):
        explicit_axes(doubled, in_sharding=P("X"))(HOST)
    with pytest.raises(ValueError, match="needs a mesh in force"):
        arrax.jit(lambda x: reshard(x, P("X")))(HOST)


def test_transformations_keep_values_and_layouts():
    def loss(weights, x):
        hidden = jnp.tanh(x @ weights["in"])
        out = jnp.einsum("bh,hd->bd", hidden, weights["out"], out_sharding=P("X"))
        return jnp.mean(out**2)

    rng = np.random.default_rng(0)
    weights = {"in": rng.normal(size=(8, 6)).astype(np.float32), "out": rng.normal(size=(6, 4)).astype(np.float32)}
    with arrax.set_mesh(arrax.make_mesh((1, 1), ("X", "Y"), devices=arrax.devices()[:1])):
        expected = arrax.value_and_grad(loss)(weights, HOST)
    with arrax.set_mesh(explicit_mesh()):
        placed = {"in": reshard(weights["in"], P(None, "Y")), "out": reshard(weights["out"], P("Y"))}
        x = reshard(HOST, P("X"))
        for call in (arrax.value_and_grad(loss), arrax.jit(arrax.value_and_grad(arrax.checkpoint(loss)))):
            value, slopes = call(placed, x)
            np.testing.assert_allclose(value, expected[0], rtol=1e-5)
            for name, slope in slopes.items():
                np.testing.assert_allclose(slope, expected[1][name], rtol=1e-4, atol=1e-5)
                assert short(slope) == short(placed[name])
        scanned = arrax.jit(lambda x: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(8), x))(x)
        np.testing.assert_allclose(scanned[0], HOST.sum(0), rtol=1e-5)
        mapped = arrax.vmap(lambda row: (jnp.sin(row), short(row) == "f32[8@Y]")[0])(reshard(HOST, P("X", "Y")))
        assert short(mapped) == "f32[8@X,8@Y]"
        branch = lax.cond(x[0, 0] > 1, lambda x: x * 2, lambda x: x + 1, x)
        np.testing.assert_allclose(branch, HOST + 1)


def test_programs_per_device_are_not_given_what_is_divided_otherwise():
    mesh = explicit_mesh()
    x = arrax.device_put(HOST, NamedSharding(mesh, P("X")))
    for spec in (P("Y"), P(), P(("X", "Y")), P(None, "X")):
        mapped = arrax.shard_map(lambda piece: piece * 2, mesh=mesh, in_specs=spec, out_specs=spec)
        for call in (mapped, arrax.jit(mapped)):
            with pytest.raises(ValueError, match=r"argument piece, but its type f32\[8@X,8\] says .*reshard"):
                call(x)
    over_one = arrax.shard_map(lambda x: x * 2, mesh=mesh, in_specs=P("Y"), out_specs=P("Y"), axis_names={"Y"})
    assert short(over_one(x)) == "f32[8@(Y,X),8]"


def test_programs_per_device_take_and_give_types():
    with arrax.set_mesh(explicit_mesh()):
        x = reshard(HOST, P("X", "Y"))
        mapped = arrax.shard_map(lambda piece: lax.psum(piece, "Y"), in_specs=P("X", "Y"), out_specs=P("X"))
        for call in (mapped, arrax.jit(mapped)):
            assert short(call(x)) == "f32[8@X,4]"
            np.testing.assert_allclose(call(x), HOST[:, :4] + HOST[:, 4:])


@pytest.mark.parametrize("checked", [True, False])
def test_programs_per_device_over_some_axes_know_how_the_others_divide_values(checked):
    weights = np.sin(np.arange(48, dtype=np.float32)).reshape(8, 6)
    small, told = HOST / 64, []  # tanh of large numbers has no digits in its slope

    def body(piece, weights):
        told.append(short(piece))
        rows = jnp.tanh(jnp.dot(piece, weights, out_sharding=P(None, "Y")))
        products = lax.scan(lambda c, row: (c + row, c * row), rows[0], rows)[1]
        return lax.psum(products.sum(0), "X"), products

    def meaning(x, weights):
        rows = jnp.tanh(x @ weights).reshape(4, 2, 6)
        products = arrax.vmap(lambda rows: lax.scan(lambda c, row: (c + row, c * row), rows[0], rows)[1])(rows)
        return products.sum((0, 1)), products.reshape(8, 6)

    def score(f):
        return arrax.grad(lambda x, weights: sum((out**3).sum() for out in f(x, weights)), (0, 1))

    with arrax.set_mesh(explicit_mesh()):
        x, placed = reshard(small, P("X", "Y")), reshard(weights, P(None, "Y"))
        f = arrax.shard_map(body, in_specs=(P("X"), P()), out_specs=(P(), P("X")), axis_names={"X"}, check_vma=checked)
        for call in (f, arrax.jit(f)):
            outs = call(x, placed)
            assert [short(out) for out in outs] == ["f32[6@Y]", "f32[8@X,6@Y]"]
            assert outs[1].sharding.spec == P("X", "Y")
        slopes = arrax.jit(score(f))(x, placed)
        assert [short(slope) for slope in slopes] == ["f32[8@X,8@Y]", "f32[8,6@Y]"]
    assert told[0] == ("f32[2,8@Y]{V:X}" if checked else "f32[2,8@Y]")
    expected = [*meaning(small, weights), *score(meaning)(small, weights)]
    for out, wanted in zip([*outs, *slopes], expected, strict=True):
        np.testing.assert_allclose(out, wanted, rtol=1e-3, atol=1e-4)


COLLECTIVES = {  # what a device does with its [4, 8@Y], and how the type of what it gets prints
    "psum": (lambda v: lax.psum(v, "X"), "f32[4,8@Y]"),
    "pmax": (lambda v: lax.pmax(v, "X"), "f32[4,8@Y]"),
    "ppermute": (lambda v: lax.ppermute(v, "X", [(0, 1), (1, 2)]), "f32[4,8@Y]"),
    "gather": (lambda v: lax.all_gather(v, "X"), "f32[4,4,8@Y]"),
    "gather in place": (lambda v: lax.all_gather(v, "X", axis=1, tiled=True), "f32[4,32@Y]"),
    "scatter": (lambda v: lax.psum_scatter(v, "X"), "f32[8@Y]"),
    "scatter in place": (lambda v: lax.psum_scatter(v, "X", tiled=True), "f32[1,8@Y]"),
    "exchange": (lambda v: lax.all_to_all(v, "X", 0, 1), "f32[8@Y,4]"),
    "exchange in place": (lambda v: lax.all_to_all(v, "X", 0, 1, tiled=True), "f32[1,32@Y]"),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_what_devices_exchange_stays_divided_by_the_other_axes(name):
    function, expected = COLLECTIVES[name]
    told = []

    def body(piece):
        out = function(piece)
        told.append(short(out))
        return out

    x = np.arange(128, dtype=np.float32).reshape(16, 8)
    with arrax.set_mesh(explicit_mesh()):
        mapped = arrax.shard_map(body, in_specs=P("X"), out_specs=P("X"), axis_names={"X"}, check_vma=False)
        found = arrax.jit(mapped)(reshard(x, P("X", "Y")))
    blocks = arrax.vmap(function, axis_name="X")(x.reshape(4, 4, 8))
    assert told == [expected]
    np.testing.assert_allclose(found, blocks.reshape(found.shape))


def test_constraints_over_automatic_axes_assert_nothing_of_explicit_ones():
    x = arrax.device_put(HOST, NamedSharding(explicit_mesh(), P("X")))
    for spec in (P("X"), P("Y")):
        place = NamedSharding(arrax.make_mesh((4, 2), ("X", "Y")), spec)
        found = lax.with_sharding_constraint(x, place)
        assert found.sharding == place and (found == HOST).all()


def test_constraints_over_some_axes_leave_the_explicit_ones_as_they_are():
    mesh = arrax.make_mesh((4, 2), ("X", "Y"), (AxisType.Explicit, AxisType.Auto))
    x = arrax.device_put(HOST, NamedSharding(mesh, P("X")))
    with arrax.set_mesh(mesh):
        for spec, expected in ((P(None, "Y"), P("X", "Y")), (P("Y"), P(("X", "Y"))), (P(), P("X")), (P("X"), P("X"))):
            for call in (lax.with_sharding_constraint, arrax.jit(lax.with_sharding_constraint, static_argnums=1)):
                found = call(x, spec)
                assert short(found) == "f32[8@X,8]" and found.sharding.is_equivalent_to(
                    NamedSharding(mesh, expected), 2
                )
        with pytest.raises(ValueError, match="names .*'X'"):
            lax.with_sharding_constraint(x, P(None, "X"))


def test_programs_without_devices_take_those_of_their_values():
    explicit = NamedSharding(explicit_mesh(), P("X"))
    abstract = NamedSharding(explicit_mesh().abstract_mesh, P("X"))
    program = arrax.make_jaxpr(lambda x: reshard(x, abstract))(HOST)
    (found,) = arrax.core.eval_jaxpr(program.jaxpr, program.consts, arrax.device_put(HOST, explicit))
    assert found.sharding == explicit
    with pytest.raises(ValueError, match="is over an abstract mesh"):
        arrax.core.eval_jaxpr(program.jaxpr, program.consts, jnp.asarray(HOST))


def test_numbers_are_drawn_where_they_shall_lie():
    with arrax.set_mesh(explicit_mesh()):
        drawn = arrax.random.normal(arrax.random.key(0), (8, 4), out_sharding=P("X"))
        assert short(drawn) == short(jnp.zeros((8, 4), out_sharding=P("X"))) == "f32[8@X,4]"
    np.testing.assert_array_equal(drawn, arrax.random.normal(arrax.random.key(0), (8, 4)))


def test_a_cast_of_the_mesh_is_the_value_itself():
    from arrax.lax.asked_shardings import mesh_cast_p

    with arrax.set_mesh(explicit_mesh()):
        spread = NamedSharding(explicit_mesh(), P("X"))
        x = reshard(HOST, P("X"))

        def cast(x):
            return mesh_cast_p.bind(mesh_cast_p.bind(x, sharding=None), sharding=spread)

        out, tangent = arrax.jit(lambda x: arrax.jvp(cast, (x,), (x * 2,)))(x)
        np.testing.assert_array_equal(out, HOST)
        np.testing.assert_array_equal(tangent, HOST * 2)
        assert short(arrax.jit(arrax.grad(lambda x: (cast(x) ** 2).sum()))(x)) == "f32[8@X,8]"
    check_batching(lambda x: mesh_cast_p.bind(x, sharding=None), [jnp.asarray(HOST)])


# fmt: off
ASKED = [  # functions that take ``out_sharding``, and how the first axis of their result is to lie
    lambda **asked: jnp.linalg.tensordot(HOST, HOST, axes=1, **asked), lambda **asked: lax.dot(HOST, HOST, **asked),
    lambda **asked: lax.broadcast(HOST, (8,), **asked), lambda **asked: lax.reduce_sum(HOST, (0,), **asked),
    lambda **asked: lax.reduce(HOST, np.float32(0), lax.add, (0,), **asked), lambda **asked: jnp.repeat(HOST, 2, 0, **asked),
    lambda **asked: lax.conv_general_dilated(HOST[:, None], HOST[:, None, :3], (1,), "SAME", **asked),
    lambda **asked: lax.broadcasted_iota(np.int32, (8, 2), 0, **asked), lambda **asked: lax.empty((8,), np.float32, **asked),
    lambda **asked: jnp.bincount(np.arange(8), **asked), lambda **asked: jnp.percentile(HOST, 50, 0, **asked),
    lambda **asked: arrax.ops.segment_sum(HOST, np.arange(8), 8, **asked), lambda **asked: jnp.arange(8.0, **asked),
    lambda **asked: lax.ragged_dot(HOST, HOST[None], np.array([8]), **asked), lambda **asked: jnp.asarray(HOST, **asked),
    lambda **asked: lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (8,), **asked)[1],
    lambda **asked: jnp.asarray(HOST).at[0].add(1.0, **asked), lambda **asked: jnp.asarray(HOST).reshape(16, 4, **asked),
    lambda **asked: jnp.full_like(HOST, 3.0, **asked), lambda **asked: jnp.broadcast_to(HOST, (4, 8, 8), **asked),
]
# fmt: on


@pytest.mark.parametrize("number", range(len(ASKED)))
def test_results_lie_as_asked(number):
    plain = ASKED[number]()
    with arrax.set_mesh(explicit_mesh()):
        for found in (ASKED[number](out_sharding=P("X")), arrax.jit(lambda: ASKED[number](out_sharding=P("X")))()):
            assert arrax.typeof(found).sharding.spec[0] == "X"
            np.testing.assert_allclose(found, plain, rtol=1e-5)


@pytest.mark.parametrize("staged", [lambda f: f, arrax.jit], ids=["eager", "jit"])
def test_constraints_do_not_divide_values_by_explicit_axes(staged):
    mesh = explicit_mesh()
    constrain = staged(lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh, P("X"))))
    with pytest.raises(ValueError, match=r"with_sharding_constraint: .*explicit axes \['X'\].*reshard"):
        constrain(HOST)
    with arrax.set_mesh(mesh):
        for place in (NamedSharding(mesh, P("X")), P("X")):
            with pytest.raises(AssertionError, match=r"with_sharding_constraint: .*explicit axes \['X'\].*reshard"):
                staged(lambda x, place=place: lax.with_sharding_constraint(x, place))(HOST)


@pytest.mark.parametrize("staged", [lambda f: f, arrax.jit], ids=["eager", "jit"])
def test_values_are_resharded_over_meshes_only(staged):
    for place, error, words in (
        (arrax.sharding.SingleDeviceSharding(arrax.devices()[0]), TypeError, "SingleDeviceSharding.*device_put"),
        (arrax.devices()[0], TypeError, "CpuDevice.*device_put"),
        (None, ValueError, "None"),
    ):
        with pytest.raises(error, match=f"reshard: out_shardings must .*{words}"):
            staged(lambda x, place=place: reshard(x, place))(HOST)


@pytest.mark.parametrize("staged", [lambda f: f, arrax.jit], ids=["eager", "jit"])
def test_explicit_axes_divide_values_evenly(staged):
    with arrax.set_mesh(explicit_mesh()):
        for function in (
            lambda x: reshard(x, P("X")),
            lambda x: jnp.reshape(x, (3, 1), out_sharding=P("X")),
            lambda x: jnp.zeros(3, out_sharding=P("X")),
            lambda x: lax.broadcast(x, (6,), out_sharding=P("X")),
        ):
            with pytest.raises(ValueError, match="One of .* args, of type .* is incompatible with its sharding"):
                staged(function)(np.ones(3, np.float32))


@pytest.mark.parametrize(
    ("wrap", "factor"),
    [(lambda f: f, 2), (arrax.jit, 2), (lambda f: lambda x: arrax.grad(lambda x: (f(x) ** 2).sum() / 8)(x), 1)],
)
@pytest.mark.parametrize(
    ("spec", "axes", "piece"),
    [
        (P("X", "Y"), {"X", "Y"}, "f32[2,4]{V:(X,Y)}"),
        (P("X", "Y"), {"X"}, "f32[2,8@Y]{V:X}"),
        (P("Y", "X"), {"X"}, "f32[8@Y,2]{V:X}"),
        (P(("X", "Y")), {"X", "Y"}, "f32[1,8]{V:(X,Y)}"),
        (P(("X", "Y")), {"X"}, "f32[2@Y,8]{V:X}"),
        (P(), {"X", "Y"}, "f32[8,8]"),
    ],
)
def test_how_a_function_per_device_cuts_its_arguments_follows_from_their_types(wrap, factor, spec, axes, piece):
    def doubled(x, two):
        pieces.append((short(x), short(two)))
        return x * two

    pieces = []
    own = P(*(tuple(n for n in (e if isinstance(e, tuple) else (e,)) if n in axes) for e in spec))
    with arrax.set_mesh(explicit_mesh()):
        x = reshard(HOST, spec)
        found = wrap(lambda x: arrax.shard_map(doubled, out_specs=own, axis_names=axes)(x, 2.0))(x)
        assert short(found) == short(x)
    np.testing.assert_array_equal(found, factor * HOST)
    assert pieces[0] == (piece, "f32[]")


def test_how_a_function_per_device_cuts_what_the_compiler_lays_out_must_be_said():
    with arrax.set_mesh(explicit_mesh()):
        x = reshard(HOST, P("X", "Y"))
        for wrap in (lambda f: f, arrax.jit):
            unsaid = auto_axes(arrax.shard_map(jnp.sin, out_specs=P("X", "Y")), out_sharding=P("X", "Y"))
            with pytest.raises(TypeError, match="in_specs must be given"):
                wrap(unsaid)(x)


@pytest.mark.parametrize("wrap", [lambda f: f, arrax.jit])
def test_specs_of_keys_have_an_entry_for_each_of_their_axes(wrap):
    keys = arrax.random.split(arrax.random.key(0), 8)
    with arrax.set_mesh(explicit_mesh()):
        for spec in (P("X"), P(("X", "Y")), P(None)):
            found = wrap(lambda keys: keys)(reshard(keys, spec))
            assert len(found.sharding.spec) <= 1
            assert found.sharding.is_equivalent_to(NamedSharding(explicit_mesh(), spec), 1)
            assert arrax.device_put(keys, found.sharding).sharding == found.sharding
