"""ffi_call: LAPACK's functions that jaxlib has, a library of one's own where there is a compiler, and what is refused."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import ffi
from arrax.interpreters import mlir
from arrax.lax import linalg
from arrax.lax.pure_callbacks import METHODS

A = np.array([[4, 2], [2, 5]], np.float32)
ONE = arrax.ShapeDtypeStruct((), jnp.float32)


@pytest.fixture(scope="module", autouse=True)
def kernels():
    linalg.cholesky(jnp.eye(2))  # which registers LAPACK's functions


def factor(x, **options):
    results = [arrax.ShapeDtypeStruct(x.shape, x.dtype), arrax.ShapeDtypeStruct(x.shape[:-2], np.int32)]
    by_column = {"input_layouts": [(1, 0)], "output_layouts": [(1, 0), ()], **options}
    return ffi.ffi_call("lapack_spotrf_ffi", results, **by_column)(x, uplo=np.uint8(ord("L")))


def test_a_function_of_the_runtime_is_called():
    for call in (factor, arrax.jit(factor)):
        lower, status = call(A)
        np.testing.assert_allclose(np.tril(lower), [[2, 0], [1, 2]], rtol=1e-6)
        assert status == 0
    assert isinstance(factor(A), list)
    np.testing.assert_allclose(factor(A, input_output_aliases={0: 0})[0], factor(A)[0])
    upper, _ = factor(A, input_layouts=None, output_layouts=None)  # by rows, what it writes is the transpose
    np.testing.assert_allclose(np.triu(upper), [[2, 1], [0, 2]], rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_batches(method):
    matrices = np.stack([A, 4 * A, 9 * A])
    lower, status = arrax.jit(arrax.vmap(lambda x: factor(x, vmap_method=method)))(matrices)
    np.testing.assert_allclose(np.tril(lower), np.linalg.cholesky(matrices), rtol=1e-6)
    np.testing.assert_array_equal(status, [0, 0, 0])
    moved = arrax.vmap(lambda x: factor(x, vmap_method=method)[0], in_axes=2, out_axes=2)(np.moveaxis(matrices, 0, 2))
    np.testing.assert_allclose(np.tril(np.moveaxis(moved, 2, 0)), np.linalg.cholesky(matrices), rtol=1e-6)


def test_batches_need_a_method_and_derivatives_a_rule():
    with pytest.raises(NotImplementedError, match="vmap of ffi_call needs its vmap_method"):
        arrax.vmap(factor)(np.stack([A, A]))
    with pytest.raises(ValueError, match="FFI call to `lapack_spotrf_ffi` cannot be differentiated"):
        arrax.grad(lambda x: factor(x)[0].sum())(A)
    with pytest.raises(TypeError, match="attributes are parts of the program"):
        arrax.jit(lambda k: ffi.ffi_call("nobody", ONE)(A, k=k))(1)


def lowered(*args, result=ONE, attributes=None, **options):
    call = ffi.ffi_call("nobody", result, **options)
    return arrax.jit(lambda *values: call(*values, **(attributes or {}))).lower(*args).as_text()


def test_attributes_are_written_with_their_types():
    attributes = {
        "i": 1, "f": 2.0, "b": True, "s": "a", "n": np.int8(3), "array": np.arange(3.0), "l": (1, 2), "d": {"x": np.float32(2)},
        "u": np.uint16(7),
    }  # fmt: skip
    text = lowered(1.0, attributes=attributes)
    for shown in (
        "i = 1 : i64", "f = 2.000000e+00 : f64", "b = true", 's = "a"', "n = 3 : i8", "tensor<3xf64>", "l = [1, 2]",
        "d = {x = 2.000000e+00 : f32}", "u = 7 : ui16", "api_version = 4",
    ):  # fmt: skip
        assert shown in text, shown
    with pytest.raises(TypeError, match="no attribute of a call for values of <class 'object'>"):
        lowered(1.0, attributes={"x": object()})
    program = arrax.make_jaxpr(lambda x: ffi.ffi_call("nobody", ONE)(x, w=np.ones(2), d={"a": [1]}))(1.0)
    assert str(program.eqns[0].params["attributes"]) == "(('d', (('a', (1,)),)), ('w', array([1., 1.])))"
    ones = [ffi.ffi_call("nobody", ONE) for _ in range(2)]
    first, second = (arrax.make_jaxpr(lambda x, f=f: f(x, w=np.ones(2), n=2))(1.0).eqns[0].params for f in ones)
    third = arrax.make_jaxpr(lambda x: ones[0](x, w=np.ones(2), n=2.0))(1.0).eqns[0].params
    assert first == second != third and hash(first["attributes"]) == hash(second["attributes"])


def test_calls_with_effects_stay_and_others_do_not():
    def unused(effect):
        return arrax.jit(lambda x: [ffi.ffi_call("nobody", ONE, has_side_effect=effect)(x), x][1]).lower(1.0).as_text()

    assert "has_side_effect = true" in unused(True) and "nobody" not in unused(False)


def test_older_kinds_of_functions_take_a_text():
    text = lowered(1.0, custom_call_api_version=2, legacy_backend_config="how")
    assert 'backend_config = "how"' in text and "api_version = 2" in text
    with pytest.raises(ValueError, match="functions with custom_call_api_version < 4"):
        ffi.ffi_call("nobody", ONE, legacy_backend_config="how")
    with pytest.raises(ValueError, match="takes no attributes by name"):
        lowered(1.0, custom_call_api_version=2, attributes={"a": 1})


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="vmap_method must be one of"):
        ffi.ffi_call("nobody", ONE, vmap_method="foo")
    with pytest.raises(ValueError, match="must have 'shape' and 'dtype' attributes. Got 3 at position 1"):
        ffi.ffi_call("nobody", [ONE, 3])
    with pytest.raises(
        ValueError, match=r"number of input arguments \(1\) must equal the number of input layouts \(2\)"
    ):
        factor(A, input_layouts=[(1, 0), (0,)])
    with pytest.raises(ValueError, match=r"input layout \(1,\) is no order"):
        factor(A, input_layouts=[(1,)])
    with pytest.raises(ValueError, match=r"mapping '3:0' with input index 3 outside the range \[0, 1\)"):
        factor(A, input_output_aliases={3: 0})
    with pytest.raises(ValueError, match=r"f32\[2,2\] to i32\[\]"):
        factor(A, input_output_aliases={0: 1})
    for aliases in ({"x": 0}, 3):
        with pytest.raises(TypeError, match="ffi_call"):
            ffi.ffi_call("nobody", ONE, input_output_aliases=aliases)
    with pytest.raises(TypeError):
        ffi.ffi_call("nobody", ONE)("text")
    with pytest.raises(arrax.errors.JaxRuntimeError, match="nobody"):
        ffi.ffi_call("nobody", ONE)(1.0)
    with pytest.raises(arrax.errors.JaxRuntimeError):
        ffi.register_ffi_target("number", 3)
    with pytest.raises(ValueError, match="address of the function is 0"):
        ffi.pycapsule(0)
    with pytest.raises(TypeError, match="expected a function of a shared library"):
        ffi.pycapsule("text")


def test_primitives_of_ones_own_are_lowered_to_calls():
    primitive = arrax.core.Primitive("factor")
    primitive.multiple_results = True
    primitive.def_abstract_eval(lambda x, *, uplo: [x, arrax.core.ShapedArray((), np.dtype(np.int32))])
    rule = ffi.ffi_lowering("lapack_spotrf_ffi", operand_layouts=[(1, 0)], result_layouts=[(1, 0), None])
    mlir.register_lowering(primitive, rule)
    lower, _ = arrax.jit(lambda x: primitive.bind(x, uplo=np.uint8(ord("L"))))(A)
    np.testing.assert_allclose(np.tril(lower), [[2, 0], [1, 2]], rtol=1e-6)
    older = arrax.core.Primitive("older")
    older.def_abstract_eval(lambda x, **params: x)
    mlir.register_lowering(older, ffi.ffi_lowering("nobody", api_version=2))
    with pytest.raises(ValueError, match="attributes requires api_version=4"):
        arrax.jit(lambda x: older.bind(x, a=1)).lower(1.0)
    assert "api_version = 2" in arrax.jit(older.bind).lower(1.0).as_text()
    mlir.register_lowering(older, ffi.ffi_lowering("nobody", backend_config="how"))
    with pytest.raises(ValueError, match="text for backend_config requires"):
        arrax.jit(older.bind).lower(1.0)
    given = ffi.ffi_lowering("nobody", operand_layouts=[(0, 1)], skip_ffi_layout_processing=True)
    mlir.register_lowering(older, given)
    assert "operand_layouts = [dense<[0, 1]>" in arrax.jit(older.bind).lower(A).as_text()


SOURCE = r"""
#include <cstdint>
#include <memory>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;

static ffi::Error Affine(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float scale, int64_t shift) {
  if (scale == 0) return ffi::Error::InvalidArgument("a scale of zero");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = scale * x.typed_data()[i] + shift;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(affine, Affine, ffi::Ffi::Bind()
    .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>().Attr<float>("scale").Attr<int64_t>("shift"));

struct Counter {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  int64_t calls = 0;
};
ffi::TypeId Counter::id = {};
ffi::TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();
static ffi::ErrorOr<std::unique_ptr<Counter>> Make() { return std::make_unique<Counter>(); }
static ffi::Error Count(ffi::ResultBuffer<ffi::F32> y, Counter* counter) {
  y->typed_data()[0] = ++counter->calls;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(make, Make, ffi::Ffi::BindInstantiate());
XLA_FFI_DEFINE_HANDLER_SYMBOL(count, Count, ffi::Ffi::Bind().Ret<ffi::Buffer<ffi::F32>>().Ctx<ffi::State<Counter>>());
extern "C" void* counter_id() { return &Counter::id; }
extern "C" void* counter_info() { return &Counter::info; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("library")
    (folder / "own.cc").write_text(SOURCE)
    options = ["-std=c++17", "-w", "-shared", "-fPIC", "-I", ffi.include_dir()]
    done = subprocess.run(
        [compiler, *options, folder / "own.cc", "-o", folder / "own.so"], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"the compiler does not take the headers: {done.stderr[:200]}")
    return ctypes.cdll.LoadLibrary(str(folder / "own.so"))


def test_a_function_of_ones_own_library(library):
    ffi.register_ffi_target("tests_affine", ffi.pycapsule(library.affine), platform="cpu")
    call = ffi.ffi_call("tests_affine", arrax.ShapeDtypeStruct((3,), jnp.float32), vmap_method="sequential")
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(call(x, scale=np.float32(2), shift=1), 2 * x + 1)
    mapped = arrax.jit(arrax.vmap(lambda v: call(v, scale=np.float32(3), shift=-1)))(np.stack([x, x]))
    np.testing.assert_array_equal(mapped, [3 * x - 1] * 2)
    with pytest.raises(arrax.errors.JaxRuntimeError, match="a scale of zero"):
        arrax.block_until_ready(call(x, scale=np.float32(0), shift=1))
    with pytest.raises(arrax.errors.JaxRuntimeError, match="expected F32 but got F64"):
        arrax.block_until_ready(call(x, scale=2.0, shift=1))


def test_a_function_with_a_state(library):
    library.counter_id.restype = library.counter_info.restype = ctypes.c_void_p
    identity = {"type_id": _anonymous(library.counter_id()), "type_info": _anonymous(library.counter_info())}
    ffi.register_ffi_type("TestsCounter", identity)
    stages = {"instantiate": ffi.pycapsule(library.make), "execute": ffi.pycapsule(library.count)}
    ffi.register_ffi_target("tests_count", stages)
    ffi.register_ffi_target_as_batch_partitionable("tests_count")
    count = arrax.jit(lambda: ffi.ffi_call("tests_count", ONE, has_side_effect=True)())
    assert [float(count()) for _ in range(3)] == [1, 2, 3]


def _anonymous(address):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(address, None, None)
