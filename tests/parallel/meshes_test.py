"""Meshes, partition specs and shardings: what they are, how they print, compare and fail."""

import functools
import pickle

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import mesh_utils
from arrax.sharding import (
    AbstractMesh,
    AxisType,
    GSPMDSharding,
    Mesh,
    NamedSharding,
    PmapSharding,
    PositionalSharding,
    SingleDeviceSharding,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_mesh,
)
from arrax.sharding import PartitionSpec as P
from arrax.xla.tilings import hlo_to_spec, spec_to_hlo


def mesh():
    return Mesh(np.array(arrax.devices()).reshape(4, 2), ("x", "y"))


def test_equal_meshes_are_one_object():
    assert mesh() is arrax.make_mesh((4, 2), ("x", "y")) is pickle.loads(pickle.dumps(mesh()))
    assert mesh() != Mesh(np.array(arrax.devices()).reshape(4, 2), ("x", "z"))


def test_a_mesh_knows_its_axes_and_devices():
    m = mesh()
    assert dict(m.shape) == {"x": 4, "y": 2} and m.size == 8 and m.axis_names == ("x", "y") and not m.empty
    assert m.device_ids.tolist() == np.arange(8).reshape(4, 2).tolist() and m.local_mesh is m
    assert m.abstract_mesh == AbstractMesh((4, 2), ("x", "y"), abstract_device=m.abstract_mesh.abstract_device)
    assert m.axis_types == (AxisType.Auto, AxisType.Auto) and not m.is_multi_process


def test_a_mesh_cannot_be_changed_but_has_variants():
    with pytest.raises(AttributeError, match="cannot be changed"):
        mesh().size = 3
    abstract = AbstractMesh((4, 2), ("x", "y"))
    explicit = abstract.update_axis_types({"x": AxisType.Explicit, "z": AxisType.Manual})
    assert explicit.axis_types == (AxisType.Explicit, AxisType.Auto) and explicit != abstract
    assert abstract.update(axis_names=("a", "b")).axis_names == ("a", "b") and abstract.update() == abstract
    for name in ("devices", "device_ids", "local_devices", "local_mesh", "is_multi_process"):
        with pytest.raises(ValueError, match="no devices"):
            getattr(abstract, name)


def test_shardings_over_abstract_meshes_know_all_but_devices():
    abstract = NamedSharding(AbstractMesh((4, 2), ("x", "y")), P("x"))
    assert abstract.shard_shape((8, 3)) == (2, 3) and abstract.num_devices == 8
    assert abstract.is_equivalent_to(NamedSharding(abstract.mesh, P(("x",), None)), 2)
    assert not abstract.is_equivalent_to(NamedSharding(mesh(), P("x")), 2)
    assert abstract.replicated_axes == {"y"} and NamedSharding(mesh(), P("x")).has_addressable_devices
    with pytest.raises(ValueError, match="no devices"):
        abstract.devices_indices_map((8, 3))
    abstract.check_compatible_aval((7,))
    with pytest.raises(ValueError, match="rank at least 1"):
        abstract.check_compatible_aval(())


def test_arrays_lie_by_specs_whose_entries_beyond_their_axes_are_none_but_none_is_put_so():
    s = NamedSharding(mesh(), P(None))
    assert s.shard_shape(()) == () and set(s.devices_indices_map(()).values()) == {()} and len(s.device_set) == 8
    assert s.is_equivalent_to(NamedSharding(mesh(), P()), 0)
    x = arrax.make_array_from_callback((), s, lambda index: np.float32(3))
    pieces = [arrax.device_put(np.float32(3), device) for device in arrax.devices()]
    assert x.sharding == s and arrax.make_array_from_single_device_arrays((), s, pieces).sharding == s
    assert (x + 1).item() == 4 and arrax.jit(lambda x: x * 2)(x).item() == 6
    along = NamedSharding(mesh(), P("x", None))
    assert along.devices_indices_map((4,))[arrax.devices()[2]] == (slice(1, 2),)
    for refused in (
        lambda: s.check_compatible_aval(()), lambda: arrax.device_put(np.float32(3), s), lambda: arrax.device_put(1, s),
        lambda: arrax.device_put(np.arange(4), along), lambda: arrax.jit(lambda x: arrax.device_put(x, s))(1.0),
        lambda: arrax.jit(lambda x: x, in_shardings=s)(x), lambda: arrax.jit(lambda x: x, out_shardings=s)(1.0),
        lambda: arrax.lax.with_sharding_constraint(1.0, s), lambda: arrax.make_array_from_process_local_data(s, 1.0),
        lambda: arrax.ShapeDtypeStruct((), np.float32, sharding=s), lambda: NamedSharding(mesh(), P("x")).shard_shape(()),
        lambda: arrax.ShapeDtypeStruct((4, 4), np.float32, sharding=along).update(shape=(4,)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="only valid for values of rank at least"):
            refused()


def test_structures_say_where_arrays_lie():
    struct = functools.partial(arrax.ShapeDtypeStruct, (8, 4), np.float32)
    with arrax.set_mesh(mesh()):
        assert struct(sharding=P("x")).sharding == NamedSharding(mesh(), P("x"))
    with pytest.raises(TypeError, match="needs a mesh in force"):
        struct(sharding=P("x"))
    with pytest.raises(ValueError, match="sharding must be"):
        struct(sharding="x")


def test_meshes_and_shardings_print_what_they_hold():
    assert str(get_mesh()) == "Mesh()" and repr(P("x", unreduced={"y"})) == "PartitionSpec('x', unreduced={'y'})"
    known = "AbstractMesh('x': 4, 'y': 2, device_kind=cpu, num_cores=None, platform=cpu)"
    assert repr(mesh().abstract_mesh) == known
    assert repr(AbstractMesh((4,), ("x",))) == "AbstractMesh('x': 4)"
    assert repr(mesh()) == "Mesh(axis_sizes=(4, 2), axis_names=('x', 'y'), axis_types=(Auto, Auto))"
    assert str(mesh()) == "Mesh('x': 4, 'y': 2)"
    assert (
        repr(P("x", ("x", "y"), None)) == "PartitionSpec('x', ('x', 'y'), None)"
        and repr(P("x")) == "PartitionSpec('x',)"
    )
    text = "NamedSharding(mesh=Mesh('x': 4, 'y': 2), spec=PartitionSpec('x', None))"
    assert repr(NamedSharding(mesh(), P("x", None))) == text
    positions = PositionalSharding(arrax.devices()).reshape(4, 2)
    assert repr(positions.replicate(0)) == "PositionalSharding([[{CPU 0, 2, 4, 6} {CPU 1, 3, 5, 7}]])"
    assert repr(positions) == "PositionalSharding([[{CPU 0} {CPU 1}]\n" + "\n".join(
        f"                    [{{CPU {2 * i}}} {{CPU {2 * i + 1}}}]" for i in (1, 2, 3)) + "])"  # fmt: skip


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: Mesh(arrax.devices(), ("x", "y")), "one name per axis"),
        (lambda: Mesh(np.array(arrax.devices()).reshape(4, 2), ("x", "x")), "must differ"),
        (lambda: Mesh([1, 2], ("x",)), "devices"),
        (lambda: arrax.make_mesh((4, 2), "xy"), "one name per axis"),
        (lambda: arrax.make_mesh((16,), ("x",)), "number of devices 8"),
        (lambda: arrax.make_mesh((0,), ("x",)), "must be positive"),
        (lambda: mesh_utils.create_device_mesh((3,)), "must equal the product"),
        (lambda: NamedSharding(mesh(), P("z")), "Resource axis: z"),
        (lambda: P("x", unreduced={"x"}), "name axes that are unreduced"),
        (lambda: P(unreduced={"x"}, reduced={"x"}), "both unreduced and reduced"),
        (lambda: P(unreduced={None}), "unreduced must consist of names"),
        (lambda: NamedSharding(mesh(), P(unreduced={"x"})), "only explicit axes"),
        (lambda: NamedSharding(mesh(), P("x", "x")), "more than once"),
        (
            lambda: NamedSharding(arrax.make_mesh((8,), ("x",), (AxisType.Explicit,)), P(P.UNCONSTRAINED)),
            "UNCONSTRAINED leaves an axis",
        ),
        (
            lambda: arrax.jit(abs, in_shardings=NamedSharding(mesh(), P(P.UNCONSTRAINED)))(np.ones(8)),
            "in_shardings says",
        ),
        (lambda: NamedSharding(mesh(), P("x", "y")).shard_shape((8,)), "rank at least 2"),
        (lambda: NamedSharding(mesh(), P("x")).shard_shape((6,)), "partitioned 4 times, but the dimension size is 6"),
        (lambda: set_mesh(3), "expected a Mesh"),
        (lambda: PmapSharding.default((8,), 1), "no axis"),
        (lambda: mesh_utils.create_hybrid_device_mesh((4,), (3,), process_is_granule=True), "Number of slices 1"),
        (lambda: mesh_utils.create_hybrid_device_mesh((4,), (2,)), "slice_index.*process_is_granule=True"),
    ],
)
def test_what_does_not_fit_is_refused(make, error):
    with pytest.raises(ValueError, match=error):
        make()


def test_shardings_compare_by_content():
    device = arrax.devices()[3]
    pairs = [
        lambda: SingleDeviceSharding(device), lambda: NamedSharding(mesh(), P("x")),
        lambda: PositionalSharding(arrax.devices()).reshape(2, 4), lambda: PmapSharding.default((8, 3)),
        lambda: GSPMDSharding.get_replicated(arrax.devices()),
    ]  # fmt: skip
    for make in pairs:
        assert make() == make() == pickle.loads(pickle.dumps(make())) and len({make(), make()}) == 1
    assert arrax.device_put(1, device).sharding == SingleDeviceSharding(device)
    assert NamedSharding(mesh(), P("x")) != NamedSharding(mesh(), P("x", None))
    assert NamedSharding(mesh(), P("x")).is_equivalent_to(NamedSharding(mesh(), P("x", None)), 2)
    assert not NamedSharding(mesh(), P("x")).is_equivalent_to(NamedSharding(mesh(), P("y")), 2)


SPECS = [P(), P("x"), P("y"), P(None, "x"), P(("x", "y")), P(("y", "x")), P("y", "x"), P(None, ("y", "x")), P("x", "y")]


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_pieces_are_those_that_the_names_say(spec):
    sharding = NamedSharding(mesh(), spec)
    sizes = dict(mesh().shape)
    for place, device in np.ndenumerate(mesh().devices):
        at = dict(zip("xy", place, strict=True))
        expected = []
        for entry in [*spec, *[None] * (2 - len(spec))]:
            names = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
            count, number = 1, 0
            for name in names:
                count, number = count * sizes[name], number * sizes[name] + at[name]
            expected.append(slice(None) if count == 1 else slice(number * 16 // count, (number + 1) * 16 // count))
        assert sharding.devices_indices_map((16, 16))[device] == tuple(expected)
    assert hlo_to_spec(mesh(), spec_to_hlo(mesh(), spec, 2), 2) == spec


def test_replicating_joins_sets():
    positions = PositionalSharding(mesh_utils.create_device_mesh((8,))).reshape(4, 2)
    assert positions.replicate(0).shape == (1, 2) and positions.replicate(1).shape == (4, 1)
    assert positions.replicate(1, keepdims=False).shape == (4,) and positions.T.shape == (2, 4)
    assert positions.replicate().is_fully_replicated and not positions.is_fully_replicated


@pytest.mark.parametrize("call", [get_mesh, lambda: set_mesh(mesh())], ids=["get_mesh", "set_mesh"])
def test_traced_functions_neither_ask_for_the_devices_of_the_mesh_nor_change_it(call):
    for transform in (arrax.make_jaxpr, arrax.grad):
        with pytest.raises(ValueError, match="cannot be called in a function that jit"):
            transform(lambda x: (call(), x)[1])(1.0)


def test_a_mesh_is_in_force_for_a_while():
    assert get_mesh().empty and get_abstract_mesh().empty
    with set_mesh(mesh()) as m:
        assert get_mesh() is m is mesh() and get_abstract_mesh() == m.abstract_mesh
        assert arrax.device_put(np.ones(8), P("y")).sharding == NamedSharding(m, P("y"))
    with use_mesh(mesh()), mesh():
        assert arrax.device_put(np.ones(8), P("x")).sharding.spec == P("x")
    assert get_mesh().empty
    with pytest.raises(ValueError, match="needs a mesh"):
        arrax.device_put(np.ones(8), P("x"))


def test_devices_with_coordinates_are_arranged_by_them():
    class Chip:
        device_kind = "chip"

        def __init__(self, number):
            self.id, self.coords, self.core_on_chip = number, (number % 4, number // 4 % 2, 0), 0

    chips = [Chip(number) for number in range(8)]
    grid = mesh_utils.create_device_mesh((2, 4), chips)
    assert [[chip.coords[:2] for chip in row] for row in grid] == [[(x, y) for x in range(4)] for y in range(2)]


def test_specs_behave_like_tuples():
    spec = P("x", None) + P("y")
    assert tuple(spec) == ("x", None, "y") and spec[2] == "y" and len(spec) == 3 and spec.index("y") == 2
    assert (
        P(("x",), ()) == P("x", None) and hash(P(("x",))) == hash(P("x")) and pickle.loads(pickle.dumps(spec)) == spec
    )
    assert P("x") != ("x",) and ("x",) != P("x")  # equal values would have equal hashes
    with pytest.raises(AttributeError):
        spec.unreduced = frozenset()


def test_results_lie_over_the_mesh_that_their_types_speak_of():
    values = np.arange(8, dtype=np.float32)
    explicit = arrax.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit,) * 2)
    typed, untyped = (
        arrax.device_put(values, NamedSharding(mesh, P("x")))
        for mesh in (explicit, arrax.make_mesh((4, 2), ("x", "y")))
    )
    one, other = arrax.jit(lambda x, y: (x * 2, y * 2))(typed, untyped)
    assert (one.sharding, other.sharding) == (typed.sharding, untyped.sharding)
    turned = arrax.make_mesh((2, 4), ("x", "y"), (AxisType.Explicit,) * 2)
    for call in (jnp.add, arrax.jit(lambda x, y: x * y)):
        with pytest.raises(ValueError, match="explicit axes of different meshes"):
            call(typed, arrax.device_put(values, NamedSharding(turned, P("x"))))


def test_results_that_no_mesh_of_arguments_describes_lie_over_one_that_the_program_names():
    x = arrax.device_put(np.ones((8, 8), np.float32), NamedSharding(mesh(), P("x", "y")))
    asked = NamedSharding(arrax.make_mesh((2, 2, 2), ("a", "b", "c")), P("a", "c"))
    found = arrax.jit(lambda x: arrax.lax.with_sharding_constraint(x, asked))(x)
    assert found.sharding == asked


def test_objects_with_an_id_stand_in_for_devices_where_no_array_lies():
    class StandIn:
        def __init__(self, number):
            self.id, self.process_index = number, number // 2

    devices = np.array([StandIn(number) for number in range(4)]).reshape(2, 2)
    m = Mesh(devices, ("x", "y"))
    s = NamedSharding(m, P("x"))
    assert m is Mesh(devices, ("x", "y")) and m.shape == {"x": 2, "y": 2} and m.device_ids.tolist() == [[0, 1], [2, 3]]
    assert m.is_multi_process and m.local_devices == list(devices[0]) and m.local_mesh.shape == {"x": 1, "y": 2}
    assert s.shard_shape((4, 6)) == (2, 6) and s.device_set == set(devices.flat) and s.num_devices == 4
    assert s.devices_indices_map((4, 6))[devices[1, 0]] == (slice(2, 4, None), slice(None))
    for place in (lambda: arrax.device_put(np.ones(4), s), lambda: arrax.jit(jnp.sin, in_shardings=s)(np.ones(4))):
        with pytest.raises(
            ValueError, match=r"is over a mesh of <.*StandIn object .* and the like, which are no devices"
        ):
            place()
    with pytest.raises(ValueError, match="devices must be an array of devices, got 'cpu'"):
        Mesh(["cpu"], "x")
