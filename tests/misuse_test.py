"""Misuse of every public function: a clear exception of a documented class, never a crash or the words of a library below."""

import functools
import inspect
import pickle
import random as python_random
import typing
import warnings
from traceback import walk_tb

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax, nn, random
from arrax.core.calls import is_internal
from arrax.example_libraries import optimizers, stax
from arrax.experimental import checkify, mesh_utils, multihost_utils, pallas, sparse
from arrax.experimental.custom_partitioning import SdyShardingRule, custom_partitioning
from arrax.experimental.layout import Layout
from arrax.experimental.shard_alike import shard_alike
from tests.support import FOREIGN

pytestmark = pytest.mark.filterwarnings("ignore")
_LEAKED = []
arrax.jit(lambda x: _LEAKED.append(x) or x)(jnp.ones(3))


class Odd:
    """A value of no use."""


STRANGE = [
    None, "text", Odd(), [1, 2], (1.0, "a"), {"a": 1}, np.array(["a", "b"]), np.array([None, 1], object),
    np.array("2020-01-01", dtype="datetime64[D]"), -1, 10**30, float("nan"), 1e300, True, 1j,
    np.full((2, 3), np.inf), np.ones((2, 3)), np.arange(4), np.zeros((0,)), b"x", ..., slice(1, 2), int, np.float32, lambda x: x,
    _LEAKED[0],
]  # fmt: skip
STRANGE_OPTIONS = [*STRANGE, float("inf"), 2.5, np.ones(3)]
ALLOWED = (
    TypeError, ValueError, IndexError, OverflowError, NotImplementedError, ZeroDivisionError, BufferError, NameError,
    *(c for c in vars(arrax.errors).values() if isinstance(c, type) and issubclass(c, Exception)),
)  # fmt: skip
# Those that change global settings, or whose business are files.
LEFT_OUT = {"set_printoptions", "printoptions", "save", "savez", "load", "fromfile"}
ROOMS = {"numpy": jnp, "linalg": jnp.linalg, "fft": jnp.fft, "lax": lax, "random": random, "nn": nn}
FUNCTIONS = [
    f"{room}.{name}"
    for room, module in ROOMS.items()
    for name in sorted(set(dir(module)) - LEFT_OUT)
    if not name.startswith("_") and callable(value := getattr(module, name))
    if not isinstance(value, type) and typing.get_origin(value) is None
]


def deleted(*shape):
    array = arrax.device_put(np.ones(shape, "float32"))
    array.delete()
    return array


def calls_of(name, function):
    """Some strange calls: all arguments strange, one of them, a strange option, one too many, a deleted array."""
    choose = python_random.Random(name)
    parameters = list(inspect.signature(function).parameters.values())
    required = [
        p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    options = [p.name for p in parameters if p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY]
    count = max(1, len(required))
    fine = [random.key(0) if name.startswith("random.") and n == 0 else jnp.ones((2, 3)) for n in range(count)]
    for value in choose.sample(STRANGE, 6):
        yield [value] * count, {}
    for value in choose.sample(STRANGE, 4):
        place = choose.randrange(count)
        yield [value if n == place else good for n, good in enumerate(fine)], {}
    for option in choose.sample(options, min(3, len(options))):
        yield fine, {option: choose.choice(STRANGE_OPTIONS)}
    yield fine, {"no_such_option": 1}
    yield [deleted(2, 3)] * count, {}  # of the type of what is fine


def is_lowered(function, args, kwargs):
    """Whether a call is a program that the compiler could be given: nothing is wrong with its arguments."""
    try:
        arrax.jit(lambda: function(*args, **kwargs)).lower()
    except Exception:
        return False
    return True


@pytest.mark.parametrize("name", FUNCTIONS)
def test_misuse_gives_clear_exceptions(name):
    room, _, attribute = name.partition(".")
    function, accepted = getattr(ROOMS[room], attribute), False
    for args, kwargs in calls_of(name, function):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if accepted and is_lowered(function, args, kwargs):
                    continue  # the first of such calls has run
                function(*args, **kwargs)
                accepted = True
        except ALLOWED as error:
            assert str(error).strip(), (args, kwargs)
            assert not any(words in str(error) for words in FOREIGN), (args, kwargs, str(error))
            inside = [frame for frame, _ in walk_tb(error.__traceback__) if is_internal(frame.f_code.co_filename)]
            assert not inside, (args, kwargs, inside)
        except RuntimeError as error:
            assert "deleted" in str(error), (args, kwargs, str(error))


# What they are given first is a name, a type or a padding, or their caller is asked what went wrong.
UNNAMED = {
    "numpy.einsum_path", "numpy.frombuffer", "numpy.mask_indices", "numpy.promote_types", "numpy.tril_indices_from",
    "numpy.triu_indices_from", "lax.conv_dimension_numbers", "lax.conv_general_permutations", "lax.pshuffle",
    "lax.conv_general_shape_tuple", "lax.conv_shape_tuple", "lax.reduce_window_shape_tuple",
    "lax.conv_transpose_shape_tuple", "lax.padtype_to_pads", "random.key_dtype",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - UNNAMED))
def test_messages_say_which_function_was_called(name):
    room, _, attribute = name.partition(".")
    function = getattr(ROOMS[room], attribute)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]
    required = [p for p in parameters if p.default is p.empty] or parameters[:1]
    for value in ("text", np.array(["a", "b"]), Odd()):
        args = [value, *(jnp.ones((2, 2)) for _ in required[1:])]
        try:
            function(*args)
        except (TypeError, ValueError) as error:
            assert any(n in str(error) for n in (attribute, getattr(function, "__name__", attribute))), str(error)
        except ALLOWED:
            pass


MESH = arrax.make_mesh((1,), ("x",))


def over_unknown_axes():
    with arrax.set_mesh(MESH):
        return arrax.sharding.auto_axes(jnp.sin, axes="unknown", out_sharding=arrax.P())(1.0)


LEAVING = {
    "repr of a key": lambda: repr(arrax.random.wrap_key_data(deleted(3))),
    "str": lambda: str(deleted(3)),
    "is_ready": lambda: deleted(3).is_ready(),
    "shards": lambda: deleted(3).addressable_shards,
    "T": lambda: deleted(3).T,
    "pickle": lambda: pickle.dumps(deleted(3)),
    "NumPy": lambda: np.sin(deleted(3)),
    "float": lambda: float(jnp.ones(3)),
    "bool": lambda: bool(jnp.ones(3)),
    "masked": lambda: jnp.sin(np.ma.array([1.0])),
    "Mesh": lambda: arrax.sharding.Mesh(arrax.devices()[:1], ("x", "y")),
    "NamedSharding": lambda: arrax.NamedSharding(MESH, arrax.P("unknown")),
    "ShapeDtypeStruct": lambda: arrax.ShapeDtypeStruct(None, "float32"),
    "pmap": lambda: arrax.pmap(lambda x: x)(1.0),
    "shard_map": lambda: arrax.shard_map(lambda x: x, mesh=MESH, in_specs=(), out_specs=arrax.P())(1.0),
    "ffi_call": lambda: arrax.ffi.ffi_call("nothing of the kind", arrax.ShapeDtypeStruct((), "float32"))(1.0),
    "a decorator of checkpoint": lambda: arrax.checkpoint(prevent_cse=False)(1.0),
    "a decorator of jit": lambda: arrax.jit(inline=True)(1.0),
    "a decorator of shard_map": lambda: arrax.shard_map(mesh=MESH, in_specs=(), out_specs=arrax.P())(1.0),
    "a decorator of auto_axes": lambda: arrax.sharding.auto_axes(out_sharding=arrax.P())(1.0),
    "auto_axes": over_unknown_axes,
    "explicit_axes": lambda: arrax.sharding.explicit_axes(jnp.sin, axes="unknown")(1.0),
    "mesh_utils": lambda: mesh_utils.create_device_mesh((3, 5, 7)),
    "shard_alike": lambda: shard_alike(np.ones(2), np.ones(3)),
    "custom_partitioning": lambda: custom_partitioning(jnp.sin)(1.0),
    "SdyShardingRule": lambda: SdyShardingRule((("i",),), (("i",),), i=3),
    "a layer": lambda: stax.serial(stax.Dense(3))[0](random.key(0), (2, "x")),
    "a network": lambda: stax.serial(stax.Relu)[1]([()], "x"),
    "an optimizer": lambda: optimizers.sgd(0.1)[1](0, 3, optimizers.sgd(0.1)[0]([jnp.ones(2)])),
    "a schedule": lambda: optimizers.polynomial_decay(0.1, 10, 0.01)("x"),
    "throw": lambda: checkify.checkify(lambda x: checkify.check(x > 0, "no"))(-1.0)[0].throw(),
}


@pytest.mark.parametrize("name", LEAVING)
def test_methods_classes_and_mapped_functions_raise_at_the_users_line(name):
    with pytest.raises((RuntimeError, TypeError, ValueError)) as caught:
        LEAVING[name]()
    assert not [f for f, _ in walk_tb(caught.value.__traceback__) if is_internal(f.f_code.co_filename)]


def test_what_cannot_be_called_is_refused_before_it_is():
    f, g, h = arrax.custom_jvp(jnp.sin), arrax.custom_vjp(jnp.sin), arrax.custom_batching.custom_vmap(jnp.sin)
    for call, name in [
        (lambda: arrax.custom_vjp(3), "custom_vjp: argument fun"),
        (lambda: f.defjvp(3), "defjvp: argument jvp"),
        (lambda: g.defvjp(jnp.sin, 3), "defvjp: argument bwd"),
        (lambda: h.def_vmap(3), "def_vmap: argument vmap_rule"),
        (lambda: arrax.custom_batching.custom_vmap(3), "custom_vmap: argument fun"),
        (lambda: arrax.custom_batching.sequential_vmap(3), "sequential_vmap: argument f"),
        (lambda: arrax.custom_gradient(3), "custom_gradient: argument fun"),
        (lambda: jnp.vectorize(3), "vectorize: argument pyfunc"),
        (lambda: arrax.debug.callback(None, 3), "callback: argument callback"),
    ]:
        with pytest.raises(TypeError, match=f"^{name}: must be callable"):
            call()


def test_decorators_with_options_name_themselves_where_they_get_no_function():
    for decorator, name in [(arrax.jit(inline=True), "jit"), (arrax.checkpoint(None), "checkpoint")]:
        with pytest.raises(TypeError, match=f"^{name}: Expected a callable value, got 3"):
            decorator(3)


def test_values_that_cannot_be_what_they_stand_for_are_refused():
    keys, mat = random.split(random.key(0), 2), sparse.BCOO.fromdense(jnp.eye(2))
    contract = (((1,), (0,)), ((), ()))
    along = arrax.NamedSharding(MESH, arrax.P("x"))
    for call, error, said in [
        (lambda: keys.at[0].set(0), TypeError, "set: values of dtype int32 do not go into an array of dtype key"),
        (lambda: arrax.jacfwd(lambda x: random.key(0))(1.0), TypeError, "jacfwd with output element type key"),
        (lambda: arrax.grad(jnp.sin, argnums=None)(1.0), TypeError, "argnums must be an int or a sequence of ints"),
        (lambda: arrax.vmap(jnp.sin, axis_name=[0]), TypeError, "vmap: axis_name must be hashable, got"),
        (lambda: arrax.pmap(jnp.sin, axis_name=[0]), TypeError, "pmap: axis_name must be hashable, got"),
        (lambda: arrax.jit(jnp.sin, device="cpu"), TypeError, "jit: device must be a device"),
        (lambda: arrax.core.ShapedArray((4,), -1), TypeError, "Cannot interpret '-1' as a data type"),
        (
            lambda: arrax.core.ShapedArray((1.5,), "int8"),
            TypeError,
            "ShapedArray: shape must be a sequence of integers",
        ),
        (lambda: arrax.sharding.AbstractMesh((1.5,), ("x",)), TypeError, "AbstractMesh: .*interpreted as an integer"),
        (lambda: Layout(None), TypeError, "Layout: major_to_minor must consist of integers, got None"),
        (lambda: Layout((0, 1), 3), TypeError, "Layout: tiling must be a sequence of tiles or None, got 3"),
        (lambda: arrax.jit(jnp.sin).lower(1.0).compile(device_assignment=()), ValueError, "device_assignment is ()"),
        (lambda: arrax.jit(jnp.sin, in_shardings=along)(1.0), ValueError, "rank at least 1"),
        (lambda: arrax.jit(jnp.sin, out_shardings=along)(1.0), ValueError, "jit's results, as out_shardings"),
        (lambda: arrax.grad(lambda x: x.delete() or x)(jnp.float32(1)), TypeError, "attribute|`delete`"),
        (lambda: sparse.bcoo_dot_general(mat, 1.0, dimension_numbers=contract), TypeError, "axis 0 is out of bounds"),
        (
            lambda: sparse.bcoo_dot_general_sampled(
                jnp.eye(2), jnp.eye(2), jnp.ones((2, 2)), dimension_numbers=contract
            ),
            TypeError,
            "bcoo_dot_general_sampled: indices must be integers",
        ),
        (
            lambda: lax.associative_scan(lambda a, b: a[0], jnp.ones(3)),
            TypeError,
            "fn must keep the shapes of its arguments",
        ),
        (lambda: stax.Conv(4, (3,)), ValueError, "filter_shape must have 2 lengths"),
        (lambda: pallas.CostEstimate(1.5, 0, 0), ValueError, "CostEstimate: flops must be an int, got 1.5"),
        (lambda: keys.at.set(0), AttributeError, r"an index comes first, as in x.at\[0\].set"),
    ]:
        with pytest.raises(error, match=said):
            call()
    assert jnp.all(keys.at[0].set(keys[1]) == keys[1])


def test_functions_that_call_themselves_without_end_are_named():
    @arrax.jit
    def forward(x):
        return back(x)

    @arrax.jit
    def back(x):
        return forward(x)

    def slope(x):
        return arrax.grad(slope)(x)

    with pytest.raises(
        RecursionError, match=r"forward at .*misuse_test.py:\d+, .*back at .* call each other without end"
    ):
        forward(1.0)
    with pytest.raises(RecursionError, match="slope at .* calls itself without end"):
        slope(1.0)
    assert arrax.grad(lambda x: x * x)(1.0) == 2


def test_lengths_beyond_all_memory_are_refused_in_words():
    for call in (
        lambda: lax.pad(jnp.ones(3), 0.0, [(0, 1 << 62, 1 << 62)]),
        lambda: jnp.fft.fft(jnp.ones(3), n=1 << 64),
        lambda: jnp.zeros((1 << 32, 1 << 32)),
        lambda: jnp.array_split(jnp.ones(3), 1 << 64),
    ):
        with pytest.raises(ValueError, match="more elements than can be addressed"):
            call()
    with pytest.raises(OverflowError, match="scan: steps are counted in int32"):
        lax.scan(lambda c, _: (c, None), 0.0, None, length=1 << 33)
    with arrax.enable_x64(True):
        many = arrax.make_jaxpr(lambda x: lax.fori_loop(0, 1 << 33, lambda i, c: c + 1, x))(0.0)
    assert [eqn.primitive.name for eqn in many.eqns] == ["while"]
    for shape in (b"ab", {}, {3}):
        with pytest.raises(TypeError, match="Shapes must be"):
            jnp.zeros(shape)


def test_counts_that_are_none_are_refused_and_those_of_nothing_left_taken():
    ones, date = jnp.ones((2, 3)), np.datetime64("2020")
    for call, error, said in [
        (lambda: jnp.array(ones, ndmin=date), TypeError, "array: argument ndmin: "),
        (lambda: jnp.pad(ones, 1, "maximum", stat_length="text"), TypeError, "pad: stat_length must be numbers"),
        (
            lambda: jnp.repeat(ones, 2, axis=0, total_repeat_length=date),
            TypeError,
            "repeat: argument total_repeat_length",
        ),
        (lambda: jnp.rot90(ones, k=2.5), TypeError, "rot90: argument k: "),
        (lambda: jnp.diag_indices(2, ndim=1 << 64), OverflowError, "diag_indices: "),
        (lambda: jnp.linspace(0.0, 10**30, 4), OverflowError, "linspace: argument stop: Python int"),
        (lambda: lax.sort(ones, num_keys=date), TypeError, "sort: argument num_keys: "),
        (lambda: lax.map(jnp.sin, ones, batch_size=2.5), TypeError, "map: argument batch_size: "),
        (lambda: lax.composite(jnp.sin, "sine")(ones), ValueError, "composite: the name must have a namespace"),
    ]:
        with pytest.raises(error, match=said):
            call()
    assert lax.reduce_precision(jnp.float32(1 / 3), 1 << 64, 1 << 64) == jnp.float32(1 / 3)
    assert jnp.diff(ones, n=1 << 64).shape == (2, 0)
    assert jnp.array_repr(random.key(0)) == repr(random.key(0))


def test_ints_beyond_the_default_dtype_are_refused_by_argument():
    big, ones = 1 << 31, jnp.ones(3, int)
    for call, said in [
        (lambda: jnp.sin(big), "argument x of sin, whose value is 2147483648: too large to convert to int32"),
        (lambda: jnp.sort(big), "sort: argument a: Python int 2147483648 too large to convert to int32"),
        (lambda: jnp.where(True, big, 1.0), "where: argument x: Python int 2147483648"),
        (lambda: jnp.repeat(jnp.ones(3), big), "repeat: argument repeats: Python int"),
        (lambda: ones.at[0].set(big), "set: argument values: Python int"),
        (lambda: arrax.jit(lambda x: x.at[0].add(big))(ones), "add: argument values: Python int"),
    ]:
        with pytest.raises(OverflowError, match=said):
            call()
    assert int(ones.astype("uint32").at[0].set((1 << 32) - 1)[0]) == (1 << 32) - 1
    assert lax.cond(big, lambda: 1, lambda: 2) == 1


def test_classes_and_functions_of_the_layers_below_are_refused_in_words():
    mesh_sharding = arrax.NamedSharding(MESH, arrax.P("x"))
    matrix = sparse.BCOO.fromdense(jnp.eye(2))
    for call, error, said in [
        (lambda: arrax.devices(jnp.ones(2)), TypeError, "devices: a backend is the name of a platform"),
        (lambda: arrax.transfer_guard(), TypeError, "transfer_guard: new_val, the value, is missing"),
        (lambda: arrax.tree.map(abs, [1], is_leaf=3), TypeError, "tree_map: is_leaf must be a function or None, got 3"),
        (lambda: arrax.tree.structure([1], is_leaf=False), TypeError, "tree_structure: is_leaf must be a function or None"),
        (lambda: arrax.tree.transpose(arrax.tree.structure([0]), 3, [(1,)]), TypeError, "inner_treedef must be a treedef, got int"),
        (lambda: arrax.tree_util.register_pytree_node(Odd, lambda odd: ((), None), None), TypeError, "unflatten_func must be a function"),
        (lambda: arrax.ffi.register_ffi_target("f", None, api_version=7), ValueError, "api_version must be 0 or 1, got 7"),
        (lambda: arrax.jacfwd(jnp.sin)({}), ValueError, "jacfwd: the arguments to differentiate by hold no arrays"),
        (lambda: arrax.NamedSharding(MESH, arrax.P("z")), ValueError, "NamedSharding: Resource axis: z"),
        (lambda: mesh_sharding.shard_shape(-1), TypeError, "shard_shape: argument global_shape: 'int' object"),
        (lambda: mesh_sharding.is_equivalent_to(mesh_sharding, 1, no=1), TypeError, r"Sharding.is_equivalent_to\(\) got an unexpected"),
        (lambda: matrix.sum(axis=1.5), TypeError, "sum: 'float' object cannot be interpreted as an integer"),
        (lambda: matrix.update_layout(3), TypeError, r"BCOO.update_layout\(\) takes 1 positional argument"),
        (lambda: sparse.COO((jnp.ones(1),), shape=(2, 2)), ValueError, r"COO: args must be \(data, row, col\), got 1"),
        (lambda: sparse.BCOO.fromdense(jnp.eye(2), index_dtype=complex), TypeError, "the indices must have an integer type"),
        (lambda: jnp.permute_dims(jnp.eye(2), (0, 0)), TypeError, "permute_dims: axes"),
        (lambda: jnp.histogram_bin_edges(jnp.ones(2), bins=None), TypeError, "histogram_bin_edges: `bins` must be a number"),
        (lambda: lax.concatenate(None, 0), TypeError, "concatenate: argument operands: "),
        (lambda: pallas.ds(0, (0, 0)), TypeError, "ds: argument size: "),
    ]:  # fmt: skip
        with pytest.raises(error, match=said):
            call()
    assert sparse.CSR.fromdense(jnp.eye(2), index_dtype=None).indices.dtype == jnp.int32


def test_descriptions_of_arrays_are_no_results_of_programs():
    struct = arrax.ShapeDtypeStruct((2,), "float32")
    for call in (
        lambda: arrax.jit(lambda x: [x, struct])(1.0),
        lambda: lax.scan(lambda c, x: (c, struct), 1.0, jnp.ones(2)),
    ):
        with pytest.raises(TypeError, match=r"ShapeDtypeStruct\(.*\) only describes an array"):
            call()


def test_descriptions_of_arrays_lie_nowhere():
    struct, mesh = arrax.ShapeDtypeStruct((2,), "float32"), arrax.make_mesh((1,), ("x",))
    for sharding in (arrax.sharding.SingleDeviceSharding(arrax.devices()[0]), arrax.NamedSharding(mesh, arrax.P("x"))):
        for call in (
            arrax.jit(lambda x: x, in_shardings=sharding),
            functools.partial(arrax.device_put, device=sharding),
        ):
            with pytest.raises(TypeError, match=r"ShapeDtypeStruct\(.*\) only describes an array"):
                call(struct)


def test_what_functions_return_and_matrices_are_is_checked():
    ones = jnp.ones((2, 3))
    numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    for call, error, said in [
        (lambda: arrax.custom_gradient(lambda x: x)(1.0), TypeError, r"custom_gradient: <lambda> must return \(output, pullback\)"),
        (lambda: lax.iota(None, 3), ValueError, "iota: the dtype must be given, got None"),
        (lambda: lax.bitcast_convert_type(ones, None), ValueError, "bitcast_convert_type: the dtype must be given, got None"),
        (lambda: lax.ragged_dot(ones, jnp.ones((1, 3, 1)), jnp.array([2]), preferred_element_type=ones), TypeError, "an array is no dtype"),
        (lambda: jnp.linalg.vector_norm(ones, ord=1j), ValueError, "Invalid order '1j' for vector norm"),
        (lambda: jnp.histogramdd(ones, bins=-1), ValueError, "histogramdd: `bins` must be positive"),
        (lambda: arrax.custom_gradient(lambda x: (x, 3))(1.0), TypeError, r"must return \(output, pullback\)"),
        (lambda: sparse.grad(3), TypeError, "grad: Expected a callable value"),
        (lambda: sparse.coo_matmat(ones, ones.T), TypeError, "coo_matmat: mat must be a sparse matrix"),
        (lambda: lax.ragged_dot_general(ones, 1.0, jnp.array([2]), numbers), TypeError, "the axes .* are not axes of rhs"),
        (lambda: arrax.scipy.special.exp1(), TypeError, r"exp1\(\) missing 1 required positional argument"),
        (lambda: arrax.scipy.signal.convolve2d(ones, ones, fillvalue=1j), TypeError, "convolve2d: fillvalue must be a real number"),
        (lambda: arrax.scipy.signal.convolve2d(ones, ones, fillvalue=ones), ValueError, "fillvalue must be one number"),
        (lambda: multihost_utils.sync_global_devices(3), TypeError, "name must be a string, got 3"),
        (lambda: arrax.export.register_namedtuple_serialization(deleted(2), serialized_name="a"), ValueError, "deleted"),
    ]:  # fmt: skip
        with pytest.raises(error, match=said):
            call()
    assert arrax.scipy.signal.detrend(ones, type="constant", bp=None).sum() == 0


def test_options_of_transformations_are_checked_where_they_are_given():
    ones = jnp.ones(3)
    for call, error, said in [
        (lambda: arrax.jacfwd(jnp.sin, argnums="a"), TypeError, "jacfwd: argnums must be an int or a sequence of ints, got 'a'"),
        (lambda: arrax.hessian(jnp.sin, argnums=1.5), TypeError, "hessian: argnums must be an int"),
        (lambda: arrax.custom_jvp(lambda x: x, nondiff_argnames="y"), ValueError, r"has no parameters of the names \['y'\]"),
        (lambda: arrax.vmap(jnp.sin, in_axes=None, axis_size=-1)(ones), ValueError, "axis_size must not be negative, got -1"),
        (lambda: arrax.checkpoint(jnp.sin, policy="all"), TypeError, "checkpoint: policy must be a function or None, got 'all'"),
        (lambda: arrax.jit(jnp.sin, compiler_options={"a": Odd()})(ones), TypeError, "compiler_options must be strings, bools or"),
        (lambda: arrax.scipy.sparse.linalg.gmres(jnp.eye(3), ones, restart=0), ValueError, "restart must be positive, got 0"),
        (lambda: arrax.make_mesh((1,), ("a",), devices=ones[:1]), TypeError, "make_mesh: devices must hold devices only, got"),
        (lambda: arrax.pure_callback(lambda x: x, random.key(0), ones), TypeError, "expected an array of dtype key<fry>"),
        (lambda: arrax.pure_callback(lambda x: random.split(x), random.key(0), random.key(1)), ValueError, r"returned shape \(2,\)"),
        (lambda: sparse.BCOO.fromdense(ones)["a"], TypeError, "sparse arrays take integers, slices, None"),
        (lambda: sparse.BCOO.fromdense(ones)[0.5], TypeError, "sparse arrays take integers, slices, None"),
    ]:  # fmt: skip
        with pytest.raises(error, match=said):
            call()
