"""Serving the name jax: in processes of their own, since it lasts as long as the process."""

import os
import subprocess
import sys

import pytest


def run(*arguments, **environment):
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, timeout=120)


def test_modules_and_objects_are_the_very_same():
    done = run(
        "-c",
        """
import arrax, arrax.as_jax
import importlib.metadata, pickle
import jax, jax.numpy as jnp, jax.scipy.special
from jax.experimental import mesh_utils
from jax._src import traceback_util
from jax._src.dtypes import TypePromotionError
assert jax is arrax and jnp is arrax.numpy and jax.scipy.special is arrax.scipy.special
assert jax.Array is arrax.Array and jax.tree_util.tree_map is arrax.tree_util.tree_map
assert jnp.__name__ == "jax.numpy" and jnp.__spec__.name == "arrax.numpy"  # by which array_api_compat recognizes it
assert b"arrax.numpy" in pickle.dumps(jnp) and pickle.loads(pickle.dumps(jnp)) is jnp
assert issubclass(TypePromotionError, Exception) and callable(traceback_util.register_exclusion)
assert jax.__version__ == jax.version.__version__ == importlib.metadata.version("jax")
assert jax.__version_info__ == tuple(map(int, jax.__version__.split(".")))
assert pickle.loads(pickle.dumps(jnp.arange(3))).sum() == 3
assert jax.config.jax_threefry_partitionable
arrax.as_jax.serve()
try:
    import jax.no_such_module
except ModuleNotFoundError as error:
    assert error.name == "jax.no_such_module", error
print("served")
""",
    )
    assert done.stdout.strip() == "served", done.stderr


def test_private_modules_are_attributes_and_follow_what_changes():
    done = run(
        "-c",
        """
import arrax.as_jax, jax, jax.lib, jaxlib
assert jax.lib.__version__ == jaxlib.__version__
assert not jax._src.xla_bridge._backends
jax.devices()
assert "cpu" in jax._src.xla_bridge._backends
assert not hasattr(jax._src, "no_such_module") and not hasattr(jax._src.core, "no_such_name")
from jax._src.lax.control_flow import scan
import jax.numpy as jnp, jax.scipy.special as special
copied = {**special.__dict__}, {**jnp.__dict__}  # with what loads late
assert copied[0]["gammaln"] is special.gammaln and copied[1]["diff"] is jnp.diff and "gammaln" in dir(special)
from jax._src.numpy.util import promote_dtypes_complex
assert scan is jax.lax.scan and [str(x.dtype) for x in promote_dtypes_complex(1, 2.0)] == ["complex64"] * 2
from jax._src.tree_util import prefix_errors
(error,) = prefix_errors([1], (1,))
assert "in_axes" in str(error("in_axes"))
import sys
assert sys.modules["jax.tree_util"] is jax.tree_util and sys.modules["jax.core"].Tracer is jax.core.Tracer
from jax._src.traceback_util import _exclude_paths, register_exclusion
register_exclusion("/some/library.py")
assert "/some/library.py" in _exclude_paths and len(_exclude_paths) == 1 and list(_exclude_paths) == ["/some/library.py"]
_exclude_paths.remove("/some/library.py")
assert "/some/library.py" not in _exclude_paths
try:
    _exclude_paths.remove("/some/library.py")
except ValueError as error:
    assert "/some/library.py" in str(error)
print("served")
""",
    )
    assert done.stdout.strip() == "served", done.stderr


def test_traced_values_say_that_they_are_of_the_served_package():
    done = run(
        "-c",
        """
import arrax.as_jax, jax
kinds = set()
def f(x):
    kinds.add(type(x))
    return x
for mapped in (jax.grad(f), jax.jit(f), jax.jit(jax.linearize(f, 1.0)[1])):
    mapped(1.0)
jax.vmap(f)(jax.numpy.ones(2))
assert len(kinds) > 2 and all(kind.__module__.startswith("jax.") for kind in kinds), kinds
class Mine(jax.core.Tracer):
    pass
assert Mine.__module__ == "__main__" and jax.core.Tracer.__module__.startswith("jax.")
assert type(jax.random.key(0)).__module__.startswith("jax.")
print("served")
""",
    )
    assert done.stdout.strip() == "served", done.stderr


def test_every_forward_leads_somewhere():
    done = run(
        "-c",
        """
import importlib
import arrax.as_jax
from arrax.as_jax import private
for module, names in private._FORWARDS.items():
    for name in names:
        getattr(importlib.import_module(module), name)
for module, publics in private.PUBLIC.items():
    found = importlib.import_module(module)
    for public in map(importlib.import_module, publics):
        assert any(hasattr(found, name) for name in dir(public) if not name.startswith("_")), module
print("all")
""",
    )
    assert done.stdout.strip() == "all", done.stderr


def test_private_modules_have_the_names_of_public_ones():
    done = run(
        "-c",
        """
import arrax.as_jax, jax
from jax._src.api import value_and_grad
from jax._src.config import config
from jax._src.dtypes import canonicalize_dtype
from jax._src.lax.lax import add
from jax._src.nn.initializers import orthogonal
from jax._src.numpy.lax_numpy import einsum
from jax._src.random import PRNGKey
from jax._src.scipy.optimize.minimize import minimize
from jax._src.tree_util import register_pytree_node
assert value_and_grad is jax.value_and_grad and config is jax.config and canonicalize_dtype is jax.dtypes.canonicalize_dtype
assert add is jax.lax.add and orthogonal is jax.nn.initializers.orthogonal and einsum is jax.numpy.einsum
assert PRNGKey is jax.random.PRNGKey and minimize is jax.scipy.optimize.minimize
assert register_pytree_node is jax.tree_util.register_pytree_node
assert not hasattr(jax._src.random, "_split") and not hasattr(jax._src.random, "no_such_name")
print("had")
""",
    )
    assert done.stdout.strip() == "had", done.stderr


def test_shapes_and_axes_under_private_names():
    done = run(
        "-c",
        """
import arrax.as_jax, jax
from jax._src import core, util
from jax._src.ad_checkpoint import remat_p
from jax._src.checkify import JaxException, NaNError, nan_checks
from jax._src.image.scale import _kernels
from jax._src.sharding_impls import UNSPECIFIED, UnspecifiedValue
from jax._src.typing import Shape
(eqn,) = jax.make_jaxpr(jax.checkpoint(abs))(1.0).eqns
assert eqn.primitive is remat_p and isinstance(UNSPECIFIED, UnspecifiedValue) and Shape is core.Shape
assert core.canonicalize_shape([2, 3]) == (2, 3) and util.canonicalize_axis(-1, 3) == 2
assert core.definitely_equal_shape((2, 3), [2, 3]) and not core.definitely_equal_shape((2, 3), (2, 4))
assert core.full_lower(3) == 3 and core.dimension_as_value(3) - 0.5 == 2.5 and core.DimSize
assert jax.image.ResizeMethod.LINEAR in _kernels and jax.version._version == jax.__version__
assert nan_checks == {NaNError} and issubclass(NaNError, JaxException)
print("had")
""",
    )
    assert done.stdout.strip() == "had", done.stderr


def test_numbers_with_a_dtype_under_private_names():
    done = run(
        "-c",
        """
import arrax.as_jax, numpy as np, jax.numpy as jnp
from jax._src import literals
for cls, number, dtype in [
    (literals.TypedInt, 5, np.int32), (literals.TypedFloat, 2.5, np.float32), (literals.TypedComplex, 1 + 2j, np.complex64)
]:
    typed = cls(number, np.dtype(dtype))
    assert typed == number and isinstance(typed, type(number)) and typed.dtype == dtype
    array = jnp.asarray(typed, dtype=typed.dtype)
    assert array.item() == number and array.dtype == dtype
""",
    )
    assert done.returncode == 0, done.stderr


def test_lines_of_operations_and_the_version_of_the_runtime_under_private_names():
    done = run(
        "-c",
        """
import arrax.as_jax, jax
from jax._src import source_info_util
from jax._src.lib import jaxlib_extension_version, xla_extension_version
def double(x):
    return x * 2
(eqn,) = jax.make_jaxpr(double)(1.0).eqns
frame = source_info_util.user_frame(eqn.source_info.traceback)
assert isinstance(frame, source_info_util.Frame)
assert (frame.file_name, frame.function_name, frame.start_line, frame.end_line) == ("<string>", "double", 6, 6)
assert source_info_util.user_frame(source_info_util.new_source_info().traceback) is None
assert isinstance(jaxlib_extension_version, int) and xla_extension_version == jaxlib_extension_version > 400
print("had")
""",
    )
    assert done.stdout.strip() == "had", done.stderr


def test_a_library_makes_keys_of_its_own_by_a_function_in_the_place_of_the_check():
    done = run(
        "-c",
        """
import arrax.as_jax, jax
class Key:
    def __init__(self, rng):
        self.rng = rng
from jax._src.random import core
check = core._check_prng_key
def check_own(name, key, **options):
    return check(name, key.rng if isinstance(key, Key) else key, **options)
core._check_prng_key = check_own
for rng in (jax.random.key(0), jax.random.PRNGKey(0)):
    own = Key(rng)
    assert (jax.random.normal(own, (2,)) == jax.random.normal(rng, (2,))).all()
    assert (jax.jit(lambda: jax.random.bits(own))() == jax.random.bits(rng)).all()
    assert jax.random.split(own).shape == jax.random.split(rng).shape
    assert jax.random.fold_in(own, 1).dtype == rng.dtype
try:
    jax.random.normal(3)
except TypeError as error:
    print(str(error).split(" got")[0])
""",
    )
    assert done.stdout.strip() == "normal takes a random key (arrax.random.key makes one),", done.stderr


def test_log_records_come_from_the_served_loggers():
    done = run(
        "-c",
        """
import logging
import arrax.as_jax, jax

def record_of(name):
    found = []
    handler = logging.Handler()
    handler.emit = lambda record: found.append((record.name, record.getMessage()))
    logging.getLogger(name).addHandler(handler)
    return found

callbacks, everything = record_of("jax._src.callback"), record_of("jax")
def refuse(x):
    raise ValueError("refused")
try:
    jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(refuse, x, x))(1.0))
except Exception:
    pass
assert callbacks == everything == [("jax._src.callback", "jax.pure_callback failed")], everything
logging.getLogger("jax").setLevel(logging.ERROR)
with jax.log_compiles(True):
    jax.jit(lambda x: x + 1)(1.0)
assert len(everything) == 1
logging.getLogger("jax").setLevel(logging.WARNING)
with jax.log_compiles(True):
    jax.jit(lambda x: x + 2)(1.0)
assert everything[-1][0] == "jax"
print("served")
""",
    )
    assert done.stdout.strip() == "served", done.stderr


def test_another_jax_is_not_displaced():
    done = run(
        "-c",
        """
import sys, types
import arrax
sys.modules["jax"] = types.ModuleType("jax")
try:
    import arrax.as_jax
except ImportError as error:
    print("imported already" in str(error))
""",
    )
    assert done.stdout.strip() == "True", done.stderr


def test_settings_of_the_environment_stay():
    done = run(
        "-c", "import arrax.as_jax, jax; print(jax.config.jax_threefry_partitionable)", ARRAX_THREEFRY_PARTITIONABLE="0"
    )
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("form", ["program", "-m", "-c"])
def test_programs_run_unchanged(form, tmp_path):
    text = "import sys, jax.numpy as jnp\nif __name__ == '__main__':\n    print(jnp.ones(3).sum(), *sys.argv[1:])\n"
    (tmp_path / "adder.py").write_text(text)
    what = {"program": [str(tmp_path / "adder.py")], "-m": ["-m", "adder"], "-c": ["-c", text]}[form]
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = run("-m", "arrax.as_jax", *what, "a", "b", PYTHONPATH=path)
    assert done.stdout.strip() == "3.0 a b", done.stderr


def test_a_command_line_without_a_program_is_explained():
    done = run("-m", "arrax.as_jax")
    assert done.returncode != 0 and "usage" in done.stderr


def test_the_compiler_is_found_under_its_old_path_before_any_device_is_used():
    code = """
import arrax.as_jax
from jax._src import xla_bridge as xb
from jax._src.lib import xla_client as xc
from jax._src.lib.mlir.dialects import hlo
print(xb.get_backend(None).platform, xc.OpSharding.__name__)
"""
    done = run("-c", code)
    assert done.stdout.strip() == "cpu OpSharding", done.stderr


def test_inner_modules_that_libraries_import_are_there():
    done = run(
        "-c",
        """
import arrax.as_jax, jax
from jax.experimental import colocated_python
from jax.experimental.colocated_python import func, serialization
from jax.experimental.array_serialization import serialization as arrays
from jax.extend import ifrt_programs
from jax.interpreters import pxla
from jax.experimental.sparse.bcoo import BCOO, bcoo_multiply_dense
from jax.experimental.sparse.random import random_bcoo
assert BCOO is jax.experimental.sparse.BCOO and not hasattr(jax.experimental.sparse.bcoo, "no_such_name")
from jax.experimental import hijax
import importlib.util, jax.experimental.hijax, jax._src.core
from jax._src import core
assert jax.experimental.hijax is hijax and jax._src.core is core and importlib.util.find_spec("jax.experimental.hijax")
assert not hasattr(func, "_make_prng_wrapped_fun") and serialization.DeviceList and ifrt_programs.ifrt_programs
assert jax._src.distributed.global_state.process_id == 0 and jax._src.distributed.global_state.client is None
assert list(jax._src.tree_util.flatten_one_level([1, [2]])[0]) == [1, [2]]
try:
    arrays.GlobalAsyncCheckpointManagerBase()
except TypeError as error:
    print("abstract" in str(error))
assert jax.devices()[0] in jax.numpy.ones(1).sharding._addressable_device_assignment
assert jax._src.numpy.util.promote_dtypes_inexact(1, 2.5)[0].dtype == "float32"
assert jax.core.Trace(None).full_raise(3) == 3
assert isinstance(jax.jit(abs), jax._src.lib._jax.PjitFunction) and jax._src.stages.Lowered is jax.stages.Lowered
assert jax.core.ParamDict.__origin__ is dict
from jax._src.ad_checkpoint import saved_residuals
from jax._src.core import ClosedJaxpr, Jaxpr, Literal, Var, new_ref
from jax._src.numpy import lax_numpy
from jax._src.numpy.util import check_arraylike
from jax._src.sharding_impls import canonicalize_sharding
mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Explicit,))
with jax.set_mesh(mesh):
    assert canonicalize_sharding(jax.P("i"), "f").mesh == mesh.abstract_mesh
for asked in (jax.P("i"), 3):
    try:
        canonicalize_sharding(asked, "f")
    except (TypeError, ValueError) as error:
        assert str(error).startswith("f: "), error
    else:
        raise AssertionError(asked)
assert canonicalize_sharding(None, "f") is None
""",
    )
    assert done.stdout.strip() == "True", done.stderr


def test_lines_of_operations_are_those_of_the_program_that_is_run(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import jax\nprint(jax.jit(lambda x: x**2).lower(1.0).as_text(debug_info=True))")
    done = run("-m", "arrax.as_jax", str(program))
    assert f'loc("{program}":2:' in done.stdout and "runpy" not in done.stdout, done.stderr


def test_what_is_left_out_says_what_to_use():
    done = run("-m", "arrax.as_jax", "-c", "import jax.experimental.jax2tf")
    assert "jax.export writes programs as StableHLO" in done.stderr


def test_a_program_imports_what_stands_beside_it_and_so_do_processes_that_it_starts(tmp_path):
    (tmp_path / "beside.py").write_text("import jax\n\ndef served(_):\n    return jax.__name__\n")
    program = tmp_path / "program.py"
    program.write_text("""
import multiprocessing
import jax, beside

def served(_):
    return jax.__name__

if __name__ == "__main__":
    import pickle, sys
    assert pickle.loads(pickle.dumps(served)) is served
    for method in ("spawn", "forkserver"):
        if method in multiprocessing.get_all_start_methods():
            with multiprocessing.get_context(method).Pool(1) as pool:
                assert pool.map(served, [0]) + pool.map(beside.served, [0]) == ["arrax"] * 2, method
    print("served")
""")
    done = run("-m", "arrax.as_jax", str(program))
    assert done.stdout.strip() == "served", done.stderr


def test_products_of_groups_of_rows_are_made_everywhere():
    done = run(
        "-c",
        """
import arrax.as_jax, numpy as np
from jax.experimental.pallas.ops.tpu.megablox import gmm
rows, matrices = np.arange(21, dtype=np.float32).reshape(7, 3), np.arange(36, dtype=np.float32).reshape(3, 3, 4)
sizes = np.array([2, 3, 1], np.int32)
wanted = np.concatenate([rows[:2] @ matrices[0], rows[2:5] @ matrices[1], rows[5:6] @ matrices[2], np.zeros((1, 4))])
np.testing.assert_array_equal(gmm(rows, matrices, sizes), wanted)
np.testing.assert_array_equal(gmm(rows, matrices.swapaxes(1, 2), sizes, transpose_rhs=True), wanted)
some = gmm(rows, matrices[1:], sizes, group_offset=np.array([1], np.int32), existing_out=np.full((7, 4), 9, np.float32))
np.testing.assert_array_equal(some[2:6], wanted[2:6])
assert (some[:2] == 9).all() and (some[6:] == 9).all()
""",
    )
    assert done.returncode == 0, done.stderr


def test_steps_of_vectorize_joins_and_updates_under_private_names():
    done = run(
        "-c",
        """
import arrax.as_jax, jax, jax.numpy as jnp
from jax._src.numpy.array_methods import _IndexUpdateHelper, _IndexUpdateRef
from jax._src.numpy.index_tricks import CClass, RClass
from jax._src.numpy.vectorize import (
    _apply_excluded, _check_output_dims, _parse_gufunc_signature, _parse_input_dimensions)
from jax.extend.core.primitives import add_jaxvals_p

call, args, kwargs = _apply_excluded(lambda *a, **k: (a, k), {1, "x"}, (1, 2, 3), {"x": 5, "y": 6})
assert list(args) == [1, 3] and kwargs == {"y": 6} and call(*args, **kwargs) == ((1, 2, 3), {"x": 5, "y": 6})
inputs, outputs = _parse_gufunc_signature("(n,m),(m)->(n),()")
assert (inputs, outputs) == ([("n", "m"), ("m",)], [("n",), ()])
arrays = jnp.ones((4, 1, 2)), jnp.ones((3, 2))
assert _parse_input_dimensions(arrays, [("n",), ("n",)]) == ((4, 3), {"n": 2})
fits = _check_output_dims(lambda x: (x, x[0]), {"n": 2}, [("n",), ()])
assert [y.shape for y in fits(jnp.ones(2))] == [(2,), ()]
for fault in (lambda: _parse_input_dimensions(arrays, [(), ("m",)]), lambda: fits(jnp.ones(3))):
    try:
        fault()
    except ValueError:
        continue
    raise AssertionError(fault)

class Doubled(CClass):
    def __getitem__(self, key):
        return 2 * super().__getitem__(key)

assert Doubled()[jnp.arange(2), jnp.arange(2)].tolist() == [[0, 0], [2, 2]]
assert isinstance(jnp.c_, CClass) and isinstance(jnp.r_, RClass) and RClass()[1:3, 5].tolist() == [1, 2, 5]

class At(_IndexUpdateHelper):
    def __getitem__(self, index):
        return Written(self.array, index)

class Written(_IndexUpdateRef):
    def set(self, values, **kw):
        return super().set(2 * values, **kw)

assert At(jnp.arange(3))[1].set(5).tolist() == [0, 10, 2] and isinstance(jnp.arange(3).at[0], _IndexUpdateRef)
both = lambda x, y: add_jaxvals_p.bind(x, jnp.sin(y))
assert add_jaxvals_p.bind(jnp.float32(1), jnp.float32(2)) == 3 and add_jaxvals_p is jax.interpreters.ad.add_jaxvals_p
assert add_jaxvals_p is not jax.lax.add_p and add_jaxvals_p.name == "add_any"  # rules for the one say nothing of the other
assert jax.vmap(jax.grad(both, 1), (0, None))(jnp.ones(2), 0.0).tolist() == [1, 1]
print("served")
""",
    )
    assert done.stdout.strip() == "served", done.stderr
