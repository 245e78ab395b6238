"""Compiled functions over meshes: shardings asked for, chosen, constrained, printed, refused; the call path's cache."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import io_callback
from arrax.experimental.layout import Format, Layout
from arrax.experimental.pjit import UNSPECIFIED, pjit
from arrax.memory import Space
from arrax.sharding import AxisType, Mesh, NamedSharding, PositionalSharding
from arrax.sharding import PartitionSpec as P


def mesh(shape=(4, 2), names=("x", "y")):
    return Mesh(np.array(arrax.devices()).reshape(shape), names)


def over(*spec):
    return NamedSharding(mesh(), P(*spec))


VALUES = np.arange(64, dtype=np.float32).reshape(8, 8)


def collectives(text):
    names = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
    return {name: text.count(f" {name}(") + text.count(f" {name}-start(") for name in names if f" {name}" in text}


def test_results_lie_as_asked():
    f = arrax.jit(lambda a, b: {"s": a @ b, "t": (a + 1, b.sum())},
                  in_shardings=(over("x"), over(None, "y")), out_shardings={"s": over("x", "y"), "t": None})  # fmt: skip
    out = f(VALUES, VALUES)
    assert out["s"].sharding == over("x", "y") and np.array_equal(out["s"], VALUES @ VALUES)
    assert np.array_equal(out["t"][0], VALUES + 1) and float(out["t"][1]) == VALUES.sum()
    compiled = f.lower(VALUES, VALUES).compile()
    assert compiled.input_shardings == ((over("x"), over(None, "y")), {})
    assert compiled.output_shardings["s"] == compiled.out_info["s"].sharding == over("x", "y")
    assert f.eval_shape(VALUES, VALUES)["s"].sharding == over("x", "y")
    assert [info.sharding for info in f.lower(VALUES, VALUES).out_info["t"]] == [None, None]
    assert collectives(compiled.as_text()) == {"all-reduce": 1}  # of b.sum() only


def test_parts_of_one_element_with_steps_are_those_of_their_place():
    for x in (VALUES[:4], VALUES):  # one row per device, and two
        rows = arrax.device_put(x, NamedSharding(mesh(), P("x")))
        parts = arrax.jit(lambda x: [x[i : i + 1 : 5] for i in range(len(x))])(rows)
        np.testing.assert_array_equal(np.concatenate(parts), x)

    def extremes(x):
        return arrax.lax.reduce_window(x, np.float32(-np.inf), arrax.lax.max, (4, 1), (4, 1), "valid")

    slope = arrax.jit(arrax.grad(lambda x: extremes(x).sum()))(
        arrax.device_put(VALUES[:4], NamedSharding(mesh(), P("x")))
    )
    np.testing.assert_array_equal(slope, np.arange(4)[:, None] == np.full(8, 3))


def test_windows_with_gaps_move_along_divided_axes_with_gaps():
    x = np.arange(24, dtype=np.float32).reshape(12, 2)

    def sums(x):
        return arrax.lax.reduce_window(
            x, np.float32(0), arrax.lax.add, (12, 1), (1, 1), ((1, 0), (0, 0)), (3, 1), (2, 1)
        )

    divided = arrax.jit(sums)(arrax.device_put(x, NamedSharding(mesh(), P("x"))))
    np.testing.assert_array_equal(divided, sums(x))


def test_results_stay_on_a_mesh_of_one_device():
    one = NamedSharding(Mesh(np.array(arrax.devices()[3:4]), ("x",)), P("x"))
    whole = NamedSharding(one.mesh, P())
    x = arrax.device_put(VALUES, one)
    f = arrax.jit(lambda x: (x + 1, x.sum(0)))
    assert [out.sharding for out in f(x)] == [out.sharding for out in f(x)] == [one, whole]
    assert (x + 1).sharding == arrax.vmap(jnp.sin)(x).sharding == one and x[0].sharding == whole
    assert arrax.jit(lambda x: arrax.lax.with_sharding_constraint(x, one))(VALUES).sharding == whole
    compiled = f.lower(x).compile()
    assert compiled.input_shardings == ((one,), {}) and compiled.output_shardings == (one, whole)
    asked = arrax.jit(lambda x, y: x + y, in_shardings=(one, None)).lower(VALUES, VALUES).compile()
    assert asked.input_shardings[0][0] == one and asked(VALUES, VALUES).sharding == one
    assert arrax.jit(lambda x: arrax.device_put(x, Space.Host))(x).sharding.memory_kind == "pinned_host"
    explicit = arrax.make_mesh((1,), ("x",), axis_types=(AxisType.Explicit,))
    turned = arrax.device_put(VALUES, NamedSharding(explicit, P("x"))).T
    assert turned.sharding.spec == arrax.typeof(turned).sharding.spec == P(None, "x")
    with arrax.set_mesh(one.mesh):
        assert [out.sharding for out in f(VALUES)] == [whole, whole]
    arrax.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert x.is_deleted()


def test_specs_stand_for_shardings_where_a_mesh_is_in_force():
    with mesh():
        f = arrax.jit(lambda x: x * 2, in_shardings=P("x"), out_shardings=P(None, "y"))
        assert f(VALUES).sharding == over(None, "y")
        assert arrax.lax.with_sharding_constraint(VALUES, P("y")).sharding == over("y")
    with arrax.set_mesh(mesh()):
        inside = arrax.jit(lambda x: arrax.lax.with_sharding_constraint(x, P("x")) + 1)
        assert inside(VALUES).sharding.is_equivalent_to(over("x"), 2)
    assert pjit(lambda x: x, in_shardings=UNSPECIFIED, out_shardings=over("x"))(VALUES).sharding == over("x")


def test_functions_run_over_the_mesh_in_force_unless_arguments_are_bound_elsewhere():
    double = arrax.jit(lambda x: x * 2)
    described = NamedSharding(over().mesh.abstract_mesh, P("x"))
    for _ in range(2):
        with arrax.set_mesh(over().mesh):
            for result in (double(VALUES), arrax.jit(lambda: jnp.ones((8, 8)))()):
                assert result.sharding == over() and result.committed
            bound = arrax.device_put(VALUES, arrax.devices()[3])
            assert double(bound).devices() == {arrax.devices()[3]}
            assert double(arrax.device_put(VALUES, over("y"))).sharding == over("y")
            assert arrax.jit(lambda x: x * 2, out_shardings=described)(VALUES).sharding == over("x")
            constrained = arrax.jit(lambda x: arrax.lax.with_sharding_constraint(x, described))(VALUES)
            assert constrained.sharding == over("x") and np.array_equal(constrained, VALUES)
            assert arrax.lax.with_sharding_constraint(VALUES, described).sharding == over("x")
            assert arrax.device_put(VALUES, described).sharding == over("x")
        assert double(VALUES).devices() == {arrax.devices()[0]}
    with pytest.raises(ValueError, match="no devices"):
        arrax.jit(lambda x: x * 2, out_shardings=described)(VALUES)


def test_the_mesh_in_force_is_part_of_the_key():
    f = arrax.jit(lambda x: arrax.lax.with_sharding_constraint(x, P("a")))
    for names, shape in ((("a", "b"), (4, 2)), (("b", "a"), (4, 2)), (("a",), (8,))):
        with arrax.set_mesh(mesh(shape, names)) as m:
            assert f(VALUES).sharding.shard_shape((8, 8)) == (8 // m.shape["a"], 8)


def test_equal_functions_with_other_shardings_do_not_share_calls():
    def double(x):
        return x * 2

    rows, columns = arrax.jit(double, out_shardings=over("x")), arrax.jit(double, out_shardings=over(None, "x"))
    for _ in range(3):
        assert rows(VALUES).sharding == over("x") and columns(VALUES).sharding == over(None, "x")


def test_steady_calls_stay_in_the_runtime():
    calls = []
    f = arrax.jit(lambda x: calls.append(0) or x + 1, in_shardings=over("x"), out_shardings=over("x"))
    first = f._jitted.run_first
    x = arrax.device_put(VALUES, over("x"))
    for _ in range(4):
        x = f(x)
    assert np.array_equal(x, VALUES + 4) and len(calls) == 1 and f._cache_size() == 1 and first is not None
    assert f(VALUES).sharding == over("x") and f(VALUES).sharding == over("x")  # ndarrays are cut on the way


def test_results_that_lie_as_an_argument_have_its_sharding_so_that_steps_are_compiled_once():
    f, calls = arrax.jit(lambda x: calls.append(0) or x + 1), []
    x = arrax.device_put(VALUES, over("x", None))
    for _ in range(3):
        x = f(x)
    assert x.sharding == over("x", None) and len(calls) == 1 and f._cache_size() == 1
    assert f(arrax.device_put(VALUES, over("x"))).sharding == over("x")
    assert (x[0] + 1).sharding == over() and (x + 1).sharding == over("x", None)


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: arrax.jit(lambda x: x, in_shardings="nonsense"), TypeError, "'nonsense'"),
        (lambda: arrax.jit(lambda x: x, out_shardings=3), TypeError, "out_shardings.*3"),
        (lambda: arrax.jit(lambda x: x, in_shardings=P("x"))(VALUES), RuntimeError, "mesh in force"),
        (lambda: arrax.lax.with_sharding_constraint(VALUES, P("x")), RuntimeError, "mesh in force"),
        (lambda: arrax.lax.with_sharding_constraint(VALUES, 5), TypeError, "expected"),
        (lambda: arrax.jit(lambda x: arrax.lax.with_sharding_constraint(x, None))(VALUES), ValueError, "argument shardings: None"),
        (lambda: arrax.jit(lambda x, y: x, in_shardings=(over(),))(VALUES, 1), ValueError, "length 1.*length 2"),
        (lambda: arrax.jit(lambda x: x, in_shardings=(over(),))(x=VALUES), ValueError, "kwargs"),
        (lambda: arrax.jit(lambda x: (x, x), out_shardings=(over(),))(VALUES), ValueError, "prefix"),
        (lambda: arrax.jit(lambda x: x, in_shardings=over("x"))(np.ones(6)), ValueError, "dimension size is 6"),
        (lambda: arrax.jit(lambda x: x, out_shardings=over("x"))(np.ones(6)), ValueError, "dimension size is 6"),
        (lambda: arrax.jit(lambda x: x, in_shardings=over("y"))(arrax.device_put(VALUES, over("x"))), ValueError, "does not match"),
        (lambda: arrax.jit(lambda x: x, in_shardings=over(), device=arrax.devices()[0]), ValueError, "device"),
        (lambda: arrax.jit(lambda x: arrax.lax.with_sharding_constraint(x, over("x", None, "y")))(VALUES), ValueError, "rank"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(make, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        make()


def test_constraints_hold_inside_and_under_transformations():
    def f(x):
        return (arrax.lax.with_sharding_constraint(jnp.sin(x), over("x", "y")) ** 2).sum()

    expected = 2 * np.sin(VALUES) * np.cos(VALUES)
    np.testing.assert_allclose(arrax.jit(arrax.grad(f))(VALUES), expected, rtol=1e-4, atol=1e-5)
    batch = np.stack([VALUES, VALUES + 1])
    np.testing.assert_allclose(arrax.jit(arrax.vmap(f))(batch), (np.sin(batch) ** 2).sum((1, 2)), rtol=1e-5)
    mapped = arrax.jit(arrax.vmap(lambda x: arrax.lax.with_sharding_constraint(x, over("y")), spmd_axis_name="x"))
    assert mapped(np.ones((4, 8, 2))).sharding.is_equivalent_to(over("x", "y"), 3)
    nested = arrax.jit(lambda x: arrax.jit(lambda y: y + 1, out_shardings=over("x"))(x))
    assert nested(VALUES).sharding.is_equivalent_to(over("x"), 2)
    freely = arrax.jit(lambda x: arrax.lax.with_sharding_constraint(x, over(P.UNCONSTRAINED, "y")))
    assert freely(arrax.device_put(VALUES, over("x"))).sharding.is_equivalent_to(over("x", "y"), 2)


def test_axes_that_a_constraint_leaves_free_stay_as_they_are():
    over_rows = arrax.device_put(VALUES, over("x"))
    by_row = arrax.vmap(lambda row: arrax.lax.with_sharding_constraint(row, over("y")))
    assert by_row(over_rows).sharding == over("x", "y") and by_row(VALUES).sharding == over(None, "y")
    free = NamedSharding(over().mesh, P(P.UNCONSTRAINED, "x"))
    put = lambda row: arrax.device_put(row, over("y"))  # noqa: E731
    assert arrax.vmap(put)(VALUES).sharding == over(None, "y")
    assert arrax.vmap(put, spmd_axis_name="x")(VALUES).sharding == over("x", "y")
    assert arrax.lax.with_sharding_constraint(over_rows, free).sharding == over(None, "x")


def test_control_flow_runs_over_devices():
    x = arrax.device_put(VALUES, over("x", "y"))

    def loops(x):
        x = arrax.lax.fori_loop(0, 3, lambda i, c: c + i, x)
        x = arrax.lax.cond(x[0, 0] > 0, jnp.negative, jnp.square, x)
        return arrax.lax.scan(lambda c, row: (c + row.sum(), row * 2), 0.0, x)

    total, rows = arrax.jit(loops)(x)
    expected = -(VALUES + 3)
    assert float(total) == expected.sum() and np.array_equal(rows, expected * 2)
    grads = arrax.jit(arrax.grad(arrax.checkpoint(lambda x: jnp.tanh(x / 64).sum())))(x)
    np.testing.assert_allclose(grads, (1 - np.tanh(VALUES / 64) ** 2) / 64, rtol=1e-4)


def test_closed_over_arrays_keep_their_placement():
    table = arrax.device_put(VALUES, over("x"))
    f = arrax.jit(lambda v: table @ v)
    np.testing.assert_allclose(f(np.ones(8, np.float32)), VALUES.sum(1))
    assert len(f(np.ones(8, np.float32)).devices()) == 8
    with pytest.raises(ValueError, match="incompatible devices"):
        f(arrax.device_put(np.ones(8, np.float32), arrax.devices()[1]))


def test_what_asks_for_other_devices_is_named():
    x = arrax.device_put(VALUES, arrax.devices()[1])
    inside = arrax.jit(lambda v: arrax.lax.with_sharding_constraint(v, over("x")))
    place = r"argument v of jit.* and NamedSharding.* of sharding_constraint inside the function at .*jit_test.py:\d+"
    with pytest.raises(ValueError, match=place):
        inside(x)
    with pytest.raises(ValueError, match="argument v of jit.*argument w of jit"):
        arrax.jit(lambda v, w: v + w)(x, arrax.device_put(VALUES, arrax.devices()[2]))


def test_arguments_without_use_bind_calls_to_no_devices():
    rows, third = arrax.device_put(VALUES, over("x")), arrax.device_put(jnp.arange(4.0), arrax.devices()[3])
    doubled = arrax.jit(lambda unused, x: x * 2)
    for unused in (rows, third):
        assert not doubled(unused, jnp.ones(2)).committed
        assert not arrax.jit(lambda x: jnp.ones(3))(unused).committed
        assert doubled(unused, third).sharding == third.sharding
        assert arrax.jit(lambda x: jnp.ones(3)).lower(unused).compile()(unused).tolist() == [1, 1, 1]
    assert (
        arrax.jit(lambda unused, x: x * 2, in_shardings=(rows.sharding, None))(VALUES, jnp.ones(2)).committed is False
    )
    assert len(arrax.jit(lambda x: jnp.ones(3), keep_unused=True)(rows).sharding.device_set) == 8


def test_donated_buffers_are_taken():
    x = arrax.device_put(VALUES, over("x"))
    f = arrax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=over("x"))
    y = f(x)
    assert x.is_deleted() and np.array_equal(y, VALUES + 1)


def test_compiling_ahead_takes_described_arrays():
    described = arrax.ShapeDtypeStruct((8, 8), np.float32, sharding=over("x", "y"))
    compiled = arrax.jit(lambda x: x.sum(1)).lower(described).compile()
    assert compiled.input_shardings == ((over("x", "y"),), {}) and compiled.output_shardings == over("x")
    assert np.array_equal(compiled(arrax.device_put(VALUES, over("x", "y"))), VALUES.sum(1))
    with pytest.raises(ValueError, match="does not match"):
        compiled(arrax.device_put(VALUES, over("y")))


def test_positions_lay_out_values_inside():
    positions = PositionalSharding(arrax.devices())
    x = arrax.device_put(VALUES, positions.reshape(4, 2))
    f = arrax.jit(lambda x: arrax.lax.with_sharding_constraint(jnp.sin(x), positions.reshape(2, 4)))
    assert f(x).sharding.is_equivalent_to(positions.reshape(2, 4), 2)
    np.testing.assert_allclose(f(x), np.sin(VALUES), rtol=1e-5, atol=1e-6)


def test_random_numbers_are_drawn_where_they_are_needed():
    keys = arrax.random.key(0)
    with arrax.threefry_partitionable(True):
        draw = arrax.jit(lambda key: arrax.random.normal(key, (8, 8)), out_shardings=over("x", "y"))
        assert collectives(draw.lower(keys).compile().as_text()) == {}
        np.testing.assert_allclose(draw(keys), arrax.random.normal(keys, (8, 8)), rtol=1e-5)


def test_functions_on_the_host_are_called_once_with_whole_values(capfd):
    x = arrax.device_put(np.arange(8.0, dtype=np.float32), over("x"))
    calls = []

    def double(v):
        calls.append(np.asarray(v).tolist())
        return np.asarray(v) * 2

    struct = arrax.ShapeDtypeStruct(x.shape, x.dtype)
    f = arrax.jit(lambda x: io_callback(double, struct, x))
    assert np.array_equal(f(x), np.arange(8.0) * 2) and calls == [list(range(8))]
    assert np.array_equal(arrax.jit(lambda x: arrax.pure_callback(double, struct, x))(x), np.arange(8.0) * 2)
    arrax.jit(lambda x: arrax.debug.print("sum {}", x.sum()))(x)
    arrax.effects_barrier()
    assert capfd.readouterr().out.count("sum 28.0") == 1


def doubled_on_the_host(x):
    return arrax.pure_callback(lambda v: np.asarray(v) * 2, arrax.ShapeDtypeStruct(x.shape, x.dtype), x)


def test_what_a_function_on_the_host_gives_is_on_all_devices():
    x = arrax.device_put(VALUES, over("x"))
    for call in (doubled_on_the_host, arrax.jit(doubled_on_the_host)):
        found = call(x)
        assert all(np.array_equal(shard.data, 2 * VALUES) for shard in found.addressable_shards)
        assert found.committed and found.sharding.is_equivalent_to(over(), 2) and np.array_equal(found + x, 3 * VALUES)
    third = arrax.device_put(VALUES, arrax.devices()[3])
    assert doubled_on_the_host(third).sharding == third.sharding


@pytest.mark.parametrize("function", [jnp.unique, jnp.flatnonzero, lambda x: jnp.setdiff1d(x, jnp.array([1.0]))])
def test_results_whose_length_depends_on_values_are_on_all_devices(function):
    x = np.array([0, 1, 2, 0, 1, 2, 3, 1], np.float32)
    found = function(arrax.device_put(x, over("x")))
    assert found.sharding.is_equivalent_to(over(), 1) and np.array_equal(found, function(x))


def test_functions_on_the_host_may_compile_programs():
    x = arrax.device_put(np.arange(8.0, dtype=np.float32), over("x"))
    struct = arrax.ShapeDtypeStruct(x.shape, x.dtype)
    inner = arrax.jit(lambda v: v * 2 + 5)
    before = arrax.config.arrax_enable_compilation_cache
    arrax.config.update("arrax_enable_compilation_cache", False)  # in all threads
    try:
        assert np.array_equal(arrax.jit(lambda x: arrax.pure_callback(inner, struct, x))(x), np.arange(8.0) * 2 + 5)
    finally:
        arrax.config.update("arrax_enable_compilation_cache", before)


def test_formats_are_layouts_and_shardings():
    rows = Format(Layout((0, 1)), over("x"))
    x = arrax.device_put(VALUES, rows)
    assert x.format == rows and repr(Layout.AUTO) == "AUTO"
    jitted = arrax.jit(lambda x, y: {"sum": x + y}, in_shardings=Format(Layout.AUTO), out_shardings=rows)
    compiled = jitted.lower(x, x).compile()
    assert compiled.input_formats == ((rows, rows), {}) and compiled.output_formats == {"sum": rows}
    unused = arrax.jit(lambda x, y: y * 2).lower(np.ones(3), np.ones((2, 2))).compile()
    assert unused.input_formats[0][0] is None and unused.input_formats[0][1].layout == Layout((0, 1))


def test_the_compiler_chooses_how_results_lie_in_memory():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    transposed = arrax.jit(jnp.transpose, out_shardings=Format(Layout.AUTO))
    compiled = transposed.lower(x).compile()
    assert compiled.output_formats.layout.major_to_minor == (1, 0)  # nothing is moved
    for result in (compiled(x), transposed(x), transposed(x)):
        assert result.format.layout.major_to_minor == (1, 0)
        np.testing.assert_array_equal(result, x.T)
        np.testing.assert_array_equal(result + 1, x.T + 1)


# fmt: off
DECOMPOSITIONS = {
    "cholesky": jnp.linalg.cholesky, "eigh": lambda a: jnp.linalg.eigh(a)[1], "solve": lambda a: jnp.linalg.solve(a, a[..., :1]),
    "qr": lambda a: jnp.linalg.qr(a)[1], "svd": lambda a: jnp.linalg.svd(a, full_matrices=False)[1],
    "eigvals": lambda a: jnp.sort(jnp.abs(jnp.linalg.eigvals(a))), "det": jnp.linalg.det, "inverse": jnp.linalg.inv,
    "triangular": lambda a: arrax.lax.linalg.triangular_solve(a, a, left_side=True, lower=True),
    "tridiagonal": lambda a: arrax.lax.linalg.tridiagonal_solve(a[..., 0], a[..., 1] + 9, a[..., 2], a),
}
# fmt: on


@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_batches_of_matrices_are_decomposed_where_they_lie(name):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(8, 2, 4, 4)).astype(np.float32)
    a = a @ a.swapaxes(-1, -2) + 4 * np.eye(4, dtype=np.float32)
    compiled = arrax.jit(DECOMPOSITIONS[name])
    divided = arrax.device_put(a, over("x", "y"))
    np.testing.assert_allclose(np.abs(compiled(divided)), np.abs(compiled(a)), rtol=1e-3, atol=1e-4)
    assert collectives(compiled.lower(divided).compile().as_text()) == {}


def test_pjit_takes_its_options_by_position():
    def scaled(x, factor):
        return x * factor

    row = over("x")
    out = pjit(scaled, row, row, (1,))(np.arange(4, dtype=np.float32), 3)
    assert out.sharding == row
    np.testing.assert_array_equal(out, [0, 3, 6, 9])
    assert pjit(static_argnames="factor")(scaled)(2.0, factor=3) == 6
    assert pjit(scaled, UNSPECIFIED, UNSPECIFIED, None, ("factor",))(2.0, factor=3) == 6
    with pytest.raises(TypeError, match="callable"):
        pjit(3)


def test_pjit_runs_over_the_entered_mesh():
    x = np.arange(8, dtype=np.float32)
    divided = arrax.device_put(x, over("x"))

    def double(x):
        return x * 2

    for f in (
        pjit(double),
        pjit(double, None, None),
        pjit(double, out_shardings=None),
        pjit(in_shardings=None)(double),
    ):
        with mesh():
            assert f(x).sharding == over()
            assert f.lower(x).compile().output_shardings == over()
        with mesh((8,), "z") as other:  # that of each call
            assert f(x).sharding == NamedSharding(other, P())
        assert not f(x).committed
    with mesh():
        assert arrax.jit(pjit(double, None))(x).sharding == over()
        assert pjit(double)(divided).sharding == over("x")
        assert pjit(double, out_shardings=None)(divided).sharding == over()
        assert pjit(double, (P("x"),), None)(x).sharding == over()
        with pytest.raises(ValueError, match="does not match the sharding"):
            pjit(double, in_shardings=None)(divided)
        assert not arrax.jit(double)(x).committed
