"""Pictures of shardings, looking inside of programs, and the names that go with explicit axes."""

import io
import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.debug import inspect_array_sharding, visualize_array_sharding, visualize_sharding
from arrax.experimental import checkify, io_callback
from arrax.sharding import NamedSharding, PositionalSharding, auto_axes, explicit_axes, reshard, set_mesh
from arrax.sharding import PartitionSpec as P


def over(*spec):
    return NamedSharding(arrax.make_mesh((4, 2), ("x", "y")), P(*spec))


FOUR_BY_TWO = """\
┌──────────┬──────────┐
│  CPU 0   │  CPU 1   │
├──────────┼──────────┤
│  CPU 2   │  CPU 3   │
├──────────┼──────────┤
│  CPU 4   │  CPU 5   │
├──────────┼──────────┤
│  CPU 6   │  CPU 7   │
└──────────┴──────────┘
"""
ROWS = """\
┌───────────────────────┐
│        CPU 0,1        │
├───────────────────────┤
│        CPU 2,3        │
├───────────────────────┤
│        CPU 4,5        │
├───────────────────────┤
│        CPU 6,7        │
└───────────────────────┘
"""
LINE = """\
┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┐
│ CPU 0 │ CPU 1 │ CPU 2 │ CPU 3 │ CPU 4 │ CPU 5 │ CPU 6 │ CPU 7 │
└───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┘
"""


def test_pictures_are_those_of_the_documents(capsys):
    positions = PositionalSharding(arrax.devices())
    cases = [
        ((8192, 8192), positions.reshape(4, 2), FOUR_BY_TWO), ((8, 8), positions.reshape(4, 2).replicate(1), ROWS),
        ((24,), positions, LINE), ((8, 8), over("x"), ROWS),
    ]  # fmt: skip
    for shape, sharding, expected in cases:
        visualize_sharding(shape, sharding)
        assert capsys.readouterr().out == expected
    visualize_sharding((8, 8), positions.reshape(4, 2).replicate(0))
    lines = capsys.readouterr().out.splitlines()
    assert lines[5] == "│CPU 0,2,4,6│CPU 1,3,5,7│" and len(lines) == 11 and lines[1] == "│           │           │"
    with pytest.raises(ValueError, match="1 and 2 dimensions"):
        visualize_sharding((2, 2, 2), positions)


def test_shardings_can_be_looked_at_inside_of_programs(capsys):
    seen = []

    def f(x):
        y = jnp.sin(x)
        inspect_array_sharding(y, callback=seen.append)
        visualize_array_sharding(y)
        return y.sum()

    x = arrax.device_put(np.ones((8, 8)), over("x"))
    arrax.jit(f)(x)
    assert seen == [over("x")] and capsys.readouterr().out == ROWS
    f(x)
    assert len(seen) == 2 and seen[1].is_equivalent_to(over("x"), 2)
    np.testing.assert_allclose(arrax.jit(arrax.grad(f))(x), np.cos(np.ones((8, 8))), rtol=1e-6)


def test_names_of_explicit_axes_mean_what_automatic_ones_give():
    with set_mesh(over().mesh):
        assert reshard(np.ones(8), P("x")).sharding == over("x")
        assert arrax.jit(lambda x: arrax.reshard(x, P("y")))(np.ones(8)).sharding.is_equivalent_to(over("y"), 1)
        assert auto_axes(lambda x: x + 1, out_sharding=P("x"))(np.ones(8)).sharding == over("x")
        assert auto_axes(lambda x: x + 1)(np.ones(8), out_sharding=P("y")).sharding == over("y")
        assert explicit_axes(lambda x: x * 1, in_sharding=(P("x"),))(np.ones(8)).sharding == over("x")


def test_each_device_prints_its_part_or_one_prints_all(capsys):
    x = arrax.device_put(jnp.arange(16.0).reshape(8, 2), over("x"))
    parts = []
    for partitioned in (False, True):
        note = lambda x, total: parts.append((x.shape, float(total)))  # noqa: E731
        arrax.jit(lambda x: arrax.debug.callback(note, x, x.sum(), partitioned=partitioned))(x)  # noqa: B023
        arrax.effects_barrier()
    assert parts == [((8, 2), 120.0), *[((2, 2), 120.0)] * 8]
    with pytest.raises(ValueError, match="leave out ordered or partitioned"):
        arrax.jit(lambda x: arrax.debug.print("{}", x, ordered=True, partitioned=True))(x)
    arrax.jit(lambda x: arrax.debug.print("{}", x, ordered=True, partitioned=True))(1)  # one device has an order
    arrax.effects_barrier()
    assert capsys.readouterr().out == "1\n"


def test_a_breakpoint_sees_whole_arrays():
    given, shown = io.StringIO("p x.shape, float(x.sum())\nc\n"), io.StringIO()
    x = arrax.device_put(jnp.arange(16.0).reshape(8, 2), over("x"))
    arrax.jit(lambda x: arrax.debug.breakpoint(stdin=given, stdout=shown))(x)
    assert "((8, 2), 120.0)" in shown.getvalue()


def test_taps_and_calls_of_older_programs_name_their_device():
    with warnings.catch_warnings(action="ignore"):
        from arrax.experimental import host_callback as hcb
    seen = []
    x = jnp.arange(8.0)

    def f(x):
        hcb.id_tap(lambda v, _, device: seen.append((float(v), device.id)), x, tap_with_device=True)
        return hcb.call(lambda v, device: v + device.id, x, result_shape=x, call_with_device=True)

    np.testing.assert_array_equal(arrax.pmap(f)(x), 2 * np.arange(8))
    hcb.barrier_wait()
    assert sorted(seen) == [(float(n), n) for n in range(8)]
    spread = arrax.device_put(x, over("x"))
    arrax.jit(lambda x: hcb.id_tap(lambda v, _, device: seen.append((v.size, device.id)), x, tap_with_device=True))(
        spread
    )
    hcb.barrier_wait()
    assert seen[8:] == [(8, 0)]


def test_quitting_a_breakpoint_leaves_nothing_behind_on_any_device():
    given = io.StringIO("q\n" * 8)
    f = arrax.pmap(lambda x: (arrax.debug.breakpoint(stdin=given, stdout=io.StringIO()), x * 2)[1])
    with pytest.raises(SystemExit):
        f(jnp.arange(8.0))
    arrax.effects_barrier()
    np.testing.assert_array_equal(arrax.pmap(lambda x: x + 1)(jnp.arange(8.0)), np.arange(1, 9))


@pytest.mark.parametrize("wrap", ["jit", "shard_map", "pmap"])
def test_bars_and_watched_values_on_several_devices(wrap, capsys):
    mesh = arrax.make_mesh((8,), ("x",))
    watched = arrax.debug.watch(lambda x: jnp.sin(x), "sin")
    body = arrax.debug.progress(lambda i, x: watched(x), "bar", show=lambda x: {"x": x.sum()}, style="text", delay=0)
    loop = lambda x: arrax.lax.fori_loop(0, 3, body, x)  # noqa: E731
    call = {
        "jit": arrax.jit(loop), "shard_map": arrax.jit(arrax.shard_map(loop, mesh=mesh, in_specs=P("x"), out_specs=P("x"))),
        "pmap": arrax.pmap(loop),
    }[wrap]  # fmt: skip
    x = arrax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("x")))
    expected = np.sin(np.sin(np.sin(np.arange(8.0))))
    np.testing.assert_allclose(call(x), expected, rtol=1e-6)
    arrax.effects_barrier()
    assert len(watched.samples) == (3 if wrap == "jit" else 24)
    shown = capsys.readouterr().err
    assert shown.count("3/3") == 1 and (wrap != "jit" or f"x={expected.sum():.4g}" in shown)


@pytest.mark.parametrize("call", [io_callback, arrax.pure_callback])
def test_one_device_calls_the_host_for_several_results(call):
    calls = []

    def both(total):
        calls.append(float(total))
        return np.float32(total), np.int32(len(calls))

    types = arrax.ShapeDtypeStruct((), np.float32), arrax.ShapeDtypeStruct((), np.int32)
    x = arrax.device_put(jnp.arange(8.0), NamedSharding(arrax.make_mesh((8,), ("x",)), P("x")))
    total, number = arrax.jit(lambda x: call(both, types, x.sum()))(x)
    assert (float(total), int(number), calls) == (28, 1, [28])


def printing(mesh, show):
    @arrax.jit
    @arrax.shard_map(mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    def f(x):
        for step in range(3):
            show(x[0], step)
        return x

    return f


def test_ordered_effects_of_a_program_per_device():
    seen = []

    def note(x, step):
        seen.append((int(x), int(step)))

    one, four = arrax.make_mesh((1,), ("i",)), arrax.make_mesh((4,), ("i",))
    printing(one, lambda x, step: arrax.debug.callback(note, x, step, ordered=True))(jnp.arange(2))
    arrax.effects_barrier()
    assert seen == [(0, 0), (0, 1), (0, 2)]
    seen.clear()
    printing(four, lambda x, step: io_callback(note, None, x, step, ordered=True))(jnp.arange(4))
    arrax.effects_barrier()
    assert sorted(seen) == [(x, step) for x in range(4) for step in range(3)]
    assert all([step for x, step in seen if x == device] == [0, 1, 2] for device in range(4))
    watched = printing(four, lambda x, step: arrax.debug.callback(note, x, step, ordered=True))
    with pytest.raises(ValueError, match="not supported on more than 1 device, but f runs on 4 devices"):
        watched(jnp.arange(4))


def test_a_checked_program_tells_of_each_device_that_failed():
    def f(x):
        checkify.check(jnp.all(x > 0), "x is {}", x)
        return jnp.log(x)

    mapped = arrax.shard_map(f, mesh=arrax.make_mesh((4,), ("i",)), in_specs=P("i"), out_specs=P("i"))
    error, _ = checkify.checkify(mapped)(jnp.array([1.0, -2.0, 3.0, -4.0]))
    assert [line.split(" (")[0] for line in error.get().split("\n")] == [
        "at mapped index 1: x is [-2.]",
        "at mapped index 3: x is [-4.]",
    ]
    with pytest.raises(
        checkify.JaxRuntimeError, match=r"^x is \[-2\.\] .*, at mapped index 1\nx is \[-4\.\] .*index 3"
    ):
        error.throw()
    error, _ = arrax.vmap(checkify.checkify(mapped))(jnp.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, -7.0, 8.0]]))
    assert error.get().startswith("at mapped index 1, 2: x is [-7.]")


def test_nans_of_programs_per_device_name_their_operation_and_line():
    def f(x):
        total, _ = arrax.lax.scan(lambda c, _: (jnp.log(c) - 1, None), x, None, length=3)
        return total

    x = jnp.array([5.0, -1.0, 5.0, 5.0])
    mapped = arrax.shard_map(f, mesh=arrax.make_mesh((4,), ("i",)), in_specs=P("i"), out_specs=P("i"))
    for run in (mapped, arrax.jit(mapped), arrax.pmap(f)):
        with arrax.debug_nans(True), pytest.raises(FloatingPointError, match="nan.* encountered in log") as error:
            run(x)
        assert any(
            "The operation log comes from line" in note and "debug_test.py" in note for note in error.value.__notes__
        )


@pytest.mark.parametrize(
    "spread",
    [
        lambda x: arrax.jit(lambda x: x + 1, in_shardings=over("x"))(x),
        arrax.pmap(lambda x: x + 1),
        lambda x: arrax.shard_map(lambda x: x, mesh=over().mesh, in_specs=P("x"), out_specs=P("x"))(x),
    ],
)
def test_spreading_an_array_is_a_transfer_between_devices(spread, caplog):
    x = jnp.arange(8.0)
    with (
        arrax.transfer_guard_device_to_device("disallow"),
        pytest.raises(RuntimeError, match="device-to-device transfer"),
    ):
        spread(x)
    with arrax.transfer_guard_host_to_device("disallow_explicit"):
        spread(x)
    with arrax.transfer_guard("log"):
        spread(x)
    assert "device-to-device transfer: aval=ShapedArray(float32[8])" in caplog.text


def test_spreading_an_array_by_name_is_guarded_only_when_explicit_transfers_are():
    x = jnp.arange(8.0)
    with arrax.transfer_guard("disallow"):
        y = arrax.device_put(x, over("x"))
        assert arrax.device_put(y, over()).sharding == over()
        arrax.device_put(y, arrax.devices()[0])
    for there in (over("x"), over(), arrax.devices()[1]):
        with (
            arrax.transfer_guard_device_to_device("disallow_explicit"),
            pytest.raises(RuntimeError, match="Disallowed"),
        ):
            arrax.device_put(x, there)


def test_each_device_gives_samples_of_what_it_has():
    def f(x):
        with arrax.named_scope("inside"):
            y = jnp.sin(x)
        y, _ = arrax.lax.scan(lambda c, _: (jnp.tanh(c), None), y, None, length=2)
        return arrax.lax.psum(y.sum(), "i")

    mapped = arrax.shard_map(f, mesh=arrax.make_mesh((4,), ("i",)), in_specs=P("i"), out_specs=P())
    x = np.arange(8, dtype=np.float32)
    for run in (mapped, arrax.jit(mapped), arrax.jit(arrax.value_and_grad(mapped))):
        watched = arrax.debug.watch(run, "inside/sin", "scan/tanh", values=True)
        watched(x)
        (sines, tanhs) = (sorted(tuple(one.value) for one in watched.of(name)) for name in ("sin", "tanh"))
        np.testing.assert_allclose(sines, sorted(map(tuple, np.sin(x).reshape(4, 2))), rtol=1e-5)
        assert len(tanhs) == 8  # two steps on each device
    watched = arrax.debug.watch(arrax.pmap(lambda x: jnp.log(x) + 1), "log")
    watched(jnp.array([1.0, -1.0]))
    assert sorted(sample.nans for sample in watched.samples) == [0, 1]
