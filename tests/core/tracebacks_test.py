"""Tracebacks show the user's frames; the package's own stay reachable."""

import importlib
import pickle
import pkgutil
import sys
import traceback
import types

import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax, random
from arrax.core.calls import is_internal
from arrax.core.config import config, traceback_filtering
from arrax.core.tracebacks import UnfilteredStackTrace
from arrax.experimental import sparse

X = jnp.ones((3, 3))
OVER_ROWS = arrax.NamedSharding(arrax.make_mesh((1,), ("rows",)), arrax.P("rows"))


def mistake(x):
    return x @ jnp.ones((7, 7))


def own_error(x):
    return {}["missing"]


# What the user calls, and how many frames of the user's it shows: the lambda here, and the function that fails in it.
CASES = {
    "operator": (lambda: X @ jnp.ones((7, 7)), 1),
    "library function": (lambda: jnp.sum([1, 2]), 1),
    "function of functions": (lambda: jnp.median(X, axis=4), 1),
    "host function": (lambda: jnp.reshape(X, (7,)), 1),
    "method": (lambda: X.reshape(7), 1),
    "library of Python below": (lambda: arrax.debug.print("{missing}"), 1),
    "lax": (lambda: lax.add(X, jnp.ones(4)), 1),
    "linear algebra": (lambda: jnp.linalg.inv(jnp.ones(3)), 1),
    "index": (lambda: X[0, 0, 1], 1),
    "update": (lambda: X.at[0, 0, 1].set(3), 1),
    "item": (lambda: X.__setitem__(0, 1), 1),
    "key": (lambda: random.normal((3,)), 1),
    "tree": (lambda: arrax.tree.map(own_error, X), 2),
    "scalar type": (lambda: jnp.float32("one"), 1),
    "part of a key": (lambda: random.key(0)[0], 1),
    "operator of keys": (lambda: random.key(0) @ X, 1),
    "method of keys": (lambda: random.key(0).argmax(), 1),
    "truth of a key": (lambda: bool(random.key(0)), 1),
    "length of a number": (lambda: len(jnp.float32(1)), 1),
    "length of a key": (lambda: len(random.key(0)), 1),
    "iteration": (lambda: [*jnp.float32(1)], 1),
    "reference": (lambda: arrax.new_ref(X)["a"], 1),
    "method of a reference": (lambda: arrax.new_ref(X).addupdate("a"), 1),
    "view of a reference": (lambda: arrax.new_ref(X).at["a"][...], 1),
    "symbolic dimension": (lambda: arrax.export.symbolic_shape("a")[0] + "x", 1),
    "pickled dimension": (lambda: pickle.dumps(arrax.export.symbolic_shape("a")), 1),
    "scope of symbols": (lambda: arrax.export.SymbolicScope("a"), 1),
    "dtype": (lambda: arrax.dtypes.canonicalize_dtype(object()), 1),
    "kind of dtypes": (lambda: arrax.dtypes.issubdtype("q", 3), 1),
    "piece of a sharding": (lambda: arrax.sharding.SingleDeviceSharding(arrax.devices()[0]).shard_shape(3), 1),
    "rank of a sharding": (lambda: OVER_ROWS.check_compatible_aval(()), 1),
    "abstract mesh": (lambda: OVER_ROWS.mesh.abstract_mesh.devices, 1),
    "option of a resize": (lambda: arrax.image.ResizeMethod.from_string("x"), 1),
    "custom gradient": (lambda: arrax.custom_gradient(lambda x: 3)(X), 1),
    "universal function": (lambda: jnp.add.reduce(X, axis=7), 1),
    "initializer": (lambda: arrax.nn.initializers.orthogonal()(random.key(0), (2,)), 1),
    "rule": (lambda: arrax.custom_vjp(jnp.sin, nondiff_argnums="x"), 1),
    "scope": (lambda: arrax.named_scope(3), 1),
    "partial": (lambda: arrax.tree_util.Partial(3), 1),
    "specification": (lambda: arrax.sharding.PartitionSpec("x")[3], 1),
    "mesh": (lambda: arrax.sharding.Mesh(arrax.devices()[:1], ("x", "y")), 1),
    "sparse": (lambda: sparse.BCOO.fromdense(X).reshape(7), 1),
    "sparse operator": (lambda: sparse.BCSR.fromdense(X) + jnp.ones(4), 1),
    "sparse product": (lambda: sparse.BCOO.fromdense(X) @ jnp.ones(4), 1),
    "interpolator": (lambda: arrax.scipy.interpolate.RegularGridInterpolator((X[0],), X[0], method="x"), 1),
    "density": (lambda: arrax.scipy.stats.gaussian_kde("x"), 1),
    "rotation": (lambda: arrax.scipy.spatial.transform.Rotation.from_euler("xq", X[0, :2]), 1),
    "context": (lambda: arrax.default_matmul_precision("best"), 1),
    "setting": (lambda: config.update("enable_x64", "perhaps"), 1),
    "placement": (lambda: arrax.device_put("text"), 1),
    "unravel": (lambda: arrax.flatten_util.ravel_pytree(X)[1](jnp.ones(2)), 1),
    "grid": (lambda: jnp.ogrid[1:"a"], 1),
    "joining": (lambda: jnp.r_["q", 1], 1),
    "jit": (lambda: arrax.jit(mistake)(X), 2),
    "lower": (lambda: arrax.jit(mistake).lower(X), 2),
    "grad": (lambda: arrax.grad(mistake)(X), 2),
    "grad of jit": (lambda: arrax.grad(arrax.jit(mistake))(X), 2),
    "hessian": (lambda: arrax.hessian(mistake)(X), 2),
    "jvp": (lambda: arrax.jvp(mistake, (X,), (X,)), 2),
    "linearize": (lambda: arrax.linearize(jnp.sin, X)[1](1.0), 1),
    "vjp": (lambda: arrax.vjp(jnp.sin, X)[1]((1.0, 2.0)), 1),
    "transpose": (lambda: arrax.linear_transpose(lambda x: x * 2, X)((X, X)), 1),
    "vmap": (lambda: arrax.vmap(mistake)(X), 2),
    "in_axes": (lambda: arrax.vmap(mistake, in_axes=(0, 1))(X), 1),
    "scan": (lambda: lax.scan(lambda c, x: (mistake(c), x), X, X), 3),
    "cond": (lambda: lax.cond(True, mistake, own_error, X), 2),
    "while": (lambda: lax.while_loop(own_error, mistake, X), 2),
    "make_jaxpr": (lambda: arrax.make_jaxpr(mistake)(X), 2),
    "eval_shape": (lambda: arrax.eval_shape(mistake, X), 2),
    "checkpoint": (lambda: arrax.checkpoint(mistake)(X), 2),
    "custom_jvp": (lambda: arrax.custom_jvp(mistake)(X), 1),
    "custom_vjp": (lambda: arrax.custom_vjp(mistake)(X), 1),
    "condition": (lambda: arrax.jit(lambda x: 1 if x > 0 else 0)(1.0), 2),
    "the user's own error": (lambda: arrax.grad(own_error)(1.0), 2),
    "the user's own error, deep": (lambda: arrax.jit(arrax.vmap(arrax.grad(own_error)))(jnp.ones(3)), 2),
}


def raised(call, mode="auto"):
    with traceback_filtering(mode):
        try:
            call()
        except Exception as error:
            return error
    raise AssertionError("no error")


def internal(tb):
    return [frame for frame, _ in traceback.walk_tb(tb) if is_internal(frame.f_code.co_filename)]


@pytest.mark.parametrize("case", CASES)
def test_only_the_users_frames_are_shown_and_all_are_reachable(case):
    call, count = CASES[case]
    error, unfiltered = raised(call), raised(call, "off")
    assert not internal(error.__traceback__)
    assert len(traceback.extract_tb(error.__traceback__)) == count + 1
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.unfiltered_traceback)]
    expected = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(unfiltered.__traceback__)]
    assert places == expected[2:]  # from the package's first frame on
    assert not hasattr(unfiltered, "unfiltered_traceback") and internal(unfiltered.__traceback__)


def test_a_note_says_how_to_see_the_others():
    error = raised(CASES["grad"][0])
    assert [note for note in error.__notes__ if "ARRAX_TRACEBACK_FILTERING=off" in note] == error.__notes__
    assert len(error.__notes__) == 1 and "FILTERING" not in str(error)


def test_remove_frames_shows_the_whole_traceback_as_the_cause():
    error = raised(CASES["the user's own error"][0], "remove_frames")
    assert not internal(error.__traceback__) and not hasattr(error, "__notes__")
    assert type(error.__cause__) is UnfilteredStackTrace and internal(error.__cause__.__traceback__)
    text = "".join(traceback.format_exception(error))
    assert text.count("in own_error") == 2 and "direct cause" in text


def test_causes_of_errors_keep_their_place_behind_the_whole_traceback():
    def fails(x):
        try:
            own_error(x)
        except KeyError as error:
            raise ValueError("my own") from error

    error = raised(lambda: arrax.grad(fails)(1.0), "remove_frames")
    assert type(error.__cause__) is UnfilteredStackTrace and type(error.__cause__.__cause__) is KeyError
    error = raised(lambda: arrax.grad(fails)(1.0))
    assert type(error.__cause__) is KeyError


def test_tracebackhide_marks_the_packages_frames_and_keeps_them():
    error = raised(CASES["grad"][0], "tracebackhide")
    for frame, _ in traceback.walk_tb(error.__traceback__):
        assert is_internal(frame.f_code.co_filename) == bool(frame.f_locals.get("__tracebackhide__", False))
    assert internal(error.__traceback__)


def test_auto_leaves_hiding_to_ipython_where_that_shows_errors(monkeypatch):
    shell = types.SimpleNamespace(get_ipython=lambda: object())
    monkeypatch.setitem(sys.modules, "IPython", shell)
    error = raised(CASES["grad"][0])
    assert internal(error.__traceback__)
    shell.get_ipython = lambda: None
    assert not internal(raised(CASES["grad"][0]).__traceback__)


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(raised(lambda: jnp.sum([1, 2]))))
    assert type(error) is TypeError and error.unfiltered_traceback is None


def test_an_error_that_is_raised_again_keeps_its_frames():
    first = raised(lambda: arrax.grad(own_error)(1.0))

    def again(x):
        raise first

    error = raised(lambda: arrax.vmap(again)(X))
    assert error is first and not internal(error.__traceback__)
    names = [frame.name for frame in traceback.extract_tb(error.unfiltered_traceback)]
    assert names.count("own_error") == names.count("again") == 1 and "grad_f" in names and "vmap_f" in names


def test_frames_may_stand_at_instructions_of_no_line():
    def lineless(x):
        raise KeyError

    lineless.__code__ = lineless.__code__.replace(co_linetable=b"")
    error = raised(lambda: arrax.grad(lineless)(1.0))
    assert type(error) is KeyError and [*traceback.walk_tb(error.__traceback__)][-1][0].f_code.co_name == "lineless"


def test_errors_of_traced_library_calls_have_no_other_error_behind_them():
    for function in (jnp.moveaxis, jnp.take, jnp.swapaxes, jnp.roll, jnp.sort, jnp.reshape, jnp.median):
        for transform in (arrax.jit, arrax.grad, arrax.vmap):
            error = raised(lambda f=function, t=transform: t(lambda x: f(x, 7, 9))(jnp.ones((2, 2))))
            assert error.__context__ is None or error.__suppress_context__, (function, error.__context__)


def test_files_beside_the_package_with_a_longer_name_are_the_users(tmp_path):
    assert not is_internal(str(tmp_path / "arrax_models" / "train.py"))
    here = arrax.__path__[0]
    assert is_internal(f"{here}/core/errors.py") and not is_internal(f"{here}_models/train.py")
    source = compile("def f(x):\n    return {}['missing']\n", f"{here}_models/train.py", "exec")
    names = {}
    exec(source, names)
    error = raised(lambda: arrax.jit(names["f"])(1.0))
    assert traceback.extract_tb(error.__traceback__)[-1].filename == f"{here}_models/train.py"


INNER = {"_src", "as_jax", "core", "dtypes", "extend", "interpreters", "native", "numpy_api", "transforms", "xla"}
FURTHER = ["arrax.numpy.fft", "arrax.numpy.linalg", "arrax.lax.linalg", "arrax.nn.initializers",
           "arrax.scipy.sparse.linalg", "arrax.scipy.spatial.transform"]  # fmt: skip
PARTS = [
    f"arrax.{package}.{found.name}"
    for package in ("experimental", "example_libraries", "scipy")
    for found in pkgutil.iter_modules([f"{arrax.__path__[0]}/{package}"])
]
PUBLIC = [f"arrax.{found.name}" for found in pkgutil.iter_modules(arrax.__path__) if found.name not in INNER]


each_module = pytest.mark.parametrize("module", ["arrax", *PUBLIC, *PARTS, *FURTHER])


@each_module
def test_every_method_of_a_public_class_cuts_tracebacks(module):
    public = importlib.import_module(module)
    values = [getattr(public, name) for name in dir(public) if not name.startswith("_")]
    classes = [value for value in values if isinstance(value, type)]
    for cls in classes:
        if issubclass(cls, BaseException) or cls.__module__.startswith("arrax.core"):
            continue
        for name, value in vars(cls).items():
            function = getattr(value, "__func__", value)
            called = not name.startswith("_") or name in (
                "__init__",
                "__call__",
                "__getitem__",
                "__add__",
                "__matmul__",
            )
            if called and isinstance(function, types.FunctionType) and is_internal(function.__code__.co_filename):
                assert function.__code__.co_name == "call" or name.startswith("tree_"), (cls, name)


@each_module
def test_every_public_function_cuts_tracebacks(module):
    public = importlib.import_module(module)
    names = [name for name in dir(public) if not name.startswith("_")]
    functions = {name: getattr(public, name) for name in names}
    plain = {
        name
        for name, value in functions.items()
        if type(value) is types.FunctionType
        and value.__code__.co_name != "call"
        and is_internal(value.__code__.co_filename)
    }
    assert not plain - {"late_names"}, f"{module} should end with bound_names(__name__), see arrax/core/tracebacks.py"
